#include "study/diff.h"

#include <math.h>
#include <stdio.h>

#include "base/test.h"
#include "study/diff_sample_in.h"

struct both {
    struct model *left, *right;
    struct arena arena;
    struct diff diff;
};

static const struct diff_wanted all = {.values = true};
static const struct diff_wanted structure = {.values = false};

static void make(struct both *both, const char *left, const char *right,
                 const struct diff_wanted *wanted)
{
    struct err err = {0};

    both->left = diff_sample(left);
    both->right = diff_sample(right);
    arena_init(&both->arena, 0);
    if (diff_make(&both->diff, both->left, both->right, wanted, &both->arena, NULL,
                  &err) < 0)
        test_fail(__FILE__, __LINE__, "%s", err.text);
}

static void drop(struct both *both)
{
    arena_release(&both->arena);
    model_free(both->left);
    model_free(both->right);
}

/* The pair whose left (or right) name is this one. */
static const struct diff_pair *pair_at(const struct both *both, bool right,
                                       const char *name)
{
    uint32_t place = place_find(right ? both->right : both->left, str_of(name));

    CHECK(place != NO_PLACE);
    for (uint32_t i = 0; i < both->diff.n_pairs; i++) {
        const struct diff_pair *pair = &both->diff.pairs[i];

        if ((right ? pair->right : pair->left) == place)
            return pair;
    }
    test_fail(__FILE__, __LINE__, "%s is in no pair", name);
}

static const struct diff_node *node_at(const struct both *both, const char *name)
{
    for (uint32_t i = 1; i < both->diff.n_nodes; i++)
        if (both->diff.nodes[i].parent == 0 && str_is(both->diff.nodes[i].name, name))
            return &both->diff.nodes[i];
    test_fail(__FILE__, __LINE__, "no node %s", name);
}

/* All parts as text: "layer4 trained, fc replaced". */
static const char *parts(const struct both *both)
{
    static char text[1000];
    size_t n = 0;

    text[0] = 0;
    for (uint32_t i = 0; i < both->diff.n_parts && n < 900; i++) {
        const struct diff_node *nodes = both->diff.nodes;
        const struct diff_node *node = &nodes[both->diff.parts[i].node];
        struct str above = STR("");

        if (node->parent != DIFF_NONE && node->parent != 0)
            above = nodes[node->parent].name;
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%.*s%s%.*s %s",
                              i ? ", " : "", STR_ARG(above), above.len ? "." : "",
                              STR_ARG(node->name),
                              diff_fate_name(both->diff.parts[i].fate));
    }
    return text;
}

/* What must hold of every diff: each place in one pair, sums that add up, a tree. */
static void check_whole(const struct both *both)
{
    const struct diff *diff = &both->diff;
    uint32_t met[2] = {0, 0}, i, tensors = 0, p;

    for (i = 0; i < diff->n_pairs; i++) {
        met[0] += diff->pairs[i].left != NO_PLACE;
        met[1] += diff->pairs[i].right != NO_PLACE;
        CHECK(diff->pairs[i].left != NO_PLACE || diff->pairs[i].right != NO_PLACE);
        CHECK((diff->pairs[i].state == DIFF_JOINED) ==
              (diff->pairs[i].join != DIFF_NONE));
    }
    for (p = 0; p < both->left->n_places; p++)
        met[0] -= both->left->kind[p] == PLACE_TENSOR;
    for (p = 0; p < both->right->n_places; p++)
        met[1] -= both->right->kind[p] == PLACE_TENSOR;
    CHECK_INT(met[0], 0);
    CHECK_INT(met[1], 0);
    for (i = 0; i < diff->n_nodes; i++) {
        uint32_t sum = diff->nodes[i].pair != DIFF_NONE, child;

        CHECK(i == 0 || diff->nodes[i].parent < i);
        for (child = i + 1; child < diff->nodes[i].end;
             child = diff->nodes[child].end) {
            CHECK_INT(diff->nodes[child].parent, i);
            sum += diff->nodes[child].sums.tensors;
        }
        CHECK_INT(child, diff->nodes[i].end);
        CHECK_INT(diff->nodes[i].sums.tensors, sum);
        CHECK(i == 0 || sum > 0);
    }
    CHECK_INT(diff->total.tensors, diff->n_pairs);
    for (i = 0; i < diff->n_parts; i++)
        tensors += diff->nodes[diff->parts[i].node].sums.tensors;
    CHECK_INT(tensors, diff->n_pairs);
}

