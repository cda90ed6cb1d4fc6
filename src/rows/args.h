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
/* The same as a list of words for pictures: "3×3", "64→64", "stride 2", "in place". Text
 * i ends at ends[i] of `text`, which the caller releases. */
#define ARGS_WORDS 16
struct args_list {
    struct buf text;
    uint32_t ends[ARGS_WORDS];
    uint32_t n;
};
void args_words(struct args_list *list, const struct model *model,
                const struct object *object);
/* A hash of all arguments, except the index of the layer (layer_idx): it differs
 * between equal layers, and args_words() omits it too. */
uint64_t args_hash(const struct model *model, const struct object *object);
/* The same as torch prints it: "64, 64, kernel_size=(3, 3), stride=(1, 1)". */
void args_repr(struct buf *to, const struct model *model, const struct object *object);

#endif
