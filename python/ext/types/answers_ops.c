/* answers_ops.c - operations of a run, and its graph. Operations become dicts on
 * demand, because a run may have hundreds of thousands. */
#include <stdlib.h>
#include <string.h>

#include "ext/types/answers_in.h"

#include "base/err.h"
#include "export/export.h"
#include "study/op_graph.h"
#include "study/producer.h"

PyObject *answers_n_ops(PyObject *self, void *unused)
{
    const struct run *run = answers_of(self);

    (void)unused;
    return run->ops ? PyLong_FromUnsignedLong(run->ops->n_ops) : Py_NewRef(Py_None);
}

PyObject *answers_lost_ops(PyObject *self, void *unused)
{
    const struct run *run = answers_of(self);

    (void)unused;
    return PyLong_FromUnsignedLongLong(run->ops ? run->ops->lost : 0);
}

/* The operations, or NULL and an exception. */
static const struct run_ops *ops_of(PyObject *self)
{
    const struct run *run = answers_of(self);
    struct err err = {0};

    if (run->ops)
        return run->ops;
    err_set(&err, ERR_UNSUPPORTED,
            "this recording has no operations: record them with record(model, "
            "ops=True) or trace(model, ...)");
    ext_raise(&err);
    return NULL;
}

/* A part of the operation with this number, as a dict. */
static PyObject *op_part(PyObject *self, PyObject *number,
                         void (*write)(struct json *json, const struct run *run,
                                       uint32_t i))
{
    const struct run_ops *ops = ops_of(self);
    unsigned long at;
    struct dicts dicts;

    if (!ops)
        return NULL;
    at = PyLong_AsUnsignedLong(number);
    if (PyErr_Occurred())
        return NULL;
    if (at >= ops->n_ops)
        return PyErr_Format(PyExc_IndexError, "there is no operation %lu", at);
    dicts_begin(&dicts);
    write(&dicts.json, answers_of(self), (uint32_t)at);
    return dicts_end(&dicts);
}

PyObject *answers_memory(PyObject *self, PyObject *unused)
{
    struct err err = {0};
    struct dicts dicts;
    int status;

    (void)unused;
    if (!ops_of(self))
        return NULL;
    dicts_begin(&dicts);
    status = export_memory(&dicts.json, answers_of(self), &err);
    if (status == 0)
        return dicts_end(&dicts);
    Py_XDECREF(dicts_end(&dicts));
    PyErr_Clear();
    ext_raise(&err);
    return NULL;
}

PyObject *answers_producer(PyObject *self, PyObject *unused)
{
    struct producer_op found;
    struct arena arena;
    int status;

    (void)unused;
    if (!ops_of(self))
        return NULL;
    arena_init(&arena, 0);
    status = producer_op(answers_of(self), &arena, &found);
    arena_release(&arena);
    if (status < 0)
        return PyErr_NoMemory();
    if (found.op == RUN_NONE)
        return Py_BuildValue("OO", Py_None, found.bad ? Py_True : Py_False);
    return Py_BuildValue("IO", found.op, Py_True);
}

PyObject *answers_op(PyObject *self, PyObject *number)
{
    return op_part(self, number, export_op);
}

PyObject *answers_op_values(PyObject *self, PyObject *number)
{
    return op_part(self, number, export_op_values);
}

PyObject *answers_op_value(PyObject *self, PyObject *number)
{
    const struct run_ops *ops = ops_of(self);
    unsigned long at = ops ? PyLong_AsUnsignedLong(number) : 0;
    struct dicts dicts;

    if (!ops || PyErr_Occurred())
        return NULL;
    if (at >= ops->n_values)
        return PyErr_Format(PyExc_IndexError, "there is no value %lu", at);
    dicts_begin(&dicts);
    export_op_value(&dicts.json, answers_of(self), (uint32_t)at);
    return dicts_end(&dicts);
}

PyObject *answers_op_kinds(PyObject *self, PyObject *unused)
{
    const struct run *run = answers_of(self);
    const struct run_ops *ops = ops_of(self);
    PyObject *list = ops ? PyList_New(0) : NULL;

    (void)unused;
    for (uint32_t i = 0; list && i < ops->n_kinds; i++)
        if (!list_add(list, text_object(run_string(run, ops->kinds[i].name))))
            Py_CLEAR(list);
    return list;
}

/* ---- finding operations ---- */

struct op_filter {
    uint32_t from, to; /* places of the module and below; from > to: any */
    bool *inside;      /* by call: at or below the module; NULL: any */
    const char *kinds; /* by kind: 1 if wanted; NULL: any */
    Py_ssize_t n_kinds;
    int phase; /* -1: any */
};

