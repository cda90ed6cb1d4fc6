#include "explorer/tree_columns_in.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "compare/diff_view.h"
#include "rows/labels.h"
#include "text/glyph.h"
#include "text/width.h"

#define DIFF_WIDE      100 /* cells; from here on a pair has fixed columns */
#define LEAST_NAME     24  /* cells; drop columns before the name gets narrower */
#define BAR_CELLS      10
#define TIME_BAR_CELLS 17
#define WIDE           110 /* cells; from here on the bar of times is wider */
#define WIDE_BAR_CELLS 22
#define SMALL          78 /* 80 minus a scroll bar: a low screen can be wide */
#define MOST_CELLS     24 /* of a growing column */
#define MOST_SHAPES    72
#define LEAST_SHAPES   8
#define GOES_BAR       6
#define ASKED          100 /* rank of labels that the user switched on: dropped last */
#define TIME_CELLS     9   /* one more than the widest time */
#define WORD_CELLS     11  /* "not reached" in a column of times */
#define SORT_CELLS     10
#define NAN_CELLS      8

/* --- Which columns */

static const struct column *sort_column(const struct explorer *explorer)
{
    return column_sorted(&explorer->show, browse_view(explorer->browse)->sort);
}

static struct layout_column *add(struct tree_layout *layout,
                                 const struct column *column, unsigned cells,
                                 unsigned rank)
{
    struct layout_column *to = layout_add(&layout->table, column);

    layout->more[layout->table.n - 1] = (struct tree_column){.header = column->header};
    to->cells = cells;
    to->rank = (uint8_t)rank;
    return to;
}

static struct tree_column *add_label(struct tree_layout *layout,
                                     const struct explorer *explorer, uint8_t kind)
{
    const struct label_kind *label = &label_kinds[kind];
    bool asked = explorer->labels.asked[kind] && label->goes != LAYOUT_STAYS;
    struct tree_column *more = &layout->more[layout->table.n];

    add(layout, column_find(str_of(label->column)), label->cells,
        label->goes + (asked ? ASKED : 0));
    more->slot = kind;
    more->grows = label->cells == 0;
    more->spare = label->cells == TIME_CELLS;
    return more;
}

/* A bar belongs to the label before it. */
static void add_bar(struct tree_layout *layout, const char *column, unsigned cells,
                    bool asked)
{
    add(layout, column_find(str_of(column)), cells, GOES_BAR + (asked ? ASKED : 0));
}

static bool is_one_of(uint8_t kind, const char *const *ids, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(str_of(label_kinds[kind].id), ids[i]))
            return true;
    return false;
}

static const char *const times[] = {"time", "time%", "self"};
static const char *const shares[] = {"percent", "memory%", "time%"};

/* Total time, its share, own time: a column of shares follows its number, whatever
 * the order of the labels. */
static void order_times(uint8_t *kinds, unsigned n)
{
    uint8_t on[COUNT_OF(times)];
    unsigned n_on = 0, next = 0;

    for (size_t t = 0; t < COUNT_OF(times); t++)
        for (unsigned i = 0; i < n; i++)
            if (str_is(str_of(label_kinds[kinds[i]].id), times[t]))
                on[n_on++] = kinds[i];
    for (unsigned i = 0; i < n && next < n_on; i++)
        if (is_one_of(kinds[i], times, COUNT_OF(times)))
            kinds[i] = on[next++];
}

static bool is_small(const struct tree_room *room)
{
    return room->small && room->width < SMALL;
}

/* Is this label a column? */
static bool wanted(const struct explorer *explorer, uint8_t kind)
{
    const struct label_kind *label = &label_kinds[kind];

    return label->column && explorer->labels.on[kind] &&
           label_applies(label, &explorer->show);
}

/* Until the user chooses labels, a narrow screen shows only params and labels of
 * the run for a recording. */
static bool is_left_out(const struct explorer *explorer, const struct tree_room *room,
                        uint8_t kind)
{
    const struct label_kind *label = &label_kinds[kind];

    return explorer->show.activity && !explorer->labels.chosen && room->narrow &&
           !is_small(room) && label->needs == 0 && !str_is(str_of(label->id), "params");
}

