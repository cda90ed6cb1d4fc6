"""The types of what docs/python.md, "From tt-model-analysis", describes."""

import os
from collections.abc import Callable
from typing import Any

import torch

from torchoscope.compat.model_analysis.types import ModuleInfo, OpInfo

__all__ = ["ModuleInfo", "OpInfo", "extract_pytorch_ops", "extract_unique_modules"]

def __dir__() -> list[str]: ...
def extract_unique_modules(
    load_fn: Callable[[], torch.nn.Module],
    get_sample_input: Callable[[], Any],
    output_path: str | os.PathLike[str] = "unique_modules.json",
) -> dict[str, Any]: ...
def extract_pytorch_ops(
    modules_json_path: str | os.PathLike[str],
    load_fn: Callable[[], torch.nn.Module],
    get_sample_input: Callable[[], Any],
    output_path: str | os.PathLike[str] = "pytorch_ops.json",
) -> dict[str, Any]: ...
