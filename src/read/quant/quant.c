#include <inttypes.h>

#include "base/base.h"
#include "base/map.h"
#include "read/quant/quant_in.h"

#define MOST_EXTRA 32 /* items of a tensor's own description that are kept */

/* The names of each part: its own and those of the nodes above it, up to the module. A *
 * is the name of the weight. A key is a part to look for; codes are the packed values. */
static const struct {
    const char *name, *above, *higher;
    bool key, codes;
} parts[QUANT_PARTS] = {
    [QUANT_QWEIGHT] = {.name = "qweight", .key = true, .codes = true},
    [QUANT_QZEROS] = {.name = "qzeros"},
    [QUANT_SCALES] = {.name = "scales", .key = true},
    [QUANT_G_IDX] = {.name = "g_idx"},
    [QUANT_BIASES] = {.name = "biases"},
    [QUANT_W_Q] = {.name = "W_q", .key = true, .codes = true},
    [QUANT_ZERO] = {.name = "zero"},
    [QUANT_SHAPE] = {.name = "shape"},
    [QUANT_NBITS] = {.name = "nbits"},
    [QUANT_AXIS] = {.name = "axis"},
    [QUANT_WEIGHT] = {.name = "weight", .codes = true},
    [QUANT_SCB] = {.name = "SCB", .key = true},
    [QUANT_WEIGHT_FORMAT] = {.name = "weight_format"},
    [QUANT_ABSMAX] = {.name = "absmax", .above = "weight", .key = true},
    [QUANT_MAP] = {.name = "quant_map", .above = "weight"},
    [QUANT_NESTED_ABSMAX] = {.name = "nested_absmax", .above = "weight"},
    [QUANT_NESTED_MAP] = {.name = "nested_quant_map", .above = "weight"},
    [QUANT_STATE] = {.name = "bitsandbytes__*",
                     .above = "quant_state",
                     .higher = "weight"},
    [QUANT_WEIGHT_PACKED] = {.name = "weight_packed", .key = true, .codes = true},
    [QUANT_WEIGHT_SCALE] = {.name = "weight_scale", .key = true},
    [QUANT_WEIGHT_SCALE_INV] = {.name = "weight_scale_inv", .key = true},
    [QUANT_WEIGHT_ZERO_POINT] = {.name = "weight_zero_point"},
    [QUANT_WEIGHT_SHAPE] = {.name = "weight_shape"},
    [QUANT_WEIGHT_G_IDX] = {.name = "weight_g_idx"},
    [QUANT_WEIGHT_GLOBAL_SCALE] = {.name = "weight_global_scale"},
    [QUANT_WEIGHT_SCALE_2] = {.name = "weight_scale_2"},
    [QUANT_BLOCKS] = {.name = "*_blocks", .key = true, .codes = true},
    [QUANT_BLOCK_SCALES] = {.name = "*_scales"},
    [QUANT_AO_DATA] = {.name = "_*_qdata", .key = true, .codes = true},
    [QUANT_AO_SCALE] = {.name = "_*_scale"},
    [QUANT_AO_ZERO_POINT] = {.name = "_*_zero_point"},
    [QUANT_AO_TENSOR_SCALE] = {.name = "_*_per_tensor_scale"},
    [QUANT_AO_INNER_DATA] = {.name = "qdata", .key = true},
    [QUANT_AO_INT_DATA] = {.name = "int_data", .key = true},
    [QUANT_AO_FLOAT8_DATA] = {.name = "float8_data", .key = true},
    [QUANT_AO_INNER_SCALE] = {.name = "scale"},
    [QUANT_AO_INNER_ZERO_POINT] = {.name = "zero_point"},
    [QUANT_AO_INNER_TENSOR_SCALE] = {.name = "per_tensor_scale"},
    [QUANT_AO_MAP] = {.name = "qmap"},
    [QUANT_QUANTO_DATA] = {.name = "_data",
                           .above = "weight",
                           .key = true,
                           .codes = true},
    [QUANT_QUANTO_PACKED] = {.name = "_data",
                             .above = "_data",
                             .higher = "weight",
                             .key = true,
                             .codes = true},
    [QUANT_QUANTO_SCALE] = {.name = "_scale", .above = "weight"},
    [QUANT_QUANTO_SHIFT] = {.name = "_shift", .above = "weight"},
    [QUANT_INPUT_SCALE] = {.name = "input_scale"},
    [QUANT_INPUT_ZERO_POINT] = {.name = "input_zero_point"},
    [QUANT_INPUT_GLOBAL_SCALE] = {.name = "input_global_scale"},
    [QUANT_OUTPUT_SCALE] = {.name = "output_scale"},
    [QUANT_OUTPUT_ZERO_POINT] = {.name = "output_zero_point"},
    [QUANT_AO_SCALE_AND_ZERO] = {.name = "_*_scale_and_zero"},
    [QUANT_CODES] = {.name = "codes", .key = true, .codes = true},
    [QUANT_CODEBOOKS] = {.name = "codebooks", .key = true},
    [QUANT_INDICES] = {.name = "indices", .codes = true},
    [QUANT_CENTROIDS] = {.name = "weight", .above = "centroids", .key = true},
    [QUANT_WEIGHT_SCALES] = {.name = "weight_scales", .key = true},
    [QUANT_WSCALES] = {.name = "wscales", .key = true},
    [QUANT_BITMASK] = {.name = "bitmask",
                       .above = "weight",
                       .key = true,
                       .codes = true},
    [QUANT_COMPRESSED] = {.name = "compressed", .above = "weight"},
    [QUANT_SCALE_PACKED] = {.name = "scale_packed"},
};

