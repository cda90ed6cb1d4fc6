/* Matches names by order and shape. First find anchors in the same order on both sides:
 * matches, and items that are the only ones of their shape. From each anchor forwards,
 * and from each backwards, neighbours of equal shape are supposed to match. Then find
 * rules that explain these pairs. A rule is trusted if it fits nearly all names it
 * touches, holds for several modules or for unique shapes, and has no equally good
 * alternative. */
#include <stdlib.h>

#include "study/diff/rename_in.h"
#include "study/diff/rename_match_in.h"

#define MOST_RULES 64
#define SEVERAL    3
#define MOST_ASKED 1024

/* ---- pairs by order and shape ---- */

struct anchor {
    uint32_t left, right;
    uint32_t before; /* the previous one in the longest row that ends here, or none */
};

struct guess {
    struct matching *m;
    struct matching_counts shapes; /* of unmatched items */
    struct anchor *anchors;
    uint32_t n_anchors;
    uint32_t *goal; /* by left item: its supposed match, or RENAME_NONE */
};

static int count_shapes(struct guess *guess)
{
    struct matching *m = guess->m;

    matching_counts_init(m, &guess->shapes);
    for (uint32_t side = LEFT; side <= RIGHT; side++)
        for (uint32_t i = 0; i < m->n[side]; i++)
            if (m->items[side][i].match == RENAME_NONE &&
                matching_count(m, &guess->shapes, m->items[side][i].shape, side, i) < 0)
                return -1;
    return 0;
}

/* The only unmatched item of its shape on both sides: the one on the right; else
 * RENAME_NONE. */
static uint32_t only_one(const struct guess *guess, uint32_t left)
{
    const struct matching_count *count =
        matching_count_find(&guess->shapes, guess->m->items[LEFT][left].shape);

    return count && count->n[LEFT] == 1 && count->n[RIGHT] == 1 ? count->at[RIGHT]
                                                                : RENAME_NONE;
}

static void find_anchors(struct guess *guess)
{
    for (uint32_t i = 0; i < guess->m->n[LEFT]; i++) {
        uint32_t right = guess->m->items[LEFT][i].match;

        if (right == RENAME_NONE)
            right = only_one(guess, i);
        if (right != RENAME_NONE)
            guess->anchors[guess->n_anchors++] = (struct anchor){i, right, RENAME_NONE};
    }
}

/* Keep the longest row that is in order on the right too. `ends[k]` is the anchor with
 * the least right index that ends a row of k + 1. */
static int order_anchors(struct guess *guess)
{
    struct anchor *all = guess->anchors;
    uint32_t *ends =
        arena_array(guess->m->arena, guess->n_anchors + (size_t)1, sizeof *ends);
    uint32_t i, at, n = 0;

    if (!ends)
        return -1;
    for (i = 0; i < guess->n_anchors; i++) {
        uint32_t low = 0, high = n;

        while (low < high) {
            uint32_t middle = low + (high - low) / 2;

            if (all[ends[middle]].right < all[i].right)
                low = middle + 1;
            else
                high = middle;
        }
        all[i].before = low > 0 ? ends[low - 1] : RENAME_NONE;
        ends[low] = i;
        n = low == n ? n + 1 : n;
    }
    for (i = n, at = n > 0 ? ends[n - 1] : 0; i-- > 0; at = all[at].before)
        ends[i] = at;
    for (i = 0; i < n; i++)
        all[i] = all[ends[i]];
    guess->n_anchors = n;
    return 0;
}

static bool try_goal(struct guess *guess, uint32_t left, uint32_t right)
{
    if (!matching_fits(guess->m, left, right) || guess->goal[left] != RENAME_NONE)
        return false;
    guess->goal[left] = right;
    return true;
}

/* Between two anchors: forwards from the first, then backwards from the second. */
static void fill_gap(struct guess *guess, uint32_t left, uint32_t left_end,
                     uint32_t right, uint32_t right_end)
{
    while (left < left_end && right < right_end && try_goal(guess, left, right)) {
        left++;
        right++;
    }
    while (left < left_end && right < right_end &&
           try_goal(guess, left_end - 1, right_end - 1)) {
        left_end--;
        right_end--;
    }
}

static void fill_gaps(struct guess *guess)
{
    uint32_t i, left = 0, right = 0;

    for (i = 0; i < guess->n_anchors; i++) {
        const struct anchor *anchor = &guess->anchors[i];

        fill_gap(guess, left, anchor->left, right, anchor->right);
        try_goal(guess, anchor->left, anchor->right);
        left = anchor->left + 1;
        right = anchor->right + 1;
    }
    fill_gap(guess, left, guess->m->n[LEFT], right, guess->m->n[RIGHT]);
}

