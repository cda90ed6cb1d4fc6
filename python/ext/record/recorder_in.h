/* recorder_in.h - shared by the files of a recorder; record.h lists them.
 * One recorder is one `with record(model)`. The GIL is the lock. It is released
 * while large tensors are measured, and a tensor subclass may run the user's Python
 * code. Another thread may stop the recording meanwhile, so check recorder->trace
 * afterwards. */
#ifndef EXT_RECORD_RECORDER_IN_H
#define EXT_RECORD_RECORDER_IN_H

#include "ext/ext.h"

#include "ext/live/live.h"
#include "ext/record/seen.h"
#include "ext/torch/tensor.h"
#include "ext/torch/torch.h"

#include "base/buf.h"
#include "run/trace.h"

struct grads;
struct recorder_watch;    /* a training that is watched (recorder_watch.c) */
struct judge;             /* ... and its judge (judge/judge.h) */
struct recorder_attached; /* tensors attached to its modules (recorder_attach.c) */
struct recorder_ops;      /* operations (ops.h) */
struct frames;            /* the calls under way on each thread (recorder_frames.c) */
struct code_lines;        /* source lines of calls (recorder_line.c) */

enum recorder_about {
    RECORDER_KEEPS = 1,         /* keep the elements of its values */
    RECORDER_REPORTED_KEPT = 2, /* a gap was added: merged calls keep no elements */
    RECORDER_REPORTED_OUTSIDE =
        4,                 /* a gap was added: it calls modules outside the model */
    RECORDER_UNGRADED = 8, /* gradients of its values are not recorded */
};

struct recorder {
    PyObject *self; /* the Recorder that contains this; borrowed */
    struct live *live;
    const struct model *model; /* of the trace */
    struct trace *trace;       /* NULL once stopped */
    struct seen *seen;
    struct grads *grads;      /* NULL: gradients are not recorded */
    struct recorder_ops *ops; /* NULL: operations are not recorded */
    struct frames *frames;
    struct recorder_watch *watch;       /* NULL: a plain recording */
    struct judge *judge;                /* likewise */
    struct recorder_attached *attached; /* NULL: none yet */
    bool all_elements;                  /* histograms count all, not a sample */
    bool norms;                         /* of each sample's part of gradients */
    struct trace_wanted wanted;
    struct code_lines *lines; /* NULL: lines are not recorded */
    enum measure_mode mode;
    uint32_t epoch; /* of the trace, when `seen` was last cleared */
    uint64_t begin_ns, own_ns;
    uint64_t bytes;      /* measured so far */
    uint64_t hook_calls; /* to estimate the total cost of torch's hooked path */
    uint64_t hook_ns;    /* its cost per call */
    uint64_t op_ns;      /* what torch's dispatch mode costs for each operation */
    bool armed;          /* false: every hook returns at once */
    bool several;        /* ranks train this model: log a checksum of its parameters */
    bool force_device;   /* for tests: treat every tensor as one on a device */
    unsigned forks;      /* a forked child disarms: see recorder_forks() */
    uint32_t errors;     /* our own, swallowed; the 100th disarms */
    bool on_device;      /* some value was left to `device` */
    bool timed;          /* `device` has a clock */
    uint32_t pending;    /* values not yet reported by `device` */
    uint8_t *about;      /* by object: enum recorder_about */
    PyObject **names;    /* of arguments, by object: recorder_names() */
    size_t n_names;
    PyObject *forwards; /* a dict: forward of a class -> names of its arguments */
    /* Measures what only a device can read (torchoscope/device.py), or NULL.
     * device.add(value, tensor) is called in a hook. device.finish() is called when the
     * outermost call ends and at stop(); it returns a list of rows (value, count, nan,
     * pos_inf, neg_inf, zeros, min, max, mean, m2, min_at, max_at[, sampled]). `value`
     * is what add() got, min_at and max_at are indices in C order, m2 is the sum of
     * squared distances from the mean; min to m2 are of the finite elements, NaN
     * without any. If device.timed is true, it has a clock: device.start(call, serial)
     * is called just before forward, device.end(call, serial) just after it,
     * device.rest() when a hook after forward has started our own work, and
     * device.times(), which may wait, when the outermost call ends. It returns a list
     * of (call, serial, ns, bytes or None).
     * With `watch`, rows end with dtype, of, address and n: the sample of a tensor of
     * `of` elements. finish() is only called for a snapshot; device.send() when a step
     * ends, which starts the copy to the host; device.fetch(sent) a step later
     * (recorder_late.c). device.keep(number, tensor) and device.changed(number, tensor)
     * get parameters before and after an optimizer's step. */
    PyObject *device;
};

