/* torchao stores a weight as tensors of a subclass of Tensor:
 *     safetensors  fc._weight_qdata, fc._weight_scale, fc._weight_zero_point, and in the
 *                  metadata "fc.weight": {"_type": "Int8Tensor",
 *                  "_data": {"block_size": [1, 256]}, ...} as text
 *     pickled      fc.weight of that class; below it qdata, scale, zero_point. Until
 *                  version 0.14: fc.weight.tensor_impl.int_data, or float8_data
 * Layouts for one kind of processor are shown as stored: tile-packed int4 of NVIDIA and
 * AMD have the same shape and another order. */
#include "read/quant/quant_in.h"

#include <string.h>

#include "base/base.h"
#include "base/json_doc.h"

#define MOST_TEXT   (64 * KIB)
#define MOST_LEVELS 4 /* of subclasses in each other */

/* What metadata or attributes say about a weight. */
struct ao_weight {
    enum { AO_OTHER, AO_BYTES, AO_INT4, AO_MX, AO_FLAT } kind;
    const char *packing;
    int64_t blocks[QUANT_RANK]; /* values that share a scale, by dimension */
    int n_blocks;
    unsigned bits; /* of the values, if fewer than those of a code; else 0 */
    struct quant_mx mx;
};

/* By the last part of the name of the class. */
static const struct {
    const char *name;
    int kind;
    const char *packing;
} kinds[] = {
    {"Int8Tensor", AO_BYTES, "torchao int8"},
    {"Float8Tensor", AO_BYTES, "torchao float8"},
    {"IntxUnpackedToInt8Tensor", AO_BYTES, "torchao intx"},
    {"Int4Tensor", AO_INT4, "torchao int4"},
    {"MXTensor", AO_MX, "torchao MX"},
    {"NVFP4Tensor", AO_MX, "torchao NVFP4"},
    {"OptimState8bit", AO_FLAT, "torchao 8-bit state"},
    {"OptimState4bit", AO_FLAT, "torchao 4-bit state"},
    {"OptimStateFp8", AO_FLAT, "torchao float8 state"},
    {"Int8QuantizedTrainingLinearWeight", AO_FLAT, "torchao int8 training"},
    {"PlainAQTTensorImpl", AO_BYTES, "torchao affine"},
    {"Float8AQTTensorImpl", AO_BYTES, "torchao float8"},
};

static void set_kind(struct ao_weight *ao, struct str name)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (str_is(name, kinds[i].name)) {
            ao->kind = kinds[i].kind;
            ao->packing = kinds[i].packing;
        }
    ao->mx.nvfp4 = str_is(name, "NVFP4Tensor");
    if (ao->mx.nvfp4)
        ao->mx.codes = DTYPE_FLOAT4_E2M1;
}

/* The type of the codes of an MXTensor, perhaps after "torch.". */
static enum dtype code_type(struct str name)
{
    static const struct {
        const char *name;
        enum dtype dtype;
    } types[] = {{"float8_e4m3fn", DTYPE_FLOAT8_E4M3FN},
                 {"float8_e5m2", DTYPE_FLOAT8_E5M2},
                 {"fp6_e2m3", DTYPE_FLOAT6_E2M3},
                 {"fp6_e3m2", DTYPE_FLOAT6_E3M2},
                 {"float4_e2m1fn_x2", DTYPE_FLOAT4_E2M1}};

    if (str_starts(name, STR("torch.")))
        name = str_from(name, 6);
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (str_is(name, types[i].name))
            return types[i].dtype;
    return DTYPE_UNKNOWN;
}

/* "int4" or "torch.int4": bits; else 0. */
static unsigned bits_of(struct str dtype)
{
    if (dtype.len < 4 || !str_ends(str_head(dtype, dtype.len - 1), STR("int")) ||
        dtype.at[dtype.len - 1] < '1' || dtype.at[dtype.len - 1] > '8')
        return 0;
    return (unsigned)(dtype.at[dtype.len - 1] - '0');
}

/* ---- safetensors ---- */

