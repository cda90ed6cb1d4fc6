/* Stands in until live.c is there: names of modules and parameters, and nothing else.
 */
#include "ext/live.h"

#include <stdlib.h>
#include <string.h>

#include "ext/torch.h"
#include "model/build.h"

struct known {
    PyObject *weak, *address;
};

struct live {
    struct known *modules, *tensors;
    uint32_t n_modules, n_tensors;
    PyObject *roots;
};

static uint32_t find(const struct known *known, uint32_t n, PyObject *object)
{
    for (uint32_t i = 0; i < n; i++)
        if (known[i].address == object && PyWeakref_GetObject(known[i].weak) == object)
            return i;
    return NO_OBJECT;
}

static void remember(struct known **known, uint32_t number, uint32_t *n,
                     PyObject *object)
{
    if (number >= *n) {
        *known = realloc(*known, (number + 1) * sizeof **known);
        memset(*known + *n, 0, (number + 1 - *n) * sizeof **known);
        *n = number + 1;
    }
    (*known)[number] = (struct known){PyWeakref_NewRef(object, NULL), object};
}

static void add_module(struct build *build, struct live *live, const char *name,
                       PyObject *module)
{
    struct str rest = str_of(name), part;
    uint32_t node = 0, number;
    struct object *object;
    PyObject *class_name, *text;

    while (rest.len > 0 && str_split(&rest, '.', &part))
        node = build_child(build, node, PLACE_MODULE, part);
    build_set_kind(build, node, PLACE_MODULE);
    class_name = PyObject_GetAttrString((PyObject *)Py_TYPE(module), "__module__");
    text = PyObject_GetAttrString((PyObject *)Py_TYPE(module), "__qualname__");
    object = build_object(build, node);
    if (class_name && text) {
        PyObject *full = PyUnicode_FromFormat("%U.%U", class_name, text);
        uint32_t id =
            build_class(build, str_of(full ? PyUnicode_AsUTF8AndSize(full, NULL) : ""));

        object = build_object(build, node);
        object->class_id = id;
        Py_XDECREF(full);
    }
    number = (uint32_t)(object - build->model->objects);
    remember(&live->modules, number, &live->n_modules, module);
    Py_XDECREF(class_name);
    Py_XDECREF(text);
    ext_swallow();
}

static void add_parameter(struct build *build, struct live *live, const char *name,
                          PyObject *parameter)
{
    struct tensor tensor = {.dtype = DTYPE_FLOAT32,
                            .storage = NO_STORAGE,
                            .class_id = NO_CLASS,
                            .flags = TENSOR_META};
    struct str last;
    uint32_t parent = build_dotted(build, 0, str_of(name), &last), node, number;
    int64_t shape[1] = {torch_call_int(parameter, NAME_numel, 0)};

    node = build_node(build, parent, PLACE_TENSOR, last);
    number = build_tensor(build, node, &tensor, shape, NULL, 1);
    if (number != NO_OBJECT)
        remember(&live->tensors, number, &live->n_tensors, parameter);
}

typedef void add_fn(struct build *build, struct live *live, const char *name,
                    PyObject *object);

static void each(PyObject *object, const char *method, struct build *build,
                 struct live *live, add_fn *fn)
{
    PyObject *all = PyObject_CallMethod(object, method, NULL);
    PyObject *list = all ? PySequence_List(all) : NULL;

    for (Py_ssize_t i = 0; list && i < PyList_Size(list); i++) {
        PyObject *pair = PyList_GetItem(list, i);

        fn(build, live, PyUnicode_AsUTF8AndSize(PyTuple_GetItem(pair, 0), NULL),
           PyTuple_GetItem(pair, 1));
    }
    ext_swallow();
    Py_XDECREF(list);
    Py_XDECREF(all);
}

struct model *live_model(PyObject *object, const char *name, struct live **ret_live,
                         struct err *err)
{
    struct live *live;
    struct build build;
    struct model *model;

    if (!torch_find() || PyObject_IsInstance(object, torch_find()->module_type) != 1) {
        PyErr_SetString(PyExc_TypeError, "this object holds no torch.nn.Module");
        return NULL;
    }
    if (build_init(&build, name, 256u << 20, NULL, err) < 0)
        return NULL;
    live = calloc(1, sizeof *live);
    live->roots = PyList_New(0);
    each(object, "named_modules", &build, live, add_module);
    each(object, "named_parameters", &build, live, add_parameter);
    model = build_finish(&build, err);
    build_release(&build);
    *ret_live = live;
    return model;
}

void live_free(struct live *live)
{
    if (!live)
        return;
    for (uint32_t i = 0; i < live->n_modules; i++)
        Py_XDECREF(live->modules[i].weak);
    for (uint32_t i = 0; i < live->n_tensors; i++)
        Py_XDECREF(live->tensors[i].weak);
    Py_XDECREF(live->roots);
    free(live->modules);
    free(live->tensors);
    free(live);
}

uint32_t live_object(const struct live *live, PyObject *module)
{
    return find(live->modules, live->n_modules, module);
}

uint32_t live_tensor_number(const struct live *live, PyObject *tensor)
{
    return find(live->tensors, live->n_tensors, tensor);
}

static PyObject *held(const struct known *known, uint32_t n, uint32_t number)
{
    PyObject *object = number < n && known[number].weak
                           ? PyWeakref_GetObject(known[number].weak)
                           : Py_None;

    return object == Py_None ? NULL : Py_NewRef(object);
}

PyObject *live_module(const struct live *live, uint32_t object)
{
    return held(live->modules, live->n_modules, object);
}

PyObject *live_tensor_of(const struct live *live, uint32_t tensor)
{
    return held(live->tensors, live->n_tensors, tensor);
}

PyObject *live_roots(const struct live *live)
{
    return live->roots;
}

int live_source(struct live *live, struct model *model, uint32_t class_id,
                struct err *err)
{
    (void)live;
    (void)model;
    (void)class_id;
    return err_set(err, ERR_UNSUPPORTED, "the source of classes is not known yet");
}
