/* pickle_value_in.h - nodes to plain values (model/value.h).
 * Folds the spellings of plain things: bytes by _codecs.encode, complex, range, slice,
 * datetime, paths, UUID, Decimal, Enum members by getattr, numpy scalars, torch.Size,
 * torch.device, dtypes, OrderedDict, deque, sets, omegaconf, argparse.Namespace.
 * Unknown calls stay calls, unknown objects stay objects. Depth, length and total size
 * are limited; cycles end in a VALUE_CUT. */
#ifndef READ_PICKLE_PICKLE_VALUE_IN_H
#define READ_PICKLE_PICKLE_VALUE_IN_H

#include "read/pickle/pickle_in.h"

/* The value of a node. VALUE_ID_FAILED: memory is spent. `tensor` (may be NULL) is
 * asked about nodes that might be tensors: it returns a tensor's number or NO_OBJECT.
 */
struct pickle_value_hooks {
    uint32_t (*tensor)(void *user, node_id node);
    void *user;
};
uint32_t pickle_value(const struct pickle *pickle, node_id node,
                      const struct pickle_value_hooks *hooks);

/* The same in small, for the log: a few levels, a few items, no tensors. Works while
 * the pickle still runs. */
uint32_t pickle_value_brief(const struct pickle *pickle, node_id node);

/* Is the node plain all the way down (no tensor, no module), as far as a look at a few
 * thousand nodes tells? */
bool pickle_is_scalar(const struct pickle *pickle, node_id node);

/* A short text for a dict key of any kind: a string itself, 12, ('a', 1), <class X>. In
 * the build's scratch arena. */
struct str pickle_key_text(const struct pickle *pickle, node_id key);

/* The bytes that a node spells: BYTES, or how older protocols write them:
 * _codecs.encode of Latin-1 text, bytes(...), bytearray(...). False if it is none of
 * these. */
bool pickle_bytes(const struct pickle *pickle, node_id node, struct str *ret_bytes);

/* A number's decimal text, however it is spelt (BIGINT included). */
struct str pickle_number_text(const struct pickle *pickle, node_id node);

#endif
