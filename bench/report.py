"""Measures and writes docs/performance.md, its picture, and the table in the README; all numbers in build/bench/report.json.

    make bench          or: build/venv/bin/python bench/report.py [--seconds S] [--only MODEL ...]

Only the section on TensorFlow models: bench/tensorflow_models.py.

For an idle machine. Latency is what `intarsia bench` measures; ratios are from one run. With --only, the documents stay as
they are.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import tensorflow_models
from measuring import BIN, OUT, PYTHON, ROOT, THREADS, json_of, keep_sections, processor
from model_work import ModelWork

MODELS = [
    "resnet50",
    "mobilenetv2",
    "inceptionv3",
    "efficientnetb0",
    "densenet121",
    "mobilenetv3_large",
    "convnext_tiny",
    "vit_b16",
    "bert_base",
]
PEERS = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}


def measure_model(name: str, seconds: float, peak: dict[int, float]) -> dict:
    model = ROOT / f"build/models/{name}.onnx"
    program = OUT / f"{name}.so"
    with tempfile.TemporaryDirectory() as cache:  # as a user's first compile
        compiled = json_of(
            *(BIN / "intarsia", "compile", model, "-o", program, "--cache", cache, "-q", "--json")
        )
    multiply_adds = ModelWork(model).multiply_adds
    runs = {}
    for threads in THREADS:
        run = json_of(
            BIN / "intarsia",
            "bench",
            model,
            "--fallback",
            "none",
            "--threads",
            threads,
            "-t",
            seconds,
            "--against",
            ",".join(PEERS),
            "--json",
        )
        run["limit_ms"] = 2 * multiply_adds / peak[threads] / 1e6
        run["part_of_peak"] = run["limit_ms"] / run["results"][0]["min_ms"]
        runs[threads] = run
        print(f"{name}, {threads} threads: {run['ratio_min']:.2f}", file=sys.stderr, flush=True)
    return {
        "model": name,
        "multiply_adds": multiply_adds,
        "nodes": sum(region["nodes"] for region in compiled["regions"]),
        "targets": sorted({region["target"] for region in compiled["regions"]}),
        "regions": len(compiled["regions"]),
        "compile_seconds": compiled["compile_seconds"],
        "runs": runs,
    }


def geometric_mean(numbers: list[float]) -> float:
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def mean_ratio(models: list[dict], threads: int, kind: str) -> float:
    return geometric_mean([model["runs"][threads][kind] for model in models])


def by_runtime(run: dict) -> dict[str, dict]:
    return {result["runtime"]: result for result in run["results"]}


def latency_table(models: list[dict], threads: int) -> list[str]:
    """Times are the minimum of all runs, in brackets the median; CPU time and memory are ours / the best peer's."""
    lines = [
        f"| model | Intarsia, ms | {' | '.join(f'{peer}, ms' for peer in PEERS.values())} | ratio | of medians |"
        " of the FMA peak | CPU time of a run, ms | memory, MB |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for model in models:
        run = model["runs"][threads]
        results = by_runtime(run)
        ours, best = results["intarsia"], results[run["best_peer"]]
        times = [
            f"{results[name]['min_ms']:.1f} ({results[name]['median_ms']:.1f})"
            for name in ("intarsia", *PEERS)
        ]
        cells = [
            model["model"],
            *times,
            f"{run['ratio_min']:.2f}",
            f"{run['ratio_median']:.2f}",
            f"{run['part_of_peak']:.0%}",
            f"{ours['cpu_ms']:.1f} / {best['cpu_ms']:.1f}",
            f"{ours['peak_rss_mb']:.0f} / {best['peak_rss_mb']:.0f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    means = [f"**{mean_ratio(models, threads, kind):.2f}**" for kind in ("ratio_min", "ratio_median")]
    return [*lines, "| geometric mean | | | | " + " | ".join(means) + " | | | |"]


def readme_table(models: list[dict]) -> list[str]:
    titles = [
        title
        for threads in THREADS
        for title in (f"{threads} thread{'s' if threads > 1 else ''}: ours / the best peer's, ms", "ratio")
    ]
    lines = [
        "| model | nodes | regions | compile, s | " + " | ".join(titles) + " |",
        "|---" * (4 + len(titles)) + "|",
    ]
    for model in models:
        cells = [
            model["model"],
            str(model["nodes"]),
            f"{model['regions']} {'/'.join(model['targets'])}",
            f"{model['compile_seconds']:.1f}",
        ]
        for run in model["runs"].values():
            least = min(result["min_ms"] for result in run["results"][1:])
            cells += [f"{run['results'][0]['min_ms']:.1f} / {least:.1f}", f"{run['ratio_min']:.2f}"]
        lines.append("| " + " | ".join(cells) + " |")
    means = "".join(f" | {mean_ratio(models, threads, 'ratio_min'):.2f} |" for threads in THREADS)
    return [*lines, "| geometric mean | | | |" + means]


def draw(models: list[dict], path: pathlib.Path) -> None:
    """The ratios as bars, with a line where runtimes are equally fast."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "intarsia"  # otherwise every picture has different ids
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, 3.5), layout="constrained")
    width = 0.8 / len(THREADS)
    for i, threads in enumerate(THREADS):
        axes.bar(
            [place + i * width for place in range(len(models))],
            [model["runs"][threads]["ratio_min"] for model in models],
            width,
            label=f"{threads} thread{'s' if threads > 1 else ''}",
        )
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_xticks(
        [place + 0.4 - width / 2 for place in range(len(models))],
        [model["model"] for model in models],
        rotation=20,
    )
    axes.set_ylabel("best peer's time / ours")
    axes.legend()
    figure.savefig(path, metadata={"Date": None})


def first_result_ms(program: pathlib.Path) -> float:
    """Load to first result, in a fresh process, the best of five (file in the page cache)."""
    script = (
        "import sys,time,numpy as np,intarsia\n"
        "x=np.zeros((1,224,224,3),'float32'); t=time.perf_counter()\n"
        "intarsia.load(sys.argv[1])(image=x); print((time.perf_counter()-t)*1000)"
    )
    return min(float(subprocess.check_output([PYTHON, "-c", script, program], text=True)) for _ in range(5))


def measure_overheads() -> dict:
    partition = json_of(BIN / "bench_partition", "10000", "100000")
    worst: dict[int, float] = {}
    for result in partition["results"]:
        worst[result["nodes"]] = max(worst.get(result["nodes"], 0), result["seconds"])
    return {
        "dispatch": json_of(BIN / "bench_dispatch"),
        "parallel_loop": json_of(BIN / "bench_handover"),
        "sessions_on_shared_cores": json_of(BIN / "bench_threads", OUT / "resnet50.so"),
        "partition_worst_seconds_by_nodes": worst,
        "cost_table": json_of(BIN / "bench_cost_table", "10000"),
        "onnxruntime_call": json_of(BIN / "bench_onnxruntime_call"),
        "opencl": json_of(BIN / "bench_opencl"),
        "resnet50_load_to_first_result_ms": round(first_result_ms(OUT / "resnet50.so"), 1),
    }


def write_documents(report: dict) -> None:
    models, peak = report["models"], report["fma_peak"]
    versions = ", ".join(
        f"{PEERS[result['runtime']]} {result['version']}" for result in models[0]["runs"][1]["results"][1:]
    )
    text = [
        "# Performance",
        "",
        "Written by `make bench` (`bench/report.py`). f32, batch 1, measured by `intarsia bench`: a process per",
        "runtime, rounds in turn, waiting processes idle. Times are the minimum of all runs, in brackets the median. Ratio = the",
        "best peer's time / ours, both from the same run: above 1, we are faster. Absolute times differ from machine to",
        "machine. CPU time and memory are ours / the best peer's.",
        "",
        f"Peers: {versions} (f32; the better of latency hint and one stream). Processor: {report['processor']}, "
        f"{os.cpu_count()} cores,",
        "f32 peak by `bench/fma_peak.cc` "
        + ", ".join(
            f"{gflops:.0f} GFLOP/s at {threads} thread{'s' if threads > 1 else ''}"
            for threads, gflops in peak.items()
        )
        + "; the percentages of it count products",
        "and convolutions in direct arithmetic: Winograd may exceed 100%. Load average before the measurement: "
        f"{report['load_before']:.1f} (idle: near 0).",
        "",
        "![ratios](performance.svg)",
        "",
    ]
    for threads in THREADS:
        text += [
            f"## Latency, {threads} thread{'s' if threads > 1 else ''}",
            "",
            *latency_table(models, threads),
            "",
        ]
    text += [
        "Where the time goes, layer by layer: [gaps.md](gaps.md).",
        "",
        *tensorflow_models.section(report["tensorflow"]),
        "## Overheads",
        "",
        "```json",
        json.dumps(report["overheads"], indent=1),
        "```",
        "",
    ]
    document = ROOT / "docs/performance.md"
    document.write_text(keep_sections("\n".join(text), document.read_text()))
    draw(models, ROOT / "docs/performance.svg")
    readme = (ROOT / "README.md").read_text()
    held = re.findall(r"^\| the held set .*$", readme, re.MULTILINE)  # bench/held.py writes it
    start, end = readme.index("## What was measured"), readme.index("The scripts are in `bench/`")
    section = [
        "## What was measured",
        "",
        "f32, batch 1, native (`--fallback none`), against the faster of ONNX Runtime and OpenVINO in the same run. Times are the least of all",
        "runs, on nine models that this project was measured with from the beginning; medians are in docs/performance.md. The last row has models",
        "for which nothing was ever tuned. *Compile* is the default command, at all cores, without times from before:",
        "",
        *readme_table(models),
        *held,
        "",
        "",
    ]
    (ROOT / "README.md").write_text(readme[:start] + "\n".join(section) + readme[end:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--seconds", type=float, default=20, help="to measure each model at each number of threads"
    )
    parser.add_argument(
        "--only", nargs="+", choices=MODELS, metavar="MODEL", help="measure these, write no documents"
    )
    arguments = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    load = os.getloadavg()[0]
    peak = {one["threads"]: one["gflops"] for one in json_of(BIN / "bench_fma_peak", *THREADS)["results"]}
    models = [measure_model(name, arguments.seconds, peak) for name in arguments.only or MODELS]
    means = {threads: mean_ratio(models, threads, "ratio_min") for threads in THREADS}
    report = {
        "processor": processor(),
        "load_before": load,
        "fma_peak": peak,
        "geometric_mean": means,
        "models": models,
    }
    if not arguments.only:
        report["overheads"] = measure_overheads()
        report["tensorflow"] = tensorflow_models.measure(list(tensorflow_models.GOALS), arguments.seconds / 2)
        write_documents(report)
    (OUT / "report.json").write_text(json.dumps(report, indent=1) + "\n")
    for threads in THREADS:
        print("\n".join(latency_table(models, threads)))


if __name__ == "__main__":
    main()
