/* The table of modules: all rows as JSON for the script, which creates the open
 * ones; and the first rows as plain HTML.
 *
 * A row is [depth, flags, family, name, what, (text, number) for each column, facts,
 * values, pictures]; texts are indices into "texts". Facts are pairs of texts;
 * values have VALUE_CELLS texts each, but measured numbers are not interned.
 * Trailing empty lists are omitted. */
#include <inttypes.h>
#include <string.h>

#include "base/base.h"
#include "export/look/look.h"
#include "export/page/page_in.h"
#include "export/page/report_in.h"
#include "facts/run_text.h"
#include "rows/below.h"
#include "rows/repeats.h"
#include "rows/row_state.h"
#include "study/family.h"
#include "text/escape.h"
#include "text/number.h"

#define STATIC_ROWS 200

#define SCRIPT_STATES 31u /* of enum row_state: report.js knows these bits */

/* --- Cells */

/* Cells written for every row; looked up once (show/labels.h). */
static const char *const cell_ids[REPORT_CELLS] = {
    [CELL_PARAMS] = "params",   [CELL_MEMORY] = "memory",
    [CELL_SHAPES] = "shapes",   [CELL_OUT] = "out",
    [CELL_CALLS] = "calls",     [CELL_TIME] = "time",
    [CELL_NAN] = "nan",         [CELL_COUNT] = "count",
    [CELL_BYTES] = "bytes",     [CELL_DEVICE] = "device",
    [CELL_IN] = "in",           [CELL_SELF] = "self",
    [CELL_AVERAGE] = "average", [CELL_BACKWARD] = "backward",
    [CELL_OUT_MEM] = "out_mem", [CELL_FLOPS] = "flops",
};

static void find_cells(struct report *r)
{
    for (size_t i = 0; i < REPORT_CELLS; i++)
        r->cells[i] = column_find(str_of(cell_ids[i]));
}

void report_cell(struct buf *to, const struct report *r, enum report_cell id,
                 const struct row *row)
{
    column_figure(to, r->cells[id], &r->show, row);
}

/* --- Making the rows */

int report_make_rows(struct report *r, struct err *err)
{
    struct view view = VIEW_INIT;
    uint32_t n = r->model->n_places;
    uint8_t *open = arena_alloc(&r->arena, n / 8 + 1);

    if (!open || intern_init(&r->texts, &r->arena) < 0)
        return arena_err(&r->arena, "the report", err);
    if (r->run && r->run->n_kept > 0) {
        r->picture_of = arena_array(&r->arena, r->run->n_kept, sizeof *r->picture_of);
        if (!r->picture_of)
            return arena_err(&r->arena, "the report", err);
    }
    find_cells(r);
    below_index(&r->show, &r->arena);
    memset(open, 0xff, n / 8 + 1);
    view.open = open;
    view.no_runs = true;
    return rows_make(&r->rows, &r->show, &view, &r->arena, err);
}

/* --- Columns */

struct report_column {
    enum report_cell cell;
    bool bar;
    bool narrow; /* also shown on a phone */
};

static const struct report_column file_columns[] = {
    {CELL_PARAMS, true, true},
    {CELL_MEMORY, false, true},
    {CELL_SHAPES, false, false},
};
static const struct report_column run_columns[] = {
    {CELL_PARAMS, true, true},  {CELL_MEMORY, false, false}, {CELL_OUT, false, false},
    {CELL_CALLS, false, false}, {CELL_TIME, true, true},
};
/* Of a recording with operations. */
static const struct report_column op_columns[] = {
    {CELL_PARAMS, true, true},  {CELL_MEMORY, false, false}, {CELL_OUT, false, false},
    {CELL_CALLS, false, false}, {CELL_FLOPS, false, false},  {CELL_TIME, true, true},
};

