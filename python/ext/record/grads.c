/* Around a call: which edges its arguments have before forward and its results after
 * it. They are marked, and grads_search.c finds the gradients when a backward begins.
 * Special cases:
 * - A leaf has an edge as well, to the node that accumulates its gradient.
 * - A result that the call did not make (Identity, Dropout in eval mode, an argument
 *   that is handed on) has the edge that its tensor had before. The graph does not tell
 *   who uses the result and who the tensor that the caller still has:
 * torchoscope.handed looks whether the caller can use it, and where it can there is a
 * gap.
 * - Arguments with the same edge (q = k = v) share one gradient: RUN_IO_SUMMED.
 * - An argument that is a view and was written in place: its old edge is dead, the
 *   gradient flows through its base. Then the edges of the base count, and of its
 *   gradient the window that the view shows.
 * - A recomputation in a backward makes nodes that gradients do not pass, if the first
 *   call had nodes: then these have the marks.
 *
 * An old torch does not number its nodes, and numbers of several threads mean nothing
 * to each other. There the nodes of a call are found when it ends, by walking from its
 * results, and hooked at once:
 * - The gradient of a result is what a hook sees before the node that made it runs,
 *   if the call does not use that result itself; else there is a gap.
 * - Where keywords are not shown before forward their edges are those after it. One
 *   that is a result as well may have been overwritten, and is left out. */
#include "ext/record/grads_in.h"

#include <stdlib.h>
#include <string.h>

#include "ext/torch/torch.h"
#include "ext/torch/walk.h"

#define THREADS 4096

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

static void drop_result(struct result *result)
{
    edge_drop(&result->edge);
    while (result->view.n_steps > 0)
        Py_DECREF(result->view.steps[--result->view.n_steps]);
    edge_drop(&result->view.base);
    window_drop(result->view.window);
    window_drop(result->window);
}

/* What is needed only until hooks are put on. */
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

