/* The descriptions of the tensors are read twice: their data begins after the last
 * description, so its offset is only known after the first pass. */
#include <inttypes.h>

#include "base/base.h"
#include "read/file/cover_in.h"
#include "read/file/file_source_in.h"
#include "read/gguf/gguf_in.h"

#define RANK_LIMIT 64 /* limit of a model; llama.cpp's is 4 */
#define GGML_RANK  4
#define GGML_NAME  64 /* with the NUL */

/* One tensor as the file describes it. */
struct gguf_tensor {
    struct str name;       /* in the scratch arena */
    uint32_t rank, number; /* number: of its type */
    int64_t shape[RANK_LIMIT];
    uint64_t offset;
};

/* The sizes, fastest first; -1: a size that is too large. */
static void read_shape(struct gguf_reading *r, struct gguf_tensor *tensor)
{
    tensor->rank = gguf_u32(&r->in);
    if (tensor->rank > RANK_LIMIT) {
        r->in.bad = true;
        err_set(&r->in.why, ERR_FORMAT, "a tensor has %" PRIu32 " dimensions",
                tensor->rank);
        return;
    }
    for (uint32_t i = tensor->rank; i-- > 0;) {
        uint64_t size = gguf_count(&r->in);

        tensor->shape[i] = size > INT64_MAX ? -1 : (int64_t)size;
    }
}

/* -1: memory is spent; else r->in.bad may be set. */
static int read_one(struct gguf_reading *r, struct gguf_tensor *tensor)
{
    uint64_t len;
    struct str name = gguf_string(&r->in, &len);

    if (len >= GGUF_STRING && !r->in.bad) {
        r->in.bad = true;
        err_set(&r->in.why, ERR_FORMAT, "a tensor has a name of %" PRIu64 " bytes",
                len);
    }
    if (r->in.bad)
        return 0;
    tensor->name = arena_str(&r->build->scratch, name);
    if (!tensor->name.at)
        return -1;
    read_shape(r, tensor);
    tensor->number = gguf_u32(&r->in);
    tensor->offset = gguf_number(&r->in, 8);
    return 0;
}

/* ---- the first pass: find the end ---- */

static int find_end(struct gguf_reading *r, uint64_t *ret_n, struct err *err)
{
    struct gguf_tensor tensor;
    uint64_t n = 0;

    for (; n < r->n_tensors; n++) {
        struct arena before = build_scratch_begin(r->build);
        int status = read_one(r, &tensor);

        build_scratch_end(r->build, before);
        if (status < 0)
            return arena_err(&r->build->scratch, r->input->path, err);
        if (r->in.bad)
            break;
        if (!work_step(r->build->work, 0))
            return err_set_about(err, ERR_CANCELLED, r->input->path, ": stopped");
    }
    *ret_n = n;
    return 0;
}

/* ---- the second pass: add the tensors ---- */

static void note(struct gguf_reading *r, uint32_t node,
                 const struct gguf_tensor *tensor, enum finding_code code,
                 enum severity severity, const char *what)
{
    build_finding(r->build, code, severity, node, "%.*s: %s", STR_ARG(tensor->name),
                  what)
        ->named = true;
}

/* Adds findings about the description that build_tensor() does not make. True: its
 * values cannot be read. */
static bool check_one(struct gguf_reading *r, uint32_t node,
                      const struct gguf_tensor *tensor, enum dtype dtype)
{
    const struct dtype_info *info = dtype_info(dtype);
    int64_t inner = tensor->rank > 0 ? tensor->shape[tensor->rank - 1] : 1;

    if (tensor->rank > GGML_RANK)
        note(r, node, tensor, FINDING_BAD_TENSOR, SEVERITY_WARNING,
             "more than 4 dimensions: llama.cpp refuses the file");
    if (tensor->name.len >= GGML_NAME)
        note(r, node, tensor, FINDING_UNEXPECTED, SEVERITY_NOTE,
             "a name of more than 63 bytes: llama.cpp refuses the file");
    if (tensor->offset % r->alignment != 0)
        note(r, node, tensor, FINDING_BAD_TENSOR, SEVERITY_WARNING,
             "its data is not aligned: llama.cpp refuses the file");
    if (dtype == DTYPE_UNKNOWN) {
        build_finding(r->build, FINDING_UNSUPPORTED, SEVERITY_WARNING, node,
                      "%.*s: unknown element type %" PRIu32, STR_ARG(tensor->name),
                      tensor->number)
            ->named = true;
        return false;
    }
    if (inner % info->block == 0)
        return false;
    build_finding(r->build, FINDING_BAD_TENSOR, SEVERITY_ALARM, node,
                  "%.*s: rows of %" PRId64 " elements do not fill blocks of %u of %s",
                  STR_ARG(tensor->name), inner, info->block, info->name)
        ->named = true;
    return true;
}

/* Bytes of its data; 0 if unknown. */
static uint64_t bytes_of_data(const struct gguf_tensor *tensor, enum dtype dtype)
{
    uint64_t n = 1, bytes;

    for (uint32_t i = 0; i < tensor->rank; i++)
        if (tensor->shape[i] < 0 ||
            __builtin_mul_overflow(n, (uint64_t)tensor->shape[i], &n))
            return 0;
    return dtype_size(dtype, n, &bytes) ? bytes : 0;
}

