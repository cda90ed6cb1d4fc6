#include "session/jobs.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/background.h"
#include "base/base.h"
#include "base/clock.h"
#include "session/jobs_in.h"

#define POLL_NS     10000000u  /* how long one poll may run errands */
#define NOTIFY_NS   50000000u  /* interval of notifications by the long job */
#define QUIET_NS    500000000u /* the same if the job is quiet */
#define JOBS_MEMORY GIB

/* ---- on the threads; the lock is held unless noted ---- */

void jobs_notify(struct jobs *jobs)
{
    ssize_t written;

    if (jobs->notified)
        return;
    written = write(jobs->write_fd, "!", 1);
    jobs->notified = written == 1;
}

/* Takes the next task: the newest wish, else a part of the long job. Only one thread at
 * a time runs the long job, so that the other is free for wishes. */
static bool take_task(struct worker *worker, struct answer *answer)
{
    struct jobs *jobs = worker->jobs;

    *answer = (struct answer){0};
    if (jobs->n_wishes > 0) {
        answer->tensor = jobs->wishes[--jobs->n_wishes];
        work_init(&worker->work);
        return true;
    }
    if (!jobs->long_on || jobs->at_order == jobs->n_order ||
        jobs->n_brief >= JOBS_BRIEF)
        return false;
    for (uint32_t i = 0; i < jobs->n_workers; i++)
        if (jobs->workers[i].with_long)
            return false;
    answer->tensor = jobs->order[jobs->at_order++];
    answer->brief = true;
    return true;
}

/* Runs without the lock. Results are copied from a scratch arena into the answer. */
static void measure(struct worker *worker, struct answer *answer)
{
    const struct model *model = &worker->lent;
    struct numbers_wanted wanted = numbers_usual;
    struct work *work = answer->brief ? &worker->jobs->long_work : &worker->work;
    struct err err = {0};
    struct arena arena;

    arena_init(&arena, JOBS_MEMORY);
    if (answer->brief)
        wanted = (struct numbers_wanted){0};
    if (numbers_measure(model, &model->tensors[answer->tensor], &wanted, &arena, work,
                        &answer->stats, &answer->numbers, &err) < 0) {
        answer->cancelled = err.code == ERR_CANCELLED;
        memcpy(answer->why, err.text, sizeof answer->why - 1);
        answer->numbers = (struct numbers){0};
    }
    for (uint32_t i = 0; i < answer->numbers.n_quantiles; i++)
        answer->quantiles[i] = answer->numbers.quantiles[i];
    for (uint32_t i = 0; i < answer->numbers.n_bins; i++)
        answer->bins[i] = answer->numbers.bins[i];
    arena_release(&arena);
}

/* Adds a copy of the answer to the finished ones. */
static void give(struct jobs *jobs, const struct answer *answer)
{
    struct answer *copy = malloc(sizeof *copy);
    uint64_t now = clock_ns();

    if (!copy)
        return;
    *copy = *answer;
    copy->numbers.stats = &copy->stats;
    copy->numbers.at = numbers_usual.quantiles;
    copy->numbers.quantiles = copy->quantiles;
    copy->numbers.bins = copy->bins;
    copy->next = jobs->done;
    jobs->done = copy;
    jobs->n_brief += answer->brief;
    if (answer->brief && jobs->at_order < jobs->n_order &&
        jobs->n_brief < JOBS_BRIEF / 2 &&
        now - jobs->long_notified_ns < (jobs->quiet ? QUIET_NS : NOTIFY_NS))
        return;
    jobs->long_notified_ns = now;
    jobs_notify(jobs);
}

/* Computes the result of a slot, on a copy: another one may be requested meanwhile. */
static void make(struct worker *worker, struct slot *slot)
{
    struct jobs *jobs = worker->jobs;
    struct made made = slot->made;

    worker->with_slot = slot;
    pthread_mutex_unlock(&jobs->lock);
    made_make(&made, &worker->lent, &worker->work);
    pthread_mutex_lock(&jobs->lock);
    worker->with_slot = NULL;
    slot_give(jobs, slot, &made);
}

static void answer_one(struct worker *worker, struct answer *answer)
{
    struct jobs *jobs = worker->jobs;

    worker->with_long = answer->brief;
    pthread_mutex_unlock(&jobs->lock);
    measure(worker, answer);
    pthread_mutex_lock(&jobs->lock);
    worker->with_long = false;
    give(jobs, answer);
}

