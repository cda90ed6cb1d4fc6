#include "measure/compare_in.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/decode_in.h"

/* Bytes of each side that are read at once: both fit in the second-level cache. */
#define BLOCK_MOST ((size_t)128 * 1024)

enum compare_way {
    BY_REALS,   /* as doubles, which are exact */
    BY_WIDE,    /* 64-bit integers: as doubles plus a remainder */
    BY_COMPLEX, /* as pairs of doubles; real numbers get 0 as imaginary part */
    BY_BYTES,   /* not numbers: equal bytes or not */
};

/* The iteration over one side. */
struct compare_reading {
    struct compare_input *input;
    struct elements *elements;
    const void *at; /* current block */
    size_t next, n; /* index of its next element; elements in it */
};

struct comparing {
    struct compare_reading left, right;
    struct tolerance tolerance;
    struct work *work;
    enum compare_way way;
    bool retyped;     /* the dtypes differ */
    bool until_other; /* stop at the first difference */
    uint64_t times;   /* weight of each pair: both sides are expanded equally */
    uint64_t done;    /* elements so far */
    uint64_t equal;   /* leading elements skipped because their bytes are equal */
    struct compared all;
    struct compare_chunk chunk;
};

static enum dtype dtype_of(const struct compare_reading *reading)
{
    return elements_dtype((enum dtype)reading->input->side.tensor->dtype);
}

/* ---- opening ---- */

static bool is_wide(enum dtype dtype)
{
    return dtype == DTYPE_INT64 || dtype == DTYPE_UINT64;
}

static int choose_way(struct comparing *c, struct err *err)
{
    enum dtype left = dtype_of(&c->left), right = dtype_of(&c->right);

    c->retyped =
        c->left.input->side.tensor->dtype != c->right.input->side.tensor->dtype;
    if (left == right && !decode_has_values(left))
        c->way = BY_BYTES;
    else if (!decode_has_values(left) || !decode_has_values(right))
        return err_set(err, ERR_UNSUPPORTED, "%s holds no numbers",
                       dtype_name(decode_has_values(left) ? right : left));
    else if (dtype_info(left)->values != dtype_info(right)->values)
        return err_set(err, ERR_UNSUPPORTED,
                       "elements of %s and %s hold a different count of numbers",
                       dtype_name(left), dtype_name(right));
    else if (dtype_info(left)->kind == DTYPE_KIND_COMPLEX ||
             dtype_info(right)->kind == DTYPE_KIND_COMPLEX)
        c->way = BY_COMPLEX;
    else
        c->way = is_wide(left) || is_wide(right) ? BY_WIDE : BY_REALS;
    return 0;
}

/* Quantised integers need a scale, unless both sides have the same dtype and none. */
static int check_scales(const struct comparing *c, struct err *err)
{
    const struct compare_reading *sides[] = {&c->left, &c->right};

    for (int i = 0; i < 2; i++)
        if (dtype_info(dtype_of(sides[i]))->quantised &&
            !sides[i]->input->quantiser.scaled &&
            (c->retyped || sides[1 - i]->input->quantiser.scaled))
            return err_set(err, ERR_UNSUPPORTED,
                           "the scale of one quantised side is unknown");
    return 0;
}

/* An expanded tensor can claim any number of elements in a few bytes. */
static int check_size(struct compare_side left, struct compare_side right,
                      struct err *err)
{
    uint64_t numel = left.tensor->numel, bytes = 0;
    const struct compare_side sides[] = {left, right};

    for (int i = 0; i < 2; i++)
        if (sides[i].tensor->storage < sides[i].model->n_storages)
            bytes += storage_have(sides[i].model,
                                  &sides[i].model->storages[sides[i].tensor->storage]);
    if (numel > 1u << 30 && numel / 64 > bytes)
        return err_set(err, ERR_LIMIT, "too many elements: %llu in %llu bytes",
                       (unsigned long long)numel, (unsigned long long)bytes);
    return 0;
}

