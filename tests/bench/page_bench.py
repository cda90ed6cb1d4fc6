"""The page of `torchoscope serve` in Chromium, beside Netron: first paint and memory of a
graph of 10,000 nodes (a TorchScript archive, which both read) and of a recording of 100,000
operations; a safetensors file of 4 GB; frames a second while the graph is dragged; and how
much a page loads until a training of ResNet-18 after 1,000 logged steps is drawn.

    BENCH_ROUNDS=3 page_bench.py [WORD...]     only parts whose name has a WORD:
                                               nodes recording large training

First paint is counted from the navigation to the frame after which the graph (or table)
is there; memory is that of the renderer process (PSS). Netron comes from PyPI into
build/netron; the table names what it could not do.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import bench  # noqa: E402

sys.path.insert(0, str(bench.ROOT / "build/c/python"))
sys.path.insert(0, str(bench.ROOT / "tests/python"))

try:
    import browser
    import record_models
    import torch
    import torchoscope
    from graph_bench import Chain
    from serve_test import Server
except ImportError as problem:
    print(f"page_bench: not run ({problem})")
    sys.exit(0)

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
NETRON = Path(os.environ.get("BENCH_NETRON", bench.ROOT / "build" / "netron"))
PATIENCE = 120  # seconds, for Netron
MOST_PAINT, MOST_MEMORY = 1.0, 200  # seconds, MB
LEAST_FRAMES = 30  # a second
MOST_BYTES = 300_000  # to first view
STEPS = int(os.environ.get("BENCH_STEPS", "1000"))

GRAPH = "document.querySelector('.gr svg.graph .node') || document.querySelector('.gr .painted')"
TABLE = "document.querySelector('table.rows tbody tr, .trow')"
OVERVIEW = "document.querySelector('.ovtable .space .nums')"
NETRON_SAYS = "document.querySelector('.message-text')?.textContent"
NETRON_GRAPH = f"""{NETRON_SAYS} || (document.body.classList.contains('default') &&
    !document.body.classList.contains('spinner') && document.querySelector('g.node'))"""

# Runs before the page: records when the awaited content was painted.
WATCH = """
const look = () => {
    if (%s) requestAnimationFrame(() => { window.paintedAt = performance.now(); });
    else requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""

# Drags by a few pixels in every frame; frames a second.
DRAG = """
const done = arguments[0], stage = document.querySelector('.gr'), stamps = [];
const box = stage.getBoundingClientRect();
let x = box.left + box.width / 2, y = box.top + box.height / 2;
const send = (type) => stage.dispatchEvent(new PointerEvent(type, {bubbles: true,
    pointerId: 1, isPrimary: true, button: 0, buttons: type === 'pointerup' ? 0 : 1,
    clientX: x, clientY: y}));
send('pointerdown');
const step = (now) => {
    stamps.push(now);
    if (stamps.length === 61) {
        send('pointerup');
        done(60000 / (now - stamps[0]));
        return;
    }
    y += stamps.length > 30 ? 12 : -12;
    send('pointermove');
    requestAnimationFrame(step);
};
requestAnimationFrame(step);
"""


def megabytes_of_renderer(page):
    """PSS of the largest renderer below the driver."""
    largest = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes()
            if b"--type=renderer" not in words or page.folder.name.encode() not in words:
                continue
            lines = (folder / "smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        pss = next(line for line in lines if line.startswith("Pss:"))
        largest = max(largest, int(pss.split()[1]) / 1024)
    return largest


def bytes_loaded(page):
    """The bytes of all responses so far, as transferred."""
    told = page.call("POST", "/se/log", {"type": "performance"})
    events = [json.loads(one["message"])["message"] for one in told]
    asked, size = set(), 0
    for event in events:
        given = event["params"]
        if event["method"] == "Network.requestWillBeSent":
            if given["request"]["url"].startswith("http://localhost"):
                asked.add(given["requestId"])
        elif event["method"] == "Network.loadingFinished" and given["requestId"] in asked:
            size += given["encodedDataLength"]
    return size


class Visit:
    """A new browser, so that nothing is cached; open for further measurements."""

    def __init__(self, address, condition):
        self.page = browser.Browser()
        self.page.size(1440, 900)
        self.page.devtools(
            "Page.addScriptToEvaluateOnNewDocument", {"source": WATCH % condition}
        )
        # Netron first asks for consent to telemetry.
        self.page.devtools("Network.enable", {})
        consent = {"name": "consent", "value": "1", "url": address}
        self.page.devtools("Network.setCookie", consent)
        self.page.call("POST", "/url", {"url": address})
        end = time.monotonic() + PATIENCE
        while not self.page.run("return window.paintedAt || 0"):
            if time.monotonic() > end:
                self.close()
                raise bench.NotRun(f"nothing was drawn in {PATIENCE} s")
            time.sleep(0.02)
        self.seconds = self.page.run("return window.paintedAt") / 1000
        self.megabytes = megabytes_of_renderer(self.page)

    def close(self):
        self.page.close()


def visits(address, condition, look=None):
    """[(seconds, megabytes, look(page))] of the rounds."""
    found = []
    for _ in range(ROUNDS):
        visit = Visit(address, condition)
        try:
            found.append((visit.seconds, visit.megabytes, look and look(visit.page)))
        finally:
            visit.close()
    return found


def megabytes(value):
    return f"{value:.0f} MB"


def lines(table, who, found, paint=None, memory=None):
    if isinstance(found, bench.NotRun):
        table.line(f"{who}, first paint", found, bench.seconds_text)
        return
    table.line(f"{who}, first paint", [one[0] for one in found], bench.seconds_text, paint)
    table.line(f"{who}, memory", [one[1] for one in found], megabytes, memory)


# --- Netron


def netron_visits(path):
    """Serves one file from a separate process."""
    if not NETRON.exists() and not os.environ.get("TORCHOSCOPE_NO_INSTALL"):
        pip = [sys.executable, "-m", "pip", "install", "-q", "--target", NETRON, "netron"]
        subprocess.run(pip, capture_output=True)
    if not NETRON.exists():
        return bench.NotRun("netron is not installed")
    code = (
        f"import netron, sys, time\nprint(netron.start({str(path)!r}, ('localhost', 0), "
        "browse=False)[1], flush=True)\ntime.sleep(1e6)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(NETRON)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        port = ""
        while not port.strip().isdigit():
            port = process.stdout.readline()
            if not port:
                return bench.NotRun("it does not start")
        return visits(f"http://localhost:{port.strip()}/", NETRON_GRAPH, netron_says)
    except bench.NotRun as why:
        return why
    finally:
        process.kill()
        process.wait()


def netron_says(page):
    found = page.run(f"return {NETRON_SAYS}")
    if found:
        raise bench.NotRun(f"it says: {found}")


# --- parts


class Ops(torch.nn.Module):
    def forward(self, x):
        for _ in range(2500):
            x = torch.tanh(torch.relu(x + 1.0)) * 1.5
        return x


def serve(folder, path, view, condition, look=None):
    server = Server(path, "--port", 0)
    try:
        return visits(f"{server.address}#view={view}", condition, look)
    finally:
        server.close()


def frames(page):
    return page.call("POST", "/execute/async", {"script": DRAG, "args": []})


def nodes(folder):
    path = folder / "chain.pt"
    torch.jit.trace(Ops(), torch.ones(2, 4), check_trace=False).save(path)
    table = bench.Table("a graph of 10,000 nodes (TorchScript)")
    found = serve(folder, path, "graph&level=ops", GRAPH, frames)
    lines(table, "torchoscope", found, MOST_PAINT, MOST_MEMORY)
    table.line(
        "torchoscope, dragged", [one[2] for one in found], "{:.0f} /s".format, LEAST_FRAMES, True
    )
    lines(table, "Netron", netron_visits(path))
    return table.short


def recording(folder):
    path = folder / "large.scope"
    torchoscope.trace(Chain(1000, 68, False), torch.ones(2, 4), backward=False).save(path)
    table = bench.Table("a recording of 100,000 operations")
    for level in ("modules", "ops"):
        found = serve(folder, path, f"graph&level={level}", GRAPH, frames)
        lines(table, level, found, MOST_PAINT, MOST_MEMORY)
        table.line(
            f"{level}, dragged", [one[2] for one in found], "{:.0f} /s".format, LEAST_FRAMES, True
        )
    return table.short


def large(folder):
    """4 GB in 64 tensors, as a sparse file."""
    path, each = folder / "large.safetensors", 1 << 26
    head = {
        f"blocks.{i}.weight": {
            "dtype": "F32",
            "shape": [1 << 12, 1 << 12],
            "data_offsets": [i * each, (i + 1) * each],
        }
        for i in range(64)
    }
    text = json.dumps(head).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + 64 * each)
    table = bench.Table("a safetensors file of 4.3 GB")
    lines(table, "torchoscope", serve(folder, path, "table", TABLE), MOST_PAINT, MOST_MEMORY)
    lines(table, "Netron", netron_visits(path))
    return table.short


def training(folder):
    torch.manual_seed(0)
    model = record_models.resnet18()[0].train()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    with torchoscope.watch(model, dir=folder, log_freq=1, on_alarm=None) as handle:
        for _ in range(STEPS):
            optimizer.zero_grad()
            model(torch.randn(2, 3, 32, 32)).square().mean().backward()
            optimizer.step()
    table = bench.Table(f"ResNet-18 after {STEPS:,} logged steps")
    found = serve(folder, handle.path, "overview", OVERVIEW, bytes_loaded)
    lines(table, "overview", found, MOST_PAINT, MOST_MEMORY)
    loaded = [one[2] for one in found]
    table.line("loaded until then", loaded, "{:,.0f} bytes".format, MOST_BYTES)
    return table.short


PARTS = {"nodes": nodes, "recording": recording, "large": large, "training": training}


def main():
    if not browser.AVAILABLE:
        print(f"page_bench: not run ({browser.WHY})")
        return 0
    torch.set_num_threads(1)
    words, short = sys.argv[1:], 0
    with tempfile.TemporaryDirectory() as folder:
        for name, measure in PARTS.items():
            if not words or any(word in name for word in words):
                short += measure(Path(folder))
    return short > 0


if __name__ == "__main__":
    sys.exit(main())
