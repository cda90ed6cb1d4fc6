/* torch_numpy.c - numpy arrays in pickles: _reconstruct(ndarray, (0,), b'b') with the
 * state (version, shape, dtype, is_fortran, data), or _frombuffer(data, dtype, shape,
 * order), or joblib's wrapper with the data after it. Arrays of numbers become tensors
 * on the data in the pickle; strings, dates and records become values. */
#include "base/base.h"
#include "base/utf8.h"
#include "read/file/file_source_in.h"
#include "read/file/input_in.h"
#include "read/pickle/pickle_value_in.h"
#include "read/torch/torch_in.h"
#include "read/torch/torch_tensor_in.h"

#define TEXTS_SHOWN 100 /* of an array of texts */

struct array_parts {
    node_id shape, dtype, data;
    bool fortran;
};

struct array_dtype {
    enum dtype dtype; /* UNKNOWN: not numbers */
    struct str code;  /* "f8" */
    char order;       /* '<', '>', '|' or '=' */
    uint64_t size;    /* of an element */
};

struct torch_numpy_code {
    const char *code, *class_name;
    enum dtype dtype;
};

static const struct torch_numpy_code codes[] = {
    {"f4", "Float32DType", DTYPE_FLOAT32},
    {"f8", "Float64DType", DTYPE_FLOAT64},
    {"f2", "Float16DType", DTYPE_FLOAT16},
    {"i8", "Int64DType", DTYPE_INT64},
    {"i4", "Int32DType", DTYPE_INT32},
    {"i2", "Int16DType", DTYPE_INT16},
    {"i1", "Int8DType", DTYPE_INT8},
    {"u8", "UInt64DType", DTYPE_UINT64},
    {"u4", "UInt32DType", DTYPE_UINT32},
    {"u2", "UInt16DType", DTYPE_UINT16},
    {"u1", "UInt8DType", DTYPE_UINT8},
    {"b1", "BoolDType", DTYPE_BOOL},
    {"c8", "Complex64DType", DTYPE_COMPLEX64},
    {"c16", "Complex128DType", DTYPE_COMPLEX128},
};

enum dtype dtype_by_numpy(struct str code)
{
    for (size_t i = 0; i < COUNT_OF(codes); i++)
        if (str_is(code, codes[i].code))
            return codes[i].dtype;
    return DTYPE_UNKNOWN;
}

static bool read_parts(struct torch_fold *fold, node_id node, struct array_parts *parts)
{
    const struct pickle *pickle = fold->pickle;
    node_id state, flag;

    if (fold_callee_name(fold, node) == NAME_NUMPY_FROMBUFFER) {
        parts->data = pickle_arg(pickle, node, 0);
        parts->dtype = pickle_arg(pickle, node, 1);
        parts->shape = pickle_arg(pickle, node, 2);
        parts->fortran = str_is(pickle_text(pickle, pickle_arg(pickle, node, 3)), "F");
        return pickle_args(pickle, node) == 4;
    }
    if (fold_callee_name(fold, node) == NAME_JOBLIB_ARRAY) {
        state = fold_state(fold, node);
        parts->data = node;
        parts->dtype = pickle_dict_get(pickle, state, "dtype");
        parts->shape = pickle_dict_get(pickle, state, "shape");
        parts->fortran =
            str_is(pickle_text(pickle, pickle_dict_get(pickle, state, "order")), "F");
        return pickle_raw_at(pickle, node) != NULL;
    }
    if (fold_callee_name(fold, node) != NAME_NUMPY_RECONSTRUCT)
        return false;
    state = fold_state(fold, node);
    if (!fold_is(fold, state, NODE_TUPLE) || pickle_count(pickle, state) != 5)
        return false;
    flag = pickle_item(pickle, state, 3);
    parts->shape = pickle_item(pickle, state, 1);
    parts->dtype = pickle_item(pickle, state, 2);
    parts->fortran =
        (fold_is(fold, flag, NODE_BOOL) || fold_is(fold, flag, NODE_INT)) &&
        fold_node(fold, flag)->integer != 0;
    parts->data = pickle_item(pickle, state, 4);
    return true;
}

/* numpy.dtype('f8', False, True) with the state (3, '<', ...), or one of numpy 2's
 * classes: numpy.dtypes.Float64DType(). */