struct recorder *recorder_of(PyObject *self); /* that of a Recorder */

/* ---- values */

#define RECORDER_HELD 65536 /* pending values of a watched step, at most */

enum recorder_wants {
    RECORDER_WANTS_ELEMENTS = 1, /* keep the elements too */
    RECORDER_WANTS_ANEW = 2,     /* measure now and again next time: it may change
                                    without a new version or fingerprint */
};
/* A value, and what later detects that it was overwritten. */
struct recorder_measured {
    uint32_t value; /* RUN_NONE: unknown */
    int64_t version;
    uint64_t print;  /* fingerprint */
    bool grad;       /* it requires a gradient */
    bool inner_grad; /* likewise, inside a function transform */
};
/* The current value of a tensor: looked up, or measured and recorded. Used for
 * arguments, results and gradients alike. `wants`: enum recorder_wants. Never
 * raises. */
struct recorder_measured recorder_measure(struct recorder *recorder, PyObject *tensor,
                                          unsigned wants);
/* The same, returning only the value's number. */
uint32_t recorder_value(struct recorder *recorder, PyObject *tensor, unsigned wants);
/* Collects what the device measured. */
void recorder_flush(struct recorder *recorder);
/* Adds a list of its rows to a trace. */
void recorder_rows(struct recorder *recorder, struct trace *trace, PyObject *rows);
/* Is a tensor left to the device? */
bool recorder_leaves(const struct recorder *recorder, const struct live_tensor *look);
/* The device's clock: a call begins or ends (NAME_start, NAME_end); our own work ends;
 * collect the times. */
void recorder_mark(struct recorder *recorder, enum torch_attribute what, uint32_t call);
void recorder_rest(struct recorder *recorder);
void recorder_times(struct recorder *recorder);
/* Whether to keep the elements of this call's values. Adds a gap if they are dropped
 * because the call is merged with others. */
bool recorder_keeps(struct recorder *recorder, uint32_t object, uint32_t call);
/* Records the gradients of all parameters and, if `parameters`, the parameters. */
void recorder_params(struct recorder *recorder, bool parameters);

/* The same for one tensor of the model. */
void recorder_param(struct recorder *recorder, uint32_t number, PyObject *tensor,
                    bool parameter, bool gradient);

/* The method lend() of the type. */
PyObject *recorder_lend(struct recorder *recorder, PyObject *tensor, PyObject *of);

/* ---- a watched training: the trace restarts with each logged step */

struct recorder_watch *recorder_watch_new(void); /* NULL: an exception is set */
void recorder_watch_free(struct recorder_watch *watch);
/* The packed spread of a tensor just measured, valid until the next call; empty:
 * none. */
struct str recorder_spread(struct recorder *recorder, const struct live_tensor *look);
/* Measures the norms of the samples of a recorded gradient, if wanted. */
void recorder_norms(struct recorder *recorder, PyObject *tensor, uint32_t value);
/* Its dead and saturated units. */
struct units recorder_units(struct recorder *recorder, const struct live_tensor *look,
                            const struct stats *stats);
/* The same for n elements sampled from `of`. */
struct str recorder_spread_of(struct recorder *recorder, enum dtype dtype,
                              const void *at, uint64_t n, uint64_t of);
