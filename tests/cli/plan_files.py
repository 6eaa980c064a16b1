"""Plans as files: saved, used, edited, and refused when they do not fit.

Covers: src/plan/choose/ plan_file.cc
"""

import json

import intarsia
import numpy as np
import pytest
from cli_models import TensorProto, call, call_json, error_of, helper, save, skip_on_a_busy_machine

FLOAT = TensorProto.FLOAT


@pytest.fixture
def model(tmp_path):
    """Two nodes have the same name, one has none."""
    weight = [("w", np.random.default_rng(1).standard_normal((16, 16)).astype(np.float32))]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], "product"),
        helper.make_node("Relu", ["a"], ["b"], "act"),
        helper.make_node("MatMul", ["b", "w"], ["c"], "product2"),
        helper.make_node("Relu", ["c"], ["y"]),
    ]
    shape = [16, 16]
    return save(tmp_path / "model.onnx", nodes, [("x", FLOAT, shape)], [("y", FLOAT, shape)], weight)


def saved(model, *options):
    path = model.parent / "plan.json"
    report = call_json(
        "compile", model, "-o", model.parent / "first.so", "--save-plan", path,
        "--cache", model.parent / "cache", *options,
    )  # fmt: skip
    return path, json.loads(path.read_text()), report


def test_a_plan_gives_the_same_program_and_measures_nothing(model, tmp_path):
    path, plan, report = saved(model)
    function = plan["functions"]["main"]
    assert plan["intarsia_plan"] == 1 and list(function["nodes"])[:2] == ["product", "act"]
    assert function["measured_ms"] == report["measured_ms"]
    skip_on_a_busy_machine(report)
    programs = []
    for name in ("second.so", "third.so"):
        again = call_json(
            "compile", model, "-o", tmp_path / name, "--plan", path, "--cache", tmp_path / "cache"
        )
        assert again["tuning"]["measured"] == 0 and again["measured_ms"] == report["measured_ms"]
        assert [region["target"] for region in again["regions"]] == [
            region["target"] for region in report["regions"]
        ]
        programs.append((tmp_path / name).read_bytes())
    assert programs[0] == programs[1]
    assert not (tmp_path / "other").exists()
    call("compile", model, "-o", tmp_path / "other.so", "--plan", path, "--cache", tmp_path / "other")
    assert call_json("check", tmp_path / "other.so")["ok"]


def test_a_plan_is_edited(model, tmp_path):
    path, plan, _ = saved(model, "--backends", "halide,reference", "--tune", "off")
    nodes = plan["functions"]["main"]["nodes"]
    assert set(nodes.values()) == {"halide@cpu"}
    nodes["product2"] = "reference@cpu"
    path.write_text(json.dumps(plan))
    report = call_json("compile", model, "-o", tmp_path / "edited.so", "--plan", path)
    assert [region["target"] for region in report["regions"]] == [
        "halide@cpu",
        "reference@cpu",
        "halide@cpu",
    ]
    reasons = {node["name"]: node["reason"] for node in call_json("explain", tmp_path / "edited.so")["nodes"]}
    assert reasons["product2"] == "in the plan"
    assert call_json("check", tmp_path / "edited.so")["ok"]
    compiled = intarsia.compile(model, plan=path, save_plan=tmp_path / "again.json", print=None)
    assert [region["target"] for region in compiled.report["regions"]][1] == "reference@cpu"
    assert json.loads((tmp_path / "again.json").read_text())["functions"]["main"]["nodes"] == nodes


def test_plans_that_do_not_fit(model, tmp_path):
    path, plan, _ = saved(model, "--tune", "off")

    def error(change, *options, status=2):
        damaged = json.loads(json.dumps(plan))
        change(damaged)
        path.write_text(json.dumps(damaged))
        program = tmp_path / "none.so"
        text = error_of("compile", model, "-o", program, "--plan", path, *options, status=status)
        assert not program.exists()
        return text

    def nodes(damaged):
        return damaged["functions"]["main"]["nodes"]

    assert "it has no node 'act': it is of another model" in error(lambda p: nodes(p).pop("act"))
    assert "the model has no node 'more'" in error(lambda p: nodes(p).update(more="halide@cpu"))
    unknown = error(lambda p: nodes(p).update(act="cuda@cpu"))
    assert "node 'act' on cuda@cpu: no such target; there are halide@cpu" in unknown
    assert "want a target" in error(lambda p: nodes(p).update(act=7), status=1)
    assert '"intarsia_plan": got 2, want 1' in error(lambda p: p.update(intarsia_plan=2), status=1)
    assert 'unknown key "pins"' in error(lambda p: p.update(pins={}), status=1)
    assert "it has no function 'main'" in error(lambda p: p.update(functions={}))
    assert '"measured_ms": want a time' in error(
        lambda p: p["functions"]["main"].update(measured_ms=-1), status=1
    )
    assert "--plan and --pin" in error(lambda p: None, "--pin", "act=reference@cpu")
    path.write_text("{")
    assert "not JSON" in error_of("compile", model, "-o", tmp_path / "none.so", "--plan", path)
    assert "cannot be read" in error_of(
        "compile", model, "-o", tmp_path / "none.so", "--plan", "nothing.json"
    )


