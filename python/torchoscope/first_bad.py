"""Finds the operation of a recording that produced the first value that is not finite,
and describes it. Needs ops="stats"."""

import torch

_CLEAN, _MASK, _BAD = range(3)
# Operations that write a given value: -Inf from them is a mask.
_FILLS = frozenset(
    "fill_ fill full full_like new_full masked_fill masked_fill_ where scalar_tensor "
    "_to_copy copy_ lift_fresh index_put_ index_fill index_fill_ triu tril".split()
)


def is_bad(tensor):
    """Has it NaN or +Inf? -Inf may be a mask."""
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return False
    values = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    values = values.double() if values.element_size() == 1 else values
    return bool((values.isnan() | values.isposinf()).any())


def first_bad(recording):
    """(the Op that turned finite inputs into a value that is not, or None; is any value
    not finite?)

    Goes back from the last operation with such a result, so that an infinity that
    disappears again (1 / inf) is not blamed."""
    states, makers, blame, last = {}, {}, {}, None
    ops = recording.ops()
    for op in ops:
        values = op._run.op_values(op.id)
        inputs = [one["value"] for one in values["inputs"]]
        worst = max((states.get(one, _CLEAN) for one in inputs), default=_CLEAN)
        made = _CLEAN
        for one in (*values["outputs"], *values.get("written", ())):
            state = _state(one.get("stats"), worst, op)
            if state > states.get(one["value"], _CLEAN):
                states[one["value"]] = state
                makers[one["value"]] = op.id
            made = max(made, state)
        if made == _BAD:
            bad = [one for one in inputs if states.get(one) == _BAD]
            blame[op.id] = [makers[one] for one in bad if makers[one] != op.id]
            last = op.id
    return (None, False) if last is None else (_origin(ops, blame, last), True)


def _state(stats, worst, op):
    """Of a result; `worst` is the state of the inputs. Views are not measured."""
    if stats is None:
        return worst if op.view else _CLEAN
    if stats["nan"] or stats["pos_inf"]:
        return _BAD
    if not stats["neg_inf"]:
        return _CLEAN
    is_mask = worst == _MASK or op.name.partition("::")[2] in _FILLS
    return _MASK if is_mask and worst != _BAD else _BAD


def _origin(ops, blame, last):
    seen, waiting, found = {last}, [last], []
    while waiting:
        number = waiting.pop()
        if not blame[number]:
            found.append(number)
        for one in blame[number]:
            if one not in seen:
                seen.add(one)
                waiting.append(one)
    return ops[min(found)] if found else None


# --- as text


def about_op(op, recording):
    """Lines about the operation: where, and the statistics of its tensors."""
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
    """Those of the value, or of what it is a view of."""
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
