/* torch_names.c - the globals that the fold knows, and persistent ids. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "read/pickle/pickle_value_in.h"
#include "read/torch/torch_fold_state_in.h"

#define CLASS_LIMIT 256 /* longest name of a storage class */

struct meaning {
    const char *global;
    enum torch_name name;
};

/* Sorted by global, for bsearch(). */
/* clang-format off */
static const struct meaning meanings[] = {
    {"builtins.getattr", NAME_METHOD},
    {"joblib.numpy_pickle.NumpyArrayWrapper", NAME_JOBLIB_ARRAY},
    {"numpy._core.multiarray._reconstruct", NAME_NUMPY_RECONSTRUCT},
    {"numpy._core.multiarray.scalar", NAME_NUMPY_PLAIN},
    {"numpy._core.numeric._frombuffer", NAME_NUMPY_FROMBUFFER},
    {"numpy.core.multiarray._reconstruct", NAME_NUMPY_RECONSTRUCT},
    {"numpy.core.multiarray.scalar", NAME_NUMPY_PLAIN},
    {"numpy.core.numeric._frombuffer", NAME_NUMPY_FROMBUFFER},
    {"numpy.dtype", NAME_NUMPY_PLAIN},
    {"torch.Size", NAME_SIZE},
    {"torch.Tensor", NAME_TENSOR_CLASS},
    {"torch._tensor.Tensor", NAME_TENSOR_CLASS},
    {"torch._tensor._rebuild_from_type", NAME_REBUILD_FROM_TYPE},
    {"torch._tensor._rebuild_from_type_v2", NAME_REBUILD_FROM_TYPE},
    {"torch._utils._rebuild_device_tensor_from_cpu_tensor", NAME_REBUILD_FROM_CPU},
    {"torch._utils._rebuild_device_tensor_from_numpy", NAME_REBUILD_FROM_NUMPY},
    {"torch._utils._rebuild_hpu_tensor", NAME_REBUILD_FROM_NUMPY},
    {"torch._utils._rebuild_meta_tensor_no_storage", NAME_REBUILD_META},
    {"torch._utils._rebuild_mlc_tensor", NAME_REBUILD_FROM_NUMPY},
    {"torch._utils._rebuild_nested_tensor", NAME_REBUILD_NESTED},
    {"torch._utils._rebuild_ort_tensor", NAME_REBUILD_FROM_NUMPY},
    {"torch._utils._rebuild_parameter", NAME_REBUILD_PARAMETER},
    {"torch._utils._rebuild_parameter_with_state", NAME_REBUILD_PARAMETER_STATE},
    {"torch._utils._rebuild_qtensor", NAME_REBUILD_QTENSOR},
    {"torch._utils._rebuild_sparse_csr_tensor", NAME_REBUILD_SPARSE_CSR},
    {"torch._utils._rebuild_sparse_tensor", NAME_REBUILD_SPARSE},
    {"torch._utils._rebuild_tensor", NAME_REBUILD_TENSOR},
    {"torch._utils._rebuild_tensor_v2", NAME_REBUILD_TENSOR_V2},
    {"torch._utils._rebuild_tensor_v3", NAME_REBUILD_TENSOR_V3},
    {"torch._utils._rebuild_wrapper_subclass", NAME_REBUILD_WRAPPER},
    {"torch._utils._rebuild_xla_tensor", NAME_REBUILD_FROM_NUMPY},
    {"torch.autograd.Variable", NAME_TENSOR_CLASS},
    {"torch.autograd.variable.Variable", NAME_TENSOR_CLASS},
    {"torch.fx.graph_module.reduce_deploy_graph_module", NAME_GRAPH_MODULE},
    {"torch.fx.graph_module.reduce_graph_module", NAME_GRAPH_MODULE},
    {"torch.fx.graph_module.reduce_package_graph_module", NAME_GRAPH_MODULE},
    {"torch.jit._pickle.build_boollist", NAME_JIT_LIST},
    {"torch.jit._pickle.build_doublelist", NAME_JIT_LIST},
    {"torch.jit._pickle.build_intlist", NAME_JIT_LIST},
    {"torch.jit._pickle.build_tensorlist", NAME_JIT_LIST},
    {"torch.jit._pickle.restore_type_tag", NAME_TYPE_TAG},
    {"torch.nn.Parameter", NAME_PARAMETER_CLASS},
    {"torch.nn.parameter.Buffer", NAME_PARAMETER_CLASS},
    {"torch.nn.parameter.Parameter", NAME_PARAMETER_CLASS},
    {"torch.nn.parameter.UninitializedBuffer", NAME_UNINITIALIZED},
    {"torch.nn.parameter.UninitializedParameter", NAME_UNINITIALIZED},
    {"torch.storage._load_from_bytes", NAME_LOAD_FROM_BYTES},
    {"torch.tensor.Tensor", NAME_TENSOR_CLASS},
    {"torch.tensor._rebuild_from_type", NAME_REBUILD_FROM_TYPE},
    {"torch.tensor._rebuild_from_type_v2", NAME_REBUILD_FROM_TYPE},
};
/* clang-format on */

