"""Recording a model while it runs, compared with the bare model, hand-written hooks, rp
and torchlens.

    BENCH_ROUNDS=7 record_bench.py [WORD...]      only models whose name has a WORD

A bare run precedes and follows each other run, and the result is the ratio to the mean of
these two: of process time with one thread, which a busy machine affects little, and of
wall time with two. If the noise is larger than the effect, those with a target continue
without the others for BENCH_SECONDS=40 more. The peers are installed from PyPI without
dependencies into a separate folder (BENCH_PEERS, or build/peers); the table names missing
ones.
"""

import contextlib
import gc
import io
import itertools
import os
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import bench  # noqa: E402

sys.path.insert(0, str(bench.ROOT / "build/c/python"))

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "7"))
SECONDS = float(os.environ.get("BENCH_SECONDS", "40"))
PEERS = Path(os.environ.get("BENCH_PEERS", bench.ROOT / "build" / "peers"))
# What pip installs with --no-deps: the peers, and what they import in this bench.
PACKAGES = {
    "rp": "rp easydict cachetools six lazy-loader requests urllib3 certifi idna".split()
    + ["charset-normalizer"],
    "torchlens": ["torchlens", "graphviz", "pillow", "tqdm"],
    "torchview": ["torchview"],
}

try:
    import torch
    from torchoscope import record

    import record_models
except ImportError as problem:
    print(f"record_bench: not run ({problem})")
    sys.exit(0)

import numpy  # noqa: E402, F401 (so that no first import is timed)


# --- the participants


def floating(tensor):
    """torch has no mean and deviation of token numbers and masks."""
    if tensor.is_floating_point():
        return tensor
    return tensor.abs() if tensor.is_complex() else tensor.float()


def four(tensor):
    tensor = floating(tensor)
    return (
        tensor.min().item(),
        tensor.max().item(),
        tensor.mean().item(),
        tensor.std().item(),
    )


@contextlib.contextmanager
def by_hand(model):
    """Hand-written hooks for four numbers of every result."""
    found = []

    def hook(module, args, result):
        if isinstance(result, torch.Tensor) and result.is_floating_point():
            found.append(four(result.detach()))
            if result.requires_grad:
                result.register_hook(lambda gradient: found.append(four(gradient)))

    handles = [module.register_forward_hook(hook) for module in model.modules()]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


def rp_hooks():
    """Suppress the messages that peers print."""
    with contextlib.redirect_stdout(io.StringIO()):
        from rp.libs import torch_hooks

    @contextlib.contextmanager
    def collect(model):
        with contextlib.redirect_stdout(io.StringIO()):
            with torch_hooks.stats_collection(model) as found:
                yield found
        if not getattr(model, "forward_stats", None):
            raise bench.NotRun("it collected nothing")

    return collect


def four_at_once(tensor):
    tensor = floating(tensor)
    return torch.stack((tensor.min(), tensor.max(), tensor.mean(), tensor.std()))


class Torchlens:
    """It runs the model itself."""

    def __init__(self, model):
        import torchlens

        self.torchlens, self.model = torchlens, model

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False

    def run(self, given):
        found = self.torchlens.record(
            self.model,
            given,
            default_op=True,
            activation_transform=four_at_once,
            save_raw_activations=False,
        )
        if found is None:
            raise bench.NotRun("it recorded nothing")


def install_peers():
    if not PEERS.exists() and not os.environ.get("TORCHOSCOPE_NO_INSTALL"):
        print(f"installing rp, torchlens and torchview into {PEERS} ...", file=sys.stderr)
        for packages in PACKAGES.values():
            pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps"]
            subprocess.run([*pip, "--target", PEERS, *packages], capture_output=True)
    sys.path.append(str(PEERS))


