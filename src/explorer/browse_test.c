#include "explorer/browse.h"

#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "explorer/resnet_in.h"

/* A sample and the navigation in it. */
struct walk {
    struct sample s;
    struct browse *b;
    struct buf text;
};

static void begin_walk(struct walk *w)
{
    w->b = browse_new(&w->s.show, NULL);
    CHECK(w->b);
    w->text = (struct buf)BUF_INIT;
    browse_resize(w->b, 30);
}

static void begin_resnet(struct walk *w)
{
    resnet_begin(&w->s, false);
    begin_walk(w);
}

static void end_walk(struct walk *w)
{
    browse_free(w->b);
    buf_release(&w->text);
    sample_release(&w->s);
}

static uint32_t place_of(struct walk *w, const char *name)
{
    uint32_t place = place_find(w->s.model, str_of(name));

    CHECK(place != NO_PLACE);
    return place;
}

/* The cursor: "row 4/37 layer1.0.conv2". */
static const char *where(struct walk *w)
{
    buf_clear(&w->text);
    buf_printf(&w->text, "row %u/%u ", browse_cursor(w->b) + 1, browse_rows(w->b)->n);
    place_path(w->s.model, browse_place(w->b), &w->text);
    return buf_cstr(&w->text);
}

/* The names of all rows, each followed by a blank; "12×" before a run. */
static const char *names(struct walk *w)
{
    buf_clear(&w->text);
    for (uint32_t i = 0; i < browse_rows(w->b)->n; i++) {
        struct row row = rows_at(browse_rows(w->b), i);

        if (row.count > 1)
            buf_printf(&w->text, "%u×", row.count);
        if (browse_view(w->b)->flat)
            place_path(w->s.model, row.place, &w->text);
        else
            buf_str(&w->text, place_name(w->s.model, row.place));
        buf_char(&w->text, ' ');
    }
    return buf_cstr(&w->text);
}

static void search(struct walk *w, const char *text)
{
    CHECK(browse_search(w->b, str_of(text), NULL) == 0);
}

TEST(a_model_opens_one_level)
{
    struct walk w;

    begin_resnet(&w);
    CHECK_STR(where(&w), "row 1/11 ");
    CHECK_STR(names(&w),
              " conv1 bn1 relu maxpool layer1 layer2 layer3 layer4 avgpool fc ");
    CHECK(browse_move(w.b, 9));
    CHECK_STR(where(&w), "row 10/11 avgpool");
    CHECK(browse_last(w.b));
    CHECK_STR(where(&w), "row 11/11 fc");
    CHECK(!browse_last(w.b));
    CHECK(browse_open(w.b)); /* l: its tensors */
    CHECK_STR(where(&w), "row 11/13 fc");
    CHECK(browse_child(w.b));
    CHECK_STR(where(&w), "row 12/13 fc.weight");
    CHECK(browse_parent(w.b));
    CHECK(browse_close(w.b));
    CHECK_STR(where(&w), "row 11/11 fc");
    end_walk(&w);
}

TEST(scenario_2_folding_and_searching)
{
    struct walk w;

    begin_resnet(&w);
    CHECK(browse_fold(w.b, FOLD_ALL));
    CHECK_STR(where(&w), "row 1/151 ");
    search(&w, "c");
    search(&w, "conv");
    search(&w, "conv2");
    CHECK_STR(where(&w), "row 4/37 layer1.0.conv2");
    CHECK_INT(browse_matches(w.b), 16);
    CHECK_INT(browse_match_number(w.b), 1);
    CHECK(browse_filtering(w.b));
    CHECK(browse_fold(w.b, FOLD_CLASS));
    CHECK_STR(where(&w), "row 4/53 layer1.0.conv2");
    CHECK_STR(browse_rows(w.b)->n > 5 ? "" : "few", "");
    CHECK(browse_next_match(w.b, 1));
    CHECK_INT(browse_match_number(w.b), 2);
    CHECK_STR(where(&w), "row 7/53 layer1.1.conv2");
    CHECK(browse_clear(w.b));
    CHECK_INT(browse_matches(w.b), 0);
    CHECK_INT(browse_rows(w.b)->n, 204);
    CHECK_INT(browse_place(w.b), place_of(&w, "layer1.1.conv2"));
    CHECK(browse_fold(w.b, FOLD_ALL));
    CHECK_STR(where(&w), "row 6/11 layer1");
    end_walk(&w);
}

