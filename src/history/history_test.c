/* What is written is read again. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/test.h"
#include "history/sample_history_in.h"
#include "run/run_file.h"
#include "run/sample_run.h"

#define SERIES 5

static struct history_writer *create(const struct sample_folder *folder)
{
    const struct history_options options = {.codec = &sample_codec,
                                            .text = STR("host 7")};
    struct err err = {0};
    struct history_writer *writer =
        history_writer_create(folder->file, NULL, NULL, &options, &err);

    CHECK_STR(err.text, "");
    sample_declare(writer, SERIES);
    return writer;
}

static struct history *reopen(const char *path)
{
    struct err err = {0};
    struct history *history = history_open(path, &sample_codec, &err);

    CHECK_STR(err.text, "");
    return history;
}

static void close_writer(struct history_writer *writer)
{
    struct err err = {0};

    CHECK_STR(history_writer_close(writer, &err) < 0 ? err.text : "", "");
}

TEST(a_history_reads_back_as_written)
{
    const struct history_wanted wanted = {.series = 3, .histograms = true};
    struct sample_folder folder;
    struct history_writer *writer;
    struct history_series *series;
    struct history_sample *samples;
    struct history_step newest;
    struct history *history;
    struct arena arena;
    uint32_t n;

    sample_folder_make(&folder);
    writer = create(&folder);
    for (uint64_t i = 0; i < 20; i++) {
        sample_write(writer, i, SERIES);
        history_writer_flush(writer);
    }
    close_writer(writer);
    CHECK_INT(sample_folder_count(&folder), 1);

    arena_init(&arena, 0);
    history = reopen(folder.file);
    CHECK(history_read_series(history, &arena, &series, &n, NULL) == 0);
    CHECK_INT(n, SERIES);
    CHECK(str_is(series[4].name, "layer.4") && series[4].place == 4 &&
          series[4].kind == HISTORY_OUTPUT && series[4].path.len == 0);
    CHECK(history_read_points(history, &wanted, &arena, &samples, &n, NULL) == 0);
    CHECK_INT(n, 20);
    for (uint32_t i = 0; i < n; i++) {
        CHECK_INT(samples[i].step.first, i);
        CHECK_INT(samples[i].step.wall_ns, (i + 1) * 1000000000ull);
        CHECK_INT(samples[i].step.points, SERIES);
        sample_check(&samples[i], 3);
    }
    CHECK(history_newest(history, &newest, NULL) == 0 && newest.first == 19);
    CHECK_INT(history_damaged(history), 0);
    history_close(history);
    arena_release(&arena);
    sample_folder_remove(&folder);
}

TEST(points_are_merged_to_the_wanted_number)
{
    struct history_wanted wanted = {.series = 2, .histograms = true};
    struct sample_folder folder;
    struct history_writer *writer;
    struct history_sample *samples;
    struct history *history;
    struct arena arena;
    uint32_t n, next;

    sample_folder_make(&folder);
    writer = create(&folder);
    for (uint64_t i = 0; i < 100; i++) {
        sample_write(writer, i, SERIES);
        history_writer_flush(writer);
    }
    close_writer(writer);
    arena_init(&arena, 0);
    history = reopen(folder.file);
    for (wanted.most = 1; wanted.most <= 130; wanted.most += 43) {
        CHECK(history_read_points(history, &wanted, &arena, &samples, &n, NULL) == 0);
        CHECK_INT(n, wanted.most < 100 ? wanted.most : 100);
        next = 0;
        for (uint32_t i = 0; i < n; i++) {
            CHECK_INT(samples[i].step.first, next);
            sample_check(&samples[i], 2);
            next = (uint32_t)samples[i].step.last + 1;
        }
        CHECK_INT(next, 100);
    }
    wanted = (struct history_wanted){.series = 2, .range = {.from = 40, .to = 49}};
    CHECK(history_read_points(history, &wanted, &arena, &samples, &n, NULL) == 0);
    CHECK_INT(n, 10);
    CHECK(samples[0].step.first == 40 && samples[9].step.first == 49);
    CHECK_INT(samples[0].point.histogram.len, 0);
    history_close(history);
    arena_release(&arena);
    sample_folder_remove(&folder);
}

TEST(scalars_keep_their_extremes_and_non_finite_values)
{
    const double losses[] = {0.5, NAN, 2.5, INFINITY, 1.0};
    struct history_wanted wanted = {.series = 1};
    struct history_scalar_sample *samples;
    struct sample_folder folder;
    struct history_writer *writer;
    struct history *history;
    struct str *names;
    struct arena arena;
    uint32_t n;

    sample_folder_make(&folder);
    writer = create(&folder);
    CHECK_INT(history_writer_name(writer, STR("lr/0")), 1);
    CHECK_INT(history_writer_name(writer, STR("lr/0")), 1);
    for (uint64_t i = 0; i < COUNT_OF(losses); i++) {
        history_writer_begin(writer, i, HISTORY_TRAIN, 0);
        history_writer_scalar(writer, 1, losses[i]);
        history_writer_scalar(writer, HISTORY_NONE, 7);
        history_writer_end(writer, i == 1 ? HISTORY_SKIPPED : 0);
    }
    close_writer(writer);
    arena_init(&arena, 0);
    history = reopen(folder.file);
    CHECK(history_read_names(history, &arena, &names, &n, NULL) == 0);
    CHECK(n == 2 && str_is(names[0], "loss") && str_is(names[1], "lr/0"));
    CHECK(history_read_scalars(history, &wanted, &arena, &samples, &n, NULL) == 0);
    CHECK_INT(n, 5);
    CHECK(samples[0].scalar.number.min == 0.5 && samples[0].scalar.number.max == 0.5);
    CHECK(isnan(samples[1].scalar.last) && samples[1].scalar.number.bad == 1);
    CHECK(isinf(samples[3].scalar.last) && samples[3].scalar.number.n == 0);
    CHECK(samples[1].step.flags == HISTORY_SKIPPED && samples[1].step.skipped == 1);
    wanted.most = 1;
    CHECK(history_read_scalars(history, &wanted, &arena, &samples, &n, NULL) == 0);
    CHECK_INT(n, 1);
    CHECK(samples[0].scalar.number.n == 3 && samples[0].scalar.number.bad == 2);
    CHECK(samples[0].scalar.number.min == 0.5 && samples[0].scalar.number.max == 2.5);
    CHECK(samples[0].scalar.number.sum == 4.0 && samples[0].scalar.last == 1.0);
    CHECK(samples[0].step.merged == 5 && samples[0].step.skipped == 1);
    history_close(history);
    arena_release(&arena);
    sample_folder_remove(&folder);
}

TEST(alarms_and_notes_keep_their_texts)
{
    struct sample_folder folder;
    struct history_writer *writer;
    struct history_alarm alarm = {.place = 3,
                                  .severity = SEVERITY_ALARM,
                                  .kind = STR("nan"),
                                  .name = STR("layer.3"),
                                  .line = STR("aten::log  net.py:7"),
                                  .text = STR("12 of 64 elements are NaN")};
    struct history_alarm *alarms;
    struct history_note *notes;
    struct history *history;
    struct arena arena;
    uint32_t n;

    sample_folder_make(&folder);
    writer = create(&folder);
    stats_init(&alarm.stats, DTYPE_FLOAT32);
    alarm.stats.count = 64;
    alarm.stats.nan = 12;
    for (uint64_t i = 0; i < 3; i++) {
        history_writer_begin(writer, 100 + i, HISTORY_TRAIN, 5);
        history_writer_note(writer, STR("first"));
        history_writer_alarm(writer, &alarm);
        history_writer_note(writer, STR("the second note"));
        history_writer_end(writer, 0);
    }
    close_writer(writer);
    arena_init(&arena, 0);
    history = reopen(folder.file);
    CHECK(history_read_alarms(history, 1, 10, &arena, &alarms, &n, NULL) == 0);
    CHECK_INT(n, 2);
    CHECK(alarms[1].step == 102 && alarms[1].wall_ns == 5 && alarms[1].place == 3 &&
          alarms[1].severity == SEVERITY_ALARM && alarms[1].stats.nan == 12);
    CHECK(str_eq(alarms[1].kind, alarm.kind) && str_eq(alarms[1].name, alarm.name));
    CHECK(str_eq(alarms[1].line, alarm.line) && str_eq(alarms[1].text, alarm.text));
    CHECK(history_read_notes(history, 0, 3, &arena, &notes, &n, NULL) == 0);
    CHECK(n == 3 && str_is(notes[1].text, "the second note") && notes[2].step == 101);
    history_close(history);
    arena_release(&arena);
    sample_folder_remove(&folder);
}

TEST(points_of_one_series_in_one_step_are_merged)
{
    const struct history_wanted wanted = {.series = 0, .histograms = true};
    struct history_sample *samples;
    struct sample_folder folder;
    struct history_writer *writer;
    struct history_point point;
    uint32_t counts[SAMPLE_BINS], n;
    struct history *history;
    struct arena arena;

    sample_folder_make(&folder);
    writer = create(&folder);
    history_writer_begin(writer, 5, HISTORY_TRAIN, 0);
    for (uint64_t i = 5; i < 9; i++) { /* four micro-batches */
        for (uint32_t k = 2; k-- > 0;) {
            sample_point(k, i, i, &point, counts);
            history_writer_point(writer, &point);
        }
    }
    history_writer_end(writer, 0);
    close_writer(writer);
    arena_init(&arena, 0);
    history = reopen(folder.file);
    CHECK(history_read_points(history, &wanted, &arena, &samples, &n, NULL) == 0);
    CHECK_INT(n, 1);
    CHECK_INT(samples[0].step.points, 2);
    CHECK_INT(samples[0].point.merged, 4);
    sample_point(0, 5, 8, &point, counts);
    CHECK_MEM(samples[0].point.histogram.at, counts, sizeof counts);
    CHECK_INT(samples[0].point.stats.count, 16);
    CHECK(samples[0].point.stats.min == 5 && samples[0].point.stats.max == 11);
    history_close(history);
    arena_release(&arena);
    sample_folder_remove(&folder);
}

