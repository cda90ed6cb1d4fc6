/* files_text.h - the model files of a folder as lines: what a person chooses from.
 *
 *     models   128 files in 14 folders, looking for more …   3 other files skipped
 *     name                     format       size  params changed▾         safety
 *    ▌resnet/best.pth          torch zip  97.8MB   25.6M 2024-05-01 12:30 ✓ SAFE
 */
#ifndef SHOW_FILES_TEXT_H
#define SHOW_FILES_TEXT_H

#include "session/file_list.h"
#include "show/lines.h"

/* The header and `height` - 1 rows from `top` on, each exactly `width` wide;
 * line.target is the row. */
void files_lines(struct lines *to, const struct file_list *list, uint32_t top,
                 uint32_t cursor, unsigned width, unsigned height);
/* "12 files: 9 safe (1 with findings), 2 need code, 1 unsafe, 0 inconclusive" */
void files_counts(struct buf *to, const struct file_counts *counts);
/* The width at which no name is cut. */
unsigned files_width(const struct file_list *list);
/* The title line, and what is said of one row in the status line. */
void files_title(struct lines *to, const struct file_list *list, const char *folder,
                 unsigned width);
void files_about(struct lines *to, const struct file_list *list, uint32_t cursor,
                 unsigned width);

#endif