/* Writes and judges the step that waits for its device, if any. */
void recorder_settle(struct recorder *recorder);
/* A list of the alarms of steps written since the last call; NULL: an exception is
 * set. */
PyObject *recorder_take_alarms(struct recorder *recorder);
/* The methods before_step(), after_step() and log() of the type. */
PyObject *recorder_before_step(struct recorder *recorder, PyObject *args);
PyObject *recorder_after_step(struct recorder *recorder);
PyObject *recorder_log(struct recorder *recorder, PyObject *args);
/* look_again(model, name, has_file): rebuilds the model if a module or parameter was
 * replaced; returns whether it was. Call it between steps. */
PyObject *recorder_look_again(struct recorder *recorder, PyObject *args);
/* Maps places of the model to places in the file; NULL: identical. */
const uint32_t *recorder_places(const struct recorder_watch *watch);
/* The model was replaced. Takes `places`, see above. */
void recorder_watch_forget(struct recorder_watch *watch, uint32_t *places);
/* Drops data that refers to numbers and texts of an ended trace. */
void recorder_forget_trace(struct recorder *recorder);
/* Is no call running? */
bool recorder_is_idle(const struct recorder *recorder);

/* The methods and members of the type that are about operations (recorder_ops.c). */
PyObject *recorder_ops_begin(PyObject *self, PyObject *wanted);
PyObject *recorder_ops_end(PyObject *self, PyObject *unused);
PyObject *recorder_ops_mode(PyObject *self, PyObject *unused);
PyObject *recorder_op_value(PyObject *self, PyObject *tensor);
PyObject *recorder_optimizer(PyObject *self, PyObject *begins);
PyObject *recorder_n_ops(PyObject *self, void *unused);
PyObject *recorder_ops_ns(PyObject *self, void *unused);
/* NULL and an exception: the recording was stopped. */
PyObject *recorder_stopped(void);

/* A list of dicts. */
struct history_alarm;
PyObject *recorder_alarms(const struct history_alarm *alarms, uint32_t n);
/* The methods guard(), judge_loss(), judge_guard() and judge_run() of the type. */
PyObject *recorder_guard(PyObject *self, PyObject *args);
PyObject *recorder_judge_loss(PyObject *self, PyObject *args);
PyObject *recorder_judge_guard(PyObject *self, PyObject *args);
PyObject *recorder_judge_run(PyObject *self, PyObject *args);

/* The method attach(module, tensor, path, call, gradient, graded): True if it was
 * measured. */
PyObject *recorder_attach(struct recorder *recorder, PyObject *args);
/* The attached tensors, valid until the next attach(). */
struct history_attached;
const struct history_attached *recorder_attached(struct recorder_attached *attached,
                                                 uint32_t *ret_n);
void recorder_attached_free(struct recorder_attached *attached);

/* ---- calls under way */

/* An argument of a call under way, as it was before forward. */
struct recorder_input {
    const void *tensor; /* compared only, not held */
    uint32_t path, value;
    int64_t version;
    uint64_t print; /* fingerprint */
    uint8_t flags;  /* enum run_io_flag */
    bool grad;      /* it requires a gradient */
};

/* A running call. The trace has its own stack, for times and parents; this one holds
 * what only Python can compare. Arguments are added to the trace when the call ends,
 * because only then it is known which were overwritten. */
struct recorder_frame {
    const void *module, *args, *kwargs; /* only compared; kwargs may be NULL */
    const void *caller; /* torch's Python frame that makes the call, or NULL; only
                           compared: it lives as long as the call */
    uint32_t call, object;
    uint64_t start_ns;
    uint32_t line;   /* the line that called it: string id, or 0 */
    uint32_t inputs; /* index of the first in stack.inputs; they end where those of the
                        next frame begin */
    uintptr_t depth; /* C stack address when it began: calls inside it are deeper */
    bool has_inner;  /* a call inside it was recorded */
    bool recomputed; /* by checkpointing: nothing of it is kept */
    bool compiled;   /* the module is what torch.compile() returned, and no call inside
                        it was seen so far */
};

