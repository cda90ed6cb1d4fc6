#include "facts/flow_text_in.h"

#include "facts/run_text.h"
#include "rows/op_words.h"
#include "text/text.h"

#define LEAST_LABEL 12 /* cells; with less room, times and shapes are dropped */
#define MOST_SHAPE  24
#define MOST_VIEWS  4 /* of a chain, named individually */

/* --- Names */

/* The name of a place relative to the module of the flow: "attn.c_attn". */
static void add_name(struct buf *to, const struct show *show, uint32_t block,
                     uint32_t place)
{
    struct buf path = BUF_INIT, above = BUF_INIT;
    struct str name;

    place_path(show->model, place, &path);
    place_path(show->model, block, &above);
    name = buf_span(&path);
    if (block > 0 && above.len > 0 && str_starts(name, buf_span(&above)) &&
        name.len > above.len + 1)
        name = str_from(name, above.len + 1);
    if (place == 0)
        run_place(to, show, 0);
    else
        escape_terminal(to, name);
    buf_release(&path);
    buf_release(&above);
}

static uint32_t block_of(const struct flow *flow)
{
    return flow->run->calls[flow->call].place;
}

const struct run_op *flow_row_op(const struct flow *flow, const struct flow_row *row)
{
    return &flow->run->ops->ops[flow->ops[row->ops + row->n_ops - 1]];
}

/* "view, transpose, … 3 more" */
static void add_op_names(struct buf *to, const struct flow *flow,
                         const struct flow_row *row)
{
    uint32_t named = row->n_ops > MOST_VIEWS ? MOST_VIEWS - 1 : row->n_ops;

    for (uint32_t i = 0; i < named; i++) {
        buf_text(to, i > 0 ? ", " : "");
        op_title(to, flow->run, &flow->run->ops->ops[flow->ops[row->ops + i]]);
    }
    if (named < row->n_ops) {
        buf_text(to, ", … ");
        text_commas(to, row->n_ops - named);
        buf_text(to, " more");
    }
}

void flow_row_name(struct buf *to, const struct show *show, const struct flow *flow,
                   uint32_t row)
{
    const struct flow_row *r = &flow->rows[row];

    if (r->kind == FLOW_CALL) {
        add_name(to, show, block_of(flow), flow->run->calls[r->call].place);
    } else if (r->kind == FLOW_INPUT) {
        struct str path = run_string(flow->run, flow->run->ios[r->io].path);

        escape_terminal(to, path.len > 0 ? path : STR("input"));
    } else if (r->kind == FLOW_OP) {
        add_op_names(to, flow, r);
    } else if (r->kind == FLOW_MORE) {
        buf_text(to, "… ");
        text_commas(to, r->n_ops);
        buf_text(to, " more operations");
    } else {
        buf_text(to, "the result");
    }
}

void flow_op_place(struct buf *to, const struct show *show, const struct run_op *op)
{
    if (op->place == NO_PLACE)
        buf_text(to, "outside the model");
    else
        run_place(to, show, op->place);
}

void flow_next_name(struct buf *to, const struct show *show, const struct flow *flow)
{
    buf_text(to, "→ ");
    switch (flow->next_kind) {
    case NEXT_CALL:
        run_place(to, show, flow->run->calls[flow->next].place);
        break;
    case NEXT_RESULT:
        buf_text(to, "result of ");
        run_place(to, show, flow->run->calls[flow->next].place);
        break;
    case NEXT_OP:
        op_title(to, flow->run, &flow->run->ops->ops[flow->next_op]);
        buf_text(to, " in ");
        run_place(to, show, flow->run->calls[flow->next].place);
        break;
    case NEXT_CALLER:
        buf_text(to, "result");
        break;
    case NEXT_UNKNOWN:
        buf_text(to, flow->has_ops ? "not used" : "taken by no module call");
        break;
    }
}

/* --- Cells */

/* Notes that the rails cannot show: "after an operation" on the value of a row, "from
 * encoder.norm" outside, "producer not recorded". */
