/* rows.h - chooses the places that are rows, and their order.
 *
 * The tour of the room, which turns a tree or list into a table, without a UI toolkit:
 *   show.h        one open session as seen by the views
 *   rows.h        the places that are rows, in order      sort.h     orders siblings
 *   outline.h     the tree: places of a model, or nodes of two models
 *   repeats.h     which siblings are equal                search.h   which rows match
 *   columns.h     THE TABLE of columns                    layout.h   widths of columns
 *   labels.h      the label of a row and how it shrinks
 *   row_state.h   properties of a row that pages mark
 *   figure.h      a cell: its text, the number behind it, kind and role
 *   below.h       totals of everything below a place
 *   args.h        readable arguments: Conv2d(3→64, 7×7, stride=2)
 *   value_text.h  plain values in Python's syntax
 *   run_words.h   times, shapes and places of a run
 *   op_words.h    names and shapes of operations
 *   textual.h     rows as lines of text          name_runs.h   h.0-11: many as one
 *   grid.h        values of a tensor             slice.h       [83, 220:230]
 *   files_view.h  the files of a folder: order, filter, marks
 *
 * A view describes what is open, what a filter keeps and how siblings are sorted.
 * rows_make() turns it into a list, in time linear in the rows shown (n log n if
 * sorted). The same view always gives the same rows: there is no hidden state. */
#ifndef ROWS_ROWS_H
#define ROWS_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "rows/show.h"

#define NO_ROW   UINT32_MAX
#define ALL_ROWS UINT32_MAX

enum row_flag {
    ROW_LAST = 1,   /* the last of its siblings */
    ROW_OPEN = 2,   /* rows below it are shown */
    ROW_CLOSED = 4, /* it has hidden contents */
    ROW_RUN = 8,    /* represents `count` equal siblings, from `place` on */
    ROW_PAIRS = 16, /* a run of equal pairs; `count` counts both */
    ROW_MORE = 32,  /* represents `count` siblings omitted because of `top` */
    ROW_MATCH = 64, /* found by a search */
};

struct row {
    uint32_t place; /* for a pair (show->pair): a node of its diff */
    uint32_t count; /* siblings it represents; 1 except for runs and ROW_MORE */
    uint32_t above; /* its parent's row; NO_ROW for the first, and in flat lists */
    uint32_t depth;
    unsigned flags;
};

/* A packed row of twelve bytes; rows_at() unpacks it. */
struct row_cell {
    uint32_t place, above;
    uint32_t depth : 24, flags : 8;
};
struct rows {
    struct row_cell *cells;
    uint32_t n, room;
    struct row_count { /* of rows that represent several siblings, in order */
        uint32_t row, count;
    } * counts;
    uint32_t n_counts, counts_room;
};

struct row rows_at(const struct rows *rows, uint32_t row);

/* Orders of siblings, largest first. Unknown values sort last, reversed or not. */
enum rows_sort {
    SORT_MODEL, /* not sorted */
    SORT_NAME,
    SORT_PARAMS,
    SORT_BYTES,
    SORT_TIME, /* this and the next two need a recording */
    SORT_SELF,
    SORT_CALLS,
    SORT_FLOPS, /* this and the next need a recording with operations */
    SORT_OPS,
    SORT_GRAD,   /* norm of the newest gradients in a recording, or at a step */
    SORT_UPDATE, /* update ratio at a step; this and the next need a history */
    SORT_WEIGHT, /* the last order available in a printed tree */
    SORT_ZEROS,  /* share of zeros in recorded results, else in measured tensors */
    SORT_NAN,    /* count of NaN and Inf, likewise */
    SORT_DELTA,  /* rel Δ of a pair */
    SORT_COUNT
};
struct rows_order {
    const char *word; /* for --sort and :sort */
    char key;         /* in the explorer's menu of orders (i) */
    const char *title, *about;
};
extern const struct rows_order rows_orders[SORT_COUNT];

/* Find an order by its word; "bytes" is an alias of "memory". SORT_COUNT: unknown. */
enum rows_sort rows_order_find(struct str word);

enum rows_flat { FLAT_NO, FLAT_LEAVES, FLAT_TENSORS };

struct view {
    const uint8_t *open;   /* a bit for each place: its children are shown; NULL: as in
                              a printed tree, where only long and minor parts are
                              closed */
    const uint8_t *single; /* a bit for each place: show the run that starts here one
                              by one; may be NULL */
    const uint8_t *keep;   /* a bit for each place: passes the filter; NULL: all do */
    const uint8_t *match;  /* a bit for each place: found by a search; may be NULL */
    uint32_t depth;        /* rows below this depth are not shown; ALL_ROWS: no limit */
    uint32_t top;          /* maximum siblings per parent (flat: in total); ALL_ROWS */
    enum rows_sort sort;
    enum rows_flat flat;
    bool reverse;
    bool all;     /* tensors of leaf modules, attributes and values have rows too */
    bool no_runs; /* equal siblings are shown one by one */
    bool blocks;  /* two equal siblings that contain modules form a run */
    bool fold;    /* fold as in the explorer, with `open`: the tensors of leaf
                     modules have rows, attributes have none, runs stay closed */
    bool changed; /* for a pair: only differences */
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

/* The size in bytes of a set of `n` bits. */
static inline uint32_t bit_bytes(uint32_t n)
{
    return n / 8 + 1;
}

/* Make the rows of a view, in the arena. Runs are formed in the model's order first,
 * then sorted as a unit by their sum. */
int rows_make(struct rows *rows, const struct show *show, const struct view *view,
              struct arena *arena, struct err *err);

#endif
