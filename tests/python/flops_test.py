"""FLOPs of operations: equal to torch.utils.flop_counter where it counts, and correct
where it reports 0; every operation of common models has a family."""

import os
import unittest
import warnings

os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")  # some VMs claim AMX

import torch
from torch import nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from torchoscope import _core

# They compute nothing: queries about a tensor, checks, marks for the profiler.
NO_FAMILY = {
    "aten::_assert_async",
    "aten::_linalg_check_errors",
    "aten::_nnz",
    "aten::is_coalesced",
    "aten::promote_types",
    "profiler::_record_function_enter_new",
    "profiler::_record_function_exit",
}


def setUpModule():
    warnings.filterwarnings("ignore", "Using padding='same'|LSTM with projections")


def shape_of(value):
    return tuple(value.shape) if isinstance(value, torch.Tensor) else None


def is_tensors(value):
    return isinstance(value, (list, tuple)) and any(
        isinstance(item, torch.Tensor) for item in value
    )


def packed(value):
    """The weight of a quantized convolution, by its sizes."""
    weight = torch.ops.quantized.conv2d_unpack(value)[0]
    return {"sizes": list(weight.shape)}


def positions(values):
    """Tensors as arguments of the table, by position."""
    return tuple(
        [shape_of(item) for item in value] if is_tensors(value) else shape_of(value)
        for value in values
    )


class Counted(TorchDispatchMode):
    """Looks each operation up in the table."""

    def __init__(self):
        super().__init__()
        self.flops, self.unknown, self.seen = {}, {}, set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        schema = func._schema
        names = [argument.name for argument in schema.arguments]
        given = {a.name: a.default_value for a in schema.arguments}
        given |= dict(zip(names, args)) | kwargs
        attributes = {
            name: packed(value) if isinstance(value, torch.ScriptObject) else value
            for name, value in given.items()
            if not isinstance(value, torch.Tensor) and not is_tensors(value)
            if not isinstance(value, torch.ScriptObject) or "conv" in schema.name
        }
        results = result if isinstance(result, tuple) else (result,)
        flops = _core.op_flops(
            schema.name,
            positions(given[name] for name in names),
            positions(results),
            attributes,
        )
        self.seen.add(schema.name)
        if flops is not None:
            self.flops[schema.name] = self.flops.get(schema.name, 0) + flops
        elif _core.op_family(schema.name)[1]:
            self.unknown[schema.name] = self.unknown.get(schema.name, 0) + 1
        return result

    @property
    def total(self):
        return sum(self.flops.values())


def ours(run):
    torch.manual_seed(0)
    with Counted() as counted:
        run()
    return counted


def theirs(run):
    torch.manual_seed(0)
    with FlopCounterMode(display=False) as counter:
        run()
    return counter


def trained(module, *inputs):
    """A function that runs a module forward and backward."""

    def run():
        result = module(*[leaf(item) for item in inputs])
        first = result[0] if isinstance(result, tuple) else result
        first.float().sum().backward()

    return run


def leaf(item):
    if isinstance(item, torch.Tensor) and item.is_floating_point():
        return item.clone().requires_grad_()
    return item


