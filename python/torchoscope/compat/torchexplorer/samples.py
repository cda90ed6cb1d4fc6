"""Collects a sample of each tensor from the recorder in a logged step."""

import torch


class Samples:
    """Replaces a device (torchoscope/device.py): the recorder calls add() once for each
    tensor. `values` is {number of the value: list of floats}; `types` has tensor.type()
    of those of forward."""

    timed = False
    mode = "full"

    def __init__(self, sampler, forward):
        self._sampler, self._forward = sampler, forward  # forward: take values of forward
        self.values, self.types = {}, {}

    def add(self, value, tensor):
        if torch._C._current_graph_task_id() != -1:  # a gradient
            self.values[value] = self._sampler.norms(tensor)
        else:
            self.types[value] = tensor.type()
            if self._forward:
                self.values[value] = self._sampler.sample(tensor)

    def finish(self):
        return []


class Attached:
    """A tensor that was passed to attach() in a logged pass."""

    def __init__(self, parent, module, invocation, time, op_value, tensor):
        self.parent, self.module, self.invocation = parent, module, invocation
        self.time, self.op_value = time, op_value
        self.shape, self.type = list(tensor.shape), tensor.type()
        self.dtype = str(tensor.dtype).partition(".")[2]
        self.values = self.norms = None  # lists of floats
