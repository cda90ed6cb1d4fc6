/* npy.c - numpy's .npy: six magic bytes, a version, the length of the header, the
 * header (a dict in Python's syntax), then the elements:
 *     \x93NUMPY 1 0 118 {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
 * An array of objects has a pickle instead of elements. */
#include "read/npy_in.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/base.h"
#include "read/file/file_source_in.h"
#include "read/file/inflate_in.h"
#include "read/torch/torch_in.h"

#define USUAL_HEADER 128
#define TEXTS_SHOWN  100       /* of an array of texts */
#define TEXTS_BYTES  (4 * KIB) /* longest text */

/* Read `n` bytes at the front of the file into the scratch arena. */
static int load_front(struct build *build, const struct npy_file *file, uint64_t n,
                      struct str *ret_bytes, struct err *err)
{
    struct inflate *inflate;
    uint64_t at;
    char *to;
    int status;

    if (!file->zip)
        return blob_load(file->blob, file->at, n, &build->scratch, ret_bytes, err);
    to = arena_alloc(&build->scratch, (size_t)n + 1);
    if (!to)
        return arena_err(&build->scratch, file->blob->name, err);
    if (zip_data_at(file->zip, file->entry, &at, err) < 0)
        return -1;
    inflate = inflate_open(file->blob, at, file->zip->entries[file->entry].packed,
                           file->size, err);
    if (!inflate)
        return -1;
    status = inflate_read(inflate, to, (size_t)n, err);
    inflate_close(inflate);
    *ret_bytes = str_span(to, (size_t)n);
    return status;
}

static int load_header(struct build *build, const struct npy_file *file,
                       struct npy_header *ret_header, struct err *err)
{
    uint64_t n = file->size < USUAL_HEADER ? file->size : USUAL_HEADER;
    const char *why;
    struct str bytes;

    if (load_front(build, file, n, &bytes, err) < 0)
        return -1;
    n = npy_header_bytes(bytes);
    if (n == 0)
        return err_set_about(err, ERR_FORMAT, file->blob->name,
                             ": %.*s is not a .npy file of version 1, 2 or 3",
                             STR_ARG(file->name));
    if (n > NPY_HEADER)
        return err_set_about(err, ERR_LIMIT, file->blob->name,
                             ": %.*s has a header of %" PRIu64
                             " bytes; the limit is %" PRIu64,
                             STR_ARG(file->name), n, (uint64_t)NPY_HEADER);
    if (n > file->size)
        return err_set_about(err, ERR_FORMAT, file->blob->name,
                             ": %.*s ends inside its header. Download it again",
                             STR_ARG(file->name));
    if (n > bytes.len && load_front(build, file, n, &bytes, err) < 0)
        return -1;
    why = npy_parse(bytes, ret_header);
    if (why)
        return err_set_about(err, ERR_FORMAT, file->blob->name,
                             ": the header of %.*s cannot be read: %s",
                             STR_ARG(file->name), why);
    return 0;
}

/* ---- what an array becomes ---- */

/* The bytes of all elements; false: unknown, or too many. */
static bool data_bytes(const struct npy_header *header, uint64_t *ret_bytes)
{
    uint64_t bytes = header->size;

    for (int i = 0; i < header->rank; i++)
        if (header->shape[i] < 0 ||
            __builtin_mul_overflow(bytes, (uint64_t)header->shape[i], &bytes))
            return false;
    *ret_bytes = bytes;
    return true;
}

/* Compare the size in the header with the size of the file. */
static void check_size(struct build *build, const struct npy_file *file, uint32_t node,
                       const struct npy_header *header)
{
    uint64_t need, have = file->size - header->data_at;

    if (!data_bytes(header, &need) || (header->size == 0 && header->code.len == 0))
        return;
    if (need > have)
        build_finding(build, FINDING_TRUNCATED, SEVERITY_ALARM, node,
                      "%.*s is truncated: %" PRIu64 " of its %" PRIu64
                      " bytes of data are missing. Download it again",
                      STR_ARG(file->name), need - have, need);
    else if (need < have)
        build_finding(build, FINDING_TRAILING, SEVERITY_WARNING, node,
                      "%.*s: %" PRIu64 " unused bytes after the array",
                      STR_ARG(file->name), have - need);
}

static uint32_t add_storage(struct build *build, const struct npy_file *file,
                            const struct npy_header *header)
{
    struct storage storage = {.dtype = (uint8_t)header->dtype};

    if (header->order == '>')
        storage.flags |= STORAGE_BIG_ENDIAN;
    if (!data_bytes(header, &storage.bytes))
        storage.bytes = 0;
    if (build_storage_name(build, &storage, file->name) < 0)
        return NO_STORAGE;
    if (file->zip)
        return file_source_deflated(build, file->zip, file->entry, header->data_at,
                                    &storage);
    storage.at = file->at + header->data_at;
    return file_source_plain(build, file->blob, &storage);
}

static int add_tensor(struct build *build, const struct npy_file *file, uint32_t node,
                      const struct npy_header *header, struct err *err)
{
    const struct dtype_info *info = dtype_info(header->dtype);
    struct tensor tensor = {.dtype = (uint8_t)header->dtype,
                            .role = ROLE_PLAIN,
                            .class_id = build_class(build, STR("numpy.ndarray"))};
    int64_t strides[NPY_RANK], step = 1;

    if (file->weights && info->kind == DTYPE_KIND_FLOAT) {
        tensor.role = ROLE_PARAMETER;
        tensor.flags = TENSOR_ROLE_GUESSED;
    }
    for (int i = 0; i < header->rank; i++) {
        strides[i] = step;
        if (__builtin_mul_overflow(step, header->shape[i] > 0 ? header->shape[i] : 1,
                                   &step))
            step = INT64_MAX;
    }
    tensor.storage = add_storage(build, file, header);
    if (tensor.storage == NO_STORAGE ||
        build_tensor(build, node, &tensor, header->shape,
                     header->fortran && header->rank > 1 ? strides : NULL,
                     header->rank) == NO_OBJECT)
        return arena_err(&build->model->arena, file->blob->name, err);
    return 0;
}

