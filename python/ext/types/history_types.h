/* history_types.h - the history of a training as Python objects.
 *   history_writer.c  _core.HistoryWriter
 *   history_reader.c  _core.History */
#ifndef EXT_TYPES_HISTORY_TYPES_H
#define EXT_TYPES_HISTORY_TYPES_H

#include "ext/ext.h"

/* _core.HistoryWriter(run, path, limit=0, text="", how="new"): a new .scope file with this
 * _core.Run and an empty history; how="resume" continues that of a file, how="memory"
 * begins one in memory. Then `run` is None, and in memory `path` too. `text` says who
 * writes it. A thread writes what it gets.
 *   path                          for _core.History() in this process
 *   scalars(number, phase, list)  a step that has only scalars: (name, float)
 *   state() -> dict               written, dropped, bytes, step_bytes, problem
 *   flush()                       wait for the thread
 *   close()                       the file is whole; raises if something is missing */
extern PyType_Spec writer_spec;
struct history_writer;
/* NULL: an exception is set, because it was closed. */
struct history_writer *writer_of(PyObject *self);

/* _core.History(path): raises KeyError if the recording has no history. All answers are
 * lists of dicts.
 *   series()             name, path, call, kind, phase
 *   names()              of scalars: a list of str
 *   steps(phase)         first, last, merged, wall_ns, dropped
 *   points(series, phase, histograms=False, most=0)
 *   scalars(name, phase) step, last, n, mean, min, max
 *   alarms()             step, kind, severity, name, line, text */
extern PyType_Spec history_spec;

#endif
