/* A recorder that watches a training: it counts a histogram of each value, measures what
 * optimizers change, and turns each logged step into points of a history. */
#include <stdlib.h>

#include "ext/record/grads.h"
#include "ext/record/recorder_in.h"
#include "ext/scalars.h"
#include "ext/torch/torch.h"

#include "base/err.h"
#include "history/ranks.h"
#include "history/run_points.h"
#include "measure/update.h"

/* A parameter in an optimizer's step. */
struct watched_param {
    uint32_t tensor; /* of the model */
    struct update kept;
    bool measured;
    struct update_change change;
    size_t at, n; /* its packed spread in `spreads` */
};

struct recorder_watch {
    struct spread_counter *counter;
    struct spread spread;
    struct buf packed;
    struct watched_param *params;
    uint32_t n, room;
    uint8_t *known;     /* by tensor of the model: it is among `params` */
    struct buf spreads; /* of updates */
    bool checked;       /* the parameters of this step have a checksum: */
    uint64_t checksum;
};

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

/* Forgets the parameters of the last step. */
static void clear_params(struct recorder_watch *watch)
{
    for (uint32_t i = 0; i < watch->n; i++) {
        update_release(&watch->params[i].kept);
        watch->known[watch->params[i].tensor] = 0;
    }
    watch->n = 0;
    watch->checked = false;
    watch->checksum = 0;
    buf_clear(&watch->spreads);
}

void recorder_watch_free(struct recorder_watch *watch)
{
    if (!watch)
        return;
    clear_params(watch);
    spread_counter_free(watch->counter);
    spread_release(&watch->spread);
    buf_release(&watch->packed);
    buf_release(&watch->spreads);
    free(watch->params);
    free(watch->known);
    free(watch);
}

