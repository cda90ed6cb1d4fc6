"""Small but real models of many kinds, for tests that hold for all of them.

ARCHITECTURES: name -> Architecture(make_model, make_inputs, loss). One step is

    inputs = make_inputs()
    loss(model(*inputs), *inputs)

Weights and inputs are drawn from torch's generator: seed it to get the same again.
make_model(in_place=False) makes a twin that computes the same without writing in place
(with the same weights, from the same seed).
"""

import collections
import math
from importlib.util import find_spec

import torch
import torch.nn.functional as F
from torch import nn

Architecture = collections.namedtuple("Architecture", "make_model make_inputs loss")


def add(x, y, in_place):
    if not in_place:
        return x + y
    x += y
    return x


# --- pictures


class BasicBlock(nn.Module):
    def __init__(self, width, out, stride, in_place):
        super().__init__()
        self.in_place = in_place
        self.conv1 = nn.Conv2d(width, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.relu = nn.ReLU(in_place)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.downsample = None
        if stride != 1 or width != out:
            conv = nn.Conv2d(width, out, 1, stride, bias=False)
            self.downsample = nn.Sequential(conv, nn.BatchNorm2d(out))

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        short = x if self.downsample is None else self.downsample(x)
        return self.relu(add(y, short, self.in_place))


class Bottleneck(nn.Module):
    def __init__(self, width, middle, in_place):
        super().__init__()
        self.in_place = in_place
        self.conv1 = nn.Conv2d(width, middle, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(middle)
        self.conv2 = nn.Conv2d(middle, middle, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(middle)
        self.conv3 = nn.Conv2d(middle, width, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(in_place)

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return self.relu(add(y, x, self.in_place))


class ResNet(nn.Module):
    def __init__(self, in_place=True):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.relu = nn.ReLU(in_place)
        self.maxpool = nn.MaxPool2d(2)
        self.layer1 = nn.Sequential(
            BasicBlock(8, 8, 1, in_place), BasicBlock(8, 16, 2, in_place)
        )
        self.layer2 = nn.Sequential(
            Bottleneck(16, 4, in_place), Bottleneck(16, 4, in_place)
        )
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.dropout = nn.Dropout(0.2, in_place)
        self.fc = nn.Linear(16, 5)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer2(self.layer1(x))
        return self.fc(self.dropout(torch.flatten(self.avgpool(x), 1)))


class DenseLayer(nn.Module):
    def __init__(self, width, growth, in_place):
        super().__init__()
        self.norm1, self.relu1 = nn.BatchNorm2d(width), nn.ReLU(in_place)
        self.conv1 = nn.Conv2d(width, 2 * growth, 1, bias=False)
        self.norm2, self.relu2 = nn.BatchNorm2d(2 * growth), nn.ReLU(in_place)
        self.conv2 = nn.Conv2d(2 * growth, growth, 3, padding=1, bias=False)

    def forward(self, features):
        y = self.conv1(self.relu1(self.norm1(torch.cat(features, 1))))
        y = self.conv2(self.relu2(self.norm2(y)))
        return F.dropout(y, 0.1, self.training)


class DenseBlock(nn.ModuleDict):
    def __init__(self, width, growth, layers, in_place):
        super().__init__()
        for i in range(layers):
            self[f"layer{i}"] = DenseLayer(width + i * growth, growth, in_place)

    def forward(self, x):
        features = [x]
        for layer in self.values():
            features.append(layer(features))
        return torch.cat(features, 1)


class DenseNet(nn.Module):
    def __init__(self, in_place=True):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.block1 = DenseBlock(8, 4, 3, in_place)
        self.transition = nn.Sequential(
            nn.BatchNorm2d(20), nn.ReLU(in_place), nn.Conv2d(20, 8, 1), nn.AvgPool2d(2)
        )
        self.block2 = DenseBlock(8, 4, 2, in_place)
        self.norm = nn.BatchNorm2d(16)
        self.head = nn.Linear(16, 5)
        self.in_place = in_place

    def forward(self, x):
        x = self.block2(self.transition(self.block1(self.stem(x))))
        x = F.relu(self.norm(x), inplace=self.in_place)
        return self.head(x.mean((2, 3)))


class SqueezeExcite(nn.Module):
    def __init__(self, width, in_place):
        super().__init__()
        self.reduce = nn.Conv2d(width, width // 4, 1)
        self.expand = nn.Conv2d(width // 4, width, 1)
        self.relu = nn.ReLU(in_place)
        self.gate = nn.Hardsigmoid(in_place)

    def forward(self, x):
        weight = F.adaptive_avg_pool2d(x, 1)
        return x * self.gate(self.expand(self.relu(self.reduce(weight))))


class InvertedResidual(nn.Module):
    def __init__(self, width, expand, act, squeeze, in_place):
        super().__init__()
        inner = width * expand
        self.in_place = in_place
        parts = [nn.Conv2d(width, inner, 1, bias=False), nn.BatchNorm2d(inner)]
        parts += [act(in_place)]
        parts += [nn.Conv2d(inner, inner, 3, padding=1, groups=inner, bias=False)]
        parts += [nn.BatchNorm2d(inner), act(in_place)]
        parts += [SqueezeExcite(inner, in_place)] if squeeze else []
        parts += [nn.Conv2d(inner, width, 1, bias=False), nn.BatchNorm2d(width)]
        self.block = nn.Sequential(*parts)

    def forward(self, x):
        return add(self.block(x), x, self.in_place)


class MobileNet(nn.Module):
    """Blocks of version 2 and of version 3."""

    def __init__(self, in_place=True):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1, bias=False),
            nn.BatchNorm2d(8),
            nn.Hardswish(in_place),
            InvertedResidual(8, 2, lambda i: nn.ReLU6(i), False, in_place),
            InvertedResidual(8, 4, lambda i: nn.Hardswish(i), True, in_place),
        )
        self.classifier = nn.Sequential(
            nn.Linear(8, 16), nn.Hardswish(in_place), nn.Dropout(0.2, in_place)
        )
        self.last = nn.Linear(16, 5)

    def forward(self, x):
        x = self.features(x).mean((2, 3))
        return self.last(self.classifier(x))


class VisionBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, 0.1, batch_first=True)
        self.mlp = nn.Sequential(
            nn.Linear(width, 2 * width),
            nn.GELU(),
            nn.Dropout(0.1),
            nn.Linear(2 * width, width),
        )

    def forward(self, x):
        y = self.ln1(x)
        y, _ = self.attention(y, y, y, need_weights=False)
        x = x + y
        return x + self.mlp(self.ln2(x))


class VisionTransformer(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, 4)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.position = nn.Parameter(torch.randn(1, 17, width) * 0.02)
        self.dropout = nn.Dropout(0.1)
        self.blocks = nn.Sequential(VisionBlock(width, 2), VisionBlock(width, 2))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 5)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.position
        return self.head(self.norm(self.blocks(self.dropout(x)))[:, 0])


class DoubleConv(nn.Sequential):
    def __init__(self, width, out, in_place):
        super().__init__(
            nn.Conv2d(width, out, 3, padding=1),
            nn.GroupNorm(2, out),
            nn.ReLU(in_place),
            nn.Conv2d(out, out, 3, padding=1),
            nn.ReLU(in_place),
        )


class UNet(nn.Module):
    def __init__(self, in_place=True):
        super().__init__()
        self.down1 = DoubleConv(3, 8, in_place)
        self.down2 = DoubleConv(8, 16, in_place)
        self.pool = nn.MaxPool2d(2)
        self.middle = DoubleConv(16, 16, in_place)
        self.drop = nn.Dropout2d(0.1)
        self.up2 = nn.ConvTranspose2d(16, 16, 2, 2)
        self.conv2 = DoubleConv(32, 8, in_place)
        self.up1 = nn.Upsample(scale_factor=2)
        self.conv1 = DoubleConv(16, 8, in_place)
        self.head = nn.Conv2d(8, 3, 1)

    def forward(self, x):
        one = self.down1(x)
        two = self.down2(self.pool(one))
        x = self.drop(self.middle(self.pool(two)))
        x = self.conv2(torch.cat([two, self.up2(x)], 1))
        x = self.conv1(torch.cat([one, self.up1(x)], 1))
        return self.head(x)


class Quantizer(nn.Module):
    """The nearest entry of a codebook, straight through; the codebook is a moving
    mean."""

    def __init__(self, codes, width):
        super().__init__()
        self.register_buffer("book", torch.randn(codes, width))
        self.register_buffer("sizes", torch.ones(codes))
        self.register_buffer("sums", self.book.clone())

    def forward(self, z):
        flat = z.permute(0, 2, 3, 1).reshape(-1, self.book.shape[1])
        nearest = torch.cdist(flat.detach(), self.book).argmin(1)
        if self.training:
            with torch.no_grad():
                hot = F.one_hot(nearest, len(self.book)).to(flat.dtype)
                self.sizes.mul_(0.9).add_(hot.sum(0), alpha=0.1)
                self.sums.mul_(0.9).add_(hot.t() @ flat, alpha=0.1)
                self.book.copy_(self.sums / self.sizes.clamp(min=1e-3)[:, None])
        batch, _, height, width = z.shape
        codes = F.embedding(nearest, self.book).reshape(batch, height, width, -1)
        codes = codes.permute(0, 3, 1, 2)
        commit = F.mse_loss(z, codes.detach())
        return z + (codes - z).detach(), commit, nearest


class VQVAE(nn.Module):
    def __init__(self, in_place=True):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 8, 4, 2, 1), nn.ReLU(in_place), nn.Conv2d(8, 6, 3, 1, 1)
        )
        self.quantizer = Quantizer(12, 6)
        self.decoder = nn.Sequential(
            nn.Conv2d(6, 8, 3, 1, 1),
            nn.ReLU(in_place),
            nn.Dropout(0.1),
            nn.ConvTranspose2d(8, 3, 4, 2, 1),
        )

    def forward(self, x):
        codes, commit, nearest = self.quantizer(self.encoder(x))
        return self.decoder(codes), commit, nearest


