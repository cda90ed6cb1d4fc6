#include "rows/search.h"

#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "rows/sample_rows.h"
#include "rows/search_in.h"

static void begin(struct sample *s)
{
    uint32_t layer, node;

    sample_begin(s, "x.pt");
    build_set_kind(&s->build, 0, PLACE_MODULE);
    for (int i = 0; i < 2; i++) {
        layer = sample_module(s, 0, i ? "layer2" : "layer1", "x.Block", "");
        node = sample_module(s, layer, "conv2", "torch.nn.modules.conv.Conv2d",
                             "in_channels=3 out_channels=8 kernel_size=3,3");
        sample_tensor(s, node, "weight", "8 3 3 3");
        sample_tensor(s, node, "bias", "8");
    }
    sample_finish(s);
}

/* The full names of all matches, each followed by a blank. */
static const char *found(struct sample *s, const char *text)
{
    static struct buf names;
    uint8_t match[8] = {0}, keep[8] = {0};
    struct search *search = search_new(str_of(text), NULL);
    uint32_t n = 0;

    CHECK(search);
    CHECK(s->model->n_places <= 8 * sizeof(match));
    CHECK(search_all(search, &s->show, match, keep, &n, NULL) == 0);
    buf_clear(&names);
    for (uint32_t p = 0; p < s->model->n_places; p++)
        if (bit_get(match, p)) {
            place_path(s->model, p, &names);
            buf_char(&names, ' ');
        }
    search_free(search);
    return buf_cstr(&names);
}

TEST(lower_case_patterns_match_names)
{
    struct sample s;

    begin(&s);
    CHECK_STR(found(&s, "conv2"), "layer1.conv2 layer2.conv2 ");
    CHECK_STR(found(&s, "LAYER"), ""); /* a capital: case counts */
    CHECK_STR(found(&s, "ias"), "layer1.conv2.bias layer2.conv2.bias ");
    sample_release(&s);
}

TEST(lower_case_patterns_match_types_ignoring_case)
{
    struct sample s;

    begin(&s);
    CHECK_STR(found(&s, "conv2d"), "layer1.conv2 layer2.conv2 "); /* only that one */
    CHECK_STR(found(&s, "block"), "layer1 layer2 ");
    CHECK_STR(found(&s, "bloc"), "layer1 layer2 "); /* no name contains it */
    CHECK_STR(found(&s, "blo*"), "layer1 layer2 ");
    CHECK_STR(found(&s, "ns"), "");
    CHECK_STR(found(&s, "conv2d("), "layer1.conv2 layer2.conv2 ");
    sample_release(&s);
}

TEST(a_bar_separates_alternatives)
{
    struct sample s;

    begin(&s);
    CHECK_STR(found(&s, "bias|block"),
              "layer1 layer1.conv2.bias layer2 layer2.conv2.bias ");
    CHECK_STR(found(&s, "bias|"), "layer1.conv2.bias layer2.conv2.bias ");
    CHECK_STR(found(&s, "|"), found(&s, ""));
    CHECK_STR(found(&s, " ias | nothing "), "layer1.conv2.bias layer2.conv2.bias ");
    CHECK_STR(found(&s, "layer1.conv2|2.conv2.w"), "layer1.conv2 layer2.conv2.weight ");
    CHECK_STR(found(&s, "b*s|lay*1"), "layer1 layer1.conv2.bias layer2.conv2.bias ");
    CHECK_STR(found(&s, "Conv2d(|bias"),
              "layer1.conv2 layer1.conv2.bias layer2.conv2 layer2.conv2.bias ");
    sample_release(&s);
}

TEST(patterns_with_capitals_or_sizes_also_match_types)
{
    struct sample s;

    begin(&s);
    CHECK_STR(found(&s, "Conv2d"), "layer1.conv2 layer2.conv2 ");
    CHECK_STR(found(&s, "Block"), "layer1 layer2 ");
    CHECK_STR(found(&s, "8×3×"), "layer1.conv2.weight layer2.conv2.weight ");
    CHECK_STR(found(&s, "(3→8"), "layer1.conv2 layer2.conv2 ");
    sample_release(&s);
}

