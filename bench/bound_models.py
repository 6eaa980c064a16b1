"""Shared by the scripts that compare runs within one process: a model compiled and bound by us, or open in ONNX Runtime."""

from __future__ import annotations

import pathlib
import subprocess
import tempfile

import intarsia
import onnxruntime
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
