"""A program on two OpenCL devices, one of which fails in the middle of a run, or is gone: what the error says, that the next run
works, and that another device takes its place. Faults come from a layer between the loader and the drivers. Skipped where
there is no device.

Covers: src/device/opencl/ executor.cc
src/runtime/ bind_program.cc
"""

import ctypes
import os

os.environ["OPENCL_LAYERS"] = os.environ["OPENCL_FAULTS_LAYER"]
os.environ["POCL_DEVICES"] = "basic basic"
os.environ["OCL_ICD_VENDORS"] = "/etc/OpenCL/vendors/pocl.icd"

import intarsia
import numpy as np
import pytest
from cli_models import TensorProto, helper, save, skip_without_device

NOT_AVAILABLE, OUT_OF_RESOURCES = -2, -5
INPUT = np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)


class Faults(ctypes.Structure):
    """struct OpenclFaults (tests/support/opencl_faults.h)."""

    _fields_ = [
        (name, ctypes.c_int)
        for name in ("only_device", "launch_code", "good_launches", "queue_code", "kernel_code", "lacks_f64")
    ] + [("memory_bytes", ctypes.c_long)]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Two regions: a = tanh(x) on one device, y = exp(a) on the other."""
    skip_without_device("opencl:1")
    return save(
        tmp_path_factory.mktemp("faults") / "model.onnx",
        [helper.make_node("Tanh", ["x"], ["a"], "tanh"), helper.make_node("Exp", ["a"], ["y"], "exp")],
        [("x", TensorProto.FLOAT, [2, 3])],
        [("y", TensorProto.FLOAT, [2, 3])],
    )


def compile_for(model, devices, pins, **options):
    return intarsia.compile(model, devices=devices, pins=pins, backends=["halide"], **options).load()


@pytest.fixture(scope="module")
def program(model):
    return compile_for(model, ["a=opencl:0", "b=opencl:1"], {"tanh": "halide@a", "exp": "halide@b"})


@pytest.fixture
def faults(program):
    """None injected before a test, and none left after it."""
    program.bind()  # the loader opens the layer with the first device
    layer = ctypes.CDLL(os.environ["OPENCL_FAULTS_LAYER"])
    injected = Faults.in_dll(layer, "opencl_faults")
    yield injected
    ctypes.memset(ctypes.addressof(injected), 0, ctypes.sizeof(injected))


def assert_right(result):
    np.testing.assert_allclose(result["y"], np.exp(np.tanh(INPUT)), rtol=1e-5)


def test_a_run_that_fails_names_region_and_device(program, faults):
    session = program.bind()
    assert_right(session.run({"x": INPUT}))
    faults.only_device, faults.launch_code = 2, OUT_OF_RESOURCES
    with pytest.raises(
        intarsia.OutOfMemoryError, match=r"halide@b.*exp.*'opencl:1'.*CL_OUT_OF_RESOURCES \(-5\)"
    ):
        session.run({"x": INPUT})
    faults.launch_code = 0
    assert_right(session.run({"x": INPUT}))


def test_another_device_of_the_kind_takes_the_place_of_a_lost_one(program, faults):
    session = program.bind()
    faults.only_device, faults.launch_code = 2, NOT_AVAILABLE
    with pytest.raises(intarsia.DeviceLostError, match="'opencl:1'"):
        session.run({"x": INPUT})
    elsewhere = program.bind({"b": "opencl:0"})
    assert_right(elsewhere.run({"x": INPUT}))
    swapped = program.bind({"a": "opencl:0", "b": "opencl:0"})
    assert_right(swapped.run({"x": INPUT}))


def test_the_host_takes_the_place_of_a_device_that_is_gone(model, faults):
    program = compile_for(model, ["a=opencl:1", "cpu"], {"*": "halide@a"}, also=["cpu"])
    session = program.bind()
    assert "halide@a" in session.alternative().targets
    del session
    faults.only_device, faults.queue_code = 2, NOT_AVAILABLE
    session = program.bind()
    assert "halide@cpu" in session.alternative().targets
    assert "opencl:1" in session.alternative().reason
    assert_right(session.run({"x": INPUT}))
