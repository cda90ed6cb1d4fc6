#include <stdlib.h>

#include "base/base.h"
#include "read/hdf5/hdf5_parts_in.h"

static int add_chunk(struct hdf5_finding *self, struct hdf5_chunk chunk,
                     struct err *err)
{
    struct hdf5_layout *layout = self->layout;
    struct arena *arena = &self->file->build->model->arena;

    if (chunk.at == HDF5_NOWHERE || chunk.number >= layout->n_grid)
        return 0; /* not written, or outside since the dataset was made smaller */
    if (arena_room(arena, &layout->chunks, layout->n_chunks, &layout->chunks_room,
                   sizeof chunk) < 0)
        return arena_err(arena, self->file->path, err);
    layout->chunks[layout->n_chunks++] = chunk;
    return 0;
}

/* The number of the chunk whose position along each dimension is in the bytes, in chunks
 * (`scaled`) or in elements. UINT64_MAX: outside. */
static uint64_t number_of(const struct hdf5_layout *layout, struct bytes *in,
                          bool scaled)
{
    uint64_t number = 0;

    for (int i = 0; i < layout->rank; i++) {
        uint64_t at = bytes_u64(in);

        if (!scaled)
            at /= layout->chunk[i];
        if (at >= layout->grid[i])
            return UINT64_MAX;
        number = number * layout->grid[i] + at;
    }
    return number;
}

/* Size, mask of filters that were skipped, position in elements. */
static int take_old(void *user, struct bytes key, uint64_t at, struct err *err)
{
    struct hdf5_finding *self = user;
    struct hdf5_chunk chunk = {.at = at};

    chunk.size = bytes_u32(&key);
    chunk.mask = bytes_u32(&key);
    chunk.number = number_of(self->layout, &key, false);
    return add_chunk(self, chunk, err);
}

/* Address, [size, mask], position in chunks. */
static int take_new(void *user, struct bytes record, uint64_t child, struct err *err)
{
    struct hdf5_finding *self = user;
    struct hdf5_layout *layout = self->layout;
    size_t head = self->file->offset_size + 8 * (size_t)layout->rank;
    struct hdf5_chunk chunk = {.size = (uint32_t)layout->chunk_bytes};

    (void)child;
    if (self->type != (layout->filters.n ? 11 : 10) ||
        self->size < head + (layout->filters.n ? 5 : 0) || self->size > head + 12)
        return err_set_about(err, ERR_FORMAT, self->file->path,
                             ": a damaged index of chunks");
    chunk.at = hdf5_offset(self->file, &record);
    if (layout->filters.n > 0) {
        chunk.size = (uint32_t)hdf5_number(&record, (unsigned)(self->size - head - 4));
        chunk.mask = bytes_u32(&record);
    }
    chunk.number = number_of(layout, &record, true);
    return add_chunk(self, chunk, err);
}

/* ---- arrays, whose elements are addresses, or an address, a size and a mask ---- */

/* The number of a chunk in the grid, from its number in the index. That counts the chunks
 * of the largest shape that the dataset may have, and of a dimension without a limit as
 * if it were the first. UINT64_MAX: outside. */
static uint64_t renumbered(const struct hdf5_layout *layout, uint64_t number)
{
    uint64_t at[HDF5_RANK], result = 0;

    for (int i = layout->rank - 1; i >= 0; i--) {
        if (i == layout->growing)
            continue;
        if (layout->most[i] == 0)
            return UINT64_MAX;
        at[i] = number % layout->most[i];
        number /= layout->most[i];
    }
    if (layout->growing >= 0)
        at[layout->growing] = number;
    else if (number > 0)
        return UINT64_MAX;
    for (int i = 0; i < layout->rank; i++) {
        if (at[i] >= layout->grid[i])
            return UINT64_MAX;
        result = result * layout->grid[i] + at[i];
    }
    return result;
}

