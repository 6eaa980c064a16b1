"""Models of operators that move, choose and add where their data say: one region of ours without frameworks, against the peers.

    PYTHONPATH=tests/support build/venv/bin/python bench/irregular_models.py [--seconds S] [--only WORD] [--print]

A block of a mixture of experts, optical flow by correlation of all pairs, a network on a graph and a decoder whose loop over tokens is in the
model. Compiled without times from before. All run in turn in one process; times are the least. Writes the section "Models of irregular operators" of
docs/performance.md.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import pathlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime
import openvino
from bound_models import bind_ours, open_onnxruntime, open_openvino
from control_flow_models import save_decoder
from measuring import BIN, OUT, THREADS, json_of, processor, table_arguments, times_in_turn, write_table
from onnx import numpy_helper, parser

TITLE = "## Models of irregular operators"
HEADER = '<ir_version: 10, opset_import: ["": 20]>'
Array = np.ndarray
random = np.random.default_rng(3)


@dataclass
class Model:
    """Inputs by name, and where the model is."""

    path: pathlib.Path
    given: dict[str, Array]


def normal(*sizes: int) -> Array:
    return random.standard_normal(sizes, np.float32)


def weight(*sizes: int) -> Array:
    """Keeps the size of what it is multiplied with: the last axis is what it gives."""
    return normal(*sizes) / np.float32(math.sqrt(math.prod(sizes[:-1])))


def kernel(out: int, *sizes: int) -> Array:
    return normal(out, *sizes) / np.float32(math.sqrt(math.prod(sizes)))


def save(name: str, signature: str, lines: list[str], constants: dict[str, Array]) -> pathlib.Path:
    """A model in ONNX's own notation."""
    model = parser.parse_model(f"{HEADER}\n{name} {signature}\n{{\n" + "\n".join(lines) + "\n}")
    model.graph.initializer.extend(numpy_helper.from_array(array, key) for key, array in constants.items())
    path = OUT / f"{name}.onnx"
    onnx.save(model, path)
    return path


def mixture_of_experts(tokens: int = 128, width: int = 512, hidden: int = 1024, experts: int = 8) -> Model:
    """Each token's two best experts, as exports write it: all experts compute, and the gates of the others are 0."""
    lines = [
        "scores = MatMul (x, router)",
        "best, which = TopK <axis = -1> (scores, two)",
        "shares = Softmax <axis = -1> (best)",
        "gates = ScatterElements <axis = 1> (none, which, shares)",
        'wide = Einsum <equation = "td,edh->teh"> (x, up)',
        "active = Gelu (wide)",
        'narrow = Einsum <equation = "teh,ehd->ted"> (active, down)',
        'mixed = Einsum <equation = "ted,te->td"> (narrow, gates)',
        "y = Add (x, mixed)",
    ]
    constants = {
        "router": weight(width, experts),
        "up": normal(experts, width, hidden) / np.float32(math.sqrt(width)),
        "down": normal(experts, hidden, width) / np.float32(math.sqrt(hidden)),
        "none": np.zeros((tokens, experts), np.float32),
        "two": np.array([2]),
    }
    size = f"{tokens}, {width}"
    path = save("mixture_of_experts", f"(float[{size}] x) => (float[{size}] y)", lines, constants)
    return Model(path, {"x": normal(tokens, width)})


def looked_up(step: int) -> Iterator[str]:
    """The correlations of each place with the surroundings of where it is believed to be."""
    yield f"at{step} = Add (origins, flow{step})"
    yield f"rows{step} = Reshape (at{step}, per_place)"
    yield f"around{step} = Add (rows{step}, offsets)"
    yield f"halves{step} = Mul (around{step}, scale)"
    yield f"grid{step} = Sub (halves{step}, one)"
    yield f"seen{step} = GridSample <align_corners = 1> (pairs, grid{step})"
    yield f"flat{step} = Reshape (seen{step}, of_places)"
    yield f"turned{step} = Transpose <perm = [1, 0]> (flat{step})"
    yield f"found{step} = Reshape (turned{step}, as_picture)"


