"""`intarsia check` when the program is wrong: the node to blame, and how a model's own sensitivity shows.

Covers: cli/commands/ check.cc
src/measure/ check_model.cc nudge_inputs.cc report_check.cc bisect_model.cc
registry/ oracles.cc
"""

import numpy as np
import pytest
from cli_models import build_kernel, call, call_json, error_of, save, save_small
from onnx import TensorProto, helper


def wrong_kernel(folder, domain, operator):
    """Twice the input, which is not what the framework computes."""
    return build_kernel(folder, domain, operator, "2 * x")


def save_chain(path, last="Abs"):
    """x[3] through operators of ONNX and two that only ONNX Runtime knows; with wrong_kernel() `wrong` is wrong."""

    def foreign(op, source, value, name):
        return helper.make_node(op, [source], [value], name, domain="com.microsoft")

    return save(
        path,
        [
            helper.make_node("Neg", ["x"], ["a"], "first"),
            foreign("QuickGelu", "a", "b", "right"),
            helper.make_node("Sigmoid", ["b"], ["c"], "third"),
            foreign("Gelu", "c", "d", "wrong"),
            helper.make_node("Exp", ["d"], ["e"], "fifth"),
            helper.make_node(last, ["e"], ["y"], "sixth"),
        ],
        [("x", TensorProto.FLOAT, [3])],
        [("y", TensorProto.FLOAT, [3])],
        opsets=[("", 18), ("com.microsoft", 1)],
        checked=False,
    )


def test_bisect_of_a_model_with_foreign_operators(tmp_path):
    report = call_json(
        "check",
        save_chain(tmp_path / "chain.onnx"),
        "--kernels",
        wrong_kernel(tmp_path, "com.microsoft", "Gelu"),
        "--bisect",
        status=1,
    )
    assert (
        not report["outputs"][0]["ok"]
        and report["first_bad_node"] == "wrong"
        and report["against"] == "onnxruntime"
    )
    assert report["warnings"] == []


def test_every_alternative_is_checked(tmp_path):
    """What is pinned to a device has a plan on the CPU, where the user's kernel is wrong."""
    model, program = tmp_path / "gelu.onnx", tmp_path / "gelu.so"
    save(
        model,
        [helper.make_node("Gelu", ["x"], ["y"], "act", domain="com.microsoft")],
        [("x", TensorProto.FLOAT, [3])],
        [("y", TensorProto.FLOAT, [3])],
        opsets=[("", 18), ("com.microsoft", 1)],
        checked=False,
    )
    options = ["-d", "cpu,accel=sim:0", "--pin", "act=onnxruntime@accel", "--also", "cpu", "--tune", "off"]
    call("compile", model, "-o", program, *options, "--backends", "onnxruntime")
    report = call_json("check", program)
    assert [(plan["number"], plan["targets"], plan["ok"]) for plan in report["plans"]] == [
        (0, "onnxruntime@accel", True),
        (1, "onnxruntime@cpu", True),
    ]
    assert "alternative 1 on onnxruntime@cpu" in call("check", program).stdout
    wrong = wrong_kernel(tmp_path, "com.microsoft", "Gelu")
    for subject in (["check", program], ["check", model, *options, "--kernels", wrong]):
        if subject[1] == program:
            call("compile", model, "-o", program, *options, "--kernels", wrong)
        done = call(*subject, status=1)
        assert "alternative 1 on kernels@cpu: output 'y' differs" in done.stderr
        report = call_json(*subject, status=1)
        assert not report["ok"] and report["outputs"][0]["ok"]
        assert [plan["ok"] for plan in report["plans"]] == [True, False]


def test_what_cannot_run_here_is_told(tmp_path):
    times = tmp_path / "times.json"
    times.write_text('{"default": 10}')
    model, program = tmp_path / "relu.onnx", tmp_path / "relu.so"
    save(
        model,
        [helper.make_node("Relu", ["x"], ["y"], "act")],
        [("x", TensorProto.FLOAT, [3])],
        [("y", TensorProto.FLOAT, [3])],
    )
    devices = ("-d", f"cpu,accel=sim:0?times={times}", "--also", "cpu", "--pin", "act=reference@accel")
    call("compile", model, "-o", program, *devices, "--backends", "reference", "--tune", "off")
    times.unlink()
    report = call_json("check", program)
    assert report["ok"] and [plan["ok"] for plan in report["plans"]] == [None, True]
    assert "times.json" in report["plans"][0]["reason"]
    assert "the preferred plan on reference@accel: not checked" in call("check", program).stdout


def save_signature(folder):
    """A table, a variable, strings, and Softsign, which gets a wrong kernel."""
    import tensorflow as tf

    module = tf.Module()
    module.table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(tf.constant([0]), tf.constant([1.5])), 0.5
    )
    module.scale = tf.Variable([1.0, 2.0, 3.0])

    @tf.function(input_signature=[tf.TensorSpec([3], tf.float32, name="x")])
    def chain(x):
        picked = module.table.lookup(tf.cast(x, tf.int32))
        y = tf.exp(tf.nn.softsign(tf.sigmoid(-x, name="third"), name="wrong") * picked * module.scale)
        return {"y": y, "text": tf.strings.as_string(tf.cast(10 * x, tf.int32))}

    tf.saved_model.save(module, str(folder / "saved"), signatures={"chain": chain})
    return folder / "saved"


