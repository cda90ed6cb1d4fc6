/* fit.c - the texts of boxes, and the sizes that result. */
#include "explorer/boxes/boxes_in.h"
#include "text/glyph.h"
#include "text/width.h"

#define TITLE_MOST 28 /* cells of a group's name, and of its class */
#define NAME_ALIGN 16 /* longer names do not align the next column */
#define LABEL_MOST 40
#define FEW        20 /* boxes: with more, unchanged shapes have no label */

const struct plan_style boxes_style = {
    .channel = 1,
    .label_gap = 1,
    .label_space = 1,
    .track_first = 0,
    .track = 1,
    .track_last = 1,
    .track_out = 1,
    .column = 3,
    .lane_first = 3,
    .lane = 2,
    .slot = 1,
    .side = 1,
    .corner = 2,
    .frame_top = 1,
    .frame_left = 2,
    .frame_right = 2,
    .frame_bottom = 1,
    .margin = 0,
    .round_to = 1,
};

/* Cells for the name; for class and arguments. */
static const uint32_t name_cells[DETAIL_COUNT] = {28, 28, 24, 22, 16};
static const uint32_t detail_cells[DETAIL_COUNT] = {44, 28, 24, 20, 0};

static struct str keep(struct buf *text, struct arena *arena)
{
    struct str kept = STR("");

    if (text->bad)
        arena->spent = true;
    else if (text->len > 0)
        kept = arena_str(arena, buf_span(text));
    buf_release(text);
    return kept;
}

static struct str cut(struct str text, size_t cells, struct arena *arena)
{
    struct buf to = BUF_INIT;

    text_cut_middle(&to, text, cells, "…");
    return keep(&to, arena);
}

static bool is_end(const struct boxes_node *node)
{
    return diagram_is_tensor(node->kind);
}

/* ---- rows ---- */

/* "relu 2/3"; "attn ▸" if Enter shows more. */
static struct str name_of(const struct boxes_node *node, enum boxes_detail detail,
                          struct arena *arena)
{
    bool module = node->kind == DIAGRAM_MODULE || node->kind == DIAGRAM_REPEAT;
    struct buf to = BUF_INIT;

    text_cut_middle(&to, node->name, name_cells[detail], "…");
    if (node->calls.len > 0)
        buf_printf(&to, " %.*s", STR_ARG(node->calls));
    if (module && node->inside)
        buf_printf(&to, " %s", glyph(GLYPH_FOLDED, false));
    return keep(&to, arena);
}

/* Whole words, as many as fit: the class first. Inputs always show their shape, which
 * is their first word, and so do views that are not a row among others. */
static struct str detail_of(const struct boxes_graph *graph,
                            const struct boxes_node *node, bool alone,
                            enum boxes_detail detail, struct arena *arena)
{
    bool shape = is_end(node) ||
                 (node->kind == DIAGRAM_VIEW && (alone || detail < DETAIL_NAMES));
    size_t room = shape ? LABEL_MOST : detail_cells[detail], used = 0;
    uint32_t most =
        detail == DETAIL_CLASS || (shape && detail != DETAIL_ALL) ? 1 : node->n_words;
    struct buf to = BUF_INIT;

    for (uint32_t k = 0; k < node->n_words && k < most; k++) {
        const struct boxes_word *word = &graph->words[node->words + k];
        size_t cells = text_width(word->text);

        if (k > 0)
            cells += text_width(str_of(word->before));
        if (k == 0 && cells > room && room > 0) {
            text_cut_middle(&to, word->text, room, "…");
            break;
        }
        if (used + cells > room)
            break;
        buf_text(&to, k > 0 ? word->before : "");
        buf_str(&to, word->text);
        used += cells;
    }
    return keep(&to, arena);
}

/* The output shape of a row, if it changed. */
static struct str passed_on(const struct boxes_graph *graph, uint32_t node,
                            enum boxes_detail detail)
{
    if (detail > DETAIL_SOME || graph->nodes[node].kind == DIAGRAM_VIEW)
        return STR("");
    for (uint32_t v = 0; v < graph->n_values; v++)
        if (graph->values[v].source == node && graph->values[v].changed)
            return graph->values[v].label;
    return STR("");
}

