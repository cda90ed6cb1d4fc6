"""The types of what docs/python.md, "From TorchExplorer", describes."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch

from torchoscope.compat.torchexplorer import core as core

__all__ = [
    "LIGHTNING_EPOCHS",
    "StructureWrapper",
    "attach",
    "core",
    "setup",
    "watch",
]

_Log = Literal["io", "io_grad", "params", "params_grad"]
_Time = tuple[str, Callable[[Any, int], Any]]

LIGHTNING_EPOCHS: _Time

@dataclass
class StructureWrapper:
    structure: core.ModuleInvocationStructure | None = None

def setup(ulimit: int = 50000) -> None: ...
def watch(
    module: torch.nn.Module,
    log: Sequence[_Log] = ...,
    log_freq: int = 500,
    ignore_io_grad_classes: Sequence[type] = (),
    disable_inplace: bool = False,
    bins: int = 30,
    sample_n: int | None = 1000,
    reject_outlier_proportion: float = 0.1,
    time_log: _Time | None = ...,
    delay_log_multi_backward: bool = False,
    backend: Literal["wandb", "standalone", "none"] = "wandb",
    standalone_dir: str | os.PathLike[str] = "./torchexplorer_standalone",
    standalone_port: int = 5000,
    verbose: bool = True,
    **misspelt: Any,
) -> StructureWrapper: ...
def attach(tensor: torch.Tensor, parent: torch.nn.Module, name: str) -> torch.Tensor: ...
