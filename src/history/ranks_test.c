/* The files of several ranks as one history. */
#include <string.h>

#include "base/test.h"
#include "history/ranks.h"
#include "history/sample_history_in.h"
#include "history/summary.h"

#define STEPS 300

/* Rank 0 measures the series layer.0 and layer.1, rank 1 layer.0, layer.1 and layer.2. A
 * different limit makes their steps merge differently. */
static void write_rank(const struct sample_folder *folder, uint32_t rank,
                       uint32_t steps)
{
    const struct history_options options = {
        .codec = &sample_codec, .steps = 64 + 50 * rank, .rank = rank, .ranks = 2};
    struct history_writer *writer = sample_rank_writer(folder, &options);

    sample_declare(writer, 2 + rank);
    for (uint64_t i = 0; i < steps; i++) {
        sample_write(writer, i, 2 + rank);
        history_writer_flush(writer);
    }
    CHECK(history_writer_close(writer, NULL) == 0);
}

static struct history_ranks *open_ranks(const struct sample_folder *folder)
{
    struct err err = {0};
    struct history_ranks *ranks = history_ranks_open(folder->path, &sample_codec, &err);

    CHECK_STR(err.text, "");
    return ranks;
}

TEST(ranks_are_merged_exactly_although_their_steps_differ)
{
    struct history_wanted wanted = {.series = 1, .histograms = true};
    struct history_sample *samples;
    struct history_series *series;
    struct sample_folder folder;
    struct history_ranks *ranks;
    struct arena arena;
    uint64_t next = 0;
    uint32_t n;

    sample_folder_make(&folder);
    write_rank(&folder, 0, STEPS);
    write_rank(&folder, 1, STEPS);
    ranks = open_ranks(&folder);
    CHECK_INT(history_ranks_count(ranks), 2);
    arena_init(&arena, 0);
    CHECK(history_ranks_series(ranks, &arena, &series, &n, NULL) == 0);
    CHECK(n == 3 && str_is(series[2].name, "layer.2"));
    CHECK(history_ranks_points(ranks, &wanted, &arena, &samples, &n, NULL) == 0);
    CHECK(n > 30 && n <= 64);
    for (uint32_t i = 0; i < n; i++) {
        struct history_point expected;
        uint32_t counts[SAMPLE_BINS];

        CHECK_INT(samples[i].step.first, next);
        next = samples[i].step.last + 1;
        sample_point(1, samples[i].step.first, samples[i].step.last, &expected, counts);
        CHECK_INT(samples[i].point.merged, 2 * expected.merged);
        CHECK_INT(samples[i].step.merged, expected.merged);
        CHECK_INT(samples[i].point.stats.count, 2 * expected.stats.count);
        CHECK(samples[i].point.stats.min == expected.stats.min &&
              samples[i].point.stats.max == expected.stats.max);
        for (int k = 0; k < SAMPLE_BINS; k++)
            counts[k] *= 2;
        CHECK_MEM(samples[i].point.histogram.at, counts, sizeof counts);
    }
    CHECK_INT(next, STEPS);
    wanted.most = 7;
    CHECK(history_ranks_points(ranks, &wanted, &arena, &samples, &n, NULL) == 0);
    CHECK_INT(n, 7);
    CHECK(samples[0].step.first == 0 && samples[6].step.last == STEPS - 1);
    wanted.series = 2;
    wanted.most = 0;
    CHECK(history_ranks_points(ranks, &wanted, &arena, &samples, &n, NULL) == 0);
    CHECK_INT(samples[n - 1].point.merged, 1);
    wanted.series = 3;
    CHECK(history_ranks_points(ranks, &wanted, &arena, &samples, &n, NULL) < 0);
    history_ranks_close(ranks);
    arena_release(&arena);
    sample_folder_remove(&folder);
}

