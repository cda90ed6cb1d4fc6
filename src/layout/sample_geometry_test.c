/* sample_geometry_test.c - checks the geometry of a placed plan. Every group is checked
 * separately: its lines stay inside its frame, and the frames of groups inside count as
 * boxes. */
#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "layout/sample_graph.h"

#define BAND 64

/* A box or a label: corners, both included for boxes. */
struct geometry_rect {
    int32_t left, top, right, bottom;
    uint32_t box; /* PLAN_NONE: a label */
};
struct geometry_piece {
    int32_t at, from, to; /* x of a vertical piece, y of a horizontal one */
    uint32_t net, source, target;
};

struct geometry {
    const struct plan *plan;
    const struct plan_style *style;
    const struct plan_group *group;
    struct buf *why;
    struct geometry_rect *rects;
    uint32_t n_rects, rect_room;
    struct geometry_piece *pieces[2]; /* horizontal, vertical */
    uint32_t n_pieces[2], piece_room[2];
};

static bool wrong(struct geometry *g, const char *what, uint32_t a, uint32_t b)
{
    buf_printf(g->why, "group %u: %s (%u, %u)", g->group->box, what, a, b);
    return false;
}

static bool is_open(const struct plan *plan, uint32_t box)
{
    return box == 0 ||
           ((plan->boxes[box].flags & PLAN_OPEN) && plan->boxes[box].end > box + 1);
}

static void add_rect(struct geometry *g, int32_t x, int32_t y, int32_t w, int32_t h,
                     uint32_t box)
{
    CHECK(buf_grow_array(&g->rects, g->n_rects, &g->rect_room, sizeof(*g->rects)));
    g->rects[g->n_rects++] = (struct geometry_rect){x, y, x + w, y + h, box};
}

static void add_piece(struct geometry *g, struct plan_point a, struct plan_point b,
                      const struct plan_end *end)
{
    bool vertical = a.x == b.x;
    int32_t from = vertical ? a.y : a.x, to = vertical ? b.y : b.x;
    struct geometry_piece piece = {
        vertical ? a.x : a.y,           from < to ? from : to,
        from < to ? to : from,          end->net,
        g->plan->nets[end->net].source, end->target};
    struct geometry_piece **pieces = &g->pieces[vertical];

    CHECK(buf_grow_array(pieces, g->n_pieces[vertical], &g->piece_room[vertical],
                         sizeof(piece)));
    (*pieces)[g->n_pieces[vertical]++] = piece;
}

static bool check_boxes(struct geometry *g)
{
    const struct plan *plan = g->plan;
    const struct plan_box *frame = &plan->boxes[g->group->box];
    int32_t top = g->group->box == 0 ? g->style->margin : g->style->frame_top;

    for (uint32_t c = g->group->box + 1; c < frame->end; c = plan->boxes[c].end) {
        const struct plan_box *box = &plan->boxes[c];

        if (box->w < box->width && !is_open(plan, c))
            return wrong(g, "box narrower than asked for", c, 0);
        if (box->x < frame->x || box->y < frame->y + top ||
            box->x + box->w > frame->x + frame->w ||
            box->y + box->h > frame->y + frame->h)
            return wrong(g, "box outside of its frame", c, 0);
        add_rect(g, box->x, box->y, box->w, box->h, c);
    }
    return true;
}

static bool add_label(struct geometry *g, int32_t x, int32_t y, int32_t w, int32_t h)
{
    const struct plan_box *frame = &g->plan->boxes[g->group->box];

    if (w == 0)
        return true;
    add_rect(g, x, y, w, h, PLAN_NONE);
    if (x < frame->x || y < frame->y || x + w > frame->x + frame->w ||
        y + h > frame->y + frame->h)
        return wrong(g, "label outside of the frame", (uint32_t)x, (uint32_t)y);
    if (g->group->box != 0 && y < frame->y + g->style->frame_top)
        return wrong(g, "label in the title", (uint32_t)x, (uint32_t)y);
    return true;
}

static bool same(struct plan_point a, struct plan_point b)
{
    return a.x == b.x && a.y == b.y;
}

