/* tar_in.h - the members of a tar archive, one header after the other. Nothing is
 * unpacked; links, folders and notes between members are stepped over. */
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
    uint64_t missing; /* bytes of it that lie beyond the end of the file */
};

/* Does this look like the front of a tar? */
bool tar_looks_like(struct str head);

/* The first regular member whose header stands in these bytes; false if there is none.
 */
bool tar_first(struct str head, struct tar_member *ret_member);

/* The next regular member from the header at *at on, which moves behind it. 1: here it
 * is, 0: the archive ends here, -1: no header stands here, or it is cut short. */
int tar_next(struct blob *blob, uint64_t *at, struct tar_member *ret_member,
             struct err *err);

#endif
