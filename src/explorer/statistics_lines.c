#include "explorer/statistics_lines.h"

#include <math.h>
#include <stdio.h>

#include "facts/histogram_lines.h"
#include "facts/statistics.h"
#include "text/text.h"

#define ODD_CELLS     37 /* of the other counts after the total, if all are small */
#define LEAST_ROWS    3  /* rows of a histogram with an axis */
#define QUANTILE_CELL 8

/* ---- numbers ---- */

static void begin(struct lines *to, const char *label)
{
    lines_printf(to, COLOUR_DIM, " %-8s ", label);
}

static void add_count(struct lines *to, const char *name, uint64_t n, bool alarming)
{
    struct buf text = BUF_INIT;

    text_commas(&text, n);
    lines_printf(to, alarming && n > 0 ? COLOUR_ALARM : COLOUR_NONE, "%s %s", name,
                 text.at);
    buf_release(&text);
}

/* "NaN 0   +Inf 0   -Inf 0   zeros 0" comes after the count, or below it. */
static void count_line(struct lines *to, const struct stats *stats, unsigned width)
{
    struct buf text = BUF_INIT, zeros = BUF_INIT;

    begin(to, "count");
    text_commas(&text, stats->count);
    text_commas(&zeros, stats->zeros);
    lines_add(to, COLOUR_NONE, 0, buf_span(&text));
    if (lines_width(to) + ODD_CELLS + zeros.len > width) {
        lines_end(to);
        begin(to, "");
    } else {
        lines_text(to, COLOUR_NONE, "     ");
    }
    buf_release(&zeros);
    add_count(to, "NaN", stats->nan, true);
    lines_text(to, COLOUR_NONE, "   ");
    add_count(to, "+Inf", stats->pos_inf, true);
    lines_text(to, COLOUR_NONE, "   ");
    add_count(to, "-Inf", stats->neg_inf, true);
    lines_text(to, COLOUR_NONE, "   ");
    add_count(to, "zeros", stats->zeros, false);
    if (stats->sampled)
        lines_text(to, COLOUR_DIM, "   of 1 in 8 blocks");
    lines_end(to);
    buf_release(&text);
}

static void extreme_line(struct lines *to, const struct model *model,
                         const struct tensor *tensor, const struct stats *stats,
                         bool max)
{
    struct buf text = BUF_INIT;

    begin(to, max ? "max" : "min");
    statistics_extreme(&text, stats, max);
    if (tensor->rank > 0) {
        buf_text(&text, "   at ");
        statistics_position(&text, model, tensor, stats, max);
    }
    lines_add(to, COLOUR_NONE, 0, buf_span(&text));
    lines_end(to);
    buf_release(&text);
}

static void moment_lines(struct lines *to, const struct stats *stats)
{
    struct buf text = BUF_INIT;
    bool spread = stats_finite(stats) > 1;

    begin(to, "mean");
    text_real_long(&text, stats->mean);
    lines_add(to, COLOUR_NONE, 0, buf_span(&text));
    lines_end(to);
    buf_clear(&text);
    begin(to, spread ? "std" : "L2");
    if (spread) {
        text_real_long(&text, stats_std(stats));
        buf_text(&text, "   (n-1)    L2  ");
    }
    text_real_long(&text, stats_l2(stats));
    lines_add(to, COLOUR_NONE, 0, buf_span(&text));
    lines_end(to);
    buf_release(&text);
}

/* Says what the numbers refer to, if that is not obvious. */
static const char *remark(const struct tensor *tensor)
{
    switch (tensor->dtype) {
    case DTYPE_QINT8:
    case DTYPE_QUINT8:
    case DTYPE_QINT32:
    case DTYPE_QUINT4X2:
    case DTYPE_QUINT2X4:
        return "of the integers as stored, before scale and zero point";
    case DTYPE_BOOL:
        return "False is 0, True is 1";
    default:
        return dtype_info(tensor->dtype)->kind == DTYPE_KIND_COMPLEX
                   ? "of absolute values"
                   : NULL;
    }
}

static void number_lines(struct lines *to, const struct model *model,
                         const struct tensor *tensor, const struct stats *stats,
                         unsigned width)
{
    count_line(to, stats, width);
    if (!stats_measured(stats))
        return;
    extreme_line(to, model, tensor, stats, false);
    extreme_line(to, model, tensor, stats, true);
    moment_lines(to, stats);
    if (remark(tensor)) {
        begin(to, "");
        lines_text(to, COLOUR_DIM, remark(tensor));
        lines_end(to);
    }
}

