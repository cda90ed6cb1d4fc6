/* Equal siblings in sequence fold into one group. Equal means: the same classes,
 * arguments, shapes, changes and lines inside, by a hash made from the inside out; and
 * the same lines from outside: each reads the sibling before it, or a value that all of
 * them read. Values, top-level names and call numbers may differ.
 *
 * A repeat of blocks holds its first block and a nested repeat with the others: so one
 * block can be opened without showing all. */
#include <math.h>

#include "graph/alike_in.h"

#define LEAST_BLOCKS 2 /* equal siblings with parts inside */
#define LEAST_LEAVES 3

struct repeats_of {
    struct parts *parts;
    struct box_link *links; /* by target */
    uint32_t n_links;
    uint32_t *links_at; /* by box: its first link; one more at the end */
    uint64_t *hash;     /* by box: hash of the box, without its name */
    uint64_t *lines;    /* by box: the lines between boxes inside it */
    struct map met;     /* private: for comparing the first two of a sequence */
};

/* ---- hashes ---- */

static uint64_t value_hash(const struct parts *parts, uint32_t value)
{
    const struct part_value *of = &parts->values[value];

    return hash_mix(str_hash(of->shape), str_hash(of->dtype));
}

static bool contains(const struct parts *parts, uint32_t box, uint32_t inner)
{
    return box <= inner && inner < parts->end[box];
}

static void add_lines(struct repeats_of *of)
{
    const struct parts *parts = of->parts;

    for (uint32_t i = 0; i < of->n_links; i++) {
        const struct box_link *link = &of->links[i];
        uint32_t group = parts->up[link->target];

        while (!contains(parts, group, link->source))
            group = parts->up[group];
        /* A sum, because the order of links in a group does not matter. */
        of->lines[group] +=
            hash_mix(hash_mix(hash_u64(link->source - group), link->target - group),
                     hash_mix(value_hash(parts, link->value), link->change));
    }
}

static uint64_t own_hash(const struct parts *parts, const struct graph_part *part)
{
    const struct diagram_box *box = &part->box;
    uint64_t hash = hash_mix(box->kind, box->family);

    hash = hash_mix(hash, box->flags & (DIAGRAM_SIGN | DIAGRAM_REGION));
    hash = hash_mix(hash, box->change);
    if (part->same)
        return hash_mix(hash, part->same);
    for (uint32_t i = 0; i < box->n_words; i++)
        hash = hash_mix(hash, str_hash(parts->words[box->words + i]));
    return hash;
}

/* Its name, without a number that counts the boxes of its class. */
static struct str name_of(const struct parts *parts, uint32_t box)
{
    uint32_t part = parts->part_of[box];
    struct str name = parts->at[part].box.name;

    return alike_is_nameless(name, parts_words_at(parts, part, 0)) ? alike_stem(name)
                                                                   : name;
}

static void make_hashes(struct repeats_of *of)
{
    const struct parts *parts = of->parts;

    add_lines(of);
    for (uint32_t i = parts->n_boxes; i-- > 1;) {
        const struct graph_part *part = &parts->at[parts->part_of[i]];
        uint64_t *up = &of->hash[parts->up[i]];

        of->hash[i] =
            hash_mix(hash_mix(of->hash[i], of->lines[i]), own_hash(parts, part));
        *up = hash_mix(*up, hash_mix(of->hash[i], str_hash(name_of(parts, i))));
    }
}

/* ---- lines from outside ---- */

/* The next link into a box from outside, from *at on; false: no more. */
static bool next_link(const struct repeats_of *of, uint32_t box, uint32_t *at)
{
    uint32_t end = of->links_at[of->parts->end[box]];

    while (*at < end && contains(of->parts, box, of->links[*at].source))
        (*at)++;
    return *at < end;
}

/* `a` is a source outside the sequence that the first sibling reads, `inner` the part
 * of the first that the second reads instead. Is this pairing consistent? */
static bool stands_for(struct repeats_of *of, uint32_t inner, uint32_t a)
{
    uint32_t before;

    if (map_find(&of->met, inner, &before))
        return before == a;
    return map_put(&of->met, inner, a) == 0;
}

/* Do two links into the same part of siblings a and b have the same source? `before` is
 * the sibling before a; PART_NONE: a is the first. */
static bool same_source(struct repeats_of *of, uint32_t before, uint32_t a,
                        const struct box_link *x, const struct box_link *y)
{
    const struct parts *parts = of->parts;
    bool chained = contains(parts, a, y->source);

    if (!chained)
        return x->source == y->source;
    if (before == PART_NONE)
        return stands_for(of, y->source - a, x->source);
    return contains(parts, before, x->source) && x->source - before == y->source - a;
}

