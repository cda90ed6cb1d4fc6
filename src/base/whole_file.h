/* whole_file.h - a file that is written whole or not at all: under a temporary name
 * beside it, then renamed. What stood there before stays until then, and a link stays a
 * link. What is no plain file (a pipe, a device) is written to directly. */
#ifndef BASE_WHOLE_FILE_H
#define BASE_WHOLE_FILE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/out.h"

struct whole_file {
    int fd;           /* to write to */
    const char *name; /* of what fd is open on: for those who open by name */
    char *path;       /* where it is to stand, links followed */
    bool direct;      /* name is path */
};

/* Sentences name `path`. Nothing is to be ended if it fails. */
int whole_file_begin(struct whole_file *file, const char *path, struct err *err);
/* Give it its name, once it is on the disk. */
int whole_file_keep(struct whole_file *file, struct err *err);
/* End it, and `out`, which wrote to its fd: kept if `status` is 0 and all was written,
 * else dropped. Returns the status that it comes to; sentences name `path`. */
int whole_file_end(struct whole_file *file, struct out *out, const char *path,
                   int status, struct err *err);
/* Leave all as it was. */
void whole_file_drop(struct whole_file *file);

#endif
