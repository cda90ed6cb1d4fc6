#include "read/pt2/pt2_in.h"

#include <inttypes.h>
#include <string.h>

#include "base/base.h"
#include "base/buf.h"

uint32_t pt2_union(const struct json_doc *doc, uint32_t at, struct str *ret_kind)
{
    *ret_kind = STR("");
    if (json_doc_kind(doc, at) != JSON_OBJECT)
        return 0;
    for (uint32_t k = json_doc_first(doc, at); k; k = json_doc_next(doc, k)) {
        uint32_t value = json_doc_value(doc, k);

        if (json_doc_kind(doc, value) == JSON_NULL)
            continue;
        *ret_kind = json_doc_text(doc, k);
        return value;
    }
    return 0;
}

/* ---- enumerations: numbers, in old files their names ---- */

struct pt2_word {
    int64_t number;
    const char *name;  /* of the enumeration */
    const char *torch; /* shown to people */
    enum dtype dtype;
};

static const struct pt2_word scalar_types[] = {
    {1, "BYTE", "torch.uint8", DTYPE_UINT8},
    {2, "CHAR", "torch.int8", DTYPE_INT8},
    {3, "SHORT", "torch.int16", DTYPE_INT16},
    {4, "INT", "torch.int32", DTYPE_INT32},
    {5, "LONG", "torch.int64", DTYPE_INT64},
    {6, "HALF", "torch.float16", DTYPE_FLOAT16},
    {7, "FLOAT", "torch.float32", DTYPE_FLOAT32},
    {8, "DOUBLE", "torch.float64", DTYPE_FLOAT64},
    {9, "COMPLEXHALF", "torch.complex32", DTYPE_COMPLEX32},
    {10, "COMPLEXFLOAT", "torch.complex64", DTYPE_COMPLEX64},
    {11, "COMPLEXDOUBLE", "torch.complex128", DTYPE_COMPLEX128},
    {12, "BOOL", "torch.bool", DTYPE_BOOL},
    {13, "BFLOAT16", "torch.bfloat16", DTYPE_BFLOAT16},
    {28, "UINT16", "torch.uint16", DTYPE_UINT16},
    {29, "FLOAT8E4M3FN", "torch.float8_e4m3fn", DTYPE_FLOAT8_E4M3FN},
    {30, "FLOAT8E5M2", "torch.float8_e5m2", DTYPE_FLOAT8_E5M2},
    {31, "FLOAT8E4M3FNUZ", "torch.float8_e4m3fnuz", DTYPE_FLOAT8_E4M3FNUZ},
    {32, "FLOAT8E5M2FNUZ", "torch.float8_e5m2fnuz", DTYPE_FLOAT8_E5M2FNUZ},
    {33, "FLOAT8E8M0FNU", "torch.float8_e8m0fnu", DTYPE_FLOAT8_E8M0FNU},
    {34, "UINT32", "torch.uint32", DTYPE_UINT32},
    {35, "UINT64", "torch.uint64", DTYPE_UINT64},
};

static const struct pt2_word memory_formats[] = {
    {1, "ContiguousFormat", "torch.contiguous_format", 0},
    {2, "ChannelsLast", "torch.channels_last", 0},
    {3, "ChannelsLast3d", "torch.channels_last_3d", 0},
    {4, "PreserveFormat", "torch.preserve_format", 0},
};

static const struct pt2_word layouts[] = {
    {1, "SparseCoo", "torch.sparse_coo", 0}, {2, "SparseCsr", "torch.sparse_csr", 0},
    {3, "SparseCsc", "torch.sparse_csc", 0}, {4, "SparseBsr", "torch.sparse_bsr", 0},
    {5, "SparseBsc", "torch.sparse_bsc", 0}, {6, "_mkldnn", "torch._mkldnn", 0},
    {7, "Strided", "torch.strided", 0},
};

static const struct pt2_word *word_of(const struct pt2_word *words, size_t n,
                                      const struct json_doc *doc, uint32_t at)
{
    struct str name = json_doc_text(doc, at);
    int64_t number = 0;
    bool is_number = json_doc_int(doc, at, &number);

    for (size_t i = 0; i < n; i++)
        if (is_number ? words[i].number == number : str_is(name, words[i].name))
            return &words[i];
    return NULL;
}

#define WORD_OF(words, doc, at) word_of((words), COUNT_OF(words), (doc), (at))

static struct str torch_word(const struct pt2_word *word)
{
    return word ? str_of(word->torch) : STR("");
}

struct str pt2_scalar_type(const struct json_doc *doc, uint32_t at)
{
    return torch_word(WORD_OF(scalar_types, doc, at));
}

struct str pt2_memory_format(const struct json_doc *doc, uint32_t at)
{
    return torch_word(WORD_OF(memory_formats, doc, at));
}

