#include "measure/quantile_in.h"

#include <math.h>
#include <string.h>

#include "measure/decode_in.h"
#include "measure/elements.h"
#include "measure/small_float_in.h"

#define SIGN16 ((uint64_t)1 << 15)
#define SIGN32 ((uint64_t)1 << 31)
#define SIGN64 ((uint64_t)1 << 63)

/* The bits of a float as an integer in the order of floats. */
static uint64_t float_key(uint64_t bits, uint64_t sign)
{
    return bits & sign ? ~bits & (sign | (sign - 1)) : bits | sign;
}

static uint64_t float_bits(uint64_t key, uint64_t sign)
{
    return key & sign ? key ^ sign : ~key & (sign | (sign - 1));
}

/* Codes are few: sort them by value; the index in that order is the key. */
static void init_codes(struct keys *keys)
{
    unsigned n = 1u << small_float_bits(keys->dtype), kept = 0;
    uint8_t codes[256];

    for (unsigned code = 0; code < n; code++) {
        double value = small_float_value(keys->dtype, (uint8_t)code);
        unsigned i = kept;

        if (!isfinite(value))
            continue;
        for (; i > 0 && keys->values[i - 1] > value; i--) {
            keys->values[i] = keys->values[i - 1];
            codes[i] = codes[i - 1];
        }
        keys->values[i] = value;
        codes[i] = (uint8_t)code;
        kept++;
    }
    for (unsigned i = 0; i < kept; i++) {
        keys->order[codes[i]] = (uint8_t)i;
        keys->finite[codes[i]] = true;
    }
}

void keys_init(struct keys *keys, enum dtype dtype)
{
    size_t size = elements_size(dtype, 1);

    *keys = (struct keys){.dtype = dtype, .bits = 64};
    if (small_float_bits(dtype)) {
        keys->bits = 8;
        init_codes(keys);
    } else if (dtype_info(dtype)->kind != DTYPE_KIND_COMPLEX && size < 8) {
        keys->bits = 8 * (unsigned)size;
    }
}

static size_t keys_of_codes(const struct keys *keys, const void *at, size_t first,
                            size_t n, uint64_t *to)
{
    unsigned each = dtype_info(keys->dtype)->values;
    uint8_t codes[2 * 512];
    size_t kept = 0;

    decode_unpack(small_float_bits(keys->dtype), at, first * each, n * each, codes);
    for (size_t i = 0; i < n * each; i++)
        if (keys->finite[codes[i]])
            to[kept++] = keys->order[codes[i]];
    return kept;
}

/* float16 and bfloat16; `top` has the bits of the exponent. */
static size_t keys_of_16(const char *at, size_t n, uint16_t top, uint64_t *to)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        uint16_t bits;

        memcpy(&bits, at + i * sizeof bits, sizeof bits);
        to[kept] = float_key(bits, SIGN16);
        kept += (bits & top) != top;
    }
    return kept;
}

static size_t keys_of_f32(const char *at, size_t n, uint64_t *to)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t bits;

        memcpy(&bits, at + i * sizeof bits, sizeof bits);
        to[kept] = float_key(bits, SIGN32);
        kept += (bits & 0x7f800000) != 0x7f800000;
    }
    return kept;
}

static size_t keys_of_reals(enum dtype dtype, const void *at, size_t first, size_t n,
                            uint64_t *to)
{
    double reals[512];
    size_t kept = 0;

    decode_reals(dtype, at, first, n, reals);
    for (size_t i = 0; i < n; i++) {
        uint64_t bits;

        memcpy(&bits, &reals[i], sizeof bits);
        to[kept] = float_key(bits, SIGN64);
        kept += isfinite(reals[i]) != 0;
    }
    return kept;
}

/* Signed integers are shifted up by half their range. */
static size_t keys_of_ints(const struct keys *keys, const char *at, size_t n,
                           uint64_t *to)
{
    bool has_sign = dtype_info(keys->dtype)->kind == DTYPE_KIND_INT;
    uint64_t half = has_sign ? (uint64_t)1 << (keys->bits - 1) : 0;
    uint64_t mask = UINT64_MAX >> (64 - keys->bits);
    int64_t integers[512];

    elements_decode_int(keys->dtype, at, n, integers);
    for (size_t i = 0; i < n; i++)
        to[i] = ((uint64_t)integers[i] + half) & mask;
    return n;
}

static size_t keys_of_some(const struct keys *keys, const void *at, size_t first,
                           size_t n, uint64_t *to)
{
    const char *bytes = (const char *)at + elements_size(keys->dtype, first);

    if (small_float_bits(keys->dtype))
        return keys_of_codes(keys, at, first, n, to);
    switch (keys->dtype) {
    case DTYPE_FLOAT16:
        return keys_of_16(bytes, n, 0x7c00, to);
    case DTYPE_BFLOAT16:
        return keys_of_16(bytes, n, 0x7f80, to);
    case DTYPE_FLOAT32:
        return keys_of_f32(bytes, n, to);
    case DTYPE_FLOAT64:
    case DTYPE_COMPLEX32:
    case DTYPE_COMPLEX64:
    case DTYPE_COMPLEX128:
        return keys_of_reals(keys->dtype, at, first, n, to);
    default:
        return keys_of_ints(keys, bytes, n, to);
    }
}

size_t keys_of(const struct keys *keys, const void *at, size_t first, size_t n,
               uint64_t *to)
{
    size_t kept = 0;

    for (size_t done = 0; done < n; done += 512)
        kept += keys_of_some(keys, at, first + done, n - done < 512 ? n - done : 512,
                             to + kept);
    return kept;
}

double keys_value(const struct keys *keys, uint64_t key)
{
    uint32_t bits32;
    uint64_t bits64;
    float single;
    double value;

    if (small_float_bits(keys->dtype))
        return keys->values[key];
    switch (keys->dtype) {
    case DTYPE_FLOAT16:
        return small_float_f16((uint16_t)float_bits(key, SIGN16));
    case DTYPE_BFLOAT16:
        return small_float_bf16((uint16_t)float_bits(key, SIGN16));
    case DTYPE_FLOAT32:
        bits32 = (uint32_t)float_bits(key, SIGN32);
        memcpy(&single, &bits32, sizeof single);
        return single;
    case DTYPE_FLOAT64:
    case DTYPE_COMPLEX32:
    case DTYPE_COMPLEX64:
    case DTYPE_COMPLEX128:
        bits64 = float_bits(key, SIGN64);
        memcpy(&value, &bits64, sizeof value);
        return value;
    default:
        break;
    }
    if (dtype_info(keys->dtype)->kind != DTYPE_KIND_INT)
        return (double)key;
    return (double)(int64_t)(key - ((uint64_t)1 << (keys->bits - 1)));
}
