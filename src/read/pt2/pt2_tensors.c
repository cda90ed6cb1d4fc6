/* Parameters, buffers and constants: the location of their bytes, and their roles in
 * the program's signature. */
#include <inttypes.h>
#include <string.h>

#include "base/base.h"
#include "base/buf.h"
#include "read/file/file_source_in.h"
#include "read/pt2/pt2_in.h"
#include "read/torch/torch_fold_in.h"
#include "read/torch/torch_in.h"

static int spent(const struct pt2 *pt2, struct err *err)
{
    return arena_err(&pt2->build->model->arena, pt2->input->path, err);
}

/* ---- the signature ---- */

/* One input of the graph that is a tensor of the file. */
struct signed_input {
    struct str name; /* full */
    enum tensor_role role;
    unsigned flags; /* of its place */
};

/* False: an input of the user, or something else. */
static bool signed_input(const struct json_doc *doc, uint32_t spec,
                         struct signed_input *ret_input)
{
    struct str kind;
    uint32_t value = pt2_union(doc, spec, &kind), name = 0;
    struct signed_input input = {0};

    if (str_is(kind, "parameter")) {
        name = json_doc_get(doc, value, "parameter_name");
        input.role = ROLE_PARAMETER;
    } else if (str_is(kind, "buffer")) {
        uint32_t persistent = json_doc_get(doc, value, "persistent");

        name = json_doc_get(doc, value, "buffer_name");
        input.role = ROLE_BUFFER;
        if (json_doc_kind(doc, persistent) == JSON_FALSE)
            input.flags = PLACE_BUFFER_TEMP;
    } else if (str_is(kind, "tensor_constant")) {
        name = json_doc_get(doc, value, "tensor_constant_name");
        input.role = ROLE_PLAIN;
        input.flags = PLACE_ATTRIBUTE;
    }
    input.name = json_doc_text(doc, name);
    *ret_input = input;
    return name != 0;
}

/* Places in the order of the signature, which is that of the model. */
static int make_places(struct pt2 *pt2, struct err *err)
{
    uint32_t specs = json_doc_get(&pt2->doc, pt2->signature, "input_specs");
    struct signed_input input;

    for (uint32_t i = json_doc_first(&pt2->doc, specs); i;
         i = json_doc_next(&pt2->doc, i))
        if (signed_input(&pt2->doc, i, &input) &&
            pt2_place(pt2, input.name) == NO_PLACE)
            return spent(pt2, err);
    return 0;
}

static void set_role(struct pt2 *pt2, const struct signed_input *input)
{
    struct model *model = pt2->build->model;
    uint32_t node = pt2_place_find(pt2, input->name), id;
    struct tensor *tensor;

    if (node == NO_PLACE)
        return;
    build_set_flags(pt2->build, node, input->flags);
    id = build_tensor_at(pt2->build, node);
    if (id == NO_OBJECT)
        return;
    tensor = &model->tensors[id];
    tensor->flags &= (uint16_t)~TENSOR_ROLE_GUESSED;
    if (tensor->role != ROLE_PARAMETER)
        tensor->role = (uint8_t)input->role;
    if (input->role == ROLE_PARAMETER && tensor->class_id == NO_CLASS)
        tensor->class_id = build_class(pt2->build, STR("torch.nn.parameter.Parameter"));
}

static bool is_empty(const struct pt2 *pt2, uint32_t node)
{
    return node != NO_PLACE && build_kind(pt2->build, node) == PLACE_TENSOR &&
           build_tensor_at(pt2->build, node) == NO_OBJECT;
}

/* Sets the role of each tensor from the signature; adds findings for missing
 * tensors. */
static void settle_places(struct pt2 *pt2)
{
    uint32_t specs = json_doc_get(&pt2->doc, pt2->signature, "input_specs");
    struct signed_input input;

    for (uint32_t i = json_doc_first(&pt2->doc, specs); i;
         i = json_doc_next(&pt2->doc, i)) {
        uint32_t node;

        if (!signed_input(&pt2->doc, i, &input))
            continue;
        set_role(pt2, &input);
        node = pt2_place_find(pt2, input.name);
        if (!is_empty(pt2, node))
            continue;
        build_set_kind(pt2->build, node, PLACE_VALUE);
        build_finding(pt2->build, FINDING_MISSING_RECORD, SEVERITY_ALARM, node,
                      "the program uses %.*s, which is not in the file",
                      STR_ARG(str_head(input.name, 200)));
    }
}

