/* The type _core.Server. */
#include "ext/types/server_type.h"

#include <stdlib.h>

#include "base/err.h"
#include "ext/long_work.h"
#include "ext/types/answers.h"
#include "ext/types/explore.h"
#include "ext/types/model_in.h"
#include "ext/types/views.h"
#include "web/web.h"

#define MOST_HOSTS 64

struct server_object {
    PyObject_HEAD struct web_server *server; /* NULL: closed */
    struct shelf *shelf;                     /* the server's */
    struct owner *owner;
    struct web_wanted wanted; /* until start() */
    PyObject *texts;          /* owns the strings in `wanted` */
    PyObject *held;           /* a list: keeps what is served alive until the end */
    const char *hosts[MOST_HOSTS];
};

static struct server_object *of(PyObject *self)
{
    return (struct server_object *)self;
}

/* NULL: an exception is set. */
static struct server_object *open_one(PyObject *self)
{
    struct server_object *object = of(self);

    if (object->server && web_server_is_mine(object->server))
        return object;
    PyErr_SetString(PyExc_RuntimeError, object->server
                                            ? "the process that forked this one serves"
                                            : "this server was closed");
    return NULL;
}

/* ---- beginning ---- */

/* The text lives as long as self->texts. NULL: an exception is set. */
static const char *keep_text(struct server_object *self, PyObject *text)
{
    if (!PyUnicode_Check(text)) {
        PyErr_Format(PyExc_TypeError, "%R is not a str", text);
        return NULL;
    }
    return PyList_Append(self->texts, text) < 0 ? NULL
                                                : PyUnicode_AsUTF8AndSize(text, NULL);
}

static bool take_hosts(struct server_object *self, PyObject *hosts)
{
    PyObject *list = PySequence_List(hosts);
    Py_ssize_t n = list ? PyList_Size(list) : -1;

    if (n > MOST_HOSTS)
        PyErr_Format(PyExc_ValueError, "at most %d allow_hosts", MOST_HOSTS);
    for (Py_ssize_t i = 0; i < n && n <= MOST_HOSTS; i++) {
        self->hosts[i] = keep_text(self, PyList_GetItem(list, i));
        if (!self->hosts[i])
            break;
    }
    Py_XDECREF(list);
    self->wanted.allow_hosts = self->hosts;
    self->wanted.n_allow_hosts = n > 0 ? (unsigned)n : 0;
    return !PyErr_Occurred();
}

static bool take_wanted(struct server_object *self, PyObject *args)
{
    PyObject *host = Py_None, *hosts = NULL, *token = Py_None;
    long port = self->wanted.port;

    if (!PyArg_ParseTuple(args, "|OlIOO:Server", &host, &port, &self->wanted.tries,
                          &hosts, &token))
        return false;
    if (port < 0 || port > 65535) {
        PyErr_Format(PyExc_ValueError, "port must be from 0 to 65535, not %ld", port);
        return false;
    }
    self->wanted.port = (unsigned)port;
    if (host != Py_None && !(self->wanted.host = keep_text(self, host)))
        return false;
    self->wanted.open = token == Py_False;
    if (token != Py_None && token != Py_False &&
        !(self->wanted.token = keep_text(self, token)))
        return false;
    return !hosts || take_hosts(self, hosts);
}

static bool make_server(struct server_object *self)
{
    struct err err = {0};

    self->owner = owner_new();
    self->shelf = self->owner ? shelf_new(&err) : NULL;
    if (self->shelf)
        self->server = web_server_new(self->shelf, &self->wanted, &err);
    if (self->server)
        return true;
    if (!self->owner)
        PyErr_NoMemory();
    else
        ext_raise(&err);
    return false;
}

static PyObject *server_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    PyObject *self = alloc(type, 0);

    (void)kwargs;
    if (!self)
        return NULL;
    of(self)->held = PyList_New(0);
    of(self)->texts = PyList_New(0);
    if (!of(self)->held || !of(self)->texts || !take_wanted(of(self), args) ||
        !make_server(of(self)))
        Py_CLEAR(self);
    return self;
}

static PyObject *start(PyObject *self, PyObject *unused)
{
    struct server_object *object = open_one(self);
    PyThreadState *thread;
    struct err err = {0};
    int status;

    (void)unused;
    if (!object)
        return NULL;
    thread = PyEval_SaveThread();
    status = web_server_start(object->server, &object->wanted, &err);
    PyEval_RestoreThread(thread);
    return status < 0 ? ext_raise(&err) : Py_NewRef(Py_None);
}

