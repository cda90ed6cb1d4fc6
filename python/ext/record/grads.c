/* Finds the edges of a call's arguments before forward and of its results after it, and
 * marks them. grads_search.c finds the gradients when a backward begins. Special cases:
 * - A leaf has an edge too, to the node that accumulates its gradient.
 * - A result that the call did not create (Identity, Dropout in eval mode, an argument
 *   returned unchanged) keeps the edge of the original tensor. The graph does not show
 *   whether a node uses the result or the original, which the caller may still have.
 *   torchoscope.handed checks whether the caller can use the original; if so, a gap is
 *   recorded.
 * - Arguments with the same edge (q = k = v) share one gradient: RUN_IO_SUMMED.
 * - If an argument is a view that was written in place, its old edge is dead and the
 *   gradient flows through its base. The edges of the base then count, and the gradient
 *   is cut to the window that the view shows.
 * - A recomputation in a backward creates nodes that no gradient passes if the first
 *   call had nodes. Then only the nodes of the first call are marked.
 *
 * An old torch does not number its nodes, and the numbers of different threads cannot
 * be compared. In these cases the nodes of a call are found when it ends, by walking
 * from its results, and hooked at once:
 * - The gradient of a result is what a hook sees before the node that created it runs,
 *   if the call does not use that result itself; else a gap is recorded.
 * - If torch does not pass keyword arguments before forward, their edges are taken
 *   after it. An argument that is also a result may have been overwritten and is
 *   skipped. */
#include "ext/record/grads_in.h"

#include <stdlib.h>
#include <string.h>

#include "ext/torch/torch.h"
#include "ext/torch/walk.h"

#define THREADS 4096

/* --- creation and destruction */

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

static void drop_result(struct result *result)
{
    edge_drop(&result->edge);
    while (result->view.n_steps > 0)
        Py_DECREF(result->view.steps[--result->view.n_steps]);
    edge_drop(&result->view.base);
    window_drop(result->view.window);
    window_drop(result->window);
}

/* Frees what is needed only until hooks are put on. */
static void clear_scratch(struct thread *thread)
{
    while (thread->n_results > 0) {
        struct result *result = &thread->results[--thread->n_results];

        drop_result(result);
    }
    while (thread->n_ways > 0)
        Py_DECREF(thread->ways[--thread->n_ways].node);
    while (thread->n_nodes > 0)
        Py_DECREF(thread->nodes[--thread->n_nodes]);
}

static void drop_leaves(struct thread *thread)
{
    while (thread->n_leaves > 0)
        Py_DECREF(thread->leaves[--thread->n_leaves]);
}

