/* peek.h - single parts of the hot path as functions of the module, for tests and for
 * measuring them by themselves. */
#ifndef EXT_TYPES_PEEK_H
#define EXT_TYPES_PEEK_H

#include "ext/ext.h"

/* _look(tensor, mode="full") -> dict: what tensor_look() and tensor_stats() say; None
 * if it is no tensor. _look_ns(tensor, n) -> float: nanoseconds of one look, of n.
 * _walk(result), _walk(args, kwargs) -> list of (path, tensor). */
extern PyMethodDef peek_functions[];

#endif