/* Every place of a tensor must have one, even after an error. */
static void drop_empty_places(struct pt2 *pt2)
{
    for (uint32_t i = 0; i < pt2->tensors.n && i < pt2->tensor_nodes_room; i++)
        if (is_empty(pt2, pt2->tensor_nodes[i]))
            build_set_kind(pt2->build, pt2->tensor_nodes[i], PLACE_VALUE);
}

/* ---- raw tensors ---- */

/* The storage of an entry: all of its bytes. */
static uint32_t raw_storage(struct pt2 *pt2, uint32_t entry, enum dtype dtype)
{
    struct storage storage = {.bytes = pt2->zip->entries[entry].size,
                              .dtype = (uint8_t)dtype};
    uint32_t id;

    if (pt2->storage_of[entry])
        return pt2->storage_of[entry] - 1;
    if (pt2->big_endian)
        storage.flags |= STORAGE_BIG_ENDIAN;
    if (build_storage_name(pt2->build, &storage, zip_record(pt2->zip, entry)) < 0)
        return NO_STORAGE;
    id = file_source_member(pt2->build, pt2->zip, entry, &storage);
    if (id != NO_STORAGE)
        pt2->storage_of[entry] = id + 1;
    return id;
}

static uint16_t device_of(struct pt2 *pt2, const struct pt2_meta *meta)
{
    struct buf text = BUF_INIT;
    uint16_t device = 0;

    buf_str(&text, meta->device);
    if (meta->device_index >= 0)
        buf_printf(&text, ":%" PRId64, meta->device_index);
    if (text.len > 0)
        device = build_device(pt2->build, buf_span(&text));
    buf_release(&text);
    return device;
}

static bool has_elements(const struct pt2_meta *meta)
{
    for (int i = 0; i < meta->rank; i++)
        if (meta->shape[i] == 0)
            return false;
    return true;
}

/* The bytes that its storage needs; 0 if they overflow, which build_tensor()
 * reports. */
static uint64_t bytes_needed(const struct pt2_meta *meta)
{
    uint64_t last = (uint64_t)meta->offset, reach, bytes;

    for (int i = 0; i < meta->rank; i++)
        if (meta->shape[i] < 1 || meta->strides[i] < 0 ||
            __builtin_mul_overflow((uint64_t)meta->shape[i] - 1,
                                   (uint64_t)meta->strides[i], &reach) ||
            __builtin_add_overflow(last, reach, &last))
            return 0;
    if (last >= INT64_MAX || !dtype_size(meta->dtype, last + 1, &bytes))
        return 0;
    return bytes;
}

/* Its bytes are missing: they were not saved, or the archive has no such entry. */
static uint32_t no_storage(struct pt2 *pt2, uint32_t node, struct str record,
                           const struct pt2_meta *meta)
{
    struct storage missing = {.dtype = (uint8_t)meta->dtype,
                              .bytes = bytes_needed(meta)};

    build_finding(pt2->build, FINDING_MISSING_RECORD, SEVERITY_ALARM, node,
                  "its bytes are missing: the archive has no entry %.*s",
                  STR_ARG(str_head(record, 200)));
    return file_source_missing(pt2->build, &missing);
}

/* A tensor on the bytes of an entry. A model without values is saved with empty
 * entries. */
static int add_raw(struct pt2 *pt2, uint32_t node, int64_t entry, struct str record,
                   const struct pt2_meta *meta, struct err *err)
{
    struct tensor tensor = {.dtype = (uint8_t)meta->dtype,
                            .role = ROLE_PLAIN,
                            .layout = (uint8_t)meta->layout,
                            .device = device_of(pt2, meta),
                            .storage = NO_STORAGE,
                            .class_id = NO_CLASS,
                            .offset = (uint64_t)meta->offset,
                            .flags = TENSOR_GRAD_KNOWN};

    if (meta->grad)
        tensor.flags |= TENSOR_GRAD;
    if (meta->layout != LAYOUT_STRIDED)
        tensor.flags |= TENSOR_SHAPE_ONLY;
    if (entry < 0)
        tensor.storage = no_storage(pt2, node, record, meta);
    else if (pt2->zip->entries[entry].size == 0 && has_elements(meta))
        tensor.flags |= TENSOR_META;
    else
        tensor.storage = raw_storage(pt2, (uint32_t)entry, meta->dtype);
    if (build_tensor(pt2->build, node, &tensor, meta->shape, meta->strides,
                     meta->rank) == NO_OBJECT)
        return spent(pt2, err);
    return 0;
}

