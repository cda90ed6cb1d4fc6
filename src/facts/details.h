/* details.h - the facts about one place: what `show` prints and the Details panel shows.
 *
 *     strides    [1, 120]  offset 0  storage data/4, 3.0KB
 *     tied       also lm_head.weight */
#ifndef FACTS_DETAILS_H
#define FACTS_DETAILS_H

#include "facts/fact.h"
#include "rows/show.h"

#define DETAILS_LABEL 11 /* cells that the labels need */

/* How a tensor lies in memory, ties, quantisers, parts: what is out of the ordinary, or
 * `all` of it. */
void details_tensor(struct facts *to, const struct show *show, uint32_t place,
                    bool all);

/* A module or group: what it is, with its name if asked for, its class, arguments, hooks
 * and counts. */
void details_module(struct facts *to, const struct show *show, uint32_t place,
                    bool named);
/* At most so many of its children, each on a line that leads to it: `indent` blanks and
 * at most so many cells (0: no limit). The rest is counted. */
void details_children(struct lines *to, const struct show *show, uint32_t place,
                      uint32_t most, unsigned indent, unsigned cells);
/* The source text of its class, where the file has it. */
void details_source(struct lines *to, const struct show *show, uint32_t place);

/* A plain value, whole. */
void details_value(struct facts *to, const struct show *show, uint32_t place);

#endif
