/* live_attributes.c - lists the attributes of live objects, one level at a time.
 * Listing runs no user code: it reads the dicts of objects and classes directly. A
 * property runs only when the user unfolds it; if it raises, the exception is shown as
 * its value. */
#include "ext/live/live_in.h"

#include <stdlib.h>

#include "base/base.h"
#include "base/buf.h"
#include "ext/interrupts.h"

#define MOST 200 /* attributes per listing; the last one unfolds to the rest */

/* The target of a handle. */
struct live_handle {
    PyObject *object; /* owned */
    PyObject *name;   /* owned; a property; None: repr(); NULL: list the attributes */
    uint32_t first;   /* how many attributes to skip */
};

/* A listing being built. */
struct listing {
    struct live_source *source;
    const struct torch *torch;
    PyObject *object; /* owner of the attributes */
    struct arena *arena;
    struct attribute *at;
    uint32_t n, room;
    uint32_t first, met; /* how many to skip, and how many were visited */
    struct buf text;     /* scratch */
    PyObject *seen;      /* a set: names that hide those of base classes */
};

/* ---- handles ---- */

static uint32_t add_handle(struct live_source *source, PyObject *object, PyObject *name,
                           uint32_t first)
{
    if (!buf_grow_array(&source->handles, source->n_handles, &source->handles_room,
                        sizeof *source->handles))
        return NO_ATTRIBUTE;
    source->handles[source->n_handles] =
        (struct live_handle){Py_NewRef(object), Py_XNewRef(name), first};
    return source->n_handles++;
}

void live_forget(struct source *source)
{
    struct live_source *self = (struct live_source *)source;
    struct live_handle *handles = self->handles;
    uint32_t n = self->n_handles;

    /* Py_DECREF may run user code, which may list attributes again. */
    self->handles = NULL;
    self->n_handles = self->handles_room = 0;
    for (uint32_t i = 0; i < n; i++) {
        Py_DECREF(handles[i].object);
        Py_XDECREF(handles[i].name);
    }
    free(handles);
}

/* ---- one attribute ---- */

/* The place of an object in the tree, or NO_PLACE. */
static uint32_t place_of(const struct live_source *source, PyObject *object)
{
    uint32_t number;

    if (!source->live)
        return NO_PLACE;
    number = live_tensor_number(source->live, object);
    if (number != NO_OBJECT && number < source->model->n_tensors)
        return source->model->tensors[number].place;
    number = live_known_object(source->live, object);
    if (number != NO_OBJECT && number < source->model->n_objects)
        return source->model->objects[number].place;
    return NO_PLACE;
}

/* Appends an empty attribute. NULL: skipped, the listing is full, or no memory. */
static struct attribute *next(struct listing *list)
{
    if (list->met++ < list->first || list->n >= MOST ||
        arena_room(list->arena, &list->at, list->n, &list->room, sizeof *list->at) < 0)
        return NULL;
    list->at[list->n] = (struct attribute){.handle = NO_ATTRIBUTE, .place = NO_PLACE};
    return &list->at[list->n++];
}

static struct str copied(struct listing *list)
{
    struct str text = arena_str(list->arena, buf_span(&list->text));

    return text.at ? text : STR("");
}

static void put(struct listing *list, struct str name, PyObject *value, unsigned flags)
{
    struct attribute *one = next(list);

    if (!one || !value)
        return;
    one->name = arena_str(list->arena, name);
    one->flags = (uint8_t)flags;
    buf_clear(&list->text);
    if (live_describe(&list->text, list->torch, value))
        one->handle = add_handle(list->source, value, NULL, 0);
    one->text = copied(list);
    one->place = place_of(list->source, value);
}

/* The same, with a Python object as name: a key of a dict. */
static void put_named(struct listing *list, PyObject *key, PyObject *value,
                      unsigned flags)
{
    struct buf name = BUF_INIT;

    if (PyUnicode_Check(key))
        live_text_name(&name, key);
    else
        live_describe(&name, list->torch, key);
    put(list, buf_span(&name), value, flags);
    buf_release(&name);
}

/* Adds a property, which runs only when unfolded. `name` is None for repr(). */
static void put_property(struct listing *list, PyObject *name)
{
    struct attribute *one = next(list);

    if (!one)
        return;
    buf_clear(&list->text);
    if (name == Py_None)
        buf_text(&list->text, "repr()");
    else
        live_text_name(&list->text, name);
    one->name = copied(list);
    one->text = name == Py_None ? STR("") : STR("property");
    one->flags = ATTRIBUTE_PROPERTY;
    one->handle = add_handle(list->source, list->object, name, 0);
}

