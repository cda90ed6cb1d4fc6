/* Merges the parts, links and values of two networks. */
#include "graph/merge_in.h"

struct merging {
    struct merge merge;
    struct parts *to;
    struct merge_item *stack; /* items still to be entered; the next one is last */
    uint32_t n_stack;
    struct merge_item *list; /* the parts inside one group */
    uint32_t n_list;
};

/* A pair, or a part of one side with PART_NONE for the other. */
struct merge_item {
    uint32_t old, new, parent;
};

/* ---- order ---- */

static void list_item(struct merging *m, uint32_t old, uint32_t new, uint32_t parent)
{
    m->list[m->n_list++] = (struct merge_item){old, new, parent};
}

/* List the removed parts from `part` up to the next one that was kept. */
static void list_removed(struct merging *m, uint32_t part, uint32_t parent)
{
    const struct merge_side *old = &m->merge.side[MERGE_OLD];

    for (; part != PART_NONE && old->match[part] == PART_NONE;
         part = old->parts->at[part].next)
        list_item(m, part, PART_NONE, parent);
}

/* In the order of the new network; a removed part comes after its old predecessor. */
static void push_inside(struct merging *m, const struct merge_item *item, uint32_t part)
{
    const struct graph_part *old = m->merge.side[MERGE_OLD].parts->at;
    const struct graph_part *new = m->merge.side[MERGE_NEW].parts->at;

    m->n_list = 0;
    if (item->old != PART_NONE)
        list_removed(m, old[item->old].first, part);
    if (item->new != PART_NONE)
        for (uint32_t i = new[item->new].first; i != PART_NONE; i = new[i].next) {
            uint32_t mate = m->merge.side[MERGE_NEW].match[i];

            list_item(m, mate, i, part);
            if (mate != PART_NONE)
                list_removed(m, old[mate].next, part);
        }
    while (m->n_list > 0)
        m->stack[m->n_stack++] = m->list[--m->n_list];
}

/* ---- parts ---- */

static int copy_words(struct parts *to, uint32_t part, const struct parts *from,
                      const struct diagram_box *box)
{
    for (uint32_t i = 0; i < box->n_words; i++)
        if (parts_word(to, part, from->words[box->words + i]) < 0)
            return -1;
    return 0;
}

/* Places, calls and operations of the old network are invalid in the new one. */
static void mark_removed(struct parts *to, uint32_t part)
{
    struct diagram_box *box = &to->at[part].box;

    box->place = NO_PLACE;
    box->call = box->op = RUN_NONE;
    box->id = parts_printf(to, "old:%.*s", STR_ARG(box->id));
}

static int fill_part(struct merging *m, const struct merge_item *item, uint32_t part)
{
    int side = item->new != PART_NONE ? MERGE_NEW : MERGE_OLD;
    uint32_t from = side == MERGE_NEW ? item->new : item->old;
    const struct parts *parts = m->merge.side[side].parts;
    struct graph_part *to = &m->to->at[part];
    bool changed = false;

    to->box = parts->at[from].box;
    to->box.n_words = 0;
    to->same = parts->at[from].same;
    to->frame = parts->at[from].frame;
    if (item->old == PART_NONE || item->new == PART_NONE) {
        to->box.change = side == MERGE_NEW ? DIAGRAM_ADDED : DIAGRAM_REMOVED;
        if (side == MERGE_OLD)
            mark_removed(m->to, part);
        return copy_words(m->to, part, parts, &parts->at[from].box);
    }
    if (merge_words(m->to, part, &m->merge, item->old, item->new, &changed) < 0)
        return -1;
    if (changed && part != PART_ROOT) {
        to->box.change = DIAGRAM_CHANGED;
        to->same = 0; /* the words suffice */
    }
    return 0;
}

static int enter_parts(struct merging *m)
{
    m->stack[m->n_stack++] = (struct merge_item){PART_ROOT, PART_ROOT, PART_NONE};
    while (m->n_stack > 0) {
        struct merge_item item = m->stack[--m->n_stack];
        uint32_t part = parts_add(m->to, DIAGRAM_MODULE, item.parent);

        if (part == PART_NONE || fill_part(m, &item, part) < 0)
            return -1;
        if (item.old != PART_NONE)
            m->merge.side[MERGE_OLD].merged[item.old] = part;
        if (item.new != PART_NONE)
            m->merge.side[MERGE_NEW].merged[item.new] = part;
        push_inside(m, &item, part);
    }
    return 0;
}

/* ---- values ---- */

/* The new network's values keep their numbers. */
static int copy_values(struct merging *m)
{
    const struct parts *new = m->merge.side[MERGE_NEW].parts;

    for (uint32_t i = 0; i < new->n_values; i++)
        if (parts_value(m->to, new->values[i]) == PART_NONE)
            return -1;
    return 0;
}

static uint64_t pair_key(uint32_t a, uint32_t b)
{
    return (uint64_t)a << 32 | b;
}

