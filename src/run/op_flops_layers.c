#include "run/op_table_in.h"

#include "model/model.h"

/* Attention: `pairs` of a query and a key, over all heads and the batch. Forward has
 * two products, query @ key and scores @ value; backward recomputes the scores and has
 * two products for each of them. */
static int64_t attend(int64_t pairs, int64_t key_size, int64_t value_size,
                      bool backward)
{
    return OP_PRODUCT(2, pairs,
                      op_plus(op_times(backward ? 3 : 1, key_size),
                              op_times(backward ? 2 : 1, value_size)));
}

/* Dimensions of sequence and heads. */
struct op_axes {
    int sequence, heads;
};

static bool heads_fit(const struct op_tensor *query, const struct op_tensor *key,
                      const struct op_tensor *value, int heads)
{
    int64_t of_query = op_size(query, heads), of_key = op_size(key, heads);

    /* Grouped queries: several heads of queries share one of keys and values. */
    return of_key > 0 && of_key == op_size(value, heads) && of_query % of_key == 0;
}

static int64_t attention(const struct op_seen *seen, uint32_t first,
                         struct op_axes axes, bool backward)
{
    const struct op_tensor *query = op_arg(seen, first);
    const struct op_tensor *key = op_arg(seen, first + 1);
    const struct op_tensor *value = op_arg(seen, first + 2);

    if (!op_is_rank(query, 4) || !op_is_rank(key, 4) || !op_is_rank(value, 4) ||
        op_size(query, 0) != op_size(key, 0) || op_size(key, 0) != op_size(value, 0) ||
        op_size(key, axes.sequence) != op_size(value, axes.sequence) ||
        op_size(query, 3) != op_size(key, 3) ||
        !heads_fit(query, key, value, axes.heads))
        return OP_NO_FLOPS;
    return attend(OP_PRODUCT(op_size(query, 0), op_size(query, axes.heads),
                             op_size(query, axes.sequence),
                             op_size(key, axes.sequence)),
                  op_size(query, 3), op_size(value, 3), backward);
}

/* Any number of batch dimensions, which may broadcast: the result has them all. */
static int64_t attention_of_any_rank(const struct op_seen *seen, uint32_t first)
{
    const struct op_tensor *query = op_arg(seen, first);
    const struct op_tensor *key = op_arg(seen, first + 1);
    const struct op_tensor *value = op_arg(seen, first + 2);
    const struct op_tensor *result = op_result(seen, 0);

    if (!result || result->rank < 2 || op_size(query, -2) != op_size(result, -2) ||
        op_size(query, -1) != op_size(key, -1) ||
        op_size(key, -2) != op_size(value, -2) ||
        op_size(value, -1) != op_size(result, -1))
        return OP_NO_FLOPS;
    return attend(
        OP_PRODUCT(op_sizes_before(result, -2), op_size(query, -2), op_size(key, -2)),
        op_size(query, -1), op_size(value, -1), false);
}

/* Query a, then key and value: (batch, heads, sequence, size). b: 1 forward, 2 backward,
 * 0 forward of any rank. */
int64_t op_count_attention(const struct op_seen *seen, const struct op_formula *formula)
{
    struct op_axes axes = {.sequence = 2, .heads = 1};

    if (formula->b == 0)
        return attention_of_any_rank(seen, formula->a);
    return attention(seen, formula->a, axes, formula->b == 2);
}

/* The same as (batch, sequence, heads, size). If argument c is a tensor, it holds the
 * offsets of sequences in a batch, so their lengths are unknown. */
int64_t op_count_flash(const struct op_seen *seen, const struct op_formula *formula)
{
    struct op_axes axes = {.sequence = 1, .heads = 2};

    if (op_arg(seen, formula->c))
        return OP_NO_FLOPS;
    return attention(seen, formula->a, axes, formula->b == 2);
}

/* Projections and attention of (batch, sequence, size), with square weights. */
static int64_t heads(const struct op_tensor *query, const struct op_tensor *key,
                     const struct op_tensor *value, const struct op_tensor *in_weight,
                     const struct op_tensor *out_weight)
{
    int64_t size = op_size(query, 2), lengths, projections, pairs;

    if (!op_is_rank(query, 3) || !op_is_rank(key, 3) || !op_is_rank(value, 3) ||
        !op_is_rank(in_weight, 2) || op_size(in_weight, 0) != op_times(3, size) ||
        op_size(in_weight, 1) != size || !op_is_rank(out_weight, 2) ||
        op_size(out_weight, 0) != size || op_size(out_weight, 1) != size ||
        op_size(key, 2) != size || op_size(value, 2) != size ||
        op_size(key, 1) != op_size(value, 1) || op_size(key, 0) != op_size(query, 0))
        return OP_NO_FLOPS;
    /* of query, key, value and result */
    lengths = op_times(2, op_plus(op_size(query, 1), op_size(key, 1)));
    projections = OP_PRODUCT(2, op_size(query, 0), lengths, size, size);
    pairs = OP_PRODUCT(op_size(query, 0), op_size(query, 1), op_size(key, 1));
    return op_plus(projections, attend(pairs, size, size, false));
}

