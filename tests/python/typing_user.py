"""User code with every public name. types_test.py checks it with mypy; it is never run.
Lines that end in "# wrong" are errors that mypy must find."""

import asyncio
from typing import Any, assert_type

import torch

import torchoscope
from torchoscope.compat import model_analysis, rp, torch_vis

net = torch.nn.Linear(4, 8)


class Pipeline:
    decoder = net


# --- recordings

with torchoscope.record(net, mode="exact", keep=["0"], calls="all") as live:
    net(torch.ones(3, 4))
    live.stop()
torchoscope.record(net, mode="poem")  # wrong
torchoscope.record(net, poem=True)  # wrong
call: torchoscope.Call = live.calls("0")[-1]
assert_type(call.time_ns + call.self_ns, int)
assert_type(call.class_name, str)
value: torchoscope.Value = call.outputs[0]
assert_type(value.std, float | None)
assert_type(value.shape, list[int] | None)
value.poem  # wrong
gap: torchoscope.Gap = live.gaps[0]
assert_type(gap.name, str | None)
assert_type(live.forward_stats("0")[-1].out_mean, Any)
live.save("run.scope")
recording: torchoscope.Recording = torchoscope.open("run.scope")
recording.stop()  # wrong
recording.export("run.html", theme="dark", title="a run")
recording.tree(dept=2)  # wrong
kept: tuple[torch.Tensor, ...] = recording.values("0", kind="in")
ops: torchoscope.Ops = recording.ops("0", name=["conv*", "addmm"], phase="forward")
recording.ops(phase="sideways")  # wrong
op: torchoscope.Op = ops[-1]
assert_type(ops[1:], torchoscope.Ops)
assert_type(op.cause, torchoscope.Op | None)
assert_type(op.flops, int | None)
seen: torchoscope.OpValue = op.inputs[0]
assert_type(seen.shape, tuple[int, ...])
assert_type(seen.producers, list[torchoscope.Op])
graph: torchoscope.Graph = recording.graph("ops")
recording.graph("poems")  # wrong
node: torchoscope.Node = graph.nodes[0]
edge: torchoscope.Edge = graph.edges[0]
assert_type(edge.source + node.id, int)
with torchoscope.state_guard(net) as same:
    same.train()

# --- models

model = torchoscope.open(Pipeline())
assert_type(model, torchoscope.Model)
weight: torchoscope.Tensor = model["weight"]
assert_type(weight.mean, float | None)
assert_type(weight.quantiles, dict[float, float])
module: torchoscope.Module = model[""]
assert_type(module.params, int)
assert_type(module.children, list[str])
names: list[str] = sorted(model)
found: list[torchoscope.Finding] = model.findings
assert_type(found[0].severity, str)
assert_type(model.tree(columns="params", depth=2), str)
assert_type(torchoscope.diff(net, "net.pth", rtol=1e-3).equal, bool)
difference: torchoscope.Diff = torchoscope.diff(model, recording)
first: torchoscope.Difference | None = torchoscope.diff(recording, recording).first
try:
    torchoscope.open("README.md")
except torchoscope.Error as error:
    print(torchoscope.__version__, error)

# --- one pass

summary: torchoscope.Summary = torchoscope.summary(net, (3, 4), depth=1, mask=None)
torchoscope.summary(net, depth="one")  # wrong
assert_type(summary.recording, torchoscope.Recording | None)
rows: list[dict[str, Any]] = summary.rows(columns="params,time")
torchoscope.explore(net, torch.ones(3, 4))

# --- rp's interface

config = rp.ExplorerConfig(show_timing=False, max_depth=2)
rp.ExplorerConfig(poem=True)  # wrong
rp.explore_torch_module(net, config)
with rp.record_torch_module_forward_stats(net):
    net(torch.ones(3, 4))
infos = asyncio.run(rp.analyze_model_async(net))
assert_type(infos[""].parameter_count, int)
assert_type(rp.export_model_summary(net, "json"), str)

# --- unique modules and operations


def load() -> torch.nn.Module:
    return net


found_modules = model_analysis.extract_unique_modules(load, lambda: torch.ones(3, 4))
assert_type(found_modules, dict[str, Any])
model_analysis.extract_pytorch_ops("unique_modules.json", load, load, "pytorch_ops.json")
model_analysis.extract_unique_modules(net.weight, 3)  # wrong
info = model_analysis.ModuleInfo("mod_000", "Linear", "(root)", None)
assert_type(info.occurrences, list[str])
assert_type(model_analysis.OpInfo("op_000", "torch.relu", "mod_000", "ReLU").id, str)

# --- torch_vis

tracker = torch_vis.track_computational_graph_execution(net, torch.ones(3, 4))
assert_type(tracker.get_graph_summary(), dict[str, Any])
first_node: torch_vis.GraphNode = next(iter(tracker.nodes.values()))
assert_type(first_node.operation_type, torch_vis.OperationType)
first_edge: torch_vis.GraphEdge = tracker.edges[0]
torch_vis.visualize_computational_graph(net, torch.ones(3, 4), "graphviz")  # wrong
assert_type(torch_vis.export_computational_graph(net, torch.ones(3, 4), "g.json"), str)
