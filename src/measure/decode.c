#include "measure/decode_in.h"

#include <math.h>
#include <string.h>

#include "measure/elements.h"
#include "measure/small_float_in.h"

bool decode_has_values(enum dtype dtype)
{
    return dtype_info(dtype)->kind != DTYPE_KIND_NONE;
}

enum dtype elements_dtype(enum dtype stored)
{
    return dtype_info(stored)->scaled ? DTYPE_FLOAT32 : stored;
}

unsigned decode_doubles(enum dtype dtype)
{
    if (dtype_info(dtype)->kind == DTYPE_KIND_COMPLEX)
        return 2;
    return dtype_info(dtype)->values;
}

size_t elements_size(enum dtype dtype, size_t n)
{
    uint64_t bytes;

    return dtype_size(dtype, n, &bytes) ? (size_t)bytes : 0;
}

void decode_unpack(unsigned bits, const void *at, size_t first, size_t n, uint8_t *to)
{
    const uint8_t *bytes = at;
    uint8_t mask = (uint8_t)((1u << bits) - 1);

    if (bits == 8) {
        memcpy(to, bytes + first, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        size_t bit = (first + i) * bits;
        unsigned low = bit % 8, word = bytes[bit / 8];

        if (low + bits > 8)
            word |= (unsigned)bytes[bit / 8 + 1] << 8;
        to[i] = (uint8_t)(word >> low) & mask;
    }
}

void decode_pack(unsigned bits, const uint8_t *codes, size_t n, uint8_t *to)
{
    memset(to, 0, (n * bits + 7) / 8);
    for (size_t i = 0; i < n; i++) {
        size_t bit = i * bits;
        unsigned word = (unsigned)codes[i] << (bit % 8);

        to[bit / 8] |= (uint8_t)word;
        if (word > 255)
            to[bit / 8 + 1] |= (uint8_t)(word >> 8);
    }
}

/* Types of codes: make a table of values, then look up each code. */
static void decode_codes(enum dtype dtype, const void *at, size_t first, size_t n,
                         double *to)
{
    unsigned bits = small_float_bits(dtype);
    double values[256];
    uint8_t codes[512];

    for (unsigned code = 0; code < 1u << bits; code++)
        values[code] = small_float_value(dtype, (uint8_t)code);
    first *= dtype_info(dtype)->values;
    n *= dtype_info(dtype)->values;
    for (size_t done = 0; done < n; done += sizeof codes) {
        size_t part = n - done < sizeof codes ? n - done : sizeof codes;

        decode_unpack(bits, at, first + done, part, codes);
        for (size_t i = 0; i < part; i++)
            to[done + i] = values[codes[i]];
    }
}

/* A loop over elements of any alignment; `get` is the result for v. */
#define DECODE(type, get)                                                              \
    for (size_t i = 0; i < n; i++) {                                                   \
        type v;                                                                        \
        memcpy(&v, bytes + i * sizeof v, sizeof v);                                    \
        to[i] = get;                                                                   \
    }                                                                                  \
    return true

static bool decode_wide(enum dtype dtype, const char *bytes, size_t n, double *to)
{
    switch (dtype) {
    case DTYPE_FLOAT64:
        memcpy(to, bytes, n * sizeof *to);
        return true;
    case DTYPE_FLOAT32:
        DECODE(float, v);
    case DTYPE_FLOAT16:
        DECODE(uint16_t, small_float_f16(v));
    case DTYPE_BFLOAT16:
        DECODE(uint16_t, small_float_bf16(v));
    case DTYPE_INT64:
        DECODE(int64_t, (double)v);
    case DTYPE_INT32:
    case DTYPE_QINT32:
        DECODE(int32_t, v);
    case DTYPE_INT16:
        DECODE(int16_t, v);
    case DTYPE_UINT64:
        DECODE(uint64_t, (double)v);
    case DTYPE_UINT32:
        DECODE(uint32_t, v);
    case DTYPE_UINT16:
        DECODE(uint16_t, v);
    default:
        return false;
    }
}

bool elements_decode(enum dtype dtype, const void *at, size_t first, size_t n,
                     double *to)
{
    const char *bytes = at;

    if (small_float_bits(dtype)) {
        decode_codes(dtype, at, first, n, to);
        return true;
    }
    if (!decode_has_values(dtype))
        return false;
    bytes += elements_size(dtype, first);
    switch (dtype) {
    case DTYPE_COMPLEX32:
        return decode_wide(DTYPE_FLOAT16, bytes, 2 * n, to);
    case DTYPE_COMPLEX64:
        return decode_wide(DTYPE_FLOAT32, bytes, 2 * n, to);
    case DTYPE_COMPLEX128:
        return decode_wide(DTYPE_FLOAT64, bytes, 2 * n, to);
    default:
        return decode_wide(dtype, bytes, n, to);
    }
}

bool elements_decode_int(enum dtype dtype, const void *at, size_t n, int64_t *to)
{
    const char *bytes = at;

    switch (dtype) {
    case DTYPE_INT64:
    case DTYPE_UINT64:
        memcpy(to, bytes, n * sizeof *to);
        return true;
    case DTYPE_INT32:
    case DTYPE_QINT32:
        DECODE(int32_t, v);
    case DTYPE_INT16:
        DECODE(int16_t, v);
    case DTYPE_UINT32:
        DECODE(uint32_t, v);
    case DTYPE_UINT16:
        DECODE(uint16_t, v);
    case DTYPE_INT8:
    case DTYPE_QINT8:
        DECODE(int8_t, v);
    case DTYPE_UINT8:
    case DTYPE_QUINT8:
        DECODE(uint8_t, v);
    case DTYPE_BOOL:
        DECODE(uint8_t, v != 0);
    case DTYPE_QUINT4X2:
    case DTYPE_QUINT2X4:
    case DTYPE_UINT4:
    case DTYPE_INT4:
    case DTYPE_UINT2:
    case DTYPE_INT2:
        for (size_t i = 0; i < n; i++) {
            uint8_t code;

            decode_unpack(small_float_bits(dtype), at, i, 1, &code);
            to[i] = (int64_t)small_float_value(dtype, code);
        }
        return true;
    default:
        return false;
    }
}

/* The squares of 16- and 32-bit parts fit in a double; those of 64-bit parts may not. */
static double absolute(enum dtype dtype, double real, double imaginary)
{
    if (dtype == DTYPE_COMPLEX128 || !isfinite(real) || !isfinite(imaginary))
        return decode_absolute(real, imaginary);
    return sqrt(real * real + imaginary * imaginary);
}

bool decode_reals(enum dtype dtype, const void *at, size_t first, size_t n, double *to)
{
    double pairs[2 * 128];

    if (dtype_info(dtype)->kind != DTYPE_KIND_COMPLEX)
        return elements_decode(dtype, at, first, n, to);
    for (size_t done = 0; done < n; done += 128) {
        size_t part = n - done < 128 ? n - done : 128;

        elements_decode(dtype, at, first + done, part, pairs);
        for (size_t i = 0; i < part; i++)
            to[done + i] = absolute(dtype, pairs[2 * i], pairs[2 * i + 1]);
    }
    return true;
}
