/* input_in.h - the public header of read/file: inputs, archives and sources of bytes.
 *
 *   input_in.h        one opened file, folder or part of a file; struct reader
 *   file_source_in.h  locates the bytes of each storage: the source of every model
 *                     that was read from files
 *   zip_in.h          the entries of a zip archive: directory, checks, salvage
 *   tar_in.h          the members of a tar archive
 *   inflate_in.h      unpacks deflate streams
 *   cover_in.h        holes and overlaps between tensors
 *   program_facts_in.h  inputs and outputs of the program, for `info`
 *
 * input_run(), input_promising() and input_note_address() are in readers.c. */
#ifndef READ_FILE_INPUT_IN_H
#define READ_FILE_INPUT_IN_H

#include "base/blob.h"
#include "base/folder.h"
#include "base/str.h"
#include "model/build.h"
#include "read/file/zip_in.h"

#define INPUT_HEAD  4096 /* length of input.head */
#define INPUT_DEPTH 4    /* limit for files inside files */

struct input {
    const char *path;      /* as the user gave it; for an inner file "OUTER: NAME" */
    const char *url;       /* its full address on a web server (`path` has no secrets);
                              or NULL */
    struct str name;       /* its last part, for messages and the root of the tree */
    struct blob *blob;     /* owned by the model's source; NULL for a folder */
    struct str head;       /* the first bytes, at most INPUT_HEAD */
    struct zip *zip;       /* its entries if it is a zip, else NULL */
    struct folder *folder; /* NULL for a file */
    uint32_t node;         /* the build's node for its tree; 0: the root */
    int depth;             /* nesting depth: number of files around it */
    bool inner;            /* a part of another file */
    bool on_disk;          /* `path` is a real path: files beside it may belong to it */
    bool shard;            /* the same, but opened for another file or folder */
};

/* One file format. When read() is called, the file is already one of the model's files
 * and its blob belongs to the source: a reader opens and closes nothing. It may set
 * model->format to something more specific than its name. */
struct reader {
    const char *name;                        /* "safetensors", shown to people */
    int (*knows)(const struct input *input); /* 0 no ... 100 sure; looks only at head,
                                                zip names and folder entries */
    int (*read)(struct input *input, struct build *build, struct err *err);
};

/* What knows() returns. */
enum {
    SURE_MAGIC = 90, /* magic bytes or names that no other format has */
    SURE_SHAPE = 60, /* plausible, but may be another format */
    SURE_TRACE = 20, /* a weak hint */
};

/* Read an inner file (a member, a slice) into the node `node` of the build, with the
 * reader that knows it best. The model's source takes the blob. */
int input_read_inner(struct input *outer, struct blob *takes_blob, const char *name,
                     uint32_t node, struct build *build, struct err *err);

/* The same with this reader, without detecting the format. */
int input_read_inner_as(struct input *outer, struct blob *takes_blob, const char *name,
                        uint32_t node, const struct reader *reader, struct build *build,
                        struct err *err);

/* Read another file of the same model (a shard) into the node of `outer`. It becomes
 * one of the model's files; the source takes the blob. */
int input_read_shard(struct input *outer, struct blob *takes_blob, const char *name,
                     struct build *build, struct err *err);

/* Moves most of the unused scratch memory to the model and the build, if so many
 * tensors need it. Call it once, for a file that is not part of another. */
void input_share_scratch(struct build *build, uint32_t tensors);

/* ---- for readers.c and verify.c ---- */

/* Memory limits of a build before it has seen a file. input_allow() adds more for a
 * file of `size` bytes. In all it is at most 64 MB plus eight times the bytes opened,
 * which leaves 20 MB for tables while they grow and for the users of the model. */
#define INPUT_MODEL_LIMIT   (28 * MIB)
#define INPUT_SCRATCH_LIMIT (8 * MIB)
#define INPUT_OWN_LIMIT     (4 * MIB)
#define INPUT_TABLE_LIMIT   (4 * MIB)
int input_build(struct build *build, const char *path, struct work *work,
                struct err *err);
void input_allow(struct build *build, uint64_t size);
/* Records that the newest file of the model came from this address. */
void input_note_address(struct build *build, const char *url);

/* Fill in `head` and, for a zip, `zip`. The blob must be set. */
int input_look(struct input *input, struct build *build, struct err *err);

/* Does any reader recognise the head as a model? */
bool input_promising(const struct input *input);

/* Read it with the reader that knows it best. */
int input_run(struct input *input, struct build *build, struct err *err);

#endif