static void add_note(struct buf *to, const struct show *show, const struct flow *flow,
                     const struct flow_row *row)
{
    bool known = false, changed = false, unknown = false;
    const struct flow_edge *outside = NULL;

    for (uint32_t i = row->from; i < row->from + row->n_from; i++) {
        const struct flow_edge *edge = &flow->from[i];

        known |= edge->row != NO_FLOW;
        changed |= edge->source == FROM_STORAGE;
        unknown |= edge->source == FROM_OPERATION;
        if (edge->source == FROM_OUTSIDE && !outside)
            outside = edge;
    }
    if (changed)
        buf_text(to, flow->missing_ns > 0 ? "after an operation or a merged call"
                                          : "after an operation");
    if (outside) {
        buf_text(to, to->len > 0 ? ", " : "");
        buf_text(to, known ? "and from " : "from ");
        if (outside->op != RUN_NONE)
            flow_op_place(to, show, &flow->run->ops->ops[outside->op]);
        else
            run_place(to, show, flow->run->calls[outside->call].place);
        known = true;
    }
    if (unknown) {
        buf_text(to, to->len > 0 ? ", " : "");
        buf_text(to, known ? "and a producer not recorded" : "producer not recorded");
    }
}

void flow_call_shapes(struct buf *to, const struct run *run, uint32_t call,
                      enum run_io_kind kind)
{
    const struct run_call *c = &run->calls[call];
    uint32_t n = 0, first = RUN_NONE;
    bool same = true;

    for (uint32_t i = c->ios; i < c->ios + c->n_ios; i++) {
        const struct run_io *io = &run->ios[i];

        if (io->kind != kind || io->value == RUN_NONE)
            continue;
        if (n++ == 0)
            first = io->value;
        same &= run_same_shape(run, first, io->value);
    }
    if (n > 1 && same)
        buf_printf(to, "%u × ", n);
    if (n > 0)
        run_shape(to, run, first);
    if (n > 1 && !same)
        buf_printf(to, " +%u", n - 1);
}

static struct str keep(struct arena *arena, struct buf *text)
{
    struct str kept =
        text->len > 0 ? arena_str(arena, buf_span(text)) : (struct str){NULL, 0};

    buf_clear(text);
    return kept;
}

static bool results_finite(const struct run *run, uint32_t call)
{
    const struct run_call *c = &run->calls[call];

    for (uint32_t i = c->ios; i < c->ios + c->n_ios; i++)
        if (run->ios[i].kind == RUN_OUT && !run_finite(run, run->ios[i].value))
            return false;
    return true;
}

static void call_cells(struct flow_cells *cells, const struct show *show,
                       const struct flow *flow, const struct flow_row *row,
                       struct arena *arena, struct buf *text)
{
    const struct run_call *call = &flow->run->calls[row->call];

    cells->alarm = call->flags & RUN_RAISED || !results_finite(flow->run, row->call);
    escape_terminal(text, class_short(place_class(show->model, call->place)));
    cells->type = keep(arena, text);
    if (call->flags & RUN_RAISED)
        buf_text(text, call->flags & RUN_ABORTED ? "did not come back" : "raised");
    else
        add_note(text, show, flow, row);
    cells->note = keep(arena, text);
    flow_call_shapes(text, flow->run, row->call, RUN_OUT);
    cells->shape = keep(arena, text);
    run_time(text, run_inclusive(call));
    cells->time = keep(arena, text);
}

/* The line, then what the rails cannot show. */
static void op_note(struct buf *to, const struct show *show, const struct flow *flow,
                    const struct flow_row *row, const struct run_op *op)
{
    struct buf note = BUF_INIT;

    if (op->line)
        escape_terminal(to, run_string(flow->run, op->line));
    if (op->flags & OP_RAISED)
        buf_text(&note, "raised");
    else if (flow->run->ops->kinds[op->kind].flags & OP_REGION)
        buf_text(&note, "a region: its inside was not recorded");
    else
        add_note(&note, show, flow, row);
    if (note.len > 0) {
        buf_text(to, to->len > 0 ? "  " : "");
        buf_str(to, buf_span(&note));
    }
    buf_release(&note);
}

/* Chains of views and operations without a row of their own add up their times. */
static void op_cells(struct flow_cells *cells, const struct show *show,
                     const struct flow *flow, const struct flow_row *row,
                     struct arena *arena, struct buf *text)
{
    const struct run_op *op = flow_row_op(flow, row);
    uint64_t ns = 0, nan, inf;

