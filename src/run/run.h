/* run.h - what happened when a model was executed. Frozen once recorded: any thread may
 * read it without locks.
 *
 * The tour of the room:
 *   run.h        calls, values, gradients, gaps; reading them
 *   ops.h        operations, their values and storages
 *   op_table.h   THE TABLE of operations: families (op_families.c), how to count FLOPs
 *                (op_formulas.c)
 *   run_times.h  copies the times of one run to another
 *   trace.h      recording a run: used by python/ext
 *   trace_ops.h  recording its operations
 *   run_file.h   the .scope file (docs/run-file.md): a run and its model, in SQLite;
 *                internals in file_in.h, THE TABLE of tables in file_tables.c
 *   kept.h       a kept activation as a tensor
 *   budget.h     keeps the cost of recording below a share of the user's time
 *
 * A *call* is one execution of a module. A *value* is the content of a tensor at one
 * moment: a tensor that passes through several modules unchanged is one value;
 * overwriting it makes a new one. An *io* links a value to a call, as an argument or a
 * result, with its position.
 *
 * A *pass* is a call without a parent: one execution of the whole model (or of a part
 * called by itself). A *step* ends when an optimizer of the model returns from step();
 * with several optimizers, when each of them has done so at least once. All passes of
 * gradient accumulation or of a closure belong to one step. If no optimizer steps
 * (evaluation, inference), every pass is a step. Both are counted from 0.
 *
 * Times are nanoseconds of one monotonic clock. The cost of recording is measured and
 * subtracted from them. */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/intern.h"
#include "measure/histogram.h"
#include "measure/stats.h"
#include "measure/units.h"
#include "model/model.h"
#include "run/ops.h"

#define RUN_NONE UINT32_MAX

/* Calls kept per module by default; later calls are merged. */
#define RUN_KEEP_CALLS 64

enum run_value_flag {
    RUN_REQUIRES_GRAD = 1,
    RUN_LEAF = 2,
    RUN_PARAMETER = 4,   /* a parameter or buffer of the model */
    RUN_NEW_STORAGE = 8, /* first value seen in its storage */
    RUN_SAMPLED = 16,    /* its statistics cover 1 of 8 blocks */
    RUN_INFERENCE = 32,  /* made in inference mode */
};

/* One value of a tensor. */
struct run_value {
    uint8_t dtype, rank, layout; /* enum dtype; enum layout */
    uint8_t flags;               /* enum run_value_flag */
    uint16_t device;             /* index in run->devices */
    uint32_t shape, strides;     /* their first index in run->dims; strides may be
                                    RUN_NONE: unknown (sparse, nested) */
    uint32_t class_name;         /* string id of a subclass, or 0: a plain tensor */
    uint32_t storage;            /* number of its storage within this run */
    uint32_t stats;              /* index in run->stats, or RUN_NONE */
    uint32_t why;                /* string id: reason for missing statistics: "no data
                                    (meta)" */
    uint32_t kept;               /* index in run->kept, or RUN_NONE */
    uint32_t op_value;           /* the same value in run->ops->values; or RUN_NONE */
    uint64_t numel, bytes;
    struct str spread;  /* packed (measure/spread.h), if the recorder counted it; not in
                           files */
    struct units units; /* likewise */
    const struct run_norms *norms; /* likewise; NULL: not measured */
};

/* The L2 norms of the samples (indices of the first dimension) of a tensor. A sample with
 * an element that is not finite counts as NaN. */
struct run_norms {
    struct stats stats;
    struct str spread; /* packed */
};
/* NULL: the arena is spent. */
const struct run_norms *run_norms_copy(struct arena *arena,
                                       const struct run_norms *norms);

enum run_io_kind {
    RUN_IN,       /* an argument, positional or keyword: see `path` */
    RUN_OUT,      /* a result */
    RUN_GRAD_OUT, /* the gradient that reached a result */
    RUN_GRAD_IN,  /* the gradient of an argument, through this call only */
};

enum run_io_flag {
    RUN_IO_SAME = 1,     /* the same object as an earlier io of this call */
    RUN_IO_REPLACED = 2, /* the call overwrote this argument in place; `value` is the
                            one before, if it was seen */
    RUN_IO_SUMMED = 4,   /* the sum of the gradients of equal arguments (q = k = v) */
};