# --- sequences


class LSTMLanguageModel(nn.Module):
    def __init__(self, vocabulary=24, width=16):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.drop = nn.Dropout(0.2)
        self.lstm = nn.LSTM(width, width, 2, dropout=0.1)
        self.decoder = nn.Linear(width, vocabulary)
        self.decoder.weight = self.embed.weight

    def forward(self, tokens, state):
        x, state = self.lstm(self.drop(self.embed(tokens)), state)
        return self.decoder(self.drop(x)), state


class Translator(nn.Module):
    """nn.Transformer: an encoder and a decoder."""

    def __init__(self, vocabulary=24, width=16):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.transformer = nn.Transformer(
            width, 2, 2, 2, 32, dropout=0.1, batch_first=True
        )
        self.head = nn.Linear(width, vocabulary)

    def forward(self, source, target):
        n = target.shape[1]
        mask = torch.full((n, n), -math.inf).triu(1)
        x = self.transformer(self.embed(source), self.embed(target), tgt_mask=mask)
        return self.head(x)


class EncoderClassifier(nn.Module):
    """nn.TransformerEncoder with a padding mask."""

    def __init__(self, vocabulary=24, width=16):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        layer = nn.TransformerEncoderLayer(width, 2, 32, 0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(width, 5)

    def forward(self, tokens):
        padded = tokens == 0
        x = self.encoder(self.embed(tokens), src_key_padding_mask=padded)
        return self.head(x.mean(1))


def make_gpt2(in_place=True):
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=24,
            n_positions=512,
            n_embd=16,
            n_layer=2,
            n_head=2,
            bos_token_id=0,
            eos_token_id=1,
        )
    )