int64_t op_count_mha(const struct op_seen *seen, const struct op_formula *formula)
{
    (void)formula;
    return heads(op_arg(seen, 0), op_arg(seen, 1), op_arg(seen, 2), op_arg(seen, 5),
                 op_arg(seen, 7));
}

int64_t op_count_encoder(const struct op_seen *seen, const struct op_formula *formula)
{
    const struct op_tensor *input = op_arg(seen, 0);
    const struct op_tensor *up = op_arg(seen, 14), *down = op_arg(seen, 16);
    int64_t rows = op_sizes_before(input, -1), size = op_size(input, -1);

    (void)formula;
    if (!op_is_rank(up, 2) || !op_is_rank(down, 2) || op_size(up, 1) != size ||
        op_size(down, 0) != size || op_size(up, 0) != op_size(down, 1))
        return OP_NO_FLOPS;
    return op_plus(heads(input, input, input, op_arg(seen, 3), op_arg(seen, 5)),
                   OP_PRODUCT(2, rows, op_plus(op_numel(up), op_numel(down))));
}

/* Steps of a recurrent layer: (time, batch, size), or packed as (steps, size). */
static int64_t steps_of(const struct op_tensor *input)
{
    return op_is_rank(input, 2) || op_is_rank(input, 3) ? op_sizes_before(input, -1)
                                                        : OP_NO_FLOPS;
}

/* Each step multiplies with each weight once. The weights of all layers and directions
 * are the last list (a: 0) or argument a; vectors among them are biases. b: 1 forward,
 * 2 backward, where output_mask[3] says whether weights have gradients. */
int64_t op_count_rnn(const struct op_seen *seen, const struct op_formula *formula)
{
    int64_t weights = 0, passes = 1;
    uint32_t list = formula->a;

    for (uint32_t i = 0; formula->a == 0 && i < seen->n_in; i++)
        if (seen->in[i].item != OP_NO_ITEM && seen->in[i].arg > list)
            list = seen->in[i].arg;
    for (uint32_t i = 0; i < seen->n_in; i++)
        if (seen->in[i].item != OP_NO_ITEM && seen->in[i].arg == list) {
            if (seen->in[i].layout != LAYOUT_STRIDED || seen->in[i].rank > 2)
                return OP_NO_FLOPS;
            if (seen->in[i].rank == 2)
                weights = op_plus(weights, op_numel(&seen->in[i]));
        }
    if (formula->b == 2)
        passes = op_plus(1, op_mask(seen, "output_mask", 3));
    if (weights <= 0)
        return OP_NO_FLOPS;
    return OP_PRODUCT(2, passes, steps_of(op_arg(seen, 0)), weights);
}

/* One layer and direction of oneDNN: weights 1 and 2. Backward (b: 2) computes the
 * gradients of input and weights. */
int64_t op_count_rnn_layer(const struct op_seen *seen, const struct op_formula *formula)
{
    const struct op_tensor *input = op_arg(seen, 0);
    const struct op_tensor *of_input = op_arg(seen, 1), *hidden = op_arg(seen, 2);

    if (!op_is_rank(of_input, 2) || !op_is_rank(hidden, 2) ||
        op_size(input, -1) != op_size(of_input, 1) ||
        op_size(of_input, 0) != op_size(hidden, 0))
        return OP_NO_FLOPS;
    return OP_PRODUCT(2, formula->b, steps_of(input),
                      op_plus(op_numel(of_input), op_numel(hidden)));
}

/* Weights of input and hidden state: arguments 2 and 3. */
int64_t op_count_cell(const struct op_seen *seen, const struct op_formula *formula)
{
    const struct op_tensor *input = op_arg(seen, 0);
    const struct op_tensor *of_input = op_arg(seen, 2), *hidden = op_arg(seen, 3);

    (void)formula;
    if (!op_is_rank(of_input, 2) || !op_is_rank(hidden, 2) || !input ||
        input->rank > 2 || op_size(input, -1) != op_size(of_input, 1) ||
        op_size(of_input, 0) != op_size(hidden, 0))
        return OP_NO_FLOPS;
    return OP_PRODUCT(2, op_sizes_before(input, -1),
                      op_plus(op_numel(of_input), op_numel(hidden)));
}

/* The hidden state is argument 1, or its first item. */
static const struct op_tensor *state_of(const struct op_seen *seen, uint32_t arg)
{
    const struct op_tensor *state = op_arg(seen, arg);

    return state ? state : op_arg_item(seen, arg, 0);
}

/* A cell with packed weights; it has `a` gates. */
int64_t op_count_packed_cell(const struct op_seen *seen,
                             const struct op_formula *formula)
{
    const struct op_tensor *input = op_arg(seen, 0), *state = state_of(seen, 1);

    if (!op_is_rank(input, 2) || !op_is_rank(state, 2) ||
        op_size(input, 0) != op_size(state, 0))
        return OP_NO_FLOPS;
    return OP_PRODUCT(2, formula->a, op_size(input, 0), op_size(state, 1),
                      op_plus(op_size(input, 1), op_size(state, 1)));
}