def peers():
    """{name: function that makes its context, or None}."""
    install_peers()
    # When imported, rp installs missing packages or asks: not into this venv.
    os.environ["PIP_NO_INDEX"] = "1"
    sys.stdin = open(os.devnull)
    found = {}
    for name, make in (("rp", rp_hooks), ("torchlens", lambda: Torchlens)):
        try:
            __import__(name)
            found[name] = make()
        except Exception as problem:  # rp raises all sorts of things
            print(f"{name}: not installed ({problem})", file=sys.stderr)
            found[name] = None
    return found


# --- alternating


def timed(clock, call):
    start = clock()
    call()
    return clock() - start


def beside(bare, variants, clock, goals=(), rounds=ROUNDS, seconds=SECONDS):
    """{name: [ratio]} of {name: (context, step)} to the step bare(), or NotRun for a
    peer that failed. The first round only warms up. After the last, those in `goals` go
    on for some seconds."""
    ratios = {name: [] for name in variants}
    end = None
    for turn in itertools.count():
        if turn > rounds:
            variants = {name: variants[name] for name in variants if name in goals}
            end = end or time.monotonic() + seconds
            if not variants or time.monotonic() > end:
                return ratios
        gc.collect()
        before = timed(clock, bare)
        for name, (context, step) in variants.items():
            if isinstance(ratios[name], bench.NotRun):
                continue
            try:
                with context() as inside:
                    took = timed(clock, lambda: step(inside))
            except Exception as problem:
                if name not in PACKAGES:
                    raise
                ratios[name] = bench.NotRun(f"{type(problem).__name__}: {problem}")
                before = timed(clock, bare)
                continue
            after = timed(clock, bare)
            if turn:
                ratios[name].append(2 * took / (before + after))
            before = after
        print(f"  round {turn}", file=sys.stderr, end="\r")


def as_ratio(value):
    return f"{value:.3f} x"


def of(found):
    return "" if isinstance(found, bench.NotRun) else f"of {len(found)}"


def as_share(value):
    return f"{value:.3f}"


def forward(model, given, table, others, goals, clock):
    def bare(_=None):
        with torch.no_grad():
            model(given)

    variants = {
        "full": (lambda: record(model), bare),
        "sampled": (lambda: record(model, mode="sampled"), bare),
        "guard": (lambda: record(model, mode="guard"), bare),
    }
    if others is not None:
        variants["by hand"] = (lambda: by_hand(model), bare)
        for name, make in others.items():
            if make is Torchlens:
                variants[name] = (lambda: Torchlens(model), lambda t: t.run(given))
            elif make is not None:
                variants[name] = (lambda make=make: make(model), bare)
    model.eval()
    ratios = beside(bare, variants, clock, goals)
    for name, found in ratios.items():
        table.line(f"forward, {name}", found, as_ratio, goals.get(name), note=of(found))
    for name, make in (others or {}).items():
        if make is None:
            table.line(f"forward, {name}", bench.NotRun("not installed"), as_ratio)


class Trainer:
    def __init__(self, model, given):
        self.model, self.given = model.train(), given
        self.optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)

    def step(self, found=None):
        self.optimizer.zero_grad()
        result = self.model(self.given)
        getattr(result, "logits", result).square().mean().backward()
        if isinstance(found, list):
            for parameter in self.model.parameters():
                found.append(four(parameter.detach()))
                if parameter.grad is not None:
                    found.append(four(parameter.grad))
        self.optimizer.step()


def training(model, given, table, with_hand, goals, clock):
    step = Trainer(model, given).step
    variants = {
        "full": (lambda: record(model), lambda _: step()),
        "sampled": (lambda: record(model, mode="sampled"), lambda _: step()),
    }
    if with_hand:
        variants["by hand"] = (lambda: by_hand(model), step)
    ratios = beside(step, variants, clock, goals)
    for name, found in ratios.items():
        table.line(f"training, {name}", found, as_ratio, goals.get(name), note=of(found))


def shares(model, given, table, goals):
    """The cost that recordings report."""
    found = {"forward": [], "training": []}
    step = Trainer(model, given).step
    for _ in range(ROUNDS):
        with record(model) as recording:
            for _ in range(2):
                step()
        found["training"].append(recording.cost["share"])
        model.eval()
        with record(model, parameters=False) as recording, torch.no_grad():
            for _ in range(3):
                model(given)
        found["forward"].append(recording.cost["share"])
        model.train()
    for name, values in found.items():
        table.line(f"{name}, share inside us", values, as_share, goals.get(name))


