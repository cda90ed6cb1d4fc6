/* grads.h - records gradients without changing autograd's graph.
 * Marks the autograd nodes of each call's arguments and results. When a backward
 * begins, puts hooks on the nodes that send gradients into or out of a call. grads.c
 * explains leaves, arguments that a call returns unchanged, equal arguments and
 * views written in place. Hooks hold numbers only, never tensors or modules, so
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
/* Ends the recording: adds a gap for gradients that a later backward would have
 * given. */
void grads_end(struct grads *grads);

/* A call. The recorder walks its arguments and results once and passes those that
 * require a gradient. `thread` is the number of the recorder's stack; `call` and
 * path ids are the trace's. The recording may end between grads_enter() and
 * grads_called(), and between grads_return() and grads_returned(): memory is freed
 * only in the second function of the pair. None of these raises. */
struct grads_visit;

/* Before forward; NULL if out of memory. */
struct grads_visit *grads_enter(struct grads *grads, uint32_t thread);
void grads_argument(struct grads_visit *visit, PyObject *tensor, uint32_t path);
/* All arguments were passed. `keywords`: these included keyword arguments. */
void grads_called(struct grads_visit *visit, uint32_t call, bool keywords);

/* After forward; NULL if the call is unknown. */
struct grads_visit *grads_return(struct grads *grads, uint32_t thread, uint32_t call);
/* Passes an argument again, because forward may have written to it. Call before
 * grads_result(). */
void grads_recheck(struct grads_visit *visit, PyObject *tensor);
void grads_result(struct grads_visit *visit, PyObject *tensor, struct str path,
                  uint32_t path_id);
/* All results were passed. `kwargs`: keyword arguments, or NULL. */
void grads_returned(struct grads_visit *visit, PyObject *kwargs);
/* Forward did not return: forget the call. */
void grads_drop(struct grads *grads, uint32_t thread, uint32_t call);
/* Record, once per object, that it is called inside a function transform. */
void grads_report_transformed(struct grads *grads, uint32_t object);

/* A backward begins. `roots`: tuple of the tensors it starts from; `gradients`:
 * tuple of their gradients. Never raises. */
void grads_begin(struct grads *grads, PyObject *roots, PyObject *gradients);
/* Whether a backward is running on this thread; a call is then a recomputation. */
int grads_in_backward(struct grads *grads);

#endif
