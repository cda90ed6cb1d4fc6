#include "study/safety/verdict_in.h"

#include <string.h>

#include "base/base.h"
#include "model/dtype.h"

const char verdict_builds_tensor[] = "builds a tensor";
const char verdict_builds_dict[] = "builds a dictionary";
const char verdict_names_dtype[] = "names a dtype";

#define N   USE_NAME
#define NC  (USE_NAME | USE_CALL)
#define NM  (USE_NAME | USE_MAKE)
#define NMB (USE_NAME | USE_MAKE | USE_BUILD)
#define NCB (USE_NAME | USE_CALL | USE_BUILD)
#define ALL (USE_NAME | USE_CALL | USE_MAKE | USE_BUILD)

/* The allow-list. Each row was verified in the sources of Python, torch and numpy: it
 * only builds a value, for any arguments. This must hold *when called* also for rows that
 * are only named or created: attributes can replace the methods of an object, and torch
 * calls some of them while loading (a parameter's data.detach()). So a row never covers a
 * module of functions, nor a module that imports such things under a matching name:
 * torch.ao.quantization.observer has ABCMeta and fx's Node, ...fx.convert has Graph,
 * torch.utils.data.datapipes loads pickles in __setstate__. If a row calls its arguments
 * (_rebuild_from_type, numpy's random constructors, copyreg._reconstructor), the log has
 * that call too. Rows are tried in order. */