def inferred(module, *inputs):
    """A function that runs a module in inference mode: fused operations stay whole."""

    def run():
        with torch.inference_mode():
            module.eval()(*inputs)

    return run


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Conv2d(4, 4, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(4)
        self.two = nn.Conv2d(4, 4, 1)

    def forward(self, x):
        return x + self.two(torch.relu(self.norm(self.one(x))))


class Call(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def r(*sizes):
    return torch.randn(*sizes)


# What flop_counter counts completely: a module and its inputs.
COMPLETE = {
    "linear": (nn.Linear(4, 5), r(3, 4)),
    "linear of 3 dimensions": (nn.Linear(4, 5), r(2, 3, 4)),
    "linear without bias": (nn.Linear(4, 5, bias=False), r(2, 3, 4)),
    "mlp": (nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2)), r(3, 4)),
    "conv1d": (nn.Conv1d(4, 6, 3), r(2, 4, 9)),
    "conv2d": (nn.Conv2d(4, 6, 3, padding=1), r(2, 4, 9, 9)),
    "conv2d, strided and dilated": (
        nn.Conv2d(4, 6, 3, stride=2, dilation=2),
        r(2, 4, 13, 13),
    ),
    "conv2d of one image": (nn.Conv2d(4, 6, 3), r(4, 9, 9)),
    "conv3d": (nn.Conv3d(4, 6, 3), r(2, 4, 5, 6, 7)),
    "conv2d, same": (nn.Conv2d(4, 6, 4, padding="same"), r(2, 4, 9, 9)),
    "transposed conv1d": (nn.ConvTranspose1d(4, 6, 3, stride=2), r(2, 4, 9)),
    "transposed conv2d": (
        nn.ConvTranspose2d(4, 6, 3, stride=2, output_padding=1),
        r(2, 4, 5, 5),
    ),
    "transposed conv3d": (nn.ConvTranspose3d(4, 6, 3), r(2, 4, 5, 5, 5)),
    "residual": (Residual(), r(2, 4, 6, 6)),
    "gru": (nn.GRU(8, 6, num_layers=2, bidirectional=True), r(5, 3, 8)),
    "rnn": (nn.RNN(8, 6, nonlinearity="relu"), r(5, 3, 8)),
    "lstm of doubles": (nn.LSTM(8, 6).double(), r(5, 3, 8).double()),
    "lstm with projections": (nn.LSTM(8, 6, proj_size=3), r(5, 3, 8)),
    "lstm cell": (nn.LSTMCell(8, 6), r(3, 8)),
    "gru cell": (nn.GRUCell(8, 6), r(3, 8)),
    "attention with weights": (
        nn.MultiheadAttention(16, 4, batch_first=True),
        *[r(2, 5, 16)] * 3,
    ),
    "einsum": (
        Call(lambda a, b: torch.einsum("bij,bkj->bik", a, b)),
        r(2, 3, 4),
        r(2, 5, 4),
    ),
    "matmul of stacks": (Call(torch.matmul), r(2, 1, 3, 4), r(5, 4, 6)),
    "baddbmm": (Call(torch.baddbmm), r(2, 3, 5), r(2, 3, 4), r(2, 4, 5)),
    "tensordot": (Call(lambda a, b: torch.tensordot(a, b, 2)), r(3, 4, 5), r(4, 5, 6)),
    "embedding": (
        nn.Sequential(nn.Embedding(10, 4), nn.Linear(4, 3)),
        torch.randint(0, 9, (2, 5)),
    ),
}

# Operations that stay whole in inference mode.
WHOLE = {
    "einsum of three": (
        Call(lambda a, b, c: torch.einsum("bij,bjk,lk->bil", a, b, c)),
        r(2, 3, 4),
        r(2, 4, 5),
        r(6, 5),
    ),
    "einsum with an ellipsis": (
        Call(lambda a, b: torch.einsum("...ij,...jk->...ik", a, b)),
        r(2, 3, 4),
        r(5, 2, 4, 6),
    ),
    "einsum that sums first": (
        Call(lambda a, b: torch.einsum("ijm,jk->ik", a, b)),
        r(2, 3, 9),
        r(3, 4),
    ),
    "multi_dot": (
        Call(lambda *m: torch.linalg.multi_dot(m)),
        r(9, 2),
        r(2, 8),
        r(8, 3),
    ),
    "inner": (Call(torch.inner), r(3, 5), r(4, 5)),
    "grouped conv2d": (nn.Conv2d(4, 8, 3, groups=2), r(2, 4, 9, 9)),
    "depthwise conv1d": (nn.Conv1d(4, 4, 3, groups=4), r(2, 4, 9)),
    "grouped transposed conv2d": (nn.ConvTranspose2d(4, 6, 3, groups=2), r(2, 4, 5, 5)),
    "packed gru": (
        Call(
            lambda x: PACKED_GRU(
                nn.utils.rnn.pack_padded_sequence(x, torch.tensor([5, 3, 2]))
            )
        ),
        r(5, 3, 8),
    ),
}
PACKED_GRU = nn.GRU(8, 6, num_layers=2).eval()


