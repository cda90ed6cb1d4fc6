/* The speed of statistics relative to a pure read of the same bytes.
 * Prints, for each type and size, the time of the read in microseconds, then each
 * measurement: its time, and its speed as a fraction of the read. One fraction uses the
 * least times of both, the other is the median of the rounds [least-greatest]; then the
 * target, if any. The variants alternate. Measures thread time, which a busy machine
 * affects little.
 *
 *     bench_measure [REPETITIONS [LARGEST [TYPE]]] */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/base.h"
#include "measure/measure.h"

#define MOST_REPETITIONS 1001

/* Vectors of 32 bytes at any alignment; the compiler maps them to the instruction set. */
typedef uint64_t lanes __attribute__((vector_size(32), aligned(1), may_alias));

static volatile uint64_t sink;

__attribute__((noinline)) static void read_all(const uint8_t *at, size_t bytes);

#ifdef __x86_64__
__attribute__((target("avx2")))
#endif
static void
read_all(const uint8_t *at, size_t bytes)
{
    lanes sums[8] = {{0}};
    size_t i = 0;

    for (; i + sizeof sums <= bytes; i += sizeof sums) {
        const lanes *x = (const lanes *)(at + i);

        sums[0] += x[0];
        sums[1] += x[1];
        sums[2] += x[2];
        sums[3] += x[3];
        sums[4] += x[4];
        sums[5] += x[5];
        sums[6] += x[6];
        sums[7] += x[7];
    }
    for (size_t k = 1; k < 8; k++)
        sums[0] += sums[k];
    sink = sums[0][0] + sums[0][1] + sums[0][2] + sums[0][3];
}

