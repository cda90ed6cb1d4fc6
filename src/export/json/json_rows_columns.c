/* The columns of the document `rows`. */
#include "export/json/json_rows_in.h"

#include <math.h>
#include <stdio.h>

#include "base/base.h"
#include "text/nearest.h"

/* ---- which columns ---- */

/* The columns that a page shows at first, similar to the terminal's tree; others are
 * written on request. */
static bool is_usual(const struct column *column, const struct show *show)
{
    static const char *const ids[] = {"params", "memory", "time", "update", "dead"};

    if (str_is(str_of(column->id), "shapes"))
        return !show->activity && !show->step;
    if (str_is(str_of(column->id), "nan"))
        return show->activity && show->activity->spoilt_call != RUN_NONE;
    if (str_is(str_of(column->id), "grad"))
        return show->step != NULL;
    for (size_t i = 0; i < COUNT_OF(ids); i++)
        if (str_is(str_of(column->id), ids[i]))
            return true;
    return false;
}

/* Not written: bars, which pages draw, and full names, which follow from the names. */
bool export_rows_has(const struct column *column)
{
    return column->kind != FIGURE_BAR && !str_is(str_of(column->id), "path");
}

static int unknown_column(struct str id, struct err *err)
{
    char word[32];
    const char *nearest;

    snprintf(word, sizeof word, "%.*s", STR_ARG(str_head(id, 31)));
    nearest =
        text_nearest(word, &column_table[0].id, n_column_table, sizeof column_table[0]);
    return err_set(err, ERR_USAGE, "unknown column \"%s\"%s%s", word,
                   nearest ? "; did you mean " : "", nearest ? nearest : "");
}

int rows_writing_choose(struct rows_writing *w, const char *columns)
{
    struct str rest = str_of(columns), id;

    w->asked = columns != NULL;
    while (columns && str_split(&rest, ',', &id)) {
        const struct column *column = column_find(str_trim(id));

        if (!column || !export_rows_has(column))
            return unknown_column(str_trim(id), w->err);
        w->chosen[column - column_table] = true;
    }
    for (size_t i = 0; i < n_column_table && !columns; i++)
        w->chosen[i] = is_usual(&column_table[i], &w->show);
    return 0;
}

/* ---- columns ---- */

/* The number behind a cell, for sorting and bars. */
static bool number_of(const struct figure *figure, double *ret_number)
{
    switch (figure->kind) {
    case FIGURE_COUNT:
    case FIGURE_BYTES:
    case FIGURE_TIME:
    case FIGURE_OFFSET:
    case FIGURE_NOT_FINITE:
        *ret_number = (double)figure->n;
        return true;
    case FIGURE_SHARE:
    case FIGURE_REAL:
        *ret_number = figure->real;
        return true;
    default:
        return false;
    }
}

/* "–" if it does not apply: a page has no empty cells. */
static struct figure make_cell(struct rows_writing *w, const struct column *column,
                               const struct row *row, bool *ret_some)
{
    struct figure figure;

    buf_clear(&w->spare);
    figure = column_on_page(&w->spare, column, &w->show, row);
    *ret_some = !str_is(buf_span(&w->spare), "–");
    return figure;
}

static void put_number(struct json *json, double number)
{
    if (number == floor(number) && fabs(number) < 0x1p53)
        json_i64(json, NULL, (int64_t)number);
    else
        export_short(json, NULL, number, 5);
}

static void put_numbers(struct rows_writing *w, const char *key, uint32_t n, bool any)
{
    if (!any)
        return;
    json_column(w->json, key);
    for (uint32_t i = 0; i < n; i++)
        if (bit_get(w->known, i))
            put_number(w->json, w->numbers[i]);
        else
            json_null(w->json, NULL);
    json_array_end(w->json);
}

/* Fills the lists with the cells of one column; a value counted elsewhere has no
 * number. Returns whether there is any number. */
static bool fill(struct rows_writing *w, const struct column *column, bool runs)
{
    uint32_t n = runs ? w->runs.n : w->model->n_places;
    bool any = false;

    for (uint32_t i = 0; i < n; i++) {
        struct row row = runs ? rows_writing_run(w, i) : rows_writing_row(i);
        bool some;
        struct figure figure = make_cell(w, column, &row, &some);
        bool known = some && !figure.tied && number_of(&figure, &w->numbers[i]);

        /* Below a microsecond the cell has both a number and a text. */
        bit_set(w->known, i, known);
        any |= known;
        w->cells[i] = some && figure.tied
                          ? (rows_writing_text(w, &w->spare) | UINT32_C(0x80000000))
                          : rows_writing_text(w, &w->spare);
    }
    return any;
}