static int meaning_cmp(const void *text, const void *item)
{
    return str_cmp(*(const struct str *)text,
                   str_of(((const struct meaning *)item)->global));
}

/* torch.FloatTensor, torch.cuda.HalfTensor: the classes of torch 0.1 to 0.3. */
static bool is_old_tensor_class(struct str text)
{
    if (!str_starts(text, STR("torch.")) || !str_ends(text, STR("Tensor")))
        return false;
    text = str_from(text, sizeof "torch." - 1);
    if (str_starts(text, STR("cuda.")))
        text = str_from(text, sizeof "cuda." - 1);
    return str_find_char(text, '.') < 0;
}

static enum torch_name look_up(struct str text)
{
    const struct meaning *meaning =
        bsearch(&text, meanings, COUNT_OF(meanings), sizeof meanings[0], meaning_cmp);

    if (meaning)
        return meaning->name;
    if (is_old_tensor_class(text))
        return NAME_TENSOR_CLASS;
    if (str_starts(text, STR("numpy.dtypes.")))
        return NAME_NUMPY_PLAIN;
    return str_starts(text, STR("omegaconf.")) ? NAME_OMEGACONF : NAME_OTHER;
}

enum torch_name fold_name(struct torch_fold *fold, node_id global)
{
    const uint32_t names = (1u << FOLD_CLASS_SHIFT) - 1;

    if (!fold_is(fold, global, NODE_GLOBAL))
        return NAME_OTHER;
    if ((fold->mark[global] & names) == NAME_NOT_SEEN)
        fold->mark[global] |= look_up(pickle_text(fold->pickle, global));
    return (enum torch_name)(fold->mark[global] & names);
}

enum torch_name fold_callee_name(struct torch_fold *fold, node_id node)
{
    if (fold_is(fold, node, NODE_CALL) || fold_is(fold, node, NODE_NEW))
        return fold_name(fold, fold_node(fold, node)->call.callee);
    return NAME_OTHER;
}

enum dtype fold_dtype(struct torch_fold *fold, node_id global)
{
    struct str text = pickle_text(fold->pickle, global);

    if (!fold_is(fold, global, NODE_GLOBAL) || !str_starts(text, STR("torch.")))
        return DTYPE_UNKNOWN;
    return dtype_by_name(text);
}

uint16_t fold_device(struct torch_fold *fold, node_id location)
{
    struct str text = pickle_text(fold->pickle, location);

    if (!fold_is(fold, location, NODE_STR) && !fold_is(fold, location, NODE_BYTES))
        return 0;
    if (fold->mark[location] == 0)
        fold->mark[location] = build_device(fold->build, text) + 1u;
    return (uint16_t)(fold->mark[location] - 1);
}

/* The next quoted or bare word of "('storage', <class 'torch.LongStorage'>, '12',
 * ...)". */
static struct str repr_word(struct str *rest)
{
    struct str word = {0};