/* clang-format off */
static const struct known_global allowed[] = {
    /* tensors and what describes them */
    {"torch._utils._rebuild_*",                 NCB, verdict_builds_tensor},
    {"torch._tensor._rebuild_from_type",        NCB, "builds a tensor of a subclass"},
    {"torch._tensor._rebuild_from_type_v2",     NCB, "builds a tensor of a subclass"},
    {"torch.nested._internal.nested_tensor._rebuild_njt", NCB, verdict_builds_tensor},
    {"torch.*Storage",                          ALL, verdict_names_dtype},
    {"torch.cuda.*Storage",                     ALL, verdict_names_dtype},
    {"torch.storage.*Storage",                  ALL, verdict_names_dtype},
    {"torch.*Tensor",                           ALL, verdict_builds_tensor},
    {"torch.cuda.*Tensor",                      ALL, verdict_builds_tensor},
    {"torch._tensor.Tensor",                    ALL, verdict_builds_tensor},
    {"torch.Tensor",                            ALL, verdict_builds_tensor},
    {"torch.autograd.variable.Variable",        ALL, verdict_builds_tensor},
    {"torch.nn.parameter.Parameter",            ALL, "builds a parameter"},
    {"torch.nn.parameter.Buffer",               ALL, "builds a buffer"},
    {"torch.nn.parameter.Uninitialized*",       ALL, "builds a parameter without data"},
    {"torch.Size",                              NC | USE_MAKE, "names a shape"},
    {"torch.device",                            NC,  "names a device"},
    {"torch.Generator",                         NC,  "holds random number generator state"},
    {"torch.serialization._get_layout",         NC,  "names a layout"},
    {"torch.serialization.get_layout",          NC,  "names a layout"},
    {"torch.per_tensor_*",                      N,   "names a quantiser"},
    {"torch.per_channel_*",                     N,   "names a quantiser"},
    {"torch.sparse_*",                          N,   "names a layout"},
    {"torch.strided",                           N,   "names a layout"},
    {"torch.jagged",                            N,   "names a layout"},
    {"torch.*_format",                          N,   "names a memory format"},
    {"torch.channels_last",                     N,   "names a memory format"},
    {"torch.channels_last_3d",                  N,   "names a memory format"},
    {"torch._C._VariableFunctionsClass",        N,   "names torch's functions"},
    {"torch._C._VariableFunctions",             N,   "names torch's functions"},
    {"torch.jit._pickle.build_*",               NC,  "builds a list"},
    {"torch.jit._pickle.restore_type_tag",      NC,  "builds a typed value"},

    /* torch's own classes: created without __init__ and given their attributes; their
     * __setstate__ stores these in a dict and adds what older files lack */
    {"torch.nn.modules.*",                      NMB, "a module of torch"},
    {"torch.nn.quantized.*",                    NMB, "a module of torch"},
    {"torch.nn.quantizable.*",                  NMB, "a module of torch"},
    {"torch.nn.intrinsic.*",                    NMB, "a module of torch"},
    {"torch.nn.qat.*",                          NMB, "a module of torch"},
    {"torch.nn.parallel.data_parallel.DataParallel", NMB, "a module of torch"},
    {"torch.nn.parallel.distributed.DistributedDataParallel", NMB, "a module of torch"},
    {"torch.nn.utils.*",                        NMB, "belongs to a module"},
    {"torch.ao.nn.*",                           NMB, "a module of torch"},
    {"torch.ao.quantization.observer.*",        NMB, "a quantiser's settings"},
    {"torch.ao.quantization.fake_quantize.*",   NMB, "a quantiser's settings"},
    {"torch.ao.quantization.qconfig.*",         NMB, "a quantiser's settings"},
    {"torch.ao.quantization.qconfig_mapping.*", NMB, "a quantiser's settings"},
    {"torch.ao.quantization.quant_type.*",      NMB | USE_CALL, "a quantiser's settings"},
    {"torch.ao.quantization.stubs.*",           NMB, "a module of torch"},
    {"torch.quantization.observer.*",           NMB, "a quantiser's settings"},
    {"torch.quantization.fake_quantize.*",      NMB, "a quantiser's settings"},
    {"torch.quantization.qconfig.*",            NMB, "a quantiser's settings"},
    {"torch.quantization.QConfig.*",            NMB, "a quantiser's settings"},
    {"torch.quantization.stubs.*",              NMB, "a module of torch"},
    {"torch.legacy.nn.*",                       NMB, "a module of torch"},
    {"torch.optim.*",                           NMB, "an optimizer of torch"},
    {"torch.cuda.amp.grad_scaler.*",            NMB, "scales gradients"},
    {"torch.amp.grad_scaler.*",                 NMB, "scales gradients"},
    {"torch.distributions.*",                   NMB, "a distribution"},
    {"torch.utils.data.dataset.*",              NMB, "a data set of torch"},
    {"torch.utils.data.sampler.*",              NMB, "a sampler of torch"},
    {"torch.utils.data.distributed.*",          NMB, "a sampler of torch"},
    {"torch.utils.data.dataloader.DataLoader",  NMB, "a data loader of torch"},
    {"torch.distributed.checkpoint.metadata.*", NMB | USE_CALL, "describes a checkpoint"},
    {"torch.distributed.checkpoint.filesystem._StorageInfo", NMB,
     "describes a checkpoint"},
    {"torch.distributed.checkpoint.filesystem._StoragePrefix", NMB,
     "describes a checkpoint"},
    {"torch.nn.backends.thnn._get_thnn_function_backend", NC, "names an old backend"},
    {"torch.utils.hooks.RemovableHandle",       NMB, "holds a hook"},
    {"torch.utils.hooks.BackwardHook",          NMB, "holds a hook"},
    {"torch.utils.hooks.unserializable_hook",   N,   "marks a hook"},

    /* containers and plain values of Python */
    {"collections.OrderedDict",                 ALL, verdict_builds_dict},
    {"collections.defaultdict",                 ALL, verdict_builds_dict},
    {"collections.Counter",                     ALL, verdict_builds_dict},
    {"collections.ChainMap",                    NMB, verdict_builds_dict},
    {"collections.deque",                       ALL, "builds a list"},
    {"builtins.dict",                           ALL, verdict_builds_dict},
    {"builtins.list",                           ALL, "builds a list"},
    {"builtins.tuple",                          ALL, "builds a tuple"},
    {"builtins.set",                            ALL, "builds a set"},
    {"builtins.frozenset",                      ALL, "builds a set"},
    {"builtins.bytearray",                      ALL, "builds bytes"},
    {"builtins.bytes",                          ALL, "builds bytes"},
    {"builtins.str",                            ALL, "builds a text"},
    {"builtins.int",                            ALL, "builds a number"},
    {"builtins.float",                          ALL, "builds a number"},
    {"builtins.complex",                        ALL, "builds a number"},
    {"builtins.bool",                           NC,  "builds a boolean"},
    {"builtins.range",                          NC,  "builds a range"},
    {"builtins.slice",                          NC,  "builds a slice"},
    {"builtins.object",                         NM | USE_CALL, "builds an empty object"},
    {"builtins.print",                          N,   "names a function"},
    {"builtins.len",                            N,   "names a function"},
    {"builtins.abs",                            N,   "names a function"},
    {"builtins.max",                            N,   "names a function"},
    {"builtins.min",                            N,   "names a function"},
    {"builtins.sum",                            N,   "names a function"},
    {"builtins.round",                          N,   "names a function"},
    {"builtins.Ellipsis",                       N,   "a constant"},
    {"builtins.NotImplemented",                 N,   "a constant"},
    {"builtins.type",                           N,   "names a type"},
    {"_codecs.encode",                          NC,  "builds bytes"},
    {"copyreg._reconstructor",                  NC,  "builds an object"},
    {"copyreg.__newobj__",                      NC,  "builds an object"},
    {"copyreg.__newobj_ex__",                   NC,  "builds an object"},
    {"functools.partial",                       NCB, "keeps a function and arguments"},
    {"array._array_reconstructor",              NC,  "builds numbers"},
    {"array.array",                             NC,  "builds numbers"},
    {"datetime.datetime",                       NC,  "builds a date"},
    {"datetime.date",                           NC,  "builds a date"},
    {"datetime.time",                           NC,  "builds a time"},
    {"datetime.timedelta",                      NC,  "builds a time span"},
    {"datetime.timezone",                       NC,  "names a time zone"},
    {"zoneinfo.ZoneInfo._unpickle",             NC,  "names a time zone"},
    {"time.struct_time",                        NC,  "builds a time"},
    {"pathlib.*Path",                           NC,  "builds a path"},
    {"pathlib._local.*Path",                    NC,  "builds a path"},
    {"uuid.UUID",                               ALL, "builds an identifier"},
    {"pathlib.Pure*Path",                       NC,  "builds a path"},
    {"uuid.SafeUUID",                           NC,  "builds an identifier"},
    {"decimal.Decimal",                         NC,  "builds a number"},
    {"fractions.Fraction",                      NC,  "builds a number"},
    {"argparse.Namespace",                      NMB, "keeps settings"},
    {"types.SimpleNamespace",                   ALL, "keeps settings"},
    {"types.MappingProxyType",                  NC,  verdict_builds_dict},
    {"types.NoneType",                          N,   "names a type"},
    {"re._compile",                             NC,  "builds a pattern"},
    {"logging.getLogger",                       NC,  "names a log"},
    {"itertools.count",                         NC,  "builds a counter"},
    {"enum.Enum",                               N,   "names a type"},
    {"typing.*",                                N,   "names a type"},

    /* classes that the configuration of a Keras model names: they are made with plain
     * arguments. Not those of keras.utils, which load files, nor those in never_classes.
     */
    {"keras.Sequential",                        NC,  "a model of Keras"},
    {"keras.Functional",                        NC,  "a model of Keras"},
    {"keras.Model",                             NC,  "a model of Keras"},
    {"keras.models.*",                          NC,  "a model of Keras"},
    {"keras.src.models.functional.*",           NC,  "a model of Keras"},
    {"keras.src.models.sequential.*",           NC,  "a model of Keras"},
    {"keras.layers.*",                          NC,  "a layer of Keras"},
    {"keras.src.ops.numpy.*",                   NC,  "an operation of Keras"},
    {"keras.src.ops.nn.*",                      NC,  "an operation of Keras"},
    {"keras.src.ops.math.*",                    NC,  "an operation of Keras"},
    {"keras.src.ops.linalg.*",                  NC,  "an operation of Keras"},
    {"keras.src.ops.image.*",                   NC,  "an operation of Keras"},
    {"keras.src.ops.core.Cast",                 NC,  "an operation of Keras"},
    {"keras.src.ops.core.Slice*",               NC,  "an operation of Keras"},
    {"keras.src.ops.core.Scatter*",             NC,  "an operation of Keras"},
    {"keras.src.ops.core.Unstack",              NC,  "an operation of Keras"},
    {"keras.src.ops.core.StopGradient",         NC,  "an operation of Keras"},
    {"keras.src.applications.convnext.LayerScale",       NC, "a layer of Keras"},
    {"keras.src.applications.convnext.StochasticDepth",  NC, "a layer of Keras"},
    {"keras.src.applications.inception_resnet_v2.CustomScaleLayer", NC,
     "a layer of Keras"},
    {"keras.quantizers.*Quantizer",             NC,  "says how a layer is quantised"},
    {"keras.quantizers.*Config",                NC,  "says how a layer is quantised"},
    {"keras.DTypePolicy",                       NC,  "names a dtype for layers"},
    {"keras.dtype_policies.*",                  NC,  "names a dtype for layers"},
    {"keras.initializers.*",                    NC,  "an initialiser of Keras"},
    {"keras.regularizers.*",                    NC,  "belongs to a layer of Keras"},
    {"keras.constraints.*",                     NC,  "belongs to a layer of Keras"},
    {"keras.random.SeedGenerator",              NC,  "belongs to a layer of Keras"},
    {"keras.activations.*lu",                   NC,  "an activation of Keras"},
    {"keras.activations.*lu6",                  NC,  "an activation of Keras"},
    {"keras.activations.*max",                  NC,  "an activation of Keras"},
    {"keras.activations.*sigmoid",              NC,  "an activation of Keras"},
    {"keras.activations.*tanh",                 NC,  "an activation of Keras"},
    {"keras.activations.soft*",                 NC,  "an activation of Keras"},
    {"keras.activations.linear",                NC,  "an activation of Keras"},
    {"keras.activations.exponential",           NC,  "an activation of Keras"},
    {"keras.activations.*ish",                  NC,  "an activation of Keras"},
    {"keras.losses.*",                          NC,  "a loss of Keras"},
    {"keras.metrics.*",                         NC,  "a metric of Keras"},
    {"keras.optimizers.*",                      NC,  "an optimizer of Keras"},
    {"keras.src.backend.torch.optimizers.*",    NC,  "an optimizer of Keras"},
    {"keras.src.backend.tensorflow.optimizer.*", NC, "an optimizer of Keras"},
    {"keras.src.backend.jax.optimizer.*",       NC,  "an optimizer of Keras"},

    /* arrays and numbers of numpy */
    {"joblib.numpy_pickle.NumpyArrayWrapper",   NMB, "builds an array"},
    {"numpy.core.multiarray._reconstruct",      NCB, "builds an array"},
    {"numpy._core.multiarray._reconstruct",     NCB, "builds an array"},
    {"numpy.core.multiarray.scalar",            NC,  "builds a number"},
    {"numpy._core.multiarray.scalar",           NC,  "builds a number"},
    {"numpy.core.numeric._frombuffer",          NC,  "builds an array"},
    {"numpy._core.numeric._frombuffer",         NC,  "builds an array"},
    {"numpy.ma.core._mareconstruct",            NCB, "builds an array"},
    {"numpy.ndarray",                           NMB, "builds an array"},
    {"numpy.recarray",                          NMB, "builds an array"},
    {"numpy.matrix",                            NMB, "builds an array"},
    {"numpy.ma.core.MaskedArray",               NMB, "builds an array"},
    {"numpy.ma.MaskedArray",                    NMB, "builds an array"},
    {"numpy.dtype",                             NCB, verdict_names_dtype},
    {"numpy.dtypes.*DType",                     NC,  verdict_names_dtype},
    {"numpy.float16",                           NC,  "builds a number"},
    {"numpy.float32",                           NC,  "builds a number"},
    {"numpy.float64",                           NC,  "builds a number"},
    {"numpy.longdouble",                        NC,  "builds a number"},
    {"numpy.int8",                              NC,  "builds a number"},
    {"numpy.int16",                             NC,  "builds a number"},
    {"numpy.int32",                             NC,  "builds a number"},
    {"numpy.int64",                             NC,  "builds a number"},
    {"numpy.intc",                              NC,  "builds a number"},
    {"numpy.intp",                              NC,  "builds a number"},
    {"numpy.uint8",                             NC,  "builds a number"},
    {"numpy.uint16",                            NC,  "builds a number"},
    {"numpy.uint32",                            NC,  "builds a number"},
    {"numpy.uint64",                            NC,  "builds a number"},
    {"numpy.uintc",                             NC,  "builds a number"},
    {"numpy.uintp",                             NC,  "builds a number"},
    {"numpy.complex64",                         NC,  "builds a number"},
    {"numpy.complex128",                        NC,  "builds a number"},
    {"numpy.bool_",                             NC,  "builds a boolean"},
    {"numpy.bool",                              NC,  "builds a boolean"},
    {"numpy.str_",                              NC,  "builds a text"},
    {"numpy.bytes_",                            NC,  "builds bytes"},
    {"numpy.random._pickle.__randomstate_ctor", NCB, "holds random number generator state"},
    {"numpy.random._pickle.__generator_ctor",   NCB, "holds random number generator state"},
    {"numpy.random._pickle.__bit_generator_ctor", NCB,
     "holds random number generator state"},
    {"numpy.random.__RandomState_ctor",         NCB, "holds random number generator state"},
    {"numpy.random._mt19937.MT19937",           NC,  "names a random generator"},
    {"numpy.random._pcg64.PCG64",               NC,  "names a random generator"},
    {"numpy.random._pcg64.PCG64DXSM",           NC,  "names a random generator"},
    {"numpy.random._philox.Philox",             NC,  "names a random generator"},
    {"numpy.random._sfc64.SFC64",               NC,  "names a random generator"},
    {"numpy.random.bit_generator.__pyx_unpickle_SeedSequence", NCB,
     "holds random number generator state"},
    {"numpy.random.bit_generator.SeedSequence", NC,  "names a random generator"},
};
/* clang-format on */

