/* Collects rules that might explain changed pairs. A rule becomes a candidate when a
 * second pair suggests it; before that only its hash is kept, because for a single pair
 * a NAME rule is as good. */
#include "study/diff/rename_in.h"

#define MOST_SIGHTS (1u << 20)

struct rename_sight {
    uint32_t count;
    uint32_t first_gain;          /* of the first sight */
    uint32_t candidate;           /* index, if count > 1 */
    const struct rename_way *way; /* the last pair that suggested it, */
    uint32_t a;                   /* and the component: count each only once */
};

/* A possible rule: the components [a, a_end) become [b, b_end). */
struct shape {
    const struct rename_way *way;
    const struct rename_aligned *in;
    enum rename_kind kind;
    struct rename_hunk at;
    bool holes;    /* equal numbers are holes */
    bool doubtful; /* other rules explain the same change */
};

static bool stays(const struct rename_aligned *in, uint32_t a)
{
    return in->in_b[a] != RENAME_ALONE && in->a.hash[a] == in->b.hash[in->in_b[a]];
}

static bool hole_in_a(const struct shape *shape, uint32_t a)
{
    uint32_t b = shape->in->in_b[a];

    return shape->holes && shape->in->a.number[a] && stays(shape->in, a) &&
           b >= shape->at.b && b < shape->at.b_end;
}

static bool hole_in_b(const struct shape *shape, uint32_t b)
{
    uint32_t a = shape->in->in_a[b];

    return a != RENAME_ALONE && a >= shape->at.a && a < shape->at.a_end &&
           hole_in_a(shape, a);
}

static bool may_stand_in_a_part(struct str part)
{
    return part.len > 0 && !str_is(part, "{}");
}

/* A PART needs a word: "3" -> "4" everywhere makes no sense. */
static bool is_good_part(const struct shape *shape)
{
    const struct rename_aligned *in = shape->in;
    uint32_t i, holes = 0;

    if (shape->at.a == shape->at.a_end || in->a.number[shape->at.a])
        return false;
    for (i = shape->at.a; i < shape->at.a_end; i++) {
        if (!may_stand_in_a_part(in->a.at[i]))
            return false;
        holes += hole_in_a(shape, i);
    }
    for (i = shape->at.b; i < shape->at.b_end; i++)
        if (!may_stand_in_a_part(in->b.at[i]))
            return false;
    return holes <= RENAME_HOLES;
}

static bool is_good_prefix(const struct shape *shape)
{
    return shape->at.a == 0 && shape->at.b == 0 && shape->at.a_end < shape->in->a.n &&
           shape->at.b_end < shape->in->b.n;
}

static uint64_t hash_shape(const struct shape *shape)
{
    uint64_t hash = hash_u64(shape->kind);
    uint32_t i;

    for (i = shape->at.a; i < shape->at.a_end; i++)
        hash = hash_mix(hash, hole_in_a(shape, i) ? 1 : shape->in->a.hash[i]);
    hash = hash_mix(hash, 2);
    for (i = shape->at.b; i < shape->at.b_end; i++)
        hash = hash_mix(hash, hole_in_b(shape, i) ? 1 : shape->in->b.hash[i]);
    return hash;
}

static void join(struct buf *to, struct str part, bool first)
{
    if (!first)
        buf_char(to, '.');
    buf_str(to, part);
}

static int write_rule(struct rename_candidates *all, const struct shape *shape,
                      struct rename_rule *ret_rule)
{
    struct rename_rule rule = {.kind = shape->kind};
    uint32_t i;

    buf_clear(&all->from);
    buf_clear(&all->to);
    for (i = shape->at.a; i < shape->at.a_end; i++)
        join(&all->from, hole_in_a(shape, i) ? STR("{}") : shape->in->a.at[i],
             i == shape->at.a);
    for (i = shape->at.b; i < shape->at.b_end; i++)
        join(&all->to, hole_in_b(shape, i) ? STR("{}") : shape->in->b.at[i],
             i == shape->at.b);
    if (shape->kind == RENAME_PREFIX && shape->at.a_end > 0)
        buf_char(&all->from, '.');
    if (shape->kind == RENAME_PREFIX && shape->at.b_end > 0)
        buf_char(&all->to, '.');
    rule.from = arena_str(all->arena, buf_span(&all->from));
    rule.to = arena_str(all->arena, buf_span(&all->to));
    if (all->from.bad || all->to.bad || !rule.from.at || !rule.to.at)
        return -1;
    *ret_rule = rule;
    return 0;
}

