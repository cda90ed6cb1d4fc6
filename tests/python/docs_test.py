"""docs/python.md and the docstrings: every public name is described; examples run."""

import contextlib
import inspect
import io
import os
import re
import unittest
from pathlib import Path

import torch

import torchoscope
from folder import TemporaryFolder
from torchoscope.compat import model_analysis, rp, torch_vis

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/python.md").read_text()
SIGNATURES = ("record", "serve", "watch", "trace", "summary", "memory", "diff", "replay")


def members(kind):
    """The public names that torchoscope defines."""
    for name in dir(kind):
        one = inspect.getattr_static(kind, name)
        if not name.startswith("_") and isinstance(one, (property, type(members))):
            yield name, one


class Docstrings(unittest.TestCase):
    def test_every_public_name_has_a_docstring(self):
        lack = []
        for module in (torchoscope, rp, model_analysis, torch_vis):
            for name in module.__all__:
                one = getattr(module, name)
                if not inspect.getdoc(one):
                    lack.append(name)
                if inspect.isclass(one):
                    found = members(one)
                    lack += [f"{name}.{key}" for key, m in found if not m.__doc__]
        self.assertEqual(lack, [])


class Page(TemporaryFolder):
    def test_every_public_name_and_member_is_on_the_page(self):
        lack = []
        for module in (torchoscope, rp, model_analysis, torch_vis):
            for name in module.__all__:
                if not re.search(rf"\b{name}\b", PAGE):
                    lack.append(name)
        for kind in (getattr(torchoscope, name) for name in torchoscope.__all__):
            for name, _ in members(kind) if inspect.isclass(kind) else ():
                if not re.search(rf"`[^`\n]*\b{name}\b[^`\n]*`", PAGE):
                    lack.append(f"{kind.__name__}.{name}")
        for kind in (torchoscope.Call, torchoscope.Value, torchoscope.Tensor):
            lack += [name for name in kind._known if f"`{name}`" not in PAGE]
        self.assertEqual(lack, [])

    def test_arguments_and_defaults_are_those_of_the_code(self):
        for function in (getattr(torchoscope, name) for name in SIGNATURES):
            shown = re.search(rf"^{function.__name__}\((.+?)\)$", PAGE, re.M | re.S)[1]
            words = [one for one in re.split(r",\s*", shown) if one != "*"]
            parameters = inspect.signature(function).parameters.values()
            wanted = ", ".join(str(one).replace("'", '"') for one in parameters)
            self.assertEqual(words, wanted.split(", "))

    def test_lines_are_no_longer_than_88(self):
        free = ("|", "torchoscope: ")  # tables and quoted output
        lines = [line for line in PAGE.splitlines() if not line.startswith(free)]
        self.assertEqual([line for line in lines if len(line) > 88], [])

    def test_links_lead_to_headings(self):
        heads = re.findall(r"^#+ (.+)$", PAGE, re.M)
        heads = [re.sub(r"[^\w -]", "", head).lower() for head in heads]
        anchors = {head.replace(" ", "-") for head in heads}
        self.assertLessEqual(set(re.findall(r"\(#([^)]+)\)", PAGE)), anchors)

    @unittest.skipIf(torch.__version__.startswith("1."), "some need a newer torch")
    def test_its_examples_run_in_order(self):
        blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)
        examples = [one for one in blocks if one.partition("(")[0] not in SIGNATURES]
        self.assertGreater(len(examples), 5)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        names = {"__name__": "page"}
        with contextlib.redirect_stdout(io.StringIO()):
            for example in examples:
                exec(example, names)
        self.assertTrue(Path("run.scope").exists())


if __name__ == "__main__":
    unittest.main()