/* The labels that are columns, in order, always including the sort column. */
static unsigned gather(struct tree_layout *layout, uint8_t kinds[LABELS_MOST],
                       const struct explorer *explorer, const struct tree_room *room)
{
    const struct column *sort = sort_column(explorer);
    int sorted = sort ? label_kind_find(str_of(sort->id)) : -1;
    unsigned n = 0;

    for (uint8_t i = 0; i < explorer->labels.n; i++) {
        uint8_t kind = explorer->labels.order[i];

        if (kind != sorted && !wanted(explorer, kind))
            continue;
        if (kind == sorted || !is_left_out(explorer, room, kind))
            kinds[n++] = kind;
        else if (browse_view(explorer->browse)->flat == FLAT_NO ||
                 !is_one_of(kind, shares, COUNT_OF(shares)))
            layout->hidden++; /* a flat list has its own share */
    }
    return n;
}

/* One bar is enough: after the times, else after the share of parameters. */
static void add_tree(struct tree_layout *layout, const uint8_t *kinds, unsigned n,
                     const struct explorer *explorer, const struct tree_room *room)
{
    unsigned time_cells = room->width >= WIDE ? WIDE_BAR_CELLS : TIME_BAR_CELLS;
    const bool *asked = explorer->labels.asked;
    unsigned last_time = n;

    for (unsigned i = 0; i < n; i++)
        if (is_one_of(kinds[i], times, COUNT_OF(times)))
            last_time = i;
    for (unsigned i = 0; i < n; i++) {
        add_label(layout, explorer, kinds[i]);
        if (explorer->plain)
            continue;
        if (i == last_time)
            add_bar(layout, "timebar", time_cells, asked[kinds[i]]);
        else if (last_time == n && str_is(str_of(label_kinds[kinds[i]].id), "percent"))
            add_bar(layout, "bar", BAR_CELLS, asked[kinds[i]]);
    }
}

/* In a flat list the last column is a share of the whole: of the sort column, else
 * of the run or the parameters. */
static void add_flat(struct tree_layout *layout, const uint8_t *kinds, unsigned n,
                     const struct explorer *explorer)
{
    enum rows_sort sort = browse_view(explorer->browse)->sort;
    struct tree_column *last;
    bool share = false;

    for (unsigned i = 0; i < n; i++)
        if (!is_one_of(kinds[i], shares, COUNT_OF(shares)))
            add_label(layout, explorer, kinds[i]);
    for (size_t i = 0; i < COUNT_OF(shares); i++)
        share = share || label_is_on(&explorer->labels, shares[i]);
    if (!share)
        return;
    if (sort == SORT_BYTES)
        last = add_label(layout, explorer, (uint8_t)label_kind_find(STR("memory%")));
    else if (explorer->show.activity && sort != SORT_PARAMS)
        last = add_label(layout, explorer, (uint8_t)label_kind_find(STR("time%")));
    else
        last = add_label(layout, explorer, (uint8_t)label_kind_find(STR("percent")));
    last->header = layout->table.at[layout->table.n - 1].column->sort == SORT_TIME
                       ? "% of run"
                       : "% of all";
    layout->table.at[layout->table.n - 1].cells = (unsigned)strlen(last->header);
}

/* The sort column and, in a recording, the column of non-finite values are always
 * shown. */
static void add_labels(struct tree_layout *layout, const struct explorer *explorer,
                       const struct tree_room *room)
{
    const struct column *sort = sort_column(explorer);
    uint8_t kinds[LABELS_MOST];
    unsigned n = gather(layout, kinds, explorer, room);

    order_times(kinds, n);
    if (browse_view(explorer->browse)->flat == FLAT_NO)
        add_tree(layout, kinds, n, explorer, room);
    else
        add_flat(layout, kinds, n, explorer);
    if (explorer->show.activity && explorer->show.activity->spoilt_call != RUN_NONE)
        add(layout, column_find(STR("nan")), NAN_CELLS, LAYOUT_STAYS);
    else if (sort && label_kind_find(str_of(sort->id)) < 0)
        add(layout, sort, SORT_CELLS, LAYOUT_STAYS);
}

