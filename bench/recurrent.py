"""Recurrent layers, one thread: ours, ONNX Runtime and (unless --no-tensorflow) TensorFlow, as a Markdown table.

    build/venv/bin/python bench/recurrent.py [--seconds S] [--full] [--no-tensorflow]

A model is one layer with as many inputs as units that returns the last h of a sequence: in ONNX for `intarsia bench`, and as a
Keras layer in a tf.function of fixed shapes. TensorFlow is timed afterward in a separate process, by the same protocol.
Times are the minimum of all runs, in brackets the median.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import pathlib
import statistics
import tempfile
import time

from measuring import BIN, json_of

GATES = {"LSTM": 4, "GRU": 3}


def make_model(path: pathlib.Path, op: str, units: int, steps: int, batch: int) -> None:
    """In the form in which an exporter writes a Keras layer: batch first, transposed for the operator."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper, save

    random = np.random.default_rng(1)

    def weights(name: str, *shape: int):
        return numpy_helper.from_array(
            (random.standard_normal(shape) / np.sqrt(units)).astype(np.float32), name
        )

    attributes = {"linear_before_reset": 1} if op == "GRU" else {}
    nodes = [
        helper.make_node("Transpose", ["x"], ["by_time"], "transpose", perm=[1, 0, 2]),
        helper.make_node(op, ["by_time", "w", "r", "b"], ["", "h"], "layer", hidden_size=units, **attributes),
        helper.make_node("Squeeze", ["h", "axis"], ["y"], "squeeze"),
    ]
    rows = GATES[op] * units
    initializers = [
        weights("w", 1, rows, units),
        weights("r", 1, rows, units),
        weights("b", 1, 2 * rows),
        numpy_helper.from_array(np.array([0], np.int64), "axis"),
    ]
    graph = helper.make_graph(
        nodes,
        "recurrent",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, steps, units])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, units])],
        initializers,
    )
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def time_tensorflow(op: str, units: int, steps: int, batch: int, seconds: float) -> tuple[float, float]:
    """Minimum and median milliseconds; for a separate process."""
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
    import keras
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    layer = getattr(keras.layers, op)(units)
    x = tf.random.normal([batch, steps, units])
    layer(x)  # creates its weights
    run = tf.function(lambda x: layer(x), input_signature=[tf.TensorSpec(x.shape)])
    for _ in range(3):
        run(x).numpy()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 30 or time.perf_counter() < end:
        time.sleep(0.1)
        for _ in range(10):
            begin = time.perf_counter()
            run(x).numpy()
            times.append((time.perf_counter() - begin) * 1000)
    return min(times), statistics.median(times)


def in_own_process(function, *arguments):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def measure(op: str, units: int, steps: int, batch: int, options: argparse.Namespace) -> str:
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder) / "model.onnx"
        make_model(model, op, units, steps, batch)
        run = json_of(
            BIN / "intarsia",
            "bench",
            model,
            "--fallback",
            "none",
            "--threads",
            1,
            "-t",
            options.seconds,
            "--against",
            "onnxruntime",
            "--json",
        )
    times = [(result["min_ms"], result["median_ms"]) for result in run["results"]]
    if options.tensorflow:
        times.append(in_own_process(time_tensorflow, op, units, steps, batch, options.seconds))
    cells = [
        op,
        str(units),
        str(steps),
        str(batch),
        *(f"{least:.3f} ({median:.3f})" for least, median in times),
        *(f"{least / times[0][0]:.2f}" for least, _ in times[1:]),
    ]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=3, help="for each model and runtime (3)")
    parser.add_argument("--full", action="store_true", help="more sizes, and batches of 8")
    parser.add_argument("--no-tensorflow", dest="tensorflow", action="store_false")
    options = parser.parse_args()
    peers = ["ONNX Runtime", "TensorFlow"][: 1 + options.tensorflow]
    titles = [
        "layer",
        "units",
        "steps",
        "batch",
        "Intarsia, ms",
        *(f"{peer}, ms" for peer in peers),
        *(f"{peer} / ours" for peer in peers),
    ]
    print("| " + " | ".join(titles) + " |\n" + "|---" * len(titles) + "|")
    units = (32, 64, 128, 256, 512) if options.full else (64, 128, 256)
    for op in GATES:
        for size in units:
            for steps in (10, 50, 100, 200) if options.full else (50, 100):
                for batch in (1, 8) if options.full else (1,):
                    print(measure(op, size, steps, batch, options), flush=True)


if __name__ == "__main__":
    main()
