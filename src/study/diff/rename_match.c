/* Matches names in this order: equal names; names that the rules of the matches lead to;
 * names at the same position in a row of equal shapes, if rules agree (rename_guess.c);
 * the rules again; last, modules that are the only ones left of their shapes. */
#include "study/diff/rename_in.h"

#include "study/diff/rename_match_in.h"

static int index_names(struct matching *m)
{
    uint32_t i;

    map_init(&m->right_names, m->arena);
    for (i = 0; i < m->n[RIGHT]; i++)
        if (map_put(&m->right_names, str_hash(m->items[RIGHT][i].name), i) < 0)
            return -1;
    return 0;
}

uint32_t matching_find(const struct matching *m, struct str name)
{
    uint32_t i;

    if (!map_find(&m->right_names, str_hash(name), &i) ||
        !str_eq(m->items[RIGHT][i].name, name))
        return RENAME_NONE;
    return i;
}

void matching_join(struct matching *m, uint32_t left, uint32_t right)
{
    m->items[LEFT][left].match = right;
    m->items[RIGHT][right].match = left;
}

bool matching_fits(const struct matching *m, uint32_t left, uint32_t right)
{
    return right != RENAME_NONE && m->items[LEFT][left].match == RENAME_NONE &&
           m->items[RIGHT][right].match == RENAME_NONE &&
           m->items[LEFT][left].shape == m->items[RIGHT][right].shape;
}

static void join_equal_names(struct matching *m)
{
    uint32_t i;

    for (i = 0; i < m->n[LEFT]; i++) {
        uint32_t other = matching_find(m, m->items[LEFT][i].name);

        if (matching_fits(m, i, other))
            matching_join(m, i, other);
    }
}

uint32_t matching_pairs(const struct matching *m, struct rename_pair *pairs)
{
    uint32_t i, n = 0;

    for (i = 0; i < m->n[LEFT]; i++) {
        const struct rename_item *item = &m->items[LEFT][i];

        if (item->match != RENAME_NONE)
            pairs[n++] =
                (struct rename_pair){item->name, m->items[RIGHT][item->match].name};
    }
    return n;
}

struct str matching_module(struct str name)
{
    ptrdiff_t dot = str_find_last_char(name, '.');

    return str_head(name, dot < 0 ? 0 : (size_t)dot);
}

void matching_counts_init(const struct matching *m, struct matching_counts *counts)
{
    *counts = (struct matching_counts){0};
    map_init(&counts->map, m->arena);
}

int matching_count(struct matching *m, struct matching_counts *counts, uint64_t key,
                   uint32_t side, uint32_t i)
{
    uint32_t at;

    if (!map_find(&counts->map, key, &at)) {
        if (arena_room(m->arena, &counts->at, counts->n, &counts->room,
                       sizeof *counts->at) < 0 ||
            map_put(&counts->map, key, counts->n) < 0)
            return -1;
        at = counts->n++;
        counts->at[at] = (struct matching_count){0};
    }
    counts->at[at].n[side]++;
    counts->at[at].at[side] = i;
    return 0;
}

const struct matching_count *matching_count_find(const struct matching_counts *counts,
                                                 uint64_t key)
{
    uint32_t at;

    return map_find(&counts->map, key, &at) ? &counts->at[at] : NULL;
}

/* If rules lead two names to the same one, neither is matched. */
static int join_by_rules(struct matching *m, const struct rename_rules *rules)
{
    uint32_t *goal = arena_array(m->arena, m->n[LEFT] + (size_t)1, sizeof *goal);
    uint32_t *claims = arena_array(m->arena, m->n[RIGHT] + (size_t)1, sizeof *claims);
    struct buf name = BUF_INIT;
    uint32_t i;

    if (!goal || !claims)
        return -1;
    for (i = 0; i < m->n[LEFT]; i++) {
        goal[i] = RENAME_NONE;
        if (m->items[LEFT][i].match != RENAME_NONE)
            continue;
        buf_clear(&name);
        rename_apply(rules, m->items[LEFT][i].name, &name);
        goal[i] = matching_find(m, buf_span(&name));
        if (goal[i] != RENAME_NONE)
            claims[goal[i]]++;
    }
    for (i = 0; i < m->n[LEFT]; i++)
        if (matching_fits(m, i, goal[i]) && claims[goal[i]] == 1)
            matching_join(m, i, goal[i]);
    buf_release(&name);
    return 0;
}

/* Apply the rules of the matches to the other names. */
static int follow_rules(struct matching *m)
{
    struct rename_pair *pairs =
        arena_array(m->arena, m->n[LEFT] + (size_t)1, sizeof *pairs);
    struct rename_rules rules;
    uint32_t n;

    if (!pairs)
        return -1;
    n = matching_pairs(m, pairs);
    if (n == 0 || n == m->n[LEFT] || n == m->n[RIGHT])
        return 0;
    if (rename_find(pairs, n, m->arena, &rules, NULL) < 0)
        return -1;
    return join_by_rules(m, &rules);
}

