/* live.c - entry points: builds a model from a live object, and maps Python objects to
 * objects of the model and back. */
#include "ext/live/live_in.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"

/* ---- making ---- */

/* The types of methods, functions and built-in functions, from the types module. */
static PyObject *find_function_types(void)
{
    PyObject *types = PyImport_ImportModule("types"), *found = NULL;
    PyObject *function = NULL, *builtin = NULL, *method = NULL;

    if (types) {
        function = PyObject_GetAttrString(types, "FunctionType");
        builtin = PyObject_GetAttrString(types, "BuiltinFunctionType");
        method = PyObject_GetAttrString(types, "MethodType");
    }
    if (function && builtin && method)
        found = PyTuple_Pack(3, method, function, builtin);
    Py_XDECREF(method);
    Py_XDECREF(builtin);
    Py_XDECREF(function);
    Py_XDECREF(types);
    return found;
}

static struct live *live_new(void)
{
    struct live *live = calloc(1, sizeof *live);

    if (!live)
        return NULL;
    arena_init(&live->arena, LIVE_LIMIT);
    map_init(&live->by_module, &live->arena);
    map_init(&live->by_tensor, &live->arena);
    map_init(&live->by_hooks, &live->arena);
    return live;
}

void live_free(struct live *live)
{
    if (!live)
        return;
    if (live->source)
        live->source->live = NULL;
    for (uint32_t i = 0; i < live->n_modules; i++)
        Py_XDECREF(live->modules[i].weak);
    for (uint32_t i = 0; i < live->n_tensors; i++)
        Py_XDECREF(live->tensors[i].weak);
    for (uint32_t i = 0; i < live->n_classes; i++)
        Py_XDECREF(live->classes[i]);
    arena_release(&live->arena);
    free(live);
}

static int walk_init(struct live_walk *walk, const char *name, struct err *err)
{
    walk->torch = torch_find();
    if (!walk->torch)
        return err_set(err, ERR_USAGE, "%s holds no module: torch is not imported",
                       name);
    if (build_init(&walk->build, name, LIVE_LIMIT, NULL, err) < 0)
        return -1;
    walk->build.model->format = "live module";
    walk->build.model->live = true;
    map_init(&walk->by_key, &walk->build.scratch);
    map_init(&walk->by_type, &walk->build.scratch);
    map_init(&walk->by_object, &walk->build.scratch);
    map_init(&walk->by_storage, &walk->build.scratch);
    walk->live = live_new();
    walk->source = live_source_new();
    if (walk->source)
        walk->build.model->source = &walk->source->source; /* now owned by the model */
    walk->held = PyList_New(0);
    walk->function_types = find_function_types();
    walk->parameter_class =
        build_class(&walk->build, STR("torch.nn.parameter.Parameter"));
    if (!walk->live || !walk->source || !walk->held || !walk->function_types)
        return err_set(err, ERR_LIMIT, "no memory left for a model");
    return 0;
}

static void walk_release(struct live_walk *walk)
{
    build_release(&walk->build);
    live_free(walk->live);
    Py_XDECREF(walk->held);
    Py_XDECREF(walk->function_types);
}

/* Maps numbers to index + 1 in `known`; NULL: out of memory. */
static uint32_t *numbered(struct live *live, const struct live_known *known, uint32_t n,
                          uint32_t n_numbers)
{
    uint32_t *of = arena_array(&live->arena, (size_t)n_numbers + 1, sizeof *of);

    for (uint32_t i = 0; of && i < n; i++)
        if (known[i].weak && known[i].number < n_numbers && !of[known[i].number])
            of[known[i].number] = i + 1;
    return of;
}

/* Finds the modules that are not inside another module. */
static int find_roots(struct live *live, const struct model *model)
{
    for (uint32_t p = 0; p < model->n_places;) {
        uint32_t index = 0;

        if (model->kind[p] != PLACE_MODULE) {
            p++;
            continue;
        }
        if (model->object[p] < live->n_module_of && !(model->flags[p] & PLACE_AGAIN))
            index = live->module_of[model->object[p]];
        if (index > 0) {
            if (arena_room(&live->arena, &live->roots, live->n_roots, &live->roots_room,
                           sizeof *live->roots) < 0)
                return -1;
            live->roots[live->n_roots++] = index - 1;
        }
        p = model->end[p];
    }
    return 0;
}

static int finish_live(struct live *live, const struct model *model, bool checkpoint,
                       struct err *err)
{
    live->module_of = numbered(live, live->modules, live->n_modules, model->n_objects);
    live->tensor_of = numbered(live, live->tensors, live->n_tensors, model->n_tensors);
    if (!live->module_of || !live->tensor_of)
        return arena_err(&live->arena, model->path, err);
    live->n_module_of = model->n_objects;
    live->n_tensor_of = model->n_tensors;
    if (find_roots(live, model) < 0)
        return arena_err(&live->arena, model->path, err);
    if (live->n_roots == 0 && !checkpoint)
        return err_set(err, ERR_USAGE, "%s holds no module", model->path);
    if (live->n_roots == 0 && model->n_tensors == 0)
        return err_set(err, ERR_USAGE, "%s holds no module and no tensor", model->path);
    return 0;
}

const struct model *live_model(PyObject *object, const char *name,
                               struct live **ret_live, struct err *err)
{
    struct live_walk walk = {0};
    const struct model *model = NULL;
    struct err local = {0};
    PyObject *quiet = NULL;
    /* The build makes one weak reference per module and no cycles. These allocations
     * would make Python's garbage collector scan the whole model repeatedly. */
    int collecting = PyGC_Disable();

