/* Finds tensors that were fused or split, such as q, k and v in one matrix: among the
 * unmatched tensors of modules that became each other. Confirmed by content, or without
 * values by well-known names. */
#include "study/diff/diff_in.h"

#define MOST_LOOSE                                                                     \
    48 /* more unexplained tensors below one module are not looked at                  \
        */
#define MOST_PARTS 8

/* Names, in the order in which they are fused. */
static const char *const known_names[][3] = {
    {"q_proj", "k_proj", "v_proj"},
    {"q", "k", "v"},
    {"query", "key", "value"},
    {"to_q", "to_k", "to_v"},
    {"wq", "wk", "wv"},
    {"q_lin", "k_lin", "v_lin"},
    {"linear_q", "linear_k", "linear_v"},
    {"query_proj", "key_proj", "value_proj"},
    {"q_proj_weight", "k_proj_weight", "v_proj_weight"},
    {"gate_proj", "up_proj", NULL},
    {"gate", "up", NULL},
    {"w1", "w3", NULL},
};

/* Unmatched tensors of the side with the parts, by home: the module (a right place) one
 * or two levels above. */
struct loose {
    uint32_t place, next;
};
struct joining {
    struct diffing *d;
    const uint32_t *image;
    bool fused;       /* the parts are on the left */
    int whole, parts; /* the side of the one tensor; of the several */
    struct loose *at;
    uint32_t n, room;
    struct map homes, sizes; /* by home: last of its list; length of the list */
};

/* The parts of one join, in order. */
struct taken {
    uint32_t at[MOST_PARTS];
    uint32_t n, dim;
};

static bool is_loose(const struct side *side, uint32_t place)
{
    return side_tensor(side, place) && side->match[place] == NO_PLACE &&
           side->join[place] == DIFF_NONE && side_at(side, place)->rank > 0 &&
           !(side_at(side, place)->flags & TENSOR_INVALID);
}

/* The module above `place`, `up` levels above, as a place on the right. */
static uint32_t home_of(const struct joining *j, int s, uint32_t place, int up)
{
    const struct model *model = j->d->side[s].model;

    for (; up > 0; up--) {
        if (place == 0)
            return NO_PLACE;
        place = model->parent[place];
    }
    return s == RIGHT ? place : j->image[place];
}

static int list_at(struct joining *j, uint32_t home, uint32_t place)
{
    uint32_t last = DIFF_NONE, size = 0;

    if (home == NO_PLACE)
        return 0;
    map_find(&j->homes, home, &last);
    map_find(&j->sizes, home, &size);
    if (arena_room(&j->d->scratch, &j->at, j->n, &j->room, sizeof *j->at) < 0)
        return -1;
    j->at[j->n] = (struct loose){place, last};
    return map_put(&j->homes, home, j->n++) < 0 ||
                   map_put(&j->sizes, home, size + 1) < 0
               ? -1
               : 0;
}

static int list_loose(struct joining *j)
{
    const struct side *side = &j->d->side[j->parts];
    uint32_t p;

    map_init(&j->homes, &j->d->scratch);
    map_init(&j->sizes, &j->d->scratch);
    for (p = 0; p < side->model->n_places; p++)
        if (is_loose(side, p) && (list_at(j, home_of(j, j->parts, p, 1), p) < 0 ||
                                  list_at(j, home_of(j, j->parts, p, 2), p) < 0))
            return -1;
    return 0;
}

/* ---- one join ---- */

/* By shape, could `part` be a part of `one` along `dim`? */
static bool fits(const struct joining *j, uint32_t one, uint32_t part, uint32_t dim)
{
    const struct side *whole = &j->d->side[j->whole];
    const struct side *side = &j->d->side[j->parts];
    const struct tensor *a = side_at(whole, one), *b = side_at(side, part);
    const int64_t *x = tensor_shape(whole->model, a), *y = tensor_shape(side->model, b);

    if (a->rank != b->rank || a->dtype != b->dtype || dim >= a->rank || y[dim] == 0 ||
        y[dim] >= x[dim])
        return false;
    for (uint32_t i = 0; i < a->rank; i++)
        if (i != dim && x[i] != y[i])
            return false;
    return true;
}

static int64_t size_of(const struct joining *j, bool whole, uint32_t place,
                       uint32_t dim)
{
    const struct side *side = &j->d->side[whole ? j->whole : j->parts];

    return tensor_shape(side->model, side_at(side, place))[dim];
}

/* Is `one` the concatenation of the parts? 1, 0; -1: stopped. */
static int holds(struct joining *j, uint32_t one, const struct taken *taken)
{
    const struct side *whole = &j->d->side[j->whole];
    const struct side *side = &j->d->side[j->parts];
    uint64_t from = 0;

    for (uint32_t i = 0; i < taken->n; i++) {
        struct compare_side part = {side->model, side_at(side, taken->at[i])};
        struct compared by;
        struct err err = {0};

        if (j->d->work) /* the part, and the same bytes of the whole */
            atomic_fetch_add(&j->d->work->total, 2 * tensor_bytes(part.tensor));
        if (compare_part((struct compare_side){whole->model, side_at(whole, one)},
                         taken->dim, from, part, j->d->work, &by, &err) < 0) {
            j->d->stopped = j->d->stopped || err.code == ERR_CANCELLED;
            return err.code == ERR_CANCELLED ? -1 : 0;
        }
        if (by.different > 0)
            return 0;
        from += (uint64_t)size_of(j, false, taken->at[i], taken->dim);
    }
    return 1;
}

/* Does the place, or its module, have this name? */
static bool is_called(const struct joining *j, uint32_t place, const char *name)
{
    const struct model *model = j->d->side[j->parts].model;

    return str_is(place_name(model, place), name) ||
           (place != 0 && str_is(place_name(model, model->parent[place]), name));
}