/* Adds the current exception as an attribute, and clears it. */
static void put_raised(struct listing *list)
{
    PyObject *type = NULL, *value = NULL, *trace = NULL, *text, *name;
    struct attribute *one = next(list);

    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    text = value ? PyObject_Str(value) : NULL; /* may run user code */
    PyErr_Clear();
    name = type ? PyType_GetName((PyTypeObject *)type) : NULL;
    buf_clear(&list->text);
    if (name)
        live_text_name(&list->text, name);
    if (text && PyUnicode_GetLength(text) > 0) {
        buf_text(&list->text, ": ");
        live_text_name(&list->text, text);
    }
    PyErr_Clear();
    for (size_t i = 0; i < list->text.len; i++)
        if (list->text.at[i] == '\n')
            list->text.at[i] = ' ';
    if (one) {
        one->text = copied(list);
        one->flags = ATTRIBUTE_RAISED;
    }
    Py_XDECREF(name);
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
}

/* ---- lists and dicts ---- */

static void list_dict(struct listing *list, PyObject *dict)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;

    while (PyDict_Next(dict, &at, &key, &value)) {
        if (list->met < list->first || list->n >= MOST) {
            list->met++;
            continue;
        }
        Py_INCREF(key);
        Py_INCREF(value);
        put_named(list, key, value, ATTRIBUTE_ITEM);
        Py_DECREF(value);
        Py_DECREF(key);
    }
}

/* The field names of a named tuple: a new reference to a tuple, or NULL. */
static PyObject *field_names(PyObject *tuple)
{
    PyObject *own = live_type_attribute(Py_TYPE(tuple), "__dict__"), *names = NULL;

    if (own && PyTuple_Check(tuple))
        names = PyMapping_GetItemString(own, "_fields");
    ext_swallow();
    Py_XDECREF(own);
    if (names && !PyTuple_Check(names))
        Py_CLEAR(names);
    return names;
}

static void list_items(struct listing *list, PyObject *items)
{
    PyObject *names = field_names(items);
    Py_ssize_t n = live_length(items), named = names ? PyTuple_Size(names) : 0;
    char number[24];

    list->met = list->first;
    for (Py_ssize_t i = list->first; i < n && list->n < MOST; i++) {
        PyObject *item =
            PyList_Check(items) ? PyList_GetItem(items, i) : PyTuple_GetItem(items, i);

        if (!item) { /* the list shrank meanwhile */
            ext_swallow();
            break;
        }
        Py_INCREF(item);
        PyOS_snprintf(number, sizeof number, "%zd", i);
        if (i < named && PyUnicode_Check(PyTuple_GetItem(names, i)))
            put_named(list, PyTuple_GetItem(names, i), item, ATTRIBUTE_ITEM);
        else
            put(list, str_of(number), item, ATTRIBUTE_ITEM);
        Py_DECREF(item);
    }
    if (list->met < (uint32_t)n)
        list->met = (uint32_t)n;
    Py_XDECREF(names);
}

/* Iterates with the built-in set iterator, so a subclass's __iter__() does not run. */
static void list_set(struct listing *list, PyObject *set)
{
    PyTypeObject *type = PySet_Check(set) ? &PySet_Type : &PyFrozenSet_Type;
    getiterfunc iterate = (getiterfunc)PyType_GetSlot(type, Py_tp_iter);
    PyObject *iterator = iterate ? iterate(set) : NULL, *item;

    while (iterator && (item = PyIter_Next(iterator)) != NULL) {
        put(list, STR(""), item, ATTRIBUTE_ITEM);
        Py_DECREF(item);
    }
    ext_swallow();
    Py_XDECREF(iterator);
}

/* ---- class members ---- */

enum member { MEMBER_NONE, MEMBER_VALUE, MEMBER_SLOT, MEMBER_PROPERTY };

/* Which members to list: public ones come first, properties last. */
enum live_attributes_listed { LISTED_PUBLIC, LISTED_PRIVATE, LISTED_PROPERTIES };

static enum member member_kind(PyObject *value)
{
    static const struct {
        const char *name;
        enum member kind;
    } kinds[] = {
        {"property", MEMBER_PROPERTY},      {"cached_property", MEMBER_PROPERTY},
        {"member_descriptor", MEMBER_SLOT}, {"getset_descriptor", MEMBER_PROPERTY},
        {"classmethod", MEMBER_NONE},       {"staticmethod", MEMBER_NONE},
    };
    PyTypeObject *type = Py_TYPE(value);
    PyObject *name = PyType_GetName(type);
    enum member kind = MEMBER_VALUE;
    size_t i;

