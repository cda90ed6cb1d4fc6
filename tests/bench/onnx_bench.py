"""An ONNX file of many nodes: listing its operations and inferring shapes beside the onnx
package, and its graph in Chromium beside Netron.

    BENCH_NODES=10000 BENCH_ROUNDS=5 onnx_bench.py [--no-page]

The file is made in a temporary folder. Without a browser the page is left out.
"""

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import bench  # noqa: E402

try:
    import onnx
    from onnx import TensorProto, helper
except ImportError as problem:
    print(f"onnx_bench: not run ({problem})")
    sys.exit(0)

NODES = int(os.environ.get("BENCH_NODES", "10000"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
MOST_SECONDS, MOST_MEMORY = 0.1, 70  # to list the operations

LOAD = """
import sys, onnx
model = onnx.load(sys.argv[1])
print(len(model.graph.node), model.graph.node[-1].op_type)
"""
INFER = """
import sys, onnx
model = onnx.shape_inference.infer_shapes(onnx.load(sys.argv[1]))
print(len(model.graph.value_info), "Relu")
"""


def make(path):
    """Layers of four nodes with a weight each, named as torch does."""
    nodes, weights, x = [], [], "x"
    for i in range(NODES // 4):
        at = f"/layers.{i}"
        weights.append(helper.make_tensor(f"layers.{i}.weight", TensorProto.FLOAT, [8, 8], [0.5] * 64))
        nodes += [
            helper.make_node("MatMul", [x, f"layers.{i}.weight"], [f"{at}/m"], f"{at}/MatMul"),
            helper.make_node("Relu", [f"{at}/m"], [f"{at}/r"], f"{at}/Relu"),
            helper.make_node("Add", [f"{at}/r", x], [f"{at}/a"], f"{at}/Add"),
            helper.make_node("Relu", [f"{at}/a"], [f"{at}/o"], f"{at}/Relu_1"),
        ]
        x = f"{at}/o"
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 8]) for name in ("x", x)]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], weights)
    onnx.save(helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)]), path)


def listing(path):
    peak, python = bench.Peak(), [sys.executable, "-c"]
    runs = bench.in_turn(
        {
            "ours": lambda: peak.run(bench.PROGRAM, "ops", path),
            "tree": lambda: peak.run(bench.PROGRAM, "tree", path),
            "load": peak.peer([*python, LOAD, path], "Relu"),
            "infer": peak.peer([*python, INFER, path], "Relu"),
        },
        ROUNDS,
    )
    table = bench.Table(f"An ONNX file of {NODES:,} nodes, start of the program included")
    table.time("torchoscope ops (shapes inferred)", runs["ours"], MOST_SECONDS)
    table.memory("torchoscope ops, peak memory", runs["ours"], MOST_MEMORY)
    table.time("torchoscope tree", runs["tree"], MOST_SECONDS)
    table.time("onnx.load", runs["load"])
    table.time("onnx.load and infer_shapes", runs["infer"])
    table.ratio("onnx with shapes, as a multiple of ours", bench.seconds(runs["infer"]),
                bench.seconds(runs["ours"]))
    return table.short


def page(folder, path):
    import page_bench

    table = bench.Table(f"The graph of {NODES:,} nodes in Chromium")
    found = page_bench.serve(folder, path, "graph&level=ops", page_bench.GRAPH)
    page_bench.lines(table, "torchoscope", found, page_bench.MOST_PAINT, page_bench.MOST_MEMORY)
    page_bench.lines(table, "Netron", page_bench.netron_visits(path))
    return table.short


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.onnx"
        make(path)
        short = listing(path)
        if "--no-page" not in sys.argv:
            short += page(Path(folder), path)
    print(f"\n{short} figures are short of their target" if short else "\nall targets met")


if __name__ == "__main__":
    main()
