/* run_file.h - the .scope file: a run, its model and what was kept, in SQLite.
 * docs/run-file.md is the contract. It opens without Python. Any bytes as a file: a
 * sentence, never a crash; nothing in it is executed, and SQL in it (views, triggers)
 * is not run: only our own tables are read, defensively. */
#ifndef RUN_RUN_FILE_H
#define RUN_RUN_FILE_H

#include "base/err.h"
#include "base/work.h"
#include "run/run.h"

/* Does the file begin as one of ours? (SQLite, with our application_id.) */
bool run_file_is(const char *path);

/* Written to a temporary file beside it, then renamed: whole or not at all; it may be
 * the file that the run was read from. Kept values that are in a file are copied part
 * by part. `code` (or NULL) is asked for the source code of classes that the model does
 * not hold. */
int run_file_write(const struct run *run, struct source *code, const char *path,
                   struct work *work, struct err *err);
/* The run with its model; free it with run_free(). The values of parameters are not in
 * the file: their statistics are, where they were measured. Kept values are read from
 * the file when asked for (run_kept_bytes). */
struct run *run_file_read(const char *path, struct work *work, struct err *err);

/* The same from bytes in memory, which must outlive the run. */
struct run *run_file_read_memory(const void *at, size_t size, const char *name,
                                 struct work *work, struct err *err);

/* Copy `n` bytes of a kept value from byte `at` on. Any thread may ask. */
int run_kept_bytes(const struct run *run, uint32_t kept, uint64_t at, void *to,
                   size_t n, struct err *err);

#endif
