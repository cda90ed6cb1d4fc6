#include "session/jobs.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/base.h"
#include "base/test.h"
#include "model/build.h"
#include "session/jobs_in.h"
#include "session/sample_session.h"

/* ---- a model whose source may be slow, and counts its callers ---- */

#define TENSORS     100u
#define ELEMENTS    4096u
#define PATIENCE_MS 250000 /* before a test is considered hung */

struct slow {
    struct source source;
    pthread_t owner;
    atomic_uint others; /* requests that did not come from the owner */
    atomic_size_t bytes;
};

static int slow_bytes(struct source *source, uint32_t storage, uint64_t at, void *to,
                      size_t n, struct err *err)
{
    struct slow *slow = (struct slow *)source;
    float *floats = to;

    (void)err;
    atomic_fetch_add(&slow->bytes, n);
    if (!pthread_equal(slow->owner, pthread_self()))
        atomic_fetch_add(&slow->others, 1);
    for (size_t i = 0; i < n / 4; i++)
        floats[i] = (float)storage + (float)(at / 4 + i) / (float)ELEMENTS;
    return 0;
}

static void slow_close(struct source *source)
{
    (void)source;
}

static const struct source_ops slow_ops = {.bytes = slow_bytes, .close = slow_close};

static struct session *slow_session_of(struct slow *slow, bool any_thread,
                                       int64_t elements, uint32_t n)
{
    struct build b;
    const struct model *model;
    struct session *session;
    char name[16];

    CHECK(build_init(&b, "slow.pth", 0, NULL, NULL) == 0);
    b.model->format = "sample";
    for (uint32_t i = 0; i < n; i++) {
        struct storage storage = {.bytes = (uint64_t)elements * 4};
        struct tensor tensor = {.dtype = DTYPE_FLOAT32,
                                .storage = build_storage(&b, &storage),
                                .class_id = NO_CLASS};

        snprintf(name, sizeof name, "t%u", i);
        build_tensor(&b, build_node(&b, 0, PLACE_TENSOR, str_of(name)), &tensor,
                     &elements, NULL, 1);
    }
    *slow = (struct slow){.source = {.ops = &slow_ops, .any_thread = any_thread},
                          .owner = pthread_self()};
    b.model->source = &slow->source;
    model = build_finish(&b, NULL);
    CHECK(model);
    build_release(&b);
    session = session_of(model, NULL);
    CHECK(session);
    return session;
}

static struct session *slow_session(struct slow *slow, bool any_thread,
                                    int64_t elements)
{
    return slow_session_of(slow, any_thread, elements, TENSORS);
}

/* Wait as a terminal does, until the tensor's numbers are there. */
static const struct numbers *wait_for(struct jobs *jobs, uint32_t tensor)
{
    const struct numbers *numbers;
    const char *why = NULL;
    bool busy;

    numbers = jobs_numbers(jobs, tensor, &busy, &why);
    while (busy) {
        struct pollfd fd = {.fd = jobs_fd(jobs), .events = POLLIN};

        CHECK(poll(&fd, 1, PATIENCE_MS) == 1);
        jobs_poll(jobs);
        numbers = jobs_numbers(jobs, tensor, &busy, &why);
    }
    CHECK(!why);
    return numbers;
}

TEST(a_request_is_answered_by_a_thread_and_stored_in_the_session)
{
    struct session *session = sample_session();
    struct jobs *jobs = jobs_new(session, NULL);
    uint32_t tensor = session->model->object[sample_place(session, "a.weight")];
    const struct numbers *numbers;
    const char *why;
    bool busy;

    CHECK(jobs);
    CHECK(!jobs_numbers(jobs, tensor, &busy, &why));
    CHECK(!busy && !why);
    jobs_want(jobs, tensor);
    jobs_numbers(jobs, tensor, &busy, &why);
    CHECK(busy);
    numbers = wait_for(jobs, tensor);
    CHECK_INT(numbers->stats->count, 6);
    CHECK_INT(numbers->n_quantiles, 7);
    CHECK_NEAR(numbers->quantiles[3], 2.5, 1e-12);
    CHECK_INT(numbers->n_bins, 48);
    CHECK_INT(numbers->bins[0], 1);
    CHECK(session_known(session, tensor));
    jobs_free(jobs);
    session_close(session);
}

