"""Inputs for a model: tensors, shapes turned into tensors, or the model's own example
inputs by default. See docs/python.md, "Inputs".

Random values come from a separate generator with seed 0: they are reproducible and do
not change the user's random state.
"""

import copy
import re
import types
from collections.abc import Mapping

import torch

from torchoscope.defaults import Shape, candidates
from torchoscope.keywords import forward_parameters
from torchoscope.restore import roots_of

_TEXT = re.compile(r"\s*(\d+(?:\s*[x×]\s*\d+)*)\s*(?::\s*(?:torch\.)?(\w+))?\s*")
_UNCHANGING = (
    *(type(None), bool, int, float, complex, str, bytes, range, slice, type),
    *(torch.dtype, torch.device, torch.Size, torch.layout, torch.memory_format),
    *(types.FunctionType, types.BuiltinFunctionType, torch.nn.Module),
)
_EMBEDDINGS = (torch.nn.Embedding, torch.nn.EmbeddingBag)


class Inputs:
    """Arguments for calls of a model. `is_empty`: there are none to call it with.
    `description` describes them for the user; make() sets it."""

    def __init__(self, model, args=(), kwargs=None):
        self._model = model
        self._dtype, self._device = _kind_of(model)
        self._generator = torch.Generator().manual_seed(0)
        self._made = []  # (Shape, tensor)
        self.source = None  # the origin of default inputs
        self._others = iter(())  # more default inputs to try
        args, kwargs = _understood(model, tuple(args), dict(kwargs or {}))
        self.is_empty = not args and not kwargs
        if not self.is_empty:
            self._args, self._kwargs = _typed(model, args, kwargs)
            return
        self._others = _brought_along(model, self._device)
        self.is_empty = not self.try_others()

    def try_others(self):
        """Switch to the next default inputs, after the current ones did not fit.
        Returns False if there are none."""
        found = next(self._others, None)
        if found is not None:
            self._args, self._kwargs, self.source = found
        return found is not None

    def can_repeat(self):
        """Can a model be called with these more than once? Not if one of them is
        mutable and cannot be copied: a generator, a file."""
        try:
            for one in _objects([*self._args, *self._kwargs.values()]):
                copy.deepcopy(one)
        except Exception:
            return False
        return True

    def make(self, with_copies=False):
        """(args, kwargs) for a call. The model may write to their tensors, and with
        `with_copies` to all other objects too."""
        self._made = []
        self._with_copies = with_copies
        self._generator.manual_seed(0)
        memo = {}
        args = tuple(self._tensor(one, memo) for one in self._args)
        kwargs = {key: self._tensor(one, memo) for key, one in self._kwargs.items()}
        self.description = self._in_words(args, kwargs)
        return args, kwargs

    def fits_after(self, error):
        """Call this after a call raised. If an embedding got random floats made here,
        make integers from now on and return True: another call may succeed."""
        given = _given_to_embedding(error)
        floats = [one for one in self._made if one[0].dtype is None]
        if given is None or not floats:
            return False
        is_fake = type(given).__name__ == "FakeTensor"  # it has no elements
        pointer = 0 if is_fake else given.data_ptr()
        meant = [one for one in floats if one[1].data_ptr() == pointer != 0]
        meant = meant or [one for one in floats if one[1].shape == given.shape]
        for shape, _ in meant or floats:
            shape.dtype = torch.int64
        return True

    def _tensor(self, given, memo):
        """The same structure with all tensors created or copied. An object that occurs
        twice stays one object."""
        if id(given) in memo:
            return memo[id(given)]
        if isinstance(given, Shape):
            made = self._random(given)
            self._made.append((given, made))
        elif isinstance(given, torch.Tensor):
            made = _copy(given)
        elif type(given) in (list, tuple):
            made = type(given)(self._tensor(one, memo) for one in given)
        elif type(given) is dict:
            made = {key: self._tensor(one, memo) for key, one in given.items()}
        elif self._with_copies and not isinstance(given, _UNCHANGING):
            made = copy.deepcopy(given)
        else:
            return given
        memo[id(given)] = made
        return made

    def _random(self, shape):
        dtype, generator = shape.dtype or self._dtype, self._generator
        if isinstance(shape.value, list):
            made = torch.tensor(shape.value, dtype=dtype)
        elif shape.value is not None:
            made = torch.full(shape.sizes, shape.value, dtype=dtype)
        elif dtype.is_floating_point or dtype.is_complex:
            # Some versions of torch have no half-precision randn() on the CPU.
            made = torch.randn(shape.sizes, generator=generator, dtype=torch.float32)
        else:
            most = 2 if dtype == torch.bool else torch.iinfo(dtype).max
            below = min(vocabulary(self._model) or 2, most)
            made = torch.randint(0, below, shape.sizes, generator=generator)
        return made.to(device=self._device, dtype=dtype)

    def _in_words(self, args, kwargs):
        """'input 1×3×224×224 float32, made at random'"""
        ones = {id(tensor) for shape, tensor in self._made if shape.value == 1}
        made = {id(tensor) for shape, tensor in self._made if shape.value is None}
        made |= ones
        found = [(None, one) for arg in args for one in _tensors(arg)]
        found += [(key, one) for key, arg in kwargs.items() for one in _tensors(arg)]
        texts = [
            ("" if key is None else f"{key} ")
            + ("×".join(map(str, one.shape)) or "scalar")
            + f" {one.dtype}".replace("torch.", "")
            + (" of ones" if id(one) in ones else "")
            for key, one in found
        ]
        if not texts:
            return "no tensors"
        how = [id(one) in made for _, one in found]
        end = ", made at random" if all(how) else ""
        if not all(how):
            marks = (" (random)" if one else "" for one in how)
            texts = list(map("".join, zip(texts, marks)))
        word = "input" if len(texts) == 1 else "inputs"
        if self.source:
            word = f"default {word}" if self.source == DEFAULT else self.source
        return f"{word} {', '.join(texts)}{end}"