/* ---- quantiles ---- */

/* One format for all, like a grid of values. */
static void quantile_text(char to[24], const struct numbers *numbers, uint32_t i)
{
    double most = 0;
    bool whole = numbers->stats->kind != STATS_REAL;

    for (uint32_t k = 0; k < numbers->n_quantiles; k++) {
        most = fmax(most, fabs(numbers->quantiles[k]));
        whole &= numbers->quantiles[k] == floor(numbers->quantiles[k]);
    }
    if (whole && most < 1e7)
        snprintf(to, 24, "%.0f", numbers->quantiles[i]);
    else if (most != 0 && (most < 0.01 || most >= 1e5))
        snprintf(to, 24, "%.3e", numbers->quantiles[i]);
    else
        snprintf(to, 24, "%.4f", numbers->quantiles[i]);
}

static void plain_quantiles(struct lines *to, const struct numbers *numbers)
{
    char text[24];

    for (uint32_t i = 0; i < numbers->n_quantiles; i++) {
        quantile_text(text, numbers, i);
        lines_printf(to, COLOUR_NONE, " quantile %g%%, exact: %s", numbers->at[i] * 100,
                     text);
        lines_end(to);
    }
}

static void quantile_lines(struct lines *to, const struct numbers *numbers,
                           unsigned width)
{
    char texts[16][24];
    uint32_t n = numbers->n_quantiles < 16 ? numbers->n_quantiles : 16, fit;
    size_t cell = QUANTILE_CELL;

    for (uint32_t i = 0; i < n; i++) {
        quantile_text(texts[i], numbers, i);
        cell = strlen(texts[i]) + 1 > cell ? strlen(texts[i]) + 1 : cell;
    }
    fit = width > cell + 1 ? (uint32_t)((width - 1) / cell) : 1;
    lines_text(to, COLOUR_DIM, " quantiles, exact");
    lines_end(to);
    for (uint32_t first = 0; first < n; first += fit) {
        uint32_t end = first + fit < n ? first + fit : n;

        lines_text(to, COLOUR_NONE, " ");
        for (uint32_t i = first; i < end; i++)
            lines_printf(to, COLOUR_DIM, "%*g%%", (int)cell - 1, numbers->at[i] * 100);
        lines_end(to);
        lines_text(to, COLOUR_NONE, " ");
        for (uint32_t i = first; i < end; i++)
            lines_printf(to, COLOUR_NONE, "%*s", (int)cell, texts[i]);
        lines_end(to);
    }
}

/* The histogram gets the remaining lines, at most six; with little space, one line
 * and no axis. */
static void spread_lines(struct lines *to, const struct numbers *numbers,
                         const struct statistics_room *room, uint32_t others)
{
    unsigned left = room->height > others + 2 ? room->height - others - 2 : 0;

    if (left < LEAST_ROWS) {
        histogram_line(to, numbers, room->width, room->log);
        return;
    }
    if (left > HISTOGRAM_ROWS)
        lines_end(to);
    histogram_lines(to, numbers, room->width,
                    left < HISTOGRAM_ROWS ? left : HISTOGRAM_ROWS, room->log);
}

void statistics_lines(struct lines *to, const struct model *model,
                      const struct tensor *tensor, const struct numbers *numbers,
                      const char *why, const struct statistics_room *room)
{
    struct lines quantiles = {0};
    uint32_t before = to->n;

    number_lines(to, model, tensor, numbers->stats, room->width);
    if (numbers->n_quantiles > 0)
        quantile_lines(&quantiles, numbers, room->width);
    if (numbers->n_bins > 0 && !room->plain)
        spread_lines(to, numbers, room, to->n - before + quantiles.n);
    if (numbers->n_quantiles > 0 && room->plain)
        plain_quantiles(to, numbers);
    else if (numbers->n_quantiles > 0)
        quantile_lines(to, numbers, room->width);
    if (why && numbers->n_bins == 0) {
        lines_text(to, COLOUR_NONE, " ");
        lines_wrap(to, COLOUR_DIM, str_of(why), room->width, 1);
    }
    lines_release(&quantiles);
}
