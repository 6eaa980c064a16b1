"""Programs whose sizes are open until they run: many sizes in one session, in any order, against ONNX Runtime.

Covers: bindings/python/ module.cc compile_module.cc
bindings/python/intarsia/ program.py options.py
"""

import random
from concurrent.futures import ThreadPoolExecutor

import intarsia
import numpy as np
import onnxruntime
import pytest
from cli_models import SOURCE, save
from open_models import (
    FAMILIES,
    RANDOM,
    SMALLEST,
    attention,
    classifier,
    detector,
    encoder,
    language,
    perceptron,
    random_inputs,
    recurrence,
    segmenter,
    sizes_of,
    tagger,
)
from random_sizes import run_at_random_sizes
from rounds import ROUNDS


def save_family(family, folder):
    nodes, inputs, outputs, constants = family()
    ports = [[(name, *port) for name, port in side.items()] for side in (inputs, outputs)]
    return save(
        folder / f"{family.__name__}.onnx",
        nodes,
        *ports,
        list(constants.items()),
        opsets=(("", 20 if family in (encoder, language) else 13),),
    )


def compile_open(model, family, folder, **options):
    _, inputs, _, _ = family()
    shapes = {
        name: [None if isinstance(size, str) else size for size in shape]
        for name, (_, shape) in inputs.items()
    }
    path = folder / f"{family.__name__}.so"
    intarsia.compile(model, tune="off", shapes=shapes, **options).save(path)
    return intarsia.load(path)


@pytest.mark.parametrize("fallback", ["auto", "none"])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_random_sizes(tmp_path, family, fallback):
    model = save_family(family, tmp_path)
    program = compile_open(model, family, tmp_path, fallback=fallback)
    assert sorted(program.open_sizes) == sizes_of(family)
    oracle = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])

    def draw(choices):
        most = choices.choice([2, 8, 20])
        return {name: SMALLEST.get(name, 1) + choices.randrange(most) for name in sizes_of(family)}

    for threads in (1, 2):
        session = program.bind(threads=threads)
        run_at_random_sizes(session, oracle, draw, lambda sizes: random_inputs(family, sizes))


EXPORTS = sorted((SOURCE / "build/models/torch_like").glob("*.onnx"))
NUMPY = {
    "tensor(float)": "float32",
    "tensor(int64)": "int64",
    "tensor(int32)": "int32",
    "tensor(bool)": "bool",
}


def random_values(dtype, shape):
    if dtype == "float32":
        return RANDOM.standard_normal(shape, "float32")
    return RANDOM.integers(0, 2, shape).astype(dtype)


@pytest.mark.skipif(not EXPORTS, reason="make models")
@pytest.mark.parametrize("model", EXPORTS, ids=lambda model: model.stem)
def test_exports_of_pytorch(tmp_path, model):
    """Sizes that ONNX Runtime refuses are not sizes of the model."""
    oracle = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    inputs = {one.name: (NUMPY[one.type], one.shape) for one in oracle.get_inputs()}
    shapes = {
        name: [None if isinstance(size, str) else size for size in shape]
        for name, (_, shape) in inputs.items()
    }
    intarsia.compile(model, tune="off", shapes=shapes).save(tmp_path / "open.so")
    session = intarsia.load(tmp_path / "open.so").bind()
    choices, compared = random.Random(5), 0
    for _ in range(20 * ROUNDS):
        sizes = {
            size: choices.choice([1, 2, 3, 5, 8])
            for _, shape in inputs.values()
            for size in shape
            if isinstance(size, str)
        }
        given = {
            name: random_values(dtype, [sizes.get(size, size) for size in shape])
            for name, (dtype, shape) in inputs.items()
        }
        try:
            want = oracle.run(None, given)
        except Exception:
            continue
        got = session.run(given)
        for output, values in zip(oracle.get_outputs(), want, strict=True):
            assert got[output.name].shape == values.shape, (sizes, output.name)
            np.testing.assert_allclose(got[output.name], values, rtol=1e-3, atol=1e-4, err_msg=f"{sizes}")
        compared += 1
    assert compared > 0


NATIVE = [attention, encoder, language, recurrence, tagger, segmenter]


