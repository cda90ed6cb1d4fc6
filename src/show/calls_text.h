/* calls_text.h - the calls of one module as lines of text: where each was made, how
 * long it took, and every value that went in, came out or flowed back. For sessions
 * with a run. */
#ifndef SHOW_CALLS_TEXT_H
#define SHOW_CALLS_TEXT_H

#include "base/buf.h"
#include "show/show.h"

/* At most `most` calls: the first ones and the newest. A module without calls says
 * why. */
void calls_text(struct buf *to, const struct show *show, uint32_t place, uint32_t most);

#endif
