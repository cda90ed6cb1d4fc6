#include <inttypes.h>

#include "base/base.h"
#include "read/hdf5/hdf5_parts_in.h"

/* ---- the global heap: "GCOL", version, size; objects with index, size, bytes ---- */

static int load_collection(struct hdf5 *file, uint64_t at, struct err *err)
{
    uint64_t size;
    struct bytes in;
    struct str bytes;

    if (file->heap_at == at)
        return 0;
    if (hdf5_block(file, at, 8 + (uint64_t)file->length_size, "GCOL", false, &in, err) <
        0)
        return -1;
    bytes_skip(&in, 4);
    size = hdf5_length(file, &in);
    if (size < 8u + file->length_size)
        return hdf5_damaged(file, at, "a damaged heap", err);
    if (hdf5_load(file, at, size, &bytes, err) < 0)
        return -1;
    file->heap = bytes;
    file->heap_at = at;
    return 0;
}

int hdf5_global_get(struct hdf5 *file, uint64_t at, uint32_t index,
                    struct str *ret_bytes, struct err *err)
{
    struct bytes in;

    if (load_collection(file, at, err) < 0)
        return -1;
    in = bytes_of(file->heap.at, file->heap.len);
    bytes_skip(&in, 8u + file->length_size);
    while (bytes_left(&in) >= 8u + file->length_size) {
        uint16_t found = bytes_u16(&in);
        uint64_t size;
        struct str bytes;

        bytes_skip(&in, 6);
        size = hdf5_length(file, &in);
        if (found == 0)
            break; /* the rest is free */
        bytes = bytes_take(&in, size);
        if (in.bad)
            break;
        if (found == index) {
            *ret_bytes = bytes;
            return 0;
        }
        if (size % 8 != 0)
            bytes_skip(&in, 8 - size % 8);
    }
    return err_set_about(err, ERR_FORMAT, file->path,
                         ": the heap at byte %" PRIu64 " has no object %u",
                         file->base + at, index);
}

/* ---- the fractal heap: blocks whose sizes double from row to row ---- */

int hdf5_fractal_open(struct hdf5 *file, uint64_t at, struct hdf5_fractal *ret_heap,
                      struct err *err)
{
    uint64_t l = file->length_size, o = file->offset_size, most;
    struct hdf5_fractal heap = {.at = at};
    struct bytes in;
    uint16_t filters, bits;

    if (hdf5_block(file, at, 22 + 12 * l + 3 * o, "FRHP", false, &in, err) < 0)
        return -1;
    bytes_u8(&in);
    heap.id_size = bytes_u16(&in);
    filters = bytes_u16(&in);
    heap.sums = bytes_u8(&in) & 2;
    most = bytes_u32(&in);
    hdf5_length(file, &in);
    heap.huge = hdf5_offset(file, &in);
    hdf5_length(file, &in);
    hdf5_offset(file, &in);
    bytes_skip(&in, 8 * l);
    heap.width = bytes_u16(&in);
    heap.start = hdf5_length(file, &in);
    heap.direct_most = hdf5_length(file, &in);
    bits = bytes_u16(&in);
    bytes_u16(&in);
    heap.root = hdf5_offset(file, &in);
    heap.rows = bytes_u16(&in);
    heap.filtered = filters > 0;
    heap.offset_bytes = (uint8_t)((bits + 7) / 8);
    heap.length_bytes =
        (uint8_t)hdf5_number_size(most < heap.direct_most ? most : heap.direct_most);
    if (in.bad || heap.width == 0 || heap.start == 0 || bits > 64 ||
        (heap.start & (heap.start - 1)) ||
        (heap.direct_most & (heap.direct_most - 1)) || heap.direct_most < heap.start)
        return hdf5_damaged(file, at, "a damaged heap", err);
    *ret_heap = heap;
    return 0;
}

/* The size of the blocks in a row; 0: too large. */
static uint64_t row_size(const struct hdf5_fractal *heap, uint32_t row)
{
    unsigned shift = row > 1 ? row - 1 : 0;

    return shift < 64 && heap->start << shift >> shift == heap->start
               ? heap->start << shift
               : 0;
}

/* How many rows of an indirect block of this size it has. */
static uint32_t rows_of(const struct hdf5_fractal *heap, uint64_t size)
{
    uint64_t covered = 0;
    uint32_t row = 0;

    while (covered < size && row < 64) {
        uint64_t more = row_size(heap, row++);

        if (more == 0 || __builtin_mul_overflow(more, (uint64_t)heap->width, &more) ||
            __builtin_add_overflow(covered, more, &covered))
            break;
    }
    return row;
}

struct place_in_heap {
    uint64_t at;     /* of the block; then of the direct block */
    uint64_t offset; /* in it */
    uint64_t size;
};

/* From an indirect block to its child with the offset. *ret_direct: what it is. */
static int descend(struct hdf5 *file, const struct hdf5_fractal *heap,
                   struct place_in_heap *place, uint32_t rows, bool *ret_direct,
                   struct err *err)
{
    uint64_t head = 5 + (uint64_t)file->offset_size + heap->offset_bytes;
    uint64_t entry = 0, size;
    uint32_t row = 0;
    struct bytes in;
    struct str bytes;

