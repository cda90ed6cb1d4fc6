/* measure.h - elements in, numbers out. Never opens a file, never formats a number.
 *
 * The tour of the room:
 *   elements.h    a tensor's elements in C order, in dense blocks, whatever its
 * strides, byte order or packing; decoding to double, float, int64, text of a value
 *   stats.h       count, NaN, infinities, zeros, min, max, mean, std, L2 in one pass
 *   histogram.h   base-2 exponent histogram (same pass), exact linear histogram
 *   quantile.h    exact quantiles by radix select
 *   blocks.h      root mean squares of blocks: a picture
 *   memory.h      statistics of what lies in memory, without a model
 *   compare.h     how the values of two tensors differ (compare_in.h has its tour)
 * Behind them: stats_add.c takes runs and blocks of 2048 elements through a kernel and
 * joins them; stats_codes.c counts types of 8 bits and fewer; stats_tensor.c measures a
 * whole tensor. stats_plain.c is the reference kernel; stats_sse2.c, stats_avx2.c and
 * stats_avx512.c are made of stats_kernel_in.h and stats_run_in.h, and kernels.c
 * chooses one of them once, at run time. gather.c fetches elements that do not lie side
 * by side.
 */
#ifndef MEASURE_MEASURE_H
#define MEASURE_MEASURE_H

#include "measure/blocks.h"
#include "measure/compare.h"
#include "measure/elements.h"
#include "measure/histogram.h"
#include "measure/quantile.h"
#include "measure/stats.h"

#endif
