#include "explorer/files_text.h"

#include <stdio.h>
#include <time.h>

#include "base/base.h"
#include "facts/notes.h"
#include "facts/summary.h"
#include "rows/layout.h"
#include "text/text.h"

#define GUTTER_CELLS 2 /* the cursor and the mark */
#define LEAST_NAME   20

/* The columns after the name, in order. */
enum files_text_column {
    FORMAT,
    TRAINING, /* if there is a training run */
    SIZE,
    PARAMS,
    CHANGED,
    SAFETY,
    COLUMN_COUNT
};

/* The ranks give the order in which columns are dropped before names are cut: params,
 * changed, format. */
static const struct column file_columns[COLUMN_COUNT] = {
    [FORMAT] = {.header = "format", .rank = 3},
    [TRAINING] = {.header = "training", .rank = 4},
    [SIZE] = {.header = "size", .right = true, .rank = LAYOUT_STAYS},
    [PARAMS] = {.header = "params", .right = true, .rank = 1},
    [CHANGED] = {.header = "changed", .rank = 2},
    [SAFETY] = {.header = "safety", .rank = LAYOUT_STAYS},
};
/* Their widths: "! 100,000 steps, loss 0.1072", 1023.9KB, 1000.0K, 2024-05-01 12:30, ✗ UNSAFE damaged. */
static const uint8_t file_cells[COLUMN_COUNT] = {12, 28, 8, 7, 16, 16};
/* FILES_SORT_COUNT: not sortable. */
static const enum files_sort file_sorts[COLUMN_COUNT] = {
    FILES_SORT_COUNT, FILES_SORT_COUNT, FILES_SIZE,
    FILES_PARAMS,     FILES_CHANGED,    FILES_VERDICT};

/* The widths of a list: gutter and name form its label. */
struct files_layout {
    struct table_layout table;
    struct layout_column columns[COLUMN_COUNT];
};

/* All columns, with names of any width. */
static void begin_layout(struct files_layout *layout, const struct files_view *view,
                         unsigned width)
{
    layout->table = (struct table_layout){
        .at = layout->columns, .width = width, .gap = 1, .label = width};
    for (int i = 0; i < COLUMN_COUNT; i++)
        layout_add(&layout->table, &file_columns[i])->cells = file_cells[i];
    layout->columns[TRAINING].shown = files_view_facts(view).trained > 0;
}

/* Drop columns until names of this width fit. The sort column stays, unless it is the
 * default order. */
static void make_room(struct files_layout *layout, const struct files_view *view,
                      size_t name)
{
    bool reverse;
    enum files_sort sort = files_view_sorted(view, &reverse);

    for (int i = 0; i < COLUMN_COUNT; i++)
        if (file_sorts[i] == sort && (sort != FILES_CHANGED || reverse))
            layout->columns[i].rank = LAYOUT_STAYS;
    layout->table.least_label = GUTTER_CELLS + (unsigned)name;
    layout_fit(&layout->table);
}

/* Even short names do not fit: drop sizes too, then columns from the left, the sort
 * column last. */
static void make_more_room(struct files_layout *layout, const struct files_view *view)
{
    static const uint8_t ranks[COLUMN_COUNT] = {4, 5, 3, 1, 2, 9};
    bool reverse;
    enum files_sort sort = files_view_sorted(view, &reverse);

    for (int i = 0; i < COLUMN_COUNT; i++)
        layout->columns[i].rank =
            (uint8_t)(file_sorts[i] == sort && i != SAFETY ? 5 + i : ranks[i]);
    layout->table.label = layout->table.width;
    layout->table.least_label = GUTTER_CELLS + LEAST_NAME;
    layout_fit(&layout->table);
}

