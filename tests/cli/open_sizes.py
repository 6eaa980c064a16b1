"""Sizes that a model leaves open, on the command line.

Covers: src/passes/ bind_shapes.cc joined_sizes.cc pinned_sizes.cc
cli/commands/ compile.cc
cli/inputs/ given_shapes.cc
"""

import numpy as np
import pytest
from cli_models import TensorProto, call, call_json, error_of, helper, save


def test_open_sizes(tmp_path):
    model = save(
        tmp_path / "open.onnx",
        [helper.make_node("Relu", ["x"], ["y"])],
        [("x", TensorProto.FLOAT, ["batch", 3])],
        [("y", TensorProto.FLOAT, ["batch", 3])],
    )
    done = call("compile", model, "-o", tmp_path / "open.so", "--backends", "reference")
    assert "input     x: f32[batch,3]" in done.stdout
    assert "open      batch: any size, measured at 1" in done.stdout
    assert call_json("explain", tmp_path / "open.so")["open_sizes"][0]["symbol"] == "batch"
    done = call(
        "compile", model, "-o", tmp_path / "open.so", "--backends", "reference", "--shape", "x=2..9:4,8x3"
    )
    assert "open      batch: 2 to 9, measured at 4" in done.stdout
    report = call_json(
        "compile", model, "-o", tmp_path / "open.so", "--backends", "reference", "--shape", "x=4x3"
    )
    assert report["symbols"] == [{"symbol": "batch", "value": 4, "by_default": False, "pinned_by": None}]
    assert call_json("run", tmp_path / "open.so")["outputs"][0]["shape"] == [4, 3]


