#include "text/lines.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "text/width.h"

void lines_release(struct lines *lines)
{
    buf_release(&lines->text);
    free(lines->spans);
    free(lines->at);
    *lines = (struct lines){0};
}

void lines_clear(struct lines *lines)
{
    buf_clear(&lines->text);
    lines->n_spans = lines->n = lines->begun = 0;
    lines->bad = false;
}

/* ---- writing ---- */

void lines_add(struct lines *lines, enum colour colour, unsigned flags, struct str text)
{
    void *spans = lines->spans;
    bool fits;

    if (text.len == 0)
        return;
    fits = buf_grow_array(&spans, lines->n_spans, &lines->spans_room,
                          sizeof *lines->spans);
    lines->spans = spans;
    if (!fits || lines->text.len + text.len > UINT32_MAX) {
        lines->bad = true;
        return;
    }
    lines->spans[lines->n_spans++] = (struct span){.at = (uint32_t)lines->text.len,
                                                   .len = (uint32_t)text.len,
                                                   .colour = (uint8_t)colour,
                                                   .flags = (uint8_t)flags};
    buf_str(&lines->text, text);
    if (lines->text.bad) {
        lines->n_spans--;
        lines->bad = true;
    }
}

void lines_add_halves(struct lines *lines, enum colour above, enum colour below,
                      struct str text)
{
    uint32_t n = lines->n_spans;

    lines_add(lines, above, 0, text);
    if (lines->n_spans > n)
        lines->spans[n].below = (uint8_t)below;
}

void lines_text(struct lines *lines, enum colour colour, const char *text)
{
    lines_add(lines, colour, 0, str_of(text));
}

void lines_printf(struct lines *lines, enum colour colour, const char *format, ...)
{
    struct buf text = BUF_INIT;
    va_list args;

    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    lines_add(lines, colour, 0, buf_span(&text));
    buf_release(&text);
}

size_t lines_width(const struct lines *lines)
{
    size_t cells = 0;

    for (uint32_t i = lines->begun; i < lines->n_spans; i++)
        cells += text_width(span_text(lines, &lines->spans[i]));
    return cells;
}

void lines_pad(struct lines *lines, size_t cells)
{
    size_t have = lines_width(lines);
    struct buf blanks = BUF_INIT;

    if (have < cells)
        buf_fill(&blanks, ' ', cells - have);
    lines_add(lines, COLOUR_NONE, 0, buf_span(&blanks));
    buf_release(&blanks);
}

void lines_end_target(struct lines *lines, uint32_t target)
{
    void *at = lines->at;
    bool fits = buf_grow_array(&at, lines->n, &lines->room, sizeof *lines->at);

    lines->at = at;
    if (!fits) {
        lines->bad = true;
        return;
    }
    lines->at[lines->n++] = (struct line){
        .first = lines->begun, .n = lines->n_spans - lines->begun, .target = target};
    lines->begun = lines->n_spans;
}

void lines_end(struct lines *lines)
{
    lines_end_target(lines, NO_TARGET);
}

void lines_wrap(struct lines *lines, enum colour colour, struct str text, size_t cells,
                size_t indent)
{
    lines_fold(lines, colour, text, cells, indent, true);
}

void lines_fold(struct lines *lines, enum colour colour, struct str text, size_t cells,
                size_t indent, bool cut_words)
{
    size_t used = lines_width(lines);

    while (text.len > 0) {
        size_t room = cells > used + 1 ? cells - used : 1;
        size_t len = cells ? text_wrap(text, room) : text.len;
        struct str piece = str_span(text.at, len);
        struct buf cut = BUF_INIT;

        /* A word longer than a line is usually a path: keep its end. */
        if (cells && cut_words && text_width(piece) > room) {
            text_cut_front(&cut, piece, room, "…");
            piece = buf_span(&cut);
        }
        lines_add(lines, colour, 0, piece);
        lines_end(lines);
        buf_release(&cut);
        while (len < text.len && text.at[len] == ' ')
            len++;
        text = str_span(text.at + len, text.len - len);
        used = indent;
        if (text.len > 0)
            lines_pad(lines, indent);
    }
}

/* ---- reading ---- */

struct str span_text(const struct lines *lines, const struct span *span)
{
    return str_span(lines->text.at + span->at, span->len);
}

void line_plain(struct buf *to, const struct lines *lines, uint32_t line)
{
    for (uint32_t i = 0; i < lines->at[line].n; i++)
        buf_str(to, span_text(lines, &lines->spans[lines->at[line].first + i]));
}

void lines_print(const struct lines *lines, const struct pen *pen)
{
    for (uint32_t i = 0; i < lines->n; i++) {
        const struct line *line = &lines->at[i];

        for (uint32_t k = line->first; k < line->first + line->n; k++)
            pen_str(pen, span_text(lines, &lines->spans[k]),
                    (enum colour)lines->spans[k].colour);
        out_char(pen->out, '\n');
    }
}
