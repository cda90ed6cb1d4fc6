# flavours: both
"""Attributes and code of live objects, which the explorer's panels request one level at
a time. User code runs only when it is unfolded, and nothing is kept alive."""

import collections
import enum
import functools
import gc
import sys
import unittest
import weakref

import torch

import torchoscope
from torchoscope import _core

RAN = []  # names of the user's functions that ran


class Colour(enum.Enum):
    RED = 1


Pair = collections.namedtuple("Pair", "left right")


class Odd:
    """Most ways of inspecting it run its code."""

    __slots__ = ("filled", "never", "__weakref__")
    kind = "odd"

    def __init__(self):
        self.filled = 7

    def __repr__(self):
        RAN.append("repr")
        raise SystemExit("repr ran")

    __str__ = __repr__

    def __getattr__(self, name):
        RAN.append(name)
        raise AttributeError(name)

    def __len__(self):
        RAN.append("len")
        return 3

    def __eq__(self, other):
        RAN.append("eq")
        return True

    __hash__ = None


class OddDict(dict):
    def __len__(self):
        RAN.append("len")
        return 100

    def __iter__(self):
        RAN.append("iter")
        return iter(())

    items = keys = __iter__


class Net(torch.nn.Module):
    _switch = True
    expansion = 4

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3)
        self.stride = 1

    @property
    def weight_device(self):
        RAN.append("weight_device")
        return self.conv.weight.device

    @property
    def broken(self):
        raise ValueError("no\nway")

    @functools.cached_property
    def cached(self):
        return [1, {2: 3}]

    def method(self):
        RAN.append("method")

    @staticmethod
    def static():
        RAN.append("static")

    @classmethod
    def of_class(cls):
        RAN.append("of_class")

    def forward(self, x):
        return self.conv(x)


