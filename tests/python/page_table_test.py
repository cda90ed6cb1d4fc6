"""The view Table and the bar's search in a real browser. The answers are synthetic."""

import unittest

import browser
import page_server

CONV = "layer1.0.conv2"


def document():
    """ResNet with tensors, and a column that is loaded on request."""
    rows = page_server.Rows()
    rows.kinds = ["module", "group", "tensor", "value"]
    root = rows.add(-1, "", "ResNet")
    for layer in range(12):
        block = rows.add(root, f"layer{layer}", "Block")
        conv = rows.add(block, "conv", "Conv2d", 0, 2 if layer == 3 else 0)
        rows.add(conv, "weight", "8\u00d73 float32", 10 * (layer + 1), what=2)
        rows.add(block, "relu", "ReLU")
    made = rows.document()
    n = made["n"]
    made["columns"][0] |= {"about": "all parameters", "right": True}
    made["columns"].append({"id": "dtype", "head": "dtype", "title": "dtype", "about": "types",
                            "kind": "text", "right": False})
    made["n_asked"] = n
    return made


def more(made):
    texts = ["\u2013", "float32"]
    column = {**made["columns"][1], "text": [int(w == 2) for w in made["what"]]}
    return {"kind": "rows", "n": made["n"], "columns": [column], "texts": texts}


class Base(browser.BrowserTest):
    def setUp(self):
        self.browser.call("POST", "/url", {"url": "about:blank"})  # it still asks
        super().setUp()
        self.server = page_server.Server().start()
        self.addCleanup(self.server.stop)
        made = document()
        self.server.documents["rows 2"] = lambda args: more(made) if "columns" in args else made
        self.browser.size(1440)

    def open(self, more="", file="2", view="table"):
        self.browser.open(self.server.url, f"#file={file}&view={view}{more}")
        self.browser.wait("return document.querySelector('.row')")

    def all(self, selector):
        return self.browser.run(
            f"return [...document.querySelectorAll('{selector}')].map((one) => one.textContent)"
        )

    def text(self, selector):
        return self.browser.run(f"return document.querySelector('{selector}')?.textContent")

    def names(self):
        return self.all(".table .row .nm")

    def values(self):
        return self.all(".table .row .value")

    def hash(self):
        return self.browser.run("return decodeURIComponent(location.hash)")

    def click(self, selector):
        self.browser.run(f"document.querySelector('{selector}').click()")

    def type(self, selector, text):
        self.browser.run(
            "const field = document.querySelector(arguments[0]); field.focus();"
            "field.value = arguments[1]; field.dispatchEvent(new Event('input'))",
            selector, text,
        )


