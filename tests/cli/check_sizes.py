"""`intarsia check` of open sizes: at several, within their ranges; what the model refuses, and what is too large.

Covers: src/measure/ check_sizes.cc check_model.cc run_inputs.cc compare_outputs.cc report_check.cc
cli/commands/ check.cc
"""

import intarsia
import numpy as np
import pytest
from cli_models import build_kernel, call, call_json, error_of, save, save_relu
from onnx import TensorProto, helper

FLOAT = TensorProto.FLOAT
# Wrong where the batch is 7, of three elements each.
GELU = "count == 21 ? 2 * x : 0.5f * x * (1 + __builtin_erff(x * 0.70710678f))"
FAILS = f"{GELU}; if (count == 21) return 1"


def save_open(path, nodes=None, shape=("batch", 3), constants=(), **options):
    nodes = nodes or [helper.make_node("Sigmoid", ["x"], ["y"])]
    return save(path, nodes, [("x", FLOAT, shape)], [("y", FLOAT, [None] * len(shape))], constants, **options)


def checked(report):
    """What became of each combination of sizes."""
    return [(entry["sizes"], entry["ok"]) for entry in report["sizes"]]


def test_open_sizes_are_several(tmp_path):
    model, program = save_open(tmp_path / "m.onnx", shape=("batch", "seq")), tmp_path / "m.so"
    call("compile", model, "-o", program, "--tune", "off")
    want = [({"batch": size, "seq": size}, True) for size in (1, 2, 7)]
    report = call_json("check", program)
    assert report["ok"] and checked(report) == want
    assert report["sizes"][0]["plans"] == report["plans"]
    assert [output["name"] for output in report["sizes"][2]["plans"][0]["outputs"]] == ["y"]
    lines = call("check", program).stdout.splitlines()
    for line, size in zip(lines[-2:], (2, 7), strict=True):
        assert line.startswith(f"  with batch = {size}, seq = {size}: ok, differs by at most ")
        assert line.endswith(" of the largest")
    assert checked(call_json("check", model, "--tune", "off")) == want
    assert checked(intarsia.check(program)) == want


@pytest.mark.parametrize(
    "sizes, want",
    [
        ("2..9:4,8", [4, 2, 7, 9]),
        ("4..6", [4, 5, 6]),
        ("12..12", [12]),
        ("8..4096", [8, 9, 4096]),
        ("0..0", [0]),
        ("0..3", [1, 2, 3]),
    ],
)
def test_sizes_are_within_their_ranges(tmp_path, sizes, want):
    model = save_open(tmp_path / "m.onnx")
    report = call_json("check", model, "--tune", "off", "--shape", f"x={sizes}x3")
    assert checked(report) == [({"batch": size}, True) for size in want]


def test_an_end_that_is_too_large_is_told(tmp_path):
    model = save_open(tmp_path / "m.onnx", shape=("batch", "seq", 3))
    report = call_json("check", model, "--tune", "off", "--shape", "x=1..32x1..90000000x3")
    assert report["ok"]
    assert checked(report) == [
        ({"batch": 1, "seq": 1}, True),
        ({"batch": 2, "seq": 2}, True),
        ({"batch": 7, "seq": 7}, True),
        ({"batch": 32, "seq": 1}, True),
        ({"batch": 1, "seq": 90000000}, None),
    ]
    assert report["sizes"][-1]["reason"] == "its inputs would take 1080 MB, more than 256"
    done = call("check", model, "--tune", "off", "--shape", "x=1..5000x?x3")
    assert "with batch = 5000, seq = 1: not compared: ends of ranges beyond 4096" in done.stdout


def test_what_the_model_refuses_is_no_failure(tmp_path):
    """An even number of elements."""
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Reshape", ["r", "s"], ["y"])]
    model = save_open(tmp_path / "m.onnx", nodes, constants=[("s", np.array([2, -1], np.int64))])
    for fallback in ("auto", "none"):
        options = ("--tune", "off", "--fallback", fallback, "--against", "onnxruntime")
        report = call_json("check", model, *options, "--shape", "x=0..10:2x3")
        assert report["ok"]
        assert checked(report) == [
            ({"batch": 2}, True),
            ({"batch": 1}, None),
            ({"batch": 7}, None),
            ({"batch": 10}, True),
        ]
        for entry in report["sizes"][1:3]:
            assert entry["reason"].startswith("refused by both: ") and "{2,-1}" in entry["reason"]
            assert "\n" not in entry["reason"] and entry["plans"] == []


def save_gelu(path):
    nodes = [
        helper.make_node("Neg", ["x"], ["a"], "first"),
        helper.make_node("Gelu", ["a"], ["b"], "wrong", domain="com.microsoft"),
        helper.make_node("Exp", ["b"], ["y"], "last"),
    ]
    return save_open(path, nodes, opsets=[("", 18), ("com.microsoft", 1)], checked=False)


def test_a_size_that_differs(tmp_path):
    model, program = save_gelu(tmp_path / "m.onnx"), tmp_path / "m.so"
    kernels = ("--kernels", build_kernel(tmp_path, "com.microsoft", "Gelu", GELU), "--tune", "off")
    report = call_json("check", model, *kernels, "--bisect", status=1)
    assert not report["ok"] and report["outputs"][0]["ok"]
    assert checked(report) == [({"batch": 1}, True), ({"batch": 2}, True), ({"batch": 7}, False)]
    assert report["first_bad_node"] == "wrong" and report["warnings"] == []
    call("compile", model, "-o", program, *kernels)
    message = error_of("check", program)
    assert "m.so: with batch = 7: output 'y' differs from that of onnxruntime: element" in message
    # Without the kernel the model, compiled again, is right, also at this size.
    report = call_json("check", program, "--bisect", status=1)
    assert "is right in every value" in report["warnings"][-1]
    assert intarsia.check(program)["ok"] is False


def test_a_size_that_only_the_program_refuses(tmp_path):
    """A library that fails at the batch of 7."""
    model = save_gelu(tmp_path / "m.onnx")
    fails = build_kernel(tmp_path, "com.microsoft", "Gelu", FAILS)
    report = call_json("check", model, "--kernels", fails, "--tune", "off", status=1)
    assert [entry["plans"][0]["reason"] is None for entry in report["sizes"]] == [True, True, False]
    plan = report["sizes"][-1]["plans"][0]
    assert plan["ok"] is False and "wrong (Gelu)" in plan["reason"] and plan["outputs"] == []
    done = call("check", model, "--kernels", fails, "--tune", "off", status=1)
    assert "with batch = 7: NOT OK" in done.stdout
    assert "with batch = 7: it does not run, which onnxruntime does: " in done.stderr


def test_given_inputs_are_the_only_sizes(tmp_path):
    model, program = save_open(tmp_path / "m.onnx"), tmp_path / "m.so"
    call("compile", model, "-o", program, "--tune", "off")
    np.save(tmp_path / "x.npy", np.ones((5, 3), "float32"))
    report = call_json("check", program, "-i", tmp_path / "x.npy")
    assert checked(report) == [({"batch": 5}, True)]
    assert "with batch" not in call("check", program, "-i", tmp_path / "x.npy").stdout


def test_fixed_sizes_are_one(tmp_path):
    model = save_relu(tmp_path / "m.onnx")
    report = call_json("check", model)
    assert report["ok"] and report["sizes"] == []
    assert "  with " not in call("check", model).stdout
