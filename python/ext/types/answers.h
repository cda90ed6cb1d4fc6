/* answers.h - runs as Python objects. A Run is frozen; its answers are plain lists and
 * dicts with the names of docs/json.md. */
#ifndef EXT_TYPES_ANSWERS_H
#define EXT_TYPES_ANSWERS_H

#include "ext/ext.h"

#include "run/run.h"

/* _core.Run: methods
 *   calls(name=None)    a list of dicts: all calls, or those of one module
 *   merged(name=None)   likewise: calls beyond those that are listed
 *   places()            the tree of the model: name, place, parent, class, kind, calls
 *   gaps(), params(), facts()
 *   kept(name, call=0, kind="out", path=None)   (bytes, dtype, shape) or None
 *   keep_code(list)     once: the source of classes, as (class, file, line, text)
 *   save(path); and what views.h says
 * and members n_calls, cost (a dict: wall_ns, passes_ns, own_ns,
 * hooks_ns). */
extern PyType_Spec run_spec;

/* A Run; takes the run, also when it fails. Others call ext_run(). */
PyObject *answers_run(PyObject *run_type, struct run *run);
const struct run *answers_of(PyObject *run); /* borrowed from a Run */
/* What sessions of a Run shall ask, borrowed from it; NULL: the source of its model. */
struct source *answers_source(PyObject *run);
/* _core.is_run(path), _core.open_run(path) */
PyObject *answers_is_run(PyObject *module, PyObject *path);
PyObject *answers_open(PyObject *module, PyObject *path);

/* Statistics of a tensor of this dtype and shape as a dict. */
PyObject *answers_stats(const struct stats *stats, enum dtype dtype,
                        const int64_t *shape, int rank);

#endif
