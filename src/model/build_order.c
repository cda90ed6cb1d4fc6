/* Sorts siblings whose parent was made from dotted names. A state_dict has the order of
 * the modules. A safetensors file has the order of its writer, often by bytes:
 * 0, 1, 10, 11, 2. Therefore:
 *
 *   - Names that are numbers are always sorted by number.
 *   - Names that end in a number (layer_1, layer_10, layer_2) are sorted by number if
 *     they were sorted as text: a longer number before a shorter one. fc2 before fc1 is
 *     the order of the modules, and stays.
 *   - Names with the same head only trade positions with each other, so that all other
 *     siblings keep theirs: conv1, bn1, conv2, bn2 is unchanged. */
#include <stdlib.h>

#include "model/build_in.h"

#define MOST_DIGITS 18

/* A sibling, and the parts of its name. */
struct sibling {
    struct str head; /* the name without the number */
    uint64_t number;
    uint32_t slot; /* its index among all siblings */
    uint32_t node;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Splits "layer_12" into "layer_" and 12; false: it does not end in a number. */
static bool split_number(struct str name, struct str *ret_head, uint64_t *ret_number)
{
    size_t digits = 0;

    while (digits < name.len && digits <= MOST_DIGITS &&
           is_digit(name.at[name.len - 1 - digits]))
        digits++;
    if (digits == 0 || digits > MOST_DIGITS)
        return false;
    *ret_head = str_head(name, name.len - digits);
    return str_to_u64(str_from(name, name.len - digits), ret_number);
}

static struct str node_name(const struct build *build, uint32_t node)
{
    return intern_str(&build->model->strings, build->model->name[node]);
}

/* Are the numbers at the end of names ascending? Then there is nothing to sort. *ret_n:
 * the number of siblings. */
static bool is_ascending(const struct build *build, uint32_t parent, uint32_t *ret_n)
{
    uint64_t last = 0, number;
    bool ascending = true;
    struct str head;

    *ret_n = 0;
    for (uint32_t id = node_first(build, parent); id != NO_PLACE;
         id = node_next(build, id), ++*ret_n) {
        if (!split_number(node_name(build, id), &head, &number))
            continue;
        ascending &= number >= last;
        last = number;
    }
    return ascending;
}

static int by_head(const void *left, const void *right)
{
    const struct sibling *a = left, *b = right;
    int order = str_cmp(a->head, b->head);

    if (order != 0)
        return order;
    return a->slot < b->slot ? -1 : a->slot > b->slot;
}

static int by_number(const void *left, const void *right)
{
    const struct sibling *a = left, *b = right;

    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->slot < b->slot ? -1 : a->slot > b->slot;
}

/* Were these names sorted as text? */
static bool is_sorted_as_text(const struct build *build, const struct sibling *group,
                              uint32_t n)
{
    for (uint32_t i = 1; i < n; i++)
        if (group[i].number < group[i - 1].number &&
            str_cmp(node_name(build, group[i - 1].node),
                    node_name(build, group[i].node)) < 0)
            return true;
    return false;
}

/* Sorts siblings with the same head by number, within the slots that they have. */
static void sort_group(const struct build *build, struct sibling *group, uint32_t n,
                       uint32_t *order, uint32_t *slots)
{
    if (group[0].head.len > 0 && !is_sorted_as_text(build, group, n))
        return;
    for (uint32_t i = 0; i < n; i++)
        slots[i] = group[i].slot;
    qsort(group, n, sizeof *group, by_number);
    for (uint32_t i = 0; i < n; i++)
        order[slots[i]] = group[i].node;
}

/* Links the children in this order. */
static void link_children(struct build *build, uint32_t parent, const uint32_t *order,
                          uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        build->next[order[i]] = order[i + 1 < n ? i + 1 : 0];
    build->model->end[parent] = order[n - 1];
}

static void sort_children(struct build *build, uint32_t parent, uint32_t n,
                          struct arena *arena)
{
    struct sibling *list = arena_array(arena, n, sizeof *list);
    uint32_t *order = arena_array(arena, n, sizeof *order);
    uint32_t *slots = arena_array(arena, n, sizeof *slots);
    uint32_t found = 0, slot = 0, same;

    if (!list || !order || !slots)
        return;
    for (uint32_t id = node_first(build, parent); id != NO_PLACE;
         id = node_next(build, id), slot++) {
        struct sibling *at = &list[found];

        order[slot] = id;
        *at = (struct sibling){.slot = slot, .node = id};
        found += split_number(node_name(build, id), &at->head, &at->number);
    }
    qsort(list, found, sizeof *list, by_head);
    for (uint32_t i = 0; i < found; i += same) {
        same = 1;
        while (i + same < found && str_eq(list[i].head, list[i + same].head))
            same++;
        sort_group(build, &list[i], same, order, slots);
    }
    link_children(build, parent, order, n);
}

void build_sort_siblings(struct build *build)
{
    struct arena arena;
    uint32_t n;

    for (uint32_t node = 0; node < build->n_nodes; node++) {
        if (!build->nodes[node].dotted || is_ascending(build, node, &n))
            continue;
        arena_init(&arena, build->own.limit);
        sort_children(build, node, n, &arena);
        arena_release(&arena);
    }
}