TEST(trainable_finds_modules_with_direct_trainable_parameters)
{
    struct walk w;

    resnet_begin(&w.s, true);
    begin_walk(&w);
    search(&w, "trainable");
    CHECK_STR(names(&w), " fc ");
    CHECK_STR(where(&w), "row 2/2 fc");
    CHECK_INT(browse_matches(w.b), 1);
    search(&w, "frozen");
    CHECK_INT(browse_matches(w.b), 53 + 53);
    CHECK(browse_clear(w.b));
    CHECK(browse_flat(w.b, FLAT_TENSORS));
    search(&w, "trainable");
    CHECK_STR(names(&w), "fc.weight fc.bias ");
    CHECK_INT(browse_matches(w.b), 2);
    end_walk(&w);
}

TEST(scenario_4_orders_and_the_flat_list)
{
    struct walk w;
    uint32_t place;

    begin_resnet(&w);
    CHECK(browse_sort(w.b, SORT_PARAMS, false));
    CHECK_STR(names(&w),
              " layer4 layer3 fc layer2 layer1 conv1 bn1 relu maxpool avgpool ");
    CHECK(browse_sort(w.b, SORT_MODEL, false));
    CHECK(browse_flat(w.b, FLAT_LEAVES));
    CHECK(browse_sort(w.b, SORT_PARAMS, false));
    CHECK_INT(browse_rows(w.b)->n, 126);
    CHECK(strncmp(names(&w),
                  "layer4.0.conv2 layer4.1.conv2 layer4.2.conv2 "
                  "layer4.0.downsample.0 fc ",
                  70) == 0);
    CHECK_INT(browse_cursor(w.b), 0);
    CHECK_INT(browse_top(w.b), 0);
    CHECK(browse_move(w.b, 3));
    place = browse_place(w.b);
    CHECK(browse_flat(w.b, FLAT_NO));
    CHECK_INT(browse_place(w.b), place);
    CHECK_INT(place, place_of(&w, "layer4.0.downsample.0"));
    end_walk(&w);
}

TEST(scenario_5_the_same_class_is_counted_in_the_whole_model)
{
    struct str class_name;
    struct walk w;
    uint32_t which, of, same = 0;

    begin_resnet(&w);
    CHECK(browse_go(w.b, place_of(&w, "layer1.0")));
    CHECK(browse_same(w.b, &which, &of, &class_name));
    CHECK_INT(which, 1);
    CHECK_INT(of, 16);
    CHECK(str_is(class_name, "Bottleneck"));
    for (uint32_t i = 2; i <= 4; i++) {
        char name[] = "layer0";

        name[5] = (char)('0' + i);
        browse_go(w.b, place_of(&w, name));
        CHECK(browse_open(w.b));
    }
    browse_go(w.b, place_of(&w, "layer1.0"));
    for (uint32_t i = 0; i < browse_rows(w.b)->n; i++) {
        struct row row = rows_at(browse_rows(w.b), i);

        same += browse_is_same(w.b, &row);
    }
    CHECK_INT(same, 16);
    end_walk(&w);
}

TEST(scenario_8_runs_open_by_X_or_by_entering_them)
{
    struct walk w;

    gpt2_begin(&w.s);
    begin_walk(&w);
    CHECK(browse_fold(w.b, FOLD_ALL));
    CHECK_STR(names(&w), " transformer wte drop h 12×0 lm_head ");
    CHECK(browse_go(w.b, place_of(&w, "lm_head")));
    CHECK(browse_open(w.b));
    CHECK(browse_child(w.b));
    CHECK_STR(where(&w), "row 8/8 lm_head.weight");
    CHECK(browse_go(w.b, place_of(&w, "transformer.wte.weight")));
    CHECK_STR(where(&w), "row 4/9 transformer.wte.weight");
    CHECK(browse_back(w.b));
    CHECK_STR(where(&w), "row 9/9 lm_head.weight");
    CHECK(browse_runs(w.b));
    CHECK_STR(names(&w), " transformer wte weight drop h 0 1 2 3 4 5 6 7 8 9 10 11 "
                         "lm_head weight ");
    CHECK(browse_runs(w.b));
    CHECK_STR(names(&w), " transformer wte weight drop h 12×0 lm_head weight ");
    CHECK(browse_go(w.b, place_of(&w, "transformer.h.7.mlp")));
    CHECK_STR(
        names(&w),
        " transformer wte weight drop h 0 1 2 3 4 5 6 7 attn c_attn c_proj mlp 8 9 "
        "10 11 lm_head weight ");
    CHECK_INT(browse_place(w.b), place_of(&w, "transformer.h.7.mlp"));
    end_walk(&w);
}

