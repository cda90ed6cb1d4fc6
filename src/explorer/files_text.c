#include "explorer/files_text.h"

#include <stdio.h>
#include <time.h>

#include "base/base.h"
#include "facts/summary.h"
#include "text/text.h"

#define GUTTER_CELLS 2 /* the cursor, and whether the row is marked */
#define LEAST_NAME   20

/* The columns behind the name, in their order. */
enum files_text_column { FORMAT, SIZE, PARAMS, CHANGED, SAFETY, COLUMN_COUNT };

static const struct {
    const char *title;
    size_t cells;
    bool right;
    enum files_sort sort; /* FILES_SORT_COUNT: rows are not sorted by it */
} columns[COLUMN_COUNT] = {
    [FORMAT] = {"format", 12, false, FILES_SORT_COUNT},
    [SIZE] = {"size", 8, true, FILES_SIZE},            /* 1023.9KB */
    [PARAMS] = {"params", 7, true, FILES_PARAMS},      /* 1000.0K */
    [CHANGED] = {"changed", 16, false, FILES_CHANGED}, /* 2024-05-01 12:30 */
    [SAFETY] = {"safety", 16, false, FILES_VERDICT},   /* ✗ UNSAFE damaged */
};

/* How wide the name and the columns are; a column of 0 cells has no room. */
struct room {
    size_t name, columns[COLUMN_COUNT];
};

/* The gutter, the name and all columns that are there, each with a blank before it. */
static size_t room_used(const struct room *room, size_t name)
{
    size_t used = GUTTER_CELLS + name;

    for (int i = 0; i < COLUMN_COUNT; i++)
        used += room->columns[i] ? room->columns[i] + 1 : 0;
    return used;
}

static struct room all_columns(void)
{
    struct room room = {0};

    for (int i = 0; i < COLUMN_COUNT; i++)
        room.columns[i] = columns[i].cells;
    return room;
}

/* Take columns away until a name of `wanted` cells has room. The order in which a list
 * comes needs no column to be understood; another one does. */
static void make_room(struct room *room, const struct files_view *view, size_t wanted,
                      unsigned width)
{
    static const enum files_text_column order[] = {PARAMS, CHANGED, FORMAT};
    bool reverse;
    enum files_sort sort = files_view_sorted(view, &reverse);

    for (size_t i = 0; i < COUNT_OF(order) && room_used(room, wanted) > width; i++)
        if (columns[order[i]].sort != sort || (sort == FILES_CHANGED && !reverse))
            room->columns[order[i]] = 0;
}

static struct room measure(const struct files_view *view, unsigned width)
{
    static const enum files_text_column last[] = {PARAMS, CHANGED, SIZE};
    struct room room = all_columns(), least = all_columns();
    size_t wanted, most;
    bool reverse;

    make_room(&least, view, width, width);
    most = room_used(&least, 0) < width ? width - room_used(&least, 0) : 0;
    wanted = files_view_widest(view, most);
    make_room(&room, view, wanted > LEAST_NAME ? wanted : LEAST_NAME, width);
    /* Where even short names have no room: the sorted column goes last but one. */
    for (size_t i = 0; i < COUNT_OF(last) && room_used(&room, LEAST_NAME) > width; i++)
        if (columns[last[i]].sort != files_view_sorted(view, &reverse))
            room.columns[last[i]] = 0;
    for (int i = 0; i < COLUMN_COUNT && room_used(&room, LEAST_NAME) > width; i++)
        room.columns[i] = 0;
    room.name = room_used(&room, 1) < width ? width - room_used(&room, 0) : 1;
    return room;
}

/* One cell and the blank before it; nothing where there is no room. */
static void add_cell(struct lines *to, enum colour colour, struct str text,
                     size_t cells, bool right)
{
    struct buf cut = BUF_INIT, padded = BUF_INIT;

    if (cells == 0)
        return;
    text_cut(&cut, text, cells, glyph(GLYPH_ELLIPSIS, false));
    if (right)
        text_pad_left(&padded, buf_span(&cut), cells);
    else
        text_pad(&padded, buf_span(&cut), cells);
    lines_text(to, COLOUR_NONE, " ");
    lines_add(to, colour, 0, buf_span(&padded));
    buf_release(&cut);
    buf_release(&padded);
}

