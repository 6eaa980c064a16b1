"""Programs for another architecture: what this machine's compiler makes, run there by an emulator, computes what programs for
this machine compute.

Covers: src/base/ architecture.cc cpu_level.cc
src/compile/ link_objects.cc
src/program/ cpu_features_hwcap.cc verify_machine.cc
backends/halide/build/ compile_kernel.cc
backends/halide/emit/ glue_object.cc
"""

import os
import subprocess

import numpy as np
import onnx
import pytest
from cli_models import SOURCE, call, call_json
from onnx import TensorProto, helper, numpy_helper

ARCH = os.environ["INTARSIA_ARCH"]
RUNNER = os.environ["INTARSIA_RUNNER"].split()
OPTIONS = ("--fallback", "none", "--tune", "off")


def run_there(program, folder, emulator=(), status=0):
    command = [*RUNNER[:-1], *emulator, RUNNER[-1], program, folder]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stderr


def save(path, nodes, inputs, outputs, constants):
    graph = helper.make_graph(
        nodes,
        "model",
        [helper.make_tensor_value_info(name, dtype, shape) for name, dtype, shape in inputs],
        [helper.make_tensor_value_info(name, dtype, None) for name, dtype in outputs],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(
        onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=opsets, ir_version=8)), path
    )


def random(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def convolutions(path):
    """Winograd, depthwise, pointwise and strided convolutions, pooling, a product, softmax and the largest scores."""
    nodes = [
        helper.make_node("Conv", ["x", "w3"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "wd"], ["c"], pads=[1, 1, 1, 1], group=24),
        helper.make_node("Clip", ["c", "low", "high"], ["d"]),
        helper.make_node("Conv", ["d", "w1"], ["e"], strides=[2, 2]),
        helper.make_node("MaxPool", ["e"], ["f"], kernel_shape=[3, 3], strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["f"], ["g"]),
        helper.make_node("Flatten", ["g"], ["h"]),
        helper.make_node("Gemm", ["h", "wm", "bm"], ["i"], transB=1),
        helper.make_node("Softmax", ["i"], ["y"]),
        helper.make_node("TopK", ["i", "k"], ["best", "places"]),
    ]
    constants = {
        "w3": random(1, 24, 5, 3, 3),
        "wd": random(2, 24, 1, 3, 3),
        "w1": random(3, 19, 24, 1, 1),
        "wm": random(4, 13, 19),
        "bm": random(5, 13),
        "low": np.float32(0),
        "high": np.float32(6),
        "k": np.array([3]),
    }
    outputs = [("y", TensorProto.FLOAT), ("best", TensorProto.FLOAT), ("places", TensorProto.INT64)]
    save(path, nodes, [("x", TensorProto.FLOAT, [2, 5, 27, 27])], outputs, constants)


def functions(path):
    """Functions of single elements, sums, maxima and a normalization, whose code is mathematics of Halide's."""
    names = ("Exp", "Tanh", "Sigmoid", "Erf", "Softplus", "Sin", "Round", "Sqrt")
    nodes = [helper.make_node("Abs", ["x"], ["p"])]
    nodes += [helper.make_node(name, ["p" if name == "Sqrt" else "x"], [name]) for name in names]
    nodes += [helper.make_node("Add", [names[0], names[1]], ["s1"])]
    for i, name in enumerate(names[2:]):
        nodes.append(helper.make_node("Add", [f"s{i + 1}", name], [f"s{i + 2}"]))
    nodes += [
        helper.make_node("LayerNormalization", [f"s{len(names) - 1}", "scale"], ["y"]),
        helper.make_node("ReduceMax", ["y"], ["most"], axes=[0]),
    ]
    outputs = [("y", TensorProto.FLOAT), ("most", TensorProto.FLOAT)]
    save(path, nodes, [("x", TensorProto.FLOAT, [7, 33])], outputs, {"scale": random(6, 33)})


def attention(path):
    nodes = [
        helper.make_node("MatMul", ["x", "wq"], ["q"]),
        helper.make_node("MatMul", ["x", "wk"], ["k"]),
        helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["q", "kt"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["parts"]),
        helper.make_node("MatMul", ["parts", "x"], ["y"]),
    ]
    constants = {"wq": random(7, 40, 24), "wk": random(8, 40, 24)}
    save(path, nodes, [("x", TensorProto.FLOAT, [2, 17, 40])], [("y", TensorProto.FLOAT)], constants)


def quantized(path):
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("QLinearConv", ["q", "s", "z", "w", "ws", "wz", "s", "z"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("DequantizeLinear", ["c", "s", "z"], ["y"]),
    ]
    constants = {
        "s": np.float32(0.05),
        "z": np.uint8(128),
        "w": np.random.default_rng(9).integers(-127, 128, (16, 8, 3, 3)).astype(np.int8),
        "ws": np.float32(0.002),
        "wz": np.int8(0),
    }
    save(path, nodes, [("x", TensorProto.FLOAT, [1, 8, 14, 14])], [("y", TensorProto.FLOAT)], constants)


def lstm(path):
    nodes = [helper.make_node("LSTM", ["x", "w", "r"], ["y", "h"], hidden_size=12)]
    constants = {"w": 0.3 * random(10, 1, 48, 9), "r": 0.3 * random(11, 1, 48, 12)}
    outputs = [("y", TensorProto.FLOAT), ("h", TensorProto.FLOAT)]
    save(path, nodes, [("x", TensorProto.FLOAT, [5, 2, 9])], outputs, constants)


def compare(model, folder, *options, threads=2, tolerance=1e-4, run=run_there):
    """Compiles a model for both machines and runs it on both, there by `run`, with the shapes of its program."""
    options = (*OPTIONS, *options, "--threads", threads)
    call("compile", model, "-o", folder / "here.so", *options)
    call("compile", model, "-o", folder / "there.so", "--arch", ARCH, *options)
    explained = call_json("explain", folder / "here.so")
    given = []
    for number, value in enumerate(explained["inputs"]):
        name, array = value["name"], random(100 + number, *value["shape"])
        np.save(folder / f"{name}.npy", array)
        array.tofile(folder / f"{name}.in")
        given += ["-i", f"{name}={folder}/{name}.npy"]
    (folder / "out").mkdir()
    call("run", folder / "here.so", *given, "-o", folder / "out")
    run(folder / "there.so", folder)
    for value in explained["outputs"]:
        here = np.load(folder / "out" / f"{value['name']}.npy")
        there = np.fromfile(folder / f"{value['name']}.out", here.dtype).reshape(here.shape)
        if here.dtype == np.float32:
            assert np.isfinite(there).all()
            assert np.abs(here - there).max() <= tolerance * np.abs(here).max(), value["name"]
        else:
            assert (here == there).all(), value["name"]


@pytest.mark.parametrize("make", [convolutions, functions, attention, lstm], ids=lambda make: make.__name__)
def test_small_models_compute_the_same(tmp_path, make):
    make(tmp_path / "model.onnx")
    compare(tmp_path / "model.onnx", tmp_path)


def test_integers_of_8_bits_compute_the_same(tmp_path):
    quantized(tmp_path / "model.onnx")
    # QEMU 7.2 ends with an assertion of its own where code for RISC-V with threads has vfcvt.rtz.x.f.v.
    compare(tmp_path / "model.onnx", tmp_path, threads=1 if ARCH == "riscv64" else 2, tolerance=0)


def test_a_real_model_computes_the_same(tmp_path):
    model = SOURCE / "build/models/mobilenetv2.onnx"
    if not model.exists():
        pytest.skip("make models makes it")
    compare(model, tmp_path, "--shape", "image=1x224x224x3")


@pytest.mark.skipif(ARCH != "aarch64", reason="has CPUs of two levels")
def test_a_program_for_more_than_the_cpu_has_names_both(tmp_path):
    functions(tmp_path / "model.onnx")
    random(100, 7, 33).tofile(tmp_path / "x.in")
    call(
        "compile",
        tmp_path / "model.onnx",
        "-o",
        tmp_path / "p.so",
        "--arch",
        ARCH,
        "--cpu",
        "cortex-a76",
        *OPTIONS,
    )
    run_there(tmp_path / "p.so", tmp_path, ("-cpu", "cortex-a76"))
    said = run_there(tmp_path / "p.so", tmp_path, ("-cpu", "cortex-a53"), status=1)
    assert "which needs dotprod, but this CPU lacks dotprod and has only asimd" in said


@pytest.mark.skipif(ARCH != "aarch64", reason="has CPUs of two levels")
def test_a_machine_takes_the_most_demanding_variant_that_it_runs(tmp_path):
    functions(tmp_path / "model.onnx")
    random(100, 7, 33).tofile(tmp_path / "x.in")
    cpus = ("--arch", ARCH, "--cpu", "armv8-a,cortex-a76")
    call("compile", tmp_path / "model.onnx", "-o", tmp_path / "p.so", *cpus, *OPTIONS)
    for cpu in ("cortex-a53", "cortex-a76"):
        run_there(tmp_path / "p.so", tmp_path, ("-cpu", cpu))


def test_programs_for_another_architecture_are_refused(tmp_path):
    functions(tmp_path / "model.onnx")
    call("compile", tmp_path / "model.onnx", "-o", tmp_path / "p.so", *OPTIONS)
    said = run_there(tmp_path / "p.so", tmp_path, status=1)
    assert f"compiled for x86_64, but this machine is {ARCH}" in said