/* A pair shows all columns of its table, in order; on a wide screen their positions
 * do not depend on the rows. */
static void add_diff(struct tree_layout *layout, const struct pair *pair)
{
    static const uint8_t least[2][5] = {{25, 12, 12, 8, 9}, {24, 10, 22, 8, 8}};
    size_t n;
    const struct column *columns = diff_columns(pair, &n);

    for (size_t i = 0; i < n && i < LABELS_MOST; i++) {
        bool wide = i < COUNT_OF(least[0]) && layout->table.width >= DIFF_WIDE;

        add(layout, &columns[i], 0, columns[i].rank);
        layout->more[i].slot = (uint8_t)i;
        layout->more[i].grows = true;
        layout->more[i].least = wide ? least[pair_has_results(pair)][i] : 0;
    }
}

/* The sort column is never dropped, and its header has a sign. */
static void find_sorted(struct tree_layout *layout, const struct explorer *explorer)
{
    enum rows_sort sort = browse_view(explorer->browse)->sort;

    layout->sort = -1;
    layout->sort_name = sort == SORT_NAME;
    for (unsigned c = 0; sort != SORT_MODEL && c < layout->table.n; c++) {
        const struct column *column = layout->table.at[c].column;

        if (explorer->show.pair ? column->sort == sort
                                : column == sort_column(explorer))
            layout->sort = (int)c;
    }
    if (layout->sort >= 0)
        layout->table.at[layout->sort].rank = LAYOUT_STAYS;
}

/* --- Cells */

static void make_cell(struct tree_layout *layout, struct tree_cell *cell,
                      const struct explorer *explorer, uint32_t row, unsigned c)
{
    const struct layout_column *column = &layout->table.at[c];
    const struct row at = rows_at(browse_rows(explorer->browse), row);
    struct buf raw = BUF_INIT, *to = explorer->ascii ? &raw : &layout->text;
    struct figure figure;

    cell->made = true;
    cell->begin = (uint32_t)layout->text.len;
    if (column->column->kind == FIGURE_BAR)
        figure = column_bar(to, column->column, &explorer->show, &at, column->cells);
    else
        figure = layout_cell(to, column->column, &explorer->show, &at);
    if (explorer->ascii)
        glyph_to_ascii(&layout->text, raw.at, raw.len);
    while (layout->text.len > cell->begin &&
           layout->text.at[layout->text.len - 1] == ' ')
        layout->text.len--; /* a bar ends in blanks */
    cell->end = (uint32_t)layout->text.len;
    cell->role = (uint8_t)figure.role;
    buf_release(&raw);
}

struct tree_cell tree_cell(struct tree_layout *layout, const struct explorer *explorer,
                           uint32_t row, unsigned column)
{
    struct tree_cell *cell;

    if (!layout->cells)
        return (struct tree_cell){0};
    cell = &layout->cells[(row - layout->top) * layout->table.n + column];
    if (!cell->made)
        make_cell(layout, cell, explorer, row, column);
    return *cell;
}

/* --- Widths */

/* The widest cell shown so far in a column. */
static unsigned widest(struct tree_layout *layout, struct explorer *explorer,
                       unsigned c)
{
    const struct tree_column *more = &layout->more[c];
    uint8_t *widest = &explorer->labels.widest[more->slot];
    size_t most = layout->table.at[c].column->kind == FIGURE_SHAPES ? MOST_SHAPES
                  : more->grows                                     ? MOST_CELLS
                                                                    : WORD_CELLS;

    for (uint32_t r = layout->top; r < layout->end; r++) {
        struct tree_cell cell = tree_cell(layout, explorer, r, c);
        size_t width =
            text_width(str_span(layout->text.at + cell.begin, cell.end - cell.begin));

        width = width < most ? width : most;
        if (width > *widest)
            *widest = (uint8_t)width;
    }
    return *widest;
}

