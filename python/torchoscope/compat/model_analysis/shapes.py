"""The shapes and dtypes that modules were called with, from a recording."""

import dataclasses
from typing import Tuple

# Arguments of transformers that hold a cache of all layers: no input of one module.
_CACHES = ("past_key_values.", "past_key_value.", "cache_params.")


@dataclasses.dataclass(frozen=True)
class CallShapes:
    """The tensors of one call, in the order of arguments and results."""

    input_shapes: Tuple[str, ...] = ()
    output_shapes: Tuple[str, ...] = ()
    input_dtypes: Tuple[str, ...] = ()
    output_dtypes: Tuple[str, ...] = ()


def format_shape(shape):
    """ "1x3x224x224"; "" for a scalar, "?" if the shape is unknown."""
    return "?" if shape is None else "x".join(map(str, shape))


def format_tensor(value):
    """{"shape": "1x64", "dtype": "float32"}"""
    return {"shape": format_shape(value.shape), "dtype": value.dtype}


def shapes_of_call(call):
    """The CallShapes of a recorded call."""
    inputs, outputs = _counted(call.inputs), _counted(call.outputs)
    return CallShapes(
        tuple(format_shape(one.shape) for one in inputs),
        tuple(format_shape(one.shape) for one in outputs),
        tuple(one.dtype for one in inputs),
        tuple(one.dtype for one in outputs),
    )


def _counted(values):
    return [one for one in values if not one.path.startswith(_CACHES)]


def capture_shapes(calls):
    """{CallShapes: number of calls}, in the order in which they first occurred."""
    found = {}
    for call in calls:
        shapes = shapes_of_call(call)
        found[shapes] = found.get(shapes, 0) + 1
    return found