/* ---- the configs of 2.8 and later ---- */

/* A file of torch.save(), of a ScriptObject, or a pickle, read into the node. */
static int add_pickled(struct pt2 *pt2, uint32_t node, uint32_t entry, struct err *err)
{
    struct err why = {0};
    struct str name = pt2->zip->entries[entry].name;
    char *text = arena_printf(&pt2->build->scratch, "%.*s", STR_ARG(name));
    struct blob *blob = zip_open_member(pt2->zip, entry, pt2->build, &why);

    if (!text)
        return arena_err(&pt2->build->scratch, pt2->input->path, err);
    build_set_kind(pt2->build, node, PLACE_VALUE);
    if (blob && input_read_inner(pt2->input, blob, text, node, pt2->build, &why) == 0)
        return 0;
    if (why.code == ERR_CANCELLED || build_spent(pt2->build))
        return err_copy(err, &why);
    build_finding(pt2->build, FINDING_DAMAGED, SEVERITY_ALARM, node, "%s", why.text);
    build_pickle_stream(pt2->build, name, pt2->zip->entries[entry].size);
    return 0;
}

/* One entry of a config: {"path_name", "is_param", "use_pickle", "tensor_meta"}. */
static int add_payload(struct pt2 *pt2, const struct json_doc *doc, const char *folder,
                       struct str name, uint32_t payload, struct err *err)
{
    struct str path = json_doc_text(doc, json_doc_get(doc, payload, "path_name"));
    uint32_t node = pt2_place(pt2, name);
    int64_t entry = pt2_entry(pt2, folder, path, "");
    struct pt2_meta meta;

    if (node == NO_PLACE)
        return spent(pt2, err);
    if (build_kind(pt2->build, node) != PLACE_TENSOR ||
        build_tensor_at(pt2->build, node) != NO_OBJECT) {
        build_finding(pt2->build, FINDING_DUPLICATE, SEVERITY_ALARM, node,
                      "two tensors have the name %.*s", STR_ARG(str_head(name, 200)));
        return 0;
    }
    if (json_doc_true(doc, json_doc_get(doc, payload, "use_pickle"))) {
        if (entry >= 0)
            return add_pickled(pt2, node, (uint32_t)entry, err);
        build_set_kind(pt2->build, node, PLACE_VALUE);
        build_finding(pt2->build, FINDING_MISSING_RECORD, SEVERITY_ALARM, node,
                      "the archive has no entry %.*s", STR_ARG(str_head(path, 200)));
        return 0;
    }
    if (pt2_meta(doc, json_doc_get(doc, payload, "tensor_meta"), &meta))
        return add_raw(pt2, node, entry, path, &meta, err);
    build_set_kind(pt2->build, node, PLACE_VALUE);
    build_finding(pt2->build, FINDING_BAD_TENSOR, SEVERITY_ALARM, node,
                  "%.*s has no valid description", STR_ARG(str_head(name, 200)));
    return 0;
}

/* The config of weights or constants; 1: the archive has none. */
static int read_config(struct pt2 *pt2, const char *folder, const char *const tails[2],
                       struct err *err)
{
    struct json_doc doc;
    uint32_t config;
    int64_t entry = -1;

    for (int i = 0; i < 2 && entry < 0; i++)
        entry = pt2_entry(pt2, folder, pt2->name, tails[i]);
    if (entry < 0)
        return 1;
    if (pt2_load_json(pt2, (uint32_t)entry, &doc, err) < 0)
        return -1;
    config = json_doc_get(&doc, JSON_DOC_ROOT, "config");
    for (uint32_t k = json_doc_first(&doc, config); k; k = json_doc_next(&doc, k)) {
        if (!work_step(pt2->build->work, 1))
            return err_set(err, ERR_CANCELLED, "stopped");
        if (add_payload(pt2, &doc, folder, json_doc_text(&doc, k),
                        json_doc_value(&doc, k), err) < 0)
            return -1;
    }
    return 0;
}

/* ---- files of torch.save() ---- */

static uint32_t saved_place(void *user, struct str name)
{
    struct pt2 *pt2 = user;
    struct str copy = arena_str(&pt2->build->scratch, name);

    return copy.at ? pt2_place(pt2, copy) : NO_PLACE;
}

