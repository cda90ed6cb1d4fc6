#include <stdio.h>
#include <stdlib.h>

#include "base/test.h"
#include "study/diff/diff_sample.h"

static const struct diff_wanted all = {.values = true};
static const struct diff_wanted structure = {.values = false};

/* The full name on the right of what has this one on the left. */
static const char *became(const struct both *both, const char *left)
{
    static struct buf name;
    const struct diff_pair *pair = both_pair(both, false, left);

    buf_release(&name);
    if (pair->right == NO_PLACE)
        return NULL;
    place_path(both->right, pair->right, &name);
    return buf_cstr(&name);
}

TEST(what_was_renamed_is_found_by_content)
{
    struct both both;

    both_make(&both, "enc.first.weight 4x3 1\nenc.first.bias 4 2\nenc.z.weight 4x3 3\n",
              "enc.z.weight 4x3 3\nenc.one.w 4x3 1\nenc.one.b 4 2\n", &all);
    both_check(&both);
    CHECK_STR(became(&both, "enc.first.weight"), "enc.one.w");
    CHECK_STR(became(&both, "enc.first.bias"), "enc.one.b");
    CHECK(both_pair(&both, false, "enc.first.bias")->flags & DIFF_BY_CONTENT);
    CHECK(both_pair(&both, false, "enc.first.bias")->flags & DIFF_RENAMED);
    CHECK(!(both_pair(&both, false, "enc.z.weight")->flags & DIFF_RENAMED));
    CHECK_INT(both.diff.total.states[DIFF_SAME], 3);
    CHECK_INT(both.diff.total.renamed, 2);
    CHECK(!diff_equal(&both.diff));
    CHECK(both.diff.loads);
    /* The left one's module is gone: the tree has what it became. */
    CHECK_INT(both.diff.n_nodes, 7);
    both_drop(&both);
}

TEST(zeros_and_other_plain_contents_say_nothing)
{
    struct both both;

    both_make(&both, "a.weight 4x3 1\na.mean 40 0\n", "a.weight 4x3 1\nb.spread 40 0\n",
              &all);
    both_check(&both);
    CHECK(!(both_pair(&both, false, "a.mean")->flags & DIFF_BY_CONTENT));
    both_drop(&both);
}

TEST(contents_that_stand_several_times_are_told_apart_by_name)
{
    struct both both;

    both_make(&both, "h.0.x.weight 4x3 1\nh.1.x.weight 4x3 1\nh.2.x.weight 4x3 1\n",
              "g.2.y.weight 4x3 1\ng.0.y.weight 4x3 1\ng.1.y.weight 4x3 1\n", &all);
    both_check(&both);
    CHECK_STR(became(&both, "h.0.x.weight"), "g.0.y.weight");
    CHECK_STR(became(&both, "h.2.x.weight"), "g.2.y.weight");
    both_drop(&both);
}

TEST(what_content_does_not_tell_goes_with_its_module)
{
    struct both both;

    both_make(&both, "old.a.weight 4x3 1\nold.a.running_mean 40 0\nold.n.scale 4 0\n",
              "new.n.scale 4 0\nnew.a.running_mean 40 0\nnew.a.weight 4x3 1\n", &all);
    both_check(&both);
    CHECK_STR(became(&both, "old.a.running_mean"), "new.a.running_mean");
    CHECK_STR(became(&both, "old.n.scale"), "new.n.scale");
    CHECK(!(both_pair(&both, false, "old.n.scale")->flags & DIFF_BY_CONTENT));
    both_drop(&both);
}

TEST(a_block_put_into_the_middle_moves_the_ones_behind_it)
{
    struct both both;

    both_make(&both,
              "in.weight 4x4 90\nl.0.w 4x4 1\nl.0.b 4 2\nl.1.w 4x4 3\nl.1.b 4 4\n"
              "l.2.w 4x4 5\nl.2.b 4 6\nl.2.n 4 0\n",
              "in.weight 4x4 90\nl.0.w 4x4 1\nl.0.b 4 2\nl.1.w 4x4 50\nl.1.b 4 51\n"
              "l.2.quiet class Q\nl.2.b 4 4\nl.2.w 4x4 3\nl.3.w 4x4 5\nl.3.b 4 6\n"
              "l.3.n 4 0\n",
              &all);
    both_check(&both);
    CHECK_STR(became(&both, "l.0.w"), "l.0.w");
    CHECK_STR(became(&both, "l.1.w"), "l.2.w");
    CHECK_STR(became(&both, "l.1.b"), "l.2.b");
    CHECK_STR(became(&both, "l.2.w"), "l.3.w");
    CHECK_STR(became(&both, "l.2.n"), "l.3.n");
    CHECK_INT(both_pair(&both, true, "l.1.w")->state, DIFF_RIGHT);
    CHECK_INT(both.diff.total.states[DIFF_SAME], 8);
    CHECK_INT(both.diff.total.states[DIFF_CHANGED], 0);
    both_drop(&both);
}