/* Runs one task; false: there is none. */
static bool do_something(struct worker *worker)
{
    struct slot *slot = slot_take(worker);
    struct answer answer;

    if (!slot && !take_task(worker, &answer))
        return false;
    worker->busy = true;
    if (slot)
        make(worker, slot);
    else
        answer_one(worker, &answer);
    worker->busy = false;
    pthread_cond_signal(&worker->jobs->asked);
    return true;
}

static void *work_on(void *argument)
{
    struct worker *worker = argument;
    struct jobs *jobs = worker->jobs;

    pthread_mutex_lock(&jobs->lock);
    while (!jobs->ending)
        if (!do_something(worker))
            pthread_cond_wait(&jobs->more, &jobs->lock);
    pthread_mutex_unlock(&jobs->lock);
    return NULL;
}

/* ---- beginning and ending ---- */

/* Threads start when there is work; only one if the owner does all reads. The lock is
 * held. */
void jobs_start(struct jobs *jobs)
{
    const struct source *source = jobs->session->model->source;
    uint32_t n = source && !source->any_thread ? 1 : JOBS_THREADS;

    while (jobs->n_workers < n) {
        struct worker *worker = &jobs->workers[jobs->n_workers];

        worker->jobs = jobs;
        errands_begin(worker);
        if (!background_start(&worker->thread, work_on, worker))
            break;
        jobs->n_workers++;
    }
    pthread_cond_broadcast(&jobs->more);
}

static int make_pipe(struct jobs *jobs, struct err *err)
{
    int fds[2];

    if (background_pipe(fds, err) < 0)
        return -1;
    jobs->read_fd = fds[0];
    jobs->write_fd = fds[1];
    return 0;
}

struct jobs *jobs_new(struct session *session, struct err *err)
{
    struct jobs *jobs = calloc(1, sizeof *jobs);
    size_t n = (size_t)session->model->n_tensors + 1;
    pthread_condattr_t monotonic;

    if (!jobs) {
        err_set(err, ERR_LIMIT, "no memory left");
        return NULL;
    }
    jobs->session = session;
    arena_init(&jobs->arena, 0);
    jobs->state = arena_array(&jobs->arena, n, sizeof *jobs->state);
    jobs->answers = arena_array(&jobs->arena, n, sizeof *jobs->answers);
    if (!jobs->state || !jobs->answers) {
        arena_err(&jobs->arena, "the list of tensors", err);
        goto fail;
    }
    if (make_pipe(jobs, err) < 0)
        goto fail;
    pthread_mutex_init(&jobs->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&jobs->more, NULL);
    pthread_cond_init(&jobs->asked, &monotonic);
    pthread_cond_init(&jobs->served, NULL);
    pthread_condattr_destroy(&monotonic);
    work_init(&jobs->long_work);
    return jobs;

fail:
    arena_release(&jobs->arena);
    free(jobs);
    return NULL;
}

static void stop_threads(struct jobs *jobs)
{
    pthread_mutex_lock(&jobs->lock);
    jobs->ending = true;
    atomic_store(&jobs->long_work.cancel, 1);
    for (uint32_t i = 0; i < jobs->n_workers; i++)
        atomic_store(&jobs->workers[i].work.cancel, 1);
    pthread_cond_broadcast(&jobs->more);
    pthread_cond_broadcast(&jobs->served);
    pthread_mutex_unlock(&jobs->lock);
    for (uint32_t i = 0; i < jobs->n_workers; i++)
        pthread_join(jobs->workers[i].thread, NULL);
}

void jobs_free(struct jobs *jobs)
{
    if (!jobs)
        return;
    stop_threads(jobs);
    while (jobs->done) {
        struct answer *next = jobs->done->next;

        free(jobs->done);
        jobs->done = next;
    }
    for (uint32_t i = 0; i < jobs->session->model->n_tensors; i++)
        free(jobs->answers[i]);
    free(jobs->order);
    for (int i = 0; i < JOBS_SLOTS; i++)
        made_release(&jobs->slots[i].made);
    close(jobs->read_fd);
    close(jobs->write_fd);
    pthread_cond_destroy(&jobs->more);
    pthread_cond_destroy(&jobs->asked);
    pthread_cond_destroy(&jobs->served);
    pthread_mutex_destroy(&jobs->lock);
    arena_release(&jobs->arena);
    free(jobs);
}

/* ---- wishes ---- */

/* Answers at once, with the reason why there are no numbers. */
static void refuse(struct jobs *jobs, uint32_t tensor, const char *why)
{
    struct answer *answer = calloc(1, sizeof *answer);

    if (!answer)
        return;
    strncpy(answer->why, why, sizeof answer->why - 1);
    jobs->answers[tensor] = answer;
    jobs->state[tensor] = ANSWERED;
}

