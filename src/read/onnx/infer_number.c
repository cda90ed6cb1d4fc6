/* Rules of operations that return shapes and integers, and the propagation of known
 * integers. Single ones may be INFER_UNKNOWN: Shape of (batch, 3, 224, 224). */
#include <string.h>

#include "base/base.h"
#include "read/onnx/infer_in.h"

/* ---- operations that return integers ---- */

void infer_shape(struct infer *f)
{
    const struct onnx_known *in = infer_input(f, 0);
    int64_t numbers[ONNX_RANK], n, begin, end;

    infer_dtype(f, 0, DTYPE_INT64);
    if (in->rank < 0)
        return;
    begin = infer_int(f, "start", 0);
    end = infer_int(f, "end", in->rank);
    begin += begin < 0 ? in->rank : 0;
    end += end < 0 ? in->rank : 0;
    begin = begin < 0 ? 0 : begin;
    end = end > in->rank ? in->rank : end;
    n = end > begin ? end - begin : 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t size = in->dims[begin + i];

        numbers[i] = size < 0 ? INFER_UNKNOWN : size;
    }
    infer_set(f, 0, DTYPE_INT64, &n, 1);
    infer_set_numbers(f, 0, numbers, (uint32_t)n);
}

void infer_size(struct infer *f)
{
    infer_set(f, 0, DTYPE_INT64, NULL, 0);
}

/* A Constant: the shape and dtype of its attribute. */
void infer_constant(struct infer *f)
{
    const struct onnx_parsed *p = f->m->p;
    int64_t numbers[INFER_NUMBERS], size;
    uint32_t n;

    if (f->constant) {
        f->out[0] = *f->constant;
        return;
    }
    for
        ONNX_EACH(i, p, attrs, f->node->attrs)
        {
            struct str name = onnx_text(p, p->attrs[i].name);
            const struct onnx_attr *attr = onnx_attr_resolve(p, f->scope, &p->attrs[i]);

            if (!attr)
                continue;
            size = value_at(&f->m->build->model->values, attr->value)->n;
            if (attr->type == ONNX_FLOAT) {
                infer_set(f, 0, DTYPE_FLOAT32, NULL, 0);
            } else if (attr->type == ONNX_FLOATS) {
                infer_set(f, 0, DTYPE_FLOAT32, &size, 1);
            } else if (attr->type == ONNX_INT) {
                numbers[0] =
                    value_at(&f->m->build->model->values, attr->value)->integer;
                infer_set(f, 0, DTYPE_INT64, NULL, 0);
                infer_set_numbers(f, 0, numbers, 1);
            } else if (attr->type == ONNX_INTS) {
                infer_set(f, 0, DTYPE_INT64, &size, 1);
                /* A reference resolves to an attribute of the call. */
                if (name.len < 32 && infer_ints(f, name.at, numbers, &n))
                    infer_set_numbers(f, 0, numbers, n);
            } else if (attr->type == ONNX_STRINGS) {
                infer_set(f, 0, DTYPE_UNKNOWN, &size, 1);
            }
        }
}

/* Sets the result to the shape that an input holds as integers. */
static bool shape_from(struct infer *f, const struct onnx_known *shape, uint8_t dtype)
{
    int64_t dims[INFER_NUMBERS];

    if (!shape->numbers) {
        int64_t rank = shape->rank == 1 ? shape->dims[0] : -1;

        for (int64_t i = 0; i < rank && rank <= INFER_NUMBERS; i++)
            dims[i] = ONNX_ANY;
        if (rank >= 0 && rank <= INFER_NUMBERS)
            infer_set(f, 0, dtype, dims, (int32_t)rank);
        return false;
    }
    for (uint32_t i = 0; i < shape->n_numbers; i++)
        dims[i] = shape->numbers[i] >= 0 ? shape->numbers[i] : ONNX_ANY;
    infer_set(f, 0, dtype, dims, (int32_t)shape->n_numbers);
    return true;
}

