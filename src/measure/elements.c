#include "measure/elements_in.h"

#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "base/str.h"
#include "measure/decode_in.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "elements have the byte order of files");

/* The storage, and how its bytes become elements. */
static int open_storage(struct elements *e, const struct tensor *tensor,
                        struct err *err)
{
    const struct dtype_info *info = dtype_info(elements_dtype(tensor->dtype));
    const struct storage *storage;
    const char *why;

    if (!tensor_readable(e->model, tensor, &why))
        return err_set(err, ERR_UNSUPPORTED, "the values cannot be read: %s", why);
    if (info->block == 0 || info->bytes == 0)
        return err_set(err, ERR_UNSUPPORTED, "the values cannot be read: type %s",
                       info->name);
    e->stored = tensor->dtype;
    e->dtype = elements_dtype(tensor->dtype);
    e->size = info->bytes;
    if (tensor->numel == 0)
        return 0;
    storage = &e->model->storages[tensor->storage];
    e->storage = tensor->storage;
    e->readable = storage_have(e->model, storage);
    if (info->block > 1)
        e->bits = 8u * info->bytes / info->block;
    e->offset = tensor->offset;
    if (e->dtype != e->stored)
        return elements_open_blocks(e, err);
    if (info->block == 1)
        e->direct = source_direct(e->source, e->storage);
    e->conj = (tensor->flags & TENSOR_CONJ) && info->kind == DTYPE_KIND_COMPLEX;
    e->neg = tensor->flags & TENSOR_NEG;
    if (e->neg && (e->bits || (e->size == 1 && info->kind == DTYPE_KIND_FLOAT)))
        return err_set(err, ERR_UNSUPPORTED, "the values cannot be read: negated %s",
                       info->name);
    if (storage->flags & STORAGE_BIG_ENDIAN && !e->bits && e->size > 1)
        e->swap = info->kind == DTYPE_KIND_COMPLEX ? e->size / 2 : e->size;
    return 0;
}

/* Outermost first; stable. */
static void sort_by_stride(struct elements_dim *dims, int n)
{
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && dims[j].stride > dims[j - 1].stride; j--) {
            struct elements_dim dim = dims[j];

            dims[j] = dims[j - 1];
            dims[j - 1] = dim;
        }
}

/* Join each dimension with the next inner one where both stride and index continue
 * evenly. */
static void join_dims(struct elements *e)
{
    int n = 0;

    for (int i = 0; i < e->rank; i++) {
        struct elements_dim dim = e->dims[i];
        struct elements_dim *outer = n > 0 ? &e->dims[n - 1] : NULL;

        if (outer && outer->stride == dim.size * dim.stride &&
            outer->index == dim.size * dim.index) {
            dim.size *= outer->size;
            *outer = dim;
        } else {
            e->dims[n++] = dim;
        }
    }
    e->rank = n;
}

static bool are_dense(const struct elements *e)
{
    uint64_t stride = 1;

    for (int i = e->rank - 1; i >= 0; i--) {
        if (e->dims[i].stride != stride)
            return false;
        stride *= e->dims[i].size;
    }
    return true;
}

/* Take the dimensions that matter: not those of size 1, nor (with ret_times) those of
 * stride 0. Returns the number of elements. */
static uint64_t open_dims(struct elements *e, const struct tensor *tensor,
                          bool any_order, uint64_t *ret_times)
{
    const int64_t *shape = tensor_shape(e->model, tensor);
    const int64_t *strides = tensor_strides(e->model, tensor);
    uint64_t index = 1, n = 1;
    int rank = tensor->rank < ELEMENTS_RANK ? tensor->rank : ELEMENTS_RANK;

    if (tensor->numel == 0)
        return 0;
    for (int i = rank - 1, k = rank; i >= 0; i--) {
        uint64_t size = (uint64_t)shape[i], stride = (uint64_t)strides[i];

        if (stride == 0 && ret_times && size > 1) {
            *ret_times *= size;
        } else if (size != 1) {
            e->dims[--k] = (struct elements_dim){size, stride, index};
            e->rank++;
            n *= size;
        }
        index *= size;
    }
    memmove(e->dims, e->dims + rank - e->rank, (size_t)e->rank * sizeof *e->dims);
    if (any_order)
        sort_by_stride(e->dims, e->rank);
    join_dims(e);
    e->in_order = e->rank == 0 || (e->rank == 1 && e->dims[0].index == 1);
    if (!any_order && !ret_times)
        e->in_order = true;
    return n;
}

