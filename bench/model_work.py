"""What a model has to compute: its layers and their multiply-adds.

A layer is a product or convolution with everything that follows it up to the next one, so that runtimes that fuse differently can
be compared layer by layer. Taken from what the compiler knows after folding constants, with open sizes of inputs bound to 1: there every shape is a number.
"""

from __future__ import annotations

import dataclasses
import math
import pathlib
import re
import subprocess

import onnx

INTARSIA = pathlib.Path(__file__).resolve().parent.parent / "build/bin/intarsia"
NAME = r'(?:"(?:[^"\\]|\\.)*"|[^\s,():"]+)'
VALUE = re.compile(rf"%({NAME}) : (\w+)\[([\d,]*)\]")
NODE = re.compile(rf'^(?:%{NAME} : [^%]*?(?:, )?)+ = ([\w.]+)\((.*?)\)(?: \{{.*?\}})?(?: "(.*)")?$')
OPERAND = re.compile(rf"%({NAME})")
MOVEMENT = {"Transpose", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Cast", "Identity"}
NOT_COUNTED = {"ConvTranspose", "Einsum", "LSTM", "GRU", "RNN", "Attention"}


@dataclasses.dataclass
class Layer:
    name: str  # of the source node, or of its output if it has none
    operator: str
    multiply_adds: int
    shape: list[int]  # of its output
    weights: list[int]  # shape of the second operand


class ModelWork:
    """`layers` in the order of the model; `layer_of` gives the layer of each name of a node or value
    (None: before the first)."""

    def __init__(self, model: pathlib.Path):
        self.layers: list[Layer] = []
        self.layer_of: dict[str, int | None] = {}
        self.movement: set[str] = set()  # nodes that compute nothing
        command = [
            INTARSIA,
            "compile",
            model,
            "--stop-after",
            "infer_types",
            "--print-after",
            "infer_types",
            *bound_shapes(model),
        ]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        shapes: dict[str, list[int]] = {}
        for line in text[text.index("# after infer_types") :].splitlines():
            for name, _, sizes in VALUE.findall(line.split(" = ")[0]):
                shapes[unquote(name)] = [int(size) for size in sizes.split(",") if size]
            if node := NODE.match(line):
                self._add_node(line, node, shapes)

    def _add_node(self, line: str, node: re.Match, shapes: dict[str, list[int]]) -> None:
        operator = node[1].split(".")[0]
        outputs = [unquote(name) for name, _, _ in VALUE.findall(line.split(" = ")[0])]
        inputs = [unquote(name) for name in OPERAND.findall(node[2])]
        name = node[3] or outputs[0]
        if operator in NOT_COUNTED:
            raise ValueError(f"{name}: multiply-adds of {operator} are not counted")
        if operator in ("Conv", "MatMul", "Gemm"):
            output, weights = shapes[outputs[0]], shapes[inputs[1]]
            # A product of [..., K] with [K, N] takes K per output, of which there are N in a row; so does a convolution.
            depth = math.prod(weights[1:]) if operator == "Conv" else math.prod(weights[-2:]) // output[-1]
            self.layers.append(Layer(name, operator, math.prod(output) * depth, output, weights))
            layer = len(self.layers) - 1
        else:
            earlier = [self.layer_of[one] for one in inputs if self.layer_of.get(one) is not None]
            layer = max(earlier, default=None)
        for one in (name, *outputs):
            self.layer_of[one] = layer
        if operator in MOVEMENT:
            self.movement.update((name, *outputs))

    @property
    def multiply_adds(self) -> int:
        return sum(layer.multiply_adds for layer in self.layers)


def bound_shapes(model: pathlib.Path) -> list[str]:
    """Options that bind the open sizes of the inputs to 1, the batch of what is measured."""
    options = []
    for value in onnx.load(model, load_external_data=False).graph.input:
        sizes = [str(size.dim_value or 1) for size in value.type.tensor_type.shape.dim]
        options += ["--shape", f"{value.name}={'x'.join(sizes)}"]
    return options


def unquote(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name[1:-1]) if name.startswith('"') else name
