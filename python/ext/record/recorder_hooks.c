/* Before and after forward: the hot path. References are borrowed and never kept.
 * The GIL is our lock. It is released while large tensors are measured, and a tensor
 * subclass may run the user's Python code. stop() on another thread may free the
 * trace meanwhile, so it is checked after each measurement. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "ext/record/grads.h"
#include "ext/record/ops.h"
#include "ext/record/recorder_in.h"
#include "ext/torch/native.h"
#include "ext/torch/torch.h"
#include "ext/torch/walk.h"

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

/* When the running hook of this thread began; 0: already counted. */
static _Thread_local uint64_t arrived_ns;

void recorder_arrived(void)
{
    arrived_ns = recorder_clock();
}

void recorder_left(void)
{
    arrived_ns = 0;
}

static uint64_t arrival(void)
{
    uint64_t ns = arrived_ns ? arrived_ns : recorder_clock();

    arrived_ns = 0;
    return ns;
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

/* One running hook. */
struct visit {
    struct recorder *recorder;
    struct stack *stack;
    struct recorder_frame frame; /* a copy: the stack may move */
    PyObject *quiet;
    uint64_t began_ns;
    uintptr_t depth; /* before forward: address in the C stack */
    uint32_t next;   /* index of the expected argument among those seen before */
    uint32_t index;  /* of the frame */
    unsigned wants;  /* enum recorder_wants */
    struct grads_visit *grads; /* NULL: gradients are not recorded */
    bool inner;    /* some result inside a function transform requires a gradient */
    bool same;     /* after forward: same arguments as before it */
    bool compiled; /* the module is torch.compile()'s wrapper of one in the model */
};

/* False: nothing to do. */
static bool visit_begin(struct visit *visit, struct recorder *recorder)
{
    if (!torch_find())
        return false;
    visit->recorder = recorder;
    visit->grads = NULL;
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

static struct str class_of(const struct model *model, uint32_t object)
{
    return class_short(place_class(model, model->objects[object].place));
}

/* Whether the object is a result of torch.compile() inside the model. */
static bool is_compiled_class(const struct model *model, uint32_t object)
{
    return str_is(class_of(model, object), "OptimizedModule");
}

static uint16_t class_flags(const struct recorder *recorder, uint32_t object)
{
    const struct model *model = recorder->model;
    struct str name = place_class(model, model->objects[object].place);

    return live_is_scripted(name) ? RUN_SCRIPTED : 0;
}

bool recorder_in_backward(struct recorder *recorder)
{
    if (!torch_find()->graph_task)
        return recorder->grads && grads_in_backward(recorder->grads);
    return native_graph_task() != -1;
}

static uint16_t call_flags(struct recorder *recorder, PyObject *module, uint32_t object)
{
    const struct torch *torch = torch_find();
    uint16_t flags = class_flags(recorder, object);

    if (torch_flag(module, NAME_training))
        flags |= RUN_TRAINING;
    if (native_grad_mode())
        flags |= RUN_GRAD_MODE;
    if (torch->any_autocast ? torch_ask(torch->any_autocast, false)
                            : torch_ask(torch->autocast[0], false) ||
                                  torch_ask(torch->autocast[1], false))
        flags |= RUN_AUTOCAST;
    if (recorder_in_backward(recorder))
        flags |= RUN_RECOMPUTED;
    return flags;
}

/* Calls on other threads have no parent on this one. Calls of replicas belong to the
 * wrapper that waits for them, if it is recorded too. */
static void find_parent(struct recorder *recorder, const struct stack *stack,
                        PyObject *module, uint32_t object)
{
    const struct model *model = recorder->model;
    PyObject *original = live_module(recorder->live, object);
    bool is_replica = original && original != module;

    Py_XDECREF(original);
    if (!is_replica)
        return;
    for (uint32_t i = 0; i < frames_count(recorder->frames); i++) {
        const struct stack *other = frames_at(recorder->frames, i);
        uint32_t above = other->n ? other->frames[other->n - 1].object : NO_OBJECT;

        if (above < model->n_objects &&
            str_is(class_of(model, above), "DataParallel")) {
            trace_under(recorder->trace, stack->number, i);
            return;
        }
    }
    trace_fact_text(recorder->trace, "replicas",
                    "calls of replicas have no parent: record the wrapper");
}

/* The recorded argument that is this very object, or NULL. */
static const struct recorder_input *same_input(const struct visit *visit,
                                               PyObject *tensor)
{
    for (uint32_t i = visit->frame.inputs; i < visit->stack->n_inputs; i++)
        if (visit->stack->inputs[i].tensor == tensor)
            return &visit->stack->inputs[i];
    return NULL;
}

static int enter_input(void *user, PyObject *tensor, const char *path, size_t len)
{
    struct visit *visit = user;
    struct recorder *recorder = visit->recorder;
    const struct recorder_input *same = same_input(visit, tensor);
    struct recorder_input input = {.tensor = tensor, .version = -1};

    if (same) {
        input = *same;
        input.flags = RUN_IO_SAME;
    } else {
        struct recorder_measured measured =
            recorder_measure(recorder, tensor, visit->wants);

        if (!recorder->trace)
            return -1;
        input.value = measured.value;
        input.version = measured.version;
        input.print = measured.print;
        input.grad = measured.grad;
    }
    input.path = trace_string(recorder->trace, path, len);
    if (!stack_add(visit->stack, &input))
        return -1;
    if (visit->grads && input.grad)
        grads_argument(visit->grads, tensor, input.path);
    return recorder->trace ? 0 : -1;
}

static int add_input(void *user, PyObject *tensor, const char *path, size_t len)
{
    struct torch_quiet quiet = quiet_for(torch_find(), tensor);
    int status = enter_input(user, tensor, path, len);

    quiet_for_end(quiet);
    return status;
}

/* Adds a gap: a limit left some tensors out. */
static void say_cut(struct recorder *recorder, uint32_t object, const char *what)
{
    if (recorder->trace)
        trace_gap(recorder->trace, RUN_GAP_LIMIT, object,
                  "its %s contain more than is recorded: at most %d tensors, %d levels "
                  "deep",
                  what, WALK_MOST, WALK_DEPTH);
}

/* How to record the tensors of the call: enum recorder_wants. */
static unsigned wants_of(const struct visit *visit)
{
    const struct recorder_frame *frame = &visit->frame;

    return !frame->recomputed &&
                   recorder_keeps(visit->recorder, frame->object, frame->call)
               ? RECORDER_WANTS_ELEMENTS
               : 0;
}

static void begin_call(struct visit *visit, PyObject *module, uint32_t object,
                       PyObject *args, PyObject *kwargs)
{
    struct recorder *recorder = visit->recorder;
    uint16_t flags = call_flags(recorder, module, object);
    const struct recorder_frame *outer =
        visit->stack->n ? &visit->stack->frames[visit->stack->n - 1] : NULL;
    const void *caller = NULL;
    uint32_t line = 0, call;
    int cut = 0;

    if (recorder->lines && recorder->trace)
        line = code_lines_find(recorder->lines, recorder->trace, outer, &caller);
    if (!recorder->trace)
        return;
    if (visit->stack->n == 0)
        find_parent(recorder, visit->stack, module, object);
    if (visit->stack->n > 0)
        visit->stack->frames[visit->stack->n - 1].has_inner = true;
    if (recorder->ops)
        ops_nodes_end(recorder->ops, visit->stack->number, visit->stack->n > 0);
    call = trace_begin(recorder->trace, visit->stack->number, object, flags, line,
                       visit->began_ns);
    visit->frame = (struct recorder_frame){.module = module,
                                           .args = args,
                                           .kwargs = kwargs,
                                           .caller = caller,
                                           .call = call,
                                           .object = object,
                                           .line = line,
                                           .start_ns = visit->began_ns,
                                           .recomputed = flags & RUN_RECOMPUTED,
                                           .depth = visit->depth};
    if (!stack_push(visit->stack, &visit->frame)) {
        recorder_failed(recorder);
        return;
    }
    visit->stack->frames[visit->stack->n - 1].compiled =
        visit->compiled || is_compiled_class(recorder->model, object);
    visit->frame = visit->stack->frames[visit->stack->n - 1];
    if (call == RUN_NONE)
        return;
    visit->wants = wants_of(visit);
    if (recorder->grads && !(recorder->about[object] & RECORDER_UNGRADED))
        visit->grads = grads_enter(recorder->grads, visit->stack->number);
    walk_arguments(args, kwargs, recorder_names(recorder, module, object), add_input,
                   visit, &cut);
    if (cut)
        say_cut(recorder, object, "arguments");
    if (visit->grads)
        grads_called(visit->grads, call, kwargs != NULL);
    recorder_mark(recorder, NAME_start, call);
    if (recorder->ops && recorder->trace && visit->stack->n == 1)
        ops_root_begins(recorder->ops, visit->stack->number);
}

/* Adds a call's arguments to the trace. */
static void enter_inputs(struct recorder *recorder, const struct stack *stack,
                         uint32_t index)
{
    uint32_t end =
        index + 1 < stack->n ? stack->frames[index + 1].inputs : stack->n_inputs;

    if (stack->frames[index].call == RUN_NONE)
        return;
    for (uint32_t i = stack->frames[index].inputs; i < end; i++) {
        const struct recorder_input *input = &stack->inputs[i];

        trace_io(recorder->trace, stack->frames[index].call, RUN_IN, input->path,
                 input->value, input->flags);
    }
}

/* The object of a module, or of the module that it wraps or replicates. */
static uint32_t object_of(const struct recorder *recorder, PyObject *module,
                          bool *ret_compiled)
{
    uint32_t object = live_object(recorder->live, module);

    *ret_compiled = false;
    if (object != NO_OBJECT)
        return object;
    object = live_compiled(recorder->live, module);
    *ret_compiled = object != NO_OBJECT;
    return object;
}

/* Drops the calls from this one on, which did not return. */
static void drop_from(struct recorder *recorder, struct stack *stack, uint32_t index)
{
    for (uint32_t i = stack->n; i > index; i--) {
        enter_inputs(recorder, stack, i - 1);
        if (recorder->grads && stack->frames[i - 1].call != RUN_NONE)
            grads_drop(recorder->grads, stack->number, stack->frames[i - 1].call);
    }
    stack_cut(stack, index);
}

/* A call usually begins inside a call of an enclosing module, and deeper in the C
 * stack. If not, the enclosing calls may have ended without a hook: see
 * stack_alive(). */
static void drop_dead(struct visit *visit, const void *module, uint32_t object)
{
    struct recorder *recorder = visit->recorder;
    struct stack *stack = visit->stack;
    const struct recorder_frame *top = stack->n ? &stack->frames[stack->n - 1] : NULL;
    uint32_t alive;

    if (!top || (visit->depth < top->depth &&
                 trace_is_inside(recorder->trace, object, top->object)))
        return;
    alive = stack_alive(stack, module);
    if (alive == stack->n || !recorder->trace)
        return;
    drop_from(recorder, stack, alive);
    trace_abort(recorder->trace, stack->number,
                alive ? stack->frames[alive - 1].call : RUN_NONE, visit->began_ns);
}

/* If a compiled module runs as plain Python after all (a stance, a limit), hooks
 * also run for the module inside it. If the wrapper is not part of the model, that
 * is the same call: true. */
static bool is_begun(const struct model *model, struct stack *stack, uint32_t object)
{
    struct recorder_frame *top = stack->n ? &stack->frames[stack->n - 1] : NULL;
    uint32_t parent = model->parent[model->objects[object].place];

    if (!top || !top->compiled)
        return false;
    if (top->object == object) {
        top->compiled = false;
        return true;
    }
    if (parent != NO_PLACE && model->object[parent] == top->object)
        top->compiled = !is_compiled_class(model, top->object);
    return false;
}

/* A module outside the model is called inside one of the model: it is new, or
 * created for this call only (nn.Softmax(-1)(x)). Adds a gap once per enclosing
 * module. */
static void say_outside(struct recorder *recorder, PyObject *module)
{
    struct stack *stack = frames_stack(recorder->frames);
    uint32_t around =
        stack && stack->n ? stack->frames[stack->n - 1].object : NO_OBJECT;
    char name[TORCH_CLASS_NAME];

    if (around == NO_OBJECT || stack->busy ||
        recorder->about[around] & RECORDER_REPORTED_OUTSIDE ||
        stack_alive(stack, module) < stack->n || !recorder->trace)
        return;
    recorder->about[around] |= RECORDER_REPORTED_OUTSIDE;
    torch_class_name(module, name);
    trace_gap(recorder->trace, RUN_GAP_OUTSIDE, around,
              "not recorded: it called %s, which was not part of the model when the "
              "recording began",
              *name ? name : "a module");
}

PyObject *recorder_pre(struct recorder *recorder, PyObject *const *args,
                       Py_ssize_t n_args)
{
    struct visit visit;
    uint32_t object;

    if (n_args < 2 || !recorder_ready(recorder))
        Py_RETURN_NONE;
    object = object_of(recorder, args[0], &visit.compiled);
    if (object == NO_OBJECT || object >= recorder->model->n_objects) {
        say_outside(recorder, args[0]);
        Py_RETURN_NONE;
    }
    visit.began_ns = arrival();
    if (!visit_begin(&visit, recorder))
        Py_RETURN_NONE;
    visit.depth = (uintptr_t)__builtin_frame_address(0);
    drop_dead(&visit, args[0], object);
    if (!is_begun(recorder->model, visit.stack, object))
        begin_call(&visit, args[0], object, args[1], n_args > 2 ? args[2] : NULL);
    visit_end(&visit);
    Py_RETURN_NONE;
}

/* --- after */

/* Compares the version, and the fingerprint because .data, NumPy and inference mode
 * do not change the version. */
static bool is_overwritten(const struct recorder_input *input, PyObject *tensor)
{
    struct live_tensor look;
    uint64_t print;

    if (input->print == 0)
        return input->version >= 0 && tensor_version(tensor) != input->version;
    if (!tensor_look(tensor, &look))
        return false;
    if (input->version >= 0 && look.version != input->version)
        return true;
    print = tensor_print(&look);
    return print && print != input->print;
}

/* Checks after forward whether an argument was overwritten. */
static void recheck(struct visit *visit, uint32_t index, PyObject *tensor)
{
    if (is_overwritten(&visit->stack->inputs[index], tensor))
        visit->stack->inputs[index].flags |= RUN_IO_REPLACED;
    if (visit->grads)
        grads_recheck(visit->grads, tensor);
}

/* Measures a tensor that is first seen after forward: a keyword argument with an old
 * torch, or one that another hook inserted. Tensors that forward itself put into a
 * list or cache argument are not arguments. */
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
            return visit->same ? 0 : add_input(visit, tensor, path, len);
    }
    visit->next = i + 1;
    recheck(visit, i, tensor);
    return 0;
}

