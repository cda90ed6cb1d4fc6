#include "graph/alike_in.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "base/test.h"
#include "graph/check_in.h"
#include "graph/drawn_in.h"
#include "study/sample_program.h"

/* A layer that reads one or two earlier ones; -1: the input of the model. */
struct flat_layer {
    char name[40];
    const char *class_name;
    int a, b;
};
#define LAYERS 400
struct flat {
    struct flat_layer at[LAYERS];
    int n;
};

/* Adds a layer that reads a and b (-2: only a); returns its index. */
__attribute__((format(printf, 5, 6))) static int
add(struct flat *flat, const char *class_name, int a, int b, const char *format, ...)
{
    struct flat_layer *layer = &flat->at[flat->n];
    va_list args;

    CHECK(flat->n < LAYERS);
    va_start(args, format);
    vsnprintf(layer->name, sizeof layer->name, format, args);
    va_end(args);
    layer->class_name = class_name;
    layer->a = a;
    layer->b = b;
    return flat->n++;
}

/* The model of these layers, all directly inside it. */
static const struct model *flat_model(const struct flat *flat)
{
    struct sample_program s;
    uint32_t modules[LAYERS], values[LAYERS], input;

    sample_program_begin(&s);
    for (int i = 0; i < flat->n; i++)
        modules[i] =
            sample_program_module(&s, flat->at[i].name, flat->at[i].class_name);
    sample_program_code(&s);
    input = sample_program_input(&s, "x", false);
    for (int i = 0; i < flat->n; i++) {
        const struct flat_layer *layer = &flat->at[i];
        uint32_t a = layer->a < 0 ? input : values[layer->a];

        sample_program_enter(&s, modules[i], a);
        values[i] = sample_program_op(&s, "aten::first", a,
                                      layer->b == -2   ? PROGRAM_NONE
                                      : layer->b == -1 ? input
                                                       : values[layer->b]);
        sample_program_leave(&s, values[i]);
    }
    return sample_program_end(&s, input, values[flat->n - 1]);
}

/* Every line between two layers, by their ids. */
static void check_lines(struct drawn_graph *drawn, const struct flat *flat)
{
    uint32_t n, wanted = 0;
    const struct check_wire *wires = check_wires(&drawn->diagram, &drawn->arena, &n);
    const struct diagram_box *boxes = drawn->diagram.boxes;

    for (int i = 0; i < flat->n; i++) {
        const struct flat_layer *layer = &flat->at[i];

        wanted += 1u + (layer->b != -2 && layer->b != layer->a);
        CHECK(drawn_box(drawn, layer->name) != PLAN_NONE);
    }
    CHECK_INT(n, wanted + 1); /* and the output */
    for (uint32_t i = 0; i < n; i++) {
        int source = -1, target = -2;

        for (int k = 0; k < flat->n; k++) {
            source = str_is(boxes[wires[i].source].id, flat->at[k].name) ? k : source;
            target = str_is(boxes[wires[i].target].id, flat->at[k].name) ? k : target;
        }
        CHECK(target == -2 || flat->at[target].a == source ||
              flat->at[target].b == source);
    }
}

static struct drawn_graph draw(const struct flat *flat)
{
    struct graph_wanted wanted = GRAPH_WANTED;
    struct drawn_graph drawn;

    wanted.level = GRAPH_MODULES;
    drawn = drawn_model(flat_model(flat), wanted);
    check_lines(&drawn, flat);
    return drawn;
}

/* The id of the group around a box. */
static const char *around(struct drawn_graph *drawn, const char *id)
{
    uint32_t box = drawn_box(drawn, id), up;

    CHECK(box != PLAN_NONE);
    up = drawn->diagram.plan.boxes[box].parent;
    return up == 0 ? "" : drawn->diagram.boxes[up].id.at;
}

static const char *head(const char *name, uint32_t n)
{
    static char text[80];
    struct str part = alike_head(str_of(name), n, false);

    snprintf(text, sizeof text, "%.*s", STR_ARG(part));
    return text;
}

