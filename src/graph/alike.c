/* Finds the long levels of a tree and divides them. A level is long if it has many
 * boxes after folding: fifty equal layers need no group. */
#include <string.h>

#include "graph/alike_in.h"

#define DEPTH_MOST 4 /* groups inside groups */

/* ---- levels ---- */

/* Its name in the module; that of an addition is drawn as a sign, but its id has it. */
static struct str full_name(const struct graph_part *part, struct str above)
{
    const struct diagram_box *box = &part->box;
    struct str name = box->id;

    if (box->kind != DIAGRAM_MODULE)
        return part->key;
    if (!(box->flags & DIAGRAM_SIGN))
        return box->name;
    if (above.len > 0 && str_starts(name, above))
        name = str_from(name, above.len + 1);
    if (box->number > 1 && str_find_last_char(name, '#') >= 0)
        name = str_head(name, (size_t)str_find_last_char(name, '#'));
    return name;
}

/* The id of a module, as a path; the root has none. */
static struct str path_of(const struct parts *parts, uint32_t part)
{
    return part == PART_ROOT || parts->at[part].frame ? STR("")
                                                      : parts->at[part].box.id;
}

static struct str class_of(const struct parts *parts, uint32_t part)
{
    const struct diagram_box *box = &parts->at[part].box;

    return box->kind == DIAGRAM_MODULE ? parts_words_at(parts, part, 0) : box->name;
}

/* The boxes directly inside a part, in execution order. `index` is filled for them. */
static int take_boxes(struct alike_level *level, struct parts *parts, uint32_t group,
                      uint32_t *index)
{
    level->parts = parts;
    level->boxes = arena_array(parts->scratch, (size_t)parts->at[group].n_inside + 1,
                               sizeof *level->boxes);
    if (!level->boxes)
        return -1;
    for (uint32_t i = parts->at[group].first; i != PART_NONE; i = parts->at[i].next) {
        const struct diagram_box *box = &parts->at[i].box;
        struct str name = full_name(&parts->at[i], path_of(parts, group));

        index[i] = level->n;
        level->boxes[level->n++] = (struct alike_box){
            .part = i,
            .name = name,
            .nameless = name.len == 0 || alike_is_nameless(name, class_of(parts, i)),
            .stays = diagram_is_tensor(box->kind) || parts->at[i].frame,
        };
    }
    return 0;
}

/* The innermost group around both ends of a link; sets these to the parts directly
 * inside it. */
static uint32_t group_of_link(const struct parts *parts, const struct box_link *link,
                              struct alike_line *ret_line)
{
    uint32_t target = link->target, source = link->source, group = parts->up[target];

    while (source < group || source >= parts->end[group]) {
        target = group;
        group = parts->up[group];
    }
    while (parts->up[source] != group)
        source = parts->up[source];
    *ret_line = (struct alike_line){parts->part_of[source], parts->part_of[target]};
    return parts->part_of[group];
}

/* Add the lines to the levels; levels[level_of[part]] is that of a part. Lines that
 * point backwards are left out. */
static int take_lines(struct parts *parts, struct alike_level *levels,
                      const uint32_t *level_of, const uint32_t *index)
{
    uint32_t n;
    struct box_link *links = parts_box_links(parts, &n);

    if (!links)
        return -1;
    for (uint32_t i = 0; i < n; i++) {
        struct alike_line line;
        uint32_t group = group_of_link(parts, &links[i], &line);
        struct alike_level *level;

        if (level_of[group] == PART_NONE || index[line.source] >= index[line.target])
            continue;
        level = &levels[level_of[group]];
        if (arena_room(parts->scratch, &level->lines, level->n_lines,
                       &level->lines_room, sizeof *level->lines) < 0)
            return -1;
        level->lines[level->n_lines++] =
            (struct alike_line){index[line.source], index[line.target]};
    }
    return 0;
}

/* ---- division ---- */

/* Divide it by the beginnings of the names, or by their ends if that gives fewer boxes.
 * Sets *ret_worth if it is worth it. */
