#include <float.h>

#include "measure/spread.h"

/* Bins on their way to the caller. */
struct gathered_bins {
    double *edges, *counts; /* NULL: bins are only counted */
    uint32_t n;
    uint32_t each; /* bins joined into one of the caller's */
    uint32_t seen;
    double end; /* upper edge of the newest */
};

static double finite_edge(double edge)
{
    return edge < -DBL_MAX ? -DBL_MAX : edge > DBL_MAX ? DBL_MAX : edge;
}

static void add(struct gathered_bins *to, double low, double high, double count)
{
    if (to->edges) {
        if (to->seen % to->each == 0) {
            to->edges[to->n] = finite_edge(low);
            to->counts[to->n++] = 0;
        }
        to->counts[to->n - 1] += count;
        to->edges[to->n] = finite_edge(high);
    }
    to->seen++;
    to->end = high;
}

static void add_linear(struct gathered_bins *to, const struct spread *spread)
{
    double low, high;

    for (uint32_t b = 0; b < spread->n_linear; b++) {
        spread_linear_range(spread, b, &low, &high);
        add(to, low, high, (double)spread->linear[b]);
    }
}

/* The bin of zeros has no width, so it takes the space between its neighbours. */
static void zeros_range(const struct gathered_bins *to, const struct spread *spread,
                        uint32_t i, double *low, double *high)
{
    double unused;

    *low = *high = 0;
    if (i > 0)
        *low = to->end;
    if (i + 1 < spread->n_log)
        spread_log_range(spread->log[i + 1].key, high, &unused);
}

/* Only bins with elements are stored: an empty one fills a gap. */
static void add_log(struct gathered_bins *to, const struct spread *spread)
{
    double low, high, carried = 0;

    for (uint32_t i = 0; i < spread->n_log; i++) {
        const struct spread_bin *bin = &spread->log[i];

        spread_log_range(bin->key, &low, &high);
        if (bin->key == 0)
            zeros_range(to, spread, i, &low, &high);
        else if (to->seen > 0 && low > to->end)
            add(to, to->end, low, 0);
        carried += (double)bin->count;
        if (low == high) /* zeros between denormal numbers join the next bin */
            continue;
        add(to, low, high, carried);
        carried = 0;
    }
    if (to->edges && to->n > 0)
        to->counts[to->n - 1] += carried;
}

uint32_t spread_bins(const struct spread *spread, uint32_t most, double *edges,
                     double *counts)
{
    void (*add_all)(struct gathered_bins * to, const struct spread *spread) =
        spread_prefers_log(spread) ? add_log : add_linear;
    struct gathered_bins all = {0}, bins = {.edges = edges, .counts = counts};

    add_all(&all, spread);
    bins.each = all.seen > most ? (all.seen + most - 1) / most : 1;
    add_all(&bins, spread);
    return bins.n;
}
