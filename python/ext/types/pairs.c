#include "ext/types/types.h"

#include "compare/diff_text.h"
#include "compare/pair_text.h"
#include "export/export.h"
#include "ext/types/answers_in.h"
#include "ext/types/model_in.h"
#include "session/pair.h"

struct question {
    PyObject *sides[2];          /* borrowed */
    struct session *sessions[2]; /* a Model's own; temporary for a Run */
    bool made[2];
    struct diff_wanted wanted;
    unsigned width;
    int all, ascii, colour; /* booleans */
};

struct session *pairs_session(PyObject *module, PyObject *object, bool *ret_made)
{
    const struct ext_state *state = ext_state(module);
    struct session *session = NULL;
    struct err err = {0};

    *ret_made = false;
    if (PyObject_TypeCheck(object, (PyTypeObject *)state->model_type))
        return model_of(object)->session;
    if (!PyObject_TypeCheck(object, (PyTypeObject *)state->run_type)) {
        PyErr_SetString(PyExc_TypeError, "diff() takes Models and Runs");
        return NULL;
    }
    session = session_on_run(answers_of(object), answers_source(object), &err);
    *ret_made = session != NULL;
    if (!session)
        ext_raise(&err);
    return session;
}

static bool find_session(struct question *question, PyObject *module, int side)
{
    question->sessions[side] =
        pairs_session(module, question->sides[side], &question->made[side]);
    if (question->made[side])
        question->wanted.values = false;
    return question->sessions[side] != NULL;
}

/* ---- the result ---- */

static int write_text(struct buf *to, const struct pair *pair,
                      const struct question *question, struct err *err)
{
    struct out out;
    struct pen pen = {.out = &out,
                      .width = question->width,
                      .ascii = question->ascii,
                      .colour = question->colour};
    int status;

    out_init_buf(&out, to);
    status = pair_text_write(&pen, pair, question->all, err);
    out_release(&out);
    return status;
}

static int write_json(struct buf *to, const struct pair *pair,
                      const struct question *question, struct err *err)
{
    struct json json;
    struct out out;
    int status;

    out_init_buf(&out, to);
    json_init_text(&json, &out);
    status =
        export_diff_json(&json, pair, &question->wanted.tolerance, question->all, err);
    out_release(&out);
    return status;
}

static int write_markdown(struct buf *to, const struct pair *pair,
                          const struct question *question, struct err *err)
{
    return pair_markdown(to, pair, question->all, err);
}

static int write_python(struct buf *to, const struct pair *pair,
                        const struct question *question, struct err *err)
{
    (void)question;
    return diff_python(to, &pair->diff, err);
}

static bool put_text(PyObject *dict, const char *key, const struct pair *pair,
                     const struct question *question,
                     int (*write)(struct buf *to, const struct pair *pair,
                                  const struct question *question, struct err *err))
{
    struct buf text = BUF_INIT;
    struct err err = {0};
    bool good = write(&text, pair, question, &err) == 0;

    if (!good)
        ext_raise(&err);
    else if (text.bad)
        good = PyErr_NoMemory() != NULL;
    good = good && dict_text(dict, key, buf_span(&text));
    buf_release(&text);
    return good;
}

static PyObject *answer_of(const struct pair *pair, const struct question *question)
{
    PyObject *dict = PyDict_New();

    if (dict && dict_put(dict, "equal", PyBool_FromLong(pair_equal(pair))) &&
        put_text(dict, "text", pair, question, write_text) &&
        put_text(dict, "json", pair, question, write_json) &&
        put_text(dict, "markdown", pair, question, write_markdown) &&
        put_text(dict, "python", pair, question, write_python))
        return dict;
    Py_XDECREF(dict);
    return NULL;
}

/* ---- the call ---- */

static PyObject *compare(const struct question *question)
{
    struct session *left = question->sessions[0], *right = question->sessions[1];
    bool locked = question->wanted.values && (views_lock(left) == LONG_WORK_LOCKED ||
                                              views_lock(right) == LONG_WORK_LOCKED);
    struct long_work long_work;
    PyObject *answer = NULL;
    struct err err = {0};
    struct pair *pair;

    long_work_begin(&long_work, locked ? LONG_WORK_LOCKED : LONG_WORK_TURNS);
    pair = pair_on(left, right, &question->wanted, &long_work.work, &err);
    if (long_work_end(&long_work))
        answer = pair ? answer_of(pair, question) : ext_raise(&err);
    pair_close(pair);
    return answer;
}

PyObject *pairs_diff(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static const char *const names[] = {"left",   "right",     "structure", "rtol",
                                        "atol",   "all",       "width",     "ascii",
                                        "colour", "tolerance", NULL};
    struct question question = {0};
    struct tolerance *tolerance = &question.wanted.tolerance;
    PyObject *answer = NULL;
    int structure = 0;

    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "OO|$pddpIppd", (char **)(uintptr_t)names, &question.sides[0],
            &question.sides[1], &structure, &tolerance->relative, &tolerance->absolute,
            &question.all, &question.width, &question.ascii, &question.colour,
            &question.wanted.distance))
        return NULL;
    if (!(tolerance->relative >= 0 && tolerance->absolute >= 0))
        return PyErr_Format(PyExc_ValueError, "rtol and atol are numbers from 0 on");
    if (!(question.wanted.distance >= 0))
        return PyErr_Format(PyExc_ValueError, "tolerance is a number from 0 on");
    question.wanted.values = !structure;
    question.wanted.no_results = structure;
    if (find_session(&question, module, 0) && find_session(&question, module, 1))
        answer = compare(&question);
    for (int side = 0; side < 2; side++)
        if (question.made[side])
            session_close(question.sessions[side]);
    return answer;
}
