/* One row of a flow in full. */
#include "facts/flow_text_in.h"
#include "facts/run_text.h"
#include "rows/args.h"
#include "rows/op_words.h"
#include "rows/value_text.h"
#include "text/text.h"

#define FACT_CELLS  6 /* "code  " */
#define MOST_INPUTS 2 /* listed individually */
#define MOST_USERS  4
#define MOST_TEXT   200 /* bytes of the attributes of an operation */

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

static void add_op_value(struct buf *to, const struct run *run, uint32_t value)
{
    uint8_t dtype = run->ops->types[run->ops->values[value].type].dtype;

    op_shape(to, run, value);
    buf_printf(to, " %s", dtype_name(dtype));
}

/* Forward's name of an argument, or the one in the schema of an operation. */
static struct str argument_name(const struct flow *flow, const struct flow_row *row,
                                const struct flow_edge *edge)
{
    const struct run *run = flow->run;
    const struct run_op_kind *kind;
    uint16_t arg;

    if (edge->io != RUN_NONE)
        return run_string(run, run->ios[edge->io].path);
    if (row->kind != FLOW_OP)
        return STR("");
    kind = &run->ops->kinds[run->ops->ops[flow->ops[row->ops]].kind];
    arg = run->ops->ios[edge->op_io].arg;
    return arg < kind->n_args ? run_string(run, run->ops->args[kind->args + arg])
                              : STR("");
}

static void add_outside(struct buf *to, const struct show *show,
                        const struct flow *flow, const struct flow_edge *edge)
{
    buf_text(to, "from ");
    if (edge->op != RUN_NONE) {
        op_title(to, flow->run, &flow->run->ops->ops[edge->op]);
        buf_text(to, " in ");
        flow_op_place(to, show, &flow->run->ops->ops[edge->op]);
    } else {
        run_place(to, show, flow->run->calls[edge->call].place);
    }
    buf_text(to, ", before");
}

/* The name of the parameter, if it is known. */
static void add_parameter(struct buf *to, const struct show *show,
                          const struct flow *flow, const struct flow_edge *edge)
{
    const struct run *run = flow->run;
    uint32_t tensor = RUN_NONE;
    struct buf path = BUF_INIT;

    if (edge->op_io != RUN_NONE)
        tensor = run->ops->values[run->ops->ios[edge->op_io].value].tensor;
    if (tensor < show->model->n_tensors &&
        show->model->tensors[tensor].place != NO_PLACE) {
        place_path(show->model, show->model->tensors[tensor].place, &path);
        escape_terminal(to, buf_span(&path));
    } else {
        buf_text(to, "a parameter or buffer");
    }
    buf_release(&path);
}

