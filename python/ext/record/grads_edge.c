/* Edges of tensors in autograd's graph, and windows on the bases of views. */
#include "ext/record/grads_in.h"

#include <stdlib.h>

#include "ext/torch/torch.h"

static PyObject *get(PyObject *object, enum torch_attribute name)
{
    PyObject *value =
        object ? PyObject_GetAttr(object, torch_find()->names[name]) : NULL;

    ext_swallow();
    if (value == Py_None)
        Py_CLEAR(value);
    return value;
}

/* A leaf has no node until something is computed from it, so this makes a view of
 * it, which leads to the node. */
static PyObject *leaf_node(PyObject *leaf)
{
    PyObject *view = NULL, *node, *next, *pair = NULL, *found = NULL;

    if (torch_ask(torch_find()->is_grad_enabled, false))
        view = PyObject_CallMethodObjArgs(leaf, torch_find()->names[NAME_view_as], leaf,
                                          NULL);
    node = get(view, NAME_grad_fn);
    next = get(node, NAME_next_functions);
    if (next && PyTuple_Check(next) && PyTuple_Size(next) > 0)
        pair = PyTuple_GetItem(next, 0); /* borrowed */
    if (pair && PyTuple_Check(pair))
        found = Py_XNewRef(PyTuple_GetItem(pair, 0));
    if (found == Py_None)
        Py_CLEAR(found);
    ext_swallow();
    Py_XDECREF(next);
    Py_XDECREF(node);
    Py_XDECREF(view);
    return found;
}

struct edge edge_of(PyObject *tensor)
{
    struct edge edge = {NULL, 0};

    if (!torch_flag(tensor, NAME_requires_grad))
        return edge;
    edge.node = get(tensor, NAME_grad_fn);
    if (edge.node)
        edge.nr = (uint32_t)torch_int(tensor, NAME_output_nr, 0);
    else
        edge.node = leaf_node(tensor);
    return edge;
}

struct edge edge_of_base(PyObject *tensor)
{
    struct edge edge = {NULL, 0};
    PyObject *base = get(tensor, NAME__base);

    edge.node = get(base, NAME_grad_fn);
    if (edge.node)
        edge.nr = (uint32_t)torch_int(base, NAME_output_nr, 0);
    Py_XDECREF(base);
    return edge;
}

/* The edge that a node has, if it has exactly one; else an edge without a node. */
static struct edge next_edge(PyObject *node)
{
    struct edge edge = {NULL, 0};
    PyObject *next = get(node, NAME_next_functions), *pair = NULL;

    if (next && PyTuple_Check(next) && PyTuple_Size(next) == 1)
        pair = PyTuple_GetItem(next, 0); /* borrowed */
    if (pair && PyTuple_Check(pair) && PyTuple_GetItem(pair, 0) != Py_None) {
        edge.node = Py_XNewRef(PyTuple_GetItem(pair, 0));
        edge.nr = (uint32_t)PyLong_AsUnsignedLong(PyTuple_GetItem(pair, 1));
    }
    ext_swallow();
    Py_XDECREF(next);
    return edge;
}

void view_find_steps(struct grads_view *view, PyObject *node)
{
    struct edge edge = {Py_NewRef(node), 0};

    while (edge.node && view->n_steps < VIEW_STEPS && !edge_same(&edge, &view->base)) {
        view->steps[view->n_steps++] = edge.node;
        edge = next_edge(edge.node);
    }
    if (!edge_same(&edge, &view->base))
        while (view->n_steps > 0)
            Py_DECREF(view->steps[--view->n_steps]);
    edge_drop(&edge);
}

bool base_is_kept(PyObject *view)
{
    PyObject *base = get(view, NAME__base);
    Py_ssize_t n = base ? Py_REFCNT(base) : 1;

    /* The view holds it in C++, which may count as a reference too. */
    if (base)
        n -= torch_call_int(base, NAME__use_count, 1) > 1;
    Py_XDECREF(base);
    return n > 1;
}

void edge_drop(struct edge *edge)
{
    Py_CLEAR(edge->node);
}

bool edge_same(const struct edge *a, const struct edge *b)
{
    return a->node == b->node && a->nr == b->nr;
}

struct window *window_of(PyObject *view)
{
    struct window *window = calloc(1, sizeof *window);
    PyObject *base = get(view, NAME__base);

    if (!window || !base || !torch_call_flag(base, NAME_is_contiguous))
        goto fail;
    window->users = 1;
    window->shape = get(view, NAME_shape);
    window->strides =
        PyObject_CallMethodObjArgs(view, torch_find()->names[NAME_stride], NULL);
    ext_swallow();
    window->offset = torch_call_int(view, NAME_storage_offset, 0) -
                     torch_call_int(base, NAME_storage_offset, 0);
    if (!window->shape || !window->strides)
        goto fail;
    Py_DECREF(base);
    return window;

fail:
    Py_XDECREF(base);
    window_drop(window);
    return NULL;
}

struct window *window_blank(void)
{
    struct window *window = calloc(1, sizeof *window);

    if (window)
        window->users = 1;
    return window;
}

void window_drop(struct window *window)
{
    if (!window || (window->users && --window->users))
        return;
    Py_XDECREF(window->shape);
    Py_XDECREF(window->strides);
    Py_XDECREF(window->gradient);
    free(window);
}

bool window_is_same(const struct window *window, PyObject *gradient)
{
    PyObject *cut = window_cut(window, gradient), *answer = NULL;
    bool same;

    if (cut)
        answer = PyObject_CallMethod(window->gradient, "allclose", "OddO", cut, 0.0,
                                     0.0, Py_True);
    same = answer && PyObject_IsTrue(answer) == 1;
    ext_swallow();
    Py_XDECREF(answer);
    Py_XDECREF(cut);
    return same;
}

PyObject *window_cut(const struct window *window, PyObject *gradient)
{
    const struct torch *torch = torch_find();
    PyObject *dense, *cut = NULL, *offset;

    dense = PyObject_CallMethodObjArgs(gradient, torch->names[NAME_contiguous], NULL);
    if (dense) {
        int64_t at = torch_call_int(dense, NAME_storage_offset, 0) + window->offset;

        offset = PyLong_FromLongLong(at);
        if (offset)
            cut = PyObject_CallMethodObjArgs(dense, torch->names[NAME_as_strided],
                                             window->shape, window->strides, offset,
                                             NULL);
        Py_XDECREF(offset);
    }
    ext_swallow();
    Py_XDECREF(dense);
    return cut;
}
