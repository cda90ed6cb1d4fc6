#include <string.h>

#include "base/base.h"
#include "export/convert_in.h"
#include "measure/elements.h"
#include "session/session.h"

/* The elements of one tensor, as a stream of bytes. */
struct byte_stream {
    struct elements *elements;
    enum dtype dtype;
    const uint8_t *at;
    size_t n;
};

static int stream_open(struct byte_stream *stream, const struct model *model,
                       const struct tensor *tensor, struct err *err)
{
    *stream = (struct byte_stream){.dtype = tensor->dtype};
    stream->elements = elements_open(model, tensor, 0, UINT64_MAX, false, err);
    return stream->elements ? 0 : -1;
}

/* Ensures that bytes are available. 1: they are, 0: end of stream, -1: failed. */
static int stream_fill(struct byte_stream *stream, struct work *work, struct err *err)
{
    const void *at;
    size_t n;
    int more = 1;

    while (stream->n == 0 && more == 1) {
        more = elements_next(stream->elements, work, &at, &n, err);
        if (more == 1) {
            stream->at = at;
            stream->n = elements_size(stream->dtype, n);
        }
    }
    return more;
}

/* 1: equal, 0: different, -1: failed. */
static int same_bytes(struct byte_stream *a, struct byte_stream *b, struct work *work,
                      struct err *err)
{
    for (;;) {
        int more = stream_fill(a, NULL, err), other;
        size_t n;

        other = more < 0 ? -1 : stream_fill(b, work, err);
        if (more < 0 || other < 0)
            return -1;
        if (more == 0 || other == 0)
            return more == other;
        n = a->n < b->n ? a->n : b->n;
        if (memcmp(a->at, b->at, n) != 0)
            return 0;
        a->at += n;
        a->n -= n;
        b->at += n;
        b->n -= n;
    }
}

static int same_elements(const struct model *from, const struct tensor *a,
                         const struct model *to, const struct tensor *b,
                         struct work *work, struct err *err)
{
    struct byte_stream left = {0}, right = {0};
    int same = -1;

    if (a->numel == 0)
        return 1;
    if (stream_open(&left, from, a, err) == 0 && stream_open(&right, to, b, err) == 0)
        same = same_bytes(&left, &right, work, err);
    elements_close(left.elements);
    elements_close(right.elements);
    return same;
}

static bool same_shape(const struct model *from, const struct tensor *a,
                       const struct model *to, const struct tensor *b)
{
    return a->rank == b->rank && a->dtype == b->dtype &&
           (a->rank == 0 || memcmp(tensor_shape(from, a), tensor_shape(to, b),
                                   a->rank * sizeof(int64_t)) == 0);
}

/* The tensor with this name; NULL: none. */
static const struct tensor *tensor_named(const struct model *model, struct str name)
{
    uint32_t place = place_find(model, name);

    return place == NO_PLACE ? NULL : place_tensor(model, place);
}

static int compare_entry(const struct safetensors_file *file, const struct model *model,
                         const struct safetensors_tensor *entry, struct work *work,
                         struct err *err)
{
    const struct tensor *from = &file->model->tensors[entry->tensor];
    const struct tensor *to = tensor_named(model, entry->key);
    int same;

    if (!to)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: safetensors cannot store the name of %.*s",
                       file->model->path, STR_ARG(entry->key));
    same = same_shape(file->model, from, model, to)
               ? same_elements(file->model, from, model, to, work, err)
               : 0;
    if (same == 0)
        err_set(err, ERR_CHANGED, "%s: %.*s changed while it was converted",
                file->model->path, STR_ARG(entry->key));
    return same == 1 ? 0 : -1;
}

static int compare_tie(const struct safetensors_file *file, const struct model *model,
                       const struct safetensors_note *tie, struct err *err)
{
    const struct tensor *tied = tensor_named(model, tie->key);

    if (tied && tied == tensor_named(model, tie->text))
        return 0;
    return err_set(err, ERR_UNSUPPORTED, "%s: safetensors cannot store the tie of %.*s",
                   file->model->path, STR_ARG(tie->key));
}

/* Derived tensors are not in the file. */
static uint32_t count_stored(const struct model *model)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < model->n_tensors; i++)
        n += !(model->tensors[i].flags & TENSOR_DERIVED);
    return n;
}

int convert_compare(const struct safetensors_file *file, const char *path,
                    struct work *work, struct err *err)
{
    struct session *session = session_open(path, work, err);
    const struct model *model = session ? session->model : NULL;
    int status = session ? 0 : -1;

    if (session && work)
        work->total += safetensors_file_bytes(file);
    for (uint32_t i = 0; i < file->n && status == 0; i++)
        status = compare_entry(file, model, &file->entries[i], work, err);
    for (uint32_t i = 0; i < file->n_notes && status == 0; i++)
        status = compare_tie(file, model, &file->notes[i], err);
    if (status == 0 && (count_stored(model) != file->n || model->n_findings > 0))
        status = err_set(err, ERR_CHANGED, "%s: was not written correctly", path);
    session_close(session);
    return status;
}