static int choose(struct alike_level *level, bool *ret_worth)
{
    struct alike_level tails = *level;

    *ret_worth = false;
    if (!level->has_keys && alike_keys(level) < 0)
        return -1;
    if (alike_split(level) < 0)
        return -1;
    if (level->n_groups > ALIKE_LEVEL) {
        tails.tail = true;
        tails.boxes = arena_array(level->parts->scratch, (size_t)level->n + 1,
                                  sizeof *tails.boxes);
        if (!tails.boxes)
            return -1;
        memcpy(tails.boxes, level->boxes, level->n * sizeof *tails.boxes);
        if (alike_keys(&tails) < 0 || alike_split(&tails) < 0)
            return -1;
        if (tails.n_groups < level->n_groups)
            *level = tails;
    }
    *ret_worth = level->n_groups <= level->n / 4 * 3;
    return 0;
}

/* "conv2_block1", "…_0" */
static struct str group_name(struct parts *parts, const struct alike_level *level,
                             uint32_t group, struct str around)
{
    struct str head = level->heads[group];

    if (level->tail)
        return parts_printf(parts, "…_%.*s", STR_ARG(head));
    return alike_inside(head, around, level->tail);
}

/* A pattern of names: "encoder.conv2_block1_*". */
static struct str group_id(struct parts *parts, const struct alike_level *level,
                           uint32_t group, struct str above)
{
    struct str head = level->heads[group];
    const char *dot = above.len > 0 ? "." : "";

    if (level->tail)
        return parts_printf(parts, "%.*s%s*_%.*s", STR_ARG(above), dot, STR_ARG(head));
    return parts_printf(parts, "%.*s%s%.*s*", STR_ARG(above), dot, STR_ARG(head));
}

struct division {
    struct alike_level level;
    uint32_t part;     /* what is divided */
    struct str above;  /* the id of the module */
    struct str around; /* the head of the group that is divided; or empty */
    uint32_t depth;
};

static int divide(struct division *division);

/* Makes the parts of the groups, with their boxes inside. `part_of` is by group. */
static int make_groups(const struct division *division, uint32_t *part_of)
{
    const struct alike_level *level = &division->level;
    struct parts *parts = level->parts;

    for (uint32_t g = 0; g < level->n_groups; g++) {
        struct diagram_box *box;

        if (level->sizes[g] < 2)
            continue;
        part_of[g] = parts_add(parts, DIAGRAM_MODULE, division->part);
        if (part_of[g] == PART_NONE)
            return -1;
        box = &parts->at[part_of[g]].box;
        box->flags |= DIAGRAM_ALIKE;
        box->name = group_name(parts, level, g, division->around);
        box->id = group_id(parts, level, g, division->above);
    }
    for (uint32_t i = 0; i < level->n; i++) {
        const struct alike_box *box = &level->boxes[i];
        uint32_t group = part_of[box->group];

        if (level->sizes[box->group] < 2) {
            part_of[box->group] = box->part;
            continue;
        }
        parts->at[box->part].parent = group;
        if (parts->at[box->part].box.kind == DIAGRAM_MODULE &&
            !(parts->at[box->part].box.flags & DIAGRAM_SIGN))
            parts->at[box->part].box.name =
                alike_inside(box->name, level->heads[box->group], level->tail);
        tree_append(parts, group, box->part);
        tree_add_box(&parts->at[group].box, &parts->at[box->part].box);
    }
    tree_empty(parts, division->part);
    for (uint32_t k = 0; k < level->n_groups; k++)
        tree_append(parts, division->part, part_of[level->order[k]]);
    return 0;
}

