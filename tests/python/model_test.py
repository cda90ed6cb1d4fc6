# flavours: both
"""Models in Python: files and live modules."""

import contextlib
import gc
import importlib.util
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

import torch
from torch import nn

import scope
import torchoscope

torch.set_num_threads(1)


def make_net():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    net.register_buffer("steps", torch.tensor([3, 5]))
    net[2].bias.requires_grad_(False)
    return net


class WithFile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.here = Path(cls.folder.name)
        cls.net = make_net()
        cls.path = cls.here / "net.pth"
        torch.save({"model": cls.net.state_dict(), "epoch": 7}, cls.path)
        cls.run_path = cls.here / "run.scope"
        with torchoscope.record(cls.net) as cls.recording:
            cls.net(torch.ones(1, 4))
        cls.recording.save(cls.run_path)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()


class Threads(WithFile):
    def test_one_model_is_shown_by_several_threads_at_once(self):
        with torchoscope.record(net := make_net()) as recording:
            net(torch.ones(1, 4))
        for one in (torchoscope.open(self.path), torchoscope.open(self.net), recording):
            asked = [one.tree, lambda one=one: one.html, one._notebook]
            expected = [ask() for ask in asked]
            found = []

            def work():
                for _ in range(5):
                    found.append([ask() for ask in asked])

            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(found, [expected] * 20)


class Opening(WithFile):
    def test_a_file_is_a_model_and_a_recording_a_recording(self):
        for path in (self.path, str(self.path), os.fsencode(self.path)):
            self.assertIsInstance(torchoscope.open(path), torchoscope.Model)
        for path in (self.run_path, str(self.run_path)):
            recording = torchoscope.open(path)
            self.assertIsInstance(recording, torchoscope.Recording)
            self.assertEqual(len(recording.calls()), len(self.recording.calls()))
            self.assertIs(torchoscope.open(recording), recording)
        live = torchoscope.open(self.net)
        self.assertIs(torchoscope.open(live), live)

    def test_every_sample_gives_the_same_as_the_program(self):
        folder, manifest = scope.samples()
        files = [folder / name for name in manifest["files"]][::4]
        opened = 0
        for path in files:
            done = scope.run("tree", path, "--json")
            if done.returncode == 2:
                with self.assertRaises((torchoscope.Error, OSError), msg=path.name):
                    torchoscope.open(path)
                continue
            self.assertEqual(torchoscope.open(path).json, json.loads(done.stdout))
            opened += 1
        self.assertGreater(opened, 5)

    def test_files_that_cannot_be_opened_give_a_clear_error(self):
        text = self.here / "text.md"
        text.write_text("no model\n")
        for path, kind in (
            (self.here / "nothing.pth", FileNotFoundError),
            (self.path / "below", FileNotFoundError),
            (text, torchoscope.Error),
        ):
            with self.assertRaisesRegex(kind, r"^[^\n]+$"):
                torchoscope.open(path)
        for thing in (3, None, [], torch.ones(2)):
            with self.assertRaisesRegex(TypeError, "holds no module"):
                torchoscope.open(thing)

    def test_other_threads_run_and_ctrl_c_stops_long_work(self):
        """A tensor of 4 GB in a sparse file."""
        path = self.here / "big.safetensors"
        size = 1 << 32
        head = json.dumps({"x": {"dtype": "U8", "shape": [size],
                                 "data_offsets": [0, size]}}).encode()
        with path.open("wb") as file:
            file.write(len(head).to_bytes(8, "little") + head)
            file.truncate(8 + len(head) + size)
        model = torchoscope.open(path)
        ticks = []

        def interrupt():
            ticks.append(1)
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(0.2, interrupt)
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            model["x"].quantiles
        timer.join()
        self.assertEqual(ticks, [1])
        path.unlink()

    def test_import_does_not_bring_torch(self):
        code = "import torchoscope, sys; sys.exit('torch' in sys.modules)"
        self.assertEqual(subprocess.run([sys.executable, "-c", code]).returncode, 0)


