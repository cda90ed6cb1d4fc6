/* torch_thing.c - the kind of a node: tensor, module, dict, list, object or plain
 * value. Cached by node: a file may refer to one large object a million times. */
#include "read/torch/torch_fold_state_in.h"
#include "read/torch/torch_tensor_in.h"

#define INNER_HOPS 16

node_id fold_attributes(struct torch_fold *fold, node_id node, node_id *ret_slots)
{
    const struct pickle *pickle = fold->pickle;
    node_id state = node < fold->n_nodes ? fold_state(fold, node) : NO_NODE;
    node_id inner;

    *ret_slots = NO_NODE;
    if (fold_is(fold, state, NODE_TUPLE) && pickle_count(pickle, state) == 2) {
        inner = pickle_item(pickle, state, 1);
        if (pickle_is_dict(pickle, inner))
            *ret_slots = inner;
        state = pickle_item(pickle, state, 0);
    }
    if (!pickle_is_dict(pickle, state))
        return NO_NODE;
    /* pydantic keeps the attributes one level down. */
    if (pickle_dict_n(pickle, state) <= 8) {
        inner = pickle_dict_get(pickle, state, "__dict__");
        if (pickle_is_dict(pickle, inner))
            return inner;
    }
    return state;
}

/* An attribute of an omegaconf node, or NO_NODE. */
static node_id omegaconf_get(struct torch_fold *fold, node_id node, const char *key)
{
    node_id slots, attributes = fold_attributes(fold, node, &slots);

    return pickle_dict_get(fold->pickle, attributes, key);
}

node_id fold_inner(struct torch_fold *fold, node_id node)
{
    for (int hops = 0; hops < INNER_HOPS; hops++) {
        node_id inner = NO_NODE;

        switch (fold_callee_name(fold, node)) {
        case NAME_TYPE_TAG:
            inner = pickle_arg(fold->pickle, node, 0);
            break;
        case NAME_OMEGACONF:
            inner = omegaconf_get(fold, node, "_val");
            break;
        default:
            break;
        }
        if (inner == NO_NODE)
            break;
        node = inner;
    }
    return node;
}

node_id fold_content(struct torch_fold *fold, node_id node)
{
    node_id content = NO_NODE;

    switch (fold_callee_name(fold, node)) {
    case NAME_JIT_LIST:
        content = pickle_arg(fold->pickle, node, 0);
        break;
    case NAME_NUMPY_RECONSTRUCT:
        content = numpy_objects(fold, node);
        break;
    case NAME_OMEGACONF:
        content = omegaconf_get(fold, node, "_content");
        break;
    default:
        break;
    }
    return content == NO_NODE ? node : content;
}

struct fold_pairs fold_pairs(struct torch_fold *fold, node_id dict)
{
    const struct pickle *pickle = fold->pickle;
    struct fold_pairs pairs = {.dict = dict};
    const struct node *node;
    node_id extra;

    if (dict >= fold->n_nodes)
        return pairs;
    node = fold_node(fold, dict);
    /* An OrderedDict made empty and then filled counts as a dict. */
    extra = node_extra(pickle, node);
    if (node->kind != NODE_DICT && pickle_args(pickle, dict) == 0) {
        if (extra == NO_NODE) /* each module has ten of these, for hooks */
            return pairs;
        if (fold_is(fold, extra, NODE_DICT))
            node = fold_node(fold, extra);
    }
    if (node->kind == NODE_DICT) {
        pairs.n = node->items.n / 2;
        if (pairs.n > 0)
            pairs.items = pickle->items + node->items.first;
    } else {
        pairs.n = pickle_dict_n(pickle, dict);
    }
    return pairs;
}

void fold_pair(const struct torch_fold *fold, const struct fold_pairs *pairs,
               uint32_t i, node_id *ret_key, node_id *ret_value)
{
    if (pairs->items) {
        *ret_key = pairs->items[2 * (size_t)i];
        *ret_value = pairs->items[2 * (size_t)i + 1];
    } else if (!pickle_dict_at(fold->pickle, pairs->dict, i, ret_key, ret_value)) {
        *ret_key = *ret_value = NO_NODE;
    }
}

