#include "facts/flow_text.h"

#include "facts/run_text.h"
#include "rows/args.h"
#include "text/text.h"

#define LEAST_LABEL 12 /* cells; with less room, times and shapes are dropped */
#define MOST_SHAPE  24
#define FACT_CELLS  6 /* "code  " */
#define MOST_INPUTS 2 /* listed individually */
#define MOST_USERS  4

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

/* "conv1", "x" for an input, "the result" */
static void add_row_name(struct buf *to, const struct show *show,
                         const struct flow *flow, uint32_t row)
{
    const struct flow_row *r = &flow->rows[row];

    if (r->kind == FLOW_CALL) {
        add_name(to, show, block_of(flow), flow->run->calls[r->call].place);
    } else if (r->kind == FLOW_INPUT) {
        struct str path = run_string(flow->run, flow->run->ios[r->io].path);

        escape_terminal(to, path.len > 0 ? path : STR("input"));
    } else {
        buf_text(to, "the result");
    }
}

/* "→ transformer.h.1": the next user of the result. */
static void add_next(struct buf *to, const struct show *show, const struct flow *flow)
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
    case NEXT_CALLER:
        buf_text(to, "result");
        break;
    case NEXT_UNKNOWN:
        buf_text(to, "taken by no module call");
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
    uint32_t outside = RUN_NONE;

    for (uint32_t i = row->from; i < row->from + row->n_from; i++) {
        const struct flow_edge *edge = &flow->from[i];

        known |= edge->row != NO_FLOW;
        changed |= edge->source == FROM_STORAGE;
        unknown |= edge->source == FROM_OPERATION;
        if (edge->source == FROM_OUTSIDE && outside == RUN_NONE)
            outside = edge->call;
    }
    if (changed)
        buf_text(to, flow->missing_ns > 0 ? "after an operation or a merged call"
                                          : "after an operation");
    if (outside != RUN_NONE) {
        buf_text(to, to->len > 0 ? ", " : "");
        buf_text(to, known ? "and from " : "from ");
        run_place(to, show, flow->run->calls[outside].place);
        known = true;
    }
    if (unknown) {
        buf_text(to, to->len > 0 ? ", " : "");
        buf_text(to, known ? "and a producer not recorded" : "producer not recorded");
    }
}

/* "1×64×56×56", "3 × 1×128×768", "1×128×768 +2" if results differ. */
static void add_shapes(struct buf *to, const struct run *run, uint32_t call,
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
    add_shapes(text, flow->run, row->call, RUN_OUT);
    cells->shape = keep(arena, text);
    run_time(text, run_inclusive(call));
    cells->time = keep(arena, text);
}

static void row_cells(struct flow_cells *cells, const struct show *show,
                      const struct flow *flow, uint32_t r, struct arena *arena)
{
    const struct flow_row *row = &flow->rows[r];
    struct buf text = BUF_INIT;

    flow_rails(&text, flow, r);
    cells->rails = keep(arena, &text);
    if (row->kind == FLOW_RESULT)
        add_next(&text, show, flow);
    else
        add_row_name(&text, show, flow, r);
    cells->name = keep(arena, &text);
    if (row->kind == FLOW_CALL) {
        call_cells(cells, show, flow, row, arena, &text);
    } else if (row->kind == FLOW_INPUT) {
        run_shape(&text, flow->run, flow->run->ios[row->io].value);
        cells->shape = keep(arena, &text);
    } else {
        add_note(&text, show, flow, row);
        cells->note = keep(arena, &text);
        add_shapes(&text, flow->run, row->call, RUN_OUT);
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
    } parts[] = {{cells->name, cells->alarm ? COLOUR_ALARM : COLOUR_NONE},
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
        else
            text_cut(&cut, parts[i].text, left - joint, "…");
        add_blanks(to, joint);
        lines_add(to, parts[i].colour, 0, buf_span(&cut));
        used += joint + text_width(buf_span(&cut));
    }
    buf_release(&cut);
    return used;
}

static void add_right(struct lines *to, struct str text, size_t cells, size_t width)
{
    add_blanks(to, width > cells ? width - cells : 0);
    lines_add(to, COLOUR_NONE, 0, text);
}

