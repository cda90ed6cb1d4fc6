#include "study/diff/rename_in.h"

#include "study/diff/rename_match_in.h"

/* In turn: what has the same name; what the rules of all that is matched lead to; what
 * stands at the same place in a row of equal shapes, if rules say so too
 * (rename_guess.c); again the rules; and last, modules that are the only ones left of
 * their shapes. */

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

/* Where two lead to the same name, neither is taken. */
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

/* The rules of what is matched may lead on. */
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

/* How many are left of a kind, and one of them. */
struct left_over {
    uint32_t n[2], at[2];
};

struct left_overs {
    struct map map;
    struct left_over *at;
    uint32_t n, room;
};

static struct left_over *left_over(struct matching *m, struct left_overs *all,
                                   uint64_t key)
{
    uint32_t i;

    if (map_find(&all->map, key, &i))
        return &all->at[i];
    if (arena_room(m->arena, &all->at, all->n, &all->room, sizeof *all->at) < 0 ||
        map_put(&all->map, key, all->n) < 0)
        return NULL;
    all->at[all->n] = (struct left_over){0};
    return &all->at[all->n++];
}

/* The module that holds it, and its own name in there. */
static struct str parent_of(struct str name)
{
    ptrdiff_t dot = str_find_last_char(name, '.');

    return str_head(name, dot < 0 ? 0 : (size_t)dot);
}

static uint64_t kind_of(const struct rename_item *item)
{
    struct str parent = parent_of(item->name);

    return hash_mix(str_hash(str_from(item->name, parent.len)), item->shape);
}

static int count_left_overs(struct matching *m, struct left_overs *kinds,
                            struct left_overs *parents)
{
    uint32_t side, i;

    map_init(&kinds->map, m->arena);
    map_init(&parents->map, m->arena);
    for (side = LEFT; side <= RIGHT; side++)
        for (i = 0; i < m->n[side]; i++) {
            const struct rename_item *item = &m->items[side][i];
            struct left_over *kind, *parent;

            if (item->match != RENAME_NONE)
                continue;
            kind = left_over(m, kinds, kind_of(item));
            parent =
                left_over(m, parents, hash_mix(side, str_hash(parent_of(item->name))));
            if (!kind || !parent)
                return -1;
            kind->n[side]++;
            kind->at[side] = i;
            parent->n[side]++;
        }
    return 0;
}

/* The first item, from `i` in steps of `step`, that is of another module; the list's
 * length if there is none (as below 0, by wrapping). A module has few tensors of its
 * own: the walk ends. */
#define MOST_IN_A_MODULE 64

static uint32_t outside(const struct matching *m, int side, uint32_t i, int step)
{
    const struct rename_item *items = m->items[side];
    struct str parent = parent_of(items[i].name);
    int steps;

    for (steps = 0; steps < MOST_IN_A_MODULE && i < m->n[side] &&
                    str_eq(parent_of(items[i].name), parent);
         steps++)
        i += (uint32_t)step;
    return i < m->n[side] ? i : m->n[side];
}

/* Do both stand between the same neighbours? Another module of common shapes may have
 * come where one went, but rarely at the same place. */
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

/* Two modules whose tensors are the only ones of their kinds, all of them: the pairs
 * between them, counted under the left one's name and the right one's. They also have
 * to stand at the same place. */
static int join_left_overs(struct matching *m)
{
    struct left_overs kinds = {0}, parents = {0}, both = {0};
    uint32_t i, pass;

    map_init(&both.map, m->arena);
    if (count_left_overs(m, &kinds, &parents) < 0)
        return -1;
    for (pass = 0; pass < 2; pass++)
        for (i = 0; i < kinds.n; i++) {
            const struct left_over *kind = &kinds.at[i];
            struct left_over *pair, *left, *right;
            uint64_t a, b;

            if (kind->n[LEFT] != 1 || kind->n[RIGHT] != 1)
                continue;
            a = hash_mix(LEFT,
                         str_hash(parent_of(m->items[LEFT][kind->at[LEFT]].name)));
            b = hash_mix(RIGHT,
                         str_hash(parent_of(m->items[RIGHT][kind->at[RIGHT]].name)));
            pair = left_over(m, &both, hash_mix(a, b));
            left = left_over(m, &parents, a);
            right = left_over(m, &parents, b);
            if (!pair || !left || !right)
                return -1;
            if (pass == 0)
                pair->n[0] += same_place(m, kind->at[LEFT], kind->at[RIGHT]);
            else if (pair->n[0] == left->n[LEFT] && pair->n[0] == right->n[RIGHT])
                matching_join(m, kind->at[LEFT], kind->at[RIGHT]);
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
    /* Only what is known to be much the same model has its odd ones paired. */
    if (count_matched(m) < least / 2 + 1)
        return 0;
    return join_left_overs(m);
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
        arena_err(&scratch, "finding which key is which", err);
    arena_release(&scratch);
    return result;
}
