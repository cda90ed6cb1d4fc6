/* live_walk.c - walks modules and their containers, from the root down.
 * Unfolding an object makes the nodes of all its children in order, finishes leaves
 * (tensors, plain values) at once and pushes the others on a stack; the walk pops them
 * in pre-order. An object that is already in the tree is not unfolded again. The
 * children of a module are, as in a file (read/torch/torch_module.c): its parameters,
 * buffers and child modules, then unregistered attributes that hold tensors or
 * modules. */
#include "ext/live/live_in.h"

#include "base/base.h"

#define NEST_DEPTH 8     /* nested lists searched for modules */
#define NEST_LOOKS 10000 /* items searched per attribute */
#define FEW        1000  /* tensors in a list: enough for any RNN */
#define HOOK_NAMES 16

static const struct {
    const char *name;
    enum live_key_kind kind;
} own_keys[] = {
    {"training", KEY_TRAINING},
    {"_parameters", KEY_PARAMETERS},
    {"_buffers", KEY_BUFFERS},
    {"_modules", KEY_MODULES},
    {"_non_persistent_buffers_set", KEY_TEMPORARY},
    {"_forward_hooks", KEY_FORWARD_HOOKS},
    {"_backend", KEY_OWN},
    {"_code", KEY_CODE},
    {"_is_full_backward_hook", KEY_OWN},
    {"_compiled_call_impl", KEY_OWN},
    {"_graph", KEY_OWN},
    {"_graphmodule_cls_name", KEY_OWN},
    {"_flat_weight_refs", KEY_OWN}, /* weak references of an RNN to its weights */
};

bool live_hold(struct live_walk *walk, PyObject *object)
{
    if (!walk->is_bad && PyList_Append(walk->held, object) < 0)
        walk->is_bad = true;
    return !walk->is_bad;
}

bool live_is_module(const struct live_walk *walk, PyObject *object)
{
    return PyType_IsSubtype(Py_TYPE(object), (PyTypeObject *)walk->torch->module_type);
}

bool live_is_scripted(struct str class_name)
{
    struct str name = class_short(class_name);

    return str_is(name, "RecursiveScriptModule") || str_is(name, "ScriptModule") ||
           str_is(name, "TopLevelTracedModule");
}

bool live_is_tensor(const struct live_walk *walk, PyObject *object)
{
    return PyType_IsSubtype(Py_TYPE(object), walk->torch->tensor);
}

static bool go_on(const struct live_walk *walk)
{
    return !walk->is_bad && !build_spent(&walk->build);
}

struct str live_text(struct live_walk *walk, PyObject *text)
{
    Py_ssize_t len = 0;
    const char *at = PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, &len) : NULL;
    PyObject *bytes;
    struct str copy = STR("");

    if (at)
        return str_head(str_span(at, (size_t)len), LIVE_NAME);
    ext_swallow();
    if (!PyUnicode_Check(text))
        return copy;
    /* A lone surrogate has no UTF-8 form: escape it. */
    bytes = PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
    if (bytes && live_hold(walk, bytes))
        copy = str_head(str_span(PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes)),
                        LIVE_NAME);
    ext_swallow();
    Py_XDECREF(bytes);
    return copy;
}

/* ---- names of attributes ---- */

static enum live_key_kind kind_of_key(struct str name)
{
    for (size_t i = 0; i < COUNT_OF(own_keys); i++)
        if (str_is(name, own_keys[i].name))
            return own_keys[i].kind;
    if (name.len == 0 || name.at[0] != '_')
        return KEY_PUBLIC;
    if (str_find(name, STR("_hooks")) < 0)
        return KEY_HIDDEN;
    if (str_ends(name, STR("_with_kwargs")) || str_ends(name, STR("_always_called")))
        return KEY_OWN;
    return KEY_HOOKS;
}

/* Looks up an attribute name by address, which works because Python interns attribute
 * names. NULL: not a str, or out of memory. */
static const struct live_key *find_key(struct live_walk *walk, PyObject *key)
{
    struct live_key made;
    struct str name;
    uint32_t index;

    if (map_find(&walk->by_key, (uintptr_t)key, &index))
        return &walk->keys[index];
    if (!PyUnicode_Check(key) || !live_hold(walk, key))
        return NULL;
    name = live_text(walk, key);
    made = (struct live_key){kind_of_key(name), build_string(&walk->build, name)};
    if (made.name == INTERN_NONE ||
        arena_room(&walk->build.scratch, &walk->keys, walk->n_keys, &walk->keys_room,
                   sizeof *walk->keys) < 0 ||
        map_put(&walk->by_key, (uintptr_t)key, walk->n_keys) < 0)
        return NULL;
    walk->keys[walk->n_keys] = made;
    return &walk->keys[walk->n_keys++];
}