def vocabulary(model):
    """The size of the smallest embedding of the model; 0 if there is none."""
    modules = (one for root in roots_of(model).values() for one in root.modules())
    sizes = (one.num_embeddings for one in modules if isinstance(one, _EMBEDDINGS))
    return min(sizes, default=0)


def parse_shape(text):
    """The Shape of "1x3x224x224" or "8x128:int64"; None for any other text."""
    found = _TEXT.fullmatch(text)
    if not found:
        return None
    dtype = found[2] and getattr(torch, found[2], None)
    if found[2] and not isinstance(dtype, torch.dtype):
        raise ValueError(f"{text!r}: torch has no dtype {found[2]!r}")
    return Shape(map(int, re.split(r"\s*[x×]\s*", found[1])), dtype)


# --- interpreting arguments


def _understood(model, args, kwargs):
    if len(args) == 1 and isinstance(args[0], Mapping) and not kwargs:
        if takes_keywords(model, args[0]):
            args, kwargs = (), dict(args[0])
            return (), {key: _shapes(one) for key, one in kwargs.items()}
    several = len(args) == 1 and type(args[0]) in (list, tuple) and args[0]
    if several and all(isinstance(_shapes(one), Shape) for one in args[0]):
        args = tuple(args[0])
    args = tuple(_shapes(one) for one in args)
    # A list given by keyword is passed as it is.
    kwargs = {k: v if type(v) is list else _shapes(v) for k, v in kwargs.items()}
    return args, kwargs


def _shapes(given):
    """The same structure with tuples, lists and strings of sizes replaced by Shapes."""
    if isinstance(given, str):
        return parse_shape(given) or given
    if isinstance(given, (tuple, list)) and given:
        if all(type(one) is int and one >= 0 for one in given):
            return Shape(given)
        if type(given) in (tuple, list):
            return type(given)(_shapes(one) for one in given)
    if type(given) is dict:
        return {key: _shapes(one) for key, one in given.items()}
    return given