TEST(scalars_of_ranks_are_merged_and_a_rank_may_lag)
{
    const struct history_wanted wanted = {0};
    struct history_scalar_sample *samples;
    struct sample_folder folder;
    struct history_ranks *ranks;
    struct str *names;
    struct arena arena;
    uint32_t n;

    sample_folder_make(&folder);
    write_rank(&folder, 0, 20);
    write_rank(&folder, 1, 15);
    ranks = open_ranks(&folder);
    arena_init(&arena, 0);
    CHECK(history_ranks_names(ranks, &arena, &names, &n, NULL) == 0);
    CHECK(n == 1 && str_is(names[0], "loss"));
    CHECK(history_ranks_scalars(ranks, &wanted, &arena, &samples, &n, NULL) == 0);
    CHECK_INT(n, 20);
    CHECK(samples[14].scalar.number.n == 2 && samples[15].scalar.number.n == 1);
    CHECK_NEAR(samples[14].scalar.number.sum, 2.0 / 15, 1e-12);
    history_ranks_close(ranks);
    arena_release(&arena);
    sample_folder_remove(&folder);
}

TEST(a_folder_without_histories_is_an_error)
{
    struct sample_folder folder;
    struct err err = {0};

    sample_folder_make(&folder);
    CHECK(!history_ranks_open(folder.path, NULL, &err) && err.code == ERR_NOT_FOUND);
    sample_folder_remove(&folder);
    CHECK(!history_ranks_open(folder.path, NULL, &err) && err.code == ERR_IO);
}

TEST(all_points_of_a_step_are_merged_over_ranks)
{
    struct sample_folder folder;
    struct history_ranks *ranks;
    struct history_moment moment;
    struct arena arena;

    sample_folder_make(&folder);
    write_rank(&folder, 0, 20);
    write_rank(&folder, 1, 15); /* it is behind */
    ranks = open_ranks(&folder);
    arena_init(&arena, 0);
    CHECK(history_ranks_moment(ranks, 14, HISTORY_TRAIN, &arena, &moment, NULL) == 0);
    CHECK(moment.step.first == 14 && moment.step.last == 14);
    CHECK_INT(moment.n_points, 3);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_INT(moment.points[i].series, i);
        /* layer.2 is of rank 1 alone. */
        CHECK_INT(moment.points[i].merged, i < 2 ? 2 : 1);
        CHECK_INT(moment.points[i].stats.count, i < 2 ? 8 : 4);
        CHECK(moment.points[i].stats.min == 14 + i);
    }
    CHECK_INT(moment.n_scalars, 1);
    CHECK(moment.scalars[0].number.n == 2 && moment.scalars[0].number.min == 1.0 / 15);
    CHECK(history_ranks_moment(ranks, UINT64_MAX, HISTORY_TRAIN, &arena, &moment,
                               NULL) == 0);
    CHECK(moment.step.first == 19 && moment.n_points == 2);
    CHECK_INT(moment.points[0].merged, 1);
    arena_release(&arena);
    history_ranks_close(ranks);
    sample_folder_remove(&folder);
}

/* ---- a folder as one history ---- */

/* Writes the checksum of a rank's parameters in each step; from step `drifts` on it is
 * the rank's own, and so is the parameter "w". */
static void write_sums(const struct sample_folder *folder, uint32_t rank,
                       uint64_t drifts)
{
    const struct history_series series = {
        .place = 7, .kind = HISTORY_PARAM, .name = STR("w")};
    struct history_alarm alarm = {
        .severity = SEVERITY_WARNING, .kind = STR("dead"), .text = STR("dead")};
    const struct history_options options = {
        .codec = &sample_codec, .rank = rank, .ranks = 12};
    struct history_writer *writer = sample_rank_writer(folder, &options);
    uint32_t counts[SAMPLE_BINS], sum, w;
    struct history_point point;

    sum = history_writer_name(writer, STR(HISTORY_CHECKSUM));
    w = history_writer_series(writer, &series);
    for (uint64_t i = 0; i < 6; i++) {
        uint64_t own = i < drifts ? i : 100 * rank + i;

        history_writer_begin(writer, i, HISTORY_TRAIN, (i + 1) * 1000000000u);
        sample_point(0, own, own, &point, counts);
        point.series = w;
        history_writer_point(writer, &point);
        history_writer_scalar(writer, sum, (double)own);
        if (i == 3)
            history_writer_alarm(writer, &alarm);
        history_writer_end(writer, 0);
        history_writer_flush(writer);
    }
    CHECK(history_writer_close(writer, NULL) == 0);
}

static uint32_t count_alarms(const struct sample_folder *folder,
                             struct history_alarm ret_alarms[8])
{
    struct history *history = history_open(folder->path, &sample_codec, NULL);
    struct history_alarm *alarms;
    struct arena arena;
    uint32_t n = 0;

