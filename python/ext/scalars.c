#include "ext/scalars.h"

#include "history/writer.h"

bool scalars_add(struct history_writer *writer, PyObject *list)
{
    for (Py_ssize_t i = 0; i < PyList_Size(list); i++) {
        const char *name;
        double value;

        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "sd", &name, &value))
            return false;
        history_writer_scalar(writer, history_writer_name(writer, str_of(name)), value);
    }
    return true;
}
