/* The mode, and recording of one operation: the hot path. torch takes a mode off its
 * stack while it calls it, so operations inside an operation (a custom one written in
 * Python) are not recorded separately. */
#include <stdlib.h>
#include <string.h>

#include "ext/record/ops_in.h"
#include "ext/record/record.h"
#include "ext/torch/torch.h"
#include "ext/torch/walk.h"

#define IDLE_MOST 16384 /* operations between two calls, backwards or steps */

/* ---- tensors of an operation ---- */

/* Operations may nest (a higher-order one, another thread): each takes a list. */
static struct ops_tensors take_tensors(struct recorder_ops *ops)
{
    struct ops_tensors tensors = {0};

    if (ops->n_spare > 0)
        tensors = ops->spare[--ops->n_spare];
    tensors.n = 0;
    return tensors;
}

static void return_tensors(struct recorder_ops *ops, struct ops_tensors tensors)
{
    if (buf_grow_array(&ops->spare, ops->n_spare, &ops->spare_room,
                       sizeof *ops->spare)) {
        ops->spare[ops->n_spare++] = tensors;
        return;
    }
    free(tensors.at);
    free(tensors.values);
}

static bool grow(struct ops_tensors *tensors)
{
    uint32_t room = tensors->room;

    if (tensors->n < room)
        return true;
    if (!buf_grow_array(&tensors->at, tensors->n, &tensors->room, sizeof *tensors->at))
        return false;
    return buf_grow_array(&tensors->values, tensors->n, &room, sizeof *tensors->values);
}

/* Describes a tensor for the trace; the __torch_function__ of its class does not run. */
static bool look(struct recorder_ops *ops, PyObject *tensor, struct trace_op_tensor *to)
{
    struct torch_quiet quiet = quiet_for(torch_find(), tensor);
    bool known = ops_look(ops, tensor, to);

    quiet_for_end(quiet);
    return known;
}

static void add_tensor(struct recorder_ops *ops, struct ops_tensors *tensors,
                       PyObject *tensor, struct trace_op_tensor as)
{
    if (!grow(tensors))
        return;
    if (!look(ops, tensor, &as))
        return;
    if (as.kind != OP_IN)
        as.flags = 0;
    else if (!(as.flags & OP_VALUE_GRAD))
        as.flags = OP_VALUE_NO_GRAD;
    tensors->values[tensors->n] = RUN_NONE;
    tensors->at[tensors->n++] = as;
}

/* Adds a tensor, or the tensors of a list. */
static void add_tensors(struct recorder_ops *ops, struct ops_tensors *tensors,
                        PyObject *object, struct trace_op_tensor as)
{
    bool is_list = PyList_Check(object);
    Py_ssize_t n;

    as.item = OP_NO_ITEM;
    if (tensor_is(object)) {
        add_tensor(ops, tensors, object, as);
        return;
    }
    if (!is_list && !PyTuple_Check(object))
        return;
    n = is_list ? PyList_Size(object) : PyTuple_Size(object);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *one =
            is_list ? PyList_GetItem(object, i) : PyTuple_GetItem(object, i);

        as.item = i < OP_NO_ITEM ? (uint16_t)i : OP_NO_ITEM - 1;
        if (tensor_is(one))
            add_tensor(ops, tensors, one, as);
    }
}

/* Its arguments; `written`: those that it wrote to, after it. */
static void add_arguments(struct recorder_ops *ops, const struct ops_kind *kind,
                          PyObject *args, PyObject *kwargs, bool written,
                          struct ops_tensors *tensors)
{
    struct trace_op_tensor as = {.kind = written ? OP_WRITTEN : OP_IN};
    Py_ssize_t n = PyTuple_Size(args), at = 0;
    PyObject *key, *value;

    for (Py_ssize_t i = 0; i < n; i++) {
        as.arg = (uint16_t)i;
        if (!written || ops_writes(kind, (uint32_t)i))
            add_tensors(ops, tensors, PyTuple_GetItem(args, i), as);
    }
    while (kwargs && PyDict_Next(kwargs, &at, &key, &value)) {
        uint32_t position = ops_position(kind, key);

        as.arg = position < UINT16_MAX ? (uint16_t)position : UINT16_MAX;
        if (!written || ops_writes(kind, position))
            add_tensors(ops, tensors, value, as);
    }
}

