"""Recording every operation of forward and backward, compared with the bare model,
torchlens, torch.profiler and torch.utils.flop_counter.

    BENCH_ROUNDS=3 ops_bench.py [WORD...]     only parts whose name has a WORD

Ratios are taken as in record_bench.py: a bare run precedes and follows each other run; one
thread, process time. Those with a target continue without the others for BENCH_SECONDS=15
more. torchlens runs the forward itself, so it is compared with a bare forward.
"""

import contextlib
import gc
import io
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import bench  # noqa: E402

sys.path.insert(0, str(bench.ROOT / "build/c/python"))

try:
    import torch
    from torch.utils.flop_counter import FlopCounterMode
    from torchoscope import op_kinds, record

    import record_bench
    import record_models
except ImportError as problem:
    print(f"ops_bench: not run ({problem})")
    sys.exit(0)

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
SECONDS = float(os.environ.get("BENCH_SECONDS", "15"))
MILLION = 1_000_000
CLOCK = time.process_time

# name -> (function that makes it, greatest ratio of a step to the bare one)
MODELS = {
    "ResNet-50 b2": (record_models.resnet50, 1.15),
    "encoder 6x512": (record_models.encoder, 1.20),
    "DenseNet-121 b2": (record_models.densenet121, 1.30),
}


def beside(bare, variants, goals=()):
    return record_bench.beside(bare, variants, CLOCK, goals, ROUNDS, SECONDS)


# --- a step


class Step:
    """Forward and backward of a model."""

    def __init__(self, model, given):
        self.model, self.given = model.train(), given

    def __call__(self, _=None):
        self.model.zero_grad()
        self.model(self.given).square().mean().backward()

    def forward(self, _=None):
        with torch.no_grad():
            self.model(self.given)


def profiler():
    cpu = torch.profiler.ProfilerActivity.CPU
    return torch.profiler.profile(activities=[cpu], record_shapes=True)


def with_its_table(step):
    """torch.profiler, including reading its results."""

    def run(_):
        with profiler() as profile:
            step()
        text = profile.key_averages(group_by_input_shape=True).table()
        if "aten::" not in text:
            raise RuntimeError("the table of torch.profiler has no operations")

    return run


def read_all(recording):
    """Read the results: the tree, all as JSON, FLOPs."""
    flops = sum(op.flops or 0 for op in recording.ops())
    if not str(recording) or not recording.ops().json or not flops:
        raise RuntimeError("a recording without operations")
    return recording._now().json("run"), flops


def with_our_tree(step):
    def run(_):
        with record(step.model, ops=True) as recording:
            step()
        read_all(recording)

    return run


class Torchlens:
    """It runs the model itself, and keeps a copy of each result."""

    def __init__(self, model):
        import torchlens

        self.record, self.model = torchlens.record, model

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False

    def run(self, given):
        with contextlib.redirect_stdout(io.StringIO()):
            found = self.record(self.model, given, default_op=True)
        if found is None:
            raise bench.NotRun("it recorded nothing")


def has_torchlens():
    record_bench.install_peers()
    try:
        import torchlens  # noqa: F401
    except Exception as problem:
        print(f"torchlens: not installed ({problem})", file=sys.stderr)
        return False
    return True


def one_model(name, make, goal, torchlens):
    torch.manual_seed(1)
    step = Step(*make())
    model = step.model
    alone = {"mode": "guard", "gradients": False, "parameters": False}
    table = bench.Table(f"Operations of {name}, forward and backward, 1 thread")
    empty = contextlib.nullcontext
    variants = {
        "record(ops=True)": (lambda: record(model, ops=True), step),
        "its operations alone": (lambda: record(model, ops=True, **alone), step),
        "an empty mode": (op_kinds.empty_mode, step),
        "torch.profiler with shapes": (profiler, step),
        "torch.utils.flop_counter": (lambda: FlopCounterMode(display=False), step),
        "record(ops=True), tree, JSON, FLOPs": (empty, with_our_tree(step)),
        "torch.profiler with its table": (empty, with_its_table(step)),
    }
    goals = {"record(ops=True)": goal}
    for what, found in beside(step, variants, goals).items():
        note = record_bench.of(found)
        table.line(what, found, record_bench.as_ratio, goals.get(what), note=note)
    if torchlens:
        variants = {"torchlens": (lambda: Torchlens(model), lambda t: t.run(step.given))}
        found = beside(step.forward, variants)["torchlens"]
    else:
        found = bench.NotRun("not installed")
    table.line("torchlens, forward alone", found, record_bench.as_ratio)
    after_the_step(step, table)
    return table.short


