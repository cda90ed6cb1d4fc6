"""diff: a model of transformers and its GGUF. Without quantisation nothing differs; else
the errors are those that NumPy finds, and the printed Python makes one of the other."""

import json
import re
import unittest
from unittest import mock

import numpy
import torch
from gguf import GGMLQuantizationType as Type
from safetensors.numpy import load_file, save_file

import gguf_pairs as pairs
import scope
from diff_test import Pair


class Gguf(Pair):
    def both(self, kind, type_of=pairs.plain, more=()):
        """Folder, GGUF, state, {name in gguf-py's table: (name, numbers)}, what the GGUF
        holds."""
        folder, path = self.folder / kind, self.folder / f"{kind}.gguf"
        pairs.make(kind).save_pretrained(folder)
        state = load_file(folder / "model.safetensors")
        tensors = pairs.converted(kind, state)
        stored = pairs.write(path, kind, tensors, type_of, more)
        return folder, path, state, tensors, stored

    def check_python(self, document, state, expected, exact=True):
        state = {name: torch.from_numpy(value) for name, value in state.items()}
        names = {"state": state}
        exec(compile(document["python"], "snippet", "exec"), names)
        made = names["state"]
        self.assertEqual(set(made), set(expected))
        for name, value in expected.items():
            apart = numpy.abs(made[name].numpy() - value).max()
            self.assertLessEqual(apart, 0 if exact else 2e-7, name)

    def test_nothing_differs_without_quantisation(self):
        for kind in pairs.MODELS:
            with self.subTest(kind):
                folder, path, state, tensors, stored = self.both(kind)
                document, text = self.diff(folder, path)
                counts = document["counts"]
                self.assertEqual(counts["changed"] + counts["retyped"], 0)
                self.assertEqual(counts["reshaped"] + counts["only_right"], 0)
                self.assertEqual(counts["unread"], 0)
                for tensor in document["tensors"]:
                    self.assertEqual(tensor.get("different", 0), 0, tensor)
                paired = {t["right"]["name"]: t["left"]["name"]
                          for t in document["tensors"] if "left" in t and "right" in t}
                for join in document["joins"]:
                    self.assertEqual((join["kind"], join["stacked"]), ("fused", True))
                    paired[join["one"]] = re.sub(r"\.(experts|norms)\.0\.", r".\1.",
                                                 join["many"][0])
                self.assertEqual(paired,
                                 {new: old for new, (old, _) in tensors.items()})
                self.assertIn(f"{counts['tensors']} tensors:", text)
                if kind not in ("bert", "gpt-oss", "apertus"):
                    self.assertTrue(document["loads"])
                self.check_python(document, state, stored)

    def test_the_other_way_around_the_python_gives_the_first_state(self):
        for kind in ("llama", "gemma", "gpt2", "mixtral"):
            with self.subTest(kind):
                folder, path, state, _, stored = self.both(kind)
                document, _ = self.diff(path, folder)
                self.assertEqual(document["counts"]["changed"], 0)
                for tensor in document["tensors"]:
                    self.assertEqual(tensor.get("different", 0), 0, tensor)
                # 1 is added in float32, which rounds
                self.check_python(document, stored, state, exact=kind != "gemma")

    def test_the_other_way_around_in_other_architectures(self):
        for kind in ("bloom", "mamba", "mamba2", "t5"):
            with self.subTest(kind):
                folder, path, state, _, stored = self.both(kind)
                document, _ = self.diff(path, folder)
                self.assertEqual(document["counts"]["changed"], 0)
                # the logarithm of an exponential is rounded
                self.check_python(document, stored, state, exact="mamba" not in kind)

    def test_what_was_done_to_mamba_and_bloom_is_said(self):
        folder, path, _, _, _ = self.both("mamba")
        document, text = self.diff(folder, path)
        self.assertIn("A_log is stored as -exp(A_log)", text)
        self.assertIn("the shape is changed as llama.cpp does", text)
        done = {t["left"]["name"].rpartition("mixer.")[2]: t
                for t in document["tensors"] if "mixer" in t["left"]["name"]}
        self.assertTrue(done["A_log"]["exponent"])
        self.assertTrue(done["conv1d.weight"]["reshape"])
        document, text = self.diff(*self.both("bloom")[:2])
        self.assertIn("rows of fused q, k and v are grouped as llama.cpp does", text)
        self.assertEqual({t.get("grouped") for t in document["tensors"]
                          if "query_key_value" in t["left"]["name"]}, {pairs.HEADS})

    def test_rows_that_cannot_be_ordered_back_are_not_compared(self):
        more = {"new_decoder_architecture": True, "num_kv_heads": pairs.KV_HEADS}
        with (mock.patch.dict(pairs.MODELS, {"falcon": ("Falcon", more)}),
              mock.patch.multiple(pairs, GROUPED=(), SQUARE=())):
            folder, path, _, _, _ = self.both("falcon")
        document, _ = self.diff(folder, path)
        why = {t["right"]["name"]: t.get("why") for t in document["tensors"]
               if t["state"] == "unread"}
        self.assertEqual(set(why), {f"blk.{i}.attn_qkv.weight"
                                    for i in range(pairs.LAYERS)})
        self.assertEqual(set(why.values()), {
            "llama.cpp reorders the rows of its queries, keys and values"})
        self.assertEqual(document["counts"]["changed"], 0)

    def test_errors_are_those_of_numpy(self):
        kinds = (("llama", Type.Q8_0), ("qwen2", Type.Q4_0), ("gemma", Type.Q8_0),
                 ("gpt2", Type.Q4_0), ("mixtral", Type.Q4_0), ("llama", Type.F16),
                 ("bloom", Type.Q8_0), ("mamba", Type.Q8_0), ("t5", Type.Q4_0),
                 ("deepseek2", Type.Q8_0))
        for kind, kept in kinds:
            with self.subTest(kind=kind, type=kept.name):
                made = self.both(kind, pairs.matrices(kept))
                folder, path, state, tensors, stored = made
                document, text = self.diff(folder, path)
                of_all, seen = {}, 0
                for tensor in document["tensors"]:
                    if "right" not in tensor or not tensor.get("different"):
                        continue
                    name = tensor["right"]["name"]
                    left, right = (x.astype(numpy.float64)
                                   for x in (tensors[name][1], stored[name]))
                    self.check_error(tensor, left, right)
                    of_type = of_all.setdefault(tensor["right"]["dtype"], [])
                    of_type.append((left, right))
                    seen += 1
                expected = sum(not numpy.array_equal(tensors[n][1], stored[n])
                               for n in tensors)
                self.assertEqual(seen, expected)
                self.check_total(document, text, of_all, kept)

    def check_error(self, tensor, left, right):
        apart = left - right
        self.assertEqual(tensor["max_abs"], numpy.abs(apart).max())
        self.assertEqual(tensor["different"], numpy.count_nonzero(apart))
        rms = numpy.sqrt((apart**2).mean())
        relative = numpy.sqrt((apart**2).sum() / (left**2).sum())
        # The order of summation: a few ulp.
        self.assertAlmostEqual(tensor["rms"] / rms, 1, delta=1e-13)
        self.assertAlmostEqual(tensor["rel"] / relative, 1, delta=1e-13)
        at = tensor["max_at"]
        self.assertEqual(abs(apart[tuple(at)]), tensor["max_abs"])

    def check_total(self, document, text, of_all, kept):
        if kept == Type.F16:
            self.assertEqual(document["errors"], [])
            return
        (error,) = document["errors"]
        ((dtype, both),) = of_all.items()
        self.assertEqual((error["dtype"], error["tensors"]), (dtype, len(both)))
        squares = sum(((a - b)**2).sum() for a, b in both)
        total = sum((a**2).sum() for a, _ in both)
        relative = numpy.sqrt(squares / total)
        self.assertAlmostEqual(error["rel"] / relative, 1, delta=1e-12)
        last = text.splitlines()[-1]
        self.assertTrue(last.startswith(f"Error of the quantisation: {dtype} rel "), text)

    def test_one_expert_that_changed_is_seen_in_its_stack(self):
        folder, path, state, _, _ = self.both("mixtral")
        name = "model.layers.1.block_sparse_moe.experts.2.w3.weight"
        state[name][5, 7] += 1
        save_file(state, folder / "model.safetensors")
        document, text = self.diff(folder, path)
        changed = {t["name"]: t for t in document["tensors"] if t.get("different")}
        self.assertEqual(set(changed), {name, "blk.1.ffn_up_exps.weight"})
        self.assertEqual(changed[name]["max_at"], [5, 7])
        self.assertEqual(changed["blk.1.ffn_up_exps.weight"]["max_at"], [2, 5, 7])
        self.assertRegex(text, r"~ blk\.1\.ffn_up_exps\.weight +float32 +rel")

    def test_files_of_meta_are_not_permuted(self):
        """wq and wk have the order of llama.cpp."""
        _, path, _, tensors, _ = self.both("llama")
        meta = {"attn_q": "attention.wq", "attn_k": "attention.wk",
                "attn_v": "attention.wv", "attn_output": "attention.wo",
                "ffn_gate": "feed_forward.w1", "ffn_down": "feed_forward.w2",
                "ffn_up": "feed_forward.w3", "attn_norm": "attention_norm",
                "token_embd": "tok_embeddings", "output_norm": "norm", "blk": "layers"}
        state = {}
        for name, (_, value) in tensors.items():
            parts = [meta.get(part, part) for part in name.split(".")]
            state[".".join(parts)] = torch.from_numpy(value.copy())
        document, text = self.diff(state, path)
        self.assertEqual(document["counts"]["same"], len(tensors))
        self.assertNotIn("permuted", text)

    def test_a_gguf_whose_converter_did_not_permute_is_compared_as_it_is(self):
        folder, path, state, tensors, _ = self.both("llama")
        plain = {new: (old, state[old]) for new, (old, _) in tensors.items()}
        pairs.write(path, "llama", plain, pairs.plain)
        document, text = self.diff(folder, path)
        self.assertEqual(document["counts"]["same"], len(tensors))
        self.assertNotIn("permuted", text)

    def test_what_the_converter_adds_or_leaves_out_is_named(self):
        more = [("rope_freqs.weight", numpy.ones(8, numpy.float32))]
        folder, path, state, tensors, _ = self.both("llama", more=more)
        state["model.layers.0.self_attn.rotary_emb.inv_freq"] = numpy.ones(8, "f4")
        save_file(state, folder / "model.safetensors")
        document, text = self.diff(folder, path)
        lone = {t["name"] for t in document["tensors"] if t.get("by_converter")}
        self.assertEqual(lone, {"rope_freqs.weight",
                                "model.layers.0.self_attn.rotary_emb.inv_freq"})
        self.assertIn("which llama.cpp's converter adds", text)
        self.assertIn("which llama.cpp's converter leaves out", text)
        self.assertNotIn("removed", document["sentence"])
        self.assertNotIn("added", document["sentence"])

    def test_tied_and_missing_tensors(self):
        """A state_dict has lm_head beside its tied embedding, a GGUF stores it once."""
        model = pairs.make("gemma")
        state = model.state_dict()
        self.assertIn("lm_head.weight", state)
        _, path, _, tensors, _ = self.both("gemma")
        document, _ = self.diff(state, path)
        self.assertEqual(document["counts"]["same"], len(tensors))
        self.assertEqual(document["counts"]["only_left"], 0)
        del state["model.layers.1.mlp.up_proj.weight"]
        document, text = self.diff(state, path)
        self.assertEqual(self.states(document)["only_right"], {"blk.1.ffn_up.weight"})

    def test_values_changed_are_not_taken_for_quantisation(self):
        folder, path, state, tensors, _ = self.both("llama", pairs.matrices(Type.Q8_0))
        name = "model.layers.1.self_attn.q_proj.weight"
        state[name] = state[name][::-1].copy()
        save_file(state, folder / "model.safetensors")
        document, text = self.diff(folder, path)
        wrong = [t for t in document["tensors"] if t["name"] == "blk.1.attn_q.weight"]
        self.assertGreater(wrong[0]["rel"], 1)
        self.assertLess(max(t.get("rel", 0) for t in document["tensors"]
                            if t is not wrong[0]), 0.02)

    def test_text_markdown_and_structure(self):
        folder, path, state, tensors, _ = self.both("llama", pairs.matrices(Type.Q8_0))
        _, text = self.diff(folder, path)
        self.assertIn("rows of q and k are permuted as llama.cpp does, undone to compare "
                      "(4 tensors)", text)
        self.assertRegex(text, r"blk\.0\.attn_q\.weight +q8_0 +rel 0\.\d+%  rms 0\.\d+")
        done = scope.run("diff", folder, path, "--md")
        self.assertIn("quantisation: q8", done.stdout.decode().splitlines()[-1])
        document = json.loads(scope.run("diff", folder, path, "--structure",
                                        "--json").stdout)
        self.assertEqual(document["counts"]["renamed"], len(tensors))
        self.assertEqual(document["errors"], [])


if __name__ == "__main__":
    unittest.main()
