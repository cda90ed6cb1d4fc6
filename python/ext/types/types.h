/* types.h - the Python interface of the core.
 * Files of this folder:
 *   types.h        functions of the module that need no header of their own
 *   model_type.h   _core.Model: a live module or a file
 *   answers.h      _core.Run: a recording
 *   views.h        the tree as text, rows and exports, for both types
 *   history_types.h  _core.HistoryWriter and _core.History: a training's history
 *   server_type.h  _core.Server: the page of models, files and recordings
 *   explore.h      the terminal explorer in the user's process
 *   pairs.c        diff()
 *   arrange.c      places and lines of a graph
 *   program.c      `python -m torchoscope`
 *   numbers.c      format_count() and the other formatting functions
 *   ops.c          op_flops() and op_family(), the table of operations
 *   marks.c        properties of tensors that capsule.py needs at each step
 *   peek.c         exposes parts of the hot path to tests */
#ifndef EXT_TYPES_TYPES_H
#define EXT_TYPES_TYPES_H

#include "ext/ext.h"
#include "session/session.h"

/* _core.diff(left, right, structure=False, rtol=0, atol=0, all=False, width=0,
 * ascii=False, colour=False): compares two models, each a _core.Model or a _core.Run.
 * The last three options apply to the text. Returns a dict: equal (a bool), and the
 * strings text, json, markdown and python. A recording has no values to compare. */
PyObject *pairs_diff(PyObject *module, PyObject *args, PyObject *kwargs);

/* The session of a _core.Model, or a new one of a _core.Run, which the caller closes
 * (*ret_made). NULL: an exception is set. */
struct session *pairs_session(PyObject *module, PyObject *object, bool *ret_made);

/* main(*words): runs the program with these arguments, argv[0] first, and returns the
 * exit status. Resets signal handlers, so the process must do nothing else. */
PyObject *program_main(PyObject *module, PyObject *words);
/* live(*words): None if main() should run these arguments; else the command for a live
 * model: (command, words, options, page). `options` has the options that were given;
 * `page` has view, the keywords for explore(), and the style of standard output: json,
 * csv, ascii, colour, width. Prints usage errors and raises SystemExit(2). */
PyObject *program_live(PyObject *module, PyObject *words);

/* The formats of text/number.h: format_count(int), format_bytes(int),
 * format_time(seconds), format_percent(percent), format_shape(sizes),
 * format_devices(names) -> str */
extern PyMethodDef numbers_functions[];

/* op_flops(name, arguments, results, attributes) -> int or None: the FLOPs of an
 * operation from the table (run/op_table.h); None: unknown. `arguments` and `results`
 * are tuples with an item for each position: a tuple of sizes for a tensor, a list of
 * those, or None. `attributes` is a dict of the other arguments. */
PyObject *ops_flops(PyObject *module, PyObject *args);
/* op_family(name) -> (family, is it matrix work?, is there a formula?) */
PyObject *ops_family(PyObject *module, PyObject *args);

/* _arrange(boxes, edges) -> (width, height, places, lines): graph/arrange.h. Boxes are
 * tuples (parent or -1, width, height), edges (source, target), both in lists; places are
 * tuples (x, y, w, h), lines are lists of (x, y). */
PyObject *arrange_graph(PyObject *module, PyObject *args);

/* mark(tensor) -> (version, fingerprint, bytes, readable): the first two detect writes
 * (-1 and 0: unknown); None if it is not a tensor. copy(tensor, most) -> bytes, dense
 * and in C order; None if they cannot be read or are more than `most`. versions(list)
 * -> bytes, 64 bits each. */
extern PyMethodDef marks_functions[];

/* For tests and benchmarks. _look(tensor, mode="full") -> dict: what tensor_look() and
 * tensor_stats() return; None if it is not a tensor. _look_ns(tensor, n) -> float:
 * nanoseconds of one look, the mean of n. _walk(result), _walk(args, kwargs) -> list of
 * (path, tensor). */
extern PyMethodDef peek_functions[];

#endif
