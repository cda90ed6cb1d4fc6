#include "judge/judge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "judge/recent.h"
#include "run/sample_run.h"

/* A step of the sample model: a, then tail. */
struct act {
    uint64_t a_nan, tail_nan, negative; /* in their results; -Inf in that of a */
    double gradient;                    /* of a.weight; NaN: not finite */
    double ratio;                       /* of its update; 0: unknown */
    double loss;
    bool skipped;
};

static uint32_t value(struct trace *trace, uint64_t nan, uint64_t negative, double most)
{
    const int64_t shape[] = {2, 3};
    struct run_value v = {.dtype = DTYPE_FLOAT32, .rank = 2, .numel = 6, .bytes = 24};
    struct stats stats;

    stats_init(&stats, DTYPE_FLOAT32);
    stats.count = 6;
    stats.nan = nan;
    stats.neg_inf = negative;
    if (nan < 6) {
        stats.min = stats.mean = stats.max = most;
        stats.m2 = 0;
    }
    return trace_value(trace, &v, shape, NULL, &stats);
}

static void call(struct trace *trace, uint32_t object, uint32_t given, uint32_t result,
                 uint64_t clock)
{
    uint32_t number = trace_begin(trace, 0, object, RUN_TRAINING | RUN_GRAD_MODE,
                                  trace_string(trace, "net.py:5", 8), clock);

    trace_io(trace, number, RUN_IN, 0, given, 0);
    trace_io(trace, number, RUN_OUT, 0, result, 0);
    trace_end(trace, 0, number, 0, clock + 10);
}

static struct run *run_of(const struct act *act)
{
    const struct trace_wanted wanted = {0};
    struct trace *trace = trace_new(sample_model(), &wanted);
    uint32_t input = value(trace, 0, 0, 3), middle, result, root;
    bool bad = isnan(act->gradient);

    root = trace_begin(trace, 0, SAMPLE_NET, RUN_TRAINING | RUN_GRAD_MODE, 0, 10);
    trace_io(trace, root, RUN_IN, 0, input, 0);
    middle = value(trace, act->a_nan, act->negative, 1);
    result = value(trace, act->tail_nan, 0, 1);
    call(trace, SAMPLE_A, input, middle, 20);
    call(trace, SAMPLE_TAIL, middle, result, 40);
    trace_io(trace, root, RUN_OUT, 0, result, 0);
    trace_end(trace, 0, root, 0, 60);
    trace_param(trace, 0, false, value(trace, 0, 0, 1));
    trace_param(trace, 0, true, value(trace, bad ? 6 : 0, 0, bad ? 0 : act->gradient));
    return trace_finish(trace, 100, 0);
}

/* Judges a step; the first alarm as "SEVERITY name: text", or "". */
static const char *judged(struct judge *judge, uint64_t number, const struct act *act)
{
    static char text[256];
    struct run *run = run_of(act);
    struct history_update update = {.tensor = 0, .ratio = act->ratio};
    struct judge_step step = {.run = run,
                              .updates = &update,
                              .n_updates = act->ratio > 0,
                              .number = number,
                              .training = true,
                              .skipped = act->skipped,
                              .has_loss = true,
                              .loss = act->loss,
                              .lr = (double)NAN};
    const struct history_alarm *alarms;
    uint32_t n;

    stats_init(&update.stats, DTYPE_FLOAT32);
    n = judge_step(judge, &step, &alarms);
    CHECK(n < 2);
    text[0] = 0;
    if (n > 0) {
        CHECK_INT(alarms[0].step, number);
        snprintf(text, sizeof text, "%s %.*s: %.*s",
                 severity_name((enum severity)alarms[0].severity),
                 (int)alarms[0].name.len, alarms[0].name.at, (int)alarms[0].text.len,
                 alarms[0].text.at);
    }
    run_free(run);
    return text;
}

TEST(medians_of_the_last_values)
{
    struct recent recent = {0};

    CHECK(isnan(recent_median(&recent)) && isnan(recent_max(&recent)));
    for (int i = 1; i <= 4; i++)
        recent_add(&recent, i);
    CHECK(recent_median(&recent) == 2.5 && recent_max(&recent) == 4);
    for (int i = 0; i < 2 * RECENT; i++)
        recent_add(&recent, i);
    CHECK_INT(recent_count(&recent), RECENT);
    CHECK(recent_median(&recent) == 74.5 && recent_max(&recent) == 99);
}

