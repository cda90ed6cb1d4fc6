"""TFLite models, written field by field: subgraphs, signatures, kinds of tensors."""

import tempfile
import unittest
from pathlib import Path

import scope
import flat_files as flat


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, data, name="model.tflite"):
        path = self.folder / name
        path.write_bytes(data)
        return path

    def ops(self, data):
        return scope.document("ops", self.file(data))

    def info(self, data):
        return scope.document("info", self.file(data))


def names(document):
    return [op["name"].removeprefix("tflite::") for op in document["ops"]]


def edges(document):
    return sorted((edge["source"], edge["target"]) for edge in document["edges"])


def regions(document):
    return [(one["kind"], one["ops"], one["end"]) for one in document["regions"]]


def calls(document):
    return [(one["module"], one["ops"], one["end"]) for one in document["calls"]]


class Subgraphs(Files):
    def test_if_is_two_branches_and_their_results_meet(self):
        made = self.ops(flat.branches())
        self.assertEqual(names(made), ["MUL", "RELU", "RELU"])
        self.assertEqual(regions(made), [("if", 0, 1), ("else", 1, 2)])
        self.assertEqual(calls(made), [("", 0, 3), ("then", 0, 1), ("else", 1, 2)])
        self.assertEqual(edges(made), [(0, 2), (1, 2)])
        self.assertEqual(made["regions"][0]["condition"],
                         made["calls"][0]["inputs"][1]["value"])  # fmt: skip
        self.assertEqual(made["ops"][0]["inputs"][1]["tensor"], "then.w")

    def test_case_is_a_branch_for_each_number(self):
        made = self.ops(flat.case())
        self.assertEqual(names(made), ["MUL", "ADD", "RELU"])
        self.assertEqual(regions(made), [("if", 0, 1), ("if", 1, 2), ("if", 2, 3)])

    def test_while_is_a_loop_over_its_condition_and_body(self):
        for code in flat.WHILE, flat.STABLEHLO_WHILE:
            made = self.ops(flat.loop(code))
            self.assertEqual(names(made), ["LESS", "ADD", "MUL", "RELU"])
            self.assertEqual(regions(made), [("loop", 0, 3)])
            self.assertEqual(calls(made), [("", 0, 4), ("cond", 0, 1), ("body", 1, 3)])
            # Both carried values come from the iteration before; what leaves is read.
            self.assertEqual(edges(made), [(1, 0), (1, 1), (2, 2), (2, 3)])
            self.assertEqual(made["regions"][0]["condition"],
                             made["ops"][0]["outputs"][0]["value"])  # fmt: skip

    def test_calls_are_calls_each_time(self):
        made = self.ops(flat.calls())
        self.assertEqual(names(made), ["VAR_HANDLE", "MUL", "MUL", "ADD"])
        self.assertEqual(calls(made), [("", 0, 4), ("init", 0, 1), ("layer", 1, 2),
                                       ("layer", 2, 3),
                                       ("double.impl", 3, 4)])  # fmt: skip
        self.assertEqual(edges(made), [(1, 2), (2, 3)])
        self.assertEqual(made["calls"][-1]["method"], "odml.double")
        self.assertEqual(made["ops"][0]["attributes"]["shared_name"], "state")

    def test_what_a_reduction_applies_is_a_loop_behind_it(self):
        made = self.ops(flat.reduce())
        self.assertEqual(names(made), ["STABLEHLO_REDUCE", "STABLEHLO_ADD"])
        self.assertEqual(regions(made), [("loop", 1, 2)])
        self.assertEqual(made["ops"][0]["attributes"],
                         {"dimensions": [0], "body_subgraph": 1})  # fmt: skip

    def test_each_signature_is_an_entry(self):
        data = flat.signatures()
        made = self.ops(data)
        self.assertEqual(names(made), ["MUL", "ADD"])
        self.assertEqual(calls(made), [("", 0, 2), ("encode", 0, 1), ("decode", 1, 2)])
        main = made["calls"][0]
        for side, end in ("inputs", "x"), ("outputs", "y"):
            self.assertEqual([one["arg"] for one in main[side]],
                             ["encode:" + end, "decode:" + end])  # fmt: skip
        self.assertEqual(made["counts"]["unique"], 2)  # the weight is one tensor
        said = scope.run("info", self.file(data)).stdout.decode()
        self.assertIn("signature encode: (x) -> (y)", said)
        self.assertIn("again: (other) -> (out)", said)

    def test_subgraphs_that_multiply_are_cut(self):
        made = self.ops(flat.turning(30, 2))
        self.assertTrue(made["cut"])
        self.assertIn("subgraphs run each other too often", made["findings"][0]["text"])
        self.assertLess(len(made["ops"]) + len(made["calls"]), 100_000)

    def test_a_subgraph_that_runs_itself_is_not_followed(self):
        made = self.ops(flat.turning(3, 2, to_itself=True))
        self.assertFalse(made["cut"])
        self.assertEqual(set(names(made)), {"CALL"})
        self.assertEqual(made["ops"][0]["attributes"], {"subgraph": 0})
        self.assertIn("subgraphs run themselves", made["findings"][0]["text"])

    def test_deep_subgraphs_are_operations(self):
        made = self.ops(flat.turning(40))
        self.assertEqual(names(made), ["CALL"])
        self.assertEqual(made["ops"][0]["attributes"], {"subgraph": 33})


