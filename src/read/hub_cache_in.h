/* hub_cache_in.h - the cache of huggingface_hub: a folder with blobs/, refs/ and
 * snapshots/HASH/, whose files are links to blobs. */
#ifndef READ_HUB_CACHE_IN_H
#define READ_HUB_CACHE_IN_H

#include "base/folder.h"

/* The path of the snapshot to read in this folder: that of refs/main, or the only one.
 * NULL: the folder is no cache of one model, or has several snapshots and no refs/main. */
const char *hub_cache_snapshot(const struct folder *folder, const char *path,
                               struct arena *arena);

#endif
