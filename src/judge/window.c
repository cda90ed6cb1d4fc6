#include "judge/window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void window_add(struct window *window, double value)
{
    window->values[window->n++ % WINDOW] = (float)value;
}

uint32_t window_count(const struct window *window)
{
    return window->n < WINDOW ? (uint32_t)window->n : WINDOW;
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

double window_median(const struct window *window)
{
    uint32_t n = window_count(window);
    float sorted[WINDOW];

    if (n == 0)
        return (double)NAN;
    memcpy(sorted, window->values, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_value);
    return n % 2 ? (double)sorted[n / 2]
                 : ((double)sorted[n / 2 - 1] + (double)sorted[n / 2]) / 2;
}

double window_max(const struct window *window)
{
    uint32_t n = window_count(window);
    double most = n > 0 ? (double)window->values[0] : (double)NAN;

    for (uint32_t i = 1; i < n; i++)
        if ((double)window->values[i] > most)
            most = (double)window->values[i];
    return most;
}
