/* live_value.c - converts plain Python values to values of the model; names classes.
 * Runs no user code: it reads built-in types directly, and the __dict__ of other
 * objects. */
#include "ext/live/live_in.h"

#include "base/base.h"

#define VALUE_DEPTH  16
#define VALUE_ITEMS  10000
#define BYTES_KEPT   64
#define VALUE_NODES  50000 /* per attribute */
#define OBJECT_NODES 2000  /* per object attribute: it may refer to many others */

static uint32_t any(struct live_walk *walk, PyObject *object, int depth);

static uint32_t cut(struct live_walk *walk, const char *why, uint32_t left_out)
{
    return value_make(build_values(&walk->build), VALUE_CUT, str_of(why), NULL,
                      left_out);
}

/* ---- names ---- */

static struct str text_attribute(struct live_walk *walk, PyObject *object,
                                 const char *name)
{
    PyObject *value = PyObject_GetAttrString(object, name);
    struct str text = STR("");

    ext_swallow();
    if (value && PyUnicode_Check(value) && live_hold(walk, value))
        text = live_text(walk, value);
    Py_XDECREF(value);
    return text;
}

static struct str qualified(struct live_walk *walk, PyObject *named)
{
    struct str module = text_attribute(walk, named, "__module__");
    struct str name = text_attribute(walk, named, "__qualname__");
    char *full;

    if (module.len == 0)
        return name;
    full =
        arena_printf(&walk->build.scratch, "%.*s.%.*s", STR_ARG(module), STR_ARG(name));
    return full ? str_of(full) : STR("");
}

bool live_is_function(const struct live_walk *walk, PyObject *object)
{
    Py_ssize_t n = PyTuple_Size(walk->function_types);

    for (Py_ssize_t i = 0; i < n; i++)
        if ((PyObject *)Py_TYPE(object) == PyTuple_GetItem(walk->function_types, i))
            return true;
    return false;
}

/* The function inside a partial or a torch hook wrapper; NULL: neither. */
static PyObject *wrapped_function(PyObject *object)
{
    struct str type = STR("");
    PyObject *name = PyType_GetQualName(Py_TYPE(object)), *inner = NULL;

    if (name)
        type = str_of(PyUnicode_AsUTF8AndSize(name, NULL));
    if (str_is(type, "partial"))
        inner = PyObject_GetAttrString(object, "func");
    else if (str_is(type, "_WrappedHook")) /* torch's wrapper of a hook */
        inner = PyObject_GetAttrString(object, "hook");
    ext_swallow();
    Py_XDECREF(name);
    return inner;
}

struct str live_global_name(struct live_walk *walk, PyObject *object)
{
    PyObject *inner = NULL;
    struct str name;

    if (!PyType_Check(object) && !live_is_function(walk, object))
        inner = wrapped_function(object);
    if (inner && live_hold(walk, inner))
        object = inner;
    Py_XDECREF(inner);
    /* As in files: a method has only its name, since it belongs to an object. */
    if ((PyObject *)Py_TYPE(object) == PyTuple_GetItem(walk->function_types, 0))
        name = text_attribute(walk, object, "__name__");
    else if (PyType_Check(object) || live_is_function(walk, object))
        name = qualified(walk, object);
    else
        name = qualified(walk, (PyObject *)Py_TYPE(object));
    return name;
}

/* ---- classes ---- */

/* The original of a class that torch generates at run time, named "Parametrized" or
 * "FSDP" + the original name. Borrowed. */
static PyObject *original_class(struct live_walk *walk, PyObject *type)
{
    static const struct {
        const char *prefix, *module;
    } made[] = {
        {"Parametrized", "torch.nn.utils.parametrize"},
        {"FSDP", "torch.distributed"},
    };
    struct str name = text_attribute(walk, type, "__name__");
    struct str module = text_attribute(walk, type, "__module__");
    PyObject *bases = PyObject_GetAttrString(type, "__bases__");

    ext_swallow();
    if (!bases || !PyTuple_Check(bases) || !live_hold(walk, bases)) {
        Py_XDECREF(bases);
        return type;
    }
    for (size_t i = 0; i < COUNT_OF(made); i++) {
        if (!str_starts(name, str_of(made[i].prefix)) ||
            !str_starts(module, str_of(made[i].module)))
            continue;
        for (Py_ssize_t b = 0; b < PyTuple_Size(bases); b++) {
            PyObject *base = PyTuple_GetItem(bases, b);

            if (str_eq(text_attribute(walk, base, "__name__"),
                       str_from(name, str_of(made[i].prefix).len))) {
                Py_DECREF(bases);
                return base;
            }
        }
    }
    Py_DECREF(bases);
    return type;
}

