"""Saves a capsule as a recording: docs/run-file.md, "Capsules"."""

import json
import os
import sys
import time

import torch

from torchoscope import _core
from torchoscope.capsule import dense, tensors_of
from torchoscope.clock import clock_of
from torchoscope.device import Device
from torchoscope.plain_tree import read

VERSION = 1
STATE_MOST = 4 << 30  # more bytes of parameters and buffers are not saved


def save(capsule, path, model, name, about):
    """Write the file. `about`: `step`, `where` and `text` of what was found."""
    device = Device("full", clock_of(()))
    core = _core.Recorder(model, name, device=device, gradients=False, lines=False)
    with torch.no_grad():
        file = _File(core)
        core.fact("torch", str(torch.__version__))
        core.fact("python", ".".join(map(str, sys.version_info[:3])))
        core.fact("threads", torch.get_num_threads())
        core.fact("when", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
        found = {"version": VERSION, **about, "lost": []}
        if capsule.dropped:
            text = f"the first {capsule.dropped} passes of the step were not held"
            found["lost"].append(text)
        found["state"] = file.put_state(capsule, found["lost"])
        modules = dict(capsule.modules)
        found["passes"] = [file.put_pass(one, modules) for one in capsule.passes]
        params = tensors_of(capsule.modules, "_parameters")
        found["frozen"] = [name for name, one in params if not one.requires_grad]
        found["eval"] = [name for name, one in modules.items() if not one.training]
        core.fact("capsule", json.dumps(found))
        said = f"step {about['step']}, {about['where']}: {about['text']}"
        core.fact("capsule_about", said)
        core.stop().save(os.fspath(path))


class _File:
    def __init__(self, core):
        self._core = core
        self._held = []  # the file is written from the memory of these

    def put(self, tensor, of=None):
        """The number of a dense tensor in the file; `of`: the model's own."""
        self._held.append(tensor)
        return self._core.lend(tensor, tensor if of is None else of)

    def put_state(self, capsule, lost):
        params, changed = capsule.parameters()
        buffers = capsule.buffers()
        tensors = [one for _, one in params] + [one for one, _ in buffers.values()]
        total = sum(one.numel() * one.element_size() for one in tensors)
        if total > STATE_MOST:
            size = _core.format_bytes(total)
            lost.append(f"{size} of parameters and buffers are too many to save")
            return {}
        if changed:
            text = "parameters changed after the step began: saved as they were later"
            lost.append(text)
        state = {}
        for name, one in params:
            state[name] = self._put_own(name, one, one, lost)
        for name, (one, then) in buffers.items():
            if then is None:
                text = "overwritten after the step began, saved as it was later"
                lost.append(f"{name}: {text}")
            state[name] = self._put_own(name, one if then is None else then, one, lost)
        return {name: number for name, number in state.items() if number is not None}

    def _put_own(self, name, tensor, of, lost):
        if type(tensor).__name__ == "DTensor" or tensor.layout is not torch.strided:
            lost.append(f"{name}: a sharded or sparse tensor is not saved")
            return None
        return self.put(dense(tensor), of)

    def put_pass(self, one, modules):
        """The pass as JSON; its inputs become those of a call in the recording."""
        lost, inputs, tensors = list(one.lost), [], []
        for held in one.held:
            tensor = held.dense()
            number = None if tensor is None else self.put(tensor)
            if tensor is None:
                lost.append(f"{held.where}: {held.lost}")
            inputs.append({**held.about, "kept": number})
            tensors.append(tensor)
        grads = self._put_gradients(one, lost)
        random = {key: self.put(state) for key, state in one.random.items()}
        found = {"module": one.module, "args": one.args, "kwargs": one.kwargs}
        found |= {"inputs": inputs, "gradients": grads, "random": random, "lost": lost}
        self._show(modules[one.module], one, tensors)
        return {**found, **one.modes}

    def _put_gradients(self, one, lost):
        """The gradient of each result; None: no backward, or none was recorded."""
        if not one.grads:
            return None
        found = []
        for i in range(one.n_grads):
            held = one.grads.get(i)
            tensor = None if held is None else held.dense()
            if held is not None and tensor is None:
                lost.append(f"the gradient of result {i}: {held.lost}")
            found.append(None if tensor is None else self.put(tensor))
        return found

    def _show(self, module, one, tensors):
        """A call with these inputs, shown when the file is opened."""
        try:
            args = tuple(read(tree, tensors.__getitem__) for tree in one.args)
            items = one.kwargs.items()
            kwargs = {key: read(tree, tensors.__getitem__) for key, tree in items}
        except ValueError:  # a part of them is lost
            args, kwargs = tuple(tensors), {}
        self._core.pre(module, args, kwargs)
        self._core.post(module, args, kwargs, None)