/* "_data": {"elem_dtype": "fp6_e2m3", "block_size": 32, "is_swizzled_scales": true} */
static void read_json_mx(struct ao_weight *ao, const struct json_doc *tree,
                         uint32_t data)
{
    uint32_t type = json_doc_get(tree, data, "elem_dtype");
    int64_t block;

    if (json_doc_kind(tree, type) == JSON_OBJECT)
        type = json_doc_get(tree, type, "_data");
    if (!ao->mx.nvfp4)
        ao->mx.codes = (uint8_t)code_type(json_doc_text(tree, type));
    if (json_doc_int(tree, json_doc_get(tree, data, "block_size"), &block) && block > 0)
        ao->mx.block = (uint64_t)block;
    ao->mx.tiled = json_doc_true(tree, json_doc_get(tree, data, "is_swizzled_scales"));
}

static bool read_json(struct ao_weight *ao, const struct json_doc *tree)
{
    uint32_t data = json_doc_get(tree, JSON_DOC_ROOT, "_data");
    uint32_t list = json_doc_get(tree, data, "block_size");
    uint32_t target = json_doc_get(tree, data, "target_dtype");

    set_kind(ao, json_doc_text(tree, json_doc_get(tree, JSON_DOC_ROOT, "_type")));
    ao->bits = bits_of(json_doc_text(tree, json_doc_get(tree, target, "_data")));
    if (ao->kind == AO_MX) {
        read_json_mx(ao, tree, data);
        return true;
    }
    for (uint32_t i = json_doc_first(tree, list); i; i = json_doc_next(tree, i))
        if (ao->n_blocks == QUANT_RANK ||
            !json_doc_int(tree, i, &ao->blocks[ao->n_blocks++]))
            return false;
    return true;
}

static bool read_metadata(const struct quant_matching *m, struct ao_weight *ao)
{
    struct values *values = build_values(m->build);
    struct str text = value_text(values, m->module->metadata);
    struct json_doc tree = {0};
    struct arena arena;
    bool good;

    if (value_at(values, m->module->metadata)->kind != VALUE_STR ||
        text.len > MOST_TEXT)
        return false;
    arena_init(&arena, MIB);
    good = json_doc_read(&tree, text, "metadata", &arena, NULL) == 0 &&
           read_json(ao, &tree);
    arena_release(&arena);
    return good;
}

/* ---- pickled ---- */

static const struct tensor *tensor_at(const struct build *build, uint32_t node)
{
    uint32_t id = node == NO_PLACE ? NO_OBJECT : build_tensor_at(build, node);

    return id < build->model->n_tensors ? &build->model->tensors[id] : NULL;
}

/* The class of a subclass of torchao without its module, "Int8Tensor"; else empty. */
static struct str class_of(const struct build *build, const struct tensor *tensor)
{
    const struct model *model = build->model;
    struct str name;
    size_t dot;

    if (!tensor || tensor->class_id == NO_CLASS || tensor->layout != LAYOUT_WRAPPED ||
        !(tensor->flags & TENSOR_SHAPE_ONLY) || tensor->flags & TENSOR_INVALID)
        return STR("");
    name = model_string(model, model->classes[tensor->class_id].name);
    if (!str_starts(name, STR("torchao.")))
        return STR("");
    dot = name.len;
    while (dot > 0 && name.at[dot - 1] != '.')
        dot--;
    return str_from(name, dot);
}

static bool read_blocks(struct ao_weight *ao, const struct values *values, uint32_t id)
{
    const struct value *list = value_at(values, id);

    if ((list->kind != VALUE_LIST && list->kind != VALUE_TUPLE) || list->n > QUANT_RANK)
        return false;
    for (uint32_t i = 0; i < list->n; i++) {
        const struct value *size = value_at(values, value_items(values, id)[i]);

        if (size->kind != VALUE_INT)
            return false;
        ao->blocks[i] = size->integer;
    }
    ao->n_blocks = (int)list->n;
    return true;
}

/* ZeroPointDomain(1): zero points are integers; 3: there are none. */
static bool integer_zeros(const struct values *values, uint32_t extra)
{
    const struct value *value;
    uint32_t id;

    if (!value_get(values, extra, "zero_point_domain", &id))
        return false;
    value = value_at(values, id);
    if (value->kind != VALUE_CALL || value->n != 1)
        return false;
    value = value_at(values, value_items(values, id)[0]);
    return value->kind == VALUE_INT && (value->integer == 1 || value->integer == 3);
}