TEST(patterns_with_dots_match_full_names_but_must_reach_the_last_part)
{
    struct sample s;

    begin(&s);
    CHECK_STR(found(&s, "layer1.conv2"), "layer1.conv2 ");
    CHECK_STR(found(&s, "conv2.b"), "layer1.conv2.bias layer2.conv2.bias ");
    CHECK_STR(found(&s, "1.conv2.w"), "layer1.conv2.weight ");
    sample_release(&s);
}

TEST(globs_match_the_whole)
{
    struct sample s;

    begin(&s);
    CHECK_STR(found(&s, "*.bias"), "layer1.conv2.bias layer2.conv2.bias ");
    CHECK_STR(found(&s, "layer?"), "layer1 layer2 ");
    CHECK_STR(found(&s, "b*"), "layer1.conv2.bias layer2.conv2.bias ");
    CHECK_STR(found(&s, "*2.*"), "layer1.conv2.weight layer1.conv2.bias layer2.conv2 "
                                 "layer2.conv2.weight layer2.conv2.bias ");
    CHECK_STR(found(&s, "conv"), "layer1.conv2 layer2.conv2 ");
    CHECK_STR(found(&s, "con?"), "");
    sample_release(&s);
}

TEST(regular_expressions_follow_the_same_rules)
{
    struct sample s;

    begin(&s);
    CHECK_STR(found(&s, "/^conv\\d$/"), "layer1.conv2 layer2.conv2 ");
    CHECK_STR(found(&s, "/layer[2].*conv2/"), "layer2.conv2 ");
    CHECK_STR(found(&s, "/Conv2d\\(3/"), "layer1.conv2 layer2.conv2 ");
    CHECK_STR(found(&s, "/e.*t/"), "layer1.conv2.weight layer2.conv2.weight ");
    sample_release(&s);
}

/* --- Full names, a letter at a time */

static void begin_names(struct sample *s)
{
    static const char *const names[] = {"a", "b", "ab", "B1", "a.b"};
    uint32_t x, y, z;

    sample_begin(s, "x.pt");
    build_set_kind(&s->build, 0, PLACE_MODULE);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        x = sample_module(s, 0, names[i], "x.Block", "");
        for (size_t j = 0; j < COUNT_OF(names); j++) {
            y = sample_module(s, x, names[j], "x.Block", "");
            z = sample_module(s, y, names[(i + j) % 5], "x.Block", "");
            sample_module(s, z, names[j], "x.Block", "");
        }
    }
    sample_finish(s);
}

/* Check that exactly the names that match as a whole text are found. */
static void check_names(struct sample *s, const char *pattern, bool simple)
{
    struct search *search = search_new(str_of(pattern), NULL);
    struct outline outline;
    uint8_t match[32] = {0}, keep[32] = {0};
    struct buf path = BUF_INIT;
    struct arena arena;
    uint32_t n;

    CHECK(search && s->model->n_places <= 8 * sizeof match);
    arena_init(&arena, 0);
    CHECK(outline_init(&outline, &s->show, &arena, NULL) == 0);
    if (search->paths)
        CHECK((path_search_new(search, &outline, &arena) != NULL) == simple);
    CHECK(search_all(search, &s->show, match, keep, &n, NULL) == 0);
    for (uint32_t p = 1; p < s->model->n_places; p++) {
        struct str name = place_name(s->model, p), all;

        buf_clear(&path);
        place_path(s->model, p, &path);
        all = search->paths ? buf_span(&path) : name;
        CHECK(search_text(search, all, search->paths ? path.len - name.len : 0) ==
              bit_get(match, p));
    }
    buf_release(&path);
    arena_release(&arena);
    search_free(search);
}

TEST(full_names_match_like_plain_strings)
{
    static const char *const simple[] = {
        "a.b",         "b.a.",         ".",
        "ab.b1",       "a.B1",         "a*.b",
        "?.?.*",       "*.*.*b",       "/a.b/",
        "/^a.*b$/",    "/b.+1/",       "/x*./",
        "/^.*$/",      "/[ab].a?b/",   "/[^a]./",
        "/^x*.?/",     "/\\w\\.\\d?/", "/B.*[a-b]/",
        "/[b-]./",     "/[^.]+$/",     "/(a|b)./",
        "/a.|b/",      "/(ab)+./",     "/a.(b|B1)$/",
        "/(?:a.)*b1/", "/^(a|ab).b$/", "/^((a|b+).?)+$/",
        "/(.)?(a|)b/",
    };
    static const char *const others[] = {
        "/a.*?b/",   "/^a.|b/", "/a.|b$/", "/(?i)a./",       "/(?=a)./",
        "/(a).\\1/", "/a.{2}/", "/\\Aa./", "/[[:alpha:]]./", "/a.\\b/",
    };
    struct sample s;

    begin_names(&s);
    for (size_t i = 0; i < COUNT_OF(simple); i++)
        check_names(&s, simple[i], true);
    for (size_t i = 0; i < COUNT_OF(others); i++)
        check_names(&s, others[i], false);
    sample_release(&s);
}

