/* args.h - formats the arguments of a module for people. A table in args.c lists, for
 * classes of torch.nn, which arguments matter, how to write them and which defaults to
 * omit. Other classes list all their arguments. */
#ifndef ROWS_ARGS_H
#define ROWS_ARGS_H

#include "base/buf.h"
#include "model/model.h"

/* Append the arguments of an object without brackets, separated by ", ": "3→64, 7×7,
 * stride=2"; for a guessed class "7×7, 3→64". Appends nothing if there are none. */
void args_show(struct buf *to, const struct model *model, const struct object *object);
/* The same as torch prints it: "64, 64, kernel_size=(3, 3), stride=(1, 1)". */
void args_repr(struct buf *to, const struct model *model, const struct object *object);

#endif
