/* Finds rules for the changed names, and whether they make one model load as the other.
 */
#include "study/diff/diff_in.h"

#define MOST_NAMES (256u << 20) /* most bytes of names to build */

/* The state_dict at or above the base, or else the only one. */
static uint32_t dict_of(const struct side *side)
{
    const struct model *model = side->model;
    uint32_t place = side->base, p, found = NO_PLACE;

    for (;; place = model->parent[place]) {
        if (model->flags[place] & PLACE_STATE_DICT)
            return place;
        if (place == 0)
            break;
    }
    if (side->base != 0)
        return NO_PLACE;
    for (p = 1; p < model->n_places; p++) {
        if (!(model->flags[p] & PLACE_STATE_DICT) ||
            (model->flags[p] & PLACE_OPTIMIZER))
            continue;
        if (found != NO_PLACE)
            return NO_PLACE;
        found = p;
    }
    return found;
}

/* Is this pair part of the state_dicts, and not optimizer state? */
static bool in_scope(const struct diffing *d, const struct diff_pair *pair,
                     const uint32_t *scope)
{
    const uint32_t place[2] = {pair->left, pair->right};

    for (int s = 0; s < 2; s++) {
        const struct side *side = &d->side[s];

        if (place[s] == NO_PLACE)
            continue;
        if (place[s] < scope[s] || place[s] >= side->model->end[scope[s]] ||
            side_at(side, place[s])->role == ROLE_STATE)
            return false;
    }
    return true;
}

static int find_rules(struct diffing *d, const uint32_t *scope)
{
    const struct diff *diff = d->diff;
    struct rename_pair *pairs =
        arena_array(&d->scratch, (size_t)diff->n_pairs + 1, sizeof *pairs);
    struct buf path = BUF_INIT;
    uint32_t i, n = 0;
    size_t bytes = 0;
    bool renamed = false;

    for (i = 0; pairs && i < diff->n_pairs && bytes <= MOST_NAMES; i++) {
        const struct diff_pair *pair = &diff->pairs[i];
        struct rename_pair *to = &pairs[n];

        if (pair->left == NO_PLACE || pair->right == NO_PLACE ||
            pair->flags & DIFF_ALIAS || !in_scope(d, pair, scope))
            continue;
        to->from =
            arena_str(d->arena, diffing_name(d, LEFT, pair->left, scope[LEFT], &path));
        to->to = arena_str(d->arena,
                           diffing_name(d, RIGHT, pair->right, scope[RIGHT], &path));
        if (path.bad || !to->from.at || !to->to.at)
            break;
        bytes += to->from.len + to->to.len;
        renamed = renamed || !str_eq(to->from, to->to);
        n++;
    }
    buf_release(&path);
    if (!pairs || d->arena->spent)
        return -1;
    if (i < diff->n_pairs || !renamed)
        return 0;
    return rename_find(pairs, n, d->arena, &d->diff->rules, NULL);
}

/* Is it inside a value of the state_dict, such as weights of quantised layers in a
 * tuple? Then it has no key. */
static bool is_packed(const struct model *model, uint32_t place, uint32_t root)
{
    for (place = model->parent[place]; place > root; place = model->parent[place])
        if (model->kind[place] == PLACE_GROUP)
            return true;
    return false;
}

static bool is_derived(const struct side *side, uint32_t place)
{
    return side_at(side, place)->flags & TENSOR_DERIVED;
}

/* Quantised on one side only, or packed on one side only? */
static bool packs(const struct diffing *d, const struct diff_pair *pair,
                  const uint32_t *scope)
{
    const struct side *l = &d->side[LEFT], *r = &d->side[RIGHT];

    return dtype_info((enum dtype)side_at(l, pair->left)->dtype)->quantised !=
               dtype_info((enum dtype)side_at(r, pair->right)->dtype)->quantised ||
           is_packed(l->model, pair->left, scope[LEFT]) !=
               is_packed(r->model, pair->right, scope[RIGHT]) ||
           is_derived(l, pair->left) != is_derived(r, pair->right);
}

/* Is it a part of another tensor, or computed from others? Then it has no key. */
static bool is_part(const struct side *side, uint32_t place)
{
    return side_tensor(side, side->model->parent[place]) || is_derived(side, place);
}

/* Does every right key have a source of equal shape, and every left key a use? */
static void find_load(struct diffing *d, const uint32_t *scope)
{
    struct diff *diff = d->diff;
    struct diff_load *load = &diff->load;

    for (uint32_t i = 0; i < diff->n_pairs; i++) {
        const struct diff_pair *pair = &diff->pairs[i];

        if (!in_scope(d, pair, scope))
            continue;
        if (pair->state == DIFF_LEFT)
            load->unexpected += !is_part(&d->side[LEFT], pair->left);
        else if (pair->state == DIFF_RIGHT)
            load->missing += !is_part(&d->side[RIGHT], pair->right);
        else if (pair->state == DIFF_RESHAPED)
            load->reshaped++;
        else if (pair->left != NO_PLACE && pair->right != NO_PLACE)
            load->packed += packs(d, pair, scope);
    }
    diff->loads = diff->n_pairs > 0 &&
                  load->missing + load->unexpected + load->reshaped + load->packed == 0;
}

/* If no name differs, names need not be built. */
static bool any_renamed(const struct diffing *d)
{
    return d->diff->total.renamed > 0 || d->side[LEFT].base != 0 ||
           d->side[RIGHT].base != 0;
}

int diffing_make_rules(struct diffing *d)
{
    uint32_t scope[2] = {dict_of(&d->side[LEFT]), dict_of(&d->side[RIGHT])};

    if (scope[LEFT] == NO_PLACE || scope[RIGHT] == NO_PLACE)
        scope[LEFT] = scope[RIGHT] = 0;
    find_load(d, scope);
    if (!any_renamed(d))
        return 0;
    return find_rules(d, scope);
}
