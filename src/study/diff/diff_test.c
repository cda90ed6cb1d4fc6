#include "study/diff/diff.h"

#include <math.h>

#include "base/test.h"
#include "study/diff/diff_sample.h"

static const struct diff_wanted all = {.values = true};
static const struct diff_wanted structure = {.values = false};

#define NET                                                                            \
    "conv1.weight 4x3 1\nbn1.weight 4 2\nbn1.running_mean 4 3\n"                       \
    "layer1.0.weight 4x4 4\nlayer1.0.bias 4 5\nlayer1.1.weight 4x4 6\n"                \
    "layer4.0.weight 4x4 7\nlayer4.0.bias 4 8\nlayer4.1.weight 4x4 9\n"

TEST(a_diff_of_equal_models_is_equal)
{
    struct both both;

    both_make(&both, NET "epoch value 3\n", NET "epoch value 3\n", &all);
    both_check(&both);
    CHECK(diff_equal(&both.diff));
    CHECK_INT(both.diff.total.states[DIFF_SAME], 9);
    CHECK_STR(both_parts(&both), " same");
    both_drop(&both);
    both_make(&both, NET, NET, &structure);
    CHECK(diff_equal(&both.diff));
    CHECK_INT(both.diff.total.states[DIFF_UNREAD], 9);
    CHECK(!both.diff.pairs[0].why && !both.diff.values);
    both_drop(&both);
}

TEST(what_was_trained_and_what_was_replaced_is_told_by_part)
{
    struct both both;
    const struct diff_node *node;

    both_make(&both, NET "fc.weight 10x4 20\nfc.bias 10 21\n",
              "conv1.weight 4x3 1\nbn1.weight 4 2\nbn1.running_mean 4 3~\n"
              "layer1.0.weight 4x4 4\nlayer1.0.bias 4 5\nlayer1.1.weight 4x4 6\n"
              "layer4.0.weight 4x4 7~\nlayer4.0.bias 4 8\nlayer4.1.weight 4x4 9~\n"
              "fc.weight 2x4 30\nfc.bias 2 31\n",
              &all);
    both_check(&both);
    CHECK(!diff_equal(&both.diff));
    CHECK_STR(both_parts(&both),
              "conv1 same, bn1 buffers, layer1 same, layer4 trained, "
              "fc replaced");
    node = both_node(&both, "layer4");
    CHECK_INT(node->sums.params_differ, 2);
    CHECK_INT(node->sums.params_by.count, 32);
    CHECK_NEAR(node->sums.max_abs, 0.5, 1e-6);
    CHECK(compared_relative(&node->sums.params_by) > 0);
    node = both_node(&both, "bn1");
    CHECK_INT(node->sums.buffers_differ, 1);
    CHECK_INT(node->sums.params_differ, 0);
    CHECK(compared_relative(&node->sums.params_by) == 0);
    CHECK_INT(both_pair(&both, false, "fc.weight")->state, DIFF_RESHAPED);
    both_drop(&both);
}

TEST(a_part_differs_in_buffers_only_if_all_else_is_known_to_be_equal)
{
    struct both both;

    both_make(&both,
              "a.running_mean 4 1\nb.weight 4x3 2\nb.running_mean 4 3\n"
              "c.weight 4x3 4\nc.running_mean 4 5\nd.weight 4x3 6\n",
              "a.running_mean 4 1~\nb.weight 4x3 2\nb.running_mean 4 3~\n"
              "c.weight 4x3 lost\nc.running_mean 4 5~\nd.weight 4x3 6~\n",
              &all);
    CHECK(diff_buffers_only(&both.diff, &both_node(&both, "a")->sums));
    CHECK(diff_buffers_only(&both.diff, &both_node(&both, "b")->sums));
    CHECK(!diff_buffers_only(&both.diff, &both_node(&both, "c")->sums));
    CHECK(!diff_buffers_only(&both.diff, &both_node(&both, "d")->sums));
    CHECK_INT(diff_count_different(&both.diff, &both_node(&both, "c")->sums), 2);
    both_drop(&both);
}

TEST(prefixes_are_taken_off_and_named)
{
    struct both both;

    both_make(&both, "a.weight 4x3 1\na.bias 4 2\nb.weight 4x4 3\n",
              "model dict\nmodel.module.a.weight 4x3 1\nmodel.module.a.bias 4 2\n"
              "model.module.b.weight 4x4 3\nepoch value 7\noptimizer.m 4 9\n",
              &all);
    both_check(&both);
    CHECK_INT(both.diff.left_prefix.len, 0);
    CHECK(str_is(both.diff.right_prefix, "model.module."));
    CHECK_INT(both.diff.total.states[DIFF_SAME], 3);
    CHECK_INT(both.diff.total.states[DIFF_RIGHT], 1);
    CHECK_INT(both.diff.total.renamed, 0);
    CHECK_INT(both.diff.n_others, 1);
    CHECK_INT(both.diff.others[0].left, NO_PLACE);
    both_drop(&both);
}

TEST(equal_prefixes_are_no_prefixes)
{
    struct both both;

    both_make(&both, "state_dict dict\nstate_dict.a.weight 4x3 1\nepoch value 1\n",
              "state_dict dict\nstate_dict.a.weight 4x3 1\nepoch value 2\n", &all);
    both_check(&both);
    CHECK_INT(both.diff.left_prefix.len, 0);
    CHECK_INT(both.diff.right_prefix.len, 0);
    CHECK_INT(both.diff.n_others, 1);
    CHECK_INT(both.diff.others[0].kind, DIFF_VALUE);
    CHECK(!diff_equal(&both.diff));
    both_drop(&both);
}

