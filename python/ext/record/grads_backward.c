/* A running backward. The engine notifies us of its end; until then sums wait for
 * their parts and calls for their last node. */
#include "ext/record/grads_in.h"

#include <stdlib.h>

#include "ext/torch/torch.h"

/* Freed with the function that the engine will call. */
struct backward {
    struct grads *grads;
    int64_t task;    /* torch's number, or the thread's if torch has none */
    uint32_t maker;  /* the thread that created the first nodes reached */
    bool met, mixed; /* a node was reached; several threads created them */
    struct backward *next;
};

static const char name[] = "torchoscope.backward";

/* --- sums */

struct sum *sum_new(struct passage *passage, const struct grads_spot *spot,
                    uint32_t parts)
{
    struct sum *sum = calloc(1, sizeof *sum);

    if (!sum)
        return NULL;
    sum->users = 1;
    sum->parts = parts;
    sum->spot = *spot;
    sum->passage = passage;
    passage->users++;
    return sum;
}

void sum_drop(struct sum *sum)
{
    if (!sum || --sum->users)
        return;
    Py_XDECREF(sum->total);
    passage_drop(sum->passage);
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

/* All parts have arrived: records the total. */
static void sum_done(struct grads *grads, struct recorder *recorder, struct sum *sum)
{
    PyObject *total = sum->total;
    bool is_partial = sum->arrived < sum->parts;

    sum->total = NULL;
    sum->arrived = 0;
    unlink_sum(grads, sum);
    if (total && recorder && !(is_partial && sum->passage->passed_by))
        hook_enter(recorder, sum->passage, &sum->spot, total);
    Py_XDECREF(total);
    sum_drop(sum);
}

static PyObject *without_graph(PyObject *gradient)
{
    if (!torch_flag(gradient, NAME_requires_grad))
        return Py_NewRef(gradient);
    return PyObject_CallMethodObjArgs(gradient, torch_find()->names[NAME_detach], NULL);
}

static bool is_plain(PyObject *tensor)
{
    return Py_TYPE(tensor) == torch_find()->tensor;
}

/* a + b, which the modes of the user do not see. */
static PyObject *add_unseen(PyObject *a, PyObject *b)
{
    const struct torch *torch = torch_find();
    bool plain = is_plain(a) && is_plain(b) && torch->no_dispatch;
    PyObject *off = plain ? PyObject_CallNoArgs(torch->no_dispatch) : NULL;
    PyObject *entered = off ? PyObject_CallMethod(off, "__enter__", NULL) : NULL;
    PyObject *total, *left;

    ext_swallow();
    total = PyObject_CallMethodObjArgs(a, torch->names[NAME_add], b, NULL);
    if (entered) {
        left = PyObject_CallMethod(off, "__exit__", "OOO", Py_None, Py_None, Py_None);
        Py_XDECREF(left);
    }
    Py_XDECREF(entered);
    Py_XDECREF(off);
    return total;
}

void sum_begin(struct sum *sum, PyObject *gradient)
{
    sum->total = without_graph(gradient);
    ext_swallow();
    sum->arrived = 1;
}

void sum_add(struct grads *grads, struct recorder *recorder,
             const struct backward *backward, struct sum *sum, PyObject *gradient)
{
    PyObject *part = gradient ? without_graph(gradient) : NULL, *total;

    if (!sum->waits) {
        sum->waits = true;
        sum->users++;
        sum->task = backward ? backward->task : 0;
        sum->next = grads->waiting;
        grads->waiting = sum;
    }
    if (part && sum->total) {
        total = add_unseen(sum->total, part);
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

/* Completes the sums of a backward at its end: parts that did not arrive are zero. */
static void end_sums(struct grads *grads, struct recorder *recorder, int64_t task)
{
    struct sum *sum = grads->waiting;

    while (sum) {
        struct sum *next = sum->next;

        if (sum->task == task) {
            sum_done(grads, recorder, sum);
            next = grads->waiting; /* other threads may have run */
        }
        sum = next;
    }
}

/* --- times */

struct passage *passage_new(uint32_t maker, struct passage *parent)
{
    struct passage *passage = calloc(1, sizeof *passage);

    if (!passage)
        return NULL;
    passage->users = 1;
    passage->maker = maker;
    passage->parent = parent;
    if (parent)
        parent->users++;
    return passage;
}

void passage_drop(struct passage *passage)
{
    while (passage && --passage->users == 0) {
        struct passage *parent = passage->parent;

        free(passage);
        passage = parent;
    }
}

static void tell(struct grads *grads, const struct passage *passage, uint64_t ns,
                 uint16_t flags)
{
    if (grads->recorder && grads->recorder->trace)
        trace_backward(grads->recorder->trace, passage->call, passage->serial, ns,
                       flags);
}

/* The backward has left the call. *at: its link in the list of open passages. */
static void close_passage(struct grads *grads, struct passage **at, bool gap)
{
    struct passage *passage = *at;

    if (gap)
        tell(grads, passage, 0, RUN_BACKWARD_GAP);
    else
        tell(grads, passage, passage->latest_ns - passage->began_ns, 0);
    *at = passage->next;
    passage->open = passage->left = false;
    passage_drop(passage);
}

static void open_passage(struct grads *grads, struct backward *backward,
                         struct passage *passage, uint32_t thread, uint64_t now_ns)
{
    if (backward->met && backward->maker != passage->maker)
        backward->mixed = true;
    backward->met = true;
    backward->maker = passage->maker;
    if (passage->mixed) {
        tell(grads, passage, 0, RUN_BACKWARD_GAP);
        return;
    }
    passage->open = true;
    passage->task = backward->task;
    passage->thread = thread;
    passage->began_ns = passage->latest_ns = now_ns;
    passage->users++;
    passage->next = grads->open;
    grads->open = passage;
}

void backward_meets(struct grads *grads, struct backward *backward,
                    const struct part *part, uint32_t thread, uint64_t now_ns)
{
    struct passage *passage = part->passage, **at = &grads->open;

    if (!passage->timed || !backward || part->kind > PART_LAST)
        return;
    if (!passage->open && part->kind == PART_RESULT)
        open_passage(grads, backward, passage, thread, now_ns);
    if (!passage->open || part->kind < PART_ARGUMENT || passage->task != backward->task)
        return;
    passage->left = true;
    passage->latest_ns = now_ns;
    if (part->kind != PART_LAST)
        return;
    while (*at != passage)
        at = &(*at)->next;
    close_passage(grads, at, backward->mixed || passage->thread != thread);
}

/* If the last node of a call was not reached, its end is when gradients left it. */
static void end_passages(struct grads *grads, const struct backward *backward)
{
    struct passage **at = &grads->open;

    while (*at)
        if ((*at)->task == backward->task)
            close_passage(grads, at, backward->mixed || !(*at)->left);
        else
            at = &(*at)->next;
}

/* --- the end */

void backwards_forget(struct grads *grads)
{
    while (grads->waiting)
        sum_done(grads, NULL, grads->waiting);
    while (grads->open)
        close_passage(grads, &grads->open, true);
}

static struct backward *backward_of(PyObject *capsule)
{
    struct backward *backward = PyCapsule_GetPointer(capsule, name);

    ext_swallow();
    return backward;
}

/* Also runs if the backward raised: the engine then drops its queue, which held the
 * function. */
static void free_backward(PyObject *capsule)
{
    PyObject *kind, *value, *trace;
    struct backward *backward, **at;
    struct grads *grads;

    PyErr_Fetch(&kind, &value, &trace); /* the user's */
    backward = backward_of(capsule);
    grads = backward->grads;
    at = &grads->backwards;
    while (*at != backward)
        at = &(*at)->next;
    *at = backward->next;
    end_sums(grads, NULL, backward->task);
    end_passages(grads, backward);
    grads_drop_user(grads);
    free(backward);
    PyErr_Restore(kind, value, trace);
}

static PyObject *backward_ends(PyObject *capsule, PyObject *unused)
{
    struct backward *backward = backward_of(capsule);
    uint64_t began_ns = recorder_clock();
    struct recorder *recorder = hook_hold(backward->grads);

    (void)unused;
    if (recorder) {
        end_sums(backward->grads, recorder, backward->task);
        end_passages(backward->grads, backward);
        hook_let_go(recorder, began_ns);
    }
    Py_RETURN_NONE;
}

static PyMethodDef at_end = {"torchoscope_end", backward_ends, METH_NOARGS, NULL};

/* --- the beginning */

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

/* The running backward; if torch does not number it, each thread has its own number. */
static int64_t current_task(void)
{
    PyObject *task = torch_find()->graph_task;
    PyObject *answer = task ? PyObject_CallNoArgs(task) : NULL;
    int64_t number =
        answer ? PyLong_AsLongLong(answer) : (int64_t)PyThread_get_thread_ident();

    ext_swallow();
    Py_XDECREF(answer);
    return number;
}

/* Makes the engine notify us when the running backward ends. */
static struct backward *follow(struct grads *grads, int64_t task)
{
    struct backward *backward = calloc(1, sizeof *backward);
    PyObject *engine = find_engine(), *answer = NULL;
    PyObject *bound =
        backward ? hook_bind(&at_end, backward, name, free_backward) : NULL;

    if (bound) {
        /* From here on the function owns it. */
        *backward =
            (struct backward){.grads = grads, .task = task, .next = grads->backwards};
        grads->backwards = backward;
        grads->users++;
        if (engine)
            answer = PyObject_CallMethodObjArgs(
                engine, torch_find()->names[NAME_queue_callback], bound, NULL);
    } else {
        free(backward);
    }
    ext_swallow();
    Py_XDECREF(engine);
    Py_XDECREF(bound);
    Py_XDECREF(answer);
    return answer ? grads->backwards : NULL;
}

static struct backward *find_task(struct grads *grads, int64_t task)
{
    struct backward *backward = grads->backwards;

    while (backward && backward->task != task)
        backward = backward->next;
    return backward;
}

struct backward *backward_find(struct grads *grads)
{
    int64_t task = current_task();
    struct backward *backward = find_task(grads, task);

    return backward ? backward : follow(grads, task);
}

int grads_in_backward(struct grads *grads)
{
    return find_task(grads, current_task()) != NULL;
}
