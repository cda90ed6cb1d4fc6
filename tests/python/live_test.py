# flavours: both
"""A live module as a model: compared with torch, and with the same module saved and
read as a file."""

import copy
import enum
import gc
import json
import os
import sys
import tempfile
import time
import unittest
import weakref

import torch
from torch import nn

import scope
from torchoscope import _core, class_code


class Block(nn.Module):
    def __init__(self, wide, narrow):
        super().__init__()
        self.conv1 = nn.Conv2d(wide, narrow, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(narrow)
        self.conv2 = nn.Conv2d(narrow, wide, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(wide)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        self.stride = 1


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 7), nn.BatchNorm2d(8), nn.ReLU())
        self.layers = nn.ModuleList([Block(8, 4) for _ in range(3)])
        self.fc = nn.Linear(8, 10)
        self.register_buffer("mean", torch.zeros(3), persistent=False)


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(16, 8)
        self.h = nn.ModuleDict({"a": nn.Linear(8, 8), "b": nn.GELU()})
        self.h["shared"] = self.h["a"]
        self.head = nn.Linear(8, 16, bias=False)
        self.head.weight = self.wte.weight
        self.scales = nn.ParameterList([torch.ones(2), torch.ones(3)])
        self.config = {"layers": 2, "names": ["a", "b"], "rate": 0.5}


class Config:
    """Like those of transformers: a plain object with plain attributes."""

    def __init__(self, **more):
        self.hidden_size = 64
        self.layers = ["a", "b"]
        self.rates = {"lr": 0.5}
        self._name = "tiny"
        self.__dict__.update(more)

    def __getattribute__(self, name):
        if name in ("hidden_size", "__dict__"):
            RUN.append(name)
        return super().__getattribute__(name)


class Kind(enum.Enum):
    ONE = 1


RUN = []  # names of the user's functions that ran


class Configured(nn.Module):
    def __init__(self):
        super().__init__()
        self.config = Config(vision=Config())
        self.layer = nn.Linear(1, 1)
        self.layer.config = self.config
        self.configs = [Config(), {"one": Config()}]


class Odd(nn.Module):
    """Rare kinds of members of a module."""

    def __init__(self):
        super().__init__()
        self.coo = nn.Parameter(torch.eye(3).to_sparse())
        self.csr = nn.Parameter(torch.eye(3).to_sparse_csr(), requires_grad=False)
        self.empty = nn.Parameter(torch.zeros(0, 4))
        self.brain = nn.Parameter(torch.ones(3, dtype=torch.bfloat16))
        self.register_buffer(
            "quantised", torch.quantize_per_tensor(torch.rand(3), 0.1, 2, torch.quint8)
        )
        self.register_buffer(
            "channels",
            torch.quantize_per_channel(
                torch.rand(3, 2), torch.rand(3) + 1, torch.arange(3), 0, torch.qint8
            ),
        )
        self.register_buffer("none", None)
        self.register_parameter("nothing", None)
        self.turned = torch.rand(2, 5).t()
        self.conj = torch.rand(3, dtype=torch.complex64).conj()
        self.pair = (1, "a", None, 2.5, True, -3)
        self.kinds = {"dtype": torch.float16, "device": torch.device("cpu"), 3: b"abc"}
        self.size = torch.Size([1, 2])
        self.large = 1 << 70
        self.activation = nn.functional.relu
        self.cls = nn.Linear
        self._private = "hidden"
        self.held = [nn.Linear(1, 1), {"tensor": torch.rand(2)}]
        self.itself = [self]
        self.register_forward_hook(print)


def lstm():
    return nn.LSTM(3, 4, num_layers=2, bidirectional=True)


def transformer():
    return nn.Transformer(8, 2, 1, 1, 16)


def lazy():
    return nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d())


def dynamic():
    return torch.quantization.quantize_dynamic(
        nn.Sequential(nn.Linear(3, 4), nn.ReLU()), {nn.Linear}
    )


