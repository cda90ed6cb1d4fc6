#include <stdio.h>

#include "base/base.h"
#include "read/keras/keras_in.h"

int keras_begin(struct keras *keras, struct hdf5 *file, struct err *err)
{
    struct arena *arena = &keras->build->scratch;

    keras->file = file;
    keras->used = arena_array(arena, file->n_items, sizeof *keras->used);
    keras->nodes = arena_array(arena, file->n_items, sizeof *keras->nodes);
    if (!keras->used || !keras->nodes)
        return arena_err(arena, keras->input->path, err);
    for (uint32_t i = 0; i < file->n_items; i++)
        keras->nodes[i] = NO_PLACE;
    return 0;
}

int keras_add_weight(struct keras *keras, uint32_t item, uint32_t parent,
                     struct str name, enum tensor_role role, struct err *err)
{
    struct build *build = keras->build;
    uint32_t first = keras->file->items[item].same, node, tensor = NO_OBJECT;
    bool again;

    if (keras->used[item])
        return 0;
    keras->used[item] = true;
    node = build_leaf(build, parent, PLACE_VALUE, name, &again);
    if (node == NO_PLACE)
        return arena_err(&build->model->arena, keras->input->path, err);
    if (keras->nodes[first] != NO_PLACE)
        tensor = build_tensor_at(build, keras->nodes[first]);
    if (tensor != NO_OBJECT) {
        build_tensor_again(build, node, tensor);
        return 0;
    }
    keras->nodes[first] = node;
    return hdf5_add_dataset(keras->file, item, node, role, err);
}

struct str keras_item_name(struct keras *keras, uint32_t item)
{
    uint32_t vars = hdf5_child(keras->file, item, STR("vars")), attributes;

    if (vars == 0 || hdf5_attributes(keras->file, vars, &attributes, NULL) < 0)
        return STR("");
    return keras_text(build_values(keras->build), attributes, "name");
}

/* ---- Keras 3: layers/KEY/vars/0, and a group for each part of a layer ---- */

static uint32_t args_of(const struct keras *keras, const struct keras_layer *layer)
{
    uint32_t inner;

    return value_json_get(build_values(keras->build), layer->config, "config", &inner)
               ? inner
               : VALUE_ID_NONE;
}

void keras_keep_role(struct keras *keras, uint32_t item)
{
    uint32_t node = keras->nodes[keras->file->items[item].same];
    uint32_t tensor =
        node != NO_PLACE ? build_tensor_at(keras->build, node) : NO_OBJECT;

    if (tensor != NO_OBJECT)
        keras->build->model->tensors[tensor].flags &= (uint8_t)~TENSOR_ROLE_GUESSED;
}

/* The datasets in `vars`. */
static int add_vars(struct keras *keras, uint32_t index, uint32_t vars, struct err *err)
{
    struct hdf5 *file = keras->file;
    struct keras_layer layer = keras->layers[index];
    uint32_t args = args_of(keras, &layer), n = 0, i = 0;
    struct str mode;

    /* A part that the configuration does not have gets the arguments of its layer. */
    if (layer.config == VALUE_ID_NONE && layer.parent < keras->n_layers)
        args = args_of(keras, &keras->layers[layer.parent]);
    mode = keras_mode(build_values(keras->build), args);
    if (layer.config == VALUE_ID_NONE && mode.len == 0)
        mode = keras->mode;

    for (uint32_t c = file->items[vars].first; c; c = file->items[c].next)
        n += file->items[c].kind == HDF5_DATASET;
    for (uint32_t c = file->items[vars].first; c; c = file->items[c].next) {
        struct keras_weight weight;

        if (file->items[c].kind != HDF5_DATASET)
            continue;
        weight = keras_weight_name(build_values(keras->build), layer.class_name, args,
                                   mode, i++, n);
        if (keras_add_weight(keras, c, layer.node,
                             weight.name.len > 0 ? weight.name : file->items[c].name,
                             weight.buffer ? ROLE_BUFFER : ROLE_PARAMETER, err) < 0)
            return -1;
        if (weight.packed)
            keras_keep_role(keras, c);
    }
    return 0;
}

/* Older versions do not write names: KEY is the class in lower case, with a number. */
static uint32_t find_by_class(struct keras *keras, uint32_t parent, struct str key)
{
    struct arena *arena = &keras->build->scratch;

    for (uint32_t i = parent + 1; i < keras->n_layers; i++) {
        struct str snake;
        uint32_t count = 0;
        const char *wanted;

        if (keras->layers[i].parent != parent || keras->layers[i].item != 0)
            continue;
        snake = keras_snake_case(arena, keras->layers[i].class_name);
        if (!str_starts(key, snake))
            continue;
        for (uint32_t k = parent + 1; k < i; k++)
            count += keras->layers[k].parent == parent &&
                     str_eq(keras->layers[k].class_name, keras->layers[i].class_name);
        wanted = count == 0 ? arena_printf(arena, "%.*s", STR_ARG(snake))
                            : arena_printf(arena, "%.*s_%u", STR_ARG(snake), count);
        if (wanted && str_is(key, wanted))
            return i;
    }
    return UINT32_MAX;
}

/* Find the layer of a group, or add one that the configuration does not have. */
static int bind_item(struct keras *keras, uint32_t parent, uint32_t item, bool listed,
                     struct err *err)
{
    struct hdf5_item *group = &keras->file->items[item];
    struct str name = keras_item_name(keras, item);
    uint32_t index = UINT32_MAX, node;

