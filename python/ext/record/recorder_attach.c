/* Tensors that the user attaches to a module of a watched model: they become points of
 * its history when the step is logged. They are measured at once, outside the trace,
 * whose values may be dropped or renumbered meanwhile. */
#include <stdlib.h>

#include "ext/record/ops.h"
#include "ext/record/recorder_in.h"

#include "base/err.h"
#include "history/run_points.h"

struct recorder_attached {
    struct history_attached *items; /* path and histogram: only their lengths count */
    uint32_t n, room;
    struct buf paths, histograms; /* in the order of items */
};

void recorder_attached_free(struct recorder_attached *attached)
{
    if (!attached)
        return;
    free(attached->items);
    buf_release(&attached->paths);
    buf_release(&attached->histograms);
    free(attached);
}

/* Lets a text point to its copy, and steps over it. */
static void place_copy(struct str *text, const char **at)
{
    text->at = text->len > 0 ? *at : "";
    if (text->len > 0)
        *at += text->len;
}

const struct history_attached *recorder_attached(struct recorder_attached *attached,
                                                 uint32_t *ret_n)
{
    const char *path, *histogram;

    *ret_n = 0;
    if (!attached || attached->paths.bad || attached->histograms.bad)
        return NULL;
    path = attached->paths.at;
    histogram = attached->histograms.at;
    for (uint32_t i = 0; i < attached->n; i++) {
        place_copy(&attached->items[i].path, &path);
        place_copy(&attached->items[i].histogram, &histogram);
    }
    *ret_n = attached->n;
    return attached->items;
}

/* Measures a tensor and appends it. */
static bool add(struct recorder *recorder, struct history_attached *item,
                PyObject *tensor)
{
    struct recorder_attached *attached = recorder->attached;
    struct live_tensor look;

    if (!tensor_look(tensor, &look) || !(look.flags & LIVE_READABLE) ||
        !tensor_stats(&look, recorder->mode, &item->stats) || !recorder->trace)
        return false;
    if (!buf_grow_array(&attached->items, attached->n, &attached->room,
                        sizeof *attached->items))
        return false;
    item->histogram = recorder_spread(recorder, &look);
    buf_str(&attached->paths, item->path);
    buf_str(&attached->histograms, item->histogram);
    attached->items[attached->n++] = *item;
    return true;
}

PyObject *recorder_attach(struct recorder *recorder, PyObject *args)
{
    struct history_attached item = {0};
    uint64_t began = recorder_clock();
    PyObject *module, *tensor;
    int gradient, graded;
    const char *name;
    Py_ssize_t length;
    uint32_t object;
    bool done;

    if (!PyArg_ParseTuple(args, "OOs#Ipp:attach", &module, &tensor, &name, &length,
                          &item.call, &gradient, &graded))
        return NULL;
    if (!recorder->watch || !recorder_ready(recorder) || !recorder->trace)
        Py_RETURN_FALSE;
    if (!recorder->attached)
        recorder->attached = calloc(1, sizeof *recorder->attached);
    object = live_known_object(recorder->live, module);
    if (!recorder->attached || object >= recorder->model->n_objects ||
        (!gradient && recorder_in_backward(recorder))) /* a recomputation */
        Py_RETURN_FALSE;
    item.place = recorder->model->objects[object].place;
    item.kind = gradient ? HISTORY_GRAD_OUTPUT : HISTORY_OUTPUT;
    item.graded = graded;
    item.path = str_span(name, (size_t)length);
    done = add(recorder, &item, tensor);
    if (recorder->ops && recorder->trace && !gradient)
        ops_attach(recorder->ops, tensor, item.path, item.place);
    if (PyErr_Occurred())
        recorder_failed(recorder);
    recorder->own_ns += recorder_clock() - began;
    return PyBool_FromLong(done);
}
