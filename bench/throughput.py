"""Frames per second of models as pipelines, against replicas of the whole and the peers' throughput modes.

    build/venv/bin/python bench/throughput.py [--seconds S] [--document] [MODEL...]

For each model, on all cores of this process, one thread each: what `compile --objective throughput` ships against ONNX Runtime (a
session a core) and OpenVINO in its throughput mode; then as many stages as there are cores against as many replicas of the whole.
Each is one call of `intarsia bench --mode throughput`: all in turn, the best round counts, and the better of both calls. Frames are
the same inputs again and again. Prints one line a model; the last numbers of each are kept in build/bench/throughput.json. With
--document it writes the section "Throughput" of docs/performance.md. For an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib

from measuring import BIN, OUT, ROOT, json_of, replace_section

TITLE = "## Throughput"
MODELS = ["mobilenetv2", "resnet50", "bert_base"]
CORES = sorted(os.sched_getaffinity(0))
PEERS = ["onnxruntime", "openvino"]


def bench(model: pathlib.Path, seconds: float, *options: object) -> dict:
    command = ["bench", model, "--mode", "throughput", "--threads", 1, "-t", seconds, "--json", "-q"]
    devices = ",".join(f"cpu:{core}" for core in CORES)
    return json_of(BIN / "intarsia", *command, "-d", devices, *options)


def measure_model(model: pathlib.Path, seconds: float) -> dict:
    against_peers = bench(model, seconds, "--against", ",".join(PEERS))
    of_ours = bench(model, seconds, "--stages", len(CORES))
    best = dict.fromkeys(["shipped", "stages", "replicas", *PEERS], 0.0)
    for report in (against_peers, of_ours):
        for number, result in enumerate(report["results"]):
            rate = result["frames_per_second"]
            for name in names_of(result, is_shipped=report is against_peers and number == 0):
                best[name] = max(best[name], rate)
    return {
        "model": model.stem,
        "cores": len(CORES),
        "chosen": against_peers["plan"]["chosen"],
        "gap": gap(of_ours["plan"]),
        "frames_per_second": best,
        "ratio_to_peers": against_peers["ratio"],
        "ratio_to_ours": best["shipped"] / max(best["stages"], best["replicas"]),
    }


def names_of(result: dict, is_shipped: bool) -> list[str]:
    """The columns that a result counts for."""
    if result["runtime"] in PEERS:
        return [result["runtime"]]
    return ["shipped"] * is_shipped + [result["configuration"]]


def gap(plan: dict) -> float | None:
    """How far the predicted stages are from the bound."""
    bound, predicted = plan["bound_ms"], plan["predicted_ms"]
    return predicted / bound - 1 if bound and predicted else None


def section(results: list[dict]) -> list[str]:
    """The lines of the document, from the title on."""
    lines = [
        TITLE,
        "",
        "Frames per second on two cores, one thread each: what `compile --objective throughput` ships and what it chose, two stages, two",
        "replicas of the whole; ONNX Runtime with a session a core, OpenVINO in its throughput mode. f32, batch 1, in turn, the best round",
        "of each (`intarsia bench --mode throughput`). Gap: how far the predicted stages are above the bound that no split of these parts is below.",
        "Written by `bench/throughput.py`.",
        "",
        "| model | shipped | is | stages | gap | replicas | ONNX Runtime | OpenVINO | shipped / best peer | shipped / better of stages and replicas |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in results:
        fps = row["frames_per_second"]
        lines.append(
            f"| {row['model']} | {fps['shipped']:.1f} | {row['chosen']} | {fps['stages']:.1f} "
            f"| {'' if row['gap'] is None else format(row['gap'], '.1%')} | {fps['replicas']:.1f} "
            f"| {fps['onnxruntime']:.1f} | {fps['openvino']:.1f} | {row['ratio_to_peers']:.2f} | {row['ratio_to_ours']:.2f} |"
        )
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", default=MODELS, metavar="MODEL")
    parser.add_argument("--seconds", type=float, default=60, help="of each of the two calls for a model")
    parser.add_argument("--document", action="store_true", help="write the section of docs/performance.md")
    arguments = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    file = OUT / "throughput.json"
    kept = {row["model"]: row for row in (json.loads(file.read_text()) if file.exists() else [])}
    for name in arguments.models:
        result = measure_model(ROOT / f"build/models/{name}.onnx", arguments.seconds)
        kept[name] = result
        file.write_text(json.dumps(list(kept.values()), indent=1) + "\n")
        print(json.dumps(result), flush=True)
    if arguments.document:
        replace_section(TITLE, section(list(kept.values())))


if __name__ == "__main__":
    main()
