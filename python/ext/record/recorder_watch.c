/* A recorder that watches a training: it counts a histogram of each value, measures what
 * optimizers change, and turns each logged step into points of a history. */
#include <math.h>
#include <stdlib.h>

#include "ext/record/grads.h"
#include "ext/record/ops.h"
#include "ext/record/recorder_watch_in.h"
#include "ext/torch/torch.h"

#include "base/err.h"
#include "measure/elements.h"

#define SAMPLES_MOST 65536 /* of a gradient whose norms are measured */

struct recorder_watch *recorder_watch_new(void)
{
    struct recorder_watch *watch = calloc(1, sizeof *watch);
    struct err err = {0};

    if (watch)
        watch->counter = spread_counter_new(&err);
    if (watch && watch->counter)
        return watch;
    free(watch);
    PyErr_NoMemory();
    return NULL;
}

void watched_params_release(struct watched_params *params)
{
    for (uint32_t i = 0; i < params->n; i++)
        update_release(&params->at[i].kept);
    buf_release(&params->spreads);
    free(params->at);
    *params = (struct watched_params){0};
}

/* Takes the parameters of this step and starts an empty list. */
static struct watched_params take_params(struct recorder_watch *watch)
{
    struct watched_params params = watch->params;

    for (uint32_t i = 0; i < params.n; i++)
        watch->known[params.at[i].tensor] = 0;
    watch->params = (struct watched_params){0};
    return params;
}

void recorder_watch_free(struct recorder_watch *watch)
{
    if (!watch)
        return;
    late_step_release(watch->late);
    watched_params_release(&watch->params);
    spread_counter_free(watch->counter);
    spread_release(&watch->spread);
    buf_release(&watch->packed);
    buf_release(&watch->owed);
    free(watch->known);
    free(watch->places);
    Py_XDECREF(watch->alarms);
    free(watch);
}

const uint32_t *recorder_places(const struct recorder_watch *watch)
{
    return watch->places;
}

void recorder_watch_forget(struct recorder_watch *watch, uint32_t *places)
{
    watched_params_release(&watch->params);
    free(watch->known);
    watch->known = NULL;
    free(watch->places);
    watch->places = places;
}

/* The elements to count: in exact mode, all. */
static enum spread_choice choice_of(const struct recorder *recorder)
{
    return recorder->mode == MEASURE_EXACT || recorder->all_elements ? SPREAD_ALL
                                                                     : SPREAD_SOME;
}

/* The GIL is held: threads share the counter. */
struct str recorder_spread(struct recorder *recorder, const struct live_tensor *look)
{
    struct recorder_watch *watch = recorder->watch;
    struct memory memory = tensor_memory(look);

    if (recorder->mode == MEASURE_GUARD ||
        spread_memory(watch->counter, &memory, choice_of(recorder), &watch->spread,
                      NULL) < 0)
        return STR("");
    buf_clear(&watch->packed);
    spread_pack(&watch->spread, &watch->packed);
    return buf_span(&watch->packed);
}

/* The norm of one sample; NaN if an element is not finite. */
static double sample_norm(const struct memory *memory, int64_t at)
{
    struct memory one = *memory;
    struct stats stats;

    one.at = (const char *)memory->at +
             at * memory->strides[0] * (int64_t)elements_size(memory->dtype, 1);
    one.rank--;
    one.shape++;
    one.strides++;
    if (stats_memory(&one, MEASURE_FULL, NULL, &stats, NULL) < 0 ||
        stats_finite(&stats) < stats.count)
        return NAN;
    return stats.count > 0 ? stats_l2(&stats) : 0;
}

static bool measure_norms(struct recorder *recorder, const struct live_tensor *look,
                          struct run_norms *ret_norms)
{
    struct memory memory = tensor_memory(look);
    int64_t n = memory.rank > 0 ? memory.shape[0] : 0, stride = 1;
    double *norms =
        n > 0 && n <= SAMPLES_MOST ? malloc((size_t)n * sizeof *norms) : NULL;
    const struct memory all = {norms, DTYPE_FLOAT64, 1, &n, &stride, false, false};
    bool measured;

    if (!norms)
        return false;
    for (int64_t i = 0; i < n; i++)
        norms[i] = sample_norm(&memory, i);
    measured = stats_memory(&all, MEASURE_FULL, NULL, &ret_norms->stats, NULL) == 0;
    ret_norms->spread =
        recorder_spread_of(recorder, DTYPE_FLOAT64, norms, (uint64_t)n, (uint64_t)n);
    free(norms);
    return measured;
}

void recorder_norms(struct recorder *recorder, PyObject *tensor, uint32_t value)
{
    struct run_norms norms;
    struct live_tensor look;

    if (!recorder->norms || !recorder->watch || !recorder->trace || value == RUN_NONE ||
        trace_has_norms(recorder->trace, value) || !tensor_look(tensor, &look) ||
        !(look.flags & LIVE_READABLE) || recorder_leaves(recorder, &look))
        return;
    if (measure_norms(recorder, &look, &norms) && recorder->trace)
        trace_value_norms(recorder->trace, value, &norms);
}

