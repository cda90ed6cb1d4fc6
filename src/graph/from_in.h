/* from_in.h - what the front ends share: recordings (from_run*.c) and programs of files
 * (from_program*.c). Both have a graph of operations (study/op_graph.h, program_graph.h)
 * and groups around its nodes: calls of modules, in programs also branches and loops.
 * from.c makes parts of these; a front end tells what is in them, by its table. */
#ifndef GRAPH_FROM_IN_H
#define GRAPH_FROM_IN_H

#include "graph/parts_in.h"
#include "rows/show.h"
#include "run/op_table.h"
#include "study/op_graph.h"

struct from;

/* What a front end answers. Operations and groups are its own numbers. */
struct from_kind {
    unsigned (*op_flags)(const struct from *from, uint32_t op); /* enum op_kind_flag */
    uint32_t (*group_of)(const struct from *from, const struct op_graph_node *node);
    uint32_t (*group_around)(const struct from *from, uint32_t group);
    /* The path of an argument or result: "past[3][0]", ".logits"; may be empty. */
    struct str (*io_path)(struct from *from, const struct op_graph_node *node);
    /* The name of a tensor from outside; empty: none. */
    struct str (*outside_name)(struct from *from, const struct op_graph_node *node);
    /* Is a tensor from outside worth a box? */
    bool (*matters)(const struct from *from, const struct op_graph_node *node);
    /* What is known of a value of an edge. */
    struct part_value (*look)(struct from *from, uint32_t value);
    /* Fill what people read in the box of a part. */
    int (*group_box)(struct from *from, uint32_t part, uint32_t group);
    int (*node_box)(struct from *from, uint32_t part, const struct op_graph_node *node);
};

struct from {
    const struct from_kind *as;
    struct parts *parts;
    struct parts_about *about;
    const struct session *session;
    const struct graph_wanted *wanted;
    const struct model *model;
    struct show show;         /* activity, tied parameters */
    uint32_t call;            /* the call that is drawn */
    uint32_t n_ops, n_groups; /* of the whole run or program; calls are groups */
    bool framed;              /* the call has a box of its own */
    struct op_graph graph;    /* of that call */
    uint32_t *node_part;      /* by node; PART_NONE: not drawn */
    uint32_t *op_part;        /* by operation: the part that it belongs to */
    uint32_t *group_part;     /* by group */
    uint32_t *stack;          /* private: groups being entered */
    uint32_t *number;         /* by call: among those of its module, from 1 */
    uint32_t *n_numbers;      /* by object: how many there are */
    bool *inside;             /* by group: it is the drawn call, or inside it */
    struct str left_out; /* results of many tensors, which are not drawn: the name of */
    uint32_t n_left_out; /* the first, and how many tensors they all have */
    struct map values;   /* value -> part_value */
    struct map words;    /* hash of a name -> its line in the table of arguments */

    /* Of a recording. */
    const struct run *run;
    uint32_t pass;
    struct map shapes; /* type, or shape of a value -> word */
    struct str *texts; /* shapes and dtypes, by what `shapes` says */
    uint32_t n_texts, texts_room;

    /* Of a program. */
    const struct program *program;
    uint32_t
        *control; /* by region: the innermost drawn one at or around it in its call;
                          PROGRAM_NONE */
    uint32_t *call_node; /* by call: its node, if it is one; PROGRAM_NONE */
};

/* ---- from.c: parts and links ---- */

/* Enters everything; `from` has its graph and table. */
int from_enter(struct from *from, struct err *err);
/* Fails because an arena is spent. */
int from_spent(const struct from *from, struct err *err);

/* ---- from_box.c: boxes ---- */

/* A call of a module at a place: name, id, class and arguments. `above` is the place of
 * the call around it. */
int from_call_box(struct from *from, uint32_t part, uint32_t call, uint32_t place,
                  uint32_t above);
/* Numbers a call among those of its object. */
void from_count_call(struct from *from, uint32_t call, uint32_t object);
int from_io_box(struct from *from, uint32_t part, uint32_t node, uint32_t number);
/* Of n tensors of one argument or result. */
int from_ios_box(struct from *from, uint32_t part, struct str name, uint32_t n,
                 uint32_t number);
/* The value of an edge as a value of parts. */
uint32_t from_value(struct from *from, uint32_t value);
/* Parameters of a call at a place, in its box. */
void from_params(struct from *from, struct diagram_box *box, uint32_t place);
/* Sums of operations, memory and FLOPs of parts, from the inside out. */
void from_add_up(struct from *from);

/* ---- from_op.c: boxes of operations ---- */

/* What is known of an operation. Shapes and numbers of features may not be. */
struct op_look {
    struct str name; /* "aten::conv2d" */
    enum op_family family;
    unsigned flags; /* enum op_kind_flag */
    const struct values *plain;
    uint32_t attributes;      /* a dict of constants in `plain` */
    uint32_t n_in;            /* tensors that it reads */
    uint32_t tensor;          /* the place of a parameter that it reads; NO_PLACE */
    struct str shape, shapes; /* of its first result; of all of them; or empty */
    int64_t features_in, features_out; /* of a matrix product, convolution; or -1 */
    const int64_t *kernel;             /* the window of a convolution; or NULL */
    uint32_t kernel_rank;
};
#define OP_LOOK_NONE                                                                   \
    {                                                                                  \
        .tensor = NO_PLACE, .features_in = -1, .features_out = -1                      \
    }
/* Kind, family, name, flags and words. */
int from_op_box(struct from *from, uint32_t part, const struct op_look *look);
/* Does it add or multiply two tensors? Then it is drawn as a sign. */
bool from_op_is_sign(const struct op_look *look);
/* Its arguments as words alone. */
int from_op_words(struct from *from, uint32_t part, const struct op_look *look);

/* ---- from_about.c ---- */

/* The path and the facts, for the call at a place. `name` is that of the model, or
 * empty; `middle` is put between parameters and calls. */
int from_about(struct from *from, uint32_t place, struct str name, struct str middle);
/* Begins another sentence of a note. */
void from_sentence(struct buf *to);
/* What every front end adds to its note. */
void from_note_left_out(struct buf *to, const struct from *from);

/* ---- from_run*.c ---- */

/* Chooses the pass and the call. */
int from_run_choose(struct from *from, struct err *err);
struct part_value from_run_look(struct from *from, uint32_t value);
struct str from_run_outside(struct from *from, const struct op_graph_node *node);
int from_run_group_box(struct from *from, uint32_t part, uint32_t call);
int from_run_node_box(struct from *from, uint32_t part,
                      const struct op_graph_node *node);
/* Metrics of all parts, totals, and marks of what went wrong. */
int from_run_costs(struct from *from);
/* The path, the facts and the note. */
int from_run_about(struct from *from);

/* ---- from_program*.c ---- */

/* Groups are calls, then regions. Chooses the call; says which groups are inside it. */
int from_program_choose(struct from *from, struct err *err);
uint32_t from_program_around(const struct from *from, uint32_t group);
/* The group of something in a region of a call; PROGRAM_NONE: in none. */
uint32_t from_program_group(const struct from *from, uint32_t region, uint32_t call);
int from_program_group_box(struct from *from, uint32_t part, uint32_t group);
int from_program_node_box(struct from *from, uint32_t part,
                          const struct op_graph_node *node);
/* What is known of an operation. */
struct op_look from_program_op(const struct from *from, uint32_t op);
/* A condition as people read it: "dim(x) != 3"; may be empty. */
void from_program_condition(struct buf *to, const struct from *from, uint32_t value);
struct str from_program_line(struct from *from, uint32_t file, uint32_t line);

#endif
