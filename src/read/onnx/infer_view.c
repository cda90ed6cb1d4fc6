/* Rules of operations that move elements: reshaping, slicing, joining, gathering. */
#include <string.h>

#include "base/base.h"
#include "read/onnx/infer_in.h"

/* The product of sizes; ONNX_ANY if one is unknown. */
static int64_t volume(const int64_t *dims, int32_t begin, int32_t end)
{
    int64_t product = 1;

    for (int32_t i = begin; i < end; i++) {
        if (dims[i] == 0)
            return 0;
        product = infer_times(product, dims[i]);
    }
    return product;
}

/* ---- reshaping ---- */

/* A size of -1 is computed from the others; 0 copies a size of the input. */
void infer_reshape(struct infer *f)
{
    const struct onnx_known *in = infer_input(f, 0), *shape = infer_input(f, 1);
    bool zero = infer_int(f, "allowzero", 0) != 0;
    int64_t dims[INFER_NUMBERS], wanted[INFER_NUMBERS], others = 1, all;
    int32_t rest = -1;
    uint32_t n = shape->n_numbers;

    infer_dtype(f, 0, in->dtype);
    if (infer_ints(f, "shape", wanted, &n))
        shape = NULL;
    else if (shape->numbers)
        memcpy(wanted, shape->numbers, n * sizeof *wanted);
    else {
        if (shape->rank == 1 && shape->dims[0] >= 0 && shape->dims[0] <= ONNX_RANK) {
            for (n = 0; n < (uint32_t)shape->dims[0]; n++)
                dims[n] = ONNX_ANY;
            infer_set(f, 0, in->dtype, dims, (int32_t)n);
        }
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (wanted[i] == 0 && !zero)
            dims[i] = (int32_t)i < in->rank ? in->dims[i] : ONNX_ANY;
        else
            dims[i] = wanted[i] >= 0 ? wanted[i] : ONNX_ANY;
        if (wanted[i] == -1 && rest < 0)
            rest = (int32_t)i;
        else
            others = infer_times(others, dims[i]);
    }
    all = in->rank < 0 ? ONNX_ANY : volume(in->dims, 0, in->rank);
    if (rest >= 0 && others > 0 && all >= 0)
        dims[rest] = all / others;
    infer_set(f, 0, in->dtype, dims, (int32_t)n);
}

void infer_flatten(struct infer *f)
{
    const struct onnx_known *in = infer_input(f, 0);
    int64_t axis = infer_int(f, "axis", 1), dims[2];

    infer_dtype(f, 0, in->dtype);
    if (in->rank < 0 || axis < -in->rank || axis > in->rank)
        return;
    axis += axis < 0 ? in->rank : 0;
    dims[0] = volume(in->dims, 0, (int32_t)axis);
    dims[1] = volume(in->dims, (int32_t)axis, in->rank);
    infer_set(f, 0, in->dtype, dims, 2);
}

void infer_transpose(struct infer *f)
{
    const struct onnx_known *in = infer_input(f, 0);
    int64_t perm[INFER_NUMBERS], dims[ONNX_RANK];
    uint32_t n;

    infer_dtype(f, 0, in->dtype);
    if (in->rank < 0)
        return;
    if (!infer_ints(f, "perm", perm, &n)) {
        n = (uint32_t)in->rank;
        for (uint32_t i = 0; i < n; i++)
            perm[i] = n - 1 - i;
    }
    if (n != (uint32_t)in->rank)
        return;
    for (uint32_t i = 0; i < n; i++) {
        if (perm[i] < 0 || perm[i] >= in->rank)
            return;
        dims[i] = in->dims[perm[i]];
    }
    infer_set(f, 0, in->dtype, dims, in->rank);
}

void infer_squeeze(struct infer *f)
{
    const struct onnx_known *in = infer_input(f, 0);
    int64_t axes[INFER_NUMBERS], dims[ONNX_RANK];
    bool gone[ONNX_RANK] = {false}, given;
    int32_t axis, rank = 0;
    uint32_t n;

    infer_dtype(f, 0, in->dtype);
    if (in->rank < 0)
        return;
    if (!infer_numbers(f, "axes", 1, axes, &n, &given) && given)
        return;
    for (uint32_t i = 0; i < n; i++) {
        if (!infer_axis(axes[i], in->rank, &axis))
            return;
        gone[axis] = true;
    }
    for (int32_t i = 0; i < in->rank; i++) {
        if (!given && in->dims[i] == ONNX_ANY)
            return; /* an unknown size may be 1, which is squeezed */
        if (given ? !gone[i] : in->dims[i] != 1)
            dims[rank++] = in->dims[i];
    }
    infer_set(f, 0, in->dtype, dims, rank);
}

