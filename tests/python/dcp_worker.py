"""One rank that saves checkpoints for dcp_test.py: dcp_worker.py FOLDER RANK RANKS"""

import sys
import warnings

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint import HuggingFaceStorageWriter
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

warnings.filterwarnings("ignore")


def tensors(mesh, ranks):
    """Sharded along each dimension, unevenly, along two at once; copies."""
    torch.manual_seed(3)
    full = torch.randn(10, 7), torch.randn(5, 9), torch.randn(6, 4, 5).bfloat16()
    made = {
        "row": distribute_tensor(full[0], mesh, [Shard(0)]),
        "column": distribute_tensor(full[1], mesh, [Shard(1)]),
        "middle": distribute_tensor(full[2], mesh, [Shard(1)]),
        "copy": distribute_tensor(torch.arange(3.0), mesh, [Replicate()]),
        "wide": distribute_tensor(torch.randn(33, 1000), mesh, [Shard(1)]),
        "scalar": torch.tensor(3.5),
    }
    if ranks == 4:
        grid = init_device_mesh("cpu", (2, 2))
        made["grid"] = distribute_tensor(full[0], grid, [Shard(0), Shard(1)])
        made["tiny"] = distribute_tensor(torch.arange(2), mesh, [Shard(0)])
    return made


def main(folder, rank, ranks):
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/meet{ranks}", rank=rank, world_size=ranks
    )
    mesh = init_device_mesh("cpu", (ranks,))
    some = tensors(mesh, ranks)
    net = torch.nn.Sequential(torch.nn.Linear(13, 14), torch.nn.Linear(14, 3))
    for one in (net[0], net):
        fully_shard(one, mesh=mesh)
    optimizer = torch.optim.Adam(net.parameters())
    for one in net.parameters():
        one.grad = torch.ones_like(one)
    optimizer.step()
    state = {"model": net.state_dict(), "optim": optimizer.state_dict(), "step": 7}
    dcp.save({**state, **some}, checkpoint_id=f"{folder}/ranks{ranks}")
    writer = HuggingFaceStorageWriter(f"{folder}/hf{ranks}", save_distributed=True)
    # Ranks without a part of a tensor cannot write it in this form.
    whole = {name: one for name, one in some.items() if name not in ("middle", "tiny")}
    dcp.save(whole, storage_writer=writer)
    full = {name: getattr(one, "full_tensor", lambda one=one: one)() for name, one in whole.items()}
    if rank == 0:
        torch.save(full, f"{folder}/hf{ranks}.pth")
    dist.barrier()
    dist.destroy_process_group()


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
