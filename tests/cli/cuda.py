"""CUDA devices through the command line. On a machine without one, the driver is a fake (tests/support/fake_cuda.cc): programs
load, launches have the right arguments, errors are told; what kernels compute is only checked on a real device
(test_on_a_real_device, tests/device/cuda.cc, tests/backends/halide/on_devices.cc). NVIDIA's own assembler takes every program.

Covers: src/device/cuda/ api.cc devices.cc executor.cc programs.cc space.cc
src/device/ launched_region.h
"""

import os
import pathlib
import re
import subprocess

import numpy as np
import pytest
from cli_models import TensorProto, call_json, error_of, helper, save, skip_without_device

FLOAT = TensorProto.FLOAT
DEVICE = "cuda:0"
HALIDE = ("-d", DEVICE, "--pin", f"*=halide@{DEVICE}", "--tune", "off")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A kernel of most forms: contraction, depthwise, window, product, reduction, movement, elementwise, scan."""
    rng = np.random.default_rng(1)

    def weights(*shape):
        return rng.standard_normal(shape).astype(np.float32)

    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], "conv", pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["a", "d"], ["b"], "depthwise", group=8, pads=[1, 1, 1, 1]),
        helper.make_node("MaxPool", ["b"], ["c"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Transpose", ["c"], ["t"], "transpose", perm=[0, 3, 2, 1]),
        helper.make_node("Reshape", ["t", "rows"], ["f"], "flatten"),
        helper.make_node("MatMul", ["f", "m"], ["p"], "product"),
        helper.make_node("Softmax", ["p"], ["s"], "softmax", axis=1),
        helper.make_node("CumSum", ["s", "axis"], ["y"], "sums"),
    ]
    return save(
        tmp_path_factory.mktemp("cuda") / "model.onnx",
        nodes,
        [("x", FLOAT, [1, 3, 10, 12])],
        [("y", FLOAT, [6, 7])],
        [
            ("w", weights(8, 3, 3, 3)),
            ("d", weights(8, 1, 3, 3)),
            ("m", weights(40, 7)),
            ("rows", np.array([6, 40], np.int64)),
            ("axis", np.array(1, np.int64)),
        ],
    )


def fake(**settings):
    """The environment of a process that finds the fake driver."""
    folder = pathlib.Path(os.environ["INTARSIA_BUILD"]) / "tests/fake_cuda"
    assert (folder / "libcuda.so.1").exists()
    return {"LD_LIBRARY_PATH": str(folder)} | {f"FAKE_CUDA_{name}": str(v) for name, v in settings.items()}


@pytest.fixture(scope="module")
def program(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "model.so"
    report = call_json("compile", model, "-o", path, *HALIDE)
    assert [region["target"] for region in report["regions"]] == [f"halide@{DEVICE}"]
    assert [(copy["value"], copy["to"]) for copy in report["copies"]] == [("x", DEVICE), ("y", "cpu")]
    return path


def test_on_a_real_device(model, tmp_path):
    skip_without_device(DEVICE)
    call_json("compile", model, "-o", tmp_path / "real.so", *HALIDE)
    assert call_json("check", tmp_path / "real.so", "--against", "reference")["ok"]


def test_without_a_driver(program):
    names = {device["name"]: device for device in call_json("devices")["devices"]}
    if not names[DEVICE]["description"].startswith("not available"):
        pytest.skip("there is one")
    message = error_of("run", program)
    assert "device 'cuda:0': " in message and ("install the driver" in message or "no device" in message)


def test_devices_are_listed(program):
    names = {device["name"]: device for device in call_json("devices", env=fake())["devices"]}
    assert names["cuda:1"]["description"] == "Fake GPU 1 (compute capability 9.0, driver for CUDA 12.4)"
    assert "finds no device" in error_of("run", program, env=fake(DEVICES=0))
    assert "compute capability 7.0; kernels are made for 8.0" in error_of(
        "run", program, env=fake(CAPABILITY=7)
    )
    assert "there are 1 CUDA devices" in error_of(
        "run", program, "--bind", f"{DEVICE}=cuda:3", env=fake(DEVICES=1)
    )


def test_a_program_loads_and_runs(program):
    for device in ("cuda:0", "cuda:1"):
        [output] = call_json("run", program, "--bind", f"{DEVICE}={device}", env=fake())["outputs"]
        assert output["shape"] == [6, 7]


def assemble(texts, tmp_path):
    """For the two architectures; no work item keeps registers in memory."""
    package = pathlib.Path(next(iter(pytest.importorskip("nvidia").__path__)))
    assembler = tmp_path / "ptxas"
    assembler.write_bytes(
        (package / "cuda_nvcc/bin/ptxas").read_bytes()
    )  # the wheel does not mark it as a program
    assembler.chmod(0o755)
    for text in texts:
        for architecture in ("sm_80", "sm_90"):
            command = [str(assembler), f"-arch={architecture}", "-v", str(text), "-o", str(tmp_path / "code")]
            said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
            assert set(re.findall(r"(\d+) bytes spill", said)) == {"0"}, said


def test_the_assembler_takes_every_kernel(program, tmp_path):
    call_json("run", program, env=fake(PTX=tmp_path))
    texts = sorted(tmp_path.glob("*.ptx"))
    assert len(texts) >= 6
    assemble(texts, tmp_path)


def test_groups_sum_slices(tmp_path):
    """Where tiles are too few for a GPU, the items of a group each sum a slice of a tile's reduction."""

    def counts_of(size, channels):
        folder = tmp_path / str(size)
        folder.mkdir()
        model = save(
            folder / "model.onnx",
            [helper.make_node("Conv", ["x", "w"], ["y"], "conv")],
            [("x", FLOAT, [1, channels, size, size])],
            [("y", FLOAT, [1, 64, size, size])],
            [("w", np.ones((64, channels, 1, 1), np.float32))],
        )
        call_json("compile", model, "-o", folder / "program.so", *HALIDE, "--math", "exact")
        call_json("run", folder / "program.so", env=fake(PTX=folder))
        [kernel] = [text for text in folder.glob("*.ptx") if "fma.rn" in text.read_text()]
        assemble([kernel], tmp_path)
        return [kernel.read_text().count(word) for word in ("ld.shared", "bar.sync")]

    shared, barriers = counts_of(7, 256)
    assert shared > 0 and barriers == 1
    assert counts_of(200, 16) == [0, 0]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("cuMemAlloc:2", "bytes free): bind another device or pass --memory"),
        ("cuModuleLoadDataEx:218", "ptxas fatal: the fake's log"),
        ("cuModuleGetFunction:500", "cuModuleGetFunction failed: CUDA_ERROR_OF_THE_FAKE (500)"),
        ("cuLaunchKernel:1", "cuLaunchKernel failed"),
        (
            "cuEventSynchronize:700",
            "a kernel failed: CUDA_ERROR_OF_THE_FAKE (700): as the fake driver was told",
        ),
        ("cuMemcpyHtoDAsync:1", "cuMemcpyHtoDAsync failed"),
        ("cuMemcpyDtoHAsync:1", "cuMemcpyDtoHAsync failed"),
        ("cuStreamCreate:2", "cuStreamCreate failed"),
        ("cuInit:3", "cuInit failed"),
    ],
)
def test_errors_of_the_driver(program, fault, words):
    message = error_of("run", program, env=fake(FAIL=fault))
    assert words in message and "cuda:0" in message


def test_memory_too_small(program):
    assert "cannot allocate" in error_of("run", program, env=fake(FREE=1000))
