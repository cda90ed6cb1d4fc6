#include <signal.h>

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

/* The next job; NULL: the server ends. */
static struct http_job *take(struct web_http *http)
{
    struct http_job *job;

    pthread_mutex_lock(&http->lock);
    while (!http->first && !http->ending)
        pthread_cond_wait(&http->more, &http->lock);
    job = http->first;
    if (job)
        http->first = job->next;
    pthread_mutex_unlock(&http->lock);
    return job;
}

static void *answer_jobs(void *user)
{
    struct web_http *http = user;
    struct http_job *job;

    for (job = take(http); job; job = take(http)) {
        http->host.answer(http->host.user, &job->request, &job->answer);
        /* From here on the job may vanish with its connection. */
        job->state = JOB_DONE;
        MHD_resume_connection(job->connection);
    }
    return NULL;
}

int pool_start(struct web_http *http)
{
    while (http->n_threads < HTTP_THREADS &&
           http_thread(&http->threads[http->n_threads], answer_jobs, http))
        http->n_threads++;
    return http->n_threads > 0 ? 0 : -1;
}

bool pool_add(struct web_http *http, struct http_job *job)
{
    bool takes;

    pthread_mutex_lock(&http->lock);
    takes = !http->ending;
    if (!takes)
        goto out;
    job->state = JOB_WAITS;
    job->next = NULL;
    MHD_suspend_connection(job->connection);
    if (http->first)
        http->last->next = job;
    else
        http->first = job;
    http->last = job;
    pthread_cond_signal(&http->more);

out:
    pthread_mutex_unlock(&http->lock);
    return takes;
}

void pool_stop(struct web_http *http)
{
    pthread_mutex_lock(&http->lock);
    http->ending = true;
    pthread_cond_broadcast(&http->more);
    pthread_cond_broadcast(&http->ended);
    pthread_mutex_unlock(&http->lock);
    for (unsigned i = 0; i < http->n_threads; i++)
        pthread_join(http->threads[i], NULL);
}
