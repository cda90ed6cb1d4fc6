/* Modules, attributes and constants as the tree of the file has them. */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "read/torch/script_machine_in.h"

#define LIST_MOST 4096 /* limit for the children of a list */

static uint64_t pair(uint32_t a, uint32_t b)
{
    return (uint64_t)a << 32 | b;
}

int script_tree_index(struct script_machine *m)
{
    const struct model *model = m->build->model;

    m->n_nodes = m->build->n_nodes;
    m->first_of =
        arena_array(&m->arena, (size_t)model->n_objects + 1, sizeof *m->first_of);
    if (!m->first_of)
        return -1;
    for (uint32_t node = 1; node < m->n_nodes; node++) {
        uint32_t object = model->object[node];

        if (map_put(&m->children, pair(model->parent[node], model->name[node]), node) <
            0)
            return -1;
        if (build_kind(m->build, node) <= PLACE_GROUP && object < model->n_objects &&
            !(build_flags(m->build, node) & PLACE_AGAIN))
            m->first_of[object] = node;
    }
    return 0;
}

static uint32_t child_of(const struct script_machine *m, uint32_t node, struct str name)
{
    uint32_t id = intern_find(&m->build->model->strings, name), child;

    if (id == INTERN_NONE || !map_find(&m->children, pair(node, id), &child))
        return NO_PLACE;
    return child;
}

/* ---- classes ---- */

const struct script_class *script_class_of(struct script_machine *m, uint32_t instance)
{
    uint32_t class = 0;

    if (instance < m->n_nodes)
        class = m->class_of[instance];
    else if (instance - m->n_nodes < m->n_created)
        class = m->created[instance - m->n_nodes] + 1;
    return class ? &m->code->classes[class - 1] : NULL;
}

bool script_is_module(struct script_machine *m, uint32_t instance)
{
    const struct script_class *class = script_class_of(m, instance);

    return instance < m->n_nodes && class && str_is(class->base, "Module");
}

/* ---- values of the file ---- */

/* The value with this hash; makes it if it is new. */
static struct datum stored(struct script_machine *m, uint64_t key,
                           const struct program_value *value)
{
    uint32_t id;

    if (map_find(&m->by_stored, key, &id))
        return script_value(id);
    id = script_value_new(m, value);
    if (id == PROGRAM_NONE || map_put(&m->by_stored, key, id) < 0)
        m->stop = true;
    return script_value(id);
}

static struct program_value stored_value(enum program_value_kind kind, uint32_t place,
                                         uint32_t name)
{
    return (struct program_value){.kind = (uint8_t)kind,
                                  .dtype = DTYPE_UNKNOWN,
                                  .name = name,
                                  .shape = PROGRAM_NONE,
                                  .producer = PROGRAM_NONE,
                                  .tensor = PROGRAM_NONE,
                                  .place = place,
                                  .plain = PROGRAM_NONE};
}

static struct datum tensor_value(struct script_machine *m, uint32_t tensor,
                                 uint32_t node, uint32_t name)
{
    const struct model *model = m->build->model;
    struct program_value value = stored_value(PROGRAM_TENSOR, node, name);

    if (tensor >= model->n_tensors)
        return script_opaque(m);
    value.tensor = tensor;
    value.dtype = model->tensors[tensor].dtype;
    value.rank = model->tensors[tensor].rank;
    value.shape = model->tensors[tensor].shape;
    return stored(m, hash_mix(1, tensor), &value);
}

/* An attribute known only by name; name 0: the object itself. */
static struct datum attribute_value(struct script_machine *m, uint32_t node,
                                    uint32_t name)
{
    struct program_value value = stored_value(PROGRAM_STORED, node, name);

    if (node >= m->n_nodes)
        return script_opaque(m);
    if (name == 0)
        value.name = m->build->model->name[node];
    return stored(m, hash_mix(hash_mix(2, node), name), &value);
}

uint32_t script_instance_value(struct script_machine *m, uint32_t instance)
{
    struct datum datum = attribute_value(m, instance, 0);

    return datum.kind == DATUM_VALUE ? datum.id : PROGRAM_NONE;
}

static struct datum node_datum(struct script_machine *m, uint32_t node, int depth);

/* A list, tuple or dict of the file. */
static struct datum group_datum(struct script_machine *m, uint32_t node, int depth)
{
    uint32_t n = 0, child;
    struct datum *items;
    char name[16];

    while (n < LIST_MOST) {
        snprintf(name, sizeof name, "%u", n);
        if (child_of(m, node, str_of(name)) == NO_PLACE)
            break;
        n++;
    }
    if (n == 0 || depth > DATUM_DEPTH)
        return attribute_value(m, node, 0);
    items = script_items_new(m, n);
    for (uint32_t i = 0; items && i < n && script_step(m); i++) {
        snprintf(name, sizeof name, "%u", i);
        child = child_of(m, node, str_of(name));
        items[i] = node_datum(m, child, depth + 1);
    }
    return script_container(m, DATUM_LIST, items, n);
}

