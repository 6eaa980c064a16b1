"""Rewritten SavedModels of many kinds in processes that import only TensorFlow: results, and all else that users see, stay.

Covers: src/api/ make_services.cc rewrite_api.cc time_in_tensorflow.cc
src/rewrite/ body.cc changed_functions.cc changed_variables.cc describe_rewrite.cc drop_variables.cc effects.cc find_bodies.cc
find_parts.cc finish_body.cc function_edit.cc import_body.cc inline_calls.cc inner_functions.cc object_edit.cc replace_parts.cc
rewrite_body.cc rewrite_graph_file.cc rewrite_model.cc rewrite_saved_model.cc sample_inputs.cc saver_functions.cc write_saved_model.cc
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import rewrite_sessions
from cli_models import call_json
from rewrite_models import weight
from rewritten_models import (
    CALLED,
    COMPARE,
    FAST,
    IN_SESSIONS,
    OnlyTensorFlow,
    count_ops,
    draw_all,
    make_rewriter,
    objects_beyond,
    read_model,
    surface,
)
from rounds import ROUNDS
from tensorflow_programs import in_new_process
from tensorflow_remote import WORKER, Worker

import tensorflow as tf

NAMES = list(rewrite_sessions.SAVED_MODELS)
LARGE = ("unsupported_middle",) if ROUNDS == 1 else ()  # rewritten once


models = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(scope="module")
def rewritten(tmp_path_factory):
    return make_rewriter(tmp_path_factory.mktemp("rewritten"))


@pytest.fixture(scope="module")
def with_all_variables(tmp_path_factory):
    return make_rewriter(tmp_path_factory.mktemp("with_all_variables"), "--keep-variables")


@pytest.fixture(scope="module")
def only_tensorflow(tmp_path_factory):
    process = OnlyTensorFlow(tmp_path_factory.mktemp("server"))
    yield process
    process.close()


def values_for(made):
    return {
        "folders": [str(made.original), str(made.folder)],
        "tags": list(made.model.tags),
        "random": list(made.model.random),
        "signatures": draw_all(made.model.signatures),
        "methods": draw_all(made.model.methods),
    }


# ---- every model ----


def without_names(signature):
    """A signature without the names of tensors in the graph: the second output of a node gets another one."""
    method, sides, defaults = signature
    return (
        method,
        {side: {key: info[1:] for key, info in infos.items()} for side, infos in sides.items()},
        defaults,
    )


@models
def test_parts_become_ops(rewritten, name):
    made = rewritten(name)
    ops = count_ops(made.folder)
    assert ops == len(made.report["replaced"]), made.report
    assert ops == made.model.ops or (made.model.ops < 0 < ops), made.report
    for signature in made.report["signatures"]:
        why = signature["not_timed"]
        assert why is None or "a string input cannot be filled, give it" in why, signature


@models
def test_signatures_and_methods_compute_the_same(rewritten, only_tensorflow, name):
    only_tensorflow.run(CALLED, **values_for(rewritten(name)))


@models
def test_sessions_of_tensorflow_1_compute_the_same(rewritten, only_tensorflow, name):
    only_tensorflow.run(IN_SESSIONS, **values_for(rewritten(name)))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in LARGE])
def test_all_else_stays(rewritten, with_all_variables, name):
    made = rewritten(name)
    if made.report["dropped_variables"]:
        made = with_all_variables(name)
    before, after = surface(made.original), surface(made.folder)
    if made.report["replaced"]:  # a rewritten function has no gradient
        before = {key: entry for key, entry in before.items() if "internal_grad_fn" not in str(key)}
    assert set(before) == set(after)
    for key, entry in before.items():
        if name == "v1_second_output" and key[1:] == ("signature", "serving_default"):
            entry, after[key] = without_names(entry), without_names(after[key])
        assert after[key] == entry, key
    added, gone = objects_beyond(made.original, made.folder)
    assert gone.keys() <= {"captured_tensor"} and set(added) <= {"asset"} and added.get("asset", 0) <= 1
    if made.report["replaced"]:
        assert not (made.folder / "fingerprint.pb").exists()


# ---- what is timed, and at which sizes ----


def test_parts_are_timed_with_the_values_that_they_get(tmp_path, only_tensorflow):
    """The second layer reads a shape that only TensorFlow computes: made-up numbers would be no shape."""
    w, v = tf.constant(weight(16, 64)), tf.constant(weight(4, 64))

    @tf.function(input_signature=[tf.TensorSpec([None, 16], name="x")])
    def serve(x):
        h = tf.tanh(tf.nn.relu(x @ w) @ tf.transpose(w))
        four = tf.raw_ops.Bucketize(input=[tf.reduce_max(x) * 0 + 9], boundaries=[1.0, 2.0, 3.0, 4.0])
        return {"y": tf.nn.softmax(tf.tanh(tf.reshape(h, tf.concat([[-1], four], 0)) @ v))}

    tf.saved_model.save(tf.Module(), str(tmp_path / "model"), signatures=serve)
    np.save(tmp_path / "x.npy", np.random.default_rng(1).standard_normal((50, 16), np.float32))
    report = call_json("rewrite", tmp_path / "model", tmp_path / "new", *FAST, "-i", f"x={tmp_path}/x.npy")
    assert not any("cannot be timed" in text for text in report["kept"]), report["kept"]
    assert [one["inputs"] for one in report["signatures"]] in (
        [],
        [[{"name": "x", "dtype": "f32", "shape": [50, 16]}]],
    )
    inputs = [("serving_default", {"x": np.load(tmp_path / "x.npy")})]
    only_tensorflow.run(
        CALLED,
        folders=[str(tmp_path / "model"), str(tmp_path / "new")],
        tags=["serve"],
        random=[],
        signatures=inputs,
        methods=[],
    )


# ---- variables that nothing reads any more ----


def variables_of(folder):
    return dict(tf.train.list_variables(str(folder / "variables" / "variables")))


def tracked(folder):
    """The objects that are variables."""
    (meta,) = read_model(folder).meta_graphs
    return sum(saved.WhichOneof("kind") == "variable" for saved in meta.object_graph_def.nodes)


@pytest.mark.parametrize(
    ("name", "stays"),
    [
        ("keras_convolutions", 1),  # the state of Dropout, which nothing read before
        ("two_signatures", 0),
        ("counter", 1),
        ("trained", 7),
        ("branches", 0),
        ("loop", 0),
    ],
)
def test_variables_that_nothing_reads_leave(rewritten, with_all_variables, name, stays):
    """The objects, the tensors of the checkpoint and the report agree; functions that no one rewrote keep theirs."""
    made = rewritten(name)
    before, after = variables_of(made.original), variables_of(made.folder)
    dropped = made.report["dropped_variables"]
    assert sorted(before.keys() - after.keys()) == dropped and after.keys() <= before.keys()
    assert tracked(made.original) - tracked(made.folder) == len(dropped)
    assert tracked(made.folder) == stays
    kept = with_all_variables(name)
    assert variables_of(kept.folder) == variables_of(kept.original) and kept.report["dropped_variables"] == []


SAVED_BY_A_SESSION = """
session = tf.compat.v1.Session(graph=tf.Graph())
with session.graph.as_default():
    meta = tf.compat.v1.saved_model.load(session, ["serve"], folder)
    saver = meta.saver_def
    session.run(saver.save_tensor_name, {saver.filename_tensor_name: prefix})
    session.run(saver.restore_op_name, {saver.filename_tensor_name: prefix})
