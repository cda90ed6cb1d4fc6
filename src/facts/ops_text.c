#include "facts/ops_text.h"

#include <stdlib.h>

#include "base/base.h"
#include "rows/run_words.h"
#include "text/text.h"

/* ---- sums of a place ---- */

void ops_text_coverage(struct facts *to, const struct op_sum *sum)
{
    buf_text(&to->text, "by ");
    fact_count(to, "counted", sum->count - sum->unknown);
    buf_text(&to->text, " of ");
    fact_plural(to, "operations", sum->count, "operation", "operations");
    if (sum->matrix_unknown == 0) {
        buf_text(&to->text, ", all matrix work");
        return;
    }
    buf_text(&to->text, ", ");
    fact_share(to, "coverage", sum->matrix - sum->matrix_unknown, sum->matrix);
    buf_text(&to->text, " of those that do matrix work");
}

void ops_text_flops(struct facts *to, const struct op_sum *sum)
{
    struct figure figure;

    if (sum->matrix == 0 && sum->flops == 0) {
        buf_text(&to->text, "none: no matrix work in ");
        fact_plural(to, "operations", sum->count, "operation", "operations");
        return;
    }
    if (sum->unknown == sum->count) {
        buf_text(&to->text, "unknown: no formula for ");
        fact_plural(to, "matrix", sum->matrix, "operation that does matrix work",
                    "operations that do matrix work");
        return;
    }
    buf_text(&to->text, sum->matrix_unknown > 0 ? "at least " : "");
    figure = fact_figure(to);
    figure_flops(&figure, sum->flops);
    fact_value(to, "flops", &figure);
    buf_char(&to->text, ' ');
    ops_text_coverage(to, sum);
}

/* "16 forward, 1 backward" or bytes: the phases that have any. */
static void phases_fact(struct facts *to, const struct op_sum sums[OP_PHASES],
                        bool bytes, const char *label)
{
    for (int phase = 0; phase < OP_PHASES; phase++) {
        uint64_t n = bytes ? sums[phase].new_bytes : sums[phase].count;

        if (n == 0)
            continue;
        buf_text(&to->text, fact_is_empty(to) ? "" : ", ");
        if (bytes)
            fact_bytes(to, op_phase_name((enum op_phase)phase), n);
        else
            fact_count(to, op_phase_name((enum op_phase)phase), n);
        buf_printf(&to->text, " %s", op_phase_name((enum op_phase)phase));
    }
    fact_end(to, label, COLOUR_NONE);
}

/* Forward, backward and recomputation separately. */
static void flops_facts(struct facts *to, const struct op_sum sums[OP_PHASES])
{
    static const char *const labels[] = {"FLOPs", ""};
    bool first = true;

    for (int phase = 0; phase < OP_OPTIMIZER; phase++) {
        const struct op_sum *sum = &sums[phase];

        if (sum->count == 0 || (phase != OP_FORWARD && sum->matrix == 0))
            continue;
        if (phase != OP_FORWARD || sums[OP_BACKWARD].count > 0)
            buf_printf(&to->text, "%s ", op_phase_name((enum op_phase)phase));
        ops_text_flops(to, sum);
        fact_end_as(to, "flops", labels[!first], COLOUR_NONE);
        first = false;
    }
}

void ops_text_facts(struct facts *to, const struct show *show, uint32_t place)
{
    struct op_sum sums[OP_PHASES];
    uint64_t count = 0;

    if (!show->ops || show->model->kind[place] != PLACE_MODULE)
        return;
    op_use_phases_at(show->session->run, place, sums);
    for (int phase = 0; phase < OP_PHASES; phase++)
        count += sums[phase].count;
    if (count == 0)
        return;
    phases_fact(to, sums, false, "operations");
    flops_facts(to, sums);
    phases_fact(to, sums, true, "allocated");
}

/* ---- the slowest ---- */

#define MOST_ROWS 16
#define LONG_NAME 20 /* cells; longer ones are cut before a column is dropped */

