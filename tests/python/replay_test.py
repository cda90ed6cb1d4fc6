"""Replays operations from copies, in the recorded order and in random orders that their
edges allow: every result is bit-identical, so no operation or edge is missing."""

import unittest

try:
    import torch
    from torch import nn
    from torch.nn import functional as F
    import torchoscope
    from torchoscope import op_kinds, op_replay, recorder
except ImportError as error:
    raise unittest.SkipTest(f"no torch: {error}")

if op_kinds.why_not():
    raise unittest.SkipTest(op_kinds.why_not())


class KeptWithResults(op_replay.Kept):
    """Also copies the results, to compare with."""

    def __init__(self):
        super().__init__()
        self.results = {}

    def op(self, number, func, args, kwargs, result, values):
        super().op(number, func, args, kwargs, result, values)
        found = [one.detach().clone() for one in op_replay.tensors_in(result)]
        self.results[number] = found


def same_bits(a, b):
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.is_quantized:
        a, b = a.int_repr(), b.int_repr()
    if a.is_complex():
        a, b = torch.view_as_real(a.resolve_conj()), torch.view_as_real(b.resolve_conj())
    a, b = a.contiguous().flatten(), b.contiguous().flatten()
    return torch.equal(a.view(torch.uint8), b.view(torch.uint8))


def is_uninitialised(op, position):
    """Does a result hold memory that no kernel has written?"""
    workspace = op.name == "aten::mkldnn_rnn_layer" and position == 3
    return op.empty or workspace


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3, padding=1)
        self.norm = nn.BatchNorm2d(3)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        y = self.norm(self.conv(x))
        y += x
        return self.act(y)


class Views(nn.Module):
    """Writes through views, of rows and of columns, in a loop."""

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        out = torch.zeros(4, 4)
        for i in range(4):
            out[i] = self.lin(x[i])
        out[:, 1] *= 2
        flat = out.view(-1)
        flat[3:9].add_(1)
        first, second = out[:2], out[2:]
        first.mul_(second)
        return out.t() @ out + first.sum()


