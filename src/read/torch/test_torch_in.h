/* test_torch_in.h - for tests of torch's files: writes pickles opcode by opcode. Each
 * function adds opcodes that push one value, or change the one on top. */
#ifndef READ_TORCH_TEST_TORCH_IN_H
#define READ_TORCH_TEST_TORCH_IN_H

#include <stdint.h>

#include "base/buf.h"

void op_text(struct buf *to, const char *text);
void op_int(struct buf *to, int64_t value);
void op_global(struct buf *to, const char *module, const char *name);
void op_ints(struct buf *to, const int64_t *values, int n); /* a tuple */

/* A float32 tensor on the storage with this key, as torch.save wrote it before 1.6; the
 * dict on the stack gets it as `name`. */
struct test_tensor {
    const char *name, *key;
    int64_t numel; /* of the storage, in elements */
    int64_t rank, shape[4], offset;
    const char *view_key; /* the storage is a view: with offset and size */
    int64_t view_offset, view_size;
};
void op_tensor(struct buf *to, const struct test_tensor *tensor);

/* Only its storage: a persistent id. */
void op_storage(struct buf *to, const struct test_tensor *tensor);

#endif
