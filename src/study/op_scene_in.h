/* op_scene_in.h - for tests: runs with operations, written one line per operation.
 *
 *     (root) > m0, m1, ...     sample_chain(); m0 is place 1
 *
 * A storage of 4 * n bytes holds one value of n float32 elements. */
#ifndef STUDY_OP_SCENE_IN_H
#define STUDY_OP_SCENE_IN_H

#include "run/sample_run.h"

struct op_scene {
    struct trace *trace;
    struct run *run;
    struct arena arena;
};

#define NOTHING     UINT32_MAX
#define SCENE_READS 3
#define SCENE_MAKES 2

/* `storage` read with or without requires_grad. */
struct scene_read {
    uint32_t storage;
    bool grad;
    uint8_t dtype; /* 0: float32 */
};

struct scene_op {
    const char *name; /* without "aten::", which is prepended */
    uint8_t kind;     /* enum op_kind_flag */
    enum op_phase phase;
    uint32_t place;
    bool no_grad;   /* grad mode was off */
    uint32_t cause; /* 1 + the forward operation; 0: none */
    uint32_t of;    /* 1 + the parameter whose gradient it accumulates; 0: none */
    struct scene_read reads[SCENE_READS]; /* storage 0 ends the list */
    uint32_t makes[SCENE_MAKES];          /* likewise */
    uint32_t writes;                      /* a storage, or 0 */
    uint8_t dtype;                        /* of results; 0: float32 */
};

/* Storage 0 is unused, so that 0 means none. */
void op_scene_begin(struct op_scene *s, const struct model *model);
uint32_t op_scene_storage(struct op_scene *s, uint64_t bytes, uint32_t tensor,
                          enum op_storage_role role);
/* Its line is "net.py:N", N being 1 + its number. */
uint32_t op_scene_op(struct op_scene *s, struct scene_op op);
void op_scene_finish(struct op_scene *s);
void op_scene_end(struct op_scene *s);

#endif
