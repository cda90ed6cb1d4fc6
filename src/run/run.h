/* run.h - what happened when a model was executed. Frozen once recorded.
 *
 * The tour of the room:
 *   run.h        calls, values, gradients, gaps; reading them
 *   trace.h      the door for recorders: python/ext now
 *   run_file.h   the .scope file (docs/run-file.md): a run and its model, in SQLite;
 *                behind it file_in.h, with THE TABLE of tables in file_tables.c
 *   kept.h       what a recording kept, as a tensor
 *   budget.h     how much of the user's time recording may take, and how it is kept
 *
 * A *call* is one execution of a module. A *value* is what a tensor held at one moment:
 * a tensor that several modules see unchanged is one value, one that is overwritten
 * becomes another. An *io* says that a value went into or came out of a call, and where
 * it stood among the arguments.
 *
 * A *pass* is a call without a parent: one execution of the whole model (or of a part
 * that was called by itself). A *step* is what lies between two steps of the optimizer:
 * it ends when an optimizer of the model returns from step(); with several, when each of
 * them did so at least once, so that the slowest counts. The passes of gradient
 * accumulation are passes of one step, and so are those of a closure. Where no optimizer
 * steps (evaluation, inference), every pass is a step. Both are counted from 0.
 *
 * Times are nanoseconds of one monotonic clock and do not
 * hold our own cost: it is measured and taken off. */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/intern.h"
#include "measure/histogram.h"
#include "measure/stats.h"
#include "model/model.h"

#define RUN_NONE UINT32_MAX

/* After so many calls of one module the rest are merged, unless more are asked for. */
#define RUN_KEEP_CALLS 64

enum run_value_flag {
    RUN_REQUIRES_GRAD = 1,
    RUN_LEAF = 2,
    RUN_PARAMETER = 4,   /* a parameter or buffer of the model */
    RUN_NEW_STORAGE = 8, /* its storage was first seen with this value */
    RUN_SAMPLED = 16,    /* its statistics are of 1 of 8 blocks */
    RUN_INFERENCE = 32,  /* made in inference mode */
};

/* One value of a tensor. */
struct run_value {
    uint8_t dtype, rank, layout; /* enum dtype; enum layout */
    uint8_t flags;               /* enum run_value_flag */
    uint16_t device;             /* index in run->devices */
    uint32_t shape, strides;     /* where they begin in run->dims; strides may be
                                    RUN_NONE: not known (sparse, nested) */
    uint32_t class_name;         /* string id of a subclass, or 0: a plain tensor */
    uint32_t storage;            /* a number for its storage within this run */
    uint32_t stats;              /* index in run->stats, or RUN_NONE */
    uint32_t why;                /* string id: why there are none: "no data (meta)" */
    uint32_t kept;               /* index in run->kept, or RUN_NONE */
    uint64_t numel, bytes;
};

enum run_io_kind {
    RUN_IN,       /* an argument, by position or by keyword: `path` tells */
    RUN_OUT,      /* a result */
    RUN_GRAD_OUT, /* the gradient that reached a result */
    RUN_GRAD_IN,  /* the gradient that left through an argument, via this call alone */
};

enum run_io_flag {
    RUN_IO_SAME = 1,     /* the same object as an earlier io of this call */
    RUN_IO_REPLACED = 2, /* an argument that the call overwrote in place; the value is
                            the one before, if it was seen */
    RUN_IO_SUMMED = 4,   /* a gradient that several equal arguments share (q = k = v) */
};

struct run_io {
    uint32_t call;
    uint8_t kind, flags; /* enum run_io_kind, enum run_io_flag */
    uint32_t path;       /* string id: what forward calls the argument, and where in it:
                            "x", "past[3][0]"; "[0]" where names are not known; of a
                            bare result "", of others "[1].logits" */
    uint32_t value;      /* or RUN_NONE: an argument that is None or no tensor */
};