/* ---- rules ---- */

struct witness {
    uint32_t good, other_shape, missing; /* names it touches, by where they lead */
    uint32_t known;                      /* of the good: matched before */
    uint32_t only;                       /* of the good: the only one of its shape */
    uint32_t modules;                    /* of the good, approximately */
    uint64_t last_module;
    bool trusted;
};

struct court {
    struct guess *guess;
    struct rename_rules rules;
    struct witness witness[MOST_RULES];
    struct led {
        uint64_t used;  /* bits: the rules that touch it */
        uint32_t right; /* where they lead, or RENAME_NONE */
    } * led;            /* by left item */
    struct buf now, next;
};

static struct led lead(struct court *court, struct str name)
{
    struct led led = {0};
    uint32_t i;

    buf_clear(&court->now);
    buf_str(&court->now, name);
    for (i = court->rules.names; i < court->rules.n; i++) {
        struct buf before = court->now;

        buf_clear(&court->next);
        if (!rename_apply_rule(&court->rules.at[i], buf_span(&court->now),
                               &court->next))
            continue;
        led.used |= 1ull << (i - court->rules.names);
        court->now = court->next;
        court->next = before;
    }
    led.right = matching_find(court->guess->m, buf_span(&court->now));
    return led;
}

static void hear(struct court *court, uint32_t left)
{
    const struct matching *m = court->guess->m;
    const struct rename_item *item = &m->items[LEFT][left];
    uint64_t module = str_hash(matching_module(item->name)),
             used = court->led[left].used;
    uint32_t right = court->led[left].right, i;
    bool known = item->match != RENAME_NONE && item->match == right;

    for (i = 0; i < court->rules.n - court->rules.names; i++) {
        struct witness *witness = &court->witness[i];

        if (!(used >> i & 1))
            continue;
        if (!known && !matching_fits(m, left, right)) {
            bool there = right != RENAME_NONE &&
                         m->items[RIGHT][right].match == RENAME_NONE &&
                         item->match == RENAME_NONE;

            witness->other_shape += there;
            witness->missing += !there;
            continue;
        }
        witness->good++;
        witness->known += known;
        witness->only += !known && only_one(court->guess, left) != RENAME_NONE;
        witness->modules += witness->last_module != module;
        witness->last_module = module;
    }
}

static bool is_trusted(const struct rename_rule *rule, const struct witness *witness)
{
    if (witness->other_shape > witness->good / 8 ||
        witness->missing > witness->good / 2 || witness->good < 2)
        return false;
    if (witness->known >= 2)
        return true;
    if (rule->kind == RENAME_SHIFT || rule->kind == RENAME_SWAP)
        return false; /* equal blocks are interchangeable */
    return witness->modules >= SEVERAL || witness->only > witness->good / 2;
}

/* The next piece of a name: letters or digits. */
static bool next_piece(struct str *rest, struct str *ret_piece)
{
    size_t n = 0;
    bool digits;

    while (rest->len > 0 && strchr("._-", rest->at[0]))
        *rest = str_from(*rest, 1);
    if (rest->len == 0)
        return false;
    digits = rest->at[0] >= '0' && rest->at[0] <= '9';
    while (n < rest->len && !strchr("._-", rest->at[n]) &&
           (rest->at[n] >= '0' && rest->at[n] <= '9') == digits)
        n++;
    *ret_piece = str_head(*rest, n);
    *rest = str_from(*rest, n);
    return true;
}

/* How similar two names are: for each piece of a, the longest common beginning with a
 * piece of b. Numbers must be equal. */
static uint32_t likeness(struct str a, struct str b)
{
    struct str x, y, rest;
    uint32_t sum = 0;

    while (next_piece(&a, &x)) {
        uint32_t best = 0;

        rest = b;
        while (next_piece(&rest, &y)) {
            uint32_t same = 0;

            while (same < x.len && same < y.len && x.at[same] == y.at[same])
                same++;
            if (x.at[0] >= '0' && x.at[0] <= '9' && !str_eq(x, y))
                same = 0;
            best = same > best ? same : best;
        }
        sum += best;
    }
    return sum;
}

/* Could rule i lead where rule j leads? True if all names it touches would find a tensor
 * of their shape there too. */
static bool could_be(struct court *court, uint32_t i, uint32_t j)
{
    const struct matching *m = court->guess->m;
    struct rename_rule *rule = &court->rules.at[court->rules.names + i];
    struct str to = rule->to;
    uint32_t left, seen = 0;
    bool could = true;

    rule->to = court->rules.at[court->rules.names + j].to;
    for (left = 0; left < m->n[LEFT] && could && seen < MOST_ASKED; left++) {
        const struct rename_item *item = &m->items[LEFT][left];

        if (item->match != RENAME_NONE || !(court->led[left].used >> i & 1))
            continue;
        seen++;
        could = matching_fits(m, left, lead(court, item->name).right);
    }
    rule->to = to;
    return could && seen > 0;
}

