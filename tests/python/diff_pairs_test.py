"""diff: typical pairs of files. The text and the JSON must be true, and the printed
Python must do what the rows say."""

import unittest

import scope  # first: it knows where the program is
import torch
from torch import nn

from diff_test import Pair


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return torch.sigmoid(self.linear(x))


def small(x: torch.Tensor) -> torch.Tensor:
    return torch.cos(x)


def smaller(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(x)


class Relu(nn.Module):
    def __init__(self, scale=1.5):
        super().__init__()
        self.inner = Inner()
        self.scale = scale

    def forward(self, x):
        return torch.relu(self.inner(x)) * self.scale


class Tanh(Relu):
    def forward(self, x):
        return torch.tanh(self.inner(x)) * self.scale


class Script(Pair):
    """TorchScript: its code is part of the model."""

    def script(self, name, module, code=None):
        """Save a scripted module; the state is always the same."""
        torch.manual_seed(0)
        for value in module.parameters():
            nn.init.normal_(value)
        path = self.folder / name
        torch.jit.script(module).save(str(path))
        return path

    def facts(self, document):
        return {(fact["kind"], fact["name"]) for fact in document["others"]}

    def test_a_changed_function_in_forward_is_found(self):
        Tanh.__name__ = Tanh.__qualname__ = "Relu"
        left, right = self.script("a.pt", Relu()), self.script("b.pt", Tanh())
        document, text = self.diff(left, right)
        self.assertFalse(document["equal"])
        self.assertEqual(document["counts"]["same"], 2)
        self.assertEqual(self.facts(document), {("code", "")})
        (fact,) = document["others"]
        self.assertIn("torch.relu(", fact["left"])
        self.assertIn("torch.tanh(", fact["right"])
        self.assertIn("~ (root) code: ", text)
        self.assertIn("the code of 1 module differs.", text)
        self.assertNotIn("are the same", text)

    def test_the_same_model_scripted_twice_under_other_numbers(self):
        left, right = self.script("a.pt", Relu()), self.script("b.pt", Relu())
        torch.jit.script(Inner())
        again = torch.jit.trace(Relu(), torch.zeros(1, 4))
        again.save(str(self.folder / "c.pt"))
        again = torch.jit.trace(Relu(), torch.zeros(1, 4))
        again.save(str(self.folder / "d.pt"))
        document, _ = self.diff(left, right)
        self.assertTrue(document["equal"])
        document, _ = self.diff(self.folder / "c.pt", self.folder / "d.pt", "--structure")
        self.assertTrue(document["equal"], document["others"])

    def test_a_changed_function_that_a_module_calls_is_found(self):
        def make(function):
            class Calls(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.linear = nn.Linear(4, 4)

                def forward(self, x):
                    return function(self.linear(x))

            return Calls()

        smaller.__name__ = smaller.__qualname__ = "small"
        left = self.script("a.pt", make(small))
        right = self.script("b.pt", make(smaller))
        document, text = self.diff(left, right)
        self.assertEqual(self.facts(document), {("code", "")})
        self.assertNotIn("left", document["others"][0])
        self.assertIn("code of functions that it calls", text)

    def test_a_changed_attribute_of_the_root_is_found(self):
        left, right = self.script("a.pt", Relu(1.5)), self.script("b.pt", Relu(2.5))
        document, text = self.diff(left, right)
        self.assertEqual(self.facts(document), {("args", "")})
        self.assertIn("scale 1.5 → 2.5", text)

    def test_a_script_equals_its_own_state_dict(self):
        module = Relu()
        document, _ = self.diff(self.script("a.pt", module), module.state_dict())
        self.assertTrue(document["equal"])


def network():
    return nn.Sequential(
        nn.Linear(32, 64), nn.LayerNorm(64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(),
        nn.Linear(64, 10),
    )


def convolutions():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3),
        nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(32, 10),
    )


def seeded(make, seed):
    torch.manual_seed(seed)
    return make()


def learn_by_heart(model, shape, steps, **options):
    """Train on random labels with large steps, far away from the start."""
    torch.set_num_threads(1)
    torch.manual_seed(5)
    inputs, labels = torch.randn(256, *shape), torch.randint(0, 10, (256,))
    optimizer = torch.optim.AdamW(model.parameters(), **options)
    for _ in range(steps):
        some = torch.randint(0, 256, (64,))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs[some]), labels[some]).backward()
        optimizer.step()
    return model


