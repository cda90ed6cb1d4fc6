#include "base/base.h"
#include "read/keras/keras_in.h"

#define LAYERS_MOST 1000000

struct str keras_text(const struct values *values, uint32_t object, const char *key)
{
    uint32_t value;

    if (!value_json_get(values, object, key, &value) ||
        value_at(values, value)->kind != VALUE_STR)
        return STR("");
    return value_text(values, value);
}

/* ---- arguments ---- */

/* Does a value show what a layer is? Initialisers and the like are hidden arguments. */
static bool is_plain(const struct values *values, uint32_t id)
{
    const struct value *value = value_at(values, id);

    return value->kind == VALUE_BOOL || value->kind == VALUE_INT ||
           value->kind == VALUE_REAL || value->kind == VALUE_STR ||
           value->kind == VALUE_LIST;
}

static bool is_dull(struct str key)
{
    return str_is(key, "name") || str_is(key, "trainable") || str_is(key, "dtype") ||
           str_is(key, "layers") || str_is(key, "input_layers") ||
           str_is(key, "output_layers");
}

/* {"class_name": "Zeros", "config": {...}} as the class alone. */
static uint32_t shortened(struct values *values, uint32_t id)
{
    struct str name = keras_text(values, id, "class_name");

    return name.len > 0 ? value_make(values, VALUE_GLOBAL, name, NULL, 0) : id;
}

uint32_t keras_class(struct keras *keras, struct str module, struct str class_name)
{
    const char *name;

    if (module.len == 0)
        module = keras_module_of(class_name);
    if (module.len == 0)
        return build_class(keras->build, class_name);
    name = arena_printf(&keras->build->scratch, "%.*s.%.*s", STR_ARG(module),
                        STR_ARG(class_name));
    return name ? build_class(keras->build, str_of(name)) : NO_CLASS;
}

/* Set the class and the arguments of a layer. */
static int set_object(struct keras *keras, uint32_t node, struct str module,
                      struct str class_name, uint32_t config, struct err *err)
{
    struct build *build = keras->build;
    struct values *values = build_values(build);
    uint32_t n =
        value_at(values, config)->kind == VALUE_DICT ? value_at(values, config)->n : 0;
    uint32_t *args = arena_array(&build->scratch, n + 1, sizeof *args);
    uint32_t *hidden = arena_array(&build->scratch, n + 1, sizeof *hidden);
    uint32_t n_args = 0, n_hidden = 0, class_id = NO_CLASS;
    struct object *object;

    if (!args || !hidden)
        return arena_err(&build->scratch, keras->input->path, err);
    for (uint32_t i = 0; i + 1 < n; i += 2) {
        const uint32_t *items = value_items(values, config);
        uint32_t key = items[i], value = items[i + 1];
        struct str text = value_text(values, key);
        bool shown = is_plain(values, value) && !is_dull(text);

        if (str_is(text, "layers"))
            continue;
        value = shown ? value : shortened(values, value);
        if (shown) {
            args[n_args++] = key;
            args[n_args++] = value;
        } else {
            hidden[n_hidden++] = key;
            hidden[n_hidden++] = value;
        }
    }
    if (class_name.len > 0)
        class_id = keras_class(keras, module, class_name);
    object = build_object(build, node);
    if (!object)
        return arena_err(&build->model->arena, keras->input->path, err);
    object->class_id = class_id;
    if (n_args > 0)
        object->args = value_make(values, VALUE_DICT, STR(""), args, n_args);
    if (n_hidden > 0)
        object->hidden = value_make(values, VALUE_DICT, STR(""), hidden, n_hidden);
    return build_spent(build) ? arena_err(&build->model->arena, keras->input->path, err)
                              : 0;
}

/* ---- layers ---- */

uint32_t keras_layer_find(const struct keras *keras, uint32_t parent, struct str name)
{
    uint64_t key = hash_mix(hash_u64(parent), str_hash(name));
    uint32_t i;

    for (; map_find(&keras->by_name, key, &i); key++)
        if (keras->layers[i].parent == parent && str_eq(keras->layers[i].name, name))
            return i;
    return UINT32_MAX;
}

/* Index the layer that is added next, unless another one has its name. */
static int index_name(struct keras *keras, uint32_t parent, struct str name)
{
    uint64_t key = hash_mix(hash_u64(parent), str_hash(name));
    uint32_t i;

    /* The model itself is no child, although its parent is 0. */
    if (keras->n_layers == 0 || keras_layer_find(keras, parent, name) != UINT32_MAX)
        return 0;
    while (map_find(&keras->by_name, key, &i))
        key++;
    return map_put(&keras->by_name, key, keras->n_layers);
}

