#include "model/build_in.h"

#include <string.h>

#include "base/base.h"

#define FIRST_SLOTS  16u /* a power of two */
#define FEW_CHILDREN 4

/* Makes room for one more node in all columns. Their items have the same size, so that
 * they grow alike. */
static int more_nodes(struct build *build)
{
    struct model *model = build->model;
    struct {
        struct arena *arena;
        void *at;
    } columns[] = {
        {&model->arena, &model->parent}, {&model->arena, &model->name},
        {&model->arena, &model->object}, {&model->arena, &model->end},
        {&build->own, &build->next},     {&build->own, &build->nodes},
    };
    uint32_t n = build->nodes_room, room = n;

    _Static_assert(sizeof(struct build_node) == sizeof(uint32_t), "columns grow alike");
    for (size_t i = 0; i < COUNT_OF(columns); i++) {
        room = n;
        if (arena_room(columns[i].arena, columns[i].at, n, &room, sizeof(uint32_t)) < 0)
            return -1;
    }
    build->nodes_room = room;
    return 0;
}

static uint32_t add_node(struct build *build, uint32_t parent, enum place_kind kind,
                         uint32_t name_id)
{
    struct model *model = build->model;
    uint32_t id = build->n_nodes;

    if (name_id == INTERN_NONE || (id == build->nodes_room && more_nodes(build) < 0))
        return NO_PLACE;
    build->n_nodes++;
    build->nodes[id] = (struct build_node){.kind = (uint8_t)kind};
    model->parent[id] = parent;
    model->name[id] = name_id;
    model->object[id] = NO_OBJECT;
    model->end[id] = NO_PLACE;
    build->next[id] = id;
    if (parent == NO_PLACE)
        return id;
    if (model->end[parent] != NO_PLACE) {
        build->next[id] = build->next[model->end[parent]];
        build->next[model->end[parent]] = id;
    }
    model->end[parent] = id;
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

static bool is_listed(const struct build *build, uint32_t id, uint32_t name,
                      enum listed listed)
{
    return build->model->name[id] == name && build->nodes[id].listed == listed;
}

/* The node `name` below `parent` that build_child() or build_leaf() made, or NO_PLACE.
 * The first few children are found by following their links, so most modules need no
 * entry in the table. */
static uint32_t find_listed(const struct build *build, uint32_t parent, uint32_t name,
                            enum listed listed)
{
    uint32_t mask = build->by_name_room - 1;
    uint32_t id = build->model->end[parent];

    /* Try the last child first: it is the most likely one. */
    if (id == NO_PLACE || is_listed(build, id, name, listed))
        return id;
    id = node_first(build, parent);
    for (int i = 0; i < FEW_CHILDREN && id != NO_PLACE; i++, id = node_next(build, id))
        if (is_listed(build, id, name, listed))
            return id;
    if (id == NO_PLACE || !build->by_name)
        return NO_PLACE;
    for (uint32_t i = slot_of(parent, name) & mask; build->by_name[i];
         i = (i + 1) & mask) {
        id = build->by_name[i] - 1;
        if (build->model->parent[id] == parent && is_listed(build, id, name, listed))
            return id;
    }
    return NO_PLACE;
}

static void put_in_table(struct build *build, uint32_t id)
{
    uint32_t mask = build->by_name_room - 1;
    uint32_t i = slot_of(build->model->parent[id], build->model->name[id]) & mask;

    while (build->by_name[i])
        i = (i + 1) & mask;
    build->by_name[i] = id + 1;
}

/* Doubles the table and inserts its nodes again. */
static int grow_table(struct build *build)
{
    uint32_t before = build->by_name_room;

    if (arena_double(&build->own, &build->by_name, &build->by_name_room,
                     sizeof *build->by_name) < 0)
        return -1;
    memset(build->by_name, 0, before * sizeof *build->by_name);
    for (uint32_t id = 0; id < build->n_nodes; id++)
        if (build->nodes[id].in_table)
            put_in_table(build, id);
    return 0;
}

/* Makes room for one more node; half of the slots stay free. */
static int reserve_table(struct build *build)
{
    if (!build->by_name) {
        build->by_name = arena_array(&build->own, FIRST_SLOTS, sizeof *build->by_name);
        build->by_name_room = build->by_name ? FIRST_SLOTS : 0;
        return build->by_name ? 0 : -1;
    }
    return build->n_by_name < build->by_name_room / 2 ? 0 : grow_table(build);
}

/* Few enough to be found by following the links? */
static bool has_few_children(const struct build *build, uint32_t parent)
{
    uint32_t id = node_first(build, parent);

    for (int i = 1; i < FEW_CHILDREN && id != NO_PLACE; i++)
        id = node_next(build, id);
    return id == NO_PLACE;
}

/* Adds a node that find_listed() will find. */
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

/* Finds a node by name. `n_before` is the number of strings before the name was
 * interned: a new string is not yet the name of any node. */
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

/* The two matrices of a LoRA adapter are tensors of the layer that they adapt, not modules
 * of their own: "q_proj.lora_A.weight", in a wrapped model "q_proj.lora_A.default.weight".
 */
static bool is_lora(struct str dotted)
{
    static const char *const words[] = {"lora_A", "lora_B", "lora_down", "lora_up"};
    struct str rest = dotted, word, last;
    bool found = false;

    str_split(&rest, '.', &word);
    for (size_t i = 0; i < COUNT_OF(words); i++)
        found |= str_is(word, words[i]);
    if (!found || !str_ends(rest, STR("weight")))
        return false;
    return str_is(rest, "weight") ||
           (str_split(&rest, '.', &last) && last.len > 0 && str_is(rest, "weight"));
}

uint32_t build_dotted(struct build *build, uint32_t parent, struct str dotted,
                      struct str *ret_last)
{
    ptrdiff_t dot;

    build->nodes[parent].dotted = true;
    while ((dot = str_find_char(dotted, '.')) >= 0 && !is_lora(dotted)) {
        parent =
            build_child(build, parent, PLACE_MODULE, str_head(dotted, (size_t)dot));
        if (parent == NO_PLACE)
            return NO_PLACE;
        build->nodes[parent].dotted = true;
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

enum place_kind build_kind(const struct build *build, uint32_t node)
{
    return (enum place_kind)build->nodes[node].kind;
}

unsigned build_flags(const struct build *build, uint32_t node)
{
    return build->nodes[node].flags;
}

void build_set_object(struct build *build, uint32_t node, uint32_t object)
{
    build->model->object[node] = object;
}

void build_path(const struct build *build, uint32_t node, struct buf *to)
{
    place_path(build->model, node, to); /* needs names and parents only */
}

uint32_t build_tensor_at(const struct build *build, uint32_t node)
{
    return build->nodes[node].kind == PLACE_TENSOR ? build->model->object[node]
                                                   : NO_OBJECT;
}
