"""Products by weights of few bits, ours and ONNX Runtime's, against f32: prints the table of docs/precision.md, "Weights of few bits".

    build/venv/bin/python bench/few_bits.py [--seconds S]

MatMulNBits with blocks of 32 and zero points; f16: the product of f32 with `--precision f16`. Ours without frameworks, compiled without
times from before. All run in turn in one process; times are the least.
"""

from __future__ import annotations

import argparse
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from bound_models import bind_ours, open_onnxruntime
from measuring import OUT, THREADS, processor, times_in_turn
from onnx import TensorProto, helper, numpy_helper

BLOCK = 32
SIZES = ((1, 4096, 4096), (1, 4096, 11008), (128, 4096, 4096))


def save_product(rows: int, depth: int, columns: int, bits: int) -> pathlib.Path:
    """y = x w, with w of f32 where `bits` is 32."""
    random = np.random.default_rng(1)
    path = OUT / f"product_{rows}_{depth}_{columns}_{bits}.onnx"
    if bits == 32:
        node = helper.make_node("MatMul", ["x", "w"], ["y"], "product")
        constants = {"w": random.standard_normal((depth, columns)).astype(np.float32)}
    else:
        attributes = {"K": depth, "N": columns, "bits": bits, "block_size": BLOCK}
        node = helper.make_node(
            "MatMulNBits", ["x", "w", "s", "z"], ["y"], "product", domain="com.microsoft", **attributes
        )
        blocks = depth // BLOCK
        constants = {
            "w": random.integers(0, 256, (columns, blocks, BLOCK * bits // 8)).astype(np.uint8),
            "s": random.uniform(0.01, 0.02, columns * blocks).astype(np.float32),
            "z": random.integers(0, 256, columns * blocks * bits // 8).astype(np.uint8),
        }
    graph = helper.make_graph(
        [node],
        "product",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, depth])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, columns])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    return path


def measure(sizes: tuple[int, int, int], threads: int, seconds: float) -> dict[str, float]:
    print(sizes, threads, file=sys.stderr, flush=True)
    models = {bits: save_product(*sizes, bits) for bits in (4, 8, 32)}
    x = {"x": np.random.default_rng(2).standard_normal(sizes[:2]).astype(np.float32)}
    bits_of_ours = {bits: (model, "f32") for bits, model in models.items()} | {16: (models[32], "f16")}
    ours = {
        bits: bind_ours(
            model, model.with_suffix(f".{threads}.{precision}.so"), threads, "--precision", precision
        )
        for bits, (model, precision) in bits_of_ours.items()
    }
    theirs = {bits: open_onnxruntime(model, threads) for bits, model in models.items() if bits != 8}
    runs = {f"ours {bits}": lambda one=one: one.run(x) for bits, one in ours.items()}
    runs |= {f"ONNX Runtime {bits}": lambda one=one: one.run(None, x) for bits, one in theirs.items()}
    return {label: 1e3 * min(times) for label, times in times_in_turn(runs, seconds).items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=5, help="of each comparison")
    arguments = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    print(f"ONNX Runtime {onnxruntime.__version__}, {processor()}\n")
    print(
        "| product | threads | f32, ms | f16 | 8 bits | 4 bits | f32 / 4 bits | ONNX Runtime f32 | 4 bits | its 4 bits / ours |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for sizes in SIZES:
        for threads in THREADS:
            ms = measure(sizes, threads, arguments.seconds)
            cells = ["x".join(map(str, sizes)), str(threads)]
            cells += [f"{ms[f'ours {bits}']:.2f}" for bits in (32, 16, 8, 4)]
            cells += [f"{ms['ours 32'] / ms['ours 4']:.1f}", f"{ms['ONNX Runtime 32']:.2f}"]
            cells += [f"{ms['ONNX Runtime 4']:.2f}", f"{ms['ONNX Runtime 4'] / ms['ours 4']:.1f}"]
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
