/* HQQ, optimum-quanto and BitNet pack several rows into one: with codes of 4 bits, the first row of
 * the packed matrix holds row 0 and row n / 2.
 *     HQQ     W_q, scale, zero, and as tensors too: shape, nbits, axis
 *     quanto  weight._data int8 or FP8 with weight._scale, or
 *             weight._data._data with weight._scale and weight._shift
 *     BitNet  weight, -1, 0 or 1 in 2 bits, with weight_scale */
#include <string.h>

#include "base/base.h"
#include "read/quant/quant_in.h"

/* ---- HQQ ---- */

/* The shape of the real weight, which has `numel` elements. */
static bool read_shape(const struct quant_matching *m, uint64_t numel)
{
    struct quant_found *found = m->found;
    uint64_t product = 1;

    found->rank = quant_integers(m, QUANT_SHAPE, found->shape, QUANT_RANK);
    for (int i = 0; i < found->rank; i++)
        if (found->shape[i] < 1 ||
            __builtin_mul_overflow(product, (uint64_t)found->shape[i], &product))
            return false;
    return found->rank > 0 && product == numel;
}

/* Bytes, but codes of 3 bits: ten in each int32. */
static bool words_fit(struct quant_weight *weight, int64_t bits)
{
    bool three = bits == 3;

    if (weight->codes.dtype != (three ? DTYPE_INT32 : DTYPE_UINT8) ||
        (bits != 1 && bits != 2 && bits != 3 && bits != 4 && bits != 8))
        return false;
    weight->bits = (uint8_t)bits;
    weight->order = QUANT_STACKED_HIGH;
    weight->meaning = QUANT_UNSIGNED;
    weight->zero_order = QUANT_BYTES;
    return true;
}

/* Rows whose groups do not cross a part become one long row for each part, which is read
 * in larger pieces. */
static void join_rows(struct quant_weight *weight)
{
    if (weight->block_rows > 1 || weight->rows % weight->part_rows != 0)
        return;
    weight->columns *= weight->part_rows;
    weight->scale_columns *= weight->part_rows;
    weight->rows = weight->scale_rows = weight->rows / weight->part_rows;
    weight->part_rows = 1;
}

/* The matrix of codes is (groups, group size) if axis is 1, or its transposed. */
bool quant_match_hqq(const struct quant_matching *m)
{
    struct quant_weight *weight = &m->found->weight;
    uint64_t words[2], scales[2], zeros[2];
    int64_t bits, axis;
    unsigned parts;

    if (!quant_rows(m, QUANT_W_Q, &weight->codes, words) ||
        quant_integers(m, QUANT_NBITS, &bits, 1) != 1 ||
        quant_integers(m, QUANT_AXIS, &axis, 1) != 1 || axis < 0 || axis > 1 ||
        !words_fit(weight, bits) ||
        !quant_matrix(m, QUANT_AO_INNER_SCALE, &weight->scales, scales) ||
        !quant_matrix(m, QUANT_ZERO, &weight->zeros, zeros) ||
        memcmp(scales, zeros, sizeof scales) != 0 ||
        !quant_is_scale(weight->scales.dtype) || !quant_is_scale(weight->zeros.dtype))
        return false;
    parts = bits == 3 ? 10 : 8 / weight->bits;
    weight->rows = axis == 1 ? scales[0] : words[0] * parts;
    weight->columns = words[1];
    weight->part_rows = words[0];
    if (weight->rows > words[0] * parts || weight->rows <= words[0] * (parts - 1) ||
        scales[!axis] != (axis ? weight->rows : weight->columns) || scales[axis] != 1 ||
        (bits == 3 && axis == 0))
        return false;
    weight->block_rows = axis ? 1 : weight->rows;
    weight->block_columns = axis ? weight->columns : 1;
    weight->scale_rows = scales[0];
    weight->scale_columns = scales[1];
    m->found->packing = "HQQ";
    m->found->group = axis ? weight->columns : weight->rows;
    m->found->codes = QUANT_W_Q;
    if (!read_shape(m, weight->rows * weight->columns))
        return false;
    join_rows(weight);
    return true;
}

/* ---- optimum-quanto ---- */

/* Is the part one element for each row or, of a matrix, for each column? */
static bool beside_rows(const struct quant_matching *m, enum quant_part part,
                        struct quant_run *run, uint64_t rows)
{
    const struct tensor *tensor = quant_tensor(m->build, m->module, part, run);

    return tensor && quant_is_scale(tensor->dtype) && tensor->rank > 0 &&
           tensor->numel == rows &&
           (uint64_t)tensor_shape(m->build->model, tensor)[0] == rows;
}

