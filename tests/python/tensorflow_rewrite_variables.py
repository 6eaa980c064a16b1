"""Variables of rewritten SavedModels: those of loops and branches, of TensorFlow 1, and of TF Hub; and models that are saved again.

Covers: src/rewrite/ drop_graph_variables.cc drop_variables.cc graph_savers.cc saver_functions.cc saver_lists.cc
unused_arguments.cc write_saved_model.cc
"""

import shutil

import numpy as np
import pytest
import rewrite_hub_models
import rewrite_sessions
from cli_models import call_json
from rewrite_models import Dense, draws, spec, weight
from rewritten_models import COMPARE, FAST, IN_SESSIONS, OnlyTensorFlow, count_ops, draw_all, read_model

import tensorflow as tf

v1 = tf.compat.v1


@pytest.fixture(scope="module")
def only_tensorflow(tmp_path_factory):
    process = OnlyTensorFlow(tmp_path_factory.mktemp("server"))
    yield process
    process.close()


def rewrite(folder):
    """Rewrites `folder`/model; the new model lies in another folder than the one it was written to."""
    report = call_json("rewrite", folder / "model", folder / "new", *FAST)
    assert report["replaced"], report
    (folder / "new").rename(folder / "moved")
    return folder / "moved", report


def tensors_of(folder):
    """The names of the checkpoint's tensors, but for its own."""
    if not (folder / "variables").exists():
        return set()
    names = {name for name, _ in tf.train.list_variables(str(folder / "variables" / "variables"))}
    return names - {"_CHECKPOINTABLE_OBJECT_GRAPH"}


# ---- loops and branches ----


class Inner(tf.Module):
    """Loops within branches: some functions only pass weights on, one changes a variable, one reads that."""

    def __init__(self):
        self.nets = [Dense(64, 256, 256, 64) for _ in range(2)]
        self.turns, self.offset = tf.Variable(0), tf.Variable(weight(1, 64)[0])

    def run(self, net, x, count):
        def turn(i, y):
            self.turns.assign_add(1)
            return i + 1, tf.tanh(net(y)) + self.offset

        return tf.while_loop(lambda i, _: i < count, turn, [0, x])[1]

    @tf.function(input_signature=[spec(64, name="x"), tf.TensorSpec([], tf.int32, "which")])
    def serve(self, x, which):
        branches = [lambda net=net: self.run(net, x, which + 1) for net in self.nets]
        y = tf.switch_case(which, branches)
        return {"y": y, "turns": self.turns.read_value()}

    @tf.function(input_signature=[tf.TensorSpec([64])])
    def move(self, by):
        return tf.cond(by[0] > 0, lambda: self.offset.assign_add(by), lambda: self.offset.assign(by))


INNER = (
    COMPARE
    + """
models = [tf.saved_model.load(folder) for folder in folders]
for which, by in ((0, 1.0), (1, -0.5), (0, 0.25)):
    x = tf.random.normal([3, 64])
    check(*[model.serve(x, which) for model in models], "method")
    check(*[model.signatures["serving_default"](x=x, which=tf.constant(which)) for model in models], "signature")
    check(*[model.move(tf.fill([64], by)) for model in models], "moved")
assert int(models[1].turns) == 2 * (1 + 2 + 1)
"""
)


def test_what_loops_and_branches_read_in_vain_leaves(only_tensorflow, tmp_path):
    module = Inner()
    tf.saved_model.save(module, str(tmp_path / "model"), {"serving_default": module.serve})
    folder, _ = rewrite(tmp_path)
    assert tensors_of(folder) == {f"{name}/.ATTRIBUTES/VARIABLE_VALUE" for name in ("turns", "offset")}
    library = read_model(folder).meta_graphs[0].graph_def.library
    run_inside = {
        name
        for function in library.function
        for node in function.node_def
        if node.op in ("While", "Case", "StatelessWhile", "StatelessCase")
        for value in node.attr.values()
        for name in (value.func.name, *(one.name for one in value.list.func))
    }
    handles = [
        sum(argument.type == tf.resource.as_datatype_enum for argument in function.signature.input_arg)
        for function in library.function
        if function.signature.name in run_inside
    ]
    assert max(handles) == 2
    only_tensorflow.run(INNER, folders=[str(tmp_path / "model"), str(folder)])


