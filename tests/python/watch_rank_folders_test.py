"""Folders of ranks in the program: check, diff and export, which see them as one run.
watch_ranks_test.py has real trainings of several processes."""

import json
import math
import re
import unittest

import torch
from folder import TemporaryFolder

import scope
import torchoscope

torch.set_num_threads(1)
STEPS = 8


class RankFolders(TemporaryFolder):
    def train(self, path, rank, change, steps):
        """Trains the same model as every rank, with data of its own."""
        torch.manual_seed(0)
        model = torch.nn.Sequential(
            torch.nn.Linear(6, 12), torch.nn.Tanh(), torch.nn.Linear(12, 3)
        )
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        data = torch.Generator().manual_seed(rank)
        options = {"log_freq": 1, "on_alarm": None, "capsule": False}
        losses = []
        with torchoscope.watch(model, dir=str(path / str(rank)), **options) as handle:
            for step in range(steps):
                x = torch.randn(5, 6, generator=data)
                x = change(model, step, x) if change else x
                optimizer.zero_grad()
                loss = model(x).square().mean()
                loss.backward()
                optimizer.step()
                handle.log()
                if handle._writer is not None:
                    handle._writer.flush()  # a busy disk drops steps
                losses.append(loss.item())
        (made,) = (path / str(rank)).glob("*.scope")
        made.rename(path / f"rank{rank}.scope")
        return losses

    def ranks(self, name, changes=(None, None), steps=STEPS):
        """A folder of ranks; `changes` are called in each step of theirs."""
        folder = self.folder / name
        folder.mkdir()
        self.losses = [
            self.train(folder, rank, change, steps) for rank, change in enumerate(changes)
        ]
        return folder

    def run_words(self, *words):
        done = scope.run(*words)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def nan(self, model, step, x):
        return x * math.nan if step == 5 else x

    def shift(self, model, step, x):
        if step == 4:
            with torch.no_grad():
                model[2].bias[1] += 1
        return x

    # --- check

    def test_check_of_a_healthy_folder(self):
        status, text, _ = self.run_words("check", self.ranks("run"))
        self.assertEqual(status, 0, text)
        self.assertIn("healthy in 8 logged steps", text)

    def test_check_names_the_rank_that_had_an_alarm(self):
        folder = self.ranks("run", (None, self.nan))
        status, text, _ = self.run_words("check", folder)
        self.assertEqual(status, 1, text)
        self.assertIn("step 5: rank 1: Sequential: its input has NaN: 30 of 30", text)
        status, text, _ = self.run_words("check", folder / "rank0.scope")
        self.assertEqual(status, 0, text)

    # --- diff

    def test_folders_of_the_same_training_are_equal(self):
        a, b = self.ranks("a"), self.ranks("b", steps=11)
        status, text, problem = self.run_words("diff", a, b)
        self.assertEqual((status, problem), (0, ""), text)
        self.assertIn("equal over 8 common steps", text)
        self.assertIn("left has 8, right 11", text)

    def test_the_step_and_the_tensor_where_one_rank_differs(self):
        a, b = self.ranks("a"), self.ranks("b", (None, self.shift))
        status, text, problem = self.run_words("diff", a, b)
        self.assertEqual((status, problem), (1, ""), text)
        self.assertIn("the runs part at step 4", text)
        self.assertIn("first       2.bias  parameter  step 4", text)
        found = torchoscope.diff(torchoscope.open(a), torchoscope.open(b)).training
        self.assertEqual((found["first"]["name"], found["first"]["step"]), ("2.bias", 4))
        self.assertEqual(found["first"]["left"]["count"], 2 * 3)
        self.assertEqual(found["scalar"]["name"], "grad_norm")
        self.assertEqual(found["scalar"]["step"], 4)

    def test_a_folder_and_one_of_its_ranks(self):
        a = self.ranks("a")
        status, text, problem = self.run_words("diff", a, a / "rank0.scope")
        self.assertEqual((status, problem), (1, ""), text)
        self.assertIn("the runs part at step 0", text)  # a rank has half of the data
        status, text, _ = self.run_words("diff", a / "rank0.scope", a / "rank0.scope")
        self.assertEqual(status, 0, text)

    def test_python_shows_the_whole_folder(self):
        folder = self.ranks("run", (None, self.nan))
        run = torchoscope.open(folder)
        self.assertIn("rank 1: ", run.html)
        page = self.folder / "run.html"
        run.export(page)
        self.assertIn("rank 1: ", page.read_text())
        self.assertNotIn("rank 1: ", torchoscope.open(folder / "rank0.scope").html)

    # --- export

    def test_a_report_has_all_ranks(self):
        folder = self.ranks("run", (None, self.nan))
        page = self.folder / "run.html"
        status, text, problem = self.run_words("export", "-o", page, folder)
        self.assertEqual(status, 0, problem)
        self.assertIn("the numbers of 8 steps", text + problem)
        text = page.read_text()
        self.assertIn("rank 1: ", text)
        self.assertIn("its input has NaN: 30 of 30 values", text)
        answers = re.search(r'id="answers">(.*?)</script>', text, re.S)[1]
        self.assertIn("grad_norm", json.dumps(json.loads(answers)))

    def test_the_losses_in_a_report_are_the_means_of_the_ranks(self):
        folder = self.ranks("run")
        found = torchoscope.open(folder).scalars()["loss"]["value"]
        wanted = [(a + b) / 2 for a, b in zip(*self.losses, strict=True)]
        for one, other in zip(found, wanted, strict=True):
            self.assertTrue(math.isclose(one, other, rel_tol=1e-12))
        page = self.folder / "run.html"
        self.assertEqual(self.run_words("export", "-o", page, folder)[0], 0)
        numbers = set(map(float, re.findall(r"-?\d+\.\d{9,}", page.read_text())))
        for mean in wanted:
            self.assertTrue(any(abs(one - mean) < 1e-9 for one in numbers), mean)


if __name__ == "__main__":
    unittest.main()
