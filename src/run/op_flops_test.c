#include "run/op_table_in.h"

#include "base/test.h"
#include "model/model.h"

/* The tensor at a position, or an item of the list there. */
#define TENSOR(position, ...) ITEM(position, OP_NO_ITEM, __VA_ARGS__)
#define ITEM(position, at, ...)                                                        \
    {                                                                                  \
        .sizes = (const int64_t[]){__VA_ARGS__},                                       \
        .rank = sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t),              \
        .arg = (position), .item = (at)                                                \
    }
#define TENSORS(...)                                                                   \
    (const struct op_tensor[]){__VA_ARGS__},                                           \
        sizeof((const struct op_tensor[]){__VA_ARGS__}) / sizeof(struct op_tensor)
#define NONE NULL, 0

/* Attributes of one operation. */
struct attributes {
    struct arena arena;
    struct intern strings;
    struct values plain;
    uint32_t items[32], n;
};

static struct attributes *attributes_new(struct attributes *a)
{
    a->n = 0;
    arena_init(&a->arena, 0);
    CHECK(intern_init(&a->strings, &a->arena) == 0);
    CHECK(values_init(&a->plain, &a->arena, &a->strings) == 0);
    return a;
}

static void put(struct attributes *a, const char *key, uint32_t value)
{
    a->items[a->n++] = value_str(&a->plain, str_of(key));
    a->items[a->n++] = value;
}

static void put_list(struct attributes *a, const char *key, bool truths,
                     const int *list, uint32_t n)
{
    uint32_t ids[8];

    for (uint32_t i = 0; i < n; i++)
        ids[i] =
            truths ? value_bool(&a->plain, list[i]) : value_int(&a->plain, list[i]);
    put(a, key, value_make(&a->plain, VALUE_LIST, STR(""), ids, n));
}
#define PUT_INTS(a, key, ...)                                                          \
    put_list(a, key, false, (const int[]){__VA_ARGS__},                                \
             sizeof((const int[]){__VA_ARGS__}) / sizeof(int))
