/* Before and after forward: the hot path. What is looked at is borrowed and never kept.
 * The GIL is our lock; it is released while large tensors are measured, and Python code
 * of the user may run where a tensor has a class of its own, so after each measuring
 * the trace may be gone (stop() on another thread): it is looked at again. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "ext/grads.h"
#include "ext/recorder_in.h"
#include "ext/torch.h"
#include "ext/walk.h"

#include "base/clock.h"

static atomic_uint forks;

static void count_fork(void)
{
    atomic_fetch_add(&forks, 1);
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, count_fork);
}

unsigned recorder_forks(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, watch_forks);
    return atomic_load(&forks);
}

uint64_t recorder_clock(void)
{
    return clock_ns();
}

uint32_t recorder_thread(struct recorder *recorder)
{
    struct stack *stack = frames_stack(recorder->frames);

    return stack ? stack->number : 0;
}

bool recorder_ready(struct recorder *recorder)
{
    if (!recorder->armed || !recorder->trace)
        return false;
    if (recorder->forks != atomic_load(&forks))
        recorder->armed = false;
    return recorder->armed;
}

/* One hook under way. */
struct visit {
    struct recorder *recorder;
    struct stack *stack;
    struct frame frame; /* a copy: the stack may move */
    PyObject *quiet;
    uint64_t began_ns;
    uint32_t next;  /* the argument that is expected next, among those seen before */
    uint32_t index; /* of the frame */
    bool keep;
    bool same_args; /* after forward: the tuple that was looked at before it */
};

/* False: nothing to be done. */
static bool visit_begin(struct visit *visit, struct recorder *recorder)
{
    if (!torch_find())
        return false;
    visit->recorder = recorder;
    visit->stack = frames_stack(recorder->frames);
    if (!visit->stack || visit->stack->busy)
        return false;
    visit->stack->busy = true;
    recorder->hook_calls++;
    visit->quiet = quiet_begin(torch_find(), false);
    return true;
}

static void visit_end(struct visit *visit)
{
    struct recorder *recorder = visit->recorder;
    uint64_t own;

    quiet_end(visit->quiet);
    visit->stack->busy = false;
    own = recorder_clock() - visit->began_ns;
    recorder->own_ns += own;
    if (recorder->trace)
        trace_own(recorder->trace, visit->stack->number, own);
    if (PyErr_Occurred())
        recorder_failed(recorder);
}

/* --- before */

static uint16_t class_flags(const struct recorder *recorder, uint32_t object)
{
    const struct model *model = recorder->model;
    struct str name = class_short(place_class(model, model->objects[object].place));

    if (str_is(name, "OptimizedModule"))
        return RUN_COMPILED;
    if (str_is(name, "RecursiveScriptModule") || str_is(name, "ScriptModule") ||
        str_is(name, "TopLevelTracedModule"))
        return RUN_SCRIPTED;
    return 0;
}

bool recorder_in_backward(struct recorder *recorder)
{
    const struct torch *torch = torch_find();
    PyObject *task;
    long number;

    if (!torch->graph_task)
        return recorder->grads && grads_in_backward(recorder->grads);
    task = PyObject_CallNoArgs(torch->graph_task);
    number = task ? PyLong_AsLong(task) : -1;
    ext_swallow();
    Py_XDECREF(task);
    return number != -1;
}

static uint16_t call_flags(struct recorder *recorder, PyObject *module, uint32_t object)
{
    const struct torch *torch = torch_find();
    uint16_t flags = class_flags(recorder, object);

    if (torch_flag(module, NAME_training))
        flags |= RUN_TRAINING;
    if (torch_ask(torch->is_grad_enabled, false))
        flags |= RUN_GRAD_MODE;
    if (torch->any_autocast ? torch_ask(torch->any_autocast, false)
                            : torch_ask(torch->autocast[0], false) ||
                                  torch_ask(torch->autocast[1], false))
        flags |= RUN_AUTOCAST;
    if (recorder_in_backward(recorder))
        flags |= RUN_RECOMPUTED;
    return flags;
}

/* Was this object an argument of the call before, as far as was entered? */
static const struct input *same_input(const struct visit *visit, PyObject *tensor)
{
    for (uint32_t i = visit->frame.inputs; i < visit->stack->n_inputs; i++)
        if (visit->stack->inputs[i].tensor == tensor)
            return &visit->stack->inputs[i];
    return NULL;
}

static int add_input(void *user, PyObject *tensor, const char *path, size_t len)
{
    struct visit *visit = user;
    struct recorder *recorder = visit->recorder;
    const struct input *same = same_input(visit, tensor);
    struct input input = {.tensor = tensor, .version = -1};

    if (same) {
        input = *same;
        input.flags = RUN_IO_SAME;
    } else {
        struct measured measured = recorder_measure(recorder, tensor, 0, visit->keep);

        if (!recorder->trace)
            return -1;
        input.value = measured.value;
        input.version = measured.version;
        input.print = measured.print;
    }
    input.path = trace_string(recorder->trace, path, len);
    return stack_add(visit->stack, &input) ? 0 : -1;
}

