"""The recording in the file of a watched training: its first logged step with a
backward, including operations if recording them does not affect the user's code.

A dispatch mode records the operations. It is entered when the step's first pass begins
and left when the step ends. Compiled code would be recompiled with it, so it is not
entered if a module of the model is or was compiled, and left when torch begins to
compile. A step that turns out to have no backward (a warm-up, evaluation) is replaced
by the first one that has, and with several models a step that calls all of them is
preferred.
"""

import contextlib
import sys

import torch

from torchoscope import hooks, op_kinds
from torchoscope.recorder import op_cost

_TRIES = 4  # steps with gradients enabled, but without a backward
_OP_BYTES = 200  # estimate, in the file
_SHARE = 8  # operations may take 1/8 of the file's limit
_MOST = 1 << 18  # operations, as in src/run/trace_ops.h
_CUT = "torch compiled code in this step: operations after that were not recorded"


class FirstStep:
    """Records operations of the first steps of a Watch. `steps` is its Steps."""

    def __init__(self, recorder, steps, limit, resumes):
        self._recorder, self._steps = recorder, steps
        self._most = max(1, min(_MOST, limit // (_OP_BYTES * _SHARE)))
        self._left = 0 if resumes else _TRIES
        self._plain = not resumes  # no step was seen yet, not even without gradients
        self._active = self._cut = False  # in the current step
        self._mode, self._hooks = None, []
        self._spent = 0
        self._wants_run = not resumes  # the file has no step with a backward yet
        self._called = self._tries = 0  # roots called in the stored step; steps tried

    def step_begins(self):
        """A logged step begins, with a pass."""
        self._leave_hooks()
        self._leave()
        graded = torch.is_grad_enabled()
        if self._left <= 0 or not (graded or self._plain) or not self._may():
            return
        self._left, self._plain = self._left - graded, False
        core = self._recorder._core
        core.op_ns = core.op_ns or op_cost()
        wanted = op_kinds.Wanted(limit=self._most)
        core.ops_begin(wanted)
        wanted.mode = core.ops_mode
        self._active, self._cut, self._spent = True, False, core.ops_ns
        self._follow_optimizers(core)
        frame = _step_of(sys._getframe(1))
        if frame is not None:  # step(closure) calls the model
            core.optimizer(frame)

    def pass_begins(self):
        if not self._active:
            self._leave()
        elif self._mode is None and not (_is_compiling() or hooks.in_compiled()):
            self._mode = op_kinds.Entered(self._recorder._core.ops_mode())

    def pass_ends(self, result):
        """If forward raised, the user may continue with something else."""
        if result is None and sys.exc_info()[0] is not None and not _in_backward():
            self._leave()

    def compiles(self):
        """torch begins to compile something. The mode stays until that is done, because
        torch restores modes that it took off its stack meanwhile."""
        if self._active:
            self._cut = True
            self._recorder._core.gap("compiled", None, _CUT)
            self._end()

    def step_ends(self):
        """No more operations of this step."""
        self._leave()
        if self._active:
            self._end()

    def _end(self):
        self._active = False
        core = self._recorder._core
        core.ops_end()
        self._steps.excuse(core.ops_ns - self._spent)

    def close(self):
        self.step_ends()
        self._leave_hooks()

    def logged(self, watch, is_filed):
        """Should this logged step be the recording in the file? `is_filed`: it already
        is."""
        if not (self._wants_run and watch._backwards):
            return
        before, core = watch._run, self._recorder._core
        roots = core.roots
        called = sum(core.calls(one) > 0 for one in roots)
        more, self._called = called > self._called, max(called, self._called)
        self._tries += 1
        self._wants_run = called < len(roots) and self._tries < _TRIES
        if not self._wants_run:
            self._left = 0
        if is_filed or not more or before is None or not core.same_model:
            return
        run = watch._recorded()
        if before.n_ops and not run.n_ops:
            return
        if watch._target.how == "new":
            watch._writer.replace_run(run)
        watch._run = run

    def _may(self):
        """Can a mode be entered without affecting the user's code?"""
        recorder = self._recorder
        return (
            op_kinds.why_not() is None
            and self._steps._watched
            and not _is_compiling()
            and not any(map(_is_compiled, (module for _, module in recorder._modules)))
        )

    def _leave(self):
        # Compiled code that calls us would partly undo it: wait for the next call.
        if self._mode is not None and not hooks.in_compiled() and self._mode.leave():
            self._mode = None

    def _follow_optimizers(self, core):
        # Called by torch itself: the core looks at the frame of the caller.
        module = sys.modules["torch.optim.optimizer"]
        before = module.register_optimizer_step_pre_hook
        after = module.register_optimizer_step_post_hook
        self._hooks.append(before(hooks.hide(lambda *_: core.optimizer(True))))
        self._hooks.append(after(hooks.hide(lambda *_: core.optimizer(False))))

    def _leave_hooks(self):
        """Not in an optimizer's hook, which must not remove others."""
        while self._hooks:
            with contextlib.suppress(Exception):
                self._hooks.pop().remove()


def _step_of(frame):
    """The frame of torch's around the step() of an optimizer that called `frame`, or
    None."""
    file = sys.modules["torch.optim.optimizer"].__file__
    found = None
    while frame is not None:
        code = frame.f_code
        if code.co_filename == file and code.co_name == "wrapper":
            found = frame
        frame = frame.f_back
    return found


def _is_compiled(module):
    """Is it the result of torch.compile(), or compiled in place?"""
    call = module.__dict__.get("_compiled_call_impl")
    if call is not None and not getattr(call, "only_watches", False):
        return True
    return "_orig_mod" in module._modules


def _is_compiling():
    compiler = getattr(torch, "compiler", None)
    return hasattr(compiler, "is_compiling") and compiler.is_compiling()


def _in_backward():
    return torch._C._current_graph_task_id() != -1
