"""The memory of a step at any batch size, from two measured ones. For memory().

The memory alive during one operation grows linearly with the batch, but the peak does
not, because at another batch size another operation may have it. So if both steps ran
the same operations, each is extrapolated linearly and the maximum counts; else the
phases are."""


def fitted_peak(known, batch):
    """(bytes, number of the operation) at a batch size. `known`: two batch sizes in
    order, with their Recording.memory()."""
    (low, a), (high, b) = known.items()
    weight = (batch - low) / (high - low)
    if len(a["live_bytes"]) == len(b["live_bytes"]):
        lines = zip(a["live_bytes"], b["live_bytes"])
        peaks = [x + (y - x) * weight for x, y in lines]
    else:
        phases = zip(a["phases"], b["phases"])
        peaks = [
            x["peak_bytes"] + (y["peak_bytes"] - x["peak_bytes"]) * weight
            for x, y in phases
            if x["ops"] and y["ops"]
        ]
    most = max(peaks)
    at = peaks.index(most) if len(peaks) == len(b["live_bytes"]) else None
    return max(0, round(most)), at


def fitted_figures(known, batch):
    """The figures of Recording.memory() for a batch size; the parts of the peak are
    unknown."""
    if len(known) == 1 or batch in known:
        return known[batch] if batch in known else next(iter(known.values()))
    (low, a), (high, b) = known.items()

    def at(x, y):
        return max(0, round(x + (y - x) * (batch - low) / (high - low)))

    names = {one["name"]: one["saved_bytes"] for one in a["modules"]}
    peak, op = fitted_peak(known, batch)
    return {
        "peak_bytes": peak,
        "peak_op": b["peak_op"] if op is None else b["op_of"](op),
        "most": {key: at(a["most"][key], b["most"][key]) for key in a["most"]},
        "at_peak": None,
        "modules": [
            {**one, "saved_bytes": at(names.get(one["name"], 0), one["saved_bytes"])}
            for one in b["modules"]
        ],
    }
