/* The Python type Budget, a wrapper of run/budget.h. The package calls it when a pass
 * begins. */
#include "ext/record/record.h"

#include <string.h>

#include "run/budget.h"

struct budget_object {
    PyObject_HEAD struct budget budget;
};

static struct budget *budget_of(PyObject *self)
{
    return &((struct budget_object *)self)->budget;
}

static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    PyObject *self;
    double share;

    (void)kwargs;
    if (!PyArg_ParseTuple(args, "d:Budget", &share))
        return NULL;
    self = alloc(type, 0);
    if (self)
        budget_init(budget_of(self), share);
    return self;
}

static void dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

    release(self);
    Py_DECREF(type);
}

static PyObject *next(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyUnicode_FromString(budget_mode_name(budget_next(budget_of(self))));
}

static PyObject *report(PyObject *self, PyObject *args)
{
    struct budget_pass pass = {0};
    unsigned long long user_ns, own_ns, bytes = 0;
    const char *mode;

    if (!PyArg_ParseTuple(args, "sKK|K:report", &mode, &user_ns, &own_ns, &bytes))
        return NULL;
    pass.user_ns = user_ns;
    pass.own_ns = own_ns;
    pass.bytes = bytes;
    for (int i = 0; i < BUDGET_MODES; i++)
        if (strcmp(mode, budget_mode_name((enum budget_mode)i)) == 0) {
            pass.mode = (enum budget_mode)i;
            budget_report(budget_of(self), &pass);
            Py_RETURN_NONE;
        }
    return PyErr_Format(PyExc_ValueError, "unknown mode '%s'", mode);
}

static PyObject *owe(PyObject *self, PyObject *args)
{
    unsigned long long own_ns;

    if (!PyArg_ParseTuple(args, "K:owe", &own_ns))
        return NULL;
    budget_owe(budget_of(self), own_ns);
    Py_RETURN_NONE;
}

static PyObject *cost(PyObject *self, void *unused)
{
    (void)unused;
    return PyFloat_FromDouble(budget_cost(budget_of(self)));
}

static PyObject *fell_back(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(budget_fell_back(budget_of(self)));
}

static PyGetSetDef getters[] = {
    {"cost", cost, NULL, "cost so far, as a share of the user's time", NULL},
    {"fell_back", fell_back, NULL, "the poorest mode used so far", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"next", next, METH_NOARGS, "how to record the next pass"},
    {"report", report, METH_VARARGS,
     "report(mode, user_ns, own_ns, bytes=0): the times of a pass, bytes measured"},
    {"owe", owe, METH_VARARGS, "owe(own_ns): the cost outside of passes"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, make},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, getters},
    {0, NULL},
};

PyType_Spec budget_spec = {
    .name = "torchoscope._core.Budget",
    .basicsize = sizeof(struct budget_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
