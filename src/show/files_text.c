#include "show/files_text.h"

#include <stdio.h>
#include <time.h>

#include "base/base.h"
#include "show/summary.h"
#include "text/text.h"

#define FORMAT_CELLS  14
#define SIZE_CELLS    7
#define PARAMS_CELLS  6
#define CHANGED_CELLS 17 /* 2024-05-01 12:30 */
#define SAFETY_CELLS  16 /* ✗ UNSAFE damaged */
#define LEAST_NAME    20
#define MOST_NAME     60 /* longer ones drive no column away */

/* Which columns there is room for: parameters go first, then the date and the format. */
struct room {
    size_t name, format, size, params, changed, safety;
};

static size_t longest_name(const struct file_list *list)
{
    struct buf text = BUF_INIT;
    size_t most = LEAST_NAME;

    for (uint32_t i = 0; i < file_list_n(list); i++) {
        size_t cells;

        buf_clear(&text);
        escape_terminal(&text, file_list_at(list, i)->name);
        cells = text_width(buf_span(&text));
        most = cells > most ? cells : most;
    }
    buf_release(&text);
    return most;
}

static struct room measure(const struct file_list *list, unsigned width)
{
    struct room room = {.format = FORMAT_CELLS,
                        .size = SIZE_CELLS,
                        .params = PARAMS_CELLS,
                        .changed = CHANGED_CELLS,
                        .safety = SAFETY_CELLS};
    size_t *const columns[] = {&room.params, &room.changed, &room.format, &room.size,
                               &room.safety};
    size_t used = 5, wanted = longest_name(list);

