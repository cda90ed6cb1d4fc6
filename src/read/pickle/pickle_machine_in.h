/* pickle_machine_in.h - internals of the pickle machine. A pickle is a program for a
 * stack machine. This one has the same stack, marks and memo as Python's, so that it
 * sees names that come through the memo and calls whose result is dropped as Python
 * does; but the values on the stack are node numbers.
 *
 *   pickle.c          pickle_run(): begins and ends a run
 *   pickle_loop.c     the loop: arguments, and one switch over the opcodes
 *   pickle_opcodes.c  the larger opcodes;  pickle_table.c  the table of opcodes
 *   pickle_stack.c    stack, marks, making nodes, growing containers
 *   pickle_memo.c     the memo, and which of its entries are ever fetched
 *   pickle_share.c    one node for many equal things
 *   pickle_names.c    globals: Python 2's names, known globals, the log
 *   pickle_text.c     numbers and strings that protocol 0 writes as text
 *   pickle_joblib.c   raw arrays between the opcodes
 *   pickle_salvage.c  a partial result of a truncated pickle
 *
 * A step that fails returns -1 after setting `fault` (the pickle is invalid: a clause
 * for the message) or `spent` (memory, or another limit). */
#ifndef READ_PICKLE_PICKLE_MACHINE_IN_H
#define READ_PICKLE_PICKLE_MACHINE_IN_H

#include <string.h>

#include "base/map.h"
#include "read/pickle/pickle_in.h"
#include "read/pickle/pickle_load_in.h"

#define PICKLE_MAX_OPCODES 200000000u
#define PICKLE_MAX_NODES   50000000u
#define PICKLE_MAX_STACK   10000000u
#define PICKLE_MAX_MARKS   1000000u
#define PICKLE_MAX_MEMO    50000000u
#define PICKLE_MAX_DIGITS  4300u /* longer numbers are not checked */

#define INTS_KEPT   4096 /* powers of two */
#define TUPLES_KEPT 1024
#define CALLS_KEPT  64
#define DICTS_KEPT  256

/* See pickle_share.c. */
enum node_sharing {
    SHARED_NODE = 1,  /* used in many places: copied before it is changed */
    SHARED_ITEMS = 2, /* other nodes have the same items of the pool */
};

/* Known globals; the `flags` of a GLOBAL node. */
enum global_flag {
    GLOBAL_DICT = 1,          /* returns a dict */
    GLOBAL_LIST = 2,          /* returns a list, a tuple or a set */
    GLOBAL_SAME = 4,          /* returns its first argument */
    GLOBAL_RECONSTRUCTOR = 8, /* (class, base, state): NEWOBJ in protocol 0 */
    GLOBAL_NEWOBJ = 16,       /* (class, *arguments) */
    GLOBAL_NEWOBJ_EX = 32,    /* (class, arguments, keyword arguments) */
    GLOBAL_RAW = 64,          /* joblib: raw elements follow the BUILD of its object */
    GLOBAL_CALLER = 128,      /* calls one of its first two arguments, or both */
};

struct machine {
    struct pickle *pickle;
    struct build *build;
    struct str name;    /* of the pickle, for messages */
    struct arena arena; /* of stack, marks and memo; released when the run ends */
    const uint8_t *begin, *at, *end;
    const uint8_t *opcode; /* the current one */

    struct pickle_load *load; /* of a joblib file, else NULL */
    bool drops;               /* free the input as it is run */
    size_t dropped;           /* bytes freed so far */
    uint32_t char_end;        /* end of the copied texts in pickle->chars */

    node_id *stack;
    uint32_t n_stack, stack_room;
    uint32_t *marks; /* the height of the stack at each mark */
    uint32_t n_marks, marks_room;
    uint32_t floor; /* the innermost mark: values below it cannot be popped */

    node_id *memo; /* low numbers: node + 1; 0: not put */
    uint32_t n_memo, memo_room;
    struct map memo_far; /* numbers far above all others */
    uint8_t *fetched;    /* a bit for each number below n_numbers: some GET fetches
                            it */
    uint8_t *put;        /* likewise: it was put, but no GET fetches it */
    uint32_t n_numbers;

    /* Nodes that cannot change. */
    node_id none, yes, no, empty_tuple, computed;
    node_id ints[INTS_KEPT];
    node_id tuples[TUPLES_KEPT];
    /* Shared nodes, see pickle_share.c. */
    node_id empty_list, empty_dict, empty_set;
    node_id calls[CALLS_KEPT];
    node_id dicts[DICTS_KEPT]; /* their items may be shared */
    uint32_t hole, n_hole;     /* free items of the pool, left behind by a moved
                                  container */
    struct map globals;        /* hash of module and name -> node */
    struct map reached;        /* value id and act of each getattr in the log */
    uint32_t getattr_log, persistent_log, extension_log; /* numbers in the pickle log */