static int open_one(struct compare_reading *reading, uint64_t *ret_times,
                    struct err *err)
{
    struct compare_side side = reading->input->side;

    elements_close(reading->elements);
    reading->elements =
        ret_times ? elements_open_distinct(side.model, side.tensor, ret_times, err)
                  : elements_open(side.model, side.tensor, 0, UINT64_MAX, false, err);
    if (!reading->elements)
        return -1;
    reading->elements->block_most = BLOCK_MOST;
    return 0;
}

/* Do both visit the same indices in the same order? */
static bool walk_alike(const struct elements *a, const struct elements *b)
{
    if (a->rank != b->rank || a->end != b->end)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i].size != b->dims[i].size || a->dims[i].index != b->dims[i].index)
            return false;
    return true;
}

/* In memory order if both sides have the same, with each element of expanded tensors
 * once; else in C order. */
static int open_both(struct comparing *c, struct err *err)
{
    struct compare_side left = c->left.input->side, right = c->right.input->side;
    uint64_t right_times;

    if (left.tensor->numel != right.tensor->numel)
        return err_set(err, ERR_UNSUPPORTED, "one has %llu elements, the other %llu",
                       (unsigned long long)left.tensor->numel,
                       (unsigned long long)right.tensor->numel);
    if (choose_way(c, err) < 0 || check_scales(c, err) < 0)
        return -1;
    if (open_one(&c->left, &c->times, err) < 0 ||
        open_one(&c->right, &right_times, err) < 0)
        return -1;
    /* The channel of an element follows from its index in C order. */
    if (walk_alike(c->left.elements, c->right.elements) && c->times == right_times &&
        !c->left.input->quantiser.scales && !c->right.input->quantiser.scales)
        return 0;
    c->times = 1;
    if (check_size(left, right, err) < 0)
        return -1;
    return open_one(&c->left, NULL, err) < 0 ? -1 : open_one(&c->right, NULL, err);
}

/* ---- walking ---- */

static int fill(struct compare_reading *reading, struct work *work, struct err *err)
{
    if (reading->next < reading->n)
        return 1;
    reading->next = 0;
    reading->n = 0;
    return elements_next(reading->elements, work, &reading->at, &reading->n, err);
}

/* The number of elements that both sides have loaded; returns 1, 0 at the end, -1 on
 * failure. */
static int fill_both(struct comparing *c, size_t *ret_n, struct err *err)
{
    size_t left, right;
    int more = fill(&c->left, c->work, err);

    if (more <= 0)
        return more;
    more = fill(&c->right, c->work, err);
    if (more <= 0)
        return more;
    left = c->left.n - c->left.next;
    right = c->right.n - c->right.next;
    *ret_n = left < right ? left : right;
    return 1;
}

static void go_on(struct comparing *c, size_t n)
{
    c->left.next += n;
    c->right.next += n;
    c->done += n;
}

/* The bytes of the next element, or NULL if it does not begin at a byte. */
static const uint8_t *bytes_at(const struct compare_reading *reading)
{
    const struct dtype_info *info = dtype_info(dtype_of(reading));

    if (reading->next % info->block != 0)
        return NULL;
    return (const uint8_t *)reading->at + reading->next / info->block * info->bytes;
}

/* Skip equal bytes; returns 0 at the end, 1 at a difference, -1 on failure. */
static int skip_equal(struct comparing *c, struct err *err)
{
    size_t n;
    int more;

    for (;;) {
        const uint8_t *left, *right;

        more = fill_both(c, &n, err);
        if (more <= 0)
            return more;
        left = bytes_at(&c->left);
        right = bytes_at(&c->right);
        if (!left || !right ||
            memcmp(left, right, elements_size(dtype_of(&c->left), n)) != 0)
            return 1;
        go_on(c, n);
        c->equal = c->done;
    }
}

/* ---- numbers ---- */

