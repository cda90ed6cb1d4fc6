/* grads.h - gradients without touching autograd's graph.
 * Nodes of autograd's graph are marked as results and arguments of calls; when a
 * backward begins, hooks are put on the nodes that send gradients across the borders of
 * calls. Rules for leaves, arguments that are passed on, equal arguments and views
 * written in place are in grads.c. Hooks hold numbers only, never tensors or modules:
 * nothing leaks. */
#ifndef EXT_RECORD_GRADS_H
#define EXT_RECORD_GRADS_H

#include "ext/ext.h"

#include <stdbool.h>
#include <stdint.h>

struct recorder;
struct grads;

struct grads *grads_new(struct recorder *recorder);
void grads_free(struct grads *grads);
/* The recording ends: say what a later backward could have told. */
void grads_end(struct grads *grads);

/* Around a call: what its inputs' edges are (before forward), and hooks on its outputs'
 * nodes (after it). Never raise. `call` is the trace's number; kwargs may be NULL: not
 * shown. `names` as for walk_arguments(). `flows`: does any of the arguments require a
 * gradient? */
void grads_before(struct grads *grads, uint32_t thread, uint32_t call, PyObject *args,
                  PyObject *kwargs, PyObject *names, bool flows);
void grads_after(struct grads *grads, uint32_t thread, uint32_t call, PyObject *args,
                 PyObject *kwargs, PyObject *result);
/* Say once of an object that it is called inside a function transform. */
void grads_tell_transformed(struct grads *grads, uint32_t object);
/* Instead of grads_after() where no result requires a gradient. */
void grads_none(struct grads *grads, uint32_t thread, uint32_t call);
/* Forget what grads_before() kept, where forward did not come back. */
void grads_drop(struct grads *grads, uint32_t thread);
/* A backward begins: `roots` is the tuple of tensors that it starts from, `gradients`
 * that of theirs. Never raises. */
void grads_begin(struct grads *grads, PyObject *roots, PyObject *gradients);
/* Is a backward under way on this thread (a recomputation, then)? */
int grads_in_backward(struct grads *grads);

#endif
