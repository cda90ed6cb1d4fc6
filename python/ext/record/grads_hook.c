/* Hooks on nodes. A hook is a C function bound to numbers. If it held a tensor or a
 * module, then node, hook and tensor would hold each other through C++, where Python's
 * garbage collector cannot see the cycle. A hook never raises and never changes a
 * gradient.
 *
 * A node has at most two of our hooks per recording, one before it runs and one
 * after, shared by all calls: a result of one call is an argument of the next and a
 * result of the enclosing calls. They are found again in the node's metadata dict,
 * which lives and dies with the node. */
#include "ext/record/grads_in.h"

#include <stdlib.h>

#include "ext/torch/torch.h"

static const char name[] = "torchoscope.hook";

/* --- the recorder */

struct recorder *hook_hold(struct grads *grads)
{
    struct recorder *recorder = grads->recorder;

    if (!recorder || !recorder_ready(recorder) || !torch_find())
        return NULL;
    Py_INCREF(recorder->self);
    own_begin();
    return recorder;
}

void hook_let_go(struct recorder *recorder, uint64_t began_ns)
{
    uint64_t own = recorder_clock() - began_ns;

    own_end();
    if (PyErr_Occurred())
        recorder_failed(recorder);
    recorder->own_ns += own;
    if (recorder->trace)
        trace_own(recorder->trace, recorder_thread(recorder), own);
    Py_DECREF(recorder->self);
}

PyObject *hook_bind(PyMethodDef *method, void *user, const char *called,
                    PyCapsule_Destructor release)
{
    PyObject *capsule = PyCapsule_New(user, called, NULL), *bound;

    if (!capsule)
        return NULL;
    bound = PyCFunction_New(method, capsule);
    if (bound)
        PyCapsule_SetDestructor(capsule, release);
    Py_DECREF(capsule);
    return bound;
}

/* --- recording a gradient */

void hook_enter(struct recorder *recorder, const struct passage *passage,
                struct grads_spot *spot, PyObject *gradient)
{
    /* Other threads may run during the measurement and move the originals. */
    const struct passage call = *passage;
    struct grads_spot here = *spot;
    uint32_t value;

    if (!recorder->trace || spot->fired == BACKWARDS_MOST)
        return;
    if (++spot->fired == BACKWARDS_MOST)
        trace_gap(recorder->trace, RUN_GAP_GRADIENT,
                  trace_object(recorder->trace, call.call),
                  "Gradients of a call are entered for its first %d backwards only.",
                  BACKWARDS_MOST);
    value = recorder_value(recorder, gradient, 0);
    recorder_norms(recorder, gradient, value);
    if (recorder->trace && value != RUN_NONE)
        trace_gradient(recorder->trace, call.call, call.serial,
                       (enum run_io_kind)here.kind, here.path, value, here.flags);
}

/* A borrowed reference; NULL: none. */
static PyObject *gradient_in(PyObject *gradients, uint32_t nr)
{
    PyObject *gradient = NULL;

    if (PyTuple_Check(gradients) && (Py_ssize_t)nr < PyTuple_Size(gradients))
        gradient = PyTuple_GetItem(gradients, (Py_ssize_t)nr);
    return gradient && tensor_is(gradient) ? gradient : NULL;
}

/* Looks up the part each time: other threads may add parts while we measure. */
static void take(struct hook *hook, struct grads_side *side, uint32_t i,
                 struct recorder *recorder, const struct backward *backward,
                 PyObject *gradients)
{
    const struct part part = side->parts[i];
    PyObject *gradient = gradient_in(gradients, part.nr), *cut = NULL;

    if (gradient && part.view) {
        Py_XDECREF(part.view->gradient);
        part.view->gradient = Py_NewRef(gradient);
        if (part.waits)
            return;
    }
    if (gradient && part.window)
        gradient = cut = window_cut(part.window, gradient);
    if (part.sum)
        sum_add(hook->grads, recorder, backward, part.sum, gradient);
    else if (gradient)
        hook_enter(recorder, part.passage, &side->parts[i].spot, gradient);
    Py_XDECREF(cut);
}

