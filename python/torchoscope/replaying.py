"""replay(): runs the step of a capsule again and finds the operation that caused
NaN."""

import contextlib
import json
import os

import torch
from torch.nn.modules.batchnorm import _NormBase

from torchoscope import _core
from torchoscope.capsule import dotted, outputs, tensors_of
from torchoscope.capsule_file import VERSION
from torchoscope.bad_values import about_op, is_bad
from torchoscope.plain_tree import Lost, Unreadable, read
from torchoscope.recorder import record
from torchoscope.recording import tensor_of
from torchoscope.restore import modules_of, state_guard
from torchoscope.traces import loss_of


def replay(path, model):
    """Run the step of a capsule again and find the first operation that returns a
    non-finite value.

    path   a .nan.scope file, saved by watch()
    model  the same model, newly created: it gets the parameters, buffers and train or
           eval modes of the file

    Returns a Replayed. docs/python.md has the details."""
    capsule = _Opened(path)
    modules = list(modules_of(model))
    capsule.load(modules)
    done = Replayed(capsule.path, capsule.about, capsule.lost)
    try:
        passes = [_Pass(capsule, one, dict(modules)) for one in capsule.passes]
    except Lost:
        done._why = f"it needs {'; '.join(capsule.lost)}"
        return done
    backward = capsule.about["where"] != "forward"
    with state_guard(model):
        recording = record(model, ops="stats", gradients=backward, parameters=False)
        with recording:
            for one in passes:
                result = one.forward()
                done.results.append(result)
                if backward and one.graded:
                    done.notes += _backward(result, one.gradients)
    done._found(recording, capsule)
    return done


class _Pass:
    """One call of the model. Reads the file before the recording begins."""

    def __init__(self, capsule, about, modules):
        with capsule.checked():
            self._module = modules[about["module"]]
            self._args, self._kwargs = capsule.inputs(about)
            self.gradients = capsule.gradients(about)
            self._random = {key: capsule.kept(n) for key, n in about["random"].items()}
            kinds = about["autocast"].items()
            self._autocast = {kind: read({"dtype": one}, None) for kind, one in kinds}
            self.graded, self._inference = bool(about["grad"]), bool(about["inference"])

    def forward(self):
        for name, state in self._random.items():
            if name == "cpu":
                torch.set_rng_state(state)
            elif torch.cuda.is_available():
                torch.cuda.set_rng_state(state, name)
        with contextlib.ExitStack() as stack:
            for kind, dtype in self._autocast.items():
                stack.enter_context(torch.autocast(kind, dtype=dtype))
            stack.enter_context(torch.inference_mode(self._inference))
            stack.enter_context(torch.set_grad_enabled(self.graded))
            return self._module(*self._args, **self._kwargs)


def _backward(result, gradients):
    """Runs the backward; returns notes on differences from the training."""
    found = list(outputs(result))
    if gradients is None or len(gradients) != len(found):
        total, source = loss_of(result, None)
        if total is None:
            return ["no backward ran: nothing in the result requires a gradient"]
        total.backward()
        text = "the gradients of the results are not in the file"
        return [f"{text}: backward from {source}"]
    pairs = [pair for pair in zip(found, gradients) if pair[1] is not None]
    if pairs:
        torch.autograd.backward(*map(list, zip(*pairs)))
    return []


class _Told(ValueError):
    """A sentence about a file."""


_DAMAGE = (TypeError, ValueError, LookupError, OverflowError, AttributeError)
_DAMAGE += (RecursionError,)


