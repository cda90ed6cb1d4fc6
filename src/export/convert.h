/* convert.h - a model file as safetensors, with nothing lost: names as in its
 * state_dict, dtypes, shapes, every bit, ties. What cannot be kept is refused, and the
 * written file is read again and compared. (export_safetensors() rescues what it can
 * instead.)  A tied tensor is stored once, under its first name; the others are members
 * of __metadata__, as safetensors.torch.save_model() writes them: {"lm_head.weight":
 * "wte.weight"}. */
#ifndef EXPORT_CONVERT_H
#define EXPORT_CONVERT_H

#include "export/safetensors_file.h"
#include "session/session.h"

struct conversion {
    struct safetensors_file file; /* its notes are the ties */
    uint32_t base;    /* what was converted: a state_dict, a module; 0: all */
    struct str *left; /* names of what the file also has: "optimizer (60 tensors)" */
    uint32_t n_left, left_room;
};

/* Converts the part `at` of the model (a full name), or NULL: its only state_dict or
 * module, else all of it. Writes `path`, whole or not at all. After it, always
 * conversion_release(). ERR_UNSUPPORTED: something cannot be kept; ERR_USAGE: `at` is
 * wrong or missing. */
int convert_file(struct conversion *conversion, struct session *session, const char *at,
                 const char *path, struct work *work, struct err *err);
void conversion_release(struct conversion *conversion);

#endif
