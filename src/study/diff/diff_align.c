/* Finds the prefixes to remove, and the names that are equal then. Full names are never
 * built: hashes and spots of a place extend those of its parent, in one scan. */
#include "study/diff/diff_in.h"

#define MOST_BASES 6

/* Places below which names could be compared. */
struct bases {
    uint32_t at[MOST_BASES], depth[MOST_BASES];
    uint64_t *hash[MOST_BASES]; /* by place: of its name below at[i] */
    uint32_t n;
};

struct chosen {
    uint32_t base[2];
    uint32_t names, shapes, depth;
};

struct aligning {
    struct diffing *d;
    uint32_t *weight[2]; /* by place: tensors at and below it that count */
    uint64_t *words[2];  /* by place: hash of its own name */
    uint32_t *met;       /* by right place: the last `count` that met it */
    uint32_t count;
    struct bases bases[2];
    bool all; /* count all tensors, because one side has no parameters */
};

/* ---- candidates ---- */

static bool counts(const struct aligning *a, const struct side *side, uint32_t place)
{
    uint8_t role;

    if (!side_tensor(side, place))
        return false;
    role = side_at(side, place)->role;
    return a->all || role == ROLE_PARAMETER || role == ROLE_BUFFER;
}

static uint32_t weigh(const struct aligning *a, int s)
{
    const struct side *side = &a->d->side[s];
    uint32_t *weight = a->weight[s], p;

    for (p = 0; p < side->model->n_places; p++)
        weight[p] = counts(a, side, p);
    for (p = side->model->n_places; p-- > 1;)
        weight[side->model->parent[p]] += weight[p];
    return weight[0];
}

static void add_base(struct bases *bases, const struct model *model, uint32_t place)
{
    for (uint32_t i = 0; i < bases->n; i++)
        if (bases->at[i] == place)
            return;
    if (bases->n == MOST_BASES)
        return;
    bases->at[bases->n] = place;
    bases->depth[bases->n++] = place_depth(model, place);
}

/* The root, the places on the path to most of the tensors, and those marked as
 * state_dict or wrapper. */
static void find_bases(struct aligning *a, int s)
{
    const struct model *model = a->d->side[s].model;
    const uint32_t *weight = a->weight[s];
    uint32_t place = 0, child;

    while (place != NO_PLACE && a->bases[s].n < MOST_BASES - 1) {
        add_base(&a->bases[s], model, place);
        for (child = place_first(model, place); child != NO_PLACE;
             child = place_next(model, child))
            if (model->kind[child] != PLACE_TENSOR && weight[child] &&
                weight[child] >= weight[0] / 2)
                break;
        place = child;
    }
    for (place = 1; place < model->n_places; place++)
        if ((model->flags[place] & (PLACE_STATE_DICT | PLACE_PREFIX)) &&
            !(model->flags[place] & PLACE_OPTIMIZER) && weight[place])
            add_base(&a->bases[s], model, place);
}

/* ---- how many names are equal below two bases ---- */

static int hash_names(struct aligning *a, int s)
{
    const struct model *model = a->d->side[s].model;
    uint32_t p, i, n = model->n_places;

    for (i = 0; i < a->bases[s].n; i++) {
        uint32_t base = a->bases[s].at[i];
        uint64_t *hash = arena_array(&a->d->scratch, n, sizeof *hash);

        if (!hash)
            return -1;
        hash[base] = 1;
        for (p = base + 1; p < model->end[base]; p++)
            hash[p] = hash_mix(hash[model->parent[p]], a->words[s][p]);
        a->bases[s].hash[i] = hash;
    }
    return 0;
}

static int map_names(const struct aligning *a, uint32_t i, struct map *map)
{
    const struct side *side = &a->d->side[RIGHT];
    uint32_t base = a->bases[RIGHT].at[i], p;

    map_init(map, &a->d->scratch);
    for (p = base; p < side->model->end[base]; p++)
        if (counts(a, side, p) && map_put(map, a->bases[RIGHT].hash[i][p], p) < 0)
            return -1;
    return 0;
}

