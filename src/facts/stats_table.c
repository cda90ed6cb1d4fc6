#include "facts/stats_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "facts/statistics.h"
#include "rows/layout.h"
#include "text/text.h"

#define LEAST_NAME 24 /* cells; columns are dropped before names get narrower */

/* ---- columns ---- */

enum stats_column {
    SHAPE,
    DTYPE,
    MIN,
    MAX,
    MEAN,
    STD,
    L2,
    NANS,
    INFS,
    ZEROS,
    SHOWN,
    NUMEL = SHOWN, /* this and the next are sort keys only */
    BYTES,
    COLUMNS
};

/* The columns after the name. Ranks give the order of dropping: L2, zeros, dtype,
 * shape, std, mean. */
static const struct column stats_columns[COLUMNS] = {
    [SHAPE] = {.id = "shape", .header = "shape", .right = true, .rank = 4},
    [DTYPE] = {.id = "dtype", .header = "dtype", .rank = 3},
    [MIN] = {.id = "min", .header = "min", .right = true, .rank = LAYOUT_STAYS},
    [MAX] = {.id = "max", .header = "max", .right = true, .rank = LAYOUT_STAYS},
    [MEAN] = {.id = "mean", .header = "mean", .right = true, .rank = 6},
    [STD] = {.id = "std", .header = "std", .right = true, .rank = 5},
    [L2] = {.id = "l2", .header = "L2", .right = true, .rank = 1},
    [NANS] = {.id = "nan", .header = "NaN", .right = true, .rank = LAYOUT_STAYS},
    [INFS] = {.id = "inf", .header = "Inf", .right = true, .rank = LAYOUT_STAYS},
    [ZEROS] = {.id = "zeros", .header = "zeros", .right = true, .rank = 2},
    [NUMEL] = {.id = "numel"},
    [BYTES] = {.id = "bytes"},
};

/* The number of a column; NaN: none. `stats` may be NULL. */
static double number_of(enum stats_column column, const struct tensor *tensor,
                        const struct stats *stats)
{
    if (column == NUMEL || column == BYTES)
        return (double)(column == NUMEL ? tensor->numel : tensor_own_bytes(tensor));
    if (!stats || (column < NANS && !stats_measured(stats)))
        return NAN;
    switch (column) {
    case MIN:
        return stats->min;
    case MAX:
        return stats->max;
    case MEAN:
        return stats->mean;
    case STD:
        return stats_std(stats);
    case L2:
        return stats_l2(stats);
    case NANS:
        return (double)stats->nan;
    case INFS:
        return (double)(stats->pos_inf + stats->neg_inf);
    case ZEROS:
        return (double)stats->zeros;
    default:
        return NAN;
    }
}

/* ---- cells ---- */

/* The table being written. Cells are made once and stored one after the other. */
struct stats_lines {
    const struct stats_table *table;
    struct table_layout layout;
    struct layout_column columns[SHOWN];
    struct buf text;
    uint32_t *ends; /* of each text: for each row its name, then the columns */
};

static void add_name(struct buf *to, const struct model *model, uint32_t place)
{
    struct buf path = BUF_INIT;

    place_path(model, place, &path);
    escape_terminal(to, path.len > 0 ? buf_span(&path) : STR("\"\""));
    buf_release(&path);
}

/* In ASCII a text may be wider, so it is converted before it is measured. */
static void add_fit(struct buf *to, const struct buf *text, bool ascii)
{
    if (ascii)
        glyph_to_ascii(to, buf_cstr(text), text->len);
    else
        buf_str(to, buf_span(text));
}

/* Integers stay integers as long as they are short; other numbers have four digits. */
static void add_number(struct buf *to, enum stats_column column, double number,
                       const struct stats *stats)
{
    if (isnan(number))
        return;
    if (column >= NANS || (column != L2 && stats->kind != STATS_REAL &&
                           number == floor(number) && fabs(number) < 1e7))
        buf_printf(to, "%.0f", number);
    else
        text_real(to, number);
}

static void add_cell(struct buf *to, const struct show *show, uint32_t place,
                     enum stats_column column)
{
    const struct tensor *tensor = place_tensor(show->model, place);
    const struct stats *stats =
        session_known(show->session, show->model->object[place]);

    if (column == SHAPE)
        text_shape(to, tensor_shape(show->model, tensor), tensor->rank);
    else if (column == DTYPE)
        buf_text(to, dtype_name(tensor->dtype));
    else
        add_number(to, column, number_of(column, tensor, stats), stats);
}

static struct str text_at(const struct stats_lines *lines, size_t i)
{
    size_t begin = i > 0 ? lines->ends[i - 1] : 0;

    return str_span(lines->text.at + begin, lines->ends[i] - begin);
}

static void make_row(struct stats_lines *lines, uint32_t row)
{
    const struct stats_table *table = lines->table;
    size_t first = row * (SHOWN + 1), name;
    struct buf text = BUF_INIT;

    add_name(&text, table->show->model, table->places[row]);
    add_fit(&lines->text, &text, table->ascii);
    lines->ends[first] = (uint32_t)lines->text.len;
    name = text_width(text_at(lines, first));
    if (name > lines->layout.label)
        lines->layout.label = (unsigned)name;
    for (unsigned c = 0; c < SHOWN; c++) {
        buf_clear(&text);
        add_cell(&text, table->show, table->places[row], (enum stats_column)c);
        add_fit(&lines->text, &text, table->ascii);
        lines->ends[first + 1 + c] = (uint32_t)lines->text.len;
        layout_widen(&lines->columns[c], text_width(text_at(lines, first + 1 + c)));
    }
    buf_release(&text);
}

