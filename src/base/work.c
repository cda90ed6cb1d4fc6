#include "base/work.h"

#include <stddef.h>

#include "base/clock.h"

#define REPORT_NS 50000000u

void work_init(struct work *work)
{
    atomic_init(&work->cancel, 0);
    atomic_init(&work->done, 0);
    atomic_init(&work->total, 0);
    work->progress = NULL;
    work->user = NULL;
    atomic_init(&work->reported_ns, 0);
}

void work_again(struct work *work)
{
    atomic_store(&work->cancel, 0);
    atomic_store(&work->done, 0);
    atomic_store(&work->total, 0);
    atomic_store(&work->reported_ns, 0);
}

/* Is progress due? Only one of several concurrent callers gets true. The first call
 * only starts the interval: work shorter than 50 ms shows no progress. */
static bool is_due(struct work *work)
{
    uint64_t last = atomic_load(&work->reported_ns);
    uint64_t now = clock_ns();

    if (last != 0 && now - last < REPORT_NS)
        return false;
    return atomic_compare_exchange_strong(&work->reported_ns, &last, now) && last != 0;
}

bool work_step(struct work *work, uint64_t more)
{
    if (!work)
        return true;
    atomic_fetch_add(&work->done, more);
    /* Without a callback, do not read the clock: tests count its reads. */
    if (work->progress && is_due(work))
        work->progress(work);
    return !work_cancelled(work);
}

bool work_cancelled(struct work *work)
{
    return work && atomic_load(&work->cancel) != 0;
}

static _Thread_local struct work *current;

struct work *work_enter(struct work *work)
{
    struct work *previous = current;

    current = work;
    return previous;
}

void work_leave(struct work *previous)
{
    current = previous;
}

bool work_wait(void)
{
    return work_step(current, 0);
}