static bool get_int(const struct values *values, uint32_t id, const char *key,
                    int64_t *ret_value)
{
    uint32_t value;

    if (!value_get(values, id, key, &value) ||
        value_at(values, value)->kind != VALUE_INT)
        return false;
    *ret_value = value_at(values, value)->integer;
    return true;
}

/* The bits that values from quant_min to quant_max take; 0: those of their type. */
static unsigned bits_between(const struct values *values, uint32_t extra)
{
    int64_t least, most;
    unsigned bits = 1;

    if (!get_int(values, extra, "quant_min", &least) ||
        !get_int(values, extra, "quant_max", &most) || least < -128 || most > 255 ||
        most <= least)
        return 0;
    while (1 << bits <= most - least)
        bits++;
    return bits < 8 ? bits : 0;
}

static void read_level_mx(struct ao_weight *ao, const struct values *values,
                          uint32_t extra)
{
    int64_t block;
    uint32_t id;

    if (!ao->mx.nvfp4 && value_get(values, extra, "elem_dtype", &id))
        ao->mx.codes = (uint8_t)code_type(value_text(values, id));
    if (get_int(values, extra, "block_size", &block) && block > 0)
        ao->mx.block = (uint64_t)block;
    if (value_get(values, extra, "is_swizzled_scales", &id))
        ao->mx.tiled = value_at(values, id)->integer != 0;
}

/* Reads the attributes of one of the nested subclasses; false: they are not supported. */
static bool read_level(struct ao_weight *ao, const struct values *values,
                       const struct tensor *tensor, struct str class, bool inside)
{
    const struct value *value;
    uint32_t id;

    if (ao->kind == AO_MX && !inside)
        read_level_mx(ao, values, tensor->extra);
    if ((ao->kind == AO_MX || ao->kind == AO_FLAT) && !inside)
        return true;
    if (value_get(values, tensor->extra, "transposed", &id)) {
        value = value_at(values, id);
        if (value->kind != VALUE_BOOL || value->integer)
            return false;
    }
    if (value_get(values, tensor->extra, "target_dtype", &id))
        ao->bits = bits_of(value_text(values, id));
    if (value_get(values, tensor->extra, "block_size", &id) &&
        !read_blocks(ao, values, id))
        return false;
    if (inside && str_is(class, "AffineQuantizedTensor")) {
        ao->bits = bits_between(values, tensor->extra);
        return integer_zeros(values, tensor->extra);
    }
    return inside ? str_is(class, "LinearActivationQuantizedTensor")
                  : ao->kind != AO_OTHER;
}

/* Reads the subclass that has the part `data`, and those around it. The outermost gets
 * the values. */
static bool read_wrapped(const struct quant_matching *m, struct ao_weight *ao)
{
    const struct values *values = build_values(m->build);
    uint32_t node = m->module->node;
    const struct tensor *tensor = tensor_at(m->build, node);
    struct str class = class_of(m->build, tensor);

    set_kind(ao, class);
    for (int i = 0; class.len > 0 && i < MOST_LEVELS; i++) {
        if (!read_level(ao, values, tensor, class, i > 0))
            return false;
        m->found->wrapped = build_tensor_at(m->build, node);
        node = m->build->model->parent[node];
        tensor = tensor_at(m->build, node);
        class = class_of(m->build, tensor);
    }
    return class.len == 0 && m->found->wrapped != NO_OBJECT;
}

/* ---- shapes ---- */

/* Blocks of whole rows, or of a part of them; a scale for each. */
static bool blocks_fit(struct quant_weight *weight, const struct ao_weight *ao,
                       const int64_t *shape, int rank)
{
    bool whole = true; /* all dimensions so far */

    if (rank < 2 || ao->n_blocks != rank)
        return false;
    for (int i = 0; i < rank; i++)
        if (ao->blocks[i] < 1 || shape[i] % ao->blocks[i] != 0)
            return false;
    weight->rows = weight->block_rows = 1;
    for (int i = rank - 2; i >= 0; i--) {
        if (!whole && ao->blocks[i] != 1)
            return false;
        whole &= ao->blocks[i] == shape[i];
        weight->rows *= (uint64_t)shape[i];
        weight->block_rows *= (uint64_t)ao->blocks[i];
    }
    weight->columns = (uint64_t)shape[rank - 1];
    weight->block_columns = (uint64_t)ao->blocks[rank - 1];
    weight->scale_rows = weight->rows / weight->block_rows;
    weight->scale_columns = weight->columns / weight->block_columns;
    return true;
}

