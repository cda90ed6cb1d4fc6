/* walk.c - moving from node to node. */
#include <stdlib.h>

#include "explorer/boxes/boxes_in.h"

static bool is_shown(const struct boxes_drawing *drawing, uint32_t node)
{
    uint32_t box = node < drawing->graph->n_nodes ? drawing->box_of[node] : BOXES_NONE;

    return node > 0 && box != BOXES_NONE && drawing->boxes[box].n_rows > 0 &&
           node != drawing->boxes[box].group;
}

struct boxes_spot boxes_where(const struct boxes_drawing *drawing, uint32_t node)
{
    uint32_t index = drawing->box_of[node];
    const struct boxes_box *box = &drawing->boxes[index];
    const struct plan_box *plan = &drawing->plan.boxes[index];
    struct boxes_spot spot = {
        .left = (uint32_t)plan->x,
        .top = (uint32_t)plan->y,
        .right = (uint32_t)(plan->x + plan->w),
        .bottom = (uint32_t)(plan->y + plan->h),
        .row = (uint32_t)(plan->y + (plan->h - (int32_t)box->n_rows) / 2)};

    for (uint32_t r = 0; r < box->n_rows && drawing->rows[box->rows + r] != node; r++)
        spot.row++;
    return spot;
}

uint32_t boxes_first(const struct boxes_drawing *drawing)
{
    uint32_t first = BOXES_NONE;

    for (uint32_t i = 1; i < drawing->graph->n_nodes; i++) {
        if (!is_shown(drawing, i))
            continue;
        if (drawing->graph->nodes[i].kind != DIAGRAM_INPUT)
            return i;
        first = first == BOXES_NONE ? i : first;
    }
    return first;
}

uint32_t boxes_last(const struct boxes_drawing *drawing)
{
    uint32_t last = BOXES_NONE;

    for (uint32_t i = 1; i < drawing->graph->n_nodes; i++)
        if (is_shown(drawing, i))
            last = i;
    return last;
}

/* ---- along lines ---- */

/* The row of its box that is `by` rows below; BOXES_NONE: it is the first or last. */
static uint32_t row_beside(const struct boxes_drawing *drawing, uint32_t node, int by)
{
    const struct boxes_box *box = &drawing->boxes[drawing->box_of[node]];

    for (uint32_t r = 0; r < box->n_rows; r++)
        if (drawing->rows[box->rows + r] == node) {
            uint32_t to = by < 0 ? (r > 0 ? r - 1 : BOXES_NONE) : r + 1;

            return to < box->n_rows ? drawing->rows[box->rows + to] : BOXES_NONE;
        }
    return BOXES_NONE;
}

static int64_t axis_of(const struct boxes_drawing *drawing, uint32_t box)
{
    return drawing->plan.boxes[box].x + drawing->plan.boxes[box].axis;
}

/* Of the boxes that a line connects it with, the one nearest to its column; then the
 * nearest. */
static uint32_t along(const struct boxes_drawing *drawing, uint32_t from, bool down)
{
    const struct boxes_graph *graph = drawing->graph;
    uint32_t best = BOXES_NONE;
    int64_t least_x = 0, least_y = 0;

    for (uint32_t i = 0; i < graph->n_links; i++) {
        uint32_t a = graph->values[graph->links[i].value].source;
        uint32_t b = graph->links[i].target, to;
        int64_t x, y;

        for (; drawing->box_of[a] == BOXES_NONE; a = graph->nodes[a].parent)
            ;
        for (; drawing->box_of[b] == BOXES_NONE; b = graph->nodes[b].parent)
            ;
        a = drawing->box_of[a];
        b = drawing->box_of[b];
        to = down ? b : a;
        if ((down ? a : b) != from || a == b)
            continue;
        x = llabs(axis_of(drawing, to) - axis_of(drawing, from));
        y = llabs((int64_t)drawing->plan.boxes[to].y - drawing->plan.boxes[from].y);
        if (best == BOXES_NONE || x < least_x || (x == least_x && y < least_y)) {
            best = to;
            least_x = x;
            least_y = y;
        }
    }
    return best;
}