TEST(a_resumed_run_replaces_the_steps_that_it_repeats)
{
    const struct history_options options = {
        .codec = &sample_codec, .rank = 1, .ranks = 2};
    struct history_wanted wanted = {.series = 1};
    struct history_segment *segments;
    struct history_sample *samples;
    struct sample_folder folder;
    struct history_writer *writer;
    struct history *history;
    struct arena arena;
    uint32_t n;

    sample_folder_make(&folder);
    writer = create(&folder);
    for (uint64_t i = 0; i < 10; i++)
        sample_write(writer, i, SERIES);
    close_writer(writer);
    writer = history_writer_resume(folder.file, &options, NULL);
    CHECK(writer != NULL);
    sample_declare(writer, SERIES + 1); /* the old numbers, and a new one */
    for (uint64_t i = 6; i < 12; i++)
        sample_write(writer, i, SERIES + 1);
    close_writer(writer);
    CHECK_INT(sample_folder_count(&folder), 1);

    arena_init(&arena, 0);
    history = reopen(folder.file);
    CHECK(history_read_segments(history, &arena, &segments, &n, NULL) == 0);
    CHECK_INT(n, 2);
    CHECK(segments[0].first == 0 && str_is(segments[0].text, "host 7"));
    CHECK(segments[1].first == 6 && segments[1].gap_steps == -4 &&
          segments[1].rank == 1 && segments[1].ranks == 2);
    CHECK(history_read_points(history, &wanted, &arena, &samples, &n, NULL) == 0);
    CHECK_INT(n, 12);
    for (uint32_t i = 0; i < n; i++)
        CHECK(samples[i].step.first == i && samples[i].step.segment == (i >= 6));
    wanted.range.all = true;
    CHECK(history_read_points(history, &wanted, &arena, &samples, &n, NULL) == 0);
    CHECK_INT(n, 16);
    wanted.series = SERIES;
    CHECK(history_read_points(history, &wanted, &arena, &samples, &n, NULL) == 0);
    CHECK_INT(n, 6);
    history_close(history);
    arena_release(&arena);
    sample_folder_remove(&folder);
}