@pytest.mark.parametrize("family", NATIVE, ids=lambda family: family.__name__)
def test_models_run_in_our_kernels(tmp_path, family):
    """At all sizes, in one region, also what computes from sizes alone."""
    model = save_family(family, tmp_path)
    compile_open(model, family, tmp_path, fallback="none")
    report = intarsia.explain(tmp_path / f"{family.__name__}.so")
    assert [region["target"] for region in report["regions"]] == ["halide@cpu"]


def test_threads_run_different_sizes(tmp_path):
    """Sessions of one program share its code, and what it keeps for sizes that it saw."""
    model = save_family(encoder, tmp_path)
    program = compile_open(model, encoder, tmp_path, fallback="none")
    oracle = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    names = [output.name for output in oracle.get_outputs()]
    cases = [
        (given, oracle.run(names, given))
        for given in (random_inputs(encoder, {"batch": 1 + i % 3, "seq": 1 + i}) for i in range(20))
    ]

    def run_all(start):
        session = program.bind(threads=1)
        for i in range(60):
            given, want = cases[(start + 7 * i) % len(cases)]
            got = session.run(given)
            for name, values in zip(names, want, strict=True):
                np.testing.assert_allclose(got[name], values, rtol=1e-4, atol=1e-5)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run_all, range(4)))


def test_positions_beyond_the_table_are_an_error(tmp_path):
    model = save_family(encoder, tmp_path)
    session = compile_open(model, encoder, tmp_path, fallback="none").bind()
    with pytest.raises(intarsia.Error, match="batch = 1, seq = 21.*the model does not work with these sizes"):
        session.run(random_inputs(encoder, {"batch": 1, "seq": 21}))
    assert session.run(random_inputs(encoder, {"batch": 1, "seq": 20}))["y"].shape == (1, 9)


def test_a_language_model_writes_the_same_words(tmp_path):
    """64 words, each the one of the highest score, with keys and values of the words before."""
    model = save_family(language, tmp_path)
    session = compile_open(model, language, tmp_path, fallback="none").bind()
    oracle = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    names = [output.name for output in oracle.get_outputs()]

    def write(run):
        past, words, given = np.zeros((1, 4, 0, 8), "float32"), [], [3, 1, 4, 1, 5]
        keys = values = past
        for _ in range(64):
            got = run({"ids": np.array([given]), "layer_past_keys": keys, "layer_past_values": values})
            keys, values = got["layer_keys"], got["layer_values"]
            given = [int(got["y"][0, -1].argmax())]
            words += given
        return words

    want = write(lambda given: dict(zip(names, oracle.run(names, given), strict=True)))
    assert write(lambda given: {name: np.array(value) for name, value in session.run(given).items()}) == want
    assert len(set(want)) > 3


@pytest.mark.parametrize("length, batch", [(0, 3), (1, 1), (2, 0), (0, 0)])
def test_no_steps_leave_the_states(tmp_path, length, batch):
    program = compile_open(save_family(tagger, tmp_path), tagger, tmp_path, fallback="none")
    given = random_inputs(tagger, {"batch": batch, "seq": length})
    got = program.run(given)
    assert got["y"].shape == (length, batch, 5)
    assert got["last"].shape == (1, batch, 16)
    if length == 0:
        np.testing.assert_array_equal(got["h"], given["h0"])
        np.testing.assert_array_equal(got["c"], given["c0"])
        np.testing.assert_array_equal(got["last"], np.zeros((1, batch, 16), "float32"))


@pytest.mark.parametrize("family", [perceptron, classifier], ids=lambda family: family.__name__)
def test_open_batches_run_in_our_kernels(tmp_path, family):
    """One region for any number of rows, also for none."""
    model = save_family(family, tmp_path)
    program = compile_open(model, family, tmp_path, backends=["halide", "reference"])
    report = intarsia.explain(tmp_path / f"{family.__name__}.so")
    assert [region["target"] for region in report["regions"]] == ["halide@cpu"]
    for batch in (0, 3):
        got = program.run(random_inputs(family, {"batch": batch}))
        assert {values.shape[0] for values in got.values()} == {batch}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_shapes_of_outputs_without_a_run(tmp_path, family):
    """Those of a run; None only where the data decides."""
    program = compile_open(save_family(family, tmp_path), family, tmp_path)
    sizes = {"past": 5, "h": 16, "w": 8}
    given = random_inputs(family, {name: sizes.get(name, 3) for name in sizes_of(family)})
    told = program.output_shapes({name: values.shape for name, values in given.items()})
    got = program.run(given)
    assert list(told) == list(got)
    for name, shape in told.items():
        assert len(shape) == got[name].ndim
        for size, made in zip(shape, got[name].shape, strict=True):
            assert size == made or (size is None and family is detector)


