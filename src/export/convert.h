/* convert.h - converts a model file to safetensors without loss: names as in its
 * state_dict, dtypes, shapes, every bit, ties. Refuses what cannot be kept, and reads
 * the written file back to compare it. (export_safetensors() instead keeps what it
 * can.) A tied tensor is stored once, under its first name; the others are members of
 * __metadata__, as safetensors.torch.save_model() writes them: {"lm_head.weight":
 * "wte.weight"}. */
#ifndef EXPORT_CONVERT_H
#define EXPORT_CONVERT_H

#include "export/safetensors_file.h"
#include "session/session.h"

struct conversion {
    struct safetensors_file file; /* its notes are the ties */
    uint32_t base;    /* the converted part: a state_dict, a module; 0: all */
    struct str *left; /* names of parts that were not converted: "optimizer (60
                         tensors)" */
    uint32_t n_left, left_room;
};

/* Converts the part `at` of the model (a full name), or NULL: its only state_dict or
 * module, else all of it. Writes `path`, whole or not at all. Always call
 * conversion_release() afterwards. ERR_UNSUPPORTED: something cannot be kept;
 * ERR_USAGE: `at` is wrong or missing. */
int convert_file(struct conversion *conversion, struct session *session, const char *at,
                 const char *path, struct work *work, struct err *err);
void conversion_release(struct conversion *conversion);

#endif
