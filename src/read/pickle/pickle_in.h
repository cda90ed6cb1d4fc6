/* pickle_in.h - the pickle machine: bytes to a graph of symbolic nodes.
 * Nothing is imported, called or built: a call is a node that says so. All opcodes of
 * protocols 0 to 5. Nodes are shared, never expanded; the graph may have cycles;
 * nothing here or in its users recurses without a limit. Strings are borrowed from the
 * input, which must outlive the graph, or lie in the build's scratch arena.
 *
 * Every global, call, BUILD and persistent id goes into the build's pickle log as its
 * opcode runs. A pickle that breaks off leaves what was made so far: `result` is then
 * the best guess (the lowest value left on the stack), `complete` is false, and a
 * finding says which opcode at which byte. */
#ifndef READ_PICKLE_PICKLE_IN_H
#define READ_PICKLE_PICKLE_IN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
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
    NODE_LISTED = 32,   /* STR, BYTES, BIGINT: its text is not one of the input */
};

/* There are nine of these for each tensor of a file: what few nodes have stands apart,
 * see struct node_more. */
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

/* What a node has besides. */
struct node_more {
    uint32_t aux;  /* GLOBAL: length of the module part; LIST, DICT, SET: room, or 0:
                      for as many items as there are */
    node_id state; /* from BUILD, on any node; the last one wins; or NO_NODE */
    node_id extra; /* a LIST or DICT node with what APPEND(S) or SETITEM(S) added to a
                      node that is no list or dict; or NO_NODE */
};

#define CHARS_SHIFT 15

struct pickle {
    struct build *build;
    uint32_t stream; /* in the build's pickle log */
    struct node *nodes;
    uint32_t n_nodes, nodes_room;
    struct node_more *more; /* the first one is empty */
    uint32_t n_more, more_room;
    const char *input; /* borrowed: texts stand in it */
    uint32_t copied;   /* but those shorter than this, which stand in `chars` */
    char **chars;      /* pieces of 1 << CHARS_SHIFT bytes */
    uint32_t n_chars, chars_room;
    struct str *texts; /* those that do not */
    uint32_t n_texts, texts_room;
    node_id *items; /* of all containers: those of one stand side by side */
    uint32_t n_items, items_room;
    struct pickle_notes *notes; /* what looking at nodes keeps */
    node_id result;
    bool complete;
    uint64_t size; /* bytes used, up to and with STOP */
};

/* Run one pickle from the front of `in`, which is advanced past its STOP. `name` is
 * what to call it ("archive/data.pkl"). 0 even if it breaks off, as long as anything
 * can be shown; -1 only if there is nothing (or memory is spent). */
int pickle_run(struct pickle *pickle, struct build *build, struct bytes *in,
               struct str name, struct err *err);

/* The same for a large pickle that nobody needs afterwards: `in` is all of a thing in
 * the build's scratch arena, of PICKLE_DROP bytes or more. What was run goes back to
 * the system, but for long texts, and may not be looked at any more. */
#define PICKLE_DROP ((size_t)1 << 20)
int pickle_run_dropping(struct pickle *pickle, struct build *build, struct bytes *in,
                        struct str name, struct err *err);

/* Does this look like a pickle? (PROTO opcode, or a clean walk of a few opcodes.) */
bool pickle_looks_like(struct str head);

/* The same for bytes inside a pickle, where chance has more chances: a whole pickle
 * with a PROTO, or one that names something. */
bool pickle_is_inside(struct str bytes);

/* Pickles hidden in the bytes of this one, and in theirs, a few levels down: each is a
 * finding, and is run into the same log. torch files in bytes are left alone: folding
 * reads them. `name` is what to call the outer one. */
void pickle_run_nested(struct build *build, const struct pickle *pickle,
                       struct str name);

/* The torch file in the bytes that `call` (of _load_from_bytes) is given: run its
 * pickles into the same log, and those inside them. False if it is not there or cannot
 * be read to its end. */
bool pickle_run_file(struct build *build, const struct pickle *pickle, node_id call);

/* Looking at nodes. Wrong kinds give NULL, false, 0 or NO_NODE: no check needed first.
 */
const struct node *pickle_node(const struct pickle *pickle, node_id id);
/* What BUILD set on a node of this pickle, and what was added to it; or NO_NODE. */
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
uint32_t pickle_args(const struct pickle *pickle, node_id id); /* how many */
/* The GLOBAL behind a class or callee: itself, or the one that a legacy file's
 * persistent id ('module', class, file, source), or torch 0.1's (class, file, source),
 * names. NO_NODE: it is the result of something. */
node_id pickle_class(const struct pickle *pickle, node_id callee);
/* What was added to an object that is no list or dict: the LIST or DICT, or NO_NODE. */
node_id pickle_extra(const struct pickle *pickle, node_id id, enum node_kind kind);

/* Sees through the spellings of a dict: a DICT, an OrderedDict or defaultdict call with
 * items set on it, Python 2's OrderedDict([[k, v], ...]), Counter. Calls like
 * pickle_dict_n() and pickle_dict_at() then work on it. */
bool pickle_is_dict(const struct pickle *pickle, node_id id);
uint32_t pickle_dict_n(const struct pickle *pickle, node_id id);
bool pickle_dict_at(const struct pickle *pickle, node_id id, uint32_t i,
                    node_id *ret_key, node_id *ret_value);
node_id pickle_dict_get(const struct pickle *pickle, node_id id, const char *key);
/* The same for lists (LIST, TUPLE, deque, set calls). */
bool pickle_is_list(const struct pickle *pickle, node_id id);
uint32_t pickle_list_n(const struct pickle *pickle, node_id id);
node_id pickle_list_at(const struct pickle *pickle, node_id id, uint32_t i);

#endif