static void measure(struct files_layout *layout, const struct files_view *view,
                    unsigned width)
{
    size_t wanted, most;

    begin_layout(layout, view, width);
    make_room(layout, view, width);
    most = layout->table.label;
    wanted = files_view_widest(view, most > GUTTER_CELLS ? most - GUTTER_CELLS : 0);
    begin_layout(layout, view, width);
    make_room(layout, view, wanted > LEAST_NAME ? wanted : LEAST_NAME);
    make_more_room(layout, view);
    if (layout->table.label <= GUTTER_CELLS)
        layout->table.label = GUTTER_CELLS + 1;
}

/* Add one cell and the blank before it, if it fits. */
static void add_cell(struct lines *to, const struct files_layout *layout, unsigned c,
                     enum colour colour, struct str text)
{
    struct buf padded = BUF_INIT;

    layout_put(&padded, &layout->table, c, text, COLOUR_NONE);
    lines_add(to, colour, 0, buf_span(&padded));
    buf_release(&padded);
}

static void add_header(struct lines *to, const struct files_view *view,
                       const struct files_layout *layout)
{
    bool reverse;
    enum files_sort sort = files_view_sorted(view, &reverse);
    const char *mark = reverse ? "▴" : "▾";
    struct buf text = BUF_INIT;

    lines_pad(to, GUTTER_CELLS);
    buf_printf(&text, "name%s", sort == FILES_NAME ? mark : "");
    lines_add(to, COLOUR_DIM, 0, buf_span(&text));
    lines_pad(to, layout->table.label);
    for (unsigned i = 0; i < COLUMN_COUNT; i++) {
        buf_clear(&text);
        buf_printf(&text, "%s%s", file_columns[i].header,
                   file_sorts[i] == sort ? mark : "");
        add_cell(to, layout, i, COLOUR_DIM, buf_span(&text));
    }
    buf_release(&text);
}

enum files_sort files_column_at(const struct files_view *view, unsigned width,
                                unsigned cell)
{
    struct files_layout layout;

    measure(&layout, view, width);
    if (cell < layout.table.label)
        return FILES_NAME;
    for (int i = 0; i < COLUMN_COUNT; i++)
        if (cell < layout.columns[i].end)
            return file_sorts[i];
    return FILES_SORT_COUNT;
}

static void add_date(struct buf *to, int64_t mtime_ns)
{
    time_t seconds = (time_t)(mtime_ns / 1000000000);
    struct tm when;
    char text[32];

    if (localtime_r(&seconds, &when) &&
        strftime(text, sizeof text, "%Y-%m-%d %H:%M", &when) > 0)
        buf_text(to, text);
}

/* The verdict, and whether the file is complete: the two are independent. */
static void add_safety(struct lines *to, const struct file_row *row,
                       const struct files_layout *layout)
{
    enum verdict verdict = (enum verdict)row->verdict;
    struct buf text = BUF_INIT;

    if (row->state == FILE_PENDING) {
        add_cell(to, layout, SAFETY, COLOUR_DIM, STR("…"));
        return;
    }
    if (verdict == VERDICT_NEEDS_CODE && row->damaged)
        buf_text(&text, "! CODE"); /* the short form, to fit */
    else if (verdict == VERDICT_INCONCLUSIVE && row->damaged)
        buf_text(&text, "?"); /* likewise */
    else
        buf_text(&text, summary_verdict_word(verdict));
    buf_text(&text, row->damaged ? " damaged" : "");
    add_cell(to, layout, SAFETY,
             row->damaged ? COLOUR_ALARM : summary_verdict_colour(verdict),
             buf_span(&text));
    buf_release(&text);
}

static void add_format(struct buf *to, const struct file_row *row)
{
    if (row->shards)
        buf_printf(to, "%u shards", (unsigned)row->shards);
    else
        buf_text(to, row->format[0] ? row->format : "unknown");
}