int rename_add_candidate(struct rename_candidates *all, const struct rename_rule *rule,
                         uint64_t gain)
{
    if (arena_room(all->arena, &all->at, all->n, &all->room, sizeof *all->at) < 0)
        return -1;
    all->at[all->n] = (struct rename_candidate){*rule, gain, all->n};
    all->n++;
    return 0;
}

static int first_sight(struct rename_candidates *all, const struct shape *shape,
                       uint64_t hash, uint32_t gain)
{
    if (all->n_sights == MOST_SIGHTS)
        return 0;
    if (arena_room(all->arena, &all->sights, all->n_sights, &all->sights_room,
                   sizeof *all->sights) < 0)
        return -1;
    all->sights[all->n_sights] = (struct rename_sight){
        .count = 1, .first_gain = gain, .way = shape->way, .a = shape->at.a};
    return map_put(&all->seen, hash, all->n_sights++);
}

static int see(struct rename_candidates *all, const struct shape *shape)
{
    struct rename_sight *sight;
    struct rename_rule rule;
    uint32_t gain, i;
    uint64_t hash;

    if (shape->kind == RENAME_PART ? !is_good_part(shape) : !is_good_prefix(shape))
        return 0;
    hash = hash_shape(shape);
    gain = rename_cost(shape->in, shape->at) >> shape->doubtful;
    if (!map_find(&all->seen, hash, &i))
        return first_sight(all, shape, hash, gain);
    sight = &all->sights[i];
    if (sight->way == shape->way && sight->a == shape->at.a)
        return 0;
    sight->way = shape->way;
    sight->a = shape->at.a;
    if (sight->count++ > 1) {
        all->at[sight->candidate].gain += gain;
        return 0;
    }
    sight->candidate = all->n;
    if (write_rule(all, shape, &rule) < 0)
        return -1;
    return rename_add_candidate(all, &rule, (uint64_t)gain + sight->first_gain);
}

/* ---- the rules that one pair suggests ---- */

/* Widen to the left by `words` unchanged words, with the numbers between. False: there
 * are not enough. */
static bool widen_left(const struct rename_aligned *in, struct rename_hunk *at,
                       uint32_t words)
{
    while (words > 0) {
        if (at->a == 0 || at->b == 0 || in->in_b[at->a - 1] != at->b - 1 ||
            !stays(in, at->a - 1))
            return false;
        at->a--;
        at->b--;
        words -= !in->a.number[at->a];
    }
    return true;
}

static bool widen_right(const struct rename_aligned *in, struct rename_hunk *at)
{
    for (;;) {
        if (at->a_end == in->a.n || at->b_end == in->b.n ||
            in->in_b[at->a_end] != at->b_end || !stays(in, at->a_end))
            return false;
        at->a_end++;
        at->b_end++;
        if (!in->a.number[at->a_end - 1])
            return true;
    }
}

static int see_part(struct rename_candidates *all, const struct rename_aligned *in,
                    struct rename_hunk at, bool holes)
{
    struct shape shape = {all->way, in, RENAME_PART, at, holes, all->doubtful};

    return see(all, &shape);
}

/* The prefix includes everything before, changed or not. */
static int see_prefix(struct rename_candidates *all, const struct rename_aligned *in,
                      struct rename_hunk at)
{
    struct shape shape = {all->way, in,   RENAME_PREFIX, {0, at.a_end, 0, at.b_end},
                          false,    false};

    return see(all, &shape);
}

/* A changed run of components: by itself, and with its neighbours. */
static int see_hunk(struct rename_candidates *all, const struct rename_aligned *in,
                    struct rename_hunk at)
{
    struct rename_hunk left = at, farther = at, right = at, both;
    bool has_left = widen_left(in, &left, 1);
    int bad = see_part(all, in, at, true);

    if (has_left)
        bad |= see_part(all, in, left, true) | see_part(all, in, left, false);
    if (widen_left(in, &farther, 2))
        bad |= see_part(all, in, farther, true);
    if (widen_right(in, &right)) {
        both = (struct rename_hunk){left.a, right.a_end, left.b, right.b_end};
        bad |= see_part(all, in, right, true) | see_prefix(all, in, right);
        if (has_left)
            bad |= see_part(all, in, both, true);
    }
    return bad | see_prefix(all, in, at);
}

/* If words were inserted or removed beside changed ones, it may have been the first of
 * them or the last. */
static int see_ends(struct rename_candidates *all, const struct rename_aligned *in,
                    struct rename_hunk hunk)
{
    uint32_t a = hunk.a_end - hunk.a, b = hunk.b_end - hunk.b;
    struct rename_hunk first = {hunk.a, hunk.a, hunk.b, hunk.b}, last = hunk;
    int bad = 0;

