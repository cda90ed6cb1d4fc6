"""All samples of make.py: the objects, how they are saved, and their file names."""

import json
import pickle
import random
import sys

import numpy
import torch

import gguf_files
import sample_files as files
import sample_modules as modules
import sample_tensors as tensors
import truth


def reseed():
    torch.manual_seed(7)
    numpy.random.seed(7)
    random.seed(7)


def load(source):
    """Load a file completely, which is safe because it was made here."""
    try:
        return torch.load(source, weights_only=False)
    except TypeError:
        return torch.load(source)


class Maker:
    def __init__(self, folder):
        self.folder = folder
        self.manifest = {}

    def note(self, name, facts, **more):
        self.manifest[name] = {"tensors": facts, **more}

    def save(self, name, obj, loadable=True, **options):
        """torch.save, then the truth from what torch loads again."""
        more = {
            k: options.pop(k) for k in ("modules", "values", "loose") if k in options
        }
        torch.save(obj, self.folder / name, **options)
        back = load(self.folder / name) if loadable else obj
        facts = truth.tensors_of(back)
        legacy = options.get("_use_new_zipfile_serialization") is False
        self.note(name, facts, format="torch legacy" if legacy else "torch zip", **more)

    def write(self, name, data, facts, **more):
        (self.folder / name).write_bytes(data)
        self.note(name, facts, **more)

    def attempt(self, make, *args, **options):
        """Some makers need features that this torch lacks; then there is no sample."""
        reseed()
        try:
            make(*args, **options)
        except (AttributeError, ImportError, KeyError, RuntimeError, TypeError) as why:
            for name in (arg for arg in args if isinstance(arg, str)):
                if not (self.folder / name).is_dir():
                    (self.folder / name).unlink(missing_ok=True)
                print(f"make.py: no {name}: {why}", file=sys.stderr)


LEGACY = {"_use_new_zipfile_serialization": False}

CHECKPOINT_VALUES = {
    "epoch": 12,
    "best_acc1": 0.875,
    "arch": "small",
    "optimizer.param_groups.0.lr": 0.01,
    "optimizer.param_groups.0.weight_decay": 0.1,
    "scheduler.step_size": 3,
}


def save_made(maker, name, make, **options):
    maker.save(name, make(), **options)


def save_tensors(maker):
    plain = {
        "views": tensors.views,
        "odd_shapes": tensors.odd_shapes,
        "conj_and_neg": tensors.conj_and_neg,
        "quantised": tensors.quantised,
        "tied": tensors.tied,
        "with_attributes": tensors.with_attributes,
        "subclass": tensors.subclass,
        "lightning": tensors.lightning,
        "random_states": tensors.random_states,
        "numpy_values": tensors.numpy_values,
        "plain_values": tensors.plain_values,
        "deep_nesting": tensors.deep_nesting,
        "odd_keys": tensors.odd_keys,
        "cycle": tensors.cycle,
        "storages": tensors.storages,
        "yolo": tensors.yolo,
    }
    for name, make in plain.items():
        maker.attempt(save_made, maker, f"{name}.pt", make)
        maker.attempt(save_made, maker, f"{name}.legacy.pt", make, **LEGACY)
    for name, make in {"sparse": tensors.sparse, "dtype": tensors.all_dtypes}.items():
        reseed()
        for key, tensor in make().items():
            # One file each: an object that a torch cannot save must not prevent the
            # others.
            maker.attempt(maker.save, f"{name}_{key}.pt", {key: tensor})
            if name == "sparse" or key.startswith(("normal", "complex")):
                file = f"{name}_{key}.legacy.pt"
                maker.attempt(maker.save, file, {key: tensor}, **LEGACY)
    for protocol in range(6):
        save_protocol(maker, protocol)
    reseed()
    net = tensors.small_net()
    maker.save("state_dict.pt", net.state_dict())
    maker.save("state_dict.legacy.pt", net.state_dict(), **LEGACY)
    maker.save("wrapped.pt", torch.nn.DataParallel(net).state_dict())
    maker.save("checkpoint.pt", tensors.checkpoint(), values=CHECKPOINT_VALUES)
    maker.save("checkpoint.legacy.pt", tensors.checkpoint(), **LEGACY)
    maker.save("bare.pt", torch.arange(6.0).reshape(2, 3))
    maker.save("parameter.pt", torch.nn.Parameter(torch.randn(2, 3)))
    maker.save("list.pt", [torch.ones(2), torch.zeros(3), (torch.ones(1), 5)])
    maker.save("empty_dict.pt", {})
    maker.save("none.pt", None)
    maker.save("meta.pt", {"weight": torch.empty(3, 4, device="meta")})


