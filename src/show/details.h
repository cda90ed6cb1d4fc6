/* details.h - the facts about one place as lines of text, as `show` prints them:
 *
 *     strides    [1, 120]  offset 0  storage data/4, 3.0KB
 *     tied       also lm_head.weight */
#ifndef SHOW_DETAILS_H
#define SHOW_DETAILS_H

#include "base/buf.h"
#include "show/show.h"

/* So many other places of a tensor are told; the rest is counted. */
#define MOST_TIES 100

/* What is out of the ordinary about a tensor: how it lies in memory, ties, quantisers,
 * parts. With `all`, the ordinary too. */
void details_tensor(struct buf *to, const struct show *show, uint32_t place, bool all);

/* A module or group: its class, arguments, hooks and counts, what stands directly below
 * it, and its source where the file has it. */
void details_module(struct buf *to, const struct show *show, uint32_t place);

/* The parts of it: without its source, and with at most so many of what stands below,
 * each on a line of at most so many cells (0: no limit); more are counted on one. */
void details_head(struct buf *to, const struct show *show, uint32_t place);
void details_children(struct buf *to, const struct show *show, uint32_t place,
                      uint32_t most, unsigned cells);

/* A plain value, whole. */
void details_value(struct buf *to, const struct show *show, uint32_t place);

#endif
