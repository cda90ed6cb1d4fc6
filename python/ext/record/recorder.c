/* The Python type Recorder. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "ext/ext.h" /* before structmember.h, which needs it */

#include <structmember.h>

#include "ext/record/grads.h"
#include "ext/record/ops.h"
#include "ext/record/record.h"
#include "ext/record/recorder_in.h"
#include "ext/torch/torch.h"

#include "base/err.h"
#include "judge/judge.h"

/* Default cost of torch's hooked path per call, in nanoseconds. */
#define HOOK_NS 1500

struct recorder_object {
    PyObject_HEAD struct recorder recorder;
};

struct recorder *recorder_of(PyObject *self)
{
    return &((struct recorder_object *)self)->recorder;
}

/* --- creation and destruction */

/* The constructor's arguments. */
struct wishes {
    PyObject *model, *keep, *device, *ops;
    const char *name, *mode;
    unsigned long long limit, keep_limit, calls;
    int gradients, lines, force_device, watch;
};

static bool parse_wishes(struct wishes *wishes, PyObject *args, PyObject *kwargs)
{
    static char words[][16] = {
        "model", "name",  "mode",   "gradients",    "keep", "limit", "keep_limit",
        "calls", "lines", "device", "force_device", "ops",  "watch"};
    char *names[sizeof words / sizeof *words + 1] = {NULL};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        names[i] = words[i];
    *wishes = (struct wishes){
        .name = "", .mode = "full", .calls = RUN_KEEP_CALLS, .lines = 1};
    return PyArg_ParseTupleAndKeywords(
        args, kwargs, "O|s$spOKKKpOpOp:Recorder", names, &wishes->model, &wishes->name,
        &wishes->mode, &wishes->gradients, &wishes->keep, &wishes->limit,
        &wishes->keep_limit, &wishes->calls, &wishes->lines, &wishes->device,
        &wishes->force_device, &wishes->ops, &wishes->watch);
}

static const char *const mode_names[] = {[MEASURE_FULL] = "full",
                                         [MEASURE_EXACT] = "exact",
                                         [MEASURE_SAMPLED] = "sampled",
                                         [MEASURE_GUARD] = "guard"};

static bool mode_of(const char *name, enum measure_mode *ret_mode)
{
    for (size_t i = 0; i < sizeof mode_names / sizeof *mode_names; i++)
        if (strcmp(name, mode_names[i]) == 0) {
            *ret_mode = (enum measure_mode)i;
            return true;
        }
    PyErr_Format(PyExc_ValueError,
                 "mode is 'full', 'exact', 'sampled' or 'guard', not '%s'", name);
    return false;
}

static PyObject *unless_none(PyObject *object)
{
    return object && object != Py_None ? Py_NewRef(object) : NULL;
}

/* Calls `keep` for each module, by all of its names, to decide whether its elements
 * are kept. */
static bool choose_kept(struct recorder *recorder, PyObject *keep)
{
    const struct model *model = recorder->model;
    struct buf name = BUF_INIT;
    int yes = 0;

    for (uint32_t p = 0; p < model->n_places && yes >= 0; p++) {
        PyObject *answer;

        if (model->kind[p] != PLACE_MODULE || model->object[p] >= model->n_objects)
            continue;
        buf_clear(&name);
        place_path(model, p, &name);
        answer = PyObject_CallFunction(keep, "s", buf_cstr(&name));
        yes = answer ? PyObject_IsTrue(answer) : -1;
        if (yes > 0)
            recorder->about[model->object[p]] |= RECORDER_KEEPS;
        Py_XDECREF(answer);
    }
    buf_release(&name);
    return yes >= 0;
}

static bool make_trace(struct recorder *recorder, const struct wishes *wishes)
{
    struct trace_wanted wanted = {.limit = (size_t)wishes->limit,
                                  .keep_limit = (size_t)wishes->keep_limit,
                                  .keep_calls =
                                      wishes->calls && wishes->calls < TRACE_ALL_CALLS
                                          ? (uint32_t)wishes->calls
                                          : TRACE_ALL_CALLS};
    struct err err = {0};
    const struct model *model;

    model = live_model(wishes->model, wishes->name, &recorder->live, &err);
    if (!model) {
        if (!PyErr_Occurred())
            ext_raise(&err);
        return false;
    }
    recorder->model = model;
    recorder->wanted = wanted;
    recorder->about = calloc(model->n_objects + 1, 1);
    recorder->n_names = model->n_objects;
    recorder->names = calloc(recorder->n_names + 1, sizeof *recorder->names);
    recorder->forwards = PyDict_New();
    recorder->trace = trace_new(model, &wanted);
    if (!recorder->trace || !recorder->about || !recorder->names ||
        !recorder->forwards) {
        PyErr_NoMemory();
        return false;
    }
    trace_fact_text(recorder->trace, "mode", wishes->mode);
    return !wishes->keep || wishes->keep == Py_None ||
           choose_kept(recorder, wishes->keep);
}

