"""Two lines for the user's own traceback: which module got which shape and what its
weight wants, and where the shape last changed."""

import torch

MARK = "torchoscope: "
_MOST = 8  # notes of one recording: an exception may be part of somebody's plan


def is_worth_a_note(error):
    """Not for interrupts, nor for the exception by which checkpointing ends early."""
    if not isinstance(error, Exception) or not hasattr(error, "add_note"):
        return False
    if isinstance(error, StopIteration) or "StopRecomputation" in type(error).__name__:
        return False
    return not any(note.startswith(MARK) for note in getattr(error, "__notes__", ()))


def add_notes(error, name, module, args, calls):
    """`calls` gives the Calls so far; it is asked last, because it may be slow."""
    got = [shape_of(x) for x in tensors_of(args)]
    error.add_note(MARK + what_it_got(name, module, got))
    changed = where_it_changed(calls(), got[0]) if got else None
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
        """For a torch that does not tell when forward raised: its frames do."""
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


def what_it_got(name, module, got):
    shapes = ", ".join(map(in_brackets, got)) or "no tensor"
    text = f"{title(name, type(module).__name__)} got {shapes}"
    weight = getattr(module, "weight", None)
    if not isinstance(weight, torch.Tensor) or torch.nn.parameter.is_lazy(weight):
        return text
    wants = what_it_wants(module)
    text += f"; its weight {in_brackets(shape_of(weight))}"
    return text + (f" wants {wants}" if wants else "")


def what_it_wants(module):
    """The shape of the first argument, as far as the class says; or None."""
    if isinstance(module, torch.nn.Linear):
        return f"[..., {module.in_features}]"
    if isinstance(module, torch.nn.modules.conv._ConvNd):
        sizes = ", ".join(["*"] * len(module.kernel_size))
        return f"[*, {module.in_channels}, {sizes}]"
    if isinstance(module, torch.nn.modules.batchnorm._NormBase):
        return f"[*, {module.num_features}, ...]"
    if isinstance(module, torch.nn.GroupNorm):
        return f"[*, {module.num_channels}, ...]"
    if isinstance(module, torch.nn.LayerNorm):
        return "[..., " + ", ".join(map(str, module.normalized_shape)) + "]"
    if isinstance(module, torch.nn.Embedding):
        return f"indices from 0 to {module.num_embeddings - 1}"
    return None


def where_it_changed(calls, shape):
    """The last call that came back with this shape, made of another; else the last that
    came back with another shape than it was given."""
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