/* Each item of a tuple is a result; a list is one result. */
static void add_results(struct recorder_ops *ops, PyObject *result,
                        struct ops_tensors *tensors)
{
    struct trace_op_tensor as = {.kind = OP_OUT};
    Py_ssize_t n;

    if (!PyTuple_Check(result)) {
        add_tensors(ops, tensors, result, as);
        return;
    }
    n = PyTuple_Size(result);
    for (Py_ssize_t i = 0; i < n; i++) {
        as.arg = (uint16_t)i;
        add_tensors(ops, tensors, PyTuple_GetItem(result, i), as);
    }
}

/* ---- regions ---- */

struct region_walk {
    struct recorder_ops *ops;
    struct ops_tensors *tensors;
    struct trace_op_tensor as;
};

static int add_found(void *user, PyObject *tensor, const char *path, size_t len)
{
    struct region_walk *walk = user;

    (void)path;
    (void)len;
    add_tensor(walk->ops, walk->tensors, tensor, walk->as);
    if (walk->as.item < OP_NO_ITEM - 1)
        walk->as.item++;
    return 0;
}

/* The tensors of a region are nested in any way: they are numbered as they come. */
static void walk_region(struct recorder_ops *ops, struct ops_tensors *tensors,
                        PyObject *args, PyObject *kwargs, PyObject *result)
{
    struct region_walk walk = {.ops = ops, .tensors = tensors};

    walk.as.kind = result ? OP_OUT : OP_IN;
    if (result)
        walk_result(result, add_found, &walk, NULL);
    else
        walk_arguments(args, kwargs, NULL, add_found, &walk, NULL);
}

void ops_region(struct recorder_ops *ops, const char *name, PyObject *args,
                PyObject *kwargs, PyObject *result, uint64_t start_ns, uint64_t ns)
{
    struct trace *trace = ops->recorder->trace;
    struct stack *stack = frames_stack(ops->recorder->frames);
    struct trace_op_given given = {
        .start_ns = start_ns, .ns = ns, .flops = OP_NO_FLOPS};
    struct ops_tensors tensors;

    if (ops->over)
        return;
    tensors = take_tensors(ops);
    if (ops->region == RUN_NONE)
        ops->region = trace_op_kind(trace, name, "", NULL, 0, OP_REGION);
    if (stack && ops->region != RUN_NONE) {
        given.kind = ops->region;
        ops_cause(ops, stack, NULL, &given);
        walk_region(ops, &tensors, args, kwargs, NULL);
        walk_region(ops, &tensors, NULL, NULL, result);
        given.tensors = tensors.at;
        given.n_tensors = tensors.n;
        ops_origin(ops, &given, trace_op(trace, &given, tensors.values));
        ops->count++;
    }
    return_tensors(ops, tensors);
}

/* ---- one operation ---- */

static void add_to_replay(struct op_visit *visit, uint32_t op, PyObject *result)
{
    PyObject *values = PyList_New((Py_ssize_t)visit->tensors.n), *done = NULL;

    for (uint32_t i = 0; values && i < visit->tensors.n; i++)
        PyList_SetItem(values, (Py_ssize_t)i,
                       PyLong_FromUnsignedLong(visit->tensors.values[i]));
    if (values)
        done = PyObject_CallMethod(
            visit->ops->replay, "op", "IOOOOO", (unsigned)op, visit->func, visit->args,
            visit->kwargs ? visit->kwargs : Py_None, result ? result : Py_None, values);
    Py_XDECREF(values);
    Py_XDECREF(done);
    if (!done)
        recorder_failed(visit->ops->recorder);
}

/* Our own operations from here on are not recorded. */
static void busy_begin(struct op_visit *visit)
{
    visit->stack->busy = true;
    own_begin();
}

static void busy_end(struct op_visit *visit)
{
    own_end();
    visit->stack->busy = false;
}

