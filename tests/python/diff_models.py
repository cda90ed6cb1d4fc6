"""Small networks for the tests of diff, and changes of their state_dicts."""

import collections

import torch
from torch import nn


class Block(nn.Module):
    """Two convolutions with BatchNorm and a skip connection."""

    def __init__(self, width):
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(x + self.bn2(self.conv2(y)))


class ResNet(nn.Module):
    def __init__(self, classes=7, width=6):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        for stage in range(1, 5):
            setattr(self, f"layer{stage}", nn.Sequential(Block(width), Block(width)))
        self.fc = nn.Linear(width, classes)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


class Attention(nn.Module):
    """Attention with separate projections, or with one for all three."""

    def __init__(self, width, fused):
        super().__init__()
        if fused:
            self.qkv = nn.Linear(width, 3 * width)
        else:
            self.q_proj = nn.Linear(width, width)
            self.k_proj = nn.Linear(width, width)
            self.v_proj = nn.Linear(width, width)
        self.out_proj = nn.Linear(width, width)

    def forward(self, x):
        if hasattr(self, "qkv"):
            q, k, v = self.qkv(x).chunk(3, -1)
        else:
            q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        return self.out_proj(torch.softmax(q @ k.transpose(1, 2), -1) @ v)


class Layer(nn.Module):
    def __init__(self, width, fused):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = Attention(width, fused)
        self.ln_2 = nn.LayerNorm(width)
        self.fc1 = nn.Linear(width, 2 * width)
        self.fc2 = nn.Linear(2 * width, width)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.fc2(torch.relu(self.fc1(self.ln_2(x))))


class Transformer(nn.Module):
    def __init__(self, depth=4, width=8, fused=False, tied=False):
        super().__init__()
        self.embed = nn.Embedding(11, width)
        self.layers = nn.ModuleList(Layer(width, fused) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 11, bias=False)
        if tied:
            self.head.weight = self.embed.weight

    def forward(self, x):
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def shaken(model):
    """The model with values other than plain ones and zeros, as if trained."""
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            if tensor.is_floating_point():
                tensor += 0.1 * torch.rand(tensor.shape) + 0.01
    return model.eval()


def resnet(**options):
    return shaken(ResNet(**options))


def transformer(**options):
    return shaken(Transformer(**options))


def images():
    return torch.linspace(-1, 1, 2 * 3 * 8 * 8).reshape(2, 3, 8, 8)


def words():
    return torch.arange(10).reshape(2, 5)


def copy(state):
    return collections.OrderedDict((k, v.clone()) for k, v in state.items())


def renamed(state, *changes):
    """The state with parts of its names replaced."""
    names = {}
    for name in state:
        new = name
        for old, text in changes:
            new = new.replace(old, text)
        names[name] = new
    return collections.OrderedDict((names[k], v) for k, v in state.items())


def trained(state, *beginnings):
    """The state with values changed by 1% in tensors with this prefix."""
    state = copy(state)
    for name, tensor in state.items():
        if name.startswith(beginnings) and tensor.is_floating_point():
            state[name] = tensor * (1 + 0.01 * torch.rand(tensor.shape))
    return state
