#include "judge/recent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void recent_add(struct recent *recent, double value)
{
    recent->values[recent->n++ % RECENT] = (float)value;
}

uint32_t recent_count(const struct recent *recent)
{
    return recent->n < RECENT ? (uint32_t)recent->n : RECENT;
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

double recent_median(const struct recent *recent)
{
    uint32_t n = recent_count(recent);
    float sorted[RECENT];

    if (n == 0)
        return (double)NAN;
    memcpy(sorted, recent->values, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_value);
    return n % 2 ? (double)sorted[n / 2]
                 : ((double)sorted[n / 2 - 1] + (double)sorted[n / 2]) / 2;
}

double recent_max(const struct recent *recent)
{
    uint32_t n = recent_count(recent);
    double most = n > 0 ? (double)recent->values[0] : (double)NAN;

    for (uint32_t i = 1; i < n; i++)
        if ((double)recent->values[i] > most)
            most = (double)recent->values[i];
    return most;
}
