/* The edges of tensors in autograd's graph, and windows on what they are views of. */
#include "ext/grads_in.h"

#include <stdlib.h>

#include "ext/torch.h"

static PyObject *get(PyObject *object, enum torch_name name)
{
    PyObject *value =
        object ? PyObject_GetAttr(object, torch_find()->names[name]) : NULL;

    ext_swallow();
    if (value == Py_None)
        Py_CLEAR(value);
    return value;
}

/* A leaf has no node until something is computed from it: a view of it leads to one. */
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

void window_drop(struct window *window)
{
    if (!window || (window->users && --window->users))
        return;
    Py_XDECREF(window->shape);
    Py_XDECREF(window->strides);
    free(window);
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
