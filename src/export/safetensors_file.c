#include "export/safetensors_file.h"

#include <stdlib.h>

#include "base/base.h"
#include "export/export_in.h"
#include "measure/elements.h"

void safetensors_file_init(struct safetensors_file *file, const struct model *model)
{
    *file = (struct safetensors_file){.model = model};
    arena_init(&file->arena, 4 * GIB);
    name_map_init(&file->keys, &file->arena);
}

void safetensors_file_release(struct safetensors_file *file)
{
    arena_release(&file->arena);
}

bool safetensors_can_hold(const struct model *model, const struct tensor *tensor,
                          const char **ret_why)
{
    if (!tensor_readable(model, tensor, ret_why))
        return false;
    if (tensor->flags & TENSOR_DERIVED) {
        *ret_why = "its values are computed from the parts below it";
        return false;
    }
    if (dtype_safetensors(tensor->dtype))
        return true;
    *ret_why = dtype_name(tensor->dtype);
    return false;
}

bool safetensors_can_decode(const struct model *model, const struct tensor *tensor,
                            const char **ret_why)
{
    if (dtype_info(tensor->dtype)->scaled)
        return tensor_readable(model, tensor, ret_why);
    return safetensors_can_hold(model, tensor, ret_why);
}

/* The type that is written. */
static enum dtype written_dtype(const struct safetensors_file *file, uint32_t tensor)
{
    return elements_dtype((enum dtype)file->model->tensors[tensor].dtype);
}

int safetensors_file_add(struct safetensors_file *file, struct str key, uint32_t tensor)
{
    uint64_t bytes = 0;
    struct str kept;
    uint32_t index;
    int added;

    if (str_is(key, "__metadata__") || name_map_find(&file->keys, key, &index))
        return 0;
    kept = arena_str(&file->arena, key);
    added = kept.at ? name_map_add(&file->keys, kept, &index) : -1;
    if (added < 1 || arena_room(&file->arena, &file->entries, file->n, &file->room,
                                sizeof *file->entries) < 0)
        return -1;
    dtype_size(written_dtype(file, tensor), file->model->tensors[tensor].numel, &bytes);
    file->entries[file->n++] = (struct safetensors_tensor){kept, tensor, bytes};
    return 1;
}

int safetensors_file_note(struct safetensors_file *file, struct str key,
                          struct str text)
{
    struct safetensors_note note = {arena_str(&file->arena, key),
                                    arena_str(&file->arena, text)};

    if (!note.key.at || !note.text.at ||
        arena_room(&file->arena, &file->notes, file->n_notes, &file->notes_room,
                   sizeof *file->notes) < 0)
        return -1;
    file->notes[file->n_notes++] = note;
    return 0;
}

uint64_t safetensors_file_bytes(const struct safetensors_file *file)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < file->n; i++)
        bytes += file->entries[i].bytes;
    return bytes;
}

/* ---- the order of the data ---- */

static unsigned width_of(const struct safetensors_file *file,
                         const struct safetensors_tensor *entry)
{
    const struct dtype_info *info = dtype_info(written_dtype(file, entry->tensor));

    return info->block == 1 ? info->bytes : 1;
}

/* Wide elements first, else in the order in which they were added. */
static int sort_entries(struct safetensors_file *file)
{
    struct safetensors_tensor *sorted =
        arena_array(&file->arena, file->n, sizeof *sorted);
    uint32_t n = 0;

    if (!sorted && file->n > 0)
        return -1;
    for (unsigned wide = 16; wide > 0; wide /= 2)
        for (uint32_t i = 0; i < file->n; i++)
            if (width_of(file, &file->entries[i]) == wide)
                sorted[n++] = file->entries[i];
    file->entries = sorted;
    return 0;
}

/* ---- writing ---- */

static void write_entry(struct json *json, const struct safetensors_file *file,
                        const struct safetensors_tensor *entry, uint64_t at)
{
    const struct tensor *tensor = &file->model->tensors[entry->tensor];

    json_key(json, entry->key);
    json_object(json, NULL);
    json_text(json, "dtype", dtype_safetensors(written_dtype(file, entry->tensor)));
    export_list(json, "shape", tensor_shape(file->model, tensor), tensor->rank);
    json_array(json, "data_offsets");
    json_u64(json, NULL, at);
    json_u64(json, NULL, at + entry->bytes);
    json_array_end(json);
    json_object_end(json);
}

static void write_header(struct buf *to, const struct safetensors_file *file)
{
    struct json json;
    struct out out;
    uint64_t at = 0;

    out_init_buf(&out, to);
    json_init_text(&json, &out);
    json_object(&json, NULL);
    json_object(&json, "__metadata__");
    json_text(&json, "format", "pt");
    for (uint32_t i = 0; i < file->n_notes; i++) {
        json_key(&json, file->notes[i].key);
        json_str(&json, NULL, file->notes[i].text);
    }
    json_object_end(&json);
    for (uint32_t i = 0; i < file->n; i++) {
        write_entry(&json, file, &file->entries[i], at);
        at += file->entries[i].bytes;
    }
    json_object_end(&json);
    out_release(&out);
    while (to->len > 0 && to->at[to->len - 1] == '\n')
        to->len--;
    while (to->len % 8 != 0)
        buf_char(to, ' ');
}

static int write_data(struct out *out, const struct model *model,
                      const struct safetensors_tensor *entry, struct work *work,
                      struct err *err)
{
    const struct tensor *tensor = &model->tensors[entry->tensor];
    struct elements *elements;
    const void *at;
    size_t n;
    uint64_t done = 0;
    int more;

    if (tensor->numel == 0)
        return 0;
    elements = elements_open(model, tensor, 0, UINT64_MAX, false, err);
    if (!elements)
        return -1;
    while ((more = elements_next(elements, work, &at, &n, err)) == 1 && !out->bad) {
        n = elements_size(elements_dtype(tensor->dtype), n);
        out_add(out, at, n);
        done += n;
    }
    elements_close(elements);
    if (more == 0 && done != entry->bytes)
        return err_set(err, ERR_CHANGED,
                       "%s: a tensor of %llu bytes now has %llu; the file changed",
                       model->path, (unsigned long long)entry->bytes,
                       (unsigned long long)done);
    return more < 0 ? -1 : 0;
}

int safetensors_file_write(struct out *out, struct safetensors_file *file,
                           struct work *work, struct err *err)
{
    struct buf header = BUF_INIT;
    uint8_t size[8];
    int status = 0;

    if (sort_entries(file) < 0)
        return arena_err(&file->arena, "the list of tensors", err);
    if (work)
        work->total += safetensors_file_bytes(file);
    write_header(&header, file);
    for (int i = 0; i < 8; i++)
        size[i] = (uint8_t)((uint64_t)header.len >> (8 * i));
    if (header.bad)
        status = err_set(err, ERR_LIMIT, "%s: out of memory for the names",
                         file->model->path);
    out_add(out, size, sizeof size);
    out_str(out, buf_span(&header));
    buf_release(&header);
    for (uint32_t i = 0; i < file->n && status == 0 && !out->bad; i++)
        status = write_data(out, file->model, &file->entries[i], work, err);
    return status;
}
