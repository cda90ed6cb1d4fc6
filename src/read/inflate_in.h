/* inflate_in.h - raw deflate streams, read in pieces, forwards. */
#ifndef READ_INFLATE_IN_H
#define READ_INFLATE_IN_H

#include <stdint.h>

#include "base/blob.h"
#include "base/err.h"

struct inflate;

/* The stream of `packed` bytes at `at`, which should give `size` bytes. */
struct inflate *inflate_open(struct blob *blob, uint64_t at, uint64_t packed,
                             uint64_t size, struct err *err);
/* The next n bytes, all of them, or -1: damaged or ends early. */
int inflate_read(struct inflate *inflate, void *to, size_t n, struct err *err);
uint64_t inflate_done(const struct inflate *inflate); /* bytes given out so far */
void inflate_close(struct inflate *inflate);

#endif