/* Finds the calls of a module: its own, and those inside them. The children of a shared
 * module are listed at its first place only, so calls are used instead of places; a
 * module that is never called itself (a ModuleList) has the calls of the places below
 * it. */
static bool *find_inside(const struct run *run, uint32_t place)
{
    const struct model *model = run->model;
    bool *inside = calloc((size_t)run->n_calls + 1, sizeof *inside);
    bool own = run_count_calls_at(run, place) > 0;

    for (uint32_t i = 0; inside && i < run->n_calls; i++) {
        const struct run_call *call = &run->calls[i];

        inside[i] = own ? call->place == place
                        : call->place >= place && call->place < model->end[place];
        if (call->parent < i && inside[call->parent])
            inside[i] = true;
    }
    return inside;
}

static bool is_wanted(const struct op_filter *filter, const struct run_op *op,
                      uint32_t n_calls)
{
    if (filter->phase >= 0 && op->phase != filter->phase)
        return false;
    if (filter->kinds &&
        (op->kind >= (size_t)filter->n_kinds || !filter->kinds[op->kind]))
        return false;
    if (!filter->inside)
        return true;
    if (op->call < n_calls)
        return filter->inside[op->call];
    return op->place >= filter->from && op->place < filter->to;
}

/* The numbers of the wanted operations, as bytes of 32-bit integers. */
static PyObject *list_wanted(const struct run *run, const struct op_filter *filter)
{
    const struct run_ops *ops = run->ops;
    PyObject *bytes;
    uint32_t *list = malloc(((size_t)ops->n_ops + 1) * sizeof *list), n = 0;

    if (!list)
        return PyErr_NoMemory();
    for (uint32_t i = 0; i < ops->n_ops; i++)
        if (is_wanted(filter, &ops->ops[i], run->n_calls))
            list[n++] = i;
    bytes =
        PyBytes_FromStringAndSize((const char *)list, (Py_ssize_t)(n * sizeof *list));
    free(list);
    return bytes;
}

static int phase_named(const char *name)
{
    for (int i = 0; i < OP_PHASES; i++)
        if (strcmp(op_phase_name((enum op_phase)i), name) == 0)
            return i;
    PyErr_Format(PyExc_ValueError,
                 "phase is forward, backward, recompute or optimizer, not %s", name);
    return -1;
}

PyObject *answers_find_ops(PyObject *self, PyObject *args)
{
    const struct run *run = answers_of(self);
    struct op_filter filter = {.phase = -1};
    const char *phase = NULL;
    PyObject *module = Py_None, *found;
    uint32_t place;

    if (!ops_of(self) || !PyArg_ParseTuple(args, "|Oz#z:find_ops", &module,
                                           &filter.kinds, &filter.n_kinds, &phase))
        return NULL;
    if (phase) {
        filter.phase = phase_named(phase);
        if (filter.phase < 0)
            return NULL;
    }
    if (module != Py_None) {
        place = answers_module(run, module);
        if (place == NO_PLACE)
            return NULL;
        filter.from = place;
        filter.to = run->model->end[place];
        filter.inside = find_inside(run, place);
        if (!filter.inside)
            return PyErr_NoMemory();
    }
    found = list_wanted(run, &filter);
    free(filter.inside);
    return found;
}

/* ---- the graph ---- */

static bool parse_level(struct op_graph_wanted *wanted, const char *level,
                        const char *phase)
{
    int number;

    if (strcmp(level, "modules") == 0) {
        wanted->level = OP_GRAPH_MODULES;
    } else if (strcmp(level, "ops") == 0) {
        wanted->level = OP_GRAPH_OPS;
    } else {
        PyErr_Format(PyExc_ValueError, "level is ops or modules, not %s", level);
        return false;
    }
    if (!phase)
        return true;
    number = phase_named(phase);
    wanted->phases = number < 0 ? 0 : 1u << number;
    return number >= 0;
}

PyObject *answers_graph(PyObject *self, PyObject *args)
{
    const struct run *run = answers_of(self);
    struct op_graph_wanted wanted = {0};
    const char *level, *phase = NULL;
    struct op_graph graph;
    struct err err = {0};
    struct arena arena;
    struct dicts dicts;

    if (!PyArg_ParseTuple(args, "s|z:graph", &level, &phase) ||
        !parse_level(&wanted, level, phase))
        return NULL;
    arena_init(&arena, 0);
    if (op_graph_make(&graph, run, wanted, &arena, &err) < 0) {
        arena_release(&arena);
        return ext_raise(&err);
    }
    dicts_begin(&dicts);
    export_graph(&dicts.json, run, &graph);
    arena_release(&arena);
    return dicts_end(&dicts);
}
