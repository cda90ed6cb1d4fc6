/* torch_module.c - nn.Modules from their pickled __dict__.
 * An object of any class is a module if its state is a dict with the keys _modules and
 * _parameters. Its children are, in this order: parameters, buffers, child modules, and
 * attributes with tensors that are not registered. All other attributes are its
 * arguments; those with a leading _ are kept apart. */
#include <string.h>

#include "base/base.h"
#include "read/torch/torch_fold_state_in.h"

#define FEW 1000 /* most names or tensors in a list */

/* torch's own keys in the __dict__ of every module, except for hooks. The lengths are
 * constants, as each is compared with every attribute of every module. */
#define KEY(name)                                                                      \
    {                                                                                  \
        name, sizeof(name) - 1                                                         \
    }
static const struct str own_keys[] = {
    KEY("training"),
    KEY("_parameters"),
    KEY("_buffers"),
    KEY("_modules"),
    KEY("_backend"),
    KEY("_non_persistent_buffers_set"),
    KEY("_code"),
    KEY("_is_full_backward_hook"),
    KEY("_compiled_call_impl"),
    KEY("_graph"),
    KEY("_graphmodule_cls_name"),
};
#undef KEY

/* The dict of a module's attributes, or NO_NODE. */
static node_id state_of(struct torch_fold *fold, node_id node)
{
    node_id slots, body;

    if (fold_callee_name(fold, node) == NAME_GRAPH_MODULE) {
        body = pickle_arg(fold->pickle, node, 0);
        return pickle_is_dict(fold->pickle, body) ? body : NO_NODE;
    }
    return fold_attributes(fold, node, &slots);
}

bool fold_is_module(struct torch_fold *fold, node_id node)
{
    node_id state = state_of(fold, node);

    return state != NO_NODE &&
           pickle_is_dict(fold->pickle,
                          pickle_dict_get(fold->pickle, state, "_modules")) &&
           pickle_dict_get(fold->pickle, state, "_parameters") != NO_NODE;
}

static void note(struct torch_fold *fold, struct fold_values *list, struct str key,
                 uint32_t value)
{
    uint32_t text = value_str(build_values(fold->build), key);

    for (int i = 0; i < 2; i++)
        if (arena_room(&fold->build->scratch, &list->at, list->n + (uint32_t)i,
                       &list->room, sizeof *list->at) < 0)
            return;
    list->at[list->n++] = text == VALUE_ID_FAILED ? 0 : text;
    list->at[list->n++] = value == VALUE_ID_FAILED ? 0 : value;
}

/* The collected attributes as a DICT; empties the list. */
static uint32_t noted(struct torch_fold *fold, struct fold_values *list)
{
    uint32_t value = VALUE_ID_NONE;

    if (list->n > 0)
        value = value_make(build_values(fold->build), VALUE_DICT, STR(""), list->at,
                           list->n);
    list->n = 0;
    return value == VALUE_ID_FAILED ? VALUE_ID_NONE : value;
}

static void add_parameters(struct torch_fold *fold, const struct fold_task *task,
                           node_id dict)
{
    struct fold_pairs pairs = fold_pairs(fold, dict);
    node_id key, value;

    while (fold_next(fold, &pairs, &key, &value))
        fold_add(fold, task, task->place, fold_key(fold, key), value, ROLE_PARAMETER,
                 fold_is(fold, value, NODE_NONE) ? PLACE_EMPTY : 0);
}

static bool list_has(const struct torch_fold *fold, node_id list, struct str text)
{
    uint32_t n = pickle_list_n(fold->pickle, list);

    for (uint32_t i = 0; i < n && i < FEW; i++)
        if (str_eq(pickle_text(fold->pickle, pickle_list_at(fold->pickle, list, i)),
                   text))
            return true;
    return false;
}

static void add_buffers(struct torch_fold *fold, const struct fold_task *task,
                        node_id dict, node_id temporary)
{
    struct fold_pairs pairs = fold_pairs(fold, dict);
    node_id key, value;

    while (fold_next(fold, &pairs, &key, &value)) {
        struct str name = fold_key(fold, key);

        if (!fold_is(fold, value, NODE_NONE))
            fold_add(fold, task, task->place, name, value, ROLE_BUFFER,
                     list_has(fold, temporary, name) ? PLACE_BUFFER_TEMP : 0);
    }
}

