"""For the tests: AlexNet, ResNet and DenseNet with the structure of torchvision's, so
that the graphs have the published numbers of nodes."""

import torch
from torch import nn


def alexnet():
    def conv(width, out, *rest):
        return nn.Conv2d(width, out, *rest), nn.ReLU(inplace=True)

    features = nn.Sequential(
        *(*conv(3, 64, 11, 4, 2), nn.MaxPool2d(3, 2), *conv(64, 192, 5, 1, 2)),
        *(nn.MaxPool2d(3, 2), *conv(192, 384, 3, 1, 1), *conv(384, 256, 3, 1, 1)),
        *(*conv(256, 256, 3, 1, 1), nn.MaxPool2d(3, 2)),
    )
    classifier = nn.Sequential(
        *(nn.Dropout(), nn.Linear(256 * 36, 64), nn.ReLU(inplace=True)),
        *(nn.Dropout(), nn.Linear(64, 64), nn.ReLU(inplace=True), nn.Linear(64, 10)),
    )
    pool = nn.AdaptiveAvgPool2d((6, 6))
    return nn.Sequential(features, pool, nn.Flatten(), classifier)


class Block(nn.Module):
    """Two or, with `wide`, three convolutions and a skip connection."""

    def __init__(self, width, out, stride, wide):
        super().__init__()
        end = out * 4 if wide else out
        sizes = [(1, 1), (3, stride), (1, 1)] if wide else [(3, stride), (3, 1)]
        widths = [width, out, out, end] if wide else [width, out, out]
        self.convs = nn.ModuleList(
            nn.Conv2d(widths[i], widths[i + 1], size, by, size // 2, bias=False)
            for i, (size, by) in enumerate(sizes)
        )
        self.norms = nn.ModuleList(nn.BatchNorm2d(one) for one in widths[1:])
        self.relu = nn.ReLU(inplace=True)
        self.down = None
        if stride != 1 or width != end:
            conv = nn.Conv2d(width, end, 1, stride, bias=False)
            self.down = nn.Sequential(conv, nn.BatchNorm2d(end))

    def forward(self, x):
        out = x
        for conv, norm in zip(self.convs, self.norms):
            out = norm(conv(out))
            if norm is not self.norms[-1]:
                out = self.relu(out)
        out += x if self.down is None else self.down(x)
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, depths, wide, base=4):
        super().__init__()
        width = base
        self.conv = nn.Conv2d(3, base, 7, 2, 3, bias=False)
        self.norm, self.relu = nn.BatchNorm2d(base), nn.ReLU(inplace=True)
        self.pool, self.layers = nn.MaxPool2d(3, 2, 1), nn.ModuleList()
        for i, depth in enumerate(depths):
            out, blocks = base << i, []
            for j in range(depth):
                blocks.append(Block(width, out, 2 if i and not j else 1, wide))
                width = out * 4 if wide else out
            self.layers.append(nn.Sequential(*blocks))
        self.last, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(width, 10)

    def forward(self, x):
        x = self.pool(self.relu(self.norm(self.conv(x))))
        for layer in self.layers:
            x = layer(x)
        return self.fc(torch.flatten(self.last(x), 1))


def resnet18():
    return ResNet((2, 2, 2, 2), False)


def resnet50():
    return ResNet((3, 4, 6, 3), True)


class DenseLayer(nn.Module):
    def __init__(self, width, growth):
        super().__init__()
        self.norm1, self.relu1 = nn.BatchNorm2d(width), nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(width, 4 * growth, 1, bias=False)
        self.norm2, self.relu2 = nn.BatchNorm2d(4 * growth), nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, features):
        x = self.conv1(self.relu1(self.norm1(torch.cat(features, 1))))
        return self.conv2(self.relu2(self.norm2(x)))


class DenseNet(nn.Module):
    def __init__(self, depths=(6, 12, 24, 16), growth=2, base=4):
        super().__init__()
        self.start = nn.Sequential(
            nn.Conv2d(3, base, 7, 2, 3, bias=False),
            *(nn.BatchNorm2d(base), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)),
        )
        width, self.blocks, self.between = base, nn.ModuleList(), nn.ModuleList()
        for i, depth in enumerate(depths):
            layers = [DenseLayer(width + j * growth, growth) for j in range(depth)]
            self.blocks.append(nn.ModuleList(layers))
            width += depth * growth
            if i + 1 < len(depths):
                half = nn.Conv2d(width, width // 2, 1, bias=False)
                parts = nn.BatchNorm2d(width), nn.ReLU(inplace=True), half
                self.between.append(nn.Sequential(*parts, nn.AvgPool2d(2, 2)))
                width //= 2
        self.norm, self.fc = nn.BatchNorm2d(width), nn.Linear(width, 10)

    def forward(self, x):
        x = self.start(x)
        for i, block in enumerate(self.blocks):
            features = [x]
            for layer in block:
                features.append(layer(features))
            x = torch.cat(features, 1)
            if i < len(self.between):
                x = self.between[i](x)
        x = torch.relu(self.norm(x)).mean((2, 3), keepdim=True)
        return self.fc(torch.flatten(x, 1))


def densenet121():
    return DenseNet()