int hdf5_take_elements(struct hdf5_finding *self, uint64_t at, uint64_t number,
                       uint64_t n, struct err *err)
{
    struct hdf5 *file = self->file;
    struct bytes in;
    struct str bytes;

    if (n > file->end)
        return hdf5_damaged(file, at, "a damaged index of chunks", err);
    if (hdf5_load(file, at, n * self->entry, &bytes, err) < 0)
        return -1;
    in = bytes_of(bytes.at, bytes.len);
    for (uint64_t i = 0; i < n; i++) {
        struct hdf5_chunk chunk = {.number = renumbered(self->layout, number + i),
                                   .size = (uint32_t)self->layout->chunk_bytes};

        chunk.at = hdf5_offset(file, &in);
        if (self->filtered) {
            chunk.size =
                (uint32_t)hdf5_number(&in, self->entry - file->offset_size - 4u);
            chunk.mask = bytes_u32(&in);
        }
        if (add_chunk(self, chunk, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- all chunks one after the other, without an index ---- */

static int find_implicit(struct hdf5_finding *self, struct err *err)
{
    const struct hdf5_layout *layout = self->layout;
    struct hdf5_chunk chunk = {.size = (uint32_t)layout->chunk_bytes};
    uint64_t n = 1, at = layout->at;

    for (int i = 0; i < layout->rank; i++)
        if (__builtin_mul_overflow(n, layout->most[i], &n))
            n = UINT64_MAX;
    if (at > self->file->end ||
        n > (self->file->end - at) / (layout->chunk_bytes ? layout->chunk_bytes : 1))
        return hdf5_damaged(self->file, at, "chunks beyond the end of the file", err);
    for (uint64_t i = 0; i < n; i++) {
        chunk.number = renumbered(layout, i);
        chunk.at = at + i * layout->chunk_bytes;
        if (add_chunk(self, chunk, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- a fixed array: a block of elements, or of pages of elements ---- */

struct fixed {
    uint64_t n, block;
    uint8_t page_bits;
};

/* "FAHD", version, kind, size of an element, bits of a page, count, block. */
static int read_fixed(struct hdf5_finding *self, struct fixed *fixed, struct err *err)
{
    struct hdf5 *file = self->file;
    struct bytes in;
    uint8_t least;

    if (hdf5_block(file, self->layout->at,
                   12 + (uint64_t)file->length_size + file->offset_size, "FAHD", true,
                   &in, err) < 0)
        return -1;
    bytes_u8(&in);
    self->filtered = bytes_u8(&in);
    self->entry = bytes_u8(&in);
    fixed->page_bits = bytes_u8(&in);
    fixed->n = hdf5_length(file, &in);
    fixed->block = hdf5_offset(file, &in);
    least = (uint8_t)(file->offset_size + (self->filtered ? 5 : 0));
    if (in.bad || self->entry < least || self->entry > least + 7 ||
        fixed->page_bits > 31 || fixed->n > file->end / self->entry)
        return hdf5_damaged(file, self->layout->at, "a damaged index of chunks", err);
    return 0;
}

/* "FADB", version, kind, header; [a bit for each page]; elements, or pages of them, each
 * with a checksum. */
static int find_fixed(struct hdf5_finding *self, struct err *err)
{
    struct hdf5 *file = self->file;
    struct fixed fixed;
    uint64_t page, at, n_pages;
    struct bytes in;
    struct str bits;

    if (read_fixed(self, &fixed, err) < 0)
        return -1;
    if (fixed.block == HDF5_NOWHERE)
        return 0;
    if (hdf5_block(file, fixed.block, 8, "FADB", false, &in, err) < 0)
        return -1;
    at = fixed.block + 6 + file->offset_size;
    page = (uint64_t)1 << fixed.page_bits;
    if (fixed.n <= page)
        return hdf5_take_elements(self, at, 0, fixed.n, err);
    n_pages = (fixed.n + page - 1) / page;
    if (hdf5_load(file, at, (n_pages + 7) / 8, &bits, err) < 0)
        return -1;
    at += bits.len + 4;
    for (uint64_t i = 0; i < n_pages; i++) {
        uint64_t n = fixed.n - i * page < page ? fixed.n - i * page : page;

        if ((bits.at[i / 8] & (0x80 >> i % 8)) &&
            hdf5_take_elements(self, at, i * page, n, err) < 0)
            return -1;
        at += page * self->entry + 4;
    }
    return 0;
}

/* ---- */

static int by_number(const void *left, const void *right)
{
    const struct hdf5_chunk *a = left, *b = right;

    return a->number < b->number ? -1 : a->number > b->number;
}

static int find(struct hdf5_finding *self, struct err *err)
{
    struct hdf5_layout *layout = self->layout;
    struct hdf5_chunk only = {.at = layout->at,
                              .size = (uint32_t)layout->single_size,
                              .mask = layout->single_mask};

    if (layout->at == HDF5_NOWHERE)
        return 0;
    switch (layout->index) {
    case INDEX_BTREE1:
        return hdf5_btree1(self->file, layout->at, 1,
                           8 + 8 * (uint32_t)(layout->rank + 1), take_old, self, err);
    case INDEX_SINGLE:
        return add_chunk(self, only, err);
    case INDEX_IMPLICIT:
        return find_implicit(self, err);
    case INDEX_FIXED:
        return find_fixed(self, err);
    case INDEX_BTREE2:
        return hdf5_btree2(self->file, layout->at, &self->type, &self->size, take_new,
                           self, err);
    default:
        return hdf5_find_extensible(self, err);
    }
}

int hdf5_find_chunks(struct hdf5 *file, struct hdf5_layout *layout, struct err *err)
{
    struct hdf5_finding self = {.file = file, .layout = layout};

    if (find(&self, err) < 0)
        return -1;
    if (layout->n_chunks > 1)
        qsort(layout->chunks, layout->n_chunks, sizeof *layout->chunks, by_number);
    for (uint32_t i = 0; i < layout->n_chunks; i++)
        if (layout->chunks[i].at > file->end ||
            layout->chunks[i].size > file->end - layout->chunks[i].at)
            return err_set_about(err, ERR_FORMAT, file->path,
                                 ": a chunk lies beyond the end of the file. Download "
                                 "it again");
    return 0;
}