/* Sort the parts as in the table of names; false if they are not there. */
static bool order_by_name(const struct joining *j, struct taken *taken)
{
    for (size_t row = 0; row < sizeof known_names / sizeof known_names[0]; row++) {
        uint32_t n = known_names[row][2] ? 3 : 2, found = 0, i, k;
        struct taken sorted = {.n = taken->n, .dim = taken->dim};

        if (taken->n != n)
            continue;
        for (i = 0; i < n; i++)
            for (k = 0; k < n; k++)
                if (found == i && is_called(j, taken->at[k], known_names[row][i]))
                    sorted.at[found++] = taken->at[k];
        if (found == n) {
            *taken = sorted;
            return true;
        }
    }
    return false;
}

/* The orders of up to three parts, beginning with the given one. */
static void permute(struct taken *to, const struct taken *from, int which)
{
    static const uint8_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                         {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

    *to = *from;
    for (uint32_t i = 0; i < from->n && from->n <= 3; i++)
        to->at[i] = from->at[from->n == 3 ? orders[which][i] : which ? 1 - i : i];
}

/* Find the order in which the parts make the whole; 1, 0; -1: stopped. */
static int confirm(struct joining *j, uint32_t one, struct taken *taken)
{
    int orders = taken->n == 3 ? 6 : taken->n == 2 ? 2 : 1, which, found;
    bool named = order_by_name(j, taken);
    struct taken tried;

    if (!j->d->wanted->values)
        return named;
    for (which = 0; which < orders; which++) {
        permute(&tried, taken, which);
        found = holds(j, one, &tried);
        if (found == 1)
            *taken = tried;
        if (found != 0)
            return found;
    }
    return 0;
}

int diffing_add_join(struct diffing *d, const struct diff_join *join)
{
    struct diff *diff = d->diff;
    int whole = join->fused ? RIGHT : LEFT;

    if (arena_room(d->arena, &diff->joins, diff->n_joins, &d->joins_room,
                   sizeof *diff->joins) < 0)
        return -1;
    for (uint32_t i = 0; i < join->n; i++)
        d->side[!whole].join[join->many[i]] = diff->n_joins;
    d->side[whole].join[join->one] = diff->n_joins;
    diff->joins[diff->n_joins++] = *join;
    return 0;
}

static int add_join(struct joining *j, uint32_t one, const struct taken *taken)
{
    uint32_t *many = arena_array(j->d->arena, taken->n, sizeof *many);

    for (uint32_t i = 0; many && i < taken->n; i++)
        many[i] = taken->at[i];
    return many
               ? diffing_add_join(j->d, &(struct diff_join){.fused = j->fused,
                                                            .one = one,
                                                            .many = many,
                                                            .n = taken->n,
                                                            .dim = (uint8_t)taken->dim})
               : -1;
}

/* Try every run of adjacent places whose sizes add up; 1: joined. */
static int try_runs(struct joining *j, uint32_t one, const uint32_t *places, uint32_t n,
                    uint32_t dim)
{
    int64_t wanted = size_of(j, true, one, dim);

    for (uint32_t i = 0; i < n; i++) {
        struct taken taken = {.n = 0, .dim = dim};
        int64_t sum = 0;

        for (uint32_t k = i; k < n && taken.n < MOST_PARTS && sum < wanted; k++) {
            taken.at[taken.n++] = places[k];
            sum += size_of(j, false, places[k], dim);
        }
        if (sum != wanted || taken.n < 2)
            continue;
        switch (confirm(j, one, &taken)) {
        case 1:
            return add_join(j, one, &taken) < 0 ? -1 : 1;
        case -1:
            return 0;
        default:
            break;
        }
    }
    return 0;
}

/* Look for the parts of `one` among the unmatched tensors of a home; 1: joined. */
static int join_at(struct joining *j, uint32_t one, uint32_t home)
{
    const struct side *side = &j->d->side[j->parts];
    uint32_t last, size, dim, n, places[MOST_LOOSE], i;
    int found = 0;

    if (home == NO_PLACE || !map_find(&j->homes, home, &last) ||
        !map_find(&j->sizes, home, &size) || size > MOST_LOOSE)
        return 0;
    for (dim = 0; dim < 2 && found == 0; dim++) {
        n = 0;
        for (i = last; i != DIFF_NONE; i = j->at[i].next)
            if (is_loose(side, j->at[i].place) && fits(j, one, j->at[i].place, dim))
                places[n++] = j->at[i].place;
        for (i = 0; i < n / 2; i++) { /* the list has the last one first */
            uint32_t swap = places[i];

            places[i] = places[n - 1 - i];
            places[n - 1 - i] = swap;
        }
        if (n > 1)
            found = try_runs(j, one, places, n, dim);
    }
    return found;
}

static int join_side(struct joining *j)
{
    const struct side *side = &j->d->side[j->whole];
    uint32_t p;

    if (list_loose(j) < 0)
        return -1;
    for (p = 0; p < side->model->n_places && !j->d->stopped; p++) {
        int found;

        if (!is_loose(side, p))
            continue;
        found = join_at(j, p, home_of(j, j->whole, p, 1));
        if (found == 0)
            found = join_at(j, p, home_of(j, j->whole, p, 2));
        if (found < 0)
            return -1;
    }
    return 0;
}

int diffing_match_joined(struct diffing *d)
{
    const uint32_t *image = diffing_images(d);
    struct joining fused = {d, image, true, .whole = RIGHT, .parts = LEFT};
    struct joining split = {d, image, false, .whole = LEFT, .parts = RIGHT};

    if (!image)
        return -1;
    return join_side(&fused) < 0 || join_side(&split) < 0 ? -1 : 0;
}
