/* dtype.h - the element types in model files, by PyTorch's names. One table (dtype.c)
 * describes their layout; measure/ decodes them. */
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
    DTYPE_Q4_0, /* ggml's types: blocks with scales of their own */
    DTYPE_Q4_1,
    DTYPE_Q5_0,
    DTYPE_Q5_1,
    DTYPE_Q8_0,
    DTYPE_Q8_1,
    DTYPE_Q2_K,
    DTYPE_Q3_K,
    DTYPE_Q4_K,
    DTYPE_Q5_K,
    DTYPE_Q6_K,
    DTYPE_Q8_K,
    DTYPE_IQ1_S,
    DTYPE_IQ1_M,
    DTYPE_IQ2_XXS,
    DTYPE_IQ2_XS,
    DTYPE_IQ2_S,
    DTYPE_IQ3_XXS,
    DTYPE_IQ3_S,
    DTYPE_IQ4_NL,
    DTYPE_IQ4_XS,
    DTYPE_TQ1_0,
    DTYPE_TQ2_0,
    DTYPE_MXFP4,
    DTYPE_NVFP4,
    DTYPE_Q1_0,
    DTYPE_Q2_0,
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
 * float32, 2 and 1 for quint4x2, 4 and 3 for a 6-bit float, 256 and 144 for q4_K).
 * `values` is the number of logical values per element: 2 for float4_e2m1fn_x2, else
 * 1. */
struct dtype_info {
    const char *name;
    enum dtype_kind kind;
    uint16_t block, bytes;
    uint8_t values;
    bool quantised; /* integers; a scale and a zero point map them to reals */
    bool scaled;    /* a block has its own scales (ggml): elements decode to float32 */
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

/* By the number of a type in a GGUF file (12: q4_K). DTYPE_UNKNOWN if there is none. */
enum dtype dtype_by_ggml(uint32_t number);

/* The size of n elements in bytes; false if it overflows or the size of one is unknown.
 * A partial last block counts as a full one. */
bool dtype_size(enum dtype dtype, uint64_t n, uint64_t *ret_bytes);

#endif
