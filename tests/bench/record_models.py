"""The models that record_bench.py and ops_bench.py run, with their inputs; randomly
initialised.

ResNets like torchvision's: ReLU and the sum at the end of a block are in place.
"""

import torch
from torch import nn


def conv(inside, outside, size, stride=1):
    return nn.Conv2d(inside, outside, size, stride, padding=size // 2, bias=False)


class Basic(nn.Module):
    grows = 1

    def __init__(self, inside, width, stride, down):
        super().__init__()
        self.conv1, self.bn1 = conv(inside, width, 3, stride), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = conv(width, width, 3), nn.BatchNorm2d(width)
        self.relu, self.downsample = nn.ReLU(inplace=True), down

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class Bottleneck(nn.Module):
    grows = 4

    def __init__(self, inside, width, stride, down):
        super().__init__()
        self.conv1, self.bn1 = conv(inside, width, 1), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = conv(width, width, 3, stride), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = conv(width, 4 * width, 1), nn.BatchNorm2d(4 * width)
        self.relu, self.downsample = nn.ReLU(inplace=True), down

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, block, blocks):
        super().__init__()
        self.conv1, self.bn1 = conv(3, 64, 7, 2), nn.BatchNorm2d(64)
        self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        inside = 64
        for i, n in enumerate(blocks):
            layer = []
            for j in range(n):
                stride, outside = (2 if i and not j else 1), (64 << i) * block.grows
                down = None
                if stride != 1 or inside != outside:
                    norm = nn.BatchNorm2d(outside)
                    down = nn.Sequential(conv(inside, outside, 1, stride), norm)
                layer.append(block(inside, 64 << i, stride, down))
                inside = outside
            setattr(self, f"layer{i + 1}", nn.Sequential(*layer))
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(inside, 1000)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


def resnet18():
    return ResNet(Basic, (2, 2, 2, 2)), torch.randn(8, 3, 224, 224)


def resnet50():
    return ResNet(Bottleneck, (3, 4, 6, 3)), torch.randn(2, 3, 224, 224)


class Dense(nn.Module):
    """A layer of DenseNet: its result is concatenated to its argument."""

    def __init__(self, inside):
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(inside), conv(inside, 128, 1)
        self.norm2, self.conv2 = nn.BatchNorm2d(128), conv(128, 32, 3)
        self.relu1, self.relu2 = nn.ReLU(inplace=True), nn.ReLU(inplace=True)

    def forward(self, x):
        new = self.conv1(self.relu1(self.norm1(x)))
        return torch.cat((x, self.conv2(self.relu2(self.norm2(new)))), 1)


def densenet121():
    first = (conv(3, 64, 7, 2), nn.BatchNorm2d(64), nn.ReLU(inplace=True))
    layers, inside = [*first, nn.MaxPool2d(3, 2, 1)], 64
    for i, n in enumerate((6, 12, 24, 16)):
        if i:
            half = (nn.BatchNorm2d(inside), nn.ReLU(inplace=True))
            layers += [*half, conv(inside, inside // 2, 1), nn.AvgPool2d(2)]
            inside //= 2
        layers += [Dense(inside + 32 * k) for k in range(n)]
        inside += 32 * n
    last = (nn.BatchNorm2d(inside), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1))
    model = nn.Sequential(*layers, *last, nn.Flatten(), nn.Linear(inside, 1000))
    return model, torch.randn(2, 3, 224, 224)


def encoder():
    layer = nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True)
    return nn.TransformerEncoder(layer, 6), torch.randn(4, 128, 512)


class Block(nn.Module):
    """A block of GPT-2, if transformers is not installed."""

    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(768), nn.LayerNorm(768)
        self.attn, self.proj = nn.Linear(768, 3 * 768), nn.Linear(768, 768)
        self.fc, self.act = nn.Linear(768, 4 * 768), nn.GELU("tanh")
        self.back = nn.Linear(4 * 768, 768)

    def forward(self, x):
        q, k, v = self.attn(self.ln_1(x)).chunk(3, -1)
        q, k, v = (t.unflatten(-1, (12, 64)).transpose(1, 2) for t in (q, k, v))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(mixed.transpose(1, 2).flatten(2))
        return x + self.back(self.act(self.fc(self.ln_2(x))))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(50257, 768), nn.Embedding(1024, 768)
        self.h = nn.Sequential(*(Block() for _ in range(12)))
        self.ln_f, self.lm_head = nn.LayerNorm(768), nn.Linear(768, 50257, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        return self.lm_head(self.ln_f(self.h(x)))


def gpt2():
    ids = torch.randint(50257, (4, 128))
    try:
        from transformers import GPT2Config, GPT2LMHeadModel
    except ImportError:
        return GPT(), ids
    return GPT2LMHeadModel(GPT2Config(use_cache=False)), ids


def tiny(layers=2000):
    """Many layers that do almost nothing, to measure the overhead."""
    return nn.Sequential(*(nn.Linear(8, 8) for _ in range(layers))), torch.randn(4, 8)


class TinyOps(nn.Module):
    """2,000 operations on 32 numbers, in one module."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 8))

    def forward(self, x):
        for _ in range(500):
            x = x + self.weight
            x = x * 0.5
            x = x.relu()
            x = x.view(4, 8)
        return x


ALL = {"ResNet-18 b8": resnet18, "ResNet-50 b2": resnet50}
ALL |= {"encoder 6x512": encoder, "GPT-2 small": gpt2}