static struct chosen agree(struct aligning *a, uint32_t i, uint32_t j,
                           const struct map *names)
{
    const struct side *left = &a->d->side[LEFT], *right = &a->d->side[RIGHT];
    struct chosen found = {.base = {a->bases[LEFT].at[i], a->bases[RIGHT].at[j]},
                           .depth = a->bases[LEFT].depth[i] + a->bases[RIGHT].depth[j]};
    uint32_t p, q, base = found.base[LEFT];

    a->count++;
    for (p = base; p < left->model->end[base]; p++) {
        if (!counts(a, left, p) || !map_find(names, a->bases[LEFT].hash[i][p], &q))
            continue;
        if (a->met[q] == a->count) /* duplicate names count once */
            continue;
        a->met[q] = a->count;
        found.names++;
        found.shapes +=
            side_same_shape(left, side_at(left, p), right, side_at(right, q));
    }
    return found;
}

static bool better(const struct chosen *a, const struct chosen *b)
{
    if (a->names != b->names)
        return a->names > b->names;
    if (a->shapes != b->shapes)
        return a->shapes > b->shapes;
    return a->depth < b->depth;
}

/* The state_dict on the path to most of the tensors, or the root. */
static uint32_t own_dict(const struct aligning *a, int s)
{
    const struct model *model = a->d->side[s].model;

    for (uint32_t i = a->bases[s].n; i-- > 0;) {
        uint32_t place = a->bases[s].at[i];

        if ((model->flags[place] & PLACE_STATE_DICT) &&
            a->weight[s][place] >= a->weight[s][0] / 2)
            return place;
    }
    return 0;
}

/* Do two places have the same full name? */
static bool same_path(const struct side *left, uint32_t p, const struct side *right,
                      uint32_t q)
{
    while (p != 0 && q != 0) {
        if (!str_eq(place_name(left->model, p), place_name(right->model, q)))
            return false;
        p = left->model->parent[p];
        q = right->model->parent[q];
    }
    return p == q;
}

/* Half of the shapes must be equal, and most names too, unless the prefix covers all
 * tensors. */
static bool trusted(const struct aligning *a, const struct chosen *chosen,
                    uint32_t least)
{
    bool whole = a->weight[LEFT][chosen->base[LEFT]] == a->weight[LEFT][0] &&
                 a->weight[RIGHT][chosen->base[RIGHT]] == a->weight[RIGHT][0];

    return chosen->names >= (whole ? 1 : least - least / 4) &&
           2 * chosen->shapes >= chosen->names;
}

/* Choose the bases with the most equal names; no prefix unless another is better. If no
 * name is equal, compare a state_dict with a state_dict, wherever it is. */
static int choose(struct aligning *a, uint32_t least)
{
    struct chosen best = {{0, 0}, 0, 0, 0}, plain = {{0, 0}, 0, 0, 0}, next;
    uint32_t i, j;

    for (j = 0; j < a->bases[RIGHT].n; j++) {
        struct map names;

        if (map_names(a, j, &names) < 0)
            return -1;
        for (i = 0; i < a->bases[LEFT].n; i++) {
            next = agree(a, i, j, &names);
            if (i == 0 && j == 0)
                best = plain = next;
            else if (better(&next, &best) && trusted(a, &next, least))
                best = next;
        }
        if (j == 0 && plain.names == least)
            return 0;
    }
    if (best.names == 0) {
        best.base[LEFT] = own_dict(a, LEFT);
        best.base[RIGHT] = own_dict(a, RIGHT);
        if (same_path(&a->d->side[LEFT], best.base[LEFT], &a->d->side[RIGHT],
                      best.base[RIGHT]))
            best.base[LEFT] = best.base[RIGHT] = 0;
    }
    a->d->side[LEFT].base = best.base[LEFT];
    a->d->side[RIGHT].base = best.base[RIGHT];
    return 0;
}

