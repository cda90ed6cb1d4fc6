/* Runs saved and opened. */
#include "ext/answers_in.h"

#include "base/err.h"
#include "run/run_file.h"

PyObject *answers_save(PyObject *self, PyObject *path)
{
    struct err err = {0};
    PyObject *bytes;
    int failed;

    if (!PyUnicode_FSConverter(path, &bytes))
        return NULL;
    failed = run_file_write(answers_of(self), PyBytes_AsString(bytes), NULL, &err);
    Py_DECREF(bytes);
    if (failed)
        return ext_raise(&err);
    Py_RETURN_NONE;
}

PyObject *answers_open(PyObject *module, PyObject *path)
{
    struct err err = {0};
    struct run *run;
    PyObject *bytes;

    if (!PyUnicode_FSConverter(path, &bytes))
        return NULL;
    run = run_file_read(PyBytes_AsString(bytes), NULL, &err);
    Py_DECREF(bytes);
    if (!run)
        return ext_raise(&err);
    return answers_run(ext_state(module)->run_type, run);
}
