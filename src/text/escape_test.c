#include "text/escape.h"

#include "base/base.h"
#include "base/test.h"

struct example {
    struct str raw;
    const char *shown;
};

static void check(void (*escape)(struct buf *, struct str),
                  const struct example *examples, size_t n)
{
    struct buf text = BUF_INIT;

    for (size_t i = 0; i < n; i++) {
        escape(&text, examples[i].raw);
        CHECK_STR(buf_cstr(&text), examples[i].shown);
        buf_clear(&text);
    }
    buf_release(&text);
}

TEST(ordinary_names_are_unchanged)
{
    static const struct example examples[] = {
        {STR(""), ""},
        {STR("layer1.0.conv1"), "layer1.0.conv1"},
        {STR("C:\\models"), "C:\\models"},
        {STR("卷积 ü →"), "卷积 ü →"},
    };

    check(escape_terminal, examples, COUNT_OF(examples));
}

TEST(control_and_invisible_characters_become_visible)
{
    static const struct example examples[] = {
        {STR("a\x1b[31mb"), "a\\x1b[31mb"},
        {STR("a\nb\tc\rd\x7f"), "a\\nb\\tc\\rd\\x7f"},
        {STR("\0"), "\\x00"},
        {STR("\xc2\x9b"), "\\u009b"}, /* C1: another ESC [ */
        {STR("a\xe2\x80\xae"
             "b"),
         "a\\u202eb"},                      /* right to left from here on */
        {STR("a\xe2\x80\x8b"), "a\\u200b"}, /* a blank without width */
        {STR("a\xef\xbb\xbf"), "a\\ufeff"},
        {STR("a\xc2\xa0"), "a\\u00a0"},             /* looks like a blank */
        {STR("a\xe3\x85\xa4"), "a\\u3164"},         /* a letter that is not drawn */
        {STR("a\xf3\xa0\x80\xa1"), "a\\U000e0021"}, /* a tag */
        {STR("a\xee\x80\x80"), "a\\ue000"},         /* private use */
    };

    check(escape_terminal, examples, COUNT_OF(examples));
}

TEST(bytes_that_are_not_utf8_are_shown_individually)
{
    static const struct example examples[] = {
        {STR("a\xff\xfe"), "a\\xff\\xfe"},
        {STR("\xc3"), "\\xc3"},
        {STR("\xc0\xaf"), "\\xc0\\xaf"},
        {STR("\xed\xa0\x80"), "\\xed\\xa0\\x80"},
    };

    check(escape_terminal, examples, COUNT_OF(examples));
}

TEST(a_quoted_text_is_a_literal)
{
    static const struct example examples[] = {
        {STR(""), "\"\""},
        {STR("resnet18"), "\"resnet18\""},
        {STR("say \"hi\"\\\n"), "\"say \\\"hi\\\"\\\\\\n\""},
    };

    check(escape_quoted, examples, COUNT_OF(examples));
}

TEST(a_csv_field_cannot_become_a_formula_or_a_second_field)
{
    static const struct example examples[] = {
        {STR("conv1.weight"), "conv1.weight"},
        {STR("a,b"), "\"a,b\""},
        {STR("say \"hi\""), "\"say \"\"hi\"\"\""},
        {STR("=cmd|' /C calc'!A0"), "'=cmd|' /C calc'!A0"},
        {STR("-1,@x"), "\"'-1,@x\""},
        {STR("two\nlines"), "two\\nlines"},
    };

    check(escape_csv, examples, COUNT_OF(examples));
}

TEST(html_is_escaped_as_text)
{
    static const struct example examples[] = {
        {STR("<script>alert('&')</script>"),
         "&lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;"},
        {STR("a\x1b\"b\""), "a\\x1b&quot;b&quot;"},
    };

    check(escape_html, examples, COUNT_OF(examples));
}

#define FSI "\xe2\x81\xa8"
#define PDI "\xe2\x81\xa9"

static void check_isolated(const char *line, const char *isolated)
{
    struct buf text = BUF_INIT;

    escape_isolate(&text, str_of(line));
    CHECK_STR(buf_cstr(&text), isolated);
    buf_release(&text);
}

TEST(right_to_left_names_are_isolated)
{
    check_isolated("", "");
    check_isolated("conv1: ~conv 5×5, 3→6  456", "conv1: ~conv 5×5, 3→6  456");
    check_isolated("卷积 \xff", "卷积 \xff");
    check_isolated("├── שלום  456   0%", "├── " FSI "שלום" PDI "  456   0%");
    check_isolated("مرحبا", FSI "مرحبا" PDI);
    /* A name of several words, with digits, is one; a path is not. */
    check_isolated("שלום עולם_2-ב: 3", FSI "שלום עולם_2-ב" PDI ": 3");
    check_isolated("שלום.עולם 12", FSI "שלום" PDI "." FSI "עולם" PDI " 12");
    /* Marks stay with their letters. */
    check_isolated("שָׁלוֹ 1", FSI "שָׁלוֹ" PDI " 1");
}
