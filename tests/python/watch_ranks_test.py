"""watch() in trainings of several ranks: DDP, FSDP2 and plain torch.distributed on gloo.
WATCH_RANKS=4 adds the long form (make soak)."""
# flavours: both

import csv
import glob
import importlib
import importlib.util
import math
import os
import socket
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import torch

import torchoscope
from torchoscope import op_kinds

HERE = os.path.dirname(os.path.abspath(__file__))
HAS_FSDP = hasattr(torch, "compiler")  # fully_shard(); 1.13 has only FSDP1
LONG = os.environ.get("WATCH_RANKS") == "4"
KINDS = ("ddp", "plain") + (("fsdp",) if HAS_FSDP else ())


def setUpModule():
    optimizer = importlib.import_module("torch.optim.optimizer")
    new = hasattr(optimizer, "register_optimizer_step_post_hook")
    if not new and importlib.util.find_spec("torchoscope.step_hooks") is None:
        raise unittest.SkipTest("this torch tells of no optimizer's step")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def launch(folder, ranks, *jobs):
    """Runs jobs of ranks_worker.py, each in a folder below `folder`:
    [(exit status, what it printed), ...]"""
    where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    where |= {"WORLD_SIZE": str(ranks), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, os.path.join(HERE, "ranks_worker.py"), folder, *jobs]
    processes = [
        subprocess.Popen(
            command,
            env={**os.environ, **where, "RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(ranks)
    ]
    try:
        printed = [one.communicate(timeout=300)[0] for one in processes]
    finally:
        for one in processes:
            one.kill()
    return [(one.returncode, text) for one, text in zip(processes, printed)]


def runs(folder):
    """The folders of runs."""
    return sorted(one for one in glob.glob(f"{folder}/*") if os.path.isdir(one))


class Jobs(unittest.TestCase):
    """Starting a process takes longer than a training: all jobs run in the same."""

    ranks, jobs, env = 2, (), {}

    @classmethod
    def setUpClass(cls):
        if cls.jobs:
            folder = tempfile.TemporaryDirectory()
            cls.addClassCleanup(folder.cleanup)
            cls.folder = folder.name
            with mock.patch.dict(os.environ, cls.env):
                cls.ended = launch(cls.folder, cls.ranks, *cls.jobs)

    def job(self, name):
        """The folder of a job."""
        for status, text in self.ended:
            self.assertEqual(status, 0, text)
        return os.path.join(self.folder, name)

    def saved(self, name, ranks):
        """What ranks saved."""
        load = {} if not HAS_FSDP else {"weights_only": False}
        return [torch.load(f"{name}{rank}.pt", **load) for rank in range(ranks)]

    def same_point(self, series, at, tensors, name):
        x = torch.cat([one.double().reshape(-1) for one in tensors])
        self.assertEqual(series["count"][at], x.numel(), name)
        self.assertEqual(series["zeros"][at], int((x == 0).sum()), name)
        self.assertEqual(series["min"][at], x.min().item(), name)
        self.assertEqual(series["max"][at], x.max().item(), name)
        mean, std = x.mean().item(), x.std().item()
        scale = x.abs().max().item()
        self.assertLess(abs(series["mean"][at] - mean), 1e-9 * max(scale, 1e-30), name)
        self.assertTrue(math.isclose(series["std"][at], std, rel_tol=1e-9), name)
        self.same_histogram(series.histograms[at], x, name)

    def same_histogram(self, histogram, x, name):
        edges, counts = histogram["edges"], histogram["counts"]
        self.assertEqual((histogram["counted"], histogram["of"]), (x.numel(),) * 2, name)
        width = edges[1] - edges[0]
        self.assertEqual(math.frexp(width)[0], 0.5, name)  # a power of two
        bins = (x / width).floor().long() - round(edges[0] / width)
        wanted = torch.bincount(bins, minlength=len(counts)).tolist()
        self.assertEqual(counts, wanted, name)

    def same_run(self, run, by_hand):
        """Every series is that of the ranks' tensors together; `by_hand` is by rank."""
        self.assertEqual(run.steps, list(range(len(by_hand[0]))))
        for name, what in by_hand[0][0]:
            series = run.series(name, what)
            for step in run.steps:
                tensors = [one[step][name, what] for one in by_hand]
                self.same_point(series, step, tensors, f"{name} {what} {step}")
        self.assertEqual(run.alarms(), [])

    def has_operations(self, path):
        if op_kinds.why_not() is None:
            found = {op.phase for op in torchoscope.open(path).ops()}
            self.assertEqual(found, {"forward", "backward", "optimizer"}, path)

    def check_merged(self):
        folder = self.job(self.jobs[0])
        found = self.saved(os.path.join(folder, "found"), self.ranks)
        for kind, before in found[0]:
            with self.subTest(kind, watched_before_wrapping=before):
                self.check_kind(kind, [one[kind, before] for one in found])

    def check_kind(self, kind, found):
        """One training of all ranks; `found` is by rank."""
        folder = os.path.dirname(found[0]["path"])
        for rank, one in enumerate(found):
            self.assertEqual(one["differ"], [], f"rank {rank} trained differently")
            self.assertEqual(*one["collectives"], "communication of our own")
            self.assertEqual(one["path"], os.path.join(folder, f"rank{rank}.scope"))
            self.has_operations(one["path"])
        run = torchoscope.open(folder)
        self.assertEqual(run.ranks, list(range(self.ranks)))
        self.same_run(run, [one["by_hand"] for one in found])
        self.assertEqual("params/checksum" in run.scalars(), kind != "fsdp")
        losses = [run.rank(rank).scalars()["loss"]["value"] for rank in run.ranks]
        means = [math.fsum(row) / self.ranks for row in zip(*losses)]
        for value, mean in zip(run.scalars()["loss"]["value"], means):
            self.assertTrue(math.isclose(value, mean, rel_tol=1e-12))


class TwoRanks(Jobs):
    jobs = (f"merged,{','.join(KINDS)}", "drift", "group,whole", "group,drift")
    jobs += ("spoilt", "spoilt,group")

    def test_they_are_merged_exactly_and_train_as_if_nobody_watched(self):
        self.check_merged()

    def test_parameters_that_drift_apart_are_an_alarm(self):
        (folder,) = runs(self.job("drift"))
        (alarm,) = torchoscope.open(folder).alarms()
        self.assertEqual(alarm["kind"], "rank-drift")
        self.assertEqual((alarm["step"], alarm["rank"]), (2, 1))
        self.assertEqual(alarm["name"], "small.bias")
        program = os.environ["TORCHOSCOPE"]
        done = subprocess.run(
            [program, "check", folder], stdout=subprocess.PIPE, text=True
        )
        self.assertEqual(done.returncode, 1)
        self.assertIn("step 2: rank 1: small.bias: the parameters", done.stdout)
        done = subprocess.run([program, "info", folder], stdout=subprocess.PIPE, text=True)
        self.assertIn("; 2 ranks", done.stdout)

    def test_rank_0_writes_the_merged_steps_of_a_group(self):
        folder = self.job("group,whole")
        (run,) = map(torchoscope.open, runs(folder))
        self.assertEqual(run.ranks, [0])
        self.same_run(run, self.saved(os.path.join(folder, "whole"), 2))
        self.has_operations(runs(folder)[0])

    def test_a_group_sees_drift_while_training(self):
        (run,) = map(torchoscope.open, runs(self.job("group,drift")))
        (alarm,) = run.alarms()
        self.assertEqual((alarm["kind"], alarm["step"]), ("rank-drift", 2))


    def test_an_alarm_of_one_rank_and_what_it_saves(self):
        (folder,) = runs(self.job("spoilt"))
        run = torchoscope.open(folder)
        found = self.saved(os.path.join(self.job("spoilt"), "spoilt"), 2)
        self.assertEqual(found[0]["told"], [])
        (told,) = found[1]["told"]
        (alarm,) = [one for one in run.alarms() if one["kind"] != "rank-drift"]
        self.assertEqual((alarm["kind"], alarm["step"], alarm["rank"]), ("nan", 2, 1))
        self.assertEqual((told["kind"], told["text"]), ("nan", alarm["text"]))
        stems = [os.path.join(folder, f"rank{rank}") for rank in (0, 1)]
        self.assertEqual([one["stem"] for one in found], stems)
        files = ["rank0", "rank0.scope", "rank1", "rank1.nan.scope", "rank1.scope"]
        self.assertEqual(sorted(os.listdir(folder)), files)
        for stem in stems:
            self.assertEqual(sorted(os.listdir(stem)), ["scalars.csv", "series.csv"])
        self.assertEqual(run.ranks, [0, 1])
        for one in found:
            resume, raises = one["refused"]
            self.assertIn("several ranks", resume)
            self.assertIn("on_alarm='raise'", raises)
        with self.assertRaisesRegex(ValueError, "a folder of ranks"):
            run.save(os.path.join(self.folder, "copy.scope"))

    def test_rank_0_of_a_group_writes_the_alarms_of_all(self):
        (folder,) = runs(self.job("spoilt,group"))
        run = torchoscope.open(folder)
        found = self.saved(os.path.join(self.job("spoilt,group"), "spoilt"), 2)
        self.assertEqual([len(one["told"]) for one in found], [0, 1])
        alarms = [one for one in run.alarms() if one["kind"] == "nan"]
        self.assertEqual([one["step"] for one in alarms], [2])
        self.assertRegex(alarms[0]["text"], "^rank 1: ")
        self.assertEqual(run.ranks, [0])
        with open(os.path.join(folder, "rank0", "series.csv")) as file:
            rows = [row for row in csv.DictReader(file) if row["name"] == "wide"]
        counts = {row["step"]: row["count"] for row in rows if row["kind"] == "output"}
        self.assertEqual(counts, dict.fromkeys("0123", str(2 * 6 * 140)))


@unittest.skipUnless(LONG, "make soak")
class FourRanks(Jobs):
    ranks, jobs = 4, (f"merged,{','.join(KINDS)}",) if LONG else ()

    def test_they_are_merged_exactly_and_train_as_if_nobody_watched(self):
        self.check_merged()


@unittest.skipUnless(LONG and HAS_FSDP, "make soak")
class Devices(Jobs):
    """The path of devices, forced: the parts of DTensors are measured, not the whole."""

    jobs, env = ("merged,fsdp,ddp",) if LONG else (), {"TORCHOSCOPE_DEVICE": "ops"}

    def test_the_device_path_gives_the_same(self):
        self.check_merged()


class Killed(Jobs):
    jobs = ("killed",)

    def test_a_rank_that_is_killed_keeps_no_other_waiting(self):
        (first, text), (second, _) = self.ended
        self.assertEqual((first, second), (0, -9), text)
        self.assertIn("finished", text)
        (run,) = map(torchoscope.open, runs(f"{self.folder}/killed"))
        self.assertEqual(run.ranks, [0, 1])
        self.assertEqual(run.steps, [0, 1, 2, 3])
        # The step in flight is lost, as always.
        self.assertEqual(run.rank(1).steps[:1], [0])
        counts = run.series("wide", "output")["count"]
        self.assertEqual((counts[0], counts[3]), (2 * 6 * 140, 6 * 140))


@unittest.skipUnless(LONG, "make soak")
class KilledInStep(Jobs):
    jobs = ("killed_ddp",) if LONG else ()

    def test_torch_raises_in_the_others_and_their_files_open(self):
        (first, text), (second, _) = self.ended
        self.assertEqual((first, second), (0, -9), text)
        self.assertIn("torch raised", text)
        (run,) = map(torchoscope.open, runs(f"{self.folder}/killed_ddp"))
        self.assertEqual(run.ranks, [0, 1])
        self.assertLessEqual({0, 1}, set(run.steps))


@unittest.skipUnless(LONG, "make soak")
class Hanging(Jobs):
    jobs = ("group,late",) if LONG else ()

    def test_a_rank_that_hangs_ends_the_group_and_not_the_training(self):
        (run,) = map(torchoscope.open, runs(self.job("group,late")))
        self.assertEqual(run.steps, [0, 1, 2, 3])
        counts = run.series("wide", "output")["count"]
        self.assertEqual(counts, [2 * 6 * 140] + [6 * 140] * 3)


class Silent(Jobs):
    jobs = ("by_environment", "silent")

    def test_ranks_without_torch_distributed_agree_on_folders(self):
        found = runs(self.job("by_environment"))
        self.assertEqual(len(found), 2)
        for folder in found:
            self.assertEqual(torchoscope.open(folder).ranks, [0, 1])

    def test_a_rank_goes_on_if_rank_0_does_not_answer(self):
        (folder,) = runs(self.job("silent"))
        self.assertIn("rank 0 did not announce its folder", self.ended[1][1])
        self.assertEqual(torchoscope.open(folder).ranks, [1])


if __name__ == "__main__":
    unittest.main()