TEST(two_swapped_blocks_are_found_and_half_a_block_is_not_moved)
{
    struct both both;

    both_make(&both, "l.0.w 4x4 1\nl.0.b 4 2\nl.1.w 4x4 3\nl.1.b 4 4\n",
              "l.0.w 4x4 3\nl.0.b 4 4\nl.1.w 4x4 1\nl.1.b 4 2\n", &all);
    both_check(&both);
    CHECK_STR(became(&both, "l.0.w"), "l.1.w");
    CHECK_STR(became(&both, "l.1.b"), "l.0.b");
    both_drop(&both);
    both_make(&both, "l.0.w 4x4 1\nl.0.b 4 2\nl.1.w 4x4 3\nl.1.b 4 4\n",
              "l.0.w 4x4 3\nl.0.b 4 2\nl.1.w 4x4 1\nl.1.b 4 4\n", &all);
    both_check(&both);
    CHECK_STR(became(&both, "l.0.w"), "l.0.w");
    CHECK_INT(both.diff.total.states[DIFF_CHANGED], 2);
    both_drop(&both);
}

TEST(fused_matrices_are_found_by_content_and_in_their_order)
{
    const struct diff_join *join;
    struct both both;

    both_make(&both,
              "a.k_proj.weight 4x4 2\na.k_proj.bias 4 12\na.q_proj.weight 4x4 1\n"
              "a.q_proj.bias 4 11\na.v_proj.weight 4x4 3\na.v_proj.bias 4 13\n"
              "a.out.weight 4x4 5\n",
              "a.qkv.weight 12x4 1+2+3\na.qkv.bias 12 11+12+13\na.out.weight 4x4 5\n",
              &all);
    both_check(&both);
    CHECK_INT(both.diff.n_joins, 2);
    CHECK_INT(both.diff.total.states[DIFF_JOINED], 8);
    join = &both.diff.joins[both_pair(&both, true, "a.qkv.weight")->join];
    CHECK(join->fused && join->n == 3 && join->dim == 0);
    CHECK_INT(join->many[0], place_find(both.left, STR("a.q_proj.weight")));
    CHECK_INT(join->many[1], place_find(both.left, STR("a.k_proj.weight")));
    CHECK_INT(both_pair(&both, false, "a.k_proj.bias")->state, DIFF_JOINED);
    CHECK(both.diff.loads);
    both_drop(&both);
}

TEST(a_matrix_is_split_below_a_module_that_was_renamed)
{
    const struct diff_join *join;
    struct both both;

    both_make(&both,
              "x.h.0.attn.in_proj_weight 12x4 1+2+3\nx.h.0.attn.o.weight 4x4 5\n",
              "y.0.self.q.weight 4x4 1\ny.0.self.k.weight 4x4 2\n"
              "y.0.self.v.weight 4x4 3\ny.0.self.out.weight 4x4 5\n",
              &all);
    both_check(&both);
    CHECK_INT(both.diff.n_joins, 1);
    join = &both.diff.joins[0];
    CHECK(!join->fused && join->n == 3);
    CHECK_INT(join->many[2], place_find(both.right, STR("y.0.self.v.weight")));
    both_drop(&both);
}

TEST(without_contents_only_well_known_names_are_joined)
{
    struct both both;

    both_make(&both, "a.q.weight 4x4 1\na.k.weight 4x4 2\na.v.weight 4x4 3\n",
              "a.qkv.weight 12x4 7\n", &structure);
    both_check(&both);
    CHECK_INT(both.diff.n_joins, 1);
    both_drop(&both);
    both_make(&both, "a.x.weight 4x4 1\na.y.weight 4x4 2\na.z.weight 4x4 3\n",
              "a.all.weight 12x4 7\n", &structure);
    CHECK_INT(both.diff.n_joins, 0);
    both_drop(&both);
}