/* Classes of the archive's own TorchScript code. */
static const struct known_global script_class = {"__torch__.*", ALL,
                                                 "a TorchScript class of this archive"};

/* Functions of torch.nn.functional, torch._C._nn and torch that modules keep as values:
 * they only compute, do not call their arguments and do not touch files. (Not all of
 * torch's functions are like that: torch.from_file.) */
/* clang-format off */
static const char *const torch_functions[] = {
    "abs", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d",
    "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d", "add",
    "affine_grid", "alpha_dropout", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "batch_norm", "bilinear", "binary_cross_entropy", "binary_cross_entropy_with_logits",
    "cat", "celu", "celu_", "clamp", "conv1d", "conv2d", "conv3d", "conv_transpose1d",
    "conv_transpose2d", "conv_transpose3d", "cos", "cosine_embedding_loss",
    "cosine_similarity", "cross_entropy", "ctc_loss", "div", "dropout", "dropout1d",
    "dropout2d", "dropout3d", "elu", "elu_", "embedding", "embedding_bag", "erf", "exp",
    "feature_alpha_dropout", "fold", "gaussian_nll_loss", "gelu", "glu", "grid_sample",
    "group_norm", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh",
    "hardtanh_", "hinge_embedding_loss", "huber_loss", "instance_norm", "interpolate",
    "kl_div", "l1_loss", "layer_norm", "leaky_relu", "leaky_relu_", "linear",
    "local_response_norm", "log", "log_sigmoid", "log_softmax", "logsigmoid", "lp_pool1d",
    "lp_pool2d", "margin_ranking_loss", "matmul", "max", "max_pool1d", "max_pool2d",
    "max_pool3d", "mean", "min", "mish", "mse_loss", "mul", "multi_margin_loss",
    "multilabel_margin_loss", "multilabel_soft_margin_loss", "nll_loss", "normalize",
    "one_hot", "pad", "pairwise_distance", "pixel_shuffle", "pixel_unshuffle",
    "poisson_nll_loss", "prelu", "relu", "relu6", "relu_", "rms_norm", "rrelu", "rrelu_",
    "rsqrt", "scaled_dot_product_attention", "selu", "selu_", "sigmoid", "sign", "silu",
    "sin", "smooth_l1_loss", "soft_margin_loss", "softmax", "softmin", "softplus",
    "softshrink", "softsign", "sqrt", "square", "sub", "sum", "tanh", "tanh_",
    "tanhshrink", "threshold", "threshold_", "triplet_margin_loss", "unfold",
    "upsample", "upsample_bilinear", "upsample_nearest",
};
/* clang-format on */

