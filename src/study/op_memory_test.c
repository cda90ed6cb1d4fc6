#include "study/op_memory.h"

#include "base/test.h"
#include "study/op_scene_in.h"

#define OTHER OP_STORAGE_OTHER

static struct memory_use use_of(struct op_scene *s)
{
    struct memory_use use;

    CHECK(memory_use_of(&use, s->run, &s->arena, NULL) == 0);
    return use;
}

static uint64_t sum(const struct memory_use *use)
{
    uint64_t n = 0;

    for (int i = 0; i < MEMORY_KINDS; i++)
        n += use->at_peak[i];
    return n;
}

TEST(the_sample_step_has_a_curve_a_peak_and_saved_activations)
{
    struct op_scene s = {.run = sample_ops()};
    struct memory_use use;

    arena_init(&s.arena, 0);
    use = use_of(&s);
    /* x 24, weight 24 and bias 8 exist before; y and r have 16 each. */
    CHECK_INT(use.n, 9);
    CHECK_INT(use.live[0], 56);
    CHECK_INT(use.live[1], 72);
    CHECK_INT(use.live[4], 88);
    CHECK_INT(use.live[5], 92); /* the loss */
    CHECK_INT(use.live[6], 108);
    CHECK_INT(use.live[7], 132); /* and the gradient of the weight */
    CHECK_INT(use.live[8], 100); /* without y and grad */
    CHECK_INT(use.peak, 132);
    CHECK_INT(use.peak_op, 7);
    CHECK_INT(use.at_peak[MEMORY_PARAMETERS], 32);
    CHECK_INT(use.at_peak[MEMORY_GRADIENTS], 24);
    CHECK_INT(use.at_peak[MEMORY_SAVED], 36); /* y, r and the loss */
    CHECK_INT(use.at_peak[MEMORY_OTHER], 40); /* x and grad */
    CHECK_INT(sum(&use), use.peak);
    CHECK_INT(use.most[MEMORY_PARAMETERS], 32);
    CHECK_INT(use.most[MEMORY_SAVED], 36);
    CHECK_INT(use.most[MEMORY_OTHER], 40);
    CHECK_INT(use.most[MEMORY_OPTIMIZER], 0);
    CHECK_INT(use.saved_op, 6);
    CHECK_INT(use.saved, 36);
    CHECK_INT(use.outside, 4);
    CHECK_INT(use.saved_own[place_find(s.run->model, STR("a"))], 16);
    CHECK_INT(use.saved_own[0], 0);
    CHECK_INT(use.saved_here[0], 32);
    CHECK_INT(use.saved_here[place_find(s.run->model, STR("list"))], 16);
    CHECK_INT(use.phases[OP_FORWARD].allocated, 36);
    CHECK_INT(use.phases[OP_FORWARD].peak, 92);
    CHECK_INT(use.phases[OP_BACKWARD].allocated, 40);
    CHECK_INT(use.phases[OP_BACKWARD].peak_op, 7);
    CHECK_INT(use.phases[OP_OPTIMIZER].peak, 100);
    CHECK_INT(use.phases[OP_RECOMPUTE].ops, 0);
    CHECK_INT(use.phases[OP_RECOMPUTE].peak_op, RUN_NONE);
    op_scene_end(&s);
}

/* x -> a -> b; a is freed in forward, so only b is saved. */
TEST(storages_freed_before_backward_are_not_saved)
{
    struct op_scene s;
    struct memory_use use;
    uint32_t x, a, b, g;

    op_scene_begin(&s, sample_chain(2));
    x = op_scene_storage(&s, 8, RUN_NONE, OTHER);
    a = op_scene_storage(&s, 100, RUN_NONE, OTHER);
    b = op_scene_storage(&s, 200, RUN_NONE, OTHER);
    g = op_scene_storage(&s, 400, RUN_NONE, OTHER);
    op_scene_op(&s, (struct scene_op){"relu", .place = 1, .reads = {{.storage = x}},
                                      .makes = {a}});
    op_scene_op(&s,
                (struct scene_op){"add", .place = 2,
                                  .reads = {{.storage = a, .grad = 1}}, .makes = {b}});
    trace_op_died(s.trace, a);
    op_scene_op(&s, (struct scene_op){"mul", .phase = OP_BACKWARD, .place = 2,
                                      .reads = {{.storage = b}}, .makes = {g}});
    op_scene_finish(&s);
    use = use_of(&s);
    CHECK_INT(use.saved, 200);
    CHECK_INT(use.saved_own[1], 0);
    CHECK_INT(use.saved_own[2], 200);
    CHECK_INT(use.saved_here[0], 200);
    CHECK_INT(use.live[1], 308);
    CHECK_INT(use.live[2], 608);
    CHECK_INT(use.peak_op, 2);
    op_scene_end(&s);
}

