"""TensorFlow models, ours and in TensorFlow: measures and writes the section "TensorFlow models" of docs/performance.md; all
numbers in build/bench/tensorflow.json.

    build/venv/bin/python bench/tensorflow_models.py [--seconds S] [--only MODEL ...]

For an idle machine; bench/report.py (`make bench`) calls it, too. With --only, the document stays as it is.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import sys
import tempfile

import numpy as np
from measuring import BIN, OUT, ROOT, THREADS, json_of, processor, replace_section

MODELS = ROOT / "build/models/tensorflow"
TITLE = "## TensorFlow models"
CLASSIFIERS = ("resnet50", "mobilenetv2", "inceptionv3", "efficientnetb0", "densenet121")
NO_SLOWER = 1 / 1.02  # by more than the noise
# Model -> the least ratio (TensorFlow's time / ours) at one thread that it should have.
GOALS = {
    **dict.fromkeys(CLASSIFIERS, NO_SLOWER),
    "jpeg_classifier": 1.5,
    "text_classifier": 1.0,
    "text_table": 1.0,
    "fifty_islands": NO_SLOWER,
    **dict.fromkeys(
        ("keras_lstm", "keras_gru", "keras_lstm_steps", "keras_gru_steps", "keras_bidirectional"), 1.5
    ),
    **dict.fromkeys(
        (
            "dynamic_rnn",
            "detector_head",
            "custom_op",
            "spectral",
            "unique_shapes",
            "ragged_sparse",
            "frozen",
            "frozen_v1",
        ),
        NO_SLOWER,
    ),
}
CALL_GOAL_NS = 5000


def model_path(name: str) -> pathlib.Path:
    frozen = MODELS / f"{name}.pb"
    return frozen if frozen.exists() else MODELS / name


def options_of(name: str, folder: pathlib.Path) -> tuple[list[str], list[str]]:
    """Arguments for compiling and for running: the stored inputs as files."""
    library = MODELS / f"{name}.so"
    compiling = ["--op-library", str(library)] if library.exists() else []
    running = list(compiling)
    with np.load(MODELS / f"{name}.inputs.npz") as inputs:
        for key in inputs:
            label = key.split("/", 1)[1]
            np.save(folder / f"{label}.npy", inputs[key])
            running += ["-i", f"{label}={folder / label}.npy"]
            compiling += ["--shape", f"{label}={'x'.join(map(str, inputs[key].shape)) or 'scalar'}"]
    return compiling, running


def measure_model(name: str, seconds: float) -> dict:
    """{"model","runs":{threads: report of bench with "regions" and "plan" of compile}}"""
    runs = {}
    for threads in THREADS:
        with tempfile.TemporaryDirectory() as folder:
            compiling, running = options_of(name, pathlib.Path(folder))
            program = OUT / f"tensorflow_{name}.so"
            compiled = json_of(
                BIN / "intarsia",
                "compile",
                model_path(name),
                *compiling,
                "--threads",
                threads,
                "-o",
                program,
                "--json",
            )
            run = json_of(
                BIN / "intarsia",
                "bench",
                program,
                *running,
                "--against",
                "tensorflow",
                "-t",
                seconds,
                "--json",
            )
        run["targets"] = [region["target"] for region in compiled["regions"]]
        run["plan"] = compiled["plan"]
        runs[threads] = run
        print(f"{name}, {threads} threads: {run['ratio_min']:.2f}", file=sys.stderr, flush=True)
    return {"model": name, "runs": runs}


def measure(names: list[str] | tuple[str, ...], seconds: float) -> dict:
    load = os.getloadavg()[0]
    call = json_of(BIN / "bench_tensorflow_call")
    return {
        "processor": processor(),
        "load_before": load,
        "call": call,
        "models": [measure_model(name, seconds) for name in names],
    }


def describe_regions(targets: list[str]) -> str:
    """ "1 halide, 2 tensorflow"."""
    backends = [target.split("@")[0] for target in targets]
    return ", ".join(f"{backends.count(backend)} {backend}" for backend in sorted(set(backends)))


def table(models: list[dict], threads: int) -> list[str]:
    lines = [
        "| model | regions | Intarsia, ms | TensorFlow, ms | ratio | of medians | goal | runs per second | CPU time of a run, ms | memory, MB |",
        "|---" * 10 + "|",
    ]
    for model in models:
        run = model["runs"][threads]
        ours, theirs = run["results"]

        def pair(field: str, digits: int) -> str:
            return f"{ours[field]:.{digits}f} / {theirs[field]:.{digits}f}"

        goal = f"{GOALS[model['model']]:.2f}" if threads == 1 else ""
        times = [f"{result['min_ms']:.3f} ({result['median_ms']:.3f})" for result in (ours, theirs)]
        cells = [
            model["model"],
            describe_regions(run["targets"]),
            *times,
            f"{run['ratio_min']:.2f}",
            f"{run['ratio_median']:.2f}",
            goal,
            pair("throughput_per_s", 0),
            pair("cpu_ms", 2),
            pair("peak_rss_mb", 0),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def missed_goals(report: dict) -> list[str]:
    """Lines that say what is slower than its goal: both the least and the median must reach it."""
    missed = []
    for model in report["models"]:
        ratios = [model["runs"][THREADS[0]][kind] for kind in ("ratio_min", "ratio_median")]
        if min(ratios) < GOALS[model["model"]]:
            missed.append(f"{model['model']}: {min(ratios):.2f}, goal {GOALS[model['model']]:.2f}")
    if report["call"]["overhead_ns"] > CALL_GOAL_NS:
        missed.append(
            f"a call of a region: {report['call']['overhead_ns']} ns above TensorFlow's own, goal {CALL_GOAL_NS}"
        )
    return missed


def section(report: dict) -> list[str]:
    """The lines of the document, from the title on."""
    version = report["models"][0]["runs"][THREADS[0]]["results"][1]["version"]
    call = report["call"]
    lines = [
        TITLE,
        "",
        "SavedModels and frozen graphs of `scripts/make_tensorflow_models.py`, compiled with default options, against TensorFlow",
        f"{version} on the same file, by the same protocol. Written by `bench/tensorflow_models.py`. Ratio = TensorFlow's time / ours.",
        f"Load average before the measurement: {report['load_before']:.1f}. Pairs are ours / TensorFlow's.",
        "",
    ]
    for threads in THREADS:
        lines += [
            f"### {threads} thread{'s' if threads > 1 else ''}",
            "",
            *table(report["models"], threads),
            "",
        ]
    missed = missed_goals(report)
    lines += [
        f"A call of a framework region: {call['region_run_ns']} ns, of the session itself {call['bare_run_ns']} ns: {call['overhead_ns']} ns above",
        f"it (goal: under {CALL_GOAL_NS}). Nothing is copied at its boundary (`tests/backends/tensorflow/region.cc`).",
        "",
        "Goals missed: " + ("; ".join(missed) if missed else "none") + ".",
        "",
    ]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split(":", 1)[0])
    parser.add_argument(
        "--seconds", type=float, default=10, help="to measure each model at each number of threads"
    )
    parser.add_argument(
        "--only", nargs="+", choices=GOALS, metavar="MODEL", help="measure these, write no document"
    )
    arguments = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    report = measure(arguments.only or list(GOALS), arguments.seconds)
    (OUT / "tensorflow.json").write_text(json.dumps(report, indent=1) + "\n")
    if not arguments.only:
        replace_section(TITLE, section(report))
    print("\n".join(section(report)))


if __name__ == "__main__":
    main()
