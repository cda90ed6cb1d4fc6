/* Kinds of operations, and the arguments that are not tensors.
 *
 * Arguments are encoded as bytes first: equal bytes are equal arguments, which were
 * converted before. */
#include "ext/record/ops_in.h"

#include <stdlib.h>
#include <string.h>

#include "ext/torch/torch.h"

#define DEEPEST    4
#define MOST_ITEMS 1024u

/* ---- plain values ---- */

static uint32_t plain_value(struct values *values, PyObject *object, int depth);

static uint32_t plain_list(struct values *values, PyObject *object, int depth)
{
    Py_ssize_t n = PySequence_Size(object);
    uint32_t *items, id;

    if (depth >= DEEPEST || n < 0 || n > (Py_ssize_t)MOST_ITEMS)
        return value_make(values, VALUE_CUT, STR("too long"), NULL,
                          n < 0 ? 0 : (uint32_t)n);
    items = malloc(((size_t)n + 1) * sizeof *items);
    if (!items)
        return VALUE_ID_FAILED;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_GetItem(object, i);

        items[i] = item ? plain_value(values, item, depth + 1) : VALUE_ID_NONE;
        Py_XDECREF(item);
    }
    id = value_make(values, VALUE_LIST, STR(""), items, (uint32_t)n);
    free(items);
    return id;
}

/* What it is called: "float32", "strided", "cpu". */
static uint32_t plain_text(struct values *values, PyObject *object)
{
    PyObject *text = PyObject_Str(object);
    Py_ssize_t len = 0;
    const char *at = text ? PyUnicode_AsUTF8AndSize(text, &len) : NULL;
    uint32_t id;

    if (at && strncmp(at, "torch.", 6) == 0)
        at += 6, len -= 6;
    id = at ? value_str(values, str_span(at, (size_t)(len < 200 ? len : 200)))
            : VALUE_ID_NONE;
    ext_swallow();
    Py_XDECREF(text);
    return id;
}

/* What torch calls by a number or a name; of other objects, their class. */
static uint32_t plain_object(struct values *values, PyObject *object)
{
    char name[TORCH_CLASS_NAME];
    struct str class_name = torch_class_name(object, name);

    if (str_is(class_name, "dtype") || str_is(class_name, "device") ||
        str_is(class_name, "layout") || str_is(class_name, "memory_format") ||
        str_is(class_name, "complex") || str_is(class_name, "SymInt") ||
        str_is(class_name, "SymFloat") || str_is(class_name, "SymBool"))
        return plain_text(values, object);
    return value_make(values, VALUE_OBJECT, class_name, NULL, 0);
}

static uint32_t plain_value(struct values *values, PyObject *object, int depth)
{
    const char *text;
    Py_ssize_t len;
    long long number;
    int overflow;

    if (object == Py_None)
        return VALUE_ID_NONE;
    if (PyBool_Check(object))
        return value_bool(values, object == Py_True);
    if (PyLong_Check(object)) {
        number = PyLong_AsLongLongAndOverflow(object, &overflow);
        return overflow ? plain_text(values, object) : value_int(values, number);
    }
    if (PyFloat_Check(object))
        return value_real(values, PyFloat_AsDouble(object));
    if (PyUnicode_Check(object)) {
        text = PyUnicode_AsUTF8AndSize(object, &len);
        ext_swallow();
        return text ? value_str(values, str_span(text, (size_t)len)) : VALUE_ID_NONE;
    }
    if (PyList_Check(object) || PyTuple_Check(object))
        return plain_list(values, object, depth);
    return plain_object(values, object);
}

/* ---- kinds ---- */

static void free_kind(struct ops_kind *kind)
{
    Py_XDECREF(kind->func);
    Py_XDECREF(kind->call);
    Py_XDECREF(kind->names);
    Py_XDECREF(kind->formula);
    free(kind->defaults);
    free(kind);
}

void ops_kinds_free(struct recorder_ops *ops)
{
    for (uint32_t i = 0; i < ops->n_kinds; i++)
        free_kind(ops->kinds[i]);
    free(ops->kinds);
    free(ops->by_func.entries);
}

static bool fill_defaults(struct ops_kind *kind, struct values *values,
                          PyObject *defaults)
{
    kind->defaults = malloc(((size_t)kind->n_args + 1) * sizeof *kind->defaults);
    if (!kind->defaults)
        return false;
    for (uint32_t i = 0; i < kind->n_args; i++) {
        PyObject *one = PyTuple_GetItem(defaults, i);

        if (!one)
            return false;
        kind->defaults[i] =
            one == Py_Ellipsis ? VALUE_ID_FAILED : plain_value(values, one, 0);
    }
    return true;
}

static uint32_t trace_kind(struct trace *trace, const struct ops_kind *kind,
                           const char *name, const char *overload)
{
    const char *args[64];
    uint32_t n = kind->n_args < 64 ? kind->n_args : 64;

    for (uint32_t i = 0; i < n; i++) {
        args[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(kind->names, i), NULL);
        if (!args[i])
            return RUN_NONE;
    }
    return trace_op_kind(trace, name, overload, args, n, kind->flags);
}

