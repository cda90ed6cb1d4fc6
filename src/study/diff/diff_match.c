/* Matches tensors whose names differ: by content, with their modules, then by shape,
 * guided by the matches found before. */
#include "study/diff/diff_in.h"

#include <stdlib.h>

#define MOST_ALIKE 4096u        /* pairs of equal content that are compared by name */
#define MOST_NAMES (256u << 20) /* most bytes of names to build */
#define NAME_PARTS 32           /* components to compare, from the end */

/* ---- samples ---- */

/* Tensors of equal content have an equal shape and dtype. If the left ones are turned,
 * they have the shape of their transpose. */
static uint64_t sample_key(const struct diffing *d, int s, uint32_t place)
{
    const struct side *side = &d->side[s];
    const struct tensor *tensor = side_at(side, place);
    const int64_t *shape = tensor_shape(side->model, tensor);

    if (s == LEFT && d->turned)
        return hash_mix(
            hash_mix(hash_mix(hash_u64(2), (uint64_t)shape[1]), (uint64_t)shape[0]),
            tensor->dtype);
    return hash_mix(side_shape_hash(side, tensor), tensor->dtype);
}

bool diffing_sample(struct diffing *d, int s, uint32_t place, uint64_t *ret_sample)
{
    const struct side *side = &d->side[s];
    struct compare_side at = {side->model, side_at(side, place)};
    uint64_t sample;
    bool plain;

    if (work_cancelled(d->work))
        d->stopped = true;
    if (d->stopped || at.tensor->numel == 0 ||
        !tensor_readable(at.model, at.tensor, NULL) ||
        (s == LEFT && d->turned ? compare_sample_transposed
                                : compare_sample)(at, &sample, &plain, NULL) < 0 ||
        plain)
        return false;
    *ret_sample = hash_mix(sample_key(d, s, place), sample);
    return true;
}

static int by_sample(const void *a, const void *b)
{
    const struct diff_sampled *x = a, *y = b;

    if (x->sample != y->sample)
        return x->sample < y->sample ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

static int list_samples(struct diffing *d, int s, diffing_wanted *wanted,
                        struct diff_samples *samples, struct map *keys)
{
    const struct side *side = &d->side[s];
    uint32_t p;

    map_init(keys, &d->scratch);
    samples->n = 0;
    samples->at =
        arena_array(&d->scratch, (size_t)side->tensors[0] + 1, sizeof *samples->at);
    if (!samples->at)
        return -1;
    for (p = 0; p < side->model->n_places; p++) {
        if (!side_tensor(side, p) || !wanted(d, s, p))
            continue;
        samples->at[samples->n++].place = p;
        if (map_put(keys, sample_key(d, s, p), 1) < 0)
            return -1;
    }
    return 0;
}

static void take_samples(struct diffing *d, int s, struct diff_samples *samples,
                         const struct map *other_keys)
{
    struct diff_sampled *at = samples->at;
    uint32_t i, n = 0, unused;

    for (i = 0; i < samples->n; i++) {
        if (!map_find(other_keys, sample_key(d, s, at[i].place), &unused))
            continue;
        at[n] = at[i];
        n += diffing_sample(d, s, at[n].place, &at[n].sample);
    }
    samples->n = n;
    qsort(at, n, sizeof *at, by_sample);
}

int diffing_samples(struct diffing *d, diffing_wanted *wanted,
                    struct diff_samples ret_samples[2])
{
    struct map keys[2];
    int s;

    for (s = LEFT; s <= RIGHT; s++)
        if (list_samples(d, s, wanted, &ret_samples[s], &keys[s]) < 0)
            return -1;
    for (s = LEFT; s <= RIGHT; s++)
        take_samples(d, s, &ret_samples[s], &keys[!s]);
    return 0;
}

/* ---- by content ---- */

static bool is_unmatched(const struct diffing *d, int s, uint32_t place)
{
    const struct tensor *tensor = side_at(&d->side[s], place);

    return d->side[s].match[place] == NO_PLACE && (!d->turned || tensor->rank == 2);
}

/* How many components are equal, position by position from the end. */
static unsigned alike(const struct diffing *d, uint32_t left, uint32_t right)
{
    const struct model *l = d->side[LEFT].model, *r = d->side[RIGHT].model;
    unsigned same = 0;

    for (int i = 0; i < NAME_PARTS && left != 0 && right != 0; i++) {
        same += str_eq(place_name(l, left), place_name(r, right));
        left = l->parent[left];
        right = r->parent[right];
    }
    return same;
}

static int match_if_equal(struct diffing *d, uint32_t left, uint32_t right)
{
    const struct diff_known *known;

    diffing_expect(d, left, right);
    d->flags[left] = d->turned ? DIFF_TRANSPOSED : 0;
    known = diffing_know(d, left, right);
    if (!known)
        return d->stopped ? 0 : -1;
    if (known->why || known->by.different > 0) {
        d->flags[left] = 0;
        return 0;
    }
    diffing_match(d, left, right);
    d->flags[left] |= DIFF_BY_CONTENT;
    return 0;
}

/* Match n left places with m right places of equal samples: each with the one with the
 * most similar name; the first of equals. */
static int match_group(struct diffing *d, const struct diff_sampled *left, uint32_t n,
                       const struct diff_sampled *right, uint32_t m)
{
    bool weigh = (uint64_t)n * m <= MOST_ALIKE;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t best = NO_PLACE, j;
        unsigned most = 0;

        for (j = weigh ? 0 : i; j < m; j++) {
            uint32_t place = right[j].place;
            unsigned score;

            if (d->side[RIGHT].match[place] != NO_PLACE)
                continue;
            score = alike(d, left[i].place, place) + 1;
            if (score > most) {
                best = place;
                most = score;
            }
            if (!weigh)
                break;
        }
        if (best != NO_PLACE && match_if_equal(d, left[i].place, best) < 0)
            return -1;
    }
    return 0;
}

