/* onnx_in.h - the ONNX format, a protobuf file without magic bytes.
 *
 *   onnx.c            the reader, and onnx_looks_like()
 *   wire_in.h         protobuf's wire format through a window of the file
 *   parsed_in.h       the content of a file as plain structures; parse*.c fill them
 *   onnx_tensor.c     tensors: dtypes, locations of their bytes, decoding
 *   onnx_external.c   data in files beside the model, never outside its folder
 *   onnx_names.c      the tree: modules by the scopes in names, tensors in them
 *   onnx_quant.c      scales and zero points of quantised tensors
 *   onnx_facts.c      producer, opsets, inputs and outputs
 *   walk_in.h         the program: nodes, calls of modules, If, Loop, Scan, functions
 *   infer_in.h        shapes of results, by operation */
#ifndef READ_ONNX_ONNX_IN_H
#define READ_ONNX_ONNX_IN_H

#include "read/file/input_in.h"

extern const struct reader onnx_reader;

/* Does a file begin like an ONNX model? */
bool onnx_looks_like(const struct input *input);

#endif
