"""The timeline of the page in a real browser: head, brush, boxes, keys, table. The answers
are synthetic."""

import time
import unittest

import browser
import page_server

MS = 1000000
FAMILIES = ["", "conv", "linear", "norm", "activation", "pool", "attention", "embedding"]
FAMILIES += ["view", "elementwise", "loss", "other"]
KINDS = ["phase", "call", "backward", "op"]
PHASES = ["forward", "backward", "recompute", "optimizer", "loss", "outside"]
# kind, phase, name, place, family, parent, start, time; a call and its operation
BOXES = [
    (1, 0, "ResNet", 0, 0, None, 0, 40),
    (1, 0, "conv1", 1, 1, 0, 1, 10),
    (3, 0, "conv2d", 1, 1, 1, 2, 8),
    (1, 0, "bn1", 2, 3, 0, 12, 5),
    (1, 0, "relu", 3, 4, 0, 20, 0.001),
    (0, 4, "loss", None, 0, None, 41, 2),
    (0, 1, "backward", None, 0, None, 44, 50),
    (2, 1, "conv1", 1, 1, 6, 80, 12),
    (0, 3, "optimizer", None, 0, None, 95, 5),
]


def timeline(boxes=BOXES):
    texts = sorted({one[2] for one in boxes} | {"", "conv1", "10.00ms", "12.00ms", "22.00ms", "22%"})
    texts += ["7.6G", "Conv2d 3\u219264", "\u2013"]
    at = texts.index
    starts = [round(one[6] * MS) for one in boxes]
    columns = {
        "n": len(boxes),
        "kind": [one[0] for one in boxes],
        "phase": [one[1] for one in boxes],
        "name": [at(one[2]) for one in boxes],
        "place": [one[3] for one in boxes],
        "family": [one[4] for one in boxes],
        "up": [0 if one[5] is None else i - one[5] for i, one in enumerate(boxes)],
        "after_ns": [b - a for a, b in zip([0, *starts], starts)],
        "ns": [round(one[7] * MS) for one in boxes],
        "own_ns": [round(one[7] * MS) for one in boxes if one[0] != 3],
        "flops_box": [2],
        "flops": [7600000000],
        "call": [i for i, one in enumerate(boxes) if one[0] == 1],
    }
    modules = {"n": 1, "left_out": 150, "whole_ns": 100 * MS, "place": [1], "family": [1]}
    modules |= {"name": [at("conv1")], "class": [at("Conv2d 3\u219264")]}
    modules |= {"forward_text": [at("10.00ms")], "backward_text": [at("12.00ms")]}
    modules |= {"total_text": [at("22.00ms")], "share_text": [at("22%")]}
    modules |= {"flops_text": [at("7.6G")], "flops": [7600000000]}
    modules |= {"forward_ns": [10 * MS], "backward_ns": [12 * MS]}
    memory = {"at_ns": [MS, 40 * MS, 90 * MS], "bytes": [1 << 20, 3 << 20, 1 << 20]}
    memory |= {"peak_bytes": 3 << 20, "peak_text": "3.0MB", "peak_op": 1, "peak_ns": 40 * MS}
    sentence = "forward 40.00ms, loss 2.00ms, backward 50.00ms, optimizer 5.00ms"
    document = {"torchoscope": 1, "kind": "timeline", "pass": 0, "passes": 1, "step": 7}
    document |= {"first_op": 0, "ns": 100 * MS, "text": "100.00ms", "why": []}
    document |= {"sentence": sentence, "flops_text": "7.6G by 1 of 1 operations"}
    document |= {"kinds": KINDS, "phase_names": PHASES, "families": FAMILIES}
    return document | {"boxes": columns, "memory": memory, "modules": modules, "texts": texts}


