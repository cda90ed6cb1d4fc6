"""Folders of torch.distributed.checkpoint against torch: tensors that 1, 2 and 4 ranks
saved in parts are whole; damaged and hostile folders."""

import io
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

import scope
import torch
import torch.distributed.checkpoint as dcp
import truth
from torch import nn
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

warnings.filterwarnings("ignore")
WORKER = Path(__file__).with_name("dcp_worker.py")


def launch(folder, ranks):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    children = [
        subprocess.Popen([sys.executable, WORKER, folder, str(rank), str(ranks)],
                         env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for rank in range(ranks)
    ]  # fmt: skip
    for one in children:
        printed, _ = one.communicate(timeout=scope.PATIENCE)
        if one.returncode:
            raise AssertionError(printed.decode())


def flat(state, prefix=""):
    """{name: tensor} of a nested state."""
    found = {}
    items = state.items() if isinstance(state, dict) else enumerate(state)
    for name, one in items:
        if isinstance(one, torch.Tensor):
            found[f"{prefix}{name}"] = one
        elif isinstance(one, (dict, list)):
            found |= flat(one, f"{prefix}{name}.")
    return found


def alone():
    """The state of one process: a layout that is not C order, a view, rare dtypes,
    values."""
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Conv2d(3, 4, 3))
    net[2].to(memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(net.parameters())
    for one in net.parameters():
        one.grad = torch.ones_like(one)
    optimizer.step()
    return {
        "model": net.state_dict(),
        "optim": optimizer.state_dict(),
        "turned": torch.randn(5, 3).t(),
        "part": torch.arange(20)[3:9:2],
        "empty": torch.zeros(0, 4),
        "mask": torch.tensor([True, False]),
        "z": torch.randn(3, dtype=torch.complex64),
        "f8": torch.randn(4).to(torch.float8_e4m3fn),
        "epoch": 3,
        "note": "text",
        "list": [1, {"inside": torch.ones(2)}],
    }


class Checkpoints(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        dcp.save(alone(), checkpoint_id=cls.folder / "alone")
        dcp.save(alone()["model"], checkpoint_id=cls.folder / "model")
        for ranks in (2, 4):
            launch(folder.name, ranks)
        cls.whole = {}
        for name in ("alone", "model", "ranks2", "ranks4"):
            to = cls.folder / f"{name}.pth"
            dcp_to_torch_save(cls.folder / name, to)
            cls.whole[name] = torch.load(to, weights_only=False)
        for name in ("hf2", "hf4"):
            cls.whole[name] = torch.load(cls.folder / f"{name}.pth")

    def check_tensors(self, path, wanted):
        tree = scope.document("tree", path)
        stats = scope.document("stats", path, "--sha256")
        measured = {one["place"]: one for one in stats["tensors"]}
        got = {one["name"]: one for one in tree["tensors"]}
        self.assertEqual(sorted(got), sorted(wanted))
        for name, tensor in wanted.items():
            one = got[name]
            self.assertEqual(one["shape"], list(tensor.shape), name)
            self.assertEqual(one["dtype"], str(tensor.dtype).removeprefix("torch."), name)
            if tensor.numel():
                sha = truth.describe("x", tensor)["sha256"]
                self.assertEqual(measured[one["place"]]["sha256"], sha, name)
        return got

    def test_tensors_are_as_torch_loads_them(self):
        for name, whole in self.whole.items():
            with self.subTest(name):
                self.check_tensors(self.folder / name, flat(whole))

    def test_a_path_to_the_metadata_opens_the_folder(self):
        path = self.folder / "ranks4" / ".metadata"
        self.check_tensors(path, flat(self.whole["ranks4"]))

    def test_values_and_roles(self):
        tree = scope.document("tree", self.folder / "alone")
        roles = {one["name"]: one["role"] for one in tree["tensors"]}
        self.assertEqual(roles["model.0.weight"], "parameter")
        self.assertEqual(roles["model.1.running_mean"], "buffer")
        self.assertEqual(roles["optim.state.0.exp_avg"], "state")
        said = scope.run("tree", self.folder / "alone").stdout.decode()
        self.assertIn("epoch: 3", said)
        self.assertIn('note: "text"', said)

    def test_show_lists_the_parts_of_a_tensor(self):
        said = scope.run("show", self.folder / "ranks4", "row").stdout.decode()
        for word in ("parts", "4", "split along", "__0_0.distcp", "__3_0.distcp"):
            self.assertIn(word, said)
        said = scope.run("show", self.folder / "ranks4", "grid").stdout.decode()
        self.assertIn("0 and 1", said)

    def test_every_view_works(self):
        for name in self.whole:
            for command in (["tree"], ["info"], ["check", "--values"], ["stats"]):
                done = scope.run(*command, self.folder / name)
                self.assertEqual(done.returncode, 0, (name, command, done.stdout, done.stderr))
            done = scope.run("export", self.folder / name, "-o", self.folder / f"{name}.html")
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_diff_finds_no_difference_to_the_same_state_in_one_file(self):
        for name in self.whole:
            done = scope.run("diff", self.folder / name, self.folder / f"{name}.pth")
            self.assertEqual(done.returncode, 0, (name, done.stdout))

    def test_safetensors_exports_have_the_same_elements(self):
        to = self.folder / "out.safetensors"
        done = scope.run("export", self.folder / "ranks4", "-o", to)
        self.assertEqual(done.returncode, 0, done.stderr)
        from safetensors.torch import load_file

        got = load_file(to)
        for name, tensor in flat(self.whole["ranks4"]).items():
            if name in got:
                torch.testing.assert_close(got[name], tensor, rtol=0, atol=0)
        self.assertIn("wide", got)

    # ---- damage ----

    def copy(self, name="ranks4"):
        to = self.folder / "damaged"
        shutil.rmtree(to, ignore_errors=True)
        shutil.copytree(self.folder / name, to)
        return to

    def change(self, path, change):
        """Change the metadata of a saved checkpoint."""
        with open(path / ".metadata", "rb") as file:
            metadata = pickle.load(file)
        change(metadata)
        with open(path / ".metadata", "wb") as file:
            pickle.dump(metadata, file)

    def findings(self, path):
        done = scope.run("check", path / ".metadata")
        # 2: a part cannot be checked
        self.assertIn(done.returncode, (1, 2), done.stdout)
        self.assertEqual(scope.run("tree", path).returncode, 1)
        scope.document("stats", path)
        return done.stdout.decode()

    def test_a_missing_file_is_a_finding(self):
        path = self.copy()
        (path / "__2_0.distcp").unlink()
        self.assertIn("__2_0.distcp", self.findings(path))
        stats = scope.document("stats", path)
        why = {one["name"]: one.get("stats_why") for one in stats["tensors"]}
        self.assertIsNotNone(why["row"])
        self.assertIsNone(why["scalar"])

    def test_a_value_in_a_missing_file_is_not_none(self):
        folder = self.copy().parent / "one"
        dcp.save({"step": 3, "none": None}, checkpoint_id=folder, no_dist=True)
        self.assertIn("step: 3", scope.run("tree", folder).stdout.decode())
        (folder / "__0_0.distcp").unlink()
        text = scope.run("tree", folder).stdout.decode()
        self.assertIn("step: … (missing)", text)
        self.assertNotIn("None", text)

    def test_a_short_file_is_a_finding(self):
        path = self.copy()
        os.truncate(path / "__1_0.distcp", 2000)
        self.assertIn("__1_0.distcp has 2000 bytes", self.findings(path))

    def test_parts_that_were_not_saved_are_a_finding(self):
        path = self.copy()

        def drop(metadata):
            del metadata.state_dict_metadata["row"].chunks[1]

        self.change(path, drop)
        self.assertIn("the parts of row have 49 of its 70 elements", self.findings(path))

    def test_parts_that_overlap_are_a_finding(self):
        path = self.copy()

        def move(metadata):
            chunks = metadata.state_dict_metadata["row"].chunks
            chunks[1].offsets = chunks[0].offsets

        self.change(path, move)
        self.assertIn("parts of row overlap", self.findings(path))

    def test_a_part_with_the_wrong_shape_is_a_finding(self):
        path = self.copy()

        def swap(metadata):
            keys = [key for key in metadata.storage_data if key.fqn in ("row", "column")]
            places = [metadata.storage_data[key] for key in keys]
            for key, place in zip(keys, reversed(places)):
                metadata.storage_data[key] = place

        self.change(path, swap)
        self.assertIn("is not the tensor that the metadata describes", self.findings(path))

    def test_paths_that_lead_out_are_not_opened(self):
        for name in ("../alone/__0_0.distcp", "/etc/passwd", "a/b", "..", ""):
            path = self.copy("alone")

            def lead(metadata, name=name):
                for place in metadata.storage_data.values():
                    place.relative_path = name

            self.change(path, lead)
            said = self.findings(path)
            self.assertIn("it was not opened" if name else "malformed", said, name)

    def test_compressed_parts_are_reported(self):
        path = self.copy("alone")

        def compress(metadata):
            for place in metadata.storage_data.values():
                place.transform_descriptors = ["zstd"]

        self.change(path, compress)
        self.assertIn("transformed with zstd, which is not supported", self.findings(path))

    def test_a_hostile_value_is_unsafe(self):
        class Evil:
            def __reduce__(self):
                return os.system, ("true",)

        path = self.copy("alone")
        to = io.BytesIO()
        torch.save(Evil(), to)
        at = (path / "__0_0.distcp").stat().st_size
        with open(path / "__0_0.distcp", "ab") as file:
            file.write(to.getvalue())

        def point(metadata):
            for key, place in metadata.storage_data.items():
                if key.fqn == "note":
                    place.offset, place.length = at, len(to.getvalue())

        self.change(path, point)
        self.assertIn("UNSAFE", self.findings(path))

    def test_metadata_cut_anywhere(self):
        path = self.copy("model")
        whole = (path / ".metadata").read_bytes()
        for n in range(0, len(whole), 97):
            (path / ".metadata").write_bytes(whole[:n])
            done = scope.run("info", path)
            self.assertIn(done.returncode, (1, 2), (n, done.stderr))
            self.assertLessEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_an_aborted_save_and_a_single_file_give_one_clear_error(self):
        path = self.copy()
        (path / ".metadata").unlink()
        done = scope.run("info", path)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"the save did not finish", done.stderr)
        done = scope.run("tree", self.folder / "ranks4" / "__0_0.distcp")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"Open its folder", done.stderr)


if __name__ == "__main__":
    unittest.main()
