/* step_file_in.h - a file that grows by whole steps: what a full disk cuts off is removed
 * again, so that the file stays readable and later steps can follow. Nothing is held
 * back: what was added survives the process. */
#ifndef HISTORY_SINKS_STEP_FILE_IN_H
#define HISTORY_SINKS_STEP_FILE_IN_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct step_file {
    int fd; /* -1: closed */
    char *path;
    uint64_t size;
};

/* Makes the folder, unless it is there. */
int step_file_folder(const char *folder, struct err *err);
/* A new file of this name in the folder. One that exists is refused: ERR_USAGE. */
int step_file_open(struct step_file *file, const char *folder, const char *name,
                   struct err *err);
/* Adds what is in the buf, all of it or nothing. */
int step_file_add(struct step_file *file, const struct buf *from, struct err *err);
void step_file_close(struct step_file *file);

#endif