/* Both ends on the borders of their boxes, at the point where the next piece begins. */
static bool check_arrival(struct geometry *g, const struct plan_net *net, uint32_t e)
{
    const struct plan *plan = g->plan;
    const struct plan_end *end = &plan->ends[e];
    const struct plan_box *source = &plan->boxes[net->source];
    const struct plan_box *target = &plan->boxes[end->target];
    struct plan_point first = plan->points[end->points];
    struct plan_point last = plan->points[end->points + end->n_points - 1];
    int32_t leaves = net->source == net->group ? source->y : source->y + source->h;
    int32_t enters = end->target == net->group ? target->y + target->h : target->y;

    if (first.y != leaves || first.x < source->x || first.x > source->x + source->w)
        return wrong(g, "line does not begin at its source", e, net->source);
    if (end->way == PLAN_ALONG_SIDE || end->way == PLAN_LANE_SIDE) {
        if ((last.x != target->x && last.x != target->x + target->w) ||
            last.y < target->y || last.y > target->y + target->h)
            return wrong(g, "line does not arrive at a side", e, end->target);
    } else if (last.y != enters || last.x < target->x ||
               last.x > target->x + target->w) {
        return wrong(g, "line does not arrive", e, end->target);
    }
    if (end->inner != PLAN_NONE && is_open(plan, end->target)) {
        const struct plan_net *inner = &plan->nets[end->inner];

        if (inner->n_ends > 0 &&
            !same(last, plan->points[plan->ends[inner->ends].points]))
            return wrong(g, "line does not go on inside", e, end->target);
    }
    if (end->outer != PLAN_NONE && plan->nets[end->outer].n_ends > 0) {
        const struct plan_end *outer = &plan->ends[plan->nets[end->outer].ends];

        if (!same(last, plan->points[outer->points]))
            return wrong(g, "line does not go on outside", e, end->target);
    }
    return true;
}

static bool check_line(struct geometry *g, const struct plan_net *net, uint32_t e)
{
    const struct plan *plan = g->plan;
    const struct plan_box *frame = &plan->boxes[g->group->box];
    const struct plan_end *end = &plan->ends[e];

    if (end->n_points < 2 || end->points + end->n_points > plan->n_points)
        return wrong(g, "line without points", e, end->n_points);
    for (uint32_t k = 0; k < end->n_points; k++) {
        const struct plan_point *at = &plan->points[end->points + k];

        if (at->x < frame->x || at->y < frame->y || at->x > frame->x + frame->w ||
            at->y > frame->y + frame->h)
            return wrong(g, "line outside of its group", e, k);
        if (k == 0)
            continue;
        if ((at->x == at[-1].x) == (at->y == at[-1].y))
            return wrong(g, "line is neither vertical nor horizontal", e, k);
        if (at->y == at[-1].y && g->group->box != 0 &&
            at->y < frame->y + g->style->frame_top)
            return wrong(g, "line through the title", e, k);
        add_piece(g, at[-1], *at, end);
    }
    return check_arrival(g, net, e);
}

static bool check_nets(struct geometry *g)
{
    const struct plan *plan = g->plan;

    for (uint32_t k = g->group->nets; k < g->group->nets + g->group->n_nets; k++) {
        const struct plan_net *net = &plan->nets[k];

        if (!add_label(g, net->label_x, net->label_y, net->label_width,
                       net->label_height))
            return false;
        for (uint32_t e = net->ends; e < net->ends + net->n_ends; e++) {
            const struct plan_end *end = &plan->ends[e];

            if (!check_line(g, net, e) ||
                !add_label(g, end->label_x, end->label_y, end->label_width,
                           end->label_height))
                return false;
        }
    }
    return true;
}

static int by_net(const void *a, const void *b)
{
    const struct geometry_piece *x = a, *y = b;

    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    if (x->net != y->net)
        return x->net < y->net ? -1 : 1;
    return x->from < y->from ? -1 : x->from > y->from;
}

static int by_start(const void *a, const void *b)
{
    const struct geometry_piece *x = a, *y = b;

    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->from < y->from ? -1 : x->from > y->from;
}

/* Nets must not overlap. Pieces of the same net may: merge them first. */
static bool check_overlaps(struct geometry *g, int vertical)
{
    struct geometry_piece *pieces = g->pieces[vertical];
    uint32_t n = 0;

    if (g->n_pieces[vertical] == 0)
        return true;
    qsort(pieces, g->n_pieces[vertical], sizeof(*pieces), by_net);
    for (uint32_t k = 1; k < g->n_pieces[vertical]; k++) {
        struct geometry_piece *last = &pieces[n], *next = &pieces[k];

        if (next->at != last->at || next->net != last->net || next->from > last->to)
            pieces[++n] = *next;
        else if (next->to > last->to)
            last->to = next->to;
    }
    n++;
    qsort(pieces, n, sizeof(*pieces), by_start);
    for (uint32_t k = 1; k < n; k++)
        if (pieces[k].at == pieces[k - 1].at && pieces[k].from <= pieces[k - 1].to)
            return wrong(g, vertical ? "vertical lines overlap" : "lines overlap",
                         pieces[k].net, pieces[k - 1].net);
    return true;
}