static bool same_wiring(struct repeats_of *of, uint32_t before, uint32_t a, uint32_t b)
{
    const struct parts *parts = of->parts;
    uint32_t i = of->links_at[a], j = of->links_at[b];

    if (before == PART_NONE)
        map_init(&of->met, parts->scratch);
    for (;; i++, j++) {
        bool more = next_link(of, a, &i);

        if (more != next_link(of, b, &j))
            return false;
        if (!more)
            return true;
        if (of->links[i].target - a != of->links[j].target - b ||
            of->links[i].change != of->links[j].change ||
            value_hash(parts, of->links[i].value) !=
                value_hash(parts, of->links[j].value) ||
            !same_source(of, before, a, &of->links[i], &of->links[j]))
            return false;
    }
}

/* ---- sequences ---- */

static bool may_repeat(const struct parts *parts, uint32_t box)
{
    const struct graph_part *part = &parts->at[parts->part_of[box]];

    return part->box.kind == DIAGRAM_MODULE && !part->frame;
}

/* Count the equal siblings from `box` on; `last` is the end of their parent. */
static uint32_t count_equal(struct repeats_of *of, uint32_t box, uint32_t last)
{
    const struct parts *parts = of->parts;
    uint32_t n = 1, before = PART_NONE, next = parts->end[box];

    while (may_repeat(parts, box) && next < last && may_repeat(parts, next) &&
           of->hash[next] == of->hash[box] && next - box == parts->end[next] - next &&
           same_wiring(of, before, box, next)) {
        before = box;
        box = next;
        next = parts->end[box];
        n++;
    }
    return n;
}

/* "h.0" and "h.11": "h.0…11". */
static struct str joined(struct parts *parts, struct str first, struct str last)
{
    size_t same = 0;

    if (str_eq(first, last))
        return first;
    while (same < first.len && same < last.len && first.at[same] == last.at[same])
        same++;
    while (same > 0 && ((first.at[same - 1] >= '0' && first.at[same - 1] <= '9') ||
                        (first.at[same - 1] & 0x80)))
        same--;
    last = str_from(last, same);
    return parts_printf(parts, "%.*s…%.*s", STR_ARG(first), STR_ARG(last));
}

static int repeat_words(struct parts *parts, uint32_t group, uint32_t first, uint32_t n)
{
    uint32_t n_words = parts->at[first].box.n_words;
    struct str class_name = tree_class(parts, first);
    bool alike = parts->at[first].box.flags & DIAGRAM_ALIKE; /* no class in its words */

    if (parts_word(parts, group,
                   parts_printf(parts, "%u × %.*s", n, STR_ARG(class_name))) < 0)
        return -1;
    for (uint32_t i = alike ? 0 : 1; i < n_words; i++)
        if (parts_word(parts, group, parts_words_at(parts, first, i)) < 0)
            return -1;
    return 0;
}

/* Added or removed if the member is; other changes are inside. */
static uint8_t change_of_group(const struct diagram_box *member)
{
    return member->change == DIAGRAM_CHANGED ? DIAGRAM_SAME : member->change;
}

/* Make a repeat for n siblings, without its content. PART_NONE: out of memory. */
static uint32_t make_repeat(struct parts *parts, const uint32_t *members, uint32_t n)
{
    const uint32_t first = members[0], last = members[n - 1];
    uint32_t group = parts_add(parts, DIAGRAM_REPEAT, parts->at[first].parent);
    const struct diagram_box *from, *to;
    struct diagram_box *box;

    if (group == PART_NONE)
        return PART_NONE;
    from = &parts->at[first].box;
    to = &parts->at[last].box;
    box = &parts->at[group].box;
    box->family = from->family;
    box->line = from->line;
    box->n_same = n;
    box->change = change_of_group(from);
    box->name = joined(parts, from->name, to->name);
    box->id = joined(parts, from->id, to->id);
    for (uint32_t i = 0; i < n; i++)
        tree_add_box(box, &parts->at[members[i]].box);
    return repeat_words(parts, group, first, n) < 0 ? PART_NONE : group;
}

static void put_inside(struct parts *parts, uint32_t group, uint32_t part)
{
    parts->at[part].parent = group;
    tree_append(parts, group, part);
}