void jobs_want(struct jobs *jobs, uint32_t tensor)
{
    const struct model *model = jobs->session->model;
    const char *why = NULL;

    if (jobs->state[tensor] != NOT_ASKED)
        return;
    if (!tensor_readable(model, &model->tensors[tensor], &why)) {
        refuse(jobs, tensor, why ? why : "not known");
        return;
    }
    pthread_mutex_lock(&jobs->lock);
    if (jobs->n_wishes == JOBS_WISHES) {
        jobs->state[jobs->wishes[0]] = NOT_ASKED;
        memmove(jobs->wishes, jobs->wishes + 1,
                (JOBS_WISHES - 1) * sizeof *jobs->wishes);
        jobs->n_wishes--;
    }
    jobs->wishes[jobs->n_wishes++] = tensor;
    jobs_start(jobs);
    if (jobs->n_workers == 0)
        jobs->n_wishes = 0;
    pthread_mutex_unlock(&jobs->lock);
    if (jobs->n_workers == 0)
        refuse(jobs, tensor, "no thread could be started to read it");
    else
        jobs->state[tensor] = ASKED;
}

void jobs_drop(struct jobs *jobs)
{
    pthread_mutex_lock(&jobs->lock);
    for (uint32_t i = 0; i < jobs->n_wishes; i++)
        jobs->state[jobs->wishes[i]] = NOT_ASKED;
    jobs->n_wishes = 0;
    for (int i = 0; i < JOBS_SLOTS; i++)
        if (jobs->slots[i].state == SLOT_WANTED)
            jobs->slots[i].state = SLOT_NONE;
    pthread_mutex_unlock(&jobs->lock);
}

/* ---- the long job ---- */

static bool is_left(const struct jobs *jobs, uint32_t tensor)
{
    const struct model *model = jobs->session->model;

    return !session_known(jobs->session, tensor) && !jobs->answers[tensor] &&
           tensor_readable(model, &model->tensors[tensor], NULL);
}

void jobs_want_all(struct jobs *jobs, enum jobs_voice voice)
{
    const struct model *model = jobs->session->model;
    uint32_t *order, n = 0;
    uint64_t total = 0;

    if (jobs->long_on) {
        pthread_mutex_lock(&jobs->lock);
        jobs->quiet &= voice == JOBS_QUIET;
        pthread_mutex_unlock(&jobs->lock);
        return;
    }
    order = calloc((size_t)model->n_tensors + 1, sizeof *order);
    if (!order)
        return;
    for (uint32_t i = 0; i < model->n_tensors; i++) {
        if (!is_left(jobs, i))
            continue;
        order[n++] = i;
        total += tensor_bytes(&model->tensors[i]);
    }
    session_file_order(jobs->session, order, n);
    pthread_mutex_lock(&jobs->lock);
    free(jobs->order);
    jobs->order = order;
    jobs->n_order = n;
    jobs->at_order = 0;
    jobs->long_on = n > 0;
    jobs->quiet = voice == JOBS_QUIET;
    jobs->long_began_ns = jobs->long_notified_ns = clock_ns();
    work_again(&jobs->long_work);
    atomic_store(&jobs->long_work.total, total);
    jobs_start(jobs);
    jobs->long_on &= jobs->n_workers > 0;
    pthread_mutex_unlock(&jobs->lock);
}

void jobs_forget(struct jobs *jobs)
{
    jobs_stop(jobs);
    for (uint32_t i = 0; i < jobs->session->model->n_tensors; i++) {
        if (jobs->state[i] != ANSWERED)
            continue; /* will use the new values, or was cancelled */
        free(jobs->answers[i]);
        jobs->answers[i] = NULL;
        jobs->state[i] = NOT_ASKED;
    }
    pthread_mutex_lock(&jobs->lock);
    for (int i = 0; i < JOBS_SLOTS; i++)
        if (jobs->slots[i].state == SLOT_DONE)
            jobs->slots[i].state = SLOT_NONE;
    pthread_mutex_unlock(&jobs->lock);
}

bool jobs_stop(struct jobs *jobs)
{
    bool any;

    pthread_mutex_lock(&jobs->lock);
    any = jobs->long_on || jobs->n_wishes > 0;
    for (uint32_t i = 0; i < jobs->n_workers; i++)
        any |= jobs->workers[i].busy;
    pthread_mutex_unlock(&jobs->lock);
    jobs_drop(jobs);
    pthread_mutex_lock(&jobs->lock);
    jobs->at_order = jobs->n_order;
    jobs->long_on = false;
    atomic_store(&jobs->long_work.cancel, 1);
    for (uint32_t i = 0; i < jobs->n_workers; i++)
        if (jobs->workers[i].busy)
            atomic_store(&jobs->workers[i].work.cancel, 1);
    pthread_mutex_unlock(&jobs->lock);
    return any;
}

