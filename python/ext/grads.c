/* Around a call: which edges its arguments have before forward, and after it hooks on
 * the nodes between them and the results.
 *
 * The gradient of a result is what a hook sees before the node that made it runs. The
 * gradient of an argument via this call alone is what the nodes inside the call send
 * along the argument's edge: they are found by walking from the results, and their
 * parts are summed. Special cases:
 * - A leaf has an edge as well, to the node that accumulates its gradient.
 * - A result with the edge of an argument was passed on: what reaches it is a part.
 * That is all that reaches the tensor, for the graph knows no difference.
 * - Arguments with the same edge (q = k = v) share one gradient: RUN_IO_SUMMED.
 * - An argument that is a view and was written in place: its old edge is dead, the
 *   gradient flows through its base. Then the edges of the base count, and of its
 *   gradient the window that the view shows.
 * - Where keywords are not shown before forward their edges are those after it. One
 * that is a result as well may have been overwritten, and is left out.
 * - What a module kept of earlier calls is not walked: nodes have numbers (torch 2).
 * - A recomputation in a backward makes nodes that gradients do not pass, if the first
 *   call had nodes: then these have the hooks. */
#include "ext/grads_in.h"

#include <stdlib.h>
#include <string.h>

#include "ext/torch.h"
#include "ext/walk.h"

#define THREADS 4096

enum object_flag {
    HAD_NODES = 1, /* its newest call that was no recomputation made nodes */
    TOO_LARGE = 2, /* the walk met too many nodes, a gap says so */
};

/* --- made and freed */

struct grads *grads_new(struct recorder *recorder)
{
    struct grads *grads = calloc(1, sizeof *grads);

    if (!grads)
        return NULL;
    grads->users = 1;
    grads->recorder = recorder;
    grads->objects = calloc(recorder->model->n_objects + 1, 1);
    grads->key = PyUnicode_FromFormat("torchoscope %p", (void *)grads);
    if (grads->objects && grads->key)
        return grads;
    Py_XDECREF(grads->key);
    free(grads->objects);
    free(grads);
    return NULL;
}

static void cut_arguments(struct thread *thread, uint32_t to)
{
    while (thread->n > to) {
        struct argument *argument = &thread->arguments[--thread->n];

        edge_drop(&argument->edge);
        edge_drop(&argument->base);
        window_drop(argument->window);
        sum_drop(argument->sum);
    }
}

/* What is needed only until hooks are put on. */
static void clear_scratch(struct thread *thread)
{
    while (thread->n_results > 0) {
        struct result *result = &thread->results[--thread->n_results];

        edge_drop(&result->edge);
        window_drop(result->window);
    }
    while (thread->n_ways > 0)
        Py_DECREF(thread->ways[--thread->n_ways].node);
    while (thread->n_nodes > 0)
        Py_DECREF(thread->nodes[--thread->n_nodes]);
}

static void release_threads(struct grads *grads)
{
    for (uint32_t i = 0; i < grads->n_threads; i++) {
        struct thread *thread = grads->threads[i];

        if (!thread)
            continue;
        cut_arguments(thread, 0);
        clear_scratch(thread);
        free(thread->arguments);
        free(thread->calls);
        free(thread->results);
        free(thread->ways);
        free(thread->nodes);
        free(thread->table);
        free(thread);
    }
    free(grads->threads);
    grads->threads = NULL;
    grads->n_threads = 0;
}

void grads_drop_user(struct grads *grads)
{
    if (--grads->users)
        return;
    backwards_forget(grads);
    release_threads(grads);
    Py_DECREF(grads->key);
    free(grads->objects);
    free(grads);
}

void grads_free(struct grads *grads)
{
    if (!grads)
        return;
    grads->recorder = NULL;
    backwards_forget(grads);
    if (!grads->inside)
        release_threads(grads);
    grads_drop_user(grads);
}

static struct thread *thread_of(struct grads *grads, uint32_t number)
{
    struct thread **moved, *thread;

