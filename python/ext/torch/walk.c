#include "ext/torch/walk.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "ext/torch/tensor.h"
#include "ext/torch/torch.h"

#define PATH_MAX_LEN 480

struct tensor_walk {
    const struct torch *torch;
    walk_fn *fn;
    void *user;
    size_t tensors, items;
    bool cut, stop;
    int depth;
    int objects; /* nested objects whose attributes are being walked */
    const void *above[WALK_DEPTH]; /* the enclosing containers */
    bool cache;                    /* one of them is a class named ...Cache */
    size_t len;
    char path[PATH_MAX_LEN];
};

static void visit(struct tensor_walk *walk, PyObject *object);

static void add(struct tensor_walk *walk, const char *text, size_t len)
{
    if (len > sizeof walk->path - walk->len)
        len = sizeof walk->path - walk->len;
    memcpy(walk->path + walk->len, text, len);
    walk->len += len;
}

/* Formats the digits by hand: this runs for every argument of every call, and
 * snprintf() took a tenth of our time. */
static void visit_at(struct tensor_walk *walk, PyObject *item, size_t index)
{
    char text[24], *at = text + sizeof text;
    size_t len = walk->len;

    *--at = ']';
    do
        *--at = (char)('0' + index % 10);
    while (index /= 10);
    *--at = '[';
    add(walk, at, (size_t)(text + sizeof text - at));
    visit(walk, item);
    walk->len = len;
}

static bool is_name(const char *text, Py_ssize_t len)
{
    for (Py_ssize_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];

        if (!(c == '_' || c >= 0x80 || (unsigned)((c | 32) - 'a') < 26 ||
              (i > 0 && (unsigned)(c - '0') < 10)))
            return false;
    }
    return len > 0;
}

static void visit_named(struct tensor_walk *walk, PyObject *item, const char *name,
                        Py_ssize_t name_len)
{
    size_t len = walk->len;

    if (is_name(name, name_len)) {
        if (len > 0)
            add(walk, ".", 1);
        add(walk, name, (size_t)name_len);
    } else {
        add(walk, "['", 2);
        add(walk, name, (size_t)name_len);
        add(walk, "']", 2);
    }
    visit(walk, item);
    walk->len = len;
}

static bool is_plain_key(PyObject *key)
{
    PyTypeObject *type = Py_TYPE(key);
    Py_ssize_t n;

    if (type == &PyLong_Type || type == &PyFloat_Type || type == &PyBytes_Type ||
        type == &PyBool_Type || key == Py_None || type == &PyUnicode_Type)
        return true;
    if (type != &PyTuple_Type)
        return false;
    n = PyTuple_Size(key);
    for (Py_ssize_t i = 0; i < n; i++)
        if (PyTuple_Check(PyTuple_GetItem(key, i)) ||
            !is_plain_key(PyTuple_GetItem(key, i)))
            return false;
    return n <= 4;
}

/* Visits an item of a dict. Only plain keys are shown as text, since repr() of
 * others would run the user's code; those are shown by index. */
static void visit_key(struct tensor_walk *walk, PyObject *key, PyObject *item,
                      size_t index)
{
    PyObject *repr = NULL;
    size_t len = walk->len;
    Py_ssize_t n = 0;
    const char *text;
    char number[32];

    if (PyUnicode_Check(key)) {
        text = PyUnicode_AsUTF8AndSize(key, &n);
        ext_swallow();
        visit_named(walk, item, text ? text : "?", text ? n : 1);
        return;
    }
    if (is_plain_key(key))
        repr = PyObject_Repr(key);
    text = repr ? PyUnicode_AsUTF8AndSize(repr, &n) : NULL;
    if (!text) {
        text = number;
        n = snprintf(number, sizeof number, "?%zu", index);
    }
    add(walk, "[", 1);
    add(walk, text, (size_t)n);
    add(walk, "]", 1);
    ext_swallow();
    Py_XDECREF(repr);
    visit(walk, item);
    walk->len = len;
}

static void visit_dict(struct tensor_walk *walk, PyObject *dict)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    size_t index = 0;

    while (!walk->stop && PyDict_Next(dict, &at, &key, &value)) {
        Py_INCREF(key);
        Py_INCREF(value);
        visit_key(walk, key, value, index++);
        Py_DECREF(key);
        Py_DECREF(value);
    }
}

/* The names of a named tuple's fields, or NULL. */
static PyObject *field_names(struct tensor_walk *walk, PyObject *tuple)
{
    PyObject *type = (PyObject *)Py_TYPE(tuple), *names;

    if (Py_TYPE(tuple) == &PyTuple_Type)
        return NULL;
    names = PyObject_GetAttr(type, walk->torch->names[NAME__fields]);
    ext_swallow();
    if (names && (!PyTuple_Check(names) || PyTuple_Size(names) != PyTuple_Size(tuple)))
        Py_CLEAR(names);
    return names;
}

