#include "read/pickle/pickle_notes_in.h"

#include "read/pickle/pickle_machine_in.h"

#define INDEX_FROM 64 /* a dict with more keys is indexed when it is searched */

const struct node *pickle_node(const struct pickle *pickle, node_id id)
{
    return id < pickle->n_nodes ? &pickle->nodes[id] : NULL;
}

static enum node_kind kind_of(const struct pickle *pickle, node_id id)
{
    return id < pickle->n_nodes ? pickle->nodes[id].kind : NODE_NONE;
}

struct str pickle_text(const struct pickle *pickle, node_id id)
{
    const struct node *node;

    switch (kind_of(pickle, id)) {
    case NODE_STR:
    case NODE_BYTES:
    case NODE_BIGINT:
        node = &pickle->nodes[id];
        if (node->flags & NODE_LISTED)
            return pickle->texts[node->listed.text];
        if (node->text.len < pickle->copied)
            return (struct str){pickle->chars[node->text.at >> CHARS_SHIFT] +
                                    (node->text.at & ((1u << CHARS_SHIFT) - 1)),
                                node->text.len};
        return (struct str){pickle->input + node->text.at, node->text.len};
    case NODE_GLOBAL:
        return pickle->texts[pickle->nodes[id].listed.text];
    default:
        return (struct str){NULL, 0};
    }
}

static bool has_items(enum node_kind kind)
{
    return kind >= NODE_LIST && kind <= NODE_SET;
}

uint32_t pickle_count(const struct pickle *pickle, node_id id)
{
    return has_items(kind_of(pickle, id)) ? pickle->nodes[id].items.n : 0;
}

node_id pickle_item(const struct pickle *pickle, node_id id, uint32_t i)
{
    if (i >= pickle_count(pickle, id))
        return NO_NODE;
    return pickle->items[pickle->nodes[id].items.first + i];
}

bool pickle_int(const struct pickle *pickle, node_id id, int64_t *ret_value)
{
    enum node_kind kind = kind_of(pickle, id);

    if (kind != NODE_INT && kind != NODE_BOOL)
        return false;
    *ret_value = pickle->nodes[id].integer;
    return true;
}

bool pickle_is_global(const struct pickle *pickle, node_id id, const char *name)
{
    return kind_of(pickle, id) == NODE_GLOBAL && str_is(pickle_text(pickle, id), name);
}

static bool is_made(const struct pickle *pickle, node_id id)
{
    return id < pickle->n_nodes && node_is_made(&pickle->nodes[id]);
}

node_id pickle_callee(const struct pickle *pickle, node_id id)
{
    if (is_made(pickle, id) || kind_of(pickle, id) == NODE_PERSISTENT)
        return pickle->nodes[id].call.callee;
    return NO_NODE;
}

bool pickle_is_call(const struct pickle *pickle, node_id id, const char *global)
{
    return is_made(pickle, id) &&
           pickle_is_global(pickle, pickle->nodes[id].call.callee, global);
}

node_id pickle_arg(const struct pickle *pickle, node_id id, uint32_t i)
{
    if (!is_made(pickle, id))
        return NO_NODE;
    return pickle_item(pickle, pickle->nodes[id].call.args, i);
}

uint32_t pickle_args(const struct pickle *pickle, node_id id)
{
    if (!is_made(pickle, id))
        return 0;
    return pickle_count(pickle, pickle->nodes[id].call.args);
}

node_id pickle_extra(const struct pickle *pickle, node_id id, enum node_kind kind)
{
    for (int i = 0; i < 2 && id < pickle->n_nodes; i++) {
        id = node_extra(pickle, &pickle->nodes[id]);
        if (id < pickle->n_nodes && pickle->nodes[id].kind == kind)
            return id;
    }
    return NO_NODE;
}

