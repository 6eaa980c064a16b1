"""Greedy decoding by a loop over tokens, one program of ours without a framework, against ONNX Runtime on the same model.

    PYTHONPATH=tests/support build/venv/bin/python bench/decoder.py [--seconds S]

An attention layer over a cache of fixed size and a layer of products, for as many tokens as the input says. Compiled without times from
before. Both run in turn in one process; times are the least.
"""

from __future__ import annotations

import argparse
import pathlib

import numpy as np
import onnxruntime
from bound_models import bind_ours, open_onnxruntime
from control_flow_models import save_decoder
from measuring import OUT, THREADS, processor, times_in_turn

SIZES = ((64, 256, 64), (256, 4096, 128), (512, 8192, 256))  # width, words, length of the cache


def measure(
    model: pathlib.Path, given: dict[str, np.ndarray], threads: int, seconds: float
) -> dict[str, float]:
    ours = bind_ours(model, model.with_suffix(f".{threads}.so"), threads)
    theirs = open_onnxruntime(model, threads)
    runs = {"ours": lambda: ours.run(given), "theirs": lambda: theirs.run(None, given)}
    return {name: 1e3 * min(times) for name, times in times_in_turn(runs, seconds).items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=5, help="of each comparison")
    arguments = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    print(f"ONNX Runtime {onnxruntime.__version__}, {processor()}\n")
    print("| width | words | tokens | threads | ours, ms | ONNX Runtime, ms | its time / ours |")
    print("|---|---|---|---|---|---|---|")
    for width, words, length in SIZES:
        model = save_decoder(OUT / f"decoder_{width}.onnx", width=width, words=words, length=length)
        given = {"steps": np.array(length, "int64"), "first": np.array([1], "int64")}
        for threads in THREADS:
            ms = measure(model, given, threads, arguments.seconds)
            cells = [width, words, length, threads, f"{ms['ours']:.2f}", f"{ms['theirs']:.2f}"]
            print(f"| {' | '.join(map(str, cells))} | {ms['theirs'] / ms['ours']:.2f} |", flush=True)


if __name__ == "__main__":
    main()
