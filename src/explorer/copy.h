/* copy.h - the texts that `y` copies for a row. Each is one line that is safe to paste:
 * control characters and line ends are escaped. JSON comes from export/, the command
 * from link.h. */
#ifndef EXPLORER_COPY_H
#define EXPLORER_COPY_H

#include "base/buf.h"
#include "rows/rows.h"
#include "rows/show.h"
#include "text/lines.h"

/* layer1.0.conv2: the full name. The root gives its file's name; a pair's row the name
 * without a prefix that only one side has. */
void copy_name(struct buf *to, const struct show *show, const struct row *row);
/* model.layer1[0].conv2, checkpoint["epoch"]: the Python expression. */
void copy_python(struct buf *to, const struct show *show, const struct row *row);
/* layer1.0.conv2.weight: the key in the state_dict; for a module, that of its first own
 * tensor. Appends nothing if there is none. */
void copy_key(struct buf *to, const struct show *show, const struct row *row);
/* Lines as plain text without blank lines at the end. Returns their number. */
uint32_t copy_lines(struct buf *to, const struct lines *lines);

#endif
