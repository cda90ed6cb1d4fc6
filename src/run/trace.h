/* trace.h - records a run as it happens. Calls are cheap: arrays that grow, looked up
 * by number. It takes no lock: a recorder with several threads must hold one
 * (python/ext holds the GIL). No function here fails, because the caller is inside the
 * user's forward: records beyond the memory limit are counted and become a gap.
 *
 * Memory use is bounded. The first calls of an object are kept (trace_wanted). A later
 * one is *light*: its number has TRACE_LIGHT set and is reused after it ends; its ios
 * are merged into the object's run_merged as they arrive (gradients may arrive late);
 * only the newest light call of each object is kept in full. Values of a parameter are
 * treated the same way. When the outermost call ends, values without references may be
 * dropped: trace_epoch() changes, and callers must forget value numbers that they
 * cached. Pass a value to trace_io(), trace_param() or trace_keep() before that.
 *
 *   trace.c         stacks, times, calls
 *   trace_value.c   values, ios, parameters, kept bytes
 *   trace_light.c   merging
 *   trace_step.c    steps
 *   trace_finish.c  makes the run */
#ifndef RUN_TRACE_H
#define RUN_TRACE_H

#include "run/run.h"

#define TRACE_LIGHT     0x80000000u
#define TRACE_ALL_CALLS UINT32_MAX

struct trace; /* a run under construction */

struct trace_wanted {
    size_t limit;        /* memory for records; 0: 1 GiB */
    size_t keep_limit;   /* memory for kept values */
    uint32_t keep_calls; /* per object, the rest are merged; 0: RUN_KEEP_CALLS;
                            TRACE_ALL_CALLS: never merge */
};

/* Takes the model that is recorded. */
struct trace *trace_new(const struct model *model, const struct trace_wanted *wanted);
void trace_free(struct trace *trace); /* NULL is allowed */
/* Replaces the model by a newer description of it (lazy modules were initialised) with
 * the same places and objects. False: they differ, and the caller keeps the model. */
bool trace_renew(struct trace *trace, const struct model *model);

/* The id of a string; 0 if the memory limit is reached. */
uint32_t trace_string(struct trace *trace, const char *text, size_t len);
uint16_t trace_device(struct trace *trace, const char *name);

/* A call begins; returns its number, or RUN_NONE if the limit is reached (all functions
 * accept that). `thread` is the number of its stack; its parent is the top of that.
 * When a call ends, calls above it on its stack end too, as RUN_ABORTED. */
uint32_t trace_begin(struct trace *trace, uint32_t thread, uint32_t object,
                     uint16_t flags, uint32_t line, uint64_t start_ns);
void trace_end(struct trace *trace, uint32_t thread, uint32_t call, uint16_t flags,
               uint64_t end_ns);
/* An optimizer of the model stepped; `optimizer` is the caller's number for it. Call it
 * when step() returns: the calls of a closure belong to the step. */
void trace_stepped(struct trace *trace, uint32_t optimizer);
/* This optimizer was freed: do not wait for it. */
void trace_optimizer_gone(struct trace *trace, uint32_t optimizer);
/* If the stack of this thread is empty, its next call becomes a child of the current
 * call on `other`, which is waiting for its threads. */
void trace_under(struct trace *trace, uint32_t thread, uint32_t other);
/* Cost of a hook on this thread: subtracted from all open calls there. */
void trace_own(struct trace *trace, uint32_t thread, uint64_t ns);
/* Ends all calls above `call` on its stack as RUN_ABORTED; RUN_NONE: the whole stack.
 * For calls that the caller knows will not end normally: forward raised. */
void trace_abort(struct trace *trace, uint32_t thread, uint32_t call, uint64_t end_ns);
/* Is one of the places of `inner` below `outer`? */
bool trace_is_inside(const struct trace *trace, uint32_t inner, uint32_t outer);
/* The object of a call, even of an ended light one; or NO_OBJECT. */
uint32_t trace_object(const struct trace *trace, uint32_t call);
void trace_error(struct trace *trace, uint32_t call, uint32_t text);
/* A number that is never reused. The number of a light call is reused after it ends,
 * while its gradients may come later. */
