#include "export/page/page_chart.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/base.h"
#include "export/page/page_in.h"
#include "text/escape.h"
#include "text/number.h"

#define WIDE       1000.0 /* of the SVG's own coordinates */
#define HIGH       200.0
#define MANY       50    /* values from which extremes may be cut */
#define LOG_RANGE  100.0 /* largest / smallest from which log is the default */
#define MOST_MARKS 100   /* alarms and gaps of a chart */
#define MARK_SPACE 0.5   /* percent between two alarms that are drawn */

/* One of the two drawings. */
struct scale {
    bool log;
    double low, high; /* of the axis; of logarithms if `log` */
};

double page_step_at(const struct page_steps *steps, double step)
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

/* False: there is nothing to draw. */
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

/* ---- ticks ---- */

/* 1, 2 or 5 times a power of ten, so that there are at most `most` steps. */
static double nice_step(double range, int most)
{
    double step = pow(10, floor(log10(range / most)));

    if (range / step > most)
        step *= range / (2 * step) <= most ? 2 : range / (5 * step) <= most ? 5 : 10;
    return step;
}

struct ticks {
    double at[16];
    int n;
};

static void add_tick(struct ticks *ticks, double at)
{
    if (ticks->n < (int)COUNT_OF(ticks->at))
        ticks->at[ticks->n++] = at;
}

/* Values on a linear axis; a power of ten, on a logarithmic one. */
static void find_ticks(struct ticks *ticks, const struct scale *scale, int most)
{
    double range = scale->high - scale->low, step;

    *ticks = (struct ticks){0};
    if (scale->log && range < 0.7) { /* decades say nothing */
        struct scale plain = {false, pow(10, scale->low), pow(10, scale->high)};

        find_ticks(ticks, &plain, most);
        for (int i = 0; i < ticks->n; i++)
            ticks->at[i] = log10(ticks->at[i]);
        return;
    }
    step = nice_step(range, most);
    if (scale->log && step < 1)
        step = 1;
    for (double at = ceil(scale->low / step); at * step <= scale->high && ticks->n < 12;
         at++)
        add_tick(ticks, at * step);
    if (!scale->log || range > 2.5)
        return;
    for (double at = floor(scale->low); at <= scale->high; at++)
        for (int k = 2; k <= 5; k += 3) {
            double middle = at + log10(k);

            if (middle > scale->low && middle < scale->high)
                add_tick(ticks, middle);
        }
}

static void add_number(struct buf *to, double value)
{
    size_t from = to->len;

    text_real(to, fabs(value) < 1e-300 ? 0 : value);
    page_minus(to, from);
}

static void add_y_labels(struct buf *to, const struct scale *scale)
{
    struct ticks ticks;

    find_ticks(&ticks, scale, 4);
    buf_printf(to, "<div class=\"ys %s\">", scale->log ? "log" : "lin");
    for (int i = 0; i < ticks.n; i++) {
        double at = height_of(scale, ticks.at[i]);

        if (at < 2 || at > 98)
            continue;
        buf_printf(to, "<span style=\"top:%.1f%%\">", at);
        add_number(to, scale->log ? pow(10, ticks.at[i]) : ticks.at[i]);
        buf_text(to, "</span>");
    }
    buf_text(to, "</div>");
}

static void add_grid_lines(struct buf *to, const struct scale *scale)
{
    struct ticks ticks;

    find_ticks(&ticks, scale, 4);
    buf_printf(to, "<path class=\"grid %s\" d=\"", scale->log ? "log" : "lin");
    for (int i = 0; i < ticks.n; i++)
        buf_printf(to, "M0 %.1fH%.0f", height_of(scale, ticks.at[i]) * HIGH / 100,
                   WIDE);
    buf_text(to, "\"/>");
}

/* ---- marks ---- */

/* The end of the span of columns from `from` on that are not finite; columns without a
 * value do not end it. */
static uint32_t bad_end(const struct page_chart *chart, uint32_t from)
{
    uint32_t end = from;

    for (uint32_t i = from; i < chart->grid->columns; i++) {
        if (chart->row[i] && !is_bad(chart->row[i]))
            break;
        end = chart->row[i] ? i + 1 : end;
    }
    return end;
}

/* Spans of columns that are not finite: hatched, with a cross. */
static void add_bad(struct buf *to, const struct page_chart *chart)
{
    for (uint32_t i = 0; i < chart->grid->columns; i++) {
        uint32_t end = chart->row[i] ? bad_end(chart, i) : i;

        if (end == i)
            continue;
        buf_printf(to,
                   "<i class=\"bad-span\" style=\"left:%.2f%%;width:%.2f%%\" "
                   "title=\"NaN or Inf, steps %" PRIu64 " to %" PRIu64 "\">×</i>",
                   page_step_at(chart->steps, (double)chart->grid->first[i]),
                   page_step_at(chart->steps, (double)chart->grid->last[end - 1]) -
                       page_step_at(chart->steps, (double)chart->grid->first[i]),
                   chart->grid->first[i], chart->grid->last[end - 1]);
        i = end;
    }
}

