#!/usr/bin/env python3
"""Pictures of networks and of a report for the README.

    draw.py [NAME...]    make docs/pictures/NAME.svg, or report.png; without names, all

ResNet-50 is that of tests/samples/scenario_models.py, in full size; the others are
those of tests/python/picture_models.py. Times are those of this machine. The report
is a screenshot by Chromium.
"""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "docs" / "pictures"
FOLDERS = ("build/c/python", "tests/python", "tests/samples")
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


def main():
    import torch

    names = sys.argv[1:] or [*GRAPHS, REPORT]
    unknown = [name for name in names if name not in (*GRAPHS, REPORT)]
    if unknown:
        sys.exit(f"draw.py: no picture {unknown[0]}: {', '.join([*GRAPHS, REPORT])}")
    torch.set_num_threads(1)
    for name in names:
        path = draw_report() if name == REPORT else draw_graph(name)
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