/* --- Folding */

TEST(folding_a_parent_keeps_the_folds_below_it)
{
    struct walk w;

    begin_resnet(&w);
    CHECK(browse_go(w.b, place_of(&w, "layer1.0.conv2")));
    CHECK_STR(where(&w), "row 10/22 layer1.0.conv2");
    CHECK(browse_fold(w.b, FOLD_ROW));
    CHECK_INT(browse_rows(w.b)->n, 23);
    browse_select(w.b, 5);
    CHECK(browse_close(w.b)); /* layer1 */
    CHECK_STR(where(&w), "row 6/11 layer1");
    CHECK(browse_open(w.b));
    CHECK_INT(browse_rows(w.b)->n, 23);
    end_walk(&w);
}

TEST(a_subtree_and_siblings_are_folded_at_once)
{
    struct walk w;

    begin_resnet(&w);
    browse_go(w.b, place_of(&w, "layer1"));
    CHECK(browse_fold(w.b, FOLD_SUBTREE)); /* three blocks, 7 + 3 + 7 + 7 in them */
    CHECK_INT(browse_rows(w.b)->n, 11 + 3 + 8 + 2 + 7 + 7);
    CHECK(browse_fold(w.b, FOLD_SUBTREE));
    CHECK_INT(browse_rows(w.b)->n, 11);
    CHECK(browse_open(w.b));
    CHECK_INT(browse_rows(w.b)->n, 14); /* the rows below were folded, too */
    CHECK(browse_close(w.b));
    CHECK(browse_fold(w.b, FOLD_SIBLINGS));
    CHECK_INT(browse_rows(w.b)->n, 11 + 16); /* modules, no tensors */
    CHECK(browse_fold(w.b, FOLD_SIBLINGS));
    CHECK_INT(browse_rows(w.b)->n, 11);
    CHECK(browse_fold(w.b, FOLD_SIBLINGS_BELOW));
    CHECK_INT(browse_rows(w.b)->n, 151);
    browse_go(w.b, place_of(&w, "conv1")); /* cannot be opened by this key */
    CHECK(browse_fold(w.b, FOLD_SIBLINGS_BELOW));
    CHECK_INT(browse_rows(w.b)->n, 11);
    CHECK(!browse_fold(w.b, FOLD_SUBTREE));
    CHECK(browse_message(w.b).len > 0);
    end_walk(&w);
}

TEST(a_class_is_folded_in_the_whole_model)
{
    struct walk w;

    begin_resnet(&w);
    browse_go(w.b, place_of(&w, "layer1"));
    CHECK(browse_fold(w.b, FOLD_CLASS)); /* Sequential, including those of downsample */
    CHECK_INT(browse_rows(w.b)->n, 11 + 16);
    browse_go(w.b, place_of(&w, "layer1.0"));
    CHECK(browse_open(w.b));
    CHECK_INT(browse_rows(w.b)->n, 11 + 16 + 8 + 2);
    CHECK(browse_fold(w.b, FOLD_CLASS_BELOW));
    CHECK_INT(browse_rows(w.b)->n, 11 + 16);
    CHECK(browse_fold(w.b, FOLD_CLASS_BELOW));
    CHECK_INT(browse_rows(w.b)->n, 151);
    browse_go(w.b, place_of(&w, "bn1"));
    CHECK(browse_fold(w.b, FOLD_CLASS)); /* no submodules: its tensors */
    CHECK_INT(browse_rows(w.b)->n, 151 + 53 * 5);
    CHECK(browse_fold(w.b, FOLD_CLASS));
    CHECK_INT(browse_rows(w.b)->n, 151);
    browse_go(w.b, place_of(&w, "relu"));
    CHECK(!browse_fold(w.b, FOLD_CLASS));
    CHECK(str_is(browse_message(w.b), "nothing below"));
    end_walk(&w);
}

