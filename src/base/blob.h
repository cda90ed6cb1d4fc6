/* blob.h - random access to bytes: a file, memory, a part of another blob.
 * Readers and sources use only this, so that a member of an archive is read like any
 * file. Files are read with pread(): a file that is truncated while it is open gives an
 * error, never a signal. */
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
    const char *name; /* for messages; owned by the blob */
    uint64_t size;
};

/* Open a regular file; follows links. Folders, devices and FIFOs are an error; never
 * blocks. */
struct blob *blob_open_file(const char *path, struct err *err);

/* The same for the file `name` in the open folder `dir_fd`; a name with '/' or ".." is
 * an error. Follows links, because download caches use them; `shown` is for
 * messages. */
struct blob *blob_open_at(int dir_fd, const char *name, const char *shown,
                          struct err *err);

/* The same for a file that a model names: `path` may lead into folders below dir_fd.
 * Refuses (ERR_FORMAT) what could lead elsewhere: absolute paths, "..", backslashes,
 * symbolic links on the way, and files with several hard links. */
struct blob *blob_open_beneath(int dir_fd, struct str path, const char *shown,
                               struct err *err);

/* Bytes in memory; borrows them. */
struct blob *blob_open_memory(const void *at, size_t size, const char *name,
                              struct err *err);

/* A part of another blob, which it borrows. */
struct blob *blob_open_part(struct blob *whole, uint64_t at, uint64_t size,
                            const char *name, struct err *err);

void blob_close(struct blob *blob); /* NULL is allowed */

/* Read n bytes at `at`. ERR_FORMAT: the range is not inside; ERR_CHANGED: the file has
 * become shorter. */
int blob_read(struct blob *blob, uint64_t at, void *to, size_t n, struct err *err);

/* The same into a new span in the arena, with a NUL after it. */
int blob_load(struct blob *blob, uint64_t at, uint64_t n, struct arena *arena,
              struct str *ret_bytes, struct err *err);

bool blob_changed(struct blob *blob);

#endif