class Tensors(Files):
    def values(self, data, *wanted):
        import torchoscope

        model = torchoscope.open(str(self.file(data)))
        return [model[name].values().tolist() for name in wanted]

    def test_small_dtypes_have_their_values(self):
        got = self.values(flat.odd_tensors(), "block.half", "block.brain", "block.four",
                          "block.two", "block.unsigned")  # fmt: skip
        self.assertEqual(got, [[0.5, -2], [1, -2], [1, -8, 7], [0, 1, -2, -1], [1, 15]])

    def test_sparse_tensors_are_dense(self):
        rows, blocks = self.values(flat.sparse(), "rows", "blocks")
        self.assertEqual(rows, [[0, 1, 0, 2], [3, 0, 0, 0]])
        self.assertEqual(blocks[:2], [[0, 0, 1, 2], [0, 0, 3, 4]])
        self.assertEqual(blocks[2:], [[5, 6, 0, 0], [7, 8, 0, 0]])

    def test_damaged_sparse_tensors_have_no_values(self):
        for damage in ({"segments": [0, 9, 3]}, {"segments": [0, 3]},
                       {"indices": [3, 1, 0]}, {"indices": [1, 7, 0]},
                       {"segments": [0, 2, 4], "indices": [1, 3, 0, 1]}):  # fmt: skip
            made = self.info(flat.sparse(damage))
            self.assertEqual(made["findings"][0]["text"], "its values are unknown: the "
                             "layout of the sparse tensor is damaged")  # fmt: skip
            said = scope.run("show", self.folder / "model.tflite", "rows").stdout
            self.assertNotIn(b"mean", said)

    def test_strings_are_a_list(self):
        said = scope.run("tree", "--all", self.file(flat.odd_tensors())).stdout.decode()
        self.assertIn('labels: ["cat", "zebra"]', said)

    def test_scales_are_shown_with_their_axis_or_blocks(self):
        file = self.file(flat.odd_tensors())
        said = scope.run("show", file, "block.channels").stdout.decode()
        self.assertRegex(said, r"scale.*0\.5, 0\.25")
        self.assertRegex(said, r"zero_point.*0, 3")
        said = scope.run("show", file, "block.blocks").stdout.decode()
        self.assertRegex(said, r"block_size.*32")
        self.assertRegex(said, r"block/scales")

    def test_missing_values_are_said_to_be_missing(self):
        texts = [one["text"] for one in self.info(flat.odd_tensors())["findings"]]
        self.assertIn("the values of 1 tensor are in another file, which is not read",
                      texts)  # fmt: skip
        self.assertTrue(any("no data for 1 of its tensors" in text for text in texts))

    def test_weights_behind_the_flatbuffer(self):
        self.assertEqual(self.values(flat.outside(), "w"), [[7, 8]])

    def test_custom_and_unknown_operators_keep_their_names(self):
        made = self.ops(flat.odd_tensors())
        self.assertEqual(names(made), ["CUSTOM:MyOp", "CUSTOM:Other", "OPERATOR_500"])
        self.assertEqual(made["ops"][0]["attributes"], {"n": 7, "s": [0.5, 1.5]})
        raw = made["ops"][1]["attributes"]["custom_options"]
        self.assertEqual(raw["head_hex"], "070102")
        state = made["ops"][0]["inputs"][1]
        self.assertEqual((state["stored"], state["name"]), ("", "state"))


class Metadata(Files):
    def test_metadata_and_files_behind_the_model(self):
        path = self.file(flat.described())
        said = scope.run("info", path).stdout.decode()
        for line in ('name: "cats"', 'description: "tells cats from dogs"',
                     'version: "v7"', 'author: "somebody"',
                     'min_runtime_version: "1.14.0"',
                     'associated_files: ["labels.txt"]'):  # fmt: skip
            self.assertIn(line, said)
        self.assertEqual(scope.document("info", path)["findings"], [])


class Bundles(Files):
    def tree(self, data, name):
        done = scope.run("tree", "--all", self.file(data, name))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode()

    def test_a_task_of_mediapipe_has_all_its_models(self):
        said = self.tree(flat.task(), "hands.task")
        for word in ("hand_landmarker.task", "hand_detector.tflite", "rows",
                     "TF_LITE_PREFILL_DECODE", "then"):  # fmt: skip
            self.assertIn(word, said)

    def test_a_language_model_has_its_sections(self):
        data = flat.language_model()
        said = self.tree(data, "gemma.litertlm")
        for word in ("tf_lite_prefill_decode", "then", "blocks", "sp_tokenizer"):
            self.assertIn(word, said)
        said = scope.run("info", self.file(data)).stdout.decode()
        self.assertIn("LiteRT-LM (version 1.4.0, 3 sections)", said)
        self.assertIn('authors: "ODML"', said)
        self.assertIn("layers: 26", said)

    def test_a_language_model_that_is_cut_says_so(self):
        found = self.info(flat.language_model(cut=80))["findings"]
        self.assertIn("the section ends at byte", found[0]["text"])

    def test_sections_that_overlap_are_read_once(self):
        found = self.info(flat.language_model(same=True))["findings"]
        self.assertEqual(len(found), 2)
        self.assertIn("the section overlaps the one before", found[0]["text"])


class Damage(Files):
    def test_every_sample_is_read_however_it_is_cut(self):
        for name, make in flat.TFLITE.items():
            data = make()
            for at in range(8, len(data), max(len(data) // 8, 1)):
                done = scope.run("ops", self.file(data[:at]), "--json")
                self.assertIn(done.returncode, (0, 1, 2), (name, at))


if __name__ == "__main__":
    unittest.main()
