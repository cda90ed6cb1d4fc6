#include "run/op_table_in.h"

#include <stdio.h>

#include "base/test.h"

/* Calls see(name, family) for each listed name. */
static void each_name(void (*see)(struct str name, enum op_family family))
{
    for (int family = 0; family < OP_FAMILY_COUNT; family++) {
        struct str rest = {op_families[family].names, op_families[family].length}, name;

        while (rest.at && str_split(&rest, ' ', &name))
            see(name, (enum op_family)family);
    }
}

static struct str before;
static enum op_family before_family;

static void check_order(struct str name, enum op_family family)
{
    CHECK(name.len > 0);
    if (family == before_family && str_cmp(before, name) >= 0)
        test_fail(__FILE__, __LINE__, "%.*s is not sorted", STR_ARG(name));
    before = name;
    before_family = family;
}

TEST(the_names_of_each_family_are_sorted)
{
    before_family = OP_FAMILY_OTHER;
    each_name(check_order);
}

/* A name in two families would only be found in the first. */
static void check_family(struct str name, enum op_family family)
{
    char full[128];

    CHECK(snprintf(full, sizeof full, "%s%.*s",
                   str_find(name, STR("::")) < 0 ? "aten::" : "",
                   STR_ARG(name)) < (int)sizeof full);
    if (op_family_of(str_of(full)) != family)
        test_fail(__FILE__, __LINE__, "%s is in another family", full);
}

TEST(every_listed_name_is_found_in_its_only_family)
{
    each_name(check_family);
}

TEST(operations_of_onnx_have_families_in_all_domains)
{
    CHECK(op_onnx_sorted());
    CHECK_INT(op_family_of(STR("onnx::Conv")), OP_FAMILY_CONV);
    CHECK_INT(op_family_of(STR("onnx::DequantizeLinear")), OP_FAMILY_COPY);
    CHECK_INT(op_family_of(STR("com.microsoft::FusedMatMul")), OP_FAMILY_MATMUL);
    CHECK_INT(op_family_of(STR("ai.onnx.ml::SVMClassifier")), OP_FAMILY_OTHER);
    CHECK_INT(op_family_of(STR("onnx::Nothing")), OP_FAMILY_OTHER);
    CHECK(str_is(op_short_name(STR("onnx::Conv")), "Conv"));
    CHECK(str_is(op_short_name(STR("com.microsoft::Gelu")), "com.microsoft::Gelu"));
}

static void check_rows(const char *space, const struct op_family_row *rows)
{
    for (int i = 0; i < OP_FAMILY_COUNT; i++) {
        struct str rest = {rows[i].names, rows[i].length}, last = STR(""), one;
        char full[128];

        while (rest.len > 0 && str_split(&rest, ' ', &one)) {
            CHECK(str_cmp(last, one) < 0);
            snprintf(full, sizeof full, "%s::%.*s", space, STR_ARG(one));
            CHECK_INT(op_family_of(str_of(full)), i);
            last = one;
        }
    }
}

TEST(layers_of_keras_and_operators_of_tflite_have_families)
{
    check_rows("keras", op_keras_rows);
    check_rows("tflite", op_tflite_rows);
    CHECK_INT(op_family_of(STR("keras::Conv1D")), OP_FAMILY_CONV);
    CHECK_INT(op_family_of(STR("tflite::DEPTHWISE_CONV_2D")), OP_FAMILY_CONV);
    CHECK_INT(op_family_of(STR("keras::MyLayer")), OP_FAMILY_OTHER);
    CHECK(str_is(op_short_name(STR("keras::Conv2D")), "Conv2D"));
    CHECK(str_is(op_short_name(STR("tflite::ADD")), "ADD"));
}

TEST(formulas_are_sorted_and_belong_to_families_that_are_counted)
{
    for (uint32_t i = 0; i < op_n_formulas; i++) {
        struct str name = str_of(op_formulas[i].name);
        char full[128];
        enum op_family family;

        if (i > 0 && str_cmp(str_of(op_formulas[i - 1].name), name) >= 0)
            test_fail(__FILE__, __LINE__, "%.*s is not sorted", STR_ARG(name));
        snprintf(full, sizeof full, "%s%.*s",
                 str_find(name, STR("::")) < 0 ? "aten::" : "", STR_ARG(name));
        CHECK(op_formula_find(str_of(full)) == &op_formulas[i]);
        family = op_family_of(str_of(full));
        if (!op_family_is_matrix(family) && family != OP_FAMILY_EMBEDDING)
            test_fail(__FILE__, __LINE__, "%s has a formula but is %s", full,
                      op_family_name(family));
    }
}

