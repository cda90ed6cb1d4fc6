#include "study/diverge/divergence.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "model/build.h"
#include "run/sample_run.h"

/* ---- two runs, compared ---- */

struct compared_runs {
    struct run *run[2];
    struct arena arena;
    struct diff diff;
    struct divergence divergence;
};

static void compare(struct compared_runs *both, struct run *left, struct run *right,
                    double tolerance)
{
    struct divergence_wanted wanted = {.tolerance = tolerance};

    both->run[0] = left;
    both->run[1] = right;
    arena_init(&both->arena, GIB);
    CHECK(diff_make(&both->diff, left->model, right->model, &(struct diff_wanted){0},
                    &both->arena, NULL, NULL) == 0);
    CHECK(divergence_make(&both->divergence, left, right, &both->diff, &wanted,
                          &both->arena, NULL, NULL) == 0);
}

static void drop(struct compared_runs *both)
{
    arena_release(&both->arena);
    run_free(both->run[0]);
    run_free(both->run[1]);
}

static const char *first_name(struct compared_runs *both)
{
    const struct divergence *divergence = &both->divergence;
    struct buf path = BUF_INIT;
    const char *name;

    CHECK(divergence->first != RUN_NONE);
    place_path(both->run[0]->model, divergence->results[divergence->first].place[0],
               &path);
    name = arena_str(&both->arena, buf_span(&path)).at;
    buf_release(&path);
    return name;
}

/* ---- a chain of modules ---- */

/* Modules PREFIX0, PREFIX1, ... below a root. */
static const struct model *chain(const char *prefix, uint32_t n, const char *class_name)
{
    struct build build;
    char name[24];

    CHECK(build_init(&build, "chain", 0, NULL, NULL) == 0);
    build_set_kind(&build, 0, PLACE_MODULE);
    CHECK(build_object(&build, 0));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t node;

        snprintf(name, sizeof name, "%s%u", prefix, i);
        node = build_node(&build, 0, PLACE_MODULE, str_of(name));
        CHECK(build_object(&build, node));
        build_object(&build, node)->class_id = build_class(&build, str_of(class_name));
    }
    {
        const struct model *model = build_finish(&build, NULL);

        CHECK(model);
        build_release(&build);
        return model;
    }
}

static void io(struct trace *trace, uint32_t call, enum run_io_kind kind,
               uint32_t value)
{
    trace_io(trace, call, kind, trace_string(trace, "", 0), value, 0);
}

/* One pass: module i turns value i into value i + 1; the root returns the last. */
static void pass(struct trace *trace, uint64_t *clock, const double *means, uint32_t n)
{
    uint32_t root = trace_begin(trace, 0, 0, 0, 0, ++*clock);
    uint32_t value = sample_value(trace, 2, 3, means[0]);

    io(trace, root, RUN_IN, value);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t call = trace_begin(trace, 0, i + 1, 0, 0, ++*clock);

        io(trace, call, RUN_IN, value);
        /* columns distinguish the modules for those who go by shapes */
        value = sample_value(trace, 2, 4 + i, means[i + 1]);
        io(trace, call, RUN_OUT, value);
        trace_end(trace, 0, call, 0, ++*clock);
    }
    io(trace, root, RUN_OUT, value);
    trace_end(trace, 0, root, 0, ++*clock);
}

static struct run *run_chain(const struct model *model, const double *means, uint32_t n)
{
    struct trace *trace = trace_new(model, &(struct trace_wanted){0});
    uint64_t clock = 100;
    struct run *run;

    CHECK(trace);
    pass(trace, &clock, means, n);
    run = trace_finish(trace, 1000, 0);
    CHECK(run);
    return run;
}

TEST(equal_runs_agree)
{
    static const double means[] = {1, 2, 3, 4};
    struct compared_runs both;

    compare(&both, run_chain(chain("m", 3, "M"), means, 3),
            run_chain(chain("m", 3, "M"), means, 3), 0);
    CHECK(divergence_agrees(&both.divergence));
    CHECK_INT(both.divergence.n_results,
              4); /* the root's result is the last module's */
    CHECK_INT(both.divergence.calls.by_name, 4);
    CHECK(both.divergence.closest == 0);
    drop(&both);
}

