#include "study/grad_paths.h"

#include <math.h>

#include "base/test.h"
#include "study/op_scene_in.h"

/* A residual block, y = f(x) + x, in operations. Storages are named by what they hold;
 * g_ is a gradient.
 *
 *   0 tanh     w -> x           4 sqrt      g_loss -> g_y        backward of 3
 *   1 relu     x -> f           5 threshold g_y -> g_f           backward of 1
 *   2 add      f, x -> y        6 add       g_y, g_f -> g_x      the sum of both parts
 *   3 sum      y -> loss        7 mul       g_x -> g_w           backward of 0 */
enum { W = 1, X, F, Y, LOSS, G_LOSS, G_Y, G_F, G_X, G_W, MORE, STORAGES };
enum { OP_TANH, OP_RELU, OP_SUM_OF_BOTH, OP_LOSS };

#define L2_OF_SKIP 3.0
#define L2_OF_MAIN 4.0

struct block {
    struct op_scene scene;
    struct run_ops *ops;
    struct stats stats[STORAGES];
    struct grad_paths paths;
};

static const struct model *chain(void)
{
    return sample_chain(1);
}

static void begin(struct block *b)
{
    op_scene_begin(&b->scene, chain());
    for (uint32_t i = 1; i < STORAGES; i++)
        op_scene_storage(&b->scene, 8, RUN_NONE, OP_STORAGE_OTHER);
}

static void add(struct block *b, struct scene_op op)
{
    op_scene_op(&b->scene, op);
}

static void forward(struct block *b, const char *sum)
{
    add(b, (struct scene_op){.name = "tanh", .reads = {{W, true, 0}}, .makes = {X}});
    add(b, (struct scene_op){.name = "relu", .reads = {{X, true, 0}}, .makes = {F}});
    add(b, (struct scene_op){
               .name = sum, .reads = {{F, true, 0}, {X, true, 0}}, .makes = {Y}});
    add(b, (struct scene_op){.name = "sum", .reads = {{Y, true, 0}}, .makes = {LOSS}});
}

static struct scene_op backward_of(uint32_t cause, const char *name, uint32_t reads,
                                   uint32_t makes)
{
    return (struct scene_op){.name = name,
                             .phase = OP_BACKWARD,
                             .no_grad = true,
                             .cause = cause + 1,
                             .reads = {{reads, false, 0}},
                             .makes = {makes}};
}

static void backward(struct block *b)
{
    struct scene_op sum = backward_of(OP_RELU, "add", G_Y, G_X);

    sum.reads[1] = (struct scene_read){G_F, false, 0};
    add(b, backward_of(OP_LOSS, "sqrt", G_LOSS, G_Y));
    add(b, backward_of(OP_RELU, "threshold_backward", G_Y, G_F));
    add(b, sum);
    add(b, backward_of(OP_TANH, "mul", G_X, G_W));
}

/* The newest value that a storage holds. */
static uint32_t value_in(const struct block *b, uint32_t storage)
{
    for (uint32_t i = b->ops->n_values; i > 0; i--)
        if (b->ops->values[i - 1].storage == storage)
            return i - 1;
    return RUN_NONE;
}

static void finish(struct block *b)
{
    op_scene_finish(&b->scene);
    b->ops = (struct run_ops *)(uintptr_t)b->scene.run->ops;
    b->scene.run->stats = b->stats;
    b->scene.run->n_stats = STORAGES;
}

/* The value in `storage` was measured. Its two elements are equal. */
static void measured(struct block *b, uint32_t storage, double l2)
{
    double element = l2 / sqrt(2);

    b->stats[storage] =
        (struct stats){.count = 2, .min = element, .max = element, .mean = element};
    b->ops->values[value_in(b, storage)].stats = storage;
}

static void follow(struct block *b)
{
    struct err err = {0};

    CHECK_INT(grad_paths_make(&b->paths, b->scene.run, &b->scene.arena, &err), 0);
}

static struct block *block(const char *sum)
{
    static struct block made;

    made = (struct block){0};
    begin(&made);
    forward(&made, sum);
    backward(&made);
    finish(&made);
    measured(&made, G_Y, L2_OF_SKIP);
    measured(&made, G_F, L2_OF_MAIN);
    return &made;
}

static double through_op(const struct block *b, uint32_t storage, uint32_t op)
{
    return grad_paths_l2(&b->paths, value_in(b, storage),
                         (struct grad_reader){op, RUN_NONE});
}

static double through_call(const struct block *b, uint32_t storage, uint32_t call)
{
    return grad_paths_l2(&b->paths, value_in(b, storage),
                         (struct grad_reader){RUN_NONE, call});
}

