"""Shared by the scripts that measure: where things are, and running a program that prints one JSON object."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable

Run = Callable[[], object]
ROOT = pathlib.Path(__file__).resolve().parent.parent
PYTHON = ROOT / "build/venv/bin/python"
BIN = ROOT / "build/bin"
OUT = ROOT / "build/bench"
THREADS = [count for count in (1, 2) if count <= len(os.sched_getaffinity(0))]
MIN_ROUNDS = 7


def json_of(*command: object) -> dict:
    return json.loads(
        subprocess.run([str(c) for c in command], check=True, stdout=subprocess.PIPE, text=True).stdout
    )


def best_in_turn(programs: list[pathlib.Path], threads: int, seconds: float, rounds: int) -> list[float]:
    """The best time of a run of each, in ms: the programs run in turn, forward and backward, each time from a new copy of
    the file. Constants are mapped from it, and which pages of memory a file lies in makes up to 5% of a run's time."""
    best = [float("inf")] * len(programs)
    copy = OUT / "copy.so"
    for number in range(rounds):
        for i in range(len(programs))[:: 1 if number % 2 == 0 else -1]:
            copy.unlink(missing_ok=True)
            shutil.copyfile(programs[i], copy)
            command = ["bench", copy, "--threads", threads, "-t", seconds, "--json", "-q"]
            best[i] = min(best[i], json_of(BIN / "intarsia", *command)["results"][0]["min_ms"])
    return best


def times_in_turn(runs: dict[str, Run], seconds: float) -> dict[str, list[float]]:
    """The seconds of each run; forward and backward."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    end = time.perf_counter() + seconds
    for rounds in itertools.count():
        if rounds >= MIN_ROUNDS and time.perf_counter() > end:
            break
        for name in list(runs)[:: 1 if rounds % 2 == 0 else -1]:
            begin = time.perf_counter()
            runs[name]()
            times[name].append(time.perf_counter() - begin)
    return times


def replace_section(title: str, lines: list[str]) -> None:
    """Of docs/performance.md: in place of the section of this title, or before the one on overheads, or at the end."""
    document = ROOT / "docs/performance.md"
    text = document.read_text()
    start = text.find(f"{title}\n")
    end = text.find("\n## ", start + 1) + 1 if start >= 0 else 0
    if start < 0:
        start = end = text.find("## Overheads") if "## Overheads" in text else len(text)
    document.write_text(text[:start] + "\n".join(lines) + "\n" + text[end or len(text) :])


def table_arguments(description: str, seconds: float, rows: str) -> argparse.Namespace:
    """Of a script that measures the rows of a table: `seconds`, `only` and `print`. `rows`: which ones a word may choose."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=seconds, help="of each comparison")
    parser.add_argument("--only", default="", help=f"{rows} contains this word")
    parser.add_argument("--print", action="store_true", help="print the table and write nothing")
    OUT.mkdir(parents=True, exist_ok=True)
    return parser.parse_args()


def write_table(title: str, begin: list[str], rows: Iterable[list[str]], print_only: bool) -> None:
    """A section of docs/performance.md, or of the output: `begin`, which ends with the header of a table, and its rows as they are measured."""
    lines = [title, "", *begin]
    for cells in rows:
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], file=sys.stderr, flush=True)
    if print_only:
        print("\n".join(lines))
    else:
        replace_section(title, [*lines, ""])


def keep_sections(written: str, before: str) -> str:
    """A new text of docs/performance.md with the sections of the old one that other scripts write, before the one on overheads. What
    another processor measured says so."""
    measured_on = re.compile(r"Processor: (.*), \d+ cores")
    old, new = (measured_on.search(text)[1] for text in (before, written))
    titles = re.findall(r"^## .*$", written, re.MULTILINE)
    kept = ""
    for title, body in re.findall(r"^(## [^\n]*)\n(.*?)(?=^## |\Z)", before, re.MULTILINE | re.DOTALL):
        if title in titles:
            continue
        note = "" if old == new or "\nMeasured before, on " in body else f"\nMeasured before, on {old}.\n"
        kept += f"{title}\n{note}{body}"
    at = written.index("## Overheads")
    return written[:at] + kept + written[at:]


def processor() -> str:
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()
