"""One program for all batches and lengths of a transformer's encoder: measures it against ONNX Runtime and OpenVINO, which take any size as
well, and against programs of fixed size; writes the section "Open sizes" of docs/performance.md.

    build/venv/bin/python bench/open_sizes.py [--seconds S]

For an idle machine. All run in turn in one process, on one thread; times are the least of all runs.
"""

from __future__ import annotations

import argparse
import time

import intarsia
import numpy as np
import onnxruntime
import openvino
from measuring import BIN, OUT, json_of, processor, replace_section
from open_graphs import LAYERS, WIDTH, Encoder

import onnx

TITLE = "## Open sizes"
SIZES = [(1, 1), (1, 7), (1, 16), (1, 33), (1, 64), (1, 128), (1, 197), (8, 16), (2, 128)]
FIXED = [(1, 16), (1, 128)]


def compile_program(model, name: str, shape: str) -> dict:
    shapes = [part for one in ("ids", "mask") for part in ("--shape", f"{one}={shape}")]
    report = json_of(
        *(BIN / "intarsia", "compile", model, "-o", OUT / f"{name}.so", "--threads", 1, "-q", "--json"),
        *("--fallback", "none", *shapes),
    )
    return {"program": OUT / f"{name}.so", "seconds": report["compile_seconds"]}


def runners(model, programs: dict) -> dict:
    """Name -> function that runs the inputs."""
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    onnx_session = onnxruntime.InferenceSession(str(model), settings, providers=["CPUExecutionProvider"])
    compiled = openvino.Core().compile_model(
        str(model),
        "CPU",
        {"INFERENCE_NUM_THREADS": 1, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"},
    )
    request = compiled.create_infer_request()
    sessions = {name: intarsia.load(one["program"]).bind(threads=1) for name, one in programs.items()}
    return {
        **{name: session.run for name, session in sessions.items()},
        "ONNX Runtime": lambda given: onnx_session.run(None, given),
        "OpenVINO": lambda given: request.infer(given),
    }


def inputs(batch: int, length: int) -> dict:
    return {"ids": np.full((batch, length), 7), "mask": np.ones((batch, length), "int64")}


def time_in_turn(runs: dict, given: dict, seconds: float) -> dict[str, float]:
    """The least time of each, in ms."""
    best = dict.fromkeys(runs, float("inf"))
    end = time.perf_counter() + seconds
    rounds = 0
    while rounds < 5 or time.perf_counter() < end:
        for name in list(runs)[:: 1 if rounds % 2 == 0 else -1]:
            begin = time.perf_counter()
            runs[name](given)
            best[name] = min(best[name], 1e3 * (time.perf_counter() - begin))
        rounds += 1
    return best


def new_size_microseconds() -> float:
    """Median time that the first run of a length takes beyond the fastest of the next five, within memory that the session has: of
    a model with as many kernels as a BERT, but narrow, so that runs are short and their times vary little."""
    model = OUT / "narrow_encoder.onnx"
    onnx.save(Encoder(width=24, layers=12).model(), model)
    run = intarsia.load(compile_program(model, "narrow_encoder", "?x?")["program"]).bind(threads=1).run
    extra = []
    run(inputs(1, 100))  # the session has the memory for them
    for length in range(1, 60):
        given = inputs(1, length)
        times = []
        for _ in range(6):
            begin = time.perf_counter()
            run(given)
            times.append(time.perf_counter() - begin)
        extra.append(1e6 * (times[0] - min(times[1:])))
    return float(np.median(extra))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=4, help="time for each size (default: 4)")
    options = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    model = OUT / "encoder.onnx"
    onnx.save(Encoder().model(), model)
    programs = {"open": compile_program(model, "encoder_open", "?x?")}
    for batch, length in FIXED:
        programs[f"{batch}x{length}"] = compile_program(
            model, f"encoder_{batch}x{length}", f"{batch}x{length}"
        )
    all_runs = runners(model, programs)
    rows = []
    for batch, length in SIZES:
        name = f"{batch}x{length}"
        runs = {
            one: run for one, run in all_runs.items() if one in ("open", name, "ONNX Runtime", "OpenVINO")
        }
        best = time_in_turn(runs, inputs(batch, length), options.seconds)
        peer = min(best["ONNX Runtime"], best["OpenVINO"])
        fixed = f"{best[name]:.1f} ({best[name] / best['open']:.2f})" if name in best else ""
        rows.append(
            f"| {name} | {best['open']:.1f} | {best['ONNX Runtime']:.1f} | {best['OpenVINO']:.1f} |"
            f" {peer / best['open']:.2f} | {fixed} |"
        )
        print(rows[-1], flush=True)
    open_bytes, fixed_bytes = (programs[name]["program"].stat().st_size for name in ("open", "1x128"))
    about = (
        f"An encoder of {LAYERS} layers of {WIDTH} with batch and length open, one thread, on {processor()}, by"
        " `bench/open_sizes.py`: one program without frameworks for all sizes, against ONNX Runtime and OpenVINO with the"
        " same open model, and against programs of ours for one size. Least times in ms; a ratio above 1 means that the open"
        " program is faster."
    )
    rest = (
        f"The first run of a length takes {new_size_microseconds():.0f} us longer than the next ones, in such an encoder of 12 layers (median of"
        f" 59 lengths, within memory that the session has). The file is {open_bytes / fixed_bytes:.3f} times as large as that of one size, and compiles in"
        f" {programs['open']['seconds']:.1f} s instead of {programs['1x128']['seconds']:.1f}, with code that is known."
    )
    table = [
        "| batch x length | open | ONNX Runtime | OpenVINO | ratio to the faster | fixed size (ratio) |",
        "|---|---|---|---|---|---|",
        *rows,
    ]
    replace_section(TITLE, [TITLE, "", about, "", *table, "", rest, ""])


if __name__ == "__main__":
    main()
