"""tools/bundle.py: ES modules as one script."""

import shutil
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import bundle  # noqa: E402
from folder import TemporaryFolder  # noqa: E402


class Bundle(TemporaryFolder):
    def bundle(self, *modules, **files):
        for name, text in files.items():
            self.write(f"{name}.js", text)
        places = [
            ":".join([*one.split(":")[:-1], "+".join(
                f"{self.folder}/{file}" for file in one.split(":")[-1].split("+"))])
            for one in modules or [f"{name}.js" for name in files]
        ]
        return bundle.bundle(places)[0]

    def refuses(self, sentence, **files):
        with self.assertRaises(bundle.Refused) as caught:
            self.bundle(**files)
        self.assertIn(sentence, str(caught.exception))

    @unittest.skipUnless(shutil.which("node"), "needs node")
    def prints(self, script, expected):
        done = subprocess.run(["node", "-e", script], capture_output=True, text=True)
        self.assertEqual(done.stderr, "", script)
        self.assertEqual(done.stdout, expected)

    def test_modules_run_in_the_order_of_their_imports(self):
        script = self.bundle(
            app="import {twice as two, ONE} from './lib.js';\nconsole.log(two(ONE));\n",
            lib="export const ONE = 1;\nfunction double(x) { return x * 2; }\n"
            "export {double as twice};\n",
        )
        self.prints(script, "2\n")

    def test_a_module_of_several_files_is_one_scope(self):
        script = self.bundle(
            "graph:a.js+b.js", "app.js",
            a="'use strict';\nconst base = 40;\nlet seen = 0;\n",
            b="function see() { seen += base; }\nsee();\nexport const get = () => seen;\n",
            app="import {get} from './graph.js';\nconsole.log(get() + 2);",
        )
        self.prints(script, "42\n")

    def test_names_of_a_module_are_its_own(self):
        one = "const x = 1;\nexport function one() { return x; }\n"
        two = "const x = 2;\nexport async function two() { return x; }\n"
        app = "import {one} from './one.js'; import {two} from './two.js';\n"
        app += "two().then((x) => console.log(one(), x));\n"
        self.prints(self.bundle(one=one, two=two, app=app), "1 2\n")

    def test_comments_and_blanks_go_but_texts_stay(self):
        text = r"""
/* a comment */ const a = 1; // 'not a string
const url = 'http://x // y', quoted = "/* z */ \" '";
const both = `keeps   ${a + `in ${ {b: 2}.b } // ` } /* this */
   line`;
const re = /[/"'`]\/\/ {2}/g, half = 4 / 2 / 1;
let i = 3;
const k = i++ / 2;
if (a) /x'y/.test('');
const z = a + +k - -i, w = typeof a, v = 1
const after = [1, 2]
;[3].forEach(() => 0)
console.log(url, quoted, both, re.source, half, k, z, w, v, after.length, 'a' in {a});
"""
        plain = subprocess.run(["node", "-e", text], capture_output=True, text=True).stdout
        script = bundle.strip_script(text)
        self.assertLess(len(script), len(text) - 60)
        self.assertNotIn("a comment", script)
        self.prints(script, plain)

    def test_what_cannot_be_bundled_is_refused(self):
        self.refuses("app.js:2: lib.js has no export b",
                     app="\nimport {b} from './lib.js';", lib="export const a = 1;")
        self.refuses("app.js:1: nolib.js is not in the list",
                     app="import {b} from './nolib.js';")
        self.refuses("import each other: one -> two -> one",
                     one="import {b} from './two.js'; export const a = 1;",
                     two="import {a} from './one.js'; export const b = 1;")
        self.refuses("no default exports", app="export default 1;")
        self.refuses("only named imports", app="import a from './lib.js';")
        self.refuses("dynamic import", app="function f() { return import('./lib.js'); }")
        self.refuses("binding never changes", app="export let a = 1;")
        self.refuses("one name with each const", app="export const a = 1, b = 2;")
        self.refuses("only ./name.js", app="import {a} from 'react';")
        self.refuses("await at the top", app="await 1;")
        self.refuses("a string does not end", app="const a = 'x\n';")
        self.refuses("( is never closed", app="f(1;\n")

    def test_styles_keep_their_strings(self):
        css = '/* x */\na > b,\nc::after {\n  content: "{ ; }  /* */";\n  color: red;\n}\n'
        expected = 'a>b,c::after{content: "{ ; }  /* */";color: red}\n'
        self.assertEqual(bundle.strip_style(css), expected)


if __name__ == "__main__":
    unittest.main()
