/* scalars.h - numbers of a training step, from Python. */
#ifndef EXT_SCALARS_H
#define EXT_SCALARS_H

#include "ext/ext.h"

#include <stdbool.h>

/* Adds a list of (name, float) to the writer's current step; false: an exception is
 * set. */
bool scalars_add(struct history_writer *writer, PyObject *list);

#endif