struct run_io {
    uint32_t call;
    uint8_t kind, flags; /* enum run_io_kind, enum run_io_flag */
    uint32_t path;       /* string id: forward's name for the argument, and the position
                            in it: "x", "past[3][0]"; "[0]" if names are unknown; a bare
                            result has "", others "[1].logits" */
    uint32_t value;      /* or RUN_NONE: None or not a tensor */
};

enum run_call_flag {
    RUN_RAISED = 1,     /* forward raised, or did not return (RUN_ABORTED) */
    RUN_ABORTED = 2,    /* its end was not seen: an interrupt, an early stop */
    RUN_RECOMPUTED = 4, /* by activation checkpointing, during backward: not counted
                           among the calls of its module, nor in forward time */
    RUN_TRAINING = 8,   /* module.training */
    RUN_GRAD_MODE = 16, /* autograd was on */
    RUN_COMPILED = 32,  /* compiled code ran: its inside was not recorded */
    RUN_FUSED = 64,     /* a fused kernel ran: its modules were not called */
    RUN_SCRIPTED = 128, /* TorchScript: its inside was not recorded */
    RUN_AUTOCAST = 256,
    RUN_DIRECT = 512, /* forward() was called without __call__; detected afterwards */
    RUN_BACKWARD_GAP = 1024, /* the time of a backward is unknown: its nodes did not run
                                consecutively, are too many or did not all run */
    RUN_LIGHT = 2048, /* the newest merged call of its object: its times are included in
                         run_merged */
    RUN_DEVICE_BYTES = 4096, /* device_bytes is known */
};

struct run_call {
    uint32_t object; /* index in model->objects */
    uint32_t place;  /* where it was called, derived from its parent calls; if unknown,
                        the object's first place */
    uint32_t parent; /* the enclosing call, or RUN_NONE */
    uint32_t number; /* call index of its object, from 0; recomputations are numbered
                        separately */
    uint32_t step;
    uint32_t thread;     /* number of the thread, in order of appearance */
    uint32_t line;       /* string id of the calling line, "net.py:12"; or 0 */
    uint32_t error;      /* string id of the exception, or 0 */
    uint32_t ios, n_ios; /* in run->ios */
    uint16_t flags;
    uint64_t start_ns, end_ns; /* including the cost of recording */
    uint64_t own_ns;           /* that cost: inclusive = end - start - own */
    uint64_t children_ns;      /* inclusive time of its direct child calls */
    uint64_t backward_ns;      /* 0: none, or unknown */
    uint64_t device_ns;        /* inclusive, measured by the device; 0: unknown */
    int64_t device_bytes;      /* change of the device's allocated bytes */
    uint64_t out_bytes;        /* of its results */
    uint64_t new_bytes;        /* of its results' storages that are new */
};

/* The calls of one object at one place beyond those that are kept, merged.
 * Recomputations are merged separately. Sorted by object, then by the newest call. */
struct run_merged {
    uint32_t object;
    uint32_t calls;
    uint64_t
        inclusive_ns; /* sum, without calls inside another call of the same place */
    uint64_t exclusive_ns;           /* sum */
    uint64_t least_ns, most_ns;      /* inclusive */
    uint64_t backward_ns, device_ns; /* sums of the known ones */
    uint64_t out_bytes, new_bytes;   /* sums */
    uint32_t ios, n_ios;             /* in run->merged_ios */
    uint32_t newest;                 /* the newest call, kept in full; or RUN_NONE */
};
struct run_merged_io {
    uint8_t kind;
    uint32_t path;  /* as in run_io */
    uint32_t stats; /* merged over all calls; or RUN_NONE */
    uint32_t shapes,
        n_shapes; /* distinct shapes, at most 16: (rank, sizes...) in dims */
};

/* A parameter or its gradient at the end of a backward or before an optimizer's
 * step(). */
struct run_param {
    uint32_t tensor; /* index in model->tensors */
    uint32_t step;
    bool gradient;
    uint32_t value;
};

/* Data that could not be recorded, and the reason. */
enum run_gap_kind {
    RUN_GAP_NOT_CALLED, /* the module was never called */
    RUN_GAP_FUSED,      /* ... because a fused kernel did its work */
    RUN_GAP_COMPILED,   /* ... because it is inside compiled code */
    RUN_GAP_SCRIPTED,
    RUN_GAP_DIRECT,    /* its forward() was called directly */
    RUN_GAP_CONTAINER, /* it has no forward (ModuleList): nothing is missing */
    RUN_GAP_GRADIENT,  /* gradients of a call could not be attached */
    RUN_GAP_KEYWORDS,  /* this torch does not pass keyword arguments to hooks */
    RUN_GAP_LIMIT,     /* the memory limit of kept values or records was reached */
    RUN_GAP_ERROR,     /* a recording hook failed and was removed */
    RUN_GAP_OUTSIDE,   /* it called a module that is not part of the model */
    RUN_GAP_COUNT
};
struct run_gap {
    enum run_gap_kind kind;
    uint32_t object; /* or NO_OBJECT: the run as a whole */
    uint32_t text;   /* string id: one sentence */
};

