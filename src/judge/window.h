/* window.h - the median of the last values of a series, in constant memory. */
#ifndef JUDGE_WINDOW_H
#define JUDGE_WINDOW_H

#include <stdint.h>

#define WINDOW 50

struct window { /* a zeroed struct is an empty window */
    float values[WINDOW];
    uint64_t n; /* how many were added; only the last WINDOW are kept */
};

void window_add(struct window *window, double value);
uint32_t window_count(const struct window *window); /* at most WINDOW */
double window_median(const struct window *window);  /* NaN if it is empty */
double window_max(const struct window *window);     /* NaN if it is empty */

#endif
