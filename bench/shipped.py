"""What ships against each backend alone, run again: the promise is at least 0.98 of the best, and better where a mixture pays.

    build/venv/bin/python bench/shipped.py [--threads N ...] [--seconds S] [--rounds N] [--document] [MODEL...]

Each model is compiled as by default, and for each of the backends alone that takes all of it; the programs then run in turn,
and best times count. Prints one line a model; the last numbers of each model are kept in build/bench/shipped.json. Without MODEL
it takes the nine of bench/report.py and the detectors of scripts/make_detectors.py. With --document it writes the section
"Native and shipped" of docs/performance.md, from all numbers that are kept. For an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess

from measuring import BIN, OUT, PYTHON, ROOT, THREADS, best_in_turn, json_of, replace_section
from report import MODELS

TITLE = "## Native and shipped"
BACKENDS = {"halide": "native", "onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}
DETECTORS = ["ssdlite_mobilenetv2", "yolov3_tiny"]
PROMISE = 0.98


def compile_alone(model: pathlib.Path, program: pathlib.Path, threads: int, backend: str) -> bool:
    """Whether the backend takes all of the model."""
    command = [BIN / "intarsia", "compile", model, "-o", program, "--threads", threads, "--backends", backend]
    return (
        subprocess.run([str(word) for word in [*command, "-q"]], capture_output=True, check=False).returncode
        == 0
    )


def measure_model(model: pathlib.Path, threads: int, seconds: float, rounds: int) -> dict:
    shipped = OUT / "shipped.so"
    compiled = json_of(
        BIN / "intarsia", "compile", model, "-o", shipped, "--threads", threads, "--json", "-q"
    )
    programs = {"shipped": shipped}
    for backend in BACKENDS:
        program = OUT / f"alone_{backend}.so"
        if compile_alone(model, program, threads, backend):
            programs[backend] = program
    times = dict(zip(programs, best_in_turn(list(programs.values()), threads, seconds, rounds), strict=True))
    alone = {backend: ms for backend, ms in times.items() if backend != "shipped"}
    return {
        "model": model.stem,
        "threads": threads,
        "plan": (compiled["plan"] or {}).get("shipped", "only one"),
        "targets": [region["target"] for region in compiled["regions"]],
        "ms": times,
        "ratio": min(alone.values()) / times["shipped"],
    }


def print_regions(result: dict) -> str:
    """ "1 halide, 2 onnxruntime": all on the one slot."""
    backends = [target.split("@")[0] for target in result["targets"]]
    return ", ".join(f"{backends.count(name)} {name}" for name in dict.fromkeys(backends))


def describe(result: dict) -> str:
    times = ", ".join(f"{name} {ms:.2f}" for name, ms in result["ms"].items())
    regions = print_regions(result)
    return f"{result['model']}, {result['threads']} threads: {result['ratio']:.3f} ({times} ms; {regions})"


def in_order(results: list[dict]) -> list[dict]:
    """The nine, the detectors, then others."""
    known = [*MODELS, *DETECTORS]
    names = known + sorted({result["model"] for result in results} - set(known))
    return sorted(results, key=lambda result: (names.index(result["model"]), result["threads"]))


def section(results: list[dict], load: float) -> list[str]:
    """The lines of the document, from the title on."""
    lines = [
        TITLE,
        "",
        "What ships by default beside each backend alone, where one takes all of the model (`--backends`; native is what",
        "`--fallback none` gives). All are programs of Intarsia, run in turn; times are the minimum, in ms. Ratio = the best backend's time /",
        f"what ships: the promise is {PROMISE}, above 1 a mixture wins. What ships as one region of one backend has the code of the",
        "program that is compiled for this backend alone: there the ratio shows how well the machine repeats itself.",
        "The numbers of a row are from one run.",
        f"Written by `bench/shipped.py`. Load average before: {load:.1f}.",
        "",
        f"| model | threads | {' | '.join(BACKENDS.values())} | shipped | its regions | ratio |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for result in results:
        times = [f"{result['ms'][name]:.2f}" if name in result["ms"] else "" for name in BACKENDS]
        lines.append(
            f"| {result['model']} | {result['threads']} | {' | '.join(times)} | {result['ms']['shipped']:.2f} "
            f"| {print_regions(result)} | {result['ratio']:.2f} |"
        )
    broken = [f"{result['model']} ({result['threads']})" for result in results if result["ratio"] < PROMISE]
    return [*lines, "", "Below the promise: " + (", ".join(broken) if broken else "none") + ".", ""]


def default_models() -> list[pathlib.Path]:
    subprocess.run([PYTHON, ROOT / "scripts/make_detectors.py"], check=True)
    return [ROOT / f"build/models/{name}.onnx" for name in MODELS] + [
        ROOT / f"build/detectors/{name}.onnx" for name in DETECTORS
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    parser.add_argument("--threads", type=int, nargs="+", default=THREADS)
    parser.add_argument("--seconds", type=float, default=1, help="of one turn")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--document", action="store_true", help="write the section of docs/performance.md")
    arguments = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    load = os.getloadavg()[0]
    file = OUT / "shipped.json"
    kept = {
        (row["model"], row["threads"]): row for row in (json.loads(file.read_text()) if file.exists() else [])
    }
    for model in arguments.models or default_models():
        for threads in arguments.threads:
            result = measure_model(model, threads, arguments.seconds, arguments.rounds)
            kept[result["model"], threads] = result
            file.write_text(json.dumps(list(kept.values()), indent=1))
            print(describe(result), flush=True)
    if arguments.document:
        replace_section(TITLE, section(in_order(list(kept.values())), load))


if __name__ == "__main__":
    main()
