"""Single operators at typical sizes, ours and ONNX Runtime's: writes the section "Single operators" of docs/performance.md.

    build/venv/bin/python bench/operators.py [--seconds S] [--only WORD] [--print]

Each row is a model of one node. Ours is compiled by default, without frameworks, and both run in turn in one process, into outputs that exist;
times are the least.
A row that our reference kernels take says so.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import intarsia
import numpy as np
import onnx
import onnxruntime
from measuring import OUT, THREADS, processor, table_arguments, times_in_turn, write_table
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
    domain_version: int = 1
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
        opsets.append(helper.make_opsetid(row.domain, row.domain_version))
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


def bound_run(
    session: onnxruntime.InferenceSession, given: dict[str, Array], outputs: dict[str, Array]
) -> Callable[[], object]:
    """A run of ONNX Runtime on these inputs that fills these outputs."""
    binding = session.io_binding()
    for name, array in given.items():
        binding.bind_cpu_input(name, array)
    for name, array in outputs.items():
        binding.bind_output(name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)
    return lambda: session.run_with_iobinding(binding)


def measure(row: Row, threads: int, seconds: float) -> list[str]:
    """The cells of a row after its names."""
    model = save_model(row)
    given = {name: array for name, array in row.inputs.items() if name and name not in row.constants}
    compiled = intarsia.compile(model, fallback="none", threads=threads)
    ours = compiled.load().bind(threads=threads)
    outputs = {name: np.array(array) for name, array in ours.run(given).items()}
    runs: dict[str, Callable[[], object]] = {"ours": lambda: ours.run(given, outputs=outputs)}
    theirs = open_onnxruntime(model, threads)
    if theirs is not None:
        runs["theirs"] = bound_run(theirs, given, outputs)
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
    return Row(
        "RotaryEmbedding", "12 heads, 512 x 64", {"x": x, "cos": np.cos(angles), "sin": np.sin(angles)}
    )


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


def top_k(rows: int, length: int, k: int) -> Row:
    inputs = {"x": normal(rows, length), "k": np.array([k])}
    return Row("TopK", f"{k} of {rows} x {length}", inputs, constants=("k",), outputs=2)


def scatter_elements(reduction: str) -> Row:
    inputs = {
        "x": normal(512, 1024),
        "i": random.integers(0, 1024, (512, 256)),
        "u": normal(512, 256),
    }
    return Row(
        "ScatterElements", f"{reduction}, 512 x 256 in 1024", inputs, {"axis": 1, "reduction": reduction}
    )


def scatter_nd() -> Row:
    inputs = {"x": normal(4096, 256), "i": random.integers(0, 4096, (1024, 1)), "u": normal(1024, 256)}
    return Row("ScatterND", "1024 rows of 256 in 4096", inputs)


def tensor_scatter() -> Row:
    inputs = {"cache": normal(1, 32, 2048, 128), "u": normal(1, 32, 1, 128), "i": np.array([1000])}
    return Row("TensorScatter", "32 heads, 1 of 2048 x 128", inputs, opset=24)


def grid_sample(mode: str, padding: str) -> Row:
    grid = random.uniform(-1.1, 1.1, (1, 64, 64, 2)).astype(np.float32)
    attributes = {"mode": mode, "padding_mode": padding}
    inputs = {"x": normal(1, 64, 64, 64), "grid": grid}
    return Row("GridSample", f"{mode}, {padding}, 64 channels of 64 x 64", inputs, attributes, opset=20)


def deform_conv() -> Row:
    offsets = normal(1, 18, 28, 28)
    inputs = {"x": normal(1, 64, 28, 28), "w": normal(64, 64, 3, 3), "o": offsets}
    return Row(
        "DeformConv", "64 channels of 28 x 28, 3 x 3", inputs, {"pads": [1, 1, 1, 1]}, ("w",), opset=19
    )


def roi_align() -> Row:
    corners = random.uniform(0, 400, (256, 2, 2))
    rois = np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1).astype(np.float32)
    inputs = {"x": normal(1, 256, 50, 50), "rois": rois, "i": np.zeros(256, np.int64)}
    attributes = {"output_height": 7, "output_width": 7, "sampling_ratio": 2, "spatial_scale": 0.125}
    return Row("RoiAlign", "256 regions, 256 channels, 7 x 7", inputs, attributes, opset=16)


def max_roi_pool() -> Row:
    corners = random.uniform(0, 400, (64, 2, 2))
    rois = np.concatenate([np.zeros((64, 1)), corners.min(axis=1), corners.max(axis=1)], axis=1)
    inputs = {"x": normal(1, 256, 50, 50), "rois": rois.astype(np.float32)}
    return Row(
        "MaxRoiPool",
        "64 regions, 256 channels, 7 x 7",
        inputs,
        {"pooled_shape": [7, 7], "spatial_scale": 0.125},
        opset=16,
    )


def max_unpool() -> Row:
    places = np.arange(64 * 56 * 56).reshape(1, 64, 56, 56) * 4
    attributes = {"kernel_shape": [2, 2], "strides": [2, 2]}
    return Row("MaxUnpool", "64 channels of 56 x 56", {"x": normal(1, 64, 56, 56), "i": places}, attributes)


def trees(rows: int, count: int) -> Row:
    """Full trees of depth 6."""
    inner, leaves = 63, 64
    nodes = np.arange(inner)
    left = 2 * nodes + 1
    is_leaf = left >= inner
    base_nodes, base_leaves = np.arange(count) * inner, np.arange(count) * leaves

    def successors(side: int) -> list[int]:
        of_leaf = base_leaves[:, None] + (left - inner + side)[None, :]
        of_node = base_nodes[:, None] + (left + side)[None, :]
        return np.where(is_leaf[None, :], of_leaf, of_node).ravel().tolist()

    flags = np.tile(is_leaf, count).astype(int).tolist()
    attributes = {
        "n_targets": 1,
        "nodes_modes": numpy_helper.from_array(np.zeros(inner * count, np.uint8)),
        "nodes_splits": numpy_helper.from_array(normal(inner * count)),
        "nodes_featureids": random.integers(0, 32, inner * count).tolist(),
        "nodes_falsenodeids": successors(0),
        "nodes_truenodeids": successors(1),
        "nodes_falseleafs": flags,
        "nodes_trueleafs": flags,
        "leaf_targetids": [0] * (leaves * count),
        "leaf_weights": numpy_helper.from_array(normal(leaves * count)),
        "tree_roots": base_nodes.tolist(),
    }
    return Row(
        "TreeEnsemble",
        f"{count} trees of depth 6, {rows} x 32",
        {"x": normal(rows, 32)},
        attributes,
        domain="ai.onnx.ml",
        domain_version=5,
    )


def non_zero() -> Row:
    return Row(
        "NonZero", "1000 x 1000, a tenth", {"x": (random.random((1000, 1000)) < 0.1).astype(np.float32)}
    )


def compress() -> Row:
    inputs = {"x": normal(1000, 1000), "condition": random.random(1000) < 0.5}
    return Row("Compress", "half of 1000 rows of 1000", inputs, {"axis": 0})


def unique() -> Row:
    return Row("Unique", "100000, a thousand distinct", {"x": random.integers(0, 1000, 100000)}, outputs=4)


def non_max_suppression() -> Row:
    corner, size = random.random((1, 8400, 2)) * 600, random.random((1, 8400, 2)) * 60
    inputs = {
        "boxes": np.concatenate([corner, corner + size], axis=2).astype(np.float32),
        "scores": (random.random((1, 20, 8400)) ** 8).astype(np.float32),
        "most": np.array([100]),
        "overlap": np.array([0.5], np.float32),
        "score": np.array([0.3], np.float32),
    }
    return Row(
        "NonMaxSuppression", "20 classes of 8400 boxes", inputs, constants=("most", "overlap", "score")
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
    lambda: top_k(1, 8400, 300),
    lambda: top_k(64, 1000, 5),
    lambda: top_k(1, 100000, 1000),
    lambda: top_k(16, 32000, 50),
    lambda: scatter_elements("none"),
    lambda: scatter_elements("add"),
    scatter_nd,
    tensor_scatter,
    lambda: grid_sample("linear", "zeros"),
    lambda: grid_sample("nearest", "border"),
    lambda: grid_sample("cubic", "reflection"),
    deform_conv,
    roi_align,
    max_roi_pool,
    max_unpool,
    lambda: trees(1000, 100),
    lambda: trees(1, 500),
    non_zero,
    compress,
    unique,
    non_max_suppression,
]


def rows(arguments: argparse.Namespace) -> Iterator[list[str]]:
    for make_row in ROWS:
        row = make_row()
        if arguments.only not in row.op:
            continue
        for threads in THREADS:
            yield [row.op, row.sizes, str(threads), *measure(row, threads, arguments.seconds)]


def main() -> None:
    arguments = table_arguments(__doc__, 1, "rows whose operator")
    begin = [
        f"A model of one node, ours compiled by default without frameworks and ONNX Runtime {onnxruntime.__version__} in turn, on {processor()};",
        "into outputs that exist; least times. `bench/operators.py` measures them.",
        "",
        "| operator | sizes | threads | ours, ms | ONNX Runtime, ms | its time / ours |",
        "|---|---|---|---|---|---|",
    ]
    write_table(TITLE, begin, rows(arguments), arguments.print)


if __name__ == "__main__":
    main()
