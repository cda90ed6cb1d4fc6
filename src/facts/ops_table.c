#include "facts/ops_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "rows/layout.h"
#include "run/op_table.h"
#include "study/program_use.h"
#include "text/text.h"

#define LEAST_NAME 24 /* cells; columns are dropped before names get narrower */

enum use_column { FAMILY, COUNT, TIME, SHARE, FLOPS, MEMORY, FIRST, COLUMNS };

/* The columns after the name. */
static const struct column ops_columns[COLUMNS] = {
    [FAMILY] = {.id = "family", .header = "family", .rank = 1},
    [COUNT] = {.id = "count", .header = "count", .right = true, .rank = LAYOUT_STAYS},
    [TIME] = {.id = "time", .header = "time", .right = true, .rank = LAYOUT_STAYS},
    [SHARE] = {.id = "share", .header = "share", .right = true, .rank = 4},
    [FLOPS] = {.id = "flops", .header = "FLOPs", .right = true, .rank = 5},
    [MEMORY] = {.id = "memory", .header = "memory", .right = true, .rank = 2},
    [FIRST] = {.id = "first", .header = "first", .rank = 3},
};

/* ---- cells ---- */

void ops_table_name(struct buf *to, const struct op_use *use)
{
    escape_terminal(to, use->name);
    if (use->overload.len > 0) {
        buf_char(to, '.');
        escape_terminal(to, use->overload);
    }
}

/* The first position of an operation in a file. */
static void program_first(struct buf *to, const struct model *model,
                          const struct op_use *use)
{
    const struct program_op *op = &model->program->ops[use->first];
    struct buf text = BUF_INIT;

    place_path(model, use->place, &text);
    escape_terminal(to, text.len > 0 ? buf_span(&text) : STR("(root)"));
    buf_clear(&text);
    if (program_line(&text, model, op->file, op->line)) {
        buf_char(to, ' ');
        escape_terminal(to, buf_span(&text));
    }
    buf_release(&text);
}

void ops_table_first(struct buf *to, const struct run *run, const struct op_use *use)
{
    struct buf path = BUF_INIT;

    if (use->place < run->model->n_places) {
        place_path(run->model, use->place, &path);
        escape_terminal(to, path.len > 0 ? buf_span(&path) : STR("(root)"));
    } else {
        buf_text(to, "outside");
    }
    if (use->line) {
        buf_char(to, ' ');
        escape_terminal(to, run_string(run, use->line));
    }
    buf_release(&path);
}

/* A sum without any known value is unknown, not zero. */
static void add_flops(struct buf *to, const struct op_sum *sum)
{
    if (sum->unknown < sum->count)
        text_flops(to, sum->flops);
    else
        buf_char(to, '-');
}

static enum op_family family_of(const struct op_use_table *table,
                                const struct op_use *use)
{
    if (!table->run)
        return op_family_of(use->name);
    return (enum op_family)table->run->ops->kinds[use->kind].family;
}

static void add_cell(struct buf *to, const struct op_use_table *table,
                     const struct op_use *use, enum use_column column)
{
    switch (column) {
    case FAMILY:
        buf_text(to, op_family_name(family_of(table, use)));
        break;
    case COUNT:
        text_commas(to, use->sum.count);
        break;
    case TIME:
        if (table->uses->sum.ns > 0)
            text_time(to, (double)use->sum.ns * 1e-9);
        else
            buf_char(to, '-');
        break;
    case SHARE:
        if (table->uses->sum.ns > 0)
            text_percent(to, (double)use->sum.ns, (double)table->uses->sum.ns);
        break;
    case FLOPS:
        add_flops(to, &use->sum);
        break;
    case MEMORY:
        text_bytes(to, use->sum.new_bytes);
        break;
    case FIRST:
        if (table->run)
            ops_table_first(to, table->run, use);
        else
            program_first(to, table->model, use);
        break;
    case COLUMNS:
        break;
    }
}

/* ---- rows ---- */

/* The table being written. Cells are made once and stored one after the other. */
struct ops_lines {
    const struct op_use_table *table;
    uint32_t n;
    struct table_layout layout;
    struct layout_column columns[COLUMNS];
    enum use_column which[COLUMNS];
    unsigned n_columns;
    struct buf text;
    uint32_t *ends; /* of each text: for each row its name, then the columns */
};

static struct str text_at(const struct ops_lines *lines, size_t i)
{
    size_t begin = i > 0 ? lines->ends[i - 1] : 0;

    return str_span(lines->text.at + begin, lines->ends[i] - begin);
}

/* In ASCII a text may be wider, so it is converted before it is measured. */
static size_t end_text(struct ops_lines *lines, size_t i, struct buf *text)
{
    if (lines->table->ascii)
        glyph_to_ascii(&lines->text, buf_cstr(text), text->len);
    else
        buf_str(&lines->text, buf_span(text));
    lines->ends[i] = (uint32_t)lines->text.len;
    buf_clear(text);
    return text_width(text_at(lines, i));
}

static void make_row(struct ops_lines *lines, uint32_t row)
{
    const struct op_use *use = &lines->table->uses->at[row];
    size_t first = (size_t)row * (lines->n_columns + 1), cells;
    struct buf text = BUF_INIT;

    ops_table_name(&text, use);
    cells = end_text(lines, first, &text);
    if (cells > lines->layout.label)
        lines->layout.label = (unsigned)cells;
    for (unsigned c = 0; c < lines->n_columns; c++) {
        add_cell(&text, lines->table, use, lines->which[c]);
        layout_widen(&lines->columns[c], end_text(lines, first + 1 + c, &text));
    }
    buf_release(&text);
}

