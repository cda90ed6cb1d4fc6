/* progress_text.h - the progress of a long job, in one line:
 *     stats 39% ███▉       1.6 of 4.1GB   2.1GB/s   1s left   */
#ifndef TEXT_PROGRESS_TEXT_H
#define TEXT_PROGRESS_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* The name of the job, its share and a bar of it. */
void text_progress_bar(struct buf *to, const char *what, uint64_t done, uint64_t total,
                       bool ascii);
/* Bytes, bytes a second, time left; ends in three blanks. */
void text_progress_bytes(struct buf *to, uint64_t done, uint64_t total, uint64_t ns);

#endif
