"""ONNX models for the tests: made with onnx.helper, and exported by torch."""

import logging
import warnings

import numpy as np
import onnx
import torch
import torch.nn as nn
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1, groups=2)
        self.norm = nn.BatchNorm2d(width)
        self.act = nn.ReLU()

    def forward(self, x):
        return self.act(self.norm(self.conv(x)) + x)


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.MaxPool2d(2))
        self.blocks = nn.Sequential(Block(8), Block(8))
        self.up = nn.ConvTranspose2d(8, 4, 2, 2)
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        x = self.up(self.blocks(self.stem(x)))
        return self.head(x.mean((2, 3)))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(20, 8)
        self.lstm = nn.LSTM(8, 6, batch_first=True, bidirectional=True)
        self.out = nn.Linear(12, 3)

    def forward(self, x):
        return self.out(self.lstm(self.words(x))[0])


def transformer():
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


def export(folder, dynamo):
    """name -> path, of all kinds of networks."""
    torch.manual_seed(0)
    cases = {
        "cnn": (Cnn(), torch.randn(1, 3, 17, 17)),
        "transformer": (transformer(), torch.randn(2, 5, 16)),
        "lstm": (Recurrent(), torch.zeros(2, 4, dtype=torch.long)),
    }
    logging.disable(logging.WARNING)
    paths = {}
    for name, (model, x) in cases.items():
        path = folder / f"{name}_{'new' if dynamo else 'old'}.onnx"
        options = {"dynamo": True, "verbose": False} if dynamo else {
            "dynamo": False, "dynamic_axes": {"x": {0: "batch"}}}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(model.eval(), (x,), str(path), input_names=["x"], **options)
        paths[path.stem] = path
    logging.disable(logging.NOTSET)
    return paths


def model(nodes, inputs, outputs, initialisers=(), **more):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(initialisers))
    more.setdefault("opset_imports", [helper.make_opsetid("", 21)])
    return helper.make_model(graph, producer_name="test", ir_version=10, **more)


def info(name, kind=FLOAT, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def typed():
    """Tensors of every type in every field that may hold them."""
    values = np.array([[0, 1, 2], [3, 5, 7]])
    tensors = []
    for name, kind in TensorProto.DataType.items():
        if kind in (TensorProto.UNDEFINED, TensorProto.STRING):
            continue
        array = values.astype(helper.tensor_dtype_to_np_dtype(kind))
        raw = numpy_helper.from_array(array, f"raw.{name}")
        raw.data_type = kind
        tensors.append(raw)
        fields = helper.make_tensor(f"typed.{name}", kind, [2, 3], array.ravel().tolist())
        tensors.append(fields)
    tensors.append(helper.make_tensor("texts", TensorProto.STRING, [2], [b"one", b"two"]))
    tensors.append(helper.make_tensor("scalar", FLOAT, [], [2.5]))
    tensors.append(helper.make_tensor("empty", INT64, [0, 4], []))
    nodes = [helper.make_node("Identity", ["x"], ["y"])]
    return model(nodes, [info("x", FLOAT, [1])], [info("y", FLOAT, [1])], tensors)


def attributes():
    """Attributes of all kinds."""
    tensor = numpy_helper.from_array(np.arange(40, dtype=np.float32), "t")
    nodes = [
        helper.make_node("Constant", [], ["a"], value=tensor),
        helper.make_node("Constant", [], ["b"], value_ints=[1, -2, 3]),
        helper.make_node("Constant", [], ["c"], value_float=0.25),
        helper.make_node("Constant", [], ["d"], value_strings=["p", "q"]),
        helper.make_node("LeakyRelu", ["x"], ["e"], alpha=0.5, name="leaky"),
        helper.make_node("Custom", ["e", "", "a"], ["y", "", "z"], domain="my.ops",
                         mode="fast", n=-7, weights=[0.5, -1.5], empty=[-1],
                         small=numpy_helper.from_array(np.array([4, 5]), "s")),
    ]
    return model(nodes, [info("x", FLOAT, ["batch", 40])], [info("y"), info("z"), info("b")],
                 opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("my.ops", 3)])