# ---- TensorFlow 1 ----

NO_SAVER = """
v1 = tf.compat.v1
with v1.Graph().as_default() as graph, v1.Session() as session:
    meta = v1.saved_model.load(session, ["serve"], folder)
    assert not meta.HasField("saver_def")
    assert [v1.global_variables(), v1.trainable_variables()] == [[], []]
    session.run("init")
    answer = sorted({node.type for node in graph.get_operations()} & {"SaveV2", "RestoreV2", "VarIsInitializedOp"})
"""


@pytest.mark.parametrize("name", ["v1_simple", "v1_table"])
def test_a_session_needs_no_variables(only_tensorflow, tmp_path, name):
    model = rewrite_sessions.SAVED_MODELS[name](str(tmp_path / "model"))
    folder, report = rewrite(tmp_path)
    assert set(report["dropped_variables"]) == tensors_of(tmp_path / "model")
    assert not (folder / "variables").exists()
    small = (folder / "saved_model.pb").stat().st_size
    assert small < 100_000 < (tmp_path / "model" / "saved_model.pb").stat().st_size, "initial values left"
    assert only_tensorflow.run(NO_SAVER, folder=str(folder)) == []
    folders = [str(tmp_path / "model"), str(folder)]
    only_tensorflow.run(
        IN_SESSIONS, folders=folders, tags=["serve"], random=[], signatures=draw_all(model.signatures)
    )


def save_several_kinds(path):
    """Variables of a session: read-only ones, a counter, one in slices, one without a handle, one of two names."""
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 64], "x")
        y = rewrite_sessions.stack(x, "net", 256, 256, 256)
        sliced = v1.get_variable(
            "sliced",
            [256, 8],
            initializer=v1.ones_initializer(),
            partitioner=v1.fixed_size_partitioner(2),
            use_resource=True,
        )
        reference = v1.get_variable("reference", initializer=weight(1, 8)[0], use_resource=False)
        count = v1.get_variable("count", initializer=np.int64(5), use_resource=True)
        y = y @ tf.convert_to_tensor(sliced) + reference
        with v1.control_dependencies([y]):
            counted = tf.identity(count.assign_add(1))
        session.run(v1.global_variables_initializer())
        v1.train.Saver({"other": count, "net_0_w": v1.global_variables()[0]})
        results = {"y": y, "count": counted}
        v1.saved_model.simple_save(session, path, {"x": x}, results)


SAVED_AND_RESTORED = """
v1 = tf.compat.v1
with v1.Graph().as_default(), v1.Session() as session:
    meta = v1.saved_model.load(session, ["serve"], folder)
    signature = meta.signature_def["serving_default"]
    run = lambda: session.run({key: info.name for key, info in signature.outputs.items()}, {signature.inputs["x"].name: x})
    saver, first = v1.train.Saver(saver_def=meta.saver_def), run()
    saver.save(session, prefix)
    second = run()
    saver.restore(session, prefix)
    again = run()
    session.run("init")
    answer = (first, second, again, run(), [one.name for one in v1.global_variables()])
    session.run("save/control_dependency:0", {"save/Const:0": prefix + "_own"})  # the other saver's
    session.run("save/restore_all", {"save/Const:0": prefix + "_own"})
"""


CALLED_ONCE = (
    COMPARE
    + """
check(*[tf.saved_model.load(folder).signatures["serving_default"](x=tf.constant(x)) for folder in folders], "signature")
"""
)


