/* Blocks that moved within their list: names are equal, but the content of layers.2 now
 * stands at layers.3, because a block was put in or taken out, or two were swapped.
 * A block moves only as a whole: all of its tensors that changed and can be told apart
 * by content must stand at one other number, and none may be equal where it is. */
#include "study/diff/diff_in.h"

struct move {
    uint32_t from, to; /* places of numbered modules */
    uint32_t votes;
};

struct moves {
    struct diffing *d;
    struct move *at;
    uint32_t n, room;
    struct map by_from; /* the move of a left place; DIFF_NONE: torn */
    struct map by_to;   /* likewise of a right place */
    uint32_t *across;   /* by left place in a block: the place in the other block */
};

static bool is_number(struct str name)
{
    uint64_t number;

    return name.len < 10 && str_to_u64(name, &number);
}

/* Has its name a number in it? Then it may be part of a block. */
static bool in_block(const struct model *model, uint32_t place)
{
    for (; place != 0; place = model->parent[place])
        if (is_number(place_name(model, place)))
            return true;
    return false;
}

/* Might its content have moved elsewhere? What has another shape now was not compared:
 * the name alone says that it is the same thing. */
static bool is_loose(const struct diffing *d, int s, uint32_t place)
{
    const struct side *side = &d->side[s], *other = &d->side[!s];
    uint32_t match = side->match[place];
    const struct known *known;

    if (match == NO_PLACE ||
        !same_shape(side, side_at(side, place), other, side_at(other, match)))
        return true;
    known = s == LEFT ? known_of(d, place, match) : known_of(d, match, place);
    return known && !known->why && known->by.beyond > 0;
}

static bool may_have_moved(const struct diffing *d, int s, uint32_t place)
{
    return is_loose(d, s, place) && in_block(d->side[s].model, place);
}

/* If two names differ in one number only: the modules of that number. */
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

/* Let contents that stand once on each side vote. */
static int count_votes(struct moves *m, const struct samples *left,
                       const struct samples *right)
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

/* Are both blocks built alike: the same names with the same shapes? Fills in where the
 * tensors of the left one stand in the right one. Places without tensors (a file may
 * tell of modules that have none) do not count. */
static bool built_alike(const struct moves *m, const struct move *move)
{
    const struct diffing *d = m->d;
    const struct side *l = &d->side[LEFT], *r = &d->side[RIGHT];
    uint32_t p, q;

    if (l->tensors[move->from] != r->tensors[move->to])
        return false;
    m->across[move->from] = move->to;
    for (p = move->from + 1; p < l->model->end[move->from]; p++) {
        const struct diff_spot *name = &d->spots[l->spot[p]];
        uint32_t spot;

        m->across[p] = NO_PLACE;
        if (l->tensors[p] == 0)
            continue;
        q = m->across[l->model->parent[p]];
        spot = spot_find(d, r->spot[q], name->name, name->nth, NULL);
        q = spot == DIFF_NONE ? NO_PLACE : d->spots[spot].place[RIGHT];
        if (q == NO_PLACE || side_tensor(l, p) != side_tensor(r, q))
            return false;
        if (side_tensor(l, p) && !same_shape(l, side_at(l, p), r, side_at(r, q)))
            return false;
        m->across[p] = q;
    }
    return true;
}

/* Does the whole block agree? Each of its tensors either voted, or is one whose content
 * tells nothing. */
static bool whole(const struct moves *m, const struct move *move)
{
    struct diffing *d = m->d;
    const struct side *left = &d->side[LEFT];
    uint32_t p, telling = 0;
    uint64_t sample;

    if (!built_alike(m, move))
        return false;
    for (p = move->from; p < left->model->end[move->from]; p++)
        if (side_tensor(left, p) && sample_at(d, LEFT, p, &sample))
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

/* Everything in both blocks is let go first, because blocks often move in a row. */
static int apply_moves(struct moves *m)
{
    struct side *left = &m->d->side[LEFT], *right = &m->d->side[RIGHT];
    uint32_t i, p, q;

    for (i = 0; i < m->n; i++) {
        const struct move *move = &m->at[i];

        for (p = move->from; p < left->model->end[move->from]; p++) {
            if (left->match[p] != NO_PLACE)
                unmatch_left(m->d, p);
            q = m->across[p];
            if (q != NO_PLACE && right->match[q] != NO_PLACE)
                unmatch_left(m->d, right->match[q]);
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
            match_places(m->d, p, q);
            expect_pair(m->d, p, q);
            if (!know(m->d, p, q) && !m->d->stopped)
                return -1;
            m->d->flags[p] |= DIFF_BY_CONTENT;
        }
    }
    return 0;
}

int match_moved(struct diffing *d)
{
    struct moves m = {.d = d};
    struct samples left, right;
    struct map left_keys, right_keys;

    if (d->stopped)
        return 0;
    if (samples_list(d, LEFT, may_have_moved, &left) < 0 ||
        samples_list(d, RIGHT, may_have_moved, &right) < 0)
        return -1;
    if (left.n == 0 || right.n == 0)
        return 0;
    map_init(&m.by_from, &d->scratch);
    m.across = arena_array(&d->scratch, d->diff->left->n_places, sizeof *m.across);
    if (!m.across)
        return -1;
    if (samples_keys(d, LEFT, &left, &left_keys) < 0 ||
        samples_keys(d, RIGHT, &right, &right_keys) < 0)
        return -1;
    sample_many(d, LEFT, &left, &right_keys);
    sample_many(d, RIGHT, &right, &left_keys);
    if (count_votes(&m, &left, &right) < 0 || keep_whole(&m) < 0)
        return -1;
    return apply_moves(&m);
}
