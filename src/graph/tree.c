/* Parts become a tree: children are listed, single children merge. No step recurses: a
 * file may nest modules to any depth. */
#include <math.h>

#include "graph/alike_in.h"

#define MERGED_NAME 120 /* bytes: a longer "a.b.c" stays nested */

void tree_append(struct parts *parts, uint32_t group, uint32_t part)
{
    struct graph_part *of = &parts->at[group];

    parts->at[part].next = PART_NONE;
    if (of->first == PART_NONE)
        of->first = part;
    else
        parts->at[of->last].next = part;
    of->last = part;
    of->n_inside++;
}

void tree_empty(struct parts *parts, uint32_t group)
{
    struct graph_part *of = &parts->at[group];

    of->first = of->last = PART_NONE;
    of->n_inside = 0;
}

void tree_link(struct parts *parts)
{
    for (uint32_t i = 0; i < parts->n; i++)
        tree_empty(parts, i);
    for (uint32_t i = 1; i < parts->n; i++)
        if (!parts->at[i].dropped)
            tree_append(parts, parts->at[i].parent, i);
}

void tree_add_box(struct diagram_box *group, const struct diagram_box *box)
{
    for (int i = 0; i < DIAGRAM_METRICS; i++) {
        double sum = isnan(group->metric[i]) ? 0 : group->metric[i];

        if (isnan(box->metric[i]))
            continue;
        group->metric[i] = i == DIAGRAM_GRADIENT ? stats_join_l2(sum, box->metric[i])
                                                 : sum + box->metric[i];
    }
    group->n_ops += box->n_ops;
    group->flags |= box->flags & (DIAGRAM_MADE | DIAGRAM_CARRIES | DIAGRAM_RAISED);
}

/* ---- merging ---- */

/* The operation becomes its module's box: the module's name, then the operation's. */
static int take_op(struct parts *parts, uint32_t module, uint32_t op)
{
    struct diagram_box *box = &parts->at[module].box;
    const struct diagram_box *from = &parts->at[op].box;

    box->op = from->op;
    box->flags |= from->flags & (DIAGRAM_REGION | DIAGRAM_MADE | DIAGRAM_CARRIES);
    if (box->family == FAMILY_NONE)
        box->family = from->family;
    parts->at[op].dropped = true;
    parts->at[op].into = module;
    if (box->change == DIAGRAM_CHANGED && from->change == DIAGRAM_SAME)
        return 0; /* the module's words describe the change */
    if (box->change == DIAGRAM_SAME && from->change != DIAGRAM_SAME)
        box->change = DIAGRAM_CHANGED;
    parts->at[module].same = 0;
    box->n_words = 0;
    if (parts_word(parts, module, from->name) < 0)
        return -1;
    for (uint32_t i = 0; i < from->n_words; i++)
        if (parts_word(parts, module, parts->words[from->words + i]) < 0)
            return -1;
    return 0;
}

/* The inner module replaces the outer one. */
static void take_place(struct parts *parts, uint32_t outer, uint32_t inner,
                       struct str name)
{
    const struct graph_part *from = &parts->at[outer];
    struct graph_part *to = &parts->at[inner];
    uint32_t count = DIAGRAM_TIED | DIAGRAM_SHARED;

    to->box.name = name;
    to->box.flags =
        (uint16_t)((to->box.flags & ~count) | (from->box.flags & ~DIAGRAM_SIGN));
    for (int i = 0; i < DIAGRAM_METRICS; i++)
        if (!isnan(from->box.metric[i]))
            to->box.metric[i] = from->box.metric[i];
    if (from->box.n_ops > to->box.n_ops)
        to->box.n_ops = from->box.n_ops;
    to->parent = from->parent;
    parts->at[outer].dropped = true;
}

static int merge_one(struct parts *parts, uint32_t i)
{
    const struct graph_part *outer = &parts->at[i], *inner = &parts->at[outer->first];
    struct str name;

    if (inner->box.kind != DIAGRAM_MODULE) {
        return inner->first == PART_NONE ? take_op(parts, i, outer->first) : 0;
    }
    if (outer->box.name.len + inner->box.name.len > MERGED_NAME ||
        (outer->box.change != DIAGRAM_SAME && outer->box.change != inner->box.change) ||
        outer->box.change == DIAGRAM_CHANGED)
        return 0;
    name = parts_printf(parts, "%.*s.%.*s", STR_ARG(outer->box.name),
                        STR_ARG(inner->box.name));
    if (name.len == 0)
        return -1;
    take_place(parts, i, outer->first, name);
    return 0;
}

