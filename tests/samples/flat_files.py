"""Flatbuffers written field by field, without a schema: TFLite models of every kind,
ExecuTorch programs."""

import struct
import zipfile
from io import BytesIO


class Number:
    """A number in a table: a letter of struct and its value."""

    def __init__(self, letter, value):
        self.bytes = struct.pack("<" + letter, value)


class Vector:
    """Numbers behind each other; a list of tables is a plain list."""

    def __init__(self, letter, numbers):
        self.numbers = list(numbers)
        self.bytes = struct.pack(f"<{len(self.numbers)}{letter}", *self.numbers)


def i8(value):
    return Number("b", value)


def i32(value):
    return Number("i", value)


def u64(value):
    return Number("Q", value)


def f32(value):
    return Number("f", value)


def ints(*numbers):
    return Vector("i", numbers)


class Writer:
    """Tables are dicts: the number of a field and what is in it. None is left out."""

    def __init__(self):
        self.data = bytearray()
        self.places = {}  # id of a dict -> where it is, for tables that are shared

    def align(self, n=8, after=0):
        while (len(self.data) + after) % n:
            self.data.append(0)

    def point(self, at, to):
        struct.pack_into("<I", self.data, at, to - at)

    def put(self, value):
        """Write a value that offsets lead to; where it is."""
        if isinstance(value, dict):
            return self.table(value)
        self.align(after=4)
        at = len(self.data)
        if isinstance(value, str):
            value = value.encode() + b"\0"
            self.data += struct.pack("<I", len(value) - 1) + value
        elif isinstance(value, (bytes, bytearray)):
            self.data += struct.pack("<I", len(value)) + value
        elif isinstance(value, Vector):
            self.data += struct.pack("<I", len(value.numbers)) + value.bytes
        else:
            self.data += struct.pack("<I", len(value)) + bytes(4 * len(value))
            for i, item in enumerate(value):
                self.point(at + 4 + 4 * i, self.put(item))
        return at

    def table(self, fields):
        if id(fields) in self.places:
            return self.places[id(fields)]
        fields = {key: value for key, value in fields.items() if value is not None}
        count = max(fields, default=-1) + 1
        size, offsets = 4, [0] * count
        for key, value in sorted(fields.items(), key=self.width):
            width = self.width((key, value))
            size += -size % width
            offsets[key] = size
            size += width
        self.align()
        vtable = len(self.data)
        self.data += struct.pack(f"<HH{count}H", 4 + 2 * count, size, *offsets)
        self.align()
        at = len(self.data)
        self.data += struct.pack("<i", at - vtable) + bytes(size - 4)
        self.places[id(fields)] = at
        for key, value in fields.items():
            if isinstance(value, Number):
                begin = at + offsets[key]
                self.data[begin : begin + len(value.bytes)] = value.bytes
            else:
                self.point(at + offsets[key], self.put(value))
        return at

    @staticmethod
    def width(item):
        return len(item[1].bytes) if isinstance(item[1], Number) else 4


def flatbuffer(root, identifier, front=b""):
    writer = Writer()
    writer.data += bytes(4) + identifier + front
    writer.point(0, writer.table(root))
    return bytes(writer.data)


# ---- TFLite ----

FLOAT, FLOAT16, INT32, UINT8, INT64, STRING, BOOL, INT16 = 0, 1, 2, 3, 4, 5, 6, 7
INT8, RESOURCE, INT4, BFLOAT16, INT2, UINT4 = 9, 13, 17, 18, 19, 20
ADD, FULLY_CONNECTED, MUL, RELU, CALL, CUSTOM, LESS = 0, 9, 18, 19, 31, 32, 58
IF, WHILE, CALL_ONCE, STABLEHLO_ADD, STABLEHLO_REDUCE = 118, 119, 129, 163, 174
STABLEHLO_WHILE, STABLEHLO_COMPOSITE, STABLEHLO_CASE = 200, 206, 209
OPTIONS = {CALL: 16, IF: 92, WHILE: 93, CALL_ONCE: 103}
OPTIONS2 = {STABLEHLO_REDUCE: 6, STABLEHLO_WHILE: 15, STABLEHLO_COMPOSITE: 21,
            STABLEHLO_CASE: 23}  # fmt: skip


