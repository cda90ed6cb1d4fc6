#include "base/base.h"
#include "base/map.h"
#include "read/quant/quant_in.h"

/* By part: its last name and those above it, up to the module. A key shows that a module
 * may have packed weights. */
static const struct {
    const char *name, *above, *higher;
    bool key;
} parts[QUANT_PARTS] = {
    [QUANT_QWEIGHT] = {"qweight", NULL, NULL, true},
    [QUANT_QZEROS] = {"qzeros", NULL, NULL, false},
    [QUANT_SCALES] = {"scales", NULL, NULL, false},
    [QUANT_G_IDX] = {"g_idx", NULL, NULL, false},
    [QUANT_WEIGHT] = {"weight", NULL, NULL, false},
    [QUANT_SCB] = {"SCB", NULL, NULL, true},
    [QUANT_ABSMAX] = {"absmax", "weight", NULL, true},
    [QUANT_MAP] = {"quant_map", "weight", NULL, false},
    [QUANT_NESTED_ABSMAX] = {"nested_absmax", "weight", NULL, false},
    [QUANT_NESTED_MAP] = {"nested_quant_map", "weight", NULL, false},
    [QUANT_STATE] = {"bitsandbytes__", "quant_state", "weight", false},
    [QUANT_WEIGHT_PACKED] = {"weight_packed", NULL, NULL, true},
    [QUANT_WEIGHT_SCALE] = {"weight_scale", NULL, NULL, true},
    [QUANT_WEIGHT_SCALE_INV] = {"weight_scale_inv", NULL, NULL, true},
    [QUANT_WEIGHT_ZERO_POINT] = {"weight_zero_point", NULL, NULL, false},
    [QUANT_WEIGHT_SHAPE] = {"weight_shape", NULL, NULL, false},
    [QUANT_WEIGHT_G_IDX] = {"weight_g_idx", NULL, NULL, false},
};

struct quant_finder {
    struct build *build;
    struct map by_node; /* index in `modules` */
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

/* Which part of which module is this tensor? */
static enum quant_part part_of(const struct build *build, uint32_t node,
                               uint32_t *ret_module)
{
    struct str name = model_string(build->model, build->model->name[node]);

    for (int i = 0; i < QUANT_PARTS; i++) {
        uint32_t up = build->model->parent[node];
        bool same = i == QUANT_STATE ? str_starts(name, str_of(parts[i].name))
                                     : str_is(name, parts[i].name);

        if (!same || !step_up(build, &up, parts[i].above) ||
            !step_up(build, &up, parts[i].higher) || up == NO_PLACE)
            continue;
        *ret_module = up;
        return (enum quant_part)i;
    }
    return QUANT_NO_PART;
}

static int add_module(struct quant_finder *f, uint32_t node)
{
    uint32_t index;

    if (map_find(&f->by_node, node, &index))
        return 0;
    if (arena_room(&f->build->scratch, &f->modules, f->n, &f->room,
                   sizeof *f->modules) < 0 ||
        map_put(&f->by_node, node, f->n) < 0)
        return -1;
    f->modules[f->n].node = node;
    for (int i = 0; i < QUANT_PARTS; i++)
        f->modules[f->n].parts[i] = NO_PLACE;
    f->n++;
    return 0;
}

/* With `keys`, only modules are noted; else the parts of those. */
static int look_at_all(struct quant_finder *f, bool keys)
{
    uint32_t module, index;

    for (uint32_t node = 1; node < f->build->n_nodes; node++) {
        enum quant_part part;

        if (build_tensor_at(f->build, node) == NO_OBJECT)
            continue;
        part = part_of(f->build, node, &module);
        if (part == QUANT_NO_PART)
            continue;
        if (keys) {
            if (parts[part].key && add_module(f, module) < 0)
                return -1;
        } else if (map_find(&f->by_node, module, &index) &&
                   f->modules[index].parts[part] == NO_PLACE) {
            f->modules[index].parts[part] = node;
        }
    }
    return 0;
}

/* ---- adding ---- */

/* {"packing": "GPTQ", "bits": 4, "group_size": 128} */
static uint32_t describe(struct build *build, const struct quant_found *found)
{
    struct values *values = build_values(build);
    uint32_t items[8], n = 0;

    items[n++] = value_str(values, STR("packing"));
    items[n++] = value_str(values, str_of(found->packing));
    items[n++] = value_str(values, STR("bits"));
    items[n++] = value_int(values, found->weight.bits);
    if (found->group > 0) {
        items[n++] = value_str(values, STR("group_size"));
        items[n++] = value_int(values, (int64_t)found->group);
    }
    if (found->note) {
        items[n++] = value_str(values, STR("zero_points"));
        items[n++] = value_str(values, str_of(found->note));
    }
    for (uint32_t i = 0; i < n; i++)
        if (items[i] == VALUE_ID_FAILED)
            return VALUE_ID_NONE;
    return value_make(values, VALUE_DICT, STR(""), items, n);
}

/* The parts are not parameters: the real weight is. */
static void make_buffers(struct build *build, const struct quant_module *module)
{
    for (int i = 0; i < QUANT_PARTS; i++)
        if (module->parts[i] != NO_PLACE)
            build->model->tensors[build_tensor_at(build, module->parts[i])].role =
                ROLE_BUFFER;
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

static int add_weight(struct build *build, const struct quant_module *module,
                      const struct quant_found *found)
{
    bool taken = module->parts[QUANT_WEIGHT] != NO_PLACE;
    const int64_t strides[2] = {1, found->shape[0]};
    struct tensor tensor = {.dtype = DTYPE_FLOAT32,
                            .role = ROLE_PARAMETER,
                            .flags = TENSOR_DERIVED,
                            .class_id = NO_CLASS};
    uint32_t node;

    tensor.device =
        build->model->tensors[build_tensor_at(build, module->parts[found->codes])]
            .device;
    tensor.extra = describe(build, found);
    tensor.storage = add_storage(build, found);
    node = tensor.storage == NO_STORAGE
               ? NO_PLACE
               : build_node(build, module->node, PLACE_TENSOR,
                            taken ? STR("weight (real values)") : STR("weight"));
    if (node == NO_PLACE ||
        build_tensor(build, node, &tensor, found->shape,
                     found->transposed ? strides : NULL, found->rank) == NO_OBJECT)
        return -1;
    make_buffers(build, module);
    return 0;
}

void quant_weights(struct build *build)
{
    struct quant_finder f = {.build = build};
    struct quant_found found;

    map_init(&f.by_node, &build->scratch);
    if (build_spent(build) || look_at_all(&f, true) < 0 || f.n == 0 ||
        look_at_all(&f, false) < 0)
        return;
    for (uint32_t i = 0; i < f.n; i++)
        if (quant_match(build, &f.modules[i], &found) &&
            add_weight(build, &f.modules[i], &found) < 0)
            return;
}