#define NET                                                                            \
    "conv1.weight 4x3 1\nbn1.weight 4 2\nbn1.running_mean 4 3\n"                       \
    "layer1.0.weight 4x4 4\nlayer1.0.bias 4 5\nlayer1.1.weight 4x4 6\n"                \
    "layer4.0.weight 4x4 7\nlayer4.0.bias 4 8\nlayer4.1.weight 4x4 9\n"

TEST(a_diff_of_equal_models_is_equal)
{
    struct both both;

    make(&both, NET "epoch value 3\n", NET "epoch value 3\n", &all);
    check_whole(&both);
    CHECK(diff_equal(&both.diff));
    CHECK_INT(both.diff.total.states[DIFF_SAME], 9);
    CHECK_STR(parts(&both), " same");
    drop(&both);
    make(&both, NET, NET, &structure);
    CHECK(diff_equal(&both.diff));
    CHECK_INT(both.diff.total.states[DIFF_UNREAD], 9);
    CHECK(!both.diff.pairs[0].why && !both.diff.values);
    drop(&both);
}

TEST(what_was_trained_and_what_was_replaced_is_told_by_part)
{
    struct both both;
    const struct diff_node *node;

    make(&both, NET "fc.weight 10x4 20\nfc.bias 10 21\n",
         "conv1.weight 4x3 1\nbn1.weight 4 2\nbn1.running_mean 4 3~\n"
         "layer1.0.weight 4x4 4\nlayer1.0.bias 4 5\nlayer1.1.weight 4x4 6\n"
         "layer4.0.weight 4x4 7~\nlayer4.0.bias 4 8\nlayer4.1.weight 4x4 9~\n"
         "fc.weight 2x4 30\nfc.bias 2 31\n",
         &all);
    check_whole(&both);
    CHECK(!diff_equal(&both.diff));
    CHECK_STR(parts(&both), "conv1 same, bn1 buffers, layer1 same, layer4 trained, "
                            "fc replaced");
    node = node_at(&both, "layer4");
    CHECK_INT(node->sums.params_differ, 2);
    CHECK_INT(node->sums.params_by.count, 32);
    CHECK_NEAR(node->sums.max_abs, 0.5, 1e-6);
    CHECK(compared_relative(&node->sums.params_by) > 0);
    node = node_at(&both, "bn1");
    CHECK_INT(node->sums.buffers_differ, 1);
    CHECK_INT(node->sums.params_differ, 0);
    CHECK(compared_relative(&node->sums.params_by) == 0);
    CHECK_INT(pair_at(&both, false, "fc.weight")->state, DIFF_RESHAPED);
    drop(&both);
}

TEST(prefixes_are_taken_off_and_named)
{
    struct both both;

    make(&both, "a.weight 4x3 1\na.bias 4 2\nb.weight 4x4 3\n",
         "model dict\nmodel.module.a.weight 4x3 1\nmodel.module.a.bias 4 2\n"
         "model.module.b.weight 4x4 3\nepoch value 7\noptimizer.m 4 9\n",
         &all);
    check_whole(&both);
    CHECK_INT(both.diff.left_prefix.len, 0);
    CHECK(str_is(both.diff.right_prefix, "model.module."));
    CHECK_INT(both.diff.total.states[DIFF_SAME], 3);
    CHECK_INT(both.diff.total.states[DIFF_RIGHT], 1);
    CHECK_INT(both.diff.total.renamed, 0);
    CHECK_INT(both.diff.n_others, 1);
    CHECK_INT(both.diff.others[0].left, NO_PLACE);
    drop(&both);
}

TEST(equal_prefixes_are_no_prefixes)
{
    struct both both;

    make(&both, "state_dict dict\nstate_dict.a.weight 4x3 1\nepoch value 1\n",
         "state_dict dict\nstate_dict.a.weight 4x3 1\nepoch value 2\n", &all);
    check_whole(&both);
    CHECK_INT(both.diff.left_prefix.len, 0);
    CHECK_INT(both.diff.right_prefix.len, 0);
    CHECK_INT(both.diff.n_others, 1);
    CHECK_INT(both.diff.others[0].kind, DIFF_VALUE);
    CHECK(!diff_equal(&both.diff));
    drop(&both);
}