class Model:
    """Collects operator codes and buffers while subgraphs are described."""

    def __init__(self):
        self.codes, self.buffers, self.graphs = [], [{}], []
        self.signatures, self.metadata = [], []

    def tensor(self, name, shape=(2,), kind=FLOAT, data=None, buffer=None, **more):
        """A tensor; a constant if it has data. `more` are fields by number: f6={...}"""
        if data is not None:
            buffer = len(self.buffers)
            self.buffers.append({0: data})
        fields = {0: ints(*shape), 1: i8(kind), 2: i32(buffer or 0), 3: name}
        fields.update({int(key[1:]): value for key, value in more.items()})
        return fields

    def op(self, code, inputs, outputs, options=None, custom=None, **more):
        key = (code, custom)
        if key not in self.codes:
            self.codes.append(key)
        fields = {0: i32(self.codes.index(key)), 1: ints(*inputs), 2: ints(*outputs)}
        if options is not None and code in OPTIONS2:
            fields.update({11: i8(OPTIONS2[code]), 12: options})
        elif options is not None:
            fields.update({3: i8(more.pop("type", OPTIONS.get(code, 0))), 4: options})
        fields.update({int(key[1:]): value for key, value in more.items()})
        return fields

    def graph(self, tensors, inputs, outputs, ops=(), name=None):
        self.graphs.append({0: list(tensors), 1: ints(*inputs), 2: ints(*outputs),
                            3: list(ops), 4: name})  # fmt: skip
        return len(self.graphs) - 1

    def sign(self, key, graph, inputs, outputs):
        def ends(names):
            return [{0: name, 1: i32(tensor)} for name, tensor in names.items()]

        self.signatures.append({0: ends(inputs), 1: ends(outputs), 2: key,
                                4: i32(graph)})  # fmt: skip

    def note(self, name, data):
        self.metadata.append({0: name, 1: i32(len(self.buffers))})
        self.buffers.append({0: data})

    def bytes(self, **more):
        codes = [{0: i8(min(code, 127)), 1: custom, 3: i32(code)}
                 for code, custom in self.codes]  # fmt: skip
        root = {0: i32(3), 1: codes, 2: self.graphs, 3: "a sample", 4: self.buffers,
                6: self.metadata or None, 7: self.signatures or None}  # fmt: skip
        root.update({int(key[1:]): value for key, value in more.items()})
        return flatbuffer(root, b"TFL3")


def floats(*numbers):
    return struct.pack(f"<{len(numbers)}f", *numbers)


def unary(model, code, name, constant=None):
    """A subgraph of one operator, of its input and perhaps a constant."""
    tensors = [model.tensor("a"), model.tensor("y")]
    if constant:
        tensors.append(model.tensor("w", data=floats(*constant)))
    inputs = [0, 2] if constant else [0]
    return model.graph(tensors, [0], [1], [model.op(code, inputs, [1])], name)


def branches():
    """y = x * w if c else relu(x), then relu(y)."""
    model = Model()
    tensors = [model.tensor(name) for name in ("x", "y", "z")]
    tensors.append(model.tensor("c", (), BOOL))
    model.graph(tensors, [0, 3], [2], [
        model.op(IF, [3, 0], [1], {0: i32(1), 1: i32(2)}), model.op(RELU, [1], [2])])
    unary(model, MUL, "then", (2, 3))
    unary(model, RELU, "else")
    return model.bytes()


def case():
    """One of three, by a number."""
    model = Model()
    tensors = [model.tensor("x"), model.tensor("y"), model.tensor("n", (), INT32)]
    model.graph(tensors, [0, 2], [1],
                [model.op(STABLEHLO_CASE, [2, 0], [1], {0: ints(1, 2, 3)})])
    for i, code in enumerate((MUL, ADD, RELU)):
        unary(model, code, f"case_{i}", (1, 2) if code != RELU else None)
    return model.bytes()


def loop(code=WHILE):
    """while i < 10: i, x = i + 1, x * w; then relu(x)."""
    model = Model()
    tensors = [model.tensor("i0", (), INT32), model.tensor("x0"),
               model.tensor("i", (), INT32), model.tensor("x"), model.tensor("y")]
    model.graph(tensors, [0, 1], [4], [
        model.op(code, [0, 1], [2, 3], {0: i32(1), 1: i32(2)}),
        model.op(RELU, [3], [4])], "main")
    number = struct.pack("<i", 10)
    model.graph([model.tensor("ci", (), INT32), model.tensor("cx"),
                 model.tensor("ten", (), INT32, number), model.tensor("go", (), BOOL)],
                [0, 1], [3], [model.op(LESS, [0, 2], [3])], "cond")
    model.graph([model.tensor("bi", (), INT32), model.tensor("bx"),
                 model.tensor("one", (), INT32, number),
                 model.tensor("w", (2,), FLOAT, floats(1, 2)),
                 model.tensor("bi2", (), INT32), model.tensor("bx2")],
                [0, 1], [4, 5],
                [model.op(ADD, [0, 2], [4]), model.op(MUL, [1, 3], [5])], "body")
    return model.bytes()


