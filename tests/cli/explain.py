"""What `explain` says: as text, as JSON, as a picture. Its page: explain_html.py.

Covers: src/report/ explain_dot.cc explain_function.cc explain_program.cc explain_text.cc explain_times.cc
cli/commands/ explain.cc
"""

import shutil
import subprocess

import pytest
from cli_models import LIGHT_MODELS, TensorProto, call, call_json, compile_small, helper, save, save_small

SQUEEZENET = LIGHT_MODELS / "light_squeezenet.onnx"


def test_explain_ranks_refused_operators(tmp_path):
    """No backend knows the operator, and the explanation is still printed."""
    model = save(
        tmp_path / "strange.onnx",
        [
            helper.make_node("Strange", ["x"], ["a"], "s1", domain="my.ops"),
            helper.make_node("Strange", ["a"], ["b"], "s2", domain="my.ops"),
            helper.make_node("Relu", ["b"], ["y"], "r1"),
        ],
        [("x", TensorProto.FLOAT, [2])],
        [("y", TensorProto.FLOAT, [2])],
        opsets=[("", 18), ("my.ops", 1)],
        checked=False,
    )
    report = call_json("explain", model)
    first = report["unsupported_ops"][0]
    assert first["op"] == "my.ops.Strange" and first["count"] == 2 and first["targets"] == ["nobody@cpu"]
    assert report["nodes"][0]["reason"] == "no backend runs it" and report["nodes"][0]["refusals"]
    assert "my.ops.Strange" in call("compile", model, "-o", tmp_path / "x.so", status=1).stderr


def test_explain_sums_up_regions():
    text = call("explain", SQUEEZENET, "--backends", "reference", "--threads", 1).stdout
    lines = text.splitlines()
    assert lines[1] == "67 nodes in 1 region, 0 copies between devices, for 1 thread"
    assert all(len(line) <= 80 or " " not in line.strip() for line in lines), text
    report = call_json("explain", SQUEEZENET, "--backends", "reference", "--threads", 1)
    assert len(lines) < 20 and len(report["nodes"]) == 67
    nodes = call(
        "explain", SQUEEZENET, "--backends", "reference", "--threads", 1, "--nodes"
    ).stdout.removeprefix(text)
    assert nodes.splitlines()[1] == "Nodes:" and len(nodes.splitlines()) == 69
    assert all(f"  {node['name']} ({node['op']}): region 0" in nodes for node in report["nodes"])


def test_explain_says_what_would_ship(tmp_path):
    """A plan as placed is not what a program has, if another one was measured to be faster."""
    model, cache = save_small(tmp_path / "small.onnx"), ("--cache", tmp_path / "cache")
    text = " ".join(call("explain", model, *cache).stdout.split())
    assert "times are not measured: a compile measures, and may ship another plan" in text
    for _ in range(10):  # times that were measured on a busy machine are not kept
        call("compile", model, "-o", tmp_path / "small.so", *cache)
        report = call_json("explain", model, *cache)
        if report["plans"]:
            break
    text = " ".join(call("explain", model, *cache).stdout.split())
    assert f"by the times of a compile this would ship: {report['plans'][0]['name']} (" in text
    assert "note " not in call("explain", tmp_path / "small.so").stdout


def test_explain_counts_work_and_weights(tmp_path):
    """conv1: 2x4x8x8 values of 3x3x3 products; gemm1: 2x5 values of 4 products."""
    model = save_small(tmp_path / "small.onnx")
    (region,) = call_json("explain", model, "--backends", "reference")["regions"]
    assert region["flops"] == 2 * (2 * 4 * 8 * 8 * 27 + 2 * 5 * 4)
    assert region["constants_bytes"] == 4 * (4 * 27 + 4 * 5 + 5)
    assert region["outputs"] == [{"name": "y", "dtype": "f32", "shape": [2, 5]}]
    text = call("explain", model, "--backends", "reference").stdout
    assert "  0 reference@cpu: 5 nodes, 532 bytes of weights, 27.7 kFLOP\n" in text
    assert "      1 Conv, 1 Relu, 1 GlobalAveragePool, 1 Flatten, 1 Gemm\n" in text
    assert "      why: first choice\n      gives y: f32[2,5]\n" in text


@pytest.mark.parametrize("device", ["a=cpu", "sim:0"])
def test_explain_of_an_unknown_operator_on_a_slot_of_any_name(tmp_path, device):
    model = save(
        tmp_path / "strange.onnx",
        [helper.make_node("Strange", ["x"], ["y"], "s", domain="my.ops")],
        [("x", TensorProto.FLOAT, [2])],
        [("y", TensorProto.FLOAT, [2])],
        opsets=[("", 18), ("my.ops", 1)],
        checked=False,
    )
    (node,) = call_json("explain", model, "-d", device)["nodes"]
    assert node["target"].startswith("nobody@") and node["reason"] == "no backend runs it"


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz")
def test_picture(tmp_path):
    model = LIGHT_MODELS / "light_densenet121.onnx"
    call(
        "explain",
        model,
        "--dot",
        tmp_path / "model.dot",
        "-d",
        "cpu,accel=sim:0",
        "--backends",
        "reference",
        "--pin",
        "*conv*=reference@accel",
    )
    text = (tmp_path / "model.dot").read_text()
    assert "cluster_" in text or "nodes:" in text
    program = compile_small(tmp_path, "-d", "cpu,accel=sim:0", "--pin", "relu1=reference@accel")
    call("explain", program, "--dot", tmp_path / "program.dot")
    assert (
        "style=dashed" in (tmp_path / "program.dot").read_text()
        and "2.0 KB" in (tmp_path / "program.dot").read_text()
    )
    for name in ("model", "program"):
        subprocess.run(
            ["dot", "-Tsvg", tmp_path / f"{name}.dot", "-o", tmp_path / f"{name}.svg"],
            check=True,
            timeout=120,
        )
