/* When a call ends: puts marks on its edges, or hooks if nodes have no numbers. */
#include "ext/record/grads_in.h"

#include "ext/torch/torch.h"

/* --- marks */

static void put_mark(struct grads_visit *visit, PyObject *node, const struct mark *mark)
{
    if (!mark_put(visit->grads, node, mark) && visit->grads->recorder)
        recorder_failed(visit->grads->recorder);
}

/* Holds the node of a leaf that the call returned: see struct thread. */
static void hold_leaf(struct grads_visit *visit, const struct passage *passage,
                      const struct result *result)
{
    struct thread *thread = visit->thread;

    if (result->handed == HANDED_NOT ||
        (PyObject *)Py_TYPE(result->edge.node) != torch_find()->accumulate)
        return;
    if (!passage->parent)
        grads_report_handed(visit->grads, passage->object);
    else if (buf_grow_array(&thread->leaves, thread->n_leaves, &thread->leaves_room,
                            sizeof *thread->leaves))
        thread->leaves[thread->n_leaves++] = Py_NewRef(result->edge.node);
}

/* A result that is a view gets a second mark, on its base. */
static void put_base(struct grads_visit *visit, const struct result *result,
                     const struct mark *mark)
{
    struct mark base = mark_of_base(mark, &result->view);

    if (result->view.base.node)
        put_mark(visit, result->view.base.node, &base);
}

void grads_mark_call(struct grads_visit *visit)
{
    struct thread *thread = visit->thread;
    struct passage *passage = visit->outline.passage;

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

        put_mark(visit, result->edge.node, &mark);
        put_base(visit, result, &mark);
        hold_leaf(visit, passage, result);
    }
    for (uint32_t i = visit->outline.first; i < thread->n; i++) {
        const struct argument *argument = &thread->arguments[i];
        struct mark mark = {.passage = passage,
                            .window = argument->window,
                            .path = argument->path,
                            .nr = argument->edge.nr,
                            .kind = RUN_GRAD_IN,
                            .flags = argument->flags,
                            .handed = argument->handed,
                            .kept = visit->hooked};

        if (!argument->dead)
            put_mark(visit, argument->edge.node, &mark);
    }
}

/* --- hooks */

static void put(struct grads_visit *visit, PyObject *node, const struct part *part)
{
    if (!hook_put(visit->grads, node, part) && visit->grads->recorder)
        recorder_failed(visit->grads->recorder);
}

/* A view may be written in place after the call. If nothing but the view was
 * computed from its base, both gradients are equal unless that happened. */
static void hook_view(struct grads_visit *visit, struct result *result,
                      struct part part, bool walked)
{
    struct grads_view *view = &result->view;
    bool shared = view->shared || !view->n_steps || !walked;

    for (uint32_t i = visit->outline.first; i < visit->thread->n; i++)
        shared |= edge_same(&visit->thread->arguments[i].edge, &view->base);
    part.view = view->window;
    part.waits = !shared;
    put(visit, result->edge.node, &part);
    part.kind = PART_WRITTEN;
    part.nr = view->base.nr;
    put(visit, view->base.node, &part);
}

/* If the call did not create a result, or uses it itself, the gradient at its node
 * includes other gradients: recorded as unknown. */
static void hook_results(struct grads_visit *visit, struct passage *passage,
                         bool walked)
{
    struct thread *thread = visit->thread;

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
            hook_view(visit, result, part, walked);
        else
            put(visit, result->edge.node, &part);
    }
}

static void hook_ways(struct grads_visit *visit, struct passage *passage)
{
    struct thread *thread = visit->thread;

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
            put(visit, way->node, &part);
    }
}

static void report_too_large(struct grads *grads, uint32_t object)
{
    grads->objects[object] |= TOO_LARGE;
    if (grads->recorder)
        trace_gap(grads->recorder->trace, RUN_GAP_GRADIENT, object,
                  "Gradients of its arguments are not recorded: more than %d steps lie "
                  "between them and its results.",
                  NODES_MOST);
}

void grads_hook_call(struct grads_visit *visit)
{
    struct grads *grads = visit->grads;
    struct passage *passage = visit->outline.passage;
    uint8_t *about = &grads->objects[passage->object];
    bool walked = !(*about & TOO_LARGE) && find_ways(visit);

    passage->mixed = visit->mixed;
    passage->timed = walked && (visit->last || visit->mixed);
    hook_results(visit, passage, walked);
    if (walked)
        hook_ways(visit, passage);
    else
        trace_backward(grads->recorder->trace, passage->call, passage->serial, 0,
                       RUN_BACKWARD_GAP);
    if (walked && visit->last)
        put(visit, visit->last,
            &(struct part){.passage = passage, .kind = PART_LAST, .after = true});
    if (!walked && !(*about & TOO_LARGE))
        report_too_large(grads, passage->object);
}
