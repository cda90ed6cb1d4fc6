/* measure.h - numbers from tensor elements. Never opens a file, never formats a number.
 *
 *   elements.h   a tensor's elements in C order, in dense blocks, whatever its strides,
 *                byte order or packing; decoding to double and int64
 *   stats.h      count, NaN, infinities, zeros, min, max, mean, std, L2 in one pass
 *   histogram.h  base-2 exponent histogram (same pass), exact linear histogram
 *   quantile.h   exact quantiles by radix select
 *   blocks.h     root mean squares of the blocks of a matrix, for a picture
 *   plane.h      means of the cells of a matrix, for a picture with signs
 *   memory.h     statistics of elements in memory, without a model
 *   spread.h     two histograms that merge exactly, for histories
 *   units.h      dead and saturated units of an activation
 *   update.h     what an optimizer added to a parameter, from a sample
 *   compare.h    how the values of two tensors differ (files: compare_in.h)
 *
 * stats_add.c passes blocks and runs of blocks to a kernel and merges the results;
 * stats_codes.c counts types of 8 bits and fewer; stats_tensor.c measures a tensor.
 * stats_plain.c is the reference kernel. stats_sse2.c, stats_avx2.c and stats_avx512.c
 * are built from stats_kernel_in.h; kernels.c selects one at run time. gather.c reads
 * elements that are not adjacent, gather_sample.c those of a sample (sample_in.h).
 * spread_of.c passes elements to spread_counter.c, whose kernels are spread_plain.c and
 * spread_kernel_in.h; spread_pack.c stores a spread, spread_view.c answers views. */
#ifndef MEASURE_MEASURE_H
#define MEASURE_MEASURE_H

#include "measure/blocks.h"
#include "measure/compare.h"
#include "measure/elements.h"
#include "measure/histogram.h"
#include "measure/plane.h"
#include "measure/quantile.h"
#include "measure/stats.h"

#endif
