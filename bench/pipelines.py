"""How close pipelines come to their slowest stage: with devices of declared times, and real ones.

    build/venv/bin/python bench/pipelines.py [--splits N] [--seconds S] [--seed N] [declared] [real] [one_core]

declared: a chain of products split at random over two devices that take declared times and the processor; the time that frames
should take by the slowest stage, the first frame through all of them, over the time that they took, aim 0.97. real: ResNet50 in
two stages, on a core each, and on a core and OpenCL held to the other; frames per second times the slowest stage's time alone, aim
0.9, and against the stages in turn (a session of the same program). one_core: the two stages in turn on one core against the
program that was compiled for latency, aim 1.03. All numbers go to build/bench/pipelines.json. For an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import random

import numpy as np
from measuring import BIN, OUT, ROOT, best_in_turn, json_of

import onnx
from onnx import TensorProto, helper, numpy_helper

CORES = sorted(os.sched_getaffinity(0))
LAYERS = 9


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


def run_frames(program: pathlib.Path, frames: int) -> dict:
    return json_of(BIN / "intarsia", "run", program, "--pipeline", "--runs", frames, "--json")


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
    frames = max(round(2000 / max(stages)), 100)
    took = 1e3 * run_frames(program, frames)["seconds"]
    return {"stages_ms": stages, "share": (sum(stages) + (frames - 1) * max(stages)) / took}


def measure_declared(arguments: argparse.Namespace) -> dict:
    choices = random.Random(arguments.seed)
    model = make_chain(OUT)
    rows = [declared_split(choices, model) for _ in range(arguments.splits)]
    shares = sorted(row["share"] for row in rows)
    print(
        f"declared: {len(rows)} splits, of 1 / slowest stage: least {shares[0]:.3f}, median {shares[len(rows) // 2]:.3f}"
    )
    return {"splits": rows}


def measure_real(name: str, seconds: float, model: pathlib.Path, *options: object) -> dict:
    """The share of 1 / the slowest stage alone, and of the stages in turn."""
    program = OUT / "real.so"
    report = compile_stages(model, program, *options)
    slowest = max(stage["measured_ms"] / len(stage["executors"]) for stage in report["stages"])
    rate = run_frames(program, max(round(1e3 * seconds / slowest), 20))["frames_per_second"]
    turn = json_of(BIN / "intarsia", "bench", program, "-t", seconds, "--json", "-q")["results"][0]["min_ms"]
    row = {
        "name": name,
        "stages": [[stage["executors"], stage["measured_ms"]] for stage in report["stages"]],
        "frames_per_second": rate,
        "share": rate * slowest / 1e3,
        "against_in_turn": rate * turn / 1e3,
    }
    print(
        f"real: {name}: {rate:.1f} frames/s, {row['share']:.3f} of 1 / slowest stage, {row['against_in_turn']:.2f} x in turn"
    )
    return row


def measure_all_real(arguments: argparse.Namespace) -> list[dict]:
    resnet = ROOT / "build/models/resnet50.onnx"
    first, last = CORES[0], CORES[-1]
    cut = middle_value(resnet)
    stages = ["--threads", 1, "--cut", cut]
    return [
        measure_real(
            "native on two cores", arguments.seconds, resnet, "-d", f"cpu:{first},cpu:{last}", *stages
        ),
        measure_real(
            "native and opencl:0 on the other core",
            arguments.seconds,
            resnet,
            "-d",
            f"cpu:{first},opencl:0?cores={last}",
            "--backends",
            "halide",
            *stages,
        ),
    ]


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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = {"declared": measure_declared, "real": measure_all_real, "one_core": measure_one_core}
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(parts))
    parser.add_argument("--splits", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    file = OUT / "pipelines.json"
    kept = json.loads(file.read_text()) if file.exists() else {}
    for part in arguments.parts or parts:
        kept[part] = parts[part](arguments)
        file.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
