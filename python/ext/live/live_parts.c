/* live_parts.c - tensors that are not plain: meta, fake, lazy, quantised, sparse,
 * nested and wrapped ones. Their inner tensors become places below them, with the same
 * names as in files. */
#include "ext/live/live_in.h"

#include "base/base.h"

#define PARTS_DEPTH 4 /* nested wrappers */
#define MOST_PARTS  32

static void note_extra(struct live_walk *walk, struct live_spec *spec, const char *key,
                       uint32_t value)
{
    uint32_t text = value_str(build_values(&walk->build), str_of(key));

    if (spec->n_extra + 2 > COUNT_OF(spec->extra) || value == VALUE_ID_FAILED ||
        text == VALUE_ID_FAILED)
        return;
    spec->extra[spec->n_extra++] = text;
    spec->extra[spec->n_extra++] = value;
}

PyObject *live_ask(PyObject *object, PyObject *name)
{
    PyObject *found = PyObject_GetAttr(object, name), *answer = found;

    if (found && PyCallable_Check(found)) {
        answer = PyObject_CallNoArgs(found);
        Py_DECREF(found);
    }
    ext_swallow();
    return answer;
}

static void note_answer(struct live_walk *walk, struct live_spec *spec, const char *key,
                        const char *method)
{
    PyObject *name = PyUnicode_FromString(method);
    PyObject *answer = name ? live_ask(spec->object, name) : NULL;

    ext_swallow();
    if (answer && live_hold(walk, answer))
        note_extra(walk, spec, key, live_value(walk, answer));
    Py_XDECREF(answer);
    Py_XDECREF(name);
}

/* `names` with `name` appended: the path from the owner to a part. A new reference, or
 * NULL. */
static PyObject *names_with(PyObject *names, PyObject *name)
{
    PyObject *one = PyTuple_Pack(1, name), *both;

    if (!names || !one)
        return one;
    both = PySequence_Concat(names, one);
    Py_DECREF(one);
    return both;
}

/* Adds one part, found by an attribute or method of the tensor. Skips values that are
 * not tensors. */
static void add_part(struct live_walk *walk, struct live_spec *spec, const char *shown,
                     PyObject *name)
{
    PyObject *part = live_ask(spec->object, name), *names = NULL;
    uint32_t node, index;

    if (!part || !live_is_tensor(walk, part) || !live_hold(walk, part))
        goto out;
    node = build_node(&walk->build, spec->node, PLACE_TENSOR, str_of(shown));
    if (node == NO_PLACE)
        goto out;
    if (map_find(&walk->live->by_tensor, (uintptr_t)part, &index)) {
        build_tensor_again(&walk->build, node, walk->live->tensors[index].number);
        goto out;
    }
    names = names_with(spec->way.names, name);
    live_put_tensor(walk, node, part, ROLE_PLAIN,
                    (struct live_way){.owner = spec->way.owner,
                                      .names = names,
                                      .depth = spec->way.depth + 1,
                                      .why = spec->way.why});

out:
    ext_swallow();
    Py_XDECREF(names);
    Py_XDECREF(part);
}

static void add_named_part(struct live_walk *walk, struct live_spec *spec,
                           const char *shown, const char *method)
{
    PyObject *name = PyUnicode_FromString(method);

    if (name)
        add_part(walk, spec, shown, name);
    ext_swallow();
    Py_XDECREF(name);
}

/* ---- lazy, meta and fake tensors: no values by design ---- */

static bool has_base(const struct live_walk *walk, PyObject *object, const char *name)
{
    const struct model *model = walk->build.model;
    uint32_t id = NO_CLASS, n;
    const uint32_t *items;

    if (!map_find(&walk->by_type, (uintptr_t)Py_TYPE(object), &id) || id == NO_CLASS)
        return false;
    if (str_is(model_string(model, model->classes[id].name), name))
        return true;
    n = value_at(&model->values, model->classes[id].bases)->n;
    items = value_items(&model->values, model->classes[id].bases);
    if (model->classes[id].bases == VALUE_ID_NONE)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (str_is(value_text(&model->values, items[i]), name))
            return true;
    return false;
}

/* A lazy module's parameter: it gets its shape when the module first runs. */
static void look_lazy(struct live_walk *walk, struct live_spec *spec)
{
    spec->rank = 1;
    spec->shape[0] = 0;
    spec->no_storage = true;
    spec->tensor.flags |= TENSOR_META;
    note_extra(walk, spec, "uninitialized",
               value_bool(build_values(&walk->build), true));
}

