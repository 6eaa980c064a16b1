"""`intarsia rewrite --replace`: nodes, scopes and functions that a function of a given program takes the place of.

Covers: src/rewrite/ find_scope.cc made_tensors.cc replace_by_hand.cc
"""

import shutil

import numpy as np
import onnx
import pytest
from cli_models import call, call_json, error_of
from onnx import TensorProto, helper
from rewrite_models import weight
from rewritten_models import COMPARE, FAST, OnlyTensorFlow, count_ops, read_model

import tensorflow as tf

v1 = tf.compat.v1
F = TensorProto.FLOAT
NO_PARTS = (*FAST, "--backends", "tensorflow")  # nothing but what is replaced by hand
LOAD = (
    COMPARE
    + """
models = [tf.saved_model.load(folder) for folder in folders]
wanted, got = [model.signatures["serving_default"](**{k: tf.constant(v) for k, v in inputs.items()}) for model in models]
check(wanted, got, "serving_default")
"""
)


def program(folder, name, inputs, outputs, nodes, function="main"):
    """A compiled program of ONNX nodes: {name: shape} of float inputs and outputs."""

    def values(shapes):
        return [helper.make_tensor_value_info(key, F, shape) for key, shape in shapes.items()]

    graph = helper.make_graph(nodes, function, values(inputs), values(outputs))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, folder / f"{name}.onnx")
    call("compile", folder / f"{name}.onnx", "-o", folder / f"{name}.so", "--tune", "off")
    return folder / f"{name}.so"


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Programs: a ReLU; relu(x @ w) with and without the model's `w`; y = a - b, in both orders."""
    folder = tmp_path_factory.mktemp("programs")
    rows = ["n", 16]
    w = onnx.numpy_helper.from_array(weight(16, 16), "w")
    product = helper.make_node("MatMul", ["x", "w"], ["p"])
    relu = helper.make_node("Relu", ["p"], ["y"])
    constant = helper.make_node("Constant", [], ["w"], value=w)
    return {
        "relu": program(folder, "relu", {"p": rows}, {"y": rows}, [relu]),
        "dense": program(folder, "dense", {"x": rows}, {"y": rows}, [constant, product, relu]),
        "given": program(folder, "given", {"x": rows, "w": [16, 16]}, {"y": rows}, [product, relu]),
        "minus": program(
            folder, "minus", {"b": rows, "a": rows}, {"y": rows}, [helper.make_node("Sub", ["a", "b"], ["y"])]
        ),
        "difference": program(
            folder,
            "difference",
            {"a": rows, "b": rows},
            {"y": rows},
            [helper.make_node("Sub", ["a", "b"], ["y"])],
        ),
        "numbers": program(
            folder, "numbers", {"x": [4]}, {"y": [4]}, [helper.make_node("Relu", ["x"], ["y"])]
        ),
    }


class Blocks(tf.Module):
    """y = block(block(x)) - x, with an Assert between; `block` is a function, and a scope within it."""

    def __init__(self):
        self.w = tf.Variable(weight(16, 16))

    @tf.function(input_signature=[tf.TensorSpec([None, 16])])
    def block(self, x):
        with tf.name_scope("dense"):
            product = tf.linalg.matmul(x, self.w, name="product")
            return tf.nn.relu(product, name="relu")

    @tf.function(input_signature=[tf.TensorSpec([None, 16], name="a"), tf.TensorSpec([None, 16], name="b")])
    def serve(self, a, b):
        once = self.block(a)
        tf.debugging.assert_less(tf.reduce_max(once), 1e6)
        return {"y": tf.subtract(self.block(once), b, name="difference")}


@pytest.fixture(scope="module")
def blocks(tmp_path_factory):
    path = tmp_path_factory.mktemp("blocks") / "model"
    model = Blocks()
    tf.saved_model.save(model, str(path), signatures={"serving_default": model.serve})
    return path


@pytest.fixture(scope="module")
def only_tensorflow(tmp_path_factory):
    process = OnlyTensorFlow(tmp_path_factory.mktemp("server"))
    yield process
    process.close()


def function_named(folder, part):
    [name] = [
        function.signature.name
        for function in read_model(folder).meta_graphs[0].graph_def.library.function
        if part in function.signature.name and "signature_wrapper" not in function.signature.name
    ]
    return name


def draw(names=("a", "b"), batch=3):
    random = np.random.default_rng(5)
    return {name: random.standard_normal((batch, 16)).astype(np.float32) for name in names}


