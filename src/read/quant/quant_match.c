#include "read/quant/quant_in.h"

#include <string.h>

#include "base/base.h"

#define MX_GROUP      32  /* values that share an exponent of MXFP8 */
#define BLOCK         128 /* rows and columns that share a scale of FP8 */
#define MOST_ELEMENTS ((uint64_t)1 << 48) /* sizes times 32 do not overflow */

const struct tensor *quant_tensor(const struct build *build,
                                  const struct quant_module *module,
                                  enum quant_part part, struct quant_run *ret_run)
{
    const struct model *model = build->model;
    uint32_t node = module->parts[part];
    const struct tensor *tensor;

    if (node == NO_PLACE || build_tensor_at(build, node) >= model->n_tensors)
        return NULL;
    tensor = &model->tensors[build_tensor_at(build, node)];
    if (tensor->layout != LAYOUT_STRIDED || tensor->numel == 0 ||
        tensor->numel > MOST_ELEMENTS ||
        tensor->flags & (TENSOR_CONJ | TENSOR_NEG | TENSOR_DERIVED) ||
        dtype_info(tensor->dtype)->block != 1 ||
        !tensor_readable(model, tensor, NULL) || !tensor_contiguous(model, tensor) ||
        model->storages[tensor->storage].flags & STORAGE_BIG_ENDIAN ||
        !file_source_any_order(build, tensor->storage))
        return NULL;
    *ret_run =
        (struct quant_run){.at = tensor->offset * dtype_info(tensor->dtype)->bytes,
                           .n = tensor->numel,
                           .storage = tensor->storage,
                           .dtype = tensor->dtype};
    return tensor;
}

bool quant_has(const struct quant_matching *m, enum quant_part part)
{
    return m->module->parts[part] != NO_PLACE;
}

bool quant_matrix(const struct quant_matching *m, enum quant_part part,
                  struct quant_run *ret_run, uint64_t ret_size[2])
{
    const struct tensor *tensor = quant_tensor(m->build, m->module, part, ret_run);
    const int64_t *shape;

    if (!tensor || tensor->rank > 2)
        return false;
    shape = tensor_shape(m->build->model, tensor);
    ret_size[0] = tensor->rank > 0 ? (uint64_t)shape[0] : 1;
    ret_size[1] = tensor->rank > 1 ? (uint64_t)shape[1] : 1;
    return true;
}

bool quant_rows(const struct quant_matching *m, enum quant_part part,
                struct quant_run *ret_run, uint64_t ret_size[2])
{
    const struct tensor *tensor = quant_tensor(m->build, m->module, part, ret_run);

    if (!tensor || tensor->rank < 2)
        return false;
    ret_size[1] = (uint64_t)tensor_shape(m->build->model, tensor)[tensor->rank - 1];
    ret_size[0] = tensor->numel / ret_size[1];
    return true;
}

