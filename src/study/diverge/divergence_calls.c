/* Matches the calls of two runs. */
#include <string.h>

#include "study/diverge/divergence_in.h"
#include "study/diverge/sequence.h"

uint32_t *diverging_none(struct arena *arena, size_t n)
{
    uint32_t *at = arena_array(arena, n + 1, sizeof *at);

    if (at)
        memset(at, 0xff, (n + 1) * sizeof *at);
    return at;
}

/* ---- modules ---- */

static bool is_module(const struct model *model, uint32_t place)
{
    return place != NO_PLACE && model->kind[place] == PLACE_MODULE;
}

/* Matches two modules if neither has a match. */
static void match_places(struct diverging *d, uint32_t left, uint32_t right)
{
    struct buf names[2] = {BUF_INIT, BUF_INIT};

    if (!is_module(d->run[0]->model, left) || !is_module(d->run[1]->model, right) ||
        d->place_match[0][left] != NO_PLACE || d->place_match[1][right] != NO_PLACE)
        return;
    d->place_match[0][left] = right;
    d->place_match[1][right] = left;
    diff_name(d->diff, false, left, &names[0]);
    diff_name(d->diff, true, right, &names[1]);
    d->renamed[left] = !str_eq(buf_span(&names[0]), buf_span(&names[1]));
    buf_release(&names[0]);
    buf_release(&names[1]);
}

/* Matches the modules of matched tensors, then their parents while these have no
 * match. */
static void match_renamed(struct diverging *d)
{
    const struct model *a = d->run[0]->model, *b = d->run[1]->model;

    for (uint32_t i = 0; i < d->diff->n_pairs; i++) {
        const struct diff_pair *pair = &d->diff->pairs[i];

        if (pair->left != NO_PLACE && pair->right != NO_PLACE)
            match_places(d, a->parent[pair->left], b->parent[pair->right]);
    }
    /* Children come after their parents, so this order climbs. */
    for (uint32_t place = a->n_places; place-- > 1;)
        if (d->place_match[0][place] != NO_PLACE && d->place_match[0][place] > 0)
            match_places(d, a->parent[place], b->parent[d->place_match[0][place]]);
}

/* Matches modules of the same name inside matched modules. The diff covers only modules
 * with tensors. */
static void match_children(struct diverging *d)
{
    const struct model *a = d->run[0]->model, *b = d->run[1]->model;

    for (uint32_t place = 1; place < a->n_places; place++) {
        uint32_t parent = d->place_match[0][a->parent[place]];

        if (d->place_match[0][place] == NO_PLACE && parent != NO_PLACE &&
            is_module(a, place))
            match_places(d, place, place_find_below(b, parent, place_name(a, place)));
    }
}

static int find_places(struct diverging *d)
{
    for (int side = 0; side < 2; side++) {
        d->place_match[side] =
            diverging_none(&d->scratch, d->run[side]->model->n_places);
        if (!d->place_match[side])
            return -1;
    }
    d->renamed =
        arena_array(&d->scratch, d->run[0]->model->n_places, sizeof *d->renamed);
    if (!d->renamed)
        return -1;
    for (uint32_t i = 0; i < d->diff->n_nodes; i++)
        match_places(d, d->diff->nodes[i].left, d->diff->nodes[i].right);
    match_children(d);
    match_renamed(d);
    match_children(d);
    return 0;
}

/* ---- calls by name ---- */

static bool counts(const struct run_call *call)
{
    return !(call->flags & RUN_RECOMPUTED);
}

static void match_calls(struct diverging *d, uint32_t left, uint32_t right)
{
    d->divergence->call_match[0][left] = right;
    d->divergence->call_match[1][right] = left;
}

/* By call: its index among the calls made at its place. */
static uint32_t *number_calls(struct diverging *d, int side)
{
    const struct run *run = d->run[side];
    uint32_t *so_far = arena_array(&d->scratch, run->model->n_places, sizeof *so_far);
    uint32_t *number = diverging_none(&d->scratch, run->n_calls);
    bool *light = arena_array(&d->scratch, run->model->n_places, 1);

    if (!so_far || !number || !light)
        return NULL;
    for (uint32_t i = 0; i < run->n_calls; i++) {
        const struct run_call *call = &run->calls[i];

        if (!counts(call) || call->place >= run->model->n_places)
            continue;
        d->divergence->calls.n[side]++;
        if (!(call->flags & RUN_LIGHT))
            number[i] = so_far[call->place]++;
        else if (!light[call->place]) /* the newest of the merged ones */
            number[i] = run_count_calls_at(run, call->place) - 1;
        light[call->place] |= (call->flags & RUN_LIGHT) != 0;
    }
    return number;
}

