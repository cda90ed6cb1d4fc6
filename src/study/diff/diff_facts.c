/* Finds what differs besides tensors: plain values, classes, arguments, code, metadata.
 */
#include <math.h>
#include <string.h>

#include "study/diff/diff_in.h"

/* ---- plain values ----
 * Value ids of two models cannot be compared. Instead each value gets a 64-bit hash of
 * its content (randomly seeded). Items precede the values that hold them, so one scan
 * is enough. */

static uint64_t real_hash(double real)
{
    union {
        double real;
        uint64_t bits;
    } value = {.real = real};

    if (isnan(real))
        return 0x7ff8;
    return real == 0 ? 0 : value.bits;
}

static uint64_t tensor_hash(const struct side *side, int64_t id)
{
    const struct tensor *tensor;

    if (id < 0 || id >= (int64_t)side->model->n_tensors)
        return 0;
    tensor = &side->model->tensors[id];
    return hash_mix(side_shape_hash(side, tensor), tensor->dtype);
}

/* The order matters in lists and tuples, not in dicts, sets and objects. */
static uint64_t items_hash(const struct values *values, const struct value *value,
                           const uint64_t *hashes, uint64_t hash)
{
    const uint32_t *items = values->items + value->items;
    bool pairs = value->kind == VALUE_DICT || value->kind == VALUE_OBJECT;
    uint64_t sum = 0;
    uint32_t i;

    if (!pairs && value->kind != VALUE_SET) {
        for (i = 0; i < value->n; i++)
            hash = hash_mix(hash, hashes[items[i]]);
        return hash;
    }
    for (i = 0; i + pairs < value->n; i += pairs ? 2 : 1)
        sum += hash_mix(hash_u64(hashes[items[i]]), pairs ? hashes[items[i + 1]] : 0);
    return hash_mix(hash, sum);
}

static uint64_t value_hash(const struct side *side, uint32_t id, const uint64_t *hashes)
{
    const struct values *values = &side->model->values;
    const struct value *value = value_at(values, id);
    uint64_t hash = hash_mix(hash_u64(value->kind), value->n);

    switch ((enum value_kind)value->kind) {
    case VALUE_NONE:
        return hash;
    case VALUE_BOOL:
    case VALUE_INT:
        return hash_mix(hash, (uint64_t)value->integer);
    case VALUE_REAL:
        return hash_mix(hash, real_hash(value->real));
    case VALUE_TENSOR:
        return hash_mix(hash, tensor_hash(side, value->integer));
    case VALUE_STR:
    case VALUE_BYTES:
    case VALUE_BIGINT:
    case VALUE_GLOBAL:
    case VALUE_CUT:
        return hash_mix(hash, str_hash(value_text(values, id)));
    default:
        return items_hash(values, value, hashes,
                          hash_mix(hash, str_hash(value_text(values, id))));
    }
}

static uint64_t *hash_values(struct diffing *d, int s)
{
    const struct side *side = &d->side[s];
    uint32_t i, n = side->model->values.n;
    uint64_t *hashes = arena_array(&d->scratch, (size_t)n + 1, sizeof *hashes);

    for (i = 0; hashes && i < n; i++)
        hashes[i] = value_hash(side, i, hashes);
    return hashes;
}

/* ---- places ---- */

struct others {
    struct diffing *d;
    uint64_t *hashes[2]; /* by value */
    struct codes *codes;
};

static int add_other(struct diffing *d, enum diff_fact_kind kind, uint32_t left,
                     uint32_t right)
{
    struct diff *diff = d->diff;

    if (arena_room(d->arena, &diff->others, diff->n_others, &d->others_room,
                   sizeof *diff->others) < 0)
        return -1;
    diff->others[diff->n_others++] =
        (struct diff_other){.kind = kind, .left = left, .right = right};
    return 0;
}

static uint64_t hash_at(const struct others *o, int s, uint32_t value)
{
    return value < o->d->side[s].model->values.n ? o->hashes[s][value] : 0;
}

/* The class of a module or group if the file records it; else empty. */
static struct str told_class(const struct side *side, uint32_t place)
{
    const struct object *object = place_object(side->model, place);

