"""The overview of a training run in a real browser: verdict, heat maps, sorting, keys,
tooltip, panels, zoom, live steps. Answers are those of page_overview_data.py; at the end a
real training that becomes NaN while it is watched."""

import unittest

import browser
import page_overview_data as data
from folder import TemporaryFolder
from page_panels_test import Training
from serve_test import Server

ROWS = "return [...document.querySelectorAll('.ovtable .row .nm')].map((one) => one.textContent)"
TREE = ["GPT2LMHeadModel", "transformer", "wte", "wpe", "h", "0\u20266", "7", "ln_1", "attn",
        "c_attn", "c_proj", "ln_2", "mlp", "8\u202610", "11", "ln_1", "attn", "ln_2", "mlp",
        "c_fc", "act", "c_proj", "ln_f", "lm_head"]


class Overview(browser.BrowserTest):
    def setUp(self):
        super().setUp()
        self.server = data.serve().start()
        self.addCleanup(self.server.stop)
        self.addCleanup(self.browser.call, "POST", "/url", {"url": "about:blank"})
        self.browser.size(1440)

    def open(self, fragment=""):
        self.browser.open(self.server.url, f"#file=1{fragment}")
        self.browser.wait("return document.querySelector('.ovtable .row')")

    def run_js(self, script, *arguments):
        return self.browser.run(script, *arguments)

    def wait(self, script):
        self.browser.wait(f"return {script}")

    def text(self, selector):
        return self.run_js(f"return document.querySelector('{selector}')?.textContent")

    def hash(self, part):
        return part in self.run_js("return decodeURIComponent(location.hash)")

    def wait_hash(self, part):
        self.wait(f"decodeURIComponent(location.hash).includes('{part}')")

    def focus(self):
        self.run_js("document.querySelector('.ovtable').focus()")

    def numbers(self, row):
        return self.run_js(
            f"return [...document.querySelectorAll('#ov{row} .nums span')].map((one) =>"
            " one.textContent)")

    def column(self, kind):
        """left, top of the first row, width"""
        return self.run_js(
            "const head = document.querySelector(`.ovhead .k-${arguments[0]}`)"
            ".getBoundingClientRect(), row = document.querySelector('.ovtable .row')"
            ".getBoundingClientRect(); return [head.left, row.top, head.width]", kind)

    def point(self, kind, row, share):
        left, top, width = self.column(kind)
        return left + share * width, top + 24 * row + 8

    def pixel(self, kind, row, share, y=8):
        """The drawn colour: [r, g, b, a]."""
        left, _, width = self.column(kind)
        return self.run_js(
            "const canvas = document.querySelector('.ovpane canvas'), copy = document"
            ".createElement('canvas'); copy.width = copy.height = 1;"
            "const pen = copy.getContext('2d', {willReadFrequently: true});"
            "pen.drawImage(canvas, canvas.getBoundingClientRect().left - arguments[0],"
            " -arguments[1]); return [...pen.getImageData(0, 0, 1, 1).data]",
            left + share * width, 24 * row + y)

    def drawn(self):
        self.run_js("window.drawn = 0; requestAnimationFrame(() => requestAnimationFrame("
                    "() => { window.drawn = 1; }))")
        self.wait("window.drawn")

    # ---- content

    def test_a_run_opens_in_the_overview_with_verdict_and_alarms(self):
        self.open()
        self.assertTrue(self.hash("view=overview"))
        self.assertIn("Healthy until step 8859, finite until step 11939. NaN first produced",
                      self.text(".ov>.banner"))
        self.assertEqual(self.run_js(
            "return [...document.querySelectorAll('.arow b')].map((one) => one.textContent)"),
            ["h.7.attn", "h.11.mlp.act", "h.7.attn.c_attn"])
        self.assertIn("3 in 12480 steps", self.text(".oval"))
        self.run_js("document.querySelector('.arow .link').click()")
        self.wait_hash("step=11940")
        self.assertTrue(self.hash(f"at={data.MAKER}"))
        self.assertIn("transformer.h.7.attn", self.run_js(
            "return document.querySelector('.row.sel .first').title"))

    def test_alarms_of_folded_rows_stay_visible(self):
        self.open()
        self.assertEqual(self.run_js(ROWS), TREE)
        self.assertIn("24 rows for 140", self.text(".ovhead"))
        self.assertIn("13 without parameters or units hidden", self.text(".ovhead"))
        self.assertIn("7 \u00d7 GPT2Block", self.text("#ov5"))
        self.assertEqual(self.run_js("return document.querySelectorAll('#ov8 .al').length"), 1)
        self.assertTrue(self.run_js("return document.querySelector('#ov2.prop') !== null"))
        self.assertFalse(self.run_js("return document.querySelector('#ov10.prop') !== null"))

    def test_numbers_are_those_of_the_step(self):
        self.open("&step=11940")
        self.wait("document.querySelector('#ov8 .bad')")
        self.assertEqual(self.numbers(8), ["NaN", "NaN", "\u2013", "57%"])
        self.assertEqual(self.numbers(23)[0], "(NaN)")
        self.assertIn("low 7", self.numbers(15)[1])
        self.assertIn("high", self.numbers(10)[1])
        self.run_js("location.hash = location.hash.replace('11940', '6000')")
        self.wait("!document.querySelector('#ov8 .bad')")
        self.assertRegex(self.numbers(8)[0], r"^0\.0\d+$")
        self.assertIn("6000", self.text(".k-numbers .cap"))

    def test_a_tied_module_names_its_twin_and_has_numbers_in_brackets(self):
        self.open("&step=6000")
        self.wait("/\\d/.test(document.querySelector('#ov23 .nums')?.textContent)")
        self.assertIn("Linear, tied to wte", self.text("#ov23"))
        self.assertRegex(self.numbers(23)[0], r"^\([\d.e−]+\)$")

    def test_labels_of_the_strip_do_not_overlap(self):
        """Labels of a plot do not overlap its line, its hatching or the cursor."""
        def noise(training):
            loss = training["scalars"][0]["value"]
            loss[:] = [6.9 + 0.1 * (i % 2) for i in range(len(loss))]

        self.server.edits["training"] = noise
        self.server.files[0].update(live=False, ended=True)
        self.open()
        self.drawn()
        found = self.run_js(
            "const made = []; const write = CanvasRenderingContext2D.prototype.fillText;"
            "CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {"
            "  const wide = this.measureText(text).width;"
            "  const copy = document.createElement('canvas').getContext('2d',"
            "  {willReadFrequently: true});"
            "  copy.drawImage(this.canvas, wide - x, 8 - y);"
            "  const {data} = copy.getImageData(0, 0, wide, 8);"
            "  made.push([text, data.filter((v, i) => i % 4 === 3 && v).length]);"
            "  write.call(this, text, x, y); };"
            "document.querySelectorAll('.spark canvas').forEach((one) => one.redraw());"
            "return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame("
            "() => done(made))))")
        self.assertTrue(found)
        self.assertEqual([one for one in found if one[1]], [])
        self.assertRegex(self.text(".spark .words"), r"^train[\d.]+ to [\d.]+$")

    def test_words_that_do_not_fit_are_left_out(self):
        for width in (1440, 1300, 1200):
            self.browser.size(width)
            self.open()
            cut = self.run_js(
                "return [...document.querySelectorAll('.words:not(.first)')].flatMap((box) =>"
                " [...box.children].filter((one) => one.offsetTop - box.offsetTop < 8 &&"
                " one.getBoundingClientRect().right > box.getBoundingClientRect().right + 1)"
                ".map((one) => one.textContent))")
            self.assertEqual(cut, [])

    def test_steps_that_only_logged_their_loss_are_on_the_axis(self):
        def first_only(modules):
            modules["columns"] = {"columns": 1, "first": [0], "last": [0], "width": 1}
            for one in modules["modules"]:
                one.update({key: value[:1] for key, value in one.items()
                            if isinstance(value, list)}, bad=[])

        self.server.edits["modules"] = first_only
        self.open()
        ticks = self.run_js("return [...document.querySelectorAll('.ovaxis .k-gradient span')]"
                            ".map((one) => one.textContent)")
        self.assertEqual((ticks[0], ticks[-1]), ("0", "12480"))

    def test_an_alarm_about_a_parameter_marks_its_module(self):
        names, rows = data.model().names, self.server.documents["rows 1"]
        parameter = next(at for at, name in names.items() if name == f"{data.MAKER}.c_attn")
        rows["what"][parameter] = 2  # a tensor

        def about(training):
            training["alarms"][0] |= {"place": parameter, "name": f"{data.MAKER}.c_attn"}

        self.server.edits["training"] = about
        self.open()
        self.assertEqual(self.run_js("return document.querySelector('#ov8 .al')?.title"),
                         "made here")
        red = [self.pixel("bad", 8, share / 100, 12) for share in range(50, 80)]
        self.assertIn([0xC4, 0x12, 0x2F, 255], red)

    def test_scalars_alone_are_shown_over_their_own_steps(self):
        def none(modules):
            modules.update(modules=[], close_up=None, first_bad=None, columns={
                "columns": 0, "first": [], "last": [], "steps": []})

        self.server.newest = 8000
        self.server.edits |= {"modules": none, "step": lambda step: step.update(place=[]),
                              "training": lambda training: training.update(
                                  logged={"parameters": False})}
        self.open()
        self.assertIn("loss", self.text(".spark"))
        self.assertEqual(self.run_js(
            "return [...document.querySelectorAll('.ovpane .none')].map((one) =>"
            " one.textContent)"), ["not logged: log=['params_grad']",
                                   "not logged: log=['params']", "not logged: log=['io']",
                                   "none in 8000 steps"])
        self.assertIn("8000", self.text(".ovaxis .k-gradient"))

    def test_evaluation_alone_is_not_called_healthy(self):
        verdict = {"role": "none", "text": "no step of training was logged"}
        self.server.edits["training"] = lambda training: training.update(verdict=verdict)
        self.open()
        self.assertEqual(self.text(".ov>.banner.none"), "No step of training was logged")

    def test_cells_have_the_colours_of_their_values(self):
        self.open()
        self.drawn()
        warm = self.pixel("gradient", 0, 0.4)
        self.assertTrue(warm[0] > warm[2] + 60 and warm[3] == 255, warm)
        neutral = self.pixel("ratio", 0, 0.4)
        self.assertLess(max(neutral[:3]) - min(neutral[:3]), 24)
        blue = self.pixel("ratio", 3, 0.4)
        self.assertGreater(blue[2], blue[0] + 60)
        self.assertEqual(self.pixel("dead", 2, 0.4)[3], 0)  # not measured
        soft, alarm = [0xFC, 0xE8, 0xEB], [0xC4, 0x12, 0x2F]
        shown = [self.pixel("bad", 8, 0.9, y)[:3] for y in range(4, 20)]
        self.assertTrue(all(p[0] > p[1] for p in shown) and soft in shown, shown)
        self.assertTrue(any(sum(abs(a - b) for a, b in zip(p, alarm)) < 90 for p in shown))
        stripes = {tuple(self.pixel("gradient", 5, 0.5, y)) for y in range(2, 22)}
        self.assertGreater(len(stripes), 4)  # one of each repeat

    def test_missing_series_are_listed(self):
        self.server.logged = ("dead",)
        self.open()
        self.assertEqual(self.run_js(
            "return [...document.querySelectorAll('.ovpane .none')].map((one) =>"
            " one.textContent)"),
            ["not logged: log=['params_grad']", "not logged: no optimizer step was seen"])

    def test_a_healthy_run(self):
        self.server.newest = 8000
        self.server.files[0].update(live=False, ended=True)
        self.open()
        self.assertEqual(self.text(".ov>.banner.good"), "Healthy in 8001 logged steps")
        self.assertIn("none in 8000 steps", self.text(".oval"))
        self.assertEqual(self.text(".ovpane .none"), "none in 8000 steps")

    def test_a_run_without_steps(self):
        self.server.newest = 0
        self.open()
        self.assertIn("No step recorded yet", self.text(".ov>.banner"))
        self.assertEqual(self.run_js(ROWS)[:3], ["GPT2LMHeadModel", "transformer", "wte"])
        self.assertEqual(self.numbers(0), ["\u2013"] * 4)

    # ---- orders and ranks

    def test_sorting_by_heads_keys_and_menu(self):
        self.open("&step=6000")
        self.wait("document.querySelector('#ov0 .nums').textContent.includes('.')")
        self.run_js("document.querySelector('.ovhead .n-gradient button').click()")
        self.wait_hash("sort=gradient")
        flat = self.run_js(ROWS)
        self.assertIn("transformer.wte", flat[:3])
        self.assertEqual(self.run_js("return document.querySelector('.n-gradient')"
                                     ".getAttribute('aria-sort')"), "descending")
        self.focus()
        self.browser.press("i", "d")
        self.wait_hash("sort=dead")
        self.assertEqual(self.run_js(ROWS)[0], "transformer.h.11.mlp.act")
        self.browser.press("i", "d")
        self.wait_hash("reverse")
        self.assertNotEqual(self.run_js(ROWS)[0], "transformer.h.11.mlp.act")
        self.browser.press("i", "n")
        self.wait_hash("sort=name")
        self.assertEqual(self.run_js(ROWS)[0], "lm_head")
        self.browser.press("i", "x")
        self.wait("!location.hash.includes('sort')")
        self.assertEqual(self.run_js(ROWS), TREE)
        self.run_js("document.querySelector('.ovhead .first .btn').click()")
        self.assertEqual(self.run_js(
            "return [...document.querySelectorAll('.menu button')].map((one) =>"
            " one.textContent)"), ["model order", "largest gradient", "farthest from healthy",
                                   "most dead units", "first not finite", "name"])

    def test_labels_of_legends_do_not_touch(self):
        for width in 1200, 1280, 1440, 1600:
            self.browser.size(width)
            self.open()
            self.assertEqual(self.run_js(
                "return [...document.querySelectorAll('.lg')].flatMap((box) => {"
                " const at = [...box.querySelectorAll('span')].map((one) =>"
                "  one.getBoundingClientRect()).sort((a, b) => a.left - b.left);"
                " return at.filter((one, i) => i && one.left < at[i - 1].right)}).length"), 0)

    def test_ranks(self):
        self.open()
        self.assertEqual(self.text(".k-numbers .btn"), "4 ranks, merged")
        self.assertIn("largest of the ranks", self.text(".strip"))
        self.run_js("document.querySelector('.k-numbers .btn').click()")
        self.run_js("document.querySelectorAll('.menu button')[3].click()")
        self.wait_hash("rank=2")
        self.wait("document.querySelector('.k-numbers .btn').textContent === 'rank 2 of 4'")
        self.assertTrue(any("rank=2" in one for one in self.browser.requests()))
        self.wait("document.querySelector('.strip').textContent.includes('all parameters')")

    # ---- pointer

    def test_the_tooltip_has_value_median_and_ranks(self):
        self.open()
        self.browser.mouse(("move", *self.point("gradient", 9, 0.7)), ("pause", 400))
        self.wait("document.querySelector('.tip')")
        tip = self.text(".tip")
        self.assertRegex(tip, r"transformer\.h\.7\.attn\.c_attn.*steps\d+ to \d+, largest value")
        self.assertRegex(tip, r"gradient norm[\d.]+, [\d.]+ times its median")
        self.assertRegex(tip, r"rank 2; least [\d.]+ on rank 0")
        self.assertFalse(self.run_js(
            "return document.querySelector('.ovframe').classList.contains('off')"))
        self.run_js("document.querySelector('.tip .act').click()")
        self.wait_hash("panels=transformer.h.7.attn.c_attn")
        self.assertEqual(self.text("#ov9 .badge"), "A")

    def test_click_sets_the_step_and_double_click_opens_a_panel(self):
        self.open()
        self.browser.click(*self.point("ratio", 3, 0.3))
        self.wait("/[&#]step=\\d+/.test(location.hash)")
        self.assertTrue(self.hash("at=transformer.wpe"))
        self.browser.click(*self.point("ratio", 2, 0.3), times=2)
        self.wait_hash("panels=transformer.wte")

    def test_drag_on_the_axis_zooms(self):
        self.open()
        left, _, width = self.column("gradient")
        y = self.run_js("const at = document.querySelector('.ovaxis')"
                        ".getBoundingClientRect(); return at.top + 8")
        self.browser.mouse(("move", left + 50, y), ("down",), ("move", left + 90, y),
                           ("move", left + 130, y), ("up",))
        self.wait("/from=\\d+&to=\\d+/.test(location.hash)")
        self.wait("document.querySelector('.ovaxis .k-gradient span').textContent !== '0'")
        self.browser.press("0")
        self.wait("!/from=/.test(location.hash)")
        self.wait("document.querySelector('.ovaxis .k-gradient span').textContent === '0'")

    # ---- keys

    def test_keys(self):
        self.open()
        self.focus()
        self.browser.press("Down", "Down")
        self.wait_hash("at=transformer.wte")
        self.browser.press("Enter")
        self.wait_hash("panels=transformer.wte")
        self.browser.press("Down", "B")
        self.wait_hash("panels=transformer.wpe")
        self.browser.press("Left")
        self.wait("/[&#]step=\\d+/.test(location.hash)")
        before = self.run_js("return Number(/step=(\\d+)/.exec(location.hash)[1])")
        self.browser.press("Left")
        self.wait(f"Number(/step=(\\d+)/.exec(location.hash)[1]) < {before}")
        self.browser.press("Down", " ")
        self.wait("document.querySelectorAll('.ovtable .row').length < 12")
        self.browser.press(" ", "!")
        self.wait_hash("step=8860")
        self.assertTrue(self.hash("h.11.mlp.act"))
        self.browser.press("!", "!")
        self.wait_hash("step=11940")
        self.browser.press("y")
        self.wait("document.querySelector('.toast')")

    def test_repeats_open(self):
        self.open()
        self.focus()
        self.browser.press(*["Down"] * 5, "Enter")
        self.wait("document.querySelectorAll('.ovtable .row').length > 24")
        self.assertEqual(self.run_js(ROWS)[5:12], ["0", "1", "2", "3", "4", "5", "6"])

    def test_one_tab_stop_and_a_table(self):
        self.open("&step=6000")
        found = self.run_js(
            "const table = document.querySelector('[role=treegrid]');"
            "return [table.tabIndex, table.querySelectorAll('[role=columnheader]').length,"
            " table.querySelectorAll('.row [tabindex], .row button').length,"
            " document.getElementById(table.getAttribute('aria-activedescendant')).id,"
            " [...document.querySelector('#ov8').querySelectorAll('[role=gridcell]')].length]")
        self.assertEqual(found, [0, 5, 0, "ov0", 4])

    # ---- live

    def grow(self, newest):
        self.server.newest = newest
        self.server.change(0, newest_step=newest)
        self.wait(f"document.querySelector('.k-numbers .cap b:last-child').textContent ==="
                  f" '{newest}'")

    def test_only_new_columns_are_requested_and_drawn(self):
        self.server.newest = 6000
        self.open()
        self.drawn()
        self.browser.requests()
        left = [self.pixel("gradient", 1, share / 10) for share in range(3)]
        self.grow(6010)
        painted = self.run_js("return document.querySelector('.ovpane canvas')"
                              ".dataset.painted.split(' ').map(Number)")
        self.assertLessEqual(painted[1] - painted[0], 4)
        asked = [one for one in self.browser.requests() if "/modules?" in one]
        self.assertTrue(asked and all("since=" in one for one in asked), asked)
        self.assertEqual(left, [self.pixel("gradient", 1, s / 10) for s in range(3)])

    def test_a_live_view_equals_a_newly_opened_one(self):
        pictures = ("return [...document.querySelectorAll('.strip canvas, .ovpane canvas')]"
                    ".map(one => one.toDataURL())")
        self.server.newest = 6000
        self.open()
        self.drawn()
        for newest in range(6010, 6100, 10):
            self.grow(newest)
        self.wait("new Promise((done) => requestAnimationFrame(() => done(true)))")
        grown = self.run_js(pictures)
        self.open()
        self.drawn()
        self.assertEqual([a == b for a, b in zip(grown, self.run_js(pictures))], [True] * 4)

    def test_the_order_stays_while_steps_arrive(self):
        self.server.newest = 6000
        self.open("&sort=gradient")
        before = self.run_js(ROWS)
        self.grow(11000)
        self.assertEqual(self.run_js(ROWS), before)
        self.wait("!document.querySelector('.ovhead .cap2 .link').classList.contains('off')")
        self.run_js("document.querySelector('.ovhead .cap2 .link').click()")
        self.assertNotEqual(self.run_js(ROWS), before)

    def test_a_pinned_cursor_stays(self):
        self.server.newest = 6000
        self.open("&step=3000")
        before = self.numbers(1)
        self.server.newest = 6400
        self.server.change(0, newest_step=6400)
        self.wait("document.querySelector('.ovaxis .k-gradient').textContent.includes(6400)")
        self.assertEqual(self.numbers(1), before)
        self.assertTrue(self.hash("step=3000"))

    # ---- narrow

    def test_narrow_windows(self):
        for width, heats in ((1440, 4), (1100, 2), (390, 1)):
            with self.subTest(width=width):
                self.browser.size(width, 844)
                self.open()
                self.assertEqual(self.run_js(
                    "return [...document.querySelectorAll('.ovhead [class^=k-]')].filter("
                    "(one) => !one.matches('.k-numbers') && one.offsetWidth > 40).length"),
                    heats)
                self.assertLessEqual(self.run_js(
                    "return document.documentElement.scrollWidth - innerWidth"), 0)
        self.run_js("document.querySelectorAll('.ovtabs button')[1].click()")
        self.wait("document.querySelector('.ovhead .k-ratio').offsetWidth > 40")
        self.assertEqual(self.run_js(
            "return document.querySelector('.ovhead .k-gradient').offsetWidth"), 0)


