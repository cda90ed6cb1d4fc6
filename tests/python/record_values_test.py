# flavours: both
"""record(): a tensor is measured again whenever it may have changed, even if torch's
version counter did not."""

import unittest

import torch
from torch import nn

import torchoscope

NEW = hasattr(torch, "compiler")
X = torch.linspace(-1, 1, 12).reshape(3, 4)


def fused(kind, parameters, **options):
    """A fused optimizer, or None if this torch has none for the CPU."""
    try:
        return kind(parameters, fused=True, **options)
    except (TypeError, RuntimeError):
        return None


class Parameters(unittest.TestCase):
    def held(self, recording, name, what="mean"):
        rows = [r for r in recording.parameters() if r["name"] == name]
        return [r["stats"][what] for r in rows if not r["gradient"]]

    @unittest.skipUnless(NEW, "this torch does not report optimizer steps")
    def test_fused_optimizers(self):
        tried = 0
        for kind in (
            torch.optim.SGD,
            torch.optim.Adam,
            torch.optim.AdamW,
            torch.optim.Adagrad,
        ):
            torch.manual_seed(0)
            model = nn.Linear(4, 2)
            optimizer = fused(kind, model.parameters(), lr=0.05)
            if optimizer is None:
                continue
            tried += 1
            truth = []
            with torchoscope.record(model) as recording:
                for _ in range(4):
                    optimizer.zero_grad()
                    (model(X + 1) ** 2).sum().backward()
                    truth.append(model.weight.double().norm().item())
                    optimizer.step()
            told = self.held(recording, "weight", "l2")
            self.assertEqual(len(set(truth)), 4)
            self.assertEqual([round(x, 5) for x in told], [round(x, 5) for x in truth])
        self.assertTrue(tried)

    @unittest.skipUnless(NEW, "this torch does not report optimizer steps")
    def test_a_few_rows_of_a_large_parameter(self):
        """A fingerprint may miss them, so parameters are not checked by one."""
        model = nn.Embedding(5000, 16)
        with torch.no_grad():
            model.weight.zero_()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        with torchoscope.record(model) as recording:
            for step in range(3):
                model(torch.tensor([step])).sum().backward()
                model.weight.data[7 + step] = 1.0
                optimizer.step()
        told = self.held(recording, "weight")
        self.assertEqual([round(m * 5000) for m in told], [1, 2, 3])

    @unittest.skipUnless(NEW, "this torch does not report optimizer steps")
    def test_gradients_written_without_a_new_version(self):
        model = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        with torchoscope.record(model) as recording:
            model(X).sum().backward()
            for step in range(3):
                model.weight.grad.data.fill_(step)
                optimizer.step()
        rows = [r for r in recording.parameters() if r["name"] == "weight"]
        self.assertEqual(
            [r["stats"]["mean"] for r in rows if r["gradient"]], [0.0, 1.0, 2.0]
        )


class Takes(nn.Module):
    def forward(self, x):
        return x.sum()


class Arguments(unittest.TestCase):
    def means(self, write, x):
        """The arguments of a module: the same tensor twice, with a write in between."""
        model = Takes()
        with torchoscope.record(model) as recording:
            model(x)
            write(x)
            model(x)
        return [call.inputs[0].mean for call in recording.calls("")]

    def test_written_through_data(self):
        for size in (3, 100, 100000):
            x = torch.zeros(size)
            self.assertEqual(self.means(lambda x: x.data.fill_(2), x), [0, 2])

    def test_written_by_numpy(self):
        x = torch.zeros(40)

        def write(x):
            x.numpy()[39] = 40

        self.assertEqual(self.means(write, x), [0, 1])

    def test_views_that_are_not_dense(self):
        x = torch.zeros(300, 200).t()[::2]
        self.assertEqual(self.means(lambda x: x.data.fill_(3), x), [0, 3])

    def test_complex_and_small_types(self):
        for dtype in (torch.complex128, torch.bfloat16, torch.uint8, torch.float64):
            x = torch.zeros(7, 2, dtype=dtype).t()
            means = self.means(lambda x: x.data.fill_(3), x)
            self.assertEqual(means[0] == means[1], False, dtype)

    def test_running_statistics_that_are_passed_as_arguments(self):
        """BatchNorm writes them without changing the version counter."""

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.norm, self.look = nn.BatchNorm1d(4, momentum=1.0), Takes()

            def forward(self, x):
                self.look(self.norm.running_mean)
                return self.norm(x)

        model = Model()
        with torchoscope.record(model) as recording:
            for n in range(3):
                model(X + n)
        told = [call.inputs[0].mean for call in recording.calls("look")]
        for one, other in zip(told, [0.0, 0.0, 1.0]):
            self.assertAlmostEqual(one, other, places=6)

    def test_tensors_of_inference_mode(self):
        with torch.inference_mode():
            x = torch.zeros(5)

            def write(x):
                x.add_(1)

            self.assertEqual(self.means(write, x), [0, 1])

    def test_an_argument_overwritten_through_data_is_reported(self):
        class Writes(nn.Module):
            def forward(self, x):
                x.data.mul_(2)
                return x + 1

        for x in (torch.ones(4), torch.ones(3000, 5).t()):
            model = Writes()
            with torchoscope.record(model) as recording:
                model(x)
            value = recording.calls("")[0].inputs[0]
            self.assertEqual((value.mean, value.get("replaced")), (1, True))

    def test_unchanged_tensors_are_one_value(self):
        model = nn.Sequential(nn.Identity(), nn.Identity())
        with torchoscope.record(model) as recording:
            model(torch.ones(100000))
        values = {io["value"] for c in recording.json["calls"] for io in c["inputs"]}
        self.assertEqual(len(values), 1)


if __name__ == "__main__":
    unittest.main()
