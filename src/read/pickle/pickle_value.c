#include "read/pickle/pickle_value_in.h"

#include "read/pickle/pickle_fold_in.h"

#define BRIEF_DEPTH 6
#define BRIEF_ITEMS 32
#define BRIEF_NODES 256

static uint32_t cut(struct folding *f, const char *why, uint32_t left_out)
{
    return value_make(f->values, VALUE_CUT, str_of(why), NULL, left_out);
}

/* Collect the values of a container; one array serves all levels. */
static int hold(struct folding *f, uint32_t value)
{
    struct pickle_notes *notes = f->pickle->notes;

    if (value == VALUE_ID_FAILED ||
        arena_room(&f->pickle->build->scratch, &notes->held, notes->n_held,
                   &notes->held_room, sizeof *notes->held) < 0)
        return -1;
    notes->held[notes->n_held++] = value;
    return 0;
}

/* Make a value of all items collected since `from`, and drop them. */
static uint32_t make_of_held(struct folding *f, enum value_kind kind, struct str text,
                             uint32_t from, int status)
{
    struct pickle_notes *notes = f->pickle->notes;
    uint32_t n = notes->n_held - from;

    notes->n_held = from;
    if (status < 0)
        return VALUE_ID_FAILED;
    return value_make(f->values, kind, text, n > 0 ? notes->held + from : NULL, n);
}

static int hold_items(struct folding *f, node_id list)
{
    uint32_t n = pickle_list_n(f->pickle, list);

    for (uint32_t i = 0; i < n; i++) {
        if (i == f->max_items)
            return hold(f, cut(f, "too many items", n - i));
        if (hold(f, folding_any(f, pickle_list_at(f->pickle, list, i))) < 0)
            return -1;
    }
    return 0;
}

static int hold_pairs(struct folding *f, node_id dict)
{
    uint32_t n = pickle_dict_n(f->pickle, dict);

    for (uint32_t i = 0; i < n; i++) {
        node_id key, value;

        if (i == f->max_items) {
            uint32_t rest = cut(f, "too many items", n - i);

            return hold(f, rest) < 0 || hold(f, rest) < 0 ? -1 : 0;
        }
        if (!pickle_dict_at(f->pickle, dict, i, &key, &value))
            continue;
        if (hold(f, folding_any(f, key)) < 0 || hold(f, folding_any(f, value)) < 0)
            return -1;
    }
    return 0;
}

uint32_t folding_list(struct folding *f, node_id list, enum value_kind kind)
{
    uint32_t from = f->pickle->notes->n_held;
    int status = hold_items(f, list);

    return make_of_held(f, kind, STR(""), from, status);
}

uint32_t folding_dict(struct folding *f, node_id dict, enum value_kind kind,
                      struct str text)
{
    uint32_t from = f->pickle->notes->n_held;
    int status = hold_pairs(f, dict);

    return make_of_held(f, kind, text, from, status);
}

uint32_t folding_named(struct folding *f, struct str name, struct str argument)
{
    uint32_t value = value_str(f->values, argument);

    if (value == VALUE_ID_FAILED)
        return VALUE_ID_FAILED;
    return value_make(f->values, VALUE_CALL, name, &value, 1);
}

/* While the pickle runs there is no index yet, and a large dict is not searched. */
node_id folding_get(const struct folding *f, node_id dict, const char *key)
{
    if (!f->keep && pickle_dict_n(f->pickle, dict) > BRIEF_ITEMS)
        return NO_NODE;
    return pickle_dict_get(f->pickle, dict, key);
}

/* The name of the called class or function. */
static struct str callee_text(struct folding *f, node_id id)
{
    node_id known = pickle_class(f->pickle, pickle_callee(f->pickle, id));

    return known == NO_NODE ? STR("<computed>") : pickle_text(f->pickle, known);
}

static uint32_t fold_arguments(struct folding *f, node_id id)
{
    const struct node *node = pickle_node(f->pickle, id);
    uint32_t from = f->pickle->notes->n_held;
    int status = 0;

    /* A callee that is itself the result of a call is shown before the arguments. */
    if (pickle_class(f->pickle, node->call.callee) == NO_NODE)
        status = hold(f, folding_any(f, node->call.callee));
    if (status == 0 && pickle_is_list(f->pickle, node->call.args))
        status = hold_items(f, node->call.args);
    else if (status == 0)
        status = hold(f, folding_any(f, node->call.args));
    for (int kind = NODE_LIST; status == 0 && kind <= NODE_DICT; kind++) {
        node_id extra = pickle_extra(f->pickle, id, kind);

        if (extra != NO_NODE)
            status = hold(f, folding_any(f, extra));
    }
    return make_of_held(f, VALUE_CALL, callee_text(f, id), from, status);
}

