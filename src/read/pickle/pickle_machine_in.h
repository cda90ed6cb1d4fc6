/* pickle_machine_in.h - the inside of the pickle machine, for pickle*.c only.
 * A pickle is a program for a stack machine. Ours has the same stack, marks and memo as
 * Python's, so that a name that comes through the memo, or a call whose result is
 * thrown away, is seen as Python would see it; but what stands on the stack are node
 * numbers.
 *
 *   pickle.c          pickle_run(): how a run begins and ends
 *   pickle_loop.c     the loop: arguments, and one switch over the opcodes
 *   pickle_opcodes.c  what the larger opcodes do;  pickle_table.c  what they are called
 *   pickle_stack.c    stack, marks, making nodes, containers that grow
 *   pickle_memo.c     the memo, and which of its numbers are ever fetched
 *   pickle_share.c    one node for many things that are equal and stay as they are
 *   pickle_names.c    globals: Python 2's names, what we know of some, the log
 *   pickle_text.c     numbers and strings that protocol 0 writes as text
 *   pickle_salvage.c  a pickle that broke off: what can still be shown
 *   pickle_look.c     does this look like a pickle?
 *   pickle_load.c     a pickle out of a file, but for torch files inside it
 *   pickle_nodes.c    looking at the nodes afterwards
 *
 * A step that fails returns -1 after setting `fault` (the pickle is wrong: one clause
 * for a person) or `spent` (memory, or a limit of ours). */
#ifndef READ_PICKLE_PICKLE_MACHINE_IN_H
#define READ_PICKLE_PICKLE_MACHINE_IN_H

#include <string.h>

#include "base/map.h"
#include "read/pickle/pickle_in.h"

#define PICKLE_MAX_OPCODES 200000000u
#define PICKLE_MAX_NODES   50000000u
#define PICKLE_MAX_STACK   10000000u
#define PICKLE_MAX_MARKS   1000000u
#define PICKLE_MAX_MEMO    50000000u
#define PICKLE_MAX_DIGITS  4300u /* of a number that we make sure is one */

#define INTS_KEPT   4096 /* powers of two */
#define TUPLES_KEPT 1024
#define CALLS_KEPT  64
#define DICTS_KEPT  256

/* See pickle_share.c. */
enum node_sharing {
    SHARED_NODE = 1,  /* stands for many: it is copied before it is changed */
    SHARED_ITEMS = 2, /* others have the same items of the pool */
};

/* What we know of some globals; the `flags` of a GLOBAL node. */
enum global_flag {
    GLOBAL_DICT = 1,          /* calling it gives a dict */
    GLOBAL_LIST = 2,          /* calling it gives a list, a tuple or a set */
    GLOBAL_SAME = 4,          /* calling it gives its first argument back */
    GLOBAL_RECONSTRUCTOR = 8, /* (class, base, state): protocol 0's way to say NEWOBJ */
    GLOBAL_NEWOBJ = 16,       /* (class, *arguments) */
    GLOBAL_NEWOBJ_EX = 32,    /* (class, arguments, keyword arguments) */
    GLOBAL_RAW = 64,          /* joblib: raw elements follow the BUILD of its object */
    GLOBAL_CALLER = 128,      /* calls one of its first two arguments, or both */
};

struct machine {
    struct pickle *pickle;
    struct build *build;
    struct str name;    /* of the pickle, for sentences */
    struct arena arena; /* for stack, marks and memo: gone when the run ends */
    const uint8_t *begin, *at, *end;
    const uint8_t *opcode; /* the one that runs */

    bool drops;        /* what was run goes back to the system, ... */
    size_t dropped;    /* ... up to here */
    uint32_t char_end; /* where the next copied text goes, in pickle->chars */

    node_id *stack;
    uint32_t n_stack, stack_room;
    uint32_t *marks; /* how high the stack was at each */
    uint32_t n_marks, marks_room;
    uint32_t floor; /* the innermost mark: what lies below it cannot be popped */

    node_id *memo; /* low numbers: node + 1; 0: not put */
    uint32_t n_memo, memo_room;
    struct map memo_far; /* numbers far above all others */
    uint8_t *fetched;    /* a bit for each number below n_numbers: some GET wants it */
    uint8_t *put;        /* likewise: it was put, though nobody wants it */
    uint32_t n_numbers;

    /* Nodes that are made once: nothing can be added to them. */
    node_id none, yes, no, empty_tuple, computed;
    node_id ints[INTS_KEPT];
    node_id tuples[TUPLES_KEPT];
    /* Nodes that stand for many, until something is added to one of them. */
    node_id empty_list, empty_dict, empty_set;
    node_id calls[CALLS_KEPT];
    node_id dicts[DICTS_KEPT]; /* with items that others may have too */
    uint32_t hole, n_hole;     /* items of the pool that a container moved away from */
    struct map globals;        /* hash of module and name -> node */
    struct map reached;        /* what is in the log of getattr: value id and act */
    uint32_t getattr_log;      /* its number in the pickle log */
    uint32_t persistent_log, extension_log; /* their numbers in the pickle log */