def save_protocol(maker, protocol):
    """torch cannot load protocol 0 itself: its persistent ids are text."""
    obj = {"weight": torch.arange(4.0), "epoch": 3, "name": "é", "raw": b"\x00\x01"}
    options = {"pickle_protocol": protocol, "loadable": protocol > 0}
    for name, more in {"protocol": {}, "protocol_legacy": LEGACY}.items():
        maker.attempt(maker.save, f"{name}{protocol}.pt", obj, **options, **more)
        entry = maker.manifest.get(f"{name}{protocol}.pt")
        if entry and protocol == 0:
            entry["opaque"] = True


def save_modules(maker):
    for name, make in modules.plain_modules().items():
        reseed()
        net = make()
        names = truth.modules_of(net)
        maker.attempt(maker.save, f"module_{name}.pt", net, modules=names)
        maker.attempt(
            maker.save, f"module_{name}.legacy.pt", net, modules=names, **LEGACY
        )
    for name, make in {
        "quantised": modules.quantised_linear,
        "graph": modules.graph_module,
        "normed": modules.normed,
    }.items():
        maker.attempt(save_odd_module, maker, f"module_{name}.pt", make)


def save_odd_module(maker, name, make):
    """Modules whose tensors torch does not list by name: compared by content."""
    net = make()
    torch.save(net, maker.folder / name)
    facts = truth.tensors_of(net)
    loose = []
    for module in net.modules():
        packed = getattr(module, "_packed_params", None)
        if hasattr(packed, "_packed_params"):
            weight, bias = packed._packed_params.unpack()
            loose += [truth.describe("", weight), truth.describe("", bias)]
    for fact in loose:
        fact.pop("identity", None)
    maker.note(name, facts, format="torch zip", loose=loose)


def script_facts(module):
    named = [*module.named_parameters(), *module.named_buffers()]
    return truth.tensors_of({name: tensor.detach() for name, tensor in named})


def save_scripts(maker):
    reseed()
    net = modules.Plain().eval()
    example = torch.randn(1, 3, 8, 8)
    scripted = torch.jit.script(net)
    classes = {name: type(one).__name__ for name, one in net.named_modules()}
    facts = script_facts(net)
    for fact in facts:
        fact.pop("requires_grad")
    for name, module in {
        "scripted": scripted,
        "traced": torch.jit.trace(net, example, check_trace=False),
        "frozen": torch.jit.freeze(scripted),
    }.items():
        path = maker.folder / f"script_{name}.pt"
        torch.jit.save(module, path, _extra_files={"note.txt": "made for a test"})
        kept = facts if name != "frozen" else []
        maker.note(path.name, kept, format="torchscript", classes=classes)
    path = maker.folder / "script_lite.ptl"
    scripted._save_for_lite_interpreter(str(path))
    maker.note(path.name, facts, format="torchscript", classes=classes)


def save_pickles(maker):
    """Tensors pickled without torch.save: a torch file inside bytes."""
    reseed()
    obj = {"weight": torch.randn(3, 2), "epoch": 4}
    for protocol in (2, 4):
        data = pickle.dumps(obj, protocol)
        facts = truth.tensors_of(pickle.loads(data))
        maker.write(f"pickled{protocol}.pkl", data, facts, format="pickle", nested=True)
    many = {f"layers.{i}.weight": torch.randn(2, i % 7 + 1) for i in range(120)}
    data = pickle.dumps({**many, "view": many["layers.5.weight"][:, 1:3]}, 4)
    facts = truth.tensors_of(pickle.loads(data))
    maker.write("pickled_many.pkl", data, facts, format="pickle", nested=True)
    data = pickle.dumps({"a": [1, 2.5, "x"], "array": numpy.arange(3)}, 4)
    maker.write("plain.pkl", data, [], format="pickle")
    data = pickle.dumps({"epoch": 12, "text": "é"}, 0)
    maker.write("text.pkl", data, [], format="pickle")


