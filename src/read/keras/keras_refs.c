/* The tensors and constants that calls of layers read. Values are at most JSON_DEPTH
 * deep, so these functions may recurse. */
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "read/keras/keras_graph_in.h"

/* Where the tensors being read are stored. */
struct refs_reading {
    struct keras_graphs *graphs;
    uint32_t model, arg, item;
    bool sure, inside; /* inside a list: items are counted */
};

bool keras_arg(const struct keras *keras, uint32_t layer, const char *key,
               uint32_t *ret_value)
{
    const struct values *values = build_values(keras->build);
    uint32_t inner;

    return value_json_get(values, keras->layers[layer].config, "config", &inner) &&
           value_json_get(values, inner, key, ret_value);
}

/* ["conv", 0, 0]; Keras 2 adds {"training": false}. */
static bool is_history(const struct values *values, uint32_t id)
{
    const struct value *value = value_at(values, id);
    const uint32_t *items = value_items(values, id);

    return value->kind == VALUE_LIST && (value->n == 3 || value->n == 4) &&
           value_at(values, items[0])->kind == VALUE_STR &&
           value_at(values, items[1])->kind == VALUE_INT &&
           value_at(values, items[2])->kind == VALUE_INT &&
           value_at(values, items[1])->integer >= 0 &&
           (value->n == 3 || value_at(values, items[3])->kind == VALUE_DICT);
}

/* Reads which result a tensor is, with its shape and dtype; false: it is no tensor. */
static bool find_history(const struct values *values, uint32_t id,
                         struct keras_ref *ret_ref, uint32_t *ret_history)
{
    uint32_t config;

    *ret_history = id;
    if (str_is(keras_text(values, id, "class_name"), "__keras_tensor__")) {
        if (!value_json_get(values, id, "config", &config) ||
            !value_json_get(values, config, "keras_history", ret_history))
            return false;
        if (!value_json_get(values, config, "shape", &ret_ref->shape))
            ret_ref->shape = VALUE_ID_NONE;
        if (!value_json_get(values, config, "dtype", &ret_ref->dtype))
            ret_ref->dtype = VALUE_ID_NONE;
    }
    return is_history(values, *ret_history);
}

static uint32_t small(int64_t number)
{
    return number >= 0 && number < KERAS_NONE ? (uint32_t)number : KERAS_NONE;
}

static void say_missing(struct keras_graphs *g, struct str name)
{
    if (g->said_missing)
        return;
    g->said_missing = true;
    build_finding(g->build, FINDING_DAMAGED, SEVERITY_WARNING, FINDING_NOWHERE,
                  "the configuration uses results of layer %.*s, which it does not "
                  "have: edges of the graph are missing",
                  STR_ARG(str_head(name, 100)));
}

/* 1: a tensor was added, 0: the value is something else, -1: memory is spent. */
static int add_ref(struct refs_reading *r, uint32_t id)
{
    struct keras_graphs *g = r->graphs;
    const struct values *values = build_values(g->build);
    struct keras_ref ref = {.node = KERAS_NONE, .arg = r->arg, .item = PROGRAM_NONE};
    const uint32_t *items;
    struct str name;
    uint32_t history;

    if (!find_history(values, id, &ref, &history))
        return 0;
    items = value_items(values, history);
    name = value_text(values, items[0]);
    ref.layer = keras_layer_find(g->keras, r->model, name);
    if (ref.layer != KERAS_NONE && !g->keras->layers[ref.layer].listed)
        ref.layer = KERAS_NONE;
    if (ref.layer == KERAS_NONE && history == id && !r->sure)
        return 0;
    if (ref.layer == KERAS_NONE)
        say_missing(g, name);
    ref.number = small(value_at(values, items[1])->integer);
    ref.result = small(value_at(values, items[2])->integer);
    if (r->inside)
        ref.item = r->item++;
    ref.tensor = history != id;
    if (ref.layer != KERAS_NONE && !ref.tensor && ref.number < g->least[ref.layer])
        g->least[ref.layer] = ref.number;
    if (arena_room(g->arena, &g->refs, g->n_refs, &g->refs_room, sizeof *g->refs) < 0)
        return -1;
    g->refs[g->n_refs++] = ref;
    return 1;
}

/* ---- lists and dicts ---- */

struct keyed_value {
    struct str key;
    uint32_t value;
};

static int by_key(const void *a, const void *b)
{
    return str_cmp(((const struct keyed_value *)a)->key,
                   ((const struct keyed_value *)b)->key);
}

static int add_refs(struct refs_reading *r, uint32_t id);

/* Keras numbers the tensors in a dict in the order of their keys. */
static int add_dict(struct refs_reading *r, uint32_t id)
{
    struct keras_graphs *g = r->graphs;
    const struct values *values = build_values(g->build);
    uint32_t n = value_at(values, id)->n / 2, arg = r->arg;
    struct keyed_value *items = arena_array(g->arena, n + 1, sizeof *items);

    if (!items)
        return -1;
    for (uint32_t i = 0; i < n; i++)
        items[i] = (struct keyed_value){
            .key = value_text(values, value_items(values, id)[2 * i]),
            .value = value_items(values, id)[2 * i + 1]};
    qsort(items, n, sizeof *items, by_key);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t name = build_string(g->build, items[i].key);

        r->arg = name == INTERN_NONE ? arg : name;
        r->inside = false;
        r->item = 0;
        if (add_refs(r, items[i].value) < 0)
            return -1;
    }
    r->arg = arg;
    return 0;
}

