"""Every operation is recorded: the list equals that of a dispatch mode written in Python,
run on an equal copy, and each operation of backward belongs to the module that caused it."""

import sys
import unittest

try:
    import torch
    from torch import nn
    from torch.utils._python_dispatch import TorchDispatchMode
    import torchoscope
    from torchoscope import op_kinds
except ImportError as error:
    raise unittest.SkipTest(f"no torch: {error}")

if op_kinds.why_not():
    raise unittest.SkipTest(op_kinds.why_not())

import replay_test

torch.set_num_threads(1)


def in_make_grads():
    """Does backward() make its initial gradient?"""
    frame = sys._getframe()
    while frame is not None and frame.f_code.co_name != "_make_grads":
        frame = frame.f_back
    return frame is not None


class Oracle(TorchDispatchMode):
    """Lists (name, overload), and for backward the module that caused it: the innermost
    call during which the node of autograd was made, by the numbers that torch gives to
    nodes."""

    def __init__(self, model, hooks=True):
        super().__init__()
        self.ops, self.calls, self._ends = [], [], []
        self._owners, self._open = {}, []
        for name, module in model.named_modules() if hooks else ():
            self._ends.append(module.register_forward_pre_hook(self._before(name)))
            self._ends.append(module.register_forward_hook(self._after))
            for one in module.parameters(False):
                self._owners.setdefault(one, name)

    def _before(self, name):
        def hook(module, args):
            call = [name, torch.autograd._get_sequence_nr(), None]
            self.calls.append(call)
            self._open.append(call)

        return hook

    def _after(self, module, args, result):
        self._open.pop()[2] = torch.autograd._get_sequence_nr()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func._schema.name
        if not name.startswith("profiler::"):
            self.ops.append((name, func._schema.overload_name, self._cause()))
        return func(*args, **(kwargs or {}))

    def _cause(self):
        """(phase, module)"""
        if torch._C._current_graph_task_id() == -1:
            phase = "backward" if in_make_grads() else "forward"
            return phase, self._open[-1][0] if self._open else None
        node = torch._C._current_autograd_node()
        if type(node).__name__ == "AccumulateGrad":
            return "backward", self._owners.get(node.variable)
        number = node._sequence_nr()
        inside = [one for one in self.calls if one[1] <= number < one[2]]
        return "backward", inside[-1][0] if inside else None

    def __exit__(self, *error):
        for end in self._ends:
            end.remove()
        return super().__exit__(*error)


def equal_models(make, seed=0):
    torch.manual_seed(seed)
    first = make()
    torch.manual_seed(seed)
    return first, make()


def steps(model, args, kwargs, optimizer, rounds=2):
    torch.manual_seed(1)
    for _ in range(rounds):
        if optimizer is not None:
            optimizer.zero_grad()
        result = model(*args, **kwargs)
        loss = getattr(result, "loss", None)
        if loss is None:
            while not isinstance(result, torch.Tensor):
                result = result[0]
            loss = (result * 1.5).square().mean()
        if optimizer is not None:
            loss.backward()
            optimizer.step()


def told(recording):
    """The list of the oracle, from a recording."""
    for op in recording.ops():
        module = op.module if op.phase in ("forward", "backward") else None
        phase = "forward" if op.phase == "optimizer" else op.phase
        yield op.name, op.overload, (phase, module)


class Slices(nn.Module):
    """Writes to slices, which autograd records after the operation."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        out = torch.zeros(len(x), 8)
        out[:, :4] = self.first(x)
        out[:, 4:] = self.second(x).tanh()
        out[0].mul_(2)
        return self.second(out[:, 2:6])


class Twice(torch.autograd.Function):
    """Its forward runs without grad mode."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * x * 2


class OwnFunction(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.own = Square()

    def forward(self, x):
        return self.second(self.own(self.first(x)))


class Square(nn.Module):
    def forward(self, x):
        return Twice.apply(x)


def architectures():
    """name: a function that makes (model, args, kwargs)"""
    x = torch.randn(4, 6)

    def sequential():
        return nn.Sequential(nn.Linear(6, 8), nn.ReLU(True), nn.Dropout(0.5), nn.Linear(8, 2))

    def cnn():
        parts = replay_test.Residual(), replay_test.Residual()
        return nn.Sequential(*parts, nn.Flatten(), nn.Linear(192, 5))

    def encoder():
        layer = nn.TransformerEncoderLayer(6, 2, 12, batch_first=True)
        return nn.TransformerEncoder(layer, 2)

    yield "mlp", sequential, (x,), {}
    yield "cnn", cnn, (torch.randn(2, 3, 8, 8),), {}
    yield "lstm", lambda: nn.LSTM(6, 5, 2, dropout=0.3), (x.view(2, 2, 6),), {}
    yield "encoder", encoder, (x.view(2, 2, 6),), {}
    yield "experts", replay_test.Mixture, (x,), {}
    yield "slices", Slices, (torch.randn(4, 4),), {}
    yield "function", OwnFunction, (torch.randn(2, 4),), {}
    yield "recursive", replay_test.Recursive, (torch.randn(2, 4),), {}
    try:
        import transformers  # noqa: F401
    except ImportError:
        return
    for make in (replay_test.gpt2, replay_test.llama, replay_test.t5):
        kwargs = make()[1]
        kwargs["labels"] = kwargs["input_ids"]
        yield make.__name__, lambda make=make: make()[0], (), kwargs


class OracleTest(unittest.TestCase):
    def compare(self, make, args, kwargs, train, optimizer, modules=True):
        first, second = equal_models(make)
        runs = []
        for model in (first, second):
            model.train(train)
            made = optimizer(model.parameters()) if optimizer else None
            runs.append((model, args, kwargs, made))
        oracle = Oracle(first, modules)
        with oracle, torch.set_grad_enabled(optimizer is not None):
            steps(*runs[0])
        with torchoscope.record(second, ops=True) as recording:
            with torch.set_grad_enabled(optimizer is not None):
                steps(*runs[1])
        self.assertGreater(len(oracle.ops), 5)
        got = list(told(recording))
        if not modules:
            got = [(*one[:2], one[2][0]) for one in got]
            oracle.ops = [(*one[:2], one[2][0]) for one in oracle.ops]
        for i, (a, b) in enumerate(zip(got, oracle.ops)):
            self.assertEqual(a, b, f"operation {i}")
        self.assertEqual(len(got), len(oracle.ops))
        self.assertNotIn("error", [gap.kind for gap in recording.gaps])
        for a, b in zip(first.state_dict().values(), second.state_dict().values()):
            self.assertTrue(replay_test.same_bits(a, b))
        return recording

    def test_training(self):
        optimizers = {
            "sgd": lambda ps: torch.optim.SGD(ps, 0.1, momentum=0.9),
            "adam": torch.optim.Adam,
            "foreach": lambda ps: torch.optim.AdamW(ps, foreach=True),
            "fused": lambda ps: torch.optim.Adam(ps, fused=True),
        }
        for name, make, args, kwargs in architectures():
            for kind, optimizer in optimizers.items():
                with self.subTest(name, optimizer=kind):
                    recording = self.compare(make, args, kwargs, True, optimizer)
                    phases = {op.phase for op in recording.ops()}
                    self.assertEqual(phases, {"forward", "backward", "optimizer"})

    def test_eval(self):
        for name, make, args, kwargs in architectures():
            with self.subTest(name):
                # Hooks of modules would turn off the fused encoder layer.
                self.compare(make, args, kwargs, False, None, name != "encoder")
                self.compare(make, args, kwargs, False, torch.optim.SGD)


if __name__ == "__main__":
    unittest.main()
