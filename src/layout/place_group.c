/* place_group.c - one open group: widths of its columns, heights of its rows and
 * channels, and from these the position of every box, relative to the group. */
#include "layout/place_in.h"

static int64_t round_up(const struct plan_style *style, int64_t width)
{
    int64_t to = style->round_to > 1 ? style->round_to : 1;

    return (width + to - 1) / to * to;
}

static uint32_t next_box(const struct plan *plan, uint32_t box)
{
    return plan->boxes[box].end;
}

/* The largest slot of the lines at a box. */
static int64_t reach(const struct place_mark *mark)
{
    int64_t most = 0;

    if (mark->n_exits > 0)
        most = place_larger(-(int64_t)mark->exit_low, mark->exit_high);
    if (mark->n_entries > 0)
        most = place_larger(most,
                            place_larger(-(int64_t)mark->entry_low, mark->entry_high));
    return most;
}

/* The extent of the lines at a box, in the channels above and below it. */
static struct place_reach lines_reach(const struct placing *p,
                                      const struct place_mark *mark)
{
    int64_t most = reach(mark) * p->style->slot + p->style->corner;

    return (struct place_reach){most, most};
}

/* Boxes that are not frames: wide enough for their lines; those that stretch get the
 * largest width of their column. */
static int size_boxes(struct placing *p, struct place_grid *grid)
{
    struct plan *plan = p->plan;
    uint32_t group = grid->group->box, end = plan->boxes[group].end;
    int64_t *widest = place_array(p, (size_t)grid->group->n_columns, sizeof(*widest));

    if (!widest)
        return -1;
    for (uint32_t c = group + 1; c < end; c = next_box(plan, c)) {
        struct plan_box *box = &plan->boxes[c];
        int64_t lines = 2 * (reach(&p->marks[c]) * p->style->slot + p->style->corner);
        int64_t *most = &widest[box->column - grid->group->first_column];

        if (place_open(plan, c))
            continue;
        if (reach(&p->marks[c]) == 0)
            lines = 0;
        lines = place_larger(box->width, lines);
        if (!(box->flags & PLAN_SIDE)) /* a sign is round */
            lines = round_up(p->style, lines);
        p->largest = place_larger(p->largest, lines);
        box->w = (int32_t)lines;
        box->h = box->height;
        if (box->flags & PLAN_STRETCH)
            *most = place_larger(*most, box->w);
    }
    for (uint32_t c = group + 1; c < end; c = next_box(plan, c)) {
        struct plan_box *box = &plan->boxes[c];
        struct place_mark *mark = &p->marks[c];

        if (!place_open(plan, c)) {
            if (box->flags & PLAN_STRETCH)
                box->w = (int32_t)widest[box->column - grid->group->first_column];
            box->axis = box->w / 2;
        }
        mark->all = (struct place_reach){box->axis, box->w - box->axis};
        mark->entry = mark->exit = lines_reach(p, mark);
    }
    return 0;
}

/* Slots that lines use at the border, inside. */
static void mark_border(struct placing *p, struct place_grid *grid)
{
    const struct plan_group *group = grid->group;
    struct place_mark *marks[2] = {&grid->in, &grid->out};

    for (uint32_t k = group->nets; k < group->nets + group->n_nets; k++) {
        const struct plan_net *net = &p->plan->nets[k];

        if (net->source == group->box)
            place_exit(&grid->in, net->slot);
        for (uint32_t e = net->ends; e < net->ends + net->n_ends; e++)
            if (p->plan->ends[e].target == group->box)
                place_entry(&grid->out, p->plan->ends[e].slot);
    }
    for (int i = 0; i < 2; i++) {
        marks[i]->all = lines_reach(p, &p->marks[group->box]);
        marks[i]->entry = marks[i]->exit = lines_reach(p, marks[i]);
        place_widen(&marks[i]->all, marks[i]->exit.left, marks[i]->exit.right);
    }
}

/* The height of a channel. The space between the border and the first or last row is
 * part of the frame, so channels there only need room for lines that turn. */
static void size_channel(struct placing *p, struct place_grid *grid, uint32_t c)
{
    const struct plan_style *style = p->style;
    const struct plan_group *group = grid->group;
    uint32_t tracks = p->plan->tracks[group->channels + c];
    bool first = c == 0, last = c == group->rows;
    int64_t below = grid->below[c], above = grid->above[c];
    int64_t top = below > 0 ? below + style->label_space / 2 : 0;
    int64_t bottom = above > 0 ? above + style->label_space / 2 : 0;

    if (tracks > 0) {
        if (!first)
            top = place_larger(top, style->track_first);
        bottom = place_larger(bottom, last ? style->track_out : style->track_last);
        p->track_y[group->channels + c] = top;
        grid->channel_h[c] = place_larger(
            grid->channel_h[c], top + (int64_t)(tracks - 1) * style->track + bottom);
    } else if (below > 0 || above > 0) {
        grid->channel_h[c] = place_larger(grid->channel_h[c], top + bottom);
        if (!first && !last)
            grid->channel_h[c] = place_larger(grid->channel_h[c], style->label_gap);
    }
}

