"""Plans as files: saved, used, edited, and refused when they do not fit.

Covers: src/plan/choose/ plan_file.cc plan_shapes.cc
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


@pytest.fixture
def open_model(tmp_path):
    """Rows of any number; a mask of as many and one more."""
    return save(
        tmp_path / "open.onnx",
        [
            helper.make_node("Relu", ["x"], ["a"], "act"),
            helper.make_node("Concat", ["a", "one"], ["b"], "join", axis=0),
            helper.make_node("Add", ["b", "mask"], ["y"], "sum"),
        ],
        [("x", FLOAT, ["batch", 3]), ("mask", FLOAT, ["batch + 1", "width"])],
        [("y", FLOAT, [None, None])],
        [("one", np.ones((1, 3), np.float32))],
    )


OPTIONS = ("--backends", "halide,reference", "--tune", "off")


def open_sizes(program):
    return [tuple(size.values()) for size in call_json("explain", program)["open_sizes"]]


def test_open_sizes_are_part_of_the_plan(open_model, tmp_path):
    program = tmp_path / "again.so"
    shape = ("--shape", "x=2..32:8,4x3", "--shape", "mask=?xN")
    path, plan, _ = saved(open_model, *OPTIONS, *shape)
    batch = {"size": "batch", "min": 2, "max": 32, "fastest_at": [8, 4]}
    assert plan["functions"]["main"]["shapes"] == {"mask": [None, {"size": "N"}], "x": [batch, 3]}
    programs = set()
    for same in ((), shape, ("--shape", "x=?x3"), ("--shape", "x=2..32x3"), ("--shape", "mask=?x?")):
        call("compile", open_model, "-o", program, "--plan", path, *OPTIONS, *same)
        assert open_sizes(program) == [("N", 0, 10**9, []), ("batch", 2, 32, [8, 4])]
        programs.add(program.read_bytes())
    assert len(programs) == 1
    assert call_json("explain", open_model, "--plan", path, *OPTIONS)["open_sizes"][1]["max"] == 32
    again = tmp_path / "again.json"
    call("compile", open_model, "-o", program, "--plan", path, "--save-plan", again, *OPTIONS)
    assert json.loads(again.read_text()) == plan


def test_fixed_sizes_are_part_of_the_plan_of_an_open_model(open_model, tmp_path):
    path, plan, _ = saved(open_model, *OPTIONS, "--shape", "x=8x3", "--shape", "mask=9x3")
    assert plan["functions"]["main"]["shapes"] == {"mask": [9, 3], "x": [8, 3]}
    call("compile", open_model, "-o", tmp_path / "again.so", "--plan", path, *OPTIONS)
    assert [one["shape"] for one in call_json("explain", tmp_path / "again.so")["inputs"]] == [[8, 3], [9, 3]]


def test_plans_of_fixed_models_have_no_shapes(model):
    _, plan, _ = saved(model, *OPTIONS)
    assert "shapes" not in plan["functions"]["main"]


@pytest.mark.parametrize("shape", ["x=4x3", "x=1..32x3", "x=2..32:8x3", "x=Mx3", "mask=33x3"])
def test_a_shape_that_contradicts_the_plan(open_model, tmp_path, shape):
    path, plan, _ = saved(open_model, *OPTIONS, "--shape", "x=2..32:8,4x3")
    message = error_of(
        "compile", open_model, "-o", tmp_path / "n.so", "--plan", path, *OPTIONS, "--shape", shape, status=2
    )
    name = shape.split("=")[0]
    chosen = {"x": "x=2..32:8,4x3", "mask": "mask=?xwidth"}[name]
    assert f"plan '{path}': it was chosen for {chosen}, and --shape {shape} wants another shape" in message
    assert "leave --shape out, or choose a plan for it with --save-plan" in message


@pytest.mark.parametrize(
    "shapes, words",
    [
        ([], "function 'main', \"shapes\": want an object"),
        ({"x": 3}, "input 'x': want a list of sizes"),
        ({"x": [-1, 3]}, "input 'x', size 0: -1 is not a size; want a whole number, 0 to 1000000000"),
        ({"x": [2.5, 3]}, "input 'x', size 0: 2.5 is not a size"),
        ({"x": [2**64 - 1, 3]}, "is not a size"),
        ({"x": [{"min": 1}, 3]}, "input 'x', size 0: want a text \"size\""),
        ({"x": [{"size": "batch", "least": 1}, 3]}, "least"),
        ({"x": [{"size": "batch", "min": 9, "max": 4}, 3]}, '"min" is 9 and "max" is 4; want 4 to 9'),
        ({"x": [{"size": "batch", "max": 10**10}, 3]}, '"max": 10000000000 is not a size'),
        (
            {"x": [{"size": "batch", "max": 4, "fastest_at": [8]}, 3]},
            '"fastest_at": size 8 is not in 0..4; widen the range, or leave the size out',
        ),
        ({"x": [{"size": "batch", "fastest_at": 8}, 3]}, "want a list of sizes"),
    ],
)
def test_shapes_that_make_no_sense(open_model, tmp_path, shapes, words):
    assert words in error_with(open_model, tmp_path, shapes, status=1)


@pytest.mark.parametrize(
    "shapes, words",
    [
        ({"z": [3]}, "the model has no input 'z': it is of another model; save it again"),
        (
            {"x": [{"size": "batch"}, 4]},
            "input 'x' has shape batchx4 in it, and [batch,3] in the model: it is of another model",
        ),
        ({"x": [3]}, "input 'x' has shape 3 in it, and [batch,3] in the model"),
        ({"x": [None, 3]}, "input 'x' has shape ?x3 in it, and [batch,3] in the model"),
        ({"mask": [{"size": "n"}, 3]}, "input 'mask' has shape nx3 in it, and [batch+1,width] in the model"),
        ({"mask": [9, 3], "x": [3, 3]}, "size 0 is batch+1 in the model"),
    ],
)
def test_shapes_of_another_model(open_model, tmp_path, shapes, words):
    assert words in error_with(open_model, tmp_path, shapes, status=2)


def error_with(open_model, folder, shapes, status):
    """What a compile says of a plan with these shapes."""
    path, plan, _ = saved(open_model, *OPTIONS)
    plan["functions"]["main"]["shapes"] = shapes
    path.write_text(json.dumps(plan))
    program = folder / "n.so"
    message = error_of("compile", open_model, "-o", program, "--plan", path, *OPTIONS, status=status)
    assert f"plan '{path}': " in message and not program.exists()
    return message
