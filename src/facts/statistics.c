#include "facts/statistics.h"

#include <math.h>

#include "base/base.h"
#include "text/text.h"

/* ---- facts ---- */

void statistics_subject(struct facts *to, const struct session *session, uint32_t place)
{
    const struct model *model = session->model;
    const struct tensor *tensor = place_tensor(model, place);
    uint64_t values = tensor->numel * dtype_info(tensor->dtype)->values;
    bool strided = tensor->layout == LAYOUT_STRIDED;

    fact_shape(to, "shape", tensor_shape(model, tensor), tensor->rank);
    buf_char(&to->text, ' ');
    fact_figure(to);
    buf_text(&to->text, dtype_name(tensor->dtype));
    fact_named(to, "dtype", FIGURE_DTYPE, tensor->dtype);
    fact_part(to, COLOUR_NONE);
    fact_plural(to, "values", values, "value", "values");
    fact_part(to, COLOUR_NONE);
    /* The bytes of a tensor that is not strided are in its parts. */
    fact_bytes(to, "bytes",
               strided ? tensor_bytes(tensor) : counts_bytes(&session->places, place));
    fact_end(to, "tensor", COLOUR_NONE);
}

void statistics_title(struct buf *to, const struct session *session, uint32_t place)
{
    struct buf path = BUF_INIT;
    struct facts facts = {0};

    place_path(session->model, place, &path);
    escape_terminal(to, buf_span(&path));
    statistics_subject(&facts, session, place);
    for (uint32_t i = 0; facts.n > 0 && i < facts.at[0].n;
         i += fact_group_length(&facts, &facts.at[0], i)) {
        buf_text(to, "  ");
        buf_str(to, fact_group_text(&facts, &facts.at[0], i));
    }
    buf_char(to, '\n');
    facts_release(&facts);
    buf_release(&path);
}

static void real_fact(struct facts *to, const char *id, const char *label, double value)
{
    statistics_real(to, id, value);
    fact_end_as(to, id, label, COLOUR_NONE);
}

/* "12 of 9,408"; nothing for 0. */
static void count_fact(struct facts *to, const char *id, const char *label, uint64_t n,
                       uint64_t whole, enum colour role)
{
    if (n == 0)
        return;
    fact_count(to, id, n);
    buf_text(&to->text, " of ");
    fact_count(to, "count", whole);
    fact_end_as(to, id, label, role);
}

static void extreme_fact(struct facts *to, const struct model *model,
                         const struct tensor *tensor, const struct stats *stats,
                         bool max)
{
    if (max)
        statistics_max(to, stats);
    else
        statistics_min(to, stats);
    if (tensor->rank > 0) {
        buf_text(&to->text, " at ");
        statistics_position(&to->text, model, tensor, stats, max);
    }
    fact_end(to, max ? "max" : "min", COLOUR_NONE);
}

static void quantile_facts(struct facts *to, const struct numbers *numbers)
{
    static const struct {
        double q;
        const char *label;
    } usual[] = {{.05, "5%"}, {.25, "25%"}, {.5, "median"}, {.75, "75%"}, {.95, "95%"}};

    for (uint32_t i = 0; i < numbers->n_quantiles; i++) {
        const char *label = NULL;

        for (size_t k = 0; k < COUNT_OF(usual); k++)
            if (numbers->at[i] == usual[k].q)
                label = usual[k].label;
        if (!label)
            buf_printf(&to->text, "%g%%: ", 100 * numbers->at[i]);
        real_fact(to, "quantile", label ? label : "quantile", numbers->quantiles[i]);
    }
}

void statistics_facts(struct facts *to, const struct model *model,
                      const struct tensor *tensor, const struct numbers *numbers)
{
    const struct stats *stats = numbers->stats;

    count_fact(to, "nan", "NaN", stats->nan, stats->count, COLOUR_ALARM);
    count_fact(to, "pos_inf", "+Inf", stats->pos_inf, stats->count, COLOUR_ALARM);
    count_fact(to, "neg_inf", "-Inf", stats->neg_inf, stats->count, COLOUR_ALARM);
    if (!stats_measured(stats))
        return;
    real_fact(to, "mean", "mean", stats->mean);
    if (stats_finite(stats) > 1)
        real_fact(to, "std", "std", stats_std(stats));
    extreme_fact(to, model, tensor, stats, false);
    quantile_facts(to, numbers);
    extreme_fact(to, model, tensor, stats, true);
    real_fact(to, "l2", "L2", stats_l2(stats));
    count_fact(to, "zeros", "zeros", stats->zeros, stats->count, COLOUR_NONE);
}

