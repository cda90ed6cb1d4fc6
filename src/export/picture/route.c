/* Lines between shown boxes: finds the own part of each line, and where lines split and
 * cross. */
#include <stdlib.h>

#include "export/picture/picture_in.h"

#define COMPARED 256   /* lines from the same box compared for a common trunk */
#define SEGMENTS 20000 /* with more, crossings have no casing: nobody can follow them */

/* A line with all of its points, trunk included. */
struct whole_line {
    const struct plan_point *points;
    uint32_t n;
    uint32_t before; /* the previous line from the same box, or PLAN_NONE */
};

static bool same_point(struct plan_point a, struct plan_point b)
{
    return a.x == b.x && a.y == b.y;
}

static int sign_of(int32_t n)
{
    return (n > 0) - (n < 0);
}

static int64_t distance(struct plan_point a, struct plan_point b)
{
    return llabs((int64_t)a.x - b.x) + llabs((int64_t)a.y - b.y);
}

/* The point where line b leaves line a: *ret_split, after `ret_at` whole pieces of b.
 * Returns its distance from the start; 0: they share nothing. */
static int64_t leaves_at(const struct whole_line *a, const struct whole_line *b,
                         uint32_t *ret_at, struct plan_point *ret_split)
{
    uint32_t k = 0;
    int64_t length = 0;

    if (!same_point(a->points[0], b->points[0]))
        return 0;
    while (k + 1 < a->n && k + 1 < b->n &&
           same_point(a->points[k + 1], b->points[k + 1])) {
        length += distance(b->points[k], b->points[k + 1]);
        k++;
    }
    *ret_at = k;
    *ret_split = b->points[k];
    if (k + 1 < a->n && k + 1 < b->n) {
        struct plan_point from = b->points[k], p = a->points[k + 1],
                          q = b->points[k + 1];

        if (sign_of(p.x - from.x) == sign_of(q.x - from.x) &&
            sign_of(p.y - from.y) == sign_of(q.y - from.y)) {
            *ret_split = distance(from, p) < distance(from, q) ? p : q;
            length += distance(from, *ret_split);
        }
    }
    return length;
}

/* Cut off the part that an earlier line from the same box has already drawn. */
static void cut_trunk(struct picture *picture, struct whole_line *wholes, uint32_t l)
{
    struct picture_line *line = &picture->lines[l];
    int64_t longest = 0;
    uint32_t cut = 0, tries = 0, at = 0;
    struct plan_point split = {0, 0}, found;

    for (uint32_t k = wholes[l].before; k != PLAN_NONE && tries < COMPARED;
         k = wholes[k].before, tries++) {
        int64_t length = leaves_at(&wholes[k], &wholes[l], &at, &found);

        if (length > longest) {
            longest = length;
            cut = at;
            split = found;
        }
    }
    if (longest == 0)
        return;
    if (cut + 1 < line->n_points && same_point(split, line->points[cut + 1]))
        cut++;
    line->points += cut;
    line->n_points -= cut;
    line->points[0] = split;
    line->branch = line->dot = true;
    for (uint32_t k = wholes[l].before, i = 0; k != PLAN_NONE && i < COMPARED;
         k = wholes[k].before, i++)
        if (picture->lines[k].branch && same_point(picture->lines[k].points[0], split))
            line->dot = false;
    picture->splits[picture->n_splits++] = split;
}

static int by_place(const void *a, const void *b)
{
    const struct plan_point *p = a, *q = b;

    if (p->x != q->x)
        return p->x < q->x ? -1 : 1;
    return (p->y > q->y) - (p->y < q->y);
}

static void sort_splits(struct picture *picture)
{
    uint32_t n = 0;

    if (picture->n_splits == 0)
        return;
    qsort(picture->splits, picture->n_splits, sizeof *picture->splits, by_place);
    for (uint32_t i = 0; i < picture->n_splits; i++)
        if (n == 0 || !same_point(picture->splits[n - 1], picture->splits[i]))
            picture->splits[n++] = picture->splits[i];
    picture->n_splits = n;
}

