"""watch(backend=...): steps go to TensorBoard, CSV, wandb, trackio and callbacks, and
trainers of other packages are watched. Real packages read what was written."""

import contextlib
import csv
import glob
import importlib.machinery
import importlib.util
import json
import logging
import math
import os
import sqlite3
import subprocess
import sys
import types
import unittest
import unittest.mock
import warnings

import torch
from folder import TemporaryFolder

import torchoscope
from identity_test import seed

torch.set_num_threads(1)


def needs(name):
    found = importlib.util.find_spec(name) is not None
    return unittest.skipUnless(found, f"no {name} here")


class Block(torch.nn.Module):
    """An operation that is no module, two results, a module that runs twice."""

    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(4, 4)
        self.act = torch.nn.ReLU()

    def forward(self, x):
        return self.act(self.a(self.act(x))) + x


def small():
    seed()
    return torch.nn.Sequential(torch.nn.Linear(4, 4), Block(), torch.nn.Linear(4, 2))


def train(model, steps=4, handle=None):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        loss = model(torch.randn(3, 4)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if handle:
            handle.log(accuracy=step / 8)
            if handle._writer:
                handle._writer.flush()  # a busy disk drops steps
    return losses


def evaluate(model):
    with torch.no_grad():
        model.eval()(torch.randn(3, 4))
    model.train()


class Sinks(TemporaryFolder):
    def watch(self, model, **options):
        options = {"log_freq": 1, "dir": str(self.folder), **options}
        handle = torchoscope.watch(model, **options)
        self.addCleanup(handle.close)
        return handle

    def watched(self, backend, **options):
        """A training with evaluation, and its closed handle."""
        model = small()
        handle = self.watch(model, backend=backend, **options)
        train(model, 4, handle)
        evaluate(model)
        handle.close()
        return handle


class Words(Sinks):
    def test_unknown_words_and_missing_packages_are_refused_at_once(self):
        with self.assertRaisesRegex(
            ValueError, "backend: no 'disk'; there are 'file', 'standalone', 'none', 't"
        ):
            torchoscope.watch(small(), backend="disk")
        with self.assertRaisesRegex(ValueError, "backend: no 3"):
            torchoscope.watch(small(), backend=["file", 3])
        with unittest.mock.patch.object(importlib.util, "find_spec", lambda name: None):
            with self.assertRaisesRegex(ModuleNotFoundError, "pip install wandb"):
                torchoscope.watch(small(), backend="wandb")

    def test_without_file_there_is_none(self):
        handle = self.watched(["csv"])
        self.assertIsNone(handle.path)
        self.assertEqual(glob.glob(f"{self.folder}/**/*.scope*", recursive=True), [])
        self.assertEqual(
            sorted(os.listdir(handle.folder)), ["scalars.csv", "series.csv"]
        )

    def test_a_folder_that_cannot_be_made_costs_only_that_backend(self):
        model, found = small(), []
        handle = self.watch(model, backend=["file", "csv", found.append])
        (self.folder / os.path.basename(handle.folder)).write_text("in the way")
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            train(model)
            handle.close()
        self.assertEqual(len(told), 1)
        self.assertRegex(str(told[0].message), "backend csv: .*scalars.csv")
        self.assertEqual(torchoscope.open(handle.path).steps, [0, 1, 2, 3])
        self.assertEqual(len(found), 4)

    def test_training_stays_the_same_to_the_bit(self):
        plain = small()
        losses = train(plain)
        model, found = small(), []
        handle = self.watch(model, backend=["file", "tensorboard", "csv", found.append])
        self.assertEqual(train(model), losses)
        handle.close()
        for one, other in zip(plain.parameters(), model.parameters(), strict=True):
            self.assertTrue(torch.equal(one, other))
        self.assertEqual(len(found), 4)


class Callbacks(Sinks):
    def test_a_function_gets_each_step_with_its_tensors(self):
        steps = []
        handle = self.watched(["file", steps.append])
        run = torchoscope.open(handle.path)
        phases = [(step.number, step.phase) for step in steps]
        self.assertEqual(phases, [*((n, "train") for n in range(4)), (3, "eval")])
        for name, series in run.scalars().items():
            found = [step.scalars[name] for step in steps if step.phase == "train"]
            self.assertEqual(found, series["value"], name)
        self.assertEqual(steps[2].scalars["accuracy"], 2 / 8)
        for wanted in run.all_series():
            key = {"place": wanted["name"]} | {
                k: wanted[k] for k in ("kind", "call", "path")
            }
            at = [s for s in steps if s.phase == wanted["phase"]]
            points = [
                [p for p in s.points if all(getattr(p, k) == key[k] for k in key)]
                for s in at
            ]
            self.assertEqual({len(one) for one in points}, {1}, key)
            series = run.series(*wanted_words(wanted))
            for column in ("count", "zeros", "min", "max", "mean", "std", "l2"):
                found = [one[0].stats[column] for one in points]
                self.assertEqual(found, series[column], (key, column))
        self.assertTrue(all(step.alarms == [] and step.time > 1e9 for step in steps))

    def test_histograms_hold_all_elements(self):
        steps = []
        self.watched(steps.append)
        for point in steps[-2].points:
            found = point.histogram
            self.assertEqual(len(found["edges"]), len(found["counts"]) + 1)
            self.assertEqual(sum(found["counts"]), point.stats["count"])
            self.assertEqual(found["edges"], sorted(set(found["edges"])))
            self.assertLessEqual(found["edges"][0], point.stats["min"])
            self.assertGreaterEqual(found["edges"][-1], point.stats["max"])
        tags = [point.tag for point in steps[-1].points]
        self.assertIn("eval/output/1.act/call_1", tags)
        self.assertIn("eval/output/(root)", tags)
        self.assertEqual(len(tags), len(set(tags)))

    def test_an_exception_is_told_once_and_reaches_nobody(self):
        model, others = small(), []

        def fails(step):
            raise ZeroDivisionError(f"at step {step.number}")

        handle = self.watch(model, backend=[fails, others.append])
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            train(model)
            handle.close()
        texts = [str(one.message) for one in told]
        self.assertEqual(len(texts), 1, texts)
        self.assertIn("backend fails: ZeroDivisionError: at step 0", texts[0])
        self.assertEqual([step.number for step in others], [0, 1, 2, 3])

    def test_scalars_of_a_step_that_is_not_logged_come_too(self):
        model, steps = small(), []
        handle = self.watch(model, backend=steps.append, log_freq=3)
        train(model, 4, handle)
        handle.close()
        self.assertEqual(
            [bool(step.points) for step in steps], [True, False, False, True]
        )
        self.assertEqual(
            [step.scalars["accuracy"] for step in steps], [0, 1 / 8, 2 / 8, 3 / 8]
        )

    def test_a_function_may_log_and_close(self):
        model = small()

        def stop(step):
            if step.number == 1:
                handle.log(stopped=1)
                handle.close()

        handle = self.watch(model, backend=["file", stop])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            train(model)
        self.assertEqual(torchoscope.open(handle.path).steps, [0, 1])


def wanted_words(row):
    return row["name"], row["kind"], row["call"], row["path"], row["phase"]


class Csv(Sinks):
    def rows(self, handle, name):
        with open(os.path.join(handle.folder, name), newline="") as file:
            return list(csv.DictReader(file))

    def test_tables_have_the_numbers_of_the_file(self):
        handle = self.watched(["file", "csv"])
        run = torchoscope.open(handle.path)
        scalars = self.rows(handle, "scalars.csv")
        for name, series in run.scalars().items():
            found = [float(row["value"]) for row in scalars if row["name"] == name]
            self.assertEqual(found, series["value"], name)
        table = self.rows(handle, "series.csv")
        for wanted in run.all_series():
            key = {k: str(v) for k, v in wanted.items()}
            rows = [row for row in table if key.items() <= row.items()]
            series = run.series(*wanted_words(wanted))
            self.assertEqual([int(row["step"]) for row in rows], series.steps)
            for column in ("count", "min", "mean", "std", "l2"):
                found = [float(row[column]) for row in rows]
                self.assertEqual(
                    found, [float(x) for x in series[column]], (key, column)
                )
        self.assertEqual(
            len(table), sum(len(run.series(*wanted_words(w))) for w in run.all_series())
        )


class Parts(Sinks):
    def test_steps_are_right_if_only_parts_of_the_model_are_called(self):
        model, steps = small(), []
        self.watch(model, backend=steps.append)
        optimizer, by_hand = torch.optim.SGD(model.parameters(), lr=0.1), []
        for _ in range(4):
            optimizer.zero_grad()
            loss = model[2](model[0](torch.randn(3, 4))).square().mean()
            loss.backward()
            by_hand.append((loss.item(), model[0].weight.grad.max().item()))
            optimizer.step()
        torchoscope.unwatch(model)
        self.assertEqual([step.number for step in steps], [0, 1, 2, 3])
        for step, (loss, most) in zip(steps, by_hand, strict=True):
            self.assertEqual(step.scalars["loss"], loss)
            (point,) = (p for p in step.points if p.tag == "grad_param/0.weight")
            self.assertEqual(point.stats["max"], most)


# --- TensorBoard


@needs("tensorboard")
class TensorBoard(Sinks):
    def read(self, folder):
        from tensorboard.backend.event_processing import event_accumulator

        everything = dict.fromkeys(event_accumulator.DEFAULT_SIZE_GUIDANCE, 0)
        found = event_accumulator.EventAccumulator(folder, everything)
        found.Reload()
        return found

    def test_scalars_are_those_of_the_file(self):
        handle = self.watched(["file", "tensorboard"])
        run, found = torchoscope.open(handle.path), self.read(handle.folder)
        self.assertEqual(len(os.listdir(handle.folder)), 1)
        for name, series in run.scalars().items():
            events = found.Scalars(name)
            self.assertEqual([event.step for event in events], series.steps)
            for event, value in zip(events, series["value"], strict=True):
                self.assertTrue(math.isclose(event.value, value, rel_tol=1e-6))
        ratios = [event.value for event in found.Scalars("update_ratio/0.weight")]
        wanted = run.series("0.weight", "update")["ratio"]
        for ratio, value in zip(ratios, wanted, strict=True):
            self.assertTrue(math.isclose(ratio, value, rel_tol=1e-6))

    def test_histograms_are_those_of_the_tensors(self):
        model = small()
        handle = self.watch(model, backend="tensorboard")
        by_hand, optimizer = [], torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(3, 4)).square().mean().backward()
            by_hand.append(model[0].weight.grad.clone().double())
            optimizer.step()
        handle.close()
        events = self.read(handle.folder).Histograms("grad_param/0.weight")
        self.assertEqual([event.step for event in events], [0, 1, 2])
        for event, x in zip(events, by_hand, strict=True):
            found = event.histogram_value
            self.assertEqual(found.min, x.min().item())
            self.assertEqual(found.max, x.max().item())
            self.assertEqual(found.num, x.numel())
            self.assertTrue(math.isclose(found.sum, x.sum(), abs_tol=1e-7))
            self.assertTrue(
                math.isclose(found.sum_squares, x.square().sum(), rel_tol=1e-6)
            )
            limits = torch.tensor([-math.inf, *found.bucket_limit]).double()
            for i, count in enumerate(found.bucket):
                inside = (x >= limits[i]) & (x < limits[i + 1])
                self.assertEqual(inside.sum().item(), count)

    def test_the_graph_has_the_modules_and_what_flows_between_them(self):
        handle = self.watched("tensorboard")
        nodes = {node.name: node for node in self.read(handle.folder).Graph().node}
        self.assertEqual(nodes["1/a"].op, "Linear")
        self.assertEqual(list(nodes["0"].input), ["inputs/input"])
        self.assertEqual(list(nodes["1/act"].input), ["0"])
        self.assertEqual(list(nodes["1/a"].input), ["1/act"])
        self.assertEqual(list(nodes["1/act/call_1"].input), ["1/a"])
        # The addition is no module: only the order is known.
        self.assertEqual(list(nodes["1/(result)"].input), ["^1/act/call_1"])
        self.assertEqual(list(nodes["2"].input), ["1/(result)"])
        shape = nodes["2"].attr["_output_shapes"].list.shape[0]
        self.assertEqual([dim.size for dim in shape.dim], [3, 2])
        names = set(nodes)
        for node in nodes.values():
            self.assertLessEqual({name.lstrip("^") for name in node.input}, names)

    def test_checksums_hold_and_a_wrong_byte_is_seen(self):
        from tensorboard.compat.tensorflow_stub import errors
        from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import (
            PyRecordReader_New,
        )

        def records(data):
            path = self.folder / "events"
            path.write_bytes(data)
            reader, found = PyRecordReader_New(str(path)), []
            with contextlib.suppress(errors.OutOfRangeError):
                while True:
                    reader.GetNext()
                    found.append(reader.record())
            return found

        handle = self.watched("tensorboard")
        with open(glob.glob(f"{handle.folder}/events.out.tfevents.*")[0], "rb") as file:
            data = file.read()
        self.assertEqual(len(records(data)), 7)  # version, graph, 4 steps, evaluation
        spoilt = bytearray(data)
        spoilt[-10] ^= 1
        with self.assertRaises(errors.DataLossError):
            records(bytes(spoilt))

    def test_evaluation_has_tags_of_its_own(self):
        tags = self.read(self.watched("tensorboard").folder).Tags()["histograms"]
        self.assertIn("eval/output/2", tags)
        self.assertNotIn("eval/param/0.weight", tags)