def test_shapes_of_outputs_are_refused_as_in_a_run(tmp_path):
    program = compile_open(save_family(attention, tmp_path), attention, tmp_path)
    for shapes in [{"x": (2, 4, 32), "mask": (2, 3)}, {"x": (2, 3), "mask": (2, 3)}, {"x": (2, 3, 32)}]:
        arrays = {
            name: np.zeros(shape, bool if name == "mask" else "float32") for name, shape in shapes.items()
        }
        with pytest.raises(intarsia.InvalidArgumentError) as told:
            program.output_shapes(shapes)
        with pytest.raises(intarsia.InvalidArgumentError) as got:
            program.run(arrays)
        assert str(told.value) == str(got.value)
    with pytest.raises(intarsia.InvalidArgumentError, match="no function 'f'"):
        program.output_shapes({}, "f")
    program.close()
    with pytest.raises(intarsia.InvalidArgumentError, match="closed"):
        program.output_shapes({})


def test_errors_name_sizes_and_leave_the_session_usable(tmp_path):
    model = save_family(attention, tmp_path)
    path = tmp_path / "attention.so"
    shapes = {"x": ("1..4", "S", 32), "mask": (None, None)}
    intarsia.compile(model, tune="off", shapes=shapes).save(path)
    program = intarsia.load(path)
    assert program.open_sizes == {"S": (0, 10**9), "batch": (1, 4)}
    assert [str(argument) for argument in program.inputs] == [
        "x: float32[batch, S, 32]",
        "mask: bool[batch, S]",
    ]
    session = program.bind()
    good = {"x": np.ones((2, 3, 32), "float32"), "mask": np.ones((2, 3), bool)}
    first = session.run(good)["y"].copy()
    for change, words in [
        ({"x": np.ones((5, 3, 32), "float32")}, "'batch' is 5, want 1 to 4"),
        (
            {"x": np.ones((2, 4, 32), "float32")},
            r"input 'mask' has shape 2x3, want size 4 on axis 1: it is S",
        ),
        ({"x": np.ones((2, 3, 31), "float32")}, "has shape 2x3x31, want"),
        ({"x": np.ones((2, 3), "float32")}, "has rank 2"),
    ]:
        with pytest.raises(intarsia.InvalidArgumentError, match=words):
            session.run(good | change)
        np.testing.assert_array_equal(session.run(good)["y"], first)


def test_sizes_to_be_fastest_at(tmp_path):
    model = save_family(attention, tmp_path)
    options = {"shapes": {"x": ("1..4", "S", 32)}, "tune": "off", "dry_run": True}
    compiled = intarsia.compile(model, tune_at={"batch": 3, "S": [7, 9]}, **options)
    tuned = {size["symbol"]: size["tuned"] for size in compiled.report["open_sizes"]}
    assert tuned == {"batch": [3], "S": [7, 9]}
    with pytest.raises(intarsia.InvalidArgumentError, match=r"tune_at\['batch'\]=5: 'batch' is 1\.\.4"):
        intarsia.compile(model, tune_at={"batch": 5}, **options)
    with pytest.raises(intarsia.InvalidArgumentError, match="there are: S, batch"):
        intarsia.explain(model, tune_at={"rows": 5}, shapes=options["shapes"])


def test_wrong_shapes_are_refused(tmp_path):
    model = save_family(perceptron, tmp_path)
    for sizes, words in [
        ((3, "N"), "fixes size 1 to 16"),
        (("8..1", 16), "ends swapped; want 1..8"),
        (("1..4:9", 16), "size 9 of the list '9' is not in 1..4"),
        (("N-1", 16), "is not a shape"),
    ]:
        with pytest.raises(intarsia.InvalidArgumentError, match=words):
            intarsia.compile(model, tune="off", shapes={"x": sizes})
