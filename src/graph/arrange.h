/* arrange.h - lays out any nested graph, for callers that draw it themselves: takes
 * sizes, returns coordinates. For pictures of networks use diagram_make(). */
#ifndef GRAPH_ARRANGE_H
#define GRAPH_ARRANGE_H

#include "layout/layout.h"

/* A box, or a group if other boxes name it as their parent. All groups are open. */
struct arrange_box {
    uint32_t parent;       /* an earlier box; PLAN_NONE: at the top */
    int32_t width, height; /* of a group: the minimum size of its frame */
    int32_t x, y, w, h;    /* set by arrange() */
};

/* Connects two boxes; neither may be a group. Boxes are listed in execution order, so
 * an edge to an earlier box points backwards. */
struct arrange_edge {
    uint32_t source, target;
    const struct plan_point *points; /* set by arrange(): the corners of the line, from
                                        border to border */
    uint32_t n_points;
};

struct arrangement {
    struct arrange_box *boxes;
    struct arrange_edge *edges;
    uint32_t n_boxes, n_edges;
    int32_t width, height; /* set by arrange(): total size */
};

/* Fills in the fields marked "set by arrange()"; points are allocated in the arena.
 * ERR_USAGE: an index or size is invalid, or an edge ends at a group. */
int arrange(struct arrangement *arrangement, struct arena *arena, struct err *err);

#endif
