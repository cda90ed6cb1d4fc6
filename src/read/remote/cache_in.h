/* cache_in.h - a cache on disk for blocks of remote files, in
 * $XDG_CACHE_HOME/torchoscope/http. Each block is a separate file that ends with its
 * checksum and is written atomically, so processes can share the cache and damaged
 * blocks are ignored. Limited to 256 MB; the least recently used files are deleted
 * first. Without a cache folder, nothing is cached. */
#ifndef READ_REMOTE_CACHE_IN_H
#define READ_REMOTE_CACHE_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read/remote/fetch_in.h"

#define REMOTE_BLOCK (64 * 1024)

/* The cache of one file; `folder` NULL: no cache. */
struct remote_cache {
    char *folder;
    char version[FETCH_VERSION]; /* "": unknown */
    uint64_t total;
};

/* Opens the cache of this address. */
void remote_cache_open(struct remote_cache *cache, const char *url);
void remote_cache_close(struct remote_cache *cache);

/* Sets the current version and size of the file; drops blocks of another version. */
void remote_cache_set(struct remote_cache *cache, const char *version, uint64_t total);

/* Reads the n bytes of a block. False: not cached. */
bool remote_cache_get(const struct remote_cache *cache, uint64_t block, void *to,
                      size_t n);
void remote_cache_put(const struct remote_cache *cache, uint64_t block, const void *at,
                      size_t n);

#endif
