"""Quantized models, ours and those of ONNX Runtime and OpenVINO: writes the section "Quantized models" of docs/performance.md, which it
also prints; all numbers in build/bench/quantized.json.

    build/venv/bin/python bench/quantized.py [--seconds S] [--only MODEL ...]

On two cores of an idle machine. The models are quantized by ONNX Runtime's own tool: QDQ, i8, weights by channel, calibrated on seeded
noise. Ours without frameworks, compiled without times from before for one thread and for two. All run in turn in one process; times are
the least. The document is written with default options only.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import sys

import numpy as np
import onnx
import onnxruntime
import openvino
from bound_models import bind_ours, open_onnxruntime, open_openvino
from measuring import OUT, ROOT, THREADS, processor, replace_section, times_in_turn
from onnxruntime import quantization
from onnxruntime.quantization.shape_inference import quant_pre_process

TITLE = "## Quantized models"
MODELS = ("resnet50", "mobilenetv2", "efficientnetb0", "bert_base")
TOKENS = 128
SAMPLES = 4


def make_inputs(model: pathlib.Path, seed: int) -> dict[str, np.ndarray]:
    """Normal floats, and integers from 0 to 99; an open size is 1, or of the second axis TOKENS. A mask is all ones."""
    random = np.random.default_rng(seed)
    inputs = {}
    for value in onnx.load(model, load_external_data=False).graph.input:
        tensor = value.type.tensor_type
        shape = [size.dim_value or (1 if axis == 0 else TOKENS) for axis, size in enumerate(tensor.shape.dim)]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        numbers = (
            random.standard_normal(shape)
            if dtype.kind == "f"
            else np.ones(shape)
            if "mask" in value.name
            else random.integers(0, 100, shape)
        )
        inputs[value.name] = numbers.astype(dtype)
    return inputs


class Samples(quantization.CalibrationDataReader):
    def __init__(self, model: pathlib.Path):
        self.left = [make_inputs(model, seed) for seed in range(SAMPLES)]

    def get_next(self) -> dict | None:
        return self.left.pop() if self.left else None


def quantize(name: str) -> pathlib.Path:
    """The quantized model; made once."""
    path = OUT / f"{name}_int8.onnx"
    if not path.exists():
        prepared = OUT / "prepared.onnx"
        quant_pre_process(ROOT / f"build/models/{name}.onnx", prepared, skip_symbolic_shape=True)
        quantization.quantize_static(
            prepared,
            path,
            Samples(prepared),
            quant_format=quantization.QuantFormat.QDQ,
            activation_type=quantization.QuantType.QInt8,
            weight_type=quantization.QuantType.QInt8,
            per_channel=True,
        )
    return path


def measure_model(name: str, threads: int, seconds: float) -> dict:
    print(f"{name}, {threads} threads", file=sys.stderr, flush=True)
    model, real = quantize(name), ROOT / f"build/models/{name}.onnx"
    inputs = make_inputs(real, SAMPLES)
    shapes = [f"--shape={name}={'x'.join(map(str, value.shape))}" for name, value in inputs.items()]
    ours, ours_f32 = (bind_ours(one, OUT / f"{one.stem}.so", threads, *shapes) for one in (model, real))
    theirs = open_onnxruntime(model, threads)
    request = open_openvino(model, threads, inputs)  # in bf16 it refuses some of these models
    runs = {
        "ours": lambda: ours.run(inputs),
        "ours f32": lambda: ours_f32.run(inputs),
        "ONNX Runtime": lambda: theirs.run(None, inputs),
        "OpenVINO": request.infer,
    }
    times = {label: 1e3 * min(one) for label, one in times_in_turn(runs, seconds).items()}
    got, want = list(ours.run(inputs).values()), theirs.run(None, inputs)
    difference = max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(got, want, strict=True))
    return {"model": name, "threads": threads, "ms": times, "difference": difference}


def section(report: dict) -> list[str]:
    lines = [
        TITLE,
        "",
        f"ONNX Runtime {onnxruntime.__version__}, OpenVINO {openvino.__version__}, two cores of {report['processor']}. Written by `bench/quantized.py`: models quantized by ONNX",
        "Runtime's tool (QDQ, i8, weights by channel), without frameworks, against both in turn in one process; least times. Difference: the largest to ONNX Runtime's",
        "output, relative to its largest element; weights and calibration are random, so that single steps grow from layer to layer (precision.md).",
        f"Load average before the measurement: {report['load_before']:.1f}.",
        "",
    ]
    labels = ("ours", "ours f32", "ONNX Runtime", "OpenVINO")
    header = "| model | " + " | ".join(f"{label}, ms" for label in labels)
    header += " | the better one's / ours | our f32 / ours | difference |"
    for threads in THREADS:
        lines += [
            f"### {threads} thread{'s' if threads > 1 else ''}, quantized",
            "",
            header,
            "|---" * (header.count("|") - 1) + "|",
        ]
        ratios = []
        for model in (model for model in report["models"] if model["threads"] == threads):
            ms = model["ms"]
            ratios.append(min(ms["ONNX Runtime"], ms["OpenVINO"]) / ms["ours"])
            cells = [model["model"], *(f"{ms[label]:.2f}" for label in labels)]
            cells += [f"{ratios[-1]:.2f}", f"{ms['ours f32'] / ms['ours']:.2f}", f"{model['difference']:.1e}"]
            lines.append("| " + " | ".join(cells) + " |")
        mean = statistics.geometric_mean(ratios)
        lines += [f"| geometric mean | | | | | **{mean:.2f}** | | |", ""]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=5, help="of each comparison")
    parser.add_argument("--only", nargs="+", choices=MODELS, default=list(MODELS), metavar="MODEL")
    arguments = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    report = {"processor": processor(), "load_before": os.getloadavg()[0]}
    report["models"] = [
        measure_model(name, threads, arguments.seconds) for threads in THREADS for name in arguments.only
    ]
    (OUT / "quantized.json").write_text(json.dumps(report, indent=1) + "\n")
    lines = section(report)
    print("\n".join(lines))
    if arguments == parser.parse_args([]):
        replace_section(TITLE, lines)


if __name__ == "__main__":
    main()