    if (number >= THREADS || !grads->recorder)
        return NULL;
    if (number >= grads->n_threads) {
        moved = realloc(grads->threads, (number + 1) * sizeof *moved);
        if (!moved)
            return NULL;
        memset(moved + grads->n_threads, 0,
               (number + 1 - grads->n_threads) * sizeof *moved);
        grads->threads = moved;
        grads->n_threads = number + 1;
    }
    if (grads->threads[number])
        return grads->threads[number];
    thread = calloc(1, sizeof *thread);
    if (!thread)
        return NULL;
    thread->nodes = calloc(NODES_MOST, sizeof *thread->nodes);
    thread->table = calloc(NODES_TABLE, sizeof *thread->table);
    if (thread->nodes && thread->table)
        return grads->threads[number] = thread;
    free(thread->nodes);
    free(thread->table);
    free(thread);
    return NULL;
}

/* Nothing is freed under whoever is inside, though the recording may end. */
static void go_in(struct grads *grads)
{
    grads->users++;
    grads->inside++;
}

static void go_out(struct grads *grads)
{
    if (--grads->inside == 0 && !grads->recorder)
        release_threads(grads);
    grads_drop_user(grads);
}

/* --- before forward */

static int add_argument(void *user, PyObject *tensor, const char *path, size_t len)
{
    struct meeting *meeting = user;
    struct thread *thread = meeting->thread;
    struct argument argument = {.tensor = tensor};

    argument.edge = edge_of(tensor);
    if (!argument.edge.node)
        return 0;
    for (uint32_t i = meeting->outline.first; i < thread->n; i++)
        if (edge_same(&thread->arguments[i].edge, &argument.edge)) {
            thread->arguments[i].flags |= RUN_IO_SUMMED;
            edge_drop(&argument.edge);
            return 0;
        }
    for (uint32_t i = 0; meeting->late && i < thread->n_results; i++)
        argument.dead |= edge_same(&thread->results[i].edge, &argument.edge);
    if (!meeting->late)
        argument.base = edge_of_base(tensor);
    if (!meeting->grads->recorder || argument.dead ||
        !recorder_grow(&thread->arguments, thread->n, &thread->room,
                       sizeof *thread->arguments)) {
        edge_drop(&argument.edge);
        edge_drop(&argument.base);
        return meeting->grads->recorder ? 0 : -1;
    }
    argument.path = trace_string(meeting->grads->recorder->trace, path, len);
    thread->arguments[thread->n++] = argument;
    return 0;
}

/* Of the next node that this thread makes; 0: not known. */
static uint64_t next_number(void)
{
    PyObject *ask = torch_find()->sequence_nr;
    PyObject *answer = ask ? PyObject_CallNoArgs(ask) : NULL;
    uint64_t number = answer ? PyLong_AsUnsignedLongLong(answer) : 0;

    if (ext_swallow())
        number = 0;
    Py_XDECREF(answer);
    return number;
}

void grads_before(struct grads *grads, uint32_t number, PyObject *args,
                  PyObject *kwargs, PyObject *names, bool flows)
{
    struct thread *thread = thread_of(grads, number);
    struct meeting meeting = {.grads = grads, .thread = thread};
    struct outline *outline;

    if (!thread || !recorder_grow(&thread->calls, thread->n_calls, &thread->calls_room,
                                  sizeof *thread->calls))
        return;
    go_in(grads);
    meeting.outline.first = thread->n;
    if (flows)
        walk_arguments(args, kwargs, names, add_argument, &meeting, NULL);
    outline = &thread->calls[thread->n_calls++];
    *outline = (struct outline){.first = meeting.outline.first,
                                .number = next_number(),
                                .others = grads->ended - thread->ended,
                                .keywords = kwargs != NULL};
    go_out(grads);
}

void grads_drop(struct grads *grads, uint32_t number)
{
    struct thread *thread = thread_of(grads, number);

    if (!thread || thread->n_calls == 0)
        return;
    go_in(grads);
    cut_arguments(thread, thread->calls[--thread->n_calls].first);
    go_out(grads);
}

/* --- after it */

