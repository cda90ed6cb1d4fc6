/* THE TABLE of labels: the content of the label panel (L). To add one: add a column for
 * it in columns.c, and a line to the table below. The flowing form uses the texts of
 * rp's explorer, with sizes and shares formatted as in the columns. */
#include "rows/labels.h"

#include "base/base.h"
#include "rows/args.h"
#include "rows/below.h"
#include "rows/layout.h"
#include "rows/run_words.h"
#include "text/number.h"

/* Append a word and the cell of a column; nothing if the cell is empty. */
static void flow_cell(struct buf *to, const char *word, const char *column,
                      const struct show *show, const struct row *row)
{
    struct buf cell = BUF_INIT;

    column_figure(&cell, column_find(str_of(column)), show, row);
    if (cell.len > 0) {
        buf_text(to, word);
        buf_str(to, str_trim(buf_span(&cell))); /* shares are padded to three cells */
    }
    buf_release(&cell);
}

static void in_flow(struct buf *to, const struct show *show, const struct row *row)
{
    flow_cell(to, "in=", "in", show, row);
}

static void out_flow(struct buf *to, const struct show *show, const struct row *row)
{
    flow_cell(to, "out=", "out", show, row);
}

static void in_memory_flow(struct buf *to, const struct show *show,
                           const struct row *row)
{
    flow_cell(to, "in_mem=", "in_mem", show, row);
}

static void out_memory_flow(struct buf *to, const struct show *show,
                            const struct row *row)
{
    flow_cell(to, "out_mem=", "out_mem", show, row);
}

static void saved_flow(struct buf *to, const struct show *show, const struct row *row)
{
    flow_cell(to, "saved=", "saved", show, row);
}

static void calls_flow(struct buf *to, const struct show *show, const struct row *row)
{
    uint64_t calls = row_run(show, row, RUN_CALLS);

    if (calls == 0)
        return;
    buf_char(to, '(');
    text_plural(to, calls, "call", "calls");
    buf_char(to, ')');
}

/* Own time, and its share of the run. */
static void self_flow(struct buf *to, const struct show *show, const struct row *row)
{
    size_t begin = to->len;

    flow_cell(to, "self=", "self", show, row);
    if (to->len == begin || show->activity->total_ns == 0)
        return;
    buf_char(to, ' ');
    run_share(to, row_run(show, row, RUN_SELF), show->activity->total_ns);
}

static void average_flow(struct buf *to, const struct show *show, const struct row *row)
{
    flow_cell(to, "avg=", "average", show, row);
}

static void average_self_flow(struct buf *to, const struct show *show,
                              const struct row *row)
{
    flow_cell(to, "avg=", "avg_self", show, row);
}

/* "self=36.9K 100%": its own amount and its share of the total. */
static void add_own(struct buf *to, uint64_t own, uint64_t all,
                    void (*write)(struct buf *to, uint64_t n))
{
    if (own == 0)
        return;
    buf_text(to, "self=");
    write(to, own);
    buf_char(to, ' ');
    text_percent(to, (double)own, (double)all);
}

static void own_params_flow(struct buf *to, const struct show *show,
                            const struct row *row)
{
    add_own(to, row_own_params(show, row), row_params(show, row), text_count);
}

static void own_memory_flow(struct buf *to, const struct show *show,
                            const struct row *row)
{
    add_own(to, row_own_bytes(show, row), row_bytes(show, row), text_bytes);
}

static void flops_flow(struct buf *to, const struct show *show, const struct row *row)
{
    flow_cell(to, "flops=", "flops", show, row);
}

static void macs_flow(struct buf *to, const struct show *show, const struct row *row)
{
    flow_cell(to, "macs=", "macs", show, row);
}

static void ops_flow(struct buf *to, const struct show *show, const struct row *row)
{
    flow_cell(to, "ops=", "ops", show, row);
}

static void mean_flow(struct buf *to, const struct show *show, const struct row *row)
{
    flow_cell(to, "mean=", "outmean", show, row);
}

