"""Times the nine models of bench/report.py with two builds of Intarsia in turn: what a change costs or gains.

    build/venv/bin/python bench/compare_builds.py OTHER/build/bin [--seconds S] [--rounds N]

The other build is the one before. Each build compiles each model with its own folder of measured times, starting empty.
Then the two programs run in turn, and each build's best time counts. Prints a table of before / after: above 1 is faster now.
"""

from __future__ import annotations

import argparse
import pathlib
import tempfile

from measuring import BIN, ROOT, THREADS, json_of, processor
from report import MODELS, geometric_mean


def compile_model(bin_folder: pathlib.Path, folder: pathlib.Path, name: str, threads: int) -> pathlib.Path:
    program = folder / f"{name}_{threads}.so"
    options = ["--fallback", "none", "--threads", threads, "--cache", folder / "cache", "--json"]
    json_of(bin_folder / "intarsia", "compile", ROOT / f"build/models/{name}.onnx", "-o", program, *options)
    return program


def best_of(bin_folder: pathlib.Path, program: pathlib.Path, threads: int, seconds: float) -> float:
    run = json_of(bin_folder / "intarsia", "bench", program, "--threads", threads, "-t", seconds, "--json")
    return run["results"][0]["min_ms"]


def compare(before: pathlib.Path, name: str, threads: int, folder: pathlib.Path, arguments) -> list[float]:
    """The best time of each build in ms: before, after."""
    builds = {"before": before, "after": BIN}
    programs, best = {}, {build: float("inf") for build in builds}
    for build, bin_folder in builds.items():
        (folder / build).mkdir(exist_ok=True)
        programs[build] = compile_model(bin_folder, folder / build, name, threads)
    for number in range(arguments.rounds):
        for build in list(builds)[:: 1 if number % 2 == 0 else -1]:
            time = best_of(builds[build], programs[build], threads, arguments.seconds)
            best[build] = min(best[build], time)
    return list(best.values())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", type=pathlib.Path, metavar="OTHER/build/bin")
    parser.add_argument("--seconds", type=float, default=2, help="of one turn")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--only", nargs="+", metavar="MODEL", default=MODELS)
    arguments = parser.parse_args()
    print(f"{processor()}: the best of {arguments.rounds} turns of {arguments.seconds:g} s, ms\n")
    print("| model | threads | before | after | before / after |\n|---|---|---|---|---|")
    ratios = {threads: [] for threads in THREADS}
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.only:
            for threads in THREADS:
                before, after = compare(arguments.before, name, threads, pathlib.Path(folder), arguments)
                ratios[threads].append(before / after)
                print(
                    f"| {name} | {threads} | {before:.2f} | {after:.2f} | {before / after:.3f} |", flush=True
                )
    for threads, of_models in ratios.items():
        print(f"| geometric mean | {threads} | | | {geometric_mean(of_models):.3f} |")


if __name__ == "__main__":
    main()
