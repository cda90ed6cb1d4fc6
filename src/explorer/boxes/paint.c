/* paint.c - frames, lines and texts of a placed drawing, in a grid of cells. */
#include <stdlib.h>

#include "explorer/boxes/boxes_in.h"
#include "text/width.h"

#define CELLS_MOST (1u << 20) /* of a drawing */

struct painting {
    struct boxes_drawing *drawing;
    struct arena *arena;
    enum boxes_detail detail;
    uint32_t n_texts, texts_room;
};

static struct boxes_cell *cell_at(struct painting *p, int32_t x, int32_t y)
{
    struct boxes_drawing *drawing = p->drawing;

    if (x < 0 || y < 0 || (uint32_t)x >= drawing->width ||
        (uint32_t)y >= drawing->height)
        return NULL;
    return &drawing->cells[(size_t)y * drawing->width + (uint32_t)x];
}

/* ---- boxes ---- */

static uint8_t border_at(const struct plan_box *box, int32_t x, int32_t y)
{
    bool left = x == box->x, right = x == box->x + box->w - 1;
    bool top = y == box->y, bottom = y == box->y + box->h - 1;
    uint8_t sides = 0;

    if (top || bottom)
        sides |= (uint8_t)((left ? 0 : SIDE_LEFT) | (right ? 0 : SIDE_RIGHT));
    if (left || right)
        sides |= (uint8_t)((top ? 0 : SIDE_UP) | (bottom ? 0 : SIDE_DOWN));
    return sides;
}

static void paint_box(struct painting *p, uint32_t index)
{
    const struct plan_box *box = &p->drawing->plan.boxes[index];
    bool bare = p->drawing->boxes[index].bare;

    for (int32_t y = box->y; y < box->y + box->h; y++)
        for (int32_t x = box->x; x < box->x + box->w; x++) {
            struct boxes_cell *cell = cell_at(p, x, y);

            if (!cell)
                continue;
            cell->box = index;
            if (!bare)
                cell->border = border_at(box, x, y);
        }
}

/* ---- lines ---- */

static uint8_t side_towards(struct plan_point from, struct plan_point to)
{
    if (from.y != to.y)
        return from.y < to.y ? SIDE_DOWN : SIDE_UP;
    return from.x < to.x ? SIDE_RIGHT : SIDE_LEFT;
}

static uint8_t opposite(uint8_t side)
{
    return side == SIDE_UP     ? SIDE_DOWN
           : side == SIDE_DOWN ? SIDE_UP
           : side == SIDE_LEFT ? SIDE_RIGHT
                               : SIDE_LEFT;
}

static struct plan_point step_to(struct plan_point at, uint8_t side)
{
    at.x += (side == SIDE_RIGHT) - (side == SIDE_LEFT);
    at.y += (side == SIDE_DOWN) - (side == SIDE_UP);
    return at;
}

/* A line while it is drawn: from cell to cell, into its target box. */
struct boxes_pen {
    struct painting *painting;
    struct plan_point at;
    uint32_t to; /* box */
    bool not_finite, done;
};

static void mark(struct boxes_pen *pen, uint8_t sides)
{
    struct boxes_cell *cell = cell_at(pen->painting, pen->at.x, pen->at.y);

    if (!cell)
        return;
    cell->lines |= sides;
    cell->not_finite |= pen->not_finite;
}

/* The next cell belongs to the target: the arrow is in its border if it is entered from
 * above, else before it. */
static void arrive(struct boxes_pen *pen, uint8_t side)
{
    const struct boxes_box *box = &pen->painting->drawing->boxes[pen->to];
    bool flat = side == SIDE_LEFT || side == SIDE_RIGHT;
    struct plan_point at = flat ? pen->at : step_to(pen->at, side);
    struct boxes_cell *cell = cell_at(pen->painting, at.x, at.y);

    mark(pen, side);
    if (cell && (flat || !box->bare))
        cell->arrow = side;
    pen->done = true;
}

static bool is_in_target(const struct boxes_pen *pen, struct plan_point at)
{
    const struct plan_box *box = &pen->painting->drawing->plan.boxes[pen->to];

    return at.x >= box->x && at.x < box->x + box->w && at.y >= box->y &&
           at.y < box->y + box->h;
}