TEST(the_first_module_with_nan_is_reported_once)
{
    const struct act good = {.gradient = 1, .loss = 1};
    const struct act bad = {
        .a_nan = 2, .tail_nan = 6, .gradient = (double)NAN, .loss = (double)NAN};
    struct judge *judge = judge_new();

    CHECK_STR(judged(judge, 0, &good), "");
    CHECK_STR(
        judged(judge, 1, &bad),
        "alarm a: first NaN in Linear: 2 of 6 outputs; inputs finite (to 3); 1 NaN "
        "gradient followed");
    CHECK_STR(judged(judge, 2, &bad), "");
    for (uint64_t i = 3; i < 6; i++)
        CHECK_STR(judged(judge, i, &good), "");
    CHECK(strncmp(judged(judge, 6, &bad), "alarm a: first NaN", 18) == 0);
    judge_free(judge);
}

TEST(a_bad_loss_and_bad_gradients_without_a_bad_module)
{
    const struct act loss = {.gradient = 1, .loss = (double)INFINITY};
    const struct act gradient = {.gradient = (double)NAN, .loss = 1};
    struct judge *judge = judge_new();

    CHECK_STR(judged(judge, 4, &loss),
              "alarm loss: first Inf in the loss; outputs of the model finite (to 1)");
    judge_free(judge);
    judge = judge_new();
    CHECK_STR(
        judged(judge, 4, &gradient),
        "alarm a.weight: first NaN in the backward: 6 of 6 gradients of a.weight; "
        "1 NaN gradient followed");
    judge_free(judge);
}

TEST(steps_skipped_by_a_scaler_and_masks_are_no_alarms)
{
    const struct act skipped = {
        .gradient = (double)NAN, .loss = (double)INFINITY, .skipped = true};
    const struct act mask = {.negative = 3, .gradient = 1, .loss = 1};
    struct judge *judge = judge_new();

    CHECK_STR(judged(judge, 0, &skipped), "");
    CHECK_STR(judged(judge, 1, &mask), "");
    judge_free(judge);
}

TEST(a_loss_spike_and_a_loss_near_zero)
{
    struct judge *judge = judge_new();
    struct act act = {.gradient = 1, .loss = 2};

    for (uint64_t i = 0; i < 30; i++)
        CHECK_STR(judged(judge, i, &act), "");
    act.loss = 31;
    CHECK_STR(judged(judge, 30, &act),
              "warning loss: 31, 16 times the median of the last 30 steps");
    CHECK_STR(judged(judge, 31, &act), "");
    for (uint64_t i = 32; i < 90; i++) {
        act.loss = i == 89 ? 1e-7 : 1e-9;
        CHECK_STR(judged(judge, i, &act), "");
    }
    judge_free(judge);
}

TEST(a_gradient_explodes_if_its_update_is_large)
{
    struct judge *judge = judge_new();
    struct act act = {.gradient = 1, .loss = 2, .ratio = 0.001};

    for (uint64_t i = 0; i < 30; i++)
        CHECK_STR(judged(judge, i, &act), "");
    act.gradient = 24;
    act.ratio = 0.002;
    CHECK_STR(judged(judge, 30, &act), "");
    act.ratio = 0.1;
    CHECK_STR(judged(judge, 31, &act),
              "warning a.weight: ‖grad‖ 58.79, 24 times its median; update/w 0.1");
    CHECK_STR(judged(judge, 32, &act), "");
    judge_free(judge);
}

TEST(a_step_that_was_not_logged)
{
    const struct act good = {.gradient = 1, .loss = 1};
    const struct act bad = {.a_nan = 6, .tail_nan = 6, .gradient = 1, .loss = 1};
    const struct history_alarm *alarms;
    struct judge *judge = judge_new();

    CHECK_STR(judged(judge, 0, &good), "");
    CHECK_INT(judge_guard(judge, 7, STR("loss"), STR("the loss is NaN"), &alarms), 1);
    CHECK(alarms[0].step == 7 && str_is(alarms[0].text, "the loss is NaN"));
    CHECK_INT(judge_guard(judge, 8, STR("loss"), STR("the loss is NaN"), &alarms), 0);
    CHECK(strncmp(judged(judge, 9, &bad), "alarm a: first NaN", 18) == 0);
    CHECK_INT(judge_loss(judge, 10, 1, &alarms), 0);
    judge_free(judge);
}
