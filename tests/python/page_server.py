"""For the tests of the page: a small server with synthetic answers that can be made to
fail. The page is bundled from src/page as in the build.

    python3 page_server.py [PORT]      serve it for viewing"""

import json
import math
import re
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "src/page"
sys.path.insert(0, str(ROOT / "tools"))
import embed  # noqa: E402

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data: blob:"
)


def tokens():
    text = (ROOT / "src/export/look/tokens.c").read_text()
    table = re.findall(r'\{"([\w-]+)", "(#\w+)", "(#\w+)"\}', text)
    light = ":root{" + "".join(f"--{n}:{a};" for n, a, _ in table) + "color-scheme:light}"
    dark = "".join(f"--{n}:{b};" for n, _, b in table) + "color-scheme:dark}"
    return (
        f"{light}\n@media screen{{:root[data-theme=dark]{{{dark}}}\n"
        "@media screen and (prefers-color-scheme:dark)"
        f"{{:root:not([data-theme=light]){{{dark}}}\n"
    )


class Rows:
    """The document `rows`, place by place."""

    kinds = ["module", "group", "tensor", "value"]
    families = ["", "conv", "linear", "norm", "activation", "pool"]

    def __init__(self):
        self.texts, self.index = [], {}
        self.lists = {k: [] for k in ("name", "class", "parent", "what", "family", "flags")}
        self.params, self.runs = [], []

    def text(self, text):
        if text not in self.index:
            self.index[text] = len(self.texts)
            self.texts.append(text)
        return self.index[text]

    def add(self, parent, name, klass, params=0, flags=0, what=0):
        values = {"name": self.text(name), "class": self.text(klass), "parent": parent}
        values |= {"what": what, "family": 0, "flags": flags}
        for key, value in values.items():
            self.lists[key].append(value)
        self.params.append(params)
        return len(self.params) - 1

    def document(self):
        n = len(self.params)
        end = list(range(1, n + 1))
        for i in range(n - 1, 0, -1):
            above = self.lists["parent"][i]
            end[above] = max(end[above], end[i])
            self.params[above] += self.params[i]
        texts = [self.text(count(value)) for value in self.params]
        column = {"id": "params", "head": "params", "title": "parameters", "kind": "count"}
        column |= {"text": texts, "number": self.params, "whole": self.params[0]}
        first, many = [one[0] for one in self.runs], [one[1] for one in self.runs]
        column["run_number"] = [self.params[at] * n for at, n in self.runs]
        column["run_text"] = [self.text(count(n)) for n in column["run_number"]]
        runs = {"first": first, "count": many, "pairs": [0] * len(first)}
        self.lists["parent"][0] = None
        return {
            "torchoscope": 1,
            "kind": "rows",
            "n": n,
            **self.lists,
            "end": end,
            "kinds": self.kinds,
            "families": self.families,
            "columns": [column],
            "runs": runs,
            "texts": self.texts,
        }


def count(n):
    for size, letter in ((1e9, "B"), (1e6, "M"), (1e3, "K")):
        if n >= size:
            return f"{n / size:.1f}{letter}"
    return str(n)


def resnet():
    rows = Rows()
    root = rows.add(-1, "", "ResNet", flags=2)
    rows.add(root, "conv1", "Conv2d", 9408)
    rows.add(root, "bn1", "BatchNorm2d", 128)
    rows.add(root, "relu", "ReLU")
    rows.add(root, "maxpool", "MaxPool2d")
    bad, carried = False, 0
    for layer, blocks in enumerate((3, 4, 6, 3), 1):
        width = 32 << layer
        first = layer == 1
        at = rows.add(root, f"layer{layer}", "Sequential", flags=2 if first else carried)
        for block in range(blocks):
            flags = 2 if first and block == 0 else carried
            one = rows.add(at, str(block), "Bottleneck", flags=flags)
            if block == 1:
                rows.runs.append([one, blocks - 1])
            wide = width * (4 if block else 2)
            for name, klass, params in (
                ("conv1", "Conv2d", wide * width),
                ("bn1", "BatchNorm2d", 2 * width),
                ("conv2", "Conv2d", 9 * width * width),
                ("bn2", "BatchNorm2d", 2 * width),
                ("conv3", "Conv2d", 4 * width * width),
                ("bn3", "BatchNorm2d", 8 * width),
                ("relu", "ReLU", 0),
            ):
                made = not bad and name == "conv2"
                bad = bad or made
                rows.add(one, name, klass, params, 2 if made else carried)
                carried = 8 if bad else 0
            if block == 0:
                down = rows.add(one, "downsample", "Sequential", flags=carried)
                rows.add(down, "0", "Conv2d", wide * 4 * width, carried)
                rows.add(down, "1", "BatchNorm2d", 8 * width, carried)
    rows.add(root, "avgpool", "AdaptiveAvgPool2d", flags=carried)
    rows.add(root, "fc", "Linear", 2049000, carried)
    return rows.document()


def large():
    """100,000 places."""
    rows = Rows()
    root = rows.add(-1, "", "Large")
    for i in range(1000):
        block = rows.add(root, f"block{i}", "Block")
        for k in range(99):
            rows.add(block, f"lin{k}", "Linear", 16)
    return rows.document()