/* ---- containers ---- */

static bool is_nest(PyObject *object)
{
    return PyList_Check(object) || PyTuple_Check(object) || PyDict_Check(object);
}

static bool holds(const struct live_walk *walk, PyObject *object, int depth,
                  int *looks);

static bool dict_holds(const struct live_walk *walk, PyObject *dict, int depth,
                       int *looks)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;

    while (*looks > 0 && PyDict_Next(dict, &at, &key, &value))
        if (holds(walk, value, depth, looks))
            return true;
    return false;
}

static bool items_hold(const struct live_walk *walk, PyObject *items, int depth,
                       int *looks)
{
    bool list = PyList_Check(items);
    Py_ssize_t n = list ? PyList_Size(items) : PyTuple_Size(items);

    for (Py_ssize_t i = 0; *looks > 0 && i < n; i++)
        if (holds(walk, list ? PyList_GetItem(items, i) : PyTuple_GetItem(items, i),
                  depth, looks))
            return true;
    return false;
}

/* Is it a tensor or a module, or does it hold one a few lists deep? Runs no Python. */
static bool holds(const struct live_walk *walk, PyObject *object, int depth, int *looks)
{
    --*looks;
    if (live_is_tensor(walk, object) || live_is_module(walk, object) ||
        live_is_script_object(walk, object))
        return true;
    if (!is_nest(object) || depth >= NEST_DEPTH)
        return false;
    if (PyDict_Check(object))
        return dict_holds(walk, object, depth + 1, looks);
    return items_hold(walk, object, depth + 1, looks);
}

/* A list of tensors that are all in the tree already, such as an RNN's weights. */
static bool is_known_list(const struct live_walk *walk, PyObject *list)
{
    Py_ssize_t n = PyList_Check(list) ? PyList_Size(list) : 0;
    uint32_t index;

    if (n == 0 || n > FEW)
        return false;
    for (Py_ssize_t i = 0; i < n; i++)
        if (!map_find(&walk->live->by_tensor, (uintptr_t)PyList_GetItem(list, i),
                      &index))
            return false;
    return true;
}

static bool has_places(const struct live_walk *walk, PyObject *object)
{
    int looks = NEST_LOOKS;

    return holds(walk, object, 0, &looks) && !is_known_list(walk, object);
}

/* ---- nodes ---- */

static void push(struct live_walk *walk, PyObject *object, uint32_t node,
                 uint32_t depth, uint8_t role)
{
    if (live_hold(walk, object) &&
        arena_room(&walk->build.scratch, &walk->tasks, walk->n_tasks, &walk->tasks_room,
                   sizeof *walk->tasks) == 0)
        walk->tasks[walk->n_tasks++] = (struct live_task){object, node, depth, role};
}

static void put_value(struct live_walk *walk, uint32_t node, PyObject *object)
{
    uint32_t value = live_value(walk, object);

    build_set_kind(&walk->build, node, PLACE_VALUE);
    build_set_object(&walk->build, node, value == VALUE_ID_FAILED ? 0 : value);
}

void live_add(struct live_walk *walk, const struct live_task *task, struct str name,
              PyObject *object, enum tensor_role role, unsigned flags)
{
    bool module = live_is_module(walk, object);
    uint32_t node;

    node =
        build_node(&walk->build, task->node, module ? PLACE_MODULE : PLACE_GROUP, name);
    if (node == NO_PLACE)
        return;
    if (flags)
        build_set_flags(&walk->build, node, flags);
    if (module)
        push(walk, object, node, 0, ROLE_PLAIN);
    else if (live_is_tensor(walk, object))
        live_add_tensor(walk, node, object, role);
    else if (live_is_script_object(walk, object) ||
             (is_nest(object) && task->depth < NEST_DEPTH &&
              (has_places(walk, object) || live_has_entries(walk, object))))
        push(walk, object, node, task->depth + 1, task->role);
    else
        put_value(walk, node, object);
}