static void make_rows(struct stats_lines *lines)
{
    lines->layout.at = lines->columns;
    for (unsigned c = 0; c < SHOWN; c++)
        layout_widen(layout_add(&lines->layout, &stats_columns[c]),
                     strlen(stats_columns[c].header));
    for (uint32_t i = 0; i < lines->table->n; i++)
        make_row(lines, i);
    if (lines->layout.label < lines->layout.least_label)
        lines->layout.least_label = lines->layout.label;
    layout_fit(&lines->layout);
    if (lines->layout.label < lines->layout.least_label)
        lines->layout.label = lines->layout.least_label; /* wider than the space
                                                            available */
}

/* ---- lines ---- */

/* "2^-12 ▁▂▄█▃ 2^1" */
static void add_exponents(struct buf *to, const struct exponents *exponents, bool ascii)
{
    if (!exponents || exponents->n == 0)
        return;
    buf_printf(to, "  2^%d ", exponents->first);
    statistics_columns(to, exponents->counts, exponents->n, ascii);
    buf_printf(to, " 2^%d", exponents->first + (int)exponents->n);
}

/* The text after the columns: why a tensor was not measured, its exponents and digest,
 * its ties. */
static void add_rest(struct buf *line, const struct stats_table *table, uint32_t place)
{
    const struct session *session = table->show->session;
    uint32_t tensor = session->model->object[place];

    if (session_why(session, tensor)) {
        buf_text(line, "  ");
        escape_terminal(line, str_of(session_why(session, tensor)));
    }
    if (table->exponents)
        add_exponents(line, session_exponents(session, tensor), table->ascii);
    if (session_sha256(session, tensor))
        buf_printf(line, "  %s", session_sha256(session, tensor));
    if (!counts_here(session->model, place)) {
        buf_text(line, "  tied to ");
        add_name(line, session->model, session->model->tensors[tensor].place);
    }
}

static void add_row(struct buf *line, const struct stats_lines *lines, uint32_t row)
{
    const struct stats_table *table = lines->table;
    size_t first = row * (SHOWN + 1), label = lines->layout.label;
    uint32_t tensor = table->show->model->object[table->places[row]];
    bool why = session_why(table->show->session, tensor) != NULL;
    struct buf text = BUF_INIT;

    figure_cut(&text, FIGURE_NAME, text_at(lines, first), label, table->ascii);
    text_pad(line, buf_span(&text), label);
    for (unsigned c = 0; c < (why ? MIN : SHOWN); c++)
        layout_put(line, &lines->layout, c, text_at(lines, first + 1 + c), COLOUR_NONE);
    buf_clear(&text);
    add_rest(&text, table, table->places[row]);
    add_fit(line, &text, table->ascii);
    buf_release(&text);
}

int stats_table_text(struct out *out, const struct stats_table *table, struct err *err)
{
    struct stats_lines lines = {.table = table,
                                .layout = {.width = table->width,
                                           .gap = 2,
                                           .label = (unsigned)strlen("name"),
                                           .least_label = LEAST_NAME,
                                           .ascii = table->ascii,
                                           .isolate = table->isolate}};
    struct buf line = BUF_INIT;

    lines.ends = malloc(((size_t)table->n * (SHOWN + 1) + 1) * sizeof *lines.ends);
    if (!lines.ends)
        return err_set(err, ERR_LIMIT, "no memory left for the table");
    make_rows(&lines);
    layout_put_header(&line, &lines.layout);
    buf_text(&line, table->exponents ? "  exponents" : "");
    layout_end_line(out, &lines.layout, &line);
    for (uint32_t i = 0; i < table->n; i++) {
        add_row(&line, &lines, i);
        layout_end_line(out, &lines.layout, &line);
    }
    buf_release(&line);
    buf_release(&lines.text);
    free(lines.ends);
    return 0;
}

/* ---- order ---- */

struct keyed {
    uint32_t place, index;
    double number;   /* greatest first */
    struct str name; /* by name: smallest first */
};

static int compare_keyed(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    int names = x->name.at && y->name.at ? str_cmp(x->name, y->name) : 0;

    if (names != 0)
        return names;
    if (x->number != y->number)
        return x->number > y->number ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static struct str kept_path(const struct model *model, uint32_t place,
                            struct arena *arena)
{
    struct buf path = BUF_INIT;
    struct str kept;

    place_path(model, place, &path);
    kept = arena_str(arena, buf_span(&path));
    buf_release(&path);
    return kept;
}

int stats_table_sort(const struct show *show, uint32_t *places, uint32_t n,
                     struct str key, struct arena *arena, struct err *err)
{
    struct keyed *keyed = arena_array(arena, (size_t)n + 1, sizeof *keyed);
    int column = 0;

    if (!keyed)
        return arena_err(arena, "sorting", err);
    while (column < COLUMNS && !str_is(key, stats_columns[column].id))
        column++;
    for (uint32_t i = 0; i < n; i++) {
        double number =
            number_of((enum stats_column)column, place_tensor(show->model, places[i]),
                      session_known(show->session, show->model->object[places[i]]));

        keyed[i] = (struct keyed){.place = places[i], .index = i};
        keyed[i].number = isnan(number) ? -INFINITY : number;
        if (str_is(key, "name"))
            keyed[i].name = kept_path(show->model, places[i], arena);
    }
    if (arena->spent)
        return arena_err(arena, "sorting", err);
    qsort(keyed, n, sizeof *keyed, compare_keyed);
    for (uint32_t i = 0; i < n; i++)
        places[i] = keyed[i].place;
    return 0;
}
