/* arrange.h - places and lines of any nested graph, for callers that draw by themselves:
 * numbers in, numbers out. diagram_make() is for pictures of networks. */
#ifndef GRAPH_ARRANGE_H
#define GRAPH_ARRANGE_H

#include "layout/layout.h"

/* A box, or a group if others name it as their parent: all groups are open. */
struct arrange_box {
    uint32_t parent;       /* an earlier box; PLAN_NONE: at the top */
    int32_t width, height; /* of a group: the least of its frame */
    int32_t x, y, w, h;    /* by arrange() */
};

/* From a box to a box, neither of them a group. Boxes are in the order in which they ran:
 * an edge to an earlier one leads back. */
struct arrange_edge {
    uint32_t source, target;
    const struct plan_point *points; /* by arrange(): the corners of its line, from
                                        border to border */
    uint32_t n_points;
};

struct arrangement {
    struct arrange_box *boxes;
    struct arrange_edge *edges;
    uint32_t n_boxes, n_edges;
    int32_t width, height; /* by arrange(): of everything */
};

/* Fills in what is "by arrange()"; points are in the arena. ERR_USAGE: a number is wrong
 * or an edge ends at a group. */
int arrange(struct arrangement *arrangement, struct arena *arena, struct err *err);

#endif