static const struct report_column *choose_columns(const struct report *r, size_t *ret_n)
{
    if (r->show.activity && r->show.ops) {
        *ret_n = COUNT_OF(op_columns);
        return op_columns;
    }
    *ret_n = r->show.activity ? COUNT_OF(run_columns) : COUNT_OF(file_columns);
    return r->show.activity ? run_columns : file_columns;
}

static bool is_number(const struct column *column)
{
    return column->kind == FIGURE_COUNT || column->kind == FIGURE_BYTES ||
           column->kind == FIGURE_TIME;
}

/* Puts the cell of a row in `spare`. Returns the number for sorting and bars. */
static uint64_t add_cell(struct report *r, const struct report_column *column,
                         const struct row *row)
{
    const struct column *of = r->cells[column->cell];
    struct figure figure = column_on_page(&r->spare, of, &r->show, row);

    return is_number(of) && !figure.tied ? figure.n : 0;
}

/* Most of the data are such numbers: printf() would double the time. */
static void put_number(struct out *out, uint64_t n)
{
    char digits[20];
    size_t at = sizeof digits;

    do
        digits[--at] = (char)('0' + n % 10);
    while ((n /= 10) > 0);
    out_add(out, digits + at, sizeof digits - at);
}

void report_text(struct report *r)
{
    put_number(r->out, intern_add(&r->texts, buf_span(&r->spare)));
    buf_clear(&r->spare);
}

/* --- Labels */

/* "Conv2d 3→64, 7×7": class, arguments and remarks. */
static void add_what(struct buf *to, const struct report *r, const struct label *label,
                     const struct row *row)
{
    bool named = row->place == 0 && /* not "ResNet ResNet" */
                 str_eq(buf_span(&label->name), buf_span(&label->type));

    buf_str(to, named ? STR("") : buf_span(&label->type));
    if (label->args.len > 0)
        buf_text(to, named ? "" : " ");
    buf_str(to, buf_span(&label->args));
    buf_str(to, buf_span(&label->tail));
    if (!(row->flags & ROW_RUN) && r->model->kind[row->place] == PLACE_MODULE &&
        r->model->end[row->place] > row->place + 1 &&
        show_is_leaf(r->model, row->place) && row_frozen(&r->show, row))
        buf_text(to, ", frozen");
    if (r->show.activity &&
        row_run(&r->show, row, RUN_NAN) + row_run(&r->show, row, RUN_INF) > 0) {
        buf_text(to, "  ");
        report_cell(to, r, CELL_NAN, row);
    }
}

/* --- One row */

static void put_row(struct report *r, struct label *label, const struct row *row,
                    uint32_t depth)
{
    size_t n;
    const struct report_column *column = choose_columns(r, &n);
    bool run = row->flags & ROW_RUN;

    label_make(label, &r->show, row, LABEL_NAME);
    out_char(r->out, '[');
    put_number(r->out, depth);
    out_char(r->out, ',');
    put_number(r->out, row_state(&r->show, label, row) & SCRIPT_STATES);
    out_char(r->out, ',');
    put_number(r->out, family_of_place(r->model, row->place));
    out_char(r->out, ',');
    buf_str(&r->spare, buf_span(&label->name));
    report_text(r);
    out_char(r->out, ',');
    add_what(&r->spare, r, label, row);
    report_text(r);
    for (; n > 0; n--, column++) {
        uint64_t number = add_cell(r, column, row);

        out_char(r->out, ',');
        report_text(r);
        out_char(r->out, ',');
        put_number(r->out, number);
    }
    if (!run) {
        out_char(r->out, ',');
        report_details(r, row);
    }
    out_char(r->out, ']');
}

/* --- All rows */

/* By row: `length` of the run that begins with it (1: none), and how much deeper the
 * rows of enclosing runs move it. */
struct folds {
    uint32_t *length, *shift, *pairs;
    uint32_t *first, *next; /* by row: its first child, its next sibling */
    uint32_t *places, *members;
};