def rewritten(model, tmp_path, *replacements, options=NO_PARTS):
    """The report, and the folder, which was moved."""
    given = [option for one in replacements for option in ("--replace", one)]
    report = call_json("rewrite", model, tmp_path / "new", *options, *given)
    return report, shutil.move(tmp_path / "new", tmp_path / "moved")


def test_a_scope_is_replaced_in_each_call(blocks, programs, only_tensorflow, tmp_path):
    report, folder = rewritten(blocks, tmp_path, f"dense={programs['dense']}:main")
    assert [(part["scope"], part["function"], part["nodes"]) for part in report["replaced"]] == [
        ("dense", "main", 3)
    ] * 2
    assert all(part["program"] == str(programs["dense"]) for part in report["replaced"])
    assert count_ops(folder) == 2 and (folder / "assets" / "dense.so").exists()
    only_tensorflow.run(LOAD, folders=[str(blocks), str(folder)], inputs=draw())


def test_a_function_is_replaced_in_each_call(blocks, programs, only_tensorflow, tmp_path):
    name = function_named(blocks, "block")
    report, folder = rewritten(blocks, tmp_path, f"{name}={programs['dense']}")
    assert [part["scope"] for part in report["replaced"]] == [name] * 2 and count_ops(folder) == 2
    only_tensorflow.run(LOAD, folders=[str(blocks), str(folder)], inputs=draw())


def test_values_of_variables_are_inputs_where_the_function_takes_them(
    blocks, programs, only_tensorflow, tmp_path
):
    report, folder = rewritten(blocks, tmp_path, f"dense={programs['given']}")
    assert count_ops(folder) == 2 and report["dropped_variables"] == []
    only_tensorflow.run(LOAD, folders=[str(blocks), str(folder)], inputs=draw())


def test_inputs_are_paired_by_name_where_all_agree(tmp_path, programs, only_tensorflow):
    @tf.function(input_signature=[tf.TensorSpec([None, 16], name="a"), tf.TensorSpec([None, 16], name="b")])
    def serve(a, b):
        return {"y": tf.subtract(a, b, name="difference")}

    tf.saved_model.save(tf.Module(), str(tmp_path / "model"), signatures=serve)
    for scope in ("difference", function_named(tmp_path / "model", "serve")):
        report, folder = rewritten(tmp_path / "model", tmp_path, f"{scope}={programs['minus']}")
        assert [part["inputs"] for part in report["replaced"]] == [["b", "a"]]
        only_tensorflow.run(LOAD, folders=[str(tmp_path / "model"), str(folder)], inputs=draw())
        shutil.rmtree(folder)


def test_two_programs_beside_compiled_parts_and_a_loop(tmp_path, programs, only_tensorflow):
    """The loop's function takes all programs, as its own part runs one of them."""
    kernel = tf.constant(weight(16, 16))

    @tf.function(input_signature=[tf.TensorSpec([None, 16], name="x")])
    def serve(x):
        h = tf.nn.relu(tf.linalg.matmul(x, kernel), name="first")
        h = tf.raw_ops.Bucketize(input=h, boundaries=[0.1, 0.3])  # no backend but TensorFlow has it
        h = tf.cast(h, tf.float32)
        for _ in range(4):
            h = tf.nn.relu(tf.linalg.matmul(h, kernel))
        i, h = tf.while_loop(
            lambda i, h: tf.less(i, tf.cast(x[0, 0] * 0, tf.int32) + 3),
            lambda i, h: (i + 1, tf.tanh(tf.linalg.matmul(tf.linalg.matmul(h, kernel), kernel))),
            [0, h],
        )
        h = tf.subtract(h, x, name="difference")
        return {"y": h}

    tf.saved_model.save(tf.Module(), str(tmp_path / "model"), signatures=serve)
    report, folder = rewritten(
        tmp_path / "model",
        tmp_path,
        f"first={programs['relu']}",
        f"difference={programs['difference']}",
        options=FAST,
    )
    scopes = [part["scope"] for part in report["replaced"]]
    assert {"first", "difference"} <= set(scopes) and None in scopes, report
    assert {path.name for path in (folder / "assets").iterdir()} == {
        "relu.so",
        "difference.so",
        "intarsia.so",
    }
    only_tensorflow.run(LOAD, folders=[str(tmp_path / "model"), str(folder)], inputs=draw(["x"]))