TEST(folds_by_depth_and_by_name)
{
    struct walk w;
    uint32_t open[2];

    begin_resnet(&w);
    CHECK(browse_depth(w.b, 2));
    CHECK_INT(browse_rows(w.b)->n, 11 + 16);
    CHECK(browse_depth(w.b, 0));
    CHECK_INT(browse_rows(w.b)->n, 1);
    CHECK(browse_depth(w.b, 100));
    CHECK_INT(browse_rows(w.b)->n, 151);
    open[0] = place_of(&w, "layer2");
    open[1] = place_of(&w, "layer1.0");
    CHECK(browse_set_open(w.b, open, 2));
    CHECK_INT(browse_rows(w.b)->n, 11 + 4 + 3 + 8);
    end_walk(&w);
}

TEST(sibling_keys_move_among_siblings)
{
    struct walk w;

    begin_resnet(&w);
    browse_go(w.b, place_of(&w, "layer1.0.conv1"));
    browse_go(w.b, place_of(&w, "layer1"));
    CHECK(browse_sibling(w.b, 1));
    CHECK_INT(browse_place(w.b), place_of(&w, "layer2"));
    CHECK(browse_sibling(w.b, -1));
    CHECK_INT(browse_place(w.b), place_of(&w, "layer1"));
    CHECK(browse_sibling(w.b, -1));
    CHECK_INT(browse_place(w.b), place_of(&w, "maxpool"));
    browse_go(w.b, place_of(&w, "layer1.2"));
    CHECK(!browse_sibling(w.b, 1));
    CHECK(browse_message(w.b).len > 0);
    browse_go(w.b, place_of(&w, "layer1.0.conv1"));
    CHECK(!browse_sibling(w.b, -1));
    end_walk(&w);
}

TEST(a_level_with_a_single_child_opens_recursively)
{
    struct walk w;

    sample_begin(&w.s, "x.ckpt");
    uint32_t state = build_node(&w.s.build, 0, PLACE_GROUP, STR("state_dict"));
    uint32_t model = build_node(&w.s.build, state, PLACE_MODULE, STR("module"));
    uint32_t fc = build_node(&w.s.build, model, PLACE_MODULE, STR("fc"));

    sample_tensor(&w.s, fc, "weight", "4 4");
    fc = build_node(&w.s.build, model, PLACE_MODULE, STR("head"));
    sample_tensor(&w.s, build_node(&w.s.build, fc, PLACE_MODULE, STR("0")), "weight",
                  "4 4");
    sample_finish(&w.s);
    begin_walk(&w);
    CHECK_STR(names(&w), " state_dict module fc head ");
    CHECK(browse_fold(w.b, FOLD_ALL)); /* nothing else is open: unfold */
    CHECK_STR(names(&w), " state_dict module fc head 0 ");
    CHECK(browse_fold(w.b, FOLD_ALL));
    CHECK_STR(names(&w), " state_dict module fc head ");
    end_walk(&w);
}

/* --- Search */