/* ---- across ---- */

static int64_t gap_between(int64_t a, int64_t a_end, int64_t b, int64_t b_end)
{
    return b >= a_end ? b - a_end + 1 : a >= b_end ? a - b_end + 1 : 0;
}

/* The nearest box on that side: first by rows between them, then by columns. */
static uint32_t across(const struct boxes_drawing *drawing, uint32_t from, bool right)
{
    const struct plan_box *own = &drawing->plan.boxes[from];
    uint32_t best = BOXES_NONE;
    int64_t least = 0;

    for (uint32_t i = 1; i < drawing->plan.n_boxes; i++) {
        const struct plan_box *box = &drawing->plan.boxes[i];
        int64_t rows, columns, far;

        if (drawing->boxes[i].n_rows == 0 ||
            (right ? box->x < own->x + own->w : box->x + box->w > own->x))
            continue;
        rows = gap_between(own->y, own->y + own->h, box->y, box->y + box->h);
        columns = gap_between(own->x, own->x + own->w, box->x, box->x + box->w);
        far = rows * 4 + columns;
        if (best == BOXES_NONE || far < least) {
            best = i;
            least = far;
        }
    }
    return best;
}

/* The row of a box that is nearest to a row of the grid. */
static uint32_t row_near(const struct boxes_drawing *drawing, uint32_t index,
                         uint32_t row)
{
    const struct boxes_box *box = &drawing->boxes[index];
    uint32_t first = drawing->rows[box->rows];
    uint32_t top = boxes_where(drawing, first).row;
    uint32_t r = row > top ? row - top : 0;

    return drawing->rows[box->rows + (r < box->n_rows ? r : box->n_rows - 1)];
}

uint32_t boxes_step(const struct boxes_drawing *drawing, uint32_t node,
                    enum boxes_way way)
{
    const struct boxes_box *box;
    uint32_t to;

    if (!is_shown(drawing, node))
        return boxes_first(drawing);
    if (way == BOXES_LEFT || way == BOXES_RIGHT) {
        to = across(drawing, drawing->box_of[node], way == BOXES_RIGHT);
        return to == BOXES_NONE ? to
                                : row_near(drawing, to, boxes_where(drawing, node).row);
    }
    to = row_beside(drawing, node, way == BOXES_DOWN ? 1 : -1);
    if (to != BOXES_NONE)
        return to;
    to = along(drawing, drawing->box_of[node], way == BOXES_DOWN);
    if (to == BOXES_NONE)
        return to;
    box = &drawing->boxes[to];
    return drawing->rows[box->rows + (way == BOXES_DOWN ? 0 : box->n_rows - 1)];
}

/* ---- the mouse, and names ---- */

uint32_t boxes_at(const struct boxes_drawing *drawing, uint32_t column, uint32_t row)
{
    uint32_t box;

    if (column >= drawing->width || row >= drawing->height)
        return BOXES_NONE;
    box = drawing->cells[(size_t)row * drawing->width + column].box;
    if (box == 0 || drawing->boxes[box].n_rows == 0)
        return BOXES_NONE;
    return row_near(drawing, box, row);
}

uint32_t boxes_find(const struct boxes_drawing *drawing, uint32_t call, uint32_t place)
{
    const struct boxes_graph *graph = drawing->graph;
    uint32_t there = BOXES_NONE;

    for (uint32_t i = 1; i < graph->n_nodes; i++) {
        if (graph->nodes[i].call == call && call != RUN_NONE)
            there = i;
        else if (there == BOXES_NONE && place != NO_PLACE &&
                 graph->nodes[i].place == place)
            there = i;
    }
    while (there != BOXES_NONE && there > 0 && !is_shown(drawing, there)) {
        uint32_t box = drawing->box_of[there];

        /* An open group: use its first row; a node inside a closed one: use the
         * group. */
        if (box == BOXES_NONE)
            there = graph->nodes[there].parent;
        else
            there = there + 1 < graph->nodes[there].end ? there + 1 : 0;
    }
    return there == 0 ? BOXES_NONE : there;
}