class Table(Base):
    def filter(self, text):
        self.type(".viewbar .field", text)
        self.browser.wait(f"return decodeURIComponent(location.hash).includes({f'filter={text}'!r})")

    def test_rows_and_columns(self):
        self.open()
        self.assertEqual(self.all(".thead [role=columnheader]"), ["Name", "parameters"])
        self.assertEqual(self.names()[:3], ["ResNet", "layer0", "conv"])
        self.assertEqual(self.values()[0], "780")
        self.assertEqual(self.text(".tfoot"), "37 modules780")
        self.assertEqual(
            self.browser.run("return getComputedStyle(document.querySelector('.table .num'))"
                             ".textAlign"), "right")

    def test_marks_letters_and_selection(self):
        self.open("&at=layer3.conv&panels=layer2.conv")
        self.browser.wait("return document.querySelector('.table .sel')")
        self.assertTrue(self.browser.run("return !!document.querySelector('.table .sel .al')"))
        self.assertEqual(self.text(".table .badge"), "A")
        self.click('.table .row[title="layer1"]')
        self.assertIn("at=layer1", self.hash())
        self.browser.run("document.querySelector('.table').focus()")
        self.browser.press("Down")
        self.assertIn("at=layer1.conv", self.hash())
        # the panel requested a document that the server does not have
        self.browser.log()

    def test_sort(self):
        self.open("&open=layer0")
        self.click(".thead [role=columnheader]:nth-child(2) button")
        self.browser.wait("return location.hash.includes('sort=params')")
        self.browser.wait("return document.querySelectorAll('.table .nm')[1].textContent ==="
                          " 'layer11'")
        self.click(".thead [role=columnheader]:nth-child(2) button")
        self.browser.wait("return document.querySelectorAll('.table .nm')[1].textContent ==="
                          " 'layer0'")
        self.assertIn("reverse=1", self.hash())
        self.click(".thead [role=columnheader]:nth-child(2) button")
        self.assertNotIn("sort=", self.hash())
        self.browser.press("i", "n")
        self.assertIn("sort=name", self.hash())

    def test_filter(self):
        self.open()
        self.filter("layer1*")
        self.browser.wait("return document.querySelector('.tfoot').textContent.startsWith('3 m')")
        self.assertEqual([n for n in self.names() if n.startswith("layer")],
                         ["layer1", "layer10", "layer11"])
        self.assertEqual(self.text(".tfoot"), "3 matches250")
        self.filter("/^relu$/")
        self.browser.wait("return document.querySelector('.tfoot').textContent.startsWith('12 m')")
        self.filter("!layer")
        self.browser.wait("return document.querySelectorAll('.table .row').length === 1")
        self.filter("/re(lu/")
        self.browser.wait("return document.querySelector('.viewbar .bad').textContent")
        self.assertEqual(self.text(".viewbar .bad"),
                         "/re(lu/ is no regular expression: see character 3")

    def test_flat(self):
        self.open()
        self.click(".viewbar .seg button:nth-child(3)")
        self.browser.wait("return location.hash.includes('flat=tensors')")
        self.browser.wait("return document.querySelector('.table .nm').textContent ==="
                          " 'layer0.conv.weight'")
        self.assertEqual(self.text(".tfoot"), "12 tensors780")
        self.click(".viewbar .seg button:nth-child(2)")
        self.browser.wait("return document.querySelector('.tfoot').textContent.includes('leaves')")
        self.assertEqual(self.names()[:2], ["layer0.conv", "layer0.relu"])

    def test_columns(self):
        self.open()
        self.click(".viewbar [aria-haspopup]")
        self.browser.run("[...document.querySelectorAll('.menu button')].find((one) =>"
                         " one.textContent.startsWith('dtype')).click()")
        self.browser.wait("return document.querySelectorAll('.thead>div').length === 3")
        self.assertIn("columns=params,dtype", self.hash())
        self.assertEqual(self.all(".table .row [role=gridcell]")[1], "\u2013")

    def test_copy(self):
        self.open("&flat=tensors&sort=params")
        self.browser.run("navigator.clipboard.writeText = async (text) => {window.copied = text}")
        self.click('.top [aria-label="Copy"]')
        self.browser.run("[...document.querySelectorAll('.menu button')].find((one) =>"
                         " one.textContent.startsWith('CSV')).click()")
        self.browser.wait("return window.copied")
        lines = self.browser.run("return window.copied").splitlines()
        self.assertEqual(lines[:2], ["name,params", "layer11.conv.weight,120"])
        self.assertEqual(len(lines), 13)

    def test_many_rows(self):
        self.open("&flat=leaves&sort=params", file="3")
        self.browser.wait("return document.querySelector('.tfoot').textContent.includes('99,000')")
        self.browser.run("document.querySelector('.table').scrollTop = 24 * 50000")
        self.browser.wait("return [...document.querySelectorAll('.table .row')].some((one) =>"
                          " one.id === 'cell50000')")
        self.assertLess(self.browser.run(
            "return document.querySelectorAll('.table .row').length"), 80)

    def test_no_scroll_bar_sideways(self):
        for width in (1440, 1024, 390):
            self.browser.size(width)
            self.open()
            wide = "return [document.documentElement, document.querySelector('.stage')]"
            self.assertEqual(
                self.browser.run(f"{wide}.map((one) => one.scrollWidth - one.clientWidth)"),
                [0, 0])


class Search(Base):
    def search(self, text):
        self.type(".search input", text)
        self.browser.wait("return !document.querySelector('.found').classList.contains('off')")

    def test_groups(self):
        self.open(view="details")
        self.browser.press("/")
        self.search("conv")
        self.browser.wait("return document.querySelector('.found .head')")
        self.assertEqual(self.all(".found .head"), ["12 modules", "and 5 more"])
        self.assertEqual(self.text(".found b"), "layer0.conv")
        self.browser.press("Down", "Enter")
        self.browser.wait("return location.hash.includes('at=layer0.conv')")
        self.assertTrue(self.browser.run(
            "return document.querySelectorAll('.tree .match').length > 0"))

    def test_next_and_previous(self):
        self.open("&query=conv", view="details")
        self.browser.run("document.querySelector('.rows').focus()")
        self.browser.press("n")
        self.browser.wait("return location.hash.includes('at=layer0.conv')")
        self.browser.press("n")
        self.browser.wait("return location.hash.includes('at=layer1.conv')")
        self.browser.press("N", "N")
        self.browser.wait("return location.hash.includes('at=layer11.conv')")

    def test_no_match_and_an_invalid_pattern(self):
        self.server.files[1]["has"] = ["ops"]
        boxes = {"kind": [0, 1], "name": [0, 1], "place": [2, 2]}
        self.server.documents["timeline 2"] = {
            "kinds": ["call", "op"], "texts": ["conv", "mkldnn"], "boxes": boxes}
        self.open(view="details")
        self.search("mkldnn")
        self.browser.wait("return document.querySelector('.found .link')")
        self.assertEqual(self.text(".found .head"),
                         "No module, tensor or op matches mkldnn in 37 modules.")
        self.click(".found .link")
        self.browser.wait("return document.querySelector('.found')?.textContent"
                          ".includes('in layer0.conv')")
        self.assertEqual(self.text(".found b"), "mkldnn")
        self.search("/co(/")
        self.browser.wait("return document.querySelector('.found .bad')")
        self.assertIn("see character 3", self.text(".found .bad"))
        self.browser.press("Escape")
        self.assertTrue(self.browser.run("return !!document.querySelector('.found.off')"))


if __name__ == "__main__":
    unittest.main()