TEST(the_first_result_beyond_the_tolerance_is_found_and_its_inputs)
{
    static const double left[] = {1, 2, 3, 4, 5}, right[] = {1, 2, 3.000003, 4.4, 9};
    struct compared_runs both;
    const struct divergence_result *first;
    struct divergence_input *inputs;
    uint32_t n;

    compare(&both, run_chain(chain("m", 4, "M"), left, 4),
            run_chain(chain("m", 4, "M"), right, 4), 0);
    CHECK(!divergence_agrees(&both.divergence));
    CHECK_STR(first_name(&both), "m2");
    first = &both.divergence.results[both.divergence.first];
    CHECK_INT(first->what, DIVERGENCE_CALL);
    CHECK_INT(first->by.how, DIVERGENCE_STATISTICS);
    CHECK_NEAR(first->by.distance, 0.4 / 4.4, 1e-9);
    CHECK_NEAR(first->by.max_abs, 0.4, 1e-9);
    CHECK_NEAR(first->inputs, 1e-6, 1e-9);
    CHECK(first->begins);
    CHECK_NEAR(first->tolerance, 1e-5, 0);
    inputs =
        divergence_inputs(&both.divergence, both.divergence.first, &both.arena, &n);
    CHECK_INT(n, 1);
    CHECK_NEAR(inputs[0].by.distance, 1e-6, 1e-9);
    CHECK_INT(both.divergence.n_later, 1);
    CHECK_NEAR(both.divergence.closest, 1e-6, 1e-9);
    CHECK_INT(both.divergence.begins, 1);
    drop(&both);
}

TEST(results_are_summed_up_by_place)
{
    static const double left[] = {1, 2, 3, 4, 5}, right[] = {1, 2, 3, 4.4, 9};
    struct compared_runs both;
    const struct divergence_sum *root, *m2;

    compare(&both, run_chain(chain("m", 4, "M"), left, 4),
            run_chain(chain("m", 4, "M"), right, 4), 0);
    root = divergence_at(&both.divergence, &both.diff, 0);
    CHECK_INT(root->results, both.divergence.n_results);
    CHECK_INT(root->beyond, both.divergence.beyond);
    CHECK(root->first);
    CHECK_INT(both.divergence.sums[2].beyond, 0); /* m1 */
    CHECK(!both.divergence.sums[2].first);
    m2 = &both.divergence.sums[3];
    CHECK_INT(m2->results, 1);
    CHECK_INT(m2->beyond, 1);
    CHECK(m2->first && m2->farthest > 0.05 && m2->farthest < root->farthest);
    CHECK(!both.divergence.sums[4].first);
    drop(&both);
}

TEST(a_tolerance_can_be_given)
{
    static const double left[] = {1, 2, 3}, right[] = {1, 2.1, 5};
    struct compared_runs both;

    compare(&both, run_chain(chain("m", 2, "M"), left, 2),
            run_chain(chain("m", 2, "M"), right, 2), 0.1);
    CHECK_STR(first_name(&both), "m1");
    drop(&both);
}

TEST(other_inputs_are_named_first)
{
    static const double left[] = {1, 2}, right[] = {-1, 2};
    struct compared_runs both;

    compare(&both, run_chain(chain("m", 1, "M"), left, 1),
            run_chain(chain("m", 1, "M"), right, 1), 0);
    CHECK_INT(both.divergence.results[both.divergence.first].what, DIVERGENCE_INPUT);
    drop(&both);
}

TEST(modules_of_other_names_are_matched_in_order)
{
    static const double left[] = {1, 2, 3, 4}, right[] = {1, 2, 3, 8};
    struct compared_runs both;

    compare(&both, run_chain(chain("m", 3, "M"), left, 3),
            run_chain(chain("other", 3, "N"), right, 3), 0);
    CHECK_STR(first_name(&both), "m2");
    CHECK_INT(both.divergence.calls.by_order, 3);
    CHECK_INT(divergence_pairs(&both.divergence.calls), 4);
    drop(&both);
}

