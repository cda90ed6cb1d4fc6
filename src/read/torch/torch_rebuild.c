/* torch_rebuild.c - reads the arguments of PyTorch's rebuild functions.
 * Checks the type of every argument. A wrong one sets spec->why: the tensor is then
 * listed as far as it is known, marked as invalid, and has no values. */
#include <stdarg.h>
#include <stdio.h>

#include "base/base.h"
#include "read/file/file_source_in.h"
#include "read/torch/torch_fold_state_in.h"
#include "read/torch/torch_tensor_in.h"

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

/* The type of a node, for messages: "a float", "a string", ... */
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

/* Read a tuple of integers (or a torch.Size) into `to`: how many, or -1 with spec->why.
 */
static int spec_ints(struct torch_fold *fold, struct tensor_spec *spec, node_id node,
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
    /* Without strides, torch assumes C order. */
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

/* A storage that is a torch file in bytes: read it at the place of the tensor, and take
 * the storage of the one tensor that it makes. */
static const struct persistent *file_storage(struct torch_fold *fold,
                                             struct tensor_spec *spec, node_id node)
{
    struct model *model = fold->build->model;
    struct persistent made = {.kind = PERSISTENT_STORAGE};
    uint32_t before = model->n_tensors, nodes = fold->build->n_nodes, index;
    struct err err = {0};

    if (map_find(&fold->files, node, &index))
        return &fold->persistents[index];
    if (fold_open_bytes(fold, spec->place, node, &err) < 0) {
        spec_bad(fold, spec, "its storage cannot be read: %s", err.text);
        return NULL;
    }
    if (model->n_tensors != before + 1 ||
        arena_room(&fold->build->scratch, &fold->persistents, fold->n_persistents,
                   &fold->persistents_room, sizeof *fold->persistents) < 0) {
        spec_bad(fold, spec, "its torch file holds no storage");
        return NULL;
    }
    made.id = model->tensors[before].storage;
    made.dtype = model->tensors[before].dtype;
    made.device = model->tensors[before].device;
    /* Only the storage is needed. */
    if (fold->build->n_nodes != nodes ||
        !build_tensor_undo(fold->build, spec->place, before)) {
        spec_bad(fold, spec, "its torch file holds more than a storage");
        return NULL;
    }
    map_put(&fold->files, node, fold->n_persistents);
    fold->persistents[fold->n_persistents] = made;
    return &fold->persistents[fold->n_persistents++];
}

void spec_storage(struct torch_fold *fold, struct tensor_spec *spec, node_id node)
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
    /* torch shows an untyped storage as bytes. */
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

/* {'conj': True}, {'neg': True}: applied when the values are read. */
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

/* A parameter of a lazy module, which gets its shape when the module first runs. */
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

void spec_rebuild(struct torch_fold *fold, struct tensor_spec *spec,
                  enum torch_name name, node_id args)
{
    const struct rebuild *rebuild = &rebuilds[name];
    uint32_t n = pickle_count(fold->pickle, args);

    if (name >= COUNT_OF(rebuilds) || !rebuild->read) {
        spec_bad(fold, spec, "its function does not make a tensor");
        return;
    }
    if (n < rebuild->min || n > rebuild->max)
        spec_bad(fold, spec, "%s is called with %u arguments", rebuild->name, n);
    rebuild->read(fold, spec, args);
}
