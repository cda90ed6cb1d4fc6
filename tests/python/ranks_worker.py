"""One rank of a training, for watch_ranks_test.py: ranks_worker.py FOLDER JOB...

A job is a function below with its arguments, in one word: merged,ddp,plain."""

import contextlib
import os
import signal
import sys
import time
import warnings

import torch
import torch.distributed as dist

import torchoscope
from torchoscope import _core, watch_ranks

STEPS = 4


class Net(torch.nn.Module):
    """A weight with more elements than a sample, and one that 4 ranks cannot split
    evenly."""

    def __init__(self):
        super().__init__()
        self.wide = torch.nn.Linear(130, 140)
        self.act = torch.nn.ReLU()
        self.small = torch.nn.Linear(140, 3)

    def forward(self, x):
        return self.small(self.act(self.wide(x)))


def make():
    torch.manual_seed(3)
    return Net()


def shard(net):
    from torch.distributed.fsdp import fully_shard

    fully_shard(net.wide)
    fully_shard(net.small)
    return fully_shard(net)


WRAP = {
    "ddp": torch.nn.parallel.DistributedDataParallel,
    "fsdp": shard,
    "plain": lambda net: net,
}


def local(tensor):
    """A copy of this rank's part of a tensor."""
    return getattr(tensor, "_local_tensor", tensor).detach().clone()


def average(net):
    """Manual data parallelism."""
    for one in net.parameters():
        dist.all_reduce(one.grad)
        one.grad /= dist.get_world_size()


def train(kind, net, wrapped, handle=None, each=None):
    """Trains; returns all results, and the manually computed tensors by step."""
    torch.manual_seed(10 + dist.get_rank())
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    result, by_hand = {}, []
    for step in range(STEPS):
        seen = {}

        def look(name, seen=seen):
            def hook(_, args, out):
                seen[name, "input"], seen[name, "output"] = local(args[0]), local(out)

            return hook

        hooks = [
            module.register_forward_hook(look(name))
            for name, module in net.named_modules()
            if name
        ]
        optimizer.zero_grad()
        loss = wrapped(torch.randn(6, 130)).square().mean()
        for one in hooks:
            one.remove()
        loss.backward()
        if kind == "plain":
            average(net)
        named = dict(net.named_parameters())
        for name, one in named.items():
            seen[name, "param"], seen[name, "grad_param"] = local(one), local(one.grad)
        optimizer.step()
        for name, one in named.items():
            was = seen[name, "param"].double()
            seen[name, "update"] = local(one).double() - was
            result[step, name] = local(one)
        result[step, "loss"] = loss.detach()
        result[step, "random"] = torch.get_rng_state()
        by_hand.append(seen)
        if handle is not None and handle._writer is not None:
            handle._writer.flush()  # a busy disk drops steps
        if each is not None:
            each(step, net)
    return result, by_hand


def collectives():
    group = dist.distributed_c10d._get_default_group()
    return group._get_sequence_number_for_group()


def differ(a, b):
    return [key for key in a if not torch.equal(a[key], b[key])]


def watched(kind, before, folder, **options):
    """(result, manual tensors, path of the file, collectives)"""
    net = make()
    options = {"log_freq": 1, "exact": True, "dir": folder, **options}
    handle = torchoscope.watch(net, **options) if before else None
    wrapped = WRAP[kind](net)
    handle = handle or torchoscope.watch(wrapped, **options)
    began = collectives()
    result, by_hand = train(kind, net, wrapped, handle)
    made = collectives() - began
    handle.close()
    return result, by_hand, handle.path, made


def merged(folder, *kinds):
    """Trains in each way, unwatched and watched before and after wrapping."""
    found = {}
    for kind in kinds:
        net = make()
        wrapped = WRAP[kind](net)
        began = collectives()
        plain, _ = train(kind, net, wrapped)
        made = collectives() - began
        # fully_shard() replaces parameters; not every build looks them up again.
        follows = kind != "fsdp" or hasattr(_core.Recorder, "look_again")
        for before in (False, True) if follows else (False,):
            result, by_hand, path, more = watched(kind, before, folder)
            found[kind, before] = {
                "differ": differ(plain, result),
                "collectives": (made, more),
                "path": path,
                "by_hand": by_hand,
            }
    torch.save(found, os.path.join(folder, f"found{dist.get_rank()}.pt"))


def drift(folder):
    """Rank 1 changes a parameter after step 1 without a collective."""
    net = make()
    wrapped = WRAP["ddp"](net)
    handle = torchoscope.watch(wrapped, log_freq=1, dir=folder)

    def spoil(step, net):
        if step == 1 and dist.get_rank() == 1:
            with torch.no_grad():
                net.small.bias[1] += 1e-3

    train("ddp", net, wrapped, handle, spoil)
    handle.close()


