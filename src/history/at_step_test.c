#include "history/at_step.h"

#include <math.h>

#include "base/base.h"
#include "base/test.h"
#include "history/curves.h"
#include "history/sample_history_in.h"
#include "run/sample_run.h"

/* A step of a.weight (values w, w) and a.bias (one value b): their gradients are a tenth,
 * their updates a hundredth. */
struct at_step_sample {
    struct sample_folder folder;
    struct run *run;
    struct history_writer *writer;
    struct history *history;
    struct arena arena;
    struct at_step at;
};

static void sample_begin(struct at_step_sample *s)
{
    const struct history_options options = {.queue = 1000};

    sample_folder_make(&s->folder);
    s->run = sample_run(1);
    s->writer = history_writer_create(s->folder.file, s->run, NULL, &options, NULL);
    CHECK(s->writer != NULL);
    arena_init(&s->arena, 0);
    s->history = NULL;
}

static void sample_end(struct at_step_sample *s)
{
    history_close(s->history);
    history_writer_close(s->writer, NULL);
    arena_release(&s->arena);
    run_free(s->run);
    sample_folder_remove(&s->folder);
}

static void ready(struct at_step_sample *s)
{
    CHECK_INT(history_writer_close(s->writer, NULL), 0);
    s->writer = NULL;
    s->history = history_open(s->folder.file, NULL, NULL);
    CHECK(s->history != NULL);
}

static void put(struct at_step_sample *s, const char *name, enum history_kind kind,
                const float *values, uint32_t n, double ratio)
{
    struct history_series series = {.place = place_find(s->run->model, str_of(name)),
                                    .kind = (uint8_t)kind,
                                    .name = str_of(name)};
    struct history_point point = {.merged = 1};

    point.series = history_writer_series(s->writer, &series);
    stats_init(&point.stats, DTYPE_FLOAT32);
    stats_add(&point.stats, NULL, DTYPE_FLOAT32, values, n, 0, MEASURE_EXACT);
    if (!(ratio < 0))
        point.extra[EXTRA_RATIO] = history_number_of(ratio);
    history_writer_point(s->writer, &point);
}

static void write_step(struct at_step_sample *s, uint64_t number, float w, float b)
{
    const float weight[2] = {w, w}, bias[1] = {b};
    const float grad[2] = {w / 10, w / 10}, bias_grad[1] = {b / 10};

    history_writer_begin(s->writer, number, HISTORY_TRAIN, (number + 1) * 1000000000u);
    put(s, "a.weight", HISTORY_PARAM, weight, 2, -1);
    put(s, "a.weight", HISTORY_GRAD_PARAM, grad, 2, -1);
    put(s, "a.weight", HISTORY_UPDATE, grad, 2, 0.125);
    put(s, "a.bias", HISTORY_PARAM, bias, 1, -1);
    put(s, "a.bias", HISTORY_GRAD_PARAM, bias_grad, 1, -1);
    put(s, "a.bias", HISTORY_UPDATE, bias_grad, 1, 0.5);
    put(s, "a", HISTORY_OUTPUT, weight, 2, -1);
    history_writer_end(s->writer, 0);
}

static void ask(struct at_step_sample *s, uint64_t step)
{
    CHECK_INT(at_step_read(s->history, s->run->model, step, &s->arena, &s->at, NULL),
              0);
}

static double number(const struct at_step_sample *s, const char *name,
                     enum step_number which)
{
    double value;
    uint32_t place = place_find(s->run->model, str_of(name));

    return step_number(&s->at.at[place], which, &value) ? value : -1;
}

static bool says(const struct at_step_sample *s, const char *text)
{
    struct buf buf = BUF_INIT;
    bool same;

    at_step_text(&buf, &s->at);
    same = str_is(buf_span(&buf), text);
    buf_release(&buf);
    return same;
}

TEST(the_numbers_of_a_module_are_those_of_its_parameters_together)
{
    struct at_step_sample s;
    double update = hypot(0.125 * sqrt(18), 0.5 * 4);

    sample_begin(&s);
    write_step(&s, 7, 3, 4);
    ready(&s);
    ask(&s, STEP_NEWEST);
    CHECK(number(&s, "a.weight", STEP_WEIGHT) == sqrt(18));
    CHECK(number(&s, "a.bias", STEP_WEIGHT) == 4);
    CHECK(number(&s, "a.weight", STEP_RATIO) == 0.125);
    CHECK_NEAR(number(&s, "a", STEP_WEIGHT), sqrt(34), 1e-12);
    CHECK_NEAR(number(&s, "a", STEP_GRADIENT), sqrt(0.34), 1e-7);
    CHECK_NEAR(number(&s, "a", STEP_RATIO), update / sqrt(34), 1e-12);
    CHECK_NEAR(number(&s, "", STEP_WEIGHT), sqrt(34), 1e-12);
    CHECK(number(&s, "a", STEP_OUTPUT) == sqrt(18));
    CHECK(number(&s, "", STEP_OUTPUT) == -1);
    CHECK(number(&s, "list", STEP_WEIGHT) == -1);
    CHECK(says(&s, "step 7"));
    sample_end(&s);
}

