/* shards_in.h - one model in several files.
 *
 *   shards.c         the reader for an index file or a folder; reads the shards
 *   shards_index.c   the index: the file of each tensor
 *   shards_folder.c  chooses what to read in a folder: index, shards, or one file */
#ifndef READ_SHARDS_IN_H
#define READ_SHARDS_IN_H

#include "base/buf.h"
#include "base/folder.h"
#include "base/map.h"
#include "read/file/input_in.h"

/* One file of the model. */
struct shard {
    struct str name;
    bool refused;         /* its name points outside the folder */
    bool broken;          /* it exists, but cannot be read */
    bool read;            /* it was read */
    uint32_t file;        /* if read: its index in the model's files */
    uint32_t first, last; /* its promises, linked by `next`; or UINT32_MAX */
};

/* One tensor of the index. */
struct promise {
    uint32_t shard, next; /* next: UINT32_MAX at the end */
    bool kept;            /* it was found in a shard */
};

struct shards {
    struct input *input;
    struct build *build;
    struct shard *shards; /* in the order they were first named */
    uint32_t n, room;
    struct promise *promises; /* without an index: the tensors found so far */
    uint32_t promises_room;
    struct name_map shard_names, tensor_names; /* index in the two lists */
    bool has_index;
    bool has_total;
    uint64_t total_size; /* from the index */
    struct err why;      /* the error of the first broken shard */
};

/* The shard with this name, added if it is new; UINT32_MAX: memory is spent. */
uint32_t shards_add(struct shards *self, struct str name);

/* Read an index into the lists. */
int shards_read_index(struct shards *self, struct str text, struct err *err);

/* Add findings where the index and the tensors in the shards disagree. */
int shards_compare(struct shards *self, struct err *err);

/* Is this the name of one part of several: NAME-00002-of-00005.EXT? */
bool shards_is_part(struct str name);
/* List the files of the folder that belong to the same set as this name; missing ones
 * are a finding. */
int shards_list_set(struct shards *self, struct str name);

enum folder_choice { FOLDER_INDEX, FOLDER_SHARDS, FOLDER_FILE };
/* Choose what to read in a folder. *ret_name is the index or the file; a set of shards
 * goes into the lists. -1: no model, or an ambiguous choice. */
int shards_choose(struct shards *self, enum folder_choice *ret_choice,
                  struct str *ret_name, struct err *err);
/* A note names the other models of the folder, and of folders in it: all but the shards
 * and the file `read`. */
void shards_note_others(struct shards *self, struct str read);

#endif