enum run_call_flag {
    RUN_RAISED = 1,     /* forward raised; or it never came back (RUN_ABORTED) */
    RUN_ABORTED = 2,    /* no end was seen: an interrupt, an early stop */
    RUN_RECOMPUTED = 4, /* by activation checkpointing, during backward: not counted
                           among the calls of its module, nor in forward time */
    RUN_TRAINING = 8,   /* module.training */
    RUN_GRAD_MODE = 16, /* gradients were recorded by torch */
    RUN_COMPILED = 32,  /* compiled code ran: nothing inside it was seen */
    RUN_FUSED = 64,     /* a fused kernel ran: its modules were not called */
    RUN_SCRIPTED = 128, /* TorchScript: nothing inside it was seen */
    RUN_AUTOCAST = 256,
    RUN_DIRECT = 512, /* forward() was called without __call__; found afterwards */
    RUN_BACKWARD_GAP = 1024, /* the time of a backward is not known: its nodes did not
                                run side by side, are too many or did not all run */
    RUN_LIGHT = 2048, /* the newest of the merged calls of its object: what it took is
                         counted in run_merged too */
    RUN_DEVICE_BYTES = 4096, /* device_bytes is known */
};

struct run_call {
    uint32_t object; /* index in model->objects */
    uint32_t place;  /* the place it was called at, as far as the calls around it tell;
                        else the object's first */
    uint32_t parent; /* the call around it, or RUN_NONE */
    uint32_t number; /* call index of its object, from 0; recomputations have their own
                        numbers */
    uint32_t step;
    uint32_t thread;     /* 0: the first that was seen */
    uint32_t line;       /* string id of "net.py:12", which called it; or 0 */
    uint32_t error;      /* string id of what was raised, or 0 */
    uint32_t ios, n_ios; /* in run->ios */
    uint16_t flags;
    uint64_t start_ns, end_ns; /* by the clock; our own cost is inside */
    uint64_t own_ns;           /* of ours between them: inclusive = end - start - own */
    uint64_t children_ns;      /* inclusive time of the calls directly inside */
    uint64_t backward_ns;      /* 0: none, or not known */
    uint64_t device_ns;        /* inclusive, by the clock of a device; 0: not known */
    int64_t device_bytes;      /* allocated there after it, less those before */
    uint64_t out_bytes;        /* of its results */
    uint64_t new_bytes;        /* of storages first seen among its results */
};

/* The calls of one object at one of its places, that of the newest, beyond those that
 * are kept, together; its recomputations are merged apart from them. In the order of
 * objects and of the newest. */
struct run_merged {
    uint32_t object;
    uint32_t calls;
    uint64_t inclusive_ns; /* of all but those inside another call of the same place */
    uint64_t exclusive_ns; /* of all */
    uint64_t least_ns, most_ns;      /* inclusive */
    uint64_t backward_ns, device_ns; /* of those for which they are known */
    uint64_t out_bytes, new_bytes;   /* of all */
    uint32_t ios, n_ios;             /* in run->merged_ios */
    uint32_t newest; /* the newest of them, which is kept in full; or RUN_NONE */
};
struct run_merged_io {
    uint8_t kind;
    uint32_t path;             /* as in run_io */
    uint32_t stats;            /* of all, merged; or RUN_NONE */
    uint32_t shapes, n_shapes; /* distinct ones, at most 16: (rank, sizes...) in dims */
};

/* A parameter or its gradient at the end of a backward or before an optimizer's
 * step(). */
struct run_param {
    uint32_t tensor; /* index in model->tensors */
    uint32_t step;
    bool gradient;
    uint32_t value;
};

/* What could not be seen, said. */
enum run_gap_kind {
    RUN_GAP_NOT_CALLED, /* the module was never called */
    RUN_GAP_FUSED,      /* ... because a fused kernel did its work */
    RUN_GAP_COMPILED,   /* ... because it stands inside compiled code */
    RUN_GAP_SCRIPTED,
    RUN_GAP_DIRECT,    /* its forward() was called directly */
    RUN_GAP_CONTAINER, /* it has no forward of its own (ModuleList): nothing missing */
    RUN_GAP_GRADIENT,  /* gradients of a call could not be attached */
    RUN_GAP_KEYWORDS,  /* this torch does not show keyword arguments */
    RUN_GAP_LIMIT,     /* memory for kept values or records was spent */
    RUN_GAP_ERROR,     /* a hook of ours failed and was taken off */
    RUN_GAP_OUTSIDE,   /* it called a module that is no part of the model */
    RUN_GAP_COUNT
};
struct run_gap {
    enum run_gap_kind kind;
    uint32_t object; /* or NO_OBJECT: the run as a whole */
    uint32_t text;   /* string id: one sentence */
};

