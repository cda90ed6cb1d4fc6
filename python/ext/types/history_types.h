/* history_types.h - the history of a training as Python objects.
 *   history_writer.c  _core.HistoryWriter
 *   history_reader.c  _core.History */
#ifndef EXT_TYPES_HISTORY_TYPES_H
#define EXT_TYPES_HISTORY_TYPES_H

#include "ext/ext.h"

/* _core.HistoryWriter(run, path, limit=0, text="", rank=0, ranks=0): a new .scope file
 * with this _core.Run and an empty history; `text` says who writes it. A thread writes
 * what it gets.
 *   scalars(number, phase, list)  a step that has only scalars: (name, float)
 *   parcels(number, phase, list[, kind, text])  a step of the points and scalars in
 *                                 parcels (bytes); perhaps with an alarm
 *   state() -> dict               written, dropped, bytes, step_bytes, problem
 *   flush()                       wait for the thread
 *   close()                       the file is whole; raises if something is missing */
extern PyType_Spec writer_spec;
struct history_writer;
/* NULL: an exception is set, because it was closed. */
struct history_writer *writer_of(PyObject *self);

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
