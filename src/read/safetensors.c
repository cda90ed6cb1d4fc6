/* safetensors.c - u64 N, N bytes of JSON, then the data of all tensors:
 *     {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...,
 *      "__metadata__": {"format": "pt"}}
 * Offsets count from the end of the header. Tensors are dense, little-endian, and follow
 * each other without holes: anything else is a finding. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/bytes.h"
#include "base/json_read.h"
#include "read/file/cover_in.h"
#include "read/file/file_source_in.h"
#include "read/file/input_in.h"
#include "read/safetensors_in.h"

#define ZIP_TAIL     65557      /* the longest end of a zip: record and comment */
#define HEADER_LIMIT 100000000u /* as in the reference implementation */
#define RANK_LIMIT   64
#define DROP_STEP    MIB /* the header is freed in such steps as it is read */
#define ENTRY_BYTES  80  /* of the header for each tensor, about */

/* One tensor as the header describes it. */
struct safetensors_entry {
    struct str name;
    struct str code; /* "F32" */
    int rank;        /* its sizes are in reading.shape */
    uint64_t begin, end;
    bool has_dtype, has_shape, has_offsets;
};

struct reading {
    struct input *input;
    struct build *build;
    struct arena text; /* the header */
    char *header;
    size_t dropped; /* bytes of it that are freed */
    struct json_read json;
    uint64_t data_at, data_size;
    uint16_t device;
    struct cover cover;
    uint32_t first_metadata;
    bool has_metadata;
    int64_t shape[RANK_LIMIT]; /* of the entry being read */
};

static int knows(const struct input *input)
{
    struct bytes in = bytes_of(input->head.at, input->head.len);
    uint64_t size;

    if (!input->blob || input->head.len < 9)
        return 0;
    size = bytes_u64(&in);
    if (size < 2 || bytes_u8(&in) != '{')
        return 0;
    /* A header that is longer than the file is a truncated file, unless the length is
     * absurd: then these eight bytes are something else. */
    if (size > input->blob->size - 8)
        return size <= HEADER_LIMIT ? 40 : 0;
    return 90;
}

static int json_fault(struct reading *r, struct err *err)
{
    return err_set_about(err, ERR_FORMAT, r->input->path,
                         ": invalid JSON in the header at byte %zu: %s",
                         8 + r->json.offset, r->json.error);
}

/* "shape": [1, 2, 3]. A size that is not a whole number becomes -1, which marks the
 * tensor as invalid. */
static int read_shape(struct reading *r, struct safetensors_entry *entry)
{
    enum json_token token = json_next(&r->json);
    int64_t size;

    if (token != JSON_ARRAY)
        return json_skip(&r->json, token);
    entry->has_shape = true;
    while ((token = json_next(&r->json)) != JSON_ARRAY_END) {
        if (token == JSON_ERROR)
            return -1;
        size = -1;
        if (token != JSON_NUMBER || !json_to_i64(&r->json, &size))
            size = -1;
        if (json_skip(&r->json, token) < 0)
            return -1;
        if (entry->rank < RANK_LIMIT)
            r->shape[entry->rank] = size;
        entry->rank++;
    }
    return 0;
}

/* "data_offsets": [begin, end]. */
static int read_offsets(struct reading *r, struct safetensors_entry *entry)
{
    enum json_token token = json_next(&r->json);
    uint64_t value[2] = {0, 0};
    int n = 0;
    bool good = true;

    if (token != JSON_ARRAY)
        return json_skip(&r->json, token);
    while ((token = json_next(&r->json)) != JSON_ARRAY_END) {
        if (token == JSON_ERROR)
            return -1;
        good &= n < 2 && token == JSON_NUMBER && json_to_u64(&r->json, &value[n & 1]);
        n++;
        if (json_skip(&r->json, token) < 0)
            return -1;
    }
    entry->has_offsets = good && n == 2 && value[0] <= value[1];
    entry->begin = value[0];
    entry->end = value[1];
    return 0;
}