static const struct known_global function_rows[] = {
    {"torch.nn.functional.*", USE_NAME, "names a function of torch"},
    {"torch._C._nn.*", USE_NAME, "names a function of torch"},
};

/* Functions and types with lower-case names. */
static const struct known_global small_rows[] = {
    {"torch.nn.init.*_", USE_NAME, "names a function of torch"},
    {"torch.return_types.*", NC, "builds a tuple of tensors"},
    {"math.*", USE_NAME, "names a function"},
};

/* Names that torch's modules import from elsewhere and that create classes or code. */
static const char *const never_classes[] = {
    "ABCMeta",  "FlaxLayer",          "Graph",     "GraphModule",
    "JaxLayer", "NamedTuple",         "Node",      "TFSMLayer",
    "Tracer",   "TorchModuleWrapper", "TypedDict", "_DataPipeMeta"};

/* These call their arguments, or keep them to be called. */
static const char *const callers[] = {
    "torch._tensor._rebuild_from_type_v2",
    "torch._tensor._rebuild_from_type",
    "torch._utils._rebuild_wrapper_subclass",
    "copyreg._reconstructor",
    "copyreg.__newobj__",
    "copyreg.__newobj_ex__",
    "functools.partial",
    "types.SimpleNamespace",
    "argparse.Namespace",
};

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_';
}