static struct argument *argument_of(const struct meeting *meeting, const void *tensor)
{
    for (uint32_t i = meeting->outline.first; i < meeting->thread->n; i++)
        if (meeting->thread->arguments[i].tensor == tensor)
            return &meeting->thread->arguments[i];
    return NULL;
}

/* A view that was written in place: from now on its base stands for it. */
static int check_view(void *user, PyObject *tensor, const char *path, size_t len)
{
    struct argument *argument = argument_of(user, tensor);
    struct edge base;
    struct edge dead;

    (void)path;
    (void)len;
    if (!argument || !argument->base.node || argument->window)
        return 0;
    base = edge_of_base(tensor);
    if (base.node && !edge_same(&base, &argument->base)) {
        argument->window = window_of(tensor);
        argument->dead = !argument->window;
        dead = argument->edge;
        argument->edge = argument->base;
        argument->base = dead;
    }
    edge_drop(&base);
    return 0;
}

static int add_result(void *user, PyObject *tensor, const char *path, size_t len)
{
    struct meeting *meeting = user;
    struct thread *thread = meeting->thread;
    const struct argument *argument = argument_of(meeting, tensor);
    struct recorder *recorder = meeting->grads->recorder;
    struct result result = {.edge = {NULL, 0}};

    /* The node of a parameter lives longer than the call. */
    if (!recorder || live_tensor_number(recorder->live, tensor) != NO_OBJECT)
        return 0;
    result.edge = edge_of(tensor);
    if (result.edge.node && argument && argument->window) {
        edge_drop(&result.edge);
        result.edge = edge_of_base(tensor);
        if (result.edge.node)
            result.window = argument->window;
    }
    if (!result.edge.node)
        return 0;
    for (uint32_t i = 0; i < thread->n_results; i++)
        if (edge_same(&thread->results[i].edge, &result.edge)) {
            thread->results[i].flags |= RUN_IO_SUMMED;
            edge_drop(&result.edge);
            return 0;
        }
    if (!meeting->grads->recorder ||
        !recorder_grow(&thread->results, thread->n_results, &thread->results_room,
                       sizeof *thread->results)) {
        edge_drop(&result.edge);
        return -1;
    }
    if (result.window)
        result.window->users++;
    result.path = trace_string(meeting->grads->recorder->trace, path, len);
    thread->results[thread->n_results++] = result;
    return 0;
}

/* --- hooks put on */

static void put(struct meeting *meeting, PyObject *node, const struct part *part)
{
    if (!hook_put(meeting->grads, node, part) && meeting->grads->recorder)
        recorder_failed(meeting->grads->recorder);
}

/* Did the call make this node of a result? Such nodes are the first of those walked. */
static bool is_inside(const struct thread *thread, const PyObject *node)
{
    for (uint32_t i = 0; i < thread->n_nodes && i < thread->n_results; i++)
        if (thread->nodes[i] == node)
            return true;
    return false;
}

static void hook_results(struct meeting *meeting, struct passage *passage)
{
    struct thread *thread = meeting->thread;

    for (uint32_t i = 0; i < thread->n_results; i++) {
        const struct result *result = &thread->results[i];
        struct part part = {.passage = passage,
                            .spot = {result->path, RUN_GRAD_OUT, result->flags, 0},
                            .window = result->window,
                            .nr = result->edge.nr,
                            .kind = is_inside(thread, result->edge.node) ? PART_RESULT
                                                                         : PART_PASSED};

        put(meeting, result->edge.node, &part);
    }
}

static void hook_ways(struct meeting *meeting, struct passage *passage)
{
    struct thread *thread = meeting->thread;

    for (uint32_t i = 0; i < thread->n_ways; i++) {
        const struct way *way = &thread->ways[i];
        struct argument *argument = &thread->arguments[way->argument];
        struct part part = {.passage = passage,
                            .spot = {argument->path, RUN_GRAD_IN, argument->flags, 0},
                            .window = argument->window,
                            .nr = way->nr,
                            .kind = way->before ? PART_PASSED : PART_ARGUMENT};

        if (argument->parts > 1 && !argument->sum)
            argument->sum = sum_new(passage, &part.spot, argument->parts);
        part.sum = argument->sum;
        if (argument->parts == 1 || part.sum)
            put(meeting, way->node, &part);
    }
}