bool fold_next(struct torch_fold *fold, struct fold_pairs *pairs, node_id *ret_key,
               node_id *ret_value)
{
    if (pairs->next >= pairs->n || !fold_go_on(fold))
        return false;
    fold_pair(fold, pairs, pairs->next++, ret_key, ret_value);
    return true;
}

/* Is this persistent id a tensor or a storage? */
static enum thing persistent_thing(struct torch_fold *fold, node_id node)
{
    const struct torch_dialect *dialect = fold->dialect;
    int64_t shape[FOLD_MAX_RANK], strides[FOLD_MAX_RANK];
    struct tensor tensor = {0};

    if (dialect->tensor && dialect->tensor(dialect->user, fold->pickle, node, &tensor,
                                           shape, strides) >= 0)
        return THING_TENSOR;
    if (fold_persistent(fold, node)->kind == PERSISTENT_STORAGE)
        return THING_STORAGE;
    return THING_VALUE;
}

/* Calls and objects that are known by the name of their callee, and modules. */
static enum thing named_thing(struct torch_fold *fold, node_id node)
{
    enum torch_name name = fold_callee_name(fold, node);
    const struct pickle_raw *raw;
    node_id slots;

    switch (name) {
    case NAME_JOBLIB_ARRAY:
        raw = pickle_raw_at(fold->pickle, node);
        if (!raw)
            break;
        if (raw->inner)
            return THING_FILE;
        return numpy_is_tensor(fold, node) ? THING_ARRAY : THING_VALUE;
    case NAME_LOAD_FROM_BYTES:
        return THING_FILE;
    case NAME_GRAPH_MODULE:
        return THING_MODULE;
    case NAME_NUMPY_RECONSTRUCT:
    case NAME_NUMPY_FROMBUFFER:
        if (numpy_is_tensor(fold, node))
            return THING_ARRAY;
        return numpy_objects(fold, node) == NO_NODE ? THING_VALUE : THING_LIST;
    case NAME_NUMPY_PLAIN:
    case NAME_METHOD:
    case NAME_SIZE:
        return THING_VALUE;
    default:
        break;
    }
    if (name >= NAME_REBUILD_TENSOR && name <= NAME_LAST_TENSOR)
        return THING_TENSOR;
    if (fold_is_module(fold, node))
        return THING_MODULE;
    if (fold->dialect->flat_state && fold_is(fold, node, NODE_NEW) &&
        fold_attributes(fold, node, &slots) != NO_NODE)
        return THING_MODULE;
    return THING_NOT_SEEN;
}

/* One container on the stack of fold_weight(). */
struct fold_look {
    node_id node;
    uint32_t next; /* which child comes next */
    uint8_t weight;
};

/* The weight of a node without its children; *ret_open: they may weigh more. */
static enum weight own_weight(struct torch_fold *fold, node_id id, bool *ret_open)
{
    const struct node *node = fold_node(fold, id);
    enum thing thing;

    *ret_open = false;
    switch ((enum node_kind)node->kind) {
    case NODE_LIST:
    case NODE_TUPLE:
    case NODE_SET:
        *ret_open = true;
        return WEIGHT_FLAT;
    case NODE_DICT:
        *ret_open = true;
        return node->items.n > 0 ? WEIGHT_STRUCTURE : WEIGHT_FLAT;
    case NODE_PERSISTENT:
        thing = persistent_thing(fold, id);
        return thing == THING_VALUE ? WEIGHT_FLAT : WEIGHT_HOLDS;
    case NODE_CALL:
    case NODE_NEW:
        thing = named_thing(fold, id);
        if (thing == THING_VALUE)
            return WEIGHT_FLAT;
        *ret_open = thing == THING_NOT_SEEN || thing == THING_LIST;
        if (!*ret_open)
            return WEIGHT_HOLDS;
        return pickle_is_dict(fold->pickle, fold_state(fold, id)) ||
                       node_extra(fold->pickle, node) != NO_NODE
                   ? WEIGHT_STRUCTURE
                   : WEIGHT_FLAT;
    default:
        return WEIGHT_FLAT;
    }
}

