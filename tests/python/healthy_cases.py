"""Healthy trainings that look suspicious: HEALTHY, name ->
function(watch), which trains and returns the handle that watch(model) gave."""

import torch
from alarm_cases import Transformer
from torch import nn
from torch.nn import functional as F

STEPS = 60
HEALTHY = {}


def healthy(function):
    HEALTHY[function.__name__] = function
    return function


def train(watch, model, loss, optimizer=None, steps=STEPS, **options):
    handle = watch(model, **options)
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.02)
    for step in range(steps):
        optimizer.zero_grad()
        loss(model, step).backward()
        optimizer.step()
    return handle


def small(n=6, out=3):
    return nn.Sequential(nn.Linear(n, 16), nn.ReLU(), nn.Linear(16, out))


def square(model, step):
    return model(torch.randn(8, 6)).square().mean()


@healthy
def plain(watch):
    return train(watch, small(), square)


@healthy
def causal_mask_of_a_module(watch):
    return train(watch, Transformer(nn.Identity()), square)


@healthy
def masked_logits_are_the_result(watch):
    class Policy(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = small()

        def forward(self, x):
            return self.net(x).masked_fill(torch.tensor([False, False, True]), -torch.inf)

    def loss(model, step):
        return F.cross_entropy(model(torch.randn(8, 6)), torch.randint(0, 2, (8,)))

    return train(watch, Policy(), loss)


class Attentive(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.head = nn.Linear(8, 20)

    def forward(self, x, mask, padding):
        x = self.embed(x)
        x, _ = self.attention(x, x, x, attn_mask=mask, key_padding_mask=padding)
        return self.head(x)


@healthy
def attention_with_masks_as_arguments(watch):
    def loss(model, step):
        x = torch.randint(0, 20, (4, 5))
        mask = torch.full((5, 5), -torch.inf).triu(1)
        padding = torch.zeros(4, 5)
        padding[1, 4] = -torch.inf
        return F.cross_entropy(model(x, mask, padding).flatten(0, 1), x.flatten())

    return train(watch, Attentive(), loss)


@healthy
def encoder_with_padding(watch):
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def loss(model, step):
        padding = torch.zeros(4, 5, dtype=torch.bool)
        padding[0, 3:] = True
        return model(torch.randn(4, 5, 8), src_key_padding_mask=padding).square().mean()

    return train(watch, model, loss)


def scaled(watch, optimizer, model):
    """The first steps overflow, and are skipped."""
    kind = getattr(torch.amp, "GradScaler", None)
    scaler = kind("cpu", init_scale=2.0**126, backoff_factor=2.0**-20)
    handle = watch(model)
    for _ in range(30):
        optimizer.zero_grad()
        loss = model(torch.randn(8, 6)).square().sum() * 100
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    return handle


@healthy
def gradient_scaler(watch):
    model = small()
    return scaled(watch, torch.optim.SGD(model.parameters(), lr=1e-4), model)


@healthy
def gradient_scaler_and_fused_optimizer(watch):
    model = small()
    return scaled(watch, torch.optim.Adam(model.parameters(), fused=True), model)


@healthy
def sparse_gradients(watch):
    model = nn.Sequential(nn.EmbeddingBag(50, 8, sparse=True), nn.Linear(8, 3))

    def loss(model, step):
        return model(torch.randint(0, 50, (4, 3))).square().mean()

    return train(watch, model, loss, torch.optim.SGD(model.parameters(), lr=0.1))


@healthy
def rare_words(watch):
    model = nn.Sequential(nn.Embedding(5000, 8), nn.Flatten(), nn.Linear(16, 3))

    def loss(model, step):
        high = 5000 if step % 20 == 19 else 10
        return model(torch.randint(0, high, (4, 2))).square().mean()

    return train(watch, model, loss, torch.optim.Adam(model.parameters()))


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.rnn, self.head = kind(3, 8, 2, batch_first=True), nn.Linear(8, 3)

    def forward(self, x):
        return self.head(self.rnn(x)[0])


@healthy
def lstm(watch):
    def loss(model, step):
        return model(torch.randn(4, 7, 3)).square().mean()

    return train(watch, Recurrent(nn.LSTM), loss)


@healthy
def gru_with_clipping(watch):
    def loss(model, step):
        found = model(torch.randn(4, 7, 3)).square().mean()
        found.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.01)
        return found * 0

    model = Recurrent(nn.GRU)
    handle, optimizer = watch(model), torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        optimizer.zero_grad()
        model(torch.randn(4, 7, 3)).square().mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.01)
        optimizer.step()
    return handle


@healthy
def batch_norm_and_dropout(watch):
    model = nn.Sequential(
        *(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True)),
        *(nn.Dropout(0.5), nn.Flatten(), nn.Linear(64, 3)),
    )

    def loss(model, step):
        return model(torch.randn(4, 1, 6, 6)).square().mean()

    return train(watch, model, loss)