static void add_header(struct lines *to, const struct files_view *view,
                       const struct room *room)
{
    bool reverse;
    enum files_sort sort = files_view_sorted(view, &reverse);
    const char *mark = reverse ? "▴" : "▾";
    struct buf text = BUF_INIT;

    lines_pad(to, GUTTER_CELLS);
    buf_printf(&text, "name%s", sort == FILES_NAME ? mark : "");
    lines_add(to, COLOUR_DIM, 0, buf_span(&text));
    lines_pad(to, GUTTER_CELLS + room->name);
    for (int i = 0; i < COLUMN_COUNT; i++) {
        buf_clear(&text);
        buf_printf(&text, "%s%s", columns[i].title,
                   columns[i].sort == sort ? mark : "");
        add_cell(to, COLOUR_DIM, buf_span(&text), room->columns[i], columns[i].right);
    }
    buf_release(&text);
}

enum files_sort files_column_at(const struct files_view *view, unsigned width,
                                unsigned cell)
{
    struct room room = measure(view, width);
    size_t end = GUTTER_CELLS + room.name;

    if (cell < end)
        return FILES_NAME;
    for (int i = 0; i < COLUMN_COUNT; i++) {
        end += room.columns[i] ? room.columns[i] + 1 : 0;
        if (cell < end)
            return columns[i].sort;
    }
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

/* The verdict, and whether the file is whole: one says nothing about the other. */
static void add_safety(struct lines *to, const struct file_row *row, size_t cells)
{
    enum verdict verdict = (enum verdict)row->verdict;
    struct buf text = BUF_INIT;

    if (row->state == FILE_PENDING) {
        add_cell(to, COLOUR_DIM, STR("…"), cells, false);
        return;
    }
    if (verdict == VERDICT_NEEDS_CODE && row->damaged)
        buf_text(&text, "! CODE"); /* in the same room */
    else if (verdict == VERDICT_INCONCLUSIVE && row->damaged)
        buf_text(&text, "?"); /* likewise */
    else
        buf_text(&text, summary_verdict_word(verdict));
    buf_text(&text, row->damaged ? " damaged" : "");
    add_cell(to, row->damaged ? COLOUR_ALARM : summary_verdict_colour(verdict),
             buf_span(&text), cells, false);
    buf_release(&text);
}

static void add_format(struct buf *to, const struct file_row *row)
{
    if (row->shards)
        buf_printf(to, "%u shards", (unsigned)row->shards);
    else
        buf_text(to, row->format[0] ? row->format : "unknown");
}

static void add_row(struct lines *to, const struct files_view *view, uint32_t at,
                    bool cursor, const struct room *room)
{
    const struct file_row *row = files_view_at(view, at);
    struct buf text = BUF_INIT, cut = BUF_INIT;

    lines_text(to, COLOUR_NONE, cursor ? glyph(GLYPH_CURSOR, false) : " ");
    lines_text(to, COLOUR_FOCUS,
               files_view_marked(view, at) ? glyph(GLYPH_ON, false) : " ");
    escape_terminal(&text, row->name);
    text_cut_front(&cut, buf_span(&text), room->name, glyph(GLYPH_ELLIPSIS, false));
    lines_add(to, COLOUR_NONE, cursor ? SPAN_BOLD : 0, buf_span(&cut));
    lines_pad(to, GUTTER_CELLS + room->name);
    for (int i = 0; i < SAFETY; i++) {
        buf_clear(&text);
        if (i == FORMAT)
            add_format(&text, row);
        else if (i == SIZE)
            text_bytes(&text, row->size);
        else if (i == PARAMS && row->state == FILE_JUDGED)
            text_count(&text, row->params);
        else if (i == CHANGED)
            add_date(&text, row->mtime_ns);
        add_cell(to,
                 i == FORMAT    ? COLOUR_TYPE
                 : i == CHANGED ? COLOUR_DIM
                                : COLOUR_NONE,
                 buf_span(&text), room->columns[i], columns[i].right);
    }
    add_safety(to, row, room->columns[SAFETY]);
    buf_release(&text);
    buf_release(&cut);
}

/* Why there is no row. */
static const char *nothing(const struct files_view *view)
{
    struct file_list_facts facts = files_view_facts(view);

    if (facts.found > 0 && files_view_unknown(view) > 0)
        return "none so far; files are being judged …";
    if (facts.found > 0)
        return "nothing matches";
    return facts.walking ? "looking for models …" : "no model was found here";
}

void files_lines(struct lines *to, const struct files_view *view, uint32_t top,
                 uint32_t cursor, unsigned width, unsigned height)
{
    struct room room = measure(view, width);

    add_header(to, view, &room);
    lines_end(to);
    for (uint32_t i = top; i < files_view_n(view) && to->n < height; i++) {
        add_row(to, view, i, i == cursor, &room);
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
    struct room room = all_columns();
    size_t name = files_view_widest(view, SIZE_MAX);

    return (unsigned)room_used(&room, name > LEAST_NAME ? name : LEAST_NAME);
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