answer = [name for name, _ in tf.train.list_variables(prefix)]
"""


@pytest.mark.parametrize("name", ["keras_convolutions", "counter", "trained"])
def test_what_is_left_is_saved_and_restored(rewritten, only_tensorflow, tmp_path, name):
    made = rewritten(name)
    prefix = str(tmp_path / "checkpoint")
    assert (
        set(only_tensorflow.run(SAVED_BY_A_SESSION, folder=str(made.folder), prefix=prefix))
        == variables_of(made.folder).keys()
    )


# ---- what else a model can do ----

TRAINED = (
    COMPARE
    + """
models = [tf.saved_model.load(folder) for folder in folders]
for step in range(3):
    check(*[model.train(tf.constant(x), tf.constant(wanted)) for model in models], "loss")
    check(*[model.serve(tf.constant(x)) for model in models], f"after step {step}")
    check(*[model.signatures["serving_default"](x=tf.constant(x)) for model in models], f"after step {step}")
check(*[[v.numpy() for v in model.net.kernels] for model in models], "weights")
assert int(models[1].steps) == 3
"""
)


def test_a_training_method_still_changes_what_is_served(rewritten, only_tensorflow):
    made = rewritten("trained")
    random = np.random.default_rng(5)
    x, wanted = random.standard_normal((16, 64), np.float32), random.standard_normal((16, 8), np.float32)
    folders = [str(made.original), str(made.folder)]
    only_tensorflow.run(TRAINED, folders=folders, x=x, wanted=wanted)


SIGNATURE_TRAINED = (
    COMPARE
    + """
