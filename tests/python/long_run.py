"""A process that runs and compiles for a long time gives the same answers at the end as at the beginning and needs no
more memory.

Covers: bindings/python/ module.cc compile_module.cc
"""

import os
import threading

import intarsia
import numpy as np
from cli_models import TensorProto, helper, save
from rounds import ROUNDS

SHAPE = (1, 8, 16, 16)
CALLS = 2000 * ROUNDS  # of each thread
COMPILES = 20 * ROUNDS
MEGABYTE = 1 << 20


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def save_model(path, seed=0):
    weights = np.random.default_rng(seed).standard_normal((8, 8, 3, 3), "float32")
    return save(
        path,
        [
            helper.make_node("Conv", ["x", "w"], ["c"], pads=[1] * 4),
            helper.make_node("Relu", ["c"], ["y"]),
        ],
        [("x", TensorProto.FLOAT, SHAPE)],
        [("y", TensorProto.FLOAT, SHAPE)],
        [("w", weights)],
    )


def test_running(tmp_path):
    """Four threads call one program and two of them load it anew now and then."""
    path = tmp_path / "program.so"
    intarsia.compile(str(save_model(tmp_path / "model.onnx")), tune="off").save(str(path))
    program = intarsia.load(path)
    images = [np.random.default_rng(i).standard_normal(SHAPE, "float32") for i in range(4)]
    wanted = [program(x=image) for image in images]
    wrong = [0] * 4

    def call(i, calls):
        mine = program
        for number in range(calls):
            if i < 2 and number % 100 == 0:
                mine = intarsia.load(path)
            wrong[i] += not np.array_equal(mine(x=images[i]), wanted[i])

    def call_in_threads(calls):
        threads = [threading.Thread(target=call, args=(i, calls)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    call_in_threads(500)
    before = resident_bytes()
    call_in_threads(CALLS)
    assert wrong == [0] * 4
    assert resident_bytes() - before < 8 * MEGABYTE


def test_compiling(tmp_path):
    """Models with other weights each time, so that nothing is the same as before."""

    def compile_all(first, count):
        for seed in range(first, first + count):
            model = save_model(tmp_path / "model.onnx", seed)
            intarsia.compile(str(model), tune="off").save(str(tmp_path / "program.so"))

    compile_all(0, 20)
    before = resident_bytes()
    compile_all(20, COMPILES)
    assert resident_bytes() - before < (8 + COMPILES / 100) * MEGABYTE