TEST(a_filter_temporarily_opens_ancestors_of_matches)
{
    struct walk w;

    begin_resnet(&w);
    search(&w, "downsample");
    CHECK_STR(names(&w), " layer1 0 downsample layer2 0 downsample layer3 0 downsample "
                         "layer4 0 downsample ");
    CHECK_STR(where(&w), "row 4/13 layer1.0.downsample");
    CHECK(browse_open(w.b)); /* open rows below a match are shown */
    CHECK_STR(where(&w), "row 4/15 layer1.0.downsample");
    browse_select(w.b, 1);
    CHECK(browse_close(w.b)); /* layer1 */
    CHECK_INT(browse_rows(w.b)->n, 11);
    CHECK_INT(browse_match_number(w.b), 0);
    CHECK(browse_next_match(w.b, 1)); /* opens what was folded */
    CHECK_STR(where(&w), "row 4/15 layer1.0.downsample");
    CHECK(browse_next_match(w.b, -1)); /* wraps around */
    CHECK_STR(where(&w), "row 15/15 layer4.0.downsample");
    CHECK_INT(browse_match_number(w.b), 4);
    CHECK(browse_clear(w.b));
    CHECK_STR(names(&w), " conv1 bn1 relu maxpool layer1 layer2 layer3 layer4 0 conv1 "
                         "bn1 conv2 bn2 conv3 bn3 relu downsample 1 2 avgpool fc ");
    CHECK_INT(browse_place(w.b), place_of(&w, "layer4.0.downsample"));
    CHECK(!browse_clear(w.b));
    end_walk(&w);
}

TEST(typing_searches_from_the_cursor)
{
    struct walk w;
    struct err err = {0};

    begin_resnet(&w);
    browse_fold(w.b, FOLD_ALL);
    browse_go(w.b, place_of(&w, "layer3.1"));
    search(&w, "conv2");
    CHECK_INT(browse_place(w.b), place_of(&w, "layer3.1.conv2"));
    search(&w, "conv27");
    CHECK(str_is(browse_message(w.b), "0 matches"));
    CHECK_INT(browse_place(w.b), place_of(&w, "layer3.1"));
    CHECK_INT(browse_rows(w.b)->n, 151);
    CHECK(!browse_filtering(w.b));
    search(&w, "conv2");
    CHECK_INT(browse_rows(w.b)->n, 37);
    CHECK(browse_search(w.b, STR("/conv(/"), &err) == -1);
    CHECK_INT(err.code, ERR_USAGE);
    CHECK_INT(browse_rows(w.b)->n, 37); /* keeps the last result */
    CHECK(str_is(browse_filter(w.b), "conv2"));
    search(&w, "");
    CHECK_INT(browse_place(w.b), place_of(&w, "layer3.1"));
    CHECK_INT(browse_rows(w.b)->n, 151);
    end_walk(&w);
}

TEST(the_parents_of_a_match_are_shown_and_escape_restores_the_screen)
{
    struct walk w;
    uint32_t top, line;

    begin_resnet(&w);
    browse_fold(w.b, FOLD_ALL);
    browse_resize(w.b, 20);
    search(&w, "conv2");
    CHECK_INT(browse_cursor(w.b), 3);
    CHECK_INT(browse_top(w.b), 0);
    search(&w, "");
    CHECK_INT(browse_top(w.b), 0);
    browse_move(w.b, 100);
    browse_move(w.b, -5);
    top = browse_top(w.b);
    line = browse_cursor(w.b);
    search(&w, "fc");
    CHECK_STR(where(&w), "row 2/2 fc");
    CHECK_INT(browse_top(w.b), 0);
    search(&w, "");
    CHECK_INT(browse_cursor(w.b), line);
    CHECK_INT(browse_top(w.b), top);
    end_walk(&w);
}

TEST(matches_are_highlighted_among_all_rows)
{
    struct walk w;
    uint32_t marked = 0;

    begin_resnet(&w);
    CHECK(!browse_only_matches(w.b));
    search(&w, "conv2");
    CHECK(browse_only_matches(w.b));
    CHECK(!browse_filtering(w.b));
    CHECK_INT(browse_matches(w.b), 16);
    CHECK_STR(where(&w), "row 10/22 layer1.0.conv2");
    for (uint32_t i = 0; i < browse_rows(w.b)->n; i++)
        marked += (rows_at(browse_rows(w.b), i).flags & ROW_MATCH) != 0;
    CHECK_INT(marked, 1);
    CHECK(browse_next_match(w.b, 1)); /* was hidden by a fold */
    CHECK_INT(browse_place(w.b), place_of(&w, "layer1.1.conv2"));
    CHECK_INT(browse_match_number(w.b), 2);
    CHECK(browse_only_matches(w.b));
    CHECK_STR(where(&w), "row 6/37 layer1.1.conv2");
    end_walk(&w);
}

