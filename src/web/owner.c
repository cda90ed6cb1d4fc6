#include "web/owner_in.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/base.h"
#include "base/clock.h"

#define WAIT_MS      2000 /* for an owner that answered recently */
#define SHORT_MS     250  /* for other owners */
#define LATELY_NS    10000000000u
#define COPIES_LIMIT (512 * MIB)

struct owner *owner_new(void)
{
    struct owner *owner = calloc(1, sizeof *owner);
    pthread_condattr_t attr;

    if (!owner)
        return NULL;
    owner->step = OWNER_NO_STEP;
    pthread_mutex_init(&owner->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&owner->answered, &attr);
    pthread_condattr_destroy(&attr);
    return owner;
}

void owner_free(struct owner *owner)
{
    if (!owner)
        return;
    for (size_t i = 0; i < COPIES; i++)
        free(owner->copies[i].at);
    pthread_cond_destroy(&owner->answered);
    pthread_mutex_destroy(&owner->lock);
    free(owner);
}

/* ---- copies; the lock is held ---- */

struct owner_copy *owner_copy(struct owner *owner, const struct source *of,
                              uint32_t storage)
{
    for (size_t i = 0; i < COPIES; i++)
        if (owner->copies[i].at && owner->copies[i].of == of &&
            owner->copies[i].storage == storage)
            return &owner->copies[i];
    return NULL;
}

/* The least recently used copy that is not being read. */
static struct owner_copy *oldest_copy(struct owner *owner)
{
    struct owner_copy *oldest = NULL;

    for (size_t i = 0; i < COPIES; i++) {
        struct owner_copy *copy = &owner->copies[i];

        if (copy->at && !copy->pinned && (!oldest || copy->used < oldest->used))
            oldest = copy;
    }
    return oldest;
}

void owner_drop_copy(struct owner_copy *copy)
{
    free(copy->at);
    *copy = (struct owner_copy){0};
}

/* A free entry with room for `bytes`; NULL: all are being read. */
static struct owner_copy *make_room(struct owner *owner, uint64_t bytes)
{
    struct owner_copy *free_one = NULL, *oldest;
    uint64_t sum = bytes;

    for (size_t i = 0; i < COPIES; i++)
        sum += owner->copies[i].bytes;
    for (;;) {
        for (size_t i = 0; i < COPIES && !free_one; i++)
            if (!owner->copies[i].at)
                free_one = &owner->copies[i];
        oldest = oldest_copy(owner);
        if (free_one && (sum <= COPIES_LIMIT || !oldest))
            return free_one;
        if (!oldest)
            return NULL;
        sum -= oldest->bytes;
        owner_drop_copy(oldest);
    }
}

/* ---- the owner ---- */

/* Copies a storage. The lock is not held: this may run Python. */
static void copy_bytes(struct owner *owner, struct owner_wish *wish)
{
    struct owner_copy *copy;
    char *to = malloc(wish->bytes + 1);

    if (!to) {
        wish->status = err_set(&wish->err, ERR_LIMIT, "no memory is left for a copy");
        return;
    }
    wish->status =
        source_bytes(wish->real, wish->number, 0, to, wish->bytes, &wish->err);
    pthread_mutex_lock(&owner->lock);
    copy = wish->status == 0 ? owner_copy(owner, wish->of, wish->number) : NULL;
    if (copy)
        owner_drop_copy(copy);
    copy = wish->status == 0 ? make_room(owner, wish->bytes) : NULL;
    if (copy) {
        owner->clock++;
        *copy = (struct owner_copy){.of = wish->of,
                                    .storage = wish->number,
                                    .at = to,
                                    .bytes = wish->bytes,
                                    .taken = owner->clock,
                                    .used = owner->clock,
                                    .step = owner->step};
        to = NULL;
    } else if (wish->status == 0) {
        wish->status = err_set(&wish->err, ERR_LIMIT, "too many tensors are read now");
    }
    pthread_mutex_unlock(&owner->lock);
    free(to);
}