/* Two forwards and backwards; what spans both backwards counts for both. */
TEST(the_backward_that_began_with_the_most_is_described)
{
    struct op_scene s;
    struct memory_use use;
    uint32_t x, a, b, c;

    op_scene_begin(&s, sample_chain(3));
    x = op_scene_storage(&s, 8, RUN_NONE, OTHER);
    a = op_scene_storage(&s, 100, RUN_NONE, OTHER);
    b = op_scene_storage(&s, 300, RUN_NONE, OTHER);
    c = op_scene_storage(&s, 250, RUN_NONE, OTHER);
    op_scene_op(&s, (struct scene_op){"a", .place = 1, .reads = {{.storage = x}},
                                      .makes = {a}});
    op_scene_op(&s, (struct scene_op){"b", .place = 2, .reads = {{.storage = x}},
                                      .makes = {b}});
    op_scene_op(
        &s, (struct scene_op){"back", .phase = OP_BACKWARD, .reads = {{.storage = b}}});
    trace_op_died(s.trace, b);
    op_scene_op(&s, (struct scene_op){"c", .place = 3, .reads = {{.storage = a}},
                                      .makes = {c}});
    op_scene_op(
        &s, (struct scene_op){"back", .phase = OP_BACKWARD, .reads = {{.storage = c}}});
    op_scene_finish(&s);
    use = use_of(&s);
    CHECK_INT(use.saved, 400);
    CHECK_INT(use.saved_op, 2);
    CHECK_INT(use.saved_own[1], 100);
    CHECK_INT(use.saved_own[2], 300);
    CHECK_INT(use.saved_own[3], 0);
    op_scene_end(&s);
}

/* A metric kept without gradients is not saved; results of a custom function in no_grad
 * that backward reads are. */
TEST(results_without_gradient_are_saved_only_if_backward_reads_them)
{
    struct op_scene s;
    struct memory_use use;
    uint32_t x, kept, own;

    op_scene_begin(&s, sample_chain(2));
    x = op_scene_storage(&s, 8, RUN_NONE, OTHER);
    kept = op_scene_storage(&s, 100, RUN_NONE, OTHER);
    own = op_scene_storage(&s, 30, RUN_NONE, OTHER);
    op_scene_op(&s, (struct scene_op){"metric", .place = 1, .no_grad = true,
                                      .reads = {{.storage = x}}, .makes = {kept}});
    op_scene_op(&s, (struct scene_op){"own", .place = 2, .no_grad = true,
                                      .reads = {{.storage = x}}, .makes = {own}});
    op_scene_op(&s, (struct scene_op){"back", .phase = OP_BACKWARD,
                                      .reads = {{.storage = own}}});
    op_scene_finish(&s);
    use = use_of(&s);
    CHECK_INT(use.saved, 30);
    CHECK_INT(use.at_peak[MEMORY_OTHER], 108);
    op_scene_end(&s);
}

TEST(recomputed_activations_do_not_count_as_saved)
{
    struct op_scene s;
    struct memory_use use;
    uint32_t x, again;

    op_scene_begin(&s, sample_chain(1));
    x = op_scene_storage(&s, 8, RUN_NONE, OTHER);
    again = op_scene_storage(&s, 50, RUN_NONE, OTHER);
    op_scene_op(&s, (struct scene_op){"first", .phase = OP_BACKWARD,
                                      .reads = {{.storage = x}}});
    op_scene_op(&s, (struct scene_op){"relu", .phase = OP_RECOMPUTE, .place = 1,
                                      .reads = {{.storage = x}}, .makes = {again}});
    op_scene_op(&s, (struct scene_op){"back", .phase = OP_BACKWARD,
                                      .reads = {{.storage = again}}});
    op_scene_finish(&s);
    use = use_of(&s);
    CHECK_INT(use.saved, 0);
    CHECK_INT(use.at_peak[MEMORY_RECOMPUTED], 50);
    CHECK_INT(use.phases[OP_RECOMPUTE].allocated, 50);
    op_scene_end(&s);
}

