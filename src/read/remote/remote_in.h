/* remote_in.h - files on web servers, read by range requests: a blob that only fetches
 * the bytes that are read.
 *
 *   remote.c   the blob: which bytes are cached, which to fetch
 *   fetch_in.h one request, by libcurl, which is loaded on first use
 *   cache_in.h a cache of blocks on disk
 *
 * Small reads, and all reads before remote_settle(), fetch blocks of 64 KiB, which are
 * cached: in memory, and on disk if the server sends a version (ETag). Later large
 * reads (tensors) are not cached. If the version or size of the file changes while it
 * is read, that is an error. */
#ifndef READ_REMOTE_REMOTE_IN_H
#define READ_REMOTE_REMOTE_IN_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/blob.h"

/* Does it begin with http:// or https://? */
bool remote_is_url(const char *path);

/* The address to show and store: without user, password and query, which may be
 * secrets. NULL: the arena is spent. */
const char *remote_shown(const char *url, struct arena *arena);

/* The address of the file `name` in the same folder, with the same query. `name` must
 * be plain (folder_name_is_plain()). NULL: the arena is spent. */
const char *remote_beside(const char *url, struct str name, struct arena *arena);

/* Fetches the first block. NULL: no such file, or the server does not support ranges.
 * Any thread may read the blob. */
struct blob *remote_open(const char *url, struct err *err);

/* Call it after the structure of the file was read: from now on only small reads are
 * cached. Ignores other blobs. */
void remote_settle(struct blob *blob);

#endif