def optical_flow(height: int = 192, width: int = 256, channels: int = 64, steps: int = 4) -> Model:
    """Features of both pictures at an eighth of their size, correlations of all pairs, and steps that look up and correct the flow."""
    rows, columns, radius = height // 8, width // 8, 3
    places, side = rows * columns, 2 * radius + 1
    lines, constants = [], {}
    sizes = (3, 32, 48, channels)
    for i in range(3):
        constants[f"k{i}"] = kernel(sizes[i + 1], sizes[i], 3, 3)
    for picture in "ab":
        for i in range(3):
            before = picture if i == 0 else f"{picture}r{i - 1}"
            lines.append(f"{picture}c{i} = Conv <strides = [2, 2], pads = [1, 1, 1, 1]> ({before}, k{i})")
            lines.append(f"{picture}r{i} = Relu ({picture}c{i})")
    lines += [
        'all = Einsum <equation = "bchw,bcij->bhwij"> (ar2, br2)',
        "pairs = Reshape (all, of_pairs)",
        "flow0 = Identity (still)",
    ]
    for step in range(steps):
        lines += looked_up(step)
        lines += [
            f"known{step} = Concat <axis = 1> (found{step}, ar2, flow{step})",
            f"h{step} = Conv <pads = [1, 1, 1, 1]> (known{step}, hidden)",
            f"g{step} = Tanh (h{step})",
            f"d{step} = Conv <pads = [1, 1, 1, 1]> (g{step}, change)",
            f"flow{step + 1} = Add (flow{step}, d{step})",
        ]
    lines.append(f'y = Resize <mode = "linear"> (flow{steps}, , eightfold)')
    x, y = np.meshgrid(np.arange(columns), np.arange(rows))
    dx, dy = np.meshgrid(np.arange(-radius, radius + 1), np.arange(-radius, radius + 1))
    constants |= {
        "origins": np.stack([x, y])[None].astype(np.float32),
        "offsets": np.stack([dx, dy], axis=-1)[None].astype(np.float32),
        "scale": np.array([2 / (columns - 1), 2 / (rows - 1)], np.float32),
        "one": np.array(1, np.float32),
        "per_place": np.array([places, 1, 1, 2]),
        "of_places": np.array([places, side * side]),
        "as_picture": np.array([1, side * side, rows, columns]),
        "of_pairs": np.array([places, 1, rows, columns]),
        "still": np.zeros((1, 2, rows, columns), np.float32),
        "hidden": kernel(96, side * side + channels + 2, 3, 3),
        "change": kernel(2, 96, 3, 3),
        "eightfold": np.array([1, 1, 8, 8], np.float32),
    }
    size = f"{height}, {width}"
    signature = f"(float[1, 3, {size}] a, float[1, 3, {size}] b) => (float[1, 2, {size}] y)"
    path = save("optical_flow", signature, lines, constants)
    return Model(path, {"a": normal(1, 3, height, width), "b": normal(1, 3, height, width)})