def test_a_target_that_cannot_run_its_node(tmp_path):
    nodes = [helper.make_node("QuickGelu", ["x"], ["y"], "gelu", domain="com.microsoft")]
    opsets = (("", 18), ("com.microsoft", 1))
    model = save(tmp_path / "gelu.onnx", nodes, [("x", FLOAT, [4])], [("y", FLOAT, [4])], [], opsets)
    path, plan, _ = saved(model)
    plan["functions"]["main"]["nodes"]["gelu"] = "reference@cpu"
    path.write_text(json.dumps(plan))
    error = error_of("compile", model, "-o", tmp_path / "none.so", "--plan", path, status=2)
    assert "node 'gelu' (QuickGelu) cannot run on reference@cpu" in error
    assert "those that can: onnxruntime@cpu" in error


def test_nothing_is_lost_when_a_plan_cannot_be_written(model, tmp_path):
    error = error_of("compile", model, "-o", tmp_path / "a.so", "--save-plan", model, status=2)
    assert "--save-plan" in error and model.stat().st_size > 0
    same = tmp_path / "a.so"
    assert "it is the program" in error_of("compile", model, "-o", same, "--save-plan", same, status=2)


def test_a_key_that_is_there_twice_is_an_error(model, tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(
        '{"intarsia_plan": 1, "functions": {"main": {"nodes": {"act": "halide@cpu", "act": "reference@cpu"}}}}'
    )
    error = error_of("compile", model, "-o", tmp_path / "p.so", "--plan", path)
    assert f"plan '{path}': the key \"act\" is there twice in one object" in error


TURNS = {"one": "halide@cpu", "two": "reference@cpu", "three": "halide@cpu"}


def compile_in_turns(folder, order, status=0):
    """Three nodes that read the same, on one executor."""
    nodes = [helper.make_node("Relu", ["x"], [f"y_{name}"], name) for name in TURNS]
    model = save(
        folder / "turns.onnx", nodes, [("x", FLOAT, [4])], [(f"y_{name}", FLOAT, [4]) for name in TURNS]
    )
    plan, again = folder / "plan.json", folder / "again.json"
    plan.write_text(json.dumps({"intarsia_plan": 1, "functions": {"main": {"nodes": TURNS, "order": order}}}))
    command = (
        "compile",
        model,
        "-o",
        folder / "p.so",
        "-d",
        "cpu,accel=sim:0",
        "--plan",
        plan,
        "--save-plan",
        again,
    )
    if status:
        return error_of(*command, status=status)
    report = call_json(*command)
    assert json.loads(again.read_text())["functions"]["main"].get("order", []) == order
    assert call_json("check", folder / "p.so")["ok"]
    return [region["source_nodes"] for region in report["regions"]]


def test_nodes_have_their_turns(tmp_path):
    assert compile_in_turns(tmp_path, ["three", "two", "one"]) == [["three"], ["two"], ["one"]]
    assert compile_in_turns(tmp_path, ["two", "three", "one"]) == [["two"], ["one", "three"]]


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (["one", "two"], "node 'three' is not in the order"),
        (["one", "two", "three", "one"], "node 'one' is in the order twice"),
        (["one", "two", "three", "four"], "the order has nodes that the model has not"),
        ([1, 2, 3], 'want a list "order" of texts'),
    ],
)
def test_an_order_that_cannot_be(tmp_path, order, words):
    assert words in compile_in_turns(tmp_path, order, status=1 if order[0] == 1 else 2)


def test_what_is_read_has_its_turn_before(model, tmp_path):
    path, plan, _ = saved(model, "--tune", "off")
    plan["functions"]["main"]["order"] = ["act", "product", "product2", "y"]
    path.write_text(json.dumps(plan))
    message = error_of("compile", model, "-o", tmp_path / "p.so", "--plan", path, status=2)
    assert "in the order node 'act' is before 'product', which it reads" in message
