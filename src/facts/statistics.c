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
               strided ? tensor_own_bytes(tensor)
                       : counts_bytes(&session->places, place));
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

/* "12 of 9,408" */
static void count_fact(struct facts *to, const char *id, const char *label, uint64_t n,
                       uint64_t whole, enum colour role)
{
    fact_count(to, id, n);
    buf_text(&to->text, " of ");
    fact_count(to, "count", whole);
    fact_end_as(to, id, label, n > 0 ? role : COLOUR_NONE);
}

/* Counts of non-finite values and zeros; 0 is omitted unless `which` includes it. */
static void odd_facts(struct facts *to, const struct stats *stats,
                      enum statistics_counts which)
{
    const struct {
        const char *id, *label;
        uint64_t n;
    } counts[] = {
        {"nan", "NaN", stats->nan},
        {"pos_inf", "+Inf", stats->pos_inf},
        {"neg_inf", "-Inf", stats->neg_inf},
    };

    for (size_t i = 0; i < COUNT_OF(counts); i++)
        if (counts[i].n > 0 || which == STATISTICS_ALL_COUNTS)
            count_fact(to, counts[i].id, counts[i].label, counts[i].n, stats->count,
                       COLOUR_ALARM);
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
        struct figure figure;

        buf_text(&to->text, " at ");
        figure = fact_figure(to);
        text_index(figure.text, tensor_shape(model, tensor), tensor->rank,
                   (max ? stats->max_at : stats->min_at) /
                       dtype_info(tensor->dtype)->values);
        fact_value(to, "at", &figure);
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

/* The basis of the numbers, if it is not obvious. */
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
        if (dtype_info(tensor->dtype)->scaled)
            return "of the values that the quantised blocks decode to";
        return dtype_info(tensor->dtype)->kind == DTYPE_KIND_COMPLEX
                   ? "of absolute values"
                   : "";
    }
}

void statistics_facts(struct facts *to, const struct model *model,
                      const struct tensor *tensor, const struct numbers *numbers,
                      enum statistics_counts which)
{
    const struct stats *stats = numbers->stats;

    if (which == STATISTICS_ALL_COUNTS) {
        fact_count(to, "count", stats->count);
        fact_end(to, "count", COLOUR_NONE);
    }
    odd_facts(to, stats, which);
    if (stats_measured(stats)) {
        real_fact(to, "mean", "mean", stats->mean);
        if (stats_finite(stats) > 1)
            real_fact(to, "std", "std", stats_std(stats));
        extreme_fact(to, model, tensor, stats, false);
        quantile_facts(to, numbers);
        extreme_fact(to, model, tensor, stats, true);
        if (numbers->mean_abs)
            real_fact(to, "mean_abs", "mean |x|", *numbers->mean_abs);
        real_fact(to, "l2", "L2", stats_l2(stats));
    }
    if (which == STATISTICS_ALL_COUNTS || (stats_measured(stats) && stats->zeros > 0))
        count_fact(to, "zeros", "zeros", stats->zeros, stats->count, COLOUR_NONE);
    if (stats->sampled)
        buf_text(&to->text, "of 1 in 8 blocks");
    fact_end_as(to, "sampled", "", COLOUR_DIM);
    if (stats_measured(stats))
        buf_text(&to->text, remark(tensor));
    fact_end_as(to, "values", "", COLOUR_DIM);
}

const struct fact *statistics_quantile(const struct facts *facts, uint32_t i)
{
    const struct fact *first = facts_find(facts, "quantile");

    /* Quantiles are consecutive. */
    return first && first + i < facts->at + facts->n ? first + i : NULL;
}

/* ---- values ---- */

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

/* ---- text ---- */

/* A number, with room for a sign so that numbers line up. */
static void add_signed(struct buf *to, const struct facts *facts,
                       const struct fact_part *number)
{
    buf_text(to, signbit(number->real) ? "" : " ");
    buf_str(to, fact_part_text(facts, number));
}

/* ---- counts, extremes and moments: two columns of three lines ---- */

struct cell_lines {
    struct buf left[3], right[3];
};

/* "NaN 0  +Inf 0  -Inf 0  zeros 0" */
static void counts_line(struct buf *to, const struct facts *facts)
{
    static const char *const ids[] = {"nan", "pos_inf", "neg_inf", "zeros"};

    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        const struct fact *fact = facts_find(facts, ids[i]);

        if (!fact)
            continue;
        buf_printf(to, "%s%s ", i > 0 ? "  " : "", fact->label);
        buf_str(to, fact_part_text(facts, fact_find(facts, fact, ids[i])));
    }
}

