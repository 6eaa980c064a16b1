"""How close pipelines come to their slowest stage: with devices of declared times, and real ones.

    build/venv/bin/python bench/pipelines.py [--splits N] [--seconds S] [--seed N] [--document] [declared] [real] [one_core]

declared: a chain of products split at random over two devices that take declared times and the processor; the time that frames
should take by the slowest stage, the first frame through all of them, over the time that they took, aim 0.97. By the declared times
alone, and by what each stage takes for a frame that is alone, with its copies and the machine's late timers. real: ResNet50 in
two stages, on a core each, and on a core and OpenCL pinned to the other; in three, of which ONNX Runtime runs the middle one on the
other core; and a TensorFlow model that decodes JPEG on one core and classifies on the other. Frames per second times what the
busiest core's stages take for a frame that is alone, aim 0.9, and against the stages in turn, a frame at a time. one_core: the two stages in turn on one core against the
program that was compiled for latency, aim 1.03. All numbers go to build/bench/pipelines.json, from
which --document writes the section "Pipelines" of docs/performance.md. For an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import random
import sys
import time

import numpy as np
from measuring import BIN, OUT, ROOT, best_in_turn, json_of, replace_section

import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(ROOT / "build/release/python"))
import intarsia  # noqa: E402

CORES = sorted(os.sched_getaffinity(0))
LAYERS = 9
TITLE = "## Pipelines"


def make_chain(folder: pathlib.Path) -> pathlib.Path:
    nodes = [helper.make_node("MatMul", [f"v{i}", "w"], [f"v{i + 1}"], f"product{i}") for i in range(LAYERS)]
    graph = helper.make_graph(
        nodes,
        "chain",
        [helper.make_tensor_value_info("v0", TensorProto.FLOAT, [16, 16])],
        [helper.make_tensor_value_info(f"v{LAYERS}", TensorProto.FLOAT, [16, 16])],
        [numpy_helper.from_array(np.eye(16, dtype=np.float32), "w")],
    )
    path = folder / "chain.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def compile_stages(model: pathlib.Path, program: pathlib.Path, *options: object) -> dict:
    return json_of(
        BIN / "intarsia",
        "compile",
        model,
        "-o",
        program,
        "--objective",
        "throughput",
        "--json",
        "-q",
        *options,
    )


def declared_split(choices: random.Random, model: pathlib.Path) -> dict:
    """Two devices and the processor, each with a random part of the chain; the processor's takes next to nothing."""
    ms = [choices.uniform(0.5, 4) for _ in range(LAYERS)]
    times = OUT / "declared_times.json"
    times.write_text(json.dumps({"nodes": {f"product{i}": 1000 * ms[i] for i in range(LAYERS)}}))
    first, second = sorted(choices.sample(range(1, LAYERS), 2))
    program = OUT / "declared.so"
    devices = f"one=sim:0?times={times},two=sim:1?times={times},cpu"
    options = [
        "-d",
        devices,
        "--backends",
        "halide",
        "--tune",
        "off",
        "--cut",
        f"v{first}",
        "--cut",
        f"v{second}",
    ]
    compile_stages(model, program, *options)
    stages = [sum(ms[:first]), sum(ms[first:second])]
    frame = {"v0": np.zeros((16, 16), np.float32)}
    with intarsia.PipelineBuilder().add_stages(intarsia.load(program)).start(depth=2) as pipeline:
        run_lone_frames(pipeline, frame, 0.2)
        alone, _ = run_lone_frames(pipeline, frame, 0.5)
        frames = max(round(2000 / max(stages)), 100)
        took = 1e3 * frames / run_full(pipeline, frame, frames)
    return {
        "stages_ms": stages,
        "alone_ms": alone,
        "share": share_of(stages, frames, took),
        "share_of_alone": share_of(alone, frames, took),
    }


def share_of(stages: list[float], frames: int, took: float) -> float:
    """The time that frames should take by the slowest stage, the first one through all, over the time that they took."""
    return (sum(stages) + (frames - 1) * max(stages)) / took


