/* Rules of operations that slide a window over an image: convolutions and pooling. */
#include <string.h>

#include "base/base.h"
#include "read/onnx/infer_in.h"

/* The window in each of `n` spatial axes. */
struct infer_window {
    uint32_t n;
    int64_t kernel[ONNX_RANK], strides[ONNX_RANK], dilations[ONNX_RANK];
    int64_t pads[2 * ONNX_RANK]; /* all begins, then all ends */
    bool same, ceil;             /* same: padded so that the size is input / stride */
};

/* An attribute with an integer for each axis; false: it has another length. */
static bool per_axis(const struct infer *f, const char *name, int64_t preset,
                     uint32_t wanted, int64_t *to)
{
    int64_t numbers[INFER_NUMBERS];
    uint32_t n;

    for (uint32_t i = 0; i < wanted; i++)
        to[i] = preset;
    if (!infer_ints(f, name, numbers, &n) || n == 0)
        return true;
    if (n != wanted)
        return false;
    memcpy(to, numbers, n * sizeof *to);
    return true;
}

/* `kernel` is the shape of the weight after its first two sizes, or NULL. */
static bool read_window(const struct infer *f, struct infer_window *w, uint32_t n,
                        const int64_t *kernel)
{
    struct str pad;

    memset(w, 0, sizeof *w);
    w->n = n;
    if (n == 0 || n > 8 || !per_axis(f, "kernel_shape", ONNX_ANY, n, w->kernel) ||
        !per_axis(f, "strides", 1, n, w->strides) ||
        !per_axis(f, "dilations", 1, n, w->dilations) ||
        !per_axis(f, "pads", 0, 2 * n, w->pads))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (w->kernel[i] < 0 && kernel)
            w->kernel[i] = kernel[i];
        if (w->strides[i] < 1 || w->dilations[i] < 1 || w->kernel[i] == 0)
            return false;
    }
    if (infer_text(f, "auto_pad", &pad)) {
        w->same = str_starts(pad, STR("SAME"));
        if (str_is(pad, "VALID"))
            memset(w->pads, 0, sizeof w->pads);
    }
    w->ceil = infer_int(f, "ceil_mode", 0) != 0;
    return true;
}

/* The number of positions of the window along axis i. */
static int64_t steps(const struct infer_window *w, uint32_t i, int64_t size)
{
    int64_t extent, padded, n;

    if (size < 0)
        return ONNX_ANY;
    if (w->same)
        return (size + w->strides[i] - 1) / w->strides[i];
    if (w->kernel[i] < 0)
        return ONNX_ANY;
    extent = infer_plus(infer_times(w->kernel[i] - 1, w->dilations[i]), 1);
    if (extent < 0 || __builtin_add_overflow(size, w->pads[i], &padded) ||
        __builtin_add_overflow(padded, w->pads[w->n + i], &padded) || padded < extent)
        return ONNX_ANY;
    n = (padded - extent) / w->strides[i] + 1;
    /* Rounded up, the last window must begin inside the image or its left padding.
     * Where it would not, programs disagree. */
    if (w->ceil && (padded - extent) % w->strides[i] != 0)
        n = infer_times(n, w->strides[i]) < size + w->pads[i] ? n + 1 : ONNX_ANY;
    return n;
}

static void set_steps(struct infer *f, uint32_t out, uint8_t dtype,
                      const struct onnx_known *x, const struct infer_window *w,
                      int64_t channels)
{
    int64_t dims[ONNX_RANK] = {x->dims[0], channels};

    for (uint32_t i = 0; i < w->n; i++)
        dims[i + 2] = steps(w, i, x->dims[i + 2]);
    infer_set(f, out, dtype, dims, x->rank);
}

void infer_conv(struct infer *f)
{
    struct str name = onnx_text(f->m->p, f->node->op_type);
    bool linear = str_is(name, "QLinearConv");
    const struct onnx_known *x = infer_input(f, 0), *w = infer_input(f, linear ? 3 : 1);
    uint8_t dtype = linear                        ? infer_input(f, 7)->dtype
                    : str_is(name, "ConvInteger") ? DTYPE_INT32
                                                  : x->dtype;
    struct infer_window window;

    infer_dtype(f, 0, dtype);
    if (x->rank < 3 || w->rank != x->rank ||
        !read_window(f, &window, (uint32_t)x->rank - 2, w->dims + 2))
        return;
    set_steps(f, 0, dtype, x, &window, w->dims[0]);
}

void infer_pool(struct infer *f)
{
    const struct onnx_known *x = infer_input(f, 0);
    struct infer_window window;

    infer_dtype(f, 0, x->dtype);
    infer_dtype(f, 1, DTYPE_INT64);
    if (x->rank < 3 || !read_window(f, &window, (uint32_t)x->rank - 2, NULL))
        return;
    set_steps(f, 0, x->dtype, x, &window, x->dims[1]);
    set_steps(f, 1, DTYPE_INT64, x, &window, x->dims[1]);
}