static void begin_call(struct visit *visit, PyObject *module, uint32_t object,
                       PyObject *args, PyObject *kwargs)
{
    struct recorder *recorder = visit->recorder;
    uint16_t flags = call_flags(recorder, module, object);
    uint32_t line = 0, call;

    if (recorder->lines && recorder->trace)
        line = lines_find(recorder->lines, recorder->trace);
    if (!recorder->trace)
        return;
    call = trace_begin(recorder->trace, visit->stack->number, object, flags, line,
                       visit->began_ns);
    if (!stack_push(visit->stack, module, args, call, object)) {
        recorder_failed(recorder);
        return;
    }
    visit->frame = visit->stack->frames[visit->stack->n - 1];
    if (call == RUN_NONE)
        return;
    visit->keep = !(call & TRACE_LIGHT) && recorder_keeps(recorder, object);
    walk_arguments(args, kwargs, add_input, visit, NULL);
    if (recorder->trace && recorder->grads)
        grads_before(recorder->grads, visit->stack->number, args, kwargs);
}

PyObject *recorder_pre(struct recorder *recorder, PyObject *const *args,
                       Py_ssize_t n_args)
{
    struct visit visit;
    uint32_t object;

    if (n_args < 2 || !recorder_ready(recorder))
        Py_RETURN_NONE;
    object = live_object(recorder->live, args[0]);
    if (object == NO_OBJECT || object >= recorder->model->n_objects)
        Py_RETURN_NONE;
    visit.began_ns = recorder_clock();
    if (!visit_begin(&visit, recorder))
        Py_RETURN_NONE;
    begin_call(&visit, args[0], object, args[1], n_args > 2 ? args[2] : NULL);
    visit_end(&visit);
    Py_RETURN_NONE;
}

/* --- after */

/* Enter a call's arguments into the trace. */
static void enter_inputs(struct recorder *recorder, const struct stack *stack,
                         uint32_t index)
{
    uint32_t end =
        index + 1 < stack->n ? stack->frames[index + 1].inputs : stack->n_inputs;

    if (stack->frames[index].call == RUN_NONE)
        return;
    for (uint32_t i = stack->frames[index].inputs; i < end; i++) {
        const struct input *input = &stack->inputs[i];

        trace_io(recorder->trace, stack->frames[index].call, RUN_IN, input->path,
                 input->value, input->flags);
    }
}

/* Calls above one that ends never came back. */
static void drop_above(struct recorder *recorder, struct stack *stack, uint32_t index)
{
    for (uint32_t i = stack->n; i > index + 1; i--) {
        enter_inputs(recorder, stack, i - 1);
        if (recorder->grads && stack->frames[i - 1].call != RUN_NONE)
            grads_drop(recorder->grads, stack->number);
    }
    stack_cut(stack, index + 1);
}

/* "[0]", not "mask" or "['a keyword']". */
static bool is_positional(const char *path, size_t len)
{
    return len > 1 && path[0] == '[' && path[1] != '\'';
}

/* An argument again, after forward: was it overwritten? What is met for the first time
 * (a keyword, or what another hook put in) is measured now; but what forward itself put
 * into a list or cache that it was given is no argument. */
static int check_input(void *user, PyObject *tensor, const char *path, size_t len)
{
    struct visit *visit = user;
    struct stack *stack = visit->stack;
    uint32_t i = visit->next;

    if (i >= stack->n_inputs || stack->inputs[i].tensor != tensor) {
        for (i = visit->frame.inputs; i < stack->n_inputs; i++)
            if (stack->inputs[i].tensor == tensor)
                break;
        if (i == stack->n_inputs)
            return visit->same_args && is_positional(path, len)
                       ? 0
                       : add_input(visit, tensor, path, len);
    }
    visit->next = i + 1;
    if (stack->inputs[i].version >= 0 &&
        tensor_version(tensor) != stack->inputs[i].version)
        stack->inputs[i].flags |= RUN_IO_REPLACED;
    return 0;
}

static int add_output(void *user, PyObject *tensor, const char *path, size_t len)
{
    struct visit *visit = user;
    struct recorder *recorder = visit->recorder;
    struct measured measured = recorder_measure(recorder, tensor, 0, visit->keep);
    struct stack *stack = visit->stack;
    uint8_t flags = 0;

    if (!recorder->trace)
        return -1;
    for (uint32_t i = visit->frame.inputs; i < stack->n_inputs; i++) {
        struct input *input = &stack->inputs[i];

        if (input->tensor != tensor)
            continue;
        flags = RUN_IO_SAME;
        if (input->version < 0 && measured.print && input->print != measured.print)
            input->flags |= RUN_IO_REPLACED;
    }
    trace_io(recorder->trace, visit->frame.call, RUN_OUT,
             trace_string(recorder->trace, path, len), measured.value, flags);
    return 0;
}

