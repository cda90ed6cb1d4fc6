/* Rules of elementwise operations, matrix products, quantisation, recurrent layers and
 * reductions. */
#include <string.h>

#include "base/base.h"
#include "read/onnx/infer_in.h"

/* The dtype named by an attribute; 0: it is absent. */
static uint8_t dtype_attr(const struct infer *f, const char *name)
{
    int64_t type = infer_int(f, name, 0);

    return type > 0 && type < 100 ? (uint8_t)onnx_dtype((int32_t)type) : 0;
}

void infer_like_first(struct infer *f)
{
    const struct onnx_known *in = infer_input(f, 0);
    uint8_t dtype = dtype_attr(f, "dtype");

    infer_same(f, 0, in, dtype ? dtype : in->dtype);
}

/* Normalisation: further outputs are statistics. */
void infer_like_norm(struct infer *f)
{
    const struct onnx_known *in = infer_input(f, 0);

    infer_same(f, 0, in, in->dtype);
}

void infer_boolean(struct infer *f)
{
    infer_same(f, 0, infer_input(f, 0), DTYPE_BOOL);
}

/* The broadcast of all inputs. Before opset 7 the result has the shape of the first. */
static void broadcast_all(struct infer *f, uint8_t dtype)
{
    int64_t dims[ONNX_RANK];
    struct onnx_known all = *infer_input(f, 0);

    infer_dtype(f, 0, dtype);
    for (uint32_t i = 1; i < f->n_in && all.rank >= 0; i++) {
        int64_t joined[ONNX_RANK];

        if (infer_int(f, "broadcast", 0) != 0)
            break;
        if (!infer_broadcast(&all, &f->in[i], joined, &all.rank))
            return;
        memcpy(dims, joined, sizeof(int64_t) * (size_t)all.rank);
        all.dims = dims;
    }
    if (all.rank >= 0)
        infer_set(f, 0, dtype, all.dims, all.rank);
}

void infer_elementwise(struct infer *f)
{
    broadcast_all(f, infer_input(f, 0)->dtype);
}

void infer_comparison(struct infer *f)
{
    broadcast_all(f, DTYPE_BOOL);
}

void infer_where(struct infer *f)
{
    uint8_t dtype = infer_input(f, 1)->dtype;

    broadcast_all(f, dtype ? dtype : infer_input(f, 2)->dtype);
}

void infer_cast(struct infer *f)
{
    uint8_t dtype = dtype_attr(f, "to");

    if (!dtype)
        dtype = dtype_attr(f, "dtype");
    if (!dtype && f->n_in > 1)
        dtype = infer_input(f, 1)->dtype;
    infer_same(f, 0, infer_input(f, 0), dtype);
}

void infer_dropout(struct infer *f)
{
    const struct onnx_known *in = infer_input(f, 0);

    infer_same(f, 0, in, in->dtype);
    infer_same(f, 1, in, f->opset >= 10 ? DTYPE_BOOL : in->dtype);
}

/* ---- matrix products ---- */

/* Broadcasts the sizes before the last two. A vector gets a size of 1, which is dropped
 * from the result. */
static void product(struct infer *f, const struct onnx_known *a,
                    const struct onnx_known *b, uint8_t dtype)
{
    int64_t dims[ONNX_RANK + 2];
    struct onnx_known left = *a, right = *b;
    int32_t rank;

    infer_dtype(f, 0, dtype);
    if (a->rank < 1 || b->rank < 1)
        return;
    left.rank = a->rank > 2 ? a->rank - 2 : 0;
    right.rank = b->rank > 2 ? b->rank - 2 : 0;
    if (!infer_broadcast(&left, &right, dims, &rank))
        return;
    if (a->rank > 1)
        dims[rank++] = a->dims[a->rank - 2];
    if (b->rank > 1)
        dims[rank++] = b->dims[b->rank - 1];
    infer_set(f, 0, dtype, dims, rank);
}

void infer_matmul(struct infer *f)
{
    struct str name = onnx_text(f->m->p, f->node->op_type);

    if (str_is(name, "QLinearMatMul"))
        product(f, infer_input(f, 0), infer_input(f, 3), infer_input(f, 7)->dtype);
    else
        product(f, infer_input(f, 0), infer_input(f, 1),
                str_is(name, "MatMulInteger") ? DTYPE_INT32 : infer_input(f, 0)->dtype);
}

