#include "export/page/page_chart.h"

#include <math.h>
#include <stdlib.h>

#include "base/base.h"
#include "export/page/page_in.h"

#define WIDE      1000.0 /* width in the SVG's own coordinates */
#define HIGH      200.0
#define MANY      50    /* minimum number of values for cutting extremes */
#define LOG_RANGE 100.0 /* ratio of largest to smallest from which log is the default */

/* One of the two drawings. */
struct scale {
    bool log;
    double low, high; /* of the axis; of logarithms if `log` */
};

static double page_step_at(const struct page_steps *steps, double step)
{
    double range = (double)(steps->last - steps->first);

    return range > 0 ? 100 * (step - (double)steps->first) / range : 50;
}

static double column_at(const struct page_chart *chart, uint32_t column)
{
    double middle =
        ((double)chart->grid->first[column] + (double)chart->grid->last[column]) / 2;

    return page_step_at(chart->steps, middle);
}

/* ---- values ---- */

static bool is_bad(const struct history_scalar *scalar)
{
    return scalar->number.bad > 0;
}

/* False: the value is missing. */
static bool chart_value(const struct page_chart *chart, uint32_t column, bool log,
                        double *ret_value)
{
    const struct history_scalar *scalar = chart->row[column];

    if (!scalar || is_bad(scalar) || scalar->number.n == 0)
        return false;
    *ret_value = history_number_mean(&scalar->number);
    if (log) {
        if (*ret_value <= 0)
            return false;
        *ret_value = log10(*ret_value);
    }
    return isfinite(*ret_value);
}

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return left < right ? -1 : left > right;
}

/* 1 to 99 % of the values after the first 2 % of the columns, if the rest is far off. */
static void cut_extremes(struct scale *scale, double *values, uint32_t n)
{
    uint32_t from = n / 50, left = n - from;
    double least = scale->low, most = scale->high, low, high;

    if (n < MANY)
        return;
    qsort(values + from, left, sizeof *values, by_value);
    low = values[from + left / 100];
    high = values[from + left - 1 - left / 100];
    if (!(high > low))
        return;
    if (most > high + (high - low) / 2)
        scale->high = high + (high - low) / 10;
    if (least < low - (high - low) / 2)
        scale->low = low - (high - low) / 10;
}

/* False: there is no value. */
static bool find_scale(struct scale *scale, const struct page_chart *chart, bool log)
{
    double *values = calloc((size_t)chart->grid->columns + 1, sizeof *values);
    double value, space;
    uint32_t n = 0;

    *scale = (struct scale){.log = log, .low = INFINITY, .high = -INFINITY};
    for (uint32_t i = 0; values && i < chart->grid->columns; i++)
        if (chart_value(chart, i, log, &value)) {
            values[n++] = value;
            scale->low = fmin(scale->low, value);
            scale->high = fmax(scale->high, value);
        }
    if (n > 0 && !log)
        cut_extremes(scale, values, n);
    free(values);
    if (n == 0)
        return false;
    space = (scale->high - scale->low) * 0.05;
    if (!(space > 0))
        space = scale->high != 0 ? fabs(scale->high) * 0.1 : 1;
    scale->low -= space;
    scale->high += space;
    return isfinite(scale->high - scale->low);
}

/* From the top, in percent. */
static double height_of(const struct scale *scale, double value)
{
    return 100 * (scale->high - value) / (scale->high - scale->low);
}

/* ---- lines ---- */

static uint32_t segment_of(const struct page_chart *chart, uint32_t column)
{
    return chart->grid->segment[column];
}

/* The line is broken where a value is not finite, and between segments. */
static void add_path(struct buf *to, const struct page_chart *chart,
                     const struct scale *scale)
{
    uint32_t run = 0, last = 0;
    double value;

    buf_printf(to, "<path class=\"%s\" vector-effect=\"non-scaling-stroke\" d=\"",
               scale->log ? "log" : "lin");
    for (uint32_t i = 0; i < chart->grid->columns; i++) {
        const struct history_scalar *scalar = chart->row[i];

        if (scalar && is_bad(scalar)) {
            buf_text(to, run == 1 ? "h.01" : "");
            run = 0;
        }
        if (!chart_value(chart, i, scale->log, &value))
            continue;
        if (run > 0 && segment_of(chart, i) != segment_of(chart, last)) {
            buf_text(to, run == 1 ? "h.01" : "");
            run = 0;
        }
        buf_printf(to, "%s%.1f %.1f", run == 0 ? "M" : "L",
                   column_at(chart, i) * WIDE / 100,
                   fmin(2 * HIGH, fmax(-HIGH, height_of(scale, value) * HIGH / 100)));
        run++;
        last = i;
    }
    buf_text(to, run == 1 ? "h.01\"/>" : "\"/>");
}

static bool prefers_log(const struct page_chart *chart, const struct scale *log)
{
    double value;

    for (uint32_t i = 0; i < chart->grid->columns; i++)
        if (chart_value(chart, i, false, &value) && value <= 0)
            return false;
    return log->high - log->low > log10(LOG_RANGE) * 1.1;
}

void page_sparkline(struct buf *to, const struct page_chart *chart)
{
    struct scale scale;

    buf_printf(to,
               "<svg class=\"ts-spark\" width=\"220\" height=\"44\" viewBox=\"0 0 %.0f "
               "%.0f\" preserveAspectRatio=\"none\" fill=\"none\" "
               "stroke=\"currentColor\" stroke-width=\"1.5\" role=\"img\" "
               "aria-label=\"",
               WIDE, HIGH);
    page_html(to, chart->name, 80);
    buf_text(to, "\">");
    if (!(find_scale(&scale, chart, true) && !chart->linear &&
          prefers_log(chart, &scale)) &&
        !find_scale(&scale, chart, false))
        scale.high = NAN;
    if (isfinite(scale.high))
        add_path(to, chart, &scale);
    buf_text(to, "</svg>");
}

enum page_chart_order page_chart_order(struct str name)
{
    if (str_eq(name, STR("loss")))
        return CHART_LOSS;
    if (str_starts(name, STR("grad_norm")))
        return CHART_NORM;
    if (str_eq(name, STR("lr")) || str_starts(name, STR("lr/")))
        return CHART_RATES;
    return CHART_OTHERS;
}
