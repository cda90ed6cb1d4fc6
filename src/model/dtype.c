#include "model/dtype.h"

#include "base/base.h"

/* clang-format off */
static const struct dtype_info infos[DTYPE_COUNT] = {
    [DTYPE_UNKNOWN]          = {"unknown",           DTYPE_KIND_NONE,       0,   0, 1, false, false},
    [DTYPE_FLOAT64]          = {"float64",           DTYPE_KIND_FLOAT,      1,   8, 1, false, false},
    [DTYPE_FLOAT32]          = {"float32",           DTYPE_KIND_FLOAT,      1,   4, 1, false, false},
    [DTYPE_FLOAT16]          = {"float16",           DTYPE_KIND_FLOAT,      1,   2, 1, false, false},
    [DTYPE_BFLOAT16]         = {"bfloat16",          DTYPE_KIND_FLOAT,      1,   2, 1, false, false},
    [DTYPE_FLOAT8_E4M3FN]    = {"float8_e4m3fn",     DTYPE_KIND_FLOAT,      1,   1, 1, false, false},
    [DTYPE_FLOAT8_E5M2]      = {"float8_e5m2",       DTYPE_KIND_FLOAT,      1,   1, 1, false, false},
    [DTYPE_FLOAT8_E4M3FNUZ]  = {"float8_e4m3fnuz",   DTYPE_KIND_FLOAT,      1,   1, 1, false, false},
    [DTYPE_FLOAT8_E5M2FNUZ]  = {"float8_e5m2fnuz",   DTYPE_KIND_FLOAT,      1,   1, 1, false, false},
    [DTYPE_FLOAT8_E8M0FNU]   = {"float8_e8m0fnu",    DTYPE_KIND_FLOAT,      1,   1, 1, false, false},
    [DTYPE_FLOAT6_E2M3]      = {"float6_e2m3",       DTYPE_KIND_FLOAT,      4,   3, 1, false, false},
    [DTYPE_FLOAT6_E3M2]      = {"float6_e3m2",       DTYPE_KIND_FLOAT,      4,   3, 1, false, false},
    [DTYPE_FLOAT4_E2M1]      = {"float4_e2m1",       DTYPE_KIND_FLOAT,      2,   1, 1, false, false},
    [DTYPE_FLOAT4_E2M1FN_X2] = {"float4_e2m1fn_x2",  DTYPE_KIND_FLOAT,      1,   1, 2, false, false},
    [DTYPE_INT64]            = {"int64",             DTYPE_KIND_INT,        1,   8, 1, false, false},
    [DTYPE_INT32]            = {"int32",             DTYPE_KIND_INT,        1,   4, 1, false, false},
    [DTYPE_INT16]            = {"int16",             DTYPE_KIND_INT,        1,   2, 1, false, false},
    [DTYPE_INT8]             = {"int8",              DTYPE_KIND_INT,        1,   1, 1, false, false},
    [DTYPE_UINT64]           = {"uint64",            DTYPE_KIND_UINT,       1,   8, 1, false, false},
    [DTYPE_UINT32]           = {"uint32",            DTYPE_KIND_UINT,       1,   4, 1, false, false},
    [DTYPE_UINT16]           = {"uint16",            DTYPE_KIND_UINT,       1,   2, 1, false, false},
    [DTYPE_UINT8]            = {"uint8",             DTYPE_KIND_UINT,       1,   1, 1, false, false},
    [DTYPE_BOOL]             = {"bool",              DTYPE_KIND_BOOL,       1,   1, 1, false, false},
    [DTYPE_COMPLEX32]        = {"complex32",         DTYPE_KIND_COMPLEX,    1,   4, 1, false, false},
    [DTYPE_COMPLEX64]        = {"complex64",         DTYPE_KIND_COMPLEX,    1,   8, 1, false, false},
    [DTYPE_COMPLEX128]       = {"complex128",        DTYPE_KIND_COMPLEX,    1,  16, 1, false, false},
    [DTYPE_QINT8]            = {"qint8",             DTYPE_KIND_INT,        1,   1, 1, true, false},
    [DTYPE_QUINT8]           = {"quint8",            DTYPE_KIND_UINT,       1,   1, 1, true, false},
    [DTYPE_QINT32]           = {"qint32",            DTYPE_KIND_INT,        1,   4, 1, true, false},
    [DTYPE_QUINT4X2]         = {"quint4x2",          DTYPE_KIND_UINT,       2,   1, 1, true, false},
    [DTYPE_QUINT2X4]         = {"quint2x4",          DTYPE_KIND_UINT,       4,   1, 1, true, false},
    [DTYPE_BITS8]            = {"bits8",             DTYPE_KIND_NONE,       1,   1, 1, false, false},
    [DTYPE_BITS16]           = {"bits16",            DTYPE_KIND_NONE,       1,   2, 1, false, false},
    [DTYPE_BITS1X8]          = {"bits1x8",           DTYPE_KIND_NONE,       1,   1, 1, false, false},
    [DTYPE_BITS2X4]          = {"bits2x4",           DTYPE_KIND_NONE,       1,   1, 1, false, false},
    [DTYPE_BITS4X2]          = {"bits4x2",           DTYPE_KIND_NONE,       1,   1, 1, false, false},
    [DTYPE_Q4_0]             = {"q4_0",              DTYPE_KIND_FLOAT,     32,  18, 1, false, true},
    [DTYPE_Q4_1]             = {"q4_1",              DTYPE_KIND_FLOAT,     32,  20, 1, false, true},
    [DTYPE_Q5_0]             = {"q5_0",              DTYPE_KIND_FLOAT,     32,  22, 1, false, true},
    [DTYPE_Q5_1]             = {"q5_1",              DTYPE_KIND_FLOAT,     32,  24, 1, false, true},
    [DTYPE_Q8_0]             = {"q8_0",              DTYPE_KIND_FLOAT,     32,  34, 1, false, true},
    [DTYPE_Q8_1]             = {"q8_1",              DTYPE_KIND_FLOAT,     32,  36, 1, false, true},
    [DTYPE_Q2_K]             = {"q2_K",              DTYPE_KIND_FLOAT,    256,  84, 1, false, true},
    [DTYPE_Q3_K]             = {"q3_K",              DTYPE_KIND_FLOAT,    256, 110, 1, false, true},
    [DTYPE_Q4_K]             = {"q4_K",              DTYPE_KIND_FLOAT,    256, 144, 1, false, true},
    [DTYPE_Q5_K]             = {"q5_K",              DTYPE_KIND_FLOAT,    256, 176, 1, false, true},
    [DTYPE_Q6_K]             = {"q6_K",              DTYPE_KIND_FLOAT,    256, 210, 1, false, true},
    [DTYPE_Q8_K]             = {"q8_K",              DTYPE_KIND_FLOAT,    256, 292, 1, false, true},
    [DTYPE_IQ1_S]            = {"iq1_s",             DTYPE_KIND_FLOAT,    256,  50, 1, false, true},
    [DTYPE_IQ1_M]            = {"iq1_m",             DTYPE_KIND_FLOAT,    256,  56, 1, false, true},
    [DTYPE_IQ2_XXS]          = {"iq2_xxs",           DTYPE_KIND_FLOAT,    256,  66, 1, false, true},
    [DTYPE_IQ2_XS]           = {"iq2_xs",            DTYPE_KIND_FLOAT,    256,  74, 1, false, true},
    [DTYPE_IQ2_S]            = {"iq2_s",             DTYPE_KIND_FLOAT,    256,  82, 1, false, true},
    [DTYPE_IQ3_XXS]          = {"iq3_xxs",           DTYPE_KIND_FLOAT,    256,  98, 1, false, true},
    [DTYPE_IQ3_S]            = {"iq3_s",             DTYPE_KIND_FLOAT,    256, 110, 1, false, true},
    [DTYPE_IQ4_NL]           = {"iq4_nl",            DTYPE_KIND_FLOAT,     32,  18, 1, false, true},
    [DTYPE_IQ4_XS]           = {"iq4_xs",            DTYPE_KIND_FLOAT,    256, 136, 1, false, true},
    [DTYPE_TQ1_0]            = {"tq1_0",             DTYPE_KIND_FLOAT,    256,  54, 1, false, true},
    [DTYPE_TQ2_0]            = {"tq2_0",             DTYPE_KIND_FLOAT,    256,  66, 1, false, true},
    [DTYPE_MXFP4]            = {"mxfp4",             DTYPE_KIND_FLOAT,     32,  17, 1, false, true},
    [DTYPE_NVFP4]            = {"nvfp4",             DTYPE_KIND_FLOAT,     64,  36, 1, false, true},
    [DTYPE_Q1_0]             = {"q1_0",              DTYPE_KIND_FLOAT,    128,  18, 1, false, true},
    [DTYPE_Q2_0]             = {"q2_0",              DTYPE_KIND_FLOAT,     64,  18, 1, false, true},
    [DTYPE_UINT4]            = {"uint4",             DTYPE_KIND_UINT,        2,   1, 1, false, false},
    [DTYPE_INT4]             = {"int4",              DTYPE_KIND_INT,         2,   1, 1, false, false},
    [DTYPE_UINT2]            = {"uint2",             DTYPE_KIND_UINT,        4,   1, 1, false, false},
    [DTYPE_INT2]             = {"int2",              DTYPE_KIND_INT,         4,   1, 1, false, false},
};

