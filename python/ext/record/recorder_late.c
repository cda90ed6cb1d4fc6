/* Judges a logged step and writes it to the history: at once, or when the next one ends
 * if a device has its numbers. So nothing waits for the device. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ext/record/recorder_watch_in.h"
#include "ext/scalars.h"
#include "ext/torch/torch.h"

#include "base/err.h"
#include "history/parcel.h"
#include "history/ranks.h"
#include "judge/judge.h"

void late_step_release(struct late_step *step)
{
    struct run *run;

    if (!step)
        return;
    run = step->trace ? trace_finish(step->trace, 0, 0) : NULL;
    if (run)
        run->model = NULL; /* the recorder's trace has it */
    run_free(run);
    watched_params_release(&step->params);
    Py_XDECREF(step->writer);
    Py_XDECREF(step->scalars);
    Py_XDECREF(step->sent);
    Py_XDECREF(step->loss);
    recorder_attached_free(step->attached);
    free(step);
}

/* ---- what the device had ---- */

/* Rows are in the order in which parameters were kept: *at is the index after the last
 * one. */
static struct watched_param *find_param(struct watched_params *params, uint32_t number,
                                        uint32_t *at)
{
    for (uint32_t i = 0; i < params->n; i++, ++*at) {
        struct watched_param *param = &params->at[*at % params->n];

        if (param->tensor == number)
            return param;
    }
    return NULL;
}

/* (number, is_local, dtype, of, address, n, address after) */
static void add_update(struct recorder *recorder, struct late_step *step, PyObject *row,
                       uint32_t *at)
{
    unsigned long long of, before, n, after;
    struct watched_param *param;
    struct memory memory = {.rank = 1};
    int64_t shape, stride = 1;
    PyObject *dtype;
    unsigned number;
    int is_local;

    if (!row || !PyTuple_Check(row) ||
        !PyArg_ParseTuple(row, "IpOKKKK", &number, &is_local, &dtype, &of, &before, &n,
                          &after)) {
        recorder_failed(recorder);
        return;
    }
    param = find_param(&step->params, number, at);
    if (!param || !param->on_device || param->measured)
        return;
    shape = (int64_t)n;
    memory.shape = &shape;
    memory.strides = &stride;
    memory.dtype = torch_dtype(torch_find(), dtype);
    memory.at = (const void *)(uintptr_t)before;
    if (update_keep(&param->kept, &memory, SPREAD_ALL, NULL) < 0)
        return;
    if (!is_local) {
        param->kept.of = of;
        watched_checksum(&step->params, number, update_checksum(&param->kept));
        param->kept.of = n;
    }
    memory.at = (const void *)(uintptr_t)after;
    watched_change(recorder->watch, &step->params, param, &memory, of);
}

/* Did the user log a scalar with this name? */
static bool is_logged(PyObject *scalars, PyObject *found)
{
    for (Py_ssize_t i = 0; i < PyList_Size(scalars); i++) {
        PyObject *one = PyList_GetItem(scalars, i);

        if (PyTuple_Check(one) && PyTuple_Size(one) == 2 &&
            PyUnicode_Compare(PyTuple_GetItem(one, 0), PyTuple_GetItem(found, 0)) == 0)
            return true;
    }
    return false;
}

static void add_scalars(struct late_step *step, PyObject *scalars)
{
    for (Py_ssize_t i = 0; i < PyList_Size(scalars); i++)
        if (!is_logged(step->scalars, PyList_GetItem(scalars, i)))
            PyList_Append(step->scalars, PyList_GetItem(scalars, i));
}

static void fetch(struct recorder *recorder, struct late_step *step)
{
    PyObject *found = PyObject_CallMethod(recorder->device, "fetch", "O", step->sent);
    PyObject *rows = NULL, *updates = NULL, *scalars = NULL;
    uint32_t at = 0;

    if (!found || !PyTuple_Check(found) ||
        !PyArg_ParseTuple(found, "OO!O!", &rows, &PyList_Type, &updates, &PyList_Type,
                          &scalars)) {
        recorder_failed(recorder);
    } else {
        recorder_rows(recorder, step->trace, rows);
        for (Py_ssize_t i = 0; i < PyList_Size(updates); i++)
            add_update(recorder, step, PyList_GetItem(updates, i), &at);
        add_scalars(step, scalars);
    }
    Py_XDECREF(found);
}

/* ---- judging ---- */

