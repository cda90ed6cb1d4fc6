"""A model for the transcripts of tests/screens/keys, explored live."""

import torch
from torch import nn

import torchoscope


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


class Tied(nn.Module):
    def __init__(self, words=10, width=4):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.blocks = nn.Sequential(Block(width), Block(width))
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, words):
        return self.head(self.blocks(self.embedding(words)))


torch.manual_seed(0)
torchoscope.explore(Tied())
