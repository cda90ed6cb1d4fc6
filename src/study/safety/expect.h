/* expect.h - the names, shapes and dtypes that a model should have, from a document
 * that `torchoscope tree --json` wrote. */
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

/* Read the document `text`, called `name` in sentences; both must outlive what is read,
 * which lives in the arena. Fails on what is not such a document. */
int expect_read(struct str text, const char *name, struct arena *arena,
                struct expectation *ret_expectation, struct err *err);

/* Add a finding for each tensor that is missing, was not expected, or differs. */
int expect_compare(const struct expectation *expectation, const struct model *model,
                   struct check *check, struct arena *arena, struct err *err);

#endif
