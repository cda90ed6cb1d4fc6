#include "history/curves.h"

#include <math.h>

#include "base/base.h"
#include "base/test.h"
#include "history/sample_history_in.h"
#include "measure/spread.h"
#include "run/sample_run.h"

/* ---- a history of a.weight: gradients of 2^-step, values of 1 ---- */

static void write_tensor(struct history_writer *writer, uint32_t series, double value,
                         double ratio)
{
    struct spread_counter *counter = spread_counter_new(NULL);
    float at[4] = {(float)value, (float)-value, (float)value, 0};
    struct history_point point = {.series = series, .merged = 1};
    struct spread spread = {0};
    struct buf packed = BUF_INIT;

    stats_init(&point.stats, DTYPE_FLOAT32);
    stats_add(&point.stats, NULL, DTYPE_FLOAT32, at, 4, 0, MEASURE_EXACT);
    CHECK_INT(spread_of(counter, DTYPE_FLOAT32, at, 4, SPREAD_ALL, &spread, NULL), 0);
    spread_pack(&spread, &packed);
    point.histogram = buf_span(&packed);
    if (ratio > 0)
        point.extra[EXTRA_RATIO] = history_number_of(ratio);
    history_writer_point(writer, &point);
    buf_release(&packed);
    spread_release(&spread);
    spread_counter_free(counter);
}

static void write_history(const struct sample_folder *folder, const struct run *run,
                          uint32_t steps, bool spoilt)
{
    const struct history_options options = {.queue = 1000};
    struct history_writer *writer =
        history_writer_create(folder->file, run, NULL, &options, NULL);
    uint32_t place = place_find(run->model, STR("a.weight")), series[3];
    static const uint8_t kinds[3] = {HISTORY_PARAM, HISTORY_GRAD_PARAM, HISTORY_UPDATE};

    for (int i = 0; i < 3; i++)
        series[i] = history_writer_series(
            writer, &(struct history_series){
                        .place = place, .kind = kinds[i], .name = STR("a.weight")});
    CHECK_INT(history_writer_name(writer, STR("lr/0")), 0);
    CHECK_INT(history_writer_name(writer, STR("loss")), 1);
    for (uint32_t i = 0; i < steps; i++) {
        history_writer_begin(writer, i, HISTORY_TRAIN, (i + 1) * 1000000000ull);
        write_tensor(writer, series[0], 1, 0);
        write_tensor(writer, series[1],
                     spoilt && i + 1 == steps ? NAN : ldexp(1, -(int)i), 0);
        write_tensor(writer, series[2], 0.5, 0.25);
        history_writer_scalar(writer, 0, 0.1);
        history_writer_scalar(writer, 1, spoilt && i + 1 == steps ? NAN : 10.0 - i);
        if (spoilt && i + 1 == steps)
            history_writer_alarm(
                writer, &(struct history_alarm){.place = place,
                                                .severity = SEVERITY_ALARM,
                                                .kind = STR("nan"),
                                                .name = STR("a.weight"),
                                                .text = STR("its gradient is NaN")});
        history_writer_end(writer, 0);
    }
    CHECK_INT(history_writer_close(writer, NULL), 0);
}

static const struct curve *curve_of(const struct curves *curves, enum curve_role role)
{
    for (uint32_t i = 0; i < curves->n; i++)
        if (curves->at[i].role == role)
            return &curves->at[i];
    return NULL;
}

struct curves_sample {
    struct sample_folder folder;
    struct run *run;
    struct history *history;
    struct curves curves;
};

static void sample_open(struct curves_sample *s, uint32_t steps, bool spoilt)
{
    sample_folder_make(&s->folder);
    s->run = sample_run(1);
    write_history(&s->folder, s->run, steps, spoilt);
    s->history = history_open(s->folder.file, NULL, NULL);
    CHECK(s->history != NULL);
}

static void sample_close(struct curves_sample *s)
{
    history_close(s->history);
    run_free(s->run);
    sample_folder_remove(&s->folder);
}

static void ask(struct curves_sample *s, const char *place, uint32_t columns)
{
    const struct curves_wanted wanted = {.place =
                                             place_find(s->run->model, str_of(place)),
                                         .columns = columns,
                                         .rows = 8};

    CHECK_INT(curves_read(s->history, s->run->model, &wanted, &s->curves, NULL), 0);
}

TEST(a_module_has_the_curves_of_its_weight)
{
    struct curves_sample s;

    sample_open(&s, 8, false);
    ask(&s, "a", 80);
    CHECK_INT(s.curves.columns, 8);
    CHECK_INT(s.curves.n, 5);
    CHECK(curve_of(&s.curves, CURVE_LOSS)->at[3] == 7);
    CHECK_NEAR(curve_of(&s.curves, CURVE_GRADIENT)->at[0], sqrt(3), 1e-9);
    CHECK_NEAR(curve_of(&s.curves, CURVE_GRADIENT)->at[2], sqrt(3) / 4, 1e-9);
    CHECK_NEAR(curve_of(&s.curves, CURVE_WEIGHT)->at[7], sqrt(3), 1e-9);
    CHECK(curve_of(&s.curves, CURVE_RATIO)->at[5] == 0.25);
    CHECK(curve_of(&s.curves, CURVE_RATE)->at[5] == 0.1);
    CHECK_INT(s.curves.heat.kind, HISTORY_GRAD_PARAM);
    sample_close(&s);
}

