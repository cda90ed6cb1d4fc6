#include "web/owner.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/base.h"
#include "base/clock.h"

#define WAIT_NS      2000000000u /* for an owner that answered lately */
#define SHORT_NS     250000000u  /* for one that did not */
#define LATELY_NS    10000000000u
#define COPY_LIMIT   (256 * MIB) /* of one storage */
#define COPIES_LIMIT (512 * MIB)
#define COPIES       16
#define FORGETS      8

enum wish_kind { WISH_BYTES, WISH_ATTRIBUTES, WISH_CODE };
enum wish_state { WISH_WAITS, WISH_TAKEN, WISH_DONE };

/* One question, on the stack of who asks. */
struct wish {
    struct wish *next;
    enum wish_kind kind;
    enum wish_state state;
    struct source *real;
    const struct source *of; /* who asks */
    uint32_t number;         /* storage or class */
    uint64_t bytes;
    const struct attribute_of *what;
    struct arena *arena;
    struct attribute **attributes;
    uint32_t *n_attributes;
    struct class_code *code;
    int status;
    struct err err;
};

/* Of a storage, for one source. */
struct copy {
    const struct source *of;
    uint32_t storage;
    bool pinned; /* a question reads it */
    char *at;    /* NULL: free */
    uint64_t bytes, taken, used, step;
};

struct owner {
    pthread_mutex_t lock;
    pthread_cond_t answered;
    struct wish *first;
    struct copy copies[COPIES];
    struct source *forgets[FORGETS]; /* whose handles are not needed any more */
    unsigned n_forgets;
    uint64_t clock;      /* counts questions and copies */
    uint64_t offered_ns; /* when the owner last offered to answer; 0: never */
    uint64_t step, steps;
    bool answering, ended;
    pthread_t answerer;
};

struct owner_source {
    struct source source;
    struct owner *owner;
    const struct model *model;
    struct source *real;
    uint64_t wanted; /* copies that are older are too old */
    struct owner_age age;
};

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

static struct copy *find_copy(struct owner *owner, const struct source *of,
                              uint32_t storage)
{
    for (size_t i = 0; i < COPIES; i++)
        if (owner->copies[i].at && owner->copies[i].of == of &&
            owner->copies[i].storage == storage)
            return &owner->copies[i];
    return NULL;
}

/* The one that was used longest ago and that nobody reads. */
static struct copy *oldest_copy(struct owner *owner)
{
    struct copy *oldest = NULL;

    for (size_t i = 0; i < COPIES; i++) {
        struct copy *copy = &owner->copies[i];

        if (copy->at && !copy->pinned && (!oldest || copy->used < oldest->used))
            oldest = copy;
    }
    return oldest;
}

static void drop_copy(struct copy *copy)
{
    free(copy->at);
    *copy = (struct copy){0};
}

/* A free entry with room for so many bytes; NULL: all are being read. */
static struct copy *make_room(struct owner *owner, uint64_t bytes)
{
    struct copy *free_one = NULL, *oldest;
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
        drop_copy(oldest);
    }
}

/* ---- the owner ---- */