static void answer_one(struct owner *owner, struct owner_wish *wish)
{
    switch (wish->kind) {
    case WISH_BYTES:
        copy_bytes(owner, wish);
        break;
    case WISH_ATTRIBUTES:
        wish->status =
            source_attributes(wish->real, wish->what, wish->arena, wish->attributes,
                              wish->n_attributes, &wish->err);
        break;
    case WISH_CODE:
        wish->status =
            source_code(wish->real, wish->number, wish->arena, wish->code, &wish->err);
        break;
    }
}

/* Call it with the lock held; releases it while Python may run. */
static void forget_handles(struct owner *owner)
{
    while (owner->n_forgets > 0) {
        struct source *real = owner->forgets[--owner->n_forgets];

        pthread_mutex_unlock(&owner->lock);
        source_forget(real);
        pthread_mutex_lock(&owner->lock);
    }
}

unsigned owner_answer(struct owner *owner, uint64_t step)
{
    struct owner_wish *wish;
    unsigned n = 0;

    pthread_mutex_lock(&owner->lock);
    owner->offered_ns = clock_ns();
    if (step != OWNER_NO_STEP) {
        owner->step = step;
        owner->steps++;
    }
    if (owner->answering || owner->ended) {
        pthread_mutex_unlock(&owner->lock);
        return 0;
    }
    owner->answering = true;
    owner->answerer = pthread_self();
    forget_handles(owner);
    while ((wish = owner->first)) {
        owner->first = wish->next;
        wish->state = WISH_TAKEN;
        pthread_mutex_unlock(&owner->lock);
        answer_one(owner, wish);
        n++;
        pthread_mutex_lock(&owner->lock);
        wish->state = WISH_DONE;
        pthread_cond_broadcast(&owner->answered);
    }
    owner->answering = false;
    pthread_mutex_unlock(&owner->lock);
    return n;
}

uint64_t owner_steps(struct owner *owner)
{
    uint64_t steps;

    pthread_mutex_lock(&owner->lock);
    steps = owner->steps;
    pthread_mutex_unlock(&owner->lock);
    return steps;
}

bool owner_answers_here(struct owner *owner)
{
    bool here;

    pthread_mutex_lock(&owner->lock);
    here = owner->answering && pthread_equal(owner->answerer, pthread_self());
    pthread_mutex_unlock(&owner->lock);
    return here;
}

void owner_end(struct owner *owner)
{
    pthread_mutex_lock(&owner->lock);
    owner->ended = true;
    pthread_cond_broadcast(&owner->answered);
    pthread_mutex_unlock(&owner->lock);
}

/* ---- requests ---- */

/* No request needed: any thread may read it. */
bool owner_is_free(const struct source *real)
{
    return !real || real->any_thread;
}

static void take_back(struct owner *owner, const struct owner_wish *wish)
{
    struct owner_wish **at = &owner->first;

    while (*at && *at != wish)
        at = &(*at)->next;
    if (*at)
        *at = wish->next;
}

/* Waits for the owner. 1: it did not answer. */
int owner_ask(struct owner *owner, struct owner_wish *wish)
{
    struct timespec until;
    struct owner_wish **last;
    bool lately;

    if (owner_is_free(wish->real)) {
        answer_one(owner, wish);
        return wish->status;
    }
    pthread_mutex_lock(&owner->lock);
    lately = owner->offered_ns && clock_ns() - owner->offered_ns < LATELY_NS;
    until = clock_later(CLOCK_MONOTONIC, lately ? WAIT_MS : SHORT_MS);
    for (last = &owner->first; *last; last = &(*last)->next)
        ;
    *last = wish;
    while (wish->state == WISH_TAKEN || (wish->state == WISH_WAITS && !owner->ended)) {
        if (wish->state == WISH_TAKEN)
            pthread_cond_wait(&owner->answered, &owner->lock);
        else if (pthread_cond_timedwait(&owner->answered, &owner->lock, &until) ==
                     ETIMEDOUT &&
                 wish->state == WISH_WAITS)
            break;
    }
    if (wish->state == WISH_WAITS)
        take_back(owner, wish);
    pthread_mutex_unlock(&owner->lock);
    return wish->state == WISH_DONE ? wish->status : 1;
}