models = [tf.saved_model.load(folder) for folder in folders]
for step in range(3):
    check(*[model.signatures["train"](x=tf.constant(x), wanted=tf.constant(wanted)) for model in models], "loss")
    check(*[model.signatures["serving_default"](x=tf.constant(x)) for model in models], f"after step {step}")
"""
)


def test_a_training_signature_still_changes_what_is_served(rewritten, only_tensorflow):
    made = rewritten("trained_by_signature")
    random = np.random.default_rng(5)
    x, wanted = random.standard_normal((16, 64), np.float32), random.standard_normal((16, 8), np.float32)
    folders = [str(made.original), str(made.folder)]
    only_tensorflow.run(SIGNATURE_TRAINED, folders=folders, x=x, wanted=wanted)


FINE_TUNED = """
model = tf.saved_model.load(folder)
try:
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model.serve(tf.constant(x))["y"] ** 2)
    tape.gradient(loss, list(model.net.kernels))
except LookupError as error:
    answer = str(error)
"""


def test_gradients_name_the_op(rewritten, only_tensorflow):
    made = rewritten("trained")
    x = np.random.default_rng(5).standard_normal((16, 64), np.float32)
    assert "Intarsia" in only_tensorflow.run(FINE_TUNED, folder=str(made.folder), x=x)


COUNTED = """
model = tf.saved_model.load(folder)
serve = model.signatures["serving_default"]
counts = [int(serve(x=tf.zeros([2, 64]))["count"]) for _ in range(4)]
counts += [int(model.serve(tf.zeros([2, 64]))["count"]), int(model.count)]
other = tf.saved_model.load(folder)
answer = counts, int(other.signatures["serving_default"](x=tf.zeros([1, 64]))["count"])
"""


def test_a_counter_counts(rewritten, only_tensorflow):
    made = rewritten("counter")
    assert only_tensorflow.run(COUNTED, folder=str(made.folder)) == ([1, 2, 3, 4, 5, 5], 1)


ASSERTED = """
serve = tf.saved_model.load(folder).signatures["serving_default"]
serve(x=tf.ones([2, 64]))
try:
    serve(x=tf.fill([2, 64], 1000.0))
    answer = "no error"
except tf.errors.InvalidArgumentError as error:
    answer = str(error)
assert serve(x=tf.ones([2, 64]))["y"].shape == (2, 8)
"""


def test_an_assert_fires(rewritten, only_tensorflow):
    message = only_tensorflow.run(ASSERTED, folder=str(rewritten("checked").folder))
    assert "input too large" in message and "1000" in message


PRINTED = """
import os, sys
os.dup2(1, 2)
import tensorflow as tf
model = tf.saved_model.load(sys.argv[1])
for rows in (1, 2, 3):
    model.signatures["serving_default"](x=tf.ones([rows, 64]))
model.serve(tf.ones([4, 64]))
with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    signature = tf.compat.v1.saved_model.load(session, ["serve"], sys.argv[1]).signature_def["serving_default"]
    session.run(signature.outputs["y"].name, {signature.inputs["x"].name: [[1.0] * 64] * 5})
"""


def test_a_print_prints_once_in_each_run(rewritten):
    printed = in_new_process(PRINTED, rewritten("checked").folder).splitlines()
    lines = [line for line in printed if line.startswith("middle")]
    assert lines == [f"middle has [{rows} 128] numbers" for rows in (1, 2, 3, 4, 5)]


SAVED_AGAIN = (
    COMPARE
    + """
model = tf.saved_model.load(folders[1])
x = tf.random.normal([3, 64])
wanted = model.serve(x)
tf.saved_model.save(model, again, signatures=model.signatures)
saved = tf.saved_model.load(again)
check(wanted, saved.serve(x), "method")
check(wanted, saved.signatures["serving_default"](x=x), "signature")
inside = tf.function(lambda x: {"y": model.serve(x)["y"] + 0.0})
check(wanted, inside(x), "in a function")
check(wanted["y"], next(iter(tf.data.Dataset.from_tensors(x).map(lambda x: model.serve(x)["y"]))), "in a data set")
rows = tf.vectorized_map(lambda row: model.serve(row[None])["y"][0], x)
check(wanted["y"], rows, "vectorized")
with tf.distribute.MirroredStrategy().scope():
    replicated = tf.saved_model.load(folders[1])
check(wanted, tf.distribute.get_strategy().run(lambda: replicated.serve(x)), "in a strategy")
"""
)


def test_a_loaded_model_is_saved_again_and_used_in_functions(rewritten, only_tensorflow, tmp_path):
    made = rewritten("nested")
    only_tensorflow.run(
        SAVED_AGAIN, folders=[str(made.original), str(made.folder)], again=str(tmp_path / "again")
    )
    assert count_ops(tmp_path / "again") > 0


GROWN = (
    COMPARE
    + """
