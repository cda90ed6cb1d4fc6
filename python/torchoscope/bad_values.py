"""Finds the operation of a replayed step that produced the first non-finite value, as
text; and whether a tensor has such values."""

import torch


def is_bad(tensor):
    """Does it have NaN or +Inf? -Inf may be a mask."""
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return False
    values = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    values = values.double() if values.element_size() == 1 else values
    return bool((values.isnan() | values.isposinf()).any())


# --- as text


def about_op(op, recording):
    """Lines about the operation: its location and the statistics of its tensors."""
    inside = f"in {op.module or 'the model'}"
    module = "outside the model" if op.module is None else inside
    line = f" ({op.line})" if op.line else ""
    lines = [f"reproduced: {op.name} {module}{line}, {op.phase}"]
    if op.cause is not None:
        lines.append(f"  the backward of {op.cause.name}")
    known = _known(recording)
    rows = [(_arg(one), one, _stats(one, known)) for one in op.inputs]
    rows += [("result", one, one.stats) for one in op.outputs]
    rows += [(f"{_arg(one)} after", one, one.stats) for one in op.written]
    width = max((len(name) for name, _, _ in rows), default=0)
    for name, one, stats in rows:
        shape = "×".join(map(str, one.shape)) or "scalar"
        own = f" {one.tensor}" if one.tensor else ""
        lines.append(f"  {name:{width}}  {one.dtype} {shape}{own}{_shown(stats)}")
    return lines


def _arg(value):
    return value.arg if value.item is None else f"{value.arg}[{value.item}]"


def _known(recording):
    """Statistics of inputs of the model: {(shape, dtype): stats}, None if ambiguous."""
    found = {}
    for call in recording.calls():
        for one in call.inputs if call.parent is None else ():
            key = tuple(one.shape or ()), one.dtype
            found[key] = None if key in found else one.get("stats")
    return found


def _stats(value, known):
    """The statistics of the value, or of the value that it is a view of."""
    for _ in range(16):
        if value.stats is not None:
            return value.stats
        if value.producer is None:
            return known.get((value.shape, value.dtype)) if not value.tensor else None
        if not value.producer.view or not value.producer.inputs:
            return None
        value = value.producer.inputs[0]
    return None


def _shown(stats):
    if not stats:
        return ""
    names = {"nan": "NaN", "pos_inf": "+Inf", "neg_inf": "-Inf"}
    count = stats["count"]
    parts = [f"{stats[k]} of {count} {name}" for k, name in names.items() if stats[k]]
    for key in ("min", "max", "mean", "std"):
        if stats.get(key) is not None:
            parts.append(f"{key} {stats[key]:.6g}")
    return "  " + "  ".join(parts) if parts else ""