/* Make a group that contains the members; PART_NONE: out of memory. */
static uint32_t fold_members(struct parts *parts, const uint32_t *members, uint32_t n)
{
    bool blocks = parts->at[members[0]].first != PART_NONE && n > 2;
    uint32_t group = make_repeat(parts, members, n), rest = group;

    if (group != PART_NONE && blocks)
        rest = make_repeat(parts, members + 1, n - 1);
    if (group == PART_NONE || rest == PART_NONE)
        return PART_NONE;
    put_inside(parts, group, members[0]);
    if (blocks)
        put_inside(parts, group, rest);
    for (uint32_t i = 1; i < n; i++)
        put_inside(parts, rest, members[i]);
    return group;
}

/* A container with nothing but one repeat absorbs it: "layer1", "Sequential", "2 ×
 * BasicBlock". */
static void take_repeat(struct parts *parts, uint32_t group)
{
    struct graph_part *container = &parts->at[group], *repeat;
    uint32_t first = container->first;

    if (group == PART_ROOT || container->frame || container->n_inside != 1 ||
        container->box.kind != DIAGRAM_MODULE)
        return;
    repeat = &parts->at[first];
    if (repeat->box.kind != DIAGRAM_REPEAT)
        return;
    container->box.kind = DIAGRAM_REPEAT;
    container->box.n_same = repeat->box.n_same;
    container->first = repeat->first;
    container->last = repeat->last;
    container->n_inside = repeat->n_inside;
    for (uint32_t i = repeat->first; i != PART_NONE; i = parts->at[i].next)
        parts->at[i].parent = group;
    repeat->dropped = true;
}

/* The number of siblings from `box` on that fold into one; `last` is the end of their
 * parent. */
static uint32_t count_folded(struct repeats_of *of, uint32_t box, uint32_t last)
{
    bool leaf = of->parts->end[box] == box + 1;
    uint32_t n = count_equal(of, box, last);

    return n < (leaf ? LEAST_LEAVES : LEAST_BLOCKS) ? 1 : n;
}

/* Rebuild the list of parts inside a group, with repeats as groups. */
static int fold_inside(struct repeats_of *of, uint32_t box, uint32_t *members)
{
    struct parts *parts = of->parts;
    uint32_t group = parts->part_of[box], n;

    tree_empty(parts, group);
    for (uint32_t i = box + 1; i < parts->end[box];) {
        uint32_t part = parts->part_of[i];

        n = count_folded(of, i, parts->end[box]);
        for (uint32_t k = 0; k < n; k++, i = parts->end[i])
            members[k] = parts->part_of[i];
        if (n > 1)
            part = fold_members(parts, members, n);
        if (part == PART_NONE)
            return -1;
        tree_append(parts, group, part);
    }
    take_repeat(parts, group);
    return 0;
}

static int prepare(struct repeats_of *of)
{
    struct parts *parts = of->parts;
    size_t n = (size_t)parts->n_boxes + 2;

    of->links = parts_box_links(parts, &of->n_links);
    of->links_at = arena_array(parts->scratch, n, sizeof *of->links_at);
    of->hash = arena_array(parts->scratch, n, sizeof *of->hash);
    of->lines = arena_array(parts->scratch, n, sizeof *of->lines);
    if (!of->links || !of->links_at || !of->hash || !of->lines)
        return -1;
    for (uint32_t i = 0; i < of->n_links; i++)
        of->links_at[of->links[i].target + 1]++;
    for (uint32_t i = 0; i < parts->n_boxes; i++)
        of->links_at[i + 1] += of->links_at[i];
    make_hashes(of);
    return 0;
}

int repeats_fold(struct parts *parts)
{
    struct repeats_of of = {.parts = parts};
    uint32_t *members =
        arena_array(parts->scratch, (size_t)parts->n_boxes + 1, sizeof *members);

    if (!members || prepare(&of) < 0)
        return -1;
    for (uint32_t i = 0; i < parts->n_boxes; i++)
        if (parts->end[i] > i + 1 && fold_inside(&of, i, members) < 0)
            return -1;
    return tree_number(parts);
}

uint32_t *repeats_count(struct parts *parts)
{
    struct repeats_of of = {.parts = parts};
    uint32_t *count =
        arena_array(parts->scratch, (size_t)parts->n_boxes + 1, sizeof *count);

    if (!count || prepare(&of) < 0)
        return NULL;
    for (uint32_t i = 0; i < parts->n_boxes; i++)
        for (uint32_t k = i + 1; k < parts->end[i]; count[i]++)
            for (uint32_t n = count_folded(&of, k, parts->end[i]); n > 0; n--)
                k = parts->end[k];
    return count;
}
