/* Tensors and the location of their bytes. raw_data and packed floats are read from the
 * file on demand; varints are decoded once. */
#include <inttypes.h>
#include <string.h>

#include "base/base.h"
#include "measure/elements.h"
#include "read/file/file_source_in.h"
#include "read/onnx/made_in.h"

#define STRING_TYPE 8

enum dtype onnx_dtype(int32_t type)
{
    static const uint8_t types[] = {[1] = DTYPE_FLOAT32,
                                    [2] = DTYPE_UINT8,
                                    [3] = DTYPE_INT8,
                                    [4] = DTYPE_UINT16,
                                    [5] = DTYPE_INT16,
                                    [6] = DTYPE_INT32,
                                    [7] = DTYPE_INT64,
                                    [9] = DTYPE_BOOL,
                                    [10] = DTYPE_FLOAT16,
                                    [11] = DTYPE_FLOAT64,
                                    [12] = DTYPE_UINT32,
                                    [13] = DTYPE_UINT64,
                                    [14] = DTYPE_COMPLEX64,
                                    [15] = DTYPE_COMPLEX128,
                                    [16] = DTYPE_BFLOAT16,
                                    [17] = DTYPE_FLOAT8_E4M3FN,
                                    [18] = DTYPE_FLOAT8_E4M3FNUZ,
                                    [19] = DTYPE_FLOAT8_E5M2,
                                    [20] = DTYPE_FLOAT8_E5M2FNUZ,
                                    [21] = DTYPE_UINT4,
                                    [22] = DTYPE_INT4,
                                    [23] = DTYPE_FLOAT4_E2M1,
                                    [24] = DTYPE_FLOAT8_E8M0FNU,
                                    [25] = DTYPE_UINT2,
                                    [26] = DTYPE_INT2};

    return type > 0 && type < (int32_t)COUNT_OF(types) ? (enum dtype)types[type]
                                                       : DTYPE_UNKNOWN;
}

const char *onnx_type_name(int32_t type)
{
    if (type == STRING_TYPE)
        return "string";
    return onnx_dtype(type) == DTYPE_UNKNOWN ? NULL : dtype_name(onnx_dtype(type));
}

uint64_t onnx_tensor_count(const struct onnx_parsed *p, const struct onnx_tensor *t)
{
    uint64_t count = 1;
    bool fits = true, empty = false;

    if (t->rank > ONNX_RANK)
        return UINT64_MAX;
    for (uint32_t i = 0; i < t->rank; i++) {
        int64_t size = p->dims[t->dims + i];

        if (size < 0)
            return UINT64_MAX;
        empty |= size == 0;
        fits &= !__builtin_mul_overflow(count, (uint64_t)size, &count);
    }
    return empty ? 0 : fits ? count : UINT64_MAX;
}

/* ---- bytes ---- */

static struct str name_of(const struct onnx_making *m, const struct onnx_tensor *t)
{
    return onnx_text(m->p, t->name);
}

static void say_size(struct onnx_making *m, const struct onnx_tensor *t, uint32_t node,
                     uint64_t need, uint64_t have)
{
    build_finding(m->build, FINDING_SIZE_MISMATCH, SEVERITY_ALARM, node,
                  "%.*s: dtype and shape need %" PRIu64 " bytes, its data has %" PRIu64,
                  STR_ARG(name_of(m, t)), need, have)
        ->named = true;
}

/* A storage of bytes at `at` of a blob. A truncated file has its own finding. */
static uint32_t plain_storage(struct onnx_making *m, const struct onnx_tensor *t,
                              uint32_t node, struct blob *blob, uint64_t at,
                              uint64_t size, struct storage *storage)
{
    bool cut = blob == m->input->blob && m->p->window.cut && at + size >= blob->size;
    uint64_t need = storage->bytes;

    storage->at = at;
    if (need != size && !cut) {
        if (storage->dtype != DTYPE_UNKNOWN)
            say_size(m, t, node, need, size);
        storage->bytes = size;
    }
    return file_source_plain(m->build, blob, storage);
}

static uint32_t external_storage(struct onnx_making *m, const struct onnx_tensor *t,
                                 uint32_t node, struct storage *storage)
{
    const struct onnx_external *external = &m->p->externals[t->external];
    struct blob *blob = onnx_external(m, external->location);
    uint64_t at = external->offset > 0 ? (uint64_t)external->offset : 0, left, size;

    if (external->offset == -2 || external->length == -2) {
        build_finding(m->build, FINDING_BAD_TENSOR, SEVERITY_ALARM, node,
                      "%.*s: the offset or length of its external data is not a number",
                      STR_ARG(name_of(m, t)))
            ->named = true;
        blob = NULL;
    }
    if (!blob)
        return file_source_missing(m->build, storage);
    left = at < blob->size ? blob->size - at : 0;
    size = external->length >= 0 ? (uint64_t)external->length : storage->bytes;
    if (size > left)
        build_finding(m->build, FINDING_TRUNCATED, SEVERITY_ALARM, node,
                      "%.*s: its data ends at byte %" PRIu64
                      " of %.*s, which has %" PRIu64 ". Download that file again",
                      STR_ARG(name_of(m, t)), at + size,
                      STR_ARG(onnx_text(m->p, external->location)), blob->size)
            ->named = true;
    return plain_storage(m, t, node, blob, at, size, storage);
}

