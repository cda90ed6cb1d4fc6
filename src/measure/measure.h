/* measure.h - elements in, numbers out. Never opens a file, never formats a number.
 *
 * The tour of the room:
 *   elements.h    a tensor's elements in C order, in dense blocks, whatever its strides,
 *                 byte order or packing; decoding to double, float, int64, text of a value
 *   stats.h       count, NaN, infinities, zeros, min, max, mean, std, L2 in one pass
 *   histogram.h   base-2 exponent histogram (same pass), exact linear histogram
 *   quantile.h    exact quantiles by radix select
 *   stats.c is the table of statistics; stats_plain.c the reference kernel; stats_sse2.c,
 *   stats_avx2.c and stats_avx512.c the fast ones, chosen once at run time (cpu.h).
 */
#ifndef MEASURE_MEASURE_H
#define MEASURE_MEASURE_H

#include "measure/elements.h"
#include "measure/histogram.h"
#include "measure/quantile.h"
#include "measure/stats.h"

#endif