class Shown(WithFile):
    def test_str_is_what_the_program_prints(self):
        for path in (self.path, self.run_path):
            printed = scope.run("tree", path).stdout.decode()
            self.assertEqual(str(torchoscope.open(path)) + "\n", printed)
        self.assertEqual(
            torchoscope.open(self.run_path).tree(ascii=True).isascii(), True
        )

    def test_rows_are_data_and_take_the_options_of_tree(self):
        for one in (torchoscope.open(self.net), self.recording):
            rows = one.rows(columns="params", depth=1)
            names = [row["name"] for row in rows]
            self.assertEqual(names, ["", "steps", "0", "1", "2"])
            self.assertEqual(rows[2]["params"], "40")
            with self.assertRaisesRegex(ValueError, "poem"):
                one.rows(columns="poem")
            with self.assertRaises(TypeError):
                one.rows(poem=1)

    def test_json_is_a_dict_of_the_document(self):
        self.assertEqual(torchoscope.open(self.net).json["kind"], "tree")
        self.assertEqual(self.recording.json["kind"], "run")

    def test_reprs_are_short(self):
        for one in (torchoscope.open(self.path), torchoscope.open(self.net)):
            self.assertRegex(repr(one), r"^<torchoscope\.Model .*5 tensors, 58 param")
            for name in one:
                self.assertLess(len(repr(one[name])), 80)


    def test_a_live_module_has_no_verdict(self):
        live = torchoscope.open(self.net)
        self.assertIsNone(live.verdict)
        self.assertRegex(str(live), r"parameters, [^\n]+ trainable, live module$")
        self.assertEqual(live.json["verdict_why"], "a live module is not a file")
        info = json.loads(live._now().json("info"))
        self.assertIsNone(info["verdict"])
        for form in ("txt", "md"):
            self.assertNotIn("SAFE", live._now().export(form))
        file = torchoscope.open(self.path)
        self.assertEqual((file.verdict, file.findings), ("safe", []))
        self.assertTrue(str(file).endswith(" file, ✓ SAFE"))

    def test_findings_of_a_file_are_listed(self):
        cut = self.here / "cut.safetensors"
        head = b'{"x":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}'
        cut.write_bytes(len(head).to_bytes(8, "little") + head + bytes(8))
        [finding] = torchoscope.open(cut).findings
        self.assertEqual(finding.severity, "alarm")
        self.assertTrue(finding.text and finding.code)


class Parts(WithFile):
    def test_names_lists_all_parts(self):
        model = torchoscope.open(self.path)
        names = list(model)
        self.assertEqual(len(model), len(names))
        self.assertTrue(model)
        for name in self.net.state_dict():
            self.assertIn(f"model.{name}", names)
            self.assertIn(name, model)
        self.assertNotIn("nothing", model)
        self.assertNotIn(3, model)
        self.assertEqual(model["epoch"], 7)

    def test_an_unknown_name_suggests_the_nearest(self):
        model = torchoscope.open(self.net)
        for ask in (model.__getitem__, model.stats):
            with self.assertRaisesRegex(KeyError, r"0\.weight"):
                ask("0.weigth")
        with self.assertRaises(KeyError):
            model[0]

    def test_tensors_have_the_numbers_of_torch(self):
        for model in (torchoscope.open(self.path), torchoscope.open(self.net)):
            for name, true in self.net.state_dict().items():
                tensor = model[name]
                self.assertEqual(tuple(tensor.shape), tuple(true.shape))
                self.assertEqual(f"torch.{tensor.dtype}", str(true.dtype))
                self.assertEqual(tensor.device, "cpu")
                self.assertTrue(torch.equal(tensor.values(), true))
                self.assertAlmostEqual(tensor.mean, true.double().mean().item(), 6)
                self.assertAlmostEqual(tensor.std, true.double().std().item(), 6)
                self.assertEqual(tensor.min, true.min().item())
                self.assertEqual(tensor.statistics["nan"], 0)
                self.assertEqual(tensor.statistics, model.stats(name))
                want = true.double().quantile(0.75).item()
                self.assertAlmostEqual(tensor.quantiles[0.75], want, 6)
                self.assertEqual(sum(tensor.histogram["bins"]), true.numel())
                self.assertIn("mean", str(tensor))
                self.assertIsNone(tensor.why)
                with self.assertRaises(AttributeError):
                    tensor.poem
                with self.assertRaises(AttributeError):
                    tensor.mean = 3

    def test_modules_have_class_arguments_and_children(self):
        model = torchoscope.open(self.net)
        linear = model["0"]
        self.assertIsInstance(linear, torchoscope.Module)
        self.assertEqual(linear.class_name, "Linear")
        self.assertEqual(linear["class"], "torch.nn.modules.linear.Linear")
        self.assertEqual(linear.args["in_features"], 4)
        self.assertEqual((linear.params, linear.bytes), (40, 160))
        self.assertEqual(linear.children, ["0.weight", "0.bias"])
        self.assertEqual(model[""].params, 58)
        self.assertTrue(model["0.weight"].requires_grad)
        self.assertFalse(model["2.bias"].requires_grad)

    def test_values_are_current_and_freed_ones_are_reported(self):
        net = make_net()
        model = torchoscope.open(net)
        self.assertEqual(torchoscope.open(make_net())["0.weight"].nan, 0)  # it is live
        first = model["0.weight"]
        with torch.no_grad():
            net[0].weight.fill_(2)
        self.assertEqual(first.mean, 2)
        with torch.no_grad():
            net[0].weight.fill_(3)
        self.assertEqual((first.mean, model["0.weight"].mean), (2, 3))
        net[0].weight = None
        gc.collect()
        with self.assertRaisesRegex(torchoscope.Error, "deleted since"):
            model["0.weight"].mean
        with self.assertRaisesRegex(torchoscope.Error, "deleted since"):
            first.values()

    def test_unreadable_values_have_a_reason(self):
        tensor = torchoscope.open(nn.Linear(2, 2, device="meta"))["weight"]
        self.assertEqual((tensor.mean, tensor.statistics), (None, {}))
        self.assertEqual((tensor.quantiles, tensor.histogram), ({}, None))
        self.assertIn("meta", tensor.why)
        self.assertIn("meta", str(tensor))
        model = torchoscope.open(nn.Linear(2, 2, device="meta"))
        with self.assertRaisesRegex(torchoscope.Error, "cannot be read"):
            model.stats("weight")