uint64_t trace_serial(const struct trace *trace, uint32_t call);
/* Adds the time of a backward of the call. `flags` (RUN_BACKWARD_GAP) are added to the
 * call's. `serial` is from trace_serial(), as for trace_gradient(). */
void trace_backward(struct trace *trace, uint32_t call, uint64_t serial, uint64_t ns,
                    uint16_t flags);
/* The call's time on a device, and (unless `bytes` is NULL) the increase of allocated
 * bytes there. The call may have ended; `serial` as above. */
void trace_device_call(struct trace *trace, uint32_t call, uint64_t serial, uint64_t ns,
                       const int64_t *bytes);
/* Cost of recording on this thread so far. */
uint64_t trace_own_ns(const struct trace *trace, uint32_t thread);

/* Adds a value; *value has everything except shape and strides, which have `rank`
 * elements each (strides may be NULL). Returns its number, or RUN_NONE. */
uint32_t trace_value(struct trace *trace, const struct run_value *value,
                     const int64_t *sizes, const int64_t *strides,
                     const struct stats *stats);
void trace_value_stats(struct trace *trace, uint32_t value, const struct stats *stats);
/* Copies the packed histogram of a value (measure/spread.h). */
void trace_value_spread(struct trace *trace, uint32_t value, struct str packed);
/* Copies the norms of a value's samples. */
void trace_value_norms(struct trace *trace, uint32_t value,
                       const struct run_norms *norms);
bool trace_has_norms(const struct trace *trace, uint32_t value);
/* The same for its units (measure/units.h). */
void trace_value_units(struct trace *trace, uint32_t value, struct units units);
/* Merges values of light calls that were not measured when first seen. Call it after
 * trace_value_stats() and before the outermost call ends. */
void trace_settle(struct trace *trace);
/* While on, keeps all values and their numbers: some are measured only after the
 * outermost call. */
void trace_hold(struct trace *trace, bool on);
/* Copies n dense bytes of a value; false: over the limit, which becomes one gap. A
 * value of light calls only is kept too, but no call refers to it. */
bool trace_keep(struct trace *trace, uint32_t value, const void *at, size_t n);
/* The same without a copy: the bytes must outlive the run. Returns the number of the kept
 * value; RUN_NONE: out of memory. */
uint32_t trace_lend(struct trace *trace, uint32_t value, const void *at, size_t n);
bool trace_is_kept(const struct trace *trace, uint32_t value);

void trace_io(struct trace *trace, uint32_t call, enum run_io_kind kind, uint32_t path,
              uint32_t value, uint8_t flags);
/* Like trace_io(), for a call that may have ended. A gradient of a light call that is
 * no longer the newest of its object is only merged. */
void trace_gradient(struct trace *trace, uint32_t call, uint64_t serial,
                    enum run_io_kind kind, uint32_t path, uint32_t value,
                    uint8_t flags);
void trace_param(struct trace *trace, uint32_t tensor, bool gradient, uint32_t value);
void trace_gap(struct trace *trace, enum run_gap_kind kind, uint32_t object,
               const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Sets the text of the gap if the object is never called: its forward() was called
 * directly, or its weights were used without it. */
void trace_direct(struct trace *trace, uint32_t object, const char *text);
/* Sets or replaces a fact about the run; its value is allocated in trace_values(). */
struct values *trace_values(struct trace *trace);
void trace_fact(struct trace *trace, const char *key, uint32_t value);
void trace_fact_text(struct trace *trace, const char *key, const char *text);

/* Number of calls of an object so far. */
uint32_t trace_calls(const struct trace *trace, uint32_t object);
/* Does any current value have non-finite elements? */
bool trace_spoilt(const struct trace *trace);
/* Changes when value numbers become invalid. */
uint32_t trace_epoch(const struct trace *trace);

/* Makes the run and frees the trace: sorts ios by call and adds gaps for modules that
 * were not called. NULL only if out of memory. */
struct run *trace_finish(struct trace *trace, uint64_t wall_ns, uint64_t hooks_ns);

/* An independent run of everything so far, for use while recording continues. */
struct run *trace_snapshot(const struct trace *trace);

#endif