bool jobs_progress(struct jobs *jobs, uint64_t *ret_done, uint64_t *ret_total,
                   uint64_t *ret_began_ns)
{
    if (!jobs->long_on || jobs->quiet)
        return false;
    *ret_done = atomic_load(&jobs->long_work.done);
    *ret_total = atomic_load(&jobs->long_work.total);
    *ret_began_ns = jobs->long_began_ns;
    return true;
}

bool jobs_measuring(const struct jobs *jobs)
{
    return jobs->long_on;
}

/* ---- results ---- */

/* Stores an answer, and takes ownership of it. */
static void keep(struct jobs *jobs, struct answer *answer)
{
    uint32_t tensor = answer->tensor;
    bool learnt = !answer->cancelled && answer->numbers.stats && answer->why[0] == 0;

    if (learnt)
        session_learn(jobs->session, tensor, &answer->stats, NULL);
    if (!answer->brief)
        jobs->state[tensor] = answer->cancelled ? NOT_ASKED : ANSWERED;
    /* The session has the long job's statistics. The rest may be requested later. */
    if (answer->cancelled || jobs->answers[tensor] || (answer->brief && learnt)) {
        free(answer);
        return;
    }
    jobs->answers[tensor] = answer;
    jobs->state[tensor] = ANSWERED;
}

static void drain(struct jobs *jobs)
{
    char byte;

    pthread_mutex_lock(&jobs->lock);
    if (jobs->notified && read(jobs->read_fd, &byte, 1) == 1)
        jobs->notified = false;
    pthread_mutex_unlock(&jobs->lock);
}

/* Takes finished results. True: there is something new. */
static bool take(struct jobs *jobs)
{
    struct answer *done;
    bool any;

    drain(jobs); /* first: later notifications are for the next poll */
    any = errands_run(jobs, POLL_NS);
    pthread_mutex_lock(&jobs->lock);
    done = jobs->done;
    jobs->done = NULL;
    if (jobs->n_brief >= JOBS_BRIEF)
        pthread_cond_broadcast(&jobs->more); /* the long job waits for this */
    jobs->n_brief = 0;
    any |= jobs->slot_new;
    jobs->slot_new = false;
    if (jobs->long_on && jobs->at_order == jobs->n_order) {
        bool under_way = false;

        for (uint32_t i = 0; i < jobs->n_workers; i++)
            under_way |= jobs->workers[i].with_long;
        jobs->long_on = under_way;
        any |= !under_way;
    }
    pthread_mutex_unlock(&jobs->lock);
    while (done) {
        struct answer *next = done->next;

        keep(jobs, done);
        done = next;
        any = true;
    }
    return any;
}

bool jobs_poll(struct jobs *jobs)
{
    bool any = take(jobs);

    any |= jobs->unseen;
    jobs->unseen = false;
    return any;
}

bool jobs_wait_more(struct jobs *jobs, uint64_t end_ns)
{
    struct pollfd fd = {.fd = jobs->read_fd, .events = POLLIN};
    uint64_t now = clock_ns();

    if (now >= end_ns || poll(&fd, 1, (int)((end_ns - now) / 1000000u) + 1) <= 0)
        return false;
    jobs->unseen |= take(jobs);
    return true;
}

void jobs_waited(struct jobs *jobs)
{
    if (!jobs->unseen)
        return;
    pthread_mutex_lock(&jobs->lock);
    jobs_notify(jobs);
    pthread_mutex_unlock(&jobs->lock);
}

void jobs_wait(struct jobs *jobs, uint32_t tensor, unsigned ms)
{
    uint64_t end = clock_ns() + (uint64_t)ms * 1000000u;

    while (jobs->state[tensor] == ASKED && jobs_wait_more(jobs, end))
        ;
    jobs_waited(jobs);
}

int jobs_fd(const struct jobs *jobs)
{
    return jobs->read_fd;
}

const struct numbers *jobs_numbers(struct jobs *jobs, uint32_t tensor, bool *ret_busy,
                                   const char **ret_why)
{
    const struct answer *answer = jobs->answers[tensor];
    const struct stats *known = session_known(jobs->session, tensor);

    *ret_busy = jobs->state[tensor] == ASKED;
    *ret_why = answer && answer->why[0] ? answer->why : NULL;
    if (answer && !answer->why[0])
        return &answer->numbers;
    if (!known)
        return NULL;
    jobs->known = (struct numbers){.stats = known};
    return &jobs->known;
}
