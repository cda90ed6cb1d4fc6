/* details.h - the facts about one place, for `show` and the Details panel.
 *
 *     strides    [1, 120]  offset 0  storage data/4, 3.0KB
 *     tied       also lm_head.weight */
#ifndef FACTS_DETAILS_H
#define FACTS_DETAILS_H

#include "facts/fact.h"
#include "rows/show.h"

#define DETAILS_LABEL 11 /* width of the labels in cells */

/* Memory layout, ties, quantisers and parts of a tensor: only unusual ones, or `all`.
 */
void details_tensor(struct facts *to, const struct show *show, uint32_t place,
                    bool all);

/* The start of a module's facts: nothing, its kind and counts, or its name as well. */
enum details_title { DETAILS_UNTITLED, DETAILS_KIND, DETAILS_NAME };
/* A module or group: class, arguments, hooks and content. */
void details_module(struct facts *to, const struct show *show, uint32_t place,
                    enum details_title title);
/* List at most `most` children, one per line with a link to it, indented by `indent`
 * blanks and at most `cells` wide (0: no limit). The last line counts the rest. */
void details_children(struct lines *to, const struct show *show, uint32_t place,
                      uint32_t most, unsigned indent, unsigned cells);
/* The source code of its class, if the file contains it. */
void details_source(struct lines *to, const struct show *show, uint32_t place);

/* A plain value, not cut. */
void details_value(struct facts *to, const struct show *show, uint32_t place);

#endif
