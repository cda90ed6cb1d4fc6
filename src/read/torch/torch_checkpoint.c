/* torch_checkpoint.c - state_dicts, optimizers, and any other dicts, lists and objects.
 */
#include <string.h>

#include "base/base.h"
#include "read/pickle/pickle_value_in.h"
#include "read/torch/torch_fold_state_in.h"

#define SAMPLE 1024 /* entries that decide what a dict is */
#define FEW    64   /* an optimizer has no more keys */

/* Set the class of a group: its own, or that of a literal. */
static void set_class(struct torch_fold *fold, const struct fold_task *task)
{
    const struct node *node = fold_node(fold, task->node);
    struct object *object;
    uint32_t class_id;

    switch ((enum node_kind)node->kind) {
    case NODE_DICT:
        class_id = build_class(fold->build, STR("dict"));
        break;
    case NODE_LIST:
        class_id = build_class(fold->build, STR("list"));
        break;
    case NODE_TUPLE:
        class_id = build_class(fold->build, STR("tuple"));
        break;
    case NODE_SET:
        class_id = build_class(fold->build, STR("set"));
        break;
    case NODE_CALL:
    case NODE_NEW:
        class_id = fold_callee_name(fold, task->node) == NAME_NUMPY_RECONSTRUCT
                       ? build_class(fold->build, STR("numpy.ndarray"))
                       : fold_class(fold, node->call.callee);
        break;
    default:
        return;
    }
    object = build_object(fold->build, task->place);
    if (object)
        object->class_id = class_id;
}

/* A key as a name: a string unchanged, anything else as Python prints it. */
static struct str key_name(struct torch_fold *fold, node_id key, char text[16])
{
    const struct node *node;

    if (key >= fold->n_nodes)
        return STR("");
    node = fold_node(fold, key);
    if (node->kind == NODE_STR)
        return fold_key(fold, key);
    if (node->kind == NODE_INT && node->integer >= 0 && node->integer <= UINT32_MAX)
        return fold_index_name(text, (uint32_t)node->integer);
    return pickle_key_text(fold->pickle, key);
}

/* All entries of a dict as children of the task's place. */
static void add_entries(struct torch_fold *fold, const struct fold_task *task,
                        node_id dict, unsigned flags)
{
    struct fold_pairs pairs = fold_pairs(fold, dict);
    node_id key, value;
    char text[16];

    while (fold_next(fold, &pairs, &key, &value))
        fold_add(fold, task, task->place, key_name(fold, key, text), value, task->role,
                 flags);
}

static void add_list(struct torch_fold *fold, const struct fold_task *task,
                     node_id list)
{
    uint32_t n = pickle_list_n(fold->pickle, list);
    char text[16];

    for (uint32_t i = 0; i < n && fold_go_on(fold); i++)
        fold_add(fold, task, task->place, fold_index_name(text, i),
                 pickle_list_at(fold->pickle, list, i), task->role, 0);
}

void unfold_items(struct torch_fold *fold, const struct fold_task *task)
{
    set_class(fold, task);
    add_list(fold, task, fold_content(fold, task->node));
}

static bool is_tensor(struct torch_fold *fold, node_id node)
{
    enum thing thing = fold_thing(fold, fold_inner(fold, node));

    return thing == THING_TENSOR || thing == THING_ARRAY;
}

/* torch keeps the versions of modules as an attribute of the state_dict. */
static node_id metadata_of(struct torch_fold *fold, node_id dict)
{
    node_id slots, attributes = fold_attributes(fold, dict, &slots);

    return pickle_dict_get(fold->pickle, attributes, "_metadata");
}

/* A dict with a single tensor is usually a score or optimizer state; it is a state_dict
 * only if it has this name. */
static bool is_lone_weight(struct torch_fold *fold, node_id key)
{
    struct str name = fold_key(fold, key);

    return str_is(name, "weight") || str_is(name, "bias");
}

/* The keys of a state_dict are strings and its values tensors: all of them, or half if
 * it also has dotted names or metadata. Checks the first entries only. */
static bool is_state_dict(struct torch_fold *fold, const struct fold_task *task,
                          const struct fold_pairs *pairs, node_id dict)
{
    uint32_t n = pairs->n < SAMPLE ? pairs->n : SAMPLE, tensors = 0;
    bool dotted = false;
    node_id key = NO_NODE, value;

    for (uint32_t i = 0; i < n; i++) {
        fold_pair(fold, pairs, i, &key, &value);
        if (!fold_is(fold, key, NODE_STR))
            return false;
        tensors += is_tensor(fold, value);
        if (!dotted)
            dotted = str_find_char(fold_key(fold, key), '.') > 0;
    }
    if (tensors == 0)
        return false;
    if (tensors == n)
        return n > 1 || dotted || task->depth == 0 || is_lone_weight(fold, key);
    return tensors >= n / 2 &&
           (dotted || pickle_is_dict(fold->pickle, metadata_of(fold, dict)));
}

