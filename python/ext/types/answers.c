/* answers.c - the type _core.Run: methods to query a recorded execution. */
#include <math.h>
#include <string.h>

#include "ext/types/answers_in.h"

#include "base/err.h"
#include "export/export.h"
#include "run/run_file.h"
#include "run/run_times.h"
#include "session/session.h"

struct run_object {
    PyObject_HEAD struct run *run;
    struct source *code; /* of its classes; NULL: unknown */
};

const struct run *answers_of(PyObject *self)
{
    return ((struct run_object *)self)->run;
}

struct source *answers_source(PyObject *self)
{
    return ((struct run_object *)self)->code;
}

static PyObject *keep_code(PyObject *self, PyObject *list)
{
    struct run_object *run = (struct run_object *)self;

    if (!PyList_Check(list))
        return PyErr_Format(PyExc_TypeError, "keep_code() takes a list");
    if (!run->code)
        run->code = answers_code(run->run->model, list);
    return run->code ? Py_NewRef(Py_None) : NULL;
}

PyObject *answers_run(PyObject *run_type, struct run *run)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot((PyTypeObject *)run_type, Py_tp_alloc);
    PyObject *self = alloc((PyTypeObject *)run_type, 0);

    if (!self) {
        run_free(run);
        return NULL;
    }
    ((struct run_object *)self)->run = run;
    return self;
}

static void run_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

    source_close(answers_source(self));
    run_free(((struct run_object *)self)->run);
    release(self);
    Py_DECREF(type);
}

/* Finds a place by name, as on the command line. The exception for an unknown name
 * suggests the nearest one. */
static uint32_t place_named(const struct run *run, struct str name)
{
    uint32_t place = name.len == 0 ? 0 : place_find(run->model, name);
    struct session *session;
    struct err err = {0};

    if (place != NO_PLACE)
        return place;
    session = session_on_run(run, NULL, &err);
    if (!session || session_find(session, name, &place, &err) < 0) {
        ext_raise(&err);
        place = NO_PLACE;
    }
    session_close(session);
    return place;
}

uint32_t answers_module(const struct run *run, PyObject *name)
{
    const struct model *model = run->model;
    uint32_t place = NO_PLACE;

    if (PyUnicode_Check(name)) {
        Py_ssize_t len;
        const char *text = PyUnicode_AsUTF8AndSize(name, &len);

        place = text ? place_named(run, str_span(text, (size_t)len)) : NO_PLACE;
    } else if (PyLong_Check(name)) {
        unsigned long number = PyLong_AsUnsignedLong(name);

        if (!PyErr_Occurred() && number < model->n_places)
            place = (uint32_t)number;
    }
    if (place != NO_PLACE && model->kind[place] <= PLACE_GROUP &&
        model->object[place] != NO_OBJECT)
        return place;
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_KeyError, "%R is not a module", name);
    return NO_PLACE;
}

/* calls(name=None, everywhere=False) */
static PyObject *calls(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    const struct run *run = answers_of(self);
    bool all = n_args < 1 || args[0] == Py_None;
    bool everywhere = n_args > 1 && PyObject_IsTrue(args[1]) == 1;
    uint32_t place = all ? NO_PLACE : answers_module(run, args[0]), n = run->n_calls;
    uint32_t *calls = NULL;
    struct arena arena;
    struct dicts dicts;

    if (!all && place == NO_PLACE)
        return NULL;
    arena_init(&arena, 0);
    if (!all)
        calls = run_calls_at(run, place, everywhere, &arena, &n);
    if (!all && !calls) {
        arena_release(&arena);
        return PyErr_NoMemory();
    }
    dicts_begin(&dicts);
    json_array(&dicts.json, NULL);
    for (uint32_t i = 0; i < n && !dicts.failed; i++)
        export_call(&dicts.json, run, all ? i : calls[i]);
    json_array_end(&dicts.json);
    arena_release(&arena);
    return dicts_end(&dicts);
}

static PyObject *place_dict(const struct run *run, uint32_t place)
{
    static const char *const kinds[] = {"module", "group", "tensor", "value"};
    const struct model *model = run->model;
    unsigned kind = model->kind[place];
    PyObject *dict = PyDict_New();

    if (!dict)
        return NULL;
    if (!dict_put(dict, "name", path_object(model, place)) ||
        !dict_number(dict, "place", place) ||
        !dict_put(dict, "parent",
                  model->parent[place] == NO_PLACE
                      ? Py_NewRef(Py_None)
                      : PyLong_FromUnsignedLong(model->parent[place])) ||
        !dict_text(dict, "kind", str_of(kinds[kind & 3])))
        goto fail;
    if (kind <= PLACE_GROUP &&
        (!dict_text(dict, "class", place_class(model, place)) ||
         (model->object[place] != NO_OBJECT &&
          !dict_number(dict, "calls", run_count_calls_at(run, place)))))
        goto fail;
    if ((model->flags[place] & PLACE_AGAIN) &&
        !dict_put(dict, "same_as",
                  path_object(model, model->objects[model->object[place]].place)))
        goto fail;
    return dict;

fail:
    Py_DECREF(dict);
    return NULL;
}

