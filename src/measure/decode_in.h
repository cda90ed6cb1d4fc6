/* decode_in.h - what the iteration, the statistics and the quantiles share of decoding.
 */
#ifndef MEASURE_DECODE_IN_H
#define MEASURE_DECODE_IN_H

#include <complex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/dtype.h"

/* Does this type hold numbers that we can decode? */
bool dtype_has_values(enum dtype dtype);

/* The doubles that elements_decode() gives for one element: 2 for complex types and for
 * float4_e2m1fn_x2, else 1. */
unsigned dtype_doubles(enum dtype dtype);

/* The real numbers that statistics are made of: complex elements give their absolute
 * value (to[0..n)), all others what elements_decode() gives. */
bool decode_reals(enum dtype dtype, const void *at, size_t first, size_t n, double *to);

/* The absolute value of a complex number; on the way nothing leaves the range of a
 * double. Not hypot(): that of glibc 2.35 has a version of its own, and a wheel that
 * asks for it would not load where glibc is older. */
static inline double complex_absolute(double real, double imaginary)
{
    union {
        double parts[2];
        double complex number;
    } both = {.parts = {real, imaginary}};

    return cabs(both.number);
}

/* One code each of elements first to first + n of a packed run, into bytes. Bits are
 * taken from the lowest up. */
void unpack_codes(unsigned bits, const void *at, size_t first, size_t n, uint8_t *to);

/* The opposite: n codes into a packed run that begins at a byte. */
void pack_codes(unsigned bits, const uint8_t *codes, size_t n, uint8_t *to);

#endif