static void row_line(struct lines *to, const struct flow_text *text, uint32_t r,
                     unsigned width)
{
    const struct flow_cells *cells = &text->cells[r];
    size_t rails = 1 + text->flow.columns * 2 + 2, shape = text->shape_cells + 2;
    size_t time = text->time_cells > 0 ? text->time_cells + 2 : 0, label, used;
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
        add_right(to, cells->shape, cells->shape_cells, shape);
    } else if (shape > 0) {
        text_cut_shape(&cut, cells->shape, shape - 2, "…", "×");
        add_right(to, buf_span(&cut), text_width(buf_span(&cut)), shape);
    }
    if (time > 0)
        add_right(to, cells->time, cells->time_cells, time);
    lines_end_target(to, r);
    buf_release(&cut);
}

void flow_text_lines(struct lines *to, const struct flow_text *text, unsigned width)
{
    struct buf say = BUF_INIT;
    bool loose = false;

    for (uint32_t r = 0; r < text->flow.n; r++) {
        row_line(to, text, r, width);
        loose |= flow_loose(&text->flow, r);
    }
    lines_text(to, COLOUR_NONE, " ");
    lines_wrap(to, COLOUR_DIM,
               loose ? STR("? an operation came before: operations outside modules "
                           "are not recorded")
                     : STR("operations outside modules are not recorded"),
               width, 1);
    if (text->flow.missing_ns > 0) {
        buf_text(&say, "not shown: calls that were merged with others, ");
        text_time(&say, (double)text->flow.missing_ns / 1e9);
        lines_text(to, COLOUR_NONE, " ");
        lines_wrap(to, COLOUR_DIM, buf_span(&say), width, 1);
    }
    buf_release(&say);
}

/* --- One row */

static void fact_line(struct lines *to, const char *name, struct str text,
                      unsigned width)
{
    lines_text(to, COLOUR_NONE, " ");
    lines_text(to, COLOUR_DIM, name);
    lines_pad(to, 1 + FACT_CELLS);
    lines_wrap(to, COLOUR_NONE, text, width, 1 + FACT_CELLS);
}

/* "1×64×56×56 float32" */
static void add_value(struct buf *to, const struct run *run, uint32_t value)
{
    run_shape(to, run, value);
    buf_printf(to, " %s", dtype_name(run->values[value].dtype));
}

static void add_source(struct buf *to, const struct show *show, const struct flow *flow,
                       const struct flow_edge *edge)
{
    switch ((enum flow_source)edge->source) {
    case FROM_ROW:
        buf_text(to, "from ");
        add_row_name(to, show, flow, edge->row);
        break;
    case FROM_STORAGE:
        buf_text(to, "from ");
        add_row_name(to, show, flow, edge->row);
        buf_text(to, ", viewed or changed in place by an operation (not recorded)");
        break;
    case FROM_OUTSIDE:
        buf_text(to, "from ");
        run_place(to, show, flow->run->calls[edge->call].place);
        buf_text(to, ", before");
        break;
    case FROM_PARAMETER:
        buf_text(to, "a parameter or buffer");
        break;
    case FROM_OPERATION:
        buf_text(to, flow->missing_ns > 0
                         ? "producer not recorded: an operation or a merged call"
                         : "producer not recorded: an operation, not a module");
        break;
    }
}

/* "in    x  1×64×56×56 float32   from conv1" for the first few, then how many more.
 */
static void in_lines(struct lines *to, const struct show *show, const struct flow *flow,
                     const struct flow_row *row, unsigned width)
{
    struct buf text = BUF_INIT;

    for (uint32_t i = 0; i < row->n_from && i < MOST_INPUTS; i++) {
        const struct flow_edge *edge = &flow->from[row->from + i];
        const struct run_io *io = &flow->run->ios[edge->io];
        struct str path = run_string(flow->run, io->path);

        buf_clear(&text);
        if (path.len > 0 && row->n_from > 1) {
            escape_terminal(&text, path);
            buf_text(&text, "  ");
        }
        add_value(&text, flow->run, io->value);
        buf_text(&text, "   ");
        add_source(&text, show, flow, edge);
        if (i + 1 == MOST_INPUTS && row->n_from > MOST_INPUTS)
            buf_printf(&text, "   … %u more", row->n_from - MOST_INPUTS);
        fact_line(to,
                  i > 0                      ? ""
                  : row->kind == FLOW_RESULT ? "is"
                                             : "in",
                  buf_span(&text), width);
    }
    if (row->n_from == 0 && row->kind == FLOW_CALL)
        fact_line(to, "in", STR("no tensor"), width);
    buf_release(&text);
}