class Timeline(browser.BrowserTest):
    def setUp(self):
        self.browser.call("POST", "/url", {"url": "about:blank"})  # it still asks
        super().setUp()
        self.server = page_server.Server().start()
        self.addCleanup(self.server.stop)
        self.server.files[1]["has"] = ["calls", "ops"]
        self.server.documents["timeline 2"] = timeline()
        self.browser.size(1440)

    def open(self, more=""):
        self.browser.open(self.server.url, f"#file=2&view=timeline{more}")
        self.browser.wait("return document.querySelector('.tlflame, .fail, .empty')")

    def text(self, selector):
        return self.browser.run(f"return document.querySelector('{selector}')?.textContent")

    def hash(self):
        return self.browser.run("return decodeURIComponent(location.hash)")

    def at(self, ms, row, window=(0, 100)):
        """A point of the chart."""
        x, y, width = self.browser.run(
            "const at = document.querySelector('.tlflame').getBoundingClientRect();"
            "return [at.x, at.y, at.width]")
        part = (ms - window[0]) / (window[1] - window[0])
        return x + part * width, y + 26 + row * 26 + 12

    def focus(self):
        self.browser.run("document.querySelector('.tlflame').focus()")

    def test_head_and_table(self):
        self.open()
        self.assertIn("step 7", self.text(".tlhead"))
        self.assertIn("backward 50.00ms", self.text(".tlhead"))
        cells = self.browser.run(
            "return [...document.querySelectorAll('tbody tr td')].map((a) => a.textContent)")
        self.assertEqual(cells, ["conv1", "Conv2d 3\u219264", "10.00ms", "12.00ms", "22.00ms",
                                 "", "22%", "7.6G"])
        self.assertIn("1 of 151; FLOPs: 7.6G by 1 of 1", self.text(".tlcard h2"))
        self.browser.run("document.querySelector('tbody .link').click()")
        self.assertIn("at=conv1", self.hash())

    def test_a_click_selects_and_a_double_click_shows_it_large(self):
        self.open()
        self.browser.click(*self.at(14, 2))
        self.assertIn("at=bn1", self.hash())
        self.browser.click(*self.at(85, 2), times=2)
        self.browser.wait("return location.hash.includes('span=')")
        self.assertIn("at=conv1", self.hash())
        self.assertIn("span=79760000-92240000", self.hash())

    def test_the_tooltip(self):
        self.open("&level=ops")
        self.browser.mouse(("move", *self.at(5, 3)))
        self.browser.wait("return document.querySelector('.tip')")
        text = self.text(".tip")
        for part in ("conv2d", "8.00ms, 8% of step", "7.6G", "forward"):
            self.assertIn(part, text)
        self.browser.mouse(("move", 5, 300))
        self.assertIsNone(self.text(".tip"))

    def test_boxes_under_a_pixel_are_not_drawn(self):
        self.open()
        self.browser.mouse(("move", *self.at(20, 2)), ("pause", 200))
        self.assertIsNone(self.text(".tip"))

    def test_keys(self):
        self.open()
        self.focus()
        self.browser.press("Right", "Down", "Right")
        self.assertIn("at=bn1", self.hash())
        self.assertIn("bn1, 5.00ms, 5% of step", self.text(".tl [role=status]"))
        self.browser.press("Enter")
        self.browser.wait("return location.hash.includes('span=11900000-17100000')")
        self.browser.press("0")
        self.browser.wait("return !location.hash.includes('span=')")
        self.browser.press("+")
        self.browser.wait("return location.hash.includes('span=25000000-75000000')")
        self.browser.press("-")
        self.browser.wait("return !location.hash.includes('span=')")

    def test_the_brush(self):
        self.open()
        x, y, width = self.browser.run(
            "const at = document.querySelector('.tlover').getBoundingClientRect();"
            "return [at.x, at.y, at.width]")
        self.browser.mouse(("move", x + width / 4, y + 20), ("down",),
                           ("move", x + width / 2, y + 20), ("up",))
        self.browser.wait("return location.hash.includes('span=')")
        left, wide = self.browser.run(
            "const at = document.querySelector('.tlbrush').style;"
            "return [parseFloat(at.left), parseFloat(at.width)]")
        self.assertAlmostEqual(left, 25, delta=.2)
        self.assertAlmostEqual(wide, 25, delta=.4)

    def test_memory_and_operations(self):
        self.open()
        height = "return document.querySelector('.tlflame').clientHeight"
        before = self.browser.run(height)
        press = "[...document.querySelectorAll('.tlhead button')].find((a) => a.textContent === "
        self.browser.run(press + "'Memory').click()")
        self.assertIn("tab=memory", self.hash())
        self.assertEqual(self.browser.run(height), before + 116)
        self.browser.run(press + "'Ops').click()")
        self.assertIn("level=ops", self.hash())
        self.assertEqual(self.browser.run(height), before + 116 + 26)

    def test_recordings_without_times(self):
        self.server.documents.pop("timeline 2")
        self.open()
        self.assertIn("No times recorded", self.text(".empty"))
        self.assertTrue(all("Failed to load" in one for one in self.browser.log()))

    def test_a_hundred_thousand_operations(self):
        boxes = [BOXES[0], *((3, 0, "conv2d", 1, 1, 0, i * .0004, .0003)
                             for i in range(100000))]
        self.server.documents["timeline 2"] = timeline(boxes)
        self.open("&level=ops")
        self.focus()
        begin = time.monotonic()
        self.browser.press(*["+"] * 12)
        self.browser.wait("return location.hash.includes('span=')")
        self.assertLess(time.monotonic() - begin, 30)
        self.browser.press("Right", "Down")
        self.assertIn("conv2d", self.text(".tl [role=status]"))

    def test_narrow_and_dark(self):
        self.browser.prefer("dark")
        for width in (1024, 390):
            self.browser.size(width, 844)
            self.open()
            self.assertLessEqual(self.browser.run(
                "return document.documentElement.scrollWidth - innerWidth"), 0)


if __name__ == "__main__":
    unittest.main()
