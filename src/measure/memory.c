#include "measure/memory.h"

#include <string.h>

#include "measure/decode_in.h"
#include "measure/memory_in.h"
#include "measure/stats_in.h"

static const void *direct(struct source *source, uint32_t storage)
{
    (void)storage;
    return ((const struct memory_model *)source)->at;
}

static int copy_bytes(struct source *source, uint32_t storage, uint64_t at, void *to,
                      size_t n, struct err *err)
{
    (void)err;
    memcpy(to, (const char *)direct(source, storage) + at, n);
    return 0;
}

static const struct source_ops memory_ops = {.bytes = copy_bytes, .direct = direct};

/* The number of elements, and the number of storage elements from the first to the last;
 * false if one exceeds 64 bits. */
static bool count(const struct memory *memory, uint64_t *ret_numel,
                  uint64_t *ret_extent)
{
    uint64_t numel = 1, extent = 1, step;

    for (int i = 0; i < memory->rank; i++) {
        if (memory->shape[i] < 0 || memory->strides[i] < 0 ||
            __builtin_mul_overflow(numel, (uint64_t)memory->shape[i], &numel))
            return false;
        if (memory->shape[i] < 2)
            continue;
        if (__builtin_mul_overflow((uint64_t)memory->shape[i] - 1,
                                   (uint64_t)memory->strides[i], &step) ||
            __builtin_add_overflow(extent, step, &extent))
            return false;
    }
    *ret_numel = numel;
    *ret_extent = numel == 0 ? 0 : extent;
    return true;
}

static bool in_c_order(const struct memory *memory)
{
    int64_t stride = 1;

    for (int i = memory->rank - 1; i >= 0; i--) {
        if (memory->shape[i] != 1 && memory->strides[i] != stride)
            return false;
        stride *= memory->shape[i];
    }
    return true;
}

bool memory_plain(const struct memory *memory, uint64_t *ret_numel)
{
    uint64_t extent;

    return !memory->conj && !memory->neg && decode_has_values(memory->dtype) &&
           dtype_info(memory->dtype)->block == 1 && count(memory, ret_numel, &extent) &&
           in_c_order(memory);
}

int memory_wrap(struct memory_model *wrapped, const struct memory *memory,
                struct err *err)
{
    size_t n = (size_t)memory->rank;
    uint64_t extent;

    memset(&wrapped->tensor, 0, sizeof wrapped->tensor);
    memset(&wrapped->storage, 0, sizeof wrapped->storage);
    if (memory->rank > MEMORY_RANK || !count(memory, &wrapped->tensor.numel, &extent) ||
        extent > SIZE_MAX / 16)
        return err_set(err, ERR_LIMIT, "too many elements");
    memcpy(wrapped->dims, memory->shape, n * sizeof *wrapped->dims);
    memcpy(wrapped->dims + n, memory->strides, n * sizeof *wrapped->dims);
    wrapped->at = memory->at;
    wrapped->source = (struct source){.ops = &memory_ops, .any_thread = true};
    wrapped->storage.bytes = elements_size(memory->dtype, (size_t)extent);
    wrapped->model = (struct model){.dims = wrapped->dims,
                                    .n_dims = (uint32_t)(2 * n),
                                    .storages = &wrapped->storage,
                                    .n_storages = 1,
                                    .tensors = &wrapped->tensor,
                                    .n_tensors = 1,
                                    .source = &wrapped->source};
    wrapped->tensor.dtype = (uint8_t)memory->dtype;
    wrapped->tensor.rank = (uint8_t)memory->rank;
    wrapped->tensor.flags =
        (uint16_t)((memory->conj ? TENSOR_CONJ : 0) | (memory->neg ? TENSOR_NEG : 0));
    return 0;
}

int stats_memory(const struct memory *memory, enum measure_mode mode,
                 struct histogram *histogram, struct stats *ret_stats, struct err *err)
{
    struct memory_model wrapped;
    uint64_t numel;

    if (memory_plain(memory, &numel)) {
        if (mode == MEASURE_SAMPLED && numel < STATS_SMALL)
            mode = MEASURE_FULL;
        stats_init(ret_stats, memory->dtype);
        stats_add(ret_stats, histogram, memory->dtype, memory->at, (size_t)numel, 0,
                  mode);
        return 0;
    }
    if (memory_wrap(&wrapped, memory, err) < 0)
        return -1;
    return stats_tensor(&wrapped.model, &wrapped.tensor, mode, NULL, histogram,
                        ret_stats, err);
}

int memory_copy(const struct memory *memory, void *to, size_t size, struct err *err)
{
    struct memory_model wrapped;
    struct elements *elements;
    char *out = to;
    size_t left = size, n;
    const void *at;
    int more;

    if (memory_wrap(&wrapped, memory, err) < 0)
        return -1;
    elements =
        elements_open(&wrapped.model, &wrapped.tensor, 0, UINT64_MAX, false, err);
    if (!elements)
        return -1;
    for (;;) {
        size_t bytes;

        more = elements_next(elements, NULL, &at, &n, err);
        if (more <= 0)
            break;
        bytes = elements_size(memory->dtype, n);
        bytes = bytes < left ? bytes : left;
        memcpy(out, at, bytes);
        out += bytes;
        left -= bytes;
    }
    elements_close(elements);
    return more;
}
