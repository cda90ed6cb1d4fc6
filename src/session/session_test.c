#include "session/session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/test.h"
#include "history/writer.h"
#include "model/build.h"
#include "run/run_file.h"
#include "run/sample_run.h"
#include "run/trace.h"
#include "session/numbers.h"
#include "session/sample_session.h"

static uint32_t tensor_at(const struct session *session, const char *name)
{
    return session->model->object[sample_place(session, name)];
}

TEST(opening_counts_the_model)
{
    struct session *session = sample_session();

    CHECK_INT(session->total.stored, 14);
    CHECK_INT(session->total.params, 8);
    CHECK_INT(session->total.trainable, 6);
    CHECK_INT(session->total.frozen, 2);
    CHECK_INT(session->total.buffers, 1);
    CHECK_INT(session->total.bytes, 24 + 8 + 8);
    CHECK_INT(session->total.other_bytes, 16);
    CHECK_INT(session->total.tensors, 5);
    CHECK_INT(session->total.modules, 3);
    CHECK(session->verdict.verdict == VERDICT_SAFE);
    session_close(session);
}

TEST(statistics_are_computed_once_and_cached)
{
    struct session *session = sample_session();
    uint32_t weight = tensor_at(session, "a.weight");
    const struct stats *first, *second;

    CHECK(!session_known(session, weight));
    CHECK(session_stats(session, weight, NULL, &first, NULL) == 0);
    CHECK(session_stats(session, weight, NULL, &second, NULL) == 0);
    CHECK(first == second && first == session_known(session, weight));
    CHECK_INT(first->count, 6);
    CHECK(first->min == -6 && first->min_at == 5 && first->max == 5);
    session_close(session);
}

TEST(the_reason_of_an_unreadable_tensor_is_cached)
{
    struct session *session = sample_session();
    uint32_t lost = tensor_at(session, "lost");
    const struct stats *stats = NULL;
    struct err err = {0};

    CHECK(session_stats(session, lost, NULL, &stats, &err) < 0);
    CHECK(err.code == ERR_UNSUPPORTED && !stats);
    CHECK(session_why(session, lost) && *session_why(session, lost));
    session_close(session);
}

TEST(many_tensors_are_measured_although_one_cannot_be_read)
{
    struct session *session = sample_session();
    uint32_t all[4] = {0, 1, 2, 3};
    struct work work;

    work_init(&work);
    session->want_exponents = session->want_sha256 = true;
    CHECK(session_stats_many(session, all, 4, &work, NULL) == 0);
    CHECK_INT(atomic_load(&work.total), 80);
    CHECK_INT(atomic_load(&work.done), 80);
    CHECK_INT(strlen(session_sha256(session, tensor_at(session, "a.bias"))), 64);
    CHECK(!session_sha256(session, tensor_at(session, "lost")));
    CHECK(session_known(session, tensor_at(session, "b.count"))->int_max == 7);
    CHECK_INT(session_known(session, tensor_at(session, "a.bias"))->nan, 1);
    CHECK(!session_known(session, tensor_at(session, "lost")));
    session_close(session);
}

TEST(exponents_are_folded_from_the_histogram)
{
    struct session *session = sample_session();
    uint32_t weight = tensor_at(session, "a.weight");
    const struct exponents *exponents;
    const struct stats *stats;

    session->want_exponents = true;
    CHECK(session_stats(session, weight, NULL, &stats, NULL) == 0);
    exponents = session_exponents(session, weight);
    CHECK_INT(exponents->first, 0);
    CHECK_INT(exponents->n, 3);
    CHECK_INT(exponents->counts[0], 1); /* 1 */
    CHECK_INT(exponents->counts[1], 2); /* 2 3 */
    CHECK_INT(exponents->counts[2], 3); /* 4 5 -6 */
    session_close(session);
}

TEST(a_cancelled_run_keeps_partial_results)
{
    struct session *session = sample_session();
    uint32_t all[3] = {0, 1, 2};
    struct err err = {0};
    struct work work;

    work_init(&work);
    atomic_store(&work.cancel, 1);
    CHECK(session_stats_many(session, all, 3, &work, &err) < 0);
    CHECK(err.code == ERR_CANCELLED);
    session_close(session);
}

TEST(numbers_hold_quantiles_a_histogram_and_a_digest)
{
    static const double at[3] = {0, 0.5, 1};
    struct session *session = sample_session();
    struct numbers_wanted wanted = {
        .quantiles = at, .n_quantiles = 3, .bins = 11, .sha256 = true};
    struct numbers numbers;
    struct arena arena;

    arena_init(&arena, 0);
    CHECK(session_numbers(session, tensor_at(session, "a.weight"), &wanted, &arena,
                          NULL, &numbers, NULL) == 0);
    CHECK(numbers.quantiles[0] == -6 && numbers.quantiles[1] == 2.5 &&
          numbers.quantiles[2] == 5);
    CHECK_INT(numbers.bins[0], 1);
    CHECK_INT(numbers.bins[10], 2);
    CHECK_INT(strlen(numbers.sha256), 64);
    arena_release(&arena);
    session_close(session);
}

