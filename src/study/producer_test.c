#include "study/producer.h"

#include <string.h>

#include "base/test.h"
#include "run/sample_run.h"

struct made {
    struct trace *trace;
    struct run *run;
    struct arena arena;
    uint64_t clock;
};

static void made_begin(struct made *m)
{
    const struct trace_wanted wanted = {0};

    memset(m, 0, sizeof *m);
    m->trace = trace_new(sample_model(), &wanted);
    CHECK(m->trace && trace_ops_begin(m->trace, 0));
}

static void made_end(struct made *m)
{
    m->run = trace_finish(m->trace, m->clock, 0);
    CHECK(m->run);
    arena_init(&m->arena, 0);
}

static void made_free(struct made *m)
{
    arena_release(&m->arena);
    run_free(m->run);
}

/* A value of 6 elements, some of them non-finite. */
static uint32_t value(struct made *m, uint64_t nan, uint64_t negative)
{
    struct run_value v = {.dtype = DTYPE_FLOAT32, .rank = 1, .numel = 6, .bytes = 24};
    struct stats stats;
    int64_t size = 6;

    stats_init(&stats, DTYPE_FLOAT32);
    stats.count = 6;
    stats.nan = nan;
    stats.neg_inf = negative;
    return trace_value(m->trace, &v, &size, NULL, &stats);
}

static uint32_t enter(struct made *m, uint32_t object, uint32_t given)
{
    uint32_t call = trace_begin(m->trace, 0, object, 0, 0, m->clock += 10);

    trace_io(m->trace, call, RUN_IN, 0, given, 0);
    return call;
}

static void leave(struct made *m, uint32_t call, uint32_t result)
{
    trace_io(m->trace, call, RUN_OUT, 0, result, 0);
    trace_end(m->trace, 0, call, 0, m->clock += 10);
}

static void gradients(struct made *m, uint32_t call, uint64_t out_nan, uint64_t in_nan)
{
    trace_io(m->trace, call, RUN_GRAD_OUT, 0, value(m, out_nan, 0), 0);
    trace_io(m->trace, call, RUN_GRAD_IN, 0, value(m, in_nan, 0), 0);
}

static struct producers find(struct made *m, const uint8_t *masks)
{
    struct producers found;

    made_end(m);
    CHECK(producers_find(m->run, masks, &m->arena, &found) == 0);
    return found;
}

TEST(the_innermost_call_that_made_nan_is_the_producer)
{
    struct producers found;
    uint32_t root, block, act, bad;
    struct made m;

    made_begin(&m);
    root = enter(&m, SAMPLE_NET, value(&m, 0, 0));
    block = enter(&m, SAMPLE_BLOCK, value(&m, 0, 0));
    act = enter(&m, SAMPLE_ACT, value(&m, 0, 0));
    bad = value(&m, 2, 0);
    leave(&m, act, bad);
    leave(&m, block, bad);
    leave(&m, enter(&m, SAMPLE_A, bad), value(&m, 6, 0));
    leave(&m, root, value(&m, 6, 0));
    found = find(&m, NULL);
    CHECK(found.first == act && found.spoilt == act);
    CHECK(found.calls[act] && !found.calls[block] && !found.calls[root]);
    made_free(&m);
}

TEST(a_mask_from_outside_or_with_only_finite_readers_has_no_producer)
{
    struct producers found;
    uint32_t root, mask, made;
    struct made m;

    made_begin(&m);
    mask = value(&m, 0, 3);
    root = enter(&m, SAMPLE_NET, mask);
    leave(&m, enter(&m, SAMPLE_A, mask), value(&m, 0, 0));
    made = value(&m, 0, 2);
    leave(&m, enter(&m, SAMPLE_ACT, value(&m, 0, 0)), made);
    leave(&m, enter(&m, SAMPLE_TAIL, made), value(&m, 0, 0));
    leave(&m, root, value(&m, 0, 0));
    found = find(&m, NULL);
    CHECK(found.first == RUN_NONE && found.spoilt == RUN_NONE);
    made_free(&m);
}

/* log(0) is -Inf too, but its reader turns it into NaN. */
TEST(minus_infinity_with_bad_readers_has_a_producer)
{
    const uint8_t masks[16] = {0};
    struct producers found;
    uint32_t root, made, log;
    struct made m;

    made_begin(&m);
    root = enter(&m, SAMPLE_NET, value(&m, 0, 0));
    log = enter(&m, SAMPLE_ACT, value(&m, 0, 0));
    made = value(&m, 0, 6);
    leave(&m, log, made);
    leave(&m, enter(&m, SAMPLE_TAIL, made), value(&m, 6, 0));
    leave(&m, root, value(&m, 6, 0));
    found = find(&m, masks);
    CHECK_INT(found.first, log);
    made_free(&m);
}

