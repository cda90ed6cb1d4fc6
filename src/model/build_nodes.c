#include "model/build_in.h"

#include <string.h>

#define FIRST_SLOTS  16u /* a power of two */
#define FEW_CHILDREN 4

static uint32_t add_node(struct build *build, uint32_t parent, enum place_kind kind,
                         uint32_t name_id)
{
    uint32_t id = build->n_nodes;
    struct build_node *node;

    if (name_id == INTERN_NONE ||
        arena_room(&build->scratch, &build->nodes, id, &build->nodes_room,
                   sizeof *build->nodes) < 0)
        return NO_PLACE;
    node = &build->nodes[build->n_nodes++];
    *node = (struct build_node){.parent = parent,
                                .first = NO_PLACE,
                                .last = NO_PLACE,
                                .next = NO_PLACE,
                                .name = name_id,
                                .object = NO_OBJECT,
                                .kind = (uint8_t)kind};
    if (parent == NO_PLACE)
        return id;
    if (build->nodes[parent].last == NO_PLACE)
        build->nodes[parent].first = id;
    else
        build->nodes[build->nodes[parent].last].next = id;
    build->nodes[parent].last = id;
    return id;
}

uint32_t build_node(struct build *build, uint32_t parent, enum place_kind kind,
                    struct str name)
{
    return add_node(build, parent, kind, build_string(build, name));
}

static uint32_t slot_of(uint32_t parent, uint32_t name)
{
    return (uint32_t)hash_u64((uint64_t)parent << 32 | name);
}

/* The node `name` below `parent` that build_child() or build_leaf() made, or NO_PLACE.
 * The first few children are found along their links, so that most modules need no
 * table. */
static uint32_t find_listed(const struct build *build, uint32_t parent, uint32_t name,
                            enum listed listed)
{
    const struct build_node *nodes = build->nodes;
    uint32_t mask = build->by_name_room - 1;
    uint32_t id = nodes[parent].last;

    /* The one that came last is the one that is most often wanted. */
    if (id == NO_PLACE || (nodes[id].name == name && nodes[id].listed == listed))
        return id;
    id = nodes[parent].first;
    for (int i = 0; i < FEW_CHILDREN && id != NO_PLACE; i++, id = nodes[id].next)
        if (nodes[id].name == name && nodes[id].listed == listed)
            return id;
    if (id == NO_PLACE || !build->by_name)
        return NO_PLACE;
    for (uint32_t i = slot_of(parent, name) & mask; build->by_name[i];
         i = (i + 1) & mask) {
        id = build->by_name[i] - 1;
        if (nodes[id].parent == parent && nodes[id].name == name &&
            nodes[id].listed == listed)
            return id;
    }
    return NO_PLACE;
}

static void put_in_table(struct build *build, uint32_t id)
{
    const struct build_node *node = &build->nodes[id];
    uint32_t mask = build->by_name_room - 1;
    uint32_t i = slot_of(node->parent, node->name) & mask;

    while (build->by_name[i])
        i = (i + 1) & mask;
    build->by_name[i] = id + 1;
}

/* Twice the slots. The nodes themselves say which of them belong there. */
static int grow_table(struct build *build)
{
    uint32_t before = build->by_name_room;

    if (arena_double(&build->scratch, &build->by_name, &build->by_name_room,
                     sizeof *build->by_name) < 0)
        return -1;
    memset(build->by_name, 0, before * sizeof *build->by_name);
    for (uint32_t id = 0; id < build->n_nodes; id++)
        if (build->nodes[id].in_table)
            put_in_table(build, id);
    return 0;
}

/* See that one more node fits, with half of the slots free afterwards. */
static int reserve_table(struct build *build)
{
    if (!build->by_name) {
        build->by_name =
            arena_array(&build->scratch, FIRST_SLOTS, sizeof *build->by_name);
        build->by_name_room = build->by_name ? FIRST_SLOTS : 0;
        return build->by_name ? 0 : -1;
    }
    return build->n_by_name < build->by_name_room / 2 ? 0 : grow_table(build);
}