static bool visit_begin(struct op_visit *visit)
{
    struct recorder_ops *ops = visit->ops;
    struct recorder *recorder = ops->recorder;
    const struct recorder_frame *top;

    visit->stack = frames_stack(recorder->frames);
    if (!visit->stack || visit->stack->busy)
        return false;
    top = visit->stack->n ? &visit->stack->frames[visit->stack->n - 1] : NULL;
    if (top && top->compiled)
        return false; /* a kernel of compiled code: see ops_region() */
    busy_begin(visit);
    visit->kind = ops_kind(ops, visit->func);
    if (!visit->kind || visit->kind->number == RUN_NONE || !recorder->trace) {
        busy_end(visit);
        return false;
    }
    visit->tensors = take_tensors(ops);
    visit->given.kind = visit->kind->number;
    ops_cause(ops, visit->stack, visit->kind, &visit->given);
    ops->reading = true;
    if (visit->kind->flags & OP_REGION)
        walk_region(ops, &visit->tensors, visit->args, visit->kwargs, NULL);
    else
        add_arguments(ops, visit->kind, visit->args, visit->kwargs, false,
                      &visit->tensors);
    ops->reading = false;
    /* Beyond the limit only formulas for FLOPs read them. */
    if (!(visit->kind->flags & OP_REGION) &&
        (!ops->full || visit->kind->flags & OP_COUNTED))
        visit->given.attributes =
            ops_attributes(ops, visit->kind, visit->args, visit->kwargs);
    if (ops->replay && visit->kind->flags & OP_RANDOM) {
        PyObject *done = PyObject_CallMethod(ops->replay, "before", "OO", visit->args,
                                             visit->kwargs ? visit->kwargs : Py_None);

        Py_XDECREF(done);
    }
    if (PyErr_Occurred())
        recorder_failed(recorder);
    busy_end(visit);
    return true;
}

/* Whether the operation wrote to arguments: batch_norm does so only in training. */
static bool has_written(const struct op_visit *visit)
{
    PyObject *training;

    if (visit->kind->writes == 0 || visit->kind->training < 0)
        return visit->kind->writes != 0;
    if (visit->kind->training >= PyTuple_Size(visit->args))
        return false;
    training = PyTuple_GetItem(visit->args, visit->kind->training);
    return training == Py_True;
}

/* A watched step may never end because the user does something else. Then recording
 * stops until the next call begins. */
static void rest_if_idle(struct op_visit *visit)
{
    struct recorder_ops *ops = visit->ops;

    if (!ops->recorder->watch || visit->given.call != RUN_NONE ||
        visit->given.phase != OP_FORWARD)
        ops->idle = 0;
    else
        ops->idle++;
}

static void visit_end(struct op_visit *visit, PyObject *result)
{
    struct recorder_ops *ops = visit->ops;
    struct recorder *recorder = ops->recorder;
    uint32_t op;

    busy_begin(visit);
    if (result && visit->kind->flags & OP_REGION)
        walk_region(ops, &visit->tensors, NULL, NULL, result);
    else if (result)
        add_results(ops, result, &visit->tensors);
    else
        visit->given.flags |= OP_RAISED;
    if (result && has_written(visit))
        add_arguments(ops, visit->kind, visit->args, visit->kwargs, true,
                      &visit->tensors);
    visit->given.flops =
        result ? ops_formula(visit->kind, visit->args, visit->kwargs, result)
               : OP_NO_FLOPS;
    visit->given.tensors = visit->tensors.at;
    visit->given.n_tensors = visit->tensors.n;
    op = trace_op(recorder->trace, &visit->given, visit->tensors.values);
    ops->full = op == RUN_NONE;
    ops_origin(ops, &visit->given, op);
    rest_if_idle(visit);
    if (result && ops->stats && op != RUN_NONE)
        ops_measure(visit, result);
    if (ops->replay && op != RUN_NONE)
        add_to_replay(visit, op, result);
    ops->count++;
    busy_end(visit);
}

static PyObject *call(const struct op_visit *visit)
{
    if (visit->kind && !visit->kind->call)
        return PyObject_CallFunctionObjArgs(visit->ops->run, visit->func, visit->args,
                                            visit->kwargs ? visit->kwargs : Py_None,
                                            NULL);
    return PyObject_Call(visit->kind ? visit->kind->call : visit->func, visit->args,
                         visit->kwargs);
}

