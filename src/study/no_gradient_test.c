#include "study/no_gradient.h"

#include "base/test.h"
#include "study/op_scene_in.h"

/* sample_model() has the parameters a.weight (tensor 0) and a.bias (1). In most scenes
 * the bias gets its gradient, the weight does not. */
struct gradient_scene {
    struct op_scene s;
    struct no_gradients all;
    uint32_t x, weight, bias, back;
};

#define BACK OP_BACKWARD

static void begin(struct gradient_scene *g)
{
    op_scene_begin(&g->s, sample_model());
    g->x = op_scene_storage(&g->s, 8, RUN_NONE, OP_STORAGE_OTHER);
    g->weight = op_scene_storage(&g->s, 24, 0, OP_STORAGE_PARAMETER);
    g->bias = op_scene_storage(&g->s, 8, 1, OP_STORAGE_PARAMETER);
}

static uint32_t memory(struct gradient_scene *g)
{
    return op_scene_storage(&g->s, 8, RUN_NONE, OP_STORAGE_OTHER);
}

static uint32_t add(struct gradient_scene *g, struct scene_op op)
{
    op.place = op.phase == OP_FORWARD && op.place == 0 ? 1 : op.place;
    return op_scene_op(&g->s, op);
}

/* loss = value + bias, and its backward. */
static void end(struct gradient_scene *g, uint32_t value, bool grad)
{
    uint32_t loss = memory(g), one = memory(g), at;

    at = add(g, (struct scene_op){"add",
                                  .reads = {{.storage = value, .grad = grad},
                                            {.storage = g->bias, .grad = true}},
                                  .makes = {loss}});
    add(g,
        (struct scene_op){"ones_like", .phase = BACK,
                          .reads = {{.storage = loss, .grad = true}}, .makes = {one}});
    add(g, (struct scene_op){"sum", .phase = BACK, .cause = at + 1, .of = 2,
                             .reads = {{.storage = one}}});
    op_scene_finish(&g->s);
    CHECK(no_gradients_of(&g->all, g->s.run, &g->s.arena, NULL) == 0);
}

static void check_one(struct gradient_scene *g, enum no_gradient_why why, uint32_t op)
{
    CHECK_INT(g->all.n, 1);
    CHECK_INT(g->all.at[0].tensor, 0);
    CHECK_STR(no_gradient_name(g->all.at[0].why), no_gradient_name(why));
    CHECK_INT(g->all.at[0].op, op);
    op_scene_end(&g->s);
}

TEST(a_detach_cuts_the_path)
{
    struct gradient_scene g;
    uint32_t y, z;

    begin(&g);
    y = memory(&g);
    z = memory(&g);
    add(&g, (struct scene_op){"mul", .reads = {{.storage = g.weight, .grad = true}},
                              .makes = {y}});
    add(&g, (struct scene_op){"detach", OP_VIEW | OP_DETACHES,
                              .reads = {{.storage = y, .grad = true}}, .makes = {y}});
    add(&g, (struct scene_op){"relu", .reads = {{.storage = y, .grad = false}},
                              .makes = {z}});
    end(&g, z, false);
    check_one(&g, NO_GRADIENT_DETACHED, 1);
}

TEST(an_argmax_cuts_the_path)
{
    struct gradient_scene g;
    uint32_t y, z, w;

    begin(&g);
    y = memory(&g);
    z = memory(&g);
    w = memory(&g);
    add(&g, (struct scene_op){"mul", .reads = {{.storage = g.weight, .grad = true}},
                              .makes = {y}});
    add(&g, (struct scene_op){"argmax", .reads = {{.storage = y, .grad = true}},
                              .makes = {z}, .dtype = DTYPE_INT64});
    add(&g,
        (struct scene_op){
            "embedding", .reads = {{.storage = z, .grad = false, .dtype = DTYPE_INT64}},
            .makes = {w}});
    end(&g, w, false);
    check_one(&g, NO_GRADIENT_NOT_SMOOTH, 1);
}