# --- wandb and trackio


def wandb_records(path):
    """The records of an offline run: a log of blocks, as LevelDB writes them."""
    from wandb.proto import wandb_internal_pb2

    with open(path, "rb") as file:
        data = file.read()
    at, whole = 7, b""
    while at < len(data):
        if 32768 - at % 32768 < 7:
            at += 32768 - at % 32768
            continue
        size, kind = int.from_bytes(data[at + 4 : at + 6], "little"), data[at + 6]
        whole += data[at + 7 : at + 7 + size]
        at += 7 + size
        if kind in (1, 4):  # a whole record, or the last part of one
            record = wandb_internal_pb2.Record()
            record.ParseFromString(whole)
            whole = b""
            yield record


@needs("wandb")
class Wandb(Sinks):
    def setUp(self):
        super().setUp()
        settings = {"WANDB_MODE": "offline", "WANDB_SILENT": "true"}
        settings |= {"WANDB_DIR": str(self.folder), "WANDB_CONSOLE": "off"}
        settings |= {"WANDB_DISABLE_GIT": "true", "WANDB_ERROR_REPORTING": "false"}
        settings |= {
            "WANDB_CACHE_DIR": str(self.folder),
            "WANDB_CONFIG_DIR": str(self.folder),
        }
        patch = unittest.mock.patch.dict(os.environ, settings)
        patch.start()
        self.addCleanup(patch.stop)

    def rows(self):
        """The rows of the only run, when its file is complete."""
        import wandb

        wandb.teardown()
        (path,) = glob.glob(f"{self.folder}/wandb/offline-run-*/*.wandb")
        found = []
        for record in wandb_records(path):
            if record.WhichOneof("record_type") == "history":
                row = {}
                for item in record.history.item:
                    key = list(item.nested_key) or [item.key]
                    row["|".join(key)] = json.loads(item.value_json)
                found.append(row)
        return found, os.path.dirname(path)

    def check_page(self, folder):
        pages = glob.glob(f"{folder}/files/media/html/torchoscope/explorer_*.html")
        self.assertEqual(len(pages), 2)  # the first step, and all of them
        for page in pages:
            with open(page) as file:
                text = file.read()
            self.assertIn("<!doctype html>", text[:100].lower())
            self.assertIn("Linear", text)

    def test_a_run_of_its_own_has_every_step(self):
        handle = self.watched(["file", "wandb"])
        rows, folder = self.rows()
        run = torchoscope.open(handle.path)
        losses = [row["torchoscope/loss"] for row in rows if "torchoscope/loss" in row]
        self.assertEqual(losses, run.scalars()["loss"]["value"])
        self.assertEqual([row["_step"] for row in rows], [0, 1, 2, 3])
        self.assertEqual(rows[1]["grad_param/0.weight|_type"], "histogram")
        counts = rows[1]["grad_param/0.weight|values"]
        edges = rows[1]["grad_param/0.weight|bins"]
        self.assertEqual((sum(counts), len(edges)), (16, len(counts) + 1))
        self.assertLessEqual(edges[0], run.series("0.weight", "grad_param")["min"][1])
        self.assertIn("eval/output/2|values", rows[3])
        self.check_page(folder)

    def test_in_a_run_of_the_user_it_joins_their_rows(self):
        import wandb

        run = wandb.init(project="theirs")
        model = small()
        handle = self.watch(model, backend=["file", "wandb"])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(3):
            optimizer.zero_grad()
            model(torch.randn(3, 4)).square().mean().backward()
            optimizer.step()
            run.log({"loss": step}, step=10 * step)
        handle.close()
        self.assertIs(wandb.run, run)  # it goes on
        run.log({"loss": 3}, step=30)
        run.finish()
        rows, folder = self.rows()
        self.assertEqual([row["loss"] for row in rows], [0, 1, 2, 3])
        self.assertEqual([row["_step"] for row in rows], [0, 10, 20, 30])
        found = [row.get("torchoscope/step") for row in rows]
        self.assertEqual(found, [0, 1, 2, None])
        self.assertIn("param/0.weight|values", rows[1])
        self.check_page(folder)