class Complete(unittest.TestCase):
    """flop_counter is correct here."""

    def equal(self, run, name):
        counted, counter = ours(run), theirs(run)
        self.assertEqual(counted.total, counter.get_total_flops(), name)
        self.assertGreater(counted.total, 0, name)
        self.assertEqual(counted.unknown, {}, name)
        return counted, counter

    def test_forward_and_backward_equal_flop_counter(self):
        for name, (module, *inputs) in COMPLETE.items():
            with self.subTest(name):
                counted, counter = self.equal(trained(module, *inputs), name)
                # Also for each operation.
                for packet, flops in counter.get_flop_counts()["Global"].items():
                    full = f"aten::{packet.__name__}"
                    self.assertEqual(counted.flops.get(full), flops, full)

    def test_inference_mode_equals_flop_counter(self):
        for name, (module, *inputs) in {**COMPLETE, **WHOLE}.items():
            if name == "attention with weights" or name == "lstm with projections":
                continue  # flop_counter does not see into fused operations
            with self.subTest(name):
                self.equal(inferred(module, *inputs), name)

    def test_grouped_convolutions_forward(self):
        for groups in (1, 2, 4):
            conv = nn.Conv2d(4, 8, 3, groups=groups)
            self.equal(lambda: conv(r(2, 4, 9, 9)), groups)
            conv = nn.ConvTranspose2d(4, 8, 3, groups=groups)
            self.equal(lambda: conv(r(2, 4, 9, 9)), groups)

    def test_gradients_that_are_not_needed_are_not_counted(self):
        first = nn.Conv2d(4, 6, 3)
        forward = ours(lambda: first(r(2, 4, 9, 9))).total

        def without_input():
            first(r(2, 4, 9, 9)).sum().backward()

        self.equal(without_input, "weight only")
        self.assertEqual(ours(without_input).total, 2 * forward)
        self.assertEqual(ours(trained(first, r(2, 4, 9, 9))).total, 3 * forward)

    def test_models_of_transformers(self):
        try:
            import transformers as hf
        except ImportError:
            self.skipTest("transformers is not installed")
        small = {
            "vocab_size": 99,
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "max_position_embeddings": 64,
            "attn_implementation": "eager",
        }
        ids = torch.randint(1, 90, (2, 7))
        gpt2 = hf.GPT2Config(
            vocab_size=99,
            n_embd=32,
            n_layer=2,
            n_head=4,
            bos_token_id=0,
            eos_token_id=0,
            attn_implementation="eager",
        )
        t5 = hf.T5Config(
            vocab_size=99, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4
        )
        t5.decoder_start_token_id = 0
        t5._attn_implementation = "eager"
        bert = hf.BertConfig(**small)
        llama = hf.LlamaConfig(**small, num_key_value_heads=2)
        vit = hf.ViTConfig(
            **{k: v for k, v in small.items() if k[:3] in ("hid", "int", "num", "att")},
            image_size=32,
            patch_size=8,
        )
        for model, inputs in (
            (hf.GPT2LMHeadModel(gpt2), {"input_ids": ids, "labels": ids}),
            (hf.LlamaForCausalLM(llama), {"input_ids": ids, "labels": ids}),
            (hf.BertForMaskedLM(bert), {"input_ids": ids, "labels": ids}),
            (hf.T5ForConditionalGeneration(t5), {"input_ids": ids, "labels": ids}),
            (
                hf.ViTForImageClassification(vit),
                {"pixel_values": r(2, 3, 32, 32), "labels": torch.tensor([0, 1])},
            ),
        ):
            with self.subTest(type(model).__name__):
                self.equal(lambda: model(**inputs).loss.backward(), model)


