/* layout.h - coordinates of the boxes and lines of a nested graph. Works on numbers
 * only: texts and looks are decided elsewhere (graph/, export/picture, explorer/).
 *
 * The graph is a tree of boxes. A box with boxes inside is a *group*: closed it is
 * drawn as one box, open as a frame around its boxes. A *net* is one value inside one
 * group: it leaves one box (or enters the group from outside) and ends at boxes
 * directly inside the same group (or leaves the group). A value that crosses borders of
 * groups is a chain of nets, one per group that it passes through. So every group is
 * arranged separately, and opening a box changes only the size of that box for its
 * parent.
 *
 * Two steps:
 *   plan_order()  ranks, columns, slots, tracks and lanes: everything that does not
 *                   depend on sizes and on which groups are open. Near-linear.
 *   plan_place()  coordinates of the open groups, bottom up. Linear, integers only. It
 *                   has a twin in JavaScript (export/picture/place.js), which must give
 *                   the same numbers.
 *
 * Why not a library: Graphviz's dot needs minutes for long skips, and no library
 * arranges nested groups with lanes in linear time, repeatably, and in a form that lets
 * a page finish the layout when a group is opened.
 *
 * A group is a grid. Rows are *ranks*: a box lies below everything that it reads. All
 * columns share the rows, so the *channel* between two rows has no boxes: lines turn
 * there, each on a separate *track*. A box may extend over several rows (rank to last)
 * if nothing else needs its column there. Columns hold chains of boxes that feed one
 * another, so the line between them is straight. A net that cannot run down a column
 * takes a *lane* to the right of everything that it passes. Lines meet a box at *slots*
 * beside its axis: even ones for leaving, odd ones for entering, 0 for straight lines,
 * so two lines never overlap.
 *
 * Choosing the straight line: column 0, the main one, holds the heaviest path through
 * the group, measured in the whole graph (order_flow.c), not the longest one in the
 * group: otherwise a long chain of small operations beside a large module would push
 * that aside, and of two values between the same blocks the bias could not be told from
 * the data. Inputs stay in the first row. The distance between columns is computed row
 * by row (place_columns.c), so a short side chain only widens its own rows.
 *
 *   order.c          plan_order(): group by group
 *   order_*.c        its steps, listed in order_in.h
 *   place.c          plan_place(): sizes from inside out, places from outside in
 *   place_*.c        its steps, listed in place_in.h
 *   route.c          plan_route()
 *   sample_*_test.c  graphs for tests, and a check of any plan's geometry */
#ifndef LAYOUT_LAYOUT_H
#define LAYOUT_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

#define PLAN_NONE UINT32_MAX

enum plan_flag {
    PLAN_OPEN = 1,    /* a group that is drawn as a frame */
    PLAN_SIDE = 2,    /* lines from elsewhere enter at its sides if they can: a sign */
    PLAN_STRETCH = 4, /* at least as wide as the widest such box of its column */
    PLAN_EARLY = 8,   /* stays in the first rows even if it could move down: an input */
};

struct plan_box {
    uint32_t parent; /* the group around it; the root is box 0 and has PLAN_NONE */
    uint32_t end;  /* boxes id + 1 .. end - 1 are inside it: pre-order. Siblings are in
                      execution order: a net from a later to an earlier one points
                      backwards */
    uint8_t flags; /* enum plan_flag */
    int32_t width, height;             /* as one box */
    int32_t least_width, least_height; /* of its frame, for the title */
    int32_t gap;                       /* free space above and below it */
    uint64_t weight; /* of a leaf box; 0 counts as 1. The main column is the heaviest of
                        the possible paths */

    /* Set by plan_order(). */
    uint32_t rank, last; /* rows of its group, from 0; it may extend to `last` */
    int32_t column;      /* may be negative: left of the main column, which is 0 */

    /* Set by plan_place(), for boxes whose groups are all open. */
    int32_t x, y, w, h; /* w and h are 0 if it is not shown */
    int32_t axis;       /* of its main line, relative to x */
};

/* How a line reaches one of its ends. */
enum plan_way {
    PLAN_DOWN,  /* straight down the axis of the source's column */
    PLAN_OVER,  /* along the channel below the source, then down the target's axis */
    PLAN_ALONG, /* down the source's axis, then along the channel above the target */
    PLAN_ALONG_SIDE, /* down the source's axis, then into the side of the target */
    PLAN_LANE,       /* through the net's lane, into the top of the target */
    PLAN_LANE_SIDE,  /* through the net's lane, into the side of the target */
};

struct plan_net {
    uint32_t group;  /* the group that contains it */
    uint32_t source; /* a box directly inside; or the group: it comes from outside */
    uint32_t inner;  /* source is a group: the end, inside it, that becomes this net;
                               else PLAN_NONE */
    uint32_t outer;  /* it comes from outside: the end, outside, that becomes this
                               net; else PLAN_NONE */
    uint32_t ends, n_ends; /* in plan->ends */
    int32_t label_width,
        label_height; /* right of the line, below the source; 0: none */