struct units recorder_units(struct recorder *recorder, const struct live_tensor *look,
                            const struct stats *stats)
{
    struct memory memory = tensor_memory(look);

    if (recorder->mode == MEASURE_GUARD || stats->sampled)
        return (struct units){0};
    return units_count(&memory, stats);
}

struct str recorder_spread_of(struct recorder *recorder, enum dtype dtype,
                              const void *at, uint64_t n, uint64_t of)
{
    struct recorder_watch *watch = recorder->watch;

    if (spread_of(watch->counter, dtype, at, n, SPREAD_ALL, &watch->spread, NULL) < 0)
        return STR("");
    watch->spread.of = of;
    buf_clear(&watch->packed);
    spread_pack(&watch->spread, &watch->packed);
    return buf_span(&watch->packed);
}

/* --- an optimizer's step */

void watched_checksum(struct watched_params *params, uint32_t number, uint64_t one)
{
    one = (one + number) * 0x94d049bb133111ebu;
    params->checksum += one ^ one >> 32;
    params->checked = true;
}

/* Keeps a sample of a parameter in the host's memory. */
static bool keep_here(struct recorder *recorder, uint32_t number,
                      const struct live_tensor *look, struct watched_param *param)
{
    struct memory memory = tensor_memory(look);

    if (!(look->flags & LIVE_READABLE) ||
        update_keep(&param->kept, &memory, choice_of(recorder), NULL) < 0)
        return false;
    if (!(look->flags & LIVE_LOCAL))
        watched_checksum(&recorder->watch->params, number,
                         update_checksum(&param->kept));
    return true;
}

/* device.keep() or device.changed(). */
static bool call_device(struct recorder *recorder, const char *what, uint32_t number,
                        PyObject *tensor)
{
    PyObject *answer =
        PyObject_CallMethod(recorder->device, what, "IO", number, tensor);

    if (!answer)
        recorder_failed(recorder);
    Py_XDECREF(answer);
    return answer;
}

/* Keeps a sample of a parameter. If it is updated several times in a logged step, the
 * oldest sample stays. */
static void keep_param(struct recorder *recorder, uint32_t number, PyObject *tensor)
{
    struct recorder_watch *watch = recorder->watch;
    struct watched_params *params = &watch->params;
    struct watched_param param = {.tensor = number};
    struct live_tensor look;

    if (!watch->known)
        watch->known = calloc(recorder->model->n_tensors + 1, 1);
    if (!watch->known || watch->known[number] || !tensor_look(tensor, &look) ||
        !buf_grow_array(&params->at, params->n, &params->room, sizeof *params->at))
        return;
    param.on_device = recorder_leaves(recorder, &look);
    if (!(param.on_device ? call_device(recorder, "keep", number, tensor)
                          : keep_here(recorder, number, &look, &param)))
        return;
    params->at[params->n++] = param;
    watch->known[number] = 1;
}

/* The time since `began` is our own. */
static PyObject *spent(struct recorder *recorder, uint64_t began)
{
    uint64_t own = recorder_clock() - began;

    recorder->own_ns += own;
    if (recorder->trace)
        trace_own(recorder->trace, recorder_thread(recorder), own);
    if (PyErr_Occurred())
        recorder_failed(recorder);
    Py_RETURN_NONE;
}

PyObject *recorder_before_step(struct recorder *recorder, PyObject *args)
{
    uint64_t began = recorder_clock();
    int parameters, gradients, updates;
    PyObject *params, *quiet;

    if (!PyArg_ParseTuple(args, "Oppp:before_step", &params, &parameters, &gradients,
                          &updates))
        return NULL;
    if (!recorder->watch || !PyList_Check(params) || !recorder_ready(recorder) ||
        !torch_find())
        Py_RETURN_NONE;
    quiet = quiet_begin(torch_find(), false);
    for (Py_ssize_t i = 0; recorder->trace && i < PyList_Size(params); i++) {
        PyObject *tensor = Py_NewRef(PyList_GetItem(params, i));
        uint32_t number = live_tensor_number(recorder->live, tensor);

        if (number != NO_OBJECT)
            recorder_param(recorder, number, tensor, parameters, gradients);
        if (number != NO_OBJECT && updates)
            keep_param(recorder, number, tensor);
        Py_DECREF(tensor);
    }
    quiet_end(quiet);
    return spent(recorder, began);
}

void watched_change(struct recorder_watch *watch, struct watched_params *params,
                    struct watched_param *param, const struct memory *now, uint64_t of)
{
    if (update_measure(&param->kept, now, watch->counter, &watch->spread,
                       &param->change, NULL) < 0)
        return;
    if (of > param->kept.of) { /* the measured tensor is itself a sample */
        param->change.stats.sampled = true;
        watch->spread.of = of;
    }
    param->spread = buf_span(&params->spreads).len;
    spread_pack(&watch->spread, &params->spreads);
    param->n_spread = buf_span(&params->spreads).len - param->spread;
    param->measured = true;
    update_release(&param->kept);
}