static void look_fake(struct live_walk *walk, struct live_spec *spec)
{
    spec->no_storage = true;
    spec->tensor.flags |= TENSOR_META;
    note_extra(walk, spec, "fake", value_bool(build_values(&walk->build), true));
}

/* ---- quantised ---- */

static void look_quantised(struct live_walk *walk, struct live_spec *spec)
{
    PyObject *scheme = PyObject_CallMethod(spec->object, "qscheme", NULL);
    PyObject *text = scheme ? PyObject_Str(scheme) : NULL;

    ext_swallow();
    if (text && live_hold(walk, text)) {
        struct str name = live_text(walk, text);

        note_extra(walk, spec, "scheme",
                   value_make(build_values(&walk->build), VALUE_GLOBAL, name, NULL, 0));
        if (str_find(name, STR("per_tensor")) >= 0) {
            note_answer(walk, spec, "scale", "q_scale");
            note_answer(walk, spec, "zero_point", "q_zero_point");
        } else {
            note_answer(walk, spec, "axis", "q_per_channel_axis");
            add_named_part(walk, spec, "scales", "q_per_channel_scales");
            add_named_part(walk, spec, "zero_points", "q_per_channel_zero_points");
        }
    }
    Py_XDECREF(text);
    Py_XDECREF(scheme);
}

/* ---- sparse ---- */

static void look_sparse(struct live_walk *walk, struct live_spec *spec)
{
    static const struct {
        const char *first, *second;
    } compressed[] = {
        [LAYOUT_CSR] = {"crow_indices", "col_indices"},
        [LAYOUT_CSC] = {"ccol_indices", "row_indices"},
        [LAYOUT_BSR] = {"crow_indices", "col_indices"},
        [LAYOUT_BSC] = {"ccol_indices", "row_indices"},
    };
    uint8_t layout = spec->tensor.layout;

    spec->no_storage = true;
    spec->tensor.flags |= TENSOR_SHAPE_ONLY;
    if (layout == LAYOUT_COO) {
        add_named_part(walk, spec, "indices", "_indices");
        add_named_part(walk, spec, "values", "_values");
        note_answer(walk, spec, "is_coalesced", "is_coalesced");
        return;
    }
    add_named_part(walk, spec, compressed[layout].first, compressed[layout].first);
    add_named_part(walk, spec, compressed[layout].second, compressed[layout].second);
    add_named_part(walk, spec, "values", "values");
}

/* ---- nested and wrapped ---- */

static void add_flattened(struct live_walk *walk, struct live_spec *spec)
{
    PyObject *parts = PyObject_CallMethodObjArgs(
        spec->object, walk->torch->names[NAME___tensor_flatten__], NULL);
    PyObject *names = NULL;

    ext_swallow();
    if (parts && PyTuple_Check(parts) && PyTuple_Size(parts) > 0)
        names = PySequence_List(PyTuple_GetItem(parts, 0));
    ext_swallow();
    for (Py_ssize_t i = 0; names && i < PyList_Size(names) && i < MOST_PARTS; i++) {
        PyObject *name = PyList_GetItem(names, i);
        const char *text =
            PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;

        ext_swallow();
        if (text)
            add_part(walk, spec, text, name);
    }
    if (!names) /* a DTensor in a torch version without __tensor_flatten__ */
        add_named_part(walk, spec, "_local_tensor", "_local_tensor");
    Py_XDECREF(names);
    Py_XDECREF(parts);
}

/* A nested tensor: a list of tensors with different sizes. Its only known dimension is
 * their count. */
static void look_nested(struct live_walk *walk, struct live_spec *spec)
{
    PyObject *n = PyObject_CallMethod(spec->object, "size", "i", 0);

    spec->no_storage = true;
    spec->tensor.flags |= TENSOR_SHAPE_ONLY;
    spec->tensor.layout = LAYOUT_NESTED;
    spec->rank = 1;
    spec->shape[0] = n && PyLong_Check(n) ? PyLong_AsLongLong(n) : 0;
    if (ext_swallow() || spec->shape[0] < 0)
        spec->shape[0] = 0;
    Py_XDECREF(n);
    if (Py_TYPE(spec->object) != walk->torch->tensor &&
        Py_TYPE(spec->object) != walk->torch->parameter) {
        add_flattened(walk, spec);
        return;
    }
    add_named_part(walk, spec, "buffer", "values");
    add_named_part(walk, spec, "sizes", "_nested_tensor_size");
    add_named_part(walk, spec, "strides", "_nested_tensor_strides");
    add_named_part(walk, spec, "offsets", "_nested_tensor_storage_offsets");
}