TEST(a_module_without_series_has_the_curves_of_the_run)
{
    struct curves_sample s;

    sample_open(&s, 8, false);
    ask(&s, "list.0", 80);
    CHECK_INT(s.curves.n, 2);
    CHECK(curve_of(&s.curves, CURVE_LOSS) && curve_of(&s.curves, CURVE_RATE));
    CHECK_INT(s.curves.heat.kind, HISTORY_KINDS);
    sample_close(&s);
}

TEST(many_steps_share_columns_and_keep_norms_of_one_tensor)
{
    struct curves_sample s;

    sample_open(&s, 100, false);
    ask(&s, "a.weight", 10);
    CHECK_INT(s.curves.columns, 10);
    CHECK_INT(s.curves.first[1], 10);
    CHECK_INT(s.curves.last[9], 99);
    CHECK(curve_of(&s.curves, CURVE_LOSS)->at[0] == 5.5);
    CHECK(curve_of(&s.curves, CURVE_LOSS)->now == 10 - 99);
    CHECK(curve_of(&s.curves, CURVE_RATIO)->now == 0.25);
    CHECK_NEAR(curve_of(&s.curves, CURVE_WEIGHT)->at[4], sqrt(3), 1e-9);
    CHECK_INT(curves_column(&s.curves, 0), 0);
    CHECK_INT(curves_column(&s.curves, 19), 1);
    CHECK_INT(curves_column(&s.curves, 5000), 9);
    sample_close(&s);
}

TEST(with_very_many_steps_only_some_points_of_a_column_are_read)
{
    struct history_sample *samples;
    struct curves_sample s;
    struct arena arena;
    uint32_t n;

    sample_open(&s, 100, false);
    arena_init(&arena, 0);
    CHECK_INT(
        history_read_points(s.history,
                            &(struct history_wanted){
                                .series = 1, .most = 5, .each = 2, .histograms = true},
                            &arena, &samples, &n, NULL),
        0);
    CHECK_INT(n, 5);
    /* Of steps 20 to 39 those at 20 and 30. */
    CHECK_INT(samples[1].step.first, 20);
    CHECK_INT(samples[1].step.last, 30);
    CHECK_INT(samples[1].point.merged, 2);
    CHECK(samples[1].point.stats.max == ldexp(1, -20));
    arena_release(&arena);
    sample_close(&s);
}

TEST(rows_of_magnitudes_hold_all_elements_of_each_column)
{
    struct curves_sample s;
    struct curves_heat *heat;

    sample_open(&s, 20, false);
    ask(&s, "a.weight", 20);
    heat = &s.curves.heat;
    /* 20 powers of two and zeros in at most 8 rows: 3 to a row. */
    CHECK_INT(heat->rows, 8);
    CHECK_INT(heat->each, 3);
    CHECK(heat->zeros && heat->top == -2);
    for (uint32_t c = 0; c < 20; c++) {
        float sum = 0;

        for (uint32_t r = 0; r < heat->rows; r++)
            sum += heat->share[r][c];
        CHECK_NEAR(sum, 1, 1e-6);
        CHECK_NEAR(heat->share[7][c], 0.25, 1e-6);
        CHECK_NEAR(heat->share[c / 3][c], 0.75, 1e-6);
    }
    sample_close(&s);
}

TEST(values_that_are_not_finite_are_marked)
{
    struct curves_sample s;

    sample_open(&s, 6, true);
    ask(&s, "a", 6);
    CHECK_INT(curve_of(&s.curves, CURVE_LOSS)->state[4], CURVE_FINITE);
    CHECK_INT(curve_of(&s.curves, CURVE_LOSS)->state[5], CURVE_BAD);
    CHECK_INT(curve_of(&s.curves, CURVE_GRADIENT)->state[5], CURVE_BAD);
    CHECK_INT(curve_of(&s.curves, CURVE_WEIGHT)->state[5], CURVE_FINITE);
    CHECK_INT(s.curves.heat.state[5], CURVE_BAD);
    CHECK_INT(s.curves.n_alarms, 1);
    CHECK_INT(s.curves.alarms[0].step, 5);
    CHECK_STR(s.curves.alarms[0].name, "a.weight");
    sample_close(&s);
}

TEST(a_summary_counts_steps_alarms_and_names)
{
    struct history_summary sum;
    struct curves_sample s;

    sample_open(&s, 6, true);
    CHECK_INT(history_summarise(s.history, &sum, NULL), 0);
    CHECK_INT(sum.phases[HISTORY_TRAIN].steps, 6);
    CHECK_INT(sum.phases[HISTORY_TRAIN].last, 5);
    CHECK_INT(sum.phases[HISTORY_EVAL].rows, 0);
    CHECK_INT(sum.wall_ns, 5000000000u);
    CHECK_STR(sum.names, "lr/0, loss");
    CHECK(sum.has_loss && isnan(sum.newest_loss) && sum.loss_step == 5);
    CHECK_INT(history_summary_alarms(&sum), 1);
    CHECK_INT(sum.first_alarm, 5);
    CHECK_INT(sum.segments, 1);
    CHECK_INT(sum.series, 3);
    sample_close(&s);
}

TEST(a_scalar_is_found_by_name_or_by_group)
{
    const struct str names[] = {STR("lrx"), STR("lr/1"), STR("lr/2"), STR("loss/val"),
                                STR("loss")};

    CHECK_INT(history_find_name(names, 5, "lr"), 1);
    CHECK_INT(history_find_name(names, 5, "loss"), 4);
    CHECK_INT(history_find_name(names, 5, "grad_norm"), HISTORY_NONE);
}
