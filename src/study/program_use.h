/* program_use.h - sums over the operations in the program of a model file
 * (model/program.h) by name, like op_use.h for a run. Nothing ran: counts are
 * occurrences in the code, times and memory are 0, FLOPs unknown. */
#ifndef STUDY_PROGRAM_USE_H
#define STUDY_PROGRAM_USE_H

#include "model/model.h"
#include "study/op_use.h"

/* Makes a row for each name, in the order of first use, in the arena. `kind` is
 * RUN_NONE, `line` 0 and `first` an index in program->ops. The model must have a
 * program. */
int program_use_of(struct op_use_list *ret_list, const struct model *model,
                   struct arena *arena, struct err *err);

/* Code whose counts are uncertain. */
struct program_sum {
    uint32_t in_loops;      /* operations inside loops, which run once per iteration */
    uint32_t in_ifs;        /* operations inside a condition */
    uint32_t not_taken;     /* of these: in a branch that this file never takes */
    uint32_t unclear;       /* places in the code that were not understood */
    uint32_t first_unclear; /* region, or PROGRAM_NONE */
};
struct program_sum program_sums(const struct program *program);

/* Appends the origin of the program: "the code of forward", "the configuration". */
void program_origin(struct buf *to, const struct model *model);
/* Appends a source location: "__torch__/net.py:41". False: unknown. */
bool program_line(struct buf *to, const struct model *model, uint32_t file,
                  uint32_t line);
/* The path of an argument or result of a call: "x", "past[3]", "[1]"; empty: the only
 * result. `io` is an index in program->ios. */
void program_io_path(struct buf *to, const struct model *model, uint32_t io);

#endif
