/* explore.h - the terminal explorer inside Python.
 *
 *     explore(thing, live=None, record=None, **settings)
 *
 * `thing` is a _core.Model or a _core.Run. `live` is a _core.Model of the module that
 * was recorded: it answers about values, attributes and code, as long as the module has
 * not changed. `record` runs the model once more and returns (Run, live) for :record.
 * `settings` are the view settings of explorer/settings.h, colour and ascii. beside:
 * another Model or Run to compare with; structure, rtol and atol as in diff(). columns,
 * rows: return one screen of this size as text; no terminal is touched.
 *
 * Other threads run while it waits for a key. Call it from the main thread only: live
 * objects are read on the calling thread. Returns True, or False if there is no
 * terminal. Re-raises errors of signal handlers. The terminal is always restored. */
#ifndef EXT_TYPES_EXPLORE_H
#define EXT_TYPES_EXPLORE_H

#include "ext/ext.h"

PyObject *explore(PyObject *module, PyObject *args, PyObject *kwargs);
/* The source for a _core.Run: that of the recorded module, a _core.Model or None, if its
 * structure is the same; else the Run's own. NULL: it has none. */
struct source *explore_source(PyObject *run, PyObject *live);

#endif
