/* inflated_in.h - a compressed stream as a blob: a gzip file, a zlib stream, a deflated
 * member of a zip. Opening it unpacks it once, which gives its size and compares its
 * checksum; nothing is kept of it but points to begin at again (at most 128, of 32 KiB),
 * so that any part can be read at the cost of unpacking from the last point on. */
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
    PACKING_GZIP,    /* one member, or several that follow each other */
    PACKING_ZLIB,
};

/* A part of a blob, and how it is packed. */
struct packed_part {
    struct blob *blob; /* borrowed */
    uint64_t at, size;
    enum packing packing;
};

/* What opening found. */
struct inflated_about {
    uint64_t size;  /* unpacked bytes that can be read */
    uint64_t used;  /* packed bytes of it, header and checksum included */
    uint32_t crc;   /* of the unpacked bytes */
    bool cut;       /* it unpacks to more than `most`: the rest is left out */
    bool bad_sum;   /* the checksum or size at its end is wrong */
    struct err why; /* not ERR_NONE: it is damaged or truncated after `size` bytes */
};

/* A limit that no honest file reaches: 256 MiB, or 128 times the packed size. (Deflate
 * itself reaches 1,032 times.) */
uint64_t inflated_most(uint64_t packed);

/* NULL: cancelled, out of memory, or the file cannot be read. A damaged stream gives the
 * bytes before the damage. */
struct blob *inflated_open(struct packed_part part, uint64_t most, const char *name,
                           struct work *work, struct inflated_about *ret_about,
                           struct err *err);

/* How the bytes are packed, by their beginning. Raw deflate streams are not recognised. */
enum packing packing_of(struct str head);

/* Unpack the front of a packed file, whose first bytes are `head`, into `to`; returns how
 * many bytes there are. */
size_t inflated_front(struct str head, void *to, size_t room);

#endif