void boxes_row(const struct boxes_drawing *drawing, uint32_t index, uint32_t row,
               enum boxes_detail detail, struct arena *arena, struct boxes_row *ret_row)
{
    const struct boxes_graph *graph = drawing->graph;
    const struct boxes_box *box = &drawing->boxes[index];
    uint32_t at = drawing->rows[box->rows + row];
    const struct boxes_node *node = &graph->nodes[at];

    ret_row->name = name_of(node, detail, arena);
    ret_row->detail = node->flags & DIAGRAM_SIGN
                          ? STR("")
                          : detail_of(graph, node, box->n_rows == 1, detail, arena);
    ret_row->shape = row + 1 < box->n_rows ? passed_on(graph, at, detail) : STR("");
}

uint32_t boxes_name_cells(const struct boxes_box *box, const struct boxes_row *row)
{
    uint32_t cells = (uint32_t)text_width(row->name);

    return cells > box->name_cells ? cells : box->name_cells;
}

static uint32_t row_cells(const struct boxes_box *box, const struct boxes_row *row)
{
    uint32_t cells = boxes_name_cells(box, row);

    if (row->detail.len > 0)
        cells += 2 + (uint32_t)text_width(row->detail);
    if (row->shape.len > 0)
        cells += 2 + (uint32_t)text_width(row->shape);
    return cells;
}

/* ---- boxes ---- */

/* "downsample"; with the class if that is enabled. */
static struct str title_of(const struct boxes_drawing *drawing, uint32_t group,
                           bool with_class, struct arena *arena)
{
    const struct boxes_node *node = &drawing->graph->nodes[group];
    struct buf to = BUF_INIT;

    text_cut_middle(&to, node->name, TITLE_MOST, "…");
    if (node->calls.len > 0)
        buf_printf(&to, " %.*s", STR_ARG(node->calls));
    if (node->n_words > 0 && with_class) {
        buf_text(&to, "  ");
        text_cut_middle(&to, drawing->graph->words[node->words].text, TITLE_MOST, "…");
    }
    return keep(&to, arena);
}

/* A line enters near the middle of the upper border; the title is left of it. */
static int32_t title_width(const struct boxes_box *box)
{
    return box->title.len > 0 ? 2 * (int32_t)text_width(box->title) + 8 : 0;
}

/* How far lines are from the axis of a box, at its top and bottom; at its sides: from
 * its middle. */
struct boxes_reach {
    int32_t ends, side;
};

static int32_t farther(int32_t most, int32_t slot)
{
    slot = slot < 0 ? -slot : slot;
    return slot > most ? slot : most;
}

static int find_reach(const struct plan *plan, struct arena *arena,
                      struct boxes_reach **ret_reach)
{
    struct boxes_reach *reach = arena_array(arena, plan->n_boxes, sizeof *reach);

    if (!reach)
        return -1;
    for (uint32_t i = 0; i < plan->n_nets; i++)
        reach[plan->nets[i].source].ends =
            farther(reach[plan->nets[i].source].ends, plan->nets[i].slot);
    for (uint32_t i = 0; i < plan->n_ends; i++) {
        struct boxes_reach *at = &reach[plan->ends[i].target];
        uint8_t way = plan->ends[i].way;

        if (way == PLAN_ALONG_SIDE || way == PLAN_LANE_SIDE)
            at->side = farther(at->side, plan->ends[i].slot);
        else
            at->ends = farther(at->ends, plan->ends[i].slot);
    }
    *ret_reach = reach;
    return 0;
}

/* The widest row of a box; names are aligned first. */
static uint32_t rows_width(struct boxes_drawing *drawing, uint32_t index,
                           enum boxes_detail detail, struct arena *arena)
{
    struct boxes_box *box = &drawing->boxes[index];
    uint32_t most = 0, cells;
    struct boxes_row row;

