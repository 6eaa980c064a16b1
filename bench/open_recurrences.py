"""Recurrent layers of open length and batch, one thread: one program of ours for all sizes, against programs for one size
and ONNX Runtime, as a Markdown table.

    build/venv/bin/python bench/open_recurrences.py [--seconds S]

A model is one layer with as many inputs as units that returns the outputs of all steps and the last h. All run in turn in
one process; times are the least of all runs, in ms; a ratio above 1 means that the open program is faster.
"""

from __future__ import annotations

import argparse
import pathlib

import intarsia
import numpy as np
import onnxruntime
from measuring import OUT
from open_sizes import time_in_turn

import onnx
from onnx import TensorProto, helper, numpy_helper

GATES = {"LSTM": 4, "GRU": 3}
STEPS, BATCHES = 50, (1, 2, 3, 5, 8, 32)


def save_model(path: pathlib.Path, op: str, units: int) -> None:
    random = np.random.default_rng(1)

    def weights(name: str, *shape: int):
        values = random.standard_normal(shape) / np.sqrt(units)
        return numpy_helper.from_array(values.astype(np.float32), name)

    rows = GATES[op] * units
    graph = helper.make_graph(
        [helper.make_node(op, ["x", "w", "r", "b"], ["y", "h"], hidden_size=units)],
        "recurrent",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["steps", "batch", units])],
        [
            helper.make_tensor_value_info("y", TensorProto.FLOAT, ["steps", 1, "batch", units]),
            helper.make_tensor_value_info("h", TensorProto.FLOAT, [1, "batch", units]),
        ],
        [weights("w", 1, rows, units), weights("r", 1, rows, units), weights("b", 1, 2 * rows)],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def runner(model: pathlib.Path, shape: tuple):
    """A function that runs a program of ours without frameworks."""
    program = OUT / "recurrence.so"
    intarsia.compile(model, shapes={"x": shape}, fallback="none", threads=1).save(program)
    return intarsia.load(program).bind(threads=1).run


def measure(op: str, units: int, seconds: float) -> None:
    model = OUT / "recurrence.onnx"
    save_model(model, op, units)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    theirs = onnxruntime.InferenceSession(str(model), settings, providers=["CPUExecutionProvider"])
    ours = runner(model, (None, None, units))
    for batch in BATCHES:
        runs = {
            "open": ours,
            "fixed": runner(model, (STEPS, batch, units)),
            "theirs": lambda given: theirs.run(None, given),
        }
        x = np.random.default_rng(2).standard_normal((STEPS, batch, units)).astype("float32")
        best = time_in_turn(runs, {"x": x}, seconds)
        print(
            f"| {op} | {units} | {batch} | {best['open']:.3f} | {best['fixed']:.3f} | {best['theirs']:.3f} |"
            f" {best['fixed'] / best['open']:.2f} | {best['theirs'] / best['open']:.2f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=2, help="time for each size (default: 2)")
    options = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    print("| layer | units | batch | open | fixed | ONNX Runtime | fixed / open | ONNX Runtime / open |")
    print("|---|---|---|---|---|---|---|---|")
    for op in GATES:
        for units in (64, 256):
            measure(op, units, options.seconds)


if __name__ == "__main__":
    main()
