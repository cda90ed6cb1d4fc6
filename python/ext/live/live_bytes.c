/* live_bytes.c - the source of a live model: reads the bytes of tensors in place.
 * A tensor may be deleted, moved or resized after the model was built. So each request
 * looks it up by its weak reference and compares its storage with the one seen at build
 * time. Callers normally hold the GIL; but an explored run borrows the source of its
 * model, and another thread may read it, so find_bytes() acquires the GIL. */
#include "ext/live/live_in.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"

/* Is it exactly a torch tensor or parameter, so that reading it runs no user code? */
static bool is_exact(const struct torch *torch, const struct live_storage *storage)
{
    PyObject *at = storage->weak ? PyWeakref_GetObject(storage->weak) : NULL;

    return at && !storage->names &&
           (Py_TYPE(at) == torch->tensor || Py_TYPE(at) == torch->parameter);
}

/* The tensor in a storage: a new reference, or NULL if deleted. */
static PyObject *find_tensor(const struct live_storage *storage)
{
    PyObject *at = storage->weak ? PyWeakref_GetObject(storage->weak) : NULL;
    Py_ssize_t n = storage->names ? PyTuple_Size(storage->names) : 0;

    ext_swallow();
    if (!at || at == Py_None)
        return NULL;
    Py_INCREF(at);
    for (Py_ssize_t i = 0; at && i < n; i++) {
        PyObject *next = live_ask(at, PyTuple_GetItem(storage->names, i));

        Py_DECREF(at);
        at = next;
    }
    return at;
}

/* The address of the storage's bytes; NULL and an error if they cannot be read or have
 * changed. */
static const void *find_bytes(const struct live_storage *storage, struct err *err)
{
    const struct torch *torch = torch_find();
    uint64_t identity = 0, at = 0, bytes = 0;
    PyObject *tensor, *quiet;
    PyGILState_STATE lock;
    int status;

    if (storage->why) {
        err_set(err, ERR_UNSUPPORTED, "%s", storage->why);
        return NULL;
    }
    lock = PyGILState_Ensure();
    quiet = quiet_begin(torch, !is_exact(torch, storage));
    tensor = find_tensor(storage);
    status = tensor ? live_look_storage(tensor, &identity, &at, &bytes) : -1;
    quiet_end(quiet);
    if (!tensor)
        err_set(err, ERR_CHANGED, "the tensor was deleted since the model was opened");
    else if (status < 0 || identity != storage->identity)
        err_set(err, ERR_CHANGED,
                "the tensor was given other data since the model was opened");
    else if (at != storage->at || bytes != storage->bytes)
        err_set(err, ERR_CHANGED,
                "the tensor's data was resized since the model was opened");
    else
        status = 1;
    Py_XDECREF(tensor);
    PyGILState_Release(lock);
    return status == 1 ? (const void *)(uintptr_t)at : NULL;
}

static int live_bytes(struct source *source, uint32_t storage, uint64_t at, void *to,
                      size_t n, struct err *err)
{
    struct live_source *self = (struct live_source *)source;
    const struct live_storage *known;
    const char *from;

    if (storage >= self->n_storages)
        return err_set(err, ERR_USAGE, "there is no storage %u", storage);
    known = &self->storages[storage];
    from = find_bytes(known, err);
    if (!from)
        return -1;
    if (at > known->bytes || n > known->bytes - at)
        return err_set(err, ERR_USAGE, "a read beyond the end of a storage");
    memcpy(to, from + at, n);
    return 0;
}

static const void *live_direct(struct source *source, uint32_t storage)
{
    struct live_source *self = (struct live_source *)source;

    if (storage >= self->n_storages)
        return NULL;
    return find_bytes(&self->storages[storage], NULL);
}

static int live_changed(struct source *source)
{
    struct live_source *self = (struct live_source *)source;

    for (uint32_t i = 0; i < self->n_storages; i++)
        if (!self->storages[i].why && self->storages[i].bytes > 0 &&
            !find_bytes(&self->storages[i], NULL))
            return 1;
    return 0;
}

static void live_close(struct source *source)
{
    struct live_source *self = (struct live_source *)source;

    if (self->live)
        self->live->source = NULL;
    live_forget(source);
    for (uint32_t i = 0; i < self->n_storages; i++) {
        Py_XDECREF(self->storages[i].weak);
        Py_XDECREF(self->storages[i].names);
    }
    arena_release(&self->arena);
    free(self);
}

static const struct source_ops live_ops = {.bytes = live_bytes,
                                           .direct = live_direct,
                                           .changed = live_changed,
                                           .attributes = live_attributes,
                                           .forget = live_forget,
                                           .code = live_code,
                                           .close = live_close};

struct live_source *live_source_new(void)
{
    struct live_source *self = calloc(1, sizeof *self);

    if (!self)
        return NULL;
    self->source.ops = &live_ops;
    self->source.any_thread = false;
    arena_init(&self->arena, LIVE_LIMIT);
    return self;
}
