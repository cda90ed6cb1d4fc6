/* The tree of a notebook. Rows are written breadth first until the room is used; the
 * others are counted below their parent. */
#include "export/page/notebook_in.h"

#include <string.h>

#include "base/base.h"
#include "export/page/page_in.h"
#include "facts/run_text.h"
#include "rows/labels.h"
#include "rows/rows.h"
#include "study/family.h"
#include "text/number.h"
#include "text/width.h"

#define OPEN_ROWS  32 /* open at first */
#define NAME_CELLS 80
#define WHAT_CELLS 160
#define CELL_CELLS 80
#define LEAF_ROOM  16 /* bytes around the text of a row: its list item */
#define INNER_ROOM                                                                     \
    160 /* the same with details, their list and the count of omitted
                        * rows */

/* --- Columns */

struct notebook_column {
    const char *id;       /* id in THE TABLE (rows/columns.h) */
    char bar;             /* its CSS variable, or 0 */
    unsigned short width; /* pixels, for chosen columns; the style has the defaults */
};

static const char *const model_columns[] = {"params", "memory", "shapes"};
static const char *const run_columns[] = {"params", "memory", "in",
                                          "out",    "calls",  "time"};
/* Columns that are not CHOSEN_WIDTH wide, or have a bar. */
static const struct notebook_column special_columns[] = {
    {"params", 'p', 138}, {"percent", 0, 54}, {"in", 0, 100},   {"out", 0, 100},
    {"calls", 0, 40},     {"time", 't', 138}, {"time%", 0, 54}, {"shapes", 0, 220},
};
#define CHOSEN_WIDTH 66  /* of other columns, which have no bar */
#define NAME_WIDTH   200 /* at least */
#define COLUMN_GAP   14  /* as in the style */

/* --- State of each row */

struct notebook_rows_piece {
    size_t from, len; /* its text; len 0: not written */
    uint32_t below;   /* children written */
    uint32_t modules; /* number of omitted modules below it */
    uint32_t tensors; /* number of omitted tensors below it */
    uint32_t others;  /* number of other omitted rows below it */
    bool inner, open;
};

struct notebook_rows_listing {
    struct notebook *n;
    struct notebook_column columns[PRINTED_COLUMNS];
    size_t n_columns;
    const struct column *cells[PRINTED_COLUMNS];
    const struct rows *rows;
    struct notebook_rows_piece *pieces; /* by row */
    uint32_t *order;                    /* rows, breadth first */
    uint32_t *modules;                  /* by place: the number of modules before it */
    uint32_t *tensors;                  /* by place: the number of tensors before it */
    struct buf texts;
    struct label label;
};

static int make_rows(struct notebook_rows_listing *l, struct err *err)
{
    const struct model *model = l->n->model;
    struct arena *arena = &l->n->printed.arena;
    uint32_t n = model->n_places;

    if (printed_rows(&l->n->printed, err) < 0)
        return -1;
    l->rows = &l->n->printed.rows;
    l->pieces = arena_array(arena, l->rows->n, sizeof *l->pieces);
    l->order = arena_array(arena, l->rows->n, sizeof *l->order);
    l->modules = arena_array(arena, n + 1, sizeof *l->modules);
    l->tensors = arena_array(arena, n + 1, sizeof *l->tensors);
    if (!l->pieces || !l->order || !l->modules || !l->tensors)
        return arena_err(arena, "the list of rows", err);
    for (uint32_t p = 0; p < n; p++) {
        l->modules[p + 1] = l->modules[p] + (model->kind[p] == PLACE_MODULE);
        l->tensors[p + 1] = l->tensors[p] + (model->kind[p] == PLACE_TENSOR);
    }
    return 0;
}

static void find_order(struct notebook_rows_listing *l)
{
    uint32_t first[NOTEBOOK_DEEPEST + 2] = {0};

    for (uint32_t r = 0; r < l->rows->n; r++) {
        const struct row at = rows_at(l->rows, r), *row = &at;

        first[row->depth + 1]++;
        l->pieces[r].inner |= (row->flags & ROW_CLOSED) != 0;
        if (row->above != NO_ROW)
            l->pieces[row->above].inner = true;
    }
    for (uint32_t d = 1; d <= NOTEBOOK_DEEPEST + 1; d++)
        first[d] += first[d - 1];
    for (uint32_t r = 0; r < l->rows->n; r++)
        l->order[first[l->rows->cells[r].depth]++] = r;
}

/* --- The text of one row */

