/* progress.h - how far a long job is, on one line of stderr:
 *
 *     stats  39% ███▉       1.6 of 4.1GB   2.1GB/s   1s left   Ctrl-C stops
 *
 * A terminal sees the line change in place; with --progress, a file or a pipe gets a
 * line each second. Nothing is said of jobs that are over within a moment. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/work.h"

struct progress {
    struct work *work;
    const char *what; /* "stats" */
    const char *unit; /* of the work: "files"; NULL: bytes */
    uint64_t begin_ns, told_ns;
    bool terminal, ascii, shown;
};

/* Begin to tell about work that counts bytes, if stderr is a terminal or `always`.
 * `work` must outlive the progress. */
void progress_begin(struct progress *progress, struct work *work, const char *what,
                    bool always, bool ascii);
/* Take the line away until there is more to tell: something else is to be written. */
void progress_hide(struct progress *progress);
/* Take the line away, for good. */
void progress_end(struct progress *progress);

#endif
