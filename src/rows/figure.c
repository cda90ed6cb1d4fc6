#include "rows/figure.h"

#include <math.h>

#include "rows/run_words.h"
#include "text/number.h"

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
    to->role = COLOUR_ALARM;
}

void figure_shape(struct figure *to, const int64_t *dims, int rank)
{
    text_shape(to->text, dims, rank);
    to->kind = FIGURE_SHAPE;
    to->n = (uint64_t)rank;
    to->dims = dims;
}