TEST(a_step_that_was_not_logged_shows_the_one_before_it)
{
    struct at_step_sample s;

    sample_begin(&s);
    write_step(&s, 10, 1, 1);
    write_step(&s, 20, 2, 2);
    /* Scalars that were logged later are rows without points. */
    history_writer_begin(s.writer, 25, HISTORY_TRAIN, 99000000000u);
    history_writer_scalar(s.writer, history_writer_name(s.writer, STR("loss")), 1);
    history_writer_end(s.writer, 0);
    ready(&s);
    ask(&s, 19);
    CHECK(number(&s, "a.bias", STEP_WEIGHT) == 1);
    CHECK(says(&s, "step 10, the newest logged at or before 19"));
    ask(&s, 20);
    CHECK(number(&s, "a.bias", STEP_WEIGHT) == 2 && says(&s, "step 20"));
    ask(&s, STEP_NEWEST);
    CHECK(number(&s, "a.bias", STEP_WEIGHT) == 2 && says(&s, "step 20"));
    ask(&s, 9);
    CHECK(number(&s, "a.bias", STEP_WEIGHT) == -1 && s.at.known == 0);
    CHECK(says(&s, "no step was logged at or before 9"));
    sample_end(&s);
}

TEST(the_update_of_zeros_counts_in_the_ratio_of_a_module)
{
    const float weight[2] = {3, 4}, zero[1] = {0}, update[1] = {2};
    struct at_step_sample s;

    sample_begin(&s);
    history_writer_begin(s.writer, 0, HISTORY_TRAIN, 1000000000u);
    put(&s, "a.bias", HISTORY_PARAM, zero, 1, -1);
    put(&s, "a.bias", HISTORY_UPDATE, update, 1, -1); /* 2 / 0 is no ratio */
    put(&s, "a.weight", HISTORY_PARAM, weight, 2, -1);
    put(&s, "a.weight", HISTORY_UPDATE, update, 1, 0.5);
    history_writer_end(s.writer, 0);
    ready(&s);
    ask(&s, STEP_NEWEST);
    CHECK(number(&s, "a.bias", STEP_RATIO) == -1);
    CHECK(number(&s, "a.weight", STEP_RATIO) == 0.5);
    CHECK_NEAR(number(&s, "a", STEP_RATIO), hypot(2, 2.5) / 5, 1e-12);
    sample_end(&s);
}

TEST(a_non_finite_update_has_a_non_finite_ratio)
{
    const float bad[2] = {NAN, 1}, good[1] = {4};
    struct at_step_sample s;

    sample_begin(&s);
    history_writer_begin(s.writer, 0, HISTORY_TRAIN, 1000000000u);
    put(&s, "a.weight", HISTORY_PARAM, bad, 2, -1);
    put(&s, "a.weight", HISTORY_UPDATE, bad, 2, -1);
    put(&s, "a.bias", HISTORY_PARAM, good, 1, -1);
    put(&s, "a.bias", HISTORY_UPDATE, good, 1, 1);
    history_writer_end(s.writer, 0);
    ready(&s);
    ask(&s, 0);
    CHECK(isnan(number(&s, "a.weight", STEP_RATIO)));
    CHECK(number(&s, "a.bias", STEP_RATIO) == 1);
    CHECK(isnan(number(&s, "a", STEP_RATIO)) && isnan(number(&s, "", STEP_RATIO)));
    sample_end(&s);
}

/* tail.weight is a.weight. */
TEST(a_module_with_tied_parameters_has_their_numbers_and_the_root_counts_them_once)
{
    struct at_step_sample s;

    sample_begin(&s);
    write_step(&s, 7, 3, 4);
    ready(&s);
    ask(&s, STEP_NEWEST);
    CHECK(number(&s, "tail", STEP_WEIGHT) == sqrt(18));
    CHECK(number(&s, "tail", STEP_RATIO) == 0.125);
    CHECK_NEAR(number(&s, "", STEP_WEIGHT), sqrt(34), 1e-12);
    sample_end(&s);
}

TEST(a_non_finite_parameter_makes_its_module_non_finite)
{
    struct at_step_sample s;

    sample_begin(&s);
    write_step(&s, 0, NAN, 4);
    write_step(&s, 1, INFINITY, 4);
    ready(&s);
    ask(&s, 0);
    CHECK(isnan(number(&s, "a", STEP_GRADIENT)));
    ask(&s, 1);
    CHECK(isinf(number(&s, "a", STEP_GRADIENT)));
    sample_end(&s);
}

TEST(curves_and_series_have_the_same_numbers)
{
    static const struct {
        enum step_number number;
        enum curve_role role;
    } both[] = {{STEP_GRADIENT, CURVE_GRADIENT},
                {STEP_WEIGHT, CURVE_WEIGHT},
                {STEP_RATIO, CURVE_RATIO}};
    static const char *const places[] = {"", "a", "a.weight", "a.bias"};
    static struct curves curves; /* large */
    struct at_step_sample s;

    sample_begin(&s);
    for (uint64_t i = 0; i < 5; i++)
        write_step(&s, i, (float)i + 1, 2);
    ready(&s);
    for (size_t p = 0; p < COUNT_OF(places); p++) {
        const struct curves_wanted wanted = {
            .place = place_find(s.run->model, str_of(places[p])), .columns = 80};

        CHECK_INT(curves_read(s.history, s.run->model, &wanted, &curves, NULL), 0);
        for (size_t i = 0; i < COUNT_OF(both); i++) {
            const struct curve *curve = curves.at;

            while (curve->role != both[i].role)
                curve++;
            CHECK(curve < curves.at + curves.n);
            ask(&s, STEP_NEWEST);
            CHECK_NEAR(number(&s, places[p], both[i].number), curve->now, 1e-12);
            ask(&s, 2);
            CHECK_NEAR(number(&s, places[p], both[i].number), curve->at[2], 1e-12);
        }
    }
    sample_end(&s);
}

TEST(an_empty_history_has_no_numbers)
{
    struct at_step_sample s;

    sample_begin(&s);
    ready(&s);
    ask(&s, STEP_NEWEST);
    CHECK(s.at.step.merged == 0 && s.at.known == 0);
    CHECK(says(&s, "no step was logged"));
    sample_end(&s);
}
