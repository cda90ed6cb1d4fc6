/* walk.h - the tensors in nested arguments, each with its path.
 * Tuples, lists, deques, dicts and other mappings, named tuples, dataclasses, Hugging
 * Face outputs and caches, sets, and one level of other objects' attributes.
 * Depth and number have limits; a loop ends; properties are never run. */
#ifndef EXT_TORCH_WALK_H
#define EXT_TORCH_WALK_H

#include "ext/ext.h"

#define WALK_DEPTH 16
#define WALK_MOST  4096  /* tensors of one call */
#define WALK_ITEMS 65536 /* things looked at */

/* Called for each tensor. The path is "x", "mask", "x.logits[2]", "x{1}" (in a set);
 * good for the call, and not ended by NUL. Returns 0 to go on. */
typedef int walk_fn(void *user, PyObject *tensor, const char *path, size_t len);

/* args: a tuple or NULL; kwargs: a dict or NULL. names: what args are called, a tuple
 * of str, and last the name of what takes all further ones (*rest), or None; NULL: they
 * are called "[0]", "[1]". Never raises. Returns how many tensors were met; *ret_cut
 * (may be NULL) if a limit left some out. */
size_t walk_arguments(PyObject *args, PyObject *kwargs, PyObject *names, walk_fn *fn,
                      void *user, int *ret_cut);
/* A result: of a bare tensor the path is "". */
size_t walk_result(PyObject *result, walk_fn *fn, void *user, int *ret_cut);

#endif