/* Does it have one element for each scale, in the same order? */
static bool beside_scales(const struct quant_weight *weight, const struct ao_weight *ao,
                          const struct model *model, const struct tensor *tensor,
                          const int64_t *shape)
{
    if (!tensor || tensor->numel != weight->scale_rows * weight->scale_columns)
        return false;
    if (tensor->rank < 2)
        return weight->scale_columns == 1 || weight->scale_rows == 1;
    for (int i = 0; i < tensor->rank; i++)
        if (tensor->rank != ao->n_blocks ||
            tensor_shape(model, tensor)[i] != shape[i] / ao->blocks[i])
            return false;
    return true;
}

/* Codes of a byte with scales, and perhaps zero points. */
static bool bytes_fit(const struct quant_matching *m, const struct ao_weight *ao,
                      const struct tensor *codes, const struct tensor *scales,
                      const struct tensor *zeros)
{
    const struct model *model = m->build->model;
    const int64_t *shape = tensor_shape(model, codes);
    struct quant_weight *weight = &m->found->weight;

    if (dtype_info(codes->dtype)->bytes != 1 || codes->dtype == DTYPE_BOOL ||
        !blocks_fit(weight, ao, shape, codes->rank) ||
        !beside_scales(weight, ao, model, scales, shape) ||
        (zeros && !beside_scales(weight, ao, model, zeros, shape)))
        return false;
    weight->bits = 8;
    weight->order = QUANT_BYTES;
    weight->meaning = QUANT_FLOAT;
    weight->zero_order = QUANT_BYTES;
    return true;
}

/* Codes of 4 bits [out, in / 2]; scales and zero points [in / group, out]. */
static bool int4_fits(const struct quant_matching *m, const struct ao_weight *ao,
                      const struct tensor *codes, const struct tensor *scales,
                      const struct tensor *zeros)
{
    const struct model *model = m->build->model;
    const int64_t *size = tensor_shape(model, codes);
    struct quant_weight *weight = &m->found->weight;
    int64_t shape[2];

    if (codes->rank != 2 || scales->rank != 2 || !zeros || zeros->rank != 2 ||
        (codes->dtype != DTYPE_INT8 && codes->dtype != DTYPE_UINT8))
        return false;
    shape[0] = size[0];
    shape[1] = size[1] * 2;
    if (!blocks_fit(weight, ao, shape, 2) || weight->block_rows != 1)
        return false;
    for (int i = 0; i < 2; i++) {
        const struct tensor *tensor = i == 0 ? scales : zeros;

        if ((uint64_t)tensor_shape(model, tensor)[0] != weight->scale_columns ||
            (uint64_t)tensor_shape(model, tensor)[1] != weight->scale_rows)
            return false;
    }
    weight->codes.dtype = DTYPE_INT4;
    weight->bits = 4;
    weight->word_columns = (uint64_t)size[1];
    weight->order = QUANT_LOW_FIRST;
    weight->meaning = QUANT_FLOAT;
    weight->scales_down = weight->zero_added = true;
    return true;
}

/* A tensor whose elements in their order are cut into blocks with a scale each: state of
 * an optimizer, with a table of what the codes stand for, or a weight of int8. */
static bool flat_fits(const struct quant_matching *m, const struct tensor *codes,
                      const struct tensor *scales)
{
    const struct tensor *tensor = tensor_at(m->build, m->module->node);
    struct quant_weight *weight = &m->found->weight;
    bool mapped = quant_has(m, QUANT_AO_MAP);

    weight->bits = 8;
    weight->order = QUANT_BYTES;
    weight->meaning = mapped ? QUANT_MAPPED : QUANT_FLOAT;
    if (mapped) {
        if (!quant_tensor(m->build, m->module, QUANT_AO_MAP, &weight->map) ||
            codes->dtype != DTYPE_UINT8 || weight->map.dtype != DTYPE_FLOAT32)
            return false;
        weight->bits = weight->map.n == 16 ? 4 : 8;
        weight->order = weight->bits == 4 ? QUANT_HIGH_FIRST : QUANT_BYTES;
    }
    if ((mapped && weight->map.n != 1u << weight->bits) ||
        (!mapped && codes->dtype != DTYPE_INT8 &&
         codes->dtype != DTYPE_FLOAT8_E4M3FN) ||
        tensor->numel > 2 * codes->numel ||
        codes->numel * 8 != tensor->numel * weight->bits ||
        tensor->numel % scales->numel != 0)
        return false;
    weight->rows = weight->block_rows = weight->scale_rows = 1;
    weight->columns = tensor->numel;
    weight->scale_columns = scales->numel;
    weight->block_columns = tensor->numel / scales->numel;
    return true;
}

