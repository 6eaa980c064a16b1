"""Shared by the scripts that measure: where things are, and running a program that prints one JSON object."""

from __future__ import annotations

import json
import os
import pathlib
import platform
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
PYTHON = ROOT / "build/venv/bin/python"
BIN = ROOT / "build/bin"
OUT = ROOT / "build/bench"
THREADS = [count for count in (1, 2) if count <= len(os.sched_getaffinity(0))]


def json_of(*command: object) -> dict:
    return json.loads(
        subprocess.run([str(c) for c in command], check=True, stdout=subprocess.PIPE, text=True).stdout
    )


def processor() -> str:
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()
