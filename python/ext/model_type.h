/* model_type.h - _core.Model(object, name): a live model as a Python object.
 * It keeps nothing alive. Methods:
 *   tree(all=False)   the text that `torchoscope tree` prints
 *   json(kind)        a document of docs/json.md as text: "tree", "info"
 *   stats(name)       the statistics of a tensor, measured now, as a dict
 *   number(module), tensor_number(tensor)   their numbers, or None
 *   module(number), tensor(number), roots() the objects, or None if they are gone
 *   code(name)        (file, line, text) of a class, or None
 *   bases(name)       the names of the classes it is made from
 * and members n_places, changed. */
#ifndef EXT_MODEL_TYPE_H
#define EXT_MODEL_TYPE_H

#include "ext/ext.h"

extern PyType_Spec model_spec;

#endif
