"""Limits of the memory that programs take: a plan that fits is found, or the error says what is needed.

Covers: src/base/ byte_size.cc src/plan/choose/ fit_memory.cc shrink_placement.cc src/compile/ open_memory.cc program_memory.cc
"""

import json

import intarsia
import numpy as np
import pytest
from cli_models import TensorProto, call, call_json, error_of, helper, save

FLOAT = TensorProto.FLOAT
SIZE, LAYERS = 128, 4
WEIGHT = 4 * SIZE * SIZE  # bytes of a layer
DEVICES = ("-d", "accel=sim:0,cpu", "--backends", "halide,reference")


@pytest.fixture(scope="module")
def products(tmp_path_factory):
    """Products in a row with weights of their own."""
    random = np.random.default_rng(1)
    weights = random.standard_normal((LAYERS, SIZE, SIZE)).astype(np.float32) / SIZE**0.5
    nodes = [
        helper.make_node("MatMul", [f"v{i}", f"w{i}"], [f"v{i + 1}"], f"product{i}") for i in range(LAYERS)
    ]
    return save(
        tmp_path_factory.mktemp("products") / "model.onnx",
        nodes,
        [("v0", FLOAT, [8, SIZE])],
        [(f"v{LAYERS}", FLOAT, [8, SIZE])],
        [(f"w{i}", weight) for i, weight in enumerate(weights)],
    )


def slots_of(report):
    return {slot["name"]: slot["memory"] for slot in report["slots"]}


def on_accelerator(report):
    return sum(region["nodes"] for region in report["regions"] if region["target"].endswith("@accel"))


@pytest.mark.parametrize("tune", ["off", "fast"])
def test_the_plan_that_ships_fits(products, tmp_path, tune):
    program, limit = tmp_path / "model.so", 2.7 * WEIGHT / 1024
    report = call_json(
        "compile", products, "-o", program, *DEVICES, "--tune", tune, "--cache", tmp_path / "cache",
        "--memory", f"accel={limit}KB",
    )  # fmt: skip
    memory = slots_of(report)["accel"]
    assert memory["limit_bytes"] == int(limit * 1024)
    assert memory["constants_bytes"] + memory["arena_bytes"] <= memory["limit_bytes"]
    if tune == "off":
        assert on_accelerator(report) == 2 and memory["constants_bytes"] >= 2 * WEIGHT
    explained = slots_of(call_json("explain", program)).get("accel", memory)
    assert explained["constants_bytes"] == memory["constants_bytes"]
    assert explained["arena_bytes"] == memory["arena_bytes"]
    assert call_json("check", program)["ok"]


def test_the_fastest_that_fits_ships(tmp_path):
    """A device runs every product faster than the CPU, and has room for half of them."""
    size, layers = 512, 8
    random = np.random.default_rng(2)
    weights = random.standard_normal((layers, size, size)).astype(np.float32) / size**0.5
    nodes = [
        helper.make_node("MatMul", [f"v{i}", f"w{i}"], [f"v{i + 1}"], f"product{i}") for i in range(layers)
    ]
    shape = [size, size]
    model = save(
        tmp_path / "model.onnx", nodes, [("v0", FLOAT, shape)], [(f"v{layers}", FLOAT, shape)],
        [(f"w{i}", weight) for i, weight in enumerate(weights)],
    )  # fmt: skip
    times = tmp_path / "times.json"
    times.write_text(json.dumps({"default": 200, "link": {"latency_us": 50, "gbps": 100}}))
    options = ("-d", f"cpu,accel=sim:0?times={times}", "--backends", "halide", "--cache", tmp_path / "cache")
    free = call_json("compile", model, "-o", tmp_path / "free.so", *options)
    assert on_accelerator(free) == layers
    limit = 4 * 4 * size * size + 9 * 2**19  # four weights, four values and a bit
    report = call_json("compile", model, "-o", tmp_path / "half.so", *options, "--memory", f"accel={limit}")
    memory = slots_of(report)["accel"]
    assert memory["constants_bytes"] + memory["arena_bytes"] <= limit
    assert 3 <= on_accelerator(report) < layers
    assert free["measured_ms"] < report["measured_ms"] < free["single_backend_ms"]["halide@cpu"]