/* ---- the pairs of a dict, or of TorchScript's replacement for one ---- */

struct pairs {
    PyObject *dict, *items; /* either one; items is owned, a list of pairs */
    PyObject *key, *value;  /* borrowed, valid until the next call */
    Py_ssize_t at;
};

static void pairs_begin(struct pairs *pairs, PyObject *mapping)
{
    *pairs = (struct pairs){0};
    if (!mapping)
        return;
    if (PyDict_Check(mapping)) {
        pairs->dict = Py_NewRef(mapping);
        return;
    }
    pairs->items = PyMapping_Items(mapping);
    ext_swallow();
}

static bool pairs_next(struct pairs *pairs)
{
    PyObject *pair;

    if (pairs->dict)
        return PyDict_Next(pairs->dict, &pairs->at, &pairs->key, &pairs->value);
    if (!pairs->items || pairs->at >= PyList_Size(pairs->items))
        return false;
    pair = PyList_GetItem(pairs->items, pairs->at++);
    if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2)
        return false;
    pairs->key = PyTuple_GetItem(pair, 0);
    pairs->value = PyTuple_GetItem(pair, 1);
    return true;
}

static void pairs_end(struct pairs *pairs)
{
    Py_CLEAR(pairs->dict);
    Py_CLEAR(pairs->items);
}

/* ---- one module ---- */

/* The special attributes of a module, found first and used later. */
struct module_dicts {
    PyObject *parameters, *buffers, *modules, *temporary; /* borrowed, held */
    PyObject *training, *forward_hooks, *code;
};

static void add_parameters(struct live_walk *walk, const struct live_task *task,
                           PyObject *dict)
{
    struct pairs pairs;

    pairs_begin(&pairs, dict);
    while (go_on(walk) && pairs_next(&pairs))
        if (live_hold(walk, pairs.value))
            live_add(walk, task, live_text(walk, pairs.key), pairs.value,
                     ROLE_PARAMETER, pairs.value == Py_None ? PLACE_EMPTY : 0);
    pairs_end(&pairs);
}

static void add_buffers(struct live_walk *walk, const struct live_task *task,
                        const struct module_dicts *dicts)
{
    struct pairs pairs;

    pairs_begin(&pairs, dicts->buffers);
    while (go_on(walk) && pairs_next(&pairs)) {
        int temporary = 0;

        if (pairs.value == Py_None || !live_hold(walk, pairs.value))
            continue;
        if (dicts->temporary)
            temporary = PySequence_Contains(dicts->temporary, pairs.key);
        ext_swallow();
        live_add(walk, task, live_text(walk, pairs.key), pairs.value, ROLE_BUFFER,
                 temporary > 0 ? PLACE_BUFFER_TEMP : 0);
    }
    pairs_end(&pairs);
}

static void add_modules(struct live_walk *walk, const struct live_task *task,
                        PyObject *dict, uint32_t class_id)
{
    const struct model *model = walk->build.model;
    struct pairs pairs;

    pairs_begin(&pairs, dict);
    while (go_on(walk) && pairs_next(&pairs)) {
        struct str name = live_text(walk, pairs.key);
        unsigned flags = 0;

        if (!live_hold(walk, pairs.value))
            break;
        if (pairs.value == Py_None)
            flags = PLACE_EMPTY;
        else if (class_id != NO_CLASS &&
                 class_wraps(model_string(model, model->classes[class_id].name), name))
            flags = PLACE_PREFIX;
        live_add(walk, task, name, pairs.value, ROLE_PLAIN, flags);
    }
    pairs_end(&pairs);
}

static void note(struct live_walk *walk, struct live_pairs *list, struct str key,
                 uint32_t value)
{
    uint32_t text = value_str(build_values(&walk->build), key);

    for (uint32_t i = 0; i < 2; i++)
        if (arena_room(&walk->build.scratch, &list->at, list->n + i, &list->room,
                       sizeof *list->at) < 0)
            return;
    list->at[list->n++] = text == VALUE_ID_FAILED ? 0 : text;
    list->at[list->n++] = value == VALUE_ID_FAILED ? 0 : value;
}

/* Makes a DICT of the collected pairs and empties the list. */
static uint32_t noted(struct live_walk *walk, struct live_pairs *list)
{
    uint32_t value = VALUE_ID_NONE;

    if (list->n > 0)
        value = value_make(build_values(&walk->build), VALUE_DICT, STR(""), list->at,
                           list->n);
    list->n = 0;
    return value == VALUE_ID_FAILED ? VALUE_ID_NONE : value;
}