/* Whether all arguments seen before forward are direct items of `args` or `kwargs`.
 * Then both still hold them, and nothing else needs a check. */
static bool are_held(const struct visit *visit, PyObject *args, PyObject *kwargs)
{
    const struct recorder_input *inputs = visit->stack->inputs;
    uint32_t next = visit->frame.inputs, n = visit->stack->n_inputs;
    PyObject *key, *value;
    Py_ssize_t at = 0;

    if (args != visit->frame.args)
        return false;
    if (kwargs && kwargs != visit->frame.kwargs && PyDict_Size(kwargs) != 0)
        return false;
    for (Py_ssize_t i = 0; next < n && i < PyTuple_Size(args); i++)
        next += inputs[next].tensor == PyTuple_GetItem(args, i);
    while (next < n && kwargs && PyDict_Next(kwargs, &at, &key, &value))
        next += inputs[next].tensor == value;
    return next == n;
}

/* Checks the arguments after forward. Only containers can have changed their items:
 * without any, the arguments are not walked again. */
static void check_inputs(struct visit *visit, PyObject *module, PyObject *args,
                         PyObject *kwargs)
{
    struct stack *stack = visit->stack;

    if (are_held(visit, args, kwargs)) {
        for (uint32_t i = visit->frame.inputs; i < stack->n_inputs; i++)
            recheck(visit, i, (PyObject *)stack->inputs[i].tensor);
        return;
    }
    visit->next = visit->frame.inputs;
    visit->same = visit->frame.args == args;
    walk_arguments(args, NULL,
                   recorder_names(visit->recorder, module, visit->frame.object),
                   check_input, visit, NULL);
    visit->same = kwargs && visit->frame.kwargs == kwargs;
    walk_arguments(NULL, kwargs, NULL, check_input, visit, NULL);
}

