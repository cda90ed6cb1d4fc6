/* live_tensor.c - adds one tensor and its storage to the build.
 * Reads everything through attributes, with the user's __torch_function__ disabled. An
 * attribute that raises gets a default value. */
#include "ext/live/live_in.h"

#include "base/base.h"

/* Reads a tuple of sizes and returns its length; -1: not a tuple of sizes. */
static int read_sizes(PyObject *sizes, int64_t to[LIVE_MOST_SIZES])
{
    Py_ssize_t n = sizes && PyTuple_Check(sizes) ? PyTuple_Size(sizes) : -1;

    ext_swallow();
    if (n > LIVE_MOST_SIZES)
        return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PyTuple_GetItem(sizes, i);

        /* A ragged dimension has a symbolic size (SymInt). */
        to[i] = PyLong_Check(item) ? PyLong_AsLongLong(item) : -1;
        if (ext_swallow() || to[i] < 0)
            return -1;
    }
    return (int)n;
}

static void look_shape(const struct torch *torch, struct live_spec *spec)
{
    PyObject *shape = PyObject_GetAttr(spec->object, torch->names[NAME_shape]);
    PyObject *stride;

    spec->rank = read_sizes(shape, spec->shape);
    Py_XDECREF(shape);
    if (spec->rank < 0 || spec->tensor.layout != LAYOUT_STRIDED)
        return;
    stride = PyObject_CallMethodObjArgs(spec->object, torch->names[NAME_stride], NULL);
    spec->has_strides = read_sizes(stride, spec->strides) == spec->rank;
    Py_XDECREF(stride);
}

static void look_device(struct live_walk *walk, struct live_spec *spec)
{
    PyObject *device, *text;

    if (torch_flag(spec->object, NAME_is_cpu)) {
        spec->tensor.device = build_device(&walk->build, STR("cpu"));
        return;
    }
    device = PyObject_GetAttr(spec->object, walk->torch->names[NAME_device]);
    text = device ? PyObject_Str(device) : NULL;
    ext_swallow();
    if (text && live_hold(walk, text)) {
        struct str name = live_text(walk, text);

        spec->tensor.device = build_device(&walk->build, name);
        if (!str_is(name, "meta"))
            spec->why = arena_printf(
                &walk->source->arena,
                "its values are on %.*s, which the CPU cannot read", STR_ARG(name));
    }
    Py_XDECREF(text);
    Py_XDECREF(device);
}

static void look_flags(const struct live_walk *walk, struct live_spec *spec)
{
    const struct dtype_info *info = dtype_info(spec->tensor.dtype);
    bool grad = torch_flag(spec->object, NAME_requires_grad);
    unsigned flags = grad ? TENSOR_GRAD_KNOWN | TENSOR_GRAD : TENSOR_GRAD_KNOWN;

    /* state_dict() detaches its tensors, so requires_grad is unknown. */
    if (walk->role_is_guessed && !grad && Py_TYPE(spec->object) == walk->torch->tensor)
        flags = 0;
    if (walk->role_is_guessed)
        flags |= TENSOR_ROLE_GUESSED;
    if (info->kind == DTYPE_KIND_COMPLEX && torch_call_flag(spec->object, NAME_is_conj))
        flags |= TENSOR_CONJ;
    if (torch_call_flag(spec->object, NAME_is_neg))
        flags |= TENSOR_NEG;
    spec->tensor.flags |= (uint16_t)flags;
}

static void look_dtype(const struct torch *torch, struct live_spec *spec)
{
    PyObject *dtype = PyObject_GetAttr(spec->object, torch->names[NAME_dtype]);

    if (dtype)
        spec->tensor.dtype = (uint8_t)torch_dtype(torch, dtype);
    ext_swallow();
    Py_XDECREF(dtype);
}

static void look_class(struct live_walk *walk, struct live_spec *spec)
{
    PyTypeObject *type = Py_TYPE(spec->object);

    if (type == walk->torch->parameter)
        spec->tensor.class_id = walk->parameter_class;
    else if (type != walk->torch->tensor)
        spec->tensor.class_id = live_class(walk, type);
}

/* ---- storages ---- */

int live_look_storage(PyObject *tensor, uint64_t *ret_identity, uint64_t *ret_at,
                      uint64_t *ret_bytes)
{
    const struct torch *torch = torch_find();
    PyObject *storage;
    int64_t identity, bytes;

    /* torch 1.13 uses another name. */
    storage =
        PyObject_CallMethodObjArgs(tensor, torch->names[NAME_untyped_storage], NULL);
    if (!storage) {
        ext_swallow();
        storage = PyObject_CallMethodObjArgs(tensor, torch->names[NAME__storage], NULL);
    }
    ext_swallow();
    if (!storage)
        return -1;
    identity = torch_int(storage, NAME__cdata, 0);
    bytes = torch_call_int(storage, NAME_nbytes, -1);
    *ret_identity = (uint64_t)identity;
    *ret_bytes = (uint64_t)bytes;
    *ret_at = (uint64_t)torch_call_int(storage, NAME_data_ptr, 0);
    Py_DECREF(storage);
    return identity != 0 && bytes >= 0 ? 0 : -1;
}

/* The bytes from the start of the storage to the end of the tensor's last element. */
static uint64_t reach(const struct live_spec *spec)
{
    uint64_t last = spec->tensor.offset, step = 1, bytes;

    for (int i = spec->rank - 1; i >= 0; i--) {
        if (spec->shape[i] == 0)
            return 0;
        if (spec->has_strides)
            step = (uint64_t)spec->strides[i];
        last += (uint64_t)(spec->shape[i] - 1) * step;
        if (!spec->has_strides)
            step *= (uint64_t)spec->shape[i];
    }
    return dtype_size(spec->tensor.dtype, last + 1, &bytes) ? bytes : 0;
}