static uint32_t group_end(const struct diff_samples *samples, uint32_t from)
{
    uint32_t end = from;

    while (end < samples->n && samples->at[end].sample == samples->at[from].sample)
        end++;
    return end;
}

static int match_by_content(struct diffing *d)
{
    struct diff_samples samples[2], left, right;
    uint32_t i = 0, j = 0;

    if (diffing_samples(d, is_unmatched, samples) < 0)
        return -1;
    left = samples[LEFT];
    right = samples[RIGHT];
    while (i < left.n && j < right.n) {
        uint32_t i_end = group_end(&left, i), j_end = group_end(&right, j);

        if (left.at[i].sample < right.at[j].sample) {
            i = i_end;
        } else if (left.at[i].sample > right.at[j].sample) {
            j = j_end;
        } else {
            if (match_group(d, left.at + i, i_end - i, right.at + j, j_end - j) < 0)
                return -1;
            i = i_end;
            j = j_end;
        }
    }
    return 0;
}

/* The weights of linear layers, which ONNX and others store as matrices to multiply by
 * from the right. */
static int match_transposed(struct diffing *d)
{
    int status;

    d->turned = true;
    status = match_by_content(d);
    d->turned = false;
    return status;
}

/* ---- with their modules ---- */

static bool any_unmatched(const struct side *side)
{
    for (uint32_t p = 0; p < side->model->n_places; p++)
        if (side_tensor(side, p) && side->match[p] == NO_PLACE)
            return true;
    return false;
}

uint32_t diffing_below(const struct diffing *d, uint32_t place, uint32_t above)
{
    const struct diff_spot *name = &d->spots[d->side[LEFT].spot[place]];
    uint32_t spot;

    if (above == NO_PLACE)
        return NO_PLACE;
    spot = diffing_spot(d, d->side[RIGHT].spot[above], name->name, name->nth, NULL);
    return spot == DIFF_NONE ? NO_PLACE : d->spots[spot].place[RIGHT];
}

/* Tensors that content does not identify (zeros, ones, counters) follow their module, if
 * it has a tensor of their name and shape. */
static int match_along(struct diffing *d)
{
    struct side *left = &d->side[LEFT], *right = &d->side[RIGHT];
    uint32_t *across, p, q;

    if (!any_unmatched(left) || !any_unmatched(right))
        return 0;
    across = diffing_images(d);
    if (!across)
        return -1;
    for (p = 1; p < left->model->n_places; p++) {
        if (across[p] == NO_PLACE)
            across[p] = diffing_below(d, p, across[left->model->parent[p]]);
        if (!side_tensor(left, p) || left->match[p] != NO_PLACE)
            continue;
        q = across[p];
        if (q != NO_PLACE && side_tensor(right, q) && right->match[q] == NO_PLACE &&
            side_same_shape(left, side_at(left, p), right, side_at(right, q)))
            diffing_match(d, p, q);
    }
    return 0;
}

/* ---- by shape ---- */

struct str diffing_name(struct diffing *d, int s, uint32_t place, uint32_t base,
                        struct buf *path)
{
    const struct model *model = d->side[s].model;
    size_t cut = 0;

    buf_clear(path);
    place_path(model, place, path);
    if (base != 0 && place > base && place < model->end[base]) {
        struct buf head = BUF_INIT;

        place_path(model, base, &head);
        cut = head.len + 1;
        buf_release(&head);
    }
    return str_from(buf_span(path), cut);
}

/* All tensors of a side with their names; *ret_index has the index by place. */
static int list_items(struct diffing *d, int s, struct rename_item **ret_items,
                      uint32_t **ret_index, uint32_t *ret_n)
{
    const struct side *side = &d->side[s];
    struct rename_item *items =
        arena_array(&d->scratch, (size_t)side->tensors[0] + 1, sizeof *items);
    uint32_t *index = arena_array(&d->scratch, side->model->n_places, sizeof *index);
    struct buf path = BUF_INIT;
    uint32_t p, n = 0;
    size_t bytes = 0;

    for (p = 0; items && index && p < side->model->n_places; p++) {
        if (!side_tensor(side, p))
            continue;
        index[p] = n;
        items[n].name =
            arena_str(&d->scratch, diffing_name(d, s, p, side->base, &path));
        items[n].shape = side_shape_hash(side, side_at(side, p));
        items[n].match = p; /* its place, until both sides are listed */
        bytes += items[n++].name.len;
        if (bytes > MOST_NAMES || path.bad || !items[n - 1].name.at) {
            items = NULL;
            break;
        }
    }
    buf_release(&path);
    *ret_items = items;
    *ret_index = index;
    *ret_n = n;
    return items && index ? 0 : -1;
}