/* Other names for the same types. */
struct name {
    const char *name;
    enum dtype dtype;
};

static const struct name aliases[] = {
    {"float", DTYPE_FLOAT32},   {"double", DTYPE_FLOAT64},     {"half", DTYPE_FLOAT16},
    {"long", DTYPE_INT64},      {"int", DTYPE_INT32},          {"short", DTYPE_INT16},
    {"cfloat", DTYPE_COMPLEX64}, {"cdouble", DTYPE_COMPLEX128}, {"chalf", DTYPE_COMPLEX32},
};

static const struct name storage_classes[] = {
    {"FloatStorage", DTYPE_FLOAT32},
    {"LongStorage", DTYPE_INT64},
    {"HalfStorage", DTYPE_FLOAT16},
    {"BFloat16Storage", DTYPE_BFLOAT16},
    {"DoubleStorage", DTYPE_FLOAT64},
    {"IntStorage", DTYPE_INT32},
    {"ShortStorage", DTYPE_INT16},
    {"CharStorage", DTYPE_INT8},
    {"ByteStorage", DTYPE_UINT8},
    {"BoolStorage", DTYPE_BOOL},
    {"ComplexFloatStorage", DTYPE_COMPLEX64},
    {"ComplexDoubleStorage", DTYPE_COMPLEX128},
    {"QInt8Storage", DTYPE_QINT8},
    {"QUInt8Storage", DTYPE_QUINT8},
    {"QInt32Storage", DTYPE_QINT32},
    {"QUInt4x2Storage", DTYPE_QUINT4X2},
    {"QUInt2x4Storage", DTYPE_QUINT2X4},
};

