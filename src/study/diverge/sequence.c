#include "study/diverge/sequence.h"

#include <stdlib.h>

#include "base/map.h"

/* The most edits of the exact comparison: its time is (items) * (edits). */
#define MOST_EDITS 400
/* How many times anchors are sought between anchors; enough for repeated patterns. */
#define MOST_ROUNDS 12

/* A range of both sides whose free items may match one another. */
struct gap {
    uint32_t from[2], to[2];
    uint32_t round;
};

struct sequence_aligning {
    struct sequence_side *side[2];
    struct arena *arena;
    struct gap *gaps; /* a stack */
    uint32_t n_gaps, gaps_room;
    uint32_t *free[2]; /* the free items of the current gap */
    uint32_t n[2];
    uint32_t *best, *before; /* of the longest increasing run */
    struct sequence_anchor *anchors;
    int32_t *trace; /* furthest points of every number of edits */
    int32_t most;   /* edits that `trace` has room for */
};

/* A pair of positions; pairs are in order if both positions increase. */
struct sequence_anchor {
    uint32_t left, right;
};

static uint64_t signature(const struct sequence_aligning *a, int side, uint32_t free)
{
    return a->side[side]->signatures[a->free[side][free]];
}

static void match(struct sequence_aligning *a, uint32_t left, uint32_t right)
{
    a->side[0]->match[left] = right;
    a->side[1]->match[right] = left;
}

static int push(struct sequence_aligning *a, struct gap gap)
{
    if (gap.from[0] >= gap.to[0] || gap.from[1] >= gap.to[1])
        return 0;
    if (arena_room(a->arena, &a->gaps, a->n_gaps, &a->gaps_room, sizeof gap) < 0)
        return -1;
    a->gaps[a->n_gaps++] = gap;
    return 0;
}

/* ---- anchors ---- */

/* Keeps the longest run of anchors (sorted by `left`) whose `right` grows. */
static uint32_t keep_increasing(struct sequence_aligning *a, uint32_t n)
{
    uint32_t length = 0, at;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t low = 0, high = length;

        while (low < high) {
            uint32_t middle = low + (high - low) / 2;

            if (a->anchors[a->best[middle]].right < a->anchors[i].right)
                low = middle + 1;
            else
                high = middle;
        }
        a->before[i] = low > 0 ? a->best[low - 1] : SEQUENCE_NONE;
        a->best[low] = i;
        length += low == length;
    }
    at = length > 0 ? a->best[length - 1] : SEQUENCE_NONE;
    for (uint32_t i = length; i-- > 0; at = a->before[at])
        a->best[i] = at;
    for (uint32_t i = 0; i < length; i++)
        a->anchors[i] = a->anchors[a->best[i]];
    return length;
}

/* The gaps between the first n anchors, which are items. */
static int push_between(struct sequence_aligning *a, const struct gap *gap, uint32_t n)
{
    struct gap between = *gap;

    between.round++;
    for (uint32_t i = 0; i < n; i++) {
        between.to[0] = a->anchors[i].left;
        between.to[1] = a->anchors[i].right;
        if (push(a, between) < 0)
            return -1;
        between.from[0] = a->anchors[i].left + 1;
        between.from[1] = a->anchors[i].right + 1;
    }
    between.to[0] = gap->to[0];
    between.to[1] = gap->to[1];
    return push(a, between);
}

/* The count of a signature on each side, and its last position. */
struct sequence_seen {
    uint32_t times[2], at[2];
};

static int count_signatures(struct sequence_aligning *a, struct map *map,
                            struct sequence_seen *seen)
{
    uint32_t n = 0;

    for (int side = 0; side < 2; side++) {
        for (uint32_t i = 0; i < a->n[side]; i++) {
            uint64_t key = signature(a, side, i);
            uint32_t at;

            if (!map_find(map, key, &at)) {
                at = n++;
                if (map_put(map, key, at) < 0)
                    return -1;
            }
            seen[at].times[side]++;
            seen[at].at[side] = i;
        }
    }
    return 0;
}

/* Finds signatures that occur once on both sides. Sets *ret_n, the number of items. */
static int find_anchors(struct sequence_aligning *a, uint32_t *ret_n)
{
    struct arena scratch;
    struct sequence_seen *seen;
    struct map map;
    uint32_t n = 0, at;

    arena_init(&scratch, a->arena->limit);
    map_init(&map, &scratch);
    seen = arena_array(&scratch, (size_t)a->n[0] + a->n[1], sizeof *seen);
    if (!seen || count_signatures(a, &map, seen) < 0) {
        arena_release(&scratch);
        return -1;
    }
    for (uint32_t i = 0; i < a->n[0]; i++) {
        if (map_find(&map, signature(a, 0, i), &at) && seen[at].times[0] == 1 &&
            seen[at].times[1] == 1)
            a->anchors[n++] =
                (struct sequence_anchor){a->free[0][i], a->free[1][seen[at].at[1]]};
    }
    arena_release(&scratch);
    *ret_n = keep_increasing(a, n);
    return 0;
}

/* ---- exactly ---- */

static int32_t same_from(const struct sequence_aligning *a, int32_t x, int32_t y)
{
    while (x < (int32_t)a->n[0] && y < (int32_t)a->n[1] &&
           signature(a, 0, (uint32_t)x) == signature(a, 1, (uint32_t)y))
        x++, y++;
    return x;
}

/* One row of the search per number of edits d: for each diagonal k = x - y in -d..d the
 * furthest x. Rows are stored one after another. */
static int32_t *row(const struct sequence_aligning *a, int32_t d)
{
    return a->trace + (size_t)d * (size_t)d + (size_t)d; /* its middle, k = 0 */
}

