"""The nine models of bench/report.py with their batch open, as compiled by default, against the same compiled for one picture or text:
what an open batch costs those who run one item. Writes the section "Models of open batch" of docs/performance.md.

    build/venv/bin/python bench/open_models.py [--seconds S] [--rounds N] [--only MODEL ...]

For an idle machine. Each compile begins without measured times; the two programs run in turn, and each one's best time counts.
With --only, the document stays as it is.
"""

from __future__ import annotations

import argparse
import pathlib
import tempfile

from measuring import BIN, OUT, ROOT, THREADS, best_in_turn, json_of, processor, replace_section
from report import MODELS, geometric_mean

import onnx

TITLE = "## Models of open batch"


def one_item(model: pathlib.Path) -> list[str]:
    """The --shape options that make each size that the model leaves open 1."""
    options = []
    for given in onnx.load(model, load_external_data=False).graph.input:
        sizes = "x".join(str(size.dim_value or 1) for size in given.type.tensor_type.shape.dim)
        options += ["--shape", f"{given.name}={sizes}"]
    return options


def compile_model(model: pathlib.Path, name: str, threads: int, options: list[str]) -> tuple[pathlib.Path, float]:
    program = OUT / f"{name}.so"
    with tempfile.TemporaryDirectory() as cache:
        command = ["compile", model, "-o", program, "--cache", cache, "--threads", threads, "-q", "--json"]
        report = json_of(BIN / "intarsia", *command, *options)
    return program, report["compile_seconds"]


def measure(name: str, threads: int, arguments: argparse.Namespace) -> dict[str, float]:
    """Ratios, fixed to open or open to fixed: how fast, how long to compile, how large."""
    model = ROOT / f"build/models/{name}.onnx"
    open_program, open_seconds = compile_model(model, "open", threads, [])
    fixed_program, fixed_seconds = compile_model(model, "fixed", threads, one_item(model))
    open_ms, fixed_ms = best_in_turn([open_program, fixed_program], threads, arguments.seconds, arguments.rounds)
    return {
        "open_ms": open_ms,
        "fixed_ms": fixed_ms,
        "speed": fixed_ms / open_ms,
        "compile": open_seconds / fixed_seconds,
        "compile_seconds": open_seconds,
        "bytes": open_program.stat().st_size / fixed_program.stat().st_size,
    }


def row(name: str, threads: int, found: dict[str, float]) -> str:
    return (
        f"| {name} | {threads} | {found['open_ms']:.2f} | {found['fixed_ms']:.2f} | {found['speed']:.3f} |"
        f" {found['compile_seconds']:.0f} | {found['compile']:.2f} | {found['bytes']:.3f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=1, help="of one turn")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--only", nargs="+", metavar="MODEL", default=MODELS)
    arguments = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    lines = [
        TITLE,
        "",
        f"The nine models compiled by default, so that their batch stays open, and run with one item, on {processor()}, by"
        " `bench/open_models.py`; against the same models compiled for one item with `--shape`. Least times in ms; a ratio"
        " of speed above 1 means that the open program is faster; the others are open to fixed.",
        "",
        "| model | threads | open | fixed | speed | seconds to compile | ratio | ratio of sizes |",
        "|---|---|---|---|---|---|---|---|",
    ]
    ratios = {key: [] for key in ("speed", "compile", "bytes")}
    for name in arguments.only:
        for threads in THREADS:
            found = measure(name, threads, arguments)
            lines.append(row(name, threads, found))
            print(lines[-1], flush=True)
            for key, values in ratios.items():
                values.append(found[key])
    means = {key: geometric_mean(values) for key, values in ratios.items()}
    lines += [
        "",
        f"Geometric means: speed {means['speed']:.3f}, compile time {means['compile']:.2f}, size {means['bytes']:.3f}.",
    ]
    print(lines[-1])
    if arguments.only == MODELS:
        replace_section(TITLE, lines)


if __name__ == "__main__":
    main()