static int read_entry(struct reading *r, struct safetensors_entry *entry)
{
    enum json_token token;
    struct str key;

    while ((token = json_next(&r->json)) == JSON_KEY) {
        key = r->json.text;
        if (str_is(key, "shape")) {
            entry->rank = 0;
            if (read_shape(r, entry) < 0)
                return -1;
        } else if (str_is(key, "data_offsets")) {
            if (read_offsets(r, entry) < 0)
                return -1;
        } else if (str_is(key, "dtype")) {
            token = json_next(&r->json);
            entry->has_dtype = token == JSON_STRING;
            entry->code = r->json.text;
            if (json_skip(&r->json, token) < 0)
                return -1;
        } else if (json_skip(&r->json, json_next(&r->json)) < 0) {
            return -1;
        }
    }
    return token == JSON_OBJECT_END ? 0 : -1;
}

/* The size by dtype and shape must be the size by the offsets. */
static void check_size(struct reading *r, const struct safetensors_entry *entry,
                       const struct tensor *tensor, uint32_t node)
{
    const struct dtype_info *info = dtype_info(tensor->dtype);
    uint64_t want = tensor_bytes(tensor), got = entry->end - entry->begin;

    if (tensor->dtype == DTYPE_UNKNOWN || (tensor->flags & TENSOR_INVALID))
        return;
    if (tensor->numel % info->block != 0)
        build_finding(r->build, FINDING_BAD_TENSOR, SEVERITY_WARNING, node,
                      "%.*s: %llu elements of %s do not fill whole bytes",
                      STR_ARG(entry->name), (unsigned long long)tensor->numel,
                      info->name)
            ->named = true;
    else if (want != got)
        build_finding(r->build, FINDING_SIZE_MISMATCH, SEVERITY_ALARM, node,
                      "%.*s: dtype and shape need %llu bytes, its offsets have %llu",
                      STR_ARG(entry->name), (unsigned long long)want,
                      (unsigned long long)got)
            ->named = true;
}

static int add_entry(struct reading *r, const struct safetensors_entry *entry)
{
    struct build *build = r->build;
    struct tensor tensor = {.dtype = (uint8_t)dtype_by_safetensors(entry->code),
                            .class_id = NO_CLASS,
                            .device = r->device};
    struct storage storage = {.bytes = entry->end - entry->begin};
    struct str last;
    uint32_t parent, node;
    bool again;

    parent = build_dotted(build, r->input->node, entry->name, &last);
    if (parent == NO_PLACE)
        return -1;
    node = build_leaf(build, parent, PLACE_TENSOR, last, &again);
    if (node == NO_PLACE)
        return -1;
    if (!entry->has_dtype || !entry->has_shape || !entry->has_offsets)
        build_finding(build, FINDING_BAD_TENSOR, SEVERITY_ALARM, node,
                      "%.*s: missing or invalid %s", STR_ARG(entry->name),
                      !entry->has_dtype   ? "dtype"
                      : !entry->has_shape ? "shape"
                                          : "data_offsets")
            ->named = true;
    else if (tensor.dtype == DTYPE_UNKNOWN)
        build_finding(build, FINDING_UNSUPPORTED, SEVERITY_WARNING, node,
                      "%.*s: unknown dtype %.*s", STR_ARG(entry->name),
                      STR_ARG(entry->code))
            ->named = true;
    storage.dtype = tensor.dtype;
    if (__builtin_add_overflow(r->data_at, entry->begin, &storage.at))
        storage.at = UINT64_MAX;
    tensor.storage = file_source_plain(build, r->input->blob, &storage);
    if (tensor.storage == NO_STORAGE)
        return -1;
    tensor.role = build_is_buffer_name(last) ? ROLE_BUFFER : ROLE_PARAMETER;
    tensor.flags = TENSOR_ROLE_GUESSED;
    if (!entry->has_dtype || !entry->has_shape || !entry->has_offsets)
        tensor.flags |= TENSOR_INVALID;
    if (build_tensor(build, node, &tensor, r->shape, NULL, entry->rank) == NO_OBJECT)
        return -1;
    check_size(r, entry, &tensor, node);
    if (again)
        build_finding(build, FINDING_DUPLICATE, SEVERITY_ALARM, node,
                      "two tensors have the name %.*s; programs disagree on which one "
                      "counts",
                      STR_ARG(entry->name))
            ->named = true;
    cover_note(&r->cover, entry->begin, entry->end - entry->begin);
    return 0;
}

