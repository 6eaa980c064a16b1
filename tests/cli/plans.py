"""Plans with a framework: what stays inside it, and which plan ships, measured for real.

Covers: src/plan/choose/ choose_plan.cc src/plan/partition/ describe_plan.cc group_opaque_values.cc src/plan/place/
plan_candidates.cc src/plan/costs/ plan_keys.cc plan_timer.cc src/compile/ measure_plans.cc
"""

import contextlib
import os
import sqlite3

import numpy as np
import pytest
from cli_models import (
    TensorProto,
    call,
    call_json,
    error_of,
    helper,
    kill_at_first_file,
    numpy_helper,
    save,
    skip_on_a_busy_machine,
)

MICROSOFT = "com.microsoft"
OPSETS = (("", 18), (MICROSOFT, 1))
FLOAT, INT64, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING


@pytest.fixture
def chain(tmp_path):
    """Convolutions, each before an operator that only ONNX Runtime has."""
    rng = np.random.default_rng(1)
    nodes, weights, value = [], [], "x"
    for i in range(12):
        weights.append(
            numpy_helper.from_array(rng.standard_normal((8, 8, 3, 3)).astype(np.float32) / 5, f"w{i}")
        )
        nodes += [
            helper.make_node("Conv", [value, f"w{i}"], [f"c{i}"], f"conv{i}", pads=[1, 1, 1, 1]),
            helper.make_node("QuickGelu", [f"c{i}"], [f"g{i}"], f"gelu{i}", domain=MICROSOFT),
        ]
        value = f"g{i}"
    shape = [1, 8, 12, 12]
    return save(
        tmp_path / "chain.onnx", nodes, [("x", FLOAT, shape)], [(value, FLOAT, shape)], weights, OPSETS
    )


def compile_chain(model, name, cache, *options):
    program = model.parent / name
    return program, call_json("compile", model, "-o", program, "--cache", cache, *options)


def times_in_turn(*programs, rounds=4):
    """The minimum time of each in milliseconds: other load only adds to a time, and each round runs them all, so that a
    slow minute does not hit one program alone."""
    best = [float("inf")] * len(programs)
    for _ in range(rounds):
        for i, program in enumerate(programs):
            (result,) = call_json("bench", program, "-t", "0.05")["results"]
            best[i] = min(best[i], result["min_ms"])
    return best


def prices_of_boundaries(cache):
    query = "SELECT to_space, latency_ns, ns_per_byte FROM links WHERE from_space = 'boundary'"
    with contextlib.closing(sqlite3.connect(cache / "costs.sqlite")) as table:
        return {space.split()[0]: tuple(price) for space, *price in table.execute(query)}


def test_slow_islands_are_dissolved(chain, tmp_path):
    """The reference kernels cannot compete: their plan loses by far more than noise."""
    slow = ("--backends", "reference,onnxruntime")
    first, report = compile_chain(chain, "first.so", tmp_path / "cache", *slow)
    plan = report["plan"]
    assert (
        plan["shipped"] == "single_backend"
        and plan["backend"] == "onnxruntime"
        and plan["disabled_reason"] is None
    )
    assert plan["dissolved_regions"] == 12
    assert [region["target"] for region in report["regions"]] == ["onnxruntime@cpu"]
    assert report["measured_ms"] == report["single_backend_ms"]["onnxruntime"]
    reasons = {node["name"]: node["reason"] for node in call_json("explain", first)["nodes"]}
    assert "dissolved" in reasons["conv3"] or "all in onnxruntime" in reasons["conv3"]
    assert reasons["gelu3"] == "first that supports it"
    assert call_json("check", first)["ok"]
    placed, _ = compile_chain(chain, "placed.so", tmp_path / "cache", *slow, "--tune", "off")
    shipped_ms, placed_ms = times_in_turn(first, placed)
    assert shipped_ms < placed_ms / 1.5
    skip_on_a_busy_machine(report)
    prices = prices_of_boundaries(tmp_path / "cache")
    assert prices.keys() == {"reference", "onnxruntime"}
    assert all(0 < call_ns < 1e6 and 0 < ns_per_byte < 100 for call_ns, ns_per_byte in prices.values()), (
        prices
    )
    second, again = compile_chain(chain, "second.so", tmp_path / "cache", *slow)
    regions = plan["regions_measured"]
    assert regions > 0 and plan["regions_remembered"] == 0
    assert again["measured_ms"] == report["measured_ms"]
    assert again["plan"] == {**plan, "regions_measured": 0, "regions_remembered": regions}
    assert first.read_bytes() == second.read_bytes()
    text = call("compile", chain, "-o", first, "--cache", tmp_path / "cache", *slow).stdout
    assert (
        f"all in onnxruntime: {report['measured_ms']:.3g} ms (as placed {plan['as_placed_ms']:.3g} ms)"
        in text
    )


