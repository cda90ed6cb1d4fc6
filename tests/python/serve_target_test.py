"""torchoscope serve model.py::make: live models and files, from the shell."""

import signal
import subprocess
import sys
import unittest

import scope
import serve_test

MODEL = """
import torch

print("made")

class Net(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.head = torch.nn.Linear(4, width)
        self.notes = {"author": "me"}

    def forward(self, x):
        return self.head(x).relu()

def make(width=3):
    torch.manual_seed(0)
    return Net(width)
"""


class Targets(serve_test.Serving):
    def setUp(self):
        super().setUp()
        (self.folder / "model.py").write_text(MODEL)
        self.target = f"{self.folder}/model.py::make"

    def open(self, *words):
        return self.serve(*words, TORCHOSCOPE_PYTHON=sys.executable)

    def test_a_pass_and_the_live_model_beside_a_file(self):
        path = serve_test.weights(self.folder / "a.safetensors")
        server = self.open(self.target, path, "--inputs", "2x4")
        live, file = server.document("api/shelf")["files"]
        self.assertEqual(live["name"], self.target)
        self.assertEqual(live["params"], 15)
        self.assertLessEqual({"graph", "ops", "calls"}, set(live["has"]))
        self.assertEqual(file["name"], "a.safetensors")
        where = f"file={live['file']}"
        self.assertIn('"head"', server.ask(f"api/graph?{where}").text)
        found = server.document(f"api/attributes?{where}&place=0")["attributes"]
        self.assertIn("dict with 1 key", {one["text"] for one in found})
        shown = server.document(f"api/show?{where}&name=head.weight&bins=4")
        self.assertEqual(sum(shown["tensor"]["histogram"]["bins"]), 12)
        status, said = server.end(signal.SIGTERM)
        self.assertEqual(status, 0)
        self.assertIn("made", said)

    def test_a_model_without_inputs_is_served_without_a_run(self):
        server = self.open(f"{self.target}(5)")
        (live,) = server.document("api/shelf")["files"]
        self.assertEqual(live["params"], 25)
        self.assertNotIn("calls", live["has"])
        status, said = server.end()
        self.assertEqual(status, 0)
        self.assertIn("Net.forward takes (x), which --inputs can give", said)

    def test_a_pass_that_raises_is_reported_and_served_up_to_the_error(self):
        server = self.open(self.target, "--inputs", "2x7")
        (live,) = server.document("api/shelf")["files"]
        self.assertIn("calls", live["has"])
        self.assertIn("RuntimeError: mat1 and mat2", server.end()[1])

    def test_wrong_arguments_give_a_clear_error(self):
        cases = [
            ([f"{self.target}x"], "there is no 'makex'"),
            ([self.target, "nowhere.pth"], "nowhere.pth: No such file or directory"),
            ([self.target, "--port", "70000"], "--port is a number from 0 to 65535"),
            ([self.target, "--json"], "--json and --csv are not supported"),
            ([f"{self.folder}/model.py"], "model.py::FUNCTION"),
            ([self.folder, "--inputs", "2x4"], "a file, which is not run"),
        ]
        for words, sentence in cases:
            command = [sys.executable, "-m", "torchoscope", "serve", *map(str, words)]
            with self.subTest(words[-1]):
                done = subprocess.run(
                    command, capture_output=True, text=True, timeout=scope.PATIENCE
                )
                self.assertEqual(done.returncode, 2)
                self.assertIn(sentence, done.stderr.splitlines()[-1])


if __name__ == "__main__":
    unittest.main()