node_id pickle_class(const struct pickle *pickle, node_id callee)
{
    enum node_kind kind = kind_of(pickle, callee);
    node_id id, class_id;

    if (kind == NODE_GLOBAL)
        return callee;
    if (kind != NODE_PERSISTENT)
        return NO_NODE;
    id = pickle->nodes[callee].call.callee;
    class_id = pickle_item(pickle, id, 0);
    if (kind_of(pickle, class_id) == NODE_GLOBAL && pickle_count(pickle, id) == 3)
        return class_id;
    class_id = pickle_item(pickle, id, 1);
    if (kind_of(pickle, class_id) != NODE_GLOBAL ||
        !str_is(pickle_text(pickle, pickle_item(pickle, id, 0)), "module"))
        return NO_NODE;
    return class_id;
}

/* The flags of the callee of a call or new object. */
static unsigned callee_flags(const struct pickle *pickle, node_id id)
{
    node_id callee = pickle->nodes[id].call.callee;

    return kind_of(pickle, callee) == NODE_GLOBAL ? pickle->nodes[callee].flags : 0;
}

/* The two sources of a dict's items: its arguments (a dict, or a list of pairs), and
 * the items set on it afterwards. Either may be NO_NODE. */
struct dict_view {
    node_id from, set;
};

static bool view_dict(const struct pickle *pickle, node_id id, struct dict_view *view)
{
    enum node_kind kind = kind_of(pickle, id);
    bool is_dict;

    view->from = NO_NODE;
    view->set = id;
    if (kind == NODE_DICT)
        return true;
    if (!is_made(pickle, id))
        return false;
    view->set = pickle_extra(pickle, id, NODE_DICT);
    is_dict = callee_flags(pickle, id) & GLOBAL_DICT;
    if (is_dict) {
        bool with_factory = pickle_is_call(pickle, id, "collections.defaultdict");

        view->from = pickle_arg(pickle, id, with_factory ? 1 : 0);
    }
    return is_dict || view->set != NO_NODE;
}

static uint32_t count_from(const struct pickle *pickle, node_id from)
{
    uint32_t n = pickle_count(pickle, from);

    return kind_of(pickle, from) == NODE_DICT ? n / 2 : n;
}

bool pickle_is_dict(const struct pickle *pickle, node_id id)
{
    struct dict_view view;

    return view_dict(pickle, id, &view);
}

static uint32_t view_n(const struct pickle *pickle, const struct dict_view *view)
{
    return count_from(pickle, view->from) + pickle_count(pickle, view->set) / 2;
}

static bool view_at(const struct pickle *pickle, const struct dict_view *view,
                    uint32_t i, node_id *ret_key, node_id *ret_value)
{
    uint32_t n = count_from(pickle, view->from);
    node_id in = i < n ? view->from : view->set;

    if (i >= n)
        i -= n;
    if (kind_of(pickle, in) != NODE_DICT) {
        in = pickle_item(pickle, in, i);
        i = 0;
        if (pickle_count(pickle, in) != 2)
            return false;
    }
    *ret_key = pickle_item(pickle, in, 2 * i);
    *ret_value = pickle_item(pickle, in, 2 * i + 1);
    return *ret_value != NO_NODE;
}

uint32_t pickle_dict_n(const struct pickle *pickle, node_id id)
{
    struct dict_view view;

    return view_dict(pickle, id, &view) ? view_n(pickle, &view) : 0;
}

bool pickle_dict_at(const struct pickle *pickle, node_id id, uint32_t i,
                    node_id *ret_key, node_id *ret_value)
{
    struct dict_view view;

    return view_dict(pickle, id, &view) && i < view_n(pickle, &view) &&
           view_at(pickle, &view, i, ret_key, ret_value);
}

enum { LOOKED_ONCE, INDEXED };

/* Index all keys of a large dict when it is searched for the second time. So a dict that
 * a hostile file shares among a million objects is searched quickly, and a state_dict
 * of a million names, which is searched once, needs no index. */
