/* kept.h - a kept value as the tensor of a small model, so that all code that reads
 * tensors can read it. */
#ifndef RUN_KEPT_H
#define RUN_KEPT_H

#include "base/err.h"
#include "run/run.h"

#define KEPT_RANK 64

struct kept_view {
    struct source source;
    struct model model; /* of one tensor */
    struct tensor tensor;
    struct storage storage;
    int64_t dims[2 * KEPT_RANK];
    const struct run *run; /* borrowed */
    uint32_t kept;
};

/* View value `value` of the run, which must be kept. The view must not be moved. */
int kept_view_init(struct kept_view *view, const struct run *run, uint32_t value,
                   struct err *err);

/* The first kept result of a call, an index in run->values; or RUN_NONE. */
uint32_t kept_result(const struct run *run, uint32_t call);

#endif