def save_frozen(folder):
    import tensorflow as tf

    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, [3], name="x")
        tf.exp(tf.nn.softsign(tf.sigmoid(-x, name="third"), name="wrong"), name="y")
    (folder / "frozen.pb").write_bytes(graph.as_graph_def().SerializeToString())
    return folder / "frozen.pb"


@pytest.mark.parametrize("save_model", [save_signature, save_frozen])
def test_bisect_of_tensorflow_models(tmp_path, save_model):
    report = call_json(
        "check",
        save_model(tmp_path),
        "--kernels",
        wrong_kernel(tmp_path, "tensorflow", "Softsign"),
        "--bisect",
        status=1,
    )
    assert (
        report["first_bad_node"].endswith("wrong")
        and report["against"] == "tensorflow"
        and report["warnings"] == []
    )


def test_bisect_of_a_program_compiles_its_model(tmp_path):
    """A program of another model: the model that it names is right, and the mismatch shows anyway."""
    call("compile", save_chain(tmp_path / "chain.onnx"), "-o", tmp_path / "chain.so")
    report = call_json(
        "check",
        tmp_path / "chain.so",
        "--model",
        save_chain(tmp_path / "other.onnx", "Neg"),
        "--bisect",
        status=1,
    )
    assert not report["outputs"][0]["ok"] and report["first_bad_node"] is None
    (warning,) = report["warnings"]
    assert (
        "compiled again, is right in every value" in warning and "name the model, with the options" in warning
    )


def test_a_mismatch_shows_when_bisect_cannot_finish(tmp_path):
    """The function is of another version of ONNX's operators than the model: such a graph cannot be written for ONNX Runtime."""
    function = helper.make_function(
        "my.ops",
        "Twice",
        ["a"],
        ["b"],
        [helper.make_node("Add", ["a", "a"], ["b"])],
        [helper.make_opsetid("", 17)],
    )
    nodes = [
        helper.make_node("Twice", ["x"], ["a"], domain="my.ops"),
        helper.make_node("Gelu", ["a"], ["b"], "wrong", domain="com.microsoft"),
        helper.make_node("Exp", ["b"], ["y"]),
    ]
    model = save(
        tmp_path / "two.onnx",
        nodes,
        [("x", TensorProto.FLOAT, [3])],
        [("y", TensorProto.FLOAT, [3])],
        opsets=[("", 18), ("com.microsoft", 1), ("my.ops", 1)],
        functions=[function],
        checked=False,
    )
    done = call(
        "check", model, "--kernels", wrong_kernel(tmp_path, "com.microsoft", "Gelu"), "--bisect", status=1
    )
    assert "NOT OK" in done.stdout and "output 'y' differs from that of onnxruntime" in done.stderr
    text = " ".join(done.stdout.split())
    assert "warning: --bisect found no node: " in text and "one model has one version" in text


def save_chaotic(path):
    """x[64] through ten products with large weights, each into a sine: the last digits of x are the first of y."""
    random = np.random.default_rng(3)
    nodes, value = [], "x"
    for i in range(10):
        nodes += [
            helper.make_node("MatMul", [value, f"w{i}"], [f"a{i}"]),
            helper.make_node("Sin", [f"a{i}"], [f"b{i}"]),
        ]
        value = f"b{i}"
    nodes += [
        helper.make_node("Identity", [value], ["y"]),
        helper.make_node("ArgMax", [value], ["at"], axis=1),
    ]
    return save(
        path,
        nodes,
        [("x", TensorProto.FLOAT, [1, 64])],
        [("y", TensorProto.FLOAT, [1, 64]), ("at", TensorProto.INT64, [1, 1])],
        [(f"w{i}", random.normal(size=(64, 64)).astype(np.float32)) for i in range(10)],
        checked=False,
    )


def test_a_program_without_frameworks_may_be_checked_by_one(tmp_path):
    report = call_json(
        "check", save_small(tmp_path / "m.onnx"), "--fallback", "none", "--against", "onnxruntime"
    )
    assert report["ok"] and report["against"] == "onnxruntime"


def save_typed(path, dtype, last="Sigmoid"):
    """A convolution and a function, in a narrow type."""
    weights = np.random.default_rng(2).normal(size=(4, 3, 3, 3)).flatten().tolist()
    return save(
        path,
        [
            helper.make_node("Conv", ["x", "w"], ["c"], "conv", pads=[1] * 4),
            helper.make_node(last, ["c"], ["y"], "last"),
        ],
        [("x", dtype, [1, 3, 8, 8])],
        [("y", dtype, [1, 4, 8, 8])],
        [helper.make_tensor("w", dtype, (4, 3, 3, 3), weights)],
        opsets=[("", 22)],
    )


