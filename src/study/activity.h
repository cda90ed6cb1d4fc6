/* activity.h - what each place of a model did in a run: its calls put together.
 *
 * A module that stands at several places has its calls where they were made; its merged
 * calls, of which that is not known one by one, stand where the newest of them was.
 * Times are sums over all calls, merged ones too; a module that is called inside itself
 * counts the outer call only in total_ns. Recomputations are no calls: their time is
 * part of a backward. */
#ifndef STUDY_ACTIVITY_H
#define STUDY_ACTIVITY_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "run/run.h"

enum activity_flag {
    ACTIVITY_IN_VARIES = 1,  /* its first input had another shape in other calls than
                                in the newest */
    ACTIVITY_OUT_VARIES = 2, /* likewise its first result */
    ACTIVITY_RAISED = 4,     /* its newest call raised, and no call inside it did */
    ACTIVITY_PRODUCER = 8,   /* a call has results that are not finite although all that
                                went in (inputs, parameters) was, as far as that is
                                known, and this is not so for any call inside it */
    ACTIVITY_BELOW = 16,     /* a place below it has RAISED or PRODUCER */
    ACTIVITY_NOT_REACHED = 32, /* a module that was not called, and the run ended by an
                                  exception */
    ACTIVITY_CONTAINER = 64,   /* it has no forward of its own (ModuleList) */
};

struct activity {
    uint32_t calls;
    uint32_t recomputed;        /* how often calls were repeated in a backward */
    uint32_t newest;            /* call by run_is_newer(), or RUN_NONE */
    uint64_t total_ns, self_ns; /* inclusive and exclusive, of all calls */
    uint64_t backward_ns;       /* of the calls of which it is known; 0: of none */
    uint64_t device_ns;         /* likewise, by the clock of a device */
    uint64_t out_bytes;         /* of the newest call */
    uint64_t nan, inf;          /* in the results of all calls */
    uint32_t gap;               /* an index in run->gaps, or RUN_NONE: of its object; or
                                   of what it stands in, if nothing inside was seen */
    unsigned flags;             /* enum activity_flag */
};

struct activities {
    struct activity *at; /* by place */
    uint32_t n;
    uint64_t total_ns;       /* of calls without a parent */
    uint64_t backward_ns;    /* of the same */
    uint64_t device_ns;      /* of the same */
    uint32_t passes;         /* how many of them, without recomputations */
    uint32_t first_producer; /* place, or NO_PLACE: in order of time */
    uint32_t producing_call; /* the call there, or RUN_NONE */
    uint32_t spoilt_call;    /* the first call whose results are not finite, whoever
                                made them so; or RUN_NONE */
    uint32_t raised;         /* place, or NO_PLACE: the latest */
    uint32_t raising_call;   /* the call there, or RUN_NONE */
};

/* Linear in calls and places. The run is not changed. */
int activity_of(struct activities *ret_activities, const struct run *run,
                struct arena *arena, struct err *err);

/* The first tensor among the inputs or results of a call: what a column shows. An index
 * in run->values, or RUN_NONE if there is none. `kind` is RUN_IN or RUN_OUT. */
uint32_t activity_value(const struct run *run, uint32_t call, enum run_io_kind kind);

#endif