/* "✗ 318 steps, loss NaN" */
static void add_training(struct buf *to, const struct file_row *row)
{
    if (!row->trained)
        return;
    if (row->alarm != SEVERITY_NOTE)
        buf_printf(to, "%s ", note_sign(note_role((enum severity)row->alarm)));
    if (row->steps > 0 || row->evals == 0)
        text_plural(to, row->steps, "step", "steps");
    else
        text_plural(to, row->evals, "evaluation", "evaluations");
    if (row->has_loss) {
        buf_text(to, ", loss ");
        text_real(to, row->loss);
    }
}

static enum colour training_colour(const struct file_row *row)
{
    return row->alarm == SEVERITY_NOTE ? COLOUR_NONE
                                       : note_role((enum severity)row->alarm);
}

static void add_row(struct lines *to, const struct files_view *view, uint32_t at,
                    bool cursor, const struct files_layout *layout)
{
    const struct file_row *row = files_view_at(view, at);
    struct buf text = BUF_INIT, cut = BUF_INIT;

    lines_text(to, COLOUR_NONE, cursor ? glyph(GLYPH_CURSOR, false) : " ");
    lines_text(to, COLOUR_FOCUS,
               files_view_marked(view, at) ? glyph(GLYPH_ON, false) : " ");
    escape_terminal(&text, row->name);
    text_cut_front(&cut, buf_span(&text), layout->table.label - GUTTER_CELLS,
                   glyph(GLYPH_ELLIPSIS, false));
    lines_add(to, COLOUR_NONE, cursor ? SPAN_BOLD : 0, buf_span(&cut));
    lines_pad(to, layout->table.label);
    for (unsigned i = 0; i < SAFETY; i++) {
        buf_clear(&text);
        if (i == FORMAT)
            add_format(&text, row);
        else if (i == TRAINING)
            add_training(&text, row);
        else if (i == SIZE)
            text_bytes(&text, row->size);
        else if (i == PARAMS && row->state == FILE_JUDGED)
            text_count(&text, row->params);
        else if (i == CHANGED)
            add_date(&text, row->mtime_ns);
        add_cell(to, layout, i,
                 i == FORMAT     ? COLOUR_TYPE
                 : i == TRAINING ? training_colour(row)
                 : i == CHANGED  ? COLOUR_DIM
                                 : COLOUR_NONE,
                 buf_span(&text));
    }
    add_safety(to, row, layout);
    buf_release(&text);
    buf_release(&cut);
}

/* Why the list is empty. */
static const char *nothing(const struct files_view *view)
{
    struct file_list_facts facts = files_view_facts(view);

    if (facts.found > 0 && files_view_unknown(view) > 0)
        return "none so far; still checking files …";
    if (facts.found > 0)
        return "nothing matches";
    return facts.walking ? "looking for models …" : "no model was found here";
}

void files_lines(struct lines *to, const struct files_view *view, uint32_t top,
                 uint32_t cursor, unsigned width, unsigned height)
{
    struct files_layout layout;

    measure(&layout, view, width);
    add_header(to, view, &layout);
    lines_end(to);
    for (uint32_t i = top; i < files_view_n(view) && to->n < height; i++) {
        add_row(to, view, i, i == cursor, &layout);
        lines_pad(to, width);
        lines_end_target(to, i);
    }
    if (files_view_n(view) > 0)
        return;
    lines_pad(to, GUTTER_CELLS);
    lines_text(to, COLOUR_DIM, nothing(view));
    lines_end(to);
}

/* ", 1,234 unsafe" */
static void add_number(struct buf *to, const char *before, uint32_t n,
                       const char *behind)
{
    buf_text(to, before);
    text_commas(to, n);
    buf_text(to, behind);
}

void files_counts(struct buf *to, const struct file_counts *counts)
{
    const uint32_t *n = counts->verdicts;
    uint32_t all = counts->pending;

    for (int i = 0; i < 4; i++)
        all += n[i];
    text_plural(to, all, "file", "files");
    add_number(to, ": ", n[VERDICT_SAFE], " safe");
    if (counts->safe_findings > 0)
        add_number(to, " (", counts->safe_findings, " with findings)");
    buf_text(to, ", ");
    text_plural(to, n[VERDICT_NEEDS_CODE], "needs code", "need code");
    add_number(to, ", ", n[VERDICT_UNSAFE], " unsafe");
    add_number(to, ", ", n[VERDICT_INCONCLUSIVE], " inconclusive");
    if (counts->pending > 0)
        add_number(to, ", ", counts->pending, " not judged yet");
}