static int hold_attribute(struct folding *f, struct str name, uint32_t value)
{
    return hold(f, value_str(f->values, name)) < 0 || hold(f, value) < 0 ? -1 : 0;
}

/* The attributes of an object by its state: a dict, a pair of a dict and the slots, or
 * any argument of __setstate__(). */
static int hold_state(struct folding *f, node_id state)
{
    const struct pickle *p = f->pickle;
    node_id inner = folding_get(f, state, "__dict__");

    if (pickle_is_dict(p, state))
        return hold_pairs(f, pickle_is_dict(p, inner) ? inner : state);
    if (pickle_count(p, state) == 2 && pickle_is_dict(p, pickle_item(p, state, 1))) {
        if (hold_pairs(f, pickle_item(p, state, 0)) < 0)
            return -1;
        return hold_pairs(f, pickle_item(p, state, 1));
    }
    return hold_attribute(f, STR("__setstate__"), folding_any(f, state));
}

static uint32_t fold_object(struct folding *f, node_id id)
{
    const struct node *node = pickle_node(f->pickle, id);
    node_id items = pickle_extra(f->pickle, id, NODE_DICT);
    uint32_t from = f->pickle->notes->n_held;
    int status = 0;

    /* A subclass of dict: show its items. */
    if (items != NO_NODE)
        return folding_dict(f, items, VALUE_OBJECT, callee_text(f, id));
    if (node_state(f->pickle, node) == NO_NODE)
        return fold_arguments(f, id);
    if (pickle_args(f->pickle, id) > 0)
        status = hold_attribute(f, STR("__init__"), folding_any(f, node->call.args));
    if (status == 0)
        status = hold_state(f, node_state(f->pickle, node));
    return make_of_held(f, VALUE_OBJECT, callee_text(f, id), from, status);
}

static bool is_module(const struct pickle *pickle, node_id id)
{
    const struct node *node = pickle_node(pickle, id);
    node_id state = node ? node_state(pickle, node) : NO_NODE;

    return state != NO_NODE && pickle_dict_get(pickle, state, "_modules") != NO_NODE &&
           pickle_dict_get(pickle, state, "_parameters") != NO_NODE;
}

static uint32_t fold_made(struct folding *f, node_id id)
{
    uint32_t value = folding_call(f, id);

    if (value != NOT_FOLDED)
        return value;
    /* Modules are in the tree; as a value, one is only a name. */
    if (f->keep && is_module(f->pickle, id))
        return value_make(f->values, VALUE_OBJECT, callee_text(f, id), NULL, 0);
    return fold_object(f, id);
}

static uint32_t fold_persistent(struct folding *f, node_id id)
{
    uint32_t of = folding_any(f, pickle_callee(f->pickle, id));

    if (of == VALUE_ID_FAILED)
        return VALUE_ID_FAILED;
    return value_make(f->values, VALUE_CALL, STR("persistent_load"), &of, 1);
}

/* The value of a node with children. */
static uint32_t fold_nested(struct folding *f, node_id id, const struct node *node)
{
    switch ((enum node_kind)node->kind) {
    case NODE_LIST:
        return folding_list(f, id, VALUE_LIST);
    case NODE_TUPLE:
        return folding_list(f, id, VALUE_TUPLE);
    case NODE_SET:
        return folding_list(f, id, VALUE_SET);
    case NODE_DICT:
        return folding_dict(f, id, VALUE_DICT, STR(""));
    case NODE_PERSISTENT:
        return fold_persistent(f, id);
    default:
        return fold_made(f, id);
    }
}