def measure_declared(arguments: argparse.Namespace) -> dict:
    choices = random.Random(arguments.seed)
    model = make_chain(OUT)
    rows = [declared_split(choices, model) for _ in range(arguments.splits)]
    for key, of in (("share", "declared time"), ("share_of_alone", "time alone")):
        shares = sorted(row[key] for row in rows)
        print(
            f"declared: {len(rows)} splits, of 1 / slowest stage by its {of}: least {shares[0]:.3f}, "
            f"median {shares[len(rows) // 2]:.3f}"
        )
    return {"splits": rows}


def run_lone_frames(pipeline: intarsia.Pipeline, frame: dict, seconds: float) -> tuple[list[float], float]:
    """Milliseconds of each stage, and of a frame, with one frame inside at a time."""
    before = pipeline.statistics
    count, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        pipeline.push(frame)
        assert pipeline.pop().error is None
        count += 1
    took = time.perf_counter() - begin
    busy = [now.busy_ns - was.busy_ns for was, now in zip(before, pipeline.statistics)]
    return [1e-6 * each / count for each in busy], 1e3 * took / count


def run_full(pipeline: intarsia.Pipeline, frame: dict, count: int) -> float:
    """Frames per second with as many inside as there is room for."""
    begin = time.perf_counter()
    for done in pipeline.run_all([frame] * count, progress=False):
        assert done.error is None
    return count / (time.perf_counter() - begin)


def measure_real(name: str, seconds: float, model: pathlib.Path, frame: dict, *options: object) -> dict:
    """The share of 1 / the busiest core's time, and against the stages in turn; in the best of three rounds."""
    program = OUT / "real.so"
    executors = [stage["executors"][0] for stage in compile_stages(model, program, *options)["stages"]]
    rows = []
    with intarsia.PipelineBuilder().add_stages(intarsia.load(program)).start(depth=2) as pipeline:
        run_lone_frames(pipeline, frame, 1)
        for _ in range(3):
            stages, in_turn = run_lone_frames(pipeline, frame, seconds)
            busiest = max(
                sum(ms for ms, other in zip(stages, executors) if other == executor) for executor in executors
            )
            rate = run_full(pipeline, frame, max(round(1e3 * seconds / busiest), 20))
            rows.append(
                {
                    "name": name,
                    "stages": list(zip(executors, stages)),
                    "frames_per_second": rate,
                    "share": rate * busiest / 1e3,
                    "against_in_turn": rate * in_turn / 1e3,
                }
            )
    best = max(rows, key=lambda row: row["frames_per_second"])
    shares = ", ".join(f"{row['share']:.3f}" for row in rows)
    print(
        f"real: {name}: {best['frames_per_second']:.1f} frames/s, of 1 / busiest core {best['share']:.3f} (rounds: {shares}), "
        f"{best['against_in_turn']:.2f} x in turn; stages {best['stages']}",
        flush=True,
    )
    return best


def measure_all_real(arguments: argparse.Namespace) -> list[dict]:
    resnet = ROOT / "build/models/resnet50.onnx"
    jpeg = ROOT / "build/models/tensorflow/jpeg_classifier"
    first, last = CORES[0], CORES[-1]
    image = {"image": np.random.default_rng(1).random((1, 224, 224, 3), np.float32)}
    [file] = np.load(f"{jpeg}.inputs.npz").values()
    halves = ["--threads", 1, "--cut", middle_value(resnet)]
    three = ["--cut", "resnet50_1/conv3_block2_out_1/Relu:0", "--cut", "resnet50_1/conv4_block6_out_1/Relu:0"]
    middle = ["resnet50_1/conv3_block[34]*", "resnet50_1/conv4*"]
    cases = {
        "native on two cores": (resnet, image, "-d", f"cpu:{first},cpu:{last}", *halves),
        "native and opencl:0 on the other core": (
            resnet,
            image,
            "-d",
            f"cpu:{first},opencl:0?cores={last}",
            "--backends",
            "halide",
            *halves,
        ),
        "ONNX Runtime between native stages": (
            resnet,
            image,
            "-d",
            f"first=cpu:{first},middle=cpu:{last},last=cpu:{first}",
            "--threads",
            1,
            *three,
            *(option for names in middle for option in ("--pin", f"{names}=onnxruntime@middle")),
        ),
        "decoding in TensorFlow, native on the other core": (
            jpeg,
            {"files": file.astype(object)},
            "-d",
            f"cpu:{first},cpu:{last}",
            "--threads",
            1,
            "--cut",
            "resize/ResizeBilinear:0",
        ),
    }
    return [measure_real(name, arguments.seconds, *case) for name, case in cases.items()]