bool verdict_matches(const char *pattern, struct str name)
{
    const char *star;
    struct str head, tail, middle;
    size_t i;

    /* Excludes most rows quickly. */
    if (name.len == 0 || (pattern[0] != name.at[0] && pattern[0] != '*'))
        return false;
    star = strchr(pattern, '*');
    if (!star)
        return str_is(name, pattern);
    head = str_span(pattern, (size_t)(star - pattern));
    tail = str_of(star + 1);
    if (name.len < head.len + tail.len || !str_starts(name, head) ||
        !str_ends(name, tail))
        return false;
    if (tail.len == 0 && head.len > 0 && head.at[head.len - 1] == '.')
        return name.len > head.len;
    middle = str_head(str_from(name, head.len), name.len - head.len - tail.len);
    for (i = 0; i < middle.len; i++) {
        if (!is_word_char(middle.at[i]))
            return false;
    }
    return true;
}

bool verdict_is_class_like(struct str name)
{
    struct str last = str_from(name, (size_t)(str_find_last_char(name, '.') + 1));

    while (last.len > 0 && last.at[0] == '_')
        last = str_from(last, 1);
    return last.len > 0 && last.at[0] >= 'A' && last.at[0] <= 'Z';
}

/* torch's dtypes have their own table. */
static const struct known_global *allowed_dtype(struct str name)
{
    static const struct known_global dtype = {"torch.*", USE_NAME, verdict_names_dtype};
    struct str head = STR("torch.");

    if (!str_starts(name, head))
        return NULL;
    if (dtype_by_name(str_from(name, head.len)) == DTYPE_UNKNOWN)
        return NULL;
    return &dtype;
}

