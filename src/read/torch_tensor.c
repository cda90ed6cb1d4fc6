/* torch_tensor.c - PyTorch's rebuild functions, read as what they say of a tensor.
 * Every argument is checked for its type. What does not fit is a reason (spec->why):
 * the tensor is then listed as far as it is known, marked, and gives out no values. */
#include <stdarg.h>
#include <stdio.h>

#include "base/base.h"
#include "read/file_source_in.h"
#include "read/torch_fold_state_in.h"
#include "read/torch_tensor_in.h"

#define WRAPPERS 32 /* calls around calls that we follow */

void spec_bad(struct torch_fold *fold, struct tensor_spec *spec, const char *format,
              ...)
{
    char text[160];
    va_list args;

    if (spec->why)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    spec->why = arena_str(&fold->build->scratch, str_of(text)).at;
    if (!spec->why)
        spec->why = "";
}

void spec_part(struct tensor_spec *spec, const char *name, node_id node)
{
    if (spec->n_parts < SPEC_MAX_PARTS && node != NO_NODE) {
        spec->parts[spec->n_parts].name = name;
        spec->parts[spec->n_parts++].node = node;
    }
}

void spec_extra(struct torch_fold *fold, struct tensor_spec *spec, const char *key,
                uint32_t value)
{
    uint32_t text = value_str(build_values(fold->build), str_of(key));

    if (spec->n_extra + 2 > COUNT_OF(spec->extra) || value == VALUE_ID_FAILED ||
        text == VALUE_ID_FAILED)
        return;
    spec->extra[spec->n_extra++] = text;
    spec->extra[spec->n_extra++] = value;
}

/* "a float", "a string", ... for a sentence about an argument of the wrong type. */
static const char *kind_of(const struct torch_fold *fold, node_id id)
{
    static const char *const names[] = {
        [NODE_NONE] = "None",
        [NODE_BOOL] = "a bool",
        [NODE_INT] = "an integer",
        [NODE_BIGINT] = "too large",
        [NODE_REAL] = "a float",
        [NODE_STR] = "a string",
        [NODE_BYTES] = "bytes",
        [NODE_LIST] = "a list",
        [NODE_TUPLE] = "a tuple",
        [NODE_DICT] = "a dict",
        [NODE_SET] = "a set",
        [NODE_GLOBAL] = "a class or function",
        [NODE_CALL] = "a call",
        [NODE_NEW] = "an object",
        [NODE_PERSISTENT] = "a persistent id",
    };
    unsigned kind;

    if (id >= fold->n_nodes)
        return "missing";
    kind = fold_node(fold, id)->kind;
    return kind < COUNT_OF(names) && names[kind] ? names[kind] : "something else";
}

int spec_ints(struct torch_fold *fold, struct tensor_spec *spec, node_id node,
              int64_t to[FOLD_MAX_RANK], const char *what)
{
    const struct pickle *pickle = fold->pickle;
    uint32_t n;

    if (fold_callee_name(fold, node) == NAME_SIZE ||
        fold_callee_name(fold, node) == NAME_JIT_LIST)
        node = pickle_arg(pickle, node, 0);
    if (!fold_is(fold, node, NODE_TUPLE) && !fold_is(fold, node, NODE_LIST)) {
        spec_bad(fold, spec, "its %s is %s, not a tuple", what, kind_of(fold, node));
        return -1;
    }
    n = fold_node(fold, node)->items.n;
    if (n > FOLD_MAX_RANK) {
        spec_bad(fold, spec, "%u dimensions are more than %d", n, FOLD_MAX_RANK);
        return -1;
    }
    for (uint32_t i = 0; i < n; i++) {
        node_id item = pickle->items[fold_node(fold, node)->items.first + i];

        if (!fold_is(fold, item, NODE_INT)) {
            spec_bad(fold, spec, "a %s is %s", what, kind_of(fold, item));
            return -1;
        }
        to[i] = fold_node(fold, item)->integer;
        if (to[i] < 0) {
            spec_bad(fold, spec, "%s %lld", what, (long long)to[i]);
            return -1;
        }
    }
    return (int)n;
}