def spoilt(folder, *words):
    """The input of step 2 is NaN on rank 1, and ranks share nothing. Words: group."""
    net, told = make(), []
    handle = torchoscope.watch(
        *(net,),
        **{"log_freq": 1, "dir": folder, "backend": ["file", "csv"]},
        **{"on_alarm": told.append, "group": "group" in words},
    )
    net.register_forward_pre_hook(
        lambda _, args: (args[0] * float("nan"),)
        if dist.get_rank() == 1 and handle.steps == 2
        else None
    )
    train("alone", net, net, handle)
    handle.close()
    refused = []
    for option in ({"resume": True}, {"on_alarm": "raise"}):
        try:
            torchoscope.watch(net, dir=folder, **option)
        except ValueError as error:
            refused.append(str(error))
    found = {"told": told, "refused": refused, "stem": handle.folder}
    torch.save(found, os.path.join(folder, f"spoilt{dist.get_rank()}.pt"))


def killed(folder):
    """Rank 1 dies after step 1. The others go on: torchoscope does not wait for it."""
    net = make()
    handle = torchoscope.watch(net, log_freq=1, dir=folder)

    def die(step, _):
        if step == 1 and dist.get_rank() == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    train("alone", net, net, handle, die)
    handle.close()
    print("finished", handle.path, flush=True)


def killed_ddp(folder):
    """The same with DDP, whose all-reduce raises in the others."""
    net = make()
    wrapped = WRAP["ddp"](net)
    handle = torchoscope.watch(wrapped, log_freq=1, dir=folder)

    def die(step, _):
        if step == 1 and dist.get_rank() == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        train("ddp", net, wrapped, handle, die)
    except RuntimeError:
        print("torch raised", flush=True)
    handle.close()
    print("finished", handle.path, flush=True)


def group(folder, what):
    """Rank 0 writes all. `what`: "whole"; "drift"; "late": rank 1 stops after step 1."""
    warnings.simplefilter("ignore")
    options = {"group": 3} if what == "late" else {"group": True}
    net = make()
    wrapped = net if what == "late" else WRAP["ddp"](net)
    handle = torchoscope.watch(
        wrapped, log_freq=1, exact=True, dir=folder, name=what, **options
    )

    def spoil(step, net):
        if step == 1 and dist.get_rank() == 1 and what == "drift":
            with torch.no_grad():
                net.small.bias[1] += 1e-3
        if step == 1 and dist.get_rank() == 1 and what == "late":
            handle._recorder.stop()  # simulates a hang

    _, by_hand = train("alone", net, wrapped, handle, spoil)
    store = dist.distributed_c10d._get_default_store()
    if what == "late" and dist.get_rank() == 1:
        # Polls, because wait() would lock the store, which the group's thread still
        # needs to connect. Rank 0 has the store, and may have ended.
        with contextlib.suppress(RuntimeError):
            while store.add("done", 0) == 0:
                time.sleep(0.05)
    else:
        handle.close()
        store.add("done", 1)
    torch.save(by_hand, os.path.join(folder, f"{what}{dist.get_rank()}.pt"))
    print("finished", handle.path, flush=True)


def silent(folder):
    """Rank 0 does not watch: rank 1 must not wait for it forever."""
    watch_ranks._PATIENCE = 0.5
    if dist.get_rank():
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            result, _, path, _ = watched("alone", True, folder)
        print("finished", path, *[str(one.message) for one in said], flush=True)
        dist.distributed_c10d._get_default_store().set("done", "yes")
    else:
        dist.distributed_c10d._get_default_store().wait(["done"])


def by_environment(folder):
    """No torch.distributed, but the variables that a launcher sets."""
    for _ in range(2):
        net = make()
        with torchoscope.watch(net, log_freq=1, dir=folder) as handle:
            net(torch.randn(2, 130)).sum().backward()
            torch.optim.SGD(net.parameters(), lr=0.1).step()
        print("finished", handle.path, flush=True)


WRAP["alone"] = WRAP["plain"]
JOBS = (merged, drift, spoilt, killed, killed_ddp, group, silent, by_environment)
JOBS = {one.__name__: one for one in JOBS}


def main():
    torch.set_num_threads(1)
    folder, *jobs = sys.argv[1:]
    for job in jobs:
        name, *args = job.split(",")
        if name != "by_environment" and not dist.is_initialized():
            dist.init_process_group("gloo")
        below = os.path.join(folder, job)
        os.makedirs(below, exist_ok=True)
        JOBS[name](below, *args)
    os._exit(0)  # a group whose peer died may wait for it


if __name__ == "__main__":
    main()
