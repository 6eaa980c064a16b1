"""The Python package as a program uses it: threads, lifetimes, files that are replaced."""

import threading

import intarsia
import numpy as np
import pytest
from cli_models import TensorProto, helper, save

SHAPE = (1, 16, 48, 48)


def save_convolution(path, seed=1):
    """x -> y, some hundred microseconds long: runs of two threads overlap."""
    weights = np.random.default_rng(seed).standard_normal((16, 16, 3, 3), "float32")
    return save(path, [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
                       helper.make_node("Conv", ["c", "w"], ["y"], pads=[1, 1, 1, 1])],
                [("x", TensorProto.FLOAT, SHAPE)], [("y", TensorProto.FLOAT, SHAPE)], [("w", weights)])


@pytest.fixture
def convolution(tmp_path):
    return compile_to(tmp_path / "convolution.so", save_convolution(tmp_path / "convolution.onnx"))


def compile_to(program, model):
    intarsia.compile(str(model), tune="off").save(str(program))
    return program


def in_threads(count, work):
    """Calls work(0), work(1) ... at once; gives their results."""
    results = [None] * count

    def call(i):
        results[i] = work(i)

    threads = [threading.Thread(target=call, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_many_threads_call_one_program(convolution):
    program = intarsia.load(convolution)
    images = [np.random.default_rng(i).standard_normal(SHAPE, "float32") for i in range(8)]
    wanted = [program(x=image) for image in images]
    right = in_threads(8, lambda i: sum(np.array_equal(program(x=images[i]), wanted[i]) for _ in range(200)))
    assert right == [200] * 8


def test_a_session_in_two_threads_is_an_error(convolution):
    session = intarsia.load(convolution).bind()
    images = [np.full(SHAPE, i, "float32") for i in range(2)]
    wanted = [session.run({"x": image})["y"] for image in images]

    def work(i):
        done = refused = 0
        for _ in range(300):
            try:
                assert np.array_equal(session.run({"x": images[i]})["y"], wanted[i])
                done += 1
            except intarsia.Error as error:
                assert "the session is in use by another thread" in str(error)
                refused += 1
        return done + refused

    assert in_threads(2, work) == [300, 300]