TEST(evaluation_is_a_separate_phase)
{
    struct history_range range = {.phase = HISTORY_EVAL};
    struct sample_folder folder;
    struct history_writer *writer;
    struct history_step *steps;
    struct history *history;
    struct arena arena;
    uint32_t n;

    sample_folder_make(&folder);
    writer = create(&folder);
    for (uint64_t i = 0; i < 12; i++) {
        history_writer_begin(writer, i, i % 4 == 3 ? HISTORY_EVAL : HISTORY_TRAIN, 0);
        history_writer_end(writer, 0);
    }
    close_writer(writer);
    arena_init(&arena, 0);
    history = reopen(folder.file);
    CHECK(history_read_steps(history, &range, &arena, &steps, &n, NULL) == 0);
    CHECK(n == 3 && steps[2].first == 11);
    range.phase = HISTORY_TRAIN;
    CHECK(history_read_steps(history, &range, &arena, &steps, &n, NULL) == 0);
    CHECK_INT(n, 9);
    history_close(history);
    arena_release(&arena);
    sample_folder_remove(&folder);
}

TEST(one_file_holds_a_run_and_its_history)
{
    struct history_range range = {0};
    struct run *run = sample_run(3), *again;
    struct sample_folder folder;
    struct history_writer *writer;
    struct history_step *steps;
    struct history *history;
    struct err err = {0};
    struct arena arena;
    uint32_t n, places = run->model->n_places, findings = run->model->n_findings;

    sample_folder_make(&folder);
    writer = history_writer_create(folder.file, run, NULL, NULL, &err);
    CHECK_STR(err.text, "");
    run_free(run);
    sample_declare(writer, SERIES);
    for (uint64_t i = 0; i < 4; i++)
        sample_write(writer, i, SERIES);
    close_writer(writer);
    CHECK(run_file_is(folder.file));
    again = run_file_read(folder.file, NULL, &err);
    CHECK_STR(err.text, "");
    CHECK_INT(again->model->n_places, places);
    CHECK_INT(again->model->n_findings, findings);
    run_free(again);
    arena_init(&arena, 0);
    history = reopen(folder.file);
    CHECK(history_read_steps(history, &range, &arena, &steps, &n, NULL) == 0 && n == 4);
    history_close(history);
    arena_release(&arena);
    sample_folder_remove(&folder);
}

