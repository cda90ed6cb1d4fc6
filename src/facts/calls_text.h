/* calls_text.h - the calls of one module: call site, time, and every value passed in,
 * returned or propagated back. For sessions with a run. */
#ifndef FACTS_CALLS_TEXT_H
#define FACTS_CALLS_TEXT_H

#include "facts/fact.h"
#include "rows/show.h"

/* Append at most `most` calls: the first ones and the newest. For a module without
 * calls, the reason. */
void calls_facts(struct facts *to, const struct show *show, uint32_t place,
                 uint32_t most);
/* Why a module has no calls, in one line; false: it needs none (a list of modules). */
bool calls_none(struct buf *to, const struct show *show, uint32_t place);

#endif
