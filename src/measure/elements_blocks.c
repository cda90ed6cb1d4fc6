/* Storages of ggml's types: the bytes of the float32 values that they decode to. Any
 * range can be requested: it may begin and end inside a block. */
#include <stdlib.h>
#include <string.h>

#include "measure/elements_in.h"
#include "measure/ggml/ggml_in.h"

#define RAW_BYTES ((size_t)64 * 1024) /* of stored blocks that are read at once */

struct elements_blocks {
    size_t block, bytes; /* elements and bytes of a block */
    bool big_endian;
    float part[GGML_BLOCK]; /* the values of a partly requested block */
    uint8_t raw[RAW_BYTES];
};

int elements_open_blocks(struct elements *e, struct err *err)
{
    const struct dtype_info *info = dtype_info(e->stored);
    const struct storage *storage = &e->model->storages[e->storage];
    uint8_t probe[512] = {0};

    if ((storage->flags & STORAGE_BIG_ENDIAN) && !ggml_swap(e->stored, probe, 1))
        return err_set(err, ERR_UNSUPPORTED,
                       "the values cannot be read: the byte order of big-endian %s is "
                       "not defined",
                       info->name);
    e->readable /= info->bytes;
    if (__builtin_mul_overflow(e->readable, sizeof(float) * info->block, &e->readable))
        e->readable = UINT64_MAX;
    e->blocks = malloc(sizeof *e->blocks);
    if (!e->blocks)
        return err_set(err, ERR_LIMIT, "no memory to read a tensor");
    e->blocks->block = info->block;
    e->blocks->bytes = info->bytes;
    e->blocks->big_endian = storage->flags & STORAGE_BIG_ENDIAN;
    return 0;
}

/* Fetch blocks `first` to `first + n` as they are stored. */
static int fetch(struct elements *e, uint64_t first, size_t n, struct err *err)
{
    struct elements_blocks *blocks = e->blocks;

    if (source_bytes(e->source, e->storage, first * blocks->bytes, blocks->raw,
                     n * blocks->bytes, err) < 0)
        return -1;
    if (blocks->big_endian)
        ggml_swap(e->stored, blocks->raw, n);
    return 0;
}

/* Elements `skip` to `skip + n` of one block. */
static int decode_part(struct elements *e, uint64_t block, size_t skip, size_t n,
                       char *to, struct err *err)
{
    if (fetch(e, block, 1, err) < 0)
        return -1;
    ggml_decode(e->stored, e->blocks->raw, 1, e->blocks->part);
    memcpy(to, e->blocks->part + skip, n * sizeof(float));
    return 0;
}

/* As many whole requested blocks as fit; sets *ret_n to their number of elements. `to`
 * is aligned. */
static int decode_run(struct elements *e, uint64_t block, size_t wanted, char *to,
                      size_t *ret_n, struct err *err)
{
    size_t n = wanted / e->blocks->block, most = RAW_BYTES / e->blocks->bytes;

    if (n > most)
        n = most;
    if (fetch(e, block, n, err) < 0)
        return -1;
    ggml_decode(e->stored, e->blocks->raw, n, (float *)(void *)to);
    *ret_n = n * e->blocks->block;
    return 0;
}

static int decode_bytes(struct elements *e, uint64_t at, char *to, size_t n,
                        struct err *err)
{
    size_t size = e->blocks->block;

    for (size_t part; n > 0; n -= part, at += part, to += part * sizeof(float)) {
        size_t skip = at % size;

        part = n < size - skip ? n : size - skip;
        if (part < size) {
            if (decode_part(e, at / size, skip, part, to, err) < 0)
                return -1;
        } else if (decode_run(e, at / size, n, to, &part, err) < 0) {
            return -1;
        }
    }
    return 0;
}

int elements_bytes(struct elements *e, uint64_t at, void *to, size_t n, struct err *err)
{
    if (!e->blocks)
        return source_bytes(e->source, e->storage, at, to, n, err);
    return decode_bytes(e, at / sizeof(float), to, n / sizeof(float), err);
}
