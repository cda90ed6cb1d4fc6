/* Runs saved and opened, and as documents. */
#include <string.h>

#include "ext/answers_in.h"

#include "base/err.h"
#include "export/export.h"
#include "ext/views.h"
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

static bool write_document(struct json *json, const struct session *session,
                           const char *kind)
{
    if (strcmp(kind, "run") == 0)
        export_run_json(json, session);
    else if (strcmp(kind, "tree") == 0)
        export_tree_json(json, session, (struct export_choice){0});
    else if (strcmp(kind, "info") == 0)
        export_info_json(json, session);
    else
        return false;
    return true;
}

/* json(kind="run") */
PyObject *answers_json(PyObject *self, PyObject *args)
{
    struct buf text = BUF_INIT;
    struct session *session;
    struct err err = {0};
    struct json json;
    struct out out;
    PyObject *answer = NULL;
    const char *kind = "run";
    bool known;

    if (!PyArg_ParseTuple(args, "|s", &kind))
        return NULL;
    session = session_on_run(answers_of(self), &err);
    if (!session)
        return ext_raise(&err);
    out_init_buf(&out, &text);
    json_init_text(&json, &out);
    known = write_document(&json, session, kind);
    if (out_release(&out) < 0)
        PyErr_NoMemory();
    else if (!known)
        PyErr_Format(PyExc_ValueError, "there is no document \"%s\"", kind);
    else
        answer = text_object(buf_span(&text));
    buf_release(&text);
    session_close(session);
    return answer;
}

/* A view of the run's session, made for it. */
static PyObject *view(PyObject *self, PyObject *args, PyObject *kwargs,
                      PyObject *(*make)(struct session *session, PyObject *args,
                                        PyObject *kwargs))
{
    struct err err = {0};
    struct session *session = session_on_run(answers_of(self), &err);
    PyObject *answer = session ? make(session, args, kwargs) : ext_raise(&err);

    session_close(session);
    return answer;
}

PyObject *answers_text(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return view(self, args, kwargs, views_text);
}

PyObject *answers_rows(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return view(self, args, kwargs, views_rows);
}

PyObject *answers_export(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return view(self, args, kwargs, views_export);
}
