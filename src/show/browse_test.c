#include "show/browse.h"

#include <string.h>

#include "base/test.h"
#include "show/resnet_in.h"

/* A sample, and the walk through it. */
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

/* Where the cursor is: "row 4/37 layer1.0.conv2". */
static const char *where(struct walk *w)
{
    buf_clear(&w->text);
    buf_printf(&w->text, "row %u/%u ", browse_cursor(w->b) + 1, browse_rows(w->b)->n);
    place_path(w->s.model, browse_place(w->b), &w->text);
    return buf_cstr(&w->text);
}

/* The names of all rows, each with a blank behind it; "12×" before a run. */
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

TEST(trainable_finds_modules_with_such_parameters_of_their_own)
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
    CHECK(browse_first(w.b) || browse_cursor(w.b) == 0);
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

TEST(scenario_8_runs_open_by_X_or_when_one_goes_into_them)
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
