#include "run/run_times.h"

#include "base/test.h"
#include "run/sample_run.h"

/* The same step, twice as fast from the second call on. */
static struct run *faster(void)
{
    struct run *run = sample_ops();

    for (uint32_t i = 0; i < run->n_calls; i++) {
        run->calls[i].start_ns = run->calls[i].start_ns / 2 + 10000;
        run->calls[i].end_ns = run->calls[i].end_ns / 2 + 10000;
    }
    run->wall_ns = 77;
    return run;
}

TEST(a_run_takes_the_times_of_another_with_the_same_calls)
{
    struct run *run = sample_ops(), *of = faster();

    CHECK(run_take_times(run, of));
    CHECK_INT(run->wall_ns, 77);
    for (uint32_t i = 0; i < run->n_calls; i++)
        CHECK_INT(run->calls[i].end_ns, of->calls[i].end_ns);
    run_free(run);
    run_free(of);
}

TEST(operations_keep_their_order_among_the_calls_and_lose_their_times)
{
    struct run *run = sample_ops(), *of = faster();
    const struct run_op *ops = run->ops->ops;

    CHECK(run_take_times(run, of));
    for (uint32_t i = 1; i < run->ops->n_ops; i++)
        CHECK(ops[i - 1].start_ns <= ops[i].start_ns);
    for (uint32_t i = 0; i < run->ops->n_ops; i++) {
        const struct run_call *call =
            ops[i].call == RUN_NONE ? NULL : &run->calls[ops[i].call];

        CHECK_INT(ops[i].ns, 0);
        if (call && ops[i].phase == OP_FORWARD)
            CHECK(call->start_ns <= ops[i].start_ns && ops[i].start_ns <= call->end_ns);
    }
    for (uint32_t i = 0; i < run->ops->n_totals; i++)
        CHECK_INT(run->ops->totals[i].ns, 0);
    run_free(run);
    run_free(of);
}

TEST(other_calls_are_refused)
{
    struct run *run = sample_ops(), *of = sample_run(1);
    uint64_t before = run->wall_ns;

    CHECK(!run_take_times(run, of));
    CHECK_INT(run->wall_ns, before);
    CHECK(run->ops->ops[1].ns > 0);
    run_free(run);
    run_free(of);
}
