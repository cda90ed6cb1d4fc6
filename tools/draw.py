#!/usr/bin/env python3
"""Draws pictures of networks, of a report and of the page for the README.

    draw.py [NAME...]    make docs/pictures/NAME.svg, report.png or page.png; without
                         names, all

ResNet-50 is that of tests/samples/scenario_models.py, in full size; the others are
those of tests/python/picture_models.py. Times are those of this machine. The report is
a screenshot by Chromium; so is the page, next to the terminal: both show a ResNet-18
that was trained for this and got a NaN.
"""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "docs" / "pictures"
FOLDERS = ("build/c/python", "tests/python", "tests/samples", "tools")
sys.path[:0] = [str(ROOT / folder) for folder in FOLDERS]

# name: (network, options of graph())
GRAPHS = {
    "graph_resnet": ("resnet50", {"color": "time", "depth": 1}),
    "graph_gpt2": ("gpt2", {"level": "ops", "root": "transformer.h.0"}),
    "graph_unet": ("unet", {"depth": 0}),
    "graph_mixtral": ("mixtral", {"root": "model.layers.0.mlp", "depth": 3}),
}
REPORT = "report"
WIDTH, HEIGHT = 1060, 1560  # of its screenshot, in pixels
PAGE = "page"
PAGE_SIZE = 1240, 860
TERMINAL = 84, 40  # columns, rows
STEPS, BAD_STEP = 300, 262


def make(network):
    """(model, args, kwargs)"""
    import torch

    import picture_models
    import scenario_models

    torch.manual_seed(0)
    if network != "resnet50":
        return picture_models.make(network)
    return scenario_models.resnet50().eval(), (torch.randn(1, 3, 224, 224),), {}


def draw_graph(name):
    import torchoscope

    network, options = GRAPHS[name]
    model, args, kwargs = make(network)
    torchoscope.trace(model, *args, kwargs=kwargs, backward=False)  # torch warms up
    path = OUT / f"{name}.svg"
    torchoscope.graph(model, *args, kwargs=kwargs, **options).save(path)
    return path


def draw_report():
    import browser
    import torchoscope

    model, args, _ = make("resnet50")
    torchoscope.trace(model, *args)  # torch warms up
    recording = torchoscope.trace(model, *args)
    chromium = browser.Browser()
    try:
        with tempfile.TemporaryDirectory() as folder:
            recording.save(Path(folder) / "resnet50.scope")
            page = Path(folder) / "report.html"
            torchoscope.open(Path(folder) / "resnet50.scope").export(page)
            chromium.prefer("light")
            chromium.size(WIDTH, HEIGHT)
            chromium.open(page)
            chromium.screenshot(OUT / "report.png")
    finally:
        chromium.close()
    return OUT / "report.png"


def train(folder):
    """The file of a ResNet-18 that learns ten patterns; then a weight becomes NaN."""
    import torch

    import torchoscope
    import vision_models

    torch.manual_seed(0)
    model = vision_models.resnet18()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    patterns = torch.randn(10, 3, 64, 64)
    run = torchoscope.watch(model, dir=folder, log_freq=1, name="resnet18", on_alarm=None)
    for step in range(STEPS):
        optimizer.zero_grad()
        labels = torch.randint(0, 10, (16,))
        answers = model(patterns[labels] + torch.randn(16, 3, 64, 64))
        torch.nn.functional.cross_entropy(answers, labels).backward()
        if step == BAD_STEP:
            with torch.no_grad():
                model.layers[2][0].convs[1].weight[0, 0] = float("nan")
        optimizer.step()
        run.log(accuracy=float((answers.argmax(1) == labels).float().mean()))
    run.close()
    return Path(run.path)


def draw_terminal(path):
    """The explorer on the same file, as SVG."""
    import shot

    tmux = shot.Tmux(*TERMINAL, "dark", f"{path} --panel 7")
    try:
        return shot.draw(tmux.settle(), *TERMINAL, "dark")
    finally:
        tmux.call("kill-server", check=False)


def draw_page():
    import browser
    from serve_test import Server

    chromium = browser.Browser()
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = train(folder)
            path = path.rename(path.with_name("resnet18.scope"))
            Path(folder, "terminal.svg").write_text(draw_terminal(path))
            server = Server(path, "--port", 0)
            try:
                chromium.prefer("light")
                chromium.size(*PAGE_SIZE)
                drawn = "document.querySelector('.ovtable .space .nums')"
                chromium.open(server.address, ready=drawn)
                chromium.wait("return !document.querySelector('.load')")
                chromium.screenshot(Path(folder, "page.png"))
            finally:
                server.close()
            width, height = PAGE_SIZE
            page = Path(folder, "both.html")
            page.write_text(
                "<body style='margin:0;display:flex;gap:20px;background:#fff'>"
                "<img src=page.png style='border:1px solid #d9dde3;border-radius:8px'>"
                f"<img src=terminal.svg style='height:{height + 2}px'>"
            )
            chromium.size(width + 780, height + 2)
            chromium.open(page, ready="[...document.images].every((one) => one.complete)")
            wide = "return document.images[1].getBoundingClientRect().right"
            chromium.size(round(chromium.run(wide)), height + 2)
            chromium.screenshot(OUT / "page.png")
    finally:
        chromium.close()
    return OUT / "page.png"


def main():
    import torch

    others = {REPORT: draw_report, PAGE: draw_page}
    names = sys.argv[1:] or [*GRAPHS, *others]
    unknown = [name for name in names if name not in (*GRAPHS, *others)]
    if unknown:
        sys.exit(f"draw.py: no picture {unknown[0]}: {', '.join([*GRAPHS, *others])}")
    torch.set_num_threads(1)
    for name in names:
        path = others[name]() if name in others else draw_graph(name)
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
