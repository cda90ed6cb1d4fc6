#include <signal.h>
#include <stdlib.h>

#include "web/http/http_in.h"

bool http_thread(pthread_t *thread, void *(*run)(void *), void *user)
{
    sigset_t all, before;
    int status;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    status = pthread_create(thread, NULL, run, user);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status == 0;
}

/* Is another request for the same file being answered? */
static bool is_taken(const struct web_http *http, const struct http_job *job)
{
    for (unsigned i = 0; job->lane && i < HTTP_THREADS; i++)
        if (http->running[i] && http->running[i]->lane == job->lane)
            return true;
    return false;
}

/* Removes the oldest job that may run from the queue; NULL: none. Thread 0 only runs
 * quick jobs. */
static struct http_job *next_job(struct web_http *http, unsigned thread)
{
    struct http_job **at = &http->first, *job;

    while (*at && (is_taken(http, *at) || (thread == 0 && (*at)->lane)))
        at = &(*at)->next;
    job = *at;
    if (job)
        *at = job->next;
    return job;
}

/* Waits for the next job; NULL: the server is stopping. */
static struct http_job *take(struct web_http *http, unsigned thread)
{
    struct http_job *job;

    pthread_mutex_lock(&http->lock);
    while (!(job = next_job(http, thread)) && !(http->ending && !http->first))
        pthread_cond_wait(&http->more, &http->lock);
    http->running[thread] = job;
    pthread_mutex_unlock(&http->lock);
    return job;
}

struct pool_thread {
    struct web_http *http;
    unsigned number;
};

/* The job may vanish with its connection as soon as that is resumed. */
static void finish(struct web_http *http, unsigned thread, struct http_job *job)
{
    clients_wait(http, job->connection, NULL);
    pthread_mutex_lock(&http->lock);
    http->running[thread] = NULL;
    if (job->lane)
        pthread_cond_broadcast(&http->more); /* for the next job of its file */
    job->state = JOB_DONE;
    MHD_resume_connection(job->connection);
    pthread_mutex_unlock(&http->lock);
}

static void *answer_jobs(void *user)
{
    struct pool_thread self = *(struct pool_thread *)user;
    struct web_http *http = self.http;
    struct http_job *job;

    free(user);
    while ((job = take(http, self.number))) {
        http->host.answer(http->host.user, &job->request, &job->answer);
        finish(http, self.number, job);
    }
    return NULL;
}

static bool start_thread(struct web_http *http, unsigned number)
{
    struct pool_thread *self = malloc(sizeof *self);

    if (!self)
        return false;
    *self = (struct pool_thread){http, number};
    if (http_thread(&http->threads[number], answer_jobs, self))
        return true;
    free(self);
    return false;
}

int pool_start(struct web_http *http)
{
    while (http->n_threads < HTTP_THREADS && start_thread(http, http->n_threads))
        http->n_threads++;
    return http->n_threads > 1 ? 0 : -1;
}

bool pool_add(struct web_http *http, struct http_job *job)
{
    struct http_job **last;
    bool takes;

    job->request.work = &job->work;
    job->lane = http->host.lane(http->host.user, &job->request);
    job->since = clients_now();
    pthread_mutex_lock(&http->lock);
    takes = !http->ending;
    if (takes) {
        job->state = JOB_WAITS;
        MHD_suspend_connection(job->connection);
        for (last = &http->first; *last; last = &(*last)->next)
            ;
        *last = job;
        pthread_cond_broadcast(&http->more);
    }
    pthread_mutex_unlock(&http->lock);
    return takes;
}

void pool_look(struct web_http *http, time_t now)
{
    for (struct http_job *job = http->first; job; job = job->next)
        if (job->lane && now - job->since > LATE_SECONDS) {
            job->lane = 0;
            job->request.late = true;
            pthread_cond_broadcast(&http->more);
        }
}

void pool_leave(struct web_http *http, struct http_job *job)
{
    struct http_job *at = http->first;

    atomic_store(&job->work.cancel, 1);
    while (at && at != job)
        at = at->next;
    if (!at || !job->lane)
        return;
    job->lane = 0; /* answer at once: the client left */
    pthread_cond_broadcast(&http->more);
}

void pool_stop(struct web_http *http)
{
    pthread_mutex_lock(&http->lock);
    http->ending = true;
    for (unsigned i = 0; i < HTTP_THREADS; i++)
        if (http->running[i])
            atomic_store(&http->running[i]->work.cancel, 1);
    for (struct http_job *job = http->first; job; job = job->next)
        atomic_store(&job->work.cancel, 1);
    pthread_cond_broadcast(&http->more);
    pthread_cond_broadcast(&http->ended);
    pthread_mutex_unlock(&http->lock);
    for (unsigned i = 0; i < http->n_threads; i++)
        pthread_join(http->threads[i], NULL);
}
