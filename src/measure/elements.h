/* elements.h - a tensor's elements in C order, dense, in native byte order, whatever
 * its strides, packing or storage. Types with block scales (q4_K) are decoded to
 * float32: see elements_dtype(). Reads the storage in windows. Uses at most 1 MiB, or
 * 32 MiB for a large transposed tensor in C order. */
#ifndef MEASURE_ELEMENTS_H
#define MEASURE_ELEMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/work.h"
#include "model/model.h"

struct elements; /* an iteration */

/* The type of the returned elements: float32 for blocks with scales, else the stored
 * type. All functions below that take a dtype expect this one. */
enum dtype elements_dtype(enum dtype stored);

/* Iterate over elements `first` to `first + n` in C order (n = UINT64_MAX: to the end).
 * Fails with ERR_UNSUPPORTED if the values are unreadable. With `any_order`, a tensor
 * that is dense in another order (a transposed matrix) is returned in memory order;
 * elements_index() gives the index of each element. */
struct elements *elements_open(const struct model *model, const struct tensor *tensor,
                               uint64_t first, uint64_t n, bool any_order,
                               struct err *err);
/* The next dense block: its address and number of elements. Returns 1, 0 at the end, -1
 * on failure or cancellation. The block is valid until the next call and may have any
 * alignment; one of a packed type begins at a byte. Conjugation and negation are
 * applied. Adds the stored bytes to the work done. */
int elements_next(struct elements *elements, struct work *work, const void **ret_at,
                  size_t *ret_n, struct err *err);
/* The index in C order of the i-th element returned so far. */
uint64_t elements_index(const struct elements *elements, uint64_t i);
void elements_close(struct elements *elements);

/* Bytes of `n` elements in a block. */
size_t elements_size(enum dtype dtype, size_t n);

/* Decode elements `first` to `first + n` of the block `at` to doubles (complex and
 * float4_e2m1fn_x2: to n pairs; bool: 0 or 1). Exact except for 64-bit integers beyond
 * 2^53. False for types without numbers. */
bool elements_decode(enum dtype dtype, const void *at, size_t first, size_t n,
                     double *to);
/* Decode the first n elements of an integer type exactly (uint64 is cast). False for
 * other types. */
bool elements_decode_int(enum dtype dtype, const void *at, size_t n, int64_t *to);

/* SHA-256 of the elements in C order, little-endian: the bytes of torch's
 * tensor.contiguous(). For blocks with scales, of their values in float32. */
int elements_sha256(const struct model *model, const struct tensor *tensor,
                    struct work *work, char ret_hex[65], struct err *err);

#endif