/* Without node numbers: the gradient of a view is only known once that of its base
 * arrives. A view that was written in place has none, or a different one. */
static void take_base(struct hook *hook, struct grads_side *side, uint32_t i,
                      struct recorder *recorder, PyObject *gradients)
{
    const struct part part = side->parts[i];
    PyObject *own = part.view->gradient, *gradient = gradient_in(gradients, part.nr);
    bool same =
        own && (!part.waits || (gradient && window_is_same(part.view, gradient)));

    part.view->gradient = NULL;
    if (!same) {
        grads_report_written(hook->grads, part.passage->object);
        part.passage->passed_by = true;
    } else if (part.waits) {
        hook_enter(recorder, part.passage, &side->parts[i].spot, own);
    }
    Py_XDECREF(own);
}

/* --- called by torch */

static struct hook *hook_of(PyObject *capsule)
{
    struct hook *hook = PyCapsule_GetPointer(capsule, name);

    ext_swallow();
    return hook;
}

static void drop_part(struct part *part)
{
    sum_drop(part->sum);
    window_drop(part->window);
    window_drop(part->view);
    passage_drop(part->passage);
}

static void free_parts(struct grads_side *side)
{
    for (uint32_t i = 0; i < side->n; i++)
        drop_part(&side->parts[i]);
    free(side->parts);
}

static void clear_parts(struct grads_side *side)
{
    uint32_t left = 0;

    for (uint32_t i = 0; i < side->n; i++)
        if (side->parts[i].walk)
            drop_part(&side->parts[i]);
        else
            side->parts[left++] = side->parts[i];
    side->n = left;
}

void hook_clear(struct hook *hook)
{
    clear_parts(&hook->before);
    clear_parts(&hook->after);
}

/* torch may free a graph because the user's code raised: that exception stays. */
static void free_hook(PyObject *capsule)
{
    PyObject *kind, *value, *trace;
    struct hook *hook;

    PyErr_Fetch(&kind, &value, &trace);
    hook = hook_of(capsule);
    free_parts(&hook->before);
    free_parts(&hook->after);
    marks_free(hook);
    grads_drop_user(hook->grads);
    free(hook);
    PyErr_Restore(kind, value, trace);
}

static PyObject *gradients_come(struct hook *hook, struct grads_side *side,
                                PyObject *gradients)
{
    uint64_t began_ns = recorder_clock(), now_ns;
    struct recorder *recorder = hook_hold(hook->grads);
    struct backward *backward;
    PyObject *quiet;
    uint32_t thread;

    if (!recorder)
        Py_RETURN_NONE;
    thread = recorder_thread(recorder);
    now_ns = began_ns - trace_own_ns(recorder->trace, thread);
    quiet = quiet_begin(torch_find(), false);
    backward = backward_find(hook->grads);
    for (uint32_t i = 0; i < side->n; i++) {
        backward_meets(hook->grads, backward, &side->parts[i], thread, now_ns);
        if (side->parts[i].kind == PART_WRITTEN)
            take_base(hook, side, i, recorder, gradients);
        else if (side->parts[i].kind == PART_UNKNOWN)
            grads_report_handed(hook->grads, side->parts[i].passage->object);
        else if (side->parts[i].kind < PART_LAST)
            take(hook, side, i, recorder, backward, gradients);
    }
    ext_swallow();
    quiet_end(quiet);
    hook_let_go(recorder, began_ns);
    Py_RETURN_NONE;
}

static PyObject *come_before(PyObject *capsule, PyObject *const *args, Py_ssize_t n)
{
    struct hook *hook = hook_of(capsule);

    if (n < 1 || !hook->grads->recorder)
        Py_RETURN_NONE;
    return gradients_come(hook, &hook->before, args[0]);
}

static PyObject *come_after(PyObject *capsule, PyObject *const *args, Py_ssize_t n)
{
    struct hook *hook = hook_of(capsule);

    if (n < 1 || !hook->grads->recorder)
        Py_RETURN_NONE;
    return gradients_come(hook, &hook->after, args[0]);
}

static PyMethodDef on_before = {"torchoscope_before", FAST(come_before), NULL};
static PyMethodDef on_after = {"torchoscope_after", FAST(come_after), NULL};