void infer_unsqueeze(struct infer *f)
{
    const struct onnx_known *in = infer_input(f, 0);
    int64_t axes[INFER_NUMBERS], dims[2 * ONNX_RANK];
    bool fresh[2 * ONNX_RANK] = {false}, given;
    int32_t axis, rank, from = 0;
    uint32_t n;

    infer_dtype(f, 0, in->dtype);
    if (in->rank < 0 || !infer_numbers(f, "axes", 1, axes, &n, &given) || n > ONNX_RANK)
        return;
    rank = in->rank + (int32_t)n;
    for (uint32_t i = 0; i < n; i++) {
        if (!infer_axis(axes[i], rank, &axis) || fresh[axis])
            return;
        fresh[axis] = true;
    }
    for (int32_t i = 0; i < rank; i++)
        dims[i] = fresh[i] ? 1 : in->dims[from++];
    infer_set(f, 0, in->dtype, dims, rank);
}

void infer_expand(struct infer *f)
{
    const struct onnx_known *in = infer_input(f, 0), *shape = infer_input(f, 1);
    int64_t dims[INFER_NUMBERS + ONNX_RANK], sizes[INFER_NUMBERS];
    struct onnx_known other = {.rank = (int32_t)shape->n_numbers, .dims = sizes};
    int32_t rank;

    infer_dtype(f, 0, in->dtype);
    if (!shape->numbers || in->rank < 0)
        return;
    for (uint32_t i = 0; i < shape->n_numbers; i++)
        sizes[i] = shape->numbers[i] >= 0 ? shape->numbers[i] : ONNX_ANY;
    if (infer_broadcast(in, &other, dims, &rank))
        infer_set(f, 0, in->dtype, dims, rank);
}

void infer_tile(struct infer *f)
{
    const struct onnx_known *in = infer_input(f, 0), *times = infer_input(f, 1);
    int64_t dims[ONNX_RANK];

    infer_dtype(f, 0, in->dtype);
    if (in->rank < 0)
        return;
    for (int32_t i = 0; i < in->rank; i++)
        dims[i] = times->numbers && times->n_numbers == (uint32_t)in->rank
                      ? infer_times(in->dims[i], times->numbers[i])
                      : ONNX_ANY;
    infer_set(f, 0, in->dtype, dims, in->rank);
}

/* ---- concatenating and splitting ---- */

void infer_concat(struct infer *f)
{
    const struct onnx_known *first = infer_input(f, 0);
    int64_t dims[ONNX_RANK], sum = 0;
    int32_t axis;

    infer_dtype(f, 0, first->dtype);
    if (first->rank < 1 || !infer_axis(infer_int(f, "axis", 1), first->rank, &axis))
        return;
    memcpy(dims, first->dims, (size_t)first->rank * sizeof *dims);
    for (uint32_t k = 0; k < f->n_in; k++) {
        if (f->in[k].rank != first->rank)
            return;
        sum = infer_plus(sum, f->in[k].dims[axis]);
        for (int32_t i = 0; i < first->rank; i++)
            if (dims[i] == ONNX_ANY)
                dims[i] = f->in[k].dims[i];
    }
    dims[axis] = sum;
    infer_set(f, 0, first->dtype, dims, first->rank);
}

void infer_split(struct infer *f)
{
    const struct onnx_known *in = infer_input(f, 0);
    int64_t sizes[INFER_NUMBERS], dims[ONNX_RANK], whole, each;
    bool given, known;
    int32_t axis;
    uint32_t n;

    for (uint32_t i = 0; i < f->n_out; i++)
        infer_dtype(f, i, in->dtype);
    known = infer_numbers(f, "split", 1, sizes, &n, &given);
    if (in->rank < 1 || !infer_axis(infer_int(f, "axis", 0), in->rank, &axis))
        return;
    memcpy(dims, in->dims, (size_t)in->rank * sizeof *dims);
    whole = dims[axis];
    each = whole < 0 ? ONNX_ANY : (whole + f->n_out - 1) / (int64_t)f->n_out;
    for (uint32_t i = 0; i < f->n_out; i++) {
        if (given)
            dims[axis] = known && i < n && sizes[i] >= 0 ? sizes[i] : ONNX_ANY;
        else if (whole < 0)
            dims[axis] = ONNX_ANY;
        else
            dims[axis] = whole - each * i < each ? whole - each * i : each;
        infer_set(f, i, in->dtype, dims, in->rank);
    }
}

