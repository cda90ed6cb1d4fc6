#!/usr/bin/env python3
"""What record(budget=...) costs: the same steps with and without it, in turns.

    PYTHONPATH=build/c/python build/venv/bin/python3 tools/measure_budget.py

Each round runs the steps once without a recording and once inside one, its beginning
and end included, and gives the ratio of the two; printed is the median of the rounds.
Processor time is measured, so that other work on the machine matters little.
"""

import argparse
import statistics
import time

import torch
from torch import nn

import torchoscope


def tiny(layers):
    return nn.Sequential(*(nn.Linear(8, 8) for _ in range(layers))), torch.ones(4, 8)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.one = nn.Conv2d(width, width, 3, padding=1)
        self.norm, self.act = nn.BatchNorm2d(width), nn.ReLU(inplace=True)
        self.two = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x):
        return self.act(x + self.two(self.act(self.norm(self.one(x)))))


def residual(blocks):
    head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    body = [Block(64) for _ in range(blocks)]
    return nn.Sequential(nn.Conv2d(3, 64, 3), *body, head), torch.ones(2, 3, 28, 28)


def run(model, x, optimizer, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()


def measure(make, steps, rounds, budget):
    model, x = make()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    run(model, x, optimizer, 3)
    ratios, steady = [], []
    for _ in range(rounds):
        start = time.thread_time_ns()
        run(model, x, optimizer, steps)
        between = time.thread_time_ns()
        with torchoscope.record(model, budget=budget) as recording:
            began = time.thread_time_ns()
            run(model, x, optimizer, steps)
            ended = time.thread_time_ns()
        end = time.thread_time_ns()
        ratios.append((end - between) / (between - start))
        steady.append((ended - began) / (between - start))
    told = {k: v for k, v in recording.facts.items() if k[:6] in ("budget", "passes")}
    return statistics.median(ratios), statistics.median(steady), told


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--budget", type=float, default=0.03)
    parser.add_argument("--rounds", type=int, default=7)
    wanted = parser.parse_args()
    torch.set_num_threads(1)
    cases = {
        "2,000 tiny layers, 100 steps": (lambda: tiny(2000), 100),
        "residual network, 30 steps": (lambda: residual(4), 30),
    }
    for title, (make, steps) in cases.items():
        whole, steady, told = measure(make, steps, wanted.rounds, wanted.budget)
        print(f"{title}: {whole:.4f} whole, {steady:.4f} without beginning and end")
        print("   ", told)


if __name__ == "__main__":
    main()
