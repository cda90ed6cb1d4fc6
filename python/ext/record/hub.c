#include "ext/record/record.h"

#include <stdbool.h>
#include <stddef.h>

#include <structmember.h>

#include "ext/record/recorder_in.h"
#include "ext/torch/torch.h"

#define HAS_KEYWORDS 8 /* in co_flags: the function takes **rest */

/* References that a hub holds; the first five are constructor arguments. */
enum held {
    FIND_KEYWORDS,
    RARE_BEFORE,
    RARE_AFTER,
    IS_TRACING,
    FX,
    BEFORE,
    AFTER,
    BACKWARDS,
    FORWARDS,    /* a dict: a class's forward -> its argument count, or -1 */
    NO_KEYWORDS, /* {} */
    FX_FLAG,     /* names */
    DYNAMO,
    N_HELD
};

struct hub {
    PyObject_HEAD PyObject *held[N_HELD];
    char rare, watched, paused;
    bool traced; /* a call was traced */
};

static struct hub *hub_of(PyObject *self)
{
    return (struct hub *)self;
}

static int visit_held(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    for (int i = 0; i < N_HELD; i++)
        Py_VISIT(hub_of(self)->held[i]);
    return 0;
}

static int clear_held(PyObject *self)
{
    for (int i = 0; i < N_HELD; i++)
        Py_CLEAR(hub_of(self)->held[i]);
    return 0;
}

static void dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

    PyObject_GC_UnTrack(self);
    clear_held(self);
    release(self);
    Py_DECREF(type);
}

static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    PyObject *given[BEFORE], *self;
    PyObject **held;

    (void)kwargs;
    if (!PyArg_ParseTuple(args, "OOOOO:Hub", &given[0], &given[1], &given[2], &given[3],
                          &given[4]))
        return NULL;
    self = alloc(type, 0);
    if (!self)
        return NULL;
    held = hub_of(self)->held;
    for (int i = 0; i < BEFORE; i++)
        held[i] = Py_NewRef(given[i]);
    held[BEFORE] = PyTuple_New(0);
    held[AFTER] = PyTuple_New(0);
    held[BACKWARDS] = PyTuple_New(0);
    held[FORWARDS] = PyDict_New();
    held[NO_KEYWORDS] = PyDict_New();
    held[FX_FLAG] = PyUnicode_InternFromString("_is_fx_tracing_flag");
    held[DYNAMO] = PyUnicode_InternFromString("torch._dynamo");
    for (int i = BEFORE; i < N_HELD; i++)
        if (!held[i]) {
            Py_DECREF(self);
            return NULL;
        }
    return self;
}

/* --- checks at each call */

static bool is_rare(const struct hub *hub)
{
    PyObject *modules = PyImport_GetModuleDict(); /* borrowed */

    return hub->rare ||
           (!hub->watched && PyDict_Contains(modules, hub->held[DYNAMO]) > 0);
}

static bool is_traced(const struct hub *hub)
{
    PyObject *state = PyObject_CallNoArgs(hub->held[IS_TRACING]);
    PyObject *flag = PyObject_GetAttr(hub->held[FX], hub->held[FX_FLAG]);
    bool traced = (state && state != Py_None) || flag == Py_True;

    ext_swallow();
    Py_XDECREF(flag);
    Py_XDECREF(state);
    return traced;
}

/* How many arguments (without self) the forward of a class takes; -1 if it may also
 * take keyword-only arguments. */
static PyObject *count_arguments(PyObject *forward)
{
    PyObject *code = PyObject_GetAttr(forward, torch_find()->names[NAME___code__]);
    int64_t n = -1;

    ext_swallow();
    if (code && torch_int(code, NAME_co_kwonlyargcount, -1) == 0 &&
        !(torch_int(code, NAME_co_flags, -1) & HAS_KEYWORDS))
        n = torch_int(code, NAME_co_argcount, 0) - 1;
    Py_XDECREF(code);
    return PyLong_FromLongLong(n);
}

/* Whether all arguments of forward were passed by position. */
static bool has_no_keywords(const struct hub *hub, PyObject *module, PyObject *args)
{
    PyObject *forward = torch_class_forward(module), *n = NULL;
    bool none;

    if (forward) {
        n = Py_XNewRef(PyDict_GetItemWithError(hub->held[FORWARDS], forward));
        if (!n && !PyErr_Occurred()) {
            n = count_arguments(forward);
            if (n)
                PyDict_SetItem(hub->held[FORWARDS], forward, n);
        }
    }
    none = n && PyLong_AsLong(n) == PyTuple_Size(args);
    ext_swallow();
    Py_XDECREF(n);
    Py_XDECREF(forward);
    return none;
}

/* --- calling listeners */

/* Clears an exception, unless it is a KeyboardInterrupt, which is for the user. */
static bool is_interrupted(void)
{
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception))
        return true;
    PyErr_Clear();
    return false;
}

