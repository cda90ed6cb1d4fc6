/* value_text.h - formats plain values as Python does, safe for a terminal. */
#ifndef ROWS_VALUE_TEXT_H
#define ROWS_VALUE_TEXT_H

#include "base/buf.h"
#include "model/model.h"

/* Append the value: 12, 0.001, "resnet18", [1, 2], {"lr": 0.1}, posix.system("ls").
 * Stops after about `most` bytes with an … but still closes brackets. Escapes names and
 * texts. */
void value_show(struct buf *to, const struct model *model, uint32_t value, size_t most);
/* The same for values outside of the model's: of a run, with the tensors of its
 * model. */
void value_show_in(struct buf *to, const struct values *values,
                   const struct model *model, uint32_t value, size_t most);

/* Like value_show(), but writes a size with ×: (3, 3) is 3×3. */
void value_show_size(struct buf *to, const struct model *model, uint32_t value,
                     size_t most);

#endif
