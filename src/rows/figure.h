/* figure.h - a table cell or a part of a fact: its text, the number behind the text,
 * the kind of value and its role. Renderers use these for colour, bars and cutting; no
 * renderer parses the text. */
#ifndef ROWS_FIGURE_H
#define ROWS_FIGURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "text/colour.h"

enum figure_kind {
    FIGURE_TEXT,
    FIGURE_NAME,       /* a long name; its end matters most */
    FIGURE_SHAPES,     /* "weight: 64×3×7×7, bias: 64" */
    FIGURE_COUNT,      /* n */
    FIGURE_BYTES,      /* n */
    FIGURE_TIME,       /* n, in nanoseconds */
    FIGURE_SHARE,      /* real, 0 to 1 */
    FIGURE_REAL,       /* real */
    FIGURE_BAR,        /* real, 0 to 1, with `solid` drawn solid; never cut */
    FIGURE_NOT_FINITE, /* n: "NaN 12 Inf 3" */
    FIGURE_SHAPE,      /* dims, n of them */
    FIGURE_DTYPE,      /* n, an enum dtype */
    FIGURE_PLACE,      /* n, a place of the model */
    FIGURE_CALL,       /* n, a call of the run */
    FIGURE_LINE,       /* n, a line of a source file; the text is "net.py:12" */
    FIGURE_OFFSET      /* n, a byte of a file or of a pickle */
};

struct figure {
    struct buf *text; /* appended to; empty: not applicable */
    enum figure_kind kind;
    enum colour role; /* zeros are dim, NaN and Inf are alarms */
    bool tied;        /* counted elsewhere; the text is in brackets */
    uint64_t n;       /* the number behind the text, exact */
    double real, solid;
    const int64_t *dims; /* borrowed from the model or the run */
    bool varied;         /* other calls had a different shape: "*" */
};

void figure_text(struct figure *to, const char *text);
void figure_count(struct figure *to, uint64_t n); /* 25.6M */
void figure_exact(struct figure *to, uint64_t n); /* 25,557,032 */
void figure_flops(struct figure *to, uint64_t n); /* 8.2G */
void figure_bytes(struct figure *to, uint64_t n); /* 97.7MB */
void figure_time(struct figure *to, uint64_t ns); /* 1.52ms; "" under 1 μs */
void figure_share(struct figure *to, double part, double whole); /* " 9%" */
void figure_real(struct figure *to, double value);               /* 0.0123 */
void figure_not_finite(struct figure *to, uint64_t nan, uint64_t inf);
void figure_shape(struct figure *to, const int64_t *dims, int rank); /* 64×3×7×7 */
/* Do two cells of shapes show the same, or both nothing? */
bool figure_same_shape(const struct figure *a, const struct figure *b);

/* Draw a bar: solid up to `solid`, light from there to `real`. */
void figure_bar(struct buf *to, const struct figure *figure, unsigned cells);
/* Append a text of this kind, cut to at most `cells`: a name loses its beginning, a
 * shape whole dimensions, shapes whole members, "NaN 12 Inf 3" whole words, all others
 * their end. */
void figure_cut(struct buf *to, enum figure_kind kind, struct str text, size_t cells,
                bool ascii);

#endif
