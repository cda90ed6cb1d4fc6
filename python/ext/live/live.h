/* live.h - a live nn.Module (or an object that holds modules) as a struct model.
 * Names, classes with their bases, arguments as torch prints them, parameters, buffers,
 * ties, shared modules, plain attributes, training, hooks: all through model/build.h,
 * like a file. Its source (model/source.h) reads the tensors where they lie, and tells
 * attributes and the code of classes; it must be asked with the GIL held by the thread
 * that owns the model ("ask the owner"). */
#ifndef EXT_LIVE_LIVE_H
#define EXT_LIVE_LIVE_H

#include "ext/ext.h"

#include "base/err.h"
#include "model/model.h"

struct live; /* which object of the model is which Python object */

/* NULL and a Python exception when `object` holds no module. The model keeps weak
 * references to modules and tensors through `live`; it never keeps them alive. */
const struct model *live_model(PyObject *object, const char *name,
                               struct live **ret_live, struct err *err);
void live_free(struct live *live); /* NULL is allowed */

/* Is this TorchScript's name for modules, whatever they were made from? */
bool live_is_scripted(struct str class_name);

/* The object number (index in model->objects) of a module, quickly, by its address; or
 * NO_OBJECT for modules that are not part of the model (another model, a deep copy, a
 * new module at an old address). A replica of DataParallel is its original. */
uint32_t live_object(const struct live *live, PyObject *module);
/* The same by nothing but its address. */
uint32_t live_known_object(const struct live *live, PyObject *object);
/* The object of the module that torch.compile() made this one of; or NO_OBJECT. */
uint32_t live_compiled(const struct live *live, PyObject *module);
/* The tensor number of a parameter or buffer, by its address; or NO_OBJECT. */
uint32_t live_tensor_number(const struct live *live, PyObject *tensor);
/* New references, or NULL (no exception) if it is gone. */
PyObject *live_module(const struct live *live, uint32_t object);
PyObject *live_tensor_of(const struct live *live, uint32_t tensor);
/* The root modules that still live, as a new list (NULL: an exception): more than one
 * for an object that holds several. */
PyObject *live_roots(const struct live *live);

#endif
