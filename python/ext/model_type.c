#include "ext/model_type.h"

#include <string.h>

#include "base/base.h"
#include "export/export.h"
#include "ext/answers.h"
#include "ext/live.h"
#include "ext/views.h"

struct model_type {
    PyObject_HEAD struct session *session;
    struct live *live;
};

static struct model_type *of(PyObject *object)
{
    return (struct model_type *)object;
}

static PyObject *model_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct err err = {0};
    struct model *model;
    PyObject *object, *self;
    const char *name;

    (void)kwargs;
    if (!PyArg_ParseTuple(args, "Os", &object, &name))
        return NULL;
    self = alloc(type, 0);
    if (!self)
        return NULL;
    model = live_model(object, name, &of(self)->live, &err);
    if (model) {
        of(self)->session = session_of(model, &err);
        if (!of(self)->session)
            ext_raise(&err);
    }
    if (!of(self)->session)
        Py_CLEAR(self);
    return self;
}

static void model_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

    session_close(of(self)->session);
    live_free(of(self)->live);
    release(self);
    Py_DECREF(type);
}

/* The text in `text`, which is released. */
static PyObject *take_text(struct buf *text)
{
    PyObject *answer = NULL;

    if (text->bad)
        PyErr_NoMemory();
    else
        answer = PyUnicode_DecodeUTF8(buf_cstr(text), (Py_ssize_t)text->len, "replace");
    buf_release(text);
    return answer;
}

static PyObject *model_text(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return views_text(of(self)->session, args, kwargs);
}

static PyObject *model_rows(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return views_rows(of(self)->session, args, kwargs);
}

static PyObject *model_export(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return views_export(of(self)->session, args, kwargs);
}

static PyObject *model_json(PyObject *self, PyObject *args)
{
    struct buf text = BUF_INIT;
    struct json json;
    struct out out;
    const char *kind = "tree";

    if (!PyArg_ParseTuple(args, "|s", &kind))
        return NULL;
    out_init_buf(&out, &text);
    json_init_text(&json, &out);
    if (strcmp(kind, "tree") == 0)
        export_tree_json(&json, of(self)->session, (struct export_choice){0});
    else if (strcmp(kind, "info") == 0)
        export_info_json(&json, of(self)->session);
    else
        return PyErr_Format(PyExc_ValueError, "there is no document \"%s\"", kind);
    out_release(&out);
    return take_text(&text);
}

/* Values change while a model is trained: they are measured anew each time. */
static const struct tensor *measure(const struct session *session, const char *name,
                                    struct stats *ret_stats, struct err *err)
{
    const struct model *model = session->model;
    const struct tensor *tensor;
    const char *why = NULL;
    uint32_t place;

    if (session_find(session, str_of(name), &place, err) < 0)
        return NULL;
    tensor = place_tensor(model, place);
    if (!tensor) {
        err_set(err, ERR_USAGE, "%s is not a tensor", name);
        return NULL;
    }
    if (!tensor_readable(model, tensor, &why)) {
        err_set(err, ERR_UNSUPPORTED, "%s: %s", name, why);
        return NULL;
    }
    if (stats_tensor(model, tensor, MEASURE_FULL, NULL, NULL, ret_stats, err) < 0)
        return NULL;
    return tensor;
}

static PyObject *model_stats(PyObject *self, PyObject *args)
{
    const struct session *session = of(self)->session;
    const struct tensor *tensor;
    struct err err = {0};
    struct stats stats;
    const char *name;

    if (!PyArg_ParseTuple(args, "s", &name))
        return NULL;
    tensor = measure(session, name, &stats, &err);
    if (!tensor)
        return ext_raise(&err);
    return answers_stats(&stats, (enum dtype)tensor->dtype,
                         tensor_shape(session->model, tensor), tensor->rank);
}

static PyObject *number_or_none(uint32_t number)
{
    if (number == NO_OBJECT)
        Py_RETURN_NONE;
    return PyLong_FromUnsignedLong(number);
}

static PyObject *object_or_none(PyObject *object)
{
    return object ? object : Py_NewRef(Py_None);
}

static PyObject *model_number(PyObject *self, PyObject *module)
{
    return number_or_none(live_object(of(self)->live, module));
}

static PyObject *model_tensor_number(PyObject *self, PyObject *tensor)
{
    return number_or_none(live_tensor_number(of(self)->live, tensor));
}

