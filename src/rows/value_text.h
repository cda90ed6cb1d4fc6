/* value_text.h - plain values as Python would write them, fit for a terminal. */
#ifndef ROWS_VALUE_TEXT_H
#define ROWS_VALUE_TEXT_H

#include "base/buf.h"
#include "model/model.h"

/* Append the value: 12, 0.001, "resnet18", [1, 2], {"lr": 0.1}, posix.system("ls"). It
 * stops after about `most` bytes with an … ; brackets are closed all the same. Names
 * and texts are escaped. */
void value_show(struct buf *to, const struct model *model, uint32_t value, size_t most);

/* The same as a size where it is one: (3, 3) is 3×3; else as above. */
void value_show_size(struct buf *to, const struct model *model, uint32_t value,
                     size_t most);

#endif