static bool is_near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

TEST(the_sum_passes_its_gradient_on_and_the_main_path_has_its_own)
{
    static const struct grad_reader readers[] = {{OP_RELU, RUN_NONE},
                                                 {OP_SUM_OF_BOTH, RUN_NONE}};
    struct block *b = block("add");
    double shares[2];

    follow(b);
    CHECK(is_near(through_op(b, X, OP_RELU), L2_OF_MAIN));
    CHECK(is_near(through_op(b, X, OP_SUM_OF_BOTH), L2_OF_SKIP));
    CHECK(is_near(through_op(b, F, OP_SUM_OF_BOTH), L2_OF_SKIP));
    grad_paths_shares(&b->paths, value_in(b, X), readers, 2, shares);
    CHECK(is_near(shares[0], 4.0 / 7) && is_near(shares[1], 3.0 / 7));
    op_scene_end(&b->scene);
}

TEST(a_share_needs_all_readers)
{
    static const struct grad_reader relu = {OP_RELU, RUN_NONE};
    struct block *b = block("add");
    double share;

    follow(b);
    grad_paths_shares(&b->paths, value_in(b, X), &relu, 1, &share);
    CHECK(isnan(share));
    op_scene_end(&b->scene);
}

TEST(gradients_that_were_not_measured_are_unknown)
{
    static const struct grad_reader readers[] = {{OP_RELU, RUN_NONE},
                                                 {OP_SUM_OF_BOTH, RUN_NONE}};
    struct block *b = block("add");
    double shares[2];

    b->ops->values[value_in(b, G_F)].stats = RUN_NONE;
    follow(b);
    CHECK(isnan(through_op(b, X, OP_RELU)));
    CHECK(is_near(through_op(b, X, OP_SUM_OF_BOTH), L2_OF_SKIP));
    grad_paths_shares(&b->paths, value_in(b, X), readers, 2, shares);
    CHECK(isnan(shares[0]) && isnan(shares[1]));
    op_scene_end(&b->scene);
}

TEST(statistics_that_are_not_exact_are_not_used)
{
    struct block *b = block("add");

    b->stats[G_F].sampled = true;
    b->stats[G_Y].nan = 1;
    follow(b);
    CHECK(isnan(through_op(b, X, OP_RELU)));
    CHECK(isnan(through_op(b, X, OP_SUM_OF_BOTH)));
    op_scene_end(&b->scene);
}

TEST(only_sums_pass_their_gradient_on)
{
    struct block *b = block("maximum");

    follow(b);
    CHECK(isnan(through_op(b, X, OP_SUM_OF_BOTH)));
    op_scene_end(&b->scene);
}

/* The block with one more reader of x, whose result is not read. */
static double unused(const char *name)
{
    static struct block made;
    double l2;

    made = (struct block){0};
    begin(&made);
    forward(&made, "add");
    add(&made,
        (struct scene_op){.name = name, .reads = {{X, true, 0}}, .makes = {MORE}});
    backward(&made);
    finish(&made);
    measured(&made, G_Y, L2_OF_SKIP);
    follow(&made);
    l2 = through_op(&made, X, OP_LOSS + 1);
    op_scene_end(&made.scene);
    return l2;
}

TEST(a_reader_without_backward_sends_no_gradient_unless_a_backward_may_start_there)
{
    CHECK(unused("cos") == 0);
    CHECK(isnan(unused("neg")));
}

TEST(without_backward_all_gradients_are_unknown)
{
    static struct block b;

    b = (struct block){0};
    begin(&b);
    forward(&b, "add");
    finish(&b);
    follow(&b);
    CHECK(!b.paths.any);
    CHECK(isnan(through_op(&b, X, OP_RELU)));
    CHECK(isnan(through_op(&b, W, OP_TANH)));
    op_scene_end(&b.scene);
}

TEST(two_backwards_are_not_merged)
{
    static struct block b;

    b = (struct block){0};
    begin(&b);
    forward(&b, "add");
    backward(&b);
    add(&b, backward_of(OP_LOSS, "sqrt", G_LOSS, MORE));
    add(&b, backward_of(OP_RELU, "threshold_backward", MORE, G_W));
    finish(&b);
    measured(&b, G_Y, L2_OF_SKIP);
    measured(&b, MORE, 1);
    follow(&b);
    CHECK(isnan(through_op(&b, Y, OP_LOSS)));
    CHECK(isnan(through_op(&b, X, OP_SUM_OF_BOTH)));
    op_scene_end(&b.scene);
}

/* The block as modules: call 0 runs everything, call 1 the relu, whose argument and
 * result have gradients. Operations were not measured. */