TEST(a_transposed_matrix_is_told_from_a_reshaped_one)
{
    struct both both;

    both_make(&both, "a 4x3 1\nb 4x3 2\n", "a 3x4 1'\nb 3x4 9\n", &all);
    both_check(&both);
    CHECK_INT(both_pair(&both, false, "a")->state, DIFF_RESHAPED);
    CHECK(both_pair(&both, false, "a")->flags & DIFF_TRANSPOSED);
    CHECK(!(both_pair(&both, false, "b")->flags & DIFF_TRANSPOSED));
    CHECK(!both.diff.loads);
    both_drop(&both);
}

TEST(classes_and_modules_are_compared_where_both_files_tell_them)
{
    struct both both;

    both_make(&both, "net class N\nnet.a class A\nnet.a.w 4 1\nnet.r class R\n",
              "net class N\nnet.a class B\nnet.a.w 4 1\n", &all);
    CHECK_INT(both.diff.n_others, 2);
    CHECK_INT(both.diff.others[0].kind, DIFF_CLASS);
    CHECK_INT(both.diff.others[1].right, NO_PLACE);
    both_drop(&both);
    both_make(&both, "net class N\nnet.a class A\nnet.a.w 4 1\nnet.r class R\n",
              "net.a.w 4 1\n", &all);
    CHECK_INT(both.diff.n_others, 0);
    CHECK(diff_equal(&both.diff));
    both_drop(&both);
}

/* ---- two random trees ---- */

static unsigned next_random(unsigned *state)
{
    *state = *state * 1103515245U + 12345U;
    return *state >> 16 & 0x7fff;
}

static void random_lines(struct buf *to, unsigned *state)
{
    static const char *const words[] = {"a", "b", "0", "1", "2", "q", "k", "v", ""};
    unsigned n = 1 + next_random(state) % 24;

    buf_clear(to);
    for (unsigned i = 0; i < n; i++) {
        unsigned depth = next_random(state) % 4, seed = next_random(state) % 9;

        for (unsigned k = 0; k < depth; k++)
            buf_printf(to, "%s.", words[next_random(state) % 8]);
        buf_printf(to, "t%u ", next_random(state) % 6);
        if (next_random(state) % 9 == 0)
            buf_printf(to, "value %u\n", seed);
        else if (next_random(state) % 4 == 0)
            buf_printf(to, "12 %u+%u+%u\n", seed, seed + 1, seed + 2);
        else
            buf_printf(to, "%u %u%s\n", 4 * (1 + next_random(state) % 2), seed,
                       next_random(state) % 5 == 0 ? "~" : "");
    }
}

/* Pairs of one name in a state. What else was matched is a choice among equals. */
static uint32_t count_named(const struct diff *diff, enum diff_state state)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < diff->n_pairs; i++)
        n += diff->pairs[i].state == state && diff->pairs[i].left != NO_PLACE &&
             diff->pairs[i].right != NO_PLACE && !(diff->pairs[i].flags & DIFF_RENAMED);
    return n;
}

static void check_swapped(const struct diff *one, const struct diff *other)
{
    /* Of two prefixes that are as good the first is taken. */
    if (!str_eq(one->left_prefix, other->right_prefix) ||
        !str_eq(one->right_prefix, other->left_prefix))
        return;
    for (int state = 0; state < DIFF_STATE_COUNT; state++)
        CHECK_INT(count_named(one, state), count_named(other, state));
    CHECK_INT(one->n_others, other->n_others);
    CHECK(diff_equal(one) == diff_equal(other));
}

TEST(random_trees_keep_every_invariant)
{
    struct buf left = BUF_INIT, right = BUF_INIT;
    unsigned state = 7;

    for (int round = 0; round < 400; round++) {
        const struct diff_wanted *wanted = round % 3 ? &all : &structure;
        struct both both, swapped, self;

        random_lines(&left, &state);
        random_lines(&right, &state);
        both_make(&both, buf_cstr(&left), buf_cstr(&right), wanted);
        both_make(&swapped, buf_cstr(&right), buf_cstr(&left), wanted);
        both_make(&self, buf_cstr(&left), buf_cstr(&left), wanted);
        both_check(&both);
        both_check(&swapped);
        both_check(&self);
        CHECK(diff_equal(&self.diff));
        check_swapped(&both.diff, &swapped.diff);
        both_drop(&both);
        both_drop(&swapped);
        both_drop(&self);
    }
    buf_release(&left);
    buf_release(&right);
}
