#include "run/op_table_in.h"

#include <string.h>

#include "base/base.h"

/* Variants do the work of the operation they are named after: these endings and
 * beginnings are removed one after the other from a name that is not in the table. */
static const char *const endings[] = {
    "_backward_data",
    "_backward_impl",
    "_dense_backward",
    "_sparse_backward",
    "_backward",
    "_forward",
    "_functional",
    "_for_cpu",
    "_for_mps",
    "_jvp",
    "_out",
    "_aa",
    "_ex",
    "_relu",
    "_",
};
static const char *const beginnings[] = {
    "_foreach_", "_fused_", "_native_", "native_", "_unsafe_", "unsafe_", "special_",
    "_cudnn_",   "cudnn_",  "miopen_",  "mkldnn_", "_mps_",    "mps_",    "quantized_",
    "_thnn_",    "thnn_",   "_slow_",   "slow_",   "_sparse_", "sparse_", "_",
};

/* For names that are still unknown: the first matching rule. */
static const struct {
    const char *head;
    enum op_family family;
} heads[] = {
    {"_linalg_check", OP_FAMILY_OTHER}, {"_linalg_", OP_FAMILY_LINALG},
    {"linalg_", OP_FAMILY_LINALG},      {"_fft_", OP_FAMILY_LINALG},
    {"fft_", OP_FAMILY_LINALG},         {"special_", OP_FAMILY_ELEMENTWISE},
    {"upsample_", OP_FAMILY_POOL},      {"_upsample_", OP_FAMILY_POOL},
    {"_to_", OP_FAMILY_COPY},           {"to_", OP_FAMILY_COPY},
    {"_sparse_c", OP_FAMILY_COPY},      {"sparse_c", OP_FAMILY_COPY},
    {"_sparse_b", OP_FAMILY_COPY},      {"sparse_b", OP_FAMILY_COPY},
};

/* Namespaces whose operations have the same names as in aten. */
static const char *const twins[] = {
    "prims",    "quantized",     "_quantized",     "onednn",   "mkldnn",
    "mkl",      "sparse",        "inductor",       "rngprims", "quantized_decomposed",
    "cortex_m", "dim_order_ops", "executorch_prim"};
/* Suffixes of their fused and converted variants. */
static const char *const twin_endings[] = {"_pointwise", "_dynamic", "_fp16", "_add",
                                           "_scalar",    "_tanh",    "_leaky"};

struct str op_table_name(struct str name)
{
    return str_starts(name, STR("aten::")) ? str_from(name, 6) : name;
}

struct str op_short_name(struct str name)
{
    static const char *const spaces[] = {
        "aten::", "prim::", "onnx::", "keras::", "tflite::"};

    for (size_t i = 0; i < COUNT_OF(spaces); i++)
        if (str_starts(name, str_of(spaces[i])))
            return str_from(name, strlen(spaces[i]));
    return name;
}

/* Is `name` one of the words of `row`? A binary search on the text. */
static bool row_has(const struct op_family_row *row, struct str name)
{
    size_t low = 0, high = row->length;

    while (low < high) {
        size_t begin = low + (high - low) / 2, end = begin;
        int order;

        while (begin > low && row->names[begin - 1] != ' ')
            begin--;
        while (end < high && row->names[end] != ' ')
            end++;
        order = str_cmp(name, (struct str){row->names + begin, end - begin});
        if (order == 0)
            return true;
        if (order < 0)
            high = begin;
        else
            low = end < high ? end + 1 : high;
    }
    return false;
}

static enum op_family listed_in(const struct op_family_row *rows, struct str name)
{
    for (int i = OP_FAMILY_OTHER + 1; i < OP_FAMILY_COUNT; i++)
        if (row_has(&rows[i], name))
            return (enum op_family)i;
    return OP_FAMILY_OTHER;
}

static enum op_family listed(struct str name)
{
    return listed_in(op_families, name);
}