TEST(a_name_may_be_whole_or_the_only_ending)
{
    struct session *session = sample_session();
    uint32_t place;

    CHECK(session_find(session, STR("a.bias"), &place, NULL) == 0);
    CHECK_INT(place, sample_place(session, "a.bias"));
    CHECK(session_find(session, STR("bias"), &place, NULL) == 0);
    CHECK_INT(place, sample_place(session, "a.bias"));
    CHECK(session_find(session, STR(""), &place, NULL) == 0);
    CHECK_INT(place, 0);
    session_close(session);
}

TEST(an_ending_that_fits_two_places_is_refused_with_both_names)
{
    struct session *session = sample_session();
    struct err err = {0};
    uint32_t place;

    CHECK(session_find(session, STR("weight"), &place, &err) < 0);
    CHECK(err.code == ERR_NOT_FOUND);
    CHECK(strstr(err.text, "a.weight") && strstr(err.text, "b.weight"));
    session_close(session);
}

TEST(an_unknown_name_suggests_the_nearest)
{
    struct session *session = sample_session();
    struct err err = {0};
    uint32_t place;

    CHECK(session_find(session, STR("a.wieght"), &place, &err) < 0);
    CHECK(err.code == ERR_NOT_FOUND && strstr(err.text, "near it: a.weight"));
    CHECK(session_find(session, STR("nothing like it"), &place, &err) < 0);
    CHECK(!strstr(err.text, "near it"));
    session_close(session);
}

/* A module with one parameter, whose statistics were measured twice. */
static void write_recording(const char *path)
{
    static const int64_t shape[] = {3};
    struct tensor tensor = {
        .dtype = DTYPE_FLOAT32, .storage = NO_STORAGE, .class_id = NO_CLASS};
    struct run_value value = {.dtype = DTYPE_FLOAT32, .rank = 1, .numel = 3};
    struct stats stats;
    struct build build;
    struct trace *trace;
    struct run *run;
    uint32_t node;

    CHECK(build_init(&build, "Net", 0, NULL, NULL) == 0);
    build_set_kind(&build, 0, PLACE_MODULE);
    CHECK(build_object(&build, 0));
    node = build_node(&build, 0, PLACE_TENSOR, STR("weight"));
    CHECK_INT(build_tensor(&build, node, &tensor, shape, NULL, 1), 0);
    trace = trace_new(build_finish(&build, NULL), &(struct trace_wanted){0});
    CHECK(trace);
    stats_init(&stats, DTYPE_FLOAT32);
    stats.mean = 1;
    trace_param(trace, 0, false, trace_value(trace, &value, shape, NULL, &stats));
    stats.mean = 2;
    trace_param(trace, 0, false, trace_value(trace, &value, shape, NULL, &stats));
    stats.mean = 3;
    trace_param(trace, 0, true, trace_value(trace, &value, shape, NULL, &stats));
    run = trace_finish(trace, 0, 0);
    build_release(&build);
    CHECK(run && run_file_write(run, NULL, path, NULL, NULL) == 0);
    run_free(run);
}

TEST(a_recording_opens_with_the_statistics_of_its_parameters)
{
    char path[] = "/tmp/torchoscope_session_XXXXXX";
    const struct stats *stats = NULL;
    struct session *session;
    struct err err = {0};
    int fd = mkstemp(path);

    CHECK(fd >= 0);
    close(fd);
    write_recording(path);
    session = session_open(path, NULL, &err);
    unlink(path);
    CHECK_STR(err.text, "");
    CHECK(session && session->run && session->run->model == session->model);
    CHECK(session_stats(session, 0, NULL, &stats, &err) == 0);
    CHECK(stats->mean == 2);
    session_close(session);
}

/* ---- histories ---- */

static struct history_writer *begin_history(char path[64])
{
    struct history_writer *writer;
    struct run *run = sample_run(1);

    snprintf(path, 64, "/tmp/torchoscope_session_XXXXXX");
    close(mkstemp(path));
    writer = history_writer_create(path, run, NULL, &(struct history_options){0}, NULL);
    CHECK(writer != NULL);
    CHECK_INT(history_writer_name(writer, STR("loss")), 0);
    run_free(run);
    return writer;
}

