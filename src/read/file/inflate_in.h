/* inflate_in.h - raw deflate streams, read in pieces, forwards.
 * Holds 100 KiB of heap, however large the stream is. */
#ifndef READ_FILE_INFLATE_IN_H
#define READ_FILE_INFLATE_IN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/blob.h"
#include "base/err.h"

struct inflate;

/* The stream of `packed` bytes at `at`, which should give `size` bytes. */
struct inflate *inflate_open(struct blob *blob, uint64_t at, uint64_t packed,
                             uint64_t size, struct err *err);
/* The next n bytes, all of them, or -1: damaged or ends early. After -1, what came
 * before the damage stands in `to`, and inflate_done() says how much that is. */
int inflate_read(struct inflate *inflate, void *to, size_t n, struct err *err);
uint64_t inflate_done(const struct inflate *inflate); /* bytes given out so far */
/* Would the stream give more than it was said to? (Reads one byte further.) */
bool inflate_has_more(struct inflate *inflate);
void inflate_close(struct inflate *inflate); /* NULL is allowed */

#endif
