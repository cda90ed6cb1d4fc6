"""Follows the training of one model for watch(): decides which passes are recorded and
when a step ends, and fills the histograms."""

import contextlib
import os
import warnings
import weakref

import torch

from torchoscope import _core, hooks, op_kinds
from torchoscope.compat.torchexplorer import core, structure
from torchoscope.compat.torchexplorer.histogram import IncrementalHistogram, Sampler
from torchoscope.compat.torchexplorer.rows import Rows
from torchoscope.compat.torchexplorer.samples import Attached, Samples
from torchoscope.device import hidden

_MOST_PASSES = 64  # of one step


class Explorer:
    """One watched model. A step ends with a backward that reaches a result of the model.
    In a logged step, and only there, a recorder sees all calls and gradients."""

    def __init__(self, root, options, params, wrapper, backend):
        self._root, self._options, self._params = weakref.ref(root), options, params
        self._wrapper, self._backend = wrapper, backend
        self._sampler = Sampler(params)
        self._pid = os.getpid()
        self._step = 0
        self._core = self._unlisten = self._rows = None
        self._reached = False  # by a backward, since the last pass
        self._depth = 0  # of backwards
        self._shown = False  # the step ended, and no pass began since
        self._inside = self._notified = False
        self._dummies = {}  # (id of a module, name) -> DummyAttachModule
        self._attached, self._taken, self._passes = [], [], 0
        for module in root.modules():
            core.give_metadata(module, self)
        self._unwrap = hooks.wrap_calls([root], self._call, self._lost)
        if self._unwrap is None:
            text = "watch() cannot follow a model that was compiled before: watch it "
            text += "first, or use torchoscope.watch(), which follows compiled models"
            raise RuntimeError(text)

    def is_of(self, module):
        return self._root() is module

    # --- error handling

    @contextlib.contextmanager
    def _guard(self):
        """Errors in here never reach the training; the first one gives a warning."""
        try:
            yield
        except Exception as problem:
            self._say(f"this step is not shown: {problem}")

    def _say(self, text):
        if not self._notified:
            self._notified = True
            with contextlib.suppress(Exception):  # a filter may make it an error
                warnings.warn(f"torchoscope: {text}", stacklevel=3)

    def _lost(self):
        self._say("torch compiles the model: it is no longer watched")
        self.end()

    def end(self):
        """End the watch; a step that waits for another backward ends too."""
        if self._reached and self._core is not None:
            with self._guard():
                self._finish()
        self._drop()
        unwrap, self._unwrap = self._unwrap, None
        if unwrap is not None:
            unwrap()

    def _drop(self):
        """Forget the step that is recorded."""
        recorder, self._core = self._core, None
        if recorder is not None:
            self._unlisten()
            with contextlib.suppress(Exception):
                recorder.stop()
        self._depth = 0

    # --- passes

    def _call(self, root, go, args, kwargs):
        """Makes a call of the model."""
        watched = root.training and torch.is_grad_enabled()
        if self._inside or os.getpid() != self._pid:
            return go(*args, **kwargs)
        if not watched:
            return self._call_unseen(go, args, kwargs)
        self._inside, copies = True, []
        try:
            with self._guard():
                self._begin(root)
                if self._core is not None and "io_grad" in self._options["log"]:
                    args, kwargs, copies = _with_gradients(root, args, kwargs)
            result = go(*args, **kwargs)
        except BaseException:
            self._drop()
            raise
        finally:
            self._inside = False
        with self._guard():
            self._end(root, result, copies)
        return result

    def _call_unseen(self, go, args, kwargs):
        """A pass of evaluation, perhaps in the middle of a step."""
        recorder = self._core
        if recorder is None:
            return go(*args, **kwargs)
        recorder.disarm()
        try:
            return go(*args, **kwargs)
        finally:
            if recorder is self._core:
                recorder.arm()

    def _begin(self, root):
        if self._reached and self._core is not None:  # delay_log_multi_backward
            self._finish()
        self._reached = self._shown = False
        if self._passes >= _MOST_PASSES:  # no backward comes: show the newest
            self._drop()
        if self._core is None and self._step % self._options["log_freq"] == 0:
            self._start(root)
        self._passes += 1

    def _start(self, root):
        log = self._options["log"]
        self._samples = Samples(self._sampler, "io" in log)
        ops = op_kinds.Wanted() if self._wrapper.structure is None else None
        recorder = _core.Recorder(
            root,
            type(root).__name__,
            device=self._samples,
            force_device=True,
            gradients="io_grad" in log,
            calls=0,
            lines=False,
            ops=ops,
        )
        if ops is not None:
            ops.mode = recorder.ops_mode
        weak = weakref.ref(self)  # a model deleted in the middle of a step deletes us too

        def backward(roots, gradients):
            if weak() is not None:
                weak()._backward(roots, gradients)

        def raised(module, args, error):
            recorder.raised(module, error)

        listener = hooks.Listener(recorder.pre, recorder.post, raised)
        listener.compiled, listener.backward = recorder.compiled, backward
        self._core = recorder
        self._unlisten = weakref.finalize(self, hooks.remove, listener)
        self._attached, self._taken, self._passes = [], [], 0
        hooks.add(listener)

    def _end(self, root, result, copies):
        _write_back(copies)
        weak = weakref.ref(self)

        def reached(_):
            if weak() is not None:
                weak()._reach()

        for _, tensor in _core._walk(result):
            if tensor.requires_grad:
                tensor.register_hook(reached)
        if self._core is not None and self._wrapper.structure is None:
            run = self._core.snapshot()
            calls = structure.calls_of(run, _names(root), root, self._attached)
            top = next(iter(calls.values()))
            self._wrapper.structure = structure.extract(run, calls, top)

    def attach(self, tensor, parent, name):
        """A tensor of a pass that is recorded."""
        if self._core is None or not self._inside:
            return
        key = id(parent), name
        if key not in self._dummies:
            self._dummies[key] = core.DummyAttachModule(name)
            core.give_metadata(self._dummies[key], self)
        dummy = self._dummies[key]
        number = sum(one.module is dummy for one in self._attached)
        value = self._core.op_value(tensor)
        one = Attached(parent, dummy, number, _core.clock_ns(), value, tensor)
        self._attached.append(one)
        if "io" in self._options["log"]:
            one.values = self._sampler.sample(tensor)
        if "io_grad" in self._options["log"] and tensor.requires_grad:
            tensor.register_hook(lambda grad: self._attached_gradient(one, grad))

    def _attached_gradient(self, attached, gradient):
        with self._guard():
            attached.norms = self._sampler.norms(gradient)

    # --- the end of a step

    def _reach(self):
        """A backward reached a result of the model."""
        if self._shown:
            text = "a second backward of a step is not shown; watch the model with "
            self._say(f"{text}delay_log_multi_backward=True")
        if not self._reached and self._core is None:
            self._step += 1
        self._reached = True

    def _backward(self, roots, gradients):
        with self._guard():
            recorder = self._core
            if recorder is None:
                return
            recorder.backward(roots, gradients)
            self._depth += 1 if roots is not None else -1
            if self._depth <= 0 and self._reached:
                self._depth = 0
                self._take_parameters()
                if not self._options["delay"]:
                    self._finish()

    def _take_parameters(self):
        """Samples of all parameters and of their current gradients."""
        log, self._taken = self._options["log"], []
        for module in self._root().modules():
            for name, param in module._parameters.items():
                if param is None or isinstance(param, torch.nn.UninitializedParameter):
                    continue
                value = grad = None
                if "params" in log:
                    value = self._sampler.sample(param)
                if "params_grad" in log and param.grad is not None:
                    grad = self._sampler.sample(param.grad)
                self._taken.append((module, name, value, grad))

    def _finish(self):
        root, recorder, self._core = self._root(), self._core, None
        self._unlisten()
        step, self._step = self._step, self._step + 1
        self._shown = True
        try:
            run = recorder.stop()
            time = self._time(root, step)
            ungraded = self._ungraded(root)
            for call in structure.calls_of(run, _names(root), root).values():
                self._count_call(call, ungraded)
            self._count_rest()
            for module in [*root.modules(), *self._dummies.values()]:
                for hist in module.torchexplorer_metadata.histograms():
                    if any(hist.bin_counts):
                        hist.push_history(time)
        finally:
            self._attached, self._taken, self._samples = [], [], None
        self._show()

    def _time(self, root, step):
        try:
            return self._options["time"](root, step)
        except Exception as problem:
            self._say(f"time_log failed, steps are shown instead: {problem!r}")
            return step

    def _show(self):
        if not self._backend.rows or self._wrapper.structure is None:
            return
        if self._rows is None:
            self._rows = Rows(self._wrapper.structure)
        self._backend.update(self._rows.now())

    # --- histograms

    def _ungraded(self, root):
        """ids of the modules whose gradients are not shown: ignore_io_grad_classes, and
        modules that are only below them."""
        ignored = self._options["ignored"]
        found, todo = {id(module) for module in root.modules()}, [root]
        while todo:
            module = todo.pop()
            if type(module) not in ignored and id(module) in found:
                found.discard(id(module))
                todo += module.children()
        return found

    def _hists(self, table, key, inputs, outputs):
        """The histograms of a call in a table of its metadata, at least so many."""
        hists = table.setdefault(key, core.ModuleInvocationHistograms())
        for some, n in ((hists.input_hists, inputs), (hists.output_hists, outputs)):
            some += [IncrementalHistogram(self._params) for _ in range(n - len(some))]
        return hists

    def _count_call(self, call, ungraded):
        metadata, key = call.module.torchexplorer_metadata, call.invocation
        count = len(call.inputs), len(call.outputs)
        metadata.forward_invocation_counter = key + 1
        self._see_sizes(metadata.input_sizes.setdefault(key, []), call.inputs)
        self._see_sizes(metadata.output_sizes.setdefault(key, []), call.outputs)
        if "io" in self._options["log"]:
            hists = self._hists(metadata.invocation_hists, key, *count)
            for hist, value in zip(hists.input_hists, call.inputs):
                hist.count(self._samples.values.get(value.get("value")))
            for hist, value in zip(hists.output_hists, call.outputs):
                hist.count(self._samples.values.get(value.get("value")))
        row = call.row
        grads = row.get("grad_inputs", ()), row.get("grad_outputs", ())
        if any(grads) and id(call.module) not in ungraded:
            hists = self._hists(metadata.invocation_grad_hists, key, *count)
            self._count_gradients(hists.input_hists, call.inputs, grads[0])
            self._count_gradients(hists.output_hists, call.outputs, grads[1])

    def _count_gradients(self, hists, values, gradients):
        at = {value["path"]: i for i, value in enumerate(values)}
        for one in gradients:
            if one["path"] in at:
                norms = self._samples.values.get(one.get("value"))
                hists[at[one["path"]]].count(norms)

    def _see_sizes(self, trackers, values):
        for i, value in enumerate(values):
            kind = self._samples.types.get(value.get("value"), "Tensor")
            if i < len(trackers):
                trackers[i].see(value.get("shape") or [])
            else:
                trackers.append(core.SizeTracker(list(value.get("shape") or []), kind))

    def _count_rest(self):
        """Attached tensors and parameters."""
        for one in self._attached:
            metadata, key = one.module.torchexplorer_metadata, one.invocation
            for sizes in (metadata.input_sizes, metadata.output_sizes):
                sizes.setdefault(key, [core.SizeTracker(one.shape, one.type)])
                sizes[key][0].see(one.shape)
            for table, values in (
                (metadata.invocation_hists, one.values),
                (metadata.invocation_grad_hists, one.norms),
            ):
                if values is not None:
                    hists = self._hists(table, key, 1, 1)
                    hists.input_hists[0].count(values)
                    hists.output_hists[0].count(values)
        for module, name, value, grad in self._taken:
            shared = module.torchexplorer_metadata.shared_hists
            pairs = (shared.param_hists, value), (shared.param_grad_hists, grad)
            for table, values in pairs:
                if values is not None:
                    if name not in table:
                        table[name] = IncrementalHistogram(self._params)
                    table[name].count(values)


def _names(root):
    return dict(root.named_modules(remove_duplicate=False))


# --- gradients of the model's inputs


def _with_gradients(root, args, kwargs):
    """The arguments, with copies in place of floating-point tensors that require no
    gradient: the gradients of a logged step go on to the inputs, as in TorchExplorer.
    Also [(tensor, its copy, version)]."""
    if not any(param.requires_grad for param in root.parameters()):
        return args, kwargs, []
    copies = []

    def graded(value):
        if type(value) is not torch.Tensor or value.requires_grad:
            return value
        if not value.dtype.is_floating_point or value.layout != torch.strided:
            return value
        with hidden():
            leaf = value.detach().requires_grad_(True)
            with torch.enable_grad():
                copy = leaf.clone()  # not a leaf: it may be written in place
        copies.append((value, copy, copy._version))
        return copy

    args = tuple(map(graded, args))
    return args, {key: graded(value) for key, value in kwargs.items()}, copies


def _write_back(copies):
    """A model that writes to its input in place wrote to the copy."""
    for tensor, copy, version in copies:
        if copy._version != version:
            with hidden():
                tensor.copy_(copy.detach())
