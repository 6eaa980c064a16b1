"""How long objects of the package live: close and with, garbage, pickles, fork, runs that asyncio awaits or cancels.

Covers: bindings/python/intarsia/ program.py compiler.py pipeline.py
"""

import asyncio
import copy
import gc
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import time
import weakref

import intarsia
import numpy as np
import pytest
from cli_models import TensorProto, helper, save, save_relu

X = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
WANT = np.maximum(X, 0)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lifetimes")
    intarsia.compile(save_relu(folder / "relu.onnx"), backends="reference").save(folder / "relu.so")
    return folder / "relu.so"


def open_files():
    return len(os.listdir("/proc/self/fd"))


def test_with_and_close(path):
    before = open_files()
    with intarsia.load(path) as program, program.bind() as session:
        first, second = program(x=X), session.run({"x": X})["y"]
        free = program.bind()
    for closed in (program, session, program, session):
        closed.close()  # twice is no error
    for use in (program.bind, program.verify, lambda: program(x=X), lambda: str(program)):
        with pytest.raises(intarsia.InvalidArgumentError, match="^the program is closed: load it again$"):
            use()
    for use in (lambda: session.run({"x": X}), session.alternative, lambda: session.set_trace(None)):
        with pytest.raises(intarsia.InvalidArgumentError, match="^the session is closed: make another"):
            use()
    with pytest.raises(intarsia.InvalidArgumentError, match="the program is closed"):
        intarsia.PipelineBuilder().add("stage", program)
    np.testing.assert_array_equal(free.run({"x": X})["y"], WANT)
    free.close()
    np.testing.assert_array_equal(first, WANT)
    np.testing.assert_array_equal(second, WANT)
    assert open_files() == before


def test_closing_while_other_threads_run(path):
    program = intarsia.load(path)
    outcomes = []

    def call():
        try:
            while True:
                np.testing.assert_array_equal(program(x=X), WANT)
        except intarsia.Error as error:
            outcomes.append(str(error))

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    program.close()
    for thread in threads:
        thread.join()
    assert outcomes == ["the program is closed: load it again"] * 4


def test_a_pipeline_is_closed_at_the_end_of_its_context(path):
    before = len(os.listdir("/proc/self/task"))
    with intarsia.PipelineBuilder().add("net", intarsia.load(path)).start() as pipeline:
        pipeline.push({"x": X})
        frame = pipeline.pop()
        assert repr(pipeline) == "<intarsia.Pipeline net: (x) -> (y)>"
        assert repr(frame) == "<intarsia.Frame 0: outputs y>"
    pipeline.close()
    assert pipeline.statistics[0].frames == 1 and "(closed)" in repr(pipeline)
    for use in (lambda: pipeline.push({"x": X}), pipeline.pop, pipeline.finish):
        with pytest.raises(intarsia.InvalidArgumentError, match="^the pipeline is closed: start another"):
            use()
    np.testing.assert_array_equal(frame.outputs["y"], WANT)
    end = time.monotonic() + 10
    while len(os.listdir("/proc/self/task")) > before and time.monotonic() < end:
        time.sleep(0.01)
    assert len(os.listdir("/proc/self/task")) <= before


def test_short_reprs(path):
    program = intarsia.load(path)
    signature = "(x: float32[2, 3]) -> (y: float32[2, 3])"
    assert repr(program) == f"<intarsia.Program {str(path)!r}: {signature}>"
    assert repr(program.bind()) == f"<intarsia.Session: {signature}>"
    program.close()
    assert repr(program).endswith(" (closed)>")
    model = path.with_suffix(".onnx")
    compiled = intarsia.compile(model, backends="reference")
    assert repr(compiled) == f"<intarsia.Compiled {str(model)!r}: reference@cpu>"
    profile = compiled.load().bind().profile({"x": X}, runs=5)
    assert repr(profile).startswith("<intarsia.Profile: ") and len(repr(profile)) < 80


def run_in_worker(program):
    return program(x=X)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles(path, protocol):
    program = intarsia.load(path)
    program(x=X)
    text = pickle.dumps(program, protocol)
    assert len(text) < 1000  # a path
    assert pickle.loads(text).path == str(path)
    for one in (intarsia.load(path.read_bytes()), intarsia.compile(path.with_suffix(".onnx"))):
        again = pickle.loads(pickle.dumps(one, protocol))
        np.testing.assert_array_equal(again(x=X), WANT)
    assert again.report == one.report
    np.testing.assert_array_equal(copy.deepcopy(program)(x=X), WANT)


def test_a_pickled_path_has_to_hold_the_same_program(path, tmp_path):
    other = tmp_path / "program.so"
    other.write_bytes(path.read_bytes())
    text = pickle.dumps(intarsia.load(other))
    os.utime(other, (0, 0))
    pickle.loads(text)  # a copy with another time is the same
    intarsia.compile(save_relu(tmp_path / "abs.onnx", op="Abs"), backends="reference").save(other)
    with pytest.raises(intarsia.CorruptError, match="program.so': another one than was pickled"):
        pickle.loads(text)
    other.unlink()
    with pytest.raises(FileNotFoundError, match="program.so"):
        pickle.loads(text)