class Control(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        for _ in range(3):
            x = self.a(x) if x.sum() > 0 else self.b(x).neg()
        return x


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(11, 6)
        self.out = nn.Linear(6, 11, bias=False)
        self.out.weight = self.emb.weight

    def forward(self, x):
        return self.out(self.emb(x).mean(1))


class Recursive(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(4, 4)

    def forward(self, x, depth=3):
        return x if depth == 0 else torch.tanh(self.cell(self.forward(x, depth - 1)))


class Mixture(nn.Module):
    """Experts that each see some rows: gather, scatter, a top-k choice."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(6, 3)
        self.experts = nn.ModuleList(nn.Linear(6, 6) for _ in range(3))

    def forward(self, x):
        weights, chosen = self.gate(x).softmax(-1).topk(2)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            rows, slot = (chosen == i).nonzero(as_tuple=True)
            out.index_add_(0, rows, expert(x[rows]) * weights[rows, slot, None])
        return out


class Messages(nn.Module):
    """A graph network: messages along edges, added up at their targets."""

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(5, 5)
        self.edges = torch.tensor([[0, 1, 2, 3, 0], [1, 2, 3, 0, 2]])

    def forward(self, x):
        source, target = self.edges
        for _ in range(2):
            sent = self.lin(x)[source]
            x = x + torch.zeros_like(x).scatter_add(0, target[:, None].expand_as(sent), sent)
        return x


class UNet(nn.Module):
    """A small diffusion U-Net: time embedding, group norm, attention, skips."""

    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(8, 8), nn.SiLU(), nn.Linear(8, 8))
        self.inp = nn.Conv2d(3, 8, 3, padding=1)
        self.down = nn.Conv2d(8, 8, 3, stride=2, padding=1)
        self.norm = nn.GroupNorm(2, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.up = nn.ConvTranspose2d(8, 8, 2, stride=2)
        self.out = nn.Conv2d(16, 3, 3, padding=1)

    def forward(self, x, t):
        frequencies = torch.exp(-torch.arange(4) / 4.0)
        angles = t[:, None] * frequencies
        time = self.time(torch.cat([angles.sin(), angles.cos()], -1))
        h = self.inp(x)
        d = F.silu(self.norm(self.down(h) + time[:, :, None, None]))
        flat = d.flatten(2).transpose(1, 2)
        flat = flat + self.attention(flat, flat, flat, need_weights=False)[0]
        d = flat.transpose(1, 2).reshape(d.shape)
        return self.out(torch.cat([self.up(d), h], 1))


def transformers_model(name, **settings):
    import transformers

    config = getattr(transformers, f"{name}Config")(**settings)
    return config, transformers


def gpt2():
    config, hf = transformers_model(
        "GPT2", n_layer=2, n_head=2, n_embd=16, vocab_size=50, n_positions=32
    )
    return hf.GPT2LMHeadModel(config), {"input_ids": torch.arange(12).view(2, 6)}


def llama():
    small = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1, "vocab_size": 50}
    config, hf = transformers_model("Llama", **small, **heads)
    return hf.LlamaForCausalLM(config), {"input_ids": torch.arange(12).view(2, 6)}


def t5():
    small = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2}
    config, hf = transformers_model(
        "T5", vocab_size=50, decoder_start_token_id=0, **small
    )
    ids = torch.arange(12).view(2, 6)
    return hf.T5ForConditionalGeneration(config), {"input_ids": ids, "labels": ids}


class Packed(nn.Module):
    """pad_packed_sequence() fills the lengths that it returns without an operation."""

    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(6, 5, batch_first=True)

    def forward(self, x, lengths):
        pack = nn.utils.rnn.pack_padded_sequence
        packed = pack(x, lengths, batch_first=True, enforce_sorted=False)
        result, _ = self.gru(packed)
        result, lengths = nn.utils.rnn.pad_packed_sequence(result, batch_first=True)
        return result.sum(1) / lengths[:, None]


def modules():
    """name: (model, inputs)"""
    x = torch.randn(4, 6)
    yield "mlp", nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Dropout(0.5)), (x,)
    yield "residual", nn.Sequential(Residual(), Residual()), (torch.randn(2, 3, 8, 8),)
    yield "views", Views(), (torch.randn(4, 4),)
    yield "control flow", Control(), (torch.randn(3, 4),)
    yield "tied", Tied(), (torch.randint(0, 11, (2, 5)),)
    yield "recursive", Recursive(), (torch.randn(2, 4),)
    yield "lstm", nn.LSTM(6, 5, 2, dropout=0.3, bidirectional=True), (x.view(2, 2, 6),)
    yield "gru", nn.GRU(6, 5, batch_first=True), (x.view(2, 2, 6),)
    yield "packed", Packed(), (x.view(2, 2, 6), torch.tensor([1, 2]))
    attention = nn.MultiheadAttention(6, 2, dropout=0.1)
    yield "attention", attention, (x, x, x)
    layer = nn.TransformerEncoderLayer(6, 2, 12, batch_first=True)
    yield "encoder", nn.TransformerEncoder(layer, 2), (x.view(2, 2, 6),)
    yield "mixture of experts", Mixture(), (x,)
    yield "messages", Messages(), (torch.randn(4, 5),)
    yield "u-net", UNet(), (torch.randn(1, 3, 8, 8), torch.rand(1))
    yield "bag", nn.EmbeddingBag(9, 4, mode="max"), (torch.randint(0, 9, (3, 4)),)
    yield "bilinear", nn.Bilinear(6, 6, 3), (x, x)
    spectral = nn.utils.parametrizations.spectral_norm(nn.Linear(6, 6))
    yield "spectral norm", spectral, (x,)
    yield "instance norm", nn.InstanceNorm2d(3, track_running_stats=True), (
        torch.randn(2, 3, 4, 4),
    )


class ReplayTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.addCleanup(setattr, recorder, "Kept", recorder.Kept)
        recorder.Kept = KeptWithResults

    def check(self, model, args=(), kwargs=None, grad=True):
        with torchoscope.record(model, ops="replay") as recording:
            with torch.set_grad_enabled(grad):
                model(*args, **(kwargs or {}))
        ops = recording.ops()
        self.assertGreater(len(ops), 0)
        for seed in (None, 1, 2, 3):
            again = recording.replay(seed)
            self.assertEqual(len(again.ops), len(ops))
            for op in again.ops:
                kept = recording._replay.results[op.id]
                values = [one.value for one in op.outputs]
                self.assertEqual(len(values), len(kept))
                read = {one.value for one in op.inputs}
                for i, (number, expected) in enumerate(zip(values, kept)):
                    # A view may equal its argument.
                    if number in read or is_uninitialised(op, i):
                        continue
                    got = again.values[number]
                    self.assertTrue(same_bits(got, expected), f"{op} with seed {seed}")

    def test_modules_in_training(self):
        for name, model, args in modules():
            with self.subTest(name):
                self.check(model, args)

    def test_modules_without_gradients(self):
        for name, model, args in modules():
            with self.subTest(name):
                self.check(model.eval(), args, grad=False)

    def test_transformers(self):
        try:
            import transformers  # noqa: F401
        except ImportError:
            self.skipTest("no transformers")
        for make in (gpt2, llama, t5):
            with self.subTest(make.__name__):
                model, kwargs = make()
                self.check(model, (), kwargs)
                self.check(model.eval(), (), kwargs, grad=False)

    def test_inference_mode(self):
        with torch.inference_mode():
            self.check(nn.Sequential(nn.Linear(4, 4), nn.ReLU(True)), (torch.randn(2, 4),))

    def test_partly_written_tensors_have_sources(self):
        model = Views()
        with torchoscope.record(model, ops="replay") as recording:
            model(torch.randn(4, 4))
        parts = [
            value for op in recording.ops() for value in op.inputs if len(value.sources) > 1
        ]
        self.assertTrue(parts)

    def test_operations_need_the_inputs_that_replay_keeps(self):
        with torchoscope.record(nn.Linear(2, 2), ops=True) as recording:
            pass
        with self.assertRaisesRegex(RuntimeError, 'ops="replay"'):
            recording.replay()


if __name__ == "__main__":
    unittest.main()