void spec_shape(struct torch_fold *fold, struct tensor_spec *spec, node_id size)
{
    spec->rank = spec_ints(fold, spec, size, spec->shape, "size");
}

void spec_strides(struct torch_fold *fold, struct tensor_spec *spec, node_id stride)
{
    int n = spec_ints(fold, spec, stride, spec->strides, "stride");

    if (n < 0 || spec->rank < 0)
        return;
    spec->has_strides = n == spec->rank;
    /* No strides at all: torch takes the tensor to be in C order. */
    if (n != spec->rank && n != 0)
        spec_bad(fold, spec, "%d sizes, but %d strides", spec->rank, n);
}

void spec_grad(struct torch_fold *fold, struct tensor_spec *spec, node_id flag)
{
    if (spec->owns_grad || !fold_is(fold, flag, NODE_BOOL))
        return;
    spec->owns_grad = true;
    spec->tensor.flags |= TENSOR_GRAD_KNOWN;
    if (fold_node(fold, flag)->integer)
        spec->tensor.flags |= TENSOR_GRAD;
}

void spec_dtype(struct torch_fold *fold, struct tensor_spec *spec, node_id global)
{
    enum dtype dtype = fold_dtype(fold, global);

    spec->tensor.dtype = (uint8_t)dtype;
    if (dtype != DTYPE_UNKNOWN)
        return;
    if (fold_is(fold, global, NODE_GLOBAL))
        spec_extra(fold, spec, "dtype", fold_value(fold, global));
    else
        spec_bad(fold, spec, "its dtype is %s", kind_of(fold, global));
}

/* A storage that is itself a torch file in bytes: read it where the tensor will stand,
 * and take the storage of the one tensor that makes. */
static const struct persistent *file_storage(struct torch_fold *fold,
                                             struct tensor_spec *spec, node_id node)
{
    struct model *model = fold->build->model;
    struct str bytes = pickle_text(fold->pickle, pickle_arg(fold->pickle, node, 0));
    struct persistent made = {.kind = PERSISTENT_STORAGE};
    uint32_t before = model->n_tensors, index;
    struct err err = {0};

    if (map_find(&fold->files, node, &index))
        return &fold->persistents[index];
    if (fold_open_bytes(fold, spec->place, bytes, &err) < 0) {
        spec_bad(fold, spec, "its storage cannot be read: %s", err.text);
        return NULL;
    }
    if (model->n_tensors != before + 1 ||
        arena_room(&fold->build->scratch, &fold->persistents, fold->n_persistents,
                   &fold->persistents_room, sizeof *fold->persistents) < 0) {
        spec_bad(fold, spec, "the torch file it refers to holds no storage");
        return NULL;
    }
    fold->bare = before;
    made.id = model->tensors[before].storage;
    made.dtype = model->tensors[before].dtype;
    made.device = model->tensors[before].device;
    map_put(&fold->files, node, fold->n_persistents);
    fold->persistents[fold->n_persistents] = made;
    return &fold->persistents[fold->n_persistents++];
}

static void spec_storage(struct torch_fold *fold, struct tensor_spec *spec,
                         node_id node)
{
    const struct persistent *storage;

    if (fold_callee_name(fold, node) == NAME_LOAD_FROM_BYTES)
        storage = file_storage(fold, spec, node);
    else
        storage = fold_persistent(fold, node);
    if (!storage || storage->kind != PERSISTENT_STORAGE) {
        spec_bad(fold, spec, "its storage is %s", kind_of(fold, node));
        return;
    }
    spec->tensor.storage = storage->id;
    spec->tensor.device = storage->device;
    /* torch gives an untyped storage out as one of bytes. */
    spec->tensor.dtype = storage->untyped ? DTYPE_UINT8 : storage->dtype;
    if (str_is(tensor_device(fold->build->model, &spec->tensor), "meta"))
        spec->tensor.flags |= TENSOR_META;
}