static struct datum node_datum(struct script_machine *m, uint32_t node, int depth)
{
    const struct model *model = m->build->model;
    uint32_t tensor = build_tensor_at(m->build, node), object = model->object[node];

    if (tensor != NO_OBJECT)
        return tensor_value(m, tensor, node, model->name[node]);
    if (build_kind(m->build, node) == PLACE_VALUE)
        return script_plain(object < model->values.n ? object : VALUE_ID_NONE);
    if (build_kind(m->build, node) == PLACE_TENSOR)
        return attribute_value(m, node, 0);
    if (object < model->n_objects && m->first_of[object])
        node =
            m->first_of
                [object]; /* the children of a shared module are at its first place */
    if (m->class_of[node])
        return (struct datum){.kind = DATUM_INSTANCE, .id = node};
    return group_datum(m, node, depth);
}

/* A plain value of the file; tensors in it are values of the program. The depth of
 * values is limited. */
static struct datum plain_datum(struct script_machine *m, uint32_t node, uint32_t name,
                                uint32_t id)
{
    const struct values *values = build_values(m->build);
    const struct value *value = value_at(values, id);
    struct datum *items;

    if (value->kind == VALUE_TENSOR)
        return tensor_value(m, (uint32_t)value->integer, node, name);
    if (value->kind != VALUE_LIST || value->n == 0 || value->n > LIST_MOST ||
        value_at(values, value_items(values, id)[0])->kind != VALUE_TENSOR)
        return script_plain(id);
    items = script_items_new(m, value->n);
    for (uint32_t i = 0; items && i < value->n && script_step(m); i++) {
        uint32_t item = value_items(values, id)[i];

        items[i] =
            value_at(values, item)->kind == VALUE_TENSOR
                ? tensor_value(m, (uint32_t)value_at(values, item)->integer, node, name)
                : script_plain(item);
    }
    return script_container(m, DATUM_LIST, items, value_at(values, id)->n);
}

/* The value of a key, which need not end in NUL. */
static bool dict_get(struct script_machine *m, uint32_t dict, struct str key,
                     uint32_t *ret_value)
{
    const struct values *values = build_values(m->build);
    const struct value *value = value_at(values, dict);
    const uint32_t *items = value_items(values, dict);

    m->steps += value->n / 16;
    for (uint32_t i = 0; value->kind == VALUE_DICT && i + 1 < value->n; i += 2)
        if (str_eq(value_text(values, items[i]), key)) {
            *ret_value = items[i + 1];
            return true;
        }
    return false;
}

/* ---- attributes ---- */

static struct datum file_attr(struct script_machine *m, uint32_t node, struct str name)
{
    const struct model *model = m->build->model;
    uint32_t child = child_of(m, node, name), object = model->object[node], value, id;

    if (child != NO_PLACE)
        return node_datum(m, child, 0);
    id = build_string(m->build, name);
    if (object < model->n_objects) {
        const struct object *at = &model->objects[object];

        if (str_is(name, "training") && at->training >= 0)
            return script_plain(value_bool(build_values(m->build), at->training));
        if (dict_get(m, at->args, name, &value) ||
            dict_get(m, at->hidden, name, &value))
            return plain_datum(m, node, id, value);
    }
    return id == INTERN_NONE ? script_opaque(m) : attribute_value(m, node, id);
}

/* The cell of an attribute that the code sets. Names are string ids of the model. */
static bool find_cell(struct script_machine *m, uint32_t instance, struct str name,
                      uint32_t *ret_index)
{
    uint32_t id = intern_find(&m->build->model->strings, name);

    return id != INTERN_NONE && map_find(&m->by_attr, pair(instance, id), ret_index);
}

struct datum script_attr(struct script_machine *m, uint32_t instance, struct str name)
{
    uint32_t index;

    if (find_cell(m, instance, name, &index) &&
        m->attrs[index].datum.kind != DATUM_NOTHING)
        return m->attrs[index].datum;
    return instance < m->n_nodes ? file_attr(m, instance, name) : script_opaque(m);
}

void script_attr_set(struct script_machine *m, uint32_t instance, struct str name,
                     const struct datum *datum)
{
    uint32_t index = m->n_attrs, id;
    struct datum before;

    if (!find_cell(m, instance, name, &index)) {
        id = build_string(m->build, name);
        before = instance < m->n_nodes ? file_attr(m, instance, name) : script_nothing;
        if (id == INTERN_NONE || map_put(&m->by_attr, pair(instance, id), index) < 0 ||
            arena_room(&m->arena, &m->attrs, index, &m->attrs_room, sizeof *m->attrs) <
                0) {
            m->stop = true;
            return;
        }
        m->attrs[m->n_attrs++] = (struct script_cell){.datum = before};
    }
    script_set(m, CELL_ATTR, index, datum);
}

struct datum script_constant(struct script_machine *m, struct str name)
{
    uint32_t group = child_of(m, m->root, STR("CONSTANTS"));
    uint32_t node = group == NO_PLACE ? NO_PLACE : child_of(m, group, name);

    return node == NO_PLACE ? script_opaque(m) : node_datum(m, node, 0);
}