void grads_before(struct grads *grads, uint32_t number, uint32_t call, PyObject *args,
                  PyObject *kwargs, PyObject *names, bool flows)
{
    struct thread *thread = thread_of(grads, number);
    struct meeting meeting = {.grads = grads, .thread = thread};
    struct grads_outline *outline;
    struct passage *passage;

    if (!thread || !recorder_grow(&thread->calls, thread->n_calls, &thread->calls_room,
                                  sizeof *thread->calls))
        return;
    passage = passage_new(
        number, thread->n_calls ? thread->calls[thread->n_calls - 1].passage : NULL);
    if (!passage)
        return;
    go_in(grads);
    passage->call = call;
    passage->serial = trace_serial(grads->recorder->trace, call);
    passage->object = trace_object(grads->recorder->trace, call);
    meeting.outline.first = thread->n;
    if (flows)
        walk_arguments(args, kwargs, names, add_argument, &meeting, NULL);
    outline = &thread->calls[thread->n_calls++];
    passage->begin = number_next();
    *outline = (struct grads_outline){.first = meeting.outline.first,
                                      .number = passage->begin,
                                      .passage = passage,
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
    passage_drop(thread->calls[thread->n_calls].passage);
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

/* Set how the arguments with an edge are handed on; false: there are none. */
static bool set_handed(const struct meeting *meeting, const struct edge *edge,
                       enum handed handed)
{
    bool found = false;

    for (uint32_t i = meeting->outline.first; i < meeting->thread->n; i++)
        if (edge_same(&meeting->thread->arguments[i].edge, edge)) {
            meeting->thread->arguments[i].handed = (uint8_t)handed;
            found = true;
        }
    return found;
}

/* Is a result one that the call did not make? */
static bool is_handed(const struct meeting *meeting, const struct edge *edge)
{
    return set_handed(meeting, edge, HANDED_UNKNOWN) ||
           (meeting->outline.number && number_of(edge->node) < meeting->outline.number);
}

static bool keep_result(struct meeting *meeting, struct result *result,
                        const char *path, size_t len)
{
    struct thread *thread = meeting->thread;

    for (uint32_t i = 0; i < thread->n_results; i++)
        if (edge_same(&thread->results[i].edge, &result->edge)) {
            thread->results[i].flags |= RUN_IO_SUMMED;
            drop_result(result);
            return true;
        }
    if (!meeting->grads->recorder ||
        !recorder_grow(&thread->results, thread->n_results, &thread->results_room,
                       sizeof *thread->results)) {
        drop_result(result);
        return false;
    }
    result->path = trace_string(meeting->grads->recorder->trace, path, len);
    thread->results[thread->n_results++] = *result;
    return true;
}

/* Has somebody beside the caller a reference to a result? A bare one is held by torch
 * and by us: so often as one that nobody keeps, and none is held less. */
static bool is_kept(struct grads *grads, PyObject *tensor, const char *path, size_t len)
{
    Py_ssize_t n = Py_REFCNT(tensor);

    /* Where C++ holds it as well, that counts as one. */
    n -= torch_call_int(tensor, NAME__use_count, 1) > 1;
    if (len > 0)
        return path[0] == '[' && path[len - 1] == ']' && n > 1;
    if (grads->references == 0 || n < grads->references)
        grads->references = n;
    return n > grads->references;
}

/* Do the numbers of nodes tell which of them are the call's? */
static bool is_numbered(const struct meeting *meeting)
{
    return meeting->outline.number && meeting->grads->ended == meeting->thread->ended;
}

/* If a view is written in place after the call, its edge is dead and its gradient
 * flows through the base. */
static void see_view(struct meeting *meeting, struct result *result)
{
    const struct thread *thread = meeting->thread;
    struct grads_view *view = &result->view;

    view->base = edge_of_base(result->tensor);
    if (!view->base.node)
        return;
    view->window = window_of(result->tensor);
    view->shared = !view->window || base_is_kept(result->tensor) ||
                   number_of(view->base.node) < meeting->outline.number;
    if (!view->window)
        view->window = window_blank();
    if (!view->window)
        edge_drop(&view->base);
    if (is_numbered(meeting))
        result->own = number_of(result->edge.node);
    else
        view_find_steps(view, result->edge.node);
    for (uint32_t i = 0; i < thread->n_results; i++)
        if (edge_same(&thread->results[i].view.base, &view->base) ||
            edge_same(&thread->results[i].edge, &view->base))
            thread->results[i].view.shared = view->shared = true;
}

static int add_result(void *user, PyObject *tensor, const char *path, size_t len)
{
    struct meeting *meeting = user;
    const struct argument *argument = argument_of(meeting, tensor);
    struct recorder *recorder = meeting->grads->recorder;
    struct result result = {.edge = edge_of(tensor), .tensor = tensor};

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
        return 0;
    if (!recorder) {
        drop_result(&result);
        return -1;
    }
    if (!result.window)
        see_view(meeting, &result);
    if (live_tensor_number(recorder->live, tensor) != NO_OBJECT)
        result.tensor = NULL; /* a parameter: its module always has it */
    if (is_handed(meeting, &result.edge) || !result.tensor)
        result.handed = HANDED_UNKNOWN;
    else
        result.kept = meeting->hooked || is_kept(meeting->grads, tensor, path, len);
    return keep_result(meeting, &result, path, len) ? 0 : -1;
}

/* --- marks */

/* Say why gradients of an object are missing, once for each reason. */
static void tell_once(struct grads *grads, uint32_t object, enum object_flag told,
                      const char *why)
{
    if (!grads->recorder || !grads->recorder->trace ||
        object >= grads->recorder->model->n_objects || grads->objects[object] & told)
        return;
    grads->objects[object] |= (uint8_t)told;
    trace_gap(grads->recorder->trace, RUN_GAP_GRADIENT, object, "%s", why);
}

void grads_tell_handed(struct grads *grads, uint32_t object)
{
    tell_once(grads, object, TOLD_HANDED,
              "Not all of its gradients are recorded: it passes a tensor on or a hook "
              "keeps one, and the graph does not tell who uses it afterwards.");
}

void grads_tell_written(struct grads *grads, uint32_t object)
{
    tell_once(grads, object, TOLD_WRITTEN,
              "Not all of its gradients are recorded: a result is a view of a tensor "
              "that others use too, and it is written in place after the call.");
}

void grads_tell_transformed(struct grads *grads, uint32_t object)
{
    tell_once(grads, object, TOLD_TRANSFORMED,
              "Not all of its gradients are recorded: it is called inside a transform "
              "of torch.func (grad, vmap).");
}

/* Who uses a tensor that the call gave back as it was? The code of the call around it
 * tells, and who else holds it. */
static enum handed ask_handed(const struct meeting *meeting,
                              const struct result *result)
{
    const struct grads *grads = meeting->grads;
    const struct passage *around = meeting->outline.passage->parent;
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

static void find_handed(struct meeting *meeting)
{
    struct thread *thread = meeting->thread;

    for (uint32_t i = 0; i < thread->n_results; i++) {
        struct result *result = &thread->results[i];

        if (result->handed == HANDED_NOT || !result->tensor)
            continue;
        result->handed = (uint8_t)ask_handed(meeting, result);
        set_handed(meeting, &result->edge, (enum handed)result->handed);
    }
}

static void put_mark(struct meeting *meeting, PyObject *node, const struct mark *mark)
{
    if (!mark_put(meeting->grads, node, mark) && meeting->grads->recorder)
        recorder_failed(meeting->grads->recorder);
}

/* A leaf that the call gave back: see struct thread. */
static void hold_leaf(struct meeting *meeting, const struct passage *passage,
                      const struct result *result)
{
    struct thread *thread = meeting->thread;

    if (result->handed == HANDED_NOT ||
        (PyObject *)Py_TYPE(result->edge.node) != torch_find()->accumulate)
        return;
    if (!passage->parent)
        grads_tell_handed(meeting->grads, passage->object);
    else if (recorder_grow(&thread->leaves, thread->n_leaves, &thread->leaves_room,
                           sizeof *thread->leaves))
        thread->leaves[thread->n_leaves++] = Py_NewRef(result->edge.node);
}

/* A result that is a view has a second mark, at its base. */
static void put_base(struct meeting *meeting, const struct result *result,
                     const struct mark *mark)
{
    struct mark base = mark_of_base(mark, &result->view);

    if (result->view.base.node)
        put_mark(meeting, result->view.base.node, &base);
}

static void mark_call(struct meeting *meeting, struct passage *passage)
{
    struct thread *thread = meeting->thread;

    find_handed(meeting);
    passage->end = number_next();
    for (uint32_t i = 0; i < thread->n_results; i++) {
        const struct result *result = &thread->results[i];
        struct mark mark = {.passage = passage,
                            .window = result->window,
                            .path = result->path,
                            .nr = result->edge.nr,
                            .kind = RUN_GRAD_OUT,
                            .flags = result->flags,
                            .handed = result->handed,
                            .kept = result->kept,
                            .view = result->view.window,
                            .own = result->own};

        put_mark(meeting, result->edge.node, &mark);
        put_base(meeting, result, &mark);
        hold_leaf(meeting, passage, result);
    }
    for (uint32_t i = meeting->outline.first; i < thread->n; i++) {
        const struct argument *argument = &thread->arguments[i];
        struct mark mark = {.passage = passage,
                            .window = argument->window,
                            .path = argument->path,
                            .nr = argument->edge.nr,
                            .kind = RUN_GRAD_IN,
                            .flags = argument->flags,
                            .handed = argument->handed,
                            .kept = meeting->hooked};

        if (!argument->dead)
            put_mark(meeting, argument->edge.node, &mark);
    }
}

/* --- hooks put on */

static void put(struct meeting *meeting, PyObject *node, const struct part *part)
{
    if (!hook_put(meeting->grads, node, part) && meeting->grads->recorder)
        recorder_failed(meeting->grads->recorder);
}

/* A view may be written in place after the call. If only the view was made from its
 * base, the gradients of both are equal unless it was. */
static void hook_view(struct meeting *meeting, struct result *result, struct part part,
                      bool walked)
{
    struct grads_view *view = &result->view;
    bool shared = view->shared || !view->n_steps || !walked;

    for (uint32_t i = meeting->outline.first; i < meeting->thread->n; i++)
        shared |= edge_same(&meeting->thread->arguments[i].edge, &view->base);
    part.view = view->window;
    part.waits = !shared;
    put(meeting, result->edge.node, &part);
    part.kind = PART_WRITTEN;
    part.nr = view->base.nr;
    put(meeting, view->base.node, &part);
}

/* What reaches a result that the call did not make, or that it uses itself, is more
 * than its gradient. */
static void hook_results(struct meeting *meeting, struct passage *passage, bool walked)
{
    struct thread *thread = meeting->thread;

    for (uint32_t i = 0; i < thread->n_results; i++) {
        struct result *result = &thread->results[i];
        struct part part = {.passage = passage,
                            .spot = {result->path, RUN_GRAD_OUT, result->flags, 0},
                            .window = result->window,
                            .nr = result->edge.nr,
                            .kind = PART_RESULT};

        if (result->handed != HANDED_NOT || result->used)
            part.kind = PART_UNKNOWN;
        if (part.kind == PART_RESULT && result->view.base.node)
            hook_view(meeting, result, part, walked);
        else
            put(meeting, result->edge.node, &part);
    }
}

static void hook_ways(struct meeting *meeting, struct passage *passage)
{
    struct thread *thread = meeting->thread;

    for (uint32_t i = 0; i < thread->n_ways; i++) {
        const struct grads_way *way = &thread->ways[i];
        struct argument *argument = &thread->arguments[way->argument];
        struct part part = {.passage = passage,
                            .spot = {argument->path, RUN_GRAD_IN, argument->flags, 0},
                            .window = argument->window,
                            .nr = way->nr,
                            .kind = PART_ARGUMENT,
                            .after = true};

        if (argument->handed != HANDED_NOT)
            continue;
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

/* Without numbers: hooks, at once. */
static void hook_nodes(struct meeting *meeting, struct passage *passage)
{
    struct grads *grads = meeting->grads;
    uint8_t *about = &grads->objects[passage->object];
    bool walked = !(*about & TOO_LARGE) && find_ways(meeting);

    passage->mixed = meeting->mixed;
    passage->timed = walked && (meeting->last || meeting->mixed);
    hook_results(meeting, passage, walked);
    if (walked)
        hook_ways(meeting, passage);
    else
        trace_backward(grads->recorder->trace, passage->call, passage->serial, 0,
                       RUN_BACKWARD_GAP);
    if (walked && meeting->last)
        put(meeting, meeting->last,
            &(struct part){.passage = passage, .kind = PART_LAST, .after = true});
    if (!walked && !(*about & TOO_LARGE))
        tell_too_large(grads, passage->object);
}

/* Has the module hooks of the user's, which may keep what they are shown? They run
 * after ours. */
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
    meeting->hooked = has_hooks(grads, object);
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
    if (!grads->recorder || !grads->recorder->trace)
        return;
    if (is_numbered(meeting))
        mark_call(meeting, meeting->outline.passage);
    else
        hook_nodes(meeting, meeting->outline.passage);
}

static void end_call(struct grads *grads, struct thread *thread,
                     const struct grads_outline *outline)
{
    thread->ended++;
    grads->ended++;
    clear_scratch(thread);
    cut_arguments(thread, outline->first);
    if (outline->passage->users > 1 && !outline->passage->end)
        outline->passage->end = number_next();
    passage_drop(outline->passage);
    if (thread->n_calls == 0)
        drop_leaves(thread);
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
