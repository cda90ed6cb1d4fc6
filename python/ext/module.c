/* The module torchoscope._core: its tables. */
#include "ext/ext.h"

#include "base/err.h"

int ext_swallow(void)
{
    if (!PyErr_Occurred())
        return 0;
    PyErr_Clear();
    return 1;
}

PyObject *ext_raise(const struct err *err)
{
    PyObject *type = PyExc_RuntimeError;

    if (err->code == ERR_IO)
        type = PyExc_OSError;
    else if (err->code == ERR_NOT_FOUND)
        type = PyExc_KeyError;
    else if (err->code == ERR_USAGE)
        type = PyExc_ValueError;
    else if (err->code == ERR_LIMIT)
        type = PyExc_MemoryError;
    PyErr_SetString(type, err->text);
    return NULL;
}

static int fill_module(PyObject *module)
{
    return PyModule_AddStringConstant(module, "version", TORCHOSCOPE_VERSION);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, fill_module},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "torchoscope._core",
    .m_doc = "The core of torchoscope, in C. Use the package torchoscope.",
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__core(void); /* Python looks it up by name */

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
