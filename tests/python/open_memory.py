"""Working memory of sessions whose sizes are open: values between regions, and a limit.

Covers: bindings/python/ module.cc
bindings/python/intarsia/ program.py
src/runtime/ open_arenas.cc size_plan.cc
"""

import random

import intarsia
import numpy as np
import onnxruntime
import pytest
from cli_models import save
from open_models import encoder, random_inputs


def save_encoder(folder):
    nodes, inputs, outputs, constants = encoder()
    ports = [[(name, *port) for name, port in side.items()] for side in (inputs, outputs)]
    return save(folder / "encoder.onnx", nodes, *ports, list(constants.items()), opsets=(("", 20),))


def compile_pieces(folder, backend="reference", **options):
    """The encoder in several regions, which exchange values of open size: another backend has some of its nodes."""
    path = folder / "encoder.so"
    pins = {name: f"{backend}@cpu" for name in ("*_y", "*_gelu", "first_mixed")}
    intarsia.compile(save_encoder(folder), **{"pins": pins, "tune": "off"} | options).save(path)
    return intarsia.load(path)


@pytest.mark.parametrize("backend", ["reference", "onnxruntime", "openvino"])
def test_values_between_regions_at_all_sizes(tmp_path, backend):
    program = compile_pieces(tmp_path, backend)
    assert len(intarsia.explain(tmp_path / "encoder.so")["regions"]) > 3
    oracle = onnxruntime.InferenceSession(str(tmp_path / "encoder.onnx"), providers=["CPUExecutionProvider"])
    names = [output.name for output in oracle.get_outputs()]
    session = program.bind(threads=2)
    sizes = [{"batch": batch, "seq": length} for batch in (1, 2, 3, 7) for length in (1, 2, 8, 13, 20)]
    grown = []
    for order in range(3):
        random.Random(order).shuffle(sizes)
        for one in sizes:
            given = random_inputs(encoder, one)
            got = session.run(given)
            for name, values in zip(names, oracle.run(names, given), strict=True):
                np.testing.assert_allclose(got[name], values, rtol=1e-4, atol=1e-5, err_msg=f"{one} {name}")
        grown.append(session.arena_bytes)
    assert grown[0] > 0
    assert grown == [grown[0]] * 3


def test_a_limit_is_an_error_that_says_how_much(tmp_path):
    program = compile_pieces(tmp_path)
    free = program.bind()
    small, large = (random_inputs(encoder, {"batch": 2, "seq": length}) for length in (3, 20))
    free.run(small)
    limit = free.arena_bytes
    free.run(large)
    assert free.arena_bytes > limit
    session = program.bind(max_arena_bytes=limit)
    first = session.run(small)["y"].copy()
    words = rf"with batch = 2 .*seq = 20 .*: \d+ bytes of working memory on 'cpu', .* may take {limit}"
    with pytest.raises(intarsia.OutOfMemoryError, match=words):
        session.run(large)
    np.testing.assert_array_equal(session.run(small)["y"], first)
    assert session.arena_bytes <= limit


def test_ranges_reserve_memory_for_their_ends(tmp_path):
    shapes = {name: ("1..4", "1..16") for name in ("ids", "mask")}
    session = compile_pieces(tmp_path, shapes=shapes).bind()
    reserved = session.arena_bytes
    assert reserved > 0
    for batch, length in [(1, 1), (4, 16), (2, 7)]:
        session.run(random_inputs(encoder, {"batch": batch, "seq": length}))
        assert session.arena_bytes == reserved


def test_frames_of_a_pipeline_have_different_sizes(tmp_path):
    """Through two stages, which exchange values of open size."""
    options = {"pins": {}, "devices": ["cpu:0", "cpu:1"], "objective": "throughput", "stages": 2}
    program = compile_pieces(tmp_path, **options)
    oracle = onnxruntime.InferenceSession(str(tmp_path / "encoder.onnx"), providers=["CPUExecutionProvider"])
    sizes = [{"batch": 1 + i % 3, "seq": 1 + 7 * i % 20} for i in range(40)]
    frames = [random_inputs(encoder, one) for one in sizes]
    with intarsia.PipelineBuilder().add_stages(program).start() as pipeline:
        for frame, given in zip(pipeline.run_all(frames), frames, strict=True):
            for output, values in zip(oracle.get_outputs(), oracle.run(None, given), strict=True):
                np.testing.assert_allclose(frame.outputs[output.name], values, rtol=1e-4, atol=1e-5)
