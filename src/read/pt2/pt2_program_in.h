/* pt2_program_in.h - shared by the files that make the program.
 *
 *   pt2_program.c  values, operations, the program's inputs and outputs
 *   pt2_calls.c    open calls of modules; their inputs and outputs
 *   pt2_args.c     arguments: inputs and attributes
 *   pt2_control.c  operations with graphs inside
 *
 * Names belong to one graph: an inner graph has its own scope, in which its inputs are
 * bound to the values passed to it. */
#ifndef READ_PT2_PT2_PROGRAM_IN_H
#define READ_PT2_PT2_PROGRAM_IN_H

#include "read/pt2/pt2_in.h"

struct pt2_scope {
    uint32_t graph;        /* node of the document */
    struct name_map names; /* of values; index in `values` */
    uint32_t *values;
    uint32_t values_room;
    struct name_map metas; /* names with metadata; index in meta_nodes */
    uint32_t *meta_nodes;
    uint32_t metas_room;
};

struct pt2_open_call {
    struct str key;
    uint32_t call;
};

/* A list of values, some of which are constants (PROGRAM_NONE). */
struct pt2_values {
    uint32_t *at;
    uint32_t n, room;
};

struct pt2_making {
    struct pt2 *pt2;
    struct build *build;
    const struct json_doc *doc;
    struct program *program;
    struct arena *arena;    /* scratch */
    struct program_io *ios; /* of the operation being made */
    uint32_t n_ios, ios_room;
    uint32_t *view_of; /* by value: the value that it is a view of */
    uint32_t *call_of; /* by value: the call in which it was made */
    uint32_t n_values, view_room, call_room;
    struct pt2_open_call *open; /* [0] is the program */
    uint32_t n_open, open_room;
    uint32_t base;      /* calls below this index stay open: a region is inside them */
    uint32_t *call_end; /* by call: the first call that is not inside it */
    uint32_t call_end_room;
    uint32_t region; /* the innermost, or PROGRAM_NONE */
    bool stop;       /* memory is spent */
};

/* ---- pt2_program.c ---- */

int pt2_scope_init(struct pt2_making *m, struct pt2_scope *scope, uint32_t graph);
/* A new value; `name` (may be empty) gives its shape in the scope. PROGRAM_NONE: stop. */
uint32_t pt2_value(struct pt2_making *m, const struct pt2_scope *scope,
                   enum program_value_kind kind, struct str name);
void pt2_bind(struct pt2_making *m, struct pt2_scope *scope, struct str name,
              uint32_t value);
/* The value with this name; an undefined name becomes an opaque value. */
uint32_t pt2_named(struct pt2_making *m, struct pt2_scope *scope, struct str name);
/* The values of a list of arguments: constants are PROGRAM_NONE. */
void pt2_flatten(struct pt2_making *m, struct pt2_scope *scope, uint32_t argument,
                 struct pt2_values *to);
/* The nodes of a graph, whose inputs are bound already. */
void pt2_nodes(struct pt2_making *m, struct pt2_scope *scope);
/* The names of a node's results, in order; empty for constants and None. */
struct pt2_names {
    struct str *at;
    uint32_t n, room;
};
void pt2_output_names(struct pt2_making *m, uint32_t outputs, struct pt2_names *to);
void pt2_op(struct pt2_making *m, struct pt2_scope *scope, uint32_t node);
/* The last line of the user's code in a stack trace. */
void pt2_line(struct pt2_making *m, uint32_t node, uint32_t *ret_file,
              uint32_t *ret_line);
int pt2_add(struct pt2_making *m, struct pt2_values *to, uint32_t value);

/* ---- pt2_args.c ---- */

/* Adds the inputs of an argument to m->ios. True: *ret_plain is its constant part. */
bool pt2_argument(struct pt2_making *m, struct pt2_scope *scope, struct str name,
                  uint32_t argument, uint32_t *ret_plain);
/* The name of the value in an argument that is a value: as_tensor, as_sym_int with a
 * name, as_custom_obj. Empty: a constant or a list. */
struct str pt2_value_name(const struct json_doc *doc, struct str kind, uint32_t value);

/* ---- pt2_control.c ---- */

/* An operation with graphs among its arguments; false: it has none. */
bool pt2_control(struct pt2_making *m, struct pt2_scope *scope, uint32_t node);

/* ---- pt2_calls.c ---- */

/* Opens and closes calls to match the stack of the node; returns the innermost call. */
uint32_t pt2_enter(struct pt2_making *m, uint32_t node);
/* Close calls until `n` are open. */
void pt2_leave(struct pt2_making *m, uint32_t n);
/* At the end: sets the inputs and outputs of each call. */
void pt2_call_ios(struct pt2_making *m);

#endif
