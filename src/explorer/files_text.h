/* files_text.h - the list of a folder's model files as lines.
 *
 *     models   12 of 128 files in 14 folders   3 other files skipped
 *      name                    format          size  params changed▾         safety
 *    ▌■resnet/best.pth         torch zip     97.8MB   25.6M 2024-05-01 12:30 ✓ SAFE
 *
 * If there are training runs, a column has their steps, newest loss and worst alarm.
 * Columns are dropped before names are cut: first parameters, then dates and formats.
 * The sort column stays. */
#ifndef EXPLORER_FILES_TEXT_H
#define EXPLORER_FILES_TEXT_H

#include "rows/files_view.h"
#include "text/lines.h"

/* The header and `height` - 1 rows from `top` on, each exactly `width` wide;
 * line.target is the row. */
void files_lines(struct lines *to, const struct files_view *view, uint32_t top,
                 uint32_t cursor, unsigned width, unsigned height);
/* The order of the column title at this cell; FILES_SORT_COUNT: none. */
enum files_sort files_column_at(const struct files_view *view, unsigned width,
                                unsigned cell);
/* "12 files: 9 safe (1 with findings), 2 need code, 1 unsafe, 0 inconclusive" */
void files_counts(struct buf *to, const struct file_counts *counts);
/* The width at which no name is cut. */
unsigned files_width(const struct files_view *view);
/* The title line, and the status line of one row. */
void files_title(struct lines *to, const struct files_view *view, const char *folder,
                 unsigned width);
void files_about(struct lines *to, const struct files_view *view, uint32_t cursor,
                 unsigned width);

#endif