MAKERS = [Residual, Gpt, Odd, Configured, lstm, transformer, lazy, dynamic]


def document(model):
    return json.loads(_core.Model(model, "model").json("tree"))


def saved(model):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.pt")
        torch.save(model, path)
        return scope.document("tree", path)


def registered(found, kind):
    """{name: tensor} of tensors outside of plain attributes, as torch lists them."""
    aside = {one["name"] for one in found["tensors"] if one.get("attribute")}
    aside |= {group["name"] for group in found["groups"]}
    return {
        one["name"]: one
        for one in found[kind]
        if not any((one["name"] + ".").startswith(name + ".") for name in aside)
    }


def own_tensors(model, which):
    """Name -> tensor, at every name that a tensor has; a shared module counts once."""
    return {
        f"{name}.{key}".removeprefix("."): tensor
        for name, module in model.named_modules()
        for key, tensor in getattr(module, which).items()
        if tensor is not None
    }


def facts(tensor):
    lazy_one = type(tensor).__name__.startswith("Uninitialized")
    shape = [0] if lazy_one else list(tensor.shape)
    return shape, str(tensor.dtype).removeprefix("torch."), tensor.requires_grad


class AgainstTorch(unittest.TestCase):
    def test_modules_have_the_names_classes_and_modes_of_torch(self):
        for make in MAKERS:
            model = make().eval()
            got = {
                name: (one["class"], one["training"])
                for name, one in registered(document(model), "modules").items()
                if "same_as" not in one
            }
            want = {
                name: (f"{type(one).__module__}.{type(one).__qualname__}", one.training)
                for name, one in model.named_modules()
            }
            self.assertEqual(got, want, make.__name__)

    def test_parameters_and_buffers_are_those_of_torch(self):
        for make in MAKERS:
            model = make()
            found = registered(document(model), "tensors")
            for role, which, named in (
                ("parameter", "_parameters", model.named_parameters()),
                ("buffer", "_buffers", model.named_buffers()),
            ):
                own = own_tensors(model, which)
                want = {name: facts(one) for name, one in own.items()}
                got = {
                    name: (one["shape"], one["dtype"], one["requires_grad"])
                    for name, one in found.items()
                    if one["role"] == role and "part_of" not in one
                }
                self.assertEqual(got, want, make.__name__)
                self.assertLessEqual({name for name, _ in named}, set(got))

    def test_tied_tensors_and_views_are_shown(self):
        model = Gpt()
        model.view = nn.Parameter(model.wte.weight.detach())  # the same bytes
        model.register_buffer("row", model.wte.weight.detach()[1])
        tensors = {entry["name"]: entry for entry in document(model)["tensors"]}
        self.assertEqual(tensors["wte.weight"]["tied_to"], "view")
        self.assertEqual(tensors["head.weight"]["tied_to"], "view")
        self.assertEqual(tensors["row"]["storage"], tensors["view"]["storage"])
        self.assertEqual(tensors["row"]["offset"], 8)
        self.assertNotIn("tied_to", tensors["row"])

    def test_conjugated_tensors_are_marked(self):
        found = {one["name"]: one for one in document(Odd())["tensors"]}
        self.assertNotIn("conj", found["turned"])
        self.assertTrue(found["conj"]["conj"])

    def test_a_non_persistent_buffer_is_marked(self):
        tensors = {entry["name"]: entry for entry in document(Residual())["tensors"]}
        self.assertTrue(tensors["mean"]["not_saved"])
        self.assertNotIn("not_saved", tensors["stem.1.running_mean"])

    def test_a_shared_module_is_in_the_tree_once(self):
        modules = {entry["name"]: entry for entry in document(Gpt())["modules"]}
        self.assertEqual(modules["h.shared"]["same_as"], "h.a")

    def test_statistics_are_those_of_the_values_now(self):
        model = nn.Linear(4, 3)
        live = _core.Model(model, "linear")
        for value in (2.0, -5.0):
            with torch.no_grad():
                model.weight.fill_(value)
                model.weight[1, 2] = 7.0
            stats = live.stats("weight")
            self.assertEqual((stats["min"], stats["max"]), (value, 7.0))
            self.assertEqual(stats["max_at"], [1, 2])

    def test_views_are_read_at_their_offset(self):
        model = Odd()
        live = _core.Model(model, "odd")
        self.assertEqual(live.stats("coo.values")["mean"], 1.0)
        self.assertEqual(live.stats("csr.crow_indices")["max"], 3)
        top = int(model.quantised.int_repr().max())
        self.assertEqual(live.stats("quantised")["max"], top)
        turned = live.stats("turned")
        self.assertAlmostEqual(turned["max"], model.turned.max().item(), places=6)
        self.assertEqual(
            turned["max_at"], list(divmod(model.turned.argmax().item(), 2))
        )
        with self.assertRaisesRegex(RuntimeError, "parts below"):
            live.stats("coo")

    def test_parametrised_modules_show_their_original_class(self):
        model = nn.Sequential(nn.Linear(3, 3))
        nn.utils.parametrize.register_parametrization(model[0], "weight", nn.Identity())
        found = document(model)
        self.assertEqual(found["modules"][1]["class"], "torch.nn.modules.linear.Linear")
        self.assertEqual(found["modules"][1]["args"]["in_features"], 3)
        names = [entry["name"] for entry in found["tensors"]]
        self.assertEqual(names, ["0.bias", "0.parametrizations.weight.original"])

    def test_modules_in_a_plain_object_are_several_roots(self):
        class Pipeline:
            pass

        pipe = Pipeline()
        pipe.unet, pipe.vae, pipe.steps = nn.Linear(2, 2), nn.Linear(3, 3), 50
        live = _core.Model(pipe, "pipe")
        self.assertEqual(live.roots(), [pipe.unet, pipe.vae])
        found = json.loads(live.json("tree"))
        self.assertEqual([m["name"] for m in found["modules"]], ["unet", "vae"])
        self.assertEqual(found["groups"][0]["args"]["steps"], 50)
        self.assertEqual(_core.Model([pipe.unet], "list").roots(), [pipe.unet])

    def test_a_class_without_a_forward_inherits_one(self):
        class Shallow(nn.Module):
            def forward(self, x):
                return x

        class Deeper(Shallow):
            pass

        name, file, line, text = class_code.inherited(Deeper)
        self.assertTrue(name.endswith("Shallow"), name)
        self.assertEqual(os.path.realpath(file), os.path.realpath(__file__))
        self.assertTrue(text.lstrip().startswith("def forward(self"), text)
        self.assertGreater(line, 1)
        self.assertIsNone(class_code.inherited(Shallow))
        self.assertIsNone(class_code.inherited(nn.ModuleList))
        self.assertIsNone(class_code.inherited(3))

    def test_objects_without_a_module_are_refused(self):
        for thing in (3, None, [], {}, torch.ones(3), [1], {"a": {}}):
            with self.assertRaisesRegex(TypeError, "holds no module"):
                _core.Model(thing, "thing")

    def test_classes_have_bases_and_source(self):
        live = _core.Model(nn.Sequential(Residual(), nn.Linear(1, 1)), "model")
        bases = live.bases(f"{__name__}.Block")
        self.assertEqual(bases, ["torch.nn.modules.module.Module"])
        written = json.loads(live.json("tree"))["modules"]
        [block] = {tuple(one["bases"]) for one in written if ".Block" in one["class"]}
        self.assertEqual(list(block), bases)
        file, line, text = live.code(f"{__name__}.Residual")
        self.assertEqual(os.path.realpath(file), os.path.realpath(__file__))
        self.assertTrue(text.startswith("class Residual(nn.Module):"))
        self.assertGreater(line, 1)
        self.assertIn("class Linear", live.code("torch.nn.modules.linear.Linear")[2])

    def test_an_object_shows_its_attributes_and_none_of_its_code_runs(self):
        model = Configured()
        RUN.clear()
        entries = {one["name"]: one for one in document(model)["modules"]}
        self.assertEqual(RUN, [])
        config = entries[""]["args"]["config"]
        self.assertEqual(config["$object"], f"{__name__}.Config")
        inner = config["attributes"].pop("vision")
        plain = {"hidden_size": 64, "layers": ["a", "b"], "rates": {"lr": 0.5}}
        self.assertEqual(config["attributes"], {**plain, "_name": "tiny"})
        self.assertEqual(inner["attributes"], {**plain, "_name": "tiny"})
        self.assertEqual(entries["layer"]["args"]["config"]["$object"], config["$object"])

    def test_objects_that_reference_too_much_are_cut(self):
        model = nn.Linear(1, 1)
        model.itself = Config()
        model.itself.again = model.itself
        model.chain = model.itself
        for _ in range(10):
            model.chain = Config(next=model.chain, owner=model)
        model.wide = Config(**{f"a{i}": Config() for i in range(10000)})
        model.python, model.kind = json, Kind.ONE
        args = document(model)["modules"][0]["args"]
        self.assertEqual(args["itself"]["attributes"]["again"]["attributes"], {})
        self.assertEqual(args["chain"]["attributes"]["owner"]["attributes"], {})
        self.assertLess(json.dumps(args["chain"]).count("hidden_size"), 5)
        self.assertLess(json.dumps(args["wide"]).count("hidden_size"), 2000)
        self.assertEqual(args["python"]["attributes"], {})
        self.assertEqual(args["kind"]["attributes"], {})

    def test_a_class_without_a_file_has_no_source(self):
        scope_ = {}
        exec("from torch import nn\nclass Typed(nn.Module): pass", scope_)
        model = scope_["Typed"]()
        live = _core.Model(model, "typed")
        self.assertIsNone(live.code(document(model)["modules"][0]["class"]))

    def test_the_tree_is_printed_as_that_of_a_file(self):
        text = _core.Model(nn.Sequential(nn.Linear(2, 3)), "net").text()
        self.assertIn("net: Sequential", text)
        self.assertIn("0: Linear(2→3)", text)


