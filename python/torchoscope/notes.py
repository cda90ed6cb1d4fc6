"""Adds two notes to the user's exception: the module, the shape it got and the shape
its weight expects; and where the shape last changed."""

import re

import torch
from torch import nn

MARK = "torchoscope: "
_MOST = 8  # per recording: the user's code may raise on purpose
# Matches errors about shapes.
_ABOUT_SHAPES = re.compile(r"shape|size|dimension|channel|[1-9]D\b|element|dims?\b", re.I)


def is_worth_a_note(error):
    """False for interrupts, and for the exception that ends a checkpoint early."""
    if not isinstance(error, Exception) or not hasattr(error, "add_note"):
        return False
    if isinstance(error, StopIteration) or "StopRecomputation" in type(error).__name__:
        return False
    return not any(note.startswith(MARK) for note in getattr(error, "__notes__", ()))


def add_notes(error, name, module, args, calls):
    """`calls` returns the Calls so far. It may be slow, so it is called last."""
    tensors = tensors_of(args)
    if not tensors:  # torch does not pass keywords if forward raised
        return
    error.add_note(MARK + what_it_got(name, module, tensors))
    if not _ABOUT_SHAPES.search(str(error)):
        return
    changed = where_it_changed(calls(), shape_of(tensors[0]))
    if changed:
        error.add_note(MARK + changed)


class Notes:
    """The notes of one recording."""

    def __init__(self, names, calls):
        self._names, self._calls = names, calls
        self._left = _MOST

    def raised(self, module, args, error):
        if not self._left or not is_worth_a_note(error):
            return
        name = self._names.get(id(module))
        if name is None:
            return
        self._left -= 1
        add_notes(error, name, module, args, self._calls)

    def left_the_block(self, error):
        """Finds the module in the traceback, for a torch without hooks for errors."""
        trace, last = error.__traceback__, None
        while trace is not None:
            code = trace.tb_frame.f_code
            if code.co_name == "_call_impl":
                variables = trace.tb_frame.f_locals
                last = variables.get("self"), variables.get("input", ())
            trace = trace.tb_next
        if last is not None:
            self.raised(*last, error)


# --- the two sentences


def what_it_got(name, module, tensors):
    """The first note. Says why the weight does not fit, if the class is known."""
    got = ", ".join(in_brackets(shape_of(x)) for x in tensors)
    text = f"{title(name, type(module).__name__)} got {got}"
    if isinstance(module, (nn.Embedding, nn.EmbeddingBag)):
        return text + about_indices(module, tensors[0])
    wants, weight = what_it_wants(module, shape_of(tensors[0])), weight_of(module)
    if wants:
        what = "it" if weight is None else f"its weight {in_brackets(weight.shape)}"
        return f"{text}; {what} expects {wants}"
    if weight is None:
        return text
    text += f"; its weight {in_brackets(weight.shape)}"
    for kind in ("device", "dtype"):
        one, other = getattr(weight, kind), getattr(tensors[0], kind)
        if one != other:
            return text + f" is {one}, not {other}".replace("torch.", "")
    return text


def about_indices(module, indices):
    """The note for an embedding."""
    text, last = "", module.num_embeddings - 1
    if indices.is_floating_point():
        text = f" of {indices.dtype}".replace("torch.", "")
    elif indices.device.type == "cpu" and indices.numel():
        text = f" with values from {indices.min()} to {indices.max()}"
    weight = in_brackets(shape_of(module.weight))
    return f"{text}; its weight {weight} expects indices from 0 to {last}"


def weight_of(module):
    """The weight of one of torch's own classes, whose use of it is known; else None."""
    weight = module._parameters.get("weight")
    if weight is None or torch.nn.parameter.is_lazy(weight):
        return None
    known = type(module).__module__.startswith("torch.") or isinstance(module, _KNOWN)
    return weight if known else None


_CONV, _NORM = nn.modules.conv._ConvNd, nn.modules.batchnorm._NormBase
_KNOWN = (nn.Linear, _CONV, _NORM, nn.GroupNorm, nn.LayerNorm)


def what_it_wants(module, shape):
    """The expected shape of the first argument; None if it fits or is unknown."""
    last = None
    if isinstance(module, nn.Linear):
        last = [module.in_features]
    elif isinstance(module, nn.LayerNorm):
        last = list(module.normalized_shape)
    elif isinstance(module, nn.MultiheadAttention):
        last = [module.embed_dim]
    elif isinstance(module, nn.RNNBase):
        last = [module.input_size]
    if last is not None:
        fits = shape[-len(last) :] == last
        return None if fits else f"[..., {', '.join(map(str, last))}]"
    if isinstance(module, _CONV):
        sizes = ["*"] * len(module.kernel_size)
        batch = ["*"] if len(shape) != len(sizes) + 1 else []
        wants = [*batch, module.in_channels, *sizes]
        fits = len(shape) == len(wants) and shape[len(batch)] == module.in_channels
        return None if fits else in_brackets(wants)
    if isinstance(module, (_NORM, nn.GroupNorm)):
        is_group = isinstance(module, nn.GroupNorm)
        channels = module.num_channels if is_group else module.num_features
        fits = len(shape) > 1 and shape[1] == channels
        return None if fits else f"[*, {channels}, ...]"
    return None


def where_it_changed(calls, shape):
    """The last call that returned this shape from a different one; else the last call
    that changed the shape."""
    fallback = None
    for call in reversed(calls):
        if call.error or not call.outputs:
            continue
        before = next((list(v.shape) for v in call.inputs if v.shape is not None), None)
        after = next((list(v.shape) for v in call.outputs if v.shape is not None), None)
        if before is None or after is None or before == after:
            continue
        text = (
            f"the shape last changed in {title(call.name, call.class_name)}: "
            f"{in_brackets(before)} -> {in_brackets(after)}"
        )
        if call.line:
            text += f" ({call.line})"
        if after == shape:
            return text
        fallback = fallback or text
    return fallback


def title(name, class_name):
    name = name.encode("unicode_escape").decode()  # it may come from a file
    return f"{name} ({class_name})" if name else f"the model ({class_name})"


def in_brackets(shape):
    return "[" + ", ".join(map(str, shape)) + "]"


def shape_of(tensor):
    try:
        return list(tensor.shape)
    except Exception:
        return ["?"]


def tensors_of(args, most=4):
    found = []
    for arg in args:
        if isinstance(arg, torch.Tensor):
            found.append(arg)
        elif isinstance(arg, (list, tuple)):
            found += [one for one in arg if isinstance(one, torch.Tensor)]
    return found[:most]