/* Our own cost is the time of this call minus that of the operation. */
static void settle(struct op_visit *visit, uint64_t took)
{
    struct recorder *recorder = visit->ops->recorder;
    uint64_t own = recorder_clock() - visit->began_ns - took;

    recorder->own_ns += own;
    visit->ops->own_ns += own;
    if (recorder->trace)
        trace_own(recorder->trace, visit->stack->number, own);
}

static PyObject *record_op(struct op_visit *visit)
{
    PyObject *kind = NULL, *value = NULL, *trace = NULL, *result;
    struct recorder *recorder = visit->ops->recorder;
    uint64_t start, end;

    visit->began_ns = recorder_clock();
    if (!visit_begin(visit)) {
        visit->kind = NULL;
        return PyObject_Call(visit->func, visit->args, visit->kwargs);
    }
    start = recorder_clock();
    result = call(visit);
    end = recorder_clock();
    visit->given.start_ns = start;
    visit->given.ns = end - start;
    if (!result)
        PyErr_Fetch(&kind, &value, &trace);
    if (recorder_ready(recorder) && recorder->trace && !visit->ops->over)
        visit_end(visit, result);
    if (PyErr_Occurred())
        recorder_failed(recorder);
    return_tensors(visit->ops, visit->tensors);
    settle(visit, end - start);
    if (!result)
        PyErr_Restore(kind, value, trace);
    return result;
}

/* ---- the type ---- */

/* The state of a mode is stored after that of its base class. */
struct mode_state {
    struct recorder_ops *ops;
    PyObject *recorder; /* the instance's dict holds it */
};

static size_t state_at; /* the size of the base class */

static struct mode_state *state_of(PyObject *self)
{
    return (struct mode_state *)((char *)self + state_at);
}

/* __torch_dispatch__(self, func, types, args=(), kwargs=None) */
static PyObject *dispatch(PyObject *self, PyObject *const *args, Py_ssize_t n,
                          PyObject *names)
{
    struct op_visit visit = {.ops = state_of(self)->ops,
                             .func = n > 0 ? args[0] : NULL};
    PyObject *empty = NULL, *result;

    if (n < 2 || (names && PyTuple_Size(names) > 0))
        return PyErr_Format(PyExc_TypeError,
                            "__torch_dispatch__ takes func, types, args and kwargs");
    visit.args = n > 2 ? args[2] : (empty = PyTuple_New(0));
    visit.kwargs = n > 3 && args[3] != Py_None ? args[3] : NULL;
    if (visit.kwargs && PyDict_Size(visit.kwargs) == 0)
        visit.kwargs = NULL;
    if (!visit.args)
        return NULL;
    if (own_runs() || !visit.ops || visit.ops->over || visit.ops->idle > IDLE_MOST ||
        !recorder_ready(visit.ops->recorder))
        result = PyObject_Call(visit.func, visit.args, visit.kwargs);
    else
        result = record_op(&visit);
    Py_XDECREF(empty);
    return result;
}

/* Does it still record? */
static PyObject *under_way(PyObject *self, PyObject *unused)
{
    const struct recorder_ops *ops = state_of(self)->ops;

    (void)unused;
    return PyBool_FromLong(ops && !ops->over && ops->recorder->trace);
}

static PyObject *yes(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    Py_RETURN_TRUE;
}