def nested(depth=3):
    """If in If in If, a Loop and a Scan."""
    def branch(level, sign):
        out = f"out{level}{sign}"
        if level == depth:
            nodes = [helper.make_node(sign, ["x"], [out])]
        else:
            nodes = [helper.make_node("If", ["flag"], [out],
                                      then_branch=branch(level + 1, "Neg"),
                                      else_branch=branch(level + 1, "Abs"))]
        return helper.make_graph(nodes, f"level{level}", [], [info(out, FLOAT, [2, 3])])

    body = helper.make_graph(
        [helper.make_node("Add", ["carried", "w"], ["next"]),
         helper.make_node("Identity", ["go"], ["go_on"]),
         helper.make_node("Relu", ["next"], ["seen"])],
        "body", [info("turn", INT64, []), info("go", TensorProto.BOOL, []),
                 info("carried", FLOAT, [2, 3])],
        [info("go_on", TensorProto.BOOL, []), info("next", FLOAT, [2, 3]),
         info("seen", FLOAT, [2, 3])],
        [numpy_helper.from_array(np.ones((2, 3), np.float32), "w")])
    scan = helper.make_graph(
        [helper.make_node("Add", ["state", "row"], ["state2"]),
         helper.make_node("Exp", ["state2"], ["row2"])],
        "scan", [info("state", FLOAT, [3]), info("row", FLOAT, [3])],
        [info("state2", FLOAT, [3]), info("row2", FLOAT, [3])])
    nodes = [
        helper.make_node("If", ["flag"], ["chosen"], then_branch=branch(1, "Neg"),
                         else_branch=branch(1, "Abs")),
        helper.make_node("Loop", ["times", "", "chosen"], ["last", "all"], body=body),
        helper.make_node("Scan", ["zero", "last"], ["sum", "y"], body=scan,
                         num_scan_inputs=1),
    ]
    return model(nodes, [info("x", FLOAT, [2, 3]), info("flag", TensorProto.BOOL, []),
                         info("times", INT64, [])],
                 [info("y", FLOAT, [2, 3]), info("all"), info("sum", FLOAT, [3])],
                 [numpy_helper.from_array(np.zeros(3, np.float32), "zero")])


def functions():
    """A function that calls another, with an attribute that is handed on."""
    scale = helper.make_function(
        "local", "Scale", ["a"], ["b"],
        [helper.make_node("Constant", [], ["s"]), helper.make_node("Mul", ["a", "s"], ["b"])],
        [helper.make_opsetid("", 21)], ["factor"])
    ref = onnx.AttributeProto()
    ref.name, ref.ref_attr_name, ref.type = "value_float", "factor", onnx.AttributeProto.FLOAT
    scale.node[0].attribute.append(ref)
    outer = helper.make_function(
        "local", "Twice", ["p"], ["q"],
        [helper.make_node("Scale", ["p"], ["m"], domain="local", factor=3.0),
         helper.make_node("Scale", ["m"], ["q"], domain="local", factor=4.0)],
        [helper.make_opsetid("", 21), helper.make_opsetid("local", 1)])
    nodes = [helper.make_node("Twice", ["x"], ["h"], domain="local"),
             helper.make_node("Relu", ["h"], ["y"])]
    return model(nodes, [info("x", FLOAT, [2, 3])], [info("y", FLOAT, [2, 3])],
                 functions=[scale, outer],
                 opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("local", 1)])


def quantised():
    rng = np.random.default_rng(0)
    weight = rng.integers(-127, 127, (4, 3), np.int8)
    tensors = [numpy_helper.from_array(weight, "w_q"),
               numpy_helper.from_array(np.float32(0.02), "w_scale"),
               numpy_helper.from_array(np.int8(3), "w_zero")]
    nodes = [helper.make_node("DequantizeLinear", ["w_q", "w_scale", "w_zero"], ["w"]),
             helper.make_node("Gemm", ["x", "w"], ["y"], transB=1)]
    return model(nodes, [info("x", FLOAT, ["n", 3])], [info("y", FLOAT, ["n", 4])], tensors)


def external(folder):
    """Data in a file beside the model."""
    rng = np.random.default_rng(1)
    tensors = [numpy_helper.from_array(rng.standard_normal((16, 8)).astype(np.float32), "a.w"),
               numpy_helper.from_array(rng.standard_normal(300).astype(np.float16), "b.w")]
    nodes = [helper.make_node("Identity", ["x"], ["y"])]
    path = folder / "external.onnx"
    onnx.save(model(nodes, [info("x")], [info("y")], tensors), path, save_as_external_data=True,
              location="weights.bin", size_threshold=0)
    return path


