/* Points and scalars survive a parcel, and a damaged one is refused. */
#include "history/parcel.h"

#include <string.h>

#include "base/test.h"
#include "history/sample_history_in.h"

static void fill(struct buf *parcel)
{
    const struct history_series series = {.place = 3,
                                          .call = 2,
                                          .kind = HISTORY_GRAD_INPUT,
                                          .name = STR("layer.0"),
                                          .path = STR("x")};
    uint32_t counts[SAMPLE_BINS];
    struct history_point point;

    sample_point(0, 1, 1, &point, counts);
    point.extra[EXTRA_RATIO] = history_number_of(0.5);
    parcel_point(parcel, &series, &point);
    parcel_scalar(parcel, STR("loss"), 0.25);
}

static void fill_more(struct buf *parcel)
{
    struct history_alarm alarm = {.step = 5,
                                  .place = 3,
                                  .severity = SEVERITY_WARNING,
                                  .kind = STR("spike"),
                                  .name = STR("layer.0"),
                                  .line = STR("net.py:3"),
                                  .text = STR("the loss is high")};

    stats_init(&alarm.stats, DTYPE_FLOAT32);
    parcel_alarm(parcel, &alarm);
    alarm.step = 4;
    parcel_alarm(parcel, &alarm);
    parcel_flags(parcel, HISTORY_SKIPPED);
}

/* Writes parcels as a step; the status of the last. */
static int write_parcel(const struct sample_folder *folder, struct str parcel,
                        int times, struct err *err)
{
    const struct history_options options = {.codec = &sample_codec};
    struct history_writer *writer =
        history_writer_create(folder->file, NULL, NULL, &options, NULL);
    unsigned flags = 0;
    int status = 0;

    CHECK(writer != NULL);
    history_writer_begin(writer, 5, HISTORY_TRAIN, 1000);
    for (int i = 0; i < times; i++)
        status = parcel_write(parcel, (uint32_t)i, 5, writer, &flags, err);
    history_writer_end(writer, flags);
    CHECK(history_writer_close(writer, NULL) == 0);
    return status;
}

TEST(the_parcels_of_two_ranks_become_one_step)
{
    const struct history_wanted wanted = {.histograms = true};
    struct history_scalar_sample *scalars;
    struct history_sample *samples;
    struct history_series *series;
    struct buf parcel = BUF_INIT;
    struct sample_folder folder;
    struct history *history;
    struct arena arena;
    uint32_t n;

    sample_folder_make(&folder);
    fill(&parcel);
    CHECK(write_parcel(&folder, buf_span(&parcel), 2, NULL) == 0);
    history = history_open(folder.file, &sample_codec, NULL);
    arena_init(&arena, 0);
    CHECK(history_read_series(history, &arena, &series, &n, NULL) == 0 && n == 1);
    CHECK(series[0].place == 3 && series[0].call == 2);
    CHECK(series[0].kind == HISTORY_GRAD_INPUT && str_is(series[0].path, "x"));
    CHECK(history_read_points(history, &wanted, &arena, &samples, &n, NULL) == 0);
    CHECK(n == 1 && samples[0].step.first == 5 && samples[0].point.merged == 2);
    CHECK_INT(samples[0].point.stats.count, 8);
    CHECK(samples[0].point.extra[EXTRA_RATIO].sum == 1 && samples[0].point.units == 4);
    CHECK(samples[0].point.histogram.len > 0);
    CHECK(history_read_scalars(history, &wanted, &arena, &scalars, &n, NULL) == 0);
    CHECK(n == 1 && scalars[0].scalar.number.n == 2);
    CHECK(scalars[0].scalar.number.sum == 0.5);
    arena_release(&arena);
    history_close(history);
    buf_release(&parcel);
    sample_folder_remove(&folder);
}

TEST(alarms_and_flags_survive_a_parcel)
{
    struct history_alarm *alarms;
    struct history_sample *samples;
    struct buf parcel = BUF_INIT;
    struct sample_folder folder;
    struct history *history;
    struct arena arena;
    uint32_t n;

    sample_folder_make(&folder);
    fill(&parcel);
    fill_more(&parcel);
    CHECK(write_parcel(&folder, buf_span(&parcel), 1, NULL) == 0);
    CHECK(write_parcel(&folder, str_head(buf_span(&parcel), buf_span(&parcel).len - 1),
                       1, NULL) == -1);
    CHECK(write_parcel(&folder, buf_span(&parcel), 2, NULL) == 0);
    history = history_open(folder.file, &sample_codec, NULL);
    arena_init(&arena, 0);
    CHECK(history_read_alarms(history, 0, UINT32_MAX, &arena, &alarms, &n, NULL) == 0);
    CHECK_INT(n, 4);
    CHECK(str_is(alarms[1].text, "step 4: the loss is high"));
    CHECK(str_is(alarms[3].text, "rank 1: step 4: the loss is high"));
    CHECK(n == 4 && alarms[0].step == 5 && alarms[0].severity == SEVERITY_WARNING);
    CHECK(str_is(alarms[0].kind, "spike") && str_is(alarms[0].line, "net.py:3"));
    CHECK(str_is(alarms[0].name, "layer.0") &&
          str_is(alarms[0].text, "the loss is high"));
    CHECK(history_read_points(history, &(struct history_wanted){0}, &arena, &samples,
                              &n, NULL) == 0);
    CHECK(n == 1 && samples[0].step.flags == HISTORY_SKIPPED);
    arena_release(&arena);
    history_close(history);
    buf_release(&parcel);
    sample_folder_remove(&folder);
}

TEST(a_truncated_parcel_is_refused)
{
    struct buf whole = BUF_INIT, point = BUF_INIT;
    struct sample_folder folder;
    size_t scalar;

    sample_folder_make(&folder);
    fill(&whole);
    parcel_scalar(&point, STR("loss"), 0.25);
    scalar = buf_span(&whole).len - buf_span(&point).len;
    for (size_t len = 1; len < buf_span(&whole).len; len++) {
        struct err err = {0};
        int status = write_parcel(&folder, str_head(buf_span(&whole), len), 1, &err);

        CHECK_INT(status, len == scalar ? 0 : -1);
        CHECK(len == scalar || err.code == ERR_FORMAT);
    }
    buf_release(&whole);
    buf_release(&point);
    sample_folder_remove(&folder);
}