/* The value of a node without children; NOT_FOLDED: it may have some. */
static uint32_t fold_leaf(struct folding *f, node_id id, const struct node *node)
{
    struct values *values = f->values;
    struct str text = pickle_text(f->pickle, id);
    uint32_t code;

    switch ((enum node_kind)node->kind) {
    case NODE_NONE:
        return VALUE_ID_NONE;
    case NODE_BOOL:
        return value_bool(values, node->integer != 0);
    case NODE_INT:
        return value_int(values, node->integer);
    case NODE_REAL:
        return value_real(values, node->real);
    case NODE_STR:
        return value_str(values, text);
    case NODE_BIGINT:
        return value_make(values, VALUE_BIGINT, pickle_number_text(f->pickle, id), NULL,
                          0);
    case NODE_BYTES:
        return value_bytes(values, str_head(text, VALUE_BYTES_KEPT), text.len);
    case NODE_GLOBAL:
        return value_make(values, VALUE_GLOBAL, text, NULL, 0);
    case NODE_BUFFER:
        return cut(f, "a buffer outside the pickle", 0);
    case NODE_EXTENSION:
        code = value_int(values, node->integer);
        if (code == VALUE_ID_FAILED)
            return VALUE_ID_FAILED;
        return value_make(values, VALUE_CALL, STR("<extension>"), &code, 1);
    default:
        return NOT_FOLDED;
    }
}

static bool is_inside(const struct folding *f, node_id id)
{
    for (uint32_t i = 0; i < f->depth; i++)
        if (f->path[i] == id)
            return true;
    return false;
}

static uint32_t ask_for_tensor(struct folding *f, node_id id)
{
    if (!f->hooks || !f->hooks->tensor)
        return NO_OBJECT;
    return f->hooks->tensor(f->hooks->user, id);
}

uint32_t folding_any(struct folding *f, node_id id)
{
    const struct node *node = pickle_node(f->pickle, id);
    uint32_t value, tensor;

    if (!node)
        return VALUE_ID_NONE;
    if (*f->nodes_left == 0)
        return cut(f, "too many values", 0);
    --*f->nodes_left;
    value = fold_leaf(f, id, node);
    if (value != NOT_FOLDED)
        return value;
    if (f->keep && map_find(&f->pickle->notes->values, id, &value))
        return value;
    if (is_inside(f, id))
        return cut(f, "leads back to itself", 0);
    if (f->depth == f->max_depth)
        return cut(f, "too deep", 0);
    tensor = node->kind >= NODE_CALL ? ask_for_tensor(f, id) : NO_OBJECT;
    if (tensor != NO_OBJECT)
        return value_tensor(f->values, tensor);
    f->path[f->depth++] = id;
    value = fold_nested(f, id, node);
    f->depth--;
    /* A graph of n nodes can expand to a tree of 2^n: fold each container only once. */
    if (f->keep && value != VALUE_ID_FAILED)
        map_put(&f->pickle->notes->values, id, value);
    return value;
}

uint32_t pickle_value(const struct pickle *pickle, node_id node,
                      const struct pickle_value_hooks *hooks)
{
    struct folding f = {.pickle = pickle,
                        .values = build_values(pickle->build),
                        .hooks = hooks,
                        .max_depth = VALUE_MAX_DEPTH,
                        .max_items = VALUE_MAX_ITEMS,
                        .keep = true};

    if (!pickle->notes)
        return VALUE_ID_FAILED;
    f.nodes_left = &pickle->notes->values_left;
    return folding_any(&f, node);
}

uint32_t pickle_value_brief(const struct pickle *pickle, node_id node)
{
    uint32_t left = BRIEF_NODES;
    struct folding f = {.pickle = pickle,
                        .values = build_values(pickle->build),
                        .max_depth = BRIEF_DEPTH,
                        .max_items = BRIEF_ITEMS,
                        .nodes_left = &left};

    return pickle->notes ? folding_any(&f, node) : VALUE_ID_FAILED;
}

/* Does this call make a tensor, an array or a storage? */
static bool makes_tensor(const struct pickle *pickle, node_id id)
{
    struct str name = pickle_text(pickle, pickle_callee(pickle, id));

    return str_starts(name, STR("torch._utils._rebuild")) ||
           str_starts(name, STR("torch._tensor._rebuild")) ||
           str_is(name, "torch.storage._load_from_bytes") ||
           str_ends(name, STR("multiarray._reconstruct")) ||
           str_ends(name, STR("numeric._frombuffer"));
}

bool pickle_holds_tensors(const struct pickle *pickle)
{
    for (node_id id = 0; id < pickle->n_nodes; id++)
        if (pickle->nodes[id].kind == NODE_PERSISTENT || makes_tensor(pickle, id) ||
            is_module(pickle, id))
            return true;
    return false;
}