def shapes():
    """One node of each operation that has a rule, on constant shapes."""
    const = numpy_helper.from_array
    tensors = [const(np.array(v, np.int64), n) for n, v in {
        "to": [2, -1, 0], "axes": [1], "starts": [0, -5], "ends": [9, 100], "slice_axes": [0, 2],
        "steps": [1, 2], "pads": [0, 1, 2, 0, 0, 3], "k": [2], "times": [1, 2, 3], "i": [0, 2],
        "wide": [2, 3, 8], "sizes": [1, 2], "axes2": [0, 3], "flat": [-1]}.items()]
    tensors.append(const(np.ones((8, 5), np.float32), "m"))
    make, nodes = helper.make_node, []

    def add(op, inputs, outputs=1, **attrs):
        names = [f"{op}{len(nodes)}_{k}" for k in range(outputs)]
        nodes.append(make(op, inputs, names, **attrs))
        return names[0]

    add("Reshape", ["x", "to"])
    shape = add("Shape", ["x"])
    gathered = add("Gather", [shape, "i"])
    add("Concat", [gathered, "flat"], axis=0)
    add("Reshape", ["x", add("Concat", [gathered, "flat"], axis=0)])
    add("Slice", ["x", "starts", "ends", "slice_axes", "steps"])
    add("Pad", ["x", "pads"])
    add("TopK", ["x", "k"], 2, axis=-1)
    add("Tile", ["x", "times"])
    add("Split", ["x", "sizes"], 2, axis=1)
    add("Split", ["x"], 3, axis=2, num_outputs=3)
    add("Squeeze", [add("Unsqueeze", ["x", "axes2"]), "axes2"])
    add("Transpose", ["x"], perm=[2, 0, 1])
    add("Transpose", ["x"])
    add("Flatten", ["x"], axis=2)
    add("MatMul", ["x", "m"])
    add("ReduceMean", ["x", "axes"], keepdims=0)
    add("ReduceSum", ["x"])
    add("ArgMax", ["x"], axis=-1, keepdims=0)
    add("Expand", ["x", "wide"])
    add("Gather", ["x", "i"], axis=2)
    add("Cast", ["x"], to=TensorProto.FLOAT16)
    add("Greater", ["x", "x"])
    add("Conv", ["image", "kernel"], strides=[2, 1], pads=[1, 0, 2, 3], dilations=[1, 2])
    add("Conv", ["image", "kernel"], auto_pad="SAME_UPPER", strides=[2, 2])
    add("ConvTranspose", ["image", "turned"], strides=[2, 3], output_padding=[1, 0], group=2)
    add("MaxPool", ["image"], 2, kernel_shape=[3, 2], strides=[2, 3], ceil_mode=1)
    add("AveragePool", ["image"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
    add("GlobalAveragePool", ["image"])
    add("DepthToSpace", ["image"], blocksize=2)
    add("SpaceToDepth", [add("DepthToSpace", ["image"], blocksize=2)], blocksize=2)
    add("LSTM", ["seq", "W", "R"], 3, hidden_size=6, direction="bidirectional")
    add("GatherND", ["x", "nd"])
    add("Softmax", ["image"], axis=1)
    add("LayerNormalization", ["x", "gamma"])
    add("BatchNormalization", ["image", "four", "four", "four", "four"])
    add("Where", ["flag", "x", "m2"])
    tensors += [const(np.ones((6, 4, 3, 3), np.float32), "kernel"),
                const(np.ones((4, 5, 2, 2), np.float32), "turned"),
                const(np.ones((2, 24, 7), np.float32), "W"),
                const(np.ones((2, 24, 6), np.float32), "R"),
                const(np.zeros((5, 2), np.int64), "nd"),
                const(np.ones(8, np.float32), "gamma"), const(np.ones(4, np.float32), "four"),
                const(np.ones((3, 1), np.float32), "m2"), const(np.array([True] * 8), "flag")]
    outputs = [info(n) for node in nodes for n in node.output]
    return model(nodes, [info("x", FLOAT, [2, 3, 8]), info("image", FLOAT, ["n", 4, 11, 12]),
                         info("seq", FLOAT, [9, "n", 7])], outputs[:1], tensors)


MADE = {"typed": typed, "attributes": attributes, "nested": nested, "functions": functions,
        "quantised": quantised, "shapes": shapes}


def make(folder):
    """All of them as files: name -> path."""
    paths = {}
    for name, maker in MADE.items():
        paths[name] = folder / f"{name}.onnx"
        onnx.save(maker(), paths[name])
    paths["external"] = external(folder)
    return paths