    uint64_t opcodes;
    uint8_t protocol;
    const char *fault;
    const char *spent;
    node_id raw; /* the object whose raw elements ended the run, or NO_NODE */
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
    uint8_t pops, pushes; /* values; above a mark: what is popped below it */
    bool to_mark;         /* pops everything down to the innermost mark first */
};
extern const struct opcode pickle_opcodes[256];

/* pickle_stack.c */
int machine_fault(struct machine *m, const char *why);
int machine_spent(struct machine *m, const char *what);
int machine_more_stack(struct machine *m);
int machine_more_nodes(struct machine *m);
int machine_init(struct machine *m, struct pickle *pickle, struct build *build,
                 struct bytes *in, struct str name, bool drops);
int machine_mark(struct machine *m);
int machine_pop_mark(struct machine *m, const node_id **ret_items, uint32_t *ret_n);
/* What a node has besides, made if it has nothing yet; NULL: spent. Good until the next
 * call. */
struct node_more *machine_more(struct machine *m, node_id id);
int machine_set_state(struct machine *m, node_id id, node_id state);
int machine_set_extra(struct machine *m, node_id id, node_id extra);
/* Give what was run so far back to the system. */
void machine_drop(struct machine *m, size_t to);
/* A text of the input, or one in the scratch arena. */
node_id machine_text(struct machine *m, enum node_kind kind, struct str text);
/* The same for a GLOBAL. */
node_id machine_listed(struct machine *m, enum node_kind kind, struct str text);
node_id machine_new_int(struct machine *m, int64_t value, node_id *ret_kept);
node_id machine_tuple(struct machine *m, const node_id *items, uint32_t n);
node_id machine_new_tuple(struct machine *m, const node_id *items, uint32_t n);
int machine_add_items(struct machine *m, node_id id, const node_id *items, uint32_t n);
/* The LIST or DICT that holds what is added to `id`, made if there is none. */
node_id machine_extra(struct machine *m, node_id id, enum node_kind kind);

/* pickle_memo.c */
void machine_look_ahead(struct machine *m);
int machine_put_far(struct machine *m, uint32_t index);
int machine_get_far(struct machine *m, uint32_t index);

/* pickle_share.c */
int machine_init_shared(struct machine *m);
/* A call of a callee that gives a container, with nothing in it. */
node_id machine_empty_call(struct machine *m, node_id callee, node_id args);
/* The tuple of one shared node. */
node_id machine_single(struct machine *m, node_id item);
/* The node that stands `from_top` below the top of the stack, or item i of a tuple:
 * from now on its own. Before it is changed, and before a second way leads to it. */
node_id machine_own(struct machine *m, uint32_t from_top);
node_id machine_own_item(struct machine *m, node_id tuple, uint32_t i);
/* Let an empty dict have the items of one that has the same; false: there is none. */
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

/* pickle_names.c */
node_id machine_global(struct machine *m, struct str module, struct str name);
/* The GLOBAL that stands for every name that is not written in the file. */
node_id machine_computed(struct machine *m);
/* Write one event; `callee` as for pickle_class(), `args` for those that are kept.
 */
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

/* pickle_salvage.c: put what is on the stack together as far as it goes. */
node_id machine_salvage(struct machine *m);

static inline struct node *node_at(const struct machine *m, node_id id)
{
    return &m->pickle->nodes[id];
}

/* Where the opcode that runs stands in the pickle. */
static inline uint64_t machine_offset(const struct machine *m)
{
    return (uint64_t)(m->opcode - m->begin);
}

/* A new node with nothing in it, or NO_NODE. */
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

/* Push a node; -1 if it is NO_NODE, so that makers can be pushed at once. */
static inline int machine_push(struct machine *m, node_id id)
{
    if (id == NO_NODE)
        return -1;
    if (m->n_stack == m->stack_room && machine_more_stack(m) < 0)
        return -1;
    m->stack[m->n_stack++] = id;
    return 0;
}

/* Are there n values above the innermost mark? If not, that is a fault. */
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

/* Nothing can be added to an int, so equal ones may be one node: sizes and strides of a
 * hundred thousand tensors are a few hundred different numbers. */
static inline node_id machine_int(struct machine *m, int64_t value)
{
    uint64_t hash = (uint64_t)value ^ ((uint64_t)value >> 12) ^ ((uint64_t)value >> 24);
    node_id *kept = &m->ints[hash % INTS_KEPT];

    if (*kept != NO_NODE && node_at(m, *kept)->integer == value)
        return *kept;
    return machine_new_int(m, value, kept);
}

/* PUT: remember the top of the stack, if it is ever asked for. */
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