static PyObject *model_module(PyObject *self, PyObject *args)
{
    unsigned number;

    if (!PyArg_ParseTuple(args, "I", &number))
        return NULL;
    return object_or_none(live_module(of(self)->live, number));
}

static PyObject *model_tensor(PyObject *self, PyObject *args)
{
    unsigned number;

    if (!PyArg_ParseTuple(args, "I", &number))
        return NULL;
    return object_or_none(live_tensor_of(of(self)->live, number));
}

static PyObject *model_roots(PyObject *self, PyObject *unused)
{
    (void)unused;
    return live_roots(of(self)->live);
}

static PyObject *text_of(const struct model *model, uint32_t string)
{
    struct str text = model_string(model, string);

    return PyUnicode_DecodeUTF8(text.at, (Py_ssize_t)text.len, "replace");
}

static PyObject *model_code(PyObject *self, PyObject *args)
{
    struct model *model = of(self)->session->model;
    const struct class_info *info;
    struct err err = {0};
    const char *name;

    if (!PyArg_ParseTuple(args, "s", &name))
        return NULL;
    for (uint32_t i = 0; i < model->n_classes; i++) {
        if (!str_is(model_string(model, model->classes[i].name), name))
            continue;
        if (live_source(of(self)->live, model, i, &err) < 0)
            return ext_raise(&err);
        info = &model->classes[i];
        if (info->source)
            return Py_BuildValue("(NIN)", text_of(model, info->file), info->line,
                                 text_of(model, info->source));
    }
    Py_RETURN_NONE;
}

static PyObject *model_bases(PyObject *self, PyObject *args)
{
    const struct model *model = of(self)->session->model;
    PyObject *names = PyList_New(0);
    const char *name;

    if (!names || !PyArg_ParseTuple(args, "s", &name)) {
        Py_XDECREF(names);
        return NULL;
    }
    for (uint32_t i = 0; i < model->n_classes; i++) {
        uint32_t bases = model->classes[i].bases;

        if (!str_is(model_string(model, model->classes[i].name), name) ||
            bases == VALUE_ID_NONE)
            continue;
        for (uint32_t b = 0; b < value_at(&model->values, bases)->n; b++) {
            uint32_t id = value_items(&model->values, bases)[b];
            PyObject *text = text_of(model, value_at(&model->values, id)->text);

            if (!text || PyList_Append(names, text) < 0)
                Py_CLEAR(names);
            Py_XDECREF(text);
            if (!names)
                return NULL;
        }
    }
    return names;
}

static PyObject *model_n_places(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLong(of(self)->session->model->n_places);
}

static PyObject *model_changed(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(source_changed(of(self)->session->model->source));
}

static PyMethodDef methods[] = {
    {"text", KEYWORDS(model_text), "text(**wanted): the tree, as views.h says"},
    {"rows", KEYWORDS(model_rows), "rows(**wanted): its rows"},
    {"export", KEYWORDS(model_export), "export(form, **wanted): as a str"},
    {"json", model_json, METH_VARARGS, "json(kind='tree'): a document as text"},
    {"stats", model_stats, METH_VARARGS, "stats(name): one tensor, measured now"},
    {"number", model_number, METH_O, "the number of a module, or None"},
    {"tensor_number", model_tensor_number, METH_O, "that of a tensor, or None"},
    {"module", model_module, METH_VARARGS, "the module of a number, or None"},
    {"tensor", model_tensor, METH_VARARGS, "the tensor of a number, or None"},
    {"roots", model_roots, METH_NOARGS, "the root modules that still live"},
    {"code", model_code, METH_VARARGS, "code(class): (file, line, text) or None"},
    {"bases", model_bases, METH_VARARGS, "bases(class): names, the nearest first"},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef members[] = {
    {"n_places", model_n_places, NULL, "how many places the model has", NULL},
    {"changed", model_changed, NULL, "is any tensor gone, moved or resized?", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot model_slots[] = {
    {Py_tp_doc, (void *)"Model(object, name): a live module, as it is now."},
    {Py_tp_new, model_new},
    {Py_tp_dealloc, model_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, members},
    {0, NULL},
};

PyType_Spec model_spec = {
    .name = "torchoscope._core.Model",
    .basicsize = sizeof(struct model_type),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = model_slots,
};
