/* whole_file.h - write a file completely or not at all: to a temporary file beside it,
 * which then replaces it. The old file stays until then, and a link stays a link.
 * Anything but a regular file (a pipe, a device) is written directly. */
#ifndef BASE_WHOLE_FILE_H
#define BASE_WHOLE_FILE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/out.h"

struct whole_file {
    int fd;           /* write here */
    const char *name; /* the name of fd's file, for callers that open by name */
    char *path;       /* the final path, links resolved */
    bool direct;      /* name is path */
};

/* Errors name `path`. If it fails, there is nothing to close. */
int whole_file_begin(struct whole_file *file, const char *path, struct err *err);
/* Flush the file and move it to its final path. */
int whole_file_keep(struct whole_file *file, struct err *err);
/* Close it, and `out`, which wrote to its fd: kept if `status` is 0 and everything was
 * written, else discarded. Returns the resulting status; errors name `path`. */
int whole_file_end(struct whole_file *file, struct out *out, const char *path,
                   int status, struct err *err);
/* Discard it and leave the old file as it was. */
void whole_file_drop(struct whole_file *file);

#endif