static void draw_to(struct boxes_pen *pen, struct plan_point to)
{
    uint8_t side = side_towards(pen->at, to);

    while (!pen->done && (pen->at.x != to.x || pen->at.y != to.y)) {
        struct plan_point next = step_to(pen->at, side);

        if (is_in_target(pen, next)) {
            arrive(pen, side);
            return;
        }
        mark(pen, side);
        pen->at = next;
        mark(pen, opposite(side));
    }
}

/* A line that ends beside the right border stops one cell before it. */
static void paint_route(struct painting *p, const struct plan_route *route,
                        bool not_finite)
{
    struct boxes_pen pen = {.painting = p,
                            .at = route->points[0],
                            .to = route->to,
                            .not_finite = not_finite};
    const struct boxes_box *from = &p->drawing->boxes[route->from];
    struct boxes_cell *border = cell_at(p, pen.at.x, pen.at.y - 1);

    if (border && !from->bare)
        border->lines |= SIDE_DOWN;
    mark(&pen, SIDE_UP);
    for (uint32_t i = 1; i < route->n; i++)
        draw_to(&pen, route->points[i]);
    if (!pen.done && is_in_target(&pen, step_to(pen.at, SIDE_LEFT)))
        arrive(&pen, SIDE_LEFT);
}

static int paint_lines(struct painting *p, struct err *err)
{
    const struct plan *plan = &p->drawing->plan;

    for (uint32_t e = 0; e < plan->n_ends; e++) {
        struct plan_route route = {0};
        uint32_t value;

        if (!plan_arrives(plan, e))
            continue;
        if (plan_route(plan, e, p->arena, &route, err) < 0)
            return -1;
        if (route.from == PLAN_NONE || route.n < 2)
            continue;
        value = p->drawing->value_of[plan->ends[e].net];
        paint_route(p, &route, p->drawing->graph->values[value].not_finite);
    }
    return 0;
}

/* ---- texts ---- */

static void put_text(struct painting *p, struct boxes_text text)
{
    struct boxes_drawing *drawing = p->drawing;

    if (text.text.len == 0 || text.row >= drawing->height)
        return;
    if (arena_room(p->arena, &drawing->texts, p->n_texts, &p->texts_room,
                   sizeof *drawing->texts) == 0)
        drawing->texts[p->n_texts++] = text;
}

static enum colour name_colour(const struct boxes_node *node)
{
    if (node->flags & (DIAGRAM_MADE | DIAGRAM_RAISED))
        return COLOUR_ALARM;
    return node->kind == DIAGRAM_VIEW ? COLOUR_DIM : COLOUR_NONE;
}

static void put_row(struct painting *p, uint32_t index, uint32_t r)
{
    const struct boxes_drawing *drawing = p->drawing;
    const struct boxes_box *box = &drawing->boxes[index];
    const struct plan_box *plan = &drawing->plan.boxes[index];
    uint32_t at = drawing->rows[box->rows + r], name, cells;
    const struct boxes_node *node = &drawing->graph->nodes[at];
    bool module = node->kind == DIAGRAM_MODULE || node->kind == DIAGRAM_REPEAT;
    struct boxes_row row;
    struct boxes_text text = {.node = at};

    boxes_row(drawing, index, r, p->detail, p->arena, &row);
    name = cells = boxes_name_cells(box, &row);
    if (row.detail.len > 0)
        cells += 2 + (uint32_t)text_width(row.detail);
    text.row = (uint32_t)(plan->y + (plan->h - (int32_t)box->n_rows) / 2) + r;
    text.column = (uint32_t)plan->x + 2;
    if (box->bare || node->flags & DIAGRAM_SIGN)
        text.column = (uint32_t)(plan->x + (plan->w - (int32_t)cells) / 2);
    text.text = row.name;
    text.colour = (uint8_t)name_colour(node);
    put_text(p, text);
    text.column += name + 2;
    text.text = row.detail;
    text.colour = module ? COLOUR_TYPE : COLOUR_DIM;
    text.node = BOXES_NONE;
    put_text(p, text);
    text.column = (uint32_t)(plan->x + plan->w - 2) - (uint32_t)text_width(row.shape);
    text.text = row.shape;
    text.colour = COLOUR_DIM;
    put_text(p, text);
}

/* The part of the upper border that no line crosses: the first that is long enough,
 * else the longest. Returns its length. */
