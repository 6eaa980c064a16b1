"""Branches and loops that only a run decides, as steps of a program without a framework, against ONNX Runtime.

Covers: src/compile/ compile_bodies.cc control_flow.cc control_flow_target.cc
src/runtime/ body_step.cc
src/import/ import_onnx.cc
"""

import intarsia
import numpy as np
import onnxruntime
import pytest
from cli_models import call, save
from control_flow_models import BOOL, FLOAT, INT, body, node, save_decoder

RANDOM = np.random.default_rng(11)


def floats(*shape):
    return RANDOM.standard_normal(shape, "float32")


class Compared:
    """A program of our own kernels, beside ONNX Runtime."""

    def __init__(self, folder, *model, **options):
        path = save(folder / "model.onnx", *model)
        intarsia.compile(path, tune="off", fallback="none", **options).save(folder / "model.so")
        self.report = intarsia.explain(folder / "model.so")
        self.session = intarsia.load(folder / "model.so").bind(threads=1)
        self.oracle = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])

    def check(self, **inputs):
        names = [output.name for output in self.oracle.get_outputs()]
        want = dict(zip(names, self.oracle.run(names, inputs), strict=True))
        got = self.session.run(inputs)
        for name in names:
            assert got[name].dtype == want[name].dtype
            assert got[name].shape == want[name].shape, name
            np.testing.assert_allclose(got[name], want[name], rtol=1e-4, atol=1e-5)
        return got

    def targets(self):
        return {at["op"]: at["target"] for at in self.report["nodes"]}


def branches(then, otherwise, constants=(), then_shape=("n",), else_shape=("n",)):
    return node(
        "If",
        ["c"],
        ["y"],
        "choose",
        then_branch=body("yes", then, [], [("t", FLOAT, list(then_shape))], constants),
        else_branch=body("no", otherwise, [], [("e", FLOAT, list(else_shape))]),
    )


def test_a_branch_that_inputs_decide(tmp_path):
    choose = branches(
        [node("MatMul", ["h", "w"], ["p"]), node("Relu", ["p"], ["t"])],
        [node("Sub", ["h", "x"], ["e"])],
        [("w", floats(8, 8))],
        (2, 8),
        (2, 8),
    )
    nodes = [node("Tanh", ["x"], ["h"]), choose, node("Abs", ["y"], ["z"])]
    compared = Compared(tmp_path, nodes, [("c", BOOL, []), ("x", FLOAT, [2, 8])], [("z", FLOAT, [2, 8])])
    assert compared.targets()["If"] == "control_flow@cpu"
    assert compared.targets()["MatMul"] == "halide@cpu"
    for c in (True, False, True):
        compared.check(c=np.array(c), x=floats(2, 8))


def test_a_branch_of_two_shapes_and_of_nothing_but_a_value(tmp_path):
    choose = branches(
        [node("Concat", ["x", "x"], ["t"], axis=0)], [node("Identity", ["x"], ["e"])], (), (8, 3), (4, 3)
    )
    compared = Compared(tmp_path, [choose], [("c", BOOL, []), ("x", FLOAT, [4, 3])], [("y", FLOAT, ["n", 3])])
    for c in (True, False):
        compared.check(c=np.array(c), x=floats(4, 3))


def counted_loop(condition="", trips="m"):
    """v = tanh(v W + x), and all of it; and the sum of what was before."""
    step = [
        node("MatMul", ["v", "w"], ["p"]),
        node("Add", ["p", "x"], ["s"]),
        node("Tanh", ["s"], ["v_out"]),
        node("ReduceSum", ["v_out"], ["sum"], keepdims=0),
        node("Less", ["sum", "most"], ["go_on"]),
        node("Cast", ["i"], ["number"], to=FLOAT),
        node("Add", ["v", "number"], ["row"]),
    ]
    loop = body(
        "step",
        step,
        [("i", INT, []), ("c", BOOL, []), ("v", FLOAT, [1, 6])],
        [("go_on" if condition else "c", BOOL, []), ("v_out", FLOAT, [1, 6]), ("row", FLOAT, [1, 6])],
        [("w", floats(6, 6)), ("most", np.array(0.5, "float32"))],
    )
    return node("Loop", [trips, condition, "v0"], ["last", "all"], "again", body=loop)


