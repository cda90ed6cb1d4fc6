/* The recording of a step becomes points. */
#include "history/run_points.h"

#include <math.h>
#include <string.h>

#include "base/test.h"
#include "history/reader.h"
#include "history/sample_history_in.h"
#include "run/sample_run.h"

#define ALL ((1u << HISTORY_KINDS) - 1)

static struct run *one_step(uint16_t flags)
{
    const struct trace_wanted wanted = {0};
    struct trace *trace = trace_new(sample_model(), &wanted);
    uint32_t root = trace_begin(trace, 0, SAMPLE_NET, flags, 0, 100);
    uint32_t path = trace_string(trace, "x", 1);

    for (int i = 0; i < 2; i++) {
        uint32_t call = trace_begin(trace, 0, SAMPLE_A, flags, 0, 200), value;

        trace_io(trace, call, RUN_IN, path, sample_value(trace, 2, 3, 5 + i), 0);
        value = sample_value(trace, 2, 2, 7 + i);
        trace_value_spread(trace, value, STR("spread"));
        trace_io(trace, call, RUN_OUT, 0, value, 0);
        trace_end(trace, 0, call, 0, 300);
    }
    trace_end(trace, 0, root, 0, 400);
    trace_param(trace, 0, false, sample_value(trace, 2, 3, 1));
    trace_param(trace, 0, true, sample_value(trace, 2, 3, 2));
    return trace_finish(trace, 500, 0);
}

static uint32_t write_and_read(const struct run_points *points,
                               enum history_phase phase, struct arena *arena,
                               struct history_series **ret_series)
{
    const struct history_options options = {0};
    struct sample_folder folder;
    struct history_writer *writer;
    struct history *history;
    struct err err = {0};
    uint32_t n = 0;

    sample_folder_make(&folder);
    writer = history_writer_create(folder.file, points->run, NULL, &options, &err);
    CHECK_STR(err.text, "");
    history_writer_begin(writer, 3, phase, 0);
    CHECK(run_points_write(points, phase, writer) == 0);
    history_writer_end(writer, 0);
    CHECK(history_writer_close(writer, &err) == 0);
    history = history_open(folder.file, NULL, &err);
    CHECK_STR(err.text, "");
    CHECK(history_read_series(history, arena, ret_series, &n, &err) == 0);
    history_close(history);
    sample_folder_remove(&folder);
    return n;
}

TEST(calls_and_parameters_become_series_of_their_place_and_index)
{
    struct run *run = one_step(RUN_TRAINING | RUN_GRAD_MODE);
    struct history_update update = {.tensor = 0, .ratio = 0.5};
    struct run_points points = {.run = run,
                                .kinds = ALL,
                                .graded = HISTORY_TRAIN,
                                .updates = &update,
                                .n_updates = 1};
    struct history_series *series;
    struct arena arena;
    uint32_t n;

    stats_init(&update.stats, DTYPE_FLOAT32);
    arena_init(&arena, 0);
    CHECK(run_points_has(&points, HISTORY_TRAIN));
    CHECK(!run_points_has(&points, HISTORY_EVAL));
    n = write_and_read(&points, HISTORY_TRAIN, &arena, &series);
    CHECK_INT(n, 7);
    CHECK(str_is(series[0].name, "a") && str_is(series[0].path, "x"));
    CHECK(series[0].kind == HISTORY_INPUT && series[0].call == 0);
    CHECK(series[1].kind == HISTORY_OUTPUT && series[3].call == 1);
    CHECK(series[4].kind == HISTORY_PARAM && str_is(series[4].name, "a.weight"));
    CHECK(series[5].kind == HISTORY_GRAD_PARAM && series[6].kind == HISTORY_UPDATE);
    arena_release(&arena);
    run_free(run);
}

TEST(only_wanted_kinds_are_written)
{
    struct run *run = one_step(RUN_TRAINING | RUN_GRAD_MODE);
    struct run_points points = {
        .run = run, .kinds = 1u << HISTORY_GRAD_PARAM, .graded = HISTORY_TRAIN};
    struct history_series *series;
    struct arena arena;

    arena_init(&arena, 0);
    CHECK_INT(write_and_read(&points, HISTORY_TRAIN, &arena, &series), 1);
    CHECK(series[0].kind == HISTORY_GRAD_PARAM);
    arena_release(&arena);
    run_free(run);
}

TEST(a_pass_without_gradients_is_evaluation)
{
    struct run *run = one_step(RUN_TRAINING);
    struct run_points points = {.run = run, .kinds = ALL, .graded = HISTORY_TRAIN};
    struct history_series *series;
    struct arena arena;

    arena_init(&arena, 0);
    CHECK(run_points_has(&points, HISTORY_EVAL));
    CHECK_INT(write_and_read(&points, HISTORY_EVAL, &arena, &series), 4);
    CHECK(series[0].phase == HISTORY_EVAL);
    arena_release(&arena);
    run_free(run);
}

TEST(the_gradient_norm_is_that_of_all_gradients)
{
    struct run *run = one_step(RUN_GRAD_MODE);
    struct run_value *value = &run->values[run->params[1].value];
    double norm = 0;

    CHECK(run->params[1].gradient);
    CHECK(run_points_gradient_norm(run, &norm));
    CHECK(fabs(norm - stats_l2(&run->stats[value->stats])) < 1e-9);
    run->stats[value->stats].nan = 1;
    CHECK(run_points_gradient_norm(run, &norm) && isnan(norm));
    run->stats[value->stats].nan = 0;
    run->stats[value->stats].neg_inf = 1;
    CHECK(run_points_gradient_norm(run, &norm) && isinf(norm));
    run_free(run);
}

TEST(only_the_newest_look_at_a_parameter_counts)
{
    struct run *run = one_step(RUN_GRAD_MODE);
    struct run_points points = {.run = run, .kinds = ALL, .graded = HISTORY_TRAIN};
    struct run_param twice[] = {run->params[0], run->params[1], run->params[0],
                                run->params[1]};
    struct run_param *params = run->params;
    double once = 0, norm = 0;
    struct history_series *series;
    struct arena arena;
    uint32_t n, n_params = run->n_params;

    arena_init(&arena, 0);
    CHECK(run_points_gradient_norm(run, &once));
    n = write_and_read(&points, HISTORY_TRAIN, &arena, &series);
    run->params = twice;
    run->n_params = 4;
    CHECK(run_points_gradient_norm(run, &norm) && norm == once);
    CHECK_INT(write_and_read(&points, HISTORY_TRAIN, &arena, &series), n);
    run->params = params;
    run->n_params = n_params;
    arena_release(&arena);
    run_free(run);
}

TEST(without_the_statistics_of_a_gradient_there_is_no_norm)
{
    struct run *run = one_step(RUN_GRAD_MODE);
    double norm = 7;

    run->values[run->params[1].value].stats = RUN_NONE;
    CHECK(!run_points_gradient_norm(run, &norm) && norm == 7);
    run->n_params = 0;
    CHECK(!run_points_gradient_norm(run, &norm) && norm == 7);
    run_free(run);
}
