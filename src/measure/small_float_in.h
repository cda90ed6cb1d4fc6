/* small_float_in.h - floats of 16 bits and fewer, and other types with codes of at most
 * 8 bits. */
#ifndef MEASURE_SMALL_FLOAT_IN_H
#define MEASURE_SMALL_FLOAT_IN_H

#include <stdbool.h>
#include <stdint.h>

#include "model/dtype.h"

/* The float32 value of a float16 or bfloat16; exact. */
float small_float_f16(uint16_t bits);
float small_float_bf16(uint16_t bits);

/* Bits of one code: 8 for fp8, bool and 8-bit integers, else 6, 4 or 2; 0 for wider
 * types. An element of float4_e2m1fn_x2 holds two codes of 4 bits. */
unsigned small_float_bits(enum dtype dtype);

/* The number that a code of such a type stands for; higher bits are ignored. */
double small_float_value(enum dtype dtype, uint8_t code);

#endif
