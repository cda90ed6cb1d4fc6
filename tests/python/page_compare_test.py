"""Compare, Safety and the list of files in a real browser. The answers are
synthetic."""

import unittest

import browser
import page_server


def tensor(name, state, **more):
    side = {"name": name, "shape": [64, 3], "dtype": "float32"}
    one = {"name": name, "state": state, "left": side}
    return one | {"right": {**side, "name": f"module.{name}"}} | more


def diff(equal=False):
    tensors = [] if equal else [
        tensor("conv1.weight", "changed", max_abs=0.5, rel=0.01, max_at=[3, 1], count=192,
               different=2),
        {k: v for k, v in tensor("fc.bias", "only_left").items() if k != "right"},
        {k: v for k, v in tensor("head.weight", "only_right").items() if k != "left"},
    ]
    counts = {"tensors": 320, "same": 320 if equal else 317, "changed": 0 if equal else 1}
    counts |= {"only_left": len(tensors) // 3, "only_right": len(tensors) // 3, "unread": 0}
    sides = {"left": {"path": "a"}, "right": {"path": "b", "prefix": "module."}}
    document = {"kind": "diff", "equal": equal, "values": True, "counts": counts, **sides}
    document |= {"sentence": "conv1 was trained, head added.", "tensors": tensors}
    return document | {"rules": [], "others": [], "joins": [], "parts": []}


def parted():
    stats = {"mean": 0.25, "std": 1}
    first = {"step": 12, "name": "layer1.0.conv2", "kind": "grad", "phase": "train"}
    first |= {"distance": 0.5, "together": 4, "left": stats, "right": stats}
    training = {"agree": False, "common_steps": 60, "first": first, "scalar": None}
    return diff(True) | {"equal": False, "training": training | {"steps": {"left": 60,
                                                                           "right": 61}}}


CHECK = {
    "verdict": "needs code",
    "checks": [{"topic": "pickle", "mark": "warning", "text": "names one class"},
               {"topic": "zip", "mark": "good", "text": "nothing is left over"}],
    "globals": [{"name": "__main__.<b>Net</b>", "trust": "unknown", "makes": 2,
                 "at": [{"act": "makes", "opcode": "NEWOBJ", "pickle": "data.pkl",
                         "offset": 15410, "args": ["x", 1]}]}],
    "findings": [{"code": "needs-code", "severity": "warning", "text": "it needs code"}],
}


class Compare(browser.BrowserTest):
    def setUp(self):
        self.browser.call("POST", "/url", {"url": "about:blank"})  # it still asks
        super().setUp()
        self.server = page_server.Server().start()
        self.addCleanup(self.server.stop)
        self.server.documents["diff 2"] = diff()
        self.server.documents["check 2"] = {"checked": [CHECK]}
        self.browser.size(1440)

    def open(self, fragment="", ready="document.querySelector('.tl')"):
        self.browser.open(self.server.url, fragment)
        self.browser.wait(f"return {ready}")

    def compared(self, more=""):
        self.open(f"#file=2&view=compare&right=3{more}",
                  "document.querySelector('.cmp .banner, .fail')")

    def text(self, selector):
        return self.browser.run(f"return document.querySelector('{selector}')?.textContent")

    def rows(self):
        return self.browser.run(
            "return [...document.querySelectorAll('.cmprows .cmprow')].map((row) =>"
            " [...row.children].map((one) => one.textContent).join('|'))")

    def hash(self):
        return self.browser.run("return decodeURIComponent(location.hash)")

    def names(self):
        return self.browser.run("return [...document.querySelectorAll('tbody tr')].map((row) =>"
                                " row.dataset.file)")

    # --- compare

    def test_differences(self):
        self.compared()
        self.assertEqual(self.text(".cmp .banner"), "conv1 was trained, head added.")
        self.assertIn("module. is taken off all names at the right", self.text(".cmpnote"))
        self.assertEqual(self.rows(), [
            "conv1~ 1 ",
            "~weight|64\u00d73 float32|64\u00d73 float32|0.5|0.01|[3, 1]|2 of 192 values",
            "fc\u2212 1 ",
            "\u2212bias|64\u00d73 float32|\u2013|\u2013|\u2013|\u2013|only left",
            "head+ 1 ",
            "+weight|\u2013|64\u00d73 float32|\u2013|\u2013|\u2013|only right"])

    def test_keys_of_the_tree(self):
        self.compared()
        self.browser.run("document.querySelector('.cmprows').focus()")
        self.browser.press("Down", "Enter")
        self.assertIn("at=conv1.weight", self.hash())
        self.browser.press("Up", "Left")
        self.assertEqual(len(self.rows()), 5)

    def test_equal(self):
        self.server.documents["diff 2"] = diff(True)
        self.compared()
        self.assertEqual(self.text(".cmp .banner"), "Equal: 320 tensors, bit by bit.")
        self.assertIsNone(self.text(".cmprows"))

    def test_diverging_runs(self):
        self.server.documents["diff 2"] = parted()
        self.compared()
        self.assertEqual(self.text(".cmp .banner"), "The runs part at step 12.")
        self.assertIn("layer1.0.conv2 grad (train), step 12", self.text(".tlcard"))

    def test_the_other_file_can_be_chosen(self):
        self.open("#file=2&view=compare", "document.querySelector('.empty .btn')")
        names = self.browser.run("return [...document.querySelectorAll('.empty .btn')].map("
                                 "(one) => one.firstChild.textContent)")
        self.assertEqual(sorted(names), ["big.safetensors", "resnet50-imagenet.scope"])
        self.browser.run("[...document.querySelectorAll('.empty .btn')].find((one) =>"
                         " one.textContent.startsWith('big')).click()")
        self.assertIn("right=3", self.hash())
        self.browser.wait("return document.querySelector('.cmprows')")
        self.browser.run("document.querySelector('.cmp .tlhead .btn').click()")
        self.assertEqual(self.browser.run(
            "return document.querySelectorAll('.menu:not(.found) button').length"), 2)

    def test_a_single_file_shows_how_to_open_a_second(self):
        self.server.files = [dict(self.server.files[1], path="/runs of mine/model.pth")]
        self.open("#file=2&view=compare", "document.querySelector('.empty .cmd')")
        self.assertEqual(
            self.browser.run("return [...document.querySelectorAll('.empty .cmd')].map("
                             "(one) => one.textContent)"),
            ["torchoscope serve '/runs of mine/model.pth' OTHER",
             "torchoscope serve '/runs of mine/'"])
        self.server.files.append(dict(page_server.FILE, file="9", name="late.pth"))
        self.server.change(1, step=1)
        self.browser.wait("return document.querySelector('.empty .btn')?.textContent"
                          ".startsWith('late.pth')")

    def test_curves_of_both_runs(self):
        self.server.change(1, has=["history"])
        self.server.documents["training 2"] = page_server.training()
        self.open("#file=1&view=compare&right=2&tab=curves",
                  "document.querySelectorAll('.cmp .run').length === 2")
        self.browser.run("[...document.querySelectorAll('.cmp .seg button')].find((one) =>"
                         " one.textContent === 'Values').click()")
        self.browser.wait("return document.querySelector('.cmp .fail, .cmp .banner')")
        self.browser.log()  # there is no diff of file 1
        self.browser.run("history.back()")
        self.browser.wait("return document.querySelector('.cmp .run')")

    # --- safety

    def test_the_pill_leads_to_the_evidence(self):
        self.open("#file=2&view=details", "document.querySelector('.status .bare')")
        self.browser.run("document.querySelector('.status .bare').click()")
        self.browser.wait("return document.querySelector('.sfhead')")
        self.assertIn("view=safety", self.hash())
        self.assertIn("NEEDS CODE", self.text(".sfhead"))
        use = self.text(".sfglobal")
        for part in ("__main__.<b>Net</b>", '("x",1)', "NEWOBJ at byte 15,410 of data.pkl"):
            self.assertIn(part, use)
        self.assertEqual(self.browser.run("return document.querySelectorAll('.sflist li').length"),
                         3)

    # --- the list of files

    def test_several_files_open_as_a_list(self):
        self.open()
        self.assertEqual(self.names(), ["1", "2", "3"])
        self.assertIn("NEEDS CODE", self.text("tbody tr:nth-child(2)"))
        self.assertIn("3 files", self.text(".file"))

    def test_a_capsule_shows_its_step(self):
        self.server.change(1, capsule="step 161, forward: Net: 1 output is NaN")
        self.open()
        self.assertIn("capsule, step 161", self.text("tbody tr:nth-child(2)"))

    def test_keys_of_the_list(self):
        self.open()
        self.browser.press("Down", "Down", "x", "Down", "x")
        self.browser.run("[...document.querySelectorAll('.tlhead .btn')].find((one) =>"
                         " one.textContent === 'Compare').click()")
        self.browser.wait("return document.querySelector('.cmprows')")
        self.assertIn("file=2&view=compare&right=3", self.hash())
        self.browser.run("history.back()")
        self.browser.wait("return document.querySelector('tbody tr')")
        self.browser.press("Down", "Down", "Enter")
        self.browser.wait("return location.hash.includes('file=2')")

    def test_sort_and_filter(self):
        self.open("#sort=name&reverse=1")
        self.assertEqual(self.names(), ["1", "2", "3"])
        self.browser.run("document.querySelector('th:nth-child(7) button').click()")
        self.assertEqual(self.names(), ["2", "3", "1"])
        self.browser.run("document.querySelector('.list .field').focus()")
        self.browser.press(*"safe")
        self.assertEqual(self.names(), ["3"])
        self.assertIn("1 of 3 files", self.text(".tlhead"))

    def test_new_files_appear(self):
        self.open()
        self.server.change(0, alarms=9)
        self.browser.wait("return document.querySelector('tbody .pill.alarm')?.textContent"
                          " === '9'")

    def test_narrow_and_dark(self):
        self.browser.prefer("dark")
        for width in (1024, 390):
            self.browser.size(width, 844)
            for address in ("", "#file=2&view=compare&right=3", "#file=2&view=safety"):
                self.open(address, "document.querySelector('.cmp .banner, .sfhead, tbody')")
                self.assertLessEqual(self.browser.run(
                    "return document.documentElement.scrollWidth - innerWidth"), 0)


if __name__ == "__main__":
    unittest.main()