static void set_matches(const struct side *side, struct rename_item *items, uint32_t n,
                        const uint32_t *other)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t match = side->match[items[i].match];

        items[i].match = match == NO_PLACE ? RENAME_NONE : other[match];
    }
}

/* If the names are too long to build, nothing is matched here. */
static int match_by_shape(struct diffing *d)
{
    struct side *left = &d->side[LEFT], *right = &d->side[RIGHT];
    struct rename_item *items[2];
    uint32_t *index[2], n[2], p, q, *places;

    if (!any_unmatched(left) || !any_unmatched(right))
        return 0;
    if (list_items(d, LEFT, &items[LEFT], &index[LEFT], &n[LEFT]) < 0 ||
        list_items(d, RIGHT, &items[RIGHT], &index[RIGHT], &n[RIGHT]) < 0)
        return d->scratch.spent ? -1 : 0;
    places = arena_array(&d->scratch, (size_t)n[RIGHT] + 1, sizeof *places);
    if (!places)
        return -1;
    for (q = 0; q < n[RIGHT]; q++)
        places[q] = items[RIGHT][q].match;
    set_matches(left, items[LEFT], n[LEFT], index[RIGHT]);
    set_matches(right, items[RIGHT], n[RIGHT], index[LEFT]);
    if (rename_match(items[LEFT], n[LEFT], items[RIGHT], n[RIGHT], &d->scratch, NULL) <
        0)
        return -1;
    for (p = 0; p < left->model->n_places; p++) {
        if (!side_tensor(left, p) || left->match[p] != NO_PLACE)
            continue;
        q = items[LEFT][index[LEFT][p]].match;
        if (q < n[RIGHT] && right->match[places[q]] == NO_PLACE &&
            side_same_shape(left, side_at(left, p), right, side_at(right, places[q])))
            diffing_match(d, p, places[q]);
    }
    return 0;
}

/* ---- shared modules ---- */

static bool has_shared_modules(const struct model *model)
{
    for (uint32_t p = 0; p < model->n_places; p++) {
        const struct object *object =
            model->kind[p] == PLACE_MODULE ? place_object(model, p) : NULL;

        if (object && object->place != p)
            return true;
    }
    return false;
}

/* Do these tensors have equal values? Without --values, equal shape and dtype suffice.
 */
static bool same_tensor(struct diffing *d, uint32_t left, uint32_t right)
{
    const struct side *l = &d->side[LEFT], *r = &d->side[RIGHT];
    const struct diff_known *known;

    if (!side_same_shape(l, side_at(l, left), r, side_at(r, right)) ||
        side_at(l, left)->dtype != side_at(r, right)->dtype)
        return false;
    if (!d->wanted->values)
        return true;
    known = diffing_know(d, left, right);
    return known && !known->why && known->by.different == 0;
}

/* A module tree has a shared module once, a state_dict has all its names. A tensor that
 * only one side lists is the other side's tensor of that name, if it is tied to that
 * tensor's match or their values are equal. */
static int match_aliases(struct diffing *d, int s)
{
    struct side *side = &d->side[s], *other = &d->side[!s];
    struct buf path = BUF_INIT;

    if (!has_shared_modules(other->model))
        return 0;
    for (uint32_t p = 1; p < side->model->n_places && !d->stopped; p++) {
        uint32_t found;
        struct str name;

        if (!side_tensor(side, p) || side->match[p] != NO_PLACE)
            continue;
        name = diffing_name(d, s, p, side->base, &path);
        found =
            name.len > 0 ? place_find_below(other->model, other->base, name) : NO_PLACE;
        if (found != NO_PLACE && side_tensor(other, found) &&
            other->match[found] != NO_PLACE &&
            (side->model->object[p] == side->model->object[other->match[found]] ||
             same_tensor(d, s == LEFT ? p : found, s == LEFT ? found : p)))
            side->match[p] = found;
    }
    buf_release(&path);
    return d->scratch.spent ? -1 : 0;
}

int diffing_match_rest(struct diffing *d)
{
    if (match_aliases(d, LEFT) < 0 || match_aliases(d, RIGHT) < 0)
        return -1;
    if (d->wanted->values && (match_by_content(d) < 0 || match_transposed(d) < 0 ||
                              diffing_match_moved(d) < 0 || match_along(d) < 0))
        return -1;
    if (match_by_shape(d) < 0)
        return -1;
    return diffing_match_joined(d);
}