/* Fills a kind by the answer of describe(func): (name, overload, names, defaults,
 * writes, training, flags, call, formula). */
static bool fill_kind(struct recorder_ops *ops, struct ops_kind *kind, PyObject *about)
{
    struct trace *trace = ops->recorder->trace;
    const char *name, *overload;
    PyObject *defaults, *call, *formula;
    unsigned long long writes;
    unsigned flags;

    kind->number = RUN_NONE;
    if (about == Py_None)
        return true;
    if (!PyTuple_Check(about) ||
        !PyArg_ParseTuple(about, "ssO!O!KiIOO", &name, &overload, &PyTuple_Type,
                          &kind->names, &PyTuple_Type, &defaults, &writes,
                          &kind->training, &flags, &call, &formula))
        return false;
    Py_INCREF(kind->names);
    kind->call = call == Py_None ? NULL : Py_NewRef(call);
    kind->formula = formula == Py_None ? NULL : Py_NewRef(formula);
    kind->writes = writes;
    kind->flags = (uint8_t)flags;
    kind->n_args = (uint32_t)PyTuple_Size(kind->names);
    if (!trace || !fill_defaults(kind, trace_values(trace), defaults))
        return false;
    kind->number = trace_kind(trace, kind, name, overload);
    return kind->number != RUN_NONE;
}

static struct ops_kind *new_kind(struct recorder_ops *ops, PyObject *func)
{
    struct ops_kind *kind = calloc(1, sizeof *kind);
    PyObject *about = NULL;

    if (!kind)
        return NULL;
    kind->func = Py_NewRef(func);
    about = PyObject_CallFunctionObjArgs(ops->describe, func, NULL);
    if (!about || !fill_kind(ops, kind, about) ||
        !buf_grow_array(&ops->kinds, ops->n_kinds, &ops->kinds_room,
                        sizeof *ops->kinds)) {
        Py_XDECREF(about);
        free_kind(kind);
        return NULL;
    }
    Py_DECREF(about);
    ops_table_put(&ops->by_func, ops, func, ops->n_kinds);
    ops->kinds[ops->n_kinds++] = kind;
    return kind;
}

struct ops_kind *ops_kind(struct recorder_ops *ops, PyObject *func)
{
    struct ops_kind *kind;
    uint32_t index;

    if (ops_table_find(&ops->by_func, func, &index))
        return ops->kinds[index];
    kind = new_kind(ops, func);
    if (!kind)
        recorder_failed(ops->recorder);
    return kind;
}

uint32_t ops_position(const struct ops_kind *kind, PyObject *name)
{
    for (uint32_t i = 0; i < kind->n_args; i++)
        if (PyTuple_GetItem(kind->names, i) == name)
            return i;
    for (uint32_t i = 0; i < kind->n_args; i++)
        if (PyUnicode_Compare(PyTuple_GetItem(kind->names, i), name) == 0)
            return i;
    ext_swallow();
    return UINT32_MAX;
}

/* ---- attributes ---- */

bool ops_has_tensors(PyObject *object)
{
    Py_ssize_t n;

    if (tensor_is(object))
        return true;
    if (PyList_Check(object)) {
        n = PyList_Size(object);
        for (Py_ssize_t i = 0; i < n; i++)
            if (tensor_is(PyList_GetItem(object, i)))
                return true;
    } else if (PyTuple_Check(object)) {
        n = PyTuple_Size(object);
        for (Py_ssize_t i = 0; i < n; i++)
            if (tensor_is(PyTuple_GetItem(object, i)))
                return true;
    }
    return false;
}

static void put_number(struct buf *to, char tag, const void *number)
{
    char bytes[9];

    bytes[0] = tag;
    memcpy(bytes + 1, number, 8);
    buf_add(to, bytes, 9);
}

static bool encode(struct buf *to, PyObject *object, int depth);

static bool encode_items(struct buf *to, PyObject *object, int depth)
{
    bool is_list = PyList_Check(object);
    Py_ssize_t n = is_list ? PyList_Size(object) : PyTuple_Size(object);
    bool good = depth < DEEPEST && n <= (Py_ssize_t)MOST_ITEMS;

    buf_char(to, '[');
    for (Py_ssize_t i = 0; good && i < n; i++)
        good =
            encode(to, is_list ? PyList_GetItem(object, i) : PyTuple_GetItem(object, i),
                   depth + 1);
    buf_char(to, ']');
    return good;
}

/* What torch makes once and never frees is known by its address. */
static bool is_constant(PyObject *object)
{
    const struct torch *torch = torch_find();
    PyTypeObject *type = Py_TYPE(object);

    return type == Py_TYPE(torch->dtypes[DTYPE_FLOAT32]) ||
           type == Py_TYPE(torch->strided);
}