    CHECK(history != NULL);
    arena_init(&arena, 0);
    CHECK(history_read_alarms(history, 0, 8, &arena, &alarms, &n, NULL) == 0);
    for (uint32_t i = 0; i < n; i++) {
        ret_alarms[i] = alarms[i];
        CHECK(str_is(alarms[i].kind,
                     alarms[i].severity == SEVERITY_ALARM ? HISTORY_DRIFT : "dead"));
        if (alarms[i].severity == SEVERITY_ALARM)
            CHECK(str_is(alarms[i].name, "w"));
        ret_alarms[i].kind = ret_alarms[i].name = ret_alarms[i].text = STR("");
    }
    arena_release(&arena);
    history_close(history);
    return n;
}

TEST(a_folder_opens_as_one_history_and_finds_files_that_appear_later)
{
    struct history_summary sum;
    struct history_segment *segments;
    struct history_step *steps, newest;
    struct sample_folder folder;
    struct history *history;
    struct arena arena;
    uint32_t n;

    sample_folder_make(&folder);
    write_sums(&folder, 10, 6);
    history = history_open(folder.path, &sample_codec, NULL);
    CHECK(history && history_ranks_of(history));
    CHECK_INT(history_ranks_count(history_ranks_of(history)), 1);
    write_sums(&folder, 9, 6); /* before rank10 by number, behind it by name */
    arena_init(&arena, 0);
    CHECK(history_read_steps(history, &(struct history_range){0}, &arena, &steps, &n,
                             NULL) == 0);
    CHECK(n == 6 && steps[5].merged == 1 && steps[5].first == 5);
    CHECK_INT(history_ranks_number(history_ranks_of(history), 0), 9);
    CHECK(history_newest(history, &newest, NULL) == 0 && newest.last == 5);
    CHECK(history_read_segments(history, &arena, &segments, &n, NULL) == 0);
    CHECK(n == 1 && segments[0].rank == 9 && segments[0].ranks == 12);
    CHECK(history_summarise(history, &sum, NULL) == 0);
    CHECK(sum.files == 2 && sum.ranks == 12 && sum.phases[HISTORY_TRAIN].steps == 6);
    CHECK_INT(history_summary_alarms(&sum), 2);
    arena_release(&arena);
    history_close(history);
    sample_folder_remove(&folder);
}

TEST(parameters_that_drift_apart_raise_an_alarm_with_step_rank_and_name)
{
    struct history_alarm alarms[8];
    struct sample_folder folder;

    sample_folder_make(&folder);
    write_sums(&folder, 0, 6);
    write_sums(&folder, 1, 6);
    CHECK_INT(count_alarms(&folder, alarms), 2);
    CHECK(alarms[0].rank == 0 && alarms[1].rank == 1 && alarms[1].step == 3);
    write_sums(&folder, 2, 4);
    CHECK_INT(count_alarms(&folder, alarms), 4);
    CHECK(alarms[3].severity == SEVERITY_ALARM && alarms[3].rank == 2);
    CHECK(alarms[3].step == 4 && alarms[3].place == 7);
    sample_folder_remove(&folder);
}

TEST(parameters_that_were_never_equal_raise_no_alarm)
{
    struct history_alarm alarms[8];
    struct sample_folder folder;

    sample_folder_make(&folder);
    write_sums(&folder, 0, 6);
    write_sums(&folder, 1, 0);
    CHECK_INT(count_alarms(&folder, alarms), 2);
    sample_folder_remove(&folder);
}

TEST(only_files_of_ranks_belong_to_a_run)
{
    CHECK(history_ranks_names_file(STR("rank0.scope")));
    CHECK(history_ranks_names_file(STR("rank4095.scope")));
    CHECK(!history_ranks_names_file(STR("rank.scope")));
    CHECK(!history_ranks_names_file(STR("rank1.scope-wal")));
    CHECK(!history_ranks_names_file(STR("rank-1.scope")));
    CHECK(!history_ranks_names_file(STR("rank12345678901234567890.scope")));
    CHECK(!history_ranks_names_file(STR("nan.scope")));
    CHECK(!history_ranks_is("/nowhere"));
}