struct quant_finder {
    struct build *build;
    struct map by_weight; /* by node and stem: index in `modules` */
    struct map metadata;  /* by key, a string id */
    struct map by_config; /* by name of a module, a string id */
    uint32_t config;      /* what config.json says of all: a dict; or None */
    struct quant_module *modules;
    uint32_t n, room;
};

/* ---- finding ---- */

/* Is the node called `name`? Goes up to its parent. */
static bool step_up(const struct build *build, uint32_t *node, const char *name)
{
    struct str own;

    if (!name)
        return true;
    if (*node == NO_PLACE)
        return false;
    own = model_string(build->model, build->model->name[*node]);
    *node = build->model->parent[*node];
    return str_is(own, name);
}

/* Does the name fit the pattern, in which a * stands for any text, *ret_stem? */
static bool fits(struct str name, const char *pattern, struct str *ret_stem)
{
    struct str all = str_of(pattern), head, tail;
    size_t star = 0;

    while (star < all.len && all.at[star] != '*')
        star++;
    if (star == all.len)
        return str_is(name, pattern);
    head = str_span(all.at, star);
    tail = str_span(all.at + star + 1, all.len - star - 1);
    if (name.len <= head.len + tail.len || !str_starts(name, head) ||
        !str_ends(name, tail))
        return false;
    *ret_stem = str_span(name.at + head.len, name.len - head.len - tail.len);
    return true;
}

/* A weight of a module, as a key: its name and its node. */
static uint64_t weight_key(uint32_t node, uint32_t stem)
{
    return (uint64_t)stem << 32 | node;
}

/* Is this tensor part `i` of a weight? Finds the module and the name of the weight. */
static bool is_part(const struct build *build, uint32_t node, int i,
                    uint32_t *ret_module, struct str *ret_stem)
{
    struct str name = model_string(build->model, build->model->name[node]);
    uint32_t up = build->model->parent[node];

    *ret_stem = STR("weight");
    if (!fits(name, parts[i].name, ret_stem) || !step_up(build, &up, parts[i].above) ||
        !step_up(build, &up, parts[i].higher) || up == NO_PLACE)
        return false;
    if (i == QUANT_STATE)
        *ret_stem = STR("weight");
    *ret_module = up;
    return true;
}

