"""A decoder's past that grows in one buffer: the output that continues it begins at its address.

Covers: bindings/python/ module.cc
bindings/python/intarsia/ program.py values.py
src/runtime/ bind_arguments.cc prepare_function.cc
src/compile/ build_function.cc
backends/halide/runtime/ open_region.cc region_executable.cc
"""

import ctypes
import mmap
from concurrent.futures import ThreadPoolExecutor

import intarsia
import numpy as np
import pytest
from cli_models import save
from onnx import TensorProto, helper

FLOAT = TensorProto.FLOAT
ROW = [4, 256]  # a page of floats
LIBC = ctypes.CDLL(None, use_errno=True)


def compile_decoder(folder, past=(1, "past", *ROW), axis=1, names=("keys",), first="past", **options):
    """present = Concat(past, 2 * new) along the axis, and the sum over it."""
    folder.mkdir(exist_ok=True)
    new = [1 if i == axis else size for i, size in enumerate(past)]
    total = [
        past[axis] + 1 if isinstance(past[axis], int) else None if i == axis else size
        for i, size in enumerate(past)
    ]
    present = [total[i] if i == axis else size for i, size in enumerate(past)]
    sums = [size for i, size in enumerate(past) if i != axis]
    nodes, outputs = [], []
    for name in names:
        parts = ["past", f"{name}_new"] if first == "past" else [f"{name}_new", "past"]
        nodes += [
            helper.make_node("Mul", ["new", "two"], [f"{name}_new"]),
            helper.make_node("Concat", parts, [name], axis=axis),
            helper.make_node("ReduceSum", [name, "axis"], [f"{name}_sum"], keepdims=0),
        ]
        outputs += [(name, FLOAT, present), (f"{name}_sum", FLOAT, sums)]
    constants = [("two", np.float32(2)), ("axis", np.array([axis]))]
    inputs = [("past", FLOAT, list(past)), ("new", FLOAT, new)]
    model = save(folder / "decoder.onnx", nodes, inputs, outputs, constants, opsets=(("", 18),))
    shapes = {
        name: [None if isinstance(size, str) else size for size in shape]
        for name, shape in (("past", past), ("new", new))
    }
    intarsia.compile(model, **{"tune": "off", "fallback": "none", "shapes": shapes} | options).save(
        folder / "decoder.so"
    )
    return intarsia.load(folder / "decoder.so")


def pages(count):
    """Floats in pages of their own."""
    return np.frombuffer(mmap.mmap(-1, count * mmap.PAGESIZE), "float32")


def protect(array, rights):
    assert LIBC.mprotect(ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes), rights) == 0


def append(session, buffer, shape_of, row, random):
    """Appends a row to `row` rows at the start of the buffer; returns the new present, as a view, and the sum."""
    past, present = (buffer[: np.prod(shape)].reshape(shape) for shape in (shape_of(row), shape_of(row + 1)))
    new = random.standard_normal(shape_of(1)).astype("float32")
    got = session.run({"past": past, "new": new}, outputs={"keys": present, "keys_sum": None})
    assert got["keys"] is present
    assert present.ctypes.data == past.ctypes.data
    return new, present, got["keys_sum"]


def expect_grows(program, shape_of, axis, rows=9, offset=0):
    """Appends in one buffer, `offset` bytes after an aligned address, what a session without the option computes in
    new ones."""
    session, plain = program.bind(append_in_place=True), program.bind()
    memory = np.zeros(4 * np.prod(shape_of(rows)) + 8, "uint8")
    buffer = memory[offset : len(memory) - 8 + offset].view("float32")
    random = np.random.default_rng(1)
    past = np.zeros(shape_of(0), "float32")
    for row in range(rows):
        new, present, total = append(session, buffer, shape_of, row, random)
        wanted = plain.run({"past": past, "new": new})
        np.testing.assert_array_equal(present, wanted["keys"])
        np.testing.assert_array_equal(present, np.concatenate([past, 2 * new], axis))
        np.testing.assert_allclose(total, wanted["keys_sum"], rtol=1e-5, atol=1e-5)
        past = wanted["keys"]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "past, axis", [((1, "past", *ROW), 1), (("batch", "past", *ROW), 1), (("past", 1024), 0)], ids=str
)
def test_the_past_is_not_written(tmp_path, past, axis, threads):
    """Its pages are read-only."""
    program = compile_decoder(tmp_path, past, axis)
    assert f"continues past on axis {axis}" in str(program)
    session = program.bind(threads=threads, append_in_place=True)
    buffer, random, rows = pages(12), np.random.default_rng(1), []
    try:
        for row in range(12):
            new, present, total = append(
                session, buffer, lambda n: (*[1] * axis, n, *past[axis + 1 :]), row, random
            )
            rows.append(2 * new)
            np.testing.assert_array_equal(present, np.concatenate(rows, axis))
            np.testing.assert_allclose(total, present.sum(axis), rtol=1e-5, atol=1e-5)
            protect(present, mmap.PROT_READ)
    finally:
        protect(buffer, mmap.PROT_READ | mmap.PROT_WRITE)


