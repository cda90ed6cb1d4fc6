/* Shards as HuggingFaceStorageWriter(save_distributed=True) writes them: safetensors
 * files shard-N-model-M-of-K.safetensors, without .metadata. The metadata of each file
 * has DCP_SHARDING_INFO, a JSON text: {"fc.weight": {"saved_offsets": [4, 0]}}. */
#include <inttypes.h>
#include <string.h>

#include "base/base.h"
#include "base/bytes.h"
#include "base/json_doc.h"
#include "read/dcp/dcp_in.h"
#include "read/file/file_source_in.h"

#define HEADER_LIMIT 100000000

/* One tensor of one file. */
struct hf_part {
    uint32_t next; /* of the same tensor; UINT32_MAX: the last */
    struct dcp_box box;
    enum dtype dtype;
    int rank;
    uint32_t file;
    uint64_t at, end; /* of its bytes in the file */
};

struct hf {
    struct dcp *dcp;
    struct name_map names;
    struct hf_ends {
        uint32_t first, last, n;
    } * ends; /* by name */
    uint32_t ends_room;
    struct hf_part *parts;
    uint32_t n_parts, parts_room;
};

static bool is_shard(struct str name)
{
    return str_starts(name, STR("shard-")) && str_find(name, STR("-model-")) > 0 &&
           str_ends(name, STR(".safetensors"));
}

bool dcp_is_hf(const struct folder *folder)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < folder->n; i++) {
        if (str_ends(folder->entries[i].name, STR(".index.json")))
            return false;
        n += folder->entries[i].is_file && is_shard(folder->entries[i].name);
    }
    return n > 0;
}

static int spent(const struct hf *hf, struct err *err)
{
    return arena_err(&hf->dcp->build->scratch, hf->dcp->input->path, err);
}

/* ---- one file ---- */

static int read_numbers(const struct json_doc *doc, uint32_t list, int64_t *to)
{
    int n = 0;

    if (json_doc_kind(doc, list) != JSON_ARRAY)
        return -1;
    for (uint32_t i = json_doc_first(doc, list); i; i = json_doc_next(doc, i))
        if (n == DCP_RANK || !json_doc_int(doc, i, &to[n++]) || to[n - 1] < 0)
            return -1;
    return n;
}

/* The bytes of its elements; false: too large, or an unknown dtype. */
static bool set_size(struct hf_part *part)
{
    uint64_t bytes;

    part->box.numel = 1;
    for (int d = 0; d < part->rank; d++)
        if (__builtin_mul_overflow(part->box.numel, (uint64_t)part->box.sizes[d],
                                   &part->box.numel))
            return false;
    return dtype_info(part->dtype)->block == 1 &&
           dtype_size(part->dtype, part->box.numel, &bytes) &&
           part->end - part->at == bytes;
}

/* The offsets of each tensor in DCP_SHARDING_INFO. */
struct hf_sharding {
    struct json_doc doc;
    struct name_map names;
    uint32_t *nodes; /* by name */
    uint32_t room;
};

static int read_sharding(struct hf *hf, const struct json_doc *header,
                         struct hf_sharding *to, struct err *err)
{
    struct arena *arena = &hf->dcp->build->scratch;
    uint32_t metadata = json_doc_get(header, JSON_DOC_ROOT, "__metadata__"), index;
    struct str text =
        json_doc_text(header, json_doc_get(header, metadata, "DCP_SHARDING_INFO"));

    *to = (struct hf_sharding){.nodes = NULL};
    name_map_init(&to->names, arena);
    if (json_doc_read(&to->doc, text, "DCP_SHARDING_INFO", arena, err) < 0)
        return -1;
    for (uint32_t k = json_doc_first(&to->doc, JSON_DOC_ROOT); k;
         k = json_doc_next(&to->doc, k)) {
        int added = name_map_add(&to->names, json_doc_text(&to->doc, k), &index);

        if (added < 0 || (added > 0 && arena_room(arena, &to->nodes, index, &to->room,
                                                  sizeof *to->nodes) < 0))
            return spent(hf, err);
        to->nodes[index] = json_doc_value(&to->doc, k);
    }
    return 0;
}