/* The next n 64-bit integers minus their doubles. */
static void decode_rest(const struct compare_reading *reading, const double *values,
                        size_t n, double *rest)
{
    enum dtype dtype = dtype_of(reading);
    const uint8_t *at = reading->at;

    memset(rest, 0, n * sizeof *rest);
    if (!is_wide(dtype))
        return;
    for (size_t i = 0; i < n; i++) {
        __int128 exact;
        int64_t word;

        memcpy(&word, at + (reading->next + i) * 8, sizeof word);
        exact = dtype == DTYPE_INT64 ? (__int128)word : (__int128)(uint64_t)word;
        rest[i] = (double)(exact - (__int128)values[i]);
    }
}

static void edit_values(uint8_t edit, size_t n, double *values)
{
    for (size_t i = 0; edit == EDIT_PLUS_ONE && i < n; i++)
        values[i] = (float)(values[i] + 1);
    for (size_t i = 0; edit == EDIT_EXPONENT && i < n; i++)
        values[i] = (float)-exp(values[i]);
}

/* Libraries round exp() differently: ignore the last bits of a float32. */
static void ignore_rounding(const struct comparing *c, struct compare_chunk *chunk)
{
    bool left = c->left.input->edit == EDIT_EXPONENT;
    double *edited = left ? chunk->left : chunk->right;
    const double *other = left ? chunk->right : chunk->left;

    if (!left && c->right.input->edit != EDIT_EXPONENT)
        return;
    for (size_t i = 0; i < chunk->n; i++)
        if (fabs(edited[i] - other[i]) <= 0x1p-22 * fabs(other[i]))
            edited[i] = other[i];
}

/* Decode the next n elements. */
static void decode_side(const struct comparing *c,
                        const struct compare_reading *reading, size_t n, double *to)
{
    enum dtype dtype = dtype_of(reading);

    compare_decode(dtype, reading->at, reading->next, n, to);
    quantiser_apply(&reading->input->quantiser, c->done, n, to);
    edit_values(reading->input->edit, n, to);
    if (c->way != BY_COMPLEX || dtype_info(dtype)->kind == DTYPE_KIND_COMPLEX)
        return;
    for (size_t i = n; i-- > 0;) {
        to[2 * i] = to[i];
        to[2 * i + 1] = 0;
    }
}

/* The least index in C order at which the chunk has this distance. */
static uint64_t index_of(const struct comparing *c, double distance, unsigned per)
{
    const struct elements *e = c->left.elements;
    uint64_t least = UINT64_MAX;

    for (size_t i = 0; i < c->chunk.n; i++) {
        uint64_t index;

        if (c->chunk.distance[i] != distance)
            continue;
        index = elements_index(e, c->done + i / per);
        if (e->in_order)
            return index;
        least = index < least ? index : least;
    }
    return least;
}

static void add_sums(struct compared *all, const struct compared *part)
{
    all->left_squares += part->left_squares;
    all->right_squares += part->right_squares;
    all->left_sum += part->left_sum;
    all->right_sum += part->right_sum;
    all->finite += part->finite;
}

static void add_part(struct comparing *c, const struct compared *part, unsigned per)
{
    struct compared *all = &c->all;
    uint64_t index;

    all->different += part->different;
    all->beyond += part->beyond;
    all->one_sided += part->one_sided;
    all->squares += part->squares;
    add_sums(all, part);
    /* Not in C order: an equal distance may have a lower index. */
    if (part->max_abs == 0 || part->max_abs < all->max_abs ||
        (part->max_abs == all->max_abs && c->left.elements->in_order))
        return;
    index = index_of(c, part->max_abs, per);
    if (part->max_abs > all->max_abs || index < all->max_at)
        all->max_at = index;
    all->max_abs = part->max_abs;
}

