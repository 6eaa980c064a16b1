"""Measures how long the test models take to compile, and writes docs/compile_times.md: the slowest kernel of each, too.

    build/venv/bin/python bench/compile_times.py [--only MODEL ...]

Each compile begins without measured times of kernels, in its own cache folder. With --only, the document stays as it is.
"""

from __future__ import annotations

import argparse
import pathlib
import subprocess
import sys
import tempfile

from measuring import BIN, ROOT, THREADS, json_of, processor

MODELS = ROOT / "build/models"


def find_models() -> list[pathlib.Path]:
    onnx = sorted(MODELS.glob("*.onnx")) + sorted(MODELS.glob("torch_like/*.onnx"))
    return (
        onnx
        + sorted(MODELS.glob("tensorflow/*.pb"))
        + sorted(path.parent for path in MODELS.glob("tensorflow/*/saved_model.pb"))
    )


def compile_cold(model: pathlib.Path, threads: int) -> dict:
    libraries = sorted(model.parent.glob(f"{model.name}.so"))
    options = [word for library in libraries for word in ("--op-library", library)]
    with tempfile.TemporaryDirectory() as folder:
        return json_of(
            BIN / "intarsia",
            "compile",
            model,
            "-o",
            f"{folder}/program.so",
            "--cache",
            f"{folder}/cache",
            "--threads",
            threads,
            "-q",
            "--json",
            *options,
        )


def row(model: pathlib.Path, threads: int, report: dict) -> str:
    code = report["code_generation"]
    slowest = code["slowest"] or {"kernel": "-", "cpu_seconds": 0}
    return (
        f"| {model.stem} | {threads} | {report['compile_seconds']:.1f} | {code['kernels']} | {code['cpu_seconds']:.1f} | "
        f"{slowest['cpu_seconds']:.2f} | {slowest['kernel']} | {len(code['given_up'])} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=[], metavar="MODEL")
    only = parser.parse_args().only
    lines = [
        "# Compile times of the test models",
        "",
        f"Written by `bench/compile_times.py` on {processor()}: compiles with `--tune fast` without cached times. *Kernels* that code",
        "was generated for include the variants that were measured; the limit for one is 10 s of CPU time.",
        "",
        "| model | threads | compile, s | kernels | code, CPU s | slowest, CPU s | slowest kernel | given up |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for model in find_models():
        if only and model.stem not in only:
            continue
        for threads in THREADS:
            try:
                lines.append(row(model, threads, compile_cold(model, threads)))
            except subprocess.CalledProcessError:  # its error is on standard error
                lines.append(f"| {model.stem} | {threads} | does not compile | | | | | |")
            print(lines[-1], file=sys.stderr, flush=True)
    if not only:
        (ROOT / "docs/compile_times.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