static int read_metadata(struct reading *r)
{
    enum json_token token = json_next(&r->json);
    struct values *values = build_values(r->build);
    struct str key;

    if (r->has_metadata)
        build_finding(
            r->build, FINDING_DUPLICATE, SEVERITY_ALARM, r->input->node,
            "two __metadata__ entries; programs disagree on which one counts");
    r->has_metadata = true;
    if (token != JSON_OBJECT) {
        build_finding(r->build, FINDING_DAMAGED, SEVERITY_WARNING, r->input->node,
                      "__metadata__ is not a JSON object");
        return json_skip(&r->json, token);
    }
    while ((token = json_next(&r->json)) == JSON_KEY) {
        key = r->json.text;
        token = json_next(&r->json);
        if (token == JSON_STRING)
            build_metadata(r->build, key, value_str(values, r->json.text));
        else
            build_finding(r->build, FINDING_DAMAGED, SEVERITY_WARNING, r->input->node,
                          "__metadata__: %.*s is not a string", STR_ARG(key));
        if (json_skip(&r->json, token) < 0)
            return -1;
    }
    return token == JSON_OBJECT_END ? 0 : -1;
}

/* One member of the header: a tensor, or the metadata. 1: the header is complete. */
static int read_member(struct reading *r)
{
    enum json_token token = json_next(&r->json);
    struct safetensors_entry entry = {0};

    if (token == JSON_OBJECT_END)
        return json_next(&r->json) == JSON_END ? 1 : -1;
    if (token != JSON_KEY)
        return -1;
    entry.name = r->json.text;
    if (str_is(entry.name, "__metadata__"))
        return read_metadata(r);
    token = json_next(&r->json);
    if (token != JSON_OBJECT) {
        build_finding(r->build, FINDING_DAMAGED, SEVERITY_WARNING, r->input->node,
                      "%.*s does not describe a tensor", STR_ARG(entry.name));
        return json_skip(&r->json, token);
    }
    if (read_entry(r, &entry) < 0)
        return -1;
    return add_entry(r, &entry);
}

/* Does the file end like a zip? Zips are read from their end, so one can follow
 * anything. */
static bool is_zip_end(struct reading *r, uint64_t behind)
{
    struct blob *blob = r->input->blob;
    uint64_t n = behind < ZIP_TAIL ? behind : ZIP_TAIL;
    struct str tail;
    struct err why = {0};

    return blob_load(blob, blob->size - n, n, &r->build->scratch, &tail, &why) == 0 &&
           str_find(tail, STR("PK\5\6")) >= 0;
}

/* Sorted by offset, the tensors must cover all bytes of the data. */
static void check_cover(struct reading *r)
{
    uint64_t reached = 0;

    if (cover_check(&r->cover, r->build, &reached) < 0)
        return;
    if (reached < r->data_size)
        build_finding(r->build, FINDING_TRAILING, SEVERITY_WARNING, r->input->node,
                      "%llu unused bytes after the last tensor",
                      (unsigned long long)(r->data_size - reached));
    if (reached < r->data_size && is_zip_end(r, r->data_size - reached))
        build_finding(r->build, FINDING_ZIP_TRICK, SEVERITY_ALARM, r->input->node,
                      "the bytes after the last tensor are a zip archive: programs may "
                      "read another file");
    else if (reached > r->data_size)
        build_finding(r->build, FINDING_TRUNCATED, SEVERITY_ALARM, r->input->node,
                      "%.*s is truncated: %llu bytes of tensor data are missing",
                      STR_ARG(r->input->name),
                      (unsigned long long)(reached - r->data_size));
}