void infer_constant_of_shape(struct infer *f)
{
    const struct onnx_attr *attr = onnx_attr_in(f->m->p, f->scope, f->node, "value");
    uint8_t dtype = DTYPE_FLOAT32;

    if (attr && attr->type == ONNX_TENSOR && attr->tensor != ONNX_NONE)
        dtype = (uint8_t)onnx_dtype(f->m->p->tensors[attr->tensor].type);
    infer_dtype(f, 0, dtype);
    shape_from(f, infer_input(f, 0), dtype);
}

void infer_random(struct infer *f)
{
    int64_t dims[INFER_NUMBERS], type = infer_int(f, "dtype", 1);
    uint8_t dtype = type > 0 && type < 100 ? (uint8_t)onnx_dtype((int32_t)type) : 0;
    uint32_t n;

    infer_dtype(f, 0, dtype);
    if (infer_ints(f, "shape", dims, &n))
        infer_set(f, 0, dtype, dims, (int32_t)n);
}

/* The integer of an input that has one element; false: unknown. */
static bool number_of(const struct infer *f, uint32_t i, int64_t *ret_number)
{
    const struct onnx_known *in = infer_input(f, i);

    if (!in->numbers || in->n_numbers != 1 || in->numbers[0] == INFER_UNKNOWN)
        return false;
    *ret_number = in->numbers[0];
    return true;
}

void infer_range(struct infer *f)
{
    int64_t start, limit, delta, size = ONNX_ANY, span;
    uint8_t dtype = infer_input(f, 0)->dtype;

    if (number_of(f, 0, &start) && number_of(f, 1, &limit) && number_of(f, 2, &delta) &&
        delta != 0 && delta != INT64_MIN &&
        !__builtin_sub_overflow(limit, start, &span) && span != INT64_MIN) {
        if ((span > 0) == (delta > 0) && span != 0)
            size = (span < 0 ? -span - 1 : span - 1) / (delta < 0 ? -delta : delta) + 1;
        else
            size = 0;
    }
    infer_set(f, 0, dtype, &size, 1);
}

/* ---- propagating integers ---- */

static void follow_gather(struct infer *f)
{
    const struct onnx_known *in = infer_input(f, 0), *at = infer_input(f, 1);
    int64_t numbers[INFER_NUMBERS];

    if (!in->numbers || in->rank != 1 || !at->numbers)
        return;
    for (uint32_t i = 0; i < at->n_numbers; i++) {
        int64_t k = at->numbers[i];

        if (k != INFER_UNKNOWN && k < 0)
            k += in->n_numbers;
        if (k < 0 || k >= in->n_numbers)
            return;
        numbers[i] = in->numbers[k];
    }
    infer_set_numbers(f, 0, numbers, at->n_numbers);
}

static void follow_concat(struct infer *f)
{
    int64_t numbers[INFER_NUMBERS];
    uint32_t n = 0;

    if (f->out[0].rank != 1)
        return;
    for (uint32_t i = 0; i < f->n_in; i++) {
        const struct onnx_known *in = &f->in[i];
        uint32_t more =
            in->numbers ? in->n_numbers
            : in->rank == 1 && in->dims[0] >= 0 && in->dims[0] <= INFER_NUMBERS
                ? (uint32_t)in->dims[0]
                : UINT32_MAX;

        if (more > INFER_NUMBERS - n)
            return;
        for (uint32_t k = 0; k < more; k++)
            numbers[n++] = in->numbers ? in->numbers[k] : INFER_UNKNOWN;
    }
    infer_set_numbers(f, 0, numbers, n);
}

