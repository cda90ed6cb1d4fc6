/* recorder.h - hooks, stacks and times. One recorder is one `with record(model)`.
 *
 * Kind of hooks: torch's *global* forward hooks, decided by test (tests/python/
 * hooks_test.py): they come and go in O(1), do not follow a deep copy, are not pickled,
 * leave scripting, export and fx alone. A Python trampoline of the package returns at
 * once while torch.compiler.is_compiling(), so that compiled graphs stay whole; a
 * module compiled in place (Module.compile()) bypasses hooks, so its compiled call is
 * wrapped for the time of the recording. Keyword arguments come with the forward hook
 * (torch 2.6 and later); what an earlier torch does not show is a gap. */
#ifndef EXT_RECORD_RECORDER_H
#define EXT_RECORD_RECORDER_H

#include "ext/ext.h"

#include "ext/live/live.h"
#include "ext/record/seen.h"
#include "ext/torch/tensor.h"

#include "run/trace.h"

struct grads;
struct frames;     /* calls under way, thread by thread (recorder_frames.c) */
struct code_lines; /* which line called (recorder_line.c) */

enum recorder_about {
    RECORDER_KEEPS = 1,        /* the elements that it sees are kept */
    RECORDER_TOLD_KEPT = 2,    /* it was said that those of merged calls are not */
    RECORDER_TOLD_OUTSIDE = 4, /* it was said that it calls modules of others */
};

struct recorder {
    PyObject *self; /* the object that this is part of; borrowed */
    struct live *live;
    const struct model *model; /* of the trace */
    struct trace *trace;       /* NULL once stopped; look again after Python ran */
    struct seen *seen;
    struct grads *grads; /* NULL: gradients are not recorded */
    struct frames *frames;
    struct code_lines *lines; /* NULL: not asked for */
    enum measure_mode mode;
    uint32_t epoch; /* of the trace, when `seen` was last cleared */
    uint64_t begin_ns, own_ns;
    uint64_t bytes;      /* of elements that were measured */
    uint64_t hook_calls; /* for the estimate of torch's hooked path */
    uint64_t hook_ns;    /* what one of them takes */
    bool armed;          /* false: every hook returns at once */
    bool force_device;   /* for tests: every tensor takes the way of devices */
    unsigned forks;      /* a forked child disarms: see recorder_forks() */
    uint32_t errors;     /* of ours, swallowed; the 100th disarms */
    bool on_device;      /* some value was left to `device` */
    bool timed;          /* it has a clock */
    uint32_t pending;    /* values that `device` has yet to tell about */
    uint8_t *about;      /* what is to be done, and was said, by object: RECORDER_... */
    PyObject **names;    /* of arguments, by object: recorder_names() */
    size_t n_names;
    PyObject *forwards; /* a dict: of a class -> names of arguments */
    /* Who measures what only a device can read, or NULL. device.add(value, tensor) is
     * called in a hook, under no_grad or not; device.finish() when the outermost call
     * ends and at stop(). It gives a list of rows (value, count, nan, pos_inf, neg_inf,
     * zeros, min, max, mean, m2, min_at, max_at[, sampled]): `value` is what add() was
     * given, the
     * places are indices in C order, m2 is the sum of squared distances from the mean,
     * and min to m2 are of the finite elements, NaN where there are none.
     * If device.timed is true it has a clock too: device.start(call, serial) is called
     * just before forward, device.end(call, serial) just after it, device.rest() when
     * a hook after forward has asked for work of ours, and device.times(), which may
     * wait, when the outermost call ends: a list of (call, serial, ns, bytes or None).
     */
    PyObject *device;
};

enum recorder_wants {
    RECORDER_WANTS_ELEMENTS = 1, /* kept too */
    RECORDER_WANTS_ANEW = 2,     /* measured now, and again the next time: it changes in
                                    ways that neither version nor fingerprint tell */
};
/* The value number of a tensor as it is now: known, or measured and entered. RUN_NONE
 * if nothing can be said. Used for arguments, results and gradients alike. `wants`:
 * enum recorder_wants. May release the GIL: look at recorder->trace afterwards. Never
 * raises. */
uint32_t recorder_value(struct recorder *recorder, PyObject *tensor, unsigned wants);
/* The number of this thread's stack. */
uint32_t recorder_thread(struct recorder *recorder);
uint64_t recorder_clock(void); /* base/clock.h; TORCHOSCOPE_CLOCK=ticks for tests */
/* A hook of ours begins on this thread, before any recorder hears of it: the next visit
 * counts its own time from here. recorder_left(): it is over. */
void recorder_arrived(void);
void recorder_left(void);
/* Something of ours went wrong: forget the Python exception, if any, and count. */
void recorder_failed(struct recorder *recorder);

/* The type that Python sees: _core.Recorder(model, name="", *, mode="full",
 * gradients=False, keep=None, limit=0, keep_limit=0, calls=64, lines=True,
 * device=None, force_device=False). mode: "full", "exact", "sampled", "guard"; calls:
 * so many of each module are kept one by one, 0: all.
 *
 * Methods:
 *   pre(module, args[, kwargs])   before forward; kwargs where somebody knows them
 *   compiled(module, bool) does its newest call, made in place, run compiled code?
 *   post(module, args, kwargs, result)   after it; also post(module, args, result)
 *   raised(module, exception or None)    forward raised
 *   step(optimizer)        parameters and their gradients, before an optimizer's step
 *   stepped(number)        an optimizer of the model returned from step()
 *   optimizer_gone(number) it was freed
 *   backward(roots, gradients)           a backward begins
 *   backward_end()         the same at the end of a backward
 *   fact(key, value)       a str, int, float or bool that the run will tell
 *   gap(kind, name or None, sentence)    what the package knows was not seen
 *   direct(name, sentence) what is said of a module that turns out never called
 *   renew(model, name)     lazy modules were made: true if it tells of them now
 *   spend(since_ns[, cost_ns])    what went by since is our own time, but for what was
 *                          counted since cost_ns was read
 *   calls(module)          how many calls of a module there were so far
 *   stop() -> Run          disarms for good; a second time raises RuntimeError
 *   snapshot() -> Run      of what there is so far
 *   arm(), disarm()        between recorded steps
 *
 * Members: cost_ns, bytes (measured), errors, armed, hook_calls, hook_ns (may be set:
 * what the hooked path of torch costs for each call), begin_ns (may be set), mode (may
 * be set), roots (a list). pre, post and raised never raise and return None; they do nothing for modules
 * that are not of the model and do not stand for one that is (a replica of
 * DataParallel, what torch.compile() gave). */
extern PyType_Spec recorder_spec;

#endif
