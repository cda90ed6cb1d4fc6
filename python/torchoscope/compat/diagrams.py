"""rp's graph of a model and its diagram. rp passes the model only; a graph is what a
model executed, so one that was neither recorded nor given inputs is run with inputs
that fit its first layer."""

import torch
from torch import nn

from torchoscope import forward_stats, op_kinds
from torchoscope.compat import analysis
from torchoscope.graphs import Graph, graph
from torchoscope.inputs import Inputs
from torchoscope.recorder import record
from torchoscope.restore import roots_of, state_guard
from torchoscope.traces import trace

_SIDES = (224, 32, 64, 28, 128, 56, 256, 16, 8, 299)  # of pictures, to try
_STEPS = 16  # of a sequence


def extract_model_graph(model, *inputs, **keywords):
    """The torchoscope.Graph of a model, with `nodes`, `edges`, `json` and its picture.

    inputs, keywords   what to run the model with: tensors, or shapes (1, 3, 224, 224).
    Without any: the newest recording of it; else its own example inputs; else random
    ones that fit its first layer."""
    analysis.checked(model)
    if not inputs and not keywords:
        known = forward_stats.recorded(next(iter(roots_of(model).values())))
        if known is not None:
            return graph(known[0])
    if not isinstance(model, nn.Module):
        text = f"a {type(model).__name__} is not an nn.Module: record it first, or pass one"
        raise TypeError(f"{text} of its modules")
    return graph(_run(model, inputs, keywords))


def plot_network_graph(graph_data, path=None, **options):
    """The diagram of extract_model_graph()'s result. A notebook shows it; `path` writes
    it to a file: .svg .png .pdf .html .dot .mmd. The options are those of
    torchoscope.graph()."""
    if not isinstance(graph_data, Graph):
        kind = type(graph_data).__name__
        raise TypeError(f"graph_data comes from extract_model_graph(), not from {kind}")
    if path is not None:
        graph_data.save(path, **options)
    return graph_data


def generate_architecture_diagram(model, *inputs, path=None, **keywords):
    """The diagram of a model: plot_network_graph(extract_model_graph(model))."""
    return plot_network_graph(extract_model_graph(model, *inputs, **keywords), path)


def _run(model, inputs, keywords):
    """A recording of one forward pass."""
    if inputs or keywords or not Inputs(model).is_empty:
        return _recorded(model, inputs, keywords)
    for shape in _guesses(model):
        try:
            return _recorded(model, (shape,), {})
        except Exception:  # it does not fit: the error does not help the user
            continue
    name = type(model).__name__
    text = f"extract_model_graph() cannot guess what {name} takes"
    raise ValueError(f"{text}: pass inputs or shapes, or record a pass first")


def _recorded(model, inputs, keywords):
    if op_kinds.why_not() is None:
        return trace(model, *inputs, kwargs=keywords, backward=False)
    args, kwargs = Inputs(model, inputs, keywords).make()
    with state_guard(model), record(model) as recording, torch.no_grad():
        model(*args, **kwargs)
    return recording


def _guesses(model):
    """Inputs for the first layer whose input shape is known."""
    batch = 2 if model.training else 1  # BatchNorm needs more than one value
    for layer in model.modules():
        if isinstance(layer, (nn.Conv1d, nn.Conv2d, nn.Conv3d)):
            many = len(layer.kernel_size)
            return [(batch, layer.in_channels, *[side] * many) for side in _SIDES]
        if isinstance(layer, nn.Linear):
            return [(batch, layer.in_features), (batch, _STEPS, layer.in_features)]
        if isinstance(layer, nn.RNNBase):
            return [(_STEPS, batch, layer.input_size)]
        if isinstance(layer, (nn.Embedding, nn.EmbeddingBag)):
            return [torch.zeros(batch, _STEPS, dtype=torch.int64)]
        if isinstance(layer, nn.modules.batchnorm._BatchNorm):
            sizes = (batch, layer.num_features)
            return [(*sizes, *[_STEPS] * many) for many in range(4)]
    return []