TEST(autograd_that_is_off_cuts_the_path)
{
    struct gradient_scene g;
    uint32_t y, z;

    begin(&g);
    y = memory(&g);
    z = memory(&g);
    add(&g, (struct scene_op){"mul", .no_grad = true,
                              .reads = {{.storage = g.weight, .grad = true}},
                              .makes = {y}});
    add(&g, (struct scene_op){"relu", .no_grad = true,
                              .reads = {{.storage = y, .grad = false}}, .makes = {z}});
    end(&g, z, false);
    check_one(&g, NO_GRADIENT_NO_GRAD, 0);
}

/* Inside a custom function autograd is off, but its result has a gradient: the cut is
 * the detach behind it. */
TEST(a_custom_function_does_not_cut_the_path)
{
    struct gradient_scene g;
    uint32_t y, z, w;

    begin(&g);
    y = memory(&g);
    z = memory(&g);
    w = memory(&g);
    add(&g, (struct scene_op){"mul", .no_grad = true,
                              .reads = {{.storage = g.weight, .grad = true}},
                              .makes = {y}});
    add(&g, (struct scene_op){"relu", .no_grad = true,
                              .reads = {{.storage = y, .grad = false}}, .makes = {z}});
    add(&g, (struct scene_op){"neg", .reads = {{.storage = z, .grad = true}},
                              .makes = {w}});
    add(&g, (struct scene_op){"detach", OP_VIEW | OP_DETACHES,
                              .reads = {{.storage = w, .grad = true}}, .makes = {w}});
    end(&g, w, false);
    check_one(&g, NO_GRADIENT_DETACHED, 3);
}

TEST(a_parameter_that_is_read_as_data_gets_no_gradient)
{
    struct gradient_scene g;
    uint32_t y;

    begin(&g);
    y = memory(&g);
    add(&g, (struct scene_op){"mul", .reads = {{.storage = g.weight, .grad = false}},
                              .makes = {y}});
    end(&g, y, false);
    check_one(&g, NO_GRADIENT_DATA, 0);
}

TEST(a_result_that_is_read_as_data_gets_no_gradient)
{
    struct gradient_scene g;
    uint32_t y, z;

    begin(&g);
    y = memory(&g);
    z = memory(&g);
    add(&g, (struct scene_op){"mul", .reads = {{.storage = g.weight, .grad = true}},
                              .makes = {y}});
    add(&g, (struct scene_op){"relu", .reads = {{.storage = y, .grad = false}},
                              .makes = {z}});
    end(&g, z, false);
    check_one(&g, NO_GRADIENT_DATA, 1);
}

TEST(an_unread_parameter_is_reported)
{
    struct gradient_scene g;

    begin(&g);
    end(&g, g.x, false);
    check_one(&g, NO_GRADIENT_NOT_READ, RUN_NONE);
}

TEST(reading_only_the_shape_is_not_reading)
{
    struct gradient_scene g;
    uint32_t y;

    begin(&g);
    y = memory(&g);
    add(&g,
        (struct scene_op){"zeros_like", .reads = {{.storage = g.weight, .grad = true}},
                          .makes = {y}});
    end(&g, y, false);
    check_one(&g, NO_GRADIENT_NOT_READ, RUN_NONE);
}

/* The auxiliary head is only logged: its detach() is not the reason. */
TEST(a_result_outside_the_loss_is_reported)
{
    struct gradient_scene g;
    uint32_t y, z;

    begin(&g);
    y = memory(&g);
    z = memory(&g);
    add(&g, (struct scene_op){"mul", .reads = {{.storage = g.weight, .grad = true}},
                              .makes = {y}});
    add(&g, (struct scene_op){"detach", OP_VIEW | OP_DETACHES,
                              .reads = {{.storage = y, .grad = true}}, .makes = {y}});
    add(&g, (struct scene_op){"mean", .reads = {{.storage = y, .grad = false}},
                              .makes = {z}});
    end(&g, g.x, false);
    check_one(&g, NO_GRADIENT_NOT_IN_LOSS, 1);
}

TEST(an_intact_path_is_reported_as_intact)
{
    struct gradient_scene g;
    uint32_t y;

    begin(&g);
    y = memory(&g);
    add(&g, (struct scene_op){"mul", .reads = {{.storage = g.weight, .grad = true}},
                              .makes = {y}});
    end(&g, y, true);
    check_one(&g, NO_GRADIENT_INTACT, 1);
}