/* The parent place of a dotted name. A name with too many parts is not split. */
static uint32_t dotted_parent(struct torch_fold *fold, uint32_t place, struct str name,
                              struct str *ret_last)
{
    *ret_last = name;
    if (name.len > FOLD_MAX_DEPTH) {
        size_t dots = 0;

        for (size_t i = 0; i < name.len; i++)
            dots += name.at[i] == '.';
        if (dots > FOLD_MAX_DEPTH)
            return place;
    }
    return build_dotted(fold->build, place, name, ret_last);
}

/* The prefix of "layer1.0.conv1.weight": "layer1.0.conv1"; of "weight": "". */
static struct str prefix_of(struct str name)
{
    ptrdiff_t dot = str_find_last_char(name, '.');

    return str_head(name, dot < 0 ? 0 : (size_t)dot);
}

static unsigned role_by_name(struct str last)
{
    bool common = str_is(last, "weight") || str_is(last, "bias");

    return (!common && build_is_buffer_name(last) ? ROLE_BUFFER : ROLE_PARAMETER) |
           FOLD_GUESSED;
}

/* Cached: consecutive names are mostly in the same module. */
struct last_parent {
    struct str prefix;
    uint32_t place; /* NO_PLACE: none yet */
};

static void add_state(struct torch_fold *fold, const struct fold_task *task,
                      node_id key, node_id value, struct last_parent *parent)
{
    char text[16];
    struct str name = key_name(fold, key, text), prefix = prefix_of(name), last;

    if (parent->place == NO_PLACE || !str_eq(prefix, parent->prefix)) {
        parent->place = dotted_parent(fold, task->place, name, &last);
        parent->prefix = prefix;
        if (parent->place == NO_PLACE)
            return;
    } else {
        last = prefix.len > 0 ? str_from(name, prefix.len + 1) : name;
    }
    fold_add(fold, task, parent->place, last, value, role_by_name(last), 0);
}

/* Are most names in modules of the metadata? If not, the keys were renamed and the
 * metadata is about another tree. */
static bool metadata_fits(struct torch_fold *fold, struct fold_pairs states,
                          struct fold_pairs modules)
{
    struct map known;
    node_id key, value;
    uint32_t found = 0, ignored;

    map_init(&known, &fold->build->scratch);
    while (fold_next(fold, &modules, &key, &value))
        if (map_put(&known, str_hash(fold_key(fold, key)), 0) < 0)
            return false;
    while (fold_next(fold, &states, &key, &value))
        found += map_find(&known, str_hash(prefix_of(fold_key(fold, key))), &ignored);
    return found >= states.n - states.n / 2;
}

/* Make the module that the metadata names, with its version. */
static void add_module(struct torch_fold *fold, const struct fold_task *task,
                       struct str name, node_id about)
{
    node_id version = pickle_dict_get(fold->pickle, about, "version");
    uint32_t place = task->place;
    struct object *object;
    struct str last;
    int64_t number;

    if (name.len > 0) {
        place = dotted_parent(fold, place, name, &last);
        if (place != NO_PLACE)
            place = build_child(fold->build, place, PLACE_MODULE, last);
    }
    if (place == NO_PLACE || !pickle_int(fold->pickle, version, &number) ||
        number < 0 || number > UINT16_MAX)
        return;
    object = build_object(fold->build, place);
    if (object)
        object->version = (uint16_t)number;
}

/* torch writes both the metadata and the tensors in the order of the modules: add each
 * module, its own tensors, then the next module. */
static void add_states(struct torch_fold *fold, const struct fold_task *task,
                       const struct fold_pairs *states, node_id metadata)
{
    struct fold_pairs modules = fold_pairs(fold, metadata);
    struct last_parent parent = {.place = NO_PLACE};
    node_id key, value, name, about;
    uint32_t i = 0;

    if (modules.n > 0 && !metadata_fits(fold, *states, modules))
        modules.n = 0;
    while (fold_next(fold, &modules, &name, &about)) {
        struct str prefix;

        if (!fold_is(fold, name, NODE_STR))
            continue;
        prefix = fold_key(fold, name);
        add_module(fold, task, prefix, about);
        for (; i < states->n && fold_go_on(fold); i++) {
            fold_pair(fold, states, i, &key, &value);
            if (!str_eq(prefix_of(fold_key(fold, key)), prefix))
                break;
            add_state(fold, task, key, value, &parent);
        }
    }
    for (; i < states->n && fold_go_on(fold); i++) {
        fold_pair(fold, states, i, &key, &value);
        add_state(fold, task, key, value, &parent);
    }
}

