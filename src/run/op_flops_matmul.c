#include "run/op_table_in.h"

#define MOST_MATRICES 32 /* in one chain */

/* The product of the batch dimensions, all but the last two, after broadcasting. */
static int64_t batch_of(const struct op_tensor *a, const struct op_tensor *b)
{
    int64_t batch = 1;

    for (int dim = 3; dim <= a->rank || dim <= b->rank; dim++) {
        int64_t left = dim <= a->rank ? op_size(a, -dim) : 1;
        int64_t right = dim <= b->rank ? op_size(b, -dim) : 1;

        if (left != right && left != 1 && right != 1)
            return OP_NO_FLOPS;
        batch = op_times(batch, left == 1 ? right : left);
    }
    return batch;
}

/* a @ b; a vector on the left is a row, on the right a column. */
static int64_t multiply(const struct op_tensor *a, const struct op_tensor *b)
{
    int64_t inner;

    if (!a || !b || a->rank == 0 || b->rank == 0)
        return OP_NO_FLOPS;
    inner = op_size(a, -1);
    if (inner != op_size(b, b->rank == 1 ? 0 : -2))
        return OP_NO_FLOPS;
    return OP_PRODUCT(2, batch_of(a, b), a->rank == 1 ? 1 : op_size(a, -2), inner,
                      b->rank == 1 ? 1 : op_size(b, -1));
}

/* One factor is sparse: each stored element is multiplied with a row (column) of the
 * other. With two sparse factors, the work depends on the positions of their
 * elements. */
static int64_t multiply_sparse(const struct op_seen *seen, uint32_t a, uint32_t b)
{
    const struct op_tensor *left = op_arg_sparse(seen, a);
    const struct op_tensor *right = op_arg_sparse(seen, b);
    const struct op_tensor *other = left ? op_arg(seen, b) : op_arg(seen, a);
    const struct op_tensor *sparse = left ? left : right;

    if (!sparse || !other || sparse->stored <= 0 || other->rank == 0)
        return OP_NO_FLOPS;
    if (other->rank == 1 ? sparse->rank != 2 : sparse->rank != other->rank)
        return OP_NO_FLOPS;
    if (other->rank == 1)
        return op_times(2, sparse->stored);
    return OP_PRODUCT(2, sparse->stored, op_size(other, left ? -1 : -2));
}

/* Arguments a and b; c has their ranks as two digits, 0: any. */
int64_t op_count_matmul(const struct op_seen *seen, const struct op_formula *formula)
{
    const struct op_tensor *a = op_arg(seen, formula->a);
    const struct op_tensor *b = op_arg(seen, formula->b);

    if (op_arg_sparse(seen, formula->a) || op_arg_sparse(seen, formula->b))
        return multiply_sparse(seen, formula->a, formula->b);
    if (formula->c &&
        (!op_is_rank(a, formula->c / 10) || !op_is_rank(b, formula->c % 10)))
        return OP_NO_FLOPS;
    return multiply(a, b);
}

/* Computes only the elements stored by argument 0, which is sparse. */
int64_t op_count_sampled(const struct op_seen *seen, const struct op_formula *formula)
{
    const struct op_tensor *self = op_arg_sparse(seen, 0);
    const struct op_tensor *left = op_arg(seen, formula->a);

    if (!self || self->stored <= 0 || !left || left->rank < 2)
        return OP_NO_FLOPS;
    return OP_PRODUCT(2, self->stored, op_size(left, -1));
}

/* Groups of rows, columns or inner dimensions, each with a matrix of its own. The
 * groups fill the grouped dimension: a matrix (2 dimensions) is cut into groups, a
 * stack of matrices (3) has one for each. */
int64_t op_count_grouped(const struct op_seen *seen, const struct op_formula *formula)
{
    const struct op_tensor *a = op_arg(seen, formula->a);
    const struct op_tensor *b = op_arg(seen, formula->b);

    if (!a || !b || a->rank < 2 || a->rank > 3 || b->rank < 2 || b->rank > 3)
        return OP_NO_FLOPS;
    if (op_size(a, -1) != op_size(b, -2) ||
        (a->rank == 3 && b->rank == 3 && op_size(a, 0) != op_size(b, 0)))
        return OP_NO_FLOPS;
    return OP_PRODUCT(2, a->rank == 3 && b->rank == 3 ? op_size(a, 0) : 1,
                      op_size(a, -2), op_size(a, -1), op_size(b, -1));
}

/* Input a, weight b (out, in). */
int64_t op_count_linear(const struct op_seen *seen, const struct op_formula *formula)
{
    const struct op_tensor *input = op_arg(seen, formula->a);
    const struct op_tensor *weight = op_arg(seen, formula->b);

    if (!input || !weight || input->rank == 0 || weight->rank == 0 ||
        weight->rank > 2 || op_size(input, -1) != op_size(weight, -1))
        return OP_NO_FLOPS;
    return OP_PRODUCT(2, op_numel(input), op_sizes_before(weight, -1));
}

/* The weight is not a tensor, or reordered; input a and result 0 suffice. */
int64_t op_count_packed(const struct op_seen *seen, const struct op_formula *formula)
{
    const struct op_tensor *input = op_arg(seen, formula->a);
    const struct op_tensor *result = op_result(seen, 0);
    int64_t rows = op_sizes_before(input, -1);

    if (rows < 0 || rows != op_sizes_before(result, -1))
        return OP_NO_FLOPS;
    return OP_PRODUCT(2, op_size(input, -1), op_numel(result));
}

/* The gradients of input (c: 1), weight (2) or both, selected by output_mask (3). Each
 * is as much work as the forward operation. Gradient of the result a, weight b. */
