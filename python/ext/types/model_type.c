#include "ext/types/model_type.h"

#include <string.h>

#include "base/base.h"
#include "ext/types/answers_in.h"
#include "ext/types/model_in.h"
#include "ext/types/views.h"

static struct model_type *of(PyObject *self)
{
    return model_of(self);
}

/* ---- opening ---- */

static bool is_path(PyObject *object)
{
    return PyUnicode_Check(object) || PyBytes_Check(object) ||
           PyObject_HasAttrString((PyObject *)Py_TYPE(object), "__fspath__");
}

static void *open_session(const char *path, struct work *work, struct err *err)
{
    return session_open(path, work, err);
}

static void close_session(void *session)
{
    session_close(session);
}

static struct session *open_live(PyObject *object, const char *name,
                                 struct live **ret_live)
{
    struct err err = {0};
    const struct model *model = live_model(object, name, ret_live, &err);
    struct session *session = model ? session_of(model, &err) : NULL;

    if (model && !session)
        ext_raise(&err);
    return session;
}

static PyObject *model_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    PyObject *object, *self;
    const char *name = "model";

    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O|s", &object, &name))
        return NULL;
    self = alloc(type, 0);
    if (!self)
        return NULL;
    if (is_path(object))
        of(self)->session = long_work_open(object, open_session, close_session);
    else
        of(self)->session = open_live(object, name, &of(self)->live);
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

static PyObject *model_text(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return views_text(of(self)->session, args, kwargs);
}

static PyObject *model_rows(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return views_rows(of(self)->session, args, kwargs);
}

/* The session. For a live model, drops cached values: they may be out of date. */
static struct session *session_now(PyObject *self)
{
    if (of(self)->live)
        session_forget(of(self)->session);
    return of(self)->session;
}

static PyObject *model_export(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return views_export(session_now(self), args, kwargs);
}

static PyObject *model_picture(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return views_picture(session_now(self), args, kwargs);
}

static PyObject *model_save_picture(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return views_save_picture(session_now(self), args, kwargs);
}

static PyObject *model_write(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return views_write(session_now(self), args, kwargs);
}

static PyObject *model_json(PyObject *self, PyObject *args)
{
    return views_json(of(self)->session, args, NULL);
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

/* ---- Python objects and their numbers; a file has none ---- */

static PyObject *model_number(PyObject *self, PyObject *module)
{
    if (!of(self)->live)
        Py_RETURN_NONE;
    return number_or_none(live_object(of(self)->live, module));
}

static PyObject *model_tensor_number(PyObject *self, PyObject *tensor)
{
    if (!of(self)->live)
        Py_RETURN_NONE;
    return number_or_none(live_tensor_number(of(self)->live, tensor));
}

static PyObject *model_module(PyObject *self, PyObject *args)
{
    unsigned number;

    if (!PyArg_ParseTuple(args, "I", &number))
        return NULL;
    if (!of(self)->live)
        Py_RETURN_NONE;
    return object_or_none(live_module(of(self)->live, number));
}

static PyObject *model_tensor(PyObject *self, PyObject *args)
{
    unsigned number;

    if (!PyArg_ParseTuple(args, "I", &number))
        return NULL;
    if (!of(self)->live)
        Py_RETURN_NONE;
    return object_or_none(live_tensor_of(of(self)->live, number));
}

static PyObject *model_roots(PyObject *self, PyObject *unused)
{
    (void)unused;
    if (!of(self)->live)
        return PyList_New(0);
    return live_roots(of(self)->live);
}

static PyObject *text_of(const struct model *model, uint32_t string)
{
    struct str text = model_string(model, string);

    return PyUnicode_DecodeUTF8(text.at, (Py_ssize_t)text.len, "replace");
}

static PyObject *code_object(const struct model *model, uint32_t class_id)
{
    struct class_code code = {0};
    struct err err = {0};
    struct arena arena;
    PyObject *answer;

    arena_init(&arena, 0);
    if (class_code(model, class_id, &arena, &code, &err) < 0)
        answer = ext_raise(&err);
    else if (code.text.len == 0)
        answer = Py_NewRef(Py_None);
    else
        answer = Py_BuildValue("(NIN)", text_object(code.file), code.line,
                               text_object(code.text));
    arena_release(&arena);
    return answer;
}

static PyObject *model_code(PyObject *self, PyObject *args)
{
    const struct model *model = of(self)->session->model;
    const char *name;

    if (!PyArg_ParseTuple(args, "s", &name))
        return NULL;
    for (uint32_t i = 0; i < model->n_classes; i++)
        if (str_is(model_string(model, model->classes[i].name), name))
            return code_object(model, i);
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

static PyObject *model_is_live(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(of(self)->live != NULL);
}

static PyObject *model_changed(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(source_changed(of(self)->session->model->source));
}

static PyMethodDef methods[] = {
    {"text", KEYWORDS(model_text), "text(**wanted): the tree; see views.h"},
    {"rows", KEYWORDS(model_rows), "rows(**wanted): its rows"},
    {"export", KEYWORDS(model_export), "export(form, **wanted): as a str"},
    {"picture", KEYWORDS(model_picture), "picture(form, **options): as bytes"},
    {"save_picture", KEYWORDS(model_save_picture), "save_picture(path, **options)"},
    {"write", KEYWORDS(model_write), "write(path, **wanted): to a file"},
    {"json", model_json, METH_VARARGS, "json(kind): a document as text"},
    {"stats", model_stats, METH_VARARGS, "stats(name): one tensor, measured now"},
    {"show", KEYWORDS(model_show), "show(name, ...): one place in full, as a dict"},
    {"bytes", model_bytes, METH_VARARGS, "bytes(name): (bytes, dtype, shape)"},
    {"object", model_object, METH_O, "object(name): the live one, or None"},
    {"names", model_names, METH_NOARGS, "the names of all places below the root"},
    {"number", model_number, METH_O, "the number of a module, or None"},
    {"tensor_number", model_tensor_number, METH_O, "the number of a tensor, or None"},
    {"module", model_module, METH_VARARGS, "the module with a number, or None"},
    {"tensor", model_tensor, METH_VARARGS, "the tensor with a number, or None"},
    {"roots", model_roots, METH_NOARGS, "the root modules that still exist"},
    {"code", model_code, METH_VARARGS, "code(class): (file, line, text) or None"},
    {"attributes", model_attributes, METH_O, "attributes(of): the attributes below it"},
    {"forget", model_forget, METH_NOARGS, "release the handles of attributes()"},
    {"bases", model_bases, METH_VARARGS, "bases(class): names, the nearest first"},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef members[] = {
    {"n_places", model_n_places, NULL, "number of places of the model", NULL},
    {"live", model_is_live, NULL, "is it a live module (not a file)?", NULL},
    {"changed", model_changed, NULL, "was any tensor deleted, moved or resized?", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot model_slots[] = {
    {Py_tp_doc,
     (void *)"Model(what, name): the current state of a live module, or a file."},
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