/* Copies a storage. The lock is not held: this may run Python. */
static void copy_bytes(struct owner *owner, struct wish *wish)
{
    struct copy *copy;
    char *to = malloc(wish->bytes + 1);

    if (!to) {
        wish->status = err_set(&wish->err, ERR_LIMIT, "no memory is left for a copy");
        return;
    }
    wish->status =
        source_bytes(wish->real, wish->number, 0, to, wish->bytes, &wish->err);
    pthread_mutex_lock(&owner->lock);
    copy = wish->status == 0 ? find_copy(owner, wish->of, wish->number) : NULL;
    if (copy)
        drop_copy(copy);
    copy = wish->status == 0 ? make_room(owner, wish->bytes) : NULL;
    if (copy) {
        owner->clock++;
        *copy = (struct copy){.of = wish->of,
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

static void answer_one(struct owner *owner, struct wish *wish)
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

/* The lock is held, except while Python may run. */
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
    struct wish *wish;
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

/* ---- who asks ---- */

/* Nobody need be asked: any thread may read it. */
static bool is_free(const struct source *real)
{
    return !real || real->any_thread;
}

static struct timespec after(uint64_t ns)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    ns += (uint64_t)until.tv_nsec;
    until.tv_sec += (time_t)(ns / 1000000000u);
    until.tv_nsec = (long)(ns % 1000000000u);
    return until;
}

static void take_back(struct owner *owner, const struct wish *wish)
{
    struct wish **at = &owner->first;

    while (*at && *at != wish)
        at = &(*at)->next;
    if (*at)
        *at = wish->next;
}

/* Waits for the owner. 1: it did not answer. */
static int ask(struct owner *owner, struct wish *wish)
{
    struct timespec until;
    struct wish **last;
    bool lately;

    if (is_free(wish->real)) {
        answer_one(owner, wish);
        return wish->status;
    }
    pthread_mutex_lock(&owner->lock);
    lately = owner->offered_ns && clock_ns() - owner->offered_ns < LATELY_NS;
    until = after(lately ? WAIT_NS : SHORT_NS);
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

static int is_busy(struct err *err)
{
    return err_set(err, ERR_LIMIT,
                   "Python is busy: it answers this at the end of a training step, or "
                   "when pump() or wait() of the server is called; ask again");
}

/* Copies n bytes of the copy, if there is one that is new enough. */
static bool read_copy(struct owner_source *self, uint32_t storage, uint64_t at,
                      void *to, size_t n)
{
    struct owner *owner = self->owner;
    uint64_t least = self->age.old ? 0 : self->wanted;
    struct copy *copy;

    pthread_mutex_lock(&owner->lock);
    copy = find_copy(owner, &self->source, storage);
    if (copy && (copy->taken < least || at > copy->bytes || n > copy->bytes - at))
        copy = NULL;
    if (copy) {
        copy->used = ++owner->clock;
        copy->pinned = true;
        self->age.step = copy->step;
    }
    pthread_mutex_unlock(&owner->lock);
    if (copy)
        memcpy(to, copy->at + at, n);
    return copy != NULL;
}

static int owner_bytes(struct source *source, uint32_t storage, uint64_t at, void *to,
                       size_t n, struct err *err)
{
    struct owner_source *self = (struct owner_source *)source;
    struct wish wish = {
        .kind = WISH_BYTES, .real = self->real, .of = source, .number = storage};
    int status;

    if (is_free(self->real))
        return source_bytes(self->real, storage, at, to, n, err);
    self->age.used = true;
    if (read_copy(self, storage, at, to, n))
        return 0;
    wish.bytes = self->model->storages[storage].bytes;
    if (wish.bytes > COPY_LIMIT)
        return err_set(err, ERR_LIMIT,
                       "a live tensor of over 256 MB is not copied for a page; "
                       "torchoscope.explore() measures it");
    status = ask(self->owner, &wish);
    if (status < 0)
        return err_copy(err, &wish.err);
    self->age.old = self->age.old || status > 0;
    return read_copy(self, storage, at, to, n) ? 0 : is_busy(err);
}

static int owner_attributes(struct source *source, const struct attribute_of *what,
                            struct arena *arena, struct attribute **ret_attributes,
                            uint32_t *ret_n, struct err *err)
{
    struct owner_source *self = (struct owner_source *)source;
    struct wish wish = {.kind = WISH_ATTRIBUTES,
                        .real = self->real,
                        .what = what,
                        .arena = arena,
                        .attributes = ret_attributes,
                        .n_attributes = ret_n};
    int status = ask(self->owner, &wish);

    self->age.used = !is_free(self->real);
    if (status < 0)
        return err_copy(err, &wish.err);
    return status > 0 ? is_busy(err) : 0;
}

static int owner_code(struct source *source, uint32_t class_id, struct arena *arena,
                      struct class_code *ret_code, struct err *err)
{
    struct owner_source *self = (struct owner_source *)source;
    struct wish wish = {.kind = WISH_CODE,
                        .real = self->real,
                        .number = class_id,
                        .arena = arena,
                        .code = ret_code};
    int status = ask(self->owner, &wish);

    if (status < 0)
        return err_copy(err, &wish.err);
    return status > 0 ? is_busy(err) : 0;
}

/* The owner does so when it answers next. */
static void owner_forget(struct source *source)
{
    struct owner_source *self = (struct owner_source *)source;
    struct owner *owner = self->owner;
    unsigned i = 0;

    pthread_mutex_lock(&owner->lock);
    while (i < owner->n_forgets && owner->forgets[i] != self->real)
        i++;
    if (i == owner->n_forgets && i < FORGETS)
        owner->forgets[owner->n_forgets++] = self->real;
    pthread_mutex_unlock(&owner->lock);
}

static void owner_close(struct source *source)
{
    struct owner_source *self = (struct owner_source *)source;
    struct owner *owner = self->owner;

    pthread_mutex_lock(&owner->lock);
    for (size_t i = 0; i < COPIES; i++)
        if (owner->copies[i].of == source)
            drop_copy(&owner->copies[i]);
    pthread_mutex_unlock(&owner->lock);
    free(self);
}

struct source *owner_source_new(struct owner *owner, const struct model *model,
                                struct source *real)
{
    static const struct source_ops ops = {.bytes = owner_bytes,
                                          .attributes = owner_attributes,
                                          .forget = owner_forget,
                                          .code = owner_code,
                                          .close = owner_close};
    static const struct source_ops no_bytes = {.attributes = owner_attributes,
                                               .forget = owner_forget,
                                               .code = owner_code,
                                               .close = owner_close};
    static const struct source_ops code_only = {.code = owner_code,
                                                .close = owner_close};
    struct owner_source *self = calloc(1, sizeof *self);

    if (!self)
        return NULL;
    self->source.ops = source_has_bytes(real)        ? &ops
                       : source_has_attributes(real) ? &no_bytes
                                                     : &code_only;
    self->source.any_thread = true;
    self->owner = owner;
    self->model = model;
    self->real = real;
    return &self->source;
}

void owner_source_begin(struct source *source)
{
    struct owner_source *self = (struct owner_source *)source;

    pthread_mutex_lock(&self->owner->lock);
    self->wanted = ++self->owner->clock;
    self->age = (struct owner_age){.step = OWNER_NO_STEP};
    pthread_mutex_unlock(&self->owner->lock);
}

void owner_source_end(struct source *source)
{
    struct owner_source *self = (struct owner_source *)source;

    pthread_mutex_lock(&self->owner->lock);
    for (size_t i = 0; i < COPIES; i++)
        if (self->owner->copies[i].of == source)
            self->owner->copies[i].pinned = false;
    pthread_mutex_unlock(&self->owner->lock);
}

struct owner_age owner_source_age(const struct source *source)
{
    return ((const struct owner_source *)source)->age;
}