static const char *family_of(const char *name)
{
    return op_family_name(op_family_of(str_of(name)));
}

TEST(variants_belong_to_the_family_of_their_operation)
{
    CHECK_STR(family_of("aten::add_"), "elementwise");
    CHECK_STR(family_of("aten::_foreach_addcdiv_"), "elementwise");
    CHECK_STR(family_of("aten::threshold_backward"), "activation");
    CHECK_STR(family_of("aten::_log_softmax_backward_data"), "activation");
    CHECK_STR(family_of("aten::native_layer_norm_backward"), "norm");
    CHECK_STR(family_of("aten::convolution_backward"), "conv");
    CHECK_STR(family_of("aten::cudnn_convolution_add_relu"), "conv");
    CHECK_STR(family_of("aten::_scaled_dot_product_flash_attention_for_cpu_backward"),
              "attention");
    CHECK_STR(family_of("aten::_fused_adamw_"), "optimizer");
    CHECK_STR(family_of("aten::_upsample_bilinear2d_aa_backward"), "pool");
    CHECK_STR(family_of("aten::embedding_dense_backward"), "embedding");
    CHECK_STR(family_of("aten::_linalg_svd"), "linalg");
    CHECK_STR(family_of("aten::special_bessel_j0"), "elementwise");
}

TEST(a_copy_of_a_view_is_not_a_view)
{
    CHECK_STR(family_of("aten::expand"), "view");
    CHECK_STR(family_of("aten::expand_copy"), "copy");
    CHECK_STR(family_of("aten::select_backward"), "index");
}

TEST(operations_after_the_products_of_a_cell_are_not_matrix_work)
{
    CHECK_STR(family_of("aten::_thnn_fused_lstm_cell"), "elementwise");
    CHECK_STR(family_of("aten::_thnn_fused_lstm_cell_backward_impl"), "elementwise");
    CHECK_STR(family_of("aten::_cudnn_rnn_flatten_weight"), "copy");
    CHECK_STR(family_of("aten::_cudnn_rnn_backward"), "rnn");
}

TEST(namespaces_that_use_the_names_of_aten_share_its_families)
{
    CHECK_STR(family_of("prims::mul"), "elementwise");
    CHECK_STR(family_of("quantized::linear_relu_dynamic_fp16"), "matmul");
    CHECK_STR(family_of("quantized::linear_leaky_relu"), "matmul");
    CHECK_STR(family_of("quantized::conv2d_add_relu"), "conv");
    CHECK_STR(family_of("quantized::conv2d_prepack"), "copy");
    CHECK_STR(family_of("quantized::conv2d_stride"), "other");
    CHECK_STR(family_of("onednn::qlinear_pointwise"), "matmul");
    CHECK_STR(family_of("mkldnn::_convolution_pointwise"), "conv");
    CHECK_STR(family_of("mkldnn::_reorder_linear_weight"), "copy");
    CHECK_STR(family_of("torchvision::nms"), "index");
    CHECK_STR(family_of("torchvision::_deform_conv2d_backward"), "conv");
    CHECK_STR(family_of("torchvision::_roi_align_backward"), "pool");
}

TEST(families_of_foreign_operations_are_not_guessed_from_names)
{
    CHECK_STR(family_of("mylib::linear"), "other");
    CHECK_STR(family_of("add"), "other");
    CHECK_STR(family_of(""), "other");
    CHECK_STR(family_of("::"), "other");
    CHECK_STR(family_of("aten::"), "other");
    CHECK_STR(family_of("aten::_"), "other");
    CHECK_STR(family_of("aten::add add"), "other");
    CHECK(!op_has_flops(STR("mylib::mm")) && !op_has_flops(STR("mm")));
    CHECK(op_has_flops(STR("aten::mm")) && op_has_flops(STR("aten::addmm_")));
    CHECK(!op_has_flops(STR("aten::add")));
}

TEST(a_family_beyond_the_last_is_named_other)
{
    CHECK_STR(op_family_name(OP_FAMILY_COUNT), "other");
    CHECK(!op_family_is_matrix(OP_FAMILY_COUNT));
    CHECK(op_family_is_matrix(OP_FAMILY_CONV) && !op_family_is_matrix(OP_FAMILY_NORM));
}
