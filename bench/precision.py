"""Models of f32 with products in bf16, ours and OpenVINO's: writes the section "Products in bf16" of docs/performance.md, which it also
prints; all numbers in build/bench/precision.json.

    build/venv/bin/python bench/precision.py [--seconds S] [--only MODEL ...]

On two cores of an idle machine whose processor has such products. Ours without frameworks, compiled without times from before for one
thread and for two; OpenVINO with its inference precision set. All run in turn in one process; times are the least. The document is written
with default options only.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys

import numpy as np
import openvino
from bound_models import bind_ours, open_openvino
from gap_table import random_inputs
from measuring import OUT, ROOT, THREADS, processor, replace_section, times_in_turn

TITLE = "## Products in bf16"
MODELS = ("resnet50", "mobilenetv2", "efficientnetb0", "convnext_tiny", "vit_b16", "bert_base")
PRECISIONS = ("f32", "bf16")


def difference(got: list[np.ndarray], want: list[np.ndarray]) -> float:
    """The largest of all elements, relative to the largest of their outputs."""
    return max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(got, want, strict=True))


def measure_model(name: str, threads: int, seconds: float) -> dict:
    print(f"{name}, {threads} threads", file=sys.stderr, flush=True)
    model = ROOT / f"build/models/{name}.onnx"
    inputs = random_inputs(model)
    ours = {
        precision: bind_ours(model, OUT / f"{name}_{precision}.so", threads, "--precision", precision)
        for precision in PRECISIONS
    }
    theirs = {precision: open_openvino(model, threads, inputs, precision) for precision in PRECISIONS}
    runs = {
        f"ours {precision}": lambda session=session: session.run(inputs)
        for precision, session in ours.items()
    }
    runs |= {f"OpenVINO {precision}": request.infer for precision, request in theirs.items()}
    times = {label: 1e3 * min(one) for label, one in times_in_turn(runs, seconds).items()}
    results = {precision: list(session.run(inputs).values()) for precision, session in ours.items()}
    exact = [tensor.data.copy() for tensor in theirs["f32"].output_tensors]
    rounded = [tensor.data.copy() for tensor in theirs["bf16"].output_tensors]
    return {
        "model": name,
        "threads": threads,
        "ms": times,
        "difference": {
            "ours": difference(results["bf16"], results["f32"]),
            "OpenVINO": difference(rounded, exact),
        },
    }


def section(report: dict) -> list[str]:
    lines = [
        TITLE,
        "",
        f"OpenVINO {openvino.__version__}, two cores of {report['processor']}. Written by `bench/precision.py`: `--precision bf16`, without frameworks, against OpenVINO with",
        "its inference precision set to bf16, in turn in one process; least times. Error: the largest difference to the same runtime's f32, relative to the largest element.",
        f"Load average before the measurement: {report['load_before']:.1f}.",
        "",
    ]
    header = "| model | ours f32, ms | ours bf16, ms | OpenVINO bf16, ms | OpenVINO's / ours | our f32 / ours | our error | OpenVINO's error |"
    for threads in THREADS:
        models = [model for model in report["models"] if model["threads"] == threads]
        lines += [
            f"### {threads} thread{'s' if threads > 1 else ''}, bf16",
            "",
            header,
            "|---" * (header.count("|") - 1) + "|",
        ]
        ratios = []
        for model in models:
            ms, error = model["ms"], model["difference"]
            ratios.append(ms["OpenVINO bf16"] / ms["ours bf16"])
            cells = [
                model["model"],
                *(f"{ms[label]:.2f}" for label in ("ours f32", "ours bf16", "OpenVINO bf16")),
            ]
            cells += [f"{ratios[-1]:.2f}", f"{ms['ours f32'] / ms['ours bf16']:.2f}"]
            cells += [f"{error[whose]:.1e}" for whose in ("ours", "OpenVINO")]
            lines.append("| " + " | ".join(cells) + " |")
        lines += [f"| geometric mean | | | | **{statistics.geometric_mean(ratios):.2f}** | | | |", ""]
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
    (OUT / "precision.json").write_text(json.dumps(report, indent=1) + "\n")
    lines = section(report)
    print("\n".join(lines))
    if arguments == parser.parse_args([]):
        replace_section(TITLE, lines)


if __name__ == "__main__":
    main()
