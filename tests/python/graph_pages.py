"""For the tests: pages of networks in Chromium, and actions of a reader."""

import tempfile
from collections import OrderedDict
from pathlib import Path

import torch
from torch import nn

import browser
import torchoscope

torch.set_num_threads(1)

HOSTILE = "</script><script>document.title='x'</script>\"'&<b>\u202egnp"


class Block(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.conv1 = nn.Conv2d(width, out, 3, padding=1)
        self.relu = nn.ReLU()
        self.conv2 = nn.Conv2d(out, out, 3, padding=1)
        self.down = nn.Sequential(nn.Conv2d(width, out, 1), nn.BatchNorm2d(out))

    def forward(self, x):
        return self.relu(self.conv2(self.relu(self.conv1(x))) + self.down(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, stride=2)
        self.layers = nn.Sequential(Block(4, 8), Block(8, 6), Block(6, 6))
        self.fc = nn.Linear(6, 5)

    def forward(self, x):
        return self.fc(self.layers(self.stem(x)).mean((2, 3)))


class Long(nn.Module):
    """Groups with 2,400 different operations, so that nothing folds automatically."""

    def __init__(self):
        super().__init__()
        self.parts = nn.Sequential(*[Part(i) for i in range(60)])

    def forward(self, x):
        return self.parts(x)


class Part(nn.Module):
    def __init__(self, i):
        super().__init__()
        self.i = i

    def forward(self, x):
        for k in range(38 + self.i % 5):
            x = x.tanh() if (k + self.i) % 3 else x * (1 + k / 9) + x.relu()
        return x


def make_hostile():
    net = nn.Sequential()
    net.add_module("plain", nn.Linear(2, 2))
    odd = type("</script><b>Odd", (nn.Sequential,), {})(nn.ReLU(), nn.Tanh())
    net._modules[HOSTILE.replace(".", "")] = odd
    return net


class PageTest(browser.BrowserTest):
    """Pages of a few networks in one browser, and actions of a reader."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        torch.manual_seed(0)
        recording = torchoscope.trace(Net(), torch.randn(2, 3, 18, 18))
        cls.recording = recording
        graph = recording.graph()
        graph.save(cls.folder / "net.html")
        graph.save(cls.folder / "sideways.html", direction="lr")
        graph.save(cls.folder / "dark.html", theme="dark")
        long = torchoscope.trace(Long(), torch.randn(2, 3), backward=False).graph("ops")
        long.save(cls.folder / "long.html", depth=9, all=True)
        inner = nn.Sequential(nn.ReLU(), nn.Tanh())
        wrapped = torchoscope.trace(
            nn.Sequential(OrderedDict(wrap=inner)), torch.ones(3, 4), backward=False
        )
        wrapped.graph().save(cls.folder / "wrapped.html", depth=2)
        hostile = torchoscope.trace(make_hostile(), torch.randn(1, 2), backward=False)
        hostile.graph().save(cls.folder / "hostile.html")

    def setUp(self):
        super().setUp()
        self.browser.prefer("light", "reduce")
        self.show("net")

    def show(self, name, fragment=""):
        self.browser.open(self.folder / f"{name}.html", fragment)

    # --- reading the page

    def js(self, script, *arguments):
        return self.browser.run(script, *arguments)

    def painted(self):
        """Wait for the next drawn frame."""
        self.browser.wait("return !wanted && !moving")

    def box(self, path):
        """Number of a box by its path."""
        number = self.js("return data.ids.indexOf(arguments[0])", path)
        self.assertGreaterEqual(number, 0, path)
        return number

    def place(self, path, x=0.5, y=0.5):
        """The position of a box on the screen; for an open one, that of its title."""
        self.painted()
        return self.js(
            "const [b, u, v] = arguments, at = toStage(box.x[b], box.y[b]);"
            "const high = isOpen(b) ? bandHeight(view.zoom) : heightOf(b);"
            "const rect = stage.getBoundingClientRect();"
            "return [rect.left + at.x + u * box.w[b] * view.zoom,"
            "rect.top + at.y + v * high * view.zoom]",
            self.box(path),
            x,
            y,
        )

    def chevron(self, path):
        x, _ = self.place(path, 0, 0)
        zoom = self.js("return view.zoom")
        _, y = self.place(path, 0, 14 / 44)
        return x + 16 * zoom, y

    def is_open(self, path):
        return self.js("return isOpen(arguments[0])", self.box(path))

    def current(self):
        return self.js("return current < 0 ? null : idOf(current)")

    def root(self):
        return self.js("return idOf(scene.root)")

    def shown(self):
        return self.js("return scene.nodes.map(idOf)")

    def view(self):
        self.painted()
        return self.js("return {...view}")

    def text(self, selector):
        return self.js(
            "return document.querySelector(arguments[0])?.textContent", selector
        )

    def tip(self):
        """The rows of the tooltip, once it is shown."""
        self.browser.wait("return !tip.hidden")
        return self.js(
            "return [...tip.querySelectorAll('dt')].map("
            "dt => [dt.textContent, dt.nextSibling.textContent])"
        )

    def select(self, path):
        """Make a box current, with the focus on the graph."""
        self.js("stage.focus(); go(arguments[0])", self.box(path))
        self.painted()
