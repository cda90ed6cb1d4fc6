#include "ext/types/explore.h"

#include <stdatomic.h>
#include <string.h>

#include "ext/interrupts.h"
#include "ext/types/answers.h"
#include "ext/types/keywords.h"
#include "ext/types/model_in.h"
#include "ext/types/views.h"
#include "rows/rows.h"
#include "session/pair.h"
#include "tui/tui.h"

/* One exploration. */
struct exploration {
    struct ext_state *state;
    PyThreadState *thread; /* while waiting for a key; else NULL */
    PyObject *record;      /* borrowed; NULL: :record is unavailable */
    PyObject *held;        /* a list: keeps everything explored alive until the end */
};

/* ---- a run and its live model ---- */

/* Do both have the same places, tensors and classes? */
static bool is_alike(const struct model *a, const struct model *b)
{
    if (a->n_places != b->n_places || a->n_objects != b->n_objects ||
        a->n_tensors != b->n_tensors || a->n_storages != b->n_storages ||
        a->n_classes != b->n_classes)
        return false;
    for (uint32_t i = 0; i < a->n_places; i++)
        if (a->kind[i] != b->kind[i] || a->parent[i] != b->parent[i] ||
            (a->kind[i] != PLACE_VALUE && a->object[i] != b->object[i]) ||
            !str_eq(place_name(a, i), place_name(b, i)))
            return false;
    for (uint32_t i = 0; i < a->n_classes; i++)
        if (!str_eq(model_string(a, a->classes[i].name),
                    model_string(b, b->classes[i].name)))
            return false;
    for (uint32_t i = 0; i < a->n_tensors; i++)
        if (a->tensors[i].numel != b->tensors[i].numel ||
            a->tensors[i].dtype != b->tensors[i].dtype ||
            a->tensors[i].storage != b->tensors[i].storage)
            return false;
    return true;
}

struct source *explore_source(PyObject *run, PyObject *live)
{
    const struct model *alive = NULL;

    if (live != Py_None)
        alive = model_of(live)->session->model;
    return alive && is_alike(answers_of(run)->model, alive) ? alive->source
                                                            : answers_source(run);
}

/* A session of a Model or a Run, which Python still owns; NULL: an exception is set. */
static struct session *session_for(struct exploration *self, PyObject *thing,
                                   PyObject *live)
{
    struct session *session;
    struct err err = {0};

    if (PyList_Append(self->held, thing) < 0 || PyList_Append(self->held, live) < 0)
        return NULL;
    if (PyObject_TypeCheck(thing, (PyTypeObject *)self->state->model_type)) {
        session = session_on(model_of(thing)->session->model, &err);
    } else if (PyObject_TypeCheck(thing, (PyTypeObject *)self->state->run_type)) {
        session = session_on_run(answers_of(thing), explore_source(thing, live), &err);
    } else {
        PyErr_Format(PyExc_TypeError, "%R is not a Model or a Run", thing);
        return NULL;
    }
    if (!session)
        ext_raise(&err);
    return session;
}

/* Releases all objects held by attribute handles. Keeps the current exception. */
static void let_go(struct exploration *self)
{
    PyObject *type, *value, *trace;

    PyErr_Fetch(&type, &value, &trace);
    for (Py_ssize_t i = 0; self->held && i < PyList_Size(self->held); i++) {
        PyObject *thing = PyList_GetItem(self->held, i);

        if (PyObject_TypeCheck(thing, (PyTypeObject *)self->state->model_type))
            source_forget(model_of(thing)->session->model->source);
    }
    Py_CLEAR(self->held);
    PyErr_Restore(type, value, trace);
}

/* ---- callbacks of the explorer ---- */

static void wait_begin(void *user)
{
    struct exploration *self = user;

    self->thread = PyEval_SaveThread();
}

static void wait_end(void *user)
{
    struct exploration *self = user;

    PyEval_RestoreThread(self->thread);
    self->thread = NULL;
}

/* Runs pending signal handlers of the user's program. An exception raised by a handler
 * ends the explorer. */
static bool stop(void *user)
{
    (void)user;
    return PyErr_Occurred() || PyErr_CheckSignals() < 0;
}

/* Converts the current exception to an err, and clears it. */
static void take_exception(struct err *err)
{
    PyObject *type = NULL, *value = NULL, *trace = NULL, *text = NULL, *name = NULL;
    const char *said, *called;

    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (value)
        text = PyObject_Str(value);
    PyErr_Clear();
    if (type)
        name = PyType_GetName((PyTypeObject *)type);
    said = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    called = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    PyErr_Clear();
    err_set(err, ERR_PYTHON, "%s: %s", called ? called : "Exception", said ? said : "");
    Py_XDECREF(text);
    Py_XDECREF(name);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
}

static struct session *record(void *user, struct err *err)
{
    struct exploration *self = user;
    struct session *session = NULL;
    PyObject *answer, *run, *live;
    struct interrupts interrupts;

    interrupts_begin(&interrupts);
    answer = PyObject_CallNoArgs(self->record);
    interrupts_end(&interrupts);
    if (answer && PyArg_ParseTuple(answer, "OO", &run, &live))
        session = session_for(self, run, live);
    Py_XDECREF(answer);
    if (!session)
        take_exception(err);
    return session;
}

/* ---- running it ---- */

