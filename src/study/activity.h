/* activity.h - sums over the calls of each place of a model in a run.
 *
 * The calls of a shared module count at the place where they were made; its merged calls
 * count at the place of the newest one. Times are sums over all calls, including merged
 * ones; if a module calls itself, only the outer call counts in total_ns.
 * Recomputations are not calls: their time is part of backward. */
#ifndef STUDY_ACTIVITY_H
#define STUDY_ACTIVITY_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "run/run.h"

enum activity_flag {
    ACTIVITY_IN_VARIES = 1,    /* the shape of the first input varies between calls */
    ACTIVITY_OUT_VARIES = 2,   /* the shape of the first result varies */
    ACTIVITY_RAISED = 4,       /* its newest call raised, and no call inside it did */
    ACTIVITY_PRODUCER = 8,     /* a call turned finite inputs and parameters (as far as
                                known) into non-finite results, and no call inside it
                                did */
    ACTIVITY_BELOW = 16,       /* a place below has RAISED or PRODUCER */
    ACTIVITY_NOT_REACHED = 32, /* not called, in a run that ended with an exception */
    ACTIVITY_CONTAINER = 64,   /* has no forward (ModuleList) */
};

struct activity {
    uint32_t calls;
    uint32_t recomputed;        /* calls repeated during backward */
    uint32_t newest;            /* call by run_is_newer(), or RUN_NONE */
    uint64_t total_ns, self_ns; /* inclusive and exclusive, of all calls */
    uint64_t backward_ns;       /* of the calls for which it is known; 0: none */
    uint64_t device_ns;         /* likewise, measured by the device */
    uint64_t out_bytes;         /* of the newest call */
    uint64_t nan, inf;          /* in the results of all calls */
    uint32_t gap;   /* index in run->gaps, or RUN_NONE: the gap of its object, or of a
                       parent whose inside was not recorded */
    unsigned flags; /* enum activity_flag */
};

struct activities {
    struct activity *at; /* by place */
    uint32_t n;
    uint64_t total_ns;       /* of calls without a parent */
    uint64_t backward_ns;    /* of calls without a parent */
    uint64_t device_ns;      /* of calls without a parent */
    uint32_t passes;         /* number of passes, without recomputations */
    uint32_t first_producer; /* place of the earliest ACTIVITY_PRODUCER, or NO_PLACE */
    uint32_t producing_call; /* its call, or RUN_NONE */
    uint32_t spoilt_call;  /* the earliest call with non-finite results, or RUN_NONE */
    uint32_t raised;       /* place of the latest ACTIVITY_RAISED, or NO_PLACE */
    uint32_t raising_call; /* its call, or RUN_NONE */
};

/* Linear in calls and places. The run is not changed. */
int activity_of(struct activities *ret_activities, const struct run *run,
                struct arena *arena, struct err *err);

/* The first tensor among the inputs (RUN_IN) or results (RUN_OUT) of a call: an index in
 * run->values, or RUN_NONE. */
uint32_t activity_value(const struct run *run, uint32_t call, enum run_io_kind kind);

#endif