/* A share of the whole as the width of a bar; a non-zero share is always visible. */
static void add_bar(struct buf *to, char bar, uint64_t part, uint64_t whole)
{
    double percent = whole > 0 ? 100 * (double)part / (double)whole : 0;

    if (part == 0)
        return;
    percent = percent > 100 ? 100 : percent < 2 ? 2 : percent;
    buf_printf(to, "--%c:%.0f%%;", bar, percent);
}

static void add_bars(struct notebook_rows_listing *l, const struct row *row)
{
    const struct show *show = &l->n->printed.show;
    struct buf *to = &l->texts;
    size_t before;

    buf_text(to, " style=\"");
    before = to->len;
    add_bar(to, 'p', row_params(show, row), counts_params(&show->session->places, 0));
    if (show->activity)
        add_bar(to, 't', row_run(show, row, RUN_TOTAL), show->activity->total_ns);
    if (to->len == before)
        to->len -= strlen(" style=\"");
    else
        buf_char(to, '"');
}

/* "NaN 12" made here, or passed on; or an exception. */
static void add_alarm(struct notebook_rows_listing *l, const struct row *row)
{
    const struct show *show = &l->n->printed.show;
    struct buf *to = &l->texts;
    unsigned flags;

    if (!show->activity || row->flags & ROW_MORE)
        return;
    flags = show->activity->at[row->place].flags;
    if (flags & ACTIVITY_RAISED)
        buf_text(to, " <b class=\"ts-alarm\">raised</b>");
    run_not_finite(&l->n->spare, row_run(show, row, RUN_NAN),
                   row_run(show, row, RUN_INF));
    if (l->n->spare.len == 0)
        return;
    if (flags & ACTIVITY_PRODUCER)
        buf_text(to, " <b class=\"ts-alarm\">made ");
    else
        buf_text(to, " <span class=\"ts-spoilt\">");
    page_html(to, buf_span(&l->n->spare), CELL_CELLS);
    buf_clear(&l->n->spare);
    buf_text(to, flags & ACTIVITY_PRODUCER ? "</b>" : "</span>");
}

/* Conv2d 3→64, 7×7, frozen */
static void add_what(struct notebook_rows_listing *l, const struct row *row)
{
    const struct model *model = l->n->model;
    struct buf *what = &l->n->spare;

    if (row->place > 0 || !str_eq(buf_span(&l->label.name), buf_span(&l->label.type)))
        buf_str(what, buf_span(&l->label.type)); /* not "ResNet ResNet" */
    if (what->len > 0 && l->label.args.len > 0)
        buf_char(what, ' ');
    buf_str(what, buf_span(&l->label.args));
    if (what->len > 0 && l->label.tail.len > 0 && l->label.times == 0)
        buf_char(what, ','); /* the tail of a run has its own comma */
    buf_str(what, buf_span(&l->label.tail));
    if (model->kind[row->place] == PLACE_MODULE && !(row->flags & ROW_RUN) &&
        show_is_leaf(model, row->place) && row_frozen(&l->n->printed.show, row))
        buf_text(what, ", frozen");
    if (what->len > 0) {
        buf_char(&l->texts, ' ');
        page_html(&l->texts, buf_span(what), WHAT_CELLS);
    }
    buf_clear(what);
}

static void add_name(struct notebook_rows_listing *l, const struct row *row)
{
    struct buf cut = BUF_INIT;

    label_make(&l->label, &l->n->printed.show, row,
               l->n->printed.view.flat ? LABEL_PATH : LABEL_NAME);
    text_cut_middle(&cut, buf_span(&l->label.name), NAME_CELLS, "…");
    buf_text(&l->texts, "<b>");
    page_html(&l->texts, buf_span(&cut), NAME_CELLS);
    buf_text(&l->texts, "</b>");
    buf_release(&cut);
}

/* The style finds the default columns by position, others by class. */
static void begin_cell(struct buf *to, const struct notebook_rows_listing *l, size_t c)
{
    const char *kind = l->columns[c].bar == 'p'   ? "ts-p"
                       : l->columns[c].bar == 't' ? "ts-t"
                       : l->cells[c]->right       ? "ts-n"
                                                  : NULL;

    if (l->n->printed.chosen && kind)
        buf_printf(to, "<i> · </i><span class=\"%s\">", kind);
    else
        buf_text(to, "<i> · </i><span>");
}

