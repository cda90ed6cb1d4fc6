/* explore.h - the terminal explorer inside Python.
 *
 *     explore(thing, live=None, record=None, **look)
 *
 * `thing` is a _core.Model or a _core.Run. `live` is a _core.Model of the module that
 * the run is one of: it answers about values, attributes and code, as far as the module
 * is still what was recorded. `record` runs the model once more and gives (Run, live)
 * for :record. look: the words of show/link.h (at, open, depth, flat, labels, sort,
 * reverse, filter, mark, expand, panel, view, log, left, slice, call, hist, zoom,
 * layout, size) and of struct tui_look (theme, colour, ascii, plain, no_mouse). beside:
 * another Model or Run, with structure, rtol and atol as diff() has them, and
 * hide_equal: what differs is shown then. columns, rows: one screen of this size, which
 * is given as text; no terminal is touched.
 *
 * Other threads run while a key is awaited; all questions to live objects are asked by
 * the thread that calls this, which must be the main one. True: it was shown; False:
 * there is no terminal to show it on. An exception is one that a signal's handler
 * raised; the terminal is as it was before in any case. */
#ifndef EXT_TYPES_EXPLORE_H
#define EXT_TYPES_EXPLORE_H

#include "ext/ext.h"

PyObject *explore(PyObject *module, PyObject *args, PyObject *kwargs);

#endif