import threading
models = [tf.saved_model.load(folder).signatures["serving_default"] for folder in folders]
faults = []

def work(seed):
    try:
        for batch in (1, 7, 2, 64, 5):
            x = tf.random.stateless_normal([batch, 64], [seed, batch])
            check(*[model(x=x) for model in models], f"batch {batch}")
    except BaseException as error:
        faults.append(error)

threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not faults, faults
check(*[model(x=tf.zeros([0, 64])) for model in models], "no rows")
"""
)


def test_threads_use_other_batches_at_the_same_time(rewritten, only_tensorflow):
    made = rewritten("unsupported_middle")
    only_tensorflow.run(GROWN, folders=[str(made.original), str(made.folder)])


FOREIGN_SHAPE = """
serve = tf.saved_model.load(folder).signatures["serving_default"]
answer = {name: tensor.shape.as_list() for name, tensor in serve.structured_outputs.items()}
try:
    serve(x=tf.zeros([2, 65]))
    assert False, "no error"
except (tf.errors.InvalidArgumentError, ValueError, TypeError):
    pass
assert serve(x=tf.zeros([2, 64]))["y"].shape == (2, 8)
"""


def test_static_shapes_and_errors_of_wrong_ones(rewritten, only_tensorflow):
    assert only_tensorflow.run(FOREIGN_SHAPE, folder=str(rewritten("nested").folder)) == {"y": [None, 8]}


DEFAULTED = (
    COMPARE
    + """
models = [tf.saved_model.load(folder) for folder in folders]
image = tf.constant(np.arange(2 * 9 * 9 * 3, dtype="uint8").reshape(2, 9, 9, 3))
check(*[model.serve(image) for model in models], "method")
"""
)


def test_default_values_of_inputs(rewritten, only_tensorflow):
    made = rewritten("any_size")
    only_tensorflow.run(DEFAULTED, folders=[str(made.original), str(made.folder)])


FROZEN_LATER = (
    COMPARE
    + """
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2
x = tf.random.normal([3, 64])
results = []
for folder in folders:
    model = tf.saved_model.load(folder)
    results.append(convert_variables_to_constants_v2(model.signatures["serving_default"])(x))
check(*results, "frozen")
"""
)


def test_freezing_in_tensorflow(rewritten, only_tensorflow):
    made = rewritten("nested")
    only_tensorflow.run(FROZEN_LATER, folders=[str(made.original), str(made.folder)])


# ---- other ways to run one ----

LAYER = (
    COMPARE
    + """
import keras
layers = [keras.layers.TFSMLayer(folder, call_endpoint=endpoint) for folder in folders]
check(*[layer(inputs) for layer in layers], "layer")
if not isinstance(inputs, dict):
    x = keras.Input(inputs.shape[1:])
    check(*[keras.Model(x, layer(x))(inputs) for layer in layers], "layer in a model")
"""
)


@pytest.mark.parametrize(
    ("name", "endpoint"),
    [
        ("keras_convolutions", "serve"),
        ("keras_convolutions", "serving_default"),
        ("keras_structured", "serve"),
        ("nested", "serving_default"),
        ("v1_simple", "serving_default"),
    ],
)
def test_layers_of_keras(rewritten, only_tensorflow, name, endpoint):
    made = rewritten(name)
    inputs = made.model.signatures["serving_default"](np.random.default_rng(2), 3)
    inputs = inputs if len(inputs) > 1 else next(iter(inputs.values()))
    only_tensorflow.run(
        LAYER, folders=[str(made.original), str(made.folder)], endpoint=endpoint, inputs=inputs
    )


def test_the_command_of_tensorflow(rewritten, tmp_path):
    made = rewritten("v1_second_output")
    np.save(tmp_path / "x.npy", np.ones((2, 64), np.float32))
    results = []
    for folder in (made.original, made.folder):
        out = tmp_path / folder.parent.name
        subprocess.run(
            [
                Path(sys.executable).parent / "saved_model_cli",
                *("run", "--dir", folder, "--tag_set", "serve", "--signature_def", "serving_default"),
                *("--inputs", f"x={tmp_path / 'x.npy'}", "--outdir", out),
            ],
            check=True,
            capture_output=True,
        )
        results.append({file.name: np.load(file) for file in out.iterdir()})
    assert set(results[0]) == set(results[1]) == {"right.npy", "variance.npy"}
    for name, wanted in results[0].items():
        np.testing.assert_allclose(results[1][name], wanted, atol=1e-3 * np.abs(wanted).max())


REMOTE = """
import sys, numpy as np, tensorflow as tf
v1 = tf.compat.v1
x = np.ones([3, 64], np.float32)
results = []
for folder in sys.argv[2:]:
    with v1.Graph().as_default(), v1.Session(sys.argv[1]) as session:
        with tf.device("/job:worker/task:0"):
            signature = v1.saved_model.load(session, ["serve"], folder).signature_def["serving_default"]
        results.append(session.run(signature.outputs["y"].name, {signature.inputs["x"].name: x}))