def after_the_step(step, table):
    """From the end of the step to the tree, JSON and FLOPs, with the end of the block."""
    ours, theirs, shares = [], [], []
    for _ in range(ROUNDS + 1):
        gc.collect()  # garbage of other parts
        with record(step.model, ops=True) as recording:
            step()
            began = CLOCK()
        read_all(recording)
        ours.append(CLOCK() - began)
        shares.append(recording.cost["share"])
        gc.collect()
        with profiler() as profile:
            step()
            began = CLOCK()
        profile.key_averages(group_by_input_shape=True).table()
        theirs.append(CLOCK() - began)
        del profile
    table.line("then to tree, JSON and FLOPs", ours[1:], bench.seconds_text, 0.1)
    table.line("then to torch.profiler's table", theirs[1:], bench.seconds_text)
    table.line("share inside us, as it tells", shares[1:], record_bench.as_share)


# --- tiny operations


def tiny_ops():
    """Compared with a mode that does nothing: the rest is torchoscope's cost."""
    model, given = record_models.TinyOps(), torch.randn(4, 8)
    table = bench.Table("2,000 tiny operations, 1 thread, ratios to an empty mode")

    def forward(_=None):
        with torch.no_grad():
            for _ in range(5):
                model(given)

    def both(_=None):
        for _ in range(2):
            model(given).sum().backward()

    for name, step in (("forward", forward), ("forward and backward", both)):

        def in_empty_mode(step=step):
            with op_kinds.empty_mode():
                step()

        variants = {
            "record(ops=True)": (lambda: record(model, ops=True), step),
            "bare": (contextlib.nullcontext, step),
        }
        goals = {"record(ops=True)": 1.25}
        for what, found in beside(in_empty_mode, variants, goals).items():
            note = record_bench.of(found)
            text = record_bench.as_ratio
            table.line(f"{name}, {what}", found, text, goals.get(what), note=note)
    return table.short


# --- a million operations


def resident():
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def million():
    """Prints the memory after 250,000, 500,000 and 1,000,000 operations: run in a process
    of its own."""
    model, given = record_models.TinyOps(), torch.randn(4, 8)
    calls, sizes = MILLION // 2000, []
    torch.set_num_threads(1)
    with torch.no_grad(), record(model, ops=True) as recording:
        for call in range(1, calls + 1):
            model(given)
            if call in (calls // 4, calls // 2, calls):
                sizes.append(resident())
    lost = recording.ops().lost
    if len(recording.ops()) + lost < MILLION:
        raise RuntimeError("some operations were not seen")
    print(*sizes, lost)


def memory():
    table = bench.Table("A million operations in one recording: resident memory")
    if not os.path.exists("/proc/self/statm"):
        table.line("after 250,000", bench.NotRun("needs /proc"), str)
        return 0
    done = subprocess.run(
        [sys.executable, __file__, "--million"], capture_output=True, text=True, check=True
    )
    *sizes, lost = map(int, done.stdout.split())

    def megabytes(value):
        return f"{value / 1e6:.1f} MB"

    for what, size in zip(("250,000", "500,000", "1,000,000"), sizes):
        table.line(f"after {what}", [size], megabytes)
    grown = max(0, sizes[2] - sizes[1])
    note = f"{lost} only in totals"
    table.line("grown by the last 500,000", [grown], megabytes, 8e6, note=note)
    return table.short


def main():
    warnings.simplefilter("ignore")
    if sys.argv[1:] == ["--million"]:
        return million()
    words = sys.argv[1:]
    # otherwise its inside is invisible to all
    torch.backends.mha.set_fastpath_enabled(False)
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, {os.cpu_count()} cores, medians of {ROUNDS}")
    short = 0

    def wanted(name):
        return not words or any(word in name for word in words)

    torchlens = any(map(wanted, MODELS)) and has_torchlens()
    for name, (make, goal) in MODELS.items():
        if wanted(name):
            short += one_model(name, make, goal, torchlens)
    if wanted("tiny"):
        short += tiny_ops()
    if wanted("memory"):
        short += memory()
    print(
        f"\n{short} figures are short of their target" if short else "\nall targets met"
    )


if __name__ == "__main__":
    main()
