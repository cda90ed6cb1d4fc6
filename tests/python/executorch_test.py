"""ExecuTorch programs, written field by field: methods, constants, loops."""

import tempfile
import unittest
from pathlib import Path

import scope
import flat_files as flat


class Programs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, data):
        path = self.folder / "model.pte"
        path.write_bytes(data)
        return path

    def values(self, data, name):
        import torchoscope

        return torchoscope.open(str(self.file(data)))[name].values().tolist()

    def test_every_method_with_instructions_is_a_call(self):
        path = self.file(flat.methods())
        made = scope.document("ops", path)
        self.assertEqual([op["name"] for op in made["ops"]], ["aten::mul", "aten::add"])
        self.assertEqual([(one["module"], one["method"]) for one in made["calls"][1:]],
                         [("decode", "decode"), ("encode", "encode")])  # fmt: skip
        self.assertEqual([one["arg"] for one in made["calls"][0]["inputs"]],
                         ["decode:input", "encode:input"])  # fmt: skip
        self.assertEqual(made["counts"]["unique"], 2)  # both have the same weight
        self.assertIn("a_number: 7", scope.run("info", path).stdout.decode())

    def test_the_only_method_with_instructions_is_the_program(self):
        made = scope.document("ops", self.file(flat.only_method()))
        self.assertEqual(made["method"], "forward")
        self.assertEqual([op["name"] for op in made["ops"]], ["aten::relu"])

    def test_constants_keep_their_order_of_dimensions(self):
        got = self.values(flat.stored(), "last")
        self.assertEqual(got, [[[[1, 2, 3]], [[4, 5, 6]]]])

    def test_state_has_its_initial_values(self):
        self.assertEqual(self.values(flat.stored(), "state"), [8, 9])

    def test_constants_in_another_file_are_said_to_be_missing(self):
        found = scope.document("info", self.file(flat.stored()))["findings"]
        self.assertEqual(found[0]["text"], "the values of 1 tensor are in another file "
                         "(.ptd), which is not read")  # fmt: skip

    def test_constants_inside_of_old_programs(self):
        self.assertEqual(self.values(flat.old_constants(), "w"), [3, 4])

    def test_a_counter_goes_round_in_its_loop(self):
        made = scope.document("ops", self.file(flat.counting()))
        edges = sorted((one["source"], one["target"]) for one in made["edges"])
        self.assertEqual(edges, [(1, 0), (1, 1), (1, 2)])
        self.assertEqual(made["regions"][0]["kind"], "loop")


if __name__ == "__main__":
    unittest.main()
