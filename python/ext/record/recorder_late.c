/* Writes a logged step to the history: at once, or when the next one ends if a device has
 * its numbers. Then nothing waits for the device. */
#include <stdlib.h>

#include "ext/record/recorder_watch_in.h"
#include "ext/scalars.h"
#include "ext/torch/torch.h"

#include "base/err.h"
#include "history/ranks.h"

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
    free(step);
}

/* ---- what the device had ---- */

/* They come in the order in which they were kept: *at is the index after the last. */
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

static void add_scalars(struct late_step *step, PyObject *scalars)
{
    PyObject *all = PySequence_List(scalars);
    Py_ssize_t n = all ? PyList_Size(all) : 0;

    /* What the user logged comes last: it replaces what was found. */
    if (!all || PyList_SetSlice(all, n, n, step->scalars) < 0) {
        Py_XDECREF(all);
        return;
    }
    Py_DECREF(step->scalars);
    step->scalars = all;
}

static void fetch(struct recorder *recorder, struct late_step *step)
{
    PyObject *found = PyObject_CallMethod(recorder->device, "fetch", "O", step->sent);
    PyObject *rows = NULL, *updates = NULL, *scalars = NULL;
    uint32_t at = 0;

    if (!found || !PyTuple_Check(found) ||
        !PyArg_ParseTuple(found, "OO!O", &rows, &PyList_Type, &updates, &scalars)) {
        recorder_failed(recorder);
    } else {
        recorder_rows(recorder, step->trace, rows);
        for (Py_ssize_t i = 0; i < PyList_Size(updates); i++)
            add_update(recorder, step, PyList_GetItem(updates, i), &at);
        add_scalars(step, scalars);
    }
    Py_XDECREF(found);
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

/* 52 bits of it: a scalar is a double. */
static void write_checksum(const struct recorder *recorder,
                           const struct watched_params *params,
                           struct history_writer *writer)
{
    if (recorder->several && params->checked)
        history_writer_scalar(writer,
                              history_writer_name(writer, STR(HISTORY_CHECKSUM)),
                              (double)(params->checksum >> 12));
}

/* One step of each phase that ran; the first has the scalars. */
static void write_steps(const struct recorder *recorder,
                        const struct run_points *points, const struct late_step *step,
                        struct history_writer *writer)
{
    double norm = run_points_gradient_norm(points->run);
    bool has_gradients = points->run->n_params > 0 && points->kinds, told = false;

    for (int phase = HISTORY_TRAIN; phase < HISTORY_PHASES; phase++) {
        if (!run_points_has(points, (enum history_phase)phase))
            continue;
        history_writer_begin(writer, step->number, (enum history_phase)phase, 0);
        run_points_write(points, (enum history_phase)phase, writer);
        if (phase == HISTORY_TRAIN && has_gradients)
            history_writer_scalar(writer, history_writer_name(writer, STR("grad_norm")),
                                  norm);
        if (phase == HISTORY_TRAIN)
            write_checksum(recorder, &step->params, writer);
        if (!told && !scalars_add(writer, step->scalars))
            return;
        told = true;
        history_writer_end(writer, 0);
    }
}

static void write_step(struct recorder *recorder, struct late_step *step,
                       struct history_writer *writer)
{
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
    write_steps(recorder, &points, step, writer);
    free(updates);
    run->model = NULL; /* the recorder's trace has it */
    run_free(run);
}

void late_step_write(struct recorder *recorder)
{
    struct recorder_watch *watch = recorder->watch;
    struct late_step *step = watch ? watch->late : NULL;
    struct history_writer *writer;

    if (!step)
        return;
    watch->late = NULL;
    writer = ext_writer((PyObject *)Py_TYPE(recorder->self), step->writer);
    if (writer && step->sent)
        fetch(recorder, step);
    if (writer)
        write_step(recorder, step, writer);
    late_step_release(step);
}

void recorder_settle(struct recorder *recorder)
{
    late_step_write(recorder);
    if (PyErr_Occurred())
        recorder_failed(recorder);
}
