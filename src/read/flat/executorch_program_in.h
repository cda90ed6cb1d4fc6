/* executorch_program_in.h - the instructions of a plan, for executorch_program.c and
 * executorch_flow.c. */
#ifndef READ_FLAT_EXECUTORCH_PROGRAM_IN_H
#define READ_FLAT_EXECUTORCH_PROGRAM_IN_H

#include "read/flat/executorch_in.h"

#define EXECUTORCH_ARGS 4096 /* of one instruction, with the items of lists */

enum { CALL_KERNEL = 1, CALL_DELEGATE, CALL_MOVE, CALL_JUMP, CALL_FREE };

/* A value that was written inside the current branch or loop, and its old content. */
struct executorch_change {
    uint32_t index, before;
};

/* A decoded instruction. */
struct executorch_call {
    int64_t kind;
    struct flat_table table;
    uint32_t args[EXECUTORCH_ARGS]; /* indices of values of the plan */
    uint32_t n;
};

/* Inputs and results, and the constants of an operation. */
struct executorch_ios {
    struct program_io *at;
    uint32_t n, room;
    uint32_t *items, n_items, items_room; /* of the DICT of constants */
};

struct executorch_making {
    struct executorch *self;
    struct build *build;
    struct arena *arena;
    const struct executorch_plan *plan;
    uint32_t call_id; /* of the plan; index in program->calls */
    struct flat_vector operators, delegates, code;
    struct executorch_call *call, *out, *list; /* buffers for one instruction */
    struct executorch_ios ins, outs;           /* of the plan */
    struct map memory;  /* planned memory -> the last value written to it */
    uint32_t *loop_end; /* by instruction: the last jump back to it, or PROGRAM_NONE */
    struct executorch_change *changes;
    uint32_t n_changes, changes_room;
    uint32_t *seen, *other; /* by value of the plan: private to merging */
    uint32_t search;
    uint32_t region, depth;
    bool spent;
};

/* ---- executorch_program.c ---- */

/* The kind and the table of instruction i. */
struct flat_table executorch_instruction(struct executorch_making *m, uint32_t i,
                                         int64_t *ret_kind);
/* Reads the arguments of a call whose table is set. */
void executorch_args(struct executorch_making *m, struct executorch_call *call);
/* Moves the results of a kernel from `call` to `out`; the inputs stay in `call`. */
void executorch_split(struct executorch_making *m, struct executorch_call *call,
                      struct executorch_call *out);
/* Sets the content of value `index` of the plan. */
void executorch_change_value(struct executorch_making *m, uint32_t index,
                             uint32_t value);
uint32_t executorch_string(struct executorch_making *m, struct str text);
/* Adds the operation of a kernel or delegate. */
void executorch_op(struct executorch_making *m, struct executorch_call *call,
                   struct executorch_call *out);
void executorch_move(struct executorch_making *m, struct flat_table table);

/* ---- executorch_flow.c ---- */

/* Reads a jump; *ret_always: its condition is the constant False, so it is always
 * taken. Returns false for any other instruction. */
bool executorch_jump(struct executorch_making *m, uint32_t i, uint32_t *ret_target,
                     bool *ret_always);
/* Adds the instructions from `begin` up to `end`. */
void executorch_walk(struct executorch_making *m, uint32_t begin, uint32_t end);

#endif