static int32_t find_gap(struct painting *p, const struct plan_box *box, int32_t want,
                        int32_t *ret_x)
{
    int32_t best = 0, begin = box->x + 2, end = box->x + box->w - 2;

    for (int32_t x = begin; x <= end; x++) {
        const struct boxes_cell *cell = cell_at(p, x, box->y);

        if (cell && x < end && !cell->lines && !cell->arrow)
            continue;
        if (x - begin > best && best < want) {
            best = x - begin;
            *ret_x = begin;
        }
        begin = x + 1;
    }
    return best;
}

static void put_title(struct painting *p, uint32_t index)
{
    const struct plan_box *box = &p->drawing->plan.boxes[index];
    const struct boxes_box *of = &p->drawing->boxes[index];
    int32_t want = (int32_t)text_width(of->title) + 2, x = 0, gap;
    int32_t full = (int32_t)text_width(of->full_title) + 2;
    struct buf cut = BUF_INIT;

    gap = find_gap(p, box, want, &x);
    if (gap < 4)
        return;
    buf_char(&cut, ' ');
    if (gap >= full)
        buf_str(&cut, of->full_title);
    else
        text_cut_middle(&cut, of->title, (size_t)gap - 2, "…");
    buf_char(&cut, ' ');
    put_text(p, (struct boxes_text){.row = (uint32_t)box->y,
                                    .column = (uint32_t)x,
                                    .text = arena_str(p->arena, buf_span(&cut)),
                                    .node = BOXES_NONE});
    buf_release(&cut);
}

static void put_texts(struct painting *p)
{
    const struct boxes_drawing *drawing = p->drawing;

    for (uint32_t i = 1; i < drawing->plan.n_boxes; i++) {
        if (drawing->boxes[i].title.len > 0)
            put_title(p, i);
        for (uint32_t r = 0; r < drawing->boxes[i].n_rows; r++)
            put_row(p, i, r);
    }
    for (uint32_t n = 0; n < drawing->plan.n_nets; n++) {
        const struct plan_net *net = &drawing->plan.nets[n];
        bool bad = drawing->graph->values[drawing->value_of[n]].not_finite;

        put_text(p, (struct boxes_text){.row = (uint32_t)net->label_y,
                                        .column = (uint32_t)net->label_x + 1,
                                        .text = drawing->labels[n],
                                        .colour = bad ? COLOUR_ALARM : COLOUR_DIM,
                                        .node = BOXES_NONE});
    }
}

static int by_row(const void *a, const void *b)
{
    const struct boxes_text *x = a, *y = b;

    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column;
}

static int index_texts(struct painting *p)
{
    struct boxes_drawing *drawing = p->drawing;

    drawing->texts_at =
        arena_array(p->arena, (size_t)drawing->height + 2, sizeof(uint32_t));
    if (!drawing->texts_at || p->arena->spent)
        return -1;
    if (p->n_texts > 0)
        qsort(drawing->texts, p->n_texts, sizeof *drawing->texts, by_row);
    for (uint32_t i = 0; i < p->n_texts; i++)
        drawing->texts_at[drawing->texts[i].row + 1]++;
    for (uint32_t r = 0; r < drawing->height; r++)
        drawing->texts_at[r + 1] += drawing->texts_at[r];
    return 0;
}

int boxes_paint(struct boxes_drawing *drawing, enum boxes_detail detail,
                struct arena *arena, struct err *err)
{
    struct painting p = {.drawing = drawing, .arena = arena, .detail = detail};
    uint64_t n;

    drawing->width = (uint32_t)drawing->plan.width;
    drawing->height = (uint32_t)drawing->plan.height;
    n = (uint64_t)drawing->width * drawing->height;
    if (n > CELLS_MOST)
        return err_set(err, ERR_LIMIT,
                       "the drawing has %u columns and %u rows, too many to show here; "
                       "v shows rows, torchoscope graph draws it on a page",
                       drawing->width, drawing->height);
    drawing->cells = arena_array(arena, (size_t)n + 1, sizeof *drawing->cells);
    if (!drawing->cells)
        return arena_err(arena, "the drawing", err);
    for (uint32_t i = 1; i < drawing->plan.n_boxes; i++)
        paint_box(&p, i);
    if (paint_lines(&p, err) < 0)
        return -1;
    put_texts(&p);
    return index_texts(&p) < 0 ? arena_err(arena, "the drawing", err) : 0;
}