def test_a_frozen_graph(tmp_path, programs):
    graph = v1.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 16], "x")
        with v1.name_scope("dense"):
            y = tf.nn.relu(tf.linalg.matmul(x, tf.constant(weight(16, 16))))
        tf.exp(y, name="out")
    (tmp_path / "model.pb").write_bytes(graph.as_graph_def().SerializeToString())
    report = call_json(
        "rewrite",
        tmp_path / "model.pb",
        tmp_path / "new.pb",
        *NO_PARTS,
        "--replace",
        f"dense={programs['dense']}",
    )
    assert [part["scope"] for part in report["replaced"]] == ["dense"]
    assert report["bytes"]["program"] == programs["dense"].stat().st_size
    import intarsia.tensorflow  # noqa: F401  # registers the op

    new = v1.GraphDef.FromString((tmp_path / "new.pb").read_bytes())
    assert sum(node.op == "Intarsia" for node in new.node) == 1
    results = []
    for definition in (graph.as_graph_def(), new):
        with v1.Session(graph=v1.Graph()) as session:
            v1.import_graph_def(definition, name="")
            results.append(session.run("out:0", {"x:0": draw(["x"])["x"]}))
    np.testing.assert_allclose(results[1], results[0], rtol=1e-3)


def test_a_session_of_tensorflow_1(tmp_path, programs):
    with v1.Session(graph=v1.Graph()) as session:
        x = v1.placeholder(tf.float32, [None, 16], "x")
        w = v1.get_variable("w", initializer=weight(16, 16), use_resource=True)
        with v1.name_scope("dense"):
            y = tf.nn.relu(tf.linalg.matmul(x, w))
        y = tf.exp(y)
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, str(tmp_path / "model"), {"x": x}, {"y": y})
        wanted = session.run(y, {x: draw(["x"])["x"]})
    report, folder = rewritten(tmp_path / "model", tmp_path, f"dense={programs['dense']}")
    assert [part["scope"] for part in report["replaced"]] == ["dense"]
    got = tf.saved_model.load(str(folder)).signatures["serving_default"](x=tf.constant(draw(["x"])["x"]))
    np.testing.assert_allclose(got["y"], wanted, rtol=1e-3)


@pytest.mark.parametrize(
    ("replacements", "message"),
    [
        (["nothing={relu}"], "no node 'nothing', scope 'nothing/' or call of a function 'nothing'"),
        (["dense"], "want SCOPE=PROGRAM:FUNCTION"),
        (["dense={relu}:other"], "no function 'other'; its functions: main"),
        (["dense=missing.so"], "missing.so"),
        (["dense={model}"], "saved_model.pb"),
        (["difference={relu}"], "the inputs of the nodes are "),
        (["dense/relu={relu}", "dense={dense}"], "'dense/relu' is in 'dense/relu', too"),
        (["dense={dense}", "dense={relu}"], "is given twice"),
        (["dense={relu}"], "results would differ by"),
        (["dense={numbers}"], "it would not run: "),
    ],
)
def test_what_cannot_be_replaced_is_an_error(blocks, programs, tmp_path, replacements, message):
    names = {**programs, "model": blocks / "saved_model.pb"}
    given = [option for one in replacements for option in ("--replace", one.format(**names))]
    status = 1 if message.startswith(("missing", "saved_model")) else 2
    assert message in error_of("rewrite", blocks, tmp_path / "new", *NO_PARTS, *given, status=status)
    assert list(tmp_path.iterdir()) == []


def test_nodes_that_need_what_they_feed_cannot_be_one(tmp_path, programs):
    @tf.function(input_signature=[tf.TensorSpec([None, 16], name="x")])
    def serve(x):
        with tf.name_scope("outer"):
            a = tf.nn.relu(x)
        b = tf.exp(a)
        with tf.name_scope("outer/"):
            c = tf.nn.relu(b)
        return {"y": c}

    two = program(
        tmp_path,
        "two",
        {"x": ["n", 16], "b": ["n", 16]},
        {"a": ["n", 16], "c": ["n", 16]},
        [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Relu", ["b"], ["c"])],
    )
    tf.saved_model.save(tf.Module(), str(tmp_path / "model"), signatures=serve)
    options = ("--replace", f"outer={two}")
    message = error_of("rewrite", tmp_path / "model", tmp_path / "new", *NO_PARTS, *options, status=2)
    assert "--replace 'outer': " in message and "would wait for itself" in message
    assert not (tmp_path / "new").exists()