    if (!object || object->guessed)
        return STR("");
    return place_class(side->model, place);
}

/* TorchScript does not say in which module a class of __main__ is; Keras calls its own
 * classes by several. */
static bool same_class(struct str a, struct str b)
{
    return str_eq(a, b) ||
           (str_eq(class_short(a), class_short(b)) &&
            (str_find_char(a, '.') < 0 || str_find_char(b, '.') < 0 ||
             (str_starts(a, STR("keras.")) && str_starts(b, STR("keras.")))));
}

static int compare_code(const struct others *o, uint32_t left, uint32_t right)
{
    struct diff *diff = o->d->diff;
    struct str lines[2];

    if (!codes_differ(o->codes, left, right, lines))
        return 0;
    if (add_other(o->d, DIFF_CODE, left, right) < 0)
        return -1;
    memcpy(diff->others[diff->n_others - 1].code, lines, sizeof lines);
    return 0;
}

/* Roots and bases are compared whatever they are: a module and its state_dict, or two
 * kinds of dicts, are not a class difference. */
static bool both_tops(const struct others *o, uint32_t left, uint32_t right)
{
    return left == 0 || right == 0 || left == o->d->side[LEFT].base ||
           right == o->d->side[RIGHT].base;
}

/* Two places of the same name: compare value, class, arguments and code. */
static int compare_places(const struct others *o, uint32_t left, uint32_t right)
{
    const struct side *l = &o->d->side[LEFT], *r = &o->d->side[RIGHT];
    const struct object *a = place_object(l->model, left);
    const struct object *b = place_object(r->model, right);
    bool value = l->model->kind[left] == PLACE_VALUE;

    if (both_tops(o, left, right) && (l->model->kind[left] != r->model->kind[right] ||
                                      l->model->kind[left] == PLACE_GROUP))
        return 0;
    if (value != (r->model->kind[right] == PLACE_VALUE))
        return side_tensor(l, left) || side_tensor(r, right)
                   ? 0
                   : add_other(o->d, DIFF_VALUE, left, right);
    if (value) {
        if (hash_at(o, LEFT, l->model->object[left]) ==
            hash_at(o, RIGHT, r->model->object[right]))
            return 0;
        return add_other(o->d, DIFF_VALUE, left, right);
    }
    if (!a || !b || told_class(l, left).len == 0 || told_class(r, right).len == 0)
        return 0;
    if (!same_class(told_class(l, left), told_class(r, right)))
        return add_other(o->d, DIFF_CLASS, left, right);
    if (hash_at(o, LEFT, a->args) != hash_at(o, RIGHT, b->args) &&
        add_other(o->d, DIFF_ARGS, left, right) < 0)
        return -1;
    return compare_code(o, left, right);
}

/* Is a place that exists on one side only a difference by itself? Not if it holds
 * tensors (those are pairs) or if its parent is missing too. Modules without tensors
 * count only if both files record modules. */
static bool worth_telling(const struct others *o, int s, uint32_t place)
{
    const struct side *side = &o->d->side[s], *other = &o->d->side[!s];
    uint32_t parent = side->model->parent[place];
    uint32_t spot = side->spot[parent], across = o->d->spots[spot].place[!s];

    if (side->tensors[place] > 0 || side->model->kind[place] == PLACE_TENSOR ||
        (place == side->constants && place != 0))
        return false;
    /* A state_dict does not hold a bias that is None. */
    if (side->saved_only && side->model->flags[place] & (PLACE_EMPTY | PLACE_ATTRIBUTE))
        return false;
    if (spot == SPOT_OUTSIDE)
        across = 0; /* beside a state_dict, which the other model is */
    if (across == NO_PLACE)
        return false;
    if (side->model->kind[place] != PLACE_MODULE)
        return true;
    return side->model->kind[parent] == other->model->kind[across] &&
           told_class(side, parent).len > 0 && told_class(other, across).len > 0;
}