static struct array_dtype read_dtype(struct torch_fold *fold, node_id node)
{
    const struct pickle *pickle = fold->pickle;
    struct array_dtype made = {.order = '|'};
    struct str text = pickle_text(pickle, pickle_callee(pickle, node)), order;
    bool by_class = str_starts(text, STR("numpy.dtypes."));

    if (by_class)
        made.code = str_from(text, sizeof "numpy.dtypes." - 1);
    else if (str_is(text, "numpy.dtype"))
        made.code = pickle_text(pickle, pickle_arg(pickle, node, 0));
    if (made.code.len == 0)
        return made;
    if (node < fold->n_nodes) {
        order = pickle_text(pickle, pickle_item(pickle, fold_state(fold, node), 1));
        made.order = order.len == 1 ? order.at[0] : '|';
    }
    if (made.code.at[0] == '<' || made.code.at[0] == '>' || made.code.at[0] == '|') {
        made.order = made.code.at[0];
        made.code = str_from(made.code, 1);
    }
    for (size_t i = 0; i < COUNT_OF(codes); i++)
        if (str_is(made.code, by_class ? codes[i].class_name : codes[i].code))
            made.dtype = codes[i].dtype;
    if (made.dtype != DTYPE_UNKNOWN)
        made.size = dtype_info(made.dtype)->bytes;
    else
        str_to_u64(str_from(made.code, 1), &made.size);
    return made;
}

bool numpy_is_tensor(struct torch_fold *fold, node_id node)
{
    struct array_parts parts;

    return read_parts(fold, node, &parts) &&
           read_dtype(fold, parts.dtype).dtype != DTYPE_UNKNOWN;
}

node_id numpy_objects(struct torch_fold *fold, node_id node)
{
    struct array_parts parts;
    struct str code;

    if (!read_parts(fold, node, &parts) || !fold_is(fold, parts.data, NODE_LIST))
        return NO_NODE;
    code = read_dtype(fold, parts.dtype).code;
    return code.len > 0 && code.at[0] == 'O' ? parts.data : NO_NODE;
}

static struct str data_bytes(struct torch_fold *fold, node_id data)
{
    const struct pickle_raw *raw = pickle_raw_at(fold->pickle, data);
    struct str bytes;

    if (raw)
        return raw->bytes.at ? raw->bytes : STR("");
    if (pickle_bytes(fold->pickle, data, &bytes))
        return bytes.at ? bytes : STR("");
    /* Python 2 writes bytes as text. */
    if (fold_is(fold, data, NODE_STR))
        return pickle_text(fold->pickle, data);
    return (struct str){0};
}

/* The storage of the data at a node, made once. */
static uint32_t data_storage(struct torch_fold *fold, node_id data, struct str bytes,
                             const struct array_dtype *dtype)
{
    const struct torch_dialect *dialect = fold->dialect;
    struct storage storage = {.bytes = bytes.len, .dtype = (uint8_t)dtype->dtype};
    uint32_t id;

    if (map_find(&fold->files, data, &id))
        return id;
    if (dtype->order == '>')
        storage.flags |= STORAGE_BIG_ENDIAN;
    if (dialect->where && dialect->input &&
        dialect->where(dialect->user, bytes, &storage.at))
        id = file_source_plain(fold->build, dialect->input->blob, &storage);
    else
        id = file_source_bytes(fold->build, bytes, &storage);
    if (id != NO_STORAGE)
        map_put(&fold->files, data, id);
    return id;
}

/* Fortran order is C order of the reversed sizes. */
static void fortran_strides(struct tensor_spec *spec)
{
    int64_t step = 1;

    spec->has_strides = true;
    for (int i = 0; i < spec->rank; i++) {
        int64_t size = spec->shape[i] > 0 ? spec->shape[i] : 1;

        spec->strides[i] = step;
        if (__builtin_mul_overflow(step, size, &step))
            step = INT64_MAX;
    }
}