int quant_integers(const struct quant_matching *m, enum quant_part part, int64_t *to,
                   int most)
{
    struct source *source = m->build->model->source;
    int32_t narrow[QUANT_RANK];
    struct quant_run run;
    size_t n;

    if (!quant_tensor(m->build, m->module, part, &run) || run.n > (uint64_t)most)
        return 0;
    n = (size_t)run.n;
    if (run.dtype == DTYPE_INT64)
        return source_bytes(source, run.storage, run.at, to, n * sizeof *to, NULL) < 0
                   ? 0
                   : (int)n;
    if (run.dtype != DTYPE_INT32 || n > QUANT_RANK ||
        source_bytes(source, run.storage, run.at, narrow, n * sizeof *narrow, NULL) < 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        to[i] = narrow[i];
    return (int)n;
}

bool quant_shape_of(const struct quant_matching *m, enum quant_part part)
{
    const struct model *model = m->build->model;
    const struct tensor *tensor =
        &model->tensors[build_tensor_at(m->build, m->module->parts[part])];
    struct quant_found *found = m->found;

    if (tensor->rank < 1 || tensor->rank > QUANT_RANK)
        return false;
    found->rank = tensor->rank;
    memcpy(found->shape, tensor_shape(model, tensor),
           tensor->rank * sizeof *found->shape);
    found->shape[found->rank - 1] = (int64_t)found->weight.columns;
    return true;
}

static bool is_fp8(unsigned dtype)
{
    return dtype >= DTYPE_FLOAT8_E4M3FN && dtype <= DTYPE_FLOAT8_E5M2FNUZ;
}

bool quant_is_scale(unsigned dtype)
{
    return (dtype >= DTYPE_FLOAT64 && dtype <= DTYPE_BFLOAT16) || is_fp8(dtype) ||
           dtype == DTYPE_FLOAT8_E8M0FNU;
}

static bool words_of(const struct quant_matching *m, enum quant_part part,
                     struct quant_run *run, uint64_t size[2])
{
    return quant_matrix(m, part, run, size) && run->dtype == DTYPE_INT32;
}

static bool scales_of(const struct quant_matching *m, enum quant_part part,
                      uint64_t size[2])
{
    struct quant_weight *weight = &m->found->weight;

    if (!quant_matrix(m, part, &weight->scales, size))
        return false;
    if (!quant_is_scale(weight->scales.dtype))
        return false;
    weight->scale_rows = size[0];
    weight->scale_columns = size[1];
    return true;
}

/* Is there no index, or one of `n` group numbers? */
static bool index_fits(const struct quant_matching *m, enum quant_part part, uint64_t n)
{
    struct quant_run *run = &m->found->weight.index;

    if (!quant_has(m, part))
        return true;
    return quant_tensor(m->build, m->module, part, run) && run->n == n &&
           (run->dtype == DTYPE_INT32 || run->dtype == DTYPE_INT64);
}

/* Sets the shape of the real weight: that of the codes, perhaps transposed. */
static void set_shape(struct quant_found *found, bool transposed)
{
    found->rank = 2;
    found->transposed = transposed;
    found->shape[transposed] = (int64_t)found->weight.rows;
    found->shape[!transposed] = (int64_t)found->weight.columns;
}

/* ---- GPTQ and AWQ ---- */

struct str quant_config_text(const struct quant_matching *m, const char *key)
{
    const struct values *values = build_values(m->build);
    uint32_t value;

    return value_get(values, m->module->config, key, &value) ? value_text(values, value)
                                                             : STR("");
}

bool quant_config_count(const struct quant_matching *m, const char *key, uint64_t most,
                        uint64_t *ret_count)
{
    const struct values *values = build_values(m->build);
    const struct value *value;
    uint32_t id;

    if (!value_get(values, m->module->config, key, &id))
        return false;
    value = value_at(values, id);
    if (value->kind != VALUE_INT || value->integer < 1 ||
        (uint64_t)value->integer > most)
        return false;
    *ret_count = (uint64_t)value->integer;
    return true;
}

/* Are zero points stored as they are? Version 1 stores them minus one, and is assumed if
 * config.json does not say. auto-round does so in formats that have "gptq" in their name,
 * but not in that of gptqmodel. */
static bool zeros_as_stored(const struct quant_matching *m)
{
    struct str format = quant_config_text(m, "checkpoint_format");
    struct str packing = quant_config_text(m, "packing_format");

    if (packing.len > 0 &&
        str_ends(quant_config_text(m, "quantised"), STR("auto-round")))
        return str_find(packing, STR("gptq")) < 0 ||
               str_find(packing, STR("gptqmodel")) >= 0;
    return str_is(format, "gptq_v2") || str_is(format, "gptq_p");
}

static bool is_gemv(const struct quant_matching *m)
{
    return str_is(quant_config_text(m, "quantised"), "awq") &&
           str_is_word(quant_config_text(m, "version"), "gemv");
}

/* qweight [in * bits / 32, out], qzeros [groups, out * bits / 32], scales [groups, out],
 * g_idx [in]. */
static bool match_gptq(const struct quant_matching *m)
{
    struct quant_weight *weight = &m->found->weight;
    uint64_t words[2], zeros[2], scales[2];
    unsigned bits;

    if (is_gemv(m) || !words_of(m, QUANT_QWEIGHT, &weight->codes, words) ||
        !words_of(m, QUANT_QZEROS, &weight->zeros, zeros) ||
        !scales_of(m, QUANT_SCALES, scales) || scales[1] != words[1] ||
        zeros[0] != scales[0] || zeros[1] > scales[1] / 4 ||
        zeros[1] * 32 % scales[1] != 0)
        return false;
    bits = (unsigned)(zeros[1] * 32 / scales[1]);
    if ((bits != 2 && bits != 3 && bits != 4 && bits != 8) ||
        words[0] * 32 % bits != 0 ||
        (bits == 3 && str_is(quant_config_text(m, "checkpoint_format"), "gptq_p")))
        return false;
    weight->rows = words[0] * 32 / bits;
    weight->columns = words[1];
    if (!index_fits(m, QUANT_G_IDX, weight->rows) ||
        (weight->index.n == 0 && weight->rows % scales[0] != 0))
        return false;
    weight->block_rows = (weight->rows + scales[0] - 1) / scales[0];
    weight->block_columns = 1;
    weight->word_columns = words[1];
    weight->zero_words = zeros[1];
    weight->bits = (uint8_t)bits;
    weight->order = QUANT_DOWN;
    weight->zero_order = QUANT_ALONG;
    m->found->packing = "GPTQ";
    m->found->group = weight->block_rows;
    m->found->note = "as stored (GPTQ version 2)";
    if (!zeros_as_stored(m)) {
        weight->zero_more = 1;
        m->found->note = "taken as stored minus one (GPTQ version 1)";
    }
    m->found->codes = QUANT_QWEIGHT;
    set_shape(m->found, true);
    return true;
}

/* qweight [in, out / 8], qzeros [groups, out / 8], scales [groups, out]. */
static bool match_awq(const struct quant_matching *m)
{
    struct quant_weight *weight = &m->found->weight;
    uint64_t words[2], zeros[2], scales[2];

    if (is_gemv(m) || !words_of(m, QUANT_QWEIGHT, &weight->codes, words) ||
        !words_of(m, QUANT_QZEROS, &weight->zeros, zeros) ||
        !scales_of(m, QUANT_SCALES, scales) || scales[1] != words[1] * 8 ||
        zeros[0] != scales[0] || zeros[1] != words[1] || words[0] % scales[0] != 0 ||
        quant_has(m, QUANT_G_IDX))
        return false;
    weight->rows = words[0];
    weight->columns = scales[1];
    weight->block_rows = words[0] / scales[0];
    weight->block_columns = 1;
    weight->word_columns = weight->zero_words = words[1];
    weight->bits = 4;
    weight->order = weight->zero_order = QUANT_ALONG_AWQ;
    m->found->packing = "AWQ";
    m->found->group = weight->block_rows;
    m->found->codes = QUANT_QWEIGHT;
    set_shape(m->found, true);
    return true;
}

/* qweight [out, in / 8], and of each row its zero points and scales, with unused ones at
 * the end: qzeros [out, words], scales [out, words * 8]. config.json has the group size. */
static bool match_gemv(const struct quant_matching *m)
{
    struct quant_weight *weight = &m->found->weight;
    uint64_t words[2], zeros[2], scales[2], group;

    if (!is_gemv(m) || quant_has(m, QUANT_G_IDX) ||
        !words_of(m, QUANT_QWEIGHT, &weight->codes, words) ||
        !words_of(m, QUANT_QZEROS, &weight->zeros, zeros) ||
        !scales_of(m, QUANT_SCALES, scales) || zeros[0] != words[0] ||
        scales[0] != words[0] || scales[1] != zeros[1] * 8 ||
        !quant_config_count(m, "group_size", UINT32_MAX, &group) ||
        words[1] * 8 % group != 0 || words[1] * 8 / group > scales[1])
        return false;
    weight->rows = words[0];
    weight->columns = words[1] * 8;
    weight->block_rows = 1;
    weight->block_columns = group;
    weight->word_columns = words[1];
    weight->zero_words = zeros[1];
    weight->bits = 4;
    weight->order = weight->zero_order = QUANT_ALONG;
    m->found->packing = "AWQ for GEMV";
    m->found->group = group;
    m->found->codes = QUANT_QWEIGHT;
    set_shape(m->found, false);
    return true;
}

/* ---- compressed-tensors ---- */

/* Reads the two sizes in weight_shape. */
static bool read_shape(const struct quant_matching *m, uint64_t size[2])
{
    int64_t wide[2];

    if (quant_integers(m, QUANT_WEIGHT_SHAPE, wide, 2) != 2)
        return false;
    for (int i = 0; i < 2; i++) {
        if (wide[i] < 1 || wide[i] > UINT32_MAX)
            return false;
        size[i] = (uint64_t)wide[i];
    }
    return true;
}

/* Scales of [out, groups], [out, 1], [out] or one for all. */
static bool scales_fit(const struct quant_matching *m, const uint64_t scales[2])
{
    struct quant_weight *weight = &m->found->weight;

    weight->block_rows = 1;
    if (weight->index.n > 0) {
        weight->index_columns = true;
        weight->block_columns = 1;
        m->found->group = (weight->columns + scales[1] - 1) / scales[1];
        return scales[0] == weight->rows && scales[1] <= QUANT_COLUMNS;
    }
    if (scales[0] == weight->rows && weight->columns % scales[1] == 0) {
        weight->block_columns = weight->columns / scales[1];
        m->found->group = scales[1] > 1 ? weight->block_columns : 0;
        return true;
    }
    weight->block_rows = weight->rows;
    weight->block_columns = weight->columns;
    return scales[0] == 1 && scales[1] == 1;
}

/* An optional zero point beside each scale: integers, or packed as the codes are, along
 * the rows of the weight. */
static bool zeros_fit(const struct quant_matching *m, const uint64_t scales[2])
{
    struct quant_weight *weight = &m->found->weight;
    uint64_t size[2];

    if (!quant_has(m, QUANT_WEIGHT_ZERO_POINT))
        return true;
    if (!quant_matrix(m, QUANT_WEIGHT_ZERO_POINT, &weight->zeros, size) ||
        size[1] != scales[1])
        return false;
    weight->zero_order = QUANT_BYTES;
    if (size[0] == scales[0])
        return weight->zeros.dtype == DTYPE_INT8 ||
               (is_fp8(weight->zeros.dtype) && is_fp8(weight->codes.dtype));
    weight->zero_order = QUANT_DOWN;
    weight->zero_words = scales[1];
    weight->zero_bias = (uint8_t)(1u << (weight->bits - 1));
    return weight->order == QUANT_ALONG && weight->zeros.dtype == DTYPE_INT32 &&
           size[0] == (scales[0] * weight->bits + 31) / 32;
}

/* The bits of a code if rows of `columns` codes take this many words; 0: unclear. */
static uint8_t find_bits(uint64_t columns, uint64_t words)
{
    uint8_t found = 0;

    for (uint8_t bits = 2; bits <= 8; bits++) {
        if ((columns * bits + 31) / 32 != words)
            continue;
        if (found)
            return 0;
        found = bits;
    }
    return found;
}

/* Old files pack codes of 7 bits as wide as those of 8, and leave the top bits of each
 * word empty. Codes of 8 bits are biased, so that not all these bits are 0. */
static bool is_padded(const struct quant_matching *m)
{
    const struct quant_run *run = &m->found->weight.codes;
    uint32_t words[64] = {0}, all = 0;
    size_t n = run->n < COUNT_OF(words) ? (size_t)run->n : COUNT_OF(words);

    if (source_bytes(m->build->model->source, run->storage, run->at, words,
                     n * sizeof *words, NULL) < 0)
        return true;
    for (size_t i = 0; i < n; i++)
        all |= words[i];
    return all >> 28 == 0;
}

/* weight_packed [out, in * bits / 32]; weight_shape says out and in. */
static bool match_packed(const struct quant_matching *m)
{
    struct quant_weight *weight = &m->found->weight;
    uint64_t words[2], scales[2], size[2];

    if (!words_of(m, QUANT_WEIGHT_PACKED, &weight->codes, words) ||
        !scales_of(m, QUANT_WEIGHT_SCALE, scales) || !read_shape(m, size) ||
        words[0] != size[0])
        return false;
    weight->rows = size[0];
    weight->columns = size[1];
    weight->word_columns = words[1];
    weight->order = QUANT_ALONG;
    weight->meaning = QUANT_BIASED;
    weight->bits = find_bits(size[1], words[1]);
    m->found->packing = "compressed-tensors";
    m->found->codes = QUANT_WEIGHT_PACKED;
    set_shape(m->found, false);
    if (weight->bits == 8 && is_padded(m))
        return false;
    return weight->bits && index_fits(m, QUANT_WEIGHT_G_IDX, weight->columns) &&
           scales_fit(m, scales) && zeros_fit(m, scales);
}

/* ---- int8 and FP8 with scales ---- */

/* Rows and columns that share a scale, 128 unless config.json says otherwise. */
static bool block_size(const struct quant_matching *m, uint64_t size[2])
{
    const struct values *values = build_values(m->build);
    const struct value *list;
    uint32_t id;

    size[0] = size[1] = BLOCK;
    if (!value_get(values, m->module->config, "weight_block_size", &id))
        return true;
    list = value_at(values, id);
    if (list->kind != VALUE_LIST || list->n != 2)
        return false;
    for (int i = 0; i < 2; i++) {
        const struct value *one = value_at(values, value_items(values, id)[i]);

        if (one->kind != VALUE_INT || one->integer < 1 || one->integer > INT32_MAX)
            return false;
        size[i] = (uint64_t)one->integer;
    }
    return true;
}

/* Scales of blocks of rows and columns. */
static bool blocks_fit(const struct quant_matching *m, const uint64_t scales[2])
{
    struct quant_weight *weight = &m->found->weight;
    uint64_t block[2];

    if (!block_size(m, block))
        return false;
    weight->block_rows = block[0];
    weight->block_columns = block[1];
    m->found->group = 0;
    m->found->packing = block[0] == BLOCK && block[1] == BLOCK
                            ? "FP8 with scales of blocks of 128 x 128"
                            : "FP8 with scales of blocks";
    return scales[0] == (weight->rows + block[0] - 1) / block[0] &&
           scales[1] == (weight->columns + block[1] - 1) / block[1];
}

/* weight e4m3 [out, in] with exponents, weight_scale [out, in / 32]. */
static bool match_mxfp8(const struct quant_matching *m)
{
    struct quant_weight *weight = &m->found->weight;
    uint64_t size[2], scales[2];

    if (!quant_matrix(m, QUANT_WEIGHT, &weight->codes, size) ||
        weight->codes.dtype != DTYPE_FLOAT8_E4M3FN ||
        !quant_matrix(m, QUANT_WEIGHT_SCALE, &weight->scales, scales) ||
        weight->scales.dtype != DTYPE_UINT8 || scales[0] != size[0] ||
        size[1] != scales[1] * MX_GROUP || quant_has(m, QUANT_WEIGHT_ZERO_POINT) ||
        quant_has(m, QUANT_WEIGHT_G_IDX))
        return false;
    weight->scales.dtype = DTYPE_FLOAT8_E8M0FNU;
    weight->rows = weight->scale_rows = size[0];
    weight->columns = size[1];
    weight->scale_columns = scales[1];
    weight->block_rows = 1;
    weight->block_columns = m->found->group = MX_GROUP;
    weight->bits = 8;
    weight->order = QUANT_BYTES;
    weight->meaning = QUANT_FLOAT;
    m->found->packing = "MXFP8";
    m->found->codes = QUANT_WEIGHT;
    set_shape(m->found, false);
    return true;
}

/* weight int8 or FP8 [out, in] with weight_scale or, in blocks, weight_scale_inv. */
static bool match_bytes(const struct quant_matching *m)
{
    struct quant_weight *weight = &m->found->weight;
    const struct tensor *codes =
        quant_tensor(m->build, m->module, QUANT_WEIGHT, &weight->codes);
    bool inverse = quant_has(m, QUANT_WEIGHT_SCALE_INV);
    uint64_t size[2], scales[2];

    if (!codes || codes->rank != 2 ||
        !(is_fp8(codes->dtype) || (codes->dtype == DTYPE_INT8 && !inverse)) ||
        !quant_matrix(m, QUANT_WEIGHT, &weight->codes, size) ||
        !scales_of(m, inverse ? QUANT_WEIGHT_SCALE_INV : QUANT_WEIGHT_SCALE, scales))
        return false;
    weight->rows = size[0];
    weight->columns = size[1];
    weight->bits = 8;
    weight->order = QUANT_BYTES;
    weight->meaning = QUANT_FLOAT;
    m->found->packing = is_fp8(codes->dtype) ? "FP8 with scales" : "int8 with scales";
    m->found->codes = QUANT_WEIGHT;
    set_shape(m->found, false);
    if (!index_fits(m, QUANT_WEIGHT_G_IDX, weight->columns))
        return false;
    if (!inverse && scales_fit(m, scales))
        return zeros_fit(m, scales);
    if (!is_fp8(codes->dtype) || weight->index.n > 0 || !blocks_fit(m, scales))
        return false;
    return !quant_has(m, QUANT_WEIGHT_ZERO_POINT);
}

bool quant_match(struct build *build, const struct quant_module *module,
                 struct quant_found *ret_found)
{
    static bool (*const layouts[])(const struct quant_matching *) = {
        match_gemv,         match_gptq,          match_awq,         match_packed,
        match_bytes,        match_mxfp8,         quant_match_nvfp4, quant_match_mx,
        quant_match_blocks, quant_match_torchao, quant_match_int8,  quant_match_4bit,
        quant_match_mlx,    quant_match_bitnet,  quant_match_hqq,   quant_match_quanto};
    struct quant_matching m = {build, module, ret_found};

    for (size_t i = 0; i < COUNT_OF(layouts); i++) {
        *ret_found = (struct quant_found){
            .weight = {.computed = {quant_values, sizeof(float)}, .factor = 1},
            .wrapped = NO_OBJECT};
        if (layouts[i](&m))
            return true;
    }
    return false;
}