class Right(unittest.TestCase):
    """flop_counter reports 0, or too much."""

    def test_lstm_equals_the_same_layer_in_doubles(self):
        """Doubles are multiplied by mm; the float layer is one operation of oneDNN."""
        kinds = ({}, {"num_layers": 2}, {"bidirectional": True}, {"bias": False})
        for options in kinds:
            for batch_first in (False, True):
                lstm = nn.LSTM(8, 6, batch_first=batch_first, **options)
                x, n = r(5, 3, 8), lstm.num_layers * (1 + lstm.bidirectional)
                batch = 5 if batch_first else 3

                def run(module, kind):
                    state = [leaf(r(n, batch, 6).to(kind)) for _ in range(2)]
                    module(leaf(x.to(kind)), state)[0].sum().backward()

                counted = ours(lambda: run(lstm, torch.float))
                self.assertIn("aten::mkldnn_rnn_layer", counted.flops)
                self.assertIn("aten::mkldnn_rnn_layer_backward", counted.flops)
                doubles = nn.LSTM(8, 6, batch_first=batch_first, **options).double()
                right = theirs(lambda: run(doubles, torch.double))
                self.assertEqual(counted.total, right.get_total_flops(), options)
                whole = ours(inferred(lstm, x))
                self.assertEqual(set(whole.flops), {"aten::lstm"})
                forward = theirs(inferred(doubles, x.double())).get_total_flops()
                self.assertEqual(whole.total, forward)

    def test_lstm_equals_its_formula(self):
        lstm = nn.LSTM(8, 6)
        self.assertEqual(ours(lambda: lstm(r(5, 3, 8))).total, 8 * 6 * (8 + 6) * 5 * 3)

    def test_attention_on_the_cpu_equals_its_products(self):
        sizes = ((4, 4, 16, 16), (4, 2, 16, 16), (4, 4, 16, 10))
        for heads, shared, size, of_value in sizes:
            q, k = r(2, heads, 5, size), r(2, shared, 7, size)
            v = r(2, shared, 7, of_value)
            for kind in (SDPBackend.MATH, SDPBackend.FLASH_ATTENTION):
                if kind == SDPBackend.FLASH_ATTENTION and size != of_value:
                    continue  # it needs equal sizes

                def run():
                    with sdpa_kernel(kind):
                        return functional.scaled_dot_product_attention(
                            q, k, v, enable_gqa=heads != shared
                        )

                with sdpa_kernel(SDPBackend.MATH):
                    right = theirs(
                        lambda: functional.scaled_dot_product_attention(
                            q, k, v, enable_gqa=heads != shared
                        )
                    )
                self.assertEqual(ours(run).total, right.get_total_flops(), kind)

    def test_the_backward_of_attention_is_five_products(self):
        """The four of the math kernel, and the scores again."""

        def run(kind):
            with sdpa_kernel(kind):
                return trained(
                    Call(functional.scaled_dot_product_attention),
                    r(2, 4, 5, 8),
                    r(2, 4, 7, 8),
                    r(2, 4, 7, 8),
                )()

        product = 2 * 2 * 4 * 5 * 7 * 8
        counted = ours(lambda: run(SDPBackend.FLASH_ATTENTION))
        name = "aten::_scaled_dot_product_flash_attention_for_cpu"
        self.assertEqual(
            counted.flops, {name: 2 * product, f"{name}_backward": 5 * product}
        )
        math = theirs(lambda: run(SDPBackend.MATH)).get_total_flops()
        self.assertEqual(counted.total, math + product)

    def test_fused_layers_equal_their_parts(self):
        """In eval mode an encoder layer is one operation."""
        layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True).eval()
        attention = nn.MultiheadAttention(16, 4, batch_first=True).eval()
        x = r(2, 5, 16)
        for module, inputs, name in (
            (layer, (x,), "_transformer_encoder_layer_fwd"),
            (attention, (x, x, x), "_native_multi_head_attention"),
        ):
            with torch.no_grad():
                counted = ours(lambda: module(*inputs))
            self.assertEqual(set(counted.flops), {f"aten::{name}"})
            with sdpa_kernel(SDPBackend.MATH):
                right = theirs(lambda: module.train()(*inputs))
            self.assertEqual(counted.total, right.get_total_flops())

    def test_a_grouped_convolution_equals_the_sum_of_its_groups(self):
        """flop_counter counts weight gradients of all channels for each group."""
        for one, parts, x in (
            (nn.Conv2d(6, 9, 3, groups=3), nn.Conv2d(2, 3, 3), (2, 9, 9)),
            (nn.Conv2d(8, 8, 3, groups=8), nn.Conv2d(1, 1, 3), (1, 9, 9)),
            (
                nn.ConvTranspose1d(6, 9, 3, groups=3),
                nn.ConvTranspose1d(2, 3, 3),
                (2, 9),
            ),
        ):
            groups = one.groups
            whole = ours(trained(one, r(2, x[0] * groups, *x[1:]))).total
            each = theirs(trained(parts, r(2, *x))).get_total_flops()
            self.assertEqual(whole, groups * each)

    def test_bilinear_equals_an_einsum(self):
        layer = nn.Bilinear(4, 5, 6)
        x, y = r(3, 4), r(3, 5)
        right = theirs(
            lambda: torch.einsum("bi,oij,bj->bo", x, layer.weight, y)
        ).get_total_flops()
        self.assertEqual(ours(lambda: layer(x, y)).total, right)
        self.assertEqual(ours(inferred(layer, x, y)).total, right)
        backward = ours(trained(layer, x, y))
        self.assertEqual(backward.unknown, {})
        self.assertEqual(set(backward.flops), {"aten::_trilinear"})
        # Each of the three gradients takes one product of each sample and the weight,
        # and an elementwise one.
        self.assertEqual(backward.total, right + 3 * (2 * 3 * 6 * 4 * 5))

    def test_distances_with_and_without_a_matrix_product(self):
        x, y = r(2, 30, 4), r(2, 40, 4)
        counted = ours(lambda: torch.cdist(x, y))
        self.assertEqual(counted.flops, {"aten::_euclidean_dist": 2 * 2 * 30 * 40 * 6})
        columns = theirs(lambda: r(2, 30, 6) @ r(2, 6, 40)).get_total_flops()
        self.assertEqual(counted.total, columns)
        for p, mode in ((1.0, None), (2.0, "donot_use_mm_for_euclid_dist")):
            options = {} if mode is None else {"compute_mode": mode}
            counted = ours(lambda: torch.cdist(x, y, p=p, **options))
            self.assertEqual(counted.total, 3 * 2 * 30 * 40 * 4)
        for sizes in ((30, 40), (5, 6)):
            pair = r(sizes[0], 4), r(sizes[1], 4)
            self.assertEqual(
                ours(inferred(Call(torch.cdist), *pair)).total,
                ours(lambda: torch.cdist(*pair)).total,
            )

    def test_vectors(self):
        for function, flops, *inputs in (
            (torch.mv, 2 * 3 * 4, r(3, 4), r(4)),
            (torch.addmv, 2 * 3 * 4, r(3), r(3, 4), r(4)),
            (torch.dot, 2 * 5, r(5), r(5)),
            (torch.vdot, 2 * 5, r(5), r(5)),
            (torch.addr, 2 * 3 * 4, r(3, 4), r(3), r(4)),
            (torch.addbmm, 2 * 2 * 3 * 4 * 5, r(3, 5), r(2, 3, 4), r(2, 4, 5)),
        ):
            counted = ours(lambda: function(*inputs))
            self.assertEqual(counted.total, flops, function)

    def test_groups_of_experts(self):
        rows, experts = r(16, 32).bfloat16(), r(2, 32, 8).bfloat16()
        ends = torch.tensor([8, 16], dtype=torch.int32)
        counted = ours(lambda: functional.grouped_mm(rows, experts, offs=ends))
        self.assertEqual(counted.total, 2 * 16 * 32 * 8)

    def test_bags_of_embeddings(self):
        indices = torch.randint(0, 9, (6, 3))
        for mode, each in (("sum", 1), ("mean", 1), ("max", 0)):
            bag = nn.EmbeddingBag(10, 4, mode=mode)
            self.assertEqual(ours(lambda: bag(indices)).total, each * 18 * 4)
            self.assertEqual(ours(trained(bag, indices)).total, 2 * each * 18 * 4)
        weights = r(6, 3)
        counted = ours(
            lambda: functional.embedding_bag(
                indices, r(10, 4), mode="sum", per_sample_weights=weights
            )
        )
        self.assertEqual(counted.total, 2 * 18 * 4)

    def test_quantized_layers_equal_those_of_floats(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.quantized()

    def quantized(self):
        linear = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 3))
        x = r(5, 8)
        dynamic = torch.ao.quantization.quantize_dynamic(linear, {nn.Linear})
        right = theirs(lambda: linear(x)).get_total_flops()
        self.assertEqual(ours(lambda: dynamic(x)).total, right)
        conv = nn.Sequential(
            torch.ao.quantization.QuantStub(), nn.Conv2d(4, 6, 3, groups=2), nn.ReLU()
        ).eval()
        image = r(2, 4, 9, 9)
        right = theirs(lambda: conv(image)).get_total_flops()
        conv.qconfig = torch.ao.quantization.get_default_qconfig("x86")
        torch.ao.quantization.prepare(conv, inplace=True)
        conv(image)
        torch.ao.quantization.convert(conv, inplace=True)
        self.assertEqual(ours(lambda: conv(image)).total, right)

    def test_decompositions_are_named_as_not_counted(self):
        matrix = r(4, 4) @ r(4, 4) + 4 * torch.eye(4)
        counted = ours(lambda: torch.linalg.svd(matrix))
        self.assertEqual(set(counted.unknown), {"aten::_linalg_svd"})
        self.assertEqual(counted.total, 0)