/* ---- what is left ---- */

static uint64_t module_key(const struct matching *m, uint32_t side, uint32_t i)
{
    return hash_mix(side, str_hash(matching_module(m->items[side][i].name)));
}

/* The tensor's own name in its module, and its shape. */
static uint64_t kind_key(const struct rename_item *item)
{
    struct str module = matching_module(item->name);

    return hash_mix(str_hash(str_from(item->name, module.len)), item->shape);
}

/* Count the unmatched tensors by kind and by module. */
static int count_left(struct matching *m, struct matching_counts *kinds,
                      struct matching_counts *modules)
{
    for (uint32_t side = LEFT; side <= RIGHT; side++)
        for (uint32_t i = 0; i < m->n[side]; i++)
            if (m->items[side][i].match == RENAME_NONE &&
                (matching_count(m, kinds, kind_key(&m->items[side][i]), side, i) < 0 ||
                 matching_count(m, modules, module_key(m, side, i), side, i) < 0))
                return -1;
    return 0;
}

#define MOST_IN_A_MODULE 64

/* The first item of another module from `i` on, in steps of `step`; the length of the
 * list if there is none. */

static uint32_t outside(const struct matching *m, int side, uint32_t i, int step)
{
    const struct rename_item *items = m->items[side];
    struct str module = matching_module(items[i].name);
    int steps;

    for (steps = 0; steps < MOST_IN_A_MODULE && i < m->n[side] &&
                    str_eq(matching_module(items[i].name), module);
         steps++)
        i += (uint32_t)step;
    return i < m->n[side] ? i : m->n[side];
}

/* Do both have the same neighbours? A new module may have the shapes of one that was
 * removed, but rarely at the same position. */
static bool same_place(const struct matching *m, uint32_t left, uint32_t right)
{
    int step;

    for (step = -1; step <= 1; step += 2) {
        uint32_t a = outside(m, LEFT, left, step), b = outside(m, RIGHT, right, step);
        bool a_end = a == m->n[LEFT], b_end = b == m->n[RIGHT];

        if (a_end != b_end || (!a_end && m->items[LEFT][a].match != b))
            return false;
    }
    return true;
}

static uint32_t count_at(const struct matching_counts *counts, uint64_t key,
                         uint32_t side)
{
    const struct matching_count *count = matching_count_find(counts, key);

    return count ? count->n[side] : 0;
}

/* Match two modules if all their tensors are the only ones of their kinds and at the
 * same position. `both` counts these tensors by pair of modules. */
static int join_left(struct matching *m)
{
    struct matching_counts kinds, modules, both;

    matching_counts_init(m, &kinds);
    matching_counts_init(m, &modules);
    matching_counts_init(m, &both);
    if (count_left(m, &kinds, &modules) < 0)
        return -1;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < kinds.n; i++) {
            uint32_t left = kinds.at[i].at[LEFT], right = kinds.at[i].at[RIGHT], n;
            uint64_t a, b;

            if (kinds.at[i].n[LEFT] != 1 || kinds.at[i].n[RIGHT] != 1)
                continue;
            a = module_key(m, LEFT, left);
            b = module_key(m, RIGHT, right);
            if (pass == 0 && same_place(m, left, right) &&
                matching_count(m, &both, hash_mix(a, b), LEFT, left) < 0)
                return -1;
            n = count_at(&both, hash_mix(a, b), LEFT);
            if (pass == 1 && n == count_at(&modules, a, LEFT) &&
                n == count_at(&modules, b, RIGHT))
                matching_join(m, left, right);
        }
    return 0;
}

static uint32_t count_matched(const struct matching *m)
{
    uint32_t i, n = 0;

    for (i = 0; i < m->n[LEFT]; i++)
        n += m->items[LEFT][i].match != RENAME_NONE;
    return n;
}

static int match_all(struct matching *m)
{
    uint32_t least = m->n[LEFT] < m->n[RIGHT] ? m->n[LEFT] : m->n[RIGHT];

    if (index_names(m) < 0)
        return -1;
    join_equal_names(m);
    if (follow_rules(m) < 0 || rename_guess(m) < 0 || follow_rules(m) < 0)
        return -1;
    /* Only if the models are mostly the same. */
    if (count_matched(m) < least / 2 + 1)
        return 0;
    return join_left(m);
}

int rename_match(struct rename_item *left, uint32_t n_left, struct rename_item *right,
                 uint32_t n_right, struct arena *arena, struct err *err)
{
    struct matching m = {.items = {left, right}, .n = {n_left, n_right}};
    struct arena scratch;
    int result;

    arena_init(&scratch, arena->limit);
    m.arena = &scratch;
    result = match_all(&m);
    if (result < 0)
        arena_err(&scratch, "matching names", err);
    arena_release(&scratch);
    return result;
}