static void log_step(struct history_writer *writer, uint64_t number)
{
    history_writer_begin(writer, number, HISTORY_TRAIN, (number + 1) * 1000000000u);
    history_writer_scalar(writer, 0, (double)number / 2);
    history_writer_end(writer, 0);
    history_writer_flush(writer);
}

TEST(a_recording_opens_with_the_history_in_it)
{
    char path[64];
    struct history_writer *writer = begin_history(path);
    struct session *session;

    log_step(writer, 0);
    log_step(writer, 7);
    CHECK_INT(history_writer_close(writer, NULL), 0);
    session = session_open(path, NULL, NULL);
    CHECK(session && session->history && !session->history_why);
    CHECK_STR(session->history_path, path);
    CHECK_INT(session->training->phases[HISTORY_TRAIN].steps, 2);
    CHECK_INT(session->training->loss_step, 7);
    CHECK(session->training->newest_loss == 3.5);
    /* Another process continues it. */
    writer = history_writer_resume(path, &(struct history_options){0}, NULL);
    log_step(writer, 8);
    CHECK_INT(history_writer_close(writer, NULL), 0);
    CHECK_INT(session->training->phases[HISTORY_TRAIN].steps, 2);
    CHECK(session_refresh_training(session));
    CHECK_INT(session->training->phases[HISTORY_TRAIN].steps, 3);
    CHECK_INT(session->training->segments, 2);
    session_close(session);
    unlink(path);
}

TEST(a_recording_without_a_history_has_none)
{
    struct session *session = session_of_run(sample_run(1), NULL);

    CHECK(!session->history && !session->training && !session->history_path);
    CHECK(!session->history_why && !session_refresh_training(session));
    session_close(session);
}

/* Renames a column in the statement that created its table. */
static void spoil_table(const char *path, const char *word)
{
    FILE *file = fopen(path, "r+");
    static char bytes[1 << 20];
    size_t n = fread(bytes, 1, sizeof bytes, file);
    size_t len = strlen(word), at = 0;

    while (at + len < n && memcmp(bytes + at, word, len) != 0)
        at++;
    CHECK(at + len < n);
    fseek(file, (long)at, SEEK_SET);
    fputc('X', file);
    fclose(file);
}

TEST(an_unreadable_history_does_not_affect_the_rest)
{
    char path[64];
    struct history_writer *writer = begin_history(path);
    struct session *session;

    log_step(writer, 0);
    CHECK_INT(history_writer_close(writer, NULL), 0);
    spoil_table(path, "skipped");
    session = session_open(path, NULL, NULL);
    CHECK(session && session->run && !session->history && !session->training);
    CHECK(session->history_why && *session->history_why);
    session_close(session);
    unlink(path);
}

/* ---- a history without a model ---- */

TEST(a_history_without_a_model_has_the_tree_of_its_series)
{
    static const char *const names[] = {"net.10.weight", "net.2.weight", "head", ""};
    char path[] = "/tmp/torchoscope_session_XXXXXX";
    struct history_writer *writer;
    struct session *session;
    double value;

    close(mkstemp(path));
    writer =
        history_writer_create(path, NULL, NULL, &(struct history_options){0}, NULL);
    history_writer_begin(writer, 3, HISTORY_TRAIN, 1000000000);
    for (uint32_t i = 0; i < COUNT_OF(names); i++) {
        const struct history_series series = {
            .place = 1, /* a place that the model does not have */
            .kind = i < 2 ? HISTORY_PARAM : HISTORY_OUTPUT,
            .name = str_of(names[i])};
        struct history_point point = {.merged = 1};
        const float at[2] = {3, 4};

        point.series = history_writer_series(writer, &series);
        stats_init(&point.stats, DTYPE_FLOAT32);
        stats_add(&point.stats, NULL, DTYPE_FLOAT32, at, 2, 0, MEASURE_EXACT);
        history_writer_point(writer, &point);
    }
    history_writer_end(writer, 0);
    CHECK_INT(history_writer_close(writer, NULL), 0);
    session = session_open(path, NULL, NULL);
    CHECK(session && session->history && !session->run);
    CHECK_INT(session->model->n_places, 7);
    CHECK(place_find(session->model, STR("net.2")) <
          place_find(session->model, STR("net.10")));
    CHECK_INT(session_take_step(session, "newest", NULL), 0);
    CHECK(step_number(&session->step->at[place_find(session->model, STR("net"))],
                      STEP_WEIGHT, &value));
    CHECK_NEAR(value, sqrt(50), 1e-12);
    for (int i = 0; i < 1000; i++) /* a server does it for each question */
        CHECK_INT(session_take_step(session, "0", NULL), 0);
    CHECK(session->of_step.used < 1 << 18);
    session_close(session);
    unlink(path);
}
