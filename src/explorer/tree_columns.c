#include "explorer/tree_columns_in.h"

#include <string.h>

#include "base/base.h"
#include "compare/diff_view.h"
#include "text/width.h"

#define DIFF_WIDE                                                                      \
    100 /* cells from which on the columns of two models have fixed widths */
#define LEAST_NAME     24 /* cells; before the name column gets narrower, columns go */
#define BAR_CELLS      10
#define TIME_BAR_CELLS 17
#define WIDE           110 /* from here on the bar of times has more room */
#define WIDE_BAR_CELLS 22
#define SMALL          78 /* 80 less a scroll bar: a low screen can be wide */
#define MOST_CELLS     24 /* of a column that grows with what was shown */
#define MOST_SHAPES    72
#define GOES_BAR       6
#define STAYS          255
#define ASKED          100 /* what a person switched on goes after all others */
#define TIME_CELLS     9   /* one more than the widest time has */
#define WORD_CELLS     11  /* "not reached" in a column of times */
#define SORT_CELLS     10
#define NAN_CELLS      8

/* --- Which columns */

static const char *sort_column(const struct explorer *explorer)
{
    enum rows_sort sort = browse_view(explorer->browse)->sort;
    static const char *const ids[SORT_COUNT] = {
        [SORT_PARAMS] = "params", [SORT_BYTES] = "memory", [SORT_TIME] = "time",
        [SORT_SELF] = "self",     [SORT_CALLS] = "calls",  [SORT_FLOPS] = "flops",
        [SORT_GRAD] = "grad",     [SORT_ZEROS] = "zeros",  [SORT_NAN] = "nan",
        [SORT_DELTA] = "rel",
    };

    if (sort == SORT_ZEROS && explorer->show.activity)
        return "outzeros"; /* of what modules made, not of what they hold */
    return ids[sort];
}

static struct tree_column *add(struct tree_layout *layout, const char *column)
{
    struct tree_column *to = &layout->at[layout->n++];

    *to = (struct tree_column){.column = column_find(str_of(column)),
                               .id = column,
                               .shown = true,
                               .goes = STAYS};
    to->header = to->column->header;
    return to;
}

static struct tree_column *add_label(struct tree_layout *layout,
                                     const struct explorer *explorer, uint8_t kind)
{
    const struct label_kind *label = &label_kinds[kind];
    struct tree_column *to = add(layout, label->column);

    to->id = label->id;
    to->cells = label->cells;
    to->slot = kind;
    to->grows = label->cells == 0;
    to->spare = label->cells == TIME_CELLS;
    to->goes = label->goes;
    if (explorer->labels.asked[kind] && to->goes != STAYS)
        to->goes += ASKED;
    return to;
}

/* A bar goes with the label that it stands behind. */
static void add_bar(struct tree_layout *layout, const char *column, row_bar *bar,
                    unsigned cells, bool asked)
{
    struct tree_column *to = add(layout, column);

    to->bar = bar;
    to->cells = cells;
    to->goes = GOES_BAR + (asked ? ASKED : 0);
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

/* Total time, its share, own time: in columns a share stands behind its number, in
 * whichever order the labels are. */
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
           (!label->run || explorer->show.activity);
}

/* As long as nobody chose, a narrow screen shows of a recording what is most asked for:
 * params, time and its bar. */
static bool is_left_out(const struct explorer *explorer, const struct tree_room *room,
                        uint8_t kind)
{
    const struct label_kind *label = &label_kinds[kind];

    return explorer->show.activity && !explorer->labels.chosen && room->narrow &&
           !is_small(room) && !label->run && !str_is(str_of(label->id), "params");
}

/* The order of the labels that are columns; the one that rows are ordered by is always
 * among them. */
static unsigned gather(struct tree_layout *layout, uint8_t kinds[LABELS_MOST],
                       const struct explorer *explorer, const struct tree_room *room)
{
    const char *sort = sort_column(explorer);
    int sorted = sort ? label_kind_find(str_of(sort)) : -1;
    unsigned n = 0;

    for (uint8_t i = 0; i < explorer->labels.n; i++) {
        uint8_t kind = explorer->labels.order[i];

        if (kind != sorted && !wanted(explorer, kind))
            continue;
        if (kind == sorted || !is_left_out(explorer, room, kind))
            kinds[n++] = kind;
        else if (browse_view(explorer->browse)->flat == FLAT_NO ||
                 !is_one_of(kind, shares, COUNT_OF(shares)))
            layout->hidden++; /* a flat list has a share of its own */
    }
    return n;
}

