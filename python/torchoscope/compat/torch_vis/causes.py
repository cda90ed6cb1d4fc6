"""Which forward operation an autograd node belongs to. A recording knows it for nodes
whose backward executed operations. The others (AddBackward0 only passes its gradient
on) lie between these in the order in which torch numbered the nodes."""

import bisect
import re


def find_causes(steps, ops_of, run):
    """{Step: number of the forward operation}"""
    found = {}
    for step in steps:
        causes = (op["cause"] for op in ops_of.get(step, ()))
        cause = next((one for one in causes if one is not None), None)
        if cause is not None:
            found[step] = cause
    unknown = [step for step in steps if step not in found and not step.is_leaf]
    if unknown and hasattr(unknown[0].node, "_sequence_nr"):
        _fill(found, steps, run)
    return found


def _fill(found, steps, run):
    numbered = [(step.node._sequence_nr(), step) for step in steps if not step.is_leaf]
    numbered.sort(key=lambda one: one[0])
    forward = _Forward(run)
    last, waiting = -1, []
    for _, step in [*numbered, (0, None)]:
        if step is not None and step not in found:
            waiting.append(step)
            continue
        end = found[step] if step is not None else forward.end
        for one in waiting:
            cause = forward.find(_stem(one.name), last, end)
            if cause is not None:
                found[one] = last = cause
        last, waiting = max(last, end), []


class _Forward:
    """Forward operations by name."""

    def __init__(self, run):
        self._names, self._run = {}, run
        self._kinds = {}
        ids = memoryview(run.find_ops(None, None, "forward")).cast("I")
        self.end = ids[-1] + 1 if len(ids) else 0
        self._ids = ids

    def find(self, stem, after, before):
        """The first of this name after one operation and before another."""
        if not self._names:
            for kind in set(self._run.op_kinds()):
                self._kinds[kind] = _plain(kind.partition("::")[2])
            for number in self._ids:
                name = self._kinds[self._run.op(number)["name"]]
                self._names.setdefault(name, []).append(number)
        numbers = self._names.get(stem, ())
        at = bisect.bisect_right(numbers, after)
        return numbers[at] if at < len(numbers) and numbers[at] < before else None


def _stem(name):
    """ "nativebatchnorm" for NativeBatchNormBackward0."""
    return _plain(re.sub(r"Backward\d*$", "", name))


def _plain(name):
    return name.replace("_", "").lower()