static double now_us(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

/* The variants. */
enum variant { READ, FULL, EXACT, GUARD, HISTOGRAM, VARIANTS };
static const char *const names[VARIANTS] = {"read", "full", "exact", "guard", "+hist"};

static struct histogram histogram;

static void run(enum variant variant, enum dtype dtype, const void *at, size_t n)
{
    static const enum measure_mode modes[VARIANTS] = {
        [FULL] = MEASURE_FULL,
        [EXACT] = MEASURE_EXACT,
        [GUARD] = MEASURE_GUARD,
        [HISTOGRAM] = MEASURE_FULL,
    };
    struct stats stats;

    if (variant == READ) {
        read_all(at, elements_size(dtype, n));
        return;
    }
    stats_init(&stats, dtype);
    stats_add(&stats, variant == HISTOGRAM ? &histogram : NULL, dtype, at, n, 0,
              modes[variant]);
    sink = stats.count;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Time `calls` runs in a row, because the clock is too coarse for one. */
static double time_runs(enum variant variant, enum dtype dtype, const void *at,
                        size_t n, size_t calls)
{
    double start = now_us();

    for (size_t i = 0; i < calls; i++)
        run(variant, dtype, at, n);
    return (now_us() - start) / (double)calls;
}

/* The target, as a fraction of the speed of a read; 0 for none. */
static double target(enum variant variant, enum dtype dtype, size_t n)
{
    bool half = dtype == DTYPE_FLOAT16 || dtype == DTYPE_BFLOAT16;

    if (n < 1000000 || (dtype != DTYPE_FLOAT32 && !half))
        return 0;
    if (variant == HISTOGRAM)
        return 0.25;
    return variant != FULL ? 0 : half ? 0.5 : 0.8;
}

/* One line: the times (repetitions) of a variant beside those of the read, round by
 * round. */
static void report(enum variant variant, double wanted, const double *read,
                   const double *times, size_t repetitions)
{
    static double ratios[MOST_REPETITIONS];
    double least_read = read[0], least = times[0];

    for (size_t i = 0; i < repetitions; i++) {
        ratios[i] = read[i] / times[i];
        least_read = read[i] < least_read ? read[i] : least_read;
        least = times[i] < least ? times[i] : least;
    }
    qsort(ratios, repetitions, sizeof ratios[0], by_value);
    printf(
        "    %-6s %10.2f us  %.2f of read by the least, %.2f [%.2f-%.2f] by the median",
        names[variant], least, least_read / least, ratios[repetitions / 2], ratios[0],
        ratios[repetitions - 1]);
    if (wanted > 0)
        printf("  target %.2f %s", wanted,
               least_read / least >= wanted ? "met" : "SHORT");
    printf("\n");
}

static void bench(enum dtype dtype, const void *at, size_t n, size_t repetitions)
{
    static double times[VARIANTS][MOST_REPETITIONS];
    size_t calls = 1 + 200000 / n;
    double least;

    for (size_t i = 0; i < repetitions; i++)
        for (size_t k = 0; k < VARIANTS; k++)
            times[k][i] = time_runs((enum variant)k, dtype, at, n, calls);
    least = times[READ][0];
    for (size_t i = 1; i < repetitions; i++)
        least = times[READ][i] < least ? times[READ][i] : least;
    printf("%s %zu: read %.2f us, %.1f GB/s\n", dtype_name(dtype), n, least,
           (double)elements_size(dtype, n) / least * 1e-3);
    for (size_t k = FULL; k < VARIANTS; k++)
        report((enum variant)k, target((enum variant)k, dtype, n), times[READ],
               times[k], repetitions);
}

/* The float16 of a float32 below 65504, truncated. */
static uint16_t float16_bits(uint32_t bits)
{
    uint16_t sign = bits >> 16 & 0x8000;
    uint32_t magnitude = bits & 0x7fffffff, shift = 126 - (magnitude >> 23);

    if (magnitude >= 0x38800000)
        return (uint16_t)(sign | (magnitude - 0x38000000) >> 13);
    if (shift > 24) /* too small for a denormal */
        return sign;
    return (uint16_t)(sign | (0x800000 | (magnitude & 0x7fffff)) >> shift);
}

/* Numbers distributed like weights: sums of four uniform ones, around zero. */
static void fill(enum dtype dtype, uint8_t *to, size_t n)
{
    uint64_t state = 88172645463325252u;

    for (size_t i = 0; i < n; i++) {
        float sum = 0;
        uint32_t bits;

        for (int k = 0; k < 4; k++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            sum += (float)(state >> 40) * 0x1p-24f - 0.5f;
        }
        memcpy(&bits, &sum, sizeof bits);
        if (dtype == DTYPE_FLOAT32)
            memcpy(to + 4 * i, &bits, 4);
        else if (dtype == DTYPE_FLOAT64)
            memcpy(to + 8 * i, &(double){sum}, 8);
        else if (dtype == DTYPE_INT64)
            memcpy(to + 8 * i, &(int64_t){(int64_t)(sum * 1e6f)}, 8);
        else if (dtype == DTYPE_INT8)
            to[i] = (uint8_t)(int8_t)(sum * 60);
        else if (dtype == DTYPE_BFLOAT16)
            memcpy(to + 2 * i, &(uint16_t){(uint16_t)(bits >> 16)}, 2);
        else
            memcpy(to + 2 * i, &(uint16_t){float16_bits(bits)}, 2);
    }
}

int main(int argc, char **argv)
{
    static const enum dtype types[] = {DTYPE_FLOAT32, DTYPE_FLOAT16, DTYPE_BFLOAT16,
                                       DTYPE_FLOAT64, DTYPE_INT8,    DTYPE_INT64};
    static const size_t sizes[] = {1000, 100000, 1000000, 10000000};
    size_t repetitions = argc > 1 ? strtoul(argv[1], NULL, 10) : 21;
    size_t largest = argc > 2 ? strtoul(argv[2], NULL, 10) : 10000000;
    const char *only = argc > 3 ? argv[3] : NULL;
    uint8_t *data = malloc(largest * 8);

    if (!data || repetitions < 1 || repetitions > MOST_REPETITIONS)
        return 2;
    printf("kernel %s, %zu repetitions\n", stats_kernel_name(), repetitions);
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        if (only && strcmp(only, dtype_name(types[i])) != 0)
            continue;
        fill(types[i], data, largest);
        for (size_t k = 0; k < COUNT_OF(sizes) && sizes[k] <= largest; k++)
            bench(types[i], data, sizes[k], repetitions);
    }
    free(data);
    return 0;
}
