/* outline.h - the tree that rows are made from: the places of a model, or the nodes of
 * a pair of models. Both are numbered in pre-order: the first child of p is p + 1, its
 * next sibling end[p]. */
#ifndef ROWS_OUTLINE_H
#define ROWS_OUTLINE_H

#include "rows/show.h"

struct outline {
    const struct show *show;
    const struct diff *diff; /* for a pair; else NULL */
    uint32_t n;
    const uint32_t *parent, *end; /* the model's own columns; for a pair, in an arena */
};

int outline_init(struct outline *outline, const struct show *show, struct arena *arena,
                 struct err *err);

enum place_kind outline_kind(const struct outline *outline, uint32_t at);
struct str outline_name(const struct outline *outline, uint32_t at);
/* The place of an entry, in the returned model: for a node, the right model's place if
 * it has one, else the left model's. */
const struct model *outline_place(const struct outline *outline, uint32_t at,
                                  uint32_t *ret_place);
/* Does anything at or below a node differ between the two sides? False for places. */
bool outline_differs(const struct outline *outline, uint32_t at);

#endif
