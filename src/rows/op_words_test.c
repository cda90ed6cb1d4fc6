#include "rows/op_words.h"

#include "base/base.h"
#include "base/test.h"
#include "run/sample_block.h"
#include "text/glyph.h"

TEST(operations_have_short_signs)
{
    static const struct {
        const char *name, *sign;
    } golden[] = {
        {"aten::add", "+"},
        {"aten::add_", "+"},
        {"aten::mul", "×"},
        {"aten::bmm", "@"},
        {"aten::_softmax", "softmax"},
        {"aten::_unsafe_view", "view"},
        {"aten::_native_batch_norm_legit", "batch_norm"},
        {"aten::_scaled_dot_product_flash_attention_for_cpu", "sdpa"},
        {"aten::_scaled_dot_product_flash_attention_for_cpu_backward",
         "scaled_dot_product_flash_attention_for_cpu_backward"},
        {"aten::__and__", "&"},
        {"aten::__lshift__", "__lshift__"},
        {"aten::_", "_"},
        {"mylib::add_", "mylib::add_"},
        {"aten::\x1b[31m", "\\x1b[31m"},
        {"", ""},
    };
    struct buf text = BUF_INIT;

    for (size_t i = 0; i < COUNT_OF(golden); i++) {
        buf_clear(&text);
        op_sign(&text, str_of(golden[i].name));
        CHECK_STR(buf_cstr(&text), golden[i].sign);
    }
    buf_clear(&text);
    glyph_to_ascii(&text, "×", 2);
    CHECK_STR(buf_cstr(&text), "x");
    buf_release(&text);
}

TEST(a_convolution_includes_its_number_of_dimensions)
{
    struct run *run = sample_block((struct sample_block_wanted){.nan = true});
    struct buf text = BUF_INIT;
    uint64_t nan, inf;

    op_title(&text, run, &run->ops->ops[0]);
    buf_char(&text, ' ');
    op_shapes(&text, run, &run->ops->ops[0]);
    CHECK_STR(buf_cstr(&text), "conv2d 2×8×8×8");
    op_not_finite(run, &run->ops->ops[4], &nan, &inf);
    CHECK_INT(nan, 3);
    CHECK_INT(inf, 0);
    CHECK(!op_is_view(run, &run->ops->ops[4]) && op_is_view(run, &run->ops->ops[6]));
    buf_release(&text);
    run_free(run);
}