TEST(names_begin_with_the_tokens_that_a_person_reads)
{
    CHECK_STR(head("conv2_block1_1_conv", 1), "conv2");
    CHECK_STR(head("conv2_block1_1_conv", 2), "conv2_block1");
    CHECK_STR(head("conv2_block1_1_conv", 3), "conv2_block1_1");
    CHECK_STR(head("conv2_block1_1_conv", 9), "conv2_block1_1_conv");
    CHECK_STR(head("block2a_dwconv", 1), "block2");
    CHECK_STR(head("block2a_dwconv", 2), "block2a");
    CHECK_STR(head("block_12_expand_BN", 1), "block_12");
    CHECK_STR(head("stage_0_block_3_scale", 2), "stage_0_block_3");
    CHECK_STR(head("model/features.3/Conv", 2), "model/features.3");
    CHECK_STR(head("___", 1), "___");
    CHECK_STR(head("", 1), "");
    CHECK_STR(head("plain", 1), "plain");
}

TEST(names_end_with_whole_words)
{
    CHECK(str_is(alike_head(STR("normal_conv_1_0"), 1, true), "0"));
    CHECK(str_is(alike_head(STR("normal_conv_1_0"), 2, true), "1_0"));
    CHECK(str_is(alike_head(STR("a_reduce_4"), 2, true), "reduce_4"));
    CHECK(str_is(alike_head(STR("plain"), 1, true), "plain"));
    CHECK(
        str_is(alike_common(STR("normal_conv_10"), STR("normal_add_10"), true), "10"));
    CHECK(str_is(alike_common(STR("a_10"), STR("a_0"), true), ""));
}

TEST(a_common_beginning_ends_with_a_token)
{
    CHECK(str_is(alike_common(STR("block_1_a"), STR("block_10_a"), false), ""));
    CHECK(str_is(alike_common(STR("b1_x_bn"), STR("b1_x_add"), false), "b1_x"));
    CHECK(str_is(alike_common(STR("same"), STR("same"), false), "same"));
    CHECK(str_is(alike_common(STR("block1"), STR("block1_bn"), false), "block1"));
    CHECK(str_is(alike_common(STR("block1"), STR("block12"), false), ""));
}

TEST(a_name_inside_a_group_loses_the_group_but_no_half_word)
{
    CHECK(str_is(alike_inside(STR("conv2_block1"), STR("conv2"), false), "block1"));
    CHECK(str_is(alike_inside(STR("block2a"), STR("block2"), false), "block2a"));
    CHECK(str_is(alike_inside(STR("x_block2a"), STR("x_block2"), false), "block2a"));
    CHECK(str_is(alike_inside(STR("conv1"), STR("conv1"), false), "conv1"));
    CHECK(str_is(alike_inside(STR("other"), STR("conv1"), false), "other"));
    CHECK(str_is(alike_inside(STR("conv1_"), STR("conv1"), false), "conv1_"));
    CHECK(
        str_is(alike_inside(STR("normal_conv_1_0"), STR("0"), true), "normal_conv_1"));
    CHECK(str_is(alike_inside(STR("_0"), STR("0"), true), "_0"));
}

TEST(a_name_of_class_and_number_means_nothing)
{
    CHECK(alike_is_nameless(STR("conv2d_5"), STR("Conv2D")));
    CHECK(alike_is_nameless(STR("batch_normalization"), STR("BatchNormalization")));
    CHECK(alike_is_nameless(STR("max_pooling2d_3"), STR("MaxPooling2D")));
    CHECK(!alike_is_nameless(STR("conv1"), STR("Conv2D")));
    CHECK(!alike_is_nameless(STR("conv2d_1_bn"), STR("Conv2D")));
    CHECK(!alike_is_nameless(STR(""), STR("")));
    CHECK(!alike_is_nameless(STR("12"), STR("Conv2D")));
}

