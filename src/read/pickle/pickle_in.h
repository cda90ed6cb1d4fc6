/* pickle_in.h - the public header of read/pickle: runs a pickle into a graph of
 * symbolic nodes. Nothing is imported, called or built: a call becomes a node. Supports
 * all opcodes of protocols 0 to 5. Nodes are shared, never expanded; the graph may have
 * cycles; every recursion here and in its users has a limit. Strings are borrowed from
 * the input, which must outlive the graph, or are in the build's scratch arena.
 *
 * Every global, call, BUILD and persistent id goes into the build's pickle log as its
 * opcode runs. If the pickle is truncated or malformed, the nodes made so far remain:
 * `result` is then the best guess (the lowest value on the stack), `complete` is false,
 * and a finding has the opcode and its offset.
 *
 *   pickle_machine_in.h  the machine: stack, memo, opcodes, names
 *   pickle_nodes.c       the functions below that look at nodes
 *   pickle_value_in.h    turns nodes into plain values; pickle_fold_in.h: internals
 *   pickle_feed_in.h     consecutive pickles of unknown length
 *   pickle_load_in.h     loads a pickle, skipping torch files and raw arrays in it
 *   pickle_nested.c      pickles inside the bytes of a pickle
 *   pickle_look.c        does this look like a pickle? */
#ifndef READ_PICKLE_PICKLE_IN_H
#define READ_PICKLE_PICKLE_IN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/map.h"
#include "base/str.h"
#include "model/build.h"

typedef uint32_t node_id;
#define NO_NODE UINT32_MAX

enum node_kind {
    NODE_NONE,
    NODE_BOOL,       /* integer */
    NODE_INT,        /* integer */
    NODE_BIGINT,     /* text: decimal digits (protocol 0) or little-endian bytes */
    NODE_REAL,       /* real */
    NODE_STR,        /* text: UTF-8 (perhaps with lone surrogates) */
    NODE_BYTES,      /* text */
    NODE_LIST,       /* items */
    NODE_TUPLE,      /* items */
    NODE_DICT,       /* items: key, value, key, value, ... in order */
    NODE_SET,        /* items; frozen or not */
    NODE_GLOBAL,     /* text: "module.name", Python 2 names mapped; "<computed>" when
                        its name was not a literal */
    NODE_CALL,       /* REDUCE: callee, args (a tuple node) */
    NODE_NEW,        /* NEWOBJ and its kin: callee (the class), args */
    NODE_PERSISTENT, /* callee: the node of the id */
    NODE_EXTENSION,  /* integer: the code */
    NODE_BUFFER,     /* an out-of-band buffer */
};

enum node_flag {
    NODE_DECIMAL = 1,   /* BIGINT: its text is decimal digits, perhaps with a sign */
    NODE_FROZEN = 2,    /* SET: a frozenset */
    NODE_BYTEARRAY = 4, /* BYTES: a bytearray */
    NODE_PYTHON2 = 8,   /* STR, BYTES: written as Python 2's str */
    NODE_KEYWORDS = 16, /* NEW: the last argument is a dict of keyword arguments */
    NODE_LISTED = 32,   /* STR, BYTES, BIGINT: its text is not in the input */
};

/* There are nine nodes for each tensor of a file: rare fields are in struct node_more.
 */
struct node {
    uint8_t kind;
    uint8_t flags;   /* enum node_flag; those of a GLOBAL are the machine's */
    uint8_t sharing; /* the machine's: enum node_sharing */
    uint32_t more;   /* index in pickle->more; 0: nothing */
    union {
        int64_t integer;
        double real;
        struct {
            uint32_t first, n; /* items */
        } items;
        struct {
            node_id callee, args;
        } call;
        struct {
            uint32_t at, len; /* STR, BYTES, BIGINT: in the input (or in
                                 pickle->chars), unless LISTED */
        } text;
        struct {
            uint32_t text; /* GLOBAL, and what is LISTED: index in pickle->texts */
            uint32_t log;  /* GLOBAL: its number in the pickle log */
        } listed;
    };
};

/* The rare fields of a node. */
struct node_more {
    uint32_t aux;  /* GLOBAL: length of the module part; LIST, DICT, SET: room for
                      items, or 0: none to spare */
    node_id state; /* from the last BUILD, on any node; or NO_NODE */
    node_id extra; /* a LIST or DICT node with the items that APPEND(S) or SETITEM(S)
                      added to another kind of node; or NO_NODE */
};

#define CHARS_SHIFT 15

struct pickle {
    struct build *build;
    uint32_t stream; /* in the build's pickle log */
    struct node *nodes;
    uint32_t n_nodes, nodes_room;
    struct node_more *more; /* the first one is empty */
    uint32_t n_more, more_room;
    const char *input; /* borrowed; the texts of nodes are in it, ... */
    uint32_t copied;   /* ... except those shorter than this, which are in `chars` */
    char **chars;      /* pieces of 1 << CHARS_SHIFT bytes */
    uint32_t n_chars, chars_room;
    struct str *texts; /* of LISTED nodes and globals */
    uint32_t n_texts, texts_room;
    node_id *items; /* of all containers; those of one are consecutive */
    uint32_t n_items, items_room;
    struct pickle_notes *notes; /* caches for looking at nodes */
    struct pickle_raw *raws;    /* arrays of a joblib file */
    uint32_t n_raws, raws_room;
    struct map raw_of; /* node -> index in `raws` */
    node_id result;
    bool complete;
    uint64_t size; /* bytes used, including the STOP */
};