void spec_strided(struct torch_fold *fold, struct tensor_spec *spec, node_id args)
{
    const struct pickle *pickle = fold->pickle;
    int64_t offset = 0;

    spec_storage(fold, spec, pickle_item(pickle, args, 0));
    if (!pickle_int(pickle, pickle_item(pickle, args, 1), &offset))
        spec_bad(fold, spec, "its offset is %s",
                 kind_of(fold, pickle_item(pickle, args, 1)));
    else if (offset < 0)
        spec_bad(fold, spec, "offset %lld", (long long)offset);
    spec->tensor.offset = offset < 0 ? 0 : (uint64_t)offset;
    spec_shape(fold, spec, pickle_item(pickle, args, 2));
    spec_strides(fold, spec, pickle_item(pickle, args, 3));
}

/* {'conj': True}, {'neg': True}: the values are turned as they are read. */
static void spec_metadata(struct torch_fold *fold, struct tensor_spec *spec,
                          node_id dict)
{
    node_id flag = pickle_dict_get(fold->pickle, dict, "conj");

    if (fold_is(fold, flag, NODE_BOOL) && fold_node(fold, flag)->integer)
        spec->tensor.flags |= TENSOR_CONJ;
    flag = pickle_dict_get(fold->pickle, dict, "neg");
    if (fold_is(fold, flag, NODE_BOOL) && fold_node(fold, flag)->integer)
        spec->tensor.flags |= TENSOR_NEG;
}

static void spec_v2(struct torch_fold *fold, struct tensor_spec *spec, node_id args)
{
    spec_strided(fold, spec, args);
    spec_grad(fold, spec, pickle_item(fold->pickle, args, 4));
    if (pickle_count(fold->pickle, args) > 6)
        spec_metadata(fold, spec, pickle_item(fold->pickle, args, 6));
}

static void spec_v3(struct torch_fold *fold, struct tensor_spec *spec, node_id args)
{
    spec_strided(fold, spec, args);
    spec_grad(fold, spec, pickle_item(fold->pickle, args, 4));
    spec_dtype(fold, spec, pickle_item(fold->pickle, args, 6));
    if (pickle_count(fold->pickle, args) > 7)
        spec_metadata(fold, spec, pickle_item(fold->pickle, args, 7));
}

static void spec_from_numpy(struct torch_fold *fold, struct tensor_spec *spec,
                            node_id args)
{
    node_id array = pickle_item(fold->pickle, args, 0);

    if (numpy_is_tensor(fold, array))
        spec_numpy(fold, spec, array);
    else
        spec_bad(fold, spec, "its values are %s, not an array of numbers",
                 kind_of(fold, array));
    spec->tensor.class_id = NO_CLASS;
    spec_dtype(fold, spec, pickle_item(fold->pickle, args, 1));
    spec->tensor.device = fold_device(fold, pickle_item(fold->pickle, args, 2));
    spec_grad(fold, spec, pickle_item(fold->pickle, args, 3));
}

/* A lazy module's parameter, which gets its shape when the module first runs. */
static void spec_uninitialized(struct torch_fold *fold, struct tensor_spec *spec,
                               node_id args)
{
    spec->rank = 1;
    spec->shape[0] = 0;
    spec->tensor.flags |= TENSOR_META;
    spec_grad(fold, spec, pickle_item(fold->pickle, args, 0));
    spec_extra(fold, spec, "uninitialized",
               value_bool(build_values(fold->build), true));
}

struct rebuild {
    const char *name;
    uint8_t min, max; /* arguments */
    void (*read)(struct torch_fold *fold, struct tensor_spec *spec, node_id args);
};

static const struct rebuild rebuilds[] = {
    [NAME_REBUILD_TENSOR] = {"_rebuild_tensor", 4, 4, spec_strided},
    [NAME_REBUILD_TENSOR_V2] = {"_rebuild_tensor_v2", 6, 7, spec_v2},
    [NAME_REBUILD_TENSOR_V3] = {"_rebuild_tensor_v3", 7, 8, spec_v3},
    [NAME_REBUILD_QTENSOR] = {"_rebuild_qtensor", 7, 7, spec_quantised},
    [NAME_REBUILD_SPARSE] = {"_rebuild_sparse_tensor", 2, 2, spec_sparse},
    [NAME_REBUILD_SPARSE_CSR] = {"_rebuild_sparse_csr_tensor", 2, 2, spec_sparse},
    [NAME_REBUILD_NESTED] = {"_rebuild_nested_tensor", 3, 4, spec_nested},
    [NAME_REBUILD_META] = {"_rebuild_meta_tensor_no_storage", 4, 4, spec_meta},
    [NAME_REBUILD_WRAPPER] = {"_rebuild_wrapper_subclass", 7, 8, spec_wrapper},
    [NAME_REBUILD_FROM_NUMPY] = {"_rebuild_device_tensor_from_numpy", 4, 4,
                                 spec_from_numpy},
    [NAME_UNINITIALIZED] = {"UninitializedParameter", 0, 1, spec_uninitialized},
};