static void visit_tuple(struct tensor_walk *walk, PyObject *tuple)
{
    PyObject *names = field_names(walk, tuple);
    Py_ssize_t n = PyTuple_Size(tuple);

    for (Py_ssize_t i = 0; i < n && !walk->stop; i++) {
        if (names)
            visit_key(walk, PyTuple_GetItem(names, i), PyTuple_GetItem(tuple, i),
                      (size_t)i);
        else
            visit_at(walk, PyTuple_GetItem(tuple, i), (size_t)i);
    }
    Py_XDECREF(names);
}

/* Iterates with the base type's method: no method of a subclass runs. */
static void visit_deque(struct tensor_walk *walk, PyObject *deque)
{
    PyTypeObject *type = (PyTypeObject *)walk->torch->deque;
    ssizeargfunc item_at = (ssizeargfunc)PyType_GetSlot(type, Py_sq_item);
    lenfunc size = (lenfunc)PyType_GetSlot(type, Py_sq_length);

    for (Py_ssize_t i = 0; item_at && size && i < size(deque) && !walk->stop; i++) {
        PyObject *item = item_at(deque, i);

        if (item)
            visit_at(walk, item, (size_t)i);
        ext_swallow();
        Py_XDECREF(item);
    }
}

/* Another thread may change the list, so its size is read again each time. */
static void visit_list(struct tensor_walk *walk, PyObject *list)
{
    for (Py_ssize_t i = 0; i < PyList_Size(list) && !walk->stop; i++) {
        PyObject *item = Py_NewRef(PyList_GetItem(list, i));

        visit_at(walk, item, (size_t)i);
        Py_DECREF(item);
    }
}

/* In the set's own order, as "{0}". Iterates with the base type's method: no method
 * of a subclass runs. */
static void visit_set(struct tensor_walk *walk, PyObject *set)
{
    PyTypeObject *type = PySet_Check(set) ? &PySet_Type : &PyFrozenSet_Type;
    getiterfunc iterate = (getiterfunc)PyType_GetSlot(type, Py_tp_iter);
    PyObject *items = iterate ? iterate(set) : NULL;
    PyObject *item = items ? PyIter_Next(items) : NULL;
    size_t len = walk->len, index = 0;
    char text[32];

    while (item) {
        add(walk, text, (size_t)snprintf(text, sizeof text, "{%zu}", index++));
        visit(walk, item);
        walk->len = len;
        Py_DECREF(item);
        item = walk->stop ? NULL : PyIter_Next(items);
    }
    ext_swallow(); /* it changed while we iterated */
    Py_XDECREF(items);
}

/* Visits a slot. Skips other descriptors, such as properties. */
static void visit_slot(struct tensor_walk *walk, PyObject *object, PyObject *name)
{
    PyObject *slot = PyUnicode_Check(name)
                         ? PyObject_GetAttr((PyObject *)Py_TYPE(object), name)
                         : NULL;
    PyObject *value = NULL;

    if (slot && Py_TYPE(slot) == &PyMemberDescr_Type)
        value = PyObject_GetAttr(object, name);
    ext_swallow();
    if (value)
        visit_key(walk, name, value, 0);
    Py_XDECREF(slot);
    Py_XDECREF(value);
}

/* Visits the __slots__ of one class of an object: a name, or a tuple or list of
 * names. */
static void visit_slots_of(struct tensor_walk *walk, PyObject *object, PyObject *type)
{
    PyObject *dict = PyObject_GetAttrString(type, "__dict__");
    PyObject *slots = dict ? PyMapping_GetItemString(dict, "__slots__") : NULL;
    bool is_list = slots && (PyTuple_Check(slots) || PyList_Check(slots));
    Py_ssize_t n = is_list ? PySequence_Size(slots) : 0;

    ext_swallow();
    if (slots && PyUnicode_Check(slots))
        visit_slot(walk, object, slots);
    for (Py_ssize_t i = 0; i < n && !walk->stop; i++) {
        PyObject *name = PySequence_GetItem(slots, i);

        if (name)
            visit_slot(walk, object, name);
        ext_swallow();
        Py_XDECREF(name);
    }
    Py_XDECREF(slots);
    Py_XDECREF(dict);
}

static void visit_slots(struct tensor_walk *walk, PyObject *object)
{
    PyObject *types = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__mro__");
    Py_ssize_t n = types && PyTuple_Check(types) ? PyTuple_Size(types) : 0;

    ext_swallow();
    while (n-- > 0 && !walk->stop) /* base class first */
        visit_slots_of(walk, object, PyTuple_GetItem(types, n));
    Py_XDECREF(types);
}

static bool ends_in_cache(PyObject *object)
{
    char text[TORCH_CLASS_NAME];

    return str_ends(torch_class_name(object, text), STR("Cache"));
}

static bool is_mapping(PyObject *object)
{
    PyObject *type = (PyObject *)Py_TYPE(object);

    return PyObject_HasAttrString(type, "keys") &&
           PyObject_HasAttrString(type, "__getitem__");
}

/* Visits an object of a Python class through its dict or slots, without running
 * code. Objects in caches are walked one level deeper, because caches hold an object
 * per layer. So are mappings, because a torch_geometric graph holds its tensors in
 * one. */