static void std_flow(struct buf *to, const struct show *show, const struct row *row)
{
    flow_cell(to, "std=", "outstd", show, row);
}

static void zeros_flow(struct buf *to, const struct show *show, const struct row *row)
{
    flow_cell(to, "zeros=", "outzeros", show, row);
}

static void gradient_flow(struct buf *to, const struct show *show,
                          const struct row *row)
{
    flow_cell(to, "grad=", "grad", show, row);
}

static void update_flow(struct buf *to, const struct show *show, const struct row *row)
{
    flow_cell(to, "update/w=", "update", show, row);
}

static void weight_flow(struct buf *to, const struct show *show, const struct row *row)
{
    flow_cell(to, "weight=", "weight", show, row);
}

static void dead_flow(struct buf *to, const struct show *show, const struct row *row)
{
    flow_cell(to, "dead=", "dead", show, row);
}

static void in_dtype_flow(struct buf *to, const struct show *show,
                          const struct row *row)
{
    flow_cell(to, "in=", "in_dtype", show, row);
}

static void out_dtype_flow(struct buf *to, const struct show *show,
                           const struct row *row)
{
    flow_cell(to, "out=", "out_dtype", show, row);
}

static void dtype_flow(struct buf *to, const struct show *show, const struct row *row)
{
    struct below below = {0};

    if (!(row->flags & ROW_MORE))
        below_sum(show, row->place, &below);
    if (below.n_dtypes > 1)
        buf_text(to, "(mixed dtypes)");
    else
        flow_cell(to, "", "dtype", show, row);
}

static void name_flow(struct buf *to, const struct show *show, const struct row *row)
{
    struct label label = {.ascii = false};

    label_make(&label, show, row, LABEL_NAME);
    if (row->place != 0)
        buf_printf(to, "(%s)", buf_cstr(&label.name));
    label_release(&label);
}

static void type_flow(struct buf *to, const struct show *show, const struct row *row)
{
    flow_cell(to, "", "type", show, row);
}

static void args_flow(struct buf *to, const struct show *show, const struct row *row)
{
    const struct object *object;
    size_t begin = to->len;

    if (row->flags & ROW_MORE || show->model->kind[row->place] != PLACE_MODULE)
        return;
    object = place_object(show->model, row->place);
    buf_char(to, '(');
    if (object)
        args_repr(to, show->model, object);
    if (to->len == begin + 1)
        to->len = begin;
    else
        buf_char(to, ')');
}

#define STAYS 255
#define ON    true
#define OFF   false
#define ANY   0
#define RUN   LABEL_OF_RUN
#define TRAIN LABEL_OF_TRAINING

/* The number before the text is the order of dropping if space is short, the lowest
 * first: averages, own values, FLOPs, dtype, device, (bars), shares, calls, in, out,
 * memory, params, (of a training run) update ratio, gradient norm. */
