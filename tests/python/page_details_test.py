"""The view Details of the page: a real server, a real file and recording, in Chromium."""

import unittest
import urllib.parse

import numpy
import onnx
import torch
from safetensors.numpy import save_file
from torch import nn

import browser
import onnx_models
import torchoscope
from serve_test import Serving

torch.set_num_threads(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x):
        return self.conv(x).relu()


class Details(Serving, browser.BrowserTest):
    def setUp(self):
        browser.BrowserTest.setUp(self)
        super().setUp()
        values = numpy.linspace(-1, 2, 4 * 20 * 30, dtype="float32")
        self.values = values.reshape(4, 20, 30)
        self.values[0, 3, 4] = numpy.nan
        save_file({"a.weight": self.values}, self.folder / "x.safetensors")
        net = Net()
        with torchoscope.record(net) as recording:
            net(torch.zeros(1, 3, 8, 8))
        recording.save(self.folder / "net.scope")

    def look(self, file, at, ready):
        server = self.serve(self.folder / file)
        words = urllib.parse.urlencode({"file": file, "view": "details", "at": at})
        self.browser.call("POST", "/url", {"url": "about:blank"})
        self.browser.call("POST", "/url", {"url": f"{server.address}#{words}"})
        self.browser.wait(f"return document.querySelector({ready!r})")

    def text(self, selector):
        return self.browser.run(
            f"return [...document.querySelectorAll({selector!r})].map(e => e.textContent)"
        )

    def test_a_tensor_has_facts_a_distribution_and_values(self):
        self.look("x.safetensors", "a.weight", ".dtgrid")
        facts = self.text(".dtfact")
        self.assertTrue(any("4\u00d720\u00d730 float32" in one for one in facts), facts)
        self.assertTrue(any("NaN" in one for one in facts), facts)
        self.assertEqual(len(self.text(".dtbars")), 2)
        self.assertIn("2,399 finite values", self.text(".dtcard .dim")[0])
        cells = self.text(".dtgrid tbody tr:first-child td")
        for cell, value in zip(cells, self.values[0, 0, :9]):
            self.assertAlmostEqual(float(cell), float(value), places=3)
        self.assertEqual(self.text(".dtgrid td.bad"), ["NaN"])

    def test_metadata_of_a_file_is_shown_with_its_root(self):
        save_file({"w": self.values}, self.folder / "x.safetensors",
                  metadata={"made by": "a test", "<b>": "</b>"})
        self.look("x.safetensors", "", ".meta")
        self.assertEqual(sorted(self.text(".meta .atrow")), ["<b></b>", "made bya test"])

    def test_a_model_without_source_has_no_card_for_it(self):
        nodes = [onnx.helper.make_node("Relu", ["x"], ["y"])]
        ends = [onnx_models.info(name, shape=[2]) for name in "xy"]
        onnx.save(onnx_models.model(nodes, ends[:1], ends[1:]), self.folder / "x.onnx")
        self.look("x.onnx", "", ".dtcard")
        self.browser.wait("return performance.getEntriesByType('resource')"
                          ".some((one) => /code/.test(one.name) && one.responseEnd > 0)")
        self.browser.run("return new Promise((done) => setTimeout(done, 100))")
        self.assertEqual(self.text(".dtnote"), [])

    def test_arrow_keys_move_the_cell_and_its_window(self):
        self.look("x.safetensors", "a.weight", ".dtgrid td.on")
        self.browser.run("document.querySelector('.dtgrid').focus()")
        for i in range(1, 13):
            self.browser.run(
                "document.activeElement.dispatchEvent(new KeyboardEvent('keydown',"
                "{key: 'ArrowRight', bubbles: true}))"
            )
            self.browser.wait(
                "const b = document.querySelector('.dtcard p b.mono');"
                f"return b && b.textContent.trim() === '[0, 0, {i}]'"
            )
        heads = self.text(".dtgrid thead th")
        self.assertEqual(heads[-1], "12")
        shown = numpy.float32(self.text(".dtcard p .mono")[1])
        self.assertEqual(shown, self.values[0, 0, 12])

    def test_a_typed_slice_is_kept_in_the_address(self):
        self.look("x.safetensors", "a.weight", ".dtgrid")
        self.browser.run(
            "const f = document.querySelector('.dtcard .field'); f.focus();"
            "f.value = '[2, 5:7, :]'; f.dispatchEvent(new KeyboardEvent('keydown',"
            "{key: 'Enter', bubbles: true}))"
        )
        self.browser.wait(
            "return document.querySelectorAll('.dtgrid tbody tr').length === 2"
        )
        self.assertIn("slice=", self.browser.run("return location.hash"))
        self.browser.run(
            "const f = document.querySelector('.dtcard .field'); f.value = '[99]';"
            "f.focus(); f.dispatchEvent(new KeyboardEvent('keydown',"
            "{key: 'Enter', bubbles: true}))"
        )
        self.browser.wait("return document.querySelector('.dtcard .fail')")
        self.assertIn("400", self.browser.log()[0])  # the question was refused

    def test_a_module_shows_the_source_of_its_class(self):
        self.look("net.scope", "conv", ".dtcode .on")
        self.assertIn("def forward", self.text(".dtcode .on")[0])
        self.assertIn("1\u00d73\u00d78\u00d78", self.text(".dtcode .on")[0])
        self.assertIn("Conv2d", self.text(".dtcard h2")[0])


