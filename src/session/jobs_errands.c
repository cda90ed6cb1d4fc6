/* Lends a thread a source that only its owner may use: the thread requests bytes and
 * waits; the owner reads them in jobs_poll(). */
#include <time.h>

#include "session/jobs_in.h"

/* Runs on the thread. */
static int errand_bytes(struct source *source, uint32_t storage, uint64_t at, void *to,
                        size_t n, struct err *err)
{
    struct worker *worker = (struct worker *)source;
    struct jobs *jobs = worker->jobs;
    struct errand *errand = &worker->errand;
    int status = -1;

    pthread_mutex_lock(&jobs->lock);
    *errand = (struct errand){.state = ERRAND_ASKED,
                              .storage = storage,
                              .at = at,
                              .to = to,
                              .n = n,
                              .err = {0}};
    jobs_notify(jobs);
    pthread_cond_signal(&jobs->asked);
    /* Once it runs, the owner writes to `to`: wait for it even when ending. */
    while (errand->state == ERRAND_ASKED && !jobs->ending)
        pthread_cond_wait(&jobs->served, &jobs->lock);
    while (errand->state == ERRAND_RUN && errand->status > 0)
        pthread_cond_wait(&jobs->served, &jobs->lock);
    if (errand->state == ERRAND_RUN) {
        status = errand->status;
        if (status < 0 && err)
            *err = errand->err;
    } else {
        err_set(err, ERR_CANCELLED, "stopped");
    }
    errand->state = ERRAND_NONE;
    pthread_mutex_unlock(&jobs->lock);
    return status;
}

static const struct source_ops errand_ops = {.bytes = errand_bytes};

void errands_begin(struct worker *worker)
{
    worker->lent = *worker->jobs->session->model;
    if (!worker->lent.source || worker->lent.source->any_thread)
        return;
    worker->source = (struct source){.ops = &errand_ops};
    worker->lent.source = &worker->source;
}

/* The lock is held, except while bytes are read. */
static void run_one(struct jobs *jobs, struct errand *errand)
{
    int status;

    errand->state = ERRAND_RUN;
    errand->status = 1; /* running */
    pthread_mutex_unlock(&jobs->lock);
    status = source_bytes(jobs->session->model->source, errand->storage, errand->at,
                          errand->to, errand->n, &errand->err);
    pthread_mutex_lock(&jobs->lock);
    errand->status = status;
    pthread_cond_broadcast(&jobs->served);
}

static struct errand *next_errand(struct jobs *jobs, bool *ret_busy)
{
    *ret_busy = false;
    for (uint32_t i = 0; i < jobs->n_workers; i++) {
        *ret_busy |= jobs->workers[i].busy;
        if (jobs->workers[i].errand.state == ERRAND_ASKED)
            return &jobs->workers[i].errand;
    }
    return NULL;
}

/* Waits for the next errand until this time of the monotonic clock. */
static void wait_until(struct jobs *jobs, uint64_t ns)
{
    struct timespec until = {.tv_sec = (time_t)(ns / 1000000000u),
                             .tv_nsec = (long)(ns % 1000000000u)};

    pthread_cond_timedwait(&jobs->asked, &jobs->lock, &until);
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool errands_run(struct jobs *jobs, uint64_t most_ns)
{
    const struct source *source = jobs->session->model->source;
    uint64_t end = now_ns() + most_ns;
    bool busy = true, any = false;
    struct errand *errand = NULL;

    if (!source || source->any_thread)
        return false;
    pthread_mutex_lock(&jobs->lock);
    while (now_ns() < end) {
        errand = next_errand(jobs, &busy);
        if (!errand && !busy)
            break;
        if (errand)
            run_one(jobs, errand);
        else
            wait_until(jobs, end);
        any |= errand != NULL;
    }
    if (next_errand(jobs, &busy))
        jobs_notify(jobs); /* the next poll runs the rest */
    pthread_mutex_unlock(&jobs->lock);
    return any;
}