/* The value of a scalar; NaN if missing. Sets whether it exists. */
static double scalar_of(PyObject *scalars, const char *wanted, bool *ret_has)
{
    for (Py_ssize_t i = 0; i < PyList_Size(scalars); i++) {
        const char *name;
        double value;

        if (PyArg_ParseTuple(PyList_GetItem(scalars, i), "sd", &name, &value) &&
            strcmp(name, wanted) == 0) {
            *ret_has = true;
            return value;
        }
        ext_swallow();
    }
    return (double)NAN;
}

/* The alarms of a step, as in judge.h. */
static uint32_t judge(const struct recorder *recorder, const struct run_points *points,
                      const struct late_step *with,
                      const struct history_alarm **ret_alarms)
{
    struct judge_step step = {.run = points->run,
                              .updates = points->updates,
                              .n_updates = points->n_updates,
                              .number = with->number,
                              .training = points->graded == HISTORY_TRAIN,
                              .skipped = with->skipped,
                              .has_loss = with->loss != Py_None,
                              .relu_loss = with->relu_loss};
    bool has_lr = false;

    step.loss = step.has_loss ? PyFloat_AsDouble(with->loss)
                              : scalar_of(with->scalars, "loss", &step.has_loss);
    ext_swallow();
    step.lr = scalar_of(with->scalars, "lr/0", &has_lr);
    return recorder->judge ? judge_step(recorder->judge, &step, ret_alarms) : 0;
}

/* Keeps alarms for recorder_take_alarms(). False: an exception is set. */
static bool keep_alarms(struct recorder_watch *watch,
                        const struct history_alarm *alarms, uint32_t n)
{
    PyObject *list = n > 0 ? recorder_alarms(alarms, n) : NULL;
    Py_ssize_t end = watch->alarms ? PyList_Size(watch->alarms) : 0;
    bool done;

    if (!list)
        return n == 0;
    if (!watch->alarms) {
        watch->alarms = list;
        return true;
    }
    done = PyList_SetSlice(watch->alarms, end, end, list) == 0;
    Py_DECREF(list);
    return done;
}

PyObject *recorder_take_alarms(struct recorder *recorder)
{
    struct recorder_watch *watch = recorder->watch;
    PyObject *alarms = watch ? watch->alarms : NULL;

    if (!alarms)
        return PyList_New(0);
    watch->alarms = NULL;
    return alarms;
}

/* ---- writing ---- */

static struct history_update *updates_of(const struct watched_params *params,
                                         uint32_t *ret_n)
{
    struct history_update *updates = calloc(params->n + 1, sizeof *updates);

    *ret_n = 0;
    for (uint32_t i = 0; updates && i < params->n; i++) {
        const struct watched_param *param = &params->at[i];

        if (param->measured)
            updates[(*ret_n)++] = (struct history_update){
                .tensor = param->tensor,
                .stats = param->change.stats,
                .ratio = param->change.ratio,
                .histogram =
                    str_head(str_from(buf_span(&params->spreads), param->spread),
                             param->n_spread)};
    }
    return updates;
}

/* The destination of a step: a writer, or a function that gets a parcel; and its
 * alarms. */
struct step_target {
    struct history_writer *writer; /* NULL: a parcel */
    struct buf parcel;
    const struct history_alarm *alarms;
    uint32_t n_alarms;
};

static void put_scalar(struct step_target *to, struct str name, double value)
{
    if (to->writer)
        history_writer_scalar(to->writer, history_writer_name(to->writer, name), value);
    else
        parcel_scalar(&to->parcel, name, value);
}

static bool put_scalars(struct step_target *to, PyObject *list)
{
    if (to->writer)
        return scalars_add(to->writer, list);
    for (Py_ssize_t i = 0; i < PyList_Size(list); i++) {
        const char *name;
        double value;

        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "sd", &name, &value))
            return false;
        parcel_scalar(&to->parcel, str_of(name), value);
    }
    return true;
}

static void put_alarms(struct recorder_watch *watch, uint64_t number,
                       struct step_target *to)
{
    unsigned flags = 0;

    if (to->writer)
        parcel_write(buf_span(&watch->owed), 0, number, to->writer, &flags, NULL);
    else
        buf_str(&to->parcel, buf_span(&watch->owed));
    buf_clear(&watch->owed);
    for (uint32_t i = 0; i < to->n_alarms; i++)
        if (to->writer)
            history_writer_alarm(to->writer, &to->alarms[i]);
        else
            parcel_alarm(&to->parcel, &to->alarms[i]);
}