/* Where a run was resumed, and the steps that are missing there. */
static void add_gaps(struct buf *to, const struct page_steps *steps)
{
    for (uint32_t i = 1; i < steps->n_segments && i <= MOST_MARKS; i++) {
        const struct history_segment *segment = &steps->segments[i];
        double begin = (double)segment->first, end = begin;
        double left;

        if (segment->gap_steps > 0)
            begin -= (double)segment->gap_steps;
        left = page_step_at(steps, begin);
        if (!(left >= 0 && left <= 100))
            continue;
        buf_printf(to,
                   "<i class=\"gap\" style=\"left:%.2f%%;width:%.2f%%\" "
                   "title=\"resumed at step %" PRIu64,
                   left, page_step_at(steps, end) - left, segment->first);
        if (segment->gap_steps > 0) {
            buf_text(to, ": ");
            text_plural(to, (uint64_t)segment->gap_steps, "step is", "steps are");
            buf_text(to, " missing");
        }
        buf_text(to, "\"></i>");
    }
}

static void add_alarms(struct buf *to, const struct page_steps *steps)
{
    double last[2] = {-1, -1};
    uint32_t marks = 0;

    buf_text(to, "<div class=\"marks\">");
    for (uint32_t i = 0; i < steps->n_alarms && marks < MOST_MARKS; i++) {
        const struct history_alarm *alarm = &steps->alarms[i];
        bool worst = alarm->severity == SEVERITY_ALARM;
        double at = page_step_at(steps, (double)alarm->step);

        if (alarm->severity == SEVERITY_NOTE || at < 0 || at > 100 ||
            (last[worst] >= 0 && fabs(at - last[worst]) < MARK_SPACE))
            continue;
        last[worst] = at;
        marks++;
        buf_printf(to,
                   "<a class=\"%s\" href=\"#alarm-%" PRIu32 "\" style=\"left:%.2f%%\" "
                   "title=\"step %" PRIu64 ": ",
                   worst ? "alarm" : "warn", i, at, alarm->step);
        page_html(to, alarm->name, 60);
        buf_text(to, alarm->name.len > 0 ? " " : "");
        page_html(to, alarm->kind, 40);
        buf_printf(to,
                   "\"><svg viewBox=\"0 0 12 10\"><path d=\"M6 1l5 8H1z\"/></svg></a>");
    }
    buf_text(to, "</div>");
}

static void add_x_labels(struct buf *to, const struct page_steps *steps, int most)
{
    struct scale scale = {false, (double)steps->first, (double)steps->last};
    struct ticks ticks = {0};

    if (scale.high > scale.low)
        find_ticks(&ticks, &scale, most);
    buf_printf(to, "<div class=\"xs\"><span style=\"left:0\">%s%" PRIu64 "</span>",
               most > 4 ? "step " : "", steps->first);
    for (int i = 0; i < ticks.n; i++) {
        double at = page_step_at(steps, ticks.at[i]);

        if (at > 12 && at < 88 && ticks.at[i] == floor(ticks.at[i]))
            buf_printf(to, "<span class=\"mid\" style=\"left:%.1f%%\">%.0f</span>", at,
                       ticks.at[i]);
    }
    if (steps->last > steps->first)
        buf_printf(to, "<span class=\"end\">%" PRIu64 "</span>", steps->last);
    buf_text(to, "</div>");
}

/* ---- the whole ---- */

/* "4% of the points lie outside" */
static void add_cut(struct buf *to, const struct page_chart *chart,
                    const struct scale *scale)
{
    uint32_t all = 0, outside = 0;
    double value;

    for (uint32_t i = 0; i < chart->grid->columns; i++)
        if (chart_value(chart, i, false, &value)) {
            all++;
            outside += value < scale->low || value > scale->high;
        }
    if (outside == 0)
        return;
    buf_text(to, "<span class=\"dim lin\">");
    text_plural(to, outside, "point", "points");
    buf_printf(to, " of %" PRIu32 " beyond the axis</span>", all);
}

static bool prefers_log(const struct page_chart *chart, const struct scale *log)
{
    double value;

    for (uint32_t i = 0; i < chart->grid->columns; i++)
        if (chart_value(chart, i, false, &value) && value <= 0)
            return false;
    return log->high - log->low > log10(LOG_RANGE) * 1.1;
}

void page_chart(struct buf *to, const struct page_chart *chart)
{
    struct scale scales[2];
    bool has[2] = {find_scale(&scales[0], chart, false),
                   find_scale(&scales[1], chart, true)};

    buf_printf(
        to,
        "<figure class=\"chart%s%s\" data-scalar=\"%" PRIu32 "\" data-phase=\"%s\">",
        chart->large ? " large" : "",
        has[1] && !chart->linear && prefers_log(chart, &scales[1]) ? " is-log" : "",
        chart->number, chart->grid->phase == HISTORY_EVAL ? "eval" : "train");
    buf_text(to, "<figcaption><b>");
    page_html(to, chart->name, 80);
    buf_printf(to, "</b> <span class=\"dim\">%s</span>", chart->note);
    if (has[0])
        add_cut(to, chart, &scales[0]);
    buf_text(to, "<span class=\"read\"></span></figcaption><div class=\"plot\">");
    buf_printf(to,
               "<svg viewBox=\"0 0 %.0f %.0f\" preserveAspectRatio=\"none\" "
               "role=\"img\" aria-label=\"",
               WIDE, HIGH);
    page_html(to, chart->name, 80);
    buf_text(to, "\">");
    for (int log = 0; log < 2; log++)
        if (has[log]) {
            add_grid_lines(to, &scales[log]);
            add_path(to, chart, &scales[log]);
        }
    buf_text(to, "</svg>");
    for (int log = 0; log < 2; log++)
        if (has[log])
            add_y_labels(to, &scales[log]);
    add_bad(to, chart);
    add_gaps(to, chart->steps);
    buf_text(to, "</div>");
    add_alarms(to, chart->steps);
    add_x_labels(to, chart->steps, chart->large ? 6 : 3);
    buf_text(to, "</figure>\n");
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
