#include "ext/torch/team.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

typedef void parallel_fn(void (*function)(void *), void *data, unsigned threads,
                         unsigned flags);
typedef int threads_fn(void);

static parallel_fn *parallel;
static threads_fn *most_threads;
static atomic_bool is_child; /* forked: the team's threads do not exist here */

static void remember_fork(void)
{
    atomic_store(&is_child, true);
}

/* Stores the address from dlsym(), an object pointer, as a function pointer. */
static void find(const char *name, void *to)
{
    void *address = dlsym(RTLD_DEFAULT, name);

    memcpy(to, &address, sizeof address);
}

static void find_team(void)
{
    find("GOMP_parallel", &parallel);
    find("omp_get_max_threads", &most_threads);
    pthread_atfork(NULL, NULL, remember_fork);
}

size_t team_size(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int threads;

    pthread_once(&once, find_team);
    if (!parallel || !most_threads || atomic_load(&is_child))
        return 1;
    threads = most_threads();
    return threads > 1 ? (size_t)threads : 1;
}

struct task {
    void (*work)(void *user, size_t i);
    void *user;
    size_t n;
    atomic_size_t next;
};

/* Each member takes the next item, so a late member delays no other. */
static void take_part(void *data)
{
    struct task *task = data;
    size_t i;

    while ((i = atomic_fetch_add(&task->next, 1)) < task->n)
        task->work(task->user, i);
}

enum way { TOGETHER, ALONE, WAYS };

#define LATEST 0.25 /* weight of the latest run in the moving average */
#define AGAIN  32   /* retry the slower way every 32 runs */

/* Expected time per unit of `amount` for each way; 0: unknown. Per thread, to avoid
 * locks. */
static _Thread_local double expected[WAYS];
static _Thread_local unsigned runs;

static enum way choose(void)
{
    enum way faster = expected[TOGETHER] <= expected[ALONE] ? TOGETHER : ALONE;

    for (int way = 0; way < WAYS; way++)
        if (expected[way] <= 0)
            return (enum way)way;
    return ++runs % AGAIN == 0 ? (enum way)(WAYS - 1 - faster) : faster;
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void team_run(void (*work)(void *user, size_t i), void *user, size_t n, double amount)
{
    struct task task = {.work = work, .user = user, .n = n};
    size_t threads = team_size();
    enum way way = choose();
    double took = -seconds();

    if (threads > n)
        threads = n;
    if (threads > 1 && way == TOGETHER)
        parallel(take_part, &task, (unsigned)threads, 0);
    else
        take_part(&task);
    took = (took + seconds()) / amount;
    if (threads > 1)
        expected[way] += (expected[way] > 0 ? LATEST : 1) * (took - expected[way]);
}
