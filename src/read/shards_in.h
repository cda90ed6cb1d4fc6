/* shards_in.h - one model in several files.
 *
 *   shards.c         the reader: an index file, or a folder; reading the shards
 *   shards_index.c   what an index says: which tensor lies in which file
 *   shards_folder.c  what to read of a folder: an index, a set of shards, one file */
#ifndef READ_SHARDS_IN_H
#define READ_SHARDS_IN_H

#include "base/buf.h"
#include "base/folder.h"
#include "base/map.h"
#include "read/file/input_in.h"

/* One file of the model. */
struct shard {
    struct str name;
    bool refused;         /* its name leads out of the folder */
    bool broken;          /* it is there, but cannot be read */
    bool read;            /* it was there and could be read */
    uint32_t file;        /* then: its index in the model's files */
    uint32_t first, last; /* of the promises for it, chained by `next`; or UINT32_MAX */
};

/* One tensor, as the index has it. */
struct promise {
    struct str name;
    uint32_t shard, next; /* next: UINT32_MAX at the end */
    bool kept;            /* it was found in some shard */
};

struct shards {
    struct input *input;
    struct build *build;
    struct shard *shards; /* in the order they were first named */
    uint32_t n, room;
    struct promise *promises; /* none without an index */
    uint32_t n_promises, promises_room;
    struct map by_tensor; /* hash of a name -> promise */
    struct map by_shard;  /* hash of a name -> shard */
    bool has_index;
    bool has_total;
    uint64_t total_size; /* as the index says */
    struct err why;      /* why the first broken shard could not be read */
};

/* The shard with this name, made if it is new; UINT32_MAX: memory is spent. */
uint32_t shards_add(struct shards *self, struct str name);

/* Read an index into the lists. */
int shards_read_index(struct shards *self, struct str text, struct err *err);

/* Read all shards, which lie in the folder open as `dir_fd` (called `folder` in
 * sentences), into one tree, and compare them with the index. */
int shards_read_all(struct shards *self, int dir_fd, const char *folder,
                    struct err *err);

/* Say where the index and the tensors that were found disagree. */
int shards_compare(struct shards *self, struct err *err);

/* What to read of a folder. */
enum folder_choice { FOLDER_INDEX, FOLDER_SHARDS, FOLDER_FILE };
/* *ret_name is the index or the file; a set of shards goes into the lists. -1: nothing
 * to read, or several things: `err` says which. */
int shards_choose(struct shards *self, enum folder_choice *ret_choice,
                  struct str *ret_name, struct err *err);

#endif