TEST(a_run_without_backward_saves_nothing_and_one_without_operations_has_no_peak)
{
    struct op_scene s;
    struct memory_use use;
    uint32_t x, a;

    op_scene_begin(&s, sample_chain(1));
    x = op_scene_storage(&s, 8, RUN_NONE, OTHER);
    a = op_scene_storage(&s, 100, RUN_NONE, OTHER);
    op_scene_op(&s, (struct scene_op){"relu", .place = 1, .reads = {{.storage = x}},
                                      .makes = {a}});
    op_scene_finish(&s);
    use = use_of(&s);
    CHECK_INT(use.saved_op, RUN_NONE);
    CHECK_INT(use.saved, 0);
    CHECK_INT(use.peak, 108);
    op_scene_end(&s);
    op_scene_begin(&s, sample_chain(1));
    op_scene_finish(&s);
    use = use_of(&s);
    CHECK_INT(use.peak_op, RUN_NONE);
    CHECK_INT(use.peak, 0);
    op_scene_end(&s);
}

TEST(parameters_that_no_operation_used_are_part_of_the_memory)
{
    struct op_scene s;
    struct memory_use use;
    uint32_t x, a;

    op_scene_begin(&s, sample_model()); /* 24 and 8 bytes of parameters */
    x = op_scene_storage(&s, 8, RUN_NONE, OTHER);
    a = op_scene_storage(&s, 100, RUN_NONE, OTHER);
    op_scene_op(&s, (struct scene_op){"relu", .place = 1, .reads = {{.storage = x}},
                                      .makes = {a}});
    op_scene_finish(&s);
    use = use_of(&s);
    CHECK_INT(use.peak, 140);
    CHECK_INT(use.at_peak[MEMORY_PARAMETERS], 32);
    op_scene_end(&s);
}

/* An input of the second step does not count in the first. */
TEST(inputs_count_from_the_step_that_uses_them)
{
    struct op_scene s;
    struct memory_use use;
    uint32_t x, y, a;

    op_scene_begin(&s, sample_chain(1));
    x = op_scene_storage(&s, 8, RUN_NONE, OTHER);
    a = op_scene_storage(&s, 4, RUN_NONE, OTHER);
    op_scene_op(&s, (struct scene_op){"relu", .reads = {{.storage = x}}});
    trace_op_died(s.trace, x);
    trace_stepped(s.trace, 0);
    op_scene_op(&s, (struct scene_op){"ones", .makes = {a}});
    y = op_scene_storage(&s, 16, RUN_NONE, OTHER);
    op_scene_op(&s, (struct scene_op){"relu", .reads = {{.storage = y}}});
    op_scene_finish(&s);
    use = use_of(&s);
    CHECK_INT(use.live[0], 8);
    CHECK_INT(use.live[1], 20); /* with a, which is made */
    op_scene_end(&s);
}

/* The recorder gives no roles here: they follow from what operations did. */
TEST(gradients_and_optimizer_state_are_found_by_their_users)
{
    struct op_scene s;
    struct memory_use use;
    uint32_t x, grad, old, state, spare;

    op_scene_begin(&s, sample_model());
    x = op_scene_storage(&s, 8, RUN_NONE, OTHER);
    grad = op_scene_storage(&s, 24, RUN_NONE, OTHER);
    state = op_scene_storage(&s, 100, RUN_NONE, OTHER);
    spare = op_scene_storage(&s, 1000, RUN_NONE, OTHER);
    op_scene_op(&s, (struct scene_op){"mm", .phase = OP_BACKWARD,
                                      .reads = {{.storage = x}}, .makes = {grad}});
    op_scene_op(&s, (struct scene_op){"detach", .kind = OP_VIEW | OP_DETACHES,
                                      .phase = OP_BACKWARD, .of = 1,
                                      .reads = {{.storage = grad}}, .makes = {grad}});
    old = op_scene_storage(&s, 50, RUN_NONE, OTHER); /* first used by the optimizer */
    op_scene_op(&s, (struct scene_op){"mul", .phase = OP_OPTIMIZER,
                                      .reads = {{.storage = grad}, {.storage = old}},
                                      .makes = {state, spare}});
    trace_op_died(s.trace, spare);
    op_scene_op(&s, (struct scene_op){"relu", .reads = {{.storage = x}}});
    op_scene_finish(&s);
    use = use_of(&s);
    CHECK_INT(use.peak_op, 2);
    CHECK_INT(use.at_peak[MEMORY_GRADIENTS], 24);
    CHECK_INT(use.at_peak[MEMORY_OPTIMIZER], 150);
    CHECK_INT(use.at_peak[MEMORY_OTHER], 1008);
    CHECK_INT(use.live[0], 32 + 8 + 24 + 50);
    op_scene_end(&s);
}
