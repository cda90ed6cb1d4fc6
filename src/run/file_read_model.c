/* Reads the model of a recording: from tables to a build, checking every number. */
#include <string.h>

#include "run/file_in.h"

#define PLAIN_DEPTH 64 /* of nested values; deeper ones are cut */

static const char *no_memory = "it needs more memory than the file's size allows";

static const char *take_string(struct scope_read *read, uint32_t i, void *row)
{
    const struct text_row *text = row;

    if (build_string(&read->build, text->text) != i)
        return "a duplicate text";
    return NULL;
}

/* ---- shapes ---- */

static const char *take_shape(struct scope_read *read, uint32_t i, void *row)
{
    struct str rest = ((const struct text_row *)row)->text, part;
    struct arena *arena = &read->build.scratch;
    uint8_t rank = 0;
    int64_t size;

    read->shape_at[i] = read->n_sizes;
    while (rest.len && str_split(&rest, ',', &part)) {
        if (rank == SCOPE_RANK || !str_to_i64(part, &size))
            return "sizes";
        if (arena_room(arena, &read->sizes, read->n_sizes, &read->sizes_room,
                       sizeof *read->sizes) < 0)
            return no_memory;
        read->sizes[read->n_sizes++] = size;
        rank++;
        if (!rest.at)
            break;
    }
    read->shape_rank[i] = rank;
    read->shape_dims[i] = RUN_NONE;
    return NULL;
}

static bool room_for_shapes(struct scope_read *read)
{
    struct arena *arena = &read->build.scratch;
    size_t n = (size_t)read->rows[TABLE_SHAPE] + 1;

    read->shape_at = arena_array(arena, n, sizeof *read->shape_at);
    read->shape_rank = arena_array(arena, n, sizeof *read->shape_rank);
    read->shape_dims = arena_array(arena, n, sizeof *read->shape_dims);
    /* A scalar needs a valid address too. */
    return read->shape_at && read->shape_rank && read->shape_dims &&
           arena_room(arena, &read->sizes, 0, &read->sizes_room, sizeof *read->sizes) ==
               0;
}

/* ---- plain values ---- */