    uint64_t opcodes;
    uint8_t protocol;
    const char *fault;
    const char *spent;
    node_id raw; /* the joblib array whose raw elements ended the run, or NO_NODE */
    bool cancelled;
};

/* How an opcode's argument is laid out. */
enum opcode_arg {
    ARG_NONE,
    ARG_FIXED,   /* `fixed` bytes */
    ARG_COUNTED, /* `fixed` bytes say how many bytes follow */
    ARG_NUMBER,  /* a line: a decimal number */
    ARG_REAL,    /* a line: a number with a point */
    ARG_STRING,  /* a line: quoted, with escapes */
    ARG_LINE,    /* a line of anything */
    ARG_NAMES,   /* two lines: module and name */
};

struct opcode {
    const char *name; /* NULL: there is no such opcode */
    uint8_t arg, fixed;
    uint8_t pops, pushes; /* values; with to_mark: those below the mark */
    bool to_mark;         /* pops everything down to the innermost mark first */
};
extern const struct opcode pickle_opcodes[256];
/* The length of the opcode's argument at the front of `rest`. SIZE_MAX: incomplete. */
size_t pickle_argument_length(const struct opcode *opcode, struct str rest);

/* pickle_stack.c */
int machine_fault(struct machine *m, const char *why);
int machine_spent(struct machine *m, const char *what);
int machine_more_stack(struct machine *m);
int machine_more_nodes(struct machine *m);
int machine_init(struct machine *m, struct pickle *pickle, struct build *build,
                 struct bytes *in, struct str name, struct pickle_load *load,
                 bool drops);
int machine_mark(struct machine *m);
int machine_pop_mark(struct machine *m, const node_id **ret_items, uint32_t *ret_n);
/* The rare fields of a node, made if it has none; NULL: spent. Valid until the next
 * call. */
struct node_more *machine_more(struct machine *m, node_id id);
int machine_set_state(struct machine *m, node_id id, node_id state);
int machine_set_extra(struct machine *m, node_id id, node_id extra);
/* Frees the input up to `to`. */
void machine_drop(struct machine *m, size_t to);
/* A node with a text of the input, or one in the scratch arena. */
node_id machine_text(struct machine *m, enum node_kind kind, struct str text);
/* A node with a text of pickle->texts: a GLOBAL, or a LISTED one. */
node_id machine_listed(struct machine *m, enum node_kind kind, struct str text);
node_id machine_new_int(struct machine *m, int64_t value, node_id *ret_kept);
node_id machine_tuple(struct machine *m, const node_id *items, uint32_t n);
node_id machine_new_tuple(struct machine *m, const node_id *items, uint32_t n);
/* A CALL or NEW node. */
node_id machine_call(struct machine *m, enum node_kind kind, node_id callee,
                     node_id args);
int machine_add_items(struct machine *m, node_id id, const node_id *items, uint32_t n);
/* The LIST or DICT for items added to another kind of node, made if there is none. */
node_id machine_extra(struct machine *m, node_id id, enum node_kind kind);

/* pickle_memo.c */
void machine_look_ahead(struct machine *m);
int machine_put_far(struct machine *m, uint32_t index);
int machine_get_far(struct machine *m, uint32_t index);

/* pickle_share.c */
int machine_init_shared(struct machine *m);
/* A call that returns an empty container. */
node_id machine_empty_call(struct machine *m, node_id callee, node_id args);
/* The tuple of one shared node. */
node_id machine_single(struct machine *m, node_id item);
/* The node `from_top` below the top of the stack, or item i of a tuple; a shared one is
 * replaced by a copy. Call it before the node is changed or gets a second reference. */
node_id machine_own(struct machine *m, uint32_t from_top);
node_id machine_own_item(struct machine *m, node_id tuple, uint32_t i);
/* Let an empty dict share the items of an equal one; false: there is none. */
bool machine_share_items(struct machine *m, node_id id, const node_id *items,
                         uint32_t n);

/* pickle_loop.c: run to the STOP. 0, or -1 with the reason in the machine. */
int machine_run(struct machine *m);

/* pickle_opcodes.c: each runs one opcode. */
int machine_run_stack_global(struct machine *m);
int machine_run_reduce(struct machine *m);
int machine_run_new(struct machine *m, bool with_keywords);
int machine_run_obj(struct machine *m);
int machine_run_inst(struct machine *m, struct str module, struct str name);
int machine_run_build(struct machine *m);
int machine_run_append(struct machine *m);
int machine_run_setitem(struct machine *m);
int machine_run_items(struct machine *m,
                      enum node_kind kind); /* APPENDS, SETITEMS, ADDITEMS */
