#include <string.h>

#include "base/base.h"
#include "base/bytes.h"
#include "read/npy_in.h"
#include "read/torch/torch_in.h"

#define MAGIC       STR("\x93NUMPY")
#define DESCR_DEPTH 16

/* A cursor over the text of the header. Only the literals that numpy writes are known:
 * strings, whole numbers, True, False, tuples, lists. */
struct npy_literal {
    struct str rest;
    const char *why; /* what is wrong, or NULL */
};

static bool literal_fail(struct npy_literal *in, const char *why)
{
    if (!in->why)
        in->why = why;
    return false;
}

static void skip_blanks(struct npy_literal *in)
{
    while (in->rest.len > 0 && strchr(" \t\r\n", in->rest.at[0]) && in->rest.at[0])
        in->rest = str_from(in->rest, 1);
}

/* Skip the character if it is next. */
static bool skip_char(struct npy_literal *in, char c)
{
    skip_blanks(in);
    if (in->rest.len == 0 || in->rest.at[0] != c)
        return false;
    in->rest = str_from(in->rest, 1);
    return true;
}

static bool skip_word(struct npy_literal *in, const char *word)
{
    skip_blanks(in);
    if (!str_starts(in->rest, str_of(word)))
        return false;
    in->rest = str_from(in->rest, strlen(word));
    return true;
}

/* A string in quotes; Python 2 may write u'x'. Escapes are not decoded. */
static bool take_string(struct npy_literal *in, struct str *ret_text)
{
    size_t n = 1;
    char quote;

    skip_blanks(in);
    if (in->rest.len > 1 && (in->rest.at[0] == 'u' || in->rest.at[0] == 'b'))
        in->rest = str_from(in->rest, 1);
    if (in->rest.len == 0 || (in->rest.at[0] != '\'' && in->rest.at[0] != '"'))
        return literal_fail(in, "a string is missing");
    quote = in->rest.at[0];
    while (n < in->rest.len && in->rest.at[n] != quote)
        n += in->rest.at[n] == '\\' ? 2 : 1;
    if (n >= in->rest.len)
        return literal_fail(in, "a string does not end");
    *ret_text = str_span(in->rest.at + 1, n - 1);
    in->rest = str_from(in->rest, n + 1);
    return true;
}

/* A whole number; Python 2 may write 3L. */
static bool take_int(struct npy_literal *in, int64_t *ret_value)
{
    size_t n = 0;

    skip_blanks(in);
    while (n < in->rest.len && ((in->rest.at[n] >= '0' && in->rest.at[n] <= '9') ||
                                (n == 0 && in->rest.at[n] == '-')))
        n++;
    if (!str_to_i64(str_head(in->rest, n), ret_value))
        return literal_fail(in, "a size is not a whole number");
    in->rest = str_from(in->rest, n);
    if (in->rest.len > 0 && in->rest.at[0] == 'L')
        in->rest = str_from(in->rest, 1);
    return true;
}

/* (2, 3), (2,), () or, for the shape of a field, 3. */
static bool take_shape(struct npy_literal *in, int64_t shape[NPY_RANK], int *ret_rank)
{
    bool comma = true;
    int rank = 0;

    if (!skip_char(in, '(')) {
        *ret_rank = 1;
        return take_int(in, &shape[0]);
    }
    while (!skip_char(in, ')')) {
        if (!comma)
            return literal_fail(in, "the shape is not a tuple");
        if (rank == NPY_RANK)
            return literal_fail(in, "the shape has more than 64 dimensions");
        if (!take_int(in, &shape[rank++]))
            return false;
        comma = skip_char(in, ',');
    }
    *ret_rank = rank;
    return true;
}

/* ---- the dtype ---- */

struct descr {
    struct str code;
    char order;
    uint64_t size; /* 0: unknown */
    bool objects;
};

/* "<f4", "|S3", "<U5", "<M8[ns]", "|O". */
static struct descr plain_descr(struct str text)
{
    struct descr descr = {.order = '|', .code = text};
    size_t digits = 1;

    if (text.len > 0 && strchr("<>|=", text.at[0]) && text.at[0]) {
        descr.order = text.at[0];
        descr.code = str_from(text, 1);
    }
    if (descr.code.len == 0)
        return descr;
    while (digits < descr.code.len && descr.code.at[digits] >= '0' &&
           descr.code.at[digits] <= '9')
        digits++;
    str_to_u64(str_span(descr.code.at + 1, digits - 1), &descr.size);
    descr.objects = descr.code.at[0] == 'O';
    if (descr.code.at[0] == 'U' &&
        __builtin_mul_overflow(descr.size, (uint64_t)4, &descr.size))
        descr.size = 0;
    if (str_is(descr.code, "?")) {
        descr.code = STR("b1");
        descr.size = 1;
    }
    return descr;
}

static bool take_descr(struct npy_literal *in, int depth, struct descr *ret_descr);

/* Multiply the size of an element by the sizes of the array that a field is. */
static void repeat(struct descr *descr, const int64_t *shape, int rank)
{
    for (int i = 0; i < rank; i++)
        if (shape[i] < 0 ||
            __builtin_mul_overflow(descr->size, (uint64_t)shape[i], &descr->size))
            descr->size = 0;
}

/* A field, after its parenthesis: 'x', '<f4') or 'x', '<f4', (3,)). A name may be a
 * pair (title, name). */