/* Heights of rows, and the space that boxes and their labels need in channels. */
static void measure_rows(struct placing *p, struct place_grid *grid)
{
    const struct plan_group *group = grid->group;
    const struct plan *plan = p->plan;

    for (uint32_t c = 1; c < group->rows; c++)
        grid->channel_h[c] = p->style->channel;
    for (uint32_t c = group->box + 1; c < plan->boxes[group->box].end;
         c = next_box(plan, c)) {
        const struct plan_box *box = &plan->boxes[c];
        const struct place_mark *mark = &p->marks[c];
        uint32_t above = box->rank, below = box->last + 1;
        int64_t side = 2 * place_larger(mark->side_labels[0], mark->side_labels[1]);

        if (box->last == box->rank)
            grid->row_h[box->rank] =
                place_larger(grid->row_h[box->rank], place_larger(box->h, side));
        if (above > 0)
            grid->channel_h[above] = place_larger(grid->channel_h[above], box->gap);
        if (below < group->rows)
            grid->channel_h[below] = place_larger(grid->channel_h[below], box->gap);
        grid->above[above] = place_larger(grid->above[above], mark->entry_labels);
        grid->below[below] = place_larger(grid->below[below], mark->exit_labels);
    }
    grid->below[0] = place_larger(grid->below[0], grid->in.exit_labels);
    grid->above[group->rows] =
        place_larger(grid->above[group->rows], grid->out.entry_labels);
}

/* Boxes over several rows: if the rows are not high enough, all of them grow. */
static void stretch_rows(struct placing *p, struct place_grid *grid)
{
    const struct plan *plan = p->plan;
    uint32_t group = grid->group->box;

    for (uint32_t c = group + 1; c < plan->boxes[group].end; c = next_box(plan, c)) {
        const struct plan_box *box = &plan->boxes[c];
        int64_t rows = (int64_t)box->last - box->rank + 1, height = 0;

        if (rows == 1)
            continue;
        for (uint32_t r = box->rank; r <= box->last; r++)
            height += grid->row_h[r] + (r > box->rank ? grid->channel_h[r] : 0);
        for (uint32_t r = box->rank; height < box->h && r <= box->last; r++)
            grid->row_h[r] += (box->h - height + rows - 1) / rows;
    }
}

static int place_rows(struct placing *p, struct place_grid *grid)
{
    const struct plan_group *group = grid->group;
    size_t n = (size_t)group->rows + 1;
    int64_t y = group->box == 0 ? p->style->margin : p->style->frame_top;

    grid->row_y = place_array(p, n, sizeof(int64_t));
    grid->row_h = place_array(p, n, sizeof(int64_t));
    grid->above = place_array(p, n, sizeof(int64_t));
    grid->below = place_array(p, n, sizeof(int64_t));
    grid->channel_h = place_array(p, n, sizeof(int64_t));
    if (!grid->row_y || !grid->row_h || !grid->above || !grid->below ||
        !grid->channel_h)
        return -1;
    measure_rows(p, grid);
    for (uint32_t c = 0; c <= group->rows; c++)
        size_channel(p, grid, c);
    stretch_rows(p, grid);
    for (uint32_t r = 0; r <= group->rows; r++) {
        p->track_y[group->channels + r] += y;
        y += grid->channel_h[r];
        grid->row_y[r] = y; /* that of row `rows` is the end of the content */
        y += grid->row_h[r];
    }
    return 0;
}

/* The frame: as large as its content, its title and the slots at its border need.
 * Excess goes to both sides. Then boxes and lanes move to their final position
 * inside. */
static void make_frame(struct placing *p, struct place_grid *grid)
{
    const struct plan_style *style = p->style;
    const struct plan_group *group = grid->group;
    struct plan_box *frame = &p->plan->boxes[group->box];
    bool root = group->box == 0;
    int64_t left = root ? style->margin : style->frame_left;
    int64_t right = grid->right + (root ? style->margin : style->frame_right);
    int64_t width, height, spare;

    if (grid->lanes > 0)
        right = place_larger(right, grid->lanes + style->lane_first);
    width = round_up(style, place_larger(left + right, frame->least_width));
    spare = (width - left - right) / 2;
    left += spare;
    height = place_larger(grid->row_y[group->rows] +
                              (root ? style->margin : style->frame_bottom),
                          frame->least_height);
    p->largest = place_larger(p->largest, place_larger(width, height));
    frame->w = (int32_t)width;
    frame->h = (int32_t)height;
    frame->axis = (int32_t)(left + grid->axis[-group->first_column]);
    for (uint32_t c = group->box + 1; c < frame->end; c = next_box(p->plan, c)) {
        struct plan_box *box = &p->plan->boxes[c];
        int64_t top = grid->row_y[box->rank];
        int64_t bottom = grid->row_y[box->last] + grid->row_h[box->last];

        box->x =
            (int32_t)(left + grid->axis[box->column - group->first_column] - box->axis);
        box->y = (int32_t)(top + (bottom - top - box->h) / 2);
    }
    for (uint32_t i = 0; i < group->n_lanes; i++)
        p->lane_x[p->plan->lanes[group->lanes + i]] += left;
}

int place_group(struct placing *p, struct plan_group *group)
{
    struct place_grid grid = {.group = group};

    if (size_boxes(p, &grid) < 0)
        return -1;
    mark_border(p, &grid);
    place_labels(p, &grid);
    if (place_columns(p, &grid) < 0 || place_rows(p, &grid) < 0 ||
        place_lanes(p, &grid) < 0)
        return -1;
    make_frame(p, &grid);
    return 0;
}