int machine_run_container(struct machine *m,
                          enum node_kind kind); /* LIST, DICT, FROZENSET */
int machine_run_tuple(struct machine *m, uint32_t n);
int machine_run_tuple_to_mark(struct machine *m);
int machine_run_persistent(struct machine *m, node_id id);
int machine_run_extension(struct machine *m, int64_t code);

/* pickle_joblib.c: skip what follows the BUILD of this array. */
int machine_skip_raw(struct machine *m, node_id array);

/* pickle_names.c */
node_id machine_global(struct machine *m, struct str module, struct str name);
/* The GLOBAL for all names that are not literals. */
node_id machine_computed(struct machine *m);
/* Log one event; `callee` as for pickle_class(). */
void machine_log(struct machine *m, enum pickle_act act, node_id callee, node_id args);
void machine_log_number(struct machine *m, enum pickle_act act, uint32_t global,
                        node_id args);

/* pickle_text.c: the node for a text argument, or NO_NODE after a fault. */
node_id machine_number(struct machine *m, struct str line, bool bools);
node_id machine_real(struct machine *m, struct str line);
node_id machine_string(struct machine *m, struct str line);
node_id machine_unicode(struct machine *m, struct str line);
node_id machine_python2(struct machine *m, struct str bytes);
node_id machine_long(struct machine *m, struct str bytes);

/* pickle_salvage.c: make one result of what is on the stack. */
node_id machine_salvage(struct machine *m);

/* Out of memory: returns NO_NODE. */
static inline node_id machine_no_memory(struct machine *m)
{
    machine_spent(m, "more memory than allowed");
    return NO_NODE;
}

static inline struct node *node_at(const struct machine *m, node_id id)
{
    return &m->pickle->nodes[id];
}

/* The offset of the current opcode. */
static inline uint64_t machine_offset(const struct machine *m)
{
    return (uint64_t)(m->opcode - m->begin);
}

/* A new empty node, or NO_NODE. */
static inline node_id machine_node(struct machine *m, enum node_kind kind)
{
    struct pickle *p = m->pickle;
    struct node *node;

    if (p->n_nodes == p->nodes_room && machine_more_nodes(m) < 0)
        return NO_NODE;
    node = &p->nodes[p->n_nodes];
    node->kind = (uint8_t)kind;
    return p->n_nodes++;
}

static inline bool machine_is_shared(const struct machine *m, node_id id)
{
    return node_at(m, id)->sharing & SHARED_NODE;
}

/* Push a node; -1 for NO_NODE, so that the result of a constructor can be pushed
 * directly. */
static inline int machine_push(struct machine *m, node_id id)
{
    if (id == NO_NODE)
        return -1;
    if (m->n_stack == m->stack_room && machine_more_stack(m) < 0)
        return -1;
    m->stack[m->n_stack++] = id;
    return 0;
}

/* Fail unless there are n values above the innermost mark. */
static inline int machine_needs(struct machine *m, uint32_t n)
{
    if (m->n_stack - m->floor < n)
        return machine_fault(m, "it needs more values than the stack holds");
    return 0;
}

static inline node_id machine_pop(struct machine *m)
{
    return m->stack[--m->n_stack];
}

/* Equal ints may share a node: the sizes and strides of 100,000 tensors have only a few
 * hundred distinct values. */
static inline node_id machine_int(struct machine *m, int64_t value)
{
    uint64_t hash = (uint64_t)value ^ ((uint64_t)value >> 12) ^ ((uint64_t)value >> 24);
    node_id *kept = &m->ints[hash % INTS_KEPT];

    if (*kept != NO_NODE && node_at(m, *kept)->integer == value)
        return *kept;
    return machine_new_int(m, value, kept);
}

/* PUT: stores the top of the stack in the memo if some GET fetches it. */
static inline int machine_put(struct machine *m, uint32_t index)
{
    node_id top;

    if (m->n_stack == m->floor)
        return machine_put_far(m, index);
    if (index < m->n_numbers && !(m->fetched[index / 8] >> index % 8 & 1)) {
        uint8_t bit = (uint8_t)(1u << index % 8);

        m->n_memo += !(m->put[index / 8] & bit);
        m->put[index / 8] |= bit;
        return 0;
    }
    top = machine_own(m, 0);
    if (top == NO_NODE)
        return -1;
    if (index >= m->memo_room || m->memo_far.n > 0)
        return machine_put_far(m, index);
    m->n_memo += m->memo[index] == 0;
    m->memo[index] = top + 1;
    return 0;
}

static inline int machine_get(struct machine *m, uint32_t index)
{
    if (index < m->memo_room && m->memo[index] != 0)
        return machine_push(m, m->memo[index] - 1);
    return machine_get_far(m, index);
}

#endif