/* A shape that a module did not change is dimmed. */
static void add_cells(struct notebook_rows_listing *l, const struct row *row)
{
    struct figure before = {.kind = FIGURE_TEXT};

    for (size_t c = 0; c < l->n_columns; c++) {
        bool out = l->cells[c] == column_find(STR("out"));
        struct figure cell =
            column_on_page(&l->n->spare, l->cells[c], &l->n->printed.show, row);

        if (out && figure_same_shape(&before, &cell))
            buf_text(&l->texts, "<i> · </i><span class=\"ts-same\">");
        else
            begin_cell(&l->texts, l, c);
        page_html(&l->texts, buf_span(&l->n->spare), CELL_CELLS);
        before = cell;
        buf_clear(&l->n->spare);
        buf_text(&l->texts, "</span>");
    }
}

static void add_row(struct notebook_rows_listing *l, uint32_t r)
{
    const struct row at = rows_at(l->rows, r), *row = &at;
    const struct model *model = l->n->model;
    bool inner = l->pieces[r].inner;
    enum family family = inner ? FAMILY_NONE : family_of_place(model, row->place);

    buf_text(&l->texts, inner ? "<summary class=\"ts-r" : "<div class=\"ts-r");
    if (family != FAMILY_NONE)
        buf_printf(&l->texts, " ts-%s", family_name(family));
    if (l->n->printed.show.activity && run_gap_word(&l->n->printed.show, row->place))
        buf_text(&l->texts, " ts-off");
    buf_char(&l->texts, '"');
    add_bars(l, row);
    buf_text(&l->texts, "><span>");
    add_name(l, row);
    add_alarm(l, row); /* first, because cells are cut from the end */
    add_what(l, row);
    buf_text(&l->texts, "</span>");
    add_cells(l, row);
    buf_text(&l->texts, inner ? "</summary>" : "</div>");
}

/* --- Fitting the rows into the room */

static void write_pieces(struct notebook_rows_listing *l, size_t room)
{
    size_t used = 0;

    for (uint32_t i = 0; i < l->rows->n; i++) {
        struct notebook_rows_piece *piece = &l->pieces[l->order[i]];
        uint32_t above = l->rows->cells[l->order[i]].above;

        piece->from = l->texts.len;
        add_row(l, l->order[i]);
        used += l->texts.len - piece->from + (piece->inner ? INNER_ROOM : LEAF_ROOM);
        if (used > room)
            break;
        piece->len = l->texts.len - piece->from;
        if (above != NO_ROW)
            l->pieces[above].below++;
    }
}

/* Adds the contents of places [from, to) to the counts of `piece`. */
static void count_places(const struct notebook_rows_listing *l,
                         struct notebook_rows_piece *piece, uint32_t from, uint32_t to)
{
    uint32_t modules = l->modules[to] - l->modules[from];
    uint32_t tensors = l->tensors[to] - l->tensors[from];

    piece->modules += modules;
    piece->tensors += tensors;
    piece->others += modules + tensors == 0;
}

static void count_rest(struct notebook_rows_listing *l)
{
    const struct model *model = l->n->model;

    for (uint32_t r = 0; r < l->rows->n; r++) {
        const struct row at = rows_at(l->rows, r), *row = &at;
        uint32_t end = model->end[row->place];

        if (row->flags & ROW_CLOSED)
            count_places(l, &l->pieces[r], row->place + 1, end);
        if (l->pieces[r].len > 0 || row->above == NO_ROW ||
            l->pieces[row->above].len == 0)
            continue;
        for (uint32_t i = 1; i < row->count; i++)
            end = model->end[end];
        count_places(l, &l->pieces[row->above], row->place, end);
    }
}

/* Opens rows breadth first while few are visible, and the path to each problem. */
static void choose_open(struct notebook_rows_listing *l)
{
    const struct activities *did = l->n->printed.show.activity;
    uint32_t seen = 1;

    for (uint32_t i = 0; i < l->rows->n; i++) {
        struct notebook_rows_piece *piece = &l->pieces[l->order[i]];
        const struct row at = rows_at(l->rows, l->order[i]), *row = &at;
        bool led = did && did->at[row->place].flags & ACTIVITY_BELOW;
        bool visible = row->above == NO_ROW || l->pieces[row->above].open;

        if (piece->below == 0 || !visible || (row->flags & ROW_RUN && !led))
            continue;
        piece->open = led || row->above == NO_ROW || seen + piece->below <= OPEN_ROWS;
        seen += piece->open ? piece->below : 0;
    }
}

/* --- The page */

static void end_inner(struct notebook_rows_listing *l, uint32_t r)
{
    const struct notebook_rows_piece *piece = &l->pieces[r];
    uint32_t n = piece->modules   ? piece->modules
                 : piece->tensors ? piece->tensors
                                  : piece->others;

    if (n > 0) {
        buf_text(&l->n->page, "<li class=\"ts-more\">… ");
        text_commas(&l->n->page, n);
        buf_printf(&l->n->page, " more%s</li>",
                   piece->modules   ? n == 1 ? " module" : " modules"
                   : piece->tensors ? n == 1 ? " tensor" : " tensors"
                                    : "");
    }
    buf_text(&l->n->page, "</ul></details></li>");
}

