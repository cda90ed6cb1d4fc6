/* width.h - how many cells of a terminal a text takes. */
#ifndef TEXT_WIDTH_H
#define TEXT_WIDTH_H

#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

size_t text_width(struct str s);
/* Append `s` cut to at most `cells`; what was cut ends in … (or its twin). The middle
 * form keeps both ends. Wide characters never straddle the edge. */
void text_cut(struct buf *to, struct str s, size_t cells, const char *ellipsis);
void text_cut_middle(struct buf *to, struct str s, size_t cells, const char *ellipsis);
/* Pad to `cells`: on the right, on the left. */
void text_pad(struct buf *to, struct str s, size_t cells);
void text_pad_left(struct buf *to, struct str s, size_t cells);

#endif
