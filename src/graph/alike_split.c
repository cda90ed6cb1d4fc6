/* The division of a level. Boxes with the same first token are a group, unless a path
 * leaves the group and comes back, or the group is nearly the whole level: then the
 * next token divides it further. What cannot be a group stays alone. */
#include "graph/alike_in.h"

#define ROUNDS 32 /* then all groups in circles are given up */

struct split {
    struct alike_level *level;
    uint32_t *first, *sources; /* by group: the groups that it reads */

    /* For components(): Tarjan's algorithm, without recursion. */
    uint32_t *met, *low; /* by group: when it was met, from 1; the earliest in reach */
    uint32_t *at;        /* by group: the next of its sources */
    uint32_t *path, *open;
    uint32_t *begin, *end; /* by group: its first box; one past its last */
    uint32_t *next;        /* by box: the index of its head with one more token */
    uint32_t *count;       /* by such an index: number of boxes of a scattered group */
    uint32_t *most;        /* by group: the index with the most boxes, or PART_NONE */
    uint32_t *circle; /* by group: one more than the circle that it is in; 0: none */
    uint32_t *widest; /* by circle: the most boxes of others inside a group */
    uint32_t n_circles;
    bool *is_open;
    uint32_t n_met, n_path, n_open, n_done;
};

/* ---- groups ---- */

/* Boxes with the same head get the same group. */
static int number_groups(struct alike_level *level)
{
    struct name_map heads;
    uint32_t *group_of =
        arena_array(level->parts->scratch, (size_t)level->n + 1, sizeof *group_of);

    name_map_init(&heads, level->parts->scratch);
    level->n_groups = 0;
    for (uint32_t i = 0; group_of && i < level->n; i++) {
        struct alike_box *box = &level->boxes[i];
        struct str head = alike_head(box->key, box->n_tokens, level->tail);
        uint32_t name = 0;
        int added = head.len > 0 ? name_map_add(&heads, head, &name) : 1;

        if (added < 0)
            return -1;
        box->group = added == 1 ? level->n_groups++ : group_of[name];
        if (added == 1) {
            level->heads[box->group] = box->key;
            level->sizes[box->group] = 0;
        }
        if (head.len > 0)
            group_of[name] = box->group;
        level->sizes[box->group]++;
        level->heads[box->group] =
            alike_common(level->heads[box->group], box->key, level->tail);
    }
    return group_of ? 0 : -1;
}

static void list_sources(struct split *s)
{
    const struct alike_level *level = s->level;

    for (uint32_t g = 0; g <= level->n_groups; g++)
        s->first[g] = 0;
    for (uint32_t i = 0; i < level->n_lines; i++)
        s->first[level->boxes[level->lines[i].target].group + 1]++;
    for (uint32_t g = 0; g < level->n_groups; g++)
        s->first[g + 1] += s->first[g];
    for (uint32_t g = 0; g < level->n_groups; g++)
        s->at[g] = s->first[g];
    for (uint32_t i = 0; i < level->n_lines; i++) {
        const struct alike_line *line = &level->lines[i];

        s->sources[s->at[level->boxes[line->target].group]++] =
            level->boxes[line->source].group;
    }
}

/* ---- circles ---- */

static void meet(struct split *s, uint32_t group)
{
    s->met[group] = s->low[group] = ++s->n_met;
    s->at[group] = s->first[group];
    s->path[s->n_path++] = group;
    s->open[s->n_open++] = group;
    s->is_open[group] = true;
}

/* All that a group reads is known: it closes, perhaps with a circle around it. */
static void leave(struct split *s, uint32_t group)
{
    uint32_t other, circle = 0;

    s->n_path--;
    if (s->n_path > 0 && s->low[group] < s->low[s->path[s->n_path - 1]])
        s->low[s->path[s->n_path - 1]] = s->low[group];
    if (s->low[group] != s->met[group])
        return;
    if (s->open[s->n_open - 1] != group)
        circle = ++s->n_circles;
    do {
        other = s->open[--s->n_open];
        s->is_open[other] = false;
        s->circle[other] = circle;
        s->level->order[s->n_done++] = other;
    } while (other != group);
}

/* Finds circles, and an order in which every group comes after those that it reads. */
static void components(struct split *s)
{
    list_sources(s);
    s->n_met = s->n_done = s->n_circles = 0;
    for (uint32_t g = 0; g < s->level->n_groups; g++)
        s->met[g] = 0;
    for (uint32_t g = 0; g < s->level->n_groups; g++) {
        if (s->met[g] == 0)
            meet(s, g);
        while (s->n_path > 0) {
            uint32_t group = s->path[s->n_path - 1], source;

            if (s->at[group] == s->first[group + 1]) {
                leave(s, group);
                continue;
            }
            source = s->sources[s->at[group]++];
            if (s->met[source] == 0)
                meet(s, source);
            else if (s->is_open[source] && s->met[source] < s->low[group])
                s->low[group] = s->met[source];
        }
    }
}

/* ---- rounds ---- */

/* How many boxes of other groups are between its boxes. */
static uint32_t strangers(const struct split *s, uint32_t group)
{
    return s->end[group] - s->begin[group] - s->level->sizes[group];
}

/* Finds the most scattered group of each circle. */
static void find_widest(struct split *s)
{
    const struct alike_level *level = s->level;

    for (uint32_t g = 0; g < level->n_groups; g++)
        s->begin[g] = PART_NONE;
    for (uint32_t i = 0; i < level->n; i++) {
        uint32_t group = level->boxes[i].group;

        if (s->begin[group] == PART_NONE)
            s->begin[group] = i;
        s->end[group] = i + 1;
    }
    for (uint32_t c = 0; c <= s->n_circles; c++)
        s->widest[c] = 0;
    for (uint32_t g = 0; g < level->n_groups; g++)
        if (strangers(s, g) > s->widest[s->circle[g]])
            s->widest[s->circle[g]] = strangers(s, g);
}