def training():
    steps = 400
    first = [i * 31 for i in range(steps)]
    last = [at + 30 for at in first[:-1]] + [12480]
    loss = [1.2 + 6 * math.exp(-i / 50) + 0.1 * math.sin(i * 7) for i in range(steps)]
    loss = [value if last[i] < 11940 else "NaN" for i, value in enumerate(loss)]
    columns = {"columns": steps, "first": first, "last": last, "steps": [31] * steps}
    texts = [
        (11940, "alarm", "NaN", "layer1.0.conv2", "output, 25% of its values"),
        (11230, "warning", "exploding", "layer1.0.conv2", "gradient norm 4103"),
        (8860, "warning", "dead", "layer4.2.relu", "412 of 2,048 units"),
    ]
    keys = ("step", "severity", "kind", "name", "text")
    return {
        "torchoscope": 1,
        "kind": "history",
        "phases": [{"phase": "train", "columns": columns}],
        "segments": [],
        "alarms": [dict(zip(keys, one)) for one in texts],
        "scalars": [{"name": "loss", "phase": "train", "newest": "NaN", "value": loss}],
    }


RUN = {"file": "1", "name": "resnet50-imagenet.scope", "path": "run/resnet50-imagenet.scope"}
RUN |= {"format": "recording", "live": True, "newest_step": 12480, "alarms": 3, "version": 1}
RUN |= {"has": ["graph", "history"], "loss": "NaN", "bytes": 1 << 20, "model": 1}
FILE = {"file": "2", "name": "it's a model.pth", "path": "/tmp/it's a model.pth"}
FILE |= {"format": "torch zip", "verdict": "needs code", "bytes": 99250176, "version": 1}
FILE |= {"has": [], "forms": ["csv", "json"], "model": 1}
BIG = {**FILE, "file": "3", "name": "big.safetensors", "verdict": "safe"}


class Server(ThreadingHTTPServer):
    """token: asked for if not empty; down: closes every connection; slow: seconds."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.files = [dict(RUN), dict(FILE), dict(BIG)]
        self.documents = {"rows 1": resnet(), "rows 2": resnet(), "rows 3": large()}
        self.documents["training 1"] = training()
        none = {"columns": 0, "first": [], "last": [], "steps": []}
        none = {"phase": "train", "columns": none, "modules": [], "place": []}
        self.documents |= {"modules 1": none, "step 1": none}
        facts = [{"id": "title", "text": "a place", "parts": []}]
        source = {"name": "Net", "file": "net.py", "first": 1, "forward": 2, "marks": []}
        source["lines"] = ["class Net:", "    def forward(self): ..."]
        for file in "123":
            self.documents[f"info {file}"] = {"kind": "info", "metadata": {}}
            self.documents[f"show {file}"] = {"kind": "show", "details": facts}
            self.documents[f"code {file}"] = {"kind": "code", "source": source}
            self.documents[f"attributes {file}"] = {"kind": "attributes", "attributes": []}
        self.script, self.token, self.down, self.slow = None, "", False, 0
        self.streams, self.changed = True, threading.Event()
        self.url = f"http://localhost:{self.server_address[1]}/"

    def start(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def stop(self):
        self.down = True
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        pass  # the browser closed the connection

    def change(self, file, **values):
        self.files[file].update(values, version=self.files[file]["version"] + 1)
        self.changed.set()


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def answer(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def json(self, status, document):
        self.answer(status, "application/json", json.dumps(document).encode())

    def do_GET(self):
        server = self.server
        path, _, query = self.path.lstrip("/").partition("?")
        if server.down:
            self.close_connection = True
            return
        if path == "":
            self.answer(200, "text/html", (PAGE / "index.html").read_bytes())
        elif path == "page.css":
            style = tokens() + embed.bundle(PAGE / "page_styles.css")[0]
            self.answer(200, "text/css", style.encode())
        elif path in ("page.js", "chunk.js", "more.js"):
            script = embed.split(PAGE / "app.js")[0][path.removesuffix(".js")]
            self.answer(200, "text/javascript", script.encode())
        elif server.token and self.headers["X-Torchoscope-Token"] != server.token:
            self.json(403, {"error": "The token is missing or wrong."})
        elif path == "events":
            self.events()
        else:
            self.question(path, dict(urllib.parse.parse_qsl(query)))

    def question(self, path, args):
        server = self.server
        name = path.removeprefix("api/")
        if name in ("shelf", "news"):
            self.json(200, {"kind": "shelf", "news": 1, "complete": True, "files": server.files})
            return
        time.sleep(server.slow)
        found = server.documents.get(f"{name} {args.get('file')}")
        if found:
            self.json(200, found(args) if callable(found) else found)
        else:
            self.json(404, {"error": f"There is no {name} of this file."})

    def events(self):
        server = self.server
        if not server.streams:
            self.json(404, {"error": "no events"})
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        while not server.down:
            shelf = {"kind": "news", "news": 1, "complete": False, "files": server.files}
            self.wfile.write(f"data: {json.dumps(shelf)}\n\n".encode())
            self.wfile.flush()
            server.changed.clear()
            end = time.monotonic() + 1
            while not server.changed.wait(0.05) and time.monotonic() < end:
                if server.down:
                    break
        self.close_connection = True


if __name__ == "__main__":
    made = Server(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    print(made.url, flush=True)
    made.serve_forever()
