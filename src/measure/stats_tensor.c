#include "measure/stats_in.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/decode_in.h"
#include "measure/elements_in.h"

/* A tensor being measured, in memory order. */
struct measuring {
    struct elements *elements;
    struct stats *stats;
    struct tally tally;
    enum dtype dtype;
    enum measure_mode mode;
    uint64_t done; /* elements so far */
};

/* The least index in C order of the value in this block, which has it at `i` first.
 * Along the innermost dimension of the iteration the index only grows, so after a hit
 * the rest of it is skipped. For samples the first hit is enough. */
static uint64_t first_index(const struct measuring *m, const void *at, size_t n,
                            size_t i, const struct wanted *wanted)
{
    const struct elements *e = m->elements;
    uint64_t inner = e->rank > 0 ? e->dims[e->rank - 1].size : 1;
    uint64_t best = UINT64_MAX;

    while (i < n) {
        uint64_t index = elements_index(e, m->done + i);
        uint64_t rest = inner - (m->done + i) % inner;

        best = index < best ? index : best;
        if (m->mode == MEASURE_SAMPLED || rest >= n - i)
            break;
        i = stats_find(kernels_best(), m->dtype, at, i + (size_t)rest, n, wanted);
    }
    return best;
}

static struct wanted wanted_of(const struct measuring *m, double real, int64_t integer)
{
    enum stats_kind kind =
        elements_size(m->dtype, 1) == 8 ? m->stats->kind : STATS_REAL;

    return (struct wanted){kind, real, integer};
}

/* Measure a block in memory order by itself, then convert the indices of min and max to
 * C order if they will be used. */
static void add_permuted(struct measuring *m, const void *at, size_t n)
{
    struct stats *all = m->stats;
    struct stats part;
    struct wanted wanted;

    stats_init(&part, m->dtype);
    stats_add_tally(&part, &m->tally, m->dtype, at, n, m->done, m->mode);
    if (!isnan(part.min) &&
        (isnan(all->min) ||
         !stats_below(all->kind, all->min, all->int_min, part.min, part.int_min))) {
        wanted = wanted_of(m, part.min, part.int_min);
        part.min_at = first_index(m, at, n, (size_t)(part.min_at - m->done), &wanted);
    }
    if (!isnan(part.max) &&
        (isnan(all->max) ||
         !stats_below(all->kind, part.max, part.int_max, all->max, all->int_max))) {
        wanted = wanted_of(m, part.max, part.int_max);
        part.max_at = first_index(m, at, n, (size_t)(part.max_at - m->done), &wanted);
    }
    stats_merge(all, &part, 0);
}

static int measure(struct measuring *m, struct work *work, struct err *err)
{
    for (;;) {
        const void *at;
        size_t n;
        int more = elements_next(m->elements, work, &at, &n, err);

        if (more <= 0)
            return more;
        if (m->elements->in_order)
            stats_add_tally(m->stats, &m->tally, m->dtype, at, n, m->done, m->mode);
        else
            add_permuted(m, at, n);
        m->done += n;
    }
}

/* Count each element of an expanded tensor `times` times. */
static void repeat(struct stats *stats, struct histogram *histogram, uint64_t times)
{
    stats->count *= times;
    stats->nan *= times;
    stats->pos_inf *= times;
    stats->neg_inf *= times;
    stats->zeros *= times;
    stats->m2 *= (double)times;
    for (size_t i = 0; histogram && i < HISTOGRAM_BINS; i++)
        histogram->bins[i] *= times;
}

int stats_tensor(const struct model *model, const struct tensor *tensor,
                 enum measure_mode mode, struct work *work, struct histogram *histogram,
                 struct stats *ret_stats, struct err *err)
{
    struct histogram *own = NULL;
    struct stats stats;
    struct measuring m = {
        .stats = &stats, .dtype = elements_dtype(tensor->dtype), .mode = mode};
    uint64_t times;
    int result = -1;

    if (!decode_has_values(tensor->dtype))
        return err_set(err, ERR_UNSUPPORTED, "%s holds no numbers",
                       dtype_name(tensor->dtype));
    stats_init(&stats, m.dtype);
    m.elements = elements_open_distinct(model, tensor, &times, err);
    if (histogram)
        own = calloc(1, sizeof *own);
    if (!m.elements || (histogram && !own)) {
        if (m.elements)
            err_set(err, ERR_LIMIT, "no memory for a histogram");
        goto out;
    }
    tally_init(&m.tally, own, m.dtype, tensor->numel);
    if (mode == MEASURE_SAMPLED && tensor->numel < STATS_SMALL)
        m.mode = MEASURE_FULL;
    result = measure(&m, work, err);
    tally_release(&m.tally);
    if (result < 0)
        goto out;
    repeat(&stats, own, times);
    if (histogram)
        histogram_merge(histogram, own);
    *ret_stats = stats;

out:
    elements_close(m.elements);
    free(own);
    return result;
}
