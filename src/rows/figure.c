#include "rows/figure.h"

#include <math.h>
#include <string.h>

#include "rows/run_words.h"
#include "text/glyph.h"
#include "text/number.h"
#include "text/width.h"

static void is_number(struct figure *to, enum figure_kind kind, uint64_t n)
{
    to->kind = kind;
    to->role = n == 0 && kind != FIGURE_TIME ? COLOUR_DIM : COLOUR_NONE;
    to->n = n;
}

static void is_real(struct figure *to, enum figure_kind kind, double real, bool zero)
{
    to->kind = kind;
    to->role = zero ? COLOUR_DIM : COLOUR_NONE;
    to->real = real;
}

void figure_text(struct figure *to, const char *text)
{
    buf_text(to->text, text);
    to->kind = FIGURE_TEXT;
}

void figure_count(struct figure *to, uint64_t n)
{
    text_count(to->text, n);
    is_number(to, FIGURE_COUNT, n);
}

void figure_exact(struct figure *to, uint64_t n)
{
    text_commas(to->text, n);
    is_number(to, FIGURE_COUNT, n);
}

void figure_flops(struct figure *to, uint64_t n)
{
    text_flops(to->text, n);
    is_number(to, FIGURE_COUNT, n);
}

void figure_bytes(struct figure *to, uint64_t n)
{
    text_bytes(to->text, n);
    is_number(to, FIGURE_BYTES, n);
}

void figure_time(struct figure *to, uint64_t ns)
{
    run_time(to->text, ns);
    is_number(to, FIGURE_TIME, ns);
}

void figure_share(struct figure *to, double part, double whole)
{
    text_percent(to->text, part, whole);
    is_real(to, FIGURE_SHARE, part / whole,
            part / whole < 0.005); /* is written as 0% */
}

void figure_real(struct figure *to, double value)
{
    text_real(to->text, value);
    is_real(to, FIGURE_REAL, value, value == 0);
    if (!isfinite(value))
        to->role = COLOUR_ALARM;
}

void figure_not_finite(struct figure *to, uint64_t nan, uint64_t inf)
{
    if (nan + inf == 0)
        return;
    run_not_finite(to->text, nan, inf);
    to->kind = FIGURE_NOT_FINITE;
    to->n = nan + inf;
    to->role = COLOUR_ALARM;
}

void figure_shape(struct figure *to, const int64_t *dims, int rank)
{
    text_shape(to->text, dims, rank);
    to->kind = FIGURE_SHAPE;
    to->n = (uint64_t)rank;
    to->dims = dims;
}

bool figure_same_shape(const struct figure *a, const struct figure *b)
{
    if (a->kind != FIGURE_SHAPE || b->kind != FIGURE_SHAPE || a->n != b->n ||
        a->varied != b->varied || !a->dims != !b->dims)
        return false;
    return !a->dims || memcmp(a->dims, b->dims, a->n * sizeof *a->dims) == 0;
}

void figure_bar(struct buf *to, const struct figure *figure, unsigned cells)
{
    int filled = (int)(figure->real * cells + 0.5), solid;

    if (figure->solid >= figure->real) {
        glyph_bar(to, figure->real, (int)cells, false);
        return;
    }
    filled = filled == 0 ? 1 : filled;
    solid = (int)(figure->solid * cells + 0.5);
    for (int i = 0; i < filled; i++)
        buf_text(to, i < solid ? "█" : "░");
}

/* "NaN 1.5K Inf 3.0M" loses whole words: half a number is another number. */
static void cut_words(struct buf *to, struct str text, size_t cells,
                      const char *ellipsis)
{
    while (text_width(text) + text_width(str_of(ellipsis)) > cells) {
        ptrdiff_t blank = str_find_last_char(text, ' ');

        if (blank <= 0)
            break;
        text = str_head(text, (size_t)blank);
    }
    buf_str(to, text);
    buf_text(to, ellipsis);
}

void figure_cut(struct buf *to, enum figure_kind kind, struct str text, size_t cells,
                bool ascii)
{
    const char *ellipsis = glyph(GLYPH_ELLIPSIS, ascii);
    const char *times = glyph(GLYPH_TIMES, ascii);

    if (kind == FIGURE_NAME)
        text_cut_front(to, text, cells, ellipsis);
    else if (kind == FIGURE_SHAPE)
        text_cut_shape(to, text, cells, ellipsis, times);
    else if (kind == FIGURE_SHAPES)
        text_cut_shapes(to, text, cells, ellipsis, times);
    else if (kind == FIGURE_NOT_FINITE && text_width(text) > cells)
        cut_words(to, text, cells, ellipsis);
    else
        text_cut(to, text, cells, ellipsis);
}