/* The number of elements in a slice of one axis, as in numpy. */
static int64_t slice_size(int64_t size, int64_t start, int64_t end, int64_t step)
{
    if (step == INT64_MIN)
        step++;
    if (start < 0)
        start += size;
    if (end < 0)
        end = end < -size ? -1 : end + size;
    if (step > 0) {
        start = start < 0 ? 0 : start > size ? size : start;
        end = end < 0 ? 0 : end > size ? size : end;
        return end > start ? (end - start - 1) / step + 1 : 0;
    }
    start = start < 0 ? -1 : start >= size ? size - 1 : start;
    end = end < -1 ? -1 : end > size - 1 ? size - 1 : end;
    return start > end ? (start - end - 1) / -step + 1 : 0;
}

void infer_slice(struct infer *f)
{
    const struct onnx_known *in = infer_input(f, 0);
    int64_t starts[INFER_NUMBERS], ends[INFER_NUMBERS], axes[INFER_NUMBERS];
    int64_t steps[INFER_NUMBERS], dims[ONNX_RANK];
    uint32_t n, n_ends, n_axes, n_steps;
    bool has_starts, has_axes, has_steps, known;

    infer_dtype(f, 0, in->dtype);
    if (in->rank < 0)
        return;
    known = infer_numbers(f, "starts", 1, starts, &n, &has_starts);
    known &= infer_numbers(f, "ends", 2, ends, &n_ends, &has_starts) && n_ends == n;
    if (!infer_numbers(f, "axes", 3, axes, &n_axes, &has_axes) && has_axes)
        n_axes = UINT32_MAX;
    if (!infer_numbers(f, "steps", 4, steps, &n_steps, &has_steps) && has_steps)
        known = false;
    memcpy(dims, in->dims, (size_t)in->rank * sizeof *dims);
    for (int32_t i = 0; has_axes && n_axes == UINT32_MAX && i < in->rank; i++)
        dims[i] = ONNX_ANY; /* any axis may be sliced */
    if (n_axes == UINT32_MAX || (!known && !has_axes)) {
        for (int32_t i = 0; i < in->rank; i++)
            dims[i] = ONNX_ANY;
        infer_set(f, 0, in->dtype, dims, in->rank);
        return;
    }
    n = has_axes ? n_axes : n;
    for (uint32_t i = 0; i < n; i++) {
        int64_t step = has_steps && known && i < n_steps ? steps[i] : 1;
        int32_t axis;

        if (!infer_axis(has_axes ? axes[i] : (int64_t)i, in->rank, &axis))
            return;
        dims[axis] = known && i < n_ends && dims[axis] >= 0 && step != 0
                         ? slice_size(dims[axis], starts[i], ends[i], step)
                         : ONNX_ANY;
    }
    infer_set(f, 0, in->dtype, dims, in->rank);
}

void infer_pad(struct infer *f)
{
    const struct onnx_known *in = infer_input(f, 0);
    int64_t pads[INFER_NUMBERS], dims[ONNX_RANK];
    uint32_t n, rank = in->rank < 0 ? 0 : (uint32_t)in->rank;
    bool given, known;

    infer_dtype(f, 0, in->dtype);
    if (in->rank < 0)
        return;
    known = infer_numbers(f, "pads", 1, pads, &n, &given);
    if (!given)
        known = infer_ints(f, "paddings", pads, &n);
    known &= n == 2 * rank && infer_input(f, 3)->rank < 0 &&
             infer_input(f, 3)->dtype == DTYPE_UNKNOWN;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t sum = ONNX_ANY;

        if (known && in->dims[i] >= 0 &&
            (__builtin_add_overflow(in->dims[i], pads[i], &sum) ||
             __builtin_add_overflow(sum, pads[rank + i], &sum) || sum < 0))
            sum = ONNX_ANY;
        dims[i] = sum;
    }
    infer_set(f, 0, in->dtype, dims, in->rank);
}