static void add_chunk(struct comparing *c, size_t n)
{
    enum dtype left = dtype_of(&c->left), right = dtype_of(&c->right);
    unsigned per = dtype_info(left)->values;
    struct compare_chunk *chunk = &c->chunk;
    size_t doubles = c->way == BY_COMPLEX ? 2 * n : n * per;
    struct compared part;

    chunk->n = n * per;
    decode_side(c, &c->left, n, chunk->left);
    decode_side(c, &c->right, n, chunk->right);
    ignore_rounding(c, chunk);
    if (c->way == BY_WIDE) {
        decode_rest(&c->left, chunk->left, n, chunk->left_rest);
        decode_rest(&c->right, chunk->right, n, chunk->right_rest);
        compare_wide(chunk, c->tolerance, &part);
    } else if (c->way == BY_COMPLEX) {
        compare_complex(chunk, c->tolerance, &part);
    } else {
        compare_reals(chunk, c->tolerance, &part);
    }
    if (c->all.rounding && part.different > 0)
        c->all.rounding =
            compare_rounded(left, right, chunk->left, chunk->right, doubles);
    add_part(c, &part, per);
}

static int compare_values(struct comparing *c, struct err *err)
{
    size_t n;
    int more;

    if (c->way == BY_BYTES)
        return err_set(err, ERR_UNSUPPORTED,
                       "the bytes differ, and %s holds no numbers",
                       dtype_name(dtype_of(&c->left)));
    for (;;) {
        more = fill_both(c, &n, err);
        if (more <= 0)
            return more;
        if (n > COMPARE_CHUNK)
            n = COMPARE_CHUNK;
        add_chunk(c, n);
        go_on(c, n);
        if (c->until_other && c->all.different > 0)
            return 0;
    }
}

/* Add the sums of the skipped elements, which are needed only if something differs.
 * Reads them again, not counted as work. */
static int add_equal_squares(struct comparing *c, struct err *err)
{
    struct compare_reading *left = &c->left;
    uint64_t times;
    bool distinct = c->times > 1 || !left->elements->in_order;

    c->done = 0;
    left->next = left->n = 0;
    if (open_one(left, distinct ? &times : NULL, err) < 0)
        return -1;
    while (c->done < c->equal) {
        struct compared part;
        size_t n;

        if (work_cancelled(c->work))
            return err_set(err, ERR_CANCELLED, "stopped");
        if (fill(left, NULL, err) <= 0)
            return -1;
        n = left->n - left->next;
        if (n > COMPARE_CHUNK)
            n = COMPARE_CHUNK;
        if (n > c->equal - c->done)
            n = (size_t)(c->equal - c->done);
        decode_side(c, left, n, c->chunk.left);
        c->chunk.n = n * dtype_info(dtype_of(left))->values;
        memcpy(c->chunk.right, c->chunk.left, sizeof c->chunk.right);
        if (c->way == BY_COMPLEX)
            compare_complex(&c->chunk, c->tolerance, &part);
        else
            compare_reals(&c->chunk, c->tolerance, &part);
        add_sums(&c->all, &part);
        left->next += n;
        c->done += n;
    }
    return 0;
}

/* ---- results ---- */

/* Squares about the mean, from those about 0: a b = (a^2 + b^2 - (a - b)^2) / 2. */
static void find_spreads(struct compared *all)
{
    double n = (double)all->finite;
    double product = (all->left_squares + all->right_squares - all->squares) / 2;

    if (all->finite == 0)
        return;
    all->left_spread = all->left_squares - all->left_sum * all->left_sum / n;
    all->right_spread = all->right_squares - all->right_sum * all->right_sum / n;
    all->joint_spread = product - all->left_sum * all->right_sum / n;
    /* The rounding error of a constant is not a spread. */
    if (!(all->left_spread > 1e-12 * all->left_squares) ||
        !(all->right_spread > 1e-12 * all->right_squares))
        all->left_spread = all->right_spread = all->joint_spread = 0;
}

