/* run_file.h - the .scope file: a run, its model and its kept values, in SQLite.
 * docs/run-file.md specifies the format. Damaged files give an error or findings, never
 * a crash. Nothing in a file is executed: SQL in it (views, triggers) is not run, and
 * only the tables of the format are read. */
#ifndef RUN_RUN_FILE_H
#define RUN_RUN_FILE_H

#include "base/err.h"
#include "base/work.h"
#include "run/run.h"

/* Is it a .scope file: SQLite with the application_id of torchoscope? */
bool run_file_is(const char *path);

/* -1 with an error if `path` holds the history of a training run: it must not be
 * replaced by a plain recording. */
int run_file_may_replace(const char *path, struct err *err);

/* Writes a temporary file beside it and renames it: all or nothing. `path` may be the
 * file that the run was read from, but not one with a history. Kept values in a file
 * are copied part by part. `code` (may be NULL) provides the source code of classes if
 * the model lacks it. */
int run_file_write(const struct run *run, struct source *code, const char *path,
                   struct work *work, struct err *err);
/* The run with its model; free it with run_free(). A file holds the statistics of
 * parameters, not their values. Kept values are read on demand (run_kept_bytes). */
struct run *run_file_read(const char *path, struct work *work, struct err *err);

/* The same from bytes in memory, which must outlive the run. */
struct run *run_file_read_memory(const void *at, size_t size, const char *name,
                                 struct work *work, struct err *err);

/* Copies `n` bytes of a kept value from byte `at` on. Thread-safe. */
int run_kept_bytes(const struct run *run, uint32_t kept, uint64_t at, void *to,
                   size_t n, struct err *err);

#endif