def graph_network(nodes: int = 2048, edges: int = 8192, width: int = 64, layers: int = 3) -> Model:
    """Messages along edges, added where they arrive: by ScatterElements in even layers and by ScatterND in odd ones, as exporters differ."""
    lines = [
        "from_column = Unsqueeze (from, last)",
        "to_column = Unsqueeze (to, last)",
        "to_all = Expand (to_column, sizes)",
    ]
    constants: dict[str, Array] = {
        "last": np.array([1]),
        "sizes": np.array([edges, width]),
        "nothing": np.zeros((nodes, width), np.float32),
    }
    for i in range(layers):
        constants |= {
            f"message{i}": weight(2 * width + 16, 2 * width),
            f"message_out{i}": weight(2 * width, width),
            f"update{i}": weight(2 * width, width),
        }
        add = (
            f'ScatterElements <axis = 0, reduction = "add"> (nothing, to_all, said{i})'
            if i % 2 == 0
            else f'ScatterND <reduction = "add"> (nothing, to_column, said{i})'
        )
        lines += [
            f"s{i} = Gather <axis = 0> (x{i}, from)",
            f"t{i} = Gather <axis = 0> (x{i}, to)",
            f"e{i} = Concat <axis = 1> (s{i}, t{i}, features)",
            f"m{i} = MatMul (e{i}, message{i})",
            f"r{i} = Relu (m{i})",
            f"said{i} = MatMul (r{i}, message_out{i})",
            f"heard{i} = {add}",
            f"both{i} = Concat <axis = 1> (x{i}, heard{i})",
            f"u{i} = MatMul (both{i}, update{i})",
            f"v{i} = Tanh (u{i})",
            f"x{i + 1} = Add (x{i}, v{i})",
        ]
    lines.append(f"y = ReduceMean <keepdims = 0> (x{layers}, first)")
    constants["first"] = np.array([0])
    signature = (
        f"(float[{nodes}, {width}] x0, float[{edges}, 16] features, int64[{edges}] from, int64[{edges}] to)"
        f" => (float[{width}] y)"
    )
    path = save("graph_network", signature, lines, constants)
    ends = {name: random.integers(0, nodes, edges) for name in ("from", "to")}
    return Model(path, {"x0": normal(nodes, width), "features": normal(edges, 16), **ends})


def decoder(width: int = 256, words: int = 4096, length: int = 128) -> Model:
    path = pathlib.Path(save_decoder(OUT / "decoder.onnx", width=width, words=words, length=length))
    return Model(path, {"steps": np.array(length), "first": np.array([1])})


MODELS: dict[str, Callable[[], Model]] = {
    "mixture of experts": mixture_of_experts,
    "optical flow": optical_flow,
    "graph network": graph_network,
    "decoder": decoder,
}


def measure(model: Model, threads: int, seconds: float) -> list[str]:
    """The cells of a row after its names."""
    program = model.path.with_suffix(f".{threads}.so")
    ours = bind_ours(model.path, program, threads)
    theirs = open_onnxruntime(model.path, threads)
    runs = {"ours": lambda: ours.run(model.given), "onnxruntime": lambda: theirs.run(None, model.given)}
    with contextlib.suppress(RuntimeError):  # a model that it refuses
        runs["openvino"] = open_openvino(model.path, threads, model.given).infer
    ms = {name: 1e3 * min(times) for name, times in times_in_turn(runs, seconds).items()}
    regions = len(json_of(BIN / "intarsia", "explain", program, "--json")["regions"])
    best = min(time for name, time in ms.items() if name != "ours")
    cells = [f"{ms[name]:.2f}" if name in ms else "" for name in ("ours", "onnxruntime", "openvino")]
    return [str(regions), *cells, f"{best / ms['ours']:.2f}"]


def rows(arguments: argparse.Namespace) -> Iterator[list[str]]:
    for name, make in MODELS.items():
        if arguments.only not in name:
            continue
        model = make()
        for threads in THREADS:
            yield [name, str(threads), *measure(model, threads, arguments.seconds)]


def main() -> None:
    arguments = table_arguments(__doc__, 5, "models whose name")
    begin = [
        f"Ours without frameworks, ONNX Runtime {onnxruntime.__version__} and OpenVINO {openvino.__version__} (f32) in turn, on {processor()}; least",
        "times, in ms. Written by `bench/irregular_models.py`, which makes the models.",
        "",
        "| model | threads | regions | ours | ONNX Runtime | OpenVINO | the better one's / ours |",
        "|---|---|---|---|---|---|---|",
    ]
    write_table(TITLE, begin, rows(arguments), arguments.print)


if __name__ == "__main__":
    main()