static uint32_t typed_storage(struct onnx_making *m, const struct onnx_tensor *t,
                              uint32_t node, struct storage *storage)
{
    struct arena before = build_scratch_begin(m->build);
    uint32_t id;
    struct str bytes;

    if (onnx_typed_bytes(m->p, t, (enum dtype)storage->dtype, storage->bytes, &bytes)) {
        id = file_source_bytes(m->build, bytes, storage);
    } else {
        if (storage->dtype != DTYPE_UNKNOWN)
            build_finding(m->build, FINDING_SIZE_MISMATCH, SEVERITY_ALARM, node,
                          "%.*s: its typed fields do not have as many numbers as its "
                          "dtype and shape need, or too many to decode",
                          STR_ARG(name_of(m, t)))
                ->named = true;
        id = file_source_missing(m->build, storage);
    }
    build_scratch_end(m->build, before);
    return id;
}

/* The storage of a tensor; NO_STORAGE: memory is spent. */
static uint32_t make_storage(struct onnx_making *m, const struct onnx_tensor *t,
                             uint32_t node, uint64_t bytes)
{
    struct blob *blob = m->input->blob;
    struct storage storage = {.bytes = bytes, .dtype = (uint8_t)onnx_dtype(t->type)};

    if (build_storage_name(m->build, &storage, name_of(m, t)) < 0)
        return NO_STORAGE;
    switch ((enum onnx_data)t->data) {
    case ONNX_DATA_RAW:
    case ONNX_DATA_PACKED:
        return plain_storage(m, t, node, blob, t->at, t->size, &storage);
    case ONNX_DATA_TYPED:
    case ONNX_DATA_MERGED:
        return typed_storage(m, t, node, &storage);
    case ONNX_DATA_EXTERNAL:
        return external_storage(m, t, node, &storage);
    case ONNX_DATA_NONE:
    case ONNX_DATA_SPARSE:
        break;
    }
    if (bytes > 0)
        build_finding(m->build, FINDING_MISSING_RECORD, SEVERITY_WARNING, node,
                      "%.*s has no data in the file", STR_ARG(name_of(m, t)))
            ->named = true;
    return file_source_missing(m->build, &storage);
}

/* ---- tensors ---- */

/* A string tensor becomes a plain value. */
static int make_texts(struct onnx_making *m, uint32_t i, uint32_t node)
{
    uint32_t value = onnx_typed_texts(m->p, &m->p->tensors[i]);

    if (value == VALUE_ID_FAILED)
        return -1;
    if (node != NO_PLACE) {
        build_set_kind(m->build, node, PLACE_VALUE);
        build_set_object(m->build, node, value);
    }
    return 0;
}

/* Floats and quantised integers are parameters; other integers are mostly sizes and
 * axes. */
static enum tensor_role role_of(const struct onnx_tensor *t, struct str last)
{
    const struct dtype_info *info = dtype_info(onnx_dtype(t->type));

    if (t->use & ONNX_QUANTISED)
        return ROLE_PARAMETER;
    if (t->use & (ONNX_STATISTIC | ONNX_SCALE) || build_is_buffer_name(last))
        return ROLE_BUFFER;
    if (info->kind == DTYPE_KIND_FLOAT)
        return t->rank > 0 ? ROLE_PARAMETER : ROLE_PLAIN;
    return ROLE_PLAIN;
}

static struct str last_part(struct str name)
{
    ptrdiff_t at = str_find_last_char(name, '.');

    return str_from(name, (size_t)(at + 1));
}

static int64_t *shape_of(const struct onnx_parsed *p, const struct onnx_tensor *t)
{
    static int64_t none[1];

    return t->rank > 0 ? p->dims + t->dims : none;
}

static int make_dense(struct onnx_making *m, uint32_t i, uint32_t node)
{
    struct onnx_tensor *t = &m->p->tensors[i];
    struct tensor tensor = {.dtype = (uint8_t)onnx_dtype(t->type),
                            .class_id = NO_CLASS,
                            .flags = TENSOR_ROLE_GUESSED};
    uint64_t count = onnx_tensor_count(m->p, t), bytes = 0;
    int rank = t->rank;

    if (t->use)
        tensor.flags = 0; /* the role is known from the nodes */
    tensor.role = (uint8_t)role_of(t, last_part(name_of(m, t)));
    if (count == UINT64_MAX || !dtype_size((enum dtype)tensor.dtype, count, &bytes))
        bytes = 0;
    if (tensor.dtype == DTYPE_UNKNOWN)
        build_finding(m->build, FINDING_UNSUPPORTED, SEVERITY_WARNING, node,
                      "%.*s: unknown dtype %" PRId32, STR_ARG(name_of(m, t)), t->type)
            ->named = true;
    tensor.storage = make_storage(m, t, node, bytes);
    if (tensor.storage == NO_STORAGE)
        return -1;
    t->tensor = build_tensor(m->build, node, &tensor, shape_of(m->p, t), NULL, rank);
    return t->tensor == NO_OBJECT ? -1 : 0;
}

