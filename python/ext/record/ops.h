/* ops.h - records operations through a torch dispatch mode.
 *
 * A mode is a Python object on a stack that torch keeps for each thread; torch calls
 * its __torch_dispatch__ for every aten operation, below autograd, so also for those of
 * backward and of optimizers. Ours is a heap type in C that derives from
 * TorchDispatchMode; the remaining overhead is torch's.
 *
 * The name of an operation, the arguments that it writes to and its defaults are
 * requested once per kind, from torchoscope/op_kinds.py.
 *
 *   ops_attach.c  tensors attached by the user
 *   ops_mode.c    the mode's type; records one operation
 *   ops_kinds.c   kinds, and the arguments that are not tensors
 *   ops_memory.c  the storage of a tensor, and when it is freed
 *   ops_cause.c   the phase of an operation, its module, line and forward operation
 *   ops_measure.c statistics of results, and of arguments that no operation made
 *   ops_origin.c  the operation and call that made an autograd node */
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
 *   limit          operations kept individually; 0: the default
 *   stats          whether to measure the results of operations
 *   describe(func)     the properties of a kind
 *   run(func, args, kwargs)   runs a higher-order operation, with modes disabled
 *   enter()        enters a mode on this thread, and returns a function that leaves it
 *   replay         None, or an object that collects data for a replay, with methods
 *                  storage(number, storage), before(args, kwargs) and
 *                  op(number, func, args, kwargs, result, values)
 * NULL and an exception on failure. */
struct recorder_ops *ops_new(struct recorder *recorder, PyObject *wanted);
void ops_free(struct recorder_ops *ops);
/* Call it after the last operation: stops watching storages. */
void ops_stop(struct recorder_ops *ops);
/* Continues the recording without operations: like ops_stop(), and modes that are still
 * entered only pass operations on. They refer to `ops`: free it with the recorder. */
void ops_end(struct recorder_ops *ops);
/* Adds operations that ended before `ops` began. Takes `before` (NULL: none). */
void ops_follow(struct recorder_ops *ops, struct recorder_ops *before);

/* A new mode that records into this recorder; without one (NULL) it only passes
 * operations on, to measure torch's own overhead. */
PyObject *ops_mode(PyObject *recorder, struct recorder_ops *ops);

/* The index of a tensor's current value, or RUN_NONE. */
uint32_t ops_value(struct recorder_ops *ops, PyObject *tensor);
/* The optimizer's step() begins or ends on this thread. `frame`: the Python frame that it
 * runs in; NULL: the one that called our hook. */
void ops_optimizer(struct recorder_ops *ops, bool begins, PyObject *frame);
/* Assigns the nodes made so far to the current call. Call it when a call begins (before
 * it is in the trace), when it ends (while it still is), or when a mode was entered
 * (`known` false: earlier nodes are unknown). */
void ops_nodes_end(struct recorder_ops *ops, uint32_t thread, bool known);
/* A root call begins or ends on this thread: enters a mode if there is none, and leaves
 * it at the end. */
void ops_root_begins(struct recorder_ops *ops, uint32_t thread);
void ops_root_ends(struct recorder_ops *ops, uint32_t thread);
/* A backward begins or ends on this thread: likewise. */
void ops_backward(struct recorder_ops *ops, bool begins);
/* A call that runs compiled code ended: records it as a region with its tensors. */
void ops_region(struct recorder_ops *ops, const char *name, PyObject *args,
                PyObject *kwargs, PyObject *result, uint64_t start_ns, uint64_t ns);
/* Records attach(), which names a tensor in a module (given by place), as an
 * operation. */
void ops_attach(struct recorder_ops *ops, PyObject *tensor, struct str name,
                uint32_t place);
/* The number of operations seen, and our own time for them, including those of
 * `before`. */
uint64_t ops_count(const struct recorder_ops *ops);
uint64_t ops_own_ns(const struct recorder_ops *ops);

#endif