/* {'state': {0: {...}}, 'param_groups': [...]}; without groups, by the numbers of the
 * parameters. */
static bool is_optimizer(struct torch_fold *fold, node_id dict)
{
    const struct pickle *pickle = fold->pickle;
    node_id state = pickle_dict_get(pickle, dict, "state"), key = NO_NODE, value;

    if (pickle_dict_n(pickle, dict) > FEW || !pickle_is_dict(pickle, state))
        return false;
    if (pickle_is_list(pickle, pickle_dict_get(pickle, dict, "param_groups")))
        return true;
    return pickle_dict_at(pickle, state, 0, &key, &value) &&
           fold_is(fold, key, NODE_INT) && pickle_is_dict(pickle, value);
}

/* Attributes of a subclass of dict. */
static void add_dict_attributes(struct torch_fold *fold, const struct fold_task *task)
{
    node_id slots, attributes = fold_attributes(fold, task->node, &slots), key, value;
    struct fold_pairs pairs = fold_pairs(fold, attributes);
    char text[16];

    if (fold_callee_name(fold, task->node) == NAME_OMEGACONF)
        return;
    while (fold_next(fold, &pairs, &key, &value))
        if (!str_is(pickle_text(fold->pickle, key), "_metadata"))
            fold_add(fold, task, task->place, key_name(fold, key, text), value,
                     task->role, PLACE_ATTRIBUTE);
}

void unfold_dict(struct torch_fold *fold, const struct fold_task *task)
{
    node_id dict = fold_content(fold, task->node);
    struct fold_pairs pairs = fold_pairs(fold, dict);
    struct fold_task inner = *task;

    set_class(fold, task);
    if (is_optimizer(fold, dict)) {
        build_set_flags(fold->build, task->place, PLACE_OPTIMIZER);
        inner.role = ROLE_STATE;
        add_entries(fold, &inner, dict, 0);
    } else if (task->role != ROLE_STATE && is_state_dict(fold, task, &pairs, dict)) {
        build_set_flags(fold->build, task->place, PLACE_STATE_DICT);
        add_states(fold, task, &pairs, metadata_of(fold, dict));
    } else {
        add_entries(fold, task, dict, 0);
    }
    add_dict_attributes(fold, task);
}

/* A torchbind object: its content, then the name of its class: ((weight, bias), name).
 */
static bool unfold_script_object(struct torch_fold *fold, const struct fold_task *task)
{
    const struct pickle *pickle = fold->pickle;
    node_id state = fold_state(fold, task->node);
    struct str name = pickle_text(pickle, pickle_item(pickle, state, 1));
    struct object *object;

    if (!fold_is(fold, state, NODE_TUPLE) || pickle_count(pickle, state) != 2 ||
        !str_starts(name, STR("__torch__.")) ||
        !pickle_is_list(pickle, pickle_item(pickle, state, 0)))
        return false;
    object = build_object(fold->build, task->place);
    if (object)
        object->class_id = build_class(fold->build, name);
    add_list(fold, task, pickle_item(pickle, state, 0));
    return true;
}

void unfold_object(struct torch_fold *fold, const struct fold_task *task)
{
    const struct pickle *pickle = fold->pickle;
    const struct node *node = fold_node(fold, task->node);
    node_id slots, attributes = fold_attributes(fold, task->node, &slots);

    if (unfold_script_object(fold, task))
        return;
    set_class(fold, task);
    if (pickle_args(pickle, task->node) > 0)
        add_list(fold, task, node->call.args);
    if (attributes != NO_NODE)
        add_entries(fold, task, attributes, 0);
    if (slots != NO_NODE)
        add_entries(fold, task, slots, 0);
    if (attributes == NO_NODE && slots == NO_NODE &&
        pickle_is_list(pickle, node_state(pickle, node)))
        add_list(fold, task, node_state(pickle, node));
    add_entries(fold, task, pickle_extra(pickle, task->node, NODE_DICT), 0);
    add_list(fold, task, pickle_extra(pickle, task->node, NODE_LIST));
}
