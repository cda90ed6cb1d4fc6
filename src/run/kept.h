/* kept.h - a value that a recording kept, dressed as a tensor of a model of its own, so
 * that everything that reads tensors reads it too. */
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

/* See value number `value` of the run, which must be kept. The view may not be moved
 * afterwards. */
int kept_view_init(struct kept_view *view, const struct run *run, uint32_t value,
                   struct err *err);

/* The first result of a call that was kept, an index in run->values; or RUN_NONE. */
uint32_t kept_result(const struct run *run, uint32_t call);

#endif