/* Are all elements inside the readable part of the storage? Do not trust the model. */
static bool fits(const struct elements *e)
{
    uint64_t last = e->offset, most;

    if (e->readable > UINT64_MAX / 8)
        return false;
    most = e->bits ? e->readable * 8 / e->bits : e->readable / e->size;
    for (int i = 0; i < e->rank; i++) {
        uint64_t span;

        if (__builtin_mul_overflow(e->dims[i].size - 1, e->dims[i].stride, &span) ||
            __builtin_add_overflow(last, span, &last))
            return false;
    }
    return last < most;
}

/* Dense elements need no plan; a packed run must begin at a whole block. */
static int open_way(struct elements *e, struct err *err)
{
    bool dense = are_dense(e);

    if (e->bits)
        dense = dense && (e->offset + e->first) % dtype_info(e->dtype)->block == 0;
    if (!dense && elements_plan(e, err) < 0)
        return -1;
    if (dense && e->direct && !e->swap && !e->conj && !e->neg)
        return 0;
    e->block = aligned_alloc(64, ELEMENTS_BLOCK); /* no vector crosses a cache line */
    return e->block ? 0 : err_set(err, ERR_LIMIT, "no memory to read a tensor");
}

static struct elements *open_elements(const struct model *model,
                                      const struct tensor *tensor, uint64_t first,
                                      uint64_t n, bool any_order, uint64_t *ret_times,
                                      struct err *err)
{
    struct elements *e = calloc(1, sizeof *e);
    uint64_t all;

    if (!e) {
        err_set(err, ERR_LIMIT, "no memory to read a tensor");
        return NULL;
    }
    e->model = model;
    e->source = model->source;
    e->in_order = true;
    e->block_most = ELEMENTS_BLOCK;
    if (open_storage(e, tensor, err) < 0)
        goto fail;
    all = open_dims(e, tensor, any_order, ret_times);
    e->first = e->at = first < all ? first : all;
    e->end = n < all - e->at ? e->at + n : all;
    if (e->at == e->end)
        return e;
    if (!fits(e)) {
        err_set(err, ERR_FORMAT, "the tensor exceeds its storage of %llu bytes",
                (unsigned long long)e->readable);
        goto fail;
    }
    if (open_way(e, err) < 0)
        goto fail;
    return e;

fail:
    elements_close(e);
    return NULL;
}

struct elements *elements_open(const struct model *model, const struct tensor *tensor,
                               uint64_t first, uint64_t n, bool any_order,
                               struct err *err)
{
    /* `first` and `n` count in C order. */
    if (first != 0 || n < tensor->numel)
        any_order = false;
    return open_elements(model, tensor, first, n, any_order, NULL, err);
}

struct elements *elements_open_distinct(const struct model *model,
                                        const struct tensor *tensor,
                                        uint64_t *ret_times, struct err *err)
{
    *ret_times = 1;
    return open_elements(model, tensor, 0, UINT64_MAX, true, ret_times, err);
}

void elements_close(struct elements *e)
{
    if (!e)
        return;
    free(e->block);
    free(e->window);
    free(e->tile);
    free(e->blocks);
    free(e);
}

static void swap_bytes(uint8_t *at, size_t bytes, size_t unit)
{
    for (uint8_t *end = at + bytes; at < end; at += unit)
        for (size_t i = 0; i < unit / 2; i++) {
            uint8_t byte = at[i];

            at[i] = at[unit - 1 - i];
            at[unit - 1 - i] = byte;
        }
}