void infer_global_pool(struct infer *f)
{
    const struct onnx_known *x = infer_input(f, 0);
    int64_t dims[ONNX_RANK];

    infer_dtype(f, 0, x->dtype);
    if (x->rank < 2)
        return;
    for (int32_t i = 0; i < x->rank; i++)
        dims[i] = i < 2 ? x->dims[i] : 1;
    infer_set(f, 0, x->dtype, dims, x->rank);
}

/* The size of the output of a transposed convolution. */
static int64_t image_size(const struct infer_window *w, uint32_t i, int64_t size,
                          int64_t more)
{
    int64_t extent, n;

    if (w->same)
        return infer_times(size, w->strides[i]);
    if (size < 1 || w->kernel[i] < 0)
        return ONNX_ANY;
    extent = infer_plus(infer_times(w->kernel[i] - 1, w->dilations[i]), 1);
    n = infer_plus(infer_plus(infer_times(size - 1, w->strides[i]), extent), more);
    if (n < 0 || __builtin_sub_overflow(n, w->pads[i], &n) ||
        __builtin_sub_overflow(n, w->pads[w->n + i], &n) || n < 0)
        return ONNX_ANY;
    return n;
}

void infer_conv_transpose(struct infer *f)
{
    const struct onnx_known *x = infer_input(f, 0), *w = infer_input(f, 1);
    int64_t dims[ONNX_RANK], more[ONNX_RANK], sizes[INFER_NUMBERS];
    struct infer_window window;
    uint32_t n, given;

    infer_dtype(f, 0, x->dtype);
    if (x->rank < 3 || w->rank != x->rank ||
        !read_window(f, &window, (uint32_t)x->rank - 2, w->dims + 2) ||
        !per_axis(f, "output_padding", 0, window.n, more))
        return;
    n = window.n;
    dims[0] = x->dims[0];
    dims[1] = infer_times(w->dims[1], infer_int(f, "group", 1));
    for (uint32_t i = 0; i < n; i++)
        dims[i + 2] = image_size(&window, i, x->dims[i + 2], more[i]);
    if (infer_ints(f, "output_shape", sizes, &given))
        for (uint32_t i = 0; i < n && given >= n; i++)
            dims[i + 2] = sizes[given - n + i];
    infer_set(f, 0, x->dtype, dims, x->rank);
}

/* ---- resampling ---- */

/* The sizes are an input or follow from the scales. Scales are floats, which are not
 * propagated, so only sizes are used. */
void infer_resize(struct infer *f)
{
    const struct onnx_known *x = infer_input(f, 0), *sizes = infer_input(f, 3);
    int64_t dims[ONNX_RANK], axes[INFER_NUMBERS];
    struct str policy;
    uint32_t n;

    infer_dtype(f, 0, x->dtype);
    if (x->rank < 0)
        return;
    for (int32_t i = 0; i < x->rank; i++)
        dims[i] = ONNX_ANY;
    if (infer_text(f, "keep_aspect_ratio_policy", &policy) &&
        !str_is(policy, "stretch"))
        sizes = infer_input(f, UINT32_MAX);
    if (!infer_ints(f, "axes", axes, &n)) {
        n = (uint32_t)x->rank;
        for (uint32_t i = 0; i < n; i++)
            axes[i] = i;
    } else {
        memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    }
    for (uint32_t i = 0; i < n; i++) {
        int32_t axis;

        if (!infer_axis(axes[i], x->rank, &axis))
            return;
        dims[axis] = sizes->numbers && sizes->n_numbers == n && sizes->numbers[i] > 0
                         ? sizes->numbers[i]
                         : ONNX_ANY;
    }
    infer_set(f, 0, x->dtype, dims, x->rank);
}

void infer_depth_space(struct infer *f)
{
    bool to_space = str_is(onnx_text(f->m->p, f->node->op_type), "DepthToSpace");
    const struct onnx_known *x = infer_input(f, 0);
    int64_t block = infer_int(f, "blocksize", 0), dims[4];

    infer_dtype(f, 0, x->dtype);
    if (x->rank != 4 || block < 1 || block > INT32_MAX)
        return;
    dims[0] = x->dims[0];
    for (int i = 1; i < 4; i++) {
        bool grows = (i > 1) == to_space;
        int64_t by = i > 1 ? block : block * block;

        dims[i] = x->dims[i] < 0 ? ONNX_ANY
                  : grows        ? infer_times(x->dims[i], by)
                                 : x->dims[i] / by;
    }
    infer_set(f, 0, x->dtype, dims, 4);
}
