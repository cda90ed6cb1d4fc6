"""More of alarm_cases.py: common mistakes, each in a separate network. MORE:
name -> Case."""

import torch
from alarm_cases import Case, Scene, functional, trapped
from torch import nn
from torch.nn import functional as F

NAN, INF = float("nan"), float("inf")


def switched(model, loss=None, inputs=None, optimizer=None):
    """loss(model, x, on) and inputs(on): `on` enables the mistake."""
    state = []
    more = {} if loss is None else {"loss": lambda m, x: loss(m, x, bool(state))}
    if inputs is not None:
        more["inputs"] = lambda: inputs(bool(state))
    return Scene(model, lambda: state.append(1), optimizer=optimizer, **more)


def net():
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))


class Switched(nn.Module):
    """Its forward() looks at `bad`."""

    bad = False

    @classmethod
    def scene(cls, **more):
        model = cls()
        return Scene(model, lambda: setattr(model, "bad", True), **more)


class HandNorm(nn.Module):
    def forward(self, x):
        return (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True)


def hand_norm():
    model = nn.Sequential(nn.Linear(6, 6), HandNorm(), nn.Linear(6, 3))

    def turn_on():
        with torch.no_grad():
            model[0].weight.zero_()
            model[0].bias.fill_(1)

    return Scene(model, turn_on)


class BatchStd(nn.Module):
    def forward(self, x):
        return (x - x.mean(0)) / x.std(0)


def batch_of_one():
    model = nn.Sequential(nn.Linear(6, 4), BatchStd(), nn.Linear(4, 3))
    return switched(model, inputs=lambda on: torch.randn(1 if on else 4, 6))


def autocast():
    model = nn.Sequential(nn.Linear(6, 6), nn.Linear(6, 3))

    def turn_on():
        with torch.no_grad():
            model[0].weight.fill_(3e4)
            model[0].bias.fill_(6e4)

    def loss(model, x):
        with torch.autocast("cpu", dtype=torch.float16):
            found = model(x.abs() + 1)
        return found.float().square().mean()

    return Scene(model, turn_on, loss)


class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        found = torch.exp(x.abs() * 100 + 100)
        ctx.save_for_backward(found)
        return found

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0]


def spoilt_data(value):
    def inputs(on):
        x = torch.randn(4, 1, 6)
        if on:
            x[2, 0, 3] = value
        return x

    model = nn.Sequential(nn.Conv1d(1, 4, 3), nn.Flatten(), nn.Linear(16, 3))
    return switched(model, inputs=inputs)


def nan_label():
    def loss(model, x, on):
        labels = torch.zeros(4, 3)
        if on:
            labels[1, 1] = NAN
        return F.mse_loss(model(x), labels)

    return switched(net(), loss)


class WithLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.net, self.loss = nn.Linear(6, 3), nn.MSELoss()

    def forward(self, x, labels):
        return self.loss(self.net(x), labels)


def nan_label_inside():
    def loss(model, x, on):
        labels = torch.zeros(4, 3)
        labels[1, 1] = NAN if on else 0
        return model(x, labels)

    return switched(WithLoss(), loss)


def option(key, value):
    def make():
        model = net()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        turn_on = lambda: optimizer.param_groups[0].update({key: value})  # noqa: E731
        return Scene(model, turn_on, optimizer=optimizer)

    return make


def clipped():
    """An infinite gradient has an infinite norm: clipping makes it NaN, others 0."""
    model = net()

    def loss(model, x, on):
        found = model(x).square().mean()
        if on:
            first = model[2].bias[:1]
            (found + (first - first.detach()).sqrt().sum()).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            return model[2].bias.sum() * 0
        return found

    return switched(model, loss)


def nan_row():
    model = nn.Sequential(nn.Embedding(10, 4), nn.Flatten(), nn.Linear(12, 3))

    def turn_on():
        with torch.no_grad():
            model[0].weight[7] = NAN

    return Scene(model, turn_on, inputs=lambda: torch.tensor([[1, 2, 3], [7, 1, 2]]))


class Padded(Switched):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        padding = torch.zeros(4, 5, dtype=torch.bool)
        padding[1] = self.bad
        return self.head(self.attention(x, x, x, key_padding_mask=padding)[0])


class NoChoice(Switched):
    """All classes of a row are masked; the label leaves gradients finite."""

    def __init__(self):
        super().__init__()
        self.net = nn.Linear(6, 3)

    def forward(self, x):
        hidden = torch.zeros(4, 3, dtype=torch.bool)
        hidden[1] = self.bad
        return F.log_softmax(self.net(x).masked_fill(hidden, -INF), -1)


def chosen(model, x):
    return F.nll_loss(model(x), torch.zeros(4, dtype=torch.long))


class Pool(nn.Module):
    def forward(self, x, mask):
        return (x * mask).sum(1) / mask.sum(1)


