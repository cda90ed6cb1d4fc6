"""The interactive page of a network, used in Chromium by mouse and by keyboard."""

import html
import time
import unittest

import browser
import graph_pages


class GraphPage(graph_pages.PageTest):
    # --- the whole page

    def test_it_opens_from_a_file_without_further_requests(self):
        asked = [url for url in self.browser.requests() if url != "about:blank"]
        self.assertEqual(asked, [(self.folder / "net.html").as_uri()])
        policy = self.js("return document.querySelector('meta[http-equiv]').content")
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("script-src 'unsafe-inline'", policy)
        self.assertLessEqual(len(self.shown()), 40)
        self.assertEqual(self.text(".path"), "Net")
        self.assertIn("parameters", self.text("#facts"))

    def test_it_works_in_a_sandboxed_frame(self):
        page = (self.folder / "net.html").read_text()
        outer = self.folder / "outer.html"
        script = (
            "addEventListener('message', e => {document.body.dataset.ready = e.data})"
        )
        outer.write_text(
            f"<!doctype html><meta charset=utf-8><body><script>{script}</script>"
            '<iframe sandbox="allow-scripts" width=900 height=600 srcdoc="'
            f'{html.escape(page)}"></iframe>'
        )
        self.browser.open(outer, ready="frames.length")
        self.browser.call("POST", "/frame", {"id": 0})
        try:
            self.browser.wait("return document.body.dataset.ready")
            self.js("switchTheme(); saveState(); stage.focus(); walk(true)")
            self.browser.press("y")
            self.browser.wait("return !toast.hidden")
            self.assertIn("in:x", self.text("#toast"))
            self.assertEqual(
                self.js("return document.documentElement.dataset.theme"), "dark"
            )
        finally:
            self.browser.call("POST", "/frame", {"id": None})

    def test_hostile_names_are_text(self):
        self.show("hostile")
        self.assertNotEqual(self.js("return document.title"), "x")
        self.assertEqual(self.js("return document.querySelectorAll('b b').length"), 0)
        names = self.js("return [...box.full].map(i => data.texts[i])")
        odd = next(name for name in names if name.startswith("</script>"))
        self.assertNotIn("\u202e", odd)
        self.browser.press("/", *"script")
        self.assertIn("</script>", self.text(".result b"))
        self.browser.press("Enter")
        self.js("showTip(current)")
        self.assertIn("</script><b>Odd", self.text(".tip .head"))
        scripts = self.js("return document.querySelectorAll('script').length")
        self.assertEqual(scripts, 2)

    # --- moving

    def test_zoom_changes_what_is_drawn(self):
        expected = {1.2: "l4", 0.95: "l3", 0.7: "l2", 0.4: "l1", 0.1: "l0"}
        count = (
            "return [...arguments[0].split(',')].map(s => [...svg.querySelectorAll(s)]"
            ".filter(e => e.getClientRects().length).length)"
        )
        seen = {}
        for zoom, level in expected.items():
            self.js("view.zoom = arguments[0]; dressedZoom = 0; paint()", zoom)
            self.assertIn(level, self.js("return svg.getAttribute('class')"))
            parts = ".node .name,.node .detail,.edge-label,.edge-label.strong,.arrow"
            seen[level] = self.js(count, parts)
        names, details, labels, strong, arrows = zip(*seen.values(), strict=True)
        self.assertTrue(all(names[:3]) and not any(names[3:]))
        self.assertTrue(all(details[:2]) and not any(details[2:]))
        self.assertGreater(labels[0], labels[1])
        self.assertEqual(labels[1], strong[1])
        self.assertFalse(any(labels[2:]) or any(arrows[3:]))
        self.js("view.zoom = 0.6; paint()")
        self.js("dressedZoom = view.zoom; paint()")
        name = "svg.querySelector('.node .name')"
        size = self.js(f"return {name}.getAttribute('font-size')")
        self.assertAlmostEqual(float(size) * 0.6, 11, places=3)

    def test_drag_wheel_buttons_and_keys_move_the_picture(self):
        before = self.view()
        self.browser.mouse(("move", 900, 300), ("down",), ("move", 860, 250), ("up",))
        after = self.view()
        self.assertAlmostEqual(after["x"] - before["x"], 40 / before["zoom"], delta=1)
        self.assertAlmostEqual(after["y"] - before["y"], 50 / before["zoom"], delta=1)
        under = "return toGraph(arguments[0], arguments[1] - stage.offsetTop)"
        point = self.js(under, 700, 400)
        self.browser.wheel(700, 400, -240)
        self.browser.wait(f"return view.zoom > {after['zoom']} * 1.2")
        again = self.js(under, 700, 400)
        self.assertAlmostEqual(point["x"], again["x"], delta=0.5)
        self.assertAlmostEqual(point["y"], again["y"], delta=0.5)
        self.js("stage.focus()")
        for press, check in (
            ("0", "view.zoom === 1"),
            ("+", "view.zoom === 1.25"),
            ("-", "Math.abs(view.zoom - 1) < 1e-9"),
        ):
            self.browser.press(press)
            self.assertTrue(self.js(f"return {check}"), press)
        x = self.view()["x"]
        self.browser.press("l")
        self.assertAlmostEqual(self.view()["x"], x + 60)
        self.browser.press(" ")
        self.painted()
        self.assertTrue(self.js("return view.zoom === fitZoom()"))
        zoom = self.view()["zoom"]
        self.js("document.querySelector('[aria-label^=\"Zoom in\"]').click()")
        self.assertAlmostEqual(self.view()["zoom"], zoom * 1.25)
        self.assertEqual(self.text(".zoom span"), f"{zoom * 125:.0f}%")

    def test_motion_is_short_and_off_with_reduced_motion(self):
        self.js("fit()")
        self.assertFalse(self.js("return moving"))
        self.browser.prefer("light")
        self.assertTrue(self.js("view.zoom = 0.5; fit(); return moving"))
        self.painted()
        self.assertTrue(self.js("return view.zoom === fitZoom()"))
        count = "return document.getAnimations().length"
        self.js("toggle(arguments[0])", self.box("layers"))
        self.assertGreater(self.js(count), 0)
        longest = self.js(
            "return Math.max(...document.getAnimations().map("
            "one => one.effect.getTiming().duration))"
        )
        self.assertEqual(longest, 120)
        self.browser.wait(f"{count} === 0")
        self.browser.prefer("light", "reduce")
        self.js("toggle(arguments[0])", self.box("layers"))
        self.assertEqual(self.js(count), 0)

    def test_the_minimap_shows_the_position_and_moves_it(self):
        self.assertFalse(self.js("return map.getClientRects().length"))
        self.show("long")
        left, top, high = self.js(
            "const r = map.getBoundingClientRect(); return [r.left, r.top, r.height]"
        )
        self.browser.click(left + 43, top + high / 2)
        self.painted()
        middle = self.js("const a = visibleArea(); return (a.top + a.bottom) / 2")
        height = self.js("return scene.height")
        self.assertAlmostEqual(middle / height, 0.5, delta=0.03)

    # --- opening, folding, going in

    def test_a_click_on_a_title_folds_and_on_a_chevron_opens_under_the_pointer(self):
        inside = "return boxAt(...Object.values(toGraph(arguments[0], arguments[1])))"
        self.assertTrue(self.is_open("layers"))
        for path in ("layers.1", "layers"):
            at = self.place(path, 0.2)
            before = self.is_open(path)
            for _ in range(2):
                end = time.monotonic() + browser.SECONDS
                while self.is_open(path) == before and time.monotonic() < end:
                    self.js("hideTip()")  # on a slow machine it may cover the title
                    at = at if before else self.chevron(path)
                    self.browser.click(*at)
                    self.painted()
                self.assertNotEqual(self.is_open(path), before)
                before = self.is_open(path)
                offset = self.js("return stage.offsetTop")
                found = self.js(inside, at[0], at[1] - offset)
                self.assertEqual(found, self.box(path))

    def test_double_click_goes_in_and_the_path_leads_back(self):
        self.js("setOpen([arguments[0]], false, -1)", self.box("layers.0"))
        self.browser.click(*self.place("layers.0", 0.7), times=2)
        self.browser.wait("return scene.root > 0")
        self.assertEqual(self.root(), "layers.0")
        self.assertEqual(self.text(".path"), "Net\u203alayers\u203a0")
        crumb = self.js(
            "const r = document.querySelectorAll('.path button')[0]"
            ".getBoundingClientRect(); return [r.left + 4, r.top + 6]"
        )
        self.browser.click(*crumb)
        self.assertEqual(self.root(), "")
        self.assertEqual(self.current(), "layers.0")

    def test_enter_goes_in_and_backspace_up(self):
        self.js("setOpen([arguments[0]], false, -1)", self.box("layers.0"))
        self.select("layers.0")
        self.browser.press("Enter")
        self.assertEqual(self.root(), "layers.0")
        self.browser.press("Backspace")
        self.assertEqual(self.root(), "layers")
        self.browser.press("Backspace", "Backspace")
        self.assertEqual(self.root(), "")
        self.select("layers")
        self.browser.press("Enter")
        self.assertFalse(self.is_open("layers"))

    def test_fold_keys_are_those_of_the_terminal(self):
        blocks = ["layers.0", "layers.1", "layers.2"]
        opens = lambda: [self.is_open(path) for path in blocks]  # noqa: E731
        self.browser.press("Z")
        if not self.is_open("layers.0.down"):
            self.browser.press("Z")
        self.assertEqual(self.text(".tools > .btn"), "Fold all")
        self.select("layers.1")
        self.browser.press("z")
        self.assertEqual(opens(), [True, False, True])
        self.browser.press("z", "s")
        self.assertEqual(opens(), [False] * 3)
        self.browser.press("s")
        self.assertEqual(opens(), [True] * 3)
        self.assertTrue(self.is_open("layers.0.down"))
        self.browser.press("S")
        self.assertEqual([*opens(), self.is_open("layers.0.down")], [False] * 4)
        self.browser.press("O")
        self.assertEqual([*opens(), self.is_open("layers.0.down")], [True] * 4)
        self.browser.press("o")
        self.assertEqual(opens(), [False] * 3)
        self.assertTrue(self.is_open("layers.0.down"))
        self.browser.press("Z", "Z")
        self.assertFalse(self.is_open("layers"))
        self.assertEqual(self.text(".tools > .btn"), "Open all")
        self.js("document.querySelector('.tools > .btn').click()")
        self.assertTrue(self.is_open("layers"))

    def test_the_address_keeps_what_is_open_and_where(self):
        self.js("toggle(arguments[0])", self.box("layers.1"))
        folded = self.is_open("layers.1")
        self.js("Object.assign(view, {x: 12, y: 34, zoom: 0.75}); saveState()")
        self.browser.wait("return location.hash.includes('view=12,34,0.750')")
        self.show("net", self.js("return location.hash"))
        self.assertEqual(self.is_open("layers.1"), folded)
        self.assertEqual(self.view(), {"x": 12, "y": 34, "zoom": 0.75})
        self.show("net", "#at=99999&open=x.-1.5e9&view=a,b,c")
        self.assertEqual(self.root(), "")

    # --- walking, hovering, tooltips

    def test_arrows_walk_along_the_lines_and_among_siblings(self):
        self.browser.press("Down")
        self.assertEqual(self.current(), "in:x")
        self.js("toggle(arguments[0])", self.box("layers.1"))
        if not self.is_open("layers.1"):
            self.js("toggle(arguments[0])", self.box("layers.1"))
        self.browser.press("Down")
        self.assertEqual(self.current(), "stem")
        self.assertEqual(dict(self.tip())["path"], "stem")
        self.select("layers.1.conv1")
        self.browser.press("Right")
        self.assertIn("layers.1.down", self.current())
        self.browser.press("Left")
        self.assertNotIn("down", self.current())
        self.browser.press("Left")
        self.assertEqual(self.current(), "layers.1")
        self.browser.press("Down", "Down", "Up")
        self.assertEqual(self.current(), "layers.1.conv1")
        self.assertEqual(dict(self.tip())["path"], "layers.1.conv1")

    def test_arrows_follow_a_graph_from_left_to_right(self):
        self.show("sideways")
        self.browser.press("Down", "Right")
        self.assertEqual(self.current(), "stem")
        self.browser.press("Left")
        self.assertEqual(self.current(), "in:x")

    def test_hover_keeps_the_lines_of_a_box_and_dims_the_rest(self):
        self.browser.mouse(("move", *self.place("stem")))
        self.browser.wait("return svg.classList.contains('dim')")
        shade = (
            "return getComputedStyle(svg.querySelector("
            "`.node[data-id=\"${arguments[0]}\"]`)).opacity"
        )
        self.assertEqual(self.js(shade, "stem"), "1")
        self.assertEqual(self.js(shade, "in:x"), "1")
        self.assertEqual(self.js(shade, "fc"), "0.35")
        lit = self.js(
            "return [...svg.querySelectorAll('.edge.lit')].map(e => e.dataset.to)"
        )
        self.assertIn("stem", lit)
        self.browser.mouse(("move", 3, 500))
        self.browser.wait("return !svg.classList.contains('dim')")

    def test_a_tooltip_has_shapes_arguments_numbers_and_the_line(self):
        self.browser.mouse(("move", *self.place("stem")))
        rows = dict(self.tip())
        self.assertEqual(self.text(".tip .head"), "stem Conv2d")
        self.assertEqual(rows["in"], "2\u00d73\u00d718\u00d718 float32")
        self.assertEqual(rows["out"], "2\u00d74\u00d78\u00d78 float32, 2.0KB")
        self.assertEqual((rows["\u2013"], rows["stride"]), ("4", "2\u00d72"))
        self.assertEqual(rows["parameters"], "112")
        self.assertEqual(rows["FLOPs"], "27,648")
        self.assertRegex(rows["forward"], r"^[\d.]+\w+, .*\d% of forward$")
        self.assertRegex(rows["source"], r"^graph_pages\.py:\d+$")
        self.assertEqual(rows["path"], "stem")
        left, top = self.js(
            "const r = tip.getBoundingClientRect(); return [r.left + 9, r.top + 9]"
        )
        self.browser.mouse(("move", left, top), ("pause", 250))
        self.assertFalse(self.js("return tip.hidden"))
        self.browser.press("Escape")
        self.assertTrue(self.js("return tip.hidden"))

    def test_a_tooltip_shows_the_input_shape_of_its_frame(self):
        for path, row in (("wrap.0", "in"), ("wrap.1", "out")):
            self.show("wrapped")
            self.select(path)
            self.assertIn("3\u00d74 float32", dict(self.tip())[row])

    def test_walking_moves_the_picture_no_further_than_needed(self):
        before = self.view()
        self.browser.press("Down")
        self.assertEqual(self.view(), before)
        self.js("view.zoom = 1.5; paint()")
        for _ in range(12):
            self.browser.press("Down")
            self.painted()
            inside = self.js(
                "const a = visibleArea(), b = current; return box.y[b] >= a.top &&"
                "box.y[b] + Math.min(box.h[b], 24) <= a.bottom"
            )
            self.assertTrue(inside, self.current())

    # --- search

    def test_search_lists_matches_and_goes_to_them(self):
        self.js("setOpen(groupsIn(0), false, -1)")
        self.browser.press("/", *"conv2")
        self.assertEqual(self.text(".found"), "10 found")
        self.browser.press("Down", "Down")
        chosen = self.js(
            "const id = field.getAttribute('aria-activedescendant');"
            "return document.getElementById(id).textContent"
        )
        wanted = self.js("return idOf(hits[Number(results.querySelector("
                             "'.chosen').dataset.at)])")
        self.assertIn(wanted.split(".")[-1], chosen)
        self.browser.press("Enter")
        self.assertEqual(self.current(), wanted)
        self.assertIn(wanted, self.shown())
        self.assertTrue(self.js("return results.hidden"))
        self.browser.press("Escape")
        self.assertEqual(self.text(".found"), "")
        self.browser.press("/", *"block", "Enter")
        self.assertEqual(self.text(".found"), "1 of 4")
        self.js("stage.focus()")
        self.browser.press("n")
        self.assertEqual(self.text(".found"), "2 of 4")
        self.browser.press("N", "N")
        self.assertEqual(self.text(".found"), "4 of 4")
        self.assertTrue(self.js("return svg.querySelector('.ring.hit') !== null"))

    def test_search_by_mouse_and_without_matches(self):
        field = self.js(
            "const r = field.getBoundingClientRect(); return [r.left + 9, r.top + 9]"
        )
        self.browser.click(*field)
        self.browser.press(*"linear")
        result = self.js(
            "const r = results.querySelector('.result').getBoundingClientRect();"
            "return [r.left + 9, r.top + 9]"
        )
        self.browser.click(*result)
        self.assertEqual(self.current(), "fc")
        self.js("field.select()")
        self.browser.press(*"zzz")
        self.assertRegex(self.text(".found"), r"^not in \d+ boxes$")
        self.assertTrue(self.js("return results.hidden"))

    # --- colour, theme, help, clipboard

    def test_every_colour_has_its_legend(self):
        self.assertIn("convolution", self.text("#legend"))
        options = self.js("return [...colourMenu.options].map(one => one.value)")
        wanted = ["family", "params", "time", "memory", "flops", "grad"]
        self.assertEqual(options, wanted)
        stem = "svg.querySelector('[data-id=stem]')"
        fill = f"return {stem}.style.getPropertyValue('--fill')"
        for number, value in enumerate(options[1:], 1):
            self.js("colourMenu.focus()")
            self.browser.press("Down")
            self.assertEqual(self.js("return colour"), value)
            title = self.js("return data.metrics[arguments[0] - 1].title", number)
            self.assertIn(title, self.text("#legend"))
            self.assertIn("steps", self.text("#legend"))
            self.assertRegex(self.js(fill), r"^var\(--heat-\d\)$")
            value_text = self.js(
                "return textOf(box[`${colour}Text`], data.ids.indexOf('stem'))"
            )
            drawn = self.js(
                "paint(); return [...svg.querySelectorAll('[data-id=stem] text')]"
                ".map(one => one.textContent)"
            )
            self.assertIn(value_text, drawn)

    def test_the_theme_is_kept_in_this_browser(self):
        ground = "return getComputedStyle(document.body).backgroundColor"
        self.addCleanup(self.js, "localStorage.clear()")
        self.assertEqual(self.js(ground), "rgb(255, 255, 255)")
        click = "document.querySelector('[aria-label^=Light]').click()"
        self.js(click)
        self.assertEqual(self.js(ground), "rgb(24, 27, 32)")

        def load():
            self.browser.call("POST", "/refresh", {})
            self.browser.wait("return document.body.dataset.ready")

        self.check_kept(
            lambda: self.js(click), load, lambda: self.js(ground) == "rgb(24, 27, 32)"
        )
        self.js("localStorage.clear()")
        self.show("dark")
        self.assertEqual(self.js(ground), "rgb(24, 27, 32)")
        self.browser.prefer("dark", "reduce")
        self.show("net")
        self.assertEqual(self.js(ground), "rgb(24, 27, 32)")

    def test_help_lists_the_keys(self):
        self.browser.press("?")
        self.assertTrue(self.js("return document.activeElement === help"))
        keys = self.js(
            "return [...help.querySelectorAll('kbd')].map(k => k.textContent)"
        )
        for key in "z Z s S o O y / n N ? Enter Backspace Space Esc".split():
            self.assertIn(key, keys)
        self.browser.press("Escape")
        self.assertTrue(self.js("return help.hidden"))
        self.assertTrue(self.js("return document.activeElement === stage"))
        self.js("document.querySelector('[aria-label^=Keys]').click()")
        self.assertFalse(self.js("return help.hidden"))
        self.browser.click(5, 500)
        self.assertTrue(self.js("return help.hidden"))

    def test_y_copies_the_path(self):
        self.browser.devtools(
            "Browser.grantPermissions",
            {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]},
        )
        self.select("stem")
        self.browser.press("y")
        self.browser.wait("return !toast.hidden")
        self.assertEqual(self.text("#toast"), "copied stem")

    # --- accessibility, print, phones

    def test_screen_readers_get_the_drawn_names(self):
        self.select("stem")
        label = self.js(
            "const id = stage.getAttribute('aria-activedescendant');"
            "return document.getElementById(id).getAttribute('aria-label')"
        )
        drawn = self.js(
            "return [...svg.querySelectorAll('[data-id=stem] text')]"
            ".map(one => one.textContent)"
        )
        self.assertTrue(label.startswith(drawn[0] + " Conv2d"), label)
        wrong = self.js(
            "view.zoom = 1; paint(); return scene.nodes.filter(b => {"
            "const one = drawn.get(b).group, name = one.querySelector('.name,.value');"
            "return name && !name.textContent.includes('\u2026') &&"
            "!one.getAttribute('aria-label').startsWith(name.textContent)}).map(idOf)"
        )
        self.assertEqual(wrong, [])
        nameless = self.js(
            "return [...document.querySelectorAll('button,input,select')].filter(one =>"
            "!(one.getAttribute('aria-label') || one.labels?.[0]?.textContent ||"
            "one.textContent)).length"
        )
        self.assertEqual(nameless, 0)

    def test_tab_goes_through_the_bar_to_the_graph(self):
        self.js("document.activeElement.blur()")
        order = []
        for _ in range(9):
            self.browser.press("Tab")
            order.append(
                self.js(
                    "const e = document.activeElement;"
                    "const s = getComputedStyle(e.closest('.search') ?? e);"
                    "return [e.id || e.getAttribute('aria-label') || e.tagName,"
                    "s.outlineStyle !== 'none']"
                )
            )
        names = [name for name, _ in order]
        self.assertEqual(names[:2], ["Search boxes", "SELECT"])
        self.assertEqual(names[4], "Keys (?)")
        self.assertEqual(names[5], "stage")
        self.assertEqual(names[6:], ["Zoom in (+)", "Zoom out (-)", "Fit (Space)"])
        self.assertTrue(all(seen for _, seen in order), order)
        self.browser.press("Down")
        self.painted()
        self.assertTrue(self.js("return svg.querySelector('.ring.focus') !== null"))

    def test_paper_is_white_and_has_the_whole_graph(self):
        self.browser.prefer("dark", "reduce")
        self.js("zoomMiddle(3)")
        self.painted()
        self.browser.prefer("dark", "reduce", "print")
        self.js("dispatchEvent(new Event('beforeprint'))")
        ground = "return getComputedStyle(document.body).backgroundColor"
        self.assertEqual(self.js(ground), "rgb(255, 255, 255)")
        self.assertTrue(self.js("return svg.getAttribute('viewBox') !== null"))
        self.assertFalse(
            self.js("return document.querySelector('.tools').getClientRects().length")
        )
        outside = self.js(
            "const r = svg.getBoundingClientRect(); return scene.nodes.filter(b => {"
            "const o = drawn.get(b).group.getBoundingClientRect();"
            "return o.top < r.top - 1 || o.bottom > r.bottom + 1 ||"
            "o.left < r.left - 1 || o.right > r.right + 1}).length"
        )
        self.assertEqual(outside, 0)
        self.js("dispatchEvent(new Event('afterprint'))")
        self.browser.prefer("dark", "reduce")
        self.painted()
        self.assertEqual(self.js("return svg.getAttribute('viewBox')"), None)
        self.assertTrue(self.browser.pdf().startswith(b"%PDF"))

    def test_phones_get_space_and_large_targets(self):
        self.browser.size(390, 844)
        self.show("net")
        wide, small = self.js(
            "return [document.documentElement.scrollWidth,"
            "[...document.querySelectorAll('.btn,.search,select')].filter(one => {"
            "const r = one.getBoundingClientRect();"
            "return r.width && (r.width < 44 || r.height < 44)}).length]"
        )
        self.assertEqual((wide, small), (390, 0))
        room = self.js("return field.getBoundingClientRect().width")
        self.assertGreater(room, 150)
        self.assertGreater(self.js("return stageHeight()"), 844 / 2)

    def test_a_tap_shows_the_tooltip_and_opens_beside_the_name(self):
        self.js("setOpen([arguments[0]], false, -1)", self.box("layers.0"))
        tap = [("down",), ("up",)]
        self.browser.mouse(("move", *self.place("stem")), *tap, kind="touch")
        self.assertEqual(dict(self.tip())["path"], "stem")
        x, y = self.chevron("layers.0")
        self.browser.mouse(("move", x + 20, y + 5), *tap, kind="touch")
        self.assertTrue(self.is_open("layers.0"))


if __name__ == "__main__":
    unittest.main()
