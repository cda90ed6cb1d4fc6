/* Kinds of operations, and the arguments that are not tensors.
 *
 * Arguments are hashed first, with 64 bits: equal hashes are equal arguments, which were
 * converted before. */
#include "ext/record/ops_in.h"

#include <stdlib.h>
#include <string.h>

#include "ext/torch/torch.h"

#include "run/op_table.h"

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

/* The name of an object: "float32", "strided", "cpu". */
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

/* Numbers and names; for other objects, their class. */
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

/* Fills a kind from the result of describe(func): (name, overload, names, defaults,
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
    kind->flags = (uint8_t)(op_has_flops(str_of(name)) ? flags | OP_COUNTED : flags);
    kind->n_args = (uint32_t)PyTuple_Size(kind->names);
    if (!trace || !fill_defaults(kind, trace_values(trace), defaults))
        return false;
    kind->seeds = strcmp(name, "aten::ones_like") == 0;
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

/* The hash of the arguments so far. `tensors`: the last one held tensors. */
struct argument_hash {
    const struct torch *torch;
    uint64_t hash;
    bool tensors;
};

static void mix(struct argument_hash *to, char tag, uint64_t value)
{
    to->hash = hash_mix(hash_mix(to->hash, (uint64_t)tag), value);
}

static bool mix_argument(struct argument_hash *to, PyObject *object, int depth);

static bool mix_items(struct argument_hash *to, PyObject *object, int depth)
{
    bool is_list = PyList_Check(object);
    Py_ssize_t n = is_list ? PyList_Size(object) : PyTuple_Size(object);
    bool good = depth < DEEPEST && n <= (Py_ssize_t)MOST_ITEMS;

    mix(to, '[', (uint64_t)n);
    for (Py_ssize_t i = 0; i < n && (good || depth == 0); i++) {
        PyObject *item =
            is_list ? PyList_GetItem(object, i) : PyTuple_GetItem(object, i);

        to->tensors = false;
        good = mix_argument(to, item, depth + 1) && good;
        if (to->tensors && depth == 0)
            return true; /* a list of tensors: none of it is an attribute */
    }
    return good;
}

/* Objects that torch creates once and never frees are identified by address. */
static bool is_constant(const struct torch *torch, PyTypeObject *type)
{
    return type == Py_TYPE(torch->dtypes[DTYPE_FLOAT32]) ||
           type == Py_TYPE(torch->strided);
}

/* Equal arguments have equal hashes; false: not hashable. Recognises tensors in an
 * argument and in the items of a list, like ops_has_tensors(). */
static bool mix_argument(struct argument_hash *to, PyObject *object, int depth)
{
    PyTypeObject *type = Py_TYPE(object);
    long long number;
    const char *text;
    double real;
    Py_ssize_t len;
    int overflow;

    if (type == to->torch->tensor || type == to->torch->parameter) {
        to->tensors = depth <= 1;
        return to->tensors;
    } else if (object == Py_None) {
        mix(to, 'N', 0);
    } else if (type == &PyBool_Type) {
        mix(to, 'b', object == Py_True);
    } else if (type == &PyLong_Type) {
        number = PyLong_AsLongLongAndOverflow(object, &overflow);
        mix(to, 'i', (uint64_t)number);
        return !overflow;
    } else if (type == &PyFloat_Type) {
        uint64_t bits;

        real = PyFloat_AsDouble(object);
        memcpy(&bits, &real, sizeof bits);
        mix(to, 'f', bits);
    } else if (type == &PyList_Type || type == &PyTuple_Type) {
        return mix_items(to, object, depth);
    } else if (type == &PyUnicode_Type) {
        text = PyUnicode_AsUTF8AndSize(object, &len);
        mix(to, 's', text ? str_hash(str_span(text, (size_t)len)) : 0);
    } else if (is_constant(to->torch, type)) {
        mix(to, 'c', (uintptr_t)object);
    } else {
        to->tensors = depth <= 1 && tensor_is(object);
        return to->tensors;
    }
    return true;
}

/* One argument, unless it holds tensors. */
static bool mix_whole(struct argument_hash *to, PyObject *object)
{
    uint64_t before = to->hash;
    bool good;

    to->tensors = false;
    good = mix_argument(to, object, 0);
    if (to->tensors)
        to->hash = hash_mix(before, 't');
    return good;
}

static bool hash_arguments(struct argument_hash *to, const struct ops_kind *kind,
                           PyObject *args, PyObject *kwargs)
{
    Py_ssize_t n = PyTuple_Size(args), at = 0;
    PyObject *key, *value;

    for (Py_ssize_t i = 0; i < n; i++)
        if (!mix_whole(to, PyTuple_GetItem(args, i)))
            return false;
    while (kwargs && PyDict_Next(kwargs, &at, &key, &value)) {
        mix(to, '=', ops_position(kind, key));
        if (!mix_whole(to, value))
            return false;
    }
    return true;
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

/* All non-tensor arguments in the order of the schema, with defaults for missing
 * ones. */
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
    struct argument_hash hash = {.torch = torch_find(),
                                 .hash = hash_mix('k', kind->number)};
    bool good = hash_arguments(&hash, kind, args, kwargs);
    uint32_t id;

    ext_swallow();
    if (!good)
        return make_attributes(ops, kind, args, kwargs);
    if (map_find(&ops->attributes, hash.hash, &id))
        return id;
    id = make_attributes(ops, kind, args, kwargs);
    map_put(&ops->attributes, hash.hash, id);
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
