/* Old steps merge when the file reaches its limit. */
#include <stdlib.h>
#include <sys/stat.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/test.h"
#include "history/sample_history_in.h"

#define SERIES 3

/* Writes steps without dropping any; returns the largest size of file and -wal. */
static uint64_t write_steps(struct history_writer *writer, uint64_t from, uint64_t to,
                            uint32_t series)
{
    struct history_state state;
    uint64_t most = 0;

    for (uint64_t i = from; i < to; i++) {
        sample_write(writer, i, series);
        if (i % 32 == 31)
            history_writer_flush(writer);
        history_writer_state(writer, &state);
        most = state.bytes > most ? state.bytes : most;
    }
    history_writer_flush(writer);
    return most;
}

/* All points of a series, which must stand for the steps 0..n without gaps. */
static uint32_t check_series(const char *path, uint32_t series, uint64_t n,
                             struct history_sample **ret_samples, struct arena *arena)
{
    const struct history_wanted wanted = {.series = series, .histograms = true};
    struct history *history = history_open(path, &sample_codec, NULL);
    struct history_sample *samples = NULL;
    uint64_t next = 0;
    uint32_t rows = 0;

    CHECK(history != NULL);
    CHECK(history_read_points(history, &wanted, arena, &samples, &rows, NULL) == 0);
    for (uint32_t i = 0; i < rows; i++) {
        CHECK_INT(samples[i].step.first, next);
        sample_check(&samples[i], series);
        next = samples[i].step.last + 1;
    }
    CHECK_INT(next, n);
    CHECK_INT(history_damaged(history), 0);
    history_close(history);
    *ret_samples = samples;
    return rows;
}

/* Is it an aligned cell of 4^n steps, so that files of ranks merge at the same steps? */
static bool is_cell(const struct history_step *step)
{
    uint64_t n = step->last - step->first + 1;

    return n == step->merged && (n & (n - 1)) == 0 && step->first % n == 0 &&
           __builtin_ctzll(n) % 2 == 0;
}

TEST(the_limit_holds_and_resolution_fades_with_age)
{
    const struct history_options options = {
        .codec = &sample_codec, .limit = MIB, .queue = 64};
    const uint64_t steps = 20000;
    struct history_sample *samples;
    struct sample_folder folder;
    struct history_writer *writer;
    struct history_state state;
    struct arena arena;
    uint32_t rows;

    sample_folder_make(&folder);
    writer = history_writer_create(folder.file, NULL, NULL, &options, NULL);
    CHECK(writer != NULL);
    sample_declare(writer, SERIES);
    CHECK(write_steps(writer, 0, steps, SERIES) <= options.limit);
    history_writer_state(writer, &state);
    CHECK_INT(state.written, steps);
    CHECK_INT(state.dropped, 0);
    CHECK(state.step_bytes > SERIES * 100 && state.step_bytes < SERIES * 400);
    CHECK(state.merged == steps - state.rows);
    CHECK(history_writer_close(writer, NULL) == 0);

    arena_init(&arena, 0);
    for (uint32_t k = 0; k < SERIES; k++) {
        rows = check_series(folder.file, k, steps, &samples, &arena);
        CHECK(rows > 300 && rows < 3000);
        /* The newest are single steps, the oldest long. */
        CHECK_INT(samples[rows - 1].step.merged, 1);
        CHECK_INT(samples[rows - 100].step.merged, 1);
        CHECK(samples[0].step.merged > 8 * samples[rows / 2].step.merged);
        for (uint32_t i = 0; i < rows; i++)
            CHECK(is_cell(&samples[i].step));
    }
    arena_release(&arena);
    sample_folder_remove(&folder);
}

TEST(a_hundred_thousand_steps_stay_within_the_limit)
{
    const struct history_options options = {
        .codec = &sample_codec, .limit = MIB, .queue = 64};
    struct history_sample *samples;
    struct sample_folder folder;
    struct history_writer *writer;
    struct arena arena;

    sample_folder_make(&folder);
    writer = history_writer_create(folder.file, NULL, NULL, &options, NULL);
    CHECK(writer != NULL);
    sample_declare(writer, 1);
    CHECK(write_steps(writer, 0, 100000, 1) <= options.limit);
    CHECK(history_writer_close(writer, NULL) == 0);
    CHECK_INT(sample_folder_count(&folder), 1);
    arena_init(&arena, 0);
    check_series(folder.file, 0, 100000, &samples, &arena);
    arena_release(&arena);
    sample_folder_remove(&folder);
}