enum ops_column {
    COLUMN_NAME,
    COLUMN_COUNT,
    COLUMN_TIME,
    COLUMN_SHARE,
    COLUMN_FLOPS,
    COLUMN_MEMORY,
    COLUMN_PHASE,
    COLUMNS
};

struct ops_row {
    const struct op_use *use;
    enum op_phase phase;
};

struct ops_text_table {
    struct str cells[COLUMNS][1 + MOST_ROWS]; /* of the header, then of the rows */
    size_t widths[COLUMNS];
    bool dropped[COLUMNS];
    uint32_t n; /* rows, with the header */
};

static void put(struct ops_text_table *table, int column, struct arena *arena,
                struct buf *text)
{
    struct str cell = text->len > 0 ? arena_str(arena, buf_span(text)) : STR("");
    size_t width = text_width(cell);

    table->cells[column][table->n] = cell;
    if (width > table->widths[column])
        table->widths[column] = width;
    buf_clear(text);
}

static void put_header(struct ops_text_table *table, struct arena *arena,
                       struct buf *text)
{
    static const char *const headers[COLUMNS] = {
        "operations", "calls", "time", "of ops", "FLOPs", "memory", "phase"};

    for (int i = 0; i < COLUMNS; i++) {
        buf_text(text, headers[i]);
        put(table, i, arena, text);
    }
    table->n++;
}

static void put_row(struct ops_text_table *table, const struct ops_row *row,
                    uint64_t all_ns, struct arena *arena, struct buf *text)
{
    const struct op_sum *sum = &row->use->sum;
    struct str name = row->use->name;

    escape_terminal(text, str_starts(name, STR("aten::")) ? str_from(name, 6) : name);
    put(table, COLUMN_NAME, arena, text);
    text_count(text, sum->count);
    put(table, COLUMN_COUNT, arena, text);
    run_time(text, sum->ns);
    put(table, COLUMN_TIME, arena, text);
    text_percent(text, (double)sum->ns, (double)all_ns);
    put(table, COLUMN_SHARE, arena, text);
    if (sum->flops > 0) {
        buf_text(text, sum->matrix_unknown > 0 ? "≥" : "");
        text_flops(text, sum->flops);
    } else if (sum->matrix_unknown > 0) {
        buf_text(text, "unknown");
    }
    put(table, COLUMN_FLOPS, arena, text);
    if (sum->new_bytes > 0)
        text_bytes(text, sum->new_bytes);
    put(table, COLUMN_MEMORY, arena, text);
    buf_text(text, op_phase_name(row->phase));
    put(table, COLUMN_PHASE, arena, text);
    table->n++;
}

static size_t table_width(const struct ops_text_table *table, unsigned indent)
{
    size_t sum = indent;

    for (int i = 0; i < COLUMNS; i++)
        sum += table->dropped[i] ? 0 : table->widths[i] + (i > 0 ? 2 : 0);
    return sum;
}

/* Cut long names, then drop columns until it fits; then cut the names further. */
static void fit(struct ops_text_table *table, unsigned width, unsigned indent)
{
    static const int order[] = {COLUMN_MEMORY, COLUMN_COUNT, COLUMN_FLOPS, COLUMN_PHASE,
                                COLUMN_SHARE};

    if (width > 0 && table_width(table, indent) > width &&
        table->widths[COLUMN_NAME] > LONG_NAME)
        table->widths[COLUMN_NAME] = LONG_NAME;
    for (size_t i = 0; i < COUNT_OF(order) && width > 0; i++) {
        if (table_width(table, indent) <= width)
            return;
        table->dropped[order[i]] = true;
    }
    if (width > 0 && table_width(table, indent) > width) {
        size_t over = table_width(table, indent) - width;

        table->widths[COLUMN_NAME] -=
            over < table->widths[COLUMN_NAME] ? over : table->widths[COLUMN_NAME] - 1;
    }
}