static int find_prefixes(struct diffing *d)
{
    struct aligning a = {.d = d};
    uint32_t weight[2], s, p;

    for (s = 0; s < 2; s++) {
        const struct model *model = d->side[s].model;

        a.weight[s] = arena_array(&d->scratch, model->n_places, sizeof(uint32_t));
        a.words[s] = arena_array(&d->scratch, model->n_places, sizeof(uint64_t));
        if (!a.weight[s] || !a.words[s])
            return -1;
        for (p = 0; p < model->n_places; p++)
            a.words[s][p] = str_hash(place_name(model, p));
    }
    a.met = arena_array(&d->scratch, d->side[RIGHT].model->n_places, sizeof *a.met);
    if (!a.met)
        return -1;
    weight[LEFT] = weigh(&a, LEFT);
    weight[RIGHT] = weigh(&a, RIGHT);
    if (weight[LEFT] == 0 || weight[RIGHT] == 0) {
        a.all = true;
        weight[LEFT] = weigh(&a, LEFT);
        weight[RIGHT] = weigh(&a, RIGHT);
    }
    for (s = 0; s < 2; s++) {
        find_bases(&a, (int)s);
        if (hash_names(&a, (int)s) < 0)
            return -1;
    }
    return choose(&a, weight[LEFT] < weight[RIGHT] ? weight[LEFT] : weight[RIGHT]);
}

static int name_prefix(struct diffing *d, int s, struct str *ret_prefix)
{
    struct buf path = BUF_INIT;

    *ret_prefix = STR("");
    if (d->side[s].base == 0)
        return 0;
    place_path(d->side[s].model, d->side[s].base, &path);
    buf_char(&path, '.');
    *ret_prefix = arena_str(d->arena, buf_span(&path));
    buf_release(&path);
    return ret_prefix->at ? 0 : -1;
}

/* ---- spots ---- */

static uint32_t new_spot(struct diffing *d, uint32_t parent, uint32_t name,
                         uint32_t nth)
{
    if (arena_room(&d->scratch, &d->spots, d->n_spots, &d->spots_room,
                   sizeof *d->spots) < 0)
        return DIFF_NONE;
    d->spots[d->n_spots] = (struct diff_spot){
        .parent = parent, .name = name, .nth = nth, .place = {NO_PLACE, NO_PLACE}};
    return d->n_spots++;
}

uint32_t diffing_spot(const struct diffing *d, uint32_t parent, uint32_t name,
                      uint32_t nth, uint64_t *ret_key)
{
    uint64_t key = hash_mix(hash_mix(hash_u64(parent), name), nth);
    uint32_t spot;

    for (; map_find(&d->by_spot, key, &spot); key++) {
        const struct diff_spot *at = &d->spots[spot];

        if (at->parent == parent && at->name == name && at->nth == nth)
            return spot;
    }
    if (ret_key)
        *ret_key = key;
    return DIFF_NONE;
}

static uint32_t spot_of(struct diffing *d, uint32_t parent, uint32_t name, uint32_t nth)
{
    uint64_t key;
    uint32_t spot = diffing_spot(d, parent, name, nth, &key);

    if (spot != DIFF_NONE)
        return spot;
    spot = new_spot(d, parent, name, nth);
    if (spot != DIFF_NONE && map_put(&d->by_spot, key, spot) < 0)
        return DIFF_NONE;
    return spot;
}

/* The spot of a place; a second sibling of the same name gets its own spot. */
static uint32_t take_spot(struct diffing *d, int s, uint32_t place)
{
    const struct model *model = d->side[s].model;
    uint32_t parent = d->side[s].spot[model->parent[place]];
    uint32_t name = intern_add(&d->names, place_name(model, place));
    uint32_t spot, nth;

    if (name == INTERN_NONE)
        return DIFF_NONE;
    spot = spot_of(d, parent, name, 0);
    if (spot == DIFF_NONE)
        return DIFF_NONE;
    nth = d->spots[spot].seen[s]++;
    if (nth > 0)
        spot = spot_of(d, parent, name, nth);
    if (spot != DIFF_NONE)
        d->spots[spot].place[s] = place;
    return spot;
}

