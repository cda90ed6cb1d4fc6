/* Walks from a call's results to the edges of its arguments, if nodes have no
 * numbers or several threads created them: see grads.c. */
#include "ext/record/grads_in.h"

#include "ext/torch/torch.h"

/* True if it was not visited before in this walk. */
static bool meet_node(struct thread *thread, const void *node)
{
    uint64_t hash = (uintptr_t)node * 0x9e3779b97f4a7c15u;
    uint32_t at = (uint32_t)(hash >> 50); /* index into NODES_TABLE slots */

    while (thread->table[at].walk == thread->walk) {
        if (thread->table[at].node == node)
            return false;
        at = (at + 1) % NODES_TABLE;
    }
    thread->table[at] = (struct seen_node){node, thread->walk};
    return true;
}

/* Adds 1: torch counts from 0, which means "unknown" here. */
static uint64_t number_in(PyObject *answer)
{
    uint64_t number = answer ? PyLong_AsUnsignedLongLong(answer) : 0;

    bool known = !ext_swallow() && answer;

    Py_XDECREF(answer);
    if (!known)
        return 0;
    return number == UINT64_MAX ? number : number + 1;
}

uint64_t number_of(PyObject *node)
{
    return number_in(
        PyObject_CallMethodObjArgs(node, torch_find()->names[NAME__sequence_nr], NULL));
}

uint64_t number_next(void)
{
    PyObject *ask = torch_find()->sequence_nr;

    return number_in(ask ? PyObject_CallNoArgs(ask) : NULL);
}

/* Whether the node was created before the call. If so, the walk ends here: a module
 * may keep tensors of earlier calls. Numbers of other threads cannot be compared. */
static bool is_older(struct grads_visit *visit, PyObject *node)
{
    const struct grads_outline *outline = &visit->outline;

    if (outline->number == 0 || visit->mixed)
        return false;
    if (visit->grads->ended - visit->thread->ended != outline->others &&
        hook_of_other(visit->grads, node, visit->number)) {
        visit->mixed = true;
        return false;
    }
    return number_of(node) < outline->number;
}

/* Adds a node to walk from; *ret_inside: it belongs to the call and may be its last,
 * see note_end(). Only nodes held from then on may be marked as visited: the
 * addresses of others are reused. */
static bool push_node(struct grads_visit *visit, PyObject *node, bool *ret_inside)
{
    struct thread *thread = visit->thread;

    if ((PyObject *)Py_TYPE(node) == torch_find()->accumulate || is_older(visit, node))
        return true;
    *ret_inside |= (PyObject *)Py_TYPE(node) != torch_find()->transpose;
    if (thread->n_nodes == NODES_MOST)
        return false;
    if (meet_node(thread, node))
        thread->nodes[thread->n_nodes++] = Py_NewRef(node);
    return true;
}

/* Notes a node without edges to other nodes of the call. The first created of these
 * runs last in a backward. Transposing a parameter (as every Linear does) takes no
 * time and is not worth a hook. */
static void note_end(struct grads_visit *visit, PyObject *node, bool arguments)
{
    uint64_t number;

    if (visit->outline.number == 0 || visit->mixed ||
        (!arguments && (PyObject *)Py_TYPE(node) == torch_find()->transpose))
        return;
    number = number_of(node);
    if (visit->last && number >= visit->last_number)
        return;
    visit->last = node;
    visit->last_number = number;
}

static bool add_way(struct grads_visit *visit, PyObject *node, uint32_t nr,
                    struct argument *argument)
{
    struct thread *thread = visit->thread;

    if (argument->dead)
        return true;
    if (!buf_grow_array(&thread->ways, thread->n_ways, &thread->ways_room,
                        sizeof *thread->ways))
        return false;
    argument->parts++;
    thread->ways[thread->n_ways++] =
        (struct grads_way){.node = Py_NewRef(node),
                           .nr = nr,
                           .argument = (uint32_t)(argument - thread->arguments)};
    return true;
}