    if (a == 0 || b == 0 || a == b)
        return 0;
    first.a_end += a > b ? a - b : 0;
    first.b_end += b > a ? b - a : 0;
    last.a += a > b ? b : a;
    last.b += a > b ? b : a;
    all->doubtful = true;
    if (hunk.a == 0)
        bad |= see_prefix(all, in, first);
    if (widen_left(in, &first, 1))
        bad |= see_part(all, in, first, true);
    if (widen_right(in, &last))
        bad |= see_part(all, in, last, true);
    all->doubtful = false;
    return bad;
}

/* The single changes of a longer run: each word that was changed or removed. Which one
 * was removed is doubtful. */
static int see_single(struct rename_candidates *all, const struct rename_aligned *in,
                      struct rename_hunk hunk)
{
    uint32_t b = hunk.b, i;
    int bad = 0;

    for (i = hunk.a; i < hunk.a_end; i++) {
        struct rename_hunk at = {i, i + 1, b, b};

        if (in->in_b[i] != RENAME_ALONE) {
            at.b = in->in_b[i];
            at.b_end = b = at.b + 1;
        }
        bad |= i == 0 ? see_prefix(all, in, at) : 0;
        all->doubtful = at.b == at.b_end;
        bad |= see_part(all, in, at, true);
        all->doubtful = false;
        if (widen_left(in, &at, 1))
            bad |= see_part(all, in, at, true);
    }
    return bad;
}

static int see_pair(struct rename_candidates *all, const struct rename_way *way)
{
    struct rename_aligned in;
    struct rename_hunk whole;
    uint32_t i;
    int bad = 0;

    if (!rename_align(way->now, way->to, &in) || in.n == 0)
        return 0;
    all->way = way;
    for (i = 0; i < in.n; i++) {
        bad |= see_hunk(all, &in, in.hunks[i]);
        if (in.hunks[i].a_end - in.hunks[i].a > 1)
            bad |= see_single(all, &in, in.hunks[i]);
        bad |= see_ends(all, &in, in.hunks[i]);
    }
    if (in.n > 1) {
        whole = in.hunks[0];
        whole.a_end = in.hunks[in.n - 1].a_end;
        whole.b_end = in.hunks[in.n - 1].b_end;
        all->doubtful = true;
        bad |= see_hunk(all, &in, whole);
        all->doubtful = false;
    }
    return bad ? -1 : 0;
}

/* Evenly spread, deterministic, and not in step with layers of equal size. */
bool rename_chosen(uint32_t i, uint32_t step)
{
    return step == 1 || ((i * 2654435761u) >> 12) % step == 0;
}

/* Two parts that become each other may have been swapped. If stuck, try every part as a
 * swap: a ring of renames is a few swaps. */
static int add_swaps(struct rename_candidates *all, uint32_t n)
{
    struct map by_text;
    uint32_t i, j;
    uint64_t gain;

    map_init(&by_text, all->arena);
    for (i = 0; i < n; i++) {
        struct rename_candidate one = all->at[i];
        struct rename_rule rule = one.rule;
        uint64_t from = str_hash(rule.from), to = str_hash(rule.to);

        if (rule.kind != RENAME_PART || rule.to.len == 0 ||
            str_find(rule.from, STR("{}")) >= 0)
            continue;
        rule.kind = RENAME_SWAP;
        if (str_cmp(rule.from, rule.to) > 0) {
            rule.from = one.rule.to;
            rule.to = one.rule.from;
        }
        gain = all->stuck ? one.gain : 0;
        if (map_find(&by_text, hash_mix(hash_mix(0, to), from), &j))
            gain = one.gain + all->at[j].gain;
        if (gain > 0 && rename_add_candidate(all, &rule, gain) < 0)
            return -1;
        if (map_put(&by_text, hash_mix(hash_mix(0, from), to), i) < 0)
            return -1;
    }
    return 0;
}

int rename_collect(struct rename_candidates *all, const struct rename_way *ways,
                   uint32_t n, uint32_t step)
{
    uint32_t i;

    map_init(&all->seen, all->arena);
    for (i = 0; i < n; i++)
        if (ways[i].distance > 0 && rename_chosen(i, step) &&
            see_pair(all, &ways[i]) < 0)
            return -1;
    for (i = 0; i < all->n; i++)
        all->at[i].gain *= step;
    return add_swaps(all, all->n);
}
