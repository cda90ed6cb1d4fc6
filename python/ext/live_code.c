/* live_code.c - the source text of a class, as torchoscope/class_code.py finds it. */
#include "ext/live_in.h"

static struct str copy(struct arena *arena, PyObject *text)
{
    Py_ssize_t len = 0;
    const char *at =
        text && PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, &len) : NULL;

    ext_swallow();
    return at ? arena_str(arena, str_span(at, (size_t)len)) : STR("");
}

/* (file, line, text) of a type, a new reference; NULL, no exception: nobody knows. */
static PyObject *find(PyObject *type)
{
    PyObject *module = PyImport_ImportModule("torchoscope.class_code");
    PyObject *found = module ? PyObject_CallMethod(module, "code_of", "O", type) : NULL;

    ext_swallow();
    Py_XDECREF(module);
    if (found && (!PyTuple_Check(found) || PyTuple_Size(found) != 3))
        Py_CLEAR(found);
    return found;
}

int live_code(struct source *source, uint32_t class_id, struct arena *arena,
              struct class_code *ret_code, struct err *err)
{
    const struct live *live = ((struct live_source *)source)->live;
    PyObject *type = NULL, *found;

    *ret_code = (struct class_code){.why = "its source is not to be had"};
    if (live && class_id < live->n_classes && live->classes[class_id])
        type = PyWeakref_GetObject(live->classes[class_id]);
    ext_swallow();
    if (!type || type == Py_None)
        return 0;
    Py_INCREF(type);
    found = find(type);
    Py_DECREF(type);
    if (found) {
        ret_code->file = copy(arena, PyTuple_GetItem(found, 0));
        ret_code->line = (uint32_t)PyLong_AsUnsignedLong(PyTuple_GetItem(found, 1));
        ret_code->text = copy(arena, PyTuple_GetItem(found, 2));
        ret_code->why = ret_code->text.len > 0 ? NULL : ret_code->why;
    }
    ext_swallow();
    Py_XDECREF(found);
    return arena->spent ? arena_err(arena, "the code of a class", err) : 0;
}
