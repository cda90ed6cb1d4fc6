/* walk_in.h - turns the graph of an ONNX file into a program (model/program.h). Nodes
 * become operations, module names calls, If, Loop and Scan regions; functions of the
 * file are inlined.
 *
 *   onnx_walk.c    frames, nodes, operations and their attributes
 *   walk_values.c  values by name, their shapes and dtypes
 *   walk_calls.c   calls of modules
 *   walk_flow.c    subgraphs and functions */
#ifndef READ_ONNX_WALK_IN_H
#define READ_ONNX_WALK_IN_H

#include "read/onnx/infer_in.h"

/* The kinds of frames. */
enum frame_kind { FRAME_MAIN, FRAME_FUNCTION, FRAME_SUBGRAPH };

/* A graph being followed. */
struct onnx_frame {
    enum frame_kind kind;
    uint32_t graph, node;     /* the next node, or ONNX_NONE */
    uint32_t instance;        /* names are looked up here first */
    uint32_t call;            /* around it; index in program->calls */
    uint32_t region;          /* around its nodes; or PROGRAM_NONE */
    struct onnx_scope *scope; /* of the function around it; or NULL */
    uint32_t caller;          /* of FUNCTION: the node; of SUBGRAPH: its owner */
    uint32_t function;        /* of FUNCTION */
    struct onnx_flow *flow;   /* of SUBGRAPH */
};

/* A node with subgraphs. */
struct onnx_flow {
    uint32_t node;
    uint32_t call; /* around it */
    bool branches; /* If */
    bool body;     /* of an operation: its outputs are bound already */
    uint32_t *graphs, n_graphs, next;
    uint32_t *inputs, n_inputs;        /* values of the node; PROGRAM_NONE: omitted */
    uint32_t n_carried, first_carried; /* of a loop: loop-carried inputs */
    uint32_t *carried;                 /* their values at the start of an iteration */
    uint32_t *results;                 /* by graph and output: values */
    uint32_t n_results;                /* of each graph: outputs of the node */
    uint32_t skip; /* outputs of the body that are not outputs of the node */
};

/* Properties of a value in addition to the program's. */
struct walk_value {
    struct onnx_known known;
    uint32_t call; /* in which it was made */
    uint32_t op;   /* operations before it */
    bool plain;    /* computed from constants and shapes: not drawn */
};

/* Properties of a call while it is built. */
struct walk_call {
    uint32_t depth;
};

struct onnx_walk {
    struct onnx_making *m;
    struct onnx_parsed *p;
    struct build *build;
    struct program *program;
    struct onnx_frame *frames;
    uint32_t n_frames, frames_room;
    uint32_t *outer; /* by instance: the enclosing one, whose names are visible too, or
                        ONNX_NONE */
    uint32_t n_outer, outer_room;
    struct map names;          /* instance and name -> value */
    struct map types;          /* graph and name -> index in parsed.types */
    struct map calls;          /* call and place -> the last call there */
    struct map op_names;       /* domain and type -> string id */
    struct map call_ios;       /* existing (call, value) pairs, as input or output */
    struct walk_value *values; /* as program->values */
    uint32_t n_values, values_room;
    struct walk_call *call_infos;
    uint32_t n_call_infos, call_infos_room;
    uint32_t positions[64]; /* string ids of "0", "1", ... */
    uint64_t steps, steps_most;
    uint32_t undefined, recursive; /* numbers of names without a value, of recursive
                                      calls */
    uint32_t first_undefined;      /* string id */
    bool stop;
};

/* ---- walk_values.c ---- */

int walk_index_types(struct onnx_walk *w);
/* A new value; PROGRAM_NONE: stop. */
uint32_t walk_value(struct onnx_walk *w, const struct program_value *value,
                    const struct onnx_known *known, uint32_t call, bool plain);
/* A value of this kind of which nothing else is known yet. */
struct program_value walk_unknown(enum program_value_kind kind, uint32_t name);
/* A new value of a kind without other properties. */
uint32_t walk_simple(struct onnx_walk *w, enum program_value_kind kind, uint32_t name,
                     const struct onnx_known *known, uint32_t call);
void walk_bind(struct onnx_walk *w, uint32_t instance, uint32_t name, uint32_t value);
/* The value of a name; PROGRAM_NONE: undefined. */
uint32_t walk_find(struct onnx_walk *w, const struct onnx_frame *frame, uint32_t name);
/* The same, but creates and reports a value if the name is undefined. */
uint32_t walk_read(struct onnx_walk *w, const struct onnx_frame *frame, uint32_t name);
/* The type of a name in the file, completed by inference. */
struct onnx_known walk_known(struct onnx_walk *w, uint32_t graph, uint32_t name,
                             const struct onnx_known *inferred);
/* The type of a tensor of the file. */
struct onnx_known walk_tensor_known(struct onnx_walk *w, uint32_t tensor);
/* A value that is a tensor of the model. */
uint32_t walk_tensor(struct onnx_walk *w, uint32_t tensor, uint32_t name,
                     uint32_t call);

/* ---- walk_calls.c ---- */

uint32_t walk_call_new(struct onnx_walk *w, uint32_t parent, uint32_t place,
                       uint32_t region);
/* The call for a node that reads these values. */
uint32_t walk_call_of(struct onnx_walk *w, const struct onnx_frame *frame,
                      uint32_t place, const uint32_t *inputs, uint32_t n);
/* Records that an operation was added to the call. */
void walk_call_grow(struct onnx_walk *w, uint32_t call);
/* Sets the inputs and outputs of all calls except the program's. */
int walk_call_ends(struct onnx_walk *w);

/* ---- walk_flow.c ---- */

struct onnx_frame *walk_push(struct onnx_walk *w, enum frame_kind kind, uint32_t graph,
                             const struct onnx_frame *from);
/* If the node is If, Loop or Scan, or a call of a function, follows it and returns
 * true. */
bool walk_enter(struct onnx_walk *w, uint32_t node, const uint32_t *inputs, uint32_t n,
                uint32_t call);
/* Follows the graphs inside another operation (BeamSearch), as if run any number of
 * times. */
void walk_body(struct onnx_walk *w, uint32_t node, uint32_t call);
/* Ends the last frame, which has no more nodes. */
void walk_leave(struct onnx_walk *w);

/* ---- onnx_walk.c ---- */

uint32_t walk_position(struct onnx_walk *w, uint32_t i);
/* The source location of a node, else its name. */
void walk_line(const struct onnx_walk *w, const struct onnx_node *node,
               uint32_t *ret_file, uint32_t *ret_line);

#endif