static uint32_t no_place(void *user, struct str name)
{
    (void)user;
    (void)name;
    return NO_PLACE;
}

/* Read a dict of tensors, or only check its pickle. */
static int read_saved(struct pt2 *pt2, int64_t entry, bool judge, struct err *err)
{
    struct torch_entries entries = {.place = judge ? no_place : saved_place,
                                    .user = pt2};
    struct str name;
    struct err why = {0};
    struct blob *blob;
    char *text;

    if (entry < 0)
        return 1;
    name = pt2->zip->entries[entry].name;
    if (pt2->zip->entries[entry].size == 0)
        return 0;
    text = arena_printf(&pt2->build->scratch, "%.*s", STR_ARG(name));
    if (!text)
        return arena_err(&pt2->build->scratch, pt2->input->path, err);
    blob = zip_open_member(pt2->zip, (uint32_t)entry, pt2->build, &why);
    if (blob &&
        torch_read_entries(pt2->input, blob, text, &entries, pt2->build, &why) == 0)
        return 0;
    if (why.code == ERR_CANCELLED || build_spent(pt2->build))
        return err_copy(err, &why);
    build_finding(pt2->build, FINDING_DAMAGED, SEVERITY_ALARM, pt2->root, "%s: %s",
                  text, why.text);
    build_pickle_stream(pt2->build, name, pt2->zip->entries[entry].size);
    return 0;
}

/* The first of these entries that exists, or -1. */
static int64_t first_entry(const struct pt2 *pt2, const char *const *names, size_t n)
{
    int64_t entry = -1;

    for (size_t i = 0; i < n && entry < 0; i++)
        entry = zip_find(pt2->zip, names[i]);
    return entry;
}

static int read_old(struct pt2 *pt2, struct err *err)
{
    static const char *const states[] = {"serialized_state_dict.pt",
                                         "serialized_state_dict.json"};
    static const char *const constants[] = {"serialized_constants.pt",
                                            "serialized_constants.json",
                                            "serialized_tensor_constants.pt"};
    static const char *const examples[] = {"serialized_example_inputs.pt"};
    int64_t state = first_entry(pt2, states, COUNT_OF(states));

    if (state < 0)
        build_finding(pt2->build, FINDING_MISSING_RECORD, SEVERITY_ALARM, pt2->root,
                      "the archive has no serialized_state_dict.pt: the values of the "
                      "parameters are missing");
    if (read_saved(pt2, state, false, err) < 0 ||
        read_saved(pt2, first_entry(pt2, constants, COUNT_OF(constants)), false, err) <
            0)
        return -1;
    return read_saved(pt2, first_entry(pt2, examples, COUNT_OF(examples)), true, err);
}

static int read_new(struct pt2 *pt2, struct err *err)
{
    static const char *const weights[] = {"_weights_config.json",
                                          "_model_param_config.json"};
    static const char *const constants[] = {"_constants_config.json",
                                            "_model_constants_config.json"};
    int status = read_config(pt2, "data/weights/", weights, err);

    if (status > 0)
        status = read_saved(pt2, pt2_entry(pt2, "data/weights/", pt2->name, ".pt"),
                            false, err);
    if (status > 0)
        build_finding(pt2->build, FINDING_MISSING_RECORD, SEVERITY_ALARM, pt2->root,
                      "the archive has no data/weights/%.*s_weights_config.json: the "
                      "parameters are missing",
                      STR_ARG(pt2->name));
    if (status < 0)
        return -1;
    status = read_config(pt2, "data/constants/", constants, err);
    if (status > 0)
        status = read_saved(pt2, pt2_entry(pt2, "data/constants/", pt2->name, ".pt"),
                            false, err);
    if (status < 0)
        return -1;
    return read_saved(pt2, pt2_entry(pt2, "data/sample_inputs/", pt2->name, ".pt"),
                      true, err);
}

int pt2_tensors(struct pt2 *pt2, struct err *err)
{
    int status = make_places(pt2, err);

    if (status == 0)
        status = pt2->old ? read_old(pt2, err) : read_new(pt2, err);
    if (status >= 0)
        settle_places(pt2);
    drop_empty_places(pt2);
    if (status < 0)
        return -1;
    return build_spent(pt2->build) ? spent(pt2, err) : 0;
}
