#!/usr/bin/env python3
"""Runs for hours what `make test` runs for minutes, and writes docs/soak.md.

    scripts/soak.py [--rounds N] [--fuzz-seconds N]

Needs what `make test` built. Goes on when a part fails, and fails at the end."""

import argparse
import datetime
import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FUZZ_TARGETS = (
    "fuzz_onnx",
    "fuzz_graph_text",
    "fuzz_program",
    "fuzz_halide_plan",
    "fuzz_tensorflow",
    "fuzz_plan",
    "fuzz_pipeline",
    "fuzz_costs",
)
EMULATED = ("armv7", "riscv64", "least-aarch64")  # `make test` has aarch64
# What goes on for as long as it is told to: tests of ctest by a regular expression, and how many times as long as in
# `make test`, for one round.
PARTS = (
    (
        "random graphs: text, dead nodes, groups, regions, copies",
        "Properties",
        100,
    ),
    ("random pins on random graphs against the reference", "^property_placement$", 6),
    ("random pins on an OpenCL device against the reference", "^property_opencl_placement$", 4),
    (
        "every kernel for other CPUs and threads, in other variants and forms, against the reference",
        "AgreesWithReference|AgreeWithReference",
        4,
    ),
    ("random nets of kernels in place against the reference", "RandomNetsAgreeWithReference", 6),
    ("random graphs over random open sizes against the reference", "^RandomSymbols", 57),
    (
        "models of open sizes at 1,000 random sizes each against ONNX Runtime, same memory",
        "^python_open_sizes$",
        50,
    ),
    ("models of open batch at random batches against ONNX Runtime, same memory", "^python_open_batches$", 10),
    ("models of TensorFlow with damage at random places", "^tensorflow_damaged$", 6),
    ("frames of a pipeline with random delays and errors", "RandomDelaysAndErrorsLoseNothing", 50),
    ("random pipelines against their stages in turn", "^RandomPipelines", 50),
    ("calls of pipelines with bad arguments", "^RandomPipelineCalls", 50),
    ("one process that runs and compiles: same answers, same memory", "^python_long_run$", 20),
)

HEAD = """# What runs for hours

`make soak` runs the tests that can go on for ever many times as long as `make test` does, and fuzzes longer. These are
its last results (`scripts/soak.py` writes this page).

"""


def read_arguments():
    parser = argparse.ArgumentParser(description="Runs the long forms of the tests and writes docs/soak.md.")
    parser.add_argument("--rounds", type=int, default=1, help="how many times as long each part goes on")
    parser.add_argument("--fuzz-seconds", type=int, default=600, help="for each fuzz target")
    return parser.parse_args()


def run(command, **environment):
    """Status, seconds and output of a command, which is shown as it comes."""
    print("soak:", " ".join(command), flush=True)
    start = time.monotonic()
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    lines = []
    for line in process.stdout:
        print(line, end="", flush=True)
        lines.append(line)
    return process.wait(), time.monotonic() - start, "".join(lines)


def run_tests(title, pattern, times):
    status, seconds, output = run(
        ["ctest", "--test-dir", "build/release", "-R", pattern, "--output-on-failure", "--timeout", "36000"],
        INTARSIA_ROUNDS=str(times),
    )
    count = re.search(r"tests passed, \d+ tests failed out of (\d+)", output)
    if count is None:
        return title, f"{times} x", seconds, "no test ran"
    return title, f"{times} x", seconds, "passed" if status == 0 else "FAILED"


def run_sanitized():
    """All fast tests under AddressSanitizer: `make test` leaves out those that link the compiler."""
    build = "cmake --preset asan && cmake --build --preset asan --target fast_tests compiler_tests -- --quiet"
    status, seconds, _ = run(["sh", "-euc", f"{build} && ctest --preset asan-compiler"])
    return (
        "the compiler's fast tests under AddressSanitizer",
        "1 x",
        seconds,
        "passed" if status == 0 else "FAILED",
    )


def run_elsewhere(arch):
    """The run half, and programs for it, on another architecture."""
    status, seconds, output = run(["scripts/other_cpus.sh", arch])
    result = "not run" if "skipped: " in output else "passed" if status == 0 else "FAILED"
    return f"the run half and programs on {arch}, emulated", "1 x", seconds, result


def run_fuzzer(target, seconds):
    status, took, output = run(["scripts/fuzz.sh", str(seconds), target])
    runs = re.search(r"stat::number_of_executed_units: (\d+)", output)
    amount = f"{int(runs[1]):,} inputs" if runs else "?"
    return f"`{target}`", amount, took, "passed" if status == 0 else "FAILED"


def write_page(rows):
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    lines = [
        HEAD,
        f"{datetime.date.today()}, commit {commit}, {os.cpu_count()} cores, {platform.machine()}.\n\n",
        "| part | how much (of `make test`'s) | minutes | result |\n|---|---|---|---|\n",
    ]
    lines += [
        f"| {title} | {amount} | {seconds / 60:.1f} | {result} |\n" for title, amount, seconds, result in rows
    ]
    (ROOT / "docs/soak.md").write_text("".join(lines))


def main():
    arguments = read_arguments()
    rows = [run_tests(title, pattern, times * arguments.rounds) for title, pattern, times in PARTS]
    rows.append(run_sanitized())
    rows += [run_elsewhere(arch) for arch in EMULATED]
    rows += [run_fuzzer(target, arguments.fuzz_seconds * arguments.rounds) for target in FUZZ_TARGETS]
    write_page(rows)
    print("soak: docs/soak.md has the results")
    return any(result not in ("passed", "not run") for *_, result in rows)


if __name__ == "__main__":
    sys.exit(main())