/* The next link of a part, from *at on, with a value not seen before. */
static bool next_value(const struct merge_side *side, uint32_t part, uint32_t *at,
                       struct map *met, uint32_t *ret_value)
{
    uint32_t known;

    for (; *at < side->first_out[part + 1]; ++*at) {
        uint32_t value = side->parts->links[side->out[*at]].value;

        if (!map_find(met, pair_key(part, value), &known)) {
            *ret_value = value;
            return true;
        }
    }
    return false;
}

/* A value that only the old network has: it has no number in the new recording. */
static uint32_t old_value(struct merging *m, uint32_t value)
{
    struct part_value of = m->merge.side[MERGE_OLD].parts->values[value];

    of.recorded = RUN_NONE;
    return parts_value(m->to, of);
}

/* Map the values of each old part, in order, to those of its match: they are the same
 * tensors. Remaining ones become new values. */
static int match_values(struct merging *m, struct map *value_of)
{
    const struct merge_side *old = &m->merge.side[MERGE_OLD];
    const struct merge_side *new = &m->merge.side[MERGE_NEW];
    struct map met;

    map_init(&met, m->merge.scratch);
    for (uint32_t part = 0; part < old->parts->n; part++) {
        uint32_t at = old->first_out[part], mate = old->match[part], value, to;
        uint32_t mate_at = mate == PART_NONE ? 0 : new->first_out[mate];

        while (next_value(old, part, &at, value_of, &value)) {
            if (mate == PART_NONE || !next_value(new, mate, &mate_at, &met, &to))
                to = old_value(m, value);
            else if (map_put(&met, pair_key(mate, to), 0) < 0)
                return -1;
            if (to == PART_NONE || map_put(value_of, pair_key(part, value), to) < 0)
                return -1;
        }
    }
    return 0;
}

/* ---- links ---- */

/* Count the links between each pair of merged parts. */
static int count_links(const struct merge_side *side, struct map *count)
{
    for (uint32_t i = 0; i < side->parts->n_links; i++) {
        const struct part_link *link = &side->parts->links[i];
        uint64_t key = pair_key(side->merged[link->source], side->merged[link->target]);
        uint32_t n = 0;

        map_find(count, key, &n);
        if (map_put(count, key, n + 1) < 0)
            return -1;
    }
    return 0;
}

/* Links between two parts that exist on both sides are kept from the new side. Does
 * this one exceed the count in `left`? */
static int exceeds(struct map *left, uint64_t key, bool *ret_exceeds)
{
    uint32_t n = 0;

    map_find(left, key, &n);
    *ret_exceeds = n == 0;
    return n > 0 ? map_put(left, key, n - 1) : 0;
}

static int add_links(struct merging *m, int side_number, struct map *left,
                     const struct map *value_of)
{
    const struct merge_side *side = &m->merge.side[side_number];
    bool old = side_number == MERGE_OLD, alone;

    for (uint32_t i = 0; i < side->parts->n_links; i++) {
        const struct part_link *link = &side->parts->links[i];
        uint32_t source = side->merged[link->source], value = link->value;
        uint32_t target = side->merged[link->target];

        if (exceeds(left, pair_key(source, target), &alone) < 0)
            return -1;
        if (old && !alone)
            continue;
        if (old)
            map_find(value_of, pair_key(link->source, link->value), &value);
        if (parts_link(m->to, source, target, value) < 0)
            return -1;
        m->to->links[m->to->n_links - 1].change = old     ? DIAGRAM_REMOVED
                                                  : alone ? DIAGRAM_ADDED
                                                          : DIAGRAM_SAME;
    }
    return 0;
}

static int enter_links(struct merging *m)
{
    struct map left[MERGE_SIDES], value_of;

    for (int s = 0; s < MERGE_SIDES; s++) {
        map_init(&left[s], m->merge.scratch);
        if (count_links(&m->merge.side[s], &left[s]) < 0)
            return -1;
    }
    map_init(&value_of, m->merge.scratch);
    if (copy_values(m) < 0 || match_values(m, &value_of) < 0)
        return -1;
    if (add_links(m, MERGE_NEW, &left[MERGE_OLD], &value_of) < 0)
        return -1;
    return add_links(m, MERGE_OLD, &left[MERGE_NEW], &value_of);
}

int parts_merge(struct parts *parts, struct parts *old, struct parts *new)
{
    struct merging m = {
        .merge = {.side = {{.parts = old}, {.parts = new}}, .scratch = parts->scratch},
        .to = parts};
    size_t n = (size_t)old->n + new->n + 2;

    tree_link(old);
    tree_link(new);
    m.stack = arena_array(parts->scratch, n, sizeof *m.stack);
    m.list = arena_array(parts->scratch, n, sizeof *m.list);
    if (!m.stack || !m.list || merge_prepare(&m.merge) < 0 ||
        merge_match(&m.merge) < 0 || enter_parts(&m) < 0)
        return -1;
    return enter_links(&m);
}
