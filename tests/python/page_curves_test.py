"""The view Curves in a real browser: charts, smoothing, axes, ranges, readout, alarms,
several runs, copies, live steps. The answers are synthetic."""

import math
import unittest

import browser
import page_server

BAD = 380


def value(i):
    """Falls fast, then slowly, with a spike at the start."""
    return 20.0 - i if i < 6 else 2 + math.exp(-i / 60) + 0.1 * math.sin(i)


class Training:
    """The document of a synthetic run of 400 steps."""

    def __init__(self, steps=400, bad=None, extra=True, resumed=None):
        self.steps, self.bad, self.extra, self.resumed = steps, bad, extra, resumed

    def scalars(self):
        n = self.steps
        loss = [value(i) if self.bad is None or i < self.bad else "NaN" for i in range(n)]
        made = {"loss": loss}
        if self.extra:
            made["tokens"] = [512 * (i + 1) for i in range(n)]
            made["val/loss"] = [2 + i / n if i % 10 == 0 else None for i in range(n)]
            made["signed"] = [float(i - 2) for i in range(n)]
            made["grad_norm"] = [1.0 for i in range(n)]
            made["lr/0"] = [1e-3 for i in range(n)]
            made["lr/1"] = [2e-3 for i in range(n)]
        return made

    def document(self, args):
        since = int(args.get("since", 0))
        steps = list(range(since, self.steps))
        columns = {"columns": len(steps), "first": steps, "last": steps}
        columns |= {"steps": [1] * len(steps), "width": 1}
        columns["time_ms"] = [1000 + 2000 * i for i in steps]
        segments = [{"first": 0, "time_ns": 1000 * 10**6, "gap_ns": 0, "gap_steps": 0}]
        if self.resumed:
            segments.append({"first": self.resumed, "time_ns": 0, "gap_ns": 5, "gap_steps": 0})
        alarms = []
        if self.bad is not None:
            alarms.append({"step": self.bad, "severity": "alarm", "kind": "nan", "text": "NaN"})
            alarms.append({"step": 100, "severity": "warning", "kind": "dead", "text": "dead"})
        scalars = [
            {"name": name, "phase": "train", "value": list_[since:]}
            for name, list_ in self.scalars().items()
        ]
        return {
            "kind": "training",
            "newest": self.steps - 1,
            "since": since or None,
            "phases": [{"phase": "train", "steps": self.steps, "columns": columns}],
            "segments": segments,
            "alarms": alarms,
            "scalars": scalars,
        }


RUN = {"format": "run", "live": False, "ended": True, "alarms": 0, "version": 1, "model": 1}
RUN |= {"has": ["history"], "bytes": 1}