/* Appends bytes that are equal for equal arguments; false: there are none. */
static bool encode(struct buf *to, PyObject *object, int depth)
{
    PyTypeObject *type = Py_TYPE(object);
    long long number;
    const char *text;
    double real;
    Py_ssize_t len;
    int overflow;

    if (object == Py_None) {
        buf_char(to, 'N');
    } else if (object == Py_True || object == Py_False) {
        buf_char(to, object == Py_True ? 'T' : 'F');
    } else if (type == &PyLong_Type) {
        number = PyLong_AsLongLongAndOverflow(object, &overflow);
        put_number(to, 'i', &number);
        return !overflow;
    } else if (type == &PyFloat_Type) {
        real = PyFloat_AsDouble(object);
        put_number(to, 'f', &real);
    } else if (type == &PyList_Type || type == &PyTuple_Type) {
        return encode_items(to, object, depth);
    } else if (type == &PyUnicode_Type) {
        text = PyUnicode_AsUTF8AndSize(object, &len);
        number = text ? (long long)len : 0;
        put_number(to, 's', &number);
        buf_add(to, text ? text : "", (size_t)number);
    } else if (is_constant(object)) {
        uint64_t address = (uintptr_t)object;

        put_number(to, 'c', &address);
    } else {
        return false;
    }
    return true;
}

static bool encode_arguments(struct buf *to, const struct ops_kind *kind,
                             PyObject *args, PyObject *kwargs)
{
    Py_ssize_t n = PyTuple_Size(args), at = 0;
    PyObject *key, *value;
    uint64_t number = kind->number;

    put_number(to, 'k', &number);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *one = PyTuple_GetItem(args, i);

        if (ops_has_tensors(one))
            buf_char(to, 't');
        else if (!encode(to, one, 0))
            return false;
    }
    while (kwargs && PyDict_Next(kwargs, &at, &key, &value)) {
        number = ops_position(kind, key);
        put_number(to, '=', &number);
        if (ops_has_tensors(value))
            buf_char(to, 't');
        else if (!encode(to, value, 0))
            return false;
    }
    return !to->bad;
}

static void put_item(struct recorder_ops *ops, const struct ops_kind *kind,
                     uint32_t arg, uint32_t value, uint32_t *items, uint32_t *n)
{
    struct values *values = trace_values(ops->recorder->trace);
    const char *name = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(kind->names, arg), NULL);

    if (!name || value == VALUE_ID_FAILED)
        return;
    items[(*n)++] = value_str(values, str_of(name));
    items[(*n)++] = value;
}

/* All arguments that are not tensors, in the order of the schema; those that were not
 * given have their defaults. */
static uint32_t make_attributes(struct recorder_ops *ops, const struct ops_kind *kind,
                                PyObject *args, PyObject *kwargs)
{
    struct values *values = trace_values(ops->recorder->trace);
    Py_ssize_t n_args = PyTuple_Size(args);
    uint32_t *items = malloc((2 * (size_t)kind->n_args + 2) * sizeof *items), n = 0, id;

    if (!items)
        return VALUE_ID_NONE;
    for (uint32_t i = 0; i < kind->n_args; i++) {
        PyObject *one = i < n_args ? PyTuple_GetItem(args, (Py_ssize_t)i) : NULL;

        if (!one && kwargs)
            one = PyDict_GetItem(kwargs, PyTuple_GetItem(kind->names, i));
        if (one && ops_has_tensors(one))
            continue;
        put_item(ops, kind, i, one ? plain_value(values, one, 0) : kind->defaults[i],
                 items, &n);
    }
    id = n ? value_make(values, VALUE_DICT, STR(""), items, n) : VALUE_ID_NONE;
    free(items);
    ext_swallow();
    return id == VALUE_ID_FAILED ? VALUE_ID_NONE : id;
}

uint32_t ops_attributes(struct recorder_ops *ops, const struct ops_kind *kind,
                        PyObject *args, PyObject *kwargs)
{
    uint64_t hash;
    uint32_t id;
    bool good;

    buf_clear(&ops->encoded);
    good = encode_arguments(&ops->encoded, kind, args, kwargs);
    ext_swallow();
    if (!good)
        return make_attributes(ops, kind, args, kwargs);
    hash = str_hash(buf_span(&ops->encoded));
    if (map_find(&ops->attributes, hash, &id))
        return id;
    id = make_attributes(ops, kind, args, kwargs);
    map_put(&ops->attributes, hash, id);
    return id;
}

int64_t ops_formula(const struct ops_kind *kind, PyObject *args, PyObject *kwargs,
                    PyObject *result)
{
    PyObject *answer, *none;
    long long number = OP_NO_FLOPS;

    if (!kind->formula)
        return OP_NO_FLOPS;
    none = kwargs ? NULL : PyDict_New();
    answer = PyObject_CallFunctionObjArgs(kind->formula, args, kwargs ? kwargs : none,
                                          result, NULL);
    Py_XDECREF(none);
    if (answer && PyLong_Check(answer))
        number = PyLong_AsLongLong(answer);
    ext_swallow();
    Py_XDECREF(answer);
    return number < 0 ? OP_NO_FLOPS : (int64_t)number;
}
