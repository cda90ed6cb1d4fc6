/* from_in.h - what the front ends share: recordings (from_run*.c) and programs of files
 * (from_program*.c). Both have a graph of operations (study/op_graph.h,
 * program_graph.h) and groups around its nodes: calls of modules, in programs also
 * branches and loops. from.c turns these into parts; each front end supplies their
 * content through a table of callbacks. */
#ifndef GRAPH_FROM_IN_H
#define GRAPH_FROM_IN_H

#include "graph/parts_in.h"
#include "rows/show.h"
#include "run/op_table.h"
#include "study/op_graph.h"

struct from;

/* A front end's callbacks. It numbers operations and groups as it likes. */
struct from_kind {
    unsigned (*op_flags)(const struct from *from, uint32_t op); /* enum op_kind_flag */
    uint32_t (*group_of)(const struct from *from, const struct op_graph_node *node);
    uint32_t (*group_around)(const struct from *from, uint32_t group);
    /* The path of an argument or result: "past[3][0]", ".logits"; may be empty. */
    struct str (*io_path)(struct from *from, const struct op_graph_node *node);
    /* The name of a tensor from outside the call; may be empty. */
    struct str (*outside_name)(struct from *from, const struct op_graph_node *node);
    /* Does a tensor from outside get a box? */
    bool (*matters)(const struct from *from, const struct op_graph_node *node);
    /* Describes the value of an edge. */
    struct part_value (*look)(struct from *from, uint32_t value);
    /* Fill in the text of a part's box. */
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
    struct op_graph graph;    /* of the drawn call */
    uint32_t *node_part;      /* by node; PART_NONE: not drawn */
    uint32_t *op_part;        /* by operation: the part that it belongs to */
    uint32_t *group_part;     /* by group */
    uint32_t *stack;          /* private: groups being entered */
    uint32_t *number;         /* by call: call number within its module, from 1 */
    uint32_t *n_numbers;      /* by object: number of calls */
    bool *inside;             /* by group: it is the drawn call or inside it */
    struct str left_out; /* name of the first result with too many tensors to draw */
    uint32_t n_left_out; /* total number of tensors in such results */
    struct map values;   /* value -> part_value */
    struct map words;    /* hash of a name -> its line in the table of arguments */

    /* Recordings only. */
    const struct run *run;
    uint32_t pass;
    struct map shapes; /* type, or shape of a value -> word */
    struct str *texts; /* texts of shapes and dtypes, indexed by the values of
                          `shapes` */
    uint32_t n_texts, texts_room;

    /* Programs only. */
    const struct program *program;
    uint32_t
        *control; /* by region: the innermost drawn region at or around it, in the same
                     call; PROGRAM_NONE */
    uint32_t *call_node; /* by call: its node, if it is one; PROGRAM_NONE */
};

/* ---- from.c: parts and links ---- */

/* Enters all parts and links; `from` has its graph and table. */
int from_enter(struct from *from, struct err *err);
/* Sets the error of a spent arena. Returns -1. */
int from_spent(const struct from *from, struct err *err);

/* ---- from_box.c: boxes ---- */

/* The box of a module call at a place: name, id, class and arguments. `above` is the
 * place of the surrounding call. */
int from_call_box(struct from *from, uint32_t part, uint32_t call, uint32_t place,
                  uint32_t above);
/* Counts a call and sets its number within its object. */
void from_count_call(struct from *from, uint32_t call, uint32_t object);
int from_io_box(struct from *from, uint32_t part, uint32_t node, uint32_t number);
/* One box for n tensors of the same argument or result. */
int from_ios_box(struct from *from, uint32_t part, struct str name, uint32_t n,
                 uint32_t number);
/* Converts the value of an edge to a value of parts. */
uint32_t from_value(struct from *from, uint32_t value);
/* Adds up the parameters of a call at a place, into its box. */
void from_params(struct from *from, struct diagram_box *box, uint32_t place);
/* Adds up operations, memory and FLOPs of parts, innermost first. */
void from_add_up(struct from *from);

/* ---- from_op.c: boxes of operations ---- */

/* Describes an operation. Shapes and feature counts are optional. */
struct op_look {
    struct str name; /* "aten::conv2d" */
    enum op_family family;
    unsigned flags; /* enum op_kind_flag */
    const struct values *plain;
    uint32_t attributes;      /* a dict of constants in `plain` */
    uint32_t n_in;            /* number of input tensors */
    uint32_t tensor;          /* the place of a parameter among the inputs; NO_PLACE */
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
/* Only its arguments, as words. */
int from_op_words(struct from *from, uint32_t part, const struct op_look *look);

/* ---- from_about.c ---- */

/* Sets the path and the facts, for the call at a place. `name` is the model's name, or
 * empty; `middle` is inserted between parameters and calls. */
int from_about(struct from *from, uint32_t place, struct str name, struct str middle);
/* Starts the next sentence of a note. */
void from_sentence(struct buf *to);
/* The part of the note that all front ends share. */
void from_note_left_out(struct buf *to, const struct from *from);

/* ---- from_run*.c ---- */

/* Chooses the pass and the call. */
int from_run_choose(struct from *from, struct err *err);
struct part_value from_run_look(struct from *from, uint32_t value);
struct str from_run_outside(struct from *from, const struct op_graph_node *node);
int from_run_group_box(struct from *from, uint32_t part, uint32_t call);
int from_run_node_box(struct from *from, uint32_t part,
                      const struct op_graph_node *node);
/* Metrics of all parts, totals, and NaN, Inf and exception flags. */
int from_run_costs(struct from *from);
/* The path, the facts and the note. */
int from_run_about(struct from *from);

/* ---- from_program*.c ---- */

/* Groups are calls, then regions. Chooses the call and fills `inside`. */
int from_program_choose(struct from *from, struct err *err);
uint32_t from_program_around(const struct from *from, uint32_t group);
/* The group of a region in a call; PROGRAM_NONE: none. */
uint32_t from_program_group(const struct from *from, uint32_t region, uint32_t call);
int from_program_group_box(struct from *from, uint32_t part, uint32_t group);
int from_program_node_box(struct from *from, uint32_t part,
                          const struct op_graph_node *node);
/* Describes an operation. */
struct op_look from_program_op(const struct from *from, uint32_t op);
/* A condition in readable form: "dim(x) != 3"; may be empty. */
void from_program_condition(struct buf *to, const struct from *from, uint32_t value);
struct str from_program_line(struct from *from, uint32_t file, uint32_t line);

#endif