/* Adds the arguments with this edge: gradients on it are theirs. Several have the
 * same edge only if views of one base were written. *ret_found: there are any. */
static bool add_ways(struct grads_visit *visit, PyObject *node, uint32_t nr,
                     const struct edge *edge, bool *ret_found)
{
    struct thread *thread = visit->thread;
    bool ok = true;

    *ret_found = false;
    for (uint32_t i = visit->outline.first; ok && i < thread->n; i++)
        if (edge_same(&thread->arguments[i].edge, edge)) {
            *ret_found = true;
            ok = add_way(visit, node, nr, &thread->arguments[i]);
        }
    return ok;
}

/* Sets `shared` if the base of a result is used for more than the view. */
static void note_view(struct grads_view *view, const void *node,
                      const struct edge *edge)
{
    for (uint32_t i = 0; i < view->n_steps; i++) {
        bool last = i + 1 == view->n_steps;
        bool leads = last ? edge_same(&view->base, edge)
                          : edge->node == view->steps[i + 1] && edge->nr == 0;

        view->shared |= leads && node != view->steps[i];
    }
}

/* Notes that the call uses one of its own results, or the base of one. */
static void note_use(struct thread *thread, const void *node, const struct edge *edge)
{
    for (uint32_t i = 0; i < thread->n_results; i++) {
        struct result *result = &thread->results[i];

        result->used |= thread->n_results > 1 && edge_same(&result->edge, edge);
        note_view(&result->view, node, edge);
    }
}

/* Walks one node: its edges end at arguments, or lead to further nodes. */
static bool walk_node(struct grads_visit *visit, PyObject *node)
{
    PyObject *next = PyObject_GetAttr(node, torch_find()->names[NAME_next_functions]);
    Py_ssize_t n = next && PyTuple_Check(next) ? PyTuple_Size(next) : 0;
    bool ok = true, inside = false, arguments = false;

    for (Py_ssize_t i = 0; ok && i < n; i++) {
        PyObject *pair = PyTuple_GetItem(next, i), *nr; /* borrowed */
        struct edge edge;
        bool found;

        if (!pair || !PyTuple_Check(pair) || PyTuple_Size(pair) != 2)
            continue;
        edge.node = PyTuple_GetItem(pair, 0);
        if (edge.node == Py_None)
            continue;
        nr = PyTuple_GetItem(pair, 1);
        edge.nr = (uint32_t)PyLong_AsUnsignedLong(nr);
        note_use(visit->thread, node, &edge);
        ok = add_ways(visit, node, (uint32_t)i, &edge, &found) &&
             (found || push_node(visit, edge.node, &inside));
        arguments |= found;
    }
    ext_swallow();
    Py_XDECREF(next);
    if (!inside)
        note_end(visit, node, arguments);
    return ok;
}

static bool walk(struct grads_visit *visit)
{
    struct thread *thread = visit->thread;
    bool ok = true;

    thread->walk++;
    for (uint32_t i = 0; ok && i < thread->n_results; i++) {
        const struct edge *edge = &thread->results[i].edge;
        bool inside = false;

        if (thread->results[i].handed == HANDED_NOT)
            ok = push_node(visit, edge->node, &inside);
    }
    for (uint32_t i = 0; ok && i < thread->n_nodes; i++)
        ok = walk_node(visit, thread->nodes[i]);
    return ok;
}

static void forget_walk(struct grads_visit *visit)
{
    struct thread *thread = visit->thread;

    while (thread->n_ways > 0)
        Py_DECREF(thread->ways[--thread->n_ways].node);
    while (thread->n_nodes > 0)
        Py_DECREF(thread->nodes[--thread->n_nodes]);
    for (uint32_t i = visit->outline.first; i < thread->n; i++)
        thread->arguments[i].parts = 0;
    visit->last = NULL;
}

bool find_ways(struct grads_visit *visit)
{
    bool ok = walk(visit);

    /* If it met nodes of other threads, it may have ended too early. */
    if (visit->mixed) {
        forget_walk(visit);
        ok = walk(visit);
    }
    return ok;
}
