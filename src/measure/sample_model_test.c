#include "measure/sample_model_in.h"

#include <string.h>

static struct sample_model *sample_of(struct source *source)
{
    return (struct sample_model *)((char *)source -
                                   offsetof(struct sample_model, source));
}

static int sample_bytes(struct source *source, uint32_t storage, uint64_t at, void *to,
                        size_t n, struct err *err)
{
    struct sample_model *sample = sample_of(source);
    uint64_t have = storage_have(&sample->model, &sample->storage);

    if (storage != 0 || at > have || n > have - at)
        return err_set(err, ERR_IO, "read beyond the storage");
    if (sample->fails_from && at + n > sample->fails_from)
        return err_set(err, ERR_IO, "the disk is gone");
    memcpy(to, sample->bytes + at, n);
    sample->reads++;
    sample->bytes_read += n;
    return 0;
}

static const void *sample_direct(struct source *source, uint32_t storage)
{
    struct sample_model *sample = sample_of(source);

    return storage == 0 && sample->in_memory ? sample->bytes : NULL;
}

static const struct source_ops sample_ops = {.bytes = sample_bytes,
                                             .direct = sample_direct};

void sample_init(struct sample_model *sample, enum dtype dtype, const void *bytes,
                 uint64_t n, const int64_t *shape, const int64_t *strides, int rank)
{
    int64_t step = 1;

    memset(sample, 0, sizeof *sample);
    sample->bytes = bytes;
    sample->source.ops = &sample_ops;
    sample->storage = (struct storage){.bytes = n};
    sample->tensor = (struct tensor){.dtype = (uint8_t)dtype,
                                     .layout = LAYOUT_STRIDED,
                                     .rank = (uint8_t)rank,
                                     .numel = 1};
    for (int i = rank - 1; i >= 0; i--) {
        sample->dims[i] = shape[i];
        sample->dims[rank + i] = strides ? strides[i] : step;
        step *= shape[i];
    }
    sample->tensor.numel = (uint64_t)step;
    sample->model.source = &sample->source;
    sample->model.storages = &sample->storage;
    sample->model.n_storages = 1;
    sample->model.tensors = &sample->tensor;
    sample->model.n_tensors = 1;
    sample->model.dims = sample->dims;
    sample->model.n_dims = 32;
}

void sample_cut(struct sample_model *sample, uint64_t have)
{
    sample->storage.flags |= STORAGE_PARTLY;
    sample->part.have = have;
    sample->model.parts = &sample->part;
    sample->model.n_parts = 1;
}
