/* remote_in.h - files of web servers, read by ranges: a blob that asks only for the bytes
 * that are needed.
 *
 *   remote.c   the blob: what is known, what to ask for next
 *   fetch_in.h one request, by libcurl, which is opened on first use
 *   cache_in.h blocks on disk, so that the next command need not ask for them again
 *
 * Small reads, and all reads until remote_settle(), come in blocks of 64 KiB, which are
 * kept: in memory, and on disk if the server names the version of the file (ETag).
 * Larger reads later (tensors) are passed on. A file whose version or size changes
 * while it is read is an error, never a mixture. */
#ifndef READ_REMOTE_REMOTE_IN_H
#define READ_REMOTE_REMOTE_IN_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/blob.h"

/* Does it begin with http:// or https://? */
bool remote_is_url(const char *path);

/* The address as it may be shown and stored: without user, password and query, which
 * may be secrets. NULL: the arena is spent. */
const char *remote_shown(const char *url, struct arena *arena);

/* The address of the file `name` beside it, with the same query. `name` is plain
 * (folder_name_is_plain()). NULL: the arena is spent. */
const char *remote_beside(const char *url, struct str name, struct arena *arena);

/* Asks for the first block. NULL: there is no such file, or the server does not give
 * ranges. Any thread may read the blob. */
struct blob *remote_open(const char *url, struct err *err);

/* The structure of the file was read: from now on only small reads are kept. Does
 * nothing to other blobs. */
void remote_settle(struct blob *blob);

#endif