/* A file has no times and no memory. */
static void choose_columns(struct ops_lines *lines)
{
    for (int c = 0; c < COLUMNS; c++)
        if (lines->table->run || (c != TIME && c != SHARE && c != MEMORY))
            lines->which[lines->n_columns++] = (enum use_column)c;
}

static void make_rows(struct ops_lines *lines)
{
    struct table_layout *layout = &lines->layout;

    layout->at = lines->columns;
    for (unsigned c = 0; c < lines->n_columns; c++)
        layout_widen(layout_add(layout, &ops_columns[lines->which[c]]),
                     strlen(ops_columns[lines->which[c]].header));
    for (uint32_t i = 0; i < lines->n; i++)
        make_row(lines, i);
    if (layout->label < layout->least_label)
        layout->least_label = layout->label;
    layout_fit(layout);
    if (layout->label < layout->least_label)
        layout->label = layout->least_label; /* wider than the space available */
}

static void add_row(struct buf *line, const struct ops_lines *lines, uint32_t row)
{
    size_t first = (size_t)row * (lines->n_columns + 1), label = lines->layout.label;
    struct buf text = BUF_INIT;

    figure_cut(&text, FIGURE_TEXT, text_at(lines, first), label, lines->table->ascii);
    text_pad(line, buf_span(&text), label);
    for (unsigned c = 0; c < lines->n_columns; c++)
        layout_put(line, &lines->layout, c, text_at(lines, first + 1 + c), COLOUR_NONE);
    buf_release(&text);
}

int ops_table_text(struct out *out, const struct op_use_table *table, struct err *err)
{
    struct ops_lines lines = {.table = table,
                              .n = table->uses->n < table->top ? table->uses->n
                                                               : table->top,
                              .layout = {.width = table->width,
                                         .gap = 2,
                                         .label = (unsigned)strlen("name"),
                                         .least_label = LEAST_NAME,
                                         .ascii = table->ascii,
                                         .isolate = table->isolate}};
    struct buf line = BUF_INIT;

    choose_columns(&lines);
    lines.ends =
        malloc(((size_t)lines.n * (lines.n_columns + 1) + 1) * sizeof *lines.ends);
    if (!lines.ends)
        return err_set(err, ERR_LIMIT, "no memory left for the table");
    make_rows(&lines);
    layout_put_header(&line, &lines.layout);
    layout_end_line(out, &lines.layout, &line);
    for (uint32_t i = 0; i < lines.n; i++) {
        add_row(&line, &lines, i);
        layout_end_line(out, &lines.layout, &line);
    }
    buf_release(&line);
    buf_release(&lines.text);
    free(lines.ends);
    return 0;
}

/* ---- sums ---- */

/* "forward 12.30ms, 8.2G FLOPs" */
static void add_phase(struct buf *to, enum op_phase phase, const struct op_sum *sum)
{
    const char *between = " ";

    buf_text(to, op_phase_name(phase));
    if (sum->ns > 0) {
        buf_char(to, ' ');
        text_time(to, (double)sum->ns * 1e-9);
        between = ", ";
    }
    if (sum->unknown < sum->count) {
        buf_text(to, between);
        text_flops(to, sum->flops);
        buf_text(to, " FLOPs");
    }
}

/* One line, if there is more than one phase. */
static void add_phases(struct buf *to, const struct run *run, unsigned phases)
{
    struct op_sum sums[OP_PHASES];
    struct buf line = BUF_INIT;
    int n = 0;

    op_use_phases(run, sums);
    for (int i = 0; i < OP_PHASES; i++) {
        if (sums[i].count == 0 || !(phases & 1u << i))
            continue;
        buf_text(&line, n++ ? "; " : "");
        add_phase(&line, (enum op_phase)i, &sums[i]);
    }
    buf_char(&line, '\n');
    if (n > 1)
        buf_str(to, buf_span(&line));
    buf_release(&line);
}

void ops_table_coverage(struct buf *to, const struct op_sum *sum)
{
    text_commas(to, sum->count - sum->unknown);
    buf_text(to, " of ");
    text_plural(to, sum->count, "operation", "operations");
    buf_text(to, sum->count == 1 ? " has a FLOPs formula" : " have a FLOPs formula");
    if (sum->matrix == 0) {
        buf_text(to, "; there is no matrix work");
    } else if (sum->matrix_unknown == 0) {
        buf_text(to, ": 100% of the matrix work");
    } else {
        buf_text(to, "; ");
        text_commas(to, sum->matrix_unknown);
        buf_text(to, " of ");
        text_plural(to, sum->matrix, "matrix operation", "matrix operations");
        buf_text(to, sum->matrix_unknown == 1 ? " has none" : " have none");
    }
}

void ops_table_sums(struct buf *to, const struct run *run,
                    const struct op_use_list *uses, unsigned phases)
{
    const struct op_sum *sum = &uses->sum;

    text_plural(to, sum->count, "operation", "operations");
    buf_text(to, " of ");
    text_plural(to, uses->n, "kind", "kinds");
    buf_text(to, ", ");
    if (sum->ns > 0)
        text_time(to, (double)sum->ns * 1e-9);
    else
        buf_text(to, "times not measured");
    buf_text(to, ", ");
    text_bytes(to, sum->new_bytes);
    buf_text(to, " allocated");
    if (sum->unknown < sum->count) {
        buf_text(to, ", ");
        text_flops(to, sum->flops);
        buf_text(to, " FLOPs");
    }
    buf_char(to, '\n');
    add_phases(to, run, phases);
    if (sum->count > 0) {
        ops_table_coverage(to, sum);
        buf_char(to, '\n');
    }
    if (run->ops->lost > 0) {
        text_plural(to, run->ops->lost, "operation", "operations");
        buf_text(to, " beyond the limit of the recording: counted here, not listed "
                     "one by one\n");
    }
}
