/* writer.h - records the history of a training run.
 *
 *     writer = history_writer_create("run.scope", run, code, &options, &err);
 *     loss = history_writer_name(writer, STR("loss"));
 *     weight = history_writer_series(writer, &series);
 *     for each logged step:
 *         history_writer_begin(writer, number, HISTORY_TRAIN, 0);
 *         history_writer_point(writer, &point);
 *         history_writer_scalar(writer, loss, 0.25);
 *         history_writer_end(writer, 0);
 *     history_writer_close(writer, &err);
 *
 * These calls copy what they get into a bounded queue. They take no file lock, never
 * wait for the disk and never fail: if the queue is full, the whole step is dropped and
 * counted. A thread writes each step in one transaction, so that `kill -9` or a full
 * disk loses at most the steps in the queue. history_writer_state() reports errors of
 * the thread.
 *
 * Any thread may call these functions, one step at a time. In a forked process a writer
 * does nothing. */
#ifndef HISTORY_WRITER_H
#define HISTORY_WRITER_H

#include "base/err.h"
#include "history/history.h"
#include "history/sink.h"
#include "run/run.h"

struct history_writer;

struct history_options {
    uint64_t limit; /* of the file and its -wal, in bytes; 0: 256 MiB, at least 1 MiB.
                       Old steps are merged to keep it */
    uint32_t steps; /* most rows of steps; 0: 32,768 */
    uint32_t queue; /* most steps in the queue; 0: 256 */
    uint64_t queue_bytes; /* most memory of the queue; 0: 64 MiB */
    uint32_t rank, ranks; /* of this process; ranks 0: not distributed */
    struct str text;      /* of the segment, for people: host and process; borrowed */
    const struct history_codec *codec; /* NULL: history_spreads */
};

/* Creates a file with the sections of `run` (model, recording of the first pass; may be
 * NULL) and an empty history. Replaces a file at `path`, unless it is live. `code` as
 * in run_file_write(). With `path` NULL there is no file: steps go to sinks only. */
struct history_writer *history_writer_create(const char *path, const struct run *run,
                                             struct source *code,
                                             const struct history_options *options,
                                             struct err *err);
/* Continues the history in a file, with a new segment. */
struct history_writer *history_writer_resume(const char *path,
                                             const struct history_options *options,
                                             struct err *err);
/* A history in memory, without a model; nothing is written to disk. It lasts as long as
 * the writer or a reader has it open. */
struct history_writer *history_writer_memory(const struct history_options *options,
                                             struct err *err);
/* The path for history_open(), in this process, while the writer is open. */
const char *history_writer_path(const struct history_writer *writer);

/* From now on the thread passes every step to this sink too, also if the file cannot be
 * written. Takes ownership: closing the writer closes the sink. */
void history_writer_add(struct history_writer *writer, struct history_sink *sink);

/* Replaces the recording in the file by another one of the same model, for example of a
 * more informative step than the first. Waits until it is written; borrows `run` and
 * `code`. On failure the file is unchanged. */
int history_writer_replace_run(struct history_writer *writer, const struct run *run,
                               struct source *code, struct err *err);

/* Declares a series (a scalar) and returns its index, the same for equal ones;
 * HISTORY_NONE if there are too many: its points are then ignored. */
uint32_t history_writer_series(struct history_writer *writer,
                               const struct history_series *series);
uint32_t history_writer_name(struct history_writer *writer, struct str name);

/* Begins a step with this number; drops an unfinished one. `wall_ns`: nanoseconds since
 * 1970, 0: now. */
void history_writer_begin(struct history_writer *writer, uint64_t number,
                          enum history_phase phase, uint64_t wall_ns);
/* Add to the current step; ignored without one. Points of one series in one step are
 * merged. */
void history_writer_point(struct history_writer *writer,
                          const struct history_point *point);
void history_writer_scalar(struct history_writer *writer, uint32_t name, double value);
/* Adds an alarm. If the current step is dropped, the next one that is written has it.
 * With `step` and `wall_ns` 0 it gets those of the current step. */
void history_writer_alarm(struct history_writer *writer,
                          const struct history_alarm *alarm);
/* A sentence about this step, for people. */
void history_writer_note(struct history_writer *writer, struct str text);
/* Passes the current step to a sink now, on this thread, for a sink that must not wait.
 * An alarm of a step that is then dropped is not passed on again. -1: the sink
 * failed. */
int history_writer_show(struct history_writer *writer, struct history_sink *sink,
                        struct err *err);
/* Ends the step: it goes into the queue. */
void history_writer_end(struct history_writer *writer, unsigned flags);

struct history_state {
    uint64_t written;    /* steps in the file, by this writer */
    uint64_t dropped;    /* steps lost: queue full, or writing failed */
    uint64_t rows;       /* of steps in the file */
    uint64_t merged;     /* pairs of rows that were merged */
    uint64_t bytes;      /* of the file and its -wal */
    uint64_t step_bytes; /* estimate for the newest step */
    uint64_t keeps;      /* estimate of how many such steps fit unmerged */
    uint64_t disk_bytes; /* written to the disk so far: pages to the -wal and from it */
    uint64_t commits_ns; /* spent in transactions */
    uint64_t cpu_ns;     /* processor time of the thread */
    uint64_t alarms_lost; /* beyond the limit of one writer */
    bool failed;          /* writing has stopped, perhaps temporarily */
    bool wal;             /* the journal; false: the file system does not support it */
    char problem[512];    /* the first error, a sentence; empty: none */
};
void history_writer_state(struct history_writer *writer,
                          struct history_state *ret_state);

/* Waits until the queue is empty. */
void history_writer_flush(struct history_writer *writer);

/* Writes the queued steps, merges the -wal into the file and frees the writer. On
 * failure `err` says what is missing, and the file is still usable. Does nothing in a
 * forked process. */
int history_writer_close(struct history_writer *writer, struct err *err);

#endif