#define PUT_MASK(a, key, ...)                                                          \
    put_list(a, key, true, (const int[]){__VA_ARGS__},                                 \
             sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

static int64_t ask(const char *name, const struct op_tensor *in, size_t n_in,
                   const struct op_tensor *out, size_t n_out, struct attributes *a)
{
    struct op_seen seen = {.name = str_of(name),
                           .in = in,
                           .n_in = (uint32_t)n_in,
                           .out = out,
                           .n_out = (uint32_t)n_out};

    if (a) {
        seen.plain = &a->plain;
        seen.attributes = value_make(&a->plain, VALUE_DICT, STR(""), a->items, a->n);
    }
    return op_flops(&seen);
}

TEST(a_multiply_add_is_two)
{
    CHECK_INT(ask("aten::mm", TENSORS(TENSOR(0, 2, 3), TENSOR(1, 3, 4)), NONE, NULL),
              2 * 2 * 3 * 4);
    CHECK_INT(ask("aten::addmm_",
                  TENSORS(TENSOR(0, 2, 4), TENSOR(1, 2, 3), TENSOR(2, 3, 4)), NONE,
                  NULL),
              48);
    CHECK_INT(ask("aten::baddbmm",
                  TENSORS(TENSOR(0, 5, 2, 4), TENSOR(1, 5, 2, 3), TENSOR(2, 5, 3, 4)),
                  NONE, NULL),
              240);
    CHECK_INT(ask("aten::dot", TENSORS(TENSOR(0, 7), TENSOR(1, 7)), NONE, NULL), 14);
    CHECK_INT(ask("aten::outer", TENSORS(TENSOR(0, 7), TENSOR(1, 3)), NONE, NULL), 21);
    CHECK_INT(ask("aten::mm", TENSORS(TENSOR(0, 0, 3), TENSOR(1, 3, 4)), NONE, NULL),
              0);
}

TEST(batches_of_matmul_broadcast)
{
    CHECK_INT(ask("aten::matmul", TENSORS(TENSOR(0, 5, 1, 2, 3), TENSOR(1, 6, 3, 4)),
                  NONE, NULL),
              5 * 6 * 48);
    CHECK_INT(
        ask("aten::matmul", TENSORS(TENSOR(0, 3), TENSOR(1, 6, 3, 4)), NONE, NULL),
        6 * 24);
    CHECK_INT(ask("aten::matmul", TENSORS(TENSOR(0, 5, 2, 3), TENSOR(1, 6, 3, 4)), NONE,
                  NULL),
              OP_NO_FLOPS);
}

TEST(operations_without_a_formula_have_no_flops)
{
    CHECK_INT(ask("aten::add", TENSORS(TENSOR(0, 2), TENSOR(1, 2)), NONE, NULL),
              OP_NO_FLOPS);
    CHECK_INT(ask("mylib::mm", TENSORS(TENSOR(0, 2, 3), TENSOR(1, 3, 4)), NONE, NULL),
              OP_NO_FLOPS);
}

TEST(arguments_that_do_not_fit_have_no_flops)
{
    const int64_t huge = INT64_MAX / 2;

    CHECK_INT(ask("aten::mm", TENSORS(TENSOR(0, 2, 3), TENSOR(1, 4, 4)), NONE, NULL),
              OP_NO_FLOPS);
    CHECK_INT(ask("aten::mm", TENSORS(TENSOR(0, 1, 2, 3), TENSOR(1, 3, 4)), NONE, NULL),
              OP_NO_FLOPS);
    CHECK_INT(ask("aten::mm", TENSORS(TENSOR(0, 2, 3)), NONE, NULL), OP_NO_FLOPS);
    CHECK_INT(ask("aten::mm", TENSORS(ITEM(0, 0, 2, 3), TENSOR(1, 3, 4)), NONE, NULL),
              OP_NO_FLOPS);
    CHECK_INT(ask("aten::mm", TENSORS(TENSOR(0, 2, -3), TENSOR(1, -3, 4)), NONE, NULL),
              OP_NO_FLOPS);
    CHECK_INT(ask("aten::mm", TENSORS(TENSOR(0, huge, 1), TENSOR(1, 1, 4)), NONE, NULL),
              OP_NO_FLOPS);
    CHECK_INT(ask("aten::dot", TENSORS(TENSOR(0, huge), TENSOR(1, huge)), NONE, NULL),
              INT64_MAX - 1);
    CHECK_INT(ask("aten::_pdist_forward", TENSORS(TENSOR(0, huge, 3)), NONE, NULL),
              OP_NO_FLOPS);
    CHECK_INT(ask("aten::dot", NONE, NONE, NULL), OP_NO_FLOPS);
}

/* Whatever the arguments are, a formula returns a number or OP_NO_FLOPS; sanitizers see
 * the rest. */
TEST(every_formula_survives_any_arguments)
{
    static const int64_t edge[] = {0, 1, -1, INT64_MAX, INT64_MIN, 3, 3, 3, 3, 3};
    struct attributes a;
    struct op_tensor tensors[20];

    attributes_new(&a);
    put(&a, "transposed", value_bool(&a.plain, true));
    PUT_MASK(&a, "output_mask", true, true, true, true);
    put(&a, "equation", value_str(&a.plain, STR("ab,bc->ac")));
    put(&a, "unroll_dim", value_int(&a.plain, INT64_MAX));
    put(&a, "dim", value_int(&a.plain, INT64_MIN));
    put(&a, "mode", value_int(&a.plain, 0));
    put(&a, "p", value_int(&a.plain, 2));
    PUT_INTS(&a, "dims_self", -100, 100);
    PUT_INTS(&a, "dims_other", 100, -100);
    for (uint32_t i = 0; i < op_n_formulas; i++)
        for (uint32_t rank = 0; rank <= 5; rank++)
            for (uint32_t shift = 0; shift <= 5; shift++)
                for (uint32_t lists = 0; lists < 2; lists++) {
                    struct op_seen seen = {.in = tensors,
                                           .n_in = 20,
                                           .out = tensors,
                                           .n_out = 1,
                                           .plain = &a.plain};
                    for (uint16_t k = 0; k < 20; k++)
                        tensors[k] = (struct op_tensor){
                            .sizes = edge + (k + shift) % 6,
                            .rank = (uint8_t)((rank + k) % 5),
                            .arg = lists && k > 1 ? 1 : k,
                            .item = lists && k > 1 ? (uint16_t)(k - 2) : OP_NO_ITEM,
                            .layout = (uint8_t)(k == shift ? LAYOUT_COO : 0),
                            .stored = edge[k % 5]};
                    seen.attributes = shift % 2 ? VALUE_ID_NONE
                                                : value_make(&a.plain, VALUE_DICT,
                                                             STR(""), a.items, a.n);
                    CHECK(op_formulas[i].count(&seen, &op_formulas[i]) >= OP_NO_FLOPS);
                }
    arena_release(&a.arena);
}

TEST(a_sparse_factor_counts_the_elements_that_it_stores)
{
    struct op_tensor in[] = {TENSOR(0, 100, 50), TENSOR(1, 50, 4)};

    in[0].layout = LAYOUT_CSR;
    CHECK_INT(ask("aten::mm", in, 2, NONE, NULL), OP_NO_FLOPS);
    in[0].stored = 30;
    CHECK_INT(ask("aten::mm", in, 2, NONE, NULL), 2 * 30 * 4);
    CHECK_INT(ask("aten::_sparse_mm", in, 2, NONE, NULL), 2 * 30 * 4);
    in[1].layout = LAYOUT_COO;
    in[1].stored = 9;
    CHECK_INT(ask("aten::mm", in, 2, NONE, NULL), OP_NO_FLOPS);
    in[0].layout = LAYOUT_STRIDED;
    CHECK_INT(ask("aten::mm", in, 2, NONE, NULL), 2 * 9 * 100);
    in[0].layout = LAYOUT_NESTED;
    CHECK_INT(ask("aten::mm", in, 2, NONE, NULL), OP_NO_FLOPS);
}

TEST(groups_of_a_product_take_their_part_of_the_rows)
{
    CHECK_INT(ask("aten::_grouped_mm", TENSORS(TENSOR(0, 16, 32), TENSOR(1, 2, 32, 8)),
                  NONE, NULL),
              2 * 16 * 32 * 8);
    CHECK_INT(ask("aten::_grouped_mm",
                  TENSORS(TENSOR(0, 2, 16, 32), TENSOR(1, 2, 32, 8)), NONE, NULL),
              2 * 2 * 16 * 32 * 8);
    CHECK_INT(ask("aten::_grouped_mm", TENSORS(TENSOR(0, 16, 32), TENSOR(1, 32, 8)),
                  NONE, NULL),
              2 * 16 * 32 * 8);
}

TEST(a_convolution_multiplies_its_weight_at_each_position)
{
    struct attributes a;

    attributes_new(&a);
    CHECK_INT(ask("aten::convolution",
                  TENSORS(TENSOR(0, 2, 4, 9, 9), TENSOR(1, 6, 2, 3, 3)),
                  TENSORS(TENSOR(0, 2, 6, 7, 7)), &a),
              OP_NO_FLOPS); /* is it transposed? */
    put(&a, "transposed", value_bool(&a.plain, false));
    CHECK_INT(ask("aten::convolution",
                  TENSORS(TENSOR(0, 2, 4, 9, 9), TENSOR(1, 6, 2, 3, 3)),
                  TENSORS(TENSOR(0, 2, 6, 7, 7)), &a),
              2 * 2 * 49 * 6 * 2 * 9);
    CHECK_INT(ask("aten::convolution",
                  TENSORS(TENSOR(0, 2, 4, 9, 9), TENSOR(1, 6, 3, 3, 3)),
                  TENSORS(TENSOR(0, 2, 6, 7, 7)), &a),
              OP_NO_FLOPS);
    CHECK_INT(ask("aten::conv1d", TENSORS(TENSOR(0, 4, 9), TENSOR(1, 6, 4, 3)),
                  TENSORS(TENSOR(0, 6, 7)), NULL),
              2 * 7 * 6 * 4 * 3); /* without a batch */
    CHECK_INT(ask("aten::conv_transpose1d",
                  TENSORS(TENSOR(0, 2, 4, 9), TENSOR(1, 4, 3, 5)),
                  TENSORS(TENSOR(0, 2, 6, 13)), NULL),
              2 * 2 * 9 * 4 * 3 * 5);
    CHECK_INT(ask("aten::conv2d", TENSORS(TENSOR(0, 2, 4, 9, 9), TENSOR(1, 6, 4, 3, 3)),
                  NONE, NULL),
              OP_NO_FLOPS);
    arena_release(&a.arena);
}

TEST(the_backward_of_a_convolution_counts_the_gradients_of_its_mask)
{
    const struct op_tensor in[] = {TENSOR(0, 2, 6, 7, 7), TENSOR(1, 2, 4, 9, 9),
                                   TENSOR(2, 6, 2, 3, 3)};

    for (int mask = 0; mask < 4; mask++) {
        struct attributes a;

        attributes_new(&a);
        put(&a, "transposed", value_bool(&a.plain, false));
        CHECK_INT(ask("aten::convolution_backward", in, 3, NONE, &a), OP_NO_FLOPS);
        PUT_MASK(&a, "output_mask", mask & 1, mask >> 1, true);
        CHECK_INT(ask("aten::convolution_backward", in, 3, NONE, &a),
                  ((mask & 1) + (mask >> 1)) * 2 * 2 * 49 * 6 * 2 * 9);
        arena_release(&a.arena);
    }
}

TEST(a_quantized_convolution_needs_the_sizes_of_its_packed_weight)
{
    struct attributes a;

    attributes_new(&a);
    CHECK_INT(ask("quantized::conv2d", TENSORS(TENSOR(0, 2, 4, 9, 9)),
                  TENSORS(TENSOR(0, 2, 6, 7, 7)), &a),
              OP_NO_FLOPS);
    PUT_INTS(&a, "sizes", 6, 4, 3, 3);
    a.n = 0;
    put(&a, "packed_weight",
        value_make(&a.plain, VALUE_OBJECT, STR("Packed"), a.items, 2));
    CHECK_INT(ask("quantized::conv2d", TENSORS(TENSOR(0, 2, 4, 9, 9)),
                  TENSORS(TENSOR(0, 2, 6, 7, 7)), &a),
              2 * 2 * 49 * 6 * 4 * 9);
    CHECK_INT(ask("quantized::linear_dynamic", TENSORS(TENSOR(0, 5, 8)),
                  TENSORS(TENSOR(0, 5, 3)), &a),
              2 * 5 * 8 * 3);
    arena_release(&a.arena);
}

TEST(attention_is_two_products_and_five_in_backward)
{
    const struct op_tensor in[] = {TENSOR(0, 2, 8, 5, 16), TENSOR(1, 2, 4, 7, 16),
                                   TENSOR(2, 2, 4, 7, 10)};
    const struct op_tensor back[] = {TENSOR(0, 2, 8, 5, 10), TENSOR(1, 2, 8, 5, 16),
                                     TENSOR(2, 2, 4, 7, 16), TENSOR(3, 2, 4, 7, 10)};
    int64_t pairs = 2 * 8 * 5 * 7;

    CHECK_INT(
        ask("aten::_scaled_dot_product_flash_attention_for_cpu", in, 3, NONE, NULL),
        2 * pairs * (16 + 10));
    CHECK_INT(ask("aten::_scaled_dot_product_flash_attention_for_cpu_backward", back, 4,
                  NONE, NULL),
              2 * pairs * (3 * 16 + 2 * 10));
    CHECK_INT(ask("aten::scaled_dot_product_attention",
                  TENSORS(TENSOR(0, 5, 16), TENSOR(1, 7, 16), TENSOR(2, 7, 10)),
                  TENSORS(TENSOR(0, 5, 10)), NULL),
              2 * 5 * 7 * 26);
    /* (batch, sequence, heads, size) */
    CHECK_INT(ask("aten::_flash_attention_forward",
                  TENSORS(TENSOR(0, 2, 5, 8, 16), TENSOR(1, 2, 7, 4, 16),
                          TENSOR(2, 2, 7, 4, 16)),
                  NONE, NULL),
              2 * pairs * 32);
    CHECK_INT(ask("aten::_flash_attention_forward",
                  TENSORS(TENSOR(0, 10, 8, 16), TENSOR(1, 14, 4, 16),
                          TENSOR(2, 14, 4, 16), TENSOR(3, 3)),
                  NONE, NULL),
              OP_NO_FLOPS);
}

TEST(the_list_of_weights_of_a_recurrent_layer_is_the_last_one)
{
    /* one layer of (input 8, hidden 6): 4 gates */
    CHECK_INT(ask("aten::lstm",
                  TENSORS(TENSOR(0, 5, 3, 8), ITEM(1, 0, 1, 3, 6), ITEM(1, 1, 1, 3, 6),
                          ITEM(2, 0, 24, 8), ITEM(2, 1, 24, 6), ITEM(2, 2, 24),
                          ITEM(2, 3, 24)),
                  NONE, NULL),
              2 * 5 * 3 * 24 * (8 + 6));
    /* packed: (steps, size), batch sizes */
    CHECK_INT(ask("aten::gru",
                  TENSORS(TENSOR(0, 10, 8), TENSOR(1, 5), TENSOR(2, 1, 3, 6),
                          ITEM(3, 0, 18, 8), ITEM(3, 1, 18, 6)),
                  NONE, NULL),
              2 * 10 * 18 * (8 + 6));
    CHECK_INT(ask("aten::gru", TENSORS(TENSOR(0, 10, 8)), NONE, NULL), OP_NO_FLOPS);
    CHECK_INT(ask("aten::mkldnn_rnn_layer_backward",
                  TENSORS(TENSOR(0, 5, 3, 8), TENSOR(1, 24, 8), TENSOR(2, 24, 6)), NONE,
                  NULL),
              2 * 2 * 5 * 3 * 24 * (8 + 6));
}

static int64_t einsum(const char *equation, const struct op_tensor *in, size_t n)
{
    struct attributes a;
    int64_t flops;

    attributes_new(&a);
    put(&a, "equation", value_str(&a.plain, str_of(equation)));
    put(&a, "path", VALUE_ID_NONE);
    flops = ask("aten::einsum", in, n, NONE, &a);
    arena_release(&a.arena);
    return flops;
}

TEST(an_einsum_multiplies_from_left_to_right)
{
    CHECK_INT(einsum("ij,jk->ik", TENSORS(ITEM(1, 0, 2, 3), ITEM(1, 1, 3, 4))), 48);
    CHECK_INT(einsum("ij , jk", TENSORS(ITEM(1, 0, 2, 3), ITEM(1, 1, 3, 4))), 48);
    CHECK_INT(einsum("ij,jk,kl->il",
                     TENSORS(ITEM(1, 0, 2, 3), ITEM(1, 1, 3, 4), ITEM(1, 2, 4, 5))),
              2 * 2 * 3 * 4 + 2 * 2 * 4 * 5);
    CHECK_INT(einsum("...ij,...jk->...ik",
                     TENSORS(ITEM(1, 0, 5, 1, 2, 3), ITEM(1, 1, 6, 3, 4))),
              5 * 6 * 48);
    /* m is summed before */
    CHECK_INT(einsum("ijm,jk->ik", TENSORS(ITEM(1, 0, 2, 3, 9), ITEM(1, 1, 3, 4))), 48);
    /* elementwise */
    CHECK_INT(einsum("i,j->ij", TENSORS(ITEM(1, 0, 2), ITEM(1, 1, 3))), OP_NO_FLOPS);
    CHECK_INT(einsum("ij->ji", TENSORS(ITEM(1, 0, 2, 3))), OP_NO_FLOPS);
}

TEST(a_wrong_equation_has_no_flops)
{
    CHECK_INT(einsum("ij,jk->ik", TENSORS(ITEM(1, 0, 2, 3))), OP_NO_FLOPS);
    CHECK_INT(einsum("ij,jk->ik", TENSORS(ITEM(1, 0, 2, 3), ITEM(1, 1, 9, 4))),
              OP_NO_FLOPS);
    CHECK_INT(einsum("i,jk->ik", TENSORS(ITEM(1, 0, 2, 3), ITEM(1, 1, 3, 4))),
              OP_NO_FLOPS);
    CHECK_INT(einsum("i.,.k->ik", TENSORS(ITEM(1, 0, 2, 3), ITEM(1, 1, 3, 4))),
              OP_NO_FLOPS);
    CHECK_INT(einsum("", TENSORS(ITEM(1, 0, 2, 3), ITEM(1, 1, 3, 4))), OP_NO_FLOPS);
    CHECK_INT(einsum("->,,,", TENSORS(ITEM(1, 0, 2, 3), ITEM(1, 1, 3, 4))),
              OP_NO_FLOPS);
}

TEST(matrices_of_a_chain_are_multiplied_in_the_cheapest_order)
{
    CHECK_INT(ask("aten::linalg_multi_dot",
                  TENSORS(ITEM(0, 0, 10, 100), ITEM(0, 1, 100, 5), ITEM(0, 2, 5, 50)),
                  NONE, NULL),
              2 * (10 * 100 * 5 + 10 * 5 * 50));
    CHECK_INT(ask("aten::linalg_multi_dot",
                  TENSORS(ITEM(0, 0, 100), ITEM(0, 1, 100, 5), ITEM(0, 2, 5)), NONE,
                  NULL),
              2 * (100 * 5 + 5));
    CHECK_INT(ask("aten::linalg_multi_dot", TENSORS(ITEM(0, 0, 4, 5), ITEM(0, 1, 4, 5)),
                  NONE, NULL),
              OP_NO_FLOPS);
}

TEST(a_bag_adds_up_rows)
{
    struct attributes a;

    attributes_new(&a);
    put(&a, "mode", value_int(&a.plain, 1));
    CHECK_INT(ask("aten::_embedding_bag",
                  TENSORS(TENSOR(0, 1000, 8), TENSOR(1, 20), TENSOR(2, 5)), NONE, &a),
              20 * 8);
    CHECK_INT(
        ask("aten::_embedding_bag",
            TENSORS(TENSOR(0, 1000, 8), TENSOR(1, 20), TENSOR(2, 5), TENSOR(6, 20)),
            NONE, &a),
        2 * 20 * 8);
    a.n = 0;
    put(&a, "mode", value_int(&a.plain, 2));
    CHECK_INT(ask("aten::_embedding_bag",
                  TENSORS(TENSOR(0, 1000, 8), TENSOR(1, 20), TENSOR(2, 5)), NONE, &a),
              OP_NO_FLOPS);
    arena_release(&a.arena);
}