def middle_value(model: pathlib.Path) -> str:
    """What the node in the middle of the model makes: a residual sum, if there is one."""
    nodes = onnx.load(model, load_external_data=False).graph.node
    sums = [node for node in nodes if node.op_type == "Add"]
    return (sums[len(sums) // 2] if sums else nodes[len(nodes) // 2]).output[0]


def measure_one_core(arguments: argparse.Namespace) -> dict:
    """As a session: the stages one after the other, on one core."""
    resnet = ROOT / "build/models/resnet50.onnx"
    programs = [OUT / "whole.so", OUT / "two_stages.so"]
    core = f"cpu:{CORES[0]}"
    command = [
        "compile",
        resnet,
        "-o",
        programs[0],
        "-d",
        core,
        "--threads",
        1,
        "--backends",
        "halide",
        "-q",
        "--json",
    ]
    json_of(BIN / "intarsia", *command)
    cut = middle_value(resnet)
    compile_stages(resnet, programs[1], "-d", core, "--threads", 1, "--backends", "halide", "--cut", cut)
    whole, stages = best_in_turn(programs, 1, arguments.seconds, 4)
    print(f"one core: whole {whole:.2f} ms, two stages in turn {stages:.2f} ms: {stages / whole:.3f}")
    return {"whole_ms": whole, "stages_ms": stages, "ratio": stages / whole}


def spread_of(splits: list[dict], key: str) -> str:
    shares = sorted(row[key] for row in splits)
    return f"{shares[0]:.3f} to {shares[-1]:.3f}, median {shares[len(shares) // 2]:.3f}"


def document(kept: dict) -> list[str]:
    splits = kept["declared"]["splits"]
    rows = [
        f"| {row['name']} | {row['frames_per_second']:.1f} | {row['share']:.3f} | {row['against_in_turn']:.2f} x |"
        for row in kept["real"]
    ]
    return [
        TITLE,
        "",
        f"How close stages come to the slowest of them. {len(splits)} random splits of a chain over two devices of declared times",
        "and the processor: the time that frames should take, over the time that they took, by the declared times alone",
        f"{spread_of(splits, 'share')}; by what each stage takes for a frame that is alone {spread_of(splits, 'share_of_alone')}.",
        "Real stages: frames per second, of what the busiest core alone allows, and against the stages in turn (the best round of three).",
        f"The two stages of ResNet50 in turn on one core take {kept['one_core']['ratio']:.3f} of the whole.",
        "Written by `bench/pipelines.py`.",
        "",
        "| stages | frames/s | of the busiest core | against in turn |",
        "|---|---|---|---|",
        *rows,
        "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = {"declared": measure_declared, "real": measure_all_real, "one_core": measure_one_core}
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(parts))
    parser.add_argument("--splits", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--document", action="store_true", help="write the section of docs/performance.md")
    arguments = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    file = OUT / "pipelines.json"
    kept = json.loads(file.read_text()) if file.exists() else {}
    for part in arguments.parts or parts:
        kept[part] = parts[part](arguments)
        file.write_text(json.dumps(kept, indent=1) + "\n")
    if arguments.document:
        replace_section(TITLE, document(kept))


if __name__ == "__main__":
    main()