int64_t op_count_linear_back(const struct op_seen *seen,
                             const struct op_formula *formula)
{
    const struct op_tensor *grad = op_arg(seen, formula->a);
    const struct op_tensor *weight = op_arg(seen, formula->b);
    int n = 1;

    if (formula->c == 3) {
        int input = op_mask(seen, "output_mask", 0),
            of_weight = op_mask(seen, "output_mask", 1);

        if (input < 0 || of_weight < 0)
            return OP_NO_FLOPS;
        n = input + of_weight;
    }
    if (!grad || grad->rank == 0 || !op_is_rank(weight, 2) ||
        op_size(grad, -1) != op_size(weight, 0))
        return OP_NO_FLOPS;
    return OP_PRODUCT(2, n, op_numel(grad), op_size(weight, 1));
}

/* Vectors a and b; c FLOPs per element: 1 if products are not added to anything. */
int64_t op_count_outer(const struct op_seen *seen, const struct op_formula *formula)
{
    const struct op_tensor *a = op_arg(seen, formula->a);
    const struct op_tensor *b = op_arg(seen, formula->b);

    if (!op_is_rank(a, 1) || !op_is_rank(b, 1))
        return OP_NO_FLOPS;
    return OP_PRODUCT(formula->c, op_size(a, 0), op_size(b, 0));
}

/* Every row of a with every row of b. */
int64_t op_count_inner(const struct op_seen *seen, const struct op_formula *formula)
{
    const struct op_tensor *a = op_arg(seen, formula->a);
    const struct op_tensor *b = op_arg(seen, formula->b);

    if (op_size(a, -1) != op_size(b, -1))
        return OP_NO_FLOPS;
    return OP_PRODUCT(2, op_numel(a), op_sizes_before(b, -1));
}

int64_t op_count_vecdot(const struct op_seen *seen, const struct op_formula *formula)
{
    const struct op_tensor *a = op_arg(seen, formula->a);
    int64_t dim;

    if (!op_int(seen, "dim", &dim) || dim < -UINT8_MAX || dim > UINT8_MAX ||
        op_size(a, (int)dim) != op_size(op_arg(seen, formula->b), (int)dim))
        return OP_NO_FLOPS;
    return OP_PRODUCT(2, op_size(a, (int)dim), op_numel(op_result(seen, 0)));
}

int64_t op_count_tensordot(const struct op_seen *seen, const struct op_formula *formula)
{
    const struct op_tensor *a = op_arg(seen, formula->a);
    const struct op_tensor *b = op_arg(seen, formula->b);
    int64_t dims[UINT8_MAX], others[UINT8_MAX], flops = op_times(2, op_numel(a));
    bool summed[UINT8_MAX] = {false};
    uint32_t n, m, id;

    if (!b || !seen->plain ||
        !value_get(seen->plain, seen->attributes, "dims_self", &id) ||
        !op_ints(seen->plain, id, dims, UINT8_MAX, &n) ||
        !value_get(seen->plain, seen->attributes, "dims_other", &id) ||
        !op_ints(seen->plain, id, others, UINT8_MAX, &m) || n != m)
        return OP_NO_FLOPS;
    for (uint32_t i = 0; i < m; i++) {
        int64_t dim = others[i] < 0 ? others[i] + b->rank : others[i];

        if (dim < 0 || dim >= b->rank || dims[i] < -UINT8_MAX || dims[i] > UINT8_MAX ||
            op_size(a, (int)dims[i]) != op_size(b, (int)dim))
            return OP_NO_FLOPS;
        summed[dim] = true;
    }
    for (int dim = 0; dim < b->rank; dim++)
        flops = op_times(flops, summed[dim] ? 1 : op_size(b, dim));
    return flops;
}

/* The cheapest order of multiplying matrices of dims[i] by dims[i + 1]. */
static int64_t cheapest(const int64_t *dims, uint32_t n)
{
    int64_t best[MOST_MATRICES][MOST_MATRICES] = {{0}};

    for (uint32_t length = 2; length <= n; length++)
        for (uint32_t i = 0; i + length <= n; i++) {
            uint32_t j = i + length - 1;

            best[i][j] = OP_NO_FLOPS;
            for (uint32_t k = i; k < j; k++) {
                int64_t cost =
                    op_plus(op_plus(best[i][k], best[k + 1][j]),
                            OP_PRODUCT(2, dims[i], dims[k + 1], dims[j + 1]));

                if (cost >= 0 && (best[i][j] < 0 || cost < best[i][j]))
                    best[i][j] = cost;
            }
        }
    return best[0][n - 1];
}

/* A list of matrices; torch multiplies them in the cheapest order. The first may be a
 * row, the last a column. */
int64_t op_count_chain(const struct op_seen *seen, const struct op_formula *formula)
{
    int64_t dims[MOST_MATRICES + 1];
    uint32_t n = 0;

    for (; n < seen->n_in; n++) {
        const struct op_tensor *matrix = op_arg_item(seen, formula->a, n);
        bool vector = op_is_rank(matrix, 1) && (n == 0 || n + 1 == seen->n_in);
        bool row = vector && n == 0;

        if (n == MOST_MATRICES || (!vector && !op_is_rank(matrix, 2)))
            return OP_NO_FLOPS;
        if (n > 0 && op_size(matrix, 0) != dims[n])
            return OP_NO_FLOPS;
        dims[n] = row ? 1 : op_size(matrix, 0);
        dims[n + 1] = row ? op_size(matrix, 0) : vector ? 1 : op_size(matrix, 1);
    }
    return n < 2 ? OP_NO_FLOPS : cheapest(dims, n);
}
