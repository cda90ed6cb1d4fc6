/* pickle_load_in.h - loads a pickle, skipping the torch files and raw arrays in it. */
#ifndef READ_PICKLE_PICKLE_LOAD_IN_H
#define READ_PICKLE_PICKLE_LOAD_IN_H

#include "base/blob.h"
#include "model/build.h"

/* A file that begins with a pickle, in the build's scratch arena: byte n of it is byte
 * n of the file. Large byte strings that contain torch files are loaded in part, a
 * joblib file up to the first raw array; the rest is zero. */
struct pickle_load {
    struct blob *blob; /* borrowed */
    struct work *work;
    char *bytes;     /* a buffer of the file's size */
    uint64_t have;   /* loaded or skipped up to here */
    uint64_t loaded; /* bytes loaded */
    uint64_t walked; /* bytes scanned; a hostile file may cause many rescans */
    bool joblib;     /* it names joblib: raw arrays may follow BUILD opcodes */
};

int pickle_load(struct pickle_load *load, struct blob *blob, struct build *build,
                struct str *ret_bytes, struct err *err);

/* Load the opcodes from byte `at` on, the end of a raw array whose first bytes were
 * loaded. */
int pickle_load_from(struct pickle_load *load, uint64_t at, struct err *err);

/* Load the first bytes of a raw array that ends at `end`. */
int pickle_load_raw(struct pickle_load *load, uint64_t at, uint64_t end,
                    struct err *err);

/* Load the bytes that pickle_load() skipped in `bytes`, a part of `all`. */
int pickle_load_rest(struct blob *blob, struct str all, struct str bytes,
                     struct err *err);

/* Does a byte string begin with the magic number of an old torch file? */
bool pickle_is_torch_file(struct str bytes);

#endif