# An old torch does not save that a tensor is conjugated, or is_coalesced.
FORGOTTEN = () if hasattr(torch.Tensor, "untyped_storage") else ("conj", "extra")


class Packed(unittest.TestCase):
    """Quantised layers hold their weights in an object that torch does not list."""

    def weights(self, found):
        return {
            one["name"]: one["numel"]
            for one in found["tensors"]
            if one["role"] == "parameter" and "part_of" not in one
        }

    def test_packed_weights_are_counted(self):
        packed = "0._packed_params._packed_params"
        want = {f"{packed}.0": 12, f"{packed}.1": 4}
        model = dynamic()
        self.assertEqual(self.weights(document(model)), want)
        self.assertEqual(self.weights(saved(model)), want)
        found = saved(model.state_dict())
        self.assertEqual(self.weights(found), want)
        roles = {one["name"]: one["role"] for one in found["tensors"]}
        self.assertEqual(roles["0.scale"], "buffer")
        self.assertEqual(roles["0.zero_point"], "buffer")

    def test_quantised_tensors_outside_of_modules_are_not_weights(self):
        quantised = torch.quantize_per_tensor(torch.rand(3), 0.1, 2, torch.quint8)
        self.assertEqual(self.weights(saved([quantised])), {})


class AgainstFiles(unittest.TestCase):
    maxDiff = None

    def equal(self, model, *apart):
        live, file = document(model), saved(model)
        for kind in ("modules", "groups", "tensors", "values"):
            for entry in live[kind] + file[kind]:
                for key in ("storage", "storage_key", "bases", *FORGOTTEN, *apart):
                    entry.pop(key, None)
            self.assertEqual(live[kind], file[kind])
        if "dtype" not in apart:
            self.assertEqual(live["counts"], file["counts"])

    def test_modules_are_shown_as_in_a_file(self):
        for make in (Residual, Gpt, Odd, lstm, transformer):
            with self.subTest(make.__name__):
                self.equal(make())

    def test_packed_weights_are_shown_as_in_a_file(self):
        self.equal(dynamic())

    def test_lazy_modules_are_shown_as_in_a_file(self):
        # A file does not say which type and device a lazy parameter will have.
        self.equal(lazy(), "dtype", "bytes", "bytes_why", "device", "device_why")


