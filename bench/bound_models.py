"""Shared by the scripts that compare runs within one process: a model compiled and bound by us, or open in a peer."""

from __future__ import annotations

import pathlib
import subprocess
import tempfile

import intarsia
import numpy as np
import onnxruntime
import openvino
from measuring import BIN


def bind_ours(model: pathlib.Path, program: pathlib.Path, threads: int, *options: str) -> intarsia.Session:
    """Compiled to `program` without frameworks and without times from before."""
    with tempfile.TemporaryDirectory() as cache:
        fixed = ["--fallback", "none", "--threads", str(threads), "--cache", cache, "-q"]
        subprocess.run([BIN / "intarsia", "compile", model, "-o", program, *fixed, *options], check=True)
    return intarsia.load(program).bind(threads=threads)


def open_onnxruntime(model: pathlib.Path, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def open_openvino(
    model: pathlib.Path, threads: int, inputs: dict[str, np.ndarray], precision: str = "f32"
) -> openvino.InferRequest:
    """For the sizes of these inputs, which it has; `infer()` runs it. `precision` is that of what is not quantized."""
    core = openvino.Core()
    read = core.read_model(model)
    read.reshape({label: value.shape for label, value in inputs.items()})
    hints = {
        "INFERENCE_PRECISION_HINT": precision,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads,
    }
    request = core.compile_model(read, "CPU", hints).create_infer_request()
    for label, value in inputs.items():
        request.set_tensor(label, openvino.Tensor(value))
    return request
