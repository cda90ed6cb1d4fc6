/* dtype.h - the element types that model files hold, by the names PyTorch gives them.
 * One table (dtype.c) says how each is laid out; measure/ knows how to decode them. */
#ifndef MODEL_DTYPE_H
#define MODEL_DTYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum dtype {
    DTYPE_UNKNOWN, /* named by the file but unknown: no size, no values */
    DTYPE_FLOAT64,
    DTYPE_FLOAT32,
    DTYPE_FLOAT16,
    DTYPE_BFLOAT16,
    DTYPE_FLOAT8_E4M3FN,
    DTYPE_FLOAT8_E5M2,
    DTYPE_FLOAT8_E4M3FNUZ,
    DTYPE_FLOAT8_E5M2FNUZ,
    DTYPE_FLOAT8_E8M0FNU,
    DTYPE_FLOAT6_E2M3, /* 6 bits; four values in three bytes */
    DTYPE_FLOAT6_E3M2,
    DTYPE_FLOAT4_E2M1,      /* 4 bits; an element is one value (safetensors F4) */
    DTYPE_FLOAT4_E2M1FN_X2, /* torch: an element is one byte that holds two values */
    DTYPE_INT64,
    DTYPE_INT32,
    DTYPE_INT16,
    DTYPE_INT8,
    DTYPE_UINT64,
    DTYPE_UINT32,
    DTYPE_UINT16,
    DTYPE_UINT8,
    DTYPE_BOOL,
    DTYPE_COMPLEX32,
    DTYPE_COMPLEX64,
    DTYPE_COMPLEX128,
    DTYPE_QINT8,
    DTYPE_QUINT8,
    DTYPE_QINT32,
    DTYPE_QUINT4X2, /* two elements a byte, low half first */
    DTYPE_QUINT2X4, /* four elements a byte */
    DTYPE_BITS8,
    DTYPE_BITS16,
    DTYPE_BITS1X8,
    DTYPE_BITS2X4,
    DTYPE_BITS4X2,
    DTYPE_UINT4, /* ONNX: two elements a byte, low half first */
    DTYPE_INT4,
    DTYPE_UINT2, /* four elements a byte */
    DTYPE_INT2,
    DTYPE_COUNT
};

enum dtype_kind {
    DTYPE_KIND_NONE, /* bits, unknown: not numbers */
    DTYPE_KIND_FLOAT,
    DTYPE_KIND_INT,
    DTYPE_KIND_UINT,
    DTYPE_KIND_BOOL,
    DTYPE_KIND_COMPLEX,
};

/* Elements are stored in blocks: `block` elements take `bytes` bytes (1 and 4 for
 * float32, 2 and 1 for quint4x2, 4 and 3 for a 6-bit float; a packed format such as
 * Q4_K has 256 and 144). `values` is how many logical values one element stands for:
 * 2 for float4_e2m1fn_x2, else 1. */
struct dtype_info {
    const char *name;
    enum dtype_kind kind;
    uint16_t block, bytes;
    uint8_t values;
    bool quantised; /* integers; a scale and a zero point map them to reals */
};

const struct dtype_info *dtype_info(enum dtype dtype); /* never NULL */
const char *dtype_name(enum dtype dtype);              /* "float32" */

/* By PyTorch's name ("float32", also "torch.float32", "half"), by the name of a storage
 * class ("FloatStorage"), by safetensors' code ("F32"). DTYPE_UNKNOWN if there is none;
 * *ret_untyped (may be NULL) is set for UntypedStorage, which counts bytes. */
enum dtype dtype_by_name(struct str name);
enum dtype dtype_by_storage_class(struct str name, bool *ret_untyped);
enum dtype dtype_by_safetensors(struct str code);
/* safetensors' code of a type: "F32"; NULL: it has none. */
const char *dtype_safetensors(enum dtype dtype);

/* The size of n elements in bytes; false if it overflows or the size of one is unknown.
 * A partial last block counts as a full one. */
bool dtype_size(enum dtype dtype, uint64_t n, uint64_t *ret_bytes);

#endif