static void release_threads(struct grads *grads)
{
    for (uint32_t i = 0; i < grads->n_threads; i++) {
        struct thread *thread = grads->threads[i];

        if (!thread)
            continue;
        cut_arguments(thread, 0);
        clear_scratch(thread);
        while (thread->n_calls > 0)
            passage_drop(thread->calls[--thread->n_calls].passage);
        drop_leaves(thread);
        free(thread->leaves);
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

void grads_end(struct grads *grads)
{
    if (grads->waiting_calls && grads->recorder && grads->recorder->trace)
        trace_gap(grads->recorder->trace, RUN_GAP_GRADIENT, grads->waiting_object,
                  "No backward reached its results before the recording ended: a later "
                  "one is not recorded.");
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

/* The recording may end while a function of this file runs; `inside` delays the
 * freeing. */
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

struct grads_visit *grads_enter(struct grads *grads, uint32_t number)
{
    struct thread *thread = thread_of(grads, number);

    if (!thread)
        return NULL;
    go_in(grads);
    thread->visit = (struct grads_visit){
        .grads = grads, .thread = thread, .number = number, .outline.first = thread->n};
    return &thread->visit;
}

void grads_argument(struct grads_visit *visit, PyObject *tensor, uint32_t path)
{
    struct thread *thread = visit->thread;
    struct argument argument = {
        .tensor = tensor, .path = path, .edge = edge_of(tensor)};

    if (!argument.edge.node)
        return;
    for (uint32_t i = visit->outline.first; i < thread->n; i++)
        if (edge_same(&thread->arguments[i].edge, &argument.edge)) {
            thread->arguments[i].flags |= RUN_IO_SUMMED;
            edge_drop(&argument.edge);
            return;
        }
    for (uint32_t i = 0; visit->late && i < thread->n_results; i++)
        argument.dead |= edge_same(&thread->results[i].edge, &argument.edge);
    if (!visit->late)
        argument.base = edge_of_base(tensor);
    if (!visit->grads->recorder || argument.dead ||
        !buf_grow_array(&thread->arguments, thread->n, &thread->room,
                        sizeof *thread->arguments)) {
        edge_drop(&argument.edge);
        edge_drop(&argument.base);
        return;
    }
    thread->arguments[thread->n++] = argument;
}

/* Creates the passage of a call; NULL if out of memory, or if the recording ended
 * meanwhile. */
static struct passage *new_passage(struct grads_visit *visit, uint32_t call)
{
    struct thread *thread = visit->thread;
    const struct recorder *recorder = visit->grads->recorder;
    uint32_t object = recorder ? trace_object(recorder->trace, call) : NO_OBJECT;
    struct passage *passage;

    if (object == NO_OBJECT ||
        !buf_grow_array(&thread->calls, thread->n_calls, &thread->calls_room,
                        sizeof *thread->calls))
        return NULL;
    passage = passage_new(visit->number,
                          thread->n_calls ? thread->calls[thread->n_calls - 1].passage
                                          : NULL);
    if (!passage)
        return NULL;
    passage->call = call;
    passage->serial = trace_serial(recorder->trace, call);
    passage->object = object;
    return passage;
}

void grads_called(struct grads_visit *visit, uint32_t call, bool keywords)
{
    struct thread *thread = visit->thread;
    struct passage *passage = new_passage(visit, call);

    if (!passage) {
        cut_arguments(thread, visit->outline.first);
    } else {
        passage->begin = number_next();
        thread->calls[thread->n_calls++] =
            (struct grads_outline){.first = visit->outline.first,
                                   .number = passage->begin,
                                   .passage = passage,
                                   .others = visit->grads->ended - thread->ended,
                                   .keywords = keywords};
    }
    go_out(visit->grads);
}

/* Whether it is the newest running call on the thread. */
static bool is_newest(const struct thread *thread, uint32_t call)
{
    return thread && thread->n_calls &&
           thread->calls[thread->n_calls - 1].passage->call == call;
}

void grads_drop(struct grads *grads, uint32_t number, uint32_t call)
{
    struct thread *thread = thread_of(grads, number);

    if (!is_newest(thread, call))
        return;
    go_in(grads);
    cut_arguments(thread, thread->calls[--thread->n_calls].first);
    passage_drop(thread->calls[thread->n_calls].passage);
    go_out(grads);
}

/* --- after forward */

struct grads_visit *grads_return(struct grads *grads, uint32_t number, uint32_t call)
{
    struct thread *thread = thread_of(grads, number);

    if (!is_newest(thread, call))
        return NULL;
    go_in(grads);
    thread->visit = (struct grads_visit){.grads = grads,
                                         .thread = thread,
                                         .number = number,
                                         .outline = thread->calls[--thread->n_calls]};
    return &thread->visit;
}

static struct argument *argument_of(const struct grads_visit *visit, const void *tensor)
{
    for (uint32_t i = visit->outline.first; i < visit->thread->n; i++)
        if (visit->thread->arguments[i].tensor == tensor)
            return &visit->thread->arguments[i];
    return NULL;
}

/* If a view was written in place, replaces its edge by that of its base. */
void grads_recheck(struct grads_visit *visit, PyObject *tensor)
{
    struct argument *argument = argument_of(visit, tensor);
    struct edge base, dead;

    if (!argument || !argument->base.node || argument->window)
        return;
    base = edge_of_base(tensor);
    if (base.node && !edge_same(&base, &argument->base)) {
        argument->window = window_of(tensor);
        argument->dead = !argument->window;
        dead = argument->edge;
        argument->edge = argument->base;
        argument->base = dead;
    }
    edge_drop(&base);
}

/* Sets `handed` of the arguments with this edge; false: there are none. */
static bool set_handed(const struct grads_visit *visit, const struct edge *edge,
                       enum handed handed)
{
    bool found = false;

    for (uint32_t i = visit->outline.first; i < visit->thread->n; i++)
        if (edge_same(&visit->thread->arguments[i].edge, edge)) {
            visit->thread->arguments[i].handed = (uint8_t)handed;
            found = true;
        }
    return found;
}

/* Whether the call returned an existing tensor instead of creating one. */
static bool is_handed(const struct grads_visit *visit, const struct edge *edge)
{
    return set_handed(visit, edge, HANDED_UNKNOWN) ||
           (visit->outline.number && number_of(edge->node) < visit->outline.number);
}

static void keep_result(struct grads_visit *visit, struct result *result)
{
    struct thread *thread = visit->thread;

    for (uint32_t i = 0; i < thread->n_results; i++)
        if (edge_same(&thread->results[i].edge, &result->edge)) {
            thread->results[i].flags |= RUN_IO_SUMMED;
            drop_result(result);
            return;
        }
    if (visit->grads->recorder &&
        buf_grow_array(&thread->results, thread->n_results, &thread->results_room,
                       sizeof *thread->results))
        thread->results[thread->n_results++] = *result;
    else
        drop_result(result);
}

/* Whether anyone except the caller holds a reference to a result. A bare result is
 * always held by torch and by us, so the lowest count seen so far means that nobody
 * else holds it. */
static bool is_kept(struct grads *grads, PyObject *tensor, struct str path)
{
    Py_ssize_t n = Py_REFCNT(tensor);

    /* If C++ holds it too, that counts as one reference. */
    n -= torch_call_int(tensor, NAME__use_count, 1) > 1;
    if (path.len > 0)
        return path.at[0] == '[' && path.at[path.len - 1] == ']' && n > 1;
    if (grads->references == 0 || n < grads->references)
        grads->references = n;
    return n > grads->references;
}

/* Whether node numbers identify the nodes of the call. */
static bool is_numbered(const struct grads_visit *visit)
{
    return visit->outline.number && visit->grads->ended == visit->thread->ended;
}

/* Notes the base of a view: if the view is written in place after the call, its edge
 * is dead and its gradient flows through the base. */
static void see_view(struct grads_visit *visit, struct result *result)
{
    const struct thread *thread = visit->thread;
    struct grads_view *view = &result->view;

    view->base = edge_of_base(result->tensor);
    if (!view->base.node)
        return;
    view->window = window_of(result->tensor);
    view->shared = !view->window || base_is_kept(result->tensor) ||
                   number_of(view->base.node) < visit->outline.number;
    if (!view->window)
        view->window = window_blank();
    if (!view->window)
        edge_drop(&view->base);
    if (is_numbered(visit))
        result->own = number_of(result->edge.node);
    else
        view_find_steps(view, result->edge.node);
    for (uint32_t i = 0; i < thread->n_results; i++)
        if (edge_same(&thread->results[i].view.base, &view->base) ||
            edge_same(&thread->results[i].edge, &view->base))
            thread->results[i].view.shared = view->shared = true;
}

/* Whether the user registered hooks on the module. They run after ours and may keep
 * their arguments. */
static bool has_hooks(struct grads *grads, uint32_t object)
{
    PyObject *module = live_module(grads->recorder->live, object);
    PyObject *hooks = NULL;
    bool some;

    if (module)
        hooks = PyObject_GetAttr(module, torch_find()->names[NAME__forward_hooks]);
    some = hooks && PyDict_Check(hooks) && PyDict_Size(hooks) > 0;
    ext_swallow();
    Py_XDECREF(hooks);
    Py_XDECREF(module);
    return some;
}

/* Runs only when a result requires a gradient, not for each call: both checks run
 * Python. */
static void ask_about_results(struct grads_visit *visit)
{
    struct grads *grads = visit->grads;
    uint32_t object = visit->outline.passage->object;

    if (visit->asked)
        return;
    visit->asked = true;
    visit->skip =
        grads->objects[object] & HAD_NODES && recorder_in_backward(grads->recorder);
    visit->hooked = !visit->skip && has_hooks(grads, object);
}

void grads_result(struct grads_visit *visit, PyObject *tensor, struct str path,
                  uint32_t path_id)
{
    const struct argument *argument = argument_of(visit, tensor);
    struct result result = {.tensor = tensor, .path = path_id};

    if (visit->grads->recorder)
        ask_about_results(visit);
    if (!visit->grads->recorder || visit->skip)
        return;
    result.edge = edge_of(tensor);
    if (result.edge.node && argument && argument->window) {
        result.own = number_of(result.edge.node);
        edge_drop(&result.edge);
        result.edge = edge_of_base(tensor);
        if (result.edge.node) {
            result.window = argument->window;
            result.window->users++;
        }
    }
    if (!result.edge.node)
        return;
    if (!result.window)
        see_view(visit, &result);
    if (visit->grads->recorder &&
        live_tensor_number(visit->grads->recorder->live, tensor) != NO_OBJECT)
        result.tensor = NULL; /* a parameter: its module always has it */
    if (is_handed(visit, &result.edge) || !result.tensor)
        result.handed = HANDED_UNKNOWN;
    else
        result.kept = visit->hooked || is_kept(visit->grads, tensor, path);
    keep_result(visit, &result);
}

/* --- the end of a call */

/* Adds a gap for missing gradients of an object, once per reason. */
static void report_once(struct grads *grads, uint32_t object, enum object_flag flag,
                        const char *why)
{
    if (!grads->recorder || !grads->recorder->trace ||
        object >= grads->recorder->model->n_objects || grads->objects[object] & flag)
        return;
    grads->objects[object] |= (uint8_t)flag;
    trace_gap(grads->recorder->trace, RUN_GAP_GRADIENT, object, "%s", why);
}

void grads_report_handed(struct grads *grads, uint32_t object)
{
    report_once(
        grads, object, REPORTED_HANDED,
        "Not all of its gradients are recorded: it passes a tensor on or a hook "
        "keeps one, and the graph does not show what uses it afterwards.");
}

void grads_report_written(struct grads *grads, uint32_t object)
{
    report_once(grads, object, REPORTED_WRITTEN,
                "Not all of its gradients are recorded: a result is a view of a tensor "
                "that others use too, and it is written in place after the call.");
}

void grads_report_transformed(struct grads *grads, uint32_t object)
{
    report_once(
        grads, object, REPORTED_TRANSFORMED,
        "Not all of its gradients are recorded: it is called inside a transform "
        "of torch.func (grad, vmap).");
}

/* Determines who uses a tensor that the call returned unchanged: from the code of
 * the enclosing call, and from the other references to it. */
static enum handed ask_handed(const struct grads_visit *visit,
                              const struct result *result)
{
    const struct grads *grads = visit->grads;
    const struct passage *around = visit->outline.passage->parent;
    PyObject *package = torch_imported("torchoscope.handed"), *answer = NULL;
    PyObject *module =
        around ? live_module(grads->recorder->live, around->object) : NULL;
    long handed = 0;

    if (package)
        answer = PyObject_CallMethod(
            package, "verdict", "OOnO", result->tensor, module ? module : Py_None,
            Py_REFCNT(result->tensor),
            torch_call_int(result->tensor, NAME__use_count, 1) > 1 ? Py_True
                                                                   : Py_False);
    if (answer)
        handed = PyLong_AsLong(answer);
    ext_swallow();
    Py_XDECREF(answer);
    Py_XDECREF(module);
    Py_XDECREF(package);
    return handed == HANDED_ALONE || handed == HANDED_DROPPED ? (enum handed)handed
                                                              : HANDED_UNKNOWN;
}

static void find_handed(struct grads_visit *visit)
{
    struct thread *thread = visit->thread;

    for (uint32_t i = 0; i < thread->n_results; i++) {
        struct result *result = &thread->results[i];

        if (result->handed == HANDED_NOT || !result->tensor)
            continue;
        result->handed = (uint8_t)ask_handed(visit, result);
        set_handed(visit, &result->edge, (enum handed)result->handed);
    }
}

/* Adds a keyword argument that torch did not pass before forward. */
static int add_late(void *user, PyObject *tensor, const char *path, size_t len)
{
    struct grads_visit *visit = user;

    if (!visit->grads->recorder)
        return -1;
    grads_argument(visit, tensor,
                   trace_string(visit->grads->recorder->trace, path, len));
    return 0;
}

/* Marks or hooks the edges of the collected arguments and results. */
static void put_edges(struct grads_visit *visit, PyObject *kwargs)
{
    struct grads *grads = visit->grads;
    uint8_t *about = &grads->objects[visit->outline.passage->object];
    bool has_nodes = visit->thread->n_results > 0;

    if (has_nodes != (bool)(*about & HAD_NODES) &&
        !recorder_in_backward(grads->recorder))
        *about ^= HAD_NODES;
    visit->late = true;
    if (has_nodes && kwargs && !visit->outline.keywords)
        walk_arguments(NULL, kwargs, NULL, add_late, visit, NULL);
    if (!has_nodes || !grads->recorder)
        return;
    if (is_numbered(visit)) {
        find_handed(visit);
        grads_mark_call(visit);
    } else {
        grads_hook_call(visit);
    }
}

void grads_returned(struct grads_visit *visit, PyObject *kwargs)
{
    struct thread *thread = visit->thread;
    struct passage *passage = visit->outline.passage;

    if (visit->grads->recorder)
        put_edges(visit, kwargs);
    thread->ended++;
    visit->grads->ended++;
    clear_scratch(thread);
    cut_arguments(thread, visit->outline.first);
    if (passage->users > 1 && !passage->end)
        passage->end = number_next();
    passage_drop(passage);
    if (thread->n_calls == 0)
        drop_leaves(thread);
    go_out(visit->grads);
}