/* Results are entered before the arguments, for what they tell about those: an argument
 * without a version that is a result now may hold something else. */
static void see_results(struct visit *visit, PyObject *args, PyObject *kwargs,
                        PyObject *result)
{
    struct recorder *recorder = visit->recorder;

    visit->keep = !(visit->frame.call & TRACE_LIGHT) &&
                  recorder_keeps(recorder, visit->frame.object);
    visit->next = visit->frame.inputs;
    visit->same_args = visit->frame.args == args;
    walk_arguments(args, kwargs, check_input, visit, NULL);
    if (recorder->trace)
        walk_result(result, add_output, visit, NULL);
    if (recorder->trace && recorder->grads)
        grads_after(recorder->grads, visit->stack->number, visit->frame.call, args,
                    kwargs, result);
}

/* Begin the end of a module's newest call on this thread; false: there is none. */
static bool find_call(struct visit *visit, struct recorder *recorder, PyObject *module)
{
    uint32_t found;

    visit->began_ns = recorder_clock();
    if (!visit_begin(visit, recorder))
        return false;
    found = stack_find(visit->stack, module);
    if (found == 0) {
        visit_end(visit);
        return false;
    }
    visit->index = found - 1;
    drop_above(recorder, visit->stack, visit->index);
    visit->frame = visit->stack->frames[visit->index];
    return true;
}

static void end_call(struct visit *visit, uint16_t flags)
{
    struct recorder *recorder = visit->recorder;
    struct stack *stack = visit->stack;

    if (recorder->trace) {
        enter_inputs(recorder, stack, visit->index);
        if (visit->index == 0)
            recorder_flush(recorder);
    }
    if (recorder->trace && visit->frame.call != RUN_NONE)
        trace_end(recorder->trace, stack->number, visit->frame.call, flags,
                  visit->began_ns);
    stack_cut(stack, visit->index);
    visit_end(visit);
}

/* post(module, args, kwargs, result) or post(module, args, result) */
PyObject *recorder_post(struct recorder *recorder, PyObject *const *args,
                        Py_ssize_t n_args)
{
    PyObject *kwargs = n_args > 3 ? args[2] : NULL;
    struct visit visit;

    if (n_args < 3 || !recorder_ready(recorder) ||
        live_object(recorder->live, args[0]) == NO_OBJECT ||
        !find_call(&visit, recorder, args[0]))
        Py_RETURN_NONE;
    if (visit.frame.call != RUN_NONE)
        see_results(&visit, args[1], kwargs, args[n_args - 1]);
    end_call(&visit, 0);
    Py_RETURN_NONE;
}

/* "ValueError: too few" of an exception, or of the one being handled. */
static uint32_t error_text(struct trace *trace, PyObject *exception)
{
    PyObject *handled = NULL, *type, *text;
    const char *name, *words;
    char line[300];
    int len;

    if (!exception || exception == Py_None)
        exception = handled = PyErr_GetHandledException();
    if (!exception)
        return 0;
    type = PyObject_GetAttrString((PyObject *)Py_TYPE(exception), "__name__");
    text = PyObject_Str(exception);
    name = type ? PyUnicode_AsUTF8AndSize(type, NULL) : NULL;
    words = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    ext_swallow();
    len = snprintf(line, sizeof line, "%s: %s", name ? name : "?", words ? words : "?");
    if (len >= (int)sizeof line)
        len = sizeof line - 1;
    Py_XDECREF(type);
    Py_XDECREF(text);
    Py_XDECREF(handled);
    return trace_string(trace, line, (size_t)len);
}

PyObject *recorder_raised(struct recorder *recorder, PyObject *const *args,
                          Py_ssize_t n_args)
{
    struct visit visit;
    uint32_t text;

    if (n_args < 1 || !recorder_ready(recorder) ||
        live_object(recorder->live, args[0]) == NO_OBJECT ||
        !find_call(&visit, recorder, args[0]))
        Py_RETURN_NONE;
    text = error_text(recorder->trace, n_args > 1 ? args[1] : NULL);
    if (recorder->trace && visit.frame.call != RUN_NONE) {
        if (text)
            trace_error(recorder->trace, visit.frame.call, text);
        if (recorder->grads)
            grads_drop(recorder->grads, visit.stack->number);
    }
    end_call(&visit, RUN_RAISED);
    Py_RETURN_NONE;
}

void recorder_unwind(struct recorder *recorder)
{
    for (uint32_t i = 0; i < frames_count(recorder->frames); i++) {
        struct stack *stack = frames_at(recorder->frames, i);

        for (uint32_t j = stack->n; j > 0; j--)
            enter_inputs(recorder, stack, j - 1);
        stack_cut(stack, 0);
    }
}
