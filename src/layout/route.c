/* route.c - whole lines between shown boxes, joined from their pieces inside groups. */
#include "layout/place_in.h"

bool plan_arrives(const struct plan *plan, uint32_t end)
{
    uint32_t target = plan->ends[end].target;

    return plan->ends[end].n_points > 0 && !place_open(plan, target);
}

/* The end, one piece upstream, that leads to the net of `end`; PLAN_NONE: the line
 * begins at the net's source. Updates `depth`, the nesting depth of the piece. */
static uint32_t upstream(const struct plan *plan, uint32_t end, int64_t *depth)
{
    const struct plan_net *net = &plan->nets[plan->ends[end].net];

    if (net->source == net->group) {
        --*depth;
        return net->outer;
    }
    if (!place_open(plan, net->source))
        return PLAN_NONE;
    ++*depth;
    return net->inner;
}

static int room_for_one(struct plan_route *route, struct arena *arena)
{
    return arena_room(arena, &route->points, route->n, &route->room,
                      sizeof(*route->points));
}

/* Adds a corner; drops the one before if the line goes straight through it. */
static int add_corner(struct plan_route *route, struct plan_point point,
                      struct arena *arena)
{
    const struct plan_point *last = route->n > 0 ? route->points + route->n - 1 : NULL;

    if (last && last->x == point.x && last->y == point.y)
        return 0;
    if (last && route->n > 1 &&
        ((last[-1].x == last->x && last->x == point.x) ||
         (last[-1].y == last->y && last->y == point.y)))
        route->n--;
    if (room_for_one(route, arena) < 0)
        return -1;
    route->points[route->n++] = point;
    return 0;
}

/* Appends the corners of a list of pieces, the last of the list first. */
static int join(const struct plan *plan, const uint32_t *pieces, uint32_t n,
                struct plan_route *route, struct arena *arena)
{
    while (n-- > 0) {
        const struct plan_end *end = &plan->ends[pieces[n]];

        for (uint32_t k = 0; k < end->n_points; k++)
            if (add_corner(route, plan->points[end->points + k], arena) < 0)
                return -1;
    }
    return 0;
}

int plan_route(const struct plan *plan, uint32_t end, struct arena *arena,
               struct plan_route *ret_route, struct err *err)
{
    struct plan_route route = *ret_route;
    uint32_t *pieces = NULL, n = 0, room = 0, at = end;
    int64_t depth = 0, least = 1;

    route.n = 0;
    route.from = route.first_end = PLAN_NONE;
    route.to = plan->ends[end].target;
    while (at != PLAN_NONE && plan_arrives(plan, end)) {
        if (n > plan->n_ends)
            return err_set(err, ERR_USAGE, "layout: line %u runs in a circle", end);
        if (arena_room(arena, &pieces, n, &room, sizeof(*pieces)) < 0)
            return arena_err(arena, "a line of the graph", err);
        pieces[n++] = at;
        if (depth < least) {
            least = depth;
            route.first_end = at;
        }
        route.from = plan->nets[plan->ends[at].net].source;
        at = upstream(plan, at, &depth);
    }
    if (join(plan, pieces, n, &route, arena) < 0)
        return arena_err(arena, "a line of the graph", err);
    *ret_route = route;
    return 0;
}
