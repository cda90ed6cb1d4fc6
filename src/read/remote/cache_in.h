/* cache_in.h - blocks of a remote file on disk, below $XDG_CACHE_HOME/torchoscope/http.
 * A block is a file of its own that ends with its checksum and is written whole, so
 * that processes may share it and a damaged one is not used. In all it has at most 256
 * MB; files that were not used for longest go first. Without a place for it, nothing is
 * kept. */
#ifndef READ_REMOTE_CACHE_IN_H
#define READ_REMOTE_CACHE_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read/remote/fetch_in.h"

#define REMOTE_BLOCK (64 * 1024)

/* What is kept of one file; `folder` is NULL: nothing. */
struct remote_cache {
    char *folder;
    char version[FETCH_VERSION]; /* "": none is known */
    uint64_t total;
};

/* What is kept of this address. */
void remote_cache_open(struct remote_cache *cache, const char *url);
void remote_cache_close(struct remote_cache *cache);

/* The file has this version and size now; blocks of another one are dropped. */
void remote_cache_set(struct remote_cache *cache, const char *version, uint64_t total);

/* The n bytes of a block. False: it is not there. */
bool remote_cache_get(const struct remote_cache *cache, uint64_t block, void *to,
                      size_t n);
void remote_cache_put(const struct remote_cache *cache, uint64_t block, const void *at,
                      size_t n);

#endif
