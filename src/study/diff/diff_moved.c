/* Finds blocks that moved within their list: the content of layers.2 is now in layers.3,
 * because a block was inserted or removed, or two were swapped. A block moves only as a
 * whole: all of its tensors that content identifies must have moved to the same other
 * number. */
#include "study/diff/diff_in.h"

struct move {
    uint32_t from, to; /* places of numbered modules */
    uint32_t votes;
};

struct moves {
    struct diffing *d;
    struct move *at;
    uint32_t n, room;
    struct map by_from; /* left place to move; DIFF_NONE: ambiguous */
    struct map by_to;   /* right place to move, likewise */
    uint32_t *across;   /* by left place in a block: the place in the other block */
};

static bool is_number(struct str name)
{
    uint64_t number;

    return name.len < 10 && str_to_u64(name, &number);
}

/* Is a component of its name a number? */
static bool in_block(const struct model *model, uint32_t place)
{
    for (; place != 0; place = model->parent[place])
        if (is_number(place_name(model, place)))
            return true;
    return false;
}

/* May its content have moved? True if it is unmatched, reshaped (matched by name only)
 * or changed. */
static bool is_loose(const struct diffing *d, int s, uint32_t place)
{
    const struct side *side = &d->side[s], *other = &d->side[!s];
    uint32_t match = side->match[place];
    const struct diff_known *known;

    if (match == NO_PLACE ||
        !side_same_shape(side, side_at(side, place), other, side_at(other, match)))
        return true;
    known = s == LEFT ? diffing_known(d, place, match) : diffing_known(d, match, place);
    return known && !known->why && known->by.beyond > 0;
}

static bool may_have_moved(const struct diffing *d, int s, uint32_t place)
{
    return is_loose(d, s, place) && in_block(d->side[s].model, place);
}

/* If two names differ in exactly one number: the modules of that number. */
static bool differ_in_number(const struct diffing *d, uint32_t left, uint32_t right,
                             struct move *ret_move)
{
    const struct side *l = &d->side[LEFT], *r = &d->side[RIGHT];
    struct move move = {NO_PLACE, NO_PLACE, 0};

    while (left != l->base && right != r->base && left != 0 && right != 0) {
        struct str a = place_name(l->model, left), b = place_name(r->model, right);

        if (!str_eq(a, b)) {
            if (move.from != NO_PLACE || !is_number(a) || !is_number(b))
                return false;
            move.from = left;
            move.to = right;
        }
        left = l->model->parent[left];
        right = r->model->parent[right];
    }
    *ret_move = move;
    return move.from != NO_PLACE && left == l->base && right == r->base;
}

static int vote(struct moves *m, uint32_t left, uint32_t right)
{
    struct move move, *old;
    uint32_t index;

    if (!differ_in_number(m->d, left, right, &move))
        return 0;
    if (map_find(&m->by_from, move.from, &index)) {
        old = index == DIFF_NONE ? NULL : &m->at[index];
        if (old && old->to == move.to)
            old->votes++;
        else if (map_put(&m->by_from, move.from, DIFF_NONE) < 0)
            return -1;
        return 0;
    }
    move.votes = 1;
    if (arena_room(&m->d->scratch, &m->at, m->n, &m->room, sizeof *m->at) < 0)
        return -1;
    m->at[m->n] = move;
    return map_put(&m->by_from, move.from, m->n++);
}

/* Contents that occur once on each side vote. */
static int count_votes(struct moves *m, const struct diff_samples *left,
                       const struct diff_samples *right)
{
    uint32_t i, j = 0;

    for (i = 0; i < left->n; i++) {
        uint64_t sample = left->at[i].sample;

        while (j < right->n && right->at[j].sample < sample)
            j++;
        if (j == right->n)
            break;
        if (right->at[j].sample != sample ||
            (i > 0 && left->at[i - 1].sample == sample) ||
            (i + 1 < left->n && left->at[i + 1].sample == sample) ||
            (j + 1 < right->n && right->at[j + 1].sample == sample))
            continue;
        if (vote(m, left->at[i].place, right->at[j].place) < 0)
            return -1;
    }
    return 0;
}