/* A sparse tensor: its values and indices are places below it. */
static int make_sparse(struct onnx_making *m, uint32_t i, uint32_t node)
{
    static const char *const names[] = {"values", "indices"};
    struct onnx_tensor *t = &m->p->tensors[i];
    uint32_t parts[] = {t->values, t->indices};
    struct tensor tensor = {.dtype = (uint8_t)onnx_dtype(t->type),
                            .class_id = NO_CLASS,
                            .layout = LAYOUT_COO,
                            .storage = NO_STORAGE,
                            .role = ROLE_PARAMETER,
                            .flags = TENSOR_ROLE_GUESSED | TENSOR_SHAPE_ONLY};
    int rank = t->rank;

    t->tensor = build_tensor(m->build, node, &tensor, shape_of(m->p, t), NULL, rank);
    if (t->tensor == NO_OBJECT)
        return -1;
    for (int k = 0; k < 2; k++) {
        uint32_t child = NO_PLACE;

        if (parts[k] == ONNX_NONE)
            continue;
        if (node != NO_PLACE) {
            child = build_node(m->build, node, PLACE_TENSOR, str_of(names[k]));
            if (child == NO_PLACE)
                return -1;
        }
        if (make_dense(m, parts[k], child) < 0)
            return -1;
        m->build->model->tensors[m->p->tensors[parts[k]].tensor].role = ROLE_PLAIN;
    }
    return 0;
}

int onnx_tensor_make(struct onnx_making *m, uint32_t i, uint32_t node)
{
    struct onnx_tensor *t = &m->p->tensors[i];

    if (t->tensor != NO_OBJECT)
        return 0;
    t->place = node;
    if (t->data == ONNX_DATA_SPARSE)
        return make_sparse(m, i, node);
    return t->type == STRING_TYPE ? make_texts(m, i, node) : make_dense(m, i, node);
}

/* ---- elements ---- */

/* Reads the first n elements of a small tensor. */
static bool read_elements(const struct onnx_making *m, uint32_t i, void *to,
                          size_t room, uint32_t n)
{
    const struct onnx_tensor *t = &m->p->tensors[i];
    struct model *model = m->build->model;
    const struct tensor *tensor;
    uint64_t bytes;

    if (t->tensor == NO_OBJECT || t->data == ONNX_DATA_SPARSE)
        return false;
    tensor = &model->tensors[t->tensor];
    return tensor->numel >= n && !(tensor->flags & TENSOR_INVALID) &&
           tensor->storage != NO_STORAGE &&
           dtype_size((enum dtype)tensor->dtype, n, &bytes) && bytes <= room &&
           storage_have(model, &model->storages[tensor->storage]) >= bytes &&
           source_bytes(model->source, tensor->storage, 0, to, (size_t)bytes, NULL) ==
               0;
}

bool onnx_tensor_ints(const struct onnx_making *m, uint32_t tensor, int64_t *to,
                      uint32_t n)
{
    enum dtype dtype = onnx_dtype(m->p->tensors[tensor].type);
    uint64_t bytes[ONNX_NUMBERS];

    return n <= ONNX_NUMBERS && read_elements(m, tensor, bytes, sizeof bytes, n) &&
           elements_decode_int(dtype, bytes, n, to);
}

static uint32_t list_of(struct onnx_making *m, const uint32_t *items, uint32_t n,
                        uint32_t rank)
{
    if (rank == 0)
        return items[0];
    return value_make(build_values(m->build), VALUE_LIST, STR(""), items, n);
}

uint32_t onnx_tensor_value(struct onnx_making *m, uint32_t tensor)
{
    const struct onnx_tensor *t = &m->p->tensors[tensor];
    struct values *values = build_values(m->build);
    enum dtype dtype = onnx_dtype(t->type);
    enum dtype_kind kind = dtype_info(dtype)->kind;
    uint64_t count = onnx_tensor_count(m->p, t);
    uint32_t items[ONNX_SMALL];
    uint64_t bytes[ONNX_SMALL];
    int64_t ints[ONNX_SMALL];
    double reals[ONNX_SMALL];

    if (t->rank > 1 || count > ONNX_SMALL ||
        !read_elements(m, tensor, bytes, sizeof bytes, (uint32_t)count))
        return VALUE_ID_NONE;
    if (kind == DTYPE_KIND_FLOAT && elements_decode(dtype, bytes, 0, count, reals)) {
        for (uint32_t i = 0; i < count; i++)
            items[i] = value_real(values, reals[i]);
    } else if (elements_decode_int(dtype, bytes, count, ints)) {
        for (uint32_t i = 0; i < count; i++) {
            if (dtype == DTYPE_UINT64 && ints[i] < 0)
                return VALUE_ID_NONE; /* beyond int64 */
            items[i] = dtype == DTYPE_BOOL ? value_bool(values, ints[i] != 0)
                                           : value_int(values, ints[i]);
        }
    } else {
        return VALUE_ID_NONE;
    }
    return list_of(m, items, (uint32_t)count, t->rank);
}
