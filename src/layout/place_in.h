/* place_in.h - the state of plan_place(), and its steps. Only integers, so that the twin
 * in JavaScript gets the same numbers. */
#ifndef LAYOUT_PLACE_IN_H
#define LAYOUT_PLACE_IN_H

#include "layout/layout.h"

/* Extent from the axis of a box, to both sides. */
struct place_reach {
    int64_t left, right;
};

/* Lines and labels at one box, seen from outside. */
struct place_mark {
    uint32_t n_exits, n_entries;
    int32_t exit_low, exit_high, entry_low, entry_high; /* slots */
    int32_t exit_labels, entry_labels;                  /* heights of stacked labels */
    int32_t side_labels[2], side_reach;                 /* left, right; slots */
    struct place_reach entry, exit; /* lines and labels above and below it */
    struct place_reach all;         /* those, the box and labels at its sides */
};

struct placing {
    struct plan *plan;
    const struct plan_style *style;
    struct arena *scratch;
    struct place_mark *marks; /* per box */
    int64_t *track_y;         /* per channel, in plan->tracks: of its first track, from
                                 the group's top */
    int64_t *lane_x;          /* per net, from the group's left */
    int64_t largest;          /* width or height of anything */
};

/* A group while it is placed. Rows and columns count from 0. */
struct place_grid {
    struct plan_group *group;
    struct place_mark in, out; /* lines and labels inside, at its border */
    int64_t *axis;             /* per column */
    int64_t *row_y, *row_h;    /* per row */
    int64_t *above, *below;    /* per channel: space for labels of the boxes below it,
                                  of the boxes above it */
    int64_t *channel_h;
    int64_t right; /* right edge of all columns */
    int64_t lanes; /* right edge of all lanes; 0: none */
};

/* Is the box shown as a frame? The root always is. */
static inline bool place_open(const struct plan *plan, uint32_t box)
{
    return box == 0 ||
           ((plan->boxes[box].flags & PLAN_OPEN) && plan->boxes[box].end > box + 1);
}

/* Records a line that leaves, or enters, at a slot. */
static inline void place_exit(struct place_mark *mark, int32_t slot)
{
    if (mark->n_exits++ == 0 || slot < mark->exit_low)
        mark->exit_low = slot;
    if (mark->n_exits == 1 || slot > mark->exit_high)
        mark->exit_high = slot;
}
static inline void place_entry(struct place_mark *mark, int32_t slot)
{
    if (mark->n_entries++ == 0 || slot < mark->entry_low)
        mark->entry_low = slot;
    if (mark->n_entries == 1 || slot > mark->entry_high)
        mark->entry_high = slot;
}

/* From a line to a label above or below it. */
static inline int32_t place_pad(const struct plan_style *style, int32_t label_height)
{
    return style->label_gap > label_height ? (style->label_gap - label_height) / 2 : 0;
}

static inline int64_t place_larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline void place_widen(struct place_reach *reach, int64_t left, int64_t right)
{
    reach->left = place_larger(reach->left, left);
    reach->right = place_larger(reach->right, right);
}

/* Numbers 0 .. n - 1, initially 0. Both functions take the range from `from` to `to`,
 * inclusive, in logarithmic time: one raises all numbers to a value, the other returns
 * the largest. */
struct place_tree {
    int64_t *least; /* a whole subtree is at least this */
    int64_t *most;  /* largest in the subtree, without `least` of those above */
    uint32_t size;
};
int place_tree_init(struct placing *p, struct place_tree *tree, uint32_t n);
void place_tree_raise(struct place_tree *tree, uint32_t from, uint32_t to,
                      int64_t value);
int64_t place_tree_most(const struct place_tree *tree, uint32_t from, uint32_t to);

void *place_array(struct placing *p, size_t n, size_t item);

/* place_group.c: sizes of an open group, places of its boxes relative to it. */
int place_group(struct placing *p, struct plan_group *group);
/* place_labels.c: places labels relative to their boxes and makes room for them. */
void place_labels(struct placing *p, struct place_grid *grid);
/* place_columns.c: the axis of every column, from the left edge of the content on. */
int place_columns(struct placing *p, struct place_grid *grid);
/* place_lanes.c: x of the lanes. */
int place_lanes(struct placing *p, struct place_grid *grid);
/* place_lines.c: points of all lines, labels; boxes have their final places. */
int place_lines(struct placing *p, struct arena *arena);

#endif