static int take_spots(struct diffing *d, int s)
{
    struct side *side = &d->side[s];
    uint32_t p;

    side->spot[0] = side->base == 0 ? SPOT_INSIDE : SPOT_OUTSIDE;
    d->spots[side->spot[0]].place[s] = 0;
    for (p = 1; p < side->model->n_places; p++) {
        if (p == side->base) {
            side->spot[p] = SPOT_INSIDE;
            d->spots[SPOT_INSIDE].place[s] = p;
            continue;
        }
        side->spot[p] = take_spot(d, s, p);
        if (side->spot[p] == DIFF_NONE)
            return -1;
    }
    return 0;
}

static int find_spots(struct diffing *d)
{
    map_init(&d->by_spot, &d->scratch);
    if (intern_init(&d->names, &d->scratch) < 0 ||
        new_spot(d, DIFF_NONE, 0, 0) != SPOT_INSIDE ||
        new_spot(d, DIFF_NONE, 0, 1) != SPOT_OUTSIDE)
        return -1;
    return take_spots(d, LEFT) < 0 || take_spots(d, RIGHT) < 0 ? -1 : 0;
}

/* The tensor `weight` of a module that is in the file, or NO_PLACE. */
static uint32_t stored_weight(const struct side *side, uint32_t module)
{
    uint32_t p = place_first(side->model, module);

    while (p != NO_PLACE &&
           (!side_tensor(side, p) || side_at(side, p)->flags & TENSOR_DERIVED ||
            !str_is(place_name(side->model, p), "weight")))
        p = place_next(side->model, p);
    return p;
}

static bool is_real(const struct tensor *tensor)
{
    const struct dtype_info *info = dtype_info((enum dtype)tensor->dtype);

    return info->kind == DTYPE_KIND_FLOAT && info->bytes > 1;
}

/* The weight on the other side that a derived tensor has the values of; NO_PLACE: none, or
 * it has its name and is matched already. */
static uint32_t derived_from(const struct diffing *d, int s, uint32_t place)
{
    const struct side *side = &d->side[s], *other = &d->side[!s];
    uint32_t module = d->spots[side->spot[side->model->parent[place]]].place[!s];
    uint32_t weight;

    if (side->match[place] != NO_PLACE || module == NO_PLACE)
        return NO_PLACE;
    weight = stored_weight(other, module);
    if (weight == NO_PLACE || !is_real(side_at(other, weight)) ||
        !side_same_shape(side, side_at(side, place), other, side_at(other, weight)))
        return NO_PLACE;
    return weight;
}

/* A weight that is packed on side `s` only: its real values, not its codes, are what the
 * other side has under its name. */
static void match_derived(struct diffing *d, int s)
{
    const struct side *side = &d->side[s], *other = &d->side[!s];

    for (uint32_t t = 0; t < side->model->n_tensors; t++) {
        const struct tensor *tensor = &side->model->tensors[t];
        uint32_t place = tensor->place, weight;

        if (!(tensor->flags & TENSOR_DERIVED) || place == NO_PLACE ||
            !side_tensor(side, place))
            continue;
        weight = derived_from(d, s, place);
        if (weight == NO_PLACE)
            continue;
        if (other->match[weight] != NO_PLACE)
            diffing_unmatch(d, s == LEFT ? other->match[weight] : weight);
        diffing_match(d, s == LEFT ? place : weight, s == LEFT ? weight : place);
    }
}

int diffing_align(struct diffing *d)
{
    struct side *left = &d->side[LEFT], *right = &d->side[RIGHT];
    uint32_t p, q;

    if (find_prefixes(d) < 0 || find_spots(d) < 0 ||
        name_prefix(d, LEFT, &d->diff->left_prefix) < 0 ||
        name_prefix(d, RIGHT, &d->diff->right_prefix) < 0)
        return -1;
    for (p = 0; p < left->model->n_places; p++) {
        q = d->spots[left->spot[p]].place[RIGHT];
        if (side_tensor(left, p) && q != NO_PLACE && side_tensor(right, q))
            diffing_match(d, p, q);
    }
    match_derived(d, LEFT);
    match_derived(d, RIGHT);
    return 0;
}