/* ---- text ---- */

void statistics_extreme(struct buf *to, const struct stats *stats, bool max)
{
    int64_t integer = max ? stats->int_max : stats->int_min;

    if (stats->kind == STATS_REAL)
        text_real_long(to, max ? stats->max : stats->min);
    else if (stats->kind == STATS_INT)
        buf_printf(to, "%lld", (long long)integer);
    else
        buf_printf(to, "%llu", (unsigned long long)integer);
}

void statistics_position(struct buf *to, const struct model *model,
                         const struct tensor *tensor, const struct stats *stats,
                         bool max)
{
    text_index(to, tensor_shape(model, tensor), tensor->rank,
               (max ? stats->max_at : stats->min_at) /
                   dtype_info(tensor->dtype)->values);
}

static void add_extreme(struct facts *to, const struct stats *stats, bool max)
{
    struct figure figure = fact_figure(to);

    statistics_extreme(figure.text, stats, max);
    figure.kind = FIGURE_REAL;
    figure.real = max ? stats->max : stats->min;
    fact_value(to, max ? "max" : "min", &figure);
}

void statistics_min(struct facts *to, const struct stats *stats)
{
    add_extreme(to, stats, false);
}

void statistics_max(struct facts *to, const struct stats *stats)
{
    add_extreme(to, stats, true);
}

void statistics_real(struct facts *to, const char *name, double value)
{
    struct figure figure = fact_figure(to);

    text_real_long(figure.text, value);
    figure.kind = FIGURE_REAL;
    figure.real = value;
    fact_value(to, name, &figure);
}

void statistics_not_finite(struct facts *to, uint64_t nan, uint64_t inf)
{
    struct figure figure = fact_figure(to);

    figure_not_finite(&figure, nan, inf);
    fact_value(to, "not_finite", &figure);
}

void statistics_columns(struct buf *to, const uint64_t *bins, uint32_t n, bool ascii)
{
    uint64_t most = 1;

    for (uint32_t i = 0; i < n; i++)
        most = bins[i] > most ? bins[i] : most;
    for (uint32_t i = 0; i < n; i++) {
        int height = (int)lrint(8.0 * (double)bins[i] / (double)most);

        if (bins[i] > 0 && height == 0)
            height = 1;
        buf_text(to, glyph_column(height, ascii));
    }
}

/* Leave room for a sign, so that numbers line up. */
static void add_sign_room(struct buf *to, bool negative)
{
    buf_text(to, negative ? "" : " ");
}

static void add_signed_real(struct buf *to, double value)
{
    add_sign_room(to, signbit(value));
    text_real_long(to, value);
}

static void add_signed_extreme(struct buf *to, const struct stats *stats, bool max)
{
    int64_t integer = max ? stats->int_max : stats->int_min;

    add_sign_room(to, stats->kind == STATS_REAL ? signbit(max ? stats->max : stats->min)
                      : stats->kind == STATS_INT ? integer < 0
                                                 : false);
    statistics_extreme(to, stats, max);
}

/* ---- counts, extremes and moments: two columns of three lines ---- */

struct cell_lines {
    struct buf left[3], right[3];
};

static void counts_line(struct buf *to, const struct stats *stats)
{
    buf_text(to, "NaN ");
    text_commas(to, stats->nan);
    buf_text(to, "  +Inf ");
    text_commas(to, stats->pos_inf);
    buf_text(to, "  -Inf ");
    text_commas(to, stats->neg_inf);
    buf_text(to, "  zeros ");
    text_commas(to, stats->zeros);
}

static void extreme_line(struct buf *to, const struct model *model,
                         const struct tensor *tensor, const struct stats *stats,
                         bool max)
{
    struct buf number = BUF_INIT, other = BUF_INIT;

    add_signed_extreme(&number, stats, max);
    add_signed_extreme(&other, stats, !max);
    buf_text(to, max ? "max   " : "min   ");
    if (tensor->rank > 0) {
        /* The positions of min and max start in the same column. */
        text_pad(to, buf_span(&number),
                 number.len > other.len ? number.len : other.len);
        buf_text(to, "  at ");
        statistics_position(to, model, tensor, stats, max);
    } else {
        buf_str(to, buf_span(&number));
    }
    buf_release(&number);
    buf_release(&other);
}

