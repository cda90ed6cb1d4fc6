/* blob.h - bytes that can be read anywhere: a file, memory, a part of another blob.
 * Readers and sources see only this, so that a member of an archive, a slice of a
 * distributed checkpoint or a range of a remote file is read like any file. Files are
 * read by pread: a file cut while it is open gives an error, never a signal. */
#ifndef BASE_BLOB_H
#define BASE_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct blob;
struct blob_ops {
    /* Read exactly n bytes at `at` (both inside `size`). Any thread may call it. */
    int (*read)(struct blob *blob, uint64_t at, void *to, size_t n, struct err *err);
    /* 1 if the bytes may differ from those first seen, else 0; NULL: never. */
    int (*changed)(struct blob *blob);
    void (*close)(struct blob *blob);
};

struct blob {
    const struct blob_ops *ops;
    const char *name; /* what to call it in a sentence; lives as long as the blob */
    uint64_t size;
};

/* Open a regular file (symlinks are followed). Folders, devices and FIFOs are refused
 * with a sentence and never waited for. */
struct blob *blob_open_file(const char *path, struct err *err);

/* The same for the plain file `name` in the open folder `dir_fd`; a name with '/' or
 * ".." is refused. Links are followed as the user's own were, since a download cache is
 * made of them; `shown` is what to call it. */
struct blob *blob_open_at(int dir_fd, const char *name, const char *shown,
                          struct err *err);

/* Bytes in memory; borrows them. */
struct blob *blob_open_memory(const void *at, size_t size, const char *name,
                              struct err *err);

/* A part of another blob, which it borrows. The range must lie inside. */
struct blob *blob_open_part(struct blob *whole, uint64_t at, uint64_t size,
                            const char *name, struct err *err);

void blob_close(struct blob *blob); /* NULL is allowed */

/* Read n bytes at `at`. A range that does not lie inside gives ERR_FORMAT; a file that
 * has become shorter gives ERR_CHANGED. */
int blob_read(struct blob *blob, uint64_t at, void *to, size_t n, struct err *err);

/* The same, as a fresh span in the arena (with a NUL behind it). */
int blob_load(struct blob *blob, uint64_t at, uint64_t n, struct arena *arena,
              struct str *ret_bytes, struct err *err);

bool blob_changed(struct blob *blob);

#endif