/* The i-th child of a container or call, or NO_NODE; *ret_end: no more. */
static node_id child_at(const struct torch_fold *fold, node_id id, uint32_t i,
                        bool *ret_end)
{
    const struct node *node = fold_node(fold, id);

    *ret_end = false;
    if (node->kind == NODE_CALL || node->kind == NODE_NEW) {
        switch (i) {
        case 0:
            return node->call.args;
        case 1:
            return fold_state(fold, id);
        case 2:
            return node_extra(fold->pickle, node);
        }
    } else if (i < node->items.n) {
        return fold->pickle->items[node->items.first + i];
    }
    *ret_end = true;
    return NO_NODE;
}

/* Push a container; set the weight of anything else. */
static void look_into(struct torch_fold *fold, node_id node)
{
    bool open;
    enum weight weight = own_weight(fold, node, &open);

    if (open && arena_room(&fold->build->scratch, &fold->looks, fold->n_looks,
                           &fold->looks_room, sizeof *fold->looks) == 0) {
        fold->looks[fold->n_looks++] =
            (struct fold_look){.node = node, .weight = (uint8_t)weight};
        weight = WEIGHT_BUSY;
    }
    fold->weight[node] = (uint8_t)weight;
}

enum weight fold_weight(struct torch_fold *fold, node_id node)
{
    uint32_t bottom = fold->n_looks;

    if (node >= fold->n_nodes)
        return WEIGHT_FLAT;
    if (fold->weight[node] == WEIGHT_NOT_SEEN)
        look_into(fold, node);
    while (fold->n_looks > bottom) {
        struct fold_look *look = &fold->looks[fold->n_looks - 1];
        bool end = look->weight == WEIGHT_HOLDS;
        node_id child = end ? NO_NODE : child_at(fold, look->node, look->next, &end);

        if (end) {
            fold->weight[look->node] = look->weight;
            fold->n_looks--;
        } else if (child >= fold->n_nodes) {
            look->next++;
        } else if (fold->weight[child] == WEIGHT_NOT_SEEN) {
            look_into(fold, child); /* its weight is known once its children are done */
        } else {
            if (fold->weight[child] > look->weight)
                look->weight = fold->weight[child];
            look->next++;
        }
    }
    return (enum weight)fold->weight[node];
}

static enum thing list_thing(struct torch_fold *fold, node_id list)
{
    if (pickle_list_n(fold->pickle, list) == 0 ||
        fold_weight(fold, list) == WEIGHT_FLAT)
        return THING_VALUE;
    return THING_LIST;
}

/* An object of a class outside torch. */
static enum thing object_thing(struct torch_fold *fold, node_id node)
{
    const struct pickle *pickle = fold->pickle;
    node_id slots, attributes, content = fold_content(fold, node);

    if (content != node && !pickle_is_dict(pickle, content) &&
        !pickle_is_list(pickle, content))
        return THING_VALUE;
    if (pickle_is_dict(pickle, content))
        return pickle_dict_n(pickle, content) > 0 ? THING_DICT : THING_VALUE;
    if (pickle_is_list(pickle, content))
        return list_thing(fold, content);
    attributes = fold_attributes(fold, node, &slots);
    if (pickle_dict_n(pickle, attributes) > 0 || pickle_dict_n(pickle, slots) > 0 ||
        node_extra(pickle, fold_node(fold, node)) != NO_NODE)
        return THING_OBJECT;
    return fold_weight(fold, node) == WEIGHT_HOLDS ? THING_OBJECT : THING_VALUE;
}

enum thing fold_thing(struct torch_fold *fold, node_id node)
{
    enum thing thing = THING_VALUE;

    if (node >= fold->n_nodes)
        return THING_VALUE;
    if (fold->thing[node] != THING_NOT_SEEN)
        return (enum thing)fold->thing[node];
    switch ((enum node_kind)fold_node(fold, node)->kind) {
    case NODE_LIST:
    case NODE_TUPLE:
    case NODE_SET:
        thing = list_thing(fold, node);
        break;
    case NODE_DICT:
        thing = pickle_count(fold->pickle, node) > 0 ? THING_DICT : THING_VALUE;
        break;
    case NODE_PERSISTENT:
        thing = persistent_thing(fold, node);
        break;
    case NODE_CALL:
    case NODE_NEW:
        thing = named_thing(fold, node);
        if (thing == THING_NOT_SEEN)
            thing = object_thing(fold, node);
        break;
    default:
        break;
    }
    fold->thing[node] = (uint8_t)thing;
    return thing;
}