def make_llama(in_place=True):
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=24,
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=64,
            attention_dropout=0.1,
            bos_token_id=0,
            eos_token_id=1,
        )
    )


# --- control flow


class Dynamic(nn.Module):
    """The data decides which layers run, and how often."""

    def __init__(self, in_place=True):
        super().__init__()
        self.first = nn.Linear(6, 12)
        self.wide, self.narrow = nn.Linear(12, 12), nn.Linear(12, 12)
        self.drop = nn.Dropout(0.2)
        self.act = nn.LeakyReLU(0.1, in_place)
        self.last = nn.Linear(12, 5)

    def forward(self, x):
        rounds = 1 + int(x.abs().sum().item()) % 4
        x = self.first(x)
        for _ in range(rounds):
            layer = self.wide if x.mean().item() > 0 else self.narrow
            x = self.drop(self.act(layer(x))) + x
        if rounds % 2:
            x = self.act(self.wide(x))
        return self.last(x)


class MoE(nn.Module):
    """Two of six experts for each token; those without tokens are not called."""

    def __init__(self, in_place=True, width=8, experts=6):
        super().__init__()
        self.in_place = in_place
        self.embed = nn.Linear(6, width)
        self.router = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 16), nn.SiLU(in_place), nn.Linear(16, width))
            for _ in range(experts)
        )
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(width, 5)

    def forward(self, x):
        x = self.embed(x)
        weights, chosen = self.router(x).softmax(-1).topk(2)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            row, which = (chosen == i).nonzero(as_tuple=True)
            if len(row) == 0:
                continue
            made = expert(x[row]) * weights[row, which, None]
            if self.in_place:
                out.index_add_(0, row, made)
            else:
                out = out.index_add(0, row, made)
        return self.head(self.drop(out) + x)


