/* rows_in.h - making rows: what browse.c adds to rows.h, and the order of siblings. */
#ifndef ROWS_ROWS_PARTS_H
#define ROWS_ROWS_PARTS_H

#include "rows/outline.h"
#include "rows/repeats.h"
#include "rows/rows.h"

/* What a tree is made of; found once by whoever makes rows again and again. */
struct rows_of {
    struct outline outline;
    struct repeats repeats; /* all NULL: runs are not looked for */
    /* A bit for each place, as a person folds them (view.fold): does it have a row; are
     * there rows below it; is one of those a module, a group or a plain value? */
    const uint8_t *has, *below, *inner;
};

/* Find all of that; it is in the arena. */
int rows_prepare(struct rows_of *of, const struct show *show, struct arena *arena,
                 struct err *err);

/* Make `rows` anew; what they held is overwritten, their memory (in `arena`) is used
 * again. `scratch` is for this call alone. */
int rows_fill(struct rows *rows, const struct rows_of *of, const struct view *view,
              struct arena *arena, struct arena *scratch, struct err *err);

/* One sibling, or a run of them, to be put in order. */
struct unit {
    uint64_t key;
    uint32_t place;
    uint32_t count : 31, pairs : 1;
};

/* How siblings are put in order. */
struct order {
    const struct outline *outline;
    enum rows_sort sort;
    bool reverse;
    struct arena *scratch;
    struct unit *merge; /* room for as many units as were sorted at once so far */
    uint32_t merge_room;
    const double *column; /* by place: what it is sorted by; NaN: not known. NULL: told
                             from counts, names or the recording */
};

/* 0, or -1: the arena is spent. */
int order_begin(struct order *order, const struct outline *outline,
                const struct view *view, struct arena *scratch);
/* Put units in order; ties stay as they are. 0, or -1: spent. */
int units_order(struct order *order, struct unit *units, uint32_t n);

#endif