/* The full name of a weight of the node, or of the node itself; its string id. */
static uint32_t full_name(struct quant_finder *f, uint32_t node, struct str stem)
{
    struct buf path = BUF_INIT;
    uint32_t id;

    build_path(f->build, node, &path);
    if (path.len > 0 && stem.len > 0)
        buf_char(&path, '.');
    buf_str(&path, stem);
    id = build_string(f->build, path.bad ? STR("") : buf_span(&path));
    buf_release(&path);
    return id;
}

/* Maps what the metadata of the file and config.json say, by name. */
static int map_names(struct quant_finder *f)
{
    const struct model *model = f->build->model;
    const struct values *values = build_values(f->build);
    uint32_t modules;

    for (uint32_t i = 0; i < model->n_metadata; i++)
        if (map_put(&f->metadata, model->metadata[i].key, model->metadata[i].value) < 0)
            return -1;
    for (uint32_t i = 0; i < model->n_facts; i++)
        if (str_is(model_string(model, model->facts[i].key), "model"))
            f->config = model->facts[i].value;
    if (!value_get(values, f->config, "modules", &modules))
        return 0;
    for (uint32_t i = 0; i + 1 < value_at(values, modules)->n; i += 2) {
        const uint32_t *items = value_items(values, modules) + i;

        if (map_put(&f->by_config, value_at(values, items[0])->text, items[1]) < 0)
            return -1;
    }
    return 0;
}

static int add_module(struct quant_finder *f, uint32_t node, struct str name)
{
    uint32_t index, stem = build_string(f->build, name);
    struct quant_module *module;

    if (map_find(&f->by_weight, weight_key(node, stem), &index))
        return 0;
    if (arena_room(&f->build->scratch, &f->modules, f->n, &f->room,
                   sizeof *f->modules) < 0 ||
        map_put(&f->by_weight, weight_key(node, stem), f->n) < 0)
        return -1;
    module = &f->modules[f->n++];
    *module = (struct quant_module){.node = node, .stem = stem};
    module->config = f->config;
    if (f->metadata.n > 0)
        map_find(&f->metadata, full_name(f, node, name), &module->metadata);
    if (f->by_config.n > 0)
        map_find(&f->by_config, full_name(f, node, STR("")), &module->config);
    for (int i = 0; i < QUANT_PARTS; i++)
        module->parts[i] = NO_PLACE;
    return 0;
}

/* Records the tensor as a part of a weight, or as one that has the weight's name. */
static void note_part(struct quant_finder *f, uint32_t node)
{
    const struct model *model = f->build->model;
    uint32_t up, index;
    struct str stem;

    for (int i = 0; i < QUANT_PARTS; i++)
        if (is_part(f->build, node, i, &up, &stem) &&
            map_find(&f->by_weight, weight_key(up, build_string(f->build, stem)),
                     &index) &&
            f->modules[index].parts[i] == NO_PLACE)
            f->modules[index].parts[i] = node;
    up = model->parent[node];
    if (up != NO_PLACE &&
        map_find(&f->by_weight, weight_key(up, model->name[node]), &index))
        f->modules[index].taken = true;
}

/* Finds the modules by their keys, then their parts. */
static int look_at_all(struct quant_finder *f, bool keys)
{
    uint32_t module;
    struct str stem;

    for (uint32_t node = 1; node < f->build->n_nodes; node++) {
        if (build_tensor_at(f->build, node) == NO_OBJECT)
            continue;
        if (!keys)
            note_part(f, node);
        for (int i = 0; keys && i < QUANT_PARTS; i++)
            if (parts[i].key && is_part(f->build, node, i, &module, &stem) &&
                add_module(f, module, stem) < 0)
                return -1;
    }
    return 0;
}

/* ---- adding ---- */

/* {"packing": "GPTQ", "bits": 4, "group_size": 128}, followed by the attributes that a
 * tensor subclass already has. */
