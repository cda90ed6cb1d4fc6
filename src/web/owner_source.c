/* Sources for threads other than the owner's. */
#include <stdlib.h>
#include <string.h>

#include "web/owner_in.h"

static int is_busy(struct err *err)
{
    return err_set(err, ERR_LIMIT,
                   "Python is busy: it answers at the end of a training step, or "
                   "when pump() or wait() of the server is called; try again then");
}

/* Reads n bytes of a copy that is new enough, if there is one. */
static bool read_copy(struct owner_source *self, uint32_t storage, uint64_t at,
                      void *to, size_t n)
{
    struct owner *owner = self->owner;
    uint64_t least = self->age.old ? 0 : self->wanted;
    struct owner_copy *copy;

    pthread_mutex_lock(&owner->lock);
    copy = owner_copy(owner, &self->source, storage);
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
    struct owner_wish wish = {
        .kind = WISH_BYTES, .real = self->real, .of = source, .number = storage};
    int status;

    if (owner_is_free(self->real))
        return source_bytes(self->real, storage, at, to, n, err);
    self->age.used = true;
    if (read_copy(self, storage, at, to, n))
        return 0;
    wish.bytes = self->model->storages[storage].bytes;
    if (wish.bytes > COPY_LIMIT)
        return err_set(err, ERR_LIMIT,
                       "the page cannot show live tensors over 256 MB; "
                       "use torchoscope.explore()");
    status = owner_ask(self->owner, &wish);
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
    struct owner_wish wish = {.kind = WISH_ATTRIBUTES,
                              .real = self->real,
                              .what = what,
                              .arena = arena,
                              .attributes = ret_attributes,
                              .n_attributes = ret_n};
    int status = owner_ask(self->owner, &wish);

    self->age.used = !owner_is_free(self->real);
    if (status < 0)
        return err_copy(err, &wish.err);
    return status > 0 ? is_busy(err) : 0;
}

static int owner_code(struct source *source, uint32_t class_id, struct arena *arena,
                      struct class_code *ret_code, struct err *err)
{
    struct owner_source *self = (struct owner_source *)source;
    struct owner_wish wish = {.kind = WISH_CODE,
                              .real = self->real,
                              .number = class_id,
                              .arena = arena,
                              .code = ret_code};
    int status = owner_ask(self->owner, &wish);

    if (status < 0)
        return err_copy(err, &wish.err);
    return status > 0 ? is_busy(err) : 0;
}

/* The owner forgets them when it answers next. */
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
            owner_drop_copy(&owner->copies[i]);
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