static void see_change(struct recorder *recorder, struct watched_param *param,
                       PyObject *tensor)
{
    struct live_tensor look;
    struct memory memory;

    if (param->on_device) {
        call_device(recorder, "changed", param->tensor, tensor);
        return;
    }
    if (!tensor_look(tensor, &look) || !(look.flags & LIVE_READABLE))
        return;
    memory = tensor_memory(&look);
    watched_change(recorder->watch, &recorder->watch->params, param, &memory, 0);
}

PyObject *recorder_after_step(struct recorder *recorder)
{
    struct recorder_watch *watch = recorder->watch;
    uint64_t began = recorder_clock();

    if (!watch || !recorder_ready(recorder))
        Py_RETURN_NONE;
    for (uint32_t i = 0; i < watch->params.n; i++) {
        struct watched_param *param = &watch->params.at[i];
        PyObject *tensor =
            param->measured ? NULL : live_tensor_of(recorder->live, param->tensor);

        if (tensor)
            see_change(recorder, param, tensor);
        Py_XDECREF(tensor);
    }
    return spent(recorder, began);
}

/* --- a logged step */

bool recorder_is_idle(const struct recorder *recorder)
{
    for (uint32_t i = 0; i < frames_count(recorder->frames); i++)
        if (frames_at(recorder->frames, i)->n > 0 ||
            frames_at(recorder->frames, i)->busy)
            return false;
    return true;
}

void recorder_forget_trace(struct recorder *recorder)
{
    seen_clear(recorder->seen);
    if (recorder->lines) {
        code_lines_free(recorder->lines);
        recorder->lines = code_lines_new();
    }
}

/* Starts a new trace of the same model and returns the old one; both then refer to the
 * model. NULL: an exception is set, and recording ends. */
static struct trace *begin_anew(struct recorder *recorder)
{
    struct trace *trace = recorder->trace;
    struct grads *grads = recorder->grads;
    struct run *run;

    ops_end(recorder->ops);
    recorder->trace = NULL;
    recorder->grads = NULL;
    grads_free(grads);
    recorder_forget_trace(recorder);
    recorder->trace = trace_new(recorder->model, &recorder->wanted);
    if (grads && recorder->trace)
        recorder->grads = grads_new(recorder);
    if (recorder->trace && (recorder->grads || !grads)) {
        recorder->epoch = trace_epoch(recorder->trace);
        return trace;
    }
    run = trace_finish(trace, 0, 0);
    if (run)
        run->model = NULL; /* the new trace has it, or freed it */
    run_free(run);
    PyErr_NoMemory();
    return NULL;
}

/* device.send(): starts copying results from the device; NULL: none. */
static PyObject *send(struct recorder *recorder)
{
    PyObject *sent;

    recorder->pending = 0;
    if (!recorder->device || !PyObject_HasAttrString(recorder->device, "send"))
        return NULL;
    sent = PyObject_CallMethod(recorder->device, "send", NULL);
    if (!sent)
        recorder_failed(recorder);
    if (sent == Py_None)
        Py_CLEAR(sent);
    return sent;
}

/* Takes the step. */
static void log_step(struct recorder *recorder, struct late_step *step)
{
    struct recorder_watch *watch = recorder->watch;

    recorder_settle(recorder);
    step->sent = send(recorder);
    step->trace = begin_anew(recorder);
    if (!step->trace) {
        late_step_release(step);
        return;
    }
    step->params = take_params(watch);
    step->attached = recorder->attached;
    recorder->attached = NULL;
    watch->late = step;
    if (!step->sent)
        late_step_write(recorder);
}

PyObject *recorder_log(struct recorder *recorder, PyObject *args)
{
    struct late_step *step, found = {.loss = Py_None};
    uint64_t began = recorder_clock();
    int graded, skipped = 0, relu_loss = 0;
    unsigned long long number;

    if (!PyArg_ParseTuple(args, "OKiIO!|ppO:log", &found.writer, &number, &graded,
                          &found.kinds, &PyList_Type, &found.scalars, &skipped,
                          &relu_loss, &found.loss))
        return NULL;
    if (!PyCallable_Check(found.writer) &&
        !ext_writer((PyObject *)Py_TYPE(recorder->self), found.writer))
        return NULL;
    if (!recorder->watch || !recorder->trace || !recorder_is_idle(recorder))
        Py_RETURN_FALSE;
    step = malloc(sizeof *step);
    if (!step)
        return PyErr_NoMemory();
    *step = found;
    Py_INCREF(step->writer);
    Py_INCREF(step->scalars);
    Py_INCREF(step->loss);
    step->number = number;
    step->graded = graded == 0 ? HISTORY_TRAIN : HISTORY_EVAL;
    step->wall_ns = began - recorder->begin_ns;
    step->skipped = skipped;
    step->relu_loss = relu_loss;
    log_step(recorder, step);
    recorder->own_ns += recorder_clock() - began;
    return PyErr_Occurred() ? NULL : recorder_take_alarms(recorder);
}
