#include "study/verdict_in.h"

#include <string.h>

#include "base/base.h"
#include "model/dtype.h"

#define N   USE_NAME
#define NC  (USE_NAME | USE_CALL)
#define NM  (USE_NAME | USE_MAKE)
#define NCB (USE_NAME | USE_CALL | USE_BUILD)
#define ALL (USE_NAME | USE_CALL | USE_MAKE | USE_BUILD)

/* What may stand in a file without being code: each row was looked at in the sources of
 * Python, torch and numpy, and does nothing but build a value. Rows are tried in order,
 * exact names first where a pattern would fit as well. */
/* clang-format off */
static const struct known_global allowed[] = {
    /* tensors and what describes them */
    {"torch._utils._rebuild_*",                 NCB, "builds a tensor"},
    {"torch._tensor._rebuild_from_type*",       NCB, "builds a tensor of a subclass"},
    {"torch._tensor._rebuild_from_type_v2",     NCB, "builds a tensor of a subclass"},
    {"torch.tensor._rebuild_from_type",         NCB, "builds a tensor of a subclass"},
    {"torch.*Storage",                          ALL, "names a dtype"},
    {"torch.cuda.*Storage",                     ALL, "names a dtype"},
    {"torch.storage.*Storage",                  ALL, "names a dtype"},
    {"torch.*Tensor",                           ALL, "builds a tensor"},
    {"torch.cuda.*Tensor",                      ALL, "builds a tensor"},
    {"torch._tensor.Tensor",                    ALL, "builds a tensor"},
    {"torch.Tensor",                            ALL, "builds a tensor"},
    {"torch.autograd.variable.Variable",        ALL, "builds a tensor"},
    {"torch.nn.parameter.*",                    ALL, "builds a parameter"},
    {"torch.Size",                              NC | USE_MAKE, "names a shape"},
    {"torch.device",                            NC,  "names a device"},
    {"torch.Generator",                         NC,  "holds a state of random numbers"},
    {"torch.serialization._get_layout",         NC,  "names a layout"},
    {"torch.serialization.get_layout",          NC,  "names a layout"},
    {"torch.per_tensor_*",                      N,   "names a quantiser"},
    {"torch.per_channel_*",                     N,   "names a quantiser"},
    {"torch.sparse_*",                          N,   "names a layout"},
    {"torch.strided",                           N,   "names a layout"},
    {"torch.*_format",                          N,   "names a memory format"},
    {"torch.channels_last",                     N,   "names a memory format"},
    {"torch._C._VariableFunctionsClass",        N,   "names torch's functions"},
    {"torch._C._VariableFunctions",             N,   "names torch's functions"},
    {"torch.jit._pickle.build_*",               NC,  "builds a list"},
    {"torch.jit._pickle.restore_type_tag",      NC,  "builds a typed value"},

    /* torch's own classes: made without being run, and given their attributes */
    {"torch.nn.modules.*",                      NM | USE_BUILD, "a module of torch"},
    {"torch.nn.quantized.*",                    NM | USE_BUILD, "a module of torch"},
    {"torch.nn.quantizable.*",                  NM | USE_BUILD, "a module of torch"},
    {"torch.nn.intrinsic.*",                    NM | USE_BUILD, "a module of torch"},
    {"torch.nn.qat.*",                          NM | USE_BUILD, "a module of torch"},
    {"torch.nn.parallel.*",                     NM | USE_BUILD, "a module of torch"},
    {"torch.nn.utils.*",                        NM | USE_BUILD, "a module's helper"},
    {"torch.ao.nn.*",                           NM | USE_BUILD, "a module of torch"},
    {"torch.ao.quantization.*",                 NM | USE_BUILD, "a quantiser's settings"},
    {"torch.quantization.*",                    NM | USE_BUILD, "a quantiser's settings"},
    {"torch.legacy.nn.*",                       NM | USE_BUILD, "a module of torch"},
    {"torch.optim.*",                           NM | USE_BUILD, "an optimizer of torch"},
    {"torch.distributions.*",                   NM | USE_BUILD, "a distribution"},
    {"torch.utils.data.*",                      NM | USE_BUILD, "a data set of torch"},
    {"torch.distributed.checkpoint.metadata.*", NM | USE_BUILD, "describes a checkpoint"},
    {"torch.nn.backends.thnn._get_thnn_function_backend", NC, "names an old backend"},
    {"torch.utils.hooks.*",                     ALL, "holds a hook"},
    {"__torch__.*",                             ALL, "a class of this archive, in "
                                                     "TorchScript"},

    /* containers and plain values of Python */
    {"collections.OrderedDict",                 ALL, "builds a dictionary"},
    {"collections.defaultdict",                 ALL, "builds a dictionary"},
    {"collections.Counter",                     ALL, "builds a dictionary"},
    {"collections.ChainMap",                    NM | USE_BUILD, "builds a dictionary"},
    {"collections.deque",                       ALL, "builds a list"},
    {"builtins.dict",                           ALL, "builds a dictionary"},
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
    {"builtins.bool",                           NC,  "builds a truth value"},
    {"builtins.range",                          NC,  "builds a range"},
    {"builtins.slice",                          NC,  "builds a slice"},
    {"builtins.object",                         NM | USE_CALL, "builds an empty object"},
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
    {"uuid.SafeUUID",                           NC,  "builds an identifier"},
    {"decimal.Decimal",                         NC,  "builds a number"},
    {"fractions.Fraction",                      NC,  "builds a number"},
    {"argparse.Namespace",                      NM | USE_BUILD, "keeps settings"},
    {"types.SimpleNamespace",                   ALL, "keeps settings"},
    {"re._compile",                             NC,  "builds a pattern"},
    {"logging.getLogger",                       NC,  "names a log"},
    {"itertools.count",                         NC,  "builds a counter"},
    {"typing.*",                                N,   "names a type"},

    /* arrays and numbers of numpy */
    {"numpy.core.multiarray._reconstruct",      NCB, "builds an array"},
    {"numpy._core.multiarray._reconstruct",     NCB, "builds an array"},
    {"numpy.core.multiarray.scalar",            NC,  "builds a number"},
    {"numpy._core.multiarray.scalar",           NC,  "builds a number"},
    {"numpy.core.numeric._frombuffer",          NC,  "builds an array"},
    {"numpy._core.numeric._frombuffer",         NC,  "builds an array"},
    {"numpy.ndarray",                           NM | USE_BUILD, "builds an array"},
    {"numpy.dtype",                             NCB, "names a dtype"},
    {"numpy.dtypes.*DType",                     NC,  "names a dtype"},
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
    {"numpy.bool_",                             NC,  "builds a truth value"},
    {"numpy.bool",                              NC,  "builds a truth value"},
    {"numpy.str_",                              NC,  "builds a text"},
    {"numpy.bytes_",                            NC,  "builds bytes"},
    {"numpy.random._pickle.__randomstate_ctor", NCB, "holds a state of random numbers"},
    {"numpy.random._pickle.__generator_ctor",   NCB, "holds a state of random numbers"},
    {"numpy.random._pickle.__bit_generator_ctor", NCB,
     "holds a state of random numbers"},
    {"numpy.random._mt19937.MT19937",           N,   "names a random generator"},
    {"numpy.random._pcg64.PCG64",               N,   "names a random generator"},
};
/* clang-format on */

