/* pickle_load_in.h - a pickle out of a file, but for the torch files that lie in it. */
#ifndef READ_PICKLE_PICKLE_LOAD_IN_H
#define READ_PICKLE_PICKLE_LOAD_IN_H

#include "base/blob.h"
#include "model/build.h"

/* The bytes of a file that begins with a pickle, in the build's scratch arena: byte n
 * of them is byte n of the file. Large byte strings that are torch files (see below)
 * are there with their first bytes only, the rest is zero: whoever wants more reads the
 * blob or asks for pickle_load_rest() first. */
int pickle_load(struct blob *blob, struct build *build, struct str *ret_bytes,
                struct err *err);

/* Fill in what pickle_load() left out of `bytes`, a part of `all`. */
int pickle_load_rest(struct blob *blob, struct str all, struct str bytes,
                     struct err *err);

/* Does a byte string begin as a torch file of the old kind does, with a pickle of its
 * magic number? */
bool pickle_is_torch_file(struct str bytes);

#endif