def calls():
    """A subgraph that is called twice, a composite, and a subgraph that runs once."""
    model = Model()
    tensors = [model.tensor(name) for name in "xabc"]
    model.graph(tensors, [0], [3], [
        model.op(CALL_ONCE, [], [], {0: i32(2)}),
        model.op(CALL, [0], [1], {0: i32(1)}),
        model.op(CALL, [1], [2], {0: i32(1)}),
        model.op(STABLEHLO_COMPOSITE, [2], [3],
                 {0: "odml.double", 1: i32(3), 4: i32(1)})])
    unary(model, MUL, "layer", (2, 3))
    model.graph([model.tensor("v", (), RESOURCE)], [], [],
                [model.op(142, [], [0], {1: "state"}, type=111)], "init")
    unary(model, ADD, "double.impl", (1, 1))
    return model.bytes()


def reduce():
    """An operation that applies a subgraph to its elements."""
    model = Model()
    tensors = [model.tensor("x"), model.tensor("zero", (), FLOAT, floats(0)),
               model.tensor("y", ())]
    model.graph(tensors, [0], [2], [
        model.op(STABLEHLO_REDUCE, [0, 1], [2], {0: Vector("q", [0]), 1: i32(1)})])
    pair = [model.tensor(name, ()) for name in "pqr"]
    model.graph(pair, [0, 1], [2], [model.op(STABLEHLO_ADD, [0, 1], [2])], "sum")
    return model.bytes()


def signatures():
    """Two entries that share a weight, and a third name for one of them."""
    model = Model()
    for i, (key, code) in enumerate((("encode", MUL), ("decode", ADD))):
        weight = (model.tensor("w", (2,), FLOAT, floats(5, 6)) if i == 0
                  else model.tensor("w", buffer=1))
        model.graph([model.tensor(f"{key}_in:0"), weight, model.tensor(f"{key}_out:0")],
                    [0], [2], [model.op(code, [0, 1], [2])], f"graph_{i}")
        model.sign(key, i, {"x": 0}, {"y": 2})
    model.sign("again", 1, {"other": 0}, {"out": 2})
    return model.bytes()


def turning(n, times=1, to_itself=False):
    """Subgraphs that call the next one several times, or the last one the first."""
    model = Model()
    for i in range(n):
        after = (i + 1) % n if to_itself else i + 1
        ops = [model.op(CALL, [0], [0], {0: i32(after)})] * times
        if after == n:
            ops = [model.op(RELU, [0], [0])]
        model.graph([model.tensor("x")], [0], [0], ops, f"g{i}")
    return model.bytes()


def odd_tensors():
    """Tensors of every kind, and operators that are not builtin."""
    model = Model()
    half = struct.pack("<2e", 0.5, -2)
    text = struct.pack("<i3i", 2, 16, 19, 24) + b"catzebra"
    channels = {2: Vector("f", [0.5, 0.25]), 3: Vector("q", [0, 3]), 6: i32(0)}
    blocks = {4: i8(2), 5: {0: i32(7), 1: i32(0), 2: i32(32)}, 6: i32(1)}
    tensors = [
        model.tensor("x"),
        model.tensor("block/half", (2,), FLOAT16, half),
        model.tensor("block/brain", (2,), BFLOAT16, b"\x80\x3f\x00\xc0"),
        model.tensor("block/four", (3,), INT4, b"\x81\x07"),
        model.tensor("block/two", (4,), INT2, b"\xe4"),
        model.tensor("block/unsigned", (2,), UINT4, b"\xf1"),
        model.tensor("labels", (2,), STRING, text),
        model.tensor("block/scales", (1,), FLOAT16, half[:2]),
        model.tensor("block/blocks", (2,), INT4, b"\x21", f4=blocks),
        model.tensor("block/channels", (2, 2), INT8, b"\1\2\3\xfc", f4=channels),
        model.tensor("y"),
        model.tensor("state", f5=i8(1)),
        model.tensor("elsewhere", f10=i32(1)),
        model.tensor("lost", buffer=99),
        model.tensor("unknown", (2,), 99, b"\1\2"),
    ]  # fmt: skip
    # The flexbuffer of {"n": 7, "s": [0.5, 1.5]}.
    options = bytes.fromhex("6e00730002000000 0000003f0000c03f"
                            "0e0e021312020102 0711042a042401")
    ops = [model.op(CUSTOM, [0, 11], [10], custom="MyOp", f5=options),
           model.op(CUSTOM, [0], [10], custom="Other", f5=b"\7\1\2"),
           model.op(500, [10], [10])]
    model.graph(tensors, [0], [10], ops)
    return model.bytes()


