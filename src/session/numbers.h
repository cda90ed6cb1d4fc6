/* numbers.h - all that can be asked about the values of one tensor, at once.
 * The statistics come from the session's cache; the rest are passes of their own. */
#ifndef SESSION_NUMBERS_H
#define SESSION_NUMBERS_H

#include "session/session.h"

struct numbers_wanted {
    const double *quantiles; /* which ones, each 0..1 */
    uint32_t n_quantiles;
    uint32_t bins; /* of the linear histogram, from min to max; 0: none */
    bool sha256;
};

/* What is asked about a tensor where nobody says otherwise: panel 4 does. */
#define NUMBERS_QUANTILES 7
#define NUMBERS_BINS      48
extern const struct numbers_wanted numbers_usual;

struct numbers {
    const struct stats *stats;
    const double *at, *quantiles; /* n_quantiles of each: which, and their values */
    uint32_t n_quantiles;         /* 0: not asked for, or nothing is finite */
    const uint64_t *bins;         /* n_bins counts of finite values */
    uint32_t n_bins;              /* 0: not asked for, or nothing is finite */
    char sha256[65];              /* or "" */
};

/* The arena holds what is new. Fails as the first pass that fails. Where only the
 * statistics are to be had (of a recording's parameters), these alone are answered. */
int session_numbers(struct session *session, uint32_t tensor,
                    const struct numbers_wanted *wanted, struct arena *arena,
                    struct work *work, struct numbers *ret_numbers, struct err *err);

/* The same of a tensor's values as they are now, asking no session and keeping nothing:
 * several threads may ask about one model, if its source may be asked by any. `stats`
 * is room for the answer's. ERR_UNSUPPORTED: they cannot be read. */
int numbers_measure(const struct model *model, const struct tensor *tensor,
                    const struct numbers_wanted *wanted, struct arena *arena,
                    struct work *work, struct stats *stats, struct numbers *ret_numbers,
                    struct err *err);

#endif