struct str pt2_layout(const struct json_doc *doc, uint32_t at)
{
    return torch_word(WORD_OF(layouts, doc, at));
}

/* ---- tensor metadata ---- */

void pt2_device(struct buf *to, const struct json_doc *doc, uint32_t at)
{
    int64_t index;

    buf_str(to, json_doc_text(doc, json_doc_get(doc, at, "type")));
    if (json_doc_int(doc, json_doc_get(doc, at, "index"), &index))
        buf_printf(to, ":%" PRId64, index);
}

/* "Symbol('s77', positive=True, integer=True)", the repr() of a sympy expression,
 * becomes s77. Other parts of an expression stay unchanged: "2*s77". */
static void add_expression(struct buf *to, struct str text)
{
    struct str head = STR("Symbol('");

    while (text.len > 0) {
        ptrdiff_t begin = str_find(text, head), end, close;
        struct str rest;

        if (begin < 0)
            break;
        rest = str_from(text, (size_t)begin + head.len);
        end = str_find_char(rest, '\'');
        close = str_find_char(rest, ')');
        if (end < 0 || close < end)
            break;
        buf_str(to, str_head(text, (size_t)begin));
        buf_str(to, str_head(rest, (size_t)end));
        text = str_from(rest, (size_t)close + 1);
    }
    buf_str(to, text);
}

void pt2_sym(struct buf *to, const struct json_doc *doc, uint32_t at)
{
    struct str kind;
    uint32_t value = pt2_union(doc, at, &kind);

    if (json_doc_kind(doc, at) == JSON_NUMBER)
        buf_str(to, json_doc_text(doc, at));
    else if (str_is(kind, "as_int") || str_is(kind, "as_name"))
        buf_str(to, json_doc_text(doc, value));
    else if (json_doc_kind(doc, value) == JSON_STRING)
        add_expression(to, json_doc_text(doc, value));
    else
        add_expression(to, json_doc_text(doc, json_doc_get(doc, value, "expr_str")));
}

/* A size as a number; false: it is an expression. */
static bool fixed_size(const struct json_doc *doc, uint32_t at, int64_t *ret_size)
{
    struct str kind;
    uint32_t value = pt2_union(doc, at, &kind);

    if (json_doc_int(doc, at, ret_size) || json_doc_int(doc, value, ret_size))
        return true;
    if (json_doc_kind(doc, value) == JSON_OBJECT)
        value = json_doc_get(doc, value, "expr_str");
    return str_to_i64(json_doc_text(doc, value), ret_size);
}

static int read_sizes(const struct json_doc *doc, uint32_t list, int64_t *sizes,
                      bool *open)
{
    int n = 0;

    if (json_doc_kind(doc, list) != JSON_ARRAY)
        return -1;
    for (uint32_t i = json_doc_first(doc, list); i; i = json_doc_next(doc, i), n++) {
        if (n == PT2_RANK)
            return -1;
        if (!fixed_size(doc, i, &sizes[n])) {
            sizes[n] = -1;
            *open = true;
        }
    }
    return n;
}

bool pt2_meta(const struct json_doc *doc, uint32_t at, struct pt2_meta *ret_meta)
{
    static const enum layout kinds[] = {LAYOUT_STRIDED, LAYOUT_COO,    LAYOUT_CSR,
                                        LAYOUT_CSC,     LAYOUT_BSR,    LAYOUT_BSC,
                                        LAYOUT_WRAPPED, LAYOUT_STRIDED};
    const struct pt2_word *word;
    uint32_t device = json_doc_get(doc, at, "device");
    bool ignored = false;

    if (json_doc_kind(doc, at) != JSON_OBJECT)
        return false;
    memset(ret_meta, 0, sizeof *ret_meta);
    word = WORD_OF(scalar_types, doc, json_doc_get(doc, at, "dtype"));
    ret_meta->dtype = word ? word->dtype : DTYPE_UNKNOWN;
    word = WORD_OF(layouts, doc, json_doc_get(doc, at, "layout"));
    ret_meta->layout = word ? kinds[word->number] : LAYOUT_STRIDED;
    ret_meta->rank = read_sizes(doc, json_doc_get(doc, at, "sizes"), ret_meta->shape,
                                &ret_meta->open);
    if (ret_meta->rank < 0 || read_sizes(doc, json_doc_get(doc, at, "strides"),
                                         ret_meta->strides, &ignored) != ret_meta->rank)
        return false;
    ret_meta->grad = json_doc_true(doc, json_doc_get(doc, at, "requires_grad"));
    if (!fixed_size(doc, json_doc_get(doc, at, "storage_offset"), &ret_meta->offset))
        ret_meta->offset = 0;
    ret_meta->device = json_doc_text(doc, json_doc_get(doc, device, "type"));
    if (!json_doc_int(doc, json_doc_get(doc, device, "index"), &ret_meta->device_index))
        ret_meta->device_index = -1;
    return true;
}