def sparse(damage=None):
    """[[0, 1, 0, 2], [3, 0, 0, 0]] by rows, and 4 x 4 elements in blocks of 2 x 2."""
    model = Model()
    lists = {"segments": [0, 2, 3], "indices": [1, 3, 0]}
    if damage:
        lists.update(damage)
    rows = {0: ints(0, 1), 2: [
        {0: i8(0), 1: i32(2)},
        {0: i8(1), 2: i8(1), 3: {0: ints(*lists["segments"])},
         4: i8(3), 5: {0: Vector("B", lists["indices"])}}]}  # fmt: skip
    blocks = {0: ints(0, 1, 2, 3), 1: ints(0, 1), 2: [
        {0: i8(0), 1: i32(2)},
        {0: i8(1), 2: i8(2), 3: {0: Vector("H", [0, 1, 2])},
         4: i8(2), 5: {0: Vector("H", [1, 0])}},
        {0: i8(0), 1: i32(2)}, {0: i8(0), 1: i32(2)}]}  # fmt: skip
    tensors = [model.tensor("x", (2, 4)),
               model.tensor("rows", (2, 4), FLOAT, floats(1, 2, 3), f6=rows),
               model.tensor("blocks", (4, 4), INT8, bytes(range(1, 9)), f6=blocks),
               model.tensor("y", (2, 4))]  # fmt: skip
    model.graph(tensors, [0], [3],
                [model.op(ADD, [0, 1], [3]), model.op(ADD, [3, 2], [3])])
    return model.bytes()


def outside():
    """A weight behind the flatbuffer, as in files above 2 GB."""
    model = Model()
    model.buffers.append({1: u64(0), 2: u64(8)})
    tensors = [model.tensor("x"), model.tensor("w", buffer=1), model.tensor("y")]
    model.graph(tensors, [0], [2], [model.op(ADD, [0, 1], [2])])
    size = len(model.bytes())
    model.buffers[1][1] = u64(size)
    return model.bytes() + floats(7, 8)


def described():
    """Metadata of the Support Library, and labels in a zip behind the model."""
    model = Model()
    about = {0: "cats", 1: "tells cats from dogs", 2: "v7", 4: "somebody", 5: "MIT"}
    model.note("TFLITE_METADATA", flatbuffer(about, b"M001"))
    model.note("min_runtime_version", b"1.14.0" + bytes(10))
    unary(model, RELU, "main")
    data = BytesIO(model.bytes())
    with zipfile.ZipFile(data, "a") as archive:
        archive.writestr("labels.txt", "cat\ndog\n")
    return data.getvalue()


def language_model(cut=0, same=False):
    """A LiteRT-LM file: two models, one with a name, and a tokenizer."""
    parts = [(3, branches(), "tf_lite_prefill_decode"), (3, sparse(), None),
             (4, b"tokens" * 10, None)]  # fmt: skip
    begin, sections, data = 1 << 14, [], b""
    for kind, part, name in parts:
        pairs = [{0: "model_type", 1: i8(9), 2: {0: name}}] if name else None
        at = begin + (0 if same else len(data))
        data += part + bytes(-len(part) % 64)
        sections.append({0: pairs, 1: u64(at), 2: u64(at + len(part)), 3: i8(kind)})
    system = [{0: "authors", 1: i8(9), 2: {0: "ODML"}},
              {0: "layers", 1: i8(6), 2: {0: i32(26)}}]  # fmt: skip
    header = flatbuffer({0: {0: system}, 1: {0: sections}}, b"")
    front = b"LITERTLM" + struct.pack("<3I4xQ", 1, 4, 0, 32 + len(header)) + header
    return (front.ljust(begin, b"\0") + data)[: -cut or None]


def task():
    """A bundle of MediaPipe, with another bundle inside, and a language model's."""
    inner, outer = BytesIO(), BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("hand_detector.tflite", sparse())
    with zipfile.ZipFile(outer, "w") as archive:
        archive.writestr("hand_landmarker.task", inner.getvalue())
        archive.writestr("TF_LITE_PREFILL_DECODE", branches())
        archive.writestr("METADATA", b"\x0a\x03abc")
    return outer.getvalue()


