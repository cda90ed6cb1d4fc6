/* step_file_in.h - a file that grows by whole steps. A step that a full disk cuts short
 * is removed again, so the file stays readable and later steps can follow. Nothing is
 * buffered: added steps survive a crash of the process. */
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

/* Creates the folder unless it exists. */
int step_file_folder(const char *folder, struct err *err);
/* Creates a file with this name in the folder. ERR_USAGE if it exists. */
int step_file_open(struct step_file *file, const char *folder, const char *name,
                   struct err *err);
/* Appends the content of the buf, all or nothing. */
int step_file_add(struct step_file *file, const struct buf *from, struct err *err);
void step_file_close(struct step_file *file);

#endif