TEST(what_is_only_on_the_left_stands_behind_its_neighbour)
{
    struct both both;
    const struct diff_node *nodes;

    make(&both, "a.x 4 1\na.y 4 2\na.z 4 3\nb.x 4 4\nc.x 4 5\n",
         "a.x 4 1\na.z 4 3\nc.x 4 5\nd.x 4 6\n", &all);
    check_whole(&both);
    nodes = both.diff.nodes;
    CHECK(str_is(nodes[1].name, "a") && str_is(nodes[3].name, "y"));
    CHECK(str_is(nodes[5].name, "b") && str_is(nodes[7].name, "c"));
    CHECK_INT(nodes[5].right, NO_PLACE);
    CHECK_INT(both.diff.total.states[DIFF_LEFT], 2);
    CHECK_INT(both.diff.total.states[DIFF_RIGHT], 1);
    drop(&both);
}

TEST(a_tensor_that_cannot_be_read_says_why)
{
    struct both both;

    make(&both, "a 4 1\nb 4 2\n", "a 4 lost\nb 4 2\n", &all);
    check_whole(&both);
    CHECK_INT(pair_at(&both, false, "a")->state, DIFF_UNREAD);
    CHECK_STR(pair_at(&both, false, "a")->why, "its data is missing");
    CHECK_INT(pair_at(&both, false, "b")->state, DIFF_SAME);
    CHECK(!diff_equal(&both.diff));
    drop(&both);
}

TEST(another_dtype_is_compared_by_value)
{
    struct both both;

    make(&both, NET, NET "d 4 9 f16\n", &all);
    drop(&both);
    make(&both, "a 4x3 1\nb 4 2\n", "a 4x3 1 f16\nb 4 2 f16\n", &all);
    check_whole(&both);
    CHECK_INT(pair_at(&both, false, "a")->state, DIFF_RETYPED);
    CHECK_INT(pair_at(&both, false, "a")->by.count, 12);
    CHECK_STR(parts(&both), " retyped");
    drop(&both);
}

TEST(a_tolerance_makes_small_differences_close)
{
    struct diff_wanted wanted = {.values = true, .tolerance = {0, 0.6}};
    struct both both;

    make(&both, "a 4x3 1\n", "a 4x3 1~\n", &wanted);
    CHECK_INT(both.diff.pairs[0].state, DIFF_CLOSE);
    CHECK(diff_equal(&both.diff));
    drop(&both);
}

TEST(ties_that_came_or_went_are_told)
{
    struct both both;

    make(&both, "a.w 4x3 1\nb.w 4 =a.w\nc.w 4 5\n", "a.w 4x3 1\nb.w 4x3 1\nc.w 4 5\n",
         &all);
    check_whole(&both);
    CHECK(pair_at(&both, false, "a.w")->flags & DIFF_UNTIED);
    CHECK(pair_at(&both, false, "b.w")->flags & DIFF_UNTIED);
    CHECK(!(pair_at(&both, false, "c.w")->flags & (DIFF_UNTIED | DIFF_TIED)));
    CHECK_INT(both.diff.total.states[DIFF_SAME], 3);
    drop(&both);
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
    check_whole(&both);
    CHECK_INT(both.diff.total.states[DIFF_UNREAD], 9);
    CHECK(both.diff.pairs[0].why);
    drop(&both);
}

TEST(a_spent_arena_is_an_error_and_no_crash)
{
    struct model *left = diff_sample(NET), *right = diff_sample(NET);
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

    make(&both, "a.weight 4x3 1\nb.weight 4x4 3\n",
         "module.a.weight 4x3 1\nmodule.b.weight 4x4 3\n", &all);
    diff_name(&both.diff, true, pair_at(&both, true, "module.b.weight")->right, &name);
    CHECK_STR(buf_cstr(&name), "b.weight");
    buf_release(&name);
    CHECK_INT(both.diff.total.states[DIFF_SAME], 2);
    drop(&both);
}