static int enter_output(void *user, PyObject *tensor, const char *path, size_t len)
{
    struct visit *visit = user;
    struct recorder *recorder = visit->recorder;
    struct recorder_measured measured =
        recorder_measure(recorder, tensor, visit->wants);
    uint8_t flags = same_input(visit, tensor) ? RUN_IO_SAME : 0;
    uint32_t id;

    if (!recorder->trace)
        return -1;
    visit->inner |= measured.inner_grad;
    id = trace_string(recorder->trace, path, len);
    trace_io(recorder->trace, visit->frame.call, RUN_OUT, id, measured.value, flags);
    if (visit->grads && measured.grad)
        grads_result(visit->grads, tensor, str_span(path, len), id);
    return recorder->trace ? 0 : -1;
}

static int add_output(void *user, PyObject *tensor, const char *path, size_t len)
{
    struct torch_quiet quiet = quiet_for(torch_find(), tensor);
    int status = enter_output(user, tensor, path, len);

    quiet_for_end(quiet);
    return status;
}

static void see_results(struct visit *visit, PyObject *module, PyObject *args,
                        PyObject *kwargs, PyObject *result)
{
    struct recorder *recorder = visit->recorder;
    int cut = 0;

    visit->wants = wants_of(visit);
    visit->inner = false;
    if (recorder->grads)
        visit->grads =
            grads_return(recorder->grads, visit->stack->number, visit->frame.call);
    check_inputs(visit, module, args, kwargs);
    if (recorder->trace)
        walk_result(result, add_output, visit, &cut);
    if (cut)
        say_cut(recorder, visit->frame.object, "results");
    if (visit->inner && recorder->grads)
        grads_report_transformed(recorder->grads, visit->frame.object);
    if (visit->grads)
        grads_returned(visit->grads, kwargs);
}

