"""Single operators at typical sizes, ours and ONNX Runtime's: writes the section "Single operators" of docs/performance.md.

    build/venv/bin/python bench/operators.py [--seconds S] [--only WORD] [--print]

Each row is a model of one node. Ours is compiled by default, without frameworks, and both run in turn in one process; times are the least.
A row that our reference kernels take says so.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

import intarsia
import numpy as np
import onnx
import onnxruntime
from measuring import OUT, THREADS, processor, replace_section, times_in_turn
from onnx import helper, numpy_helper

TITLE = "## Single operators"
Array = np.ndarray
random = np.random.default_rng(1)


def normal(*sizes: int) -> Array:
    return random.standard_normal(sizes).astype(np.float32)


@dataclass
class Row:
    """A node: its inputs in order, of which those named in `constants` are part of the model."""

    op: str
    sizes: str
    inputs: dict[str, Array]
    attributes: dict[str, object] = field(default_factory=dict)
    constants: tuple[str, ...] = ()
    domain: str = ""
    opset: int = 23
    outputs: int = 1



def onnx_type(array: Array) -> int:
    return helper.np_dtype_to_tensor_dtype(array.dtype)


def save_model(row: Row) -> str:
    node = helper.make_node(
        row.op,
        list(row.inputs),
        [f"y{i}" for i in range(row.outputs)],
        "node",
        domain=row.domain,
        **row.attributes,
    )
    given = {name: array for name, array in row.inputs.items() if name and name not in row.constants}
    graph = helper.make_graph(
        [node],
        row.op,
        [helper.make_tensor_value_info(name, onnx_type(array), array.shape) for name, array in given.items()],
        [onnx.ValueInfoProto(name=name) for name in node.output],
        [numpy_helper.from_array(row.inputs[name], name) for name in row.constants],
    )
    opsets = [helper.make_opsetid("", row.opset)]
    if row.domain:
        opsets.append(helper.make_opsetid(row.domain, 1))
    path = OUT / "operator.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    return str(path)


def open_onnxruntime(model: str, threads: int) -> onnxruntime.InferenceSession | None:
    """None where it has no kernel."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception:  # ONNX Runtime has a type for each kind of failure, with no common base
        return None


def measure(row: Row, threads: int, seconds: float) -> list[str]:
    """The cells of a row after its names."""
    model = save_model(row)
    given = {name: array for name, array in row.inputs.items() if name and name not in row.constants}
    compiled = intarsia.compile(model, fallback="none", threads=threads)
    ours = compiled.load().bind(threads=threads)
    runs: dict[str, Callable[[], object]] = {"ours": lambda: ours.run(given)}
    theirs = open_onnxruntime(model, threads)
    if theirs is not None:
        runs["theirs"] = lambda: theirs.run(None, given)
    ms = {name: 1e3 * min(times) for name, times in times_in_turn(runs, seconds).items()}
    backends = sorted({region["target"].split("@")[0] for region in compiled.report["regions"]})
    cells = [f"{ms['ours']:.3f}" + ("" if backends == ["halide"] else f" ({', '.join(backends)})")]
    if theirs is None:
        return [*cells, "no kernel", ""]
    return [*cells, f"{ms['theirs']:.3f}", f"{ms['theirs'] / ms['ours']:.2f}"]


def attention() -> Row:
    heads = {name: normal(1, 12, 512, 64) for name in "qkv"}
    return Row("Attention", "12 heads, 512 x 64", heads)


def grouped_attention() -> Row:
    q, k, v = normal(1, 32, 1, 128), normal(1, 8, 1024, 128), normal(1, 8, 1024, 128)
    return Row("Attention", "32 heads of 8, 1 of 1024 x 128", {"q": q, "k": k, "v": v})


def causal_attention() -> Row:
    heads = {name: normal(1, 12, 512, 64) for name in "qkv"}
    return Row("Attention", "causal, 12 heads, 512 x 64", heads, {"is_causal": 1})


def rotary_embedding() -> Row:
    x, angles = normal(1, 12, 512, 64), normal(1, 512, 32)
    return Row("RotaryEmbedding", "12 heads, 512 x 64", {"x": x, "cos": np.cos(angles), "sin": np.sin(angles)})


def dft(length: int) -> Row:
    x = normal(16, length, 1)
    return Row("DFT", f"16 x {length}", {"x": x}, {"axis": 1, "onesided": 1}, opset=17)


def stft() -> Row:
    inputs = {
        "x": normal(1, 16000, 1),
        "step": np.array(160),
        "window": np.hanning(400).astype(np.float32),
    }
    return Row("STFT", "16000, 400 every 160", inputs, constants=("step", "window"), opset=17)


def lp_pool() -> Row:
    return Row(
        "LpPool", "1 x 64 x 112 x 112, 3 x 3", {"x": normal(1, 64, 112, 112)}, {"kernel_shape": [3, 3]}
    )


def col2im() -> Row:
    inputs = {"x": normal(1, 16 * 9, 64 * 64), "image": np.array([66, 66]), "block": np.array([3, 3])}
    return Row("Col2Im", "16 channels, 66 x 66, 3 x 3", inputs, constants=("image", "block"))


def cross_entropy() -> Row:
    inputs = {"scores": normal(256, 1000), "labels": random.integers(0, 1000, 256)}
    return Row("SoftmaxCrossEntropyLoss", "256 x 1000", inputs)


def linear_classifier() -> Row:
    attributes = {
        "coefficients": normal(10 * 64).tolist(),
        "intercepts": normal(10).tolist(),
        "classlabels_ints": list(range(10)),
        "post_transform": "SOFTMAX",
    }
    return Row(
        "LinearClassifier",
        "1000 x 64, 10 classes",
        {"x": normal(1000, 64)},
        attributes,
        domain="ai.onnx.ml",
        outputs=2,
    )


ROWS: list[Callable[[], Row]] = [
    attention,
    causal_attention,
    grouped_attention,
    rotary_embedding,
    lambda: dft(256),
    lambda: dft(1024),
    lambda: dft(4096),
    stft,
    lp_pool,
    col2im,
    cross_entropy,
    linear_classifier,
]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=1, help="of each comparison")
    parser.add_argument("--only", default="", help="rows whose operator contains this word")
    parser.add_argument("--print", action="store_true", help="print the table and write nothing")
    arguments = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    lines = [
        TITLE,
        "",
        f"A model of one node, ours compiled by default without frameworks and ONNX Runtime {onnxruntime.__version__} in turn, on {processor()};",
        "least times. `bench/operators.py` measures them.",
        "",
        "| operator | sizes | threads | ours, ms | ONNX Runtime, ms | its time / ours |",
        "|---|---|---|---|---|---|",
    ]
    for make_row in ROWS:
        row = make_row()
        if arguments.only not in row.op:
            continue
        for threads in THREADS:
            cells = [row.op, row.sizes, str(threads), *measure(row, threads, arguments.seconds)]
            lines.append("| " + " | ".join(cells) + " |")
            print(lines[-1], file=sys.stderr, flush=True)
    if arguments.print:
        print("\n".join(lines))
    else:
        replace_section(TITLE, [*lines, ""])


if __name__ == "__main__":
    main()