static bool comes_down(const int32_t *last, int32_t d, int32_t k)
{
    return k == -d || (k != d && last[k - 1] < last[k + 1]);
}

/* The number of edits between the free items of both sides; -1: more than allowed. */
static int32_t count_edits(const struct sequence_aligning *a)
{
    int32_t n = (int32_t)a->n[0], m = (int32_t)a->n[1];

    for (int32_t d = 0; d <= a->most; d++) {
        int32_t *now = row(a, d);

        for (int32_t k = -d; k <= d; k += 2) {
            int32_t x = 0;

            if (d > 0) {
                const int32_t *last = row(a, d - 1);

                x = comes_down(last, d, k) ? last[k + 1] : last[k - 1] + 1;
            }
            if (x > n || x - k > m || x - k < 0) {
                now[k] = x;
                continue;
            }
            now[k] = same_from(a, x, x - k);
            if (now[k] >= n && now[k] - k >= m)
                return d;
        }
    }
    return -1;
}

/* Walks back from the end and matches equal items. */
static void match_walk(struct sequence_aligning *a, int32_t edits)
{
    int32_t x = (int32_t)a->n[0], y = (int32_t)a->n[1];

    for (int32_t d = edits; d >= 0; d--) {
        int32_t k = x - y, from_x = 0, from_y = 0;

        if (d > 0) {
            const int32_t *last = row(a, d - 1);
            bool down = comes_down(last, d, k);

            from_x = down ? last[k + 1] : last[k - 1];
            from_y = from_x - (down ? k + 1 : k - 1);
            while (x > from_x + !down && y > from_y + down) {
                x--, y--;
                match(a, a->free[0][x], a->free[1][y]);
            }
        } else {
            while (x > 0 && y > 0) {
                x--, y--;
                match(a, a->free[0][x], a->free[1][y]);
            }
        }
        x = from_x;
        y = from_y;
    }
}

/* ---- gaps ---- */

static void gather(struct sequence_aligning *a, const struct gap *gap)
{
    for (int side = 0; side < 2; side++) {
        const struct sequence_side *s = a->side[side];

        a->n[side] = 0;
        for (uint32_t i = gap->from[side]; i < gap->to[side]; i++)
            if (s->match[i] == SEQUENCE_NONE && s->signatures[i] != 0)
                a->free[side][a->n[side]++] = i;
    }
}

/* Equal items at both ends match; the rest stays in `gap`. */
static void trim(struct sequence_aligning *a, struct gap *gap)
{
    uint32_t n = a->n[0] < a->n[1] ? a->n[0] : a->n[1], i;

    for (i = 0; i < n && signature(a, 0, i) == signature(a, 1, i); i++)
        match(a, a->free[0][i], a->free[1][i]);
    for (int side = 0; side < 2 && i > 0; side++)
        gap->from[side] = a->free[side][i - 1] + 1;
    n -= i;
    for (i = 0;
         i < n && signature(a, 0, a->n[0] - 1 - i) == signature(a, 1, a->n[1] - 1 - i);
         i++)
        match(a, a->free[0][a->n[0] - 1 - i], a->free[1][a->n[1] - 1 - i]);
    for (int side = 0; side < 2 && i > 0; side++)
        gap->to[side] = a->free[side][a->n[side] - i];
    gather(a, gap);
}

static int align_gap(struct sequence_aligning *a, struct gap gap)
{
    uint32_t anchors = 0;
    int32_t edits;

    gather(a, &gap);
    trim(a, &gap);
    if (a->n[0] == 0 || a->n[1] == 0)
        return 0;
    if (a->n[0] + a->n[1] > MOST_EDITS && gap.round < MOST_ROUNDS &&
        find_anchors(a, &anchors) < 0)
        return -1;
    if (anchors > 0) {
        for (uint32_t i = 0; i < anchors; i++)
            match(a, a->anchors[i].left, a->anchors[i].right);
        return push_between(a, &gap, anchors);
    }
    edits = count_edits(a);
    if (edits >= 0)
        match_walk(a, edits);
    return 0;
}

/* ---- the whole ---- */

static bool prepare(struct sequence_aligning *a)
{
    uint32_t n = a->side[0]->n, m = a->side[1]->n;
    size_t rows;

    a->most = (size_t)n + m < MOST_EDITS ? (int32_t)(n + m) : MOST_EDITS;
    rows = (size_t)a->most + 1;
    a->free[0] = arena_array(a->arena, (size_t)n + 1, sizeof(uint32_t));
    a->free[1] = arena_array(a->arena, (size_t)m + 1, sizeof(uint32_t));
    a->best = arena_array(a->arena, (size_t)n + 1, sizeof *a->best);
    a->before = arena_array(a->arena, (size_t)n + 1, sizeof *a->before);
    a->anchors = arena_array(a->arena, (size_t)n + 1, sizeof *a->anchors);
    a->trace = arena_array(a->arena, rows * rows, sizeof *a->trace);
    return a->free[0] && a->free[1] && a->best && a->before && a->anchors && a->trace;
}

int sequence_align(struct sequence_side *left, struct sequence_side *right,
                   struct arena *scratch)
{
    struct sequence_aligning a = {.side = {left, right}, .arena = scratch};
    struct gap all = {.to = {left->n, right->n}};
    uint32_t n = 0;

    if (left->n > INT32_MAX || right->n > INT32_MAX || !prepare(&a))
        return -1;
    for (uint32_t i = 0; i < left->n; i++)
        if (left->match[i] != SEQUENCE_NONE)
            a.anchors[n++] = (struct sequence_anchor){i, left->match[i]};
    if (push_between(&a, &all, keep_increasing(&a, n)) < 0)
        return -1;
    while (a.n_gaps > 0)
        if (align_gap(&a, a.gaps[--a.n_gaps]) < 0)
            return -1;
    return 0;
}