class Configured(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 5, 3)
        self.config = {"deep": {"list": list(range(100)), "b": "<b>hi</b>"}, "width": 7}
        for number in range(12):
            setattr(self, f"unset_{number}", None)

    def forward(self, x):
        return self.conv(x)


class Objects(Details):
    """Attributes, and results that were kept."""

    test_a_tensor_has_facts_a_distribution_and_values = None
    test_arrow_keys_move_the_cell_and_its_window = None
    test_a_typed_slice_is_kept_in_the_address = None
    test_a_module_shows_the_source_of_its_class = None

    def setUp(self):
        super().setUp()
        net = Configured()
        with torchoscope.record(net, keep="conv") as recording:
            self.result = net(torch.linspace(-1, 1, 2 * 3 * 64).view(2, 3, 8, 8))
        recording.save(self.folder / "kept.scope")

    def rows(self):
        return self.text(".dtcard .atname")

    def test_attributes_are_rows_that_fold(self):
        self.look("kept.scope", "", ".dtcard summary")
        self.assertNotIn("arguments", "".join(self.text(".dtfact")))
        self.assertEqual(self.text(".dtcard h2")[0].split("  ")[0], "Configured")
        self.assertEqual(self.rows(), ["config", "training"])
        self.assertEqual(self.text("summary")[-1], "12 attributes that are None, False or empty")
        self.browser.run("document.querySelector('summary').focus()")
        self.browser.press("Enter")
        self.browser.wait("return document.querySelectorAll('.atinner .atname').length === 2")
        self.browser.run("document.querySelector('.atinner summary').click()")
        self.browser.wait("return document.querySelectorAll('.atinner .atname').length === 4")
        self.assertIn('"<b>hi</b>"', self.text(".atinner .mono"))
        self.browser.run("[...document.querySelectorAll('summary')].at(-1).click()")
        self.browser.wait("return document.querySelectorAll('.atrow').length > 12")
        self.assertIn("unset_11", self.rows())

    def test_a_kept_result_has_its_channels_and_values(self):
        self.look("kept.scope", "conv", ".dtgrid")
        self.browser.wait("return document.querySelectorAll('.dtchannel').length === 5")
        self.assertIn("Result of call 1, kept", self.text(".dtcard h2"))
        self.assertEqual(len(self.text(".dtbars")), 2)
        self.assertEqual(len(self.text(".dtmap path")), 2)
        self.browser.run("document.querySelectorAll('.dtchannel')[3].click()")
        self.browser.wait("return document.querySelector('.dtcard .field')?.value ==="
                          " '[0, 3, :, :]' && document.querySelector('.dtgrid')")
        cell = float(self.text(".dtgrid tbody td")[0])
        self.assertAlmostEqual(cell, float(self.result[0, 3, 0, 0]), places=3)

    def test_a_tensor_without_values_shows_the_reason(self):
        self.look("kept.scope", "conv.weight", ".dtnote")
        self.assertEqual(self.text(".dtnote"), ["No values here: values are not in a recording. "
                                                "Statistics are those of the step that was "
                                                "recorded."])


if __name__ == "__main__":
    unittest.main()
