/* record.h - records a run through torch's hooks.
 * Declares the three types that Python sees. Files:
 *   hub.c            torch's global hooks; calls the listeners of all recordings
 *   recorder_in.h    one recording: hooks, frames, lines, values
 *     recorder.c         the type Recorder
 *     recorder_hooks.c   before and after forward
 *     recorder_value.c   turns a tensor into a value: measured, kept or deferred
 *     recorder_frames.c  the calls under way on each thread
 *     recorder_alive.c   finds calls that Python is still running
 *     recorder_line.c    the source line of a call
 *     recorder_names.c   the names of forward's arguments
 *     recorder_ops.c     its methods about operations
 *     recorder_params.c  parameters and their gradients
 *     recorder_watch.c   histograms, updates; turns a step into points of a history
 *     recorder_late.c    ... at once, or when its device is done (recorder_watch_in.h)
 *     recorder_judge.c   alarms; the guard that scans tensors on every step
 *   seen.h           recognises values that were already measured
 *   grads.h          gradients, by hooks on autograd's nodes (grads_in.h: its files)
 *   ops.h            operations, by a dispatch mode (ops_in.h: its files)
 *   budget_type.c    the type Budget: run/budget.h for Python
 *
 * Why global forward hooks (tests/python/hooks_test.py compares the kinds): adding and
 * removing them is O(1), a deep copy or pickle does not take them along, and scripting,
 * export and fx ignore them. The package's trampoline returns at once while
 * torch.compiler.is_compiling(), so that compiled graphs stay whole. A module compiled
 * in place (Module.compile()) bypasses hooks, so its compiled call is wrapped during
 * the recording. torch 2.6 and later pass keyword arguments to the forward hook; with
 * an earlier torch, missing ones are a gap. */
#ifndef EXT_RECORD_RECORD_H
#define EXT_RECORD_RECORD_H

#include "ext/ext.h"

/* _core.empty_mode(): a mode that only passes operations on, to measure the overhead of
 * torch's modes alone. */
PyObject *record_empty_mode(PyObject *module, PyObject *unused);
/* _core.own(begins): operations of this thread are our own and not recorded until
 * own(False). They nest. */
PyObject *record_own(PyObject *module, PyObject *begins);

/* _core.Recorder(model, name="", *, mode="full", gradients=False, keep=None, limit=0,
 * keep_limit=0, calls=64, lines=True, device=None, force_device=False, ops=None, watch=False)
 * ops: see ops_new().
 * mode: "full", "exact", "sampled" or "guard". calls: how many calls of each module are
 * kept separately; 0: all.
 *
 * Methods:
 *   pre(module, args[, kwargs])          before forward; kwargs if they are known
 *   post(module, args, kwargs, result)   after forward; also post(module, args, result)
 *   raised(module, exception or None)    forward raised
 *   compiled(module, bool)  whether its newest call runs compiled code
 *   step(optimizer)         record parameters and gradients, before an optimizer's step
 *   stepped(number)         an optimizer of the model returned from step()
 *   optimizer_gone(number)  it was freed
 *   backward(roots, gradients)           a backward begins
 *   backward_end()          a backward ended: record the parameters' gradients
 *   spoilt()                whether some value is not finite
 *   fact(key, value)        add a str, int, float or bool to the run's facts
 *   gap(kind, name or None, sentence)    add a gap
 *   direct(name, sentence)  the gap to report if this module is never called
 *   renew(model, name)      lazy modules got parameters; true if they are shown now
 *   spend(since_ns[, cost_ns])  count the time since then as our own, except
 *                           time counted since cost_ns was read
 *   calls(module)           the number of calls of a module so far
 *   stop() -> Run           disarms for good; RuntimeError the second time
 *   snapshot() -> Run       what was recorded so far
 *   lend(tensor, of)        keep the elements of a tensor (CPU, in C order) without a copy:
 *                           the caller holds it, unchanged, as long as the Run. Returns
 *                           the number for kept_at(); None: it cannot be kept. If `of`
 *                           is a tensor of the model, these are its elements
 *   arm(), disarm()         start and pause recording
 *   ops_mode()              a dispatch mode that records operations into this; for the
 *                           calling thread
 *   optimizer(begins)       an optimizer's step() begins or ends on this thread
 * With watch=True (a training's history):
 *   before_step(params, parameters, gradients, updates)  an optimizer's step() begins:
 *                           record these parameters, their gradients; keep a sample of
 *                           them for updates
 *   after_step()            it returned: measure the updates
 *   log(writer, number, graded, kinds, scalars[, skipped, relu_loss, loss]) -> list
 *                           write what was recorded as a step of the history: `graded`
 *                           is the phase of passes with gradients (0 training, 1
 *                           evaluation), `kinds` has a bit for each kind of series,
 *                           `scalars` is a list of (name, float). Adds the
 *                           scalar grad_norm. `skipped`: a gradient scaler skipped the
 *                           optimizer's step; `relu_loss` and `loss` (else that of the
 *                           scalars): as in judge/judge.h. Restarts the trace.
 *                           Returns the alarms as dicts; False: a call is running, and
 *                           nothing was done. Results measured on a device are written
 *                           and judged with the next step. `writer` may be a function:
 *                           it is called with (number, phase, parcel, checksum of the
 *                           parameters) instead (src/history/parcel.h)
 *   settle() -> list        write and judge the step that waits for its device; alarms
 *                           as dicts
 *   guard(tensors, gradients, bytes, turn) -> (index, nan, inf, -inf, of) or None
 *                           the first tensor (if `gradients`, of their .grad) that is
 *                           not finite; without `gradients` -Inf does not count. Beyond
 *                           `bytes`, a part of large tensors is scanned, another one
 *                           each `turn`
 *   judge_loss(writer or None, number, loss), judge_guard(writer, number, what, text),
 *   judge_run(writer, number, run) -> list
 *                           the functions of judge/judge.h; alarms as dicts
 *
 * Members: cost_ns, bytes (measured), errors, armed, hook_calls, n_ops, roots (a list);
 * and these can be set: hook_ns (cost of torch's hooked path per call), op_ns (of its
 * dispatch mode per operation), begin_ns, mode.
 * pre, post and raised never raise and return None. They ignore modules that are not
 * part of the model and do not stand for one that is (a DataParallel replica, the
 * result of torch.compile()). */
extern PyType_Spec recorder_spec;

/* _core.Hub(find_keywords, rare_before, rare_after, is_tracing, fx): calls listeners
 * from torch's hooks. Only the code that runs for every call is in C.
 *
 * notify_before(module, args) calls each of `before` with (module, args, kwargs), or
 * without kwargs if find_keywords() does not know them. notify_after(module, args[,
 * kwargs], result) calls each of `after` with (module, args, kwargs or None, result).
 * Exceptions of a listener are ignored. rare_before(...) and rare_after(...) are called
 * instead while `rare` is true, and while torch's compiler is loaded but not `watched`;
 * rare_after also when forward may have raised. Listeners are not called while torch
 * traces: is_tracing() is not None, or fx._is_fx_tracing_flag is true.
 * run_backward(method, roots, gradients, ...) calls each of `backwards` with (roots,
 * gradients), then method(roots, gradients, ...). */
extern PyType_Spec hub_spec;

/* _core.Budget(share): limits recording to a share of the user's time. next() returns
 * the mode for the next step: "full", "sampled", "guard" or "not recorded";
 * report(mode, user_ns, own_ns) adds the times of a step. Members: cost, fell_back. */
extern PyType_Spec budget_spec;

#endif
