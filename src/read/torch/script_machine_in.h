/* script_machine_in.h - follows the code of a TorchScript archive from the arguments of
 * forward() to its result and records every operation. Nothing is computed: data stand
 * for the values that torch would have.
 *
 *   script_program.c  entry point: script_program(); functions and their trees
 *   script_tree.c     modules and attributes of the file
 *   script_data.c     data, values and their versions
 *   script_branch.c   state that differs between branches and loop iterations
 *   script_run.c      statements and expressions
 *   script_call.c     calls: operations, methods, functions, builtins
 *   script_op.c       one operation: arguments, results, their types
 *   script_names.c    THE TABLE of argument names
 *
 * Code from a file may be hostile. Steps, depth and memory are limited: at a limit,
 * machine->stop is set, everything returns, and the program is marked as cut. */
#ifndef READ_TORCH_SCRIPT_MACHINE_IN_H
#define READ_TORCH_SCRIPT_MACHINE_IN_H

#include "base/map.h"
#include "model/build.h"
#include "read/torch/script_parse_in.h"
#include "read/torch/torchscript_code_in.h"

enum datum_kind {
    DATUM_NOTHING,  /* not set, or uninitialized() */
    DATUM_VALUE,    /* `id`: a value of the program */
    DATUM_PLAIN,    /* `id`: a value id of the model */
    DATUM_TUPLE,    /* items */
    DATUM_LIST,     /* items */
    DATUM_DICT,     /* items: key, value, ... */
    DATUM_INSTANCE, /* `id`: an object, see script_class_of() */
    DATUM_CODE,     /* `id`: a class or function, index in code->classes */
    DATUM_INNER,    /* `inner`: a function inside the current one */
};

#define DATUM_DEPTH  24   /* data that are deeper or larger become one opaque value */
#define DATUM_LEAVES 8192 /* values in one list or tuple */

/* Never changes; may be shared. */
struct datum {
    uint8_t kind; /* enum datum_kind */
    uint8_t depth;
    bool plain; /* a container: some items are plain */
    uint32_t id;
    uint32_t n;      /* items */
    uint32_t leaves; /* of a container: values inside */
    union {
        const struct datum *items;
        const struct script_node *inner;
    };
};

/* A variable, attribute or version, which may differ between branches. The stamp is the
 * number of the branch that changed it last. */
struct script_cell {
    struct datum datum;
    uint32_t stamp;
};
enum script_cell_kind { CELL_SLOT, CELL_ATTR, CELL_VERSION };
struct cell_change {
    uint8_t kind; /* enum script_cell_kind */
    uint32_t index, stamp;
    struct datum datum; /* the old one; once the branch has ended, the new one */
};

struct script_arg {
    struct str name; /* of a keyword; empty: by position */
    struct datum datum;
};

/* A function being followed. */
struct script_frame {
    const struct script_class *class; /* where its code is */
    struct script_function *function;
    uint32_t base;   /* its first slot */
    uint32_t file;   /* string id */
    uint32_t *names; /* by slot: string id, once used; in the arena */
    struct datum result;
};

/* A method or function, once parsed. */
struct script_method {
    struct script_function *function; /* NULL: missing, or unsupported */
    uint32_t *names;                  /* see struct script_frame */
};

struct script_machine {
    struct build *build;
    struct program *program;
    const struct script_code *code;
    const uint32_t *class_of; /* by node: index in code->classes + 1; 0: none */
    struct arena arena;       /* for everything here */
    uint32_t n_nodes, root;
    struct map children; /* (node, name) -> node */
    uint32_t *first_of;  /* by object: its first node */
    uint32_t *created;   /* classes of objects that the code makes */
    uint32_t n_created, created_room;
    struct script_method **methods;
    uint32_t n_methods, methods_room;
    struct map by_method; /* hash of (class, name) -> index in `methods` */

    struct script_cell *slots, *attrs, *versions;
    uint32_t n_slots, slots_room, n_attrs, attrs_room, n_versions, versions_room;
    uint32_t *view_of; /* by value: the value that it is a view of; or PROGRAM_NONE */
    uint32_t view_room;
    struct map by_attr;   /* (instance, name) -> index in `attrs` */
    struct map by_stored; /* hash of a tensor or attribute -> its value */
    struct cell_change *changes;
    uint32_t n_changes, changes_room;
    uint32_t branch, last_branch;

    struct script_arg *args; /* a stack: arguments of the calls being followed */
    uint32_t n_args, args_room;
    struct program_io *ios; /* of the operation being made */
    uint32_t n_ios, ios_room;

    uint32_t call, region, place; /* the current function */
    uint32_t file, line;
    uint32_t depth;
    uint64_t steps;
    bool stop;
};

/* One step; false: stop. */
bool script_step(struct script_machine *m);

/* ---- script_program.c ---- */
/* A method of a class, or a function (empty name); NULL: not found. */
struct script_method *script_method_find(struct script_machine *m,
                                         const struct script_class *class,
                                         struct str name);