class Related(Pair):
    """Trained values against unrelated values."""

    def check(self, left, right, fate, words):
        document, text = self.diff(left.state_dict(), right.state_dict())
        fates = set(self.fates(document).values())
        self.assertEqual(fates - {"same"}, {fate}, document["parts"])
        self.assertIn(words, text)
        self.assertEqual("unrelated" in text, fate == "unrelated", text)
        return document

    def test_trained_far_away_is_trained(self):
        for make, shape in ((network, (32,)), (convolutions, (1, 7, 7))):
            for lr, steps in ((1e-3, 10), (1e-2, 400)):
                start = seeded(make, 0)
                end = learn_by_heart(seeded(make, 0), shape, steps, lr=lr)
                document = self.check(start, end, "trained", "Everything was trained.")
                self.assertGreater(document["parts"][0]["rel"], 1 if steps > 10 else 0)

    def test_another_seed_is_unrelated(self):
        for make, shape in ((network, (32,)), (convolutions, (1, 7, 7))):
            one, two = seeded(make, 0), seeded(make, 1)
            self.check(one, two, "unrelated", " have unrelated values.")
            two = learn_by_heart(two, shape, 100, lr=1e-3)
            self.check(one, two, "unrelated", "Everything has unrelated values.")

    def test_small_tensors_are_judged_together(self):
        def tiny():
            return nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 10))

        one = seeded(tiny, 0)
        for seed in range(1, 5):
            two = seeded(tiny, seed)
            self.check(one, two, "unrelated", "Everything has unrelated values.")
        end = learn_by_heart(seeded(tiny, 0), (8,), 200, lr=1e-3)
        self.check(one, end, "trained", "Everything was trained.")

    def test_a_reinitialised_layer_is_found(self):
        start = seeded(network, 0)
        end = learn_by_heart(seeded(network, 0), (32,), 50, lr=1e-3)
        torch.manual_seed(9)
        end[3].reset_parameters()
        document, text = self.diff(start.state_dict(), end.state_dict())
        fates = self.fates(document)
        self.assertEqual(fates.pop("3"), "unrelated")
        self.assertEqual(set(fates.values()), {"trained"})
        self.assertIn("3 has unrelated values", text)
        (row,) = [line for line in text.splitlines() if line.startswith("~ 3 ")]
        self.assertIn(", unrelated values", row)

    def test_correlation_is_that_of_numpy(self):
        torch.manual_seed(0)
        left = torch.randn(40, 50, dtype=torch.float64) + 3
        right = left * 0.5 + torch.randn(40, 50, dtype=torch.float64)
        left[3, 4] = float("nan")
        document, _ = self.diff({"a": left}, {"a": right})
        finite = left.isfinite()
        expected = torch.corrcoef(torch.stack([left[finite], right[finite]]))[0, 1]
        (tensor,) = document["tensors"]
        self.assertAlmostEqual(tensor["correlation"], expected.item(), places=9)
        document, _ = self.diff({"a": torch.zeros(9)}, {"a": torch.randn(9)})
        self.assertNotIn("correlation", document["tensors"][0])