/* An activation kept on request. Its elements are dense, in C order, native-endian. */
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
    const struct model *model; /* owned; freed with the run */
    const char *name;          /* of the model, given by the recorder */
    const char *folder;        /* of the ranks of which it is the first; or NULL */

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
    const struct run_ops *ops; /* NULL: operations were not recorded */
    bool ops_damaged; /* ... or its file's operations are unreadable: a finding says
                         why */
    int64_t *dims;
    uint32_t n_dims;
    uint32_t *devices; /* string ids */
    uint32_t n_devices;
    /* Facts about the run: torch, python, threads, mode, when, ... */
    struct model_fact *facts;
    uint32_t n_facts;

    uint32_t passes; /* including merged ones, without recomputations; 0: count calls */
    uint64_t wall_ns;  /* from the start of the recording to its end */
    uint64_t own_ns;   /* cost of recording in it */
    uint64_t hooks_ns; /* cost of torch's hooked path, estimated */

    bool other_sections; /* private: the model's last finding names unknown sections of
                            its file; it is not written again */
    uint32_t *by_object, *next_call; /* private: the index of calls */
    struct run_source *source;       /* private: the file with kept values, if any */
};

void run_free(struct run *run); /* with its model; NULL is allowed */

struct str run_string(const struct run *run, uint32_t id);
uint64_t run_inclusive(const struct run_call *call);
uint64_t run_exclusive(const struct run_call *call);
/* A capsule (docs/run-file.md) has this fact: its contents, as text. Its calls have
 * only inputs: nothing was executed. */
#define RUN_CAPSULE_FACT "capsule_about"
/* The time of all passes, without recomputations. Merged passes are included through
 * this fact. */
#define RUN_FORWARD_FACT "forward_ns"
uint64_t run_forward_ns(const struct run *run);
/* run_forward_ns() plus backward, as far as known. The cost of recording is compared to
 * this: other code between the start and the end of a recording does not count. */
uint64_t run_passes_ns(const struct run *run);
/* The cost of recording as a share of run_passes_ns(), with torch's hooked path. With a
 * budget, the budget's own figure, which includes skipped passes. NaN if nothing was
 * called. */
double run_cost_share(const struct run *run);
/* The value id (in run->plain) of a fact; VALUE_ID_NONE if unknown. */
uint32_t run_fact_id(const struct run *run, const char *key);
/* Do two values have the same shape? */
bool run_same_shape(const struct run *run, uint32_t a, uint32_t b);
/* The calls of an object in the order of their start, without recomputations: the
 * first, and the next after `call`; or RUN_NONE. */
uint32_t run_first_call(const struct run *run, uint32_t object);
uint32_t run_next_call(const struct run *run, uint32_t call);
uint32_t run_count_calls(const struct run *run, uint32_t object); /* with merged ones */
/* The calls made at a place, with merged ones. */
uint32_t run_count_calls_at(const struct run *run, uint32_t place);
/* Is call `a` newer than `b`? The newer one ended last, so of nested calls it is the
 * outermost. A recomputation is never newer than a call. */
bool run_is_newer(const struct run *run, uint32_t a, uint32_t b);
/* The calls made at a place, the newest last (run_is_newer); if there are none, those
 * of its module at other places. `everywhere`: all calls of its module. Allocated in
 * `arena`; NULL if out of memory. */
uint32_t *run_calls_at(const struct run *run, uint32_t place, bool everywhere,
                       struct arena *arena, uint32_t *ret_n);
/* The merged calls whose newest call is `newest`, or NULL. */
const struct run_merged *run_merged_with(const struct run *run, uint32_t newest);

const char *run_gap_name(enum run_gap_kind kind); /* "not called", "fused", ... */
/* Is data missing? RUN_GAP_CONTAINER only describes a module. */
bool run_is_gap(const struct run_gap *gap);
const char *run_io_name(enum run_io_kind kind); /* "in", "out", "grad_out", ... */

#endif