static bool index_dict(const struct pickle *pickle, node_id id,
                       const struct dict_view *view, uint32_t n)
{
    struct map *index = &pickle->notes->keys;
    uint64_t mark = hash_mix(id, 0x5eed);
    uint32_t done;

    if (!map_find(index, mark, &done)) {
        map_put(index, mark, LOOKED_ONCE);
        return false;
    }
    if (done == INDEXED)
        return true;
    for (uint32_t i = 0; i < n; i++) {
        node_id key, value;

        if (!view_at(pickle, view, i, &key, &value) || kind_of(pickle, key) != NODE_STR)
            continue;
        if (map_put(index, hash_mix(id, str_hash(pickle_text(pickle, key))), i) < 0)
            return false;
    }
    return map_put(index, mark, INDEXED) == 0;
}

/* Search a plain dict from the end: the last value of a key counts. Half of the time
 * for a file of modules is spent here, so lengths are compared first. */
static node_id find_key(const struct pickle *pickle, const struct node *dict,
                        struct str wanted)
{
    const node_id *items = dict->items.n > 1 ? pickle->items + dict->items.first : NULL;

    for (uint32_t i = dict->items.n / 2; i-- > 0;) {
        node_id id = items[2 * (size_t)i];
        const struct node *key = pickle_node(pickle, id);

        if (key && key->kind == NODE_STR &&
            (key->flags & NODE_LISTED || key->text.len == wanted.len) &&
            str_eq(pickle_text(pickle, id), wanted))
            return items[2 * (size_t)i + 1];
    }
    return NO_NODE;
}

node_id pickle_dict_get(const struct pickle *pickle, node_id id, const char *key)
{
    struct str wanted = str_of(key);
    struct dict_view view;
    node_id found, value;
    uint32_t n, i;

    if (kind_of(pickle, id) == NODE_DICT && pickle->nodes[id].items.n <= 2 * INDEX_FROM)
        return find_key(pickle, &pickle->nodes[id], wanted);
    if (!view_dict(pickle, id, &view))
        return NO_NODE;
    n = view_n(pickle, &view);
    if (n > INDEX_FROM && pickle->notes->finished && index_dict(pickle, id, &view, n)) {
        if (!map_find(&pickle->notes->keys, hash_mix(id, str_hash(wanted)), &i) ||
            !view_at(pickle, &view, i, &found, &value) ||
            !str_eq(pickle_text(pickle, found), wanted))
            return NO_NODE;
        return value;
    }
    for (i = n; i-- > 0;)
        if (view_at(pickle, &view, i, &found, &value) &&
            kind_of(pickle, found) == NODE_STR &&
            str_eq(pickle_text(pickle, found), wanted))
            return value;
    return NO_NODE;
}

/* A list's items: those of its arguments, then those appended. */
static bool view_list(const struct pickle *pickle, node_id id, struct dict_view *view)
{
    enum node_kind kind = kind_of(pickle, id);
    bool is_list;

    view->from = id;
    view->set = NO_NODE;
    if (has_items(kind))
        return kind != NODE_DICT;
    if (!is_made(pickle, id))
        return false;
    is_list = callee_flags(pickle, id) & GLOBAL_LIST;
    view->from = is_list ? pickle_arg(pickle, id, 0) : NO_NODE;
    view->set = pickle_extra(pickle, id, NODE_LIST);
    return is_list || view->set != NO_NODE;
}

bool pickle_is_list(const struct pickle *pickle, node_id id)
{
    struct dict_view view;

    return view_list(pickle, id, &view);
}

uint32_t pickle_list_n(const struct pickle *pickle, node_id id)
{
    struct dict_view view;

    if (!view_list(pickle, id, &view))
        return 0;
    return pickle_count(pickle, view.from) + pickle_count(pickle, view.set);
}

node_id pickle_list_at(const struct pickle *pickle, node_id id, uint32_t i)
{
    struct dict_view view;
    uint32_t n;

    if (!view_list(pickle, id, &view))
        return NO_NODE;
    n = pickle_count(pickle, view.from);
    return i < n ? pickle_item(pickle, view.from, i)
                 : pickle_item(pickle, view.set, i - n);
}
