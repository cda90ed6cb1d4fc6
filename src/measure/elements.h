/* elements.h - a tensor's elements in C order, dense, in native byte order, whatever
 * its strides, packing or storage. Reads windows of its storage; holds 1 MiB at most,
 * and up to 32 MiB where a large transposed tensor is asked for in C order. */
#ifndef MEASURE_ELEMENTS_H
#define MEASURE_ELEMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/work.h"
#include "model/model.h"

struct elements; /* an iteration under way */

/* Elements `first` to `first + n` in C order (n = UINT64_MAX: to the end). Fails with
 * ERR_UNSUPPORTED and a sentence where the tensor's values cannot be read. Where
 * `any_order` is allowed, a tensor whose elements are dense in another order (a
 * transposed matrix) is given in the order of memory; elements_index() tells where each
 * stands. */
struct elements *elements_open(const struct model *model, const struct tensor *tensor,
                               uint64_t first, uint64_t n, bool any_order,
                               struct err *err);
/* The next dense block: its address and number of elements; returns 1, 0 at the end, -1
 * when it failed or was cancelled. The block is good until the next call and may lie at
 * any address; one of a packed type begins at a whole byte. Conjugated and negated
 * tensors come as they are meant, not as stored. Adds the bytes given out to the work
 * done. */
int elements_next(struct elements *elements, struct work *work, const void **ret_at,
                  size_t *ret_n, struct err *err);
/* The index in C order of the i-th element given out so far. */
uint64_t elements_index(const struct elements *elements, uint64_t i);
void elements_close(struct elements *elements);

/* Bytes that `n` elements take in a block (dense, whole blocks). */
size_t elements_size(enum dtype dtype, size_t n);

/* Decode n elements to doubles (complex and float4_e2m1fn_x2: to n pairs; bool: 0, 1).
 * Exact for all but 64-bit integers beyond 2^53. `first` matters for packed types: at
 * which element of the packed run `at` begins. False for types that hold no numbers. */
bool elements_decode(enum dtype dtype, const void *at, size_t first, size_t n,
                     double *to);
/* The same for integer types, exactly (uint64 is cast). False for other types. */
bool elements_decode_int(enum dtype dtype, const void *at, size_t n, int64_t *to);

/* SHA-256 of the elements in C order, little-endian, as torch's
 * tensor.contiguous() bytes would be. */
int elements_sha256(const struct model *model, const struct tensor *tensor,
                    struct work *work, char ret_hex[65], struct err *err);

#endif