void infer_gemm(struct infer *f)
{
    const struct onnx_known *a = infer_input(f, 0), *b = infer_input(f, 1);
    int64_t dims[2];

    infer_dtype(f, 0, a->dtype);
    if (a->rank != 2 || b->rank != 2)
        return;
    dims[0] = a->dims[infer_int(f, "transA", 0) != 0];
    dims[1] = b->dims[infer_int(f, "transB", 0) == 0];
    infer_set(f, 0, a->dtype, dims, 2);
}

/* ---- quantisation ---- */

void infer_quantize(struct infer *f)
{
    uint8_t dtype = dtype_attr(f, "output_dtype");

    if (!dtype)
        dtype = f->n_in > 2 ? infer_input(f, 2)->dtype : DTYPE_UINT8;
    infer_same(f, 0, infer_input(f, 0), dtype);
}

void infer_dequantize(struct infer *f)
{
    uint8_t dtype = dtype_attr(f, "output_dtype");

    infer_same(f, 0, infer_input(f, 0), dtype ? dtype : infer_input(f, 1)->dtype);
}

void infer_dynamic_quantize(struct infer *f)
{
    infer_same(f, 0, infer_input(f, 0), DTYPE_UINT8);
    infer_set(f, 1, DTYPE_FLOAT32, NULL, 0);
    infer_set(f, 2, DTYPE_UINT8, NULL, 0);
}

/* ---- recurrent layers ---- */

/* X is (steps, batch, features); Y (steps, directions, batch, hidden). With layout 1
 * the batch comes first. */
void infer_recurrent(struct infer *f)
{
    const struct onnx_known *x = infer_input(f, 0), *r = infer_input(f, 2);
    int64_t hidden = infer_int(f, "hidden_size", ONNX_ANY), ways = 1;
    bool first = infer_int(f, "layout", 0) == 1;
    int64_t y[4], last[3];
    struct str way;

    for (uint32_t i = 0; i < f->n_out; i++)
        infer_dtype(f, i, x->dtype);
    if (x->rank != 3)
        return;
    if (infer_text(f, "direction", &way) && str_is(way, "bidirectional"))
        ways = 2;
    if (hidden == ONNX_ANY && r->rank == 3)
        hidden = r->dims[2];
    y[0] = x->dims[0];
    y[1] = first ? x->dims[1] : ways;
    y[2] = first ? ways : x->dims[1];
    last[0] = first ? x->dims[0] : ways;
    last[1] = first ? ways : x->dims[1];
    y[3] = last[2] = hidden;
    infer_set(f, 0, x->dtype, y, 4);
    infer_set(f, 1, x->dtype, last, 3);
    infer_set(f, 2, x->dtype, last, 3);
}

/* ---- reductions ---- */

/* The shape without the marked axes, or with their sizes set to 1. */
static void set_reduced(struct infer *f, uint8_t dtype, const struct onnx_known *in,
                        const bool *gone)
{
    bool keep = infer_int(f, "keepdims", 1) != 0;
    int64_t dims[ONNX_RANK];
    int32_t rank = 0;

    for (int32_t i = 0; i < in->rank; i++) {
        if (gone[i] && !keep)
            continue;
        dims[rank++] = gone[i] ? 1 : in->dims[i];
    }
    infer_set(f, 0, dtype, dims, rank);
}

void infer_reduce(struct infer *f)
{
    const struct onnx_known *in = infer_input(f, 0);
    int64_t axes[INFER_NUMBERS];
    bool gone[ONNX_RANK] = {false}, given;
    uint32_t n;
    int32_t axis;

    infer_dtype(f, 0, in->dtype);
    if (in->rank < 0)
        return;
    if (!infer_numbers(f, "axes", 1, axes, &n, &given) && given)
        return;
    if (n == 0 && infer_int(f, "noop_with_empty_axes", 0) != 0) {
        infer_same(f, 0, in, in->dtype);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!infer_axis(axes[i], in->rank, &axis))
            return;
        gone[axis] = true;
    }
    for (int32_t i = 0; n == 0 && i < in->rank; i++)
        gone[i] = true;
    set_reduced(f, in->dtype, in, gone);
}

void infer_arg(struct infer *f)
{
    const struct onnx_known *in = infer_input(f, 0);
    bool gone[ONNX_RANK] = {false};
    int32_t axis;

    infer_dtype(f, 0, DTYPE_INT64);
    if (in->rank < 0 || !infer_axis(infer_int(f, "axis", 0), in->rank, &axis))
        return;
    gone[axis] = true;
    set_reduced(f, DTYPE_INT64, in, gone);
}
