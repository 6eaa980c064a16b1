"""Models on an OpenCL device beside our native code on the same cores: time of a run, and of loading with the device's binaries
cached.

    build/venv/bin/python bench/opencl_models.py [--device opencl:0] [--seconds S] [--rounds N] [--document] [MODEL ...]

The device's platform uses as many threads as the machine has cores (PoCL), and so does the native program. Prints one line a
model; all numbers go to build/bench/opencl_models.json. Aims on PoCL: at most 3 times the native time, loading in under 300 ms. With
--document it writes the section "Models on OpenCL" of docs/performance.md. For an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys

from measuring import BIN, OUT, ROOT, best_in_turn, json_of, processor, replace_section

TITLE = "## Models on OpenCL"
DEFAULT = ["mobilenetv2", "resnet50", "bert_base"]
LOAD = """
import sys, time
sys.path.insert(0, sys.argv[1])
import intarsia
begin = time.perf_counter()
intarsia.load(sys.argv[2]).bind()
print(1000 * (time.perf_counter() - begin))
"""


def load_ms(program: pathlib.Path) -> float:
    """The least of several new processes; the first fills the caches."""
    package = ROOT / "build/release/python"
    command = [sys.executable, "-c", LOAD, str(package), str(program)]
    return min(
        float(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(4)
    )


def measure_model(model: pathlib.Path, arguments: argparse.Namespace) -> dict:
    threads = len(os.sched_getaffinity(0))
    programs = {"device": OUT / "on_device.so", "native": OUT / "native.so"}
    options = {
        "device": ["-d", arguments.device, "--pin", f"*=halide@{arguments.device}"],
        "native": ["--backends", "halide", "--threads", threads],
    }
    for kind, program in programs.items():
        json_of(BIN / "intarsia", "compile", model, "-o", program, "--json", "-q", *options[kind])
    load = load_ms(programs["device"])
    times = best_in_turn(list(programs.values()), threads, arguments.seconds, arguments.rounds)
    return {
        "model": model.stem,
        "threads": threads,
        "device_ms": times[0],
        "native_ms": times[1],
        "ratio": times[0] / times[1],
        "load_ms": load,
    }


def document(results: list[dict], device: str) -> list[str]:
    lines = [
        TITLE,
        "",
        f"Wholly on `{device}` (PoCL, which has all {results[0]['threads']} cores of this {processor()}), beside our native code on",
        "the same cores, in turn; and how long a program takes to load with the device's binaries cached.",
        "Written by `bench/opencl_models.py`.",
        "",
        "| model | OpenCL, ms | native, ms | ratio | loads in, ms |",
        "|---|---|---|---|---|",
    ]
    for row in results:
        times = f"{row['device_ms']:.1f} | {row['native_ms']:.1f} | {row['ratio']:.2f} | {row['load_ms']:.0f}"
        lines.append(f"| {row['model']} | {times} |")
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "models",
        nargs="*",
        type=pathlib.Path,
        default=[ROOT / f"build/models/{name}.onnx" for name in DEFAULT],
    )
    parser.add_argument("--device", default="opencl:0")
    parser.add_argument("--seconds", type=float, default=2, help="of one turn")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--document", action="store_true")
    arguments = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    results = []
    for model in arguments.models:
        result = measure_model(model, arguments)
        results.append(result)
        print(
            f"{result['model']}: {result['device_ms']:.1f} ms, native {result['native_ms']:.1f} ms: {result['ratio']:.2f}; "
            f"loads in {result['load_ms']:.0f} ms",
            flush=True,
        )
    (OUT / "opencl_models.json").write_text(json.dumps(results, indent=1))
    if arguments.document:
        replace_section(TITLE, document(results, arguments.device))


if __name__ == "__main__":
    main()