TEST(unreadable_tensors_have_a_reason_immediately)
{
    struct session *session = sample_session();
    struct jobs *jobs = jobs_new(session, NULL);
    uint32_t tensor = session->model->object[sample_place(session, "lost")];
    const char *why;
    bool busy;

    jobs_want(jobs, tensor);
    CHECK(!jobs_numbers(jobs, tensor, &busy, &why));
    CHECK(!busy && why);
    jobs_free(jobs);
    session_close(session);
}

TEST(requests_over_64_drop_the_oldest_and_moving_on_drops_all)
{
    struct slow slow;
    struct session *session = slow_session(&slow, false, ELEMENTS);
    struct jobs *jobs = jobs_new(session, NULL);
    uint32_t wanted = 0;
    const char *why;
    bool busy;

    /* Without polling, at most one of them starts. */
    for (uint32_t i = 0; i < TENSORS; i++)
        jobs_want(jobs, i);
    for (uint32_t i = 0; i < TENSORS; i++) {
        jobs_numbers(jobs, i, &busy, &why);
        wanted += busy;
    }
    CHECK(wanted >= 64 && wanted <= 65);
    jobs_numbers(jobs, TENSORS - 1, &busy, &why);
    CHECK(busy);
    jobs_drop(jobs);
    wanted = 0;
    for (uint32_t i = 0; i < TENSORS; i++) {
        jobs_numbers(jobs, i, &busy, &why);
        wanted += busy;
    }
    CHECK(wanted <= 1);
    jobs_free(jobs);
    session_close(session);
}

TEST(a_source_limited_to_its_owner_is_read_in_polls)
{
    struct slow slow;
    struct session *session = slow_session(&slow, false, ELEMENTS);
    struct jobs *jobs = jobs_new(session, NULL);
    const struct numbers *numbers;

    for (uint32_t i = 0; i < 20; i++)
        jobs_want(jobs, i);
    for (uint32_t i = 0; i < 20; i++) {
        numbers = wait_for(jobs, i);
        CHECK_NEAR(numbers->stats->min, i, 0);
        CHECK_INT(numbers->stats->count, ELEMENTS);
    }
    CHECK_INT(slow.others, 0);
    jobs_free(jobs);
    session_close(session);
}

TEST(a_poll_reads_for_ten_milliseconds_at_most)
{
    struct slow slow;
    struct session *session = slow_session(&slow, false, 256 << 20);
    struct jobs *jobs = jobs_new(session, NULL);
    size_t few = 128u << 20, before = 0;

    /* Count bytes, because a busy machine takes any time: of a tensor of 1 GB a poll
     * reads a little, and the end reads nothing. */
    jobs_want(jobs, 0);
    for (int polls = 0; polls < 3;) {
        before = slow.bytes;
        jobs_poll(jobs);
        CHECK(slow.bytes - before < few);
        polls += slow.bytes != before;
    }
    before = slow.bytes;
    jobs_free(jobs);
    CHECK(slow.bytes == before);
    session_close(session);
}