/* ---- gathering ---- */

/* The data's sizes before the axis, the sizes of the indices, the data's sizes after
 * it. */
void infer_gather(struct infer *f)
{
    const struct onnx_known *in = infer_input(f, 0), *at = infer_input(f, 1);
    int64_t dims[2 * ONNX_RANK];
    int32_t axis, rank = 0;

    infer_dtype(f, 0, in->dtype);
    if (in->rank < 1 || at->rank < 0 ||
        !infer_axis(infer_int(f, "axis", 0), in->rank, &axis))
        return;
    for (int32_t i = 0; i < axis; i++)
        dims[rank++] = in->dims[i];
    for (int32_t i = 0; i < at->rank; i++)
        dims[rank++] = at->dims[i];
    for (int32_t i = axis + 1; i < in->rank; i++)
        dims[rank++] = in->dims[i];
    infer_set(f, 0, in->dtype, dims, rank);
}

void infer_gather_nd(struct infer *f)
{
    const struct onnx_known *in = infer_input(f, 0), *at = infer_input(f, 1);
    int64_t dims[2 * ONNX_RANK], batch = infer_int(f, "batch_dims", 0), last;
    int32_t rank = 0;

    infer_dtype(f, 0, in->dtype);
    if (in->rank < 1 || at->rank < 1)
        return;
    last = at->dims[at->rank - 1];
    if (last < 0 || batch < 0 || batch > in->rank || last > in->rank - batch)
        return;
    for (int32_t i = 0; i + 1 < at->rank; i++)
        dims[rank++] = at->dims[i];
    for (int32_t i = (int32_t)(batch + last); i < in->rank; i++)
        dims[rank++] = in->dims[i];
    infer_set(f, 0, in->dtype, dims, rank);
}

void infer_gather_elements(struct infer *f)
{
    infer_same(f, 0, infer_input(f, 1), infer_input(f, 0)->dtype);
}

void infer_topk(struct infer *f)
{
    const struct onnx_known *in = infer_input(f, 0);
    int64_t k[INFER_NUMBERS], dims[ONNX_RANK];
    bool given;
    uint32_t n;
    int32_t axis;

    infer_dtype(f, 0, in->dtype);
    infer_dtype(f, 1, DTYPE_INT64);
    if (in->rank < 1 || !infer_axis(infer_int(f, "axis", -1), in->rank, &axis))
        return;
    memcpy(dims, in->dims, (size_t)in->rank * sizeof *dims);
    dims[axis] = infer_int(f, "k", ONNX_ANY);
    if (dims[axis] < 0)
        dims[axis] = infer_numbers(f, "k", 1, k, &n, &given) && n == 1 && k[0] >= 0
                         ? k[0]
                         : ONNX_ANY;
    infer_set(f, 0, in->dtype, dims, in->rank);
    infer_set(f, 1, DTYPE_INT64, dims, in->rank);
}

void infer_one_hot(struct infer *f)
{
    const struct onnx_known *in = infer_input(f, 0), *depth = infer_input(f, 1);
    uint8_t dtype = infer_input(f, 2)->dtype;
    int64_t dims[ONNX_RANK + 1];
    int32_t axis, from = 0;

    infer_dtype(f, 0, dtype);
    if (in->rank < 0 || in->rank >= ONNX_RANK ||
        !infer_axis(infer_int(f, "axis", -1), in->rank + 1, &axis))
        return;
    for (int32_t i = 0; i <= in->rank; i++)
        dims[i] = i != axis ? in->dims[from++]
                  : depth->numbers && depth->n_numbers == 1 && depth->numbers[0] >= 0
                      ? depth->numbers[0]
                      : ONNX_ANY;
    infer_set(f, 0, dtype, dims, in->rank + 1);
}

void infer_non_zero(struct infer *f)
{
    const struct onnx_known *in = infer_input(f, 0);
    int64_t dims[2] = {in->rank, ONNX_ANY};

    infer_dtype(f, 0, DTYPE_INT64);
    if (in->rank > 0)
        infer_set(f, 0, DTYPE_INT64, dims, 2);
}
