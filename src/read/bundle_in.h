/* bundle_in.h - a zip of model files.
 *
 *   bundle.c        the reader: opens every member that is a model, lists the others
 *   bundle_known.c  members with a known meaning: the `data` of Stable-Baselines, the
 *                   manifest of a TorchServe archive */
#ifndef READ_BUNDLE_IN_H
#define READ_BUNDLE_IN_H

#include "read/file/input_in.h"

struct bundle {
    struct input *input;
    struct build *build;
    uint32_t n_models, n_deflated, n_listed;
    bool full; /* a limit was reached and reported as a finding */
};

/* Does this member have a known meaning? */
bool bundle_is_known(const struct bundle *bundle, uint32_t index);

/* Read it into the node; NO_PLACE counts as out of memory. */
int bundle_add_known(struct bundle *bundle, uint32_t index, uint32_t node,
                     struct err *err);

#endif