/* ---- script_tree.c ---- */
int script_tree_index(struct script_machine *m);
/* The class of an instance; NULL: unknown. */
const struct script_class *script_class_of(struct script_machine *m, uint32_t instance);
bool script_is_module(struct script_machine *m, uint32_t instance);
struct datum script_attr(struct script_machine *m, uint32_t instance, struct str name);
void script_attr_set(struct script_machine *m, uint32_t instance, struct str name,
                     const struct datum *datum);
/* CONSTANTS.c0 */
struct datum script_constant(struct script_machine *m, struct str name);
/* The value for an instance that is an argument of an operation. */
uint32_t script_instance_value(struct script_machine *m, uint32_t instance);

/* ---- script_data.c ---- */
extern const struct datum script_nothing;
struct datum script_plain(uint32_t value);
struct datum script_text(struct script_machine *m, struct str text); /* a GLOBAL */
struct datum script_value(uint32_t value);
/* A new value of the program. */
uint32_t script_value_new(struct script_machine *m, const struct program_value *value);
struct datum script_opaque(struct script_machine *m);
/* A container; `items` are in the arena. */
struct datum script_container(struct script_machine *m, enum datum_kind kind,
                              const struct datum *items, uint32_t n);
struct datum *script_items_new(struct script_machine *m, uint32_t n);
/* Item i of n when a datum is unpacked. */
struct datum script_item(const struct datum *datum, uint32_t i, uint32_t n);
/* Appends the values in a datum, in their newest version, to m->ios. */
void script_collect(struct script_machine *m, const struct datum *datum, uint32_t arg,
                    uint32_t item);
/* The value id of a constant, if it is known from the file; else PROGRAM_NONE. */
uint32_t script_known(const struct script_machine *m, const struct datum *datum);
/* A datum as a value of the model, with names for non-constant parts. */
uint32_t script_describe(struct script_machine *m, const struct datum *datum);
uint32_t script_newest(struct script_machine *m, uint32_t value);
/* Records a write: `made` is the new version of `value` and of the value that it is a
 * view of. */
void script_written(struct script_machine *m, uint32_t value, uint32_t made);

/* ---- script_branch.c ---- */
struct script_cell *script_cell(struct script_machine *m, enum script_cell_kind kind,
                                uint32_t index);
void script_set(struct script_machine *m, enum script_cell_kind kind, uint32_t index,
                const struct datum *datum);
/* The value after a condition: one of the two. */
struct datum script_merge(struct script_machine *m, const struct datum *a,
                          const struct datum *b);
/* Begins one branch; returns the number to end it with. */
struct script_mark {
    uint32_t changes, branch;
};
struct script_mark script_branch_begin(struct script_machine *m);
/* Ends both branches of a condition. `first` are the changes of the first one, which
 * script_branch_undo() has undone; the second is still there. Taken: 1 the first, 0 the
 * second, -1 unknown. */
struct script_changes {
    struct cell_change *at;
    uint32_t n;
};
struct script_changes script_branch_undo(struct script_machine *m,
                                         struct script_mark mark);
void script_branch_join(struct script_machine *m, const struct script_changes *first,
                        struct script_mark second, int taken);
/* The value of a variable at the start of each iteration; and once the end of the
 * iteration is known. */
struct datum script_loop_begin(struct script_machine *m, const struct datum *before);
void script_loop_end(struct script_machine *m, const struct datum *loop,
                     const struct datum *before, const struct datum *end);

/* ---- script_run.c ---- */
/* Follows a function with the arguments m->args[from ..]. */
struct datum script_invoke(struct script_machine *m, const struct script_class *class,
                           struct script_method *method, uint32_t from);
/* `wanted`: how many results an assignment takes. */
struct datum script_eval(struct script_machine *m, struct script_frame *frame,
                         const struct script_node *node, uint32_t wanted);
void script_follow(struct script_machine *m, struct script_frame *frame,
                   const struct script_node *block);
/* Records unsupported code as a region and returns its result. */
struct datum script_unclear(struct script_machine *m, struct str text);

/* ---- script_call.c ---- */
struct datum script_call(struct script_machine *m, struct script_frame *frame,
                         const struct script_node *node, uint32_t wanted);

/* A call of the method of a module; m->args[from] is the module. */
struct datum script_enter(struct script_machine *m, uint32_t instance,
                          struct script_method *method, struct str name, uint32_t from);

/* ---- script_op.c ---- */
/* An operation with the arguments m->args[from ..]. */
struct datum script_op(struct script_machine *m, struct str space, struct str name,
                       uint32_t from, uint32_t wanted);

/* ---- script_names.c ---- */
/* The names of the arguments of aten::op, with blanks between them; "": not in the
 * table. */
const char *script_arg_names(struct str op, bool third_is_list);
/* Is its result a view of its first argument? */
bool script_is_view(struct str op);

#endif