static void tell_too_large(struct grads *grads, uint32_t object)
{
    grads->objects[object] |= TOO_LARGE;
    if (grads->recorder)
        trace_gap(grads->recorder->trace, RUN_GAP_GRADIENT, object,
                  "Gradients of its arguments are not recorded: more than %d steps lie "
                  "between them and its results.",
                  NODES_MOST);
}

/* Hooks for a call of which all edges are known. */
static void hook_call(struct meeting *meeting, uint32_t call, uint32_t object)
{
    struct grads *grads = meeting->grads;
    struct trace *trace = grads->recorder->trace;
    struct passage *passage =
        passage_new(call, trace_serial(trace, call), meeting->number);
    bool walked;

    if (!passage) {
        recorder_failed(grads->recorder);
        return;
    }
    walked = !(grads->objects[object] & TOO_LARGE) && find_ways(meeting);
    passage->mixed = meeting->mixed;
    passage->timed = walked && (meeting->last || meeting->mixed);
    hook_results(meeting, passage);
    if (walked)
        hook_ways(meeting, passage);
    else
        trace_backward(trace, call, passage->serial, 0, RUN_BACKWARD_GAP);
    if (walked && meeting->last)
        put(meeting, meeting->last,
            &(struct part){.passage = passage, .kind = PART_LAST});
    if (!walked && !(grads->objects[object] & TOO_LARGE))
        tell_too_large(grads, object);
    passage_drop(passage);
}

/* Find the edges of a call that ended, and put hooks there. */
static void see_call(struct meeting *meeting, uint32_t call, PyObject *args,
                     PyObject *kwargs, PyObject *result)
{
    struct grads *grads = meeting->grads;
    uint32_t object = trace_object(grads->recorder->trace, call);
    bool recomputed = recorder_in_backward(grads->recorder);

    if (object >= grads->recorder->model->n_objects ||
        (recomputed && grads->objects[object] & HAD_NODES))
        return;
    walk_arguments(args, kwargs, NULL, check_view, meeting, NULL);
    walk_result(result, add_result, meeting, NULL);
    if (!recomputed)
        grads->objects[object] &= (uint8_t)~HAD_NODES;
    if (meeting->thread->n_results == 0)
        return;
    if (!recomputed)
        grads->objects[object] |= HAD_NODES;
    meeting->late = true;
    if (kwargs && !meeting->outline.keywords)
        walk_arguments(NULL, kwargs, NULL, add_argument, meeting, NULL);
    if (grads->recorder && grads->recorder->trace)
        hook_call(meeting, call, object);
}

static void end_call(struct grads *grads, struct thread *thread,
                     const struct outline *outline)
{
    thread->ended++;
    grads->ended++;
    clear_scratch(thread);
    cut_arguments(thread, outline->first);
}

void grads_none(struct grads *grads, uint32_t number, uint32_t call)
{
    struct thread *thread = thread_of(grads, number);
    uint32_t object;

    if (!thread || thread->n_calls == 0)
        return;
    go_in(grads);
    object = trace_object(grads->recorder->trace, call);
    if (object < grads->recorder->model->n_objects &&
        grads->objects[object] & HAD_NODES && !recorder_in_backward(grads->recorder))
        grads->objects[object] &= (uint8_t)~HAD_NODES;
    end_call(grads, thread, &thread->calls[--thread->n_calls]);
    go_out(grads);
}

void grads_after(struct grads *grads, uint32_t number, uint32_t call, PyObject *args,
                 PyObject *kwargs, PyObject *result)
{
    struct thread *thread = thread_of(grads, number);
    struct meeting meeting = {.grads = grads, .thread = thread, .number = number};

    if (!thread || thread->n_calls == 0)
        return;
    go_in(grads);
    meeting.outline = thread->calls[--thread->n_calls];
    see_call(&meeting, call, args, kwargs, result);
    end_call(grads, thread, &meeting.outline);
    go_out(grads);
}
