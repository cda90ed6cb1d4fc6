#include "facts/stats_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "facts/statistics.h"
#include "text/text.h"

/* ---- columns ---- */

struct stats_column {
    const char *key, *header;
    bool right;
    bool finite; /* says something only where something is finite */
    double (*number)(const struct tensor *tensor, const struct stats *stats);
};

static double get_min(const struct tensor *tensor, const struct stats *stats)
{
    (void)tensor;
    return stats->min;
}

static double get_max(const struct tensor *tensor, const struct stats *stats)
{
    (void)tensor;
    return stats->max;
}

static double get_mean(const struct tensor *tensor, const struct stats *stats)
{
    (void)tensor;
    return stats->mean;
}

static double get_std(const struct tensor *tensor, const struct stats *stats)
{
    (void)tensor;
    return stats_std(stats);
}

static double get_l2(const struct tensor *tensor, const struct stats *stats)
{
    (void)tensor;
    return stats_l2(stats);
}

static double get_nan(const struct tensor *tensor, const struct stats *stats)
{
    (void)tensor;
    return (double)stats->nan;
}

static double get_inf(const struct tensor *tensor, const struct stats *stats)
{
    (void)tensor;
    return (double)(stats->pos_inf + stats->neg_inf);
}

static double get_zeros(const struct tensor *tensor, const struct stats *stats)
{
    (void)tensor;
    return (double)stats->zeros;
}

static double get_numel(const struct tensor *tensor, const struct stats *stats)
{
    (void)stats;
    return (double)tensor->numel;
}

static double get_bytes(const struct tensor *tensor, const struct stats *stats)
{
    (void)stats;
    return (double)tensor_bytes(tensor);
}

/* Name, shape and dtype come first; these follow. */
static const struct stats_column stats_columns[] = {
    {"min", "min", true, true, get_min},     {"max", "max", true, true, get_max},
    {"mean", "mean", true, true, get_mean},  {"std", "std", true, true, get_std},
    {"l2", "L2", true, true, get_l2},        {"nan", "NaN", true, false, get_nan},
    {"inf", "Inf", true, false, get_inf},    {"zeros", "zeros", true, false, get_zeros},
    {"numel", NULL, true, false, get_numel}, {"bytes", NULL, true, false, get_bytes},
};

/* The last two are only keys to sort by. */
#define SHOWN  (COUNT_OF(stats_columns) - 2)
#define FIELDS (3 + SHOWN)

/* Where there is little room these go, the first one first: L2, zeros, dtype, shape,
 * std, mean. */
static const uint8_t least_fields[] = {7, 10, 2, 1, 6, 5};
#define LEAST_NAME 24 /* cells; before names get narrower, fields go */

/* ---- cells ---- */

static void add_name(struct buf *to, const struct model *model, uint32_t place)
{
    struct buf path = BUF_INIT;

    place_path(model, place, &path);
    escape_terminal(to, path.len > 0 ? buf_span(&path) : STR("\"\""));
    buf_release(&path);
}

/* Integers stay integers as long as they are short; else four digits. */
static void add_number(struct buf *to, const struct stats_column *column,
                       const struct tensor *tensor, const struct stats *stats)
{
    double number = column->number(tensor, stats);

    if (column->finite && !stats_measured(stats))
        return;
    if (!column->finite || (stats->kind != STATS_REAL && number == floor(number) &&
                            fabs(number) < 1e7 && column->number != get_l2))
        buf_printf(to, "%.0f", number);
    else if (!isnan(number))
        text_real(to, number);
}

/* A name in ASCII may be wider than it was, so it is turned before it is measured. */
static void add_ascii_name(struct buf *to, const struct model *model, uint32_t place)
{
    struct buf name = BUF_INIT;

    add_name(&name, model, place);
    glyph_to_ascii(to, buf_cstr(&name), name.len);
    buf_release(&name);
}

static void field_text(struct buf *to, const struct stats_table *table, uint32_t place,
                       size_t field)
{
    const struct model *model = table->show->model;
    const struct tensor *tensor = place_tensor(model, place);
    const struct stats *stats =
        session_known(table->show->session, model->object[place]);

    buf_clear(to);
    if (field == 0 && table->ascii)
        add_ascii_name(to, model, place);
    else if (field == 0)
        add_name(to, model, place);
    else if (field == 1 && tensor->rank == 0)
        buf_text(to, "scalar");
    else if (field == 1)
        text_shape(to, tensor_shape(model, tensor), tensor->rank);
    else if (field == 2)
        buf_text(to, dtype_name(tensor->dtype));
    else if (stats)
        add_number(to, &stats_columns[field - 3], tensor, stats);
}

static const char *field_header(size_t field)
{
    static const char *const first[] = {"name", "shape", "dtype"};

    return field < 3 ? first[field] : stats_columns[field - 3].header;
}

/* "2^-12 ▁▂▄█▃ 2^1" */
static void add_exponents(struct buf *to, const struct exponents *exponents, bool ascii)
{
    if (!exponents || exponents->n == 0)
        return;
    buf_printf(to, "  2^%d ", exponents->first);
    statistics_columns(to, exponents->counts, exponents->n, ascii);
    buf_printf(to, " 2^%d", exponents->first + (int)exponents->n);
}

/* ---- lines ---- */

/* The cells of all fields but the name. Those of width 0 are left out. */
static size_t rest_width(const size_t widths[FIELDS])
{
    size_t rest = 0;

    for (size_t f = 1; f < FIELDS; f++)
        rest += widths[f] > 0 ? widths[f] + 2 : 0;
    return rest;
}