static const struct name safetensors_codes[] = {
    {"F32", DTYPE_FLOAT32},               {"BF16", DTYPE_BFLOAT16},
    {"F16", DTYPE_FLOAT16},               {"F64", DTYPE_FLOAT64},
    {"I64", DTYPE_INT64},                 {"I32", DTYPE_INT32},
    {"I16", DTYPE_INT16},                 {"I8", DTYPE_INT8},
    {"U64", DTYPE_UINT64},                {"U32", DTYPE_UINT32},
    {"U16", DTYPE_UINT16},                {"U8", DTYPE_UINT8},
    {"BOOL", DTYPE_BOOL},                 {"F8_E4M3", DTYPE_FLOAT8_E4M3FN},
    {"F8_E5M2", DTYPE_FLOAT8_E5M2},       {"F8_E8M0", DTYPE_FLOAT8_E8M0FNU},
    {"F8_E4M3FNUZ", DTYPE_FLOAT8_E4M3FNUZ}, {"F8_E5M2FNUZ", DTYPE_FLOAT8_E5M2FNUZ},
    {"F6_E2M3", DTYPE_FLOAT6_E2M3},       {"F6_E3M2", DTYPE_FLOAT6_E3M2},
    {"F4", DTYPE_FLOAT4_E2M1},            {"C64", DTYPE_COMPLEX64},
};

