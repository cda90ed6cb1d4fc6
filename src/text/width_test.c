#include "text/width.h"

#include "base/test.h"

static struct buf text = BUF_INIT;

static const char *made(void)
{
    static char kept[128];

    CHECK(text.len < sizeof(kept));
    kept[0] = '\0';
    for (size_t i = 0; i < text.len; i++) {
        kept[i] = text.at[i];
        kept[i + 1] = '\0';
    }
    buf_release(&text);
    return kept;
}

TEST(widths_are_cells)
{
    CHECK_INT(text_width(STR("")), 0);
    CHECK_INT(text_width(STR("conv1")), 5);
    CHECK_INT(text_width(STR("~conv 5×5, 3→6")), 14);
    CHECK_INT(text_width(STR("卷积")), 4);
    CHECK_INT(text_width(STR("e\xcc\x81")), 1); /* a base and its accent */
    CHECK_INT(text_width(STR("\xff")), 1);
}

TEST(a_text_that_fits_is_not_cut)
{
    text_cut(&text, STR("conv1"), 5, "…");
    CHECK_STR(made(), "conv1");
    text_cut_middle(&text, STR("conv1"), 5, "…");
    CHECK_STR(made(), "conv1");
}

TEST(a_cut_text_ends_in_an_ellipsis)
{
    text_cut(&text, STR("Conv2d(64, 64)"), 8, "…");
    CHECK_STR(made(), "Conv2d(…");
    text_cut(&text, STR("Conv2d"), 3, "~");
    CHECK_STR(made(), "Co~");
    text_cut(&text, STR("Conv2d"), 1, "…");
    CHECK_STR(made(), "…");
    text_cut(&text, STR("Conv2d"), 0, "…");
    CHECK_STR(made(), "");
}

TEST(a_path_keeps_its_end)
{
    text_cut_front(&text, STR("layer4.0.conv2"), 14, "…");
    CHECK_STR(made(), "layer4.0.conv2");
    text_cut_front(&text, STR("layer4.0.conv2"), 8, "…");
    CHECK_STR(made(), "…0.conv2");
    text_cut_front(&text, STR("卷积核"), 4, "…");
    CHECK_STR(made(), "…核");
    text_cut_front(&text, STR("abc"), 0, "…");
    CHECK_STR(made(), "");
}

TEST(a_shape_keeps_its_last_dimensions)
{
    text_cut_shape(&text, STR("1×64×56×56"), 10, "…", "×");
    CHECK_STR(made(), "1×64×56×56");
    text_cut_shape(&text, STR("1×64×56×56"), 9, "…", "×");
    CHECK_STR(made(), "…×56×56");
    text_cut_shape(&text, STR("1x64x56x56"), 6, "~", "x");
    CHECK_STR(made(), "~x56");
    text_cut_shape(&text, STR("1×64×56×56"), 3, "…", "×");
    CHECK_STR(made(), "…");
    text_cut_shape(&text, STR("1000"), 3, "…", "×");
    CHECK_STR(made(), "…");
    text_cut_shape(&text, STR("1000"), 0, "…", "×");
    CHECK_STR(made(), "");
}

TEST(a_list_of_shapes_loses_whole_members)
{
    struct str list = STR("weight: 64×3, bias: 64");

    text_cut_shapes(&text, list, 22, "…", "×");
    CHECK_STR(made(), "weight: 64×3, bias: 64");
    text_cut_shapes(&text, list, 21, "…", "×");
    CHECK_STR(made(), "weight: 64×3, …");
    text_cut_shapes(&text, list, 15, "…", "×");
    CHECK_STR(made(), "weight: 64×3, …");
    text_cut_shapes(&text, list, 11, "…", "×");
    CHECK_STR(made(), "weight: …×3");
    text_cut_shapes(&text, list, 9, "…", "×");
    CHECK_STR(made(), "weight: …");
    text_cut_shapes(&text, list, 5, "…", "×");
    CHECK_STR(made(), "weig…");
}

TEST(the_middle_goes_first)
{
    text_cut_middle(&text, STR("embed_for_context"), 11, "…");
    CHECK_STR(made(), "embed…ntext");
    text_cut_middle(&text, STR("abcdef"), 4, "…");
    CHECK_STR(made(), "ab…f");
    text_cut_middle(&text, STR("abcdef"), 1, "…");
    CHECK_STR(made(), "…");
}

TEST(a_wide_character_never_straddles_the_edge)
{
    text_cut(&text, STR("卷积层"), 4, "…"); /* three cells are left: one character */
    CHECK_STR(made(), "卷…");
    text_cut_middle(&text, STR("卷积层卷积层"), 6, "…");
    CHECK_STR(made(), "卷…层");
}

TEST(marks_stay_with_their_base)
{
    text_cut(&text, STR("ae\xcc\x81xyz"), 3, "…");
    CHECK_STR(made(), "ae\xcc\x81…");
    text_cut_middle(&text, STR("abcde\xcc\x81z"), 4, "…"); /* the tail is z alone */
    CHECK_STR(made(), "ab…z");
}

TEST(padding_counts_cells)
{
    text_pad(&text, STR("卷"), 4);
    text_pad_left(&text, STR("×"), 3);
    text_pad(&text, STR("long"), 2);
    CHECK_STR(made(), "卷    ×long");
}

TEST(lines_end_at_blanks)
{
    struct str words = STR("torch zip (7 entries)");

    CHECK_INT(text_wrap(words, 21), 21);
    CHECK_INT(text_wrap(words, 20), 12);
    CHECK_INT(text_wrap(words, 12), 12);
    CHECK_INT(text_wrap(words, 11), 9);
    CHECK_INT(text_wrap(words, 1), 5);                      /* a word stays whole */
    CHECK_INT(text_wrap(STR("min -1.5  max 2.25"), 14), 8); /* not behind "max" */
    CHECK_INT(text_wrap(STR("float32"), 3), 7);
    CHECK_INT(text_wrap(STR("3×224×224 a"), 9), 11);
}