    box->name_cells = 0;
    for (uint32_t r = 0; r < box->n_rows; r++) {
        boxes_row(drawing, index, r, detail, arena, &row);
        cells = (uint32_t)text_width(row.name);
        if (cells <= NAME_ALIGN && cells > box->name_cells)
            box->name_cells = cells;
    }
    for (uint32_t r = 0; r < box->n_rows; r++) {
        boxes_row(drawing, index, r, detail, arena, &row);
        cells = row_cells(box, &row);
        most = cells > most ? cells : most;
    }
    return most;
}

/* A box without border needs one if lines meet it beside its text. */
static void fit_box(struct boxes_drawing *drawing, uint32_t index,
                    enum boxes_detail detail, const struct boxes_reach *reach,
                    struct arena *arena)
{
    struct boxes_box *box = &drawing->boxes[index];
    struct plan_box *plan = &drawing->plan.boxes[index];
    const struct boxes_node *node = &drawing->graph->nodes[drawing->rows[box->rows]];
    bool sign = node->flags & DIAGRAM_SIGN && box->n_rows == 1;
    uint32_t cells = rows_width(drawing, index, detail, arena);

    if (box->bare && (reach->side > 0 || reach->ends > (int32_t)(cells + 1) / 2))
        box->bare = false;
    if (box->bare) {
        plan->width = (int32_t)cells + 2;
        plan->height = 1;
        return;
    }
    plan->width = (int32_t)cells + (sign ? 2 : 4);
    if (plan->width < title_width(box))
        plan->width = title_width(box);
    plan->height = (int32_t)box->n_rows + 2;
    if (plan->height < 2 * reach->side + 3)
        plan->height = 2 * reach->side + 3;
}

/* ---- labels ---- */

/* Does the box itself show its output shape? */
static bool says_shape(const struct boxes_drawing *drawing, uint32_t index)
{
    const struct boxes_box *box = &drawing->boxes[index];
    const struct boxes_node *node;

    if (box->n_rows == 0)
        return false;
    node = &drawing->graph->nodes[drawing->rows[box->rows + box->n_rows - 1]];
    return is_end(node) || (node->kind == DIAGRAM_VIEW && node->n_words > 0);
}

static bool is_output(const struct boxes_drawing *drawing, uint32_t index)
{
    const struct boxes_box *box = &drawing->boxes[index];

    return box->n_rows > 0 &&
           drawing->graph->nodes[drawing->rows[box->rows]].kind == DIAGRAM_OUTPUT;
}

static bool has_label(const struct boxes_drawing *drawing, uint32_t n,
                      enum boxes_detail detail)
{
    const struct plan_net *net = &drawing->plan.nets[n];
    const struct boxes_value *value = &drawing->graph->values[drawing->value_of[n]];
    bool needed = false;

    if (value->label.len == 0 || net->source == net->group ||
        says_shape(drawing, net->source))
        return false;
    for (uint32_t e = net->ends; e < net->ends + net->n_ends; e++) {
        uint32_t target = drawing->plan.ends[e].target;

        needed |= target != net->group && !is_output(drawing, target);
    }
    return needed && (value->changed || value->n_tensors > 1 ||
                      (drawing->plan.n_boxes <= FEW && detail < DETAIL_NAMES));
}

static void fit_label(struct boxes_drawing *drawing, uint32_t n,
                      enum boxes_detail detail, struct arena *arena)
{
    struct plan_net *net = &drawing->plan.nets[n];
    const struct boxes_value *value = &drawing->graph->values[drawing->value_of[n]];

    drawing->labels[n] = STR("");
    net->label_width = net->label_height = 0;
    if (!has_label(drawing, n, detail))
        return;
    drawing->labels[n] = cut(value->label, LABEL_MOST, arena);
    /* A blank on either side. */
    net->label_width = (int32_t)text_width(drawing->labels[n]) + 2;
    net->label_height = 1;
}

int boxes_fit(struct boxes_drawing *drawing, enum boxes_detail detail,
              struct arena *arena, struct err *err)
{
    struct boxes_reach *reach;

