#!/usr/bin/env python3
"""Record one training step of a small ResNet-18, as `make run` does.

    build/venv/bin/python tools/demo_record.py build/demo/resnet.scope

The network has torchvision's names and its in-place ReLUs, a quarter of its channels and
ten classes. Weights and picture are random, and the same each time.
"""

import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

import torchoscope


class Block(nn.Module):
    """Two convolutions and a skip connection."""

    def __init__(self, channels, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = None
        if stride != 1 or channels != width:
            self.downsample = nn.Sequential(
                nn.Conv2d(channels, width, 1, stride, bias=False),
                nn.BatchNorm2d(width),
            )

    def forward(self, x):
        around = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.bn2(self.conv2(x))
        x += around
        return self.relu(x)


class ResNet(nn.Module):
    def __init__(self, widths=(16, 32, 64, 128), classes=10):
        super().__init__()
        first = widths[0]
        self.conv1 = nn.Conv2d(3, first, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(first)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = self.stage(first, widths[0], stride=1)
        self.layer2 = self.stage(widths[0], widths[1], stride=2)
        self.layer3 = self.stage(widths[1], widths[2], stride=2)
        self.layer4 = self.stage(widths[2], widths[3], stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(widths[-1], classes)

    @staticmethod
    def stage(channels, width, stride):
        return nn.Sequential(Block(channels, width, stride), Block(width, width, 1))

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


def step(model, pictures, classes):
    functional.cross_entropy(model(pictures), classes).backward()


def main(path):
    torch.manual_seed(0)
    torch.set_num_threads(1)  # too small for several threads
    model = ResNet()
    pictures, classes = torch.randn(1, 3, 64, 64), torch.tensor([3])
    # Operations show what happens between modules: the + of a residual block.
    ops = hasattr(torch._C, "_current_autograd_node")  # torch 2.1 and later
    # The first step includes torch's start-up cost and ours.
    with torchoscope.state_guard(model), torchoscope.record(model, ops=ops):
        step(model, pictures, classes)
    with torchoscope.record(model, ops=ops) as recording:
        step(model, pictures, classes)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    recording.save(path)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: demo_record.py FILE.scope")
    main(sys.argv[1])