/* Columns of times have one width, which grows for words: "not called". */
static void measure(struct tree_layout *layout, struct explorer *explorer)
{
    for (unsigned c = 0; c < layout->table.n; c++) {
        struct layout_column *column = &layout->table.at[c];
        struct tree_column *more = &layout->more[c];
        size_t header = text_width(str_of(more->header)) + (layout->sort == (int)c);

        if (column->cells > 0 || more->grows)
            layout_widen(column, header);
        if (more->grows || more->spare) {
            unsigned cells = widest(layout, explorer, c);

            more->spare = more->spare && cells <= column->cells;
            layout_widen(column, cells);
            layout_widen(column, more->least);
        }
        if (more->spare)
            column->least = column->cells - 1;
    }
}

/* Shapes of tensors are long: they get at most half of the remaining width. */
static void shrink_shapes(struct tree_layout *layout)
{
    for (unsigned c = 0; c < layout->table.n; c++) {
        struct layout_column *column = &layout->table.at[c];
        unsigned others, half, width = layout->table.width;

        if (column->column->kind != FIGURE_SHAPES || !column->shown)
            continue;
        others = layout_width(&layout->table) - column->cells;
        half = width > others ? (width - others) / 2 : 0;
        column->cells = column->cells > half ? half : column->cells;
        column->shown = column->cells >= LEAST_SHAPES;
    }
}

/* Below 80×24 there is one column of numbers: the sort column, else gradients of a
 * training run, else memory, else the first. */
static void keep_one(struct tree_layout *layout)
{
    struct layout_column *at = layout->table.at;
    unsigned kept = 0;

    for (unsigned c = 0; c < layout->table.n; c++)
        if (at[c].column == column_find(STR("memory")) ||
            at[c].column == column_find(STR("grad")))
            kept = c;
    if (layout->sort >= 0)
        kept = (unsigned)layout->sort;
    for (unsigned c = 0; c < layout->table.n; c++)
        at[c].shown = c == kept || at[c].column == column_find(STR("nan"));
}

static void fit(struct tree_layout *layout, const struct explorer *explorer,
                const struct tree_room *room)
{
    if (is_small(room) && !explorer->show.pair)
        keep_one(layout);
    shrink_shapes(layout);
    layout->table.label = layout->table.width;
    layout->table.least_label = explorer->show.pair ? LEAST_NAME - 4 : LEAST_NAME;
    layout_fit(&layout->table);
    for (unsigned c = 0; c < layout->table.n; c++)
        layout->hidden += !layout->table.at[c].shown &&
                          layout->table.at[c].column->kind != FIGURE_BAR;
}

/* --- Guides */

/* Guides take at most half of the name column. If the cursor is deeper, upper levels
 * are hidden, half a column at a time, so that the tree seldom moves. */
static void fit_levels(struct tree_layout *layout, const struct explorer *explorer)
{
    const struct rows *rows = browse_rows(explorer->browse);
    uint32_t cursor = browse_cursor(explorer->browse);
    uint32_t depth = cursor < rows->n ? rows_at(rows, cursor).depth : 0;
    unsigned half = layout->table.label / 8 > 1 ? layout->table.label / 8 : 2;

    layout->levels = half * 2;
    if (depth > layout->levels)
        layout->left_out = (depth / half - 1) * half;
}

void tree_layout_make(struct tree_layout *layout, struct explorer *explorer,
                      const struct tree_room *room)
{
    const struct rows *rows = browse_rows(explorer->browse);

    *layout = (struct tree_layout){.table = {.width = room->width, .gap = 1}};
    layout->table.at = layout->columns;
    layout->rows = room->height > 0 ? room->height - 1 : 0;
    layout->top = browse_top(explorer->browse);
    layout->end =
        rows->n - layout->top < layout->rows ? rows->n : layout->top + layout->rows;
    if (explorer->show.pair)
        add_diff(layout, explorer->show.pair);
    else if (!explorer->labels.flowing)
        add_labels(layout, explorer, room);
    layout->cells =
        calloc((size_t)layout->rows * layout->table.n + 1, sizeof *layout->cells);
    find_sorted(layout, explorer);
    measure(layout, explorer);
    fit(layout, explorer, room);
    fit_levels(layout, explorer);
}

void tree_layout_release(struct tree_layout *layout)
{
    free(layout->cells);
    buf_release(&layout->text);
}