/* One bar is enough: that of the times stands behind them, else that of the
 * parameters behind their share. */
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
            add_bar(layout, "timebar", time_bar, time_cells, asked[kinds[i]]);
        else if (last_time == n && str_is(str_of(label_kinds[kinds[i]].id), "percent"))
            add_bar(layout, "bar", params_bar, BAR_CELLS, asked[kinds[i]]);
    }
}

/* In a flat list the last column is a share of the whole: of what rows are ordered by,
 * else of the run or the parameters. */
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
    last->header = str_is(str_of(last->id), "time%") ? "% of run" : "% of all";
    last->cells = (unsigned)strlen(last->header);
}

/* What is not finite in a recording is always told, and so is what rows are ordered
 * by. */
static void add_labels(struct tree_layout *layout, const struct explorer *explorer,
                       const struct tree_room *room)
{
    const struct view *view = browse_view(explorer->browse);
    const char *sort = sort_column(explorer);
    uint8_t kinds[LABELS_MOST];
    unsigned n = gather(layout, kinds, explorer, room);

    order_times(kinds, n);
    if (view->flat == FLAT_NO)
        add_tree(layout, kinds, n, explorer, room);
    else
        add_flat(layout, kinds, n, explorer);
    if (explorer->show.activity && explorer->show.activity->spoilt_call != RUN_NONE)
        add(layout, "nan")->cells = NAN_CELLS;
    else if (sort && label_kind_find(str_of(sort)) < 0 && column_find(str_of(sort)))
        add(layout, sort)->cells = SORT_CELLS;
}

/* Of two models all columns of their table, in its order; on a wide screen they keep
 * their places whatever they say. */
static void add_diff(struct tree_layout *layout)
{
    static const uint8_t least[] = {25, 12, 12, 8, 9};

    for (size_t i = 0; i < n_diff_columns && i < LABELS_MOST; i++)
        layout->at[layout->n++] = (struct tree_column){.column = &diff_columns[i],
                                                       .id = diff_columns[i].id,
                                                       .header = diff_columns[i].header,
                                                       .slot = (uint8_t)i,
                                                       .goes = diff_columns[i].rank,
                                                       .grows = true,
                                                       .shown = true};
    for (size_t i = 0; i < COUNT_OF(least) && layout->width >= DIFF_WIDE; i++)
        layout->at[i].least = least[i];
}

/* --- How wide */

/* A column without a width of its own is as wide as the widest cell that was on the
 * screen so far; one of times grows for words: "not called". */
static void measure(struct tree_layout *layout, struct explorer *explorer)
{
    const struct rows *rows = browse_rows(explorer->browse);
    struct buf cell = BUF_INIT;

    for (unsigned c = 0; c < layout->n; c++) {
        struct tree_column *column = &layout->at[c];
        uint8_t *widest = &explorer->labels.widest[column->slot];
        size_t most = column->column->cut == CUT_SHAPES ? MOST_SHAPES
                      : column->grows                   ? MOST_CELLS
                                                        : WORD_CELLS;
        size_t header = text_width(str_of(column->header)) + (layout->sort == (int)c);

        if (column->cells > 0 && column->cells < header)
            column->cells = (unsigned)header;
        if (!column->grows && !column->spare)
            continue;
        for (uint32_t r = layout->top; r < layout->end; r++) {
            struct row row = rows_at(rows, r);
            size_t width;

            buf_clear(&cell);
            column_led(&cell, column->column, &explorer->show, &row);
            width = text_width(buf_span(&cell));
            width = width < most ? width : most;
            if (width > *widest)
                *widest = (uint8_t)width;
        }
        if (column->grows)
            column->cells = (unsigned)header;
        if (*widest > column->cells) {
            column->cells = *widest;
            column->spare = 0;
        }
        if (column->least > column->cells)
            column->cells = column->least;
    }
    buf_release(&cell);
}

static unsigned columns_width(const struct tree_layout *layout)
{
    unsigned sum = 0;

    for (unsigned c = 0; c < layout->n; c++)
        if (layout->at[c].shown && layout->at[c].cells > 0)
            sum += 1 + layout->at[c].cells;
    return sum;
}

static bool stays(const struct tree_layout *layout, unsigned column)
{
    return layout->at[column].goes == STAYS || (int)column == layout->sort;
}

/* The column that is missed least: of equals the last; n: none may go. */
static unsigned least(const struct tree_layout *layout)
{
    unsigned found = layout->n;

    for (unsigned c = 0; c < layout->n; c++)
        if (layout->at[c].shown && !stays(layout, c) &&
            (found == layout->n || layout->at[c].goes <= layout->at[found].goes))
            found = c;
    return found;
}

