/* answers_file.c - saves and opens runs, and makes their views. */
#include "ext/types/answers_in.h"

#include "base/err.h"
#include "ext/long_work.h"
#include "ext/types/views.h"
#include "history/ranks.h"
#include "run/run_file.h"

PyObject *answers_save(PyObject *self, PyObject *path)
{
    struct err err = {0};
    PyObject *bytes;
    int failed;

    if (!PyUnicode_FSConverter(path, &bytes))
        return NULL;
    failed = run_file_write(answers_of(self), answers_source(self),
                            PyBytes_AsString(bytes), NULL, &err);
    Py_DECREF(bytes);
    if (failed)
        return ext_raise(&err);
    Py_RETURN_NONE;
}

PyObject *answers_is_run(PyObject *module, PyObject *path)
{
    PyObject *bytes;
    bool is;

    (void)module;
    if (!PyUnicode_FSConverter(path, &bytes))
        return NULL;
    is = run_file_is(PyBytes_AsString(bytes)) ||
         history_ranks_is(PyBytes_AsString(bytes));
    Py_DECREF(bytes);
    return PyBool_FromLong(is);
}

/* A folder of ranks opens as the recording of the first. */
static void *read_run(const char *path, struct work *work, struct err *err)
{
    bool is_folder = history_ranks_is(path);
    const char *first = path;
    struct run *run = NULL;
    struct arena arena;

    arena_init(&arena, 0);
    if (is_folder)
        first = history_ranks_first(path, &arena, err);
    if (first)
        run = run_file_read(first, work, err);
    if (run && is_folder)
        run->folder = arena_str(&run->arena, str_of(path)).at;
    arena_release(&arena);
    return run;
}

static void free_run(void *run)
{
    run_free(run);
}

PyObject *answers_open(PyObject *module, PyObject *path)
{
    struct run *run = long_work_open(path, read_run, free_run);

    return run ? ext_run(module, run) : NULL;
}

/* Makes a view of the run with a temporary session. */
static PyObject *view(PyObject *self, PyObject *args, PyObject *kwargs,
                      PyObject *(*make)(struct session *session, PyObject *args,
                                        PyObject *kwargs))
{
    struct err err = {0};
    struct session *session =
        session_on_run(answers_of(self), answers_source(self), &err);
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

PyObject *answers_json(PyObject *self, PyObject *args)
{
    return view(self, args, NULL, views_json);
}

PyObject *answers_write(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return view(self, args, kwargs, views_write);
}

PyObject *answers_picture(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return view(self, args, kwargs, views_picture);
}

PyObject *answers_save_picture(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return view(self, args, kwargs, views_save_picture);
}