static void number_line(struct buf *to, const struct facts *facts, const char *id,
                        bool can_be_negative)
{
    const struct fact *fact = facts_find(facts, id);

    if (!fact)
        return;
    text_pad(to, str_of(fact->label), 6);
    if (can_be_negative)
        add_signed(to, facts, fact_find(facts, fact, id));
    else
        buf_str(to, fact_part_text(facts, fact_find(facts, fact, id)));
}

/* The positions of min and max start in the same column. */
static void extreme_lines(struct buf *min, struct buf *max, const struct facts *facts)
{
    struct buf *lines[] = {min, max};
    static const char *const ids[] = {"min", "max"};
    size_t width;

    number_line(min, facts, "min", true);
    number_line(max, facts, "max", true);
    width = min->len > max->len ? min->len : max->len;
    for (int i = 0; i < 2; i++) {
        const struct fact *fact = facts_find(facts, ids[i]);
        const struct fact_part *at = fact ? fact_find(facts, fact, "at") : NULL;

        if (!at)
            continue;
        buf_fill(lines[i], ' ', width - lines[i]->len);
        buf_text(lines[i], "  at ");
        buf_str(lines[i], fact_part_text(facts, at));
    }
}

static void fill_lines(struct cell_lines *lines, const struct facts *facts)
{
    counts_line(&lines->left[0], facts);
    extreme_lines(&lines->left[1], &lines->left[2], facts);
    number_line(&lines->right[0], facts, "l2", false);
    number_line(&lines->right[1], facts, "mean", true);
    number_line(&lines->right[2], facts, "std", true);
}

static void numbers_lines(struct buf *to, const struct facts *facts)
{
    struct cell_lines lines = {0};
    size_t width = 0;

    fill_lines(&lines, facts);
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

/* Cell 0 is the title; the others are the quantiles, each taken from the next fact. */
static void quantile_cell(struct buf *to, const struct facts *facts,
                          const struct numbers *numbers, uint32_t i)
{
    const struct fact *fact;
    double percent;

    if (i == 0) {
        buf_text(to, "quantiles, exact");
        return;
    }
    fact = statistics_quantile(facts, i - 1);
    percent = numbers->at[i - 1] * 100;
    buf_printf(to, percent < 10 && percent == floor(percent) ? " %g%% " : "%g%% ",
               percent);
    if (fact)
        add_signed(to, facts, fact_find(facts, fact, "quantile"));
}

static void quantile_lines(struct buf *to, const struct facts *facts,
                           const struct numbers *numbers)
{
    uint32_t n = numbers->n_quantiles + 1;
    size_t widths[QUANTILE_COLUMNS] = {0};
    struct buf cell = BUF_INIT;

    for (uint32_t i = 0; i < n; i++) {
        size_t *width = &widths[i % QUANTILE_COLUMNS];

        buf_clear(&cell);
        quantile_cell(&cell, facts, numbers, i);
        *width = cell.len > *width ? cell.len : *width;
    }
    for (uint32_t i = 0; i < n; i++) {
        bool last = i + 1 == n || i % QUANTILE_COLUMNS == QUANTILE_COLUMNS - 1;
        size_t gap = i % QUANTILE_COLUMNS == 0 ? 3 : 2;

        buf_clear(&cell);
        quantile_cell(&cell, facts, numbers, i);
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

static void remark_line(struct buf *to, const struct facts *facts, const char *id)
{
    const struct fact *fact = facts_find(facts, id);

    if (!fact)
        return;
    buf_str(to, fact_group_text(facts, fact, 0));
    buf_char(to, '\n');
}

void statistics_text(struct buf *to, const struct model *model,
                     const struct tensor *tensor, const struct numbers *numbers,
                     bool ascii)
{
    struct facts facts = {0};

    statistics_facts(&facts, model, tensor, numbers, STATISTICS_ALL_COUNTS);
    numbers_lines(to, &facts);
    remark_line(to, &facts, "sampled");
    remark_line(to, &facts, "values");
    if (numbers->n_quantiles > 0)
        quantile_lines(to, &facts, numbers);
    if (numbers->n_bins > 0 && numbers->stats->min < numbers->stats->max)
        histogram_line(to, numbers, ascii);
    facts_release(&facts);
}