TEST(calls_that_only_one_side_has_are_counted)
{
    static const double means[] = {1, 2, 3};
    struct trace *trace = trace_new(chain("m", 2, "M"), &(struct trace_wanted){0});
    struct compared_runs both;
    uint64_t clock = 100;
    struct run *three;

    CHECK(trace);
    for (int i = 0; i < 3; i++)
        pass(trace, &clock, means, 2);
    three = trace_finish(trace, 1000, 0);
    compare(&both, run_chain(chain("m", 2, "M"), means, 2), three, 0);
    CHECK(divergence_agrees(&both.divergence));
    CHECK_INT(both.divergence.calls.n[0], 3);
    CHECK_INT(both.divergence.calls.n[1], 9);
    CHECK_INT(divergence_pairs(&both.divergence.calls), 3);
    drop(&both);
}

TEST(results_of_different_sizes_have_infinite_distance)
{
    static const double means[] = {1, 2};
    struct trace *trace = trace_new(chain("m", 1, "M"), &(struct trace_wanted){0});
    struct compared_runs both;
    struct run *run;
    uint32_t root;

    CHECK(trace);
    root = trace_begin(trace, 0, 0, 0, 0, 100);
    io(trace, root, RUN_OUT, sample_value(trace, 9, 9, 2));
    trace_end(trace, 0, root, 0, 101);
    run = trace_finish(trace, 1000, 0);
    compare(&both, run_chain(chain("m", 1, "M"), means, 1), run, 0);
    CHECK_INT(both.divergence.results[both.divergence.first].by.how, DIVERGENCE_SHAPE);
    CHECK(isinf(both.divergence.results[both.divergence.first].by.distance));
    drop(&both);
}

/* ---- values ---- */

static struct run *run_value_of(enum dtype dtype, const struct stats *stats,
                                const float *kept, uint32_t n)
{
    struct trace *trace =
        trace_new(chain("m", 1, "M"), &(struct trace_wanted){.keep_limit = 1 << 20});
    const int64_t shape[] = {n};
    struct run_value value = {.dtype = (uint8_t)dtype, .rank = 1, .numel = n};
    uint32_t root, at;
    struct run *run;

    CHECK(trace);
    value.device = trace_device(trace, "cpu");
    at = trace_value(trace, &value, shape, NULL, stats);
    root = trace_begin(trace, 0, 0, 0, 0, 100);
    io(trace, root, RUN_OUT, at);
    if (kept)
        CHECK(trace_keep(trace, at, kept, n * sizeof *kept));
    trace_end(trace, 0, root, 0, 101);
    run = trace_finish(trace, 1000, 0);
    CHECK(run);
    return run;
}

static struct stats stats_of_floats(const float *x, uint32_t n)
{
    struct stats stats;

    stats_init(&stats, DTYPE_FLOAT32);
    stats_add(&stats, NULL, DTYPE_FLOAT32, x, n, 0, MEASURE_EXACT);
    return stats;
}

/* The distance of two lists of numbers, by elements or by statistics. */
static struct divergence_amount amount(const float *a, const float *b, uint32_t n,
                                       bool elements)
{
    struct stats left = stats_of_floats(a, n), right = stats_of_floats(b, n);
    struct divergence_amount by;
    struct compared_runs both;

    compare(&both, run_value_of(DTYPE_FLOAT32, &left, elements ? a : NULL, n),
            run_value_of(DTYPE_FLOAT32, &right, elements ? b : NULL, n), 0);
    CHECK_INT(both.divergence.n_results, 1);
    by = both.divergence.results[0].by;
    drop(&both);
    return by;
}

TEST(elements_are_compared_if_both_sides_keep_them)
{
    static const float a[] = {3, 4, 0, 0}, b[] = {3, 4, 0, 0.5F};
    struct divergence_amount by = amount(a, b, 4, true);

    CHECK_INT(by.how, DIVERGENCE_ELEMENTS);
    CHECK_NEAR(by.max_abs, 0.5, 1e-12);
    CHECK_NEAR(by.mean, 0.25, 1e-12);
    CHECK_NEAR(by.scale, sqrt(25.25 / 4), 1e-12);
    CHECK_NEAR(by.distance, 0.25 / sqrt(25.25 / 4), 1e-12);
    CHECK_NEAR(by.max_rel, 0.5 / sqrt(25.25 / 4), 1e-12);
}