/* --- adding hooks */

/* The capsule of our hook on a node; a new reference, or NULL. */
static PyObject *find_capsule(struct grads *grads, PyObject *node)
{
    PyObject *known = PyObject_GetAttr(node, torch_find()->names[NAME_metadata]);
    PyObject *capsule = known && PyDict_Check(known)
                            ? Py_XNewRef(PyDict_GetItemWithError(known, grads->key))
                            : NULL;

    ext_swallow();
    Py_XDECREF(known);
    return capsule;
}

struct hook *hook_find(struct grads *grads, PyObject *node)
{
    PyObject *capsule = find_capsule(grads, node);
    struct hook *hook = capsule ? hook_of(capsule) : NULL;

    Py_XDECREF(capsule);
    return hook;
}

bool hook_of_other(struct grads *grads, PyObject *node, uint32_t thread)
{
    const struct hook *hook = hook_find(grads, node);

    return hook && hook->maker != thread;
}

/* Creates an empty hook and stores it on the node. A new reference, or NULL. */
static PyObject *new_capsule(struct grads *grads, PyObject *node, uint32_t maker)
{
    struct hook *hook = calloc(1, sizeof *hook);
    PyObject *capsule = hook ? PyCapsule_New(hook, name, NULL) : NULL;
    PyObject *known;

    if (!capsule) {
        free(hook);
        return NULL;
    }
    *hook = (struct hook){.grads = grads, .maker = maker};
    grads->users++;
    PyCapsule_SetDestructor(capsule, free_hook);
    known = PyObject_GetAttr(node, torch_find()->names[NAME_metadata]);
    if (!known || !PyDict_Check(known) ||
        PyDict_SetItem(known, grads->key, capsule) < 0)
        Py_CLEAR(capsule);
    ext_swallow();
    Py_XDECREF(known);
    return capsule;
}

static PyObject *need_capsule(struct grads *grads, PyObject *node, uint32_t maker)
{
    PyObject *capsule = find_capsule(grads, node);

    return capsule ? capsule : new_capsule(grads, node, maker);
}

struct hook *hook_need(struct grads *grads, PyObject *node, uint32_t maker)
{
    PyObject *capsule = need_capsule(grads, node, maker);
    struct hook *hook = capsule ? hook_of(capsule) : NULL;

    Py_XDECREF(capsule);
    return hook;
}

/* Makes torch call us on this side. */
static bool listen(PyObject *node, PyObject *capsule, bool before)
{
    bool *listens = &hook_of(capsule)->listens[before];
    PyObject *bound, *handle = NULL;

    if (*listens)
        return true;
    bound = PyCFunction_New(before ? &on_before : &on_after, capsule);
    if (bound)
        handle = PyObject_CallMethodObjArgs(
            node,
            torch_find()->names[before ? NAME_register_prehook : NAME_register_hook],
            bound, NULL);
    Py_XDECREF(bound);
    Py_XDECREF(handle);
    *listens = handle;
    return handle;
}

/* Makes room for one more. Most hooks have one or two parts. */
static bool grow(struct grads_side *side)
{
    uint32_t room = side->room ? 2 * side->room : 2;
    struct part *moved;

    if (side->n < side->room)
        return true;
    moved = realloc(side->parts, room * sizeof *moved);
    if (!moved)
        return false;
    side->parts = moved;
    side->room = room;
    return true;
}

bool hook_put(struct grads *grads, PyObject *node, const struct part *part)
{
    PyObject *capsule = need_capsule(grads, node, part->passage->maker);
    struct grads_side *side;
    bool ok = false;

    if (!capsule || !listen(node, capsule, !part->after))
        goto out;
    side = part->after ? &hook_of(capsule)->after : &hook_of(capsule)->before;
    if (!grow(side))
        goto out;
    if (part->sum)
        part->sum->users++;
    if (part->window)
        part->window->users++;
    if (part->view)
        part->view->users++;
    part->passage->users++;
    side->parts[side->n++] = *part;
    ok = true;

out:
    ext_swallow();
    Py_XDECREF(capsule);
    return ok;
}
