"""The backend cases of the onnx package, compiled for another architecture and run there by an emulator: one of 40; with more
rounds all.

Covers: backends/halide/build/ half_floats_as_bits.cc
backends/halide/emit/ dot_tiles_neon.c
"""

import numpy as np
import pytest
from onnx_cases import compare, load_cases, read_exceptions
from programs import ARCH, run_there
from rounds import one_in

import intarsia

REFUSED = read_exceptions("unsupported_fallback_none.txt")
NUMBERS = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64".split()


def is_of_numbers(case):
    """Whether the emulated program can read and write the values of a case."""
    values = [value for inputs, outputs in case.data_sets for value in (*inputs, *outputs)]
    return all(isinstance(value, np.ndarray) and value.dtype.name in NUMBERS for value in values)


CASES = one_in(40, [case for case in load_cases() if case.name not in REFUSED and is_of_numbers(case)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cases")


def run_case(program, outputs, inputs, folder):
    for name, value in inputs.items():
        np.ascontiguousarray(value).tofile(folder / f"{name}.in")
    run_there(program, folder)
    return [np.fromfile(folder / f"{name}.out", want.dtype).reshape(want.shape) for name, want in outputs]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case, folder):
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    inputs, expected = case.data_sets[0]
    shapes = {info.name: np.shape(value) for info, value in zip(case.model.graph.input, inputs)}
    options = {"fallback": "none", "backends": ["halide", "reference"], "tune": "off", "threads": 1}
    program = folder / "program.so"
    intarsia.compile(folder / "model.onnx", shapes=shapes, arch=ARCH, **options).write(program)
    outputs = list(zip([info.name for info in case.model.graph.output], expected))
    difference = compare(case, lambda given: run_case(program, outputs, given, folder))
    assert not difference