static uint32_t item_at(struct str items, uint32_t k)
{
    const uint8_t *at = (const uint8_t *)items.at + (size_t)k * 4;

    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Reads the items of a value, which all have smaller ids, and computes its depth. */
static const char *take_items(struct scope_read *read, uint32_t i,
                              const struct plain_row *row)
{
    uint8_t depth = 0;

    if (row->items.len != (size_t)row->count * 4)
        return "items";
    if ((row->kind == VALUE_DICT || row->kind == VALUE_OBJECT) && row->count % 2)
        return "items";
    for (uint32_t k = 0; k < row->count; k++) {
        uint32_t item = item_at(row->items, k);

        if (item >= i)
            return "items";
        if (k >= read->items_room &&
            arena_room(&read->build.scratch, &read->items, k, &read->items_room,
                       sizeof *read->items) < 0)
            return no_memory;
        read->items[k] = item;
        if (read->depths[item] + 1 > depth)
            depth = (uint8_t)(read->depths[item] + 1);
    }
    if (depth > PLAIN_DEPTH)
        return "values inside values, too deep";
    read->depths[i] = depth;
    return NULL;
}

const char *scope_take_plain(struct scope_read *read, struct values *values, uint32_t i,
                             const struct plain_row *row)
{
    struct str text = intern_str(values->strings, row->text);
    uint32_t id = VALUE_ID_FAILED;
    const char *why = NULL;

    switch (row->kind) {
    case VALUE_NONE:
        id = VALUE_ID_NONE;
        break;
    case VALUE_BOOL:
        id = value_bool(values, row->integer != 0);
        break;
    case VALUE_INT:
        id = value_int(values, (int64_t)row->integer);
        break;
    case VALUE_TENSOR:
        if (row->integer >= read->rows[TABLE_MODEL_TENSOR])
            return "a missing tensor";
        id = value_tensor(values, (uint32_t)row->integer);
        break;
    case VALUE_REAL:
        id = value_real(values, row->real);
        break;
    case VALUE_BYTES:
        id = value_bytes(values, text, row->count);
        break;
    case VALUE_CUT:
        id = value_make(values, VALUE_CUT, text, NULL, row->count);
        break;
    default:
        if (row->kind > VALUE_CUT)
            return "kind";
        why = take_items(read, i, row);
        if (!why)
            id = value_make(values, row->kind, text, read->items, row->count);
    }
    if (!why && id != i)
        why = "a duplicate value";
    return why;
}

static const char *take_plain(struct scope_read *read, uint32_t i, void *row)
{
    return scope_take_plain(read, &read->build.model->values, i, row);
}

bool scope_room_for_plain(struct scope_read *read, enum scope_table table)
{
    read->depths = arena_array(&read->build.scratch, (size_t)read->rows[table] + 1, 1);
    return read->depths != NULL;
}

/* ---- classes, storages, tensors, objects ---- */

static const char *take_class(struct scope_read *read, uint32_t i, void *row)
{
    struct model *model = read->build.model;

    if (arena_room(&model->arena, &model->classes, i, &model->classes_room,
                   sizeof *model->classes) < 0)
        return no_memory;
    model->classes[model->n_classes++] = *(const struct class_info *)row;
    return NULL;
}

static const char *take_device(struct scope_read *read, uint32_t i, void *row)
{
    const struct name_row *device = row;

    if (build_device(&read->build, model_string(read->build.model, device->name)) != i)
        return "a duplicate device";
    return NULL;
}

static const char *take_storage(struct scope_read *read, uint32_t i, void *row)
{
    struct storage *storage = row;

    if (storage->number == UINT32_MAX)
        return "number";
    return build_storage(&read->build, storage) == i ? NULL : no_memory;
}

static const char *take_tensor(struct scope_read *read, uint32_t i, void *row)
{
    struct tensor_row *tensor = row;
    struct model *model = read->build.model;
    int rank;

    if (tensor->shape == UINT32_MAX || tensor->strides == UINT32_MAX)
        return "shape";
    rank = read->shape_rank[tensor->shape];
    if (read->shape_rank[tensor->strides] != rank)
        return "strides";
    if (tensor->tensor.role > ROLE_PLAIN || tensor->tensor.layout > LAYOUT_WRAPPED)
        return "role or layout";
    if (tensor->tensor.device >= model->n_devices)
        return "device";
    if (build_tensor(&read->build, NO_PLACE, &tensor->tensor,
                     read->sizes + read->shape_at[tensor->shape],
                     read->sizes + read->shape_at[tensor->strides], rank) != i)
        return "a duplicate tensor";
    return NULL;
}

static const char *take_object(struct scope_read *read, uint32_t i, void *row)
{
    struct model *model = read->build.model;
    struct object *object = row;

    if (arena_room(&model->arena, &model->objects, i, &model->objects_room,
                   sizeof *model->objects) < 0)
        return no_memory;
    object->place = NO_PLACE;
    model->objects[model->n_objects++] = *object;
    return NULL;
}

/* ---- places ---- */

/* In pre-order the parent of a place is the place before it, or an ancestor of that. */
static bool parent_fits(const struct scope_read *read, uint32_t i, uint32_t parent)
{
    uint32_t p = i - 1;

    while (p != NO_PLACE && p > parent)
        p = read->parents[p];
    return p == parent;
}

static bool object_fits(const struct scope_read *read, const struct place_row *place)
{
    switch (place->kind) {
    case PLACE_MODULE:
    case PLACE_GROUP:
        return place->object == NO_OBJECT ||
               place->object < read->n[TABLE_MODEL_OBJECT];
    case PLACE_TENSOR:
        return place->object < read->build.model->n_tensors;
    case PLACE_VALUE:
        return place->object < read->n[TABLE_MODEL_PLAIN];
    default:
        return false;
    }
}

static const char *take_place(struct scope_read *read, uint32_t i, void *row)
{
    struct place_row *place = row;
    struct build *build = &read->build;
    struct str name = model_string(build->model, place->name);

    if (!object_fits(read, place)) {
        if (place->kind > PLACE_GROUP)
            place->kind = PLACE_VALUE;
        place->object = place->kind == PLACE_VALUE ? VALUE_ID_NONE : NO_OBJECT;
        read->astray++;
    }
    if (i == 0 ? place->parent != NO_PLACE || place->kind > PLACE_GROUP
               : !parent_fits(read, i, place->parent))
        return "parent";
    if (i > 0 && build_node(build, place->parent, place->kind, name) != i)
        return no_memory;
    read->parents[i] = place->parent;
    build_set_kind(build, i, place->kind);
    build_set_flags(build, i, i == 0 ? place->flags & ~PLACE_AGAIN : place->flags);
    build_set_object(build, i, place->object);
    return NULL;
}

static bool room_for_places(struct scope_read *read)
{
    read->parents =
        arena_array(&read->build.scratch, (size_t)read->rows[TABLE_MODEL_PLACE] + 1,
                    sizeof *read->parents);
    return read->parents != NULL;
}

/* ---- facts and findings ---- */

static const char *take_fact(struct scope_read *read, uint32_t i, void *row)
{
    const struct fact_row *fact = row;
    struct str key = model_string(read->build.model, fact->fact.key);

    (void)i;
    if (fact->kind)
        build_metadata(&read->build, key, fact->fact.value);
    else
        build_fact(&read->build, key.at, fact->fact.value);
    return NULL;
}

static const char *take_finding(struct scope_read *read, uint32_t i, void *row)
{
    const struct finding_row *finding = row;
    int code = 0, severity = 0;

    (void)i;
    while (code < FINDING_COUNT && !str_is(finding->code, finding_name(code)))
        code++;
    while (severity < SEVERITY_ALARM &&
           !str_is(finding->severity, severity_name(severity)))
        severity++;
    if (code == FINDING_COUNT)
        return "code";
    build_finding(&read->build, code, severity, finding->place, "%.*s",
                  STR_ARG(finding->text));
    return NULL;
}

void scope_read_model(struct scope_read *read)
{
    table_read(read, TABLE_MODEL_STRING, take_string);
    if (room_for_shapes(read))
        table_read(read, TABLE_SHAPE, take_shape);
    if (scope_room_for_plain(read, TABLE_MODEL_PLAIN))
        table_read(read, TABLE_MODEL_PLAIN, take_plain);
    table_read(read, TABLE_MODEL_CLASS, take_class);
    table_read(read, TABLE_MODEL_DEVICE, take_device);
    table_read(read, TABLE_MODEL_STORAGE, take_storage);
    table_read(read, TABLE_MODEL_TENSOR, take_tensor);
    table_read(read, TABLE_MODEL_OBJECT, take_object);
    if (room_for_places(read))
        table_read(read, TABLE_MODEL_PLACE, take_place);
    table_read(read, TABLE_MODEL_FACT, take_fact);
    table_read(read, TABLE_MODEL_FINDING, take_finding);
}

void scope_mend_values(struct values *values, const struct model *model)
{
    for (uint32_t i = 0; i < values->n; i++) {
        struct value *value = &values->at[i];

        if (value->kind == VALUE_TENSOR && value->integer >= model->n_tensors)
            *value = (struct value){.kind = VALUE_CUT};
    }
}