static bool has_clock(PyObject *device)
{
    PyObject *timed = PyObject_GetAttrString(device, "timed");
    bool has = timed && PyObject_IsTrue(timed) == 1;

    ext_swallow();
    Py_XDECREF(timed);
    return has;
}

static bool fill(struct recorder *recorder, const struct wishes *wishes)
{
    if (!mode_of(wishes->mode, &recorder->mode) || !make_trace(recorder, wishes))
        return false;
    recorder->seen = seen_new();
    recorder->frames = frames_new();
    recorder->device = unless_none(wishes->device);
    recorder->force_device = wishes->force_device;
    recorder->timed = recorder->device && has_clock(recorder->device);
    if (wishes->lines)
        recorder->lines = code_lines_new();
    if (wishes->gradients)
        recorder->grads = grads_new(recorder);
    if (wishes->watch)
        recorder->watch = recorder_watch_new();
    if (wishes->watch)
        recorder->judge = judge_new(); /* without memory: no alarms */
    if (wishes->ops && wishes->ops != Py_None)
        recorder->ops = ops_new(recorder, wishes->ops);
    if (PyErr_Occurred())
        return false;
    if (!recorder->seen || !recorder->frames ||
        (wishes->gradients && !recorder->grads)) {
        if (!PyErr_Occurred())
            PyErr_NoMemory();
        return false;
    }
    recorder->epoch = trace_epoch(recorder->trace);
    recorder->hook_ns = HOOK_NS;
    recorder->forks = recorder_forks();
    recorder->begin_ns = recorder_clock();
    recorder->armed = true;
    return true;
}

static PyObject *recorder_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct recorder_object *self;
    struct wishes wishes;

    if (!parse_wishes(&wishes, args, kwargs))
        return NULL;
    self = (struct recorder_object *)alloc(type, 0);
    if (!self)
        return NULL;
    self->recorder.self = (PyObject *)self;
    if (!fill(&self->recorder, &wishes)) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static int recorder_visit(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(recorder_of(self)->forwards);
    Py_VISIT(recorder_of(self)->device);
    return 0;
}

static int recorder_clear(PyObject *self)
{
    recorder_of(self)->armed = false;
    Py_CLEAR(recorder_of(self)->forwards);
    Py_CLEAR(recorder_of(self)->device);
    return 0;
}

/* Frees what is only needed while recording. */
static void release_recording(struct recorder *recorder)
{
    struct grads *grads = recorder->grads;
    struct trace *trace = recorder->trace;

    recorder->grads = NULL;
    recorder->trace = NULL;
    grads_free(grads);
    trace_free(trace);
}

static void recorder_dealloc(PyObject *self)
{
    struct recorder *recorder = recorder_of(self);
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

    PyObject_GC_UnTrack(self);
    recorder_clear(self);
    release_recording(recorder);
    recorder_watch_free(recorder->watch);
    judge_free(recorder->judge);
    recorder_attached_free(recorder->attached);
    ops_free(recorder->ops);
    seen_free(recorder->seen);
    frames_free(recorder->frames);
    code_lines_free(recorder->lines);
    live_free(recorder->live);
    free(recorder->about);
    recorder_forget_names(recorder);
    release(self);
    Py_DECREF(type);
}

/* --- methods */

static PyObject *pre(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    return recorder_pre(recorder_of(self), args, n_args);
}

static PyObject *post(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    return recorder_post(recorder_of(self), args, n_args);
}

static PyObject *raised(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    return recorder_raised(recorder_of(self), args, n_args);
}

/* Records parameters outside of a call; counts the time as our own. */
static PyObject *see_params(PyObject *self, bool parameters)
{
    struct recorder *recorder = recorder_of(self);
    uint64_t began = recorder_clock(), own;

    if (!recorder_ready(recorder) || !torch_find())
        Py_RETURN_NONE;
    recorder_params(recorder, parameters);
    own = recorder_clock() - began;
    recorder->own_ns += own;
    if (recorder->trace)
        trace_own(recorder->trace, recorder_thread(recorder), own);
    if (PyErr_Occurred())
        recorder_failed(recorder);
    Py_RETURN_NONE;
}