TFLITE = {one.__name__: one for one in (
    branches, case, loop, calls, reduce, signatures, odd_tensors, sparse, outside,
    described, language_model)}  # fmt: skip


# ---- ExecuTorch ----

KERNEL, JUMP = 1, 4
NUMBER, TRUTH, TENSOR = 2, 3, 5


def value(kind, table):
    return {0: i8(kind), 1: table}


def number(n):
    return value(NUMBER, {0: Number("q", n)})


def tensor(sizes=(2,), order=None, buffer=0, planned=False, name=None, elsewhere=False):
    """A float tensor: a constant with a buffer, which is state if it is planned too."""
    more = {0: u64(0), 1: name, 2: i8(int(elsewhere))} if name else None
    order = Vector("B", order or range(len(sizes)))
    memory = {0: i32(1)} if planned else None
    return value(TENSOR, {0: i8(6), 2: ints(*sizes), 3: order, 5: i32(buffer),
                          6: memory, 9: more})  # fmt: skip


def kernel(op, *args):
    return value(KERNEL, {0: i32(op), 1: ints(*args)})


def jump(condition, to):
    return value(JUMP, {0: i32(condition), 1: i32(to)})


def plan(name, values, inputs, outputs, code=(), ops=()):
    chain = {2: list(code)} if code else None
    return {0: name, 2: values, 3: ints(*inputs), 4: ints(*outputs),
            5: [chain] if chain else [],
            6: [{0: op, 1: "out"} for op in ops]}  # fmt: skip


def executorch(plans, constants=b"", offsets=(), state=b"", inline=None):
    """A program with a segment of constants and one of initial state."""
    segments = [{0: u64(0), 1: u64(len(constants))},
                {0: u64(len(constants)), 1: u64(len(state))}]  # fmt: skip
    root = {1: list(plans), 2: [{0: data} for data in inline] if inline else None,
            4: segments, 5: {0: i32(0), 1: Vector("Q", offsets)},
            6: [{0: i32(1), 1: Vector("Q", [0, 0])}]}  # fmt: skip
    size = len(flatbuffer(root, b"ET12", bytes(24)))
    base = size + -size % 16
    front = b"eh00" + struct.pack("<IQQ", 24, size, base)
    data = flatbuffer(root, b"ET12", front)
    return data.ljust(base, b"\0") + constants + state


def methods():
    """Two methods with one weight, and one that returns a number."""
    def one(name, op):
        return plan(name, [tensor(), tensor(buffer=1), tensor()], [0], [2],
                    [kernel(0, 0, 1, 2, 2)], [op])  # fmt: skip

    return executorch([plan("a_number", [number(7)], [], [0]),
                       one("decode", "aten::mul"), one("encode", "aten::add")],
                      floats(5, 6), [0, 0])  # fmt: skip


def only_method():
    """One method with code, behind one that returns a number."""
    return executorch([
        plan("a_number", [number(7)], [], [0]),
        plan("forward", [tensor(), tensor()], [0], [1], [kernel(0, 0, 1, 1)],
             ["aten::relu"])])  # fmt: skip


def stored():
    """Constants in another order of dimensions, of state, and in another file."""
    values = [tensor(), tensor((1, 2, 1, 3), (0, 2, 3, 1), 1, name="last"),
              tensor((2,), buffer=1, planned=True, name="state"),
              tensor((2,), name="elsewhere", elsewhere=True), tensor()]  # fmt: skip
    return executorch([plan("forward", values, [0], [4], [kernel(0, 0, 2, 4, 4)],
                            ["aten::add"])],
                      floats(1, 4, 2, 5, 3, 6), [0, 0], floats(8, 9))  # fmt: skip


def old_constants():
    """Constants inside of the program, as in the first versions."""
    values = [tensor(), tensor(buffer=1, name="w"), tensor()]
    return executorch([plan("forward", values, [0], [2], [kernel(0, 0, 1, 2, 2)],
                            ["aten::add"])], inline=[b"", floats(3, 4)])  # fmt: skip


def counting():
    """A loop that counts: y = select(x, i); i = i + 1; c = i == 9; if not c, again."""
    values = [tensor(), number(0), tensor(), number(1), number(9), value(TRUTH, {})]
    return executorch([plan("forward", values, [0], [2], [
        kernel(0, 0, 1, 2, 2), kernel(1, 1, 3, 1), kernel(2, 1, 4, 5), jump(5, 0)],
        ["aten::select_copy", "executorch_prim::add", "executorch_prim::eq"])])


EXECUTORCH = {one.__name__: one for one in (
    methods, only_method, stored, old_constants, counting)}  # fmt: skip