/* Calls the function with (number, phase, parcel, checksum). */
static void send_parcel(const struct late_step *step, int phase, struct step_target *to)
{
    struct str parcel = buf_span(&to->parcel);
    uint64_t sum = step->params.checked ? step->params.checksum >> 12 : 0;
    PyObject *answer = PyObject_CallFunction(step->writer, "Kiy#K", step->number, phase,
                                             parcel.at, (Py_ssize_t)parcel.len, sum);

    Py_XDECREF(answer);
}

/* False: an exception is set. */
static bool end_step(const struct late_step *step, enum history_phase phase,
                     struct step_target *to)
{
    unsigned flags = step->skipped && phase == HISTORY_TRAIN ? HISTORY_SKIPPED : 0;

    if (to->writer) {
        if (!ext_writer_keep_step(step->writer))
            return false;
        history_writer_end(to->writer, flags);
    } else {
        if (flags)
            parcel_flags(&to->parcel, (uint8_t)flags);
        send_parcel(step, phase, to);
    }
    return !PyErr_Occurred();
}

/* One step of each phase that ran; the first has the scalars and alarms. */
static void write_steps(const struct recorder *recorder,
                        const struct run_points *points, const struct late_step *step,
                        struct step_target *to)
{
    double norm = 0;
    bool has_norm = points->kinds && run_points_gradient_norm(points->run, &norm);
    bool added = false;

    for (int i = HISTORY_TRAIN; i < HISTORY_PHASES; i++) {
        enum history_phase phase = (enum history_phase)i;

        if (!run_points_has(points, phase))
            continue;
        buf_clear(&to->parcel);
        if (to->writer) {
            history_writer_begin(to->writer, step->number, phase, 0);
            run_points_write(points, phase, to->writer);
        } else {
            run_points_pack(points, phase, &to->parcel);
        }
        if (phase == HISTORY_TRAIN && has_norm)
            put_scalar(to, STR("grad_norm"), norm);
        /* 52 bits of it: a scalar is a double. Those of several ranks are compared. */
        if (phase == HISTORY_TRAIN && to->writer && recorder->several &&
            step->params.checked)
            put_scalar(to, STR(HISTORY_CHECKSUM),
                       (double)(step->params.checksum >> 12));
        if (!added && !put_scalars(to, step->scalars))
            return;
        if (!added)
            put_alarms(recorder->watch, step->number, to);
        added = true;
        if (!end_step(step, phase, to))
            return;
    }
}

static void write_step(struct recorder *recorder, struct late_step *step,
                       struct history_writer *writer)
{
    struct step_target to = {.writer = writer, .parcel = BUF_INIT};
    struct run_points points = {.kinds = step->kinds, .graded = step->graded};
    struct run *run = trace_finish(step->trace, step->wall_ns, 0);
    struct history_update *updates;

    step->trace = NULL;
    if (!run) {
        PyErr_NoMemory();
        return;
    }
    updates = updates_of(&step->params, &points.n_updates);
    points.run = run;
    points.updates = updates;
    points.places = recorder->watch->places;
    points.attached = recorder_attached(step->attached, &points.n_attached);
    to.n_alarms = judge(recorder, &points, step, &to.alarms);
    write_steps(recorder, &points, step, &to);
    if (!PyErr_Occurred())
        keep_alarms(recorder->watch, to.alarms, to.n_alarms);
    buf_release(&to.parcel);
    free(updates);
    run->model = NULL; /* the recorder's trace has it */
    run_free(run);
}

void late_step_write(struct recorder *recorder)
{
    struct recorder_watch *watch = recorder->watch;
    struct late_step *step = watch ? watch->late : NULL;
    struct history_writer *writer = NULL;
    bool packs;

    if (!step)
        return;
    watch->late = NULL;
    packs = PyCallable_Check(step->writer);
    if (!packs)
        writer = ext_writer((PyObject *)Py_TYPE(recorder->self), step->writer);
    if ((writer || packs) && step->sent)
        fetch(recorder, step);
    if (writer || packs)
        write_step(recorder, step, writer);
    late_step_release(step);
}

void recorder_settle(struct recorder *recorder)
{
    late_step_write(recorder);
    if (PyErr_Occurred())
        recorder_failed(recorder);
}
