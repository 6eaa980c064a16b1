"""Models of open sizes, in the operators that exporters write, with random weights: an encoder, a decoder, an LSTM, a segmenter, a signal's
convolutions, a perceptron; and models of pictures with open heights and widths."""

from __future__ import annotations

import pathlib

import numpy as np

import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH, HEADS, LAYERS, WORDS, POSITIONS = 768, 12, 4, 1000, 1024


class Graph:
    """Nodes and constants of a model in the making."""

    def __init__(self) -> None:
        self.nodes: list = []
        self.constants: dict[str, np.ndarray] = {}
        self.random = np.random.default_rng(1)

    def node(self, op: str, inputs: list[str], output: str, **attributes: object) -> str:
        self.nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    def weights(self, name: str, *shape: int) -> str:
        rows = np.prod(shape[1:]) if len(shape) == 4 else shape[-2] if len(shape) > 1 else shape[0]
        self.constants[name] = (self.random.standard_normal(shape) / np.sqrt(rows)).astype("float32")
        return name

    def number(self, name: str, value: object) -> str:
        self.constants[name] = np.array(value, "float32" if isinstance(value, float) else "int64")
        return name

    def numbers(self, **values: object) -> None:
        for name, value in values.items():
            self.number(name, value)

    def model(self, inputs: dict, outputs: dict) -> onnx.ModelProto:
        """Ports are name -> (type, shape)."""
        ports = [
            [helper.make_tensor_value_info(name, *port) for name, port in side.items()]
            for side in (inputs, outputs)
        ]
        constants = [numpy_helper.from_array(value, name) for name, value in self.constants.items()]
        graph = helper.make_graph(self.nodes, "graph", *ports, constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


class Transformer(Graph):
    """Layers of attention over words and their positions."""

    def __init__(self, width: int = WIDTH, layers: int = LAYERS) -> None:
        super().__init__()
        self.width, self.layers = width, layers
        self.numbers(
            zero=[0],
            second=[1],
            middle=[1, 2],
            head_sizes=[HEADS, width // HEADS],
            width=[width],
            one=1.0,
            low=-1e4,
            scale=0.125,
        )
        self.node("Shape", ["ids"], "shape")
        self.node("Concat", ["shape", "head_sizes"], "split", axis=0)
        self.node("Concat", ["shape", "width"], "merged", axis=0)
        self.node("Gather", ["shape", "second"], "length")
        self.node("Gather", [self.weights("words", WORDS, width), "ids"], "word")
        self.weights("positions", POSITIONS, width)

    def dense(self, name: str, x: str, rows: int, columns: int) -> str:
        product = self.node("MatMul", [x, self.weights(f"{name}_w", rows, columns)], f"{name}_p")
        return self.node("Add", [product, self.weights(f"{name}_b", columns)], f"{name}_y")

    def norm(self, name: str, x: str, added: str) -> str:
        total = self.node("Add", [x, added], f"{name}_sum")
        scale, shift = self.weights(f"{name}_s", self.width), self.weights(f"{name}_t", self.width)
        return self.node("LayerNormalization", [total, scale, shift], f"{name}_y")

    def heads(self, name: str, x: str, order: list[int]) -> str:
        split = self.node("Reshape", [self.dense(name, x, self.width, self.width), "split"], f"{name}_split")
        return self.node("Transpose", [split], f"{name}_heads", perm=order)

    def keys_and_values(self, name: str, x: str) -> tuple[str, str]:
        """Keys as columns, and values."""
        return self.heads(f"{name}_k", x, [0, 2, 3, 1]), self.heads(f"{name}_v", x, [0, 2, 1, 3])

    def mask(self, name: str, scores: str) -> str:
        return self.node("Add", [scores, "penalty"], f"{name}_masked")

    def layer(self, name: str, x: str) -> str:
        queries = self.heads(f"{name}_q", x, [0, 2, 1, 3])
        keys, values = self.keys_and_values(name, x)
        scores = self.node("MatMul", [queries, keys], f"{name}_scores")
        scaled = self.node("Mul", [scores, "scale"], f"{name}_scaled")
        parts = self.node("Softmax", [self.mask(name, scaled)], f"{name}_parts", axis=-1)
        mixed = self.node("MatMul", [parts, values], f"{name}_mixed")
        rows = self.node("Transpose", [mixed], f"{name}_rows", perm=[0, 2, 1, 3])
        joined = self.node("Reshape", [rows, "merged"], f"{name}_joined")
        x = self.norm(f"{name}_n", self.dense(f"{name}_o", joined, self.width, self.width), x)
        wide = self.node("Gelu", [self.dense(f"{name}_u", x, self.width, 4 * self.width)], f"{name}_gelu")
        return self.norm(f"{name}_m", self.dense(f"{name}_d", wide, 4 * self.width, self.width), x)

    def all_layers(self, x: str) -> str:
        for number in range(self.layers):
            x = self.layer(f"layer{number}", x)
        return x


class Encoder(Transformer):
    """Any number of texts of any length, with a padding mask."""

    def model(self) -> onnx.ModelProto:
        self.node("Slice", ["positions", "zero", "length", "zero"], "position")
        self.node("Unsqueeze", ["mask", "middle"], "mask4")
        self.node("Cast", ["mask4"], "kept", to=TensorProto.FLOAT)
        self.node("Sub", ["one", "kept"], "lost")
        self.node("Mul", ["lost", "low"], "penalty")
        x = self.all_layers(self.node("Add", ["word", "position"], "x"))
        self.node("Identity", [x], "y")
        sizes = ["batch", "length"]
        return super().model(
            {name: (TensorProto.INT64, sizes) for name in ("ids", "mask")},
            {"y": (TensorProto.FLOAT, [*sizes, self.width])},
        )


class Decoder(Transformer):
    """One new word of a text, whose keys and values so far are inputs and, with its own, outputs."""

    rows_axis = 2

    def past_shape(self, rows: str) -> list:
        return [1, HEADS, rows, self.width // HEADS]

    def keys_and_values(self, name: str, x: str) -> tuple[str, str]:
        for kind in ("keys", "values"):
            new = self.heads(f"{name}_new_{kind}", x, [0, 2, 1, 3])
            self.node("Concat", [f"{name}_past_{kind}", new], f"{name}_{kind}", axis=2)
        return self.node(
            "Transpose", [f"{name}_keys"], f"{name}_columns", perm=[0, 1, 3, 2]
        ), f"{name}_values"

    def mask(self, name: str, scores: str) -> str:
        return scores

    def model(self) -> onnx.ModelProto:
        self.node("Shape", ["layer0_past_keys"], "past_shape")
        self.node("Gather", ["past_shape", self.number("rows_axis", [self.rows_axis])], "past")
        self.node("Add", ["past", "length"], "all")
        self.node("Slice", ["positions", "past", "all", "zero"], "position")
        x = self.all_layers(self.node("Add", ["word", "position"], "x"))
        self.node("MatMul", [x, self.weights("to_words", self.width, WORDS)], "y")
        names = [f"layer{number}_{{}}{kind}" for number in range(self.layers) for kind in ("keys", "values")]
        past, present = ((TensorProto.FLOAT, self.past_shape(rows)) for rows in ("past", "past + 1"))
        return Graph.model(
            self,
            {"ids": (TensorProto.INT64, [1, 1])} | {name.format("past_"): past for name in names},
            {"y": (TensorProto.FLOAT, [1, 1, WORDS])} | {name.format(""): present for name in names},
        )


class RowsDecoder(Decoder):
    """A decoder whose past has the words before the heads, so that a new word's keys and values follow those so far."""

    rows_axis = 1

    def past_shape(self, rows: str) -> list:
        return [1, rows, HEADS, self.width // HEADS]

    def keys_and_values(self, name: str, x: str) -> tuple[str, str]:
        columns = []
        for kind, order in (("keys", [0, 2, 3, 1]), ("values", [0, 2, 1, 3])):
            new = self.dense(f"{name}_new_{kind}", x, self.width, self.width)
            split = self.node("Reshape", [new, "split"], f"{name}_{kind}_split")
            self.node("Concat", [f"{name}_past_{kind}", split], f"{name}_{kind}", axis=1)
            columns.append(self.node("Transpose", [f"{name}_{kind}"], f"{name}_{kind}_t", perm=order))
        return columns[0], columns[1]


def lstm(width: int = 256, layers: int = 2) -> onnx.ModelProto:
    """Texts of any length: an embedding, layers in both directions, and scores for each word."""
    graph = Graph()
    graph.numbers(joined=[0, 0, 2 * width], zero=[0])
    x = graph.node("Gather", [graph.weights("words", WORDS, width), "ids"], "word")
    for number in range(layers):
        name, size = f"layer{number}", width if number == 0 else 2 * width
        given = [graph.weights(f"{name}_{kind}", 2, 4 * width, n) for kind, n in (("w", size), ("r", width))]
        states = graph.node(
            "LSTM", [x, *given], f"{name}_states", hidden_size=width, direction="bidirectional"
        )
        rows = graph.node("Transpose", [states], f"{name}_rows", perm=[0, 2, 1, 3])
        x = graph.node("Reshape", [rows, "joined"], f"{name}_y")
    graph.node("MatMul", [x, graph.weights("to_tags", 2 * width, 32)], "y")
    return graph.model(
        {"ids": (TensorProto.INT64, ["length", "batch"])},
        {"y": (TensorProto.FLOAT, ["length", "batch", 32])},
    )


def signal() -> onnx.ModelProto:
    """Features of a signal of any length, as speech recognition begins."""
    graph = Graph()
    x, before = "x", 1
    for number, (width, kernel, stride) in enumerate(((64, 10, 5), (128, 3, 2), (128, 3, 2), (256, 3, 2))):
        given = [graph.weights(f"w{number}", width, before, kernel), graph.weights(f"b{number}", width)]
        sums = graph.node("Conv", [x, *given], f"sums{number}", strides=[stride])
        x, before = graph.node("Relu", [sums], f"y{number}"), width
    rows = graph.node("Transpose", [x], "rows", perm=[0, 2, 1])
    scales = [graph.weights("scale", before), graph.weights("shift", before)]
    normal = graph.node("LayerNormalization", [rows, *scales], "normal", axis=-1)
    graph.node("MatMul", [normal, graph.weights("to_scores", before, 64)], "y")
    return graph.model({"x": (TensorProto.FLOAT, [1, 1, "length"])}, {"y": (TensorProto.FLOAT, None)})


def perceptron() -> onnx.ModelProto:
    """Rows of a table: three layers, with weights as PyTorch has them."""
    graph = Graph()
    x, widths = "x", (300, 512, 512, 10)
    for number, (before, width) in enumerate(zip(widths, widths[1:], strict=False)):
        given = [graph.weights(f"w{number}", width, before), graph.weights(f"b{number}", width)]
        x = graph.node("Gemm", [x, *given], f"sums{number}", transB=1)
        x = graph.node("Relu", [x], f"y{number}") if number < 2 else graph.node("Softmax", [x], "y", axis=-1)
    return graph.model({"x": (TensorProto.FLOAT, ["batch", widths[0]])}, {"y": (TensorProto.FLOAT, None)})


def open_pictures(path: pathlib.Path) -> onnx.ModelProto:
    """The model for one picture of any height and width."""
    model = onnx.load(path)
    batch, height, width, _ = model.graph.input[0].type.tensor_type.shape.dim
    batch.dim_value = 1
    height.dim_param, width.dim_param = "height", "width"
    del model.graph.value_info[:]
    return model


class Segmenter(Graph):
    """Pictures of any height and width: blocks that halve them, and back, each result resized to the size of the one to join."""

    def convolve(self, name: str, x: str, channels: tuple[int, int], kernel: int, stride: int = 1) -> str:
        weights = self.weights(f"{name}_w", channels[1], channels[0], kernel, kernel)
        sizes = {"pads": [kernel // 2] * 4, "strides": [stride] * 2}
        sums = self.node("Conv", [x, weights, self.weights(f"{name}_b", channels[1])], f"{name}_s", **sizes)
        return self.node("Relu", [sums], f"{name}_y")

    def separable(self, name: str, x: str, channels: int) -> str:
        weights = self.weights(f"{name}_d", channels, 1, 3, 3)
        sums = self.node("Conv", [x, weights], f"{name}_f", pads=[1] * 4, group=channels)
        rest = self.convolve(f"{name}_p", self.node("Relu", [sums], f"{name}_r"), (channels, channels), 1)
        return self.node("Add", [rest, x], f"{name}_sum")

    def model(self) -> onnx.ModelProto:
        self.numbers(zero=[0], two=[2], four=[4])
        widths = [16, 32, 64, 128]
        x, before, kept = "x", 3, []
        for i, width in enumerate(widths):
            x = self.convolve(f"down{i}", x, (before, width), 3, stride=2)
            x = self.separable(f"down{i}_rest", x, width)
            kept.append(x)
            before = width
        for i, width in reversed(list(enumerate(widths[:-1]))):
            self.node("Shape", [kept[i]], f"up{i}_shape")
            self.node("Slice", [f"up{i}_shape", "two", "four"], f"up{i}_picture")
            self.node("Shape", [x], f"up{i}_from")
            self.node("Slice", [f"up{i}_from", "zero", "two"], f"up{i}_channels")
            self.node("Concat", [f"up{i}_channels", f"up{i}_picture"], f"up{i}_wanted", axis=0)
            wider = self.node(
                "Resize",
                [x, "", "", f"up{i}_wanted"],
                f"up{i}_wider",
                mode="linear",
                coordinate_transformation_mode="half_pixel",
            )
            joined = self.node("Concat", [wider, kept[i]], f"up{i}_joined", axis=1)
            x = self.convolve(f"up{i}", joined, (before + width, width), 3)
            before = width
        self.node("Conv", [x, self.weights("last", 8, before, 1, 1)], "y")
        return super().model(
            {"x": (TensorProto.FLOAT, [1, 3, "height", "width"])},
            {"y": (TensorProto.FLOAT, [1, 8, "rows", "columns"])},
        )