/* Calls the listeners. NULL: interrupted. */
static PyObject *notify(PyObject *listeners, PyObject *module, PyObject *args,
                        PyObject *third, PyObject *fourth)
{
    Py_ssize_t n = PyTuple_Size(listeners);
    PyObject *answer;

    Py_INCREF(listeners); /* a listener may replace it */
    for (Py_ssize_t i = 0; i < n; i++) {
        answer = PyObject_CallFunctionObjArgs(PyTuple_GetItem(listeners, i), module,
                                              args, third, fourth, NULL);
        Py_XDECREF(answer);
        if (!answer && is_interrupted())
            break;
    }
    Py_DECREF(listeners);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* A new reference; Py_None: unknown; NULL: interrupted. */
static PyObject *find_keywords(const struct hub *hub, PyObject *module, PyObject *args)
{
    PyObject *found;

    if (has_no_keywords(hub, module, args))
        return Py_NewRef(hub->held[NO_KEYWORDS]);
    found = PyObject_CallNoArgs(hub->held[FIND_KEYWORDS]);
    if (!found && is_interrupted())
        return NULL;
    return found ? found : Py_NewRef(Py_None);
}

static PyObject *do_before(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    struct hub *hub = hub_of(self);
    PyObject *kwargs, *done;

    if (n_args != 2 || !PyTuple_Check(args[1]) || !torch_find())
        Py_RETURN_NONE;
    if (is_rare(hub))
        return PyObject_CallFunctionObjArgs(hub->held[RARE_BEFORE], args[0], args[1],
                                            NULL);
    if (is_traced(hub)) {
        hub->traced = true;
        Py_RETURN_NONE;
    }
    kwargs = find_keywords(hub, args[0], args[1]);
    if (!kwargs)
        return NULL;
    done = notify(hub->held[BEFORE], args[0], args[1],
                  kwargs == Py_None ? NULL : kwargs, NULL);
    Py_DECREF(kwargs);
    return done;
}

/* torch passes three arguments if it does not show keywords, and when forward
 * raised; the result is then None. */
static PyObject *do_after(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    struct hub *hub = hub_of(self);
    PyObject *kwargs, *done;

    if ((n_args != 3 && n_args != 4) || !PyTuple_Check(args[1]) || !torch_find())
        Py_RETURN_NONE;
    if (is_rare(hub) || (n_args == 3 && args[2] == Py_None))
        return PyObject_CallFunctionObjArgs(hub->held[RARE_AFTER], args[0], args[1],
                                            args[2], n_args == 4 ? args[3] : NULL,
                                            NULL);
    if (hub->traced && is_traced(hub)) /* is_traced() is slow */
        Py_RETURN_NONE;
    kwargs = n_args == 4 ? Py_NewRef(args[2]) : find_keywords(hub, args[0], args[1]);
    if (!kwargs)
        return NULL;
    done = notify(hub->held[AFTER], args[0], args[1], kwargs, args[n_args - 1]);
    Py_DECREF(kwargs);
    return done;
}

static void notify_backward_ended(struct hub *hub)
{
    PyObject *kind, *value, *trace, *done;

    PyErr_Fetch(&kind, &value, &trace);
    done = notify(hub->held[BACKWARDS], Py_None, Py_None, NULL, NULL);
    ext_swallow();
    Py_XDECREF(done);
    PyErr_Restore(kind, value, trace);
}

/* Replaces the method of torch's engine, which is passed as first argument. Adds no
 * Python frame to the traceback when a backward raises. */
static PyObject *run_backward(PyObject *self, PyObject *args, PyObject *kwargs)
{
    Py_ssize_t n = PyTuple_Size(args);
    PyObject *rest, *done, *answer = NULL;

    if (n < 1) {
        PyErr_SetString(PyExc_TypeError, "run_backward() takes the engine's method");
        return NULL;
    }
    rest = PyTuple_GetSlice(args, 1, n);
    if (!rest)
        return NULL;
    if (n > 2) {
        done = notify(hub_of(self)->held[BACKWARDS], PyTuple_GetItem(args, 1),
                      PyTuple_GetItem(args, 2), NULL, NULL);
        if (!done)
            goto out;
        Py_DECREF(done);
    }
    answer = PyObject_Call(PyTuple_GetItem(args, 0), rest, kwargs);
    if (n > 2)
        notify_backward_ended(hub_of(self));

out:
    Py_DECREF(rest);
    return answer;
}

static PyObject *notify_before(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    PyObject *done;

    if (hub_of(self)->paused)
        Py_RETURN_NONE;
    recorder_arrived();
    done = do_before(self, args, n_args);
    recorder_left();
    return done;
}

static PyObject *notify_after(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    PyObject *done;

    if (hub_of(self)->paused)
        Py_RETURN_NONE;
    recorder_arrived();
    done = do_after(self, args, n_args);
    recorder_left();
    return done;
}

static PyObject *listen(PyObject *self, PyObject *args)
{
    PyObject **held = hub_of(self)->held, *given[3], *old;

    if (!PyArg_ParseTuple(args, "O!O!O!:listen", &PyTuple_Type, &given[0],
                          &PyTuple_Type, &given[1], &PyTuple_Type, &given[2]))
        return NULL;
    PyDict_Clear(held[FORWARDS]);
    for (int i = 0; i < 3; i++) {
        old = held[BEFORE + i];
        held[BEFORE + i] = Py_NewRef(given[i]);
        Py_DECREF(old);
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"listen", listen, METH_VARARGS,
     "listen(before, after, backwards): set the listeners"},
    {"run_backward", (PyCFunction)(void (*)(void))run_backward,
     METH_VARARGS | METH_KEYWORDS, "run_backward(method, roots, gradients, ...)"},
    {"notify_before", FAST(notify_before), "notify_before(module, args)"},
    {"notify_after", FAST(notify_after),
     "notify_after(module, args[, kwargs], result)"},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"rare", T_BOOL, offsetof(struct hub, rare), 0, "the package looks at each call"},
    {"watched", T_BOOL, offsetof(struct hub, watched), 0,
     "torch's compiler reports that it begins"},
    {"paused", T_BOOL, offsetof(struct hub, paused), 0, "skip all listeners"},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, make},
    {Py_tp_dealloc, dealloc},
    {Py_tp_traverse, visit_held},
    {Py_tp_clear, clear_held},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {0, NULL},
};

PyType_Spec hub_spec = {
    .name = "torchoscope._core.Hub",
    .basicsize = sizeof(struct hub),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};