def test_a_size_that_the_model_pins(tmp_path):
    """Exporters write the batch that they traced with into a Reshape."""

    def save_pinned(name, target):
        return save(
            tmp_path / f"{name}.onnx",
            [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Reshape", ["r", "s"], ["y"], "fold")],
            [("x", TensorProto.FLOAT, ["batch", 4])],
            [("y", TensorProto.FLOAT, ["a", "b"])],
            [("s", np.array(target, np.int64))],
        )

    program = tmp_path / "pinned.so"
    pinned = save_pinned("pinned", [2, 4])
    assert (
        "the size 'batch' became 2: node 'fold' works with no other"
        in call("compile", pinned, "-o", program, "--tune", "off").stdout
    )
    assert call_json("run", program)["outputs"][0]["shape"] == [2, 4]
    report = call_json("explain", pinned)
    assert report["symbols"] == [{"symbol": "batch", "value": 2, "by_default": True, "pinned_by": "fold"}]
    message = error_of("compile", pinned, "-o", program, "--shape", "x=?x4", status=2)
    assert "'batch' cannot stay open: node 'fold' reshapes [batch,4] to [2,4]" in message
    assert "works only where it is 2; give this number" in message
    message = error_of("compile", pinned, "-o", program, "--shape", "x=3x4")
    assert "node 'fold' (Reshape): shape [2,4] does not hold the elements of [3,4]" in message
    free = save_pinned("free", [2, -1])
    call("compile", free, "-o", program, "--tune", "off")
    assert call_json("explain", program)["open_sizes"][0]["symbol"] == "batch"


def test_sizes_that_are_expressions(tmp_path):
    """As exporters of language models write them: the mask covers what is past and the next word."""
    model = save(
        tmp_path / "next.onnx",
        [
            helper.make_node("Concat", ["past", "next"], ["all"], axis=1),
            helper.make_node("Add", ["all", "mask"], ["y"]),
        ],
        [
            ("past", TensorProto.FLOAT, ["batch", "past"]),
            ("next", TensorProto.FLOAT, ["batch", 1]),
            ("mask", TensorProto.FLOAT, ["batch", "past + 1"]),
        ],
        [("y", TensorProto.FLOAT, ["batch", "past + 1"])],
    )
    program = tmp_path / "next.so"
    options = ("-o", program, "--backends", "reference", "--shape", "mask=1x129")
    for also in ((), ("--shape", "past=1x128")):
        report = call_json("compile", model, *options, *also)
        assert [one["shape"] for one in report["inputs"]] == [[1, 128], [1, 1], [1, 129]]
        assert [one["value"] for one in report["symbols"]] == [1, 128]
    assert call_json("run", program)["outputs"][0]["shape"] == [1, 129]
    message = error_of("compile", model, *options, "--shape", "past=1x5", status=2)
    assert (
        "--shape mask=1x129: size 1 is past+1 in the model: 6 with past = 5 (--shape past=1x5), not 129"
        in message
    )
    message = error_of("compile", model, "-o", program, "--shape", "mask=1x0", status=2)
    assert "--shape mask=1x0: size 1 is past+1 in the model, and no size past makes that 0" in message


def test_sizes_that_the_model_combines(tmp_path):
    """Converters give the batch of each input a name of its own."""
    model = save(
        tmp_path / "two.onnx",
        [
            helper.make_node("Concat", ["a", "b"], ["c"], axis=1),
            helper.make_node("MatMul", ["c", "w"], ["p"]),
            helper.make_node("Mul", ["p", "d"], ["y"], "scale"),
        ],
        [
            ("a", TensorProto.FLOAT, ["n", 3]),
            ("b", TensorProto.FLOAT, ["m", 2]),
            ("d", TensorProto.FLOAT, ["k", 1]),
        ],
        [("y", TensorProto.FLOAT, ["n", 4])],
        [("w", np.ones((5, 4), np.float32))],
    )
    program = tmp_path / "two.so"
    done = call("compile", model, "-o", program, "--fallback", "none", "--tune", "off")
    assert "'n' and 'm' are taken as one" in " ".join(done.stdout.split())
    report = call_json("explain", program)
    assert [size["symbol"] for size in report["open_sizes"]] == ["n"]
    assert [region["target"] for region in report["regions"]] == ["halide@cpu"]
    files = {}
    for name, shape in {"a": (2, 3), "b": (2, 2), "d": (2, 1), "one": (1, 1)}.items():
        files[name] = tmp_path / f"{name}.npy"
        np.save(files[name], np.ones(shape, np.float32))
    given = [f"--input={name}={files[name]}" for name in ("a", "b")]
    assert call_json("run", program, *given, f"--input=d={files['d']}")["outputs"][0]["shape"] == [2, 4]
    message = error_of("run", program, *given, f"--input=d={files['one']}", status=2)
    assert "input 'd' has shape 1x1, want size 2 on axis 0: it is n" in message
    apart = ("--shape", "d=Kx1")
    call("compile", model, "-o", program, "--fallback", "none", "--tune", "off", "--shape", "a=Nx3", *apart)
    assert [size["symbol"] for size in call_json("explain", program)["open_sizes"]] == ["K", "N"]
    for name in ("d", "one"):
        ran = call_json("run", program, *given, f"--input=d={files[name]}")
        assert ran["outputs"][0]["shape"] == [2, 4]


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    """A program of two inputs of one batch and one length, and a third one of a length more."""
    folder = tmp_path_factory.mktemp("words")
    model = save(
        folder / "words.onnx",
        [
            helper.make_node("Mul", ["ids", "mask"], ["kept"]),
            helper.make_node("Concat", ["kept", "one"], ["all"], axis=1),
            helper.make_node("Add", ["all", "bias"], ["y"]),
        ],
        [
            ("ids", TensorProto.FLOAT, ["batch", "seq"]),
            ("mask", TensorProto.FLOAT, ["batch", "seq"]),
            ("one", TensorProto.FLOAT, ["batch", 1]),
            ("bias", TensorProto.FLOAT, ["batch", "seq + 1"]),
        ],
        [("y", TensorProto.FLOAT, ["batch", "seq + 1"])],
    )
    program = folder / "words.so"
    call("compile", model, "-o", program, "--backends", "reference", "--shape", "ids=1..8x?")
    return program


def test_a_run_at_a_shape(words, tmp_path):
    report = call_json("run", words, "--shape", "ids=4x7", "--shape", "bias=4x8")
    assert report["sizes"] == {"batch": 4, "seq": 7}
    shapes = {one["name"]: one["shape"] for one in report["inputs"]}
    assert shapes == {"ids": [4, 7], "mask": [4, 7], "one": [4, 1], "bias": [4, 8]}
    assert report["outputs"][0]["shape"] == [4, 8]
    bias = tmp_path / "bias.npy"
    np.save(bias, np.ones((2, 4), np.float32))
    report = call_json("run", words, "-i", f"bias={bias}", "--shape", "ids=2x3", "--runs", "2")
    assert report["sizes"] == {"batch": 2, "seq": 3}
    assert call_json("run", words)["sizes"] == {"batch": 1, "seq": 1}
    message = error_of("run", words, "-i", f"bias={bias}", "--shape", "bias=2x3", status=2)
    assert "--shape bias=2x3: the file of -i says the shape of 'bias'; give one of them" in message


def test_a_check_at_a_shape(words, tmp_path):
    report = call_json("check", words, "--shape", "ids=4x7", "--shape", "bias=4x8")
    assert report["ok"] and [one["sizes"] for one in report["sizes"]] == [{"batch": 4, "seq": 7}]
    assert {one["name"]: one["shape"] for one in report["inputs"]}["mask"] == [4, 7]
    ids = tmp_path / "ids.npy"
    np.save(ids, np.ones((2, 4), np.float32))
    report = call_json("check", words, "-i", f"ids={ids}", "--shape", "bias=2x5")
    assert report["ok"] and report["sizes"][0]["sizes"] == {"batch": 2, "seq": 4}


def test_files_of_a_folder_beside_a_shape(words, tmp_path):
    for length in (2, 3):
        np.save(tmp_path / f"{length}.npy", np.ones((5, length), np.float32))
    message = error_of(
        "run", words, "-i", f"ids={tmp_path}", "--shape", "mask=5x2", "--shape", "bias=5x3", status=2
    )
    assert "3.npy" in message and "has shape 5x2, want size 3 on axis 1: it is seq" in message


@pytest.mark.parametrize("command", ["run", "bench", "check"])
def test_shapes_that_a_program_cannot_have(words, command):
    def refused(*shapes):
        options = [part for shape in shapes for part in ("--shape", shape)]
        return error_of(command, words, *options, status=2)

    for sizes in ("1..8x7", "1..8:4x7", "?x7", "Nx7", "4x"):
        message = refused(f"ids={sizes}")
        assert f"--shape ids={sizes}: a compiled program runs at one shape; want numbers" in message
        assert "as in ids=4x3" in message
    assert "want INPUT=SIZES" in refused("4x7")
    assert "'ids' is given twice" in refused("ids=4x7", "ids=4x8")
    assert "no input 'x'; the inputs are: ids, mask, one, bias" in refused("x=4x7")
    assert "input 'mask' has shape 4x6, want size 7 on axis 1: it is seq" in refused("ids=4x7", "mask=4x6")
    assert "input 'bias' has shape 4x2, want size 8 on axis 1: it is seq+1" in refused("ids=4x7")
    assert "'batch' is 9, want 1 to 8" in refused("ids=9x7")
    assert "has rank 3 (shape 4x7x1), want rank 2" in refused("ids=4x7x1")
    assert "has shape 4x2, want ?x1" in refused("one=4x2")


def test_frames_of_a_shape(words):
    shapes = ("--shape", "ids=4x7", "--shape", "mask=4x7", "--shape", "one=4x1", "--shape", "bias=4x8")
    report = call_json("run", words, "--pipeline", *shapes, "--runs", 3)
    assert report["outputs"][0]["shape"] == [4, 8]
    message = error_of("run", words, "--pipeline", "--shape", "ids=1..8x7", status=2)
    assert "a compiled program runs at one shape; want numbers" in message


def test_bench_at_shapes(words):
    report = call_json("bench", words, "--shape", "ids=4x7", "--shape", "bias=4x8", "-t", "0.1")
    assert report["sizes"] == {"batch": 4, "seq": 7}
    assert {one["name"]: one["shape"] for one in report["inputs"]}["mask"] == [4, 7]
    assert "want numbers, as in" in error_of("run", words, "--shape", "ids=1,8x7", status=2)
    lists = ("--shape", "ids=1,8x2,5", "--shape", "bias=1,8x3,6", "-t", "0.1")
    report = call_json("bench", words, *lists)
    assert report["mode"] == "latency"
    assert [one["sizes"] for one in report["measured"]] == [{"batch": 1, "seq": 2}, {"batch": 8, "seq": 5}]
    assert all(one["results"][0]["runs"] >= 30 for one in report["measured"])
    text = call("bench", words, *lists).stdout
    assert "  batch = 1, seq = 2:\n  intarsia " in text and "  batch = 8, seq = 5:\n  intarsia " in text
    message = error_of("bench", words, *lists, "--mode", "throughput", status=2)
    assert "--shape ids=1,8x2,5: a compiled program runs at one shape; want numbers, as in ids=4x3" in message


def test_bench_of_a_model_has_the_same_sizes_on_all_sides(words):
    model = words.with_suffix(".onnx")
    lists = ("--shape", "ids=2,3x4", "--shape", "bias=2,3x5")
    report = call_json("bench", model, *lists, "--tune", "off", "--against", "onnxruntime", "-t", "0.1")
    assert [one["sizes"] for one in report["measured"]] == [{"batch": 2}, {"batch": 3}]
    for one in report["measured"]:
        ours, theirs = one["results"]
        assert theirs["runtime"] == "onnxruntime" and theirs["outputs"][0]["ok"] and theirs["runs"] >= 30


def test_sizes_to_be_fastest_at(words, tmp_path):
    model, program = words.with_suffix(".onnx"), tmp_path / "words.so"
    options = (model, "-o", program, "--backends", "reference", "--shape", "ids=1..8:3,5x?")
    done = call("compile", *options, "--tune-at", "batch=4,3,seq=7")
    assert "open      batch: 1 to 8, measured at 4" in done.stdout
    assert "open      seq: any size, measured at 7" in done.stdout
    tuned = {one["symbol"]: one["tuned"] for one in call_json("explain", program)["open_sizes"]}
    assert tuned == {"batch": [4, 3, 5], "seq": [7]}
    assert call_json("run", program, "--shape", "bias=4x8")["sizes"] == {"batch": 4, "seq": 7}
    call("compile", *options, "--tune-at", "batch=2", "--tune-at", "seq=9,1")
    tuned = {one["symbol"]: one["tuned"] for one in call_json("explain", program)["open_sizes"]}
    assert tuned == {"batch": [2, 3, 5], "seq": [9, 1]}


def test_sizes_that_are_not_to_be_fastest_at(words, tmp_path):
    options = (words.with_suffix(".onnx"), "-o", tmp_path / "words.so", "--backends", "reference")

    def refused(*tune_at, shape="ids=1..8x?"):
        given = [part for one in tune_at for part in ("--tune-at", one)]
        return error_of("compile", *options, "--shape", shape, *given, status=2)

    assert "--tune-at batch=9: 'batch' is 1..8; want a size within, or another range (--shape)" in refused(
        "batch=1,9"
    )
    assert "--tune-at rows: no size of this name is open; there are: batch, seq" in refused("rows=1")
    assert "--tune-at batch: no size of this name is open; there are: seq" in refused(
        "batch=1", shape="ids=4x?"
    )
    assert "all sizes are numbers" in refused("batch=1", shape="ids=4x7")
    for text in ("batch", "batch=", "=4", "4", "batch=4,", "batch=-1", "batch=x"):
        assert f"--tune-at {text}: want SYMBOL=SIZE,..., as in batch=8" in refused(text)
    assert "'batch' is given twice; list its sizes, as in batch=1,8" in refused("batch=1", "batch=2")
    assert "is already compiled" in error_of("run", words, "--tune-at", "batch=1", status=2)


def test_sizes_to_be_fastest_at_of_a_size_that_the_model_settles(tmp_path):
    """Sizes that are taken as one share them; a size that works with one number has none."""
    model = save(
        tmp_path / "two.onnx",
        [helper.make_node("Add", ["a", "b"], ["y"])],
        [("a", TensorProto.FLOAT, ["n", 3]), ("b", TensorProto.FLOAT, ["m", 3])],
        [("y", TensorProto.FLOAT, ["n", 3])],
    )
    options = ("-o", tmp_path / "two.so", "--backends", "reference")
    report = call_json("compile", model, *options, "--tune-at", "m=5,n=4")
    assert [(one["symbol"], one["tuned"]) for one in report["open_sizes"]] == [("n", [4, 5])]
    pinned = save(
        tmp_path / "pinned.onnx",
        [helper.make_node("Reshape", ["x", "s"], ["y"], "fold")],
        [("x", TensorProto.FLOAT, ["batch", 4])],
        [("y", TensorProto.FLOAT, [2, 4])],
        [("s", np.array([2, 4], np.int64))],
    )
    message = error_of("compile", pinned, *options, "--tune-at", "batch=8", status=2)
    assert (
        "--tune-at batch: node 'fold' reshapes [batch,4] to [2,4], which works only where it is 2" in message
    )
