/* pickle_fold_in.h - shared by pickle_value*.c, which turn nodes into values.
 *   pickle_value.c        the walk, its limits, containers and unknown objects
 *   pickle_value_calls.c  THE TABLE of callees with a simpler meaning
 *   pickle_value_numpy.c  numpy's scalars and element types
 *   pickle_key.c          numbers and keys as text */
#ifndef READ_PICKLE_PICKLE_FOLD_IN_H
#define READ_PICKLE_PICKLE_FOLD_IN_H

#include "read/pickle/pickle_notes_in.h"
#include "read/pickle/pickle_value_in.h"

#define VALUE_MAX_DEPTH  64
#define VALUE_MAX_ITEMS  10000u
#define VALUE_MAX_NODES  2000000u
#define VALUE_BYTES_KEPT 64u

/* A folding function returns this for a call with unexpected arguments, which then stays
 * a call. */
#define NOT_FOLDED (UINT32_MAX - 1)

struct folding {
    const struct pickle *pickle;
    struct values *values;
    const struct pickle_value_hooks *hooks; /* or NULL */
    uint32_t max_depth, max_items;
    uint32_t *nodes_left;
    bool keep; /* cache the values of containers by node */
    uint32_t depth;
    node_id path[VALUE_MAX_DEPTH]; /* the nodes around the current one */
};

/* The value of any node, one level further down. */
uint32_t folding_any(struct folding *f, node_id id);
/* A value of one of the kinds with items, from the items of the node's list, or from
 * its dict's keys and values. */
uint32_t folding_list(struct folding *f, node_id list, enum value_kind kind);
uint32_t folding_dict(struct folding *f, node_id dict, enum value_kind kind,
                      struct str text);
/* A call with this name and one string argument: torch.device('cuda:0'). */
uint32_t folding_named(struct folding *f, struct str name, struct str argument);

/* Like pickle_dict_get(), but fast while the pickle still runs. */
node_id folding_get(const struct folding *f, node_id dict, const char *key);

/* The simpler value of a call or new object, or NOT_FOLDED. */
uint32_t folding_call(struct folding *f, node_id id);

uint32_t folding_numpy_scalar(struct folding *f, node_id id);
uint32_t folding_numpy_dtype(struct folding *f, node_id id);
uint32_t folding_numpy_array(struct folding *f, node_id id);

#endif
