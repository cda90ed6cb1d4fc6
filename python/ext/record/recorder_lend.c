/* A tensor whose elements become part of the run without a copy: parameters may be as
 * large as half of the memory. */
#include "ext/record/recorder_in.h"
#include "ext/torch/torch.h"
#include "measure/elements.h"

PyObject *recorder_lend(struct recorder *recorder, PyObject *tensor, PyObject *of)
{
    uint32_t value = recorder_value(recorder, tensor, 0), number, kept = RUN_NONE;
    struct live_tensor look;

    ext_swallow();
    if (value == RUN_NONE || !recorder->trace || !tensor_look(tensor, &look) ||
        !(look.flags & LIVE_READABLE) || !tensor_in_c_order(&look))
        Py_RETURN_NONE;
    number = live_tensor_number(recorder->live, of);
    if (number != NO_OBJECT)
        trace_param(recorder->trace, number, false, value);
    kept = trace_lend(recorder->trace, value, look.at,
                      elements_size((enum dtype)look.dtype, (size_t)look.numel));
    if (kept == RUN_NONE)
        Py_RETURN_NONE;
    return PyLong_FromUnsignedLong(kept);
}