TEST(masks_known_from_earlier_runs_leave_the_next_producer)
{
    uint8_t masks[16] = {0};
    struct producers found;
    uint32_t root, made, tail;
    struct made m;

    made_begin(&m);
    root = enter(&m, SAMPLE_NET, value(&m, 0, 0));
    made = value(&m, 0, 6);
    leave(&m, enter(&m, SAMPLE_A, value(&m, 0, 0)), made);
    tail = enter(&m, SAMPLE_TAIL, made);
    leave(&m, tail, value(&m, 6, 0));
    leave(&m, root, value(&m, 6, 0));
    masks[1] = PRODUCER_MAKES_MASKS; /* place a */
    found = find(&m, masks);
    CHECK_INT(found.first, tail);
    made_free(&m);
}

static struct producer_backward backward(struct made *m)
{
    struct producer_backward found;

    made_end(m);
    CHECK(producer_backward(m->run, &m->arena, &found) == 0);
    return found;
}

TEST(in_backward_the_last_call_with_finite_gradients_behind_it_is_the_producer)
{
    struct producer_backward found;
    uint32_t root, a, tail;
    struct made m;

    made_begin(&m);
    root = enter(&m, SAMPLE_NET, value(&m, 0, 0));
    a = enter(&m, SAMPLE_A, value(&m, 0, 0));
    leave(&m, a, value(&m, 0, 0));
    tail = enter(&m, SAMPLE_TAIL, value(&m, 0, 0));
    leave(&m, tail, value(&m, 0, 0));
    leave(&m, root, value(&m, 0, 0));
    gradients(&m, tail, 0, 3);
    gradients(&m, a, 3, 6);
    trace_param(m.trace, 0, true, value(&m, 6, 0));
    found = backward(&m);
    CHECK(found.kind == PRODUCER_CALL && found.call == tail);
    made_free(&m);
}

TEST(code_between_calls_can_be_a_producer)
{
    struct producer_backward found;
    uint32_t root, a, tail;
    struct made m;

    made_begin(&m);
    root = enter(&m, SAMPLE_NET, value(&m, 0, 0));
    a = enter(&m, SAMPLE_A, value(&m, 0, 0));
    leave(&m, a, value(&m, 0, 0));
    tail = enter(&m, SAMPLE_TAIL, value(&m, 0, 0));
    leave(&m, tail, value(&m, 0, 0));
    leave(&m, root, value(&m, 0, 0));
    gradients(&m, tail, 0, 0);
    gradients(&m, a, 3, 6);
    found = backward(&m);
    CHECK(found.kind == PRODUCER_OWN_CODE && found.call == root && found.inner == a);
    made_free(&m);
}

TEST(bad_gradients_from_the_loss_and_missing_gradients)
{
    struct producer_backward found;
    struct made m;
    uint32_t root;

    made_begin(&m);
    root = enter(&m, SAMPLE_NET, value(&m, 0, 0));
    leave(&m, root, value(&m, 0, 0));
    gradients(&m, root, 1, 6);
    found = backward(&m);
    CHECK(found.kind == PRODUCER_LOSS && found.call == root);
    made_free(&m);

    made_begin(&m);
    root = enter(&m, SAMPLE_NET, value(&m, 0, 0));
    leave(&m, root, value(&m, 0, 0));
    found = backward(&m);
    CHECK_INT(found.kind, PRODUCER_NOWHERE);
    made_free(&m);

    made_begin(&m);
    trace_param(m.trace, 1, true, value(&m, 6, 0));
    found = backward(&m);
    CHECK(found.kind == PRODUCER_CALL && found.call == RUN_NONE && found.tensor == 1);
    made_free(&m);
}

/* ---- operations */

/* An operation that reads one storage and makes another. */
static uint32_t op(struct made *m, const char *name, uint32_t from, uint64_t nan,
                   uint64_t negative)
{
    const char *const args[] = {"self"};
    uint32_t to = trace_op_storage(m->trace, 24, 0, RUN_NONE, OP_STORAGE_OTHER);
    uint32_t kind = trace_op_kind(m->trace, name, "", args, 1, 0), values[2];
    const struct sample_tensor tensors[] = {{from, OP_IN, 0, 2, 3, 0, 0, 0},
                                            {to, OP_OUT, 0, 2, 3, 0, 0, 0}};
    struct stats stats;

    stats_init(&stats, DTYPE_FLOAT32);
    stats.count = 6;
    stats.nan = nan;
    stats.neg_inf = negative;
    sample_op(m->trace, kind, tensors, 2, values);
    trace_op_stats(m->trace, values[1], &stats);
    return to;
}