/* _forward_pre_hooks: {1: WeightNorm(...)} becomes forward_pre_hooks: [names]. */
static void note_hooks(struct live_walk *walk, struct str key, PyObject *dict)
{
    struct values *values = build_values(&walk->build);
    uint32_t names[HOOK_NAMES], n = 0;
    struct pairs pairs;

    if (!PyDict_Check(dict) || PyDict_Size(dict) == 0)
        return;
    pairs_begin(&pairs, dict);
    while (n < HOOK_NAMES && pairs_next(&pairs) && live_hold(walk, pairs.value)) {
        names[n] = value_str(values, live_global_name(walk, pairs.value));
        if (names[n] != VALUE_ID_FAILED)
            n++;
    }
    pairs_end(&pairs);
    note(walk, &walk->hooks, str_from(key, 1),
         value_make(values, VALUE_LIST, STR(""), names, n));
}

/* Adds an attribute: as a node if it holds tensors, else as an argument. */
static void add_attribute(struct live_walk *walk, const struct live_task *task,
                          enum live_key_kind kind, struct str name, PyObject *value)
{
    if (has_places(walk, value))
        live_add(walk, task, name, value, ROLE_PLAIN, PLACE_ATTRIBUTE);
    else
        note(walk, kind == KEY_HIDDEN ? &walk->hidden : &walk->args, name,
             live_value(walk, value));
}

/* Finds a module's special attributes; registered tensors and modules come first in the
 * tree. */
static void find_dicts(struct live_walk *walk, PyObject *state,
                       struct module_dicts *dicts)
{
    struct pairs pairs;

    *dicts = (struct module_dicts){0};
    pairs_begin(&pairs, state);
    while (go_on(walk) && pairs_next(&pairs)) {
        const struct live_key *key = find_key(walk, pairs.key);
        PyObject **to = NULL;

        if (!key)
            continue;
        if (key->kind == KEY_PARAMETERS)
            to = &dicts->parameters;
        else if (key->kind == KEY_BUFFERS)
            to = &dicts->buffers;
        else if (key->kind == KEY_MODULES)
            to = &dicts->modules;
        else if (key->kind == KEY_TEMPORARY)
            to = &dicts->temporary;
        else if (key->kind == KEY_TRAINING)
            to = &dicts->training;
        else if (key->kind == KEY_FORWARD_HOOKS)
            to = &dicts->forward_hooks;
        else if (key->kind == KEY_CODE)
            to = &dicts->code;
        if (to && live_hold(walk, pairs.value))
            *to = pairs.value;
    }
    pairs_end(&pairs);
}

static void add_attributes(struct live_walk *walk, const struct live_task *task,
                           PyObject *state)
{
    struct pairs pairs;

    pairs_begin(&pairs, state);
    while (go_on(walk) && pairs_next(&pairs)) {
        const struct live_key *found = find_key(walk, pairs.key);
        struct live_key key;
        struct str name;

        if (!found)
            continue;
        key = *found; /* copied: the table may be reallocated */
        name = model_string(walk->build.model, key.name);
        if (key.kind == KEY_HOOKS || key.kind == KEY_FORWARD_HOOKS)
            note_hooks(walk, name, pairs.value);
        else if (key.kind <= KEY_HIDDEN && live_hold(walk, pairs.value))
            add_attribute(walk, task, key.kind, name, pairs.value);
    }
    pairs_end(&pairs);
}

static void set_object(struct live_walk *walk, uint32_t node, uint32_t class_id,
                       PyObject *training)
{
    uint32_t args = noted(walk, &walk->args), hidden = noted(walk, &walk->hidden);
    uint32_t hooks = noted(walk, &walk->hooks);
    struct object *object = build_object(&walk->build, node);

    if (!object)
        return;
    object->class_id = class_id;
    object->args = args;
    object->hidden = hidden;
    object->hooks = hooks;
    if (training == Py_True || training == Py_False)
        object->training = training == Py_True;
}

