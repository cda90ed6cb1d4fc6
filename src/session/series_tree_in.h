/* series_tree_in.h - a model for a training history without one. */
#ifndef SESSION_SERIES_TREE_IN_H
#define SESSION_SERIES_TREE_IN_H

#include "base/err.h"
#include "model/model.h"

/* A tree of the modules and parameters named by the history's series, without shapes.
 * NULL: the file has a model, or no readable history. */
const struct model *series_tree(const char *path, struct err *err);

#endif
