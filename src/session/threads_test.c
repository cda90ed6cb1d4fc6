/* Threads query separate sessions on one frozen model and run, without locks. `make
 * test` also runs these under TSan. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/test.h"
#include "read/read.h"
#include "run/sample_run.h"
#include "session/jobs.h"
#include "session/numbers.h"
#include "session/pair.h"
#include "session/sample_session.h"
#include "study/activity.h"
#include "study/slowest.h"

#define TENSORS     8u
#define ELEMENTS    65536u
#define PATIENCE_MS 250000 /* before a test is considered hung */

/* ---- a model in a file ---- */

static void write_file(const char *path)
{
    struct buf head = {0};
    FILE *file = fopen(path, "wb");
    uint64_t size;

    for (uint32_t i = 0; i < TENSORS; i++)
        buf_printf(&head,
                   "%c\"layer.%u.weight\": {\"dtype\": \"F32\", \"shape\": [%u], "
                   "\"data_offsets\": [%u, %u]}",
                   i ? ',' : '{', i, ELEMENTS, i * ELEMENTS * 4,
                   (i + 1) * ELEMENTS * 4);
    buf_char(&head, '}');
    size = buf_span(&head).len;
    CHECK(file);
    CHECK(fwrite(&size, sizeof size, 1, file) == 1);
    CHECK(fwrite(buf_cstr(&head), size, 1, file) == 1);
    for (uint32_t i = 0; i < TENSORS * ELEMENTS; i++) {
        float value = (float)(i % 997) - (float)(i / ELEMENTS);

        CHECK(fwrite(&value, sizeof value, 1, file) == 1);
    }
    CHECK(fclose(file) == 0);
    buf_release(&head);
}

static const struct model *model_in_file(void)
{
    char path[] = "/tmp/torchoscope_threads_XXXXXX";
    const struct model *model;
    struct err err = {0};
    int fd = mkstemp(path);

    CHECK(fd >= 0);
    close(fd);
    write_file(path);
    model = read_model(path, NULL, &err);
    CHECK_STR(err.text, "");
    CHECK_INT(model->n_tensors, TENSORS);
    unlink(path); /* the model has it open */
    return model;
}

/* ---- questions ---- */

static void write_numbers(const struct numbers *numbers, struct buf *text)
{
    buf_printf(text, " min %g max %g mean %g", numbers->stats->min, numbers->stats->max,
               numbers->stats->mean);
    for (uint32_t i = 0; i < numbers->n_quantiles; i++)
        buf_printf(text, " %g", numbers->quantiles[i]);
    for (uint32_t i = 0; i < numbers->n_bins; i++)
        buf_printf(text, " %u", (unsigned)numbers->bins[i]);
    buf_printf(text, " %s\n", numbers->sha256);
}

static void write_places(const struct session *session, struct buf *text)
{
    const struct model *model = session->model;

    for (uint32_t place = 0; place < model->n_places; place++) {
        struct buf name = {0};
        uint32_t found = NO_PLACE;
        struct err err = {0};

        place_path(model, place, &name);
        if (session_find(session, buf_span(&name), &found, &err) < 0)
            buf_text(text, err.text);
        buf_printf(text, "%s %u: %u params, %u bytes, %u tensors\n", buf_cstr(&name),
                   found, (unsigned)counts_params(&session->places, place),
                   (unsigned)counts_bytes(&session->places, place),
                   counts_tensors(&session->places, place));
        buf_release(&name);
    }
}

static void ask_session(struct session *session, struct buf *text)
{
    struct numbers_wanted wanted = numbers_usual;
    struct arena arena;

    arena_init(&arena, 0);
    wanted.sha256 = true;
    write_places(session, text);
    for (uint32_t i = 0; i < session->model->n_tensors; i++) {
        struct numbers numbers;
        struct err err = {0};

        if (session_numbers(session, i, &wanted, &arena, NULL, &numbers, &err) < 0)
            buf_printf(text, "%s\n", err.text);
        else
            write_numbers(&numbers, text);
    }
    arena_release(&arena);
}

static void ask_model(const void *what, struct buf *text)
{
    struct session *session = session_on(what, NULL);

    if (!session)
        return;
    ask_session(session, text);
    session_close(session);
}

TEST(threads_query_one_model_through_separate_sessions)
{
    struct session *session = sample_session();
    const struct model *model = model_in_file();

    test_at_once(ask_model, session->model);
    test_at_once(ask_model, model);
    session_close(session);
    model_free(model);
}

static void ask_run(const void *what, struct buf *text)
{
    struct session *session = session_on_run(what, NULL, NULL);
    struct slow_list places, classes;
    struct activities activities;
    struct arena arena;

    arena_init(&arena, 0);
    if (!session || activity_of(&activities, what, &arena, NULL) < 0 ||
        slowest_of(&places, &classes, &activities, session->model, &arena, NULL) < 0)
        goto out;
    ask_session(session, text);
    for (uint32_t i = 0; i < activities.n; i++)
        buf_printf(text, "%u calls, %u ns\n", activities.at[i].calls,
                   (unsigned)activities.at[i].total_ns);
    for (uint32_t i = 0; i < places.n; i++)
        buf_printf(text, "%u ", places.at[i].place);

out:
    session_close(session);
    arena_release(&arena);
}

TEST(threads_query_one_run_through_separate_sessions)
{
    struct run *run = sample_run(RUN_KEEP_CALLS + 9);

    test_at_once(ask_run, run);
    run_free(run);
}

static void ask_pair(const void *what, struct buf *text)
{
    struct diff_wanted wanted = {.values = true};
    struct session *left = session_on(what, NULL), *right = session_on(what, NULL);
    struct pair *pair =
        left && right ? pair_on(left, right, &wanted, NULL, NULL) : NULL;

    if (pair)
        buf_printf(text, "%u nodes, equal: %d\n", pair->diff.n_nodes,
                   diff_equal(&pair->diff));
    pair_close(pair);
    session_close(left);
    session_close(right);
}

TEST(threads_compare_one_model)
{
    const struct model *model = model_in_file();

    test_at_once(ask_pair, model);
    model_free(model);
}

/* ---- jobs ---- */

static const struct numbers *wait_for(struct jobs *jobs, uint32_t tensor)
{
    struct pollfd fd = {.fd = jobs_fd(jobs), .events = POLLIN};
    const struct numbers *numbers;
    const char *why;
    bool busy;

    jobs_want(jobs, tensor);
    numbers = jobs_numbers(jobs, tensor, &busy, &why);
    while (busy && poll(&fd, 1, PATIENCE_MS) == 1) {
        jobs_poll(jobs);
        numbers = jobs_numbers(jobs, tensor, &busy, &why);
    }
    return numbers;
}

/* The owner queries its session while jobs measure all tensors. */
static void ask_jobs(const void *what, struct buf *text)
{
    struct session *session = session_on(what, NULL);
    struct jobs *jobs = session ? jobs_new(session, NULL) : NULL;

    if (!jobs)
        goto out;
    jobs_want_all(jobs, JOBS_LOUD);
    write_places(session, text);
    for (uint32_t i = 0; i < TENSORS; i++) {
        const struct numbers *numbers = wait_for(jobs, i);
        const struct stats *known = session_known(session, i);

        if (numbers)
            write_numbers(numbers, text);
        buf_printf(text, "known: %d\n", known && numbers);
    }

out:
    jobs_free(jobs);
    session_close(session);
}

TEST(jobs_of_several_sessions_measure_one_model)
{
    const struct model *model = model_in_file();

    test_at_once(ask_jobs, model);
    model_free(model);
}