@needs("trackio")
class Trackio(Sinks):
    """The real package, offline. trackio 0.43 needs no gradio: with what it brings it is
    60 MB, and imported in a second."""

    def rows_of(self, script, project):
        """What a script logged: [(step, dict)]."""
        # It takes its folder from the environment when it is imported.
        there = os.environ | {"TRACKIO_DIR": str(self.folder), "HF_HUB_OFFLINE": "1"}
        done = subprocess.run(
            [sys.executable, "-c", script], env=there, capture_output=True, text=True
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        path = self.folder / f"{project}.db"
        with contextlib.closing(sqlite3.connect(path)) as db:
            rows = db.execute(
                "SELECT step, metrics FROM metrics ORDER BY id"
            ).fetchall()
        return [(step, json.loads(text)) for step, text in rows]

    def test_a_run_of_its_own_has_scalars_histograms_and_the_page(self):
        script = f"""
import torch, torchoscope
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torchoscope.watch(model, log_freq=1, dir={str(self.folder)!r}, backend="trackio")
for _ in range(3):
    optimizer.zero_grad()
    model(torch.randn(3, 4)).square().mean().backward()
    optimizer.step()
"""
        found = self.rows_of(script, "torchoscope")
        self.assertEqual(found[0][1]["torchoscope/explorer"]["_type"], "trackio.html")
        self.assertEqual([step for step, _ in found[1:]], [0, 1, 2])
        self.assertIn("torchoscope/loss", found[1][1])
        self.assertEqual(sum(found[1][1]["param/weight"]["values"]), 8)

    def test_in_a_run_of_the_user_it_adds_rows(self):
        script = f"""
import torch, torchoscope, trackio
run = trackio.init(project="theirs")
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
handle = torchoscope.watch(
    model, log_freq=1, dir={str(self.folder)!r}, backend=["file", "trackio"])
for step in range(3):
    optimizer.zero_grad()
    model(torch.randn(3, 4)).square().mean().backward()
    optimizer.step()
    trackio.log({{"own": step}}, step=step)
handle.close()
trackio.log({{"own": 3}}, step=3)  # it goes on
trackio.finish()
"""
        found = self.rows_of(script, "theirs")
        own = [(step, row["own"]) for step, row in found if "own" in row]
        self.assertEqual(own, [(0, 0), (1, 1), (2, 2), (3, 3)])
        ours = [step for step, row in found if "torchoscope/loss" in row]
        self.assertEqual(ours, [0, 1, 2])
        pages = [row for _, row in found if "torchoscope/explorer" in row]
        self.assertEqual(len(pages), 2)  # after the first step, and of all


class FakeTracker(types.ModuleType):
    """As much of trackio as is used."""

    def __init__(self):
        super().__init__("trackio")
        self.__spec__ = importlib.machinery.ModuleSpec("trackio", None)
        self.context_vars = types.SimpleNamespace(current_run=types.SimpleNamespace())
        self.context_vars.current_run.get = lambda: None
        self.told = []
        self.Html = lambda html, inject: "page"
        self.Histogram = lambda np_histogram: "histogram"

    def init(self, project, name):
        self.told.append("init")
        log = lambda row, step=None: self.told.append(step)  # noqa: E731
        return types.SimpleNamespace(log=log, finish=lambda: self.told.append("finish"))


class Ends(Sinks):
    """A run that was begun is ended, whatever happens."""

    def fake(self):
        found = FakeTracker()
        patch = unittest.mock.patch.dict(sys.modules, {"trackio": found})
        patch.start()
        self.addCleanup(patch.stop)
        return found

    def test_with_steps_and_without(self):
        found = self.fake()
        self.watch(small(), backend="trackio").close()
        self.assertEqual(found.told, ["init", "finish"])
        found.told.clear()
        self.watched("trackio")
        self.assertEqual(found.told, ["init", None, 0, 1, 2, 3, 3, "finish"])

    def test_if_the_file_cannot_be_made(self):
        found, model = self.fake(), small()
        (self.folder / "taken").write_text("no folder")
        self.watch(model, backend=["file", "trackio"], dir=self.folder / "taken")
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            train(model)
        self.assertEqual(len(told), 1)
        self.assertEqual(found.told, ["init", "finish"])


# --- trainers


def lightning_module(package, fails_at=None):
    class Module(package.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = small()

        def training_step(self, batch, number):
            if number == fails_at:
                raise RuntimeError("in the middle")
            loss = self.net(batch).square().mean()
            self.log("train_loss", loss)
            self.log("step", 7.0)  # as log() itself calls its argument
            self.log("mean_loss", loss, on_step=False, on_epoch=True)
            return loss

        def validation_step(self, batch, number):
            self.log("val_loss", self.net(batch).square().mean())

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    return Module()


class Lightning(Sinks):
    def fit(self, name, fails_at=None, **options):
        package = importlib.import_module(name)
        sys.modules["torchoscope.callbacks"].__dict__.pop("LightningWatch", None)
        from torchoscope.callbacks import LightningWatch

        watch = LightningWatch(dir=str(self.folder), log_freq=1)
        self.addCleanup(watch.close)
        data = torch.utils.data.DataLoader(torch.randn(12, 4), batch_size=3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            logging.getLogger(name).setLevel(logging.ERROR)
            logging.getLogger(f"{name}.utilities.rank_zero").setLevel(logging.ERROR)
            trainer = package.Trainer(
                max_epochs=2, callbacks=[watch], logger=False, log_every_n_steps=1,
                accelerator="cpu", enable_checkpointing=False,
                enable_progress_bar=False, enable_model_summary=False,
                default_root_dir=self.folder, **options,
            )  # fmt: skip
            trainer.fit(lightning_module(package, fails_at), data, data)
        return trainer, watch

    def check(self, name):
        _, watch = self.fit(name)
        run = torchoscope.open(watch.handle.path)
        self.assertEqual(
            run.steps, [1, 2, 3, 4, 5, 6, 7, 8]
        )  # the trainer's global_step
        scalars = run.scalars()
        self.assertEqual(scalars["train_loss"].steps, run.steps)
        self.assertEqual(scalars["val_loss"].steps, [4, 8])
        self.assertEqual(scalars["mean_loss"].steps, [4, 8])
        self.assertEqual(run.eval_steps(), [4, 8])
        for one, other in zip(
            scalars["train_loss"]["value"], scalars["loss"]["value"], strict=True
        ):
            self.assertTrue(math.isclose(one, other, rel_tol=1e-6))
        weights = run.series("net.0.weight", "param")
        self.assertEqual(weights.steps, run.steps)
        seed()
        self.assertEqual(weights["max"][0], small()[0].weight.max().item())
        self.assertFalse(glob.glob(f"{self.folder}/*.scope-wal"))

    @needs("lightning")
    def test_lightning(self):
        import torchoscope.callbacks  # noqa: F401

        self.check("lightning.pytorch")

    @needs("pytorch_lightning")
    def test_pytorch_lightning(self):
        import torchoscope.callbacks  # noqa: F401

        self.check("pytorch_lightning")

    @needs("lightning")
    def test_an_exception_closes_the_file(self):
        import torchoscope.callbacks  # noqa: F401

        with self.assertRaisesRegex(RuntimeError, "in the middle"):
            self.fit("lightning.pytorch", fails_at=2)
        (path,) = glob.glob(f"{self.folder}/*.scope*")
        self.assertEqual(torchoscope.open(path).steps, [1, 2])

    @needs("lightning")
    def test_accumulated_batches_are_one_step(self):
        import torchoscope.callbacks  # noqa: F401

        _, watch = self.fit("lightning.pytorch", accumulate_grad_batches=2)
        self.assertEqual(torchoscope.open(watch.handle.path).steps, [1, 2, 3, 4])


@needs("accelerate")
class Transformers(Sinks):
    def test_a_trainer_is_watched_in_three_lines(self):
        import transformers

        from torchoscope.callbacks import TrainerWatch

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.net = small()

            def forward(self, x, labels):
                out = self.net(x)
                return {"loss": (out - labels).square().mean(), "logits": out}

        data = [{"x": torch.randn(4), "labels": torch.randn(2)} for _ in range(12)]
        watch = TrainerWatch(dir=str(self.folder), log_freq=1, backend=["file", "csv"])
        self.addCleanup(watch.close)
        settings = transformers.TrainingArguments(
            output_dir=str(self.folder / "out"), max_steps=4, logging_steps=2,
            eval_steps=2, per_device_train_batch_size=3, eval_strategy="steps",
            report_to=[], save_strategy="no", use_cpu=True, disable_tqdm=True,
        )  # fmt: skip
        trainer = transformers.Trainer(
            Model(),
            settings,
            train_dataset=data,
            eval_dataset=data[:3],
            callbacks=[watch],
        )
        with contextlib.redirect_stdout(None):
            trainer.train()
        run = torchoscope.open(watch.handle.path)
        self.assertEqual(run.steps, [1, 2, 3, 4])  # the trainer's global_step
        scalars = run.scalars()
        self.assertEqual(scalars["loss"].steps, [1, 2, 3, 4])
        self.assertEqual(scalars["train/loss"].steps, [2, 4])
        self.assertEqual(scalars["eval/loss"].steps, [2, 4])
        mean = sum(scalars["loss"]["value"][:2]) / 2
        self.assertTrue(
            math.isclose(scalars["train/loss"]["value"][0], mean, abs_tol=1e-3)
        )
        self.assertEqual(run.series("net.0.weight", "update").steps, [1, 2, 3, 4])
        self.assertIn("series.csv", os.listdir(watch.handle.folder))
        self.assertFalse(glob.glob(f"{self.folder}/*.scope-wal"))

    def test_the_loss_of_accumulated_batches_is_that_of_the_trainer(self):
        """The trainer tells the model how many labels a step has: .loss is a share."""
        import transformers

        from torchoscope.callbacks import TrainerWatch

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.net = small()

            def forward(self, x, labels, num_items_in_batch=None, **kwargs):
                out = self.net(x)
                loss = (out - labels).square().sum()
                return {"loss": loss / (num_items_in_batch or labels.numel()), "out": out}

        data = [{"x": torch.randn(4), "labels": torch.randn(2)} for _ in range(12)]
        watch = TrainerWatch(dir=str(self.folder), log_freq=1)
        self.addCleanup(watch.close)
        settings = transformers.TrainingArguments(
            output_dir=str(self.folder / "out"), max_steps=3, logging_steps=1,
            per_device_train_batch_size=2, gradient_accumulation_steps=3,
            report_to=[], save_strategy="no", use_cpu=True, disable_tqdm=True,
        )  # fmt: skip
        trainer = transformers.Trainer(
            Model(), settings, train_dataset=data, callbacks=[watch]
        )
        with contextlib.redirect_stdout(None):
            trainer.train()
        scalars = torchoscope.open(watch.handle.path).scalars()
        for one, other in zip(
            scalars["loss"]["value"], scalars["train/loss"]["value"], strict=True
        ):
            self.assertTrue(math.isclose(one, other, rel_tol=1e-5), (one, other))


if __name__ == "__main__":
    unittest.main()
