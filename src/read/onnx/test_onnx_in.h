/* test_onnx_in.h - for tests: protobuf messages, a field at a time. */
#ifndef READ_ONNX_TEST_ONNX_IN_H
#define READ_ONNX_TEST_ONNX_IN_H

#include "base/buf.h"

void pb_varint(struct buf *to, uint64_t value);
void pb_number(struct buf *to, uint32_t field, uint64_t value);
void pb_bytes(struct buf *to, uint32_t field, const void *at, size_t n);
void pb_text(struct buf *to, uint32_t field, const char *text);
/* Appends `inner` as a field and empties it. */
void pb_message(struct buf *to, uint32_t field, struct buf *inner);

/* A float tensor with raw_data, n elements of which are 1, 2, 3, ... */
void pb_tensor(struct buf *to, uint32_t field, const char *name, unsigned n);
/* A node: inputs and outputs are lists of words. An attribute may be added to `attr`
 * before, which is emptied. */
void pb_node(struct buf *to, uint32_t field, const char *op_type, const char *name,
             const char *inputs, const char *outputs, struct buf *attr);
/* A value of a graph, without a type. */
void pb_value(struct buf *to, uint32_t field, const char *name);
/* A model with this graph, which is emptied. */
void pb_model(struct buf *to, struct buf *graph);
/* x -> /layer/act/Relu -> y with w (4 floats). */
void pb_small(struct buf *to);

#endif
