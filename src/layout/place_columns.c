/* place_columns.c - the distances between the columns of a group. A column keeps its
 * distance from the columns between it and the main one only in rows where both have
 * content: a short side chain does not push away what lies above or below it. So the
 * axes of two columns that never meet may be in any order; where lines turn, both
 * columns have content, and the order of columns holds. */
#include "layout/place_in.h"

/* The extent of a column: half rows 2 * r (the channel above row r) and 2 * r + 1 (the
 * row). Distances are from the axis. */
struct place_span {
    uint32_t from, to;
    struct place_reach reach;
    int32_t column; /* from 0 */
};

struct place_spans {
    struct place_span *at; /* by column */
    uint32_t *first;       /* per column, and one more */
};

/* A box in its rows, with its labels, because it may be lower than its row; in the
 * channels above and below it only lines and labels. */
static uint32_t span_box(const struct placing *p, uint32_t box,
                         struct place_span *spans)
{
    const struct plan_box *of = &p->plan->boxes[box];
    const struct place_mark *mark = &p->marks[box];
    uint32_t first = 2 * of->rank + 1, last = 2 * of->last + 1, n = 0;

    spans[n++] = (struct place_span){first, last, mark->all, of->column};
    if (mark->n_entries > 0)
        spans[n++] = (struct place_span){first - 1, first - 1, mark->entry, of->column};
    if (mark->n_exits > 0)
        spans[n++] = (struct place_span){last + 1, last + 1, mark->exit, of->column};
    return n;
}

/* A line down the axis of a column, beyond its boxes: from > to if there is none. */
static struct place_span span_line(const struct placing *p,
                                   const struct plan_group *group,
                                   const struct plan_end *end)
{
    const struct plan_net *net = &p->plan->nets[end->net];
    const struct plan_box *source = &p->plan->boxes[net->source];
    const struct plan_box *target = &p->plan->boxes[end->target];
    bool from_in = net->source == group->box, to_out = end->target == group->box;
    struct place_span span = {
        .from = from_in ? 0 : 2 * source->last + 2,
        .to = to_out ? 2 * group->rows : 2 * target->rank,
        .reach = {p->style->corner, p->style->corner},
        .column = from_in ? 0 : source->column,
    };

    if (end->way == PLAN_OVER)
        span.column = to_out ? 0 : target->column;
    if (end->way == PLAN_ALONG_SIDE)
        span.to++;
    if (end->way == PLAN_LANE || end->way == PLAN_LANE_SIDE || span.to == span.from)
        span.from = span.to + 1; /* within one channel, the boxes' spans hold it */
    return span;
}

static uint32_t list_spans(const struct placing *p, const struct place_grid *grid,
                           struct place_span *spans)
{
    const struct plan_group *group = grid->group;
    const struct plan_box *boxes = p->plan->boxes;
    uint32_t n = 0, bottom = 2 * group->rows;

    spans[n++] = (struct place_span){0, 0, grid->in.all, 0};
    spans[n++] = (struct place_span){bottom, bottom, grid->out.all, 0};
    for (uint32_t c = group->box + 1; c < boxes[group->box].end; c = boxes[c].end)
        n += span_box(p, c, &spans[n]);
    for (uint32_t k = group->nets; k < group->nets + group->n_nets; k++) {
        const struct plan_net *net = &p->plan->nets[k];

        for (uint32_t e = net->ends; e < net->ends + net->n_ends; e++) {
            spans[n] = span_line(p, group, &p->plan->ends[e]);
            n += spans[n].from < spans[n].to;
        }
    }
    for (uint32_t i = 0; i < n; i++)
        spans[i].column -= group->first_column;
    return n;
}

static int find_spans(struct placing *p, const struct place_grid *grid,
                      struct place_spans *spans)
{
    const struct plan_group *group = grid->group;
    size_t columns = (size_t)group->n_columns, room = 3;
    struct place_span *list;
    uint32_t n;

    for (uint32_t c = group->box + 1; c < p->plan->boxes[group->box].end;
         c = p->plan->boxes[c].end)
        room += 3;
    for (uint32_t k = group->nets; k < group->nets + group->n_nets; k++)
        room += p->plan->nets[k].n_ends;
    list = place_array(p, room, sizeof(*list));
    spans->at = place_array(p, room, sizeof(*spans->at));
    spans->first = place_array(p, columns + 2, sizeof(*spans->first));
    if (!list || !spans->at || !spans->first)
        return -1;
    n = list_spans(p, grid, list);
    for (uint32_t i = 0; i < n; i++)
        spans->first[list[i].column + 2]++;
    for (size_t c = 0; c < columns; c++)
        spans->first[c + 2] += spans->first[c + 1];
    for (uint32_t i = 0; i < n; i++)
        spans->at[spans->first[list[i].column + 1]++] = list[i];
    return 0;
}

/* The columns of one side, from the main one on: each as near as possible. The main
 * axis is at 0; distances to the left are negative. Returns the extent of all. */
static int64_t place_side(struct placing *p, struct place_grid *grid,
                          const struct place_spans *spans, struct place_tree *taken,
                          bool left)
{
    const struct plan_group *group = grid->group;
    int32_t main = -group->first_column, step = left ? -1 : 1;
    int64_t reach = 0;

    for (int32_t c = main; c >= 0 && c < group->n_columns; c += step) {
        int64_t at = 0;

        for (uint32_t i = spans->first[c]; c != main && i < spans->first[c + 1]; i++) {
            const struct place_span *span = &spans->at[i];

            at = place_larger(at, place_tree_most(taken, span->from, span->to) +
                                      p->style->column +
                                      (left ? span->reach.right : span->reach.left));
        }
        for (uint32_t i = spans->first[c]; i < spans->first[c + 1]; i++) {
            const struct place_span *span = &spans->at[i];
            int64_t to = at + (left ? span->reach.left : span->reach.right);

            reach = place_larger(reach, to);
            if (group->n_columns > 1)
                place_tree_raise(taken, span->from, span->to, to);
        }
        grid->axis[c] = left ? -at : at;
    }
    return reach;
}

int place_columns(struct placing *p, struct place_grid *grid)
{
    const struct plan_group *group = grid->group;
    uint32_t halves = group->n_columns > 1 ? 2 * group->rows + 1 : 1;
    struct place_tree taken[2];
    struct place_spans spans;
    int64_t left;

    grid->axis = place_array(p, (size_t)group->n_columns, sizeof(*grid->axis));
    if (!grid->axis || find_spans(p, grid, &spans) < 0 ||
        place_tree_init(p, &taken[0], halves) < 0 ||
        place_tree_init(p, &taken[1], halves) < 0)
        return -1;
    left = place_side(p, grid, &spans, &taken[0], true);
    grid->right = place_side(p, grid, &spans, &taken[1], false) + left;
    for (int32_t c = 0; c < group->n_columns; c++)
        grid->axis[c] += left;
    return 0;
}
