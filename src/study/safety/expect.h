/* expect.h - the names, shapes and dtypes that a model should have, from the output of
 * `torchoscope tree --json`. */
#ifndef STUDY_SAFETY_EXPECT_H
#define STUDY_SAFETY_EXPECT_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "study/safety/check.h"

struct expected_tensor {
    struct str name, dtype;
    const int64_t *shape;
    uint32_t rank;
};

struct expectation {
    struct expected_tensor *tensors; /* in the order of the document */
    uint32_t n, room;
};

/* Parse `text`; errors call it `name`. Both must outlive the expectation, which is in the
 * arena. */
int expect_read(struct str text, const char *name, struct arena *arena,
                struct expectation *ret_expectation, struct err *err);

/* Add a finding for each tensor that is missing, unexpected or different. */
int expect_compare(const struct expectation *expectation, const struct model *model,
                   struct check *check, struct arena *arena, struct err *err);

#endif
