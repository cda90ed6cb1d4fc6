/* decode_in.h - decoding helpers for iteration, statistics and quantiles. */
#ifndef MEASURE_DECODE_IN_H
#define MEASURE_DECODE_IN_H

#include <complex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/dtype.h"

/* Does this type hold numbers? */
bool decode_has_values(enum dtype dtype);

/* The number of doubles that elements_decode() writes per element: 2 for complex types
 * and float4_e2m1fn_x2, else 1. */
unsigned decode_doubles(enum dtype dtype);

/* Like elements_decode(), but complex elements give their absolute value. */
bool decode_reals(enum dtype dtype, const void *at, size_t first, size_t n, double *to);

/* The absolute value of a complex number, without overflow. Not hypot(): glibc 2.35
 * gave it a new symbol version, and a wheel that uses it would not load on older
 * systems. */
static inline double decode_absolute(double real, double imaginary)
{
    union {
        double parts[2];
        double complex number;
    } both = {.parts = {real, imaginary}};

    return cabs(both.number);
}

/* Codes first to first + n of a packed run, one per byte; lowest bits first. */
void decode_unpack(unsigned bits, const void *at, size_t first, size_t n, uint8_t *to);

/* The opposite: pack n codes; the run begins at a byte. */
void decode_pack(unsigned bits, const uint8_t *codes, size_t n, uint8_t *to);

#endif