@healthy
def large_loss_at_the_start(watch):
    model = nn.Linear(6, 1)

    def loss(model, step):
        x = torch.randn(8, 6)
        return (model(x) - x.sum(1, keepdim=True) * 1000).square().mean()

    return train(watch, model, loss, torch.optim.SGD(model.parameters(), lr=0.05))


@healthy
def tiny_losses(watch):
    model = nn.Linear(6, 1)

    def loss(model, step):
        x = torch.randn(8, 6)
        scale = 30 if step % 25 == 24 else 1  # after convergence: nothing
        return scale * (model(x) - x.sum(1, keepdim=True)).square().mean()

    return train(watch, model, loss, torch.optim.SGD(model.parameters(), lr=0.1))


@healthy
def noisy_losses(watch):
    def loss(model, step):
        return square(model, step) * (1 + 6 * (step % 7 == 3))

    model = small()
    return train(watch, model, loss, torch.optim.SGD(model.parameters(), lr=1e-3))


@healthy
def negative_losses(watch):
    def loss(model, step):
        return -F.logsigmoid(model(torch.randn(8, 6))).mean().neg() - 5

    model = small()
    return train(watch, model, loss, torch.optim.Adam(model.parameters()))


@healthy
def accumulation_and_evaluation(watch):
    model = small()
    handle, optimizer = watch(model), torch.optim.AdamW(model.parameters())
    for step in range(30):
        for _ in range(3):
            square(model, step).backward()
        optimizer.step()
        optimizer.zero_grad()
        model.eval()
        with torch.no_grad():
            model(torch.randn(8, 6))
        model.train()
    return handle


@healthy
def closure(watch):
    model = small()
    handle, optimizer = watch(model), torch.optim.LBFGS(model.parameters(), lr=0.1)

    def again():
        optimizer.zero_grad()
        loss = model(torch.ones(8, 6)).square().mean()
        loss.backward()
        return loss

    for _ in range(10):
        optimizer.step(again)
    return handle


@healthy
def adversaries(watch):
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.maker, self.judge = small(out=6), small(out=1)

        def forward(self, x):
            return self.judge(self.maker(x))

    model = Both()
    handle = watch(model)
    first = torch.optim.Adam(model.maker.parameters())
    second = torch.optim.Adam(model.judge.parameters())
    for _ in range(40):
        for optimizer, sign in ((first, 1), (second, -1)):
            optimizer.zero_grad()
            (sign * F.softplus(model(torch.randn(8, 6)))).mean().backward()
            optimizer.step()
    return handle


@healthy
def restarts_of_the_learning_rate(watch):
    model = small()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    rate = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 10)
    handle = watch(model)
    for step in range(STEPS):
        optimizer.zero_grad()
        square(model, step).backward()
        optimizer.step()
        rate.step()
    return handle


@healthy
def padded_with_minus_infinity(watch):
    class Pool(nn.Module):
        def forward(self, x):
            return F.max_pool2d(F.pad(x, (1, 1, 1, 1), value=-torch.inf), 2)

    model = nn.Sequential(nn.Conv2d(1, 4, 3), Pool(), nn.Flatten(), nn.LazyLinear(3))
    model(torch.randn(2, 1, 6, 6))

    def loss(model, step):
        return model(torch.randn(4, 1, 6, 6)).square().mean()

    return train(watch, model, loss)


@healthy
def nan_that_is_repaired(watch):
    class Repaired(nn.Module):
        def forward(self, x):
            return torch.nan_to_num(torch.log(x.detach() - 100)) + x

    model = nn.Sequential(nn.Linear(6, 6), Repaired(), nn.Linear(6, 3))
    return train(watch, model, square)


@healthy
def a_relu_whose_targets_are_not_negative(watch):
    def loss(model, step):
        return F.mse_loss(model(torch.randn(8, 6)), torch.rand(8, 3))

    return train(watch, nn.Sequential(small(), nn.ReLU()), loss)


@healthy
def bytes_that_are_scaled_inside(watch):
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(1, 4, 3)

        def forward(self, x):
            return self.conv(x / 255)

    def loss(model, step):
        return model(torch.rand(4, 1, 8, 8) * 255).square().mean()

    return train(watch, Scaled(), loss)


@healthy
def a_norm_layer_first(watch):
    model = nn.Sequential(nn.BatchNorm1d(6), nn.Linear(6, 3))

    def loss(model, step):
        return model(torch.randn(8, 6) * 100).square().mean()

    return train(watch, model, loss)


@healthy
def frozen_and_unused(watch):
    model = small()
    model[0].weight.requires_grad_(False)
    model.spare = nn.Linear(3, 3)
    return train(watch, nn.Sequential(model[0], model[1], model[2]), square)