TEST(an_exclamation_mark_inverts_a_filter)
{
    struct walk w;

    begin_resnet(&w);
    search(&w, "!layer");
    CHECK_STR(names(&w), " conv1 bn1 relu maxpool avgpool fc ");
    CHECK_INT(browse_matches(w.b), 6);
    search(&w, "!conv2");
    CHECK_INT(browse_rows(w.b)->n, 151 - 16);
    search(&w, "!"); /* no pattern yet */
    CHECK_INT(browse_rows(w.b)->n, 11);
    end_walk(&w);
}

TEST(a_class_can_be_searched)
{
    struct walk w;

    begin_resnet(&w);
    browse_go(w.b, place_of(&w, "conv1"));
    CHECK(browse_search_class(w.b));
    CHECK_INT(browse_matches(w.b), 53);
    CHECK_INT(browse_place(w.b), place_of(&w, "conv1"));
    CHECK_INT(browse_match_number(w.b), 1);
    end_walk(&w);
}

TEST(an_incremental_search_finds_the_same_as_a_new_one)
{
    static const char *const texts[] = {"layer1.0.conv", "Conv2d(64→64", "bn2",
                                        "r1.",           ".1.c",         "0.d",
                                        "512×512",       "weight"};
    struct walk w, fresh;

    begin_resnet(&w);
    begin_resnet(&fresh);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        for (size_t n = 1; n <= strlen(texts[i]); n++) {
            struct str text = str_span(texts[i], n);

            CHECK(browse_search(w.b, text, NULL) == 0);
            browse_free(fresh.b);
            fresh.b = browse_new(&fresh.s.show, NULL);
            CHECK(browse_search(fresh.b, text, NULL) == 0);
            CHECK_INT(browse_matches(w.b), browse_matches(fresh.b));
            CHECK_INT(browse_rows(w.b)->n, browse_rows(fresh.b)->n);
        }
    end_walk(&w);
    end_walk(&fresh);
}

TEST(matches_follow_the_order_of_rows)
{
    struct walk w;

    begin_resnet(&w);
    CHECK(browse_sort(w.b, SORT_PARAMS, false));
    search(&w, "downsample"); /* the first in the model */
    CHECK_INT(browse_place(w.b), place_of(&w, "layer1.0.downsample"));
    CHECK_INT(browse_match_number(w.b), 4);
    CHECK(browse_next_match(w.b, 1));
    CHECK_INT(browse_place(w.b), place_of(&w, "layer4.0.downsample"));
    CHECK_INT(browse_match_number(w.b), 1);
    CHECK(browse_only_matches(w.b));
    CHECK(browse_next_match(w.b, 1)); /* hidden by folds */
    CHECK_INT(browse_place(w.b), place_of(&w, "layer3.0.downsample"));
    CHECK_INT(browse_match_number(w.b), 2);
    end_walk(&w);
}

TEST(a_flat_list_can_be_searched)
{
    struct walk w;

    begin_resnet(&w);
    browse_flat(w.b, FLAT_LEAVES);
    search(&w, "conv2");
    CHECK_INT(browse_rows(w.b)->n, 16);
    CHECK_INT(browse_matches(w.b), 16);
    CHECK(browse_next_match(w.b, 1));
    CHECK_INT(browse_match_number(w.b), 2);
    CHECK_INT(browse_place(w.b), place_of(&w, "layer1.1.conv2"));
    CHECK(!browse_fold(w.b, FOLD_ALL));
    search(&w, "layer4"); /* its leaves */
    CHECK_INT(browse_rows(w.b)->n, 23);
    CHECK(browse_clear(w.b));
    CHECK_INT(browse_rows(w.b)->n, 126);
    end_walk(&w);
}

TEST(a_flat_list_without_movement_leaves_the_tree_unchanged)
{
    struct walk w;

    begin_resnet(&w);
    browse_go(w.b, place_of(&w, "layer2"));
    browse_flat(w.b, FLAT_LEAVES);
    CHECK_INT(browse_place(w.b), place_of(&w, "layer2.0.conv1"));
    browse_flat(w.b, FLAT_TENSORS);
    CHECK_INT(browse_rows(w.b)->n, 320);
    browse_flat(w.b, FLAT_NO);
    CHECK_STR(where(&w), "row 7/11 layer2");
    end_walk(&w);
}

