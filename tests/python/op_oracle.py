"""An independent record of operations, for tests: a dispatch mode in Python that knows
for every byte of memory which operation wrote it last.

It finds writes by comparing memory before and after each operation, in addition to
those in the schema, and shares no code with the recorder. It keeps all storages, so
that no address is used twice."""

import collections
import contextlib

import numpy
import torch
from torch.nn.modules import module as torch_module
from torch.utils._python_dispatch import TorchDispatchMode

# A tensor among the arguments or results. `writers`: operations that wrote its bytes,
# -1 for bytes written before.
Tensor = collections.namedtuple("Tensor", "arg item shape dtype strides offset writers")
Operation = collections.namedtuple(
    "Operation", "name overload attributes inputs outputs module is_view"
)


class Oracle(TorchDispatchMode):
    def __init__(self, model):
        super().__init__()
        self.ops = []
        self._names = {one: name for name, one in model.named_modules()}
        self._open = []
        self._storages, self._writers = {}, {}
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        before = torch_module.register_module_forward_pre_hook(self._begin)
        after = torch_module.register_module_forward_hook(self._end)
        self._stack.callback(before.remove)
        self._stack.callback(after.remove)
        return super().__enter__()

    def __exit__(self, *error):
        self._stack.close()
        return super().__exit__(*error)

    def _begin(self, module, args):
        if module in self._names:
            self._open.append(self._names[module])

    def _end(self, module, args, result):
        if module in self._names:
            self._open.pop()

    # --- memory

    def _memory(self, tensor):
        """(key, bytes of the storage as a numpy array)"""
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key not in self._storages:
            self._storages[key] = storage
            self._writers[key] = numpy.full(storage.nbytes(), -1, numpy.int32)
        flat = torch.empty(0, dtype=torch.uint8).set_(storage)
        return key, flat.numpy()

    def _region(self, tensor):
        """The writers of the tensor's bytes, as a view that can be written to."""
        key, _ = self._memory(tensor)
        size = tensor.element_size()
        writers = self._writers[key][tensor.storage_offset() * size :]
        strides = [4 * size * one for one in tensor.stride()]
        shape = (*tensor.shape, size)
        if not tensor.numel():
            return numpy.empty(0, numpy.int32)
        return numpy.lib.stride_tricks.as_strided(writers, shape, (*strides, 4))

    def _seen(self, arg, item, tensor):
        writers = frozenset(map(int, numpy.unique(self._region(tensor))))
        return Tensor(
            *(arg, item, tuple(tensor.shape), str(tensor.dtype)[6:], tensor.stride()),
            *(tensor.storage_offset(), writers),
        )

    # --- operations

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func.namespace == "profiler":  # marks for profilers compute nothing
            return func(*args, **kwargs)
        number, schema = len(self.ops), func._schema
        given = _given(schema, args, kwargs)
        tensors = [
            (name, item, one)
            for name, value in given.items()
            for item, one in _tensors(value)
        ]
        inputs = [self._seen(*one) for one in tensors]
        before = {}
        for _, _, one in tensors:
            key, held = self._memory(one)
            before[key] = held.copy()
        result = func(*args, **kwargs)
        written = {
            one.name
            for one in schema.arguments
            if one.alias_info is not None and one.alias_info.is_write
        }
        for name, _, one in tensors:
            key, held = self._memory(one)
            self._writers[key][: len(before[key])][held != before[key]] = number
            if name in written:
                self._region(one)[...] = number
        several = isinstance(result, (tuple, list)) and len(schema.returns) > 1
        returned = result if several else [result]
        outputs = []
        for position, value in enumerate(returned):
            for item, one in _tensors(value):
                if one.untyped_storage()._cdata not in self._storages:
                    self._region(one)[...] = number
                outputs.append(self._seen(position, item, one))
        attributes = {
            name: _plain(value)
            for name, value in given.items()
            if not list(_tensors(value))
        }
        is_view = not written and any(one.alias_info for one in schema.returns)
        where = self._open[-1] if self._open else None
        seen = inputs, outputs, where, is_view
        self.ops.append(Operation(schema.name, schema.overload_name, attributes, *seen))
        return result


def _given(schema, args, kwargs):
    """All arguments by name, with defaults."""
    found = {}
    for at, one in enumerate(schema.arguments):
        if at < len(args):
            found[one.name] = args[at]
        elif one.name in kwargs:
            found[one.name] = kwargs[one.name]
        elif one.has_default_value():
            found[one.name] = one.default_value
    return found


def _tensors(value):
    """(position in a list or None, tensor)"""
    if isinstance(value, torch.Tensor):
        yield None, value
    elif isinstance(value, (list, tuple)):
        for item, one in enumerate(value):
            if isinstance(one, torch.Tensor):
                yield item, one


def _plain(value):
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value).removeprefix("torch.")