static int folds_init(struct folds *f, struct report *r, struct err *err)
{
    uint32_t n = r->rows.n + 1;

    f->length = arena_array(&r->arena, n, sizeof *f->length);
    f->shift = arena_array(&r->arena, n, sizeof *f->shift);
    f->pairs = arena_array(&r->arena, n, sizeof *f->pairs);
    f->first = arena_array(&r->arena, n, sizeof *f->first);
    f->next = arena_array(&r->arena, n, sizeof *f->next);
    f->places = arena_array(&r->arena, n, sizeof *f->places);
    f->members = arena_array(&r->arena, n, sizeof *f->members);
    if (!f->length || !f->shift || !f->pairs || !f->first || !f->next || !f->places ||
        !f->members)
        return arena_err(&r->arena, "the report", err);
    for (uint32_t i = r->rows.n; i-- > 0;) {
        uint32_t above = r->rows.cells[i].above;

        if (above == NO_ROW)
            continue;
        f->next[i] = f->first[above];
        f->first[above] = i;
    }
    return 0;
}

/* Finds the runs among the children of a row. Row 0 is the root: 0 means none. */
static void find_runs(struct folds *f, const struct report *r,
                      const struct repeats *repeats, uint32_t above)
{
    uint32_t n = 0;

    for (uint32_t i = f->first[above]; i; i = f->next[i]) {
        f->members[n] = i;
        f->places[n++] = r->rows.cells[i].place;
    }
    for (uint32_t i = 0; i < n;) {
        uint32_t period = 1;
        uint32_t count = repeats_run(repeats, r->model, true, f->places[i], &period);

        /* The other row of a pair may be missing. */
        if (count > n - i ||
            (count > 1 && f->places[i + 1] != r->model->end[f->places[i]]))
            count = period = 1;
        f->length[f->members[i]] = count;
        f->pairs[f->members[i]] = period == 2;
        for (uint32_t k = 0; k < count; k++)
            f->shift[f->members[i + k]] = f->shift[above] + (count > 1);
        i += count;
    }
}

static int put_rows(struct report *r, struct err *err)
{
    struct repeats repeats;
    struct label label = {0};
    struct folds folds;

    if (repeats_find(&repeats, &r->show, &r->arena) < 0 ||
        folds_init(&folds, r, err) < 0)
        return arena_err(&r->arena, "the report", err);
    for (uint32_t i = 0; i < r->rows.n; i++)
        find_runs(&folds, r, &repeats, i);
    for (uint32_t i = 0; i < r->rows.n; i++) {
        struct row row = rows_at(&r->rows, i);
        uint32_t depth = row.depth + folds.shift[i];

        out_text(r->out, i > 0 ? ",\n" : "\n");
        if (folds.length[i] > 1) {
            struct row all = row;

            all.count = folds.length[i];
            all.flags = ROW_RUN | (folds.pairs[i] ? ROW_PAIRS : 0);
            put_row(r, &label, &all, depth - 1);
            out_text(r->out, ",\n");
        }
        put_row(r, &label, &row, depth);
    }
    label_release(&label);
    return 0;
}

/* --- All the data */

static void put_head(struct report *r)
{
    size_t n;
    const struct report_column *column = choose_columns(r, &n);

    out_text(r->out, "{\"columns\":[");
    for (size_t i = 0; i < n; i++, column++) {
        struct row root = {.count = 1, .above = NO_ROW};
        uint64_t whole = add_cell(r, column, &root);

        buf_clear(&r->spare);
        if (column->cell == CELL_TIME)
            whole = r->show.activity->total_ns;
        out_printf(r->out,
                   "%s{\"id\":\"%s\",\"number\":%d,\"bar\":%d,\"whole\":%" PRIu64 "}",
                   i > 0 ? "," : "", cell_ids[column->cell],
                   is_number(r->cells[column->cell]), column->bar, whole);
    }
    out_text(r->out, "],\n\"families\":[");
    for (enum family f = 0; f < FAMILY_COUNT; f++)
        out_printf(r->out, "%s\"%s\"", f > 0 ? "," : "", family_name(f));
    out_text(r->out, "],\n");
}

