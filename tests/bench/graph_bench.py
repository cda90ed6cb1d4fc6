"""From a recording to a picture: SVG of ResNet-50, GPT-2 and DenseNet-121 beside
torchview and torchlens (their own trace of the model is excluded); the layout alone,
beside Graphviz's dot; and the interactive page of graphs with 2,000 and 100,000
operations, all open: its size, how long it takes to open, and frames a second in
Chromium while it is moved and zoomed.

    BENCH_ROUNDS=5 graph_bench.py [WORD...]     only parts whose name has a WORD:
                                                resnet50 gpt2 densenet121 layout page

torchview and torchlens are installed below build/peers; they and the third peer need
Graphviz's dot, which gets DOT_SECONDS=60 at most. Without it they are left out.
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
    import browser
    import picture_models
    import record_bench
    import torch
    import torchoscope
    from torch import nn
except ImportError as problem:
    print(f"graph_bench: not run ({problem})")
    sys.exit(0)

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
DOT_SECONDS = float(os.environ.get("DOT_SECONDS", "60"))
MOST_SVG = 0.050  # seconds
MOST_PAGE = 10  # MB
LEAST_FRAMES = 30  # a second
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


# --- peers: (trace, function that draws the trace)


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


# --- the page: graphs that do not fold automatically


class Part(nn.Module):
    """Operations in a chain with short skips."""

    def __init__(self, number, length):
        super().__init__()
        self.number, self.length = number, length
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        x = self.linear(x)
        for k in range(self.length + self.number % 7):
            x = x.tanh() if (k + self.number) % 4 else x * 1.5 + x.relu()
        return x


class Chain(nn.Module):
    """Parts one after the other, or side by side."""

    def __init__(self, parts, length, wide):
        super().__init__()
        self.parts = nn.ModuleList(Part(i, length) for i in range(parts))
        self.wide = wide

    def forward(self, x):
        if self.wide:
            return torch.stack([part(x) for part in self.parts]).sum(0)
        for part in self.parts:
            x = part(x)
        return x


PAGES = {
    "100,000 in a chain": (1000, 68, False),
    "100,000 side by side": (320, 212, True),
    "2,000, as elements": (40, 29, True),
}
ZOOMS = (1, 0.7, 0.3, 0.05, 0)  # 0: all of it

# Moves a little in every frame of the screen; frames a second
MEASURE = """
const [zoom, mode, done] = arguments, stamps = [];
Object.assign(view, viewOf(0, 0, scene.width, scene.height, zoom || fitZoom()));
const step = (now) => {
    stamps.push(now);
    const n = stamps.length, back = (n >> 5) % 2;
    if (n === 61) done(1000 * 60 / (now - stamps[0]));
    else {
        if (mode === 'pan') panBy(back ? 12 : -12, back ? 9 : -9);
        else zoomAt(back ? 1.03 : 1 / 1.03, stageWidth() / 2, stageHeight() / 2);
        requestAnimationFrame(step);
    }
};
requestAnimationFrame(step);
"""


def frames(page, zoom, mode):
    body = {"script": MEASURE, "args": [zoom, mode]}
    return page.call("POST", "/execute/async", body)


def one_page(name, page, folder):
    torch.set_num_threads(1)
    recording = torchoscope.trace(Chain(*PAGES[name]), torch.ones(2, 4), backward=False)
    graph, path = recording.graph("ops"), Path(folder, "graph.html")
    table = bench.Table(f"page: {name}")
    runs = [timed(lambda: graph.save(path, depth=9, all=True)) for _ in range(2)]
    table.line("write it", runs, bench.seconds_text)
    size = path.stat().st_size / 1e6
    table.line("its size", [size], lambda value: f"{value:.1f} MB", MOST_PAGE)
    runs = [timed(lambda: page.open(path)) for _ in range(3)]
    table.line("open it", runs, bench.seconds_text)
    for mode in ("pan", "zoom"):
        for zoom in ZOOMS:
            what = f"{mode}, " + (f"{zoom:.0%}" if zoom else "the whole graph")
            runs = [frames(page, zoom, mode) for _ in range(2)]
            table.line(what, runs, lambda value: f"{value:.0f} /s", LEAST_FRAMES, True)
    return table.short


def pages():
    if not browser.AVAILABLE:
        print(f"page: not run ({browser.WHY})")
        return 0
    page = browser.Browser()
    try:
        page.size(1440, 900)
        with tempfile.TemporaryDirectory() as folder:
            return sum(one_page(name, page, folder) for name in PAGES)
    finally:
        page.close()


def main():
    words = sys.argv[1:]
    record_bench.install_peers()
    parts = {name: lambda name=name: one_model(name) for name in MODELS}
    for boxes, most in MOST_LAYOUT.items():
        parts[f"layout of {boxes}"] = lambda boxes=boxes, most=most: one_layout(boxes, most)
    parts["page"] = pages
    short = 0
    for name, measure in parts.items():
        if not words or any(word in name for word in words):
            short += measure()
    return short > 0


if __name__ == "__main__":
    sys.exit(main())