    for (i = 0; name && i < COUNT_OF(kinds); i++)
        if (PyUnicode_CompareWithASCIIString(name, kinds[i].name) == 0)
            break;
    if (name && i < COUNT_OF(kinds))
        kind = kinds[i].kind;
    else if (PyType_GetSlot(type, Py_tp_descr_get))
        kind = PyCallable_Check(value) ? MEMBER_NONE : MEMBER_PROPERTY;
    ext_swallow();
    Py_XDECREF(name);
    return kind;
}

/* Is the name internal to Python or to its abc and typing modules? */
static bool is_machinery(PyObject *name)
{
    Py_ssize_t len = 0;
    const char *at = PyUnicode_AsUTF8AndSize(name, &len);
    struct str text = str_span(at, at ? (size_t)len : 0);

    ext_swallow();
    return !at || str_starts(text, STR("__")) || str_starts(text, STR("_abc_")) ||
           str_is(text, "_is_protocol") || str_is(text, "_is_runtime_protocol");
}

/* Was the name not seen yet? Marks it as seen. */
static bool is_new(struct listing *list, PyObject *name)
{
    int known = PySet_Contains(list->seen, name);

    if (known == 0)
        known = PySet_Add(list->seen, name);
    ext_swallow();
    return known == 0;
}

static bool is_private(PyObject *name)
{
    return PyUnicode_GetLength(name) > 0 && PyUnicode_ReadChar(name, 0) == '_';
}

static void list_member(struct listing *list, PyObject *name, PyObject *value,
                        enum live_attributes_listed listed)
{
    enum member kind = member_kind(value);
    enum live_attributes_listed where =
        is_private(name) ? LISTED_PRIVATE : LISTED_PUBLIC;
    PyObject *held;

    if (kind == MEMBER_PROPERTY)
        where = LISTED_PROPERTIES;
    if (where != listed || kind == MEMBER_NONE)
        return;
    if (kind == MEMBER_PROPERTY) {
        put_property(list, name);
    } else if (kind == MEMBER_VALUE) {
        put_named(list, name, value, ATTRIBUTE_CLASS);
    } else {
        held = PyObject_GenericGetAttr(list->object, name);
        ext_swallow(); /* a slot that was never filled */
        if (held)
            put_named(list, name, held, 0);
        Py_XDECREF(held);
    }
}

static void list_class(struct listing *list, PyTypeObject *type,
                       enum live_attributes_listed listed)
{
    PyObject *own = live_type_attribute(type, "__dict__");
    PyObject *items = own ? PyMapping_Items(own) : NULL;
    Py_ssize_t n = items ? PyList_Size(items) : 0;

    ext_swallow();
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *pair = PyList_GetItem(items, i);
        PyObject *name = PyTuple_GetItem(pair, 0);

        if (PyUnicode_CheckExact(name) && !is_machinery(name) && is_new(list, name))
            list_member(list, name, PyTuple_GetItem(pair, 1), listed);
    }
    Py_XDECREF(items);
    Py_XDECREF(own);
}

/* Is this a base class of torch or Python, where listing stops? */
static bool is_end(const struct listing *list, PyObject *type)
{
    return type == (PyObject *)&PyBaseObject_Type ||
           (list->torch && (type == list->torch->module_type ||
                            type == (PyObject *)list->torch->tensor ||
                            type == (PyObject *)list->torch->parameter));
}

/* Lists class members, except those hidden by the object's own attributes. */
static void list_classes(struct listing *list, PyObject *state,
                         enum live_attributes_listed listed)
{
    PyObject *order = live_type_attribute(Py_TYPE(list->object), "__mro__");
    Py_ssize_t n = order && PyTuple_Check(order) ? PyTuple_Size(order) : 0;
    PyObject *key, *value;
    Py_ssize_t at = 0;

    list->seen = PySet_New(NULL);
    while (list->seen && listed != LISTED_PROPERTIES && state &&
           PyDict_Next(state, &at, &key, &value))
        if (PyUnicode_CheckExact(key))
            is_new(list, key);
    for (Py_ssize_t i = 0; list->seen && i < n; i++) {
        PyObject *type = PyTuple_GetItem(order, i);

        if (is_end(list, type))
            break;
        list_class(list, (PyTypeObject *)type, listed);
    }
    ext_swallow();
    Py_CLEAR(list->seen);
    Py_XDECREF(order);
}