/* Each pair counts `times` times. */
static void finish(struct comparing *c)
{
    struct compared *all = &c->all;
    const struct tensor *tensor = c->left.input->side.tensor;

    all->count = tensor->numel * dtype_info(dtype_of(&c->left))->values;
    all->different *= c->times;
    all->beyond *= c->times;
    all->one_sided *= c->times;
    all->squares *= (double)c->times;
    all->left_squares *= (double)c->times;
    all->right_squares *= (double)c->times;
    all->left_sum *= (double)c->times;
    all->right_sum *= (double)c->times;
    all->finite *= c->times;
    if (all->different > 0) {
        find_spreads(all);
        return;
    }
    all->finite = 0;
    all->left_squares = all->right_squares = all->left_sum = all->right_sum = 0;
}

static int compare(struct comparing *c, struct err *err)
{
    int more = 1;

    if (open_both(c, err) < 0)
        return -1;
    c->all.rounding = c->retyped;
    if (!c->retyped && !c->left.input->edit && !c->right.input->edit &&
        quantiser_equal(&c->left.input->quantiser, &c->right.input->quantiser))
        more = skip_equal(c, err);
    if (more > 0)
        more = compare_values(c, err);
    if (more < 0)
        return -1;
    if (c->all.different > 0 && c->equal > 0 && !c->until_other &&
        add_equal_squares(c, err) < 0)
        return -1;
    finish(c);
    return 0;
}

static int compare_inputs(struct compare_input *left, struct compare_input *right,
                          struct tolerance tolerance, bool until_other,
                          struct work *work, struct compared *ret_compared,
                          struct err *err)
{
    struct comparing *c = aligned_alloc(64, (sizeof *c + 63) / 64 * 64);
    int status;

    if (!c)
        return err_set(err, ERR_LIMIT, "no memory to compare two tensors");
    memset(c, 0, offsetof(struct comparing, chunk));
    c->left.input = left;
    c->right.input = right;
    c->tolerance = tolerance;
    c->until_other = until_other;
    c->work = work;
    status = compare(c, err);
    if (status == 0)
        *ret_compared = c->all;
    elements_close(c->left.elements);
    elements_close(c->right.elements);
    free(c);
    return status;
}

static int open_inputs(struct compare_input *left, struct compare_input *right,
                       struct err *err)
{
    if (quantiser_open(&left->quantiser, left->side, err) < 0)
        return -1;
    if (quantiser_open(&right->quantiser, right->side, err) == 0)
        return 0;
    quantiser_close(&left->quantiser);
    return -1;
}

int compare_edited(struct compare_side left, struct compare_side right,
                   struct compare_edit edit, struct tolerance tolerance,
                   struct work *work, struct compared *ret_compared, struct err *err)
{
    struct compare_input a = {.side = left}, b = {.side = right};
    struct compare_input *changed = edit.right ? &b : &a;
    struct compare_view view;
    int status;

    if (edit.kind != EDIT_NONE &&
        (!tensor_readable(changed->side.model, changed->side.tensor, NULL) ||
         !compare_editable(changed->side, edit)))
        return err_set(err, ERR_UNSUPPORTED, "the shape does not allow the conversion");
    if (open_inputs(&a, &b, err) < 0)
        return -1;
    /* The channels of a permuted or stacked tensor are not those of its quantiser. */
    if ((edit.kind == EDIT_PERMUTED || edit.kind == EDIT_GROUPED ||
         edit.kind == EDIT_SLICE) &&
        changed->quantiser.scales) {
        status =
            err_set(err, ERR_UNSUPPORTED, "scales per channel cannot be reordered");
    } else {
        compare_edit(changed, &view, edit);
        status = compare_inputs(&a, &b, tolerance, false, work, ret_compared, err);
    }
    quantiser_close(&a.quantiser);
    quantiser_close(&b.quantiser);
    return status;
}

int compare_tensors(struct compare_side left, struct compare_side right,
                    struct tolerance tolerance, struct work *work,
                    struct compared *ret_compared, struct err *err)
{
    struct compare_edit none = {EDIT_NONE, false, 0};

    return compare_edited(left, right, none, tolerance, work, ret_compared, err);
}

/* Does the slice exist, with the same size in all other dimensions? */
static bool is_part(struct compare_side whole, uint32_t dim, uint64_t from,
                    struct compare_side part)
{
    const int64_t *sizes = tensor_shape(whole.model, whole.tensor);
    const int64_t *part_sizes = tensor_shape(part.model, part.tensor);

