/* width.h - the width of text in terminal cells. */
#ifndef TEXT_WIDTH_H
#define TEXT_WIDTH_H

#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

size_t text_width(struct str s);
/* Append `s` cut to at most `cells`, with … (or its twin) where something is missing:
 * at the end, in the middle, at the front. Wide characters never straddle the edge. */
void text_cut(struct buf *to, struct str s, size_t cells, const char *ellipsis);
void text_cut_middle(struct buf *to, struct str s, size_t cells, const char *ellipsis);
void text_cut_front(struct buf *to, struct str s, size_t cells, const char *ellipsis);
/* A shape loses whole dimensions from its front: …×56×56, or everything if the last
 * does not fit. `times` is the sign between them. */
void text_cut_shape(struct buf *to, struct str s, size_t cells, const char *ellipsis,
                    const char *times);
/* A list of named shapes loses whole members from its end: "weight: 64×3×7×7, …". If
 * the first does not fit, its shape is cut. */
void text_cut_shapes(struct buf *to, struct str s, size_t cells, const char *ellipsis,
                     const char *times);
/* The number of bytes of `s` that fit on a line of `cells`: up to a blank, or one word
 * that is longer than the line. Prefers a break at a gap of two blanks ("min -1.5 max
 * 2.25"). */
size_t text_wrap(struct str s, size_t cells);
/* Pad to `cells`: on the right, on the left. */
void text_pad(struct buf *to, struct str s, size_t cells);
void text_pad_left(struct buf *to, struct str s, size_t cells);

#endif