static int add_list(struct refs_reading *r, uint32_t id)
{
    const struct values *values = build_values(r->graphs->build);
    bool before = r->inside;

    r->inside = true;
    for (uint32_t i = 0; i < value_at(values, id)->n; i++)
        if (add_refs(r, value_items(values, id)[i]) < 0)
            return -1;
    r->inside = before;
    return 0;
}

static int add_refs(struct refs_reading *r, uint32_t id)
{
    const struct values *values = build_values(r->graphs->build);
    int added = add_ref(r, id);
    uint32_t items;

    if (added != 0)
        return added;
    if (str_is(keras_text(values, id, "class_name"), "__tuple__") &&
        value_json_get(values, id, "items", &items))
        id = items;
    if (value_at(values, id)->kind == VALUE_LIST)
        return add_list(r, id);
    return value_at(values, id)->kind == VALUE_DICT ? add_dict(r, id) : 0;
}

int64_t keras_refs_add(struct keras_graphs *graphs, uint32_t model, uint32_t value,
                       uint32_t arg, bool sure)
{
    struct refs_reading r = {
        .graphs = graphs, .model = model, .arg = arg, .sure = sure};
    uint32_t before = graphs->n_refs;

    return add_refs(&r, value) < 0 ? -1 : (int64_t)graphs->n_refs - before;
}

/* ---- calls ---- */

/* Constants of a call, by argument. */
struct constants {
    uint32_t *items, n, room;
};

static int add_constant(struct keras_graphs *g, struct constants *to, struct str name,
                        uint32_t value)
{
    for (int side = 0; side < 2; side++) {
        if (arena_room(g->arena, &to->items, to->n, &to->room, sizeof *to->items) < 0)
            return -1;
        to->items[to->n++] = side ? value : value_str(build_values(g->build), name);
    }
    return 0;
}

/* One argument: tensors, or a constant that is not None. */
static int add_arg(struct keras_graphs *g, uint32_t model, struct str name,
                   uint32_t value, bool sure, struct constants *to)
{
    uint32_t arg = build_string(g->build, name);
    int64_t n = keras_refs_add(g, model, value, arg == INTERN_NONE ? 0 : arg, sure);

    if (n != 0 || value_at(build_values(g->build), value)->kind == VALUE_NONE)
        return n < 0 ? -1 : 0;
    return add_constant(g, to, name, value);
}

/* The arguments that have names. */
static int add_kwargs(struct keras_graphs *g, uint32_t model, uint32_t kwargs,
                      struct constants *to)
{
    const struct values *values = build_values(g->build);
    uint32_t n =
        value_at(values, kwargs)->kind == VALUE_DICT ? value_at(values, kwargs)->n : 0;

    for (uint32_t i = 0; i + 1 < n; i += 2) {
        uint32_t key = value_items(values, kwargs)[i];

        if (add_arg(g, model, value_text(values, key),
                    value_items(values, kwargs)[i + 1], false, to) < 0)
            return -1;
    }
    return 0;
}

/* Keras 3: {"args": [...], "kwargs": {...}} */
static int add_call(struct keras_graphs *g, uint32_t model, uint32_t call,
                    struct constants *to)
{
    const struct values *values = build_values(g->build);
    uint32_t args, kwargs;
    char name[16];

    if (!value_json_get(values, call, "args", &args))
        args = VALUE_ID_NONE;
    if (!value_json_get(values, call, "kwargs", &kwargs))
        kwargs = VALUE_ID_NONE;
    for (uint32_t i = 0;
         value_at(values, args)->kind == VALUE_LIST && i < value_at(values, args)->n;
         i++) {
        snprintf(name, sizeof name, "%u", i);
        if (add_arg(g, model, str_of(name), value_items(values, args)[i], false, to) <
            0)
            return -1;
    }
    return add_kwargs(g, model, kwargs, to);
}

/* The arguments with names in ["conv", 0, 0, {"training": false}]; all tensors of a
 * call have the same. */
static uint32_t old_kwargs(const struct values *values, uint32_t call)
{
    while (value_at(values, call)->kind == VALUE_LIST && value_at(values, call)->n) {
        if (is_history(values, call))
            return value_at(values, call)->n == 4 ? value_items(values, call)[3]
                                                  : VALUE_ID_NONE;
        call = value_items(values, call)[0];
    }
    return VALUE_ID_NONE;
}

/* Keras 2: a list of tensors. A single one is the only argument. */
static int add_old_call(struct keras_graphs *g, uint32_t model, uint32_t call,
                        struct constants *to)
{
    const struct values *values = build_values(g->build);
    uint32_t only = call, arg = build_string(g->build, STR("0"));

    if (value_at(values, call)->kind == VALUE_LIST && value_at(values, call)->n == 1)
        only = value_items(values, call)[0];
    if (keras_refs_add(g, model, only, arg == INTERN_NONE ? 0 : arg, true) < 0)
        return -1;
    return add_kwargs(g, model, old_kwargs(values, call), to);
}

int keras_refs_of_call(struct keras_graphs *g, uint32_t model, uint32_t call,
                       struct keras_node *node)
{
    struct values *values = build_values(g->build);
    struct constants constants = {0};
    uint32_t args;
    bool new_form = value_json_get(values, call, "args", &args);

    node->refs = g->n_refs;
    if ((new_form ? add_call(g, model, call, &constants)
                  : add_old_call(g, model, call, &constants)) < 0)
        return -1;
    node->n_refs = g->n_refs - node->refs;
    if (constants.n > 0)
        node->plain =
            value_make(values, VALUE_DICT, STR(""), constants.items, constants.n);
    return node->plain == VALUE_ID_FAILED ? -1 : 0;
}