static void follow_slice(struct infer *f)
{
    const struct onnx_known *in = infer_input(f, 0);
    int64_t start[INFER_NUMBERS], step[INFER_NUMBERS], size;
    uint32_t n;
    bool given;

    if (!in->numbers || in->rank != 1 || f->out[0].rank != 1)
        return;
    size = f->out[0].dims[0];
    if (size < 0 || size > INFER_NUMBERS ||
        !infer_numbers(f, "starts", 1, start, &n, &given) || n != 1)
        return;
    if (!infer_numbers(f, "steps", 4, step, &n, &given)) {
        if (given)
            return;
        step[0] = 1;
    }
    if (step[0] != 1) /* rare */
        return;
    start[0] += start[0] < 0 ? in->n_numbers : 0;
    if (start[0] < 0)
        start[0] = 0;
    if (start[0] + size > in->n_numbers)
        return;
    infer_set_numbers(f, 0, in->numbers + start[0], (uint32_t)size);
}

static int64_t calculate(char operation, int64_t a, int64_t b)
{
    int64_t result = 0;
    bool bad = a == INFER_UNKNOWN || b == INFER_UNKNOWN;

    if (operation == 'A')
        bad = bad || __builtin_add_overflow(a, b, &result);
    else if (operation == 'S')
        bad = bad || __builtin_sub_overflow(a, b, &result);
    else if (operation == 'M')
        bad = bad || __builtin_mul_overflow(a, b, &result);
    else /* towards zero, as C and ONNX do */
        bad = bad || b == 0 || b == -1;
    if (bad)
        return INFER_UNKNOWN;
    return operation == 'D' ? a / b : result;
}

static void follow_arithmetic(struct infer *f, char operation)
{
    const struct onnx_known *a = infer_input(f, 0), *b = infer_input(f, 1);
    int64_t numbers[INFER_NUMBERS];
    uint32_t n = a->n_numbers > b->n_numbers ? a->n_numbers : b->n_numbers;

    if (!a->numbers || !b->numbers || a->n_numbers == 0 || b->n_numbers == 0 ||
        (a->n_numbers != n && a->n_numbers != 1) ||
        (b->n_numbers != n && b->n_numbers != 1))
        return;
    for (uint32_t i = 0; i < n; i++)
        numbers[i] = calculate(operation, a->numbers[a->n_numbers == 1 ? 0 : i],
                               b->numbers[b->n_numbers == 1 ? 0 : i]);
    infer_set_numbers(f, 0, numbers, n);
}

static void follow_copy(struct infer *f)
{
    const struct onnx_known *in = infer_input(f, 0);

    if (in->numbers)
        infer_set_numbers(f, 0, in->numbers, in->n_numbers);
}

/* Integers that do not fit into int32 are changed by a cast: drops them. */
static void keep_narrow(struct infer *f)
{
    struct onnx_known *out = &f->out[0];

    for (uint32_t i = 0; out->numbers && i < out->n_numbers; i++)
        if (out->numbers[i] != INFER_UNKNOWN &&
            (out->numbers[i] < INT32_MIN || out->numbers[i] > INT32_MAX))
            out->numbers = NULL;
}

void infer_follow(struct infer *f)
{
    static const char *const copies[] = {"Identity", "Cast",      "Reshape",
                                         "Squeeze",  "Unsqueeze", "Flatten"};
    struct str name = onnx_text(f->m->p, f->node->op_type);
    const struct onnx_known *out = &f->out[0];

    if (out->numbers || out->rank > 1 ||
        (out->dtype != DTYPE_INT64 && out->dtype != DTYPE_INT32))
        return;
    for (size_t i = 0; i < COUNT_OF(copies); i++)
        if (str_is(name, copies[i]))
            follow_copy(f);
    if (str_is(name, "Gather"))
        follow_gather(f);
    else if (str_is(name, "Concat"))
        follow_concat(f);
    else if (str_is(name, "Slice"))
        follow_slice(f);
    else if (str_is(name, "Add") || str_is(name, "Sub") || str_is(name, "Mul") ||
             str_is(name, "Div"))
        follow_arithmetic(f, name.at[0]);
    if (out->dtype == DTYPE_INT32)
        keep_narrow(f);
}