unsigned files_width(const struct files_view *view)
{
    size_t name = files_view_widest(view, SIZE_MAX);
    struct files_layout layout;

    begin_layout(&layout, view, 0);
    return GUTTER_CELLS + (unsigned)(name > LEAST_NAME ? name : LEAST_NAME) +
           layout_width(&layout.table);
}

void files_title(struct lines *to, const struct files_view *view, const char *folder,
                 unsigned width)
{
    struct file_list_facts facts = files_view_facts(view);
    uint32_t unknown = files_view_unknown(view);
    struct buf text = BUF_INIT, cut = BUF_INIT;

    buf_char(&text, ' ');
    escape_terminal(&text, str_of(folder));
    buf_text(&text, "   ");
    if (files_view_filtered(view).len > 0) {
        text_commas(&text, files_view_n(view));
        buf_text(&text, " of ");
    }
    text_plural(&text, facts.found, "file in ", "files in ");
    text_plural(&text, facts.folders, "folder", "folders");
    if (facts.walking)
        buf_text(&text, ", looking for more …");
    else if (unknown > 0)
        add_number(&text, ", ", unknown, " not judged yet …");
    if (facts.full)
        buf_text(&text, ", and there are more");
    if (facts.skipped > 0) {
        buf_text(&text, "   ");
        text_plural(&text, facts.skipped, "other file skipped", "other files skipped");
    }
    if (facts.unreadable > 0) {
        buf_text(&text, "   ");
        text_plural(&text, facts.unreadable, "folder cannot be read",
                    "folders cannot be read");
    }
    text_cut(&cut, buf_span(&text), width, glyph(GLYPH_ELLIPSIS, false));
    lines_add(to, COLOUR_NONE, 0, buf_span(&cut));
    lines_pad(to, width);
    lines_end(to);
    buf_release(&text);
    buf_release(&cut);
}

/* "2 marked · /unsafe · row 1/12" */
static void add_position(struct buf *to, const struct files_view *view, uint32_t cursor)
{
    uint32_t n = files_view_n(view);

    if (files_view_n_marks(view) > 0)
        buf_printf(to, "%u marked · ", files_view_n_marks(view));
    if (files_view_filtered(view).len > 0) {
        buf_char(to, '/');
        escape_terminal(to, files_view_filtered(view));
        buf_text(to, n > 0 ? " · " : "");
    }
    if (cursor < n) {
        buf_text(to, "row ");
        text_commas(to, cursor + 1);
        buf_char(to, '/');
        text_commas(to, n);
    }
}

void files_about(struct lines *to, const struct files_view *view, uint32_t cursor,
                 unsigned width)
{
    struct buf left = BUF_INIT, right = BUF_INIT, cut = BUF_INIT;
    size_t taken;

    buf_char(&left, ' ');
    if (cursor < files_view_n(view)) {
        const struct file_row *row = files_view_at(view, cursor);

        escape_terminal(&left, row->why ? str_of(row->why) : row->name);
    }
    add_position(&right, view, cursor);
    taken = text_width(buf_span(&right)) + 1;
    text_cut(&cut, buf_span(&left), width > taken + 3 ? width - taken - 2 : width,
             glyph(GLYPH_ELLIPSIS, false));
    lines_add(to, COLOUR_NONE, 0, buf_span(&cut));
    if (width > taken)
        lines_pad(to, width - taken);
    lines_add(to, COLOUR_NONE, 0, buf_span(&right));
    lines_end(to);
    buf_release(&left);
    buf_release(&right);
    buf_release(&cut);
}