class Families(unittest.TestCase):
    def check(self, run, name):
        for op in ours(run).seen - NO_FAMILY:
            self.assertNotEqual(_core.op_family(op)[0], "other", f"{op} of {name}")

    def test_layers_and_losses(self):
        image, rows = r(2, 4, 12, 12), r(3, 5)
        for name in (
            "ELU Hardshrink Hardsigmoid Hardtanh Hardswish LeakyReLU LogSigmoid PReLU "
            "ReLU ReLU6 RReLU SELU CELU GELU Sigmoid SiLU Mish Softplus Softshrink "
            "Softsign Tanh Tanhshrink GLU Softmin Softmax2d LogSoftmax Dropout "
            "Dropout2d AlphaDropout FeatureAlphaDropout Flatten Identity"
        ).split():
            options = {"dim": 1} if name in ("Softmin", "LogSoftmax") else {}
            self.check(trained(getattr(nn, name)(**options), image), name)
        for layer in (
            nn.BatchNorm2d(4),
            nn.InstanceNorm2d(4),
            nn.GroupNorm(2, 4),
            nn.LayerNorm(12),
            nn.RMSNorm(12),
            nn.LocalResponseNorm(2),
            nn.MaxPool2d(2),
            nn.AvgPool2d(2),
            nn.AdaptiveAvgPool2d(3),
            nn.AdaptiveMaxPool2d(3),
            nn.FractionalMaxPool2d(2, output_size=4),
            nn.LPPool2d(2, 2),
            nn.ReflectionPad2d(1),
            nn.ReplicationPad2d(1),
            nn.ZeroPad2d(1),
            nn.CircularPad2d(1),
            nn.PixelShuffle(2),
            nn.PixelUnshuffle(2),
            nn.ChannelShuffle(2),
            nn.Unfold(2),
            *[
                nn.Upsample(scale_factor=2, mode=mode)
                for mode in ("nearest", "bilinear", "bicubic", "nearest-exact", "area")
            ],
        ):
            self.check(trained(layer, image), layer)
            self.check(inferred(layer, image), layer)
        for loss, target in (
            ("cross_entropy", torch.tensor([0, 1, 2])),
            ("nll_loss", torch.tensor([0, 1, 2])),
            ("multi_margin_loss", torch.tensor([0, 1, 2])),
            ("mse_loss", r(3, 5)),
            ("l1_loss", r(3, 5)),
            ("smooth_l1_loss", r(3, 5)),
            ("huber_loss", r(3, 5)),
            ("binary_cross_entropy_with_logits", torch.rand(3, 5)),
            ("soft_margin_loss", torch.ones(3, 5)),
            ("poisson_nll_loss", torch.rand(3, 5)),
            ("kl_div", torch.rand(3, 5)),
        ):
            function = getattr(functional, loss)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.check(
                    trained(Call(lambda x: function(x, target)), rows),
                    loss,
                )

    def test_optimizers(self):
        for name in (
            "SGD Adam AdamW Adagrad Adadelta Adamax NAdam RAdam RMSprop Rprop ASGD "
            "LBFGS Adafactor"
        ).split():
            make = getattr(torch.optim, name)
            for options in ({}, {"foreach": True}, {"fused": True}):
                parameter = nn.Parameter(r(4, 4))
                try:
                    optimizer = make([parameter], lr=0.1, **options)
                except (TypeError, RuntimeError):
                    continue  # it does not have that option

                def run():
                    def loss():
                        optimizer.zero_grad()
                        value = parameter.pow(2).sum()
                        value.backward()
                        return value

                    optimizer.step(loss)

                self.check(run, name)

    def test_variants_and_unknown_names(self):
        for name, family in (
            ("aten::add_", ("elementwise", False, False)),
            ("aten::addmm_", ("matmul", True, True)),
            ("aten::_linalg_svd", ("linalg", True, False)),
            ("mylib::linear", ("other", False, False)),
        ):
            self.assertEqual(_core.op_family(name), family)


