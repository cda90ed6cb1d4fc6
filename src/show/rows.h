/* rows.h - which places are rows, and in which order.
 * A view says what is open, what is kept by a filter, how siblings are ordered;
 * rows_make() turns that into a list, in time linear in what is shown (n log n when
 * sorted). The same view always gives the same rows; nothing here remembers anything.
 */
#ifndef SHOW_ROWS_H
#define SHOW_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "show/show.h"

#define NO_ROW   UINT32_MAX
#define ALL_ROWS UINT32_MAX

enum row_flag {
    ROW_LAST = 1,   /* the last of its siblings */
    ROW_OPEN = 2,   /* there are rows below it */
    ROW_CLOSED = 4, /* something stands below it that is not shown */
    ROW_RUN = 8,    /* stands for `count` equal siblings, from `place` on */
    ROW_PAIRS = 16, /* a run of equal pairs; `count` counts both */
    ROW_MORE = 32,  /* stands for `count` siblings that were left out, as `top` says */
    ROW_MATCH = 64, /* found by a search */
};

struct row {
    uint32_t place;
    uint32_t count; /* of siblings it stands for; 1 but for runs and ROW_MORE */
    uint32_t above; /* its parent's row; NO_ROW for the first, and in flat lists */
    uint32_t depth;
    unsigned flags;
};

struct rows {
    struct row *at;
    uint32_t n, room;
};

enum rows_sort {
    SORT_MODEL,
    SORT_PARAMS,
    SORT_BYTES,
    SORT_NAME,
    SORT_TIME,
    SORT_SELF,
    SORT_CALLS
};
enum rows_flat { FLAT_NO, FLAT_LEAVES, FLAT_TENSORS };

struct view {
    const uint8_t *open;   /* a bit for each place: its children are shown; NULL: as a
                              printed tree has it, where all but long and minor things are
                              open */
    const uint8_t *single; /* a bit for each place: a run that begins here is shown one
                              by one; may be NULL */
    const bool *keep;      /* by place: passes the filter; NULL: all do */
    const bool *match;     /* by place: found by a search; may be NULL */
    uint32_t depth;        /* rows below this depth are not shown; ALL_ROWS: no limit */
    uint32_t top;          /* siblings shown of each parent (flat: of all); ALL_ROWS */
    enum rows_sort sort;
    enum rows_flat flat;
    bool reverse;
    bool all;     /* tensors of leaf modules, attributes and values have rows too */
    bool no_runs; /* equal siblings are shown one by one */
    bool blocks;  /* of modules with modules below, two equal siblings are a run */
};

#define VIEW_INIT                                                                      \
    {                                                                                  \
        .depth = ALL_ROWS, .top = ALL_ROWS                                             \
    }

static inline bool bit_get(const uint8_t *bits, uint32_t i)
{
    return bits[i / 8] >> (i % 8) & 1;
}

static inline void bit_set(uint8_t *bits, uint32_t i, bool on)
{
    bits[i / 8] = (uint8_t)((bits[i / 8] & ~(1u << (i % 8))) | (unsigned)on << (i % 8));
}

/* The rows of a view, in the arena. */
int rows_make(struct rows *rows, const struct show *show, const struct view *view,
              struct arena *arena, struct err *err);

#endif