def test_a_program_runs_without_the_framework_that_it_prefers(tmp_path):
    """The reference kernels take the whole model, but ONNX Runtime is faster; without it they run."""
    weights = [("w", np.random.default_rng(1).standard_normal((16, 16, 3, 3)).astype(np.float32) / 12)]
    shape = [1, 16, 32, 32]
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], "conv1", pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["c", "w"], ["y"], "conv2", pads=[1, 1, 1, 1]),
    ]
    model = save(tmp_path / "model.onnx", nodes, [("x", FLOAT, shape)], [("y", FLOAT, shape)], weights)
    backends = ("--backends", "reference,onnxruntime")
    program, report = compile_chain(model, "model.so", tmp_path / "cache", *backends)
    assert [region["target"] for region in report["regions"]] == ["onnxruntime@cpu"]
    (alternative,) = report["alternatives"]
    assert alternative["targets"] == "reference@cpu" and alternative["measured_ms"] > report["measured_ms"]
    assert call_json("explain", program)["alternatives"] == [alternative]
    first = call_json("run", program, "-o", tmp_path / "first")
    assert first["alternative"]["number"] == 0 and first["alternative"]["reason"] is None
    missing = {"INTARSIA_ONNXRUNTIME": str(tmp_path / "nothing.so")}
    second = call_json("run", program, "-o", tmp_path / "second", env=missing)
    assert second["alternative"]["number"] == 1 and "nothing.so" in second["alternative"]["reason"]
    assert "note   runs on reference@cpu" in call("run", program, env=missing).stdout
    assert "note   runs on reference@cpu" in call("bench", program, "-t", "0.1", env=missing).stdout
    outputs = [np.load(run["outputs"][0]["file"]) for run in (first, second)]
    np.testing.assert_allclose(*outputs, rtol=1e-4, atol=1e-5)
    pinned, report = compile_chain(
        model, "pinned.so", tmp_path / "cache", *backends, "--pin", "conv1=onnxruntime@cpu"
    )
    assert report["alternatives"] == []
    assert "nothing.so" in error_of("run", pinned, env=missing)


@pytest.fixture
def varied(tmp_path):
    """Pairs of activations, each pair of another size, between operators that only ONNX Runtime has."""
    nodes, value = [], "x"
    for i in range(5):
        nodes += [
            helper.make_node("QuickGelu", [value], [f"g{i}"], f"gelu{i}", domain=MICROSOFT),
            helper.make_node("Relu", [f"g{i}"], [f"r{i}"], f"relu{i}"),
            helper.make_node("Concat", [f"r{i}", f"r{i}"], [f"c{i}"], f"twice{i}", axis=0),
        ]
        value = f"c{i}"
    nodes.append(helper.make_node("QuickGelu", [value], ["y"], "last", domain=MICROSOFT))
    return save(
        tmp_path / "varied.onnx", nodes, [("x", FLOAT, [64])], [("y", FLOAT, [64 * 2**5])], [], OPSETS
    )


def compile_and_count(model, cache, *options):
    """Regions that were measured, those whose times were known, and the probe that was measured beside each row of the
    table of regions."""
    report = call_json("compile", model, "--dry-run", "--cache", cache, *options)
    skip_on_a_busy_machine(report)
    plan = report["plan"]
    assert plan["disabled_reason"] is None
    with contextlib.closing(sqlite3.connect(cache / "costs.sqlite")) as table:
        rows = table.execute("SELECT digest || backend, probe_ns FROM costs WHERE kind = 'region'").fetchall()
    return plan["regions_measured"], plan["regions_remembered"], dict(rows)