/* By the number of enum ggml_type; the missing numbers were removed. */
static const uint8_t ggml_numbers[] = {
    [0] = DTYPE_FLOAT32, [1] = DTYPE_FLOAT16, [2] = DTYPE_Q4_0, [3] = DTYPE_Q4_1,
    [6] = DTYPE_Q5_0, [7] = DTYPE_Q5_1, [8] = DTYPE_Q8_0, [9] = DTYPE_Q8_1,
    [10] = DTYPE_Q2_K, [11] = DTYPE_Q3_K, [12] = DTYPE_Q4_K, [13] = DTYPE_Q5_K,
    [14] = DTYPE_Q6_K, [15] = DTYPE_Q8_K, [16] = DTYPE_IQ2_XXS, [17] = DTYPE_IQ2_XS,
    [18] = DTYPE_IQ3_XXS, [19] = DTYPE_IQ1_S, [20] = DTYPE_IQ4_NL, [21] = DTYPE_IQ3_S,
    [22] = DTYPE_IQ2_S, [23] = DTYPE_IQ4_XS, [24] = DTYPE_INT8, [25] = DTYPE_INT16,
    [26] = DTYPE_INT32, [27] = DTYPE_INT64, [28] = DTYPE_FLOAT64, [29] = DTYPE_IQ1_M,
    [30] = DTYPE_BFLOAT16, [34] = DTYPE_TQ1_0, [35] = DTYPE_TQ2_0, [39] = DTYPE_MXFP4,
    [40] = DTYPE_NVFP4, [41] = DTYPE_Q1_0, [42] = DTYPE_Q2_0,
};
/* clang-format on */

const struct dtype_info *dtype_info(enum dtype dtype)
{
    return &infos[dtype < DTYPE_COUNT ? dtype : DTYPE_UNKNOWN];
}

const char *dtype_name(enum dtype dtype)
{
    return dtype_info(dtype)->name;
}

static enum dtype find_name(const struct name *names, size_t n, struct str name)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(name, names[i].name))
            return names[i].dtype;
    return DTYPE_UNKNOWN;
}

enum dtype dtype_by_name(struct str name)
{
    bool torch = str_starts(name, STR("torch."));

    if (torch)
        name = str_from(name, 6);
    for (int d = DTYPE_UNKNOWN + 1; d < DTYPE_COUNT; d++)
        if (str_is(name, infos[d].name) && !(torch && infos[d].scaled))
            return (enum dtype)d;
    return find_name(aliases, COUNT_OF(aliases), name);
}

enum dtype dtype_by_storage_class(struct str name, bool *ret_untyped)
{
    ptrdiff_t dot = str_find_last_char(name, '.');

    name = str_from(name, (size_t)(dot + 1));
    if (ret_untyped)
        *ret_untyped =
            str_is(name, "UntypedStorage") || str_is(name, "_UntypedStorage");
    return find_name(storage_classes, COUNT_OF(storage_classes), name);
}

enum dtype dtype_by_safetensors(struct str code)
{
    return find_name(safetensors_codes, COUNT_OF(safetensors_codes), code);
}

const char *dtype_safetensors(enum dtype dtype)
{
    for (size_t i = 0; i < COUNT_OF(safetensors_codes); i++)
        if (safetensors_codes[i].dtype == dtype)
            return safetensors_codes[i].name;
    return NULL;
}

enum dtype dtype_by_ggml(uint32_t number)
{
    return number < COUNT_OF(ggml_numbers) ? (enum dtype)ggml_numbers[number]
                                           : DTYPE_UNKNOWN;
}

bool dtype_size(enum dtype dtype, uint64_t n, uint64_t *ret_bytes)
{
    const struct dtype_info *info = dtype_info(dtype);
    uint64_t blocks;

    if (info->block == 0)
        return false;
    blocks = n / info->block + (n % info->block != 0);
    return !__builtin_mul_overflow(blocks, (uint64_t)info->bytes, ret_bytes);
}
