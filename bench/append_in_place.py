"""Time of a decoder's word with its past in one buffer (append_in_place), and with the outputs in other buffers. Prints one JSON object.

    build/venv/bin/python bench/append_in_place.py [--past N] [--seconds S] [--layers N] [--threads N ...]

`apart`: the outputs are in buffers of their own, which all runs use. `in place`: they begin at the addresses of the past. The sessions of one
program run in turn; times are least and median.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time

import intarsia
import numpy as np
from measuring import OUT, THREADS, processor
from open_graphs import Decoder, RowsDecoder

import onnx

DECODERS = {"rows first": RowsDecoder, "heads first": Decoder}


class Way:
    """A session with its buffers, for one size of the past."""

    def __init__(
        self, program: intarsia.Program, decoder: Decoder, past: int, threads: int, in_place: bool
    ) -> None:
        self.session = program.bind(threads=threads, append_in_place=in_place)
        self.inputs: dict = {"ids": np.array([[1]])}
        self.outputs: dict = {"y": np.zeros((1, 1, 1000), "float32")}
        before, after = (decoder.past_shape(rows) for rows in (past, past + 1))
        random = np.random.default_rng(1)
        for name in (f"layer{n}_{{}}{kind}" for n in range(decoder.layers) for kind in ("keys", "values")):
            buffer = np.zeros(np.prod(after), "float32")
            given = buffer[: np.prod(before)] if in_place else np.zeros(np.prod(before), "float32")
            given[:] = random.standard_normal(given.shape)
            self.inputs[name.format("past_")] = given.reshape(before)
            self.outputs[name.format("")] = buffer.reshape(after)
        self.times: list[float] = []

    def run(self) -> None:
        begin = time.perf_counter()
        self.session.run(self.inputs, outputs=self.outputs)
        self.times.append(1e3 * (time.perf_counter() - begin))


def measure(name: str, past: int, layers: int, threads: int, seconds: float) -> dict:
    decoder = DECODERS[name](layers=layers)
    OUT.mkdir(parents=True, exist_ok=True)
    path = OUT / f"append_{name.replace(' ', '_')}.onnx"
    onnx.save(decoder.model(), path)
    options = {"threads": threads, "backends": ["halide"], "fallback": "none", "tune_at": {"past": [past]}}
    intarsia.compile(path, **options).save(path.with_suffix(".so"))
    program = intarsia.load(path.with_suffix(".so"))
    ways = {
        "apart": Way(program, decoder, past, threads, False),
        "in place": Way(program, decoder, past, threads, True),
    }
    for way in ways.values():
        way.run()
    np.testing.assert_array_equal(*(way.outputs["y"] for way in ways.values()))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for way in ways.values():
            way.run()
    return {
        way: {"least_ms": round(min(one.times), 3), "median_ms": round(statistics.median(one.times), 3)}
        for way, one in ways.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--past", type=int, default=512)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--threads", type=int, nargs="+", default=THREADS)
    options = parser.parse_args()
    found = {
        f"{name}, {threads} threads": measure(name, options.past, options.layers, threads, options.seconds)
        for name in DECODERS
        for threads in options.threads
    }
    print(json.dumps({"processor": processor(), "past": options.past} | found, indent=2))


if __name__ == "__main__":
    main()
