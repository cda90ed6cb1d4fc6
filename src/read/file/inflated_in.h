/* inflated_in.h - a compressed stream as a blob: a gzip file, a zlib stream, a deflated
 * member of a zip. Opening it unpacks it once, to get its size and verify its checksum,
 * and keeps only checkpoints (at most 128, of 32 KiB). Reading any part then costs
 * unpacking from the nearest checkpoint. */
#ifndef READ_FILE_INFLATED_IN_H
#define READ_FILE_INFLATED_IN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/blob.h"
#include "base/err.h"
#include "base/work.h"

enum packing {
    PACKING_NONE,
    PACKING_DEFLATE, /* no header */
    PACKING_GZIP,    /* one member, or several in sequence */
    PACKING_ZLIB,
};

/* A part of a blob, and its compression. */
struct packed_part {
    struct blob *blob; /* borrowed */
    uint64_t at, size;
    enum packing packing;
};

/* The results of opening. */
struct inflated_about {
    uint64_t size;  /* unpacked bytes that can be read */
    uint64_t used;  /* packed bytes, including header and checksum */
    uint32_t crc;   /* of the unpacked bytes */
    bool cut;       /* it unpacks to more than `most`: the rest is ignored */
    bool bad_sum;   /* the checksum or size at its end is wrong */
    struct err why; /* not ERR_NONE: it is damaged or truncated after `size` bytes */
};

/* A limit that no legitimate file reaches: 256 MiB, or 128 times the packed size.
 * (Deflate can reach 1,032 times.) */
uint64_t inflated_most(uint64_t packed);

/* NULL: cancelled, out of memory, or the file cannot be read. A damaged stream gives the
 * bytes before the damage. */
struct blob *inflated_open(struct packed_part part, uint64_t most, const char *name,
                           struct work *work, struct inflated_about *ret_about,
                           struct err *err);

/* Detects the compression from the first bytes. Raw deflate streams are not
 * recognised. */
enum packing packing_of(struct str head);

/* Unpack the beginning of a packed file, whose first bytes are `head`, into `to`;
 * returns the number of bytes. */
size_t inflated_front(struct str head, void *to, size_t room);

#endif