/* Load the header, or what there is of it in a truncated file. */
static int load_header(struct reading *r, struct str *ret_text, struct err *err)
{
    struct bytes in = bytes_of(r->input->head.at, r->input->head.len);
    uint64_t size = bytes_u64(&in), left = r->input->blob->size - 8;

    if (size > HEADER_LIMIT)
        return err_set_about(err, ERR_LIMIT, r->input->path,
                             ": the header has %llu bytes; the limit is %u",
                             (unsigned long long)size, HEADER_LIMIT);
    r->data_at = 8 + size;
    r->data_size = size < left ? left - size : 0;
    if (size > left) {
        build_finding(
            r->build, FINDING_TRUNCATED, SEVERITY_ALARM, r->input->node,
            "%.*s is truncated in its header: %llu of %llu bytes. Download it again",
            STR_ARG(r->input->name), (unsigned long long)left,
            (unsigned long long)size);
        size = left;
    }
    build_fact(r->build, "header bytes",
               value_int(build_values(r->build), (int64_t)size));
    if (blob_load(r->input->blob, 8, size, &r->text, ret_text, err) < 0)
        return -1;
    r->header = (char *)(uintptr_t)ret_text->at;
    return 0;
}

static int read_members(struct reading *r, struct err *err)
{
    struct build *build = r->build;
    const char *path = r->input->path;
    int status;

    if (json_next(&r->json) != JSON_OBJECT)
        return json_fault(r, err);
    do {
        status = read_member(r);
        if (r->json.offset - r->dropped >= DROP_STEP) {
            r->dropped = r->json.offset;
            arena_drop(r->header, r->dropped);
        }
        if (!work_step(build->work, 0))
            return err_set_about(err, ERR_CANCELLED, path, ": stopped");
    } while (status == 0);
    if (build_spent(build))
        return r->cover.n ? 0 : arena_err(&build->model->arena, path, err);
    if (status < 0) {
        if (r->cover.n == 0)
            return json_fault(r, err);
        build_finding(build, FINDING_DAMAGED, SEVERITY_ALARM, r->input->node,
                      "the header is truncated or invalid at byte %zu: %s",
                      8 + r->json.offset,
                      r->json.error ? r->json.error : "unexpected value");
    }
    check_cover(r);
    if (safetensors_ties(build, r->input->node, r->cover.first_node,
                         r->first_metadata) < 0 &&
        r->cover.n == 0)
        return arena_err(&build->model->arena, path, err);
    return 0;
}

static int read_safetensors(struct input *input, struct build *build, struct err *err)
{
    struct reading r = {
        .input = input, .build = build, .first_metadata = build->model->n_metadata};
    size_t used = build->scratch.used, limit = build->scratch.limit, taken;
    struct str text;
    int status;

    arena_init(&r.text, limit > used ? limit - used : 1);
    status = load_header(&r, &text, err);
    taken = r.text.used;
    build->scratch.limit -= taken; /* the limit is for both arenas */
    if (status == 0) {
        build_reserve(build, text.len / ENTRY_BYTES);
        build_set_flags(build, input->node, PLACE_STATE_DICT);
        cover_begin(&r.cover, build, r.data_at, 1);
        json_read_init(&r.json, text, &build->scratch);
        status = read_members(&r, err);
    }
    build->scratch.limit += taken;
    arena_release(&r.text); /* before build_finish(), which needs as much */
    return status;
}

const struct reader safetensors_reader = {
    .name = "safetensors", .knows = knows, .read = read_safetensors};