static bool ends_in_any(const char *pattern)
{
    size_t len = strlen(pattern);

    return len > 2 && strcmp(pattern + len - 2, ".*") == 0;
}

static bool is_listed(struct str name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(name, list[i]))
            return true;
    return false;
}

bool verdict_is_torch_function(struct str name)
{
    return is_listed(name, torch_functions, COUNT_OF(torch_functions));
}

/* Does the row match? Its `*` must not match nested names; `part` is the name without
 * its module. */
static bool row_fits(const struct known_global *row, struct str name, struct str part)
{
    if (!verdict_matches(row->name, name))
        return false;
    return !strchr(row->name, '*') || str_find_char(part, '.') < 0;
}

static const struct known_global *allowed_function(struct str name, struct str part)
{
    size_t i;

    for (i = 0; i < COUNT_OF(function_rows); i++) {
        if (row_fits(&function_rows[i], name, part) && verdict_is_torch_function(part))
            return &function_rows[i];
    }
    for (i = 0; i < COUNT_OF(small_rows); i++) {
        if (row_fits(&small_rows[i], name, part))
            return &small_rows[i];
    }
    return allowed_dtype(name);
}

const struct known_global *verdict_allowed(struct str name, size_t module_len,
                                           bool script)
{
    struct str part = module_len < name.len ? str_from(name, module_len + 1) : name;
    size_t i;

    if (script && verdict_matches(script_class.name, name))
        return &script_class;
    for (i = 0; i < COUNT_OF(allowed); i++) {
        if (!row_fits(&allowed[i], name, part))
            continue;
        if (!ends_in_any(allowed[i].name) ||
            (verdict_is_class_like(part) &&
             !is_listed(part, never_classes, COUNT_OF(never_classes))))
            return &allowed[i];
    }
    return allowed_function(name, part);
}

bool verdict_calls_others(struct str name)
{
    return is_listed(name, callers, COUNT_OF(callers));
}