    if (find_reach(&drawing->plan, arena, &reach) < 0)
        return arena_err(arena, "the drawing", err);
    for (uint32_t i = 1; i < drawing->plan.n_boxes; i++) {
        struct boxes_box *box = &drawing->boxes[i];

        box->title = box->full_title = STR("");
        if (box->group != BOXES_NONE) {
            box->title = title_of(drawing, box->group, false, arena);
            box->full_title = title_of(drawing, box->group, true, arena);
        }
        drawing->plan.boxes[i].least_width = title_width(box);
        drawing->plan.boxes[i].least_height = 3;
        if (!box->frame)
            fit_box(drawing, i, detail, &reach[i], arena);
    }
    for (uint32_t i = 0; i < drawing->plan.n_nets; i++)
        fit_label(drawing, i, detail, arena);
    return arena->spent ? arena_err(arena, "the drawing", err) : 0;
}

/* ---- all of it ---- */

static int arrange(struct boxes_drawing *drawing, enum boxes_detail detail,
                   struct arena *arena, struct err *err)
{
    if (boxes_fit(drawing, detail, arena, err) < 0)
        return -1;
    return plan_place(&drawing->plan, &boxes_style, arena, err);
}

/* Makes the boxes and their order; at most `most` boxes if groups can be closed. */
static int order(struct boxes_drawing *drawing, uint32_t most, struct arena *arena,
                 struct err *err)
{
    struct boxes_ends *ends;
    uint32_t n;

    if (boxes_fold(drawing, most, arena, &ends, &n, err) < 0)
        return -1;
    if (drawing->plan.n_boxes < 2)
        return err_set(err, ERR_NOT_FOUND, "empty: nothing to draw");
    if (boxes_nets(drawing, ends, n, arena, err) < 0)
        return -1;
    return plan_order(&drawing->plan, arena, err);
}

/* Tries levels of detail from `detail` to `last`, until it fits; returns the last one
 * tried, or -1. */
static int try_details(struct boxes_drawing *drawing, int detail, int last,
                       uint32_t width, struct arena *arena, struct err *err)
{
    for (;; detail++) {
        if (arrange(drawing, (enum boxes_detail)detail, arena, err) < 0)
            return -1;
        if (detail == last || drawing->plan.width <= (int32_t)width)
            return detail;
    }
}

/* If the drawing does not fit, reduce detail down to the classes; then close groups;
 * then show only names. If the user has to scroll sideways anyway, classes are
 * shown. */
int boxes_draw(struct boxes_drawing *ret_drawing, const struct boxes_graph *graph,
               const struct boxes_wanted *wanted, struct arena *arena, struct err *err)
{
    struct boxes_drawing drawing = {.graph = graph};
    uint32_t most = wanted->most, n = 0;
    int detail = DETAIL_ALL;

    do {
        uint32_t before = n;

        if (order(&drawing, most, arena, err) < 0)
            return -1;
        n = drawing.plan.n_boxes;
        if (n != before)
            detail = try_details(&drawing, DETAIL_ALL, DETAIL_CLASS, wanted->width,
                                 arena, err);
        else
            detail = try_details(&drawing, DETAIL_CLASS, DETAIL_CLASS, wanted->width,
                                 arena, err);
        most = most * 2 / 3;
    } while (detail >= 0 && most > 0 && drawing.plan.width > (int32_t)wanted->width);
    if (detail >= 0 && drawing.plan.width > (int32_t)wanted->width) {
        detail = try_details(&drawing, DETAIL_NAMES, DETAIL_NAMES, wanted->width, arena,
                             err);
        if (detail >= 0 && drawing.plan.width > (int32_t)wanted->width)
            detail = try_details(&drawing, DETAIL_CLASS, DETAIL_CLASS, wanted->width,
                                 arena, err);
    }
    if (detail < 0 || boxes_paint(&drawing, (enum boxes_detail)detail, arena, err) < 0)
        return -1;
    *ret_drawing = drawing;
    return 0;
}