    for (uint32_t i = 0; i < row->n_ops; i++)
        ns += flow->run->ops->ops[flow->ops[row->ops + i]].ns;
    run_time(text, ns);
    cells->time = keep(arena, text);
    cells->dim = row->kind == FLOW_MORE || op_is_view(flow->run, op);
    if (row->kind == FLOW_MORE)
        return;
    op_not_finite(flow->run, op, &nan, &inf);
    cells->alarm = op->flags & OP_RAISED || nan > 0 || inf > 0;
    op_note(text, show, flow, row, op);
    cells->line = op->line && text->len == run_string(flow->run, op->line).len;
    if (nan > 0 || inf > 0) {
        buf_text(text, "  ");
        run_not_finite(text, nan, inf);
        cells->line = false;
    }
    cells->note = keep(arena, text);
    op_shapes(text, flow->run, op);
    cells->shape = keep(arena, text);
}

static void row_cells(struct flow_cells *cells, const struct show *show,
                      const struct flow *flow, uint32_t r, struct arena *arena)
{
    const struct flow_row *row = &flow->rows[r];
    struct buf text = BUF_INIT;

    flow_rails(&text, flow, r);
    cells->rails = keep(arena, &text);
    if (row->kind == FLOW_RESULT)
        flow_next_name(&text, show, flow);
    else
        flow_row_name(&text, show, flow, r);
    cells->name = keep(arena, &text);
    if (row->kind == FLOW_CALL) {
        call_cells(cells, show, flow, row, arena, &text);
    } else if (row->kind == FLOW_OP || row->kind == FLOW_MORE) {
        op_cells(cells, show, flow, row, arena, &text);
    } else if (row->kind == FLOW_INPUT) {
        run_shape(&text, flow->run, flow->run->ios[row->io].value);
        cells->shape = keep(arena, &text);
    } else {
        add_note(&text, show, flow, row);
        cells->note = keep(arena, &text);
        flow_call_shapes(&text, flow->run, row->call, RUN_OUT);
        cells->shape = keep(arena, &text);
    }
    cells->shape_cells = (uint16_t)text_width(cells->shape);
    cells->time_cells = (uint8_t)text_width(cells->time);
    cells->label_cells =
        (uint16_t)(text_width(cells->name) + 2 + text_width(cells->type) + 2 +
                   text_width(cells->note));
    buf_release(&text);
}

int flow_text_make(struct flow_text *ret_text, const struct show *show, uint32_t call,
                   struct arena *arena, struct err *err)
{
    struct flow_text text = {.cells = NULL};

    if (flow_make(&text.flow, show->session->run, call, arena, err) < 0)
        return -1;
    text.cells = arena_array(arena, text.flow.n, sizeof *text.cells);
    if (!text.cells)
        return arena_err(arena, "the flow", err);
    for (uint32_t r = 0; r < text.flow.n; r++) {
        struct flow_cells *cells = &text.cells[r];

        row_cells(cells, show, &text.flow, r, arena);
        if (cells->shape_cells > text.shape_cells)
            text.shape_cells = cells->shape_cells;
        if (cells->time_cells > text.time_cells)
            text.time_cells = cells->time_cells;
    }
    if (text.shape_cells > MOST_SHAPE)
        text.shape_cells = MOST_SHAPE;
    *ret_text = text;
    return 0;
}

/* --- Lines */

static void add_blanks(struct lines *to, size_t n)
{
    static const char blanks[] = "                                                  ";

    for (; n > 0; n -= n < sizeof blanks - 1 ? n : sizeof blanks - 1)
        lines_add(to, COLOUR_NONE, 0,
                  str_span(blanks, n < sizeof blanks - 1 ? n : sizeof blanks - 1));
}

/* If space is short, drops the type if that leaves room for the note; else cuts the
 * note, then the type, then the middle of the name. Parts are separated by two blanks.
 */
static size_t add_label(struct lines *to, const struct flow_cells *cells, size_t room)
{
    const struct {
        struct str text;
        enum colour colour;
    } parts[] = {{cells->name, cells->alarm ? COLOUR_ALARM
                               : cells->dim ? COLOUR_DIM
                                            : COLOUR_NONE},
                 {cells->type, COLOUR_TYPE},
                 {cells->note, cells->alarm ? COLOUR_ALARM : COLOUR_DIM}};
    struct buf cut = BUF_INIT;
    size_t used = 0, type = cells->type.len > 0 ? text_width(cells->type) + 2 : 0;
    bool untyped = cells->note.len > 0 && cells->label_cells > room &&
                   cells->label_cells <= room + type;

    for (int i = 0; i < 3; i++) {
        size_t joint = used > 0 ? 2 : 0, left = room - used;

        if (parts[i].text.len == 0 || left < joint + 2 || (i == 1 && untyped))
            continue;
        buf_clear(&cut);
        if (cells->label_cells <= room || untyped)
            buf_str(&cut, parts[i].text);
        else if (i == 0)
            text_cut_middle(&cut, parts[i].text, left, "…");
        else if (i == 2 && cells->line)
            text_cut_front(&cut, parts[i].text, left - joint, "…");
        else
            text_cut(&cut, parts[i].text, left - joint, "…");
        add_blanks(to, joint);
        lines_add(to, parts[i].colour, 0, buf_span(&cut));
        used += joint + text_width(buf_span(&cut));
    }
    buf_release(&cut);
    return used;
}