# --- inputs and losses


def pictures():
    return (torch.randn(4, 3, 16, 16),)


def points():
    return (torch.randn(4, 6),)


def tokens(*shape):
    return torch.randint(2, 24, shape)


def padded_tokens():
    found = tokens(3, 7)
    found[1, 4:] = 0
    return (found,)


def to_label(made, x):
    """The label of a sample depends on its sum."""
    return F.cross_entropy(made, (x.flatten(1).double().sum(1).abs() * 7).long() % 5)


def to_picture(made, x):
    return F.mse_loss(made, x.tanh())


def to_picture_and_codes(made, x):
    picture, commit, _ = made
    return F.mse_loss(picture, x.tanh()) + 0.25 * commit


def to_next(logits, wanted):
    return F.cross_entropy(logits.flatten(0, 1), wanted.flatten())


def lstm_inputs():
    return tokens(7, 3), (torch.zeros(2, 3, 16), torch.zeros(2, 3, 16))


def plain(kind):
    """For a class that never writes in place."""
    return lambda in_place=True: kind()


ARCHITECTURES = {
    "resnet": Architecture(ResNet, pictures, to_label),
    "densenet": Architecture(DenseNet, pictures, to_label),
    "mobilenet": Architecture(MobileNet, pictures, to_label),
    "vit": Architecture(plain(VisionTransformer), pictures, to_label),
    "unet": Architecture(UNet, pictures, to_picture),
    "vqvae": Architecture(VQVAE, pictures, to_picture_and_codes),
    "lstm": Architecture(
        plain(LSTMLanguageModel),
        lstm_inputs,
        lambda made, x, state: to_next(made[0][:-1], x[1:]),
    ),
    "transformer": Architecture(
        plain(Translator),
        lambda: (tokens(3, 6), tokens(3, 5)),
        lambda made, source, target: to_next(made[:, :-1], target[:, 1:]),
    ),
    "encoder": Architecture(plain(EncoderClassifier), padded_tokens, to_label),
    "dynamic": Architecture(Dynamic, points, to_label),
    "moe": Architecture(MoE, points, to_label),
}

if find_spec("transformers"):
    for name, make in (("gpt2", make_gpt2), ("llama", make_llama)):
        ARCHITECTURES[name] = Architecture(
            make,
            lambda: (tokens(2, 8),),
            lambda made, x: to_next(made.logits[:, :-1], x[:, 1:]),
        )
