#include "base/str.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"

TEST(spans_are_compared_by_bytes)
{
    CHECK(str_eq(STR("abc"), str_of("abc")));
    CHECK(!str_eq(STR("abc"), STR("abd")));
    CHECK(!str_eq(STR("abc"), STR("ab")));
    CHECK(str_eq(str_of(NULL), STR("")));
    CHECK(str_is(STR("abc"), "abc") && !str_is(STR("abc"), "ab"));
    CHECK(str_cmp(STR("ab"), STR("abc")) < 0);
    CHECK(str_cmp(STR("b"), STR("abc")) > 0);
    CHECK(str_cmp(STR("\xff"), STR("a")) > 0);
    CHECK(str_cmp(STR(""), str_of(NULL)) == 0);
}

TEST(a_span_can_be_tested_for_its_ends)
{
    CHECK(str_starts(STR("model.pth"), STR("model")));
    CHECK(!str_starts(STR("mod"), STR("model")));
    CHECK(str_starts(STR("x"), STR("")) && str_ends(STR("x"), STR("")));
    CHECK(str_ends(STR("model.pth"), STR(".pth")));
    CHECK(!str_ends(STR("pth"), STR(".pth")));
}

TEST(a_cut_never_leaves_the_span)
{
    CHECK(str_is(str_from(STR("abc"), 1), "bc"));
    CHECK_INT(str_from(STR("abc"), 9).len, 0);
    CHECK_INT(str_from(str_of(NULL), 9).len, 0);
    CHECK(str_is(str_head(STR("abc"), 2), "ab"));
    CHECK(str_is(str_head(STR("abc"), 9), "abc"));
    CHECK(str_is(str_trim(STR(" \t a b\r\n")), "a b"));
    CHECK_INT(str_trim(STR("  \n ")).len, 0);
}

TEST(bytes_and_spans_are_found_at_their_offsets)
{
    CHECK_INT(str_find_char(STR("a.b.c"), '.'), 1);
    CHECK_INT(str_find_last_char(STR("a.b.c"), '.'), 3);
    CHECK_INT(str_find_char(STR("abc"), '.'), -1);
    CHECK_INT(str_find_last_char(str_of(NULL), '.'), -1);
    CHECK_INT(str_find(STR("aababc"), STR("abc")), 3);
    CHECK_INT(str_find(STR("aabab"), STR("abc")), -1);
    CHECK_INT(str_find(STR("ab"), STR("abc")), -1);
    CHECK_INT(str_find(STR("abc"), STR("")), 0);
    CHECK_INT(str_find(str_of(NULL), STR("a")), -1);
}

TEST(splitting_gives_every_part_once)
{
    struct str rest = STR("a..b"), part;

    CHECK(str_split(&rest, '.', &part) && str_is(part, "a"));
    CHECK(str_split(&rest, '.', &part) && str_is(part, ""));
    CHECK(str_split(&rest, '.', &part) && str_is(part, "b"));
    CHECK(!str_split(&rest, '.', &part));
    rest = STR("");
    CHECK(str_split(&rest, '.', &part) && part.len == 0);
    CHECK(!str_split(&rest, '.', &part));
    rest = STR("a.");
    CHECK(str_split(&rest, '.', &part) && str_is(part, "a"));
    CHECK(str_split(&rest, '.', &part) && str_is(part, ""));
    CHECK(!str_split(&rest, '.', &part));
}

TEST(integers_are_read_if_they_fit)
{
    uint64_t u = 7;
    int64_t i = 7;

    CHECK(str_to_u64(STR("18446744073709551615"), &u) && u == UINT64_MAX);
    CHECK(str_to_u64(STR("007"), &u) && u == 7);
    CHECK(!str_to_u64(STR("18446744073709551616"), &u) && u == 7);
    CHECK(!str_to_u64(STR("99999999999999999999999"), &u));
    CHECK(!str_to_u64(STR(""), &u) && !str_to_u64(STR("1 "), &u));
    CHECK(!str_to_u64(STR("-1"), &u) && !str_to_u64(STR("+1"), &u));
    CHECK(str_to_i64(STR("-9223372036854775808"), &i) && i == INT64_MIN);
    CHECK(str_to_i64(STR("9223372036854775807"), &i) && i == INT64_MAX);
    CHECK(!str_to_i64(STR("9223372036854775808"), &i));
    CHECK(!str_to_i64(STR("-9223372036854775809"), &i) && i == INT64_MAX);
    CHECK(!str_to_i64(STR("-"), &i) && !str_to_i64(STR("--1"), &i));
}