/* Each GraphModule has its own generated class; names it as files do. */
static struct str class_name(struct live_walk *walk, PyObject *type)
{
    struct str name = qualified(walk, type), given;
    char *full;

    if (!str_ends(name, STR("<locals>.GraphModuleImpl")))
        return name;
    given = text_attribute(walk, type, "__name__");
    if (str_is(given, "GraphModuleImpl"))
        given = STR("GraphModule");
    full = arena_printf(&walk->build.scratch, "torch.fx.graph_module.%.*s",
                        STR_ARG(given));
    return full ? str_of(full) : name;
}

/* The names of all base classes except object, in method resolution order. */
static uint32_t bases_of(struct live_walk *walk, PyObject *type)
{
    PyObject *order = PyObject_GetAttrString(type, "__mro__");
    uint32_t names[32], n = 0, value = VALUE_ID_NONE;

    ext_swallow();
    for (Py_ssize_t i = 1; order && PyTuple_Check(order) && i < PyTuple_Size(order);
         i++) {
        PyObject *base = PyTuple_GetItem(order, i);

        if (base == (PyObject *)&PyBaseObject_Type || n == COUNT_OF(names))
            break;
        names[n] = value_str(build_values(&walk->build), qualified(walk, base));
        if (names[n] != VALUE_ID_FAILED)
            n++;
    }
    Py_XDECREF(order);
    if (n > 0)
        value = value_make(build_values(&walk->build), VALUE_LIST, STR(""), names, n);
    return value == VALUE_ID_FAILED ? VALUE_ID_NONE : value;
}

/* Records the Python class of a class id. */
static void keep_class(struct live_walk *walk, uint32_t id, PyObject *type)
{
    struct live *live = walk->live;

    while (live->n_classes <= id) {
        if (arena_room(&live->arena, &live->classes, live->n_classes,
                       &live->classes_room, sizeof *live->classes) < 0)
            return;
        live->classes[live->n_classes++] = NULL;
    }
    if (!live->classes[id])
        live->classes[id] = PyWeakref_NewRef(type, NULL);
    ext_swallow();
}

uint32_t live_class(struct live_walk *walk, PyTypeObject *asked)
{
    PyObject *type;
    uint32_t id;

    if (map_find(&walk->by_type, (uintptr_t)asked, &id))
        return id;
    if (!live_hold(walk, (PyObject *)asked))
        return NO_CLASS;
    type = original_class(walk, (PyObject *)asked);
    id = build_class(&walk->build, class_name(walk, type));
    if (id == NO_CLASS)
        return id;
    if (walk->build.model->classes[id].bases == VALUE_ID_NONE) {
        uint32_t bases = bases_of(walk, type);

        walk->build.model->classes[id].bases = bases;
    }
    keep_class(walk, id, type);
    map_put(&walk->by_type, (uintptr_t)asked, id);
    return id;
}

/* ---- values ---- */

static uint32_t integer_value(struct live_walk *walk, PyObject *object)
{
    int overflow = 0;
    long long integer = PyLong_AsLongLongAndOverflow(object, &overflow);
    uint32_t value;
    PyObject *text;

    if (!overflow && !ext_swallow())
        return value_int(build_values(&walk->build), integer);
    text = PyObject_Str(object);
    if (!text) { /* Python refuses to write thousands of decimal digits */
        ext_swallow();
        text = PyNumber_ToBase(object, 16);
    }
    if (!text || !live_hold(walk, text)) {
        ext_swallow();
        Py_XDECREF(text);
        return cut(walk, "too large", 0);
    }
    value = value_make(build_values(&walk->build), VALUE_BIGINT, live_text(walk, text),
                       NULL, 0);
    Py_DECREF(text);
    return value;
}

static uint32_t bytes_value(struct live_walk *walk, PyObject *object)
{
    struct str all = str_span(PyBytes_AsString(object), (size_t)PyBytes_Size(object));

    return value_bytes(build_values(&walk->build), str_head(all, BYTES_KEPT), all.len);
}

/* Collects a value of the container being read. All levels share one array, as a
 * stack. */
