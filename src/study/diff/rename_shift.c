/* Finds shifted numbers: for each prefix, which number became which. Neighbours that
 * moved by the same amount form a shift. Unchanged numbers matter too: they end a run. */
#include <stdlib.h>

#include "study/diff/rename_in.h"

#define SHIFT_GAIN 4

struct place {
    uint32_t group; /* index of its prefix */
    bool odd;       /* it did not always become the same number */
    uint64_t n;
    int64_t shift;
    uint32_t uses;
};

struct shifts {
    struct rename_candidates *all;
    struct map groups; /* hash of a prefix to its index */
    struct str *prefixes;
    uint32_t n_groups, groups_room;
    struct place *places;
    uint32_t n, room;
};

/* Hashes of the components before the current one: with numbers, and with holes. */
struct rename_shift_heads {
    uint64_t plain, holes;
    bool has_numbers;
};

static void heads_add(struct rename_shift_heads *heads,
                      const struct rename_parts *parts, uint32_t i)
{
    uint64_t hash = str_hash(parts->at[i]);

    heads->plain = hash_mix(heads->plain, hash);
    heads->holes = hash_mix(heads->holes, parts->number[i] ? 1 : hash);
    heads->has_numbers = heads->has_numbers || parts->number[i];
}

/* The number that component i of `in` became. */
static bool shift_of(const struct rename_aligned *in, uint32_t i, uint64_t *ret_n,
                     int64_t *ret_shift)
{
    uint64_t to;

    if (!in->a.number[i] || in->in_b[i] == RENAME_ALONE ||
        !rename_number(in->a.at[i], ret_n) ||
        !rename_number(in->b.at[in->in_b[i]], &to))
        return false;
    *ret_shift = (int64_t)to - (int64_t)*ret_n;
    return true;
}

static int add_group(struct shifts *shifts, uint64_t hash,
                     const struct rename_parts *parts, uint32_t n, bool holes)
{
    struct buf *text = &shifts->all->from;
    uint32_t i, group, n_holes = 0;
    struct str prefix;

    if (map_find(&shifts->groups, hash, &group))
        return 0;
    buf_clear(text);
    for (i = 0; i < n; i++) {
        bool hole = holes && parts->number[i];

        if (str_is(parts->at[i], "{}"))
            return 0;
        n_holes += hole;
        buf_str(text, hole ? STR("{}") : parts->at[i]);
        buf_char(text, '.');
    }
    if (n_holes > RENAME_HOLES)
        return 0;
    prefix = arena_str(shifts->all->arena, buf_span(text));
    if (text->bad || !prefix.at ||
        arena_room(shifts->all->arena, &shifts->prefixes, shifts->n_groups,
                   &shifts->groups_room, sizeof *shifts->prefixes) < 0)
        return -1;
    shifts->prefixes[shifts->n_groups] = prefix;
    return map_put(&shifts->groups, hash, shifts->n_groups++);
}

/* The prefixes before numbers that changed. */
static int find_groups(struct shifts *shifts, const struct rename_way *way)
{
    struct rename_aligned in;
    struct rename_shift_heads heads = {0};
    uint64_t number;
    int64_t shift;
    uint32_t i;

    if (!rename_align(way->now, way->to, &in))
        return 0;
    for (i = 0; i < in.a.n; i++) {
        if (shift_of(&in, i, &number, &shift) && shift != 0 &&
            (add_group(shifts, heads.holes, &in.a, i, true) < 0 ||
             add_group(shifts, heads.plain, &in.a, i, false) < 0))
            return -1;
        heads_add(&heads, &in.a, i);
    }
    return 0;
}

static int add_place(struct shifts *shifts, uint64_t hash, struct place place)
{
    if (!map_find(&shifts->groups, hash, &place.group))
        return 0;
    if (arena_room(shifts->all->arena, &shifts->places, shifts->n, &shifts->room,
                   sizeof *shifts->places) < 0)
        return -1;
    shifts->places[shifts->n++] = place;
    return 0;
}

/* The numbers of one pair after these prefixes, and what they became. */
static int find_places(struct shifts *shifts, const struct rename_way *way)
{
    struct rename_aligned in;
    struct rename_shift_heads heads = {0};
    uint32_t i;

    if (way->distance == 0)
        rename_split(way->now, &in.a);
    else if (!rename_align(way->now, way->to, &in))
        return 0;
    for (i = 0; i < in.a.n; i++) {
        struct place place = {.uses = 1};

        if (in.a.number[i] && rename_number(in.a.at[i], &place.n)) {
            if (way->distance > 0)
                place.odd = !shift_of(&in, i, &place.n, &place.shift);
            if (add_place(shifts, heads.holes, place) < 0 ||
                (heads.has_numbers && add_place(shifts, heads.plain, place) < 0))
                return -1;
        }
        heads_add(&heads, &in.a, i);
    }
    return 0;
}

static int compare_places(const void *x, const void *y)
{
    const struct place *a = x, *b = y;

    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return (a->n > b->n) - (a->n < b->n);
}

/* Merge the places of each number of a prefix. */
static void merge_places(struct shifts *shifts)
{
    uint32_t i, n = 0;

    qsort(shifts->places, shifts->n, sizeof *shifts->places, compare_places);
    for (i = 0; i < shifts->n; i++) {
        struct place *last = n > 0 ? &shifts->places[n - 1] : NULL;
        struct place *next = &shifts->places[i];

        if (!last || last->group != next->group || last->n != next->n) {
            shifts->places[n++] = *next;
            continue;
        }
        last->uses += next->uses;
        last->odd = last->odd || next->odd || last->shift != next->shift;
    }
    shifts->n = n;
}

static bool same_run(const struct place *a, const struct place *b)
{
    return a->group == b->group && !a->odd && !b->odd && a->shift == b->shift;
}

static int add_runs(struct shifts *shifts)
{
    const struct place *places = shifts->places;
    uint32_t i, end;

    for (i = 0; i < shifts->n; i = end) {
        struct rename_rule rule = {.kind = RENAME_SHIFT,
                                   .from = shifts->prefixes[places[i].group],
                                   .to = shifts->prefixes[places[i].group],
                                   .first = places[i].n,
                                   .last = UINT64_MAX,
                                   .shift = places[i].shift};
        uint64_t uses = 0;

        for (end = i; end < shifts->n && same_run(&places[i], &places[end]); end++)
            uses += places[end].uses;
        if (end == i)
            end++;
        if (end < shifts->n && places[end].group == places[i].group)
            rule.last = places[end - 1].n;
        if (!places[i].odd && places[i].shift != 0 && uses > 1 &&
            rename_add_candidate(shifts->all, &rule, uses * SHIFT_GAIN) < 0)
            return -1;
    }
    return 0;
}

int rename_collect_shifts(struct rename_candidates *all, const struct rename_way *ways,
                          uint32_t n, uint32_t step)
{
    struct shifts shifts = {.all = all};
    uint32_t i;

    map_init(&shifts.groups, all->arena);
    for (i = 0; i < n; i++)
        if (ways[i].distance > 0 && rename_chosen(i, step) &&
            find_groups(&shifts, &ways[i]) < 0)
            return -1;
    if (shifts.n_groups == 0)
        return 0;
    for (i = 0; i < n; i++)
        if (find_places(&shifts, &ways[i]) < 0)
            return -1;
    merge_places(&shifts);
    return add_runs(&shifts);
}
