/* proto_in.h - writes protocol buffers and the records of event files.
 *
 * No protobuf library: an event file needs eight message types with two or three fields
 * each and only appends them. A library would add a code generator and a megabyte, and
 * could clash with the copy that TensorFlow or TensorBoard loads in the same process.
 * The wire format is frozen; tests read the files with TensorBoard itself. */
#ifndef HISTORY_SINKS_PROTO_IN_H
#define HISTORY_SINKS_PROTO_IN_H

#include <stdint.h>

#include "base/buf.h"

/* Append one field of a message. */
void proto_u64(struct buf *to, unsigned field, uint64_t value);
void proto_f32(struct buf *to, unsigned field, float value);
void proto_f64(struct buf *to, unsigned field, double value);
void proto_str(struct buf *to, unsigned field, struct str value); /* string or bytes */
void proto_f64s(struct buf *to, unsigned field, const double *x,
                uint32_t n); /* packed */

/* A message inside another:
 *     at = proto_begin(to, 5);
 *     proto_str(to, 1, tag);
 *     proto_end(to, at); */
size_t proto_begin(struct buf *to, unsigned field);
void proto_end(struct buf *to, size_t at);

/* A checksum: CRC-32C (Castagnoli). */
uint32_t crc32c(const void *at, size_t n);

/* Appends a record: length, its masked checksum, the bytes, their masked checksum. */
void record_add(struct buf *to, struct str bytes);

#endif
