#include "ext/types/types.h"

#include "base/arena.h"
#include "model/model.h"
#include "run/op_table.h"
#include "run/ops.h"

#define MOST_BYTES   ((size_t)16 << 20) /* for one question */
#define MOST_TENSORS 4096
#define MOST_DEPTH   8

/* A query of the table, built from Python objects. */
struct op_question {
    struct arena arena;
    struct intern strings;
    struct values plain;
};

static int spent(void)
{
    PyErr_SetString(PyExc_ValueError, "too many tensors or attributes");
    return -1;
}

/* Adds a tensor whose shape is a tuple of integers. */
static int add_tensor(struct op_question *question, PyObject *shape,
                      struct op_tensor *tensors, uint32_t *n, uint32_t arg,
                      uint32_t item)
{
    Py_ssize_t rank = PyTuple_Check(shape) ? PyTuple_Size(shape) : -1;
    int64_t *sizes;

    if (rank < 0) {
        PyErr_SetString(PyExc_TypeError, "a shape must be a tuple of integers");
        return -1;
    }
    sizes = arena_array(&question->arena, (size_t)rank + 1, sizeof(*sizes));
    if (rank > UINT8_MAX || !sizes || *n == MOST_TENSORS || arg > UINT16_MAX)
        return spent();
    for (Py_ssize_t i = 0; i < rank; i++)
        sizes[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
    if (PyErr_Occurred())
        return -1;
    tensors[(*n)++] = (struct op_tensor){.sizes = sizes,
                                         .rank = (uint8_t)rank,
                                         .arg = (uint16_t)arg,
                                         .item = (uint16_t)item};
    return 0;
}

/* Adds the argument at one position: a shape, a list of shapes, or None. */
static int add_position(struct op_question *question, PyObject *given,
                        struct op_tensor *tensors, uint32_t *n, uint32_t arg)
{
    if (given == Py_None)
        return 0;
    if (!PyList_Check(given))
        return add_tensor(question, given, tensors, n, arg, OP_NO_ITEM);
    for (Py_ssize_t i = 0; i < PyList_Size(given); i++) {
        PyObject *item = PyList_GetItem(given, i);

        if (item != Py_None &&
            add_tensor(question, item, tensors, n, arg, (uint32_t)i) < 0)
            return -1;
    }
    return 0;
}

/* All positions of a tuple. NULL: an exception is set. */
static struct op_tensor *read_tensors(struct op_question *question, PyObject *given,
                                      uint32_t *ret_n)
{
    struct op_tensor *tensors =
        arena_array(&question->arena, MOST_TENSORS, sizeof(*tensors));

    *ret_n = 0;
    if (!tensors)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; tensors && i < PyTuple_Size(given); i++)
        if (add_position(question, PyTuple_GetItem(given, i), tensors, ret_n,
                         (uint32_t)i) < 0)
            return NULL;
    return tensors;
}

static uint32_t read_value(struct op_question *question, PyObject *object, int depth);

/* A list or tuple as a list, a dict as a dict. */
static uint32_t read_items(struct op_question *question, PyObject *object, int depth)
{
    PyObject *list = PyDict_Check(object) ? PyDict_Items(object) : NULL;
    PyObject *items = PySequence_Tuple(list ? list : object);
    Py_ssize_t n = items ? PyTuple_Size(items) : 0;
    uint32_t width = list ? 2 : 1, id = VALUE_ID_FAILED;
    uint32_t *ids = arena_array(&question->arena, (size_t)n * width + 1, sizeof(*ids));

    for (Py_ssize_t i = 0; items && ids && i < n && !PyErr_Occurred(); i++) {
        PyObject *item = PyTuple_GetItem(items, i);

        for (uint32_t k = 0; k < width; k++)
            ids[(size_t)i * width + k] =
                read_value(question, list ? PyTuple_GetItem(item, k) : item, depth + 1);
    }
    if (items && ids && !PyErr_Occurred())
        id = value_make(&question->plain, list ? VALUE_DICT : VALUE_LIST, STR(""), ids,
                        (uint32_t)n * width);
    Py_XDECREF(items);
    Py_XDECREF(list);
    return id;
}

/* None, numbers, strings, lists and dicts; other objects become None. */
static uint32_t read_value(struct op_question *question, PyObject *object, int depth)
{
    struct values *plain = &question->plain;
    const char *text;
    Py_ssize_t len;

    if (PyBool_Check(object))
        return value_bool(plain, object == Py_True);
    if (PyLong_Check(object))
        return value_int(plain, PyLong_AsLongLong(object));
    if (PyFloat_Check(object))
        return value_real(plain, PyFloat_AsDouble(object));
    if (PyUnicode_Check(object)) {
        text = PyUnicode_AsUTF8AndSize(object, &len);
        return text ? value_str(plain, str_span(text, (size_t)len)) : VALUE_ID_NONE;
    }
    if (depth < MOST_DEPTH &&
        (PyList_Check(object) || PyTuple_Check(object) || PyDict_Check(object)))
        return read_items(question, object, depth);
    return VALUE_ID_NONE;
}

PyObject *ops_flops(PyObject *module, PyObject *args)
{
    struct op_question question;
    struct op_seen seen = {.n_in = 0};
    PyObject *in, *out, *attributes, *answer = NULL;
    const char *name;
    Py_ssize_t len;
    int64_t flops;

    (void)module;
    if (!PyArg_ParseTuple(args, "s#O!O!O!:op_flops", &name, &len, &PyTuple_Type, &in,
                          &PyTuple_Type, &out, &PyDict_Type, &attributes))
        return NULL;
    arena_init(&question.arena, MOST_BYTES);
    if (intern_init(&question.strings, &question.arena) < 0 ||
        values_init(&question.plain, &question.arena, &question.strings) < 0) {
        PyErr_NoMemory();
        goto out;
    }
    seen.name = (struct str){name, (size_t)len};
    seen.in = read_tensors(&question, in, &seen.n_in);
    seen.out = seen.in ? read_tensors(&question, out, &seen.n_out) : NULL;
    seen.plain = &question.plain;
    seen.attributes = seen.out ? read_value(&question, attributes, 0) : VALUE_ID_FAILED;
    if (seen.attributes == VALUE_ID_FAILED && !PyErr_Occurred())
        spent();
    if (PyErr_Occurred())
        goto out;
    flops = op_flops(&seen);
    answer = flops == OP_NO_FLOPS ? Py_NewRef(Py_None) : PyLong_FromLongLong(flops);

out:
    arena_release(&question.arena);
    return answer;
}

PyObject *ops_family(PyObject *module, PyObject *args)
{
    const char *name;
    Py_ssize_t len;
    enum op_family family;
    struct str span;

    (void)module;
    if (!PyArg_ParseTuple(args, "s#:op_family", &name, &len))
        return NULL;
    span = (struct str){name, (size_t)len};
    family = op_family_of(span);
    return Py_BuildValue("(sNN)", op_family_name(family),
                         PyBool_FromLong(op_family_is_matrix(family)),
                         PyBool_FromLong(op_has_flops(span)));
}