    str_split(rest, ',', &word);
    word = str_trim(word);
    if (str_starts(word, STR("<class ")))
        word = str_from(word, sizeof "<class " - 1);
    while (word.len > 0 && strchr("'\"(>)u", word.at[0]))
        word = str_from(word, 1);
    while (word.len > 0 && strchr("'\"(>)", word.at[word.len - 1]))
        word = str_head(word, word.len - 1);
    return word;
}

/* Protocol 0 writes a persistent id as the repr() of the tuple. */
static bool storage_id_of_repr(struct str text, struct torch_storage_id *id)
{
    if (!str_is(repr_word(&text), "storage"))
        return false;
    id->class_name = repr_word(&text);
    id->key = repr_word(&text);
    id->location = repr_word(&text);
    id->view = NO_NODE;
    id->dtype = dtype_by_storage_class(id->class_name, &id->untyped);
    return str_to_i64(repr_word(&text), &id->numel);
}

uint64_t torch_storage_bytes(enum dtype dtype, bool untyped, int64_t numel)
{
    uint64_t bytes;

    if (numel < 0)
        return UINT64_MAX;
    if (untyped || dtype_info(dtype)->block > 1)
        return (uint64_t)numel;
    return dtype_size(dtype, (uint64_t)numel, &bytes) ? bytes : UINT64_MAX;
}

bool torch_storage_part(const struct pickle *pickle, node_id view, uint32_t i,
                        enum dtype dtype, uint64_t numel, uint64_t *ret_skip,
                        uint64_t *ret_bytes)
{
    int64_t offset, n;

    return pickle_int(pickle, pickle_item(pickle, view, i), &offset) &&
           pickle_int(pickle, pickle_item(pickle, view, i + 1), &n) && offset >= 0 &&
           n >= 0 && (uint64_t)offset <= numel &&
           (uint64_t)n <= numel - (uint64_t)offset &&
           dtype_size(dtype, (uint64_t)offset, ret_skip) &&
           dtype_size(dtype, (uint64_t)n, ret_bytes);
}

bool torch_is_big_endian(const struct pickle *sys_info)
{
    const struct node *little = pickle_node(
        sys_info, pickle_dict_get(sys_info, sys_info->result, "little_endian"));

    return little && little->kind == NODE_BOOL && !little->integer;
}

void torch_say_big_endian(struct build *build, uint32_t place)
{
    build_finding(build, FINDING_BIG_ENDIAN, SEVERITY_NOTE, place,
                  "written on a big-endian machine");
}

bool torch_storage_id(const struct pickle *pickle, node_id persistent,
                      struct torch_storage_id *ret_id)
{
    const struct node *node = pickle_node(pickle, persistent);
    struct torch_storage_id id = {.view = NO_NODE};
    node_id tuple, key;

    if (!node || node->kind != NODE_PERSISTENT)
        return false;
    tuple = node->call.callee;
    if (pickle_count(pickle, tuple) < 5) {
        if (!storage_id_of_repr(pickle_text(pickle, tuple), &id))
            return false;
    } else {
        if (!str_is(pickle_text(pickle, pickle_item(pickle, tuple, 0)), "storage"))
            return false;
        id.class_name = pickle_text(pickle, pickle_item(pickle, tuple, 1));
        key = pickle_item(pickle, tuple, 2);
        id.key = pickle_text(pickle, key);
        if (!id.key.at)
            id.key = pickle_number_text(pickle, key);
        id.location = pickle_text(pickle, pickle_item(pickle, tuple, 3));
        if (!pickle_int(pickle, pickle_item(pickle, tuple, 4), &id.numel))
            return false;
        if (pickle_count(pickle, tuple) > 5)
            id.view = pickle_item(pickle, tuple, 5);
        if (id.class_name.len <= CLASS_LIMIT)
            id.dtype = dtype_by_storage_class(id.class_name, &id.untyped);
    }
    *ret_id = id;
    return true;
}

