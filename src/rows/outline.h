/* outline.h - the bare tree that rows are made of: a model's places, or the nodes of a
 * pair of models. Both are numbered in pre-order: the first child of p is p + 1, the
 * next sibling end[p]. */
#ifndef ROWS_OUTLINE_H
#define ROWS_OUTLINE_H

#include "rows/show.h"

struct outline {
    const struct show *show;
    const struct diff *diff; /* of a pair, else NULL */
    uint32_t n;
    const uint32_t *parent, *end; /* the model's own columns; of a pair in an arena */
};

int outline_init(struct outline *outline, const struct show *show, struct arena *arena,
                 struct err *err);

enum place_kind outline_kind(const struct outline *outline, uint32_t at);
struct str outline_name(const struct outline *outline, uint32_t at);
/* The place it stands for, in the model that is returned: of a node the right one's if
 * it has one, else the left one's. */
const struct model *outline_place(const struct outline *outline, uint32_t at,
                                  uint32_t *ret_place);
/* Of a node: is something at or below it not the same on both sides? False for places.
 */
bool outline_differs(const struct outline *outline, uint32_t at);

#endif
