"""What open sizes cost that does not vary: instructions of a run at a new size, which valgrind counts, and bytes of code of the nine models with
their batch open. Writes the section "Open sizes, counted" of docs/performance.md.

    build/venv/bin/python bench/open_counts.py

The machine may be busy. Kernels are chosen by formula, so that measured times play no part.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

from measuring import BIN, OUT, ROOT, json_of, processor, replace_section
from open_graphs import Encoder
from open_models import one_item
from report import MODELS, geometric_mean

import onnx

TITLE = "## Open sizes, counted"
LENGTHS = list(range(1, 21))
LONGEST = 100  # after it a session has the memory for the others


def code_bytes(model: pathlib.Path, options: list[str]) -> int:
    report = json_of(
        BIN / "intarsia",
        "compile",
        model,
        "-o",
        OUT / "counted.so",
        "--tune",
        "off",
        "-q",
        "--json",
        *options,
    )
    return report["size"]["code_bytes"]


# What runs under valgrind: no other runtime, whose allocator may differ.
RUN_LENGTHS = """
import sys, intarsia, numpy
session = intarsia.load(sys.argv[1]).bind(threads=1)
for length in map(int, sys.argv[2].split(",")):
    session.run({"ids": numpy.full((1, length), 7), "mask": numpy.ones((1, length), "int64")})
"""


def count_instructions(program: pathlib.Path, lengths: list[int]) -> int:
    """Instructions of the runs alone."""
    counting = ["valgrind", "--tool=callgrind", "--toggle-collect=intarsia_session_run"]
    command = [*counting, "--callgrind-out-file=/dev/null", sys.executable, "-c", RUN_LENGTHS, program]
    done = subprocess.run(
        [*command, ",".join(map(str, lengths))],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])


def new_size() -> str:
    """Of an encoder with as many kernels as a BERT. Its code is for processors that valgrind knows."""
    model, program = OUT / "narrow_encoder.onnx", OUT / "counted.so"
    onnx.save(Encoder(width=24, layers=12).model(), model)
    options = ("--fallback", "none", "--cpu", "x86-64-v3", "--tune", "off", "--threads", 1)
    json_of(BIN / "intarsia", "compile", model, "-o", program, *options, "-q", "--json")
    start, once, twice = (count_instructions(program, [LONGEST, *LENGTHS * times]) for times in (0, 1, 2))
    again = (twice - once) / len(LENGTHS)
    more = (once - start) / len(LENGTHS) - again
    return (
        f"A run at a new size takes {more / 1e6:.2f} million instructions more than one at a size of before, in an encoder of 12 layers"
        f" (lengths of 1 to {LENGTHS[-1]}, which take {again / 1e6:.2f} million each). A repeated size allocates nothing"
        " (`Allocations.NoneAtSizesThatWereRunBefore`)."
    )


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    lines = [TITLE, "", f"On {processor()}, by `bench/open_counts.py`.", "", new_size(), ""]
    lines += ["| model | code, batch open | one item | ratio |", "|---|---|---|---|"]
    ratios = []
    for name in MODELS:
        model = ROOT / f"build/models/{name}.onnx"
        opened, fixed = code_bytes(model, []), code_bytes(model, one_item(model))
        ratios.append(opened / fixed)
        lines.append(f"| {name} | {opened / 1e3:.0f} kB | {fixed / 1e3:.0f} kB | {ratios[-1]:.2f} |")
        print(lines[-1], flush=True)
    lines += ["", f"Geometric mean {geometric_mean(ratios):.2f}, at most {max(ratios):.2f}."]
    replace_section(TITLE, lines)


if __name__ == "__main__":
    main()
