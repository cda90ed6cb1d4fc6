"""Every operation of backward has a module as owner, with three exceptions: the
backward of operations outside the model (the loss), the initial gradient of backward(),
and gradients of tensors that no module made (inputs)."""

import unittest
import warnings

try:
    import torch
    from torch import nn
    from torch.nn import functional as F
    from torch.utils.checkpoint import checkpoint
    import torchoscope
    from torchoscope import op_kinds
except ImportError as error:
    raise unittest.SkipTest(f"no torch: {error}")

if op_kinds.why_not():
    raise unittest.SkipTest(op_kinds.why_not())

try:
    import transformers as hf
except ImportError:
    hf = None

torch.set_num_threads(1)

LOSS, SEED, INPUT = "the loss", "the first gradient", "an input"


def exception(op):
    """The reason why an operation of backward has no module."""
    if op.cause is not None:
        return LOSS if op.cause.module is None else None
    if op.name == "aten::ones_like":
        return SEED
    return INPUT if op.gradient is None else None


def train(model, kwargs, loss):
    """A recording of two steps with a loss outside the model."""
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    with torchoscope.record(model, ops=True) as recording:
        for _ in range(2):
            optimizer.zero_grad()
            loss(model(**kwargs)).backward()
            optimizer.step()
    return recording


def cross_entropy(result):
    first = getattr(result, "logits", None)
    first = result[0] if first is None else first
    rows = first.flatten(0, -2)
    return F.cross_entropy(rows, torch.zeros(len(rows), dtype=torch.long))


class Activation(nn.Module):
    """Calls requires_grad_() on an activation, which makes it a leaf of autograd."""

    def __init__(self):
        super().__init__()
        self.inner, self.outer = Leaf(), nn.Linear(4, 4)

    def forward(self, x):
        return self.outer(self.inner(x))


class Leaf(nn.Module):
    def forward(self, x):
        return (x * 2).detach().requires_grad_() * 3


class Checkpointed(nn.Module):
    def __init__(self, reentrant):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), Block()
        self.reentrant = reentrant

    def forward(self, x):
        return checkpoint(self.second, self.first(x), use_reentrant=self.reentrant)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        return self.lin(x).tanh() + x


def small(kind, **more):
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    return kind(**sizes, intermediate_size=48, **more)


def seq2seq(kind, **more):
    names = "encoder_layers decoder_layers encoder_attention_heads decoder_attention_heads"
    sizes = dict.fromkeys(names.split(), 2)
    sizes |= {"d_model": 32, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48}
    return kind(vocab_size=99, bos_token_id=1, eos_token_id=2, **sizes, **more)


def models():
    """(model, kwargs) by name."""
    ids = torch.randint(3, 99, (2, 12), generator=torch.Generator().manual_seed(0))
    text, image = {"input_ids": ids}, {"pixel_values": torch.ones(2, 3, 32, 32)}
    words = {"vocab_size": 99}
    gpt2 = hf.GPT2Config(n_embd=32, n_layer=2, n_head=4, n_positions=64, **words)
    yield "gpt2", hf.GPT2LMHeadModel(gpt2), text
    yield "bert", hf.BertModel(small(hf.BertConfig, **words)), text
    llama = small(hf.LlamaConfig, num_key_value_heads=2, **words)
    yield "llama", hf.LlamaForCausalLM(llama), text
    t5 = hf.T5Config(d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, **words)
    both = {**text, "decoder_input_ids": ids}
    yield "t5", hf.T5ForConditionalGeneration(t5), both
    vit = small(hf.ViTConfig, image_size=32, patch_size=8)
    yield "vit", hf.ViTForImageClassification(vit), image
    mixtral = small(
        hf.MixtralConfig, num_key_value_heads=2, num_local_experts=4, **words
    )
    yield "mixtral", hf.MixtralForCausalLM(mixtral), text
    sizes = {"max_source_positions": 20, "max_target_positions": 20, "num_mel_bins": 8}
    whisper = seq2seq(hf.WhisperConfig, pad_token_id=0, decoder_start_token_id=1, **sizes)
    sound = {"input_features": torch.ones(2, 8, 40), "decoder_input_ids": ids}
    yield "whisper", hf.WhisperForConditionalGeneration(whisper), sound
    part = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    see = {**part, "image_size": 32, "patch_size": 8}
    read = {**part, **words, "max_position_embeddings": 20, "eos_token_id": 2}
    clip = hf.CLIPConfig(text_config=read, vision_config=see, projection_dim=16)
    yield "clip", hf.CLIPModel(clip), {**text, **image}
    distil = hf.DistilBertConfig(dim=32, n_layers=2, n_heads=4, hidden_dim=48, **words)
    yield "distilbert", hf.DistilBertForMaskedLM(distil), text
    sizes = {"ffn_dim": 48, "word_embed_proj_dim": 32, "max_position_embeddings": 64}
    part |= words
    yield "opt", hf.OPTForCausalLM(hf.OPTConfig(**part, **sizes)), text
    conv = {"conv_dim": (16, 16), "conv_stride": (4, 4), "conv_kernel": (8, 8)}
    conv |= {"num_feat_extract_layers": 2, "num_conv_pos_embeddings": 16}
    conv |= {"num_conv_pos_embedding_groups": 2, "mask_time_prob": 0.0}
    # Its feature encoder sets requires_grad on its own input.
    wave = small(hf.Wav2Vec2Config, **conv)
    yield "wav2vec2", hf.Wav2Vec2Model(wave), {"input_values": torch.ones(2, 800)}


