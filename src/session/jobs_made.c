/* Background results other than numbers: one of each kind. */
#include "base/clock.h"
#include "session/jobs_in.h"

struct slot *slot_take(struct worker *worker)
{
    for (int i = 0; i < JOBS_SLOTS; i++) {
        struct slot *slot = &worker->jobs->slots[i];

        if (slot->state != SLOT_WANTED)
            continue;
        slot->state = SLOT_BEGUN;
        work_init(&worker->work);
        return slot;
    }
    return NULL;
}

void slot_give(struct jobs *jobs, struct slot *slot, struct made *made)
{
    struct making same = {made->make, made->question, made->size};

    /* Another one may be requested by now; a cancelled one can be requested again. */
    if (slot->state != SLOT_BEGUN || !made_answers(&slot->made, &same) ||
        made->err.code == ERR_CANCELLED) {
        if (slot->state == SLOT_BEGUN && made_answers(&slot->made, &same))
            slot->state = SLOT_NONE;
        made_release(made);
        return;
    }
    slot->made = *made;
    slot->state = SLOT_DONE;
    jobs->slot_new = true;
    jobs_notify(jobs);
}

/* The lock is held. */
static void want(struct jobs *jobs, struct slot *slot, const struct making *making)
{
    for (uint32_t i = 0; i < jobs->n_workers; i++)
        if (jobs->workers[i].with_slot == slot)
            atomic_store(&jobs->workers[i].work.cancel, 1);
    made_release(&slot->made);
    made_init(&slot->made, making);
    slot->state = SLOT_WANTED;
    jobs_start(jobs);
    if (jobs->n_workers == 0) {
        slot->state = SLOT_DONE;
        err_set(&slot->made.err, ERR_LIMIT, "no thread could be started to read it");
    }
}

/* The slot of this function, or the first free one; every function has a slot. */
static struct slot *find_slot(struct jobs *jobs, const struct making *making)
{
    int i = 0;

    while (i + 1 < JOBS_SLOTS && jobs->slots[i].made.make &&
           jobs->slots[i].made.make != making->make)
        i++;
    return &jobs->slots[i];
}

const void *jobs_made(struct jobs *jobs, const struct making *making, unsigned ms,
                      bool *ret_busy, const char **ret_why)
{
    uint64_t end = clock_ns() + (uint64_t)ms * 1000000u;
    enum slot_state state;
    struct slot *slot;

    pthread_mutex_lock(&jobs->lock);
    slot = find_slot(jobs, making);
    if (slot->state == SLOT_NONE || !made_answers(&slot->made, making))
        want(jobs, slot, making);
    state = slot->state;
    pthread_mutex_unlock(&jobs->lock);
    while (state != SLOT_DONE && jobs_wait_more(jobs, end)) {
        pthread_mutex_lock(&jobs->lock);
        state = slot->state;
        pthread_mutex_unlock(&jobs->lock);
    }
    jobs_waited(jobs);
    /* A finished result stays until the owner requests another: no thread uses it. */
    *ret_busy = state != SLOT_DONE;
    *ret_why = !*ret_busy && slot->made.err.code ? slot->made.err.text : NULL;
    return *ret_busy || *ret_why ? NULL : slot->made.at;
}