/* clang-format off */
const struct label_kind label_kinds[] = {
    {"aligned",    "Alignment",             'A', ON,  NULL,         0,  0,  NULL, ANY},
    {"device",     "Device",                'd', OFF, "device",     0,  5,  NULL, ANY},
    {"dtype",      "Data type",             'd', OFF, "dtype",      0,  4,  dtype_flow, ANY},
    {"params",     "Parameter count",       'p', ON,  "params",     8,  12, NULL, ANY},
    {"percent",    "Parameter share",       'p', ON,  "percent",    4,  7,  NULL, ANY},
    {"own_params", "Own parameters",        'p', OFF, "own_params", 6,  2,  own_params_flow, ANY},
    {"trainable",  "Trainable",             'p', OFF, "trainable",  0,  5,  NULL, ANY},
    {"memory",     "Memory",                'b', ON,  "memory",     8,  11, NULL, ANY},
    {"memory%",    "Memory share",          'b', OFF, "memory%",    4,  7,  NULL, ANY},
    {"own_mem",    "Own memory",            'b', OFF, "own_mem",    8,  2,  own_memory_flow, ANY},
    {"in_mem",     "Input memory",          0,   OFF, "in_mem",     8,  3,  in_memory_flow, RUN},
    {"out_mem",    "Output memory",         0,   OFF, "out_mem",    8,  3,  out_memory_flow, RUN},
    {"saved",      "Saved for backward",    0,   OFF, "saved",      8,  3,  saved_flow, RUN},
    {"in",         "Input shapes (italic)", 'f', OFF, "in",         0,  9,  in_flow, RUN},
    {"out",        "Output shapes",         'f', OFF, "out",        0,  10, out_flow, RUN},
    {"calls",      "Calls",                 'f', OFF, "calls",      5,  8,  calls_flow, RUN},
    {"self",       "Own time",              'r', OFF, "self",       9,  2,  self_flow, RUN},
    {"time%",      "Time share",            'r', OFF, "time%",      4,  7,  NULL, RUN},
    {"time",       "Total time",            'r', ON,  "time",       9,  STAYS, NULL, RUN},
    {"avg_self",   "Average own time",      0,   OFF, "avg_self",   9,  1,  average_self_flow, RUN},
    {"average",    "Average total time",    0,   OFF, "average",    9,  1,  average_flow, RUN},
    {"flops",      "FLOPs",                 0,   OFF, "flops",      8,  3,  flops_flow, RUN},
    {"macs",       "Multiply-adds",         0,   OFF, "macs",       8,  3,  macs_flow, RUN},
    {"ops",        "Operations",            0,   OFF, "ops",        6,  3,  ops_flow, RUN},
    {"outmean",    "Output mean",           0,   OFF, "outmean",    10, 3,  mean_flow, RUN},
    {"outstd",     "Output std",            0,   OFF, "outstd",     10, 3,  std_flow, RUN},
    {"outzeros",   "Output zeros",          0,   OFF, "outzeros",   9,  3,  zeros_flow, RUN},
    {"grad",       "Gradient norm",         0,   OFF, "grad",       10, 14, gradient_flow, RUN | TRAIN},
    {"update",     "Update ratio",          0,   OFF, "update",     10, 13, update_flow, TRAIN},
    {"weight",     "Weight norm",           0,   OFF, "weight",     10, 3,  weight_flow, TRAIN},
    {"dead",       "Dead units",            0,   OFF, "dead",       5,  3,  dead_flow, TRAIN},
    {"in_dtype",   "Input dtypes",          0,   OFF, "in_dtype",   0,  3,  in_dtype_flow, RUN},
    {"out_dtype",  "Output dtypes",         0,   OFF, "out_dtype",  0,  3,  out_dtype_flow, RUN},
    {"name",       "Name",                  0,   ON,  NULL,         0,  0,  name_flow, ANY},
    {"type",       "Type",                  0,   ON,  NULL,         0,  0,  type_flow, ANY},
    {"args",       "Arguments",             0,   ON,  NULL,         0,  0,  args_flow, ANY},
    {"shapes",     "Shapes",                't', OFF, "shapes",     0,  1,  NULL, ANY},
};
/* clang-format on */
const size_t n_label_kinds = COUNT_OF(label_kinds);

int label_kind_find(struct str id)
{
    if (str_is(id, "%"))
        id = STR("percent");
    for (size_t i = 0; i < n_label_kinds; i++)
        if (str_is_word(id, label_kinds[i].id))
            return (int)i;
    return -1;
}

bool label_applies(const struct label_kind *kind, const struct show *show)
{
    return kind->needs == 0 || (kind->needs & LABEL_OF_RUN && show->activity) ||
           (kind->needs & LABEL_OF_TRAINING && show->session->history);
}

void label_flow(struct buf *to, const struct label_kind *kind, const struct show *show,
                const struct row *row)
{
    if (kind->flow)
        kind->flow(to, show, row);
    else if (kind->column)
        layout_cell(to, column_find(str_of(kind->column)), show, row);
}