static PyObject *places(PyObject *self, PyObject *unused)
{
    const struct run *run = answers_of(self);
    PyObject *list = PyList_New(0);

    (void)unused;
    for (uint32_t i = 0; list && i < run->model->n_places; i++)
        if (!list_add(list, place_dict(run, i)))
            Py_CLEAR(list);
    return list;
}

/* A list of `n` parts of a run; `write` writes each by its index. */
static PyObject *list_parts(const struct run *run, uint32_t n,
                            void (*write)(struct json *json, const struct run *run,
                                          uint32_t i))
{
    struct dicts dicts;

    dicts_begin(&dicts);
    json_array(&dicts.json, NULL);
    for (uint32_t i = 0; i < n && !dicts.failed; i++)
        write(&dicts.json, run, i);
    json_array_end(&dicts.json);
    return dicts_end(&dicts);
}

static void export_real_gap(struct json *json, const struct run *run, uint32_t i)
{
    if (run_is_gap(&run->gaps[i]))
        export_gap(json, run, i);
}

static PyObject *gaps(PyObject *self, PyObject *unused)
{
    const struct run *run = answers_of(self);

    (void)unused;
    return list_parts(run, run->n_gaps, export_real_gap);
}

static PyObject *params(PyObject *self, PyObject *unused)
{
    const struct run *run = answers_of(self);

    (void)unused;
    return list_parts(run, run->n_params, export_param);
}

static PyObject *facts(PyObject *self, PyObject *unused)
{
    struct dicts dicts;

    (void)unused;
    dicts_begin(&dicts);
    export_facts(&dicts.json, answers_of(self));
    return dicts_end(&dicts);
}

/* merged(name=None) */
static PyObject *merged(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    const struct run *run = answers_of(self);
    bool all = n_args < 1 || args[0] == Py_None;
    uint32_t place = all ? NO_PLACE : answers_module(run, args[0]);
    uint32_t object = place == NO_PLACE ? NO_OBJECT : run->model->object[place];
    struct dicts dicts;

    if (!all && place == NO_PLACE)
        return NULL;
    dicts_begin(&dicts);
    json_array(&dicts.json, NULL);
    for (uint32_t i = 0; i < run->n_merged && !dicts.failed; i++)
        if (all || run->merged[i].object == object)
            export_merged(&dicts.json, run, i);
    json_array_end(&dicts.json);
    return dicts_end(&dicts);
}

static PyObject *kept_bytes(const struct run *run, const struct run_value *value)
{
    const struct run_kept *kept = &run->kept[value->kept];
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)kept->bytes);
    PyObject *shape = dims_object(run->dims + value->shape, value->rank), *answer;
    struct err err = {0};

    if (bytes && run_kept_bytes(run, value->kept, 0, PyBytes_AsString(bytes),
                                (size_t)kept->bytes, &err) < 0) {
        Py_CLEAR(bytes);
        ext_raise(&err);
    }
    answer = bytes && shape ? Py_BuildValue("(OsO)", bytes,
                                            dtype_name((enum dtype)value->dtype), shape)
                            : NULL;
    Py_XDECREF(bytes);
    Py_XDECREF(shape);
    return answer;
}

/* kept(name, call=0, kind="out", path=None) */
static PyObject *kept(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char words[][8] = {"name", "call", "kind", "path"};
    char *names[] = {words[0], words[1], words[2], words[3], NULL};
    const struct run *run = answers_of(self);
    const char *kind = "out", *path = NULL;
    unsigned int number = 0;
    PyObject *name;
    uint32_t place, call;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|Isz:kept", names, &name, &number,
                                     &kind, &path))
        return NULL;
    place = answers_module(run, name);
    if (place == NO_PLACE)
        return NULL;
    call = run_first_call(run, run->model->object[place]);
    while (call != RUN_NONE && run->calls[call].number != number)
        call = run_next_call(run, call);
    for (uint32_t i = 0; call != RUN_NONE && i < run->calls[call].n_ios; i++) {
        const struct run_io *io = &run->ios[run->calls[call].ios + i];

        if (strcmp(run_io_name((enum run_io_kind)io->kind), kind) == 0 &&
            (!path || str_is(run_string(run, io->path), path)) &&
            io->value != RUN_NONE && run->values[io->value].kept != RUN_NONE)
            return kept_bytes(run, &run->values[io->value]);
    }
    Py_RETURN_NONE;
}

/* kept_at(number) */
static PyObject *kept_at(PyObject *self, PyObject *object)
{
    const struct run *run = answers_of(self);
    unsigned long number = PyLong_AsUnsignedLong(object);
    const struct run_value *value;

    if (PyErr_Occurred())
        return NULL;
    if (number >= run->n_kept || run->kept[number].value >= run->n_values)
        return PyErr_Format(PyExc_IndexError, "there is no kept value %lu", number);
    value = &run->values[run->kept[number].value];
    if (value->kept != number)
        return PyErr_Format(PyExc_IndexError, "there is no kept value %lu", number);
    return kept_bytes(run, value);
}