/* Leave out fields, then shorten names, until the table is as wide as it may be. */
static void fit_fields(const struct stats_table *table, size_t widths[FIELDS])
{
    size_t least = widths[0] < LEAST_NAME ? widths[0] : LEAST_NAME, rest;

    if (table->width == 0)
        return;
    for (size_t i = 0; i < COUNT_OF(least_fields); i++)
        if (rest_width(widths) + least > table->width)
            widths[least_fields[i]] = 0;
    rest = rest_width(widths);
    if (rest + widths[0] > table->width)
        widths[0] = table->width > rest + least ? table->width - rest : least;
}

static void measure_fields(const struct stats_table *table, size_t widths[FIELDS])
{
    struct buf text = BUF_INIT;

    for (size_t f = 0; f < FIELDS; f++)
        widths[f] = strlen(field_header(f));
    for (uint32_t i = 0; i < table->n; i++) {
        for (size_t f = 0; f < FIELDS; f++) {
            size_t cells;

            field_text(&text, table, table->places[i], f);
            cells = text_width(buf_span(&text));
            widths[f] = cells > widths[f] ? cells : widths[f];
        }
    }
    fit_fields(table, widths);
    buf_release(&text);
}

static void add_field(struct buf *to, struct str text, size_t field, size_t width,
                      bool ascii)
{
    if (field == 0) {
        struct buf cut = BUF_INIT;

        text_cut_front(&cut, text, width, glyph(GLYPH_ELLIPSIS, ascii));
        text_pad(to, buf_span(&cut), width);
        buf_release(&cut);
        return;
    }
    if (width == 0)
        return;
    buf_text(to, "  ");
    if (field == 2)
        text_pad(to, text, width);
    else
        text_pad_left(to, text, width);
}

static void trim_end(struct buf *line)
{
    while (line->len > 0 && line->at[line->len - 1] == ' ')
        line->at[--line->len] = '\0';
}

static void row_line(struct buf *line, const struct stats_table *table, uint32_t place,
                     const size_t widths[FIELDS])
{
    const struct session *session = table->show->session;
    uint32_t tensor = session->model->object[place];
    const char *why = session_why(session, tensor);
    struct buf text = BUF_INIT;

    for (size_t f = 0; f < (why ? 3 : FIELDS); f++) {
        field_text(&text, table, place, f);
        add_field(line, buf_span(&text), f, widths[f], table->ascii);
    }
    if (why) {
        buf_text(line, "  ");
        escape_terminal(line, str_of(why));
    }
    if (table->exponents)
        add_exponents(line, session_exponents(session, tensor), table->ascii);
    if (session_sha256(session, tensor))
        buf_printf(line, "  %s", session_sha256(session, tensor));
    if (!counts_here(session->model, place)) {
        buf_text(line, "  tied to ");
        add_name(line, session->model, session->model->tensors[tensor].place);
    }
    trim_end(line);
    buf_release(&text);
}

static void write_line(struct out *out, const struct stats_table *table,
                       struct buf *line)
{
    struct buf fit = BUF_INIT;

    buf_char(line, '\n');
    if (table->ascii)
        glyph_to_ascii(&fit, buf_cstr(line), line->len);
    else if (table->isolate)
        escape_isolate(&fit, buf_span(line));
    out_str(out, table->ascii || table->isolate ? buf_span(&fit) : buf_span(line));
    buf_clear(line);
    buf_release(&fit);
}

/* Behind "name", how many fields there was no room for. */
static void header_line(struct buf *line, const struct stats_table *table,
                        const size_t widths[FIELDS])
{
    struct buf name = BUF_INIT;
    size_t hidden = 0;

    for (size_t f = 1; f < FIELDS; f++)
        hidden += widths[f] == 0;
    buf_text(&name, field_header(0));
    if (hidden > 0)
        buf_printf(&name, " %s%zu", table->ascii ? ">" : "»", hidden);
    add_field(line, buf_span(&name), 0, widths[0], table->ascii);
    for (size_t f = 1; f < FIELDS; f++)
        add_field(line, str_of(field_header(f)), f, widths[f], table->ascii);
    if (table->exponents)
        buf_text(line, "  exponents");
    trim_end(line);
    buf_release(&name);
}

void stats_table_text(struct out *out, const struct stats_table *table)
{
    size_t widths[FIELDS];
    struct buf line = BUF_INIT;

    measure_fields(table, widths);
    header_line(&line, table, widths);
    write_line(out, table, &line);
    for (uint32_t i = 0; i < table->n; i++) {
        row_line(&line, table, table->places[i], widths);
        write_line(out, table, &line);
    }
    buf_release(&line);
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

static double sort_number(const struct show *show, uint32_t place,
                          const struct stats_column *column)
{
    const struct stats *stats =
        session_known(show->session, show->model->object[place]);
    double number = -INFINITY;

    if (column && (stats || !column->header))
        number = column->number(place_tensor(show->model, place), stats);
    return isnan(number) ? -INFINITY : number;
}

int stats_table_sort(const struct show *show, uint32_t *places, uint32_t n,
                     struct str key, struct arena *arena, struct err *err)
{
    struct keyed *keyed = arena_array(arena, (size_t)n + 1, sizeof *keyed);
    const struct stats_column *column = NULL;

    if (!keyed)
        return arena_err(arena, "sorting", err);
    for (size_t i = 0; i < COUNT_OF(stats_columns); i++) {
        if (str_is(key, stats_columns[i].key))
            column = &stats_columns[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        keyed[i] = (struct keyed){.place = places[i], .index = i};
        keyed[i].number = sort_number(show, places[i], column);
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