TEST(reals_are_read_in_decimal_only)
{
    double value = 7;

    CHECK(str_to_double(STR("-1.5e3"), &value) && value == -1500);
    CHECK(str_to_double(STR("0.1"), &value) && value == 0.1);
    CHECK(str_to_double(STR("nan"), &value) && isnan(value));
    CHECK(str_to_double(STR("inf"), &value) && isinf(value) && value > 0);
    CHECK(str_to_double(STR("-inf"), &value) && isinf(value) && value < 0);
    value = 7;
    CHECK(!str_to_double(STR(""), &value) && !str_to_double(STR("1.5x"), &value));
    CHECK(!str_to_double(STR("0x10"), &value) && !str_to_double(STR(" 1"), &value));
    CHECK(!str_to_double(STR("nan(1)"), &value) && !str_to_double(STR("1e"), &value));
    CHECK(!str_to_double(STR("1\0"), &value));
    CHECK(value == 7);
}

TEST(a_real_of_any_length_is_read)
{
    char digits[2000];
    double value;

    memset(digits, '0', sizeof digits);
    memcpy(digits, "2.5", 3);
    CHECK(str_to_double(str_span(digits, sizeof digits), &value) && value == 2.5);
}

TEST(a_locale_with_commas_changes_nothing)
{
    double value;

    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8"))
        SKIP("no German locale here");
    CHECK(str_to_double(STR("1.5"), &value) && value == 1.5);
    setlocale(LC_NUMERIC, "C");
}

TEST(words_are_compared_ignoring_case)
{
    CHECK(str_is_word(STR("Flow"), "flow") && str_is_word(STR("FLOW"), "flow"));
    CHECK(!str_is_word(STR("flows"), "flow") && !str_is_word(STR("flo"), "flow"));
    CHECK(str_starts_word(STR("sort"), STR("So")) &&
          !str_starts_word(STR("s"), STR("so")));
    CHECK(str_starts_word(STR(""), STR("")) && !str_is_word(STR("["), "{"));
}

TEST(equal_texts_have_equal_hashes_at_any_address)
{
    char text[] = "xlayers.0.weight";

    CHECK(str_hash(STR("")) == str_hash(str_of(NULL)));
    CHECK(str_hash(STR("layers.0.weight")) == str_hash(str_of(text + 1)));
}

/* The two words differ only in the highest bit after a product with an odd number;
 * without a seed, a second difference would always undo the first. */
TEST(a_difference_cannot_be_undone_without_knowing_the_seed)
{
    uint64_t a = 0x0123456789abcdef, undone = 0;

    for (int bit = 0; bit < 64; bit++)
        undone += hash_mix(hash_mix(0, a), 0) ==
                  hash_mix(hash_mix(0, a ^ (uint64_t)1 << 63), (uint64_t)1 << bit);
    CHECK_INT(undone, 0);
}

/* Statistical tests use a fixed seed. */
static void use_seed(uint64_t seed[2])
{
    memcpy(hash_seed, seed, sizeof hash_seed);
}

TEST(every_bit_of_a_text_changes_about_half_of_its_hash)
{
    uint64_t chosen[2] = {hash_seed[0], hash_seed[1]};
    char text[40];
    size_t len, bit;

    use_seed((uint64_t[2]){0x243f6a8885a308d3u, 0x13198a2e03707344u});
    for (len = 1; len <= sizeof text; len++) {
        uint64_t before;
        int changed = 0;

        memset(text, 'a', sizeof text);
        before = str_hash(str_span(text, len));
        for (bit = 0; bit < 8 * len; bit++) {
            text[bit / 8] ^= (char)(1 << bit % 8);
            changed += __builtin_popcountll(before ^ str_hash(str_span(text, len)));
            text[bit / 8] ^= (char)(1 << bit % 8);
        }
        CHECK_NEAR((double)changed / (8.0 * (double)len), 32, 6);
    }
    use_seed(chosen);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

TEST(names_that_differ_in_numbers_only_do_not_share_low_bits)
{
    enum { N = 1 << 15 };
    static uint64_t low[N];
    uint64_t chosen[2] = {hash_seed[0], hash_seed[1]};
    uint64_t distinct = 1;
    char name[64];
    int i;

    use_seed((uint64_t[2]){0x243f6a8885a308d3u, 0x13198a2e03707344u});
    for (i = 0; i < N; i++) {
        snprintf(name, sizeof name, "model.layers.%d.experts.%d.weight", i / 64,
                 i % 64);
        low[i] = str_hash(str_of(name)) % N;
    }
    use_seed(chosen);
    qsort(low, N, sizeof low[0], by_value);
    for (i = 1; i < N; i++)
        distinct += low[i] != low[i - 1];
    /* Random hashes fill 1 - 1/e of N slots: 20713. */
    CHECK_NEAR((double)distinct, 20713, 300);
}

TEST(mixing_values_depends_on_their_order)
{
    CHECK(hash_mix(hash_mix(0, 1), 2) != hash_mix(hash_mix(0, 2), 1));
    CHECK(hash_u64(1) != hash_u64(2));
}
