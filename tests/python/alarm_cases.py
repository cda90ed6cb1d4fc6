"""Networks that produce NaN or infinities on request, and trainings that are healthy.

    A trap is a module that is harmless until `on` is set. FORWARD and BACKWARD have
    what it
computes then, and the operation that is to blame. HOSTS are networks with a place for a
trap. CASES: name -> Case."""

import collections

import torch
from torch import nn
from torch.nn import functional as F

# name: where alarms must see it; word: in their text; op: of the step after, or None
Case = collections.namedtuple("Case", "make name word op")


def half(x):
    return (x.abs().half() + 60000.0).mul(10).float()


def brain(x):
    return (x.abs().bfloat16() + 1).mul(1e38).mul(1e3).float()


def masked(x):
    hidden = torch.ones_like(x, dtype=torch.bool)
    return x + torch.softmax(x.masked_fill(hidden, float("-inf")), -1)


def lone_std(x):
    return x + x[..., :1].std(-1, keepdim=True)


FORWARD = {
    "log of 0": (lambda x: torch.log(x * 0), "aten::log"),
    "log of a negative": (lambda x: torch.log(-1 - x.abs()), "aten::log"),
    "sqrt of a negative": (lambda x: torch.sqrt(-1 - x.abs()), "aten::sqrt"),
    "0 / 0": (lambda x: x / (x * 0), "aten::div"),
    "exp": (lambda x: torch.exp(x.abs() * 100 + 1000), "aten::exp"),
    "half": (half, "aten::mul"),
    "bfloat16": (brain, "aten::mul"),
    "power": (lambda x: (-1 - x.abs()).pow(0.5), "aten::pow"),
    "acos": (lambda x: torch.acos(x.abs() + 2), "aten::acos"),
    "rsqrt": (lambda x: torch.rsqrt(x * 0), "aten::rsqrt"),
    "reciprocal": (lambda x: x + (x * 0).reciprocal(), "aten::reciprocal"),
    "std of one": (lone_std, "aten::std"),
    "all masked": (masked, "aten::_softmax"),
    "in place": (lambda x: (x * 0).log_(), "aten::log_"),
}


class Spoil(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient / (gradient * 0)


class Narrow(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return (gradient.half() * 0 + 60000).mul(10).float()


BACKWARD = {
    "sqrt at 0": (lambda x: x + torch.sqrt(x * 0), "aten::div"),
    "power at 0": (lambda x: x + (x * 0).pow(0.5), "aten::pow"),
    "acos at 1": (lambda x: x + torch.acos(x * 0 + 1), "aten::rsqrt"),
    "unused branch": (
        lambda x: x + torch.where(x > 1e9, torch.sqrt(x * 0), 0 * x),
        "aten::div",
    ),
    "tiny divisor": (lambda x: x + 0 * (1 / (x * 0 + 1e-30)), None),
    "own function": (Spoil.apply, "aten::div"),
    "half in backward": (Narrow.apply, "aten::mul"),
}


class Trap(nn.Module):
    def __init__(self, spoil):
        super().__init__()
        self.spoil, self.on = spoil, False

    def forward(self, x):
        return self.spoil(x) if self.on else x


def mlp(trap):
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), trap, nn.Linear(8, 3)), "2"


class Cnn(nn.Module):
    def __init__(self, trap):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4))
        self.body = nn.Sequential(nn.ReLU(), trap, nn.Conv2d(4, 4, 3))
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        x = x[:, None, :, None].expand(-1, 1, 6, 6)
        return self.head(self.body(self.stem(x)).mean((2, 3)))


class Attention(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)

    def forward(self, x, mask):
        q, k, v = self.qkv(x).chunk(3, -1)
        scores = q @ k.transpose(1, 2) + mask
        return self.out(torch.softmax(scores, -1) @ v)


class Mask(nn.Module):
    """A module that returns -inf on purpose."""

    def forward(self, x):
        n = x.shape[1]
        return torch.full((n, n), float("-inf")).triu(1)


class Block(nn.Module):
    def __init__(self, trap):
        super().__init__()
        self.norm, self.attention = nn.LayerNorm(8), Attention(8)
        self.mlp = nn.Sequential(nn.Linear(8, 8), nn.GELU(), trap)

    def forward(self, x, mask):
        x = x + self.attention(self.norm(x), mask)
        return x + self.mlp(x)


class Transformer(nn.Module):
    def __init__(self, trap):
        super().__init__()
        self.embed, self.mask = nn.Linear(6, 8), Mask()
        self.blocks = nn.ModuleList([Block(nn.Identity()), Block(trap)])
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        x = self.embed(torch.stack([x, x.flip(-1), x.roll(1, -1)], 1))
        mask = self.mask(x)
        for block in self.blocks:
            x = block(x, mask)
        return self.head(x)[:, -1]


class Rnn(nn.Module):
    def __init__(self, trap):
        super().__init__()
        self.lstm, self.trap = nn.LSTM(2, 8, batch_first=True), trap
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        x, _ = self.lstm(x.reshape(len(x), 3, 2))
        return self.head(self.trap(x)[:, -1])


HOSTS = {
    "mlp": mlp,
    "cnn": lambda trap: (Cnn(trap), "body.1"),
    "transformer": lambda trap: (Transformer(trap), "blocks.1.mlp.2"),
    "rnn": lambda trap: (Rnn(trap), "trap"),
}


def _loss(model, x):
    return model(x).square().mean()


class Scene:
    """A training that goes wrong when turn_on() is called."""

    def __init__(self, model, turn_on, loss=_loss, optimizer=None, inputs=None):
        self.model, self.turn_on, self.loss = model, turn_on, loss
        self.optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=1e-3)
        self.inputs = inputs or (lambda: torch.randn(4, 6))


