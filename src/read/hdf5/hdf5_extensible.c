#include "base/base.h"
#include "read/hdf5/hdf5_parts_in.h"

/* An extensible array: an index block has the first elements, the addresses of the first
 * data blocks, and of super blocks, which have those of more data blocks. Super block u
 * (the first ones exist in the index block only) has 2^(u/2) data blocks, each of which
 * has `least` * 2^((u+1)/2) elements. */
struct extensible {
    struct hdf5_finding *finding;
    uint64_t block;    /* the index block */
    uint64_t n;        /* elements that were ever set */
    uint64_t number;   /* of the next element */
    uint32_t in_index; /* elements in the index block */
    uint32_t least, pointers;
    uint8_t bits, page_bits, offset_bytes;
};

static int damaged(struct extensible *self, struct err *err)
{
    return hdf5_damaged(self->finding->file, self->finding->layout->at,
                        "a damaged index of chunks", err);
}

/* "EAHD", version, kind, five sizes, six counts, the index block. */
static int read_header(struct extensible *self, struct err *err)
{
    struct hdf5_finding *finding = self->finding;
    struct hdf5 *file = finding->file;
    struct bytes in;
    uint8_t least;

    if (hdf5_block(file, finding->layout->at,
                   16 + 6 * (uint64_t)file->length_size + file->offset_size, "EAHD",
                   true, &in, err) < 0)
        return -1;
    bytes_u8(&in);
    finding->filtered = bytes_u8(&in);
    finding->entry = bytes_u8(&in);
    self->bits = bytes_u8(&in);
    self->in_index = bytes_u8(&in);
    self->least = bytes_u8(&in);
    self->pointers = bytes_u8(&in);
    self->page_bits = bytes_u8(&in);
    bytes_skip(&in, 4 * file->length_size);
    self->n = hdf5_length(file, &in);
    hdf5_length(file, &in);
    self->block = hdf5_offset(file, &in);
    self->offset_bytes = (uint8_t)((self->bits + 7) / 8);
    least = (uint8_t)(file->offset_size + (finding->filtered ? 5 : 0));
    if (in.bad || finding->entry < least || finding->entry > least + 7 ||
        self->bits > 64 || self->page_bits > 31 || self->least == 0 ||
        (self->least & (self->least - 1)) || self->pointers < 2 ||
        (self->pointers & (self->pointers - 1)))
        return damaged(self, err);
    return 0;
}

/* "EADB", version, kind, header, position; elements, or a checksum and pages, each with
 * one. */
static int read_data(struct extensible *self, uint64_t at, uint64_t n, struct err *err)
{
    struct hdf5_finding *finding = self->finding;
    uint64_t page = (uint64_t)1 << self->page_bits, first = self->number;
    struct bytes in;

    self->number += n;
    if (at == HDF5_NOWHERE || first >= self->n)
        return 0;
    if (hdf5_block(finding->file, at, 8, "EADB", false, &in, err) < 0)
        return -1;
    at += 6u + finding->file->offset_size + self->offset_bytes;
    if (n <= page)
        return hdf5_take_elements(finding, at, first, n, err);
    at += 4;
    /* Pages that were never set lie behind those that were. */
    for (uint64_t i = 0; i < n && first + i < self->n; i += page) {
        if (hdf5_take_elements(finding, at, first + i, page, err) < 0)
            return -1;
        at += page * finding->entry + 4;
    }
    return 0;
}

/* Addresses of n data blocks with `size` elements each. */
static int read_blocks(struct extensible *self, struct bytes *in, uint64_t n,
                       uint64_t size, struct err *err)
{
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = hdf5_offset(self->finding->file, in);

        if (in->bad)
            return damaged(self, err);
        if (read_data(self, at, size, err) < 0)
            return -1;
    }
    return 0;
}

/* "EASB", version, kind, header, position, [bits of the pages], addresses. */
static int read_super(struct extensible *self, uint64_t at, uint64_t n, uint64_t size,
                      struct err *err)
{
    struct hdf5 *file = self->finding->file;
    uint64_t page = (uint64_t)1 << self->page_bits, skip;
    struct bytes in;

    if (at == HDF5_NOWHERE) {
        self->number += n * size;
        return 0;
    }
    skip = 2u + file->offset_size + self->offset_bytes;
    if (size > page)
        skip += n * ((size / page + 7) / 8);
    if (skip > file->end || n > file->end)
        return damaged(self, err);
    if (hdf5_block(file, at, 4 + skip + n * file->offset_size, "EASB", false, &in,
                   err) < 0)
        return -1;
    bytes_skip(&in, skip);
    return read_blocks(self, &in, n, size, err);
}

static unsigned log_of(uint32_t power)
{
    return (unsigned)__builtin_ctz(power);
}

/* "EAIB", version, kind, header; elements, data blocks, super blocks. */
static int read_index(struct extensible *self, struct err *err)
{
    struct hdf5_finding *finding = self->finding;
    struct hdf5 *file = finding->file;
    unsigned first = 2 * log_of(self->pointers), all;
    uint64_t elements = 6u + file->offset_size, blocks, n;
    struct bytes in;

    if (self->bits < log_of(self->least))
        return damaged(self, err);
    all = 1 + self->bits - log_of(self->least);
    blocks = elements + self->in_index * (uint64_t)finding->entry;
    n = 2 * (uint64_t)(self->pointers - 1) + (all > first ? all - first : 0);
    if (hdf5_block(file, self->block, blocks + n * file->offset_size, "EAIB", false,
                   &in, err) < 0 ||
        hdf5_take_elements(finding, self->block + elements, 0, self->in_index, err) < 0)
        return -1;
    self->number = self->in_index;
    bytes_skip(&in, blocks - 4);
    for (unsigned u = 0; u < all && self->number < self->n; u++) {
        uint64_t count = (uint64_t)1 << u / 2;
        uint64_t size = (uint64_t)self->least << (u + 1) / 2;
        int status;

        if (u < first)
            status = read_blocks(self, &in, count, size, err);
        else
            status = read_super(self, hdf5_offset(file, &in), count, size, err);
        if (status < 0)
            return -1;
    }
    return 0;
}

int hdf5_find_extensible(struct hdf5_finding *finding, struct err *err)
{
    struct extensible self = {.finding = finding};

    if (read_header(&self, err) < 0)
        return -1;
    return self.block == HDF5_NOWHERE ? 0 : read_index(&self, err);
}