static void spec_rebuild(struct torch_fold *fold, struct tensor_spec *spec,
                         enum torch_name name, node_id args)
{
    const struct rebuild *rebuild = &rebuilds[name];
    uint32_t n = pickle_count(fold->pickle, args);

    if (name >= COUNT_OF(rebuilds) || !rebuild->read) {
        spec_bad(fold, spec, "it is made by a function that makes no tensors");
        return;
    }
    if (n < rebuild->min || n > rebuild->max)
        spec_bad(fold, spec, "%s is called with %u arguments", rebuild->name, n);
    rebuild->read(fold, spec, args);
}

/* A call on its way: what is called, and with what. */
struct rebuild_call {
    enum torch_name name;
    node_id node, args;
    node_id function; /* of a subclass, what makes it; else NO_NODE */
};

static struct rebuild_call call_of(struct torch_fold *fold, node_id node)
{
    struct rebuild_call call = {fold_callee_name(fold, node), node, NO_NODE, NO_NODE};

    if (fold_is(fold, node, NODE_CALL) || fold_is(fold, node, NODE_NEW))
        call.args = fold_node(fold, node)->call.args;
    return call;
}

static void set_class(struct torch_fold *fold, struct tensor_spec *spec, node_id global)
{
    struct str text = pickle_text(fold->pickle, global);

    if (spec->tensor.class_id != NO_CLASS || str_is(text, "torch.Tensor") ||
        str_is(text, "torch._tensor.Tensor"))
        return;
    spec->tensor.class_id = fold_class(fold, global);
}

/* Tensors, Variables and Parameters of torch 0.1 to 0.3: an object whose state is
 * (storage, offset, size, stride), (data, grad, hooks, requires_grad, volatile) or
 * (requires_grad, volatile, hooks). True: go on with *call. */
static bool spec_old_object(struct torch_fold *fold, struct tensor_spec *spec,
                            struct rebuild_call *call)
{
    const struct pickle *pickle = fold->pickle;
    node_id state = fold_node(fold, call->node)->state;
    node_id data = pickle_item(pickle, call->args, 0);

    set_class(fold, spec, fold_node(fold, call->node)->call.callee);
    switch (pickle_count(pickle, state)) {
    case 4:
        spec_strided(fold, spec, state);
        return false;
    case 5:
        data = pickle_item(pickle, state, 0);
        spec_grad(fold, spec, pickle_item(pickle, state, 3));
        break;
    case 3:
        spec_grad(fold, spec, pickle_item(pickle, state, 0));
        break;
    default:
        spec_grad(fold, spec, pickle_item(pickle, call->args, 1));
        break;
    }
    if (data == NO_NODE) {
        spec_bad(fold, spec, "there is neither a storage nor a tensor in it");
        return false;
    }
    *call = call_of(fold, data);
    return true;
}

/* Take one wrapper off the call: a Parameter, a subclass, another device. True: there
 * is more to look at in *call. */
static bool spec_unwrap(struct torch_fold *fold, struct tensor_spec *spec,
                        struct rebuild_call *call)
{
    const struct pickle *pickle = fold->pickle;
    node_id args = call->args;

