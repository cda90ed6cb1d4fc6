/* history_types.h - the history of a training as Python objects.
 *   history_writer.c  _core.HistoryWriter
 *   history_steps.c   a step as a dict, for callbacks
 *   history_reader.c  _core.History
 *   history_rows_in.h rows as dicts */
#ifndef EXT_TYPES_HISTORY_TYPES_H
#define EXT_TYPES_HISTORY_TYPES_H

#include "ext/ext.h"

#include <stdbool.h>

/* _core.HistoryWriter(run, path, limit=0, text="", how="new", rank=0, ranks=0): creates
 * a .scope file with this _core.Run and an empty history; with path None there is no
 * file, only sinks. how="resume" continues the history of a file, how="memory" creates
 * one in memory: then `run` is None, and in memory `path` too. `text` names the host
 * and process. A thread does the writing.
 *   path                          for _core.History() in this process
 *   add_sink(name, folder, run)   also write there: "tensorboard", "csv"
 *   keep_steps()                  keep each step from now on, for take_steps()
 *   take_steps() -> list          the kept steps as dicts; removes them
 *   scalars(number, phase, list)  a step with only scalars: (name, float)
 *   parcels(number, phase, list[, kind, text])  a step of the points and scalars in
 *                                 parcels (bytes); optionally with an alarm
 *   state() -> dict               written, dropped, merged, bytes, step_bytes, keeps,
 *                                 disk_bytes, cpu_ns, problem
 *   flush()                       wait for the thread
 *   close()                       completes the file; raises if something is missing */
extern PyType_Spec writer_spec;
struct history_writer;
/* NULL: an exception is set, because it was closed. */
struct history_writer *writer_of(PyObject *self);

/* The current step of a writer as a dict: number, phase, time, scalars, points, alarms;
 * None if there is none. A point has tag, the columns of History.series() and .points()
 * and its packed histogram. NULL: an exception is set. */
PyObject *step_object(struct history_writer *writer);
/* Keeps the current step of a HistoryWriter if keep_steps() was called. False: an
 * exception is set. */
bool writer_keep_step(PyObject *self);
/* _core.bins(packed, most) -> dict: edges, counts, counted, of; at most `most` bins. None
 * if there is no histogram. */
PyObject *history_bins(PyObject *module, PyObject *args);
/* _core.sample_places(n) -> bytes: the positions of the elements that a histogram of n
 * elements counts (spread_places()), as int64. */
PyObject *history_places(PyObject *module, PyObject *n);

/* _core.History(path): of a file, or of a folder of ranks. Raises KeyError if there is no
 * history. All answers are lists of dicts.
 *   series()             name, path, call, kind, phase
 *   names()              of scalars: a list of str
 *   steps(phase)         first, last, merged, wall_ns, dropped
 *   points(series, phase, histograms=False, most=0)
 *   scalars(name, phase) step, last, n, mean, min, max
 *   alarms()             step, kind, severity, name, line, text; in a folder also rank
 *   ranks()              the ranks in a folder, a list of int; None: a single file */
extern PyType_Spec history_spec;

#endif