static PyObject *step(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    (void)args;
    (void)n_args;
    return see_params(self, true);
}

static PyObject *before_step(PyObject *self, PyObject *args)
{
    return recorder_before_step(recorder_of(self), args);
}

static PyObject *after_step(PyObject *self, PyObject *unused)
{
    (void)unused;
    return recorder_after_step(recorder_of(self));
}

static PyObject *log_step(PyObject *self, PyObject *args)
{
    return recorder_log(recorder_of(self), args);
}

/* Parses an optimizer's number; false: an exception is set, or nothing is recorded. */
static bool optimizer_number(struct recorder *recorder, PyObject *number,
                             uint32_t *ret_number)
{
    unsigned long value = PyLong_AsUnsignedLong(number);

    *ret_number = (uint32_t)value;
    return !PyErr_Occurred() && recorder->trace;
}

static PyObject *stepped(PyObject *self, PyObject *number)
{
    struct recorder *recorder = recorder_of(self);
    uint32_t optimizer;

    if (optimizer_number(recorder, number, &optimizer))
        trace_stepped(recorder->trace, optimizer);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static PyObject *optimizer_gone(PyObject *self, PyObject *number)
{
    struct recorder *recorder = recorder_of(self);
    uint32_t optimizer;

    if (optimizer_number(recorder, number, &optimizer))
        trace_optimizer_gone(recorder->trace, optimizer);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* backward(roots, gradients): a backward begins */
static PyObject *backward(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    struct recorder *recorder = recorder_of(self);
    uint64_t began = recorder_clock(), own;

    if (n_args < 2 || !recorder_ready(recorder))
        Py_RETURN_NONE;
    if (recorder->ops)
        ops_backward(recorder->ops, args[0] != Py_None);
    if (!recorder->grads || args[0] == Py_None)
        Py_RETURN_NONE;
    grads_begin(recorder->grads, args[0], args[1]);
    own = recorder_clock() - began;
    recorder->own_ns += own;
    if (recorder->trace)
        trace_own(recorder->trace, recorder_thread(recorder), own);
    Py_RETURN_NONE;
}

static PyObject *backward_end(PyObject *self, PyObject *unused)
{
    (void)unused;
    return see_params(self, false);
}

static PyObject *spoilt(PyObject *self, PyObject *unused)
{
    struct recorder *recorder = recorder_of(self);

    (void)unused;
    return PyBool_FromLong(recorder->trace && trace_spoilt(recorder->trace));
}

PyObject *recorder_stopped(void)
{
    PyErr_SetString(PyExc_RuntimeError, "this recording was stopped");
    return NULL;
}

static PyObject *fact(PyObject *self, PyObject *args)
{
    struct recorder *recorder = recorder_of(self);
    struct values *values;
    const char *key, *text;
    PyObject *value;
    Py_ssize_t len;
    uint32_t id = VALUE_ID_NONE;

    if (!PyArg_ParseTuple(args, "sO:fact", &key, &value))
        return NULL;
    if (!recorder->trace)
        return recorder_stopped();
    values = trace_values(recorder->trace);
    if (PyBool_Check(value)) {
        id = value_bool(values, value == Py_True);
    } else if (PyLong_Check(value)) {
        id = value_int(values, (int64_t)PyLong_AsLongLong(value));
    } else if (PyFloat_Check(value)) {
        id = value_real(values, PyFloat_AsDouble(value));
    } else if (PyUnicode_Check(value)) {
        text = PyUnicode_AsUTF8AndSize(value, &len);
        id = text ? value_str(values, str_span(text, (size_t)len)) : id;
    }
    if (PyErr_Occurred())
        return NULL;
    if (id != VALUE_ID_FAILED)
        trace_fact(recorder->trace, key, id);
    Py_RETURN_NONE;
}

/* The object of this name; NO_OBJECT: none. */
static uint32_t object_at(const struct model *model, const char *name)
{
    uint32_t place = name ? place_find(model, str_of(name)) : NO_PLACE;

    if (place == NO_PLACE || model->kind[place] > PLACE_GROUP)
        return NO_OBJECT;
    return model->object[place];
}

static PyObject *gap(PyObject *self, PyObject *args)
{
    struct recorder *recorder = recorder_of(self);
    const char *kind, *name, *text;
    uint32_t object;

    if (!PyArg_ParseTuple(args, "szs:gap", &kind, &name, &text))
        return NULL;
    if (!recorder->trace)
        return recorder_stopped();
    object = object_at(recorder->model, name);
    for (int i = 0; i < RUN_GAP_COUNT; i++)
        if (strcmp(kind, run_gap_name((enum run_gap_kind)i)) == 0) {
            trace_gap(recorder->trace, (enum run_gap_kind)i, object, "%s", text);
            Py_RETURN_NONE;
        }
    return PyErr_Format(PyExc_ValueError, "no kind of gap is called '%s'", kind);
}

static PyObject *direct(PyObject *self, PyObject *args)
{
    struct recorder *recorder = recorder_of(self);
    const char *name, *text;

    if (!PyArg_ParseTuple(args, "ss:direct", &name, &text))
        return NULL;
    if (!recorder->trace)
        return recorder_stopped();
    trace_direct(recorder->trace, object_at(recorder->model, name), text);
    Py_RETURN_NONE;
}

static PyObject *compiled(PyObject *self, PyObject *args)
{
    PyObject *module;
    int is_compiled;

    if (!PyArg_ParseTuple(args, "Op:compiled", &module, &is_compiled))
        return NULL;
    recorder_compiled(recorder_of(self), module, is_compiled);
    Py_RETURN_NONE;
}

/* renew(model, name): lazy modules got their parameters; updates the model. */
static PyObject *renew(PyObject *self, PyObject *args)
{
    struct recorder *recorder = recorder_of(self);
    struct live *live = NULL;
    struct err err = {0};
    const struct model *model;
    const char *name;
    PyObject *object;

    if (!PyArg_ParseTuple(args, "Os:renew", &object, &name))
        return NULL;
    if (!recorder->trace)
        return recorder_stopped();
    model = live_model(object, name, &live, &err);
    if (!model)
        return PyErr_Occurred() ? NULL : ext_raise(&err);
    /* Modules and parameters are the same objects, so the old `live` stays valid. */
    live_free(live);
    recorder_settle(recorder); /* it has the old model */
    if (recorder->trace && trace_renew(recorder->trace, model)) {
        recorder->model = model;
        Py_RETURN_TRUE;
    }
    model_free(model);
    Py_RETURN_FALSE;
}

/* spend(since_ns[, cost_ns]): counts the time since then as our own, except for what
 * was counted since `cost_ns` was read. */
static PyObject *spend(PyObject *self, PyObject *args)
{
    struct recorder *recorder = recorder_of(self);
    unsigned long long since, before = recorder->own_ns;
    uint64_t counted, took;

    if (!PyArg_ParseTuple(args, "K|K:spend", &since, &before))
        return NULL;
    took = recorder_clock() - since;
    counted = recorder->own_ns - before;
    if (recorder->trace && took > counted) {
        recorder->own_ns += took - counted;
        /* Threads get their number at their first call, so at the beginning there is
         * none. */
        trace_own(recorder->trace,
                  frames_count(recorder->frames) ? recorder_thread(recorder)
                                                 : UINT32_MAX,
                  took - counted);
    }
    Py_RETURN_NONE;
}

static PyObject *settle(PyObject *self, PyObject *unused)
{
    (void)unused;
    recorder_settle(recorder_of(self));
    return recorder_take_alarms(recorder_of(self));
}

static PyObject *calls(PyObject *self, PyObject *module)
{
    struct recorder *recorder = recorder_of(self);

    if (!recorder->trace)
        return recorder_stopped();
    return PyLong_FromUnsignedLong(
        trace_calls(recorder->trace, live_object(recorder->live, module)));
}

/* What torch does because of us: its hooked path and its dispatch mode, estimated. */
static uint64_t cost_of_torch(const struct recorder *recorder)
{
    uint64_t ops = recorder->ops ? ops_count(recorder->ops) : 0;

    return recorder->hook_calls / 2 * recorder->hook_ns + ops * recorder->op_ns;
}

static PyObject *stop(PyObject *self, PyObject *unused)
{
    struct recorder *recorder = recorder_of(self);
    struct run *run;
    struct trace *trace;
    uint64_t wall, torchs;

    (void)unused;
    if (!recorder->trace)
        return recorder_stopped();
    recorder_settle(recorder);
    wall = recorder_clock() - recorder->begin_ns;
    recorder->armed = false;
    if (torch_find()) {
        recorder_flush(recorder);
        recorder_times(recorder);
    }
    recorder_unwind(recorder);
    if (recorder->grads)
        grads_end(recorder->grads);
    ops_stop(recorder->ops);
    torchs = cost_of_torch(recorder);
    trace = recorder->trace;
    recorder->trace = NULL;
    recorder->model = NULL;
    release_recording(recorder);
    run = trace_finish(trace, wall, torchs);
    if (!run)
        return PyErr_NoMemory();
    return ext_run((PyObject *)Py_TYPE(self), run);
}

static PyObject *snapshot(PyObject *self, PyObject *unused)
{
    struct recorder *recorder = recorder_of(self);
    struct run *run;

    (void)unused;
    if (!recorder->trace)
        return recorder_stopped();
    recorder_flush(recorder);
    run = recorder->trace ? trace_snapshot(recorder->trace) : NULL;
    if (!run)
        return PyErr_NoMemory();
    return ext_run((PyObject *)Py_TYPE(self), run);
}

static PyObject *same_model(PyObject *self, void *unused)
{
    const struct recorder_watch *watch = recorder_of(self)->watch;

    (void)unused;
    return PyBool_FromLong(watch && !recorder_places(watch));
}

static PyObject *attach(PyObject *self, PyObject *args)
{
    return recorder_attach(recorder_of(self), args);
}

static PyObject *ungraded(PyObject *self, PyObject *module)
{
    struct recorder *recorder = recorder_of(self);
    uint32_t object = live_known_object(recorder->live, module);

    if (object < recorder->model->n_objects)
        recorder->about[object] |= RECORDER_UNGRADED;
    Py_RETURN_NONE;
}

static PyObject *lend(PyObject *self, PyObject *args)
{
    struct recorder *recorder = recorder_of(self);
    PyObject *tensor, *of;

    if (!PyArg_ParseTuple(args, "OO:lend", &tensor, &of))
        return NULL;
    if (!recorder->trace)
        return recorder_stopped();
    return recorder_lend(recorder, tensor, of);
}

static PyObject *arm(PyObject *self, PyObject *unused)
{
    struct recorder *recorder = recorder_of(self);

    (void)unused;
    if (!recorder->trace)
        return recorder_stopped();
    recorder->armed = recorder->forks == recorder_forks();
    Py_RETURN_NONE;
}

static PyObject *disarm(PyObject *self, PyObject *unused)
{
    (void)unused;
    recorder_of(self)->armed = false;
    Py_RETURN_NONE;
}

static PyObject *roots(PyObject *self, void *unused)
{
    (void)unused;
    return live_roots(recorder_of(self)->live);
}

static PyObject *get_mode(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(mode_names[recorder_of(self)->mode]);
}

static int set_mode(PyObject *self, PyObject *value, void *unused)
{
    const char *name = value ? PyUnicode_AsUTF8AndSize(value, NULL) : "";

    (void)unused;
    return name && mode_of(name, &recorder_of(self)->mode) ? 0 : -1;
}

static PyObject *reduce(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    PyErr_SetString(PyExc_TypeError, "a recorder belongs to its process");
    return NULL;
}

#define MEMBER(field) offsetof(struct recorder_object, recorder.field)

static PyMemberDef members[] = {
    {"cost_ns", T_ULONGLONG, MEMBER(own_ns), READONLY, "our own time so far"},
    {"bytes", T_ULONGLONG, MEMBER(bytes), READONLY, "measured so far"},
    {"errors", T_UINT, MEMBER(errors), READONLY,
     "how many errors of the recorder were swallowed"},
    {"armed", T_BOOL, MEMBER(armed), READONLY, "false: hooks do nothing"},
    {"hook_calls", T_ULONGLONG, MEMBER(hook_calls), READONLY, "hooks that did work"},
    {"hook_ns", T_ULONGLONG, MEMBER(hook_ns), 0, "of torch's hooked path, each call"},
    {"op_ns", T_ULONGLONG, MEMBER(op_ns), 0, "of torch's mode, each operation"},
    {"begin_ns", T_ULONGLONG, MEMBER(begin_ns), 0, "when it began"},
    {"all_elements", T_BOOL, MEMBER(all_elements), 0, "histograms count all elements"},
    {"norms", T_BOOL, MEMBER(norms), 0, "the norms of the samples of gradients"},
    {"several", T_BOOL, MEMBER(several), 0, "several ranks train this model"},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef getters[] = {
    {"n_ops", recorder_n_ops, NULL, "operations seen so far", NULL},
    {"ops_ns", recorder_ops_ns, NULL, "their cost so far", NULL},
    {"same_model", same_model, NULL, "is it still that of the file?", NULL},
    {"roots", roots, NULL, "the outermost modules", NULL},
    {"mode", get_mode, set_mode, "how tensors are measured from now on", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyObject *look_again(PyObject *self, PyObject *args)
{
    return recorder_look_again(recorder_of(self), args);
}

static PyMethodDef methods[] = {
    {"pre", FAST(pre), "pre(module, args[, kwargs]): before forward"},
    {"post", FAST(post), "post(module, args, kwargs, result): after forward"},
    {"raised", FAST(raised), "raised(module, exception): forward raised"},
    {"step", FAST(step), "step(optimizer): before an optimizer's step"},
    {"stepped", stepped, METH_O, "stepped(number): an optimizer of the model stepped"},
    {"optimizer_gone", optimizer_gone, METH_O, "optimizer_gone(number): it was freed"},
    {"backward", FAST(backward),
     "backward(roots, gradients): a backward begins; "
     "backward(None, None): it ended"},
    {"backward_end", backward_end, METH_NOARGS, "a backward ended"},
    {"spoilt", spoilt, METH_NOARGS, "was a non-finite value recorded?"},
    {"fact", fact, METH_VARARGS, "fact(key, value): add a fact to the run"},
    {"gap", gap, METH_VARARGS, "gap(kind, name, text): what was not recorded"},
    {"direct", direct, METH_VARARGS, "direct(name, text): if it was never called"},
    {"compiled", compiled, METH_VARARGS, "compiled(module, bool): is its newest call?"},
    {"renew", renew, METH_VARARGS, "renew(model, name): lazy modules were made"},
    {"spend", spend, METH_VARARGS, "spend(since_ns[, cost_ns]): our own time"},
    {"calls", calls, METH_O, "calls(module): how many so far"},
    {"stop", stop, METH_NOARGS, "End the recording; a Run."},
    {"ops_mode", recorder_ops_mode, METH_NOARGS, "A mode that records operations."},
    {"ops_begin", recorder_ops_begin, METH_O, "ops_begin(wanted): operations too"},
    {"ops_end", recorder_ops_end, METH_NOARGS, "No more operations."},
    {"attach", attach, METH_VARARGS, "attach(module, tensor, ...): record a point"},
    {"ungraded", ungraded, METH_O, "ungraded(module): record no gradients of it"},
    {"op_value", recorder_op_value, METH_O,
     "op_value(tensor): index of its current value"},
    {"optimizer", recorder_optimizer, METH_O,
     "optimizer(begins): step() begins or ends; "
     "optimizer(frame): it runs in this frame"},
    {"snapshot", snapshot, METH_NOARGS, "A Run of the recording so far."},
    {"lend", lend, METH_VARARGS, "lend(tensor, of): keep its elements without a copy"},
    {"arm", arm, METH_NOARGS, "Record from now on."},
    {"disarm", disarm, METH_NOARGS, "Do nothing until arm()."},
    {"before_step", before_step, METH_VARARGS, "before_step(params, ...): record them"},
    {"after_step", after_step, METH_NOARGS,
     "An optimizer stepped: measure the changes."},
    {"look_again", look_again, METH_VARARGS, "look_again(...): did the model change?"},
    {"log", log_step, METH_VARARGS,
     "log(writer, ...): the step as points; then restart"},
    {"guard", recorder_guard, METH_VARARGS, "guard(tensors, ...): is one not finite?"},
    {"judge_loss", recorder_judge_loss, METH_VARARGS,
     "judge_loss(writer, number, loss)"},
    {"judge_guard", recorder_judge_guard, METH_VARARGS,
     "judge_guard(writer, number, what, text)"},
    {"judge_run", recorder_judge_run, METH_VARARGS, "judge_run(writer, number, run)"},
    {"settle", settle, METH_NOARGS, "Write the step that waits for its device."},
    {"__reduce__", reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, recorder_new},        {Py_tp_dealloc, recorder_dealloc},
    {Py_tp_traverse, recorder_visit}, {Py_tp_clear, recorder_clear},
    {Py_tp_methods, methods},         {Py_tp_members, members},
    {Py_tp_getset, getters},          {0, NULL},
};

PyType_Spec recorder_spec = {
    .name = "torchoscope._core.Recorder",
    .basicsize = sizeof(struct recorder_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};
