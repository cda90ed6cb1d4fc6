/* Our own operations. Tensors that the user attaches to a module (torchoscope.attach())
 * are recorded as operations that read them, so that graphs show their origin; others
 * are not recorded. */
#include "ext/record/ops_in.h"
#include "ext/record/record.h"

/* {"name": name} */
static uint32_t attributes_of(struct trace *trace, struct str name)
{
    struct values *values = trace_values(trace);
    uint32_t items[] = {value_str(values, STR("name")), value_str(values, name)};

    if (items[0] == VALUE_ID_FAILED || items[1] == VALUE_ID_FAILED)
        return VALUE_ID_NONE;
    return value_make(values, VALUE_DICT, STR(""), items, 2);
}

void ops_attach(struct recorder_ops *ops, PyObject *tensor, struct str name,
                uint32_t place)
{
    static const char *const names[] = {"self", "name"};
    struct trace *trace = ops->recorder->trace;
    struct stack *stack = frames_stack(ops->recorder->frames);
    struct trace_op_given given = {.flops = OP_NO_FLOPS, .start_ns = recorder_clock()};
    struct trace_op_tensor input = {.kind = OP_IN, .item = OP_NO_ITEM};
    struct torch_quiet quiet;
    uint32_t value;
    bool known;

    if (ops->over || ops->full || !stack)
        return;
    if (ops->attach == RUN_NONE)
        ops->attach = trace_op_kind(trace, OP_ATTACH, "", names, 2, 0);
    quiet = quiet_for(torch_find(), tensor);
    ops->reading = true;
    known = ops->attach != RUN_NONE && ops_look(ops, tensor, &input);
    ops->reading = false;
    quiet_for_end(quiet);
    if (!known)
        return;
    if (!(input.flags & OP_VALUE_GRAD))
        input.flags = OP_VALUE_NO_GRAD;
    given.kind = ops->attach;
    ops_cause(ops, stack, NULL, &given);
    given.place = place;
    given.attributes = attributes_of(trace, name);
    given.tensors = &input;
    given.n_tensors = 1;
    ops->full = trace_op(trace, &given, &value) == RUN_NONE;
}

/* ---- our own operations ---- */

PyObject *record_own(PyObject *module, PyObject *begins)
{
    (void)module;
    if (begins == Py_True)
        own_begin();
    else
        own_end();
    Py_RETURN_NONE;
}