/* Are there so few children that a further one is found along the links? */
static bool has_few_children(const struct build *build, uint32_t parent)
{
    uint32_t id = build->nodes[parent].first;

    for (int i = 1; i < FEW_CHILDREN && id != NO_PLACE; i++)
        id = build->nodes[id].next;
    return id == NO_PLACE;
}

/* A new node that find_listed() will find. */
static uint32_t add_listed(struct build *build, uint32_t parent, enum place_kind kind,
                           uint32_t name, enum listed listed)
{
    bool few = has_few_children(build, parent);
    uint32_t id;

    if (!few && reserve_table(build) < 0)
        return NO_PLACE;
    id = add_node(build, parent, kind, name);
    if (id == NO_PLACE)
        return NO_PLACE;
    build->nodes[id].listed = (uint8_t)listed;
    if (!few) {
        build->nodes[id].in_table = true;
        build->n_by_name++;
        put_in_table(build, id);
    }
    return id;
}

/* Look for a node by a name of which `n_before` strings were known so far: one that is
 * new cannot be the name of any. */
static uint32_t find_named(const struct build *build, uint32_t parent, uint32_t name,
                           enum listed listed, uint32_t n_before)
{
    if (name >= n_before)
        return NO_PLACE;
    return find_listed(build, parent, name, listed);
}

uint32_t build_child(struct build *build, uint32_t parent, enum place_kind kind,
                     struct str name)
{
    uint32_t n_before = build->model->strings.n;
    uint32_t name_id = build_string(build, name), id;

    if (name_id == INTERN_NONE)
        return NO_PLACE;
    id = find_named(build, parent, name_id, LISTED_CHILD, n_before);
    if (id != NO_PLACE)
        return id;
    return add_listed(build, parent, kind, name_id, LISTED_CHILD);
}

uint32_t build_leaf(struct build *build, uint32_t parent, enum place_kind kind,
                    struct str name, bool *ret_again)
{
    uint32_t n_before = build->model->strings.n;
    uint32_t name_id = build_string(build, name);

    if (name_id == INTERN_NONE)
        return NO_PLACE;
    *ret_again = find_named(build, parent, name_id, LISTED_LEAF, n_before) != NO_PLACE;
    if (*ret_again)
        return add_node(build, parent, kind, name_id);
    return add_listed(build, parent, kind, name_id, LISTED_LEAF);
}

uint32_t build_dotted(struct build *build, uint32_t parent, struct str dotted,
                      struct str *ret_last)
{
    ptrdiff_t dot;

    while ((dot = str_find_char(dotted, '.')) >= 0) {
        parent =
            build_child(build, parent, PLACE_MODULE, str_head(dotted, (size_t)dot));
        if (parent == NO_PLACE)
            return NO_PLACE;
        dotted = str_from(dotted, (size_t)dot + 1);
    }
    *ret_last = dotted;
    return parent;
}

void build_set_kind(struct build *build, uint32_t node, enum place_kind kind)
{
    build->nodes[node].kind = (uint8_t)kind;
}

void build_set_flags(struct build *build, uint32_t node, unsigned flags)
{
    build->nodes[node].flags |= (uint8_t)flags;
}

void build_set_object(struct build *build, uint32_t node, uint32_t object)
{
    build->nodes[node].object = object;
}

unsigned build_flags(const struct build *build, uint32_t node)
{
    return build->nodes[node].flags;
}

void build_path(const struct build *build, uint32_t node, struct buf *to)
{
    const struct build_node *nodes = build->nodes;
    size_t len = 0, start = to->len;

    for (uint32_t n = node; n != 0; n = nodes[n].parent)
        len += model_string(build->model, nodes[n].name).len + 1;
    if (len == 0)
        return;
    buf_fill(to, '.', len - 1);
    if (to->bad)
        return;
    for (uint32_t n = node; n != 0; n = nodes[n].parent) {
        struct str name = model_string(build->model, nodes[n].name);

        len -= name.len + 1;
        if (name.len)
            memcpy(to->at + start + len, name.at, name.len);
    }
}

uint32_t build_tensor_at(const struct build *build, uint32_t node)
{
    const struct build_node *at = &build->nodes[node];

    return at->kind == PLACE_TENSOR ? at->object : NO_OBJECT;
}
