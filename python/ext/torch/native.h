/* native.h - three properties of the calling thread that are queried for each
 * operation: whether gradients are enabled, the running backward, and the sequence
 * number of the next autograd node.
 *
 * torch's Python functions take 20 to 60 times as long as the C++ functions that they
 * call, which take no arguments and return a number. These are looked up by symbol in
 * the libraries that torch has loaded, and used if they return the same as the Python
 * functions; otherwise the Python functions are called. None of these raises. */
#ifndef EXT_TORCH_NATIVE_H
#define EXT_TORCH_NATIVE_H

#include <stdbool.h>
#include <stdint.h>

bool native_grad_mode(void);
/* -1: no backward runs on this thread, or unknown in this torch. */
int64_t native_graph_task(void);
/* 0 if unknown in this torch. */
uint64_t native_sequence(void);

#endif
