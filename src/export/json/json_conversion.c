/* What a conversion to safetensors wrote. */
#include "base/base.h"
#include "export/convert.h"
#include "export/export.h"

void export_conversion_json(struct json *json, const struct conversion *conversion,
                            const char *to)
{
    const struct safetensors_file *file = &conversion->file;
    struct buf at = BUF_INIT;

    place_path(file->model, conversion->base, &at);
    json_object(json, NULL);
    json_u64(json, "torchoscope", 1);
    json_text(json, "kind", "conversion");
    json_text(json, "path", file->model->path);
    json_text(json, "to", to);
    json_str(json, "at", buf_span(&at));
    json_u64(json, "tensors", file->n);
    json_u64(json, "bytes", safetensors_file_bytes(file));
    json_array(json, "ties");
    for (uint32_t i = 0; i < file->n_notes; i++) {
        json_object(json, NULL);
        json_str(json, "name", file->notes[i].key);
        json_str(json, "stored", file->notes[i].text);
        json_object_end(json);
    }
    json_array_end(json);
    json_array(json, "left_out");
    for (uint32_t i = 0; i < conversion->n_left; i++)
        json_str(json, NULL, conversion->left[i]);
    json_array_end(json);
    json_object_end(json);
    buf_release(&at);
}