struct stack {
    unsigned long ident; /* of the thread */
    uint32_t number;
    bool busy; /* our hook is running: calls from it are not recorded */
    struct recorder_frame *frames;
    uint32_t n, room;
    struct recorder_input *inputs;
    uint32_t n_inputs, inputs_room;
};

struct frames *frames_new(void);
void frames_free(struct frames *frames);
/* The stack of this thread, which never moves; NULL if out of memory. */
struct stack *frames_stack(struct frames *frames);
/* All stacks: `number` is below frames_count(). */
uint32_t frames_count(const struct frames *frames);
struct stack *frames_at(const struct frames *frames, uint32_t number);
/* Begins a call; sets `inputs` of the pushed copy. */
bool stack_push(struct stack *stack, const struct recorder_frame *frame);
bool stack_add(struct stack *stack, const struct recorder_input *input);
/* The newest call of a module as index + 1; 0: none. */
uint32_t stack_find(const struct stack *stack, const void *module);
/* How many calls, from the outermost on, are still on Python's own stack. An
 * interrupt leaves forward without calling a hook, and the user may catch it.
 * `module`: the one whose call is about to begin. Slow. */
uint32_t stack_alive(const struct stack *stack, const void *module);
/* Drops all frames from this index on. */
void stack_cut(struct stack *stack, uint32_t index);

struct code_lines *code_lines_new(void);
void code_lines_free(struct code_lines *lines);
/* The line that made the call, "net.py:12", as a string id of the trace; or 0.
 * `outer` is the enclosing call, or NULL; *ret_caller is the new frame's `caller`. */
uint32_t code_lines_find(struct code_lines *lines, struct trace *trace,
                         const struct recorder_frame *outer, const void **ret_caller);

/* The line that runs now, of the user's code: that of an operation. */
uint32_t code_lines_here(struct code_lines *lines, struct trace *trace,
                         const struct recorder_frame *outer);

/* The names of a module's forward arguments, as walk_arguments() takes them; borrowed
 * and cached by object. NULL: unknown (TorchScript). */
PyObject *recorder_names(struct recorder *recorder, PyObject *module, uint32_t object);
void recorder_forget_names(struct recorder *recorder);

/* ---- hooks */

/* The methods pre(), post() and raised() of the type. */
PyObject *recorder_pre(struct recorder *recorder, PyObject *const *args,
                       Py_ssize_t n_args);
PyObject *recorder_post(struct recorder *recorder, PyObject *const *args,
                        Py_ssize_t n_args);
PyObject *recorder_raised(struct recorder *recorder, PyObject *const *args,
                          Py_ssize_t n_args);
/* Set whether the newest call of a module runs compiled code. */
void recorder_compiled(struct recorder *recorder, PyObject *module, bool compiled);
/* At the end: adds the arguments of all running calls to the trace. */
void recorder_unwind(struct recorder *recorder);

/* Whether it is armed and this is not a child forked during the recording. */
bool recorder_ready(struct recorder *recorder);
unsigned recorder_forks(void); /* how many forks led to this process */
/* Whether a backward is running on this thread; a call is then a recomputation. */
bool recorder_in_backward(struct recorder *recorder);
/* The number of this thread's stack. */
uint32_t recorder_thread(struct recorder *recorder);
uint64_t recorder_clock(void); /* base/clock.h; TORCHOSCOPE_CLOCK=ticks for tests */
/* Our hook begins on this thread, before any recorder is called: the next visit
 * counts its own time from here. recorder_left(): the hook ended. */
void recorder_arrived(void);
void recorder_left(void);
/* Clears and counts our own Python exception, if any. */
void recorder_failed(struct recorder *recorder);

#endif