def takes_keywords(model, names):
    """Does forward have arguments of all these names?"""
    known = forward_parameters(model)
    if any(one.kind is one.VAR_KEYWORD for one in known.values()):
        return all(isinstance(name, str) for name in names)
    return bool(known) and all(name in known for name in names)


def _typed(model, args, kwargs):
    """For transformers, sets the dtype of token ids and masks by argument name."""
    if not hasattr(model, "main_input_name"):
        return args, kwargs
    names = list(forward_parameters(model))
    for name, one in [*zip(names, args), *kwargs.items()]:
        if isinstance(one, Shape) and one.dtype is None:
            if name.endswith(("_ids", "_mask")):
                one.dtype = torch.int64
                one.value = 1 if name.endswith("_mask") else None
    return args, kwargs


# --- default inputs


DEFAULT = "default inputs"


def _brought_along(model, device):
    """(args, kwargs, source) to try, most likely first."""
    for source in ("dummy_inputs", "example_input_array"):
        try:
            given = getattr(model, source, None)
        except Exception:  # a property that fails for this model
            continue
        main = getattr(model, "main_input_name", None)
        if given is None or (isinstance(given, Mapping) and main and main not in given):
            continue
        given = _on(given, device)
        if isinstance(given, Mapping):
            yield (), dict(given), source
        else:
            yield (given if isinstance(given, tuple) else (given,)), {}, source
    try:
        known = list(candidates(model))
    except Exception:  # an unexpected configuration
        known = []
    for args, kwargs in known:
        yield args, kwargs, DEFAULT


def _on(given, device):
    if isinstance(given, torch.Tensor):
        return given.to(device)
    if isinstance(given, Mapping):
        return {key: _on(one, device) for key, one in given.items()}
    if type(given) in (list, tuple):
        return type(given)(_on(one, device) for one in given)
    return given


# --- helpers


def _kind_of(model):
    """The dtype and device that the model computes with: those of its first parameter
    or buffer of real or complex numbers wider than one byte."""
    first = None
    for root in roots_of(model).values():
        for one in (*root.parameters(), *root.buffers()):
            first = one if first is None else first
            is_real = one.is_floating_point() or one.is_complex()
            is_lazy = torch.nn.parameter.is_lazy(one)
            if is_real and (is_lazy or one.element_size() > 1):
                return one.dtype, one.device
    device = torch.device("cpu") if first is None else first.device
    return torch.get_default_dtype(), device


def _copy(tensor):
    """A copy that the model may write to, without the original's graph. It is not a
    leaf: torch forbids in-place writes to leaves."""
    try:
        with torch.enable_grad():
            return tensor.detach().requires_grad_(tensor.requires_grad).clone()
    except Exception:  # a subclass that cannot be copied
        return tensor


def _tensors(given):
    if isinstance(given, torch.Tensor):
        yield given
    elif isinstance(given, (list, tuple)):
        for one in given:
            yield from _tensors(one)
    elif isinstance(given, Mapping):
        for one in given.values():
            yield from _tensors(one)


def _objects(given):
    """All objects in it except tensors, Shapes and immutable values."""
    if type(given) in (list, tuple):
        for one in given:
            yield from _objects(one)
    elif type(given) is dict:
        yield from _objects(list(given.values()))
    elif not isinstance(given, (torch.Tensor, Shape, *_UNCHANGING)):
        yield given


def _given_to_embedding(error):
    """The floats that an embedding was called with in this traceback, or None."""
    trace, found = error.__traceback__, None
    while trace is not None:
        frame = trace.tb_frame
        if frame.f_code in _EMBEDDING_CODE:
            found = frame.f_locals.get("input")
        trace = trace.tb_next
    is_float = isinstance(found, torch.Tensor) and found.is_floating_point()
    return found if is_float else None


_functional = torch.nn.functional
_EMBEDDING_CODE = {_functional.embedding.__code__, _functional.embedding_bag.__code__}
_EMBEDDING_CODE |= {one.forward.__code__ for one in _EMBEDDINGS}