/* Is this group to blame for its circle? Scattered groups are divided first. */
static bool is_scattered(const struct split *s, uint32_t group)
{
    return s->circle[group] && strangers(s, group) >= s->widest[s->circle[group]] / 2;
}

/* Finds the largest part of each scattered group: the boxes with the same next token.
 * Names of the stem may look like those of the first blocks: "stem_1" and "1". */
static int find_parts(struct split *s)
{
    struct alike_level *level = s->level;
    struct name_map heads;

    name_map_init(&heads, level->parts->scratch);
    for (uint32_t g = 0; g < level->n_groups; g++)
        s->most[g] = PART_NONE;
    for (uint32_t i = 0; i < level->n; i++) {
        const struct alike_box *box = &level->boxes[i];
        struct str head = alike_head(
            box->key, box->n_tokens < UINT32_MAX ? box->n_tokens + 1 : UINT32_MAX,
            level->tail);
        uint32_t *most = &s->most[box->group];
        int added;

        if (level->sizes[box->group] < 2 || !is_scattered(s, box->group))
            continue;
        added = name_map_add(&heads, head, &s->next[i]);
        if (added < 0)
            return -1;
        s->count[s->next[i]] = added == 1 ? 1 : s->count[s->next[i]] + 1;
        if (*most == PART_NONE || s->count[s->next[i]] > s->count[*most])
            *most = s->next[i];
    }
    return 0;
}

/* Is its part of the group so large that it is enough to divide that off? */
static bool stays_behind(const struct split *s, uint32_t i)
{
    uint32_t group = s->level->boxes[i].group, size = s->level->sizes[group];

    return is_scattered(s, group) && s->count[s->most[group]] >= size / 4 &&
           s->count[s->most[group]] < size && s->next[i] != s->most[group];
}

/* Makes the box's head longer; a box whose whole key is used stays alone. */
static void divide_further(const struct alike_level *level, struct alike_box *box)
{
    struct str head = alike_head(box->key, box->n_tokens, level->tail);

    if (head.len == box->key.len)
        box->key = STR("");
    else
        box->n_tokens++;
}

/* Divides groups that cannot stay; sets *ret_some if there are any. */
static int divide_groups(struct split *s, uint32_t round, bool *ret_some)
{
    struct alike_level *level = s->level;

    *ret_some = false;
    find_widest(s);
    if (find_parts(s) < 0)
        return -1;
    for (uint32_t i = 0; i < level->n; i++) {
        struct alike_box *box = &level->boxes[i];
        uint32_t size = level->sizes[box->group];

        if (size > 1 && round >= ROUNDS && s->circle[box->group]) {
            box->key = STR("");
            *ret_some = true;
            continue;
        }
        if (size < 2 || (!is_scattered(s, box->group) && size <= level->n / 4 * 3))
            continue;
        *ret_some = true;
        if (!stays_behind(s, i))
            divide_further(level, box);
    }
    return 0;
}

static void drop_small(struct alike_level *level)
{
    for (uint32_t i = 0; i < level->n; i++)
        if (level->sizes[level->boxes[i].group] < ALIKE_LEAST)
            level->boxes[i].key = STR("");
}

static int allocate(struct split *s)
{
    struct alike_level *level = s->level;
    struct arena *scratch = level->parts->scratch;
    size_t n = (size_t)level->n + 2;

    level->heads = arena_array(scratch, n, sizeof *level->heads);
    level->sizes = arena_array(scratch, n, sizeof *level->sizes);
    level->order = arena_array(scratch, n, sizeof *level->order);
    s->first = arena_array(scratch, n, sizeof(uint32_t));
    s->sources = arena_array(scratch, (size_t)level->n_lines + 1, sizeof(uint32_t));
    s->met = arena_array(scratch, n, sizeof(uint32_t));
    s->low = arena_array(scratch, n, sizeof(uint32_t));
    s->at = arena_array(scratch, n, sizeof(uint32_t));
    s->path = arena_array(scratch, n, sizeof(uint32_t));
    s->open = arena_array(scratch, n, sizeof(uint32_t));
    s->is_open = arena_array(scratch, n, sizeof(bool));
    s->next = arena_array(scratch, n, sizeof(uint32_t));
    s->count = arena_array(scratch, n, sizeof(uint32_t));
    s->most = arena_array(scratch, n, sizeof(uint32_t));
    s->begin = arena_array(scratch, n, sizeof(uint32_t));
    s->end = arena_array(scratch, n, sizeof(uint32_t));
    s->circle = arena_array(scratch, n, sizeof(uint32_t));
    s->widest = arena_array(scratch, n, sizeof(uint32_t));
    return level->heads && level->sizes && level->order && s->first && s->sources &&
                   s->met && s->low && s->at && s->path && s->open && s->is_open &&
                   s->begin && s->end && s->next && s->count && s->most && s->circle &&
                   s->widest
               ? 0
               : -1;
}

int alike_split(struct alike_level *level)
{
    struct split s = {.level = level};
    bool some = true;

    if (allocate(&s) < 0)
        return -1;
    for (uint32_t round = 0; some; round++) {
        if (number_groups(level) < 0)
            return -1;
        components(&s);
        if (divide_groups(&s, round, &some) < 0)
            return -1;
    }
    drop_small(level);
    if (number_groups(level) < 0)
        return -1;
    components(&s);
    return 0;
}
