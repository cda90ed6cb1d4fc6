/* native.h - three facts of the calling thread, about which torch is asked for each
 * operation: whether gradients are enabled, which backward runs, and the number of the
 * next node of autograd.
 *
 * A call of torch's Python functions costs 20 to 60 times as much as the C++ functions
 * behind them, which take nothing and return a number. These are looked up by their
 * symbols in the libraries that torch has loaded, and used if they answer as the Python
 * functions do; else the Python functions are called. None of these raises. */
#ifndef EXT_TORCH_NATIVE_H
#define EXT_TORCH_NATIVE_H

#include <stdbool.h>
#include <stdint.h>

bool native_grad_mode(void);
/* -1: no backward runs on this thread, or this torch does not tell. */
int64_t native_graph_task(void);
/* 0 if this torch does not tell. */
uint64_t native_sequence(void);

#endif
