"""Gradients of calls equal those of torch's full backward hooks, or are a reported gap:
models that pass arguments on, return values that they also use, or store results as
attributes; T5, Mixtral and SAM; optimizers with a closure; a backward after the
block."""

import unittest
import warnings

import torch
from full_hooks import compare
from torch import nn

import torchoscope

torch.set_num_threads(1)


def weighted(x):
    return (x * torch.linspace(-1, 2, x.numel(), dtype=x.dtype).reshape(x.shape)).sum()


def all_tensors(thing):
    if isinstance(thing, torch.Tensor):
        yield thing
    elif isinstance(thing, dict):
        yield from all_tensors(list(thing.values()))
    elif isinstance(thing, (list, tuple)):
        for one in thing:
            yield from all_tensors(one)


def backward(result):
    tensors = [x for x in all_tensors(result) if x.requires_grad]
    sum(weighted(x) / x.numel() for x in tensors).backward()


class HandsOn(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x, b):
        return self.layer(x) + b, b


class Chain(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = HandsOn(), HandsOn()

    def forward(self, x, b):
        y, b = self.first(x, b)
        y, b = self.last(y, b)
        return y


class Vae(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu, self.logvar = nn.Linear(4, 3), nn.Linear(4, 3)
        self.decoder = nn.Linear(3, 4)

    def forward(self, x):
        mu, logvar = self.mu(x), self.logvar(x)
        z = mu + torch.exp(0.5 * logvar) * 0.3
        return self.decoder(z), mu, logvar


class Beside(nn.Module):
    """An identity module beside a residual."""

    def __init__(self, module, how):
        super().__init__()
        self.layer, self.module, self.how = nn.Linear(4, 4), module, how

    def forward(self, x):
        h = self.layer(x)
        if self.how == "temporary":
            return self.module(self.layer(h)).tanh() + h
        if self.how == "used before":
            return h.tanh() * 2 + self.module(h)
        if self.how == "dropped":
            self.module(h)
            return h.tanh()
        if self.how == "functional":
            return nn.functional.dropout(h, 0.5, False) + self.module(h)
        y = self.module(h)
        return y.tanh() + h * 3


class Stack(nn.Module):
    def __init__(self, how):
        super().__init__()
        self.blocks = nn.ModuleList(
            Beside(nn.Sequential(nn.Identity(), nn.Dropout(0.3)), how) for _ in range(3)
        )

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.same = nn.Linear(4, 4), nn.Identity()

    def forward(self, x):
        for _ in range(3):
            x = x + self.same(self.layer(x))
        return x


class Aside(nn.Module):
    """Computes a value from its argument and result that it does not return."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        y = self.layer(x)
        self.loss = y.pow(2).mean() + x.pow(3).mean()
        return y


class WithAside(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Aside()

    def forward(self, x):
        y = self.inner(x)
        self.feature = y  # after the call, from its result
        return y.tanh()


class PassesParameter(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Module()
        self.inner.weight = nn.Parameter(torch.ones(4))
        self.inner.forward = lambda x: self.inner.weight

    def forward(self, x):
        return x * self.inner(x) + self.inner.weight.pow(2)


class Small(unittest.TestCase):
    def check(self, model, run, gaps=(), copies=False):
        torch.manual_seed(1)
        found = compare(model.double(), run, copies)
        self.assertEqual(found.wrong, [])
        self.assertEqual(sorted(found.gaps), sorted(gaps))
        self.assertEqual(found.recording.facts.get("errors", 0), 0)
        self.assertGreater(found.gradients, 1)
        return found.recording

    def both(self, model, run, **options):
        for mode in (True, False):
            with self.subTest(type(model).__name__, train=mode):
                self.check(model.train(mode), run, **options)

    def leaf(self):
        x = torch.linspace(-2, 3, 12, dtype=torch.double).reshape(3, 4)
        return x.requires_grad_()

    def plain(self, model):
        torch.manual_seed(4)
        weighted(model(self.leaf())).backward()

    def test_arguments_that_are_passed_on(self):
        def run(model):
            weighted(model(self.leaf() * 2, self.leaf() * 3)).backward()

        self.both(Chain(), run)

    def test_three_results(self):
        def run(model):
            made, mu, logvar = model(self.leaf())
            (made.pow(2).sum() + mu.pow(3).sum()).backward()

        recording = self.check(Vae(), run)
        (call,) = recording.calls("")
        self.assertEqual([v.path for v in call.grad_outputs], ["[0]", "[1]"])

    def test_a_small_contribution_from_outside_is_exact(self):
        """It is measured, not the difference of other gradients."""

        def run(model):
            made, mu, logvar = model(self.leaf())
            (1e9 * made.pow(2).sum() + 1e-9 * mu.pow(3).sum()).backward()

        self.check(Vae(), run)

    def test_the_backward_begins_at_a_result(self):
        def run(model):
            made, mu, logvar = model(self.leaf())
            ones = torch.ones_like(mu)
            torch.autograd.backward([made.sum(), mu], [None, ones])

        self.check(Vae(), run)

    def test_an_identity_module_beside_a_residual(self):
        for how in ("temporary", "used before", "dropped"):
            with self.subTest(how):
                self.both(Stack(how), self.plain)

    def test_an_argument_that_others_may_use_is_a_gap(self):
        for how in ("functional", "the argument after it"):
            with self.subTest(how):
                model = Stack(how).eval()
                names = [n for n, m in model.named_modules() if "module" in n]
                recording = self.check(model, self.plain, gaps=names)
                for name in names:
                    (call,) = recording.calls(name)
                    self.assertEqual(call.grad_inputs + call.grad_outputs, [])

    def test_a_leaf_that_is_passed_on(self):
        same = nn.Sequential(nn.Identity(), nn.Dropout(0.2), nn.Linear(4, 2))
        self.check(same.eval(), self.plain)
        model = nn.Identity()
        with torchoscope.record(model) as recording:
            weighted(model(self.leaf())).backward()
        self.assertEqual([g.kind for g in recording.gaps], ["gradient"])

    def test_shared_modules(self):
        self.both(Shared(), self.plain)

    def test_values_stored_as_attributes(self):
        def run(model):
            made = model(self.leaf())
            (weighted(made) + model.inner.loss + weighted(model.feature)).backward()

        self.both(WithAside(), run)

    def test_values_stored_by_a_forward_hook(self):
        kept = []

        def run(model):
            kept.clear()
            end = model.first.layer.register_forward_hook(
                lambda module, args, result: kept.append(result)
            )
            made = model(self.leaf() * 2, self.leaf() * 3)
            end.remove()
            (weighted(made) + weighted(kept[0])).backward()

        self.check(Chain(), run)

    def test_a_parameter_that_is_returned(self):
        self.check(PassesParameter(), self.plain, gaps=["inner"])

    def test_two_backwards_of_one_graph(self):
        model, x = Vae().double(), self.leaf()
        with torchoscope.record(model) as recording:
            made, mu, logvar = model(x)
            mu.sum().backward(retain_graph=True)
            (made.sum() + logvar.sum()).backward()
        (call,) = recording.calls("")
        paths = [v.path for v in call.grad_outputs]
        self.assertEqual(paths, ["[0]", "[1]", "[2]"])
        self.assertEqual([v.path for v in call.grad_inputs], ["x", "x"])
        self.assertEqual([v.mean for v in call.grad_outputs], [1, 1, 1])

    def test_non_reentrant_checkpoints(self):
        class Checkpointed(nn.Module):
            def __init__(self):
                super().__init__()
                self.vae, self.on = Vae(), True

            def forward(self, x):
                if self.on:
                    both = torch.utils.checkpoint.checkpoint(
                        self.vae, x, use_reentrant=False
                    )
                else:
                    both = self.vae(x)
                return both[0] + both[1].sum()

        torch.manual_seed(1)
        model = Checkpointed().double()
        found = {}
        for model.on in (False, True):
            with torchoscope.record(model) as recording:
                self.plain(model)
            self.assertEqual([g for g in recording.gaps if g.kind == "gradient"], [])
            found[model.on] = [
                (c.name, [(v.path, v.mean, v.l2) for v in c.grad_inputs + c.grad_outputs])
                for c in recording.calls()
                if "recomputed" not in c.flags
            ]
            for call in recording.calls():
                if "recomputed" in call.flags:
                    self.assertEqual(call.grad_inputs + call.grad_outputs, [])
        self.assertEqual(found[True], found[False])

    def test_nothing_is_left_in_torch(self):
        engine = torch.autograd.Variable._execution_engine
        model = Vae()
        with torchoscope.record(model), torchoscope.record(model):
            self.assertIsNot(torch.autograd.Variable._execution_engine, engine)
            with self.assertRaisesRegex(RuntimeError, "scalar outputs"):
                model(torch.randn(2, 4))[0].backward()
        self.assertIs(torch.autograd.Variable._execution_engine, engine)

    def test_a_backward_after_the_block(self):
        model = Vae()
        with torchoscope.record(model) as recording:
            made = model(torch.randn(2, 4))
        made[0].sum().backward()
        (gap,) = [gap for gap in recording.gaps if gap.kind == "gradient"]
        self.assertEqual(gap.name, "")
        self.assertIn("No backward", gap.text)
        with torchoscope.record(model) as recording:
            made = model(torch.randn(2, 4))
            made[0].sum().backward()
        self.assertEqual([g for g in recording.gaps if g.kind == "gradient"], [])


class Closures(unittest.TestCase):
    """optimizer.step(closure): gradients belong to the weights they were computed at."""

    def steps(self, make, closure):
        torch.manual_seed(1)
        model = nn.Linear(4, 2).double()
        optimizer = make(model.parameters())
        wanted = []
        with torchoscope.record(model) as recording:
            for i in range(3):
                x = torch.linspace(-2, 3, 12, dtype=torch.double).reshape(3, 4) * (i + 1)

                def evaluate():
                    optimizer.zero_grad()
                    loss = model(x).pow(2).mean()
                    loss.backward()
                    if len(wanted) == i:
                        weight = model.weight
                        wanted.append((weight.norm().item(), weight.grad.norm().item()))
                    return loss

                if closure == "no":
                    evaluate()
                    self.assertIsNone(optimizer.step())
                elif closure == "by name":
                    self.assertIsNotNone(optimizer.step(closure=evaluate))
                else:
                    self.assertIsNotNone(optimizer.step(evaluate))
        rows = [row for row in recording.parameters() if row["name"] == "weight"]
        by_step = {}
        for row in rows:
            by_step.setdefault(row["step"], {})[row["gradient"]] = row["stats"]["l2"]
        found = [(row[False], row[True]) for _, row in sorted(by_step.items())]
        self.assertEqual(len(found), 3, by_step)
        for pair, other in zip(found, wanted):
            for a, b in zip(pair, other):
                self.assertAlmostEqual(a, b, places=9)
        return recording

    def test_weights_and_gradients_are_of_one_step(self):
        kinds = {
            "SGD": lambda weights: torch.optim.SGD(weights, lr=0.05),
            "Adam": lambda weights: torch.optim.Adam(weights, lr=0.05),
            "LBFGS": lambda weights: torch.optim.LBFGS(weights, lr=0.1, max_iter=3),
        }
        for name, make in kinds.items():
            for closure in ("no", "by name", "by position"):
                if (name, closure) != ("LBFGS", "no"):
                    with self.subTest(name, closure=closure):
                        self.steps(make, closure)

    def test_a_closure_that_raises(self):
        model = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

        def closure():
            raise KeyError("mine")

        with torchoscope.record(model):
            with self.assertRaisesRegex(KeyError, "mine"):
                optimizer.step(closure)


def transformers_models():
    import transformers as all_of_them

    ids = torch.arange(10).reshape(2, 5)
    small = {
        "vocab_size": 16,
        "hidden_size": 8,
        "intermediate_size": 12,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "max_position_embeddings": 16,
    }
    t5 = all_of_them.T5Config(
        vocab_size=16, d_model=8, d_kv=4, d_ff=12, num_layers=2, num_heads=2
    )
    mixtral = all_of_them.MixtralConfig(
        num_key_value_heads=1, num_local_experts=2, **small
    )
    mixtral._experts_implementation = "eager"  # the default does not support float64
    sam = all_of_them.SamConfig(
        vision_config={
            "hidden_size": 8,
            "output_channels": 8,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": 32,
            "patch_size": 8,
            "mlp_dim": 12,
            "global_attn_indexes": [1],
            "window_size": 2,
            "num_pos_feats": 4,
        },
        prompt_encoder_config={
            "hidden_size": 8,
            "image_size": 32,
            "patch_size": 8,
            "mask_input_channels": 4,
        },
        mask_decoder_config={
            "hidden_size": 8,
            "mlp_dim": 8,
            "num_attention_heads": 2,
            "iou_head_hidden_dim": 8,
        },
    )
    pixels = torch.linspace(-1, 1, 3 * 32 * 32, dtype=torch.double).reshape(1, 3, 32, 32)
    points = torch.ones(1, 1, 2, 2, dtype=torch.double)
    return {
        "T5": (
            all_of_them.T5Model(t5),
            lambda m: m(input_ids=ids, decoder_input_ids=ids),
        ),
        "Mixtral": (
            all_of_them.MixtralForCausalLM(mixtral),
            lambda m: m(input_ids=ids, labels=ids, output_router_logits=True),
        ),
        "SAM": (
            all_of_them.SamModel(sam),
            lambda m: m(pixel_values=pixels, input_points=points),
        ),
    }


class Transformers(unittest.TestCase):
    def test_all_calls(self):
        warnings.simplefilter("ignore")
        try:
            torch.manual_seed(2)
            models = transformers_models()
        except ImportError as error:
            self.skipTest(f"transformers is not installed: {error}")
        for name, (model, call) in models.items():
            for mode in (True, False):
                with self.subTest(name, train=mode):
                    self.check(model.double().train(mode), call)

    def check(self, model, call):
        def run(model):
            torch.manual_seed(3)
            backward(call(model))

        found = compare(model, run, copies=True)
        self.assertEqual(found.wrong, [])
        self.assertEqual(found.gaps, [])
        self.assertGreater(found.calls, 20)


if __name__ == "__main__":
    unittest.main()
