"""The page's script places boxes and lines exactly like the C code."""

import json
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

PLACES = ROOT / "build/c/tests/picture/places"


def pixels():
    """plan_pixels of layout/place.c, with the names of the script."""
    text = (ROOT / "src/layout/place.c").read_text()
    table = re.search(r"plan_pixels = \{(.*?)\};", text, re.S)[1]
    style = dict(re.findall(r"\.(\w+) = (\d+)", table))
    camel = {
        re.sub(r"_(\w)", lambda part: part[1].upper(), name): int(value)
        for name, value in style.items()
    }
    return json.dumps(camel)


@unittest.skipUnless(shutil.which("node"), "needs node")
@unittest.skipUnless(PLACES.exists(), "needs build/c")
class Place(unittest.TestCase):
    def agree(self, seed, count, boxes):
        graphs = subprocess.run(
            [PLACES, str(seed), str(count), str(boxes)], capture_output=True, check=True
        )
        twin = Path(__file__).with_name("place_twin.js")
        script, _ = embed.bundle(twin, ["--platform=node", "--format=cjs"])
        with tempfile.NamedTemporaryFile("w", suffix=".js") as file:
            file.write(script)
            file.flush()
            done = subprocess.run(
                ["node", file.name, pixels()], input=graphs.stdout, capture_output=True
            )
        said = done.stdout.decode() + done.stderr.decode()
        self.assertEqual(done.returncode, 0, said)
        self.assertRegex(said, rf"^{3 * count} states, [1-9]\d* lines agree")

    def test_small_graphs(self):
        self.agree(1, 300, 12)

    def test_nested_graphs_with_long_lines(self):
        self.agree(1000, 150, 60)

    def test_large_graphs(self):
        self.agree(5000, 6, 1500)


if __name__ == "__main__":
    unittest.main()