static uint32_t first_op(struct made *m)
{
    struct producer_op found;

    made_end(m);
    CHECK(producer_op(m->run, &m->arena, &found) == 0);
    CHECK(found.bad || found.op == RUN_NONE);
    return found.op;
}

TEST(the_first_operation_with_a_bad_result_of_good_values)
{
    struct made m;
    uint32_t at;

    made_begin(&m);
    at = trace_op_storage(m.trace, 24, 0, RUN_NONE, OP_STORAGE_OTHER);
    at = op(&m, "aten::mul", at, 0, 0);
    at = op(&m, "aten::log", at, 0, 2); /* op 1 */
    op(&m, "aten::mul", at, 2, 0);
    CHECK_INT(first_op(&m), 1);
    made_free(&m);
}

TEST(a_value_from_outside_is_reported_by_its_first_reader)
{
    struct stats stats;
    struct producer_op found;
    uint32_t at, value;
    struct made m;

    made_begin(&m);
    at = trace_op_storage(m.trace, 24, 0, RUN_NONE, OP_STORAGE_OTHER);
    op(&m, "aten::mul", op(&m, "aten::add", at, 2, 0), 2, 0);
    for (value = 0; !trace_op_unknown(m.trace, value); value++)
        CHECK(value < 8);
    CHECK(!trace_op_unknown(m.trace, RUN_NONE));
    stats_init(&stats, DTYPE_FLOAT32);
    stats.count = 6;
    stats.nan = 1;
    trace_op_stats(m.trace, value, &stats);
    CHECK(!trace_op_unknown(m.trace, value));
    made_end(&m);
    CHECK(producer_op(m.run, &m.arena, &found) == 0);
    CHECK(found.op == RUN_NONE && found.bad && found.reader == 0);
    made_free(&m);
}

TEST(an_infinity_that_vanishes_is_not_reported)
{
    struct made m;
    uint32_t at;

    made_begin(&m);
    at = trace_op_storage(m.trace, 24, 0, RUN_NONE, OP_STORAGE_OTHER);
    op(&m, "aten::reciprocal", op(&m, "aten::exp", at, 6, 0), 0, 0);
    at = op(&m, "aten::log", at, 2, 0); /* op 2 */
    op(&m, "aten::mul", at, 2, 0);
    CHECK_INT(first_op(&m), 2);
    made_free(&m);

    made_begin(&m);
    at = trace_op_storage(m.trace, 24, 0, RUN_NONE, OP_STORAGE_OTHER);
    op(&m, "aten::reciprocal", op(&m, "aten::exp", at, 6, 0), 0, 0);
    CHECK_INT(first_op(&m), RUN_NONE);
    made_free(&m);
}

TEST(reading_only_a_shape_does_not_end_a_bad_value)
{
    struct made m;
    uint32_t at;

    made_begin(&m);
    at = trace_op_storage(m.trace, 24, 0, RUN_NONE, OP_STORAGE_OTHER);
    at = op(&m, "aten::log", at, 2, 0); /* op 0: the loss */
    op(&m, "aten::ones_like", at, 0, 0);
    CHECK_INT(first_op(&m), 0);
    made_free(&m);
}

TEST(an_operation_that_fills_in_minus_infinity_makes_a_mask)
{
    struct made m;
    uint32_t at;

    made_begin(&m);
    at = trace_op_storage(m.trace, 24, 0, RUN_NONE, OP_STORAGE_OTHER);
    at = op(&m, "aten::masked_fill", at, 0, 3);
    at = op(&m, "aten::add", at, 0, 3);
    at = op(&m, "aten::_softmax", at, 3, 0); /* op 2: a row is all mask */
    op(&m, "aten::mul", at, 6, 0);
    CHECK_INT(first_op(&m), 2);
    made_free(&m);

    made_begin(&m);
    at = trace_op_storage(m.trace, 24, 0, RUN_NONE, OP_STORAGE_OTHER);
    op(&m, "aten::_softmax", op(&m, "aten::masked_fill", at, 0, 3), 0, 0);
    CHECK_INT(first_op(&m), RUN_NONE);
    made_free(&m);
}