/* Finds a module's newest call on this thread, to end it; false: none. */
static bool find_call(struct visit *visit, struct recorder *recorder, PyObject *module)
{
    uint32_t found;

    visit->began_ns = arrival();
    if (!visit_begin(visit, recorder))
        return false;
    found = stack_find(visit->stack, module);
    if (found == 0) {
        visit_end(visit);
        return false;
    }
    visit->index = found - 1;
    drop_from(recorder, visit->stack, visit->index + 1);
    visit->frame = visit->stack->frames[visit->index];
    recorder_mark(recorder, NAME_end, visit->frame.call);
    if (!recorder->trace)
        visit_end(visit);
    return recorder->trace;
}

static void end_call(struct visit *visit, uint16_t flags)
{
    struct recorder *recorder = visit->recorder;
    struct stack *stack = visit->stack;

    if (recorder->trace) {
        enter_inputs(recorder, stack, visit->index);
        recorder_rest(recorder);
        if (visit->index == 0) {
            if (!recorder->watch || recorder->pending > RECORDER_HELD)
                recorder_flush(recorder);
            recorder_times(recorder);
        }
    }
    if (recorder->ops && recorder->trace)
        ops_nodes_end(recorder->ops, stack->number, true);
    if (recorder->trace && visit->frame.call != RUN_NONE)
        trace_end(recorder->trace, stack->number, visit->frame.call,
                  visit->frame.compiled ? flags | RUN_COMPILED : flags,
                  visit->began_ns);
    stack_cut(stack, visit->index);
    if (recorder->ops && visit->index == 0)
        ops_root_ends(recorder->ops, stack->number);
    visit_end(visit);
}