class OwnerTest(unittest.TestCase):
    def check(self, recording, allowed):
        """Exactly these exceptions occur, each with the right cause."""
        found = set()
        for op in recording.ops(phase="backward"):
            if op.module is None:
                found.add(exception(op))
            elif op.cause is not None:
                self.assertEqual(op.module, op.cause.module, op)
        self.assertEqual(found, allowed)
        self.assertNotIn("error", [gap.kind for gap in recording.gaps])

    def seeds(self, recording):
        return [op for op in recording.ops(name="ones_like") if exception(op) == SEED]

    @unittest.skipUnless(hf, "transformers is not installed")
    def test_models_of_transformers(self):
        for name, model, kwargs in models():
            with self.subTest(name):
                recording = train(model.train(), kwargs, cross_entropy)
                self.check(recording, {LOSS, SEED})
                self.assertEqual(len(self.seeds(recording)), 2)
                traced = torchoscope.trace(model, kwargs=kwargs)
                self.check(traced, {LOSS, SEED})

    @unittest.skipUnless(hf, "transformers is not installed")
    def test_a_loss_computed_inside_the_model_has_the_model_as_owner(self):
        name, model, kwargs = next(models())
        kwargs = {**kwargs, "labels": kwargs["input_ids"]}
        recording = torchoscope.trace(model, kwargs=kwargs)
        self.check(recording, {SEED})
        self.assertIn("", {op.module for op in recording.ops(phase="backward")})

    @unittest.skipUnless(hf, "transformers is not installed")
    def test_checkpointed_models_of_transformers(self):
        for name, model, kwargs in models():
            # Models that support both kinds of gradient_checkpointing_enable().
            if name not in ("gpt2", "bert", "llama", "whisper", "wav2vec2"):
                continue
            for reentrant in (False, True):
                with self.subTest(name, reentrant=reentrant):
                    model.train()
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")  # its newer name
                        model.gradient_checkpointing_enable({"use_reentrant": reentrant})
                    if reentrant:
                        model.enable_input_require_grads()
                    recording = train(model, kwargs, cross_entropy)
                    self.check(recording, {LOSS, SEED})
                    again = recording.ops(phase="recompute")
                    self.assertGreater(len(again), 10)
                    self.assertNotIn(None, {op.module for op in again})

    def test_the_first_gradient_is_part_of_backward(self):
        model = nn.Linear(4, 4)
        with torchoscope.record(model, ops=True) as recording:
            result = model(torch.ones(2, 4))
            torch.ones_like(result)  # not a gradient
            result.sum().backward()
        ones = recording.ops(name="ones_like")
        self.assertEqual([op.phase for op in ones], ["forward", "backward"])
        self.assertEqual(ones[1].inputs[0].producer.name, "aten::sum")

    def test_the_gradient_of_an_input_has_no_owner(self):
        x = torch.ones(2, 4, requires_grad=True)
        model = nn.Linear(4, 4)
        with torchoscope.record(model, ops=True) as recording:
            model(x).sum().backward()
        self.check(recording, {LOSS, SEED, INPUT})

    def test_the_gradient_of_an_activation_belongs_to_its_producer(self):
        recording = torchoscope.trace(Activation(), torch.ones(2, 4))
        self.check(recording, {LOSS, SEED})
        ops = recording.ops(phase="backward", module="inner")
        end = [op for op in ops if op.cause is None]
        self.assertEqual(len(end), 1)
        self.assertIsNone(end[0].gradient)

    def test_arguments_of_a_checkpoint(self):
        for reentrant in (False, True):
            with self.subTest(reentrant=reentrant):
                recording = torchoscope.trace(Checkpointed(reentrant), torch.ones(2, 4))
                self.check(recording, {LOSS, SEED})

    def test_operations_on_a_detached_path_still_have_an_owner(self):
        class Cut(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

            def forward(self, x):
                return self.second(self.first(x).detach().requires_grad_())

        recording = torchoscope.trace(Cut(), torch.ones(2, 4))
        self.check(recording, {LOSS, SEED})
        lost = {one["name"]: one["why"] for one in recording.json["run"]["no_gradient"]}
        self.assertEqual(lost, {"first.weight": "detached", "first.bias": "detached"})
        ops = recording.ops(phase="forward")
        (detach,) = [op for op in ops if op.name == "aten::detach"]
        (product,) = recording.ops("second", name="addmm", phase="forward")
        sources = {op.id for one in product.inputs for op in one.producers}
        self.assertIn(detach.id, sources)


if __name__ == "__main__":
    unittest.main()