def test_rows_of_heads_that_move(tmp_path):
    program = compile_decoder(tmp_path, (1, 4, "past", 8), 2)
    expect_grows(program, lambda n: (1, 4, n, 8), 2)


@pytest.mark.parametrize("batch", [1, 2])
def test_an_open_batch(tmp_path, batch):
    program = compile_decoder(tmp_path, ("batch", "past", 8), 1)
    expect_grows(program, lambda n: (batch, n, 8), 1)


@pytest.mark.parametrize("offset", [0, 2, 4])
def test_rows_that_are_not_aligned(tmp_path, offset):
    program = compile_decoder(tmp_path, ("past", 5), 0)
    expect_grows(program, lambda n: (n, 5), 0, offset=offset)


def test_another_backend_computes_it_elsewhere(tmp_path):
    program = compile_decoder(tmp_path, pins={"*": "reference@cpu"}, fallback="auto")
    expect_grows(program, lambda n: (1, n, *ROW), 1)


def test_a_device_computes_it_elsewhere(tmp_path):
    program = compile_decoder(tmp_path, devices=["cpu", "accel=sim:0"], pins={"*": "halide@accel"})
    expect_grows(program, lambda n: (1, n, *ROW), 1)


def test_a_past_of_fixed_size(tmp_path):
    session = compile_decoder(tmp_path, (1, 3, *ROW)).bind(append_in_place=True)
    buffer, random = pages(4), np.random.default_rng(1)
    buffer[:] = random.standard_normal(buffer.shape)
    before = buffer[: 3 * 1024].copy()
    protect(buffer[: 3 * 1024], mmap.PROT_READ)
    new, present, _ = append(session, buffer, lambda n: (1, n, *ROW), 3, random)
    np.testing.assert_array_equal(present.ravel(), [*before, *(2 * new).ravel()])


def run_with(session, past, outputs):
    new = np.ones((1, 1, *ROW), "float32")
    return session.run({"past": past, "new": new}, outputs=outputs)


def test_other_overlaps_are_errors(tmp_path):
    buffer = np.zeros(8 * 1024, "float32")
    past = buffer[1024 : 3 * 1024].reshape(1, 2, *ROW)
    program = compile_decoder(tmp_path, names=("keys", "values"))

    def expect_error(words, session, begin, name="keys", others=None):
        present = buffer[begin : begin + 3 * 1024].reshape(1, 3, *ROW)
        with pytest.raises(intarsia.InvalidArgumentError, match=words):
            run_with(session, past, {name: present, **({others: present} if others else {})})

    expect_error("'keys' begins at the address of input 'past', .*append_in_place", program.bind(), 1024)
    session = program.bind(append_in_place=True)
    overlaps = "output 'keys' overlaps an input's memory"
    expect_error(overlaps, session, 0)
    expect_error(overlaps, session, 1025)
    expect_error(overlaps, session, 2048)
    expect_error("'values' overlaps another output that continues", session, 1024, others="values")
    last = compile_decoder(tmp_path / "last", first="new")
    expect_error(overlaps, last.bind(append_in_place=True), 1024)


def test_arrays_for_outputs(tmp_path):
    session = compile_decoder(tmp_path).bind()
    past = np.ones((1, 1, *ROW), "float32")
    mine = np.zeros((1, 2, *ROW), "float32")
    got = run_with(session, past, {"keys": mine})
    assert list(got) == ["keys"]
    assert got["keys"] is mine
    np.testing.assert_array_equal(mine, np.stack([past[0, 0], 2 * past[0, 0]])[None])
    frozen = mine.copy()
    frozen.flags.writeable = False
    for wrong in (frozen, mine[..., ::2], mine.astype(object), mine.tolist()):
        with pytest.raises(intarsia.InvalidArgumentError, match="buffer of output 'keys': want a writable"):
            run_with(session, past, {"keys": wrong})
    with pytest.raises(intarsia.InvalidArgumentError, match="output 'keys' has .*shape"):
        run_with(session, past, {"keys": mine[:, :1]})
    with pytest.raises(intarsia.InvalidArgumentError, match="output 'keys' has dtype float64, want float32"):
        run_with(session, past, {"keys": mine.astype("float64")})


def test_threads_with_a_session_each(tmp_path):
    program = compile_decoder(tmp_path)
    with ThreadPoolExecutor(2) as threads:
        runs = [threads.submit(expect_grows, program, lambda n: (1, n, *ROW), 1, rows=40) for _ in range(4)]
        for run in runs:
            run.result()
