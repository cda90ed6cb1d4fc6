/* timeline.h - one pass of a recording as nested boxes in time: the pass itself, the
 * calls and operations of its forward, and everything until the next pass begins: the
 * loss, backward and the optimizer.
 *
 * Backward has no calls: its operations belong to the modules whose forward caused
 * them, and consecutive ones inside a module form one box.
 *
 * The recording overhead is removed: calls and operations have the same times as in
 * other views (run_inclusive()), and the time between them shrinks accordingly. Outside
 * of calls only the total overhead is known, so that time shrinks evenly. */
#ifndef STUDY_TIMELINE_H
#define STUDY_TIMELINE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/work.h"
#include "run/run.h"
#include "study/op_use.h"

enum timeline_kind {
    TIMELINE_PHASE,    /* loss, backward, optimizer: consecutive operations of it */
    TIMELINE_CALL,     /* index: a call */
    TIMELINE_BACKWARD, /* a module in backward */
    TIMELINE_OP,       /* index: an operation */
};

enum timeline_phase {
    TIMELINE_FORWARD, /* the first four are those of operations */
    TIMELINE_BACK,
    TIMELINE_RECOMPUTE,
    TIMELINE_OPTIMIZER,
    TIMELINE_LOSS,    /* forward, outside the model, after the pass */
    TIMELINE_OUTSIDE, /* forward, outside the model, before it */
    TIMELINE_PHASES
};
const char *timeline_kind_name(enum timeline_kind kind); /* "phase", "call", ... */
const char *timeline_phase_name(enum timeline_phase phase);

/* Parents come before the boxes inside them, which are in the order of time. */
struct timeline_box {
    uint8_t kind, phase;
    uint32_t parent; /* box, or RUN_NONE */
    uint32_t index;  /* call or operation; else RUN_NONE */
    uint32_t place;  /* or NO_PLACE */
    uint32_t thread;
    uint64_t start, ns; /* start: from the beginning of the timeline */
    uint64_t own;       /* without inner boxes other than operations */
    /* Private: by the clock of the recording. */
    uint64_t from, to;
};

struct timeline_sum {
    uint64_t ns;       /* of its boxes that have no parent */
    uint32_t boxes;    /* number of those boxes */
    struct op_sum ops; /* of its operations */
};

struct timeline {
    struct timeline_box *boxes;
    uint32_t n, room;
    uint64_t ns;               /* the end of the last box */
    uint32_t pass, call;       /* number of the pass, and its call */
    uint32_t passes;           /* kept passes of the recording */
    uint32_t first_op, end_op; /* the range of operations in the timeline */
    uint64_t backward_ns;      /* of its calls without a parent; 0: unknown */
    struct timeline_sum sums[TIMELINE_PHASES];
};

#define TIMELINE_NEWEST UINT32_MAX /* the newest complete pass */

/* Allocates in the arena. ERR_NOT_FOUND: no such pass; ERR_UNSUPPORTED: nothing ran. */
int timeline_of(struct timeline *ret_timeline, const struct run *run, uint32_t pass,
                struct arena *arena, struct work *work, struct err *err);

/* Exclusive times of a place in a timeline. */
struct timeline_place {
    uint32_t place;             /* NO_PLACE: operations outside the model, of `phase` */
    uint8_t phase;              /* of a place: TIMELINE_FORWARD */
    uint64_t forward, backward; /* ns; backward with recomputation */
    bool has_backward;          /* false: unknown */
    struct op_sum ops;          /* forward, its own */
};
struct timeline_places {
    struct timeline_place *at; /* the largest sum first */
    uint32_t n;
};
/* Allocates in the arena. */
int timeline_places_of(struct timeline_places *ret_places,
                       const struct timeline *timeline, const struct run *run,
                       struct arena *arena, struct err *err);

#endif
