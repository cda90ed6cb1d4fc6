/* calls_text.h - the calls of one module: where each was made, how long it took, and
 * every value that went in, came out or flowed back. For sessions with a run. */
#ifndef FACTS_CALLS_TEXT_H
#define FACTS_CALLS_TEXT_H

#include "facts/fact.h"
#include "rows/show.h"

/* At most `most` calls: the first ones and the newest. For a module without calls, why
 * it has none. */
void calls_facts(struct facts *to, const struct show *show, uint32_t place,
                 uint32_t most);
/* Why it has none, in one line; false: nothing is missing (a list of modules). */
bool calls_none(struct buf *to, const struct show *show, uint32_t place);

#endif
