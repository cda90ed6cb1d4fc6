/* series_tree_in.h - the model of a training history that has none. */
#ifndef SESSION_SERIES_TREE_IN_H
#define SESSION_SERIES_TREE_IN_H

#include "base/err.h"
#include "model/model.h"

/* A tree of the modules and parameters that its series name, without shapes. NULL: the
 * file has a model, or no history that can be read. */
const struct model *series_tree(const char *path, struct err *err);

#endif