/* ---- ending ---- */

/* In a forked process the copy is not touched. */
static void end(struct server_object *self)
{
    struct web_server *server = self->server;
    PyThreadState *thread;

    self->server = NULL;
    if (server && !web_server_is_mine(server))
        return;
    if (self->owner)
        owner_end(self->owner);
    thread = PyEval_SaveThread();
    web_server_free(server);
    owner_free(self->owner);
    PyEval_RestoreThread(thread);
    self->owner = NULL;
    self->shelf = NULL;
    if (self->held)
        PyList_SetSlice(self->held, 0, PyList_Size(self->held), NULL);
}

static PyObject *close_server(PyObject *self, PyObject *unused)
{
    struct server_object *object = of(self);

    (void)unused;
    if (object->server && web_server_is_mine(object->server) &&
        owner_answers_here(object->owner)) {
        PyErr_SetString(PyExc_RuntimeError, "a question is being answered here");
        return NULL;
    }
    end(object);
    Py_RETURN_NONE;
}

static void dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

    end(of(self));
    Py_CLEAR(of(self)->held);
    Py_CLEAR(of(self)->texts);
    release(self);
    Py_DECREF(type);
}

/* ---- what is served ---- */

static PyObject *add(PyObject *self, PyObject *path)
{
    struct server_object *object = open_one(self);
    struct long_work long_work;
    struct err err = {0};
    PyObject *bytes;
    bool whole;
    int status;

    if (!object || !PyUnicode_FSConverter(path, &bytes))
        return NULL;
    long_work_begin(&long_work, LONG_WORK_ALONE);
    status = shelf_add(object->shelf, PyBytes_AsString(bytes), &long_work.work, &err);
    whole = long_work_end(&long_work);
    Py_DECREF(bytes);
    if (!whole)
        return NULL;
    return status < 0 ? ext_raise(&err) : Py_NewRef(Py_None);
}

/* Model and recording of a _core.Model or a _core.Run. */
static bool take_thing(PyObject *self, PyObject *thing, PyObject *live,
                       struct shelf_live *to)
{
    struct ext_state *state = ext_state((PyObject *)Py_TYPE(self));

    if (live != Py_None && Py_TYPE(live) != (PyTypeObject *)state->model_type) {
        PyErr_Format(PyExc_TypeError, "%R is not a Model", live);
        return false;
    }
    if (Py_TYPE(thing) == (PyTypeObject *)state->model_type) {
        to->model = model_of(thing)->session->model;
        to->source = to->model->source;
    } else if (Py_TYPE(thing) == (PyTypeObject *)state->run_type) {
        to->run = answers_of(thing);
        to->model = to->run->model;
        to->source = explore_source(thing, live);
        if (!to->source)
            to->source = to->model->source;
    } else {
        PyErr_Format(PyExc_TypeError, "%R is not a Model or a Run", thing);
        return false;
    }
    return PyList_Append(of(self)->held, thing) == 0 &&
           PyList_Append(of(self)->held, live) == 0;
}

struct live_args {
    PyObject *thing, *live, *path; /* path: bytes, owned; or NULL */
    struct shelf_live found;
};

/* (name, thing, live, path, labels), after the number if `number` is not NULL. */
static bool take_live(PyObject *self, PyObject *args, unsigned *number,
                      struct live_args *to)
{
    PyObject *path = Py_None;
    int good;

    to->live = Py_None;
    good = number ? PyArg_ParseTuple(args, "IsO|OOz:renew", number, &to->found.name,
                                     &to->thing, &to->live, &path, &to->found.labels)
                  : PyArg_ParseTuple(args, "sO|OOz:add_live", &to->found.name,
                                     &to->thing, &to->live, &path, &to->found.labels);
    if (!good || (path != Py_None && !PyUnicode_FSConverter(path, &to->path)))
        return false;
    to->found.owner = of(self)->owner;
    to->found.path = to->path ? PyBytes_AsString(to->path) : NULL;
    if (take_thing(self, to->thing, to->live, &to->found)) {
        if (!to->found.name[0])
            to->found.name = to->found.model->path;
        return true;
    }
    Py_XDECREF(to->path);
    return false;
}