static bool cut_ending(struct str *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct str ending = str_of(list[i]);

        if (name->len > ending.len && str_ends(*name, ending)) {
            *name = str_head(*name, name->len - ending.len);
            return true;
        }
    }
    return false;
}

static bool cut_beginning(struct str *name)
{
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
        struct str head = str_of(beginnings[i]);

        if (name->len > head.len && str_starts(*name, head)) {
            *name = str_from(*name, head.len);
            return true;
        }
    }
    return false;
}

/* The family of an operation of aten, or of a twin. */
static enum op_family variant_family(struct str name, bool twin)
{
    struct str rest = name;
    enum op_family family;

    for (;;) {
        family = listed(rest);
        if (family != OP_FAMILY_OTHER)
            return family;
        if (str_ends(rest, STR("_copy"))) /* view_copy: unlike a view */
            return OP_FAMILY_COPY;
        if (!cut_ending(&rest, endings, sizeof(endings) / sizeof(endings[0])) &&
            !(twin && cut_ending(&rest, twin_endings,
                                 sizeof(twin_endings) / sizeof(twin_endings[0]))) &&
            !cut_beginning(&rest))
            break;
    }
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        if (str_starts(name, str_of(heads[i].head)))
            return heads[i].family;
    return OP_FAMILY_OTHER;
}

static enum op_family twin_family(struct str space, struct str name)
{
    /* conv2d_prepack, linear_unpack, _reorder_linear_weight: another form of weights */
    if (str_find(name, STR("pack")) >= 0 || str_find(name, STR("_reorder_")) >= 0)
        return OP_FAMILY_COPY;
    if ((str_is(space, "onednn") || str_is(space, "sparse")) &&
        str_starts(name, STR("q")))
        name = str_from(name, 1); /* qlinear */
    return variant_family(name, true);
}

enum op_family op_family_of(struct str name)
{
    struct str word = op_table_name(name), space, bare;
    ptrdiff_t at = str_find(word, STR("::"));
    enum op_family family;

    if (at < 0)
        return word.len < name.len ? variant_family(word, false) : OP_FAMILY_OTHER;
    space = str_head(word, (size_t)at);
    bare = str_from(word, (size_t)at + 2);
    if (str_is(space, "keras"))
        return listed_in(op_keras_rows, bare);
    if (str_is(space, "tflite"))
        return listed_in(op_tflite_rows, bare);
    do {
        family = listed(word);
        if (family != OP_FAMILY_OTHER)
            return family;
    } while (cut_ending(&word, endings, sizeof(endings) / sizeof(endings[0])));
    for (size_t i = 0; i < sizeof(twins) / sizeof(twins[0]); i++)
        if (str_is(space, twins[i]))
            return twin_family(space, bare);
    return op_onnx_family(bare); /* "onnx", or a domain that extends it */
}

const char *op_family_name(enum op_family family)
{
    return op_families[(unsigned)family < OP_FAMILY_COUNT ? family : 0].title;
}

bool op_family_is_matrix(enum op_family family)
{
    return op_families[(unsigned)family < OP_FAMILY_COUNT ? family : 0].matrix;
}

/* The row of exactly this name. */
static const struct op_formula *formula_of(struct str name)
{
    uint32_t low = 0, high = op_n_formulas;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = str_cmp(name, str_of(op_formulas[middle].name));

        if (order == 0)
            return &op_formulas[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

const struct op_formula *op_formula_find(struct str name)
{
    struct str word = op_table_name(name);
    const struct op_formula *formula;

    if (str_find(name, STR("::")) < 0)
        return NULL;
    formula = formula_of(word);
    /* An in-place operation has the same arguments. */
    if (!formula && str_ends(word, STR("_")))
        formula = formula_of(str_head(word, word.len - 1));
    return formula;
}

bool op_has_flops(struct str name)
{
    return op_formula_find(name) != NULL;
}

int64_t op_flops(const struct op_seen *seen)
{
    const struct op_formula *formula = op_formula_find(seen->name);

    return formula ? formula->count(seen, formula) : OP_NO_FLOPS;
}
