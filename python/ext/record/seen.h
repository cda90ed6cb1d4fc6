/* seen.h - maps a tensor to its value, so that a tensor seen by many modules is
 * measured once.
 * The key is address, shape, strides, dtype and version. An entry is valid only
 * while the tensor that made it lives (checked by a weak reference), because its
 * memory cannot be reused until then. The version alone is not enough: fused
 * optimizers, BatchNorm and .data do not raise it. If the elements can be read, the
 * fingerprint must match too. */
#ifndef EXT_RECORD_SEEN_H
#define EXT_RECORD_SEEN_H

#include "ext/torch/tensor.h"

#include "run/trace.h"

struct seen;

struct seen *seen_new(void);
void seen_free(struct seen *seen);
void seen_clear(struct seen *seen); /* when trace_epoch() changed; keeps storages */

/* The tensor's value number, or RUN_NONE if unknown. `print`: see tensor_print(). */
uint32_t seen_find(struct seen *seen, const struct live_tensor *tensor, uint64_t print);
/* Stores the value of a tensor; RUN_NONE removes it. `object` is the tensor.
 * Failures are ignored. */
void seen_add(struct seen *seen, PyObject *object, const struct live_tensor *tensor,
              uint64_t print, uint32_t value);
/* A number for the tensor's storage within the run; *ret_new: first seen now. */
uint32_t seen_storage(struct seen *seen, PyObject *object, bool *ret_new);

#endif