    switch (call->name) {
    case NAME_REBUILD_PARAMETER_STATE:
        spec->attributes = pickle_item(pickle, args, 3);
        /* fall through */
    case NAME_REBUILD_PARAMETER:
        if (spec->tensor.class_id == NO_CLASS)
            spec->tensor.class_id = fold->parameter_class;
        spec_grad(fold, spec, pickle_item(pickle, args, 1));
        *call = call_of(fold, pickle_item(pickle, args, 0));
        return true;
    case NAME_REBUILD_FROM_TYPE:
        set_class(fold, spec, pickle_item(pickle, args, 1));
        spec->attributes = pickle_item(pickle, args, 3);
        call->function = pickle_item(pickle, args, 0);
        call->name = fold_name(fold, call->function);
        call->args = pickle_item(pickle, args, 2);
        return true;
    case NAME_REBUILD_FROM_CPU:
        spec_grad(fold, spec, pickle_item(pickle, args, 3));
        *call = call_of(fold, pickle_item(pickle, args, 0));
        return true;
    case NAME_PARAMETER_CLASS:
    case NAME_TENSOR_CLASS:
        return fold_callee_name(fold, call->node) == call->name &&
               spec_old_object(fold, spec, call);
    default:
        return false;
    }
}

/* A tensor that the dialect knows by its persistent id, or a bare storage. */
static void spec_persistent(struct torch_fold *fold, struct tensor_spec *spec,
                            node_id node)
{
    const struct torch_dialect *dialect = fold->dialect;
    struct torch_storage_id id;

    if (dialect->tensor) {
        spec->rank = dialect->tensor(dialect->user, fold->pickle, node, &spec->tensor,
                                     spec->shape, spec->strides);
        spec->has_strides = true;
        if (spec->rank >= 0)
            return;
    }
    spec_storage(fold, spec, node);
    spec->rank = 1;
    spec->has_strides = false;
    spec->shape[0] = 0;
    if (torch_storage_id(fold->pickle, node, &id)) {
        spec->shape[0] = id.numel;
        spec->tensor.class_id = build_class(fold->build, id.class_name);
    }
}

static void spec_read(struct torch_fold *fold, struct tensor_spec *spec, node_id node)
{
    struct rebuild_call call = call_of(fold, node);
    int hops = 0;

    while (hops < WRAPPERS && spec_unwrap(fold, spec, &call))
        hops++;
    if (call.name == NAME_UNINITIALIZED)
        set_class(fold, spec, pickle_callee(fold->pickle, call.node));
    if (hops == WRAPPERS)
        spec_bad(fold, spec, "it is wrapped more than %d times", WRAPPERS);
    else if (call.args == NO_NODE && fold_is(fold, call.node, NODE_PERSISTENT))
        spec_persistent(fold, spec, call.node);
    else if (call.name == NAME_NUMPY_RECONSTRUCT || call.name == NAME_NUMPY_FROMBUFFER)
        spec_numpy(fold, spec, call.node);
    else if (call.name == NAME_OTHER && call.function != NO_NODE)
        spec_unknown(fold, spec, call.function);
    else if (call.name != NAME_PARAMETER_CLASS && call.name != NAME_TENSOR_CLASS)
        spec_rebuild(fold, spec, call.name, call.args);
}

/* Attributes of a subclass: those that hold tensors become places below it, the others
 * are said of the tensor itself. */
static void add_attributes(struct torch_fold *fold, struct tensor_spec *spec,
                           const struct fold_task *up, node_id dict)
{
    struct fold_pairs pairs = fold_pairs(fold, dict);
    node_id key, value;

    for (uint32_t i = 0; i < pairs.n && !fold_spent(fold); i++) {
        fold_pair(fold, &pairs, i, &key, &value);
        if (!fold_is(fold, key, NODE_STR))
            continue;
        if (fold_weight(fold, value) == WEIGHT_HOLDS) {
            fold_add_later(fold, up, spec->place, pickle_text(fold->pickle, key),
                           value);
        } else if (spec->n_extra + 2 <= COUNT_OF(spec->extra)) {
            spec->extra[spec->n_extra++] = fold_value(fold, key);
            spec->extra[spec->n_extra++] = fold_value(fold, value);
        }
    }
}