static uint32_t add_storage(struct gguf_reading *r, const struct gguf_tensor *tensor,
                            enum dtype dtype)
{
    struct storage storage = {.bytes = bytes_of_data(tensor, dtype),
                              .dtype = (uint8_t)dtype,
                              .flags = r->in.big ? STORAGE_BIG_ENDIAN : 0};

    if (r->data_at == 0)
        return file_source_missing(r->build, &storage);
    if (__builtin_add_overflow(r->data_at, tensor->offset, &storage.at))
        storage.at = UINT64_MAX;
    return file_source_plain(r->build, r->input->blob, &storage);
}

static int add_one(struct gguf_reading *r, const struct gguf_tensor *described)
{
    struct build *build = r->build;
    enum dtype dtype = dtype_by_ggml(described->number);
    struct tensor tensor = {.dtype = (uint8_t)dtype,
                            .flags = TENSOR_ROLE_GUESSED,
                            .class_id = NO_CLASS,
                            .role = ROLE_PARAMETER};
    uint32_t parent, node;
    struct str last;
    bool again;

    parent = build_dotted(build, r->input->node, described->name, &last);
    if (parent == NO_PLACE)
        return -1;
    node = build_leaf(build, parent, PLACE_TENSOR, last, &again);
    if (node == NO_PLACE)
        return -1;
    if (check_one(r, node, described, dtype))
        tensor.flags |= TENSOR_INVALID;
    if (build_is_buffer_name(last))
        tensor.role = ROLE_BUFFER;
    tensor.storage = add_storage(r, described, dtype);
    if (tensor.storage == NO_STORAGE ||
        build_tensor(build, node, &tensor, described->shape, NULL,
                     (int)described->rank) == NO_OBJECT)
        return -1;
    if (again)
        note(r, node, described, FINDING_DUPLICATE, SEVERITY_ALARM,
             "two tensors have this name; programs disagree on which one to use");
    return 0;
}

static int add_all(struct gguf_reading *r, uint64_t n, struct cover *cover,
                   struct err *err)
{
    struct gguf_tensor tensor;

    for (uint64_t i = 0; i < n; i++) {
        struct arena before = build_scratch_begin(r->build);
        int status = read_one(r, &tensor);

        if (status == 0 && !r->in.bad)
            status = add_one(r, &tensor);
        build_scratch_end(r->build, before);
        if (status < 0)
            return arena_err(&r->build->model->arena, r->input->path, err);
        if (r->in.bad) /* the file changed */
            return 0;
        cover_note(cover, tensor.offset,
                   bytes_of_data(&tensor, dtype_by_ggml(tensor.number)));
        if (!work_step(r->build->work, 0))
            return err_set_about(err, ERR_CANCELLED, r->input->path, ": stopped");
    }
    return 0;
}

/* ---- the data ---- */

/* Tensors must follow each other in the order in which they are listed. */
static void check_cover(struct gguf_reading *r, struct cover *cover)
{
    uint64_t size = r->in.blob->size, reached = 0;

    size = r->data_at < size ? size - r->data_at : 0;
    if (cover->unsorted)
        build_finding(r->build, FINDING_UNEXPECTED, SEVERITY_NOTE, r->input->node,
                      "the data of the tensors is not in the order in which they are "
                      "listed: llama.cpp refuses the file");
    if (cover_check(cover, r->build, &reached) < 0)
        return;
    if (reached > size)
        build_finding(r->build, FINDING_TRUNCATED, SEVERITY_ALARM, r->input->node,
                      "%.*s is truncated: %" PRIu64
                      " bytes of tensor data are missing. Download it again",
                      STR_ARG(r->input->name), reached - size);
    else if (size - reached >= r->alignment)
        build_finding(r->build, FINDING_TRAILING, SEVERITY_WARNING, r->input->node,
                      "%" PRIu64 " unused bytes after the last tensor", size - reached);
}

static void find_data(struct gguf_reading *r, uint64_t end)
{
    uint64_t rest = end % r->alignment, padding = rest ? r->alignment - rest : 0;

    if (__builtin_add_overflow(end, padding, &r->data_at))
        r->data_at = UINT64_MAX;
}

int gguf_read_tensors(struct gguf_reading *r, struct err *err)
{
    struct gguf_cursor begin = r->in;
    struct cover cover;
    bool bad;
    uint64_t n;

    if (find_end(r, &n, err) < 0)
        return -1;
    bad = r->in.bad;
    if (!bad)
        find_data(r, r->in.at);
    /* The window is not moved again. */
    r->in.at = begin.at;
    r->in.bad = false;
    build_reserve(r->build, (size_t)n);
    cover_begin(&cover, r->build, r->data_at, r->alignment);
    if (add_all(r, n, &cover, err) < 0)
        return -1;
    r->in.bad |= bad;
    if (!r->in.bad && n > 0)
        check_cover(r, &cover);
    return 0;
}
