"""tools/embed.py: bundles modules and styles, and writes texts as C."""

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import embed  # noqa: E402
from folder import TemporaryFolder  # noqa: E402
from page_server import tokens  # noqa: E402

PAGE, PICTURE = ROOT / "src/page", ROOT / "src/export/picture"
ENTRIES = [PAGE / "app.js", PAGE / "page_styles.css"]
ENTRIES += [PICTURE / "graph_page.js", PICTURE / "graph_page.css"]


class Sources(unittest.TestCase):
    def test_every_module_and_style_is_imported(self):
        found = set()
        for entry in ENTRIES:
            found |= {Path(path).resolve() for path in embed.bundle(entry)[1]}
        for folder in PAGE, PICTURE:
            there = {*folder.glob("*.js"), *folder.glob("*.css")}
            self.assertGreater(len(there), 20)
            self.assertEqual(sorted(there - found), [])


    def test_the_page_is_small(self):
        """All bytes that a browser reads up to the first view, uncompressed: the page,
        its
style with the colours, both scripts; and the third one, for other views."""
        parts = {name: len(text.encode()) for name, text in
                 embed.split(PAGE / "app.js")[0].items()}
        style = tokens() + embed.bundle(PAGE / "page_styles.css")[0]
        page = len((PAGE / "index.html").read_bytes()) + len(style.encode())
        self.assertLess(page + parts["page"] + parts["chunk"], 250_000)
        self.assertLess(parts["more"], 60_000)

    def test_the_first_script_has_no_view_of_the_second(self):
        read = {}
        with tempfile.TemporaryDirectory() as folder:
            told = Path(folder, "told")
            embed.esbuild(PAGE / "app.js", folder, [
                "--format=esm", "--splitting", f"--outdir={folder}", "--chunk-names=[name]"])
            for path, made in json.loads(told.read_text())["outputs"].items():
                read[Path(path).name] = {Path(one).name for one in made["inputs"]}
        views = {"compare.js", "curves.js", "details.js", "safety.js", "timeline.js"}
        self.assertLess(views, read["more.js"])
        self.assertFalse(views & (read["app.js"] | read["chunk.js"]))


class Embed(TemporaryFolder):
    def path(self, name, text):
        self.write(name, text)
        return self.folder / name

    def refuses(self, sentence, **files):
        for name, text in files.items():
            self.write(f"{name}.js", text)
        with self.assertRaises(embed.Refused) as caught:
            embed.bundle(self.folder / "app.js")
        for part in "app.js was not bundled", *sentence.split(" ... "):
            self.assertIn(part, str(caught.exception))

    def test_an_error_in_a_script_is_reported_with_its_line(self):
        self.refuses('No matching export in ... for import "b" ... app.js:2:8',
                     app="\nimport {b} from './lib.js';\nb();", lib="export const a = 1;")
        self.refuses('Could not resolve "./none.js" ... app.js:1:', app="import './none.js';")
        self.refuses("Unterminated string ... app.js:1:", app="const a = 'x\n';")
        self.refuses('Cannot assign to import "a"', lib="export let a = 1;",
                     app="import {a} from './lib.js';\na = 2;")

    def test_an_unsupported_style_is_refused(self):
        style = self.path("one.css", "a{b:c}\n}d{e:f}\n")
        with self.assertRaises(embed.Refused) as caught:
            embed.bundle(style)
        self.assertIn("one.css:2:", str(caught.exception))

    def test_the_build_fails_with_the_same_message(self):
        entry = self.path("app.js", "import {b} from './lib.js';\nb();")
        self.write("lib.js", "export const a = 1;")
        output = self.folder / "text.h"
        done = subprocess.run(
            [sys.executable, ROOT / "tools/embed.py", f"--depfile={output}.d", output,
             f"script:page={entry}"], capture_output=True, text=True,
        )
        self.assertEqual(done.returncode, 1)
        self.assertIn("No matching export", done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        self.assertFalse(output.exists())

    def compiled(self, compiler, text):
        """Compile a C program with the embedded text; the text that it prints."""
        source = self.path("text.txt", text)
        header, program = self.folder / "text.h", self.folder / "program"
        subprocess.run(
            [sys.executable, ROOT / "tools/embed.py", f"--depfile={header}.d", header,
             f"text={source}"], check=True,
        )
        self.assertEqual(Path(f"{header}.d").read_text(), f"{header}: {source}\n")
        main = self.path("main.c", '#include <stdio.h>\n#include "text.h"\n'
                          "int main(void){return fwrite(text, 1, sizeof text - 1, stdout)"
                          " != sizeof text - 1;}\n")
        subprocess.run([compiler, "-std=gnu11", "-trigraphs", "-Wall", "-Wextra", "-Werror",
                        main, "-o", program], check=True)
        return subprocess.run([program], capture_output=True, check=True).stdout.decode()

    def test_embedded_text_compiles_and_is_unchanged(self):
        odd = 'a "quoted" \\ back\tslash ??/ ??( \u2013 \U0001f525 \u00e99 %s\n\n'
        text = odd + "x" * 5000 + odd.replace("\n", "") * 3000
        for compiler in "gcc", "clang":
            with self.subTest(compiler):
                if not shutil.which(compiler):
                    self.skipTest(f"needs {compiler}")
                self.assertEqual(self.compiled(compiler, text), text)


if __name__ == "__main__":
    unittest.main()