def test_a_dry_run_pickles(path):
    dry = intarsia.compile(path.with_suffix(".onnx"), dry_run=True)
    with pytest.raises(intarsia.InvalidArgumentError, match="there is no program"):
        pickle.loads(pickle.dumps(dry)).load()


def test_what_belongs_to_a_process_is_not_pickled(path):
    program = intarsia.load(path)
    with intarsia.PipelineBuilder().add("net", program).start() as pipeline:
        for one, remedy in ((program.bind(), "pickle its Program"), (pipeline, "build one where")):
            with pytest.raises(TypeError, match=remedy):
                pickle.dumps(one)
    program.close()
    with pytest.raises(intarsia.InvalidArgumentError, match="is closed"):
        pickle.dumps(program)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_get_programs(path, method):
    programs = [intarsia.load(path), intarsia.load(path.read_bytes())]
    for program in programs:
        program(x=X)
    with multiprocessing.get_context(method).Pool(2) as pool:
        for result in pool.map(run_in_worker, programs * 3):
            np.testing.assert_array_equal(result, WANT)


def test_a_child_of_fork_awaits_and_does_not_take_its_parents_files(path):
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"""
import asyncio, os, sys, intarsia, numpy as np
compiled = intarsia.compile({str(path.with_suffix(".onnx"))!r}, backends="reference")
program = compiled.load()
x = {{"x": np.ones((2, 3), "float32")}}
print(asyncio.run(program.run_async(x))["y"].sum(), flush=True)
child = os.fork()
if child == 0:
    print(asyncio.run(program.run_async(x))["y"].sum(), flush=True)
    compiled.close()
    sys.exit(0)
print(os.waitpid(child, 0)[1], flush=True)
print(compiled.load()(**x).sum())
""",
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "6.0\n6.0\n0\n6.0\n", "")


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    """A program whose run takes milliseconds."""
    weights = np.random.default_rng(1).standard_normal((32, 32, 3, 3), "float32") / 20
    shape = (1, 32, 96, 96)
    model = save(
        tmp_path_factory.mktemp("slow") / "slow.onnx",
        [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1] * 4)]
        + [helper.make_node("Conv", ["c", "w"], ["y"], pads=[1] * 4)],
        [("x", TensorProto.FLOAT, shape)],
        [("y", TensorProto.FLOAT, shape)],
        [("w", weights)],
    )
    return intarsia.compile(model, tune="off").load(), np.ones(shape, "float32")


def test_many_runs_are_awaited_at_once_and_the_loop_goes_on(slow):
    program, x = slow
    wanted = [program(x=x * i) for i in range(4)]

    async def main():
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        ticking = asyncio.create_task(tick())
        results = await asyncio.gather(*(program.run_async({"x": x * (i % 4)}) for i in range(40)))
        ticking.cancel()
        return results, ticks

    results, ticks = asyncio.run(main())
    for i, result in enumerate(results):
        np.testing.assert_array_equal(result["y"], wanted[i % 4])
    assert ticks > 40
    assert len(program._idle) <= len(os.sched_getaffinity(0)) + 1


def test_cancelling_is_safe(slow):
    program, x = slow
    wanted = program(x=x)

    async def main():
        for pause in (0, 0.001, 0.004):
            tasks = [asyncio.create_task(program.run_async({"x": x * i})) for i in range(30)]
            await asyncio.sleep(pause)
            for task in tasks[1:]:
                task.cancel()
            done = await asyncio.gather(*tasks, return_exceptions=True)
            assert isinstance(done[0], dict)
            assert any(isinstance(one, asyncio.CancelledError) for one in done)
            np.testing.assert_array_equal((await program.run_async({"x": x}))["y"], wanted)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.gather(*(program.run_async({"x": x}) for _ in range(200))), 0.01)

    begin = time.monotonic()
    asyncio.run(main())
    np.testing.assert_array_equal(program(x=x), wanted)
    assert time.monotonic() - begin < 30


def test_an_error_of_an_awaited_run_is_its_own(path):
    program = intarsia.load(path)

    async def main():
        runs = [program.run_async({"x": X}), program.run_async({"z": X}), program.run_async({"x": X}, "f")]
        return await asyncio.gather(*runs, return_exceptions=True)

    right, unknown_input, unknown_function = asyncio.run(main())
    np.testing.assert_array_equal(right["y"], WANT)
    assert "no input 'z'" in str(unknown_input) and "no function 'f'" in str(unknown_function)
    program.close()
    with pytest.raises(intarsia.InvalidArgumentError, match="the program is closed"):
        asyncio.run(program.run_async({"x": X}))


def test_nothing_is_left_without_a_garbage_collector(path):
    gc.disable()
    try:
        before = open_files()
        program = intarsia.load(path.read_bytes())
        asyncio.run(program.run_async({"x": X}))
        alive = weakref.ref(program)
        del program
        end = time.monotonic() + 10
        while alive() is not None and time.monotonic() < end:
            time.sleep(0.001)  # its thread lets go of it after the loop has the result
        assert alive() is None and open_files() == before
    finally:
        gc.enable()
