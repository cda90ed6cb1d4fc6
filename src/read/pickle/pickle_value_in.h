/* pickle_value_in.h - turns nodes into plain values (model/value.h). Knows the
 * representations of common types: bytes by _codecs.encode, complex, range, slice,
 * datetime, paths, UUID, Enum members by getattr, numpy scalars, torch.Size,
 * torch.device, dtypes, OrderedDict, deque, sets, omegaconf. Unknown calls stay calls,
 * unknown objects stay objects. Depth, length and total size are limited; cycles end in
 * a VALUE_CUT. */
#ifndef READ_PICKLE_PICKLE_VALUE_IN_H
#define READ_PICKLE_PICKLE_VALUE_IN_H

#include "read/pickle/pickle_in.h"

/* tensor() returns the index of the tensor at a node, or NO_OBJECT. */
struct pickle_value_hooks {
    uint32_t (*tensor)(void *user, node_id node);
    void *user;
};
/* The value of a node; `hooks` may be NULL. VALUE_ID_FAILED: memory is spent. */
uint32_t pickle_value(const struct pickle *pickle, node_id node,
                      const struct pickle_value_hooks *hooks);

/* A short version for the log: a few levels, a few items, no tensors. Works while the
 * pickle still runs. */
uint32_t pickle_value_brief(const struct pickle *pickle, node_id node);

/* Does the pickle make any tensor, array, storage or module? */
bool pickle_holds_tensors(const struct pickle *pickle);

/* A short text for a dict key of any kind: a string itself, 12, ('a', 1), <class X>; in
 * the build's scratch arena. */
struct str pickle_key_text(const struct pickle *pickle, node_id key);

/* The bytes of a node: BYTES, or the representations of older protocols: _codecs.encode
 * of Latin-1 text, bytes(...), bytearray(...). False: none of these. */
bool pickle_bytes(const struct pickle *pickle, node_id node, struct str *ret_bytes);

/* The decimal text of any number, BIGINT included. */
struct str pickle_number_text(const struct pickle *pickle, node_id node);

#endif