static int match_by_name(struct diverging *d)
{
    uint32_t *number[2] = {number_calls(d, 0), number_calls(d, 1)};
    struct divergence_matched *matched = &d->divergence->calls;
    struct map map;

    map_init(&map, &d->scratch);
    if (!number[0] || !number[1])
        return -1;
    for (uint32_t i = 0; i < d->run[1]->n_calls; i++)
        if (number[1][i] != RUN_NONE &&
            map_put(&map, (uint64_t)d->run[1]->calls[i].place << 32 | number[1][i], i) <
                0)
            return -1;
    for (uint32_t i = 0; i < d->run[0]->n_calls; i++) {
        uint32_t place, right;

        if (number[0][i] == RUN_NONE)
            continue;
        place = d->place_match[0][d->run[0]->calls[i].place];
        if (place == NO_PLACE ||
            !map_find(&map, (uint64_t)place << 32 | number[0][i], &right) ||
            d->divergence->call_match[1][right] != RUN_NONE)
            continue;
        match_calls(d, i, right);
        if (d->renamed[d->run[0]->calls[i].place])
            matched->by_rule++;
        else
            matched->by_name++;
    }
    return 0;
}

/* ---- the rest in order ---- */

static uint64_t shapes_of(const struct run *run, const struct run_call *call)
{
    uint64_t hash = 1;

    for (uint32_t i = call->ios; i < call->ios + call->n_ios; i++) {
        const struct run_io *io = &run->ios[i];

        if (io->kind != RUN_OUT || io->value == RUN_NONE)
            continue;
        hash = hash_mix(hash, run->values[io->value].rank);
        for (int k = 0; k < run->values[io->value].rank; k++)
            hash =
                hash_mix(hash, (uint64_t)run->dims[run->values[io->value].shape + k]);
    }
    return hash;
}

/* By place: was it called? */
static bool *called_places(struct diverging *d, int side)
{
    const struct run *run = d->run[side];
    bool *called = arena_array(&d->scratch, (size_t)run->model->n_places + 1, 1);

    for (uint32_t i = 0; called && i < run->n_calls; i++)
        if (run->calls[i].place < run->model->n_places)
            called[run->calls[i].place] = true;
    return called;
}

/* Signatures of the calls whose module has no counterpart that is called. */
static uint64_t *sign_calls(struct diverging *d, int side, bool with_class)
{
    const struct run *run = d->run[side];
    uint64_t *to = arena_array(&d->scratch, (size_t)run->n_calls + 1, sizeof *to);
    bool *calls_others = arena_array(&d->scratch, (size_t)run->n_calls + 1, 1);
    bool *called = called_places(d, !side);

    if (!to || !calls_others || !called)
        return NULL;
    for (uint32_t i = run->n_calls; i-- > 0;) {
        const struct run_call *call = &run->calls[i];
        uint32_t match = d->place_match[side][call->place];

        if (call->parent != RUN_NONE)
            calls_others[call->parent] = true;
        if (!counts(call) || call->flags & RUN_LIGHT ||
            (match != NO_PLACE && called[match]))
            continue;
        to[i] = hash_mix(shapes_of(run, call), calls_others[i]) | 1;
        if (with_class)
            to[i] =
                hash_mix(to[i],
                         str_hash(class_short(place_class(run->model, call->place)))) |
                1;
    }
    return to;
}

static uint32_t count_matches(const struct diverging *d)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < d->run[0]->n_calls; i++)
        n += d->divergence->call_match[0][i] != RUN_NONE;
    return n;
}

/* The passes whose module has no counterpart that is called: a wrapper on one side. */
static void match_passes(struct diverging *d)
{
    const struct run *run[2] = {d->run[0], d->run[1]};
    uint32_t *const *match = d->divergence->call_match;
    uint32_t at[2] = {0, 0};

    for (;; at[0]++, at[1]++) {
        for (int side = 0; side < 2; side++)
            while (at[side] < run[side]->n_calls &&
                   (run[side]->calls[at[side]].parent != RUN_NONE ||
                    !counts(&run[side]->calls[at[side]])))
                at[side]++;
        if (at[0] >= run[0]->n_calls || at[1] >= run[1]->n_calls)
            return;
        if (match[0][at[0]] == RUN_NONE && match[1][at[1]] == RUN_NONE)
            match_calls(d, at[0], at[1]);
    }
}

static int match_in_order(struct diverging *d)
{
    uint32_t before = count_matches(d);

    match_passes(d);

    for (int with_class = 1; with_class >= 0; with_class--) {
        struct sequence_side side[2];

        for (int i = 0; i < 2; i++) {
            side[i] = (struct sequence_side){
                .signatures = sign_calls(d, i, with_class),
                .match = d->divergence->call_match[i],
                .n = d->run[i]->n_calls,
            };
            if (!side[i].signatures)
                return -1;
        }
        if (sequence_align(&side[0], &side[1], &d->scratch) < 0)
            return -1;
    }
    d->divergence->calls.by_order = count_matches(d) - before;
    return 0;
}

static uint32_t count_merged(const struct run *run)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < run->n_merged; i++) {
        uint32_t newest = run->merged[i].newest;

        if (newest >= run->n_calls || counts(&run->calls[newest]))
            n += run->merged[i].calls - (newest < run->n_calls);
    }
    return n;
}

int diverging_calls(struct diverging *d)
{
    for (int side = 0; side < 2; side++) {
        d->divergence->merged[side] = count_merged(d->run[side]);
        d->divergence->call_match[side] =
            diverging_none(d->arena, d->run[side]->n_calls);
        if (!d->divergence->call_match[side])
            return -1;
    }
    if (find_places(d) < 0 || match_by_name(d) < 0)
        return -1;
    return match_in_order(d);
}
