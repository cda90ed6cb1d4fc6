/* arrange.c - _core._arrange(): places and lines of a graph, for figures that other
 * libraries draw. */
#include "ext/long_work.h"
#include "ext/types/types.h"

#include "graph/arrange.h"

static bool take_box(PyObject *item, struct arrange_box *box)
{
    int parent, width, height;

    if (!PyTuple_Check(item)) {
        PyErr_SetString(PyExc_TypeError, "a box is a tuple (parent, width, height)");
        return false;
    }
    if (!PyArg_ParseTuple(item, "iii", &parent, &width, &height))
        return false;
    box->parent = parent < 0 ? PLAN_NONE : (uint32_t)parent;
    box->width = width;
    box->height = height;
    return true;
}

static bool take_edge(PyObject *item, struct arrange_edge *edge)
{
    int source, target;

    if (!PyTuple_Check(item)) {
        PyErr_SetString(PyExc_TypeError, "an edge is a tuple (source, target)");
        return false;
    }
    if (!PyArg_ParseTuple(item, "ii", &source, &target))
        return false;
    edge->source = (uint32_t)source;
    edge->target = (uint32_t)target;
    return true;
}

/* False: an exception is set. */
static bool take(struct arrangement *a, struct arena *arena, PyObject *boxes,
                 PyObject *edges)
{
    a->n_boxes = (uint32_t)PyList_Size(boxes);
    a->n_edges = (uint32_t)PyList_Size(edges);
    a->boxes = arena_array(arena, (size_t)a->n_boxes + 1, sizeof *a->boxes);
    a->edges = arena_array(arena, (size_t)a->n_edges + 1, sizeof *a->edges);
    if (!a->boxes || !a->edges) {
        PyErr_NoMemory();
        return false;
    }
    for (uint32_t i = 0; i < a->n_boxes; i++)
        if (!take_box(PyList_GetItem(boxes, (Py_ssize_t)i), &a->boxes[i]))
            return false;
    for (uint32_t i = 0; i < a->n_edges; i++)
        if (!take_edge(PyList_GetItem(edges, (Py_ssize_t)i), &a->edges[i]))
            return false;
    return true;
}

static bool work_unlocked(struct arrangement *a, struct arena *arena)
{
    struct long_work long_work;
    struct err err = {0};
    int status;

    long_work_begin(&long_work, LONG_WORK_ALONE);
    status = arrange(a, arena, &err);
    if (!long_work_end(&long_work))
        return false;
    if (status < 0)
        ext_raise(&err);
    return status == 0;
}

static PyObject *line_of(const struct arrange_edge *edge)
{
    PyObject *points = PyList_New((Py_ssize_t)edge->n_points);

    for (uint32_t i = 0; points && i < edge->n_points; i++) {
        PyObject *point = Py_BuildValue("ii", edge->points[i].x, edge->points[i].y);

        if (!point || PyList_SetItem(points, (Py_ssize_t)i, point) < 0)
            Py_CLEAR(points);
    }
    return points;
}

static PyObject *answer(const struct arrangement *a)
{
    PyObject *boxes = PyList_New((Py_ssize_t)a->n_boxes);
    PyObject *lines = PyList_New((Py_ssize_t)a->n_edges);
    PyObject *made = NULL;

    for (uint32_t i = 0; boxes && i < a->n_boxes; i++) {
        const struct arrange_box *box = &a->boxes[i];
        PyObject *place = Py_BuildValue("iiii", box->x, box->y, box->w, box->h);

        if (!place || PyList_SetItem(boxes, (Py_ssize_t)i, place) < 0)
            Py_CLEAR(boxes);
    }
    for (uint32_t i = 0; lines && i < a->n_edges; i++) {
        PyObject *line = line_of(&a->edges[i]);

        if (!line || PyList_SetItem(lines, (Py_ssize_t)i, line) < 0)
            Py_CLEAR(lines);
    }
    if (boxes && lines)
        made = Py_BuildValue("iiOO", a->width, a->height, boxes, lines);
    Py_XDECREF(boxes);
    Py_XDECREF(lines);
    return made;
}

PyObject *arrange_graph(PyObject *module, PyObject *args)
{
    struct arrangement a = {0};
    PyObject *boxes, *edges, *made = NULL;
    struct arena arena;

    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!:_arrange", &PyList_Type, &boxes, &PyList_Type,
                          &edges))
        return NULL;
    arena_init(&arena, 0);
    if (take(&a, &arena, boxes, edges) && work_unlocked(&a, &arena))
        made = answer(&a);
    arena_release(&arena);
    return made;
}
