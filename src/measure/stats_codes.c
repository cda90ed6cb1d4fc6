/* Types of at most 8 bits: count the occurrences of each code, then combine the values
 * of the codes. Exact, with one step per byte for any type. */
#include "measure/stats_in.h"

#include <math.h>
#include <string.h>

#include "measure/decode_in.h"
#include "measure/small_float_in.h"

/* The number of occurrences of each byte: counts (256). Four tables, so that equal
 * neighbours do not stall. */
static void count_bytes(const uint8_t *at, size_t n, uint64_t counts[256])
{
    while (n > 0) {
        uint32_t tables[4][256] = {{0}};
        size_t part = n < (size_t)1 << 30 ? n : (size_t)1 << 30, i = 0;

        for (; i + 8 <= part; i += 8) {
            uint64_t word;

            memcpy(&word, at + i, sizeof word);
            tables[0][word & 255]++;
            tables[1][word >> 8 & 255]++;
            tables[2][word >> 16 & 255]++;
            tables[3][word >> 24 & 255]++;
            tables[0][word >> 32 & 255]++;
            tables[1][word >> 40 & 255]++;
            tables[2][word >> 48 & 255]++;
            tables[3][word >> 56]++;
        }
        for (; i < part; i++)
            tables[0][at[i]]++;
        for (unsigned code = 0; code < 256; code++)
            for (unsigned k = 0; k < 4; k++)
                counts[code] += tables[k][code];
        at += part;
        n -= part;
    }
}

/* The number of occurrences of each code among codes first to first + n of a packed
 * run. */
static void count_codes(unsigned bits, const uint8_t *at, size_t first, size_t n,
                        uint64_t counts[256])
{
    uint8_t codes[4096];

    if (bits == 8) {
        count_bytes(at + first, n, counts);
        return;
    }
    for (size_t done = 0; done < n; done += sizeof codes) {
        size_t part = n - done < sizeof codes ? n - done : sizeof codes;

        decode_unpack(bits, at, first + done, part, codes);
        count_bytes(codes, part, counts);
    }
}

static void count_value(struct stats *stats, double value, uint64_t times)
{
    stats->count += times;
    if (isnan(value))
        stats->nan += times;
    else if (isinf(value))
        *(value > 0 ? &stats->pos_inf : &stats->neg_inf) += times;
    else if (value == 0)
        stats->zeros += times;
}

/* Mean and m2 of the values of the counted codes, in two passes. */
static void join_codes(struct stats *stats, const double values[256],
                       const uint64_t counts[256])
{
    double sum = 0, m2 = 0, mean;
    uint64_t n = 0;

    for (unsigned code = 0; code < 256; code++)
        if (counts[code] && isfinite(values[code])) {
            sum += (double)counts[code] * values[code];
            n += counts[code];
        }
    if (n == 0)
        return;
    mean = sum / (double)n;
    for (unsigned code = 0; code < 256; code++)
        if (counts[code] && isfinite(values[code])) {
            double d = values[code] - mean;

            m2 += (double)counts[code] * d * d;
        }
    stats_join(stats, n, mean, m2);
}

/* The first index of the value. A value may have several codes (0 and -0, all bytes
 * that are true). */
static uint64_t place(const struct stats_part *part, const double values[256],
                      double value)
{
    unsigned bits = small_float_bits(part->dtype),
             each = dtype_info(part->dtype)->values;
    size_t n = part->n * each, done = 0;
    uint8_t codes[1024];
    unsigned code = 0, n_codes = 0;

    for (unsigned i = 0; i < 256; i++)
        if (values[i] == value) {
            code = i;
            n_codes++;
        }
    if (bits == 8 && n_codes == 1) {
        const uint8_t *start = (const uint8_t *)part->at + part->first;
        const uint8_t *found = memchr(start, (int)code, n);

        return part->index + (found ? (uint64_t)(found - start) : 0);
    }
    while (done < n) {
        size_t some = n - done < sizeof codes ? n - done : sizeof codes;

        decode_unpack(bits, part->at, part->first * each + done, some, codes);
        for (size_t i = 0; i < some; i++)
            if (values[codes[i]] == value)
                return part->index + (done + i) / each;
        done += some;
    }
    return part->index;
}

static void join_range(struct stats *stats, const struct stats_part *part,
                       const double values[256], const uint64_t counts[256])
{
    double min = INFINITY, max = -INFINITY;
    bool whole = stats->kind != STATS_REAL;

    for (unsigned code = 0; code < 256; code++)
        if (counts[code] && isfinite(values[code])) {
            min = values[code] < min ? values[code] : min;
            max = values[code] > max ? values[code] : max;
        }
    if (min > max)
        return;
    if (!(stats->min <= min))
        stats_lower(stats, min, whole ? (int64_t)min : 0, place(part, values, min));
    if (!(stats->max >= max))
        stats_raise(stats, max, whole ? (int64_t)max : 0, place(part, values, max));
}

void stats_add_codes(struct stats *stats, const struct stats_part *part)
{
    unsigned bits = small_float_bits(part->dtype);
    unsigned each = dtype_info(part->dtype)->values;
    uint64_t counts[256] = {0};
    double values[256];

    count_codes(bits, part->at, part->first * each, part->n * each, counts);
    for (unsigned code = 0; code < 256; code++)
        values[code] = small_float_value(part->dtype, (uint8_t)code);
    if (part->mode != MEASURE_GUARD) {
        join_codes(stats, values, counts);
        join_range(stats, part, values, counts);
    }
    for (unsigned code = 0; code < 256; code++) {
        count_value(stats, values[code], counts[code]);
        if (part->tally && counts[code] && isfinite(values[code]))
            tally_value(part->tally, values[code], counts[code]);
    }
    if (part->mode == MEASURE_GUARD)
        stats->zeros = 0;
}
