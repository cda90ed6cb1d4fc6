/* bytes.h - a cursor over untrusted bytes.
 * A read past the end returns zero and sets `bad`, which stays set: read everything,
 * then check `bad` once. Borrows the bytes. */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct bytes {
    const uint8_t *at;  /* next byte to read */
    const uint8_t *end; /* one past the last byte */
    bool bad;           /* some read went past the end */
};

struct bytes bytes_of(const void *at, size_t len);
size_t bytes_left(const struct bytes *in);
uint8_t bytes_u8(struct bytes *in);
uint16_t bytes_u16(struct bytes *in); /* little-endian, as all below */
uint32_t bytes_u32(struct bytes *in);
uint64_t bytes_u64(struct bytes *in);
int64_t bytes_i64(struct bytes *in);
double bytes_f64_big(struct bytes *in);              /* big-endian, as in pickles */
struct str bytes_take(struct bytes *in, uint64_t n); /* the next n bytes, borrowed */
struct str bytes_line(struct bytes *in); /* up to '\n', which is skipped; bad if none */
void bytes_skip(struct bytes *in, uint64_t n);

#endif
