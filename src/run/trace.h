/* trace.h - the door for recorders: a run as it happens.
 * Calls are cheap: arrays that grow, no look-up but by number. It takes no lock: a
 * recorder that has several threads holds one (Python's, for python/ext). What cannot
 * be held any more (the limit) is counted and becomes a gap: nothing here ever fails a
 * caller that sits inside the user's forward.
 *
 * Memory stays flat. The first calls of an object are kept (trace_wanted); a later one
 * is *light*: its number has TRACE_LIGHT set and is given out again once it ended; its
 * ios are merged into the object's run_merged as they come (gradients may come late),
 * and the newest light call of each object is kept in full, replacing the one before.
 * The same goes for the values of a parameter. When a call ends and nothing is under
 * way any more, values that nothing kept refers to may be dropped: trace_epoch()
 * changes then, and whoever remembers numbers of values (to measure each once) forgets
 * them. Give a value to trace_io(), trace_param() or trace_keep() before that.
 *
 * The room of trace.h: trace.c (stacks, times, calls), trace_value.c (values, ios,
 * parameters, kept bytes), trace_light.c (merging), trace_step.c (steps), trace_finish.c (a
 * trace becomes a run). */
#ifndef RUN_TRACE_H
#define RUN_TRACE_H

#include "run/run.h"

#define TRACE_LIGHT     0x80000000u
#define TRACE_ALL_CALLS UINT32_MAX

struct trace; /* a run under construction */

struct trace_wanted {
    size_t limit;        /* memory for records; 0: 1 GiB */
    size_t keep_limit;   /* memory for kept values */
    uint32_t keep_calls; /* of one object, the rest are merged; 0: RUN_KEEP_CALLS;
                            TRACE_ALL_CALLS: never merge */
};

/* The model is that which is recorded; the trace owns it from now on. */
struct trace *trace_new(const struct model *model, const struct trace_wanted *wanted);
void trace_free(struct trace *trace); /* NULL is allowed */
/* The model has changed in what it says of its parts, as when lazy modules were made:
 * take this one in its place if it has the same places and objects. False: it has not,
 * and stays with the caller. */
bool trace_renew(struct trace *trace, const struct model *model);

/* The id of a string, 0 when nothing is held any more. */
uint32_t trace_string(struct trace *trace, const char *text, size_t len);
uint16_t trace_device(struct trace *trace, const char *name);

/* A call begins; its number, or RUN_NONE: nothing is held any more (then pass RUN_NONE
 * on). `thread` numbers the stack it stands on; its parent is the call under way there.
 * A call that ends takes those above it on its stack with it, as RUN_ABORTED. */
uint32_t trace_begin(struct trace *trace, uint32_t thread, uint32_t object,
                     uint16_t flags, uint32_t line, uint64_t start_ns);
void trace_end(struct trace *trace, uint32_t thread, uint32_t call, uint16_t flags,
               uint64_t end_ns);
/* An optimizer of the model stepped; `optimizer` is the caller's number for it. Say so
 * when its step() returned: what a closure calls belongs to the step. */
void trace_stepped(struct trace *trace, uint32_t optimizer);
/* This optimizer was freed: do not wait for it. */
void trace_optimizer_gone(struct trace *trace, uint32_t optimizer);
/* The next call that begins on this thread, if nothing is under way there, stands
 * inside the call under way on `other`: one that waits for its threads. */
void trace_under(struct trace *trace, uint32_t thread, uint32_t other);
/* Our own time, spent in a hook on this thread: taken off all calls under way there. */
void trace_own(struct trace *trace, uint32_t thread, uint64_t ns);
/* End all calls that stand above `call` on their stack as RUN_ABORTED; RUN_NONE: all of
 * the stack. For whoever knows that they will not end: forward left by an exception. */
