#!/usr/bin/env python3
"""Writes the passes' current results into the golden cases (tests/cases). Look at the diff before committing it.

scripts/update_cases.py [BUILD_FOLDER]"""

import os
import pathlib
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
build = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root / "build" / "release"
for name in ("passes_tests", "halide_tests"):
    subprocess.run(["cmake", "--build", build, "--target", name], check=True)
    program = next(
        folder / "bin" / name for folder in (build, build.parent) if (folder / "bin" / name).exists()
    )
    subprocess.run(
        [program, "--gtest_brief=1", "--gtest_filter=Cases/*"],
        env={**os.environ, "INTARSIA_UPDATE_CASES": "1"},
    )
subprocess.run(["git", "-C", root, "diff", "--stat", "--", "tests/cases"])