class Curves(browser.BrowserTest):
    def setUp(self):
        self.browser.call("POST", "/url", {"url": "about:blank"})  # it still asks
        super().setUp()
        self.server = page_server.Server().start()
        self.addCleanup(self.server.stop)
        self.runs = {"1": Training(bad=BAD), "2": Training(300, extra=False)}
        self.server.files = []
        for id_, name in (("1", "first"), ("2", "second")):
            run = {**RUN, "file": id_, "name": name, "path": f"runs/{name}.scope"}
            self.server.files.append(run)
            self.server.documents[f"training {id_}"] = self.answer(id_)
            self.server.documents[f"rows {id_}"] = page_server.resnet()
        self.browser.size(1440)

    def answer(self, id_):
        return lambda args: self.runs[id_].document(args)

    def open(self, more="&smooth=0", file="1", ready=".curve"):
        self.browser.open(self.server.url, f"#file={file}&view=curves{more}")
        self.browser.wait(f"return document.querySelector('{ready}')")

    def text(self, selector):
        return self.browser.run(f"return document.querySelector('{selector}')?.textContent")

    def all(self, selector):
        return self.browser.run(
            f"return [...document.querySelectorAll('{selector}')].map((one) => one.textContent)"
        )

    def click(self, selector):
        self.browser.run(f"document.querySelector('{selector}').click()")

    def hash(self):
        return self.browser.run("return decodeURIComponent(location.hash)")

    def focus(self, selector=".big .plot"):
        self.browser.run(f"document.querySelector('{selector}').focus()")

    def table(self):
        rows = "return [...document.querySelectorAll('.ro tr')].map((row) => "
        return self.browser.run(rows + "[...row.cells].map((cell) => cell.textContent))")

    def read_at(self, step):
        """Puts the readout to a step, from the end backwards."""
        self.focus()
        self.browser.run(
            "const plot = document.querySelector('.big .plot'), at = arguments[0];"
            "const box = plot.getBoundingClientRect(), wide = box.width - 88;"
            "plot.dispatchEvent(new PointerEvent('pointermove',"
            "{clientX: box.left + 48 + wide * at / 399, clientY: box.top + 50}))",
            step,
        )

    def catch(self):
        """Keep saved files and copied texts in the page."""
        self.browser.run(
            "URL.createObjectURL = (blob) => {blob.text().then((text) => {window.saved = text});"
            "return 'data:,'}; HTMLAnchorElement.prototype.click = () => {};"
            "navigator.clipboard.writeText = async (text) => {window.copied = text}"
        )

    def menu(self, label, item):
        self.click(f'.top [aria-label="{label}"]')
        self.browser.run(
            "[...document.querySelectorAll('.menu button')].find((one) =>"
            " one.textContent.startsWith(arguments[0])).click()",
            item,
        )

    def svg(self):
        self.catch()
        self.menu("Export", "Chart as SVG")
        self.browser.wait("return window.saved?.startsWith('<svg')")
        return self.browser.run("return window.saved")

    def silence(self):
        self.assertEqual(
            [one for one in self.browser.log() if "Failed to load" not in one], []
        )

    # charts

    def test_charts_and_their_order(self):
        self.open()
        self.assertEqual(
            self.all(".curve .t"),
            ["loss", "tokens", "val/loss", "signed", "learning rate", "learning rate",
             "gradient norm"],
        )
        self.assertIn("every 10 steps", self.all(".curve .dim3"))
        self.assertIn("group 1 of 2", self.all(".curve .dim3"))
        self.click('.curve[data-key="val/loss"] .t')
        self.assertEqual(self.text(".curve.big .t"), "val/loss")
        self.assertIn("chart=val/loss", self.hash())
        self.silence()

    def test_the_range_notes_the_cut_values(self):
        self.open()
        self.assertRegex(self.text(".note"), r"^\d% of the points lie above [\d.]+$")

    def test_log_for_one_and_for_all(self):
        self.open()
        self.click('.curve[data-key="signed"] .t')
        self.browser.wait("return document.querySelector('.big').dataset.key === 'signed'")
        self.assertNotIn("left out", self.text(".note"))
        self.click(".big .tg")
        self.assertIn("logs=signed", self.hash())
        self.assertIn("3 values \u2264 0 left out", self.text(".note"))
        self.focus()
        self.browser.press("x")
        self.assertEqual(
            self.browser.run("return document.querySelectorAll('.tg[aria-pressed=true]').length"),
            7,
        )
        self.assertNotIn("logs=", self.hash())

    # smoothing

    def test_smoothing_is_a_centred_mean(self):
        self.open("&smooth=20")
        self.read_at(200)
        mean = sum(value(i) for i in range(190, 211)) / 21
        self.assertEqual(self.table()[1][1:], [f"{mean:.4g}", f"{value(200):.4g}"])
        self.assertIn("mean over 20 steps", self.text(".note"))

    def test_smoothing_looks_back_at_the_end_and_stops_at_nan(self):
        self.open("&smooth=20")
        self.read_at(BAD - 1)
        mean = sum(value(i) for i in range(BAD - 11, BAD)) / 11
        self.assertEqual(self.table()[1][1], f"{mean:.4g}")
        self.browser.press("Right")
        self.assertEqual(self.table()[1][1:], ["NaN", "NaN"])

    def test_smoothing_of_logarithms(self):
        self.open("&smooth=20&log=1")
        self.read_at(200)
        mean = math.exp(sum(math.log(value(i)) for i in range(190, 211)) / 21)
        self.assertEqual(self.table()[1][1], f"{mean:.4g}")

    def test_smoothing_stops_where_the_run_was_resumed(self):
        self.runs["1"].resumed = 205
        self.open("&smooth=20")
        self.read_at(204)
        mean = sum(value(i) for i in range(194, 205)) / 11
        self.assertEqual(self.table()[1][1], f"{mean:.4g}")

    def test_smoothing_keys_and_slider(self):
        self.open("&smooth=20")
        self.browser.press(".")
        self.assertEqual(self.text(".width"), "50 steps")
        self.browser.press(",", ",", ",", ",", ",", ",", ",")
        self.assertEqual(self.text(".width"), "off")
        self.browser.run(
            "const slider = document.querySelector('#smooth'); slider.value = 3;"
            "slider.dispatchEvent(new Event('input'))"
        )
        self.assertIn("smooth=10", self.hash())

    # axes and the readout

    def test_keys_before_the_run_is_read(self):
        self.server.slow = 1
        self.browser.open(self.server.url, "#file=1&view=curves")
        self.browser.press("v", ",", ".", "x", "x", "0", "Left")
        self.browser.wait("return document.querySelector('.curve') !== null")
        self.assertNotIn("x=", self.hash())

    def test_axes(self):
        self.open()
        self.assertEqual(self.all(".ctl .seg")[0], "StepTimeTokens")
        self.focus()
        self.browser.press("v", "Left")
        self.assertIn("x=time", self.hash())
        self.assertIn("step 399, 13.3min", self.text(".ro"))
        self.browser.press("v", "Left")
        self.assertIn("step 399, 204.8K", self.text(".ro"))
        self.browser.press("v")
        self.assertNotIn("x=tokens", self.hash())

    def test_arrows_and_the_cursor(self):
        self.open()
        self.focus()
        self.browser.press("Left")
        self.assertIn("step 399", self.text(".ro"))
        self.browser.run(
            "document.activeElement.dispatchEvent(new KeyboardEvent('keydown',"
            "{key: 'ArrowLeft', shiftKey: true, bubbles: true}))"
        )
        self.assertIn("step 389", self.text(".ro"))
        self.browser.press("Enter")
        self.assertIn("step=389", self.hash())
        said = self.browser.run("return document.activeElement.ariaValueText")
        self.assertEqual(said, "step 389: A NaN")
        heads = self.browser.run(
            "return document.querySelector('[data-key=signed] .rd').textContent")
        self.assertEqual(heads, "A387")
        self.browser.press("Escape")
        self.browser.wait("return document.querySelector('.ro.off')")

    def test_two_runs(self):
        self.open("&smooth=0&runs=2")
        self.assertEqual(self.all(".run b"), ["first", "second"])
        self.read_at(200)
        self.assertEqual(self.table()[0][1], f"{value(200):.4g}")
        self.assertEqual(self.table()[2], ["A \u2212 B", "0"])
        heads = self.browser.run(
            "return document.querySelector('[data-key=signed] .reads').textContent")
        self.assertEqual(heads, "A198Bnot logged")
        self.assertIn("logged by A only", self.all(".curve .dim3"))
        self.read_at(350)
        self.assertEqual(self.table()[1][1], "\u2013")

    def test_add_and_take_out_a_run(self):
        self.open()
        self.browser.run(
            "[...document.querySelectorAll('.ctl .btn')].find((one) =>"
            " one.textContent === 'Add run').click()"
        )
        self.click(".menu button")
        self.browser.wait("return document.querySelectorAll('.run').length === 2")
        self.assertIn("runs=2", self.hash())
        self.click(".run .btn")
        self.browser.wait("return document.querySelectorAll('.run').length === 1")

    # pictures and copies

    def test_the_picture(self):
        self.open("&smooth=0&runs=2")
        svg = self.svg()
        self.assertIn('stroke-dasharray="9 4"', svg)
        self.assertIn('fill="url(#h)"', svg)
        for text in ("A NaN", "A dead", "loss", ">B<"):
            self.assertIn(text, svg)

    def test_a_resumed_run_has_a_gap(self):
        self.runs["2"].resumed = 100
        self.open("&smooth=0", file="2")
        line = max(self.svg().split("<path"), key=len)
        self.assertEqual(line.count("M"), 2)

    def test_copies(self):
        self.open("&smooth=20")
        self.catch()
        self.focus('[data-key="val/loss"] .plot')
        self.browser.press("y")
        self.browser.wait("return window.copied")
        lines = self.browser.run("return window.copied").splitlines()
        self.assertEqual(lines[0], "run,scalar,first_step,last_step,value,smoothed")
        self.assertTrue(lines[2].startswith("first,val/loss,10,10,2.025,"))
        self.assertEqual(len(lines), 41)
        self.menu("Copy", "Python")
        self.browser.wait("return window.copied.startsWith('torchoscope')")
        self.assertEqual(
            self.browser.run("return window.copied"),
            'torchoscope.open("runs/first.scope").scalars()',
        )
        self.menu("Export", "Chart as CSV")
        self.browser.wait("return window.saved?.startsWith('run,scalar')")
        self.menu("Export", "Chart as PNG")
        self.browser.wait("return window.saved?.slice(1, 4) === 'PNG'")

    # states

    def test_empty(self):
        self.runs["2"].scalars = dict
        self.open("", "2")
        self.assertEqual(self.text(".empty b"), "No scalars logged yet")
        self.assertEqual(self.text(".cmd"), "w.log(loss=loss)")

    def test_a_constant_has_one_label(self):
        scalars = {"loss": [1.0] * 300, "lr/0": [1e-3 + 1e-19 * (i % 3) for i in range(300)]}
        self.runs["2"].scalars = lambda: scalars
        self.open("&smooth=0", "2")
        self.assertEqual(self.all(".curve .t"), ["loss", "learning rate"])
        self.assertEqual(self.browser.run("return document.querySelectorAll('.fail').length"), 0)
        self.assertEqual(self.svg().count(">1</text>"), 1)

    def test_loss_alone(self):
        self.open("", "2")
        self.assertEqual(self.all(".curve .t"), ["loss"])

    def test_live_updates_draw_only_new_steps(self):
        self.server.files[1]["live"] = True
        self.server.files[1]["ended"] = False
        self.open("&smooth=0", file="2")
        self.browser.wait("return document.querySelector('.big canvas').width > 900")
        self.browser.run(
            "window.cleared = []; const old = CanvasRenderingContext2D.prototype.clearRect;"
            "CanvasRenderingContext2D.prototype.clearRect = function (x, ...rest) {"
            "if (this.canvas === document.querySelector('.big canvas')) cleared.push(x);"
            "return old.call(this, x, ...rest)}"
        )
        self.runs["2"].steps = 302
        self.server.change(1, newest_step=301)
        self.browser.wait("return cleared.length > 0")
        self.assertTrue(all(x > 900 for x in self.browser.run("return cleared")))
        self.assertEqual(
            self.browser.run("return document.querySelector('.big .plot').ariaValueNow"), "301"
        )

    def kept(self):
        """Counts of live elements, listeners, canvases and cached documents."""
        documents = self.browser.alive("Map", "Math.max(...this.filter((map) => [...map.values()]"
                                       ".some((one) => one?.promise)).map((map) => map.size))")
        canvases = self.browser.alive("HTMLCanvasElement")
        made = self.browser.devtools("Memory.getDOMCounters", {})
        return {**made, "canvases": canvases, "cached": documents}

    def test_hundreds_of_events_leave_nothing_behind(self):
        self.server.files[1].update(live=True, ended=False)
        self.runs["2"] = Training(300)
        self.open("&smooth=0", file="2")

        def events(n):
            for _ in range(n):
                self.runs["2"].steps += 1
                newest = self.runs["2"].steps - 1
                self.server.change(1, newest_step=newest)
                self.browser.wait("return document.querySelector('.big .plot').ariaValueNow"
                                  f" === '{newest}'")

        events(20)
        before = self.kept()
        self.assertLess(before["cached"], 6)
        events(200)
        self.assertEqual(self.kept(), before)

    def test_views_that_were_closed_are_freed(self):
        self.open("&smooth=0")

        def round_trips(n):
            for _ in range(n):
                for view, there in (("table", ".table"), ("curves", ".curve canvas")):
                    self.browser.run(f"location.hash = location.hash.replace(/view=\\w+/,"
                                     f" 'view={view}')")
                    self.browser.wait(f"return document.querySelector('{there}') !== null")

        round_trips(3)
        before = self.kept()
        round_trips(6)
        after = self.kept()
        for what in "jsEventListeners", "canvases", "cached":
            self.assertLessEqual(after[what], before[what] + 2, what)

    def test_no_scroll_bar_sideways(self):
        for width in (1440, 1024, 390):
            self.browser.size(width)
            self.open("&runs=2")
            wide = "return [document.documentElement, document.querySelector('.stage')]"
            self.assertEqual(
                self.browser.run(f"{wide}.map((one) => one.scrollWidth - one.clientWidth)"),
                [0, 0],
            )


if __name__ == "__main__":
    unittest.main()