/* Functions that stand as values in modules: named only, never called by a load. */
static const struct known_global functions[] = {
    {"torch.nn.functional.*", USE_NAME, "names a function of torch"},
    {"torch.nn.init.*", USE_NAME, "names a function of torch"},
    {"torch._jit_internal.*", USE_NAME, "names a function of torch"},
};

/* These call their first argument, or make an object of it. */
static const char *const callers[] = {
    "torch._tensor._rebuild_from_type_v2",
    "torch._tensor._rebuild_from_type",
    "torch.tensor._rebuild_from_type",
    "torch._utils._rebuild_wrapper_subclass",
    "copyreg._reconstructor",
    "copyreg.__newobj__",
    "copyreg.__newobj_ex__",
};

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_';
}

bool verdict_matches(const char *pattern, struct str name)
{
    const char *star = strchr(pattern, '*');
    struct str head, tail, middle;
    size_t i;

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

bool verdict_fits_glob(const char *pattern, struct str name)
{
    const char *star = NULL; /* the last one, to which we return when stuck */
    size_t at = 0, star_at = 0;

    while (at < name.len) {
        if (*pattern == '*') {
            star = pattern++;
            star_at = at;
        } else if (*pattern == name.at[at]) {
            pattern++;
            at++;
        } else if (star) {
            pattern = star + 1;
            at = ++star_at;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

bool verdict_is_class_like(struct str name)
{
    struct str last = str_from(name, (size_t)(str_find_last_char(name, '.') + 1));

    while (last.len > 0 && last.at[0] == '_')
        last = str_from(last, 1);
    return last.len > 0 && last.at[0] >= 'A' && last.at[0] <= 'Z';
}

/* Two names beside the tables: torch's dtypes have a table of their own. */
static const struct known_global *allowed_dtype(struct str name)
{
    static const struct known_global dtype = {"torch.*", USE_NAME, "names a dtype"};
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

const struct known_global *verdict_allowed(struct str name)
{
    size_t i;

    for (i = 0; i < COUNT_OF(allowed); i++) {
        if (!verdict_matches(allowed[i].name, name))
            continue;
        if (!ends_in_any(allowed[i].name) || verdict_is_class_like(name))
            return &allowed[i];
    }
    for (i = 0; i < COUNT_OF(functions); i++) {
        if (verdict_matches(functions[i].name, name))
            return &functions[i];
    }
    return allowed_dtype(name);
}

bool verdict_calls_others(struct str name)
{
    size_t i;

    for (i = 0; i < COUNT_OF(callers); i++) {
        if (str_is(name, callers[i]))
            return true;
    }
    return false;
}