static void doubt_pairs(struct court *court)
{
    const struct rename_rule *rules = &court->rules.at[court->rules.names];
    uint32_t n = court->rules.n - court->rules.names, i, j;

    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++) {
            if (i == j || rules[i].kind != rules[j].kind || !court->witness[i].good ||
                court->witness[i].known || court->witness[j].known ||
                str_eq(rules[i].to, rules[j].to) || !could_be(court, i, j))
                continue;
            if (likeness(rules[i].from, rules[i].to) +
                    likeness(rules[j].from, rules[j].to) >
                likeness(rules[i].from, rules[j].to) +
                    likeness(rules[j].from, rules[i].to))
                continue;
            court->witness[i].trusted = court->witness[j].trusted = false;
        }
}

/* Do only trusted rules lead this name to its goal? */
static bool is_sure(const struct court *court, uint32_t left)
{
    struct led led = court->led[left];
    uint32_t i;

    if (led.used == 0 || led.right != court->guess->goal[left] ||
        !matching_fits(court->guess->m, left, led.right))
        return false;
    for (i = 0; i < MOST_RULES; i++)
        if (led.used >> i & 1 && !court->witness[i].trusted)
            return false;
    return true;
}

/* Match the sure ones, if they are most of the unmatched: unrelated models have a few by
 * chance. */
static void join_sure(struct court *court)
{
    struct matching *m = court->guess->m;
    uint32_t i, sure = 0, free_of[2] = {0}, least, side;

    for (side = LEFT; side <= RIGHT; side++)
        for (i = 0; i < m->n[side]; i++)
            free_of[side] += m->items[side][i].match == RENAME_NONE;
    for (i = 0; i < m->n[LEFT]; i++)
        sure += is_sure(court, i);
    least = free_of[LEFT] < free_of[RIGHT] ? free_of[LEFT] : free_of[RIGHT];
    if (sure < 2 || sure < least / 2)
        return;
    for (i = 0; i < m->n[LEFT]; i++)
        if (is_sure(court, i))
            matching_join(m, i, court->led[i].right);
}

static void judge(struct court *court)
{
    uint32_t n = court->rules.n - court->rules.names, i;

    for (i = 0; i < court->guess->m->n[LEFT]; i++) {
        court->led[i] = lead(court, court->guess->m->items[LEFT][i].name);
        hear(court, i);
    }
    for (i = 0; i < n; i++)
        court->witness[i].trusted =
            is_trusted(&court->rules.at[court->rules.names + i], &court->witness[i]);
    doubt_pairs(court);
    join_sure(court);
}

static int ask_names(struct guess *guess)
{
    struct matching *m = guess->m;
    struct rename_pair *pairs =
        arena_array(m->arena, m->n[LEFT] + (size_t)1, sizeof *pairs);
    struct court *court = arena_alloc(m->arena, sizeof *court);
    uint32_t i, n;

    if (!pairs || !court)
        return -1;
    court->led = arena_array(m->arena, m->n[LEFT] + (size_t)1, sizeof *court->led);
    if (!court->led)
        return -1;
    n = matching_pairs(m, pairs);
    for (i = 0; i < m->n[LEFT]; i++)
        if (guess->goal[i] != RENAME_NONE)
            pairs[n++] = (struct rename_pair){m->items[LEFT][i].name,
                                              m->items[RIGHT][guess->goal[i]].name};
    court->guess = guess;
    if (rename_find(pairs, n, m->arena, &court->rules, NULL) < 0)
        return -1;
    if (court->rules.n - court->rules.names <= MOST_RULES)
        judge(court);
    buf_release(&court->now);
    buf_release(&court->next);
    return 0;
}

int rename_guess(struct matching *m)
{
    struct guess guess = {.m = m};
    uint32_t i;

    guess.anchors =
        arena_array(m->arena, m->n[LEFT] + (size_t)1, sizeof *guess.anchors);
    guess.goal = arena_array(m->arena, m->n[LEFT] + (size_t)1, sizeof *guess.goal);
    if (!guess.anchors || !guess.goal || count_shapes(&guess) < 0)
        return -1;
    if (guess.shapes.n == 0)
        return 0;
    for (i = 0; i < m->n[LEFT]; i++)
        guess.goal[i] = RENAME_NONE;
    find_anchors(&guess);
    if (order_anchors(&guess) < 0)
        return -1;
    fill_gaps(&guess);
    return ask_names(&guess);
}
