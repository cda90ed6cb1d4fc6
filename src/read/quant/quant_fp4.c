#include "read/quant/quant_in.h"

#include "base/base.h"

#define NV_GROUP 16 /* values that share a scale of NVFP4 */
#define MX_GROUP 32 /* and of the MX formats */

/* Codes of `bits` bits in bytes, the lowest bits first. */
static void set_codes(struct quant_weight *weight, unsigned bits, enum dtype dtype,
                      uint64_t bytes, uint64_t group)
{
    weight->bits = (uint8_t)bits;
    weight->codes.dtype = (uint8_t)dtype;
    weight->order = QUANT_LOW_FIRST;
    weight->meaning = QUANT_FLOAT;
    weight->word_columns = bytes;
    weight->columns = bytes * 8 / bits;
    weight->block_rows = 1;
    weight->block_columns = group;
    weight->scale_columns = weight->columns / group;
}

static void set_shape(struct quant_found *found, enum quant_part codes)
{
    found->codes = codes;
    found->group = found->weight.block_columns;
    found->rank = 2;
    found->shape[0] = (int64_t)found->weight.rows;
    found->shape[1] = (int64_t)found->weight.columns;
}

/* One float32 for all scales. */
static bool whole_fits(const struct quant_matching *m, enum quant_part part)
{
    struct quant_run *run = &m->found->weight.whole;

    return quant_tensor(m->build, m->module, part, run) && run->n == 1 &&
           run->dtype == DTYPE_FLOAT32;
}

/* weight_packed [out, in / 2] with weight_scale e4m3 [out, in / 16] over
 * weight_global_scale; ModelOpt has weight, weight_scale and, multiplied,
 * weight_scale_2. */
bool quant_match_nvfp4(const struct quant_matching *m)
{
    bool packed = quant_has(m, QUANT_WEIGHT_PACKED);
    enum quant_part part = packed ? QUANT_WEIGHT_PACKED : QUANT_WEIGHT;
    struct quant_weight *weight = &m->found->weight;
    uint64_t bytes[2], scales[2];

    if (!quant_matrix(m, part, &weight->codes, bytes) ||
        weight->codes.dtype != DTYPE_UINT8 ||
        !quant_matrix(m, QUANT_WEIGHT_SCALE, &weight->scales, scales) ||
        weight->scales.dtype != DTYPE_FLOAT8_E4M3FN || scales[0] != bytes[0] ||
        bytes[1] * 2 != scales[1] * NV_GROUP || quant_has(m, QUANT_WEIGHT_ZERO_POINT) ||
        quant_has(m, QUANT_WEIGHT_G_IDX) ||
        !whole_fits(m, packed ? QUANT_WEIGHT_GLOBAL_SCALE : QUANT_WEIGHT_SCALE_2))
        return false;
    weight->rows = weight->scale_rows = bytes[0];
    weight->whole_divides = packed;
    set_codes(weight, 4, DTYPE_FLOAT4_E2M1, bytes[1], NV_GROUP);
    m->found->packing = packed ? "compressed-tensors NVFP4" : "ModelOpt NVFP4";
    set_shape(m->found, part);
    return true;
}

/* weight_packed [out, in * bits / 8] with exponents, weight_scale [out, in / 32]. */
bool quant_match_mx(const struct quant_matching *m)
{
    struct quant_weight *weight = &m->found->weight;
    uint64_t bytes[2], scales[2];
    bool six;

    if (!quant_matrix(m, QUANT_WEIGHT_PACKED, &weight->codes, bytes) ||
        weight->codes.dtype != DTYPE_UINT8 ||
        !quant_matrix(m, QUANT_WEIGHT_SCALE, &weight->scales, scales) ||
        (weight->scales.dtype != DTYPE_UINT8 &&
         weight->scales.dtype != DTYPE_FLOAT8_E8M0FNU) ||
        scales[0] != bytes[0] || quant_has(m, QUANT_WEIGHT_ZERO_POINT) ||
        quant_has(m, QUANT_WEIGHT_G_IDX) || quant_has(m, QUANT_WEIGHT_GLOBAL_SCALE))
        return false;
    six = bytes[1] * 8 == scales[1] * MX_GROUP * 6;
    if (!six && bytes[1] * 8 != scales[1] * MX_GROUP * 4)
        return false;
    weight->scales.dtype = DTYPE_FLOAT8_E8M0FNU;
    weight->rows = weight->scale_rows = bytes[0];
    set_codes(weight, six ? 6 : 4, six ? DTYPE_FLOAT6_E2M3 : DTYPE_FLOAT4_E2M1,
              bytes[1], MX_GROUP);
    m->found->packing = six ? "compressed-tensors MXFP6" : "compressed-tensors MXFP4";
    set_shape(m->found, QUANT_WEIGHT_PACKED);
    return true;
}

