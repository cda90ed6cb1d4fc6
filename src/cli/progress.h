/* progress.h - progress of a long job, on one line of stderr:
 *
 *     stats  39% ███▉       1.6 of 4.1GB   2.1GB/s   1s left   Ctrl-C stops
 *
 * On a terminal the line is updated in place; with --progress, a file or a pipe gets a
 * line each second. Short jobs print nothing. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/work.h"

struct progress {
    struct work *work;
    const char *what; /* "stats" */
    const char *unit; /* what `work` counts: "files"; NULL: bytes */
    uint64_t begin_ns, reported_ns;
    bool terminal, ascii, shown;
};

/* Begin to show the progress of `work`, if stderr is a terminal or with `always`.
 * `work` must outlive the progress. */
void progress_begin(struct progress *progress, struct work *work, const char *what,
                    bool always, bool ascii);
/* Clear the line before other output; the next update shows it again. */
void progress_hide(struct progress *progress);
/* Clear the line and stop. */
void progress_end(struct progress *progress);

#endif
