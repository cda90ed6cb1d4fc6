/* inflate_in.h - reads raw deflate streams forwards, in pieces. Uses 100 KiB of heap
 * for streams of any size. */
#ifndef READ_FILE_INFLATE_IN_H
#define READ_FILE_INFLATE_IN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/blob.h"
#include "base/err.h"

struct inflate;

/* Open the stream of `packed` bytes at `at`, which should unpack to `size` bytes. */
struct inflate *inflate_open(struct blob *blob, uint64_t at, uint64_t packed,
                             uint64_t size, struct err *err);
/* Read the next n bytes. -1: the stream is damaged or ends early; `to` then has the
 * bytes before that, and inflate_done() counts them. */
int inflate_read(struct inflate *inflate, void *to, size_t n, struct err *err);
uint64_t inflate_done(const struct inflate *inflate); /* bytes unpacked so far */
/* Does the stream hold more than `size` bytes? (Reads one byte further.) */
bool inflate_has_more(struct inflate *inflate);
void inflate_close(struct inflate *inflate); /* NULL is allowed */

const char *inflate_library(void); /* the version of zlib: "1.2.13" */

/* Unpack a whole zlib stream in memory. False: it is damaged, or has not exactly `size`
 * bytes. */
bool inflate_zlib(const void *packed, size_t n, void *to, size_t size);

#endif