assert "intarsia" not in sys.modules
assert np.abs(results[0] - results[1]).max() <= 1e-3 * np.abs(results[0]).max()
print("same")
"""


@pytest.mark.parametrize("name", ["nested", "v1_simple"])
def test_a_worker_in_another_process(rewritten, name):
    made = rewritten(name)
    with Worker(sys.executable, "-c", WORKER) as target:
        assert in_new_process(REMOTE, target, made.original, made.folder).split() == ["same"]


# ---- frozen graphs ----

IMPORTED = (
    COMPARE
    + """
v1 = tf.compat.v1
for x in inputs:
    results = []
    for file in files:
        with v1.Graph().as_default() as graph, v1.Session() as session:
            v1.import_graph_def(v1.GraphDef.FromString(open(file, "rb").read()), name="")
            results.append(session.run(output + ":0", {"image:0": x}))
    check(*results, "graph")
"""
)


def test_a_frozen_graph(only_tensorflow, tmp_path):
    model = rewrite_sessions.frozen(str(tmp_path / "frozen.pb"))
    report = call_json("rewrite", tmp_path / "frozen.pb", tmp_path / "new.pb", *FAST)
    original, new = [
        tf.compat.v1.GraphDef.FromString((tmp_path / name).read_bytes()) for name in ("frozen.pb", "new.pb")
    ]
    assert count_ops(None, new) == len(report["replaced"]) == 1
    held = report["bytes"]["files"]["after"]
    assert held["program"] > 0 and sum(held.values()) == (tmp_path / "new.pb").stat().st_size
    [output] = {node.name for node in original.node} - {
        source.split(":")[0].strip("^") for node in original.node for source in node.input
    }
    assert new.versions == original.versions
    assert {"image", output} <= {node.name for node in new.node}
    (tmp_path / "new.pb").rename(tmp_path / "moved.pb")
    inputs = [drawn["image"] for _, drawn in draw_all(model.signatures)]
    files = [str(tmp_path / "frozen.pb"), str(tmp_path / "moved.pb")]
    only_tensorflow.run(IMPORTED, files=files, inputs=inputs, output=output)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["frozen.pb", "moved.pb"]


# ---- options ----


def test_only_one_signature(rewritten, only_tensorflow, tmp_path):
    made = rewritten("two_signatures")
    report = call_json("rewrite", made.original, tmp_path / "new", "--signature", "classify", *FAST)
    assert {name for part in report["replaced"] for name in part["signatures"]} == {"classify"}
    assert count_ops(tmp_path / "new") == 1
    only_tensorflow.run(CALLED, **values_for(made) | {"folders": [str(made.original), str(tmp_path / "new")]})


def test_inputs_to_time_with(rewritten, tmp_path):
    made = rewritten("loop")
    np.save(tmp_path / "turns.npy", np.int32(40))
    np.save(tmp_path / "x.npy", np.zeros((2, 64), np.float32))
    report = call_json(
        *("rewrite", made.original, tmp_path / "new"),
        *("-i", f"turns={tmp_path / 'turns.npy'}", "-i", f"x={tmp_path / 'x.npy'}", *FAST),
    )
    [signature] = report["signatures"]
    assert signature["not_timed"] is None and signature["before_ms"] > 0


def test_a_model_without_parts_is_copied(tmp_path):
    module = tf.Module()
    module.name_of = tf.function(
        lambda text: {"upper": tf.strings.upper(text)},
        input_signature=[tf.TensorSpec([None], tf.string, "text")],
    )
    tf.saved_model.save(module, str(tmp_path / "model"), {"serving_default": module.name_of})
    report = call_json("rewrite", tmp_path / "model", tmp_path / "new")
    assert report["replaced"] == [] and report["kept"]
    for file in (tmp_path / "model").rglob("*"):
        other = tmp_path / "new" / file.relative_to(tmp_path / "model")
        assert other.is_dir() if file.is_dir() else other.read_bytes() == file.read_bytes()