/* The first elements of an array of texts, or None. */
static uint32_t texts_of(struct build *build, const struct npy_file *file,
                         const struct npy_header *header)
{
    uint64_t bytes, most = TEXTS_SHOWN * header->size;
    struct err why = {0};
    struct str front;

    if (header->code.len == 0 || header->size == 0 || header->size > TEXTS_BYTES ||
        !data_bytes(header, &bytes) || bytes > file->size - header->data_at)
        return VALUE_ID_NONE;
    if (load_front(build, file, header->data_at + (bytes < most ? bytes : most), &front,
                   &why) < 0)
        return VALUE_ID_NONE;
    return torch_numpy_texts(build, header->code, header->order,
                             str_from(front, (size_t)header->data_at));
}

/* Dates, texts and records are named with their dtype and shape. */
static int add_value(struct build *build, const struct npy_file *file, uint32_t node,
                     const struct npy_header *header, struct err *err)
{
    struct values *values = build_values(build);
    uint32_t shape[NPY_RANK], items[6], texts = texts_of(build, file, header);
    uint32_t value;

    for (int i = 0; i < header->rank; i++)
        shape[i] = value_int(values, header->shape[i]);
    items[0] = value_str(values, STR("shape"));
    items[1] = value_make(values, VALUE_TUPLE, STR(""), shape, (uint32_t)header->rank);
    items[2] = value_str(values, STR("dtype"));
    items[3] = value_str(values, header->descr);
    items[4] = value_str(values, STR("values"));
    items[5] = texts;
    value = value_make(values, VALUE_OBJECT, STR("numpy.ndarray"), items,
                       texts == VALUE_ID_NONE ? 4 : 6);
    if (value == VALUE_ID_FAILED)
        return arena_err(&build->model->arena, file->blob->name, err);
    build_set_kind(build, node, PLACE_VALUE);
    build_set_object(build, node, value);
    return 0;
}

/* numpy unpickles the rest of the file. If that fails here, the verdict must not be
 * "safe": an incomplete stream says so. */
static int add_objects(struct input *input, struct build *build,
                       const struct npy_file *file, uint32_t node,
                       const struct npy_header *header, struct err *err)
{
    uint32_t streams = build->model->pickle.n_streams;
    struct blob *whole = file->blob, *part;
    uint64_t at = file->at + header->data_at, size = file->size - header->data_at;
    struct err why = {0};

    build_finding(build, FINDING_PICKLE_NESTED, SEVERITY_NOTE, node,
                  "%.*s is an array of objects: its data is a pickle, which "
                  "numpy.load(allow_pickle=True) executes",
                  STR_ARG(file->name));
    if (file->zip) {
        whole = zip_open_member(file->zip, file->entry, build, &why);
        if (whole && file_source_keep(build, whole, &why) < 0)
            whole = NULL;
        at = header->data_at;
        size = whole && whole->size > at ? whole->size - at : 0;
    }
    part = whole ? blob_open_part(whole, at, size, whole->name, &why) : NULL;
    if (part &&
        input_read_inner_as(input, part,
                            arena_printf(&build->scratch, "%.*s", STR_ARG(file->name)),
                            node, &bare_pickle_reader, build, &why) == 0)
        return 0;
    if (why.code == ERR_CANCELLED)
        return err_copy(err, &why);
    if (build->model->pickle.n_streams == streams)
        build_pickle_stream(build, file->name, size);
    build_finding(build, FINDING_DAMAGED, SEVERITY_ALARM, node,
                  "%.*s: its pickle cannot be read: %s", STR_ARG(file->name), why.text);
    return 0;
}

int npy_add(struct input *input, struct build *build, const struct npy_file *file,
            uint32_t node, struct npy_header *ret_header, struct err *err)
{
    struct npy_header header;
    int status;

    if (load_header(build, file, &header, err) < 0)
        return -1;
    *ret_header = header;
    if (header.objects)
        return add_objects(input, build, file, node, &header, err);
    if (header.dtype != DTYPE_UNKNOWN)
        status = add_tensor(build, file, node, &header, err);
    else
        status = add_value(build, file, node, &header, err);
    check_size(build, file, node, &header);
    return status;
}

/* ---- the reader of .npy ---- */

static int npy_knows(const struct input *input)
{
    return input->blob && npy_looks_like(input->head) ? SURE_MAGIC : 0;
}

static int npy_read(struct input *input, struct build *build, struct err *err)
{
    struct npy_file file = {
        .blob = input->blob, .size = input->blob->size, .name = input->name};
    struct values *values = build_values(build);
    struct npy_header header;
    uint32_t node = input->node;
    char version[16];

    if (node == 0) { /* the root stays a group */
        node = build_node(build, 0, PLACE_VALUE, STR("array"));
        if (node == NO_PLACE)
            return arena_err(&build->model->arena, input->path, err);
    }
    if (npy_add(input, build, &file, node, &header, err) < 0)
        return -1;
    if (input->node != 0)
        return 0;
    snprintf(version, sizeof version, "%u.%u", header.major, header.minor);
    build_fact(build, "version", value_str(values, str_of(version)));
    build_fact(build, "descr", value_str(values, header.descr));
    build_fact(build, "order",
               value_str(values, header.fortran ? STR("Fortran") : STR("C")));
    return 0;
}

const struct reader npy_reader = {.name = "npy", .knows = npy_knows, .read = npy_read};
