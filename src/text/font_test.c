#include "text/font.h"

#include "base/base.h"
#include "base/test.h"

static const char *cut(struct buf *to, const char *text, uint32_t most)
{
    buf_clear(to);
    font_cut_middle(to, str_of(text), FONT_BOLD, most);
    return buf_cstr(to);
}

TEST(text_has_the_widths_of_arial)
{
    CHECK_INT(font_width(STR("Conv2d 3×3"), FONT_REGULAR), 3446 + 278 + 1696);
    CHECK_INT(font_width(STR("mm"), FONT_BOLD), 2 * 889);
    CHECK_INT(font_width(STR("→…"), FONT_REGULAR), 2000);
    CHECK_INT(font_width(STR("é"), FONT_REGULAR), 600);
    CHECK_INT(font_width(STR("層"), FONT_REGULAR), 1000);
    CHECK_INT(font_width(STR("e\xcc\x81"), FONT_REGULAR), 556);
    CHECK_INT(font_width(STR("\xff\xfe"), FONT_REGULAR), 1200);
    CHECK_INT(font_width(STR(""), FONT_BOLD), 0);
    CHECK_NEAR(font_size_width(STR("00"), FONT_REGULAR, 11), 12.232, 1e-9);
}

TEST(a_long_name_loses_its_middle)
{
    struct buf to = BUF_INIT;

    CHECK_STR(cut(&to, "conv1", 9000), "conv1");
    CHECK_STR(cut(&to, "embed_positions_context", 7300), "embed…ontext");
    CHECK_STR(cut(&to, "層層層層層層", 4000), "層層…層");
    CHECK_STR(cut(&to, "abc", 1200), "…");
    CHECK_STR(cut(&to, "abc", 0), "…");
    buf_release(&to);
}

TEST(a_class_line_loses_whole_words_from_its_end)
{
    static const struct font_word words[] = {{{"Conv2d", 6}, ""},
                                             {{"3×3", 4}, " "},
                                             {{"64→64", 7}, ", "},
                                             {{"stride 2", 8}, ", "}};
    static const struct {
        uint32_t most;
        const char *text;
    } cases[] = {{20000, "Conv2d 3×3, 64→64, stride 2"},
                 {12500, "Conv2d 3×3, 64→64, …"},
                 {7000, "Conv2d 3×3, …"},
                 {5500, "Conv2d, …"},
                 {4000, "C…d, …"},
                 {0, "…, …"}};
    struct buf to = BUF_INIT;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        buf_clear(&to);
        font_cut_words(&to, words, COUNT_OF(words), FONT_REGULAR, cases[i].most);
        CHECK_STR(buf_cstr(&to), cases[i].text);
    }
    font_cut_words(&to, words, 0, FONT_REGULAR, 100);
    buf_release(&to);
}
