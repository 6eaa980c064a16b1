"""The Python package as a program uses it: threads, lifetimes, files that are replaced.

Covers: bindings/python/ module.cc compile_module.cc value.cc
bindings/python/intarsia/ program.py values.py
"""

import gc
import os
import subprocess
import sys
import threading

import intarsia
import numpy as np
import pytest
from cli_models import TensorProto, helper, save

SHAPE = (1, 16, 48, 48)


def save_convolution(path, window=3):
    """x -> y, a few hundred microseconds long: runs of two threads overlap."""
    weights = np.random.default_rng(1).standard_normal((16, 16, window, window), "float32")
    pads = [window // 2] * 4
    return save(
        path,
        [
            helper.make_node("Conv", ["x", "w"], ["c"], pads=pads),
            helper.make_node("Conv", ["c", "w"], ["y"], pads=pads),
        ],
        [("x", TensorProto.FLOAT, SHAPE)],
        [("y", TensorProto.FLOAT, SHAPE)],
        [("w", weights)],
    )


def test_optimized_for_size(tmp_path):
    """The report says what the bytes are for."""
    model = save_convolution(tmp_path / "convolution.onnx")
    sizes = {}
    for wanted in ("speed", "size"):
        compiled = intarsia.compile(model, tune="off", backends="halide", optimize=wanted)
        compiled.save(tmp_path / f"{wanted}.so")
        sizes[wanted] = compiled.report["size"]
        assert sizes[wanted]["program_bytes"] == (tmp_path / f"{wanted}.so").stat().st_size
    assert sizes["speed"]["growths"] and not sizes["size"]["growths"]
    assert sizes["size"]["weights_bytes"] == 16 * 16 * 9 * 4
    with pytest.raises(intarsia.Error, match="optimize='beauty'|optimize=beauty"):
        intarsia.compile(model, optimize="beauty")


@pytest.fixture
def convolution(tmp_path):
    return compile_to(tmp_path / "convolution.so", save_convolution(tmp_path / "convolution.onnx"))


def compile_to(program, model):
    intarsia.compile(str(model), tune="off").save(str(program))
    return program


def in_threads(count, work):
    """Calls work(0), work(1) ... at once; returns their results."""
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


def test_programs_do_not_interfere_whatever_the_order_of_loading(tmp_path):
    files = [
        compile_to(tmp_path / f"{i}.so", save_convolution(tmp_path / f"{i}.onnx", window=i)) for i in (3, 5)
    ]
    x = np.ones(SHAPE, "float32")

    def run(program):
        return program.bind().run({"x": x})["y"]

    wanted = [run(intarsia.load(file)) for file in files]
    kept = intarsia.load(files[1])
    intarsia.load(files[1])  # and is freed: its identity for the dynamic loader may be reused
    for file, result in zip(files, wanted):
        assert np.array_equal(run(intarsia.load(file)), result)
    assert np.array_equal(run(kept), wanted[1])


def test_a_program_that_was_called_is_freed_with_its_last_reference(convolution):
    gc.disable()
    try:
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(20):
            intarsia.load(convolution)(x=np.ones(SHAPE, "float32"))
        assert len(os.listdir("/proc/self/fd")) == before
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "change", [lambda path: os.truncate(path, 0), lambda path: path.write_bytes(b"x" * path.stat().st_size)]
)
def test_a_file_changed_in_place_does_not_end_the_process(tmp_path, change):
    """A program without constants: everything that runs is a copy."""
    model = save(
        tmp_path / "relu.onnx",
        [helper.make_node("Relu", ["x"], ["y"])],
        [("x", TensorProto.FLOAT, [4096])],
        [("y", TensorProto.FLOAT, [4096])],
    )
    path = compile_to(tmp_path / "relu.so", model)
    os.utime(path, (0, 0))
    program = intarsia.load(path)
    x = np.linspace(-1, 1, 4096, dtype="float32")
    wanted = program(x=x)
    change(path)
    assert np.array_equal(program(x=x), wanted)
    for use in (program.bind, program.verify):
        with pytest.raises(intarsia.Error, match="changed in place"):
            use()


