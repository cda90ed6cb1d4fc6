#include "base/base.h"
#include "base/json_doc.h"
#include "read/quant/quant_in.h"

#define MOST_STATE (16 * KIB)
#define MAP        256 /* entries of a table for codes of a byte */

/* weight int8 [out, in] with SCB [out]: q * SCB / 127. */
bool quant_match_int8(const struct quant_matching *m)
{
    struct build *build = m->build;
    struct quant_found *found = m->found;
    struct quant_weight *weight = &found->weight;
    const struct tensor *codes =
        quant_tensor(build, m->module, QUANT_WEIGHT, &weight->codes);
    const int64_t *shape;

    if (!codes || codes->rank != 2 || codes->dtype != DTYPE_INT8 ||
        !quant_tensor(build, m->module, QUANT_SCB, &weight->scales) ||
        weight->scales.dtype != DTYPE_FLOAT32)
        return false;
    shape = tensor_shape(build->model, codes);
    if (weight->scales.n != (uint64_t)shape[0])
        return false;
    weight->rows = weight->scale_rows = (uint64_t)shape[0];
    weight->columns = weight->block_columns = (uint64_t)shape[1];
    weight->block_rows = weight->scale_columns = 1;
    weight->bits = 8;
    weight->order = QUANT_BYTES;
    weight->meaning = QUANT_FLOAT;
    weight->factor = 7.874015718698502e-3F; /* 1 / 127, as bitsandbytes has it */
    found->packing = "bitsandbytes int8";
    found->rank = 2;
    found->shape[0] = shape[0];
    found->shape[1] = shape[1];
    found->codes = QUANT_WEIGHT;
    return true;
}

/* ---- four bits ---- */

/* {"quant_type": "nf4", "blocksize": 64, "shape": [64, 32], "nested_blocksize": 256,
 *  "nested_offset": 0.1} */
static bool read_state(struct build *build, const struct quant_module *module,
                       struct json_doc *tree, struct arena *arena)
{
    struct quant_run run;
    char *text;

    if (!quant_tensor(build, module, QUANT_STATE, &run) || run.dtype != DTYPE_UINT8 ||
        run.n > MOST_STATE)
        return false;
    text = arena_array(arena, (size_t)run.n, 1);
    return text &&
           source_bytes(build->model->source, run.storage, run.at, text, (size_t)run.n,
                        NULL) == 0 &&
           json_doc_read(tree, str_span(text, (size_t)run.n), "quant_state", arena,
                         NULL) == 0;
}

static bool set_shape(struct quant_found *found, const struct json_doc *tree,
                      uint64_t *ret_numel)
{
    uint32_t list = json_doc_get(tree, JSON_DOC_ROOT, "shape");
    uint64_t numel = 1;

    for (uint32_t i = json_doc_first(tree, list); i; i = json_doc_next(tree, i)) {
        int64_t *size = &found->shape[found->rank];

        if (found->rank++ == QUANT_RANK - 1 || !json_doc_int(tree, i, size) ||
            *size < 1 || __builtin_mul_overflow(numel, (uint64_t)*size, &numel) ||
            numel > INT64_MAX / 8)
            return false;
    }
    *ret_numel = numel;
    return found->rank > 0;
}

/* The scales themselves are codes, with a scale for each block and one offset. */
static bool match_nested(struct build *build, const struct quant_module *module,
                         struct quant_weight *weight, const struct json_doc *tree)
{
    int64_t block;
    double offset;

    if (!quant_tensor(build, module, QUANT_NESTED_ABSMAX, &weight->nested_scales) ||
        !quant_tensor(build, module, QUANT_NESTED_MAP, &weight->nested_map) ||
        weight->nested_scales.dtype != DTYPE_FLOAT32 ||
        weight->nested_map.dtype != DTYPE_FLOAT32 || weight->nested_map.n != MAP ||
        weight->scales.dtype != DTYPE_UINT8 ||
        !json_doc_int(tree, json_doc_get(tree, JSON_DOC_ROOT, "nested_blocksize"),
                      &block) ||
        !json_doc_real(tree, json_doc_get(tree, JSON_DOC_ROOT, "nested_offset"),
                       &offset) ||
        block < 1 || block > INT32_MAX ||
        (weight->scales.n + (uint64_t)block - 1) / (uint64_t)block !=
            weight->nested_scales.n)
        return false;
    weight->nested_block = (uint32_t)block;
    weight->nested_offset = (float)offset;
    return true;
}

static bool match_state(struct build *build, const struct quant_module *module,
                        struct quant_found *found, const struct json_doc *tree)
{
    struct quant_weight *weight = &found->weight;
    struct str type =
        json_doc_text(tree, json_doc_get(tree, JSON_DOC_ROOT, "quant_type"));
    uint64_t numel;
    int64_t block;

    if (!set_shape(found, tree, &numel) || (numel + 1) / 2 != weight->codes.n ||
        !json_doc_int(tree, json_doc_get(tree, JSON_DOC_ROOT, "blocksize"), &block) ||
        block < 1 || block > INT32_MAX ||
        (numel + (uint64_t)block - 1) / (uint64_t)block != weight->scales.n)
        return false;
    weight->rows = weight->block_rows = weight->scale_rows = 1;
    weight->columns = numel;
    weight->block_columns = found->group = (uint64_t)block;
    weight->scale_columns = weight->scales.n;
    weight->bits = 4;
    weight->order = QUANT_HIGH_FIRST;
    weight->meaning = QUANT_MAPPED;
    found->packing = str_is(type, "nf4") ? "bitsandbytes nf4" : "bitsandbytes fp4";
    found->codes = QUANT_WEIGHT;
    if (!str_is(type, "nf4") && !str_is(type, "fp4"))
        return false;
    if (module->parts[QUANT_NESTED_ABSMAX] != NO_PLACE)
        return match_nested(build, module, weight, tree);
    return weight->scales.dtype == DTYPE_FLOAT32;
}

bool quant_match_4bit(const struct quant_matching *m)
{
    struct build *build = m->build;
    const struct quant_module *module = m->module;
    struct quant_weight *weight = &m->found->weight;
    struct json_doc tree = {0};
    struct arena arena;
    bool fits;

    if (!quant_tensor(build, module, QUANT_WEIGHT, &weight->codes) ||
        !quant_tensor(build, module, QUANT_ABSMAX, &weight->scales) ||
        !quant_tensor(build, module, QUANT_MAP, &weight->map) ||
        weight->map.dtype != DTYPE_FLOAT32 || weight->map.n != 16)
        return false;
    /* The bytes may be declared as another type, which sharding needs. */
    weight->codes.n *= dtype_info(weight->codes.dtype)->bytes;
    arena_init(&arena, MIB);
    fits = read_state(build, module, &tree, &arena) &&
           match_state(build, module, m->found, &tree);
    arena_release(&arena);
    return fits;
}