/* Stages of residual blocks: "s1_b1_conv", "s1_b1_bn", "s1_b1_add". */
static struct flat residual(int stages, int blocks)
{
    struct flat flat = {.n = 0};
    int x = add(&flat, "Conv2D", -1, -2, "stem");

    for (int i = 1; i <= stages; i++)
        for (int k = 1; k <= blocks; k++) {
            int y = add(&flat, "Conv2D", x, -2, "s%d_b%d_conv", i, k);

            y = add(&flat, "BatchNormalization", y, -2, "s%d_b%d_bn", i, k);
            x = add(&flat, "Add", x, y, "s%d_b%d_add", i, k);
        }
    add(&flat, "Dense", x, -2, "top");
    return flat;
}

TEST(a_long_flat_level_is_grouped_by_the_beginnings_of_its_names)
{
    struct flat flat = residual(2, 8);
    struct drawn_graph drawn = draw(&flat);

    CHECK_STR(around(&drawn, "s1*"), "s1*…2*");
    CHECK_STR(around(&drawn, "stem"), "");
    CHECK_STR(around(&drawn, "s2_b3_bn"), "s2_b3*");
    CHECK_STR(drawn_words(&drawn, "s2_b3_bn"), "bn: BatchNormalization");
    CHECK_STR(drawn_words(&drawn, "s2_b1*"), "b1: 3 modules");
    drawn_drop(&drawn);
}

TEST(equal_groups_fold_like_equal_modules)
{
    struct flat flat = residual(1, 8);
    struct drawn_graph drawn = draw(&flat);
    uint32_t all = drawn_box(&drawn, "s1_b1*…8*");

    CHECK(all != PLAN_NONE);
    CHECK_INT(drawn.diagram.boxes[all].kind, DIAGRAM_REPEAT);
    CHECK_INT(drawn.diagram.boxes[all].n_same, 8);
    CHECK_STR(drawn_words(&drawn, "s1_b1*…8*"), "s1_b1…8: 8 × s1_b, 3 modules");
    drawn_drop(&drawn);
}

TEST(a_short_level_is_not_grouped)
{
    struct flat flat = residual(1, 5);
    struct drawn_graph drawn = draw(&flat);

    CHECK_STR(around(&drawn, "s1_b3_bn"), "");
    drawn_drop(&drawn);
}

TEST(nothing_is_grouped_if_everything_is_asked_for)
{
    struct graph_wanted wanted = GRAPH_WANTED;
    struct flat flat = residual(2, 8);
    struct drawn_graph drawn;

    wanted.all = true;
    drawn = drawn_model(flat_model(&flat), wanted);
    CHECK_STR(around(&drawn, "s2_b3_bn"), "");
    CHECK_STR(drawn_words(&drawn, "s2_b3_bn"), "s2_b3_bn: BatchNormalization");
    drawn_drop(&drawn);
}

TEST(a_path_that_leaves_and_comes_back_prevents_a_group)
{
    struct flat flat = {.n = 0};
    struct drawn_graph drawn;

    for (int i = 0, x = -1; i < 15; i++) {
        x = add(&flat, "Conv2D", x, -2, "left_%c", 'a' + i);
        x = add(&flat, "Dense", x, -2, "right_%c", 'a' + i);
    }
    drawn = draw(&flat);
    CHECK_STR(around(&drawn, "left_c"), "");
    CHECK_STR(around(&drawn, "right_c"), "");
    drawn_drop(&drawn);
}

TEST(branches_are_groups_although_their_layers_alternate)
{
    struct flat flat = {.n = 0};
    struct drawn_graph drawn;
    int a = -1, b = -1;

    for (int i = 0; i < 12; i++) {
        a = add(&flat, "Conv2D", a, -2, "left_%c", 'a' + i);
        b = add(&flat, "Dense", b, -2, "right_%c", 'a' + i);
    }
    add(&flat, "Concatenate", a, b, "both");
    drawn = draw(&flat);
    CHECK_STR(around(&drawn, "left_c"), "left*");
    CHECK_STR(around(&drawn, "right_l"), "right*");
    CHECK_STR(around(&drawn, "both"), "");
    drawn_drop(&drawn);
}