static struct run_call block_calls[] = {
    {.parent = RUN_NONE, .ios = 0, .n_ios = 0},
    {.parent = 0, .ios = 0, .n_ios = 4},
};
static struct run_io block_ios[] = {{1, RUN_IN, 0, 7, 0},
                                    {1, RUN_OUT, 0, 8, 1},
                                    {1, RUN_GRAD_OUT, 0, 8, 2},
                                    {1, RUN_GRAD_IN, 0, 7, 3},
                                    {1, RUN_GRAD_IN, 0, 7, 3}};
static struct run_value block_values[4];

static struct block *called_block(uint32_t n_ios)
{
    struct block *b = block("add");
    for (uint32_t i = 0; i < 4; i++)
        block_values[i] = (struct run_value){.stats = RUN_NONE, .op_value = RUN_NONE};
    block_values[0].op_value = value_in(b, X);
    block_values[1].op_value = value_in(b, F);
    block_values[2].stats = G_Y;
    block_values[3].stats = G_F;
    b->ops->values[value_in(b, G_Y)].stats = RUN_NONE;
    b->ops->values[value_in(b, G_F)].stats = RUN_NONE;
    for (uint32_t i = 0; i <= OP_LOSS; i++)
        b->ops->ops[i].call = i == OP_RELU;
    b->scene.run->calls = block_calls;
    b->scene.run->n_calls = 2;
    b->scene.run->ios = block_ios;
    b->scene.run->n_ios = n_ios;
    b->scene.run->values = block_values;
    b->scene.run->n_values = 4;
    return b;
}

TEST(gradients_of_a_call_give_the_shares_of_both_paths)
{
    static const struct grad_reader readers[] = {{RUN_NONE, 1},
                                                 {OP_SUM_OF_BOTH, RUN_NONE}};
    struct block *b = called_block(4);
    double shares[2];

    follow(b);
    CHECK(is_near(through_call(b, X, 1), L2_OF_MAIN));
    CHECK(is_near(through_op(b, X, OP_RELU), L2_OF_MAIN));
    CHECK(is_near(through_op(b, X, OP_SUM_OF_BOTH), L2_OF_SKIP)); /* by way of f */
    CHECK(isnan(through_call(b, X, 0))); /* both, and their sum was not measured */
    grad_paths_shares(&b->paths, value_in(b, X), readers, 2, shares);
    CHECK(is_near(shares[0], 4.0 / 7) && is_near(shares[1], 3.0 / 7));
    op_scene_end(&b->scene);
}

TEST(a_call_with_two_backwards_is_unknown)
{
    struct block *b = called_block(5);

    follow(b);
    CHECK(isnan(through_call(b, X, 1)));
    op_scene_end(&b->scene);
}

TEST(without_operations_shares_come_from_calls)
{
    struct block *b = called_block(4);
    const struct run_ops *ops = b->scene.run->ops;
    struct grad_reader relu = {RUN_NONE, 1};
    double share;

    b->scene.run->ops = NULL;
    follow(b);
    CHECK(is_near(grad_paths_l2(&b->paths, 0, relu), L2_OF_MAIN));
    CHECK(isnan(grad_paths_l2(&b->paths, 0, (struct grad_reader){0, RUN_NONE})));
    grad_paths_shares(&b->paths, 0, &relu, 1, &share);
    CHECK(isnan(share)); /* the + is not known */
    b->scene.run->ops = ops;
    op_scene_end(&b->scene);
}

TEST(edges_of_a_graph_have_norms_and_shares)
{
    struct block *b = block("add");
    struct op_graph_wanted wanted = {.level = OP_GRAPH_MODULES};
    struct grad_edge *edges;
    struct op_graph graph;
    struct err err = {0};
    double sum = 0;

    follow(b);
    CHECK_INT(op_graph_make(&graph, b->scene.run, wanted, &b->scene.arena, &err), 0);
    CHECK_INT(grad_paths_edges(&edges, &b->paths, &graph, &b->scene.arena, &err), 0);
    for (uint32_t i = 0; i < graph.n_edges; i++)
        if (graph.edges[i].value == value_in(b, X))
            sum += edges[i].share;
    CHECK(is_near(sum, 1));
    op_scene_end(&b->scene);
}

TEST(a_spent_arena_is_an_error)
{
    struct block *b = block("add");
    struct err err = {0};
    struct arena small;

    arena_init(&small, 64);
    CHECK_INT(grad_paths_make(&b->paths, b->scene.run, &small, &err), -1);
    CHECK(err.code == ERR_LIMIT);
    arena_release(&small);
    op_scene_end(&b->scene);
}