def budgets(model, given, table, clock, passes, rounds):
    def many(_=None):
        with torch.no_grad():
            for _ in range(passes):
                model(given)

    recordings = []

    def begin():
        recordings.append(record(model, parameters=False, budget=0.03))
        return recordings[-1]

    model.eval()
    found = beside(many, {"budget": (begin, many)}, clock, {"budget"}, rounds)["budget"]
    table.line(f"budget=0.03, {passes} passes", found, as_ratio, 1.03, note=of(found))
    told = [recording.facts["budget_cost"] for recording in recordings[1:]]
    table.line("  share that it tells itself", told, as_share, 0.03)


def true_times(model, given, table):
    """The recorded time of the outermost call compared with bare runs: wall time, with a
    bare run right before each."""
    model.eval()
    bare, told = [], []
    with torch.no_grad():
        for _ in range(40):
            bare.append(timed(time.perf_counter, lambda: model(given)))
            with record(model, parameters=False) as recording:
                model(given)
            told.append(recording.calls()[0].time_ns / 1e9)
    wrong = abs(statistics.median(told) / statistics.median(bare) - 1)
    least = abs(min(told) / min(bare) - 1)
    table.line("time told of the outermost call, wrong by", [wrong], as_share, 0.05)
    print(f"  {'':6} by the least of 40 each: {least:.3f}")


def begins_and_ends(model, table):
    def once():
        with record(model, parameters=False):
            pass

    times = [timed(time.process_time, once) for _ in range(ROUNDS)]
    table.line("a recording begins and ends", times, bench.seconds_text)


def one_model(name, make, others):
    torch.manual_seed(1)
    model, given = make()
    cnn = name.startswith("ResNet")
    torch.set_num_threads(1)
    table = bench.Table(f"Recording {name}, 1 thread, process time")
    clock = time.process_time
    forward(model, given, table, others, {"full": 1.10, "sampled": 1.03}, clock)
    goal = 1.15 if name.startswith("ResNet-50") else 1.10
    training(model, given, table, True, {"full": goal, "sampled": 1.05}, clock)
    shares(model, given, table, {"forward": 0.08, "training": 0.11})
    budgets(model, given, table, clock, 10, min(ROUNDS, 3))
    true_times(model, given, table)
    begins_and_ends(model, table)
    torch.set_num_threads(2)
    two = bench.Table(f"Recording {name}, 2 threads, wall time")
    goals = {"full": 1.20} if cnn else {}
    forward(model, given, two, None, goals, time.perf_counter)
    training(model, given, two, False, goals, time.perf_counter)
    torch.set_num_threads(1)
    return table.short + two.short


def tiny_layers():
    model, given = record_models.tiny()
    table = bench.Table("2,000 layers that do next to nothing, 1 thread")
    clock = time.process_time

    def bare(_=None):
        with torch.no_grad():
            model(given)

    model.eval()
    found = beside(bare, {"full": (lambda: record(model), bare)}, clock)["full"]
    table.line("forward, full", found, as_ratio)
    budgets(model, given, table, clock, 100, min(ROUNDS, 5))
    return table.short


def main():
    warnings.simplefilter("ignore")
    words = sys.argv[1:]
    # otherwise its inside is invisible to all
    torch.backends.mha.set_fastpath_enabled(False)
    others = peers()
    print(f"torch {torch.__version__}, {os.cpu_count()} cores, medians of {ROUNDS}")
    short = 0
    for name, make in record_models.ALL.items():
        if not words or any(word in name for word in words):
            short += one_model(name, make, others)
    if not words or "tiny" in words:
        short += tiny_layers()
    print(
        f"\n{short} figures are short of their target" if short else "\nall targets met"
    )


if __name__ == "__main__":
    main()