/* An fx.GraphModule holds the code of its forward(), since its class has no file. */
static void set_code(struct live_walk *walk, uint32_t class_id, PyObject *code)
{
    struct model *model = walk->build.model;
    const char *text =
        PyUnicode_Check(code) ? PyUnicode_AsUTF8AndSize(code, NULL) : NULL;
    uint32_t source;

    ext_swallow();
    if (!text || class_id == NO_CLASS || model->classes[class_id].source ||
        !str_starts(model_string(model, model->classes[class_id].name),
                    STR("torch.fx.graph_module.")))
        return;
    source = build_string(&walk->build, str_of(text));
    if (source != INTERN_NONE)
        model->classes[class_id].source = source;
}

/* TorchScript uses one class for all modules: shows the original class name instead of
 * the collected arguments. */
static void note_original(struct live_walk *walk, PyObject *module)
{
    PyObject *name = PyObject_GetAttrString(module, "original_name");

    ext_swallow();
    walk->args.n = 0;
    if (name && live_hold(walk, name))
        note(walk, &walk->args, STR("original_name"), live_value(walk, name));
    Py_XDECREF(name);
}

static void unfold_module(struct live_walk *walk, const struct live_task *task,
                          uint32_t index)
{
    const struct model *model = walk->build.model;
    PyObject *state = PyObject_GenericGetDict(task->object, NULL);
    uint32_t class_id = live_class(walk, Py_TYPE(task->object));
    struct module_dicts dicts;

    ext_swallow();
    if (state && live_hold(walk, state)) {
        find_dicts(walk, state, &dicts);
        add_parameters(walk, task, dicts.parameters);
        add_buffers(walk, task, &dicts);
        add_modules(walk, task, dicts.modules, class_id);
        add_attributes(walk, task, state);
        if (class_id != NO_CLASS &&
            live_is_scripted(model_string(model, model->classes[class_id].name)))
            note_original(walk, task->object);
        set_object(walk, task->node, class_id, dicts.training);
        if (dicts.code)
            set_code(walk, class_id, dicts.code);
        if (dicts.forward_hooks)
            map_put(&walk->live->by_hooks, (uintptr_t)dicts.forward_hooks, index);
    }
    Py_XDECREF(state);
}

/* ---- lists, dicts, objects ---- */

static void unfold_dict(struct live_walk *walk, const struct live_task *task)
{
    struct pairs pairs;

    pairs_begin(&pairs, task->object);
    while (go_on(walk) && pairs_next(&pairs)) {
        PyObject *text = NULL;

        if (!live_hold(walk, pairs.value))
            break;
        if (!PyUnicode_Check(pairs.key)) {
            text = PyObject_Str(pairs.key);
            ext_swallow();
            if (!text || !live_hold(walk, text))
                continue;
            Py_DECREF(text);
        }
        live_add(walk, task, live_text(walk, text ? text : pairs.key), pairs.value,
                 (enum tensor_role)task->role, 0);
    }
    pairs_end(&pairs);
}

static void unfold_items(struct live_walk *walk, const struct live_task *task)
{
    PyObject *items = task->object;
    char name[24];

    for (Py_ssize_t i = 0; go_on(walk) && i < PySequence_Size(items); i++) {
        PyObject *item = PySequence_GetItem(items, i);

        if (!item || !live_hold(walk, item)) {
            ext_swallow();
            Py_XDECREF(item);
            break;
        }
        PyOS_snprintf(name, sizeof name, "%zd", i);
        live_add(walk, task, str_of(name), item, (enum tensor_role)task->role, 0);
        Py_DECREF(item);
    }
}

/* Unfolds an object that holds modules, such as a pipeline: its modules and its plain
 * attributes. */
static void unfold_object(struct live_walk *walk, const struct live_task *task)
{
    PyObject *state = PyObject_GenericGetDict(task->object, NULL);

    ext_swallow();
    if (state && live_hold(walk, state))
        add_attributes(walk, task, state);
    Py_XDECREF(state);
}

/* Unfolds weights packed for a kernel into the tensors they were packed from. torch
 * makes new copies of these on every request. */