/* In eval mode torch's encoder layer may run one fused kernel for everything. */
static bool is_fused(const struct recorder_frame *frame, PyObject *module)
{
    const struct torch *torch = torch_find();
    PyObject *forward;
    bool is_encoder;

    if (frame->has_inner || frame->compiled || !torch->encoder_forward)
        return false;
    forward = PyObject_GetAttr((PyObject *)Py_TYPE(module), torch->names[NAME_forward]);
    is_encoder = forward && forward == torch->encoder_forward;
    ext_swallow();
    Py_XDECREF(forward);
    return is_encoder;
}

/* post(module, args, kwargs, result) or post(module, args, result) */
PyObject *recorder_post(struct recorder *recorder, PyObject *const *args,
                        Py_ssize_t n_args)
{
    PyObject *kwargs = n_args > 3 ? args[2] : NULL;
    struct visit visit;

    if (n_args < 3 || !recorder_ready(recorder) ||
        object_of(recorder, args[0], &visit.compiled) == NO_OBJECT ||
        !find_call(&visit, recorder, args[0]))
        Py_RETURN_NONE;
    if (recorder->ops && recorder->trace && visit.frame.compiled)
        ops_region(recorder->ops, "compiled::region", args[1], kwargs, args[n_args - 1],
                   visit.frame.start_ns, visit.began_ns - visit.frame.start_ns);
    if (visit.frame.call != RUN_NONE)
        see_results(&visit, args[0], args[1], kwargs, args[n_args - 1]);
    end_call(&visit, is_fused(&visit.frame, args[0]) ? RUN_FUSED : 0);
    Py_RETURN_NONE;
}

