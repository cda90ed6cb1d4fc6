/* Compares the values of matched tensors: each pair of tensors once, however many places
 * they have, in file order. */
#include "study/diff/diff_in.h"

#include <stdlib.h>

static uint64_t tensors_key(const struct diffing *d, uint32_t left, uint32_t right)
{
    return (uint64_t)d->side[LEFT].model->object[left] << 32 |
           d->side[RIGHT].model->object[right];
}

const struct diff_known *diffing_known(const struct diffing *d, uint32_t left,
                                       uint32_t right)
{
    uint32_t index;

    if (!map_find(&d->by_tensors, tensors_key(d, left, right), &index))
        return NULL;
    return &d->known[index];
}

/* Of a stack, as much as the one tensor has. */
static void expect_bytes(struct diffing *d, uint32_t left, uint32_t right)
{
    const struct tensor *a = side_at(&d->side[LEFT], left);
    const struct tensor *b = side_at(&d->side[RIGHT], right);
    uint64_t of_a = 1, of_b = 1;

    if (a->numel > 0 && b->numel > 0) {
        of_a = a->numel > b->numel ? a->numel / b->numel : 1;
        of_b = b->numel > a->numel ? b->numel / a->numel : 1;
    }
    if (d->work)
        atomic_fetch_add(&d->work->total,
                         tensor_bytes(a) / of_a + tensor_bytes(b) / of_b);
}

static bool reversed(const struct side *left, const struct tensor *a,
                     const struct side *right, const struct tensor *b)
{
    const int64_t *x = tensor_shape(left->model, a), *y = tensor_shape(right->model, b);

    return a->rank == 2 && b->rank == 2 && x[0] == y[1] && x[1] == y[0] && x[0] != x[1];
}

/* False: stopped. */
static bool note_failure(struct diffing *d, const struct err *err,
                         struct diff_known *known)
{
    if (err->code == ERR_CANCELLED)
        return false;
    known->by = (struct compared){0};
    known->why = arena_printf(d->arena, "%s", err->text);
    if (!known->why)
        known->why = "unknown";
    return true;
}

/* Rounding leaves values correlated; another order of the rows does not. */
static bool far_apart(const struct compared *by)
{
    return compared_correlation(by) < 0.5;
}

/* Was it perhaps not converted, or is it as expected without that? */
static bool may_be_either(struct compare_side a, struct compare_side b,
                          struct compare_edit edit)
{
    return edit.kind == EDIT_PERMUTED || edit.kind == EDIT_GROUPED ||
           (edit.kind == EDIT_TRANSPOSED && a.tensor->rank == 2 &&
            b.tensor->rank == 2 &&
            tensor_shape(a.model, a.tensor)[0] == tensor_shape(a.model, a.tensor)[1]);
}

/* Fill in `known` for a tensor that is converted; if the result is far apart, perhaps
 * it was not, or the other way around. False: stopped. */
static bool compare_converted(struct diffing *d, uint32_t left, uint32_t right,
                              struct diff_known *known)
{
    const struct side *l = &d->side[LEFT], *r = &d->side[RIGHT];
    struct compare_side a = {l->model, side_at(l, left)};
    struct compare_side b = {r->model, side_at(r, right)};
    struct diff_conversion way = diffing_conversion(d, left, right);
    struct compare_edit edits[2] = {way.edit, {EDIT_NONE, false, 0}};
    bool either = may_be_either(a, b, way.edit);
    struct compared by;
    struct err err = {0};

    for (int i = 0; i < 1 + either; i++) {
        struct compare_edit edit = edits[i ^ !way.usual];

        if (i == 1 && !far_apart(&known->by))
            break;
        if (i == 1)
            expect_bytes(d, left, right);
        if (compare_edited(a, b, edit, d->wanted->tolerance, d->work, &by, &err) < 0)
            return note_failure(d, &err, known);
        if (i == 1 && far_apart(&by))
            break;
        known->by = by;
        known->edit = edit;
    }
    return true;
}

