"""`compile --emit c` of models that branch and loop.

Covers: src/emit_c/ place_steps.cc write_calls.cc write_flow.cc write_steps.cc
"""

import numpy as np
import onnx
import pytest
from cli_models import error_of
from emitted_c import STRICT, build, compare, emit, run, write_caller
from onnx import TensorProto, helper, numpy_helper
from small_models import random

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
SANITIZED = (*STRICT, "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def value(name, dtype, shape):
    return helper.make_tensor_value_info(name, dtype, shape)


def save(path, nodes, inputs, outputs, constants):
    made = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "model", inputs, outputs, made)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def save_branch(path):
    """y = x @ w if sum(x) > 0, else relu(x) @ v + 1; the result is used, and so is the input."""
    then = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["a"])], "then", [], [value("a", FLOAT, [3, 4])]
    )
    other = helper.make_graph(
        [
            helper.make_node("Relu", ["x"], ["r"]),
            helper.make_node("MatMul", ["r", "v"], ["m"]),
            helper.make_node("Add", ["m", "one"], ["b"]),
        ],
        "else",
        [],
        [value("b", FLOAT, [3, 4])],
    )
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0),
        helper.make_node("Greater", ["sum", "zero"], ["above"]),
        helper.make_node("If", ["above"], ["chosen"], then_branch=then, else_branch=other),
        helper.make_node("Add", ["chosen", "one"], ["y"]),
    ]
    constants = {
        "w": random(1, 5, 4),
        "v": random(2, 5, 4),
        "one": np.array(1, np.float32),
        "zero": np.array(0, np.float32),
    }
    return save(path, nodes, [value("x", FLOAT, [3, 5])], [value("y", FLOAT, [3, 4])], constants)


def save_loop(path, trips, checks=False, counts=True):
    """Two carried values, one made from the other, a tensor of all iterations, and, with `checks`, a condition."""
    nodes = [
        helper.make_node("MatMul", ["state", "w"], ["product"]),
        helper.make_node("Cast", ["i"], ["number"], to=FLOAT),
        helper.make_node("Add", ["product", "number"], ["moved"]),
        helper.make_node("Tanh", ["moved"], ["next"]),
        helper.make_node("Add", ["total", "next"], ["sum"]),
        helper.make_node("ReduceMax", ["sum"], ["largest"], keepdims=0),
        helper.make_node("Less", ["largest", "limit"], ["more"])
        if checks
        else helper.make_node("Identity", ["go"], ["more"]),
        helper.make_node("Identity", ["next"], ["one"]),
    ]
    results = [value("next", FLOAT, [2, 4]), value("sum", FLOAT, [2, 4])]
    body = helper.make_graph(
        nodes,
        "body",
        [
            value("i", INT64, []),
            value("go", BOOL, []),
            value("state", FLOAT, [2, 4]),
            value("total", FLOAT, [2, 4]),
        ],
        [value("more", BOOL, []), *results] + ([value("one", FLOAT, [2, 4])] if counts else []),
    )
    outputs = ["last", "all_of_it"] + (["each"] if counts else [])
    shapes = [[2, 4], [2, 4], [trips, 2, 4]]
    constants = {
        "w": random(1, 4, 4),
        "trips": np.array(trips),
        "limit": np.array(1.5, np.float32),
        "start": np.zeros((2, 4), np.float32),
        "true": np.array(True),
    }
    loop = helper.make_node("Loop", ["trips", "true", "x", "start"], outputs, body=body)
    made = [value(name, FLOAT, shape) for name, shape in zip(outputs, shapes)]
    return save(path, [loop], [value("x", FLOAT, [2, 4])], made, constants)


def save_scan(path):
    """A running sum of rows of x, seen through a branch in the body, and what each iteration had."""
    then = helper.make_graph([helper.make_node("Neg", ["row"], ["n"])], "then", [], [value("n", FLOAT, [4])])
    other = helper.make_graph([helper.make_node("Exp", ["row"], ["e"])], "else", [], [value("e", FLOAT, [4])])
    nodes = [
        helper.make_node("ReduceSum", ["row"], ["s"], keepdims=0),
        helper.make_node("Greater", ["s", "zero"], ["above"]),
        helper.make_node("If", ["above"], ["part"], then_branch=then, else_branch=other),
        helper.make_node("Add", ["total", "part"], ["next"]),
        helper.make_node("Mul", ["next", "row"], ["each"]),
    ]
    body = helper.make_graph(
        nodes,
        "body",
        [value("total", FLOAT, [4]), value("row", FLOAT, [4])],
        [value("next", FLOAT, [4]), value("each", FLOAT, [4])],
    )
    scan = helper.make_node("Scan", ["start", "x"], ["last", "all"], body=body, num_scan_inputs=1)
    constants = {"start": np.zeros(4, np.float32), "zero": np.array(0, np.float32)}
    made = [value("last", FLOAT, [4]), value("all", FLOAT, [6, 4])]
    return save(path, [scan], [value("x", FLOAT, [6, 4])], made, constants)


def test_branches(tmp_path):
    compare(save_branch(tmp_path / "model.onnx"), tmp_path, flags=SANITIZED)
    text = (tmp_path / "c/net.c").read_text()
    assert "} else {" in text


@pytest.mark.parametrize("trips", [0, 1, 4, 5])
def test_loops_with_a_number_of_iterations(tmp_path, trips):
    compare(save_loop(tmp_path / "model.onnx", trips), tmp_path, flags=SANITIZED)


def test_loops_with_a_condition(tmp_path):
    compare(save_loop(tmp_path / "model.onnx", 40, checks=True, counts=False), tmp_path, flags=SANITIZED)


def test_scans_with_branches_inside(tmp_path):
    compare(save_scan(tmp_path / "model.onnx"), tmp_path, flags=SANITIZED)


def test_fewer_iterations_than_results_are_an_error(tmp_path):
    """The tensor of all results has a fixed size."""
    model = save_loop(tmp_path / "model.onnx", 40, checks=True)
    error = error_of("compile", model, "--emit", "c", "-o", tmp_path / "c/net")
    assert "'each'" in error and "known to a run only" in error, error
