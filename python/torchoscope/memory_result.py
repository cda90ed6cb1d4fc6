"""Memory: the result of memory(), as attributes, a table and JSON."""

import html
import json

from torchoscope.notebook import Displayed

MOST_MODULES = 3  # named in the table
KINDS = {
    "parameters": "parameters",
    "buffers": "buffers",
    "gradients": "gradients",
    "optimizer": "optimizer state",
    "saved": "activations",
    "recomputed": "recomputed",
    "other": "other",
}
NOT_INCLUDED = (
    "tensor memory only: the allocator of an accelerator, its context and scratch "
    "memory inside operations come on top"
)


class Memory(Displayed):
    """The memory of a step, in bytes. str() is the table.

    parameters, buffers, gradients, optimizer, activations, recomputed, other
                   the peak of each; activations are those saved for backward
    peak           the peak of the total; at_peak: its parts, a dict
    peak_op        a dict with `op_name`, `phase`, `line`, `name` (the module)
    modules        bytes that each module saves for backward: name -> bytes
    batch          the batch size; None: the inputs have no batch
    source         "fake tensors", or "fitted" to two measured batch sizes (why: `why`)
    measured       with measure=True: the peak of a real step
    rss            resident memory of this process, before anything was predicted
    limit, margin, largest_batch, largest_peak, largest_why
    checkpointing  a list of dicts: `blocks` (names), `class`, `peak`, `saves`
    cache_per_token   bytes of keys and values that generation keeps per token and
                   sequence; None: unknown
    recording      the recording of the step (of fake tensors: without statistics)"""

    def __init__(self, heading):
        self.heading = heading
        self.parameters = self.buffers = self.gradients = self.optimizer = 0
        self.activations = self.recomputed = self.other = self.peak = 0
        self.at_peak, self.modules, self.checkpointing = {}, {}, []
        self.peak_op = self.batch = self.why = self.measured = self.recording = None
        self.limit = self.largest_batch = self.largest_peak = self.largest_why = None
        self.margin, self.source, self.loss = 0.1, "fake tensors", None
        self.cache_per_token = None
        self.rss = resident()

    def _take(self, found):
        """Takes the figures of Recording.memory()."""
        for kind in KINDS:
            name = "activations" if kind == "saved" else kind
            setattr(self, name, found["most"][f"{kind}_bytes"])
            if found["at_peak"] is not None:
                self.at_peak[name] = found["at_peak"][f"{kind}_bytes"]
        self.peak, self.peak_op = found["peak_bytes"], found["peak_op"]
        self.modules = {
            one["name"]: one["saved_bytes"] for one in found["modules"] if one["name"]
        }

    @property
    def json(self):
        """All of it as a dict: the document "memory" of docs/json.md."""
        sizes = ("parameters", "buffers", "gradients", "optimizer", "activations")
        sizes += ("recomputed", "other", "peak")
        return {
            "torchoscope": 1,
            "kind": "memory",
            "heading": self.heading,
            "source": self.source,
            "why": self.why,
            "batch": self.batch,
            "loss": self.loss,
            **{f"{name}_bytes": getattr(self, name) for name in sizes},
            "at_peak": {f"{name}_bytes": n for name, n in self.at_peak.items()},
            "peak_op": self.peak_op,
            "modules": [
                {"name": name, "saved_bytes": n} for name, n in self.modules.items()
            ],
            "measured_bytes": self.measured,
            "rss_bytes": self.rss,
            "limit_bytes": self.limit,
            "margin": self.margin,
            "largest_batch": self.largest_batch,
            "largest_peak_bytes": self.largest_peak,
            "largest_why": self.largest_why,
            "checkpointing": [
                {
                    "class": one["class"],
                    "blocks": one["blocks"],
                    "peak_bytes": one["peak"],
                    "saves_bytes": one["saves"],
                }
                for one in self.checkpointing
            ],
            "cache_bytes_per_token": self.cache_per_token,
        }

    def to_json(self):
        """The same as text."""
        return json.dumps(self.json, ensure_ascii=False, indent=1)

    # --- the table

    def rows(self):
        """The rows of the table: (name, the most of it, its part of the peak, note)."""
        rows = []
        for kind, words in KINDS.items():
            name = "activations" if kind == "saved" else kind
            most, now = getattr(self, name), self.at_peak.get(name)
            text = "" if now is None else size(now)
            if most:
                rows.append((words, size(most), text, self._note(kind)))
        rows.append(("peak", "", size(self.peak), self._where()))
        if self.measured is not None:
            off = (self.peak - self.measured) / self.measured if self.measured else 0
            note = f"with real tensors; the prediction is {off:+.1%} off"
            rows.append(("measured", "", size(self.measured), note))
        note = "RSS of this Python before, with code"
        rows.append(("process", "", size(self.rss), note))
        return rows

    def _note(self, kind):
        if kind == "saved":
            leaves = _largest(self.modules)
            most = ", ".join(f"{name} {size(n)}" for name, n in leaves)
            return "saved for backward" + (f": {most}" if most else "")
        if kind == "other":
            return "inputs and temporaries"
        return ""

    def _where(self):
        op = self.peak_op
        if op is None:
            return ""
        name = op["op_name"].removeprefix("aten::")
        line = f"{op['line']} " if "line" in op else ""
        module = f" in {op['name']}" if op.get("name") else ""
        return f"at {line}{name}(){module}, in {op['phase']}"

    def lines(self):
        """The sentences below the table."""
        lines = []
        if self.limit is not None:
            lines.append(self._fits())
        for one in self.checkpointing:
            names = _span(one["blocks"])
            lines.append(
                f"checkpointing {len(one['blocks'])} × {one['class']} ({names}): peak "
                f"{size(one['peak'])}, {size(one['saves'])} less"
            )
        if self.cache_per_token is not None:
            text = size(self.cache_per_token)
            lines.append(f"generation keeps {text} of keys and values per token")
        if self.loss:
            lines.append(f"the loss is {self.loss}")
        if self.why:
            lines.append(self.why)
        lines.append(NOT_INCLUDED)
        return lines

    def _fits(self):
        room = f"{size(self.limit)} with a margin of {self.margin:.0%}"
        if self.largest_batch:
            peak = size(self.largest_peak)
            why = f"; {self.largest_why}" if self.largest_why else ""
            return f"largest batch in {room}: {self.largest_batch:,}, peak {peak}{why}"
        if self.largest_batch == 0:
            peak = size(self.largest_peak)
            return f"not even a batch of 1 fits in {room}: peak {peak}"
        return f"largest batch in {room}: not known: {self.largest_why}"

    def __str__(self):
        rows = [("", "most", "at peak", ""), *self.rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = [self.heading]
        for name, most, now, note in rows:
            cells = name.ljust(widths[0]), most.rjust(widths[1]), now.rjust(widths[2])
            lines.append("  ".join([*cells, note]).rstrip())
        return "\n".join([*lines, *self.lines()])

    def __repr__(self):
        return f"<torchoscope.Memory: {self.heading}, peak {size(self.peak)}>"

    def _notebook(self):
        cells = "".join(
            f"<tr><td>{html.escape(name)}</td>"
            f'<td style="text-align:right">{most}</td>'
            f'<td style="text-align:right">{now}</td>'
            f'<td style="text-align:left">{html.escape(note)}</td></tr>'
            for name, most, now, note in self.rows()
        )
        below = "".join(f"<div>{html.escape(line)}</div>" for line in self.lines())
        head = "<tr><th></th><th>most</th><th>at peak</th><th></th></tr>"
        return (
            f"<div><b>{html.escape(self.heading)}</b><table>{head}{cells}</table>"
            f"{below}</div>"
        )


# --- helpers


def _largest(modules):
    """(name, bytes) of the modules that save the most, none inside another. A module
    that saves hardly more than one inside it is replaced by that one."""
    wrappers = {
        name.rpartition(".")[0]
        for name, n in modules.items()
        if n >= 0.9 * modules.get(name.rpartition(".")[0], n + 1)
    }
    found = []
    for name, n in sorted(modules.items(), key=lambda one: (-one[1], one[0])):
        inside = any(name.startswith(f"{other}.") for other, _ in found)
        if name in wrappers or inside:
            continue
        found.append((name, n))
        if len(found) == MOST_MODULES:
            break
    return found


def _span(names):
    return names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"


def size(n):
    """1536 -> "1.5KB", as everywhere in torchoscope."""
    if n < 1024:
        return f"{n}B"
    for unit in ("KB", "MB", "GB", "TB", "PB", "EB"):
        n /= 1024
        if n < 1023.95:
            break
    return f"{n:.1f}{unit}"


def resident():
    """Bytes of this process in memory; 0 if unknown."""
    try:
        with open("/proc/self/statm") as file:
            pages = int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    import resource

    return pages * resource.getpagesize()