TEST(a_recording_without_a_history_is_an_error)
{
    struct run *run = sample_run(1);
    struct sample_folder folder;
    struct err err = {0};

    sample_folder_make(&folder);
    CHECK(run_file_write(run, NULL, folder.file, NULL, NULL) == 0);
    run_free(run);
    CHECK(!history_open(folder.file, NULL, &err) && err.code == ERR_NOT_FOUND);
    CHECK(!history_writer_resume(folder.file, NULL, &err) && err.code == ERR_NOT_FOUND);
    CHECK_INT(sample_folder_count(&folder), 1);
    CHECK(!history_open(folder.path, NULL, &err) && err.code == ERR_NOT_FOUND);
    unlink(folder.file);
    CHECK(!history_open(folder.file, NULL, &err) && err.code == ERR_IO);
    CHECK(!history_writer_resume(folder.file, NULL, &err) && err.code == ERR_IO);
    CHECK_INT(sample_folder_count(&folder), 0);
    sample_folder_remove(&folder);
}

static uint32_t ops_in(const char *path, uint32_t findings)
{
    struct err err = {0};
    struct run *run = run_file_read(path, NULL, &err);
    uint32_t n = run && run->ops ? run->ops->n_ops : 0;

    CHECK_STR(err.text, "");
    CHECK(run && run->model->n_findings == findings);
    run_free(run);
    return n;
}

TEST(another_recording_replaces_the_first_one)
{
    struct run *plain = sample_run(1), *ops = sample_ops();
    struct history_range range = {0};
    struct sample_folder folder;
    struct history_writer *writer;
    struct history_step *steps;
    struct history *history;
    struct err err = {0};
    struct arena arena;
    uint32_t n;

    sample_folder_make(&folder);
    writer = history_writer_create(folder.file, plain, NULL, NULL, NULL);
    sample_declare(writer, SERIES);
    sample_write(writer, 0, SERIES);
    CHECK(history_writer_replace_run(writer, ops, NULL, &err) == 0);
    CHECK_STR(err.text, "");
    sample_write(writer, 1, SERIES);
    /* Again; and one that says less is refused. */
    CHECK(history_writer_replace_run(writer, ops, NULL, &err) == 0);
    CHECK(history_writer_replace_run(writer, plain, NULL, &err) < 0);
    CHECK(strstr(err.text, folder.file) && strstr(err.text, "operations"));
    sample_write(writer, 2, SERIES);
    close_writer(writer);
    CHECK_INT(ops_in(folder.file, ops->model->n_findings), ops->ops->n_ops);
    arena_init(&arena, 0);
    history = reopen(folder.file);
    CHECK(history_read_steps(history, &range, &arena, &steps, &n, NULL) == 0 && n == 3);
    CHECK_INT(history_damaged(history), 0);
    history_close(history);
    arena_release(&arena);
    run_free(plain);
    run_free(ops);
    sample_folder_remove(&folder);
}

TEST(a_recording_is_not_replaced_in_a_removed_file)
{
    struct run *plain = sample_run(1), *ops = sample_ops();
    struct history_writer *writer;
    struct sample_folder folder;
    struct err err = {0};

    sample_folder_make(&folder);
    writer = history_writer_create(folder.file, plain, NULL, NULL, NULL);
    unlink(folder.file);
    CHECK(history_writer_replace_run(writer, ops, NULL, &err) < 0);
    CHECK_INT(err.code, ERR_CHANGED);
    history_writer_close(writer, NULL);
    writer = history_writer_memory(NULL, NULL);
    CHECK(history_writer_replace_run(writer, ops, NULL, &err) == 0);
    history_writer_close(writer, NULL);
    run_free(plain);
    run_free(ops);
    sample_folder_remove(&folder);
}