class Pooled(Switched):
    def __init__(self):
        super().__init__()
        self.embed, self.pool = nn.Embedding(10, 4), Pool()
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        mask = torch.ones(4, 5, 1)
        mask[2] = 0 if self.bad else 1
        return self.head(self.pool(self.embed(x), mask))


def hooked():
    model, state = net(), []
    model[1].register_forward_hook(lambda *a: a[2] / (a[2] - a[2]) if state else None)
    return Scene(model, lambda: state.append(1))


def loss_of(spoil):
    """The mistake is in the loss."""

    def loss(model, x, on):
        found = model(x)
        return spoil(found) if on else found.square().mean()

    return lambda: switched(nn.Linear(6, 3), loss)


def labels_ignored(found):
    return F.cross_entropy(found, torch.full((4,), -100))


def entropy(found):
    p = found.softmax(-1)
    p = (p > 0.5).float() * p
    return (p * p.log()).sum(-1).mean()


def distance(x):
    return x + (x - x.detach()).square().sum(-1, keepdim=True).sqrt()


def cosine(x):
    x = x * 0
    return x / x.norm(dim=-1, keepdim=True)


def branch(x):
    return torch.where(x > 1e9, torch.log(x * 0), x)


def trap(host, spoil):
    return lambda: trapped(host, spoil)


MORE = {
    "log of a tiny negative": Case(
        trap("mlp", lambda x: torch.log(x.abs() * 0 - 1e-30)), "2", "outputs", "aten::log"
    ),
    "distance of equal points": Case(
        trap("cnn", distance), "body.1", "backward", "aten::div"
    ),
    "norm by hand of a constant": Case(
        hand_norm, "1", "in HandNorm: 24 of 24", "aten::div"
    ),
    "batch of one": Case(batch_of_one, "1", "in BatchStd", "aten::std"),
    "autocast to half": Case(autocast, "0", "in Linear", "aten::addmm"),
    "exp in an own function": Case(
        trap("rnn", Exp.apply), "trap", "outputs", "aten::exp"
    ),
    "NaN in the data": Case(
        lambda: spoilt_data(NAN), "Sequential", "its input has NaN: 1 of 24", None
    ),
    "Inf in the data": Case(
        lambda: spoilt_data(INF), "Sequential", "its input has Inf: 1 of 24", None
    ),
    "-Inf in the data": Case(
        lambda: spoilt_data(-INF), "0", "inputs finite except 1 -Inf (to", None
    ),
    "NaN label": Case(nan_label, "loss", "in the loss", "aten::mse_loss"),
    "NaN label of a model with a loss": Case(
        nan_label_inside, "WithLoss", "its input labels has NaN: 1 of 12", None
    ),
    "infinite learning rate": Case(
        option("lr", INF), "0.weight", "in the optimizer", None
    ),
    "infinite weight decay": Case(
        option("weight_decay", INF), "0.weight", "in the optimizer", None
    ),
    "clipping to an infinite norm": Case(clipped, "2", "1 of 3 gradients of 2.bias", None),
    "NaN in a row of an embedding": Case(
        nan_row, "0.weight", "the parameter has NaN: 4 of 40", None
    ),
    "attention to padding only": Case(
        lambda: Padded.scene(inputs=lambda: torch.randn(4, 5, 8)),
        *("attention", "in MultiheadAttention", "aten::_softmax"),
    ),
    "unused branch of where": Case(trap("cnn", branch), "body.1", "backward", "aten::div"),
    "product of large numbers": Case(
        trap("transformer", lambda x: x + torch.cumprod(x.abs() * 1e30 + 1e30, -1) * 0),
        *("blocks.1.mlp.2", "outputs", "aten::cumprod"),
    ),
    "0 to a negative power": Case(
        trap("rnn", lambda x: torch.relu(-x.abs()) ** -1.0 + x),
        *("trap", "outputs", "aten::pow"),
    ),
    "no class is left": Case(
        lambda: NoChoice.scene(loss=chosen), "NoChoice", "", "aten::_log_softmax"
    ),
    "pooling of nothing": Case(
        lambda: Pooled.scene(inputs=lambda: torch.randint(0, 10, (4, 5))),
        *("pool", "in Pool: 4 of 16", "aten::div"),
    ),
    "hook of the user": Case(hooked, "Sequential", "between 1 and 2", "aten::div"),
    "cosine of nothing": Case(
        lambda: functional(cosine), "Functional", "between a and b", "aten::div"
    ),
    "all labels ignored": Case(
        loss_of(labels_ignored), "loss", "", "aten::nll_loss_forward"
    ),
    "log of 0 in an entropy": Case(
        loss_of(entropy), "loss", "in the loss", "aten::log"
    ),
    "mean of nothing": Case(loss_of(lambda x: x[:0].mean()), "loss", "", "aten::mean"),
}