/* Do both blocks have the same names and shapes? Sets `across` for the left block.
 * Places without tensors are ignored. */
static bool built_alike(const struct moves *m, const struct move *move)
{
    const struct diffing *d = m->d;
    const struct side *l = &d->side[LEFT], *r = &d->side[RIGHT];
    uint32_t p, q;

    if (l->tensors[move->from] != r->tensors[move->to])
        return false;
    m->across[move->from] = move->to;
    for (p = move->from + 1; p < l->model->end[move->from]; p++) {
        m->across[p] = NO_PLACE;
        if (l->tensors[p] == 0)
            continue;
        q = diffing_below(d, p, m->across[l->model->parent[p]]);
        if (q == NO_PLACE || side_tensor(l, p) != side_tensor(r, q))
            return false;
        if (side_tensor(l, p) && !side_same_shape(l, side_at(l, p), r, side_at(r, q)))
            return false;
        m->across[p] = q;
    }
    return true;
}

/* Did every tensor of the block vote whose content identifies it? */
static bool whole(const struct moves *m, const struct move *move)
{
    struct diffing *d = m->d;
    const struct side *left = &d->side[LEFT];
    uint32_t p, telling = 0;
    uint64_t sample;

    if (!built_alike(m, move))
        return false;
    for (p = move->from; p < left->model->end[move->from]; p++)
        if (side_tensor(left, p) && diffing_sample(d, LEFT, p, &sample))
            telling++;
    return !d->stopped && telling > 0 && telling == move->votes;
}

static int keep_whole(struct moves *m)
{
    uint32_t i, n = 0, index, other;

    map_init(&m->by_to, &m->d->scratch);
    for (i = 0; i < m->n; i++)
        if (map_put(&m->by_to, m->at[i].to,
                    map_find(&m->by_to, m->at[i].to, &other) ? DIFF_NONE : i) < 0)
            return -1;
    for (i = 0; i < m->n; i++) {
        struct move move = m->at[i];

        if (map_find(&m->by_from, move.from, &index) && index != DIFF_NONE &&
            map_find(&m->by_to, move.to, &other) && other != DIFF_NONE &&
            whole(m, &move))
            m->at[n++] = move;
    }
    m->n = n;
    return 0;
}

/* Unmatch everything in both blocks first, because blocks often move in a row. */
static int apply_moves(struct moves *m)
{
    struct side *left = &m->d->side[LEFT], *right = &m->d->side[RIGHT];
    uint32_t i, p, q;

    for (i = 0; i < m->n; i++) {
        const struct move *move = &m->at[i];

        for (p = move->from; p < left->model->end[move->from]; p++) {
            if (left->match[p] != NO_PLACE)
                diffing_unmatch(m->d, p);
            q = m->across[p];
            if (q != NO_PLACE && right->match[q] != NO_PLACE)
                diffing_unmatch(m->d, right->match[q]);
        }
    }
    for (i = 0; i < m->n; i++) {
        const struct move *move = &m->at[i];

        for (p = move->from; p < left->model->end[move->from]; p++) {
            if (!side_tensor(left, p))
                continue;
            q = m->across[p];
            if (left->match[p] != NO_PLACE || right->match[q] != NO_PLACE)
                continue;
            diffing_match(m->d, p, q);
            diffing_expect(m->d, p, q);
            if (!diffing_know(m->d, p, q) && !m->d->stopped)
                return -1;
            m->d->flags[p] |= DIFF_BY_CONTENT;
        }
    }
    return 0;
}

int diffing_match_moved(struct diffing *d)
{
    struct moves m = {.d = d};
    struct diff_samples samples[2];

    if (d->stopped)
        return 0;
    if (diffing_samples(d, may_have_moved, samples) < 0)
        return -1;
    if (samples[LEFT].n == 0 || samples[RIGHT].n == 0)
        return 0;
    map_init(&m.by_from, &d->scratch);
    m.across = arena_array(&d->scratch, d->diff->left->n_places, sizeof *m.across);
    if (!m.across || count_votes(&m, &samples[LEFT], &samples[RIGHT]) < 0 ||
        keep_whole(&m) < 0)
        return -1;
    return apply_moves(&m);
}