class Special(unittest.TestCase):
    def one(self, tensor):
        model = nn.Module()
        model.register_buffer("t", tensor)
        found = document(model)
        self.assertEqual(found["findings"], [])
        return found["tensors"][0]

    def test_meta_tensors_have_a_shape_and_no_values(self):
        entry = self.one(torch.empty(2, 3, device="meta"))
        self.assertEqual((entry["shape"], entry["device"]), ([2, 3], "meta"))
        self.assertEqual(entry["readable_why"], "no data (meta)")

    def test_onednn_tensors_are_listed_with_a_reason(self):
        if not torch.backends.mkldnn.is_available():
            self.skipTest("this torch has no oneDNN")
        model = nn.Module()
        model.register_buffer("t", torch.ones(2, 3).to_mkldnn())
        live = _core.Model(model, "model")
        with self.assertRaisesRegex(RuntimeError, "oneDNN"):
            live.stats("t")

    def test_fake_tensors_have_no_values(self):
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode():
            model = nn.Linear(2, 3)
        found = document(model)["tensors"][0]
        self.assertEqual((found["shape"], found["readable"]), ([3, 2], False))
        self.assertTrue(found["extra"]["fake"])

    def test_nested_tensors_are_made_of_parts(self):
        nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
        entry = self.one(nested)
        self.assertEqual((entry["layout"], entry["shape"]), ("nested", [2]))
        self.assertIn("t.buffer", entry["parts"])

    def test_a_subclass_with_bytes_is_read_and_its_code_not_run(self):
        class Loud(torch.Tensor):
            @classmethod
            def __torch_function__(cls, *args, **kwargs):
                raise AssertionError("the user's code was run")

        model = nn.Module()
        with torch._C.DisableTorchFunction():
            model._buffers["t"] = torch.full((2, 3), 4.0).as_subclass(Loud)
        live = _core.Model(model, "model")
        self.assertEqual(live.stats("t")["mean"], 4.0)
        entry = json.loads(live.json("tree"))["tensors"][0]
        self.assertTrue(entry["class"].endswith("Loud"))

    def test_a_wrapper_shows_what_it_wraps(self):
        class Wrapper(torch.Tensor):
            @staticmethod
            def __new__(cls, inner):
                made = torch.Tensor._make_wrapper_subclass(cls, inner.shape)
                made.inner = inner
                return made

            def __tensor_flatten__(self):
                return ["inner"], None

            @classmethod
            def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
                raise AssertionError("the user's code was run")

        model = nn.Module()
        model._buffers["t"] = Wrapper(torch.full((2, 3), 4.0))
        live = _core.Model(model, "model")
        entry = json.loads(live.json("tree"))["tensors"][0]
        self.assertEqual((entry["layout"], entry["shape"]), ("wrapped", [2, 3]))
        self.assertEqual(entry["parts"], ["t.inner"])
        self.assertEqual(live.stats("t.inner")["mean"], 4.0)

    def test_a_freed_storage_is_reported(self):
        model = nn.Linear(2, 3)
        storage_of(model.weight).resize_(0)
        live = _core.Model(model, "model")
        with self.assertRaisesRegex(RuntimeError, "freed"):
            live.stats("weight")

    def test_script_modules_are_listed(self):
        model = torch.jit.script(nn.Sequential(nn.Linear(2, 3)))
        found = document(model)
        self.assertEqual([m["name"] for m in found["modules"]], ["", "0"])
        self.assertEqual(
            [(t["name"], t["shape"]) for t in found["tensors"]],
            [("0.weight", [3, 2]), ("0.bias", [3])],
        )

    def test_a_graph_module_has_its_code(self):
        model = torch.fx.symbolic_trace(nn.Sequential(nn.Linear(2, 3)))
        live = _core.Model(model, "graph")
        name = json.loads(live.json("tree"))["modules"][0]["class"]
        self.assertTrue(name.startswith("torch.fx.graph_module."), name)
        self.assertEqual(live.code(name)[2], model.code)

    def test_tensors_of_functorch_have_no_bytes(self):
        if not hasattr(torch, "vmap"):
            self.skipTest("this torch has no vmap")

        def look(row):
            model = nn.Module()
            model._buffers["row"] = row
            live = _core.Model(model, "model")
            with self.assertRaisesRegex(RuntimeError, "no storage"):
                live.stats("row")
            return row

        torch.vmap(look)(torch.ones(2, 3))

    def test_strange_modules_do_no_harm(self):
        class NoInit(nn.Module):
            def __init__(self):
                pass

        class Raising(nn.Module):
            def __getattr__(self, name):
                raise AssertionError("the user's code was run")

        deep = inner = []
        for _ in range(100000):
            inner.append([])
            inner = inner[0]
        round_ = []
        round_ += [round_, round_, nn.Linear(1, 1)]
        model = nn.Module()
        model.deep, model.round, model.name = deep, round_, "\ud800 half"
        model.raising = Raising()
        model.noinit = [NoInit()]
        model._modules["\ud800"] = nn.ReLU()
        model._modules["not a module"] = 3
        model._parameters["not a tensor"] = "text"
        found = document(model)
        names = [m["name"] for m in found["modules"]]
        self.assertIn("raising", names)
        self.assertIn("round.2", names)
        self.assertIn("noinit.0", names)
        self.assertIn("\\ud800", names)
        _core.Model(model, "model").text(all=True)
        while deep:  # Python would free it by recursion
            deep = deep.pop()