static PyMethodDef mode_methods[] = {
    {"__torch_dispatch__", (PyCFunction)(void (*)(void))dispatch,
     METH_FASTCALL | METH_KEYWORDS, NULL},
    {"under_way", under_way, METH_NOARGS, NULL},
    /* Compiled code stays compiled: without this it would run as plain Python. */
    {"ignore_compile_internals", yes, METH_NOARGS | METH_STATIC, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot mode_slots[] = {
    {Py_tp_methods, mode_methods},
    {0, NULL},
};

static PyObject *make_type(void)
{
    PyType_Spec spec = {.name = "torchoscope._core.OpsMode",
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                        .slots = mode_slots};
    PyObject *module = PyImport_ImportModule("torch.utils._python_dispatch");
    PyObject *base =
        module ? PyObject_GetAttrString(module, "TorchDispatchMode") : NULL;
    PyObject *size = base ? PyObject_GetAttrString(base, "__basicsize__") : NULL;
    PyObject *bases = base ? PyTuple_Pack(1, base) : NULL, *type = NULL;

    if (size && bases) {
        state_at = PyLong_AsSize_t(size);
        spec.basicsize = (int)(state_at + sizeof(struct mode_state));
        type = PyType_FromSpecWithBases(&spec, bases);
    }
    if (type &&
        PyObject_SetAttrString(type, "supports_higher_order_operators", Py_True) < 0)
        Py_CLEAR(type);
    Py_XDECREF(bases);
    Py_XDECREF(size);
    Py_XDECREF(base);
    Py_XDECREF(module);
    return type;
}

/* The type is created on first use, because its base is torch's, and stored as an
 * attribute of torchoscope._core. */
static PyObject *mode_type(void)
{
    PyObject *module = PyImport_ImportModule("torchoscope._core");
    PyObject *type = module ? PyObject_GetAttrString(module, "_ops_mode_type") : NULL;

    if (!type && module) {
        PyErr_Clear();
        type = make_type();
        if (type && PyObject_SetAttrString(module, "_ops_mode_type", type) < 0)
            Py_CLEAR(type);
    }
    Py_XDECREF(module);
    return type;
}

PyObject *ops_mode(PyObject *recorder, struct recorder_ops *ops)
{
    PyObject *type = mode_type(), *mode = type ? PyObject_CallNoArgs(type) : NULL;

    Py_XDECREF(type);
    if (!mode)
        return NULL;
    *state_of(mode) = (struct mode_state){.ops = ops, .recorder = recorder};
    if (recorder && PyObject_SetAttrString(mode, "_recorder", recorder) < 0)
        Py_CLEAR(mode);
    if (mode && ops) {
        struct stack *stack = frames_stack(ops->recorder->frames);
        struct ops_thread *thread = stack ? ops_thread(ops, stack->number) : NULL;

        if (thread) {
            thread->has_mode = true;
            ops_nodes_end(ops, stack->number, false);
        }
    }
    return mode;
}

PyObject *record_empty_mode(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return ops_mode(NULL, NULL);
}

/* ---- beginning and end ---- */

static bool take(PyObject *wanted, const char *name, PyObject **to)
{
    *to = PyObject_GetAttrString(wanted, name);
    if (*to == Py_None)
        Py_CLEAR(*to);
    return !PyErr_Occurred();
}

static bool fill(struct recorder_ops *ops, PyObject *wanted)
{
    PyObject *limit = NULL, *stats = NULL;
    unsigned long most;
    bool good;

    good = take(wanted, "describe", &ops->describe) && take(wanted, "run", &ops->run) &&
           take(wanted, "enter", &ops->enter) && take(wanted, "replay", &ops->replay) &&
           take(wanted, "limit", &limit) && take(wanted, "stats", &stats) &&
           ops_memory_begin(ops);
    most = good && limit ? PyLong_AsUnsignedLong(limit) : 0;
    ops->stats = stats == Py_True;
    Py_XDECREF(limit);
    Py_XDECREF(stats);
    if (!good || PyErr_Occurred())
        return false;
    if (!trace_ops_begin(ops->recorder->trace, (uint32_t)most)) {
        PyErr_NoMemory();
        return false;
    }
    ops->cpu = trace_device(ops->recorder->trace, "cpu");
    return true;
}

struct recorder_ops *ops_new(struct recorder *recorder, PyObject *wanted)
{
    struct recorder_ops *ops = calloc(1, sizeof *ops);

    if (!ops) {
        PyErr_NoMemory();
        return NULL;
    }
    ops->recorder = recorder;
    ops->region = ops->attach = RUN_NONE;
    arena_init(&ops->arena, 256u << 20);
    map_init(&ops->attributes, &ops->arena);
    if (!fill(ops, wanted)) {
        ops_free(ops);
        return NULL;
    }
    return ops;
}

void ops_stop(struct recorder_ops *ops)
{
    if (!ops)
        return;
    ops_memory_end(ops);
    if (ops->ambiguous && ops->recorder->trace)
        trace_gap(ops->recorder->trace, RUN_GAP_LIMIT, NO_OBJECT,
                  "Several threads made nodes of autograd: of %llu operations of "
                  "backward the call is not known.",
                  (unsigned long long)ops->ambiguous);
    ops->ambiguous = 0;
    /* They may refer to the recorder. */
    Py_CLEAR(ops->describe);
    Py_CLEAR(ops->run);
    Py_CLEAR(ops->enter);
    Py_CLEAR(ops->replay);
}

void ops_end(struct recorder_ops *ops)
{
    if (!ops || ops->over)
        return;
    ops_stop(ops);
    ops->over = true;
    ops_origins_free(ops);
    free(ops->storages);
    ops->storages = NULL;
    ops->n_storages = ops->storages_room = 0;
    arena_release(&ops->arena);
    arena_init(&ops->arena, 256u << 20);
    map_init(&ops->attributes, &ops->arena);
}

void ops_follow(struct recorder_ops *ops, struct recorder_ops *before)
{
    ops->before = before;
    ops->count = before ? before->count : 0;
    ops->own_ns = before ? before->own_ns : 0;
}

static void free_one(struct recorder_ops *ops)
{
    ops_memory_end(ops);
    ops_kinds_free(ops);
    for (uint32_t i = 0; i < ops->n_spare; i++) {
        free(ops->spare[i].at);
        free(ops->spare[i].values);
    }
    for (uint32_t i = 0; i < ops->n_threads; i++)
        Py_XDECREF(ops->threads[i].leave);
    ops_origins_free(ops);
    for (uint32_t i = 0; i < OPS_NODE_TYPES; i++)
        Py_XDECREF(ops->node_types[i].method);
    Py_XDECREF(ops->describe);
    Py_XDECREF(ops->run);
    Py_XDECREF(ops->enter);
    Py_XDECREF(ops->replay);
    free(ops->spare);
    free(ops->threads);
    free(ops->storages);
    arena_release(&ops->arena);
    free(ops);
}

void ops_free(struct recorder_ops *ops)
{
    while (ops) {
        struct recorder_ops *before = ops->before;

        free_one(ops);
        ops = before;
    }
}

uint64_t ops_count(const struct recorder_ops *ops)
{
    return ops->count;
}

uint64_t ops_own_ns(const struct recorder_ops *ops)
{
    return ops->own_ns;
}

uint32_t ops_value(struct recorder_ops *ops, PyObject *tensor)
{
    struct trace_op_tensor as = {0};
    bool known;

    if (ops->full || ops->over)
        return RUN_NONE;
    ops->reading = true;
    known = look(ops, tensor, &as);
    ops->reading = false;
    if (!known)
        return RUN_NONE;
    return trace_op_value(ops->recorder->trace, as.type, as.storage, as.offset);
}

void ops_root_begins(struct recorder_ops *ops, uint32_t number)
{
    struct ops_thread *thread = ops_thread(ops, number);
    PyObject *leave;

    if (!thread || thread->has_mode || !ops->enter || ops->over)
        return;
    leave = PyObject_CallNoArgs(ops->enter);
    if (!leave) {
        recorder_failed(ops->recorder);
        return;
    }
    thread = ops_thread(ops, number); /* Python ran: it may have moved */
    Py_XDECREF(thread->leave);
    thread->leave = leave;
    thread->has_mode = true;
}

void ops_root_ends(struct recorder_ops *ops, uint32_t number)
{
    struct ops_thread *thread = ops_thread(ops, number);
    PyObject *leave = thread ? thread->leave : NULL, *done;

    if (!leave || thread->backwards)
        return;
    thread->leave = NULL;
    thread->has_mode = false;
    done = PyObject_CallNoArgs(leave);
    if (!done)
        recorder_failed(ops->recorder);
    Py_XDECREF(done);
    Py_DECREF(leave);
}

void ops_backward(struct recorder_ops *ops, bool begins)
{
    struct stack *stack = frames_stack(ops->recorder->frames);
    struct ops_thread *thread = stack ? ops_thread(ops, stack->number) : NULL;

    ops->idle = 0;
    if (!thread)
        return;
    if (begins && !thread->has_mode) {
        ops_root_begins(ops, stack->number);
        thread = ops_thread(ops, stack->number);
        thread->backwards = thread->leave ? 1 : 0;
    } else if (begins && thread->backwards) {
        thread->backwards++;
    } else if (!begins && thread->backwards && --thread->backwards == 0) {
        ops_root_ends(ops, stack->number);
    }
}
