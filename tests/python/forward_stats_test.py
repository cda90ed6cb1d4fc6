# flavours: both
"""module.forward_stats: the list of a recorded module, invisible to code that inspects
modules."""

import copy
import gc
import io
import pickle
import unittest
import weakref

import torch
from torch import nn

import torchoscope

EACH = "shape dtype device min max mean std requires_grad has_grad memory_bytes".split()
KEYS = ["runtime", *(f"in_{k}" for k in EACH), *(f"out_{k}" for k in EACH)]


def recorded(model, *inputs):
    with torchoscope.record(model) as recording:
        for x in inputs:
            model(x)
    return recording


class TheList(unittest.TestCase):
    def test_all_keys_by_item_and_by_attribute(self):
        model = nn.Conv2d(3, 4, 3, padding=1)
        x = torch.randn(1, 3, 8, 8)
        recorded(model, x)
        stats = model.forward_stats[-1]
        self.assertEqual(list(stats), KEYS)
        self.assertEqual(len(stats), 21)
        y = model(x)
        self.assertEqual(stats.in_shape, torch.Size([1, 3, 8, 8]))
        self.assertIsInstance(stats.in_shape, torch.Size)
        self.assertIs(stats["out_dtype"], torch.float32)
        self.assertEqual(stats.out_device, torch.device("cpu"))
        self.assertEqual(stats.in_min, x.min().item())
        self.assertEqual(stats.out_max, y.max().item())
        self.assertAlmostEqual(stats.out_mean, y.double().mean().item(), places=6)
        self.assertAlmostEqual(stats.out_std, y.double().std().item(), places=5)
        self.assertIs(stats.in_requires_grad, False)
        self.assertIs(stats.out_requires_grad, True)
        self.assertIs(stats.out_has_grad, False)
        self.assertEqual(stats.out_memory_bytes, 1024)
        self.assertGreater(stats.runtime, 0)
        with self.assertRaises(AttributeError):
            stats.nothing

    def test_the_newest_call_is_last_and_a_new_recording_clears_the_list(self):
        model = nn.Linear(2, 2)
        recorded(model, torch.ones(1, 2), torch.ones(5, 2))
        self.assertEqual([s.in_shape[0] for s in model.forward_stats], [1, 5])
        self.assertIs(model.forward_stats, model.forward_stats)
        recorded(model, torch.ones(7, 2))
        self.assertEqual([s.in_shape[0] for s in model.forward_stats], [7])

    def test_it_is_available_inside_the_block(self):
        model = nn.Linear(2, 2)
        with torchoscope.record(model):
            model(torch.ones(1, 2))
            self.assertEqual(len(model.forward_stats), 1)
            model(torch.ones(3, 2))
            self.assertEqual(model.forward_stats[-1].out_shape, (3, 2))

    def test_a_module_without_tensors_has_a_time_only(self):
        class Plain(nn.Module):
            def forward(self, n):
                return n + 1

        model = Plain()
        recorded(model, 1)
        self.assertEqual(list(model.forward_stats[-1]), ["runtime"])

    def test_the_first_tensor_of_a_structure(self):
        class Many(nn.Module):
            def forward(self, x):
                return {"logits": x[:1], "rest": [x]}

        model = Many()
        recorded(model, torch.ones(4, 2))
        self.assertEqual(model.forward_stats[-1].out_shape, (1, 2))

    def test_a_module_that_was_not_called_has_an_empty_list(self):
        model = nn.ModuleDict({"used": nn.Linear(2, 2), "idle": nn.Linear(2, 2)})
        with torchoscope.record(model):
            model["used"](torch.ones(1, 2))
        self.assertEqual(len(model["used"].forward_stats), 1)
        self.assertEqual(model["idle"].forward_stats, [])


