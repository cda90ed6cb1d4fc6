/* args.h - the arguments of a module as people read them.
 * For the classes of torch.nn a table (args.c) knows which numbers matter, in which
 * form, and which defaults go without saying; other classes list all that they have. */
#ifndef ROWS_ARGS_H
#define ROWS_ARGS_H

#include "base/buf.h"
#include "model/model.h"

/* Append the arguments of an object, without brackets, separated by ", ":
 * "3→64, 7×7, stride=2"; of a guess "7×7, 3→64". Nothing if there are none. */
void args_show(struct buf *to, const struct model *model, const struct object *object);
/* The same as torch prints it: "64, 64, kernel_size=(3, 3), stride=(1, 1)". */
void args_repr(struct buf *to, const struct model *model, const struct object *object);

#endif
