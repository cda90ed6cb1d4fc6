/* MLX: weight uint32 [..., out, in * bits / 32], each row a stream of bits, with scales
 * [..., out, in / group] and, if the codes are integers, biases beside them:
 *     code * scale + bias
 * The shapes only give bits * group; 4 bits in groups of 64 look like 8 bits in groups of
 * 32. config.json says which. Without it only products of one pair are used. */
#include "read/quant/quant_in.h"

#include "base/base.h"

/* The pair of bits and group size that has this product; false: none or several. */
static bool split_product(uint64_t product, unsigned *ret_bits, uint64_t *ret_group)
{
    static const uint8_t all_bits[] = {1, 2, 3, 4, 5, 6, 8}, groups[] = {32, 64, 128};
    int n = 0;

    for (size_t i = 0; i < COUNT_OF(all_bits); i++)
        for (size_t j = 0; j < COUNT_OF(groups); j++)
            if ((uint64_t)all_bits[i] * groups[j] == product) {
                *ret_bits = all_bits[i];
                *ret_group = groups[j];
                n++;
            }
    return n == 1;
}

/* Integers: bits and group size as config.json has them. */
static bool affine_fits(const struct quant_matching *m, uint64_t product)
{
    struct quant_weight *weight = &m->found->weight;
    uint64_t bits, group = 0;
    unsigned only = 0;

    if (quant_config_count(m, "bits", 8, &bits) &&
        quant_config_count(m, "group_size", UINT32_MAX, &group)) {
        if (bits == 7 || bits * group != product)
            return false;
    } else {
        if (!split_product(product, &only, &group))
            return false;
        bits = only;
    }
    weight->bits = (uint8_t)bits;
    weight->block_columns = group;
    weight->meaning = QUANT_UNSIGNED;
    weight->zero_order = QUANT_BYTES;
    weight->zero_added = true;
    m->found->packing = "MLX";
    return true;
}

/* Floats, by the product of bits and group size. */
static bool floats_fit(const struct quant_matching *m, uint64_t product)
{
    static const struct {
        uint16_t product;
        uint8_t bits, codes, scales;
        const char *packing;
    } kinds[] = {
        {4 * 32, 4, DTYPE_FLOAT4_E2M1, DTYPE_FLOAT8_E8M0FNU, "MLX MXFP4"},
        {4 * 16, 4, DTYPE_FLOAT4_E2M1, DTYPE_FLOAT8_E4M3FN, "MLX NVFP4"},
        {8 * 32, 8, DTYPE_FLOAT8_E4M3FN, DTYPE_FLOAT8_E8M0FNU, "MLX MXFP8"},
    };
    struct quant_weight *weight = &m->found->weight;

    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (kinds[i].product == product && weight->scales.dtype == DTYPE_UINT8) {
            weight->bits = kinds[i].bits;
            weight->block_columns = product / weight->bits;
            weight->codes.dtype = kinds[i].codes;
            weight->scales.dtype = kinds[i].scales;
            weight->meaning = QUANT_FLOAT;
            m->found->packing = kinds[i].packing;
            return true;
        }
    return false;
}

bool quant_match_mlx(const struct quant_matching *m)
{
    struct quant_weight *weight = &m->found->weight;
    uint64_t words[2], scales[2], biases[2];
    bool affine = quant_has(m, QUANT_BIASES);

    if (!quant_rows(m, QUANT_WEIGHT, &weight->codes, words) ||
        weight->codes.dtype != DTYPE_UINT32 ||
        !quant_rows(m, QUANT_SCALES, &weight->scales, scales) ||
        scales[0] != words[0] || words[1] * 32 % scales[1] != 0)
        return false;
    if (affine &&
        (!quant_rows(m, QUANT_BIASES, &weight->zeros, biases) ||
         biases[0] != scales[0] || biases[1] != scales[1] ||
         !quant_is_scale(weight->scales.dtype) || !quant_is_scale(weight->zeros.dtype)))
        return false;
    if (!(affine ? affine_fits : floats_fit)(m, words[1] * 32 / scales[1]) ||
        words[1] * 32 % weight->bits != 0)
        return false;
    weight->rows = weight->scale_rows = words[0];
    weight->columns = words[1] * 32 / weight->bits;
    weight->block_rows = 1;
    weight->scale_columns = scales[1];
    weight->word_columns = words[1];
    weight->order = QUANT_ALONG;
    m->found->group = weight->block_columns;
    m->found->codes = QUANT_WEIGHT;
    return quant_shape_of(m, QUANT_WEIGHT);
}
