#include "export/export_in.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"

const char *export_role_name(uint8_t role)
{
    static const char *const names[] = {"parameter", "buffer", "state", "plain"};

    return names[role & 3];
}

const char *export_layout_name(uint8_t layout)
{
    static const char *const names[] = {"strided",    "sparse_coo", "sparse_csr",
                                        "sparse_csc", "sparse_bsr", "sparse_bsc",
                                        "nested",     "wrapped"};

    return names[layout & 7];
}

void document_path(struct document *doc, const char *key, uint32_t place)
{
    buf_clear(&doc->path);
    place_path(doc->model, place, &doc->path);
    json_str(doc->json, key, buf_span(&doc->path));
}

void document_named(struct document *doc, uint32_t place)
{
    if (place >= doc->model->n_places)
        return;
    document_path(doc, "name", place);
    json_u64(doc->json, "place", place);
}

void document_where(struct document *doc, uint32_t place)
{
    uint32_t parent = doc->model->parent[place];

    document_named(doc, place);
    if (parent != NO_PLACE)
        json_u64(doc->json, "parent", parent);
}

void export_list(struct json *json, const char *key, const int64_t *items, int n)
{
    json_array(json, key);
    for (int i = 0; i < n; i++)
        json_i64(json, NULL, items[i]);
    json_array_end(json);
}

/* Rounds to a number of digits. The result is the double nearest to a short decimal,
 * unless the value is very large or small: then it is written in full. */
static double rounded(double value, int digits)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    int power = digits - 1 - (int)floor(log10(fabs(value)));
    char text[32];

    if (abs(power) < (int)COUNT_OF(tens))
        return power >= 0 ? rint(value * tens[power]) / tens[power]
                          : rint(value / tens[-power]) * tens[-power];
    snprintf(text, sizeof text, "%.*g", digits, value);
    return strtod(text, NULL);
}

void export_short(struct json *json, const char *key, double value, int digits)
{
    if (isfinite(value) && value != 0)
        value = rounded(value, digits);
    json_real(json, key, value);
}

void export_flag(struct json *json, const char *key, bool flag)
{
    if (flag)
        json_bool(json, key, true);
}

void export_nonzero(struct json *json, const char *key, uint64_t n)
{
    if (n > 0)
        json_u64(json, key, n);
}

void document_list(struct document *doc, const char *key, uint32_t n,
                   void (*write)(struct document *doc, uint32_t i))
{
    json_array(doc->json, key);
    for (uint32_t i = 0; i < n; i++) {
        json_object(doc->json, NULL);
        write(doc, i);
        json_object_end(doc->json);
    }
    json_array_end(doc->json);
}

/* ---- tensors ---- */

static void write_storage(struct document *doc, const struct tensor *tensor)
{
    const struct model *model = doc->model;
    const struct storage *storage;
    char text[STORAGE_NAME_MAX];
    struct str name;

    if (tensor->storage == NO_STORAGE)
        return;
    storage = &model->storages[tensor->storage];
    name = storage_name(model, storage, text);
    json_u64(doc->json, "storage", tensor->storage);
    if (name.len > 0)
        json_str(doc->json, "storage_key", name);
    if (model->n_files > 1 && storage->file < model->n_files)
        json_str(doc->json, "file",
                 model_string(model, model->files[storage->file].name));
}

static void write_requires_grad(struct document *doc, const struct tensor *tensor)
{
    if (tensor->flags & TENSOR_GRAD_KNOWN) {
        json_bool(doc->json, "requires_grad", tensor->flags & TENSOR_GRAD);
        return;
    }
    json_null(doc->json, "requires_grad");
    json_text(doc->json, "requires_grad_why", document_unsaid(doc));
}

static void write_size(struct document *doc, const struct tensor *tensor)
{
    const struct dtype_info *info = dtype_info(tensor->dtype);
    uint64_t bytes;

    json_u64(doc->json, "numel", tensor->numel);
    if (info->values > 1)
        json_u64(doc->json, "values", tensor->numel * info->values);
    if (dtype_size(tensor->dtype, tensor->numel, &bytes)) {
        json_u64(doc->json, "bytes", tensor_own_bytes(tensor));
        return;
    }
    json_null(doc->json, "bytes");
    json_text(doc->json, "bytes_why", "the size of an element is not known");
}

/* The other places of the same tensor, which is counted at the first. */
static void write_ties(struct document *doc, uint32_t place)
{
    uint32_t first = doc->model->tensors[doc->model->object[place]].place;
    uint32_t other;

    if (first != place && first < doc->model->n_places) {
        document_path(doc, "tied_to", first);
        return;
    }
    if (!doc->next_same || doc->next_same[place] == NO_PLACE)
        return;
    json_array(doc->json, "also_at");
    for (other = doc->next_same[place]; other != NO_PLACE;
         other = doc->next_same[other])
        document_path(doc, NULL, other);
    json_array_end(doc->json);
}

static void write_parts(struct document *doc, uint32_t place)
{
    const struct model *model = doc->model;
    uint32_t parent = model->parent[place], part = place_first(model, place);

    if (parent != NO_PLACE && model->kind[parent] == PLACE_TENSOR)
        document_path(doc, "part_of", parent);
    if (part == NO_PLACE)
        return;
    json_array(doc->json, "parts");
    for (; part != NO_PLACE; part = place_next(model, part)) {
        if (model->kind[part] == PLACE_TENSOR)
            document_path(doc, NULL, part);
    }
    json_array_end(doc->json);
}

