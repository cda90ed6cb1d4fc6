/* live_code.c - the source text of a class, by Python's own inspect. */
#include "ext/live_in.h"

/* A function of inspect, called with the class; NULL, no exception: it cannot tell. */
static PyObject *inspect(const char *function, PyObject *type)
{
    PyObject *module = PyImport_ImportModule("inspect");
    PyObject *answer = module ? PyObject_CallMethod(module, function, "O", type) : NULL;

    ext_swallow();
    Py_XDECREF(module);
    return answer;
}

static uint32_t add_text(struct model *model, PyObject *text)
{
    Py_ssize_t len = 0;
    const char *at =
        text && PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, &len) : NULL;
    uint32_t id = at ? intern_add(&model->strings, str_span(at, (size_t)len)) : 0;

    ext_swallow();
    return id == INTERN_NONE ? 0 : id;
}

/* inspect gives the lines of a class, and the number of the first. */
static void fill(struct model *model, uint32_t class_id, PyObject *file,
                 PyObject *lines)
{
    struct class_info *info = &model->classes[class_id];
    PyObject *empty = PyUnicode_FromString(""), *text = NULL;
    uint32_t source;

    if (empty && lines && PyTuple_Check(lines) && PyTuple_Size(lines) == 2) {
        text = PyUnicode_Join(empty, PyTuple_GetItem(lines, 0));
        info->line = (uint32_t)PyLong_AsLong(PyTuple_GetItem(lines, 1));
    }
    if (ext_swallow() || !text)
        info->line = 0;
    source = add_text(model, text);
    info = &model->classes[class_id];
    if (source) {
        info->source = source;
        info->file = add_text(model, file);
    }
    Py_XDECREF(text);
    Py_XDECREF(empty);
}

int live_source(struct live *live, struct model *model, uint32_t class_id,
                struct err *err)
{
    PyObject *type = NULL, *file, *lines;

    if (class_id >= model->n_classes)
        return err_set(err, ERR_USAGE, "there is no class %u", class_id);
    if (model->classes[class_id].source || class_id >= live->n_classes ||
        !live->classes[class_id])
        return 0;
    type = PyWeakref_GetObject(live->classes[class_id]);
    ext_swallow();
    if (!type || type == Py_None)
        return 0;
    Py_INCREF(type);
    file = inspect("getsourcefile", type);
    lines = inspect("getsourcelines", type);
    fill(model, class_id, file, lines);
    Py_XDECREF(lines);
    Py_XDECREF(file);
    Py_DECREF(type);
    return 0;
}
