/* views_picture.c - the network as a picture, for Python. */
#include "base/base.h"
#include "export/picture/question.h"
#include "ext/types/keywords.h"
#include "ext/types/types.h"
#include "ext/types/views.h"

/* A requested picture: into memory, or into a file. */
struct picture_job {
    struct session *session;
    struct session *newer; /* the new network of a diff, or NULL */
    const struct picture_form *form;
    struct picture_question question;
    const char *path; /* NULL: into `to` */
    struct buf to;
};

static int write_diagram(struct picture_job *job, struct diagram *diagram,
                         const struct picture_wanted *wanted, struct err *err)
{
    struct out out;
    int status;

    if (job->path)
        return picture_write(job->form, job->path, diagram, wanted, err);
    out_init_buf(&out, &job->to);
    status = job->form->write(&out, diagram, wanted, err);
    out_release(&out);
    return status;
}

static int draw(struct picture_job *job, struct err *err)
{
    struct picture_wanted picture;
    struct diagram diagram;
    struct arena arena;
    int status;

    arena_init(&arena, 4 * GIB);
    status = picture_question_make(&job->question, job->session, job->newer, &diagram,
                                   &picture, &arena, err);
    if (status == 0)
        status = write_diagram(job, &diagram, &picture, err);
    arena_release(&arena);
    return status;
}

/* False: an exception is set. */
static bool draw_unlocked(struct picture_job *job)
{
    struct long_work long_work;
    struct err err = {0};
    enum long_work_lock lock = views_lock(job->session);
    int status;

    if (job->newer && views_lock(job->newer) == LONG_WORK_LOCKED)
        lock = LONG_WORK_LOCKED;
    long_work_begin(&long_work, lock);
    status = draw(job, &err);
    if (!long_work_end(&long_work))
        return false;
    if (status < 0)
        ext_raise(&err);
    else if (job->to.bad)
        PyErr_NoMemory();
    return status == 0 && !job->to.bad;
}

/* The remaining keywords are unknown. */
static bool is_empty(PyObject *rest)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;

    if (!PyDict_Next(rest, &at, &key, &value))
        return true;
    PyErr_Format(PyExc_TypeError, "unknown picture option %R", key);
    return false;
}

/* Draws with the options in `kwargs`. False: an exception is set. */
static bool draw_asked(struct picture_job *job, PyObject *kwargs, const struct err *err)
{
    PyObject *rest;
    bool good;

    if (!job->form) {
        ext_raise(err);
        return false;
    }
    rest =
        keywords_take_options(kwargs, picture_options, PICTURE_OPTIONS, &job->question);
    good = rest && is_empty(rest) && draw_unlocked(job);
    Py_XDECREF(rest);
    return good;
}

PyObject *views_picture(struct session *session, PyObject *args, PyObject *kwargs)
{
    struct picture_job job = {.session = session, .question = PICTURE_QUESTION_INIT};
    PyObject *answer = NULL;
    struct err err = {0};
    const char *name;

    if (!PyArg_ParseTuple(args, "s:picture", &name))
        return NULL;
    job.form = picture_form_find(str_of(name));
    if (!job.form)
        picture_form_of(name, &err);
    if (draw_asked(&job, kwargs, &err))
        answer = PyBytes_FromStringAndSize(buf_cstr(&job.to), (Py_ssize_t)job.to.len);
    buf_release(&job.to);
    return answer;
}

static bool draw_pair(struct picture_job *job, const char *form, PyObject *kwargs)
{
    struct err err = {0};

    job->form =
        job->path ? picture_form_of(job->path, &err) : picture_form_find(str_of(form));
    if (!job->form && !job->path)
        picture_form_of(form, &err);
    return draw_asked(job, kwargs, &err);
}

PyObject *views_picture_diff(PyObject *module, PyObject *args, PyObject *kwargs)
{
    struct picture_job job = {.question = PICTURE_QUESTION_INIT};
    PyObject *old, *new, *path, *name = NULL, *answer = NULL;
    bool made[2] = {false, false};
    const char *form;

    if (!PyArg_ParseTuple(args, "OOsO:picture_diff", &old, &new, &form, &path) ||
        (path != Py_None && !PyUnicode_FSConverter(path, &name)))
        return NULL;
    job.path = name ? PyBytes_AsString(name) : NULL;
    job.session = pairs_session(module, old, &made[0]);
    job.newer = job.session ? pairs_session(module, new, &made[1]) : NULL;
    if (job.newer && draw_pair(&job, form, kwargs))
        answer = job.path ? Py_NewRef(Py_None)
                          : PyBytes_FromStringAndSize(buf_cstr(&job.to),
                                                      (Py_ssize_t)job.to.len);
    if (made[0])
        session_close(job.session);
    if (made[1])
        session_close(job.newer);
    buf_release(&job.to);
    Py_XDECREF(name);
    return answer;
}

PyObject *views_save_picture(struct session *session, PyObject *args, PyObject *kwargs)
{
    struct picture_job job = {.session = session, .question = PICTURE_QUESTION_INIT};
    struct err err = {0};
    PyObject *path;
    bool good;

    if (!PyArg_ParseTuple(args, "O&:save_picture", PyUnicode_FSConverter, &path))
        return NULL;
    job.path = PyBytes_AsString(path);
    job.form = picture_form_of(job.path, &err);
    good = draw_asked(&job, kwargs, &err);
    Py_DECREF(path);
    return good ? Py_NewRef(Py_None) : NULL;
}