void spec_numpy(struct torch_fold *fold, struct tensor_spec *spec, node_id node)
{
    struct array_parts parts = {NO_NODE, NO_NODE, NO_NODE, false};
    struct array_dtype dtype;
    struct str bytes;
    uint64_t numel = 1, need = 0;

    read_parts(fold, node, &parts);
    dtype = read_dtype(fold, parts.dtype);
    bytes = data_bytes(fold, parts.data);
    spec->tensor.dtype = (uint8_t)dtype.dtype;
    spec->tensor.class_id = build_class(fold->build, STR("numpy.ndarray"));
    spec_shape(fold, spec, parts.shape);
    if (parts.fortran && spec->rank > 1)
        fortran_strides(spec);
    if (!bytes.at)
        spec_bad(fold, spec, "its data is not bytes");
    for (int i = 0; i < spec->rank; i++)
        if (__builtin_mul_overflow(numel, (uint64_t)spec->shape[i], &numel))
            spec_bad(fold, spec, "the product of its sizes is too large");
    if (!dtype_size(dtype.dtype, numel, &need) || need != bytes.len)
        spec_bad(fold, spec, "its data has %zu bytes, but its shape needs %llu",
                 bytes.len, (unsigned long long)need);
    if (!spec->why)
        spec->tensor.storage = data_storage(fold, parts.data, bytes, &dtype);
}

/* One element of an array of texts: S<n> holds bytes, U<n> code points of four bytes;
 * both are padded with zeros. */
static uint32_t text_value(struct build *build, struct str at, bool wide)
{
    struct buf text = BUF_INIT;
    uint32_t value;

    while (at.len > 0 && at.at[at.len - 1] == '\0')
        at = str_head(at, at.len - 1);
    if (!wide)
        return value_bytes(build_values(build), at, at.len);
    for (size_t i = 0; i < at.len; i += 4) {
        uint32_t code = 0;
        char utf8[4];

        for (size_t k = 0; k < 4 && i + k < at.len; k++)
            code |= (uint32_t)(unsigned char)at.at[i + k] << (8 * k);
        code = code > 0x10ffff ? 0xfffd : code;
        buf_add(&text, utf8, (size_t)utf8_encode(code, utf8));
    }
    value = value_str(build_values(build), buf_span(&text));
    buf_release(&text);
    return value;
}

uint32_t torch_numpy_texts(struct build *build, struct str code, char order,
                           struct str bytes)
{
    bool wide = code.len > 0 && code.at[0] == 'U';
    bool narrow = code.len > 0 && code.at[0] == 'S';
    uint32_t items[TEXTS_SHOWN], n = 0;
    uint64_t size = 0;

    if ((!wide && !narrow) || order == '>' || !str_to_u64(str_from(code, 1), &size) ||
        size > bytes.len || size == 0)
        return VALUE_ID_NONE;
    size *= wide ? 4 : 1;
    for (; n < TEXTS_SHOWN && bytes.len >= size; n++) {
        items[n] = text_value(build, str_head(bytes, size), wide);
        if (items[n] == VALUE_ID_FAILED)
            return VALUE_ID_FAILED;
        bytes = str_from(bytes, size);
    }
    return value_make(build_values(build), VALUE_LIST, STR(""), items, n);
}

uint32_t numpy_value(struct torch_fold *fold, node_id node)
{
    struct values *values = build_values(fold->build);
    struct array_parts parts = {NO_NODE, NO_NODE, NO_NODE, false};
    struct array_dtype dtype;
    uint32_t items[6], n = 0;
    struct str bytes;

    read_parts(fold, node, &parts);
    dtype = read_dtype(fold, parts.dtype);
    bytes = data_bytes(fold, parts.data);
    if (fold->dialect->load && bytes.len > 0)
        fold->dialect->load(fold->dialect->user, bytes, NULL);
    items[n++] = value_str(values, STR("shape"));
    items[n++] = fold_value(fold, parts.shape);
    items[n++] = value_str(values, STR("dtype"));
    items[n++] = value_str(values, dtype.code);
    items[n++] = value_str(values, STR("values"));
    items[n] = torch_numpy_texts(fold->build, dtype.code, dtype.order, bytes);
    if (items[n] != VALUE_ID_NONE)
        n++;
    else
        n--;
    for (uint32_t i = 0; i < n; i++)
        if (items[i] == VALUE_ID_FAILED)
            return VALUE_ID_FAILED;
    return value_make(values, VALUE_OBJECT, STR("numpy.ndarray"), items, n);
}