/* Negate a float or integer of `size` bytes every `step` bytes. */
static void negate(enum dtype_kind kind, uint8_t *at, size_t bytes, size_t size,
                   size_t step)
{
    for (size_t i = 0; i + size <= bytes; i += step) {
        uint64_t word = 0;

        if (kind == DTYPE_KIND_FLOAT || kind == DTYPE_KIND_COMPLEX) {
            at[i + size - 1] ^= 0x80;
            continue;
        }
        memcpy(&word, at + i, size);
        word = 0 - word;
        memcpy(at + i, &word, size);
    }
}

void elements_finish(const struct elements *e, uint8_t *at, size_t bytes)
{
    enum dtype_kind kind = dtype_info(e->dtype)->kind;
    size_t part = kind == DTYPE_KIND_COMPLEX ? e->size / 2 : e->size;

    if (e->swap)
        swap_bytes(at, bytes, e->swap);
    if (e->neg)
        negate(kind, at, bytes, part, part);
    if (e->conj)
        negate(kind, at + part, bytes - part, part, e->size);
}

/* The most elements that fit in `bytes`, a multiple of 2048 if possible. */
static uint64_t block_elements(const struct elements *e, size_t bytes)
{
    uint64_t n = e->bits ? bytes * 8 / e->bits : bytes / e->size;

    return n > 2048 ? n - n % 2048 : n;
}

static int next_block(struct elements *e, uint64_t n, const void **ret_at,
                      struct err *err)
{
    size_t bytes = elements_size(e->dtype, (size_t)n);
    uint64_t place = e->offset + e->at;

    if (e->way == WAY_DENSE) {
        place = e->bits ? place * e->bits / 8 : place * e->size;
        if (!e->block) {
            *ret_at = e->direct + place;
            return 0;
        }
        if (e->direct)
            memcpy(e->block, e->direct + place, bytes);
        else if (elements_bytes(e, place, e->block, bytes, err) < 0)
            return -1;
    } else if (elements_gather(e, n, e->block, err) < 0) {
        return -1;
    }
    elements_finish(e, e->block, bytes);
    *ret_at = e->block;
    return 0;
}

int elements_next(struct elements *e, struct work *work, const void **ret_at,
                  size_t *ret_n, struct err *err)
{
    uint64_t n = e->end - e->at;
    uint64_t most = block_elements(e, e->block ? e->block_most : ELEMENTS_DIRECT);
    struct work *before;
    int status;

    if (n == 0)
        return 0;
    if (n > most)
        n = most;
    if (work_cancelled(work))
        return err_set(err, ERR_CANCELLED, "stopped");
    before = work_enter(work);
    status = next_block(e, n, ret_at, err);
    work_leave(before);
    if (status < 0)
        return -1;
    e->at += n;
    *ret_n = (size_t)n;
    work_step(work, elements_size(e->stored, (size_t)n));
    return 1;
}

uint64_t elements_index(const struct elements *e, uint64_t i)
{
    uint64_t index = 0;

    if (e->in_order)
        return e->first + i;
    for (int d = e->rank - 1; d >= 0; d--) {
        index += i % e->dims[d].size * e->dims[d].index;
        i /= e->dims[d].size;
    }
    return index;
}

int elements_sha256(const struct model *model, const struct tensor *tensor,
                    struct work *work, char ret_hex[65], struct err *err)
{
    struct elements *elements = elements_open(model, tensor, 0, UINT64_MAX, false, err);
    struct sha256 sha;
    const void *at;
    size_t n;
    int more;

    if (!elements)
        return -1;
    sha256_init(&sha);
    for (;;) {
        more = elements_next(elements, work, &at, &n, err);
        if (more <= 0)
            break;
        sha256_add(&sha, at, elements_size(elements->dtype, n));
    }
    elements_close(elements);
    if (more < 0)
        return -1;
    sha256_hex(&sha, ret_hex);
    return 0;
}
