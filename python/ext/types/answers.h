/* answers.h - runs as Python objects. A Run is immutable; its methods return plain
 * lists and dicts with the names of docs/json.md. */
#ifndef EXT_TYPES_ANSWERS_H
#define EXT_TYPES_ANSWERS_H

#include "ext/ext.h"

#include "run/run.h"

/* _core.Run: methods
 *   calls(name=None)    a list of dicts: all calls, or those of one module
 *   merged(name=None)   likewise, for the merged calls, which calls() does not list
 *   places()            the tree of the model: name, place, parent, class, kind, calls
 *   gaps(), params(), facts()
 *   kept(name, call=0, kind="out", path=None)   (bytes, dtype, shape) or None
 *   kept_at(number)     the same by its number in the file; IndexError: no such value
 *   keep_code(list)     sets the source of classes, as (class, file, line, text); call
 *                       it once
 *   op(number), op_values(number)   dicts: an operation, its tensors
 *   producer()   the operation that made the first non-finite value
 *   op_kinds()          the name of each kind of operation, a list
 *   find_ops(module=None, kinds=None, phase=None)   the numbers of operations of a
 *                       module and below, of kinds whose byte in `kinds` is not 0, and
 *                       of a phase: bytes of native 32-bit integers
 *   graph(level, phase=None)   the document `graph`, as a dict; level "ops" or "modules"
 *   save(path); and the methods in views.h
 * Members: n_calls, n_ops (None: operations were not recorded), lost_ops (beyond the
 * limit), cost (a dict: wall_ns, passes_ns, own_ns, hooks_ns). */
extern PyType_Spec run_spec;

/* A new Run. Takes ownership of `run`, also on failure. Other files call ext_run(). */
PyObject *answers_run(PyObject *run_type, struct run *run);
const struct run *answers_of(PyObject *run); /* borrowed from a Run */
/* The source for sessions of a Run, borrowed from it; NULL: use its model's source. */
struct source *answers_source(PyObject *run);
/* _core.is_run(path), _core.open_run(path) */
PyObject *answers_is_run(PyObject *module, PyObject *path);
PyObject *answers_open(PyObject *module, PyObject *path);

/* The statistics of a tensor with this dtype and shape, as a dict. */
PyObject *answers_stats(const struct stats *stats, enum dtype dtype,
                        const int64_t *shape, int rank);

#endif