/* The dtype of a storage class; remembers the last class. */
static void read_storage_class(struct torch_fold *fold, node_id global,
                               struct persistent *to)
{
    if (global != fold->storage_class || !fold_is(fold, global, NODE_GLOBAL)) {
        fold->storage_dtype = dtype_by_storage_class(pickle_text(fold->pickle, global),
                                                     &fold->storage_untyped);
        fold->storage_class = global;
    }
    to->dtype = (uint8_t)fold->storage_dtype;
    to->untyped = fold->storage_untyped;
}

/* A storage: ('storage', class, key, location, numel, ...). The dialect reads its key
 * and size. */
static bool read_storage(struct torch_fold *fold, node_id node, struct persistent *to)
{
    const struct pickle *pickle = fold->pickle;
    node_id tuple = fold_node(fold, node)->call.callee;
    node_id word = pickle_item(pickle, tuple, 0);
    struct torch_storage_id id;

    if (pickle_count(pickle, tuple) >= 5) {
        if (word != fold->storage_word && !str_is(pickle_text(pickle, word), "storage"))
            return false;
        fold->storage_word = word;
        read_storage_class(fold, pickle_item(pickle, tuple, 1), to);
        to->device = fold_device(fold, pickle_item(pickle, tuple, 3));
    } else {
        if (!torch_storage_id(pickle, node, &id))
            return false;
        to->dtype = (uint8_t)id.dtype;
        to->untyped = id.untyped;
        to->device = build_device(fold->build, id.location);
    }
    to->kind = PERSISTENT_STORAGE;
    to->id = fold->dialect->storage(fold->dialect->user, pickle, node);
    return true;
}

/* A class with its source: ('module', class, file, source). */
static void read_class(struct torch_fold *fold, node_id node, struct persistent *to)
{
    const struct torch_dialect *dialect = fold->dialect;
    struct class_info *info;
    struct str file, source;
    node_id global;

    if (!dialect->class_source || !dialect->class_source(dialect->user, fold->pickle,
                                                         node, &global, &file, &source))
        return;
    to->kind = PERSISTENT_CLASS;
    to->id = build_class(fold->build, pickle_text(fold->pickle, global));
    if (to->id == NO_CLASS)
        return;
    info = &fold->build->model->classes[to->id];
    if (info->source == 0) {
        info->source = build_string(fold->build, source);
        info->file = build_string(fold->build, file);
    }
}

const struct persistent *fold_persistent(struct torch_fold *fold, node_id node)
{
    static const struct persistent other = {.kind = PERSISTENT_OTHER};
    struct persistent made = other;

    if (!fold_is(fold, node, NODE_PERSISTENT))
        return &other;
    if (fold->mark[node] != 0)
        return &fold->persistents[fold->mark[node] - 1];
    if (arena_room(&fold->build->scratch, &fold->persistents, fold->n_persistents,
                   &fold->persistents_room, sizeof *fold->persistents) < 0)
        return &other;
    if (!read_storage(fold, node, &made))
        read_class(fold, node, &made);
    fold->persistents[fold->n_persistents++] = made;
    fold->mark[node] = fold->n_persistents;
    return &fold->persistents[fold->n_persistents - 1];
}

/* The class of a global, cached: its name may be a megabyte long. */
static uint32_t global_class(struct torch_fold *fold, node_id global)
{
    uint32_t known = fold->mark[global] >> FOLD_CLASS_SHIFT, id;

    if (known > 0)
        return known - 1;
    id = build_class(fold->build, pickle_text(fold->pickle, global));
    if (id < (UINT32_MAX >> FOLD_CLASS_SHIFT))
        fold->mark[global] |= (id + 1) << FOLD_CLASS_SHIFT;
    return id;
}

uint32_t fold_class(struct torch_fold *fold, node_id class_node)
{
    const struct persistent *persistent;

    if (fold_is(fold, class_node, NODE_GLOBAL))
        return global_class(fold, class_node);
    persistent = fold_persistent(fold, class_node);
    return persistent->kind == PERSISTENT_CLASS ? persistent->id : NO_CLASS;
}