LOOP_INPUTS = [("m", INT, []), ("v0", FLOAT, [1, 6]), ("x", FLOAT, [1, 6])]
LOOP_OUTPUTS = [("last", FLOAT, [1, 6]), ("all", FLOAT, ["n", 1, 6])]


def test_a_loop_that_an_input_counts(tmp_path):
    compared = Compared(tmp_path, [counted_loop()], LOOP_INPUTS, LOOP_OUTPUTS)
    assert compared.targets()["Loop"] == "control_flow@cpu"
    assert compared.targets()["MatMul"] == "halide@cpu"
    for m in (3, 0, 1, 40, 2, -1):
        compared.check(m=np.array(m, "int64"), v0=floats(1, 6), x=floats(1, 6))


def test_a_loop_that_a_condition_ends(tmp_path):
    inputs = [*LOOP_INPUTS, ("begin", BOOL, [])]
    compared = Compared(tmp_path, [counted_loop("begin")], inputs, LOOP_OUTPUTS)
    rows = set()
    for i in range(40):
        got = compared.check(
            m=np.array(7, "int64"), v0=floats(1, 6), x=floats(1, 6), begin=np.array(i % 5 != 0)
        )
        rows.add(len(got["all"]))
    assert 0 in rows and len(rows) > 3


def test_a_loop_whose_trip_count_is_constant_has_outputs_of_known_size(tmp_path):
    compared = Compared(
        tmp_path,
        [counted_loop(trips="five")],
        LOOP_INPUTS[1:],
        LOOP_OUTPUTS,
        [("five", np.array(5, "int64"))],
    )
    assert [at["shape"] for at in compared.report["outputs"]] == [[1, 6], [5, 1, 6]]
    for _ in range(3):
        compared.check(v0=floats(1, 6), x=floats(1, 6))


def test_a_trip_count_that_is_an_open_size_tells_the_size_of_outputs(tmp_path):
    step = [node("Add", ["v", "x"], ["v_out"]), node("Identity", ["c"], ["c_out"])]
    loop = body(
        "step",
        step,
        [("i", INT, []), ("c", BOOL, []), ("v", FLOAT, ["n", 3])],
        [("c_out", BOOL, []), ("v_out", FLOAT, ["n", 3]), ("v", FLOAT, ["n", 3])],
    )
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "zero"], ["rows"]),
        node("Loop", ["rows", "", "x"], ["last", "all"], "again", body=loop),
    ]
    outputs = [("last", FLOAT, ["n", 3]), ("all", FLOAT, ["k", "n", 3])]
    compared = Compared(tmp_path, nodes, [("x", FLOAT, ["n", 3])], outputs, [("zero", np.array(0, "int64"))])
    assert [at["shape"] for at in compared.report["outputs"]] == [["n", 3], ["n", "n", 3]]
    for n in (3, 1, 7, 0):
        compared.check(x=floats(n, 3))


def test_a_carried_value_that_grows(tmp_path):
    step = [node("Concat", ["v", "x"], ["v_out"], axis=0), node("Identity", ["c"], ["c_out"])]
    loop = body(
        "step",
        step,
        [("i", INT, []), ("c", BOOL, []), ("v", FLOAT, ["k", 3])],
        [("c_out", BOOL, []), ("v_out", FLOAT, ["k2", 3])],
    )
    nodes = [node("Loop", ["m", "", "v0"], ["last"], "again", body=loop)]
    compared = Compared(
        tmp_path,
        nodes,
        [("m", INT, []), ("v0", FLOAT, [2, 3]), ("x", FLOAT, [1, 3])],
        [("last", FLOAT, ["n", 3])],
    )
    for m in (4, 0, 1):
        compared.check(m=np.array(m, "int64"), v0=floats(2, 3), x=floats(1, 3))