static void write_readable(struct document *doc, const struct tensor *tensor)
{
    const char *why = NULL;

    if (tensor_readable(doc->model, tensor, &why))
        return;
    json_bool(doc->json, "readable", false);
    json_text(doc->json, "readable_why", why ? why : "");
}

void document_tensor(struct document *doc, uint32_t place)
{
    const struct model *model = doc->model;
    const struct tensor *tensor = place_tensor(model, place);
    struct str device = tensor_device(model, tensor);

    document_where(doc, place);
    export_list(doc->json, "shape", tensor_shape(model, tensor), tensor->rank);
    json_text(doc->json, "dtype", dtype_name(tensor->dtype));
    write_size(doc, tensor);
    json_text(doc->json, "role", export_role_name(tensor->role));
    export_flag(doc->json, "role_guessed", tensor->flags & TENSOR_ROLE_GUESSED);
    json_text(doc->json, "layout", export_layout_name(tensor->layout));
    if (tensor->layout == LAYOUT_STRIDED) {
        export_list(doc->json, "strides", tensor_strides(model, tensor), tensor->rank);
        json_u64(doc->json, "offset", tensor->offset);
    }
    write_storage(doc, tensor);
    if (device.len > 0) {
        json_str(doc->json, "device", device);
    } else {
        json_null(doc->json, "device");
        json_text(doc->json, "device_why", document_unsaid(doc));
    }
    write_requires_grad(doc, tensor);
    if (tensor->class_id != NO_CLASS)
        json_str(doc->json, "class",
                 model_string(model, model->classes[tensor->class_id].name));
    export_flag(doc->json, "conj", tensor->flags & TENSOR_CONJ);
    export_flag(doc->json, "neg", tensor->flags & TENSOR_NEG);
    export_flag(doc->json, "derived", tensor->flags & TENSOR_DERIVED);
    if (tensor->extra != VALUE_ID_NONE)
        document_value(doc, "extra", tensor->extra);
    export_flag(doc->json, "attribute", model->flags[place] & PLACE_ATTRIBUTE);
    export_flag(doc->json, "not_saved", model->flags[place] & PLACE_BUFFER_TEMP);
    write_ties(doc, place);
    write_parts(doc, place);
    write_readable(doc, tensor);
    document_at_step(doc, place);
}

/* ---- modules, groups, values ---- */

static void write_class(struct document *doc, uint32_t place,
                        const struct object *object)
{
    struct str name = place_class(doc->model, place);
    bool module = doc->model->kind[place] == PLACE_MODULE;

    if (name.len > 0 && !(object && object->guessed)) {
        uint32_t bases = doc->model->classes[object->class_id].bases;

        json_str(doc->json, "class", name);
        if (bases != VALUE_ID_NONE)
            document_value(doc, "bases", bases);
        if (object->args != VALUE_ID_NONE)
            document_value(doc, "args", object->args);
        return;
    }
    if (module) {
        json_null(doc->json, "class");
        json_text(doc->json, "class_why", "a state_dict has names and shapes only");
    }
    if (name.len == 0)
        return;
    json_object(doc->json, "guess");
    json_str(doc->json, "class", name);
    if (object->args != VALUE_ID_NONE)
        document_value(doc, "args", object->args);
    json_object_end(doc->json);
}

static void write_source_place(struct document *doc, const struct object *object)
{
    const struct class_info *info;

    if (object->class_id == NO_CLASS)
        return;
    info = &doc->model->classes[object->class_id];
    if (info->file)
        json_str(doc->json, "source_file", model_string(doc->model, info->file));
    export_nonzero(doc->json, "source_line", info->line);
}

static void write_object(struct document *doc, uint32_t place,
                         const struct object *object)
{
    if (object->training >= 0 && doc->model->kind[place] == PLACE_MODULE)
        json_bool(doc->json, "training", object->training == 1);
    if (object->hooks != VALUE_ID_NONE)
        document_value(doc, "hooks", object->hooks);
    export_nonzero(doc->json, "version", object->version);
    if (doc->model->flags[place] & PLACE_AGAIN)
        document_path(doc, "same_as", object->place);
    write_source_place(doc, object);
}

void document_module(struct document *doc, uint32_t place)
{
    const struct object *object = place_object(doc->model, place);
    const struct place_counts *counts = &doc->session->places;
    unsigned flags = doc->model->flags[place];

    document_where(doc, place);
    write_class(doc, place, object);
    json_u64(doc->json, "params", counts_params(counts, place));
    json_u64(doc->json, "bytes", counts_bytes(counts, place));
    json_u64(doc->json, "tensors", counts_tensors(counts, place));
    if (object)
        write_object(doc, place, object);
    export_flag(doc->json, "wrapper", flags & PLACE_PREFIX);
    export_flag(doc->json, "state_dict", flags & PLACE_STATE_DICT);
    export_flag(doc->json, "optimizer", flags & PLACE_OPTIMIZER);
    export_flag(doc->json, "attribute", flags & PLACE_ATTRIBUTE);
    export_flag(doc->json, "empty", flags & PLACE_EMPTY);
    document_activity(doc, place);
    document_at_step(doc, place);
}

void document_plain(struct document *doc, uint32_t place)
{
    document_where(doc, place);
    document_value(doc, "value", doc->model->object[place]);
    export_flag(doc->json, "attribute", doc->model->flags[place] & PLACE_ATTRIBUTE);
    export_flag(doc->json, "empty", doc->model->flags[place] & PLACE_EMPTY);
}
