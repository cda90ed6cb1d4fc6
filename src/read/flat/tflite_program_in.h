/* tflite_program_in.h - the operators of subgraphs, for tflite_program.c and
 * tflite_flow.c.
 *
 * A subgraph has no access to the values around it: they are passed in and out. Each
 * run of a subgraph is therefore a call of the module that has its constants. */
#ifndef READ_FLAT_TFLITE_PROGRAM_IN_H
#define READ_FLAT_TFLITE_PROGRAM_IN_H

#include "read/flat/tflite_in.h"

/* A list of values; PROGRAM_NONE: an omitted argument. */
struct tflite_values {
    uint32_t *at;
    uint32_t n, room;
};

struct tflite_ios {
    struct program_io *at;
    uint32_t n, room;
};

struct tflite_op {
    struct flat_table table;
    int64_t code;
    struct flat_vector inputs, outputs; /* tensors of the subgraph */
};

/* A subgraph being followed. */
struct tflite_frame {
    struct tflite_graph *graph;
    uint32_t instance; /* key for the values of its tensors */
    uint32_t call, region;
    uint32_t depth;
};

struct tflite_walk {
    struct tflite *tflite;
    struct build *build;
    struct program *program;
    struct arena *arena;
    struct map values; /* instance and tensor -> value */
    uint32_t n_instances;
    struct tflite_ios ios;       /* buffer for the operation or call being added */
    struct tflite_values inputs; /* buffer for operations without subgraphs */
    uint32_t *names;             /* by operator code: string id; 0: not made yet */
    uint64_t steps, steps_most;
    uint32_t n_recursive; /* operators that run a subgraph around them */
    bool stop, limit;
};

/* ---- tflite_program.c ---- */

/* A new value for a tensor of the subgraph; PROGRAM_NONE: stop. */
uint32_t tflite_value(struct tflite_walk *w, const struct tflite_graph *graph,
                      uint32_t tensor, enum program_value_kind kind);
void tflite_bind(struct tflite_walk *w, const struct tflite_frame *frame,
                 uint32_t tensor, uint32_t value);
/* Item i of a list of tensors; TFLITE_NONE: omitted, or not a valid index. */
uint32_t tflite_tensor_at(struct tflite_walk *w, const struct tflite_graph *graph,
                          struct flat_vector list, uint32_t i);
/* The values of a list of tensors. */
void tflite_values(struct tflite_walk *w, const struct tflite_frame *frame,
                   struct flat_vector list, struct tflite_values *to);
/* Adds an operation that reads these values. */
void tflite_op_add(struct tflite_walk *w, const struct tflite_frame *frame,
                   const struct tflite_op *op, const struct tflite_values *inputs);
/* Adds the operators of a subgraph whose inputs are bound. */
void tflite_ops(struct tflite_walk *w, const struct tflite_frame *frame);
/* Sets the inputs and outputs of a call of the subgraph. */
void tflite_call_ios(struct tflite_walk *w, uint32_t call,
                     const struct tflite_graph *graph, const struct tflite_values *in,
                     const struct tflite_values *out);

/* ---- tflite_flow.c ---- */

/* Follows the subgraph of a frame as a new instance with these inputs, and fills in its
 * results. */
void tflite_run(struct tflite_walk *w, struct tflite_frame *frame,
                const struct tflite_values *on, struct tflite_values *results);
/* The same, as a call inside `frame`. `method` is a string id. */
void tflite_call(struct tflite_walk *w, const struct tflite_frame *frame,
                 struct tflite_graph *graph, uint32_t method,
                 const struct tflite_values *on, struct tflite_values *results);
/* If the operator runs subgraphs, follows them and returns true. */
bool tflite_flow(struct tflite_walk *w, const struct tflite_frame *frame,
                 const struct tflite_op *op);

#endif