class Attributes(unittest.TestCase):
    def setUp(self):
        RAN.clear()
        self.net = Net()

    def below(self, of=""):
        return {one["name"]: one for one in self.model.attributes(of)}

    def open(self, **attributes):
        for name, value in attributes.items():
            setattr(self.net, name, value)
        self.model = _core.Model(self.net, "net")
        return self.below()

    def unfold(self, one):
        return self.below((one["handle"],))

    def texts(self, **attributes):
        found = self.open(**attributes)
        return {name: found[name]["text"] for name in attributes}

    def test_a_module_lists_class_attributes_then_its_own_then_those_of_torch(self):
        found = self.open()
        names = list(found)
        self.assertEqual(
            names,
            ["expansion", "stride", "training", "_modules", "_switch"]
            + ["weight_device", "broken", "cached"],
        )
        self.assertEqual(found["expansion"]["flags"], ["class"])
        self.assertEqual(found["expansion"]["text"], "4")
        self.assertEqual(found["stride"]["text"], "1")
        self.assertEqual(found["training"]["text"], "True")
        self.assertRegex(found["_modules"]["text"], r"^(Ordered)?[dD]ict with 1 key$")
        self.assertNotIn("handle", found["stride"])
        self.assertEqual(RAN, [])

    def test_texts_of_plain_values(self):
        self.assertEqual(
            self.texts(
                pair=(3, 3), name="a\nb", real=1e-5, whole=1.0, third=1 / 3, no=None,
                one=(1,), long=list(range(9)), empty={}, size=torch.Size([1, 64, 56]),
                dtype=torch.float32, device=torch.device("cpu"), colour=Colour.RED,
                function=torch.nn.functional.relu, kind=torch.nn.Conv2d, data=b"x" * 30,
                big=10**5000, nan=float("nan"), some={1}, point=Pair(1, 2), bad="\ud800",
            ),
            {
                "pair": "(3, 3)", "name": r"'a\nb'", "real": "1e-05", "whole": "1.0",
                "third": "0.333333", "no": "None", "one": "(1,)",
                "long": "list with 9 items", "empty": "{}", "size": "1×64×56",
                "dtype": "torch.float32", "device": "cpu", "colour": "Colour.RED",
                "function": "function torch.nn.functional.relu",
                "kind": "class torch.nn.modules.conv.Conv2d",
                "data": "b'xxxxxxxxxxxxxxxxxxxxxxxx'… 30 bytes",
                "big": self.texts(big=10**5000)["big"], "nan": "nan",
                "some": "set with 1 item", "point": "Pair with 2 items",
                "bad": r"'\ud800'",
            },
        )  # fmt: skip
        self.assertLess(len(self.texts(big=10**5000)["big"]), 200)
        self.assertLess(len(self.texts(text="x" * 10**6)["text"]), 200)

    def test_tensors_show_their_first_values(self):
        found = self.texts(turned=torch.arange(6).reshape(2, 3).T, empty=torch.zeros(0),
                           half=torch.tensor([1.5, float("nan")], dtype=torch.bfloat16),
                           flags=torch.tensor([True, False]), long=torch.arange(9.0),
                           wide=torch.zeros(4000, 4000).T, pairs=torch.zeros(2) * 1j,
                           meta=torch.zeros(2, device="meta"))
        self.assertEqual(found["turned"], "Tensor 3×2 int64  [0, 3, 1, 4, 2, 5]")
        self.assertEqual(found["half"], "Tensor 2 bfloat16  [1.5, NaN]")
        self.assertEqual(found["flags"], "Tensor 2 bool  [1, 0]")
        self.assertEqual(found["long"], "Tensor 9 float32  [0, 1, 2, 3, 4, 5, …]")
        self.assertEqual(found["wide"], "Tensor 4000×4000 float32")
        self.assertEqual(found["empty"], "Tensor 0 float32")
        self.assertEqual(found["pairs"], "Tensor 2 complex64")
        self.assertEqual(found["meta"], "Tensor 2 float32 meta")

    def test_tensors_and_modules_show_their_place_in_the_model(self):
        found = self.open(plain=torch.zeros(3), scalar=torch.tensor(1))
        self.assertEqual(found["plain"]["text"], "Tensor 3 float32  [0, 0, 0]")
        self.assertEqual(found["scalar"]["text"], "Tensor scalar int64  1")
        modules = self.unfold(found["_modules"])
        self.assertEqual(modules["conv"]["text"], "Conv2d")
        self.assertEqual(modules["conv"]["flags"], ["item"])
        names = ["", *self.model.names()]
        self.assertEqual(names[modules["conv"]["place"]], "conv")
        self.assertEqual(names[found["plain"]["place"]], "plain")
        weight = self.unfold(self.below("conv")["_parameters"])["weight"]
        self.assertRegex(weight["text"], r"^Parameter 8×3×3×3 float32  \[-?0\.\d+, .*, …\]$")
        self.assertEqual(names[weight["place"]], "conv.weight")
        self.assertEqual(self.unfold(weight)["requires_grad"]["text"], "True")

    def test_properties_run_only_when_unfolded(self):
        found = self.open()
        self.assertEqual(found["weight_device"]["text"], "property")
        self.assertEqual(found["weight_device"]["flags"], ["property"])
        self.assertEqual(RAN, [])
        self.assertEqual(self.unfold(found["weight_device"])[""]["text"], "cpu")
        self.assertEqual(RAN, ["weight_device"])
        answer = self.unfold(found["cached"])[""]
        self.assertEqual(self.unfold(answer)["0"]["text"], "1")

    def test_an_exception_of_a_property_is_shown_as_its_value(self):
        answer = self.unfold(self.open()["broken"])[""]
        self.assertEqual(answer["text"], "ValueError: no way")
        self.assertEqual(answer["flags"], ["raised"])

    def test_attributes_are_read_without_running_code_of_the_object(self):
        found = self.open(odd=Odd(), mapping=OddDict(a=1), deep=[Odd()])
        self.assertEqual(found["odd"]["text"], "Odd object")
        self.assertEqual(found["mapping"]["text"], "OddDict with 1 key")
        below = self.unfold(found["odd"])
        self.assertEqual(below["filled"]["text"], "7")
        self.assertEqual(below["kind"]["flags"], ["class"])
        self.assertNotIn("never", below)
        self.assertEqual(self.unfold(found["mapping"])["a"]["text"], "1")
        self.assertEqual(self.unfold(found["deep"])["0"]["text"], "Odd object")
        self.assertEqual(RAN, [])
        answer = self.unfold(below["repr()"])[""]
        self.assertEqual(answer["text"], "SystemExit: repr ran")
        self.assertEqual(RAN, ["repr"])

    def test_keys_that_are_not_strings_and_named_tuples(self):
        found = self.open(keys={(1, 2): "a", None: "b"}, point=Pair(1, [{}]), some={3})
        self.assertEqual(list(self.unfold(found["keys"])), ["(1, 2)", "None"])
        self.assertEqual(list(self.unfold(found["point"])), ["left", "right"])
        self.assertEqual(self.unfold(found["some"])[""]["text"], "3")

    def test_long_lists_are_paged(self):
        for many in (list(range(1000)), {i: i for i in range(1000)}, set(range(1000))):
            rows = [self.open(many=many)["many"]]
            met = []
            while rows:
                rows = self.model.attributes((rows[-1]["handle"],))
                met += [one["text"] for one in rows if "rest" not in one["flags"]]
                rows = rows if "rest" in rows[-1]["flags"] else []
            self.assertEqual(met, [str(i) for i in range(1000)])
        rest = self.model.attributes((self.open(many=list(range(1000)))["many"]["handle"],))
        self.assertEqual(rest[-1]["text"], "… 800 more")

    def test_cycles_can_be_unfolded_to_any_depth(self):
        loop = [1, 2, {}]
        loop.append(loop)
        at = self.open(loop=loop)["loop"]
        for _ in range(50):
            at = self.unfold(at)["3"]
        self.assertEqual(at["text"], "list with 4 items")

    def test_recorded_values_are_listed(self):
        with torchoscope.record(self.net):
            self.net(torch.ones(1, 3, 8, 8))
        found = self.open()
        self.assertEqual(found["forward_stats"]["text"], "list with 1 item")
        call = self.unfold(found["forward_stats"])["0"]
        self.assertEqual(call["text"], "dict with 21 keys")
        self.assertEqual(self.unfold(call)["in_shape"]["text"], "1×3×8×8")
        self.assertEqual(RAN, [])

    def test_lists_and_dicts_in_the_tree_are_found_through_their_owner(self):
        self.open(parts=[{"a": torch.zeros(2), 3: 4}])
        self.assertEqual(self.below("parts")["0"]["text"], "dict with 2 keys")
        self.assertEqual(self.below("parts.0")["a"]["text"], "Tensor 2 float32  [0, 0]")
        self.net.parts = None
        with self.assertRaisesRegex(_core.Error, "deleted"):
            self.below("parts")

    def test_an_object_that_holds_modules(self):
        class Pipeline:
            def __init__(self, net):
                self.net, self.steps = net, 3

        pipeline = Pipeline(self.net)
        self.model = _core.Model(pipeline, "pipeline")
        found = self.below()
        self.assertEqual(found["steps"]["text"], "3")
        self.assertEqual(found["net"]["text"], "Net")

    def test_a_forgotten_object_is_not_kept_alive(self):
        odd = Odd()
        there = weakref.ref(odd)
        before = sys.getrefcount(self.net)
        found = self.open(odd=odd)
        self.unfold(found["odd"])
        self.net.odd = None
        del odd
        self.assertIsNotNone(there())
        self.model.forget()
        gc.collect()
        self.assertIsNone(there())
        self.assertEqual(sys.getrefcount(self.net), before)
        with self.assertRaisesRegex(ValueError, "no longer exists"):
            self.unfold(found["odd"])

    def test_a_freed_module_is_reported(self):
        self.open()
        self.net.conv = None
        gc.collect()
        with self.assertRaisesRegex(_core.Error, "deleted"):
            self.below("conv")

    def test_files_have_no_live_attributes(self):
        import tempfile

        with tempfile.NamedTemporaryFile(suffix=".pth") as file:
            torch.save({"a": torch.zeros(2)}, file.name)
            with self.assertRaisesRegex(_core.Error, "live model"):
                _core.Model(file.name).attributes("a")


