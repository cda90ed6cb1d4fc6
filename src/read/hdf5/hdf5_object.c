#include "base/base.h"
#include "read/hdf5/hdf5_parts_in.h"

#define MESSAGES_MOST 65536

/* A block of messages that is still to be read. */
struct header_block {
    uint64_t at, size;
};

struct header_reading {
    struct hdf5 *file;
    struct hdf5_object *object;
    struct header_block *blocks;
    uint32_t n_blocks, blocks_room;
    bool new;        /* version 2: short message headers, signatures, checksums */
    bool with_order; /* version 2: messages have a number */
};

static int spent(const struct hdf5 *file, struct err *err)
{
    return arena_err(&file->build->scratch, file->path, err);
}

static int add_block(struct header_reading *self, struct header_block block,
                     struct err *err)
{
    if (arena_room(&self->file->build->scratch, &self->blocks, self->n_blocks,
                   &self->blocks_room, sizeof *self->blocks) < 0)
        return spent(self->file, err);
    self->blocks[self->n_blocks++] = block;
    return 0;
}

static int add_message(struct header_reading *self, struct hdf5_message message,
                       struct err *err)
{
    struct hdf5_object *object = self->object;
    struct bytes in = bytes_of(message.data.at, message.data.len);
    struct header_block next;

    if (message.type == MESSAGE_CONTINUED) {
        next.at = hdf5_offset(self->file, &in);
        next.size = hdf5_length(self->file, &in);
        return in.bad ? 0 : add_block(self, next, err);
    }
    if (object->n == MESSAGES_MOST)
        return err_set_about(err, ERR_LIMIT, self->file->path,
                             ": an object has more than %d messages", MESSAGES_MOST);
    if (arena_room(&self->file->build->scratch, &object->messages, object->n,
                   &object->room, sizeof *object->messages) < 0)
        return spent(self->file, err);
    object->messages[object->n++] = message;
    return 0;
}

/* The messages of one block. What is too short for a message is a gap. */
static int read_messages(struct header_reading *self, struct bytes in, struct err *err)
{
    size_t head = self->new ? (self->with_order ? 6 : 4) : 8;

    while (bytes_left(&in) >= head) {
        struct hdf5_message message;
        uint16_t size;

        message.type = self->new ? bytes_u8(&in) : bytes_u16(&in);
        size = bytes_u16(&in);
        message.flags = bytes_u8(&in);
        bytes_skip(&in, self->new ? (self->with_order ? 2 : 0) : 3);
        message.data = bytes_take(&in, size);
        if (in.bad)
            return err_set_about(err, ERR_FORMAT, self->file->path,
                                 ": a message is longer than the header of its object");
        if (message.type != 0 && add_message(self, message, err) < 0)
            return -1;
    }
    return 0;
}

static int read_block(struct header_reading *self, struct header_block block,
                      struct err *err)
{
    struct bytes in;
    struct str bytes;

    if (self->new) {
        if (block.size < 8)
            return hdf5_damaged(self->file, block.at, "a header block too short", err);
        if (hdf5_block(self->file, block.at, block.size, "OCHK", true, &in, err) < 0)
            return -1;
        return read_messages(self, in, err);
    }
    if (hdf5_load(self->file, block.at, block.size, &bytes, err) < 0)
        return -1;
    return read_messages(self, bytes_of(bytes.at, bytes.len), err);
}

/* "OHDR", version 2, flags, ...: the first block has no signature of its own. */
static int read_new(struct header_reading *self, uint64_t at, struct str head,
                    struct err *err)
{
    struct bytes in = bytes_of(head.at, head.len);
    uint8_t flags;
    uint64_t size, skipped;

    bytes_skip(&in, 5);
    flags = bytes_u8(&in);
    if (flags & 0x20)
        bytes_skip(&in, 16); /* times */
    if (flags & 0x10)
        bytes_skip(&in, 4); /* limits for attributes */
    size = hdf5_number(&in, 1u << (flags & 3));
    skipped = head.len - bytes_left(&in);
    if (in.bad || size > self->file->end)
        return hdf5_damaged(self->file, at, "a damaged object header", err);
    self->new = true;
    self->with_order = flags & 4;
    if (hdf5_block(self->file, at, skipped + size + 4, "OHDR", true, &in, err) < 0)
        return -1;
    bytes_skip(&in, skipped - 4);
    return read_messages(self, in, err);
}

/* Version 1: a version, a count, and the size of the first block. */
static int read_old(struct header_reading *self, uint64_t at, struct str head,
                    struct err *err)
{
    struct bytes in = bytes_of(head.at, head.len);
    struct header_block block = {.at = at + 16};

    if (bytes_u8(&in) != 1)
        return hdf5_damaged(self->file, at, "no object header", err);
    bytes_skip(&in, 7);
    block.size = bytes_u32(&in);
    return in.bad ? hdf5_damaged(self->file, at, "a truncated object header", err)
                  : read_block(self, block, err);
}

int hdf5_object(struct hdf5 *file, uint64_t at, struct hdf5_object *ret_object,
                struct err *err)
{
    struct header_reading self = {.file = file, .object = ret_object};
    uint64_t room = at < file->end ? file->end - at : 0;
    struct str head;
    int status;

    *ret_object = (struct hdf5_object){0};
    if (hdf5_load(file, at, room < 40 ? room : 40, &head, err) < 0)
        return -1;
    if (str_starts(head, STR("OHDR")))
        status = read_new(&self, at, head, err);
    else
        status = read_old(&self, at, head, err);
    for (uint32_t i = 0; status == 0 && i < self.n_blocks; i++)
        status = read_block(&self, self.blocks[i], err);
    return status;
}

const struct hdf5_message *hdf5_message(const struct hdf5_object *object,
                                        enum hdf5_message_type type)
{
    for (uint32_t i = 0; i < object->n; i++)
        if (object->messages[i].type == type)
            return &object->messages[i];
    return NULL;
}