TEST(the_long_job_reports_progress_and_fills_the_session)
{
    struct slow slow;
    struct session *session = slow_session(&slow, true, ELEMENTS);
    struct jobs *jobs = jobs_new(session, NULL);
    uint64_t done, total, began;

    CHECK(!jobs_progress(jobs, &done, &total, &began));
    jobs_want(jobs, 7);
    jobs_want_all(jobs, JOBS_LOUD);
    CHECK(jobs_progress(jobs, &done, &total, &began));
    CHECK_INT(total, TENSORS * ELEMENTS * 4);
    while (jobs_progress(jobs, &done, &total, &began)) {
        struct pollfd fd = {.fd = jobs_fd(jobs), .events = POLLIN};

        CHECK(done <= total);
        CHECK(poll(&fd, 1, PATIENCE_MS) == 1);
        jobs_poll(jobs);
    }
    wait_for(jobs, 7);
    for (uint32_t i = 0; i < TENSORS; i++) {
        CHECK(session_known(session, i));
        CHECK_NEAR(session_known(session, i)->min, i, 0);
    }
    jobs_free(jobs);
    session_close(session);
}

TEST(the_long_job_can_be_stopped_and_restarted)
{
    struct slow slow;
    struct session *session = slow_session(&slow, true, 8 << 20);
    struct jobs *jobs = jobs_new(session, NULL);
    uint64_t done, total, began;

    jobs_want_all(jobs, JOBS_LOUD);
    jobs_stop(jobs);
    CHECK(!jobs_progress(jobs, &done, &total, &began));
    jobs_want_all(jobs, JOBS_LOUD);
    CHECK(jobs_progress(jobs, &done, &total, &began));
    jobs_stop(jobs);
    jobs_poll(jobs);
    jobs_free(jobs);
    session_close(session);
}

/* The sum of the first values of a tensor; the question is their number. */
static int make_sum(const struct model *model, const void *question,
                    struct arena *arena, struct work *work, const void **ret_made,
                    struct err *err)
{
    const uint64_t *tensor = question;
    double *sum = arena_alloc(arena, sizeof *sum);
    float values[4];

    (void)work;
    if (*tensor == TENSORS)
        return err_set(err, ERR_USAGE, "there is no such tensor");
    if (source_bytes(model->source, (uint32_t)*tensor, 0, values, sizeof values, err) <
        0)
        return -1;
    *sum = values[0] + values[1] + values[2] + values[3];
    *ret_made = sum;
    return 0;
}

static int make_twice(const struct model *model, const void *question,
                      struct arena *arena, struct work *work, const void **ret_made,
                      struct err *err)
{
    double *sum;

    if (make_sum(model, question, arena, work, ret_made, err) < 0)
        return -1;
    sum = arena_alloc(arena, sizeof *sum);
    *sum = 2 * *(const double *)*ret_made;
    *ret_made = sum;
    return 0;
}

TEST(the_background_makes_one_result_of_each_kind_and_a_new_request_replaces_it)
{
    for (int any_thread = 0; any_thread < 2; any_thread++) {
        struct slow slow;
        struct session *session = slow_session(&slow, any_thread, ELEMENTS);
        struct jobs *jobs = jobs_new(session, NULL);
        uint64_t first = 0, then = 5, bad = TENSORS;
        struct making sum = {make_sum, &first, sizeof first};
        struct making twice = {make_twice, &then, sizeof then};
        const double *made, *other;
        const char *why = NULL;
        bool busy = true;

        CHECK(!jobs_made(jobs, &sum, 0, &busy, &why));
        sum.question = &then;
        while (!(made = jobs_made(jobs, &sum, 0, &busy, &why))) {
            struct pollfd fd = {.fd = jobs_fd(jobs), .events = POLLIN};

            CHECK(busy && !why);
            CHECK(poll(&fd, 1, PATIENCE_MS) == 1);
            jobs_poll(jobs);
        }
        CHECK_NEAR(*made, 20, 0.01);
        other = jobs_made(jobs, &twice, 10000, &busy, &why);
        CHECK(other && !busy);
        CHECK_NEAR(*other, 40, 0.01);
        CHECK(jobs_made(jobs, &sum, 0, &busy, &why) == made);
        sum.question = &bad;
        CHECK(!jobs_made(jobs, &sum, 10000, &busy, &why));
        CHECK(!busy);
        CHECK_STR(why, "there is no such tensor");
        CHECK(jobs_made(jobs, &twice, 0, &busy, &why) == other);
        CHECK_INT(slow.others, any_thread ? slow.others : 0);
        jobs_free(jobs);
        session_close(session);
    }
}

