/* model_in.h - declarations shared by the files of _core.Model.
 *   model_type.c   the type, for a live module or a file, and its table of methods
 *   model_ask.c    one place in full, values, names */
#ifndef EXT_TYPES_MODEL_IN_H
#define EXT_TYPES_MODEL_IN_H

#include "ext/live/live.h"
#include "ext/long_work.h"
#include "ext/types/model_type.h"
#include "ext/types/views.h"
#include "session/session.h"

struct model_type {
    PyObject_HEAD struct session *session;
    struct live *live; /* NULL: the model is from a file */
};

static inline struct model_type *model_of(PyObject *self)
{
    return (struct model_type *)self;
}

/* Methods: new references, or NULL and an exception. */
PyObject *model_stats(PyObject *self, PyObject *args);
PyObject *model_show(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *model_bytes(PyObject *self, PyObject *args);
PyObject *model_object(PyObject *self, PyObject *name);
PyObject *model_attributes(PyObject *self, PyObject *of);
PyObject *model_forget(PyObject *self, PyObject *unused);
PyObject *model_names(PyObject *self, PyObject *unused);

#endif