static PyObject *add_live(PyObject *self, PyObject *args)
{
    struct live_args live = {0};
    struct shelf_item *item = NULL;
    struct err err = {0};
    int status;

    if (!open_one(self) || !take_live(self, args, NULL, &live))
        return NULL;
    status = shelf_add_live(of(self)->shelf, &live.found, &item, &err);
    Py_XDECREF(live.path);
    return status < 0 ? ext_raise(&err) : PyLong_FromUnsignedLong(shelf_number(item));
}

static PyObject *renew(PyObject *self, PyObject *args)
{
    struct live_args live = {0};
    struct shelf_item *item;
    struct err err = {0};
    unsigned number;
    int status;

    if (!open_one(self) || !take_live(self, args, &number, &live))
        return NULL;
    item = shelf_at(of(self)->shelf, number);
    if (item)
        status = shelf_renew_live(of(self)->shelf, item, &live.found, &err);
    else
        status = err_set(&err, ERR_USAGE, "there is no item %u", number);
    Py_XDECREF(live.path);
    return status < 0 ? ext_raise(&err) : Py_NewRef(Py_None);
}

/* A server that was closed has no questions. */
static PyObject *pump(PyObject *self, PyObject *args)
{
    struct server_object *object = of(self);
    unsigned long long step = OWNER_NO_STEP;
    PyObject *given = Py_None;

    if (!PyArg_ParseTuple(args, "|O:pump", &given))
        return NULL;
    if (given != Py_None) {
        step = PyLong_AsUnsignedLongLong(given);
        if (PyErr_Occurred())
            return NULL;
    }
    if (!object->server || !web_server_is_mine(object->server))
        return PyLong_FromLong(0);
    return PyLong_FromUnsignedLong(owner_answer(object->owner, step));
}

/* ---- members ---- */

static PyObject *get_port(PyObject *self, void *unused)
{
    (void)unused;
    return open_one(self) ? PyLong_FromUnsignedLong(web_server_port(of(self)->server))
                          : NULL;
}

static PyObject *get_local(PyObject *self, void *unused)
{
    (void)unused;
    return open_one(self) ? PyBool_FromLong(web_server_is_local(of(self)->server))
                          : NULL;
}

static PyObject *get_token(PyObject *self, void *unused)
{
    (void)unused;
    return open_one(self) ? PyUnicode_FromString(web_server_token(of(self)->server))
                          : NULL;
}

static PyObject *get_mine(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(of(self)->server && web_server_is_mine(of(self)->server));
}

static PyObject *get_address(PyObject *self, void *unused)
{
    struct buf text = BUF_INIT;
    PyObject *answer;

    (void)unused;
    if (!open_one(self))
        return NULL;
    web_server_address(of(self)->server, &text);
    answer = PyUnicode_FromStringAndSize(text.at, (Py_ssize_t)text.len);
    buf_release(&text);
    return answer;
}

static PyObject *get_tunnel(PyObject *self, void *unused)
{
    PyObject *answer = NULL;
    struct buf text = BUF_INIT;

    (void)unused;
    if (!open_one(self))
        return NULL;
    if (web_server_tunnel(of(self)->server, &text))
        answer = PyUnicode_DecodeFSDefaultAndSize(text.at, (Py_ssize_t)text.len);
    else
        answer = Py_NewRef(Py_None);
    buf_release(&text);
    return answer;
}

static PyMethodDef methods[] = {
    {"add", add, METH_O, "add(path): serves a file or folder"},
    {"add_live", add_live, METH_VARARGS, "add_live(name, thing, ...) -> its number"},
    {"renew", renew, METH_VARARGS,
     "renew(number, name, thing, ...): shows this instead"},
    {"start", start, METH_NOARGS, "Listens."},
    {"pump", pump, METH_VARARGS, "pump(step=None): answers questions about live ones"},
    {"close", close_server, METH_NOARGS, "Ends it."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getters[] = {
    {"port", get_port, NULL, "its port", NULL},
    {"local", get_local, NULL, "does it only serve this machine?", NULL},
    {"token", get_token, NULL, "the secret part of the address", NULL},
    {"address", get_address, NULL, "of the page", NULL},
    {"tunnel", get_tunnel, NULL, "the ssh -L line, or None", NULL},
    {"mine", get_mine, NULL, "does this process serve?", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, server_new},
    {Py_tp_getset, getters},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

PyType_Spec server_spec = {
    .name = "torchoscope._core.Server",
    .basicsize = sizeof(struct server_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
