/* recorder.h - hooks, stacks and times. One recorder is one `with record(model)`.
 *
 * Kind of hooks: torch's *global* forward hooks, decided by test (tests/python/
 * hooks_test.py): they come and go in O(1), do not follow a deep copy, are not pickled,
 * leave scripting, export and fx alone. A Python trampoline of the package returns at
 * once while torch.compiler.is_compiling(), so that compiled graphs stay whole; a
 * module compiled in place (Module.compile()) bypasses hooks, so its compiled call is
 * wrapped for the time of the recording. Keyword arguments come with the forward hook
 * (torch 2.6 and later); what an earlier torch does not show is a gap. */
#ifndef EXT_RECORDER_H
#define EXT_RECORDER_H

#include "ext/ext.h"

#include "ext/live.h"
#include "ext/seen.h"
#include "ext/tensor.h"

#include "run/trace.h"

struct grads;

struct recorder {
    struct live *live;
    struct trace *trace;
    struct seen *seen;
    struct grads *grads; /* NULL: gradients are not recorded */
    enum measure_mode mode;
    uint32_t epoch; /* of the trace, when `seen` was last cleared */
    uint64_t begin_ns, own_ns;
    uint64_t hook_calls; /* for the estimate of torch's hooked path */
    bool armed;          /* false: every hook returns at once */
    bool own_pid_only;
    long pid;        /* a forked child disarms */
    uint32_t errors; /* of ours, swallowed */
    PyObject *keep;  /* a callable name -> bool, or NULL */
    PyObject
        *device; /* a callable that measures what only a device can read, or NULL */
};

/* The value number of a tensor as it is now: known, or measured and entered. RUN_NONE
 * if nothing can be said. Used for arguments, results and gradients alike. */
uint32_t recorder_value(struct recorder *recorder, PyObject *tensor, unsigned flags);
/* The number of this thread's stack. */
uint32_t recorder_thread(struct recorder *recorder);
uint64_t recorder_clock(void); /* base/clock.h; TORCHOSCOPE_CLOCK=ticks for tests */

/* The type that Python sees: _core.Recorder(model, name, mode=, gradients=, keep=,
 * limit=, calls=, device=) with methods pre(module, args), post(module, args, kwargs,
 * result), raised(module, exception), step(optimizer), backward_end(), stop() -> Run,
 * snapshot() -> Run, and members cost_ns, errors, armed. */
extern PyType_Spec recorder_spec;

#endif