def trapped(host, spoil):
    trap = Trap(spoil)
    model, _ = HOSTS[host](trap)
    return Scene(model, lambda: setattr(trap, "on", True))


CASES = {}
_ORDER = list(HOSTS)


def _add(table, word, hosts):
    for i, (name, (spoil, op)) in enumerate(table.items()):
        for k in range(hosts):
            host = _ORDER[(i + k) % len(_ORDER)]
            _, where = HOSTS[host](nn.Identity())

            def make(host=host, spoil=spoil):
                return trapped(host, spoil)

            CASES[f"{name}, {host}"] = Case(make, where, word, op)


_add(FORWARD, "outputs", 2)
_add(BACKWARD, "backward", 2)


# --- not in a trap


class Functional(nn.Module):
    """The mistake is in forward() of the model itself, between two layers."""

    def __init__(self, spoil):
        super().__init__()
        self.a, self.b, self.spoil, self.on = nn.Linear(6, 6), nn.Linear(6, 3), spoil, 0

    def forward(self, x):
        x = self.a(x)
        return self.b(self.spoil(x) if self.on else x)


def functional(spoil):
    model = Functional(spoil)
    return Scene(model, lambda: setattr(model, "on", 1))


def norm_without_eps():
    model = nn.Sequential(nn.Linear(6, 6), nn.LayerNorm(6, eps=0), nn.Linear(6, 3))

    def turn_on():
        with torch.no_grad():
            model[0].weight.zero_()
            model[0].bias.fill_(1)

    return Scene(model, turn_on)


def large_weight():
    model = nn.Sequential(nn.Linear(6, 6), nn.Linear(6, 3))

    def turn_on():
        with torch.no_grad():
            model[1].weight.mul_(0).add_(3e38)
            model[1].weight[:, ::2] = -3e38
            model[0].weight.mul_(1e6)

    return Scene(model, turn_on)


def half_model():
    model = nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 3)).half()

    def turn_on():
        with torch.no_grad():
            model[2].weight.fill_(60000)
            model[0].bias.fill_(9)

    make = lambda: torch.randn(4, 6).half()  # noqa: E731
    return Scene(model, turn_on, lambda m, x: m(x).float().tanh().mean(), inputs=make)


def bad_input():
    model, state = nn.Sequential(nn.Linear(6, 3)), []

    def inputs():
        x = torch.randn(4, 6)
        if state:
            x[1, 2] = float("nan")
        return x

    return Scene(model, lambda: state.append(1), inputs=inputs)


def bad_loss(spoil):
    model, state = nn.Sequential(nn.Linear(6, 3)), []

    def loss(model, x):
        found = model(x).square().mean()
        return spoil(found) if state else found

    return Scene(model, lambda: state.append(1), loss)


def embedding_gradient():
    """The gradient of a weight overflows, that of the input does not exist."""

    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.on = nn.Parameter(torch.ones(6)), False

        def forward(self, x):
            return x * (torch.sqrt(self.weight * 0) if self.on else self.weight)

    model = nn.Sequential(nn.Linear(6, 6), Scaled(), nn.Linear(6, 3))
    return Scene(model, lambda: setattr(model[1], "on", True))


def huge_step():
    model = nn.Sequential(nn.Linear(6, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def turn_on():
        optimizer.param_groups[0]["lr"] = 3e38

    return Scene(model, turn_on, lambda m, x: 1e3 * _loss(m, x), optimizer)


def adam_without_eps(kind):
    """A weight without gradient: 0 / 0."""
    model = nn.Sequential(nn.Linear(6, 3))
    weights = model.parameters()
    optimizer = kind(weights, lr=1e-3, eps=1e-8)

    def loss(model, x):
        return model(x)[:, :2].square().mean()

    return Scene(
        model, lambda: optimizer.param_groups[0].update(eps=0), loss, optimizer
    )


CASES |= {
    "own code, log": Case(
        lambda: functional(lambda x: torch.log(x * 0)), "Functional", "between a and b",
        "aten::log",
    ),
    "own code, exp": Case(
        lambda: functional(lambda x: torch.exp(x.abs() * 100 + 1000)), "Functional",
        "between a and b", "aten::exp",
    ),
    "own code, sqrt at 0": Case(
        lambda: functional(lambda x: x + torch.sqrt(x * 0)), "Functional",
        "in the backward of Functional", "aten::div",
    ),
    "LayerNorm without eps": Case(norm_without_eps, "1", "in LayerNorm", None),
    "Linear overflows": Case(large_weight, "1", "in Linear", "aten::addmm"),
    "half Linear overflows": Case(half_model, "2", "in Linear", "aten::addmm"),
    "NaN in the input": Case(bad_input, "Sequential", "its input has NaN", None),
    "log in the loss": Case(
        lambda: bad_loss(lambda x: torch.log(x * 0)), "loss", "in the loss", "aten::log"
    ),
    "0 / 0 in the loss": Case(
        lambda: bad_loss(lambda x: x / (x - x)), "loss", "in the loss", "aten::div"
    ),
    "sqrt at 0 in the loss": Case(
        lambda: bad_loss(lambda x: x + torch.sqrt(x * 0)), "loss",
        "in the backward of the loss", "aten::div",
    ),
    "gradient of a weight": Case(
        embedding_gradient, "1", "in the backward of Scaled", "aten::div"
    ),
    "learning rate": Case(huge_step, "0.weight", "in the optimizer", None),
    "Adam without eps": Case(
        lambda: adam_without_eps(torch.optim.Adam), "0.weight", "in the optimizer", None
    ),
    "RMSprop without eps": Case(
        lambda: adam_without_eps(torch.optim.RMSprop), "0.weight", "in the optimizer",
        None,
    ),
}