/* NAME_blocks [experts, out, in / 32, 16] with exponents, NAME_scales [experts, out,
 * in / 32]. The weight is (experts, in, out), as transformers has it. */
bool quant_match_blocks(const struct quant_matching *m)
{
    const struct model *model = m->build->model;
    struct quant_weight *weight = &m->found->weight;
    const struct tensor *blocks =
        quant_tensor(m->build, m->module, QUANT_BLOCKS, &weight->codes);
    const struct tensor *scales =
        quant_tensor(m->build, m->module, QUANT_BLOCK_SCALES, &weight->scales);
    const int64_t *shape;

    if (!blocks || !scales || blocks->rank != 4 || scales->rank != 3 ||
        blocks->dtype != DTYPE_UINT8 ||
        (scales->dtype != DTYPE_UINT8 && scales->dtype != DTYPE_FLOAT8_E8M0FNU))
        return false;
    shape = tensor_shape(model, blocks);
    for (int i = 0; i < 3; i++)
        if (tensor_shape(model, scales)[i] != shape[i])
            return false;
    if (shape[3] != MX_GROUP / 2)
        return false;
    weight->scales.dtype = DTYPE_FLOAT8_E8M0FNU;
    weight->rows = weight->scale_rows = (uint64_t)(shape[0] * shape[1]);
    set_codes(weight, 4, DTYPE_FLOAT4_E2M1, (uint64_t)(shape[2] * shape[3]), MX_GROUP);
    m->found->packing = "MXFP4 in blocks";
    m->found->codes = QUANT_BLOCKS;
    m->found->group = MX_GROUP;
    m->found->rank = 3;
    m->found->transposed = true;
    m->found->shape[0] = shape[0];
    m->found->shape[1] = (int64_t)weight->columns;
    m->found->shape[2] = shape[1];
    return true;
}

/* ---- torchao ---- */

/* Codes of 4 bits are two in a byte; those of 6 bits have a byte each. */
static bool set_mx_codes(const struct quant_matching *m, const struct quant_mx *mx,
                         const struct tensor *codes)
{
    struct quant_weight *weight = &m->found->weight;
    bool four = mx->codes == DTYPE_FLOAT4_E2M1;
    bool six = mx->codes == DTYPE_FLOAT6_E2M3 || mx->codes == DTYPE_FLOAT6_E3M2;
    uint64_t bytes = (uint64_t)tensor_shape(m->build->model, codes)[codes->rank - 1];

    if (four || six ? codes->dtype != DTYPE_UINT8 : codes->dtype != mx->codes)
        return false;
    set_codes(weight, four ? 4 : 8, mx->codes, bytes, mx->block);
    weight->order = four ? QUANT_LOW_FIRST : QUANT_BYTES;
    weight->rows = weight->scale_rows = codes->numel / bytes;
    m->found->bits = six ? 6 : 0;
    return weight->columns % mx->block == 0;
}

/* Scales of an expert each, [experts, 1, 1], or one. */
static bool whole_of_experts(const struct quant_matching *m, enum quant_part part,
                             const struct tensor *codes)
{
    struct quant_weight *weight = &m->found->weight;
    const struct tensor *whole;

    if (!quant_has(m, part))
        return true;
    whole = quant_tensor(m->build, m->module, part, &weight->whole);
    if (!whole || whole->dtype != DTYPE_FLOAT32)
        return false;
    if (whole->numel == 1)
        return true;
    weight->whole_rows = weight->rows / whole->numel;
    return codes->rank == 3 && whole->rank == 3 &&
           tensor_shape(m->build->model, whole)[0] ==
               tensor_shape(m->build->model, codes)[0] &&
           (uint64_t)tensor_shape(m->build->model, codes)[0] == whole->numel;
}

bool quant_mx_fits(const struct quant_matching *m, const struct quant_mx *mx,
                   const struct tensor *codes, const struct tensor *scales,
                   enum quant_part whole)
{
    struct quant_weight *weight = &m->found->weight;
    uint64_t rows, columns,
        wanted = mx->nvfp4 ? DTYPE_FLOAT8_E4M3FN : DTYPE_FLOAT8_E8M0FNU;

    if (mx->codes == DTYPE_UNKNOWN || mx->block == 0 || codes->rank < 2 ||
        scales->rank < 2 || scales->dtype != wanted || !set_mx_codes(m, mx, codes) ||
        !whole_of_experts(m, whole, codes))
        return false;
    weight->scales_tiled = mx->tiled;
    rows = weight->rows;
    columns = weight->scale_columns;
    if (mx->tiled)
        return scales->numel == (rows + 127) / 128 * 128 * ((columns + 3) / 4 * 4);
    return scales->numel == rows * columns &&
           (uint64_t)tensor_shape(m->build->model, scales)[scales->rank - 1] == columns;
}