void trace_abort(struct trace *trace, uint32_t thread, uint32_t call, uint64_t end_ns);
/* Does one of the places of `inner` stand inside `outer`? */
bool trace_is_inside(const struct trace *trace, uint32_t inner, uint32_t outer);
/* The object of a call, also of a light one that ended; or NO_OBJECT. */
uint32_t trace_object(const struct trace *trace, uint32_t call);
void trace_error(struct trace *trace, uint32_t call, uint32_t text);
/* Which call it is of all that there were: the number of a light call under way is
 * given out again when it ended, while its gradients may come later. */
uint64_t trace_serial(const struct trace *trace, uint32_t call);
/* What a backward of the call took; several are added up. `flags` are added to the
 * call's: RUN_BACKWARD_GAP. As for trace_gradient(), `serial` is trace_serial()'s. */
void trace_backward(struct trace *trace, uint32_t call, uint64_t serial, uint64_t ns,
                    uint16_t flags);
/* What the call took on a device, and (unless `bytes` is NULL) how many bytes more are
 * allocated there after it. It may be over; `serial` as above. */
void trace_device_call(struct trace *trace, uint32_t call, uint64_t serial, uint64_t ns,
                       const int64_t *bytes);
/* Our own time on this thread so far. */
uint64_t trace_own_ns(const struct trace *trace, uint32_t thread);

/* A value: *value says all but shape and strides (sizes, rank of them; strides may be
 * NULL). Its number, or RUN_NONE. */
uint32_t trace_value(struct trace *trace, const struct run_value *value,
                     const int64_t *sizes, const int64_t *strides,
                     const struct stats *stats);
void trace_value_stats(struct trace *trace, uint32_t value, const struct stats *stats);
/* What light calls saw before it was measured is merged now; call it after
 * trace_value_stats() and before the outermost call ends. */
void trace_settle(struct trace *trace);
/* Copy n dense bytes of a value; false: over the limit (a gap says so, once). A value
 * that only light calls saw is kept all the same, but no call refers to it. */
bool trace_keep(struct trace *trace, uint32_t value, const void *at, size_t n);
bool trace_is_kept(const struct trace *trace, uint32_t value);

void trace_io(struct trace *trace, uint32_t call, enum run_io_kind kind, uint32_t path,
              uint32_t value, uint8_t flags);
/* As trace_io(), when the call may be over. A gradient of a light call that is not the
 * newest of its object any more is merged with the others only. */
void trace_gradient(struct trace *trace, uint32_t call, uint64_t serial,
                    enum run_io_kind kind, uint32_t path, uint32_t value,
                    uint8_t flags);
void trace_param(struct trace *trace, uint32_t tensor, bool gradient, uint32_t value);
void trace_gap(struct trace *trace, enum run_gap_kind kind, uint32_t object,
               const char *format, ...) __attribute__((format(printf, 4, 5)));
/* What is said if the object turns out never to have been called, in place of just
 * that: its forward() was called directly, or its weights were used without it. */
void trace_direct(struct trace *trace, uint32_t object, const char *text);
/* A fact about the run; its value is made in trace_values(). One that is there already
 * is replaced. */
struct values *trace_values(struct trace *trace);
void trace_fact(struct trace *trace, const char *key, uint32_t value);
void trace_fact_text(struct trace *trace, const char *key, const char *text);

/* How many calls of an object there were so far. */
uint32_t trace_calls(const struct trace *trace, uint32_t object);
/* Is among the values that are still known one that is not finite? */
bool trace_spoilt(const struct trace *trace);
/* Changes when numbers of values have become meaningless. */
uint32_t trace_epoch(const struct trace *trace);

/* End: ios are put in the order of calls, and what was not called becomes a gap. NULL
 * only without memory. The trace is gone. */
struct run *trace_finish(struct trace *trace, uint64_t wall_ns, uint64_t hooks_ns);

/* A run of what there is so far, sharing nothing: to look at while recording goes on.
 */
struct run *trace_snapshot(const struct trace *trace);

#endif