static void hide(struct tree_layout *layout, unsigned column)
{
    layout->at[column].shown = false;
    layout->hidden += layout->at[column].bar == NULL;
}

/* Shapes of tensors are a text: they take what is left, up to half of it. */
static void shrink_shapes(struct tree_layout *layout)
{
    for (unsigned c = 0; c < layout->n; c++) {
        struct tree_column *column = &layout->at[c];
        unsigned others, half;

        if (column->column->cut != CUT_SHAPES || !column->shown)
            continue;
        others = columns_width(layout) - column->cells;
        half = layout->width > others ? (layout->width - others) / 2 : 0;
        if (column->cells > half)
            column->cells = half;
        if (column->cells < 8)
            hide(layout, c);
    }
}

/* Under 80×24 there is one column of numbers: the one that rows are ordered by, else
 * memory, else the first. */
static void keep_one(struct tree_layout *layout)
{
    unsigned kept = 0;

    for (unsigned c = 0; c < layout->n; c++)
        if (str_is(str_of(layout->at[c].id), "memory"))
            kept = c;
    if (layout->sort >= 0)
        kept = (unsigned)layout->sort;
    for (unsigned c = 0; c < layout->n; c++)
        if (c != kept && layout->at[c].shown &&
            !str_is(str_of(layout->at[c].id), "nan"))
            hide(layout, c);
}

/* Take so many cells from columns that can spare one; false: they cannot. */
static bool squeeze(struct tree_layout *layout, unsigned cells)
{
    unsigned spare = 0;

    for (unsigned c = 0; c < layout->n; c++)
        spare += layout->at[c].shown ? layout->at[c].spare : 0;
    if (spare < cells)
        return false;
    for (unsigned c = 0; c < layout->n && cells > 0; c++)
        if (layout->at[c].shown && layout->at[c].spare > 0) {
            layout->at[c].cells--;
            cells--;
        }
    return true;
}

static void fit(struct tree_layout *layout, const struct explorer *explorer,
                const struct tree_room *room)
{
    unsigned least_name = explorer->show.pair ? LEAST_NAME - 4 : LEAST_NAME, used;

    if (is_small(room) && !explorer->show.pair)
        keep_one(layout);
    shrink_shapes(layout);
    while (columns_width(layout) + least_name > layout->width) {
        unsigned gone = least(layout);

        if (squeeze(layout, columns_width(layout) + least_name - layout->width) ||
            gone == layout->n)
            break;
        hide(layout, gone);
    }
    used = columns_width(layout);
    layout->name = layout->width > used ? layout->width - used : 0;
    used = layout->name;
    for (unsigned c = 0; c < layout->n; c++) {
        if (layout->at[c].shown && layout->at[c].cells > 0)
            used += 1 + layout->at[c].cells;
        layout->at[c].end = used;
    }
}

/* --- Guides */

/* Guides take at most half of the name column. Where the cursor is deeper, the upper
 * levels are left out, half a column of them at a time, so that the tree seldom moves.
 */
static void fit_levels(struct tree_layout *layout, const struct explorer *explorer)
{
    const struct rows *rows = browse_rows(explorer->browse);
    uint32_t cursor = browse_cursor(explorer->browse);
    uint32_t depth = cursor < rows->n ? rows_at(rows, cursor).depth : 0;
    unsigned half = layout->name / 8 > 1 ? layout->name / 8 : 2;

    layout->levels = half * 2;
    if (depth > layout->levels)
        layout->left_out = (depth / half - 1) * half;
}

void tree_layout_make(struct tree_layout *layout, struct explorer *explorer,
                      const struct tree_room *room)
{
    const struct view *view = browse_view(explorer->browse);
    const struct rows *rows = browse_rows(explorer->browse);
    const char *sort = sort_column(explorer);

    *layout = (struct tree_layout){.sort = -1, .width = room->width};
    layout->sort_name = view->sort == SORT_NAME;
    layout->rows = room->height > 0 ? room->height - 1 : 0;
    layout->top = browse_top(explorer->browse);
    layout->end =
        rows->n - layout->top < layout->rows ? rows->n : layout->top + layout->rows;
    if (explorer->show.pair)
        add_diff(layout);
    else if (!explorer->labels.flowing)
        add_labels(layout, explorer, room);
    for (unsigned c = 0; sort && c < layout->n; c++)
        if (str_is(str_of(layout->at[c].id), sort))
            layout->sort = (int)c;
    measure(layout, explorer);
    fit(layout, explorer, room);
    fit_levels(layout, explorer);
}