/* {"dtype", "shape", "data_offsets"} and its offsets in the whole; false: malformed. */
static bool read_part(struct hf *hf, const struct json_doc *doc, uint32_t about,
                      const struct hf_sharding *sharding, struct str name,
                      uint64_t data_at, struct hf_part *part)
{
    int64_t *dims = arena_array(&hf->dcp->build->scratch, 3 * DCP_RANK, sizeof *dims);
    int64_t offsets[DCP_RANK], step = 1;
    uint32_t own = 0, index;

    if (!dims)
        return false;
    if (name_map_find(&sharding->names, name, &index))
        own = json_doc_get(&sharding->doc, sharding->nodes[index], "saved_offsets");
    part->dtype =
        dtype_by_safetensors(json_doc_text(doc, json_doc_get(doc, about, "dtype")));
    part->rank = read_numbers(doc, json_doc_get(doc, about, "shape"), dims + DCP_RANK);
    if (part->rank < 0 || part->dtype == DTYPE_UNKNOWN ||
        read_numbers(doc, json_doc_get(doc, about, "data_offsets"), offsets) != 2 ||
        offsets[1] < offsets[0] ||
        (own && read_numbers(&sharding->doc, own, dims) != part->rank))
        return false;
    part->box = (struct dcp_box){.storage = NO_STORAGE,
                                 .offsets = dims,
                                 .sizes = dims + DCP_RANK,
                                 .strides = dims + 2 * DCP_RANK};
    part->at = data_at + (uint64_t)offsets[0];
    part->end = data_at + (uint64_t)offsets[1];
    if (!set_size(part))
        return false;
    for (int d = part->rank - 1; d >= 0; d--) {
        dims[2 * DCP_RANK + d] = step;
        step *= dims[DCP_RANK + d];
    }
    return true;
}

static int add_part(struct hf *hf, struct str name, const struct hf_part *part,
                    struct err *err)
{
    struct arena *arena = &hf->dcp->build->scratch;
    uint32_t index, id = hf->n_parts;
    int added = name_map_add(&hf->names, name, &index);

    if (added < 0 ||
        arena_room(arena, &hf->parts, id, &hf->parts_room, sizeof *hf->parts) < 0 ||
        (added > 0 &&
         arena_room(arena, &hf->ends, index, &hf->ends_room, sizeof *hf->ends) < 0))
        return spent(hf, err);
    hf->parts[hf->n_parts++] = *part;
    hf->parts[id].next = UINT32_MAX;
    if (added > 0)
        hf->ends[index] = (struct hf_ends){.first = id};
    else
        hf->parts[hf->ends[index].last].next = id;
    hf->ends[index].last = id;
    hf->ends[index].n++;
    return 0;
}

/* Load the header of a file; data_at: where the tensors begin. */
static int load_header(struct hf *hf, struct blob *blob, struct json_doc *ret_doc,
                       uint64_t *ret_data_at, struct err *err)
{
    struct arena *arena = &hf->dcp->build->scratch;
    uint8_t size[8];
    struct bytes in = bytes_of(size, sizeof size);
    struct str text;
    uint64_t n;

    if (blob->size < sizeof size || blob_read(blob, 0, size, sizeof size, err) < 0)
        return err_set_about(err, ERR_FORMAT, blob->name, " is too short");
    n = bytes_u64(&in);
    if (n > HEADER_LIMIT || n > blob->size - sizeof size)
        return err_set_about(err, ERR_FORMAT, blob->name,
                             ": its header should have %" PRIu64 " bytes", n);
    if (blob_load(blob, sizeof size, n, arena, &text, err) < 0)
        return -1;
    *ret_data_at = sizeof size + n;
    return json_doc_read(ret_doc, text, blob->name, arena, err);
}

static int read_shard(struct hf *hf, uint32_t file, struct err *err)
{
    struct dcp *dcp = hf->dcp;
    struct blob *blob = dcp->files[file].blob;
    struct arena *arena = &dcp->build->scratch;
    struct hf_sharding sharding;
    struct json_doc doc;
    uint64_t data_at = 0;

    if (load_header(hf, blob, &doc, &data_at, err) < 0)
        return -1;
    if (read_sharding(hf, &doc, &sharding, err) < 0)
        return -1;
    for (uint32_t k = json_doc_first(&doc, JSON_DOC_ROOT); k;
         k = json_doc_next(&doc, k)) {
        struct str name = json_doc_text(&doc, k);
        struct hf_part part = {.file = file};

        if (str_is(name, "__metadata__"))
            continue;
        if (read_part(hf, &doc, json_doc_value(&doc, k), &sharding, name, data_at,
                      &part)) {
            if (add_part(hf, name, &part, err) < 0)
                return -1;
        } else if (arena->spent) {
            return spent(hf, err);
        } else {
            build_finding(dcp->build, FINDING_BAD_TENSOR, SEVERITY_ALARM,
                          dcp->input->node, "%s: the part of %.*s is malformed",
                          blob->name, STR_ARG(str_head(name, 200)));
        }
    }
    return 0;
}

/* ---- tensors ---- */

static bool gather(struct hf *hf, uint32_t index, struct dcp_whole *whole)
{
    const struct hf_ends *ends = &hf->ends[index];
    const struct hf_part *first = &hf->parts[ends->first];

    memset(whole, 0, sizeof *whole);
    whole->dtype = first->dtype;
    whole->rank = first->rank;
    whole->boxes = arena_array(&hf->dcp->build->scratch, ends->n, sizeof *whole->boxes);
    if (!whole->boxes)
        return false;
    for (uint32_t i = ends->first; i != UINT32_MAX; i = hf->parts[i].next) {
        const struct hf_part *part = &hf->parts[i];

        if (part->dtype != whole->dtype || part->rank != whole->rank)
            return false;
        for (int d = 0; d < whole->rank; d++) {
            int64_t end;

            if (__builtin_add_overflow(part->box.offsets[d], part->box.sizes[d], &end))
                return false;
            if (end > whole->shape[d])
                whole->shape[d] = end;
        }
        whole->boxes[whole->n++] = part->box;
    }
    whole->numel = 1;
    for (int d = 0; d < whole->rank; d++)
        if (__builtin_mul_overflow(whole->numel, (uint64_t)whole->shape[d],
                                   &whole->numel))
            return false;
    return whole->numel <= INT64_MAX;
}