static void visit_object(struct tensor_walk *walk, PyObject *object)
{
    PyObject *fields = PyObject_GetAttr((PyObject *)Py_TYPE(object),
                                        walk->torch->names[NAME___dataclass_fields__]);
    PyObject *dict = NULL, *data;
    bool was_cache = walk->cache, enters;

    ext_swallow();
    walk->cache = was_cache || ends_in_cache(object);
    enters = fields || walk->objects < 1 + walk->cache ||
             (walk->objects == 1 && is_mapping(object));
    if (enters)
        dict = PyObject_GenericGetDict(object, NULL);
    ext_swallow();
    walk->objects += !fields;
    data = dict ? PyDict_GetItemString(dict, "data") : NULL;
    if (data && PyDict_Check(data) && PyObject_HasAttrString(object, "__getitem__"))
        visit_dict(walk, data); /* a UserDict */
    else if (dict)
        visit_dict(walk, dict);
    else if (enters)
        visit_slots(walk, object);
    walk->objects -= !fields;
    walk->cache = was_cache;
    Py_XDECREF(dict);
    Py_XDECREF(fields);
}

static bool is_object(struct tensor_walk *walk, PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);

    if ((PyObject *)type == walk->torch->name_space)
        return true;
    return (PyType_GetFlags(type) & Py_TPFLAGS_HEAPTYPE) && !PyType_Check(object) &&
           !PyLong_Check(object) && !PyFloat_Check(object) &&
           !PyUnicode_Check(object) && !PyBytes_Check(object) &&
           !PyType_IsSubtype(type, (PyTypeObject *)walk->torch->module_type);
}

static void enter(struct tensor_walk *walk, PyObject *object)
{
    for (int i = 0; i < walk->depth; i++)
        if (walk->above[i] == object)
            return;
    if (walk->depth == WALK_DEPTH) {
        walk->cut = true;
        return;
    }
    walk->above[walk->depth++] = object;
    if (PyTuple_Check(object))
        visit_tuple(walk, object);
    else if (PyList_Check(object))
        visit_list(walk, object);
    else if (PyDict_Check(object))
        visit_dict(walk, object);
    else if (PySet_Check(object) || PyFrozenSet_Check(object))
        visit_set(walk, object);
    else if (walk->torch->deque &&
             PyType_IsSubtype(Py_TYPE(object), (PyTypeObject *)walk->torch->deque))
        visit_deque(walk, object);
    else if (is_object(walk, object))
        visit_object(walk, object);
    walk->depth--;
}

static void visit(struct tensor_walk *walk, PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);

    if (walk->stop)
        return;
    if (++walk->items > WALK_ITEMS || walk->tensors >= WALK_MOST) {
        walk->cut = walk->stop = true;
        return;
    }
    if (object == Py_None || type == &PyLong_Type || type == &PyBool_Type ||
        type == &PyFloat_Type || type == &PyUnicode_Type)
        return;
    if (tensor_is(object)) {
        walk->tensors++;
        if (walk->fn(walk->user, object, walk->path, walk->len) != 0)
            walk->stop = true;
        return;
    }
    enter(walk, object);
}

static bool begin(struct tensor_walk *walk, walk_fn *fn, void *user)
{
    walk->torch = torch_find();
    walk->fn = fn;
    walk->user = user;
    walk->tensors = walk->items = walk->len = 0;
    walk->cut = walk->stop = walk->cache = false;
    walk->depth = walk->objects = 0;
    return walk->torch;
}

/* Visits an argument under the name that forward gives it: "x", or "rest[1]" for
 * *rest. */
static void visit_argument(struct tensor_walk *walk, PyObject *names, PyObject *item,
                           Py_ssize_t index)
{
    Py_ssize_t n = names ? PyTuple_Size(names) - 1 : 0, len = 0;
    PyObject *name = names ? PyTuple_GetItem(names, index < n ? index : n) : Py_None;
    const char *text = name == Py_None ? NULL : PyUnicode_AsUTF8AndSize(name, &len);

    if (!text) {
        ext_swallow();
        visit_at(walk, item, (size_t)index);
    } else if (index < n) {
        visit_named(walk, item, text, len);
    } else {
        add(walk, text, (size_t)len);
        visit_at(walk, item, (size_t)(index - n));
        walk->len = 0;
    }
}

size_t walk_arguments(PyObject *args, PyObject *kwargs, PyObject *names, walk_fn *fn,
                      void *user, int *ret_cut)
{
    struct tensor_walk walk;

    if (!begin(&walk, fn, user))
        return 0;
    if (args && PyTuple_Check(args))
        for (Py_ssize_t i = 0; i < PyTuple_Size(args) && !walk.stop; i++)
            visit_argument(&walk, names, PyTuple_GetItem(args, i), i);
    if (kwargs && PyDict_Check(kwargs))
        visit_dict(&walk, kwargs);
    if (ret_cut)
        *ret_cut = walk.cut;
    return walk.tensors;
}

size_t walk_result(PyObject *result, walk_fn *fn, void *user, int *ret_cut)
{
    struct tensor_walk walk;

    if (!begin(&walk, fn, user))
        return 0;
    if (result)
        visit(&walk, result);
    if (ret_cut)
        *ret_cut = walk.cut;
    return walk.tensors;
}