/* Fill in `known`. False: stopped. */
static bool compare_two(struct diffing *d, uint32_t left, uint32_t right,
                        struct diff_known *known)
{
    const struct side *l = &d->side[LEFT], *r = &d->side[RIGHT];
    struct compare_side a = {l->model, side_at(l, left)};
    struct compare_side b = {r->model, side_at(r, right)};
    struct err err = {0};
    const char *why;
    int turned = 0;

    if (!tensor_readable(a.model, a.tensor, &why) ||
        !tensor_readable(b.model, b.tensor, &why)) {
        known->why = why;
        return true;
    }
    known->why = diffing_conversion(d, left, right).obstacle;
    if (known->why)
        return true;
    if (diffing_conversion(d, left, right).edit.kind != EDIT_NONE)
        return compare_converted(d, left, right, known);
    if (d->flags[left] & DIFF_TRANSPOSED) {
        known->edit = (struct compare_edit){EDIT_TRANSPOSED, false, 0};
        known->transposed = true;
        return compare_edited(a, b, known->edit, d->wanted->tolerance, d->work,
                              &known->by, &err) == 0 ||
               note_failure(d, &err, known);
    }
    if (reversed(l, a.tensor, r, b.tensor))
        turned = compare_transposed(a, b, d->work, &err);
    known->transposed = turned > 0;
    if (turned >= 0 &&
        compare_tensors(a, b, d->wanted->tolerance, d->work, &known->by, &err) == 0)
        return true;
    return note_failure(d, &err, known);
}

const struct diff_known *diffing_know(struct diffing *d, uint32_t left, uint32_t right)
{
    const struct diff_known *old = diffing_known(d, left, right);
    struct diff_known known = {.tensor = {d->side[LEFT].model->object[left],
                                          d->side[RIGHT].model->object[right]}};

    if (old)
        return old;
    if (d->stopped || work_cancelled(d->work) || !compare_two(d, left, right, &known)) {
        d->stopped = true;
        return NULL;
    }
    if (arena_room(&d->scratch, &d->known, d->n_known, &d->known_room,
                   sizeof *d->known) < 0 ||
        map_put(&d->by_tensors, tensors_key(d, left, right), d->n_known) < 0)
        return NULL;
    d->known[d->n_known] = known;
    return &d->known[d->n_known++];
}

/* ---- many ---- */

struct position {
    uint32_t left, file;
    uint64_t at;
};

static struct position position_of(const struct side *side, uint32_t place)
{
    const struct tensor *tensor = side_at(side, place);
    struct position position = {.left = place};

    if (tensor->storage >= side->model->n_storages)
        return position;
    position.file = side->model->storages[tensor->storage].file;
    position.at = side->model->storages[tensor->storage].at + tensor->offset;
    return position;
}

static int by_position(const void *a, const void *b)
{
    const struct position *x = a, *y = b;

    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->left < y->left ? -1 : x->left > y->left;
}

/* Do these two have values to compare? */
static bool worth_reading(const struct diffing *d, uint32_t left, uint32_t right)
{
    const struct tensor *a = side_at(&d->side[LEFT], left);
    const struct tensor *b = side_at(&d->side[RIGHT], right);

    if ((a->flags | b->flags) & (TENSOR_SHAPE_ONLY | TENSOR_META | TENSOR_INVALID))
        return false;
    return a->numel == b->numel && a->numel > 0;
}

void diffing_expect(struct diffing *d, uint32_t left, uint32_t right)
{
    if (!diffing_known(d, left, right))
        expect_bytes(d, left, right);
}

/* The matched left places whose values are not compared yet; the first of tied ones.
 * Returns how many, or -1. */
static int64_t list_matches(struct diffing *d, struct position *order)
{
    const struct side *left = &d->side[LEFT];
    struct map listed;
    uint32_t p, n = 0, unused;

    map_init(&listed, &d->scratch);
    for (p = 0; p < left->model->n_places; p++) {
        uint32_t q = left->match[p];

        if (q == NO_PLACE || !worth_reading(d, p, q) || diffing_known(d, p, q) ||
            map_find(&listed, tensors_key(d, p, q), &unused))
            continue;
        if (map_put(&listed, tensors_key(d, p, q), p) < 0)
            return -1;
        diffing_expect(d, p, q);
        order[n++] = position_of(left, p);
    }
    return n;
}