static bool take_field(struct npy_literal *in, int depth, struct descr *ret_field)
{
    int64_t shape[NPY_RANK];
    struct str name;
    int rank;

    if (skip_char(in, '(')) {
        if (!take_string(in, &name) || !skip_char(in, ',') || !take_string(in, &name) ||
            !skip_char(in, ')'))
            return literal_fail(in, "the name of a field is not a string");
    } else if (!take_string(in, &name)) {
        return false;
    }
    if (!skip_char(in, ',') || !take_descr(in, depth + 1, ret_field))
        return literal_fail(in, "a field has no dtype");
    if (skip_char(in, ')'))
        return true;
    if (!skip_char(in, ','))
        return literal_fail(in, "a field does not end");
    if (skip_char(in, ')'))
        return true;
    if (!take_shape(in, shape, &rank))
        return false;
    repeat(ret_field, shape, rank);
    return skip_char(in, ')') || literal_fail(in, "a field does not end");
}

/* [field, field, ...], after its bracket. */
static bool take_fields(struct npy_literal *in, int depth, struct descr *ret_descr)
{
    struct descr sum = {.order = '|'}, field;

    while (!skip_char(in, ']')) {
        if (!skip_char(in, '(') || !take_field(in, depth, &field))
            return literal_fail(in, "the dtype is not a list of fields");
        if (__builtin_add_overflow(sum.size, field.size, &sum.size))
            sum.size = 0;
        sum.objects |= field.objects;
        skip_char(in, ',');
    }
    *ret_descr = sum;
    return true;
}

static bool take_descr(struct npy_literal *in, int depth, struct descr *ret_descr)
{
    int64_t shape[NPY_RANK];
    struct str text;
    int rank;

    if (depth > DESCR_DEPTH)
        return literal_fail(in, "the dtype is nested too deep");
    if (skip_char(in, '['))
        return take_fields(in, depth, ret_descr);
    if (skip_char(in, '(')) { /* (dtype, shape) */
        if (!take_descr(in, depth + 1, ret_descr) || !skip_char(in, ',') ||
            !take_shape(in, shape, &rank) || !skip_char(in, ')'))
            return literal_fail(in, "the dtype is not a pair of dtype and shape");
        repeat(ret_descr, shape, rank);
        ret_descr->code = STR("");
        return true;
    }
    if (!take_string(in, &text))
        return false;
    *ret_descr = plain_descr(text);
    return true;
}

/* ---- the header ---- */

bool npy_looks_like(struct str head)
{
    return head.len >= 10 && str_starts(head, MAGIC);
}

uint64_t npy_header_bytes(struct str head)
{
    struct bytes in = bytes_of(head.at, head.len);
    uint8_t major;
    uint64_t n;

    if (!npy_looks_like(head))
        return 0;
    bytes_skip(&in, 6);
    major = bytes_u8(&in);
    bytes_skip(&in, 1);
    if (major == 1)
        n = 10 + (uint64_t)bytes_u16(&in);
    else if (major == 2 || major == 3)
        n = 12 + (uint64_t)bytes_u32(&in);
    else
        return 0;
    return in.bad ? 0 : n;
}

static bool take_descr_item(struct npy_literal *in, struct npy_header *header)
{
    const char *begin;
    struct descr descr;

    skip_blanks(in);
    begin = in->rest.at;
    if (!take_descr(in, 0, &descr))
        return false;
    header->descr = str_trim(str_span(begin, (size_t)(in->rest.at - begin)));
    if (header->descr.len > 1 && (*begin == '\'' || *begin == '"'))
        header->descr = str_span(begin + 1, header->descr.len - 2);
    header->code = descr.code;
    header->order = descr.order;
    header->size = descr.size;
    header->objects = descr.objects;
    header->dtype = dtype_by_numpy(descr.code);
    return true;
}

/* One item of the dict; `seen` gets a bit. */
static bool take_item(struct npy_literal *in, struct npy_header *header, unsigned *seen)
{
    struct str key;

    if (!take_string(in, &key) || !skip_char(in, ':'))
        return literal_fail(in, "it is not a dict");
    if (str_is(key, "descr")) {
        *seen |= 1;
        return take_descr_item(in, header);
    }
    if (str_is(key, "fortran_order")) {
        *seen |= 2;
        header->fortran = skip_word(in, "True");
        return header->fortran || skip_word(in, "False") ||
               literal_fail(in, "fortran_order is not a boolean");
    }
    if (str_is(key, "shape")) {
        *seen |= 4;
        return take_shape(in, header->shape, &header->rank);
    }
    return literal_fail(in, "it has an unknown key");
}

const char *npy_parse(struct str bytes, struct npy_header *ret_header)
{
    struct npy_header header = {.data_at = npy_header_bytes(bytes)};
    struct npy_literal in = {.rest = bytes};
    unsigned seen = 0;
    bool comma = true;

    if (header.data_at == 0 || header.data_at > bytes.len)
        return "it is not complete";
    header.major = (uint8_t)bytes.at[6];
    header.minor = (uint8_t)bytes.at[7];
    in.rest =
        str_from(str_head(bytes, (size_t)header.data_at), header.major == 1 ? 10 : 12);
    if (!skip_char(&in, '{'))
        return "it is not a dict";
    while (!skip_char(&in, '}')) {
        if (!comma || !take_item(&in, &header, &seen))
            return in.why ? in.why : "it is not a dict";
        comma = skip_char(&in, ',');
    }
    skip_blanks(&in);
    if (in.rest.len > 0)
        return "something follows the dict";
    if (seen != 7)
        return "descr, fortran_order or shape is missing";
    *ret_header = header;
    return NULL;
}