def test_limits_and_what_is_needed_are_told(products, tmp_path):
    options = (*DEVICES, "--tune", "off", "--memory", f"accel={3 * WEIGHT}")
    text = call("compile", products, "-o", tmp_path / "model.so", *options).stdout
    assert "memory    accel: constants" in text and "at most 192.0 KB" in text
    assert "of working memory" in call("explain", tmp_path / "model.so").stdout
    assert slots_of(call_json("explain", products, *options))["accel"] == {
        "constants_bytes": None,
        "arena_bytes": None,
        "limit_bytes": 3 * WEIGHT,
        "peak": None,
        "scratch_bytes": None,
        "stack_bytes": None,
    }


def test_what_is_pinned_must_fit(products, tmp_path):
    message = error_of(
        "compile", products, "-o", tmp_path / "none.so", *DEVICES, "--tune", "off",
        "--memory", "accel=100KB", "--pin", "product[12]=halide@accel",
    )  # fmt: skip
    assert "--memory accel: the limit is 100.0 KB, and the least that one of" in message
    assert "with the nodes that are pinned there, needs 1" in message and "of constants and" in message
    assert not (tmp_path / "none.so").exists()


def test_a_limit_holds_for_a_given_plan(products, tmp_path):
    plan = tmp_path / "plan.json"
    call("compile", products, "-o", tmp_path / "all.so", *DEVICES, "--tune", "off", "--save-plan", plan)
    options = (*DEVICES, "--plan", plan)
    message = error_of("compile", products, "-o", tmp_path / "none.so", *options, "--memory", "accel=100KB")
    assert "whose nodes are to stay where they are" in message
    targets = json.loads(plan.read_text())
    targets["functions"]["main"]["nodes"].update(
        dict.fromkeys(["product1", "product2", "product3"], "halide@cpu")
    )
    plan.write_text(json.dumps(targets))
    report = call_json("compile", products, "-o", tmp_path / "some.so", *options, "--memory", "accel=100KB")
    assert on_accelerator(report) == 1


def test_a_limit_holds_for_devices_that_the_planner_chooses(products, tmp_path):
    times = tmp_path / "times.json"
    times.write_text(json.dumps({"default": 1}))
    options = ("-d", f"auto,accel=sim:0?times={times}", "--backends", "halide,reference", "--tune", "off")
    message = error_of(
        "compile",
        products,
        "-o",
        tmp_path / "none.so",
        *options,
        "--memory",
        "cpu=100KB",
        "--memory",
        "accel=100KB",
    )
    assert "--memory cpu: the limit is" in message or "--memory accel: the limit is" in message
    report = call_json("compile", products, "-o", tmp_path / "half.so", *options, "--memory", "cpu=150KB")
    assert 0 < on_accelerator(report) <= LAYERS


def test_an_alternative_that_does_not_fit_is_not_in_the_program(products, tmp_path):
    options = (*DEVICES, "--tune", "off", "--also", "cpu")
    report = call_json("compile", products, "-o", tmp_path / "model.so", *options)
    assert [other["targets"] for other in report["alternatives"]] == ["halide@cpu"]
    report = call_json("compile", products, "-o", tmp_path / "model.so", *options, "--memory", "cpu=100KB")
    assert report["alternatives"] == []


def test_what_is_no_limit(products):
    def wrong(*limits):
        options = [part for limit in limits for part in ("--memory", limit)]
        return error_of("compile", products, *DEVICES, "--dry-run", *options, status=2)

    assert "--memory gpu: no such slot; --devices has: accel, cpu" in wrong("gpu=1MB")
    assert "want SLOT=SIZE" in wrong("64MB")
    assert "got 'much', want a size" in wrong("accel=much")
    assert "got '-1', want a size" in wrong("accel=-1") and "got '0', want a size" in wrong("accel=0")
    assert "got '1mb', want a size" in wrong("accel=1mb") and "want a size" in wrong("accel=1e400")
    assert "slot 'accel' is given twice" in wrong("accel=1MB", "accel=2MB")


def test_from_python(products):
    options = {"devices": ["accel=sim:0", "cpu"], "backends": ["halide", "reference"], "tune": "off"}
    compiled = intarsia.compile(products, memory={"accel": 3 * WEIGHT, "cpu": "1GB"}, **options)
    memory = slots_of(compiled.report)
    assert memory["accel"]["limit_bytes"] == 3 * WEIGHT and memory["cpu"]["limit_bytes"] == 2**30
    with pytest.raises(intarsia.UnsupportedError, match=r"memory\['accel'\]: the limit is"):
        intarsia.compile(products, memory={"accel": 1000}, pins={"*": "halide@accel"}, **options)