int tree_merge(struct parts *parts)
{
    for (uint32_t i = 1; i < parts->n; i++) {
        const struct graph_part *part = &parts->at[i];

        if (!part->dropped && !part->frame && part->box.kind == DIAGRAM_MODULE &&
            part->n_inside == 1 && merge_one(parts, i) < 0)
            return -1;
    }
    /* A part is entered just before its first child, so the order is kept. */
    tree_link(parts);
    return 0;
}

/* ---- what containers hold ---- */

static bool is_module(const struct graph_part *part)
{
    return part->box.kind == DIAGRAM_MODULE;
}

/* Does it count? In a diff, containers list their new content. */
static bool is_held(const struct parts *parts, uint32_t group, uint32_t part)
{
    return is_module(&parts->at[part]) &&
           (parts->at[part].box.change != DIAGRAM_REMOVED ||
            parts->at[group].box.change == DIAGRAM_REMOVED);
}

struct str tree_class(const struct parts *parts, uint32_t part)
{
    const struct diagram_box *box = &parts->at[part].box;
    struct str stem = alike_stem(box->name);

    if (!(box->flags & DIAGRAM_ALIKE))
        return parts_words_at(parts, part, 0);
    return stem.len > 0 ? stem : STR("group");
}

/* The class of most modules inside, if one has a majority. */
static struct str main_class(const struct parts *parts, uint32_t group)
{
    struct str name = STR("");
    uint32_t votes = 0;

    for (uint32_t i = parts->at[group].first; i != PART_NONE; i = parts->at[i].next) {
        struct str other = tree_class(parts, i);

        if (!is_held(parts, group, i))
            continue;
        if (votes == 0)
            name = other;
        votes = votes == 0 || str_eq(name, other) ? votes + 1 : votes - 1;
    }
    return name;
}

static struct str contents_word(struct parts *parts, uint32_t group)
{
    struct str name = main_class(parts, group);
    uint32_t n = 0, same = 0, groups = 0;

    for (uint32_t i = parts->at[group].first; i != PART_NONE; i = parts->at[i].next)
        if (is_held(parts, group, i)) {
            n++;
            same += str_eq(name, tree_class(parts, i));
            groups += (parts->at[i].box.flags & DIAGRAM_ALIKE) > 0;
        }
    if (n == 0 && parts->at[group].box.flags & DIAGRAM_ALIKE)
        return parts_printf(parts, "%u operations", parts->at[group].n_inside);
    if (n < 2)
        return STR("");
    if (same * 2 > n && same > 1 && name.len > 0)
        return parts_printf(parts, "%u × %.*s", same, STR_ARG(name));
    return parts_printf(parts, n == groups ? "%u groups" : "%u modules", n);
}

int tree_say_content(struct parts *parts, uint32_t group)
{
    return parts_word(parts, group, contents_word(parts, group));
}

int tree_contents(struct parts *parts)
{
    for (uint32_t i = 1; i < parts->n; i++) {
        const struct graph_part *part = &parts->at[i];

        if (!part->dropped && is_module(part) && part->first != PART_NONE &&
            tree_say_content(parts, i) < 0)
            return -1;
    }
    return 0;
}

/* ---- numbers ---- */

static uint32_t after(const struct parts *parts, uint32_t part)
{
    while (part != PART_ROOT && parts->at[part].next == PART_NONE) {
        parts->end[parts->box_of[part]] = parts->n_boxes;
        part = parts->at[part].parent;
    }
    parts->end[parts->box_of[part]] = parts->n_boxes;
    return part == PART_ROOT ? PART_NONE : parts->at[part].next;
}

int tree_number(struct parts *parts)
{
    size_t n = (size_t)parts->n + 1;
    uint32_t part = PART_ROOT;

    parts->part_of = arena_array(parts->scratch, n, sizeof *parts->part_of);
    parts->box_of = arena_array(parts->scratch, n, sizeof *parts->box_of);
    parts->end = arena_array(parts->scratch, n, sizeof *parts->end);
    parts->up = arena_array(parts->scratch, n, sizeof *parts->up);
    if (!parts->part_of || !parts->box_of || !parts->end || !parts->up)
        return -1;
    for (uint32_t i = 0; i < parts->n; i++)
        parts->box_of[i] = PART_NONE;
    parts->n_boxes = 0;
    while (part != PART_NONE) {
        uint32_t box = parts->n_boxes++;

        parts->part_of[box] = part;
        parts->box_of[part] = box;
        parts->up[box] =
            part == PART_ROOT ? PART_NONE : parts->box_of[parts->at[part].parent];
        part = parts->at[part].first != PART_NONE ? parts->at[part].first
                                                  : after(parts, part);
    }
    return 0;
}
