#include "show/files_text.h"

#include <stdio.h>
#include <time.h>

#include "base/base.h"
#include "show/summary.h"
#include "text/text.h"

#define FORMAT_CELLS  14
#define SIZE_CELLS    9
#define CHANGED_CELLS 17 /* 2024-05-01 12:30 */
#define SAFETY_CELLS  14 /* ! NEEDS CODE */
#define LEAST_NAME    20

/* Which columns there is room for: the format goes first, then the date, the size. */
struct room {
    size_t name, format, size, changed, safety;
};

static struct room measure(unsigned width)
{
    struct room room = {.format = FORMAT_CELLS,
                        .size = SIZE_CELLS,
                        .changed = CHANGED_CELLS,
                        .safety = SAFETY_CELLS};
    size_t *const columns[] = {&room.format, &room.changed, &room.size, &room.safety};
    size_t used = FORMAT_CELLS + SIZE_CELLS + CHANGED_CELLS + SAFETY_CELLS + 4;

    for (size_t i = 0; i < COUNT_OF(columns) && used + LEAST_NAME + 1 > width; i++) {
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

static const char *safety_of(const struct file_row *row, enum colour *ret_colour)
{
    *ret_colour = COLOUR_DIM;
    if (row->state == FILE_PENDING)
        return "…";
    if (row->state == FILE_TROUBLE) {
        *ret_colour = COLOUR_ALARM;
        return "✗ damaged";
    }
    *ret_colour = summary_verdict_colour((enum verdict)row->verdict);
    return summary_verdict_word((enum verdict)row->verdict);
}

static void add_row(struct lines *to, const struct file_row *row, bool cursor,
                    const struct room *room)
{
    struct buf text = BUF_INIT, cut = BUF_INIT;
    enum colour colour;
    const char *safety = safety_of(row, &colour);

    lines_text(to, COLOUR_NONE, cursor ? glyph(GLYPH_CURSOR, false) : " ");
    escape_terminal(&text, row->name);
    text_cut_front(&cut, buf_span(&text), room->name, glyph(GLYPH_ELLIPSIS, false));
    lines_add(to, COLOUR_NONE, cursor ? SPAN_BOLD : 0, buf_span(&cut));
    lines_pad(to, room->name + 1);
    buf_clear(&text);
    if (row->shards)
        buf_printf(&text, "%u shards", (unsigned)row->shards);
    else
        buf_text(&text, row->format);
    add_cell(to, COLOUR_TYPE, buf_span(&text), room->format, false);
    buf_clear(&text);
    text_bytes(&text, row->size);
    add_cell(to, COLOUR_NONE, buf_span(&text), room->size, true);
    buf_clear(&text);
    add_date(&text, row->mtime_ns);
    add_cell(to, COLOUR_DIM, buf_span(&text), room->changed, false);
    add_cell(to, colour, str_of(safety), room->safety, false);
    buf_release(&text);
    buf_release(&cut);
}

void files_lines(struct lines *to, const struct file_list *list, uint32_t top,
                 uint32_t cursor, unsigned width, unsigned height)
{
    struct room room = measure(width);
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

void files_title(struct lines *to, const struct file_list *list, const char *folder,
                 unsigned width)
{
    struct file_list_facts facts = file_list_facts(list);
    struct buf text = BUF_INIT, cut = BUF_INIT;

    buf_char(&text, ' ');
    escape_terminal(&text, str_of(folder));
    buf_text(&text, "   ");
    text_commas(&text, facts.found);
    buf_text(&text, facts.found == 1 ? " model in " : " models in ");
    text_commas(&text, facts.folders);
    buf_text(&text, facts.folders == 1 ? " folder" : " folders");
    if (facts.walking)
        buf_text(&text, ", looking for more …");
    if (facts.full)
        buf_text(&text, ", and there are more");
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
