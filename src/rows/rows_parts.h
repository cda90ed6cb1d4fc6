/* rows_parts.h - the steps of making rows, for browse.c, and the order of siblings. */
#ifndef ROWS_ROWS_PARTS_H
#define ROWS_ROWS_PARTS_H

#include "rows/outline.h"
#include "rows/repeats.h"
#include "rows/rows.h"

/* The input of making rows; prepare it once, then make rows as often as needed. */
struct rows_of {
    struct outline outline;
    struct repeats repeats; /* all NULL: no runs are formed */
    /* A bit for each place, folded as in the explorer (view.fold): does it have a row;
     * are there rows below it; is one of those a module, a group or a plain value? */
    const uint8_t *has, *below, *inner;
};

/* Allocated in the arena. */
int rows_prepare(struct rows_of *of, const struct show *show, struct arena *arena,
                 struct err *err);

/* Make `rows` again, reusing their memory in `arena`. `scratch` is only for this call.
 */
int rows_fill(struct rows *rows, const struct rows_of *of, const struct view *view,
              struct arena *arena, struct arena *scratch, struct err *err);

/* One sibling, or a run of them, to be sorted. */
struct unit {
    uint64_t key;
    uint32_t place;
    uint32_t count : 31, pairs : 1;
};

/* How siblings are sorted. */
struct order {
    const struct outline *outline;
    enum rows_sort sort;
    bool reverse;
    struct arena *scratch;
    struct unit *merge; /* scratch for merge_room units */
    uint32_t merge_room;
    const double *column; /* by place: the sort key, NaN: unknown. NULL: the key comes
                             from counts, names or the recording */
};

/* Returns -1 if the arena is spent. */
int order_begin(struct order *order, const struct outline *outline,
                const struct view *view, struct arena *scratch);
/* Sort units; the sort is stable. Returns -1 if the arena is spent. */
int units_order(struct order *order, struct unit *units, uint32_t n);

#endif