static void add_modules(struct torch_fold *fold, const struct fold_task *task,
                        node_id dict, struct str class_name)
{
    struct fold_pairs pairs = fold_pairs(fold, dict);
    node_id key, value;

    while (fold_next(fold, &pairs, &key, &value)) {
        struct str name = fold_key(fold, key);
        unsigned flags = 0;

        if (fold_is(fold, value, NODE_NONE))
            flags = PLACE_EMPTY;
        else if (class_wraps(class_name, name))
            flags = PLACE_PREFIX;
        fold_add(fold, task, task->place, name, value, ROLE_PLAIN, flags);
    }
}

/* The name of the function that a hook calls. */
static struct str hook_name(struct torch_fold *fold, node_id hook)
{
    const struct pickle *pickle = fold->pickle;
    node_id slots, attributes = fold_attributes(fold, hook, &slots);
    node_id inner = pickle_dict_get(pickle, attributes, "hook");

    if (inner != NO_NODE) /* torch's own wrapper around a hook */
        hook = inner;
    if (pickle_is_call(pickle, hook, "functools.partial"))
        hook = pickle_arg(pickle, hook, 0);
    else if (pickle_is_call(pickle, hook, "builtins.getattr"))
        return pickle_text(pickle, pickle_arg(pickle, hook, 1));
    if (fold_is(fold, hook, NODE_GLOBAL))
        return pickle_text(pickle, hook);
    return pickle_text(pickle, pickle_callee(pickle, hook));
}

/* "_forward_pre_hooks": {1: WeightNorm(...)} gives forward_pre_hooks: [names]. */
static void note_hooks(struct torch_fold *fold, struct str key, node_id dict)
{
    struct fold_pairs pairs = fold_pairs(fold, dict);
    uint32_t names[16], n = 0;
    node_id id, hook;

    if (pairs.n == 0 || str_ends(key, STR("_with_kwargs")) ||
        str_ends(key, STR("_always_called")))
        return;
    for (uint32_t i = 0; i < pairs.n && n < COUNT_OF(names); i++) {
        fold_pair(fold, &pairs, i, &id, &hook);
        names[n] = value_str(build_values(fold->build), hook_name(fold, hook));
        if (names[n] != VALUE_ID_FAILED)
            n++;
    }
    note(fold, &fold->hooks, str_from(key, 1),
         value_make(build_values(fold->build), VALUE_LIST, STR(""), names, n));
}

/* Is it a list of tensors that are all in the tree already, like the weights of an
 * RNN? */
static bool is_known_list(struct torch_fold *fold, node_id node)
{
    uint32_t n = pickle_list_n(fold->pickle, node);

    if (!pickle_is_list(fold->pickle, node) || n == 0 || n > FEW)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        node_id item = pickle_list_at(fold->pickle, node, i);

        if (fold_thing(fold, item) != THING_TENSOR || fold->mark[item] == 0)
            return false;
    }
    return true;
}

static bool is_own_key(struct str key)
{
    for (size_t i = 0; i < COUNT_OF(own_keys); i++)
        if (str_eq(key, own_keys[i]))
            return true;
    return false;
}

/* One attribute: a place if it holds tensors, else an argument. */
static void add_attribute(struct torch_fold *fold, const struct fold_task *task,
                          struct str key, node_id value)
{
    bool hidden = key.len > 0 && key.at[0] == '_';

    /* A fast path: most names with "_hooks" end in it. */
    if (hidden && (str_ends(key, STR("_hooks")) || str_find(key, STR("_hooks")) >= 0))
        note_hooks(fold, key, value);
    else if (fold_weight(fold, value) == WEIGHT_HOLDS && !is_known_list(fold, value))
        fold_add(fold, task, task->place, key, value, ROLE_PLAIN, PLACE_ATTRIBUTE);
    else
        note(fold, hidden ? &fold->hidden : &fold->args, key, fold_value(fold, value));
}

static void add_attributes(struct torch_fold *fold, const struct fold_task *task,
                           node_id state)
{
    struct fold_pairs pairs = fold_pairs(fold, state);
    node_id key, value;

    while (fold_next(fold, &pairs, &key, &value)) {
        struct str name = fold_key(fold, key);

        if (name.at && !is_own_key(name))
            add_attribute(fold, task, name, value);
    }
}

/* Set the module's object from its collected attributes. */
static void set_object(struct torch_fold *fold, const struct fold_task *task,
                       uint32_t class_id, node_id training)
{
    uint32_t args = noted(fold, &fold->args), hidden = noted(fold, &fold->hidden);
    uint32_t hooks = noted(fold, &fold->hooks);
    struct object *object = build_object(fold->build, task->place);

    if (!object)
        return;
    object->class_id = class_id;
    object->args = args;
    object->hidden = hidden;
    object->hooks = hooks;
    if (fold_is(fold, training, NODE_BOOL))
        object->training = fold_node(fold, training)->integer != 0;
}