TEST(rows_of_steps_have_a_limit_too)
{
    const struct history_options options = {
        .codec = &sample_codec, .steps = 100, .queue = 64};
    struct history_sample *samples;
    struct sample_folder folder;
    struct history_writer *writer;
    struct history_state state;
    struct arena arena;

    sample_folder_make(&folder);
    writer = history_writer_create(folder.file, NULL, NULL, &options, NULL);
    CHECK(writer != NULL);
    sample_declare(writer, SERIES);
    write_steps(writer, 0, 1000, SERIES);
    history_writer_state(writer, &state);
    CHECK(state.rows <= 100 && state.rows > 50);
    CHECK(history_writer_close(writer, NULL) == 0);
    /* Merging continues after a resume; steps of two segments stay separate. */
    writer = history_writer_resume(folder.file, &options, NULL);
    CHECK(writer != NULL);
    sample_declare(writer, SERIES);
    write_steps(writer, 1000, 2000, SERIES);
    history_writer_state(writer, &state);
    CHECK(state.rows <= 100);
    CHECK(history_writer_close(writer, NULL) == 0);
    arena_init(&arena, 0);
    CHECK(check_series(folder.file, 1, 2000, &samples, &arena) <= 100);
    arena_release(&arena);
    sample_folder_remove(&folder);
}

/* Each 3rd step of the training is followed by an evaluation; series 0 is in all of the
 * training, series 1 in every 5th step only. */
TEST(phases_and_sparse_series_merge_apart)
{
    const struct history_options options = {
        .codec = &sample_codec, .steps = 64, .queue = 1000};
    struct history_wanted wanted = {.series = 1, .histograms = true};
    struct history_sample *samples;
    struct history_step *steps;
    struct sample_folder folder;
    struct history_writer *writer;
    struct history_point point;
    struct history *history;
    struct arena arena;
    uint32_t counts[SAMPLE_BINS], n, total = 0;

    sample_folder_make(&folder);
    writer = history_writer_create(folder.file, NULL, NULL, &options, NULL);
    sample_declare(writer, 2);
    for (uint64_t i = 0; i < 600; i++) {
        history_writer_begin(writer, i, HISTORY_TRAIN, 0);
        for (uint32_t k = 0; k < 1 + (i % 5 == 0); k++) {
            sample_point(k, i, i, &point, counts);
            history_writer_point(writer, &point);
        }
        history_writer_end(writer, 0);
        if (i % 3 == 2) {
            history_writer_begin(writer, i, HISTORY_EVAL, 0);
            history_writer_end(writer, 0);
        }
        history_writer_flush(writer);
    }
    CHECK(history_writer_close(writer, NULL) == 0);
    arena_init(&arena, 0);
    history = history_open(folder.file, &sample_codec, NULL);
    CHECK(history_read_points(history, &wanted, &arena, &samples, &n, NULL) == 0);
    CHECK(n > 10 && n < 64);
    for (uint32_t i = 0; i < n; i++) {
        CHECK_INT(samples[i].point.stats.count, 4 * samples[i].point.merged);
        total += samples[i].point.merged;
    }
    CHECK_INT(total, 120);
    wanted.range.phase = HISTORY_EVAL;
    CHECK(history_read_steps(history, &wanted.range, &arena, &steps, &n, NULL) == 0);
    total = 0;
    for (uint32_t i = 0; i < n; i++)
        total += steps[i].merged;
    CHECK_INT(total, 200);
    history_close(history);
    arena_release(&arena);
    sample_folder_remove(&folder);
}

/* The bytes of the samples are no spreads. */
TEST(damaged_histograms_are_left_out_of_merged_points)
{
    const struct history_options options = {.steps = 64, .queue = 64};
    const struct history_wanted wanted = {.histograms = true};
    struct history_sample *samples;
    struct sample_folder folder;
    struct history_writer *writer;
    struct history *history;
    struct arena arena;
    uint32_t n;

    sample_folder_make(&folder);
    writer = history_writer_create(folder.file, NULL, NULL, &options, NULL);
    sample_declare(writer, 1);
    write_steps(writer, 0, 200, 1);
    CHECK(history_writer_close(writer, NULL) == 0);
    arena_init(&arena, 0);
    history = history_open(folder.file, NULL, NULL);
    CHECK(history_read_points(history, &wanted, &arena, &samples, &n, NULL) == 0);
    CHECK(samples[0].point.merged > 1 && samples[0].point.histogram.len == 0);
    CHECK_INT(samples[0].point.stats.count, 4 * samples[0].point.merged);
    CHECK(samples[n - 1].point.merged == 1 && samples[n - 1].point.histogram.len == 32);
    history_close(history);
    arena_release(&arena);
    sample_folder_remove(&folder);
}