/* The data after the BUILD of an array in a joblib file: its raw elements or, for
 * objects, a pickle. */
struct pickle_raw {
    struct str bytes;
    struct pickle *inner; /* or NULL */
};
/* The raw array of a node, or NULL. */
const struct pickle_raw *pickle_raw_at(const struct pickle *pickle, node_id id);

/* Run the pickle at the front of `in`, which is advanced past its STOP. `name` is for
 * messages ("archive/data.pkl"). Returns 0 even if it is malformed, as long as there
 * are nodes; -1: no nodes, or memory is spent. */
int pickle_run(struct pickle *pickle, struct build *build, struct bytes *in,
               struct str name, struct err *err);

/* The same for a large pickle: `in` is a whole allocation of the build's scratch arena.
 * If it has PICKLE_DROP bytes or more, its memory goes back to the system as it is run,
 * except for long texts, and may not be read any more. */
#define PICKLE_DROP ((size_t)1 << 20)
int pickle_run_dropping(struct pickle *pickle, struct build *build, struct bytes *in,
                        struct str name, struct err *err);

/* The same for a joblib file, of which `load` has the beginning; `in` is a part of it. */
struct pickle_load;
int pickle_run_joblib(struct pickle *pickle, struct build *build, struct bytes *in,
                      struct str name, struct pickle_load *load, struct err *err);

/* Does this look like a pickle: a PROTO opcode, or a few valid opcodes? */
bool pickle_looks_like(struct str head);

/* Are these bytes inside a pickle or archive a pickle? Stricter, because false
 * positives are more likely: a whole pickle with a PROTO, or one with a global. */
bool pickle_is_inside(struct str bytes);

/* Find pickles in the bytes of this one, and in theirs, a few levels down: each is a
 * finding, and is run into the same log. Torch files in bytes are skipped, because
 * folding reads them. `name` is the name of the outer one. */
void pickle_run_nested(struct build *build, const struct pickle *pickle,
                       struct str name);

/* Run the pickles of the torch file in the argument of `call` (of _load_from_bytes)
 * into the same log, and those inside them. */
void pickle_run_file(struct build *build, const struct pickle *pickle, node_id call);
/* Log that such a file was read to its end. */
void pickle_note_file(struct build *build);
/* The bytes in the argument of such a call; false: none. */
bool pickle_file_bytes(const struct pickle *pickle, node_id call,
                       struct str *ret_bytes);

/* Accessors of nodes. For a wrong kind they return NULL, false, 0 or NO_NODE. */
const struct node *pickle_node(const struct pickle *pickle, node_id id);

/* Is it a call or a new object? */
static inline bool node_is_made(const struct node *node)
{
    return node->kind == NODE_CALL || node->kind == NODE_NEW;
}

/* The state that BUILD set, and the items added to a node that is not a container; or
 * NO_NODE. */
static inline node_id node_state(const struct pickle *pickle, const struct node *node)
{
    return pickle->more[node->more].state;
}

static inline node_id node_extra(const struct pickle *pickle, const struct node *node)
{
    return pickle->more[node->more].extra;
}
struct str pickle_text(const struct pickle *pickle, node_id id); /* STR, BYTES, ... */
uint32_t pickle_count(const struct pickle *pickle, node_id id);  /* items */
node_id pickle_item(const struct pickle *pickle, node_id id, uint32_t i);
bool pickle_int(const struct pickle *pickle, node_id id, int64_t *ret_value);
bool pickle_is_global(const struct pickle *pickle, node_id id, const char *name);
/* Is it a call of (or a new object of) this global? "torch._utils._rebuild_tensor_v2"
 */
bool pickle_is_call(const struct pickle *pickle, node_id id, const char *global);
node_id pickle_callee(const struct pickle *pickle, node_id id);
node_id pickle_arg(const struct pickle *pickle, node_id id,
                   uint32_t i);                                /* of CALL, NEW */
uint32_t pickle_args(const struct pickle *pickle, node_id id); /* their number */
/* The GLOBAL of a class or callee: itself, or the one in the persistent id of a legacy
 * file, ('module', class, file, source), or of torch 0.1, (class, file, source).
 * NO_NODE: it is computed. */
node_id pickle_class(const struct pickle *pickle, node_id callee);
/* The LIST or DICT of items added to an object that is not a list or dict, or
 * NO_NODE. */
node_id pickle_extra(const struct pickle *pickle, node_id id, enum node_kind kind);

/* Dicts in all representations: a DICT, an OrderedDict or defaultdict call with items
 * set on it, Python 2's OrderedDict([[k, v], ...]), Counter. */
bool pickle_is_dict(const struct pickle *pickle, node_id id);
uint32_t pickle_dict_n(const struct pickle *pickle, node_id id);
bool pickle_dict_at(const struct pickle *pickle, node_id id, uint32_t i,
                    node_id *ret_key, node_id *ret_value);
node_id pickle_dict_get(const struct pickle *pickle, node_id id, const char *key);
/* Lists in all representations: LIST, TUPLE, deque, set calls. */
bool pickle_is_list(const struct pickle *pickle, node_id id);
uint32_t pickle_list_n(const struct pickle *pickle, node_id id);
node_id pickle_list_at(const struct pickle *pickle, node_id id, uint32_t i);

#endif