/* Adds a storage; returns its number, or NO_STORAGE. */
static uint32_t enter_storage(struct live_walk *walk, const struct live_spec *spec,
                              struct live_storage known)
{
    struct live_source *source = walk->source;
    struct storage storage = {.bytes = known.bytes};
    uint32_t number;

    if (arena_room(&source->arena, &source->storages, source->n_storages,
                   &source->storages_room, sizeof *source->storages) < 0)
        return NO_STORAGE;
    number = build_storage(&walk->build, &storage);
    if (number == NO_STORAGE)
        return number;
    known.weak = PyWeakref_NewRef(spec->way.owner, NULL);
    ext_swallow();
    Py_XINCREF(spec->way.names);
    known.names = spec->way.names;
    source->storages[source->n_storages++] = known; /* same index as in the model */
    return number;
}

static void look_bytes(struct live_walk *walk, struct live_spec *spec)
{
    struct live_storage known = {.why = spec->why};
    uint32_t number;
    int64_t offset;

    offset = torch_call_int(spec->object, NAME_storage_offset, 0);
    spec->tensor.offset = offset > 0 ? (uint64_t)offset : 0;
    if (live_look_storage(spec->object, &known.identity, &known.at, &known.bytes) < 0) {
        known = (struct live_storage){.why = spec->why};
        if (!known.why)
            known.why = "it has no storage of its own";
        spec->tensor.offset = 0;
        known.bytes = reach(spec);
    } else if (reach(spec) > known.bytes) {
        /* Sharded training (FSDP) frees storages and refills them later. */
        known.identity = 0;
        known.why = "its storage has been freed";
        known.bytes = reach(spec);
    } else if (map_find(&walk->by_storage, known.identity, &number)) {
        spec->tensor.storage = number;
        return;
    }
    number = enter_storage(walk, spec, known);
    if (number != NO_STORAGE && known.identity)
        map_put(&walk->by_storage, known.identity, number);
    spec->tensor.storage = number;
}

/* ---- the tensor ---- */

static void look(struct live_walk *walk, struct live_spec *spec)
{
    const struct torch *torch = walk->torch;

    look_class(walk, spec);
    look_dtype(torch, spec);
    look_device(walk, spec);
    look_flags(walk, spec);
    live_look_special(walk, spec);
    if (spec->rank < 0)
        look_shape(torch, spec);
    if (spec->rank < 0) { /* unknown shape: still listed */
        spec->rank = 1;
        spec->shape[0] = 0;
        spec->has_strides = false;
        spec->tensor.flags |= TENSOR_SHAPE_ONLY;
        spec->no_storage = true;
    }
    if (!spec->no_storage)
        look_bytes(walk, spec);
}

/* Records the number of a Python tensor. */
static void enter_tensor(struct live_walk *walk, PyObject *tensor, uint32_t number)
{
    struct live *live = walk->live;
    struct live_known known = {.number = number};

    if (!live_hold(walk, tensor) ||
        arena_room(&live->arena, &live->tensors, live->n_tensors, &live->tensors_room,
                   sizeof *live->tensors) < 0 ||
        map_put(&live->by_tensor, (uintptr_t)tensor, live->n_tensors) < 0)
        return;
    known.weak = PyWeakref_NewRef(tensor, NULL);
    ext_swallow();
    live->tensors[live->n_tensors++] = known;
}

uint32_t live_put_tensor(struct live_walk *walk, uint32_t node, PyObject *tensor,
                         enum tensor_role role, struct live_way way)
{
    struct live_spec spec;
    uint32_t number, extra;

    spec.object = tensor;
    spec.node = node;
    spec.way = way;
    spec.tensor = (struct tensor){
        .role = (uint8_t)role, .storage = NO_STORAGE, .class_id = NO_CLASS};
    spec.why = way.why;
    spec.no_storage = spec.has_strides = false;
    spec.rank = -1;
    spec.n_extra = 0;
    look(walk, &spec);
    if (spec.tensor.class_id == walk->parameter_class && role == ROLE_PLAIN)
        spec.tensor.role = ROLE_PARAMETER;
    if (spec.n_extra > 0) {
        extra = value_make(build_values(&walk->build), VALUE_DICT, STR(""), spec.extra,
                           spec.n_extra);
        spec.tensor.extra = extra == VALUE_ID_FAILED ? VALUE_ID_NONE : extra;
    }
    number = build_tensor(&walk->build, node, &spec.tensor, spec.shape,
                          spec.has_strides ? spec.strides : NULL, spec.rank);
    if (number != NO_OBJECT)
        enter_tensor(walk, tensor, number);
    return number;
}

void live_add_tensor(struct live_walk *walk, uint32_t node, PyObject *tensor,
                     enum tensor_role role)
{
    struct live_way way = {.owner = tensor};
    struct tensor *known;
    uint32_t index;

    if (!map_find(&walk->live->by_tensor, (uintptr_t)tensor, &index)) {
        live_put_tensor(walk, node, tensor, role, way);
        return;
    }
    known = &walk->build.model->tensors[walk->live->tensors[index].number];
    build_tensor_again(&walk->build, node, walk->live->tensors[index].number);
    if (role < known->role)
        known->role = (uint8_t)role;
}