def test_compiling_only_for_its_report(tmp_path):
    model = save_convolution(tmp_path / "convolution.onnx")
    printed = []
    stopped = intarsia.compile(
        str(model), stop_after="place_nodes", print_after="place_nodes", print=printed.append
    )
    assert len(printed) == 1 and printed[0].startswith("# after place_nodes")
    for name in intarsia.pass_names():
        printed.clear()
        compiled = intarsia.compile(
            str(model), stop_after=name, print_after=name, print=printed.append, tune="off"
        )
        assert len(printed) == 1 and printed[0].startswith(f"# after {name}\n"), name
        assert len(printed[0].splitlines()) > 1, name
        assert compiled.report["program"] is None, name
    dry = intarsia.compile(str(model), dry_run=True, tune="off")
    assert dry.report["compile_seconds"] > 0
    for compiled in (stopped, dry):
        with pytest.raises(intarsia.InvalidArgumentError, match="there is no program"):
            compiled.load()


def test_what_a_run_does_can_be_watched(convolution):
    session = intarsia.load(convolution).bind(threads=1)
    x = np.ones(SHAPE, "float32")
    plain = session.run({"x": x})["y"]
    values, events = {}, []
    session.set_dump(values.__setitem__)
    session.set_trace(lambda *event: events.append(event))
    session.run({"x": x})
    session.set_dump(None)
    session.set_trace(None)
    assert np.array_equal(values["y"], plain)
    assert {kind for _, kind, _, _, _ in events} == {"region", "kernel"}
    assert all(begin <= end for _, _, _, begin, end in events)
    seen = len(events)
    session.run({"x": x})
    assert len(events) == seen

    def refuse(name, value):
        raise KeyError(name)

    session.set_dump(refuse)
    with pytest.raises(KeyError, match="y"):
        session.run({"x": x})
    session.set_dump(None)
    assert np.array_equal(session.run({"x": x})["y"], plain)


def test_profile(convolution):
    session = intarsia.load(convolution).bind(threads=1)
    x = np.ones(SHAPE, "float32")
    events = []
    session.set_trace(lambda *event: events.append(event))
    profile = session.profile({"x": x}, runs=6)
    assert events == []
    assert isinstance(profile, intarsia.Profile) and profile.runs == 6
    assert 0 < sum(entry.time_ns for entry in profile.entries) <= profile.run_ns
    products = [entry for entry in profile.entries if entry.flops]
    assert [entry.flops for entry in products] == [2 * (16 * 48 * 48) * (16 * 3 * 3)] * 2
    for entry in products:
        assert (entry.kind, entry.target, entry.dtype) == ("kernel", "halide@cpu", "float32")
        assert entry.shape == SHAPE and entry.weights_shape == (16, 16, 3, 3) and entry.algorithm
        assert [op for _, op in entry.nodes] == ["Conv"]
    session.run({"x": x})
    assert events != []
    with pytest.raises(intarsia.Error, match="x"):
        session.profile({})


def test_what_runs_is_the_chosen_way(convolution):
    chosen = intarsia.load(convolution).bind().alternative()
    assert (chosen.number, chosen.targets, chosen.reason) == (0, "halide@cpu", None)
    with pytest.raises(intarsia.InvalidArgumentError):
        intarsia.load(convolution).bind().alternative("other")


def test_what_runs_where_a_library_is_missing(tmp_path):
    """ONNX Runtime is faster than the reference kernels; without it they run."""
    model, program = save_convolution(tmp_path / "model.onnx"), tmp_path / "model.so"
    intarsia.compile(
        str(model), backends=["reference", "onnxruntime"], cache=str(tmp_path / "cache"), print=None
    ).save(str(program))
    assert intarsia.load(program).bind().alternative().targets == "onnxruntime@cpu"
    script = f"import intarsia; print(intarsia.load({str(program)!r}).bind().alternative())"
    missing = {**os.environ, "INTARSIA_ONNXRUNTIME": str(tmp_path / "nothing.so")}
    done = subprocess.run(
        [sys.executable, "-c", script], env=missing, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.startswith("Alternative(number=1, targets='reference@cpu', measured_ns=")
    assert "nothing.so" in done.stdout


def test_checking_with_given_inputs(convolution, tmp_path):
    x = np.random.default_rng(5).standard_normal(SHAPE, "float32")
    report = intarsia.check(convolution, inputs={"x": x}, bind={"cpu": "cpu"}, against="reference")
    assert report["ok"]
    with pytest.raises(intarsia.InvalidArgumentError, match="no input 'z'"):
        intarsia.check(convolution, inputs={"z": x})
    with pytest.raises(intarsia.NotFoundError, match="abacus"):
        intarsia.check(convolution, bind={"cpu": "abacus:1"})