    if (wanted > MOST_NAME)
        wanted = MOST_NAME;
    for (size_t i = 0; i < COUNT_OF(columns); i++)
        used += *columns[i];
    for (size_t i = 0; i < COUNT_OF(columns) && used + wanted + 1 > width; i++) {
        if (i == 3) /* the size and the verdict stay as long as they can */
            wanted = LEAST_NAME;
        if (used + wanted + 1 <= width)
            break;
        used -= *columns[i] + 1;
        *columns[i] = 0;
    }
    room.name = width > used + 1 ? width - used - 1 : 1;
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

static void add_header(struct lines *to, const struct room *room)
{
    struct buf name = BUF_INIT;

    text_pad(&name, STR(" name"), room->name + 1);
    lines_add(to, COLOUR_DIM, 0, buf_span(&name));
    add_cell(to, COLOUR_DIM, STR("format"), room->format, false);
    add_cell(to, COLOUR_DIM, STR("size"), room->size, true);
    add_cell(to, COLOUR_DIM, STR("params"), room->params, true);
    add_cell(to, COLOUR_DIM, STR("changed▾"), room->changed, false);
    add_cell(to, COLOUR_DIM, STR("safety"), room->safety, false);
    buf_release(&name);
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
    else
        buf_text(&text, summary_verdict_word(verdict));
    buf_text(&text, row->damaged ? " damaged" : "");
    add_cell(to, row->damaged ? COLOUR_ALARM : summary_verdict_colour(verdict),
             buf_span(&text), cells, false);
    buf_release(&text);
}

static void add_row(struct lines *to, const struct file_row *row, bool cursor,
                    const struct room *room)
{
    struct buf text = BUF_INIT, cut = BUF_INIT;

    lines_text(to, COLOUR_NONE, cursor ? glyph(GLYPH_CURSOR, false) : " ");
    escape_terminal(&text, row->name);
    text_cut_front(&cut, buf_span(&text), room->name, glyph(GLYPH_ELLIPSIS, false));
    lines_add(to, COLOUR_NONE, cursor ? SPAN_BOLD : 0, buf_span(&cut));
    lines_pad(to, room->name + 1);
    buf_clear(&text);
    if (row->shards)
        buf_printf(&text, "%u shards", (unsigned)row->shards);
    else
        buf_text(&text, row->format[0] ? row->format : "unknown");
    add_cell(to, COLOUR_TYPE, buf_span(&text), room->format, false);
    buf_clear(&text);
    text_bytes(&text, row->size);
    add_cell(to, COLOUR_NONE, buf_span(&text), room->size, true);
    buf_clear(&text);
    if (row->state == FILE_JUDGED)
        text_count(&text, row->params);
    add_cell(to, COLOUR_NONE, buf_span(&text), room->params, true);
    buf_clear(&text);
    add_date(&text, row->mtime_ns);
    add_cell(to, COLOUR_DIM, buf_span(&text), room->changed, false);
    add_safety(to, row, room->safety);
    buf_release(&text);
    buf_release(&cut);
}

void files_lines(struct lines *to, const struct file_list *list, uint32_t top,
                 uint32_t cursor, unsigned width, unsigned height)
{
    struct room room = measure(list, width);
    struct file_list_facts facts = file_list_facts(list);

    add_header(to, &room);
    lines_end(to);
    for (uint32_t i = top; i < file_list_n(list) && to->n < height; i++) {
        add_row(to, file_list_at(list, i), i == cursor, &room);
        lines_pad(to, width);
        lines_end_target(to, i);
    }
    if (file_list_n(list) > 0)
        return;
    lines_text(to, COLOUR_DIM,
               facts.walking && facts.found == 0 ? " looking for models …"
               : facts.found == 0                ? " no model was found here"
                                                 : " no name matches");
    lines_end(to);
}

void files_counts(struct buf *to, const struct file_counts *counts)
{
    const uint32_t *n = counts->verdicts;
    uint32_t all = counts->pending;

    for (int i = 0; i < 4; i++)
        all += n[i];
    text_commas(to, all);
    buf_printf(to, " %s: %u safe", all == 1 ? "file" : "files", n[VERDICT_SAFE]);
    if (counts->safe_findings > 0)
        buf_printf(to, " (%u with findings)", counts->safe_findings);
    buf_printf(to, ", %u %s code, %u unsafe, %u inconclusive", n[VERDICT_NEEDS_CODE],
               n[VERDICT_NEEDS_CODE] == 1 ? "needs" : "need", n[VERDICT_UNSAFE],
               n[VERDICT_INCONCLUSIVE]);
    if (counts->pending > 0)
        buf_printf(to, ", %u not judged yet", counts->pending);
}

unsigned files_width(const struct file_list *list)
{
    return (unsigned)(longest_name(list) + FORMAT_CELLS + SIZE_CELLS + PARAMS_CELLS +
                      CHANGED_CELLS + SAFETY_CELLS + 6);
}

void files_title(struct lines *to, const struct file_list *list, const char *folder,
                 unsigned width)
{
    struct file_list_facts facts = file_list_facts(list);
    struct buf text = BUF_INIT, cut = BUF_INIT;

    buf_char(&text, ' ');
    escape_terminal(&text, str_of(folder));
    buf_text(&text, "   ");
    text_commas(&text, facts.found);
    buf_text(&text, facts.found == 1 ? " file in " : " files in ");
    text_commas(&text, facts.folders);
    buf_text(&text, facts.folders == 1 ? " folder" : " folders");
    if (facts.walking)
        buf_text(&text, ", looking for more …");
    if (facts.full)
        buf_text(&text, ", and there are more");
    if (facts.skipped > 0) {
        buf_text(&text, "   ");
        text_commas(&text, facts.skipped);
        buf_text(&text,
                 facts.skipped == 1 ? " other file skipped" : " other files skipped");
    }
    if (facts.unreadable > 0) {
        buf_text(&text, "   ");
        text_commas(&text, facts.unreadable);
        buf_text(&text, facts.unreadable == 1 ? " folder cannot be read"
                                              : " folders cannot be read");
    }
    text_cut(&cut, buf_span(&text), width, glyph(GLYPH_ELLIPSIS, false));
    lines_add(to, COLOUR_NONE, 0, buf_span(&cut));
    lines_pad(to, width);
    lines_end(to);
    buf_release(&text);
    buf_release(&cut);
}

void files_about(struct lines *to, const struct file_list *list, uint32_t cursor,
                 unsigned width)
{
    struct buf left = BUF_INIT, right = BUF_INIT, cut = BUF_INIT;
    uint32_t n = file_list_n(list);

    buf_char(&left, ' ');
    if (cursor < n) {
        const struct file_row *row = file_list_at(list, cursor);

        escape_terminal(&left, row->why ? str_of(row->why) : row->name);
        buf_text(&right, "row ");
        text_commas(&right, cursor + 1);
        buf_char(&right, '/');
        text_commas(&right, n);
    }
    if (file_list_filtered(list).len > 0) {
        buf_text(&right, " · /");
        escape_terminal(&right, file_list_filtered(list));
    }
    text_cut(&cut, buf_span(&left),
             width > right.len + 4 ? width - right.len - 3 : width,
             glyph(GLYPH_ELLIPSIS, false));
    lines_add(to, COLOUR_NONE, 0, buf_span(&cut));
    if (width > text_width(buf_span(&right)) + 1)
        lines_pad(to, width - text_width(buf_span(&right)) - 1);
    lines_add(to, COLOUR_NONE, 0, buf_span(&right));
    lines_end(to);
    buf_release(&left);
    buf_release(&right);
    buf_release(&cut);
}