/* Two copies of the route's points on the page: all of them, and only the own part. */
static int add_line(struct picture *picture, struct whole_line *wholes,
                    const struct plan_route *route, uint32_t end)
{
    uint32_t l = picture->n_lines;
    struct picture_line *line = &picture->lines[l];
    struct plan_point *copy = arena_array(&picture->arena, route->n, sizeof *copy);
    struct plan_point *own = arena_array(&picture->arena, route->n, sizeof *own);

    if (!copy || !own)
        return -1;
    for (uint32_t i = 0; i < route->n; i++) {
        copy[i].x = route->points[i].x + picture->left;
        copy[i].y = route->points[i].y + picture->top;
        own[i] = copy[i];
    }
    *line = (struct picture_line){
        .from = route->from,
        .to = route->to,
        .end = end,
        .net = picture->diagram->plan.ends[route->first_end].net,
        .points = own,
        .n_points = route->n,
    };
    wholes[l].points = copy;
    wholes[l].n = route->n;
    picture->n_lines++;
    return 0;
}

static int collect(struct picture *picture, struct whole_line *wholes, uint32_t *last,
                   uint8_t change, struct err *err)
{
    const struct plan *plan = &picture->diagram->plan;

    for (uint32_t e = 0; e < plan->n_ends; e++) {
        struct plan_route route = {0};
        uint32_t l = picture->n_lines;

        if (picture->diagram->ends[e].change != change || !plan_arrives(plan, e))
            continue;
        if (plan_route(plan, e, &picture->arena, &route, err) < 0)
            return -1;
        if (route.from == PLAN_NONE || route.n < 2)
            continue;
        if (add_line(picture, wholes, &route, e) < 0)
            return arena_err(&picture->arena, "the picture", err);
        wholes[l].before = last[route.from];
        last[route.from] = l;
        cut_trunk(picture, wholes, l);
    }
    return 0;
}

/* A horizontal or vertical piece of a line: `at` is its fixed coordinate. */
struct line_piece {
    int32_t at, low, high;
    uint32_t line;
};

static int by_height(const void *a, const void *b)
{
    const struct line_piece *p = a, *q = b;

    if (p->at != q->at)
        return p->at < q->at ? -1 : 1;
    return (p->line > q->line) - (p->line < q->line);
}

static int by_line(const void *a, const void *b)
{
    const struct picture_crossing *p = a, *q = b;

    if (p->line != q->line)
        return p->line < q->line ? -1 : 1;
    if (p->y != q->y)
        return p->y < q->y ? -1 : 1;
    return (p->x > q->x) - (p->x < q->x);
}

/* The level (or upright) pieces of all lines, in `pieces`; returns their number. */
static uint32_t pieces_of(const struct picture *picture, bool level,
                          struct line_piece *pieces)
{
    uint32_t n = 0;

    for (uint32_t l = 0; l < picture->n_lines; l++) {
        const struct picture_line *line = &picture->lines[l];

        for (uint32_t i = 0; i + 1 < line->n_points; i++) {
            struct plan_point a = line->points[i], b = line->points[i + 1];
            int32_t from = level ? a.x : a.y, to = level ? b.x : b.y;

            if ((a.y == b.y) != level)
                continue;
            pieces[n++] = (struct line_piece){level ? a.y : a.x, from < to ? from : to,
                                              from < to ? to : from, l};
        }
    }
    return n;
}

/* The innermost open group around a point of the page. */
static uint32_t group_at(const struct picture *picture, struct plan_point at)
{
    for (uint32_t i = picture->n_frames; i > 0; i--) {
        const struct plan_box *box =
            &picture->diagram->plan.boxes[picture->frames[i - 1]];
        int32_t x = at.x - picture->left, y = at.y - picture->top;

        if (x >= box->x && x < box->x + box->w && y >= box->y && y < box->y + box->h)
            return picture->frames[i - 1];
    }
    return 0;
}