def test_only_regions_that_a_pin_changes_are_measured(varied, tmp_path):
    cache = tmp_path / "cache"
    measured, remembered, first = compile_and_count(varied, cache)
    assert (measured, remembered) == (6 + 2 * 5, 0), "gelus, and islands in both backends"
    assert len(first) == measured
    measured, remembered, second = compile_and_count(varied, cache, "--pin", "relu2=onnxruntime@cpu")
    new = {row: probe for row, probe in second.items() if row not in first}
    assert len(new) == 3, "gelu2 with relu2 in ONNX Runtime; twice2 in both"
    probes = [*first.values(), *new.values()]
    if max(probes) <= 1.05 * min(probes):
        assert (measured, remembered) == (3, 13)
    else:  # the machine was slower for a moment, so that no time compares
        assert (measured, remembered) == (16, 0)
    assert compile_and_count(varied, cache, "--pin", "relu2=onnxruntime@cpu")[:2] == (0, 16)


def test_the_plan_that_ships_is_not_slower_than_the_framework(chain, tmp_path):
    program, report = compile_chain(chain, "model.so", tmp_path / "cache")
    alone, _ = compile_chain(chain, "alone.so", tmp_path / "cache", "--backends", "onnxruntime")
    shipped_ms, alone_ms = times_in_turn(program, alone)
    assert shipped_ms < 1.3 * alone_ms
    assert report["measured_ms"] <= report["single_backend_ms"]["onnxruntime"] / 0.98
    assert call_json("check", program)["ok"]


def test_what_is_not_measured_is_placed_and_reported(chain, tmp_path):
    _, report = compile_chain(chain, "off.so", tmp_path / "cache", "--tune", "off")
    assert report["plan"]["disabled_reason"] == "--tune off" and report["plan"]["shipped"] == "as_placed"
    assert report["measured_ms"] is None and report["single_backend_ms"] is None
    assert len(report["regions"]) == 24 and not (tmp_path / "cache" / "costs.sqlite").exists()
    assert (
        "as placed, not compared with others: --tune off"
        in call("compile", chain, "-o", tmp_path / "off.so", "--tune", "off").stdout
    )
    _, report = compile_chain(chain, "hurry.so", tmp_path / "cache", "--tune-seconds", "1e-9")
    assert "--tune-seconds" in report["plan"]["disabled_reason"]


def test_one_backend_has_no_plan_to_choose(chain, tmp_path):
    for name in ("reference", "onnxruntime"):
        model = save(
            tmp_path / "relu.onnx",
            [helper.make_node("Relu", ["x"], ["y"], "relu")],
            [("x", FLOAT, [2])],
            [("y", FLOAT, [2])],
            [],
        )
        report = call_json("compile", model, "--dry-run", "--backends", name)
        assert (
            report["plan"] is None and report["measured_ms"] is None and report["single_backend_ms"] is None
        )


def test_nothing_is_left_behind(chain, tmp_path):
    folder = tmp_path / "temporary"
    folder.mkdir()
    environment = {**os.environ, "TMPDIR": str(folder)}
    call("compile", chain, "-o", tmp_path / "model.so", "--cache", tmp_path / "cache", env=environment)
    assert call_json("compile", chain, "--dry-run", "--cache", tmp_path / "cache")["measured_ms"] is not None
    assert [name for name in os.listdir(folder) if name.startswith("intarsia")] == []


def test_a_problem_with_the_database_is_a_warning(chain, tmp_path):
    file = tmp_path / "file"
    file.write_text("in the way")
    _, report = compile_chain(chain, "nowhere.so", file, "--backends", "reference,onnxruntime")
    assert "--cache" in report["tuning"]["warning"] and report["plan"]["shipped"] == "single_backend"


def test_an_interrupted_compile_loses_nothing(chain, tmp_path):
    slow = ("--backends", "reference,onnxruntime")
    _, report = compile_chain(chain, "known.so", tmp_path / "cache", *slow)
    skip_on_a_busy_machine(report)
    options = ("--cache", tmp_path / "cache", "--threads", 2, *slow)
    kill_at_first_file(tmp_path / "temporary", "compile", chain, "-o", tmp_path / "cut.so", *options)
    assert not (tmp_path / "cut.so").exists()
    _, again = compile_chain(chain, "again.so", tmp_path / "cache", *slow)
    assert (
        again["plan"]["regions_measured"] == 0
        and again["plan"]["as_placed_ms"] == report["plan"]["as_placed_ms"]
    )