int diffing_compare(struct diffing *d)
{
    const struct side *left = &d->side[LEFT];
    struct position *order;
    int64_t n, i;

    if (!d->wanted->values || d->stopped)
        return 0;
    order = arena_array(&d->scratch, left->model->n_places, sizeof *order);
    n = order ? list_matches(d, order) : -1;
    if (n < 0)
        return -1;
    qsort(order, (size_t)n, sizeof *order, by_position);
    for (i = 0; i < n && !d->stopped; i++)
        if (!diffing_know(d, order[i].left, left->match[order[i].left]) && !d->stopped)
            return -1;
    return 0;
}

/* ---- the state of a pair ---- */

static void judge_values(const struct diffing *d, const struct diff_known *known,
                         struct diff_pair *pair)
{
    if (!known || known->why) {
        if (pair->state == DIFF_SAME)
            pair->state = DIFF_UNREAD;
        if (known)
            pair->why = known->why;
        else if (d->wanted->values)
            pair->why = "stopped before reading it";
        return;
    }
    pair->by = known->by;
    pair->edit = known->edit;
    if (known->transposed)
        pair->flags |= DIFF_TRANSPOSED;
    if (pair->state == DIFF_SAME && known->by.different > 0)
        pair->state = known->by.beyond > 0 ? DIFF_CHANGED : DIFF_CLOSE;
}

static bool same_description(const struct tensor *a, const struct tensor *b)
{
    return a->dtype == b->dtype && a->layout == b->layout &&
           (a->flags & TENSOR_META) == (b->flags & TENSOR_META);
}

/* The values of packed weights are compared however they are packed. */
static bool same_type(const struct tensor *a, const struct tensor *b)
{
    return a->dtype == b->dtype &&
           (a->layout == b->layout || (a->flags | b->flags) & TENSOR_DERIVED);
}

/* Conversions after which the shape is another one. */
static bool reshapes(struct compare_edit edit)
{
    return edit.kind == EDIT_TRANSPOSED || edit.kind == EDIT_RESHAPED ||
           edit.kind == EDIT_EXPONENT;
}

static void judge(const struct diffing *d, struct diff_pair *pair)
{
    struct diff_conversion way = diffing_conversion(d, pair->left, pair->right);
    const struct side *left = &d->side[LEFT], *right = &d->side[RIGHT];
    const struct tensor *a = side_at(left, pair->left);
    const struct tensor *b = side_at(right, pair->right);
    const char *why = NULL;

    if (way.usual || !side_same_shape(left, a, right, b))
        pair->edit = way.edit;
    if (!side_same_shape(left, a, right, b) && !reshapes(pair->edit))
        pair->state = DIFF_RESHAPED;
    else if (!same_type(a, b))
        pair->state = DIFF_RETYPED;
    else
        pair->state = DIFF_SAME;
    if (worth_reading(d, pair->left, pair->right)) {
        judge_values(d, diffing_known(d, pair->left, pair->right), pair);
        return;
    }
    /* No values to compare: no elements, a meta tensor, or values in its parts. */
    if (pair->state != DIFF_SAME)
        return;
    if ((a->flags | b->flags) & TENSOR_INVALID)
        tensor_readable(a->flags & TENSOR_INVALID ? left->model : right->model,
                        a->flags & TENSOR_INVALID ? a : b, &why);
    else if (!same_description(a, b))
        tensor_readable(a->flags & TENSOR_META ? left->model : right->model,
                        a->flags & TENSOR_META ? a : b, &why);
    if (why) {
        pair->state = DIFF_UNREAD;
        pair->why = why;
    }
}

void diffing_judge(const struct diffing *d, struct diff_pair *pair)
{
    judge(d, pair);
    if (pair->edit.kind == EDIT_TRANSPOSED)
        pair->flags |= DIFF_TRANSPOSED;
}