class _Opened:
    """A capsule, read from its file, which is not trusted."""

    def __init__(self, path):
        self.path = os.fspath(path)
        self._run = _core.open_run(self.path)
        text = self._run.facts().get("capsule")
        if text is None:
            how = "watch() saves one as .nan.scope"
            raise ValueError(f"{self.path} is not a capsule; {how}")
        with self.checked():
            found = json.loads(text)
            if found["version"] != VERSION:
                text = "has another version; update torchoscope to replay it"
                raise Unreadable(f"the capsule {text}")
            self.about = {key: found[key] for key in ("step", "where", "text")}
            self.passes, self._state = list(found["passes"]), dict(found["state"])
            self._unread = set()  # running statistics in training: only written
            self._frozen, self._eval = set(found["frozen"]), set(found["eval"])
            self.lost = [str(one) for one in found["lost"]]
            for one in self.passes:
                self.lost += [str(text) for text in one["lost"]]

    @contextlib.contextmanager
    def checked(self):
        """Errors of a damaged file as one sentence."""
        try:
            yield
        except (Lost, _Told):
            raise
        except Unreadable as error:
            raise _Told(f"{self.path}: {error}") from None
        except _DAMAGE as error:
            raise _Told(f"{self.path}: damaged: {error!r}") from None

    def kept(self, number):
        with self.checked():
            return tensor_of(*self._run.kept_at(number))

    # --- the model

    def load(self, modules):
        """The parameters, buffers and modes of the file become those of the model."""
        own = {}
        for kind in ("_parameters", "_buffers"):
            own |= tensors_of(modules, kind)
        if self._state:
            self._check_names(own)
            for name, number in self._state.items():
                self._load_one(name, own[name], number)
        for name, module in modules:
            module.training = name not in self._eval
            if module.training and isinstance(module, _NormBase):
                self._unread |= {dotted(name, key) for key in module._buffers}
            for key, one in module._parameters.items():
                if one is not None and one.is_leaf:
                    one.requires_grad_(dotted(name, key) not in self._frozen)

    def _check_names(self, own):
        known = {text.partition(":")[0] for text in self.lost} | self._state.keys()
        missing = [name for name in own if name not in known]
        unknown = [name for name in self._state if name not in own]
        kinds = (unknown, "the model has no"), (missing, "the file has no")
        for names, text in kinds:
            if names:
                more = f" and {len(names) - 3} more" if len(names) > 3 else ""
                raise ValueError(f"{self.path}: {text} {', '.join(names[:3])}{more}")

    def _load_one(self, name, to, number):
        value = self.kept(number)
        if value.shape != to.shape or value.dtype != to.dtype:
            theirs, ours = (f"{_word(one)} {list(one.shape)}" for one in (value, to))
            text = f"{name} is {theirs}, but {ours} in the model"
            raise ValueError(f"{self.path}: {text}")
        with torch.no_grad():
            to.copy_(value)

    # --- a pass

    def inputs(self, one):
        """(args, kwargs)"""
        tensors = {}

        def tensor(number):
            if number not in tensors:
                tensors[number] = self._input(one["inputs"][number])
            return tensors[number]

        with self.checked():
            args = [read(tree, tensor) for tree in one["args"]]
            named = one["kwargs"].items()
            return args, {key: read(tree, tensor) for key, tree in named}

    def _input(self, about):
        if about["kept"] is None:
            raise Lost(about["at"])  # self.lost has the reason
        value = self.kept(about["kept"])
        if list(value.stride()) != about["strides"]:
            with contextlib.suppress(RuntimeError):  # elements that share memory
                strides, kind = about["strides"], value.dtype
                laid = torch.empty_strided(value.shape, strides, dtype=kind)
                value = laid.copy_(value)
        value = _on(about["device"], value)
        return value.requires_grad_() if about["grad"] else value

    def gradients(self, one):
        numbers = one["gradients"]
        if numbers is None:
            return None
        return [None if number is None else self.kept(number) for number in numbers]

    # --- what was not finite before

    def bad_before(self):
        """A sentence about a tensor that was not finite to begin with, or None."""
        for name, number in self._state.items():
            if name not in self._unread and is_bad(self.kept(number)):
                return f"{name} was not finite when the step began"
        for one in self.passes:
            for about in one["inputs"]:
                if about["kept"] is not None and is_bad(self.kept(about["kept"])):
                    return f"an input was not finite: {about['at']}"
            for i, gradient in enumerate(self.gradients(one) or ()):
                if gradient is not None and is_bad(gradient):
                    text = "the gradient that reached the model was not finite"
                    return f"{text} (result {i}): look at the loss"
        return None


def _on(device, value):
    with contextlib.suppress(RuntimeError, AssertionError):  # not on this machine
        return value.to(device)
    return value


def _word(tensor):
    return str(tensor.dtype).partition(".")[2]


class Replayed:
    """The result of replay(). str() is the text.

    reproduced  did a value become not finite again?
    op          the Op that returned the first such value, or None
    where, step, text   what was found in training
    lost        what is missing from the capsule, a list of sentences
    notes       how this run differs from the training, a list of sentences
    results     the results of the model, one for each pass
    recording   the Recording, with all operations"""

    def __init__(self, path, about, lost):
        self.path, self.lost, self.notes, self.results = path, lost, [], []
        self.step, self.where, self.text = about["step"], about["where"], about["text"]
        self.reproduced, self.op, self.recording, self._why = False, None, None, None

    def _found(self, recording, capsule):
        self.recording = recording
        self._why = capsule.bad_before()
        number, self.reproduced = recording._now().producer()
        self.op = None if number is None else recording.ops()[number]
        if self._why is not None:
            self.op, self.reproduced = None, True

    def __str__(self):
        lines = [f"{self.path}: step {self.step}, {self.where}: {self.text}"]
        if self.op is not None:
            lines += about_op(self.op, self.recording)
        elif self.reproduced:
            why = self._why or "no operation of the model began it"
            lines.append(f"reproduced: {why}")
        elif self._why is not None:
            lines.append(f"not reproduced: {self._why}")
        else:
            outside = "code outside the model, such as the loss, did not run"
            reason = "; ".join(self.lost) or outside
            lines.append(f"not reproduced: every value is finite; {reason}")
        if self.lost and self.reproduced:
            lines += [f"note: {text}" for text in self.lost]
        return "\n".join([*lines, *(f"note: {text}" for text in self.notes)])

    def __repr__(self):
        state = "reproduced" if self.reproduced else "not reproduced"
        return f"<torchoscope.Replayed of {self.path}: {state}>"