TEST(what_is_only_on_the_left_stands_behind_its_neighbour)
{
    struct both both;
    const struct diff_node *nodes;

    both_make(&both, "a.x 4 1\na.y 4 2\na.z 4 3\nb.x 4 4\nc.x 4 5\n",
              "a.x 4 1\na.z 4 3\nc.x 4 5\nd.x 4 6\n", &all);
    both_check(&both);
    nodes = both.diff.nodes;
    CHECK(str_is(nodes[1].name, "a") && str_is(nodes[3].name, "y"));
    CHECK(str_is(nodes[5].name, "b") && str_is(nodes[7].name, "c"));
    CHECK_INT(nodes[5].right, NO_PLACE);
    CHECK_INT(both.diff.total.states[DIFF_LEFT], 2);
    CHECK_INT(both.diff.total.states[DIFF_RIGHT], 1);
    both_drop(&both);
}

TEST(a_tensor_that_cannot_be_read_says_why)
{
    struct both both;

    both_make(&both, "a 4 1\nb 4 2\n", "a 4 lost\nb 4 2\n", &all);
    both_check(&both);
    CHECK_INT(both_pair(&both, false, "a")->state, DIFF_UNREAD);
    CHECK_STR(both_pair(&both, false, "a")->why, "its data is missing");
    CHECK_STR(both_parts(&both), "a mixed, b same");
    CHECK_INT(both_pair(&both, false, "b")->state, DIFF_SAME);
    CHECK(!diff_equal(&both.diff));
    both_drop(&both);
}

TEST(another_dtype_is_compared_by_value)
{
    struct both both;

    both_make(&both, NET, NET "d 4 9 f16\n", &all);
    both_drop(&both);
    both_make(&both, "a 4x3 1\nb 4 2\n", "a 4x3 1 f16\nb 4 2 f16\n", &all);
    both_check(&both);
    CHECK_INT(both_pair(&both, false, "a")->state, DIFF_RETYPED);
    CHECK_INT(both_pair(&both, false, "a")->by.count, 12);
    CHECK_STR(both_parts(&both), " retyped");
    both_drop(&both);
}

TEST(a_tolerance_makes_small_differences_close)
{
    struct diff_wanted wanted = {.values = true, .tolerance = {0, 0.6}};
    struct both both;

    both_make(&both, "a 4x3 1\n", "a 4x3 1~\n", &wanted);
    CHECK_INT(both.diff.pairs[0].state, DIFF_CLOSE);
    CHECK(diff_equal(&both.diff));
    both_drop(&both);
}

TEST(ties_that_came_or_went_are_told)
{
    struct both both;

    both_make(&both, "a.w 4x3 1\nb.w 4 =a.w\nc.w 4 5\n",
              "a.w 4x3 1\nb.w 4x3 1\nc.w 4 5\n", &all);
    both_check(&both);
    CHECK(both_pair(&both, false, "a.w")->flags & DIFF_UNTIED);
    CHECK(both_pair(&both, false, "b.w")->flags & DIFF_UNTIED);
    CHECK(!(both_pair(&both, false, "c.w")->flags & (DIFF_UNTIED | DIFF_TIED)));
    CHECK_INT(both.diff.total.states[DIFF_SAME], 3);
    both_drop(&both);
}

TEST(bytes_to_read_are_told_before_and_tied_ones_once)
{
    const struct model *left = diff_sample("a 4x3 1\nb 4 =a\nc 4 2\n");
    const struct model *right = diff_sample("a 4x3 1\nb 4 =a\nc 4 2\n");
    struct arena arena;
    struct work work;
    struct diff diff;

    work_init(&work);
    arena_init(&arena, 0);
    CHECK(diff_make(&diff, left, right, &all, &arena, &work, NULL) == 0);
    CHECK_INT(atomic_load(&work.total), 2 * (48 + 16));
    CHECK_INT(atomic_load(&work.done), 2 * (48 + 16));
    arena_release(&arena);
    model_free(left);
    model_free(right);
}

TEST(a_cancelled_diff_can_be_shown)
{
    struct both both = {.left = diff_sample(NET), .right = diff_sample(NET)};
    struct err err = {0};
    struct work work;

    work_init(&work);
    atomic_store(&work.cancel, 1);
    arena_init(&both.arena, 0);
    CHECK(diff_make(&both.diff, both.left, both.right, &all, &both.arena, &work, &err) <
          0);
    CHECK_INT(err.code, ERR_CANCELLED);
    CHECK(!both.diff.complete);
    both_check(&both);
    CHECK_INT(both.diff.total.states[DIFF_UNREAD], 9);
    CHECK(both.diff.pairs[0].why);
    both_drop(&both);
}

TEST(a_spent_arena_is_an_error_and_no_crash)
{
    const struct model *left = diff_sample(NET), *right = diff_sample(NET);
    struct err err = {0};
    struct arena arena;
    struct diff diff;

    arena_init(&arena, 100);
    CHECK(diff_make(&diff, left, right, &all, &arena, NULL, &err) < 0);
    CHECK_INT(err.code, ERR_LIMIT);
    arena_release(&arena);
    model_free(left);
    model_free(right);
}

TEST(names_are_given_without_prefix)
{
    struct buf name = BUF_INIT;
    struct both both;

    both_make(&both, "a.weight 4x3 1\nb.weight 4x4 3\n",
              "module.a.weight 4x3 1\nmodule.b.weight 4x4 3\n", &all);
    diff_name(&both.diff, true, both_pair(&both, true, "module.b.weight")->right,
              &name);
    CHECK_STR(buf_cstr(&name), "b.weight");
    buf_clear(&name);
    diff_name(&both.diff, true, both.diff.nodes[0].right, &name);
    CHECK_STR(buf_cstr(&name), "");
    buf_release(&name);
    CHECK_INT(both.diff.total.states[DIFF_SAME], 2);
    both_drop(&both);
}
