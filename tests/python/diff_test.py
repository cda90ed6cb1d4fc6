"""diff: pairs of models with a known change. The diff must report it in JSON, in words
and by its exit status. If names were changed, the Python that it prints must make
load_state_dict(strict=True) pass, in a model that then computes what the first one
did."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import scope  # first: it knows where hostile is
import hostile
import torch
from torch import nn

from diff_models import (
    copy,
    images,
    renamed,
    resnet,
    trained,
    transformer,
    words,
)

try:
    from safetensors.torch import save_file
except ImportError:
    save_file = None

MEMBERS = (
    "torchoscope kind left right equal values complete rtol atol counts sentence parts "
    "tensors joins others rules errors loads load python"
).split()
COUNTS = (
    "tensors same close changed retyped reshaped only_left only_right joined unread "
    "renamed"
).split()


class Pair(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        torch.manual_seed(0)

    def save(self, name, what, **options):
        path = self.folder / name
        torch.save(what, path, **options)
        return path

    def diff(self, left, right, *options):
        """(JSON, text) of two files or state_dicts, which must agree."""
        if not isinstance(left, Path):
            left = self.save("left.pth", left)
        if not isinstance(right, Path):
            right = self.save("right.pth", right)
        done = scope.run("diff", left, right, "--json", *options)
        said = scope.run("diff", left, right, *options)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        self.assertEqual(done.returncode, said.returncode)
        self.assertEqual(scope.run("diff", left, right, "-q", *options).stdout, b"")
        document = json.loads(done.stdout)
        self.check_document(document, done.returncode)
        return document, said.stdout.decode()

    def check_document(self, document, status):
        self.assertEqual(list(document), MEMBERS)
        self.assertEqual((document["torchoscope"], document["kind"]), (1, "diff"))
        self.assertEqual(document["equal"], status == 0)
        counts = document["counts"]
        self.assertEqual(list(counts), COUNTS)
        states = sum(counts[state] for state in COUNTS[1:-1])
        self.assertEqual(states, counts["tensors"])
        listed = {}
        for tensor in document["tensors"]:
            listed[tensor["state"]] = listed.get(tensor["state"], 0) + 1
            self.assertTrue(tensor["state"] != "same" or set(tensor) & {
                "renamed", "tied", "untied"}, tensor)
        for state in COUNTS[2:-2]:
            self.assertEqual(listed.get(state, 0), counts[state], state)
        parts = document["parts"]
        self.assertEqual(sum(part["tensors"] for part in parts), counts["tensors"])

    def states(self, document):
        """The names of each state."""
        names = {}
        for tensor in document["tensors"]:
            names.setdefault(tensor["state"], set()).add(tensor["name"])
        return names

    def fates(self, document):
        return {part["name"]: part["fate"] for part in document["parts"]}

    def rules(self, document):
        return {(r["kind"], r["from"], r["to"]) for r in document["rules"]}

    def printed_python(self, text):
        """The lines of Python in the text: up to the next empty line."""
        lines = text.splitlines()
        first = next(i for i, line in enumerate(lines) if line.startswith("# state: "))
        return "\n".join(lines[first : lines.index("", first)]) + "\n"

    def check_loads(self, document, text, state, model, inputs, expected):
        """Run the Python on `state`; `model` must load it and give `expected`."""
        self.assertEqual(self.printed_python(text), document["python"])
        for tensor in model.state_dict().values():
            tensor.zero_()
        names = {"state": state}
        exec(compile(document["python"], "snippet", "exec"), names)
        model.load_state_dict(names["state"], strict=True)
        with torch.no_grad():
            torch.testing.assert_close(model.eval()(inputs), expected)


class Equal(Pair):
    def test_a_file_and_itself(self):
        path = self.save("a.pth", resnet().state_dict())
        document, text = self.diff(path, path)
        self.assertEqual(document["counts"]["same"], 104)
        self.assertIsNone(document["sentence"])
        self.assertIsNone(document["python"])
        self.assertEqual(document["tensors"], [])
        self.assertEqual(
            text, f"{path} and {path} are the same: 104 tensors, all values equal\n"
        )

    def test_saved_twice_in_other_containers(self):
        state = resnet().state_dict()
        zipped = self.save("a.pth", state)
        old = self.save("b.pth", state, _use_new_zipfile_serialization=False)
        document, text = self.diff(zipped, old)
        self.assertEqual(document["right"]["format"], "torch legacy")
        self.assertIn("a.pth and b.pth are the same: 104 tensors", text)
        document, _ = self.diff(zipped, old, "--structure")
        self.assertEqual(document["counts"]["unread"], 104)
        if not save_file:
            return
        save_file(dict(state), self.folder / "c.safetensors")
        document, text = self.diff(old, self.folder / "c.safetensors")
        self.assertEqual(document["right"]["format"], "safetensors")
        self.assertIn("all values equal", text)

    def test_all_tensors_are_listed_if_asked_for(self):
        state = resnet().state_dict()
        left = self.save("a.pth", state)
        listed = json.loads(scope.run("diff", left, left, "--json", "--all").stdout)
        self.assertEqual([t["name"] for t in listed["tensors"]], list(state))

    def test_shards_against_one_file(self):
        if not save_file:
            self.skipTest("no safetensors")
        state = {k: v.contiguous() for k, v in transformer().state_dict().items()}
        names, folder = list(state), self.folder / "sharded"
        folder.mkdir()
        index = {"metadata": {}, "weight_map": {}}
        for i in range(2):
            part = f"model-0000{i + 1}-of-00002.safetensors"
            mine = {name: state[name] for name in names[i::2]}
            save_file(mine, folder / part)
            index["weight_map"].update({name: part for name in mine})
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
        save_file(state, self.folder / "one.safetensors")
        document, text = self.diff(folder, self.folder / "one.safetensors")
        self.assertTrue(document["equal"], text)
        state["head.weight"] = state["head.weight"] + 1
        save_file(state, self.folder / "one.safetensors")
        document, _ = self.diff(folder, self.folder / "one.safetensors")
        self.assertEqual(self.states(document), {"changed": {"head.weight"}})

    def test_the_tolerance_decides_which_values_are_close(self):
        state = resnet().state_dict()
        other = copy(state)
        other["fc.weight"] = state["fc.weight"] * (1 + 1e-6)
        other["fc.bias"] = state["fc.bias"] + 1e-6
        left, right = self.save("a.pth", state), self.save("b.pth", other)
        document, _ = self.diff(left, right)
        self.assertEqual(document["counts"]["changed"], 2)
        document, text = self.diff(left, right, "--rtol", "1e-4", "--atol=1e-4")
        self.assertEqual((document["rtol"], document["atol"]), (1e-4, 1e-4))
        self.assertEqual(document["counts"]["close"], 2)
        self.assertIn("2 of them within the tolerance", text)
        document, _ = self.diff(left, right, "--atol", "1e-9")
        self.assertEqual(document["counts"]["changed"], 2)


class Values(Pair):
    def test_last_layers_trained_and_a_new_head(self):
        state = resnet().state_dict()
        other = trained(state, "layer4")
        for name in other:
            if name.endswith(("running_mean", "running_var")):
                other[name] = other[name] + 0.5
            if name.endswith("num_batches_tracked"):
                other[name] = other[name] + 20
        other["fc.weight"], other["fc.bias"] = torch.rand(3, 6), torch.rand(3)
        document, text = self.diff(state, other)
        self.assertEqual(
            document["sentence"],
            "layer4 was trained, fc replaced. All weights of conv1, bn1 and layer1-3 "
            "are equal bit by bit; 39 BatchNorm buffers there moved "
            "(num_batches_tracked 0 → 20).",
        )
        fates = self.fates(document)
        self.assertEqual(fates["layer4"], "trained")
        self.assertEqual(fates["fc"], "replaced")
        self.assertEqual(fates["layer1"], "buffers")
        self.assertEqual(fates["conv1"], "same")
        self.assertIsNone(document["python"])
        lines = text.splitlines()
        self.assertEqual(lines[0], "≠ fc.weight    7×6 → 3×6")
        self.assertEqual(lines[1], "≠ fc.bias      7 → 3")
        self.assertRegex(lines[2], r"^~ layer4       24 of 24  rel 0\.\d+%  max 0\.01")
        self.assertEqual(
            lines[3],
            "~ bn1 layer1-3 39 of 77  buffers only: running_mean, running_var, "
            "num_batches_tracked",
        )
        self.assertEqual(
            lines[-1], "104 tensors: 39 same, 63 changed, 2 reshaped, 0 only in one"
        )

    def test_structure_can_be_compared_without_values(self):
        state = resnet().state_dict()
        other = trained(state, "layer4")
        other["fc.weight"], other["fc.bias"] = torch.rand(3, 6), torch.rand(3)
        document, text = self.diff(state, other, "--structure")
        self.assertFalse(document["values"])
        self.assertEqual(document["counts"]["reshaped"], 2)
        self.assertTrue(
            text.endswith("2 reshaped, 0 only in one, values not compared\n"), text
        )
        document, text = self.diff(state, trained(state, "layer4"), "--structure")
        self.assertTrue(document["equal"])
        self.assertIn("values not compared", text)

    def test_the_size_of_changes_is_reported_when_all_was_trained(self):
        state = transformer().state_dict()
        other = trained(state, "")
        document, text = self.diff(state, other)
        self.assertEqual(document["counts"]["changed"], len(state))
        self.assertEqual(document["sentence"], "Everything was trained.")
        self.assertIn("~ layers 64 of 64  rel 0.", text)
        for tensor in document["tensors"]:
            left = state[tensor["name"]].double()
            away = (left - other[tensor["name"]].double()).abs()
            self.assertAlmostEqual(tensor["max_abs"], away.max().item(), places=12)
            at = away[tuple(tensor["max_at"])].item()
            self.assertEqual(tensor["max_abs"], at)
            rel = (away.norm() / left.norm()).item()
            self.assertAlmostEqual(tensor["rel"], rel, places=9)

    def test_a_cast_to_another_dtype_counts_as_rounding(self):
        state = resnet().state_dict()
        other = {
            k: v.bfloat16() if v.is_floating_point() else v for k, v in state.items()
        }
        document, text = self.diff(state, other)
        self.assertEqual(document["counts"]["retyped"], 87)
        self.assertEqual(document["counts"]["same"], 17)
        self.assertTrue(all(t.get("rounding") for t in document["tensors"]))
        self.assertEqual(
            document["sentence"], "Everything was cast from float32 to bfloat16."
        )
        self.assertRegex(
            text, r"~ float32 → bfloat16 87 of 104  rounding only, rel 0\.\d+%\n"
        )

    def test_half_precision_that_overflows(self):
        state = {"fc.weight": torch.tensor([[1.0, 2.5], [1e6, -1e7]])}
        document, text = self.diff(state, {"fc.weight": state["fc.weight"].half()})
        (tensor,) = document["tensors"]
        self.assertEqual(tensor["state"], "retyped")
        self.assertEqual(tensor["one_sided"], 2)
        self.assertIn("2 values finite on one side only", text)

    def test_values_cast_and_trained(self):
        state = transformer().state_dict()
        other = {k: v.half() for k, v in trained(state, "layers.1").items()}
        document, text = self.diff(state, other)
        self.assertEqual(document["counts"]["retyped"], len(state))
        self.assertIn("more than rounding", text)

    def test_new_nan_values_are_reported(self):
        state = transformer().state_dict()
        other = copy(state)
        other["norm.weight"][3] = float("nan")
        document, text = self.diff(state, other)
        (tensor,) = document["tensors"]
        self.assertEqual((tensor["name"], tensor["one_sided"]), ("norm.weight", 1))
        self.assertEqual(tensor["different"], 1)
        self.assertIn("1 value finite on one side only", text)
        self.assertTrue(self.diff(other, copy(other))[0]["equal"], "NaN equals NaN")

    def test_a_change_of_buffers_only_is_reported(self):
        model = resnet()
        state = copy(model.state_dict())
        model.train()
        for _ in range(3):
            model(images())
        document, text = self.diff(state, model.state_dict())
        self.assertEqual(document["counts"]["changed"], 51)
        self.assertEqual(
            document["sentence"],
            "No parameter changed; 51 BatchNorm buffers moved "
            "(num_batches_tracked 0 → 3).",
        )
        self.assertIn("buffers only: running_mean, running_var", text)

    def test_a_checkpoint_from_some_steps_later(self):
        model = transformer()
        optimizer = torch.optim.Adam(model.parameters())
        paths = []
        for epoch in (12, 13):
            model(words()).square().sum().backward()
            optimizer.step()
            whole = {
                "state_dict": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "epoch": epoch,
                "arch": "transformer",
            }
            paths.append(self.save(f"epoch{epoch}.ckpt", whole))
        document, text = self.diff(*paths)
        (value,) = document["others"]
        self.assertEqual(value, {"kind": "value", "name": "epoch", "left": 12,
                                 "right": 13})
        self.assertRegex(text, r"(?m)^~ epoch +12 → 13$")
        self.assertRegex(text, r"(?m)^~ optimizer +\d+ of ")
        self.assertIsNone(document["python"])

    def test_quantised_weights_are_compared_as_real_numbers(self):
        real = {"weight": torch.linspace(-1, 1, 64).reshape(8, 8)}
        eight = torch.quantize_per_tensor(real["weight"], 0.02, 0, torch.qint8)
        document, text = self.diff(real, {"weight": eight})
        (tensor,) = document["tensors"]
        self.assertEqual(tensor["state"], "retyped")
        away = (real["weight"].double() - eight.dequantize().double()).abs().max()
        self.assertAlmostEqual(tensor["max_abs"], away.item(), places=6)
        again = torch.quantize_per_tensor(real["weight"], 0.01, 0, torch.qint8)
        document, _ = self.diff({"weight": eight}, {"weight": again})
        self.assertEqual(document["tensors"][0]["state"], "changed")

    def test_dynamically_quantised(self):
        model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4))
        if "qnnpack" in torch.backends.quantized.supported_engines:
            torch.backends.quantized.engine = "qnnpack"
        quantised = torch.quantization.quantize_dynamic(model, {nn.Linear})
        document, text = self.diff(model.state_dict(), quantised.state_dict())
        self.assertFalse(document["equal"])
        self.assertGreater(document["counts"]["tensors"], 0)


class Structure(Pair):
    def test_a_block_was_added_at_the_end(self):
        model = transformer(depth=5)
        state = model.state_dict()
        less = {k: v for k, v in state.items() if not k.startswith("layers.4")}
        document, text = self.diff(less, state)
        self.assertEqual(document["counts"]["only_right"], 16)
        self.assertEqual(document["counts"]["same"], len(less))
        self.assertIn("+ layers.4 16 tensors, 600\n", text)
        self.assertIsNone(document["python"])
        self.assertIn("layers.4 was added", document["sentence"])

    def test_a_block_was_removed_at_the_end(self):
        state = transformer(depth=5).state_dict()
        less = {k: v for k, v in state.items() if not k.startswith("layers.4")}
        document, text = self.diff(state, less)
        self.assertEqual(document["counts"]["only_left"], 16)
        self.assertIn("- layers.4 16 tensors, 600\n", text)
        self.assertIn("layers.4 was removed", document["sentence"])

    def test_tied_and_untied(self):
        tied = transformer(tied=True)
        state = tied.state_dict()
        untied = copy(state)
        untied["head.weight"] = untied["head.weight"] + 0.5
        document, text = self.diff(state, untied)
        head = [t for t in document["tensors"] if t["name"] == "head.weight"]
        self.assertTrue(head[0].get("untied"))
        self.assertEqual(head[0]["state"], "changed")
        self.assertIn("no longer tied to embed.weight", text)
        document, text = self.diff(untied, state)
        head = [t for t in document["tensors"] if t["name"] == "head.weight"]
        self.assertTrue(head[0].get("tied"))
        self.assertIn("now tied to embed.weight", text)

    def test_arguments_of_modules_differ(self):
        left = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU())
        right = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2), nn.GELU())
        right.load_state_dict(left.state_dict())
        document, text = self.diff(
            self.save("left.pt", left), self.save("right.pt", right)
        )
        self.assertEqual(document["counts"]["same"], 2)
        kinds = {other["kind"] for other in document["others"]}
        self.assertLessEqual({"class", "args"}, kinds)
        self.assertIn("stride", text)
        self.assertIn("ReLU → GELU", text)


class Renamed(Pair):
    def test_from_data_parallel(self):
        model = resnet()
        state = model.state_dict()
        wrapped = nn.DataParallel(resnet())
        wrapped.module.load_state_dict(state)
        document, text = self.diff(wrapped.state_dict(), state)
        self.assertTrue(document["equal"])
        self.assertEqual(document["left"]["prefix"], "module.")
        self.assertIn("except for module.", text)
        self.assertEqual(self.rules(document), {("prefix", "module.", "")})
        self.assertIn("→ module. taken off all 104 names\n", text)
        self.check_loads(
            document, text, wrapped.state_dict(), resnet(), images(), model(images())
        )
        document, text = self.diff(state, wrapped.state_dict())
        self.assertEqual(document["right"]["prefix"], "module.")
        self.check_loads(
            document, text, state, nn.DataParallel(resnet()), images(), model(images())
        )

    def test_from_compile_and_data_parallel(self):
        model = resnet()
        state = model.state_dict()
        for prefix in ("_orig_mod.", "module._orig_mod."):
            other = {prefix + k: v for k, v in trained(state, "fc").items()}
            document, text = self.diff(other, state)
            self.assertEqual(document["left"]["prefix"], prefix)
            self.assertEqual(self.states(document), {"changed": {"fc.weight", "fc.bias"}})
            fc = resnet()
            fc.load_state_dict(trained(state, "fc"))
            fc.load_state_dict({k[len(prefix):]: v for k, v in other.items()})
            self.check_loads(document, text, other, resnet(), images(), fc(images()))

    def test_lightning_against_a_bare_state_dict(self):
        model = resnet()
        state = model.state_dict()
        whole = {
            "epoch": 3,
            "global_step": 100,
            "pytorch-lightning_version": "2.0.0",
            "state_dict": {"model." + k: v for k, v in state.items()},
            "optimizer_states": [],
        }
        document, text = self.diff(self.save("light.ckpt", whole), state)
        self.assertEqual(document["counts"]["same"], 104)
        self.check_loads(
            document, text, whole["state_dict"], resnet(), images(), model(images())
        )

    def test_one_layer_renamed(self):
        model = resnet()
        state = model.state_dict()
        other = renamed(state, ("fc.", "classifier."))
        document, text = self.diff(other, state)
        self.assertEqual(document["counts"]["renamed"], 2)
        self.assertEqual(document["counts"]["same"], 104)
        self.assertFalse(document["equal"])
        self.assertTrue(document["loads"])
        self.assertIn("classifier", text)
        self.check_loads(document, text, other, resnet(), images(), model(images()))

    def test_nested_modules_renamed(self):
        model = transformer()
        state = model.state_dict()
        other = renamed(
            state,
            ("layers.", "transformer.h."),
            ("ln_", "layer_norm_"),
            ("attn.", "attention.self."),
            ("embed.", "transformer.wte."),
            ("fc1", "mlp.up"),
            ("fc2", "mlp.down"),
        )
        document, text = self.diff(other, state)
        self.assertEqual(document["counts"]["same"], len(state))
        self.assertTrue(document["loads"])
        self.assertLess(len(document["rules"]), 12)
        self.check_loads(document, text, other, transformer(), words(), model(words()))

    def test_names_of_old_checkpoints(self):
        model = transformer()
        state = model.state_dict()
        other = {}
        for name, tensor in state.items():
            if "ln_" in name or name.startswith("norm"):
                name = name.replace("weight", "gamma").replace("bias", "beta")
            other[name] = tensor
        document, text = self.diff(other, state)
        self.assertEqual(document["counts"]["renamed"], 18)
        self.assertTrue(document["loads"])
        self.check_loads(document, text, other, transformer(), words(), model(words()))

    def test_a_layer_inserted_in_a_sequential(self):
        def made(n):
            layers = [nn.Linear(6, 6) for _ in range(n)]
            return nn.Sequential(nn.Linear(4, 6), *layers, nn.Linear(6, 2))

        left, right = made(3), made(4)
        state = left.state_dict()
        with torch.no_grad():
            right[0].load_state_dict(left[0].state_dict())
            for i in range(1, 5):
                right[i + 1].load_state_dict(left[i].state_dict())
        document, text = self.diff(state, right.state_dict())
        self.assertEqual(document["counts"]["same"], 10)
        self.assertEqual(
            self.states(document)["only_right"], {"1.weight", "1.bias"}
        )
        self.assertIn("1-4 became 2-5", text)
        self.assertIn("will miss: 1.weight, 1.bias", document["python"])
        names = {"state": state}
        exec(document["python"], names)
        lacks = right.load_state_dict(names["state"], strict=False)
        self.assertEqual(lacks.missing_keys, ["1.weight", "1.bias"])
        self.assertEqual(lacks.unexpected_keys, [])

    def test_a_block_inserted_in_the_middle(self):
        left, right = transformer(depth=6), transformer(depth=7)
        state, other = left.state_dict(), right.state_dict()
        for name in state:
            new = re.sub(
                r"layers\.(\d+)",
                lambda m: f"layers.{int(m[1]) + (int(m[1]) >= 3)}",
                name,
            )
            other[new] = state[name].clone()
        document, text = self.diff(state, other)
        self.assertEqual(document["counts"]["same"], len(state))
        self.assertEqual(document["counts"]["only_right"], 16)
        self.assertIn("layers.3-5 became layers.4-6 (48 tensors)", text)
        self.assertIn("+ layers.3 ", text)

    def test_a_block_removed_from_the_middle(self):
        left, right = transformer(depth=6), transformer(depth=5)
        state = left.state_dict()
        for name in right.state_dict():
            old = re.sub(
                r"layers\.(\d+)",
                lambda m: f"layers.{int(m[1]) + (int(m[1]) >= 2)}",
                name,
            )
            right.state_dict()[name].copy_(state[old])
        document, text = self.diff(state, right.state_dict())
        self.assertEqual(document["counts"]["only_left"], 16)
        self.assertIn("layers.3-5 became layers.2-4", text)
        self.assertIn("- layers.2 ", text)
        self.check_loads(
            document, text, state, transformer(depth=5), words(), right(words())
        )

    def fuse(self, state, dim=0):
        fused = {}
        for name, tensor in state.items():
            if "q_proj" in name:
                parts = [state[name.replace("q_", p)] for p in ("q_", "k_", "v_")]
                fused[name.replace("q_proj", "qkv")] = torch.cat(parts, dim)
            elif "k_proj" not in name and "v_proj" not in name:
                fused[name] = tensor
        return fused

    def test_fused_projections(self):
        model = transformer()
        state = model.state_dict()
        fused = transformer(fused=True)
        fused.load_state_dict(self.fuse(state))
        document, text = self.diff(state, fused.state_dict())
        self.assertEqual(len(document["joins"]), 8)
        join = document["joins"][0]
        self.assertEqual((join["kind"], join["dim"]), ("fused", 0))
        self.assertEqual(join["one"], "layers.0.attn.qkv.weight")
        self.assertEqual(join["many"][0], "layers.0.attn.q_proj.weight")
        self.assertIn("⇉ q_proj + k_proj + v_proj → qkv.weight (4 times)\n", text)
        self.assertTrue(document["loads"])
        self.assertIn("fused", document["sentence"])
        self.check_loads(
            document, text, state, transformer(fused=True), words(), model(words())
        )

    def test_split_projections(self):
        model = transformer()
        state = model.state_dict()
        fused = self.fuse(state)
        document, text = self.diff(fused, state)
        self.assertEqual({j["kind"] for j in document["joins"]}, {"split"})
        self.assertIn("⇉ qkv.weight → q_proj + k_proj + v_proj (4 times)\n", text)
        self.assertTrue(document["loads"])
        self.check_loads(document, text, fused, transformer(), words(), model(words()))

    def test_transposed_weights(self):
        model = transformer()
        state = model.state_dict()
        other = {
            k: v.t().contiguous() if ".fc" in k and "weight" in k else v
            for k, v in state.items()
        }
        document, text = self.diff(other, state)
        turned = [t["name"] for t in document["tensors"] if t.get("transposed")]
        self.assertEqual(len(turned), 8)
        self.assertIn("transposed", text)
        self.check_loads(document, text, other, transformer(), words(), model(words()))

    def test_a_tied_weight_that_was_left_out(self):
        model = transformer(tied=True)
        state = model.state_dict()
        other = {"model." + k: v for k, v in state.items() if k != "head.weight"}
        document, text = self.diff(other, state)
        self.check_loads(
            document, text, other, transformer(tied=True), words(), model(words())
        )

    def test_names_that_python_must_quote(self):
        odd = ['a"b', "c\\d", "e{f}", "g\nh", "é", "\u202e", "i'j", "k(l)*+?", "\ud800"]
        values = {name: torch.rand(5, i + 2) for i, name in enumerate(odd)}
        left = {f"old.{name}.weight": t for name, t in values.items()}
        right = {f"new.{name}{i}.weight": t for i, (name, t) in
                 enumerate(values.items())}
        document, text = self.diff(left, right)
        self.assertIsNone(re.search("[\x00-\x09\x0b-\x1f\u202e]", text))
        self.assertEqual(self.printed_python(text), document["python"])
        names = {"state": left}
        exec(document["python"], names)
        self.assertEqual(set(names["state"]), set(right))


class Program(Pair):
    def test_files_that_cannot_be_compared_exit_with_2(self):
        good = self.save("good.pth", {"a": torch.ones(2)})
        text = self.folder / "readme.txt"
        text.write_text("hello\n")
        empty = self.folder / "empty"
        empty.mkdir()
        for words_ in (
            [good],
            [good, good, good],
            [good, self.folder / "absent.pth"],
            [self.folder / "absent.pth", good],
            [good, text],
            [text, good],
            [good, empty],
            [good, good, "--csv"],
            [good, good, "--json", "--md"],
            [good, good, "--rtol", "-1"],
            [good, good, "--rtol", "nan"],
            [good, good, "--atol", "much"],
        ):
            with self.subTest(words=words_):
                done = scope.run("diff", *words_)
                self.assertEqual(done.returncode, 2)
                self.assertEqual(done.stdout, b"")
                self.assertTrue(done.stderr.startswith(b"torchoscope: "))
                self.assertEqual(done.stderr.count(b"\n"), 1)

    def test_a_truncated_file_is_compared_as_far_as_possible(self):
        state = transformer().state_dict()
        whole = self.save("whole.pth", state, _use_new_zipfile_serialization=False)
        data = whole.read_bytes()
        cut = self.folder / "cut.pth"
        for keep in (len(data) - 100, len(data) * 3 // 4, len(data) // 2):
            cut.write_bytes(data[:keep])
            done = scope.run("diff", whole, cut, "--json")
            self.assertEqual(done.returncode, 1, done.stderr)
            document = json.loads(done.stdout)
            self.check_document(document, 1)
            self.assertFalse(document["equal"])
            self.assertIn(b"not compared", scope.run("diff", whole, cut).stdout)

    def test_hostile_files_on_either_side(self):
        good = self.save("good.pth", {"a": torch.ones(2)})
        # damage_test reads all of them under ASan.
        programs = [scope.PROGRAM] * 7
        programs[0] = os.environ.get("TORCHOSCOPE_ASAN", scope.PROGRAM)
        for i, (name, data, _) in enumerate(hostile.all_files()):
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            pair = ([path, good], [good, path], [path, path])[i % 3]
            with self.subTest(file=name):
                done = subprocess.run(
                    [programs[i % 7], "diff", *map(str, pair), "--json"],
                    capture_output=True,
                    timeout=scope.PATIENCE,
                )
                self.assertIn(done.returncode, (0, 1, 2), done.stderr[-2000:])
                if done.returncode < 2:
                    self.check_document(json.loads(done.stdout), done.returncode)
        self.assertFalse(Path(hostile.MARK).exists(), "something was executed")

    def test_markdown_is_a_table(self):
        state = resnet().state_dict()
        other = renamed(trained(state, "layer4"), ("fc.", "head_|."))
        left, right = self.save("a.pth", state), self.save("b.pth", other)
        done = scope.run("diff", left, right, "--md")
        self.assertEqual(done.returncode, 1)
        lines = done.stdout.decode().splitlines()
        self.assertTrue(lines[0].startswith("**a.pth → b.pth**: 104 tensors: "))
        rows = [line for line in lines if line.startswith("| ")]
        for row in rows:
            self.assertEqual(len(re.findall(r"(?<!\\)\|", row)), 5, row)
        self.assertIn("```python", lines)

    def test_ascii_and_narrow(self):
        state = resnet().state_dict()
        other = renamed(trained(state, "layer4"), ("fc.", "head."))
        left, right = self.save("a.pth", state), self.save("b.pth", other)
        done = scope.run("diff", left, right, "--ascii")
        done.stdout.decode("ascii")
        env = {**os.environ, "COLUMNS": "40", "LC_ALL": "C.UTF-8"}
        text = scope.run("diff", left, right, env=env).stdout.decode()
        before, python, after = text.partition("# state: ")
        for line in before.splitlines():
            self.assertLessEqual(len(line), 40, line)
        colour = scope.run("diff", left, right, "--color", "always").stdout
        self.assertIn(b"\x1b[", colour)

    def test_long_lists_are_cut_without_the_option_all(self):
        left = {f"x{i}y.weight": torch.rand(i + 1) for i in range(50)}
        right = {k: torch.rand(len(v) + 60) for k, v in left.items()}
        text = self.diff(left, right)[1]
        self.assertIn("30 more (--all)", text)
        self.assertNotIn("(--all)", self.diff(left, right, "--all")[1])

    def test_an_interrupted_diff_prints_partial_results(self):
        big = {f"layer{i}.weight": torch.zeros(8, 1024, 1024) for i in range(12)}
        other = {k: v + 1 for k, v in big.items()}
        left, right = self.save("a.pth", big), self.save("b.pth", other)
        command = [scope.PROGRAM, "diff", str(left), str(right), "--json"]
        running = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        out, said = scope.interrupt(running, worked=0.03)
        self.assertEqual(running.returncode, 2, said)
        self.assertFalse(json.loads(out)["complete"])
        self.assertIn(b"stopped", said)


if __name__ == "__main__":
    unittest.main()