static void table_line(struct lines *to, const struct ops_text_table *table,
                       uint32_t row, unsigned indent)
{
    enum colour colour = row == 0 ? COLOUR_DIM : COLOUR_NONE;
    size_t at = indent;
    struct buf cut = BUF_INIT;

    lines_pad(to, indent);
    for (int i = 0; i < COLUMNS; i++) {
        struct str cell = table->cells[i][row];
        bool right = i != COLUMN_NAME && i != COLUMN_PHASE;

        if (table->dropped[i])
            continue;
        at += i > 0 ? 2 : 0;
        buf_clear(&cut);
        text_cut_middle(&cut, cell, table->widths[i], "…");
        lines_pad(to, right ? at + table->widths[i] - text_width(buf_span(&cut)) : at);
        lines_add(to, colour, 0, buf_span(&cut));
        at += table->widths[i];
    }
    lines_end(to);
    buf_release(&cut);
}

static int slower(const void *a, const void *b)
{
    const struct ops_row *x = a, *y = b;

    if (x->use->sum.ns != y->use->sum.ns)
        return x->use->sum.ns > y->use->sum.ns ? -1 : 1;
    if (x->phase != y->phase)
        return x->phase < y->phase ? -1 : 1;
    return x->use->first < y->use->first ? -1 : x->use->first > y->use->first;
}

/* The rows of all phases, the slowest first; NULL: out of memory. */
static struct ops_row *rows_of(const struct show *show, uint32_t place,
                               struct arena *arena, uint32_t *ret_n, uint64_t *ret_ns,
                               struct err *err)
{
    struct op_use_list lists[OP_PHASES];
    struct ops_row *rows;
    uint32_t n = 0;

    *ret_ns = 0;
    for (unsigned phase = 0; phase < OP_PHASES; phase++) {
        if (op_use_at(&lists[phase], show->session->run, place, OP_USE_BY_NAME,
                      1u << phase, arena, err) < 0)
            return NULL;
        n += lists[phase].n;
        *ret_ns += lists[phase].sum.ns;
    }
    rows = arena_array(arena, (size_t)n + 1, sizeof *rows);
    if (!rows) {
        arena_err(arena, "the list of operations", err);
        return NULL;
    }
    *ret_n = 0;
    for (unsigned phase = 0; phase < OP_PHASES; phase++)
        for (uint32_t i = 0; i < lists[phase].n; i++)
            rows[(*ret_n)++] =
                (struct ops_row){&lists[phase].at[i], (enum op_phase)phase};
    qsort(rows, n, sizeof *rows, slower);
    return rows;
}

static int write_slowest(struct lines *to, const struct show *show, uint32_t place,
                         uint32_t most, unsigned width, unsigned indent,
                         struct arena *arena, struct err *err)
{
    struct ops_text_table table = {.n = 0};
    struct buf text = BUF_INIT;
    uint32_t n;
    uint64_t ns;
    struct ops_row *rows = rows_of(show, place, arena, &n, &ns, err);

    if (!rows)
        return -1;
    /* A summary measures times in a pass without operations: they have none. */
    if (n == 0 || ns == 0)
        return 0;
    most = most < MOST_ROWS ? most : MOST_ROWS;
    put_header(&table, arena, &text);
    for (uint32_t i = 0; i < n && i < most; i++)
        put_row(&table, &rows[i], ns, arena, &text);
    buf_release(&text);
    fit(&table, width, indent);
    for (uint32_t i = 0; i < table.n; i++)
        table_line(to, &table, i, indent);
    if (n > most) {
        lines_pad(to, indent);
        lines_printf(to, COLOUR_DIM, "… %u more", n - most);
        lines_end(to);
    }
    return 0;
}

int ops_text_slowest(struct lines *to, const struct show *show, uint32_t place,
                     uint32_t most, unsigned width, unsigned indent, struct err *err)
{
    struct arena arena;
    int status;

    if (!show->ops || show->model->kind[place] != PLACE_MODULE)
        return 0;
    arena_init(&arena, 0);
    status = write_slowest(to, show, place, most, width, indent, &arena, err);
    arena_release(&arena);
    return status;
}
