/* The time of counting for histories, in nanoseconds for each element counted (the least
 * of the repetitions, in thread time): a sample of a large tensor, all elements of a
 * tensor that is in cache, and all of a large one; then the size of the packed form.
 *
 *     bench_spread [REPETITIONS [TYPE]] */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/base.h"
#include "measure/measure.h"
#include "measure/spread.h"

#define LARGE 1000000

static double now_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* A number between 0 and 1. */
static double uniform(void)
{
    static uint64_t state = 88172645463325252u;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) * 0x1p-53;
}

static double bell(void)
{
    return sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform());
}

enum shape { BELL, RELU, TAILS, SHAPES };
static const char *const shape_names[SHAPES] = {"bell", "relu", "tails"};

static double draw(enum shape shape)
{
    double x = bell() * 0.02;

    if (shape == RELU)
        return x > 0 ? x : 0;
    return shape == TAILS ? x * exp(3 * bell()) : x;
}

static void put(enum dtype dtype, uint8_t *to, double value)
{
    float single = (float)value;
    uint32_t bits;

    memcpy(&bits, &single, sizeof bits);
    if (dtype == DTYPE_FLOAT64)
        memcpy(to, &value, 8);
    else if (dtype == DTYPE_FLOAT32)
        memcpy(to, &single, 4);
    else if (dtype == DTYPE_BFLOAT16)
        memcpy(to, &(uint16_t){(uint16_t)(bits >> 16)}, 2);
    else
        memcpy(to, &(int64_t){(int64_t)(value * 1000)}, elements_size(dtype, 1));
}

static void bench(struct spread_counter *counter, enum dtype dtype, const void *data,
                  uint64_t n, enum spread_choice choice, size_t repetitions)
{
    struct spread spread = {0};
    struct buf packed = BUF_INIT;
    double least = INFINITY;
    size_t calls = 1 + 200000 / n;

    for (size_t i = 0; i < repetitions; i++) {
        double start = now_ns(), time;

        for (size_t k = 0; k < calls; k++)
            if (spread_of(counter, dtype, data, n, choice, &spread, NULL) < 0)
                exit(1);
        time = (now_ns() - start) / (double)calls;
        least = time < least ? time : least;
    }
    spread_pack(&spread, &packed);
    printf("    %7llu of %7llu  %8.2f us  %5.2f ns  packed %zu bytes\n",
           (unsigned long long)spread.seen, (unsigned long long)n, least * 1e-3,
           least / (double)spread.seen, packed.len);
    buf_release(&packed);
    spread_release(&spread);
}

int main(int argc, char **argv)
{
    static const enum dtype types[] = {DTYPE_FLOAT32, DTYPE_BFLOAT16, DTYPE_FLOAT64,
                                       DTYPE_INT8, DTYPE_INT32};
    size_t repetitions = argc > 1 ? strtoul(argv[1], NULL, 10) : 51;
    struct spread_counter *counter = spread_counter_new(NULL);
    uint8_t *data = malloc((size_t)LARGE * 8);

    if (!data || !counter)
        return 2;
    printf("kernel %s\n", stats_kernel_name());
    for (size_t t = 0; t < COUNT_OF(types); t++)
        for (int shape = 0; shape < SHAPES; shape++) {
            if (argc > 2 && strcmp(argv[2], dtype_name(types[t])) != 0)
                continue;
            for (size_t i = 0; i < LARGE; i++)
                put(types[t], data + i * elements_size(types[t], 1),
                    draw((enum shape)shape));
            printf("%s %s\n", dtype_name(types[t]), shape_names[shape]);
            bench(counter, types[t], data, 64, SPREAD_ALL, repetitions);
            bench(counter, types[t], data, 1000, SPREAD_ALL, repetitions);
            bench(counter, types[t], data, SPREAD_SAMPLE, SPREAD_ALL, repetitions);
            bench(counter, types[t], data, LARGE, SPREAD_SOME, repetitions);
            bench(counter, types[t], data, LARGE, SPREAD_ALL, repetitions);
        }
    free(data);
    spread_counter_free(counter);
    return 0;
}
