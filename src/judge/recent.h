/* recent.h - the median of the last values of a series, in constant memory. */
#ifndef JUDGE_RECENT_H
#define JUDGE_RECENT_H

#include <stdint.h>

#define RECENT 50

struct recent { /* zero-initialise it */
    float values[RECENT];
    uint64_t n; /* number added; only the last RECENT are kept */
};

void recent_add(struct recent *recent, double value);
uint32_t recent_count(const struct recent *recent); /* at most RECENT */
double recent_median(const struct recent *recent);  /* NaN if it is empty */
double recent_max(const struct recent *recent);     /* NaN if it is empty */

#endif
