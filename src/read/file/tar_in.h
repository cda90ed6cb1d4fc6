/* tar_in.h - the regular files in a tar archive. Links, folders and extended headers
 * are skipped. */
#ifndef READ_FILE_TAR_IN_H
#define READ_FILE_TAR_IN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/blob.h"
#include "base/err.h"
#include "base/str.h"

#define TAR_BLOCK 512

struct tar_member {
    char name[101]; /* ends in NUL */
    uint64_t at, size;
    uint64_t missing; /* bytes beyond the end of the file */
};

/* Does this look like the beginning of a tar? */
bool tar_looks_like(struct str head);

/* The first regular file whose header is in these bytes; false: none. */
bool tar_first(struct str head, struct tar_member *ret_member);

/* The next regular file, from the header at *at on; moves *at past it. 1: found, 0: end
 * of the archive, -1: the header at *at is damaged or truncated. */
int tar_next(struct blob *blob, uint64_t *at, struct tar_member *ret_member,
             struct err *err);

#endif