static uint32_t unfold_packed(struct live_walk *walk, const struct live_task *task)
{
    struct str name = STR("");
    PyObject *parts = live_script_parts(walk, task->object, &name);
    Py_ssize_t n = parts ? PyTuple_Size(parts) : 0;
    uint32_t node;
    char text[24];

    for (Py_ssize_t i = 0; i < n && go_on(walk); i++) {
        PyObject *part = PyTuple_GetItem(parts, i);

        PyOS_snprintf(text, sizeof text, "%zd", i);
        if (!live_is_tensor(walk, part)) {
            live_add(walk, task, str_of(text), part, ROLE_PLAIN, 0);
            continue;
        }
        node = build_node(&walk->build, task->node, PLACE_TENSOR, str_of(text));
        if (node != NO_PLACE)
            live_put_tensor(
                walk, node, part, ROLE_PLAIN,
                (struct live_way){.owner = part,
                                  .why = "it is packed for the kernel that uses it"});
    }
    Py_XDECREF(parts);
    return name.len > 0 ? build_class(&walk->build, name) : NO_CLASS;
}

/* Gives the object a number; returns its index in live->modules, or UINT32_MAX: out of
 * memory. */
static uint32_t enter(struct live_walk *walk, const struct live_task *task, bool module)
{
    struct live *live = walk->live;
    struct live_known known = {0};

    if (!build_object(&walk->build, task->node) ||
        arena_room(&live->arena, &live->modules, live->n_modules, &live->modules_room,
                   sizeof *live->modules) < 0 ||
        map_put(&live->by_module, (uintptr_t)task->object, live->n_modules) < 0)
        return UINT32_MAX;
    if (module || !is_nest(task->object)) {
        known.weak = PyWeakref_NewRef(task->object, NULL);
        ext_swallow();
    }
    known.number =
        (uint32_t)(build_object(&walk->build, task->node) - walk->build.model->objects);
    live->modules[live->n_modules] = known;
    return live->n_modules++;
}

static void unfold_nest(struct live_walk *walk, const struct live_task *task)
{
    uint32_t class_id = NO_CLASS;
    struct live_task inner = *task;
    struct object *object;

    if (PyDict_CheckExact(task->object))
        class_id = build_class(&walk->build, STR("dict"));
    else if (PyList_CheckExact(task->object))
        class_id = build_class(&walk->build, STR("list"));
    else if (PyTuple_CheckExact(task->object))
        class_id = build_class(&walk->build, STR("tuple"));
    else
        class_id = live_class(walk, Py_TYPE(task->object));
    if (live_unfold_state(walk, &inner))
        ;
    else if (PyDict_Check(task->object))
        unfold_dict(walk, &inner);
    else if (is_nest(task->object))
        unfold_items(walk, task);
    else if (live_is_script_object(walk, task->object))
        class_id = unfold_packed(walk, task);
    else
        unfold_object(walk, task);
    object = build_object(&walk->build, task->node);
    if (object) {
        object->class_id = class_id;
        object->args = noted(walk, &walk->args);
        object->hidden = noted(walk, &walk->hidden);
    }
}

/* Unfolds one object below its node, unless it is already in the tree. */
static void unfold(struct live_walk *walk, const struct live_task *task)
{
    const struct live *live = walk->live;
    bool module = live_is_module(walk, task->object);
    uint32_t pushed = walk->n_tasks, index;

    if (map_find(&live->by_module, (uintptr_t)task->object, &index)) {
        uint32_t number = live->modules[index].number;

        build_same(&walk->build, task->node, walk->build.model->objects[number].place);
        return;
    }
    index = enter(walk, task, module);
    if (index == UINT32_MAX)
        return;
    if (module)
        unfold_module(walk, task, index);
    else
        unfold_nest(walk, task);
    /* Reverse the new tasks: the first child must be popped first. */
    for (uint32_t a = pushed, b = walk->n_tasks; b > a + 1; a++) {
        struct live_task swap = walk->tasks[a];

        walk->tasks[a] = walk->tasks[--b];
        walk->tasks[b] = swap;
    }
}

int live_walk(struct live_walk *walk, PyObject *object, struct err *err)
{
    if (live_is_module(walk, object))
        build_set_kind(&walk->build, 0, PLACE_MODULE);
    walk->is_checkpoint = is_nest(object);
    push(walk, object, 0, 0, ROLE_PLAIN);
    while (walk->n_tasks > 0 && go_on(walk)) {
        struct live_task task = walk->tasks[--walk->n_tasks];

        unfold(walk, &task);
    }
    if (walk->is_bad)
        return err_set(err, ERR_LIMIT, "no memory left for the model");
    if (!go_on(walk))
        build_finding(&walk->build, FINDING_LIMIT, SEVERITY_ALARM, 0,
                      "the model needs more memory than allowed: the rest is left out");
    return 0;
}