static PyObject *get_cost(PyObject *self, void *unused)
{
    const struct run *run = answers_of(self);
    double share = run_cost_share(run);

    (void)unused;
    return Py_BuildValue("{sKsKsKsKsN}", "wall_ns", (unsigned long long)run->wall_ns,
                         "passes_ns", (unsigned long long)run_passes_ns(run), "own_ns",
                         (unsigned long long)run->own_ns, "hooks_ns",
                         (unsigned long long)run->hooks_ns, "share",
                         isnan(share) ? Py_NewRef(Py_None) : PyFloat_FromDouble(share));
}

/* ended(own_ns, wall_ns): adds the overhead of finishing, and sets the duration of the
 * whole recording. The recorder calls it before it publishes the run. */
static PyObject *ended(PyObject *self, PyObject *args)
{
    struct run *run = ((struct run_object *)self)->run;
    unsigned long long own, wall;

    if (!PyArg_ParseTuple(args, "KK:ended", &own, &wall))
        return NULL;
    run->own_ns += own;
    run->wall_ns = wall;
    Py_RETURN_NONE;
}

/* take_times(other): whether the times of this run were replaced. */
static PyObject *take_times(PyObject *self, PyObject *other)
{
    if (Py_TYPE(other) != Py_TYPE(self))
        return PyErr_Format(PyExc_TypeError, "a Run is needed");
    return PyBool_FromLong(
        run_take_times(((struct run_object *)self)->run, answers_of(other)));
}

static PyObject *get_n_calls(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLong(answers_of(self)->n_calls);
}

static PyMethodDef methods[] = {
    {"calls", FAST(calls), "calls(name=None, everywhere=False): all, or those of one"},
    {"places", places, METH_NOARGS, "The tree of the model."},
    {"gaps", gaps, METH_NOARGS, "What was not recorded."},
    {"params", params, METH_NOARGS, "Parameters and gradients, step by step."},
    {"facts", facts, METH_NOARGS, "Facts about the run."},
    {"merged", FAST(merged), "merged(name=None): calls beyond those kept, together"},
    {"kept", (PyCFunction)(void (*)(void))kept, METH_VARARGS | METH_KEYWORDS,
     "kept(name, call=0, kind='out', path=None): (bytes, dtype, shape) or None"},
    {"kept_at", kept_at, METH_O, "kept_at(number): (bytes, dtype, shape)"},
    {"take_times", take_times, METH_O, "take_times(run): of the same calls"},
    {"ended", ended, METH_VARARGS,
     "ended(own_ns, wall_ns): the recorder reports its end"},
    {"text", KEYWORDS(answers_text), "text(**wanted): the tree; see views.h"},
    {"rows", KEYWORDS(answers_rows), "rows(**wanted): its rows"},
    {"export", KEYWORDS(answers_export), "export(form, **wanted): as a str"},
    {"picture", KEYWORDS(answers_picture), "picture(form, **options): as bytes"},
    {"save_picture", KEYWORDS(answers_save_picture), "save_picture(path, **options)"},
    {"write", KEYWORDS(answers_write), "write(path, **wanted): to a file"},
    {"op", answers_op, METH_O, "op(number): an operation, without its tensors"},
    {"op_value", answers_op_value, METH_O, "op_value(number): a value"},
    {"producer", answers_producer, METH_NOARGS,
     "producer(): (the operation that made the first value that is not finite, or "
     "None; "
     "is one left?)"},
    {"op_values", answers_op_values, METH_O, "op_values(number): its tensors"},
    {"op_kinds", answers_op_kinds, METH_NOARGS, "The name of each kind of operation."},
    {"find_ops", answers_find_ops, METH_VARARGS,
     "find_ops(module=None, kinds=None, phase=None): numbers, as bytes"},
    {"graph", answers_graph, METH_VARARGS, "graph(level, phase=None): a dict"},
    {"memory", answers_memory, METH_NOARGS, "Its memory, from the operations: a dict."},
    {"save", answers_save, METH_O, "save(path): as a .scope file"},
    {"keep_code", keep_code, METH_O, "keep_code(list): the source of its classes"},
    {"json", answers_json, METH_VARARGS, "json(kind): a document as text"},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getters[] = {
    {"cost", get_cost, NULL, "wall_ns, passes_ns, own_ns, hooks_ns, share", NULL},
    {"n_calls", get_n_calls, NULL, "calls that are listed", NULL},
    {"n_ops", answers_n_ops, NULL, "operations; None: not recorded", NULL},
    {"lost_ops", answers_lost_ops, NULL, "operations beyond the limit", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, run_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, getters},
    {0, NULL},
};

PyType_Spec run_spec = {
    .name = "torchoscope._core.Run",
    .basicsize = sizeof(struct run_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};
