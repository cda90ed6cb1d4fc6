/* model_type.h - _core.Model(what, name): a model as a Python object. `what` is a path
 * (str, bytes, os.PathLike), opened as the program does; anything else is a live module
 * or holds some, and is not kept alive. Methods, beside those of views.h:
 *   stats(name)       the statistics of a tensor, measured now, as a dict
 *   show(name, measure=False, quantiles=(), bins=0)
 *                     the document of one place, as a dict; its values are measured now
 *   bytes(name)       (bytes, dtype, shape): the elements of a tensor in C order
 *   object(name)      the live module or tensor; None if it is gone, or a file's
 *   names()           of all places but the root, in their order
 *   number(module), tensor_number(tensor)   their numbers, or None
 *   module(number), tensor(number), roots() the objects, or None if they are gone
 *   code(name)        (file, line, text) of a class, or None
 *   attributes(of)    of a live object: a list of dicts (name, text, handle, place,
 *                     flags); `of` is a name, or (handle,) for what is below one
 *   forget()          let go of what handles stand for
 *   bases(name)       the names of the classes it is made from
 * A name is one as session_find() takes them, or a place's number. Members: n_places,
 * changed, live. */
#ifndef EXT_TYPES_MODEL_TYPE_H
#define EXT_TYPES_MODEL_TYPE_H

#include "ext/ext.h"

extern PyType_Spec model_spec;

#endif
