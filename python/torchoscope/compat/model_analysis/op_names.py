"""Operations as users write them: torch.conv2d for aten::conv2d, with attributes.

Almost all names follow from one rule: the first of torch, torch.nn.functional,
torch.Tensor, and torch.linalg, torch.fft and torch.special that has a function of that
name; else torch.ops. Below is what has another name.
"""

import math
import re

import torch

# The operations that autograd records instead of the called function. They occur only
# if a model cannot run in inference mode.
_NAMES = {
    "_adaptive_avg_pool2d": "torch.nn.functional.adaptive_avg_pool2d",
    "_adaptive_avg_pool3d": "torch.nn.functional.adaptive_avg_pool3d",
    "_log_softmax": "torch.log_softmax",
    "_native_batch_norm_legit": "torch.batch_norm",
    "_native_batch_norm_legit_no_training": "torch.batch_norm",
    "_softmax": "torch.softmax",
    "_to_copy": "torch.Tensor.to",
    "_unsafe_view": "torch.Tensor.view",
    "cudnn_batch_norm": "torch.batch_norm",
    "lift_fresh": "torch.tensor",
    "max_pool2d_with_indices": "torch.max_pool2d",
    "max_pool3d_with_indices": "torch.max_pool3d",
    "native_batch_norm": "torch.batch_norm",
    "native_dropout": "torch.dropout",
    "native_group_norm": "torch.group_norm",
    "native_layer_norm": "torch.layer_norm",
}
_ATTENTION = re.compile(r"_scaled_dot_product_\w*attention\w*")
_UPSAMPLE = re.compile(r"_?upsample_(\w+?)[123]d(_aa)?")  # by its mode
_SPACES = ("linalg", "fft", "special")
_BACKEND = ("cudnn_enable", "cudnn_enabled")  # how to compute it, not what
_NOT_FINITE = {math.inf: "Infinity", -math.inf: "-Infinity"}
_MEMORY_FORMATS = ("contiguous_format", "preserve_format", "channels_last")
_MEMORY_FORMATS += ("channels_last_3d",)


def torch_name(op):
    """The name of an operation in torch's interface."""
    library, _, name = op.name.partition("::")
    if library != "aten":
        return f"torch.ops.{library}.{name}"
    if name == "convolution":
        return _convolution(op)
    if _ATTENTION.fullmatch(name):
        return "torch.nn.functional.scaled_dot_product_attention"
    if _UPSAMPLE.fullmatch(name):
        return "torch.nn.functional.interpolate"
    return _NAMES.get(name) or _found(name)


def _found(name):
    places = {"torch": torch, "torch.nn.functional": torch.nn.functional}
    places["torch.Tensor"] = torch.Tensor
    for place, holder in places.items():
        if callable(getattr(holder, name, None)):
            return f"{place}.{name}"
    space, _, rest = name.partition("_")
    if space in _SPACES and hasattr(getattr(torch, space), rest):
        return f"torch.{space}.{rest}"
    return f"torch.ops.aten.{name}"


def _convolution(op):
    """torch.conv2d or torch.conv_transpose2d: by the number of its strides."""
    transposed = "_transpose" if op.attributes.get("transposed") else ""
    return f"torch.conv{transposed}{len(op.attributes['stride'])}d"


def attributes(op):
    """All arguments that are not tensors, in the order and under the names of the
    schema, with default values. None and switches of a backend are left out."""
    found = {**_interpolation(op.name), **op.attributes}
    if op.name == "aten::convolution" and not found.pop("transposed", False):
        found.pop("output_padding", None)
    return {
        name: _named(name, _plain(one))
        for name, one in found.items()
        if one is not None and name not in _BACKEND
    }


def _interpolation(name):
    """The attributes in the names of torch's operations for interpolate()."""
    mode = _UPSAMPLE.fullmatch(name.partition("::")[2])
    if not mode:
        return {}
    antialias = {"antialias": True} if mode[2] else {}
    return {"mode": mode[1].replace("_", "-"), **antialias}


def _plain(value):
    """A value in JSON: dtypes, devices and numbers that are not finite as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return _NOT_FINITE.get(value, "NaN")
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict) and "$global" in value:
        return value["$global"].removeprefix("torch.")
    if isinstance(value, dict) and value.get("$call") == "torch.device":
        return ":".join(map(str, value["args"]))
    return value


def _named(name, value):
    """Default memory formats are numbers in the schema."""
    is_number = name == "memory_format" and isinstance(value, int)
    return _MEMORY_FORMATS[value] if is_number else value