def storage_of(tensor):
    if hasattr(tensor, "untyped_storage"):
        return tensor.untyped_storage()
    return tensor._storage()


class Numbers(unittest.TestCase):
    def test_each_module_and_tensor_is_found_by_itself(self):
        model = Residual()
        live = _core.Model(model, "model")
        numbers = [live.number(one) for one in model.modules()]
        self.assertNotIn(None, numbers)
        self.assertEqual(len(set(numbers)), len(numbers))
        for one in model.modules():
            self.assertIs(live.module(live.number(one)), one)
        for one in [*model.parameters(), *model.buffers()]:
            self.assertIs(live.tensor(live.tensor_number(one)), one)

    def test_unknown_objects_have_no_number(self):
        model = Residual()
        live = _core.Model(model, "model")
        for stranger in (copy.deepcopy(model), nn.Linear(1, 1), 3, [], torch.ones(1)):
            self.assertIsNone(live.number(stranger))
            self.assertIsNone(live.tensor_number(stranger))

    @unittest.skipIf(scope.UNDER_ASAN, "no address is used again")
    def test_a_new_module_at_an_old_address_is_unknown(self):
        model = nn.Sequential(*[nn.ReLU() for _ in range(50)])
        live = _core.Model(model, "model")
        old = {id(one) for one in model}
        numbers = [live.number(one) for one in model]
        del model[:]
        again = 0
        fresh = [nn.ReLU() for _ in range(500)]
        for one in fresh:
            again += id(one) in old
            self.assertIsNone(live.number(one))
        self.assertEqual([live.module(number) for number in numbers], [None] * 50)
        self.assertGreater(again, 0, "no address was used again: nothing was tested")

    def test_a_replica_is_its_original(self):
        model = nn.Linear(2, 2)
        live = _core.Model(model, "model")
        replica = model._replicate_for_data_parallel()
        self.assertIsNot(replica, model)
        self.assertEqual(live.number(replica), live.number(model))
        other = nn.Linear(2, 2)._replicate_for_data_parallel()
        self.assertIsNone(live.number(other))