/* The places whose value is counted elsewhere; removes the mark from their cells. */
static void put_tied(struct rows_writing *w, uint32_t n)
{
    bool any = false;

    for (uint32_t i = 0; i < n; i++) {
        if (w->cells[i] == JSON_NONE || !(w->cells[i] & UINT32_C(0x80000000)))
            continue;
        w->cells[i] &= UINT32_C(0x7fffffff);
        if (!any)
            json_column(w->json, "tied");
        any = true;
        json_u64(w->json, NULL, i);
    }
    if (any)
        json_array_end(w->json);
}

/* Bars are shares of this. If a place has more than the root, as of calls or of NaN in
 * its own results, the root's number is not a total. */
static void put_whole(struct rows_writing *w, const struct column *column)
{
    struct row root = rows_writing_row(0);
    bool some;
    struct figure figure = make_cell(w, column, &root, &some);
    double whole;

    if (column->kind == FIGURE_TIME && w->show.activity)
        whole = (double)w->show.activity->total_ns;
    else if (!some || !number_of(&figure, &whole) || figure.kind == FIGURE_REAL ||
             figure.kind == FIGURE_SHARE)
        return;
    for (uint32_t i = 0; i < w->model->n_places; i++)
        if (bit_get(w->known, i) && w->numbers[i] > whole)
            return;
    json_key(w->json, STR("whole"));
    put_number(w->json, whole);
}

static void put_cells(struct rows_writing *w, const struct column *column)
{
    uint32_t n = w->model->n_places;
    bool any = fill(w, column, false);

    put_whole(w, column);
    put_tied(w, n);
    json_u32s(w->json, "text", w->cells, n);
    put_numbers(w, "number", n, any);
    if (w->runs.n == 0)
        return;
    any = fill(w, column, true);
    for (uint32_t i = 0; i < w->runs.n; i++)
        if (w->cells[i] != JSON_NONE)
            w->cells[i] &= UINT32_C(0x7fffffff);
    json_u32s(w->json, "run_text", w->cells, w->runs.n);
    put_numbers(w, "run_number", w->runs.n, any);
}

/* Columns of values are empty until something was measured. */
static bool is_measured(const struct rows_writing *w)
{
    for (uint32_t i = 0; i < w->model->n_tensors; i++)
        if (session_known(w->session, i))
            return true;
    return false;
}

/* Does the cell of a place summarise everything below it? Then the root's covers the
 * model. */
static bool sums_up(const struct column *column)
{
    static const char *const ids[] = {"dtype", "device", "trainable"};

    for (size_t i = 0; i < COUNT_OF(ids); i++)
        if (str_is(str_of(column->id), ids[i]))
            return true;
    return false;
}

/* Is there a non-empty cell? */
static bool has_cells(struct rows_writing *w, const struct column *column)
{
    uint32_t n = sums_up(column) ? 1 : w->model->n_places;
    bool some = false;

    if (!export_rows_has(column) || !column_applies(column, &w->show))
        return false;
    if ((str_is(str_of(column->id), "zeros") ||
         (str_is(str_of(column->id), "nan") && !w->show.activity)) &&
        !is_measured(w))
        return false;
    for (uint32_t i = 0; i < n && !some; i++) {
        struct row row = rows_writing_row(i);

        make_cell(w, column, &row, &some);
    }
    return some;
}

static void put_column(struct rows_writing *w, size_t i)
{
    const struct column *column = &column_table[i];

    json_object(w->json, NULL);
    json_text(w->json, "id", column->id);
    json_text(w->json, "head", column->header);
    json_text(w->json, "title", column_title(column));
    json_text(w->json, "about", column->about);
    json_text(w->json, "kind", export_kind_name(column->kind));
    json_bool(w->json, "right", column->right);
    if (w->chosen[i])
        put_cells(w, column);
    json_object_end(w->json);
}

int rows_writing_columns(struct rows_writing *w)
{
    json_array(w->json, "columns");
    for (size_t i = 0; i < n_column_table; i++) {
        if (rows_writing_stopped(w, 0))
            return err_set(w->err, ERR_CANCELLED, "cancelled");
        if ((!w->asked || w->chosen[i]) && has_cells(w, &column_table[i]))
            put_column(w, i);
    }
    json_array_end(w->json);
    return 0;
}