/* --- The window */

TEST(the_cursor_stays_visible_and_on_its_line)
{
    struct walk w;

    begin_resnet(&w);
    browse_fold(w.b, FOLD_ALL);
    browse_resize(w.b, 20);
    CHECK(browse_move(w.b, 50));
    CHECK_INT(browse_cursor(w.b), 50);
    CHECK_INT(browse_top(w.b), 31);
    CHECK(browse_scroll(w.b, 10));
    CHECK_INT(browse_top(w.b), 41);
    CHECK_INT(browse_cursor(w.b), 50);
    CHECK(browse_scroll(w.b, 20));
    CHECK_INT(browse_top(w.b), 61);
    CHECK_INT(browse_cursor(w.b), 61);
    browse_move(w.b, 10);
    browse_resize(w.b, 5); /* back to the first screen */
    CHECK_INT(browse_cursor(w.b), 71);
    CHECK_INT(browse_top(w.b), 67);
    browse_resize(w.b, 20);
    CHECK_INT(browse_top(w.b), 61);
    CHECK(browse_move(w.b, INT64_MAX));
    CHECK_INT(browse_cursor(w.b), 150);
    CHECK(browse_move(w.b, INT64_MIN));
    CHECK_INT(browse_cursor(w.b), 0);
    CHECK_INT(browse_top(w.b), 0);
    CHECK(!browse_scroll(w.b, -1));
    CHECK(browse_scroll(w.b, INT64_MAX));
    CHECK_INT(browse_top(w.b), 131);
    end_walk(&w);
}

TEST(rows_unfolded_at_the_bottom_scroll_into_view)
{
    struct walk w;

    begin_resnet(&w);
    browse_resize(w.b, 8);
    browse_last(w.b);
    CHECK_INT(browse_place(w.b), place_of(&w, "fc"));
    CHECK(browse_open(w.b)); /* weight and bias */
    CHECK_INT(browse_top(w.b), browse_rows(w.b)->n - 8);
    CHECK_INT(browse_cursor(w.b), browse_rows(w.b)->n - 3);
    browse_go(w.b, place_of(&w, "layer3"));
    browse_scroll(w.b, -2);
    CHECK(browse_open(w.b)); /* more than fits: the cursor is on the first line */
    CHECK(browse_fold(w.b, FOLD_ROW) && browse_fold(w.b, FOLD_SUBTREE));
    CHECK_INT(browse_top(w.b), browse_cursor(w.b));
    end_walk(&w);
}

TEST(backspace_returns_from_the_last_row_and_from_a_search)
{
    struct walk w;

    begin_resnet(&w);
    browse_move(w.b, 2);
    CHECK_INT(browse_place(w.b), place_of(&w, "bn1"));
    CHECK(browse_last(w.b));
    CHECK(browse_back(w.b));
    CHECK_INT(browse_place(w.b), place_of(&w, "bn1"));
    search(&w, "f"); /* typing several letters is one jump */
    search(&w, "fc");
    CHECK_INT(browse_place(w.b), place_of(&w, "fc"));
    CHECK(browse_back(w.b));
    CHECK_INT(browse_place(w.b), place_of(&w, "bn1"));
    CHECK(!browse_filtering(w.b));
    CHECK(!browse_back(w.b));
    browse_first(w.b);
    search(&w, "fc");
    CHECK(browse_back(w.b));
    CHECK_INT(browse_place(w.b), 0); /* the root, which the filter does not hide */
    CHECK(!browse_filtering(w.b));
    end_walk(&w);
}

TEST(going_to_a_place_removes_filters_that_hide_it)
{
    struct walk w;

    begin_resnet(&w);
    search(&w, "conv2");
    CHECK(browse_go(w.b, place_of(&w, "fc.bias")));
    CHECK(!browse_filtering(w.b));
    CHECK_INT(browse_place(w.b), place_of(&w, "fc.bias"));
    browse_flat(w.b, FLAT_LEAVES);
    CHECK(browse_go(w.b, place_of(&w, "layer4")));
    CHECK_INT(browse_view(w.b)->flat, FLAT_NO);
    CHECK_INT(browse_place(w.b), place_of(&w, "layer4"));
    CHECK(!browse_go(w.b, place_of(&w, "layer4")));
    CHECK(browse_back(w.b));
    CHECK_INT(browse_place(w.b), place_of(&w, "fc"));
    end_walk(&w);
}