static uint32_t describe(struct build *build, const struct quant_found *found,
                         const struct tensor *wrapped)
{
    struct values *values = build_values(build);
    uint32_t items[8 + 2 + MOST_EXTRA], n = 0, n_extra = 0;

    items[n++] = value_str(values, STR("packing"));
    items[n++] = value_str(values, str_of(found->packing));
    items[n++] = value_str(values, STR("bits"));
    items[n++] = value_int(values, found->bits ? found->bits : found->weight.bits);
    if (found->group > 0) {
        items[n++] = value_str(values, STR("group_size"));
        items[n++] = value_int(values, (int64_t)found->group);
    }
    if (found->note) {
        items[n++] = value_str(values, STR("zero_points"));
        items[n++] = value_str(values, str_of(found->note));
    }
    if (wrapped) {
        items[n++] = value_str(values, STR("dtype"));
        items[n++] = value_str(values, str_of(dtype_name(wrapped->dtype)));
        if (value_at(values, wrapped->extra)->kind == VALUE_DICT)
            n_extra = value_at(values, wrapped->extra)->n;
    }
    for (uint32_t i = 0; i < n_extra && i < MOST_EXTRA; i++)
        items[n++] = value_items(values, wrapped->extra)[i];
    for (uint32_t i = 0; i < n; i++)
        if (items[i] == VALUE_ID_FAILED)
            return VALUE_ID_NONE;
    return value_make(values, VALUE_DICT, STR(""), items, n);
}

/* The real weight is the parameter; its parts become buffers. */
static void make_buffers(struct build *build, const struct quant_module *module)
{
    for (int i = 0; i < QUANT_PARTS; i++) {
        struct tensor *tensor;

        if (module->parts[i] == NO_PLACE)
            continue;
        tensor = &build->model->tensors[build_tensor_at(build, module->parts[i])];
        tensor->role = ROLE_BUFFER;
        tensor->flags &= (uint16_t)~TENSOR_ROLE_GUESSED;
    }
}

static uint32_t add_storage(struct build *build, const struct quant_found *found)
{
    const struct storage *codes = &build->model->storages[found->weight.codes.storage];
    struct storage storage = {
        .file = codes->file, .at = codes->at, .dtype = DTYPE_FLOAT32};
    struct quant_weight *weight;

    if (!dtype_size(DTYPE_FLOAT32, found->weight.rows * found->weight.columns,
                    &storage.bytes))
        return NO_STORAGE;
    weight = arena_alloc(&build->model->arena, sizeof *weight);
    if (!weight)
        return NO_STORAGE;
    *weight = found->weight;
    return file_source_computed(build, &weight->computed, UINT64_MAX, &storage);
}

/* The strides of a tensor whose last two dimensions are stored transposed. */
static void swapped_strides(const struct quant_found *found, int64_t *strides)
{
    int64_t step = found->shape[found->rank - 2] * found->shape[found->rank - 1];

    strides[found->rank - 2] = 1;
    strides[found->rank - 1] = found->shape[found->rank - 2];
    for (int i = found->rank - 3; i >= 0; i--) {
        strides[i] = step;
        step *= found->shape[i];
    }
}

static int add_weight(struct build *build, const struct quant_module *module,
                      const struct quant_found *found)
{
    struct tensor tensor = {.dtype = DTYPE_FLOAT32,
                            .role = ROLE_PARAMETER,
                            .flags = TENSOR_DERIVED,
                            .class_id = NO_CLASS};
    int64_t strides[QUANT_RANK];
    struct buf name = BUF_INIT;
    uint32_t node;

    if (found->transposed)
        swapped_strides(found, strides);
    tensor.device =
        build->model->tensors[build_tensor_at(build, module->parts[found->codes])]
            .device;
    tensor.extra = describe(build, found, NULL);
    tensor.storage = add_storage(build, found);
    buf_str(&name, model_string(build->model, module->stem));
    buf_text(&name, module->taken || found->beside ? " (real values)" : "");
    node = tensor.storage == NO_STORAGE || name.bad
               ? NO_PLACE
               : build_node(build, module->node, PLACE_TENSOR, buf_span(&name));
    buf_release(&name);
    if (node == NO_PLACE ||
        build_tensor(build, node, &tensor, found->shape,
                     found->transposed ? strides : NULL, found->rank) == NO_OBJECT)
        return -1;
    make_buffers(build, module);
    return 0;
}