def test_carried_values_that_take_turns_growing(tmp_path):
    names = [f"v{i}" for i in range(6)]
    step = [
        node("Concat", ["v0", "x"], ["w5"], axis=0),
        *[node("Identity", [f"v{i + 1}"], [f"w{i}"]) for i in range(5)],
        node("Identity", ["c"], ["c_out"]),
    ]
    loop = body(
        "step",
        step,
        [("i", INT, []), ("c", BOOL, []), *[(name, FLOAT, [None, 3]) for name in names]],
        [("c_out", BOOL, []), *[(f"w{i}", FLOAT, [None, 3]) for i in range(6)]],
    )
    finals = [f"final{i}" for i in range(6)]
    nodes = [node("Loop", ["m", "", *["x"] * 6], finals, "again", body=loop)]
    outputs = [(name, FLOAT, [None, 3]) for name in finals]
    compared = Compared(tmp_path, nodes, [("m", INT, []), ("x", FLOAT, [1, 3])], outputs)
    for m in (9, 0, 2):
        compared.check(m=np.array(m, "int64"), x=floats(1, 3))


def test_loops_and_branches_in_a_loop(tmp_path):
    inner = body(
        "inner",
        [
            node("Mul", ["u", "half"], ["h"]),
            node("Add", ["h", "x"], ["u_out"]),
            node("Identity", ["c2"], ["c2_out"]),
        ],
        [("j", INT, []), ("c2", BOOL, []), ("u", FLOAT, [2, 4])],
        [("c2_out", BOOL, []), ("u_out", FLOAT, [2, 4])],
        [("half", np.array(0.5, "float32"))],
    )
    step = [
        node("Loop", ["i", "", "v"], ["w"], "inside", body=inner),
        node("ReduceSum", ["w"], ["sum"], keepdims=0),
        node("Greater", ["sum", "none"], ["positive"]),
        node(
            "If",
            ["positive"],
            ["v_out"],
            "choose",
            then_branch=body("yes", [node("Neg", ["w"], ["t"])], [], [("t", FLOAT, [2, 4])]),
            else_branch=body("no", [node("Add", ["w", "x"], ["e"])], [], [("e", FLOAT, [2, 4])]),
        ),
        node("Identity", ["c"], ["c_out"]),
    ]
    loop = body(
        "outer",
        step,
        [("i", INT, []), ("c", BOOL, []), ("v", FLOAT, [2, 4])],
        [("c_out", BOOL, []), ("v_out", FLOAT, [2, 4])],
        [("none", np.array(0, "float32"))],
    )
    nodes = [node("Loop", ["m", "", "v0"], ["last"], "again", body=loop)]
    inputs = [("m", INT, []), ("v0", FLOAT, [2, 4]), ("x", FLOAT, [2, 4])]
    compared = Compared(tmp_path, nodes, inputs, [("last", FLOAT, [2, 4])])
    for m in (0, 5, 1, 8):
        compared.check(m=np.array(m, "int64"), v0=floats(2, 4), x=floats(2, 4))


def test_a_scan_of_an_open_length_and_batch(tmp_path):
    step = [
        node("MatMul", ["xt", "w"], ["p"]),
        node("Add", ["p", "h"], ["s"]),
        node("Tanh", ["s"], ["h_out"]),
        node("Mul", ["h_out", "xt"], ["row"]),
    ]
    scan = body(
        "step",
        step,
        [("h", FLOAT, ["batch", 4]), ("xt", FLOAT, ["batch", 4])],
        [("h_out", FLOAT, ["batch", 4]), ("row", FLOAT, ["batch", 4])],
        [("w", floats(4, 4))],
    )
    nodes = [node("Scan", ["h0", "x"], ["last", "all"], "scan", body=scan, num_scan_inputs=1)]
    inputs = [("h0", FLOAT, ["batch", 4]), ("x", FLOAT, ["length", "batch", 4])]
    outputs = [("last", FLOAT, ["batch", 4]), ("all", FLOAT, ["length", "batch", 4])]
    compared = Compared(tmp_path, nodes, inputs, outputs)
    assert compared.targets()["Scan"] == "control_flow@cpu"
    for batch, length in ((2, 5), (1, 1), (3, 9), (2, 5)):
        compared.check(h0=floats(batch, 4), x=floats(length, batch, 4))
    nothing = {"h0": floats(2, 4), "x": floats(0, 2, 4)}  # for which ONNX Runtime has no answer
    got = compared.session.run(nothing)
    np.testing.assert_array_equal(got["last"], nothing["h0"])
    assert got["all"].shape == (0, 2, 4)