/* ---- objects ---- */

/* Is this a private attribute of a module that is unset or empty? */
static bool is_idle(PyObject *name, PyObject *value)
{
    return is_private(name) &&
           (value == Py_None || value == Py_False || live_length(value) == 0);
}

/* Lists the object's own attributes. For a module, `wanted` selects public ones (0),
 * training (1) or private ones (2); -1 selects all. */
static void list_own(struct listing *list, PyObject *state, int wanted)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;

    while (PyDict_Next(state, &at, &key, &value)) {
        int kind = 0;

        if (!PyUnicode_Check(key))
            continue;
        if (PyUnicode_CompareWithASCIIString(key, "training") == 0)
            kind = 1;
        else if (is_private(key))
            kind = is_idle(key, value) ? 3 : 2;
        if (wanted >= 0 && kind != wanted)
            continue;
        Py_INCREF(key);
        Py_INCREF(value);
        put_named(list, key, value, 0);
        Py_DECREF(value);
        Py_DECREF(key);
    }
}

/* Adds torchoscope's forward_stats of a module, unless it has such an attribute. */
static void list_stats(struct listing *list, PyObject *state)
{
    PyObject *module = torch_imported("torchoscope.forward_stats"), *stats = NULL;

    if (module && !(state && PyDict_GetItemString(state, "forward_stats")))
        stats = PyObject_CallMethod(module, "stats_of", "O", list->object);
    ext_swallow();
    if (stats && stats != Py_None)
        put(list, STR("forward_stats"), stats, 0);
    Py_XDECREF(stats);
    Py_XDECREF(module);
}

static void list_object(struct listing *list)
{
    PyObject *state = PyObject_GenericGetDict(list->object, NULL);
    bool module =
        list->torch && PyType_IsSubtype(Py_TYPE(list->object),
                                        (PyTypeObject *)list->torch->module_type);

    ext_swallow();
    if (state && !PyDict_Check(state))
        Py_CLEAR(state);
    list_classes(list, state, LISTED_PUBLIC);
    for (int kind = 0; state && module && kind < 3; kind++)
        list_own(list, state, kind);
    if (state && !module)
        list_own(list, state, -1);
    list_classes(list, state, LISTED_PRIVATE);
    if (module)
        list_stats(list, state);
    list_classes(list, state, LISTED_PROPERTIES);
    if (!module)
        put_property(list, Py_None);
    Py_XDECREF(state);
}

static void list_tensor(struct listing *list)
{
    static const enum torch_attribute facts[] = {NAME_dtype,         NAME_device,
                                                 NAME_requires_grad, NAME_is_leaf,
                                                 NAME_grad,          NAME_grad_fn};
    PyObject *quiet = quiet_begin(list->torch, true);
    PyObject *state = PyObject_GenericGetDict(list->object, NULL);

    ext_swallow();
    for (size_t i = 0; i < COUNT_OF(facts); i++) {
        PyObject *name = list->torch->names[facts[i]];
        PyObject *value = PyObject_GetAttr(list->object, name);

        ext_swallow();
        if (value)
            put_named(list, name, value, 0);
        Py_XDECREF(value);
    }
    if (state && PyDict_Check(state))
        list_own(list, state, -1);
    list_classes(list, state, LISTED_PUBLIC);
    Py_XDECREF(state);
    quiet_end(quiet);
}

/* ---- requests ---- */

/* Lists everything below an object. If it does not fit, adds a last attribute that
 * unfolds to the rest. */
static void list_below(struct listing *list)
{
    PyObject *object = list->object;
    struct attribute *rest;

    if (PyDict_Check(object))
        list_dict(list, object);
    else if (PyList_Check(object) || PyTuple_Check(object))
        list_items(list, object);
    else if (PyAnySet_Check(object))
        list_set(list, object);
    else if (list->torch && PyType_IsSubtype(Py_TYPE(object), list->torch->tensor))
        list_tensor(list);
    else
        list_object(list);
    if (list->met <= list->first + list->n ||
        arena_room(list->arena, &list->at, list->n, &list->room, sizeof *list->at) < 0)
        return;
    rest = &list->at[list->n];
    *rest = (struct attribute){.place = NO_PLACE, .flags = ATTRIBUTE_REST};
    rest->handle = add_handle(list->source, object, NULL, list->first + list->n);
    rest->text = str_of(
        arena_printf(list->arena, "… %u more", list->met - list->first - list->n));
    list->n++;
}