def test_a_type_that_the_framework_has_no_kernels_for(tmp_path):
    """Without --against the reference takes the framework's place, and that is told; with it, that is an error."""
    model = save_typed(tmp_path / "bf16.onnx", TensorProto.BFLOAT16)
    report = call_json("check", model)
    assert report["ok"] and report["against"] == "reference"
    (warning, *_) = report["warnings"]
    assert "compared with reference, since onnxruntime does not run this model: " in warning
    assert "against reference" in " ".join(call("check", model).stdout.split())
    call("compile", model, "-o", tmp_path / "bf16.so")
    assert call_json("check", tmp_path / "bf16.so")["against"] == "reference"
    named = error_of("check", model, "--against", "onnxruntime")
    assert named.startswith("error: --against onnxruntime: ") and "bf16.onnx" in named


def test_f16_is_compared_with_the_framework(tmp_path):
    report = call_json("check", save_typed(tmp_path / "f16.onnx", TensorProto.FLOAT16))
    assert report["ok"] and report["against"] == "onnxruntime" and not report["warnings"]


def test_bisect_against_what_took_the_place_of_the_framework(tmp_path):
    """A program of another model: each value of the model is looked at, and is right."""
    other = save_typed(tmp_path / "other.onnx", TensorProto.BFLOAT16, last="Sin")
    call("compile", save_typed(tmp_path / "m.onnx", TensorProto.BFLOAT16), "-o", tmp_path / "m.so")
    report = call_json("check", tmp_path / "m.so", "--model", other, "--bisect", status=1)
    assert report["against"] == "reference" and not report["ok"]
    assert "is right in every value within it" in report["warnings"][-1]


def test_an_ill_conditioned_model_is_distinguished_from_a_wrong_program(tmp_path):
    report = call_json("check", save_chaotic(tmp_path / "chaotic.onnx"), status=1)
    y, at = report["outputs"]
    assert at["sensitivity"] == {"max_abs": None, "max_rel": None, "ok": False}, (
        "another element is the largest"
    )
    assert not y["ok"] and not y["sensitivity"]["ok"] and y["sensitivity"]["max_rel"] > 0.1
    assert (
        "onnxruntime itself changes it by" in y["why"]
        and "% of this difference) when the inputs change by one part in a million" in y["why"]
    )
    assert "the model is ill-conditioned" in y["why"]
    assert "ill-conditioned" in call("check", tmp_path / "chaotic.onnx", status=1).stderr

    report = call_json(
        "check",
        save_chain(tmp_path / "chain.onnx"),
        "--kernels",
        wrong_kernel(tmp_path, "com.microsoft", "Gelu"),
        status=1,
    )
    (y,) = report["outputs"]
    assert not y["ok"] and y["sensitivity"]["ok"] and 0 < y["sensitivity"]["max_rel"] < 1e-5
    assert "the model does not cause this difference" in y["why"]


def test_sensitivity_of_a_model_without_float_inputs(tmp_path):
    """Its weights change instead."""
    random = np.random.default_rng(3)
    model = save(
        tmp_path / "ids.onnx",
        [
            helper.make_node("Gather", ["table", "ids"], ["a"]),
            helper.make_node("Gelu", ["a"], ["b"], "wrong", domain="com.microsoft"),
            helper.make_node("MatMul", ["b", "w"], ["y"]),
        ],
        [("ids", TensorProto.INT64, [4])],
        [("y", TensorProto.FLOAT, [4, 8])],
        [
            ("table", random.normal(size=(9, 16)).astype(np.float32)),
            ("w", random.normal(size=(16, 8)).astype(np.float32)),
        ],
        opsets=[("", 18), ("com.microsoft", 1)],
        checked=False,
    )
    kernel = wrong_kernel(tmp_path, "com.microsoft", "Gelu")
    (y,) = call_json("check", model, "--kernels", kernel, status=1)["outputs"]
    assert y["sensitivity"]["ok"] and 0 < y["sensitivity"]["max_rel"] < 1e-5
    assert "when the weights change by one part in a million: the model does not cause" in y["why"]


def test_sensitivity_is_not_measured_without_need(tmp_path):
    """When everything is right, and when neither an input nor a weight has floats."""
    assert call_json("check", save_chain(tmp_path / "chain.onnx"))["outputs"][0]["sensitivity"] is None
    same, other = (
        save(
            tmp_path / f"{op}.onnx",
            [helper.make_node(op, ["x"], ["y"])],
            [("x", TensorProto.INT32, [9])],
            [("y", TensorProto.INT32, [9])],
        )
        for op in ("Identity", "Neg")
    )
    call("compile", same, "-o", tmp_path / "same.so")
    (y,) = call_json("check", tmp_path / "same.so", "--model", other, status=1)["outputs"]
    assert y["sensitivity"] is None and y["why"].endswith("want equal")
