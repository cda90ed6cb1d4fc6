/* input_in.h - what a reader is given: one opened file or folder, or a part of one. */
#ifndef READ_FILE_INPUT_IN_H
#define READ_FILE_INPUT_IN_H

#include "base/blob.h"
#include "base/folder.h"
#include "base/str.h"
#include "model/build.h"
#include "read/file/zip_in.h"

#define INPUT_HEAD  4096 /* bytes of the head that knows() may look at */
#define INPUT_DEPTH 4    /* files inside files */

struct input {
    const char *path;  /* as the user gave it; for an inner file, its whole story */
    struct str name;   /* its last part, for sentences and for the root of the tree */
    struct blob *blob; /* NULL for a folder; kept by the model's source already */
    struct str head;   /* the first bytes, at most INPUT_HEAD */
    struct zip *zip;   /* its entries, if it is a zip (zip->salvaged: one whose
                          directory is not there); else NULL */
    struct folder *folder; /* NULL for a file */
    uint32_t node;         /* the node its tree begins at: 0, or, for an inner file, the
                              node that stands for it */
    int depth;             /* 0, or how many files this one lies in */
    bool on_disk;          /* `path` leads to it, so files beside it may belong to it */
};

/* One file format. To add one: write read/NAME.c ending in such a table, and list it in
 * readers.c. Nothing else needs to know. The file is one of the model's files and its
 * blob is the source's when read() is called: a reader opens and closes nothing. It may
 * set model->format to something more telling than its name. */
struct reader {
    const char *name;                        /* "safetensors", shown to people */
    int (*knows)(const struct input *input); /* 0 no ... 100 sure; looks only at head,
                                                zip names, folder entries */
    int (*read)(struct input *input, struct build *build, struct err *err);
};

/* How sure a knows() should be, so that formats agree on who comes first. */
enum {
    SURE_MAGIC = 90, /* magic bytes or telling names that nothing else has */
    SURE_SHAPE = 60, /* the bytes make sense as this, but might be something else */
    SURE_TRACE = 20, /* better than nothing */
};

/* Read an inner file (a member, a slice) into the node `node` of the build by whichever
 * reader knows it. The blob is handed over to the model's source. */
int input_read_inner(struct input *outer, struct blob *takes_blob, const char *name,
                     uint32_t node, struct build *build, struct err *err);

/* Read a further file of the same model (a shard), which becomes one of its files, into
 * the outer one's node. The blob is handed over likewise. */
int input_read_shard(struct input *outer, struct blob *takes_blob, const char *name,
                     struct build *build, struct err *err);

/* All of the file in the build's scratch arena, or -1: too large for `limit`. */
int input_load(struct input *input, struct build *build, uint64_t limit,
               struct str *ret_bytes, struct err *err);

/* ---- for readers.c ---- */

/* Memory that a build may take before it has seen a file, and more of it for a file of
 * `size` bytes: in all, never more than 64 MB and eight times what was opened. The 20
 * MB that are left are for what tables copy while they grow, and for who looks at the
 * model. */
#define INPUT_MODEL_LIMIT   (28 * MIB)
#define INPUT_SCRATCH_LIMIT (8 * MIB)
#define INPUT_OWN_LIMIT     (4 * MIB)
#define INPUT_TABLE_LIMIT   (4 * MIB)
/* Begin a build for files with these limits. */
int input_build(struct build *build, const char *path, struct work *work,
                struct err *err);
void input_allow(struct build *build, uint64_t size);

/* Look at a file whose blob is set: its head and, if it is a zip, its directory. */
int input_look(struct input *input, struct build *build, struct err *err);

/* Does the head alone, looked at by all readers, promise a model? */
bool input_promising(const struct input *input);

/* Read it by the reader that knows it best. */
int input_run(struct input *input, struct build *build, struct err *err);

#endif