def save_files(maker):
    reseed()
    every = files.every_code()
    facts = [files.fact_of(*one) for one in every]
    data = files.safetensors_bytes(every, {"format": "pt", "note": "<b>\x1b[31m"})
    maker.write("every_code.safetensors", data, facts, format="safetensors")
    net = files.net_tensors()
    facts = [files.fact_of(*one) for one in net]
    data = files.safetensors_bytes(net, pad=False)
    maker.write("net.safetensors", data, facts, format="safetensors")
    data = files.safetensors_bytes([], {"format": "pt"})
    maker.write("nothing.safetensors", data, [], format="safetensors")
    facts = files.write_shards(maker.folder / "sharded", net, 3)
    maker.note("sharded", facts)
    maker.note("sharded/model.safetensors.index.json", facts)
    save_bin_shards(maker)
    small = gguf_files.small_tensors()
    facts = [files.gguf_fact(*one) for one in small]
    for name, options in {"small.gguf": {}, "version1.gguf": {"version": 1},
                          "aligned.gguf": {"alignment": 4096}}.items():
        entries = list(gguf_files.ENTRIES)
        if "alignment" in options:
            entries.append(("general.alignment", gguf_files.U32, options["alignment"]))
        maker.write(name, gguf_files.gguf(small, entries, **options), facts,
                    format="gguf")
    weight = torch.randn(4, 3)
    old = {"weight": weight, "t": weight.t(), "row": weight[1], "bias": torch.randn(4)}
    data = files.tar_bytes(old)
    (maker.folder / "torch01.tar").write_bytes(data)
    facts = truth.tensors_of(load(maker.folder / "torch01.tar"))
    for fact in facts:
        fact.pop("requires_grad")  # not recorded by 0.1
    maker.write("torch01.tar", data, facts, format="torch tar")
    for name in ("state_dict.pt", "module_own_class.pt", "script_scripted.pt"):
        data = files.repack((maker.folder / name).read_bytes())
        entry = maker.manifest[name]
        maker.write(f"deflated_{name}", data, entry["tensors"], format=entry["format"])


def save_bin_shards(maker):
    folder = maker.folder / "sharded_bin"
    folder.mkdir()
    state = tensors.small_net().state_dict()
    names, weight_map, total = list(state), {}, 0
    for i, part in enumerate(files.split(names, 2)):
        name = f"pytorch_model-{i + 1:05}-of-00002.bin"
        torch.save({key: state[key] for key in part}, folder / name)
        weight_map.update(dict.fromkeys(part, name))
        total += sum(state[key].numel() * state[key].element_size() for key in part)
    index = files.index_text(weight_map, total)
    (folder / "pytorch_model.bin.index.json").write_text(index)
    facts = truth.tensors_of(dict(state))
    maker.note("sharded_bin", facts)
    maker.note("sharded_bin/pytorch_model.bin.index.json", facts)


def save_exported(maker, name):
    """torch 1.13 has no torch.export."""
    path = maker.folder / name
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Flatten(),
        torch.nn.Linear(144, 2),
    )  # fmt: skip
    program = torch.export.export(net.eval(), (torch.randn(1, 3, 8, 8),))
    torch.export.save(program, path)
    program = torch.export.load(path)
    maker.note(name, truth.tensors_of({**program.state_dict, **program.constants}),
               format="torch.export")  # fmt: skip


def save_distributed(maker, name):
    import torch.distributed.checkpoint as dcp

    state = tensors.small_net().state_dict()
    dcp.save({"model": state, "epoch": 3}, checkpoint_id=maker.folder / name)
    facts = truth.tensors_of({"model": dict(state)})
    maker.note(name, facts, format="distributed checkpoint")


def make_all(folder):
    folder.mkdir(parents=True, exist_ok=True)
    maker = Maker(folder)
    for step in (save_tensors, save_modules, save_scripts, save_pickles, save_files):
        step(maker)
    maker.attempt(save_exported, maker, "exported.pt2")
    maker.attempt(save_distributed, maker, "distributed")
    manifest = {"torch": torch.__version__, "files": maker.manifest}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1))
