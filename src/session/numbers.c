#include "session/numbers.h"

#include "measure/plane.h"

static const double usual_quantiles[NUMBERS_QUANTILES] = {0.01, 0.05, 0.25, 0.5,
                                                          0.75, 0.95, 0.99};

const struct numbers_wanted numbers_usual = {.quantiles = usual_quantiles,
                                             .n_quantiles = NUMBERS_QUANTILES,
                                             .bins = NUMBERS_BINS};

static int find_quantiles(const struct model *model, const struct tensor *tensor,
                          const struct numbers_wanted *wanted, struct arena *arena,
                          struct work *work, struct numbers *numbers, struct err *err)
{
    double *values = arena_array(arena, wanted->n_quantiles, sizeof *values);

    if (!values)
        return arena_err(arena, "the quantiles", err);
    if (quantile_exact(model, tensor, wanted->quantiles, values, wanted->n_quantiles,
                       work, err) < 0)
        return -1;
    numbers->at = wanted->quantiles;
    numbers->quantiles = values;
    numbers->n_quantiles = wanted->n_quantiles;
    return 0;
}

static int count_bins(const struct model *model, const struct tensor *tensor,
                      uint32_t n, struct arena *arena, struct work *work,
                      struct numbers *numbers, struct err *err)
{
    uint64_t *bins = arena_array(arena, n, sizeof *bins);

    if (!bins)
        return arena_err(arena, "the histogram", err);
    if (histogram_linear(model, tensor, numbers->stats->min, numbers->stats->max, bins,
                         n, work, err) < 0)
        return -1;
    numbers->bins = bins;
    numbers->n_bins = n;
    return 0;
}

/* Its value, if it is among the quantiles. */
static bool known_quantile(const struct numbers *numbers, double at, double *ret_value)
{
    for (uint32_t i = 0; i < numbers->n_quantiles; i++)
        if (numbers->at[i] == at) {
            *ret_value = numbers->quantiles[i];
            return true;
        }
    return false;
}

/* Outliers squeeze a histogram into a few bins, so the middle 98 % get a second one. */
static int count_inner(const struct model *model, const struct tensor *tensor,
                       const struct numbers_wanted *wanted, struct arena *arena,
                       struct work *work, struct numbers *numbers, struct err *err)
{
    static const double ends[2] = {0.01, 0.99};
    uint64_t *bins = arena_array(arena, wanted->bins, sizeof *bins);
    double range[2];

    if (!bins)
        return arena_err(arena, "the histogram", err);
    if (!(known_quantile(numbers, ends[0], &range[0]) &&
          known_quantile(numbers, ends[1], &range[1])) &&
        quantile_exact(model, tensor, ends, range, 2, work, err) < 0)
        return -1;
    if (!(range[0] < range[1]))
        return 0;
    numbers->inner = bins;
    numbers->inner_low = range[0];
    numbers->inner_high = range[1];
    return histogram_linear(model, tensor, range[0], range[1], bins, wanted->bins, work,
                            err);
}

static int find_mean_abs(const struct model *model, const struct tensor *tensor,
                         struct arena *arena, struct work *work,
                         struct numbers *numbers, struct err *err)
{
    const struct plane_wanted whole = {.rows = 1, .columns = tensor->numel, .most = 1};
    struct plane *plane = arena_alloc(arena, sizeof *plane);

    if (!plane)
        return arena_err(arena, "the mean", err);
    if (plane_measure(plane, model, tensor, &whole, arena, work, err) < 0)
        return -1;
    numbers->mean_abs = &plane->mean_abs;
    return 0;
}

/* Everything except the statistics, which numbers->stats points to. */
static int add_passes(const struct model *model, const struct tensor *tensor,
                      const struct numbers_wanted *wanted, struct arena *arena,
                      struct work *work, struct numbers *numbers, struct err *err)
{
    if (stats_finite(numbers->stats) > 0) {
        if (wanted->n_quantiles > 0 &&
            find_quantiles(model, tensor, wanted, arena, work, numbers, err) < 0)
            return -1;
        if (wanted->bins > 0 &&
            count_bins(model, tensor, wanted->bins, arena, work, numbers, err) < 0)
            return -1;
        if (wanted->bins > 0 && wanted->inner &&
            count_inner(model, tensor, wanted, arena, work, numbers, err) < 0)
            return -1;
        if (wanted->mean_abs &&
            find_mean_abs(model, tensor, arena, work, numbers, err) < 0)
            return -1;
    }
    if (!wanted->sha256)
        return 0;
    return elements_sha256(model, tensor, work, numbers->sha256, err);
}

int session_numbers(struct session *session, uint32_t tensor,
                    const struct numbers_wanted *wanted, struct arena *arena,
                    struct work *work, struct numbers *ret_numbers, struct err *err)
{
    const struct tensor *t = &session->model->tensors[tensor];
    struct numbers numbers = {.n_quantiles = 0};

    if (session_stats(session, tensor, work, &numbers.stats, err) < 0)
        return -1;
    if (tensor_readable(session->model, t, NULL) &&
        add_passes(session->model, t, wanted, arena, work, &numbers, err) < 0)
        return -1;
    *ret_numbers = numbers;
    return 0;
}

int numbers_measure(const struct model *model, const struct tensor *tensor,
                    const struct numbers_wanted *wanted, struct arena *arena,
                    struct work *work, struct stats *stats, struct numbers *ret_numbers,
                    struct err *err)
{
    struct numbers numbers = {.stats = stats};

    if (stats_tensor(model, tensor, MEASURE_FULL, work, NULL, stats, err) < 0 ||
        add_passes(model, tensor, wanted, arena, work, &numbers, err) < 0)
        return -1;
    *ret_numbers = numbers;
    return 0;
}