/* Does a piece meet an unrelated box or label? */
static bool hits(const struct geometry_piece *piece, const struct geometry_rect *rect,
                 int vertical)
{
    int32_t low = vertical ? rect->left : rect->top;
    int32_t high = vertical ? rect->right : rect->bottom;
    int32_t from = vertical ? rect->top : rect->left;
    int32_t to = vertical ? rect->bottom : rect->right;
    bool own = rect->box != PLAN_NONE &&
               (rect->box == piece->source || rect->box == piece->target);

    if (own)
        return piece->at > low && piece->at < high && piece->from < to &&
               piece->to > from;
    return piece->at >= low && piece->at <= high && piece->from <= to &&
           piece->to >= from;
}

/* Rectangles by bands of the x axis (or y): those of band b are at[b] .. at[b + 1]. */
static uint32_t *make_bands(const struct geometry *g, int vertical, uint32_t **ret_list)
{
    const struct plan_box *frame = &g->plan->boxes[g->group->box];
    int32_t origin = vertical ? frame->x : frame->y;
    uint32_t n = (uint32_t)(vertical ? frame->w : frame->h) / BAND + 2, total = 0;
    uint32_t *at = calloc((size_t)n + 2, sizeof(*at)), *list = NULL;

    CHECK(at);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t k = 0; k < g->n_rects; k++) {
            const struct geometry_rect *r = &g->rects[k];
            int32_t low = (vertical ? r->left : r->top) - origin;
            int32_t high = (vertical ? r->right : r->bottom) - origin;

            for (int32_t b = low / BAND; b <= high / BAND; b++) {
                if (pass == 0)
                    at[b + 2]++, total++;
                else
                    list[at[b + 1]++] = k;
            }
        }
        if (pass == 0) {
            list = calloc((size_t)total + 1, sizeof(*list));
            CHECK(list);
            for (uint32_t b = 0; b < n; b++)
                at[b + 2] += at[b + 1];
        }
    }
    *ret_list = list;
    return at;
}

static bool check_rects(struct geometry *g, const uint32_t *at, const uint32_t *list,
                        uint32_t bands)
{
    for (uint32_t b = 0; b < bands; b++)
        for (uint32_t i = at[b]; i < at[b + 1]; i++)
            for (uint32_t j = i + 1; j < at[b + 1]; j++) {
                const struct geometry_rect *x = &g->rects[list[i]];
                const struct geometry_rect *y = &g->rects[list[j]];

                if (x->left < y->right && y->left < x->right && x->top < y->bottom &&
                    y->top < x->bottom)
                    return wrong(g, "boxes or labels overlap", x->box, y->box);
            }
    return true;
}

static bool check_pieces(struct geometry *g, int vertical)
{
    const struct plan_box *frame = &g->plan->boxes[g->group->box];
    int32_t origin = vertical ? frame->x : frame->y;
    uint32_t bands = (uint32_t)(vertical ? frame->w : frame->h) / BAND + 1;
    uint32_t *list, *at = make_bands(g, vertical, &list);
    bool ok = vertical || check_rects(g, at, list, bands);

    for (uint32_t k = 0; ok && k < g->n_pieces[vertical]; k++) {
        const struct geometry_piece *piece = &g->pieces[vertical][k];
        uint32_t b = (uint32_t)((piece->at - origin) / BAND);

        for (uint32_t i = at[b]; ok && i < at[b + 1]; i++)
            if (hits(piece, &g->rects[list[i]], vertical))
                ok = wrong(g,
                           g->rects[list[i]].box == PLAN_NONE ? "line through a label"
                                                              : "line through a box",
                           piece->net, g->rects[list[i]].box);
    }
    free(at);
    free(list);
    return ok;
}

bool sample_geometry(const struct plan *plan, const struct plan_style *style,
                     struct buf *why)
{
    struct geometry g = {.plan = plan, .style = style, .why = why};
    bool ok = true;

    for (uint32_t i = 0; ok && i < plan->n_groups; i++) {
        g.group = &plan->groups[i];
        if (plan->boxes[g.group->box].w == 0 || !is_open(plan, g.group->box))
            continue;
        g.n_rects = g.n_pieces[0] = g.n_pieces[1] = 0;
        ok = check_boxes(&g) && check_nets(&g) && check_pieces(&g, 0) &&
             check_pieces(&g, 1) && check_overlaps(&g, 0) && check_overlaps(&g, 1);
    }
    free(g.rects);
    free(g.pieces[0]);
    free(g.pieces[1]);
    return ok;
}
