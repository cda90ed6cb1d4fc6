/* walk.h - finds the tensors in nested arguments, each with its path.
 * Walks tuples, lists, deques, dicts and other mappings, named tuples, dataclasses,
 * Hugging Face outputs and caches, sets, and one level of other objects' attributes.
 * Depth and count are limited, cycles end, and properties are never evaluated. */
#ifndef EXT_TORCH_WALK_H
#define EXT_TORCH_WALK_H

#include "ext/ext.h"

#define WALK_DEPTH 16
#define WALK_MOST  4096  /* tensors per call */
#define WALK_ITEMS 65536 /* items visited */

/* Called for each tensor. The path is "x", "mask", "x.logits[2]", "x{1}" (in a set);
 * valid during the call, not NUL-terminated. Return 0 to continue. */
typedef int walk_fn(void *user, PyObject *tensor, const char *path, size_t len);

/* args: a tuple or NULL; kwargs: a dict or NULL. names: a tuple of str with the
 * names of args, followed by the name of *rest or None; NULL: the names are "[0]",
 * "[1]". Returns the number of tensors found; sets *ret_cut (may be NULL) if a limit
 * left some out. Never raises. */
size_t walk_arguments(PyObject *args, PyObject *kwargs, PyObject *names, walk_fn *fn,
                      void *user, int *ret_cut);
/* Walks a result; the path of a bare tensor is "". */
size_t walk_result(PyObject *result, walk_fn *fn, void *user, int *ret_cut);

#endif