class Quantised(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant = torch.quantization.QuantStub()
        self.conv = nn.Conv2d(3, 8, 3)
        self.bn = nn.BatchNorm2d(8)
        self.fc = nn.Linear(8, 4)
        self.dequant = torch.quantization.DeQuantStub()

    def forward(self, x):
        x = self.bn(self.conv(self.quant(x))).mean((2, 3))
        return self.dequant(self.fc(x))


class Load(Pair):
    """If one state does not load as the other, the text says so and prints no Python
    that
would fail."""

    def check(self, left, right):
        document, text = self.diff(left, right)
        self.assertFalse(document["loads"])
        self.assertNotEqual(sum(document["load"].values()), 0)
        self.assertNotIn("buffers only: \n", text)
        for line in text.splitlines():  # names as in the file
            if line.startswith("- "):
                self.assertIn(line.split()[1].split("-")[0], " ".join(left), text)
        return document, text

    def test_dynamically_quantised(self):
        engine = torch.backends.quantized.supported_engines[-1]
        torch.backends.quantized.engine = engine
        model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4))
        right = torch.quantization.quantize_dynamic(model, {nn.Linear}).state_dict()
        document, text = self.check(model.state_dict(), right)
        self.assertGreater(document["load"]["packed"], 0)
        self.assertIsNone(document["python"])
        self.assertNotIn("state = ", text)
        self.assertIn("left.pth does not load where right.pth is expected", text)
        self.assertIn("quantised or packed", text)

    def test_statically_quantised(self):
        engine = "fbgemm"
        if engine not in torch.backends.quantized.supported_engines:
            self.skipTest("no fbgemm")
        torch.backends.quantized.engine = engine
        model = Quantised().eval()
        left = model.state_dict()
        model.qconfig = torch.quantization.get_default_qconfig(engine)
        fused = torch.quantization.fuse_modules(model, [["conv", "bn"]])
        prepared = torch.quantization.prepare(fused)
        prepared(torch.randn(4, 3, 8, 8))
        observed = prepared.state_dict()
        right = torch.quantization.convert(prepared).state_dict()
        for state in (left, observed):
            document, text = self.check(state, right)
            self.assertIsNone(document["python"])
            self.assertIn("quantised or packed", text)

    def test_missing_keys_are_named(self):
        left = {"a.weight": torch.ones(2), "b.weight": torch.ones(3)}
        right = {"a.weight": torch.ones(2), "c.weight": torch.ones(4)}
        document, text = self.check(left, right)
        self.assertEqual(document["load"]["missing"], 1)
        self.assertEqual(document["load"]["unexpected"], 1)
        self.assertIn("1 key missing, 1 unexpected", text)


class Shared(nn.Module):
    """One layer under three names, one tied weight."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = self.a
        self.blocks = nn.ModuleList([self.a, nn.Linear(4, 2)])
        self.embed = nn.Embedding(10, 4)
        self.head = nn.Linear(4, 10, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, x):
        return self.blocks[1](self.b(self.a(x)))


class Names(Pair):
    """A shared module is found and compared by each of its names."""

    def test_a_module_against_its_own_state_dict(self):
        model = Shared()
        whole = self.save("whole.pt", model)
        for state in (model.state_dict(), {k: v.clone() for k, v in model.state_dict().items()}):
            for pair in ((whole, state), (state, whole)):
                document, text = self.diff(*pair)
                self.assertTrue(document["loads"], text)
                self.assertEqual(document["counts"]["only_left"], 0)
                self.assertEqual(document["counts"]["only_right"], 0)
                self.assertEqual(document["counts"]["renamed"], 0)

    def test_trained_by_all_names(self):
        model = Shared()
        whole = self.save("whole.pt", model)
        with torch.no_grad():
            model.a.weight.add_(0.01)
        document, _ = self.diff(whole, model.state_dict())
        self.assertEqual(
            self.states(document), {"changed": {"a.weight", "b.weight", "blocks.0.weight"}}
        )

    def test_show_finds_every_name(self):
        whole = self.save("whole.pt", Shared())
        first = scope.run("show", whole, "a.weight").stdout
        self.assertIn(b"4\xc3\x974", first)
        for name in ("b.weight", "blocks.0.weight"):
            said = scope.run("show", whole, name)
            self.assertEqual((said.returncode, said.stdout), (0, first), said.stderr)
        said = scope.run("show", whole, "b.no_such")
        self.assertEqual(said.returncode, 2)

    def test_python_compares_every_name(self):
        import torchoscope

        model = Shared()
        live = torchoscope.open(model)
        for name in ("a.weight", "b.weight", "blocks.0.weight", "head.weight"):
            self.assertEqual(tuple(live[name].shape), tuple(model.get_parameter(name).shape))


if __name__ == "__main__":
    unittest.main()
