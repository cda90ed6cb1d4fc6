/* from_run_in.h - what the front end for recordings shares among its files. */
#ifndef GRAPH_FROM_RUN_IN_H
#define GRAPH_FROM_RUN_IN_H

#include "graph/parts_in.h"
#include "rows/show.h"
#include "study/op_graph.h"

struct from_run {
    struct parts *parts;
    struct parts_about *about;
    const struct session *session;
    const struct graph_wanted *wanted;
    const struct run *run;
    const struct model *model;
    struct show show;      /* activity, tied parameters */
    uint32_t pass, call;   /* the pass; the call that is drawn */
    bool framed;           /* the call has a box of its own */
    struct op_graph graph; /* of that call */
    uint32_t *node_part;   /* by node; PART_NONE: not drawn */
    uint32_t *op_part;     /* by operation: the part that it belongs to */
    uint32_t *call_part;   /* by call */
    uint32_t *stack;       /* private: calls being entered */
    uint32_t *number;      /* by call: among those of its module in this pass, from 1 */
    uint32_t *n_numbers;   /* by object: how many there are */
    bool *inside;          /* by call: it is the drawn one, or inside it */
    struct str left_out; /* results of many tensors, which are not drawn: the name of */
    uint32_t n_left_out; /* the first, and how many tensors they all have */
    struct map shapes;   /* type, or shape of a value -> word */
    struct map values;   /* value -> part_value */
    struct str *texts;   /* shapes and dtypes, by what `shapes` says */
    uint32_t n_texts, texts_room;
};

/* Chooses the pass and the call. */
int from_run_choose(struct from_run *from, struct err *err);

/* Boxes. Each fills what people read in the box of a part. */
int from_run_call_box(struct from_run *from, uint32_t part, uint32_t call);
int from_run_op_box(struct from_run *from, uint32_t part, uint32_t op);
int from_run_io_box(struct from_run *from, uint32_t part, uint32_t node,
                    uint32_t number);
/* Of n tensors of one argument or result. */
int from_run_ios_box(struct from_run *from, uint32_t part, struct str name, uint32_t n,
                     uint32_t number);

/* The value of an edge as a value of parts. */
uint32_t from_run_value(struct from_run *from, uint32_t value);
/* The shape and dtype of a value of an edge. */
struct str from_run_shape(struct from_run *from, uint32_t value);
struct str from_run_dtype(const struct from_run *from, uint32_t value);

/* Metrics of all parts, totals, and marks of what went wrong. */
int from_run_costs(struct from_run *from);
/* The path, the facts and the note. */
int from_run_about(struct from_run *from);

#endif