/* Rows come depth first here: close open elements when a sibling begins. */
static void write_tree(struct notebook_rows_listing *l)
{
    uint32_t open[NOTEBOOK_DEEPEST + 1], n_open = 0;
    struct buf *page = &l->n->page;

    for (uint32_t r = 0; r < l->rows->n; r++) {
        const struct notebook_rows_piece *piece = &l->pieces[r];

        if (piece->len == 0)
            continue;
        while (n_open > 0 &&
               l->rows->cells[open[n_open - 1]].depth >= l->rows->cells[r].depth)
            end_inner(l, open[--n_open]);
        buf_text(page, !piece->inner ? "<li>"
                       : piece->open ? "<li><details open>"
                                     : "<li><details>");
        buf_add(page, l->texts.at + piece->from, piece->len);
        if (piece->inner) {
            buf_text(page, "<ul class=\"ts-l\">");
            open[n_open++] = r;
        } else {
            buf_text(page, "</li>");
        }
        buf_char(page, '\n');
    }
    while (n_open > 0)
        end_inner(l, open[--n_open]);
}

static void write_header(struct notebook_rows_listing *l)
{
    struct buf *page = &l->n->page;

    buf_text(page, "<div class=\"ts-r ts-h\"><span>module</span>");
    for (size_t c = 0; c < l->n_columns; c++) {
        begin_cell(page, l, c);
        page->len--; /* the title goes into the tag */
        buf_printf(page, " title=\"%s\">%s</span>", l->cells[c]->about,
                   column_title(l->cells[c]));
    }
    buf_text(page, "</div>");
}

static void add_column(struct notebook_rows_listing *l, const struct column *column)
{
    struct notebook_column *to = &l->columns[l->n_columns];

    *to = (struct notebook_column){.id = column->id, .width = CHOSEN_WIDTH};
    for (size_t i = 0; i < COUNT_OF(special_columns); i++)
        if (strcmp(special_columns[i].id, column->id) == 0)
            *to = special_columns[i];
    l->cells[l->n_columns++] = column;
}

static void use_usual(struct notebook_rows_listing *l, const char *const *ids, size_t n)
{
    for (size_t c = 0; c < n; c++)
        add_column(l, column_find(str_of(ids[c])));
}

static void use_chosen(struct notebook_rows_listing *l)
{
    const struct printed *printed = &l->n->printed;

    for (size_t c = 0; c < printed->n_columns; c++) {
        struct notebook_column *to = &l->columns[c];

        add_column(l, printed->columns[c]);
        /* Without its column of shares, a column has no bar. */
        if (to->bar && !notebook_shows(l->n, to->bar == 'p' ? "percent" : "time%")) {
            to->bar = 0;
            to->width = CHOSEN_WIDTH;
        }
    }
}

/* Writes the columns and the tag of the tree, which describes them to the style. */
static void begin_tree(struct notebook_rows_listing *l)
{
    struct buf *page = &l->n->page;
    bool run = l->n->printed.show.activity != NULL;
    unsigned width = NAME_WIDTH;

    if (!l->n->printed.chosen) {
        use_usual(l, run ? run_columns : model_columns,
                  run ? COUNT_OF(run_columns) : COUNT_OF(model_columns));
        buf_printf(page, "<div class=\"ts-tree ts-%s\">", run ? "run" : "model");
        return;
    }
    use_chosen(l);
    buf_text(page, "<div class=\"ts-tree ts-own\" style=\"--ts-columns:");
    for (size_t c = 0; c < l->n_columns; c++) {
        buf_printf(page, " %upx", l->columns[c].width);
        width += l->columns[c].width + COLUMN_GAP;
    }
    buf_printf(page, ";--ts-width:%upx\">", width);
}

int notebook_rows(struct notebook *n, size_t after, struct err *err)
{
    struct notebook_rows_listing l = {.n = n};
    int status = make_rows(&l, err);

    if (status == 0) {
        begin_tree(&l);
        write_header(&l);
        buf_text(&n->page, "<ul class=\"ts-l\">");
        find_order(&l);
        write_pieces(&l, NOTEBOOK_MOST - n->page.len - after);
        count_rest(&l);
        choose_open(&l);
        write_tree(&l);
        buf_text(&n->page, "</ul></div>\n");
    }
    label_release(&l.label);
    buf_release(&l.texts);
    return status;
}