static void add_parts(struct torch_fold *fold, struct tensor_spec *spec,
                      const struct fold_task *up)
{
    node_id slots = NO_NODE, attributes = spec->attributes;

    for (int i = 0; i < spec->n_parts; i++)
        fold_add_later(fold, up, spec->place, str_of(spec->parts[i].name),
                       spec->parts[i].node);
    if (fold_is(fold, attributes, NODE_TUPLE)) {
        slots = pickle_item(fold->pickle, attributes, 1);
        attributes = pickle_item(fold->pickle, attributes, 0);
    }
    if (pickle_is_dict(fold->pickle, attributes))
        add_attributes(fold, spec, up, attributes);
    if (pickle_is_dict(fold->pickle, slots))
        add_attributes(fold, spec, up, slots);
}

/* Parameter or plain; and is it known whether it is trained? A state_dict holds
 * detached copies: there, "no gradient" says nothing. */
static void set_role(struct torch_fold *fold, struct tensor_spec *spec, unsigned role)
{
    bool parameter = spec->tensor.class_id == fold->parameter_class &&
                     spec->tensor.class_id != NO_CLASS;

    spec->tensor.role = (uint8_t)(role & ~FOLD_GUESSED);
    if (parameter) {
        if (spec->tensor.role == ROLE_PLAIN)
            spec->tensor.role = ROLE_PARAMETER;
    } else if (role & FOLD_GUESSED) {
        spec->tensor.flags |= TENSOR_ROLE_GUESSED;
        if (!(spec->tensor.flags & TENSOR_GRAD))
            spec->tensor.flags &= (uint16_t)~TENSOR_GRAD_KNOWN;
    }
}

static void check_spec(struct torch_fold *fold, struct tensor_spec *spec)
{
    if (spec->rank < 0)
        spec_bad(fold, spec, "its shape is not said");
    if (!spec->why)
        return;
    build_finding(fold->build, FINDING_BAD_TENSOR, SEVERITY_ALARM, spec->place,
                  "tensor not usable: %s", spec->why);
    spec->tensor.flags |= TENSOR_INVALID;
    spec->tensor.storage = NO_STORAGE;
    spec->tensor.offset = 0;
    spec->has_strides = false;
    if (spec->rank < 0)
        spec->rank = 0;
}

/* A tensor that has a number already: a further place of it, perhaps a telling one. */
static void again(struct torch_fold *fold, uint32_t place, uint32_t id, unsigned role)
{
    struct tensor *tensor = &fold->build->model->tensors[id];

    build_tensor_again(fold->build, place, id);
    if ((role & ~FOLD_GUESSED) < tensor->role)
        tensor->role = (uint8_t)(role & ~FOLD_GUESSED);
}

void fold_tensor(struct torch_fold *fold, const struct fold_task *up, uint32_t place,
                 node_id node, unsigned role)
{
    bool call = !fold_is(fold, node, NODE_PERSISTENT);
    struct tensor_spec spec;
    uint32_t id;

    if (call && fold->mark[node] != 0) {
        again(fold, place, fold->mark[node] - 1, role);
        return;
    }
    spec.place = place;
    spec.tensor = (struct tensor){.storage = NO_STORAGE, .class_id = NO_CLASS};
    spec.rank = -1;
    spec.has_strides = spec.owns_grad = false;
    spec.why = NULL;
    spec.n_parts = 0;
    spec.n_extra = 0;
    spec.attributes = NO_NODE;

    spec_read(fold, &spec, node);
    set_role(fold, &spec, role);
    check_spec(fold, &spec);
    if (spec.n_parts > 0 || spec.attributes != NO_NODE)
        add_parts(fold, &spec, up);
    if (spec.n_extra > 0) {
        id = value_make(build_values(fold->build), VALUE_DICT, STR(""), spec.extra,
                        spec.n_extra);
        spec.tensor.extra = id == VALUE_ID_FAILED ? 0 : id;
    }
    id = build_tensor(fold->build, place, &spec.tensor, spec.shape,
                      spec.has_strides ? spec.strides : NULL, spec.rank);
    if (id == NO_OBJECT)
        return;
    if (call)
        fold->mark[node] = id + 1;
    if (id == fold->bare) { /* it was only made to get at the storage */
        spec.tensor.place = fold->build->model->tensors[id].place;
        fold->build->model->tensors[id] = spec.tensor;
    }
}