class Live(TemporaryFolder, browser.BrowserTest):
    def test_a_training_that_becomes_nan(self):
        training = Training(self.folder)
        self.addCleanup(training.close)
        path = training.tell(20)
        server = Server(path, "--port", 0)
        self.addCleanup(server.close)
        self.addCleanup(self.browser.call, "POST", "/url", {"url": "about:blank"})
        self.browser.size(1440)
        self.browser.open(server.address)
        text = "return document.querySelector('{}')?.textContent ?? ''"
        self.browser.wait("return document.querySelector('.ovtable .row')")
        # A step ends when the next one begins.
        verdict = self.browser.run(text.format(".banner.good"))
        self.assertEqual(verdict, "Healthy in 19 logged steps")
        self.assertIn("bn", self.browser.run(ROWS))
        self.assertEqual(self.browser.run(text.format(".ovpane .none")), "none in 19 steps")
        training.tell(30)
        self.browser.wait("return document.querySelector('.banner.good')?.textContent ==="
                          " 'Healthy in 49 logged steps'")
        self.browser.wait("return document.querySelector('.k-numbers .cap b:last-child')"
                          ".textContent === '48'")
        self.assertRegex(self.browser.run(text.format("#ov0 .n-gradient")), r"^\d")
        training.tell("nan", 3)
        self.browser.wait("return document.querySelector('.banner.alarm')")
        self.browser.wait("return document.querySelector('.ovtable .al')")
        self.assertRegex(self.browser.run(text.format(".banner.alarm")), "tep (49|50)")
        self.browser.wait("return document.querySelector('#ov0 .n-gradient.bad')")
        self.assertEqual(self.browser.run(text.format("#ov0 .n-gradient")), "NaN")
        training.tell("close")
        self.browser.wait("return document.querySelector('.status').textContent"
                          ".includes('ended')")


if __name__ == "__main__":
    unittest.main()