class Lifetime(unittest.TestCase):
    def test_nothing_is_kept_alive(self):
        for make in MAKERS:
            model = make()
            parts = [*model.modules(), *model.parameters(), *model.buffers()]
            refs = [weakref.ref(one) for one in parts]
            live = _core.Model(model, "model")
            del model, parts
            gc.collect()
            self.assertEqual([ref() for ref in refs if ref() is not None], [])
            self.assertEqual(live.roots(), [])
            live.text()

    def test_a_freed_tensor_is_reported(self):
        model = nn.Linear(2, 3)
        live = _core.Model(model, "model")
        self.assertFalse(live.changed)
        del model.weight
        self.assertTrue(live.changed)
        with self.assertRaisesRegex(RuntimeError, "was deleted since"):
            live.stats("weight")
        self.assertEqual(live.stats("bias")["count"], 3)

    def test_a_tensor_with_replaced_data_is_reported(self):
        model = nn.Linear(2, 3)
        live = _core.Model(model, "model")
        model.weight.data = torch.ones(3, 2)
        with self.assertRaisesRegex(RuntimeError, "other data since"):
            live.stats("weight")

    def test_a_resized_tensor_is_reported(self):
        model = nn.Linear(2, 3)
        live = _core.Model(model, "model")
        storage_of(model.weight).resize_(0)
        with self.assertRaisesRegex(RuntimeError, "resized since"):
            live.stats("weight")

    @unittest.skipIf(scope.UNDER_ASAN, "the allocator keeps freed memory")
    def test_building_200_times_takes_no_more_memory(self):
        model = nn.Sequential(Gpt(), Odd(), transformer())

        def build(times):
            for _ in range(times):
                live = _core.Model(model, "model")
                live.stats("0.wte.weight")
                live.json("tree")
            del live
            gc.collect()

        build(50)
        before, objects = resident(), len(gc.get_objects())
        counts = [sys.getrefcount(one) for one in model.modules()]
        build(200)
        self.assertEqual([sys.getrefcount(one) for one in model.modules()], counts)
        self.assertLess(len(gc.get_objects()) - objects, 100)
        self.assertLess(resident() - before, 4 << 20)

    def test_the_garbage_collector_is_unchanged(self):
        for on in (True, False):
            gc.enable() if on else gc.disable()
            try:
                _core.Model(nn.ReLU(), "model")
                self.assertEqual(gc.isenabled(), on)
            finally:
                gc.enable()


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Size(unittest.TestCase):
    def test_a_chain_of_100000_modules(self):
        model = nn.Identity()
        for _ in range(100000):
            above = nn.Identity()
            above._modules["inner"] = model
            model = above
        begin = time.process_time()
        live = _core.Model(model, "chain")
        took = time.process_time() - begin
        self.assertEqual(live.n_places, 100001)
        self.assertLess(took, 20, "quadratic?")
        number = live.number(model._modules["inner"]._modules["inner"])
        self.assertEqual(number, 2)
        while model is not None:  # Python would free it by recursion
            model = model._modules.pop("inner", None)

    def test_100000_modules_side_by_side(self):
        model = nn.Sequential()
        for i in range(100000):
            model._modules[str(i)] = nn.Identity()
        live = _core.Model(model, "wide")
        self.assertEqual(live.n_places, 100001)
        self.assertEqual(live.number(model._modules["99999"]), 100000)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