TEST(random_expressions_give_the_same_matches_incrementally)
{
    static const char *const atoms[] = {"a",    "b",    ".",   "\\.",
                                        "[ab]", "[^a]", "\\w", "1"};
    static const char *const repeats[] = {"", "", "*", "+", "?"};
    uint64_t random = 1;
    struct sample s;

    begin_names(&s);
    for (int round = 0; round < 3000; round++) {
        char pattern[64] = "/.";
        size_t at = 2;

        random = hash_mix(random, (uint64_t)round);
        if (random >> 40 & 1) /* else it begins with any letter */
            at = (size_t)snprintf(pattern, sizeof pattern, "/%s.",
                                  random >> 41 & 1 ? "^" : "");
        for (unsigned i = 0; i < 1 + (random >> 50) % 5; i++)
            at += (size_t)snprintf(pattern + at, sizeof pattern - at, "%s%s",
                                   atoms[random >> (6 * i) & 7],
                                   repeats[(random >> (6 * i + 3) & 7) % 5]);
        snprintf(pattern + at, sizeof pattern - at, "%s",
                 random >> 42 & 1 ? "$/" : "/");
        check_names(&s, pattern, true);
    }
    sample_release(&s);
}

TEST(non_ascii_names_are_matched_as_text)
{
    struct sample s;
    uint32_t node;

    sample_begin(&s, "x.pt");
    build_set_kind(&s.build, 0, PLACE_MODULE);
    node = sample_module(&s, 0, "a", "x.Block", "");
    sample_module(&s, node, "é", "x.Block", "");
    sample_module(&s, node, "ab", "x.Block", "");
    sample_finish(&s);
    CHECK_STR(found(&s, "/a..$/"), "a.é ");
    CHECK_STR(found(&s, "/a...$/"), "a.ab ");
    CHECK_STR(found(&s, "a.é"), "a.é ");
    sample_release(&s);
}

TEST(a_wrong_or_endless_expression_is_reported)
{
    struct sample s;
    struct err err = {0};
    uint8_t match[8], keep[8];
    struct search *search;
    uint32_t n;

    CHECK(search_new(STR("/(/"), &err) == NULL);
    CHECK_INT(err.code, ERR_USAGE);
    CHECK(strstr(err.text, "/(/"));
    sample_begin(&s, "x.pt");
    sample_dotted(&s, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac",
                  "1");
    sample_finish(&s);
    search = search_new(STR("/^(a|aa)*[de]/"), NULL);
    CHECK(search_all(search, &s.show, match, keep, &n, &err) == -1);
    CHECK_INT(err.code, ERR_LIMIT);
    search_free(search);
    sample_release(&s);
}

TEST(a_filter_keeps_ancestors_and_descendants_of_matches)
{
    struct view view = VIEW_INIT;
    uint8_t match[8] = {0}, keep[8] = {0};
    struct search *search = search_new(STR("layer2"), NULL);
    struct sample s;
    uint32_t n;

    begin(&s);
    CHECK(search_all(search, &s.show, match, keep, &n, NULL) == 0);
    CHECK_INT(n, 1);
    view.keep = keep;
    CHECK_STR(sample_tree(&s, &view, 60),
              "x.pt\n"
              "├── 448 parameters\n"
              "└── layer2: Block [224 params]\n"
              "    └── conv2: Conv2d(3→8, 3×3) [224 params]\n");
    search_free(search);
    search = search_new(STR("!layer2"), NULL);
    CHECK(search_all(search, &s.show, match, keep, &n, NULL) == 0);
    CHECK_STR(sample_tree(&s, &view, 60),
              "x.pt\n"
              "├── 448 parameters\n"
              "└── layer1: Block [224 params]\n"
              "    └── conv2: Conv2d(3→8, 3×3) [224 params]\n");
    search_free(search);
    sample_release(&s);
}
