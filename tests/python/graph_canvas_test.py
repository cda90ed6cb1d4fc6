"""The page of a large network, which is painted on a canvas."""

import unittest

import torch
from torch import nn

import graph_pages
import torchoscope


class Painted(graph_pages.PageTest):
    def test_many_boxes_are_painted_and_work_the_same(self):
        self.show("long")
        self.assertTrue(self.js("return scene.painted && scene.nodes.length > 2000"))
        first, second = self.js(
            "return [scene.frames[1], scene.frames[2]].map(idOf)"
        )
        self.select(first)
        self.browser.press("z")
        self.assertFalse(self.is_open(first))
        label = self.js(
            "const id = stage.getAttribute('aria-activedescendant');"
            "return document.getElementById(id).getAttribute('aria-label')"
        )
        self.assertTrue(label.endswith("folded"), label)
        self.browser.press("Down", "Down")
        self.assertEqual(self.current().split(":")[0], "op")
        self.browser.click(*self.chevron(first))
        self.painted()
        self.assertTrue(self.is_open(first))
        self.browser.press("/", *"tanh", "Enter")
        self.assertRegex(self.text(".found"), r"^1 of [\d,]+$")
        self.browser.press("Escape", "Z")
        self.assertFalse(self.js("return scene.painted"))

    def pixel(self, x, y):
        return self.js(
            "paint(); const one = document.createElement('canvas').getContext('2d');"
            "one.drawImage(canvas, -arguments[0], -arguments[1]);"
            "return [...one.getImageData(0, 0, 1, 1).data].slice(0, 3)",
            round(x),
            round(y),
        )

    def test_the_canvas_has_the_colours_of_the_theme_and_of_paper(self):
        self.show("long")
        self.browser.prefer("dark", "reduce")
        self.browser.wait("return paints.surface.trim() === '#181B20'")
        self.assertEqual(self.pixel(2, 2), [24, 27, 32])
        self.js("dispatchEvent(new Event('beforeprint'))")
        self.assertEqual(self.pixel(2, 2), [255, 255, 255])
        self.js("dispatchEvent(new Event('afterprint'))")
        self.assertEqual(self.pixel(2, 2), [24, 27, 32])

    def test_far_away_boxes_keep_their_colour_and_dim(self):
        self.show("long")
        self.js("hover(-1)")
        for zoom in (0.3, 0.08):
            self.js(
                "const b = scene.nodes[9]; view.zoom = arguments[0];"
                "view.x = box.x[b] - 300 / view.zoom;"
                "view.y = box.y[b] - 200 / view.zoom",
                zoom,
            )
            at = self.js(
                "const b = scene.nodes[9], p = toStage(box.x[b] + box.w[b] / 2,"
                "box.y[b] + box.h[b] / 2); return [p.x, p.y]"
            )
            solid = self.js(
                "const hex = paints[coloursOf(scene.nodes[9]).solid].trim().slice(1);"
                "return [0, 2, 4].map(i => parseInt(hex.slice(i, i + 2), 16))"
            )
            self.assertEqual(self.pixel(*at), solid)
            self.js("hover(scene.nodes[2000])")
            dimmed = self.pixel(*at)
            self.js("hover(-1)")
            self.assertTrue(all(a > b for a, b in zip(dimmed, solid, strict=True)))


if __name__ == "__main__":
    unittest.main()