static void add_source(struct buf *to, const struct show *show, const struct flow *flow,
                       const struct flow_edge *edge)
{
    switch ((enum flow_source)edge->source) {
    case FROM_ROW:
        buf_text(to, "from ");
        flow_row_name(to, show, flow, edge->row);
        break;
    case FROM_STORAGE:
        buf_text(to, "from ");
        flow_row_name(to, show, flow, edge->row);
        buf_text(to, ", viewed or changed in place by an operation (not recorded)");
        break;
    case FROM_OUTSIDE:
        add_outside(to, show, flow, edge);
        break;
    case FROM_PARAMETER:
        add_parameter(to, show, flow, edge);
        break;
    case FROM_BEFORE:
        buf_text(to, "made before the recording, or without an operation");
        break;
    case FROM_ASIDE:
        buf_text(to, "made meanwhile on another thread");
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
        struct str path = argument_name(flow, row, edge);

        buf_clear(&text);
        if (path.len > 0 && row->n_from > 1) {
            escape_terminal(&text, path);
            buf_text(&text, "  ");
        }
        if (edge->io != RUN_NONE)
            add_value(&text, flow->run, flow->run->ios[edge->io].value);
        else
            add_op_value(&text, flow->run, flow->run->ops->ios[edge->op_io].value);
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
    if (row->n_from == 0 && (row->kind == FLOW_CALL || row->kind == FLOW_OP))
        fact_line(to, "in", STR("no tensor"), width);
    buf_release(&text);
}

/* "used by attn, mlp"; without operations, only module calls that use it are known. */
static void add_users(struct buf *to, const struct show *show, const struct flow *flow,
                      const struct flow_row *row)
{
    bool several = false; /* a row that represents many operations uses it */

    if (row->n_to == 0 && flow->has_ops)
        buf_text(to, "not used in this call");
    else if (row->n_to == 0)
        buf_text(to, flow->missing_ns > 0 ? "used by no module call that was kept"
                                          : "used by no module call");
    for (uint32_t i = 0; i < row->n_to && i < MOST_USERS; i++) {
        buf_text(to, i > 0 ? ", " : "used by ");
        flow_row_name(to, show, flow, flow->to[row->to + i]);
    }
    for (uint32_t i = 0; i < row->n_to; i++)
        several |= flow->rows[flow->to[row->to + i]].kind == FLOW_MORE;
    if (row->n_to > MOST_USERS)
        buf_printf(to, ", … %u more%s", row->n_to - MOST_USERS, several ? " rows" : "");
    if (!flow->has_ops)
        buf_text(to, "; operations are not recorded");
}

static void out_line(struct lines *to, const struct show *show, const struct flow *flow,
                     const struct flow_row *row, unsigned width)
{
    struct buf text = BUF_INIT;

    if (row->kind == FLOW_INPUT)
        add_value(&text, flow->run, flow->run->ios[row->io].value);
    else if (row->kind == FLOW_OP)
        op_shapes(&text, flow->run, flow_row_op(flow, row));
    else
        flow_call_shapes(&text, flow->run, row->call, RUN_OUT);
    if (text.len == 0)
        buf_text(&text, "no tensor");
    if (row->kind == FLOW_RESULT) {
        buf_text(&text, "   ");
        flow_next_name(&text, show, flow);
    } else {
        buf_text(&text, "   ");
        add_users(&text, show, flow, row);
    }
    fact_line(to, row->kind == FLOW_INPUT ? "is" : "out", buf_span(&text), width);
    buf_release(&text);
}

/* "sdpa  aten::scaled_dot_product_attention  is_causal=True   458.31μs" */
static void op_title_line(struct lines *to, const struct flow_text *text,
                          const struct flow_row *row)
{
    const struct run *run = text->flow.run;
    const struct run_op *op = flow_row_op(&text->flow, row);
    const uint32_t *items = value_items(&run->plain, op->attributes);
    struct buf said = BUF_INIT;

    escape_terminal(&said, op_name(run, op));
    lines_text(to, COLOUR_NONE, "  ");
    lines_add(to, COLOUR_TYPE, 0, buf_span(&said));
    buf_clear(&said);
    if (value_at(&run->plain, op->attributes)->kind == VALUE_DICT)
        for (uint32_t i = 0; i + 1 < value_at(&run->plain, op->attributes)->n; i += 2) {
            buf_text(&said, "  ");
            escape_terminal(&said, value_text(&run->plain, items[i]));
            buf_char(&said, '=');
            value_show_in(&said, &run->plain, run->model, items[i + 1], MOST_TEXT);
        }
    if (op->flops != OP_NO_FLOPS && op->flops > 0) {
        buf_text(&said, "   ");
        text_flops(&said, (uint64_t)op->flops);
        buf_text(&said, " FLOPs");
    }
    lines_add(to, COLOUR_NONE, 0, buf_span(&said));
    buf_release(&said);
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
    } else if (r->kind == FLOW_OP) {
        op_title_line(to, text, r);
        lines_text(to, COLOUR_NONE, "   ");
        lines_add(to, COLOUR_NONE, 0, text->cells[row].time);
    } else if (r->kind == FLOW_MORE) {
        lines_text(to, COLOUR_DIM, "  no rows of their own");
    } else {
        lines_text(to, COLOUR_DIM,
                   r->kind == FLOW_INPUT ? "  an argument" : "  the result");
    }
    lines_end(to);
    buf_release(&args);
}

static void error_line(struct lines *to, const struct run *run,
                       const struct run_call *c, unsigned width)
{
    struct buf text = BUF_INIT;

    if (c->flags & RUN_RAISED && c->error) {
        escape_terminal(&text, run_string(run, c->error));
        fact_line(to, "✗", buf_span(&text), width);
    }
    buf_release(&text);
}

static void code_line(struct lines *to, const struct run *run, uint32_t line,
                      unsigned width)
{
    struct buf text = BUF_INIT;

    if (line)
        escape_terminal(&text, run_string(run, line));
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
    const struct run *run = text->flow.run;
    uint32_t first = to->n;

    if (most > 6)
        lines_end(to);
    if (most > 4)
        title_line(to, show, text, row);
    if (r->kind != FLOW_INPUT && r->kind != FLOW_MORE)
        in_lines(to, show, &text->flow, r, width);
    if (r->kind != FLOW_MORE)
        out_line(to, show, &text->flow, r, width);
    if (r->kind == FLOW_CALL) {
        error_line(to, run, &run->calls[r->call], width);
        code_line(to, run, run->calls[r->call].line, width);
    } else if (r->kind == FLOW_OP) {
        code_line(to, run, flow_row_op(&text->flow, r)->line, width);
    }
    if (to->n - first > most)
        to->n = first + most;
}
