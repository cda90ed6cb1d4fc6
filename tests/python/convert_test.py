"""convert: the .safetensors file, read by the safetensors package and by torchoscope,
is the state_dict that torch would load; content that cannot be stored is refused."""

import json
import os
import resource
import subprocess
import tempfile
import unittest
from pathlib import Path

import torch
from torch import nn

try:
    from safetensors import safe_open
    from safetensors.torch import load_file, load_model
except ImportError:
    safe_open = None


def bits(tensor):
    return tensor.contiguous().reshape(-1).view(torch.uint8)


class Tied(nn.Module):
    """Ties, a view, a non-persistent buffer, an attribute, a shared module in
    bfloat16."""

    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(7, 4)
        self.body = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4)).to(torch.bfloat16)
        self.again = nn.ModuleList([self.body, nn.Sequential(self.body)])
        self.head = nn.Linear(4, 7, bias=False)
        self.head.weight = self.wte.weight
        self.part = nn.Parameter(torch.randn(6, 8).t()[1:, ::2])
        self.register_buffer("mask", torch.ones(2, 2) > 0, persistent=False)
        self.register_buffer("scale", torch.tensor(0.5, dtype=torch.float64))
        self.plain = torch.ones(3)


@unittest.skipUnless(safe_open, "needs safetensors")
class Convert(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        torch.manual_seed(0)

    def save(self, what, name="x.pth", **options):
        path = self.folder / name
        torch.save(what, path, **options)
        return path

    def convert(self, path, *options, to="out.safetensors"):
        to = self.folder / to
        command = [os.environ["TORCHOSCOPE"], "convert", path, "-o", to, *options]
        return to, subprocess.run(command, capture_output=True, text=True)

    def converted(self, what, *options, **saving):
        to, done = self.convert(self.save(what, **saving), "--json", *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return to, json.loads(done.stdout)

    def refused(self, path, *options):
        to, done = self.convert(path, *options)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertFalse(to.exists())
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr

    def check(self, to, answer, state):
        stored = load_file(to)
        ties = {one["name"]: one["stored"] for one in answer["ties"]}
        self.assertEqual(set(stored) | set(ties), set(state))
        self.assertFalse(set(stored) & set(ties))
        for name, tensor in state.items():
            kept = stored[ties.get(name, name)]
            self.assertEqual(
                (kept.dtype, kept.shape), (tensor.dtype, tensor.shape), name
            )
            self.assertTrue(torch.equal(bits(kept), bits(tensor)), name)
        self.assertEqual(answer["tensors"], len(stored))
        return ties

    def test_a_module_and_its_state_dict(self):
        model = Tied()
        state = model.state_dict()
        for what in (model, state):
            for saving in ({}, {"_use_new_zipfile_serialization": False}):
                with self.subTest(type=type(what).__name__, saving=saving):
                    to, answer = self.converted(what, **saving)
                    ties = self.check(to, answer, state)
                    self.assertEqual(ties["head.weight"], "wte.weight")
                    self.assertEqual(ties["again.1.0.1.bias"], "body.1.bias")
        other = Tied()
        other.part = nn.Parameter(torch.empty(7, 3))  # load_model refuses the view
        self.assertEqual(load_model(other, to), (set(), []))
        for name, tensor in other.state_dict().items():
            self.assertTrue(torch.equal(bits(tensor), bits(state[name])), name)

    def test_a_checkpoint_of_a_training(self):
        model = nn.Linear(3, 2)
        adam = torch.optim.Adam(model.parameters())
        model(torch.ones(1, 3)).sum().backward()
        adam.step()
        saved = {"net": model.state_dict(), "adam": adam.state_dict(), "epoch": 3}
        to, answer = self.converted(saved)
        self.check(to, answer, model.state_dict())
        self.assertEqual(answer["at"], "net")
        self.assertEqual(answer["left_out"], ["adam (6 tensors)", "epoch"])

    def test_a_file_with_several_models_needs_a_name(self):
        one, two = nn.Linear(3, 2), nn.Linear(3, 2)
        path = self.save({"net": one.state_dict(), "ema": two.state_dict()})
        self.assertIn("name one with --at: net, ema", self.refused(path))
        self.assertIn("it has no x; torchoscope tree lists", self.refused(path, "--at", "x"))
        self.assertIn(
            "not a module or state_dict", self.refused(path, "--at", "net.weight")
        )
        to, done = self.convert(path, "--at", "ema", "--json")
        self.check(to, json.loads(done.stdout), two.state_dict())

    def test_every_dtype_that_safetensors_has(self):
        names = "float64 float32 float16 bfloat16 complex64"
        names += " int64 int32 int16 int8 uint8 bool"
        state = {
            name: torch.arange(6).to(getattr(torch, name)).reshape(2, 3)
            for name in names.split()
        }
        state |= {"scalar": torch.tensor(2.5), "empty": torch.zeros(0, 4)}
        state |= {"nan": torch.tensor([float("nan"), -0.0, float("-inf")])}
        for name in ("float8_e4m3fn", "float8_e5m2", "uint16", "uint64"):
            if hasattr(torch, name):
                dtype = getattr(torch, name)
                state[name] = (
                    torch.arange(6, dtype=torch.uint8)
                    .repeat_interleave(torch.empty(0, dtype=dtype).element_size())
                    .view(dtype)
                )
        to, answer = self.converted(state)
        self.check(to, answer, state)

    def test_content_that_safetensors_cannot_store_is_refused(self):
        path = self.save(
            {"a": torch.ones(2).to_sparse(), "b": torch.ones(2, dtype=torch.complex128)}
        )
        said = self.refused(path)
        self.assertIn("cannot store 2 of 2 tensors: a (", said)
        self.assertIn("b (complex128)", said)
        whole = self.save({"weight": torch.ones(1000)}).read_bytes()
        cut = self.folder / "cut.pth"
        cut.write_bytes(whole[:2000])
        self.assertIn("damaged or incomplete", self.refused(cut))
        self.assertIn("no tensor", self.refused(self.save({"epoch": 3})))
        nothing = self.folder / "nothing.pth"
        self.assertIn("No such file", self.refused(nothing))

    def test_a_failed_write_leaves_no_file(self):
        path = self.save({"weight": torch.ones(100_000)})
        limit = (10_000, 10_000)
        to = self.folder / "out.safetensors"
        done = subprocess.run(
            [os.environ["TORCHOSCOPE"], "convert", path, "-o", to],
            capture_output=True,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
            restore_signals=True,
        )
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("File too large", done.stderr)
        self.assertEqual(list(self.folder.iterdir()), [path])

    def test_the_number_of_names_is_limited(self):
        module = nn.Linear(1, 1)
        for _ in range(30):
            module = nn.Sequential(module, module)
        self.assertIn("more than 1,000,000 names", self.refused(self.save(module)))

    def test_the_code_of_a_file_is_not_run(self):
        told = self.folder / "ran"
        path = self.folder / "evil.pth"
        path.write_bytes(b"cposix\nsystem\n(S'touch %s'\ntR." % str(told).encode())
        self.refused(path)
        self.assertFalse(told.exists())

    def test_wrong_arguments(self):
        path = self.save(nn.Linear(2, 2).state_dict())
        _, done = self.convert(path, to="x.json")
        self.assertIn("does not end in .safetensors", done.stderr)
        _, done = self.convert(path, to="x.safetensors")
        again = self.folder / "x.safetensors"
        before = again.read_bytes()
        _, done = self.convert(again, to="x.safetensors")
        self.assertIn("is the file to convert", done.stderr)
        self.assertEqual(again.read_bytes(), before)
        _, done = self.convert(path, to="no/x.safetensors")
        self.assertEqual(done.returncode, 2)

    def test_invalid_names_are_refused(self):
        state = {
            "a b": torch.ones(1),
            "é.ü": torch.ones(2),
            "": torch.ones(3),
            "x..y": torch.ones(4),
        }
        path = self.save(state)
        to, done = self.convert(path, "--json")
        if done.returncode == 0:
            self.check(to, json.loads(done.stdout), state)
        else:
            self.assertIn("cannot store the name", done.stderr)
        self.assertIn(
            "__metadata__", self.refused(self.save({"__metadata__": torch.ones(1)}))
        )

    def test_a_shown_tree_has_the_ties(self):
        to, _ = self.converted(Tied().state_dict())
        command = [
            os.environ["TORCHOSCOPE"],
            "diff",
            self.folder / "x.pth",
            to,
            "--json",
        ]
        found = json.loads(
            subprocess.run(command, capture_output=True, text=True).stdout
        )
        self.assertEqual(found["counts"]["same"], len(Tied().state_dict()))
        with safe_open(to, "pt") as file:
            self.assertEqual(file.metadata()["head.weight"], "wte.weight")


if __name__ == "__main__":
    unittest.main()