    for (;; row++) {
        uint64_t all;

        size = row_size(heap, row);
        if (row >= rows || size == 0 ||
            __builtin_mul_overflow(size, (uint64_t)heap->width, &all))
            return hdf5_damaged(file, place->at, "an object outside of its heap", err);
        if (place->offset < all)
            break;
        place->offset -= all;
        entry += heap->width;
    }
    entry += place->offset / size;
    place->offset %= size;
    /* Without filters all entries are addresses. */
    if (hdf5_load(file, place->at, 4, &bytes, err) < 0)
        return -1;
    if (!str_is(bytes, "FHIB"))
        return hdf5_damaged(file, place->at, "no block of a heap", err);
    if (hdf5_load(file, place->at + head + entry * file->offset_size, file->offset_size,
                  &bytes, err) < 0)
        return -1;
    in = bytes_of(bytes.at, bytes.len);
    place->at = hdf5_offset(file, &in);
    place->size = size;
    *ret_direct = size <= heap->direct_most;
    return 0;
}

/* Find the direct block with this offset of the heap. */
static int find_block(struct hdf5 *file, const struct hdf5_fractal *heap,
                      struct place_in_heap *place, struct err *err)
{
    uint32_t rows = heap->rows;
    bool direct = rows == 0;

    place->at = heap->root;
    place->size = heap->start;
    while (!direct) {
        if (descend(file, heap, place, rows, &direct, err) < 0)
            return -1;
        rows = rows_of(heap, place->size);
    }
    if (place->at == HDF5_NOWHERE)
        return hdf5_damaged(file, heap->at, "an object outside of its heap", err);
    return 0;
}

static int get_managed(struct hdf5 *file, const struct hdf5_fractal *heap,
                       struct bytes *id, struct str *ret_bytes, struct err *err)
{
    struct place_in_heap place = {.offset = hdf5_number(id, heap->offset_bytes)};
    uint64_t n = hdf5_number(id, heap->length_bytes);

    if (id->bad || heap->filtered)
        return err_set_about(err, ERR_UNSUPPORTED, file->path,
                             ": a heap with filters is not supported");
    if (find_block(file, heap, &place, err) < 0)
        return -1;
    if (place.offset > place.size || n > place.size - place.offset)
        return hdf5_damaged(file, place.at, "an object outside of its heap", err);
    return hdf5_load(file, place.at + place.offset, n, ret_bytes, err);
}

/* ---- objects too large for a block: a B-tree knows where they are ---- */

struct huge {
    struct hdf5 *file;
    uint64_t wanted, at, size;
    uint8_t type;
    bool found;
};

static int look_at_huge(void *user, struct bytes record, uint64_t child,
                        struct err *err)
{
    struct huge *huge = user;
    uint64_t at = hdf5_offset(huge->file, &record);
    uint64_t size = hdf5_length(huge->file, &record);

    (void)child, (void)err;
    if (huge->type == 1 && hdf5_length(huge->file, &record) == huge->wanted &&
        !record.bad) {
        huge->found = true;
        huge->at = at;
        huge->size = size;
    }
    return 0;
}

static int get_huge(struct hdf5 *file, const struct hdf5_fractal *heap,
                    struct bytes *id, struct str *ret_bytes, struct err *err)
{
    struct huge huge = {.file = file};

    if (heap->filtered)
        return err_set_about(err, ERR_UNSUPPORTED, file->path,
                             ": a heap with filters is not supported");
    if (bytes_left(id) >= (size_t)file->offset_size + file->length_size) {
        huge.at = hdf5_offset(file, id); /* the id is where it is */
        huge.size = hdf5_length(file, id);
        return hdf5_load(file, huge.at, huge.size, ret_bytes, err);
    }
    huge.wanted = hdf5_number(id, (unsigned)bytes_left(id));
    if (hdf5_btree2(file, heap->huge, &huge.type, NULL, look_at_huge, &huge, err) < 0)
        return -1;
    if (!huge.found)
        return hdf5_damaged(file, heap->at, "a heap without a large object", err);
    return hdf5_load(file, huge.at, huge.size, ret_bytes, err);
}

int hdf5_fractal_get(struct hdf5 *file, const struct hdf5_fractal *heap, struct str id,
                     struct str *ret_bytes, struct err *err)
{
    struct bytes in = bytes_of(id.at, id.len);
    uint8_t flags = bytes_u8(&in);
    uint64_t n;

    switch (flags >> 4 & 3) {
    case 0:
        return get_managed(file, heap, &in, ret_bytes, err);
    case 1:
        return get_huge(file, heap, &in, ret_bytes, err);
    case 2: /* inside the id */
        n = flags & 15;
        if (heap->id_size > 18)
            n = n << 8 | bytes_u8(&in);
        *ret_bytes = bytes_take(&in, n + 1);
        return in.bad ? hdf5_damaged(file, heap->at, "a damaged id", err) : 0;
    default:
        return hdf5_damaged(file, heap->at, "an unknown kind of id", err);
    }
}