/* Gives the boxes and lines of each group to a level of its own. */
static int take_groups(const struct alike_level *level, struct alike_level *inner)
{
    struct arena *scratch = level->parts->scratch;
    uint32_t *index = arena_array(scratch, (size_t)level->n + 1, sizeof *index);

    if (!index)
        return -1;
    for (uint32_t g = 0; g < level->n_groups; g++) {
        inner[g].parts = level->parts;
        inner[g].has_keys = !level->tail;
        if (level->sizes[g] <= ALIKE_LEVEL)
            continue;
        inner[g].boxes =
            arena_array(scratch, (size_t)level->sizes[g] + 1, sizeof *inner[g].boxes);
        if (!inner[g].boxes)
            return -1;
    }
    for (uint32_t i = 0; i < level->n; i++) {
        struct alike_level *to = &inner[level->boxes[i].group];

        index[i] = to->n;
        if (to->boxes)
            to->boxes[to->n++] = level->boxes[i];
    }
    for (uint32_t i = 0; i < level->n_lines; i++) {
        const struct alike_line *line = &level->lines[i];
        uint32_t group = level->boxes[line->source].group;
        struct alike_level *to = &inner[group];

        if (!to->boxes || level->boxes[line->target].group != group)
            continue;
        if (arena_room(scratch, &to->lines, to->n_lines, &to->lines_room,
                       sizeof *to->lines) < 0)
            return -1;
        to->lines[to->n_lines++] =
            (struct alike_line){index[line->source], index[line->target]};
    }
    return 0;
}

static int divide_groups(const struct division *division, const uint32_t *part_of)
{
    const struct alike_level *level = &division->level;
    struct alike_level *inner =
        arena_array(level->parts->scratch, (size_t)level->n_groups + 1, sizeof *inner);

    if (!inner || take_groups(level, inner) < 0)
        return -1;
    for (uint32_t g = 0; g < level->n_groups; g++) {
        struct division next = {.level = inner[g],
                                .part = part_of[g],
                                .above = division->above,
                                .around = level->tail ? STR("") : level->heads[g],
                                .depth = division->depth + 1};

        if (level->sizes[g] > ALIKE_LEVEL && next.depth < DEPTH_MOST &&
            divide(&next) < 0)
            return -1;
        if (level->sizes[g] > 1 && tree_say_content(level->parts, part_of[g]) < 0)
            return -1;
    }
    return 0;
}

static int divide(struct division *division)
{
    struct alike_level *level = &division->level;
    uint32_t *part_of;
    bool worth;

    if (choose(level, &worth) < 0)
        return -1;
    if (!worth)
        return 0;
    part_of = arena_array(level->parts->scratch, (size_t)level->n_groups + 1,
                          sizeof *part_of);
    if (!part_of || make_groups(division, part_of) < 0)
        return -1;
    return divide_groups(division, part_of);
}

/* ---- all of it ---- */

int tree_alike(struct parts *parts)
{
    struct arena *scratch = parts->scratch;
    const uint32_t *shown = repeats_count(parts);
    uint32_t *level_of = arena_array(scratch, (size_t)parts->n + 1, sizeof *level_of);
    uint32_t *index = arena_array(scratch, (size_t)parts->n + 1, sizeof *index);
    struct alike_level *levels;
    uint32_t n = 0, n_parts = parts->n;

    levels = arena_array(scratch, (size_t)parts->n_boxes + 1, sizeof *levels);
    if (!shown || !level_of || !index || !levels)
        return -1;
    for (uint32_t i = 0; i < n_parts; i++) {
        level_of[i] = PART_NONE;
        if (parts->box_of[i] == PART_NONE || shown[parts->box_of[i]] <= ALIKE_LEVEL)
            continue;
        level_of[i] = n++;
        if (take_boxes(&levels[level_of[i]], parts, i, index) < 0)
            return -1;
    }
    if (n == 0)
        return 0;
    if (take_lines(parts, levels, level_of, index) < 0)
        return -1;
    for (uint32_t i = 0; i < n_parts; i++) {
        struct division division = {.part = i, .above = path_of(parts, i)};

        if (level_of[i] == PART_NONE)
            continue;
        division.level = levels[level_of[i]];
        if (divide(&division) < 0)
            return -1;
    }
    return 0;
}