static int compare_side_places(const struct others *o, int s)
{
    const struct side *side = &o->d->side[s];
    uint32_t p;

    for (p = 0; p < side->model->n_places; p++) {
        uint32_t across = o->d->spots[side->spot[p]].place[!s];

        if (across != NO_PLACE && s == LEFT && compare_places(o, p, across) < 0)
            return -1;
        if (across != NO_PLACE || p == 0 || p == side->base || !worth_telling(o, s, p))
            continue;
        if (add_other(o->d,
                      side->model->kind[p] == PLACE_MODULE ? DIFF_CLASS : DIFF_VALUE,
                      s == LEFT ? p : NO_PLACE, s == RIGHT ? p : NO_PLACE) < 0)
            return -1;
    }
    return 0;
}

/* Compare metadata by key. */
static int compare_metadata(const struct others *o)
{
    const struct model *left = o->d->diff->left, *right = o->d->diff->right;
    uint8_t *met = arena_array(&o->d->scratch, (size_t)right->n_metadata + 1, 1);
    struct map keys;
    uint32_t i, j;

    map_init(&keys, &o->d->scratch);
    if (!met)
        return -1;
    for (j = 0; j < right->n_metadata; j++)
        if (map_put(&keys, str_hash(model_string(right, right->metadata[j].key)), j) <
            0)
            return -1;
    for (i = 0; i < left->n_metadata; i++) {
        if (!map_find(&keys, str_hash(model_string(left, left->metadata[i].key)), &j))
            j = DIFF_NONE;
        else
            met[j] = 1;
        if (j != DIFF_NONE && hash_at(o, LEFT, left->metadata[i].value) ==
                                  hash_at(o, RIGHT, right->metadata[j].value))
            continue;
        if (add_other(o->d, DIFF_METADATA, i, j) < 0)
            return -1;
    }
    for (j = 0; j < right->n_metadata; j++)
        if (!met[j] && add_other(o->d, DIFF_METADATA, DIFF_NONE, j) < 0)
            return -1;
    return 0;
}

static bool same_format(const struct diff *diff)
{
    const char *left = diff->left->format, *right = diff->right->format;

    return !diff->gguf && (!left || !right || strcmp(left, right) == 0);
}

/* The node of each place, or of the nearest place above that has one. */
static uint32_t *nodes_of(struct diffing *d, int s)
{
    const struct diff *diff = d->diff;
    uint32_t *nodes =
        arena_array(&d->scratch, d->side[s].model->n_places, sizeof *nodes);

    for (uint32_t i = 0; nodes && i < diff->n_nodes; i++) {
        uint32_t place = s == LEFT ? diff->nodes[i].left : diff->nodes[i].right;

        if (place != NO_PLACE)
            nodes[place] = i;
    }
    for (uint32_t p = 1; nodes && p < d->side[s].model->n_places; p++)
        if (nodes[p] == 0)
            nodes[p] = nodes[d->side[s].model->parent[p]];
    return nodes;
}

/* Count each difference at its node and at all nodes above. */
static int count_others(struct diffing *d)
{
    struct diff *diff = d->diff;
    uint32_t *left = nodes_of(d, LEFT), *right = nodes_of(d, RIGHT);

    if (!left || !right)
        return -1;
    for (uint32_t i = 0; i < diff->n_others; i++) {
        const struct diff_other *other = &diff->others[i];
        uint32_t node = other->kind == DIFF_METADATA ? 0
                        : other->right != NO_PLACE   ? right[other->right]
                                                     : left[other->left];

        for (; node != DIFF_NONE; node = diff->nodes[node].parent)
            diff->nodes[node].sums.others[other->kind]++;
    }
    diff->total = diff->nodes[0].sums;
    return 0;
}

int diffing_make_others(struct diffing *d)
{
    struct others o = {.d = d};

    o.hashes[LEFT] = hash_values(d, LEFT);
    o.hashes[RIGHT] = hash_values(d, RIGHT);
    if (!o.hashes[LEFT] || !o.hashes[RIGHT])
        return -1;
    o.codes = codes_make(d);
    if (!o.codes || compare_side_places(&o, LEFT) < 0 ||
        compare_side_places(&o, RIGHT) < 0)
        return -1;
    /* Each format says other things there. */
    if (same_format(d->diff) && compare_metadata(&o) < 0)
        return -1;
    return count_others(d);
}