def test_a_saver_keeps_what_is_left(only_tensorflow, tmp_path):
    save_several_kinds(str(tmp_path / "model"))
    folder, report = rewrite(tmp_path)
    left = {"count", "reference", "sliced"}
    assert tensors_of(tmp_path / "model") - set(report["dropped_variables"]) == tensors_of(folder) == left
    x = draws(x=(64,))(np.random.default_rng(1), 2)["x"]
    results = [
        only_tensorflow.run(
            SAVED_AND_RESTORED, folder=str(one), prefix=str(tmp_path / one.name / "saved"), x=x
        )
        for one in (tmp_path / "model", folder)
    ]
    assert tensors_of(folder) == left == {name for name, _ in tf.train.list_variables(str(folder / "saved"))}
    for wanted, got in zip(*[result[:4] for result in results]):
        assert wanted["count"] == got["count"]
        np.testing.assert_allclose(got["y"], wanted["y"], atol=1e-3 * np.abs(wanted["y"]).max())
    assert [run["count"] for run in results[1][:4]] == [6, 7, 7, 6]
    assert {name.split("/")[0].split(":")[0] for name in results[1][4]} == left
    only_tensorflow.run(CALLED_ONCE, folders=[str(tmp_path / "model"), str(folder)], x=x)


def test_graphs_that_share_a_checkpoint_keep_it(only_tensorflow, tmp_path):
    rewrite_hub_models.hub_v1_images(str(tmp_path / "model"))
    folder, report = rewrite(tmp_path)
    assert report["dropped_variables"] == [] and tensors_of(folder) == tensors_of(tmp_path / "model")
    models = [read_model(one).meta_graphs for one in (tmp_path / "model", folder)]
    assert [model[1].SerializeToString(deterministic=True) for model in models][0] == models[1][
        1
    ].SerializeToString(deterministic=True)


# ---- TF Hub ----

TRAINED = (
    COMPARE
    + """
models = [tf.saved_model.load(folder) for folder in folders]
x = tf.constant(x)
check(*[model(x, training=True) for model in models], "training")
check(*[model(x, training=False) for model in models], "served with the new mean")
for step in range(3):
    losses = []
    for model in models:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x, training=True) ** 2) + tf.add_n([one() for one in model.regularization_losses])
        gradients = tape.gradient(loss, list(model.trainable_variables))
        for variable, gradient in zip(model.trainable_variables, gradients):
            variable.assign_sub(0.01 * gradient)
        losses.append(loss)
    check(*losses, "loss")
check(*[[variable.numpy() for variable in model.variables] for model in models], "weights")
"""
)


def test_a_reusable_model_trains_as_before(only_tensorflow, tmp_path):
    rewrite_hub_models.hub_reusable(str(tmp_path / "model"))
    folder, report = rewrite(tmp_path)
    assert report["dropped_variables"] == []
    x = draws(x=(64,))(np.random.default_rng(1), 4)["x"]
    only_tensorflow.run(TRAINED, folders=[str(tmp_path / "model"), str(folder)], x=x)


# ---- models that are saved again ----

SAVED_AGAIN = """
model = tf.saved_model.load(folder)
tf.saved_model.save(model, again, signatures=model.signatures)
answer = model.serve(tf.constant(x))["y"].numpy()
"""

LOADED = """
model = tf.saved_model.load(folder)
answer = model.serve(tf.constant(x))["y"].numpy(), model.signatures["serving_default"](x=tf.constant(x))["y"].numpy()
"""


def test_a_model_that_is_saved_again_has_its_program(only_tensorflow, tmp_path):
    rewrite_sessions.SAVED_MODELS["nested"](str(tmp_path / "model"))
    folder, _ = rewrite(tmp_path)
    x = np.ones((3, 64), np.float32)
    wanted = only_tensorflow.run(SAVED_AGAIN, folder=str(folder), again=str(tmp_path / "again"), x=x)
    shutil.rmtree(folder)
    (tmp_path / "again").rename(tmp_path / "elsewhere")
    assert count_ops(tmp_path / "elsewhere") > 0
    for got in only_tensorflow.run(LOADED, folder=str(tmp_path / "elsewhere"), x=x):
        np.testing.assert_array_equal(got, wanted)
