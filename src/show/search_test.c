#include "show/search.h"

#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "show/sample_in.h"

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

/* The full names of what matches, each with a blank behind it. */
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

TEST(small_letters_look_at_names)
{
    struct sample s;

    begin(&s);
    CHECK_STR(found(&s, "conv2"), "layer1.conv2 layer2.conv2 ");
    CHECK_STR(found(&s, "LAYER"), ""); /* a capital: case counts */
    CHECK_STR(found(&s, "ias"), "layer1.conv2.bias layer2.conv2.bias ");
    CHECK_STR(found(&s, "conv2d"), "");
    sample_release(&s);
}

TEST(a_capital_or_a_size_looks_at_types_too)
{
    struct sample s;

    begin(&s);
    CHECK_STR(found(&s, "Conv2d"), "layer1.conv2 layer2.conv2 ");
    CHECK_STR(found(&s, "Block"), "layer1 layer2 ");
    CHECK_STR(found(&s, "8×3×"), "layer1.conv2.weight layer2.conv2.weight ");
    CHECK_STR(found(&s, "(3→8"), "layer1.conv2 layer2.conv2 ");
    sample_release(&s);
}

TEST(a_dot_looks_at_full_names_but_must_touch_the_own_one)
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

TEST(a_wrong_or_endless_expression_is_told)
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

TEST(a_filter_keeps_what_leads_to_matches_and_stands_below_them)
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