static int collect(struct live_walk *walk, uint32_t value)
{
    struct live_pairs *list = &walk->collected;

    if (value == VALUE_ID_FAILED || arena_room(&walk->build.scratch, &list->at, list->n,
                                               &list->room, sizeof *list->at) < 0)
        return -1;
    list->at[list->n++] = value;
    return 0;
}

/* Makes a value from everything collected since `from`, and pops it. */
static uint32_t make_collected(struct live_walk *walk, enum value_kind kind,
                               struct str text, uint32_t from, int status)
{
    struct live_pairs *list = &walk->collected;
    uint32_t n = list->n - from;

    list->n = from;
    if (status < 0)
        return VALUE_ID_FAILED;
    return value_make(build_values(&walk->build), kind, text,
                      n > 0 ? list->at + from : NULL, n);
}

static int collect_pairs(struct live_walk *walk, PyObject *dict, int depth)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;

    for (uint32_t n = 0; PyDict_Next(dict, &at, &key, &value); n++) {
        if (n == VALUE_ITEMS) {
            uint32_t rest =
                cut(walk, "too many items", (uint32_t)PyDict_Size(dict) - n);

            return collect(walk, rest) < 0 || collect(walk, rest) < 0 ? -1 : 0;
        }
        if (!live_hold(walk, key) || !live_hold(walk, value) ||
            collect(walk, any(walk, key, depth)) < 0 ||
            collect(walk, any(walk, value, depth)) < 0)
            return -1;
    }
    return 0;
}

static uint32_t dict_value(struct live_walk *walk, PyObject *dict, int depth)
{
    uint32_t from = walk->collected.n;
    int status = collect_pairs(walk, dict, depth);

    return make_collected(walk, VALUE_DICT, STR(""), from, status);
}

static int collect_items(struct live_walk *walk, PyObject *items, int depth)
{
    bool tuple = PyTuple_Check(items);
    Py_ssize_t n = tuple ? PyTuple_Size(items) : PyList_Size(items);

    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = tuple ? PyTuple_GetItem(items, i) : PyList_GetItem(items, i);

        if (!item) { /* the list shrank meanwhile */
            ext_swallow();
            break;
        }
        if (i == VALUE_ITEMS)
            return collect(walk, cut(walk, "too many items", (uint32_t)(n - i)));
        if (!live_hold(walk, item) || collect(walk, any(walk, item, depth)) < 0)
            return -1;
    }
    return 0;
}

/* A list or tuple, or a set converted to a list. */
static uint32_t items_value(struct live_walk *walk, PyObject *items, int depth,
                            enum value_kind kind)
{
    uint32_t from = walk->collected.n;
    int status = collect_items(walk, items, depth);

    return make_collected(walk, kind, STR(""), from, status);
}

static uint32_t set_value(struct live_walk *walk, PyObject *set, int depth)
{
    PyObject *list = PySequence_List(set);
    uint32_t value = VALUE_ID_NONE;

    ext_swallow();
    if (list)
        value = items_value(walk, list, depth, VALUE_SET);
    Py_XDECREF(list);
    return value;
}

/* Would a file hold its attributes? True if it uses the default pickling and is not an
 * nn.Module, a tensor or a Python module. */
static bool has_plain_state(struct live_walk *walk, PyObject *object)
{
    static const char *const ways[] = {"__reduce_ex__", "__reduce__"};
    bool plain = !live_is_module(walk, object) && !live_is_tensor(walk, object) &&
                 !PyModule_Check(object);

    for (size_t i = 0; plain && i < COUNT_OF(ways); i++) {
        PyObject *own = PyObject_GetAttrString((PyObject *)Py_TYPE(object), ways[i]);
        PyObject *usual =
            PyObject_GetAttrString((PyObject *)&PyBaseObject_Type, ways[i]);

        ext_swallow();
        plain = own && own == usual;
        Py_XDECREF(own);
        Py_XDECREF(usual);
    }
    return plain;
}

/* An object such as a configuration: its class and attributes. An object inside itself,
 * or nested too deep, gets only its class name. */