static void add_right(struct lines *to, enum colour colour, struct str text,
                      size_t cells, size_t width)
{
    add_blanks(to, width > cells ? width - cells : 0);
    lines_add(to, colour, 0, text);
}

static void row_line(struct lines *to, const struct flow_text *text, uint32_t r,
                     unsigned width)
{
    const struct flow_cells *cells = &text->cells[r];
    size_t rails = 1 + text->flow.columns * 2 + 2, shape = text->shape_cells + 2;
    size_t time = text->time_cells > 0 ? text->time_cells + 2 : 0, label, used;
    enum colour colour = cells->dim ? COLOUR_DIM : COLOUR_NONE;
    struct buf cut = BUF_INIT;

    if (rails + LEAST_LABEL + shape + time > width)
        time = 0;
    if (rails + LEAST_LABEL + shape + time > width)
        shape = 0;
    label = width > rails + shape + time ? width - rails - shape - time : 1;
    lines_text(to, COLOUR_NONE, " ");
    lines_add(to, COLOUR_NONE, 0, cells->rails);
    add_blanks(to, 2);
    used = add_label(to, cells, label);
    add_blanks(to, label > used ? label - used : 0);
    if (shape > 0 && cells->shape_cells <= shape) {
        add_right(to, colour, cells->shape, cells->shape_cells, shape);
    } else if (shape > 0) {
        text_cut_shape(&cut, cells->shape, shape - 2, "…", "×");
        add_right(to, colour, buf_span(&cut), text_width(buf_span(&cut)), shape);
    }
    if (time > 0)
        add_right(to, colour, cells->time, cells->time_cells, time);
    lines_end_target(to, r);
    buf_release(&cut);
}

static void remark(struct lines *to, struct str text, unsigned width)
{
    lines_text(to, COLOUR_NONE, " ");
    lines_wrap(to, COLOUR_DIM, text, width, 1);
}

void flow_text_lines(struct lines *to, const struct flow_text *text, unsigned width)
{
    struct buf say = BUF_INIT;
    bool loose = false;

    for (uint32_t r = 0; r < text->flow.n; r++) {
        row_line(to, text, r, width);
        loose |= flow_loose(&text->flow, r);
    }
    if (!text->flow.has_ops) {
        remark(to,
               loose ? STR("? an operation came before: operations outside modules "
                           "are not recorded")
                     : STR("operations outside modules are not recorded"),
               width);
    } else if (text->flow.run->ops->lost > 0) {
        text_commas(&say, text->flow.run->ops->lost);
        buf_text(&say, " operations of the run are beyond the limit of the recording "
                       "and not shown");
        remark(to, buf_span(&say), width);
        buf_clear(&say);
    }
    if (text->flow.missing_ns > 0) {
        buf_text(&say, "not shown: calls that were merged with others, ");
        text_time(&say, (double)text->flow.missing_ns / 1e9);
        remark(to, buf_span(&say), width);
    }
    buf_release(&say);
}

/* --- The subject */

void flow_text_subject(struct buf *to, const struct show *show, uint32_t call)
{
    const struct run *run = show->session->run;
    const struct run_call *c = &run->calls[call];
    uint32_t calls = show->activity->at[c->place].calls;

    run_place(to, show, c->place);
    if (c->place > 0) {
        buf_char(to, ' ');
        escape_terminal(to, class_short(place_class(show->model, c->place)));
    }
    if (calls > 1) {
        buf_text(to, ", call ");
        text_commas(to, (uint64_t)c->number + 1);
        buf_text(to, " of ");
        text_commas(to, run_count_calls(run, c->object));
    }
}