UNARY = ["Relu", "Tanh", "Sigmoid", "Abs", "Neg", "Softplus"]
BINARY = ["Add", "Sub", "Mul", "Max", "Min"]


@pytest.mark.parametrize("seed", range(4))
def test_random_bodies(tmp_path, seed):
    """Bodies of random elementwise nodes and products, over carried and outer values, that hand values on in any order."""
    random = np.random.default_rng(seed)
    carried = int(random.integers(1, 4))
    values, nodes = [f"v{i}" for i in range(carried)] + ["x"], []
    for i in range(int(random.integers(3, 9))):
        made = f"t{i}"
        if random.random() < 0.3:
            nodes.append(node("MatMul", [random.choice(values), "w"], [made]))
        elif random.random() < 0.5:
            nodes.append(node(random.choice(UNARY), [random.choice(values)], [made]))
        else:
            nodes.append(node(random.choice(BINARY), list(random.choice(values, 2)), [made]))
        values.append(made)
    outputs = []
    for i in range(carried + 1):
        nodes.append(node("Clip", [random.choice(values), "low", "high"], [f"o{i}"]))
        outputs.append((f"o{i}", FLOAT, [3, 5]))
    if carried > 1:
        outputs[0] = ("v1", FLOAT, [3, 5])
    loop = body(
        "step",
        nodes,
        [("i", INT, []), ("c", BOOL, []), *[(f"v{i}", FLOAT, [3, 5]) for i in range(carried)]],
        [("c", BOOL, []), *outputs],
        [("w", floats(5, 5)), ("low", np.array(-2, "float32")), ("high", np.array(2, "float32"))],
    )
    finals = [f"final{i}" for i in range(carried)]
    begin = ["x" if random.random() < 0.3 else f"b{i}" for i in range(carried)]
    compared = Compared(
        tmp_path,
        [node("Loop", ["m", "", *begin], [*finals, "all"], "again", body=loop)],
        [("m", INT, []), ("x", FLOAT, [3, 5]), *[(name, FLOAT, [3, 5]) for name in begin if name != "x"]],
        [*[(name, FLOAT, [3, 5]) for name in finals], ("all", FLOAT, ["n", 3, 5])],
    )
    for m in (0, 1, 2, 5):
        inputs = {name: floats(3, 5) for name in {"x", *begin}}
        compared.check(m=np.array(m, "int64"), **inputs)


def test_a_decoder_is_one_program_without_a_framework(tmp_path):
    model = save_decoder(tmp_path / "decoder.onnx")
    program = tmp_path / "decoder.so"
    call("compile", model, "-o", program, "--tune", "off", "--fallback", "none")
    report = intarsia.explain(program)
    targets = {at["target"] for at in report["nodes"]}
    assert targets == {"control_flow@cpu", "halide@cpu"}
    session = intarsia.load(program).bind(threads=1)
    oracle = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    for steps, first in ((64, 3), (1, 9), (0, 1), (20, 200)):
        given = {"steps": np.array(steps, "int64"), "first": np.array([first], "int64")}
        np.testing.assert_array_equal(session.run(given)["tokens"], oracle.run(None, given)[0])
    assert "loop" in call("run", program, "--profile").stdout + call("explain", program).stdout.lower()
