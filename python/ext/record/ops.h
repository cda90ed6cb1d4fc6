/* ops.h - records operations, through a dispatch mode of torch's.
 *
 * A mode is a Python object on a stack that torch keeps for each thread; torch calls its
 * __torch_dispatch__ for every aten operation, below autograd, so also for those of
 * backward and of optimizers. Ours is a heap type in C that derives from
 * TorchDispatchMode: the time that remains is torch's.
 *
 * What an operation is called, which arguments it writes to and what it is given by
 * default is asked once for each kind, of torchoscope/op_kinds.py.
 *
 *   ops_attach.c  tensors that the user names
 *   ops_mode.c    the type, and one operation from its beginning to its end
 *   ops_kinds.c   kinds, and the arguments that are not tensors
 *   ops_memory.c  which storage a tensor is in, and when that is freed
 *   ops_cause.c   the phase of an operation, its module, line and forward operation
 *   ops_measure.c statistics of results, and of what no operation made
 *   ops_origin.c  which operation and call made a node of autograd */
#ifndef EXT_RECORD_OPS_H
#define EXT_RECORD_OPS_H

#include "ext/ext.h"

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct recorder;
struct recorder_ops;

/* Begins to record operations. `wanted` is an object with these attributes
 * (torchoscope/op_kinds.py):
 *   limit          operations kept one by one; 0: the default
 *   stats          whether to measure the results of operations
 *   describe(func)     what is known of a kind
 *   run(func, args, kwargs)   runs a higher-order operation, with modes disabled
 *   enter()        enters a mode on this thread, and returns a function that leaves it
 *   replay         None, or an object that keeps what a replay needs, with the methods
 *                  storage(number, storage), before(args, kwargs) and
 *                  op(number, func, args, kwargs, result, values)
 * NULL and an exception on failure. */
struct recorder_ops *ops_new(struct recorder *recorder, PyObject *wanted);
void ops_free(struct recorder_ops *ops);
/* No more operations will come: stops watching storages. */
void ops_stop(struct recorder_ops *ops);
/* The recording goes on without operations: ops_stop(), and modes that are still entered
 * only pass operations on. They refer to `ops`: free it with the recorder. */
void ops_end(struct recorder_ops *ops);
/* Those that ended before `ops` began. Takes `before` (NULL: none). */
void ops_follow(struct recorder_ops *ops, struct recorder_ops *before);

/* A new mode that records into this recorder; without one (NULL) it only passes
 * operations on: torch's own floor, for measuring. */
PyObject *ops_mode(PyObject *recorder, struct recorder_ops *ops);

/* The number of the value that a tensor holds now, or RUN_NONE. */
uint32_t ops_value(struct recorder_ops *ops, PyObject *tensor);
/* The optimizer's step() begins or ends on this thread. `frame`: the Python frame that it
 * runs in; NULL: the one that called our hook. */
void ops_optimizer(struct recorder_ops *ops, bool begins, PyObject *frame);
/* A call begins (before the trace knows) or ends (while it does), or a mode was entered
 * (`known` is false: the nodes before were made unseen): the nodes made so far belong to
 * the call that is open. */
void ops_nodes_end(struct recorder_ops *ops, uint32_t thread, bool known);
/* A root call begins on this thread: enters a mode if it has none. When it ends, leaves
 * it. */
void ops_root_begins(struct recorder_ops *ops, uint32_t thread);
void ops_root_ends(struct recorder_ops *ops, uint32_t thread);
/* A backward begins or ends on this thread: likewise. */
void ops_backward(struct recorder_ops *ops, bool begins);
/* A call that runs compiled code ended: enters it as a region with its tensors. */
void ops_region(struct recorder_ops *ops, const char *name, PyObject *args,
                PyObject *kwargs, PyObject *result, uint64_t start_ns, uint64_t ns);
/* attach() names a tensor in a module, by its place: recorded as an operation. */
void ops_attach(struct recorder_ops *ops, PyObject *tensor, struct str name,
                uint32_t place);
/* How many operations were seen, and our own time for them, those of `before` too. */
uint64_t ops_count(const struct recorder_ops *ops);
uint64_t ops_own_ns(const struct recorder_ops *ops);

#endif