static atomic_flag running = ATOMIC_FLAG_INIT;

/* The arguments of explore(). */
struct words {
    PyObject *thing, *live, *record, *beside; /* borrowed */
    int structure;                            /* a boolean */
    unsigned columns, rows; /* 0: use the terminal; else print one screen */
    struct tolerance tolerance;
};

/* Compares two sessions; NULL: an exception is set. */
static struct pair *compare(struct session *left, struct session *right,
                            const struct words *words)
{
    struct diff_wanted wanted = {.values =
                                     !words->structure && !left->run && !right->run,
                                 .tolerance = words->tolerance,
                                 .no_results = words->structure};
    bool locked = wanted.values && (views_lock(left) == LONG_WORK_LOCKED ||
                                    views_lock(right) == LONG_WORK_LOCKED);
    struct long_work long_work;
    struct err err = {0};
    struct pair *pair;

    long_work_begin(&long_work, locked ? LONG_WORK_LOCKED : LONG_WORK_TURNS);
    pair = pair_on(left, right, &wanted, &long_work.work, &err);
    if (long_work_end(&long_work)) {
        if (!pair)
            ext_raise(&err);
        return pair;
    }
    pair_close(pair);
    return NULL;
}

/* One screen of the given size, as text. */
static PyObject *print(const struct tui_wanted *wanted, const struct words *words)
{
    struct buf text = BUF_INIT;
    struct err err = {0};
    PyObject *answer = NULL;
    struct out out;

    out_init_buf(&out, &text);
    if (tui_print(wanted, words->columns, words->rows, &out, &err) < 0)
        ext_raise(&err);
    else if (out_release(&out) == 0 && !PyErr_Occurred())
        answer = PyUnicode_DecodeUTF8(buf_cstr(&text), (Py_ssize_t)text.len, "replace");
    buf_release(&text);
    return answer;
}

static PyObject *show(struct tui_wanted *wanted, const struct words *words)
{
    struct err err = {0};
    int status;

    if (words->columns)
        return print(wanted, words);
    interrupts_of_python(true);
    status = tui_run(wanted, &err);
    interrupts_of_python(false);
    if (PyErr_Occurred() || PyErr_CheckSignals() < 0)
        return NULL;
    if (status == 0)
        Py_RETURN_TRUE;
    if (err.code == ERR_UNSUPPORTED)
        Py_RETURN_FALSE;
    return ext_raise(&err);
}

static PyObject *run_explorer(struct exploration *self, const struct words *words,
                              struct tui_wanted *wanted)
{
    struct session *left = session_for(self, words->thing, words->live), *right = NULL;
    PyObject *answer = NULL;

    if (!left)
        return NULL;
    if (words->beside == Py_None) {
        wanted->session = left;
        answer = show(wanted, words);
    } else {
        right = session_for(self, words->beside, Py_None);
        wanted->pair = right ? compare(left, right, words) : NULL;
        if (wanted->pair)
            answer = show(wanted, words);
        pair_close(wanted->pair);
    }
    session_close(right);
    session_close(left);
    return answer;
}

/* ---- keyword arguments ---- */

/* Parses the arguments of explore(), borrowed. */
static bool take_words(PyObject *args, PyObject *kwargs, struct tui_wanted *wanted,
                       struct words *words)
{
    static const char *const names[] = {"thing",     "live",    "record", "beside",
                                        "structure", "rtol",    "atol",   "colour",
                                        "ascii",     "columns", "rows",   NULL};
    struct settings *settings = &wanted->settings;
    PyObject *rest = keywords_take(kwargs, SETTINGS_VIEW | SETTINGS_LOOK, settings);
    int ascii = 0;
    bool good;

    good = rest &&
           PyArg_ParseTupleAndKeywords(
               args, rest, "O|OO$OpddzpII", (char **)(uintptr_t)names, &words->thing,
               &words->live, &words->record, &words->beside, &words->structure,
               &words->tolerance.relative, &words->tolerance.absolute,
               &settings->colour, &ascii, &words->columns, &words->rows);
    settings->ascii = ascii;
    Py_XDECREF(rest);
    return good;
}

PyObject *explore(PyObject *module, PyObject *args, PyObject *kwargs)
{
    struct exploration self = {.state = ext_state(module)};
    struct tui_wanted wanted = {.settings = SETTINGS_INIT,
                                .wait_begin = wait_begin,
                                .wait_end = wait_end,
                                .stop = stop,
                                .user = &self};
    struct words words = {.live = Py_None, .record = Py_None, .beside = Py_None};
    PyObject *answer;

    if (!take_words(args, kwargs, &wanted, &words))
        return NULL;
    if (words.live != Py_None &&
        !PyObject_TypeCheck(words.live, (PyTypeObject *)self.state->model_type))
        return PyErr_Format(PyExc_TypeError, "%R is not a Model", words.live);
    /* Only one explorer can use the terminal: a property or a signal handler may call
     * this while another one runs. */
    if (atomic_flag_test_and_set(&running))
        Py_RETURN_FALSE;
    self.record = words.record == Py_None ? NULL : words.record;
    wanted.record = self.record ? record : NULL;
    self.held = PyList_New(0);
    answer = self.held ? run_explorer(&self, &words, &wanted) : NULL;
    let_go(&self);
    atomic_flag_clear(&running);
    return answer;
}