@pytest.fixture(scope="module")
def open_products(tmp_path_factory):
    """Products in a row, of rows of any number; one in the middle runs elsewhere."""
    random = np.random.default_rng(3)
    weights = random.standard_normal((3, SIZE, SIZE)).astype(np.float32) / SIZE**0.5
    names = ["x", "a", "b", "y"]
    return save(
        tmp_path_factory.mktemp("open") / "model.onnx",
        [helper.make_node("MatMul", [names[i], f"w{i}"], [names[i + 1]], f"product{i}") for i in range(3)],
        [("x", FLOAT, ["batch", SIZE])],
        [("y", FLOAT, ["batch", SIZE])],
        [(f"w{i}", weight) for i, weight in enumerate(weights)],
    )


IN_PARTS = ("--backends", "halide,reference", "--tune", "off", "--threads", "1")
for number, backend in enumerate(("halide", "reference", "halide")):
    IN_PARTS += ("--pin", f"product{number}={backend}@cpu")
ROW = 4 * SIZE  # bytes


def test_values_of_open_size_count_at_the_end_of_their_range(open_products, tmp_path):
    """Two values of `batch` rows lie between regions at a time, or one beside the workspace of a region, which is larger for few rows."""
    program = tmp_path / "model.so"

    def compile_for(sizes, *options):
        report = call_json(
            "compile", open_products, "-o", program, *IN_PARTS, "--shape", f"x={sizes}x{SIZE}", *options
        )
        assert [region["target"] for region in report["regions"]] == [
            "halide@cpu",
            "reference@cpu",
            "halide@cpu",
        ]
        memory, arena = slots_of(report)["cpu"], report["arena_bytes"]
        assert memory["arena_bytes"] == arena
        assert slots_of(call_json("explain", program))["cpu"]["arena_bytes"] == arena
        return report, arena

    _, small = compile_for("1..64")
    report, large = compile_for("1..1064:1,8", "--memory", "cpu=4MB")
    assert large == 2 * 1064 * ROW and small >= 2 * 64 * ROW
    assert report["notes"] == []
    _, fixed = compile_for("64")
    assert fixed <= small
    report, tuned = compile_for("64,1", "--memory", "cpu=4MB")
    assert tuned == small
    assert report["notes"] == [
        "--memory counts 'batch' as 64, as it may be any size: larger ones take more; give its range an end with "
        "--shape, as in 1..32"
    ]
    limited = ("compile", open_products, "-o", program, *IN_PARTS, "--memory", "cpu=4MB", "--shape")
    message = error_of(*limited, f"x=1..8000x{SIZE}")
    assert "--memory cpu: the limit is 4.0 MB, and" in message and "of working memory" in message
    message = error_of(*limited, f"x=1..900000000x{SIZE}")
    assert "of working memory" in message


@pytest.mark.parametrize("backend", ["halide", "reference"])
def test_workspaces_of_open_size_count(tmp_path, backend):
    """All nodes in one region: two of its values lie in the workspace at a time."""
    model = save(
        tmp_path / "model.onnx",
        [
            helper.make_node("Softmax", ["x"], ["a"], axis=-1),
            helper.make_node("Softmax", ["a"], ["b"], axis=1),
            helper.make_node("Softmax", ["b"], ["c"], axis=-1),
            helper.make_node("Softmax", ["c"], ["y"], axis=1),
        ],
        [("x", FLOAT, ["batch", "seq", SIZE])],
        [("y", FLOAT, ["batch", "seq", SIZE])],
    )
    options = ("-o", tmp_path / "model.so", "--backends", backend, "--tune", "off", "--threads", "1")
    arenas = []
    for end in (10, 110):
        report = call_json("compile", model, *options, "--shape", f"x=1..{end}x1..4x{SIZE}")
        arenas.append(report["arena_bytes"])
        assert slots_of(call_json("explain", tmp_path / "model.so"))["cpu"]["arena_bytes"] == arenas[-1]
    assert arenas[1] - arenas[0] == 2 * 100 * 4 * ROW