    if (part.tensor->rank != whole.tensor->rank || dim >= whole.tensor->rank)
        return false;
    for (uint32_t i = 0; i < whole.tensor->rank; i++)
        if (i != dim && sizes[i] != part_sizes[i])
            return false;
    return from <= (uint64_t)sizes[dim] &&
           (uint64_t)part_sizes[dim] <= (uint64_t)sizes[dim] - from;
}

int compare_part(struct compare_side whole, uint32_t dim, uint64_t from,
                 struct compare_side part, struct work *work,
                 struct compared *ret_compared, struct err *err)
{
    struct compare_input a = {.side = whole}, b = {.side = part};
    struct tolerance exact = {0, 0};
    struct compare_view view;
    int status;

    if (!tensor_readable(whole.model, whole.tensor, NULL) ||
        !is_part(whole, dim, from, part))
        return err_set(err, ERR_UNSUPPORTED, "the shape is not that of a part");
    if (open_inputs(&a, &b, err) < 0)
        return -1;
    compare_narrow(&a, &view, dim, from,
                   (uint64_t)tensor_shape(part.model, part.tensor)[dim]);
    status = compare_inputs(&a, &b, exact, false, work, ret_compared, err);
    quantiser_close(&a.quantiser);
    quantiser_close(&b.quantiser);
    return status;
}

int compare_transposed(struct compare_side left, struct compare_side right,
                       struct work *work, struct err *err)
{
    struct compare_input a = {.side = left}, b = {.side = right};
    const int64_t *sizes = tensor_shape(left.model, left.tensor);
    const int64_t *right_sizes = tensor_shape(right.model, right.tensor);
    struct tolerance exact = {0, 0};
    struct compare_view view;
    struct compared compared;
    int status;

    if (left.tensor->rank != 2 || right.tensor->rank != 2 ||
        sizes[0] != right_sizes[1] || sizes[1] != right_sizes[0])
        return 0;
    if (!tensor_readable(left.model, left.tensor, NULL))
        return err_set(err, ERR_UNSUPPORTED, "the values cannot be read");
    if (open_inputs(&a, &b, err) < 0)
        return -1;
    compare_swap(&a, &view);
    status = compare_inputs(&a, &b, exact, true, work, &compared, err);
    quantiser_close(&a.quantiser);
    quantiser_close(&b.quantiser);
    return status < 0 ? -1 : compared.different == 0;
}

double compared_relative(const struct compared *compared)
{
    double relative;

    if (compared->squares == 0)
        return 0;
    if (compared->left_squares == 0)
        return INFINITY;
    relative = sqrt(compared->squares) / sqrt(compared->left_squares);
    return isnan(relative) ? INFINITY : relative;
}

double compared_correlation(const struct compared *compared)
{
    double both = sqrt(compared->left_spread) * sqrt(compared->right_spread);

    return both > 0 && isfinite(both) ? compared->joint_spread / both : NAN;
}

bool compared_unrelated(const struct compared *compared)
{
    double correlation = compared_correlation(compared);
    double least = 3 / sqrt((double)compared->finite);

    least = fmax(0.1, fmin(least, 0.75));
    return !isnan(correlation) && correlation < least;
}

void compared_merge(struct compared *into, const struct compared *more)
{
    if (into->count == 0)
        into->rounding = more->rounding;
    else if (more->count > 0)
        into->rounding = into->rounding && more->rounding;
    into->count += more->count;
    into->different += more->different;
    into->beyond += more->beyond;
    into->one_sided += more->one_sided;
    into->squares += more->squares;
    add_sums(into, more);
    into->left_spread += more->left_spread;
    into->right_spread += more->right_spread;
    into->joint_spread += more->joint_spread;
    if (more->max_abs > into->max_abs) {
        into->max_abs = more->max_abs;
        into->max_at = more->max_at;
    }
}
