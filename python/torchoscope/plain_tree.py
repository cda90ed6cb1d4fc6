"""Arguments of a call as JSON: nested containers of tensors and plain values. Reading
it runs no code of the file: objects of other classes are skipped and named."""

import math

import torch

DEPTH, ITEMS = 32, 10_000 # limits for writing


class Writer:
    """write(value) returns JSON; `take(tensor)` returns a number for each tensor.
    `lost` has a sentence for each part that could not be written."""

    def __init__(self, take):
        self._take, self._left = take, ITEMS
        self.lost = []

    def write(self, value, where, depth=0):
        if value is None or type(value) in (bool, int, str):
            return value
        self._left -= 1
        if depth > DEPTH or self._left < 0:
            return self._lose(where, "it is nested too deeply, or has too many items")
        if isinstance(value, torch.Tensor):
            return {"tensor": self._take(value, where)}
        if isinstance(value, float):
            plain = float(value)
            return plain if math.isfinite(plain) else {"float": str(plain)}
        return self._write_more(value, where, depth)

    def _write_more(self, value, where, depth):
        kind = type(value)
        if kind in _WORDS:
            name, convert = _WORDS[kind]
            return {name: convert(value)}
        if kind is torch.nn.utils.rnn.PackedSequence:
            return {"packed": self._items(value, where, depth)}
        if kind in (list, tuple):
            return {kind.__name__: self._items(value, where, depth)}
        if isinstance(value, dict):
            inside = depth + 1
            pairs = [
                [self.write(one, f"{where}[{pair[0]!r}]", inside) for one in pair]
                for pair in value.items()
            ]
            return {"dict": pairs, **({} if kind is dict else {"of": _name(kind)})}
        if isinstance(value, (list, tuple)):
            return {"tuple": self._items(value, where, depth), "of": _name(kind)}
        return self._lose(where, f"objects of {_name(kind)} are not written")

    def _items(self, value, where, depth):
        parts = enumerate(value)
        return [self.write(one, f"{where}[{i}]", depth + 1) for i, one in parts]

    def _lose(self, where, why):
        self.lost.append(f"{where}: {why}")
        return {"lost": why}


def _name(kind):
    return f"{kind.__module__}.{kind.__qualname__}"


def _short(value):
    return str(value).partition(".")[2]


_WORDS = {
    torch.dtype: ("dtype", _short),
    torch.device: ("device", str),
    torch.Size: ("size", list),
    complex: ("complex", lambda value: [repr(value.real), repr(value.imag)]),
    bytes: ("bytes", bytes.hex),
}


class Unreadable(ValueError):
    """The JSON does not have the form of a tree."""


class Lost(Unreadable):
    """A part was not written."""


def read(tree, tensors):
    """The value of a tree; `tensors(number)` returns a tensor. Raises Unreadable."""
    try:
        return _read(tree, tensors, 0)
    except Unreadable:
        raise
    except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
        raise Unreadable(f"damaged: {error}") from None


def _read(tree, tensors, depth):
    if depth > DEPTH + 1:
        raise Unreadable("damaged: nested too deeply")
    if not isinstance(tree, dict):
        if isinstance(tree, list):
            raise Unreadable("damaged: a bare list")
        return tree
    kind, of = next(iter(tree.items()))
    if kind == "tensor":
        return tensors(of)
    if kind == "lost":
        raise Lost(str(of))
    if kind in _READ:
        return _READ[kind](of)
    if kind == "dict":
        pairs = [[_read(one, tensors, depth + 1) for one in pair] for pair in of]
        return {key: value for key, value in pairs}
    items = [_read(one, tensors, depth + 1) for one in of]
    if kind == "packed":
        return torch.nn.utils.rnn.PackedSequence(*items)
    return {"list": list, "tuple": tuple}[kind](items)


def _dtype(name):
    found = getattr(torch, name)
    if not isinstance(found, torch.dtype):
        raise Unreadable(f"damaged: {name} is not a dtype")
    return found


_READ = {
    "float": float,
    "dtype": _dtype,
    "device": torch.device,
    "size": torch.Size,
    "complex": lambda parts: complex(*map(float, parts)),
    "bytes": bytes.fromhex,
}
