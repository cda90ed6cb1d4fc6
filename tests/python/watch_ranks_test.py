"""watch() in trainings of several ranks: DDP, FSDP2 and plain torch.distributed on gloo.
WATCH_RANKS=4 adds the long form (make soak)."""
# flavours: both

import glob
import math
import os
import socket
import subprocess
import sys
import unittest

import torch
from folder import TemporaryFolder

import torchoscope

HERE = os.path.dirname(os.path.abspath(__file__))
HAS_FSDP = hasattr(torch, "compiler")  # fully_shard(); 1.13 has only FSDP1
LONG = os.environ.get("WATCH_RANKS") == "4"
KINDS = ("ddp", "plain") + (("fsdp",) if HAS_FSDP else ())


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Ranks(TemporaryFolder):
    def launch(self, ranks, job, *args):
        """Runs a job of ranks_worker.py; [(exit status, what it printed), ...]"""
        where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        where |= {"WORLD_SIZE": str(ranks), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, os.path.join(HERE, "ranks_worker.py"), job]
        command += [str(self.folder), *args]
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

    def run_all(self, ranks, job, *args):
        for status, text in self.launch(ranks, job, *args):
            self.assertEqual(status, 0, text)

    def runs(self):
        """The folders of runs."""
        return sorted(one for one in glob.glob(f"{self.folder}/*") if os.path.isdir(one))


class Merged(Ranks):
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

    def check_run(self, kind, ranks, found):
        """One training of all ranks; `found` is by rank."""
        folder = os.path.dirname(found[0]["path"])
        for rank, one in enumerate(found):
            self.assertEqual(one["differ"], [], f"{kind}: rank {rank} trained differently")
            self.assertEqual(*one["collectives"], f"{kind}: communication of our own")
            self.assertEqual(one["path"], os.path.join(folder, f"rank{rank}.scope"))
        run = torchoscope.open(folder)
        self.assertEqual(run.ranks, list(range(ranks)))
        self.assertEqual(run.steps, list(range(len(found[0]["by_hand"]))))
        for name, what in found[0]["by_hand"][0]:
            series = run.series(name, what)
            for step in run.steps:
                tensors = [one["by_hand"][step][name, what] for one in found]
                self.same_point(series, step, tensors, f"{kind} {name} {what} {step}")
        self.assertEqual(run.alarms(), [])
        losses = [run.rank(rank).scalars()["loss"]["value"] for rank in range(ranks)]
        means = [math.fsum(row) / ranks for row in zip(*losses)]
        for value, mean in zip(run.scalars()["loss"]["value"], means):
            self.assertTrue(math.isclose(value, mean, rel_tol=1e-12))
        return run

    def check(self, ranks, kinds):
        self.run_all(ranks, "merged", *kinds)
        load = {} if not HAS_FSDP else {"weights_only": False}
        paths = [f"{self.folder}/found{rank}.pt" for rank in range(ranks)]
        found = [torch.load(path, **load) for path in paths]
        for key in found[0]:
            run = self.check_run(key[0], ranks, [one[key] for one in found])
            has_sums = "params/checksum" in run.scalars()
            self.assertEqual(has_sums, key[0] != "fsdp")

    def test_two_ranks_are_merged_exactly_and_train_as_if_nobody_watched(self):
        self.check(2, KINDS)

    @unittest.skipUnless(LONG, "make soak")
    def test_four_ranks_are_merged_exactly_and_train_as_if_nobody_watched(self):
        self.check(4, KINDS)

    @unittest.skipUnless(not LONG and HAS_FSDP, "make soak")
    def test_four_ranks_share_parameters_with_fewer_rows(self):
        self.check(4, ("fsdp",))


class Drift(Ranks):
    def test_parameters_that_drift_apart_are_an_alarm(self):
        self.run_all(2, "drift")
        (folder,) = self.runs()
        (alarm,) = torchoscope.open(folder).alarms()
        self.assertEqual(alarm["kind"], "rank-drift")
        self.assertEqual((alarm["step"], alarm["rank"]), (2, 1))
        self.assertEqual(alarm["name"], "small.bias")
        program = [os.environ["TORCHOSCOPE"], "check", folder]
        done = subprocess.run(program, stdout=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("step 2: rank 1: small.bias: the parameters", done.stdout)
        done = subprocess.run(
            [program[0], "info", folder], stdout=subprocess.PIPE, text=True
        )
        self.assertIn("; 2 ranks", done.stdout)


class Death(Ranks):
    def check_death(self, job):
        (first, text), (second, _) = self.launch(2, job)
        self.assertEqual((first, second), (0, -9), text)
        self.assertIn("finished", text)
        (folder,) = self.runs()
        run = torchoscope.open(folder)
        self.assertEqual(run.ranks, [0, 1])
        # The step in flight is lost, as always.
        self.assertEqual(run.rank(1).steps[:1], [0])
        return run, text

    def test_a_rank_that_is_killed_keeps_no_other_waiting(self):
        run, _ = self.check_death("killed")
        self.assertEqual(run.steps, [0, 1, 2, 3])
        self.assertEqual(run.rank(0).steps, [0, 1, 2, 3])
        counts = run.series("wide", "output")["count"]
        self.assertEqual((counts[0], counts[3]), (2 * 6 * 140, 6 * 140))

    @unittest.skipUnless(LONG, "make soak")
    def test_a_rank_of_ddp_that_is_killed(self):
        run, text = self.check_death("killed_ddp")
        self.assertIn("torch raised", text)
        self.assertLessEqual({0, 1}, set(run.steps))

    def test_a_rank_goes_on_if_rank_0_does_not_answer(self):
        (first, _), (second, text) = self.launch(2, "silent")
        self.assertEqual((first, second), (0, 0), text)
        self.assertIn("rank 0 did not tell its folder", text)
        (folder,) = self.runs()
        self.assertEqual(torchoscope.open(folder).ranks, [1])


class Environment(Ranks):
    def test_ranks_without_torch_distributed_agree_on_folders(self):
        self.run_all(2, "by_environment")
        runs = self.runs()
        self.assertEqual(len(runs), 2)
        for folder in runs:
            self.assertEqual(torchoscope.open(folder).ranks, [0, 1])


if __name__ == "__main__":
    unittest.main()