@pytest.fixture
def sequence(tmp_path):
    """A sequence bypasses 'between', which our compiler supports; its elements depend on 'place'."""
    nodes = [
        helper.make_node("SplitToSequence", ["x"], ["s"], "split", axis=0),
        helper.make_node("SequenceAt", ["s", "place"], ["a"], "at"),
        helper.make_node("Relu", ["a"], ["b"], "between"),
        helper.make_node("SequenceInsert", ["s", "b", "place"], ["t"], "insert"),
        helper.make_node("ConcatFromSequence", ["t"], ["c"], "join", axis=0),
        helper.make_node("Relu", ["c"], ["y"], "after"),
    ]
    return save(
        tmp_path / "sequence.onnx",
        nodes,
        [("x", FLOAT, [3, 4]), ("place", INT64, [])],
        [("y", FLOAT, [4, 4])],
    )


def places(model, *options):
    return {
        node["name"]: (node["target"], node["reason"])
        for node in call_json("explain", model, *options)["nodes"]
    }


def test_a_sequence_stays_in_one_region(sequence, tmp_path):
    program = tmp_path / "sequence.so"
    report = call_json(
        "compile", sequence, "-o", program, "--tune", "off", "--backends", "reference,onnxruntime"
    )
    assert [(region["target"], region["nodes"]) for region in report["regions"]] == [
        ("onnxruntime@cpu", 5),
        ("reference@cpu", 1),
    ]
    assert places(program)["between"] == ("onnxruntime@cpu", "between operators that pass 's'")
    assert call_json("check", program)["ok"]


def test_a_pin_between_operators_that_pass_a_sequence(sequence):
    error = error_of(
        "compile",
        sequence,
        "--dry-run",
        "--backends",
        "reference,onnxruntime",
        "--pin",
        "between=reference@cpu",
        status=2,
    )
    assert (
        "'s' passes from 'split' to 'insert' inside onnxruntime@cpu" in error
        and "'between' (Relu) in between is pinned to reference@cpu" in error
    )


def test_what_only_a_framework_holds_goes_there_whole(tmp_path):
    """Sequences, optionals and strings; 'plain' is ours, and so are branches and loops."""

    def body(name, nodes, inputs, outputs):
        return helper.make_graph(nodes, name, inputs, outputs)

    def info(name, dtype, shape):
        return helper.make_tensor_value_info(name, dtype, shape)

    flag, count = info("more", TensorProto.BOOL, []), info("i", INT64, [])
    branches = [
        body(name, [helper.make_node(op, ["p"], [name])], [], [info(name, FLOAT, [2])])
        for name, op in (("then", "Neg"), ("else", "Exp"))
    ]
    loop = body(
        "loop",
        [helper.make_node("Identity", ["more"], ["again"]), helper.make_node("Sin", ["v"], ["next"])],
        [count, flag, info("v", FLOAT, [2])],
        [info("again", TensorProto.BOOL, []), info("next", FLOAT, [2])],
    )
    scan = body(
        "scan", [helper.make_node("Cos", ["e"], ["f"])], [info("e", FLOAT, [])], [info("f", FLOAT, [])]
    )
    steps = [
        helper.make_node("If", ["flag"], ["b"], "branch", then_branch=branches[0], else_branch=branches[1]),
        helper.make_node("Loop", ["three", "", "b"], ["l"], "loop", body=loop),
        helper.make_node("Scan", ["l"], ["n"], "scan", body=scan, num_scan_inputs=1),
    ]
    framework = [
        helper.make_node("SequenceConstruct", ["n", "p"], ["s"], "sequence"),
        helper.make_node("SequenceAt", ["s", "place"], ["a"], "element"),
        helper.make_node("Optional", ["a"], ["o"], "optional"),
        helper.make_node("OptionalGetElement", ["o"], ["y"], "content"),
        helper.make_node("StringConcat", ["words", "words"], ["twice"], "text"),
    ]
    plain = helper.make_node("Abs", ["x"], ["p"], "plain")
    model = save(
        tmp_path / "model.onnx",
        [plain, *steps, *framework],
        [("x", FLOAT, [2]), ("flag", TensorProto.BOOL, []), ("words", STRING, [2]), ("place", INT64, [])],
        [("y", FLOAT, [2]), ("twice", STRING, [2])],
        [("three", np.array(3, np.int64))],
        (("", 20),),
    )
    where = {name: target.split("@")[0] for name, (target, _) in places(model).items()}
    assert where.pop("plain") != "onnxruntime"
    runners = {"control_flow": steps, "onnxruntime": framework}
    assert where == {node.name: runner for runner, nodes in runners.items() for node in nodes}
    program = tmp_path / "model.so"
    report = call_json("compile", model, "-o", program, "--cache", tmp_path / "cache")
    assert report["plan"]["disabled_reason"] is None and report["measured_ms"] > 0, "words are filled in"