/* The index in model->dims of a shape and its strides in C order. */
static uint32_t dense_dims(struct build *build, const struct quant_found *found)
{
    int64_t dims[2 * QUANT_RANK], step = 1;

    for (int i = found->rank - 1; i >= 0; i--) {
        dims[i] = found->shape[i];
        dims[found->rank + i] = step;
        step *= found->shape[i];
    }
    return build_dims(build, dims, 2 * found->rank);
}

/* Gives a tensor subclass the values that its parts stand for. */
static int fill_wrapped(struct build *build, const struct quant_found *found)
{
    struct tensor *tensor = &build->model->tensors[found->wrapped];
    uint32_t extra = describe(build, found, tensor);
    uint32_t storage = add_storage(build, found);
    uint32_t dims = dense_dims(build, found);

    if (storage == NO_STORAGE || dims == UINT32_MAX)
        return -1;
    tensor->shape = dims;
    tensor->extra = extra == VALUE_ID_FAILED ? VALUE_ID_NONE : extra;
    tensor->storage = storage;
    tensor->dtype = DTYPE_FLOAT32;
    tensor->flags = (uint16_t)((tensor->flags & ~TENSOR_SHAPE_ONLY) | TENSOR_DERIVED);
    return 0;
}

/* Are there codes, and another part or a name that only packed weights have? */
static bool is_packed(const struct build *build, const struct quant_module *module)
{
    bool codes = false;
    int n = 0;

    for (int i = 0; i < QUANT_PARTS; i++) {
        const struct tensor *tensor;

        if (module->parts[i] == NO_PLACE)
            continue;
        tensor = &build->model->tensors[build_tensor_at(build, module->parts[i])];
        n++;
        codes |= parts[i].codes && dtype_info(tensor->dtype)->bytes <= 4 &&
                 !(tensor->dtype >= DTYPE_FLOAT64 && tensor->dtype <= DTYPE_BFLOAT16) &&
                 tensor_readable(build->model, tensor, NULL);
    }
    return codes && (n > 1 || module->parts[QUANT_QWEIGHT] != NO_PLACE ||
                     module->parts[QUANT_W_Q] != NO_PLACE ||
                     module->parts[QUANT_WEIGHT_PACKED] != NO_PLACE ||
                     module->parts[QUANT_AO_DATA] != NO_PLACE);
}

/* Adds a note: these weights are shown as stored, and so are their counts. */
static void note_unknown(struct build *build, const struct quant_module *module,
                         uint32_t n)
{
    struct buf path = BUF_INIT;

    build_path(build, module->node, &path);
    if (!path.bad)
        build_finding(build, FINDING_UNSUPPORTED, SEVERITY_NOTE, module->node,
                      "%" PRIu32 " packed weight%s in a layout that is not supported, "
                      "such as that of %.*s: shown and counted as stored",
                      n, n == 1 ? "" : "s", (int)path.len, path.at);
    buf_release(&path);
}

void quant_weights(struct build *build)
{
    struct quant_finder f = {.build = build};
    const struct quant_module *unknown = NULL;
    struct quant_found found;
    uint32_t n_unknown = 0;

    map_init(&f.by_weight, &build->scratch);
    map_init(&f.metadata, &build->scratch);
    map_init(&f.by_config, &build->scratch);
    if (build_spent(build) || map_names(&f) < 0 || look_at_all(&f, true) < 0 ||
        f.n == 0 || look_at_all(&f, false) < 0)
        return;
    for (uint32_t i = 0; i < f.n; i++) {
        if (quant_match(build, &f.modules[i], &found)) {
            if ((found.wrapped == NO_OBJECT ? add_weight(build, &f.modules[i], &found)
                                            : fill_wrapped(build, &found)) < 0)
                return;
        } else if (is_packed(build, &f.modules[i])) {
            unknown = unknown ? unknown : &f.modules[i];
            n_unknown++;
        }
    }
    if (unknown)
        note_unknown(build, unknown, n_unknown);
}