class Saved(nn.Module):
    """Its state_dict has neither the buffer, nor the attribute, nor the Dropout, nor
    the bias that is None."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.last = nn.Linear(3, 3, bias=False)
        self.drop = nn.Dropout()
        self.plain = torch.ones(2)
        self.register_buffer("temporary", torch.ones(1), persistent=False)


class Differences(WithFile):
    def changed(self):
        other = make_net()
        with torch.no_grad():
            other[2].weight[0, 0] += 0.5
        return other

    def test_equal_models_are_equal_in_any_form(self):
        model = torchoscope.open(self.net)
        for one in (self.net, model):
            for other in (make_net(), torchoscope.open(make_net())):
                self.assertTrue(torchoscope.diff(one, other).equal)
        for one in (self.path, str(self.path)):
            self.assertTrue(torchoscope.diff(one, torchoscope.open(one)).equal)
        found = torchoscope.diff(self.net, make_net())
        self.assertTrue(found.equal)
        self.assertEqual(found.python, "")
        self.assertIn("are the same", str(found))
        self.assertIn("equal", repr(found))
        self.assertEqual(model["0.weight"].values().shape, (8, 4))  # still usable

    def test_trained_tensors_are_found(self):
        found = torchoscope.diff(self.net, self.changed())
        self.assertFalse(found.equal)
        document = found.json
        self.assertEqual(document["kind"], "diff")
        self.assertEqual(document["counts"]["changed"], 1)
        self.assertIsNone(document["left"]["verdict"])
        [tensor] = document["tensors"]
        self.assertEqual(tensor["name"], "2.weight")
        self.assertAlmostEqual(tensor["max_abs"], 0.5, 6)
        self.assertIn("| 2 |", found.markdown)
        self.assertIn("2 was trained", str(found))
        shown = found._repr_mimebundle_()
        self.assertEqual(shown["text/plain"], str(found))
        self.assertEqual(shown["text/markdown"], found.markdown)
        with contextlib.redirect_stdout(io.StringIO()) as out:  # no terminal
            found.explore()
        self.assertEqual(out.getvalue(), f"{found}\n")
        self.assertTrue(torchoscope.diff(self.net, self.changed(), atol=0.6).equal)
        found = torchoscope.diff(self.net, self.changed(), structure=True)
        self.assertTrue(found.equal)

    def test_diff_uses_current_values(self):
        left, right = make_net(), make_net()
        sides = torchoscope.open(left), torchoscope.open(right)
        self.assertTrue(torchoscope.diff(*sides).equal)
        with torch.no_grad():
            right[0].bias.zero_()
        self.assertFalse(torchoscope.diff(*sides).equal)

    def test_a_module_equals_its_state_dict(self):
        module = Saved()
        for state in (module.state_dict(), dict(module.state_dict())):
            path = self.here / "state.pth"
            torch.save(state, path)
            for sides in ((module, path), (path, module)):
                found = torchoscope.diff(*sides)
                self.assertTrue(found.equal, str(found))
                self.assertNotIn("None", str(found))
        self.assertFalse(torchoscope.diff(module, nn.Linear(3, 3)).equal)

    def test_classes_with_the_same_name_show_their_modules(self):
        kinds = [type("Twin", (nn.Linear,), {"__module__": m}) for m in ("one", "two")]
        found = torchoscope.diff(*(nn.Sequential(kind(1, 1)) for kind in kinds))
        self.assertIn("one.Twin → two.Twin", str(found))

    def test_renamed_weights_come_with_the_code_that_loads_them(self):
        state = {
            name.replace("0.", "first."): one
            for name, one in self.net.state_dict().items()
        }
        path = self.here / "renamed.pth"
        torch.save(state, path)
        found = torchoscope.diff(path, self.net)
        self.assertFalse(found.equal)
        names = {"state": state}
        exec(found.python, names)
        self.assertEqual(set(names["state"]), set(self.net.state_dict()))

    def test_recordings_are_compared_by_names_and_shapes(self):
        with torchoscope.record(self.changed()) as other:
            pass
        for side in (other, self.net, torchoscope.open(self.run_path)):
            found = torchoscope.diff(self.recording, side)
            self.assertTrue(found.equal, str(found))
            self.assertIn("values not compared", str(found))
        self.assertFalse(torchoscope.diff(self.recording, nn.Linear(4, 8)).equal)
        self.assertEqual(len(self.recording.calls()), 4)  # still usable

    def test_objects_that_cannot_be_compared_are_refused(self):
        with self.assertRaises(FileNotFoundError):
            torchoscope.diff(self.net, "nothing.pth")
        with self.assertRaisesRegex(TypeError, "holds no module"):
            torchoscope.diff(self.net, 3)
        with self.assertRaisesRegex(ValueError, "rtol"):
            torchoscope.diff(self.net, self.net, rtol=-1)

    def test_many_diffs_and_models_take_no_more_memory(self):
        def ask(times):
            for _ in range(times):
                torchoscope.diff(self.net, self.path)
                torchoscope.diff(self.recording, self.run_path)
                model = torchoscope.open(self.path)
                model["0.weight"].quantiles
                for wrong in ("poem", 3):
                    with self.assertRaises(KeyError):
                        model[wrong]
                with self.assertRaises(ValueError):
                    model._now().json("poem")
            gc.collect()

        ask(50)
        before, objects = resident(), len(gc.get_objects())
        ask(200)
        self.assertLess(len(gc.get_objects()) - objects, 100)
        self.assertLess(resident() - before, 4 << 20)


def resident():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


class InMemory(unittest.TestCase):
    """State_dicts and checkpoints that were loaded, or not saved yet."""

    def setUp(self):
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8))
        self.state = self.model.state_dict()

    def saved(self, thing):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "OrderedDict"
            torch.save(thing, path)
            return torchoscope.open(path)

    def lines(self, opened):
        return [
            line.partition("│")[0].split(": ", 1)[-1]
            for line in opened.tree(columns="params,memory", closing=False).splitlines()
        ]

    def test_a_state_dict_shows_what_its_file_shows(self):
        opened = torchoscope.open(self.state)
        self.assertEqual(self.lines(opened)[1:], self.lines(self.saved(self.state))[1:])
        self.assertIn("~linear 4→8", str(opened))
        self.assertEqual(opened["0.weight"].role, "parameter")
        self.assertEqual(opened["1.running_mean"].role, "buffer")
        self.assertEqual(opened["1.num_batches_tracked"].role, "buffer")
        self.assertEqual(opened["0"].params, 40)
        self.assertNotIn("frozen", str(opened))  # a state_dict does not record it
        with torch.no_grad():
            self.model[0].weight.fill_(3)
        self.assertEqual(opened["0.weight"].mean, 3)

    def test_a_checkpoint(self):
        optimizer = torch.optim.Adam(self.model.parameters())
        self.model(torch.randn(3, 4)).sum().backward()
        optimizer.step()
        whole = {"epoch": 3, "model": self.state, "optimizer": optimizer.state_dict()}
        opened = torchoscope.open(whole)
        self.assertEqual(opened["epoch"], 3)
        self.assertEqual(opened.json["counts"]["unique"], 56)
        state = "optimizer.state.0.exp_avg"
        self.assertEqual(opened[state].role, self.saved(whole)[state].role)
        self.assertTrue(torchoscope.diff(whole, self.saved(whole)).equal)

    def test_diff_and_explore_take_a_dict(self):
        self.assertTrue(torchoscope.diff(self.state, self.model).equal)
        other = {**self.state, "0.weight": self.state["0.weight"] + 1}
        self.assertFalse(torchoscope.diff(self.state, other).equal)
        self.assertIn("0.weight", str(torchoscope.diff(self.model, other)))
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            torchoscope.explore(dict(self.state))
        self.assertIn("~batchnorm 8", shown.getvalue())
        with self.assertRaisesRegex(TypeError, "takes no inputs"):
            torchoscope.explore(self.state, (3, 4))

    def test_unusual_dicts(self):
        for thing in ({}, {"a": 1}, [], [1, 2], ((), {"a": []})):
            with self.assertRaisesRegex(TypeError, "no module and no tensor"):
                torchoscope.open(thing)
        deep = "a." * 100 + "weight"
        odd = {deep: torch.ones(1), "": torch.ones(2), "x.": torch.ones(3), 5: None}
        self.assertEqual(torchoscope.open(odd).json["counts"]["tensors"], 3)
        self.assertEqual(torchoscope.open([torch.ones(2)])["0"].shape, [2])
        with self.assertRaises(TypeError):
            torchoscope.record(self.state).__enter__()

    def test_flat_is_also_a_flag(self):
        opened = torchoscope.open(self.model)
        self.assertEqual(opened.tree(flat=True), opened.tree(flat="leaves"))
        self.assertEqual(opened.tree(flat=False), opened.tree())
        self.assertEqual(len(opened.rows(flat="tensors")), 7)
        wrong = r"flat is one of leaves\|tensors, not 'all'"
        with self.assertRaisesRegex(ValueError, wrong):
            opened.tree(flat="all")


class FakePandas:
    """As much of pandas as to_pandas() uses."""

    class DataFrame:
        def __init__(self, rows, columns):
            self.rows, self.columns = rows, columns

        def __getitem__(self, name):
            return [row.get(name) for row in self.rows]


class Pandas(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
        self.fake = mock.patch.dict(sys.modules, {"pandas": FakePandas})

    def test_of_a_model(self):
        with self.fake:
            frame = torchoscope.open(self.model).to_pandas()
            self.assertEqual(frame["name"], ["0.weight", "0.bias"])
            self.assertEqual(frame["numel"], [32, 8])
            frame = torchoscope.open(self.model).to_pandas("modules")
            self.assertEqual(frame["params"], [40, 40, 0])
            with self.assertRaisesRegex(ValueError, "one of tensors, modules, not"):
                torchoscope.open(self.model).to_pandas("calls")

    def test_of_a_recording_and_a_summary(self):
        found = torchoscope.summary(self.model, (3, 4), backward=True)
        with self.fake:
            for one in (found, found.recording):
                frame = one.to_pandas()
                self.assertEqual(frame["calls"], [1, 1, 1])
                self.assertEqual(frame["out_shape"], [[3, 8]] * 3)
                frame = one.to_pandas("calls")
                self.assertEqual(frame["name"], ["", "0", "1"])
                self.assertEqual(frame["out_min"][2], 0)
                frame = one.to_pandas("parameters")
                self.assertIn("std", frame.columns)
                self.assertEqual(len(one.to_pandas("tensors")["name"]), 2)
            frame = torchoscope.summary(self.model).to_pandas()
            self.assertEqual(frame["name"], ["", "0", "1"])

    def test_without_pandas_the_error_says_what_to_do(self):
        with mock.patch.dict(sys.modules, {"pandas": None}):
            with self.assertRaisesRegex(ImportError, "pip install pandas"):
                torchoscope.open(self.model).to_pandas()

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "pandas is not installed")
    def test_real_frames(self):
        found = torchoscope.summary(self.model, (3, 4))
        self.assertEqual(found.to_pandas("calls").shape[0], 3)
        self.assertEqual(found.to_pandas()["params"].sum(), 80)


if __name__ == "__main__":
    unittest.main()