/* q + (r - q).detach(): the gradient goes around the detach. */
TEST(a_parameter_with_a_gradient_is_not_listed)
{
    struct gradient_scene g;
    uint32_t y, z;

    begin(&g);
    y = memory(&g);
    z = memory(&g);
    add(&g, (struct scene_op){"mul", .reads = {{.storage = g.weight, .grad = true}},
                              .makes = {y}});
    add(&g, (struct scene_op){"detach", OP_VIEW | OP_DETACHES,
                              .reads = {{.storage = y, .grad = true}}, .makes = {y}});
    add(&g, (struct scene_op){
                "add",
                .reads = {{.storage = y, .grad = true}, {.storage = y, .grad = false}},
                .makes = {z}});
    add(&g, (struct scene_op){"mul", .phase = BACK, .cause = 1, .of = 1});
    end(&g, z, true);
    CHECK_INT(g.all.n, 0);
    op_scene_end(&g.s);
}

/* The running mean of a norm is written beside the result that carries gradients. */
TEST(a_second_result_does_not_hide_the_cut)
{
    struct gradient_scene g;
    uint32_t y, z, mean, w;

    begin(&g);
    y = memory(&g);
    z = memory(&g);
    w = memory(&g);
    mean = op_scene_storage(&g.s, 8, RUN_NONE, OP_STORAGE_BUFFER);
    add(&g, (struct scene_op){"mul", .reads = {{.storage = g.weight, .grad = true}},
                              .makes = {y}});
    add(&g, (struct scene_op){"native_batch_norm",
                              .reads = {{.storage = y, .grad = true},
                                        {.storage = mean, .grad = false}},
                              .makes = {z}, .writes = mean});
    add(&g, (struct scene_op){"neg",
                              .reads = {{.storage = z, .grad = true},
                                        {.storage = mean, .grad = false}},
                              .makes = {w}});
    add(&g, (struct scene_op){"detach", OP_VIEW | OP_DETACHES,
                              .reads = {{.storage = w, .grad = true}}, .makes = {w}});
    end(&g, w, false);
    check_one(&g, NO_GRADIENT_DETACHED, 3);
}

TEST(without_a_backward_nothing_is_listed)
{
    struct gradient_scene g;
    uint32_t y;

    begin(&g);
    y = memory(&g);
    add(&g, (struct scene_op){"mul", .reads = {{.storage = g.weight, .grad = true}},
                              .makes = {y}});
    op_scene_finish(&g.s);
    CHECK(no_gradients_of(&g.all, g.s.run, &g.s.arena, NULL) == 0);
    CHECK_INT(g.all.n, 0);
    op_scene_end(&g.s);
}

TEST(a_chain_of_ten_thousand_operations_has_a_reason)
{
    struct gradient_scene g;
    uint32_t from, to;

    begin(&g);
    from = g.weight;
    for (int i = 0; i < 10000; i++, from = to) {
        to = memory(&g);
        add(&g, (struct scene_op){"neg", .reads = {{.storage = from, .grad = true}},
                                  .makes = {to}});
    }
    add(&g,
        (struct scene_op){"detach", OP_VIEW | OP_DETACHES,
                          .reads = {{.storage = from, .grad = true}}, .makes = {from}});
    end(&g, from, false);
    check_one(&g, NO_GRADIENT_DETACHED, 10000);
}

TEST(a_model_that_takes_no_part_has_no_reasons)
{
    struct gradient_scene g;
    uint32_t loss;

    begin(&g);
    loss = memory(&g);
    add(&g, (struct scene_op){"neg", .reads = {{.storage = g.x, .grad = true}},
                              .makes = {loss}});
    add(&g, (struct scene_op){"neg", .phase = BACK, .cause = 1,
                              .reads = {{.storage = loss}}});
    op_scene_finish(&g.s);
    CHECK(no_gradients_of(&g.all, g.s.run, &g.s.arena, NULL) == 0);
    CHECK_INT(g.all.n, 0);
    op_scene_end(&g.s);
}
