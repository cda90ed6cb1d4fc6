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

#include "base/str.h"

struct recorder;
struct grads;

struct grads *grads_new(struct recorder *recorder);
void grads_free(struct grads *grads);
/* The recording ends: say what a later backward could have told. */
void grads_end(struct grads *grads);

/* A call. The recorder walks its arguments and results once and passes on those that
 * require a gradient. `thread` is the number of the recorder's stack, `call` and path
 * ids are the trace's. Between grads_enter() and grads_called(), and between
 * grads_return() and grads_returned(), the recording may end: nothing is freed before
 * the second function of the pair is called. None of these raises. */
struct grads_visit;

/* Before forward; NULL without memory. */
struct grads_visit *grads_enter(struct grads *grads, uint32_t thread);
void grads_argument(struct grads_visit *visit, PyObject *tensor, uint32_t path);
/* All arguments were passed on. `keywords`: those by keyword were among them. */
void grads_called(struct grads_visit *visit, uint32_t call, bool keywords);

/* After forward; NULL if the call is not known. */
struct grads_visit *grads_return(struct grads *grads, uint32_t thread, uint32_t call);
/* An argument again: forward may have written to it. Pass these before the results. */
void grads_recheck(struct grads_visit *visit, PyObject *tensor);
void grads_result(struct grads_visit *visit, PyObject *tensor, struct str path,
                  uint32_t path_id);
/* All results were passed on. `kwargs` is NULL or the arguments by keyword. */
void grads_returned(struct grads_visit *visit, PyObject *kwargs);
/* Forward did not return: forget the call. */
void grads_drop(struct grads *grads, uint32_t thread, uint32_t call);
/* Record, once per object, that it is called inside a function transform. */
void grads_tell_transformed(struct grads *grads, uint32_t object);

/* A backward begins: `roots` is the tuple of tensors that it starts from, `gradients`
 * that of theirs. Never raises. */
void grads_begin(struct grads *grads, PyObject *roots, PyObject *gradients);
/* Is a backward under way on this thread (a recomputation, then)? */
int grads_in_backward(struct grads *grads);

#endif
