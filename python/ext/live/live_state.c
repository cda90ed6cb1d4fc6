/* live_state.c - state_dicts and checkpoints in memory, as torch.load() returns them.
 * A dict of tensors with dotted names becomes a tree, by the same rules as in
 * read/torch/torch_checkpoint.c: a file and the loaded object give the same model. */
#include "ext/live/live_in.h"

#define SAMPLE     1000 /* entries checked to classify a dict */
#define DEPTH_MOST 64   /* dots in a name; names with more are not split */

/* {'state': {0: {...}}, 'param_groups': [...]} */
static bool is_optimizer(PyObject *dict)
{
    PyObject *state = PyDict_GetItemString(dict, "state");
    PyObject *groups = PyDict_GetItemString(dict, "param_groups");

    return state && groups && PyDict_Check(state) && PyList_Check(groups);
}

/* All keys are str, and all values tensors, or at least half if some names are dotted.
 * A nested dict with a single tensor is usually a score, not a model. */
static bool is_state_dict(struct live_walk *walk, const struct live_task *task)
{
    Py_ssize_t at = 0, n = 0, tensors = 0;
    bool dotted = false, lone_weight = false;
    PyObject *key, *value;

    while (n < SAMPLE && PyDict_Next(task->object, &at, &key, &value)) {
        struct str name;

        if (!PyUnicode_Check(key))
            return false;
        name = live_text(walk, key);
        lone_weight = str_is(name, "weight") || str_is(name, "bias");
        dotted = dotted || str_find_char(name, '.') > 0;
        tensors += live_is_tensor(walk, value);
        n++;
    }
    if (tensors == 0)
        return false;
    if (tensors == n)
        return n > 1 || dotted || task->depth == 0 || lone_weight;
    return tensors >= n / 2 && dotted;
}

static uint32_t parent_of(struct live_walk *walk, uint32_t node, struct str name,
                          struct str *ret_last)
{
    size_t dots = 0;

    for (size_t i = 0; i < name.len; i++)
        dots += name.at[i] == '.';
    *ret_last = name;
    return dots > DEPTH_MOST ? node : build_dotted(&walk->build, node, name, ret_last);
}

static void unfold_state_dict(struct live_walk *walk, const struct live_task *task)
{
    Py_ssize_t at = 0;
    PyObject *key, *value;

    build_set_flags(&walk->build, task->node, PLACE_STATE_DICT);
    while (PyDict_Next(task->object, &at, &key, &value)) {
        struct live_task below = *task;
        struct str last;
        bool buffer;

        /* Only the sample was checked for keys that are not text. */
        if (!PyUnicode_Check(key) || !live_hold(walk, value))
            continue;
        below.node = parent_of(walk, task->node, live_text(walk, key), &last);
        if (below.node == NO_PLACE)
            return;
        buffer = build_is_buffer_name(last);
        walk->role_is_guessed = true;
        live_add(walk, &below, last, value, buffer ? ROLE_BUFFER : ROLE_PARAMETER, 0);
        walk->role_is_guessed = false;
    }
}

bool live_has_entries(const struct live_walk *walk, PyObject *object)
{
    bool list = PyList_Check(object);
    Py_ssize_t n = 0;

    if (!walk->is_checkpoint)
        return false;
    if (PyDict_Check(object))
        return PyDict_Size(object) > 0;
    if (list || PyTuple_Check(object))
        n = list ? PyList_Size(object) : PyTuple_Size(object);
    for (Py_ssize_t i = 0; i < n && i < SAMPLE; i++) {
        PyObject *item = list ? PyList_GetItem(object, i) : PyTuple_GetItem(object, i);

        if (PyDict_Check(item) && PyDict_Size(item) > 0)
            return true;
    }
    return false;
}

bool live_unfold_state(struct live_walk *walk, struct live_task *task)
{
    if (!walk->is_checkpoint || !PyDict_Check(task->object))
        return false;
    if (is_optimizer(task->object)) {
        build_set_flags(&walk->build, task->node, PLACE_OPTIMIZER);
        task->role = ROLE_STATE;
        return false;
    }
    if (task->role == ROLE_STATE || !is_state_dict(walk, task))
        return false;
    unfold_state_dict(walk, task);
    return true;
}
