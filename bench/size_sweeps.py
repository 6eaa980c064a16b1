"""Time against size: one program for all sizes, against programs of ours for each size and against ONNX Runtime and OpenVINO with the same
open model. One size of a model varies at a time, at numbers drawn from its range. Writes the section "Time against size" of
docs/performance.md, its picture, and all times in build/bench/size_sweeps.json.

    build/venv/bin/python bench/size_sweeps.py [--seconds S] [--sizes N] [--seed N] [--only MODEL ...] [--threads N ...]

For an idle machine. All run in turn in one process; times are the least of all runs at a size, so that what a peer does at its first call
of a size does not count; `shuffled` is the time of one call of each size in a random order. With --only, the document stays as it is.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import random
import shutil
import sys
import time
from dataclasses import dataclass, field

import intarsia
import numpy as np
import onnxruntime
import openvino
from measuring import BIN, OUT, ROOT, THREADS, json_of, processor, replace_section
from open_graphs import Decoder, Encoder, Segmenter, lstm, open_pictures, perceptron, signal
from open_sizes import time_in_turn
from report import MODELS, geometric_mean

import onnx
from onnx import TensorProto

TITLE = "## Time against size"
PEERS = ("ONNX Runtime", "OpenVINO")
DTYPES = {TensorProto.FLOAT: "float32", TensorProto.INT64: "int64", TensorProto.INT32: "int32"}


@dataclass
class Sweep:
    """A model, of which one size varies in a range; the others are fixed."""

    name: str
    varies: str
    most: int
    least: int = 1
    others: dict[str, int] = field(default_factory=dict)
    tuned: tuple[int, ...] = (1,)  # sizes that are measured besides the drawn ones

    def model(self) -> pathlib.Path:
        if self.name in MODELS:
            return ROOT / f"build/models/{self.name}.onnx"
        path = OUT / f"sweep_{self.name.replace(' ', '_')}.onnx"
        makers = {
            "bert_2_layers": lambda: Encoder(layers=2).model(),
            "decoder": lambda: Decoder().model(),
            "lstm": lstm,
            "segmenter": lambda: Segmenter().model(),
            "signal": signal,
            "perceptron": perceptron,
        }
        if self.name.endswith(PICTURES):
            made = open_pictures(ROOT / f"build/models/{self.name.removesuffix(PICTURES)}.onnx")
        else:
            made = makers[self.name]()
        onnx.save(made, path)
        return path

    def sizes(self, count: int, seed: int) -> list[int]:
        drawn = random.Random(f"{seed} {self.name}").sample(range(self.least, self.most + 1), count)
        return sorted({*drawn, *self.tuned})


PICTURES = " (pictures)"
SWEEPS = [
    *[Sweep(name, "batch", 32) for name in MODELS],
    *[
        Sweep(name + PICTURES, "height", 320, 160, others={"width": 224}, tuned=(224,))
        for name in ("resnet50", "mobilenetv2", "densenet121", "inceptionv3")
    ],
    Sweep("signal", "length", 16000, 2000, tuned=(16000,)),
    Sweep("perceptron", "batch", 32),
    Sweep("bert_2_layers", "length", 384, others={"batch": 1}, tuned=(1, 16, 128)),
    Sweep("decoder", "past", 512, tuned=(1, 64, 512)),
    Sweep("lstm", "length", 384, others={"batch": 1}, tuned=(1, 16, 128)),
    Sweep("segmenter", "height", 320, 160, others={"width": 224}, tuned=(224,)),
    Sweep("segmenter", "width", 320, 160, others={"height": 224}, tuned=(224,)),
]


def shapes_at(model: onnx.ModelProto, sweep: Sweep, size: int) -> dict[str, tuple[object, list[int]]]:
    """Input -> element type and shape. A size with a name that the sweep does not know is the one that varies."""
    return {
        given.name: (
            given.type.tensor_type.elem_type,
            [
                axis.dim_value or sweep.others.get(axis.dim_param, size)
                for axis in given.type.tensor_type.shape.dim
            ],
        )
        for given in model.graph.input
    }


def inputs_at(shapes: dict) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(1)
    return {
        name: draw.standard_normal(shape, "float32")
        if dtype == TensorProto.FLOAT
        else np.ones(shape, DTYPES[dtype])
        for name, (dtype, shape) in shapes.items()
    }


def compile_program(model: pathlib.Path, name: str, threads: int, options: list[str]) -> intarsia.Session:
    program = OUT / f"sweep_{name}.so"
    json_of(
        *(BIN / "intarsia", "compile", model, "-o", program, "--fallback", "none", "--threads", threads),
        *("--cache", OUT / "sweep_cache", "-q", "--json", *options),
    )
    return intarsia.load(program).bind(threads=threads)


def peers(model: pathlib.Path, threads: int) -> dict:
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    settings.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(str(model), settings, providers=["CPUExecutionProvider"])
    hints = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    compiled = openvino.Core().compile_model(str(model), "CPU", {"INFERENCE_NUM_THREADS": threads} | hints)
    request = compiled.create_infer_request()
    return {
        "ONNX Runtime": lambda given: session.run(None, given),
        "OpenVINO": lambda given: request.infer(given, share_outputs=True),
    }


def fixed_program(path: pathlib.Path, shapes: dict, threads: int) -> intarsia.Session:
    options = []
    for name, (_, shape) in shapes.items():
        options += ["--shape", f"{name}={'x'.join(map(str, shape))}"]
    return compile_program(path, "fixed", threads, options)


def time_shuffled(runs: dict, all_inputs: dict[int, dict]) -> dict[str, float]:
    """Milliseconds of one call of each size but the first, in a random order, of which none was run before."""
    first, *order = all_inputs
    random.Random(1).shuffle(order)
    total = {}
    for name, run in runs.items():
        run(all_inputs[first])  # reads the weights
        begin = time.perf_counter()
        for size in order:
            run(all_inputs[size])
        total[name] = 1e3 * (time.perf_counter() - begin)
    return total


def measure(sweep: Sweep, threads: int, options: argparse.Namespace) -> dict:
    path = sweep.model()
    model = onnx.load(path, load_external_data=False)
    runs = {"open": compile_program(path, "open", threads, []).run, **peers(path, threads)}
    shapes = {size: shapes_at(model, sweep, size) for size in sweep.sizes(options.sizes, options.seed)}
    shuffled = time_shuffled(runs, {size: inputs_at(one) for size, one in shapes.items()})
    times = {}
    for size, one in shapes.items():
        fixed = fixed_program(path, one, threads).run
        times[size] = time_in_turn({**runs, "fixed": fixed}, inputs_at(one), options.seconds)
        numbers = ", ".join(f"{name} {ms:.2f}" for name, ms in times[size].items())
        print(
            f"{sweep.name}, {threads} threads, {sweep.varies} {size}: {numbers}", file=sys.stderr, flush=True
        )
    return {
        "model": sweep.name,
        "varies": sweep.varies,
        "threads": threads,
        "times": times,
        "shuffled": shuffled,
    }


def ratios(found: dict, against: tuple[str, ...]) -> dict[int, float]:
    return {size: min(best[name] for name in against) / best["open"] for size, best in found["times"].items()}


def row(found: dict) -> str:
    cells = []
    for against in (("fixed",), PEERS):
        by_size = ratios(found, against)
        worst = min(by_size, key=by_size.get)
        cells += [f"{geometric_mean(list(by_size.values())):.2f}", f"{by_size[worst]:.2f} ({worst})"]
    shuffled = min(found["shuffled"][name] for name in PEERS) / found["shuffled"]["open"]
    return f"| {found['model']} | {found['varies']} | {found['threads']} | {' | '.join(cells)} | {shuffled:.2f} |"


def means(results: list[dict]) -> str:
    texts = []
    for against in (("fixed",), PEERS):
        every = [ratio for found in results for ratio in ratios(found, against).values()]
        texts.append(f"{geometric_mean(every):.2f} (least {min(every):.2f})")
    return f"Geometric means over all sizes: {texts[0]} of fixed sizes, {texts[1]} against the faster peer."


def draw(results: list[dict], path: pathlib.Path) -> None:
    """A picture per model: time against size."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "intarsia"  # otherwise every picture has different ids
    from matplotlib import pyplot

    shown = [found for found in results if found["threads"] == 1]
    rows = -(-len(shown) // 3)
    figure, grid = pyplot.subplots(rows, 3, figsize=(9, 2.2 * rows), layout="constrained", squeeze=False)
    for axes in grid.flat[len(shown) :]:
        axes.set_axis_off()
    for found, axes in zip(shown, grid.flat, strict=False):
        sizes = sorted(found["times"])
        for name in ("open", "fixed", *PEERS):
            axes.plot(
                sizes,
                [found["times"][size][name] for size in sizes],
                marker=".",
                linewidth=1,
                linestyle=":" if name == "fixed" else "-",
                label=name,
            )
        axes.set_title(found["model"], fontsize=9)
        axes.set_xlabel(found["varies"], fontsize=8)
        axes.set_ylabel("ms", fontsize=8)
        axes.tick_params(labelsize=7)
    grid.flat[0].legend(fontsize=7)
    figure.savefig(path, metadata={"Date": None})


def section(results: list[dict], options: argparse.Namespace) -> list[str]:
    return [
        TITLE,
        "",
        f"One program without frameworks for all sizes, on {processor()}, by `bench/size_sweeps.py` (sizes drawn with seed {options.seed}),"
        " against programs of ours for just one size, and against the faster of ONNX Runtime and OpenVINO with the same open model. Ratios of the"
        " least times, above 1 where the open program is faster: geometric mean, and the worst with its size. *Shuffled*: each size called once, in"
        " random order, so that what a runtime does at a new size counts.",
        "",
        "| model | varies | threads | to fixed | worst | to the peer | worst | shuffled |",
        "|---|---|---|---|---|---|---|---|",
        *map(row, results),
        "",
        means(results),
        "",
        "![time against size, one thread](size_sweeps.svg)",
        "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=2, help="time for each size (default: 2)")
    parser.add_argument("--sizes", type=int, default=4, help="sizes drawn for each model (default: 4)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", metavar="MODEL", help="some of the models")
    parser.add_argument("--threads", nargs="+", type=int, default=THREADS)
    options = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(OUT / "sweep_cache", ignore_errors=True)
    results = [
        measure(sweep, threads, options)
        for sweep in SWEEPS
        if options.only is None or sweep.name in options.only
        for threads in options.threads
    ]
    (OUT / "size_sweeps.json").write_text(json.dumps(results, indent=1))
    lines = section(results, options)
    print("\n".join(lines[4:]))
    if options.only is None:
        draw(results, ROOT / "docs/size_sweeps.svg")
        replace_section(TITLE, lines)


if __name__ == "__main__":
    main()
