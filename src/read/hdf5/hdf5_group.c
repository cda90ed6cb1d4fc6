#include "base/base.h"
#include "read/hdf5/hdf5_parts_in.h"

/* Four ways to list the members of a group:
 * old: a B-tree leads to tables of symbols, whose names are in a local heap;
 * new: link messages in the header; or, if there are many, in a fractal heap, where a
 * B-tree has their ids. */
struct members {
    struct hdf5 *file;
    struct str names; /* the local heap */
    struct hdf5_fractal heap;
    hdf5_take_link *take;
    void *user;
};

/* ---- old groups ---- */

/* "HEAP", version, size, free list, address of the names. */
static int load_names(struct members *self, uint64_t at, struct err *err)
{
    struct hdf5 *file = self->file;
    struct bytes in;
    uint64_t size;

    if (hdf5_block(file, at, 8 + 2 * (uint64_t)file->length_size + file->offset_size,
                   "HEAP", false, &in, err) < 0)
        return -1;
    bytes_skip(&in, 4);
    size = hdf5_length(file, &in);
    hdf5_length(file, &in);
    return hdf5_load(file, hdf5_offset(file, &in), size, &self->names, err);
}

/* The text at an offset of the local heap. */
static struct str name_at(const struct members *self, uint64_t at)
{
    struct str rest =
        str_from(self->names, at < self->names.len ? (size_t)at : self->names.len);
    ptrdiff_t zero = str_find_char(rest, 0);

    return str_head(rest, zero < 0 ? rest.len : (size_t)zero);
}

/* Name, address of the object, cache type; of a soft link, its target in the heap. */
static int take_symbol(struct members *self, struct bytes *in, struct err *err)
{
    struct hdf5 *file = self->file;
    struct hdf5_link link = {0};
    uint32_t cached;

    link.name = name_at(self, hdf5_offset(file, in));
    link.at = hdf5_offset(file, in);
    cached = bytes_u32(in);
    bytes_skip(in, 4);
    if (cached == 2) {
        link.target = name_at(self, bytes_u32(in));
        link.at = HDF5_NOWHERE;
        bytes_skip(in, 12);
    } else {
        bytes_skip(in, 16);
    }
    return self->take(self->user, &link, err);
}

/* "SNOD", version, number of symbols. */
static int read_symbols(void *user, struct bytes key, uint64_t at, struct err *err)
{
    struct members *self = user;
    struct hdf5 *file = self->file;
    struct bytes in;
    uint16_t n;

    (void)key;
    if (hdf5_block(file, at, 8, "SNOD", false, &in, err) < 0)
        return -1;
    bytes_skip(&in, 2);
    n = bytes_u16(&in);
    if (hdf5_block(file, at, 8 + n * (24 + 2 * (uint64_t)file->offset_size), "SNOD",
                   false, &in, err) < 0)
        return -1;
    bytes_skip(&in, 4);
    for (uint32_t i = 0; i < n; i++)
        if (take_symbol(self, &in, err) < 0)
            return -1;
    return 0;
}

static int read_old(struct members *self, struct str message, struct err *err)
{
    struct hdf5 *file = self->file;
    struct bytes in = bytes_of(message.at, message.len);
    uint64_t tree = hdf5_offset(file, &in), heap = hdf5_offset(file, &in);

    if (in.bad)
        return err_set_about(err, ERR_FORMAT, file->path, ": a damaged group");
    if (load_names(self, heap, err) < 0)
        return -1;
    return hdf5_btree1(file, tree, 0, file->length_size, read_symbols, self, err);
}

/* ---- new groups ---- */

/* Version, flags, [kind], [order], [character set], length of the name, name, target. */
static int take_message(struct members *self, struct str message, struct err *err)
{
    struct hdf5 *file = self->file;
    struct bytes in = bytes_of(message.at, message.len);
    struct hdf5_link link = {.at = HDF5_NOWHERE};
    uint8_t flags, kind = 0;

    bytes_u8(&in);
    flags = bytes_u8(&in);
    if (flags & 8)
        kind = bytes_u8(&in);
    if (flags & 4)
        bytes_skip(&in, 8);
    if (flags & 16)
        bytes_skip(&in, 1);
    link.name = bytes_take(&in, hdf5_number(&in, 1u << (flags & 3)));
    if (kind == 0)
        link.at = hdf5_offset(file, &in);
    else
        link.target = bytes_take(&in, bytes_u16(&in));
    link.external = kind == 64;
    if (in.bad)
        return err_set_about(err, ERR_FORMAT, file->path, ": a damaged link");
    return self->take(self->user, &link, err);
}

/* A record of the B-tree of names: a hash, then the id. */
static int read_dense(void *user, struct bytes record, uint64_t child, struct err *err)
{
    struct members *self = user;
    struct str id, message;

    (void)child;
    bytes_skip(&record, 4);
    id = bytes_take(&record, bytes_left(&record));
    if (hdf5_fractal_get(self->file, &self->heap, id, &message, err) < 0)
        return -1;
    return take_message(self, message, err);
}

/* Version, flags, [largest order], heap, B-tree of names. */
static int read_info(struct members *self, struct str message, struct err *err)
{
    struct hdf5 *file = self->file;
    struct bytes in = bytes_of(message.at, message.len);
    uint64_t heap, tree;

    bytes_u8(&in);
    if (bytes_u8(&in) & 1)
        bytes_skip(&in, 8);
    heap = hdf5_offset(file, &in);
    tree = hdf5_offset(file, &in);
    if (in.bad)
        return err_set_about(err, ERR_FORMAT, file->path, ": a damaged group");
    if (heap == HDF5_NOWHERE)
        return 0;
    if (hdf5_fractal_open(file, heap, &self->heap, err) < 0)
        return -1;
    return hdf5_btree2(file, tree, NULL, NULL, read_dense, self, err);
}

int hdf5_links(struct hdf5 *file, const struct hdf5_object *object,
               hdf5_take_link *take, void *user, struct err *err)
{
    struct members self = {.file = file, .take = take, .user = user};

    for (uint32_t i = 0; i < object->n; i++) {
        const struct hdf5_message *message = &object->messages[i];
        int status = 0;

        if (message->type == MESSAGE_SYMBOLS)
            status = read_old(&self, message->data, err);
        else if (message->type == MESSAGE_LINK)
            status = take_message(&self, message->data, err);
        else if (message->type == MESSAGE_LINK_INFO)
            status = read_info(&self, message->data, err);
        if (status < 0)
            return -1;
    }
    return 0;
}