class Unnoticed(unittest.TestCase):
    def setUp(self):
        self.model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.plain = pickle.dumps(self.model)
        self.dicts = [dict(m.__dict__) for m in self.model.modules()]
        recorded(self.model, torch.ones(2, 4))

    def test_instances_are_untouched(self):
        for module, before in zip(self.model.modules(), self.dicts):
            self.assertEqual(list(module.__dict__), list(before))
        self.assertEqual(pickle.dumps(self.model), self.plain)
        self.assertEqual(list(self.model.state_dict()), ["0.weight", "0.bias"])

    def test_a_copy_was_not_recorded(self):
        for twin in (copy.deepcopy(self.model), pickle.loads(self.plain)):
            self.assertFalse(hasattr(twin[0], "forward_stats"))
        self.assertFalse(hasattr(nn.Linear(1, 1), "forward_stats"))
        with self.assertRaisesRegex(AttributeError, "no attribute 'forward_stats'"):
            nn.Linear(1, 1).forward_stats

    def test_the_list_itself_can_be_copied_and_pickled(self):
        stats = self.model[0].forward_stats
        data = pickle.dumps(stats)
        self.assertNotIn(b"torchoscope", data)
        self.assertEqual(pickle.loads(data), stats)
        self.assertEqual(copy.deepcopy(stats)[0].out_shape, (2, 4))

    def test_scripting_fx_and_saving_work_afterwards(self):
        model = self.model
        torch.jit.save(torch.jit.script(model), io.BytesIO())
        torch.jit.trace(model, torch.ones(2, 4))
        torch.fx.symbolic_trace(model)
        torch.save(model, io.BytesIO())

    @unittest.skipUnless(hasattr(torch, "compiler"), "no torch.compile")
    def test_nothing_is_recompiled(self):
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        model, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU()), torch.ones(2, 4)
        compiled = torch.compile(model, backend="eager", fullgraph=True)
        compiled(x)
        recorded(model, x)
        self.assertTrue(model.forward_stats)
        compiled(x)
        stats = torch._dynamo.utils.counters["stats"]
        self.assertEqual(stats["unique_graphs"], 1)

    def test_an_attribute_of_the_same_name_in_the_model_is_kept(self):
        class Own(nn.Module):
            def __init__(self, kind):
                super().__init__()
                value = torch.ones(2)
                if kind == "buffer":
                    self.register_buffer("forward_stats", value)
                elif kind == "parameter":
                    self.forward_stats = nn.Parameter(value)
                else:
                    self.forward_stats = value

            def forward(self, x):
                return x + self.forward_stats

        for kind in ("buffer", "parameter", "attribute"):
            with self.subTest(kind):
                model = Own(kind)
                recorded(model, torch.ones(2))
                self.assertTrue(torch.equal(model.forward_stats, torch.ones(2)))

        class Method(nn.Module):
            def forward_stats(self):
                return 7

            def forward(self, x):
                return x

        model = Method()
        recorded(model, torch.ones(2))
        self.assertEqual(model.forward_stats(), 7)

    def test_users_may_delete_and_set_it(self):
        model = nn.Identity()
        recorded(model, torch.ones(2))
        del model.forward_stats
        self.assertFalse(hasattr(model, "forward_stats"))
        with self.assertRaises(AttributeError):
            del model.forward_stats
        model.forward_stats = ["theirs"]
        self.assertEqual(model.forward_stats, ["theirs"])
        recorded(model, torch.ones(2))
        self.assertEqual(model.forward_stats, ["theirs"])
        del model.forward_stats
        self.assertEqual(len(model.forward_stats), 1)

    def test_neither_module_nor_recording_is_kept_alive(self):
        model = nn.Linear(2, 2)
        recording = recorded(model, torch.ones(1, 2))
        weak = weakref.ref(model), weakref.ref(recording)
        del model, recording
        gc.collect()
        self.assertEqual([one() for one in weak], [None, None])

    def test_modules_that_compare_equal_have_separate_lists(self):
        class Equal(nn.Linear):
            def __eq__(self, other):
                return True

            __hash__ = nn.Module.__hash__

        model = nn.Sequential(Equal(2, 2), Equal(2, 3))
        recorded(model, torch.ones(1, 2))
        shapes = [one.forward_stats[-1].out_shape for one in model]
        self.assertEqual(shapes, [(1, 2), (1, 3)])


if __name__ == "__main__":
    unittest.main()