/* "used by attn, mlp; operations are not recorded": module calls that use it. Other
 * users are unknown. */
static void add_users(struct buf *to, const struct show *show, const struct flow *flow,
                      const struct flow_row *row)
{
    if (row->n_to == 0)
        buf_text(to, flow->missing_ns > 0 ? "used by no module call that was kept"
                                          : "used by no module call");
    for (uint32_t i = 0; i < row->n_to && i < MOST_USERS; i++) {
        buf_text(to, i > 0 ? ", " : "used by ");
        add_row_name(to, show, flow, flow->to[row->to + i]);
    }
    if (row->n_to > MOST_USERS)
        buf_printf(to, ", … %u more", row->n_to - MOST_USERS);
    buf_text(to, "; operations are not recorded");
}

static void out_line(struct lines *to, const struct show *show, const struct flow *flow,
                     const struct flow_row *row, unsigned width)
{
    struct buf text = BUF_INIT;

    if (row->kind == FLOW_INPUT)
        add_value(&text, flow->run, flow->run->ios[row->io].value);
    else
        add_shapes(&text, flow->run, row->call, RUN_OUT);
    if (text.len == 0)
        buf_text(&text, "no tensor");
    if (row->kind == FLOW_RESULT) {
        buf_text(&text, "   ");
        add_next(&text, show, flow);
    } else {
        buf_text(&text, "   ");
        add_users(&text, show, flow, row);
    }
    fact_line(to, row->kind == FLOW_INPUT ? "is" : "out", buf_span(&text), width);
    buf_release(&text);
}

/* "conv1  Conv2d(64→64, 1×1)   306.22μs" */
static void title_line(struct lines *to, const struct show *show,
                       const struct flow_text *text, uint32_t row)
{
    const struct flow_row *r = &text->flow.rows[row];
    struct buf args = BUF_INIT;

    lines_text(to, COLOUR_NONE, " ");
    lines_add(to, COLOUR_NONE, SPAN_BOLD, text->cells[row].name);
    if (r->kind == FLOW_CALL) {
        uint32_t place = text->flow.run->calls[r->call].place;

        lines_text(to, COLOUR_NONE, "  ");
        lines_add(to, COLOUR_TYPE, 0, text->cells[row].type);
        if (place_object(show->model, place))
            args_show(&args, show->model, place_object(show->model, place));
        if (args.len > 0)
            lines_printf(to, COLOUR_NONE, "(%s)", args.at);
        lines_text(to, COLOUR_NONE, "   ");
        lines_add(to, COLOUR_NONE, 0, text->cells[row].time);
    } else {
        lines_text(to, COLOUR_DIM,
                   r->kind == FLOW_INPUT ? "  an argument" : "  the result");
    }
    lines_end(to);
    buf_release(&args);
}

static void code_line(struct lines *to, const struct run *run, const struct run_call *c,
                      unsigned width)
{
    struct buf text = BUF_INIT;

    if (c->flags & RUN_RAISED && c->error) {
        escape_terminal(&text, run_string(run, c->error));
        fact_line(to, "✗", buf_span(&text), width);
        buf_clear(&text);
    }
    if (c->line)
        escape_terminal(&text, run_string(run, c->line));
    else
        buf_text(&text, "the line that called it is not known");
    fact_line(to, "code", buf_span(&text), width);
    buf_release(&text);
}

void flow_text_row(struct lines *to, const struct show *show,
                   const struct flow_text *text, uint32_t row, unsigned width,
                   unsigned most)
{
    const struct flow_row *r = &text->flow.rows[row];
    uint32_t first = to->n;

    if (most > 6)
        lines_end(to);
    if (most > 4)
        title_line(to, show, text, row);
    if (r->kind != FLOW_INPUT)
        in_lines(to, show, &text->flow, r, width);
    out_line(to, show, &text->flow, r, width);
    if (r->kind == FLOW_CALL)
        code_line(to, text->flow.run, &text->flow.run->calls[r->call], width);
    if (to->n - first > most)
        to->n = first + most;
}

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
