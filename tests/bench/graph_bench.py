"""From a recording to a picture: SVG of ResNet-50, GPT-2 and DenseNet-121 beside torchview
and torchlens (their own trace of the model is excluded), and the layout alone of graphs
with many nodes beside Graphviz's dot.

    BENCH_ROUNDS=5 graph_bench.py [WORD...]     only parts whose name has a WORD

Peers that are not installed are left out: pip install torchview torchlens, and Graphviz's
dot. dot gets DOT_SECONDS=60 at most.
"""

import contextlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import bench  # noqa: E402

sys.path.insert(0, str(bench.ROOT / "build/c/python"))
sys.path.insert(0, str(bench.ROOT / "tests/python"))

try:
    import picture_models
    import torch
    import torchoscope
except ImportError as problem:
    print(f"graph_bench: not run ({problem})")
    sys.exit(0)

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
DOT_SECONDS = float(os.environ.get("DOT_SECONDS", "60"))
MOST_SVG = 0.050  # seconds
MOST_LAYOUT = {2_000: 0.050, 100_000: 1.0}  # seconds, by boxes
PLACES = bench.ROOT / "build/c/tests/picture/places"
MODELS = ("resnet50", "gpt2", "densenet121")


def timed(function):
    begun = time.perf_counter()
    function()
    return time.perf_counter() - begun


def quiet(function):
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.redirect_stderr(io.StringIO()):
            return function()


# --- peers: (trace, function that draws what was traced)


def torchview_drawing(model, args, kwargs, folder):
    import torchview

    given = kwargs or list(args)
    graph = torchview.draw_graph(model, input_data=given, expand_nested=True)
    return lambda: graph.visual_graph.pipe(format="svg")


def torchlens_drawing(model, args, kwargs, folder):
    import torchlens

    log = torchlens.trace(model, args[0] if len(args) == 1 else list(args), kwargs)
    path = os.path.join(folder, "torchlens")
    wanted = {"vis_outpath": path, "vis_fileformat": "svg", "vis_save_only": True}
    return lambda: log.draw(**wanted)


PEERS = {"torchview": torchview_drawing, "torchlens": torchlens_drawing}


def one_model(name):
    model, args, kwargs = picture_models.make(name)
    recording = torchoscope.trace(model, *args, kwargs=kwargs, backward=False)
    table = bench.Table(f"recording to SVG: {name}")
    for level in ("modules", "ops"):
        graph = recording.graph(level)
        runs = [timed(lambda: graph.svg) for _ in range(ROUNDS + 1)][1:]
        table.line(f"torchoscope, {level}", runs, bench.seconds_text, MOST_SVG)
    with tempfile.TemporaryDirectory() as folder:
        for peer, make in PEERS.items():
            try:
                draw = quiet(lambda: make(model, args, kwargs, folder))
                runs = [quiet(lambda: timed(draw)) for _ in range(2)]
            except Exception as problem:
                runs = bench.NotRun(f"{type(problem).__name__}: {problem}"[:200])
            table.line(peer, runs, bench.seconds_text)
    return table.short


# --- the layout alone


def dot_time(boxes):
    if not shutil.which("dot"):
        return bench.NotRun("dot is not installed")
    graph = subprocess.run([PLACES, "dot", str(boxes), "1"], capture_output=True, check=True)

    def draw():
        command = ["dot", "-Gsplines=ortho", "-Tsvg", "-o", os.devnull]
        subprocess.run(command, input=graph.stdout, timeout=DOT_SECONDS, capture_output=True)

    try:
        return [timed(draw)]
    except subprocess.TimeoutExpired:
        return bench.NotRun(f"stopped after {DOT_SECONDS:g} s")


def one_layout(boxes, most):
    table = bench.Table(f"layout of {boxes:,} boxes with random skips")
    done = subprocess.run(
        [PLACES, "time", str(boxes), str(ROUNDS)], capture_output=True, check=True, text=True
    )
    runs = [float(line) for line in done.stdout.split()]
    table.line("torchoscope", runs, bench.seconds_text, most)
    if boxes < 10_000:
        table.line("Graphviz's dot", dot_time(boxes), bench.seconds_text)
    return table.short


def main():
    words = sys.argv[1:]
    parts = {name: lambda name=name: one_model(name) for name in MODELS}
    for boxes, most in MOST_LAYOUT.items():
        parts[f"layout of {boxes}"] = lambda boxes=boxes, most=most: one_layout(boxes, most)
    short = 0
    for name, measure in parts.items():
        if not words or any(word in name for word in words):
            short += measure()
    return short > 0


if __name__ == "__main__":
    sys.exit(main())