TEST(layers_without_a_name_belong_to_the_block_around_them)
{
    struct flat flat = {.n = 0};
    struct drawn_graph drawn;

    for (int i = 0, x = -1; i < 6; i++) {
        int a = add(&flat, "Conv2D", x, -2, "block%d_conv", i);
        int b = add(&flat, "Conv2D", x, -2, "conv2d_%d", i);

        a = add(&flat, "ReLU", a, -2, "block%d_act", i);
        x = add(&flat, "Add", a, b, "add_%d", i);
    }
    drawn = draw(&flat);
    CHECK_STR(around(&drawn, "conv2d_3"), "block3*");
    CHECK_STR(around(&drawn, "add_3"), "block3*");
    CHECK_STR(around(&drawn, "block3_act"), "block3*");
    drawn_drop(&drawn);
}

TEST(a_block_of_layers_without_names_is_called_after_its_last)
{
    struct flat flat = {.n = 0};
    struct drawn_graph drawn;

    for (int i = 0, x = -1; i < 8; i++) {
        int a = add(&flat, "Conv2D", x, -2, "conv2d_%d", 2 * i);
        int b = add(&flat, "Conv2D", x, -2, "conv2d_%d", 2 * i + 1);

        b = add(&flat, "ReLU", b, -2, "re_lu_%d", i);
        x = add(&flat, "Concatenate", a, b, "mixed%d", i);
    }
    drawn = draw(&flat);
    CHECK_STR(around(&drawn, "conv2d_5"), "mixed2*");
    CHECK_STR(around(&drawn, "mixed2"), "mixed2*");
    drawn_drop(&drawn);
}

TEST(names_that_end_alike_are_groups_if_no_beginning_helps)
{
    struct flat flat = {.n = 0};
    struct drawn_graph drawn;

    for (int i = 0, x = -1; i < 7; i++) {
        x = add(&flat, "Conv2D", x, -2, "adjust_conv_%d", i);
        x = add(&flat, "Dense", x, -2, "normal_conv_%d", i);
        x = add(&flat, "ReLU", x, -2, "normal_bn_%d", i);
        x = add(&flat, "GELU", x, -2, "last_act_%d", i);
    }
    drawn = draw(&flat);
    CHECK_STR(around(&drawn, "normal_bn_3"), "*_3");
    CHECK_STR(drawn_words(&drawn, "normal_bn_3"), "normal_bn: ReLU");
    drawn_drop(&drawn);
}

/* Any graph and any names: the plan is consistent and no line is lost. */
TEST(random_flat_networks_keep_their_lines)
{
    static const char *const words[] = {"a",  "b1", "b2", "c_1", "c_2",
                                        "_0", "d4", "_",  "é"};

    srand(7);
    for (int turn = 0; turn < 300; turn++) {
        struct flat flat = {.n = 0};
        struct drawn_graph drawn;
        int n = 3 + rand() % 90, reach = 1 + rand() % 30;

        for (int i = 0; i < n; i++) {
            int near = i > reach ? i - reach : 0, a = -1, b = -2;
            const char *first = words[(size_t)rand() % COUNT_OF(words)];
            const char *second = words[(size_t)rand() % COUNT_OF(words)];

            if (i > 0)
                a = near + rand() % (i - near);
            if (i > 0 && rand() % 3 == 0)
                b = near + rand() % (i - near);
            if (rand() % 4 == 0)
                add(&flat, "Conv2D", a, b, "conv2d_%d", i);
            else if (turn % 3 == 0)
                add(&flat, "Conv2D", a, b, "x%d_%s_%s", i, first, second);
            else
                add(&flat, "Conv2D", a, b, "%s_%s_x%d", first, second, i);
        }
        drawn = draw(&flat);
        drawn_drop(&drawn);
    }
}