int report_data(struct report *r, struct err *err)
{
    out_text(r->out, "<script type=\"application/json\" id=\"data\">");
    put_head(r);
    out_text(r->out, "\"rows\":[");
    if (put_rows(r, err) < 0)
        return -1;
    out_text(r->out, "],\n\"texts\":[");
    for (uint32_t i = 0; i < r->texts.n; i++) {
        out_text(r->out, i > 0 ? "," : "");
        look_json(r->out, intern_str(&r->texts, i));
    }
    out_text(r->out, "],\n\"pictures\":[");
    out_str(r->out, buf_span(&r->pictures));
    out_printf(r->out, "],\"left_out\":%" PRIu32 "}</script>\n", r->left_out);
    return 0;
}

/* --- Without JavaScript */

static void static_head(struct report *r)
{
    size_t n;
    const struct report_column *column = choose_columns(r, &n);

    out_text(r->out, "<thead><tr><th data-sort=\"-1\">module</th>");
    for (size_t i = 0; i < n; i++, column++) {
        const struct column *of = r->cells[column->cell];

        out_printf(r->out,
                   "<th data-sort=\"%zu\" class=\"c-%s%s%s\" title=\"%s\">%s</th>%s", i,
                   of->id, is_number(of) ? " num" : "", column->narrow ? "" : " wide",
                   of->about, column_title(of),
                   column->bar ? "<td class=\"bar wide\"></td>" : "");
    }
    out_text(r->out, "</tr></thead>");
}

static void static_row(struct report *r, struct label *label, const struct row *row)
{
    size_t n;
    const struct report_column *column = choose_columns(r, &n);

    label_make(label, &r->show, row, LABEL_NAME);
    out_printf(r->out, "<tr><td style=\"padding-left:%upx\"><b>",
               6 + 16 * (row->depth < 12 ? row->depth : 12u));
    report_html(r->out, buf_span(&label->name));
    out_text(r->out, "</b> <span class=\"dim\">");
    add_what(&r->spare, r, label, row);
    report_html(r->out, buf_span(&r->spare));
    buf_clear(&r->spare);
    out_text(r->out, "</span></td>");
    for (; n > 0; n--, column++) {
        out_printf(r->out, "<td class=\"%s%s\">",
                   is_number(r->cells[column->cell]) ? "num" : "",
                   column->narrow ? "" : " wide");
        add_cell(r, column, row);
        report_html(r->out, buf_span(&r->spare));
        buf_clear(&r->spare);
        out_printf(r->out, "</td>%s",
                   column->bar ? "<td class=\"bar wide\"></td>" : "");
    }
    out_text(r->out, "</tr>\n");
}

void report_static_rows(struct report *r)
{
    struct label label = {0};

    out_printf(r->out,
               "<div class=\"bar-top\"><h2>Modules</h2><div id=\"tools\"></div></div>"
               "<table id=\"table\" class=\"%s\">",
               r->show.activity ? "of-run" : "of-file");
    static_head(r);
    out_text(r->out, "<tbody></tbody></table>\n<noscript><table class=\"");
    out_printf(r->out, "%s\"><tbody>\n", r->show.activity ? "of-run" : "of-file");
    for (uint32_t i = 0; i < r->rows.n && i < STATIC_ROWS; i++) {
        struct row row = rows_at(&r->rows, i);

        static_row(r, &label, &row);
    }
    out_text(r->out, "</tbody></table>");
    if (r->rows.n > STATIC_ROWS) {
        out_text(r->out, "<p class=\"dim\">");
        text_commas(&r->spare, r->rows.n - STATIC_ROWS);
        buf_text(&r->spare, " more rows: they need JavaScript.");
        report_html(r->out, buf_span(&r->spare));
        buf_clear(&r->spare);
        out_text(r->out, "</p>");
    }
    out_text(r->out, "</noscript>\n");
    label_release(&label);
}
