/* live_code.c - the source text of a class, found by torchoscope/class_code.py. */
#include "ext/live/live_in.h"

static struct str copy(struct arena *arena, PyObject *text)
{
    Py_ssize_t len = 0;
    const char *at =
        text && PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, &len) : NULL;

    ext_swallow();
    return at ? arena_str(arena, str_span(at, (size_t)len)) : STR("");
}

/* Calls a function of class_code.py with a type. Returns its result, a tuple of `n`
 * items, as a new reference; NULL, without an exception: unknown. */
static PyObject *find(PyObject *type, const char *function, Py_ssize_t n)
{
    PyObject *module = PyImport_ImportModule("torchoscope.class_code");
    PyObject *found = module ? PyObject_CallMethod(module, function, "O", type) : NULL;

    ext_swallow();
    Py_XDECREF(module);
    if (found && (!PyTuple_Check(found) || PyTuple_Size(found) != n))
        Py_CLEAR(found);
    return found;
}

static void add_inherited(struct class_code *code, PyObject *type, struct arena *arena)
{
    PyObject *found = find(type, "inherited", 4);

    if (!found)
        return;
    code->base = copy(arena, PyTuple_GetItem(found, 0));
    code->base_file = copy(arena, PyTuple_GetItem(found, 1));
    code->base_line = (uint32_t)PyLong_AsUnsignedLong(PyTuple_GetItem(found, 2));
    code->base_text = copy(arena, PyTuple_GetItem(found, 3));
    ext_swallow();
    Py_DECREF(found);
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
    found = find(type, "code_of", 3);
    if (found) {
        ret_code->file = copy(arena, PyTuple_GetItem(found, 0));
        ret_code->line = (uint32_t)PyLong_AsUnsignedLong(PyTuple_GetItem(found, 1));
        ret_code->text = copy(arena, PyTuple_GetItem(found, 2));
        ret_code->why = ret_code->text.len > 0 ? NULL : ret_code->why;
    }
    ext_swallow();
    Py_XDECREF(found);
    if (ret_code->text.len > 0 && str_find(ret_code->text, STR("def forward(")) < 0)
        add_inherited(ret_code, type, arena);
    Py_DECREF(type);
    return arena->spent ? arena_err(arena, "the code of a class", err) : 0;
}