/* The weight has `rows` in its first dimension, each with a scale. */
static bool set_rows(const struct quant_matching *m, const struct tensor *codes,
                     uint64_t rows)
{
    struct quant_weight *weight = &m->found->weight;
    struct quant_found *found = m->found;

    if (codes->rank > QUANT_RANK)
        return false;
    found->rank = codes->rank;
    memcpy(found->shape, tensor_shape(m->build->model, codes),
           codes->rank * sizeof *found->shape);
    weight->columns = codes->numel / (uint64_t)found->shape[0];
    found->shape[0] = (int64_t)rows;
    weight->rows = weight->scale_rows = rows;
    weight->block_rows = weight->scale_columns = 1;
    weight->block_columns = weight->columns;
    weight->order = QUANT_BYTES;
    found->beside = true;
    return true;
}

static bool match_bytes(const struct quant_matching *m)
{
    struct quant_weight *weight = &m->found->weight;
    const struct tensor *codes =
        quant_tensor(m->build, m->module, QUANT_QUANTO_DATA, &weight->codes);

    if (!codes || codes->rank < 2 ||
        (codes->dtype != DTYPE_INT8 && codes->dtype != DTYPE_FLOAT8_E4M3FN &&
         codes->dtype != DTYPE_FLOAT8_E5M2 && codes->dtype != DTYPE_FLOAT8_E4M3FNUZ) ||
        !set_rows(m, codes, (uint64_t)tensor_shape(m->build->model, codes)[0]) ||
        !beside_rows(m, QUANT_QUANTO_SCALE, &weight->scales, weight->rows))
        return false;
    weight->bits = 8;
    weight->meaning = QUANT_FLOAT;
    m->found->packing = codes->dtype == DTYPE_INT8 ? "quanto int8" : "quanto float8";
    m->found->codes = QUANT_QUANTO_DATA;
    return true;
}

/* Codes of 4 or 2 bits: code * scale - shift, with a row of scales for each row. A matrix
 * of up to 128 columns may be a larger one cut into groups, whose shape is not in the
 * file. */
static bool match_bits(const struct quant_matching *m)
{
    struct quant_weight *weight = &m->found->weight;
    const struct tensor *codes =
        quant_tensor(m->build, m->module, QUANT_QUANTO_PACKED, &weight->codes);
    const struct tensor *scales =
        quant_tensor(m->build, m->module, QUANT_QUANTO_SCALE, &weight->scales);
    uint64_t rows, packed;

    if (!codes || !scales || codes->dtype != DTYPE_UINT8 || codes->rank < 2)
        return false;
    rows = scales->numel;
    packed = (uint64_t)tensor_shape(m->build->model, codes)[0];
    weight->bits = rows == packed * 2 ? 4 : 2;
    if ((rows != packed * 2 && rows != packed * 4) || !set_rows(m, codes, rows) ||
        (codes->rank == 2 && weight->columns <= 128) ||
        !beside_rows(m, QUANT_QUANTO_SCALE, &weight->scales, rows) ||
        !beside_rows(m, QUANT_QUANTO_SHIFT, &weight->zeros, rows))
        return false;
    weight->order = QUANT_STACKED;
    weight->part_rows = packed;
    weight->meaning = QUANT_UNSIGNED;
    weight->zero_order = QUANT_BYTES;
    weight->zero_added = weight->zero_negative = true;
    m->found->packing = "quanto";
    m->found->codes = QUANT_QUANTO_PACKED;
    return true;
}

bool quant_match_quanto(const struct quant_matching *m)
{
    return quant_has(m, QUANT_QUANTO_PACKED) ? match_bits(m) : match_bytes(m);
}

/* ---- BitNet ---- */

/* config.json names the class of the layers, which multiply by the scale or divide. */
bool quant_match_bitnet(const struct quant_matching *m)
{
    struct quant_weight *weight = &m->found->weight;
    struct str class = quant_config_text(m, "linear_class");
    uint64_t packed[2];

    if (!str_is(quant_config_text(m, "quantised"), "bitnet") ||
        !quant_rows(m, QUANT_WEIGHT, &weight->codes, packed) ||
        weight->codes.dtype != DTYPE_UINT8 || !quant_shape_of(m, QUANT_WEIGHT) ||
        m->found->rank != 2 ||
        !quant_tensor(m->build, m->module, QUANT_WEIGHT_SCALE, &weight->scales) ||
        weight->scales.n != 1 || !quant_is_scale(weight->scales.dtype))
        return false;
    weight->rows = weight->block_rows = packed[0] * 4;
    weight->columns = weight->block_columns = packed[1];
    weight->scale_rows = weight->scale_columns = 1;
    weight->part_rows = packed[0];
    weight->bits = 2;
    weight->order = QUANT_STACKED;
    weight->meaning = QUANT_UNSIGNED;
    weight->zero_more = 1;
    weight->scales_divide = class.len == 0 || str_is(class, "bitlinear");
    m->found->packing = "BitNet";
    m->found->codes = QUANT_WEIGHT;
    m->found->shape[0] = (int64_t)weight->rows;
    m->found->shape[1] = (int64_t)weight->columns;
    return weight->scales_divide || str_is(class, "autobitlinear");
}
