/* seen.h - which value a tensor holds now: measured once, however many modules see it.
 * The key is address, shape, strides, dtype and version; it is good only while the
 * tensor that made the entry lives (a weak reference tells), for then its memory cannot
 * have been given to another. The version alone does not tell a value from the next
 * (fused optimizers, BatchNorm and .data do not raise it): where the elements can be
 * read, the fingerprint must match too. */
#ifndef EXT_RECORD_SEEN_H
#define EXT_RECORD_SEEN_H

#include "ext/torch/tensor.h"

#include "run/trace.h"

struct seen;

struct seen *seen_new(void);
void seen_free(struct seen *seen);
void seen_clear(struct seen *seen); /* when trace_epoch() changed; storages stay */

/* The value number known for this tensor, or RUN_NONE. `print`: see tensor_print(). */
uint32_t seen_find(struct seen *seen, const struct live_tensor *tensor, uint64_t print);
/* Remember it; RUN_NONE: forget it. `object` is the tensor; a failure to remember is no
 * failure. */
void seen_add(struct seen *seen, PyObject *object, const struct live_tensor *tensor,
              uint64_t print, uint32_t value);
/* A number for a tensor's storage within the run; *ret_new if it was not seen before.
 */
uint32_t seen_storage(struct seen *seen, PyObject *object, bool *ret_new);

#endif
