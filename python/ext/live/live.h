/* live.h - a live nn.Module (or an object that holds modules) as a struct model.
 * Names, classes with their bases, arguments as torch prints them, parameters, buffers,
 * ties, shared modules, plain attributes, training, hooks: all through model/build.h,
 * like a file. Its source (model/source.h) reads the tensors in place, without copying
 * them, and returns attributes and the code of classes. Call it only from the thread
 * that owns the model, with the GIL held ("ask the owner"). */
#ifndef EXT_LIVE_LIVE_H
#define EXT_LIVE_LIVE_H

#include "ext/ext.h"

#include "base/err.h"
#include "model/model.h"

struct live; /* maps Python objects to objects of the model and back */

/* Returns NULL and sets a Python exception if `object` holds no module. `live` has only
 * weak references to modules and tensors; it never keeps them alive. */
const struct model *live_model(PyObject *object, const char *name,
                               struct live **ret_live, struct err *err);
void live_free(struct live *live); /* NULL is allowed */

/* Is this one of TorchScript's own class names, which hide the original class? */
bool live_is_scripted(struct str class_name);

/* Looks up a module by address: its object number (index in model->objects), or
 * NO_OBJECT if it is not part of the model (another model, a deep copy, a new module at
 * a reused address). A replica made by DataParallel has the number of its original. */
uint32_t live_object(const struct live *live, PyObject *module);
/* Like live_object(), but does not resolve replicas. */
uint32_t live_known_object(const struct live *live, PyObject *object);
/* The object number of the module that torch.compile() wrapped in this one; or
 * NO_OBJECT. */
uint32_t live_compiled(const struct live *live, PyObject *module);
/* The tensor number of a parameter or buffer, by its address; or NO_OBJECT. */
uint32_t live_tensor_number(const struct live *live, PyObject *tensor);
/* Does a known module hold a module or parameter that is not known? */
bool live_has_new(const struct live *live);
/* New references; NULL, without an exception, if the object was deleted. */
PyObject *live_module(const struct live *live, uint32_t object);
PyObject *live_tensor_of(const struct live *live, uint32_t tensor);
/* The root modules that still exist, as a new list; NULL: an exception is set. An
 * object that holds several modules has several roots. */
PyObject *live_roots(const struct live *live);

#endif
