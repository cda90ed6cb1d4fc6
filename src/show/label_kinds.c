/* THE TABLE of labels: what the label panel (L) lists. To add one: have a column for it
 * in labels.c, and add a line to the table below. Their texts in the flowing form are
 * those of rp's explorer. */
#include "base/base.h"
#include "show/labels.h"
#include "show/run_text.h"
#include "text/number.h"

/* The cell of a column behind a word; nothing where the cell is empty. */
static void flow_cell(struct buf *to, const char *word, const char *column,
                      const struct show *show, const struct row *row)
{
    size_t begin = to->len, word_end;

    buf_text(to, word);
    word_end = to->len;
    column_find(str_of(column))->cell(to, show, row);
    if (to->len == word_end)
        to->len = begin;
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

static void calls_flow(struct buf *to, const struct show *show, const struct row *row)
{
    uint64_t calls = row_run(show, row, RUN_CALLS);

    if (calls == 0)
        return;
    buf_char(to, '(');
    run_count(to, calls, "call", "calls");
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

#define STAYS 255
#define ON    true
#define OFF   false
#define RUN   true
#define ANY   false

/* The number before the last says what goes where there is little room, the lowest
 * first: averages, own values, FLOPs, dtype, device, (bars), shares, calls, in, out,
 * memory, params. */
/* clang-format off */
const struct label_kind label_kinds[] = {
    {"aligned",   "Alignment",             'A', ON,  NULL,        0, 0, NULL, ANY},
    {"device",    "Device",                'd', OFF, "device",    0, 5, NULL, ANY},
    {"dtype",     "Data type",             'd', OFF, "dtype",     0, 4, NULL, ANY},
    {"params",    "Parameter count",       'p', ON,  "params",    8, 12, NULL, ANY},
    {"percent",   "Parameter share",       'p', ON,  "percent",   4, 7, NULL, ANY},
    {"trainable", "Trainable",             'p', OFF, "trainable", 0, 5, NULL, ANY},
    {"memory",    "Memory",                'b', ON,  "memory",    8, 11, NULL, ANY},
    {"in_mem",    "Input memory",          0,   OFF, "in_mem",    8, 2, in_memory_flow, RUN},
    {"out_mem",   "Output memory",         0,   OFF, "out_mem",   8, 2, out_memory_flow, RUN},
    {"in",        "Input shapes (italic)", 'f', OFF, "in",        0, 9, in_flow, RUN},
    {"out",       "Output shapes",         'f', OFF, "out",       0, 10, out_flow, RUN},
    {"calls",     "Calls",                 'f', OFF, "calls",     5, 8, calls_flow, RUN},
    {"self",      "Own time",              'r', OFF, "self",      9, 2, self_flow, RUN},
    {"time%",     "Time share",            'r', OFF, "time%",     4, 7, NULL, RUN},
    {"time",      "Total time",            'r', ON,  "time",      9, STAYS, NULL, RUN},
    {"average",   "Average time",          'r', OFF, "average",   9, 1, average_flow, RUN},
    {"outmean",   "Output mean",           0,   OFF, "outmean",   10, 2, NULL, RUN},
    {"outstd",    "Output std",            0,   OFF, "outstd",    10, 2, NULL, RUN},
    {"name",      "Name",                  0,   ON,  NULL,        0, 0, NULL, ANY},
    {"type",      "Type",                  0,   ON,  NULL,        0, 0, NULL, ANY},
    {"args",      "Arguments",             0,   ON,  NULL,        0, 0, NULL, ANY},
    {"shapes",    "Shapes",                't', OFF, "shapes",    0, 1, NULL, ANY},
};
/* clang-format on */
const size_t n_label_kinds = COUNT_OF(label_kinds);

int label_kind_find(struct str id)
{
    if (str_is(id, "%"))
        id = STR("percent");
    for (size_t i = 0; i < n_label_kinds; i++)
        if (str_is(id, label_kinds[i].id))
            return (int)i;
    return -1;
}

void label_flow(struct buf *to, const struct label_kind *kind, const struct show *show,
                const struct row *row)
{
    if (kind->flow)
        kind->flow(to, show, row);
    else if (kind->column)
        column_find(str_of(kind->column))->cell(to, show, row);
}
