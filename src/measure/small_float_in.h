/* small_float_in.h - floats of 16 bits and fewer, by their codes. */
#ifndef MEASURE_SMALL_FLOAT_IN_H
#define MEASURE_SMALL_FLOAT_IN_H

#include <stdbool.h>
#include <stdint.h>

#include "model/dtype.h"

/* The float32 that a float16 or bfloat16 stands for; exact. */
float float16_value(uint16_t bits);
float bfloat16_value(uint16_t bits);

/* The width of one code: 8 for fp8 and 8-bit integers, 6, 4, 2; 0 for types that are
 * not made of codes of at most 8 bits. A float4_e2m1fn_x2 element holds two codes of 4.
 */
unsigned code_bits(enum dtype dtype);

/* The number that a code of such a type stands for. */
double code_value(enum dtype dtype, uint8_t code);

#endif