uint32_t keras_add_layer(struct keras *keras, uint32_t parent, uint32_t node,
                         struct str class_name, struct str name)
{
    if (node == NO_PLACE ||
        arena_room(&keras->build->scratch, &keras->layers, keras->n_layers,
                   &keras->layers_room, sizeof *keras->layers) < 0)
        return UINT32_MAX;
    if (index_name(keras, parent, name) < 0)
        return UINT32_MAX;
    keras->layers[keras->n_layers] = (struct keras_layer){.parent = parent,
                                                          .node = node,
                                                          .class_name = class_name,
                                                          .name = name,
                                                          .config = VALUE_ID_NONE};
    return keras->n_layers++;
}

/* The name of a layer: inside its configuration, otherwise beside it. */
static struct str name_of(const struct values *values, uint32_t config)
{
    uint32_t inner;
    struct str name = {0};

    if (value_json_get(values, config, "config", &inner))
        name = keras_text(values, inner, "name");
    return name.len > 0 ? name : keras_text(values, config, "name");
}

/* Is it a layer: an object with a class, and a name among its arguments? */
static bool is_layer(const struct values *values, uint32_t id)
{
    struct str class_name = keras_text(values, id, "class_name");

    return class_name.len > 0 && !str_is(class_name, "DTypePolicy") &&
           !str_is(class_name, "function") && name_of(values, id).len > 0 &&
           !str_starts(class_name, STR("__"));
}

static int add_child(struct keras *keras, uint32_t parent, uint32_t config,
                     struct str name, bool listed, struct err *err)
{
    struct values *values = build_values(keras->build);
    uint32_t node, index;

    if (keras->n_layers == LAYERS_MOST)
        return err_set_about(err, ERR_LIMIT, keras->input->path,
                             ": more than %d layers", LAYERS_MOST);
    node = build_child(keras->build, keras->layers[parent].node, PLACE_MODULE, name);
    index =
        keras_add_layer(keras, parent, node, keras_text(values, config, "class_name"),
                        name_of(values, config));
    if (index == UINT32_MAX)
        return arena_err(&keras->build->scratch, keras->input->path, err);
    keras->layers[index].config = config;
    keras->layers[index].listed = listed;
    return 0;
}

uint32_t keras_list(const struct values *values, uint32_t config)
{
    uint32_t list = config;

    if (value_at(values, config)->kind == VALUE_DICT &&
        !value_json_get(values, config, "layers", &list))
        return VALUE_ID_NONE;
    return value_at(values, list)->kind == VALUE_LIST ? list : VALUE_ID_NONE;
}

/* Add the layers inside layer i: the list of a model, or the arguments of a wrapper. */
static int add_children(struct keras *keras, uint32_t i, uint32_t config,
                        struct err *err)
{
    struct values *values = build_values(keras->build);
    uint32_t list = keras_list(values, config);

    if (list != VALUE_ID_NONE) {
        for (uint32_t k = 0; k < value_at(values, list)->n; k++) {
            uint32_t one = value_items(values, list)[k];
            struct str name = name_of(values, one);

            if (keras_text(values, one, "class_name").len > 0 && name.len > 0 &&
                add_child(keras, i, one, name, true, err) < 0)
                return -1;
        }
        return 0;
    }
    for (uint32_t k = 0; k + 1 < value_at(values, config)->n; k += 2) {
        uint32_t one = value_items(values, config)[k + 1];

        if (is_layer(values, one) &&
            add_child(keras, i, one, name_of(values, one), false, err) < 0)
            return -1;
    }
    return 0;
}

int keras_layers(struct keras *keras, uint32_t config, struct err *err)
{
    struct values *values = build_values(keras->build);
    uint32_t inner;

    map_init(&keras->by_name, &keras->build->scratch);
    if (keras_add_layer(keras, 0, keras->root, keras_text(values, config, "class_name"),
                        name_of(values, config)) == UINT32_MAX)
        return arena_err(&keras->build->scratch, keras->input->path, err);
    keras->layers[0].config = config;
    build_set_kind(keras->build, keras->root, PLACE_MODULE);
    /* Children are appended to the layers. */
    for (uint32_t i = 0; i < keras->n_layers; i++) {
        struct keras_layer layer = keras->layers[i];

        if (!value_json_get(values, layer.config, "config", &inner) ||
            (value_at(values, inner)->kind != VALUE_DICT &&
             value_at(values, inner)->kind != VALUE_LIST))
            inner = VALUE_ID_NONE;
        if (set_object(keras, layer.node, keras_text(values, layer.config, "module"),
                       layer.class_name, inner, err) < 0 ||
            (inner != VALUE_ID_NONE && add_children(keras, i, inner, err) < 0))
            return -1;
    }
    return 0;
}
