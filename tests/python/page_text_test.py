"""text.js of the page agrees with src/text/number.c: with the golden vectors of its test,
and with printf for many values."""

import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import embed  # noqa: E402

ASK = """
const fs = require('fs');
const {name, values} = JSON.parse(fs.readFileSync(0, 'utf8'));
const numbers = values.map((one) => typeof one === 'string' ? Number(one) : one);
console.log(JSON.stringify(numbers.map((one) => text[name](...[one].flat()))));
"""
NAMES = {"count": "count", "flops": "flops", "bytes": "bytes", "commas": "commas"}
NAMES |= {"real": "short", "real_long": "long", "time": "time"}


def number(text):
    """A constant of C: UINT64_C(1) << 40, 8 << 20, INFINITY, 1e-3."""
    text = re.sub(r"UINT64_C\((\w+)\)", r"\1", text.strip())
    text = text.replace("UINT64_MAX", str((1 << 64) - 1))
    text = text.replace("INFINITY", "float('inf')").replace("NAN", "float('nan')")
    return eval(text)


def vectors(name):
    """(value, text) of the tables and lines in number_test.c that call text_NAME."""
    test = (ROOT / "src/text/number_test.c").read_text()
    test = re.sub(r"/\*.*?\*/", "", test, flags=re.S)
    found = []
    for body in re.findall(r"^TEST\(.*?^}", test, re.S | re.M):
        if re.search(rf"\btext_{name}\(&text, golden\[i\]\.\w+\)", body):
            pairs = re.findall(r"\{([^{}\"]+), \"([^\"]*)\"\}", body)
            found += [(number(value), text) for value, text in pairs]
        lines = rf"\btext_{name}\(&text, ([^;\[]+)\);\s*CHECK_STR\(made\(\), \"([^\"]*)\"\)"
        for value, text in re.findall(lines, body):
            if re.fullmatch(r"[-+\w.() <]+", value) and not re.search(r"\bi\b", value):
                found.append((number(value), text))
    return found


@unittest.skipUnless(shutil.which("node"), "needs node")
class Text(unittest.TestCase):
    def answers(self, name, values):
        words = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}
        texts = [words.get(str(value), value) for value in values]
        path = ROOT / "src/page/text.js"
        script = embed.bundle(path, ["--format=iife", "--global-name=text"])[0] + ASK
        with tempfile.NamedTemporaryFile("w", suffix=".js") as file:
            file.write(script)
            file.flush()
            asked = json.dumps({"name": name, "values": texts})
            done = subprocess.run(["node", file.name], input=asked, text=True,
                                  capture_output=True)
        self.assertEqual(done.stderr, "")
        return json.loads(done.stdout)

    def agree(self, name, pairs):
        answers = self.answers(name, [value for value, _ in pairs])
        for (value, text), answer in zip(pairs, answers):
            with self.subTest(name=name, value=value):
                if text.startswith("-"):
                    text = "\u2212" + text[1:]
                self.assertEqual(answer, text)

    def test_golden_vectors(self):
        for name, twin in NAMES.items():
            pairs = vectors(name)
            self.assertGreaterEqual(len(pairs), 2, name)
            if name in ("commas", "count"):  # a number of JavaScript has 53 bits
                pairs = [(value, text) for value, text in pairs if value < 1 << 53]
            if name == "time":
                pairs = [(value * 1e9, text) for value, text in pairs]
            self.agree(twin, pairs)

    def test_reals_agree_with_printf(self):
        dice = random.Random(1)
        values = [dice.uniform(-1, 1) * 10 ** dice.randint(-12, 12) for _ in range(4000)]
        values += [n / 2 for n in range(9990, 20100)] + [n / 16 for n in range(1, 999)]
        values += [5e-324, 1.7976931348623157e308, 0.0, -0.0, 123456.5, 1234.5, 12345.5]
        self.agree("short", [(v, "%.4g" % v) for v in values])
        self.agree("long", [(v, "%.6g" % v) for v in values])

    def test_counts_agree_with_printf(self):
        values = list(range(1000, 3000000, 577)) + [1250, 1350, 12250, 1250000]
        pairs = [(n, "%.1f%s" % ((n / 1e3, "K") if n < 1e6 else (n / 1e6, "M")))
                 for n in values]
        self.agree("count", pairs)

    def test_shares_and_unknown_values(self):
        self.assertEqual(self.answers("share", [[1, 3], [995, 1000], [0, 0], [2, 1]]),
                         ["33%", "100%", "0%", "100%"])
        self.assertEqual(self.answers("short", [float("-inf")]), ["\u2212Inf"])


if __name__ == "__main__":
    unittest.main()
