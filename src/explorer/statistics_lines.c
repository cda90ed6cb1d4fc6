#include "explorer/statistics_lines.h"

#include <math.h>
#include <stdio.h>

#include "base/base.h"
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

/* The text of a value of a fact; empty if the fact or the value is missing. */
static struct str value_of(const struct facts *facts, const char *id, const char *name)
{
    const struct fact *fact = facts_find(facts, id);
    const struct fact_part *part = fact ? fact_find(facts, fact, name) : NULL;

    return part ? fact_part_text(facts, part) : STR("");
}

/* "NaN 0   +Inf 0   -Inf 0   zeros 0" comes after the count, or below it. */
static void count_line(struct lines *to, const struct facts *facts, unsigned width)
{
    static const char *const ids[] = {"nan", "pos_inf", "neg_inf", "zeros"};
    const struct fact *sampled = facts_find(facts, "sampled");

    begin(to, "count");
    lines_add(to, COLOUR_NONE, 0, value_of(facts, "count", "count"));
    if (lines_width(to) + ODD_CELLS + value_of(facts, "zeros", "zeros").len > width) {
        lines_end(to);
        begin(to, "");
    } else {
        lines_text(to, COLOUR_NONE, "     ");
    }
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        const struct fact *fact = facts_find(facts, ids[i]);

        if (!fact)
            continue;
        lines_text(to, COLOUR_NONE, i > 0 ? "   " : "");
        lines_printf(to, fact->role, "%s %.*s", fact->label,
                     STR_ARG(value_of(facts, ids[i], ids[i])));
    }
    if (sampled) {
        lines_text(to, COLOUR_NONE, "   ");
        lines_add(to, sampled->role, 0, fact_group_text(facts, sampled, 0));
    }
    lines_end(to);
}

static void extreme_line(struct lines *to, const struct facts *facts, const char *id)
{
    struct str at = value_of(facts, id, "at");

    begin(to, id);
    lines_add(to, COLOUR_NONE, 0, value_of(facts, id, id));
    if (at.len > 0)
        lines_printf(to, COLOUR_NONE, "   at %.*s", STR_ARG(at));
    lines_end(to);
}

static void moment_lines(struct lines *to, const struct facts *facts)
{
    struct str std = value_of(facts, "std", "std");

    begin(to, "mean");
    lines_add(to, COLOUR_NONE, 0, value_of(facts, "mean", "mean"));
    lines_end(to);
    begin(to, std.len > 0 ? "std" : "L2");
    if (std.len > 0)
        lines_printf(to, COLOUR_NONE, "%.*s   (n-1)    L2  ", STR_ARG(std));
    lines_add(to, COLOUR_NONE, 0, value_of(facts, "l2", "l2"));
    lines_end(to);
}

static void number_lines(struct lines *to, const struct facts *facts, unsigned width)
{
    const struct fact *remark = facts_find(facts, "values");

    count_line(to, facts, width);
    if (!facts_find(facts, "mean"))
        return;
    extreme_line(to, facts, "min");
    extreme_line(to, facts, "max");
    moment_lines(to, facts);
    if (remark) {
        begin(to, "");
        lines_add(to, remark->role, 0, fact_group_text(facts, remark, 0));
        lines_end(to);
    }
}

/* ---- quantiles ---- */

static double quantile_of(const struct facts *facts, uint32_t i)
{
    const struct fact *fact = statistics_quantile(facts, i);
    const struct fact_part *part = fact ? fact_find(facts, fact, "quantile") : NULL;

    return part ? part->real : NAN;
}

/* One format for all, like a grid of values. */
static void quantile_text(char to[24], const struct facts *facts,
                          const struct numbers *numbers, uint32_t i)
{
    double most = 0;
    bool whole = numbers->stats->kind != STATS_REAL;

    for (uint32_t k = 0; k < numbers->n_quantiles; k++) {
        most = fmax(most, fabs(quantile_of(facts, k)));
        whole &= quantile_of(facts, k) == floor(quantile_of(facts, k));
    }
    if (whole && most < 1e7)
        snprintf(to, 24, "%.0f", quantile_of(facts, i));
    else if (most != 0 && (most < 0.01 || most >= 1e5))
        snprintf(to, 24, "%.3e", quantile_of(facts, i));
    else
        snprintf(to, 24, "%.4f", quantile_of(facts, i));
}

static void plain_quantiles(struct lines *to, const struct facts *facts,
                            const struct numbers *numbers)
{
    char text[24];

    for (uint32_t i = 0; i < numbers->n_quantiles; i++) {
        quantile_text(text, facts, numbers, i);
        lines_printf(to, COLOUR_NONE, " quantile %g%%, exact: %s", numbers->at[i] * 100,
                     text);
        lines_end(to);
    }
}

static void quantile_lines(struct lines *to, const struct facts *facts,
                           const struct numbers *numbers, unsigned width)
{
    char texts[16][24];
    uint32_t n = numbers->n_quantiles < 16 ? numbers->n_quantiles : 16, fit;
    size_t cell = QUANTILE_CELL;

    for (uint32_t i = 0; i < n; i++) {
        quantile_text(texts[i], facts, numbers, i);
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
    struct facts facts = {0};
    uint32_t before = to->n;

    statistics_facts(&facts, model, tensor, numbers, STATISTICS_ALL_COUNTS);
    number_lines(to, &facts, room->width);
    if (numbers->n_quantiles > 0)
        quantile_lines(&quantiles, &facts, numbers, room->width);
    if (numbers->n_bins > 0 && !room->plain)
        spread_lines(to, numbers, room, to->n - before + quantiles.n);
    if (numbers->n_quantiles > 0 && room->plain)
        plain_quantiles(to, &facts, numbers);
    else if (numbers->n_quantiles > 0)
        quantile_lines(to, &facts, numbers, room->width);
    if (why && numbers->n_bins == 0) {
        lines_text(to, COLOUR_NONE, " ");
        lines_wrap(to, COLOUR_DIM, str_of(why), room->width, 1);
    }
    facts_release(&facts);
    lines_release(&quantiles);
}
