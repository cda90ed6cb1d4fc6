/* statistics.h - the statistics of one tensor, as facts and as the text of `show`. */
#ifndef FACTS_STATISTICS_H
#define FACTS_STATISTICS_H

#include "facts/fact.h"
#include "session/numbers.h"

/* Number of columns of the one-line histogram. */
#define STATISTICS_COLUMNS 40u

/* One fact of three groups: "120×400 float32", "48,000 values", "187.5KB". */
void statistics_subject(struct facts *to, const struct session *session,
                        uint32_t place);
/* The one list of numbers about the values of a tensor; text, panel, notebook and JSON
 * render it. A fact for each number, with these ids: nan, pos_inf, neg_inf, mean, std,
 * min, quantile (one for each), max, mean_abs, l2, zeros. Then the basis of the
 * numbers, if it is not obvious: sampled, values. */
enum statistics_counts {
    STATISTICS_ODD_COUNTS, /* NaN, infinities and zeros only if not 0 */
    STATISTICS_ALL_COUNTS, /* also if 0, and the count of all values */
};
void statistics_facts(struct facts *to, const struct model *model,
                      const struct tensor *tensor, const struct numbers *numbers,
                      enum statistics_counts which);
/* The fact of quantile i of the numbers; NULL: nothing is finite. */
const struct fact *statistics_quantile(const struct facts *facts, uint32_t i);

/* The name and the subject: "fc1.weight  120×400 float32  48,000 values  187.5KB". */
void statistics_title(struct buf *to, const struct session *session, uint32_t place);

/* Counts, min, max, mean, std, L2; quantiles; the one-line histogram. Omits parts that
 * were not requested. */
void statistics_text(struct buf *to, const struct model *model,
                     const struct tensor *tensor, const struct numbers *numbers,
                     bool ascii);

/* A one-line bar chart relative to the largest bin; non-empty bins have at least the
 * lowest height. */
void statistics_columns(struct buf *to, const uint64_t *bins, uint32_t n, bool ascii);

/* min or max: an integer for integer types, else %.6g. */
void statistics_extreme(struct buf *to, const struct stats *stats, bool max);
/* min and max as values named "min" and "max". */
void statistics_min(struct facts *to, const struct stats *stats);
void statistics_max(struct facts *to, const struct stats *stats);
/* A number with six digits. */
void statistics_real(struct facts *to, const char *name, double value);
/* "NaN 12 Inf 3"; nothing if there are none. */
void statistics_not_finite(struct facts *to, uint64_t nan, uint64_t inf);

#endif
