/* input_in.h - what a reader is given: one opened file or folder, or a part of one. */
#ifndef READ_INPUT_IN_H
#define READ_INPUT_IN_H

#include "base/blob.h"
#include "base/folder.h"
#include "base/str.h"
#include "model/build.h"
#include "read/zip_in.h"

#define INPUT_HEAD  4096 /* bytes of the head that knows() may look at */
#define INPUT_DEPTH 4    /* files inside files */

struct input {
    const char *path;      /* as the user gave it; for an inner file, its whole story */
    struct str name;       /* its last part, for sentences and for the root of the tree */
    struct blob *blob;     /* NULL for a folder */
    struct str head;       /* the first bytes, at most INPUT_HEAD */
    struct zip *zip;       /* its entries, if it is a zip with a directory; else NULL */
    struct folder *folder; /* NULL for a file */
    uint32_t node;         /* the node its tree begins at: 0, or, for an inner file, the
                              node that stands for it */
    int depth;             /* 0, or how many files this one lies in */
};

/* One file format. To add one: write read/NAME.c ending in such a table, and list it in
 * readers.c. Nothing else needs to know. */
struct reader {
    const char *name;                          /* "safetensors", shown to people */
    int (*knows)(const struct input *input);   /* 0 no ... 100 sure; looks only at head,
                                                  zip names, folder entries */
    int (*read)(struct input *input, struct build *build, struct err *err);
};

/* Read an inner file (a member, a slice) into the node `node` of the build by whichever
 * reader knows it. The blob is handed over to the model's source. */
int input_read_inner(struct input *outer, struct blob *takes_blob, const char *name,
                     uint32_t node, struct build *build, struct err *err);

/* All of the file in the build's scratch arena, or -1: too large for `limit`. */
int input_load(struct input *input, struct build *build, uint64_t limit,
               struct str *ret_bytes, struct err *err);

#endif