TEST(results_that_arrive_during_a_wait_are_new_in_the_next_poll)
{
    struct slow slow;
    struct session *session = slow_session(&slow, true, 4);
    struct jobs *jobs = jobs_new(session, NULL);
    uint64_t first = 1, then = 2;
    struct making sum = {make_sum, &first, sizeof first};
    struct making twice = {make_twice, &then, sizeof then};
    const char *why;
    bool busy;

    CHECK(jobs);
    jobs_made(jobs, &sum, 0, &busy, &why);
    while (!jobs_made(jobs, &twice, 10000, &busy, &why) ||
           !jobs_made(jobs, &sum, 10000, &busy, &why))
        CHECK(busy);
    {
        struct pollfd fd = {.fd = jobs_fd(jobs), .events = POLLIN};

        CHECK(poll(&fd, 1, PATIENCE_MS) == 1);
    }
    CHECK(jobs_poll(jobs));
    CHECK(!jobs_poll(jobs));
    jobs_free(jobs);
    session_close(session);
}

TEST(a_quiet_long_job_reports_progress_only_on_request)
{
    struct slow slow;
    struct session *session = slow_session(&slow, true, 1 << 20);
    struct jobs *jobs = jobs_new(session, NULL);
    uint64_t done, total, began;

    CHECK(jobs);
    jobs_want_all(jobs, JOBS_QUIET);
    CHECK(jobs_measuring(jobs));
    CHECK(!jobs_progress(jobs, &done, &total, &began));
    jobs_want_all(jobs, JOBS_LOUD);
    CHECK(jobs_progress(jobs, &done, &total, &began));
    CHECK_INT(total, (uint64_t)TENSORS << 22);
    jobs_free(jobs);
    session_close(session);
}

TEST(the_long_job_waits_until_its_results_are_taken)
{
    enum { MANY = 3 * JOBS_BRIEF };
    struct slow slow;
    struct session *session = slow_session_of(&slow, true, 4, MANY);
    struct jobs *jobs = jobs_new(session, NULL);
    struct pollfd fd;
    uint32_t n = 0;

    CHECK(jobs);
    jobs_want_all(jobs, JOBS_QUIET);
    fd = (struct pollfd){.fd = jobs_fd(jobs), .events = POLLIN};
    CHECK(poll(&fd, 1, PATIENCE_MS) == 1);
    for (int i = 0; i < 1000 && n < JOBS_BRIEF; i++) {
        pthread_mutex_lock(&jobs->lock);
        n = jobs->n_brief;
        pthread_mutex_unlock(&jobs->lock);
        poll(NULL, 0, 10);
    }
    CHECK_INT(n, JOBS_BRIEF);
    poll(NULL, 0, 50);
    CHECK_INT(jobs->n_brief, JOBS_BRIEF);
    while (jobs_measuring(jobs)) {
        CHECK(poll(&fd, 1, PATIENCE_MS) == 1);
        jobs_poll(jobs);
    }
    for (uint32_t i = 0; i < MANY; i++)
        CHECK(session_known(session, i));
    jobs_free(jobs);
    session_close(session);
}

TEST(forgotten_tensors_are_measured_again)
{
    struct session *session = sample_session();
    struct jobs *jobs = jobs_new(session, NULL);
    uint32_t tensor = session->model->object[sample_place(session, "a.weight")];
    const char *why;
    bool busy;

    CHECK(jobs);
    jobs_want(jobs, tensor);
    wait_for(jobs, tensor);
    session_forget(session);
    jobs_forget(jobs);
    CHECK(!jobs_numbers(jobs, tensor, &busy, &why));
    jobs_want(jobs, tensor);
    CHECK(wait_for(jobs, tensor));
    jobs_free(jobs);
    session_close(session);
}