/* The text ("ValueError: too few") of an exception, or of the one being handled. */
static uint32_t error_text(struct trace *trace, PyObject *exception)
{
    PyObject *handled = NULL, *text;
    const char *words;
    char line[300], name[TORCH_CLASS_NAME];
    int len;

    if (!exception || exception == Py_None)
        exception = handled = PyErr_GetHandledException();
    if (!exception)
        return 0;
    torch_class_name(exception, name);
    text = PyObject_Str(exception);
    words = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    ext_swallow();
    len = snprintf(line, sizeof line, "%s: %s", name, words ? words : "?");
    if (len >= (int)sizeof line)
        len = sizeof line - 1;
    Py_XDECREF(text);
    Py_XDECREF(handled);
    return trace_string(trace, line, (size_t)len);
}

/* Whether checkpointing raised this exception to end a recomputation early. */
static bool ends_recomputation(PyObject *exception)
{
    char name[TORCH_CLASS_NAME];

    return str_is(torch_class_name(exception, name), "_StopRecomputationError");
}

PyObject *recorder_raised(struct recorder *recorder, PyObject *const *args,
                          Py_ssize_t n_args)
{
    struct visit visit;
    uint32_t text;
    bool early;

    if (n_args < 1 || !recorder_ready(recorder) ||
        object_of(recorder, args[0], &visit.compiled) == NO_OBJECT ||
        !find_call(&visit, recorder, args[0]))
        Py_RETURN_NONE;
    early = n_args > 1 && ends_recomputation(args[1]);
    text = early ? 0 : error_text(recorder->trace, n_args > 1 ? args[1] : NULL);
    if (recorder->trace && visit.frame.call != RUN_NONE) {
        if (text)
            trace_error(recorder->trace, visit.frame.call, text);
        if (recorder->grads)
            grads_drop(recorder->grads, visit.stack->number, visit.frame.call);
    }
    end_call(&visit, early ? RUN_ABORTED : RUN_RAISED);
    Py_RETURN_NONE;
}

void recorder_compiled(struct recorder *recorder, PyObject *module, bool compiled)
{
    struct stack *stack = frames_stack(recorder->frames);
    uint32_t found = stack ? stack_find(stack, module) : 0;

    if (found)
        stack->frames[found - 1].compiled = compiled;
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