/* Which elements to count: in exact mode all. */
static enum spread_choice choice_of(const struct recorder *recorder)
{
    return recorder->mode == MEASURE_EXACT ? SPREAD_ALL : SPREAD_SOME;
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

/* --- an optimizer's step */

/* The sum of all parameters does not depend on their order. The parts of a parameter that
 * is sharded are not equal on all ranks and have none. */
static void add_checksum(struct recorder_watch *watch, uint32_t number, uint64_t one)
{
    one = (one + number) * 0x94d049bb133111ebu;
    watch->checksum += one ^ one >> 32;
    watch->checked = true;
}

/* Keeps a sample of a parameter. Of one that steps again in the same logged step the
 * oldest is kept. */
static void keep_param(struct recorder *recorder, uint32_t number, PyObject *tensor)
{
    struct recorder_watch *watch = recorder->watch;
    struct live_tensor look;
    struct memory memory;

    if (!watch->known)
        watch->known = calloc(recorder->model->n_tensors + 1, 1);
    if (!watch->known || watch->known[number])
        return;
    if (!tensor_look(tensor, &look) || !(look.flags & LIVE_READABLE) ||
        recorder->force_device ||
        !buf_grow_array(&watch->params, watch->n, &watch->room, sizeof *watch->params))
        return;
    memory = tensor_memory(&look);
    watch->params[watch->n] = (struct watched_param){.tensor = number};
    if (update_keep(&watch->params[watch->n].kept, &memory, choice_of(recorder), NULL) <
        0)
        return;
    if (!(look.flags & LIVE_LOCAL))
        add_checksum(watch, number, update_checksum(&watch->params[watch->n].kept));
    watch->known[number] = 1;
    watch->n++;
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

static void measure_change(struct recorder_watch *watch, struct watched_param *param,
                           PyObject *tensor)
{
    struct live_tensor look;
    struct memory memory;

    if (!tensor_look(tensor, &look) || !(look.flags & LIVE_READABLE))
        return;
    memory = tensor_memory(&look);
    if (update_measure(&param->kept, &memory, watch->counter, &watch->spread,
                       &param->change, NULL) < 0)
        return;
    param->at = buf_span(&watch->spreads).len;
    spread_pack(&watch->spread, &watch->spreads);
    param->n = buf_span(&watch->spreads).len - param->at;
    param->measured = true;
    update_release(&param->kept);
}

PyObject *recorder_after_step(struct recorder *recorder)
{
    struct recorder_watch *watch = recorder->watch;
    uint64_t began = recorder_clock();

    if (!watch || !recorder_ready(recorder))
        Py_RETURN_NONE;
    for (uint32_t i = 0; i < watch->n; i++) {
        PyObject *tensor;

        if (watch->params[i].measured)
            continue;
        tensor = live_tensor_of(recorder->live, watch->params[i].tensor);
        if (tensor)
            measure_change(watch, &watch->params[i], tensor);
        Py_XDECREF(tensor);
    }
    return spent(recorder, began);
}

/* --- a logged step */

static bool is_idle(const struct recorder *recorder)
{
    for (uint32_t i = 0; i < frames_count(recorder->frames); i++)
        if (frames_at(recorder->frames, i)->n > 0 ||
            frames_at(recorder->frames, i)->busy)
            return false;
    return true;
}

/* Ends the trace and begins another of the same model; the run that ended, without the
 * model's ownership. NULL: an exception is set. */
static struct run *begin_anew(struct recorder *recorder)
{
    struct trace *trace = recorder->trace;
    const struct model *model = recorder->model;
    struct grads *grads = recorder->grads;
    struct run *run;

    recorder->trace = NULL;
    recorder->grads = NULL;
    grads_free(grads);
    run = trace_finish(trace, recorder_clock() - recorder->begin_ns, 0);
    if (!run) {
        PyErr_NoMemory();
        return NULL;
    }
    /* What refers to numbers and texts of the trace. */
    seen_clear(recorder->seen);
    if (recorder->lines) {
        code_lines_free(recorder->lines);
        recorder->lines = code_lines_new();
    }
    recorder->trace = trace_new(model, &recorder->wanted);
    if (grads && recorder->trace)
        recorder->grads = grads_new(recorder);
    if (!recorder->trace || (grads && !recorder->grads)) {
        PyErr_NoMemory();
        run->model = NULL; /* the trace has it, or freed it */
        run_free(run);
        return NULL;
    }
    recorder->epoch = trace_epoch(recorder->trace);
    return run;
}

static struct history_update *updates_of(const struct recorder_watch *watch,
                                         uint32_t *ret_n)
{
    struct history_update *updates = calloc(watch->n + 1, sizeof *updates);

    *ret_n = 0;
    for (uint32_t i = 0; updates && i < watch->n; i++) {
        const struct watched_param *param = &watch->params[i];

        if (param->measured)
            updates[(*ret_n)++] = (struct history_update){
                .tensor = param->tensor,
                .stats = param->change.stats,
                .ratio = param->change.ratio,
                .histogram =
                    str_head(str_from(buf_span(&watch->spreads), param->at), param->n)};
    }
    return updates;
}

/* 52 bits of it: a scalar is a double. */
static void write_checksum(const struct recorder *recorder,
                           struct history_writer *writer)
{
    if (recorder->several && recorder->watch->checked)
        history_writer_scalar(writer,
                              history_writer_name(writer, STR(HISTORY_CHECKSUM)),
                              (double)(recorder->watch->checksum >> 12));
}

/* One step of each phase that ran; the first has the scalars. */
static bool write_steps(const struct recorder *recorder,
                        const struct run_points *points, uint64_t number,
                        struct history_writer *writer, PyObject *scalars)
{
    double norm = run_points_gradient_norm(points->run);
    bool has_gradients = points->run->n_params > 0 && points->kinds, told = false;

    for (int phase = HISTORY_TRAIN; phase < HISTORY_PHASES; phase++) {
        if (!run_points_has(points, (enum history_phase)phase))
            continue;
        history_writer_begin(writer, number, (enum history_phase)phase, 0);
        run_points_write(points, (enum history_phase)phase, writer);
        if (phase == HISTORY_TRAIN && has_gradients)
            history_writer_scalar(writer, history_writer_name(writer, STR("grad_norm")),
                                  norm);
        if (phase == HISTORY_TRAIN)
            write_checksum(recorder, writer);
        if (!told && !scalars_add(writer, scalars))
            return false;
        told = true;
        history_writer_end(writer, 0);
    }
    return true;
}

PyObject *recorder_log(struct recorder *recorder, PyObject *args)
{
    struct run_points points = {0};
    uint64_t began = recorder_clock();
    struct history_update *updates;
    struct history_writer *writer;
    PyObject *object, *scalars;
    unsigned long long number;
    struct run *run;
    int graded;
    bool done;

    if (!PyArg_ParseTuple(args, "OKiIO!:log", &object, &number, &graded, &points.kinds,
                          &PyList_Type, &scalars))
        return NULL;
    writer = ext_writer((PyObject *)Py_TYPE(recorder->self), object);
    if (!writer)
        return NULL;
    if (!recorder->watch || !recorder->trace || !is_idle(recorder))
        Py_RETURN_FALSE;
    recorder_flush(recorder);
    run = recorder->trace ? begin_anew(recorder) : NULL;
    if (!run)
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    updates = updates_of(recorder->watch, &points.n_updates);
    points.run = run;
    points.graded = graded == 0 ? HISTORY_TRAIN : HISTORY_EVAL;
    points.updates = updates;
    done = write_steps(recorder, &points, number, writer, scalars);
    clear_params(recorder->watch);
    free(updates);
    run->model = NULL; /* the new trace has it */
    run_free(run);
    recorder->own_ns += recorder_clock() - began;
    return done ? Py_NewRef(Py_True) : NULL;
}
