/* pickle_load_in.h - loads a pickle without the torch files in it. */
#ifndef READ_PICKLE_PICKLE_LOAD_IN_H
#define READ_PICKLE_PICKLE_LOAD_IN_H

#include "base/blob.h"
#include "model/build.h"

/* Load a file that begins with a pickle into the build's scratch arena: byte n of it is
 * byte n of the file. Of large byte strings that are torch files only the first bytes
 * are loaded, the rest is zero: read the blob, or call pickle_load_rest() first. */
int pickle_load(struct blob *blob, struct build *build, struct str *ret_bytes,
                struct err *err);

/* Load what pickle_load() skipped of `bytes`, a part of `all`. */
int pickle_load_rest(struct blob *blob, struct str all, struct str bytes,
                     struct err *err);

/* Does a byte string begin with the magic number of an old torch file? */
bool pickle_is_torch_file(struct str bytes);

#endif