    if (name.len > 0)
        index = keras_layer_find(keras, parent, name);
    if (index == UINT32_MAX && name.len == 0 && listed)
        index = find_by_class(keras, parent, group->name);
    if (index == UINT32_MAX || keras->layers[index].item != 0) {
        struct str key = name.len > 0 ? name : group->name;
        struct str class_name =
            keras_part_class(keras->layers[parent].class_name, group->name);

        node = build_child(keras->build, keras->layers[parent].node, PLACE_MODULE, key);
        index = keras_add_layer(keras, parent, node, class_name, name);
        if (index == UINT32_MAX)
            return arena_err(&keras->build->scratch, keras->input->path, err);
        if (class_name.len > 0) {
            uint32_t class_id = keras_class(keras, STR(""), class_name);
            struct object *object = build_object(keras->build, node);

            if (object)
                object->class_id = class_id;
        }
    }
    keras->layers[index].item = item;
    return 0;
}

/* Bind the groups of one layer. Items come after their parents: there are no loops. */
static int bind_layer(struct keras *keras, uint32_t index, uint32_t item,
                      struct err *err)
{
    struct hdf5 *file = keras->file;

    for (uint32_t c = file->items[item].first; c; c = file->items[c].next) {
        bool vars = str_is(file->items[c].name, "vars");
        bool list = str_is(file->items[c].name, "layers") ||
                    str_is(file->items[c].name, "_layer_checkpoint_dependencies");

        if (file->items[c].kind != HDF5_GROUP || file->items[c].same != c ||
            (item == 0 && str_is(file->items[c].name, "optimizer")))
            continue;
        if (vars && add_vars(keras, index, c, err) < 0)
            return -1;
        if (!vars && !list && bind_item(keras, index, c, false, err) < 0)
            return -1;
        for (uint32_t k = list ? file->items[c].first : 0; k; k = file->items[k].next)
            if (file->items[k].kind == HDF5_GROUP && file->items[k].same == k &&
                bind_item(keras, index, k, true, err) < 0)
                return -1;
    }
    return 0;
}

int keras_bind(struct keras *keras, uint32_t item, struct err *err)
{
    bool *done =
        arena_array(&keras->build->scratch, keras->file->n_items, sizeof *done);

    if (!done)
        return arena_err(&keras->build->scratch, keras->input->path, err);
    for (uint32_t i = 0; i < keras->n_layers && keras->mode.len == 0; i++)
        keras->mode =
            keras_mode(build_values(keras->build), args_of(keras, &keras->layers[i]));
    if (bind_layer(keras, 0, item, err) < 0)
        return -1;
    /* A layer may bind layers with lower or higher numbers, so repeat until all are
     * done. */
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 1; i < keras->n_layers; i++) {
            uint32_t at = keras->layers[i].item;

            if (at == 0 || done[at])
                continue;
            done[at] = more = true;
            if (bind_layer(keras, i, at, err) < 0)
                return -1;
        }
    }
    return 0;
}

/* ---- the optimizer ---- */

int keras_bind_optimizer(struct keras *keras, uint32_t item, uint32_t config,
                         struct err *err)
{
    struct hdf5 *file = keras->file;
    struct build *build = keras->build;
    struct str class_name = keras_text(build_values(build), config, "class_name");
    uint32_t node, inner, class_id;
    struct object *object;

    if (item == 0)
        return 0;
    node = build_child(build, keras->root, PLACE_GROUP, STR("optimizer"));
    if (node == NO_PLACE)
        return arena_err(&build->model->arena, keras->input->path, err);
    build_set_flags(build, node, PLACE_OPTIMIZER);
    if (class_name.len > 0) {
        class_id = keras_class(keras, keras_text(build_values(build), config, "module"),
                               class_name);
        object = build_object(build, node);
        if (!object)
            return arena_err(&build->model->arena, keras->input->path, err);
        object->class_id = class_id;
        if (value_json_get(build_values(build), config, "config", &inner))
            object->args = inner;
    }
    for (uint32_t i = item + 1; i < file->n_items; i++) {
        uint32_t top = i;

        while (top > item)
            top = file->items[top].parent;
        if (top == item && file->items[i].kind == HDF5_DATASET &&
            keras_add_weight(keras, i, node, file->items[i].name, ROLE_STATE, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- everything else ---- */

/* The node of the group of an item, with the groups around it. */
static uint32_t group_node(struct keras *keras, uint32_t item)
{
    struct hdf5 *file = keras->file;
    uint32_t path[HDF5_DEPTH + 2], n = 0, node = keras->root;

    for (item = file->items[item].parent; item != 0 && n < COUNT_OF(path);
         item = file->items[item].parent)
        path[n++] = item;
    while (n > 0 && node != NO_PLACE)
        node =
            build_child(keras->build, node, PLACE_GROUP, file->items[path[--n]].name);
    return node;
}

int keras_bind_rest(struct keras *keras, struct err *err)
{
    struct hdf5 *file = keras->file;

    for (uint32_t i = 1; i < file->n_items; i++) {
        uint32_t node;

        if (file->items[i].kind != HDF5_DATASET || keras->used[i])
            continue;
        node = group_node(keras, i);
        if (node == NO_PLACE)
            return arena_err(&keras->build->model->arena, keras->input->path, err);
        if (keras_add_weight(keras, i, node, file->items[i].name, ROLE_PARAMETER, err) <
            0)
            return -1;
    }
    return 0;
}
