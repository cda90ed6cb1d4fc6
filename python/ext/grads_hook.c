/* What runs in a backward. A hook is a function in C, bound to numbers: were it to hold
 * a tensor or a module, node, hook and tensor would hold each other through C++, where
 * Python's collector does not see it. It never raises and never changes a gradient. */
#include "ext/grads_in.h"

#include <stdlib.h>

#include "ext/torch.h"

#define BACKWARDS_MOST 64 /* of one call that are entered */

/* A hook on a node, or the token that tells of a backward's end. */
struct hook {
    struct grads *grads;
    struct part part;
    int64_t task; /* of a token */
};

static const char hook_name[] = "torchoscope.hook", token_name[] = "torchoscope.token";

/* --- entering */

/* Is the recording under way? If so the recorder is held until let_go(): the GIL may be
 * released while a gradient is measured. */
static struct recorder *hold(struct grads *grads)
{
    struct recorder *recorder = grads->recorder;

    if (!recorder || !recorder_ready(recorder) || !torch_find())
        return NULL;
    Py_INCREF(recorder->self);
    return recorder;
}

static void let_go(struct recorder *recorder, uint64_t began_ns)
{
    uint64_t own = recorder_clock() - began_ns;

    if (PyErr_Occurred())
        recorder_failed(recorder);
    recorder->own_ns += own;
    if (recorder->trace)
        trace_own(recorder->trace, recorder_thread(recorder), own);
    Py_DECREF(recorder->self);
}

static void enter(struct recorder *recorder, struct spot *spot, PyObject *gradient)
{
    uint32_t value;

    if (!recorder->trace || spot->fired == BACKWARDS_MOST)
        return;
    if (++spot->fired == BACKWARDS_MOST)
        trace_gap(recorder->trace, RUN_GAP_GRADIENT,
                  trace_object(recorder->trace, spot->call),
                  "Gradients of a call are entered for its first %d backwards only.",
                  BACKWARDS_MOST);
    value = recorder_value(recorder, gradient, 0);
    if (recorder->trace && value != RUN_NONE)
        trace_io(recorder->trace, spot->call, (enum run_io_kind)spot->kind, spot->path,
                 value, spot->flags);
}

/* --- sums */

struct sum *sum_new(const struct spot *spot, uint32_t parts)
{
    struct sum *sum = calloc(1, sizeof *sum);

    if (!sum)
        return NULL;
    sum->users = 1;
    sum->parts = parts;
    sum->spot = *spot;
    return sum;
}

void sum_drop(struct sum *sum)
{
    if (!sum || --sum->users)
        return;
    Py_XDECREF(sum->total);
    free(sum);
}

static void unlink_sum(struct grads *grads, struct sum *sum)
{
    struct sum **at = &grads->waiting;

    while (*at && *at != sum)
        at = &(*at)->next;
    if (*at)
        *at = sum->next;
    sum->next = NULL;
    sum->waits = false;
}

/* All parts of this backward are there. */
static void sum_done(struct grads *grads, struct recorder *recorder, struct sum *sum)
{
    PyObject *total = sum->total;

    sum->total = NULL;
    sum->arrived = 0;
    unlink_sum(grads, sum);
    if (total && recorder)
        enter(recorder, &sum->spot, total);
    Py_XDECREF(total);
    sum_drop(sum);
}

static PyObject *without_graph(PyObject *gradient)
{
    if (!torch_flag(gradient, NAME_requires_grad))
        return Py_NewRef(gradient);
    return PyObject_CallMethodObjArgs(gradient, torch_find()->names[NAME_detach], NULL);
}

/* Add a part (NULL: it is zero). */
static void sum_add(struct grads *grads, struct recorder *recorder, struct sum *sum,
                    PyObject *gradient)
{
    PyObject *part = gradient ? without_graph(gradient) : NULL, *total;

    if (!sum->waits) {
        sum->waits = true;
        sum->users++;
        sum->task = grads->task;
        sum->next = grads->waiting;
        grads->waiting = sum;
    }
    if (part && sum->total) {
        total = PyObject_CallMethodObjArgs(sum->total, torch_find()->names[NAME_add],
                                           part, NULL);
        if (!total)
            recorder_failed(recorder);
        Py_DECREF(sum->total);
        sum->total = total;
    } else if (part) {
        sum->total = Py_NewRef(part);
    }
    Py_XDECREF(part);
    if (++sum->arrived == sum->parts)
        sum_done(grads, recorder, sum);
}

/* Parts that a backward does not reach are zero: at its end the rest is all. */
static void end_sums(struct grads *grads, struct recorder *recorder, int64_t task)
{
    struct sum *sum = grads->waiting;

    while (sum) {
        struct sum *next = sum->next;

        if (sum->task == task) {
            sum_done(grads, recorder, sum);
            next = grads->waiting; /* others may have run */
        }
        sum = next;
    }
}

void hooks_forget(struct grads *grads)
{
    while (grads->waiting)
        sum_done(grads, NULL, grads->waiting);
}

/* --- the end of a backward */

static struct hook *hook_of(PyObject *capsule, const char *name)
{
    struct hook *hook = PyCapsule_GetPointer(capsule, name);

    ext_swallow();
    return hook;
}

/* Also where the backward raised: then the queue that held the token is dropped. */
static void free_token(PyObject *capsule)
{
    struct hook *token = hook_of(capsule, token_name);

    token->grads->tokens--;
    end_sums(token->grads, NULL, token->task);
    grads_drop_user(token->grads);
    free(token);
}