    /* Set by plan_order(). */
    int32_t slot;   /* where it leaves the source: an even number, 0 is the axis */
    uint32_t track; /* in the channel below the source; PLAN_NONE: no turn */
    uint32_t lane;  /* order of lanes within the group, inner ones first; PLAN_NONE */
    uint32_t first_row, last_row; /* channels between which the lane runs */

    /* Set by plan_place(). */
    int32_t label_x, label_y; /* top left of the label */
};

struct plan_end {
    uint32_t net;
    uint32_t target; /* a box directly inside the net's group; or the group: the value
                        leaves it. A net has one end at a box */
    uint32_t inner;  /* target is a group inside: the net that continues there; else
                        PLAN_NONE */
    uint32_t outer;  /* it leaves the group: the net that continues outside; else
                        PLAN_NONE */
    int32_t label_width, label_height; /* beside the last vertical piece; 0: none */

    /* Set by plan_order(). */
    uint8_t way;    /* enum plan_way */
    int32_t slot;   /* where it enters: an odd number, or 0: the axis; at a side: the
                       number of the line from the middle, positive is lower */
    uint32_t track; /* in the channel above the target; PLAN_NONE */

    /* Set by plan_place(). */
    uint32_t points, n_points; /* in plan->points: from the source's border to the
                                  target's; 0 if it is not shown */
    int32_t label_x, label_y;
};

struct plan_point {
    int32_t x, y;
};

/* The data for placing one group, from plan_order(). */
struct plan_group {
    uint32_t box;
    uint32_t rows;
    uint32_t channels; /* in plan->tracks: rows + 1 numbers, the number of tracks of
                          each channel */
    int32_t first_column, n_columns;
    uint32_t nets, n_nets;   /* in plan->nets: those inside it are consecutive */
    uint32_t lanes, n_lanes; /* in plan->lanes: nets, by lane */
};

/* Distances, in the unit of the boxes' sizes: pixels, or cells of a terminal. */
struct plan_style {
    int32_t channel;     /* minimum height of a channel without turning lines; boxes add
                            their `gap` */
    int32_t label_gap;   /* minimum height of a channel with a label */
    int32_t label_space; /* between a line and its label */
    int32_t track_first; /* from the boxes above (or the labels) to the first track */
    int32_t track;       /* from one track to the next */
    int32_t track_last;  /* from the last track to the boxes below: room for arrows */
    int32_t track_out;   /* from the last track to a border below, besides the frame's
                            own distance: a cell, as that may be none */
    int32_t column;      /* between columns */
    int32_t lane_first;  /* from a box to the first lane */
    int32_t lane;        /* from one lane to the next */
    int32_t slot;        /* from one slot to the next */
    int32_t side;        /* from one line at a side to the next */
    int32_t corner;      /* minimum distance of slots from the corners of a box */
    int32_t frame_top, frame_left, frame_right,
        frame_bottom; /* inside of an open group:
                                the title band is part of frame_top */
    int32_t margin;   /* around the root */
    int32_t round_to; /* widths are multiples of it */
};
extern const struct plan_style plan_pixels; /* look.md, at 100 % */

struct plan {
    struct plan_box *boxes;
    struct plan_net *nets; /* grouped: all nets inside one group are consecutive, groups
                                in the order of their boxes */
    struct plan_end *ends; /* those of a net are consecutive */
    uint32_t n_boxes, n_nets, n_ends;

    /* Set by plan_order(). */
    struct plan_group *groups; /* in the order of their boxes */
    uint32_t n_groups;
    uint32_t *tracks;
    uint32_t *lanes;

    /* Set by plan_place(). */
    struct plan_point *points;
    uint32_t n_points;
    int32_t width, height; /* of everything */
};

/* Checks the plan (parents, nets and ends agree), then orders every group.
 * Deterministic. Allocates in the arena; fails with ERR_LIMIT if that is spent. */
int plan_order(struct plan *plan, struct arena *arena, struct err *err);

/* Places what is shown according to the current PLAN_OPEN flags; may be called again
 * after these or the sizes changed. The points are in the arena. */
int plan_place(struct plan *plan, const struct plan_style *style, struct arena *arena,
               struct err *err);

/* The complete line between two shown boxes that ends at `end`, whose target is shown
 * and not an open group: traced back across the borders of groups to the shown source
 * box. Appends its corners to `to` (no duplicates, no point in the middle of a straight
 * piece) and returns that box; PLAN_NONE: the end is not shown. */
struct plan_route {
    uint32_t from, to;
    uint32_t first_end; /* the outermost piece: its net's label belongs to the line */
    struct plan_point *points;
    uint32_t n, room;
};
int plan_route(const struct plan *plan, uint32_t end, struct arena *arena,
               struct plan_route *ret_route, struct err *err);
/* Is it the last end of a shown line? */
bool plan_arrives(const struct plan *plan, uint32_t end);

#endif