/* Lines of one value meet without crossing. */
static bool same_value(const struct picture *picture, uint32_t a, uint32_t b)
{
    return picture->lines[a].from == picture->lines[b].from &&
           picture->lines[a].net == picture->lines[b].net;
}

static int add_crossings(struct picture *picture, const struct line_piece *upright,
                         const struct line_piece *level, uint32_t n_level,
                         uint32_t *room)
{
    uint32_t low = 0, high = n_level;

    while (low < high) { /* the first level piece below the top end */
        uint32_t mid = low + (high - low) / 2;

        if (level[mid].at <= upright->low)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low < n_level && level[low].at < upright->high; low++) {
        const struct line_piece *other = &level[low];
        bool later = upright->line > other->line;
        struct plan_point at = {upright->at, other->at};

        if (at.x <= other->low || at.x >= other->high ||
            same_value(picture, upright->line, other->line))
            continue;
        if (arena_room(&picture->arena, &picture->crossings, picture->n_crossings, room,
                       sizeof *picture->crossings) < 0)
            return -1;
        picture->crossings[picture->n_crossings++] =
            (struct picture_crossing){later ? upright->line : other->line, later, at.x,
                                      at.y, group_at(picture, at)};
    }
    return 0;
}

static int find_crossings(struct picture *picture, struct err *err)
{
    uint32_t n_points = 0, n_level, n_upright, room = 0;
    struct line_piece *level, *upright;

    for (uint32_t l = 0; l < picture->n_lines; l++)
        n_points += picture->lines[l].n_points;
    if (n_points == 0 || n_points > SEGMENTS)
        return 0;
    level = arena_array(&picture->arena, n_points, sizeof *level);
    upright = arena_array(&picture->arena, n_points, sizeof *upright);
    if (!level || !upright)
        return arena_err(&picture->arena, "the picture", err);
    n_level = pieces_of(picture, true, level);
    n_upright = pieces_of(picture, false, upright);
    qsort(level, n_level, sizeof *level, by_height);
    for (uint32_t i = 0; i < n_upright; i++)
        if (add_crossings(picture, &upright[i], level, n_level, &room) < 0)
            return arena_err(&picture->arena, "the picture", err);
    if (picture->n_crossings > 0)
        qsort(picture->crossings, picture->n_crossings, sizeof *picture->crossings,
              by_line);
    return 0;
}

int picture_route(struct picture *picture, struct err *err)
{
    const struct plan *plan = &picture->diagram->plan;
    struct whole_line *wholes =
        arena_array(&picture->arena, plan->n_ends + 1, sizeof *wholes);
    uint32_t *last = arena_array(&picture->arena, plan->n_boxes, sizeof *last);

    picture->lines =
        arena_array(&picture->arena, plan->n_ends + 1, sizeof *picture->lines);
    picture->splits =
        arena_array(&picture->arena, plan->n_ends + 1, sizeof *picture->splits);
    picture->frames =
        arena_array(&picture->arena, plan->n_boxes, sizeof *picture->frames);
    if (!wholes || !last || !picture->lines || !picture->splits || !picture->frames)
        return arena_err(&picture->arena, "the picture", err);
    for (uint32_t i = 0; i < plan->n_boxes; i++) {
        last[i] = PLAN_NONE;
        if (picture_is_frame(picture, i))
            picture->frames[picture->n_frames++] = i;
    }
    /* A common trunk looks like its first line: the one that exists in both
     * networks. */
    for (uint8_t change = DIAGRAM_SAME; change <= DIAGRAM_REMOVED; change++)
        if (collect(picture, wholes, last, change, err) < 0)
            return -1;
    sort_splits(picture);
    return find_crossings(picture, err);
}
