/* diff_view.h - the tree of two models: labels, columns, title, details. A row's place
 * is a node of the pair's diff (study/diff/diff.h). Only for a show that has a pair.
 *
 *   resnet50.pth ⇄ finetuned.pth   320 tensors   = 129 same   ~ 189 changed   DIFFERENT
 *   name            tensors that differ     left     right   rel Δ  max |Δ|
 *   ▾ (both)        ~  191 of 320          25.6M     23.5M
 *   ├   conv1       =  0 of 1
 *   ├ ▸ layer4      ~  60 of 60                               4.1%  0.01718
 *
 * Of two recordings whose results were compared:
 *   name            results that differ        apart     tensors that differ
 *   ├   conv1       =  0 of 1                            =  0 of 1
 *   ├ ▸ layer1      ~  3 of 4, the first         0.2     =  0 of 2 */
#ifndef COMPARE_DIFF_VIEW_H
#define COMPARE_DIFF_VIEW_H

#include "base/buf.h"
#include "rows/labels.h"
#include "study/diff/diff.h"
#include "text/lines.h"

/* The columns of a pair's rows, in place of labels.h's table: always all of them, in
 * this order. Their ranks say which go first where there is little room. */
const struct column *diff_columns(const struct pair *pair, size_t *ret_n);

/* Show these two models; NULL: one model again. */
void diff_show(struct show *show, const struct pair *pair);

/* "=" nothing differs, "~" values do, "≠" shapes, "+" and "-" only on one side, "→"
 * only names, "⇉" fused or split, "?" could not be compared. */
const char *diff_sign(const struct diff *diff, uint32_t node, enum colour *ret_colour);

/* The title line, exactly `width` wide, and the left part of the status line. */
void diff_title(struct lines *to, const struct pair *pair, unsigned width);
void diff_status(struct buf *to, const struct show *show, const struct row *row);

/* The differences at a node: "~  all values   rel Δ 4.1%   max |Δ| 0.01718 at
 * [3, 5]"; of a module's, in which tensor. */
void diff_facts(struct buf *to, const struct show *show, uint32_t node);

/* What happened, in short: a sentence or two; below it, one line each, all that the
 * differences come to: names that changed by rule, plain values, classes. */
void diff_short(struct buf *to, const struct diff *diff);
/* The same on lines of at most `width`. */
void diff_short_lines(struct lines *to, struct str text, unsigned width);

#endif
