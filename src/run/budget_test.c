#include "run/budget.h"

#include <math.h>

#include "base/test.h"

/* A simulated model: what a pass takes, and what recording it costs. */
struct simulated {
    double user_ns, hooks_ns; /* hooks: for all layers, in any mode */
    double bytes, rate;       /* measured in full; ns for each */
};

static struct budget_pass simulate(const struct simulated *model, enum budget_mode mode)
{
    static const double part[] = {1, 1.0 / 8, 0.4, 0};
    struct budget_pass pass = {.mode = mode, .user_ns = (uint64_t)model->user_ns};

    if (mode == BUDGET_SKIP)
        return pass;
    pass.bytes = (uint64_t)(model->bytes * part[mode]);
    pass.own_ns = (uint64_t)(model->hooks_ns + model->bytes * part[mode] * model->rate);
    return pass;
}

static void run_passes(struct budget *budget, const struct simulated *model, int n)
{
    for (int i = 0; i < n; i++) {
        struct budget_pass pass = simulate(model, budget_next(budget));

        budget_report(budget, &pass);
    }
}

/* 100 ms a pass; measuring all of it costs 1 ms. */
static const struct simulated cheap = {100e6, 0.2e6, 10e6, 0.08};
/* 100 ms a pass; full costs 8 ms, sampled 1.2 ms. */
static const struct simulated large = {100e6, 0.2e6, 80e6, 0.1};
/* 2,000 tiny layers: 20 ms a pass, 8 ms of hooks, hardly any bytes. */
static const struct simulated tiny = {20e6, 8e6, 1e6, 0.1};

TEST(a_model_that_is_cheap_to_record_is_recorded_in_full)
{
    struct budget budget;

    budget_init(&budget, 0.03);
    run_passes(&budget, &cheap, 1000);
    CHECK_INT(budget.passes[BUDGET_FULL], 1000);
    CHECK(budget_cost(&budget) < 0.03);
    CHECK_STR(budget_fell_back(&budget), "full");
}

TEST(a_large_model_falls_back_to_samples)
{
    struct budget budget;

    budget_init(&budget, 0.03);
    run_passes(&budget, &large, 1000);
    CHECK(budget_cost(&budget) <= 0.03);
    CHECK(budget.passes[BUDGET_SAMPLED] > 900);
    CHECK(budget.passes[BUDGET_FULL] < 5);
}

TEST(two_thousand_tiny_layers_are_recorded_in_some_passes)
{
    struct budget budget;

    budget_init(&budget, 0.03);
    run_passes(&budget, &tiny, 2000);
    CHECK(budget_cost(&budget) <= 0.03);
    /* 8 ms in 0.6 ms a pass: every 14th; and full, because that costs no more. */
    CHECK_NEAR(2000.0 / (double)budget.passes[BUDGET_FULL], 8.1 / 0.6, 1);
    CHECK_INT(budget.passes[BUDGET_SAMPLED] + budget.passes[BUDGET_GUARD], 0);
    CHECK_STR(budget_fell_back(&budget), "every k-th pass");
}

TEST(the_share_stays_below_the_budget_at_every_pass)
{
    const struct simulated *models[] = {&cheap, &large, &tiny};

    for (int m = 0; m < 3; m++) {
        struct budget budget;

        budget_init(&budget, 0.03);
        run_passes(&budget, models[m], 40);
        for (int i = 0; i < 500; i++) {
            run_passes(&budget, models[m], 1);
            CHECK(budget_cost(&budget) <= 0.03 + 1e-9);
        }
    }
}

TEST(a_sudden_change_of_cost_is_noticed_and_paid_off)
{
    struct simulated model = cheap;
    struct budget budget;

    budget_init(&budget, 0.03);
    run_passes(&budget, &model, 300);
    model.hooks_ns *= 200; /* 40 ms a pass from now on */
    run_passes(&budget, &model, 600);
    CHECK(budget_cost(&budget) <= 0.03);
    CHECK(budget.level == BUDGET_SKIP);
    model = cheap;
    run_passes(&budget, &model, 3000);
    CHECK(budget_cost(&budget) <= 0.03);
    CHECK(budget_next(&budget) == BUDGET_FULL);
}

TEST(passes_that_become_faster_earn_less)
{
    struct simulated model = cheap;
    struct budget budget;

    budget_init(&budget, 0.03);
    run_passes(&budget, &model, 100);
    model.user_ns = 5e6; /* the same cost at a twentieth of the time */
    run_passes(&budget, &model, 3000);
    CHECK(budget_cost(&budget) <= 0.03);
    CHECK(budget.passes[BUDGET_SKIP] + budget.passes[BUDGET_SAMPLED] > 2000);
}

TEST(the_mode_does_not_oscillate)
{
    /* Full costs exactly what a pass earns, sometimes a little more, sometimes less. */
    struct simulated model = {100e6, 1e6, 20e6, 0.1};
    enum budget_mode before = BUDGET_FULL;
    struct budget budget;
    int changes = 0;

    budget_init(&budget, 0.03);
    for (int i = 0; i < 2000; i++) {
        model.user_ns = i % 3 ? 99e6 : 102e6;
        run_passes(&budget, &model, 1);
        changes += budget.level != before;
        before = budget.level;
    }
    CHECK(changes < 5);
    CHECK(budget_cost(&budget) <= 0.03);
}

TEST(without_a_limit_every_pass_is_recorded_in_full)
{
    struct budget budget;

    budget_init(&budget, 1);
    run_passes(&budget, &tiny, 100);
    CHECK_INT(budget.passes[BUDGET_FULL], 100);
}

TEST(the_cost_of_starting_is_paid_by_the_passes)
{
    struct budget budget;
    uint64_t recorded;

    budget_init(&budget, 0.03);
    run_passes(&budget, &tiny, 1000);
    recorded = budget.passes[BUDGET_FULL] + budget.passes[BUDGET_SAMPLED];
    budget_init(&budget, 0.03);
    budget_owe(&budget, 80000000); /* ten recorded passes */
    run_passes(&budget, &tiny, 1000);
    CHECK(budget.passes[BUDGET_FULL] + budget.passes[BUDGET_SAMPLED] + 9 <= recorded);
    CHECK(budget_cost(&budget) <= 0.031);
}

TEST(a_budget_of_zero_records_one_pass)
{
    struct budget budget;

    budget_init(&budget, 0);
    run_passes(&budget, &cheap, 100);
    CHECK_INT(budget.passes[BUDGET_FULL], 1);
    CHECK_INT(budget.passes[BUDGET_SKIP], 99);
}