TEST(runs_are_sorted_as_one_row)
{
    struct walk w;
    uint32_t node;
    char name[16];

    sample_begin(&w.s, "x.pt");
    build_set_kind(&w.s.build, 0, PLACE_MODULE);
    node = sample_module(&w.s, 0, "big", "x.Big", "");
    sample_tensor(&w.s, node, "weight", "50");
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof(name), "%d", i);
        node = sample_module(&w.s, 0, name, "x.Small", "");
        sample_tensor(&w.s, node, "weight", "10");
    }
    sample_finish(&w.s);
    begin_walk(&w);
    CHECK_STR(names(&w), " big 8×0 ");
    CHECK(browse_sort(w.b, SORT_PARAMS, false));
    CHECK_STR(names(&w), " 8×0 big ");
    CHECK(browse_sort(w.b, SORT_PARAMS, true));
    CHECK_STR(names(&w), " big 8×0 ");
    browse_runs(w.b);
    CHECK_STR(names(&w), " 0 1 2 3 4 5 6 7 big ");
    CHECK(browse_sort(w.b, SORT_NAME, true));
    CHECK_STR(names(&w), " big 7 6 5 4 3 2 1 0 ");
    CHECK(!browse_sort(w.b, SORT_GRAD, false));
    CHECK(browse_message(w.b).len > 0);
    CHECK(!browse_sort(w.b, SORT_TIME, false));
    end_walk(&w);
}

TEST(attributes_of_live_modules_have_no_rows)
{
    struct walk w;
    uint32_t node, list;

    sample_begin(&w.s, "x");
    build_set_kind(&w.s.build, 0, PLACE_MODULE);
    node = sample_module(&w.s, 0, "fc", "x.Linear", "");
    sample_tensor(&w.s, node, "weight", "2 2");
    list = build_node(&w.s.build, node, PLACE_GROUP, STR("cache"));
    build_set_flags(&w.s.build, list, PLACE_ATTRIBUTE);
    sample_tensor(&w.s, list, "0", "2");
    sample_module(&w.s, 0, "relu", "x.ReLU", "");
    sample_finish(&w.s);
    begin_walk(&w);
    browse_fold(w.b, FOLD_ALL);
    CHECK_STR(names(&w), " fc relu ");
    browse_move(w.b, 1);
    CHECK(browse_open(w.b));
    CHECK_STR(names(&w), " fc weight relu ");
    end_walk(&w);
}

TEST(an_empty_list_is_harmless)
{
    struct walk w;

    sample_begin(&w.s, "x.pt");
    sample_plain(&w.s, 0, "epoch", VALUE_ID_NONE);
    sample_finish(&w.s);
    begin_walk(&w);
    CHECK_STR(names(&w), " epoch ");
    CHECK(browse_flat(w.b, FLAT_LEAVES));
    CHECK_INT(browse_rows(w.b)->n, 0);
    CHECK(!browse_move(w.b, 1));
    CHECK(!browse_move(w.b, -1));
    CHECK(!browse_first(w.b));
    CHECK(!browse_last(w.b));
    CHECK(!browse_scroll(w.b, 3));
    CHECK(!browse_sibling(w.b, 1));
    CHECK(!browse_parent(w.b));
    CHECK(!browse_child(w.b));
    CHECK(!browse_open(w.b));
    CHECK(!browse_next_match(w.b, 1));
    CHECK(browse_sort(w.b, SORT_NAME, false));
    search(&w, "epoch");
    CHECK_INT(browse_match_number(w.b), 0);
    browse_resize(w.b, 3);
    CHECK(browse_flat(w.b, FLAT_NO));
    CHECK_INT(browse_rows(w.b)->n, 2);
    end_walk(&w);
}
