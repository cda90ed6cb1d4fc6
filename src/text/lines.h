/* lines.h - text as lines of spans, each with a role: panels produce them, screens draw
 * them, and `y` `t` copies them. Text is escaped UTF-8; the printer converts it to
 * ASCII. */
#ifndef TEXT_LINES_H
#define TEXT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "text/colour.h"
#include "text/pen.h"

enum span_flag {
    SPAN_BOLD = 1,
    SPAN_ITALIC = 2, /* inputs, as in the seeds */
    SPAN_UNDERLINE = 4,
    SPAN_REVERSE = 8,
};

struct span {
    uint32_t at, len;      /* in lines->text */
    uint8_t colour, flags; /* enum colour, enum span_flag */
    uint8_t below; /* not COLOUR_NONE: each cell is two halves, the upper in `colour`
                      and the lower in this; the text is only copied */
};

struct line {
    uint32_t first, n; /* its spans */
    uint32_t target;   /* what Enter opens, defined by the maker; or NO_TARGET */
};
#define NO_TARGET UINT32_MAX

struct lines {
    struct buf text;
    struct span *spans;
    uint32_t n_spans, spans_room;
    struct line *at;
    uint32_t n, room;
    uint32_t begun; /* private: the first span of the line that is being written */
    bool bad;       /* out of memory: the text is incomplete */
};

void lines_release(struct lines *lines);
void lines_clear(struct lines *lines); /* keeps its memory */

/* Append to the current line; the text has no newline. */
void lines_add(struct lines *lines, enum colour colour, unsigned flags,
               struct str text);
/* The same, drawn in two halves. */
void lines_add_halves(struct lines *lines, enum colour above, enum colour below,
                      struct str text);
void lines_text(struct lines *lines, enum colour colour, const char *text);
void lines_printf(struct lines *lines, enum colour colour, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Pad the line with blanks to `cells`. */
void lines_pad(struct lines *lines, size_t cells);
/* The width of the current line. */
size_t lines_width(const struct lines *lines);
/* End the line. */
void lines_end(struct lines *lines);
void lines_end_target(struct lines *lines, uint32_t target);

/* A sentence on lines of at most `cells` (0: on one), the further ones begun by
 * `indent` blanks. */
void lines_wrap(struct lines *lines, enum colour colour, struct str text, size_t cells,
                size_t indent);
/* The same; words longer than a line are cut only if `cut_words` is set. */
void lines_fold(struct lines *lines, enum colour colour, struct str text, size_t cells,
                size_t indent, bool cut_words);
/* All lines, each with its newline. */
void lines_print(const struct lines *lines, const struct pen *pen);

/* A span's text, and a line as plain text, without its newline. */
struct str span_text(const struct lines *lines, const struct span *span);
void line_plain(struct buf *to, const struct lines *lines, uint32_t line);

#endif