static uint32_t inner_object(struct live_walk *walk, PyObject *object, int depth)
{
    struct str name = live_global_name(walk, object);
    uint32_t from = walk->collected.n;
    PyObject *dict = NULL;
    int status = 0;

    for (uint32_t i = 0; i < walk->n_inside; i++)
        if (walk->inside[i] == object)
            return value_make(build_values(&walk->build), VALUE_OBJECT, name, NULL, 0);
    if (walk->n_inside < COUNT_OF(walk->inside) && has_plain_state(walk, object))
        dict = PyObject_GenericGetDict(object, NULL);
    ext_swallow();
    if (dict && PyDict_Check(dict) && live_hold(walk, dict)) {
        walk->inside[walk->n_inside++] = object;
        status = collect_pairs(walk, dict, depth);
        walk->n_inside--;
    }
    Py_XDECREF(dict);
    return make_collected(walk, VALUE_OBJECT, name, from, status);
}

/* Modules often share one object, such as a configuration: reads it only once. */
static uint32_t object_value(struct live_walk *walk, PyObject *object, int depth)
{
    uint32_t value;

    if (walk->n_inside > 0)
        return inner_object(walk, object, depth);
    if (map_find(&walk->by_object, (uintptr_t)object, &value))
        return value;
    if (walk->values_left > OBJECT_NODES)
        walk->values_left = OBJECT_NODES;
    value = inner_object(walk, object, depth);
    if (value != VALUE_ID_FAILED)
        map_put(&walk->by_object, (uintptr_t)object, value);
    return value;
}

/* torch.float32, torch.device('cpu'), a function, a class, or any other object. */
static uint32_t other_value(struct live_walk *walk, PyObject *object, int depth)
{
    struct values *values = build_values(&walk->build);
    uint32_t index, text;
    struct str name;

    if (live_is_tensor(walk, object) &&
        map_find(&walk->live->by_tensor, (uintptr_t)object, &index))
        return value_tensor(values, walk->live->tensors[index].number);
    if (PyType_Check(object) || live_is_function(walk, object))
        return value_make(values, VALUE_GLOBAL, live_global_name(walk, object), NULL,
                          0);
    name = live_global_name(walk, object);
    if (str_is(name, "torch.dtype") || str_is(name, "torch.layout") ||
        str_is(name, "torch.memory_format") || str_is(name, "torch.device")) {
        bool device = str_is(name, "torch.device");
        PyObject *said = PyObject_Str(object);

        ext_swallow();
        if (!said || !live_hold(walk, said)) {
            Py_XDECREF(said);
            return VALUE_ID_NONE;
        }
        Py_DECREF(said);
        if (!device)
            return value_make(values, VALUE_GLOBAL, live_text(walk, said), NULL, 0);
        text = value_str(values, live_text(walk, said));
        if (text == VALUE_ID_FAILED)
            return text;
        return value_make(values, VALUE_CALL, name, &text, 1);
    }
    return object_value(walk, object, depth);
}

static uint32_t text_value(struct live_walk *walk, PyObject *object)
{
    Py_ssize_t len = 0;
    const char *at = PyUnicode_AsUTF8AndSize(object, &len);

    if (at)
        return value_str(build_values(&walk->build), str_span(at, (size_t)len));
    ext_swallow();
    return value_str(build_values(&walk->build), live_text(walk, object));
}

static uint32_t any(struct live_walk *walk, PyObject *object, int depth)
{
    struct values *values = build_values(&walk->build);

    if (object == Py_None)
        return VALUE_ID_NONE;
    if (walk->values_left == 0)
        return cut(walk, "too many values", 0);
    walk->values_left--;
    if (PyBool_Check(object))
        return value_bool(values, object == Py_True);
    if (PyLong_CheckExact(object))
        return integer_value(walk, object);
    if (PyFloat_CheckExact(object))
        return value_real(values, PyFloat_AsDouble(object));
    if (PyUnicode_CheckExact(object))
        return text_value(walk, object);
    if (PyBytes_CheckExact(object))
        return bytes_value(walk, object);
    if (depth == VALUE_DEPTH)
        return cut(walk, "too deep", 0);
    if (PyTuple_Check(object))
        return items_value(walk, object, depth + 1, VALUE_TUPLE);
    if (PyList_Check(object))
        return items_value(walk, object, depth + 1, VALUE_LIST);
    if (PyDict_Check(object))
        return dict_value(walk, object, depth + 1);
    if (Py_TYPE(object) == &PySet_Type || Py_TYPE(object) == &PyFrozenSet_Type)
        return set_value(walk, object, depth + 1);
    return other_value(walk, object, depth + 1);
}

uint32_t live_value(struct live_walk *walk, PyObject *object)
{
    walk->values_left = VALUE_NODES;
    walk->n_inside = 0;
    return any(walk, object, 0);
}
