/* Records the current parameters and their gradients. They are measured each time:
 * fused optimizers write parameters, and all-reduce writes gradients, without
 * raising the version, and perhaps only in a few rows. */
#include "ext/record/recorder_in.h"
#include "ext/torch/torch.h"

static void record_one(struct recorder *recorder, uint32_t number, PyObject *tensor,
                       bool gradient)
{
    uint32_t value = recorder_value(recorder, tensor, RECORDER_WANTS_ANEW);

    if (recorder->trace && value != RUN_NONE)
        trace_param(recorder->trace, number, gradient, value);
}

static void record_gradient(struct recorder *recorder, uint32_t number,
                            PyObject *parameter)
{
    PyObject *gradient = PyObject_GetAttr(parameter, torch_find()->names[NAME_grad]);

    ext_swallow();
    if (gradient && tensor_is(gradient))
        record_one(recorder, number, gradient, true);
    Py_XDECREF(gradient);
}

void recorder_param(struct recorder *recorder, uint32_t number, PyObject *tensor,
                    bool parameter, bool gradient)
{
    if (parameter)
        record_one(recorder, number, tensor, false);
    if (gradient && recorder->trace)
        record_gradient(recorder, number, tensor);
}

void recorder_params(struct recorder *recorder, bool parameters)
{
    const struct model *model = recorder->model;
    PyObject *quiet = quiet_begin(torch_find(), false);

    for (uint32_t i = 0; recorder->trace && i < model->n_tensors; i++) {
        PyObject *tensor;

        if (model->tensors[i].role != ROLE_PARAMETER)
            continue;
        tensor = live_tensor_of(recorder->live, i);
        if (!tensor)
            continue;
        recorder_param(recorder, i, tensor, parameters, true);
        Py_DECREF(tensor);
    }
    quiet_end(quiet);
}