/* A new tensor has the shape of its codes; an old one must have it. An MXTensor has the
 * strides of its codes, which may be packed. */
static bool shape_fits(const struct quant_matching *m, enum quant_part part, int kind)
{
    const struct model *model = m->build->model;
    const struct tensor *tensor;
    struct quant_found *found = m->found;

    if (kind != AO_FLAT && !quant_shape_of(m, part))
        return false;
    if (found->wrapped == NO_OBJECT)
        return true;
    tensor = &model->tensors[found->wrapped];
    if (kind == AO_FLAT && tensor->rank <= QUANT_RANK) {
        found->rank = tensor->rank;
        memcpy(found->shape, tensor_shape(model, tensor),
               tensor->rank * sizeof *found->shape);
    }
    return tensor->rank == found->rank &&
           (kind == AO_MX || tensor_contiguous(model, tensor)) && tensor->offset == 0 &&
           memcmp(tensor_shape(model, tensor), found->shape,
                  (size_t)found->rank * sizeof *found->shape) == 0;
}

/* Do the parts fit what is said of them? */
static bool parts_fit(const struct quant_matching *m, const struct ao_weight *ao,
                      const struct tensor *codes, const struct tensor *scales,
                      const struct tensor *zeros)
{
    switch (ao->kind) {
    case AO_BYTES:
        return bytes_fit(m, ao, codes, scales, zeros);
    case AO_INT4:
        return int4_fits(m, ao, codes, scales, zeros);
    case AO_MX:
        return !zeros && quant_mx_fits(m, &ao->mx, codes, scales,
                                       m->found->wrapped == NO_OBJECT
                                           ? QUANT_AO_TENSOR_SCALE
                                           : QUANT_AO_INNER_TENSOR_SCALE);
    case AO_FLAT:
        return !zeros && m->found->wrapped != NO_OBJECT && flat_fits(m, codes, scales);
    default:
        return false;
    }
}

static enum quant_part data_part(const struct quant_matching *m)
{
    static const uint8_t all[] = {QUANT_AO_INNER_DATA, QUANT_AO_INT_DATA,
                                  QUANT_AO_FLOAT8_DATA, QUANT_CODES};

    for (size_t i = 0; i < COUNT_OF(all); i++)
        if (quant_has(m, all[i]))
            return all[i];
    return QUANT_AO_DATA;
}

bool quant_match_torchao(const struct quant_matching *m)
{
    enum quant_part part = data_part(m);
    bool inner = part != QUANT_AO_DATA;
    enum quant_part zero_part = inner ? QUANT_AO_INNER_ZERO_POINT : QUANT_AO_ZERO_POINT;
    struct quant_weight *weight = &m->found->weight;
    struct ao_weight ao = {0};
    const struct tensor *codes =
        quant_tensor(m->build, m->module, part, &weight->codes);
    const struct tensor *scales =
        quant_tensor(m->build, m->module, inner ? QUANT_AO_INNER_SCALE : QUANT_AO_SCALE,
                     &weight->scales);
    const struct tensor *zeros =
        quant_tensor(m->build, m->module, zero_part, &weight->zeros);

    if (!codes || !scales || !quant_is_scale(scales->dtype) ||
        (quant_has(m, zero_part) && !zeros) ||
        !(inner ? read_wrapped(m, &ao) : read_metadata(m, &ao)) ||
        !parts_fit(m, &ao, codes, scales, zeros) || !shape_fits(m, part, (int)ao.kind))
        return false;
    m->found->packing = ao.packing;
    m->found->codes = part;
    if (ao.bits)
        m->found->bits = ao.bits;
    if (weight->block_rows == 1 && weight->scale_columns > 1)
        m->found->group = weight->block_columns;
    return true;
}