TEST(one_wrong_element_among_many_counts)
{
    static float a[4096], b[4096];
    struct divergence_amount by;

    for (int i = 0; i < 4096; i++)
        a[i] = b[i] = i % 2 ? 1 : -1;
    b[7] = -b[7];
    by = amount(a, b, 4096, true);
    CHECK_NEAR(by.distance, 2.0 / DIVERGENCE_PEAK, 1e-9);
}

/* Statistics never exceed what the elements give. */
TEST(statistics_are_a_lower_bound_of_the_distance)
{
    float a[64], b[64];
    uint32_t random = 7;

    for (int round = 0; round < 200; round++) {
        struct divergence_amount exact, bound;

        for (int i = 0; i < 64; i++) {
            random = random * 1664525u + 1013904223u;
            a[i] = (float)(int32_t)random / 1e9F;
            random = random * 1664525u + 1013904223u;
            b[i] = a[i] + (float)(int32_t)random / 1e9F * (float)(round % 10) / 10;
        }
        exact = amount(a, b, 64, true);
        bound = amount(a, b, 64, false);
        CHECK_INT(bound.how, DIVERGENCE_STATISTICS);
        CHECK(bound.distance <= exact.distance * (1 + 1e-6));
        CHECK(round % 10 == 0 || bound.distance > 0);
    }
}

TEST(nan_on_one_side_is_infinitely_far_and_on_both_is_equal)
{
    static const float a[] = {1, 2, 3, 4}, b[] = {1, NAN, 3, 4};

    for (int elements = 0; elements < 2; elements++) {
        struct divergence_amount by = amount(a, b, 4, elements);

        CHECK(isinf(by.distance) && by.not_finite);
        by = amount(b, b, 4, elements);
        CHECK(by.distance == 0 && !by.not_finite);
    }
}

TEST(values_of_zeros_are_equal_and_zeros_against_numbers_are_not)
{
    static const float a[] = {0, 0, 0, 0}, b[] = {0, 0, 1e-30F, 0};

    for (int elements = 0; elements < 2; elements++) {
        CHECK(amount(a, a, 4, elements).distance == 0);
        CHECK(amount(a, b, 4, elements).distance > 0.1);
    }
}

TEST(the_tolerance_follows_the_coarser_dtype)
{
    static const float a[] = {1, 2, 3, 4};
    struct stats stats = stats_of_floats(a, 4);
    struct compared_runs both;

    compare(&both, run_value_of(DTYPE_FLOAT32, &stats, NULL, 4),
            run_value_of(DTYPE_BFLOAT16, &stats, NULL, 4), 0);
    CHECK_NEAR(both.divergence.results[0].tolerance, 1e-2, 0);
    drop(&both);
    /* statistics are not exact enough for float64's */
    compare(&both, run_value_of(DTYPE_FLOAT64, &stats, NULL, 4),
            run_value_of(DTYPE_FLOAT64, &stats, NULL, 4), 0);
    CHECK_NEAR(both.divergence.results[0].tolerance, 2e-6, 0);
    drop(&both);
}

TEST(statistics_of_other_samples_are_not_compared)
{
    static const float a[] = {1, 2, 3, 4};
    struct stats whole = stats_of_floats(a, 4), part = stats_of_floats(a, 2);
    struct compared_runs both;

    part.sampled = true;
    compare(&both, run_value_of(DTYPE_FLOAT32, &whole, NULL, 4),
            run_value_of(DTYPE_FLOAT32, &part, NULL, 4), 0);
    CHECK_INT(both.divergence.results[0].by.how, DIVERGENCE_NOT);
    CHECK_INT(both.divergence.unmeasured, 1);
    CHECK(!divergence_agrees(&both.divergence) && both.divergence.first == RUN_NONE);
    drop(&both);
}

TEST(a_training_step_with_gradients_agrees_with_itself)
{
    struct compared_runs both;
    bool seen[DIVERGENCE_PARAMETER + 1] = {false};

    compare(&both, sample_run(2), sample_run(2), 0);
    CHECK(divergence_agrees(&both.divergence));
    for (uint32_t i = 0; i < both.divergence.n_results; i++)
        seen[both.divergence.results[i].what] = true;
    CHECK(seen[DIVERGENCE_INPUT] && seen[DIVERGENCE_CALL] &&
          seen[DIVERGENCE_PARAMETER]);
    drop(&both);
}
