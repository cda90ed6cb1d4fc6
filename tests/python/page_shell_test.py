"""The frame of the page in a real browser: address, keys, theme, tree, steps, files, and
its message when the server is unreachable. Answers are those of page_server.py."""

import unittest

import browser
import page_server

CONV = "layer1.0.conv2"
DEEP = "down_blocks.0.attentions.1.transformer_blocks.0.attn1.to_out"


def deep():
    """Names on eight levels, as in diffusers."""
    rows = page_server.Rows()
    above = rows.add(-1, "", "UNet2DConditionModel")
    for name in DEEP.split("."):
        above = rows.add(above, name, "ModuleList")
        rows.add(above, "layer_norm", "LayerNorm", 320)
    rows.add(above, "post_attention_layernorm_of_the_block", "LayerNorm", 320)
    return rows.document()



class Shell(browser.BrowserTest):
    def setUp(self):
        self.browser.call("POST", "/url", {"url": "about:blank"})  # it still asks
        super().setUp()
        self.server = page_server.Server().start()
        self.addCleanup(self.server.stop)
        self.browser.size(1440)

    def open(self, fragment="", query=""):
        if fragment and "view=" not in fragment:
            fragment += "&view=details"  # which has the tree beside it
        self.browser.open(self.server.url + query, fragment)

    def names(self):
        return self.browser.run(
            "return [...document.querySelectorAll('.row')].map((one) =>"
            " one.querySelector('.nm').textContent)")

    def selected(self):
        return self.browser.run("return document.querySelector('.row.sel')?.title ?? null")

    def wait_selected(self, name):
        self.browser.wait(f"return document.querySelector('.row.sel')?.title === '{name}'")

    def text(self, selector):
        return self.browser.run(f"return document.querySelector('{selector}')?.textContent")

    def click(self, selector):
        self.browser.run(f"document.querySelector('{selector}').click()")

    def row(self, title):
        return f'.row[title="{title}"]'

    def focus_tree(self):
        self.browser.wait("return document.querySelector('.row')")
        self.browser.run("document.querySelector('.rows').focus()")

    def hash(self):
        return self.browser.run("return location.hash")

    def silence(self):
        """Failed requests appear as console errors, which are expected here."""
        self.assertTrue(all("Failed to load" in one or "net::" in one
                            for one in self.browser.log()))

    def test_a_deep_link_back_and_forward(self):
        self.open(f"#file=1&at={CONV}&step=8000&panels=layer1.0.conv1")
        self.wait_selected(CONV)
        self.browser.wait("return document.querySelector('.stack b')")
        self.assertEqual(self.text(".stack b"), "step 8000")
        self.assertEqual(self.text(".badge"), "A")
        self.click(self.row("conv1"))
        self.wait_selected("conv1")
        self.assertIn("at=conv1", self.hash())
        self.browser.run("history.back()")
        self.wait_selected(CONV)
        self.browser.run("history.forward()")
        self.wait_selected("conv1")
        self.silence()  # no series for the panel

    def test_the_address_names_file_and_view(self):
        self.server.files = self.server.files[:1]
        self.open()
        self.assertEqual(self.hash(), "#file=1&view=overview")

    def test_an_address_without_a_file_means_the_only_one(self):
        self.server.files = self.server.files[:1]
        self.open("#at=layer1&step=31&open=layer1")
        self.assertEqual(self.hash(),
                         "#file=1&view=details&at=layer1&step=31&open=layer1")

    def test_fold_keys(self):
        self.open("#file=1")
        self.focus_tree()
        self.browser.press("Z")
        self.assertEqual(self.names(), ["ResNet", "conv1", "bn1", "relu", "maxpool", "layer1",
                                        "layer2", "layer3", "layer4", "avgpool", "fc"])
        self.browser.press(*["Down"] * 5, "Right")
        self.assertEqual(self.names()[5:8], ["layer1", "0", "1\u20262"])
        self.assertIn("open=layer1", self.hash())
        self.browser.press("s")
        self.assertNotIn("0", self.names())
        self.browser.press("s", "Down", "Down", "Enter")
        self.assertEqual(self.names()[5:9], ["layer1", "0", "1", "2"])
        self.browser.press("Left", "Left")
        self.assertEqual(self.names()[5:7], ["layer1", "layer2"])
        self.browser.press("End")
        self.wait_selected("fc")
        self.browser.press("Home", "o")
        self.assertEqual(self.names(), ["ResNet"])

    def test_the_tree_has_its_roles(self):
        self.open(f"#file=1&at={CONV}")
        self.wait_selected(CONV)
        told = self.browser.run(
            "const row = document.querySelector('.row.sel'), list = row.closest('.rows');"
            "return [list.role, row.role, row.ariaLevel, row.ariaSelected,"
            " list.getAttribute('aria-activedescendant') === row.id]")
        self.assertEqual(told, ["tree", "treeitem", "4", "true", True])
        self.assertIsNotNone(self.text(".row.sel .al"))
        self.assertEqual(self.text(".row.sel .value"), "36.9K")

    def test_a_hundred_thousand_places(self):
        self.open("#file=3")
        self.focus_tree()
        self.browser.press("Z")
        self.assertLess(len(self.names()), 80)
        rows = self.browser.run("return document.querySelector('.space').clientHeight / 24")
        self.assertEqual(rows, 100001)
        self.browser.press("End")
        self.wait_selected("block999.lin98")

    def seen(self, title):
        """Of the name of this row: how much is in view, and all of it, in px."""
        return self.browser.run(
            "const [row] = [...document.querySelectorAll('.row')].filter((one) =>"
            " one.title === arguments[0]);"
            "const name = row.querySelector('.nm'), tail = row.querySelector('.tail');"
            "const at = name.getBoundingClientRect();"
            "return [Math.min(at.right, tail.getBoundingClientRect().left) - at.left,"
            " name.scrollWidth, row.classList.contains('over')]", title)

    def open_deep(self, width):
        self.server.documents["rows 1"] = deep()
        self.browser.size(width)
        self.open(f"#file=1&at={DEEP}")
        self.browser.wait("return document.querySelector('.row.sel')")

    def test_names_of_the_eighth_level_are_readable(self):
        for width in 390, 1280, 1600:
            self.open_deep(width)
            if width == 390:
                self.browser.run("document.body.classList.add('treeopen')")
            for name in DEEP, f"{DEEP}.layer_norm":
                seen, all_of_it, cut = self.seen(name)
                self.assertGreaterEqual(round(seen), all_of_it, (width, name))
                self.assertFalse(cut)

    def test_a_name_that_is_too_long_says_so_and_scrolls(self):
        name = f"{DEEP}.post_attention_layernorm_of_the_block"
        self.open_deep(1280)
        seen, all_of_it, cut = self.seen(name)
        self.assertLess(seen, all_of_it)
        self.assertTrue(cut)
        self.browser.run("document.querySelector('.rows').scrollLeft = 1e6")
        self.browser.wait("return !document.querySelector('.row.over')")
        seen, all_of_it, _ = self.seen(name)
        self.assertGreaterEqual(round(seen), all_of_it)

    def test_the_tree_is_resized(self):
        width = "return Math.round(document.querySelector('aside.tree').offsetWidth)"
        self.open_deep(1280)
        self.assertEqual(self.browser.run(width), 248)
        self.focus_tree()
        self.browser.press(">")
        self.assertEqual(self.browser.run(width), 264)
        self.browser.press("<", "<")
        self.assertEqual(self.browser.run(width), 232)
        self.browser.press("=")
        self.assertGreater(self.browser.run(width), 300)
        self.browser.wait("return !document.querySelector('.row.over')")
        self.browser.run("document.querySelector('.treegrip').focus()")
        self.browser.press("Home", "Right")
        self.assertEqual(self.browser.run(width), 196)
        self.assertEqual(self.browser.run("return document.querySelector('.treegrip')"
                                          ".getAttribute('aria-valuenow')"), "196")
        self.browser.mouse(("move", 196, 400), ("down",), ("move", 320, 400), ("up",))
        self.assertAlmostEqual(self.browser.run(width), 320, delta=4)
        self.browser.run("localStorage.clear()")

    def test_steps(self):
        self.open("#file=1")
        self.browser.wait("return document.querySelector('.stack b')")
        self.assertEqual(self.text(".stack b"), "step 12480")
        self.assertIsNone(self.browser.run(
            "return new URLSearchParams(location.hash.slice(1)).get('step')"))
        self.browser.press("(")
        self.assertEqual(self.text(".stack b"), "step 12479")
        self.browser.press(")")
        self.click(".scrub .btn:last-child")
        self.assertNotIn("step=", self.hash())
        at = self.browser.run("const at = document.querySelector('.track')"
                              ".getBoundingClientRect(); return [at.x, at.y, at.width]")
        self.browser.click(at[0] + at[2] / 2, at[1] + 10)
        self.browser.wait("return document.querySelector('.stack b').textContent !== 'step 12480'")
        self.assertAlmostEqual(int(self.text(".stack b")[5:]), 6240, delta=20)
        self.assertEqual(self.browser.run("return document.querySelector('.track')"
                                          ".getAttribute('aria-valuemax')"), "12480")

    def test_new_steps_arrive(self):
        self.open("#file=1")
        self.browser.wait("return document.querySelector('.stack b')")
        columns = self.server.documents["training 1"]["phases"][0]["columns"]
        columns["last"][-1] = 12500
        self.server.change(0, newest_step=12500)
        self.browser.wait("return document.querySelector('.stack b').textContent ==="
                          " 'step 12500'")
        self.assertIn("12500", self.text(".status"))
        self.server.change(0, live=False, ended=True)
        self.browser.wait("return document.querySelector('.status').textContent"
                          ".includes('ended')")
        self.server.change(0, died=True)
        self.browser.wait("return document.querySelector('.status').textContent"
                          ".includes('process died, step 12500')")

    def test_the_page_polls_when_a_proxy_buffers_events(self):
        self.server.streams = False
        self.open("#file=1")
        self.server.change(0, newest_step=13000)
        self.browser.wait("return document.querySelector('.status').textContent"
                          ".includes('13000')")
        self.silence()

    def test_the_file_menu(self):
        self.open(f"#file=1&at={CONV}")
        self.click(".file")
        self.assertEqual(self.browser.run("return document.activeElement.textContent")[:8],
                         "resnet50")
        self.browser.press("Down", "Enter")
        self.browser.wait("return document.title.startsWith(\"it's a model.pth\")")
        self.assertEqual(self.hash(), "#file=2&view=details")
        self.assertEqual(self.text(".status"), "NEEDS CODE")
        self.assertIsNone(self.text(".scrub"))
        self.click(".file")
        self.browser.press("Escape")
        self.assertIsNone(self.text(".menu:not(.found)"))

    def test_views_are_in_order_and_a_long_name_fits(self):
        name = "2026-11-19_03-31-54_GPT2LMHeadModel.scope"
        self.server.files = [dict(self.server.files[0], name=name, has=["history", "graph",
                                                                        "calls"])]
        self.browser.size(1440)
        self.open("#file=1&view=table")
        bar = "return [...document.querySelectorAll('.tabs button')].map((a) => a.textContent)"
        self.assertEqual(self.browser.run(bar), ["Overview", "Graph", "Table", "Curves",
                                                 "Timeline", "Compare", "Details"])
        cut = ("const at = (s) => document.querySelector(s);"
               "return [at('.file .cut'), at('.tabs')].map((one) =>"
               " one.scrollWidth - one.clientWidth)")
        self.assertEqual(self.browser.run(cut), [0, 0])
        self.assertEqual(self.text(".file"), name)
        self.browser.size(1200)
        self.assertEqual(self.browser.run(cut)[1], 0)
        end = "return document.querySelector('.name').lastChild"
        self.assertEqual(self.browser.run(end + ".textContent"), "dModel.scope")
        self.assertEqual(self.browser.run(end + ".scrollWidth -" + end[6:] + ".clientWidth"), 0)

    def test_alarms(self):
        self.open("#file=1")
        self.click(".alarms")
        self.browser.wait("return document.querySelector('.aline')")
        self.assertEqual(self.browser.run("return document.querySelectorAll('.aline').length"),
                         3)
        self.browser.press("Enter")
        self.wait_selected(CONV)
        self.assertIn("step=11940", self.hash())

    def test_the_theme_is_kept(self):
        ask = "return getComputedStyle(document.body).backgroundColor"
        self.open("#file=1")
        light = self.browser.run(ask)
        choose = "document.querySelector('[aria-label=\"Dark mode\"]')?.click()"
        self.check_kept(lambda: self.browser.run(choose), lambda: self.open("#file=1"),
                        lambda: self.browser.run(ask) != light)
        self.browser.run("localStorage.clear()")
        self.browser.prefer("dark")
        self.open("#file=1")
        self.assertNotEqual(self.browser.run(ask), light)

    def test_keys_and_their_help(self):
        self.open("#file=1")
        self.browser.press("?")
        self.assertIn("fold or unfold the siblings", self.text("dialog"))
        self.browser.press("Escape")
        self.browser.wait("return !document.querySelector('dialog')")
        self.browser.press("/")
        self.assertEqual(self.browser.run("return document.activeElement.type"), "search")
        typed = "return document.querySelector('.search input').value"
        self.browser.press("z")
        self.assertEqual(self.browser.run(typed), "z")
        self.browser.press("Escape")
        self.browser.press("\\")
        self.assertTrue(self.browser.run("return document.body.classList.contains('notree')"))

    def test_a_missing_token(self):
        self.server.token = "secret"
        self.server.files = self.server.files[:1]
        self.open()
        self.assertIn("needs its token", self.text(".empty"))
        self.silence()
        self.browser.run("document.querySelector('.field').focus()")
        self.browser.press(*f"{self.server.url}?token=secret", "Enter")
        self.browser.wait("return document.querySelector('.row')")
        self.browser.run("sessionStorage.clear()")

    def test_a_token_leaves_the_address(self):
        self.server.token = "secret"
        self.open("#file=1", "?token=secret")
        self.browser.wait("return document.querySelector('.row')")
        self.assertNotIn("secret", self.browser.run("return location.href"))
        self.browser.run("sessionStorage.clear()")

    def test_a_lost_connection_is_restored(self):
        self.open("#file=1")
        self.browser.wait("return document.querySelector('.row')")
        self.server.down = True
        self.browser.wait("return document.querySelector('.banner')")
        self.browser.wait("return /again in \\ds/.test(document.querySelector('.banner')"
                          "?.textContent)")
        self.assertIn("not connected", self.text(".status"))
        self.assertIsNotNone(self.text(".row"))
        self.server.down = False
        self.click(".banner .btn")
        self.browser.wait("return !document.querySelector('.banner')")
        self.assertIn("live", self.text(".status"))
        self.silence()

    def test_no_file_is_open(self):
        self.server.files = []
        self.open()
        self.assertIn("Open a model or a recording", self.text(".empty"))
        self.server.files = [dict(page_server.FILE)]
        self.browser.wait("return document.querySelector('.row')")

    def test_late_and_missing_answers(self):
        self.server.slow = 2
        self.open("#file=2")
        self.browser.wait("return document.querySelector('.load [role=status]')")
        self.server.documents.pop("rows 2")
        self.open("#file=2")
        self.browser.wait("return document.querySelector('.fail')")
        self.assertIn("There is no rows of this file.", self.text(".fail"))
        self.silence()

    def test_the_heading_of_a_long_name_is_for_screen_readers_only(self):
        self.server.files = [dict(page_server.FILE, name="long_" * 60 + ".onnx")]
        self.open("#file=2")
        self.browser.wait("return document.querySelector('h1').textContent.length > 300")
        self.assertLessEqual(self.browser.run("return document.querySelector('h1').offsetWidth"),
                             1)

    def test_the_list_of_files_shows_verdicts_on_a_phone(self):
        name = "test_data_simple_test_strnorm_model_monday_lower_model.onnx"
        self.server.files = [dict(page_server.FILE, name=name), dict(page_server.BIG)]
        self.browser.size(390, 844)
        self.browser.open(self.server.url)
        self.browser.wait("return document.querySelector('.list .pill')")
        at = "return document.querySelector('.list .pill').getBoundingClientRect().right"
        self.assertLessEqual(self.browser.run(at), 382)
        self.assertTrue(self.browser.run("return document.querySelector('.bottomnav').hidden"))

    def test_a_graph_without_boxes_says_why(self):
        graph = {"ids": [""], "metrics": [], "note": "The code is too large."}
        self.server.documents["graph 1"] = graph
        self.open("#file=1&view=graph")
        self.browser.wait("return document.querySelector('.gr .empty')")
        self.assertEqual(self.text(".gr .empty"), "Nothing to drawThe code is too large.")

    def test_narrow_windows(self):
        for width in (1024, 390):
            self.browser.size(width, 844)
            self.open(f"#file=1&at={CONV}")
            self.browser.wait("return document.querySelector('.stack b')")
            over = "return document.documentElement.scrollWidth - innerWidth"
            self.assertLessEqual(self.browser.run(over), 0)
            self.assertEqual(self.browser.run(
                "return getComputedStyle(document.querySelector('.tree')).visibility"),
                "hidden")
            self.browser.press("\\")
            self.browser.wait("return document.querySelector('.row.sel')")
            self.browser.press("Escape")
            self.assertFalse(self.browser.run(
                "return document.body.classList.contains('treeopen')"))


if __name__ == "__main__":
    unittest.main()
