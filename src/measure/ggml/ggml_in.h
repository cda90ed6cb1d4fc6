/* ggml_in.h - the public header of measure/ggml: ggml's quantised types in GGUF files.
 * They store blocks of 32 to 256 elements, each with its scales. Decoding gives float32
 * by the same operations in the same order as ggml's reference, so the results are
 * bit-identical (except for the sign of a NaN).
 *
 *   ggml.c          THE TABLE of types; byte order
 *   quants.c        blocks of one scale: q4_0 ... q8_1, mxfp4, nvfp4, q1_0, q2_0,
 *                   ternary
 *   k_quants.c      super-blocks of 256 with scales of parts: q2_K ... q8_K
 *   i_quants.c      codes that point into grids: iq1_s ... iq4_xs
 *   grids.c         those grids, made by tools/ggml_grids.py
 *   kernels_in.h    what these files share */
#ifndef MEASURE_GGML_GGML_IN_H
#define MEASURE_GGML_GGML_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/dtype.h"

#define GGML_BLOCK 256 /* elements of a block, at most */

/* Is this one of the types decoded here? */
bool ggml_type(enum dtype dtype);

/* Decode n whole blocks to n times dtype_info(dtype)->block floats. */
void ggml_decode(enum dtype dtype, const void *at, size_t n, float *to);

/* Change the byte order of the numbers in n blocks. False: it is not known how a
 * big-endian machine writes this type. */
bool ggml_swap(enum dtype dtype, void *at, size_t n);

#endif
