/* model_type.h - _core.Model(what, name): a model as a Python object. `what` is a path
 * (str, bytes, os.PathLike), opened as on the command line, or a live module or an
 * object that holds modules; it is not kept alive. Methods, besides those of views.h:
 *   stats(name)       the statistics of a tensor, measured now, as a dict
 *   show(name, measure=False, quantiles=(), bins=0)
 *                     the document of one place, as a dict; measures its values now
 *   bytes(name)       (bytes, dtype, shape): the elements of a tensor in C order
 *   object(name)      the live module or tensor; None if deleted, or from a file
 *   names()           the names of all places except the root, in order
 *   number(module), tensor_number(tensor)   their numbers, or None
 *   module(number), tensor(number), roots() the objects, or None if deleted
 *   code(name)        (file, line, text) of a class, or None
 *   attributes(of)    the attributes of a live object: a list of dicts (name, text,
 *                     handle, place, flags); `of` is a name, or (handle,) to unfold an
 *                     attribute
 *   forget()          releases the objects behind all handles
 *   bases(name)       the names of its base classes
 * `name` is a name that session_find() accepts, or a place number. Members: n_places,
 * changed, live. */
#ifndef EXT_TYPES_MODEL_TYPE_H
#define EXT_TYPES_MODEL_TYPE_H

#include "ext/ext.h"

extern PyType_Spec model_spec;

#endif
