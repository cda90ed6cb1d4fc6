#include <stdio.h>

#include "base/base.h"
#include "read/keras/keras_in.h"

/* Texts of an attribute that may be split: "weight_names", or "weight_names0", ... */
struct names {
    const struct values *values;
    uint32_t attributes, list, part, i;
    const char *key;
};

/* Move to the next list; false: there is none. */
static bool next_list(struct names *names)
{
    char key[64];

    if (names->part == 0 &&
        value_json_get(names->values, names->attributes, names->key, &names->list)) {
        names->part = UINT32_MAX;
        return true;
    }
    if (names->part == UINT32_MAX)
        return false;
    snprintf(key, sizeof key, "%s%u", names->key, names->part++);
    return value_json_get(names->values, names->attributes, key, &names->list);
}

static bool next_name(struct names *names, struct str *ret_name)
{
    for (;;) {
        if (names->list != VALUE_ID_NONE &&
            names->i < value_at(names->values, names->list)->n) {
            uint32_t id = value_items(names->values, names->list)[names->i++];

            *ret_name = value_text(names->values, id);
            return true;
        }
        names->i = 0;
        names->list = VALUE_ID_NONE;
        if (!next_list(names))
            return false;
        if (value_at(names->values, names->list)->kind != VALUE_LIST)
            names->list = VALUE_ID_NONE;
    }
}

/* The dataset at a path below an item; 0: none. */
static uint32_t item_at(const struct hdf5 *file, uint32_t item, struct str path)
{
    struct str part;

    while (str_split(&path, '/', &part)) {
        item = part.len > 0 ? hdf5_child(file, item, part) : item;
        if (item == 0)
            return 0;
    }
    return file->items[item].kind == HDF5_DATASET ? item : 0;
}

/* "dense/kernel:0" without ":0". */
static struct str plain_name(struct str name)
{
    ptrdiff_t colon = str_find_last_char(name, ':');
    uint64_t number;

    if (colon > 0 && str_to_u64(str_from(name, (size_t)colon + 1), &number))
        return str_head(name, (size_t)colon);
    return name;
}

static bool is_buffer(struct str name)
{
    return str_starts(name, STR("moving_")) || str_is(name, "mean") ||
           str_is(name, "variance") || str_ends(name, STR("_scale")) ||
           str_ends(name, STR("_zero")) || str_is(name, "g_idx") ||
           str_ends(name, STR("_amax_history")) || build_is_buffer_name(name);
}

/* Integers are guessed to be buffers; the weights of a quantised layer are none. */
static bool is_packed(struct str name)
{
    return str_ends(name, STR("kernel")) || str_ends(name, STR("embeddings"));
}

/* Add a weight of the layer `layer` at `node`. Of its path "model/layer/part/kernel:0",
 * the part up to the layer is dropped; the others are modules. */
static int add_weight(struct keras *keras, uint32_t item, uint32_t node,
                      struct str layer, struct str path, struct err *err)
{
    struct str rest = path, part, inside = path;

    while (str_split(&rest, '/', &part))
        if (str_eq(part, layer) && rest.len > 0) {
            inside = rest;
            break;
        }
    while (str_find_char(inside, '/') >= 0 && str_split(&inside, '/', &part)) {
        if (part.len > 0)
            node = build_child(keras->build, node, PLACE_MODULE, part);
        if (node == NO_PLACE)
            return arena_err(&keras->build->model->arena, keras->input->path, err);
    }
    inside = plain_name(inside);
    if (keras_add_weight(keras, item, node, inside,
                         is_buffer(inside) ? ROLE_BUFFER : ROLE_PARAMETER, err) < 0)
        return -1;
    if (is_packed(inside))
        keras_keep_role(keras, item);
    return 0;
}

/* The weights of one layer, in the order that Keras made them. */
static int bind_layer(struct keras *keras, uint32_t group, struct err *err)
{
    struct hdf5 *file = keras->file;
    struct names names = {.values = build_values(keras->build), .key = "weight_names"};
    struct str layer = file->items[group].name, path;
    uint32_t index = keras_layer_find(keras, 0, layer), node;

    if (hdf5_attributes(file, group, &names.attributes, err) < 0)
        return -1;
    node = index != UINT32_MAX ? keras->layers[index].node : NO_PLACE;
    while (next_name(&names, &path)) {
        uint32_t item = item_at(file, group, path);

        if (item == 0) {
            build_finding(keras->build, FINDING_MISSING_RECORD, SEVERITY_ALARM,
                          node == NO_PLACE ? FINDING_NOWHERE : node,
                          "the weight %.*s of layer %.*s is missing", STR_ARG(path),
                          STR_ARG(layer));
            continue;
        }
        if (node == NO_PLACE)
            node = build_child(keras->build, keras->root, PLACE_MODULE, layer);
        if (node == NO_PLACE)
            return arena_err(&keras->build->model->arena, keras->input->path, err);
        if (add_weight(keras, item, node, layer, path, err) < 0)
            return -1;
    }
    return 0;
}

int keras_bind_legacy(struct keras *keras, uint32_t item, struct err *err)
{
    struct hdf5 *file = keras->file;
    struct names names = {.values = build_values(keras->build), .key = "layer_names"};
    struct str layer;

    if (hdf5_attributes(file, item, &names.attributes, err) < 0)
        return -1;
    while (next_name(&names, &layer)) {
        uint32_t group = hdf5_child(file, item, layer);

        if (group && bind_layer(keras, group, err) < 0)
            return -1;
    }
    for (uint32_t c = file->items[item].first; c; c = file->items[c].next)
        if (str_is(file->items[c].name, "top_level_model_weights") &&
            bind_layer(keras, c, err) < 0)
            return -1;
    return 0;
}
