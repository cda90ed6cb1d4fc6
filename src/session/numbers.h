/* numbers.h - statistics, quantiles, histogram and digest of one tensor.
 * The statistics come from the session's cache; the others take their own passes. */
#ifndef SESSION_NUMBERS_H
#define SESSION_NUMBERS_H

#include "session/session.h"

struct numbers_wanted {
    const double *quantiles; /* which ones, each 0..1 */
    uint32_t n_quantiles;
    uint32_t bins; /* of the linear histogram, from min to max; 0: none */
    bool sha256;
    bool inner;    /* the same histogram from the 1 % to the 99 % quantile */
    bool mean_abs; /* the mean of |x| */
};

/* The default, which panel 4 shows. */
#define NUMBERS_QUANTILES 7
#define NUMBERS_BINS      48
extern const struct numbers_wanted numbers_usual;

struct numbers {
    const struct stats *stats;
    const double *at, *quantiles; /* n_quantiles of each: 0..1, and their values */
    uint32_t n_quantiles;         /* 0: not requested, or nothing is finite */
    const uint64_t *bins;         /* n_bins counts of finite values */
    uint32_t n_bins;              /* 0: not requested, or nothing is finite */
    char sha256[65];              /* or "" */
    const uint64_t *inner; /* n_bins counts from low to high; NULL: not requested,
                                     or there is nothing between */
    double inner_low, inner_high;
    const double *mean_abs; /* NULL: not requested, or nothing is finite */
};

/* Results are allocated in the arena. Fails with the first pass that fails. If values
 * are not available (a recording's parameters), fills in the statistics only. */
int session_numbers(struct session *session, uint32_t tensor,
                    const struct numbers_wanted *wanted, struct arena *arena,
                    struct work *work, struct numbers *ret_numbers, struct err *err);

/* The same without a session or cache: several threads may use one model, if its source
 * has any_thread. `stats` receives the statistics. ERR_UNSUPPORTED: unreadable. */
int numbers_measure(const struct model *model, const struct tensor *tensor,
                    const struct numbers_wanted *wanted, struct arena *arena,
                    struct work *work, struct stats *stats, struct numbers *ret_numbers,
                    struct err *err);

#endif
