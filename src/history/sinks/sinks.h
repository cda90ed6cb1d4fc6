/* sinks.h - sinks (history/sink.h) that write files for other programs.
 *
 * The tour:
 *   events.c        TensorBoard: scalars, histograms, alarms as text
 *   events_graph.c  ... and the first pass of the model as its graph
 *   csv.c           two tables: scalars, and the statistics of series
 *   proto_in.h      protocol buffers and records of event files
 *   step_file_in.h  a file that grows by whole steps */
#ifndef HISTORY_SINKS_SINKS_H
#define HISTORY_SINKS_SINKS_H

#include "history/sink.h"
#include "run/run.h"

/* Both create `folder` if its parent exists. They return NULL on failure. */

/* A new file events.out.tfevents.<time>.<host>.<process>.<n> in the folder, with the
 * graph of the first pass in `run` (may be NULL). */
struct history_sink *events_sink_open(const char *folder, const struct run *run,
                                      struct err *err);
/* New tables scalars.csv and series.csv in the folder; existing ones are refused. */
struct history_sink *csv_sink_open(const char *folder, struct err *err);

#endif