static int set_storages(struct hf *hf, uint32_t index, struct dcp_whole *whole,
                        struct err *err)
{
    uint32_t n = 0;

    for (uint32_t i = hf->ends[index].first; i != UINT32_MAX; i = hf->parts[i].next) {
        const struct hf_part *part = &hf->parts[i];
        struct storage storage = {.bytes = part->end - part->at,
                                  .at = part->at,
                                  .dtype = (uint8_t)part->dtype};
        uint32_t id = file_source_plain(hf->dcp->build, hf->dcp->files[part->file].blob,
                                        &storage);

        if (id == NO_STORAGE)
            return spent(hf, err);
        if (!(hf->dcp->build->model->storages[id].flags &
              (STORAGE_MISSING | STORAGE_PARTLY)))
            whole->boxes[n].storage = id;
        else
            build_finding(hf->dcp->build, FINDING_TRUNCATED, SEVERITY_ALARM,
                          hf->dcp->input->node,
                          "%s is truncated: a part of %.*s is cut",
                          hf->dcp->files[part->file].blob->name,
                          STR_ARG(str_head(hf->names.names[index], 200)));
        n++;
    }
    return 0;
}

static int add_tensor(struct hf *hf, uint32_t index, struct err *err)
{
    struct build *build = hf->dcp->build;
    struct str name = hf->names.names[index], last = name;
    uint32_t parent = hf->dcp->input->node, node, id;
    struct dcp_whole whole;
    struct tensor *tensor;
    bool filled, again;

    if (!dcp_is_deep(name))
        parent = build_dotted(build, parent, name, &last);
    if (parent == NO_PLACE)
        return arena_err(&build->model->arena, hf->dcp->input->path, err);
    node = build_leaf(build, parent, PLACE_VALUE, last, &again);
    if (node == NO_PLACE)
        return arena_err(&build->model->arena, hf->dcp->input->path, err);
    if (!gather(hf, index, &whole)) {
        if (build->scratch.spent)
            return spent(hf, err);
        build_finding(build, FINDING_BAD_TENSOR, SEVERITY_ALARM, node,
                      "the parts of %.*s do not fit together",
                      STR_ARG(str_head(name, 200)));
        return 0;
    }
    hf->dcp->n_boxes += whole.n;
    filled = dcp_check_boxes(hf->dcp, &whole, node, name);
    if (set_storages(hf, index, &whole, err) < 0 ||
        dcp_assemble(build, &whole, filled, node, name, err) < 0)
        return -1;
    id = build_tensor_at(build, node);
    tensor = id == NO_OBJECT ? NULL : &build->model->tensors[id];
    if (tensor) {
        tensor->role = build_is_buffer_name(last) ? ROLE_BUFFER : ROLE_PARAMETER;
        tensor->flags |= TENSOR_ROLE_GUESSED;
    }
    return 0;
}

int dcp_read_hf(struct dcp *dcp, struct err *err)
{
    const struct folder *folder = dcp->input->folder;
    struct hf hf = {.dcp = dcp};
    struct build *build = dcp->build;
    struct err why = {0};
    uint32_t file;

    build->model->format = "distributed checkpoint (safetensors)";
    build_set_flags(build, dcp->input->node, PLACE_STATE_DICT);
    dcp->looks_left = 1000000;
    name_map_init(&hf.names, &build->scratch);
    for (uint32_t i = 0; i < folder->n; i++) {
        if (!folder->entries[i].is_file || !is_shard(folder->entries[i].name))
            continue;
        if (!dcp_file(dcp, folder->entries[i].name, &file, err))
            return -1;
        if (!dcp->files[file].blob || read_shard(&hf, file, &why) == 0)
            continue;
        if (why.code == ERR_CANCELLED || build_spent(build))
            return err_copy(err, &why);
        build_finding(build, FINDING_DAMAGED, SEVERITY_ALARM, dcp->input->node, "%s",
                      why.text);
    }
    for (uint32_t i = 0; i < hf.names.n; i++) {
        if (!work_step(build->work, 1))
            return err_set_about(err, ERR_CANCELLED, dcp->input->path, ": stopped");
        if (add_tensor(&hf, i, err) < 0)
            return -1;
    }
    build_fact(build, "parts", value_int(build_values(build), (int64_t)dcp->n_boxes));
    build_fact(build, "shards", value_int(build_values(build), dcp->file_names.n));
    return 0;
}