class Asking(unittest.TestCase):
    def test_arguments_that_do_not_fit_give_none(self):
        ask = _core.op_flops
        self.assertEqual(ask("aten::mm", ((2, 3), (3, 4)), ((2, 4),), {}), 48)
        self.assertIsNone(ask("aten::mm", ((2, 3), (4, 4)), (), {}))
        self.assertIsNone(ask("aten::mm", ((2**62, 1), (1, 4)), (), {}))
        self.assertIsNone(ask("aten::mm", (None, [(2, 3), None]), (), {}))
        other = {"transposed": object()}
        self.assertIsNone(ask("aten::convolution", ((1, 2, 3),) * 2, (), other))

    def test_wrong_types_raise(self):
        ask = _core.op_flops
        for words in (
            ("aten::mm",),
            ("aten::mm", [], (), {}),
            ("aten::mm", (5,), (), {}),
            ("aten::mm", (("a", "b"),), (), {}),
            (1, (), (), {}),
        ):
            with self.assertRaises(TypeError):
                ask(*words)
        with self.assertRaises(OverflowError):
            ask("aten::mm", ((2**64, 1),), (), {})
        with self.assertRaises(ValueError):
            ask("aten::mm", ((1,) * 300,), (), {})


if __name__ == "__main__":
    unittest.main()