/* Runs a property or repr(); adds the result as an attribute without a name. */
static void list_answer(struct listing *list, PyObject *name)
{
    struct interrupts interrupts;
    PyObject *value;

    interrupts_begin(&interrupts);
    if (name == Py_None)
        value = PyObject_Repr(list->object);
    else
        value = PyObject_GetAttr(list->object, name);
    interrupts_end(&interrupts);
    if (value)
        put(list, STR(""), value, 0);
    else
        put_raised(list);
    Py_XDECREF(value);
}

/* The child of a container or object by name or index; a new reference, or NULL. */
static PyObject *child_of(PyObject *holder, struct str name)
{
    PyObject *key = PyUnicode_DecodeUTF8(name.at, (Py_ssize_t)name.len, "replace");
    PyObject *state = NULL, *child = NULL;
    uint64_t index;

    if (PyDict_Check(holder))
        state = Py_NewRef(holder);
    else if ((PyList_Check(holder) || PyTuple_Check(holder)) &&
             str_to_u64(name, &index) && index < (uint64_t)live_length(holder))
        child = PySequence_GetItem(holder, (Py_ssize_t)index);
    else
        state = PyObject_GenericGetDict(holder, NULL);
    if (key && state && PyDict_Check(state))
        child = Py_XNewRef(PyDict_GetItemWithError(state, key));
    ext_swallow();
    if (child == Py_None)
        Py_CLEAR(child);
    Py_XDECREF(state);
    Py_XDECREF(key);
    return child;
}

/* The object at a place: a new reference, or NULL if deleted. Lists and dicts have no
 * weak references, so they are looked up from the nearest object above that has one. */
static PyObject *object_at(const struct live_source *source, uint32_t place)
{
    const struct model *model = source->model;
    PyObject *holder, *object = NULL;
    uint32_t above = place, depth = 0;

    if (model->kind[place] == PLACE_TENSOR)
        return live_tensor_of(source->live, model->object[place]);
    while (above != NO_PLACE && depth < 16) {
        if (model->kind[above] <= PLACE_GROUP)
            object = live_module(source->live, model->object[above]);
        if (object)
            break;
        above = model->parent[above];
        depth++;
    }
    /* Go down again, one level at a time, to `place`. */
    while (object && depth > 0) {
        uint32_t at = place;

        for (uint32_t d = 1; d < depth; d++)
            at = model->parent[at];
        holder = object;
        object = child_of(holder, place_name(model, at));
        Py_DECREF(holder);
        depth--;
    }
    return object;
}

static int find_object(struct live_source *source, const struct attribute_of *what,
                       struct listing *list, PyObject **ret_name, struct err *err)
{
    const struct live_handle *handle;

    if (what->attribute != NO_ATTRIBUTE) {
        if (what->attribute >= source->n_handles)
            return err_set(err, ERR_USAGE, "the attribute no longer exists");
        handle = &source->handles[what->attribute];
        list->object = Py_NewRef(handle->object);
        list->first = handle->first;
        *ret_name = Py_XNewRef(handle->name);
        return 0;
    }
    if (!source->live)
        return err_set(err, ERR_UNSUPPORTED,
                       "the live model was deleted, with its attributes");
    if (what->place >= source->model->n_places)
        return err_set(err, ERR_USAGE, "there is no place %u", what->place);
    list->object = object_at(source, what->place);
    if (!list->object)
        return err_set(err, ERR_CHANGED, "it was deleted since the model was opened");
    return 0;
}

int live_attributes(struct source *source, const struct attribute_of *what,
                    struct arena *arena, struct attribute **ret_attributes,
                    uint32_t *ret_n, struct err *err)
{
    struct live_source *self = (struct live_source *)source;
    struct listing list = {.source = self, .torch = torch_find(), .arena = arena};
    PyObject *name = NULL;
    int status = 0;

    if (find_object(self, what, &list, &name, err) < 0)
        return -1;
    if (name)
        list_answer(&list, name);
    else
        list_below(&list);
    ext_swallow();
    Py_XDECREF(name);
    Py_DECREF(list.object);
    buf_release(&list.text);
    if (arena->spent)
        status = arena_err(arena, "what is below it", err);
    if (status == 0) {
        *ret_attributes = list.at;
        *ret_n = list.n;
    }
    return status;
}