static struct str class_text(const struct torch_fold *fold, uint32_t class_id)
{
    const struct model *model = fold->build->model;

    return class_id == NO_CLASS ? STR("")
                                : model_string(model, model->classes[class_id].name);
}

/* An fx.GraphModule carries the code of its forward(); its class is made on the fly. */
static uint32_t graph_class(struct torch_fold *fold, node_id state)
{
    struct str name = pickle_text(
        fold->pickle, pickle_dict_get(fold->pickle, state, "_graphmodule_cls_name"));
    struct str code =
        pickle_text(fold->pickle, pickle_dict_get(fold->pickle, state, "_code"));
    char *full = arena_printf(&fold->build->scratch, "torch.fx.graph_module.%.*s",
                              STR_ARG(name.len > 0 ? name : STR("GraphModule")));
    uint32_t id = full ? build_class(fold->build, str_of(full)) : NO_CLASS;

    if (id == NO_CLASS || !code.at)
        return id;
    if (fold->build->model->classes[id].source == 0)
        fold->build->model->classes[id].source = build_string(fold->build, code);
    else /* another graph with the same name: keep its code with the module */
        note(fold, &fold->hidden, STR("_code"),
             value_str(build_values(fold->build), code));
    return id;
}

static void unfold_flat(struct torch_fold *fold, const struct fold_task *task);

void unfold_module(struct torch_fold *fold, const struct fold_task *task)
{
    const struct pickle *pickle = fold->pickle;
    node_id state = state_of(fold, task->node);
    uint32_t class_id;

    if (fold->dialect->flat_state && !fold_is_module(fold, task->node)) {
        unfold_flat(fold, task);
        return;
    }
    if (fold_callee_name(fold, task->node) == NAME_GRAPH_MODULE)
        class_id = graph_class(fold, state);
    else
        class_id = fold_class(fold, pickle_callee(pickle, task->node));
    add_parameters(fold, task, pickle_dict_get(pickle, state, "_parameters"));
    add_buffers(fold, task, pickle_dict_get(pickle, state, "_buffers"),
                pickle_dict_get(pickle, state, "_non_persistent_buffers_set"));
    add_modules(fold, task, pickle_dict_get(pickle, state, "_modules"),
                class_text(fold, class_id));
    add_attributes(fold, task, state);
    set_object(fold, task, class_id, pickle_dict_get(pickle, state, "training"));
}

/* Add one attribute of a TorchScript object; the code has the roles of tensors. */
static void add_flat(struct torch_fold *fold, const struct fold_task *task,
                     struct str class_name, struct str key, node_id value)
{
    const struct torch_dialect *dialect = fold->dialect;
    enum thing thing = fold_thing(fold, fold_inner(fold, value));
    enum tensor_role role = ROLE_PLAIN;

    if (thing == THING_TENSOR && dialect->flat_role)
        role = dialect->flat_role(dialect->user, class_name, key);
    if (thing == THING_MODULE || role != ROLE_PLAIN)
        fold_add(fold, task, task->place, key, value, role, 0);
    else
        add_attribute(fold, task, key, value);
}

static void unfold_flat(struct torch_fold *fold, const struct fold_task *task)
{
    const struct torch_dialect *dialect = fold->dialect;
    node_id class_node = pickle_callee(fold->pickle, task->node);
    node_id state = state_of(fold, task->node), key, value;
    struct fold_pairs pairs = fold_pairs(fold, state);
    struct str class_name = pickle_text(fold->pickle, class_node);

    /* Tensors first, then children: the file has them in the order of the code. */
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < pairs.n && fold_go_on(fold); i++) {
            struct str name;
            bool leaf;

            fold_pair(fold, &pairs, i, &key, &value);
            name = fold_key(fold, key);
            leaf = fold_thing(fold, fold_inner(fold, value)) < THING_MODULE;
            if (name.at && !str_is(name, "training") && leaf == (round == 0))
                add_flat(fold, task, class_name, name, value);
        }
    set_object(fold, task, fold_class(fold, class_node),
               pickle_dict_get(fold->pickle, state, "training"));
    if (dialect->flat_object &&
        !dialect->flat_object(dialect->user, task->place, class_name))
        build_set_kind(fold->build, task->place, PLACE_GROUP);
}
