#include "run/op_table_in.h"

/* Every element of the weight is multiplied once at each position: of the result, or of
 * the input if the convolution is transposed. */
static int64_t multiply(int64_t batch, int64_t positions,
                        const struct op_tensor *weight)
{
    return OP_PRODUCT(2, batch, positions, op_numel(weight));
}

/* Do channels and ranks fit? `small` has the positions: the result, or the input of a
 * transposed convolution; `large` is the other one. */
static bool fits(const struct op_tensor *small, const struct op_tensor *large,
                 const struct op_tensor *weight)
{
    int channel;

    if (!small || !large || !weight || weight->rank < 3 || small->rank != large->rank)
        return false;
    channel = small->rank == weight->rank ? 1 : 0;
    return (channel == 1 || small->rank + 1 == weight->rank) &&
           op_size(small, channel) == op_size(weight, 0) && op_size(weight, 1) > 0 &&
           op_size(large, channel) >= 0 &&
           op_size(large, channel) % op_size(weight, 1) == 0;
}

static int64_t convolve(const struct op_tensor *small, const struct op_tensor *large,
                        const struct op_tensor *weight)
{
    if (!fits(small, large, weight))
        return OP_NO_FLOPS;
    if (small->rank + 1 == weight->rank) /* without a batch */
        return multiply(1, op_sizes_from(small, 1), weight);
    return multiply(op_size(small, 0), op_sizes_from(small, 2), weight);
}

/* c of a formula: 0 regular, 1 transposed, 2: see the attribute. */
static int is_transposed(const struct op_seen *seen, const struct op_formula *formula)
{
    return formula->c < 2 ? formula->c : op_bool(seen, "transposed");
}

/* Input a, weight b. */
int64_t op_count_conv(const struct op_seen *seen, const struct op_formula *formula)
{
    const struct op_tensor *input = op_arg(seen, formula->a);
    const struct op_tensor *weight = op_arg(seen, formula->b);
    int transposed = is_transposed(seen, formula);

    if (transposed < 0)
        return OP_NO_FLOPS;
    return transposed ? convolve(input, op_result(seen, 0), weight)
                      : convolve(op_result(seen, 0), input, weight);
}

/* Gradient of the result a, input b, weight 2. The gradients of input and weight are
 * each as much work as the forward operation; that of the bias is only a sum. */
int64_t op_count_conv_back(const struct op_seen *seen, const struct op_formula *formula)
{
    const struct op_tensor *grad = op_arg(seen, formula->a);
    const struct op_tensor *input = op_arg(seen, formula->b);
    const struct op_tensor *weight = op_arg(seen, 2);
    int transposed = is_transposed(seen, formula);
    int of_input = op_mask(seen, "output_mask", 0);
    int of_weight = op_mask(seen, "output_mask", 1);
    int64_t forward;

    if (transposed < 0 || of_input < 0 || of_weight < 0)
        return OP_NO_FLOPS;
    forward =
        transposed ? convolve(input, grad, weight) : convolve(grad, input, weight);
    return op_times(forward, of_input + of_weight);
}

/* deform_conv2d: always computes all three gradients. */
int64_t op_count_deform_back(const struct op_seen *seen,
                             const struct op_formula *formula)
{
    return op_times(2, convolve(op_arg(seen, formula->a), op_arg(seen, formula->b),
                                op_arg(seen, 2)));
}

/* (time, batch, channels), weight (kernel, in, out) in argument b. c: 1 forward, where
 * the result has the positions; else the number of products in backward, where argument
 * a (the gradient) has them. */
int64_t op_count_conv_tbc(const struct op_seen *seen, const struct op_formula *formula)
{
    const struct op_tensor *weight = op_arg(seen, formula->b);
    const struct op_tensor *small =
        formula->c == 1 ? op_result(seen, 0) : op_arg(seen, formula->a);

    if (!op_is_rank(small, 3) || !op_is_rank(weight, 3) ||
        op_size(small, 2) != op_size(weight, 2))
        return OP_NO_FLOPS;
    return op_times(formula->c, multiply(op_size(small, 1), op_size(small, 0), weight));
}

/* The packed weight of a quantized operation is an attribute. The sizes of a 1d weight
 * may have an inner dimension of 1. */
int64_t op_count_conv_packed(const struct op_seen *seen,
                             const struct op_formula *formula)
{
    const struct op_tensor *input = op_arg(seen, formula->a);
    const struct op_tensor *small = formula->c ? input : op_result(seen, 0);
    int64_t sizes[UINT8_MAX];
    uint32_t id, n;

    if (!seen->plain ||
        (!value_get(seen->plain, seen->attributes, "packed_weight", &id) &&
         !value_get(seen->plain, seen->attributes, "weight", &id)) ||
        !value_get(seen->plain, id, "sizes", &id) ||
        !op_ints(seen->plain, id, sizes, UINT8_MAX, &n) || n < 3 || !small ||
        small->rank < 3 || op_size(small, 1) != sizes[0])
        return OP_NO_FLOPS;
    return OP_PRODUCT(2, op_size(small, 0), op_sizes_from(small, 2),
                      op_product(sizes, n));
}

/* oneDNN may reorder weights and give groups a dimension of their own; the number of
 * elements stays. The binary variants have another tensor before the weight. */
int64_t op_count_conv_reordered(const struct op_seen *seen,
                                const struct op_formula *formula)
{
    const struct op_tensor *input = op_arg(seen, formula->a);
    const struct op_tensor *after = op_arg(seen, formula->b + 1u);
    const struct op_tensor *weight =
        after && after->rank >= 3 ? after : op_arg(seen, formula->b);
    const struct op_tensor *small = formula->c ? input : op_result(seen, 0);

    if (!small || !weight || small->rank < 3 || weight->rank < small->rank)
        return OP_NO_FLOPS;
    return multiply(op_size(small, 0), op_sizes_from(small, 2), weight);
}
