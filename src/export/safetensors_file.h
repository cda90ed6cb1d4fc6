/* safetensors_file.h - writes a list of tensors as a safetensors file: u64 N, N bytes of
 * JSON, the data.
 *     {"__metadata__": {"format": "pt"},
 *      "conv1.weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
 * Bytes are copied in windows; ggml's quantised blocks become float32. */
#ifndef EXPORT_SAFETENSORS_FILE_H
#define EXPORT_SAFETENSORS_FILE_H

#include "base/map.h"
#include "base/out.h"
#include "base/work.h"
#include "model/model.h"

struct safetensors_tensor {
    struct str key;
    uint32_t tensor; /* index in model->tensors */
    uint64_t bytes;
};

struct safetensors_note {
    struct str key, text;
};

struct safetensors_file {
    const struct model *model; /* borrowed */
    struct arena arena;        /* of the lists, for keys too */
    struct safetensors_tensor *entries;
    uint32_t n, room;
    struct safetensors_note *notes; /* members of __metadata__, after "format" */
    uint32_t n_notes, notes_room;
    struct name_map keys; /* of the entries; a caller may reserve more */
};

void safetensors_file_init(struct safetensors_file *file, const struct model *model);
void safetensors_file_release(struct safetensors_file *file);

/* Can the tensor be written unchanged? If not, *ret_why is the reason. */
bool safetensors_can_hold(const struct model *model, const struct tensor *tensor,
                          const char **ret_why);
/* The same if its type may change: ggml's quantised blocks become float32. */
bool safetensors_can_decode(const struct model *model, const struct tensor *tensor,
                            const char **ret_why);

/* 1: added, 0: the key is taken, -1: the arena is spent. Copies the key. */
int safetensors_file_add(struct safetensors_file *file, struct str key,
                         uint32_t tensor);
/* Copies both texts. -1: the arena is spent. */
int safetensors_file_note(struct safetensors_file *file, struct str key,
                          struct str text);

/* The bytes of all tensors. */
uint64_t safetensors_file_bytes(const struct safetensors_file *file);

/* Sorts entries by element size, widest first, so that all elements are aligned. */
int safetensors_file_write(struct out *out, struct safetensors_file *file,
                           struct work *work, struct err *err);

#endif