/* An activation that was asked for. Its elements are dense, in C order, native. */
struct run_kept {
    uint32_t value;
    uint64_t bytes;
    const void *at; /* in memory, or NULL: in the file */
};

struct run {
    struct arena arena;
    struct arena kept_arena; /* of the bytes of kept values */
    struct intern strings;
    struct values plain;       /* of facts */
    const struct model *model; /* of which it is a run; owned */
    const char *name;          /* of the model, as whoever recorded it called it */

    struct run_call *calls; /* in the order in which they began */
    uint32_t n_calls;
    struct run_io *ios;
    uint32_t n_ios;
    struct run_value *values;
    uint32_t n_values;
    struct stats *stats;
    uint32_t n_stats;
    struct run_merged *merged;
    uint32_t n_merged;
    struct run_merged_io *merged_ios;
    uint32_t n_merged_ios;
    struct run_param *params;
    uint32_t n_params;
    struct run_gap *gaps;
    uint32_t n_gaps;
    struct run_kept *kept;
    uint32_t n_kept;
    int64_t *dims;
    uint32_t n_dims;
    uint32_t *devices; /* string ids */
    uint32_t n_devices;
    /* Strings and values of the run: torch, python, threads, mode, when, ... */
    struct model_fact *facts;
    uint32_t n_facts;

    uint32_t passes;   /* merged ones too, without recomputations; 0: see the calls */
    uint64_t wall_ns;  /* from the beginning of the recording to its end */
    uint64_t own_ns;   /* of ours in it */
    uint64_t hooks_ns; /* of torch's hooked path, estimated */

    bool other_sections; /* private: the model's last finding names sections of the file
                            that it was read from: it is not written again */
    uint32_t *by_object, *next_call; /* private: the index of calls */
    struct run_source *source;       /* private: where kept values are, if in a file */
};

void run_free(struct run *run); /* with its model; NULL is allowed */

struct str run_string(const struct run *run, uint32_t id);
uint64_t run_inclusive(const struct run_call *call);
uint64_t run_exclusive(const struct run_call *call);
/* What the calls without a parent took, recomputations left out; merged ones too, by
 * this fact. */
#define RUN_FORWARD_FACT "forward_ns"
uint64_t run_forward_ns(const struct run *run);
/* What all passes took: run_forward_ns(), and backward as far as it is known.
 * This is what our own cost is held against: whatever else went on between the
 * beginning of a recording and its end is neither ours nor the model's. */
uint64_t run_passes_ns(const struct run *run);
/* Our share of the user's time, torch's hooked path included: of what the passes took;
 * under a budget what that sums up, which knows of the passes left out as well. NaN if
 * nothing was called. */
double run_cost_share(const struct run *run);
/* A fact of the run, a value of run->plain; VALUE_ID_NONE if it does not tell. */
uint32_t run_fact_id(const struct run *run, const char *key);
/* The calls of an object in the order in which they began, without recomputations: the
 * first, and the next after `call`; or RUN_NONE. */
uint32_t run_first_call(const struct run *run, uint32_t object);
uint32_t run_next_call(const struct run *run, uint32_t call);
uint32_t run_count_calls(const struct run *run, uint32_t object); /* merged ones too */
/* Those that were made at a place, merged ones too: what its row says. */
uint32_t run_count_calls_at(const struct run *run, uint32_t place);
/* Which of two calls of a module is the newer one, the one that stands for the module?
 * The one that ended last; so of calls inside each other the outermost. A recomputation
 * is never newer than a call. */
bool run_is_newer(const struct run *run, uint32_t a, uint32_t b);
/* The calls made at a place, the newest last (run_is_newer); if there are none, those
 * of its module by its other names. `everywhere`: all calls of its module. In `arena`;
 * NULL without memory. */
uint32_t *run_calls_at(const struct run *run, uint32_t place, bool everywhere,
                       struct arena *arena, uint32_t *ret_n);
/* The merged calls of which this one is the newest, or NULL. */
const struct run_merged *run_merged_with(const struct run *run, uint32_t newest);

const char *run_gap_name(enum run_gap_kind kind); /* "not called", "fused", ... */
/* Could something not be seen? RUN_GAP_CONTAINER only says what a module is. */
bool run_is_gap(const struct run_gap *gap);
const char *run_io_name(enum run_io_kind kind); /* "in", "out", "grad_out", ... */

#endif