    if (walk_init(&walk, name, &local) == 0) {
        quiet = quiet_begin(walk.torch, true);
        if (PyDict_Check(object) || PyList_Check(object) || PyTuple_Check(object))
            walk.build.model->format = "tensors in memory";
        if (live_walk(&walk, object, &local) == 0) {
            walk.build.guess = walk.is_checkpoint;
            model = build_finish(&walk.build, &local);
        }
        quiet_end(quiet);
    }
    if (model && finish_live(walk.live, model, walk.is_checkpoint, &local) < 0) {
        model_free(model);
        model = NULL;
    }
    if (model) {
        walk.source->model = model;
        walk.source->live = walk.live;
        walk.live->source = walk.source;
        *ret_live = walk.live;
        walk.live = NULL;
    } else {
        err_copy(err, &local);
        if (!PyErr_Occurred() && local.code == ERR_USAGE)
            PyErr_SetString(PyExc_TypeError, local.text);
        else if (!PyErr_Occurred())
            ext_raise(&local);
    }
    walk_release(&walk);
    if (collecting)
        PyGC_Enable();
    return model;
}

/* ---- looking up ---- */

/* The target of a weak reference: borrowed, or NULL if deleted. */
static PyObject *referent(PyObject *weak)
{
    PyObject *object = weak ? PyWeakref_GetObject(weak) : NULL;

    return object == Py_None ? NULL : object;
}

/* A value of an object's __dict__, borrowed; NULL: missing. */
static PyObject *own_attribute(PyObject *object, const char *name)
{
    PyObject *state = PyObject_GenericGetDict(object, NULL), *value = NULL;

    if (state && PyDict_Check(state))
        value = PyDict_GetItemString(state, name);
    ext_swallow();
    Py_XDECREF(state);
    return value;
}

/* A replica is a copy at another address, but shares its original's dict of hooks. */
static uint32_t original_of(const struct live *live, PyObject *replica)
{
    PyObject *hooks, *original;
    uint32_t index;

    if (own_attribute(replica, "_is_replica") != Py_True)
        return NO_OBJECT;
    hooks = own_attribute(replica, "_forward_hooks");
    if (!hooks || !map_find(&live->by_hooks, (uintptr_t)hooks, &index))
        return NO_OBJECT;
    original = referent(live->modules[index].weak);
    if (!original || own_attribute(original, "_forward_hooks") != hooks)
        return NO_OBJECT;
    return live->modules[index].number;
}

uint32_t live_known_object(const struct live *live, PyObject *object)
{
    uint32_t index;

    if (map_find(&live->by_module, (uintptr_t)object, &index) &&
        referent(live->modules[index].weak) == object)
        return live->modules[index].number;
    return NO_OBJECT;
}

uint32_t live_object(const struct live *live, PyObject *module)
{
    uint32_t number = live_known_object(live, module);

    return number != NO_OBJECT ? number : original_of(live, module);
}

uint32_t live_compiled(const struct live *live, PyObject *module)
{
    PyObject *modules = own_attribute(module, "_modules"), *inner = NULL;

    if (modules && PyDict_Check(modules))
        inner = PyDict_GetItemString(modules, "_orig_mod");
    return inner ? live_object(live, inner) : NO_OBJECT;
}

uint32_t live_tensor_number(const struct live *live, PyObject *tensor)
{
    uint32_t index;

    if (map_find(&live->by_tensor, (uintptr_t)tensor, &index) &&
        referent(live->tensors[index].weak) == tensor)
        return live->tensors[index].number;
    return NO_OBJECT;
}

static bool modules_known(const struct live *live, PyObject *modules)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;

    while (modules && PyDict_Check(modules) && PyDict_Next(modules, &at, &key, &value))
        if (value != Py_None && live_known_object(live, value) == NO_OBJECT)
            return false;
    return true;
}

/* Ignores plain tensors: torch.func.functional_call() temporarily replaces parameters
 * by them. */
static bool parameters_known(const struct live *live, PyObject *parameters)
{
    const struct torch *torch = torch_find();
    PyObject *key, *value;
    Py_ssize_t at = 0;

    while (parameters && PyDict_Check(parameters) &&
           PyDict_Next(parameters, &at, &key, &value))
        if (value != Py_None && live_tensor_number(live, value) == NO_OBJECT &&
            !(torch && Py_TYPE(value) == torch->tensor))
            return false;
    return true;
}

bool live_has_new(const struct live *live)
{
    for (uint32_t i = 0; i < live->n_modules; i++) {
        PyObject *module = referent(live->modules[i].weak);

        if (module && !(parameters_known(live, own_attribute(module, "_parameters")) &&
                        modules_known(live, own_attribute(module, "_modules"))))
            return true;
    }
    return false;
}

PyObject *live_module(const struct live *live, uint32_t object)
{
    uint32_t index = object < live->n_module_of ? live->module_of[object] : 0;
    PyObject *module = index > 0 ? referent(live->modules[index - 1].weak) : NULL;

    return Py_XNewRef(module);
}

/* Several Python tensors may map to one tensor of the model: returns the first that
 * still exists. */
PyObject *live_tensor_of(const struct live *live, uint32_t tensor)
{
    uint32_t index = tensor < live->n_tensor_of ? live->tensor_of[tensor] : 0;
    PyObject *object = NULL;

    for (uint32_t i = index; i > 0 && i <= live->n_tensors && !object; i++)
        if (live->tensors[i - 1].number == tensor)
            object = referent(live->tensors[i - 1].weak);
    return Py_XNewRef(object);
}

PyObject *live_roots(const struct live *live)
{
    PyObject *roots = PyList_New(0);

    for (uint32_t i = 0; roots && i < live->n_roots; i++) {
        PyObject *root = referent(live->modules[live->roots[i]].weak);

        if (root && PyList_Append(roots, root) < 0)
            Py_CLEAR(roots);
    }
    return roots;
}