static PyObject *backward_ends(PyObject *capsule, PyObject *unused)
{
    struct hook *token = hook_of(capsule, token_name);
    uint64_t began_ns = recorder_clock();
    struct recorder *recorder = hold(token->grads);

    (void)unused;
    if (recorder) {
        end_sums(token->grads, recorder, token->task);
        let_go(recorder, began_ns);
    }
    Py_RETURN_NONE;
}

static PyMethodDef at_end = {"torchoscope_end", backward_ends, METH_NOARGS, NULL};

/* A function bound to a copy of *from, which is freed by `release`. */
static PyObject *bind(PyMethodDef *method, const struct hook *from, const char *name,
                      PyCapsule_Destructor release)
{
    struct hook *hook = malloc(sizeof *hook);
    PyObject *capsule, *bound;

    if (!hook)
        return PyErr_NoMemory();
    *hook = *from;
    capsule = PyCapsule_New(hook, name, NULL);
    if (!capsule) {
        free(hook);
        return NULL;
    }
    bound = PyCFunction_New(method, capsule);
    if (bound) {
        /* From here on the capsule frees what it holds. */
        hook->grads->users++;
        PyCapsule_SetDestructor(capsule, release);
    } else {
        free(hook);
    }
    Py_DECREF(capsule);
    return bound;
}

static PyObject *find_engine(void)
{
    PyObject *autograd = torch_imported("torch.autograd.variable");
    PyObject *variable = autograd ? PyObject_GetAttrString(autograd, "Variable") : NULL;
    PyObject *engine =
        variable ? PyObject_GetAttrString(variable, "_execution_engine") : NULL;

    ext_swallow();
    Py_XDECREF(variable);
    Py_XDECREF(autograd);
    return engine;
}

static int64_t current_task(void)
{
    PyObject *task = torch_find()->graph_task;
    PyObject *answer = task ? PyObject_CallNoArgs(task) : NULL;
    int64_t number = answer ? PyLong_AsLongLong(answer) : 0;

    ext_swallow();
    Py_XDECREF(answer);
    return number;
}

/* Have the engine tell us when the backward that is under way ends. */
static void follow_backward(struct grads *grads)
{
    struct hook token = {.grads = grads, .task = current_task()};
    PyObject *engine, *bound, *answer = NULL;

    if (grads->tokens && grads->task == token.task)
        return;
    engine = find_engine();
    bound = engine ? bind(&at_end, &token, token_name, free_token) : NULL;
    if (bound) {
        grads->tokens++;
        grads->task = token.task;
        answer = PyObject_CallMethodObjArgs(
            engine, torch_find()->names[NAME_queue_callback], bound, NULL);
    }
    ext_swallow();
    Py_XDECREF(answer);
    Py_XDECREF(bound);
    Py_XDECREF(engine);
}

/* --- hooks */

static void free_hook(PyObject *capsule)
{
    struct hook *hook = hook_of(capsule, hook_name);

    sum_drop(hook->part.sum);
    window_drop(hook->part.window);
    grads_drop_user(hook->grads);
    free(hook);
}

static void take(struct hook *hook, struct recorder *recorder, PyObject *gradients)
{
    struct part *part = &hook->part;
    PyObject *gradient = NULL, *cut = NULL;

    if (PyTuple_Check(gradients) && (Py_ssize_t)part->nr < PyTuple_Size(gradients))
        gradient = PyTuple_GetItem(gradients, (Py_ssize_t)part->nr); /* borrowed */
    if (gradient && !tensor_is(gradient))
        gradient = NULL;
    if (gradient && part->window)
        gradient = cut = window_cut(part->window, gradient);
    if (part->sum)
        sum_add(hook->grads, recorder, part->sum, gradient);
    else if (gradient)
        enter(recorder, &part->spot, gradient);
    Py_XDECREF(cut);
}

static PyObject *gradients_come(PyObject *capsule, PyObject *const *args,
                                Py_ssize_t n_args)
{
    struct hook *hook = hook_of(capsule, hook_name);
    uint64_t began_ns;
    struct recorder *recorder;
    PyObject *quiet;

    if (n_args < 1 || !hook->grads->recorder)
        Py_RETURN_NONE;
    began_ns = recorder_clock();
    recorder = hold(hook->grads);
    if (!recorder)
        Py_RETURN_NONE;
    quiet = quiet_begin(torch_find(), false);
    follow_backward(hook->grads);
    take(hook, recorder, args[0]);
    ext_swallow();
    quiet_end(quiet);
    let_go(recorder, began_ns);
    Py_RETURN_NONE;
}

static PyMethodDef on_gradients = {"torchoscope_gradients",
                                   (PyCFunction)(void (*)(void))gradients_come,
                                   METH_FASTCALL, NULL};

bool hook_put(struct grads *grads, PyObject *node, const struct part *part)
{
    struct hook hook = {.grads = grads, .part = *part};
    PyObject *bound = bind(&on_gradients, &hook, hook_name, free_hook), *handle = NULL;

    if (bound) {
        if (part->sum)
            part->sum->users++;
        if (part->window)
            part->window->users++;
        handle = PyObject_CallMethodObjArgs(
            node,
            torch_find()
                ->names[part->before ? NAME_register_prehook : NAME_register_hook],
            bound, NULL);
    }
    ext_swallow();
    Py_XDECREF(bound);
    Py_XDECREF(handle);
    return handle != NULL;
}