static void fill_lines(struct cell_lines *lines, const struct model *model,
                       const struct tensor *tensor, const struct stats *stats)
{
    struct buf *right = lines->right;

    counts_line(&lines->left[0], stats);
    if (!stats_measured(stats))
        return;
    extreme_line(&lines->left[1], model, tensor, stats, false);
    extreme_line(&lines->left[2], model, tensor, stats, true);
    buf_text(&right[0], "L2    ");
    text_real_long(&right[0], stats_l2(stats));
    buf_text(&right[1], "mean  ");
    add_signed_real(&right[1], stats->mean);
    if (stats_finite(stats) < 2)
        return;
    buf_text(&right[2], "std   ");
    add_signed_real(&right[2], stats_std(stats));
}

static void numbers_lines(struct buf *to, const struct model *model,
                          const struct tensor *tensor, const struct stats *stats)
{
    struct cell_lines lines = {0};
    size_t width = 0;

    fill_lines(&lines, model, tensor, stats);
    for (int i = 0; i < 3; i++) {
        size_t cells = text_width(buf_span(&lines.left[i]));

        width = cells > width ? cells : width;
    }
    for (int i = 0; i < 3; i++) {
        if (lines.left[i].len > 0) {
            if (lines.right[i].len > 0)
                text_pad(to, buf_span(&lines.left[i]), width + 3);
            else
                buf_str(to, buf_span(&lines.left[i]));
            buf_str(to, buf_span(&lines.right[i]));
            buf_char(to, '\n');
        }
        buf_release(&lines.left[i]);
        buf_release(&lines.right[i]);
    }
}

/* ---- quantiles: three columns, the title in the first ---- */

#define QUANTILE_COLUMNS 3u

static void quantile_cell(struct buf *to, const struct numbers *numbers, uint32_t i)
{
    double percent;

    if (i == 0) {
        buf_text(to, "quantiles, exact");
        return;
    }
    percent = numbers->at[i - 1] * 100;
    buf_printf(to, percent < 10 && percent == floor(percent) ? " %g%% " : "%g%% ",
               percent);
    add_signed_real(to, numbers->quantiles[i - 1]);
}

static void quantile_lines(struct buf *to, const struct numbers *numbers)
{
    uint32_t n = numbers->n_quantiles + 1;
    size_t widths[QUANTILE_COLUMNS] = {0};
    struct buf cell = BUF_INIT;

    for (uint32_t i = 0; i < n; i++) {
        size_t *width = &widths[i % QUANTILE_COLUMNS];

        buf_clear(&cell);
        quantile_cell(&cell, numbers, i);
        *width = cell.len > *width ? cell.len : *width;
    }
    for (uint32_t i = 0; i < n; i++) {
        bool last = i + 1 == n || i % QUANTILE_COLUMNS == QUANTILE_COLUMNS - 1;
        size_t gap = i % QUANTILE_COLUMNS == 0 ? 3 : 2;

        buf_clear(&cell);
        quantile_cell(&cell, numbers, i);
        if (last)
            buf_str(to, buf_span(&cell));
        else
            text_pad(to, buf_span(&cell), widths[i % QUANTILE_COLUMNS] + gap);
        buf_text(to, last ? "\n" : "");
    }
    buf_release(&cell);
}

static void histogram_line(struct buf *to, const struct numbers *numbers, bool ascii)
{
    text_real(to, numbers->stats->min);
    buf_char(to, ' ');
    statistics_columns(to, numbers->bins, numbers->n_bins, ascii);
    buf_char(to, ' ');
    text_real(to, numbers->stats->max);
    buf_char(to, '\n');
}

void statistics_text(struct buf *to, const struct model *model,
                     const struct tensor *tensor, const struct numbers *numbers,
                     bool ascii)
{
    numbers_lines(to, model, tensor, numbers->stats);
    if (dtype_info(tensor->dtype)->kind == DTYPE_KIND_COMPLEX)
        buf_text(to, "of absolute values\n");
    if (numbers->n_quantiles > 0)
        quantile_lines(to, numbers);
    if (numbers->n_bins > 0 && numbers->stats->min < numbers->stats->max)
        histogram_line(to, numbers, ascii);
}
