/* Chains of views fold into one group: "4 views". */
#include "graph/parts_in.h"

struct chains {
    struct parts *parts;
    uint32_t n_before; /* number of parts before groups were added */
    uint32_t *n_in, *n_out;
    uint32_t *reader; /* by part: the last part that reads it */
    uint32_t *value;  /* by part: the value it makes; PART_NONE: none is read */
    bool *several;    /* by part: it makes several values */
    uint32_t *behind; /* by part: the next view in its chain; PART_NONE */
    bool *follows;    /* by part: not the first in its chain */
    uint32_t *list;   /* private: the parts inside one group */
};

static uint32_t real_part(const struct parts *parts, uint32_t part)
{
    while (parts->at[part].into != PART_NONE)
        part = parts->at[part].into;
    return part;
}

static void count_links(struct chains *chains)
{
    struct parts *parts = chains->parts;

    for (uint32_t i = 0; i < parts->n_links; i++) {
        const struct part_link *link = &parts->links[i];
        uint32_t source = real_part(parts, link->source);
        uint32_t target = real_part(parts, link->target);

        chains->n_out[source]++;
        chains->n_in[target]++;
        chains->reader[source] = target;
        if (chains->value[source] == PART_NONE)
            chains->value[source] = link->value;
        else if (chains->value[source] != link->value)
            chains->several[source] = true;
    }
}

static bool is_view(const struct graph_part *part)
{
    return part->box.kind == DIAGRAM_VIEW && part->first == PART_NONE && !part->dropped;
}

static void find_chains(struct chains *chains)
{
    const struct graph_part *at = chains->parts->at;

    for (uint32_t i = 1; i < chains->n_before; i++) {
        uint32_t next = chains->reader[i];

        chains->behind[i] = PART_NONE;
        if (!is_view(&at[i]) || chains->n_out[i] != 1 || !is_view(&at[next]) ||
            at[next].parent != at[i].parent || chains->n_in[next] != 1 ||
            at[next].box.change != at[i].box.change || chains->several[next] ||
            next <= i)
            continue;
        chains->behind[i] = next;
        chains->follows[next] = true;
    }
}

/* "views:57" for a chain that begins with the operation "op:57"; "old:views:57" if it
 * was removed, because its number is from the old recording. */
static struct str chain_id(struct parts *parts, const struct diagram_box *first)
{
    ptrdiff_t colon = str_find_last_char(first->id, ':');
    struct str number = str_from(first->id, (size_t)(colon + 1));

    if (first->change == DIAGRAM_REMOVED)
        return parts_printf(parts, "old:views:%.*s", STR_ARG(number));
    return parts_printf(parts, "views:%.*s", STR_ARG(number));
}

/* Make a group for the chain that begins with `first`; PART_NONE: out of memory. */
static uint32_t make_group(struct chains *chains, uint32_t first)
{
    struct parts *parts = chains->parts;
    uint32_t group = parts_add(parts, DIAGRAM_VIEW, parts->at[first].parent);
    uint32_t n = 0, last = first;
    struct diagram_box *box;

    if (group == PART_NONE)
        return PART_NONE;
    box = &parts->at[group].box;
    for (uint32_t i = first; i != PART_NONE; i = chains->behind[i]) {
        parts->at[i].parent = group;
        tree_append(parts, group, i);
        tree_add_box(box, &parts->at[i].box);
        last = i;
        n++;
    }
    box->family = FAMILY_VIEW;
    box->op = parts->at[first].box.op;
    box->call = parts->at[first].box.call;
    box->place = parts->at[first].box.place;
    box->line = parts->at[first].box.line;
    if (parts->at[first].box.change != DIAGRAM_CHANGED)
        box->change = parts->at[first].box.change;
    box->name = parts_printf(parts, "%u views", n);
    box->id = chain_id(parts, &parts->at[first].box);
    if (chains->value[last] != PART_NONE &&
        parts_word(parts, group, parts->values[chains->value[last]].shape) < 0)
        return PART_NONE;
    return group;
}

/* Rebuild the list of parts inside a group, with chains as groups of their own. */
static int fold_inside(struct chains *chains, uint32_t group)
{
    struct parts *parts = chains->parts;
    uint32_t n = 0;

    /* Making a group relinks its members, so copy the old list first. */
    for (uint32_t i = parts->at[group].first; i != PART_NONE; i = parts->at[i].next)
        chains->list[n++] = i;
    tree_empty(parts, group);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t part = chains->list[k];

        if (chains->follows[part])
            continue;
        if (chains->behind[part] != PART_NONE) {
            part = make_group(chains, part);
            if (part == PART_NONE)
                return -1;
        }
        tree_append(parts, group, part);
    }
    return 0;
}

static int allocate(struct chains *chains)
{
    struct arena *scratch = chains->parts->scratch;
    size_t n = (size_t)chains->parts->n + 1;

    chains->n_in = arena_array(scratch, n, sizeof(uint32_t));
    chains->n_out = arena_array(scratch, n, sizeof(uint32_t));
    chains->reader = arena_array(scratch, n, sizeof(uint32_t));
    chains->value = arena_array(scratch, n, sizeof(uint32_t));
    chains->several = arena_array(scratch, n, sizeof(bool));
    chains->behind = arena_array(scratch, n, sizeof(uint32_t));
    chains->follows = arena_array(scratch, n, sizeof(bool));
    chains->list = arena_array(scratch, n, sizeof(uint32_t));
    if (!chains->n_in || !chains->n_out || !chains->reader || !chains->value ||
        !chains->several || !chains->behind || !chains->follows || !chains->list)
        return -1;
    for (size_t i = 0; i < n; i++)
        chains->value[i] = chains->behind[i] = PART_NONE;
    return 0;
}

int tree_chains(struct parts *parts)
{
    struct chains chains = {.parts = parts, .n_before = parts->n};

    if (allocate(&chains) < 0)
        return -1;
    count_links(&chains);
    find_chains(&chains);
    for (uint32_t i = 0; i < chains.n_before; i++)
        if (!parts->at[i].dropped && parts->at[i].first != PART_NONE &&
            fold_inside(&chains, i) < 0)
            return -1;
    return 0;
}
