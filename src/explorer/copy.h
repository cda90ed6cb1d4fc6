/* copy.h - what `y` copies of a row: names as other programs want them. All are one
 * line that may be pasted anywhere: what could be taken for a command or a line's end
 * is written as an escape. JSON comes from export/, the command from link.h. */
#ifndef EXPLORER_COPY_H
#define EXPLORER_COPY_H

#include "base/buf.h"
#include "rows/rows.h"
#include "rows/show.h"
#include "text/lines.h"

/* layer1.0.conv2: the full name; of the root that of its file, of a pair's row the name
 * without the prefix that only one side has. */
void copy_name(struct buf *to, const struct show *show, const struct row *row);
/* model.layer1[0].conv2, checkpoint["epoch"]: how Python reaches it. */
void copy_python(struct buf *to, const struct show *show, const struct row *row);
/* layer1.0.conv2.weight: its key in the state_dict; of a module that of its first own
 * tensor. Appends nothing where there is none. */
void copy_key(struct buf *to, const struct show *show, const struct row *row);
/* Lines as plain text, each ended, without the blank ones at the end. How many. */
uint32_t copy_lines(struct buf *to, const struct lines *lines);

#endif