/* A subclass with its own __torch_dispatch__ is a wrapper, without bytes of its own. */
static bool is_wrapper(const struct live_walk *walk, PyObject *object)
{
    PyObject *own, *plain;
    bool differs;

    if (Py_TYPE(object) == walk->torch->tensor ||
        Py_TYPE(object) == walk->torch->parameter)
        return false;
    own = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__torch_dispatch__");
    plain =
        PyObject_GetAttrString((PyObject *)walk->torch->tensor, "__torch_dispatch__");
    ext_swallow();
    differs = own && own != plain;
    Py_XDECREF(own);
    Py_XDECREF(plain);
    return differs;
}

/* Records the placements of a DTensor on its device mesh, as torch prints them. */
static void note_placements(struct live_walk *walk, struct live_spec *spec)
{
    PyObject *placements = PyObject_GetAttrString(spec->object, "placements");
    PyObject *text = placements ? PyObject_Str(placements) : NULL;

    ext_swallow();
    if (text && live_hold(walk, text))
        note_extra(walk, spec, "placements",
                   value_str(build_values(&walk->build), live_text(walk, text)));
    Py_XDECREF(text);
    Py_XDECREF(placements);
}

static void look_wrapper(struct live_walk *walk, struct live_spec *spec)
{
    spec->no_storage = true;
    spec->tensor.flags |= TENSOR_SHAPE_ONLY;
    spec->tensor.layout = LAYOUT_WRAPPED;
    if (spec->way.depth < PARTS_DEPTH)
        add_flattened(walk, spec);
    note_placements(walk, spec);
}

/* ---- packed ---- */

bool live_is_script_object(const struct live_walk *walk, PyObject *object)
{
    return walk->torch->script_object &&
           (PyObject *)Py_TYPE(object) == walk->torch->script_object;
}

PyObject *live_script_parts(struct live_walk *walk, PyObject *object,
                            struct str *ret_class)
{
    PyObject *state = PyObject_CallMethod(object, "__getstate__", NULL), *parts = NULL;

    ext_swallow(); /* some cannot be pickled */
    if (state && PyTuple_Check(state) && PyTuple_Size(state) == 2 &&
        PyTuple_Check(PyTuple_GetItem(state, 0)) && live_hold(walk, state)) {
        parts = Py_NewRef(PyTuple_GetItem(state, 0));
        *ret_class = live_text(walk, PyTuple_GetItem(state, 1));
    }
    Py_XDECREF(state);
    return parts;
}

/* ---- all ---- */

static void look_layout(struct live_walk *walk, struct live_spec *spec)
{
    const struct torch *torch = walk->torch;
    PyObject *layout = PyObject_GetAttr(spec->object, torch->names[NAME_layout]);

    ext_swallow();
    for (int i = 0; layout && layout != torch->strided && i < LAYOUT_WRAPPED; i++)
        if (layout == torch->layouts[i])
            spec->tensor.layout = (uint8_t)i;
    if (layout && layout == torch->mkldnn)
        spec->why = "it is in a layout of oneDNN, which only oneDNN reads";
    Py_XDECREF(layout);
}

void live_look_special(struct live_walk *walk, struct live_spec *spec)
{
    bool exact = Py_TYPE(spec->object) == walk->torch->tensor ||
                 Py_TYPE(spec->object) == walk->torch->parameter;

    if (!exact &&
        has_base(walk, spec->object, "torch.nn.parameter.UninitializedTensorMixin")) {
        look_lazy(walk, spec);
        return;
    }
    if (!exact &&
        has_base(walk, spec->object, "torch._subclasses.fake_tensor.FakeTensor")) {
        look_fake(walk, spec);
        return;
    }
    look_layout(walk, spec);
    if (torch_flag(spec->object, NAME_is_nested)) {
        look_nested(walk, spec);
    } else if (!exact && is_wrapper(walk, spec->object)) {
        look_wrapper(walk, spec);
    } else if (spec->tensor.layout != LAYOUT_STRIDED) {
        look_sparse(walk, spec);
    } else if (torch_flag(spec->object, NAME_is_meta)) {
        spec->tensor.flags |= TENSOR_META;
        spec->no_storage = true;
    } else if (torch_flag(spec->object, NAME_is_quantized)) {
        look_quantised(walk, spec);
    }
}