def decorated(kind):
    return kind


@decorated
class Twice:
    class Inner:
        x = 1

    def method(self):
        return 1


class Code(unittest.TestCase):
    def test_of_classes_here_and_of_torch(self):
        import inspect

        net = Net()
        model = _core.Model(net, "net")
        file, line, text = model.code(f"{Net.__module__}.Net")
        self.assertEqual(file, __file__)
        self.assertEqual((text, line), (inspect.getsource(Net), self.line_of(Net)))
        file, line, text = model.code("torch.nn.modules.conv.Conv2d")
        self.assertEqual(text, inspect.getsource(torch.nn.Conv2d))
        self.assertEqual(line, self.line_of(torch.nn.Conv2d))
        self.assertIsNone(model.code("no.such.Class"))

    def line_of(self, kind):
        import inspect

        return inspect.getsourcelines(kind)[1]

    def test_code_equals_that_of_inspect(self):
        import inspect

        from torchoscope.class_code import code_of

        kinds = [Twice, Twice.Inner, Odd, Colour, OddDict]
        kinds += [value for value in vars(torch.nn).values() if isinstance(value, type)]
        for kind in kinds:
            with self.subTest(kind=kind):
                lines, first = inspect.getsourcelines(kind)
                self.assertEqual(code_of(kind)[1:], (first, "".join(lines)))

    def test_objects_without_code_are_reported(self):
        from torchoscope.class_code import code_of

        self.assertIsNone(code_of(int))
        made = type("Made", (torch.nn.Module,), {})
        self.assertIsNone(code_of(made))


if __name__ == "__main__":
    unittest.main()
