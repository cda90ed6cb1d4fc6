/* The one picture of a tensor that a panel shows. */
#include <string.h>

#include "base/base.h"
#include "session/jobs_in.h"

#define PICTURE_MEMORY (64 * MIB)

bool picture_take(struct worker *worker, struct picture *ret_picture)
{
    struct picture *picture = &worker->jobs->picture;

    if (picture->state != PICTURE_WANTED)
        return false;
    picture->state = PICTURE_BEGUN;
    work_init(&worker->work);
    *ret_picture = (struct picture){
        .tensor = picture->tensor, .wanted = picture->wanted, .err = {0}};
    return true;
}

void picture_make(struct worker *worker, struct picture *picture)
{
    const struct model *model = &worker->lent;

    arena_init(&picture->arena, PICTURE_MEMORY);
    blocks_measure(model, &model->tensors[picture->tensor], &picture->wanted,
                   &picture->arena, &worker->work, &picture->blocks, &picture->err);
}

static bool is_same(const struct picture *a, const struct picture *b)
{
    return a->tensor == b->tensor &&
           memcmp(&a->wanted, &b->wanted, sizeof a->wanted) == 0;
}

void picture_give(struct jobs *jobs, struct picture *picture)
{
    struct picture *shown = &jobs->picture;

    /* Somebody may want another one by now; a stopped one can be asked for again. */
    if (shown->state != PICTURE_BEGUN || !is_same(shown, picture) ||
        picture->err.code == ERR_CANCELLED) {
        arena_release(&picture->arena);
        if (shown->state == PICTURE_BEGUN && is_same(shown, picture))
            shown->state = PICTURE_NONE;
        return;
    }
    *shown = *picture;
    shown->state = PICTURE_DONE;
    jobs->picture_new = true;
    jobs_tell(jobs);
}

/* The lock is held. */
static void want(struct jobs *jobs, const struct picture *picture)
{
    for (uint32_t i = 0; i < jobs->n_workers; i++)
        if (jobs->workers[i].with_picture)
            atomic_store(&jobs->workers[i].work.cancel, 1);
    arena_release(&jobs->picture.arena);
    jobs->picture = *picture;
    jobs->picture.state = PICTURE_WANTED;
    jobs_start(jobs);
    if (jobs->n_workers == 0) {
        jobs->picture.state = PICTURE_DONE;
        err_set(&jobs->picture.err, ERR_LIMIT, "no thread could be started to read it");
    }
}

const struct blocks *jobs_blocks(struct jobs *jobs, uint32_t tensor,
                                 const struct blocks_wanted *wanted, bool *ret_busy,
                                 const char **ret_why)
{
    struct picture picture = {.tensor = tensor, .wanted = *wanted, .err = {0}};
    enum picture_state state;

    pthread_mutex_lock(&jobs->lock);
    if (jobs->picture.state == PICTURE_NONE || !is_same(&jobs->picture, &picture))
        want(jobs, &picture);
    state = jobs->picture.state;
    pthread_mutex_unlock(&jobs->lock);
    /* What is there stays until it is asked for another: no thread looks at it. */
    *ret_busy = state != PICTURE_DONE;
    *ret_why = !*ret_busy && jobs->picture.err.code ? jobs->picture.err.text : NULL;
    return *ret_busy || *ret_why ? NULL : &jobs->picture.blocks;
}
